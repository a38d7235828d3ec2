"""PropSegmEnt against a straightforward metric that loops over sentences, and hard input, in one run."""

from __future__ import annotations

import random
from typing import Any

from benchmarks.stock_propsegment import StockPropsegment
from benchmarks.timing import compare, load, seconds

# As in the benchmark: half the sentences have up to three propositions, the mean is four, with ten tokens in two runs.
_N_PROPOSITIONS = (1, 2, 2, 2, 3, 3, 4, 5, 7, 10)


def sentences(n: int, seed: int = 0) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Made-up predictions and references of a shape like the benchmark's."""
    rng = random.Random(seed)
    predictions, references = [], []

    def runs(n_tokens: int) -> list[int]:
        tokens: set[int] = set()
        for _ in range(rng.choice((1, 2, 2, 3))):
            start = rng.randrange(n_tokens)
            tokens |= set(range(start, min(start + rng.randint(2, 10), n_tokens)))
        return sorted(tokens)

    for i in range(n):
        n_tokens = rng.randint(18, 40)
        gold = [runs(n_tokens) for _ in range(rng.choice(_N_PROPOSITIONS))]
        predicted = []
        for proposition in gold:
            if rng.random() < 0.2:
                continue
            changed = set(proposition)
            if rng.random() < 0.5:
                changed ^= set(rng.sample(range(n_tokens), rng.randint(1, 2)))
            predicted.append(sorted(changed) or proposition)
        rng.shuffle(predicted)
        predictions.append({"id": str(i), "propositions": predicted})
        references.append({"id": str(i), "propositions": gold})
    return predictions, references


def overlapping(n: int, seed: int = 0) -> list[list[int]]:
    """Propositions of one sentence that all share a token."""
    rng = random.Random(seed)
    return [[0, *rng.sample(range(1, 60), rng.randint(2, 12))] for _ in range(n)]


def main() -> None:
    """Print the ratio, and how long hard input takes."""
    predictions, references = sentences(20_000)
    metric, stock = load("propsegment"), StockPropsegment()
    ours = metric.compute(predictions=predictions, references=references)
    theirs = stock.compute(predictions=predictions, references=references)
    if abs(ours["f1"] - theirs["f1"]) > 1e-9 or ours.keys() != theirs.keys() or ours["micro"] != theirs["micro"]:
        raise SystemExit(f"the two differ: {ours} and {theirs}")
    compare(
        "propsegment, 20,000 sentences",
        lambda: metric.compute(predictions=predictions, references=references),
        lambda: stock.compute(predictions=predictions, references=references),
    )
    left, right = overlapping(2_000), overlapping(2_000, seed=1)
    for alignment in ("total", "threshold"):
        taken = seconds(lambda: metric.compute(predictions=[left], references=[right], alignment=alignment))  # noqa: B023
        print(f"propsegment, 2,000 by 2,000 overlapping propositions, alignment {alignment}: {taken:.1f} s")
    predictions, references = sentences(100_000)
    taken = seconds(lambda: metric.compute(predictions=predictions, references=references))
    print(f"propsegment, 100,000 sentences: {taken:.1f} s")
    labels = random.Random(0).choices(["entail", "neutral", "contradict"], k=1_000_000)
    entailment = load("propsegment", "entailment")
    taken = seconds(lambda: entailment.compute(predictions=labels, references=labels[::-1]))
    print(f"propsegment, 1,000,000 labels: {taken:.1f} s")


if __name__ == "__main__":
    main()
