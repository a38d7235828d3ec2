"""Paired significance tests between systems on the same references, and the spread of several runs of one system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from spanscore.metrics import matching, resampling
from spanscore.terminal import Stage, no_stage

if TYPE_CHECKING:
    from spanscore.scoring import SystemFiles

METHODS = ("randomisation", "bootstrap")


def compare_systems(
    metric: Any,
    predictions: Sequence[Any],
    references: Any,
    options: Mapping[str, Any] | None = None,
    method: str = "randomisation",
    n_resamples: int = 10_000,
    random_state: int = 0,
    confidence_level: float = 0.95,
) -> list[dict[str, dict[str, Any]]]:
    """Compare each system with the first.

    Both systems of a comparison are scored alike. A metric makes some choices by the data, such as the components that
    are active. Here it makes them by the data of both systems together. So a score can differ from the score that
    ``compute`` gives for one system. A best F1 over thresholds is taken at the best threshold of each system.

    Parameters
    ----------
    metric : evaluate.EvaluationModule
        A metric of this project, from ``spanscore.load`` or ``evaluate.load``.
    predictions : sequence
        The predictions of each system, of two systems or more.
    references
        As for ``compute``.
    options : dict, optional
        Options of ``compute``. The documents of one of the ``groups`` are swapped or drawn together.
    method : {"randomisation", "bootstrap"}
        Paired approximate randomisation (Noreen 1989) or paired bootstrap (Koehn 2004). The bootstrap finds differences
        that are not there a little too often with few documents; see ``resampling.paired_test``.
    n_resamples : int
    random_state : int
    confidence_level : float
        The level of the interval of the difference, in (0, 1). The interval is that of the paired bootstrap with both
        methods. A p-value of at most 1 minus this level shows a difference.

    Returns
    -------
    list of dict
        A dict for each system but the first. Its keys are the headline scores that both systems have. Each value has

        - ``a`` and ``b``: the scores of the first system and of this system;
        - ``difference``: b minus a;
        - ``p_value``: two-sided, in [0, 1];
        - ``p_value_holm``: the p-value after Holm's correction (Holm 1979) for the number of systems that are compared
          with the first on this score;
        - ``interval``: ``[low, high]`` of the difference;
        - ``better``: ``{"a": n, "b": n}``, the number of documents in which each system is better;
        - ``detectable_difference``: the smallest true difference that a test on as many documents, or groups, shows
          with a power of 80 %. The standard error is that of the paired bootstrap. None if it cannot be estimated: the
          difference is the same in all resamples, or there are fewer than 6 documents (at a level of 0.95);
        - ``documents_needed``: about the number of documents, or groups, on which a test shows the observed difference
          with a power of 80 %, rounded up to two digits. It is an estimate for other documents of the same kind. None
          if this test shows a difference, or if the observed difference is below a tenth of the detectable one.

    Raises
    ------
    ValueError
        The input is wrong; the message has the number of the system. There are fewer than two systems, or they have no
        score in common.
    """
    _check_number(predictions, 2, "systems")
    if method not in METHODS:
        raise ValueError(f"method: {method!r} is not one of {', '.join(METHODS)}")
    _check_whole("n_resamples", n_resamples, 1)
    _check_whole("random_state", random_state, 0)
    if not isinstance(confidence_level, float) or not 0 < confidence_level < 1:
        raise ValueError(f"confidence_level: {confidence_level!r} is not a number above 0, below 1")
    return _compare(
        metric, predictions, references, options or {}, (method, n_resamples, random_state, confidence_level)
    )[0]


def compare_files(
    systems: SystemFiles, settings: Mapping[str, Any], stage: Stage = no_stage
) -> tuple[list[dict[str, dict[str, Any]]], str]:
    """Compare the systems of files; see `compare_systems`.

    Parameters
    ----------
    systems : spanscore.scoring.SystemFiles
    settings : dict
        ``method``, ``n_resamples``, ``random_state`` and ``confidence_level``.
    stage : callable, optional
        Takes the name of each stage of the work.

    Returns
    -------
    list of dict
        As `compare_systems` gives them.
    str
        The signature: that of the metric, with the settings of the comparison.
    """
    predictions = [file.records for file in systems.predictions]
    how = (settings["method"], settings["n_resamples"], settings["random_state"], settings["confidence_level"])
    found, signature = _compare(systems.metric, predictions, systems.references.records, systems.options, how, stage)
    return found, "|".join([signature, *(f"{name}:{value}" for name, value in settings.items())])


def _compare(
    metric: Any,
    predictions: Sequence[Any],
    references: Any,
    options: Mapping[str, Any],
    how: tuple[str, int, int, float],
    stage: Stage = no_stage,
) -> tuple[list[dict[str, dict[str, Any]]], str]:
    first, *others = predictions
    found, signature = [], ""
    for number, other in enumerate(others, start=2):
        stage(f"comparing system {number} of {len(predictions)} with the first")
        scores, signature = _pair(metric, first, other, references, options, how)
        found.append(scores)
    for name in {name for scores in found for name in scores}:
        compared = [scores[name] for scores in found if name in scores]
        for row, corrected in zip(compared, holm([row["p_value"] for row in compared]), strict=True):
            row["p_value_holm"] = corrected
    return found, signature


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for their number (Holm 1979, "A Simple Sequentially Rejective Multiple Test Procedure").

    The smallest of n p-values is multiplied by n, the next by n - 1, and so on. A corrected value is at most 1, and not
    below that of a smaller p-value.
    """
    corrected = [1.0] * len(p_values)
    largest = 0.0
    for rank, at in enumerate(sorted(range(len(p_values)), key=lambda at: p_values[at])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[at]))
        corrected[at] = largest
    return corrected


