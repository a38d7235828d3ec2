import gzip
import io
import json
import sys

import pytest
from conftest import benchmark_file, expected, load, perturbed
from hypothesis import given, settings
from hypothesis import strategies as st
from test_docred_metric import as_facts, as_records, document, hub_rows

from spanscore.formats.docred import FORMATS, read, training_triples, write
from spanscore.formats.files import TextFile, parse_json_items

DOCUMENTS = [document("Café", 3, [(0, 1, "P1", [0]), (1, 2, "P2", [])]), document("b", 2, [(1, 0, "P1", [0])])]
VALUES = {
    "documents": DOCUMENTS,
    "rows": hub_rows(DOCUMENTS),
    "result": as_facts(DOCUMENTS),
    "records": as_records(as_facts(DOCUMENTS)),
    "facts": [["Ann", "Bob", "P1"], ["Ann", "Cy", "P2"]],
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "a.jsonl"])
def test_round_trip(tmp_path, format, name):
    if (format, name) == ("facts", "a.jsonl"):
        with pytest.raises(ValueError, match="facts as JSON lines"):
            write(tmp_path / name, VALUES[format], format)
        return
    write(tmp_path / name, VALUES[format], format)
    for asked in ("auto", format):
        assert read(tmp_path / name, asked)[:3] == (VALUES[format], format, {})
    if name.endswith(".gz"):
        assert gzip.decompress((tmp_path / name).read_bytes())[:1] == b"["


def test_forms_convert(tmp_path):
    path = tmp_path / "a.json"
    write(path, VALUES["records"], "result")
    assert read(path).records == VALUES["result"]
    write(path, VALUES["result"], "records")
    assert read(path).records == VALUES["records"]
    write(path, VALUES["rows"], "documents")
    assert read(path).records == DOCUMENTS
    write(path, DOCUMENTS, "rows")
    rows = read(path)
    assert rows.format == "rows" and rows.records[0]["labels"]["relation_text"] == ["", ""]
    write(path, DOCUMENTS, "facts")
    assert (
        read(path).records
        == training_triples(VALUES["rows"])
        == [
            ["Café e0", "Café e1", "P1"],
            ["Café e1", "Café e2", "P2"],
            ["b e1", "b e0", "P1"],
        ]
    )
    with pytest.raises(ValueError, match="dense scores"):
        write(path, [{"title": "a", "scores": [[0.5]]}], "result")
    with pytest.raises(ValueError, match="format: 'csv' is not one of"):
        write(path, [], "csv")


def test_hidden_test_set(tmp_path):
    hidden = [{key: value for key, value in d.items() if key != "labels"} for d in DOCUMENTS]
    path = tmp_path / "test.json"
    path.write_text(json.dumps(hidden))
    corpus = read(path)
    assert [d["labels"] for d in corpus.records] == [[], []]
    assert (corpus.format, corpus.format_notes) == ("documents", {"documents without labels": 2})


def test_sources(monkeypatch):
    text = json.dumps(VALUES["result"], indent=1)
    assert read(io.StringIO(text)).records == VALUES["result"]
    monkeypatch.setattr(sys, "stdin", io.StringIO("[]"))
    assert read("-")[:3] == ([], "result", {})


@pytest.mark.parametrize(
    "text, words",
    [
        ("[3]", ":1: not a value of any of the formats"),
        ('[\n{"title": "a"}]', ":2: not a value of any"),
        ('[{"title": "a", "r": "P1"},\n{"title": "a"}]', ":2: r is missing, expected text"),
        ('[{"title": "a", "r": "P1"},\n3]', ":2: not an object"),
        ('[{"title": "a", "vertexSet": 3, "labels": []}]', ":1: vertexSet is not a list"),
        (
            '[{"title": "a", "vertexSet": []},\n\n{"title": "a", "vertexSet": []}, {"vertexSet": [], "labels": []}]',
            ":3: title is missing",
        ),
        ('[["a", "b", "c"],\n["a", "b"]]', ":2: not a triple"),
        ('[["a", "b", 3]]', ":1: not a triple"),
        ('[{"title": "a"\n"r": 1}]', ":2: not JSON"),
        ("[3\n4]", ":2: not JSON: expected ',' or ']'"),
        ("[]\n[]", ":2: not JSON: text after the list"),
        ('[{"title": "a", "r": "P1"},\n]', ":2: not JSON"),
        ("{", ":1: not JSON"),
        ("[", ":1: not JSON"),
        ("[" * 100000, "nested too deeply"),
        ('{"title": "a", "r": "P1"}\n{', ":2: not JSON"),
    ],
)
def test_mistakes_have_file_and_line(tmp_path, text, words):
    path = tmp_path / "wrong.json"
    path.write_text(text)
    with pytest.raises(ValueError) as caught:
        read(path)
    assert str(caught.value).startswith(str(path)) and words in str(caught.value)


def test_wrong_format(tmp_path):
    with pytest.raises(ValueError, match="format: 'csv' is not one of auto, documents"):
        read(io.StringIO("[]"), "csv")
    with pytest.raises(ValueError, match="relations is missing"):
        read(io.StringIO(json.dumps(VALUES["result"])), "records")


@settings(deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    ),
    st.sampled_from([None, 1]),
)
def test_items_are_those_of_json(value, indent):
    items = parse_json_items(TextFile("f", json.dumps([value, value], indent=indent)))
    assert [item for _, item in items] == [value, value]
    assert items[0][0] == (1 if indent is None else 2)


@settings(deadline=None)
@given(st.text('[]{},:"ar tile0\n', max_size=40))
def test_any_text_is_read_or_refused(text):
    try:
        read(io.StringIO(text))
    except ValueError as error:
        assert "\n" not in str(error)


def test_benchmark_files_through_the_metric(tmp_path):
    source = benchmark_file("docred/test_revised.json")
    documents = read(source)
    assert (documents.format, len(documents.records), documents.format_notes) == ("documents", 500, {})
    result = tmp_path / "result.json"
    result.write_text(perturbed("docred", source))
    train = tmp_path / "train.fact"
    write(train, read(benchmark_file("docred/dev_revised.json")).records, "facts")
    scores = load("docred").compute(
        predictions=read(result).records, references=documents.records, train_facts=read(train).records
    )
    wanted = expected()["docred"]
    for key in ("f1", "ign_f1", "ign_precision", "macro_f1"):
        assert scores[key] == pytest.approx(wanted[key], abs=1e-6)
