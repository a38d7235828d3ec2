"""`matching` against slow plain code, with no benchmark in sight."""

import itertools
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from conftest import ROOT  # noqa: F401  puts the project on the path
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import maximum_bipartite_matching

import matching

token_sets = st.frozensets(st.integers(0, 12), max_size=5)
token_lists = st.lists(st.integers(0, 12), max_size=6)
ranks = st.integers(0, 3)


def spans_of(lists):
    offsets = np.cumsum([0, *map(len, lists)])
    return matching.spans(offsets, np.array([token for tokens in lists for token in tokens], np.int64))


def sets_of(spans):
    return [frozenset(spans.tokens[a:b].tolist()) for a, b in zip(spans.offsets[:-1], spans.offsets[1:], strict=True)]


def array(values):
    return np.array(values, np.int64)


def same_partition(numbers, things):
    """Numbers are equal where things are, and only there."""
    pairs = set(zip(numbers.tolist(), things, strict=True))
    return len(pairs) == len({number for number, _ in pairs}) == len({thing for _, thing in pairs})


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


big = st.integers(0, 5) | st.integers(2**40, 2**40 + 3) | st.integers(2**61, 2**61 + 3)


@given(st.lists(st.tuples(big, big, big, big), min_size=1))
def test_number_is_equality_and_order_of_rows(rows):
    numbers = matching.number(*map(array, zip(*rows, strict=True)))
    assert same_partition(numbers, rows)
    assert sorted(range(len(rows)), key=numbers.tolist().__getitem__) == sorted(range(len(rows)), key=rows.__getitem__)


@given(st.lists(big))
def test_consecutive_numbers_keep_the_order(values):
    ranks, n_different = matching.consecutive(array(values))
    different = sorted(set(values))
    assert n_different == len(different)
    assert [different[rank] for rank in ranks] == values


@given(st.lists(st.frozensets(st.integers(0, 6) | st.integers(10**6, 10**6 + 5), max_size=8)))
def test_number_spans_is_equality_of_sets(sets):
    spans = spans_of([list(tokens) for tokens in sets])
    assert same_partition(matching.number_spans(spans), sets)


def test_number_spans_tells_runs_apart():
    sets = [{0}, {0, 1}, {0, 2}, {0, 1, 3}, {0, 2, 3}, {1, 2}, {2}, {0, 2, 4}, {0, 2, 5}, {0, 3}]
    assert len(set(matching.number_spans(spans_of([list(tokens) for tokens in sets])).tolist())) == len(sets)


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
        right_ones = sum((left[i] * right[i] if repeats == "pairs" else min(left[i], right[i])) for i in both)
        counts[document] = [right_ones, left.total(), right.total()]
    return [counts[document] for document in range(4)]


@pytest.mark.parametrize("repeats", ["set", "count", "pairs"])
@given(predicted=items, gold=items)
def test_match_against_counters(repeats, predicted, gold):
    columns = [array([row[column] for row in side]) for side in (predicted, gold) for column in (0, 1)]
    matches = matching.match(*columns, repeats=repeats)
    assert matches.table(4).tolist() == plain_counts(predicted, gold, repeats)
    both = predicted + gold
    assert [both[at][0] for at in matches.example.tolist()] == matches.document.tolist()
    assert len({both[at] for at in matches.example.tolist()}) == len(matches.example) == len(set(both))
    labels = array([both[at][1] for at in matches.example.tolist()])
    by_label = matches.table(4, labels, 4)
    assert by_label.sum(axis=1).tolist() == matches.table(4).tolist()


grouped = st.lists(st.tuples(ranks, token_sets), max_size=8)


@given(grouped, grouped)
def test_overlaps_against_set_intersection(left, right):
    edges = matching.overlaps(
        spans_of([list(tokens) for _, tokens in left]),
        array([group for group, _ in left]),
        spans_of([list(tokens) for _, tokens in right]),
        array([group for group, _ in right]),
    )
    expected = [
        (i, j, len(a & b)) for i, (g, a) in enumerate(left) for j, (h, b) in enumerate(right) if g == h and a & b
    ]
    assert list(zip(*(column.tolist() for column in edges), strict=True)) == expected


