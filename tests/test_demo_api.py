"""The API of the web demo: scores, mistakes, limits, no paths, no mix-up, and the MCP server."""

import asyncio
import json
import re
import threading
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

import documents
import pytest
from conftest import ROOT, load
from gradio_client import Client
from gradio_client.exceptions import AppError

from benchmarks.demo_server import running
from spanscore.benchmarks import BENCHMARKS, metric_options
from spanscore.examples import all_examples

EXAMPLES = all_examples()
NAMES = [f"{example.benchmark.name}-{example.title}" for example in EXAMPLES]
ASTE, DOCRED = (next(one for one in EXAMPLES if one.benchmark.name == name) for name in ("aste", "docred"))


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    limits = {"SPANSCORE_DEMO_TEXT": "2M", "SPANSCORE_DEMO_SECONDS": "20", "SPANSCORE_DEMO_MEMORY": "1G"}
    with running(folder, SPANSCORE_MAX_SIZE="4M", SECRET="hidden away", **limits) as found:
        yield found
    log = found.log.read_text()
    # Gradio writes what it refuses: paths in the place of uploads.
    assert not found.files() and log.count("Traceback") == log.count("gradio.exceptions.InvalidPathError")


@pytest.fixture(scope="module")
def client(server):
    return Client(server.url, verbose=False)


def texts(example):
    return example.predictions.read_text(), example.references.read_text()


def score(client, example, **options):
    files = {name: path.read_text() for name, path in example.files.items()}
    return client.predict(
        example.benchmark.name, *texts(example), {**example.options, **files, **options}, api_name="/score"
    )


def refused(client, *given):
    with pytest.raises(AppError) as error:
        client.predict(*given, api_name="/score")
    return str(error.value)


@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_scores_are_those_of_the_metric(client, example):
    predictions, references = example.read()
    metric = load(example.benchmark.name, example.task)
    result = metric.compute(predictions=predictions, references=references, **example.arguments())
    assert score(client, example) == json.loads(json.dumps(result))


def test_options_may_be_left_out_or_be_any_option(client):
    predictions, references = ASTE.read()
    metric = load("aste")
    assert client.predict("aste", *texts(ASTE), api_name="/score") == metric.compute(
        predictions=predictions, references=references
    )
    options = {"duplicates": "count", "confidence_level": 0.9, "return_errors": True, "groups": ["a", "b"] * 4}
    expected = metric.compute(predictions=predictions, references=references, **options)
    assert client.predict("aste", *texts(ASTE), options, api_name="/score") == json.loads(json.dumps(expected))
    # A list may be the text of a file, as on the command line.
    options["groups"] = "a\nb\n" * 4
    assert client.predict("aste", *texts(ASTE), options, api_name="/score") == json.loads(json.dumps(expected))


def test_options_of_reading(client):
    line = "the big red car####[([1, 3], [0], 'POS')]\n"
    assert "span_format" in refused(client, "aste", line, line, {})
    result = client.predict("aste", line, line, {"span_format": "ends"}, api_name="/score")
    assert result["f1"] == 100 and result["multi_word"]["gold"] == 1


def test_mistakes_are_one_line(client):
    predictions, references = texts(ASTE)
    assert refused(client, "aste", predictions.replace("NEG", "GOOD", 1), references, {}) == (
        "predictions/pasted:2: polarity GOOD is not one of POS, NEG, NEU"
    )
    assert refused(client, "aste", predictions, references, {"duplicates": "x"}) == (
        "duplicates: 'x' is not one of set, count, pairs"
    )
    assert refused(client, "aste", predictions, references, {"nonsense": 1}).startswith(
        "nonsense: not an option of aste, expected one of duplicates, "
    )
    assert refused(client, "bleu", predictions, references, {}).startswith("benchmark: 'bleu' is not one of aste, ")
    assert refused(client, "aste", " ", references, {}) == "predictions: missing, expected a file or its text"
    assert refused(client, "aste", predictions, references, {"span_format": "x"}).startswith('span_format: "x" is not')
    record = '{"id": "a", "triplets": [["x", "y", "happy"]]}'
    assert refused(client, "aste", record, record.replace("happy", "POS"), {}) == (
        "predictions[0].triplets[0].polarity: 'happy' is not one of POS, NEG, NEU"
    )
    for value in (3, ["a"], "text"):
        assert refused(client, "aste", predictions, references, value) == (
            "options: expected a dict from the name of an option to its value"
        )
    assert refused(client, "aste", 3, references, {}) == "predictions: expected the text of a file"


