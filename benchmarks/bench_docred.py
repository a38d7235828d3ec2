"""Speed and memory of the DocRED metric against plain loops that do the same work, in one run, warmed up.

* Facts: 5,000 documents, against one pass over the same objects in memory with sets and dicts, as the benchmark's
  script does it: precision, recall, F1, Ign F1 and evidence. Ours gives all breakdowns and areas besides.
* Linearity: the same with 2,500 documents.
* Dense scores: 500 documents, 19 million numbers, against ranking a Python list of all candidates, as the benchmark's
  code does it, with the growth of peak memory of both.
* The stock path of ``evaluate`` for the facts of 1,000 documents: a plain ``evaluate.Metric`` with the loop above,
  which is given canonical records.
"""

from __future__ import annotations

import random
import sys
from typing import Any

import datasets
import evaluate
import numpy as np

from benchmarks.timing import compare, in_new_process, load, peak_growth, seconds

RELATIONS = [f"P{number}" for number in range(96)]


def corpus(n_documents: int, seed: int = 1) -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[list[str]]]:
    """Documents, predicted facts and training facts of the size of Re-DocRED's test set: 20 entities, 35 facts."""
    rng = random.Random(seed)
    documents, facts = [], []
    for number in range(n_documents):
        title, n = f"document {number}", rng.randint(12, 28)
        entities = [
            [{"name": f"name {rng.randrange(20000)}", "sent_id": rng.randrange(8), "pos": [0, 2], "type": "ORG"}]
            * rng.choice((1, 1, 1, 2, 3))
            for _ in range(n)
        ]
        labels = []
        for _ in range(35):
            head, tail = rng.sample(range(n), 2)
            relation, evidence = rng.choice(RELATIONS), rng.sample(range(8), rng.randrange(3))
            labels.append({"r": relation, "h": head, "t": tail, "evidence": evidence})
            if rng.random() < 0.25:
                relation = rng.choice(RELATIONS)
            facts.append({"title": title, "h_idx": head, "t_idx": tail, "r": relation, "evidence": evidence})
        documents.append({"title": title, "vertexSet": entities, "labels": labels, "sents": [["a", "b"]] * 8})
    rng.shuffle(facts)
    train = [
        [f"name {rng.randrange(20000)}", f"name {rng.randrange(20000)}", rng.choice(RELATIONS)] for _ in range(90000)
    ]
    return documents, facts, train


def plain_loop(
    documents: list[dict[str, Any]], facts: list[dict[str, Any]], train: set[tuple[Any, ...]]
) -> dict[str, float]:
    """The benchmark's figures, one fact at a time."""
    gold: dict[tuple[Any, ...], set[Any]] = {}
    entities_of, gold_sentences = {}, 0
    for document in documents:
        entities_of[document["title"]] = document["vertexSet"]
        for label in document["labels"]:
            gold[document["title"], label["h"], label["t"], label["r"]] = set(label["evidence"])
            gold_sentences += len(label["evidence"])
    different: dict[tuple[Any, ...], dict[str, Any]] = {}
    for fact in facts:
        different.setdefault((fact["title"], fact["h_idx"], fact["t_idx"], fact["r"]), fact)
    correct = seen = sentences = right_sentences = 0
    for key, fact in different.items():
        entities = entities_of.get(key[0])
        if entities is None:
            continue
        evidence = set(fact.get("evidence", ()))
        sentences += len(evidence)
        if key in gold:
            correct += 1
            right_sentences += len(evidence & gold[key])
            seen += any(
                (head["name"], tail["name"], key[3]) in train for head in entities[key[1]] for tail in entities[key[2]]
            )
    n, recall = len(different), correct / len(gold)
    precision, ign = correct / n, (correct - seen) / (n - seen)
    return {
        "f1": 200 * precision * recall / (precision + recall),
        "ign_f1": 200 * ign * recall / (ign + recall),
        "evidence": 200 * right_sentences / (sentences + gold_sentences),
    }


