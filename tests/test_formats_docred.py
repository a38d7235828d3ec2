import gzip
import io
import json
import sys

import pyarrow as pa
import pyarrow.parquet
import pytest
from conftest import benchmark_file, expected, load, perturbed
from hypothesis import given, settings
from hypothesis import strategies as st
from test_docred_metric import as_facts, as_records, document, hub_rows

from spanscore.formats.docred import FORMATS, detect, read, to_predictions, training_triples, write
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
        ("[3]", ":1: no format fits, nearest are documents, rows, result, records (not an object)"),
        ('[\n{"title": "a"}]', ":2: no format fits, nearest are documents (vertexSet is missing"),
        ('[\n{"title": "a"}]', "result (r is missing, expected text; the keys are title)"),
        ('[{"title": "a", "r": "P1"},\n{"title": "a"}]', ":2: r is missing, expected text"),
        ('[{"title": "a", "r": "P1"},\n3]', ":2: not an object"),
        ('[{"title": "a", "vertexSet": 3, "labels": []}]', ":1: vertexSet is not a list"),
        (
            '[{"title": "a", "vertexSet": []},\n\n{"title": "a", "vertexSet": []}, {"vertexSet": [], "labels": []}]',
            ":3: records[2]: title is missing",
        ),
        ('[["a", "b", "c"],\n["a", "b"]]', ":2: not a triple"),
        ('[["a", "b", 3]]', ":1: no format fits, nearest are facts (not a triple"),
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


HUB = {"h_idx": "head", "t_idx": "tail", "r": "relation_id"}
HUB_FACTS = [{HUB.get(key, key): value for key, value in f.items()} for f in as_facts(DOCUMENTS)]
HUB_RECORDS = [
    {"title": r["title"], "relations": {key: [f[key] for f in r["relations"]] for key in r["relations"][0]}}
    for r in as_records(HUB_FACTS)
]


def columns(values):
    return {key: [value[key] for value in values] for key in values[0]}


@pytest.mark.parametrize(
    ("value", "format", "records"),
    [
        (HUB_FACTS, "result", HUB_FACTS),
        (HUB_RECORDS, "records", HUB_RECORDS),
        (columns(VALUES["result"]), "result", VALUES["result"]),
        (columns(HUB_FACTS), "result", HUB_FACTS),
        (columns(VALUES["rows"]), "rows", VALUES["rows"]),
        (columns(DOCUMENTS), "documents", DOCUMENTS),
        ({r["title"]: r["relations"] for r in VALUES["records"]}, "records", VALUES["records"]),
        (VALUES["records"][0], "records", VALUES["records"][:1]),
        (DOCUMENTS[0], "documents", DOCUMENTS[:1]),
        ([{"title": 7, "h_idx": 0, "t_idx": 1, "r": "P1"}], "result", None),
        ([{"title": "a", "scores": [[[0.5]]]}], "records", None),
    ],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_formats_are_told_by_content(value, format, records, indent):
    text = json.dumps(value, indent=indent)
    assert detect(TextFile("f", text)) == format
    corpus = read(io.StringIO(text))
    assert (corpus.format, corpus.records) == (format, value if records is None else records)


@pytest.mark.parametrize("form", ["facts", "records"])
def test_parquet_under_the_names_of_the_hub(tmp_path, form):
    values = HUB_FACTS if form == "facts" else HUB_RECORDS
    path = tmp_path / "p.parquet"
    pyarrow.parquet.write_table(pa.Table.from_pylist(values), str(path))
    found = load("docred").compute(predictions=read(path).records, references=DOCUMENTS)
    assert found["f1"] == found["evidence"]["f1"] == 100


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "The food is good .####[([1], [3], 'POS')]",
            ":1: no format fits, nearest are documents, rows, result, records",
        ),
        ("\n", "(the file is empty)"),
        (
            '{"tokens": ["a"], "triplets": []}',
            "result (title is missing, expected text or a whole number; the keys are",
        ),
        ('[{"id": 1, "annotations": []}]', "the keys are id, annotations)"),
        ("[[[0, 1], [2]]]", ":1: no format fits, nearest are facts (not a triple"),
        ('{"title": ["a", "b"], "r": ["P1"]}', ":1: columns differ in length: title has 2, r has 1"),
    ],
)
def test_files_of_no_format(tmp_path, text, words):
    path = tmp_path / "wrong"
    path.write_text(text)
    with pytest.raises(ValueError) as caught:
        read(path)
    assert str(caught.value).startswith(str(path)) and words in str(caught.value), str(caught.value)


def test_a_benchmark_file_of_another_benchmark():
    for name in ("aste/v2/14lap/test_triplets.txt", "aste/gts/lap14_test.json", "propsegment/relationships.dev.json"):
        with pytest.raises(ValueError, match=r"no format fits, nearest are "):
            read(benchmark_file(name))


@pytest.mark.parametrize("name", ["dev_revised", "test_revised"])
def test_gold_against_gold_from_files(tmp_path, name):
    source = benchmark_file(f"docred/{name}.json")
    documents = read(source).records
    write(tmp_path / "rows.json", documents, "rows")
    rows = read(tmp_path / "rows.json").records
    write(tmp_path / "result.json", documents, "result")
    for predictions in (to_predictions(documents), to_predictions(rows), read(tmp_path / "result.json").records):
        found = load("docred").compute(predictions=predictions, references=documents)
        assert found["f1"] == found["macro_f1"] == found["evidence"]["f1"] == 100
        assert found["best_threshold"] is None


def test_predictions_of_documents():
    facts = [{"h_idx": 0, "t_idx": 1, "r": "P1", "evidence": [0]}, {"h_idx": 1, "t_idx": 2, "r": "P2", "evidence": []}]
    wanted = {"title": "Café", "relations": facts}
    assert to_predictions(DOCUMENTS)[0] == to_predictions(hub_rows(DOCUMENTS))[0] == wanted
    assert to_predictions([{"title": "a", "vertexSet": [], "labels": None}]) == [{"title": "a", "relations": []}]
    assert to_predictions(VALUES["records"]) == VALUES["records"]
    uneven = {**hub_rows(DOCUMENTS)[0], "labels": {"head": [0], "tail": [1, 2], "relation_id": ["P1"]}}
    with pytest.raises(ValueError, match=r"^records\[0\]\.labels: columns differ in length: h has 1, t has 2"):
        to_predictions([uneven])


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
