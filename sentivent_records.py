"""Records and options of SENTiVENT: documents with annotations that point at each other.

A record is a document. Reading gives a column with these fields:

``id``
    As given.
``tokens``
    See `records.Tokens`.
``annotations``
    A list a document. Each annotation has ``kind``, ``span`` (a list of token indices, empty if it has none), the
    labels of its kind, ``arguments`` and ``targets``. An argument or a target is a pointer: ``annotation`` is the index
    of an annotation of the same document, or -1, and ``span`` is a span that the pointer carries itself, or an empty
    list. An argument also has a ``role``.
``relations``
    A list a document. Each relation has ``kind``, ``from`` and ``to``. The latter two are indices of annotations of the
    same document, or -1 where the kind is not known.

So ids of annotations are looked up once, when records are read.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from .columns import Column, Lists, Struct, is_present
from .mistakes import Mistakes, Places, quote
from .options import confidence_options, flag, output_options, table
from .records import ByKind, Items, Optional, Record, Span, Task, Tokens, check_inside, read_sound, to_records
from .values import Choice, Flag, Identifier, Text, Types

EVENT, EXPRESSION = "event", "sentiment_expression"
LINK, COREFERENCE = "event_sentiment", "event_coreference"
POLARITIES = ("positive", "negative", "neutral")

# Other names of fields, of kinds of annotation and relation, and of polarities. The published rows fix the names of
# kind, span, scoped_polarity and the relations. The other names are this metric's own, so add further ones here.
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

# The labels of events and of sentiment expressions.
EVENT_LABELS = ("type", "subtype", "polarity", "scoped_polarity", "realis", "modality", "negated")
EXPRESSION_LABELS = ("polarity", "scoped_polarity", "uncertain", "negated")
# The usual values of labels that have few. Realis and modality may be any text, so that systems with a finer scale than
# the corpus can be scored.
USUAL_VALUES: dict[str, tuple[str, ...]] = {
    "polarity": POLARITIES,
    "scoped_polarity": POLARITIES,
    "realis": ("asserted", "other"),
    "modality": ("certain", "other"),
    "negated": ("false", "true"),
    "uncertain": ("false", "true"),
}
_AT_ONCE = 256  # documents read at a time
POINTERS = ("arguments", "targets")
# The kinds of annotation that a relation joins.
ENDS = {LINK: {"from": EVENT, "to": EXPRESSION}, COREFERENCE: {"from": EVENT, "to": EVENT}}

OPTIONS = {
    **table(
        flag("include_factuality", "Adds the seven factuality components to the tables and to the scores."),
        flag("relaxed", "Whether to score the relaxed profile, in which overlapping spans match.", default=True),
    ),
    **output_options(
        "the counts of each document, one dict a component",
        "the items that were missed, spurious, or wrong in one respect, in the five strict components",
    ),
    **confidence_options("documents"),
}


# --- descriptions of records ------------------------------------------------------------------------------------------


def _aliases(group: str) -> dict[str, str]:
    return {alias: name for name, others in ALIASES[group].items() for alias in others}


def _names(group: str) -> dict[str, str]:
    """All names of values, each with the value: the value's own name and its aliases."""
    return {name: name for name in ALIASES[group]} | _aliases(group)


class _AnnotationKind(Text):
    """The kind of an annotation: any text. The known kinds are read in any case and under their aliases."""

    names = _names("kind of annotation")

    def __init__(self) -> None:
        super().__init__(f"one of {EVENT}, {EXPRESSION}, or the kind of a mere span, such as participant")

    def read(self, values: Sequence[Any], places: Places, mistakes: Mistakes, types: Types = None) -> np.ndarray:
        texts = super().read(values, places, mistakes, types)
        kinds: dict[str | None, str | None] = {
            text: self.names.get(text.lower(), text) if text.strip() else None
            for text in set(texts.tolist())
            if text is not None
        }
        if None in kinds.values():
            for at, text in enumerate(texts.tolist()):
                if text is not None and kinds[text] is None:
                    mistakes.add(places(at), self.refuse(values[at]).words)
        texts[:] = list(map(kinds.get, texts.tolist()))
        return texts


