"""Columns of records as numpy arrays: one value a record, lists of values, and records of columns.

A column is one of five things.

* An integer array, where -1 stands for a missing value. Flags are 0 and 1, and labels are their number.
* A float array, where NaN stands for a missing value.
* An object array of strings, where None stands for a missing value.
* `Arrays`: one numpy array a record, or none.
* `Lists` or `Struct`, which hold other columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import is_not
from typing import Any

import numpy as np

Column = Any  # ndarray, Arrays, Lists or Struct


@dataclass(frozen=True, slots=True)
class Arrays:
    """A column of numpy arrays of any shapes and types.

    Attributes
    ----------
    values : ndarray of object, shape (n,)
        Arrays, and None for a missing one.
    """

    values: np.ndarray

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Lists:
    """A column of lists.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n + 1,)
        The items of list ``i`` are ``items[offsets[i]:offsets[i + 1]]``.
    items : column
        The items of all lists, end to end.
    present : ndarray of bool, shape (n,), or None
        False for a missing list, which has no items. None if no list is missing.
    """

    offsets: np.ndarray
    items: Column
    present: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """The number of items of each list."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> np.ndarray:
        """The list that each item belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)


@dataclass(frozen=True, slots=True)
class Struct:
    """A column of records, field by field.

    Attributes
    ----------
    fields : dict of str to column
        Each of length n.
    present : ndarray of bool, shape (n,), or None
        False for a missing record, whose fields are missing too. None if no record is missing.
    """

    fields: dict[str, Column]
    present: np.ndarray | None = None

    def __len__(self) -> int:
        return len(next(iter(self.fields.values())))

    def __getitem__(self, name: str) -> Column:
        return self.fields[name]


def to_offsets(lengths: np.ndarray) -> np.ndarray:
    """The offsets of lists of these lengths: shape (n,) to (n + 1,)."""
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def is_present(column: Column) -> np.ndarray:
    """True for each value that is not missing: shape (n,)."""
    if isinstance(column, Lists | Struct):
        return np.ones(len(column), bool) if column.present is None else column.present
    if isinstance(column, Arrays):
        return is_present(column.values)
    if column.dtype == object:
        return np.fromiter(map(is_not, column.tolist(), repeat(None)), bool, len(column))
    return np.asarray(~np.isnan(column) if column.dtype.kind == "f" else column >= 0)


def take(column: Column, chosen: np.ndarray) -> Column:
    """The chosen values, in the order of `chosen` (indices)."""
    if isinstance(column, Struct):
        present = None if column.present is None else column.present[chosen]
        return Struct({name: take(field, chosen) for name, field in column.fields.items()}, present)
    if isinstance(column, Lists):
        lengths = column.lengths[chosen]
        offsets = to_offsets(lengths)
        places = np.repeat(column.offsets[:-1][chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Lists(offsets, take(column.items, places), None if column.present is None else column.present[chosen])
    if isinstance(column, Arrays):
        return Arrays(column.values[chosen])
    return column[chosen]


def spread(column: Column, rows: Sequence[int] | np.ndarray, n: int) -> Column:
    """A column of length n with the given values at the given rows, increasing, and missing values elsewhere."""
    rows = np.asarray(rows, np.int64)
    if isinstance(column, Arrays):
        return Arrays(spread(column.values, rows, n))
    if isinstance(column, Lists | Struct):
        present = np.zeros(n, bool)
        present[rows] = is_present(column)
        if isinstance(column, Struct):
            return Struct({name: spread(field, rows, n) for name, field in column.fields.items()}, present)
        lengths = np.zeros(n, np.int64)
        lengths[rows] = column.lengths
        return Lists(to_offsets(lengths), column.items, present)
    missing: Any = None if column.dtype == object else np.nan if column.dtype.kind == "f" else -1
    wide = np.full(n, missing, column.dtype)
    wide[rows] = column
    return wide


def concatenate_columns(columns: Sequence[Column]) -> Column:
    """The values of all columns, end to end; the columns are of one kind."""
    first = columns[0]
    if len(columns) == 1:
        return first
    if isinstance(first, Lists | Struct):
        all_present = all(column.present is None for column in columns)
        present = None if all_present else np.concatenate([is_present(column) for column in columns])
        if isinstance(first, Struct):
            names = first.fields
            return Struct({name: concatenate_columns([c.fields[name] for c in columns]) for name in names}, present)
        offsets = to_offsets(np.concatenate([column.lengths for column in columns]))
        return Lists(offsets, concatenate_columns([column.items for column in columns]), present)
    if isinstance(first, Arrays):
        return Arrays(np.concatenate([column.values for column in columns]))
    return np.concatenate(columns)


def to_arrow(column: Column) -> Any:
    """A column as a ``pyarrow.Array``, as files of several processes hold it; `from_arrow` is the reverse."""
    import pyarrow as pa

    if isinstance(column, Lists | Struct):
        mask = None if column.present is None else pa.array(~column.present)
        if isinstance(column, Struct):
            fields = [to_arrow(field) for field in column.fields.values()]
            return pa.StructArray.from_arrays(fields, names=list(column.fields), mask=mask)
        return pa.ListArray.from_arrays(pa.array(column.offsets, pa.int32()), to_arrow(column.items), mask=mask)
    if isinstance(column, Arrays):
        return _arrays_to_arrow(column)
    return pa.array(column, pa.large_string()) if column.dtype == object else pa.array(column)


def from_arrow(array: Any) -> Column:
    """The column that `to_arrow` was given."""
    import pyarrow as pa

    present = array.is_valid().to_numpy(zero_copy_only=False) if array.null_count else None
    if pa.types.is_struct(array.type):
        if pa.types.is_large_binary(array.type[-1].type):
            return _arrays_from_arrow(array)
        # `field` and not `flatten`, which would make the fields of a missing record null.
        return Struct({field.name: from_arrow(array.field(field.name)) for field in array.type}, present)
    if pa.types.is_list(array.type):
        lengths = array.value_lengths().fill_null(0).to_numpy(zero_copy_only=False)
        return Lists(to_offsets(lengths), from_arrow(array.flatten()), present)
    if pa.types.is_large_string(array.type):
        values = np.empty(len(array), object)
        values[:] = array.to_pylist()
        return values
    return array.to_numpy(zero_copy_only=False)


def _arrays_to_arrow(column: Arrays) -> Any:
    """Arrays as their type, shape and bytes, so that no number becomes a Python object."""
    import pyarrow as pa

    arrays = [None if array is None else np.asarray(array, order="C") for array in column.values.tolist()]
    offsets = to_offsets(np.array([0 if array is None else array.nbytes for array in arrays], np.int64))
    values = np.empty(offsets[-1], np.uint8)
    for array, start, end in zip(arrays, offsets[:-1].tolist(), offsets[1:].tolist(), strict=True):
        if array is not None:
            values[start:end] = array.reshape(-1).view(np.uint8)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(values)]
    return pa.StructArray.from_arrays(
        [
            pa.array([None if array is None else array.dtype.str for array in arrays], pa.string()),
            pa.array([None if array is None else array.shape for array in arrays], pa.list_(pa.int64())),
            pa.Array.from_buffers(pa.large_binary(), len(arrays), buffers),
        ],
        names=["dtype", "shape", "values"],
        mask=pa.array(~is_present(column)),
    )


def _arrays_from_arrow(array: Any) -> Arrays:
    values = np.full(len(array), None, object)
    dtypes, shapes = array.field("dtype").to_pylist(), array.field("shape").to_pylist()
    for at in np.flatnonzero(array.is_valid().to_numpy(zero_copy_only=False)).tolist():
        buffer = array.field("values")[at].as_buffer()
        values[at] = np.frombuffer(buffer, dtypes[at]).reshape(shapes[at])
    return Arrays(values)
