"""Items of SENTiVENT in error: the parts of two items that differ, and the kinds of error that follow."""

from __future__ import annotations

from typing import Any, NamedTuple

from .errors import Relation
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


class Item(NamedTuple):
    """An item as errors compare it.

    Attributes
    ----------
    spans : dict of str to frozenset of int
        Its token sets.
    labels : dict of str to (str or None)
    """

    spans: dict[str, frozenset[int]]
    labels: dict[str, str | None]

    def show(self) -> dict[str, Any]:
        """The item as the result shows it."""
        return {name: sorted(tokens) for name, tokens in self.spans.items()} | self.labels


def item_at(corpus: Corpus, frame: str, spans: tuple[str, ...], labels: tuple[str, ...], at: int) -> Item:
    """One item of a frame, with these spans and labels."""
    columns = corpus.items[frame].columns
    tokens, offsets = corpus.spans.tokens, corpus.spans.offsets
    found = {}
    for name in spans:
        place = columns[name][at]
        found[name] = frozenset(tokens[offsets[place] : offsets[place + 1]].tolist())
    return Item(found, {name: corpus.labels[name][columns[name][at]] for name in labels})


def relate(component: str, predicted: Item, gold: Item) -> Relation:
    """The kinds of error between two items, and the mean Dice of their spans; None where they are unrelated.

    Two items are related if their spans overlap, each in its place. An argument, target or link is also related to an
    item with which it shares one span exactly, while the other span lies elsewhere and belongs to the event or
    expression that the item is attached to. The labels of that event or expression are then no further error.
    """
    closeness = {
        name: 2 * len(tokens & gold.spans[name]) / (len(tokens) + len(gold.spans[name]))
        for name, tokens in predicted.spans.items()
    }
    apart = [name for name, value in closeness.items() if not value]
    wrong_labels = {name for name, value in predicted.labels.items() if value != gold.labels[name]}
    kinds: set[str] = set()
    if not apart:
        if any(value < 1 for value in closeness.values()):
            kinds.add("wrong_boundary")
        if "type" in wrong_labels:
            wrong_labels.discard("subtype")
    else:
        attached = _ATTACHED_TO.get(component, {})
        if len(apart) > 1 or apart[0] not in attached or sum(closeness.values()) < 1:
            return None
        kinds.add("wrong_attachment")
        wrong_labels -= set(attached[apart[0]])
    kinds |= {_KIND_OF_LABEL[name] for name in wrong_labels}
    return [kind for kind in KINDS if kind in kinds], sum(closeness.values()) / len(closeness)
