"""Document-level relation extraction, DocRED (Yao et al. 2019), as a Hugging Face Evaluate metric.

The file reads as the benchmark's definition: what a record is, what is counted, what is ranked, what is scored.
Counting gives a table of integers, one row a document; every rate is a function of the table's sum. Areas and the best
threshold are functions of a `Ranking`, which holds where the scores of the gold facts lie among all others.
"""

import gzip
import json
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import evaluate
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy.sparse import csr_array, hstack

from .matching import (
    COUNT_NAMES,
    Spans,
    divide,
    explain,
    f_score,
    find,
    match_in_order,
    number,
    number_spans,
    precision_recall_f,
    product,
    rates_or,
    row,
    spans,
)
from .ranking import Ranking, between, curve, precision_recall_area, roc_area
from .records import (
    CONFIDENCE,
    Check,
    Identifier,
    Integer,
    Items,
    Mistake,
    Node,
    Number,
    Optional,
    Record,
    Rows,
    Staging,
    Text,
    check_inside,
    convert,
    flag,
    has_items,
    integers,
    listing,
    lists,
    one_of,
    owners,
    present,
    rows,
    shown,
)
from .resampling import Statistics, add_intervals, number_groups

VERSION = "1.0.0"

_DESCRIPTION = """\
Document-level relation extraction: facts (head entity, tail entity, relation) of a document, on DocRED and Re-DocRED.
The headline is micro precision, recall and F1 over the facts of all documents, in percent; Ign F1 leaves correct facts
that training has shown out of precision; areas are in [0, 1] (Yao et al. 2019, section 4; Tan et al. 2022, section 4).
"""

_CITATION = """\
@inproceedings{yao2019docred,
  title = {{DocRED}: A Large-Scale Document-Level Relation Extraction Dataset},
  author = {Yao, Yuan and Ye, Deming and Li, Peng and Han, Xu and Lin, Yankai and Liu, Zhenghao and Liu, Zhiyuan and
            Huang, Lixin and Zhou, Jie and Sun, Maosong},
  booktitle = {Proceedings of the 57th Annual Meeting of the Association for Computational Linguistics},
  year = {2019},
  note = {arXiv:1906.06127}
}
@inproceedings{tan2022revisiting,
  title = {Revisiting {DocRED} -- Addressing the False Negative Problem in Relation Extraction},
  author = {Tan, Qingyu and Xu, Lu and Bing, Lidong and Ng, Hwee Tou and Aljunied, Sharifah Mahani},
  booktitle = {Proceedings of the 2022 Conference on Empirical Methods in Natural Language Processing},
  year = {2022},
  note = {arXiv:2205.12696}
}
"""

_KWARGS_DESCRIPTION = """
Parameters
----------
predictions : list of records
    Records join by title and may differ in number from the references. A record is
    ``{"title", "relations": [{"h_idx", "t_idx", "r", "evidence": [], "score": 1.0}]}``; or a fact by itself, with its
    title, as in the ``result.json`` that models write; or dense scores ``{"title", "scores": array}`` of shape
    (entities, entities, relations), the diagonal not read, or (entities * (entities - 1), relations), head-major; or,
    with ``match="names"``, ``{"title", "relations": [{"head": name, "tail": name, "r"}]}``.
references : list of records
    Documents as in the benchmark's files, ``{"title", "vertexSet": [[{"name", "sent_id"}]], "labels": [{"h", "t", "r",
    "evidence"}]}``, or as rows of the Hub's dataset. Without any ``sent_id`` the breakdowns by distance are None.
threshold : float or "na", default 0.5
    A fact is predicted when its score is above; a fact without score has 1.0. ``"na"`` predicts a relation whose dense
    score is above that of the no-relation column, and ranks by the difference.
relation_names : list of str or None, optional
    The names of the last axis of dense scores, and all relations that there are to rank; None or "Na" is the
    no-relation column.
train, train_distant : list of records, or path, optional
    Training documents, as references, or a file of them or of triples.
train_facts, train_distant_facts : list of (head name, tail name, relation), or path, optional
    Training facts, the same way; both options of a kind may be given.
match : {"indices", "names"}, default "indices"
    How predicted facts name entities.
per_document : bool, default False
    Adds the counts of each document, those of unknown titles last.
return_errors : bool, default False
    Adds what was missed, spurious, or wrong in one respect.
confidence_level : float in (0, 1), optional
    Adds ``confidence_intervals``, ``[low, high]`` of each headline score, areas and best F1 included, by resampling
    documents with replacement. The best threshold is that of the whole data.
n_resamples, random_state : int, default 1000 and 0
interval_method : {"percentile", "bca"}, default "percentile"
groups : list of keys, one a reference, optional
    Documents of one key are resampled together.

Returns
-------
dict
    ``precision``, ``recall``, ``f1``, ``true_positives``, ``predicted``, ``gold`` of facts; ``ign_f1``,
    ``ign_precision``, ``ign_distant_f1``, ``ign_distant_precision`` (None without training facts); the same six for
    ``evidence``, ``evidence_annotated``, ``intra``, ``inter``, ``inter_long``, ``frequent``, ``long_tail`` and each of
    ``per_relation``, with ``macro_f1``; ``by_evidence`` (recall); ``auc``, ``ign_auc``, ``pr_auc``, ``ign_pr_auc``,
    ``best_f1``, ``best_threshold``, ``ign_best_f1``, ``candidates``, ``n_relations``; ``unknown_titles``,
    ``duplicate_predictions``, ``duplicate_references``; ``signature``.

Examples
--------
>>> import evaluate
>>> docred = evaluate.load("docred_metric.py")
>>> document = {
...     "title": "Ada Lovelace",
...     "vertexSet": [
...         [{"name": "Ada Lovelace", "sent_id": 0}],
...         [{"name": "London", "sent_id": 0}],
...         [{"name": "1815", "sent_id": 1}],
...     ],
...     "labels": [{"h": 0, "t": 1, "r": "P19", "evidence": [0]}, {"h": 0, "t": 2, "r": "P569", "evidence": [1]}],
... }
>>> facts = [{"title": "Ada Lovelace", "h_idx": 0, "t_idx": 1, "r": "P19", "evidence": [0]}]
>>> result = docred.compute(predictions=facts, references=[document])
>>> result["precision"], result["recall"], round(result["f1"], 2)
(100.0, 50.0, 66.67)
"""

# Tan et al. 2022, section 4: the ten relations of most facts; all others are long-tail.
FREQUENT = ("P17", "P131", "P27", "P150", "P175", "P577", "P463", "P527", "P495", "P361")

_NO_RELATION = (None, "Na")
_HEADLINE = (
    *("precision", "recall", "f1", "ign_f1", "ign_precision", "ign_distant_f1", "ign_distant_precision", "macro_f1"),
    *("auc", "ign_auc", "pr_auc", "ign_pr_auc", "best_f1", "ign_best_f1"),
)
_DISTANCES = ("intra", "inter", "inter_long")
_LONG_DISTANCE = 5  # sentences; inter_long is above
_EVIDENCE_TYPES = ("none", "single", "mix", "multiple")
_KINDS = ("wrong_direction", "wrong_relation", "wrong_head", "wrong_tail")
_FAR, _NOWHERE = 2**31, -1  # the distance of an entity without mention, and of what has no place
# Stands for -inf, which JSON does not have: below every score that a threshold can tell apart.
_LOWEST = -sys.float_info.max
_BLOCK = 1 << 18  # dense scores sorted at once


# --- records ----------------------------------------------------------------------------------------------------------

_EVIDENCE = Optional(Items(Integer("a sentence index"), "a list of sentence indices"))
_RELATION = Text("a relation", blank=False)
_TITLE = Identifier("a title")

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
_HUB_NAMES = {"head": "h", "tail": "t", "relation_id": "r"}
_LABELS = Rows(
    Record(
        {"h": Integer("an entity index"), "t": Integer("an entity index"), "r": _RELATION, "evidence": _EVIDENCE},
        "a label: a dict with h, t, r and evidence",
        aliases=_HUB_NAMES,
    ),
    "a list of labels, or a dict of lists head, tail, relation_id and evidence",
    columns=_HUB_NAMES,
)
_TRAINING = Record({"vertexSet": _VERTEX_SET, "labels": _LABELS}, "a document: a dict with vertexSet and labels")
_REFERENCE = Record({"title": _TITLE, **_TRAINING.fields}, "a document: a dict with title, vertexSet and labels")

_FACT_FIELDS: dict[str, Node] = {
    "h_idx": Optional(Integer("an entity index")),
    "t_idx": Optional(Integer("an entity index")),
    "head": Optional(Text("a name")),
    "tail": Optional(Text("a name")),
    "r": _RELATION,
    "evidence": _EVIDENCE,
    "score": Optional(Number("a score")),
}
_PAIR_FIELDS = ("h_idx", "t_idx", "head", "tail")
_FACT = Record(_FACT_FIELDS, "a fact: a dict with h_idx, t_idx and r, or head, tail and r")
_FLAT = Record({"title": _TITLE, **_FACT_FIELDS}, "a fact: a dict with title, h_idx, t_idx and r")
_FACTS = Rows(_FACT, "a list of facts")
_PREDICTION = Record({"title": _TITLE, "relations": _FACTS}, "a record: a dict with title, and relations or scores")
_DENSE = Record({"title": _TITLE, "relations": Optional(_FACTS)}, _PREDICTION.what)
_TRIPLES = Items(Text("a name"), "a triple: head name, tail name, relation")

# A number array as its bytes, so that none of its numbers becomes an object.
_SCORES_TYPE = pa.struct([("dtype", pa.string()), ("shape", pa.list_(pa.int64())), ("values", pa.large_binary())])


class _Stored(Node):
    """A prediction as it is kept; one that was given as a flat fact has it as its only one."""

    arrow = pa.struct(
        [("title", pa.string()), ("flat", pa.bool_()), ("relations", _FACTS.arrow), ("scores", _SCORES_TYPE)]
    )


