"""Documents of SENTiVENT: the annotations of both sides, the items that are counted, and the items that overlap.

The items are events, arguments, sentiment expressions, targets and links.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .columns import Column, Lists, Struct, concatenate_columns, is_present
from .matching import Edges, Spans, concatenate, connected, divide, encode, encode_spans, overlaps, token_sets
from .mistakes import quote
from .sentivent_records import (
    COREFERENCE,
    EVENT,
    EVENT_LABELS,
    EXPRESSION,
    EXPRESSION_LABELS,
    LINK,
    POINTERS,
    USUAL_VALUES,
)


class Frame(NamedTuple):
    """A sort of items: the spans and labels that each item has.

    Attributes
    ----------
    spans, labels : tuple of str
        Their names.
    typed : bool
        Whether an item counts only if its event has a type.
    """

    spans: tuple[str, ...]
    labels: tuple[str, ...]
    typed: bool = False


FRAMES = {
    "event": Frame(("trigger",), EVENT_LABELS, typed=True),
    "argument": Frame(("trigger", "argument"), ("type", "role"), typed=True),
    "expression": Frame(("expression",), EXPRESSION_LABELS),
    "target": Frame(("expression", "target"), ("polarity",)),
    "link": Frame(("trigger", "expression"), ("polarity",), typed=True),
}


# --- annotations of both sides ----------------------------------------------------------------------------------------


class Pointers(NamedTuple):
    """The arguments of all events, or the targets of all expressions.

    Attributes
    ----------
    owner : ndarray of int64, shape (n,)
        The annotation that each pointer belongs to.
    span : ndarray of int64, shape (n,)
        An index into the spans of all annotations and pointers.
    """

    owner: np.ndarray
    span: np.ndarray


class Annotations(NamedTuple):
    """The annotations of both sides, predicted first.

    Attributes
    ----------
    n_predicted : int
    document : ndarray of int64, shape (n,)
        The reference that each annotation belongs to.
    fields : Struct, length n
        Their fields, as they were read.
    spans : Spans
        The spans of all annotations, then the spans of arguments and of targets that carry one themselves. Annotations
        and pointers without a span have an empty one.
    arguments, targets : Pointers
    relations : dict of str to ndarray of int64, shape (2, m)
        The annotations that are related, from and to, by kind.
    n_ignored : tuple of int
        The numbers of predicted and of gold relations of other kinds.
    """

    n_predicted: int
    document: np.ndarray
    fields: Struct
    spans: Spans
    arguments: Pointers
    targets: Pointers
    relations: dict[str, np.ndarray]
    n_ignored: tuple[int, int]


def join_annotations(predictions: Struct, references: Struct, order: np.ndarray) -> Annotations:
    """Join the annotations of both sides, so that relations and pointers name annotations of all documents.

    Parameters
    ----------
    predictions, references : Struct
        As ``sentivent_records.read`` gives them.
    order : ndarray of int64
        The reference of each prediction.
    """
    document_of = np.concatenate([order, np.arange(len(references))])
    annotations: Lists = concatenate_columns([predictions["annotations"], references["annotations"]])
    record, fields = annotations.owners, annotations.items

    spans = _token_sets(fields["span"])
    for name in POINTERS:
        spans = concatenate(spans, _token_sets(fields[name].items["span"]))
    pointers = {}
    n_before = len(fields)  # spans that come before the spans of pointers
    for name in POINTERS:
        column: Lists = fields[name]
        owner, index = column.owners, column.items["annotation"]
        own = n_before + np.arange(len(owner))
        pointers[name] = Pointers(owner, np.where(index < 0, own, index + annotations.offsets[record[owner]]))
        n_before += len(owner)

    relations: Lists = concatenate_columns([predictions["relations"], references["relations"]])
    start, kind = annotations.offsets[relations.owners], relations.items["kind"]
    ends = np.stack([start + relations.items[end] for end in ("from", "to")])
    is_known = (kind == LINK) | (kind == COREFERENCE)
    ignored = relations.owners[~is_known]
    n_ignored = int(np.sum(ignored < len(predictions)))
    return Annotations(
        int(annotations.offsets[len(predictions)]),
        document_of[record],
        fields,
        spans,
        pointers["arguments"],
        pointers["targets"],
        {name: ends[:, kind == name] for name in (LINK, COREFERENCE)},
        (n_ignored, len(ignored) - n_ignored),
    )


def _token_sets(spans: Lists) -> Spans:
    return token_sets(spans.offsets, spans.items)


def check_same_tokens(predictions: Column, references: Column, order: np.ndarray) -> None:
    """Refuse records whose tokens differ: their indices mean different tokens.

    Parameters
    ----------
    predictions, references : Lists of str
        The tokens of each document; a missing list is not compared.
    order : ndarray of int64
        The reference of each prediction.

    Raises
    ------
    ValueError
    """
    both = np.flatnonzero(is_present(predictions) & is_present(references)[order])
    for record in both.tolist():
        ours, theirs = _list_at(predictions, record), _list_at(references, order[record])
        if ours == theirs:
            continue
        for index, (token, expected) in enumerate(zip(ours, theirs, strict=False)):
            if token != expected:
                raise ValueError(
                    f"predictions[{record}].tokens[{index}]: {quote(token)} is not the reference's token, "
                    f"expected {quote(expected)}"
                )
        raise ValueError(
            f"predictions[{record}].tokens[{min(len(ours), len(theirs))}]: the predictions' document has "
            f"{len(ours)} tokens, expected {len(theirs)} as in the reference"
        )


def _list_at(column: Lists, at: int) -> list[str]:
    values: list[str] = column.items[column.offsets[at] : column.offsets[at + 1]].tolist()
    return values


# --- items ------------------------------------------------------------------------------------------------------------


class FrameItems(NamedTuple):
    """The items of one frame on both sides, predicted first.

    The items of a side are ordered by document, then by their content. So a choice between equally good alignments does
    not depend on the order of a file.

    Attributes
    ----------
    n_predicted : int
    document : ndarray of int64, shape (n,)
        The reference that each item belongs to.
    columns : dict of str to ndarray of int64, shape (n,)
        Spans, as indices into ``Corpus.spans``, and labels, as indices into the values of ``Corpus.labels``.
    n_untyped : tuple of int
        The numbers of predicted and of gold items that are left out because their event has no type.
    """

    n_predicted: int
    document: np.ndarray
    columns: dict[str, np.ndarray]
    n_untyped: tuple[int, int]

    def split(self, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The predicted and the gold part of a column."""
        return column[: self.n_predicted], column[self.n_predicted :]


