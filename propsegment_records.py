"""Records and options of propositional segmentation.

A record is a sentence with its propositions. A reference may also be an entry of the benchmark's files, which holds the
responses of several raters. Reading gives a column with the fields ``id``, ``tokens`` (see `Tokens`), ``propositions``
(lists of token indices), ``unparsed`` (see `UNPARSED_COPIES`) and, for references, ``group``. The propositions of an
entry are those of its reference response; they are missing if no response is the reference.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral
from typing import Any

import numpy as np

from .columns import Column, Lists, Struct, concatenate_columns, is_present, spread, take
from .entailment_records import TASK as ENTAILMENT
from .mistakes import Mistakes, Places
from .options import ABOVE_ZERO, choice, confidence_options, flag, number, output_options, table
from .records import Either, Items, Optional, Record, Span, Task, Tokens, check_inside, read_sound, to_records
from .values import Flag, Identifier, Integer, Node, types_of

OPTIONS = {
    **table(
        number(
            "threshold",
            "float in (0, 1]",
            0.8,
            "Smallest Jaccard similarity at which an aligned pair counts.",
            ABOVE_ZERO,
            1.0,
            "a number above 0, at most 1",
        ),
        choice(
            "alignment",
            ("total", "threshold"),
            "total",
            "The aim of the alignment: the total similarity, before the threshold is applied; or "
            "the number of pairs at or above the threshold.",
        ),
        number(
            "beta",
            "float above 0",
            1.0,
            "Weight of recall relative to precision in every F. The keys stay ``f1``; the signature gives the weight.",
            ABOVE_ZERO,
            1e6,
            "a number above 0, at most 1e6",
        ),
        flag(
            "deduplicate",
            "Whether propositions equal to an earlier one of their sentence are removed before scoring, on both sides.",
            True,
        ),
        choice(
            "empty",
            ("zero", "one", "skip"),
            "zero",
            "Precision and recall of a sentence with neither predicted nor gold propositions: 0, or 1, or left out of "
            "the means.",
        ),
    ),
    **output_options(
        "the counts of each sentence",
        "the propositions that were missed, spurious, near misses, merged or split, and the numbers of unparsed copies",
    ),
    **confidence_options("sentences", "Entries of the benchmark's files have their document as group."),
}


def _bare_record(value: Any) -> dict[str, Any] | None:
    return {"propositions": value} if isinstance(value, (list, tuple, np.ndarray)) else None


def _form(value: Any) -> str:
    """A value with responses is an entry, whatever other keys it has."""
    is_entry = isinstance(value, (dict, Mapping)) and value.get("segmentation_responses") is not None
    return "entry" if is_entry else "record"


_TOKENS = Optional(Tokens())
_PROPOSITION = Span("the token indices of a proposition")
# The copies of the sentence in a model's output that do not line up with it. Each is a wrong prediction.
UNPARSED_COPIES = Integer("a number of unparsed copies")
SENTENCE = Record(
    {
        "id": Optional(Identifier()),
        "tokens": _TOKENS,
        "propositions": Items(_PROPOSITION, "a list of propositions"),
        "unparsed": Optional(UNPARSED_COPIES),
    },
    "a record: a dict with propositions, or a list of propositions",
    other=_bare_record,
)
# The benchmark's files and their documentation differ in one name.
_ENTRY_PROPOSITION = Record(
    {"token_indices": _PROPOSITION},
    "a proposition: a dict with token_indices",
    aliases={"included_token_indices": "token_indices"},
)
_RESPONSE = Record(
    {
        "is_reference_response": Flag(),
        "propositions": Optional(Items(_ENTRY_PROPOSITION, "a list of propositions")),
    },
    "a rater's response: a dict with is_reference_response and propositions",
)
_SENTENCE_ID = Record(
    {"cluster_id": Identifier(), "document_id": Identifier(), "sentence_index": Integer("a sentence index")},
    "a sentence_id: a dict with cluster_id, document_id and sentence_index",
)
_ENTRY = Record(
    {
        "id": Optional(Identifier()),
        "sentence_id": Optional(_SENTENCE_ID),
        "tokens": _TOKENS,
        "segmentation_responses": Items(_RESPONSE, "a list of responses"),
    },
    "an entry: a dict with sentence_id and segmentation_responses",
)
_REFERENCE = Either(
    "a record: a dict with propositions or segmentation_responses, or a list of propositions",
    choose=_form,
    record=SENTENCE,
    entry=_ENTRY,
)
# The fields that reading gives, as Evaluate shows them.
COLUMNS: dict[str, Node] = {
    "predictions": SENTENCE,
    "references": Record({**SENTENCE.fields, "group": Optional(Identifier("a group"))}, SENTENCE.expected),
}


def read(side: str, given: Any, mistakes: Mistakes) -> Column:
    """Read and check a batch of records; see `Task`."""
    node = _REFERENCE if side == "references" else SENTENCE
    records = to_records(given, side, dict.fromkeys([*node.keys, "sentence_id"]))
    for at in _with_key("sentence_id", records):
        records[at] = _name_record(records[at])
    if side == "predictions":
        _refuse_entries(records, mistakes)
    column, places = read_sound(records, node, side, mistakes)
    if side == "references":
        column = _unify(column, places, mistakes)
    check_indices(column, column["tokens"]["number"], places, mistakes)
    return column


def _with_key(key: str, records: list[Any]) -> list[int]:
    """The indices of the records that have a key."""
    if not any(issubclass(kind, Mapping) for kind in types_of(records)):
        return []
    return [at for at, value in enumerate(records) if isinstance(value, (dict, Mapping)) and key in value]


def _refuse_entries(predictions: list[Any], mistakes: Mistakes) -> None:
    for at in _with_key("segmentation_responses", predictions):
        if predictions[at].get("propositions") is None and _form(predictions[at]) == "entry":
            words = "missing, expected a list of propositions; an entry with segmentation_responses is gold"
            mistakes.add(("predictions", at, "propositions"), f"{words}, which only references may be")


def _name_record(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """A record with the id ``cluster/document/index`` if it has no id but the benchmark's ``sentence_id``.

    So predictions pair with the benchmark's entries whatever their order. A ``sentence_id`` of another form is ignored,
    as keys of other data sets are.
    """
    place = value["sentence_id"]
    if not isinstance(place, Mapping) or value.get("id") is not None or _form(value) == "entry":
        return value
    parts = [place.get(name) for name in _SENTENCE_ID.fields]
    if not all(isinstance(part, (str, Integral)) for part in parts):
        return value
    return {**value, "id": "/".join(map(str, parts))}


def _unify(column: Struct, places: Places, mistakes: Mistakes) -> Struct:
    """References of both forms with the same fields."""
    records, entries = column["record"], column["entry"]
    kept = {name: records[name] for name in SENTENCE.fields}
    kept["group"] = np.full(len(column), None, object)
    for at in np.flatnonzero(kept["unparsed"] > 0).tolist():
        words = f"{kept['unparsed'][at]}, expected 0 in a reference, since only a model's output has unparsed copies"
        mistakes.add(places.field("unparsed")(at), words)
    is_entry = column["kind"] == list(_REFERENCE.kinds).index("entry")
    if not is_entry.any():
        return Struct(kept)
    of_entries = {
        "id": _name_entries(entries),
        "tokens": entries["tokens"],
        "propositions": _choose_response(entries["segmentation_responses"], places, mistakes),
        "unparsed": np.full(len(column), -1),
        "group": entries["sentence_id"]["document_id"],
    }
    rows = np.arange(len(column)) + np.where(is_entry, len(column), 0)
    return Struct({name: take(concatenate_columns([kept[name], of_entries[name]]), rows) for name in kept})


def _name_entries(entries: Struct) -> np.ndarray:
    """The id of each entry: its own one, else ``cluster/document/index``, else None."""
    sentence = entries["sentence_id"]
    parts = (sentence[name].tolist() for name in ("cluster_id", "document_id", "sentence_index"))
    names = np.full(len(entries), None, object)
    names[:] = [
        None if cluster is None else f"{cluster}/{document}/{index}"
        for cluster, document, index in zip(*parts, strict=True)
    ]
    own = entries["id"]
    return np.where(is_present(own), own, names)


def _choose_response(responses: Lists, places: Places, mistakes: Mistakes) -> Lists:
    """The propositions of the reference response of each entry, missing where no response is the reference.

    A response without propositions is from a rater who found that the sentence gives no information. As the reference,
    it has no propositions; it is not missing.
    """
    chosen = np.flatnonzero(responses.items["is_reference_response"] == 1)
    entry = responses.owners[chosen]
    for again in np.unique(entry[1:][entry[1:] == entry[:-1]]).tolist():
        words = "two responses are the reference response, expected at most one"
        mistakes.add(places.field("segmentation_responses")(again), words)
    entry, first = np.unique(entry, return_index=True)
    propositions = take(responses.items["propositions"], chosen[first])
    indices = Lists(propositions.offsets, propositions.items["token_indices"])
    found: Lists = spread(indices, entry, len(responses))
    return found


def check_indices(column: Struct, n_tokens: np.ndarray, places: Places, mistakes: Mistakes) -> None:
    """Note token indices past the end; `n_tokens` is the number of tokens of each record, -1 if it is not known."""
    if (n_tokens < 0).all():
        return
    propositions: Lists = column["propositions"]
    indices: Lists = propositions.items
    here = places.field("propositions").items(propositions.offsets).items(indices.offsets)
    limits = n_tokens[propositions.owners][indices.owners]
    check_inside(indices.items, limits, here, "the number of tokens", mistakes)


TASKS = {"segmentation": Task(COLUMNS, read, OPTIONS), "entailment": ENTAILMENT}
