"""Documents of SENTiVENT: the annotations of both sides, the items that are counted, and the items that overlap.

The items are events, arguments, sentiment expressions, targets and links.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .columns import Lists, Struct, concatenate_columns, is_present, take
from .matching import (
    Edges,
    Spans,
    concatenate,
    connected,
    encode,
    encode_spans,
    overlaps,
    overlaps_in_all,
    token_sets,
)
from .mistakes import quote, quote_some
from .records import split_tokens
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
    ignored_annotations, ignored_relations : tuple of dict of str to int
        By kind, the numbers of predicted and of gold annotations that are no event, no expression and that no argument
        or target names, and of relations of other kinds.
    """

    n_predicted: int
    document: np.ndarray
    fields: Struct
    spans: Spans
    arguments: Pointers
    targets: Pointers
    relations: dict[str, np.ndarray]
    ignored_annotations: tuple[dict[str, int], dict[str, int]]
    ignored_relations: tuple[dict[str, int], dict[str, int]]


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
    is_ignored = (fields["kind"] != EVENT) & (fields["kind"] != EXPRESSION)
    n_before = len(fields)  # spans that come before the spans of pointers
    for name in POINTERS:
        column: Lists = fields[name]
        owner, index = column.owners, column.items["annotation"]
        own = n_before + np.arange(len(owner))
        named = index + annotations.offsets[record[owner]]
        pointers[name] = Pointers(owner, np.where(index < 0, own, named))
        is_ignored[named[index >= 0]] = False
        n_before += len(owner)

    relations: Lists = concatenate_columns([predictions["relations"], references["relations"]])
    start, kind = annotations.offsets[relations.owners], relations.items["kind"]
    ends = np.stack([start + relations.items[end] for end in ("from", "to")])
    is_known = (kind == LINK) | (kind == COREFERENCE)
    in_gold, of_gold_relation = (owners >= len(predictions) for owners in (record, relations.owners))
    return Annotations(
        int(annotations.offsets[len(predictions)]),
        document_of[record],
        fields,
        spans,
        pointers["arguments"],
        pointers["targets"],
        {name: ends[:, kind == name] for name in (LINK, COREFERENCE)},
        _count_kinds(fields["kind"][is_ignored], in_gold[is_ignored]),
        _count_kinds(kind[~is_known], of_gold_relation[~is_known]),
    )


def _count_kinds(kinds: np.ndarray, in_gold: np.ndarray) -> tuple[dict[str, int], dict[str, int]]:
    """How often each kind occurs in the predictions and in the references, by kind in alphabetical order."""
    predicted, gold = (dict(sorted(Counter(kinds[side].tolist()).items())) for side in (~in_gold, in_gold))
    return predicted, gold


def unknown_kinds(annotations: Annotations) -> list[str]:
    """Find the kinds of ignored annotations and relations of the predictions that the references do not have.

    Returns
    -------
    list of str
        The words of a warning for annotations and of one for relations, where there are such kinds.
    """
    gold_kinds = set(annotations.fields["kind"][annotations.n_predicted :].tolist())
    words = []
    for of_what, predicted, known, expected in (
        ("annotations", annotations.ignored_annotations[0], gold_kinds, (EVENT, EXPRESSION)),
        ("relations", annotations.ignored_relations[0], annotations.ignored_relations[1], (LINK, COREFERENCE)),
    ):
        unknown = [kind for kind in predicted if kind not in known]
        if unknown:
            words.append(
                f"predictions: {of_what} of kind {quote_some(unknown)} are ignored "
                f"({sum(predicted[kind] for kind in unknown)}), and the references have none, "
                f"expected {' or '.join(expected)}"
            )
    return words


