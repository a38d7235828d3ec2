"""Records and options of propositional entailment.

A record is a label. A reference may also be an entry of the benchmark's files, which holds the labels of several
raters. Reading gives a column with the fields ``id``, ``label`` (an index into `ALL_LABELS`) and ``integer`` (a label
given as an integer, to which the option ``label_names`` gives a meaning). Both are -1 for an entry whose raters do not
agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np

from .columns import Column, Lists, Struct, is_present
from .mistakes import Mistakes, Refused, quote
from .options import Option, confidence_options, output_options, table
from .records import Either, Items, Optional, Record, Task, read_sound, to_records
from .values import Choice, Identifier, Integer, Node, Text, types_of

LABELS = ("entail", "neutral", "contradict")
TWO_WAY_LABELS = ("entail", "not-entail")
ALL_LABELS = (*LABELS, "not-entail")
AGREEING = 2  # raters who must have given a label for it to count (Chen et al. 2022, section 3.3)

# Other names of the labels, in lower case.
_NAMES_OF = {
    "entail": ("entail", "e", "entails", "entailed", "entailment", "relationship_entails"),
    "neutral": ("neutral", "n", "relationship_neither_entails_nor_contradicts"),
    "contradict": ("contradict", "c", "contradicts", "contradicted", "contradiction", "relationship_contradicts"),
    "not-entail": (
        *("not-entail", "not_entail", "not entail", "not-entailed", "not_entailed", "not entailed"),
        *("not-entailment", "not_entailment", "not entailment", "non-entailment", "non_entailment", "non entailment"),
    ),
}


def _label(labels: tuple[str, ...], *unnamed: str) -> Choice:
    """A label under any of its names, in any case; `unnamed` are further labels, which have no other names."""
    names = {name: label for label in labels for name in _NAMES_OF[label]}
    return Choice((*labels, *unnamed), names, fold=True, listed=labels)


LABEL = _label(ALL_LABELS)


def _read_label_names(value: Any) -> dict[int, str] | None:
    """Integers and their labels, from a list of labels or a dict, such as a model's ``id2label``."""
    if value is None:
        return None
    expected = "a list of labels, or a dict from integers to labels"
    refused = Refused(f"{quote(value)} is not {expected}")
    if isinstance(value, Mapping):
        try:
            items = {int(key): name for key, name in value.items() if not isinstance(key, (bool, float))}
        except (TypeError, ValueError):
            raise refused from None
        if len(items) < len(value) or min(items, default=0) < 0:
            raise refused
    elif isinstance(value, (list, tuple)):
        items = dict(enumerate(value))
    else:
        raise refused
    if not items:
        raise Refused(f"{quote(value)} is empty, expected {expected}")
    names: dict[int, str] = {}
    for key, name in items.items():
        try:
            label = ALL_LABELS[LABEL.read_one(name)]
        except Refused as mistake:
            raise Refused(mistake.words, key) from None
        # A model may have two classes for not-entail. Any other label that occurs twice is an error.
        if label in names.values() and label != "not-entail":
            raise Refused(f"{quote(name)} is the second name of {label}, expected each label once", key)
        names[key] = label
    return names


OPTIONS = {
    **table(
        Option(
            "label_names",
            "list of str, or dict of int to str",
            None,
            "The labels that integers stand for. There is no default, since models differ.",
            _read_label_names,
            form="list",
        ),
    ),
    **output_options(
        "the gold and the predicted label of each pair, and whether both or neither are ``entail``",
        "the pairs with a wrong label",
    ),
    **confidence_options("pairs"),
}


def _type_of_label(value: Any) -> str | None:
    if isinstance(value, Mapping):
        return "mapping"
    if isinstance(value, (str, bytes)):
        return "text"
    return "integer" if isinstance(value, (Real, np.generic)) else None


