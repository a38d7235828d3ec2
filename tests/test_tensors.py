"""Tensors of torch and of similar libraries on either side, as stock metrics take them."""

import numpy as np
import pytest
import torch
from conftest import load

LABELS = ["entail", "neutral", "contradict"]
DOCUMENT = {
    "title": "Rivers",
    "vertexSet": [[{"name": "Elbe", "sent_id": 0}], [{"name": "Saale", "sent_id": 0}]],
    "labels": [{"h": 1, "t": 0, "r": "flows into", "evidence": [0]}],
}


class Foreign:
    """A tensor of a library of which nothing is known but that numpy can read it."""

    def __init__(self, values):
        self.values = np.array(values)
        self.ndim = self.values.ndim

    def __array__(self, dtype=None, copy=None):
        return self.values

    def __iter__(self):
        return iter([Foreign(value) for value in self.values])

    def __len__(self):
        return len(self.values)


class Broken(Foreign):
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("on another planet")


@pytest.mark.parametrize("make", [torch.tensor, Foreign, np.array])
def test_labels(make):
    metric = load("propsegment", "entailment", label_names=LABELS)
    for references in (make([0, 1, 2, 0]), [{"label": make(label)} for label in (0, 1, 2, 0)]):
        assert metric.compute(predictions=make([0, 1, 2, 1]), references=references)["three_way_accuracy"] == 0.75
    if make is torch.tensor:
        logits = torch.eye(3, requires_grad=True) * 2
        result = metric.compute(predictions=logits.argmax(-1), references=list(torch.arange(3)))
        assert result["three_way_accuracy"] == 1
    with pytest.raises(ValueError, match=r"^predictions\[1\]: .* is not a label's number"):
        metric.compute(predictions=make([0.0, 0.5]), references=["entail", "entail"])


@pytest.mark.parametrize("make", [torch.tensor, Foreign, np.array])
def test_spans(make):
    segments = load("propsegment")
    assert segments.compute(predictions=[[make([0, 2]), [1]]], references=[make([[0, 2], [1, 3]])])["f1"] == 0.5
    with pytest.raises(ValueError, match=r"propositions\[0\]: .* looks like a mask"):
        segments.compute(predictions=[[make([1, 0, 1, 1])]], references=[[[1]]])
    triplets = load("aste")
    prediction = {"triplets": [{"aspect": make([0, 1]), "opinion": [make(3)], "polarity": "POS"}]}
    assert triplets.compute(predictions=[prediction], references=[[([0, 1], [3], "POS")]])["f1"] == 100


@pytest.mark.parametrize("kind", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_scores(kind):
    metric = load("docred", relation_names=["Na", "flows into"])
    scores = torch.zeros(2, 2, 2, dtype=kind, requires_grad=True)
    dense = {"title": "Rivers", "scores": scores + torch.tensor([[[0, 0], [0, 0]], [[0, 0.75], [0, 0]]], dtype=kind)}
    assert metric.compute(predictions=[dense], references=[DOCUMENT], threshold=0.5)["f1"] == 100
    fact = {"h_idx": torch.tensor(1), "t_idx": torch.tensor(0), "r": "flows into", "score": dense["scores"][1, 0, 1]}
    listed = {"title": "Rivers", "relations": [fact]}
    assert metric.compute(predictions=[listed], references=[DOCUMENT], threshold=0.5)["f1"] == 100
    assert metric.compute(predictions=[listed], references=[DOCUMENT], threshold=0.8)["f1"] == 0


def test_a_tensor_that_cannot_be_read_is_refused():
    with pytest.raises(ValueError, match=r"^predictions\[0\]\.propositions\[0\]: .* is not the token indices"):
        load("propsegment").compute(predictions=[[Broken([0, 2])]], references=[[[0]]])
