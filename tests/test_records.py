"""`records`: what is read, what is refused with which words, and that reading many values is reading each of them."""

import math
from array import array
from collections import ChainMap, UserDict, deque, namedtuple
from collections.abc import Mapping
from fractions import Fraction
from numbers import Integral, Real

import datasets
import numpy as np
import pandas
import pyarrow
import pytest
from conftest import looks_like_a_mask
from hypothesis import given, settings
from hypothesis import strategies as st
from spanscore.metrics.columns import Lists, Struct, is_present
from spanscore.metrics.mistakes import Mistakes, Places, Refused
from spanscore.metrics.records import (
    ByKind,
    Either,
    Items,
    Optional,
    Record,
    Rows,
    Span,
    Tokens,
    check_inside,
    has_items,
    read_all,
    read_sound,
    read_value,
    split_tokens,
    to_records,
)
from spanscore.metrics.values import Choice, Flag, Identifier, Integer, Number, Text


def plain(column):
    """A column as Python values, None for missing ones."""
    present = is_present(column).tolist()
    if isinstance(column, Struct):
        fields = {name: plain(field) for name, field in column.fields.items()}
        values = [{name: field[at] for name, field in fields.items()} for at in range(len(column))]
    elif isinstance(column, Lists):
        items = plain(column.items)
        values = [items[a:b] for a, b in zip(column.offsets[:-1].tolist(), column.offsets[1:].tolist(), strict=True)]
    else:
        values = column.tolist()
    return [value if here else None for value, here in zip(values, present, strict=True)]


def mistakes_of(values, node, name="records"):
    """What is wrong with a batch, each mistake as path and words."""
    mistakes = Mistakes()
    read_all(values, node, Places.of_batch(name), mistakes)
    return mistakes.sorted()


def read(values, node, name="records"):
    """A batch as Python values, or a ValueError for its first mistake."""
    mistakes = Mistakes()
    column = read_all(values, node, Places.of_batch(name), mistakes)
    mistakes.raise_first()
    return plain(column)


def kind_of_term(value):
    if isinstance(value, str):
        return "text"
    return "indices" if has_items(value) and not isinstance(value, Mapping) else None


TERM = Either(
    "a term",
    choose=kind_of_term,
    by_type=True,
    indices=Span("indices"),
    text=Text("a text", blank=False),
)
INNER = Record(
    {"term": TERM, "label": Choice(["A", "B"], {"a": "A"}), "score": Optional(Number())},
    "an inner record",
    as_tuple=True,
    aliases={"mark": "label"},
)
OUTER = Record(
    {
        "id": Optional(Identifier()),
        "items": Items(INNER, "inner records"),
        "on": Optional(Flag()),
        "words": Optional(Items(Text("a word"), "words")),
    },
    "a record",
)

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 5)
    | st.sampled_from([0.5, 1.0, float("nan"), 2**31, -1, 1e400])
    | st.sampled_from(["", "A", "B", "a", "C", " ", "x", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "items", "term", "label", "mark", "score", "on", "words", "else"]), inner
        )
    ),
    max_leaves=8,
)
good_inner = st.fixed_dictionaries(
    {"term": st.lists(st.integers(0, 5), min_size=1, max_size=3) | st.just("x"), "label": st.sampled_from("AB")},
    optional={"score": st.floats(0, 1) | st.none(), "else": json_values},
)
good_record = st.fixed_dictionaries(
    {"items": st.lists(good_inner, max_size=3)},
    optional={
        "id": st.text("ab") | st.integers(0, 9) | st.none(),
        "on": st.booleans(),
        "words": st.lists(st.text("ab")),
    },
)


@st.composite
def nearly_good_records(draw):
    """Good records with now and then a value replaced."""
    values = draw(st.lists(good_record, max_size=3))
    if values and draw(st.booleans()):
        record = draw(st.sampled_from(values))
        place = draw(st.sampled_from(["id", "items", "on", "words", "inner", "term", "label", "score", "mark"]))
        if place in OUTER.fields:
            record[place] = draw(json_values)
        elif record["items"]:
            if place == "inner":
                record["items"][0] = draw(json_values)
            else:
                record["items"][0][place] = draw(json_values)
    return values


# --- an oracle of OUTER, by hand --------------------------------------------------------------------------------------


class Wrong(Exception):
    pass


def oracle_list(value):
    if isinstance(value, (str, Mapping)) or not isinstance(value, (list, tuple)):
        raise Wrong
    return list(value)


