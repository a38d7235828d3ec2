"""The ranking of DocRED's facts: areas under curves, the best threshold, and the points of the curve.

A ranking holds where the scores of gold facts lie among the scores of all candidates, so that dense scores of a whole
development set need no list of their own. A candidate without a score ties with all others without one, below every
score; such candidates are on the ROC curve, and not on the curve of precision over recall (Yao et al. 2019, section 4,
and ``Config.test`` of the benchmark's code).
"""

from __future__ import annotations

import math
import sys
from typing import Any, NamedTuple

import numpy as np

from .docred_documents import Corpus
from .matching import divide, f_score, precision_recall_f
from .ranking import Ranking, between, curve, precision_recall_area, roc_area

# Stands for -inf, which JSON does not have: no finite threshold is below it.
_LOWEST = -sys.float_info.max
_CURVE_POINTS = 400  # at most: more than a plot shows


class FactScores(NamedTuple):
    """The scores of all candidates.

    Attributes
    ----------
    gold : ndarray of float64, shape (n_gold,)
        Score of each gold fact, NaN without.
    is_wrong : ndarray of bool, shape (n_predicted,)
        Whether each listed fact is a wrong candidate. Wrong candidates with dense scores alone are not among these.
    candidates : ndarray of int64, shape (n_documents,)
        Number of candidates of each document.
    """

    gold: np.ndarray
    is_wrong: np.ndarray
    candidates: np.ndarray


def rank(corpus: Corpus, scores: FactScores) -> tuple[Ranking, dict[str, np.ndarray]]:
    """Rank all candidates.

    Returns
    -------
    ranking : Ranking
    seen : dict of str to ndarray of int64, shape (m + 1,)
        For each kind of training facts, the number of gold facts of each step that are among them; last, of those
        without a score.
    """
    has_score = ~np.isnan(scores.gold)
    steps, step = np.unique(scores.gold[has_score], return_inverse=True)

    def at_steps(facts: np.ndarray) -> np.ndarray:
        tally = np.bincount(step[facts[has_score]], minlength=len(steps))
        return np.append(tally, (facts & ~has_score).sum())

    right = at_steps(np.ones(len(scores.gold), bool))
    wrong, below = between(steps, corpus.predicted.score[scores.is_wrong])
    for block in corpus.dense.blocks():
        n_between, lower = between(steps, block)
        wrong, below = wrong + n_between, np.maximum(below, lower)
    if corpus.dense.arrays:  # dense scores include the scores of gold facts
        wrong[1::2] -= at_steps(np.isin(corpus.gold.document, corpus.dense.documents))[:-1]
    below[1:] = np.maximum(below[1:], steps[:-1])
    without_score = int(scores.candidates.sum()) - len(scores.gold) - int(wrong.sum())
    ranking = Ranking(steps, right, np.append(wrong, without_score), below)
    return ranking, {kind: at_steps(seen) for kind, seen in corpus.gold.seen.items()}


# --- scores of a ranking ----------------------------------------------------------------------------------------------


def areas(ranking: Ranking, seen: np.ndarray | None) -> dict[str, np.ndarray]:
    """Areas under the curves of a ranking, or of many with a leading axis, in [0, 1].

    Parameters
    ----------
    ranking : Ranking
    seen : ndarray, shape (..., m + 1), optional
        Number of gold facts of each step that are among the training facts.
    """
    points = curve(ranking)
    right = ranking.right[..., :-1][..., ::-1]
    recall = divide(points.correct, ranking.right.sum(axis=-1)[..., None])
    before = points.correct - right
    precision, precision_before = divide(points.correct, points.listed), divide(before, points.listed_before)
    found = {
        "auc": roc_area(ranking),
        "pr_auc": precision_recall_area(points, recall, precision, precision_before),
    }
    if seen is not None:
        seen_here = seen[..., :-1][..., ::-1]
        so_far = np.cumsum(seen_here, axis=-1)
        seen_before = so_far - seen_here
        precision = divide(points.correct - so_far, points.listed - so_far)
        precision_before = divide(before - seen_before, points.listed_before - seen_before)
        found["ign_auc"] = roc_area(ranking.without(seen))
        found["ign_pr_auc"] = precision_recall_area(points, recall, precision, precision_before)
    return found


