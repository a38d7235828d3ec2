"""Uploading the Spaces to a server that stands in for the Hub, and the program that does it."""

import errno
import os
import subprocess
import sys
import zipfile

import hub as hubs
import huggingface_hub
import pytest
from conftest import ROOT
from hub import load_from, result_of

import publish
from spanscore.examples import all_examples

TAGS = {
    "aste": "aste-2.0.0",
    "docred": "docred-2.0.0",
    "propsegment": "propsegment-2.0.0",
    "sentivent": "sentivent-0.4.0",
}


def run(hub, *arguments, token=hubs.TOKEN, code=0, home=None, redirect="", **variables):
    """Run the program against a Hub, and check that the token is not in what it prints.

    Returns standard output, or standard error where the code is not 0. `redirect` is what follows in the shell.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    environment |= {"HF_ENDPOINT": hub.url, "HF_HOME": str(home or "/nonexistent"), "NO_PROXY": "127.0.0.1"}
    environment |= variables
    if token:
        environment["HF_TOKEN"] = token
    command = ["bash", "-o", "pipefail", "-c", f'"$@" {redirect}', "bash"]
    done = subprocess.run(
        [*command, sys.executable, str(ROOT / "publish.py"), *map(str, arguments)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert hubs.TOKEN not in done.stdout + done.stderr and "Traceback" not in done.stderr
    assert "Exception" not in done.stderr and (code or not done.stderr)
    return done.stdout if code == 0 else done.stderr


# --- uploading --------------------------------------------------------------------------------------------------------


def test_all_spaces_are_uploaded_once(built, hub, tmp_path):
    printed = run(hub, "--user", "someone")
    assert printed.splitlines() == [f"someone/{name}_metric: {tag} is published" for name, tag in TAGS.items()]
    for name, tag in TAGS.items():
        space = hub.spaces[f"someone/{name}_metric"]
        assert space.tags == {tag: space.branches["main"]} and len(space.commits) == 2
        files = {path: file.read_bytes() for path, file in publish.local_files(built / f"{name}_metric").items()}
        assert {path: data for path, data in space.at(tag)[0].items() if path != ".gitattributes"} == files
    assert not [tag for space in hub.spaces.values() for tag in space.tags if tag.startswith("v")]
    tokens = [headers.get("authorization") or headers.get("Authorization") for _, _, headers, _ in hub.requests]
    assert set(tokens) == {f"Bearer {hubs.TOKEN}"}
    assert not any(hubs.TOKEN in path or hubs.TOKEN.encode() in body for _, path, _, body in hub.requests)
    before = len(hub.written())
    printed = run(hub, "--user", "someone")
    assert printed.splitlines() == [f"someone/{name}_metric: {tag} is published already" for name, tag in TAGS.items()]
    assert len(hub.written()) == before
    # What was published can be loaded by its tag.
    example = all_examples()[0]
    assert load_from(hub, example, tmp_path, revision="aste-2.0.0") == result_of(example)


def test_a_published_version_never_changes(hub):
    run(hub, "--user", "someone", "aste", "docred")
    space = hub.spaces["someone/docred_metric"]
    files = dict(space.at("main")[0])
    files["matching.py"] += b"# changed\n"
    space.tags["docred-2.0.0"] = space.commit(files)
    del hub.spaces["someone/aste_metric"].tags["aste-2.0.0"]
    before = len(hub.written())
    words = run(hub, "--user", "someone", "aste", "docred", code=2)
    assert words == (
        "Error: someone/docred_metric: docred-2.0.0 is published with other files (matching.py), expected another "
        "VERSION in docred_metric.py\n"
    )
    # Nothing is written where one of the Spaces cannot be.
    assert len(hub.written()) == before


def test_an_upload_that_broke_off_is_ended(hub):
    hub.fails["/tag/"] = 500
    assert "the Hub answers 500" in run(hub, "--user", "someone", "aste", code=2)
    hub.fails.clear()
    space = hub.spaces["someone/aste_metric"]
    assert not space.tags and len(space.commits) == 2
    run(hub, "--user", "someone", "aste")
    assert space.tags == {"aste-2.0.0": space.branches["main"]} and len(space.commits) == 2


def test_files_that_are_gone_are_deleted_and_others_changed(built, hub):
    files = {path: file.read_bytes() for path, file in publish.local_files(built / "aste_metric").items()}
    space = hub.spaces["someone/aste_metric"] = hubs.Space()
    old = {**files, "gone.py": b"x = 1\n", ".gitattributes": b"x", "app.py": b"old = True\n"}
    del old["LICENSE"]
    space.commit(old)
    space.tags["aste-1.0.0"] = space.branches["main"]
    shown = run(hub, "--user", "someone", "--dry-run", "aste")
    assert "added LICENSE" in shown and "deleted gone.py" in shown and "changed app.py" in shown
    assert "-old = True" in shown and "+from spanscore.demo" in shown
    assert not hub.written() and shown.splitlines()[0] == "someone/aste_metric: aste-2.0.0"
    run(hub, "--user", "someone", "aste")
    assert space.at("main")[0] == {**files, ".gitattributes": b"x"}
    assert set(space.tags) == {"aste-1.0.0", "aste-2.0.0"} and space.at("aste-1.0.0")[0] == old


def test_a_dry_run_needs_no_token_and_writes_nothing(hub):
    shown = run(hub, "--user", "someone", "--dry-run", token=None)
    assert [line for line in shown.splitlines() if line.startswith("someone")] == [
        f"someone/{name}_metric: a new Space, {tag}" for name, tag in TAGS.items()
    ]
    assert not hub.written() and not hub.spaces


@pytest.mark.parametrize(
    ("fails", "token", "words"),
    [
        ({}, None, "no token, expected one in the variable HF_TOKEN, or from `hf auth login`"),
        ({}, "hf_wrong", "someone/aste_metric: the Hub does not know the token, or there is no such Space"),
        ({"/refs": 401}, hubs.TOKEN, "someone/aste_metric: the Hub does not know the token, or there is no such Space"),
        (
            {"/api/repos/create": 403},
            hubs.TOKEN,
            "someone/aste_metric: the token has no right to write there, expected",
        ),
        ({"/commit/": 409}, hubs.TOKEN, "someone/aste_metric: the Space was changed meanwhile, expected another try"),
        ({"/api/repos/create": 500}, hubs.TOKEN, "someone/aste_metric: the Hub answers 500"),
    ],
)
def test_refusals_are_one_line(hub, fails, token, words):
    hub.fails |= fails
    printed = run(hub, "--user", "someone", "aste", token=token, code=2)
    assert printed.startswith(f"Error: {words}") and len(printed.splitlines()) == 1


def test_a_hub_that_cannot_be_reached(hub):
    hub.url = "http://127.0.0.1:9"
    printed = run(hub, "--user", "someone", "aste", code=2)
    assert printed.startswith("Error: someone/aste_metric: the Hub cannot be reached (") and printed.count("\n") == 1


def test_a_full_disk_is_no_error_of_the_hub(built, monkeypatch):
    def refs(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device", "/tmp/x")

    monkeypatch.setattr(huggingface_hub.HfApi, "list_repo_refs", refs)
    with pytest.raises(OSError, match="No space left on device"):
        publish.upload(["aste"], {"aste": built / "aste_metric"}, "someone", dry_run=True)


# --- secrets ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("before", ["x:{}@", "{}@", "{}:x-oauth-basic@"])
@pytest.mark.parametrize("debug", ["0", "1"])
def test_tokens_in_the_address(built, hub, before, debug):
    hub.add("someone/aste_metric", built / "aste_metric")
    hub.fails["/tree/"] = 503  # the library tries again, and logs the address
    hub.url = hub.url.replace("//", "//" + before.format(hubs.TOKEN))
    shown = run(hub, "--user", "someone", "--dry-run", "aste", token=None, HF_DEBUG=debug, RUST_LOG="debug")
    assert shown == "someone/aste_metric: aste-2.0.0\n" and not hub.fails
    hub.url = hub.url.rpartition("@")[0] + "@127.0.0.1:9"
    printed = run(hub, "--user", "someone", "aste", code=2, HF_DEBUG=debug)
    assert printed == "Error: someone/aste_metric: the Hub cannot be reached (ConnectError)\n"


@pytest.mark.parametrize("address", ["http://x:{}@[::1", "http://127.0.0.1:{}", "http://x:{}/x@127.0.0.1"])
def test_an_address_that_is_none(hub, tmp_path, address):
    hub.url = address.format(hubs.TOKEN)
    for arguments in (["--user", "someone", "--dry-run"], ["--output", tmp_path]):
        printed = run(hub, *arguments, token=None, code=2)
        assert printed == "Error: HF_ENDPOINT: is no address, expected one such as https://huggingface.co\n"


def test_tokens_in_other_words(hub, tmp_path):
    assert "'***' is not one of" in run(hub, hubs.TOKEN, "--output", tmp_path, code=2, PYTHONIOENCODING="ascii")
    (tmp_path / "token").write_text(hubs.TOKEN)
    hub.fails["/refs"] = 500
    printed = run(hub, "--user", hubs.TOKEN, "--dry-run", "aste", token=None, home=tmp_path, code=2)
    assert printed == "Error: ***/aste_metric: the Hub answers 500\n"


def test_secrets_in_an_address():
    def secrets(address):
        return publish.secrets_of({"HF_ENDPOINT": address})

    assert not secrets("https://huggingface.co") and not secrets("")
    assert {"user:hf_%2Fsecret@", "hf_%2Fsecret", "hf_/secret"} <= secrets("https://user:hf_%2Fsecret@host/path")
    assert "user" not in secrets("https://user:hf_%2Fsecret@host/path")
    assert {"hf_secret", "p@ss:word"} <= secrets("hf_secret:p@ss:word@host")


# --- what cannot be written -------------------------------------------------------------------------------------------


def test_a_closed_pipe_stops_no_upload(hub, tmp_path):
    assert run(hub, "--user", "someone", "--dry-run", redirect="| head -1").count("\n") == 1
    assert run(hub, "--user", "someone", redirect="| true") == ""
    assert len(hub.spaces) == 4 and all(space.tags for space in hub.spaces.values())
    for redirect in ("| true", ">&-", "2>&- | true", "2>&1 | true"):
        run(hub, "--output", tmp_path / "spaces", "aste", redirect=redirect)
        run(hub, "--help", redirect=redirect)


def test_a_full_disk(hub, tmp_path):
    words = "Error: standard output: No space left on device\n"
    for arguments in (["--user", "someone", "aste"], ["--output", tmp_path, "aste"], ["--dist", tmp_path], ["--help"]):
        assert run(hub, *arguments, redirect="> /dev/full", code=2, PYTHONUNBUFFERED="") == words
        assert run(hub, *arguments, redirect="> /dev/full 2>&1", code=2, PYTHONUNBUFFERED="1") == ""
    # A file that is too large stands for the full disk of --output.
    limited = ["bash", "-c", 'ulimit -f 8; "$@"', "bash", sys.executable, str(ROOT / "publish.py")]
    done = subprocess.run([*limited, "--output", tmp_path / "small", "aste"], capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.startswith(f"Error: {tmp_path}/small/aste_metric/")
    assert done.stderr.endswith(": File too large\n") and done.stderr.count("\n") == 1


# --- the program ------------------------------------------------------------------------------------------------------


def test_output_and_dist(hub, tmp_path):
    printed = run(hub, "--output", tmp_path / "spaces", "aste", "--dist", tmp_path / "dist", token=None)
    assert printed.startswith(f"{tmp_path}/spaces/aste_metric: aste-2.0.0, ")
    assert [path.name for path in (tmp_path / "spaces").iterdir()] == ["aste_metric"]
    wheel, source = sorted((tmp_path / "dist").iterdir(), reverse=True)[0], sorted((tmp_path / "dist").iterdir())[0]
    assert {path.suffix for path in (wheel, source)} == {".whl", ".gz"}
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert "spanscore/metrics/aste_metric.py" in zipfile.ZipFile(wheel).namelist()
    assert not hub.requests


def test_wrong_use(hub):
    assert "nothing to do, expected --output, --user or --dist" in run(hub, code=2)
    assert "--dry-run needs --user" in run(hub, "--dry-run", "--output", "x", code=2)
    assert "--user: 'a b' is not the name of an account" in run(hub, "--user", "a b", code=2)
    assert run(hub, "--output", "/proc/x", "aste", code=2) == "Error: /proc/x: No such file or directory\n"
    assert "'bleu' is not one of" in run(hub, "bleu", "--output", "x", code=2)
