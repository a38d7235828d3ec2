"""`results`: what `compute` of every metric returns is a dict in every respect, and shows itself as a table."""

import copy
import doctest
import json
import math
import pickle
import subprocess
import sys
from html.parser import HTMLParser

import datasets
import evaluate
import pandas
import pytest
from conftest import ROOT, load
from hypothesis import given
from hypothesis import strategies as st
from spanscore.metrics.collecting import flatten
from spanscore.metrics.results import Result

from spanscore.examples import all_examples
from spanscore.metrics import results

EXAMPLES = all_examples()
NAMES = [f"{example.benchmark.name}-{example.title}" for example in EXAMPLES]
every_example = pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
FULL = {"confidence_level": 0.9, "n_resamples": 20, "per_document": True, "return_errors": True}
COUNTS = ["true_positives", "predicted", "gold"]
HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror="alert(1)">',
    "</table></td><!--",
    "'&amp;{{7*7}}",
    "f1",
    "‮مرحبا",
    "x" * 100_000,
]


def compute(example, **options):
    predictions, references = example.read()
    metric = load(example.benchmark.name, example.task)
    return metric.compute(predictions=predictions, references=references, **example.arguments(), **options)


def score_labels(labels):
    """A DocRED result with a relation for each label."""
    title = {"title": "d"}
    gold = [{"h": 0, "t": 1, "r": label, "evidence": []} for label in labels]
    vertices = [[{"name": name, "sent_id": 0, "pos": [at, at + 1], "type": "PER"}] for at, name in enumerate("ab")]
    reference = {**title, "sents": [["a", "b"]], "vertexSet": vertices, "labels": gold}
    facts = [{**title, "h_idx": 0, "t_idx": 1, "r": label} for label in labels]
    return load("docred").compute(predictions=facts, references=[reference], return_errors=True)


class Tables(HTMLParser):
    """The tags and attributes of some HTML, the cells of its rows, and its paragraphs."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.rows, self.paragraphs = set(), set(), [], []
        self.open, self.into = [], None
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("th", "td", "p"):
            self.into = self.paragraphs if tag == "p" else self.rows[-1]
            self.into.append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.into[-1] += data

    def handle_comment(self, data):
        raise AssertionError(data)


def show(result):
    tables = Tables(result._repr_html_())
    assert tables.tags <= {"div", "table", "thead", "tbody", "tr", "th", "td", "p"}
    assert tables.attributes <= {"scope", "style"}
    headers = sum(row[0] in ("score", "component") for row in tables.rows)
    assert len(tables.rows) - headers <= 25
    return tables


# --- a dict -----------------------------------------------------------------------------------------------------------


@every_example
def test_a_result_is_a_dict_in_every_respect(example, tmp_path):
    result = compute(example, **FULL)
    plain = dict(result)
    assert type(result).__name__ == "Result" and isinstance(result, dict) and type(plain) is dict
    assert result == plain and plain == result and repr(result) == repr(plain)
    assert json.dumps(result) == json.dumps(plain) and json.loads(json.dumps(result)) == plain
    assert {**result} == result | {} == {} | result == result.copy() == plain
    saved = evaluate.save(tmp_path, **result)
    assert json.loads(saved.read_text()).items() >= plain.items()
    flat = compute(example, flat=True)
    assert type(flat).__name__ == "Result" and type(flat.copy()) is dict
    assert flat == flatten(compute(example))
    assert datasets.Dataset.from_list([flat, flat])[1] == flat


@every_example
@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy])
def test_a_copy_is_a_result(example, make):
    result = compute(example, **FULL)
    copied = make(result)
    assert type(copied) is type(result) and copied == result and copied is not result
    assert (copied["errors"] is result["errors"]) == (make is copy.copy)
    assert copied._repr_html_() == result._repr_html_()
    copied["errors"] = None
    assert result["errors"] is not None


UNPICKLE = """
import json, pickle, sys
result = pickle.load(sys.stdin.buffer)
assert type(result) is dict
assert not {"evaluate", "numpy", "spanscore", "evaluate_modules"} & set(sys.modules)
print(json.dumps(result))
"""


@every_example
def test_a_process_without_the_metric_reads_a_pickle(example):
    result = compute(example, **FULL)
    assert type(result).__module__.startswith("evaluate_modules.")
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        read = pickle.loads(pickle.dumps(result, protocol))  # noqa: S301
        assert type(read) is dict and read == result
    # Python without the packages of the environment.
    command = [sys.executable, "-I", "-S", "-c", UNPICKLE]
    done = subprocess.run(command, input=pickle.dumps(result), capture_output=True, check=True)
    assert json.loads(done.stdout) == result


def test_the_example_of_the_docstring_is_right():
    assert doctest.testmod(results) == (0, 3)


def test_the_file_imports_nothing_heavy():
    script = """
