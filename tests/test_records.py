"""`records`: the fast and the careful way agree, and what is refused is named with its place."""

from array import array
from collections import ChainMap, UserDict, deque
from fractions import Fraction

import datasets
import numpy as np
import pyarrow as pa
import pytest
from conftest import ROOT  # noqa: F401  puts the project on the path
from hypothesis import given
from hypothesis import strategies as st

import records
from records import (
    Choice,
    Either,
    Flag,
    Identifier,
    Integer,
    Items,
    Mistake,
    Number,
    Optional,
    Record,
    Text,
    convert,
)

TERM = Either("a term", indices=Items(Integer("an index"), "indices", minimum=1), text=Text("a text", blank=False))
INNER = Record(
    {"term": TERM, "label": Choice({"A": "A", "B": "B", "a": "A"}), "score": Optional(Number())},
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


def careful(values, schema):
    """What the careful way makes of values, or its mistake."""
    try:
        return pa.array([schema.read(value) for value in values], schema.arrow)
    except Mistake as mistake:
        return mistake


def fast(values, schema):
    """What the fast way alone makes of values, or None."""
    for form in range(schema.forms):
        try:
            array = pa.array(values, schema.wire(form))
            schema.plain(values, form, array=array)
            return schema.settle(array)
        except (records._Unusual, *records._ARROW_ERRORS):
            continue
    return None


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


@given(nearly_good_records() | st.lists(json_values, max_size=3))
def test_the_fast_way_agrees_with_the_careful_way(values):
    slow, quick = careful(values, OUTER), fast(values, OUTER)
    if quick is not None:
        assert isinstance(slow, pa.Array), slow
        assert quick.equals(slow)
        assert quick.type == OUTER.arrow
        quick.validate(full=True)


@given(st.lists(good_record.filter(lambda r: not isinstance(r.get("id"), int)), min_size=1, max_size=4))
def test_plain_records_take_the_fast_way(values):
    kinds = {type(item["term"]) for record in values for item in record["items"]}
    if len(kinds) < 2:
        assert fast(values, OUTER) is not None


@given(st.lists(json_values, max_size=4))
def test_only_columns_or_an_error_of_one_line_come_out(values):
    try:
        array = convert(values, OUTER, "records")
    except ValueError as error:
        assert str(error).startswith("records[")
        assert "\n" not in str(error)
        assert len(str(error)) < 400
    else:
        assert array.type == OUTER.arrow
        assert len(array) == len(values)


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
        ({"items": [([0, 0.5], "A")]}, "records[1].items[0].term[1]: 0.5 is not an index (a whole number from 0)"),
        ({"items": [([True], "A")]}, "records[1].items[0].term[0]: True is not an index (a whole number from 0)"),
        ({"items": [([-1], "A")]}, "records[1].items[0].term[0]: -1 is not an index (a whole number from 0)"),
        (
            {"items": [([2**31], "A")]},
            "records[1].items[0].term[0]: 2147483648 is not an index (a whole number from 0)",
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
    ],
)
def test_a_mistake_is_named_with_its_place(record, message):
    with pytest.raises(ValueError) as caught:
        convert([{"items": []}, record], OUTER, "records")
    assert str(caught.value).startswith(message)


PAIR = Record({"a": Items(Integer("an index"), "indices"), "b": Text()}, "a pair", as_tuple=True)
odd_sequences = st.sampled_from(
    [
        *(
            b"ab",
            bytearray(b"c"),
            memoryview(b"d"),
            array("i", [1]),
            array("d", [0.5]),
            deque([1]),
            range(2),
            {3},
            "ab",
        ),
        *(np.array([1]), np.array(1), np.array([[1]]), {"a": 1}.keys(), iter([1])),
        *([np.bool_(True)], [Fraction(1)], [1.0]),
    ]
)
pair_values = odd_sequences | st.lists(st.integers(-1, 300), max_size=2) | st.text(max_size=2) | st.binary(max_size=2)


