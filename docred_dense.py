"""Dense scores of DocRED: an array for each document, with a number for each pair of entities and each relation.

Arrays stay arrays from reading to scoring: no number becomes a Python object. An array has one of two shapes:

* (entities, entities, relations), of which the diagonal is not read;
* (entities * (entities - 1), relations), the pairs ordered by head, then tail, without the diagonal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from .columns import Arrays
from .mistakes import Mistakes, Places, Refused, quote
from .values import Node, Types, is_table, unwrap

NO_RELATION = (None, "Na", "NA", "no_relation")  # names of no relation; in facts, None is a mistake
_BLOCK = 1 << 18  # dense scores that are sorted at once


# --- reading ----------------------------------------------------------------------------------------------------------


class Scores(Node):
    """A copy of dense scores. Infinite scores are taken; NaN and masked ones only on its diagonal."""

    expected = "an array of numbers of shape (entities, entities, relations) or (entities * (entities - 1), relations)"

    def read(self, values: Sequence[Any], places: Places, mistakes: Mistakes, types: Types = None) -> Arrays:
        arrays = self.missing(len(values))
        for at, value in enumerate(values):
            try:
                arrays.values[at] = self._read_array(value)
            except Refused as refused:
                mistakes.add((*places(at), *refused.steps), refused.words)
        return arrays

    def _read_array(self, value: Any) -> np.ndarray:
        try:
            given = value if is_table(value) else unwrap(value)
            array, mask = np.asarray(given), np.ma.getmask(given)
        except Exception:  # arrays of other libraries may raise anything
            raise self.refuse(value) from None
        if array.dtype.kind not in "fiu" or (isinstance(value, (list, tuple)) and _has_flags(value, array.ndim)):
            raise self.refuse(value)
        if array.shape == (0,):  # an empty list does not show the number of relations
            array = array.reshape(0, 0)
        if array.ndim == 2:
            n = entities_of_shape(array.shape)
            is_wrong = n * (n - 1) != len(array)
        else:
            is_wrong = array.ndim != 3 or array.shape[0] != array.shape[1]
        if is_wrong:
            raise Refused(f"shape {array.shape}, expected {self.expected}")
        if mask.any():
            array = np.where(mask, np.nan, array)
        if array.size and np.isnan(array.min()):
            is_nan = np.isnan(array)
            if array.ndim == 3:
                is_nan[np.arange(len(array)), np.arange(len(array))] = False
            if is_nan.any():
                place = np.argwhere(is_nan)[0].tolist()
                words = "a masked value" if mask.any() and mask[tuple(place)] else "nan"
                raise Refused(f"{words} is not a number", "[" + ", ".join(map(str, place)) + "]")
        is_usual = array.dtype.kind == "f" and array.dtype.itemsize <= 8 and array.dtype.isnative
        # The caller may use its own array for the next batch, so this is always a copy.
        return np.array(array, array.dtype if is_usual else np.float64, order="C")

    def missing(self, n: int) -> Arrays:
        return Arrays(np.full(n, None, object))

    def feature(self) -> Any:
        return [[["float64"]]]


def _has_flags(value: Iterable[Any], depth: int) -> bool:
    """Whether nested lists hold True or False, which numpy turns into numbers among numbers."""
    for _ in range(depth - 1):
        value = chain.from_iterable(value)
    return not {bool, np.bool_}.isdisjoint(map(type, value))


def entities_of_shape(shape: tuple[int, ...]) -> int:
    """The number of entities, from the shape of scores; 0 if there are no pairs, which may also mean one entity."""
    if len(shape) == 3:
        return shape[0]
    return int((1 + np.sqrt(1 + 4 * shape[0])) / 2) if shape[0] else 0


def dataset_records(dataset: Any) -> list[dict[str, Any]]:
    """The rows of a ``datasets.Dataset`` with a column ``scores`` of nested lists, which become arrays."""
    others = dataset.select_columns([name for name in dataset.column_names if name != "scores"]).with_format(None)
    records: list[dict[str, Any]] = others.to_list()
    chunks = dataset.select_columns(["scores"]).with_format("arrow")[:].column("scores").chunks
    for record, scalar in zip(records, chain.from_iterable(chunks), strict=True):
        if scalar.is_valid:
            record["scores"] = _array_of_scalar(scalar)
    return records


def _array_of_scalar(scalar: Any) -> Any:
    """Nested lists of an Arrow scalar as an array, or as lists where they are uneven or miss a number."""
    import pyarrow as pa
    import pyarrow.compute as pc

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
        return scalar.as_py()
    return values.to_numpy(zero_copy_only=False).reshape(shape)


# --- scores by document -----------------------------------------------------------------------------------------------


class Dense(NamedTuple):
    """Dense scores by document.

    Attributes
    ----------
    arrays : dict of int to list of ndarray
        The arrays of each document that has some, in the order of the predictions.
    first_record : dict of int to int
        The prediction that gives the first array of each of these documents.
    relations : ndarray of int64, shape (n_relations,)
        The columns of relations, in the order of the vocabulary.
    no_relation : int or None
        The column that is subtracted, with ``threshold="na"``.
    listed : dict of int to tuple of ndarray
        Facts that are listed beside dense scores of the same document: row of the pair, relation, score.
    """

    arrays: dict[int, list[np.ndarray]]
    first_record: dict[int, int]
    relations: np.ndarray
    no_relation: int | None
    listed: dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]]

    @property
    def documents(self) -> np.ndarray:
        """The documents that have dense scores: shape (n_dense,)."""
        return np.fromiter(self.arrays, np.int64, len(self.arrays))

    def n_entities(self, document: int) -> int:
        """The number of entities that the scores of a document are of."""
        return entities_of_shape(self.arrays[document][0].shape)

    def scores(self, document: int) -> np.ndarray:
        """Scores of a document, the highest of all that are given for a fact: shape (n_pairs, n_relations)."""
        array, *others = map(self._by_pair, self.arrays[document])
        for other in others:
            array = np.maximum(array, other)
        if document in self.listed:
            pair, relation, score = self.listed[document]
            array = array.astype(np.float64)
            np.maximum.at(array, (pair, relation), score)
        return array

    def _by_pair(self, array: np.ndarray) -> np.ndarray:
        """One array in the shape of `scores`, a view if it can be."""
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
        # Equal infinities have the difference NaN.
        return np.asarray(np.nan_to_num(array, copy=False, nan=0.0, posinf=np.inf, neginf=-np.inf))

    def blocks(self) -> Iterator[np.ndarray]:
        """All scores, some documents at a time, each block in one new array."""
        held: list[np.ndarray] = []
        size = 0
        for document in self.arrays:
            held.append(self.scores(document).ravel())
            size += held[-1].size
            if size >= _BLOCK:
                yield np.concatenate(held)
                held, size = [], 0
        if held:
            yield np.concatenate(held)


def collect_dense(
    arrays: Arrays,
    records: np.ndarray,
    document: np.ndarray,
    n_entities: np.ndarray,
    n_known: int,
    relation_names: list[str | None] | None,
    subtract: bool,
) -> Dense:
    """Sort the arrays of all predictions by document, and check their shapes.

    Parameters
    ----------
    arrays : Arrays, length n
        None of them missing.
    records : ndarray of int64, shape (n,)
        The prediction of each array.
    document : ndarray of int64, shape (n_predictions,)
        The document of each prediction.
    n_entities : ndarray of int64
        The number of entities of each document.
    n_known : int
        Documents from this one on are not among the references.
    relation_names : list of (str or None), or None
        The names of the last axis.
    subtract : bool
        Whether the column of no relation is subtracted from the others.

    Raises
    ------
    ValueError
        With the place of the first array whose shape does not fit, or if the names lack what the scores need.
    """
    names = relation_names or []
    no_relation = next((column for column, name in enumerate(names) if name in NO_RELATION), None)
    relations = np.array([column for column in range(len(names)) if column != no_relation], np.int64)
    if subtract and no_relation is None:
        raise ValueError(
            f"relation_names: {quote(relation_names)} names no no-relation column, expected one of "
            f"{', '.join(map(repr, NO_RELATION))} among them, which threshold='na' needs"
        )
    dense = Dense({}, {}, relations, no_relation if subtract else None, {})
    for record, array in zip(records.tolist(), arrays.values.tolist(), strict=True):
        at = int(document[record])
        if relation_names is None:
            raise ValueError(
                f"relation_names: missing, expected a name for each of the {array.shape[-1]} relations of the dense "
                f"scores of predictions[{record}]"
            )
        if at < n_known:
            n = int(n_entities[at])
        else:
            n = dense.n_entities(at) if at in dense.arrays else entities_of_shape(array.shape)
        wanted = [(n, n, len(names)), (n * (n - 1), len(names))]
        if array.shape not in wanted and not (array.shape == (0, 0) and n < 2):
            raise ValueError(
                f"predictions[{record}].scores: shape {array.shape}, expected {wanted[0]} or {wanted[1]}, "
                f"for {n} entities and {len(names)} relation_names"
            )
        dense.arrays.setdefault(at, []).append(array)
        dense.first_record.setdefault(at, record)
    return dense


def row_of_pair(head: np.ndarray, tail: np.ndarray, n_entities: np.ndarray | int) -> np.ndarray:
    """The row of a pair in scores by pair: ordered by head, then tail, without the diagonal."""
    return np.asarray(head * (n_entities - 1) + tail - (tail > head))


def highest_not_above(threshold: float, dtype: np.dtype) -> Any:
    """The highest number of a float type that is not above the threshold.

    A score of this type is above this number exactly if it is above the threshold, so the scores need no conversion.
    """
    with np.errstate(over="ignore"):
        cast = dtype.type(threshold)
    return np.nextafter(cast, dtype.type(-np.inf)) if float(cast) > threshold else cast