import runpy, sys
runpy.run_path("results.py")["Result"](f1=1.0, pair={"f1": 2.0})._repr_html_()
print(sorted({"pandas", "numpy", "evaluate", "datasets", "pyarrow"} & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# --- a table of pandas ------------------------------------------------------------------------------------------------


def components_of(values, place=""):
    """Each dict with a rate, by its dotted place."""
    found = {}
    if place and {"precision", "recall", "f1"} & {name for name, value in values.items() if isinstance(value, float)}:
        found[place] = values
    for name, value in values.items():
        if isinstance(value, dict) and name != "detectable_differences":
            found |= components_of(value, f"{place}.{name}" if place else name)
    return found


@every_example
def test_the_frame_has_the_figures_of_the_result(example):
    result = compute(example, **FULL)
    frame = result.to_frame()
    assert isinstance(frame, pandas.DataFrame) and frame.index.is_unique
    assert list(frame.columns)[:3] == ["precision", "recall", "f1"]
    last = [name for name in frame if name in ("value", "low", "high", "detectable_difference")]
    assert list(frame.columns)[-len(last) :] == last and last[:3] == ["value", "low", "high"]
    components = components_of(result)
    assert len(components) >= 2
    for place, figures in components.items():
        for name, value in figures.items():
            if not isinstance(value, dict):
                assert frame.loc[place, name] == value
        assert frame.loc[place, [name for name in frame if name not in figures]].isna().all()
    for name, value in result.items():
        if isinstance(value, (int, float)):
            row, column = ("headline", name) if name in ("precision", "recall", "f1", *COUNTS) else (name, "value")
            assert frame.loc[row, column] == value
    for name, interval in result["confidence_intervals"].items():
        row = frame.loc["headline" if name == "f1" else name]
        assert [row["low"], row["high"]] == interval
        assert row["f1" if name == "f1" else "value"] == result[name]
    assert frame["low"].notna().sum() == len(result["confidence_intervals"])
    for name, difference in result["detectable_differences"].items():
        if difference is not None:
            assert frame.loc["headline" if name == "f1" else name, "detectable_difference"] == difference
    assert not any("detectable_differences" in row for row in frame.index)
    types = {str(frame[name].dtype) for name in frame if name in (*COUNTS, "support", "gold_invalid_structure")}
    assert types == {"Int64"}
    assert {str(frame[name].dtype) for name in ("precision", "recall", "f1", "value", "low", "high")} == {"float64"}
    nothing = [place for place, value in result.items() if value is None]
    assert not set(nothing) & set(frame.index)


@every_example
def test_a_flat_result_has_one_row_for_each_name(example):
    result = compute(example, flat=True, confidence_level=0.9, n_resamples=20)
    frame = result.to_frame()
    assert dict(frame["value"]) == result and len(frame) == len(result)
    assert frame[["precision", "recall", "f1"]].isna().all(axis=None) and "low" not in frame
    tables = show(result)
    assert [row[0] for row in tables.rows[1:]] == list(result)[: len(tables.rows) - 1]


def test_pairs_alone_leave_out_what_needs_polarity():
    records = [{"triplets": [([1], [4])]}]
    result = load("aste").compute(predictions=records, references=records, polarity=False, confidence_level=0.9)
    assert result["f1"] is result["relaxed"] is None
    frame = result.to_frame()
    assert list(frame.index[:3]) == ["pair", "aspect", "opinion"] and "headline" not in frame.index
    assert frame.loc["pair", ["precision", "predicted"]].tolist() == [100, 1]
    assert [row[0] for row in show(result).rows] == ["component", "pair", "aspect", "opinion"]


def test_empty_results():
    assert Result().to_frame().empty and show(Result()).rows == []
    for result in (Result(signature="words"), Result(n=1, signature="words")):
        frame = result.to_frame()
        assert list(frame.columns)[:3] == ["precision", "recall", "f1"] and len(frame) == len(result) - 1
        assert set(frame.dtypes.astype(str)) == {"float64"}


NUMBERS = st.floats(0, 100) | st.integers(0, 1000)
KEYS = st.sampled_from(["precision", "recall", "f1", "gold", "headline", "a", "b", "<i>", ""])
VALUES = st.recursive(
    NUMBERS | st.none() | st.booleans() | st.text(max_size=3) | st.lists(NUMBERS, max_size=2),
    lambda inner: st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=20,
)


@given(st.dictionaries(KEYS, VALUES, max_size=6))
def test_every_number_of_any_dict_is_in_the_frame_once(values):
    result = Result(values)
    frame = result.to_frame()
    numbers = frame.astype("float64").to_numpy().ravel()
    assert sorted(number for number in numbers if not math.isnan(number)) == sorted(flatten(values).values())
    assert not len(frame) or frame.notna().any(axis=1).all()
    show(result)
    assert pickle.loads(pickle.dumps(result)) == copy.deepcopy(result) == values  # noqa: S301


# --- in a notebook ----------------------------------------------------------------------------------------------------


@every_example
def test_notebooks_show_a_short_table(example):
    result = compute(example, **FULL)
    tables = show(result)
    assert len(result._repr_html_()) < 8000
    rows = {row[0]: row[1:] for row in tables.rows}
    scores = {name: value for name, value in result.items() if isinstance(value, float)}
    assert rows.keys() >= scores.keys()
    decimals = 4 if example.benchmark.perfect == 1 else 2
    for name in {"precision", "recall", "f1", "sentivent_score", "balanced_accuracy"} & set(scores):
        low, high = result["confidence_intervals"][name]
        assert rows[name] == [f"{scores[name]:.{decimals}f}", f"{low:.{decimals}f} – {high:.{decimals}f}"]
    components = components_of(result)
    shown = [name for name in rows if name in components]
    assert shown
    for place in shown:
        figures = components[place]
        expected = [f"{figures[n]:.{decimals}f}" if n in figures else "" for n in ("precision", "recall", "f1")]
        assert rows[place] == expected
    more = [text for text in tables.paragraphs if "more rows" in text]
    assert more == [f"{len(components) - len(shown)} more rows in to_frame()"] * (len(shown) < len(components))
    assert f"errors: {len(result['errors'])} items" in " ".join(tables.paragraphs)
    assert tables.paragraphs[-1] == result["signature"]


def test_the_table_of_a_small_result():
    values = {"precision": 0.25, "recall": 1.0, "f1": 0.4, "auc": 0.00001, "n": 3}
    result = Result(values, pair={"recall": 12.5, "gold": 2}, errors=[1], none=None, signature="words|v:1")
    tables = show(result)
    assert tables.rows == [
        ["score", "value"],
        ["precision", "0.25"],
        ["recall", "1.00"],
        ["f1", "0.40"],
        ["auc", "1e-05"],
        ["component", "precision", "recall", "f1"],
        ["pair", "", "12.50", ""],
    ]
    assert tables.paragraphs == ["errors: 1 item", "words|v:1"]


def test_of_many_components_those_of_label_tables_are_left_out():
    labels = {f"label{number}": {"f1": 1.0} for number in range(3000)}
    result = Result(f1=1.0, labels=labels, pair={"f1": 50.0}, signature="words")
    tables = show(result)
    assert [row[0] for row in tables.rows[3:6]] == ["pair", "labels.label0", "labels.label1"]
    assert tables.paragraphs[0] == "2,977 more rows in to_frame()"
    assert len(result.to_frame()) == 3002


def test_hostile_labels_are_shown_as_text():
    result = score_labels(HOSTILE)
    tables = show(result)
    names = {row[0].removeprefix("per_relation.") for row in tables.rows if row[0].startswith("per_relation.")}
    shown = names & set(HOSTILE)
    assert len(shown) >= 4 and len(result._repr_html_()) < 8000
    frame = result.to_frame()
    for label in HOSTILE:
        assert frame.loc[f"per_relation.{label}", ["f1", "gold"]].tolist() == [100, 1]
    for label in HOSTILE:
        one = Result(f1=1.0, table={label: {"f1": 50.0}}, signature=label)
        assert show(one).rows[-1][0] == (f"table.{label}" if len(label) < 80 else f"table.{'x' * 74}…")
        assert show(one).paragraphs == [label]
        flat = show(Result({label: 1.0}))
        assert flat.rows[1][0][:80] == label[:80] and flat.rows[1][1] == "1.0000"
