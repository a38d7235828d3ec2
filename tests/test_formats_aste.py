"""The files of ASTE: what is read from them, what is refused, and what comes back after writing."""

import io
import json
import sys

import pytest
from conftest import benchmark_file
from hypothesis import given
from hypothesis import strategies as st

from spanscore.benchmarks import BENCHMARKS
from spanscore.formats.aste import parse_generated, read, write
from spanscore.validation import check_file

SENTENCE = "The battery life is great"


def parse(text, **options):
    return read(io.StringIO(text), **options)


def one(text, **options):
    """The triplets of the only sentence, as tuples."""
    (record,) = parse(text, **options).records
    return [(t["aspect"], t["opinion"], t["polarity"]) for t in record["triplets"]]


# --- what is read -----------------------------------------------------------------------------------------------------


def test_v2_lists_every_index():
    corpus = parse(f"{SENTENCE}####[([1, 2], [4], 'POS')]\n\nFine .####[]\n")
    assert corpus.format == "v2"
    assert corpus.records == [
        {"tokens": SENTENCE.split(), "triplets": [{"aspect": [1, 2], "opinion": [4], "polarity": "POS"}]},
        {"tokens": ["Fine", "."], "triplets": []},
    ]


def test_span_ast_output_lists_ends():
    line = f"{SENTENCE}#### #### ####[([0, 2], [4], 'POS')]\n"
    assert parse(line).format == "span-aste"
    assert one(line) == [([0, 1, 2], [4], "POS")]
    assert one(line, span_format="indices") == [([0, 2], [4], "POS")]


def test_a_gap_in_v2_names_the_option():
    line = f"{SENTENCE}####[([0, 2], [4], 'POS')]\n"
    with pytest.raises(
        ValueError, match=r"^<file>:1: \[0, 2\] has a gap: .*span_format='ends'.*span_format='indices'$"
    ):
        parse(line)
    assert one(line, span_format="ends") == [([0, 1, 2], [4], "POS")]
    assert one(line, span_format="indices") == [([0, 2], [4], "POS")]


def test_v1_ties_by_the_number_of_letters():
    text = (
        "food and staff good , slow and rude , bar####"
        "food=T-POS and=O staff=TT-NEG good=O ,=O slow=O and=O rude=O ,=O bar=TTT-NEU####"
        "food=O and=O staff=O good=S ,=O slow=SS and=O rude=SS ,=O bar=O\n"
    )
    corpus = parse(text)
    assert corpus.format == "v1"
    assert one(text) == [([0], [3], "POS"), ([2], [5], "NEG"), ([2], [7], "NEG")]
    assert corpus.format_notes == {"aspects_without_opinion": 1, "opinions_without_aspect": 0}


def test_v1_takes_runs_as_terms_and_ties_each_with_each():
    text = "a=b c d e####a=b=T-POS c=T-POS d=O e=T-POS####a=b=O c=O d=S e=O\n"
    assert one(text) == [([0, 1], [2], "POS"), ([3], [2], "POS")]


def test_gts_entries_stand_for_every_target_with_every_opinion():
    entry = {"target_tags": r"a\B b\I c\O d\B", "opinion_tags": r"a\O b\O c\B d\O", "sentiment": "negative"}
    corpus = parse(json.dumps([{"id": "x:1", "sentence": "a b c d", "triples": [entry]}]))
    assert corpus.format == "gts"
    assert corpus.records == [
        {
            "id": "x:1",
            "tokens": ["a", "b", "c", "d"],
            "triplets": [
                {"aspect": [0, 1], "opinion": [2], "polarity": "NEG"},
                {"aspect": [3], "opinion": [2], "polarity": "NEG"},
            ],
        }
    ]


def test_gts_starts_a_span_at_each_b():
    entry = {"target_tags": r"a\B b\B c\O", "opinion_tags": r"a\O b\O c\B", "sentiment": "neutral"}
    assert one(json.dumps([{"sentence": "a b c", "triples": [entry]}])) == [([0], [2], "NEU"), ([1], [2], "NEU")]


@pytest.mark.parametrize(("name", "sentences", "triplets"), [("lap14", 332, 547), ("sentivent", 727, 271)])
def test_gts_files(name, sentences, triplets):
    corpus = read(benchmark_file(f"aste/gts/{name}_test.json"))
    assert (corpus.format, len(corpus.records)) == ("gts", sentences)
    assert sum(len(record["triplets"]) for record in corpus.records) == triplets
    assert len({record["id"] for record in corpus.records}) == sentences


