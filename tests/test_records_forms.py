"""Records of several forms told apart by a function, bare records the fast way, and long lists of integers."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest
from conftest import ROOT  # noqa: F401  puts the project on the path
from hypothesis import given, settings
from hypothesis import strategies as st

import records
from records import Choice, Either, Integer, Items, Mistake, Optional, Record, Text, convert

NUMBERS = Record(
    {"numbers": Items(Integer("an index", many=True), "indices"), "name": Optional(Text())},
    "a dict with numbers, or a list",
    other=lambda value: {"numbers": value} if isinstance(value, list) else None,
)
LETTER = Either(
    "a letter or an integer",
    choose=lambda value: "text" if isinstance(value, str) else "number" if isinstance(value, int) else None,
    text=Choice(["a", "b"]),
    number=Integer("an integer"),
)
LETTERS = Record({"letter": LETTER}, "a dict with a letter")


def choose(value):
    if isinstance(value, Mapping):
        return "letters" if "letter" in value else "numbers"
    if isinstance(value, list):
        return "numbers"
    return "other" if isinstance(value, str) else None


EITHER = Either("a record", choose=choose, numbers=NUMBERS, letters=LETTERS)


def walked(values):
    try:
        return pa.array([EITHER.read(value) for value in values], EITHER.arrow)
    except Mistake as mistake:
        return mistake


def converted(values):
    try:
        return convert(values, EITHER, "x")
    except ValueError as refused:
        return refused


index = st.integers(-1, 5) | st.sampled_from([0.5, 2.0, True, None, "1", 2**40, np.int64(1), np.float64(0.5), np.True_])
numbers = st.lists(index, max_size=3) | st.just("") | st.just(np.array([1, 2]))
record = (
    numbers
    | st.fixed_dictionaries({"numbers": numbers}, optional={"name": st.sampled_from(["n", None, 5])})
    | st.fixed_dictionaries({"letter": st.sampled_from(["a", "b", "c", 1, -1, 0.5, None])})
    | st.sampled_from(["other", None, 3])
)


@given(st.lists(record, max_size=4) | st.lists(st.lists(st.integers(0, 5), max_size=3), max_size=4))
@settings(max_examples=300, deadline=None)
def test_both_ways_agree(values):
    slow, found = walked(values), converted(values)
    if isinstance(slow, Mistake):
        assert isinstance(found, ValueError)
    else:
        assert found.equals(slow)


def test_the_fast_way_takes_every_form(monkeypatch):
    def careful(self, value):
        raise AssertionError(f"{value} was read the careful way")

    monkeypatch.setattr(Record, "read", careful)
    for values in ([[1, 2], []], [{"numbers": [1]}, [2]], [{"letter": "a"}], [{"letter": 3}, {"letter": 4}]):
        assert len(convert(values, EITHER, "x")) == len(values)


@pytest.mark.parametrize("odd", [0.5, np.int64(1), np.float64(2.0), np.True_])
def test_long_lists_are_looked_at(odd):
    with pytest.raises(records._Unusual):
        NUMBERS.plain([{"numbers": [0, odd]}], 0)


def test_keys_of_all_kinds_are_columns():
    assert EITHER.keys == ["numbers", "name", "letter"]
    assert records.rows({"letter": ["a"], "else": [1]}, "x", EITHER.keys) == [{"letter": "a"}]
    with pytest.raises(ValueError, match=r"x\[1\]: 'other' is not a record"):
        convert([[1], "other"], EITHER, "x")
