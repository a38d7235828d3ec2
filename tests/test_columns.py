"""`columns`: taking, joining and spreading columns, and their way through Arrow, against lists of Python values."""

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from spanscore.metrics.columns import (
    Arrays,
    Lists,
    Struct,
    concatenate_columns,
    from_arrow,
    is_present,
    spread,
    take,
    to_arrow,
    to_offsets,
)
from test_records import plain


def strings(values):
    column = np.empty(len(values), object)
    column[:] = values
    return column


def column_of(records):
    """Records of a text, a number, a score and a list of records with one number; each may be None."""
    filled = [record or {} for record in records]
    lists = [record.get("parts") for record in filled]
    offsets = to_offsets(np.array([len(parts or ()) for parts in lists], np.int64))
    sizes = [-1 if size is None else size for parts in lists for size in parts or ()]
    parts = Lists(
        offsets,
        Struct({"size": np.array(sizes, np.int64)}),
        np.array([parts is not None for parts in lists], bool),
    )
    return Struct(
        {
            "name": strings([record.get("name") for record in filled]),
            "size": np.array([-1 if (size := record.get("size")) is None else size for record in filled], np.int64),
            "score": np.array([np.nan if (s := record.get("score")) is None else s for record in filled], np.float64),
            "parts": parts,
        },
        np.array([record is not None for record in records], bool),
    )


def values_of(records):
    return [
        None
        if record is None
        else {**record, "parts": None if record["parts"] is None else [{"size": size} for size in record["parts"]]}
        for record in records
    ]


numbers = st.none() | st.integers(0, 9)
RECORDS = st.lists(
    st.none()
    | st.fixed_dictionaries(
        {
            "name": st.none() | st.text(max_size=2).filter(lambda text: text.isprintable()),
            "size": numbers,
            "score": st.none() | st.floats(0, 1),
            "parts": st.none() | st.lists(numbers, max_size=3),
        }
    ),
    max_size=5,
)


@given(RECORDS)
def test_missing_values(records):
    column = column_of(records)
    assert plain(column) == values_of(records)
    assert is_present(column).tolist() == [record is not None for record in records]


@given(RECORDS, st.data())
def test_take(records, data):
    chosen = data.draw(st.lists(st.integers(0, len(records) - 1), max_size=6)) if records else []
    assert plain(take(column_of(records), np.array(chosen, np.int64))) == values_of([records[at] for at in chosen])


@given(st.lists(RECORDS, min_size=1, max_size=3))
def test_concatenate(batches):
    joined = concatenate_columns([column_of(records) for records in batches])
    assert plain(joined) == values_of([record for records in batches for record in records])


@given(RECORDS, st.data())
def test_spread(records, data):
    gaps = data.draw(st.lists(st.integers(0, 2), min_size=len(records), max_size=len(records)))
    rows = np.cumsum([gap + 1 for gap in gaps]).astype(int) - 1 if records else np.zeros(0, int)
    n = (int(rows[-1]) + 1 if records else 0) + 1
    expected = [None] * n
    for row, record in zip(rows.tolist(), records, strict=True):
        expected[row] = record
    assert plain(spread(column_of(records), rows, n)) == values_of(expected)


@given(RECORDS)
def test_through_arrow_and_back(records):
    array = to_arrow(column_of(records))
    array.validate(full=True)
    assert plain(from_arrow(array)) == values_of(records)
    # As several processes join their parts.
    assert plain(from_arrow(pa.concat_arrays([array, array]))) == values_of(records + records)


def test_none_is_missing():
    column = Lists(np.array([0, 2, 2]), np.array([1, 2]))
    assert is_present(column).tolist() == [True, True]
    assert is_present(Struct({"a": np.array([1, 2])})).tolist() == [True, True]
    assert column.owners.tolist() == [0, 0]
    assert column.lengths.tolist() == [2, 0]


# --- arrays -----------------------------------------------------------------------------------------------------------

TYPES = ["float16", "float32", "float64"]
one = st.none() | st.sampled_from(TYPES).flatmap(lambda kind: arrays(kind, array_shapes(min_dims=0, min_side=0)))
many = st.lists(one, max_size=5)


def arrays_of(values):
    made = Arrays(np.full(len(values), None, object))
    for at, value in enumerate(values):
        made.values[at] = value
    return made


def same(found, expected):
    assert len(found) == len(expected)
    for left, right in zip(found.values.tolist(), expected, strict=True):
        assert (left is None) == (right is None)
        if left is not None:
            assert left.dtype == right.dtype and left.shape == right.shape
            assert left.tobytes() == right.tobytes()


@given(many)
def test_arrays_through_arrow(values):
    for given_arrays in (values, [*values[:1], None], [None, None]):
        stored = to_arrow(Struct({"scores": arrays_of(given_arrays)}))
        assert stored.type == to_arrow(Struct({"scores": arrays_of([np.zeros(2)])})).type
        same(from_arrow(stored)["scores"], given_arrays)
        same(from_arrow(pa.concat_arrays([stored, stored[1:]]))["scores"], given_arrays + given_arrays[1:])


@given(many, many, st.data())
def test_arrays_are_taken_spread_and_joined(first, second, data):
    same(concatenate_columns([arrays_of(first), arrays_of(second)]), first + second)
    assert is_present(arrays_of(first)).tolist() == [value is not None for value in first]
    chosen = data.draw(st.lists(st.integers(0, len(first) - 1), max_size=5)) if first else []
    same(take(arrays_of(first), np.array(chosen, np.int64)), [first[at] for at in chosen])
    rows = sorted(data.draw(st.sets(st.integers(0, 9), min_size=len(first), max_size=len(first))))
    wide = dict(zip(rows, first, strict=True))
    same(spread(arrays_of(first), rows, 10), [wide.get(at) for at in range(10)])
