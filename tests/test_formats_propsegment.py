"""The benchmark's files, the Hub's rows, sequence output and JSON lines: what is read, written, counted and refused."""

import gzip
import io
import json
import time
import warnings

import pytest
from conftest import ROOT, benchmark_file, load
from hypothesis import given, settings
from hypothesis import strategies as st

from spanscore import cli
from spanscore.formats.files import TextFile, json_lines
from spanscore.formats.propsegment import (
    detect,
    format_sequence,
    parse_copy,
    parse_generated,
    parse_sequence,
    read,
    read_sentences,
    task_of,
    to_predictions,
    tokenize,
    write,
)

SEGMENTATION = load("propsegment")
ENTAILMENT = load("propsegment", "entailment")

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
    wanted = [
        {"tokens": TOKENS, "propositions": [[0, 1]], "unparsed": 1},
        {"tokens": ["No", "."], "propositions": [], "unparsed": 0},
    ]
    with_sentences = read(text(f"{marked} [TARGET] other\n\n"), format, sentences=[SENTENCE, ["No", "."]])
    assert (with_sentences.records, with_sentences.format_notes) == (wanted, {"unparsed": 1})
    with_tabs = read(text(f"{SENTENCE}\t{marked}\nNo.\t\n"), format)
    assert with_tabs.records == [wanted[0] | {"unparsed": 0}, wanted[1]]
    assert (with_tabs.format, with_tabs.format_notes) == ("sequence", {"unparsed": 0})
    for content, message in [(f"{SENTENCE}\t{marked}\nNo.\n", "file.txt:2: no tab")]:
        with pytest.raises(ValueError, match=message):
            read(text(content), format)
    with pytest.raises(ValueError, match=r"file.txt:1: 1 lines for 2 sentences, expected one a sentence"):
        read(text(marked), format, sentences=[SENTENCE, "No."])
    # The metric takes what was read, on either side.
    result = load("propsegment").compute(predictions=wanted, references=with_tabs.records)
    assert (result["precision"], result["recall"], result["unparsed_predictions"]) == (0.25, 0.5, 1)


# --- the benchmark's own ----------------------------------------------------------------------------------------------


def test_benchmark_files():
    propositions = read(benchmark_file("propsegment/propositions.dev.json"))
    assert (propositions.format, len(propositions.records), propositions.format_notes) == ("propositions", 811, {})
    relationships = read(benchmark_file("propsegment/relationships.dev.json"))
    assert (relationships.format, len(relationships.records)) == ("relationships", 2012)
    with pytest.raises(ValueError, match=r"dev\.json:2: entry 0 has no relationship_responses"):
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
        assert corpus.records == [{"tokens": TOKENS, "propositions": [[0, 1]], "unparsed": 1}]
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
    assert corpus.records == [
        {"tokens": record["tokens"], "propositions": record["propositions"], "unparsed": 0} for record in SEGMENTED
    ]
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
    for format in ("auto", "propositions", "relationships", "hub", "records", "labels", "sequence"):
        try:
            corpus = read(text(content), format)
        except ValueError as refused:
            assert str(refused).startswith("file.txt:")
            assert "\n" not in str(refused)
        else:
            json.dumps(corpus.records)


# --- unparsed copies --------------------------------------------------------------------------------------------------


@given(
    st.text(max_size=80) | st.text("[]M/TARGE ab.\n\t", max_size=80),
    st.lists(st.text(max_size=5) | st.text("[M]/ab ", max_size=5), max_size=6) | st.text(max_size=20),
)
@settings(max_examples=500, deadline=None)
def test_any_output_gives_a_record(output, tokens):
    record = parse_generated(output, tokens)
    assert record["tokens"] == (tokenize(tokens) if isinstance(tokens, str) else tokens)
    copies = [copy for copy in output.split("[TARGET]") if copy.strip()]
    assert len(record["propositions"]) + record["unparsed"] == len(copies)
    for proposition in record["propositions"]:
        assert proposition == sorted(set(proposition))
        assert all(0 <= index < len(record["tokens"]) for index in proposition)
    assert parse_sequence(output, tokens) == (record["propositions"], record["unparsed"])
    if all(token.isprintable() for token in record["tokens"]):
        reference = {"tokens": record["tokens"], "propositions": []}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = SEGMENTATION.compute(predictions=[record], references=[reference])
        assert result["unparsed_predictions"] == record["unparsed"]