def oracle_text(value):
    if not isinstance(value, str) or "\ud800" in value:
        raise Wrong
    return value


def oracle_inner(value):
    if isinstance(value, (list, tuple)) and len(value) <= 3:
        value = dict(zip(("term", "label", "score"), value, strict=False))
    if not isinstance(value, dict):
        raise Wrong
    label, mark = value.get("label"), value.get("mark")
    if label is not None and mark is not None and label != mark:
        raise Wrong
    label = mark if label is None else label
    term = value.get("term")
    if isinstance(term, str):
        if not oracle_text(term).strip():
            raise Wrong
        term = {"kind": 1, "indices": None, "text": term}
    else:
        indices = oracle_list(term)
        wrong = [x for x in indices if type(x) not in (int, float) or x != x or not 0 <= x < 2**31 or int(x) != x]
        if wrong or not indices or looks_like_a_mask(indices):
            raise Wrong
        term = {"kind": 0, "indices": [int(x) for x in indices], "text": None}
    if not isinstance(label, str) or label not in ("A", "B", "a"):
        raise Wrong
    score = value.get("score")
    if score is not None and (type(score) not in (int, float) or score != score):
        raise Wrong
    return {"term": term, "label": "AB".index(label.upper()), "score": score}


def oracle(value):
    if not isinstance(value, dict) or "items" not in value:
        raise Wrong
    name, on, words = value.get("id"), value.get("on"), value.get("words")
    if name is not None:
        name = str(name) if type(name) is int else oracle_text(name)
    if on is not None and type(on) is not bool:
        raise Wrong
    return {
        "id": name,
        "items": [oracle_inner(item) for item in oracle_list(value["items"])],
        "on": on,
        "words": None if words is None else [oracle_text(word) for word in oracle_list(words)],
    }


@given(nearly_good_records() | st.lists(json_values, max_size=3))
@settings(max_examples=400)
def test_reading_agrees_with_plain_code(values):
    expected, wrong = [], set()
    for at, value in enumerate(values):
        try:
            expected.append(oracle(value))
        except Wrong:
            wrong.add(at)
    mistakes = Mistakes()
    column, places = read_sound(values, OUTER, "records", mistakes)
    assert mistakes.records() == wrong
    assert plain(column) == expected
    assert [places(at)[1] for at in range(len(column))] == [at for at in range(len(values)) if at not in wrong]


@given(nearly_good_records() | st.lists(json_values, max_size=4))
def test_a_batch_is_read_as_its_records_one_by_one(values):
    alone = [(at, path[2:], words) for at, value in enumerate(values) for path, words in mistakes_of([value], OUTER)]
    assert [(path[1], path[2:], words) for path, words in mistakes_of(values, OUTER)] == alone
    if not alone:
        assert read(values, OUTER) == [read([value], OUTER)[0] for value in values]


def test_many_records_are_read_piece_by_piece_with_their_own_places():
    values = [{"items": [([at % 7], "AB"[at % 2])]} for at in range(5000)]
    assert read(values, OUTER) == [read([value], OUTER)[0] for value in values]
    values[4321] = {"items": [([1], "C")]}
    assert mistakes_of(values, OUTER) == [(("records", 4321, "items", 0, "label"), "'C' is not one of A, B")]


@given(st.lists(json_values, max_size=4))
def test_only_columns_or_errors_of_one_line_come_out(values):
    mistakes = Mistakes()
    column = read_all(values, OUTER, Places.of_batch("records"), mistakes)
    assert len(column) == len(values)
    for _, words in mistakes.sorted():
        assert "\n" not in words
        assert len(words) < 300


