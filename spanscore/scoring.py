"""Scoring a file of predictions against a file of references."""

from __future__ import annotations

from typing import Any, NamedTuple

import spanscore
from spanscore.benchmarks import Benchmark
from spanscore.inputs import InputFile, read_predictions, read_references, task_of_references
from spanscore.paths import check_inputs
from spanscore.terminal import call_quietly, say


class ScoredFiles(NamedTuple):
    """Two files and their result, from which reports are made.

    Attributes
    ----------
    benchmark : Benchmark
    task : str or None
    result : dict
        The result of ``compute``.
    predictions, references : InputFile
    options : dict
        The options of ``compute``.
    metric : evaluate.Metric
    """

    benchmark: Benchmark
    task: str | None
    result: dict[str, Any]
    predictions: InputFile
    references: InputFile
    options: dict[str, Any]
    metric: Any


class SystemFiles(NamedTuple):
    """Files of predictions of several systems, or of several runs, with their references.

    Attributes
    ----------
    metric : evaluate.Metric
    task : str or None
    predictions : list of InputFile
    references : InputFile
    options : dict
        The options of ``compute``.
    """

    metric: Any
    task: str | None
    predictions: list[InputFile]
    references: InputFile
    options: dict[str, Any]


def load_metric(benchmark: Benchmark, task: str | None = None) -> Any:
    """Load the metric of a benchmark, without the messages of evaluate."""
    metric = spanscore.load(benchmark.name, task)
    import evaluate

    evaluate.utils.logging.set_verbosity_error()
    return metric


def score_files(
    benchmark: Benchmark, predictions: str, references: str, arguments: dict[str, Any], options: dict[str, Any]
) -> ScoredFiles:
    """Read both files and compute.

    Parameters
    ----------
    benchmark : Benchmark
    predictions, references : str
        Paths; one of them may be ``"-"`` for standard input.
    arguments : dict
        The arguments of reading, such as ``format`` and ``task``.
    options : dict
        The options of ``compute``. Reports need ``per_document`` and ``return_errors``.

    Returns
    -------
    ScoredFiles

    Raises
    ------
    ValueError
        A file or an option is wrong.
    """
    check_inputs([predictions, references])
    gold = read_references(benchmark, references, arguments)
    predicted = read_predictions(benchmark, predictions, arguments, gold)
    for side, file in (("predictions", predicted), ("references", gold)):
        say(f"{side}: {file}")
    task = task_of_references(benchmark, gold.records, arguments.get("task"))
    metric = load_metric(benchmark, task)
    result = call_quietly(metric.compute, predictions=predicted.records, references=gold.records, **options)
    return ScoredFiles(benchmark, task, result, predicted, gold, options, metric)


def read_systems(
    benchmark: Benchmark,
    predictions: list[str],
    references: str,
    arguments: dict[str, Any],
    options: dict[str, Any],
) -> SystemFiles:
    """Read the predictions of several systems or runs, and their references.

    Parameters
    ----------
    benchmark : Benchmark
    predictions : list of str
    references : str
    arguments : dict
        The arguments of reading.
    options : dict
        The options of ``compute``.

    Returns
    -------
    SystemFiles
    """
    check_inputs([*predictions, references])
    gold = read_references(benchmark, references, arguments)
    files = [read_predictions(benchmark, path, arguments, gold) for path in predictions]
    for number, file in enumerate(files, start=1):
        say(f"predictions {number}: {file}")
    say(f"references: {gold}")
    task = task_of_references(benchmark, gold.records, arguments.get("task"))
    return SystemFiles(load_metric(benchmark, task), task, files, gold, options)