@pytest.mark.parametrize(
    "text", ['{"triplets": []}\n{"triplets": []}\n', "[]\n[]\n", '[{"triplets": []}, {"triplets": []}]']
)
def test_json_lines_of_records(text):
    corpus = parse(text)
    assert corpus.format == "jsonl"
    assert [record["triplets"] if isinstance(record, dict) else record for record in corpus.records] == [[], []]


@pytest.mark.parametrize(
    "line",
    [
        "(screen, very large, positive); (battery, short, NEG)",
        "(screen, very large, positive) (battery, short, Negative)",
        "(screen, very large, positive), (battery, short, negative);",
        "screen | very large | positive ; battery | short | negative",
    ],
)
def test_generated_text(line):
    assert one(line) == [("screen", "very large", "POS"), ("battery", "short", "NEG")]


def test_what_does_not_parse_is_counted_and_listed():
    corpus = parse("(a, b, positive); (a, b)\n\nnonsense; x | y | maybe\n(a, b, c, negative)\n", format="generated")
    assert [len(record["triplets"]) for record in corpus.records] == [1, 0, 0, 0]
    assert corpus.format_notes == {"unparsed": 4}
    assert corpus.unparsed == [(1, "(a, b)"), (3, "nonsense"), (3, "x | y | maybe"), (4, "(a, b, c, negative)")]


def test_only_newlines_end_a_line():
    corpus = parse("one\u2028two x\x85y####[([0], [1], 'POS')]\r\nb c####[]\r\n")
    assert len(corpus.records) == 2


# --- pairs, joint models, V1's triplets -------------------------------------------------------------------------------


def test_pairs_have_no_polarity():
    corpus = parse(f"Fine .####[]\n{SENTENCE}####[([1, 2], [4]), ([2], [3])]\n")
    assert corpus.format == "pairs"
    assert corpus.records[1]["triplets"] == [{"aspect": [1, 2], "opinion": [4]}, {"aspect": [2], "opinion": [3]}]
    assert one(f"{SENTENCE}####[([0, 2], [4], 'POS')]\n", span_format="ends")[0][0] == [0, 1, 2]
    with pytest.raises(ValueError, match=r"^<file>:1: \(\[0\], \[1\], 'POS'\) is not a pair"):
        parse("a b####[([0], [1], 'POS')]\n", format="pairs")


JOINT = {
    "tokens": SENTENCE.split(),
    "entities": [
        {"type": "target", "start": 1, "end": 3},
        {"type": "opinion", "start": 4, "end": 5},
        {"type": "opinion", "start": 0, "end": 1},
    ],
    "sentiments": [{"type": "POSITIVE", "head": 0, "tail": 1}],
}


@pytest.mark.parametrize("form", ["array", "lines", "one"])
def test_joint_models(form):
    texts = {
        "array": json.dumps([JOINT] * 2, indent=1),
        "lines": f"{json.dumps(JOINT)}\n" * 2,
        "one": json.dumps(JOINT),
    }
    corpus = parse(texts[form])
    n = 1 if form == "one" else 2
    assert (corpus.format, len(corpus.records)) == ("joint", n)
    assert corpus.format_notes == {"aspects_without_opinion": 0, "opinions_without_aspect": n}
    assert corpus.records[0] == {
        "tokens": SENTENCE.split(),
        "triplets": [{"aspect": [1, 2], "opinion": [4], "polarity": "POS"}],
    }


def test_types_of_entities_tell_head_and_tail():
    turned = {**JOINT, "id": "x", "sentiments": [{"type": "neg", "head": 1, "tail": 0}]}
    (record,) = parse(json.dumps([turned])).records
    assert record["id"] == "x"
    assert record["triplets"] == [{"aspect": [1, 2], "opinion": [4], "polarity": "NEG"}]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"tokens": "a b"}, "tokens: a b is not a list of tokens"),
        ({"entities": None}, "entities: None is not a list of dicts"),
        ({"sentiments": [3]}, "sentiments: [3] is not a list of dicts"),
        ({"entities": [{"type": "target", "start": 1, "end": 6}]}, "has no start and end (exclusive) within"),
        ({"entities": [{"type": "target", "start": 1, "end": 1}]}, "has no start and end (exclusive) within"),
        ({"entities": [{"type": "target", "start": True, "end": 2}]}, "has no start and end (exclusive) within"),
        ({"sentiments": [{"type": "POS", "head": 0, "tail": 3}]}, "3 is not one of the 3 entities, from 0"),
        ({"sentiments": [{"type": "POS", "head": 0}]}, "None is not one of the 3 entities, from 0"),
        ({"sentiments": [{"type": "fine", "head": 0, "tail": 1}]}, "polarity fine is not one of POS, NEG, NEU"),
    ],
)
def test_bad_joint_sentences_are_named(change, words):
    with pytest.raises(ValueError) as caught:
        parse(f"{json.dumps(JOINT)}\n{json.dumps({**JOINT, **change})}\n")
    assert str(caught.value).startswith("<file>:2: ") and words in str(caught.value)


