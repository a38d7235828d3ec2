"""SENTiVENT: economic events and implicit sentiment in whole documents, as a Hugging Face Evaluate metric.

The file reads as the benchmark's definition: what a record is, what is counted, what is scored. What a component
compares is data: a row of `COMPONENTS` or `FACTUALITY`. Counting gives a table of integers, one row a document; every
score is a function of the table's sum.
"""

import warnings
from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

import datasets
import evaluate
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .coreference import (
    chain_statistics,
    coreference_scores,
    singleton_statistics,
)
from .matching import (
    COUNT_NAMES,
    GOLD,
    PREDICTED,
    TRUE_POSITIVES,
    Edges,
    Matches,
    Ratio,
    Spans,
    align_by,
    common,
    concatenate,
    connected,
    divide,
    explain,
    match,
    most_pairs,
    number,
    number_spans,
    overlaps,
    pairs,
    rates_or,
    row,
    spans,
    tabulate,
)
from .records import (
    CONFIDENCE,
    ByKind,
    Choice,
    Flag,
    Identifier,
    Integer,
    Items,
    Optional,
    Record,
    Staging,
    Text,
    flag,
    integers,
    lists,
    owners,
    pair,
    shown,
)
from .resampling import Statistics, add_intervals, number_groups

VERSION = "0.4.0"

_DESCRIPTION = """\
SENTiVENT: economic events with their arguments, implicit sentiment with its targets, and links between the two, in
whole news articles (Jacobs and Hoste 2021, 2022). The headline is a mean of the F1 of five components (twelve with
factuality), weighted by fixed supports, in percent; spans must be equal token for token, and overlap in the relaxed
profile.
"""

_CITATION = """\
@article{jacobs2022sentivent,
  title = {{SENTiVENT}: enabling supervised information extraction of company-specific events in economic and financial
    news},
  author = {Jacobs, Gilles and Hoste, Veronique},
  journal = {Language Resources and Evaluation},
  volume = {56},
  pages = {225--257},
  year = {2022},
  doi = {10.1007/s10579-021-09562-4}
}
@article{jacobs2021fine,
  title = {Fine-Grained Implicit Sentiment in Financial News: Uncovering Hidden Bulls and Bears},
  author = {Jacobs, Gilles and Hoste, Veronique},
  journal = {Electronics},
  volume = {10},
  number = {20},
  year = {2021}
}
@inproceedings{liu2015evaluation,
  title = {Evaluation Algorithms for Event Nugget Detection: A Pilot Study},
  author = {Liu, Zhengzhong and Mitamura, Teruko and Hovy, Eduard},
  booktitle = {Proceedings of the 3rd Workshop on EVENTS at the NAACL-HLT 2015},
  pages = {53--57},
  year = {2015}
}
"""

_KWARGS_DESCRIPTION = """
Parameters
----------
predictions, references : list of records
    A record is ``{"id": ..., "tokens": [...], "annotations": [...], "relations": ...}``; only annotations are needed,
    and rows of the dataset's ``sentivent_unified_document`` are records as they are. An annotation is
    ``{"id", "kind", "span"}`` and, by kind,

    * ``event``: ``type`` (null for a mere carrier of sentiment), ``subtype``, ``polarity``, ``scoped_polarity``,
      ``realis``, ``modality``, ``negated``, ``arguments`` (each with ``role`` and a pointer);
    * ``sentiment_expression``: ``polarity``, ``scoped_polarity``, ``uncertain``, ``negated``, ``targets`` (pointers);
    * any other kind holds a span that pointers may name.

    A span is ``{"tokens": [...]}`` or the list of token indices, counted from 0. A pointer is the id of an annotation,
    ``{"id": ...}``, or ``{"span": ...}``. Relations are ``{"event_sentiment": [{"from", "to"}], "event_coreference":
    [...]}``, or a list of items with ``kind``. A missing label is a value like any other in the strict and relaxed
    components; factuality leaves it out.
include_factuality : bool, default False
    Adds the seven factuality components to the tables and to the scores.
relaxed : bool, default True
    Whether the profile is scored in which overlapping spans match.
per_document : bool, default False
    Adds the counts of each document, one dict a component.
return_errors : bool, default False
    Adds what was missed, spurious, or wrong in one respect, in the five strict components.
confidence_level : float in (0, 1), optional
    Adds ``confidence_intervals``, ``[low, high]`` of each headline score, by resampling documents with replacement.
n_resamples, random_state : int, default 1000 and 0
interval_method : {"percentile", "bca"}, default "percentile"
groups : list of keys, one a reference, optional
    Documents of one key are resampled together.

Returns
-------
dict
    ``sentivent_score``, ``sentivent_macro_score``, ``sentivent_relaxed_score``, ``sentivent_relaxed_macro_score``
    (percent, or None); ``strict`` and ``relaxed``, a row a component; ``strict["classification_report"]``;
    ``weights``; ``ignored_relations``; ``coreference`` if either side has event coreference; ``signature``.

Examples
--------
>>> import evaluate
>>> sentivent = evaluate.load("sentivent_metric.py")
>>> event = {"id": "e1", "kind": "event", "span": [3, 4], "type": "Deal"}
>>> gold = [{"annotations": [event, {**event, "id": "e2", "span": [7]}]}]
>>> result = sentivent.compute(predictions=[{"annotations": [event]}], references=gold)
>>> round(result["sentivent_score"], 2), result["strict"]["event_trigger"]["precision"]
(66.67, 100.0)
>>> result["weights"]["active"]
{'event_trigger': 1.0}
"""

EVENT, EXPRESSION = "event", "sentiment_expression"
LINK, COREFERENCE = "event_sentiment", "event_coreference"
POLARITIES = ("positive", "negative", "neutral")

# Other names that a field, a kind of annotation or a relation may be given under. The published names of kind, span,
# scoped_polarity and the relations are known; the rest of the names is ours, so here is where others are to be added.
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {
    "record": {"id": ("document_id", "doc_id")},
    "annotation": {
        "id": ("annotation_id",),
        "type": ("event_type", "main_type"),
        "subtype": ("event_subtype", "sub_type"),
        "polarity": ("raw_polarity", "polarity_raw", "polarity_sentiment"),
        "scoped_polarity": ("polarity_scoped", "polarity_sentiment_scoped"),
        "realis": ("event_realis",),
        "modality": ("event_modality",),
        "negated": ("is_negated", "negation"),
        "uncertain": ("is_uncertain", "uncertainty"),
        "arguments": ("event_arguments", "args"),
        "targets": ("target", "sentiment_targets"),
    },
    "span": {"tokens": ("token_indices", "indices")},
    "pointer": {
        "role": ("argument_role",),
        "id": ("annotation_id", "argument", "argument_id", "target", "target_id"),
        "span": ("tokens", "token_indices"),
    },
    "relation": {
        "kind": ("relation_kind",),
        "from": ("source", "event", "from_id"),
        "to": ("target", "expression", "to_id"),
    },
    "kind of annotation": {
        EVENT: ("event_trigger", "trigger"),
        EXPRESSION: ("expression", "sentiment", "implicit_sentiment"),
    },
    "kind of relation": {LINK: ("event_sentiment_link",), COREFERENCE: ("coreference",)},
    "polarity": {"positive": ("pos", "+positive"), "negative": ("neg", "-negative"), "neutral": ("neu", "=neutral")},
}

