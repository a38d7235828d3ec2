"""The walk-throughs of CONTRIBUTING.md, followed in a copy of the checkout."""

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap

import pytest
from conftest import ROOT

from spanscore.formats.aste import read, write

# Pieces of code, each after a comment that says where they go.
BLOCKS = re.findall(
    r"^ *<!-- (\w+): (\S+) -->\n( *)```\w+\n(.*?)^ *```$",
    (ROOT / "CONTRIBUTING.md").read_text(),
    re.DOTALL | re.MULTILINE,
)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A copy of the checkout with the made-up option and the made-up metric."""
    folder = tmp_path_factory.mktemp("checkout") / "project"
    folder.mkdir()
    for path in ROOT.glob("*.py"):
        shutil.copy(path, folder)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    for name in ("spanscore", "examples"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for kind, name, _, code in BLOCKS:
        path = folder / name
        if kind == "file":
            path.parent.mkdir(exist_ok=True)
            path.write_text(textwrap.dedent(code))
            continue
        text = path.read_text()
        added = textwrap.dedent(code) if name.endswith(".toml") else code
        if kind == "option" and name == "aste_metric.py":
            line = "        unparsed = count_unparsed(predictions, order)\n"
            assert text.count(line) == 1
            path.write_text(text.replace(line, code))
        else:
            before = {
                "aste_records.py": "    **table(\n",
                "spanscore/benchmarks.py": "    for benchmark in (\n",
                "pyproject.toml": "[tool.hatch.build.targets.wheel.force-include]\n",
            }[name]
            assert text.count(before) == 1
            path.write_text(text.replace(before, before + added))
    return folder


def run(checkout, *arguments, code=0):
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout


KEYWORDS = ["examples/keywords/predictions.jsonl", "examples/keywords/references.jsonl"]


def test_all_pieces_are_found():
    assert [name for _, name, _, _ in BLOCKS] == [
        "aste_records.py",
        "aste_metric.py",
        "keywords_records.py",
        "keywords_metric.py",
        "spanscore/formats/keywords.py",
        "spanscore/benchmarks.py",
        "pyproject.toml",
        *KEYWORDS,
        "examples/keywords/examples.json",
    ]


def test_the_option_works(checkout, tmp_path):
    predictions, references = (ROOT / f"examples/aste/{side}.txt" for side in ("predictions", "references"))
    records = [{**record, "unparsed": 1} for record in read(predictions).records]
    write(tmp_path / "marked.jsonl", records, "jsonl")

    def score(path, *options):
        return json.loads(run(checkout, "-m", "spanscore", "aste", path, references, *options, "--json", "-"))

    plain, marked = score(predictions), score(tmp_path / "marked.jsonl")
    result = score(tmp_path / "marked.jsonl", "--ignore-unparsed")
    assert marked["predicted"] == plain["predicted"] + len(records)
    assert result["predicted"] == plain["predicted"] and result["f1"] == plain["f1"]
    assert "|unparsed:ignored" in result["signature"] and "unparsed:" not in marked["signature"]
    assert "[default:no-ignore-unparsed]" in "".join(run(checkout, "-m", "spanscore", "aste", "--help").split())


def test_the_metric_works(checkout, tmp_path):
    result = json.loads(
        run(
            checkout,
            "-m",
            "spanscore",
            "keywords",
            *KEYWORDS,
            "--json",
            "-",
            "--html",
            tmp_path / "r.html",
            "--errors",
            tmp_path / "e.jsonl",
            "--confidence",
        )
    )
    assert (result["true_positives"], result["predicted"], result["gold"]) == (1, 3, 3)
    errors = [json.loads(line) for line in (tmp_path / "e.jsonl").read_text().splitlines()]
    assert [error["kind"] for error in errors] == ["spurious", "spurious", "missed", "missed"]
    assert "metric" in (tmp_path / "r.html").read_text()
    assert result["signature"].startswith("keywords|v:1.0.0|pairing:id|ignore_case:no|")
    shown = run(checkout, "-m", "spanscore", "compare", "keywords", KEYWORDS[0], *KEYWORDS, "--csv")
    assert "f1,p_value,1.0" in shown
    assert run(checkout, "-m", "spanscore", "validate", "keywords", KEYWORDS[0]) == ""
    (tmp_path / "wrong.jsonl").write_text('{"keywords": ["", 3]}\n')
    out = run(checkout, "-m", "spanscore", "validate", "keywords", tmp_path / "wrong.jsonl", code=2)
    assert [line.split(": ")[1] for line in out.splitlines()] == [f"predictions[0].keywords[{at}]" for at in range(2)]


def test_the_demo_shows_the_metric(checkout):
    assert "keywords: keywords|v:1.0.0|pairing:id|ignore_case:yes" in run(checkout, "-m", "examples.demo")


def test_the_wheel_has_the_metric(checkout, tmp_path):
    run(checkout, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path)
    (wheel,) = tmp_path.iterdir()
    held = run(checkout, "-m", "zipfile", "-l", wheel)
    assert "spanscore/metrics/keywords_metric.py" in held and "spanscore/formats/keywords.py" in held