class Corpus(NamedTuple):
    """All items of both sides.

    Attributes
    ----------
    n_documents : int
    items : dict of str to FrameItems
        By frame.
    spans : Spans
    span_codes : ndarray of int64
        Equal integers for equal spans.
    labels : dict of str to tuple of (str or None)
        The values of each label. The first is None, a missing value.
    chains : ndarray of int64
        The coreference chain of each event in ``items["event"]``.
    chained : ndarray of int64
        The documents with coreference on either side, increasing.
    """

    n_documents: int
    items: dict[str, FrameItems]
    spans: Spans
    span_codes: np.ndarray
    labels: dict[str, tuple[str | None, ...]]
    chains: np.ndarray
    chained: np.ndarray


def collect_items(annotations: Annotations, n_documents: int) -> Corpus:
    """The items of both sides, from their annotations."""
    fields, arguments, targets = annotations.fields, annotations.arguments, annotations.targets
    codes: dict[str, np.ndarray] = {}
    labels: dict[str, tuple[str | None, ...]] = {}
    for name in dict.fromkeys((*EVENT_LABELS, *EXPRESSION_LABELS)):
        codes[name], labels[name] = encode_labels(fields[name], USUAL_VALUES.get(name, ()))
    role, labels["role"] = encode_labels(fields["arguments"].items["role"], ())

    events, expressions = (np.flatnonzero(fields["kind"] == kind) for kind in (EVENT, EXPRESSION))
    links = annotations.relations[LINK]
    # For each frame: the annotation with the labels, the event that must have a type, and the spans of each item.
    sources: dict[str, tuple[np.ndarray, np.ndarray, tuple[np.ndarray, ...]]] = {
        "event": (events, events, (events,)),
        "argument": (arguments.owner, arguments.owner, (arguments.owner, arguments.span)),
        "expression": (expressions, expressions, (expressions,)),
        "target": (targets.owner, targets.owner, (targets.owner, targets.span)),
        "link": (links[1], links[0], (links[0], links[1])),
    }
    span_codes = encode_spans(annotations.spans)
    items = {}
    for name, (labelled, event, spans) in sources.items():
        frame = FRAMES[name]
        columns = dict(zip(frame.spans, spans, strict=True))
        columns |= {label: role if label == "role" else codes[label][labelled] for label in frame.labels}
        is_counted = codes["type"][event] > 0 if frame.typed else np.ones(len(event), bool)
        items[name] = _sort_items(
            frame, columns, annotations.document[labelled], labelled >= annotations.n_predicted, is_counted, span_codes
        )

    related = annotations.relations[COREFERENCE]
    chains = connected(related[0], related[1], len(fields))[items["event"].columns["trigger"]]
    chained = np.unique(annotations.document[related[0]])
    return Corpus(n_documents, items, annotations.spans, span_codes, labels, chains, chained)