@pytest.mark.parametrize("name", ["14lap", "14res", "15res", "16res"])
def test_the_triplets_beside_v1_are_those_of_its_tags(name):
    corpus = read(benchmark_file(f"aste/v1/{name}_test_pairs.json"))
    tags = read(benchmark_file(f"aste/v1/{name}_test.txt"))
    assert corpus.format == "v1-pairs"
    for shipped, tagged in zip(corpus.records, tags.records, strict=True):
        assert sorted(shipped["triplets"], key=str) == sorted(tagged["triplets"], key=str)


def test_a_json_array_of_lists_is_an_array_of_records():
    corpus = parse('[[["a", "b", "POS"]], [], [{"aspect": "a", "opinion": "b", "polarity": "POS"}]]')
    assert (corpus.format, len(corpus.records)) == ("jsonl", 3)
    assert parse('[\n ["a", "b"]\n]').records == [[["a", "b"]]]
    assert parse('{\n "triplets": []\n}').records == [{"triplets": []}]


# --- the text of generative models ------------------------------------------------------------------------------------

TWO = [("screen", "very large", "POS"), ("battery", "short", "NEG")]


def triplets_of(text):
    record = parse_generated(text)
    return [tuple(t[name] for name in ("aspect", "opinion", "polarity")) for t in record["triplets"]], record[
        "unparsed"
    ]


@pytest.mark.parametrize(
    "text",
    [
        "(screen, very large, positive); (battery, short, negative)",
        "(screen,very large,POS);(battery,short,neg);",
        "screen | very large | positive; battery | short | negative",
        "screen | very large | positive |\nbattery | short | negative |",
        "| screen | very large | positive |\n| battery | short | negative |",
        "It is great because screen is very large [SSEP] It is bad because battery is short",
        "it is positive because screen is very large [ssep] it is negative because battery is short [SSEP]",
        "[A] screen [O] very large [S] great [SSEP] [A] battery [O] short [S] bad",
        "[S] positive [C] display [A] screen [O] very large [SSEP] [O] short [A] battery [S] negative [C] power",
        "[A] screen [O] very large [S] great [A] battery [O] short [S] bad",
        "[AT] screen [OT] very large [AC] display [SP] great [SSEP] [AT] battery [OT] short [SP] bad",
        "screen ; very large ; positive | battery ; short ; negative",
        "screen ; very large ; positive | battery ; short ; negative |",
        "[('screen', 'very large', 'positive'), ('battery', 'short', 'negative')]",
        '[["screen", "very large", "positive"], ["battery", "short", "negative"]]',
        "[('screen', 'very large', 'positive'), (\"battery\", 'short', 'negative'),]",
        '[{"aspect": "screen", "opinion": "very large", "sentiment": "positive", "x": 1},'
        ' {"polarity": "NEG", "opinion term": "short", "aspect_term": "battery"}]',
        '{"triplets": [["screen", "very large", "positive"], ["battery", "short", "negative"]]}',
        "```python\n[('screen', 'very large', 'positive'),\n ('battery', 'short', 'negative')]\n```",
        '```json [["screen", "very large", "positive"], ["battery", "short", "negative"]] ```',
        "Here is what I found:\n\n[(screen, very large, positive), (battery, short, negative)]",
        "The triplets are: [('screen', 'very large', 'positive'), ('battery', 'short', 'negative')].",
        "1. (screen, very large, positive)\n2. (battery, short, negative)",
        "- (“screen”, “very large”, positive)\n- (battery, short, negative)",
        "<pad> (screen, very large, positive) (battery, short, negative)</s>",
        "\u00a0(screen,\tvery large , positive ) ;\r\n( battery, short, Negative )",
    ],
)
def test_every_form_of_generated_text(text):
    assert triplets_of(text) == (TWO, 0)


@pytest.mark.parametrize(
    "text", ["", " \n", "[]", " none", "None", "NONE\n", "```json\n[]\n```", "[[]]", "Triplets: []"]
)
def test_text_without_a_piece(text):
    assert triplets_of(text) == ([], 0)


