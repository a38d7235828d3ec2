"""Spans, equality, overlap, counts and rates, against slow plain code; alignment has a file of its own."""

import dataclasses
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanscore.metrics import matching

token_sets = st.frozensets(st.integers(0, 12), max_size=5)
token_lists = st.lists(st.integers(0, 12), max_size=6)
ranks = st.integers(0, 3)


def spans_of(lists):
    offsets = np.cumsum([0, *map(len, lists)])
    return matching.token_sets(offsets, np.array([token for tokens in lists for token in tokens], np.int64))


def sets_of(spans):
    return [frozenset(spans.tokens[a:b].tolist()) for a, b in zip(spans.offsets[:-1], spans.offsets[1:], strict=True)]


def array(values):
    return np.array(values, np.int64)


def same_partition(codes, things):
    """Whether integers are equal exactly where the things are equal."""
    pairs = set(zip(codes.tolist(), things, strict=True))
    return len(pairs) == len({code for code, _ in pairs}) == len({thing for _, thing in pairs})


@given(st.lists(token_lists))
def test_spans_are_sorted_sets(lists):
    spans = spans_of(lists)
    assert sets_of(spans) == [frozenset(tokens) for tokens in lists]
    assert spans.lengths.tolist() == [len(set(tokens)) for tokens in lists]
    for start, end in zip(spans.offsets[:-1], spans.offsets[1:], strict=True):
        assert spans.tokens[start:end].tolist() == sorted(set(spans.tokens[start:end].tolist()))


@given(st.lists(token_lists, min_size=1), st.data())
def test_take_and_concatenate(lists, data):
    spans = spans_of(lists)
    chosen = data.draw(st.lists(st.integers(0, len(lists) - 1)))
    assert sets_of(spans.take(array(chosen))) == [frozenset(lists[index]) for index in chosen]
    assert sets_of(matching.concatenate(spans, spans)) == [frozenset(tokens) for tokens in lists + lists]


def test_take_keeps_token_sets():
    made = matching.token_sets(np.array([0, 2, 3, 5]), np.array([4, 1, 7, 2, 2]))
    taken = made.take(np.array([2, 0]))
    assert isinstance(taken, matching.Spans)
    assert taken.tokens.tolist() == [2, 1, 4] and taken.offsets.tolist() == [0, 1, 3]


def test_spans_are_frozen_and_replaceable():
    spans = spans_of([[1, 2], [3]])
    with pytest.raises(dataclasses.FrozenInstanceError):
        spans.tokens = array([0])
    assert sets_of(dataclasses.replace(spans, tokens=spans.tokens + 1)) == [{2, 3}, {4}]


@given(st.lists(st.integers(0, 5)))
def test_to_offsets(lengths):
    offsets = matching.to_offsets(array(lengths))
    assert offsets.tolist() == [sum(lengths[:n]) for n in range(len(lengths) + 1)]


big = st.integers(0, 5) | st.integers(2**40, 2**40 + 3) | st.integers(2**61, 2**61 + 3)


@given(st.lists(st.tuples(big, big, big, big), min_size=1))
def test_encode_is_equality_and_order_of_rows(rows):
    codes = matching.encode(*map(array, zip(*rows, strict=True)))
    assert same_partition(codes, rows)
    assert sorted(range(len(rows)), key=codes.tolist().__getitem__) == sorted(range(len(rows)), key=rows.__getitem__)


@given(st.lists(big))
def test_consecutive_integers_keep_the_order(values):
    ranks, n_different = matching._consecutive(array(values))
    different = sorted(set(values))
    assert n_different == len(different)
    assert [different[rank] for rank in ranks] == values


@given(st.lists(st.frozensets(st.integers(0, 6) | st.integers(10**6, 10**6 + 5), max_size=8)))
def test_encode_spans_is_equality_of_sets(sets):
    spans = spans_of([list(tokens) for tokens in sets])
    assert same_partition(matching.encode_spans(spans), sets)


def test_encode_spans_tells_runs_apart():
    sets = [{0}, {0, 1}, {0, 2}, {0, 1, 3}, {0, 2, 3}, {1, 2}, {2}, {0, 2, 4}, {0, 2, 5}, {0, 3}]
    assert len(set(matching.encode_spans(spans_of([list(tokens) for tokens in sets])).tolist())) == len(sets)


items = st.lists(st.tuples(ranks, ranks), max_size=12)  # (document, item)


def plain_counts(predicted, gold, repeats):
    """Counts of each document, by Counter."""
    counts = {}
    for document in range(4):
        left = Counter(item for at, item in predicted if at == document)
        right = Counter(item for at, item in gold if at == document)
        if repeats == "set":
            left, right = Counter(set(left)), Counter(set(right))
        both = left.keys() & right.keys()
        true_positives = sum((left[i] * right[i] if repeats == "pairs" else min(left[i], right[i])) for i in both)
        counts[document] = [true_positives, left.total(), right.total()]
    return [counts[document] for document in range(4)]


