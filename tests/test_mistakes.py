"""`mistakes`: how errors are worded, where they are placed, and in which order they are given."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanscore.metrics.mistakes import Mistakes, Places, Refused, quote, quote_some, write_path


def test_values_are_quoted_in_one_short_line():
    assert quote("a\nb") == "'a\\nb'"
    assert quote([1, [2, [3, [4]]]]) == "[1, [2, [3, [...]]]]"
    assert len(quote("x" * 1000)) < 90
    assert quote(10**5000) == "a int too long to write"
    assert quote_some(["a", "b"]) == "'a', 'b'"
    assert quote_some(map(str, range(7))) == "'0', '1', '2', '3', '4' and 2 more"


def test_paths_are_written_as_python_would():
    assert write_path(("predictions", 3, "triplets", 1, "aspect")) == "predictions[3].triplets[1].aspect"
    assert write_path(("references", 0, "['a b']", 2)) == "references[0]['a b'][2]"
    assert write_path(("groups",)) == "groups"


def test_a_refused_value_is_placed_by_the_caller():
    assert str(Refused("5 is not text", 2, "name").at("option")) == "option[2].name: 5 is not text"


@given(st.lists(st.lists(st.integers(0, 3), max_size=3), max_size=4), st.randoms())
def test_places_of_items_rows_and_fields(lists, random):
    offsets = [0]
    for items in lists:
        offsets.append(offsets[-1] + len(items))
    flat = [(at, within) for at, items in enumerate(lists) for within in range(len(items))]
    places = Places.of_batch("side").field("words").items(offsets)
    assert [places(at) for at in range(offsets[-1])] == [("side", at, "words", within) for at, within in flat]
    chosen = [at for at in range(len(flat)) if random.random() < 0.5]
    assert [places.rows(chosen)(at) for at in range(len(chosen))] == [places(at) for at in chosen]


def test_mistakes_come_in_the_order_of_records_then_fields_then_items():
    mistakes = Mistakes()
    assert not mistakes
    mistakes.raise_first()
    for path in (
        ("side", 2, "b", 0),
        ("side", 0, "c", 1),
        ("side", 2, "a"),
        ("side", 0, "a", 0, 5),
        ("side", 0, "c", 0),
    ):
        mistakes.add(path, f"wrong at {path[1:]}")
    assert mistakes
    assert mistakes.records() == {0, 2}
    assert [path for path, _ in mistakes.sorted()] == [
        ("side", 0, "c", 0),
        ("side", 0, "c", 1),
        ("side", 0, "a", 0, 5),
        ("side", 2, "b", 0),
        ("side", 2, "a"),
    ]
    with pytest.raises(ValueError, match=r"^side\[0\]\.c\[0\]: wrong at"):
        mistakes.raise_first()


def test_a_value_is_wrong_once():
    mistakes = Mistakes()
    mistakes.add(("side", 0, "items", 1), "wrong")
    for path in (("side", 0, "items", 1), ("side", 0, "items", 1, "name"), ("side", 0, "items"), ("side", 0)):
        mistakes.add(path, "wrong again")
    mistakes.add(("side", 0, "items", 10), "another")
    assert [path[3] for path, _ in mistakes.sorted()] == [1, 10]


def test_no_more_mistakes_are_kept_than_a_person_reads():
    mistakes = Mistakes()
    for at in range(12_000):
        mistakes.add(("side", at), "wrong")
    assert len(mistakes.sorted()) == 10_000


class Hostile:
    def __repr__(self):
        return "\x1b[31m\n" + "x" * 1000


def test_values_are_written_in_one_short_line_whatever_they_are():
    for value in (Hostile(), [Hostile()] * 9, {"a": Hostile()}, "\u2028\x1b" * 300, 10**5000):
        text = quote(value)
        assert text.isprintable()
        assert 0 < len(text) <= 200