@pytest.mark.parametrize(
    ("text", "n_triplets", "n_unparsed"),
    [
        ("(screen, dim, negative); (price, low, great); nonsense", 1, 2),
        ("food | good | great", 0, 1),
        ("food ; good ; bad", 0, 1),
        ("food ; good ; great | menu ; short ; negative", 1, 1),
        ("; good ; positive", 0, 1),
        ("(price, low, great); nonsense", 0, 2),
        ("some; odd; words", 0, 3),
        ("(food, good, ok)", 0, 1),
        ("| pos", 0, 1),
        ("| good | positive", 0, 1),
        (" | good | positive |", 0, 1),
        ("( , good, positive)", 0, 1),
        ("(\u00a0, good, positive)", 0, 1),
        ("(None, 'good', 'positive')", 0, 1),
        ("(food, good, positive", 0, 1),
        ("(food, good, positive); (serv", 1, 1),
        ("[('food', 'good', 'positive'), ('service', 'sl", 1, 1),
        ("[('food', 'good', 'positive'), 'service', ('a', 'b')]", 1, 2),
        ("(a, b, c, negative)", 0, 1),
        ("([0], [4], 'POS')", 0, 1),
        ("[0] | [4] | positive", 0, 1),
        ("[([0], [4], 'POS'), ([1], [2], 'NEG')]", 0, 2),
        ("[A] food [O] good", 0, 1),
        ("[A] food [O] good [S] fine [SSEP] [A] x [O] y [S] ok", 1, 1),
        ("[A]  [O] good [S] great", 0, 1),
        ("It is great because what is good is food", 0, 1),
        ("It is fine because food is good", 0, 1),
        ("(food, good, positive) I hope this helps!", 1, 1),
        ("The sentence has no triplets.", 0, 1),
        ("(\ud800, good, positive)", 0, 1),
        ("('\\ud800', 'good', 'positive')", 0, 1),
        ("(food, good, positive);;\n;", 1, 0),
    ],
)
def test_text_that_is_no_triplet_is_counted(text, n_triplets, n_unparsed):
    triplets, unparsed = triplets_of(text)
    assert (len(triplets), unparsed) == (n_triplets, n_unparsed)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("(screen (15 inch), very , very large, positive)", ("screen (15 inch)", "very , very large")),
        ("(keyboard, good ,, positive)", ("keyboard", "good ,")),
        ("((, good, positive)", ("(", "good")),
        ("[('it\\'s', \"b, c\", 'positive')]", ("it's", "b, c")),
        ("[('it's', 'good', 'positive')]", ("it's", "good")),
        ('["caf\\u00e9", "a \\"b\\"", "positive"]', ("café", 'a "b"')),
        ("('(', ')', 'positive')", ("(", ")")),
        ("AT&amp;T | good&#39;s | positive", ("AT&amp;T", "good&#39;s")),
        ("AT&amp;T ; good ; positive", ("AT&amp;T", "good")),
        ("(NULL, good, positive)", ("NULL", "good")),
        ("It is great because OS is surprises .", ("OS", "surprises .")),
        ("(\u2028a\u2028b, 7, positive)", ("a\u2028b", "7")),
    ],
)
def test_odd_terms_of_generated_text(text, terms):
    assert triplets_of(text) == ([(*terms, "POS")], 0)


SIGNS = [
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    "|",
    ":",
    "'",
    '"',
    "\\",
    "\n",
    " ",
    "[A]",
    "[O]",
    "[S]",
    "[C]",
    "[SSEP]",
]
WORDS = [
    "a",
    "food",
    "positive",
    "NEG",
    "great",
    "It is great because a is b",
    "```",
    "```json",
    "&amp;",
    "\ud800",
    "0",
]
ODD = [
    "\\ud800",
    "\\u0000",
    "[0, 1]",
    '"aspect":',
    "opinion",
    "none",
    "null",
    "“",
    "”",
    "\u00a0",
    "\t",
    "\r",
    "\0",
    "1. ",
]


@given(st.lists(st.sampled_from(SIGNS + WORDS + ODD), max_size=25).map("".join) | st.text())
def test_any_text_is_a_record_that_the_metric_takes(text):
    from spanscore.metrics.aste_records import read as read_records
    from spanscore.metrics.mistakes import Mistakes

    mistakes = Mistakes()
    record = parse_generated(text)
    read_records("predictions", [record], mistakes)
    assert not mistakes and record.keys() == {"triplets", "unparsed"}
    if not text.strip():
        assert record == {"triplets": [], "unparsed": 0}


