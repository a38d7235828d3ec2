"""Records and options of document-level relation extraction.

A reference is a document with its entities and labels. A prediction is a document with facts, or with dense scores, or
a fact by itself with its title. Reading gives columns:

* References have the fields ``title``, ``vertexSet`` (entities, each a list of mentions with ``name`` and ``sent_id``)
  and ``labels`` (with ``h``, ``t``, ``r`` and ``evidence``).
* Predictions have the fields ``title``, ``flat`` (whether the prediction is a fact by itself), ``relations`` (facts
  with ``h_idx``, ``t_idx``, ``head``, ``tail``, ``r``, ``evidence`` and ``score``) and ``scores``.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .columns import Column, Lists, Struct, is_present
from .docred_dense import NO_RELATION, Scores, dataset_records
from .mistakes import Mistakes, Places, Refused, quote, quote_some
from .options import Option, choice, confidence_options, output_options, read_number, table
from .records import (
    Items,
    Optional,
    Record,
    Rows,
    Task,
    check_inside,
    has_items,
    read_all,
    read_sound,
    read_value,
    to_records,
)
from .values import Identifier, Integer, Node, Number, Text

# --- documents --------------------------------------------------------------------------------------------------------

_TITLE = Identifier("a title")
_RELATION = Text("a relation", blank=False)
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

_FACT_FIELDS: dict[str, Node] = {
    "h_idx": Optional(Integer("an entity index")),
    "t_idx": Optional(Integer("an entity index")),
    "head": Optional(Text("a name")),
    "tail": Optional(Text("a name")),
    "r": _RELATION,
    "evidence": _EVIDENCE,
    "score": Optional(Number("a score")),
}
BY_INDEX, BY_NAME = ("h_idx", "t_idx"), ("head", "tail")
_FACT = Record(_FACT_FIELDS, "a fact: a dict with h_idx, t_idx and r, or head, tail and r")
_FLAT_FACT = Record({"title": _TITLE, **_FACT_FIELDS}, "a fact: a dict with title, h_idx, t_idx and r")
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
        and any(record.get(name) is not None for name in _FACT_FIELDS)
    )


def _read_predictions(given: Any, mistakes: Mistakes) -> Struct:
    """Read a batch, whose first prediction decides whether all are facts by themselves."""
    if hasattr(given, "__len__") and "scores" in getattr(given, "column_names", ()):
        given = dataset_records(given)
    records = to_records(given, "predictions", ("title", "relations", "scores", *_FACT_FIELDS))
    places = Places.of_batch("predictions")
    is_flat = bool(records) and _is_flat(records[0])
    if is_flat:
        facts = read_all(records, _FLAT_FACT, places, mistakes, _AT_ONCE)
        relations = Lists(np.arange(len(facts) + 1), Struct({name: facts[name] for name in _FACT_FIELDS}))
        scores: Column = PREDICTION.fields["scores"].missing(len(facts))
        title = facts["title"]
    else:
        _check_forms(records, mistakes)
        is_dense = any(isinstance(record, Mapping) and record.get("scores") is not None for record in records)
        column = read_all(records, PREDICTION if is_dense else _FACTS_ALONE, places, mistakes, _AT_ONCE)
        title, relations = column["title"], column["relations"]
        scores = column["scores"] if is_dense else PREDICTION.fields["scores"].missing(len(column))
        if is_dense:
            for at in np.flatnonzero(~is_present(relations) & ~is_present(scores)).tolist():
                mistakes.add((*places(at), "relations"), f"missing, expected {_FACTS.expected}")
    flat = np.full(len(title), int(is_flat))
    predictions = Struct({"title": title, "flat": flat, "relations": relations, "scores": scores})
    _check_facts(predictions, places, mistakes)
    return predictions


def _check_forms(records: list[Any], mistakes: Mistakes) -> None:
    """Note predictions that are facts by themselves and have relations or scores too."""
    names = BY_INDEX + BY_NAME
    for at, record in enumerate(records):
        if isinstance(record, Mapping) and not record.keys().isdisjoint(names) and not _is_flat(record):
            name = next(name for name in names if name in record)
            mistakes.add(
                ("predictions", at, name),
                f"{quote(record[name])} is of a fact by itself, expected no relations or scores beside it",
            )


def fact_places(predictions: Struct, places: Places) -> Places:
    """The places of the facts of all predictions, end to end. `places` belong to the predictions."""
    offsets, flat = predictions["relations"].offsets, predictions["flat"]
    inside = places.field("relations").items(offsets)

    def path(fact: int) -> tuple[int | str, ...]:
        record = int(np.searchsorted(offsets, fact, side="right")) - 1
        return places(record) if flat[record] else inside(fact)

    return Places(path)


def _check_facts(predictions: Struct, places: Places, mistakes: Mistakes) -> None:
    """Note facts without a pair of entities, and from an entity to itself."""
    facts = predictions["relations"].items
    here = fact_places(predictions, places)
    given = {name: is_present(facts[name]) for name in BY_INDEX}
    incomplete = ~(given["h_idx"] & given["t_idx"])
    if incomplete.any():
        given |= {name: is_present(facts[name]) for name in BY_NAME}
        incomplete &= ~(given["head"] & given["tail"])
    for at in np.flatnonzero(incomplete).tolist():
        is_by_name = any(given[name][at] for name in BY_NAME) and not any(given[name][at] for name in BY_INDEX)
        missing = next(name for name in (BY_NAME if is_by_name else BY_INDEX) if not given[name][at])
        mistakes.add(
            (*here(at), missing), f"missing, expected {_FACT_FIELDS[missing].expected}, as in {_FACT.expected}"
        )
    _check_different(facts["h_idx"], facts["t_idx"], here.field("t_idx"), mistakes)


def check_pair_fields(predictions: Struct, places: Places, match: str, mistakes: Mistakes) -> None:
    """Note the first fact without each field by which facts are matched. `places` belong to the facts."""
    facts: Struct = predictions["relations"].items
    has_both = np.minimum(*(facts[name] for name in BY_INDEX)) >= 0
    # Each fact has indices or names, so only facts with one of these can lack the other.
    rows = np.flatnonzero(has_both if match == "names" else ~has_both)
    for name in BY_NAME if match == "names" else BY_INDEX:
        has_field = is_present(facts[name][rows])
        if not has_field.all():
            mistakes.add(
                (*places(rows[int(np.argmin(has_field))]), name),
                f"missing, expected {_FACT_FIELDS[name].expected}, which match={match!r} needs",
            )


def read(side: str, given: Any, mistakes: Mistakes) -> Column:
    """Read and check a batch of records; see `Task`."""
    return _read_predictions(given, mistakes) if side == "predictions" else _read_references(given, mistakes)


# --- options ----------------------------------------------------------------------------------------------------------


def _read_threshold(value: Any) -> float | str:
    return value if isinstance(value, str) and value == "na" else read_number(value, 'a number, nor "na"')


def _read_relation_names(value: Any) -> list[str | None] | None:
    if value is None:
        return None
    if isinstance(value, np.ndarray):
        value = value.tolist()
    expected = "a list of relation names"
    names: list[str | None] = read_value(value, Items(Optional(_RELATION), expected)).items.tolist()
    if isinstance(value, (set, frozenset)):
        raise Refused(f"{quote(value)} has no order, expected {expected}")
    first: dict[str | None, int] = {}
    for at, name in enumerate(names):
        name = None if name in NO_RELATION else name
        if name in first:
            raise Refused(f"{quote(names[at])} repeats [{first[name]}], expected each name once", at)
        first[name] = at
    return names


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
            value = _load(value)
            is_triples = bool(value) and isinstance(value[0], list)
        mistakes = Mistakes()
        training = _read_triples(value, name, mistakes) if is_triples else _read_documents(value, name, mistakes)
        mistakes.raise_first()
        return training

    return Option(name, kind, None, text, check)


def _load(path: str | Path) -> list[Any]:
    wanted = "expected a JSON file of training documents or of triples"
    try:
        data = Path(path).read_bytes()
        value = json.loads(gzip.decompress(data) if str(path).endswith(".gz") else data)
    except OSError as error:
        raise Refused(f"{quote(str(path))} cannot be read ({error.strerror}), {wanted}") from None
    except (ValueError, EOFError, RecursionError) as error:
        raise Refused(f"{quote(str(path))} is not JSON ({quote(str(error))}), {wanted}") from None
    if not isinstance(value, list):
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
            'float or "na"',
            0.5,
            'A fact is predicted when its score is above; a fact without score has 1.0. ``"na"`` predicts a relation '
            "whose dense score is above that of the no-relation column, and ranks by the difference.",
            _read_threshold,
        ),
        Option(
            "relation_names",
            "list of str or None",
            None,
            'The names of the last axis of dense scores, and all relations that there are to rank. None or "Na" is '
            "the no-relation column.",
            _read_relation_names,
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
