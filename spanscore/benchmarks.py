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
    formats : tuple of str
        The formats that it is for. With files of other formats it has no effect.
    """

    name: str
    help: str
    choices: tuple[str, ...] = ()
    references_only: bool = False
    is_text: bool = False
    formats: tuple[str, ...] = ()

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
    example_files : tuple of str
        Names of a file of predictions and of references, for examples of commands.
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
    document_words : dict of str to str
        The word for the records that are counted together, in the plural, by task. A benchmark with a single task has
        it under the empty name.
    headlines : tuple of str
        Places of the headline score in a result, with dots for nesting. The first that is there counts.
    components : tuple of str
        Places of the rows of the short table. The empty place is the result itself.
    scores : tuple of str
        Places of the scores that are named below the short table.
    ranking_scores : tuple of str
        Places of the scores that rank predictions. They say nothing where no prediction has a score.
    words : dict of str to str
        Titles of tables and rows by their places, where these say too little by themselves.
    scored_item : str
        The item that the headline counts, for charts.
    perfect : float
        The F1 of perfect predictions: 100, or 1 where a benchmark reports fractions.
    strictness : tuple of str
        The names of the two kinds of matching.
    label_tables : tuple of str
        Places in a result of the tables with a row for each label, for charts. Tables inside them are meant too.
    text_fields : tuple of str
        The fields of an item, as the result lists it, that are text of the document. Token indices need no entry.
    label_text_fields : tuple of str
        The fields of an item that are readable names of its labels.
    entity_fields : dict of str to str
        The fields of an item that are the number of an entity of the document, each with its name in reports.
    field_names : dict of str to str
        Other fields of an item whose name in reports is another one.
    """

    name: str
    heading: str
    subject: str
    example_files: tuple[str, str] = ("ours.jsonl", "gold.jsonl")
    read_options: tuple[ReadOption, ...] = ()
    sentence_formats: tuple[str, ...] = ()
    reference_formats: tuple[str, ...] = ()
    training_formats: tuple[str, ...] = ()
    whole_formats: tuple[str, ...] = ()
    prediction_key: str | None = "id"
    reference_key: str | None = "id"
    document_words: Mapping[str, str] = MappingProxyType({"": "documents"})
    headlines: tuple[str, ...] = ("f1",)
    components: tuple[str, ...] = ()
    scores: tuple[str, ...] = ()
    ranking_scores: tuple[str, ...] = ()
    words: Mapping[str, str] = MappingProxyType({})
    scored_item: str = "item"
    perfect: float = 100.0
    strictness: tuple[str, str] = ("strict", "relaxed")
    label_tables: tuple[str, ...] = ()
    text_fields: tuple[str, ...] = ()
    label_text_fields: tuple[str, ...] = ()
    entity_fields: Mapping[str, str] = MappingProxyType({})
    field_names: Mapping[str, str] = MappingProxyType({})


BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark(
            "aste",
            "ASTE",
            "aspect sentiment triplets",
            ("ours.txt", "gold.txt"),
            read_options=(
                ReadOption(
                    "span_format",
                    "Whether a span lists every token, or its first and last.",
                    choices=("auto", "indices", "ends"),
                    formats=("v2", "span-aste", "pairs"),
                ),
            ),
            document_words={"": "sentences"},
            headlines=("f1", "pair.f1"),
            components=(
                *("", "pair", "aspect", "opinion", "aspect_polarity"),
                *(
                    "polarity.POS",
                    "polarity.NEG",
                    "polarity.NEU",
                    "polarity.CON",
                    "single_word",
                    "multi_word",
                    "relaxed",
                ),
            ),
            scores=("polarity.macro_f1",),
            words={
                "polarity": "By polarity",
                "polarity.macro_f1": "Macro F1 over polarities",
                "single_word": "Terms of one word",
                "multi_word": "A term of several words",
                "relaxed": "Relaxed (terms overlap)",
            },
            scored_item="triplet",
            label_tables=("polarity",),
            text_fields=("aspect", "opinion"),
        ),
        Benchmark(
            "docred",
            "DocRED",
            "document-level relations",
            ("ours.json", "gold.json"),
            reference_formats=("documents", "rows"),
            training_formats=("facts",),
            # Each fact has the title of its document.
            prediction_key=None,
            reference_key="title",
            scored_item="fact",
            components=(
                *("", "evidence", "evidence_annotated", "intra", "inter", "inter_long", "frequent", "long_tail"),
            ),
            scores=(
                *("ign_f1", "ign_distant_f1", "macro_f1", "auc", "ign_auc", "pr_auc", "ign_pr_auc"),
                *("best_f1", "ign_best_f1", "best_threshold"),
            ),
            ranking_scores=(*("auc", "ign_auc", "pr_auc", "ign_pr_auc", "best_f1", "ign_best_f1", "best_threshold"),),
            words={
                "evidence_annotated": "Evidence, of facts with annotated evidence",
                "intra": "Head and tail in one sentence",
                "inter": "Head and tail in different sentences",
                "inter_long": "Head and tail more than 5 sentences apart",
                "frequent": "Frequent relations",
                "long_tail": "Other relations",
                "by_evidence": "Recall by evidence",
                "by_evidence.none": "No evidence",
                "by_evidence.single": "One sentence",
                "by_evidence.mix": "Several sentences, one has both entities",
                "by_evidence.multiple": "Several sentences, none has both entities",
                "per_relation": "By relation",
                "auc": "Area under the ROC curve",
                "ign_auc": "Area under the ROC curve, Ign",
                "pr_auc": "Area under precision over recall",
                "ign_pr_auc": "Area under precision over recall, Ign",
                "best_f1": "F1 at the best threshold",
                "ign_best_f1": "Ign F1 at the best threshold",
            },
            label_tables=("per_relation",),
            text_fields=("head", "tail"),
            label_text_fields=("relation_text",),
            entity_fields={"h": "head", "t": "tail", "h_idx": "head", "t_idx": "tail"},
            field_names={"r": "relation"},
        ),
        Benchmark(
            "propsegment",
            "PropSegmEnt",
            "propositions, and entailment between them",
            ("ours.txt", "gold.json"),
            read_options=(
                ReadOption(
                    "clusters",
                    "A document_clusters.*.json, which has the texts, for reports.",
                    references_only=True,
                    formats=("propositions", "relationships"),
                ),
            ),
            sentence_formats=("sequence",),
            reference_formats=("propositions", "relationships"),
            document_words={"segmentation": "sentences", "entailment": "pairs"},
            headlines=("f1", "balanced_accuracy"),
            components=("", "exact", "micro", "per_label.entail", "per_label.neutral", "per_label.contradict"),
            scores=("accuracy", "macro_f1", "three_way_accuracy", "matthews_correlation"),
            words={
                "exact": "Exact (equal token sets)",
                "micro": "Micro (pooled over sentences)",
                "per_label": "By label",
                "confusion_matrix": "Gold labels, by predicted label",
            },
            scored_item="proposition",
            perfect=1.0,
            strictness=("exact", "aligned"),
            label_tables=("per_label",),
        ),
        Benchmark(
            "sentivent",
            "SENTiVENT",
            "economic events and implicit sentiment",
            ("ours.json", "gold.json"),
            read_options=(
                ReadOption(
                    "annotator",
                    "The annotator whose documents of an export (a folder or zip file) are read.",
                    is_text=True,
                ),
            ),
            whole_formats=("parquet", "xmi", "tsv", "export"),
            headlines=("sentivent_score",),
            components=(
                *("strict.event_trigger", "strict.event_argument", "strict.sentiment_expression"),
                *("strict.sentiment_target", "strict.event_sentiment_link"),
                *("strict.factuality.event_scoped_polarity", "strict.factuality.event_realis"),
                *("strict.factuality.event_modality", "strict.factuality.event_negated"),
                *("strict.factuality.sentiment_scoped_polarity", "strict.factuality.sentiment_uncertain"),
                "strict.factuality.sentiment_negated",
            ),
            scores=(
                *("sentivent_macro_score", "sentivent_relaxed_score", "sentivent_relaxed_macro_score"),
                "coreference.conll_f1",
            ),
            words={
                "strict": "Strict matching",
                "relaxed": "Relaxed matching",
                "sentivent_score": "SENTiVENT score",
                "sentivent_macro_score": "SENTiVENT macro score",
                "sentivent_relaxed_score": "Relaxed SENTiVENT score",
                "sentivent_relaxed_macro_score": "Relaxed SENTiVENT macro score",
                "coreference.conll_f1": "CoNLL F1 of coreference",
            },
            label_tables=("strict.classification_report",),
        ),
    )
}


def document_word(benchmark: Benchmark, task: str | None) -> str:
    """The word for the records of a task that are counted together, in the plural."""
    return benchmark.document_words[task or ""]


def flag_of(name: str) -> str:
    """The option of the command line for an argument, such as ``--span-format``."""
    return "--" + name.replace("_", "-")


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