@given(
    st.lists(
        st.tuples(pair_values, pair_values)
        | st.lists(st.tuples(st.sampled_from("abc"), pair_values), max_size=3)
        | st.lists(pair_values, max_size=3)
        | st.fixed_dictionaries({"a": pair_values, "b": pair_values})
        | pair_values,
        max_size=2,
    )
)
def test_the_fast_way_agrees_on_odd_python_values(values):
    slow, quick = careful(values, PAIR), fast(values, PAIR)
    if quick is not None:
        assert isinstance(slow, pa.Array), slow
        assert quick.equals(slow)


def test_usual_forms_are_read():
    array = convert(
        [
            {"id": 7, "items": (("x", "a"), {"term": np.array([2, 1]), "mark": "B"})},
            {
                "id": np.int64(8),
                "items": [{"term": {3}, "label": np.str_("A"), "score": np.float32(0.5)}],
                "on": np.True_,
            },
        ],
        OUTER,
        "records",
    )
    assert array.to_pylist() == [
        {
            "id": "7",
            "items": [
                {"term": {"indices": None, "text": "x"}, "label": "A", "score": None},
                {"term": {"indices": [2, 1], "text": None}, "label": "B", "score": None},
            ],
            "on": None,
            "words": None,
        },
        {
            "id": "8",
            "items": [{"term": {"indices": [3], "text": None}, "label": "A", "score": 0.5}],
            "on": True,
            "words": None,
        },
    ]


def test_long_values_are_cut_short():
    with pytest.raises(ValueError) as caught:
        convert([{"items": "y" * 100_000}], OUTER, "records")
    assert len(str(caught.value)) < 200


ROWS = [{"id": "a", "words": ["x"]}, {"id": "b", "words": []}]


@pytest.mark.parametrize(
    "given_as",
    [
        ROWS,
        tuple(ROWS),
        iter(ROWS),
        {"id": ["a", "b"], "words": [["x"], []], "ignored": [1, 2, 3]},
        {"id": np.array(["a", "b"]), "words": (["x"], [])},
        datasets.Dataset.from_list(ROWS),
        datasets.Dataset.from_list(ROWS).with_format("numpy"),
        datasets.Dataset.from_list([{**row, "ignored": 1} for row in ROWS]),
        datasets.Dataset.from_list(ROWS)[:],
        datasets.Dataset.from_list(ROWS).to_iterable_dataset(),
    ],
    ids=lambda value: type(value).__name__,
)
def test_rows_of_all_kinds_of_batches(given_as):
    assert records.rows(given_as, "references", ("id", "words")) == ROWS


@pytest.mark.parametrize(
    ("given_as", "message"),
    [
        ("abc", "references: 'abc' is not a list of records"),
        (5, "references: 5 is not a list of records"),
        ({"other": [1]}, "references: {'other': [1]} is not a list of records, nor columns id, words"),
        ({"id": 5}, "references.id: 5 is not a column (a list with one value a record)"),
        ({"id": ["a"], "words": []}, "references: columns differ in length: id has 1, words has 0"),
    ],
)
def test_what_is_no_batch_is_named(given_as, message):
    with pytest.raises(ValueError) as caught:
        records.rows(given_as, "references", ("id", "words"))
    assert str(caught.value) == message


def pair(predictions, references):
    order, kind = records.pair(pa.array(predictions, pa.string()), pa.array(references, pa.string()))
    return order.tolist(), kind


@given(
    st.lists(st.text("abc", min_size=1), unique=True, min_size=1).flatmap(
        lambda ids: st.tuples(st.permutations(ids), st.just(ids))
    )
)
def test_ids_pair_whatever_the_order(sides):
    predictions, references = sides
    order, kind = pair(predictions, references)
    assert kind == "id"
    assert [references[at] for at in order] == predictions


@pytest.mark.parametrize(
    "sides", [([None, None], ["a", "b"]), (["a", "b"], [None, None]), ([None, None], [None, None])]
)
def test_without_ids_on_both_sides_records_pair_by_position(sides):
    assert pair(*sides) == ([0, 1], "position")


MANY = [f"d{number}" for number in range(7)]


