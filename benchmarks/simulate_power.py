"""How often a paired test shows a true difference that equals the detectable difference, on real documents.

Usage: python -m benchmarks.simulate_power DATA [N_CORPORA] [CASE ...]

DATA is as for ``simulate_coverage``. The documents of a test set are the population. A corpus is some of them, drawn
with replacement. The second system of a pair is made better on some documents of the population, whose outputs become
gold. There are so many of these that the true difference is the detectable one. The share of p-values up to 0.05, by
randomisation, should be 80 %.

A pair is two imperfect copies of gold with different seeds (``independent``), or a system and its revision, which is
equal but for the corrected documents (``revision``). The detectable difference is that of ``compare_systems`` (of both
systems), or that beside an interval (of the first alone).
"""

from __future__ import annotations

import ast
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import vstack
from spanscore.metrics.resampling import Statistics

from benchmarks.simulate_coverage import ALPHA, LEVEL, N_RESAMPLES, SIZES, from_sums, perturbed
from benchmarks.timing import load
from spanscore.metrics import resampling

N_CORPORA = 1000


class Population(NamedTuple):
    """The documents of a test set.

    Attributes
    ----------
    statistics : Statistics
        Of imperfect systems, and of the gold annotations last. Groups are added up.
    score : str
        The headline score.
    """

    statistics: Statistics
    score: str

    @classmethod
    def of(cls, statistics: Statistics, score: str) -> Population:
        tables = [statistics.units(system) for system in range(len(statistics.tables))]
        return cls(statistics._replace(tables=tables, groups=None, ids=list(range(tables[0].shape[0]))), score)

    @property
    def at(self) -> int:
        """The number of the score."""
        return self.statistics.names.index(self.score)

    def pair(self, base: int, corrected: np.ndarray) -> Statistics:
        """The first system, and another one with some corrected documents."""
        first, *_, gold = self.statistics.tables
        both = [self.statistics.tables[base], gold]
        joined = np.concatenate(both) if isinstance(gold, np.ndarray) else vstack(both, format="csr")
        rows = np.arange(first.shape[0])
        rows[corrected] += first.shape[0]
        return self.statistics._replace(tables=[first, joined[rows]])

    def difference(self, pair: Statistics) -> float:
        return float((pair.observed(1) - pair.observed(0))[self.at])


def triplets(text: str) -> list[Any]:
    return [ast.literal_eval(line.split("####")[1]) for line in text.splitlines()]


def aste(data: Path, name: str) -> Population:
    path = data / "aste" / "v2" / name / "test_triplets.txt"
    gold = triplets(path.read_text("utf-8"))
    systems = [triplets(perturbed(data, "aste", path, seed)) for seed in (1, 2)]
    return Population.of(load("aste").statistics(predictions=[*systems, gold], references=gold), "f1")


def segmentation(data: Path, name: str) -> Population:
    path = data / "propsegment" / f"propositions.{name}.json"
    entries = json.loads(path.read_text("utf-8"))
    answers = [[r for r in entry["segmentation_responses"] if r["is_reference_response"]] for entry in entries]
    references = [entry for entry, answer in zip(entries, answers, strict=True) if answer]
    gold = [[p["token_indices"] for p in answer[0]["propositions"]] for answer in answers if answer]
    systems = [json.loads(perturbed(data, "propsegment", path, seed)) for seed in (1, 2)]
    metric = load("propsegment", "segmentation")
    return Population.of(metric.statistics(predictions=[*systems, gold], references=references), "f1")


def docred(data: Path, name: str) -> Population:
    path = data / "docred" / "test_revised.json"
    documents = json.loads(path.read_text("utf-8"))
    systems = [json.loads(perturbed(data, "docred", path, seed)) for seed in (1, 2)]
    gold = [
        {"title": document["title"], "h_idx": label["h"], "t_idx": label["t"], "r": label["r"]}
        for document in documents
        for label in document["labels"]
    ]
    return Population.of(load("docred").statistics(predictions=[*systems, gold], references=documents), "f1")


def sentivent(data: Path, name: str) -> Population:
    """1,000 invented documents; one system."""
    sides = json.loads(perturbed(data, "sentivent-hard", 1000, 1))
    gold = sides["references"]
    found = load("sentivent").statistics(predictions=[sides["predictions"], gold], references=gold)
    return Population.of(found, "sentivent_score")


