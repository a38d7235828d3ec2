"""Areas under the curves of a ranking, from where the scores of the right items lie among all others.

Everything here works on counts, so that a ranking of millions of items needs no more memory than its right items do,
and knows no benchmark. Counts may have leading axes, of resamples: then areas have these too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Ranking(NamedTuple):
    """The positions of the scores of right items among all scores: all that the areas under the curves need.

    Attributes
    ----------
    steps : ndarray of float64, shape (m,)
        The different scores of right items, increasing.
    right : ndarray, shape (..., m + 1)
        How many right items have each score; last, how many have none.
    wrong : ndarray, shape (..., 2 m + 2)
        How many wrong items lie below the first step, at it, between it and the second, at the second, and so on; last,
        how many have no score.
    below : ndarray of float64, shape (m,)
        The highest score of any item below each step, -inf where there is none.
    """

    steps: np.ndarray
    right: np.ndarray
    wrong: np.ndarray
    below: np.ndarray

    def without(self, right: np.ndarray) -> Ranking:
        """The same ranking with so many right items left out of each step, as `right` is counted."""
        return self._replace(right=self.right - right)


def between(steps: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where scores lie among increasing steps.

    Parameters
    ----------
    steps : ndarray of float, shape (m,)
    scores : ndarray of float, shape (n,)
        Sorted in place. No NaN.

    Returns
    -------
    counts : ndarray of int64, shape (2 m + 1,)
        How many lie below the first step, at it, between it and the second, and so on.
    below : ndarray of float64, shape (m,)
        The highest score below each step, -inf where there is none.
    """
    scores.sort()
    first, last = np.searchsorted(scores, steps), np.searchsorted(scores, steps, side="right")
    edges = np.concatenate([[0], np.stack([first, last], axis=-1).ravel(), [len(scores)]])
    below = np.full(len(steps), -np.inf)
    below[first > 0] = scores[first[first > 0] - 1]
    return np.diff(edges), below


def roc_area(ranking: Ranking) -> np.ndarray:
    """Area under the ROC curve: how often a right item scores above a wrong one, ties as half (Hanley, McNeil 1982).

    Items without a score tie with each other, below all that have one. 0 where there is nothing to compare.
    """
    unlisted = ranking.wrong[..., -1:].astype(np.float64)
    wrong = np.concatenate([unlisted, ranking.wrong[..., :-1]], axis=-1)
    lower = np.cumsum(wrong, axis=-1)
    wins = np.concatenate([lower[..., 1:-1:2] + wrong[..., 2::2] / 2, unlisted / 2], axis=-1)
    pairs = ranking.right.sum(axis=-1).astype(np.float64) * lower[..., -1]
    won = (ranking.right * wins).sum(axis=-1)
    return np.asarray(np.divide(won, pairs, out=np.zeros_like(pairs), where=pairs > 0))


class Curve(NamedTuple):
    """Running counts down a ranking, at each step that has right items, the highest first; `listed` counts all items.

    Attributes
    ----------
    correct, listed : ndarray, shape (..., m)
        With the items of the step.
    listed_before : ndarray, shape (..., m)
        Without them.
    """

    correct: np.ndarray
    listed: np.ndarray
    listed_before: np.ndarray


def curve(ranking: Ranking) -> Curve:
    """The counts at each step of a ranking."""
    right = ranking.right[..., :-1][..., ::-1]
    equal, above = ranking.wrong[..., 1:-1:2][..., ::-1], ranking.wrong[..., 2:-1:2][..., ::-1]
    listed = np.cumsum(right + equal + above, axis=-1)
    return Curve(np.cumsum(right, axis=-1), listed, listed - right - equal)


def precision_recall_area(
    points: Curve, recall: np.ndarray, precision: np.ndarray, precision_before: np.ndarray
) -> np.ndarray:
    """The trapezoid rule over the points of a curve of precision over recall.

    A highest step of several items adds its recall times its precision; a highest step of one item adds nothing, since
    the curve starts at its first point.

    Parameters
    ----------
    points : Curve
    recall, precision : ndarray of float64, shape (..., m)
        At each step.
    precision_before : ndarray of float64, shape (..., m)
        Just before it, where recall is still that of the step above.
    """
    areas = np.diff(recall, prepend=0.0, axis=-1) * (precision_before + precision) / 2
    first = (points.listed_before == 0) & (points.listed > 0)
    return np.asarray(np.where(first, np.where(points.listed > 1, recall * precision, 0.0), areas).sum(axis=-1))