def test_no_path_is_opened(client, tmp_path):
    secret = tmp_path / "secret.json"
    secret.write_text(json.dumps([["a", "b", "P1"]]))
    predictions, references = texts(DOCRED)
    paths = [str(secret), f"@{secret}", f"file://{secret}", secret.as_uri().replace("//", "//localhost")]
    for path in paths:
        for given in ((path, references, {}), (predictions, path, {})):
            assert "no format fits" in refused(client, "docred", *given)
        for name, option in metric_options(BENCHMARKS["docred"]).items():
            if option.form == "file":
                assert "not JSON" in refused(client, "docred", predictions, references, {name: path}), name
    # A path inside a structure is a value like any other.
    assert (
        "secret" not in refused(client, "docred", predictions, references, {"train": [str(secret)]}).partition(":")[0]
    )
    clusters = {"clusters": str(secret), "references_format": "propositions"}
    assert "pasted" in refused(client, "propsegment", "a", '{"sentence_id": {"cluster_idx": 1}}', clusters)


def test_every_option_without_a_file_opens_none(monkeypatch):
    import builtins
    import io

    opened = []
    for module in (builtins, io):
        monkeypatch.setattr(module, "open", lambda *given, **more: opened.append(given))
    for benchmark in BENCHMARKS.values():
        for name, option in metric_options(benchmark).items():
            if option.form != "file":
                with pytest.raises(ValueError, match=f"^{name}"):
                    option.read("/etc/passwd")
    assert not opened


def test_large_and_packed_input_is_refused_in_words(server, client):
    long = "x" * (2 * 2**20 + 1)
    assert refused(client, "aste", long, "y", {}) == "predictions: 2,097,153 bytes, expected at most 2,097,152"
    request = urllib.request.Request(
        f"{server.url}/gradio_api/call/score", data=b"[" + b" " * (7 * 2**20) + b"]", method="POST"
    )
    with pytest.raises(urllib.error.HTTPError) as error:
        urllib.request.urlopen(request, timeout=30)
    assert error.value.code == 413 and b"expected at most 6,291,456 bytes" in error.value.read()
    assert client.predict("aste", *texts(ASTE), {}, api_name="/score")["gold"] == 11


def test_a_job_has_limits_of_time_and_memory(client):
    predictions, references = texts(ASTE)
    many = {"confidence_level": 0.9, "n_resamples": 2**31 - 1}
    words = refused(client, "aste", predictions, references, many)
    assert re.match("not enough memory|stopped after 20 seconds|the process ended without a result", words)
    assert client.predict("aste", predictions, references, {}, api_name="/score")["gold"] == 11


def test_hostile_text_does_no_harm(client):
    hostile = "<script>alert(1)</script>\x1b[2J\u202e"
    record = json.dumps({"triplets": [[hostile, "b", "POS"]]})
    result = client.predict("aste", record, record, {"return_errors": True}, api_name="/score")
    assert result["f1"] == 100 and result["matched"][0]["reference"]["aspect"] == hostile


def test_the_list_of_benchmarks(client):
    listed = {one["name"]: one for one in client.predict(api_name="/benchmarks")}
    assert list(listed) == list(BENCHMARKS)
    for name, one in listed.items():
        assert [option["name"] for option in one["options"]] == list(metric_options(BENCHMARKS[name]))
        assert one["formats"] and all(option["text"] for option in one["options"])
    assert listed["propsegment"]["tasks"] == ["segmentation", "entailment"]
    (duplicates,) = (option for option in listed["aste"]["options"] if option["name"] == "duplicates")
    assert duplicates["default"] == "set" and duplicates["choices"] == ["set", "count", "pairs"]


def test_events_of_the_page_are_no_endpoints(server, client):
    with urllib.request.urlopen(f"{server.url}/gradio_api/info", timeout=30) as found:
        assert set(json.load(found)["named_endpoints"]) == {"/score", "/benchmarks"}


