"""Segmentation of PropSegmEnt as a straightforward metric: a loop over sentences with Python sets, for comparison."""

from typing import Any

import datasets
import evaluate
import numpy as np
from scipy.optimize import linear_sum_assignment

# Without the optional tokens, which make no difference to a score and would cost this metric more.
_SENTENCE = {
    "id": datasets.Value("string"),
    "propositions": [[datasets.Value("int32")]],
}


def _f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


class StockPropsegment(evaluate.Metric):  # type: ignore[misc]  # evaluate has no types
    """The same scores from the same features."""

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description="",
            citation="",
            features=datasets.Features({"predictions": _SENTENCE, "references": _SENTENCE}),
        )

    def _compute(self, predictions: list[Any], references: list[Any], threshold: float = 0.8) -> dict[str, Any]:
        means = {"jaccard": [0.0, 0.0], "exact": [0.0, 0.0]}
        pooled = [0, 0, 0]
        repeated, empty, repeating = [0, 0], [0, 0], 0
        for prediction, reference in zip(predictions, references, strict=True):
            given = [[frozenset(p) for p in side["propositions"]] for side in (prediction, reference)]
            predicted, gold = (list(dict.fromkeys(side)) for side in given)
            for side, kept in enumerate((predicted, gold)):
                repeated[side] += len(given[side]) - len(kept)
                empty[side] += not kept
            repeating += len(given[0]) > len(predicted)
            found = exact = 0
            if predicted and gold:
                similarity = np.array([[len(p & g) / len(p | g) for g in gold] for p in predicted])
                weights = similarity + 1e-9 * (similarity >= threshold)
                for i, j in zip(*linear_sum_assignment(weights, maximize=True), strict=True):
                    found += similarity[i, j] >= threshold
                    exact += similarity[i, j] == 1
            for name, n_found in (("jaccard", found), ("exact", exact)):
                means[name][0] += n_found / len(predicted) if predicted else 0.0
                means[name][1] += n_found / len(gold) if gold else 0.0
            pooled = [a + b for a, b in zip(pooled, (found, len(predicted), len(gold)), strict=True)]
        n = len(references)
        rows = {
            name: dict(zip(("precision", "recall", "f1"), (p / n, r / n, _f1(p / n, r / n)), strict=True))
            for name, (p, r) in means.items()
        }
        precision, recall = pooled[0] / max(pooled[1], 1), pooled[0] / max(pooled[2], 1)
        return rows["jaccard"] | {
            "exact": rows["exact"],
            "micro": {
                "precision": precision,
                "recall": recall,
                "f1": _f1(precision, recall),
                "true_positives": int(pooled[0]),
                "predicted": pooled[1],
                "gold": pooled[2],
            },
            "repeated_predictions": repeated[0],
            "repeated_references": repeated[1],
            "repetition_rate": repeating / n,
            "empty_predictions": empty[0],
            "empty_references": empty[1],
            "unparsed_predictions": 0,
            "no_reference": 0,
            "different_tokens": 0,
            "signature": "stock",
        }