def test_every_mistake_is_noted_in_the_order_of_the_records():
    values = [
        {"items": [("x", "C"), (" ", "A", "high")], "on": 3},
        {"items": []},
        {"id": 0.5, "words": ["a", 1, None]},
    ]
    assert mistakes_of(values, OUTER) == [
        (("records", 0, "items", 0, "label"), "'C' is not one of A, B"),
        (("records", 0, "items", 1, "term"), "' ' is blank, expected a text"),
        (("records", 0, "items", 1, "score"), "'high' is not a number"),
        (("records", 0, "on"), "3 is not true or false"),
        (("records", 2, "id"), "0.5 is not an id (text or a whole number)"),
        (("records", 2, "items"), "missing, expected inner records; the keys there are 'id', 'words'"),
        (("records", 2, "words", 1), "1 is not a word"),
        (("records", 2, "words", 2), "None is not a word"),
    ]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (5, "records[1]: 5 is not a record"),
        (None, "records[1]: None is not a record"),
        ({}, "records[1].items: missing, expected inner records"),
        ({"items": None}, "records[1].items: None is not inner records"),
        ({"items": [5]}, "records[1].items[0]: 5 is not an inner record"),
        ({"items": [("x", "C")]}, "records[1].items[0].label: 'C' is not one of A, B"),
        ({"items": [("x",)]}, "records[1].items[0].label: missing, expected one of A, B"),
        ({"items": [([], "A")]}, "records[1].items[0].term: [] is empty, expected indices"),
        ({"items": [([0, 0.5], "A")]}, "records[1].items[0].term[1]: 0.5 is not a token index (a whole number from 0)"),
        ({"items": [([True], "A")]}, "records[1].items[0].term[0]: True is not a token index (a whole number from 0)"),
        ({"items": [([-1], "A")]}, "records[1].items[0].term[0]: -1 is not a token index (a whole number from 0)"),
        (
            {"items": [([2**31], "A")]},
            "records[1].items[0].term[0]: 2147483648 is too large, expected a token index (a whole number from 0), "
            "at most 2147483647",
        ),
        ({"items": [(" ", "A")]}, "records[1].items[0].term: ' ' is blank, expected a text"),
        ({"items": [(3, "A")]}, "records[1].items[0].term: 3 is not a term"),
        ({"items": [{"term": "x", "label": "A", "mark": "B"}]}, "records[1].items[0].mark: 'B' contradicts 'A', "),
        (
            {"items": [{"term": "x", "label": "A", "score": "high"}]},
            "records[1].items[0].score: 'high' is not a number",
        ),
        ({"items": [], "on": 1}, "records[1].on: 1 is not true or false"),
        ({"items": [], "words": "ab"}, "records[1].words: 'ab' is not words"),
        ({"items": [], "words": ["a", None]}, "records[1].words[1]: None is not a word"),
        ({"items": [], "words": ["\ud800"]}, "records[1].words[0]: '\\ud800' is not valid Unicode"),
        ({"items": [], "id": 0.5}, "records[1].id: 0.5 is not an id (text or a whole number)"),
        ({"items": "y" * 100_000}, "records[1].items: 'yyyyyy"),
    ],
)
def test_a_mistake_is_named_with_its_place(record, message):
    with pytest.raises(ValueError) as caught:
        read([{"items": []}, record], OUTER)
    assert str(caught.value).startswith(message)
    assert len(str(caught.value)) < 200


def test_usual_forms_are_read():
    found = read(
        [
            {"id": 7, "items": (("x", "a"), {"term": np.array([2, 1]), "mark": "B"})},
            {
                "id": np.int64(8),
                "items": [{"term": {3}, "label": np.str_("A"), "score": np.float32(0.5)}],
                "on": np.True_,
            },
        ],
        OUTER,
    )
    assert found == [
        {
            "id": "7",
            "items": [
                {"term": {"kind": 1, "indices": None, "text": "x"}, "label": 0, "score": None},
                {"term": {"kind": 0, "indices": [2, 1], "text": None}, "label": 1, "score": None},
            ],
            "on": None,
            "words": None,
        },
        {
            "id": "8",
            "items": [{"term": {"kind": 0, "indices": [3], "text": None}, "label": 0, "score": 0.5}],
            "on": 1,
            "words": None,
        },
    ]


# --- odd Python values ------------------------------------------------------------------------------------------------


class Hostile:
    def __len__(self):
        return 1

    def __getitem__(self, key):
        raise IndexError


@pytest.mark.parametrize(
    "record",
    [
        UserDict(items=[]),
        ChainMap({"items": []}),
        {"items": [], "id": np.array(7)},
        {"items": [], "on": np.array(True)},
    ],
)
def test_odd_records_are_read(record):
    assert [found["items"] for found in read([record, {"items": []}], OUTER)] == [[], []]


@pytest.mark.parametrize(
    "record",
    [
        Hostile(),
        np.array(5),
        {"items": np.array(5)},
        {"items": [np.array(5), ([0], "A")]},
        {"items": [], "id": 10**5000},
        {"items": [([10**5000], "A")]},
        {"items": Hostile()},
        "items",
        ["items"],
    ],
    ids=range(9),
)
def test_odd_values_are_refused_in_one_line(record):
    with pytest.raises(ValueError, match=r"^records\[0\]") as caught:
        read([record, {"items": []}], OUTER)
    assert "\n" not in str(caught.value)


