"""The README's examples run, and print what they say."""

import contextlib
import io
import re
from types import SimpleNamespace

import pytest
from conftest import ROOT

BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


class Tokenizer:
    """Stands in for a model's: an id is a text."""

    def batch_decode(self, ids, skip_special_tokens):
        return list(ids)


def test_the_examples_run_in_order_and_print_what_they_say(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    names = {"tokenizer": Tokenizer(), "world_size": 1, "rank": 0, "shared_folder": str(tmp_path)}
    for block in BLOCKS:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(block, names)
        said = re.findall(r"^# (.*)$", block, re.MULTILINE)
        assert printed.getvalue().splitlines() == said
        if "num_process" in block:
            assert names["result"]["f1"] == pytest.approx(200 / 3)
    assert "num_process" in "".join(BLOCKS)
    evaluation = SimpleNamespace(predictions=["screen | large | POS"], label_ids=["screen | large | POS; a | b | NEG"])
    assert names["compute_metrics"](evaluation) == pytest.approx({"precision": 100, "recall": 50, "f1": 200 / 3})


def test_the_two_commands_stand_at_the_top():
    assert re.search(r"^#.*\n\n```sh\nmake demo .*\nmake test .*\n```", (ROOT / "README.md").read_text())
