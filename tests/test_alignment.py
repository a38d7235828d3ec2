"""One-to-one alignment against exact code that tries all alignments, and against scipy where there are too many."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from spanscore.metrics.alignment import FRACTION_TOLERANCE, Goal, align, most_pairs

from spanscore.metrics import alignment, matching


def array(values):
    return np.array(values, np.int64)


def alignments(edges, n_left, n_right):
    """All alignments to which no edge can be added, as lists of indices of edges."""
    where = {edge: at for at, edge in enumerate(edges)}
    few, many = sorted((range(n_left), range(n_right)), key=len)
    step = -1 if n_left > n_right else 1
    for some in permutations(many, len(few)):
        pairs = [pair[::step] for pair in zip(few, some, strict=True)]
        yield [where[pair] for pair in pairs if pair in where]


def check_one_to_one(chosen, left, right):
    assert chosen.tolist() == sorted(set(chosen.tolist()))
    assert len(set(left[chosen].tolist())) == len(set(right[chosen].tolist())) == len(chosen)


def largest_total(left, right, values, n_left, n_right):
    dense = np.zeros((n_left, n_right))
    dense[left, right] = values
    return dense[linear_sum_assignment(dense, maximize=True)].sum()


def edges_of(blocks):
    """Dense blocks of values, each one component or more, as edges; 0 is no edge."""
    left, right, values, at = [], [], [], np.zeros(2, int)
    for block in blocks:
        rows, columns = np.nonzero(block)
        left.append(rows + at[0])
        right.append(columns + at[1])
        values.append(block[rows, columns])
        at += block.shape
    return np.concatenate(left), np.concatenate(right), np.concatenate(values), *at.tolist()


@st.composite
def blocks_of(draw, values, most=9):
    sizes = st.integers(1, most)
    shapes = draw(st.lists(st.tuples(sizes, sizes), min_size=1, max_size=6))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    return [rng.choice(values, size=shape) for shape in shapes]


@pytest.fixture(params=["as measured", "always sparse"])
def every_solver(request, monkeypatch):
    """Let small components, too, go to the solver of large sparse ones."""
    if request.param == "always sparse":
        monkeypatch.setattr(alignment, "_DENSE_CELLS", 0)
        monkeypatch.setattr(alignment, "_DENSE_CELLS_PER_EDGE", 1)  # complete components stay dense


small_graphs = st.sets(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=12).map(sorted)


@pytest.mark.usefixtures("every_solver")
class TestSmallGraphs:
    """Every graph of up to 5 by 4 items, solved exactly."""

    @given(edges=small_graphs, n_goals=st.integers(1, 4), data=st.data())
    def test_goals_are_met_in_order(self, edges, n_goals, data):
        n = len(edges)
        values, goals = [], []
        for _ in range(n_goals):
            kind = data.draw(st.sampled_from(["pairs", "whole", "fraction"]))
            if kind == "pairs":
                goals.append(most_pairs(edges))
                values.append([1] * n)
            elif kind == "whole":
                values.append(data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n)))
                goals.append(Goal(array(values[-1])))
            else:
                parts = st.tuples(st.integers(0, 12), st.integers(1, 12)).map(lambda p: Fraction(p[0], sum(p)))
                values.append(data.draw(st.lists(parts, min_size=n, max_size=n)))
                goals.append(Goal(np.array(values[-1], np.float64), FRACTION_TOLERANCE))

        def totals(chosen):
            return [sum((column[edge] for edge in chosen), Fraction(0)) for column in values]

        left, right = array(edges).reshape(-1, 2).T
        chosen = align(left, right, 5, 4, goals)
        check_one_to_one(chosen, left, right)
        assert totals(chosen.tolist()) == max(map(totals, alignments(edges, 5, 4)))

    def test_a_goal_outweighs_all_later_ones_in_spite_of_rounding(self):
        left, right = array([0, 0, 0]), array([0, 1, 2])
        fractions = [Goal(np.array([0, 0.5, 0]), FRACTION_TOLERANCE), Goal(np.array([0.5, 0, 0]), FRACTION_TOLERANCE)]
        assert align(left, right, 1, 3, [Goal(array([0, 0, 1])), *fractions]).tolist() == [2]

    @given(blocks=blocks_of(np.arange(40) / 39))
    def test_largest_total_of_many_components(self, blocks):
        left, right, values, n_left, n_right = edges_of(blocks)
        chosen = align(left, right, n_left, n_right, [Goal(values, FRACTION_TOLERANCE)])
        check_one_to_one(chosen, left, right)
        best = sum(block[linear_sum_assignment(block, maximize=True)].sum() for block in blocks)
        assert values[chosen].sum() == pytest.approx(best, rel=0, abs=1e-9)

    @given(blocks=blocks_of(array([0, 2, 3, 4, 6])), seed=st.integers(0, 10**6))
    def test_a_later_goal_only_breaks_ties(self, blocks, seed):
        left, right, sixths, n_left, n_right = edges_of(blocks)
        label = np.random.default_rng(seed).integers(0, 2, len(left))
        chosen = align(left, right, n_left, n_right, [Goal(sixths / 6, FRACTION_TOLERANCE), Goal(label)])
        best = largest_total(left, right, 1000 * sixths + label, n_left, n_right)
        assert (1000 * sixths + label)[chosen].sum() == best

    @given(blocks=blocks_of(array([0, 2, 3, 4, 6])), seed=st.integers(0, 10**6))
    def test_components_do_not_see_each_other(self, blocks, seed):
        # Whatever other documents come before it, a document is aligned in the same way.
        left, right, sixths, n_left, n_right = edges_of(blocks)
        chosen = align(left, right, n_left, n_right, [most_pairs(left), Goal(sixths / 6, FRACTION_TOLERANCE)])
        pairs = set(zip(left[chosen].tolist(), right[chosen].tolist(), strict=True))
        alone, at = set(), np.zeros(2, int)
        for block in blocks:
            some_left, some_right, values, *sizes = edges_of([block])
            part = align(some_left, some_right, *sizes, [most_pairs(values), Goal(values / 6, FRACTION_TOLERANCE)])
            alone |= set(zip((some_left[part] + at[0]).tolist(), (some_right[part] + at[1]).tolist(), strict=True))
            at += block.shape
        assert pairs == alone


def test_the_larger_total_wins_over_the_largest_value():
    # Edge 0-0 has the largest value, but 0-1 and 1-0 together have more.
    chosen = align(array([0, 0, 1]), array([0, 1, 0]), 2, 2, [Goal(np.array([5.0, 3.0, 3.0]))])
    assert chosen.tolist() == [1, 2]


@pytest.mark.parametrize("n_left, n_right", [(1, 4), (4, 1)])
def test_the_first_of_equal_edges_of_one_item_is_chosen(n_left, n_right):
    left, right = (grid.ravel() for grid in np.indices((n_left, n_right)))
    assert align(left, right, n_left, n_right, [most_pairs(left)]).tolist() == [0]
    assert align(left, right, n_left, n_right, [most_pairs(left), Goal(array([0, 2, 1, 2]))]).tolist() == [1]


def test_an_edge_without_value_is_left_out():
    assert align(array([0, 1]), array([0, 1]), 2, 2, [Goal(array([0, 1]))]).tolist() == [1]


def test_nothing_to_align():
    nothing = array([])
    assert align(nothing, nothing, 3, 2, [most_pairs(nothing), Goal(nothing)]).tolist() == []
    assert align(nothing, nothing, 0, 0, [most_pairs(nothing)]).tolist() == []


def test_shapes_on_both_sides_of_every_limit():
    rng = np.random.default_rng(0)
    shapes = [(1, 20), (20, 1), (2, 2), (3, 5), (5, 3), (128, 128), (128, 129), (129, 128), (2, 400), (400, 2)]
    blocks = [rng.integers(1, 100, shape) * (rng.random(shape) < share) for shape in shapes for share in (0.05, 0.5, 1)]
    left, right, values, n_left, n_right = edges_of(blocks)
    chosen = align(left, right, n_left, n_right, [Goal(values)])
    check_one_to_one(chosen, left, right)
    best = sum(block[linear_sum_assignment(block, maximize=True)].sum() for block in blocks)
    assert values[chosen].sum() == best
    chosen = align(left, right, n_left, n_right, [most_pairs(left), Goal(values)])
    check_one_to_one(chosen, left, right)
    best = largest_total(left, right, 10**5 + values, n_left, n_right)
    assert len(chosen) * 10**5 + values[chosen].sum() == best


def test_ties_that_float_sums_do_not_show():
    # 0.1 + 0.2 + 0.3 in several orders: the sums differ in float64, and still the second goal decides.
    edges = [(i, j) for i in range(3) for j in range(3)]
    left, right = array(edges).T
    tenths = array([[1, 2, 3][(i + j) % 3] for i, j in edges])
    label = array([int((i + j) % 3 == 2) for i, j in edges])
    assert label[align(left, right, 3, 3, [most_pairs(left), Goal(label)])].sum() == 3
    assert tenths[align(left, right, 3, 3, [Goal(tenths / 10, FRACTION_TOLERANCE), Goal(label)])].sum() == 9


def test_ties_beside_many_other_denominators():
    # 4/11 + 8/11 = 6/11 + 6/11 in one component with fractions of many other denominators.
    primes = [13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59]
    left, right, over, under, label = [0, 0, 1, 1], [0, 1, 0, 1], [4, 6, 6, 8], [11] * 4, [0, 1, 1, 0]
    for at, prime in enumerate(primes, start=2):  # a chain makes all one component
        left, right = [*left, at, at], [*right, at - 1, at]
        over, under, label = [*over, 1, prime - 1], [*under, prime, prime], [*label, 0, 0]
    n = len(primes) + 2
    fractions = Goal(np.array(over) / np.array(under), FRACTION_TOLERANCE)
    chosen = align(array(left), array(right), n, n, [most_pairs(left), fractions, Goal(array(label))])
    assert {1, 2} <= set(chosen.tolist())
    assert len(chosen) == n


@pytest.mark.parametrize("density", [1.0, 0.1])
def test_all_goals_in_a_component_of_100_pairs(density):
    # The totals of all full alignments are equal in the second goal, but not in float64; the labels decide.
    n = 100
    rng = np.random.default_rng(0)
    left, right = np.nonzero((rng.random((n, n)) < density) | np.eye(n, dtype=bool))
    parts = [rng.integers(1, 30, n) / rng.integers(30, 60, n) for _ in range(2)]
    fractions = Goal((parts[0][left] + parts[1][right]) / 2, FRACTION_TOLERANCE)
    labels = [rng.integers(0, 2, len(left)) for _ in range(2)]
    chosen = align(left, right, n, n, [most_pairs(left), fractions, *map(Goal, labels)])
    assert len(chosen) == n
    best = largest_total(left, right, 10**6 + 1000 * labels[0] + labels[1], n, n)
    assert 10**6 * n + 1000 * labels[0][chosen].sum() + labels[1][chosen].sum() == best


@pytest.mark.parametrize("density", [1.0, 0.02])
def test_first_goals_stay_exact_in_large_components(density):
    n = 400
    rng = np.random.default_rng(0)
    left, right = np.nonzero((rng.random((n, n)) < density) | np.eye(n, dtype=bool))
    denominator = rng.integers(2, 200, len(left))
    values = rng.integers(1, denominator) / denominator
    labels = [Goal(rng.integers(0, 2, len(left))) for _ in range(2)]
    chosen = align(left, right, n, n, [most_pairs(left), Goal(values, FRACTION_TOLERANCE), *labels])
    check_one_to_one(chosen, left, right)
    assert len(chosen) == n
    best = largest_total(left, right, n + values, n, n) - n * n
    assert values[chosen].sum() == pytest.approx(best, rel=0, abs=1e-8)


def test_dense_component_of_2000_by_2000():
    n = 2000
    left, right = (grid.ravel() for grid in np.indices((n, n)))
    values = np.random.default_rng(0).random(n * n)
    chosen = align(left, right, n, n, [Goal(values, FRACTION_TOLERANCE)])
    check_one_to_one(chosen, left, right)
    assert values[chosen].sum() == pytest.approx(largest_total(left, right, values, n, n), rel=0, abs=1e-8)


def chain(n, seed=0):
    """Two sides of `n` spans each, in which neighbours overlap: the edges, and their similarities."""
    rng = np.random.default_rng(seed)
    starts = [10 * np.arange(n), 10 * np.arange(n) + rng.integers(0, 4, n)]
    lengths = [np.full(n, 15), rng.integers(8, 24, n)]
    sides = []
    for start, length in zip(starts, lengths, strict=True):
        offsets = matching.to_offsets(length)
        sides.append(matching.Spans(offsets, np.repeat(start - offsets[:-1], length) + np.arange(offsets[-1])))
    group = np.zeros(n, np.int64)
    edges = matching.overlaps(sides[0], group, sides[1], group)
    return edges, matching.jaccard(edges, *sides)


def largest_total_of_chain(edges, values, n):
    """The best alignment where edges join an item to its own place and the places beside it, by dynamic programming.

    After each left item, only the right items at its own place and at the next one can be used or free.
    """
    value = {(i, j): v for i, j, v in zip(edges.left.tolist(), edges.right.tolist(), values.tolist(), strict=True)}
    assert all(abs(i - j) <= 1 for i, j in value)
    best = {(False, False): 0.0}  # whether the right items i - 1 and i are used
    for i in range(n):
        found = {}
        for (before, here), total in best.items():
            options = [((here, False), total)]
            if not before and (i, i - 1) in value:
                options.append(((here, False), total + value[i, i - 1]))
            if not here and (i, i) in value:
                options.append(((True, False), total + value[i, i]))
            if (i, i + 1) in value:
                options.append(((here, True), total + value[i, i + 1]))
            for state, reached in options:
                found[state] = max(found.get(state, 0.0), reached)
        best = found
    return max(best.values())


@pytest.mark.parametrize("n", [300, 8000, 50_000])
def test_chain_of_overlapping_spans(n):
    edges, similarity = chain(n)
    near = np.abs(edges.left - edges.right) <= 1
    edges, similarity = matching.Edges(*(column[near] for column in edges)), similarity[near]
    chosen = align(edges.left, edges.right, n, n, [Goal(similarity, FRACTION_TOLERANCE)])
    check_one_to_one(chosen, edges.left, edges.right)
    assert similarity[chosen].sum() == pytest.approx(largest_total_of_chain(edges, similarity, n), rel=1e-12)


def test_most_pairs_of_many_spans_that_overlap_at_random():
    rng = np.random.default_rng(1)
    starts, ends = (rng.integers(0, 1000, (2, 500)) for _ in range(2))
    sides = [(start, start + rng.integers(5, 60, 500)) for start in (starts[0], ends[0])]
    overlap = (sides[0][0][:, None] < sides[1][1]) & (sides[1][0] < sides[0][1][:, None])
    left, right = np.nonzero(overlap)
    chosen = align(left, right, 500, 500, [most_pairs(left)])
    check_one_to_one(chosen, left, right)
    assert len(chosen) == largest_total(left, right, 1, 500, 500)


def test_equal_items_can_always_be_aligned_without_loss():
    # 1 - Jaccard is a metric, so exact matches need no alignment of their own.
    rng = np.random.default_rng(0)
    for _ in range(300):
        pool = [frozenset(rng.choice(6, size=rng.integers(1, 6), replace=False).tolist()) for _ in range(4)]
        left, right = ([pool[i] for i in rng.integers(0, 4, size=3)] for _ in range(2))
        best, most = max(
            (
                sum(
                    (Fraction(len(a & right[j]), len(a | right[j])) for a, j in zip(left, order, strict=True)),
                    Fraction(),
                ),
                sum(a == right[j] for a, j in zip(left, order, strict=True)),
            )
            for order in permutations(range(3))
        )
        assert most == sum(min(left.count(item), right.count(item)) for item in set(left))
        assert best <= 3