def _takable(ranking: Ranking, is_dense: bool) -> np.ndarray:
    """Which steps, the highest first, a threshold or no threshold takes: shape (m,) of bool.

    Without a threshold every listed fact is taken, whatever its score. Dense scores need a threshold.
    """
    takable = ranking.steps[::-1] > _LOWEST
    takable[-1:] |= not is_dense and ranking.wrong[0] == 0
    return takable


def best_step(ranking: Ranking, is_dense: bool, seen: np.ndarray | None = None) -> tuple[int | None, float]:
    """The highest F1 of any threshold or none, or Ign F1 if `seen` is given.

    Returns
    -------
    step : int or None
        Facts with at least the score of this step are taken. None if no step can be taken.
    f1 : float
        In percent.
    """
    points, n_gold = curve(ranking), ranking.right.sum()
    if seen is None:
        stacked = np.stack([points.correct, points.listed, np.broadcast_to(n_gold, points.correct.shape)], axis=-1)
        f1 = precision_recall_f(stacked)[:, 2]
    else:
        so_far = np.cumsum(seen[:-1][::-1])
        precision = divide(points.correct - so_far, points.listed - so_far)
        f1 = 100 * f_score(precision, divide(points.correct, n_gold))
    takable = _takable(ranking, is_dense)
    if not takable.any():
        return None, 0.0
    at = int(np.argmax(np.where(takable, f1, -1.0)))
    return len(f1) - 1 - at, float(f1[at])


def score_ranking(ranking: Ranking, is_dense: bool, seen: np.ndarray | None) -> dict[str, Any]:
    """Areas and the best threshold (the benchmark's ``Config.test``).

    Parameters
    ----------
    ranking : Ranking
    is_dense : bool
        Whether there are dense scores.
    seen : ndarray of int, shape (m + 1,), optional
        Number of gold facts of each step that are among the training facts.

    Returns
    -------
    dict
        ``best_threshold`` is finite, or None where every listed fact is taken.
    """
    result: dict[str, Any] = {name: float(area) for name, area in areas(ranking, seen).items()}
    step, result["best_f1"] = best_step(ranking, is_dense)
    if step is None:
        result["best_threshold"] = _LOWEST if is_dense else None
    else:
        result["best_threshold"] = _threshold_of(ranking, step, is_dense)
    if seen is None:
        return result | {"ign_auc": None, "ign_pr_auc": None, "ign_best_f1": None}
    result["ign_best_f1"] = best_step(ranking, is_dense, seen)[1]
    return result


def _threshold_of(ranking: Ranking, step: int, is_dense: bool) -> float | None:
    """The threshold that takes the facts of a step and above, and no others: halfway to the next lower score.

    Where it takes all facts, it is None, or with dense scores the largest float below the lowest score.
    """
    upper, lower = float(ranking.steps[step]), float(ranking.below[step])
    if step == 0 and not ranking.wrong[0]:
        return max(math.nextafter(upper, -math.inf), _LOWEST) if is_dense else None
    middle = (lower + upper) / 2
    if not np.isfinite(middle):
        middle = lower / 2 + upper / 2
    if not lower <= middle < upper:  # neighbouring floats, or an infinite upper
        middle = lower
    return max(middle, _LOWEST)


def precision_recall_points(ranking: Ranking, is_dense: bool) -> dict[str, list[float | None]]:
    """Points of the curve of precision over recall, as plain Python.

    There is a point for each different score of gold facts, the highest first, or for 400 of these. Scores that no
    threshold is below have none.

    Returns
    -------
    dict
        ``recall`` and ``precision``, in [0, 1], and ``threshold``, which gives both.
    """
    points = curve(ranking)
    steps = np.flatnonzero(_takable(ranking, is_dense))
    chosen = steps[np.unique(np.linspace(0, len(steps) - 1, min(len(steps), _CURVE_POINTS)).round().astype(np.int64))]
    return {
        "recall": divide(points.correct, ranking.right.sum())[chosen].tolist(),
        "precision": divide(points.correct, points.listed)[chosen].tolist(),
        "threshold": [_threshold_of(ranking, step, is_dense) for step in (len(ranking.steps) - 1 - chosen).tolist()],
    }