def _is_flat(record: Any) -> bool:
    return (
        isinstance(record, Mapping)
        and record.get("relations") is None
        and record.get("scores") is None
        and any(record.get(name) is not None for name in _FACT_FIELDS)
    )


def _read_predictions(batch: Any) -> pa.StructArray:
    """A batch of predictions, in whatever form, to a column of `_Stored`."""
    if hasattr(batch, "__len__") and "scores" in getattr(batch, "column_names", ()):
        batch = _arrays_of_dataset(batch)
    records = rows(batch, "predictions", ("title", "relations", "scores", *_FACT_FIELDS))
    flat = bool(records) and _is_flat(records[0])
    if flat:
        facts = convert(records, _FLAT, "predictions")
        facts_only = pa.StructArray.from_arrays([facts.field(n) for n in _FACT_FIELDS], fields=list(_FACT.arrow))
        relations = pa.ListArray.from_arrays(pa.array(np.arange(len(facts) + 1, dtype=np.int32)), facts_only)
        titles, scores = facts.field("title"), pa.nulls(len(facts), _SCORES_TYPE)
    else:
        for index, record in enumerate(records):
            both = [
                name for name in ("h_idx", "t_idx", "head", "tail") if isinstance(record, Mapping) and name in record
            ]
            if both and not _is_flat(record):
                raise ValueError(
                    f"predictions[{index}].{both[0]}: {shown(record[both[0]])} is of a fact by itself, "
                    f"expected no relations or scores beside it"
                )
        given = [record.get("scores") if isinstance(record, Mapping) else None for record in records]
        dense = any(value is not None for value in given)
        sparse = convert(records, _DENSE if dense else _PREDICTION, "predictions")
        titles, relations = sparse.field("title"), sparse.field("relations")
        scores = _scores_column(given, relations) if dense else pa.nulls(len(records), _SCORES_TYPE)
    column = pa.StructArray.from_arrays(
        [titles, pa.array([flat] * len(records), pa.bool_()), relations, scores], fields=list(_Stored.arrow)
    )
    _check_predictions(column)
    return column


def _arrays_of_dataset(dataset: Any) -> list[dict]:
    """The rows of a ``datasets.Dataset`` whose scores are nested lists, which Arrow hands over as arrays."""
    others = dataset.select_columns([name for name in dataset.column_names if name != "scores"]).with_format(None)
    records = others.to_list()
    chunks = dataset.select_columns(["scores"]).with_format("arrow")[:].column("scores").chunks
    for record, scalar in zip(records, chain.from_iterable(chunks), strict=True):
        if not scalar.is_valid:
            continue
        values = getattr(scalar, "value", scalar)
        values = values.values if isinstance(values, pa.Scalar) else values
        shape = [len(values)]
        while pa.types.is_nested(values.type) and not values.null_count:
            lengths = pc.unique(pc.list_value_length(values)).to_pylist() or [0]
            if len(lengths) > 1:
                break
            shape.append(lengths[0])
            values = values.flatten()
        if pa.types.is_nested(values.type) or values.null_count:
            record["scores"] = scalar.as_py()
        else:
            record["scores"] = values.to_numpy(zero_copy_only=False).reshape(shape)
    return records


def _array(value: Any) -> np.ndarray:
    """Dense scores as an array of floats without NaN, of one of the two shapes; raises `Mistake`."""
    wanted = "an array of numbers of shape (entities, entities, relations) or (entities * (entities - 1), relations)"
    try:
        array = np.asarray(value)
    except Exception:  # of any library that the value is from
        raise Mistake(f"{shown(value)} is not {wanted}") from None
    if array.dtype.kind not in "fiu" or (isinstance(value, (list, tuple)) and _has_flags(value, array.ndim)):
        raise Mistake(f"{shown(value)} is not {wanted}")
    if array.shape == (0,):  # a list cannot say how many relations no pair has
        array = array.reshape(0, 0)
    if array.ndim == 2:
        n = _n_entities(array.shape)
        wrong = n * (n - 1) != len(array)
    else:
        wrong = array.ndim != 3 or array.shape[0] != array.shape[1]
    if wrong:
        raise Mistake(f"shape {array.shape}, expected {wanted}")
    if array.dtype.kind != "f" or array.dtype.itemsize > 8 or not array.dtype.isnative:
        array = array.astype(np.float64)
    if array.size and np.isnan(array.min()):
        bad = np.isnan(array)
        if array.ndim == 3:
            bad[np.arange(len(array)), np.arange(len(array))] = False
        if bad.any():
            raise Mistake("nan is not a number", "[" + ", ".join(map(str, np.argwhere(bad)[0].tolist())) + "]")
    return np.ascontiguousarray(array)


def _has_flags(value: Iterable, depth: int) -> bool:
    """Whether nested lists hold True or False, which numpy reads as numbers where others are."""
    for _ in range(depth - 1):
        value = chain.from_iterable(value)
    return not {bool, np.bool_}.isdisjoint(map(type, value))


def _n_entities(shape: tuple[int, ...]) -> int:
    """How many entities scores of a shape are of; of pairs, the smallest number that has so many."""
    if len(shape) == 3:
        return shape[0]
    return int((1 + np.sqrt(1 + 4 * shape[0])) / 2) if shape[0] else 0


def _scores_column(given: list, relations: pa.Array) -> pa.StructArray:
    arrays = []
    for index, value in enumerate(given):
        try:
            if value is None and not relations[index].is_valid:
                raise Mistake(f"missing, expected {_FACTS.what}", ".relations")
            arrays.append(None if value is None else _array(value))
        except Mistake as mistake:
            step = ".scores" if value is not None else ""
            raise mistake.within(f"predictions[{index}]{step}").error() from None
    dtypes = [None if array is None else array.dtype.name for array in arrays]
    shapes = [None if array is None else array.shape for array in arrays]
    # Filled in one piece: a growing column would copy it twice.
    n_bytes = [0 if array is None else array.nbytes for array in arrays]
    offsets = np.append(0, np.cumsum(n_bytes)).astype(np.int64)
    values = np.empty(offsets[-1], np.uint8)
    for array, start, end in zip(arrays, offsets[:-1], offsets[1:], strict=True):
        if array is not None:
            values[start:end] = array.reshape(-1).view(np.uint8)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(values)]
    return pa.StructArray.from_arrays(
        [
            pa.array(dtypes, pa.string()),
            pa.array(shapes, pa.list_(pa.int64())),
            pa.Array.from_buffers(pa.large_binary(), len(arrays), buffers),
        ],
        fields=list(_SCORES_TYPE),
        mask=pa.array(np.array([array is None for array in arrays])),
    )


def _fact_place(predictions: pa.StructArray, offsets: np.ndarray, fact: int) -> str:
    record = int(np.searchsorted(offsets, fact, side="right")) - 1
    within = "" if predictions.field("flat")[record].as_py() else f".relations[{fact - offsets[record]}]"
    return f"predictions[{record}]{within}"


def _indices(column: pa.Array) -> np.ndarray:
    """Entity indices as int64, -1 where there is none."""
    return integers(column.fill_null(-1)).astype(np.int64)


def _check_predictions(predictions: pa.StructArray) -> None:
    """Refuse facts without a pair of entities, and from an entity to itself."""
    offsets, facts = lists(predictions.field("relations"))
    given = {name: present(facts.field(name)) for name in _PAIR_FIELDS}
    incomplete = ~(given["h_idx"] & given["t_idx"]) & ~(given["head"] & given["tail"])
    if incomplete.any():
        fact = int(np.argmax(incomplete))
        by_name = not (given["h_idx"][fact] or given["t_idx"][fact]) and (given["head"][fact] or given["tail"][fact])
        missing = next(name for name in (("head", "tail") if by_name else ("h_idx", "t_idx")) if not given[name][fact])
        expected = f"{_FACT_FIELDS[missing].what}, as in {_FACT.what}"
        raise ValueError(f"{_fact_place(predictions, offsets, fact)}.{missing}: missing, expected {expected}")
    head = _indices(facts.field("h_idx"))
    itself = (head == _indices(facts.field("t_idx"))) & (head >= 0)
    if itself.any():
        fact = int(np.argmax(itself))
        place = _fact_place(predictions, offsets, fact)
        raise ValueError(f"{place}.t_idx: {head[fact]} is the head too, expected another entity")


def _check_references(column: pa.StructArray, side: str, itself: bool = False) -> None:
    """Refuse labels with an entity that the document does not have, or, if not `itself`, from an entity to itself."""
    offsets, labels = lists(column.field("labels"))
    document = owners(offsets)
    n_entities = pc.list_value_length(column.field("vertexSet")).to_numpy(zero_copy_only=False)
    head, tail = integers(labels.field("h")), integers(labels.field("t"))
    limit = n_entities[document]

    def place(label: int) -> str:
        return f"{side}[{document[label]}].labels[{label - offsets[document[label]]}]"

    for name, entity in (("h", head), ("t", tail)):
        check_inside(entity, limit, lambda label, name=name: f"{place(label)}.{name}", "the number of entities")
    if not itself and (head == tail).any():
        at = int(np.argmax(head == tail))
        raise ValueError(f"{place(at)}.t: {tail[at]} is the head too, expected another entity")


def _check_titles(titles: pa.Array) -> None:
    if pc.count_distinct(titles).as_py() < len(titles):
        counts = pc.value_counts(titles)
        repeated = counts.filter(pc.greater(counts.field("counts"), 1)).field("values").to_pylist()
        raise ValueError(f"references: repeated titles {listing(repeated)}, expected each title once")


# --- options ----------------------------------------------------------------------------------------------------------


def _threshold(value: Any) -> float | str:
    if isinstance(value, str) and value == "na":
        return value
    try:
        return Number().read(value)
    except Mistake:
        raise Mistake(f'{shown(value)} is not a number, nor "na"') from None


