"""SENTiVENT against a stock `evaluate.Metric` that loops over documents; many small documents; a dense one."""

from __future__ import annotations

import copy
import random
from collections import Counter
from functools import partial
from typing import Any, NamedTuple

import datasets
import evaluate
import numpy as np
from scipy.optimize import linear_sum_assignment

from benchmarks.timing import compare, load, seconds

POLARITIES = ["positive", "negative", "neutral"]
SUPPORTS = {
    "event_trigger": 5256,
    "event_argument": 11492,
    "sentiment_expression": 3341,
    "sentiment_target": 3933,
    "event_sentiment_link": 77,
    "event_scoped_polarity": 5256,
    "event_realis": 5256,
    "event_modality": 5256,
    "event_negated": 5256,
    "sentiment_scoped_polarity": 3341,
    "sentiment_uncertain": 3341,
    "sentiment_negated": 3341,
}


# --- documents --------------------------------------------------------------------------------------------------------


def annotation(**fields: Any) -> dict[str, Any]:
    """An annotation with all keys, as stock features want them."""
    names = ("type", "subtype", "polarity", "scoped_polarity", "realis", "modality", "negated", "uncertain")
    return {**dict.fromkeys(names), "arguments": [], "targets": [], **fields}


class Size(NamedTuple):
    """How much there is in a document."""

    tokens: int
    participants: int
    events: int
    expressions: int
    arguments: int
    targets: int


def document(number: int, rng: random.Random, size: Size) -> dict[str, Any]:
    def span() -> dict[str, list[int]]:
        start = rng.randrange(size.tokens - 6)
        return {"tokens": list(range(start, start + rng.randint(1, 4)))}

    participants = [annotation(id=f"p{i}", kind="participant", span=span()) for i in range(size.participants)]
    events = [
        annotation(
            id=f"e{i}",
            kind="event",
            span=span(),
            type=rng.choice(["Deal", "Rating", "Profit/Loss", "SecurityValue"]),
            subtype=rng.choice(["Increase", "Decrease", None]),
            polarity=rng.choice(POLARITIES),
            scoped_polarity=rng.choice(POLARITIES),
            realis=rng.choice(["asserted", "other"]),
            modality=rng.choice(["certain", "other"]),
            negated=rng.random() < 0.2,
            arguments=[
                {"role": role, "id": f"p{rng.randrange(size.participants)}"}
                for role in rng.sample(["A", "B", "C"], size.arguments)
            ],
        )
        for i in range(size.events)
    ]
    expressions = [
        annotation(
            id=f"s{i}",
            kind="sentiment_expression",
            span=span(),
            polarity=rng.choice(POLARITIES),
            scoped_polarity=rng.choice(POLARITIES),
            uncertain=rng.random() < 0.2,
            negated=rng.random() < 0.1,
            targets=[
                {"id": f"e{rng.randrange(size.events)}"},
                {"id": f"p{rng.randrange(size.participants)}"},
            ][: size.targets],
        )
        for i in range(size.expressions)
    ]
    return {
        "id": str(number),
        "tokens": [f"w{i}" for i in range(size.tokens)],
        "annotations": participants + events + expressions,
        "relations": {"event_sentiment": [{"from": "e0", "to": "s0"}], "event_coreference": []},
    }


def corpus(n_documents: int, size: Size) -> dict[str, list[dict[str, Any]]]:
    """Gold and predictions that get about half of it right."""
    rng = random.Random(0)
    references = [document(i, rng, size) for i in range(n_documents)]
    predictions = copy.deepcopy(references)
    for prediction in predictions:
        for item in prediction["annotations"]:
            if rng.random() < 0.2:
                item["span"]["tokens"] = item["span"]["tokens"][:1]
            for name, values in (
                ("polarity", POLARITIES),
                ("scoped_polarity", POLARITIES),
                ("realis", ["asserted", "other"]),
                ("negated", [True, False]),
            ):
                if item[name] is not None and rng.random() < 0.2:
                    item[name] = rng.choice(values)
    return {"predictions": predictions, "references": references}


# --- the other scorer -------------------------------------------------------------------------------------------------


def items(record: dict[str, Any]) -> tuple[dict[str, list[Any]], Counter[str]]:
    """All items of a document by component, as (spans, labels), and how many lack a type."""
    spans = {a["id"]: frozenset(a["span"]["tokens"]) for a in record["annotations"]}
    of_id = {a["id"]: a for a in record["annotations"]}
    found: dict[str, list[Any]] = {name: [] for name in _ROWS}
    left_out: Counter[str] = Counter()
    for a in record["annotations"]:
        here = spans[a["id"]]
        if a["kind"] == "event":
            if a["type"] is None:
                left_out["event"] += 1
                left_out["argument"] += len(a["arguments"])
                continue
            found["event_trigger"].append(((here,), (a["type"], a["subtype"])))
            found["trigger_identification"].append(((here,), ()))
            found["event_type"].append(((here,), (a["type"],)))
            found["event_polarity"].append(((here,), (a["polarity"],)))
            for x in a["arguments"]:
                found["event_argument"].append(((here, spans[x["id"]]), (a["type"], x["role"])))
                found["argument_identification"].append(((here, spans[x["id"]]), ()))
        elif a["kind"] == "sentiment_expression":
            found["sentiment_expression"].append(((here,), (a["polarity"],)))
            found["expression_identification"].append(((here,), ()))
            for x in a["targets"]:
                there = spans[x["id"]]
                found["sentiment_target"].append(((here, there), (a["polarity"],)))
                found["target_identification"].append(((here, there), ()))
                found["target"].append(((there,), ()))
                found["target_polarity"].append(((there,), (a["polarity"],)))
    for link in record["relations"]["event_sentiment"]:
        if of_id[link["from"]]["type"] is None:
            left_out["link"] += 1
            continue
        both = (spans[link["from"]], spans[link["to"]])
        found["event_sentiment_link"].append((both, (of_id[link["to"]]["polarity"],)))
        found["link_identification"].append((both, ()))
    for name in ("target", "target_polarity"):
        found[name] = list(set(found[name]))
    return found, left_out


