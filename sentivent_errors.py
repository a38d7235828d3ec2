"""Items of SENTiVENT in error: the parts of two items that differ, and the kinds of error that follow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .errors import Items, Relations
from .matching import Edges
from .sentivent_documents import Corpus

# The kinds of error, in the order of the result. A wrong type makes the subtype wrong too, so it is one error.
KINDS = ("wrong_boundary", "wrong_type", "wrong_subtype", "wrong_polarity", "wrong_role", "wrong_attachment")
_KIND_OF_LABEL = {label: f"wrong_{label}" for label in ("type", "subtype", "polarity", "role")}
# The event or the expression that an item may be wrongly attached to: its span, and the labels that it gives the item.
_ATTACHED_TO: dict[str, dict[str, tuple[str, ...]]] = {
    "event_argument": {"trigger": ("type",)},
    "sentiment_target": {"expression": ("polarity",)},
    "event_sentiment_link": {"trigger": (), "expression": ("polarity",)},
}


def items_at(
    corpus: Corpus, frame: str, spans: tuple[str, ...], labels: tuple[str, ...], document: np.ndarray, at: np.ndarray
) -> Items:
    """The items `at` of a frame, with these spans and labels."""
    columns = corpus.items[frame].columns

    def show(item: int) -> dict[str, Any]:
        shown: dict[str, Any] = {}
        for name in spans:
            start, end = corpus.spans.offsets[columns[name][item] : columns[name][item] + 2].tolist()
            shown[name] = corpus.spans.tokens[start:end].tolist()
        return shown | {name: corpus.labels[name][columns[name][item]] for name in labels}

    return Items(document, at, show, [corpus.spans.take(columns[name][at]) for name in spans])


def relate(
    component: str,
    edges: Edges,
    spans: Sequence[str],
    sides: tuple[Items, Items],
    labels: Mapping[str, tuple[np.ndarray, np.ndarray]],
) -> Relations:
    """The kinds of error between items, and the mean Dice of their spans.

    Two items are related if their spans overlap, each in its place. An argument, target or link is also related to an
    item with which it shares one span exactly, while the other span lies elsewhere and belongs to the event or
    expression that the item is attached to. The labels of that event or expression are then no further error.

    Parameters
    ----------
    component : str
    edges : Edges
        Pairs that share a token of any span.
    spans : sequence of str
        The names of the spans.
    sides : tuple of Items
        The predicted and the gold items.
    labels : mapping of str to tuple of two ndarray of int
        Each label of the predicted and of the gold items: equal integers for equal labels.
    """
    sizes = [
        left.lengths[edges.left] + right.lengths[edges.right]
        for left, right in zip(*(side.spans for side in sides), strict=True)
    ]
    closeness = 2 * edges.shared / np.stack(sizes)
    is_whole = closeness.all(axis=0)
    wrong = dict.fromkeys(KINDS, np.zeros(len(is_whole), bool))
    for name, (left, right) in labels.items():
        wrong[_KIND_OF_LABEL[name]] = left[edges.left] != right[edges.right]
    wrong["wrong_boundary"] = is_whole & (closeness < 1).any(axis=0)
    wrong["wrong_subtype"] = wrong["wrong_subtype"] & ~(is_whole & wrong["wrong_type"])
    for name, given in _ATTACHED_TO.get(component, {}).items():
        elsewhere = (closeness[list(spans).index(name)] == 0) & (closeness.sum(axis=0) == 1)
        wrong["wrong_attachment"] = wrong["wrong_attachment"] | elsewhere
        for label in given:
            wrong[_KIND_OF_LABEL[label]] = wrong[_KIND_OF_LABEL[label]] & ~elsewhere
    is_related = is_whole | wrong["wrong_attachment"]
    return Relations(is_related, np.stack([wrong[kind] for kind in KINDS]), closeness.sum(axis=0) / len(closeness))
