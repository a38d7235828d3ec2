"""Records and options of document-level relation extraction.

A reference is a document with its entities and labels. A prediction is a document with facts, or with dense scores, or
a fact by itself with its title. Reading gives columns:

* References have the fields ``title``, ``vertexSet`` (entities, each a list of mentions with ``name`` and ``sent_id``)
  and ``labels`` (with ``h``, ``t``, ``r`` and ``evidence``).
* Predictions have the fields ``title``, ``flat`` (whether the prediction is a fact by itself), ``relations`` (facts
  with ``h_idx``, ``t_idx``, ``head``, ``tail``, ``r``, ``evidence`` and ``score``) and ``scores``. An index that is
  given as ``head`` or ``tail``, as the Hub's dataset calls it, is in ``h_idx`` or ``t_idx``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import islice
from numbers import Integral, Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .columns import Column, Lists, Struct, concatenate_columns, is_present, take
from .docred_dense import NO_RELATION, Scores, dataset_records
from .mistakes import Mistakes, Places, Refused, quote, quote_some
from .options import Option, choice, confidence_options, output_options, read_number, table
from .reading import read_json
from .records import (
    Either,
    Items,
    Optional,
    Record,
    Rows,
    Task,
    check_inside,
    has_items,
    list_keys,
    read_all,
    read_sound,
    read_value,
    to_records,
)
from .values import Identifier, Integer, Node, Number, Text, Types

# --- documents --------------------------------------------------------------------------------------------------------

_TITLE = Identifier("a title")
_RELATION = Text("a relation", blank=False)
_MOST_DIGITS = 9  # of an index
_AT_ONCE = 512  # records read at a time; they are larger than usual
_EVIDENCE = Optional(Items(Integer("a sentence index"), "a list of sentence indices"))

_VERTEX_SET = Items(
    Items(
        Record(
            {"name": Optional(Text("a name")), "sent_id": Optional(Integer("a sentence index"))},
            "a mention: a dict with name and sent_id",
        ),
        "the mentions of an entity",
    ),
    "a list of entities, each a list of mentions",
)
_LABELS = Rows(
    Record(
        {"h": Integer("an entity index"), "t": Integer("an entity index"), "r": _RELATION, "evidence": _EVIDENCE},
        "a label: a dict with h, t, r and evidence",
        aliases={"head": "h", "tail": "t", "relation_id": "r"},  # the names of the Hub's dataset
    ),
    "a list of labels, or a dict of lists head, tail, relation_id and evidence",
)
_TRAINING_DOCUMENT = Record(
    {"vertexSet": _VERTEX_SET, "labels": _LABELS}, "a document: a dict with vertexSet and labels"
)
DOCUMENT = Record({"title": _TITLE, **_TRAINING_DOCUMENT.fields}, "a document: a dict with title, vertexSet and labels")


def check_labels(column: Struct, places: Places, mistakes: Mistakes, itself: bool = False) -> None:
    """Note labels with an entity that the document does not have, and, if not `itself`, from an entity to itself."""
    labels: Lists = column["labels"]
    here = places.field("labels").items(labels.offsets)
    limits = column["vertexSet"].lengths[labels.owners]
    for name in ("h", "t"):
        check_inside(labels.items[name], limits, here.field(name), "the number of entities", mistakes)
    if not itself:
        _check_different(labels.items["h"], labels.items["t"], here.field("t"), mistakes)


def _check_different(head: np.ndarray, tail: np.ndarray, places: Places, mistakes: Mistakes) -> None:
    """Note tails that are the head too; a missing entity is -1. `places` belong to the tails."""
    for at in np.flatnonzero((head == tail) & (head >= 0)).tolist():
        mistakes.add(places(at), f"{tail[at]} is the head too, expected another entity")


def check_titles(titles: np.ndarray, mistakes: Mistakes) -> None:
    """Note titles of references that repeat."""
    names = [title for title in titles.tolist() if title is not None]
    if len(set(names)) < len(names):
        repeated = [title for title, times in Counter(names).items() if times > 1]
        mistakes.add(("references",), f"repeated titles {quote_some(repeated)}, expected each title once")


def _mention_places(column: Struct, places: Places) -> Places:
    entities: Lists = column["vertexSet"]
    return places.field("vertexSet").items(entities.offsets).items(entities.items.offsets)


def check_sentences(column: Struct, places: Places, mistakes: Mistakes) -> None:
    """Note the first mention without a sentence where others have one."""
    has_sentence = is_present(column["vertexSet"].items.items["sent_id"])
    if has_sentence.any() and not has_sentence.all():
        mistakes.add(
            (*_mention_places(column, places)(int(np.argmin(has_sentence))), "sent_id"),
            "missing, expected a sentence index, as other mentions have one",
        )


def check_names(column: Struct, places: Places, needed_by: str, mistakes: Mistakes) -> None:
    """Note the first mention without a name; `needed_by` says what needs it."""
    has_name = is_present(column["vertexSet"].items.items["name"])
    if not has_name.all():
        place = _mention_places(column, places)(int(np.argmin(has_name)))
        mistakes.add((*place, "name"), f"missing, expected a name, which {needed_by} needs")


def _read_references(given: Any, mistakes: Mistakes) -> Struct:
    places = Places.of_batch("references")
    column: Struct = read_all(to_records(given, "references", DOCUMENT.keys), DOCUMENT, places, mistakes, _AT_ONCE)
    check_labels(column, places, mistakes)
    check_titles(column["title"], mistakes)
    return column


# --- predictions ------------------------------------------------------------------------------------------------------


class _Entity(Either):
    """The name of an entity, or its index."""

    def __init__(self) -> None:
        super().__init__(
            "a name of an entity, or its index",
            choose=_kind_of_entity,
            by_type=True,
            name=Text("a name"),
            index=Integer("an entity index"),
        )

    def feature(self) -> Any:
        return "string"


def _kind_of_entity(value: Any) -> str | None:
    if isinstance(value, (str, bytes, bytearray, memoryview)):
        return "name"
    return "index" if isinstance(value, Real) and not isinstance(value, (bool, np.bool_)) else None


class _Presence(Node):
    """Any value. The column holds 1 where there is one."""

    expected = "any value"

    def read(self, values: Sequence[Any], places: Places, mistakes: Mistakes, types: Types = None) -> np.ndarray:
        return np.ones(len(values), np.int64)

    def missing(self, n: int) -> np.ndarray:
        return np.full(n, -1)

    def feature(self) -> Any:
        return "bool"


_FACT_FIELDS: dict[str, Node] = {
    "h_idx": Optional(Integer("an entity index")),
    "t_idx": Optional(Integer("an entity index")),
    "head": Optional(_Entity()),
    "tail": Optional(_Entity()),
    "r": _RELATION,
    "evidence": _EVIDENCE,
    "score": Optional(Number("a score")),
}
BY_INDEX, BY_NAME = ("h_idx", "t_idx"), ("head", "tail")
_ALIASES = {"relation_id": "r"}  # the name of the Hub's dataset
_FACT = Record(_FACT_FIELDS, "a fact: a dict with h_idx, t_idx and r, or head, tail and r", aliases=_ALIASES)
_OF_DOCUMENTS = ("relations", "scores")  # the fields of a prediction that is not a fact by itself
_FLAT_FACT = Record(
    {"title": _TITLE, **_FACT_FIELDS, **dict.fromkeys(_OF_DOCUMENTS, Optional(_Presence()))},
    "a fact: a dict with title, h_idx, t_idx and r",
    aliases=_ALIASES,
)
_FACTS = Rows(_FACT, "a list of facts")
_FACTS_ALONE = Record({"title": _TITLE, "relations": _FACTS}, "a record: a dict with title, and relations or scores")
PREDICTION = Record(
    {"title": _TITLE, "relations": Optional(_FACTS), "scores": Optional(Scores())}, _FACTS_ALONE.expected
)


def _is_flat(record: Any) -> bool:
    """Whether a prediction is a fact by itself."""
    return (
        isinstance(record, Mapping)
        and record.get("relations") is None
        and record.get("scores") is None
        and any(record.get(name) is not None for name in _FACT.keys)
    )


def _read_predictions(given: Any, mistakes: Mistakes) -> Struct:
    """Read a batch; facts by themselves and predictions by document may stand in any order."""
    if all(hasattr(given, name) for name in ("__len__", "with_format")) and "scores" in given.column_names:
        given = dataset_records(given)
    records = to_records(given, "predictions", ("title", "relations", "scores", "labels", *_FACT.keys))
    places, trial = Places.of_batch("predictions"), Mistakes()
    first = bool(records) and _is_flat(records[0])
    if first:
        predictions = _read_form(records, True, places, trial)
    if not first or trial:
        is_flat = np.array([_is_flat(record) if isinstance(record, Mapping) else first for record in records], bool)
        rows = [some for some in (np.flatnonzero(is_flat), np.flatnonzero(~is_flat)) if len(some)]
        parts = [
            _read_form([records[at] for at in some], bool(is_flat[some[0]]), places.rows(some.tolist()), mistakes)
            for some in rows
        ]
        parts = parts or [_read_form([], False, places, mistakes)]
        predictions = take(concatenate_columns(parts), np.argsort(np.concatenate(rows))) if parts[1:] else parts[0]
    relations: Lists = predictions["relations"]
    here = fact_places(predictions, places)
    facts = _indices_apart(relations.items, here, mistakes)
    _check_facts(facts, here, records, mistakes)
    return Struct({**predictions.fields, "relations": Lists(relations.offsets, facts, relations.present)})


def _read_form(records: list[Any], is_flat: bool, places: Places, mistakes: Mistakes) -> Struct:
    """Read predictions that are all facts by themselves, or none is."""
    if is_flat:
        facts = read_all(records, _FLAT_FACT, places, mistakes, _AT_ONCE)
        for name in _OF_DOCUMENTS:
            for at in np.flatnonzero(facts[name] >= 0).tolist():
                mistakes.add((*places(at), name), "a part of a prediction by document, expected a fact by itself")
        relations = Lists(np.arange(len(facts) + 1), Struct({name: facts[name] for name in _FACT_FIELDS}))
        scores: Column = PREDICTION.fields["scores"].missing(len(facts))
        title = facts["title"]
    else:
        _check_forms(records, places, mistakes)
        is_dense = any(isinstance(record, Mapping) and record.get("scores") is not None for record in records)
        column = read_all(records, PREDICTION if is_dense else _FACTS_ALONE, places, mistakes, _AT_ONCE)
        title, relations = column["title"], column["relations"]
        scores = column["scores"] if is_dense else PREDICTION.fields["scores"].missing(len(column))
        if is_dense:
            for at in np.flatnonzero(~is_present(relations) & ~is_present(scores)).tolist():
                mistakes.add((*places(at), "relations"), f"missing, expected {_FACTS.expected}{_keys_at(records, at)}")
    return Struct({"title": title, "flat": np.full(len(title), int(is_flat)), "relations": relations, "scores": scores})


def _check_forms(records: list[Any], places: Places, mistakes: Mistakes) -> None:
    """Note gold documents, and predictions that are facts by themselves and have relations or scores too."""
    names = (*BY_INDEX, *BY_NAME)
    for at, record in enumerate(records):
        if not isinstance(record, Mapping):
            continue
        if record.get("labels") is not None and record.get("relations") is None and record.get("scores") is None:
            mistakes.add(
                places(at),
                "a document with gold labels, expected a prediction with relations or scores "
                "(to_predictions of spanscore.formats.docred makes predictions of documents)",
            )
        elif not record.keys().isdisjoint(names) and not _is_flat(record):
            name = next(name for name in names if name in record)
            mistakes.add(
                (*places(at), name),
                f"{quote(record[name])} is of a fact by itself, expected no relations or scores beside it",
            )


def _indices_apart(facts: Struct, places: Places, mistakes: Mistakes) -> Struct:
    """Put indices that are given as heads and tails into ``h_idx`` and ``t_idx``; names alone stay."""
    fields = dict(facts.fields)
    for index, name in zip(BY_INDEX, BY_NAME, strict=True):
        given = facts[name]["index"]
        fields[name] = facts[name]["name"]
        if (given >= 0).any():
            for at in np.flatnonzero((given >= 0) & (facts[index] >= 0) & (given != facts[index])).tolist():
                mistakes.add((*places(at), name), f"{given[at]} contradicts {facts[index][at]}, given as {index}")
            fields[index] = np.where(given >= 0, given, facts[index])
    return Struct(fields, facts.present)


def _keys_at(records: list[Any], *steps: int | str) -> str:
    """The words on the keys of a record, or of a fact in it, for the error that one is missing."""
    value: Any = records
    for step in steps:
        if isinstance(value, Mapping) == isinstance(step, int):
            break  # the columns of facts, or a named tuple
        # A set has no index, and the index of a pandas.Series does not count its items.
        if isinstance(value, Mapping):
            value = value[step]
        else:
            value = value[int(step)] if isinstance(value, list) else next(islice(value, int(step), None))
    return f"; {list_keys(value)}" if isinstance(value, Mapping) else ""


def fact_places(predictions: Struct, places: Places) -> Places:
    """The places of the facts of all predictions, end to end. `places` belong to the predictions."""
    offsets, flat = predictions["relations"].offsets, predictions["flat"]
    inside = places.field("relations").items(offsets)

    def path(fact: int) -> tuple[int | str, ...]:
        record = int(np.searchsorted(offsets, fact, side="right")) - 1
        return places(record) if flat[record] else inside(fact)

    return Places(path)


def _check_facts(facts: Struct, places: Places, records: list[Any], mistakes: Mistakes) -> None:
    """Note facts without a pair of entities, and from an entity to itself. `places` belong to the facts."""
    given = {name: is_present(facts[name]) for name in BY_INDEX}
    incomplete = ~(given["h_idx"] & given["t_idx"])
    if incomplete.any():
        given |= {name: is_present(facts[name]) for name in BY_NAME}
        incomplete &= ~(given["head"] & given["tail"])
    for at in np.flatnonzero(incomplete).tolist():
        is_by_name = any(given[name][at] for name in BY_NAME) and not any(given[name][at] for name in BY_INDEX)
        missing = next(name for name in (BY_NAME if is_by_name else BY_INDEX) if not given[name][at])
        path = places(at)
        words = f"missing, expected {_FACT_FIELDS[missing].expected}, as in {_FACT.expected}"
        mistakes.add((*path, missing), words + _keys_at(records, *path[1:]))
    _check_different(facts["h_idx"], facts["t_idx"], places.field("t_idx"), mistakes)


def check_pair_fields(predictions: Struct, places: Places, match: str, mistakes: Mistakes) -> None:
    """Note the first fact without each field by which facts are matched. `places` belong to the facts."""
    facts: Struct = predictions["relations"].items
    has_both = np.minimum(*(facts[name] for name in BY_INDEX)) >= 0
    # Each fact has indices or names, so only facts with one of these can lack the other.
    rows = np.flatnonzero(has_both if match == "names" else ~has_both)
    wanted, others = (BY_NAME, BY_INDEX) if match == "names" else (BY_INDEX, BY_NAME)
    kind = "a name" if match == "names" else _FACT_FIELDS["h_idx"].expected
    for name in wanted:
        has_field = is_present(facts[name][rows])
        if not has_field.all():
            at = rows[int(np.argmin(has_field))]
            given = ", ".join(quote(facts[other][at : at + 1].tolist()[0]) for other in others)
            mistakes.add(
                (*places(at), name),
                f"missing, expected {kind}, which match={match!r} needs; head and tail are {given}",
            )


def read(side: str, given: Any, mistakes: Mistakes) -> Column:
    """Read and check a batch of records; see `Task`."""
    return _read_predictions(given, mistakes) if side == "predictions" else _read_references(given, mistakes)


# --- options ----------------------------------------------------------------------------------------------------------


def _read_threshold(value: Any) -> float | str | None:
    if value is None or (isinstance(value, str) and value == "na"):
        return value
    return read_number(value, 'a number, nor "na"')


_NAMES_EXPECTED = "a list of relation names, or a dict from name to index or from index to name"


def _read_relation_names(value: Any) -> list[str | None] | None:
    if value is None:
        return None
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (set, frozenset)):
        raise Refused(f"{quote(value)} has no order, expected {_NAMES_EXPECTED}")
    if isinstance(value, Mapping):
        value = _in_order(value)
    names: list[str | None] = read_value(value, Items(Optional(_RELATION), _NAMES_EXPECTED)).items.tolist()
    first: dict[str | None, int] = {}
    for at, name in enumerate(names):
        name = None if name in NO_RELATION else name
        if name in first:
            raise Refused(f"{quote(names[at])} repeats [{first[name]}], expected each name once", at)
        first[name] = at
    return names


def _in_order(given: Mapping[Any, Any]) -> list[Any]:
    """The names of a dict from name to index (``rel2id.json``) or from index to name (``id2label``), by index."""
    is_by_name = all(_index_of(value, False) is not None for value in given.values())
    names: dict[int, Any] = {}
    for key, value in given.items():
        name, index = (key, _index_of(value, False)) if is_by_name else (value, _index_of(key, True))
        step = f"[{quote(key)}]"
        if index is None:
            raise Refused(f"{quote(key)} is not an index (a whole number from 0), expected {_NAMES_EXPECTED}", step)
        if index in names:
            raise Refused(f"{index} is the index of {quote(names[index])} too, expected each index once", step)
        names[index] = name
    for index in range(len(names)):
        if index not in names:
            raise Refused(f"no name has the index {index}, expected each index from 0 to {len(names) - 1}")
    return [names[index] for index in range(len(names))]


def _index_of(value: Any, as_text: bool) -> int | None:
    """A whole number from 0, also as text (the keys of a JSON object) if `as_text`; None for another value."""
    if as_text and isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= _MOST_DIGITS:
        return int(value)
    is_index = isinstance(value, Integral) and not isinstance(value, bool) and int(value) >= 0
    return int(value) if is_index else None


def _read_relation_info(value: Any) -> dict[str, str] | None:
    expected = "a dict from relation to its readable name, or a path to a JSON file of one"
    if value is None:
        return None
    if isinstance(value, (str, Path)):
        value = _load(value, dict, expected)
    if not isinstance(value, Mapping):
        raise Refused(f"{quote(value)} is not {expected}")
    info: dict[str, str] = {}
    name = Text("a readable name", blank=False)
    for key, text in value.items():
        try:
            info[_RELATION.read_one(key)] = name.read_one(text)
        except Refused as refused:
            raise Refused(refused.words, f"[{quote(key)}]") from None
    return info


class Training(NamedTuple):
    """Training facts as they were given: one of the two is None.

    Attributes
    ----------
    documents : Struct or None
        Documents, with the fields ``vertexSet`` and ``labels``.
    triples : tuple of three ndarray of str, or None
        Head names, tail names and relations, each of shape (n_triples,).
    """

    documents: Struct | None
    triples: tuple[np.ndarray, np.ndarray, np.ndarray] | None


_TRIPLE = Items(Text("a name"), "a triple: head name, tail name, relation")


def _training_option(name: str, kind: str, text: str, as_triples: bool) -> Option:
    """An option that takes training documents, or triples, or a path to either."""

    def check(value: Any) -> Training | None:
        if value is None:
            return None
        is_triples = as_triples
        if isinstance(value, (str, Path)):
            value = _load(value, list, "a JSON file of training documents or of triples")
            is_triples = bool(value) and isinstance(value[0], list)
        mistakes = Mistakes()
        training = _read_triples(value, name, mistakes) if is_triples else _read_documents(value, name, mistakes)
        mistakes.raise_first()
        return training

    return Option(name, kind, None, text, check, form="file")


def _load(path: str | Path, kind: type, expected: str) -> Any:
    """The content of a JSON file, which is a value of this kind."""
    wanted = f"expected {expected}"
    try:
        value = read_json(path)
    except OSError as error:
        raise Refused(f"{quote(str(path))} cannot be read ({error.strerror}), {wanted}") from None
    except ValueError as error:
        raise Refused(f"{error}, {wanted}") from None
    if not isinstance(value, kind):
        raise Refused(f"{quote(str(path))} holds {quote(value)}, {wanted}")
    return value


def _read_triples(value: Any, name: str, mistakes: Mistakes) -> Training:
    if isinstance(value, Mapping) or not has_items(value):
        raise Refused(f"{quote(value)} is not a list of triples: head name, tail name, relation")
    given = list(value)
    column, places = read_sound(given, _TRIPLE, name, mistakes)
    for at in np.flatnonzero(column.lengths != 3).tolist():
        triple = column.items[column.offsets[at] : column.offsets[at + 1]].tolist()
        mistakes.add(places(at), f"{quote(triple)} has {len(triple)} values, expected {_TRIPLE.expected}")
    head, tail, relation = (column.items[start::3] for start in range(3))
    return Training(None, (head, tail, relation))


def _read_documents(value: Any, name: str, mistakes: Mistakes) -> Training:
    records = to_records(value, name, _TRAINING_DOCUMENT.keys)
    column, places = read_sound(records, _TRAINING_DOCUMENT, name, mistakes)
    check_labels(column, places, mistakes, itself=True)
    check_sentences(column, places, mistakes)
    check_names(column, places, "a training fact", mistakes)
    return Training(column, None)


# The kinds of training facts, and the options that give them.
TRAINING = {"ign": ("train", "train_facts"), "ign_distant": ("train_distant", "train_distant_facts")}

_DOCUMENTS = "list of records, or path"
_TRIPLES = "list of (head name, tail name, relation), or path"
OPTIONS = {
    **table(
        Option(
            "threshold",
            'float, "na" or None',
            None,
            "A fact is predicted when its score is above; a fact without score has 1.0. Without a threshold every "
            'listed fact is predicted. Dense scores need one. ``"na"`` predicts a relation whose dense score is above '
            "that of the no-relation column, and ranks by the difference.",
            _read_threshold,
        ),
        Option(
            "relation_names",
            "list of str or None, dict of str to int, or dict of int to str",
            None,
            "The names of the last axis of dense scores, and all relations that there are to rank. A dict gives each "
            'name its index or each index its name. None, "Na", "NA" or "no_relation" is the no-relation column.',
            _read_relation_names,
            form="list",
        ),
        Option(
            "relation_info",
            "dict of str to str, or path",
            None,
            "Readable names of relations, or a file of them (``rel_info.json``). Facts in error show both, and with "
            '``match="names"`` predictions may have either.',
            _read_relation_info,
            form="file",
        ),
        _training_option(
            "train", _DOCUMENTS, "Training documents, like references, or a file of them or of triples.", False
        ),
        _training_option("train_facts", _TRIPLES, "More training facts, added to those of ``train``.", True),
        _training_option("train_distant", _DOCUMENTS, "Documents of distant training, as in ``train``.", False),
        _training_option("train_distant_facts", _TRIPLES, "Facts of distant training, as in ``train_facts``.", True),
        choice("match", ("indices", "names"), "indices", "How predicted facts name entities."),
    ),
    **output_options(
        "the counts of each document, with unknown titles last",
        "the facts that were missed, spurious, or wrong in one respect, and the curve of precision over recall",
    ),
    **confidence_options("documents", "The best threshold of the intervals is that of the whole data."),
}


TASKS = {"default": Task({"predictions": PREDICTION, "references": DOCUMENT}, read, OPTIONS)}
