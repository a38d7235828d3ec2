"""Confidence intervals, paired significance and detectable differences, by resampling documents.

Every score is a function of sums over documents. A resampled corpus is one row of a matrix product: the number of times
that each document is drawn (resamples by documents), times the counts of each document (documents by columns). All rows
are scored at once. Documents of one group are added up before anything is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.special import ndtr, ndtri

_BLOCK = 2**21  # numbers held at once in an array of resamples: 16 MiB
POWER = 0.8  # the usual power of a test (Cohen 1988)
# A detectable difference of more than ten times the observed one, which takes more than a hundred times the documents.
_NO_DIFFERENCE = 10


class Statistics(NamedTuple):
    """The sums of one or more systems on the same references, and the function from sums to scores.

    Attributes
    ----------
    names : list of str
        The headline scores.
    tables : list of ndarray or csr_array, shape (n_documents, n_columns)
        The counts of each document, one table a system. All tables have the same rows and columns.
    score : callable
        From sums of shape (n, n_columns), and the sums of the whole data, of shape (n_columns,), to scores of shape
        (n, len(names)). A component with no items in a resample keeps its score in the whole data.
    ids : list
        The name of each document.
    groups : ndarray of int, shape (n_documents,), or None
        Documents of one group are drawn, or swapped, together.
    signature : str
        That of the metric, without options of intervals.
    """

    names: list[str]
    tables: list[Any]
    score: Callable[[np.ndarray, np.ndarray], np.ndarray]
    ids: list[Any]
    groups: np.ndarray | None = None
    signature: str = ""

    def units(self, system: int) -> Any:
        """The table of a system with one row a group."""
        table = self.tables[system]
        if self.groups is None:
            return table
        groups = np.unique(self.groups, return_inverse=True)[1]
        at = (groups, np.arange(len(groups)))
        return csr_array((np.ones(len(groups)), at), shape=(groups.max(initial=-1) + 1, len(groups))) @ table

    def scorer(self, system: int) -> Callable[[np.ndarray], np.ndarray]:
        """The function from sums of a system to scores, with the sums of its whole data fixed."""
        whole = np.asarray(self.tables[system].sum(axis=0))
        return lambda sums: self.score(sums, whole)

    def observed(self, system: int) -> np.ndarray:
        """The scores of a system: shape (len(names),)."""
        return np.asarray(self.scorer(system)(np.asarray(self.tables[system].sum(axis=0))[None])[0])


def group_codes(keys: Sequence[Any] | None, n_records: int) -> np.ndarray | None:
    """Encode groups: equal integers for equal keys. A record whose key is None is a group of its own.

    Raises
    ------
    ValueError
        If the keys are not one a record.
    """
    if keys is None:
        return None
    if len(keys) != n_records:
        raise ValueError(f"groups: {len(keys)} keys, expected one for each of the {n_records} references")
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault((at,) if key is None else key, len(numbers)) for at, key in enumerate(keys)])


def _blocks(n_rows: int, *widths: int) -> Iterator[slice]:
    step = max(1, _BLOCK // max(1, *widths))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _to_array(rows: Any) -> np.ndarray:
    return rows if isinstance(rows, np.ndarray) else rows.toarray()


def draws(table: Any, n_resamples: int, random_state: int) -> Iterator[np.ndarray]:
    """The number of times that each row of a table is drawn, with replacement, as often as there are rows (Efron 1979).

    Yields
    ------
    ndarray of float64, shape (n, n_rows)
        Some resamples at a time.
    """
    n_rows = table.shape[0]
    rng = np.random.default_rng(random_state)
    for block in _blocks(n_resamples, *table.shape):
        n = block.stop - block.start
        drawn = rng.integers(0, n_rows, (n, n_rows)) + n_rows * np.arange(n)[:, None]
        yield np.bincount(drawn.ravel(), minlength=n * n_rows).reshape(n, n_rows).astype(np.float64)


def left_out(table: Any) -> Iterator[np.ndarray]:
    """The sums of a table without each of its rows, some rows at a time."""
    whole = np.asarray(table.sum(axis=0))
    for block in _blocks(table.shape[0], table.shape[1]):
        yield whole - _to_array(table[block])


class Uncertainty(NamedTuple):
    """The uncertainty of the scores of one system; one value a score.

    Attributes
    ----------
    intervals : dict of str to [low, high]
    detectable_differences : dict of str to (float or None)
        See `uncertainty`.
    """

    intervals: dict[str, list[float]]
    detectable_differences: dict[str, float | None]


def uncertainty(
    statistics: Statistics,
    confidence_level: float,
    n_resamples: int = 1000,
    random_state: int = 0,
    interval_method: str = "percentile",
) -> Uncertainty:
    """Confidence intervals of the scores of the first system, and the differences that a test can show.

    The detectable difference is the smallest true difference between two systems that a paired two-sided test shows
    with a power of 80 %, on as many documents, or groups. The test has the level ``1 - confidence_level``.

    The second system is not at hand. It is assumed to have the same standard error as the first, and no correlation
    with it: the resampled scores of the two rise and fall independently. So the standard error of the difference is
    the square root of two times that of the score. Imperfect copies of gold with different seeds have a correlation
    near 0 (``benchmarks/simulate_power.py``). Real systems tend to fail on the same documents, which makes the
    correlation positive. So their detectable difference is smaller than the one given here. It is larger if the second
    system differs from the first in few documents only, and by much. `paired_test` knows both systems and assumes
    nothing.

    With fewer than about 30 documents, normal quantiles make detectable differences too small.

    Parameters
    ----------
    statistics : Statistics
    confidence_level : float
        In (0, 1).
    n_resamples, random_state : int
    interval_method : {"percentile", "bca"}
        Quantiles of the resampled scores, or quantiles corrected for bias and skewness (Efron 1987).

    Returns
    -------
    Uncertainty
        A detectable difference is None if it cannot be estimated: all resampled scores are equal, or the documents are
        so few that a randomisation test never finds a difference (fewer than 6 at a level of 0.05).
    """
    table, score = statistics.units(0), statistics.scorer(0)
    observed = statistics.observed(0)
    resampled = np.concatenate([score(weights @ table) for weights in draws(table, n_resamples, random_state)])
    resampled = _without_rounding(resampled, observed)
    levels = np.repeat(_tails(confidence_level)[:, None], len(statistics.names), axis=1)
    if interval_method == "bca":
        jackknifed = np.concatenate([score(sums) for sums in left_out(table)])
        levels = _bca(levels, resampled, observed, _without_rounding(jackknifed, observed))
    detectable = _detectable(np.sqrt(2) * _standard_error(resampled), table.shape[0], confidence_level)
    return Uncertainty(
        {name: np.quantile(resampled[:, at], levels[:, at]).tolist() for at, name in enumerate(statistics.names)},
        dict(zip(statistics.names, detectable, strict=True)),
    )


def _standard_error(resampled: np.ndarray) -> np.ndarray:
    """The standard deviation of each score; exactly 0 for equal scores."""
    return np.where(np.ptp(resampled, axis=0) > 0, resampled.std(axis=0), 0.0)


def _detectable(error: np.ndarray, n_units: int, confidence_level: float) -> list[float | None]:
    """The differences that a test shows with a power of 80 %, from the standard errors of the differences.

    The smallest p-value of randomisation is 2 / 2^n: of all swaps of n documents, two give the largest difference.
    """
    factor = ndtri(POWER) - ndtri((1 - confidence_level) / 2)
    is_enough = 2.0 ** (1 - n_units) <= 1 - confidence_level
    return [float(factor * each) if is_enough and each > 0 else None for each in error]


def _needed(difference: float, detectable: float | None, n_units: int) -> int | None:
    """The number of documents on which an observed difference is detectable, rounded up to two digits.

    The standard error falls with the square root of the number.
    """
    if detectable is None or detectable > _NO_DIFFERENCE * abs(difference):
        return None
    # The normal approximation can ask for too few documents if there are few.
    n = max(n_units + 1, math.ceil(n_units * (detectable / difference) ** 2))
    step: int = 10 ** max(0, len(str(n)) - 2)
    return math.ceil(n / step) * step


def _tolerance(scores: np.ndarray) -> np.ndarray:
    """The difference up to which scores are equal: they may differ in the last digits, by the order of a sum."""
    return np.asarray(1e-9 * np.maximum(1.0, np.abs(scores)))


def _without_rounding(scores: np.ndarray, observed: np.ndarray) -> np.ndarray:
    """Scores of shape (n, n_scores), with the observed score in place of scores that differ from it by rounding."""
    return np.where(np.abs(scores - observed) <= _tolerance(observed), observed, scores)


def _tails(confidence_level: float) -> np.ndarray:
    return np.array([(1 - confidence_level) / 2, (1 + confidence_level) / 2])


def _bca(levels: np.ndarray, resampled: np.ndarray, observed: np.ndarray, jackknifed: np.ndarray) -> np.ndarray:
    """The levels of quantiles, shifted by bias and acceleration (Efron 1987).

    The bias is infinite if all resampled scores are on one side of the observed score. So the share of lower scores is
    kept half a resample away from 0 and 1. Equal scores count half, since scores of few documents take few values.

    The acceleration is at most 1/6, near it if one document differs from all others. So confidence levels near 1 lie
    beyond a pole of the formula, where it would turn back. They have the limit at the pole, 0 or 1.
    """
    n = len(resampled)
    share = ((resampled < observed).sum(axis=0) + (resampled == observed).sum(axis=0) / 2) / n
    bias = ndtri(np.clip(share, 0.5 / n, 1 - 0.5 / n))
    spread = jackknifed.mean(axis=0) - jackknifed
    cubes, squares = (spread**3).sum(axis=0), (spread**2).sum(axis=0)
    acceleration = np.divide(cubes, 6 * squares**1.5, out=np.zeros_like(cubes), where=squares > 0)
    shifted = bias + ndtri(levels)
    to_pole = 1 - acceleration * shifted
    stretched = np.divide(shifted, to_pole, out=np.copysign(np.inf, shifted), where=to_pole > 0)
    return np.asarray(ndtr(bias + stretched))


class Comparison(NamedTuple):
    """The second of two systems beside the first; one value a score.

    Attributes
    ----------
    difference : ndarray of float64, shape (n_scores,)
        The second minus the first.
    p_value : ndarray of float64, shape (n_scores,)
        Two-sided, in (0, 1].
    interval : ndarray of float64, shape (n_scores, 2)
        Of the difference, by the paired bootstrap.
    better : ndarray of int64, shape (n_scores, 2)
        The numbers of documents in which the first system, and the second, has the higher score.
    detectable_difference : list of (float or None)
        The smallest true difference that a test of the level ``1 - confidence_level`` shows with a power of 80 %, by
        the standard error of the paired bootstrap. None if it cannot be estimated, as in `uncertainty`.
    documents_needed : list of (int or None)
        About the number of documents, or groups, on which a test shows the observed difference with a power of 80 %,
        rounded up to two digits. None if this test shows a difference, if the observed difference is below a tenth of
        the detectable one, as good as none, or if the detectable one is None.
    """

    difference: np.ndarray
    p_value: np.ndarray
    interval: np.ndarray
    better: np.ndarray
    detectable_difference: list[float | None]
    documents_needed: list[int | None]


def paired_test(
    statistics: Statistics,
    method: str = "randomisation",
    n_resamples: int = 10_000,
    random_state: int = 0,
    confidence_level: float = 0.95,
) -> Comparison:
    """Test whether two systems differ.

    Parameters
    ----------
    statistics : Statistics
        Of two systems.
    method : {"randomisation", "bootstrap"}
        Approximate randomisation (Noreen 1989) swaps the outputs of the two systems for each document, or group, with
        probability one half. The paired bootstrap (Koehn 2004) scores both systems on the same resampled documents, and
        centres the differences on their mean. The bootstrap is a little liberal: with 50 documents, of two systems of
        which none is better, 0.06 of its p-values are up to 0.05. Randomisation stays close to 0.05 or below
        (``benchmarks/simulate_coverage.py``).
    n_resamples, random_state : int
    confidence_level : float
        Of the interval. The level of the test is 1 minus this.

    Returns
    -------
    Comparison
        With p = (1 + number of resamples with |d*| >= |d|) / (1 + n_resamples), for the difference d.
    """
    first, second = statistics.units(0), statistics.units(1)
    score_first, score_second = statistics.scorer(0), statistics.scorer(1)
    difference = statistics.observed(1) - statistics.observed(0)
    resampled = np.concatenate(
        [score_second(w @ second) - score_first(w @ first) for w in draws(first, n_resamples, random_state)]
    )
    if method == "bootstrap":
        null = resampled - resampled.mean(axis=0)
    else:
        null = _randomised(first, second, score_first, score_second, n_resamples, random_state)
    extreme = (np.abs(null) >= np.abs(difference) - _tolerance(difference)).sum(axis=0)
    p_value, n_units = (1 + extreme) / (1 + n_resamples), first.shape[0]
    error = _standard_error(_without_rounding(resampled, difference))
    detectable = _detectable(error, n_units, confidence_level)
    return Comparison(
        difference,
        p_value,
        np.quantile(resampled, _tails(confidence_level), axis=0).T,
        _better(statistics),
        detectable,
        [
            None if p <= 1 - confidence_level else _needed(each, found, n_units)
            for each, found, p in zip(difference.tolist(), detectable, p_value.tolist(), strict=True)
        ],
    )


def _randomised(
    first: Any,
    second: Any,
    score_first: Callable[[np.ndarray], np.ndarray],
    score_second: Callable[[np.ndarray], np.ndarray],
    n_resamples: int,
    random_state: int,
) -> np.ndarray:
    """Differences between two systems after random swaps of their rows: shape (n_resamples, n_scores)."""
    rng = np.random.default_rng(random_state)
    moved, (whole_first, whole_second) = second - first, (np.asarray(table.sum(axis=0)) for table in (first, second))
    found = []
    for block in _blocks(n_resamples, *first.shape):
        swapped = rng.integers(0, 2, (block.stop - block.start, first.shape[0])).astype(np.float64)
        change = swapped @ moved
        found.append(score_second(whole_second - change) - score_first(whole_first + change))
    return np.concatenate(found)


def _better(statistics: Statistics) -> np.ndarray:
    """The number of documents in which each of two systems has the higher score: shape (n_scores, 2).

    A component with no items in a document scores 0 there.
    """
    first, second = statistics.tables
    better = np.zeros((len(statistics.names), 2), np.int64)
    nothing = np.zeros(first.shape[1])
    for block in _blocks(*first.shape):
        gain = statistics.score(_to_array(second[block]), nothing) - statistics.score(_to_array(first[block]), nothing)
        better += np.stack([(gain < -1e-9).sum(axis=0), (gain > 1e-9).sum(axis=0)], axis=-1)
    return better
