"""The table of benchmarks: all that the command line, validation and reports must know of a benchmark."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from spanscore.metrics.options import output_options

if TYPE_CHECKING:
    from spanscore.metrics.options import Option
    from spanscore.metrics.records import Task

# Options of `compute` that decide the form of the result.
OUTPUT_OPTIONS = tuple(output_options("", ""))


class ReadOption(NamedTuple):
    """An argument of ``read`` of a benchmark's formats that is an option of the command line.

    Attributes
    ----------
    name : str
        The name of the argument, such as ``"span_format"``.
    help : str
    choices : tuple of str
        The values. An option without choices is the path of a file.
    references_only : bool
        Whether it is for references and not for predictions.
    is_text : bool
        Whether an option without choices is any text, and not a path.
    """

    name: str
    help: str
    choices: tuple[str, ...] = ()
    references_only: bool = False
    is_text: bool = False

    @property
    def is_file(self) -> bool:
        """Whether the option is the path of a file."""
        return not self.choices and not self.is_text


class Benchmark(NamedTuple):
    """A benchmark.

    Attributes
    ----------
    name : str
        The name in ``<name>_metric.py``, ``<name>_records.py`` and ``spanscore.formats.<name>``, and on the command
        line.
    heading : str
        The name in reports.
    subject : str
        What is scored, for help texts.
    read_options : tuple of ReadOption
    sentence_formats : tuple of str
        Formats of predictions that are read with ``sentences``, the tokens of the references.
    reference_formats : tuple of str
        Formats that only references have.
    training_formats : tuple of str
        Formats of training data, which the metric does not take as predictions or references.
    whole_formats : tuple of str
        Formats that cannot be read line by line.
    prediction_key, reference_key : str or None
        The field that identifies a record of each side. None where several records share an identifier.
    headlines : tuple of str
        Places of the headline score in a result, with dots for nesting. The first that is there counts.
    scored_item : str
        The item that the headline counts, for charts.
    perfect : float
        The F1 of perfect predictions: 100, or 1 where a benchmark reports fractions.
    label_tables : tuple of str
        Places in a result of the tables with a row for each label, for charts. Tables inside them are meant too.
    text_fields : tuple of str
        The fields of an item, as the result lists it, that are text of the document. Token indices need no entry.
    entity_fields : dict of str to str
        The fields of an item that are the number of an entity of the document, each with its name in reports.
    field_names : dict of str to str
        Other fields of an item whose name in reports is another one.
    """

    name: str
    heading: str
    subject: str
    read_options: tuple[ReadOption, ...] = ()
    sentence_formats: tuple[str, ...] = ()
    reference_formats: tuple[str, ...] = ()
    training_formats: tuple[str, ...] = ()
    whole_formats: tuple[str, ...] = ()
    prediction_key: str | None = "id"
    reference_key: str | None = "id"
    headlines: tuple[str, ...] = ("f1",)
    scored_item: str = "item"
    perfect: float = 100.0
    label_tables: tuple[str, ...] = ()
    text_fields: tuple[str, ...] = ()
    entity_fields: Mapping[str, str] = MappingProxyType({})
    field_names: Mapping[str, str] = MappingProxyType({})


BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark(
            "aste",
            "ASTE",
            "aspect sentiment triplets",
            read_options=(
                ReadOption(
                    "span_format",
                    "Whether a span lists every token, or its first and last.",
                    choices=("auto", "indices", "ends"),
                ),
            ),
            headlines=("f1", "pair.f1"),
            scored_item="triplet",
            label_tables=("polarity",),
            text_fields=("aspect", "opinion"),
        ),
        Benchmark(
            "docred",
            "DocRED",
            "document-level relations",
            reference_formats=("documents", "rows"),
            training_formats=("facts",),
            # Each fact has the title of its document.
            prediction_key=None,
            reference_key="title",
            label_tables=("per_relation",),
            text_fields=("head", "tail", "relation_text"),
            entity_fields={"h": "head", "t": "tail", "h_idx": "head", "t_idx": "tail"},
            field_names={"r": "relation", "relation_text": "relation"},
        ),
        Benchmark(
            "propsegment",
            "PropSegmEnt",
            "propositions, and entailment between them",
            read_options=(
                ReadOption(
                    "clusters",
                    "A document_clusters.*.json, which has the text of the sentences.",
                    references_only=True,
                ),
            ),
            sentence_formats=("sequence",),
            reference_formats=("propositions", "relationships"),
            headlines=("f1", "balanced_accuracy"),
            scored_item="proposition",
            perfect=1.0,
            label_tables=("per_label",),
        ),
        Benchmark(
            "sentivent",
            "SENTiVENT",
            "economic events and implicit sentiment",
            read_options=(
                ReadOption(
                    "annotator",
                    "The annotator whose documents of an export (a folder or zip file) are read.",
                    is_text=True,
                ),
            ),
            whole_formats=("parquet", "xmi", "tsv", "export"),
            headlines=("sentivent_score",),
            label_tables=("strict.classification_report",),
        ),
    )
}


def formats_of(benchmark: Benchmark) -> Any:
    """Import the formats module of a benchmark, such as `spanscore.formats.aste`."""
    return importlib.import_module(f"spanscore.formats.{benchmark.name}")


def tasks_of(benchmark: Benchmark) -> dict[str, Task]:
    """The records and options of each task of a benchmark, by the name of the task.

    They come from ``<name>_records.py``, which imports no metric. The task of a benchmark with a single task is called
    ``"default"``.
    """
    tasks: dict[str, Task] = importlib.import_module(f"spanscore.metrics.{benchmark.name}_records").TASKS
    return tasks


def task_names(benchmark: Benchmark) -> tuple[str, ...]:
    """The names of the tasks of a benchmark; none if it has a single task."""
    names = tuple(tasks_of(benchmark))
    return () if names == ("default",) else names


def metric_options(benchmark: Benchmark) -> dict[str, Option]:
    """The options of ``compute``, of all tasks of a benchmark together."""
    options: dict[str, Option] = {}
    for task in tasks_of(benchmark).values():
        options |= {name: option for name, option in task.options.items() if name not in options}
    return options