@pytest.mark.parametrize(
    ("output", "propositions", "unparsed"),
    [
        ("", [], 0),
        (" [TARGET] \n[TARGET]", [], 0),
        ("[M]Ada\tByron[/M]\nwrote notes,and Babbage built engines .", [[0, 1]], 0),
        ("[M]Ada[/M] [M]Byron[/M] wrote notes, and Babbage built engines.", [[0, 1]], 0),
        # Cut off by a limit of length, in another case, another sentence, another mark.
        ("[M]Ada Byron[/M] wrote notes, and Babbage built engines. [TARGET] [M]Ada Byron wrote no", [[0, 1]], 1),
        ("[M]Ada Byron[/M] wrote notes, and Babbage", [], 1),
        ("[M]ada byron[/M] wrote notes, and babbage built engines.", [], 1),
        ("[M]Bob[/M] sang.", [], 1),
        ("[m]Ada Byron[/m] wrote notes, and Babbage built engines.", [], 1),
        # Marks that are nested, open, closed twice or alone; a copy without any.
        ("[M]Ada [M]Byron[/M][/M] wrote notes, and Babbage built engines.", [], 1),
        ("[M] [TARGET] [/M] [TARGET] [M][/M]", [], 3),
        (SENTENCE, [], 1),
    ],
)
def test_what_lines_up_with_the_sentence(output, propositions, unparsed):
    for tokens in (TOKENS, SENTENCE, tuple(TOKENS)):
        assert parse_generated(output, tokens) == {
            "tokens": TOKENS,
            "propositions": propositions,
            "unparsed": unparsed,
        }


def test_tokens_that_hold_marks():
    assert parse_generated("[M]a[/M]", ["[M]a"]) == {"tokens": ["[M]a"], "propositions": [], "unparsed": 1}
    assert tokenize("Press [M] now") == ["Press", "[", "M", "]", "now"]
    for token in ("[M]", "x[/M]", "[TARGET]", "", " "):
        with pytest.raises(ValueError, match="is not a token of sequence output"):
            format_sequence([[0]], ["a", token])


@pytest.mark.parametrize(
    "output",
    ["a[TARGET]" * 100_000, "[M]" * 300_000, "[M][/M]" * 150_000, "[M" * 400_000, "[M]a[/M]" * 100_000, " " * 800_000],
    ids=["copies", "open", "pairs", "halves", "tokens", "space"],
)
@pytest.mark.parametrize("tokens", [["a"] * 100_000, ["a"], ["a" * 100_000]], ids=["many", "one", "long"])
def test_hostile_output_takes_linear_time(output, tokens):
    start = time.process_time()
    record = parse_generated(output, tokens)
    assert time.process_time() - start < 5
    assert len(record["propositions"]) <= 1 or tokens == ["a"]


def test_an_unreadable_copy_lowers_precision():
    content = f"{SENTENCE}\t[M]Ada Byron[/M] wrote notes, and Babbage built engines. [TARGET] nonsense [TARGET] more\n"
    corpus = read(text(content))
    assert [record["unparsed"] for record in corpus.records] == [2]
    assert corpus.unparsed == [(1, "nonsense"), (1, "more")]
    result = SEGMENTATION.compute(predictions=corpus.records, references=[{"tokens": TOKENS, "propositions": [[0, 1]]}])
    assert (result["precision"], result["recall"]) == (pytest.approx(1 / 3), 1.0)


