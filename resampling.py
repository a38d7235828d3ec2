"""Confidence intervals and paired significance, by resampling documents.

Every score here is a function of sums over documents. So a resampled corpus is one row of a matrix product, how often
each document is drawn (resamples by documents) times what adds up (documents by columns), and all rows are scored at
once. Documents that must stay together are added up before anything is drawn. Nothing here knows a benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.stats import norm

_BLOCK = 2**21  # numbers held at once in an array of resamples: 16 MiB


class Statistics(NamedTuple):
    """What resampling needs to know of one or more systems on the same references.

    Attributes
    ----------
    names : list of str
        The headline scores.
    tables : list of ndarray or csr_array, shape (n_documents, n_columns)
        Of each system, what adds up; the same rows and columns in all.
    score : callable
        From sums of shape (n, n_columns), and those of the whole data, of shape (n_columns,), to scores of shape
        (n, len(names)). What is empty in a sum has the value that it has in the whole data.
    ids : list
        Of the documents.
    groups : ndarray of int, shape (n_documents,), or None
        Documents of one group are drawn, or swapped, together.
    """

    names: list[str]
    tables: list[Any]
    score: Callable[[np.ndarray, np.ndarray], np.ndarray]
    ids: list
    groups: np.ndarray | None = None

    def units(self, system: int) -> Any:
        """The table of a system with one row a group."""
        table = self.tables[system]
        if self.groups is None:
            return table
        groups = np.unique(self.groups, return_inverse=True)[1]
        at = (groups, np.arange(len(groups)))
        return csr_array((np.ones(len(groups)), at), shape=(groups.max(initial=-1) + 1, len(groups))) @ table

    def scorer(self, system: int) -> Callable[[np.ndarray], np.ndarray]:
        """The function from sums to scores, by the whole data of a system."""
        whole = np.asarray(self.tables[system].sum(axis=0))
        return lambda sums: self.score(sums, whole)

    def observed(self, system: int) -> np.ndarray:
        """The scores of a system: shape (len(names),)."""
        return self.scorer(system)(np.asarray(self.tables[system].sum(axis=0))[None])[0]


def number_groups(keys: Sequence[Any] | None, n_records: int) -> np.ndarray | None:
    """Equal integers for equal keys; a record whose key is None is a group of its own.

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


def _dense(rows: Any) -> np.ndarray:
    return rows if isinstance(rows, np.ndarray) else rows.toarray()


