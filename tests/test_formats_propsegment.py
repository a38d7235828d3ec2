"""The benchmark's files, the Hub's rows, sequence output and JSON lines: what is read, written, counted and refused."""

import gzip
import io
import json

import pytest
from conftest import benchmark_file, load
from hypothesis import given, settings
from hypothesis import strategies as st

from spanscore.formats.propsegment import (
    format_sequence,
    parse_copy,
    parse_sequence,
    read,
    read_sentences,
    tokenize,
    write,
)

SENTENCE = "Ada Byron wrote notes, and Babbage built engines."
TOKENS = ["Ada", "Byron", "wrote", "notes", ",", "and", "Babbage", "built", "engines", "."]


def text(content, name="file.txt"):
    file = io.StringIO(content)
    file.name = name
    return file


# --- sequence output --------------------------------------------------------------------------------------------------


def test_tokens_are_words_and_single_signs():
    assert tokenize(SENTENCE) == TOKENS
    assert tokenize("3-D isn't «a_b» 1.5%") == [
        "3",
        "-",
        "D",
        "isn",
        "'",
        "t",
        "«",
        "a",
        "_",
        "b",
        "»",
        "1",
        ".",
        "5",
        "%",
    ]
    assert tokenize("") == []


@pytest.mark.parametrize(
    ("copy", "found"),
    [
        ("[M] Ada Byron wrote notes [/M] , and Babbage built engines .", [0, 1, 2, 3]),
        ("[M]Ada Byron wrote notes[/M], and Babbage built engines.", [0, 1, 2, 3]),
        ("[M]Ada[/M] Byron wrote notes, and Babbage [M]built engines[/M].", [0, 7, 8]),
        ("[M]AdaByron[/M] wrote notes ,and Babbage built engines.", [0, 1]),
        # Not copies of the sentence.
        ("[M]Ada Byron wrote[/M] and Babbage built engines.", None),
        ("[M]ada Byron[/M] wrote notes, and Babbage built engines.", None),
        ("", None),
        # A mark inside a token, marks that do not pair up, nothing marked.
        ("[M]Ada By[/M]ron wrote notes, and Babbage built engines.", None),
        ("[M]Ada [M]Byron[/M][/M] wrote notes, and Babbage built engines.", None),
        ("[M]Ada Byron wrote notes, and Babbage built engines.", None),
        ("Ada Byron[/M] wrote notes, and Babbage built engines.", None),
        (SENTENCE, None),
        ("[M][/M]" + SENTENCE, None),
    ],
)
def test_copies(copy, found):
    assert parse_copy(copy, TOKENS) == found


def test_sequence_output():
    output = f"[M]Ada Byron[/M] wrote notes, and Babbage built engines. [TARGET] nonsense [TARGET] {SENTENCE} [TARGET] "
    assert parse_sequence(output, SENTENCE) == ([[0, 1]], 2)
    assert parse_sequence(output, TOKENS) == ([[0, 1]], 2)
    assert parse_sequence("  ", SENTENCE) == ([], 0)


@given(st.lists(st.sets(st.integers(0, 9), min_size=1).map(sorted), max_size=4))
@settings(max_examples=100, deadline=None)
def test_sequence_output_goes_there_and_back(propositions):
    output = format_sequence(propositions, TOKENS)
    assert parse_sequence(output, TOKENS) == (propositions, 0)
    assert parse_sequence(output.replace(" [/M]", "[/M]").replace("[M] ", "[M]"), SENTENCE) == (propositions, 0)


def test_indices_past_the_end_cannot_be_marked():
    with pytest.raises(ValueError, match=r"token indices \[0, 10\] are not all below 10"):
        format_sequence([[10, 0]], TOKENS)