def test_a_file_of_which_nothing_can_be_read():
    for content, sentences in [
        ("Ada.\tnonsense\nBob.\tmore\n", None),
        ("Ada.\t[M]Bob[/M].\n", None),
        ("0\tentail\n1\tneutral\n", None),
        ("nonsense\nmore\n", ["Ada.", "Bob."]),
        ("[M]Bob[/M].\n[M]Ada[/M].\n", ["Ada.", "Bob."]),
    ]:
        for format in ("auto", "sequence"):
            with pytest.raises(ValueError, match=r"file.txt:1: .* nothing can be read as sequence; other formats are"):
                read(text(content), format, sentences)
    row = {"sentence": "Ada wrote.", "propositions": ["[M]Bob[/M] wrote."]}
    with pytest.raises(ValueError, match=r"file.txt:1: .* nothing can be read as hub"):
        read(text(json.dumps(row)))
    # Blank outputs are those of sentences without propositions.
    assert [record["propositions"] for record in read(text("Ada.\t\nBob.\t\n")).records] == [[], []]
    assert [record["propositions"] for record in read(text("\n\n"), sentences=["Ada.", "Bob."]).records] == [[], []]


def test_sentences_are_given_and_in_the_file_too():
    other = ["No", "."]
    marked = "[M]Ada Byron[/M] wrote notes, and Babbage built engines."
    content = f"{SENTENCE}\t{marked}\nNo.\t[M]No[/M].\n"
    for format in ("auto", "sequence"):
        corpus = read(text(content), format, sentences=[TOKENS, other])
        assert [record["propositions"] for record in corpus.records] == [[[0, 1]], [[0]]]
        # Misplaced: the records keep their own sentences, so the metric refuses them.
        corpus = read(text(content), format, sentences=[other, TOKENS])
        references = [{"tokens": tokens, "propositions": [[0]]} for tokens in (other, TOKENS)]
        with pytest.raises(ValueError, match=r"predictions\[0\]\.tokens: the sentence of references\[1\]"):
            SEGMENTATION.compute(predictions=corpus.records, references=references)
        # As many lines as there are entries with a reference.
        corpus = read(text(content), format, sentences=[TOKENS, ["x"], other])
        assert [record["tokens"] for record in corpus.records] == [TOKENS, other]
    # Tokens of the references go before those of `tokenize`.
    (record,) = read(text("It's\t[M]It[/M]'s\n"), sentences=[["It", "'s"]]).records
    assert record == {"tokens": ["It", "'s"], "propositions": [[0]], "unparsed": 0}


def test_what_a_file_of_sequences_cannot_hold(tmp_path):
    for record, message in [
        ({"tokens": ["a"], "propositions": [], "unparsed": 2}, r"records\[1\]\.unparsed: 2, expected 0"),
        ({"tokens": ["It", "'s"], "propositions": [[0]]}, r"records\[1\]\.tokens: .* would be read as other tokens"),
        ({"tokens": ["a\tb"], "propositions": [[0]]}, r"records\[1\]\.tokens: .* would be read as other tokens"),
        ({"tokens": ["[M]"], "propositions": [[0]]}, r"records\[1\]: '\[M\]' is not a token of sequence output"),
        ({"tokens": ["a"], "propositions": [[1]]}, r"records\[1\]: token indices \[1\] are not all below 1"),
    ]:
        with pytest.raises(ValueError, match=message):
            write(tmp_path / "out.txt", [SEGMENTED[0], record], "sequence")
    assert not (tmp_path / "out.txt").exists()


# --- labels, rows with ids, files of others ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "labels"),
    [
        ("entail\nneutral\ncontradict\n", ["entail", "neutral", "contradict"]),
        ("Entailment\r\n n \r\nNOT ENTAIL\r\n\r\n", ["Entailment", "n", "NOT ENTAIL"]),
        ('"entail"\nneutral', ["entail", "neutral"]),
        ("0\nentail\n2\n", [0, "entail", 2]),
        ("RELATIONSHIP_ENTAILS\n", ["RELATIONSHIP_ENTAILS"]),
    ],
)
def test_plain_labels(content, labels):
    for format in ("auto", "labels"):
        corpus = read(text(content), format)
        assert (corpus.format, corpus.records, corpus.format_notes) == ("labels", labels, {})
    names = {"label_names": ["entail", "neutral", "contradict"]}
    assert ENTAILMENT.compute(predictions=labels, references=labels, **names)["accuracy"] == 1.0
    assert task_of(labels) == "entailment"


