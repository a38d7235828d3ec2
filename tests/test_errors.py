"""Explanations of unmatched items, and the records that results give of them."""

from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from spanscore.metrics import errors, matching


def explain(predicted, gold, relate):
    """The errors of one document."""
    return errors.explain_documents([predicted], [gold], relate)[0]


def relation(left, right):
    """Equal tens: one kind apart; equal units: two kinds apart."""
    if left // 10 == right // 10:
        return ["units"], 0.5 + abs(left - right) / 100
    return (["tens", "units"], 0.9) if left % 10 == right % 10 else None


items = st.lists(st.integers(0, 39), max_size=5)


@given(items, items)
def test_every_item_is_named_once(predicted, gold):
    found = explain(predicted, gold, relation)
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
    found = explain(predicted, gold, relation)
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
    assert explain([11], [21, 12], relation) == [("units", 0, 1), ("missed", None, 0)]
    # A pair of 11 and 12 would leave 22 with 32, a pair of two kinds; both orders give two pairs.
    assert {kind for kind, _, _ in explain([11, 22], [12, 32], relation)} == {"units", "several"}
    assert explain([], [], relation) == []


@given(st.lists(st.tuples(items, items), max_size=5))
def test_documents_are_explained_each_for_itself(documents):
    sides = [[document[side] for document in documents] for side in (0, 1)]
    assert errors.explain_documents(*sides, relation) == [explain(*document, relation) for document in documents]


rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=12)  # (document, item)


@given(rows, rows, st.sampled_from(["set", "count"]))
def test_leftovers_are_the_items_in_excess(predicted, gold, repeats):
    columns = [np.array([row[column] for row in side], np.int64) for side in (predicted, gold) for column in (0, 1)]
    found = errors.leftovers(matching.match_equal(*columns, repeats=repeats))
    both = predicted + gold
    for mine, theirs, leftover in ((predicted, gold, found[0]), (gold, predicted, found[1])):
        expected = {}
        for row in sorted(set(mine)):
            counts = [side.count(row) if repeats == "count" else min(1, side.count(row)) for side in (mine, theirs)]
            if counts[0] > counts[1]:
                expected.setdefault(row[0], []).extend([row] * (counts[0] - counts[1]))
        assert {document: [both[at] for at in ats] for document, ats in leftover.items()} == expected
        assert list(leftover) == sorted(leftover)


def test_error_records():
    found = errors.error_records("number", ["a", "b", "c"], {2: [11], 0: [5]}, {2: [21, 12]}, relation, str)
    keys = ("record", "component", "kind", "prediction", "reference")
    assert [tuple(error.values()) for error in found] == [
        ("a", "number", "spurious", "5", None),
        ("c", "number", "units", "11", "12"),
        ("c", "number", "missed", None, "21"),
    ]
    assert all(tuple(error) == keys for error in found)
    assert errors.error_records("number", [], {}, {}, relation, str) == []
