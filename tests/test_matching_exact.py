from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from matching import Edges, Ratio, align, align_by, common, pairs


def alignments(edges, n_left, n_right):
    """All alignments, as sets of edge numbers."""
    where = {edge: at for at, edge in enumerate(edges)}
    few, many = sorted((range(n_left), range(n_right)), key=len)
    step = -1 if n_left > n_right else 1
    for some in permutations(many, len(few)):
        couples = [couple[::step] for couple in zip(few, some, strict=True)]
        whole = [where[couple] for couple in couples if couple in where]
        for size in range(len(whole) + 1):
            yield from combinations(whole, size)


EDGES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=9, unique=True)


@settings(max_examples=150, deadline=None)
@given(EDGES, st.data())
def test_align_by_fulfils_wishes_in_order(edges, data):
    n = len(edges)
    top = data.draw(st.lists(st.integers(1, 12), min_size=n, max_size=n))
    more = data.draw(st.lists(st.integers(0, 12), min_size=n, max_size=n))
    second, third = (data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)) for _ in range(2))
    denominators = [a + b for a, b in zip(top, more, strict=True)]
    left, right = np.array(edges, np.int64).reshape(-1, 2).T
    columns = [np.array(values, np.int64) for values in (top, denominators, second, third)]
    wishes = [Ratio(*columns[:2]), *columns[2:]]

    def worth(chosen):
        ratios = sum((Fraction(top[e], denominators[e]) for e in chosen), Fraction(0))
        return len(chosen), ratios, sum(second[e] for e in chosen), sum(third[e] for e in chosen)

    chosen = align_by(left, right, wishes, 4, 4).tolist()
    assert len({edges[e][0] for e in chosen}) == len({edges[e][1] for e in chosen}) == len(chosen)
    assert worth(chosen) == max(map(worth, alignments(edges, 4, 4)))


def test_align_by_sees_ties_that_floats_do_not():
    # 0.1 + 0.2 + 0.3 over three edges in two orders: only exact sums are equal, and then the second wish decides.
    edges = [(i, j) for i in range(3) for j in range(3)]
    left, right = np.array(edges).T
    ratio = Ratio(np.array([[1, 2, 3][(i + j) % 3] for i, j in edges]), np.full(9, 10))
    wish = np.array([int((i + j) % 3 == 2) for i, j in edges])
    chosen = align_by(left, right, [Ratio(np.ones(9, int), np.ones(9, int)), wish], 3, 3)
    assert wish[chosen].sum() == 3
    heaviest = align_by(left, right, [ratio, wish], 3, 3)
    assert ratio.numerator[heaviest].sum() == 9


def test_align_by_takes_large_components():
    n = 400
    rng = np.random.default_rng(0)
    left, right = (x.ravel() for x in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    denominator = rng.integers(2, 200, n * n)
    ratio = Ratio(rng.integers(1, denominator), denominator)
    label = (rng.random(n * n) < 0.3).astype(int)
    chosen = align_by(left, right, [ratio, label], n, n)
    assert len(chosen) == n
    best = align(left, right, n + ratio.numerator / ratio.denominator, n, n)
    total, wanted = ((ratio.numerator / ratio.denominator)[some].sum() for some in (chosen, best))
    assert total == pytest.approx(wanted, rel=1e-4)  # too many denominators to be exact


def test_nothing_to_align():
    nothing = np.zeros(0, np.int64)
    assert align_by(nothing, nothing, [nothing], 3, 0).tolist() == []


@given(st.lists(st.integers(0, 4), max_size=8), st.lists(st.integers(0, 4), max_size=8))
def test_pairs_are_all_equal_ones(left, right):
    edges = pairs(np.array(left, np.int64), np.array(right, np.int64))
    wanted = [(i, j) for i, x in enumerate(left) for j, y in enumerate(right) if x == y]
    assert list(zip(edges.left.tolist(), edges.right.tolist(), strict=True)) == wanted
    assert set(edges.shared.tolist()) <= {1}


@given(EDGES, EDGES)
def test_common_pairs(first, second):
    def edges(some):
        left, right = np.array(sorted(some), np.int64).reshape(-1, 2).T
        return Edges(left, right, np.ones(len(left), np.int64))

    in_first, in_second = common(edges(first), edges(second), 4)
    both = sorted(set(first) & set(second))
    assert [sorted(first)[at] for at in in_first] == [sorted(second)[at] for at in in_second] == both


def test_ties_stay_ties_where_denominators_multiply():
    # 4/11 + 8/11 = 6/11 + 6/11, beside fractions whose common denominator no machine integer holds
    primes = [13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59]
    left, right, over, under, label = [0, 0, 1, 1], [0, 1, 0, 1], [4, 6, 6, 8], [11] * 4, [0, 1, 1, 0]
    for at, prime in enumerate(primes, start=2):  # a chain that makes one component of all
        left, right = [*left, at, at], [*right, at, at - 1]
        over, under, label = [*over, prime - 1, 1], [*under, prime, prime], [*label, 0, 0]
    columns = [np.array(values, np.int64) for values in (left, right, over, under, label)]
    n = len(primes) + 2
    chosen = align_by(columns[0], columns[1], [Ratio(columns[2], columns[3]), columns[4]], n, n)
    assert {1, 2} <= set(chosen.tolist())
    assert len(chosen) == n