@pytest.mark.parametrize("format", ["auto", "sequence"])
def test_sequence_files(format):
    marked = "[M]Ada Byron[/M] wrote notes, and Babbage built engines."
    wanted = [{"tokens": TOKENS, "propositions": [[0, 1]]}, {"tokens": ["No", "."], "propositions": []}]
    with_sentences = read(text(f"{marked} [TARGET] other\n\n"), format, sentences=[SENTENCE, ["No", "."]])
    assert (with_sentences.records, with_sentences.format_notes) == (wanted, {"unparsed": 1})
    with_tabs = read(text(f"{SENTENCE}\t{marked}\nNo.\t\n"), format)
    assert (with_tabs.records, with_tabs.format, with_tabs.format_notes) == (wanted, "sequence", {"unparsed": 0})
    for content, message in [(f"{SENTENCE}\t{marked}\nNo.\n", "file.txt:2: no tab")]:
        with pytest.raises(ValueError, match=message):
            read(text(content), format)
    with pytest.raises(ValueError, match=r"file.txt:1: 1 lines for 2 sentences, expected one a sentence"):
        read(text(marked), format, sentences=[SENTENCE, "No."])
    # The metric takes what was read, on either side.
    assert load("propsegment").compute(predictions=wanted, references=with_tabs.records)["recall"] == 0.5


# --- the benchmark's own ----------------------------------------------------------------------------------------------


def test_benchmark_files():
    propositions = read(benchmark_file("propsegment/propositions.dev.json"))
    assert (propositions.format, len(propositions.records), propositions.format_notes) == ("propositions", 811, {})
    relationships = read(benchmark_file("propsegment/relationships.dev.json"))
    assert (relationships.format, len(relationships.records)) == ("relationships", 2012)
    with pytest.raises(ValueError, match=r"dev\.json:1: entry 0 has no relationship_responses"):
        read(benchmark_file("propsegment/propositions.dev.json"), "relationships")


def test_sequence_output_of_every_sentence_of_the_benchmark():
    path = benchmark_file("propsegment/document_clusters.dev.json")
    sentences = read_sentences(path)
    clusters = json.loads(path.read_text())
    spelled = [s for cluster in clusters for document in cluster["documents"] for s in document["sentences"]]
    assert [tokenize(s["sentence_text"]) for s in spelled] == list(sentences.values())
    texts = dict(zip(sentences, (s["sentence_text"] for s in spelled), strict=True))
    done = 0
    for entry in read(benchmark_file("propsegment/propositions.dev.json")).records:
        name = "/".join(str(entry["sentence_id"][key]) for key in ("cluster_id", "document_id", "sentence_index"))
        for response in entry["segmentation_responses"] if name in sentences else []:
            propositions = [sorted(p["token_indices"]) for p in response.get("propositions", [])]
            output = format_sequence(propositions, sentences[name])
            assert parse_sequence(output, texts[name]) == (propositions, 0)
            done += 1
    assert done > 1000


def test_broken_clusters():
    for content in ("{}", "[1]", '[{"documents": [{}]}]'):
        try:
            assert read_sentences(text(content)) == {}
        except ValueError as refused:
            assert str(refused).startswith("file.txt:1: not a list of document clusters")


ENTRY = {"segmentation_responses": [{"is_reference_response": True, "propositions": [{"token_indices": [0, 1]}]}]}


@pytest.mark.parametrize(
    "content",
    [json.dumps([ENTRY, ENTRY]), json.dumps([ENTRY, ENTRY], indent=1), f"{json.dumps(ENTRY)}\n{json.dumps(ENTRY)}\n"],
    ids=["one line", "many lines", "JSON lines"],
)
@pytest.mark.parametrize("format", ["auto", "propositions"])
def test_entries(content, format):
    corpus = read(text(content), format)
    assert (corpus.format, corpus.records) == ("propositions", [ENTRY, ENTRY])


# --- the Hub's rows ---------------------------------------------------------------------------------------------------