@pytest.mark.parametrize(
    ("predictions", "references", "words"),
    [
        ([], [], "references: there are none"),
        ([], ["a"], "0 predictions for 1 references"),
        ([None], [None, None], "1 predictions for 2 references"),
        (["a"], [None, None], "1 predictions for 2 references"),
        (["a", None], ["a", "b"], "predictions[1].id: missing"),
        (["a", "b"], [None, "b"], "references[0].id: missing"),
        (["a", "c"], ["a", "b"], "predictions: ids 'c' are not among the references'"),
        (["a"], ["a", "b"], "predictions: none for ids 'b' of the references"),
        (["a", "a"], ["a", "b"], "predictions: repeated ids 'a'"),
        (["a", "a"], ["a", "a"], "predictions: repeated ids 'a'"),
        (["a", "b"], ["b", "b"], "references: repeated ids 'b'"),
        (["a"], ["a", *MANY], "predictions: none for ids 'd0', 'd1', 'd2', 'd3', 'd4' and 2 more of"),
        (["a", *MANY], ["a"], "predictions: ids 'd0', 'd1', 'd2', 'd3', 'd4' and 2 more are not"),
    ],
)
def test_what_cannot_be_paired_is_named(predictions, references, words):
    with pytest.raises(ValueError) as caught:
        pair(predictions, references)
    assert str(caught.value).startswith(words)


def test_options_are_checked():
    checks = {
        "mode": records.one_of("a", "b"),
        "on": records.flag,
        "rate": records.number(0, 1, "a number from 0 to 1"),
    }
    given_options = {"mode": "a", "on": True, "rate": 1}
    assert records.checked_options(given_options, checks, "the metric") == {"mode": "a", "on": True, "rate": 1.0}
    for options, message in [
        ({"mood": "a"}, "mood: not an option of the metric, expected one of mode, on, rate"),
        ({"mode": "c"}, "mode: 'c' is not one of a, b"),
        ({"mode": ["a"]}, "mode: ['a'] is not one of a, b"),
        ({"on": 1}, "on: 1 is not true or false"),
        ({"rate": 1.5}, "rate: 1.5 is not a number from 0 to 1"),
        ({"rate": float("nan")}, "rate: nan is not a number from 0 to 1"),
    ]:
        with pytest.raises(ValueError) as caught:
            records.checked_options(options, checks, "the metric")
        assert str(caught.value) == message


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
    assert convert([record, {"items": []}], OUTER, "records").field("items").to_pylist() == [[], []]


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
    ],
    ids=range(7),
)
def test_odd_values_are_refused_in_one_line(record):
    with pytest.raises(ValueError, match=r"^records\[0\]") as caught:
        convert([record, {"items": []}], OUTER, "records")
    assert "\n" not in str(caught.value)


def test_values_alone_are_a_record_whatever_they_look_like():
    schema = Record({"a": Items(Integer("an index"), "a"), "b": Items(Integer("an index"), "b")}, "x", as_tuple=True)
    assert convert([[(0, 1), (2, 3)]], schema, "x").to_pylist() == [{"a": [0, 1], "b": [2, 3]}]
    assert convert([np.array([[0], [1]])], schema, "x").to_pylist() == [{"a": [0], "b": [1]}]
    assert convert([[("a", [0]), ("b", [1])]], schema, "x").to_pylist() == [{"a": [0], "b": [1]}]


def test_a_dataset_without_a_known_column_is_refused():
    data = datasets.Dataset.from_dict({"other": [1, 2]})
    with pytest.raises(ValueError, match=r"^references: a dataset of other has none of the columns id, words$"):
        records.rows(data, "references", ("id", "words"))
    with pytest.raises(ValueError, match=r"^references: array\(5\) is not a list of records$"):
        records.rows(np.array(5), "references", ("id", "words"))


@given(nearly_good_records())
def test_few_records_are_read_as_many_are(values):
    before = records.FEW
    outcomes = []
    for few in (0, 1000):
        records.FEW = few
        try:
            outcomes.append(convert(values, OUTER, "records"))
        except ValueError as error:
            outcomes.append(str(error))
        finally:
            records.FEW = before
    assert outcomes[0] == outcomes[1]
