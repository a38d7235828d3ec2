"""Odd records and options in every metric: a result or an error of one line, the same however records are added."""

import copy
import json
import re
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from conftest import load
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spanscore.examples import all_examples


class Hostile:
    """An object that writes itself with control characters."""

    def __repr__(self):
        return "\x1b[31m\n\u2028" + "x" * 1000


N_EXAMPLES = 120
EXAMPLES = all_examples()
NAMES = [f"{example.benchmark.name}-{example.title}" for example in EXAMPLES]
ODD = [
    *(None, True, 0, 1, -1, 1.0, 0.5, float("nan"), float("inf"), 2**31, 10**30, Decimal("0.5"), Fraction(1, 2)),
    *(
        "",
        " ",
        "x",
        "1",
        "Na",
        "no_relation",
        "POS",
        "positive",
        "entail",
        "\ud800",
        "a\u2028b\x1b[31m",
        b"POS",
        b"\xff",
    ),
    *(np.int64(1), np.float32(0.5), np.bool_(True), np.str_("x"), np.array(1), np.array([0, 1]), np.array([["a"]])),
    *(pa.scalar(1), pa.scalar("x"), pa.scalar(None), pa.array([0, 1])),
    *([], [[]], [0, 0, 1], [2, 0], (0, 1), {0}, {}, {"a": 1}, [None], ["x"], range(2), Hostile()),
]


def places_in(value, path=()):
    """The paths of all values in a record."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places_in(item, (*path, key))


def change(records, path, how, odd):
    """Put an odd value in a place of a list of records, or leave out or rename what is there."""
    *before, last = path
    for step in before:
        records = records[step]
    if how == "leave out":
        del records[last]
    elif how == "rename" and isinstance(records, dict):
        records[f"{last}s"] = records.pop(last)
    else:
        records[last] = odd


def outcome(work):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = work()
        except ValueError as error:
            words = str(error)
            assert "\n" not in words and words.isprintable()
            assert 5 < len(words) < 700
            words = re.sub(r"^(predictions|references)\[\d+\]", r"\1[]", words)
            # DocRED expects a fact where the other records of the batch are facts.
            words = re.sub(r"is not a (fact|record): .*", "is not a record", words)
            # Of two kinds of terms, the later one is named, which depends on the batch.
            return "error", re.sub(r".*(the same kind throughout)", r"\1", words)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    return "result", result


def option_values(option, references):
    values = [option.default, *option.choices, *ODD[:13], "x", [], {}]
    if option.is_flag:
        values = [True, False, True, False, None, "yes"]
    if option.name == "n_resamples":
        values = [1, 20, 20, -1, 0.5, None]
    if option.name.startswith("train"):
        values = [None, references, [["a", "b", "c"]], "missing.json", 5]
    if option.name == "confidence_level":
        values = [None, None, 0.9, 1.0, "x"]
    return st.sampled_from(values)


@st.composite
def cases(draw, example, options):
    sides = copy.deepcopy(example.read())
    for _ in range(draw(st.integers(0, 1))):
        records = draw(st.sampled_from(sides))
        path = draw(st.sampled_from([path for path in places_in(records) if path]))
        change(records, path, draw(st.sampled_from(["put", "put", "leave out", "rename"])), draw(st.sampled_from(ODD)))
    chosen = draw(st.lists(st.sampled_from(sorted(options)), max_size=2, unique=True))
    given_options = {name: draw(option_values(options[name], sides[1])) for name in chosen}
    return *sides, example.arguments() | given_options, draw(st.sampled_from([1, 2, 3, 7]))


@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_odd_records_and_options(example):
    metric = load(example.benchmark.name, example.task)
    options = metric.definition.task.options

    @settings(max_examples=N_EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(cases(example, options))
    def check(case):
        predictions, references, given_options, size = case
        whole = outcome(lambda: metric.compute(predictions=predictions, references=references, **given_options))

        def piece_by_piece():
            for start in range(0, max(len(predictions), len(references)), size):
                metric.add_batch(
                    predictions=predictions[start : start + size], references=references[start : start + size]
                )
            return metric.compute(**given_options)

        pieces = outcome(piece_by_piece)
        metric._batches.clear()
        assert pieces[0] == whole[0]
        # Of several mistakes, which one is named depends on which is seen first.
        if whole[0] == "result" or given_options == example.arguments():
            assert pieces[1] == whole[1]

    check()
