"""Products, matching in an order, and rankings."""

import itertools

import conftest  # noqa: F401
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_curve, roc_auc_score

from matching import (
    Ranking,
    between,
    curve,
    divide,
    find,
    match_in_order,
    most_pairs,
    precision_recall_area,
    product,
    roc_area,
)

settings.register_profile("quick", deadline=None)
settings.load_profile("quick")


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 3), st.integers(0, 9), st.integers(0, 3))))
def test_product(ranges):
    columns = np.array(ranges, np.int64).reshape(-1, 4).T
    wanted = [
        (i, left, right)
        for i, (a, n, b, m) in enumerate(ranges)
        for left, right in itertools.product(range(a, a + n), range(b, b + m))
    ]
    assert list(zip(*(part.tolist() for part in product(*columns)), strict=True)) == wanted


@given(st.lists(st.integers(-3, 9)), st.lists(st.integers(-3, 9)).map(sorted))
def test_find(values, among):
    found = find(np.array(values, np.int64), np.array(among, np.int64)).tolist()
    assert found == [among.index(value) if value in among else -1 for value in values]


@given(st.sets(st.tuples(st.integers(0, 6), st.integers(0, 5))))
def test_match_in_order(edges):
    pairs = np.array(sorted(edges), np.int64).reshape(-1, 2)
    partner, since = match_in_order(pairs[:, 0], pairs[:, 1], 7, 6)
    chosen = {(i, j) for i, j in enumerate(partner.tolist()) if j >= 0}
    assert chosen <= edges and len({j for _, j in chosen}) == len(chosen)
    assert {j for _, j in chosen} == set(np.flatnonzero(since >= 0).tolist())
    assert {i for i, _ in chosen} == set(since[since >= 0].tolist())
    for first in range(8):  # as many as possible of the first ones
        some = pairs[pairs[:, 0] < first]
        most = most_pairs(some[:, 0], some[:, 1], 7, 6)
        assert ((since >= 0) & (since < first)).sum() == (most >= 0).sum()


scores = st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0, float("inf"), -float("inf")]), min_size=1, max_size=12)


def ranking(right, wrong):
    steps, count = np.unique(np.array(right), return_counts=True)
    counts, below = between(steps, np.array(wrong, float))
    return Ranking(steps, np.append(count, 0), np.append(counts, 0), below)


@given(scores, scores)
def test_between(right, wrong):
    steps = sorted(set(right))
    counts, below = between(np.array(steps), np.array(wrong))
    edges = [-np.inf, *itertools.chain.from_iterable((s, s) for s in steps), np.inf]
    for place, n in enumerate(counts.tolist()):
        low, high = edges[place], edges[place + 1]
        first, last = place == 0, place == len(counts) - 1
        inside = [w for w in wrong if (w == low if place % 2 else (first or w > low) and (last or w < high))]
        assert n == len(inside)
    assert below.tolist() == [max([w for w in wrong if w < step], default=-np.inf) for step in steps]


@given(scores, scores)
def test_areas(right, wrong):
    made = ranking(right, wrong)
    values = np.array(right + wrong)
    ranks = np.unique(values, return_inverse=True)[1]
    truth = [True] * len(right) + [False] * len(wrong)
    assert roc_area(made) == pytest.approx(roc_auc_score(truth, ranks))
    points = curve(made)
    precision, recall, _ = precision_recall_curve(truth, ranks)
    recall_here = points.correct / len(right)
    precision_here = points.correct / points.listed
    ours = dict(zip(recall_here.tolist(), precision_here.tolist(), strict=True))
    for r in ours:
        assert ours[r] == pytest.approx(max(p for p, q in zip(precision, recall, strict=True) if q == r))
    before = divide(points.correct - made.right[:-1][::-1], points.listed_before)
    steps = sorted(set(right + wrong), reverse=True)
    taken = [[v >= step for v in right + wrong] for step in steps]
    curve_points = [(sum(t[: len(right)]) / len(right), sum(t[: len(right)]) / sum(t), sum(t)) for t in taken]
    wanted = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in itertools.pairwise(curve_points))
    wanted += curve_points[0][0] * curve_points[0][1] if curve_points[0][2] > 1 else 0
    assert precision_recall_area(points, recall_here, precision_here, before) == pytest.approx(wanted)
