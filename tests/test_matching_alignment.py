"""Alignment of many components at once, its ties, and Jaccard similarity, against slow and exact code."""

from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from conftest import ROOT  # noqa: F401  (puts the project on the path)
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import matching
from matching import Spans, align, jaccard, most_pairs, overlaps, spans


def edges_of(blocks):
    """Dense blocks of weights, one a component or more, as edges: 0 is no edge."""
    left, right, weight, at = [], [], [], np.zeros(2, int)
    for block in blocks:
        rows, columns = np.nonzero(block)
        left.append(rows + at[0])
        right.append(columns + at[1])
        weight.append(block[rows, columns])
        at += block.shape
    return np.concatenate(left), np.concatenate(right), np.concatenate(weight).astype(float), *at.tolist()


@st.composite
def blocks_of(draw, values, most=9):
    sizes = st.integers(1, most)
    shapes = draw(st.lists(st.tuples(sizes, sizes), min_size=1, max_size=6))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    return [rng.choice(values, size=shape) for shape in shapes]


@given(blocks_of(np.arange(40) / 39))
@settings(max_examples=200, deadline=None)
def test_align_finds_the_largest_total(blocks):
    left, right, weight, n_left, n_right = edges_of(blocks)
    chosen = align(left, right, weight, n_left, n_right)
    assert len(set(left[chosen])) == len(set(right[chosen])) == len(chosen)
    best = sum(block[linear_sum_assignment(block, maximize=True)].sum() for block in blocks)
    assert np.isclose(weight[chosen].sum(), best, rtol=0, atol=1e-9)


@given(blocks_of(np.array([0, 2, 3, 4, 6])), st.integers(0, 10**6))
@settings(max_examples=200, deadline=None)
def test_align_breaks_ties_by_preferred_edges(blocks, seed):
    left, right, sixths, n_left, n_right = edges_of(blocks)
    prefer = np.random.default_rng(seed).random(len(left)) < 0.5
    chosen = align(left, right, sixths / 6, n_left, n_right, prefer=prefer)
    # In whole numbers, where a preferred edge is worth less than any difference of totals.
    dense = np.zeros((n_left, n_right))
    dense[left, right] = 1000 * sixths + prefer
    best = dense[linear_sum_assignment(dense, maximize=True)].sum()
    assert 1000 * sixths[chosen].sum() + prefer[chosen].sum() == best


def test_shapes_of_every_way_through_align_agree():
    # Around the limits of the batched assignment, many of one shape so that a batch is split, and stars.
    rng = np.random.default_rng(0)
    shapes = [(1, 20), (20, 1), (6, 16), (16, 6), (7, 7), (6, 17), (17, 6), (2, 2), (3, 5), (5, 3)]
    blocks = [rng.integers(1, 100, shape) for shape in shapes for _ in range(3)]
    blocks += [rng.integers(1, 100, (6, 6)) for _ in range(matching._BATCH_STATES // 64 + 5)]
    left, right, weight, n_left, n_right = edges_of(blocks)
    shuffled = np.random.default_rng(1).permutation(len(left))
    chosen = align(left[shuffled], right[shuffled], weight[shuffled], n_left, n_right)
    best = sum(block[linear_sum_assignment(block, maximize=True)].sum() for block in blocks)
    assert weight[shuffled][chosen].sum() == best


def test_align_of_nothing():
    nothing = np.zeros(0, np.int64)
    assert len(align(nothing, nothing, nothing.astype(float), 3, 2, prefer=nothing.astype(bool))) == 0
    assert most_pairs(nothing, nothing, 3, 2).tolist() == [-1, -1, -1]


def test_jaccard_compares_exactly_with_decimal_thresholds():
    for threshold in (0.05, 0.1, 0.3, 1 / 3, 0.35, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99, 1.0):
        exact = Fraction(threshold).limit_denominator(1000)
        for union in range(1, 400):
            shared = np.arange(1, union + 1)
            expected = shared * exact.denominator >= exact.numerator * union
            assert ((shared / union >= threshold) == expected).all()


def naive_overlaps(left, left_group, right, right_group):
    def sets(side):
        return [set(side.tokens[a:b].tolist()) for a, b in zip(side.offsets, side.offsets[1:], strict=False)]

    left, right = sets(left), sets(right)
    return [
        (i, j, len(a & b), len(a & b) / len(a | b))
        for i, a in enumerate(left)
        for j, b in enumerate(right)
        if left_group[i] == right_group[j] and a & b
    ]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sets(st.integers(0, 9), min_size=1)), max_size=8),
    st.lists(st.tuples(st.integers(0, 3), st.sets(st.integers(0, 9), min_size=1)), max_size=8),
    st.sampled_from([1, 10**6]),
    st.sampled_from([1, 10**6]),
)
@settings(max_examples=100, deadline=None)
def test_overlaps_by_counting_and_by_sorting_columns(left, right, token_step, group_step):
    # Far-apart tokens or groups take the way that sorts.
    def side(items):
        tokens = [np.array(sorted(tokens)) * token_step for _, tokens in items]
        offsets = np.cumsum([0, *map(len, tokens)])
        made = spans(offsets, np.concatenate(tokens) if tokens else np.zeros(0, np.int64))
        return made, np.array([group for group, _ in items], np.int64) * group_step

    (left, left_group), (right, right_group) = side(left), side(right)
    edges = overlaps(left, left_group, right, right_group)
    found = zip(*(column.tolist() for column in (*edges, jaccard(edges, left, right))), strict=True)
    assert list(found) == naive_overlaps(left, left_group, right, right_group)


@given(st.lists(st.sets(st.integers(0, 5), min_size=1), max_size=5), st.sampled_from([0, 10**9]))
def test_overlaps_by_dense_and_sparse_products(items, speed):
    def side(items):
        tokens = [np.array(sorted(tokens)) for tokens in items]
        return spans(np.cumsum([0, *map(len, tokens)]), np.concatenate([np.zeros(0, np.int64), *tokens]))

    left, right, group = side(items), side(items[::-1]), np.zeros(len(items), np.int64)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "_DENSE_SPEED", speed)
        edges = overlaps(left, group, right, group)
    assert all(column.dtype == np.int64 for column in edges)
    found = zip(*(column.tolist() for column in (*edges, jaccard(edges, left, right))), strict=True)
    assert list(found) == naive_overlaps(left, group, right, group)


def test_equal_items_can_always_be_aligned_without_loss():
    # 1 - Jaccard is a metric, which is why exact matches need no alignment of their own.
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


def test_take_keeps_token_sets():
    made = spans(np.array([0, 2, 3, 5]), np.array([4, 1, 7, 2, 2]))
    assert isinstance(made, Spans)
    taken = made.take(np.array([2, 0]))
    assert taken.tokens.tolist() == [2, 1, 4] and taken.offsets.tolist() == [0, 1, 3]
