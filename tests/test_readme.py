"""The README's examples run, and print what they say."""

import contextlib
import io
import re
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import ROOT, load

from spanscore.formats import propsegment

BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)


class Tokenizer:
    """Stands in for a model's: an id is a piece of text, and -100 is none."""

    pieces = ("", "screen | large | POS", "; a | b | NEG", "; food | good | great", "; | pos", ";  | good | NEG")
    pad_token_id = 0

    def batch_decode(self, ids, skip_special_tokens):
        assert ids.min() >= 0
        return ["".join(self.pieces[at] for at in row) for row in ids.tolist()]


def test_the_examples_run_in_order_and_print_what_they_say(monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    names = {"tokenizer": Tokenizer(), "world_size": 1, "rank": 0, "job_id": "7", "shared_folder": str(tmp_path)}
    for block in BLOCKS:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(block, names)
        said = re.findall(r"^# (.*)$", block, re.MULTILINE)
        assert printed.getvalue().splitlines() == said
        if "num_process" in block:
            assert names["result"]["f1"] == pytest.approx(200 / 3)
        # Later blocks take other functions under the same names.
        if "def compute_metrics" in block:
            check_training_loop(names["compute_metrics"])
    assert "num_process" in "".join(BLOCKS)
    assert "def compute_metrics" in "".join(BLOCKS)


def check_training_loop(compute_metrics):
    evaluation = SimpleNamespace(predictions=np.array([[1, -100, -100]]), label_ids=np.array([[1, 2, -100]]))
    assert compute_metrics(evaluation) == pytest.approx({"precision": 100, "recall": 50, "f1": 200 / 3})
    unlucky = SimpleNamespace(predictions=np.array([[1, 3, 4, 5]]), label_ids=np.array([[1, 2, -100, -100]]))
    assert compute_metrics(unlucky) == pytest.approx({"precision": 25, "recall": 50, "f1": 100 / 3})


def test_the_training_loop_of_segmentation(monkeypatch):
    monkeypatch.chdir(ROOT)
    outputs = {
        11: "[M] The old lighthouse [/M] , [M] built in 1874 [/M] , guided ships into the harbour .",
        12: "[M] Mara repaired the clock [/M] and",
    }

    def batch_decode(ids, skip_special_tokens):
        assert skip_special_tokens and set(ids.ravel().tolist()) <= {0, *outputs}
        return [outputs.get(first, "") for first in ids[:, 0].tolist()]

    (block,) = (block for block in BLOCKS if "def segmentation_scores" in block)
    names = {
        "propsegment": load("propsegment"),
        "read": propsegment.read,
        "parse_generated": propsegment.parse_generated,
        "tokenizer": SimpleNamespace(pad_token_id=0, batch_decode=batch_decode),
    }
    exec(block, names)
    ids = np.full((6, 2), -100)
    ids[:2, 0] = 11, 12
    result = names["segmentation_scores"](SimpleNamespace(predictions=ids))
    assert result["unparsed_predictions"] == 1
    assert (result["precision"], result["recall"]) == pytest.approx((1 / 6, 0.5 / 6))


def test_the_two_commands_stand_at_the_top():
    assert re.search(r"^#.*\n\n```sh\nmake demo .*\nmake test .*\n```", (ROOT / "README.md").read_text())
