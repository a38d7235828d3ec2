"""`options`: checks, defaults and descriptions, all from one table."""

import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from conftest import ROOT
from spanscore.metrics.options import (
    choice,
    confidence_options,
    describe_options,
    flag,
    number,
    output_options,
    read_options,
    table,
    whole_number,
)

OPTIONS = {
    **table(
        choice("mode", ("a", "b"), "a", "How it is done."),
        flag("on", "Whether it is done."),
        number("rate", "float in [0, 1]", 0.5, "How often.", 0, 1, "a number from 0 to 1"),
        number("limit", "float", None, "How far.", 0, 9, "a number from 0 to 9"),
        whole_number("n", 3, "How many.", "a number of things", 1),
    ),
    **output_options("counts", "errors"),
    **confidence_options("records", "More on groups."),
}
DEFAULTS = {
    "mode": "a",
    "on": False,
    "rate": 0.5,
    "limit": None,
    "n": 3,
    "per_document": False,
    "return_errors": False,
    "flat": False,
    "confidence_level": None,
    "n_resamples": 1000,
    "random_state": 0,
    "interval_method": "percentile",
    "groups": None,
}


def read(**given):
    return read_options(given, OPTIONS, "the metric")


def test_defaults():
    assert read() == DEFAULTS


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ({"mode": "b"}, {"mode": "b"}),
        ({"on": np.True_, "rate": Fraction(1, 4)}, {"on": True, "rate": 0.25}),
        ({"n": 4.0, "limit": np.float32(2)}, {"n": 4, "limit": 2.0}),
        ({"limit": None, "n": np.int8(7)}, {"limit": None, "n": 7}),
        ({"groups": ["a", 7, np.int64(8)]}, {"groups": ["a", "7", "8"]}),
        ({"groups": np.array(["a", "b"])}, {"groups": ["a", "b"]}),
        ({"confidence_level": 0.9}, {"confidence_level": 0.9}),
    ],
)
def test_given_values(given, used):
    found = read(**given)
    assert found == {**DEFAULTS, **used}
    assert all(type(found[name]) is type(value) for name, value in used.items())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"mood": "a"}, f"mood: not an option of the metric, expected one of {', '.join(DEFAULTS)}"),
        ({"mode": "c"}, "mode: 'c' is not one of a, b"),
        ({"mode": ["a"]}, "mode: ['a'] is not one of a, b"),
        ({"on": 1}, "on: 1 is not true or false"),
        ({"rate": 1.5}, "rate: 1.5 is not a number from 0 to 1"),
        ({"rate": None}, "rate: None is not a number from 0 to 1"),
        ({"rate": True}, "rate: True is not a number from 0 to 1"),
        ({"rate": float("nan")}, "rate: nan is not a number from 0 to 1"),
        ({"n": 0}, "n: 0 is not a number of things (a whole number from 1)"),
        ({"n": 2.5}, "n: 2.5 is not a number of things (a whole number from 1)"),
        ({"n": True}, "n: True is not a number of things (a whole number from 1)"),
        ({"random_state": -1}, "random_state: -1 is not a seed (a whole number from 0)"),
        ({"confidence_level": 1.0}, "confidence_level: 1.0 is not a number above 0, below 1"),
        ({"confidence_level": 0}, "confidence_level: 0 is not a number above 0, below 1"),
        ({"groups": "ab"}, "groups: 'ab' is not a list of keys, one a reference"),
        ({"groups": {"a"}}, "groups: {'a'} has no order, expected a list of keys, one a reference"),
        ({"groups": ["a", 0.5]}, "groups[1]: 0.5 is not a key (text or a whole number)"),
        ({"groups": [True]}, "groups[0]: True is not a key (text or a whole number)"),
    ],
)
def test_refused_values(given, message):
    with pytest.raises(ValueError) as caught:
        read(**given)
    assert str(caught.value) == message


def test_every_option_is_described_with_its_default():
    text = describe_options(OPTIONS)
    assert 'mode : {"a", "b"}, default "a"\n    How it is done.\n' in text
    assert "on : bool, default False\n    Whether it is done.\n" in text
    assert "limit : float, optional\n" in text
    assert "together. More on groups." in text
    assert all(len(line) <= 120 for line in text.splitlines())
    assert [line.split(" : ")[0] for line in text.splitlines() if not line.startswith(" ")] == list(DEFAULTS)


@pytest.mark.parametrize("name", ["options", "mistakes", "aste_records"])
def test_options_and_records_load_at_once(name):
    """Help texts and validation wait for no library that they do not need."""
    heavy = ["evaluate", "datasets", "scipy", "pyarrow", *(["numpy"] if name != "aste_records" else [])]
    script = f"import sys, spanscore.metrics.{name}; print([name for name in {heavy} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout == "[]\n"