SEQUENCES = [
    *(memoryview(b"d"), array("i", [1]), deque([1]), range(2), {3}, frozenset([1])),
    *(np.array([1]), np.array([1], np.uint8), [1.0], (np.int8(3), 2), {1: "a"}.keys()),
]
NO_INTEGERS = ["ab", "", {}, {1: 2}, np.array(1), np.array([[1]]), iter([1]), array("d", [0.5]), [np.bool_(True)]]
NO_INTEGERS += [np.array([0.5]), np.array([True]), np.array([2**63], np.uint64), None, 5, b"ab", bytearray(b"c")]


@pytest.mark.parametrize("value", SEQUENCES, ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("others", [[], [[1]], [np.array([1])]], ids=["alone", "list", "array"])
def test_sequences_of_integers(value, others):
    node = Items(Integer("an index"), "indices")
    assert read([value, *others], node)[0] == [int(item) for item in value]
    assert read([*others, value], node)[-1] == [int(item) for item in value]


@pytest.mark.parametrize("value", NO_INTEGERS, ids=range(len(NO_INTEGERS)))
@pytest.mark.parametrize("others", [[], [[1]], [np.array([1])]], ids=["alone", "list", "array"])
def test_what_is_no_sequence_of_integers(value, others):
    node = Items(Integer("an index"), "indices")
    assert {path[1] for path, _ in mistakes_of([*others, value], node)} == {len(others)}


def test_spans_as_numpy_arrays_are_read_without_a_look_at_each_number(monkeypatch):
    def refuse(self, value):
        raise AssertionError("read one by one")

    monkeypatch.setattr(Integer, "read_one", refuse)
    assert read([np.array([2, 1]), np.array([0], np.uint8), np.array([], np.int32)], Items(Integer("i"), "i")) == [
        [2, 1],
        [0],
        [],
    ]


scalars = st.sampled_from([0, 3, -1, 2**31, 0.5, 2.0, True, None, "1", math.inf, math.nan, Fraction(1), Fraction(1, 2)])
scalars |= st.sampled_from([np.int8(3), np.uint64(2**63), np.float32(2), np.bool_(True), np.array(3), np.array("a")])


@given(st.lists(scalars, max_size=4))
def test_whole_numbers_and_numbers(values):
    values_of = [value[()] if isinstance(value, np.ndarray) else value for value in values]

    def whole(value):
        is_number = isinstance(value, (Integral, float, np.floating)) and not isinstance(value, (bool, np.bool_))
        return is_number and value == value and 0 <= value < 2**31 and value == int(value)

    def real(value):
        return isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) and value == value

    for node, fits, read_as in ((Integer("i"), whole, int), (Number(), real, float)):
        wrong = [at for at, value in enumerate(values_of) if not fits(value)]
        assert [path[1] for path, _ in mistakes_of(values, node)] == wrong
        good = [value for at, value in enumerate(values) if at not in wrong]
        assert read(good, node) == [read_as(value) for at, value in enumerate(values_of) if at not in wrong]


# --- choices, lengths, bytes ------------------------------------------------------------------------------------------


def test_choices():
    exact = Choice(["POS", "NEG"], {"plus": "POS"}, listed=["POS"])
    assert read(["NEG", "plus", b"POS"], exact) == [1, 0, 0]
    for value in ("neg", "PLUS", 5, None, ["POS"], {}):
        assert [words for _, words in mistakes_of(["POS", value], exact)] == [f"{value!r} is not one of POS"]
    folded = Choice(["POS", "NEG"], {"plus": "POS"}, fold=True)
    assert read(["NEG", "PLUS", "plus"], folded) == [1, 0, 0]
    assert mistakes_of(["neg"], folded)


def test_tokens_are_checked_and_kept_as_one_text():
    column = Tokens().read([["a", "b"], [], ("c",), np.array(["d", "é"])], Places.of_batch("records"), Mistakes())
    assert column["number"].tolist() == [2, 0, 1, 2]
    assert [split_tokens(text) for text in column["text"]] == [["a", "b"], [""], ["c"], ["d", "é"]]
    assert [path for path, _ in mistakes_of([["a"], ["b", 3]], Tokens())] == [("records", 1, 1)]
    assert [path for path, _ in mistakes_of([["a"], ["b", "\udc00"], "ab"], Tokens())] == [
        ("records", 1, 1),
        ("records", 2),
    ]
    column = Optional(Tokens()).read([None, ["a"]], Places.of_batch("records"), Mistakes())
    assert column["number"].tolist() == [-1, 1]
    assert column["text"].tolist() == [None, "a"]