@pytest.mark.parametrize(
    "unit",
    [
        *("(", ")", "('a ", "'", "[A]", "\\'", "' '", ":", "x(", "`", "&", "&amp", "; ", "|", "[('a\n", "- ", " is "),
        *("a:\t ", "{", "[SSEP]", "a, ", "(a, b, positive), ", "((a, b, positive), b, ", ",b,positive)", "\u00a0"),
        *("1. ", "</s", "<|a"),
    ],
)
def test_time_is_in_line_with_the_length_of_a_text(unit):
    def steps(n):
        """How many lines of the parser run, which no load of the machine changes."""
        found = 0

        def trace(frame, event, argument):
            nonlocal found
            found += event == "line"
            return trace

        sys.settrace(trace)
        try:
            parse_generated(unit * n + "x(" * n + "a" + ", b, positive)" * n)
        finally:
            sys.settrace(None)
        return found

    few, many = steps(50), steps(200)
    assert many < 6 * few + 1000


def test_long_hostile_texts_end():
    for unit in ("(", "('a ", "x(", "{", "' '", "[A]"):
        parse_generated(unit * 30_000 + ", b, positive)" * 3_000)


# --- what is told apart -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("\n\n(a, b, positive)\n", [(0, 0), (0, 0), (1, 0)]),
        ("none\n[]\n[('a', 'b', 'positive')]\n", [(0, 0), (0, 0), (1, 0)]),
        ("[]\n[]\n[('a', 'b', 'positive')]\n", [(0, 0), (0, 0), (1, 0)]),
        ("what?\n{\n(a, b, positive)\n", [(0, 1), (0, 1), (1, 0)]),
        ("{oops\n(a, b, positive)\n", [(0, 1), (1, 0)]),
        ('[["a", "b", "positive"]]\n[["c", "d"], ["a", "b", "great"]]\n', [(1, 0), (0, 2)]),
        ("[('a', 'b', 'positive')\n[('a', 'b', 'positive')]\r\n", [(1, 0), (1, 0)]),
    ],
)
def test_generated_files_are_known_by_any_line(text, counted):
    corpus = parse(text)
    assert corpus.format == "generated"
    assert [(len(record["triplets"]), record["unparsed"]) for record in corpus.records] == counted


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            '[{"title": "t", "vertexSet": [], "sents": []}]',
            "jsonl (the first record has no triplets, but title, vertexSet",
        ),
        ('{"title": "t", "h_idx": 0}\n', "jsonl (the first record has no triplets, but title, h_idx); gts (it has no"),
        ('[{"triplets": [[[0], [1], "POS"]]},]', "jsonl (line 1 is not JSON: "),
        ('{"triplets": [[[0], [1], "POS"]]},\n' * 2, "jsonl (line 1 is not JSON: Extra data at column 34)"),
        ('{\n"tokens": [\n"."\n]\n}\n{\n}\n', "jsonl (line 6 is not JSON: Extra data at column 1)"),
        ("[[0, 1, 2], [3]]\n", "jsonl ([0, 1, 2] is not a list of triplets); generated (no text is a triplet"),
        (
            "Some prose.\nMore of it.\n",
            "generated (no text is a triplet, such as (screen, large, positive)); v2 (none of",
        ),
        ("a\nb\nc\nd e####[]\n", "v2 (1 of the first 4 lines have ####)"),
        ("<?xml version='1.0'?>\n<a/>\n", "generated (no text is a triplet"),
    ],
)
def test_a_file_of_no_format_is_an_error_that_names_the_nearest(text, words):
    with pytest.raises(ValueError) as caught:
        parse(text)
    assert str(caught.value).startswith("<file>:1: no format fits, nearest are ")
    assert words in str(caught.value)


def test_files_of_other_benchmarks_have_no_format():
    for name in ("docred/dev_revised.json", "propsegment/relationships.dev.json", "sentivent/anno_01.xmi"):
        with pytest.raises(ValueError, match="no format fits, nearest are"):
            read(benchmark_file(name))


def test_generated_text_of_which_nothing_parses_is_an_error():
    with pytest.raises(
        ValueError, match=r"^<file>:2: no format fits, nearest are generated \(no text is a triplet, the"
    ):
        parse("\n(a, b)\nnonsense\n", format="generated")
    assert parse("\n\n", format="generated").records == [{"triplets": [], "unparsed": 0}] * 2
    assert parse("none\n[]\n").format_notes == {"unparsed": 0}