def test_integers_are_labels_too():
    corpus = read(text("0\n2\n1\n"))
    assert (corpus.records, task_of(corpus.records)) == ([0, 2, 1], "entailment")
    assert read(text("0\n2\n1\n"), "labels").records == [0, 2, 1]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("entail\nneutrl\n", r"file.txt:2: 'neutrl' is not a label: one of entail, neutral"),
        ("ential\nneutral\n", r"file.txt:1: 'ential' is not a label"),
        ("entail\n\nneutral\n", r"file.txt:2: a blank line is not a label"),
        ("label\nentail\n", r"file.txt:1: 'label' is not a label"),
        ("0\ntrue\nentail\n", r"file.txt:2: 'true' is not a label"),
    ],
)
def test_bad_labels_have_a_line(content, message):
    with pytest.raises(ValueError, match=message):
        read(text(content))


def test_labels_and_sequences_are_not_mistaken_for_each_other():
    labels, marked = "entail\nneutral\n", "[M]Ada[/M] sang.\n[M]No[/M].\n"
    sentences = ["Ada sang.", "No."]
    assert read(text(labels), sentences=sentences).format == "labels"
    assert read(text(marked), sentences=sentences).format == "sequence"
    with pytest.raises(ValueError, match=r"file.txt:1: 'entail' is no copy of its sentence"):
        read(text(labels), "sequence", sentences)
    with pytest.raises(ValueError, match=r"file.txt:1: no tab"):
        read(text(labels), "sequence")
    with pytest.raises(ValueError, match=r"file.txt:1: '\[M\]Ada\[/M\] sang\.' is not a label"):
        read(text(marked), "labels")
    # An unlucky first output does not decide.
    for first in ("1", "[]", '"entail"', "neutral", "nonsense"):
        corpus = read(text(f"{first}\n[M]No[/M].\n"), sentences=sentences)
        assert (corpus.format, [record["unparsed"] for record in corpus.records]) == ("sequence", [1, 0])
    # JSON needs no sentences.
    assert read(text("[[[0]], []]"), sentences=sentences).format == "records"


@pytest.mark.parametrize(
    ("content", "reasons"),
    [
        ('[{"title": "a", "sents": [["b"]], "vertexSet": [], "labels": []}]', r"records \(the keys are \['title', "),
        ('[{"title": "a", "h_idx": 0, "t_idx": 1, "r": "P1"}]', r"records \(the keys are \['title', 'h_idx'"),
        ("The food is good .####[([1], [3], 'POS')]\n", r"sequence \(no line has \[M\] or a tab\); labels \("),
        (
            '{"tokens": ["a"], "triplets": [[[0], [0], "POS"]]}\n',
            r"\['tokens', 'triplets'\], expected propositions or l",
        ),
        ('[[[[0], [1], "POS"]], []]', r"records \(.* is neither a list of propositions nor a label"),
        ("(screen, dim, negative)\n", r"labels \('\(screen, dim, negative\)' is not one of entail"),
        ('{"id": "a", "annotations": []}', r"\['id', 'annotations'\].* relationships \(no relationship_responses\)"),
        ("<?xml version='1.0'?><a/>", r"records \(.* is not JSON\)"),
        ('{"id": 1, "prediction": "entail"}\n', r"\['id', 'prediction'\], expected propositions or label"),
        ("true\nfalse\n", r"records \('True' is neither"),
        ("[0, 1, 1]\n[1, 0, 0]\n", r"records \('\[0, 1, 1\]' is neither"),
        ("id,label\n0,entail\n", r"labels \('id,label' is not one of"),
        ("{}", r"records \(the keys are \[\]"),
        ("null", r"records \('None' is neither"),
    ],
)
def test_files_of_others_are_refused(content, reasons):
    with pytest.raises(ValueError, match=rf"^file.txt:1: no format fits, nearest are .*{reasons}") as refused:
        read(text(content))
    assert "\n" not in str(refused.value)
    with pytest.raises(ValueError, match="no format fits"):
        detect(TextFile("file.txt", content))