CASES: dict[str, Callable[[Path, str], Population]] = {
    "aste 14lap": aste,
    "aste 14res": aste,
    "segmentation test": segmentation,
    "docred": docred,
    "sentivent": sentivent,
}


def of_both(pair: Statistics, at: int, n_resamples: int, seed: int) -> tuple[float, bool]:
    """The detectable difference of two systems, and whether the test shows a difference."""
    found = resampling.paired_test(pair, "randomisation", n_resamples, seed, LEVEL)
    return found.detectable_difference[at] or np.nan, bool(found.p_value[at] <= ALPHA)


def of_first(pair: Statistics, at: int, n_resamples: int, seed: int) -> float:
    """The detectable difference beside the interval of the first system."""
    return list(resampling.uncertainty(pair, LEVEL, n_resamples, seed).detectable_differences.values())[at] or np.nan


def pair_of_difference(population: Population, base: int, n: int, from_both: bool) -> Statistics:
    """A pair of which the true difference is the detectable one of `n` documents."""
    n_units = population.statistics.tables[0].shape[0]
    order = np.random.default_rng(1).permutation(n_units)
    low, high = 0, n_units
    while low < high:
        middle = (low + high) // 2
        pair = population.pair(base, order[:middle])
        whole = of_both(pair, population.at, N_RESAMPLES, 0)[0] if from_both else of_first(pair, population.at, 4000, 0)
        # Without any corrected document, a revision has no detectable difference.
        is_less = not population.difference(pair) >= whole * (n_units / n) ** 0.5
        low, high = (middle + 1, high) if is_less else (low, middle)
    return population.pair(base, order[:low])


def power(population: Population, base: int, n: int, from_both: bool, n_corpora: int) -> str:
    """The share of tests that show the difference, and the detectable differences that the corpora give."""
    pair = pair_of_difference(population, base, n, from_both)
    true, case, rng = population.difference(pair), from_sums(pair), np.random.default_rng(n)
    shown, detectable = [], []
    for seed in range(n_corpora):
        corpus = case.draw(rng.integers(0, case.n_units, n), 2)
        found, is_shown = of_both(corpus, population.at, N_RESAMPLES, seed)
        shown.append(is_shown)
        detectable.append(found if from_both else of_first(corpus, population.at, N_RESAMPLES, seed))
    low, high = np.nanquantile(detectable, [0.05, 0.95])
    return (
        f"{100 * np.mean(shown):.1f} % shown of a difference of {true:.4g}; detectable by the corpora "
        f"{np.nanmean(detectable):.4g} (90 % of them {low:.4g} to {high:.4g})"
    )


def correlation(population: Population) -> float:
    """The correlation between the resampled scores of the first two systems."""
    scores = [
        np.concatenate(
            [scorer(weights @ table)[:, population.at] for weights in resampling.draws(table, 4 * N_RESAMPLES, 0)]
        )
        for system, table in enumerate(population.statistics.tables[:2])
        for scorer in [population.statistics.scorer(system)]
    ]
    return float(np.corrcoef(scores)[0, 1])


def main() -> None:
    data = Path(sys.argv[1]).resolve()
    n_corpora = int(sys.argv[2]) if len(sys.argv) > 2 else N_CORPORA
    for name in sys.argv[3:] or CASES:
        start = time.perf_counter()
        population = CASES[name](data, name.split()[-1])
        bases = {"independent": 1, "revision": 0} if len(population.statistics.tables) > 2 else {"revision": 0}
        n_units = population.statistics.tables[0].shape[0]
        print(f"{name} {population.score}: {n_units:,} documents, {n_corpora:,} corpora, {N_RESAMPLES:,} resamples")
        if "independent" in bases:
            print(f"{name}: correlation of independent systems {correlation(population):.2f}")
        for kind, base in bases.items():
            for source, from_both in (("of both", True), ("of the first", False)):
                for n in SIZES:
                    found = power(population, base, n, from_both, n_corpora)
                    print(f"{name}, {kind}, {source}, {n}: {found}", flush=True)
        print(f"({time.perf_counter() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
