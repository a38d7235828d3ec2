"""`docred_arrays`: sets and ranges of integers; and the imports of `docred_records`."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from conftest import ROOT
from hypothesis import given
from hypothesis import strategies as st
from spanscore.metrics.docred_arrays import IntegerSet, find, order_equal, product

integers = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 5), max_size=20)
ranges = st.lists(st.tuples(*[st.integers(0, 20), st.integers(0, 3)] * 2), max_size=6)


def as_array(values):
    return np.array(values, np.int64)


@given(integers, integers)
def test_find(values, among):
    among = sorted(among)
    found = find(as_array(values), as_array(among)).tolist()
    assert found == [among.index(value) if value in among else -1 for value in values]


@given(integers, integers)
def test_integer_set(values, among):
    assert IntegerSet(as_array(among)).holds(as_array(values)).tolist() == [value in among for value in values]


@given(ranges)
def test_product(given_ranges):
    columns = as_array(given_ranges).reshape(-1, 4).T
    expected = [
        (owner, left, right)
        for owner, (left_start, left_size, right_start, right_size) in enumerate(given_ranges)
        for left, right in itertools.product(
            range(left_start, left_start + left_size), range(right_start, right_start + right_size)
        )
    ]
    assert list(zip(*(column.tolist() for column in product(*columns)), strict=True)) == expected


@given(st.lists(st.integers(0, 4) | st.integers(0, 2**62), max_size=20))
def test_order_equal(items):
    order, starts = order_equal(as_array(items))
    assert order.tolist() == sorted(range(len(items)), key=lambda at: items[at])
    assert [items[at] for at in order[starts].tolist()] == sorted(set(items))


@pytest.mark.parametrize("module", ["docred_records", "docred_dense"])
def test_records_import_nothing_heavy(module):
    heavy = {"evaluate", "scipy", "pyarrow"}
    program = f"import sys, spanscore.metrics.{module}; print([name for name in {heavy} if name in sys.modules])"
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip() == "[]"
