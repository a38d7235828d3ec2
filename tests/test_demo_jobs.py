"""Jobs of the web demo: processes with limits, files of sessions, and requests."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from spanscore.benchmarks import BENCHMARKS
from spanscore.demo import jobs, snippets, work
from spanscore.demo.requests import AVAILABLE, BadRequest, api_values, job_folder, make_request
from spanscore.demo.sessions import Sessions, safe_name
from spanscore.demo.settings import Settings
from spanscore.demo.traffic import LimitBody

# --- work for jobs, which their processes import by name --------------------------------------------------------------


def echo(request, progress):
    progress("half")
    return {"given": request, "process": os.getpid()}


def fail(request, progress):
    raise request


def allocate(request, progress):
    return len(bytes(request))


def spin(request, progress):
    Path(request).write_text("started")
    while True:
        pass


def wait_for_ever(request, progress):
    Path(request).write_text("started")
    time.sleep(600)


def end_at_once(request, progress):
    os.kill(os.getpid(), signal.SIGKILL)


def look_around(request, progress):
    import sys

    return sorted(name for name in ("evaluate", "numpy", "gradio", "spanscore.demo.work") if name in sys.modules)


# --- jobs -------------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", autouse=True)
def server():
    before = dict(os.environ)
    jobs.start_server()
    assert dict(os.environ) == before


def run(function, request=None, **more):
    return asyncio.run(jobs.run(function, request, **more))


def test_a_job_runs_in_a_process_of_its_own():
    said = []
    result = run(echo, ("a", 1.5), on_progress=said.append)
    assert result["given"] == ["a", 1.5] and result["process"] != os.getpid() and said == ["half"]
    assert run(echo)["process"] != result["process"]


def test_the_metrics_are_imported_before_the_job():
    assert {"evaluate", "numpy", "spanscore.demo.work"} <= set(run(look_around))


def test_text_of_any_kind_comes_back():
    text = "\ud800 \u2028 \x00 👩‍👩‍👧 " * 10_000
    assert run(echo, text)["given"] == text


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("a: 3 is not text"), "a: 3 is not text"),
        (FileNotFoundError(2, "No such file or directory", "x.txt"), "x.txt: No such file or directory"),
        (RecursionError(), "the input is nested too deeply"),
        (MemoryError(), "not enough memory"),
        (KeyError("secret"), "KeyError: an error of this program, which its log shows"),
    ],
)
def test_errors_are_one_line(error, words):
    with pytest.raises(jobs.JobError) as caught:
        run(fail, error)
    assert str(caught.value) == words


def test_a_job_has_little_memory():
    limits = jobs.Limits(60, 2**28)
    assert run(allocate, 2**20, limits=limits) == 2**20
    with pytest.raises(jobs.JobError, match=r"^not enough memory$"):
        run(allocate, 2**29, limits=limits)


@pytest.mark.parametrize("function", [spin, wait_for_ever])
def test_a_job_has_little_time(function, tmp_path):
    with pytest.raises(jobs.JobError, match=r"^stopped after 1 seconds, the limit of time of this page$"):
        run(function, str(tmp_path / "note"), limits=jobs.Limits(1))
    assert (tmp_path / "note").exists()


def test_a_job_that_dies_is_told():
    with pytest.raises(jobs.JobError, match=r"^the process ended without a result"):
        run(end_at_once)


@pytest.mark.parametrize("function", [spin, wait_for_ever])
def test_jobs_are_stopped_by_their_owner(function, tmp_path):
    async def both():
        tasks = [
            asyncio.create_task(jobs.run(function, str(tmp_path / name), owner=name)) for name in ("mine", "theirs")
        ]
        while not all((tmp_path / name).exists() for name in ("mine", "theirs")):
            await asyncio.sleep(0.01)
        assert jobs.stop("nobody") == 0 and jobs.stop("mine") == 1
        with pytest.raises(jobs.JobError, match=r"^stopped$"):
            await tasks[0]
        assert not tasks[1].done()
        # A task that is cancelled takes its process with it.
        tasks[1].cancel()
        with pytest.raises(asyncio.CancelledError):
            await tasks[1]
        assert jobs.stop("theirs") == 0

    asyncio.run(both())


# --- sessions ---------------------------------------------------------------------------------------------------------


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_files_of_a_session_are_deleted_after_its_last_sign_of_life(tmp_path):
    (tmp_path / "sessions").mkdir()
    clock = Clock()
    sessions = Sessions(tmp_path / "sessions", 300, clock)
    for name in ("a", "b"):
        (tmp_path / name).write_text(name)
        sessions.put(name, "aste-predictions", tmp_path / name)
    assert not (tmp_path / "a").exists() and sessions.find("a", "aste-references") is None
    for minute in range(1, 11):
        clock.now = 60.0 * minute
        sessions.touch("a")
        sessions.sweep()
    assert sessions.find("a", "aste-predictions").read_text() == "a"
    assert sessions.find("b", "aste-predictions") is None
    clock.now += 301
    sessions.sweep()
    assert not list((tmp_path / "sessions").iterdir())


def test_a_file_takes_the_place_of_an_earlier_one_and_can_be_dropped(tmp_path):
    (tmp_path / "sessions").mkdir()
    sessions = Sessions(tmp_path / "sessions")
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text(name)
        sessions.put("../../a", "x", tmp_path / name)
    assert sessions.find("../../a", "x").name == "two.txt"
    sessions.drop("../../a", "x")
    assert sessions.find("../../a", "x") is None and list(tmp_path.iterdir()) == [tmp_path / "sessions"]


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("predictions.txt", "predictions.txt"),
        ("../../etc/passwd", "passwd"),
        ("C:\\data\\my file's (1).json", "my file's (1).json"),
        ("-rf", "rf"),
        ("@x", "x"),
        ("..", "file"),
        ("", "file"),
        ("a" * 300 + ".tsv", "a" * 76 + ".tsv"),
        ("Übung.tsv", "Übung.tsv"),
        ("<img src=x>.txt", "img src=x_.txt"),
        ("a\u202eb\n.txt", "a_b_.txt"),
    ],
)
def test_names_of_files_are_safe(name, safe):
    assert safe_name(name) == safe


# --- requests ---------------------------------------------------------------------------------------------------------


def test_the_files_of_a_job_are_deleted(tmp_path):
    mine = tmp_path / "mine.txt"
    mine.write_text("b")
    with job_folder(tmp_path, {"predictions": "a", "references": mine, "second": " \n"}, 10) as (folder, paths):
        assert paths == {"predictions": "predictions/pasted", "references": "references/mine.txt"}
        assert [Path(folder, path).read_text() for path in paths.values()] == ["a", "b"]
    assert list(tmp_path.iterdir()) == [mine] and mine.read_text() == "b"
    with pytest.raises(BadRequest, match=r"^predictions: 11 bytes, expected at most 10$"):  # noqa: SIM117
        with job_folder(tmp_path, {"predictions": "x" * 11}, 10):
            pass
    with pytest.raises(BadRequest, match=r"^predictions: the file gone is gone, expected it to be chosen again$"):  # noqa: SIM117
        with job_folder(tmp_path, {"predictions": tmp_path / "gone"}, 10):
            pass
    assert list(tmp_path.iterdir()) == [mine]


def test_options_of_an_api_call_are_sorted():
    options, arguments, files = api_values(
        BENCHMARKS["docred"],
        {
            "threshold": "na",
            "relation_names": ["a"],
            "train": "text",
            "train_facts": [["a", "b", "c"]],
            "format": "result",
        },
    )
    assert options == {"threshold": "na", "relation_names": ["a"], "train_facts": [["a", "b", "c"]]}
    assert arguments == {"format": "result"} and files == {"train": "text"}


def test_an_option_that_is_a_path_is_refused_by_the_job_too(tmp_path):
    request = make_request(AVAILABLE["docred"], str(tmp_path), {}, {"train": "/etc/passwd"}, {})
    with pytest.raises(jobs.JobError, match=r"^train: no path is opened here, expected the content of the file$"):
        run(work.compute, request)


def test_names_in_snippets_differ():
    benchmark = AVAILABLE["sentivent"]
    paths = {"predictions": "predictions/a.tsv", "references": "references/a.tsv", "groups": "groups/pasted"}
    request = make_request(benchmark, "", paths, {"relaxed": False, "confidence_level": 0.9}, {"annotator": "A B"})
    assert snippets.file_names(request) == {
        "predictions/a.tsv": "a.tsv",
        "references/a.tsv": "references/a.tsv",
        "groups/pasted": "groups.txt",
    }
    assert snippets.shell(request) == (
        "spanscore sentivent a.tsv references/a.tsv --no-relaxed --confidence-level 0.9 --groups @groups.txt "
        "--annotator 'A B'\n"
    )


# --- limits -----------------------------------------------------------------------------------------------------------


def test_settings_come_from_the_environment(monkeypatch):
    assert Settings.from_environment() == Settings()
    monkeypatch.setenv("SPANSCORE_DEMO_MEMORY", "2G")
    monkeypatch.setenv("SPANSCORE_DEMO_SECONDS", "30")
    assert Settings.from_environment().limits == jobs.Limits(30, 2 * 2**30, 256 * 2**20)
    monkeypatch.setenv("SPANSCORE_DEMO_UPLOAD", "much")
    with pytest.raises(ValueError, match=r"^SPANSCORE_DEMO_UPLOAD: 'much' is not a size"):
        Settings.from_environment()


def test_a_body_without_length_is_cut():
    sent, seen = [], []

    async def app(scope, receive, send):
        while True:
            message = await receive()
            seen.append(message["type"])
            if message["type"] == "http.disconnect" or not message.get("more_body"):
                break

    async def endless():
        return {"type": "http.request", "body": b"x" * 10, "more_body": True}

    async def keep(message):
        sent.append(message)

    scope = {"type": "http", "headers": [], "path": "/call/score"}
    asyncio.run(LimitBody(app, 100, 8)(scope, endless, keep))
    assert seen == ["http.request"] * 2 + ["http.disconnect"]


# --- the page ---------------------------------------------------------------------------------------------------------


def test_files_that_no_session_took_are_swept(tmp_path, monkeypatch):
    from spanscore.demo.page import Demo

    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("GRADIO_TEMP_DIR", "set by the page")
    monkeypatch.setattr("tempfile.tempdir", None)
    demo = Demo(Settings())
    assert demo.folder.parent == tmp_path
    upload = demo.uploads / "abc" / "x.txt"
    upload.parent.mkdir()
    upload.write_text("x")
    (tmp_path / "mine").write_text("y")
    demo.sessions.put("someone", "aste-predictions", tmp_path / "mine")
    demo.sweep()
    assert upload.exists() and demo.sessions.find("someone", "aste-predictions")
    later = time.time() + 400
    demo.sessions.clock = lambda: time.monotonic() + 400
    demo.sweep(lambda: later)
    demo.sweep(lambda: later)
    assert not [path for path in demo.folder.rglob("*") if path.is_file()] and not upload.parent.exists()


def test_an_installed_package_has_a_page_without_examples(monkeypatch):
    from spanscore.demo import page, tab

    monkeypatch.setenv("GRADIO_TEMP_DIR", "set by the page")
    monkeypatch.setattr(tab, "examples_of", lambda benchmark: [])
    blocks = page.Demo(Settings()).blocks
    boxes = {block.elem_id: block for block in blocks.blocks.values() if getattr(block, "elem_id", None)}
    assert boxes["aste-predictions"].value in (None, "") and boxes["docred-example"].value is None
    assert {dependency.api_name for dependency in blocks.fns.values() if dependency.api_visibility == "public"} == {
        "score",
        "benchmarks",
    }
