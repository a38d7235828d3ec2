"""Explanations of unmatched items, and the records that results give of them."""

import re
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.timing import in_new_process
from spanscore.metrics import errors, matching

KINDS = ("tens", "units")


def relation(left, right):
    """Equal tens: one kind apart; equal units: two kinds apart."""
    if left // 10 == right // 10:
        return ["units"], 0.5 + abs(left - right) / 100
    return (["tens", "units"], 0.9) if left % 10 == right % 10 else None


def one_token(values):
    return matching.Spans(np.arange(len(values) + 1), np.array(values, np.int64))


def side(documents):
    """The items of one side, which share their tens or their units."""
    values = [value for document in documents for value in document]
    at = np.repeat(np.arange(len(documents)), [len(document) for document in documents])
    spans = [one_token([value // 10 for value in values]), one_token([value % 10 for value in values])]
    return errors.Items(at, np.arange(len(values)), values.__getitem__, spans)


def relate(predicted, gold):
    """`relation` of many pairs."""

    def of_pairs(edges):
        pairs = [relation(predicted.show_at(i), gold.show_at(j)) for i, j in zip(edges.left, edges.right, strict=True)]
        wrong = np.array([[pair is not None and kind in pair[0] for pair in pairs] for kind in KINDS], bool)
        closeness = np.array([0.0 if pair is None else pair[1] for pair in pairs])
        return errors.Relations(np.array([pair is not None for pair in pairs], bool), wrong, closeness)

    return of_pairs


def explain_documents(predicted, gold):
    """The errors of each document: kind, index of the predicted item, index of the gold item."""
    sides = side(predicted), side(gold)
    found = [[] for _ in predicted]
    starts = [np.cumsum([0] + [len(document) for document in documents]) for documents in (predicted, gold)]
    for kind, i, j in errors.explain(*sides, relate(*sides), len(KINDS)).tolist():
        document = int(sides[0].document[i] if i >= 0 else sides[1].document[j])
        name = "missed" if i < 0 else "spurious" if j < 0 else (*KINDS, "several")[kind]
        left, right = (None if at < 0 else at - int(start[document]) for at, start in zip((i, j), starts, strict=True))
        found[document].append((name, left, right))
    return found


def explain(predicted, gold):
    """The errors of one document."""
    return explain_documents([predicted], [gold])[0]


items = st.lists(st.integers(0, 39), max_size=5)


@given(items, items)
def test_every_item_is_named_once(predicted, gold):
    found = explain(predicted, gold)
    assert sorted(i for _, i, _ in found if i is not None) == list(range(len(predicted)))
    assert sorted(j for _, _, j in found if j is not None) == list(range(len(gold)))
    for kind, i, j in found:
        if i is None or j is None:
            assert kind == ("missed" if i is None else "spurious")
        else:
            assert kind == ("units" if predicted[i] // 10 == gold[j] // 10 else "several")
    left = [i for kind, i, _ in found if kind == "spurious"]
    right = [j for kind, _, j in found if kind == "missed"]
    assert not any(relation(predicted[i], gold[j]) for i in left for j in right)


def worth(pairs, predicted, gold):
    """Number of pairs, number of pairs of a single kind, total closeness in hundredths."""
    relations = [relation(predicted[i], gold[j]) for i, j in pairs]
    return (
        len(relations),
        sum(len(kinds) == 1 for kinds, _ in relations),
        sum(round(100 * closeness) for _, closeness in relations),
    )


@given(items, items)
def test_pairs_then_single_kinds_then_closeness(predicted, gold):
    found = explain(predicted, gold)
    size = max(len(predicted), len(gold))
    best = max(
        worth(
            [
                (i, j)
                for i, j in enumerate(order)
                if i < len(predicted) and j < len(gold) and relation(predicted[i], gold[j])
            ],
            predicted,
            gold,
        )
        for order in permutations(range(size))
    )
    assert worth([(i, j) for _, i, j in found if i is not None and j is not None], predicted, gold) == best


def test_worked_example():
    assert explain([11], [21, 12]) == [("units", 0, 1), ("missed", None, 0)]
    # A pair of 11 and 12 would leave 22 with 32, a pair of two kinds; both orders give two pairs.
    assert {kind for kind, _, _ in explain([11, 22], [12, 32])} == {"units", "several"}
    assert explain([], []) == []


@given(st.lists(st.tuples(items, items), max_size=5))
def test_documents_are_explained_each_for_itself(documents):
    sides = [[document[side] for document in documents] for side in (0, 1)]
    assert explain_documents(*sides) == [explain(*document) for document in documents]


rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12)  # (document, item)


@given(rows, rows, st.sampled_from(["set", "count"]))
def test_leftovers_are_the_items_in_excess(predicted, gold, repeats):
    columns = [np.array([row[column] for row in side], np.int64) for side in (predicted, gold) for column in (0, 1)]
    found = errors.leftovers(matching.match_equal(*columns, repeats=repeats))
    both = predicted + gold
    for mine, theirs, (documents, examples) in ((predicted, gold, found[0]), (gold, predicted, found[1])):
        expected = []
        for row in sorted(set(mine)):
            counts = [side.count(row) if repeats == "count" else min(1, side.count(row)) for side in (mine, theirs)]
            expected += [row] * max(0, counts[0] - counts[1])
        assert [both[at] for at in examples] == expected
        assert documents.tolist() == [document for document, _ in expected]


def test_error_records():
    sides = side([[5], [], [11]]), side([[], [], [12, 21]])
    found = errors.error_records("number", ["a", "b", "c"], *sides, relate(*sides), KINDS)
    keys = ("record", "component", "kind", "prediction", "reference")
    assert [tuple(error.values()) for error in found] == [
        ("a", "number", "spurious", 5, None),
        ("c", "number", "units", 11, 12),
        ("c", "number", "missed", None, 21),
    ]
    assert all(tuple(error) == keys for error in found)
    assert errors.error_records("number", [], side([]), side([]), relate(side([]), side([])), KINDS) == []


def test_documents_are_explained_alike_in_one_piece_or_in_many(monkeypatch):
    rng = np.random.default_rng(1)
    sides = [[rng.integers(0, 40, rng.integers(0, 9)).tolist() for _ in range(30)] for _ in range(2)]
    whole = explain_documents(*sides)
    monkeypatch.setattr(errors, "_HELD", 10)
    assert explain_documents(*sides) == whole
    monkeypatch.setattr(matching, "BLOCK", 7)
    assert explain_documents(*sides) == whole


@pytest.mark.parametrize("name", ["aste", "propsegment", "sentivent", "docred"])
@pytest.mark.parametrize("form", ["related", "apart"])
def test_memory_of_one_document_of_2_000_wrong_items_a_side(name, form):
    # It grows with the number of pairs: 4,000 items a side take four times as much, less than 1 GiB.
    words = in_new_process("bench_errors", name, form, 2000)
    peak, before = (int(re.search(shape, words)[1]) for shape in (r"(\d+) MiB at the highest", r"before, (\d+)"))
    assert peak - before < 200


def test_without_relations_each_error_is_spurious_or_missed():
    sides = side([[11], [5]]), side([[12], []])
    found = errors.error_records("number", ["a", "b"], *sides, None, ())
    assert [(e["record"], e["kind"]) for e in found] == [("a", "spurious"), ("a", "missed"), ("b", "spurious")]