def _relation_names(value: Any) -> list[str | None] | None:
    if value is None:
        return None
    if isinstance(value, np.ndarray):
        value = value.tolist()
    names = Items(Optional(_RELATION), "a list of relation names").read(value)
    if isinstance(value, (set, frozenset)):
        raise Mistake(f"{shown(value)} has no order, expected a list of relation names")
    first: dict[str | None, int] = {}
    for index, name in enumerate(names):
        name = None if name in _NO_RELATION else name
        if name in first:
            raise Mistake(f"{shown(names[index])} repeats [{first[name]}], expected each name once", f"[{index}]")
        first[name] = index
    return names


def _load(path: str | Path, name: str) -> list:
    wanted = "expected a JSON file of training documents or of triples"
    try:
        data = Path(path).read_bytes()
        value = json.loads(gzip.decompress(data) if str(path).endswith(".gz") else data)
    except OSError as error:
        raise Mistake(f"{shown(str(path))} cannot be read ({error.strerror}), {wanted}") from None
    except (ValueError, EOFError, RecursionError) as error:
        raise Mistake(f"{shown(str(path))} is not JSON ({shown(str(error))}), {wanted}") from None
    if not isinstance(value, list):
        raise Mistake(f"{shown(str(path))} holds {shown(value)}, {wanted}")
    return value


class TrainingFacts(NamedTuple):
    """Facts that training has shown; each a row of three equally long string columns."""

    head: pa.Array
    tail: pa.Array
    relation: pa.Array


def _training(name: str, triples: bool) -> Check:
    """An option that takes training documents, or triples, or a path to either."""

    def check(value: Any) -> TrainingFacts | None:
        if value is None:
            return None
        as_triples = triples
        if isinstance(value, (str, Path)):
            value = _load(value, name)
            as_triples = bool(value) and isinstance(value[0], list)
        if as_triples:
            return _given_triples(value, name)
        documents = convert(rows(value, name, _TRAINING.fields), _TRAINING, name)
        _check_references(documents, name, itself=True)
        return _facts_of_documents(documents, name)

    return check


def _given_triples(value: Any, name: str) -> TrainingFacts:
    if isinstance(value, Mapping) or not has_items(value):
        raise Mistake(f"{shown(value)} is not a list of triples: head name, tail name, relation")
    column = convert(list(value), _TRIPLES, name)
    lengths = pc.list_value_length(column).to_numpy(zero_copy_only=False)
    if (lengths != 3).any():
        at = int(np.argmax(lengths != 3))
        raise ValueError(
            f"{name}[{at}]: {shown(column[at].as_py())} has {lengths[at]} values, expected {_TRIPLES.what}"
        )
    texts = column.flatten()
    return TrainingFacts(*(texts.take(pa.array(np.arange(start, len(texts), 3))) for start in range(3)))


def _facts_of_documents(column: pa.StructArray, name: str) -> TrainingFacts:
    """Every name of the head with every name of the tail, of each label."""
    documents = _entities(column, 0)
    names = _names(documents, name, "a training fact")
    document, head, tail, labels = _labels(column)
    fact, left, right = documents.mentions(document, head, tail)
    relation = labels.field("r").take(pa.array(fact))
    return TrainingFacts(names.take(pa.array(left)), names.take(pa.array(right)), relation)


# --- documents and facts ----------------------------------------------------------------------------------------------


class Documents(NamedTuple):
    """The documents of the references, then one without entities for each unknown title.

    Attributes
    ----------
    n_known : int
    n_entities, first_entity : ndarray of int64, shape (n_documents,)
    n_mentions, first_mention : ndarray of int64, shape (n_entities,)
        Of all entities, end to end.
    name : pyarrow.StringArray, shape (n_mentions,)
    sentence : ndarray of int64 or None, shape (n_mentions,)
        None where no mention has one.
    """

    n_known: int
    n_entities: np.ndarray
    first_entity: np.ndarray
    n_mentions: np.ndarray
    first_mention: np.ndarray
    name: pa.Array
    sentence: np.ndarray | None

    def mentions(self, document: np.ndarray, head: np.ndarray, tail: np.ndarray) -> tuple[np.ndarray, ...]:
        """For many pairs of entities, all pairs of their mentions: which pair, the head's, the tail's mention."""
        left, right = self.first_entity[document] + head, self.first_entity[document] + tail
        return product(
            self.first_mention[left], self.n_mentions[left], self.first_mention[right], self.n_mentions[right]
        )

    def distance(self, document: np.ndarray, head: np.ndarray, tail: np.ndarray) -> np.ndarray:
        """How many sentences the closest mentions of two entities are apart.

        An entity without mentions is `_FAR` from all others, as in Re-DocRED's script.
        """
        distances = np.full(len(document), _FAR, np.int64)
        if self.sentence is None:
            return distances
        pair, left, right = self.mentions(document, head, tail)
        if len(pair):
            starts = np.flatnonzero(np.diff(pair, prepend=-1))
            distances[pair[starts]] = np.minimum.reduceat(np.abs(self.sentence[left] - self.sentence[right]), starts)
        return distances


def _entities(references: pa.StructArray, n_unknown: int) -> Documents:
    entity_offsets, entities = lists(references.field("vertexSet"))
    mention_offsets, mentions = lists(entities)
    sentence = mentions.field("sent_id")
    if sentence.null_count < len(sentence) and sentence.null_count:
        mention = int(np.argmin(present(sentence)))
        raise ValueError(
            f"{_mention_place('references', entity_offsets, mention_offsets, mention)}.sent_id: missing, "
            f"expected a sentence index, as other mentions have one"
        )
    none = np.zeros(n_unknown, np.int64)
    return Documents(
        len(references),
        np.concatenate([np.diff(entity_offsets), none]),
        np.concatenate([entity_offsets[:-1], none]),
        np.diff(mention_offsets),
        mention_offsets[:-1],
        mentions.field("name"),
        None if len(sentence) and sentence.null_count else integers(sentence).astype(np.int64),
    )


def _mention_place(side: str, entity_offsets: np.ndarray, mention_offsets: np.ndarray, mention: int) -> str:
    entity = int(np.searchsorted(mention_offsets, mention, side="right")) - 1
    document = int(np.searchsorted(entity_offsets, entity, side="right")) - 1
    return f"{side}[{document}].vertexSet[{entity - entity_offsets[document]}][{mention - mention_offsets[entity]}]"


def _names(documents: Documents, side: str, option: str) -> pa.Array:
    """The names of all mentions; an error if one has none."""
    if documents.name.null_count:
        mention = int(np.argmin(present(documents.name)))
        entity_offsets = np.append(documents.first_entity[: documents.n_known], documents.n_entities.sum())
        place = _mention_place(side, entity_offsets, np.append(documents.first_mention, len(documents.name)), mention)
        raise ValueError(f"{place}.name: missing, expected a name, which {option} needs")
    return documents.name


def _labels(references: pa.StructArray) -> tuple[np.ndarray, np.ndarray, np.ndarray, pa.StructArray]:
    offsets, labels = lists(references.field("labels"))
    head, tail = (integers(labels.field(name)).astype(np.int64) for name in ("h", "t"))
    return owners(offsets), head, tail, labels


class Gold(NamedTuple):
    """The different gold facts, ordered by document, head, tail, relation; every attribute has one value a fact.

    Attributes
    ----------
    document, head, tail, relation : ndarray of int64
    evidence : Spans
        Sentences, as the last of equal facts has them.
    evidence_listed : ndarray of int64
        How many sentences all equal facts list.
    seen : dict of str to ndarray of bool
        For each kind of training facts that is given, whether they hold the fact.
    """

    document: np.ndarray
    head: np.ndarray
    tail: np.ndarray
    relation: np.ndarray
    evidence: Spans
    evidence_listed: np.ndarray
    seen: dict[str, np.ndarray]


class Predicted(NamedTuple):
    """The different listed facts of the predictions; every attribute has one value a fact.

    Attributes
    ----------
    example : ndarray of int64
        The first of equal facts, as an index into all that were given.
    document, relation : ndarray of int64
    head, tail : Spans
        The entities that head and tail stand for; none for a name of no entity.
    score : ndarray of float64
    evidence : Spans
        Sentences, as the first of equal facts has them.
    dense : ndarray of bool
        Whether dense scores cover it, so that it adds evidence alone.
    """

    example: np.ndarray
    document: np.ndarray
    relation: np.ndarray
    head: Spans
    tail: Spans
    score: np.ndarray
    evidence: Spans
    dense: np.ndarray


def _seen(training: list[TrainingFacts], documents: Documents, gold: Gold, vocabulary: pa.Array) -> np.ndarray:
    """Whether any name of the head and any of the tail stand in a training fact of the same relation."""
    names = _names(documents, "references", "the comparison with training facts").dictionary_encode()
    head, tail, relation = (pa.concat_arrays(columns) for columns in zip(*training, strict=True))
    triples = [
        pc.index_in(column, known)
        for column, known in ((head, names.dictionary), (tail, names.dictionary), (relation, vocabulary))
    ]
    usable = np.logical_and.reduce([present(column) for column in triples])
    shown_head, shown_tail, shown_relation = (_indices(column)[usable] for column in triples)
    fact, left, right = documents.mentions(gold.document, gold.head, gold.tail)
    code = integers(names.indices).astype(np.int64)
    keys = number(
        np.concatenate([shown_relation, gold.relation[fact]]),
        np.concatenate([shown_head, code[left]]),
        np.concatenate([shown_tail, code[right]]),
    )
    hits = np.isin(keys[len(shown_head) :], keys[: len(shown_head)])
    return np.bincount(fact[hits], minlength=len(gold.document)) > 0


# --- dense scores -----------------------------------------------------------------------------------------------------