def test_all_pieces_that_cannot_be_read_are_listed_with_their_lines(tmp_path):
    path = tmp_path / "predictions.txt"
    path.write_text("[('a', 'b', 'positive')]\n[('c', 'd')]\n\n[('e', 'f', 'good'), 'x']\n")
    checked = check_file(BENCHMARKS["aste"], str(path))
    assert (checked.format, len(checked.records)) == ("generated", 4)
    assert [(problem.line, problem.problem.split(" cannot")[0]) for problem in checked.problems] == [
        (2, "\"('c', 'd')\""),
        (4, "\"[('e', 'f', 'good'), 'x']\""),
    ]


# --- what is refused --------------------------------------------------------------------------------------------------

GOOD_V1 = "a b####a=T-POS b=O####a=O b=S"
GTS = '[{"sentence": "a b", "triples": [{"target_tags": "%s", "opinion_tags": "%s", "sentiment": "%s"}]}]'


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a b####[([0], [1], 'POS')", "[([0], [1], 'POS') is not a list of triplets"),
        ("a b####__import__('os').system('true')", "is not a list of triplets"),
        ("a b####" + "(" * 5000, "is not a list of triplets"),
        ("a b####7", "7 is not a list of triplets"),
        ("a b####[([0], [1]), ([0], [1], 'POS')]", "([0], [1]) is not a triplet"),
        ("a b####[7]", "7 is not a triplet"),
        ("a b####[(0, [1], 'POS')]", "0 is not a span, a list of token indices"),
        ("a b####[([], [1], 'POS')]", "[] is not a span, a list of token indices"),
        ("a b####[([True], [1], 'POS')]", "[True] is not a span, a list of token indices"),
        ("a b####[([0.5], [1], 'POS')]", "[0.5] is not a span, a list of token indices"),
        ("a b####[([2], [1], 'POS')]", "[2] is outside the sentence's 2 tokens (0 to 1)"),
        ("a b####[([-1], [1], 'POS')]", "[-1] is outside the sentence's 2 tokens (0 to 1)"),
        ("a b####[([0], [1], 'FINE')]", "polarity FINE is not one of POS, NEG, NEU"),
        ("a b####[([0], [1], 3)]", "polarity 3 is not one of POS, NEG, NEU"),
        ("a b####x####y", "2 times ####, expected 1 in a line of v2"),
    ],
)
def test_a_bad_line_is_named(line, words):
    with pytest.raises(ValueError) as caught:
        parse(f"a b####[]\n{line}\n")
    assert str(caught.value).startswith("<file>:2: ")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a b####[]", "1 times ####, expected 2 in a line of v1"),
        ("a b####a=O####a=O b=S", "tags do not line up with the sentence: 1 tagged tokens for 2"),
        ("a b####a=O c=O####a=O b=S", "tags do not line up with the sentence: 'c=O' at token 1"),
        ("a b####a=O b=T####a=O b=S", "tag 'T' of token 1 (b) is not of the format"),
        ("a b####a=O b=O####a=O b=T-POS", "tag 'T-POS' of token 1 (b) is not of the format"),
    ],
)
def test_bad_tags_are_named(line, words):
    with pytest.raises(ValueError) as caught:
        parse(f"{GOOD_V1}\n{line}\n")
    assert str(caught.value) == f"<file>:2: {words}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "<file>:1: not JSON: "),
        ("[\n7]", "<file>:2: 7 has no sentence"),
        ('[{"sentence": "a", "triples": 7}]', "<file>:1: 7 is not a list of triples"),
        (GTS % (r"a\\B b\\O", r"a\\O", "positive"), "<file>:1: tags do not line up with the sentence"),
        (GTS % (r"a\\B b\\X", r"a\\O b\\B", "positive"), "<file>:1: tag 'X' of token 1 (b) is not of the format"),
        (GTS % (r"a\\O b\\I", r"a\\B b\\O", "positive"), "<file>:1: target_tags has an I without a B"),
        (GTS % (r"a\\O b\\B", r"a\\B b\\O", "good"), "<file>:1: polarity good is not one of POS, NEG, NEU"),
        ('[{"sentence": "a b", "triples": [{}]}]', "<file>:1: target_tags is None, expected tagged tokens"),
    ],
)
def test_bad_grid_tags_are_named(text, words):
    with pytest.raises(ValueError) as caught:
        parse(text, format="gts")
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"triplets": []}\n{"triplets": [}\n', "<file>:2: not JSON: Expecting value at column 15"),
        ('{"triplets": []}\n7\n', "<file>:2: 7 is not a record"),
        ("[]\n" + "[" * 100_000, "<file>:2: not readable: nested too deeply"),
    ],
)
def test_bad_json_lines_are_named(text, words):
    with pytest.raises(ValueError) as caught:
        parse(text)
    assert str(caught.value) == words