def test_text():
    assert read(["a", b"\xc3\xa9", np.str_("c"), memoryview(b"d")], Text()) == ["a", "é", "c", "d"]
    assert all(type(value) is str for value in read([np.str_("c"), "d"], Text()))
    assert [path[1] for path, _ in mistakes_of([b"\xff", 5, "\udc00", "x"], Text())] == [0, 1, 2]
    assert [words for _, words in mistakes_of(["\t"], Text("a name", blank=False))] == [
        "'\\t' is blank, expected a name"
    ]


@pytest.mark.parametrize("make", [list, tuple, np.array])
def test_a_mask_is_no_span(make):
    node = Span("the indices of a span")
    for mask in ([1, 0, 1, 1, 0], [0, 0], [1, 1], [0, 1, 0]):
        found = mistakes_of([[3], make(mask)], node)
        assert [path for path, _ in found] == [("records", 1)]
        assert "looks like a mask (0 and 1 repeat), expected the indices of a span" in found[0][1]
    for span in ([0], [1], [0, 1], [1, 0], [2, 2, 0], [0, 2, 0], [1, 1, 3]):
        assert read([make(span)], node) == [span]


# --- kinds told apart by a function -----------------------------------------------------------------------------------

NUMBERS = Record(
    {"numbers": Items(Integer("an index"), "indices"), "name": Optional(Text())},
    "a dict with numbers, or a list",
    other=lambda value: {"numbers": value} if isinstance(value, list) else None,
)
LETTERS = Record({"letter": Choice(["a", "b"])}, "a dict with a letter")


def choose(value):
    if isinstance(value, Mapping):
        return "letters" if "letter" in value else "numbers"
    return "numbers" if isinstance(value, list) else None


EITHER = Either("a record", choose=choose, numbers=NUMBERS, letters=LETTERS)


def test_kinds_by_value():
    found = read([[1, 2], {"letter": "b"}, {"numbers": [], "name": "n"}], EITHER)
    assert [value["kind"] for value in found] == [0, 1, 0]
    assert [value["numbers"] for value in found] == [
        {"numbers": [1, 2], "name": None},
        None,
        {"numbers": [], "name": "n"},
    ]
    assert [value["letters"] for value in found] == [None, {"letter": 1}, None]
    assert EITHER.keys == ["numbers", "name", "letter"]


def test_mistakes_of_kinds():
    assert mistakes_of([[1], "x", {"letter": "c"}, [0, -1]], EITHER) == [
        (("records", 1), "'x' is not a record"),
        (("records", 2, "letter"), "'c' is not one of a, b"),
        (("records", 3, "numbers", 1), "-1 is not an index (a whole number from 0)"),
    ]


# --- fields of some kinds only ----------------------------------------------------------------------------------------


def test_a_field_that_counts_in_some_records_is_read_in_these_alone():
    node = Record(
        {"kind": Text("a kind"), "size": Optional(Integer("a size"))}, "a thing", only_in={"size": ("kind", {"box"})}
    )
    values = [{"kind": "box", "size": 3}, {"kind": "bag", "size": "any"}, {"kind": "box"}]
    assert [value["size"] for value in read(values, node)] == [3, None, None]
    assert [path for path, _ in mistakes_of([*values, {"kind": "box", "size": "any"}], node)] == [
        ("records", 3, "size")
    ]


# --- values alone, other names, columns -------------------------------------------------------------------------------


def test_values_alone_are_a_record():
    node = Record({"a": Items(Integer("an index"), "a"), "b": Items(Integer("an index"), "b")}, "x", as_tuple=True)
    assert read([[(0, 1), (2, 3)]], node) == [{"a": [0, 1], "b": [2, 3]}]
    assert read([((0, 1), (2, 3)), ([4], [5])], node) == [{"a": [0, 1], "b": [2, 3]}, {"a": [4], "b": [5]}]
    assert read([np.array([[0], [1]]), {"a": [0], "b": [1]}], node) == [{"a": [0], "b": [1]}] * 2
    assert [words for _, words in mistakes_of([([0],), ([0], [1], [2])], node)] == [
        "missing, expected b; the keys there are 'a'",
        "([0], [1], [2]) is not x",
    ]