# The usual labels of the fields that have few. Realis and modality may be any text, so that systems with a finer scale
# than the corpus can be scored against it.
LABELS: dict[str, tuple[str, ...]] = {
    "polarity": POLARITIES,
    "scoped_polarity": POLARITIES,
    "realis": ("asserted", "other"),
    "modality": ("certain", "other"),
    "negated": ("false", "true"),
    "uncertain": ("false", "true"),
}


class Frame(NamedTuple):
    """What items of one sort are made of.

    Attributes
    ----------
    spans, labels : tuple of str
        The names of its columns.
    typed : bool
        Whether the event it belongs to must have a type.
    """

    spans: tuple[str, ...]
    labels: tuple[str, ...]
    typed: bool = False


FRAMES = {
    "event": Frame(
        ("trigger",), ("type", "subtype", "polarity", "scoped_polarity", "realis", "modality", "negated"), True
    ),
    "argument": Frame(("trigger", "argument"), ("type", "role"), True),
    "expression": Frame(("expression",), ("polarity", "scoped_polarity", "uncertain", "negated")),
    "target": Frame(("expression", "target"), ("polarity",)),
    "link": Frame(("trigger", "expression"), ("polarity",), True),
}


class Component(NamedTuple):
    """What one component compares.

    Attributes
    ----------
    name, frame : str
    spans, labels : tuple of str
        The columns of the frame in which equal items are equal.
    report : tuple of str
        The columns whose values, joined by a dot, are the label in the classification report.
    support : int
        Its fixed weight, from train and validation; 0 for a row that is in no score.
    repeats : {"count", "set"}
        Whether items of a document are a multiset or a set.
    """

    name: str
    frame: str
    spans: tuple[str, ...]
    labels: tuple[str, ...] = ()
    report: tuple[str, ...] = ()
    support: int = 0
    repeats: str = "count"


COMPONENTS = (
    Component("event_trigger", "event", ("trigger",), ("type", "subtype"), ("type", "subtype"), 5256),
    Component("event_argument", "argument", ("trigger", "argument"), ("type", "role"), ("role",), 11492),
    Component("sentiment_expression", "expression", ("expression",), ("polarity",), ("polarity",), 3341),
    Component("sentiment_target", "target", ("expression", "target"), ("polarity",), ("polarity",), 3933),
    Component("event_sentiment_link", "link", ("trigger", "expression"), ("polarity",), ("polarity",), 77),
    Component("trigger_identification", "event", ("trigger",)),
    Component("event_type", "event", ("trigger",), ("type",)),
    Component("event_polarity", "event", ("trigger",), ("polarity",)),
    Component("argument_identification", "argument", ("trigger", "argument")),
    Component("expression_identification", "expression", ("expression",)),
    Component("target_identification", "target", ("expression", "target")),
    Component("link_identification", "link", ("trigger", "expression")),
    Component("target", "target", ("target",), repeats="set"),
    Component("target_polarity", "target", ("target",), ("polarity",), repeats="set"),
)
SCORED = tuple(component for component in COMPONENTS if component.support)


class Factor(NamedTuple):
    """A label of aligned events or expressions, with its fixed weight."""

    name: str
    frame: str
    label: str
    support: int


FACTUALITY = (
    Factor("event_scoped_polarity", "event", "scoped_polarity", 5256),
    Factor("event_realis", "event", "realis", 5256),
    Factor("event_modality", "event", "modality", 5256),
    Factor("event_negated", "event", "negated", 5256),
    Factor("sentiment_scoped_polarity", "expression", "scoped_polarity", 3341),
    Factor("sentiment_uncertain", "expression", "uncertain", 3341),
    Factor("sentiment_negated", "expression", "negated", 3341),
)
# In what events and expressions must agree to be aligned for factuality, besides their span.
_ALIGNED_BY = {"event": ("type",), "expression": ()}

# The kinds of error, in the order of the page, and which labels they mend. A subtype is mended with its type.
_KINDS = ("wrong_boundary", "wrong_type", "wrong_subtype", "wrong_polarity", "wrong_role", "wrong_attachment")
_KIND_OF_LABEL = {label: f"wrong_{label}" for label in ("type", "subtype", "polarity", "role")}
# What an item may be wrongly attached to, and the labels that come with it.
_ATTACHED_TO: dict[str, dict[str, tuple[str, ...]]] = {
    "event_argument": {"trigger": ("type",)},
    "sentiment_target": {"expression": ("polarity",)},
    "event_sentiment_link": {"trigger": (), "expression": ("polarity",)},
}


# --- records ----------------------------------------------------------------------------------------------------------


def _aliases(what: str) -> dict[str, str]:
    return {alias: name for name, others in ALIASES[what].items() for alias in others}


def _names(what: str) -> dict[str, str]:
    """The names of values: their own and other ones."""
    return {name: name for name in ALIASES[what]} | _aliases(what)


_ANNOTATION_KINDS = _names("kind of annotation")


def _kind(text: str) -> str | None:
    """The kind of annotation that a text names, in any case; one that is not known is as it is."""
    return _ANNOTATION_KINDS.get(text.lower(), text) if text.strip() else None


def _label(labels: tuple[str, ...], other_names: Mapping[str, str]) -> Optional:
    names = {label: label for label in labels} | dict(other_names)
    return Optional(Choice({label: label for label in labels}, find=lambda text: names.get(text.lower())))


class _Reference(Identifier):
    """The id of an annotation, or a dict that has it."""

    def read(self, value: Any) -> str:
        return super().read(value["id"] if isinstance(value, Mapping) and "id" in value else value)


class _Annotation(Record):
    """An annotation; of its fields, only those of its kind are read."""

    fields_of = {
        EVENT: {*FRAMES["event"].labels, "arguments"},
        EXPRESSION: {*FRAMES["expression"].labels, "targets"},
    }

    def read(self, value: Any) -> dict:
        if isinstance(value, Mapping):
            value = self.renamed(value)
            kind = value.get("kind")
            wanted = self.fields_of.get(_kind(kind) or "", set()) if isinstance(kind, str) else set()
            value = {key: item for key, item in value.items() if key in wanted or key in ("id", "kind", "span")}
        return super().read(value)


def _is_indices(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset, range, np.ndarray))


