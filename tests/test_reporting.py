"""`spanscore.report`: the page of a result that `compute` gave."""

import json
import pickle
import re

import datasets
import pytest
from conftest import load

import spanscore
from spanscore import cli
from spanscore.examples import all_examples

EXAMPLES = all_examples()
DETAILS = {"per_document": True, "return_errors": True}


def documents(html):
    return json.loads(re.search(r'<script type="application/json" id="documents">(.*?)</script>', html, re.S).group(1))


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: f"{example.benchmark.name}-{example.title}")
def test_it_is_the_page_of_the_command_line(example, tmp_path, capsys):
    predictions, references = example.read()
    metric = load(example.benchmark.name, example.task)
    result = metric.compute(predictions=predictions, references=references, **example.arguments(), **DETAILS)
    spanscore.report(result, tmp_path / "ours.html", references=references, predictions=predictions)
    ours = (tmp_path / "ours.html").read_text(encoding="utf-8")
    command = [example.benchmark.name, str(example.predictions), str(example.references), "-q"]
    for name, value in example.arguments().items():
        flag = "--" + name.replace("_", "-")
        command += [flag] if value is True else [flag, value if isinstance(value, str) else json.dumps(value)]
    assert cli.main([*command, "--html", str(tmp_path / "theirs.html")]) == 0
    theirs = (tmp_path / "theirs.html").read_text(encoding="utf-8")
    assert documents(ours) == documents(theirs)
    plots = [re.findall(r"<svg.*?</svg>", html, re.S) for html in (ours, theirs)]
    assert plots[0] == plots[1] and plots[0]


def test_records_of_any_form_and_results_from_elsewhere(tmp_path):
    predictions, references = EXAMPLES[0].read()
    result = load("aste").compute(predictions=predictions, references=references, confidence_level=0.9, **DETAILS)
    columns = {key: [record.get(key) for record in references] for key in references[0]}
    pages = []
    for given, found in (
        (references, result),
        (columns, json.loads(json.dumps(result))),
        (datasets.Dataset.from_dict(columns), pickle.loads(pickle.dumps(result))),  # noqa: S301
    ):
        spanscore.report(found, tmp_path / "page.html", references=given)
        page = (tmp_path / "page.html").read_text(encoding="utf-8")
        pages.append(re.sub(r"<dt>date</dt><dd>[^<]*</dd>", "", page))
    assert pages[0] == pages[1] == pages[2]
    assert "90 % interval" in pages[0] and documents(pages[0])[0][1][:2] == references[0]["tokens"][:2]


@pytest.mark.parametrize(
    ("result", "words"),
    [
        ({"f1": 1.0}, "result: the signature None is not that of aste, docred"),
        ({"signature": "other|v:1"}, "result: the signature 'other|v:1' is not that of"),
        ({"signature": "aste|v:2.0.0"}, "result: no per_document, expected one of compute"),
        (7, "result: the signature None is not that of"),
    ],
)
def test_other_results_are_refused(result, words, tmp_path):
    with pytest.raises(ValueError, match=re.escape(words)):
        spanscore.report(result, tmp_path / "page.html", references=[])
    assert not (tmp_path / "page.html").exists()