def missing_fields(annotations: Annotations, with_factuality: bool) -> list[str]:
    """Find the fields that no annotation of one side has, although annotations of the other side have them.

    Polarities of expressions are also missed where neither side has any, since spans alone would then decide. (Events
    without a type are a part of the corpus.)

    Such a field may have been given under another name, which is no error, as records may have more keys.

    Parameters
    ----------
    annotations : Annotations
    with_factuality : bool
        Whether the labels of factuality are looked at too.

    Returns
    -------
    list of str
        The words of a warning for each.
    """
    fields, in_gold = annotations.fields, np.arange(len(annotations.fields)) >= annotations.n_predicted
    expected = {EVENT: ("type", "subtype", "arguments"), EXPRESSION: ("polarity", "targets")}
    if with_factuality:
        expected = {EVENT: (*EVENT_LABELS, "arguments"), EXPRESSION: (*EXPRESSION_LABELS, "targets")}
    found = []
    for kind, names in expected.items():
        of_kind = fields["kind"] == kind
        for name in names:
            column = fields[name]
            has = column.lengths > 0 if isinstance(column, Lists) else is_present(column)
            for side, other, here in (("predictions", "references", ~in_gold), ("references", "predictions", in_gold)):
                n, n_other = int(np.sum(of_kind & here)), int(np.sum(of_kind & has & ~here))
                if n and n_other and not (has & of_kind & here).any():
                    found.append(
                        f"{side}: none of the {n} annotations of kind {kind} has {name}, expected this key, which "
                        f"{n_other} of the {other} have"
                    )
            if (kind, name) == (EXPRESSION, "polarity") and of_kind.any() and not (has & of_kind).any():
                found.append(
                    f"none of the {of_kind.sum()} annotations of kind {kind} on both sides has {name}, expected "
                    f"this key"
                )
    links = annotations.relations[LINK][0]
    n_predicted = int(np.sum(links < annotations.n_predicted))
    n_gold = len(links) - n_predicted
    has_both = [all((fields["kind"][side] == kind).any() for kind in expected) for side in (~in_gold, in_gold)]
    for side, n, n_other, may_have in (("predictions", n_predicted, n_gold, 0), ("references", n_gold, n_predicted, 1)):
        if not n and n_other and has_both[may_have]:
            found.append(
                f"{side}: there are no relations of kind {LINK}, expected some, as the other side has {n_other}"
            )
    return found


def _token_sets(spans: Lists) -> Spans:
    return token_sets(spans.offsets, spans.items)


def check_same_tokens(predictions: Struct, references: Struct, order: np.ndarray) -> None:
    """Refuse records whose tokens differ: their indices mean different tokens.

    Parameters
    ----------
    predictions, references : Struct
        The tokens of each document; see `records.Tokens`. A missing list is not compared.
    order : ndarray of int64
        The reference of each prediction.

    Raises
    ------
    ValueError
    """
    expected = take(references, order)
    both = (predictions["number"] >= 0) & (expected["number"] >= 0)
    is_other = (predictions["text"] != expected["text"]) | (predictions["number"] != expected["number"])
    for record in np.flatnonzero(both & is_other.astype(bool)).tolist():
        ours, theirs = _tokens_at(predictions, record), _tokens_at(expected, record)
        for index, (token, other) in enumerate(zip(ours, theirs, strict=False)):
            if token != other:
                raise ValueError(
                    f"predictions[{record}].tokens[{index}]: {quote(token)} is not the reference's token, "
                    f"expected {quote(other)}"
                )
        raise ValueError(
            f"predictions[{record}].tokens[{min(len(ours), len(theirs))}]: the predictions' document has "
            f"{len(ours)} tokens, expected {len(theirs)} as in the reference"
        )


def _tokens_at(tokens: Struct, at: int) -> list[str]:
    return split_tokens(tokens["text"][at]) if tokens["number"][at] else []


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
        codes = np.unique(encode(*(items.columns[label] for label in labels)), return_inverse=True)[1]
        predicted, gold = items.split(codes.astype(np.int32))
        equal = predicted[edges.left] == gold[edges.right]
        if equal.all():
            return edges
        return Edges(edges.left[equal], edges.right[equal], edges.shared[equal])

    def dice(self, frame: str, edges: Edges) -> np.ndarray:
        """Dice of the first spans of each edge, in (0, 1]: shape (m,)."""
        items = self._corpus.items[frame]
        lengths = self._corpus.spans.lengths.astype(np.int32)[items.columns[FRAMES[frame].spans[0]]]
        left, right = items.split(lengths)
        return np.asarray(2 * edges.shared / (left[edges.left] + right[edges.right]))

    def _find(self, frame: str, spans: tuple[str, ...]) -> Edges:
        items = self._corpus.items[frame]
        chosen = [items.split(items.columns[name]) for name in spans]
        left, right = ([self._corpus.spans.take(side[at]) for side in chosen] for at in (0, 1))
        document, gold_document = items.split(items.document)
        return overlaps_in_all(left, document, right, gold_document)


def equal_items(corpus: Corpus, frame: str, spans: tuple[str, ...], labels: tuple[str, ...]) -> Edges:
    """The predicted and gold items of the same document with equal spans and labels; each pair shares one token."""
    items = corpus.items[frame]
    columns = [corpus.span_codes[items.columns[name]] for name in spans] + [items.columns[name] for name in labels]
    left, right = (Spans(np.arange(len(side) + 1), side) for side in items.split(encode(*columns)))
    document, gold_document = items.split(items.document)
    return overlaps(left, document, right, gold_document)
