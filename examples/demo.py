"""Score the examples of every benchmark through `evaluate.load`, and show what the scores tell apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import evaluate

import spanscore.formats.aste
import spanscore.formats.docred
import spanscore.formats.propsegment
import spanscore.formats.sentivent

ROOT = Path(__file__).parent.parent


class Example(NamedTuple):
    """One scored pair of files.

    Attributes
    ----------
    metric : str
        The name of the metric's script, without ``_metric.py``.
    config : str or None
    read : callable
        From a file to its records.
    predictions, references : str
        Files under ``examples/``.
    options : dict
        Of ``compute``.
    rows : list of str
        Which parts of the result to show, dots for nesting; "" is the headline.
    """

    metric: str
    config: str | None
    read: Callable[[Path], list[Any]]
    predictions: str
    references: str
    options: dict[str, Any]
    rows: list[str]


_SENTIVENT = (
    "event_trigger",
    "event_argument",
    "sentiment_expression",
    "sentiment_target",
    "event_sentiment_link",
)

EXAMPLES = [
    Example(
        "aste",
        None,
        lambda path: spanscore.formats.aste.read(path).records,
        "aste/predictions.txt",
        "aste/references.txt",
        {},
        ["", "pair", "aspect", "opinion", "aspect_polarity", "single_word", "multi_word", "relaxed"],
    ),
    Example(
        "propsegment",
        "segmentation",
        lambda path: spanscore.formats.propsegment.read(path).records,
        "propsegment/predictions.txt",
        "propsegment/references.jsonl",
        {},
        ["", "exact", "micro", "repetition_rate", "repeated_predictions", "empty_references"],
    ),
    Example(
        "propsegment",
        "entailment",
        lambda path: spanscore.formats.propsegment.read(path).records,
        "propsegment/labels.jsonl",
        "propsegment/relationships.jsonl",
        {},
        ["balanced_accuracy", "accuracy", "three_way_accuracy", "macro_f1", "per_label.entail", "per_label.contradict"],
    ),
    Example(
        "docred",
        None,
        lambda path: spanscore.formats.docred.read(path).records,
        "docred/predictions.json",
        "docred/references.json",
        {"train_facts": str(Path(__file__).parent / "docred" / "train.fact")},
        [
            "",
            "ign_f1",
            "best_f1",
            "evidence",
            "evidence_annotated",
            "intra",
            "inter",
            "frequent",
            "long_tail",
            "macro_f1",
            "auc",
            "pr_auc",
        ],
    ),
    Example(
        "docred",
        None,
        lambda path: spanscore.formats.docred.read(path).records,
        "docred/predictions_by_name.json",
        "docred/references.json",
        {"match": "names"},
        ["", "per_relation.P27", "per_relation.P175"],
    ),
    Example(
        "sentivent",
        None,
        lambda path: spanscore.formats.sentivent.read(path).records,
        "sentivent/predictions.jsonl",
        "sentivent/references.jsonl",
        {"include_factuality": True},
        ["sentivent_score", "sentivent_macro_score", "sentivent_relaxed_score", "sentivent_relaxed_macro_score"]
        + [f"{profile}.{name}" for profile in ("strict", "relaxed") for name in _SENTIVENT]
        + ["strict.event_type", "strict.target_polarity", "strict.factuality.event_realis"]
        + ["relaxed.factuality.event_realis", "coreference.b_cubed", "coreference.conll_f1"],
    ),
]


def part(result: dict[str, Any], name: str) -> dict[str, Any]:
    """The row `name` of a result."""
    for key in name.split(".") if name else []:
        result = result[key]
    return result


def show(example: Example) -> None:
    """Score one example and print its rows."""
    folder = Path(__file__).parent
    metric = evaluate.load(str(ROOT / f"{example.metric}_metric.py"), example.config)
    result = metric.compute(
        predictions=example.read(folder / example.predictions),
        references=example.read(folder / example.references),
        **example.options,
    )
    print(f"{example.metric}{f' ({example.config})' if example.config else ''}: {result['signature']}")
    for name in example.rows:
        row = part(result, name)
        if isinstance(row, dict):
            figures = "  ".join(f"{key} {row[key]:6.2f}" for key in ("precision", "recall", "f1") if key in row)
        else:
            figures = f"{row:6d}" if isinstance(row, int) else f"{row:6.2f}"
        print(f"  {name or 'headline':32}{figures}")
    print()


def main() -> None:
    """Show every example."""
    evaluate.utils.logging.set_verbosity_error()
    for example in EXAMPLES:
        show(example)


if __name__ == "__main__":
    main()