def facts_against_loop() -> None:
    documents, facts, train = corpus(5000)
    metric, known = load("docred"), set(map(tuple, train))
    options = {"train_facts": train}

    def ours() -> Any:
        return metric.compute(predictions=facts, references=documents, **options)

    result, figures = ours(), plain_loop(documents, facts, known)
    assert abs(result["f1"] - figures["f1"]) < 1e-9
    assert abs(result["ign_f1"] - figures["ign_f1"]) < 1e-9
    assert abs(result["evidence"]["f1"] - figures["evidence"]) < 1e-9

    def loop() -> Any:
        return plain_loop(documents, facts, set(map(tuple, train)))

    compare(f"facts of {len(documents):,} documents, against the script's loop", ours, loop)
    half = documents[: len(documents) // 2]
    titles = {document["title"] for document in half}
    some = [fact for fact in facts if fact["title"] in titles]

    def halved() -> Any:
        return metric.compute(predictions=some, references=half, **options)

    compare("twice the documents", halved, ours)


class StockMetric(evaluate.Metric):  # type: ignore[misc]  # evaluate has no types
    """What one writes without further thought: features are declared, and ``_compute`` loops."""

    def _info(self) -> evaluate.MetricInfo:
        text, index = datasets.Value("string"), datasets.Value("int32")
        fact = {"title": text, "h_idx": index, "t_idx": index, "r": text, "evidence": [index]}
        document = {
            "title": text,
            "vertexSet": [[{"name": text, "sent_id": index}]],
            "labels": [{"h": index, "t": index, "r": text, "evidence": [index]}],
        }
        prediction = {"title": text, "relations": [{key: value for key, value in fact.items() if key != "title"}]}
        features = datasets.Features({"predictions": prediction, "references": document})
        return evaluate.MetricInfo(description="", citation="", features=features)

    def _compute(
        self, predictions: list[Any], references: list[Any], train: set[Any] | None = None
    ) -> dict[str, float]:
        facts = [{"title": p["title"], **fact} for p in predictions for fact in p["relations"]]
        return plain_loop(references, facts, train or set())


def facts_against_stock() -> None:
    documents, facts, train = corpus(1000)
    by_title: dict[str, list[Any]] = {document["title"]: [] for document in documents}
    for fact in facts:
        by_title[fact["title"]].append({key: value for key, value in fact.items() if key != "title"})
    predictions = [{"title": title, "relations": relations} for title, relations in by_title.items()]
    references = [
        {
            "title": document["title"],
            "vertexSet": [
                [{"name": mention["name"], "sent_id": mention["sent_id"]} for mention in entity]
                for entity in document["vertexSet"]
            ],
            "labels": document["labels"],
        }
        for document in documents
    ]
    metric, stock = load("docred"), StockMetric()

    def ours() -> Any:
        return metric.compute(predictions=predictions, references=references, train_facts=train)

    def theirs() -> Any:
        return stock.compute(predictions=predictions, references=references, train=set(map(tuple, train)))

    assert abs(ours()["ign_f1"] - theirs()["ign_f1"]) < 1e-9
    compare(f"facts of {len(documents):,} documents, against evaluate's stock path", ours, theirs)


def dense_corpus(dtype: str = "float32") -> tuple[list[dict[str, Any]], list[dict[str, Any]], list[str | None]]:
    """Scores like a model's: most pairs low, gold facts higher; the first column is no relation."""
    rng = np.random.default_rng(1)
    documents, _, _ = corpus(500)
    predictions = []
    for document in documents:
        n = len(document["vertexSet"])
        scores = rng.normal(-3, 2, (n * (n - 1), 97)).astype(dtype)
        for label in document["labels"]:
            pair = label["h"] * (n - 1) + label["t"] - (label["t"] > label["h"])
            scores[pair, 1 + RELATIONS.index(label["r"])] += 5
        predictions.append({"title": document["title"], "scores": scores})
    return documents, predictions, [None, *RELATIONS]


def plain_ranking(
    documents: list[dict[str, Any]], predictions: list[dict[str, Any]], names: list[str | None]
) -> tuple[float, float]:
    """Best F1 and the area under precision over recall, of a sorted list of all candidates."""
    listed: list[tuple[bool, float]] = []
    n_gold = 0
    for document, prediction in zip(documents, predictions, strict=True):
        gold = {(label["h"], label["t"], label["r"]) for label in document["labels"]}
        n_gold += len(gold)
        n, pair = len(document["vertexSet"]), 0
        for head in range(n):
            for tail in range(n):
                if head == tail:
                    continue
                scores = prediction["scores"][pair]
                listed += [
                    ((head, tail, name) in gold, float(score))
                    for name, score in zip(names[1:], scores[1:], strict=True)
                ]
                pair += 1
    listed.sort(key=lambda item: item[1], reverse=True)
    correct, recall, precision = 0, [], []
    for position, (right, _) in enumerate(listed, start=1):
        correct += right
        recall.append(correct / n_gold)
        precision.append(correct / position)
    x, y = np.asarray(recall), np.asarray(precision)
    best = 200 * (x * y / np.maximum(x + y, 1e-20)).max()
    return float(best), float((np.diff(x) * (y[1:] + y[:-1]) / 2).sum())


def dense_memory(which: str, dtype: str) -> None:
    documents, predictions, names = dense_corpus(dtype)
    metric = load("docred")
    small = [dict(item) for item in predictions[:2]]
    metric.compute(predictions=small, references=documents[:2], relation_names=names)
    if which == "ours":
        print(peak_growth(lambda: metric.compute(predictions=predictions, references=documents, relation_names=names)))
    else:
        print(peak_growth(lambda: plain_ranking(documents, predictions, names)))


def dense_against_list() -> None:
    # First, since a new process starts at the peak of the one it comes from.
    grown = {dtype: float(in_new_process("bench_docred", "ours", dtype)) for dtype in ("float32", "float64")}
    listed = float(in_new_process("bench_docred", "list", "float32"))
    documents, predictions, names = dense_corpus()
    metric = load("docred")
    n_numbers = sum(item["scores"].size for item in predictions)

    def ours() -> Any:
        return metric.compute(predictions=predictions, references=documents, relation_names=names)

    result = ours()
    # Once: it takes minutes.
    figures: list[tuple[float, float]] = []
    theirs = seconds(lambda: figures.append(plain_ranking(documents, predictions, names)))
    assert abs(result["best_f1"] - figures[0][0]) < 1e-9
    assert abs(result["pr_auc"] - figures[0][1]) < 1e-4  # ties are steps here, and in the order of the list there
    own = sorted(seconds(ours) for _ in range(3))[1]
    print(f"{n_numbers:,} dense scores: {own:.3f} s, a ranked list {theirs:.3f} s, ratio {theirs / own:.0f}")
    print(f"  the list's peak memory grows by {listed:.0f} MiB")
    for dtype, growth in grown.items():
        print(f"  ours by {growth:.0f} MiB with {dtype}, {growth / listed:.3f} of that")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        dense_memory(*sys.argv[1:])
    else:
        dense_against_list()
        facts_against_loop()
        facts_against_stock()