_RESPONSE_KEYS = ("relationship_responses", "entailment_responses")
_EXPECTED = "a label: one of " + ", ".join(ALL_LABELS) + ", or an integer"
_PLAIN = {"text": LABEL, "integer": Integer("a label's number")}
_RECORD = Record(
    {"id": Optional(Identifier()), "label": Either(_EXPECTED, choose=_type_of_label, by_type=True, **_PLAIN)},
    "a record: a dict with label",
)
_RATING = Record(
    {"relationship": Optional(_label(LABELS, "RELATIONSHIP_UNSPECIFIED"))},
    "a rater's response: a dict with relationship",
    aliases={"entailment_status": "relationship"},
)
_ENTRY = Record(
    {"id": Optional(Identifier()), "relationship_responses": Items(_RATING, "a list of responses")},
    "an entry: a dict with relationship_responses",
    aliases={"entailment_responses": "relationship_responses"},
)


def _form(value: Any) -> str:
    """A dict with responses is an entry, whatever other keys it has."""
    return "entry" if any(value.get(key) is not None for key in _RESPONSE_KEYS) else "record"


_NODES = {
    "predictions": Either(
        _EXPECTED,
        choose=_type_of_label,
        by_type=True,
        **_PLAIN,
        mapping=Either(_EXPECTED, choose=lambda value: "record", record=_RECORD),
    ),
    "references": Either(
        _EXPECTED,
        choose=_type_of_label,
        by_type=True,
        **_PLAIN,
        mapping=Either(_EXPECTED, choose=_form, record=_RECORD, entry=_ENTRY),
    ),
}
# The fields that reading gives, as Evaluate shows them.
_COLUMN = Record(
    {"id": Optional(Identifier()), "label": Optional(Text("a label")), "integer": Optional(_PLAIN["integer"])},
    _RECORD.expected,
)
COLUMNS: dict[str, Node] = {"predictions": _COLUMN, "references": _COLUMN}


def read(side: str, given: Any, mistakes: Mistakes) -> Column:
    """Read and check a batch of labels; see `Task`."""
    node = _NODES[side]
    records = to_records(given, side, node.keys)
    if side == "predictions":
        _refuse_entries(records, mistakes)
    column, _ = read_sound(records, node, side, mistakes)
    record = column["mapping"]["record"]
    ids = record["id"]
    labels = [column["text"], record["label"]["text"]]
    integers = [column["integer"], record["label"]["integer"]]
    if side == "references":
        entry = column["mapping"]["entry"]
        ids = np.where(is_present(ids), ids, entry["id"])
        labels.append(_find_agreed(entry["relationship_responses"]))
    # A record has its label in one form only; the other forms are -1.
    return Struct({"id": ids, "label": np.maximum.reduce(labels), "integer": np.maximum.reduce(integers)})


def _refuse_entries(predictions: list[Any], mistakes: Mistakes) -> None:
    if not any(issubclass(kind, Mapping) for kind in types_of(predictions)):
        return
    for at, value in enumerate(predictions):
        if isinstance(value, (dict, Mapping)) and _form(value) == "entry":
            words = f"missing, expected a label; an entry with {_RESPONSE_KEYS[0]} is gold"
            mistakes.add(("predictions", at, "label"), f"{words}, which only references may be")


def _find_agreed(responses: Lists) -> np.ndarray:
    """The label that most raters gave, if at least two gave it and no other label got as many; else -1."""
    given = responses.items["relationship"]
    is_label = (given >= 0) & (given < len(LABELS))
    cell = responses.owners[is_label] * len(LABELS) + given[is_label]
    votes = np.bincount(cell, minlength=len(responses) * len(LABELS)).reshape(-1, len(LABELS))
    most = votes.max(axis=1)
    agreed = (most >= AGREEING) & ((votes == most[:, None]).sum(axis=1) == 1)
    return np.where(agreed, votes.argmax(axis=1), -1)


TASK = Task(COLUMNS, read, OPTIONS)