@pytest.mark.parametrize("repeats", ["set", "count", "pairs"])
@given(predicted=items, gold=items)
def test_match_equal_against_counters(repeats, predicted, gold):
    columns = [array([row[column] for row in side]) for side in (predicted, gold) for column in (0, 1)]
    matches = matching.match_equal(*columns, repeats=repeats)
    assert matches.table(4).tolist() == plain_counts(predicted, gold, repeats)
    both = predicted + gold
    assert [both[at][0] for at in matches.example.tolist()] == matches.document.tolist()
    assert len({both[at] for at in matches.example.tolist()}) == len(matches.example) == len(set(both))
    keys = [both[at] for at in matches.example.tolist()]
    assert keys == sorted(keys)
    labels = array([both[at][1] for at in matches.example.tolist()])
    by_label = matches.table(4, labels, 4)
    assert by_label.sum(axis=1).tolist() == matches.table(4).tolist()


grouped = st.lists(st.tuples(ranks, token_sets), max_size=8)


@given(grouped, grouped, st.sampled_from([1, 10**6]), st.sampled_from([1, 10**6]))
def test_overlaps_and_jaccard_against_sets(left, right, token_step, group_step):
    # Tokens or groups that are far apart get their columns by sorting, the others by counting.
    spans = [spans_of([[token * token_step for token in tokens] for _, tokens in side]) for side in (left, right)]
    groups = [array([group * group_step for group, _ in side]) for side in (left, right)]
    edges = matching.overlaps(spans[0], groups[0], spans[1], groups[1])
    assert all(column.dtype == np.int32 for column in edges)
    expected = [
        (i, j, len(a & b), len(a & b) / len(a | b))
        for i, (g, a) in enumerate(left)
        for j, (h, b) in enumerate(right)
        if g == h and a & b
    ]
    columns = (*edges, matching.jaccard(edges, *spans))
    assert list(zip(*(column.tolist() for column in columns), strict=True)) == expected


def test_jaccard_compares_exactly_with_decimal_thresholds():
    for threshold in (0.05, 0.1, 0.3, 1 / 3, 0.35, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0):
        exact = Fraction(threshold).limit_denominator(1000)
        for union in range(1, 400):
            shared = np.arange(1, union + 1)
            expected = shared * exact.denominator >= exact.numerator * union
            assert ((shared / union >= threshold) == expected).all()


counts = st.tuples(st.integers(0, 50), st.integers(0, 50), st.integers(0, 50)).map(
    lambda c: (min(c), c[1] + min(c), c[2] + min(c))
)


@given(st.lists(counts, min_size=1), st.sampled_from([0.5, 1.0, 2.0]))
def test_precision_recall_f_against_plain_arithmetic(table, beta):
    for (true_positives, predicted, gold), rates in zip(
        table, matching.precision_recall_f(array(table), 1.0, beta), strict=True
    ):
        precision = true_positives / predicted if predicted else 0.0
        recall = true_positives / gold if gold else 0.0
        below = beta**2 * precision + recall
        f = (1 + beta**2) * precision * recall / below if below else 0.0
        assert rates.tolist() == pytest.approx([precision, recall, f], abs=1e-15)


def test_rates_or_whole_fills_resamples_without_items():
    whole, counts = array([1, 2, 4]), array([[0, 0, 0], [1, 1, 1], [0, 0, 1]])
    rates = matching.rates_or_whole(whole, counts, 1.0)
    assert rates.tolist() == [[0.5, 0.25, 1 / 3], [1.0, 1.0, 1.0], [0.0, 0.0, 0.0]]


def test_stack_tables_keeps_columns_contiguous():
    tables = [array([[1, 2, 3], [4, 5, 6]]), array([[7, 8, 9], [10, 11, 12]])]
    stacked = matching.stack_tables(tables)
    assert stacked.tolist() == [[[1, 2, 3], [7, 8, 9]], [[4, 5, 6], [10, 11, 12]]]
    assert stacked[:, 1, 2].flags.c_contiguous


def test_row_is_plain_python():
    row = matching.row(array([1, 2, 4]))
    assert row == {
        "precision": 50.0,
        "recall": 25.0,
        "f1": pytest.approx(100 / 3),
        "true_positives": 1,
        "predicted": 2,
        "gold": 4,
    }
    assert {type(value) for value in row.values()} == {int, float}


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7)), max_size=8))
def test_connected_against_merging_sets(edges):
    groups = [{node} for node in range(8)]
    for i, j in edges:
        merged = {node for group in groups if i in group or j in group for node in group}
        groups = [group for group in groups if not group & merged] + [merged]
    component = matching.connected(array([i for i, _ in edges]), array([j for _, j in edges]), 8).tolist()
    assert sorted(map(sorted, groups)) == sorted(
        [node for node in range(8) if component[node] == at] for at in set(component)
    )