def test_a_crafted_upload_opens_no_file(server, client, tmp_path):
    """A browser that names a file of the server in the place of an upload gets an error, and the file stays."""
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    with urllib.request.urlopen(f"{server.url}/config", timeout=30) as found:
        events = json.load(found)["dependencies"]
    stores = [event["id"] for event in events if event["api_name"].startswith("store")]
    assert stores
    file = {"path": str(secret), "meta": {"_type": "gradio.FileData"}, "orig_name": "x"}
    for given in (file, {**file, "url": f"{server.url}/config"}, {**file, "path": "../../../etc/passwd"}):
        body = {"data": [given], "fn_index": stores[0], "session_hash": "someone", "trigger_id": None}
        events = join(server.url, body)
        assert events[-1]["msg"] == "process_completed" and not events[-1]["success"]
    assert secret.read_text() == "secret"
    assert not [path for path in server.files() if path.name == "secret.txt"]


def join(url, body):
    """Send an event as the page does, and return the messages that follow."""
    request = urllib.request.Request(
        f"{url}/gradio_api/queue/join", data=json.dumps(body).encode(), headers={"Content-Type": "application/json"}
    )
    urllib.request.urlopen(request, timeout=30).close()
    messages = []
    with urllib.request.urlopen(f"{url}/gradio_api/queue/data?session_hash={body['session_hash']}", timeout=60) as data:
        for line in data:
            if line.startswith(b"data:"):
                messages.append(json.loads(line[5:]))
                if messages[-1]["msg"] in ("process_completed", "close_stream"):
                    break
    return messages


def test_the_server_gives_no_files_away(server, tmp_path):
    (tmp_path / "secret.txt").write_text("secret")
    kept = next(server.folder.glob("spanscore-*")) / "sessions" / "x.txt"
    kept.write_text("of a visitor")
    for path in ("/etc/passwd", tmp_path / "secret.txt", ROOT / "app.py", kept, "../app.py", "app.py"):
        with pytest.raises(urllib.error.HTTPError) as error:
            urllib.request.urlopen(f"{server.url}/gradio_api/file={path}", timeout=30)
        assert error.value.code in (403, 404)
    kept.unlink()


def test_many_clients_at_once_do_not_mix(server):
    expected = {}
    lock, starts = threading.Lock(), threading.Barrier(12)

    def one(number):
        example = EXAMPLES[number % len(EXAMPLES)]
        options = {"confidence_level": 0.5, "n_resamples": 10 + number}
        client = Client(server.url, verbose=False)
        starts.wait(timeout=60)
        result = score(client, example, **options)
        with lock:
            expected[number] = (example, options)
        return number, result

    with ThreadPoolExecutor(12) as pool:
        results = dict(pool.map(one, range(12)))
    for number, (example, options) in expected.items():
        predictions, references = example.read()
        alone = load(example.benchmark.name, example.task).compute(
            predictions=predictions, references=references, **example.arguments(), **options
        )
        assert results[number] == json.loads(json.dumps(alone))


def test_the_mcp_server_has_both_tools(server):
    from mcp import ClientSession
    from mcp.client.streamable_http import streamable_http_client

    async def use():
        async with (
            streamable_http_client(f"{server.url}/gradio_api/mcp/") as (read, write, _),
            ClientSession(read, write) as session,
        ):
            await session.initialize()
            tools = {tool.name: tool for tool in (await session.list_tools()).tools}
            predictions, references = texts(ASTE)
            given = {"benchmark": "aste", "predictions": predictions, "references": references}
            called = await session.call_tool("score", {**given, "options": {"duplicates": "count"}})
            return tools, called

    tools, called = asyncio.run(use())
    assert set(tools) == {"score", "list_benchmarks"}
    assert "official metric" in tools["score"].description
    assert "the gold data" in json.dumps(tools["score"].inputSchema)
    assert not called.isError and "duplicates:count" in called.content[0].text


def test_the_code_in_the_documents(server, monkeypatch):
    monkeypatch.chdir(ROOT)
    documents.run_blocks(documents.DEMO.read_text().replace("http://127.0.0.1:7860", server.url))
