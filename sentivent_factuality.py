"""Factuality in SENTiVENT: the labels of events and sentiment expressions that are aligned with each other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .alignment import FRACTION_TOLERANCE, Goal, align, most_pairs
from .matching import Edges
from .sentivent_documents import FRAMES, Corpus, Overlaps, equal_items


class FactualityComponent(NamedTuple):
    """A label of aligned events or sentiment expressions, and its fixed weight."""

    name: str
    frame: str
    label: str
    support: int


FACTUALITY = (
    FactualityComponent("event_scoped_polarity", "event", "scoped_polarity", 5256),
    FactualityComponent("event_realis", "event", "realis", 5256),
    FactualityComponent("event_modality", "event", "modality", 5256),
    FactualityComponent("event_negated", "event", "negated", 5256),
    FactualityComponent("sentiment_scoped_polarity", "expression", "scoped_polarity", 3341),
    FactualityComponent("sentiment_uncertain", "expression", "uncertain", 3341),
    FactualityComponent("sentiment_negated", "expression", "negated", 3341),
)
# For factuality, events and expressions are aligned if they agree in their span and in these labels.
ALIGNED_BY = {"event": ("type",), "expression": ()}


def count_factuality(corpus: Corpus, overlaps: Overlaps | None) -> dict[str, np.ndarray]:
    """Count all factuality components, by document.

    In the strict profile, events of equal span and type are aligned, and sentiment expressions of equal span. In the
    relaxed profile it is enough that spans overlap.

    Parameters
    ----------
    corpus : Corpus
    overlaps : Overlaps or None
        None without the relaxed profile.

    Returns
    -------
    dict of str to ndarray of int64, shape (n_documents, 3)
        The rows of each component, under the names that the metric's ``Counts`` describes.
    """
    tables: dict[str, np.ndarray] = {}
    for frame, labels in ALIGNED_BY.items():
        spans = FRAMES[frame].spans
        tables |= _count_frame(corpus, frame, "strict", equal_items(corpus, frame, spans, labels), [])
        if overlaps is not None:
            edges = overlaps.with_equal_labels(frame, spans, labels)
            dice = Goal(overlaps.dice(frame, edges), FRACTION_TOLERANCE)
            tables |= _count_frame(corpus, frame, "relaxed", edges, [dice])
    return tables


def _count_frame(corpus: Corpus, frame: str, profile: str, edges: Edges, overlap: list[Goal]) -> dict[str, np.ndarray]:
    """Count the factuality components of a frame.

    Each component has an alignment of its own: as many pairs as possible, then the largest overlap, then the most equal
    labels, then the most labelled gold records. One choice may still be open: which wrong predictions are aligned with
    gold records without a label, and so are left out. The content of records decides it, not their order.

    Parameters
    ----------
    corpus : Corpus
    frame : {"event", "expression"}
    profile : {"strict", "relaxed"}
    edges : Edges
        The pairs of records that may be aligned.
    overlap : list of Goal
        Empty if all edges overlap alike.
    """
    items = corpus.items[frame]
    document, gold_document = items.split(items.document)
    tables: dict[str, np.ndarray] = {}
    for component in FACTUALITY:
        if component.frame != frame:
            continue
        predicted, gold = items.split(items.columns[component.label].astype(np.int32))
        has_gold = gold[edges.right] > 0
        is_equal = has_gold & (predicted[edges.left] == gold[edges.right])
        goals = [most_pairs(edges.left), *overlap, Goal(is_equal), Goal(has_gold)]
        chosen = align(edges.left, edges.right, len(predicted), len(gold), goals)
        aligned = edges.left[chosen]
        correct, with_gold = aligned[is_equal[chosen]], aligned[has_gold[chosen]]
        counted = np.ones(len(predicted), bool)
        counted[aligned[~has_gold[chosen]]] = False

        values = corpus.labels[component.label]
        by_label = np.stack(
            [
                _tabulate_labels(document[correct], predicted[correct], corpus.n_documents, len(values)),
                _tabulate_labels(document[counted], predicted[counted], corpus.n_documents, len(values)),
                _tabulate_labels(gold_document, gold, corpus.n_documents, len(values)),
            ],
            axis=-1,
        )
        name = f"{profile}.factuality.{component.name}"
        tables |= {f"{name}:{value}": by_label[:, at] for at, value in enumerate(values) if at}
        for row_name, columns in (
            ("aligned", (document[correct], document[aligned], document[with_gold])),
            ("labelled", (document[:0], document[predicted > 0], gold_document[gold > 0])),
        ):
            counts = [np.bincount(column, minlength=corpus.n_documents) for column in columns]
            tables[f"{name}.{row_name}"] = np.stack(counts, axis=-1)
    return tables


def _tabulate_labels(documents: np.ndarray, labels: np.ndarray, n_documents: int, n_labels: int) -> np.ndarray:
    """The number of records of each document and label: shape (n_documents, n_labels)."""
    return np.bincount(documents * n_labels + labels, minlength=n_documents * n_labels).reshape(n_documents, n_labels)