_ROWS = [*list(SUPPORTS)[:5], "trigger_identification", "event_type", "event_polarity", "argument_identification"]
_ROWS += ["expression_identification", "target_identification", "link_identification", "target", "target_polarity"]


def dice(left: tuple[Any, ...], right: tuple[Any, ...]) -> float:
    """Of two items that overlap in every place, else 0."""
    total = 0.0
    for a, b in zip(left[0], right[0], strict=True):
        shared = len(a & b)
        if not shared:
            return 0.0
        total += 2 * shared / (len(a) + len(b))
    return total / len(left[0])


def aligned(left: list[Any], right: list[Any], bonus: Any = None) -> list[tuple[int, int]]:
    """Pairs of equal labels that overlap, as many as possible, then the largest overlap, then the largest bonus."""
    weights = np.zeros((len(left), len(right)))
    for i, p in enumerate(left):
        for j, g in enumerate(right):
            if p[1] == g[1] and (overlap := dice(p, g)):
                weights[i, j] = 1000 + overlap + (1e-4 * bonus(i, j) if bonus else 0)
    rows, columns = linear_sum_assignment(weights, maximize=True)
    return [(i, j) for i, j in zip(rows.tolist(), columns.tolist(), strict=True) if weights[i, j]]


def rates(true_positives: int, predicted: int, gold: int) -> dict[str, float]:
    precision = 100 * true_positives / predicted if predicted else 0.0
    recall = 100 * true_positives / gold if gold else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    row = {"precision": precision, "recall": recall, "f1": f1}
    return row | {"true_positives": true_positives, "predicted": predicted, "gold": gold}