def test_options_are_checked():
    with pytest.raises(
        ValueError,
        match=r"^format: 'v3' is not one of auto, v2, span-aste, v1, pairs, v1-pairs, gts, joint, jsonl, "
        r"generated$",
    ):
        parse("", format="v3")
    with pytest.raises(ValueError, match=r"^span_format: 'x' is not one of auto, indices, ends$"):
        parse("", span_format="x")
    with pytest.raises(
        ValueError, match=r"^<file>:1: \[0, 1, 2\] is not a first and a last index; span_format='indices'"
    ):
        parse("a b c####[([0, 1, 2], [1], 'POS')]", span_format="ends")
    with pytest.raises(ValueError, match=r"^format: 'v1' is not one of v2, span-aste, gts, jsonl, generated$"):
        write("x", [], "v1")


def test_files_that_are_not_text(tmp_path):
    (tmp_path / "latin.txt").write_bytes(b"a b####[]\ncaf\xe9####[]\n")
    with pytest.raises(ValueError, match=r"latin\.txt:2: not UTF-8 text"):
        read(tmp_path / "latin.txt")
    (tmp_path / "plain.gz").write_bytes(b"a b####[]\n")
    with pytest.raises(ValueError, match=r"plain\.gz:1: not a gzip file"):
        read(tmp_path / "plain.gz")


@given(st.text(alphabet="ab #[](),'0129POSNEG=T\\\n{}\":|;", max_size=60))
def test_any_text_is_read_or_refused_with_its_line(text):
    for format in ("auto", "v1", "v2", "span-aste", "gts", "generated"):
        try:
            corpus = parse(text, format=format)
        except ValueError as error:
            assert str(error).startswith("<file>:")
            assert "\n" not in str(error)
        else:
            assert isinstance(corpus.records, list)


# --- there and back ---------------------------------------------------------------------------------------------------

words = st.text(alphabet="abcé-'\"", min_size=1, max_size=4)


@st.composite
def sentences(draw):
    tokens = draw(st.lists(words, min_size=1, max_size=8))

    def span():
        start = draw(st.integers(0, len(tokens) - 1))
        return list(range(start, draw(st.integers(start, len(tokens) - 1)) + 1))

    polarity = st.sampled_from(["POS", "NEG", "NEU", "CON"])
    triplets = [
        {"aspect": span(), "opinion": span(), "polarity": draw(polarity)} for _ in range(draw(st.integers(0, 3)))
    ]
    return {"tokens": tokens, "triplets": triplets}


@st.composite
def marked(draw):
    return {**draw(sentences()), "unparsed": draw(st.integers(0, 2))}


marked_sentences = sentences() | marked()


def test_unparsed_text_is_written_as_such_or_refused(tmp_path):
    record = {"tokens": ["a", "b"], "triplets": [{"aspect": [0], "opinion": [1], "sentiment": "neg"}], "unparsed": 2}
    write(tmp_path / "file", [record], "generated")
    assert read(tmp_path / "file").records == [
        {"triplets": [{"aspect": "a", "opinion": "b", "polarity": "NEG"}], "unparsed": 2}
    ]
    write(tmp_path / "file", [record], "jsonl")
    assert read(tmp_path / "file").records == [record]
    for format in ("v2", "span-aste", "gts"):
        with pytest.raises(ValueError, match=rf"^records\[0\]\.unparsed: 2, expected 0, as {format} cannot hold it$"):
            write(tmp_path / "file", [record], format)