filled = st.lists(st.frozensets(st.integers(0, 9), min_size=1), min_size=1, max_size=6)


@given(filled, filled)
def test_meet_against_set_intersection(left, right):
    i, j = (grid.ravel() for grid in np.indices((len(left), len(right))))
    found = matching.meet(*(spans_of([list(tokens) for tokens in side]) for side in (left, right)), i, j)
    assert found.tolist() == [bool(a & b) for a in left for b in right]


@given(grouped, grouped)
def test_dice(left, right):
    sides = [spans_of([list(tokens) for _, tokens in side]) for side in (left, right)]
    edges = matching.overlaps(
        sides[0], array([group for group, _ in left]), sides[1], array([group for group, _ in right])
    )
    for i, j, value in zip(edges.left, edges.right, matching.dice(edges, *sides), strict=True):
        a, b = left[i][1], right[j][1]
        assert value == 2 * len(a & b) / (len(a) + len(b))


@given(st.sets(st.tuples(ranks, ranks)), st.sets(st.tuples(ranks, ranks)))
def test_common_edges(first, second):
    edges = [
        matching.Edges(*(array(column) for column in zip(*sorted(pairs), strict=True)), array([1] * len(pairs)))
        if pairs
        else matching.Edges(array([]), array([]), array([]))
        for pairs in (first, second)
    ]
    in_first, in_second = matching.common(*edges, 4)
    assert [sorted(first)[at] for at in in_first] == sorted(first & second)
    assert [sorted(second)[at] for at in in_second] == sorted(first & second)


def best_by_trying(weights, n_left, n_right):
    """The largest total weight of a one-to-one alignment, over all of them."""
    size = max(n_left, n_right)
    return max(sum(weights.get((i, j), 0.0) for i, j in enumerate(order)) for order in permutations(range(size)))


graphs = st.dictionaries(st.tuples(st.integers(0, 4), st.integers(0, 4)), st.integers(1, 40).map(lambda n: n / 8))


@given(graphs)
def test_align_against_all_permutations(weights):
    edges = list(weights)
    chosen = matching.align(
        array([i for i, _ in edges]), array([j for _, j in edges]), np.array(list(weights.values()), float), 5, 5
    )
    pairs = [edges[at] for at in chosen]
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    assert sum(weights[pair] for pair in pairs) == best_by_trying(weights, 5, 5)


@given(graphs)
def test_most_pairs_against_all_permutations(weights):
    edges = list(weights)
    partner = matching.most_pairs(array([i for i, _ in edges]), array([j for _, j in edges]), 5, 5)
    pairs = [(i, j) for i, j in enumerate(partner.tolist()) if j >= 0]
    assert set(pairs) <= set(edges)
    assert len({j for _, j in pairs}) == len(pairs)
    assert len(pairs) == best_by_trying(dict.fromkeys(edges, 1.0), 5, 5)


def test_align_takes_the_heavier_total_not_the_heaviest_edge():
    # 0-0 is the heaviest edge, but 0-1 and 1-0 together weigh more
    chosen = matching.align(array([0, 0, 1]), array([0, 1, 0]), np.array([5.0, 3.0, 3.0]), 2, 2)
    assert chosen.tolist() == [1, 2]


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


def relation(left, right):
    """Equal tens: one kind apart; equal units: two kinds apart."""
    if left // 10 == right // 10:
        return ["units"], 0.5
    return (["tens", "units"], 0.9) if left % 10 == right % 10 else None


@given(st.lists(st.integers(0, 39), max_size=6), st.lists(st.integers(0, 39), max_size=6))
def test_explain_names_every_item_once(predicted, gold):
    found = matching.explain(predicted, gold, relation)
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