def test_a_list_stands_for_one_field():
    node = Record({"id": Optional(Text()), "a": Items(Integer("an index"), "indices")}, "a record", bare="a")
    wanted = [{"id": None, "a": [1]}, {"id": None, "a": []}]
    for values in ([[1], ()], [np.array([1]), []], [[1], {"a": []}]):
        assert read(values, node) == wanted
    assert mistakes_of([[1], ["x"]], node) == [(("records", 1, "a", 0), "'x' is not an index (a whole number from 0)")]
    assert [path for path, _ in mistakes_of([[1], "x", 5], node)] == [("records", 1), ("records", 2)]


def test_two_names_of_a_key():
    node = Record({"words": Items(Text("a word"), "a list")}, "a record", aliases={"tokens": "words"})
    assert read([{"tokens": ["a"]}, {"words": ["b"], "tokens": None}], node) == [{"words": ["a"]}, {"words": ["b"]}]
    assert read([{"words": np.array(["a", "b"]), "tokens": ["a", "b"]}], node) == [{"words": ["a", "b"]}]
    with pytest.raises(ValueError, match=r"^records\[0\].tokens: .* contradicts"):
        read([{"words": np.array(["a", "b"]), "tokens": ["a", "c"]}], node)
    # As columns, too.
    assert to_records({"tokens": [["a"]]}, "x", node.keys) == [{"tokens": ["a"]}]


NAMES = {"head": "h", "relation": "r"}
ROWS = Record(
    {
        "rows": Rows(
            Record(
                {
                    "h": Integer("an index"),
                    "r": Text("a relation", blank=False),
                    "e": Optional(Items(Integer("a place"), "places")),
                },
                "an item",
                aliases=NAMES,
            ),
            "a list of items",
        )
    },
    "a record",
)
whole = st.integers(-1, 3) | st.sampled_from([np.int64(2), 1.0, 0.5, True, None, "1", 2**40])
text = st.sampled_from(["a", "b", "", None, 3])
places = st.none() | st.lists(whole, max_size=2) | st.just(np.array([1, 2]))


@settings(max_examples=300)
@given(
    st.lists(
        st.fixed_dictionaries(
            {}, optional={"h": whole, "r": text, "e": places, "x": text} | {"head": whole, "relation": text}
        ),
        max_size=3,
    )
)
def test_columns_are_read_as_their_rows(rows):
    names = dict.fromkeys(name for row in rows for name in row if name != "x")
    columns = {name: [row.get(name) for row in rows] for name in names}
    full = [{name: row.get(name) for name in names} for row in rows]
    if not columns:
        return
    assert mistakes_of([{"rows": columns}], ROWS) == mistakes_of([{"rows": full}], ROWS)
    if not mistakes_of([{"rows": full}], ROWS):
        assert read([{"rows": columns}], ROWS) == read([{"rows": full}], ROWS)


def test_mistakes_of_columns():
    made = read([{"rows": {"head": [1, 2], "relation": ["a", "b"], "other": 5}}], ROWS)
    assert made == [{"rows": [{"h": 1, "r": "a", "e": None}, {"h": 2, "r": "b", "e": None}]}]
    for rows, words in [
        ({"head": [1], "relation": ["a", "b"]}, r"\.rows: columns differ in length: head has 1, relation has 2"),
        ({"head": 3, "relation": ["a", "b"]}, r"\.rows\.head: 3 is not a column"),
        ({}, r"\.rows: {} is not a list of items"),
        ("ab", r"\.rows: 'ab' is not a list of items"),
        (None, r"\.rows: None is not a list of items"),
    ]:
        with pytest.raises(ValueError, match=rf"^side\[0\]{words}"):
            read([{"rows": rows}], ROWS, "side")


@pytest.mark.parametrize("n", [1, 4, 5, 2000])
def test_an_answer_does_not_depend_on_the_size_of_the_batch(n):
    """Text in the place of a list is refused, however many records there are."""
    column = {"rows": {"head": [1], "relation": "P17"}}
    with pytest.raises(ValueError, match=r"^side\[0\]\.rows\.relation: 'P17' is not a column"):
        read([column] * n, ROWS, "side")


@pytest.mark.parametrize("value", ["", "ab", {}, {"a": 1}, b"ab"])
def test_a_list_is_not_a_text_nor_a_dict(value):
    node = Record({"words": Items(Text("a word"), "a list of words")}, "a record")
    for values in ([{"words": value}], [{"words": value}, {"words": ["a"]}]):
        with pytest.raises(ValueError, match=r"^x\[0\].words: .* is not a list of words"):
            read(values, node, "x")


