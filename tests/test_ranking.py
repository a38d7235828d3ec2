"""`ranking`: areas against scikit-learn and a plain count."""

import itertools

import conftest  # noqa: F401
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import precision_recall_curve, roc_auc_score
from spanscore.metrics.matching import divide
from spanscore.metrics.ranking import Ranking, between, curve, precision_recall_area, roc_area

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