@pytest.mark.parametrize(
    ("content", "format"),
    [
        ("", "records"),
        ("\n\n", "records"),
        ("[]", "records"),
        ("[[]]", "records"),
        ("[[], [[1]]]", "records"),
        ("[[0, 1], [2]]\n[]\n", "records"),
        ("[[0.0, 1.0]]", "records"),
        ('["entail", "n"]', "records"),
        ('[\n "entail",\n "n"\n]', "records"),
        ('{"propositions": [[0]]}\n{"propos', "records"),
        ('{"propos\n{"propositions": [[0]]}\n', "records"),
        ('[\n{"propositions": [[0]]},\n{"prop', "records"),
        ('{"sentence": "a", "propositions": [[0]]}\n', "records"),
        ('{"sentence": "a", "propositions": []}\n{"sentence": "a", "propositions": [[0]]}\n', "records"),
        ('{"sentence": "a", "propositions": []}\n', "hub"),
        ('{"sentence": "a", "propositions": "[M]a[/M]"}\n', "hub"),
        ('{"premise": "a", "hypothesis": "[M]b[/M]", "label": "e"}\n{"premise": "a", "hypo', "hub"),
        ('{"premise": "a",\n "hypothesis": "[M]b[/M]",\n "label": "e"}\n', "hub"),
        ('{"entailment_responses": []}', "relationships"),
        ("a\tb", "sequence"),
        ("[M]a[/M]", "sequence"),
        ("1\n[M]a[/M]\n", "sequence"),
        ("[1\n[M]a[/M]\n", "sequence"),
    ],
)
def test_formats_are_found_by_content(content, format):
    assert detect(TextFile("file.txt", content)) == format


def test_rows_of_the_hub_keep_their_ids():
    rows = [{"id": at, "premise": "p", "hypothesis": "h", "label": label} for at, label in enumerate("ennc")]
    corpus = read(text(json_lines(rows)))
    assert corpus.records == [{"id": row["id"], "label": row["label"]} for row in rows]
    result = ENTAILMENT.compute(predictions=corpus.records[::-1], references=corpus.records)
    assert (result["three_way_accuracy"], "pairing:id" in result["signature"]) == (1.0, True)
    words = ["Ada wrote.", "Bob sang.", "No."]
    sentences = [{"id": f"s{at}", "sentence": w, "propositions": [f"[M]{w}[/M]"]} for at, w in enumerate(words)]
    gold = read(text(json_lines(sentences))).records
    assert [record["id"] for record in gold] == ["s0", "s1", "s2"]
    assert SEGMENTATION.compute(predictions=gold[::-1], references=gold)["f1"] == 1.0
    # Gold that does not line up is refused, not dropped.
    sentences[1]["propositions"] = ["[M]Bob sang.[/M]", "[M]Eve sang.[/M]"]
    with pytest.raises(ValueError, match=r"references\[1\]\.unparsed: 1, expected 0 in a reference"):
        SEGMENTATION.compute(predictions=gold, references=read(text(json_lines(sentences))).records)


# --- gold as predictions ----------------------------------------------------------------------------------------------


