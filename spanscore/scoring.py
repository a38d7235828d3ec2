"""Scoring a file of predictions against a file of references."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import spanscore
from spanscore.benchmarks import Benchmark, document_word, formats_of
from spanscore.inputs import InputFile, read_predictions, read_references, task_of_references
from spanscore.paths import check_inputs
from spanscore.terminal import Stage, call_quietly, no_stage, say


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

    @property
    def hidden(self) -> tuple[str, ...]:
        """Places of scores that say nothing on these data, such as areas where no prediction has a score."""
        return _hidden_scores(self.benchmark, [self.predictions])

    @property
    def size(self) -> str:
        """The number of documents that are scored, in words."""
        n_documents = len(self.result.get("per_document") or self.references.records)
        return f"{n_documents:,} {document_word(self.benchmark, self.task)}"


def _hidden_scores(benchmark: Benchmark, files: list[InputFile]) -> tuple[str, ...]:
    """The scores that rank predictions, if no file has predictions with a score."""
    has_scores = getattr(formats_of(benchmark), "has_scores", None)
    is_shown = has_scores is None or any(not file.records or has_scores(file.records) for file in files)
    return () if is_shown else benchmark.ranking_scores


class SystemFiles(NamedTuple):
    """Files of predictions of several systems, or of several runs, with their references.

    Attributes
    ----------
    benchmark : Benchmark
    metric : evaluate.Metric
    task : str or None
    predictions : list of InputFile
    references : InputFile
    options : dict
        The options of ``compute``.
    """

    benchmark: Benchmark
    metric: Any
    task: str | None
    predictions: list[InputFile]
    references: InputFile
    options: dict[str, Any]

    @property
    def hidden(self) -> tuple[str, ...]:
        """Scores that say nothing on these data, such as areas where no prediction has a score."""
        return _hidden_scores(self.benchmark, self.predictions)

    def shown(self, found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Select the scores of a comparison that say something on these data."""
        hidden = self.hidden
        return [{name: row for name, row in scores.items() if name not in hidden} for scores in found]


def load_metric(benchmark: Benchmark, task: str | None = None) -> Any:
    """Load the metric of a benchmark, without the messages of evaluate."""
    metric = spanscore.load(benchmark.name, task)
    import evaluate

    evaluate.utils.logging.set_verbosity_error()
    return metric


def score_files(
    benchmark: Benchmark,
    predictions: str,
    references: str,
    arguments: dict[str, Any],
    options: dict[str, Any],
    stage: Stage = no_stage,
) -> ScoredFiles:
    """Read both files and compute.

    Parameters
    ----------
    benchmark : Benchmark
    predictions, references : str
        Paths of files or folders, or patterns; one of them may be ``"-"`` for standard input.
    arguments : dict
        The arguments of reading, such as ``format`` and ``task``. With ``quiet``, standard error does not name files.
    options : dict
        The options of ``compute``. Reports need ``per_document`` and ``return_errors``.
    stage : callable, optional
        Takes the name of each stage of the work.

    Returns
    -------
    ScoredFiles

    Raises
    ------
    ValueError
        A file or an option is wrong.
    """
    check_inputs([predictions, references])
    stage(f"reading {references}")
    gold = read_references(benchmark, references, arguments)
    stage(f"reading {predictions}")
    predicted = read_predictions(benchmark, predictions, arguments, gold)
    for side, file in (("predictions", predicted), ("references", gold)) if not arguments.get("quiet") else ():
        say(f"{side}: {file}")
    task = task_of_references(benchmark, gold.records, arguments.get("task"))
    stage(f"scoring {len(gold.records):,} {document_word(benchmark, task)}")
    metric = load_metric(benchmark, task)
    options = _label_options(benchmark, references, gold, options) | options
    result = call_quietly(metric.compute, predictions=predicted.records, references=gold.records, **options)
    return ScoredFiles(benchmark, task, result, predicted, gold, options, metric)


def _label_options(benchmark: Benchmark, references: str, gold: InputFile, options: dict[str, Any]) -> dict[str, Any]:
    """Options that give labels readable names, where items in error are listed and no score depends on names."""
    find = getattr(formats_of(benchmark), "label_options", None)
    if find is None or not options.get("return_errors") or options.get("match", "indices") != "indices":
        return {}
    found: dict[str, Any] = find(references, gold.records)
    return found


def read_systems(
    benchmark: Benchmark,
    predictions: list[str],
    references: str,
    arguments: dict[str, Any],
    options: dict[str, Any],
    stage: Stage = no_stage,
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
    stage : callable, optional
        Takes the name of each stage of the work.

    Returns
    -------
    SystemFiles
    """
    check_inputs([*predictions, references])
    stage(f"reading {references}")
    gold = read_references(benchmark, references, arguments)
    files = []
    for number, path in enumerate(predictions, start=1):
        stage(f"reading {path} ({number} of {len(predictions)})")
        files.append(read_predictions(benchmark, path, arguments, gold))
    if not arguments.get("quiet"):
        for number, file in enumerate(files, start=1):
            say(f"predictions {number}: {file}")
        say(f"references: {gold}")
    task = task_of_references(benchmark, gold.records, arguments.get("task"))
    return SystemFiles(benchmark, load_metric(benchmark, task), task, files, gold, options)
