"""All documents: their code runs and prints what they say, and their links lead somewhere."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from conftest import ROOT
from documents import DEMO, DOCUMENTS, README, copy_checkout, name, prose, read_blocks, run_blocks


@pytest.fixture
def checkout(tmp_path, monkeypatch):
    copy_checkout(tmp_path)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("path", [path for path in DOCUMENTS if path != DEMO], ids=name)
def test_the_code_runs_and_prints_what_the_document_says(path, checkout):
    run_blocks(path.read_text())


@pytest.mark.parametrize("path", [README, *(ROOT / "spaces").glob("aste*/README.md")], ids=name)
def test_the_training_loop_counts_what_cannot_be_read(path, checkout):
    pieces = ("", "screen | large | POS", "; a | b | NEG", "; food | good | great", "; | pos", ";  | good | NEG")

    def batch_decode(ids, skip_special_tokens):
        assert skip_special_tokens and ids.min() >= 0
        return ["".join(pieces[at] for at in row) for row in ids.tolist()]

    make = run_blocks(path.read_text())["make_compute_metrics"]
    compute_metrics = make(SimpleNamespace(pad_token_id=0, batch_decode=batch_decode))
    evaluation = SimpleNamespace(predictions=np.array([[1, -100, -100]]), label_ids=np.array([[1, 2, -100]]))
    assert compute_metrics(evaluation) == pytest.approx({"precision": 100, "recall": 50, "f1": 200 / 3})
    unlucky = SimpleNamespace(predictions=np.array([[1, 3, 4, 5]]), label_ids=np.array([[1, 2, -100, -100]]))
    assert compute_metrics(unlucky) == pytest.approx({"precision": 25, "recall": 50, "f1": 100 / 3})


@pytest.mark.parametrize(
    "text", ["```python\n1 / 0\n```", "```python\n>>> 1\n2\n```", "```py\n```", "```sh\nfalse\n```"]
)
def test_a_block_that_is_wrong_is_found(text):
    with pytest.raises((AssertionError, ZeroDivisionError)):
        run_blocks(text + "\n")


def test_output_that_is_wrong_is_found():
    with pytest.raises(AssertionError, match="prints"):
        run_blocks("```python\nprint(1)\n```\n\n```text\n2\n```\n")
    with pytest.raises(AssertionError, match="prints"):
        run_blocks("```python\nprint(1)\n```\n")
    with pytest.raises(AssertionError, match="prints"):
        run_blocks("```console\n$ echo 1\n2\n```\n")
    run_blocks("```console\n$ printf '1\\n2\\n3\\n'\n…\n3\n```\n")


@pytest.mark.parametrize("path", DOCUMENTS, ids=name)
def test_every_link_within_the_repository_leads_to_a_file(path):
    links = [link for link in re.findall(r"\]\(([^)#]+)", prose(path.read_text())) if "://" not in link]
    assert [link for link in links if not (path.parent / link).is_file()] == []


def test_the_two_commands_stand_at_the_top():
    assert re.search(r"^#.*\n\n```sh\nmake demo .*\nmake test .*\n```", README.read_text())


def test_the_readme_is_a_front_page():
    words = [word for word in prose(README.read_text()).split() if re.search(r"[^\W\d_]", word)]
    assert len(words) <= 1200


def test_every_document_has_code():
    assert all(any(block.language in ("python", "sh") for block in read_blocks(path.read_text())) for path in DOCUMENTS)