class Dense(NamedTuple):
    """Dense scores by document.

    Attributes
    ----------
    records : dict of int to list of int
        The predictions that give scores of each document, in their order.
    column : pyarrow.StructArray
        The scores of all predictions.
    relations : ndarray of int64
        The columns of relations, in the order of the vocabulary.
    no_relation : int or None
        The column to subtract, with ``threshold="na"``.
    listed : dict of int to tuple of ndarray
        Facts that are listed beside dense scores of the same document: place of the pair, relation, score.
    """

    records: dict[int, list[int]]
    column: pa.StructArray
    relations: np.ndarray
    no_relation: int | None
    listed: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]]

    def raw(self, record: int) -> np.ndarray:
        """The array of one prediction, as it was given."""
        dtype, shape, values = (self.column.field(name)[record] for name in ("dtype", "shape", "values"))
        return np.frombuffer(values.as_buffer(), dtype.as_py()).reshape(shape.as_py())

    def _pairs(self, record: int) -> np.ndarray:
        array = self.raw(record)
        if array.ndim == 3:
            array = array[~np.eye(len(array), dtype=bool)]
        elif array.shape == (0, 0):
            return np.zeros((0, len(self.relations)))
        if self.no_relation is None:
            first, last = self.relations[:1], self.relations[-1:] + 1
            if len(self.relations) and last - first == len(self.relations):
                return array[:, first[0] : last[0]]  # without a copy
            return array[:, self.relations]
        with np.errstate(invalid="ignore", over="ignore"):
            array = array.astype(np.float64)
            array = array[:, self.relations] - array[:, self.no_relation, None]
        return np.nan_to_num(array, copy=False, nan=0.0, posinf=np.inf, neginf=-np.inf)  # equal infinities

    def scores(self, document: int) -> np.ndarray:
        """Scores of a document, shape (pairs, relations): the highest of all that are given for a fact."""
        array, *others = map(self._pairs, self.records[document])
        for other in others:
            array = np.maximum(array, other)
        if document in self.listed:
            pair, relation, score = self.listed[document]
            array = array.astype(np.float64)
            np.maximum.at(array, (pair, relation), score)
        return array

    def blocks(self) -> Iterator[np.ndarray]:
        """All scores, some documents at a time."""
        held: list[np.ndarray] = []
        size = 0
        for document in self.records:
            held.append(self.scores(document).ravel())
            size += held[-1].size
            if size >= _BLOCK:
                yield np.concatenate(held)
                held, size = [], 0
        if held:
            yield np.concatenate(held)


def _at_most(threshold: float, dtype: np.dtype) -> Any:
    """The highest number of a type that is not above the threshold: comparing with it is exact, and needs no cast."""
    with np.errstate(over="ignore"):
        cast = dtype.type(threshold)
    return np.nextafter(cast, dtype.type(-np.inf)) if float(cast) > threshold else cast


# --- reading both sides -----------------------------------------------------------------------------------------------


class Problem(NamedTuple):
    """All that is compared.

    Attributes
    ----------
    titles : pyarrow.StringArray, shape (n_documents,)
    documents : Documents
    relations : list of str
        Candidates first, then those that predictions alone have.
    n_candidates : int
        How many of them are candidates.
    gold : Gold
    predicted : Predicted
    dense : Dense
    edges : tuple of two ndarray of int64
        Which predicted facts may be which gold facts.
    n_facts, n_labels : int
        How many facts each side gave, repeats included.
    """

    titles: pa.Array
    documents: Documents
    relations: list[str]
    n_candidates: int
    gold: Gold
    predicted: Predicted
    dense: Dense
    edges: tuple[np.ndarray, np.ndarray]
    n_facts: int
    n_labels: int


def _problem(
    predictions: pa.StructArray,
    references: pa.StructArray,
    relation_names: list[str | None] | None,
    training: dict[str, list[TrainingFacts]],
    match: str,
    na: bool,
) -> Problem:
    """Join both sides by title, number what is equal, and check what one side or one record alone cannot show."""
    titles = references.field("title")
    _check_titles(titles)
    document_of = pc.index_in(predictions.field("title"), titles)
    unknown = predictions.field("title").filter(document_of.is_null()).unique()
    titles = pa.concat_arrays([titles, unknown])
    document_of = _indices(pc.index_in(predictions.field("title"), titles))
    documents = _entities(references, len(unknown))

    gold_document, gold_head, gold_tail, labels = _labels(references)
    fact_offsets, facts = lists(predictions.field("relations"))
    candidates = _candidate_relations(labels, relation_names, training)
    if relation_names is not None:
        _check_relations(predictions, references, candidates)
    others = set(facts.field("r").unique().to_pylist()).difference(candidates)
    vocabulary = pa.array([*candidates, *sorted(others)], pa.string())
    relation, gold_relation = (_indices(pc.index_in(side.field("r"), vocabulary)) for side in (facts, labels))

    owner = owners(fact_offsets)
    document = document_of[owner]
    dense = _dense(predictions, document_of, documents, relation_names, match, na)
    if na and len(facts):
        raise ValueError(
            f"{_fact_place(predictions, fact_offsets, 0)}: a fact by itself, "
            f"expected dense scores alone with threshold='na'"
        )
    if match == "names":
        _names(documents, "references", "match='names'")
        _check_fields(predictions, fact_offsets, facts, ("head", "tail"), "names")
        head, tail, head_key, tail_key = _named(facts, document, documents)
    else:
        _check_fields(predictions, fact_offsets, facts, ("h_idx", "t_idx"), "indices")
        head, tail, head_key, tail_key = _indexed(predictions, fact_offsets, facts, document, documents)

    gold = _gold(gold_document, gold_head, gold_tail, gold_relation, labels)
    gold = gold._replace(
        seen={kind: _seen(given, documents, gold, vocabulary) for kind, given in training.items() if given}
    )
    order, starts = _groups(number(document, head_key, tail_key, relation))
    example = order[starts]
    score = facts.field("score").fill_null(1.0).to_numpy(zero_copy_only=False)
    evidence_offsets, sentences = lists(facts.field("evidence"))
    predicted = Predicted(
        example,
        document[example],
        relation[example],
        head.take(example),
        tail.take(example),
        np.maximum.reduceat(score[order], starts) if len(starts) else score,
        spans(evidence_offsets, integers(sentences)).take(example),
        np.zeros(len(example), bool),
    )
    if dense.records:
        predicted = _cover(dense, predicted, head_key[example], tail_key[example], owner[example])
    return Problem(
        titles=titles,
        documents=documents,
        relations=vocabulary.to_pylist(),
        n_candidates=len(candidates),
        gold=gold,
        predicted=predicted,
        dense=dense,
        edges=_edges(predicted, gold),
        n_facts=len(facts),
        n_labels=len(labels),
    )