def _pair(
    metric: Any, first: Any, second: Any, references: Any, options: Mapping[str, Any], how: tuple[str, int, int, float]
) -> tuple[dict[str, dict[str, Any]], str]:
    """The scores of two systems and their differences, and the signature of the metric."""
    statistics = metric.statistics(predictions=[first, second], references=references, **options)
    if not statistics.names:
        raise ValueError("predictions: the systems have no headline score in common, expected at least one")
    found = resampling.paired_test(statistics, *how)
    scores = [statistics.observed(system).tolist() for system in (0, 1)]
    rows = {
        name: {
            "a": scores[0][at],
            "b": scores[1][at],
            "difference": float(found.difference[at]),
            "p_value": float(found.p_value[at]),
            "interval": found.interval[at].tolist(),
            "better": dict(zip("ab", found.better[at].tolist(), strict=True)),
            "detectable_difference": found.detectable_difference[at],
            "documents_needed": found.documents_needed[at],
        }
        for at, name in enumerate(statistics.names)
    }
    return rows, statistics.signature


def summarise_runs(
    metric: Any, predictions: Sequence[Any], references: Any, options: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Compute the spread of several runs of one system, such as runs with different seeds.

    Parameters
    ----------
    metric : evaluate.EvaluationModule
    predictions : sequence
        The predictions of each run.
    references, options
        As for `compare_systems`.

    Returns
    -------
    dict
        For each headline score that all runs have: ``mean``, ``standard_deviation`` and ``values``. The deviation is
        that of a sample (n - 1), and None for a single run. If there are ``precision`` and ``recall``,
        ``f1_of_means`` is the F-measure of their means, as some papers report it. It differs from the mean of F1.
    """
    return _summarise(metric, predictions, references, options or {})[0]


def summarise_files(systems: SystemFiles) -> tuple[dict[str, Any], str]:
    """Compute the spread of the runs of files; see `summarise_runs`. Gives the metric's signature too."""
    predictions = [file.records for file in systems.predictions]
    return _summarise(systems.metric, predictions, systems.references.records, systems.options)


def _summarise(
    metric: Any, predictions: Sequence[Any], references: Any, options: Mapping[str, Any]
) -> tuple[dict[str, Any], str]:
    _check_number(predictions, 1, "runs")
    scores: list[dict[str, float]] = []
    signature = ""
    for number, run in enumerate(predictions, 1):
        try:
            statistics = metric.statistics(predictions=[run], references=references, **options)
        except ValueError as error:
            raise ValueError(str(error).replace("system 1: ", f"run {number}: ", 1)) from None
        scores.append(dict(zip(statistics.names, statistics.observed(0).tolist(), strict=True)))
        signature = statistics.signature
    result: dict[str, Any] = {}
    for name in scores[0]:
        if all(name in run for run in scores):
            values = [run[name] for run in scores]
            spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
            result[name] = {"mean": float(np.mean(values)), "standard_deviation": spread, "values": values}
    if not result:
        raise ValueError("predictions: the runs have no headline score in common, expected at least one")
    if "precision" in result and "recall" in result:
        precision, recall = result["precision"]["mean"], result["recall"]["mean"]
        result["f1_of_means"] = float(matching.f_score(precision, recall, options.get("beta", 1.0)))
    return result, signature


def _check_number(predictions: Sequence[Any], least: int, what: str) -> None:
    if isinstance(predictions, (str, bytes, Mapping)) or len(predictions) < least:
        raise ValueError(f"predictions: expected a list of the predictions of {least} or more {what}")


def _check_whole(name: str, value: Any, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name}: {value!r} is not a whole number from {least}")
