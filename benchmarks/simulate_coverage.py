"""How often 95 % intervals cover the truth, and how often tests find a difference that is not there, on real documents.

Usage: python -m benchmarks.simulate_coverage DATA [N_CORPORA] [CASE ...]

DATA is the folder of the benchmarks' files. Beside it, ``tools/perturb.py`` makes imperfect predictions from gold.
The documents of a test set are the population, and the score of all of them is the truth. A corpus is some of them,
drawn with replacement. Sentences of PropSegmEnt are drawn by document, and entailment by pairs.

Coverage is the share of corpora of which the interval contains the truth. For the level of a test, each document of a
corpus swaps the outputs of two systems with probability one half. So neither system is better, and the share of
p-values up to 0.05 should be 0.05.
"""

from __future__ import annotations

import ast
import json
import random
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import vstack
from spanscore.metrics.resampling import Statistics

from benchmarks.timing import load
from spanscore.metrics import resampling

SIZES = (50, 100, 300)
LEVEL, ALPHA = 0.95, 0.05
N_CORPORA, N_RESAMPLES = 1000, 1000
METHODS = ("percentile", "bca")


class Case(NamedTuple):
    """A population of documents, with the predictions of two systems.

    Attributes
    ----------
    n_units : int
        Number of documents.
    draw : callable
        From indices of documents, which may repeat, and the number of systems, to their statistics.
    slow : bool
        Whether `draw` counts anew, since the metric makes choices from the data. Such a case has one fourth of the
        corpora, and no level of tests.
    """

    n_units: int
    draw: Callable[[np.ndarray, int], Statistics]
    slow: bool = False


def from_sums(statistics: Statistics) -> Case:
    """A case of which the sums of each document are known."""
    groups = np.arange(len(statistics.ids)) if statistics.groups is None else statistics.groups
    groups = np.unique(groups, return_inverse=True)[1]
    members = [np.flatnonzero(groups == group) for group in range(groups.max() + 1)]

    def draw(units: np.ndarray, n_systems: int) -> Statistics:
        rows = np.concatenate([members[unit] for unit in units])
        of_row = np.repeat(np.arange(len(units)), [len(members[unit]) for unit in units])
        return statistics._replace(
            tables=[table[rows] for table in statistics.tables], groups=of_row, ids=rows.tolist()
        )

    return Case(len(members), draw)


