"""Time and memory of 1,000 resamples: 10,000 documents for scores made of counts, a development set for DocRED."""

from __future__ import annotations

import sys
import tracemalloc
from typing import Any

import numpy as np

from benchmarks.timing import in_new_process, load, seconds
from spanscore.metrics import resampling

N_RESAMPLES = 1000


def aste(rng: np.random.Generator) -> tuple[str, list[Any], list[Any], dict[str, Any]]:
    """10,000 sentences of up to five triplets, of which three in four are found."""
    gold = [[([i], [i + 1], "POS") for i in range(n)] for n in rng.integers(0, 6, 10_000)]
    predicted = [[triplet for triplet in triplets if rng.random() < 0.75] for triplets in gold]
    return "aste", predicted, gold, {}


def sentivent(rng: np.random.Generator) -> tuple[str, list[Any], list[Any], dict[str, Any]]:
    """10,000 short documents of events and expressions with all labels, of which three in four are right."""

    def document(labels: np.ndarray) -> dict[str, Any]:
        event = {"kind": "event", "type": "Deal", "realis": "asserted", "modality": "certain", "negated": False}
        expression = {"kind": "sentiment_expression", "polarity": "positive", "uncertain": False, "negated": False}
        annotations = [
            {"id": f"e{i}", "span": [2 * i], "polarity": "positive" if right else "negative", **event}
            for i, right in enumerate(labels)
        ]
        annotations += [{**expression, "id": f"s{i}", "span": [2 * i + right]} for i, right in enumerate(labels)]
        return {"annotations": annotations}

    gold = [document(np.ones(2, int)) for _ in range(10_000)]
    predicted = [document((rng.random(2) < 0.75).astype(int)) for _ in range(10_000)]
    return "sentivent", predicted, gold, {"include_factuality": True}


def segmentation(rng: np.random.Generator) -> tuple[str, list[Any], list[Any], dict[str, Any]]:
    """10,000 sentences of two propositions, of which three in four are found."""
    gold = [[[0, 1, 2], [3, 4, 5]] for _ in range(10_000)]
    predicted = [[proposition for proposition in sentence if rng.random() < 0.75] for sentence in gold]
    return "propsegment", predicted, gold, {}


def docred(rng: np.random.Generator) -> tuple[str, list[Any], list[Any], dict[str, Any]]:
    """500 documents of 20 entities with dense scores for 96 relations and 35 gold facts each, all scores different."""
    names = [f"P{i}" for i in range(96)]
    gold, predicted = [], []
    for number in range(500):
        n = 20
        pairs = rng.choice(n * (n - 1), 35, replace=False)
        head, tail = np.divmod(pairs, n - 1)
        tail += tail >= head
        relation = rng.integers(0, 96, 35)
        scores = rng.random((n, n, 96)) ** 4
        scores[head, tail, relation] = rng.random(35) ** 0.5
        facts = zip(head.tolist(), tail.tolist(), relation.tolist(), strict=True)
        labels = [{"h": h, "t": t, "r": names[r], "evidence": [0]} for h, t, r in facts]
        entities = [[{"name": f"{number}-{i}", "sent_id": i % 8}] for i in range(n)]
        gold.append({"title": str(number), "vertexSet": entities, "labels": labels})
        predicted.append({"title": str(number), "scores": scores.astype(np.float32)})
    return "docred", predicted, gold, {"relation_names": names, "train": gold[:100]}


CASES = {"aste": aste, "sentivent": sentivent, "propsegment": segmentation, "docred": docred}


def measure(name: str) -> None:
    """Seconds and mebibytes that intervals add to scoring."""
    metric_name, predicted, gold, options = CASES[name](np.random.default_rng(0))
    metric = load(metric_name)
    sides = {"references": gold, **options}
    statistics: list[Any] = []
    build = seconds(lambda: statistics.append(metric.statistics(predictions=[predicted], **sides)))
    table = statistics[0].tables[0]
    found: list[dict[str, Any]] = []
    spent = seconds(lambda: found.append(resampling.uncertainty(statistics[0], 0.95, N_RESAMPLES).intervals))
    # In a run of its own, as it takes time; the process may have needed more before, to read and count.
    tracemalloc.start()
    resampling.uncertainty(statistics[0], 0.95, N_RESAMPLES)
    megabytes = tracemalloc.get_traced_memory()[1] / 2**20
    print(
        f"{name}: {table.shape[0]:,} documents, {np.prod(table.shape[1:]):,} sums each, {len(found[0])} scores: "
        f"{spent:.2f} s and {megabytes:.0f} MiB for {N_RESAMPLES:,} resamples "
        f"(reading and counting took {build:.2f} s)"
    )


def main() -> None:
    if len(sys.argv) > 1:
        measure(sys.argv[1])
        return
    for name in CASES:
        print(in_new_process("bench_intervals", name), end="")


if __name__ == "__main__":
    main()
