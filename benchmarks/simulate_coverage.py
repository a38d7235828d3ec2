"""How often 95 % intervals cover the truth: documents from a stated generator, the truth the F1 of a million of them.

A document has an ease, drawn from Beta(4, 2), and 1 + Poisson(6) gold items. Each gold item is found with a probability
that is the ease; Poisson(1 + 2 (1 - ease)) predicted items are wrong. So errors cluster in documents, as those of real
systems do, and harder documents have both more misses and more spurious items.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from spanscore.metrics.matching import rates_or_whole

from spanscore.metrics import resampling

SIZES = (25, 50, 300, 1000)
LEVEL = 0.95
N_CORPORA, N_RESAMPLES = 2000, 1000


def documents(rng: np.random.Generator, n: int) -> np.ndarray:
    """True positives, predicted and gold of n documents."""
    ease = rng.beta(4, 2, n)
    gold = 1 + rng.poisson(6, n)
    right = rng.binomial(gold, ease)
    return np.stack([right, right + rng.poisson(1 + 2 * (1 - ease)), gold], axis=-1)


def f1(sums: np.ndarray, whole: np.ndarray) -> np.ndarray:
    f1: np.ndarray = rates_or_whole(whole, sums)[:, 2:]
    return f1


def coverage(n: int, truth: float, n_corpora: int, n_resamples: int) -> dict[str, tuple[float, float]]:
    """Of each method, the share of intervals that cover the truth, and their mean width."""
    rng = np.random.default_rng(n)
    found = {}
    corpora = [documents(rng, n) for _ in range(n_corpora)]
    for method in ("percentile", "bca"):
        ends = []
        for seed, corpus in enumerate(corpora):
            statistics = resampling.Statistics(["f1"], [corpus], f1, [])
            ends.append(resampling.intervals(statistics, LEVEL, n_resamples, seed, method)["f1"])
        low, high = np.array(ends).T
        found[method] = (float(((low <= truth) & (truth <= high)).mean()), float((high - low).mean()))
    return found


def main() -> None:
    n_corpora, n_resamples = (
        (int(argument) for argument in sys.argv[1:3])
        if len(sys.argv) > 2
        else (
            N_CORPORA,
            N_RESAMPLES,
        )
    )
    sums = documents(np.random.default_rng(0), 1_000_000).sum(axis=0)[None]
    truth = float(f1(sums, sums[0])[0, 0])
    print(f"F1 of a million documents: {truth:.2f}; {n_corpora:,} corpora of each size, {n_resamples:,} resamples")
    print("documents  method      covers  mean width")
    for n in SIZES:
        start = time.perf_counter()
        for method, (share, width) in coverage(n, truth, n_corpora, n_resamples).items():
            print(f"{n:9,}  {method:<10}  {100 * share:5.1f}%  {width:10.2f}")
        print(f"{'':9}  ({time.perf_counter() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