def perturbed(data: Path, benchmark: str, source: object, seed: int) -> str:
    """Imperfect predictions, as text."""
    command = [sys.executable, str(data.parent / "tools" / "perturb.py"), benchmark, str(source), str(seed)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def aste(data: Path, name: str) -> Case:
    path = data / "aste" / "v2" / name / "test_triplets.txt"

    def triplets(text: str) -> list[Any]:
        return [ast.literal_eval(line.split("####")[1]) for line in text.splitlines()]

    systems = [triplets(perturbed(data, "aste", path, seed)) for seed in (1, 2)]
    return from_sums(load("aste").statistics(predictions=systems, references=triplets(path.read_text("utf-8"))))


def docred(data: Path, name: str) -> Case:
    path = data / "docred" / "test_revised.json"
    documents = json.loads(path.read_text("utf-8"))
    train = json.loads((data / "docred" / "dev_revised.json").read_text("utf-8"))[:100]
    systems = []
    for seed in (1, 2):
        facts: dict[str, list[Any]] = defaultdict(list)
        for fact in json.loads(perturbed(data, "docred-scores", path, seed)):
            # Rounded scores have fewer ranks, which makes resampling faster.
            facts[fact["title"]].append({**fact, "score": round(fact["score"], 2)})
        systems.append(facts)
    metric = load("docred")

    def draw(units: np.ndarray, n_systems: int) -> Statistics:
        references = [{**documents[unit], "title": str(at)} for at, unit in enumerate(units)]
        predictions = [
            [
                {"title": str(at), "relations": [{k: v for k, v in fact.items() if k != "title"} for fact in facts]}
                for at, facts in enumerate(system[documents[unit]["title"]] for unit in units)
            ]
            for system in systems[:n_systems]
        ]
        found: Statistics = metric.statistics(predictions=predictions, references=references, train=train)
        return found

    return Case(len(documents), draw, slow=True)


def segmentation(data: Path, name: str) -> Case:
    path = data / "propsegment" / f"propositions.{name}.json"
    entries = [
        entry
        for entry in json.loads(path.read_text("utf-8"))
        if any(response["is_reference_response"] for response in entry["segmentation_responses"])
    ]
    systems = [json.loads(perturbed(data, "propsegment", path, seed)) for seed in (1, 2)]
    return from_sums(load("propsegment", "segmentation").statistics(predictions=systems, references=entries))


_RELATIONS = {
    "RELATIONSHIP_ENTAILS": "entail",
    "RELATIONSHIP_NEITHER_ENTAILS_NOR_CONTRADICTS": "neutral",
    "RELATIONSHIP_CONTRADICTS": "contradict",
}


def entailment(data: Path, name: str) -> Case:
    """Pairs with a label that most annotators give; two systems that give one pair in five a random label."""
    gold = []
    for entry in json.loads((data / "propsegment" / "relationships.dev.json").read_text("utf-8")):
        given = [response["relationship"] for response in entry["relationship_responses"]]
        label, n = Counter(given).most_common(1)[0]
        if 2 * n > len(given) and label in _RELATIONS:
            gold.append(_RELATIONS[label])
    systems = []
    for seed in (1, 2):
        rng = random.Random(seed)
        systems.append([rng.choice(sorted(set(gold))) if rng.random() < 0.2 else label for label in gold])
    return from_sums(load("propsegment", "entailment").statistics(predictions=systems, references=gold))


def sentivent(data: Path, name: str) -> Case:
    """1,000 invented documents with null labels, repeated items and empty documents; one system."""
    sides = json.loads(perturbed(data, "sentivent-hard", 1000, 1))
    return from_sums(
        load("sentivent").statistics(
            predictions=[sides["predictions"]], references=sides["references"], include_factuality=True
        )
    )


CASES: dict[str, Callable[[Path, str], Case]] = {
    "aste 14lap": aste,
    "aste 14res": aste,
    "docred": docred,
    "segmentation dev": segmentation,
    "segmentation test": segmentation,
    "entailment": entailment,
    "sentivent": sentivent,
}


def coverage(case: Case, truth: np.ndarray, n: int, n_corpora: int) -> dict[str, np.ndarray]:
    """Of each method and headline score, the share of intervals that cover the truth."""
    rng = np.random.default_rng(n)
    found: dict[str, list[np.ndarray]] = {method: [] for method in METHODS}
    for seed in range(n_corpora):
        statistics = case.draw(rng.integers(0, case.n_units, n), 1)
        for method in METHODS:
            intervals = resampling.uncertainty(statistics, LEVEL, N_RESAMPLES, seed, method).intervals
            low, high = np.array([intervals[name] for name in statistics.names]).T
            found[method].append((low <= truth) & (truth <= high))
    return {method: np.mean(covered, axis=0) for method, covered in found.items()}


def level(case: Case, n: int, n_corpora: int) -> dict[str, np.ndarray]:
    """Of each test and headline score, the share of p-values up to 0.05 between two systems of which none is better."""
    rng = np.random.default_rng(n)
    found: dict[str, list[np.ndarray]] = {"randomisation": [], "bootstrap": []}
    for seed in range(n_corpora):
        statistics = case.draw(rng.integers(0, case.n_units, n), 2)
        both = statistics.tables
        n_rows = both[0].shape[0]
        groups = np.arange(n_rows) if statistics.groups is None else statistics.groups
        swap = rng.integers(0, 2, n)[groups] * n_rows
        joined = np.concatenate(both) if isinstance(both[0], np.ndarray) else vstack(both, format="csr")
        swapped = [joined[(np.arange(n_rows) + shift) % (2 * n_rows)] for shift in (swap, swap + n_rows)]
        null = statistics._replace(tables=swapped)
        for method, rejected in found.items():
            rejected.append(resampling.paired_test(null, method, N_RESAMPLES, seed).p_value <= ALPHA)
    return {method: np.mean(rejected, axis=0) for method, rejected in found.items()}


def show(title: str, names: list[str], n: int, shares: dict[str, np.ndarray]) -> None:
    for method, values in shares.items():
        row = "  ".join(f"{name} {100 * value:.1f}" for name, value in zip(names, values, strict=True))
        print(f"{title}, {n}, {method}: {row}", flush=True)


def main() -> None:
    data = Path(sys.argv[1]).resolve()
    n_corpora = int(sys.argv[2]) if len(sys.argv) > 2 else N_CORPORA
    for name in sys.argv[3:] or CASES:
        start = time.perf_counter()
        case = CASES[name](data, name.split()[-1])
        everything = case.draw(np.arange(case.n_units), 2)
        truth = everything.observed(0)
        n_here = n_corpora // 4 if case.slow else n_corpora
        print(f"{name}: {case.n_units:,} documents, {n_here:,} corpora of each size, {N_RESAMPLES:,} resamples")
        for n in SIZES:
            show(name, everything.names, n, coverage(case, truth, n, n_here))
        if len(everything.tables) > 1 and not case.slow:
            show(f"{name}, level", everything.names, SIZES[0], level(case, SIZES[0], 4 * n_here))
        print(f"({time.perf_counter() - start:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