@pytest.mark.parametrize("format", ["v2", "span-aste", "gts", "jsonl"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
@given(records=st.lists(sentences(), min_size=1, max_size=4))
def test_records_come_back(tmp_path_factory, format, suffix, records):
    path = tmp_path_factory.mktemp("aste") / f"file{suffix}"
    write(path, records, format)
    corpus = read(path)
    assert corpus.format == format
    back = [{key: value for key, value in record.items() if key != "id"} for record in corpus.records]
    assert back == records


def is_readable(records):
    return any(record["triplets"] for record in records) or not any(record.get("unparsed") for record in records)


@given(records=st.lists(marked_sentences, min_size=1, max_size=4).filter(is_readable))
def test_generated_text_comes_back_as_terms(tmp_path_factory, records):
    path = tmp_path_factory.mktemp("aste") / "file"
    write(path, records, "generated")
    corpus = read(path, "generated")
    assert corpus.format_notes == {"unparsed": sum(record.get("unparsed", 0) for record in records)}
    for record, back in zip(records, corpus.records, strict=True):
        assert back["unparsed"] == record.get("unparsed", 0)
        for triplet, terms in zip(record["triplets"], back["triplets"], strict=True):
            assert terms["aspect"] == " ".join(record["tokens"][i] for i in triplet["aspect"])
            assert terms["polarity"] == triplet["polarity"]


@pytest.mark.parametrize(
    ("record", "format", "words"),
    [
        ({"triplets": []}, "v2", "records[0].tokens: None, expected tokens without white space"),
        ({"tokens": ["a b"], "triplets": []}, "v2", "records[0].tokens: ['a b'], expected tokens without white space"),
        ({"tokens": ["a####"], "triplets": []}, "v2", "records[0].tokens: #### separates"),
        (
            {"tokens": list("abc"), "triplets": [{"aspect": [0, 2], "opinion": [1], "polarity": "POS"}]},
            "gts",
            "records[0].triplets: [0, 2] has a gap, which gts cannot hold",
        ),
        (
            {"tokens": list("abc"), "triplets": [{"aspect": [0, 2], "opinion": [1], "polarity": "POS"}]},
            "span-aste",
            "records[0].triplets: [0, 2] has a gap, which span-aste cannot hold",
        ),
        ({"triplets": [{"aspect": "a|b", "opinion": "c", "polarity": "POS"}]}, "generated", "records[0].triplets: ["),
    ],
)
def test_what_a_format_cannot_hold_is_refused(tmp_path, record, format, words):
    with pytest.raises(ValueError) as caught:
        write(tmp_path / "file", [record], format)
    assert str(caught.value).startswith(words)


def test_first_lines_that_look_like_json_are_told_apart():
    assert parse("[ a ] b c####[([1], [3], 'POS')]\n").format == "v2"
    assert parse("{ a } b####[]\n").format == "v2"
    assert parse("[x | y | positive]\n").format == "generated"


def test_a_negative_end_is_refused_before_it_is_filled_up():
    with pytest.raises(ValueError, match=r"^<file>:1: \[-1000000000, 1\] is not a first and a last index"):
        parse("a b c d#### #### ####[([-1000000000, 1], [3], 'POS')]\n")


def test_numbers_too_long_to_write_are_refused_with_their_line():
    with pytest.raises(ValueError, match=r"^<file>:2: "):
        parse("a b####[]\na b####[([0x" + "f" * 6000 + "], [1], 'POS')]\n")
    with pytest.raises(ValueError, match=r"^<file>:2: "):
        parse('{"triplets": []}\n{"triplets": [' + "9" * 5000 + "]}\n")


def test_tokens_keep_their_no_break_spaces():
    assert parse("a\u00a0b c####[([1], [0], 'POS')]\n").records[0]["tokens"] == ["a\u00a0b", "c"]


def test_grid_entries_with_terms_of_one_kind_are_counted():
    entry = {"target_tags": r"a\O b\O", "opinion_tags": r"a\B b\O", "sentiment": "neutral"}
    corpus = parse(json.dumps([{"sentence": "a b", "triples": [entry]}]))
    assert corpus.records[0]["triplets"] == []
    assert corpus.format_notes == {"aspects_without_opinion": 0, "opinions_without_aspect": 1}


def test_tuples_are_written_and_what_is_missing_is_named(tmp_path):
    write(tmp_path / "file", [{"tokens": ["a", "b"], "triplets": [([0], [1], "positive")]}])
    assert (tmp_path / "file").read_text() == "a b####[([0], [1], 'POS')]\n"
    with pytest.raises(ValueError, match=r"^records\[0\]\.triplets\[0\]\.polarity: missing"):
        write(tmp_path / "file", [{"tokens": ["a", "b"], "triplets": [([0], [1])]}])
    with pytest.raises(ValueError, match=r"^records\[0\]\.triplets\[0\]\.aspect: a is text"):
        write(tmp_path / "file", [{"tokens": ["a", "b"], "triplets": [("a", "b", "POS")]}])


def test_a_file_of_one_line_without_a_triplet_is_refused(tmp_path):
    path = tmp_path / "outputs.txt"
    path.write_text("the screen is dim\n")
    for format in ("auto", "generated"):
        with pytest.raises(
            ValueError, match=r"outputs\.txt:1: no format fits, nearest are generated \(no text is a triplet"
        ):
            read(path, format)
    path.write_text("\n")
    assert read(path, "generated").records == [{"triplets": [], "unparsed": 0}]