def _groups(item: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An order that brings equal items together, earlier ones first, and where in it each different item starts."""
    order = np.argsort(item, kind="stable")
    return order, np.flatnonzero(np.diff(item[order], prepend=-1))


def _candidate_relations(
    labels: pa.StructArray, relation_names: list[str | None] | None, training: dict[str, list[TrainingFacts]]
) -> list[str]:
    """The relations that could be predicted; never from predictions, which would make systems incomparable."""
    if relation_names is not None:
        return [name for name in relation_names if name is not None and name not in _NO_RELATION]
    columns = [labels.field("r"), *(facts.relation for kind in training.values() for facts in kind)]
    return sorted(set(chain.from_iterable(column.unique().to_pylist() for column in columns)))


def _check_relations(predictions: pa.StructArray, references: pa.StructArray, candidates: list[str]) -> None:
    """Refuse facts and labels of a relation that is not among the candidates."""
    for side, column, name in (("references", references, "labels"), ("predictions", predictions, "relations")):
        offsets, facts = lists(column.field(name))
        inside = present(pc.index_in(facts.field("r"), pa.array(candidates, pa.string())))
        if not inside.all():
            at = int(np.argmin(inside))
            record = int(np.searchsorted(offsets, at, side="right")) - 1
            place = f"{side}[{record}].{name}[{at - offsets[record]}]"
            if side == "predictions":
                place = _fact_place(predictions, offsets, at)
            raise ValueError(f"{place}.r: {shown(facts.field('r')[at].as_py())} is not one of relation_names")


def _check_fields(
    predictions: pa.StructArray, offsets: np.ndarray, facts: pa.StructArray, names: tuple[str, str], match: str
) -> None:
    for name in names:
        if facts.field(name).null_count:
            at = int(np.argmin(present(facts.field(name))))
            raise ValueError(
                f"{_fact_place(predictions, offsets, at)}.{name}: missing, "
                f"expected {_FACT_FIELDS[name].what}, which match={match!r} needs"
            )


def _indexed(
    predictions: pa.StructArray, offsets: np.ndarray, facts: pa.StructArray, document: np.ndarray, documents: Documents
) -> tuple[Spans, Spans, np.ndarray, np.ndarray]:
    """The entity that each index stands for, head's and tail's, none in unknown documents; and the indices."""
    keys = [_indices(facts.field(name)) for name in ("h_idx", "t_idx")]
    known = document < documents.n_known
    limit = np.where(known, documents.n_entities[document], -1)
    for name, entity in zip(("h_idx", "t_idx"), keys, strict=True):

        def place(fact: int, name=name) -> str:
            return f"{_fact_place(predictions, offsets, fact)}.{name}"

        check_inside(entity, limit, place, "the number of entities")
    ends = np.append(0, np.cumsum(known))
    return Spans(ends, keys[0][known]), Spans(ends, keys[1][known]), keys[0], keys[1]


def _gold(
    document: np.ndarray, head: np.ndarray, tail: np.ndarray, relation: np.ndarray, labels: pa.StructArray
) -> Gold:
    order, starts = _groups(number(document, head, tail, relation))
    last = order[np.append(starts[1:], len(order)) - 1] if len(starts) else order
    offsets, sentences = lists(labels.field("evidence"))
    lengths = np.diff(offsets)[order]
    listed = np.add.reduceat(lengths, starts) if len(starts) else lengths
    evidence = spans(offsets, integers(sentences)).take(last)
    return Gold(document[last], head[last], tail[last], relation[last], evidence, listed, {})


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())


def _named(
    facts: pa.StructArray, document: np.ndarray, documents: Documents
) -> tuple[Spans, Spans, np.ndarray, np.ndarray]:
    """The entities that names stand for, head's and tail's, and a number for each that is equal for equal entities.

    Names of no entity are equal only to themselves: two made-up names are two mistakes. Two names of one and the same
    entity are no error but a wrong fact, since a model wrote them without knowing.
    """
    columns = [documents.name, facts.field("head"), facts.field("tail")]
    coded = pa.concat_arrays([column.cast(pa.string()) for column in columns]).dictionary_encode()
    texts = [_folded(text) for text in coded.dictionary.to_pylist()]
    codes = {text: code for code, text in enumerate(sorted(set(texts)))}
    code = np.array([codes[text] for text in texts], np.int64)[integers(coded.indices)]
    n_mentions, n_facts = len(documents.name), len(facts)

    entity = np.repeat(np.arange(len(documents.n_mentions)), documents.n_mentions)
    entity_document = np.repeat(np.arange(len(documents.n_entities)), documents.n_entities)
    at = np.concatenate([entity_document[entity], document, document])
    name = number(at, code)
    order, starts = _groups(name[:n_mentions])
    # One more set, without entities, for names that no mention has.
    offsets = np.concatenate([starts, [n_mentions, n_mentions]])
    sets = spans(offsets, (entity - documents.first_entity[entity_document[entity]])[order])
    place = find(name[n_mentions:], name[order[starts]])
    both = sets.take(np.where(place >= 0, place, len(starts)))
    key = number(np.where(place >= 0, 0, code[n_mentions:] + 1), number_spans(both))
    halves = np.arange(n_facts)
    return both.take(halves), both.take(halves + n_facts), key[:n_facts], key[n_facts:]


def _edges(predicted: Predicted, gold: Gold) -> tuple[np.ndarray, np.ndarray]:
    """Which predicted fact may be which gold fact: one between entities that its names stand for."""
    fact, head, tail = _entity_pairs(predicted)
    n_edges = len(fact)
    item = number(
        *(
            np.concatenate(columns)
            for columns in (
                (predicted.document[fact], gold.document),
                (head, gold.head),
                (tail, gold.tail),
                (predicted.relation[fact], gold.relation),
            )
        )
    )
    place = find(item[:n_edges], item[n_edges:])  # gold facts are ordered in this way
    return fact[place >= 0], place[place >= 0]


def _entity_pairs(predicted: Predicted) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All pairs of different entities that each predicted fact may be about: which fact, head, tail."""
    sides = (predicted.head, predicted.tail)
    fact, left, right = product(*chain(*((side.offsets[:-1], side.lengths) for side in sides)))
    head, tail = predicted.head.tokens[left], predicted.tail.tokens[right]
    different = head != tail
    return fact[different], head[different], tail[different]


def _dense(
    predictions: pa.StructArray,
    document_of: np.ndarray,
    documents: Documents,
    relation_names: list[str | None] | None,
    match: str,
    na: bool,
) -> Dense:
    column = predictions.field("scores")
    given = np.flatnonzero(present(column))
    names = relation_names or []
    no_relation = next((index for index, name in enumerate(names) if name in _NO_RELATION), None)
    relations = np.array([index for index in range(len(names)) if index != no_relation], np.int64)
    if na and no_relation is None:
        raise ValueError(
            f"relation_names: {shown(relation_names)} names no no-relation column, expected None or 'Na' among them, "
            f"which threshold='na' needs"
        )
    dense = Dense({}, column, relations, no_relation if na else None, {})
    if not len(given):
        return dense
    if match == "names":
        raise ValueError(f"predictions[{given[0]}].scores: dense scores, expected facts by name with match='names'")
    if relation_names is None:
        shape = column[int(given[0])]["shape"].as_py()
        raise ValueError(
            f"relation_names: missing, expected a name for each of the {shape[-1]} relations of the dense scores "
            f"of predictions[{given[0]}]"
        )
    for record in given.tolist():
        document, shape = int(document_of[record]), tuple(column[record]["shape"].as_py())
        first = dense.records.get(document)
        if document < documents.n_known:
            n = int(documents.n_entities[document])
        else:
            n = _n_entities(dense.raw(first[0]).shape if first else shape)
        wanted = [(n, n, len(names)), (n * (n - 1), len(names))]
        if shape not in wanted and not (shape == (0, 0) and n < 2):
            raise ValueError(
                f"predictions[{record}].scores: shape {shape}, expected {wanted[0]} or {wanted[1]}, "
                f"for {n} entities and {len(names)} relation_names"
            )
        dense.records.setdefault(document, []).append(record)
    return dense


def _place_of_pair(head: np.ndarray, tail: np.ndarray, n_entities: np.ndarray | int) -> np.ndarray:
    """Which row of dense scores a pair has: head-major, then tail, without the diagonal."""
    return head * (n_entities - 1) + tail - (tail > head)


def _cover(dense: Dense, predicted: Predicted, head: np.ndarray, tail: np.ndarray, record: np.ndarray) -> Predicted:
    """Fold facts that are listed beside dense scores of their document into these.

    `head` and `tail` are the facts' indices, `record` is the prediction that gave each first. A fact whose dense score
    came before it keeps no evidence, as of repeated facts the first one's counts.
    """
    covered = np.zeros(len(head), bool)
    late = np.zeros(len(head), bool)
    for document in np.intersect1d(predicted.document, np.fromiter(dense.records, np.int64)).tolist():
        first = dense.records[document][0]
        n = _n_entities(dense.raw(first).shape)
        here = np.flatnonzero((predicted.document == document) & (head < n) & (tail < n))
        pair = _place_of_pair(head[here], tail[here], n)
        dense.listed[document] = (pair, predicted.relation[here], predicted.score[here])
        covered[here] = True
        late[here] = record[here] > first
    evidence = predicted.evidence
    kept = Spans(np.append(0, np.cumsum(np.where(late, 0, evidence.lengths))), evidence.tokens[~late[evidence.owners]])
    return predicted._replace(evidence=kept, dense=covered)


# --- count ------------------------------------------------------------------------------------------------------------


class Counts(NamedTuple):
    """What was counted.

    Attributes
    ----------
    names : list of str
        The counted components.
    table : ndarray of int64, shape (n_documents, len(names), 3)
        True positives, predicted and gold of each document.
    gold_score : ndarray of float64, shape (n_gold,)
        The score of each gold fact, NaN if it is not listed.
    wrong : ndarray of bool, shape (n_predicted,)
        Which listed facts are not gold at any threshold; dense scores aside.
    partner : ndarray of int64, shape (n_predicted,)
        The gold fact that each predicted fact is, -1 if none or not predicted.
    outside : ndarray of bool, shape (n_predicted,)
        Which listed facts are of no candidate: of an unknown title, another relation, or a name of no entity.
    candidates : ndarray of int64, shape (n_documents,)
        How many facts could be ranked, those of no candidate included.
    """

    names: list[str]
    table: np.ndarray
    gold_score: np.ndarray
    wrong: np.ndarray
    partner: np.ndarray
    outside: np.ndarray
    candidates: np.ndarray


def count(problem: Problem, threshold: float) -> Counts:
    """Count correct, predicted and gold facts, and the sentences of their evidence, by document.

    The facts follow the benchmark's ``evaluation.py``, the breakdowns Tan et al. 2022, section 4, and Yao et al. 2019,
    section 4.3.
    """
    documents, gold, predicted = problem.documents, problem.gold, problem.predicted
    n_documents, n_relations, n_gold = len(documents.n_entities), len(problem.relations), len(gold.document)

    # Facts in the order of their scores: what is right at one threshold stays right at all lower ones.
    gold_score = np.full(n_gold, np.nan)
    order = np.argsort(-predicted.score, kind="stable")
    position = np.argsort(order)
    fact, gold_fact = problem.edges
    listed = ~predicted.dense[fact]
    _, since = match_in_order(position[fact[listed]], gold_fact[listed], len(position), n_gold)
    found = since >= 0
    gold_score[found] = predicted.score[order[since[found]]]
    wrong = ~predicted.dense
    wrong[order[since[found]]] = False

    gold_distance = documents.distance(gold.document, gold.head, gold.tail)
    by_relation = np.zeros((n_documents, n_relations), np.int64)
    by_distance = np.zeros((n_documents, len(_DISTANCES)), np.int64)
    fact_score = _count_dense(problem, threshold, gold_score, by_relation, by_distance)

    taken = fact_score > threshold
    edge = taken[fact]
    partner_of_position, _ = match_in_order(position[fact[edge]], gold_fact[edge], len(position), n_gold)
    partner = partner_of_position[position] if len(position) else position
    distance, has_pair = _own_distance(problem, partner, gold_distance)
    outside = ~has_pair | (predicted.relation >= problem.n_candidates)

    counted = taken & ~predicted.dense
    by_relation += _spread(predicted.document[counted], predicted.relation[counted], n_documents, n_relations)
    for column, chosen in enumerate(_by_distance(distance)):
        by_distance[:, column] += np.bincount(predicted.document[counted & chosen], minlength=n_documents)

    hit = gold_score > threshold  # False for NaN
    rows_of: dict[str, np.ndarray] = {}

    def add(name: str, facts: np.ndarray, in_predicted: np.ndarray) -> None:
        of_document = gold.document[facts & hit], gold.document[facts]
        correct, in_gold = (np.bincount(where, minlength=n_documents) for where in of_document)
        rows_of[name] = np.stack([correct, in_predicted, in_gold], axis=-1)

    every = np.ones(n_gold, bool)
    add("fact", every, by_relation.sum(axis=1))
    for kind, seen in gold.seen.items():
        new = np.bincount(gold.document[hit & seen], minlength=n_documents)
        rows_of[kind] = rows_of["fact"] - new[:, None] * np.array([1, 1, 0])
    rows_of |= _evidence_rows(problem, taken, partner, n_documents)
    if documents.sentence is not None:
        for column, (name, chosen) in enumerate(zip(_DISTANCES, _by_distance(gold_distance), strict=True)):
            add(name, chosen, by_distance[:, column])
    nothing = np.zeros(n_documents, np.int64)
    for kind, chosen in _by_evidence(problem).items():
        add(f"by_evidence.{kind}", chosen, nothing)

    relation_table = np.stack(
        [
            _spread(gold.document[hit], gold.relation[hit], n_documents, n_relations),
            by_relation,
            _spread(gold.document, gold.relation, n_documents, n_relations),
        ],
        axis=-1,
    )
    table = np.concatenate([np.stack(list(rows_of.values()), axis=1), relation_table], axis=1)
    names = [*rows_of, *(f"relation.{name}" for name in problem.relations)]
    return Counts(names, table, gold_score, wrong, partner, outside, _candidates(problem, wrong, outside))


def _spread(document: np.ndarray, label: np.ndarray, n_documents: int, n_labels: int) -> np.ndarray:
    """How often each label occurs in each document."""
    flat = np.bincount(document * n_labels + label, minlength=n_documents * n_labels)
    return flat.reshape(n_documents, n_labels)


def _by_distance(distance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which facts are intra, inter and inter_long; those that are `_NOWHERE` are none of these."""
    return distance == 0, distance >= 1, distance > _LONG_DISTANCE


def _own_distance(problem: Problem, partner: np.ndarray, gold_distance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each predicted fact's distance, and whether it has a pair of entities.

    Names that stand for several entities have the distance of the gold fact they match, else that of the closest pair.
    """
    predicted = problem.predicted
    fact, head, tail = _entity_pairs(predicted)
    distance = np.full(len(predicted.example), _NOWHERE, np.int64)
    if len(fact):
        starts = np.flatnonzero(np.diff(fact, prepend=-1))
        each = problem.documents.distance(predicted.document[fact], head, tail)
        distance[fact[starts]] = np.minimum.reduceat(each, starts)
    has_pair = distance != _NOWHERE
    distance[partner >= 0] = gold_distance[partner[partner >= 0]]
    return distance, has_pair


def _count_dense(
    problem: Problem, threshold: float, gold_score: np.ndarray, by_relation: np.ndarray, by_distance: np.ndarray
) -> np.ndarray:
    """Count what dense scores predict, and fill in the scores of gold facts; returns those of listed facts."""
    gold, predicted, dense = problem.gold, problem.predicted, problem.dense
    fact_score = predicted.score.copy()
    if not dense.records:
        return fact_score
    in_dense = np.flatnonzero(predicted.dense)
    starts = np.searchsorted(gold.document, np.arange(len(by_relation) + 1))
    for document in dense.records:
        scores = dense.scores(document)
        above = scores > _at_most(threshold, scores.dtype)
        by_relation[document, : problem.n_candidates] += above.sum(axis=0)
        if document in dense.listed:
            pair, relation, _ = dense.listed[document]
            fact_score[in_dense[predicted.document[in_dense] == document]] = scores[pair, relation]
        if document >= problem.documents.n_known:
            continue
        n = int(problem.documents.n_entities[document])
        facts = slice(starts[document], starts[document + 1])
        gold_score[facts] = scores[_place_of_pair(gold.head[facts], gold.tail[facts], n), gold.relation[facts]]
        head, tail = np.nonzero(~np.eye(n, dtype=bool))
        distance = problem.documents.distance(np.full(len(head), document), head, tail)
        n_above = above.sum(axis=1)
        by_distance[document] += [n_above[chosen].sum() for chosen in _by_distance(distance)]
    return fact_score


def _evidence_rows(problem: Problem, taken: np.ndarray, partner: np.ndarray, n_documents: int) -> dict[str, np.ndarray]:
    """Right, predicted and gold sentences: of all facts in known documents, and of those whose gold has evidence."""
    gold, predicted = problem.gold, problem.predicted
    owner = predicted.evidence.owners
    key = number(
        np.concatenate([partner[owner] + 1, gold.evidence.owners + 1]),
        np.concatenate([predicted.evidence.tokens, gold.evidence.tokens]),
    )
    right = find(key[: len(owner)], key[len(owner) :]) >= 0
    correct = np.bincount(predicted.document[owner[right]], minlength=n_documents)
    annotated = gold.evidence.lengths > 0
    counted = taken & (predicted.document < problem.documents.n_known)
    on_annotated = counted & (partner >= 0)
    on_annotated[on_annotated] = annotated[partner[on_annotated]]

    def sums(document: np.ndarray, weights: np.ndarray) -> np.ndarray:
        return np.bincount(document, weights=weights, minlength=n_documents).astype(np.int64)

    lengths = predicted.evidence.lengths
    return {
        "evidence": np.stack(
            [correct, sums(predicted.document, lengths * counted), sums(gold.document, gold.evidence_listed)], axis=-1
        ),
        "evidence_annotated": np.stack(
            [
                correct,
                sums(predicted.document, lengths * on_annotated),
                sums(gold.document, gold.evidence_listed * annotated),
            ],
            axis=-1,
        ),
    }


def _by_evidence(problem: Problem) -> dict[str, np.ndarray]:
    """Which gold facts have which type of evidence; ``mix`` and ``multiple`` take sentences of mentions."""
    gold, documents = problem.gold, problem.documents
    n_sentences = gold.evidence.lengths
    types = {"none": n_sentences == 0, "single": n_sentences == 1}
    if documents.sentence is None:
        return types
    owner, sentence = gold.evidence.owners, gold.evidence.tokens
    entity = np.repeat(np.arange(len(documents.n_mentions)), documents.n_mentions)
    first = documents.first_entity[gold.document[owner]]
    key = number(
        np.concatenate([first + gold.head[owner], first + gold.tail[owner], entity]),
        np.concatenate([sentence, sentence, documents.sentence]),
    )
    mentioned = np.isin(key[: 2 * len(owner)], key[2 * len(owner) :])
    both = np.bincount(owner[mentioned[: len(owner)] & mentioned[len(owner) :]], minlength=len(n_sentences)) > 0
    several = n_sentences > 1
    return types | {"mix": several & both, "multiple": several & ~both}


def _candidates(problem: Problem, wrong: np.ndarray, outside: np.ndarray) -> np.ndarray:
    """How many facts could be ranked in each document.

    Every pair of its entities with every candidate relation; one more for each listed fact that is none of these. Names
    can make more different facts than there are wrong candidates; those in excess are more candidates too.
    """
    documents, predicted = problem.documents, problem.predicted
    n_documents = len(documents.n_entities)
    known = documents.n_entities * (documents.n_entities - 1) * problem.n_candidates
    wrong_inside = np.bincount(predicted.document[wrong & ~outside], minlength=n_documents)
    n_gold = np.bincount(problem.gold.document, minlength=n_documents)
    more = np.bincount(predicted.document[wrong & outside], minlength=n_documents)
    more += np.maximum(wrong_inside - np.maximum(known - n_gold, 0), 0)
    for document in problem.dense.records:
        if document >= documents.n_known:
            n = _n_entities(problem.dense.raw(problem.dense.records[document][0]).shape)
            more[document] += n * (n - 1) * problem.n_candidates
    return known + more


# --- rank -------------------------------------------------------------------------------------------------------------


def rank(problem: Problem, counts: Counts) -> tuple[Ranking, dict[str, np.ndarray]]:
    """Where the scores of gold facts lie among all others, and, of each kind of training, how many of each are seen."""
    gold_score = counts.gold_score
    listed = ~np.isnan(gold_score)
    steps, step = np.unique(gold_score[listed], return_inverse=True)

    def at_steps(facts: np.ndarray) -> np.ndarray:
        tally = np.bincount(step[facts[listed]], minlength=len(steps))
        return np.append(tally, (facts & ~listed).sum())

    right = at_steps(np.ones(len(gold_score), bool))
    wrong, below = between(steps, problem.predicted.score[counts.wrong])
    for block in problem.dense.blocks():
        n_between, lower = between(steps, block)
        wrong, below = wrong + n_between, np.maximum(below, lower)
    if problem.dense.records:  # whose blocks hold gold facts too
        in_dense = np.isin(problem.gold.document, np.fromiter(problem.dense.records, np.int64))
        wrong[1::2] -= at_steps(in_dense)[:-1]
    below[1:] = np.maximum(below[1:], steps[:-1])
    unlisted = int(counts.candidates.sum()) - len(gold_score) - int(wrong.sum())
    ranking = Ranking(steps, right, np.append(wrong, unlisted), below)
    return ranking, {kind: at_steps(seen) for kind, seen in problem.gold.seen.items()}


def areas(ranking: Ranking, seen: np.ndarray | None) -> dict[str, np.ndarray]:
    """Areas under the curves of a ranking, or of many with a leading axis.

    Parameters
    ----------
    ranking : Ranking
    seen : ndarray, shape (..., m + 1), optional
        How many of the gold facts of each step training has shown.
    """
    points = curve(ranking)
    right = ranking.right[..., :-1][..., ::-1]
    recall = divide(points.correct, ranking.right.sum(axis=-1)[..., None])
    before = points.correct - right
    precision, precision_before = divide(points.correct, points.listed), divide(before, points.listed_before)
    found = {
        "auc": roc_area(ranking),
        "pr_auc": precision_recall_area(points, recall, precision, precision_before),
    }
    if seen is not None:
        seen_here = seen[..., :-1][..., ::-1]
        so_far = np.cumsum(seen_here, axis=-1)
        shown_before = so_far - seen_here
        precision = divide(points.correct - so_far, points.listed - so_far)
        precision_before = divide(before - shown_before, points.listed_before - shown_before)
        found["ign_auc"] = roc_area(ranking.without(seen))
        found["ign_pr_auc"] = precision_recall_area(points, recall, precision, precision_before)
    return found


def best_step(ranking: Ranking, seen: np.ndarray | None = None) -> tuple[int | None, float]:
    """The step down to which facts are taken for the highest F1, or Ign F1 if `seen` is given, and that F1.

    A fact that scores -inf is never above a threshold, so no best threshold takes it.
    """
    points, n_gold = curve(ranking), ranking.right.sum()
    if seen is None:
        stacked = np.stack([points.correct, points.listed, np.broadcast_to(n_gold, points.correct.shape)], axis=-1)
        f1 = precision_recall_f(stacked)[:, 2]
    else:
        so_far = np.cumsum(seen[:-1][::-1])
        precision = divide(points.correct - so_far, points.listed - so_far)
        f1 = 100 * f_score(precision, divide(points.correct, n_gold))
    takable = ranking.steps[::-1] > _LOWEST
    if not takable.any():
        return None, 0.0
    at = int(np.argmax(np.where(takable, f1, 0.0)))
    return len(f1) - 1 - at, float(f1[at])


def score_ranking(ranking: Ranking, seen: np.ndarray | None) -> dict[str, Any]:
    """Areas and the best threshold (the benchmark's ``Config.test``).

    Parameters
    ----------
    ranking : Ranking
    seen : ndarray of int, shape (m + 1,), optional
        How many of the gold facts of each step training has shown.

    Returns
    -------
    dict
        ``best_threshold`` is finite: where no threshold can be too low, the lowest float stands for -inf, which JSON
        does not have.
    """
    result: dict[str, Any] = {name: float(area) for name, area in areas(ranking, seen).items()}
    step, result["best_f1"] = best_step(ranking)
    result["best_threshold"] = _LOWEST
    if step is not None:
        result["best_threshold"] = _halfway(ranking.steps[step].item(), ranking.below[step].item())
    if seen is None:
        return result | {"ign_auc": None, "ign_pr_auc": None, "ign_best_f1": None}
    result["ign_best_f1"] = best_step(ranking, seen)[1]
    return result


def _halfway(upper: float, lower: float) -> float:
    """A finite threshold that is below `upper`, and not below `lower`."""
    middle = (lower + upper) / 2
    if not np.isfinite(middle):
        middle = lower / 2 + upper / 2
    if not lower <= middle < upper:  # neighbours, or an infinite upper
        middle = lower
    return max(middle, _LOWEST)


# --- score ------------------------------------------------------------------------------------------------------------


def score(names: list[str], counts: np.ndarray) -> dict[str, Any]:
    """Rates of summed counts, under the names of the result.

    Parameters
    ----------
    names : list of str
    counts : ndarray of int, shape (len(names), 3)

    Returns
    -------
    dict
        Components are None where they were not counted.
    """
    table = dict(zip(names, counts, strict=True))
    result: dict[str, Any] = row(table["fact"])
    for kind in ("ign", "ign_distant"):
        result |= {f"{kind}_f1": None, f"{kind}_precision": None}
        if kind in table:
            # Recall is that of all facts.
            precision = float(precision_recall_f(table[kind])[0])
            result |= {
                f"{kind}_f1": float(f_score(precision, result["recall"])),
                f"{kind}_precision": precision,
            }
    for name in ("evidence", "evidence_annotated", *_DISTANCES):
        result[name] = row(table[name]) if name in table else None
    relations = {name.removeprefix("relation."): c for name, c in table.items() if name.startswith("relation.")}
    per_relation = {name: row(c) for name, c in relations.items() if c.any()}
    for name, chosen in (("frequent", True), ("long_tail", False)):
        result[name] = row(sum((c for r, c in relations.items() if (r in FREQUENT) is chosen), np.zeros(3, np.int64)))
    result["by_evidence"] = {
        kind: _recall(table[f"by_evidence.{kind}"]) if f"by_evidence.{kind}" in table else None
        for kind in _EVIDENCE_TYPES
    }
    f1s = [r["f1"] for r in per_relation.values()]
    result["macro_f1"] = sum(f1s) / len(f1s) if f1s else 0.0
    result["per_relation"] = per_relation
    return result


def _recall(counts: np.ndarray) -> dict[str, Any]:
    whole = row(counts)
    return {name: whole[name] for name in ("recall", "true_positives", "gold")}


# --- resample ---------------------------------------------------------------------------------------------------------


class Ranks(NamedTuple):
    """Rankings by document, on steps that may be those of several systems; see `Ranking`.

    Attributes
    ----------
    right, wrong : csr_array, shapes (n_documents, m + 1) and (n_documents, 2 m + 2)
    seen : csr_array or None, shape (n_documents, m + 1)
    """

    right: csr_array
    wrong: csr_array
    seen: csr_array | None


def rank_documents(problem: Problem, counts: Counts, steps: np.ndarray) -> Ranks:
    """Where the scores of each document lie among the steps."""
    gold, predicted, n_documents, m = problem.gold, problem.predicted, len(counts.table), len(steps)

    def tally(document: np.ndarray, column: np.ndarray, number: np.ndarray, width: int) -> csr_array:
        return csr_array((number.astype(np.float64), (document, column)), shape=(n_documents, width))

    def place(scores: np.ndarray) -> np.ndarray:
        return np.searchsorted(steps, scores) + np.searchsorted(steps, scores, side="right")

    listed = ~np.isnan(counts.gold_score)
    step = np.where(listed, np.searchsorted(steps, counts.gold_score), m)
    right = tally(gold.document, step, np.ones(len(step)), m + 1)
    seen = tally(gold.document, step, gold.seen["ign"], m + 1) if "ign" in gold.seen else None

    document, at = [predicted.document[counts.wrong]], [place(predicted.score[counts.wrong])]
    number = [np.ones(len(at[0]))]
    for dense in problem.dense.records:
        between_steps, _ = between(steps, problem.dense.scores(dense).flatten())
        at.append(np.flatnonzero(between_steps))
        number.append(between_steps[at[-1]])
        document.append(np.full(len(at[-1]), dense))
    # The dense scores of a document are those of its gold facts too.
    in_dense = np.isin(gold.document, np.fromiter(problem.dense.records, np.int64)) & listed
    document.append(gold.document[in_dense])
    at.append(2 * step[in_dense] + 1)
    number.append(np.full(in_dense.sum(), -1))
    documents, columns, numbers = map(np.concatenate, (document, at, number))
    n_wrong = np.bincount(documents, weights=numbers, minlength=n_documents)
    unlisted = counts.candidates - np.bincount(gold.document, minlength=n_documents) - n_wrong
    documents = np.append(documents, np.arange(n_documents))
    columns = np.append(columns, np.full(n_documents, 2 * m + 1))
    return Ranks(right, tally(documents, columns, np.append(numbers, unlisted), 2 * m + 2), seen)


def _best_rows(ranks: Ranks, steps: np.ndarray) -> dict[str, np.ndarray]:
    """Counts at the best thresholds of the whole data, by document."""
    right, wrong = (table.sum(axis=0) for table in (ranks.right, ranks.wrong))
    ranking = Ranking(steps, right, wrong, np.full(len(steps), -np.inf))
    gold = ranks.right.sum(axis=1)

    def taken(table: csr_array, first: int | None, last: int) -> np.ndarray:
        return np.zeros(len(gold)) if first is None else table[:, first:last].sum(axis=1)

    def counts(step: int | None) -> np.ndarray:
        correct = taken(ranks.right, step, len(steps))
        others = taken(ranks.wrong, None if step is None else 2 * step + 1, 2 * len(steps) + 1)
        return np.stack([correct, correct + others, gold], axis=-1)

    found = {"best": counts(best_step(ranking)[0])}
    if ranks.seen is not None:
        step = best_step(ranking, ranks.seen.sum(axis=0))[0]
        found["ign_best_recall"] = counts(step)
        shown_facts = taken(ranks.seen, step, len(steps))
        found["ign_best"] = found["ign_best_recall"] - shown_facts[:, None] * np.array([1, 1, 0])
    return found


def _statistics_of(counted: "list[_Counted]") -> Statistics:
    """Counts, and where scores lie among the scores that any system gives to gold facts."""
    titles = pa.concat_arrays([system.problem.titles for system in counted]).unique()
    n_known = counted[0].problem.documents.n_known
    scores = np.concatenate([system.counts.gold_score for system in counted])
    steps = np.unique(scores[~np.isnan(scores)])
    relations = {n: None for system in counted for n in system.counts.names if n.startswith("relation.")}
    rows_of, ranks_of = [], []
    for system in counted:
        problem, counts = system.problem, system.counts
        of = _indices(pc.index_in(problem.titles, titles))
        move = csr_array((np.ones(len(of)), (of, np.arange(len(of)))), shape=(len(titles), len(of)))
        ranks = rank_documents(problem, counts, steps)
        table = {name: counts.table[:, at] for at, name in enumerate(counts.names)}
        nothing = np.zeros((len(of), 3))
        by_name = {name: table[name] for name in ("fact", *problem.gold.seen)} | _best_rows(ranks, steps)
        by_name |= {name: table.get(name, nothing) for name in relations}
        rows_of.append({name: move @ counted_here for name, counted_here in by_name.items()})
        ranks_of.append(hstack([move @ part for part in ranks if part is not None], format="csr"))
    names = list(rows_of[0])
    active = [at for at, name in enumerate(names) if name in relations and any(rows[name].any() for rows in rows_of)]
    tables = [
        hstack([csr_array(np.concatenate(list(rows.values()), axis=1)), ranks], format="csr")
        for rows, ranks in zip(rows_of, ranks_of, strict=True)
    ]
    groups = counted[0].groups
    if groups is not None:  # a document of an unknown title is a group of its own
        groups = np.append(groups, groups.max() + 1 + np.arange(len(titles) - n_known))
    return Statistics(
        _headlines(names),
        tables,
        lambda sums, whole: _headline_scores(names, active, steps, sums, whole),
        titles.to_pylist(),
        groups,
    )


def _headlines(names: list[str]) -> list[str]:
    """The headline scores that there are, by the counted rows."""
    kinds = [kind for kind in ("ign", "ign_distant") if kind in names]
    missing = {name for name in _HEADLINE if name.startswith("ign")}
    missing -= {f"{kind}_{score}" for kind in kinds for score in ("f1", "precision")}
    if "ign" in kinds:
        missing -= {"ign_auc", "ign_pr_auc", "ign_best_f1"}
    return [name for name in _HEADLINE if name not in missing]


def _headline_scores(
    names: list[str], active: list[int], steps: np.ndarray, sums: np.ndarray, whole: np.ndarray
) -> np.ndarray:
    """The headline scores of many sums of documents, shape (n, scores); what is empty in one is as in the whole."""
    split = np.cumsum([3 * len(names), len(steps) + 1, 2 * len(steps) + 2])

    def parts(table: np.ndarray) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        counts, right, wrong, seen = np.split(table, split, axis=-1)
        ranking = Ranking(steps, right, wrong, steps)
        return counts.reshape(-1, len(names), 3), right.sum(axis=-1), areas(ranking, seen if seen.shape[-1] else None)

    (counts, n_gold, area), (whole_counts, _, whole_area) = parts(sums), parts(whole)
    rates = rates_or(whole_counts[0], counts)
    precision, recall, f1 = (dict(zip(names, rate.T, strict=True)) for rate in np.moveaxis(rates, -1, 0))
    found = {"precision": precision["fact"], "recall": recall["fact"], "f1": f1["fact"], "best_f1": f1["best"]}
    for kind in ("ign", "ign_distant"):
        if kind in names:
            found[f"{kind}_f1"] = f_score(precision[kind], recall["fact"])
            found[f"{kind}_precision"] = precision[kind]
    if "ign" in names:
        found["ign_best_f1"] = f_score(precision["ign_best"], recall["ign_best_recall"])
    found["macro_f1"] = rates[:, active, 2].mean(axis=-1) if active else np.zeros(len(rates))
    found |= {name: np.where(n_gold > 0, values, whole_area[name]) for name, values in area.items()}
    return np.stack([found[name] for name in _headlines(names)], axis=-1)


# --- facts in error ---------------------------------------------------------------------------------------------------


class _Item(NamedTuple):
    """A fact as errors compare it; `shown` is what the result gives."""

    heads: frozenset
    tails: frozenset
    relation: int
    shown: dict[str, Any]


def _errors(problem: Problem, counts: Counts, facts: pa.StructArray, match: str, threshold: float) -> list[dict]:
    """The facts that are wrong or missed, by document, each with the kind of its error (see `explain`).

    Two facts are related when they are of the same two entities, in either direction, or of the same relation and the
    same head or tail.
    """
    wrong, missed = _wrong_items(problem, counts, facts, match, threshold), _missed_items(problem, counts, threshold)
    found = []
    for document in sorted(wrong.keys() | missed.keys()):
        left, right = wrong.get(document, []), missed.get(document, [])
        record = problem.titles[document].as_py()
        for kind, i, j in explain(left, right, _relate):
            found.append(
                {
                    "record": record,
                    "component": "fact",
                    "kind": kind,
                    "prediction": None if i is None else left[i].shown,
                    "reference": None if j is None else right[j].shown,
                }
            )
    return found


def _relate(p: _Item, g: _Item) -> tuple[list[str], float] | None:
    same_head, same_tail = p.heads >= g.heads, p.tails >= g.tails
    inverse = p.heads >= g.tails and p.tails >= g.heads and not (same_head and same_tail)
    same_relation = p.relation == g.relation
    if inverse or (same_head and same_tail):
        needed = [inverse, not same_relation, False, False]
    elif same_relation and (same_head or same_tail):
        needed = [False, False, not same_head, not same_tail]
    else:
        return None
    kinds = [kind for kind, need in zip(_KINDS, needed, strict=True) if need]
    return (kinds, (same_relation + same_head + same_tail) / 3) if kinds else None


def _wrong_items(
    problem: Problem, counts: Counts, facts: pa.StructArray, match: str, threshold: float
) -> dict[int, list[_Item]]:
    predicted, dense = problem.predicted, problem.dense
    items: dict[int, list[_Item]] = {}
    names = ("head", "tail") if match == "names" else ("h_idx", "t_idx")
    chosen = np.flatnonzero((predicted.score > threshold) & (counts.partner < 0) & ~predicted.dense)
    given = facts.take(pa.array(predicted.example[chosen])).to_pylist()
    for fact, shown_fact in zip(chosen.tolist(), given, strict=True):
        heads, tails = (
            frozenset(side.tokens[side.offsets[fact] : side.offsets[fact + 1]].tolist())
            for side in (predicted.head, predicted.tail)
        )
        item = _Item(heads, tails, int(predicted.relation[fact]), {name: shown_fact[name] for name in (*names, "r")})
        items.setdefault(int(predicted.document[fact]), []).append(item)
    for document in dense.records:
        n = _n_entities(dense.raw(dense.records[document][0]).shape)
        head, tail = np.nonzero(~np.eye(n, dtype=bool))
        here = problem.gold.document == document
        scores = dense.scores(document)
        above = scores > _at_most(threshold, scores.dtype)
        above[_place_of_pair(problem.gold.head[here], problem.gold.tail[here], n), problem.gold.relation[here]] = False
        for pair, relation in np.argwhere(above).tolist():
            h, t = int(head[pair]), int(tail[pair])
            shown_item = {"h_idx": h, "t_idx": t, "r": problem.relations[relation]}
            items.setdefault(document, []).append(_Item(frozenset([h]), frozenset([t]), relation, shown_item))
    return items


def _missed_items(problem: Problem, counts: Counts, threshold: float) -> dict[int, list[_Item]]:
    gold = problem.gold
    items: dict[int, list[_Item]] = {}
    for fact in np.flatnonzero(~(counts.gold_score > threshold)).tolist():
        h, t, relation = int(gold.head[fact]), int(gold.tail[fact]), int(gold.relation[fact])
        item = _Item(frozenset([h]), frozenset([t]), relation, {"h": h, "t": t, "r": problem.relations[relation]})
        items.setdefault(int(gold.document[fact]), []).append(item)
    return items


# --- the metric -------------------------------------------------------------------------------------------------------


class _Counted(NamedTuple):
    """What was read and counted; `training` is what was given of each kind."""

    training: dict[str, list[TrainingFacts]]
    limit: float
    groups: np.ndarray | None
    problem: Problem
    counts: Counts


class DocredMetric(Staging, evaluate.Metric):
    """Document-level relation extraction; see the module's description."""

    schemas = {"predictions": _Stored(), "references": _REFERENCE}
    option_checks = {
        "threshold": _threshold,
        "relation_names": _relation_names,
        "train": _training("train", triples=False),
        "train_facts": _training("train_facts", triples=True),
        "train_distant": _training("train_distant", triples=False),
        "train_distant_facts": _training("train_distant_facts", triples=True),
        "match": one_of("indices", "names"),
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
            reference_urls=["https://arxiv.org/abs/1906.06127", "https://arxiv.org/abs/2205.12696"],
        )

    def _read(self, side: str, batch: Any) -> pa.Array:
        if side == "predictions":
            return _read_predictions(batch)
        column = super()._read(side, batch)
        _check_references(column, side)
        _check_titles(column.field("title"))
        return column

    def _count(
        self,
        predictions: pa.StructArray,
        references: pa.StructArray,
        threshold: float | str = 0.5,
        relation_names: list[str | None] | None = None,
        train: TrainingFacts | None = None,
        train_facts: TrainingFacts | None = None,
        train_distant: TrainingFacts | None = None,
        train_distant_facts: TrainingFacts | None = None,
        match: str = "indices",
        groups: list[str] | None = None,
        **_: Any,
    ) -> _Counted:
        if not len(references):
            raise ValueError("references: there are none, expected at least one document")
        training = {
            "ign": [facts for facts in (train, train_facts) if facts is not None],
            "ign_distant": [facts for facts in (train_distant, train_distant_facts) if facts is not None],
        }
        limit = 0.0 if isinstance(threshold, str) else threshold
        problem = _problem(predictions, references, relation_names, training, match, threshold == "na")
        return _Counted(training, limit, number_groups(groups, len(references)), problem, count(problem, limit))

    def _statistics(self, counted: list[_Counted]) -> Statistics:
        return _statistics_of(counted)

    def _compute(
        self,
        predictions: pa.StructArray,
        references: pa.StructArray,
        threshold: float | str = 0.5,
        relation_names: list[str | None] | None = None,
        train: TrainingFacts | None = None,
        train_facts: TrainingFacts | None = None,
        train_distant: TrainingFacts | None = None,
        train_distant_facts: TrainingFacts | None = None,
        match: str = "indices",
        per_document: bool = False,
        return_errors: bool = False,
        groups: list[str] | None = None,
        **confidence: Any,
    ) -> dict[str, Any]:
        """Count, rank, then score; the options are described with the metric."""
        training_facts = (train, train_facts, train_distant, train_distant_facts)
        counted = self._count(predictions, references, threshold, relation_names, *training_facts, match, groups)
        problem, counts, training = counted.problem, counted.counts, counted.training
        result = score(counts.names, counts.table.sum(axis=0))
        ranking, seen = rank(problem, counts)
        result |= score_ranking(ranking, seen.get("ign"))
        result["candidates"], result["n_relations"] = int(counts.candidates.sum()), problem.n_candidates

        n_known = problem.documents.n_known
        result["unknown_titles"] = len(problem.titles) - n_known
        result["duplicate_predictions"] = problem.n_facts - len(problem.predicted.example)
        result["duplicate_references"] = problem.n_labels - len(problem.gold.document)
        if (problem.n_facts or problem.dense.records) and not problem.n_labels:
            warnings.warn("the references hold no fact: is this a test set without labels?", stacklevel=2)
            result["no_gold"] = True
        if per_document:
            headline = counts.table[:, 0].tolist()
            result["per_document"] = [
                {"id": title, **dict(zip(COUNT_NAMES, values, strict=True))}
                for title, values in zip(problem.titles.to_pylist(), headline, strict=True)
            ]
        if return_errors:
            facts = lists(predictions.field("relations"))[1]
            result["errors"] = _errors(problem, counts, facts, match, counted.limit)
        relations = "given" if relation_names is not None else "references"
        if relation_names is None and any(training.values()):
            relations += "+train"
        result["signature"] = "|".join(
            [
                "docred",
                f"v:{VERSION}",
                "pairing:title",
                f"match:{match}",
                f"threshold:{threshold}",
                f"relations:{relations}",
                f"train:{'yes' if training['ign'] else 'no'}",
                f"train_distant:{'yes' if training['ign_distant'] else 'no'}",
            ]
        )
        add_intervals(result, lambda: self._statistics([counted]), groups, **confidence)
        return result