class _AnnotationId(Identifier):
    """The id of an annotation, or a dict with it."""

    def read_one(self, value: Any) -> str:
        return super().read_one(value["id"] if isinstance(value, Mapping) and "id" in value else value)


def _is_indices(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset, range, np.ndarray))


def _is_pair(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and len(value) == 2


def _pointer(value: Any) -> dict[str, Any]:
    return {"span": value} if _is_indices(value) else {"id": value}


def _argument(value: Any) -> dict[str, Any] | None:
    if not _is_pair(value):
        return None
    role, pointer = value
    return {"role": role, **(pointer if isinstance(pointer, Mapping) else _pointer(pointer))}


_SPAN = Record(
    {"tokens": Span("the token indices of a span")},
    "a span: a dict with tokens, or a list of token indices",
    other=lambda value: {"tokens": value} if _is_indices(value) else None,
    aliases=_aliases("span"),
)
_POINTS: dict[str, Optional] = {"id": Optional(_AnnotationId()), "span": Optional(_SPAN)}
_ARGUMENT = Record(
    {"role": Text("a role", blank=False), **_POINTS},
    "an argument: a dict with a role and an id or a span",
    other=_argument,
    aliases=_aliases("pointer"),
)
_TARGET = Record(
    {**_POINTS},
    "a target: the id of an annotation, or a dict with an id or a span",
    other=_pointer,
    aliases={alias: name for alias, name in _aliases("pointer").items() if name != "role"},
)
_RELATION = Record(
    {"from": _AnnotationId(), "to": _AnnotationId()},
    "a relation: a dict with from and to",
    other=lambda value: dict(zip(("from", "to"), value, strict=True)) if _is_pair(value) else None,
    aliases=_aliases("relation"),
)
_POLARITY = Choice(POLARITIES, _names("polarity"), fold=True)
# The kinds of annotation that have each field.
_FIELDS_OF = {EVENT: (*EVENT_LABELS, "arguments"), EXPRESSION: (*EXPRESSION_LABELS, "targets")}
_KINDS_WITH = {
    name: {kind for kind, fields in _FIELDS_OF.items() if name in fields} for name in sum(_FIELDS_OF.values(), ())
}
_ANNOTATION = Record(
    {
        "id": Optional(Identifier()),
        "kind": _AnnotationKind(),
        "span": Optional(_SPAN),
        "type": Optional(Text("an event type", blank=False)),
        "subtype": Optional(Text("an event subtype", blank=False)),
        "polarity": Optional(_POLARITY),
        "scoped_polarity": Optional(_POLARITY),
        "realis": Optional(Text("a realis label, such as asserted or other", blank=False)),
        "modality": Optional(Text("a modality label, such as certain or other", blank=False)),
        "negated": Optional(Flag()),
        "uncertain": Optional(Flag()),
        "arguments": Optional(Items(_ARGUMENT, "a list of arguments")),
        "targets": Optional(Items(_TARGET, "a list of targets")),
    },
    "an annotation: a dict with kind and span",
    aliases=_aliases("annotation"),
    only_in={name: ("kind", kinds) for name, kinds in _KINDS_WITH.items()},
)
DOCUMENT = Record(
    {
        "id": Optional(Identifier()),
        "tokens": Optional(Tokens()),
        "annotations": Items(_ANNOTATION, "a list of annotations"),
        "relations": Optional(
            ByKind(_RELATION, _names("kind of relation"), "relations: a dict by kind, or a list of dicts with kind")
        ),
    },
    "a record: a dict with annotations",
    aliases=_aliases("record"),
)


# --- reading and checking ---------------------------------------------------------------------------------------------


def read(side: str, given: Any, mistakes: Mistakes) -> Column:
    """Read and check a batch of records; see `Task`."""
    column, places = read_sound(to_records(given, side, DOCUMENT.keys), DOCUMENT, side, mistakes, _AT_ONCE)
    annotations: Lists = column["annotations"]
    here = places.field("annotations").items(annotations.offsets)
    annotation_ids = index_ids(annotations, here, mistakes)
    check_has_span(annotations.items, here, mistakes)
    resolved = {"kind": annotations.items["kind"], "span": annotations.items["span"]["tokens"]}
    resolved |= {name: annotations.items[name] for name in dict.fromkeys((*EVENT_LABELS, *EXPRESSION_LABELS))}
    for name in POINTERS:
        resolved[name] = resolve_pointers(annotations, name, annotation_ids, here.field(name), mistakes)
    column = Struct(
        {
            "id": column["id"],
            "tokens": column["tokens"],
            "annotations": Lists(annotations.offsets, Struct(resolved)),
            "relations": resolve_relations(column["relations"], annotations, annotation_ids, places, mistakes),
        }
    )
    check_indices(column, count_tokens(column), places, mistakes)
    return column


class AnnotationIds(NamedTuple):
    """The ids of the annotations of a batch.

    Attributes
    ----------
    codes : dict of str to int
        A number for each id.
    keys : ndarray of int64, shape (n,)
        The document and the id of each annotation that has an id, as one integer, increasing.
    annotations : ndarray of int64, shape (n,)
        The annotation of each key, as an index into all annotations of the batch.
    """

    codes: dict[str, int]
    keys: np.ndarray
    annotations: np.ndarray

    def find(self, documents: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """The annotation of each document with each id, -1 where there is none."""
        if not len(self.keys):
            return np.full(len(ids), -1)
        wanted = _encode_ids(self.codes, documents, ids)
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[at] == wanted, self.annotations[at], -1)


def _encode_ids(codes: dict[str, int], documents: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Documents and ids as integers, -1 where the id is None or has no code."""
    code = np.fromiter(map(codes.get, ids.tolist(), repeat(-1)), np.int64, len(ids))
    return np.where(code < 0, -1, documents * (len(codes) + 1) + code)


def index_ids(annotations: Lists, here: Places, mistakes: Mistakes) -> AnnotationIds:
    """Index the annotations that have an id; notes ids that are repeated within a document."""
    ids = annotations.items["id"]
    codes = {name: code for code, name in enumerate(dict.fromkeys(ids.tolist())) if name is not None}
    keys = _encode_ids(codes, annotations.owners, ids)
    order = np.argsort(keys, kind="stable")
    order = order[np.searchsorted(keys, 0, sorter=order) :]
    for at in order[1:][np.diff(keys[order]) == 0].tolist():
        words = f"{quote(ids[at])} is repeated, expected ids that differ within a document"
        mistakes.add((*here(at), "id"), words)
    return AnnotationIds(codes, keys[order], order)


def check_has_span(annotations: Struct, here: Places, mistakes: Mistakes) -> None:
    """Note events and sentiment expressions without a span."""
    needed = (annotations["kind"] == EVENT) | (annotations["kind"] == EXPRESSION)
    for at in np.flatnonzero(needed & (annotations["span"]["tokens"].lengths == 0)).tolist():
        mistakes.add((*here(at), "span"), f"missing, expected {_SPAN.expected}")


def resolve_pointers(
    annotations: Lists, name: str, annotation_ids: AnnotationIds, here: Places, mistakes: Mistakes
) -> Lists:
    """Look up the annotations that arguments or targets point to; notes wrong pointers.

    Parameters
    ----------
    annotations : Lists
        The annotations of each document, as they were read.
    name : {"arguments", "targets"}
    annotation_ids : AnnotationIds
    here : Places
        Of the lists of pointers.
    mistakes : Mistakes

    Returns
    -------
    Lists
        The pointers of each annotation.
    """
    pointers: Lists = annotations.items[name]
    document = annotations.owners[pointers.owners]
    ids, own = pointers.items["id"], pointers.items["span"]["tokens"]
    found = annotation_ids.find(document, ids)
    spans: Lists = annotations.items["span"]["tokens"]
    has_id, has_own = is_present(ids), own.lengths > 0
    has_span = (spans.lengths > 0)[found] if len(spans) else np.zeros(0, bool)
    both = np.flatnonzero(has_own & (found >= 0) & has_span).tolist()
    differ = [at for at in both if _tokens(own, at) != _tokens(spans, found[at])]
    where = here.items(pointers.offsets)

    def refuse(wrong: np.ndarray | list[int], words: str) -> None:
        for at in wrong:
            mistakes.add(where(at), words.format(name=quote(ids[at])))

    refuse(np.flatnonzero(~has_id & ~has_own), "points to nothing, expected the id of an annotation, or a span")
    refuse(
        np.flatnonzero(has_id & (found < 0)),
        "{name} is the id of nothing, expected that of an annotation of the document",
    )
    refuse(
        np.flatnonzero((found >= 0) & ~has_span),
        "{name} has no span, expected an annotation with one",
    )
    refuse(differ, "{name} has another span, expected one that agrees")
    fields = {"role": pointers.items["role"]} if name == "arguments" else {}
    index = np.where(found < 0, -1, found - annotations.offsets[document])
    return Lists(pointers.offsets, Struct({**fields, "annotation": index, "span": own}))


def _tokens(spans: Lists, at: int) -> set[int]:
    """The tokens of one span."""
    return set(spans.items[spans.offsets[at] : spans.offsets[at + 1]].tolist())


def resolve_relations(
    relations: Lists, annotations: Lists, annotation_ids: AnnotationIds, places: Places, mistakes: Mistakes
) -> Lists:
    """Look up the annotations that relations join; notes ends of a wrong kind.

    Parameters
    ----------
    relations, annotations : Lists
        The relations and the annotations of each document, as they were read.
    annotation_ids : AnnotationIds
    places : Places
        Of the documents.
    mistakes : Mistakes

    Returns
    -------
    Lists
        The relations of each document.
    """
    document, kind = relations.owners, relations.items["kind"]
    kind_of = annotations.items["kind"]
    resolved = {"kind": kind}
    for end in ("from", "to"):
        ids = relations.items[end]
        found = annotation_ids.find(document, ids)
        resolved[end] = np.where(found < 0, -1, found - annotations.offsets[document])
        for name, ends in ENDS.items():
            of_name = np.flatnonzero(kind == name)
            wrong = found[of_name] < 0
            wrong[~wrong] = kind_of[found[of_name][~wrong]] != ends[end]
            for at in of_name[wrong].tolist():
                index = int(np.sum(document[of_name[of_name < at]] == document[at]))
                is_what = "the id of nothing" if found[at] < 0 else f"of kind {quote(kind_of[found[at]])}"
                mistakes.add(
                    (*places(document[at]), "relations", name, index, end),
                    f"{quote(ids[at])} is {is_what}, expected the id of an annotation of the document that is of kind "
                    f"{ends[end]}",
                )
    return Lists(relations.offsets, Struct(resolved))


def count_tokens(column: Struct) -> np.ndarray:
    """The number of tokens of each document, -1 if it is not known."""
    number: np.ndarray = column["tokens"]["number"]
    return number


def check_indices(column: Struct, n_tokens: np.ndarray, places: Places, mistakes: Mistakes) -> None:
    """Note token indices past the end; `n_tokens` is the number of tokens of each document, -1 if it is not known."""
    if (n_tokens < 0).all():
        return
    annotations: Lists = column["annotations"]
    limits = n_tokens[annotations.owners]
    here = places.field("annotations").items(annotations.offsets)

    def check(spans: Lists, limits: np.ndarray, places: Places) -> None:
        tokens = places.field("span").field("tokens").items(spans.offsets)
        check_inside(spans.items, limits[spans.owners], tokens, "the number of tokens", mistakes)

    check(annotations.items["span"], limits, here)
    for name in POINTERS:
        pointers: Lists = annotations.items[name]
        check(pointers.items["span"], limits[pointers.owners], here.field(name).items(pointers.offsets))


TASKS = {"default": Task({"predictions": DOCUMENT, "references": DOCUMENT}, read, OPTIONS)}