# --- records by kind --------------------------------------------------------------------------------------------------

PART = Record({"to": Identifier()}, "a part", aliases={"kind_of_part": "kind", "target": "to"})
PARTS = ByKind(PART, {"screw": "screw", "bolt": "screw", "nut": "nut"}, "parts, by kind or with a kind")
WHOLE = Record({"parts": Optional(PARTS)}, "a record")


def read_parts(*records):
    return [record["parts"] for record in read(list(records), WHOLE, "references")]


def parts(*pairs):
    return [{"kind": kind, "to": to} for kind, to in pairs]


def test_both_forms():
    grouped = {"screw": [{"to": "a"}, {"to": "b"}], "other": [{"to": "c"}, {}], "nut": None, "empty": []}
    wanted = parts(("screw", "a"), ("screw", "b"), ("other", None), ("other", None))
    assert read_parts({"parts": grouped}, {}, {"parts": {}}, {"parts": None}) == [wanted, None, [], None]
    listed = [{"kind": "nut", "to": "a"}, {"kind": "other", "to": "b", "more": 1}]
    assert read_parts({"parts": listed}, {"parts": []}) == [parts(("nut", "a"), ("other", None)), []]
    assert read_parts({"parts": grouped}, {"parts": listed}) == [wanted, parts(("nut", "a"), ("other", None))]


def test_other_names_of_kinds():
    assert read_parts({"parts": {"bolt": [{"target": 5}]}}) == [parts(("screw", "5"))]
    assert read_parts({"parts": [{"kind_of_part": "bolt", "to": "x"}]}) == [parts(("screw", "x"))]
    both = {"bolt": [{"to": "a"}], "screw": [{"to": "b"}]}
    assert read_parts({"parts": both}) == [parts(("screw", "a"), ("screw", "b"))]


def test_other_kinds_may_hold_anything():
    assert read_parts({"parts": {"x": 5, "y": "text", "z": [1, None]}}) == [parts(*[(k, None) for k in "xyzz"])]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (5, "parts: 5 is not parts, by kind or with a kind"),
        ("nut", "parts: 'nut' is not parts"),
        ({"nut": 5}, "parts.nut: 5 is not parts"),
        ({"nut": [None]}, r"parts.nut\[0\]: None is not a part"),
        ({"nut": [{}]}, r"parts.nut\[0\].to: missing"),
        ({5: []}, r"parts\[5\]: 5 is not a kind"),
        ({"a\nb\ud800": []}, r"parts\['a\\nb\\ud800'\]"),
        ([5], r"parts\[0\]: 5 is not a part"),
        ([{"to": "a"}], r"parts\[0\].kind: missing"),
        ([{"kind": 5}], r"parts\[0\].kind: 5 is not a kind"),
        ([{"kind": "nut", "to": 1.5}], r"parts\[0\].to: 1.5 is not an id"),
    ],
)
def test_mistakes_of_records_by_kind(value, words):
    with pytest.raises(ValueError, match=f"^references\\[0\\].{words}") as error:
        read_parts({"parts": value})
    assert "\n" not in str(error.value)


def test_every_record_of_a_list_by_kind_is_looked_at():
    value = [{"kind": "nut"}, {"kind": 5}, {"kind": "bolt", "to": None}, {"kind": "nut", "to": "a"}]
    assert [path[3:] for path, _ in mistakes_of([{"parts": value}], WHOLE)] == [(0, "to"), (1, "kind"), (2, "to")]


# --- whole batches ----------------------------------------------------------------------------------------------------

TABLE = [{"id": "a", "words": ["x"]}, {"id": "b", "words": []}]


@pytest.mark.parametrize(
    "given_as",
    [
        TABLE,
        tuple(TABLE),
        iter(TABLE),
        {"id": ["a", "b"], "words": [["x"], []], "ignored": [1, 2, 3]},
        {"id": np.array(["a", "b"]), "words": (["x"], [])},
        datasets.Dataset.from_list(TABLE),
        datasets.Dataset.from_list(TABLE).with_format("numpy"),
        datasets.Dataset.from_list([{**row, "ignored": 1} for row in TABLE]),
        datasets.Dataset.from_list(TABLE)[:],
        datasets.Dataset.from_list(TABLE).to_iterable_dataset(),
        datasets.Dataset.from_list(TABLE).with_format("pandas")[:],
        pandas.DataFrame(TABLE, index=[7, 8]),
        pyarrow.Table.from_pylist(TABLE),
        pyarrow.RecordBatch.from_pylist(TABLE),
    ],
    ids=lambda value: type(value).__name__,
)
def test_batches_of_all_kinds(given_as):
    records = to_records(given_as, "references", ("id", "words"))
    found = [{key: value for key, value in record.items() if value is not None} for record in records]
    assert [{**record, "words": list(record["words"])} for record in found] == TABLE  # pandas has lists as arrays


