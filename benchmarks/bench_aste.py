"""ASTE against a stock `evaluate.Metric`: the same features, the same headline, counted with Python sets.

Once with triplets alone, and once with ids and tokens beside them: ours looks at every token, the stock path at the
first of each sentence.

The corpora are made here: sentences of 5 to 30 tokens with up to four triplets, and predictions that repeat, alter and
drop them. Also how time and peak memory grow with the number of sentences.
"""

from __future__ import annotations

import math
import random
import sys
from functools import partial
from typing import Any

import datasets
import evaluate

from benchmarks.timing import compare, in_new_process, load, peak_growth, seconds

POLARITIES = ("POS", "NEG", "NEU")


def triplet(rng: random.Random, n_tokens: int) -> dict[str, Any]:
    aspect, opinion = (rng.randrange(n_tokens - 1) for _ in range(2))
    return {
        "aspect": [aspect] if rng.random() < 0.6 else [aspect, aspect + 1],
        "opinion": [opinion] if rng.random() < 0.8 else [opinion, opinion + 1],
        "polarity": rng.choice(POLARITIES),
    }


def corpus(n_sentences: int, seed: int = 0) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Predictions and references."""
    rng = random.Random(seed)
    predictions, references = [], []
    for index in range(n_sentences):
        n_tokens = rng.randint(5, 30)
        gold = [triplet(rng, n_tokens) for _ in range(rng.randint(0, 4))]
        predicted = [dict(t) for t in gold if rng.random() < 0.75]
        for t in predicted:
            if rng.random() < 0.2:
                t.update(triplet(rng, n_tokens))
        record = {"id": str(index), "tokens": [f"w{i}" for i in range(n_tokens)]}
        predictions.append({**record, "triplets": predicted})
        references.append({**record, "triplets": gold})
    return predictions, references


TRIPLETS = {
    "triplets": [
        {
            "aspect": [datasets.Value("int32")],
            "opinion": [datasets.Value("int32")],
            "polarity": datasets.Value("string"),
        }
    ]
}
WHOLE = {"id": datasets.Value("string"), "tokens": [datasets.Value("string")], **TRIPLETS}


class Stock(evaluate.Metric):  # type: ignore[misc]  # evaluate has no types
    """What one would write in an afternoon."""

    record = TRIPLETS

    def _info(self) -> evaluate.MetricInfo:
        record = self.record
        features = datasets.Features({"predictions": record, "references": record})
        return evaluate.MetricInfo(description="", citation="", inputs_description="", features=features)

    def _compute(self, predictions: list[dict[str, Any]], references: list[dict[str, Any]]) -> dict[str, float]:
        correct = predicted = gold = 0
        for prediction, reference in zip(predictions, references, strict=True):
            left, right = (
                {(tuple(t["aspect"]), tuple(t["opinion"]), t["polarity"]) for t in record["triplets"]}
                for record in (prediction, reference)
            )
            correct, predicted, gold = correct + len(left & right), predicted + len(left), gold + len(right)
        precision, recall = 100 * correct / predicted, 100 * correct / gold
        return {"precision": precision, "recall": recall, "f1": 2 * precision * recall / (precision + recall)}


class StockWithTokens(Stock):
    """The same with ids and tokens."""

    record = WHOLE


def growth(n_sentences: int) -> None:
    """Print the seconds and mebibytes that one `compute` of so many sentences takes."""
    predictions, references = corpus(n_sentences)
    aste = load("aste")
    aste.compute(predictions=predictions[:100], references=references[:100])
    took: list[float] = []
    grown = peak_growth(
        lambda: took.append(seconds(lambda: aste.compute(predictions=predictions, references=references)))
    )
    print(took[0], grown)


def main() -> None:
    predictions, references = corpus(50_000)
    aste = load("aste")
    for title, stock in (("triplets alone", Stock()), ("with ids and tokens", StockWithTokens())):
        sides = {
            side: [{key: record[key] for key in stock.record} for record in records]
            for side, records in (("predictions", predictions), ("references", references))
        }
        ours, theirs = aste.compute(**sides), stock.compute(**sides)
        assert all(math.isclose(ours[key], theirs[key]) for key in theirs)
        compare(
            f"ASTE, 50,000 sentences, {title}",
            partial(aste.compute, **sides),
            partial(stock.compute, **sides),
        )
    sizes = (5_000, 50_000, 500_000)
    figures = [tuple(map(float, in_new_process("bench_aste", size).split())) for size in sizes]
    for size, (took, grown) in zip(sizes, figures, strict=True):
        print(f"ASTE, {size:,} sentences: {took:.3f} s, peak memory grows by {grown:.0f} MiB")
    decades = math.log10(sizes[-1] / sizes[0])
    print(f"ASTE, time grows with exponent {math.log10(figures[-1][0] / figures[0][0]) / decades:.2f}")


if __name__ == "__main__":
    growth(int(sys.argv[1])) if len(sys.argv) > 1 else main()