def test_hub_rows():
    rows = [{"hypothesis": "[M]Ada[/M] wrote.", "premise": "A text.", "label": label} for label in "enc"]
    for content in (json.dumps(rows), "".join(json.dumps(row) + "\n" for row in rows)):
        corpus = read(text(content))
        assert (corpus.format, corpus.records) == ("hub", [{"label": "e"}, {"label": "n"}, {"label": "c"}])
    result = load("propsegment", "entailment").compute(predictions=["e", "e", "c"], references=corpus.records)
    assert result["three_way_accuracy"] == pytest.approx(2 / 3)

    marked = ["[M]Ada Byron[/M] wrote notes, and Babbage built engines.", "Ada [M]sang[/M]."]
    for propositions in (marked, " [TARGET] ".join(marked)):
        corpus = read(text(json.dumps({"sentence": SENTENCE, "propositions": propositions})))
        assert corpus.records == [{"tokens": TOKENS, "propositions": [[0, 1]]}]
        assert (corpus.format, corpus.format_notes) == ("hub", {"unparsed": 1})


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"sentence": 5, "propositions": []}, "expected the sentence as text"),
        (
            {"sentence": "a", "propositions": [5]},
            "expected the sentence as text, and its propositions as marked copies",
        ),
        ({"sentence": "a", "propositions": {}}, "expected the sentence as text"),
        ({"sentence": "a"}, "not a row of the data set"),
        ({"label": "e"}, "not a row of the data set"),
        (5, "not a row of the data set"),
    ],
)
def test_bad_hub_rows(row, message):
    good = {"sentence": "a", "propositions": ["[M]a[/M]"]}
    with pytest.raises(ValueError, match=f"file.txt:2: {message}"):
        read(text(json.dumps(good) + "\n" + json.dumps(row)), "hub")


# --- records ----------------------------------------------------------------------------------------------------------

SEGMENTED = [
    {"id": "a", "tokens": TOKENS, "propositions": [[0, 1], [6, 7]]},
    {"id": "b", "tokens": ["x"], "propositions": []},
]


@pytest.mark.parametrize(
    "records",
    [
        SEGMENTED,
        [[[0, 1], [2]], [], [[3]]],
        [[], [[1]]],
        [[[0, 1], [2]]],
        ["entail", "neutral"],
        [0, 2, 1],
        [{"label": "e"}, {"label": "n"}],
        [],
    ],
)
def test_records_go_there_and_back(records, tmp_path):
    for name in ("records.jsonl", "records.jsonl.gz"):
        write(tmp_path / name, records)
        corpus = read(tmp_path / name)
        assert (corpus.records, corpus.format) == (records, "records")
    assert gzip.decompress((tmp_path / name).read_bytes()) == (tmp_path / "records.jsonl").read_bytes()


@pytest.mark.parametrize("records", [[[[0, 1], [2]], [], [[3]]], SEGMENTED, ["entail", "n"], [0, 2]])
@pytest.mark.parametrize("indent", [None, 1])
def test_one_json_list_of_records(records, indent):
    assert read(text(json.dumps(records, indent=indent))).records == records


def test_writing_sequences(tmp_path):
    write(tmp_path / "out.txt", SEGMENTED, "sequence")
    corpus = read(tmp_path / "out.txt")
    assert corpus.records == [{key: record[key] for key in ("tokens", "propositions")} for record in SEGMENTED]
    assert corpus.format_notes == {"unparsed": 0}
    with pytest.raises(ValueError, match=r"records\[1\]: expected a dict with tokens and propositions"):
        write(tmp_path / "out.txt", [SEGMENTED[0], [[0]]], "sequence")
    with pytest.raises(ValueError, match=r"format: 'hub' is not one of records, sequence"):
        write(tmp_path / "out.txt", SEGMENTED, "hub")


def test_broken_files():
    with pytest.raises(ValueError, match=r"format: 'json' is not one of auto, propositions"):
        read(text(""), "json")
    with pytest.raises(ValueError, match=r"file.txt:2: not JSON"):
        read(text('{"propositions": []}\n{"propositions": [}\n'))
    with pytest.raises(ValueError, match=r"file.txt:3: not JSON"):
        read(text('[\n{"propositions": []},\n{"propositions": [}\n]'))
    with pytest.raises(ValueError, match=r"file.txt:1: entry 0 has no segmentation_responses"):
        read(text("[1]"), "propositions")


@given(st.text(max_size=60) | st.text('[]{}",:M/TARGE 01\t\nabpropositions', max_size=80))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_or_refused(content):
    for format in ("auto", "propositions", "relationships", "hub", "records", "sequence"):
        try:
            corpus = read(text(content), format)
        except ValueError as refused:
            assert str(refused).startswith("file.txt:")
            assert "\n" not in str(refused)
        else:
            json.dumps(corpus.records)