def test_nulls_of_a_table_are_missing_values():
    table = pyarrow.table({"number": pyarrow.array([1, None])})
    assert to_records(table, "references", ("number",)) == [{"number": 1}, {"number": None}]


def test_a_masked_value_is_a_missing_one():
    values = list(np.ma.masked_array([1, 2], mask=[False, True]))
    assert read(values, Optional(Integer("an index"))) == [1, None]
    with pytest.raises(ValueError, match=r"^records\[1\]: None is not an index"):
        read(values, Integer("an index"))
    rows = Rows(Record({"a": Text(), "b": Optional(Text())}, "a row"), "rows")
    assert read([{"a": ["x"], "b": np.ma.masked}], rows) == [[{"a": "x", "b": None}]]


Pair = namedtuple("Pair", "second first")
Other = namedtuple("Other", "a b")


def test_a_named_tuple_is_read_by_its_names():
    fields = {"first": Integer("an index"), "second": Integer("an index")}
    pairs = Items(Record(fields, "a pair", as_tuple=True), "pairs")
    (first, *others) = read([[Pair(2, 1)], [Other(1, 2)], [(1, 2)]], pairs)
    assert first == [{"first": 1, "second": 2}]
    assert others == [first, first]


def test_other_columns_are_named_where_a_key_is_missing():
    columns = {"id": ["a"], "labels": [["x"]]}
    for given_as in (columns, datasets.Dataset.from_dict(columns), [{"id": "a", "labels": ["x"]}]):
        found = mistakes_of(to_records(given_as, "records", OUTER.keys), OUTER)
        assert [words for _, words in found] == ["missing, expected inner records; the keys there are 'id', 'labels'"]


@pytest.mark.parametrize(
    ("given_as", "message"),
    [
        ("abc", "references: 'abc' is not a list of records"),
        (5, "references: 5 is not a list of records"),
        (np.array(5), f"references: {np.int64(5)!r} is not a list of records"),
        ({("a",)}, "references: {('a',)} has no order, expected a list of records"),
        (frozenset(["a"]), "references: frozenset({'a'}) has no order, expected a list of records"),
        ({"other": [1]}, "references: {'other': [1]} is not a list of records, nor columns id, words"),
        ({"id": 5}, "references.id: 5 is not a column (a list with one value a record)"),
        ({"a"}, "references: {'a'} has no order, expected a list of records"),
        ({"id": {"a"}}, "references.id: {'a'} has no order, expected a column (a list with one value a record)"),
        ({"id": ["a"], "words": []}, "references: columns differ in length: id has 1, words has 0"),
        (
            datasets.Dataset.from_dict({"other": [1, 2]}),
            "references: a dataset of other has none of the columns id, words",
        ),
    ],
)
def test_what_is_no_batch_is_named(given_as, message):
    with pytest.raises(ValueError) as caught:
        to_records(given_as, "references", ("id", "words"))
    assert str(caught.value) == message


def test_one_value_is_read_to_a_column_of_one():
    assert plain(read_value([1, 2], Items(Integer("an index"), "indices"))) == [[1, 2]]
    with pytest.raises(Refused) as caught:
        read_value([1, "x"], Items(Integer("an index"), "indices"))
    assert caught.value.steps == (1,)
    assert str(caught.value.at("groups")) == "groups[1]: 'x' is not an index (a whole number from 0)"


def test_indices_past_the_end():
    mistakes = Mistakes()
    check_inside(
        np.array([0, 5, 2, 9]),
        np.array([1, 5, -1, 3]),
        Places.of_batch("indices"),
        "the number of tokens",
        mistakes,
    )
    assert mistakes.sorted() == [
        (("indices", 1), "5 is past the end, expected an index below 5, the number of tokens"),
        (("indices", 3), "9 is past the end, expected an index below 3, the number of tokens"),
    ]
