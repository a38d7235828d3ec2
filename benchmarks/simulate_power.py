"""How often a paired test shows a true difference that equals the detectable difference, on real documents.

Usage: python -m benchmarks.simulate_power DATA [N_CORPORA] [CASE ...]

DATA is as for ``simulate_coverage``. The documents of a test set are the population. A corpus is some of them, drawn
with replacement. The second system of a pair is better than the first, by the detectable difference on all documents
of the population. The share of p-values up to 0.05, by randomisation, should be 80 %.

There are two kinds of pairs. The systems of an ``independent`` pair are imperfect copies of gold with different seeds,
and the second has fewer errors. A ``revision`` is equal to the first system but for some documents, which it has right.
The detectable difference is that of ``compare_systems`` (of both systems), or that beside an interval (of the first
alone). A revision is far from the assumption of the latter.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import random
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
# Shares of the errors of the second system that are corrected; denser near 0, where differences are small.
SHARES = np.linspace(0, 1, 41) ** 2
SEEDS = (2, 3, 4)  # of the second system; more seeds give more pairs to choose from
RATES = ("DROP", "ALTER", "INSERT", "REPEAT")


class Case(NamedTuple):
    """Pairs of systems on the documents of a test set.

    Attributes
    ----------
    score : str
        The headline score.
    pairs : dict of str to list of Statistics
        The pairs of each kind. The second system has from as many errors as the first down to none.
    """

    score: str
    pairs: dict[str, list[Statistics]]


def perturb_with(data: Path, benchmark: str, path: Path, seed: int, share: float) -> Any:
    """Imperfect predictions with a share of the usual errors corrected."""
    spec = importlib.util.spec_from_file_location("perturb", data.parent / "tools" / "perturb.py")
    assert spec is not None and spec.loader is not None
    perturb = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(perturb)
    for rate in RATES:
        setattr(perturb, rate, getattr(perturb, rate) * (1 - share))
    return getattr(perturb, benchmark)(str(path), random.Random(seed))


def make_case(metric: Any, score: str, gold: list[Any], references: list[Any], systems: list[Any]) -> Case:
    """The pairs of the first of `systems` and each other one, and of the first and its revisions."""
    first, *others = systems
    pairs: dict[str, list[Statistics]] = {}
    if others:
        pairs["independent"] = [metric.statistics(predictions=[first, one], references=references) for one in others]
    with_gold = metric.statistics(predictions=[first, gold], references=references)
    tables = [with_gold.units(0), with_gold.units(1)]
    n_units = tables[0].shape[0]
    joined = np.concatenate(tables) if isinstance(tables[0], np.ndarray) else vstack(tables, format="csr")
    pairs["revision"] = []
    for seed in SEEDS:
        order = np.random.default_rng(seed).permutation(n_units)
        for share in SHARES:
            rows = np.arange(n_units)
            rows[order[: round(share * n_units)]] += n_units
            pair = with_gold._replace(tables=[tables[0], joined[rows]], groups=None, ids=list(range(n_units)))
            pairs["revision"].append(pair)
    return Case(score, pairs)


def all_systems(data: Path, benchmark: str, path: Path, read: Callable[[Any], Any] = lambda made: made) -> list[Any]:
    """A system, and others with other seeds and fewer and fewer errors."""
    made = [(1, 0.0), *((seed, share) for share in SHARES.tolist() for seed in SEEDS)]
    return [read(perturb_with(data, benchmark, path, seed, share)) for seed, share in made]


def triplets(lines: list[str]) -> list[Any]:
    return [ast.literal_eval(line.split("####")[1]) for line in lines]


def aste(data: Path, name: str) -> Case:
    path = data / "aste" / "v2" / name / "test_triplets.txt"
    gold = triplets(path.read_text("utf-8").splitlines())
    return make_case(load("aste"), "f1", gold, gold, all_systems(data, "aste", path, triplets))


def segmentation(data: Path, name: str) -> Case:
    path = data / "propsegment" / f"propositions.{name}.json"
    entries = json.loads(path.read_text("utf-8"))
    answers = [[r for r in entry["segmentation_responses"] if r["is_reference_response"]] for entry in entries]
    references = [entry for entry, answer in zip(entries, answers, strict=True) if answer]
    gold = [[p["token_indices"] for p in answer[0]["propositions"]] for answer in answers if answer]
    metric = load("propsegment", "segmentation")
    return make_case(metric, "f1", gold, references, all_systems(data, "propsegment", path))


def docred(data: Path, name: str) -> Case:
    path = data / "docred" / "test_revised.json"
    documents = json.loads(path.read_text("utf-8"))
    gold = [
        {"title": document["title"], "h_idx": label["h"], "t_idx": label["t"], "r": label["r"]}
        for document in documents
        for label in document["labels"]
    ]
    return make_case(load("docred"), "f1", gold, documents, all_systems(data, "docred", path))


def sentivent(data: Path, name: str) -> Case:
    """1,000 invented documents; revisions of one system."""
    sides = json.loads(perturbed(data, "sentivent-hard", 1000, 1))
    gold = sides["references"]
    return make_case(load("sentivent"), "sentivent_score", gold, gold, [sides["predictions"]])


CASES: dict[str, Callable[[Path, str], Case]] = {
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


def n_units(pair: Statistics) -> int:
    return len(pair.ids) if pair.groups is None else len(np.unique(pair.groups))


def difference(pair: Statistics, at: int) -> float:
    return float((pair.observed(1) - pair.observed(0))[at])


def choose_pair(pairs: list[Statistics], at: int, n: int, from_both: bool) -> Statistics:
    """The pair of which the true difference is next to the detectable one of `n` documents."""

    def distance(pair: Statistics) -> float:
        found = of_both(pair, at, N_RESAMPLES, 0)[0] if from_both else of_first(pair, at, N_RESAMPLES, 0)
        wanted = found * (n_units(pair) / n) ** 0.5
        return abs(difference(pair, at) / wanted - 1) if wanted > 0 else np.inf

    return min(pairs, key=distance)


def power(pair: Statistics, at: int, n: int, from_both: bool, n_corpora: int) -> str:
    """The share of tests that show the difference, and the detectable differences that the corpora give."""
    case, rng = from_sums(pair), np.random.default_rng(n)
    shown, detectable = [], []
    for seed in range(n_corpora):
        corpus = case.draw(rng.integers(0, case.n_units, n), 2)
        found, is_shown = of_both(corpus, at, N_RESAMPLES, seed)
        shown.append(is_shown)
        detectable.append(found if from_both else of_first(corpus, at, N_RESAMPLES, seed))
    low, high = np.nanquantile(detectable, [0.05, 0.95])
    return (
        f"{100 * np.mean(shown):.1f} % shown of a difference of {difference(pair, at):.3g}, detectable by the corpora: "
        f"{np.nanmean(detectable):.3g} (90 % of them {low:.3g} to {high:.3g})"
    )


def correlation(pair: Statistics, at: int) -> float:
    """The correlation between the resampled scores of two systems."""
    tables, scorers = [pair.units(0), pair.units(1)], [pair.scorer(0), pair.scorer(1)]
    scores = [
        np.concatenate([scorer(w @ table)[:, at] for w in resampling.draws(table, 4 * N_RESAMPLES, 0)])
        for table, scorer in zip(tables, scorers, strict=True)
    ]
    return float(np.corrcoef(scores)[0, 1])


def main() -> None:
    data = Path(sys.argv[1]).resolve()
    n_corpora = int(sys.argv[2]) if len(sys.argv) > 2 else N_CORPORA
    for name in sys.argv[3:] or CASES:
        start = time.perf_counter()
        case = CASES[name](data, name.split()[-1])
        for kind, pairs in case.pairs.items():
            at = pairs[0].names.index(case.score)
            print(f"{name} {case.score}, {kind}: {n_units(pairs[0]):,} documents, {n_corpora:,} corpora of each size")
            if kind == "independent":
                # The first pairs are those of equally many errors.
                found = ", ".join(f"{correlation(pair, at):.2f}" for pair in pairs[: len(SEEDS)])
                print(f"{name}, {kind}: correlations {found}")
            for source, from_both in (("of both", True), ("of the first", False)):
                for n in SIZES:
                    pair = choose_pair(pairs, at, n, from_both)
                    print(f"{name}, {kind}, {source}, {n}: {power(pair, at, n, from_both, n_corpora)}", flush=True)
        print(f"({time.perf_counter() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