def test_explain_wants_pairs_first_then_single_kinds():
    assert matching.explain([11], [21, 12], relation) == [("units", 0, 1), ("missed", None, 0)]
    # pairing 11 with 12 would leave 22 alone with 32, a pair of two kinds; both orders give two pairs
    assert {kind for kind, _, _ in matching.explain([11, 22], [12, 32], relation)} == {"units", "several"}


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.integers(0, 9), st.integers(0, 3))))
def test_product(ranges):
    columns = np.array(ranges, np.int64).reshape(-1, 4).T
    wanted = [
        (i, left, right)
        for i, (a, n, b, m) in enumerate(ranges)
        for left, right in itertools.product(range(a, a + n), range(b, b + m))
    ]
    assert list(zip(*(part.tolist() for part in matching.product(*columns)), strict=True)) == wanted


@given(st.lists(st.integers(-3, 9)), st.lists(st.integers(-3, 9)).map(sorted))
def test_find(values, among):
    found = matching.find(np.array(values, np.int64), np.array(among, np.int64)).tolist()
    assert found == [among.index(value) if value in among else -1 for value in values]


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 5))))
def test_match_in_order(edges):
    pairs = np.array(sorted(edges), np.int64).reshape(-1, 2)
    partner, since = matching.match_in_order(pairs[:, 0], pairs[:, 1], 7, 6)
    chosen = {(i, j) for i, j in enumerate(partner.tolist()) if j >= 0}
    assert chosen <= edges and len({j for _, j in chosen}) == len(chosen)
    assert {j for _, j in chosen} == set(np.flatnonzero(since >= 0).tolist())
    assert {i for i, _ in chosen} == set(since[since >= 0].tolist())
    for first in range(8):  # as many as possible of the first ones
        some = pairs[pairs[:, 0] < first]
        most = matching.most_pairs(some[:, 0], some[:, 1], 7, 6)
        assert ((since >= 0) & (since < first)).sum() == (most >= 0).sum()


@given(st.sets(st.tuples(st.integers(0, 12), st.integers(0, 12)), max_size=100))
def test_hopcroft_karp_against_scipy(edges):
    left, right = (array([edge[side] for edge in sorted(edges)]) for side in (0, 1))
    partner = matching._hopcroft_karp(left.tolist(), right.tolist())
    assert set(partner.items()) <= edges
    assert len(set(partner.values())) == len(partner)
    graph = csr_array((np.ones(len(left), bool), (left.astype(np.int32), right.astype(np.int32))), shape=(13, 13))
    assert len(partner) == (maximum_bipartite_matching(graph) >= 0).sum()


def test_most_pairs_of_many_spans_that_overlap_at_random():
    # scipy's search alone takes minutes for such graphs
    rng = np.random.default_rng(1)
    starts, ends = (rng.integers(0, 1000, (2, 500)) for _ in range(2))
    sides = [(start, start + rng.integers(5, 60, 500)) for start in (starts[0], ends[0])]
    overlap = (sides[0][0][:, None] < sides[1][1]) & (sides[1][0] < sides[0][1][:, None])
    left, right = np.nonzero(overlap)
    partner = matching.most_pairs(left, right, 500, 500)
    paired = np.flatnonzero(partner >= 0)
    assert overlap[paired, partner[paired]].all()
    assert len(set(partner[paired].tolist())) == len(paired)
    rows, columns = linear_sum_assignment(overlap, maximize=True)
    assert len(paired) == overlap[rows, columns].sum()


@given(st.integers(1, 6), st.integers(1, 6), st.data())
def test_assignment_in_integers_against_scipy(n_rows, n_columns, data):
    row = st.lists(st.integers(0, 20), min_size=n_columns, max_size=n_columns)
    weights = array(data.draw(st.lists(row, min_size=n_rows, max_size=n_rows)))
    rows, columns = matching._assign_integers(weights.astype(object))
    assert len(set(rows.tolist())) == len(set(columns.tolist())) == min(n_rows, n_columns)
    assert weights[rows, columns].sum() == weights[linear_sum_assignment(weights, maximize=True)].sum()


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