def _sort_items(
    frame: Frame,
    columns: dict[str, np.ndarray],
    document: np.ndarray,
    in_gold: np.ndarray,
    is_counted: np.ndarray,
    span_codes: np.ndarray,
) -> FrameItems:
    """The items that count, ordered by side, document and content."""
    n_untyped = int(np.sum(~is_counted & ~in_gold)), int(np.sum(~is_counted & in_gold))
    content = [span_codes[columns[name]] for name in frame.spans] + [columns[name] for name in frame.labels]
    order = np.argsort(encode(in_gold, document, *content), kind="stable")
    order = order[is_counted[order]]
    columns = {name: values[order] for name, values in columns.items()}
    return FrameItems(int(np.sum(~in_gold[order])), document[order], columns, n_untyped)


def encode_labels(column: np.ndarray, usual: Sequence[str]) -> tuple[np.ndarray, tuple[str | None, ...]]:
    """Labels as integers.

    Parameters
    ----------
    column : ndarray of object, or of int, shape (n,)
        Texts, None where there is none; or indices into `usual`, -1 where there is none.
    usual : sequence of str
        Values that come first.

    Returns
    -------
    codes : ndarray of int64, shape (n,)
        Indices into `values`.
    values : tuple of (str or None)
        None, then the usual values, then all others that occur, sorted.
    """
    if column.dtype != object:
        return column + 1, (None, *usual)
    texts = column.tolist()
    values = (None, *usual, *sorted({text for text in set(texts) if text is not None}.difference(usual)))
    code = {value: at for at, value in enumerate(values)}
    return np.fromiter(map(code.__getitem__, texts), np.int64, len(texts)), values


# --- overlap ----------------------------------------------------------------------------------------------------------


class Overlaps:
    """The predicted and gold items that overlap, found once for all components.

    Two items overlap if each span shares a token with the span of the same name.
    """

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._found: dict[tuple[str, tuple[str, ...]], Edges] = {}

    def of(self, frame: str, spans: tuple[str, ...]) -> Edges:
        """The overlapping items of a frame; `shared` counts the common tokens of the first span."""
        key = frame, spans
        if key not in self._found:
            self._found[key] = self._find(frame, spans)
        return self._found[key]

    def with_equal_labels(self, frame: str, spans: tuple[str, ...], labels: tuple[str, ...]) -> Edges:
        """The overlapping items of a frame that have equal labels."""
        items, edges = self._corpus.items[frame], self.of(frame, spans)
        if not labels:
            return edges
        predicted, gold = items.split(encode(*(items.columns[label] for label in labels)))
        equal = np.flatnonzero(predicted[edges.left] == gold[edges.right])
        return Edges(edges.left[equal], edges.right[equal], edges.shared[equal])

    def dice(self, frame: str, edges: Edges) -> np.ndarray:
        """Dice of the first spans of each edge, in (0, 1]: shape (m,)."""
        items = self._corpus.items[frame]
        left, right = items.split(self._corpus.spans.lengths[items.columns[FRAMES[frame].spans[0]]])
        return divide(2 * edges.shared, left[edges.left] + right[edges.right])

    def _find(self, frame: str, spans: tuple[str, ...]) -> Edges:
        items = self._corpus.items[frame]
        if len(spans) > 1:
            return in_both(self.of(frame, spans[:1]), self.of(frame, spans[1:]), len(items.document))
        document, gold_document = items.split(items.document)
        left, right = items.split(items.columns[spans[0]])
        return overlaps(self._corpus.spans.take(left), document, self._corpus.spans.take(right), gold_document)


def in_both(first: Edges, second: Edges, n_right: int) -> Edges:
    """The edges of `first` that are in `second` too; both are ordered, and indices on the right are below `n_right`."""
    keys, among = (edges.left * n_right + edges.right for edges in (first, second))
    at = np.searchsorted(among, keys)
    chosen = np.flatnonzero(at < len(among))
    chosen = chosen[among[at[chosen]] == keys[chosen]]
    return Edges(first.left[chosen], first.right[chosen], first.shared[chosen])


def equal_items(corpus: Corpus, frame: str, spans: tuple[str, ...], labels: tuple[str, ...]) -> Edges:
    """The predicted and gold items of the same document with equal spans and labels; each pair shares one token."""
    items = corpus.items[frame]
    columns = [corpus.span_codes[items.columns[name]] for name in spans] + [items.columns[name] for name in labels]
    left, right = (Spans(np.arange(len(side) + 1), side) for side in items.split(encode(*columns)))
    document, gold_document = items.split(items.document)
    return overlaps(left, document, right, gold_document)