def draws(table: Any, n_resamples: int, random_state: int) -> Iterator[np.ndarray]:
    """How often each row of a table is drawn, as many draws with replacement as there are rows (Efron 1979).

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
        yield whole - _dense(table[block])


def intervals(
    statistics: Statistics,
    confidence_level: float,
    n_resamples: int = 1000,
    random_state: int = 0,
    interval_method: str = "percentile",
) -> dict[str, list[float]]:
    """Confidence intervals of the scores of the first system.

    Parameters
    ----------
    statistics : Statistics
    confidence_level : float
        In (0, 1).
    n_resamples, random_state : int
    interval_method : {"percentile", "bca"}
        Quantiles of the resampled scores, or those corrected for bias and skewness (Efron 1987).

    Returns
    -------
    dict of str to [low, high]
    """
    table, score = statistics.units(0), statistics.scorer(0)
    resampled = np.concatenate([score(weights @ table) for weights in draws(table, n_resamples, random_state)])
    levels = np.repeat(_tails(confidence_level)[:, None], len(statistics.names), axis=1)
    if interval_method == "bca":
        jackknifed = np.concatenate([score(sums) for sums in left_out(table)])
        levels = _bca(levels, resampled, statistics.observed(0), jackknifed)
    return {name: np.quantile(resampled[:, at], levels[:, at]).tolist() for at, name in enumerate(statistics.names)}


def _tails(confidence_level: float) -> np.ndarray:
    return np.array([(1 - confidence_level) / 2, (1 + confidence_level) / 2])


def _bca(levels: np.ndarray, resampled: np.ndarray, observed: np.ndarray, jackknifed: np.ndarray) -> np.ndarray:
    """The levels to take quantiles at: shifted by the bias, and by the acceleration that the left-out scores show.

    Where all resamples are on one side of the observed score there is no finite bias: the share is kept half a resample
    away from 0 and 1. Equal scores count half, since scores of few documents take few values.
    """
    n = len(resampled)
    share = ((resampled < observed).sum(axis=0) + (resampled == observed).sum(axis=0) / 2) / n
    bias = norm.ppf(np.clip(share, 0.5 / n, 1 - 0.5 / n))
    spread = jackknifed.mean(axis=0) - jackknifed
    cubes, squares = (spread**3).sum(axis=0), (spread**2).sum(axis=0)
    acceleration = np.divide(cubes, 6 * squares**1.5, out=np.zeros_like(cubes), where=squares > 0)
    shifted = bias + norm.ppf(levels)
    with np.errstate(divide="ignore"):
        return norm.cdf(bias + shifted / (1 - acceleration * shifted))


def add_intervals(
    result: dict[str, Any],
    statistics: Callable[[], Statistics],
    groups: Sequence[Any] | None = None,
    confidence_level: float | None = None,
    n_resamples: int = 1000,
    random_state: int = 0,
    interval_method: str = "percentile",
) -> None:
    """Add confidence intervals to a result, and to its signature all that determines them, if there is a level.

    Parameters
    ----------
    result : dict
    statistics : callable
        Gives those of the one system.
    groups : sequence, optional
        The option, which those of the statistics may come from.
    confidence_level, n_resamples, random_state, interval_method
        As in `intervals`.
    """
    if confidence_level is None:
        return
    found = statistics()
    result["confidence_intervals"] = intervals(found, confidence_level, n_resamples, random_state, interval_method)
    choices = {
        "confidence_level": repr(confidence_level),
        "n_resamples": n_resamples,
        "random_state": random_state,
        "interval_method": interval_method,
        "groups": "given" if groups is not None else "no" if found.groups is None else "document",
    }
    result["signature"] += "".join(f"|{name}:{choice}" for name, choice in choices.items())


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
        The number of documents in which the first, and in which the second, has the higher score.
    """

    difference: np.ndarray
    p_value: np.ndarray
    interval: np.ndarray
    better: np.ndarray


def compare(
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
        Approximate randomisation (Noreen 1989): the outputs for each document, or group, are swapped with probability
        one half. Paired bootstrap (Koehn 2004): both systems on the same resampled documents, the differences centred
        on their mean.
    n_resamples, random_state : int
    confidence_level : float
        Of the interval.

    Returns
    -------
    Comparison
        With p = (1 + #{|d*| >= |d|}) / (1 + n_resamples).
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
    # Differences that are equal but for the order of a sum must count as equal.
    tolerance = 1e-9 * np.maximum(1.0, np.abs(difference))
    extreme = (np.abs(null) >= np.abs(difference) - tolerance).sum(axis=0)
    return Comparison(
        difference,
        (1 + extreme) / (1 + n_resamples),
        np.quantile(resampled, _tails(confidence_level), axis=0).T,
        _better(statistics),
    )


def _randomised(
    first: Any,
    second: Any,
    score_first: Callable[[np.ndarray], np.ndarray],
    score_second: Callable[[np.ndarray], np.ndarray],
    n_resamples: int,
    random_state: int,
) -> np.ndarray:
    """Differences of two systems after the rows of each unit were swapped or not."""
    rng = np.random.default_rng(random_state)
    moved, (whole_first, whole_second) = second - first, (np.asarray(table.sum(axis=0)) for table in (first, second))
    found = []
    for block in _blocks(n_resamples, *first.shape):
        swapped = rng.integers(0, 2, (block.stop - block.start, first.shape[0])).astype(np.float64)
        change = swapped @ moved
        found.append(score_second(whole_second - change) - score_first(whole_first + change))
    return np.concatenate(found)


def _better(statistics: Statistics) -> np.ndarray:
    """In how many documents each of two systems has the higher score; what is empty in a document counts 0 there."""
    first, second = statistics.tables
    better = np.zeros((len(statistics.names), 2), np.int64)
    nothing = np.zeros(first.shape[1])
    for block in _blocks(*first.shape):
        gain = statistics.score(_dense(second[block]), nothing) - statistics.score(_dense(first[block]), nothing)
        better += np.stack([(gain < -1e-9).sum(axis=0), (gain > 1e-9).sum(axis=0)], axis=-1)
    return better