def test_entries_as_predictions():
    place = {"cluster_id": 1, "document_id": "d", "sentence_index": 0}
    entries = [
        {**ENTRY, "sentence_id": place, "tokens": ["a", "b"]},
        {"id": "own", "segmentation_responses": [{"is_reference_response": False}]},
        {"id": "none", "segmentation_responses": [{"is_reference_response": True}]},
    ]
    assert to_predictions(entries) == [
        {"id": "1/d/0", "propositions": [[0, 1]], "tokens": ["a", "b"]},
        {"id": "none", "propositions": []},
    ]
    rated = [{"relationship_responses": [{"relationship": label} for label in labels]} for labels in ("een", "enc")]
    assert to_predictions(rated) == [{"label": "entail"}]
    assert to_predictions([{"id": 5, "label": 1}, 0, "n"]) == [
        {"id": "5", "label": 1},
        {"label": 0},
        {"label": "neutral"},
    ]
    assert to_predictions([[[0, 1], [2]], []]) == [{"propositions": [[0, 1], [2]]}, {"propositions": []}]
    assert to_predictions([]) == []
    with pytest.raises(ValueError, match=r"^predictions\[0\]\.segmentation_responses: 5 is not a list"):
        to_predictions([{"segmentation_responses": 5}])


# --- the command line -------------------------------------------------------------------------------------------------


@pytest.fixture
def run(capsys):
    """From the arguments of a command to its exit code and all it wrote."""

    def outcome(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        return code, "".join(capsys.readouterr())

    return outcome


def test_validating_finds_misplaced_sentences_of_the_benchmark(run, tmp_path):
    clusters = benchmark_file("propsegment/document_clusters.dev.json")
    entries = read(benchmark_file("propsegment/propositions.dev.json"), clusters=clusters).records
    entries = [entry for entry in entries if "tokens" in entry]
    write(tmp_path / "gold.jsonl", entries)
    predictions = [{name: p[name] for name in ("tokens", "propositions")} for p in to_predictions(entries)]
    lengths = {}
    first, last = next(
        (lengths[n], at)
        for at, n in enumerate(len(p["tokens"]) for p in predictions)
        if lengths.setdefault(n, at) != at
    )
    swapped = list(predictions)
    swapped[first], swapped[last] = swapped[last], swapped[first]
    for format, name in (("records", "out.jsonl"), ("sequence", "out.txt")):
        write(tmp_path / name, predictions, format)
        for command in (["validate", "propsegment", tmp_path / name, "--references"], ["propsegment", tmp_path / name]):
            assert run(*command, tmp_path / "gold.jsonl")[0] == 0
        write(tmp_path / name, swapped, format)
        for command in (["validate", "propsegment", tmp_path / name, "--references"], ["propsegment", tmp_path / name]):
            code, output = run(*command, tmp_path / "gold.jsonl")
            assert (code, f"predictions[{first}].tokens: the sentence of references[" in output) == (2, True)


def test_scoring_plain_labels(run, tmp_path):
    gold = benchmark_file("propsegment/relationships.dev.json")
    labels = [prediction["label"] for prediction in to_predictions(read(gold).records)]
    (tmp_path / "labels.txt").write_text("\n".join(labels) + "\n")
    code, output = run("propsegment", tmp_path / "labels.txt", gold, "--json", tmp_path / "out.json", "--confidence")
    assert code == 0, output
    result = json.loads((tmp_path / "out.json").read_text())
    assert (result["balanced_accuracy"], result["macro_f1"], result["no_reference"]) == (1.0, 1.0, 26)
    assert "macro_f1" not in result["confidence_intervals"]
    assert run("validate", "propsegment", tmp_path / "labels.txt", "--references", gold)[0] == 0
    # The labels of another task.
    code, output = run("propsegment", tmp_path / "labels.txt", ROOT / "examples" / "propsegment" / "references.jsonl")
    assert (code, "'entail' is not a record" in output or "'neutral' is not a record" in output) == (2, True)


def test_reports_show_unparsed_copies(run, tmp_path):
    folder = ROOT / "examples" / "propsegment"
    files = folder / "predictions.txt", folder / "references.jsonl"
    code, output = run("propsegment", *files, "--kinds", "--html", tmp_path / "report.html")
    assert (code, "proposition: unparsed" in output) == (0, True)
    assert "unparsed" in (tmp_path / "report.html").read_text()