def _is_pair(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2


def _pointer(value: Any) -> dict | None:
    if isinstance(value, Mapping):
        return None
    return {"span": value} if _is_indices(value) else {"id": value}


def _argument(value: Any) -> dict | None:
    if not _is_pair(value):
        return None
    role, pointer = value
    return {"role": role, **(pointer if isinstance(pointer, Mapping) else _pointer(pointer) or {})}


_SPAN = Record(
    {"tokens": Items(Integer("a token index"), "the token indices of a span", minimum=1)},
    "a span: a dict with tokens, or a list of token indices",
    other=lambda value: {"tokens": value} if _is_indices(value) else None,
    aliases=_aliases("span"),
)
_POINTS = {"id": Optional(_Reference()), "span": Optional(_SPAN)}
_ARGUMENT = Record(
    {"role": Text("a role", blank=False), **_POINTS},
    "an argument: a dict with a role and an id or a span",
    other=_argument,
    aliases=_aliases("pointer"),
)
_TARGET = Record(
    dict(_POINTS),
    "a target: the id of an annotation, or a dict with an id or a span",
    other=_pointer,
    aliases={alias: name for alias, name in _aliases("pointer").items() if name != "role"},
)
_RELATION = Record(
    {"from": _Reference(), "to": _Reference()},
    "a relation: a dict with from and to",
    other=lambda value: dict(zip(("from", "to"), value, strict=True)) if _is_pair(value) else None,
    aliases=_aliases("relation"),
)
_POLARITY = _label(POLARITIES, _aliases("polarity"))
_DOCUMENT = Record(
    {
        "id": Optional(Identifier()),
        "tokens": Optional(Items(Text("a token"), "a list of tokens")),
        "annotations": Items(
            _Annotation(
                {
                    "id": Optional(Identifier()),
                    "kind": Choice(
                        _ANNOTATION_KINDS,
                        find=_kind,
                        listed=(EVENT, EXPRESSION, "or the kind of a mere span, such as participant"),
                    ),
                    "span": Optional(_SPAN),
                    "type": Optional(Text("an event type", blank=False)),
                    "subtype": Optional(Text("an event subtype", blank=False)),
                    "polarity": _POLARITY,
                    "scoped_polarity": _POLARITY,
                    "realis": Optional(Text("a realis label, such as asserted or other", blank=False)),
                    "modality": Optional(Text("a modality label, such as certain or other", blank=False)),
                    "negated": Optional(Flag()),
                    "uncertain": Optional(Flag()),
                    "arguments": Optional(Items(_ARGUMENT, "a list of arguments")),
                    "targets": Optional(Items(_TARGET, "a list of targets")),
                },
                "an annotation: a dict with kind and span",
                aliases=_aliases("annotation"),
            ),
            "a list of annotations",
        ),
        "relations": Optional(
            ByKind(_RELATION, _names("kind of relation"), "relations: a dict by kind, or a list of dicts with kind")
        ),
    },
    "a record: a dict with annotations",
    aliases=_aliases("record"),
)


class Pointers(NamedTuple):
    """The arguments of all events, or the targets of all expressions.

    Attributes
    ----------
    owner : ndarray of int64
        The annotation each belongs to.
    column : pyarrow.StructArray
    span : ndarray of int64
        The place of its span.
    """

    owner: np.ndarray
    column: pa.StructArray
    span: np.ndarray


class Annotations(NamedTuple):
    """The annotations of some records, with all pointers resolved.

    Attributes
    ----------
    record : ndarray of int64, shape (n,)
        The record each belongs to.
    column : pyarrow.StructArray, length n
    spans : Spans
        Those of the annotations (empty where there is none), then those that arguments and targets carry themselves.
    arguments, targets : Pointers
    relations : dict of str to ndarray of int64, shape (2, m)
        By kind, the annotations that are related: from and to.
    ignored : ndarray of int64
        For each relation of a kind that is not known, its record.
    """

    record: np.ndarray
    column: pa.StructArray
    spans: Spans
    arguments: Pointers
    targets: Pointers
    relations: dict[str, np.ndarray]
    ignored: np.ndarray


def _mask(column: pa.Array) -> np.ndarray:
    return column.fill_null(False).to_numpy(zero_copy_only=False)


def _token_lists(column: pa.StructArray) -> tuple[np.ndarray, np.ndarray]:
    offsets, tokens = lists(column.field("tokens"))
    return offsets, integers(tokens).astype(np.int64)


def _resolve(side: str, column: pa.StructArray, n_tokens: np.ndarray) -> Annotations:
    """Find what every pointer points to, and refuse what only several values of a document together show to be wrong.

    Parameters
    ----------
    side : str
        For errors.
    column : pyarrow.StructArray
    n_tokens : ndarray of int, shape (len(column),)
        The number of tokens of each record, -1 where they are not given.
    """
    offsets, annotations = lists(column.field("annotations"))
    record = owners(offsets)
    n_annotations = len(record)

    def place(annotation: int) -> str:
        return f"{side}[{record[annotation]}].annotations[{annotation - offsets[record[annotation]]}]"

    kind = annotations.field("kind")
    of_kind = {name: _mask(pc.equal(kind, name)) for name in (EVENT, EXPRESSION)}
    given: dict[str, tuple[np.ndarray, pa.StructArray, np.ndarray]] = {}
    for name, owner_kind in (("arguments", EVENT), ("targets", EXPRESSION)):
        pointer_offsets, pointers = lists(annotations.field(name))
        owner = owners(pointer_offsets)
        index = np.arange(len(owner)) - pointer_offsets[owner]
        keep = of_kind[owner_kind][owner]
        given[name] = owner[keep], pointers.filter(pa.array(keep)), index[keep]

    def pointer_place(at: int) -> str:
        """The place of a pointer among all arguments, then all targets."""
        n_arguments = len(given["arguments"][0])
        name, at = ("arguments", at) if at < n_arguments else ("targets", at - n_arguments)
        owner, _, index = given[name]
        return f"{place(owner[at])}.{name}[{index[at]}]"

    pointer_owner = np.concatenate([owner for owner, _, _ in given.values()])
    relation_offsets, relations = lists(column.field("relations"))
    relation_record = owners(relation_offsets)
    relation_kind = relations.field("kind")
    known = _mask(relations.field("from").is_valid())
    ends = relations.filter(pa.array(known))
    relation_kind, end_record = relation_kind.filter(pa.array(known)), relation_record[known]

    # The id of each annotation, of each pointer, and of both ends of each relation, as integers within the records.
    texts = [annotations.field("id"), *(pointers.field("id") for _, pointers, _ in given.values())]
    texts += [ends.field("from"), ends.field("to")]
    coded = pa.concat_arrays(texts).dictionary_encode()
    code = integers(coded.indices.fill_null(-1)).astype(np.int64) + 1
    names = number(np.concatenate([record, record[pointer_owner], end_record, end_record]), code)
    with_id = np.flatnonzero(code[:n_annotations])
    order = with_id[np.argsort(names[:n_annotations][with_id], kind="stable")]
    ordered = names[order]
    again = np.flatnonzero(ordered[1:] == ordered[:-1])
    if len(again):
        at = int(order[again + 1].min())
        raise ValueError(
            f"{place(at)}.id: {shown(texts[0][at].as_py())} is repeated, expected ids that differ within a document"
        )
    wanted = names[n_annotations:]
    found = np.searchsorted(ordered, wanted)
    exists = found < len(ordered)
    exists[exists] = ordered[found[exists]] == wanted[exists]
    annotation_of = np.full(len(wanted), -1)
    annotation_of[exists] = order[found[exists]]
    n_pointers = len(pointer_owner)

    # Spans: of annotations, then of pointers that carry their own.
    sides = [_token_lists(annotations.field("span"))]
    sides += [_token_lists(pointers.field("span")) for _, pointers, _ in given.values()]
    _check_inside(record, pointer_owner, sides, n_tokens, place, pointer_place)
    every = spans(*sides[0])
    missing = every.lengths == 0
    spanless = missing & (of_kind[EVENT] | of_kind[EXPRESSION])
    if spanless.any():
        raise ValueError(f"{place(int(np.argmax(spanless)))}.span: missing, expected {_SPAN.what}")
    for more in sides[1:]:
        every = concatenate(every, spans(*more))
    has_own = every.lengths[n_annotations:] > 0
    has_id = code[n_annotations : n_annotations + n_pointers] > 0
    target = annotation_of[:n_pointers]

    def refuse_pointer(wrong: np.ndarray, words: str) -> None:
        if wrong.any():
            at = int(np.argmax(wrong))
            name = shown(pa.concat_arrays(texts[1:3])[at].as_py())
            raise ValueError(f"{pointer_place(at)}: {words.format(name=name)}")

    refuse_pointer(~has_own & ~has_id, "points to nothing, expected the id of an annotation, or a span")
    refuse_pointer(has_id & (target < 0), "{name} is the id of nothing, expected that of an annotation of the document")
    refuse_pointer(has_id & missing[target], "{name} has no span, expected an annotation with one")
    own_span = n_annotations + np.arange(n_pointers)
    both = has_id & has_own
    if both.any():
        same = number_spans(every)
        refuse_pointer(both & (same[own_span] != same[target]), "{name} has another span, expected one that agrees")
    span_of = np.where(has_id, target, own_span)

    n_arguments = len(given["arguments"][0])
    parts = (slice(0, n_arguments), slice(n_arguments, None))
    resolved = {
        name: Pointers(owner, pointers, span_of[part])
        for part, (name, (owner, pointers, _)) in zip(parts, given.items(), strict=True)
    }
    related = annotation_of[n_pointers:].reshape(2, -1)
    by_kind = _relations(side, relation_kind, end_record, ends, related, kind)
    return Annotations(record, annotations, every, **resolved, relations=by_kind, ignored=relation_record[~known])


def _check_inside(
    record: np.ndarray, pointer_owner: np.ndarray, sides: list, n_tokens: np.ndarray, place: Any, pointer_place: Any
) -> None:
    """Refuse token indices past the end, where the tokens are given."""
    limits = [n_tokens[record], n_tokens[record[pointer_owner]]]
    lengths_of = [np.diff(offsets) for offsets, _ in sides]
    for lengths, tokens, limit, where in (
        (lengths_of[0], sides[0][1], limits[0], place),
        (np.concatenate(lengths_of[1:]), np.concatenate([own for _, own in sides[1:]]), limits[1], pointer_place),
    ):
        owner = np.repeat(np.arange(len(lengths)), lengths)
        past = (tokens >= limit[owner]) & (limit[owner] >= 0)
        if past.any():
            at = int(np.argmax(past))
            first = int(lengths[: owner[at]].sum())
            raise ValueError(
                f"{where(int(owner[at]))}.span.tokens[{at - first}]: {tokens[at]} is past the end, "
                f"expected an index below {limit[owner[at]]}, the number of tokens"
            )


def _relations(
    side: str, kind: pa.Array, record: np.ndarray, ends: pa.StructArray, related: np.ndarray, annotated: pa.Array
) -> dict[str, np.ndarray]:
    """The relations by kind; each end must be an annotation of the right kind."""
    found = {}
    for name, kinds in ((LINK, (EVENT, EXPRESSION)), (COREFERENCE, (EVENT, EVENT))):
        chosen = np.flatnonzero(_mask(pc.equal(kind, name)))
        for end, wanted, annotation in zip(("from", "to"), kinds, related[:, chosen], strict=True):
            wrong = annotation < 0
            wrong[~wrong] = ~_mask(pc.equal(annotated.take(pa.array(annotation[~wrong])), wanted))
            if wrong.any():
                at = int(np.argmax(wrong))
                what = (
                    "the id of nothing" if annotation[at] < 0 else f"of kind {shown(annotated[annotation[at]].as_py())}"
                )
                index = int((record[chosen[:at]] == record[chosen[at]]).sum())
                raise ValueError(
                    f"{side}[{record[chosen[at]]}].relations.{name}[{index}].{end}: "
                    f"{shown(ends.field(end)[chosen[at]].as_py())} is {what}, expected the id of an annotation "
                    f"of the document that is of kind {wanted}"
                )
        found[name] = related[:, chosen]
    return found


def _n_tokens(column: pa.StructArray) -> np.ndarray:
    return integers(pc.list_value_length(column.field("tokens")).fill_null(-1)).astype(np.int64)


def _check_same_tokens(predictions: pa.StructArray, references: pa.StructArray, order: np.ndarray) -> None:
    """Refuse records whose tokens differ: their indices do not mean the same."""
    sides = predictions.field("tokens"), references.field("tokens").take(pa.array(order))
    both = pc.and_(*(side.is_valid() for side in sides))
    at = np.flatnonzero(_mask(both))
    (predicted_offsets, predicted), (gold_offsets, gold) = (lists(side.filter(both)) for side in sides)
    if np.array_equal(predicted_offsets, gold_offsets) and predicted.equals(gold):
        return
    for record, ours, theirs in zip(at.tolist(), *(side.filter(both).to_pylist() for side in sides), strict=True):
        for index, (token, expected) in enumerate(zip(ours, theirs, strict=False)):
            if token != expected:
                raise ValueError(
                    f"predictions[{record}].tokens[{index}]: {shown(token)} is not the reference's token, "
                    f"expected {shown(expected)}"
                )
        if len(ours) != len(theirs):
            raise ValueError(
                f"predictions[{record}].tokens[{min(len(ours), len(theirs))}]: the predictions' document has "
                f"{len(ours)} tokens, expected {len(theirs)} as in the reference"
            )


# --- count ------------------------------------------------------------------------------------------------------------


class Table(NamedTuple):
    """The items of one frame on both sides, predicted first.

    Within a side they are in an order that comes from what they are, not from where they stand, so that a choice
    between alignments that are equally good does not depend on the order of a file.

    Attributes
    ----------
    n_predicted : int
    document : ndarray of int64
        The reference each item belongs to.
    columns : dict of str to ndarray of int64
        Its spans, as places in `Corpus.spans`, and labels, as places in `Corpus.labels`.
    left_out : tuple of int
        How many predicted and gold items were left out because their event has no type.
    """

    n_predicted: int
    document: np.ndarray
    columns: dict[str, np.ndarray]
    left_out: tuple[int, int]

    def halves(self, column: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The predicted and the gold part of a column."""
        return column[: self.n_predicted], column[self.n_predicted :]


class Corpus(NamedTuple):
    """All items of both sides.

    Attributes
    ----------
    n_documents : int
    tables : dict of str to Table
    spans : Spans
    span_number : ndarray of int64
        Equal for equal spans.
    labels : dict of str to sequence of (str or None)
        The values of each label; None, which is a missing one, is the first.
    chain : ndarray of int64
        The coreference chain of each row of the event table.
    chained : ndarray of int64
        The documents that have coreference on either side.
    """

    n_documents: int
    tables: dict[str, Table]
    spans: Spans
    span_number: np.ndarray
    labels: dict[str, tuple[str | None, ...]]
    chain: np.ndarray
    chained: np.ndarray


def _coded(column: pa.Array, usual: tuple[str, ...]) -> tuple[np.ndarray, tuple[str | None, ...]]:
    """Labels as integers, 0 for a missing one, then the usual ones, then what else occurs, sorted."""
    if pa.types.is_boolean(column.type):
        column = pc.if_else(column, "true", "false")
    occurring = set(column.drop_null().unique().to_pylist())
    labels = (None, *usual, *sorted(occurring.difference(usual)))
    code = pc.index_in(column, pa.array(labels[1:], pa.string())).fill_null(-1)
    return integers(code).astype(np.int64) + 1, labels


def _corpus(annotated: Annotations, document_of: np.ndarray, n_predicted: int, n_documents: int) -> Corpus:
    """The items of both sides, from the annotations of the predictions followed by those of the references."""
    column = annotated.column
    kinds = {name: np.flatnonzero(_mask(pc.equal(column.field("kind"), name))) for name in (EVENT, EXPRESSION)}
    coded: dict[str, np.ndarray] = {}
    labels: dict[str, tuple[str | None, ...]] = {}
    for name in dict.fromkeys((*FRAMES["event"].labels, *FRAMES["expression"].labels)):
        bears = np.zeros(len(column), bool)
        for kind, sort in ((EVENT, "event"), (EXPRESSION, "expression")):
            bears[kinds[kind]] |= name in FRAMES[sort].labels
        values = column.field(name)
        values = pc.if_else(pa.array(bears), values, pa.scalar(None, values.type))
        coded[name], labels[name] = _coded(values, LABELS.get(name, ()))
    role, labels["role"] = _coded(annotated.arguments.column.field("role"), ())

    arguments, targets, links = annotated.arguments, annotated.targets, annotated.relations[LINK]
    # Of each frame: the annotations whose labels its items have, the event that must have a type, and further columns.
    rows: dict[str, tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]] = {
        "event": (kinds[EVENT], kinds[EVENT], {"trigger": kinds[EVENT]}),
        "argument": (
            arguments.owner,
            arguments.owner,
            {"trigger": arguments.owner, "argument": arguments.span, "role": role},
        ),
        "expression": (kinds[EXPRESSION], kinds[EXPRESSION], {"expression": kinds[EXPRESSION]}),
        "target": (targets.owner, targets.owner, {"expression": targets.owner, "target": targets.span}),
        "link": (links[1], links[0], {"trigger": links[0], "expression": links[1]}),
    }
    span_number = number_spans(annotated.spans)
    tables = {}
    for name, (labelled, event, more) in rows.items():
        frame = FRAMES[name]
        columns = more | {label: coded[label][labelled] for label in frame.labels if label not in more}
        record = annotated.record[labelled]
        gold = record >= n_predicted
        keep = coded["type"][event] > 0 if frame.typed else np.ones(len(record), bool)
        left_out = (int(np.sum(~keep & ~gold)), int(np.sum(~keep & gold)))
        document = document_of[record]
        keys = [gold, document, *(span_number[columns[s]] for s in frame.spans), *(columns[s] for s in frame.labels)]
        order = np.lexsort(keys[::-1])
        order = order[keep[order]]
        columns = {label: values[order] for label, values in columns.items()}
        tables[name] = Table(int(np.sum(~gold[order])), document[order], columns, left_out)

    related = annotated.relations[COREFERENCE]
    chain = connected(related[0], related[1], len(column))[tables["event"].columns["trigger"]]
    chained = np.unique(document_of[annotated.record[related[0]]])
    return Corpus(n_documents, tables, annotated.spans, span_number, labels, chain, chained)


class Counts(NamedTuple):
    """What was counted.

    Attributes
    ----------
    names : list of str
        The counted rows: profile and component, for factuality with the label after a colon; and of each factuality
        component ``aligned`` (correct, aligned, aligned with a gold label) and ``labelled`` (0, and the predicted and
        gold records with a label, aligned or not).
    table : ndarray of int64, shape (n_documents, len(names), 3)
    reports : dict of str to dict of str to ndarray of int64, shape (3,)
        The counts of each label of each component, over all documents: there may be hundreds of labels, and no score
        is a function of them.
    different : dict of str to Matches
        The different items of each component.
    """

    names: list[str]
    table: np.ndarray
    reports: dict[str, dict[str, np.ndarray]]
    different: dict[str, Matches]

    def aligned(self, names: list[str]) -> np.ndarray:
        """The table with these rows, 0 where they were not counted."""
        table = np.zeros((len(self.table), len(names), 3), np.int64)
        table[:, [names.index(name) for name in self.names]] = self.table
        return table


def count(corpus: Corpus, relaxed: bool, include_factuality: bool) -> Counts:
    """Count all components, by document (score version 0.4.0; relaxed alignment after Liu et al. 2015)."""
    tables: dict[str, np.ndarray] = {}
    reports, different = {}, {}
    edges = _Overlaps(corpus)
    for component in COMPONENTS:
        table = corpus.tables[component.frame]
        items = number(
            *(corpus.span_number[table.columns[name]] for name in component.spans),
            *(table.columns[name] for name in component.labels),
        )
        document, item = table.halves(table.document), table.halves(items)
        matches = match(document[0], item[0], document[1], item[1], component.repeats)
        tables[f"strict.{component.name}"] = matches.table(corpus.n_documents)
        different[component.name] = matches
        if component.report:
            reports[component.name] = _report_counts(corpus, component, matches)
        if relaxed:
            counted = tables[f"strict.{component.name}"].copy()
            counted[:, TRUE_POSITIVES] = _relaxed(corpus, component, items, edges)
            tables[f"relaxed.{component.name}"] = counted
    if include_factuality:
        for frame in _ALIGNED_BY:
            tables |= _factuality(corpus, frame, "strict", *_equal(corpus, frame))
            if relaxed:
                tables |= _factuality(
                    corpus, frame, "relaxed", *edges.alike(frame, FRAMES[frame].spans, _ALIGNED_BY[frame])
                )
    return Counts(list(tables), np.stack(list(tables.values()), axis=1), reports, different)


def _report_counts(corpus: Corpus, component: Component, matches: Matches) -> dict[str, np.ndarray]:
    """Counts by label, over all documents; a label is its values joined by a dot, without the missing ones."""
    columns = [corpus.tables[component.frame].columns[name][matches.example] for name in component.report]
    values, code = np.unique(np.stack(columns, axis=-1), axis=0, return_inverse=True)
    names = [
        ".".join(
            value
            for name, at in zip(component.report, places, strict=True)
            if (value := corpus.labels[name][at]) is not None
        )
        or "none"
        for places in values.tolist()
    ]
    counted: dict[str, np.ndarray] = {}
    for name, counts in sorted(zip(names, tabulate(code.reshape(-1), matches.counts, len(names)), strict=True)):
        counted[name] = counted.get(name, 0) + counts
    return counted


class _Overlaps:
    """Which predicted and gold items overlap in all the spans that count, found once for all components."""

    def __init__(self, corpus: Corpus) -> None:
        self.corpus = corpus
        self.found: dict[tuple[str, tuple[str, ...]], Edges] = {}

    def between(self, frame: str, names: tuple[str, ...]) -> Edges:
        """Items of a frame that share a token in each of these spans; `shared` is that of the first."""
        if (frame, names) not in self.found:
            self.found[frame, names] = self._find(frame, names)
        return self.found[frame, names]

    def _find(self, frame: str, names: tuple[str, ...]) -> Edges:
        table = self.corpus.tables[frame]
        if len(names) > 1:
            first, rest = self.between(frame, names[:1]), self.between(frame, names[1:])
            both, _ = common(first, rest, len(table.document) - table.n_predicted)
            return Edges(first.left[both], first.right[both], first.shared[both])
        (document, gold_document), (left, right) = table.halves(table.document), table.halves(table.columns[names[0]])
        return overlaps(self.corpus.spans.take(left), document, self.corpus.spans.take(right), gold_document)

    def alike(self, frame: str, names: tuple[str, ...], labels: tuple[str, ...]) -> tuple[Edges, Ratio]:
        """Those that also have equal labels, and the Dice of their first spans."""
        table, edges = self.corpus.tables[frame], self.between(frame, names)
        for label in labels:
            predicted, gold = table.halves(table.columns[label])
            edges = Edges(*(column[predicted[edges.left] == gold[edges.right]] for column in edges))
        predicted, gold = table.halves(self.corpus.spans.lengths[table.columns[names[0]]])
        return edges, Ratio(2 * edges.shared, predicted[edges.left] + gold[edges.right])


def _relaxed(corpus: Corpus, component: Component, items: np.ndarray, overlapping: _Overlaps) -> np.ndarray:
    """Aligned pairs of each document.

    Of all alignments with as many pairs as possible the one with the largest overlap is wanted, but the count is the
    same for all of them, so the overlap is not looked at.
    """
    table = corpus.tables[component.frame]
    edges, _ = overlapping.alike(component.frame, component.spans, component.labels)
    left, right = edges.left, edges.right
    documents, gold_documents = table.halves(table.document)
    if component.repeats == "set":
        # Equal items of a document are one.
        halves = table.halves(items)
        documents, left = _merged(documents, halves[0], left)
        gold_documents, right = _merged(gold_documents, halves[1], right)
    partner = most_pairs(left, right, len(documents), len(gold_documents))
    return np.bincount(documents[partner >= 0], minlength=corpus.n_documents)


def _merged(document: np.ndarray, item: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The documents of the different items, and the ends of edges among them."""
    _, first, place = np.unique(number(document, item), return_index=True, return_inverse=True)
    return document[first], place[ends]


def _equal(corpus: Corpus, frame: str) -> tuple[Edges, Ratio]:
    """Events of equal span and type, or expressions of equal span: all of them overlap alike."""
    table = corpus.tables[frame]
    columns = [corpus.span_number[table.columns[name]] for name in FRAMES[frame].spans]
    columns += [table.columns[name] for name in _ALIGNED_BY[frame]]
    edges = pairs(*table.halves(number(table.document, *columns)))
    return edges, Ratio(edges.shared, edges.shared)


def _factuality(corpus: Corpus, frame: str, profile: str, edges: Edges, overlap: Ratio) -> dict[str, np.ndarray]:
    """Counts of the factuality components of a frame: of each label, of aligned records, and of labelled ones.

    Of alignments equal in number and overlap, each component takes one with the most equal labels, then with the most
    labelled gold records. What is still open decides only which wrong predictions meet a gold record without a label,
    and are so left out; it is settled by what the records are, not by their order.
    """
    table = corpus.tables[frame]
    document, gold_document = table.halves(table.document)
    tables = {}
    for factor in FACTUALITY:
        if factor.frame != frame:
            continue
        predicted, gold = table.halves(table.columns[factor.label])
        at_left, at_right = predicted[edges.left], gold[edges.right]
        equal = (at_left == at_right) & (at_right > 0)
        wishes = [overlap, equal.astype(np.int64), (at_right > 0).astype(np.int64)]
        chosen = align_by(edges.left, edges.right, wishes, len(document), len(gold_document))
        without_label = edges.left[chosen[at_right[chosen] == 0]]
        counted = np.ones(len(predicted), bool)
        counted[without_label] = False

        name, n_labels = f"{profile}.factuality.{factor.name}", len(corpus.labels[factor.label])
        shape = (corpus.n_documents, n_labels)

        def by_label(documents: np.ndarray, label: np.ndarray, shape: tuple[int, int] = shape) -> np.ndarray:
            flat = np.bincount(documents * shape[1] + label, minlength=shape[0] * shape[1])
            return flat.reshape(shape)[:, 1:]

        right_ones = chosen[equal[chosen]]
        by_side = [
            by_label(document[edges.left[right_ones]], at_left[right_ones]),
            by_label(document[counted], predicted[counted]),
            by_label(gold_document, gold),
        ]
        labels = np.stack(by_side, axis=-1)
        for at, label in enumerate(corpus.labels[factor.label][1:]):
            tables[f"{name}:{label}"] = labels[:, at]
        aligned = [labels[:, :, TRUE_POSITIVES].sum(axis=1)] + [
            np.bincount(document[edges.left[some]], minlength=corpus.n_documents)
            for some in (chosen, chosen[at_right[chosen] > 0])
        ]
        tables[f"{name}.aligned"] = np.stack(aligned, axis=-1)
        labelled = [by_label(document, predicted).sum(axis=1), labels[:, :, GOLD].sum(axis=1)]
        tables[f"{name}.labelled"] = np.stack([np.zeros_like(labelled[0]), *labelled], axis=-1)
    return tables


# --- score ------------------------------------------------------------------------------------------------------------


def score(
    names: list[str], counts: np.ndarray, reports: dict[str, dict[str, np.ndarray]], active: list[str] | None = None
) -> dict[str, Any]:
    """The scores and tables of summed counts, under the names of the result.

    Parameters
    ----------
    names : list of str
    counts : ndarray of int, shape (len(names), 3)
    reports : dict of str to dict of str to ndarray of int, shape (3,)
        See `Counts`.
    active : list of str, optional
        The components to average over; those that are active in these counts, if not given.

    Returns
    -------
    dict
        Scores in [0, 100], None where no component is active or the profile is switched off.
    """
    by_name = dict(zip(names, np.asarray(counts), strict=True))
    profiles = [name for name in ("strict", "relaxed") if f"{name}.{COMPONENTS[0].name}" in by_name]
    with_factuality = any(".factuality." in name for name in names)
    supports = {component.name: component.support for component in SCORED}
    if with_factuality:
        supports |= {factor.name: factor.support for factor in FACTUALITY}

    if active is None:
        active = active_components(by_name)
    total = sum(supports[name] for name in active)

    result: dict[str, Any] = {}
    for profile, prefix in (("strict", "sentivent"), ("relaxed", "sentivent_relaxed")):
        result[f"{prefix}_score"] = result[f"{prefix}_macro_score"] = None
        if profile not in profiles:
            continue
        rows: dict[str, Any] = {c.name: row(by_name[f"{profile}.{c.name}"]) for c in COMPONENTS}
        f1 = {component.name: rows[component.name]["f1"] for component in SCORED}
        if profile == "strict":
            rows["classification_report"] = {
                name: _report(labels, by_name[f"strict.{name}"]) for name, labels in reports.items()
            }
        if with_factuality:
            rows["factuality"] = {f.name: _factor_row(by_name, f"{profile}.factuality.{f.name}") for f in FACTUALITY}
            f1 |= {name: factor["f1"] for name, factor in rows["factuality"].items()}
        if active:
            result[f"{prefix}_score"] = sum(supports[name] * f1[name] for name in active) / total
            result[f"{prefix}_macro_score"] = sum(f1[name] for name in active) / len(active)
        result[profile] = rows
    result["weights"] = {
        "profile": "extraction_factuality" if with_factuality else "extraction",
        "support_counts": supports,
        "active": {name: supports[name] / total for name in active},
    }
    headlines = [name for name in result if name.endswith("score")]
    return {name: result[name] for name in headlines} | result


def active_components(by_name: dict[str, np.ndarray]) -> list[str]:
    """The components that either side has; of factuality, if it was counted, those that any record has a label of."""
    seen = {component.name: f"strict.{component.name}" for component in SCORED}
    seen |= {factor.name: f"strict.factuality.{factor.name}.labelled" for factor in FACTUALITY}
    return [name for name, at in seen.items() if at in by_name and (by_name[at][PREDICTED] or by_name[at][GOLD])]


def _report(labels: dict[str, np.ndarray], micro: np.ndarray) -> dict[str, dict[str, float]]:
    """A row a label, and their averages; a label that bears the name of an average is told from it."""
    averages = ("micro", "macro", "weighted")
    rows = {name: _report_row(counts) for name, counts in labels.items()}
    support = int(micro[GOLD])
    macro, weighted = {}, {}
    for rate in ("precision", "recall", "f1"):
        values = [line[rate] for line in rows.values()]
        weights = [line["support"] for line in rows.values()]
        macro[rate] = sum(values) / len(values) if values else 0.0
        weighted[rate] = sum(v * w for v, w in zip(values, weights, strict=True)) / support if support else 0.0
    shown_rows = {f"{name} (label)" if name in averages else name: line for name, line in rows.items()}
    return shown_rows | {
        "micro": _report_row(micro),
        "macro": {**macro, "support": support},
        "weighted": {**weighted, "support": support},
    }


def _report_row(counts: np.ndarray) -> dict[str, float]:
    rates = row(counts)
    return {name: rates[name] for name in ("precision", "recall", "f1")} | {"support": rates["gold"]}


def _factor_row(by_name: dict[str, np.ndarray], name: str) -> dict[str, Any]:
    labels = {line.removeprefix(f"{name}:"): row(by_name[line]) for line in by_name if line.startswith(f"{name}:")}
    occurring = [line["f1"] for line in labels.values() if line["predicted"] or line["gold"]]
    correct, _, support = by_name[f"{name}.aligned"].tolist()
    return {
        "f1": sum(occurring) / len(occurring) if occurring else 0.0,
        "accuracy": float(100 * divide(correct, support)),
        "accuracy_support": support,
        "correct": correct,
        "labels": labels,
    }


def score_shares(by_name: dict[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """What share the F1 of each counted row has in each of the scores, by the rows' counts in all documents.

    The F1 of a factuality component is the mean over the labels that have any count.
    """
    active = active_components(by_name)
    supports = {component.name: component.support for component in SCORED}
    supports |= {factor.name: factor.support for factor in FACTUALITY}
    total = sum(supports[name] for name in active)
    shares: dict[str, dict[str, float]] = {}
    for profile, prefix in (("strict", "sentivent"), ("relaxed", "sentivent_relaxed")):
        if not active or f"{profile}.{COMPONENTS[0].name}" not in by_name:
            continue
        weighted, plain = shares[f"{prefix}_score"], shares[f"{prefix}_macro_score"] = {}, {}
        for name in active:
            labels = f"{profile}.factuality.{name}:"
            rows = [row for row in by_name if row.startswith(labels) and by_name[row].any()]
            if f"{profile}.{name}" in by_name:
                rows = [f"{profile}.{name}"]
            for at in rows:
                weighted[at] = supports[name] / total / len(rows)
                plain[at] = 1 / len(active) / len(rows)
    return shares


# --- coreference ------------------------------------------------------------------------------------------------------


def _coreference(corpus: Corpus) -> np.ndarray:
    """Statistics of event coreference, one row a document; a mention is a typed event, known by its span and type.

    In documents without coreference every mention is a chain of its own, and needs no look.
    """
    table = corpus.tables["event"]
    mention = number(table.document, corpus.span_number[table.columns["trigger"]], table.columns["type"])
    document, mentions, chains = (table.halves(column) for column in (table.document, mention, corpus.chain))
    matches = match(document[0], mentions[0], document[1], mentions[1], "count")
    statistics = singleton_statistics(matches.table(corpus.n_documents))
    for at in corpus.chained.tolist():
        sides = []
        for side in (0, 1):
            start, end = np.searchsorted(document[side], [at, at + 1])
            grouped: dict[int, list[int]] = defaultdict(list)
            for chain, name in zip(chains[side][start:end].tolist(), mentions[side][start:end].tolist(), strict=True):
                grouped[chain].append(name)
            sides.append(list(grouped.values()))
        statistics[at] = chain_statistics(*sides)
    return statistics


# --- items in error ---------------------------------------------------------------------------------------------------


def _errors(corpus: Corpus, counts: Counts, names: list) -> list[dict[str, Any]]:
    """The unmatched items of each document in the strict components, each with the kind of its error (see `explain`).

    Two items are related if their spans overlap, each in its place. An argument, target or link is also related to one
    with which it shares a span exactly while the other span, that of the trigger or expression it hangs on, lies
    elsewhere; what belongs to that trigger or expression is then wrong with it.
    """
    found = []
    for component in SCORED:
        table, matches = corpus.tables[component.frame], counts.different[component.name]
        leftover: dict[int, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
        for document, at, (_, in_predicted, in_gold) in zip(
            matches.document.tolist(), matches.example.tolist(), matches.counts.tolist(), strict=True
        ):
            leftover[document][0].extend([at] * (in_predicted - in_gold))
            leftover[document][1].extend([at] * (in_gold - in_predicted))
        for document in sorted(leftover):
            sides = [[_item(corpus, table, component, at) for at in side] for side in leftover[document]]
            for kind, i, j in explain(*sides, lambda p, g, component=component: _relate(component, p, g)):
                found.append(
                    {
                        "record": names[document],
                        "component": component.name,
                        "kind": kind,
                        "prediction": None if i is None else _shown(sides[0][i]),
                        "reference": None if j is None else _shown(sides[1][j]),
                    }
                )
    return found


def _item(corpus: Corpus, table: Table, component: Component, at: int) -> dict[str, Any]:
    item: dict[str, Any] = {}
    for name in component.spans:
        place = table.columns[name][at]
        start, end = corpus.spans.offsets[place : place + 2]
        item[name] = frozenset(corpus.spans.tokens[start:end].tolist())
    return item | {name: corpus.labels[name][table.columns[name][at]] for name in component.labels}


def _shown(item: dict[str, Any]) -> dict[str, Any]:
    return {name: sorted(value) if isinstance(value, frozenset) else value for name, value in item.items()}


def _relate(component: Component, predicted: dict, gold: dict) -> tuple[list[str], float] | None:
    closeness = {
        name: 2 * len(predicted[name] & gold[name]) / (len(predicted[name]) + len(gold[name]))
        for name in component.spans
    }
    apart = [name for name, value in closeness.items() if not value]
    labels = {name for name in component.labels if predicted[name] != gold[name]}
    kinds: set[str] = set()
    if not apart:
        if any(value < 1 for value in closeness.values()):
            kinds.add("wrong_boundary")
        if "type" in labels:
            labels.discard("subtype")
    else:
        attached = _ATTACHED_TO.get(component.name, {})
        if len(apart) > 1 or apart[0] not in attached or sum(closeness.values()) < 1:
            return None
        kinds.add("wrong_attachment")
        labels -= set(attached[apart[0]])
    kinds |= {_KIND_OF_LABEL[name] for name in labels}
    return [kind for kind in _KINDS if kind in kinds], sum(closeness.values()) / len(closeness)


# --- the metric -------------------------------------------------------------------------------------------------------


class _Counted(NamedTuple):
    """What was read and counted."""

    pairing: str
    ids: list
    groups: np.ndarray | None
    annotated: Annotations
    corpus: Corpus
    counts: Counts


class SentiventMetric(Staging, evaluate.Metric):
    """Economic events and implicit sentiment; see the module's description."""

    schemas = {"predictions": _DOCUMENT, "references": _DOCUMENT}
    option_checks = {
        "include_factuality": flag,
        "relaxed": flag,
        "per_document": flag,
        "return_errors": flag,
        **CONFIDENCE,
    }

    def _info(self) -> evaluate.MetricInfo:
        schema = pa.schema([(side, node.arrow) for side, node in self.schemas.items()])
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features.from_arrow_schema(schema),
            reference_urls=["https://doi.org/10.1007/s10579-021-09562-4"],
        )

    def _read(self, side: str, batch: Any) -> pa.Array:
        column = super()._read(side, batch)
        _resolve(side, column, _n_tokens(column))
        return column

    def _count(
        self,
        predictions: pa.StructArray,
        references: pa.StructArray,
        include_factuality: bool = False,
        relaxed: bool = True,
        groups: list[str] | None = None,
        **_: Any,
    ) -> _Counted:
        order, pairing = pair(predictions.field("id"), references.field("id"))
        _check_same_tokens(predictions, references, order)
        limits = _n_tokens(references)
        predicted_limits = np.where(limits[order] < 0, _n_tokens(predictions), limits[order])
        if np.any(predicted_limits != _n_tokens(predictions)):
            _resolve("predictions", predictions, predicted_limits)
        n_documents = len(references)
        both = pa.concat_arrays([predictions, references])
        annotated = _resolve("records", both, np.full(len(both), -1))
        document_of = np.concatenate([order, np.arange(n_documents)])
        corpus = _corpus(annotated, document_of, len(predictions), n_documents)
        counts = count(corpus, relaxed, include_factuality)
        ids = references.field("id").to_pylist() if pairing == "id" else list(range(n_documents))
        return _Counted(pairing, ids, number_groups(groups, n_documents), annotated, corpus, counts)

    def _statistics(self, counted: list[_Counted]) -> Statistics:
        """Every score is a mean of F1, weighted by what is active in the data of all systems together."""
        rows = list(dict.fromkeys(name for system in counted for name in system.counts.names))
        tables = [system.counts.aligned(rows) for system in counted]
        shares = score_shares(dict(zip(rows, sum(table.sum(axis=0) for table in tables), strict=True)))
        used = [at for at, name in enumerate(rows) if any(name in share for share in shares.values())]
        weights = np.zeros((len(used), len(shares)))
        for column, share in enumerate(shares.values()):
            weights[:, column] = [share.get(rows[at], 0.0) for at in used]

        def scores(sums: np.ndarray, whole: np.ndarray) -> np.ndarray:
            return rates_or(whole.reshape(-1, 3), sums.reshape(len(sums), len(used), 3))[..., 2] @ weights

        tables = [table[:, used].reshape(len(table), -1) for table in tables]
        return Statistics(list(shares), tables, scores, counted[0].ids, counted[0].groups)

    def _compute(
        self,
        predictions: pa.StructArray,
        references: pa.StructArray,
        include_factuality: bool = False,
        relaxed: bool = True,
        per_document: bool = False,
        return_errors: bool = False,
        groups: list[str] | None = None,
        **confidence: Any,
    ) -> dict[str, Any]:
        """Count, then score; the options are described with the metric.

        Events without a type are left out of what is about events, and counted as ``gold_invalid_structure`` and
        ``predicted_invalid_structure``: the events themselves, their arguments, or their links.
        """
        counted = self._count(predictions, references, include_factuality, relaxed, groups)
        annotated, corpus, counts, ids = counted.annotated, counted.corpus, counted.counts, counted.ids
        result = score(counts.names, counts.table.sum(axis=0), counts.reports)
        _diagnose(result, corpus)

        ignored = int(np.sum(annotated.ignored < len(predictions)))
        result["ignored_relations"] = {"predictions": ignored, "references": len(annotated.ignored) - ignored}
        if len(corpus.chained):
            result["coreference"] = coreference_scores(_coreference(corpus).sum(axis=0))
        scored = np.sum([[result["strict"][c.name][side] for side in COUNT_NAMES] for c in SCORED], axis=0)
        if scored[PREDICTED] and not scored[GOLD]:
            warnings.warn("the references hold no item: is this a test set without labels?", stacklevel=2)
            result["no_gold"] = True
        if per_document:
            result["per_document"] = _per_document(counts, ids)
        if return_errors:
            result["errors"] = _errors(corpus, counts, ids)
        result["signature"] = "|".join(
            [
                "sentivent",
                f"v:{VERSION}",
                f"pairing:{counted.pairing}",
                f"profile:{result['weights']['profile']}",
                f"relaxed:{'dice>0' if relaxed else 'no'}",
            ]
        )
        add_intervals(result, lambda: self._statistics([counted]), groups, **confidence)
        return result


def _diagnose(result: dict[str, Any], corpus: Corpus) -> None:
    """Add to each row about events how much was left out because an event has no type."""
    for profile in ("strict", "relaxed"):
        rows = result.get(profile, {})
        lines = [(rows.get(c.name), c.frame) for c in COMPONENTS]
        lines += [(rows.get("factuality", {}).get(f.name), f.frame) for f in FACTUALITY]
        for line, frame in lines:
            if line and FRAMES[frame].typed:
                predicted, gold = corpus.tables[frame].left_out
                line |= {"gold_invalid_structure": gold, "predicted_invalid_structure": predicted}


def _per_document(counts: Counts, ids: list) -> list[dict[str, Any]]:
    """The strict counts of each scored component; those of factuality are summed over labels."""
    columns = {component.name: [f"strict.{component.name}"] for component in SCORED}
    for factor in FACTUALITY:
        labels = [name for name in counts.names if name.startswith(f"strict.factuality.{factor.name}:")]
        if labels:
            columns[factor.name] = labels
    place = {name: at for at, name in enumerate(counts.names)}
    tables = {
        name: counts.table[:, [place[label] for label in labels]].sum(axis=1).tolist()
        for name, labels in columns.items()
    }
    return [
        {"id": name} | {c: dict(zip(COUNT_NAMES, table[at], strict=True)) for c, table in tables.items()}
        for at, name in enumerate(ids)
    ]