class Stock(evaluate.Metric):  # type: ignore[misc]  # evaluate has no types
    """The same features and keys, by plain loops over documents."""

    def _info(self) -> evaluate.MetricInfo:
        text, flag = datasets.Value("string"), datasets.Value("bool")
        link = {"from": text, "to": text}
        record = {
            "id": text,
            "tokens": [text],
            "annotations": [
                {
                    "id": text,
                    "kind": text,
                    "span": {"tokens": [datasets.Value("int32")]},
                    **dict.fromkeys(("type", "subtype", "polarity", "scoped_polarity", "realis", "modality"), text),
                    **dict.fromkeys(("negated", "uncertain"), flag),
                    "arguments": [{"role": text, "id": text}],
                    "targets": [{"id": text}],
                }
            ],
            "relations": {"event_sentiment": [link], "event_coreference": [link]},
        }
        return evaluate.MetricInfo(
            description="",
            citation="",
            features=datasets.Features({"predictions": record, "references": record}),
        )

    def _compute(
        self, predictions: list[Any], references: list[Any], include_factuality: bool = False
    ) -> dict[str, Any]:
        counts = {profile: {name: np.zeros(3, int) for name in _ROWS} for profile in ("strict", "relaxed")}
        labels: dict[str, dict[str, list[int]]] = {name: {} for name in _ROWS[:5]}
        left_out: list[Counter[str]] = [Counter(), Counter()]
        factors: dict[str, dict[str, Any]] = {profile: {} for profile in counts}
        by_id = {record["id"]: record for record in predictions}
        for reference in references:
            prediction = by_id[reference["id"]]
            (predicted, p_out), (gold, g_out) = items(prediction), items(reference)
            left_out[0].update(p_out)
            left_out[1].update(g_out)
            for name in _ROWS:
                p, g = predicted[name], gold[name]
                shared = Counter(p) & Counter(g)
                counts["strict"][name] += (sum(shared.values()), len(p), len(g))
                counts["relaxed"][name] += (len(aligned(p, g)), len(p), len(g))
                for at, side in enumerate((list(shared.elements()), p, g) if name in labels else ()):
                    for _, values in side:
                        label = values[-1] if name != "event_trigger" else ".".join(v for v in values if v is not None)
                        labels[name].setdefault(label, [0, 0, 0])[at] += 1
            if include_factuality:
                for profile in counts:
                    self._factors(profile, factors[profile], prediction, reference)
        result: dict[str, Any] = {}
        for profile, prefix in (("strict", "sentivent"), ("relaxed", "sentivent_relaxed")):
            result[profile] = {name: rates(*row.tolist()) for name, row in counts[profile].items()}
            for name, frame in (
                ("event_trigger", "event"),
                ("event_argument", "argument"),
                ("event_sentiment_link", "link"),
            ):
                result[profile][name]["predicted_invalid_structure"] = left_out[0][frame]
                result[profile][name]["gold_invalid_structure"] = left_out[1][frame]
            f1 = {name: result[profile][name]["f1"] for name in _ROWS[:5] if counts[profile][name][1:].any()}
            if include_factuality:
                result[profile]["factuality"] = {}
                for name, factor in factors[profile].items():
                    rows = [rates(*row)["f1"] for row in factor["labels"].values() if row[1] or row[2]]
                    f1[name] = sum(rows) / len(rows) if rows else 0.0
                    accuracy = 100 * factor["correct"] / factor["support"] if factor["support"] else 0.0
                    line = {"f1": f1[name], "accuracy": accuracy, "accuracy_support": factor["support"]}
                    result[profile]["factuality"][name] = line
            total = sum(SUPPORTS[name] for name in f1)
            result[f"{prefix}_score"] = sum(SUPPORTS[name] * value for name, value in f1.items()) / total
            result[f"{prefix}_macro_score"] = sum(f1.values()) / len(f1)
        result["strict"]["classification_report"] = {
            name: {label: rates(*row) for label, row in rows.items()} for name, rows in labels.items()
        }
        return result

    @staticmethod
    def _factors(profile: str, factors: dict[str, Any], prediction: dict[str, Any], reference: dict[str, Any]) -> None:
        for kind, prefix, names in (
            ("event", "event", ("scoped_polarity", "realis", "modality", "negated")),
            ("sentiment_expression", "sentiment", ("scoped_polarity", "uncertain", "negated")),
        ):
            sides = [
                [a for a in record["annotations"] if a["kind"] == kind and (kind != "event" or a["type"] is not None)]
                for record in (prediction, reference)
            ]
            records = [[((frozenset(a["span"]["tokens"]),), a["type"]) for a in side] for side in sides]
            if profile == "strict":
                records = [[(spans, (label, spans)) for spans, label in side] for side in records]
            for name in names:
                values = [[a[name] for a in side] for side in sides]

                def bonus(i: int, j: int, values: list[Any] = values) -> float:
                    same = values[0][i] == values[1][j]
                    return float((values[1][j] is not None) * (same + 1e-3))

                factor = factors.setdefault(f"{prefix}_{name}", {"labels": {}, "correct": 0, "support": 0})
                chosen = aligned(records[0], records[1], bonus)
                partner = dict(chosen)
                skipped = {i for i, j in chosen if values[1][j] is None}
                for j in partner.values():
                    factor["support"] += values[1][j] is not None
                for i, value in enumerate(values[0]):
                    if value is not None and i not in skipped:
                        row = factor["labels"].setdefault(value, [0, 0, 0])
                        row[1] += 1
                        if i in partner and values[1][partner[i]] == value:
                            row[0] += 1
                            factor["correct"] += 1
                for value in values[1]:
                    if value is not None:
                        factor["labels"].setdefault(value, [0, 0, 0])[2] += 1


# --- runs -------------------------------------------------------------------------------------------------------------


def dense(n: int) -> dict[str, list[dict[str, Any]]]:
    """One document in which every item overlaps every other."""
    sides: dict[str, list[dict[str, Any]]] = {}
    for name, seed in (("predictions", 1), ("references", 2)):
        rng = random.Random(seed)
        record = document(0, rng, Size(60, 20, n, n, 1, 1))
        for item in record["annotations"]:
            item["span"]["tokens"] = [5, *sorted(rng.sample(range(6, 60), rng.randint(0, 6)))]
        record["relations"]["event_sentiment"] = [{"from": f"e{i}", "to": f"s{i}"} for i in range(n)]
        sides[name] = [record]
    return sides


def main() -> None:
    metric, stock = load("sentivent"), Stock()
    documents = corpus(2000, Size(120, 4, 6, 4, 2, 2))
    for options in ({}, {"include_factuality": True}):
        ours, theirs = metric.compute(**documents, **options), stock.compute(**documents, **options)
        for name in ("sentivent_score", "sentivent_macro_score", "sentivent_relaxed_score"):
            # The rest is ties among alignments.
            assert abs(ours[name] - theirs[name]) < (0.1 if options else 1e-9), (name, ours[name], theirs[name])
        compare(
            f"2,000 documents {'with factuality' if options else ''}".strip(),
            partial(metric.compute, **documents, **options),
            partial(stock.compute, **documents, **options),
        )
    one = dense(2000)
    for options in ({}, {"include_factuality": True}):
        took = seconds(partial(metric.compute, **one, **options))
        print(f"one document, 2,000 overlapping items a side{' with factuality' if options else ''}: {took:.1f} s")
    small = corpus(100_000, Size(12, 1, 1, 1, 1, 1))
    print(f"100,000 small documents: {seconds(lambda: metric.compute(**small)):.1f} s")


if __name__ == "__main__":
    main()
