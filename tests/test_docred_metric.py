import gzip
import json
import math
import pickle
import warnings
from collections import Counter, defaultdict

import datasets
import numpy as np
import pytest
from conftest import benchmark_file, expected, load, perturbed
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sklearn.metrics import auc as trapezoid
from sklearn.metrics import roc_auc_score

FREQUENT = {"P17", "P131", "P27", "P150", "P175", "P577", "P463", "P527", "P495", "P361"}
INFINITY = float("inf")
LOWEST = -1.7976931348623157e308
HEADLINE = ("precision", "recall", "f1", "true_positives", "predicted", "gold")
relaxed = settings(
    deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


@pytest.fixture(scope="module")
def docred():
    return load("docred")


def score(docred, predictions, references, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = docred.compute(predictions=predictions, references=references, **options)
    json.dumps(result, allow_nan=False)
    return result


def document(title="d", n=3, labels=(), sents=None):
    sents = sents or [0] * n
    return {
        "title": title,
        "vertexSet": [[{"name": f"{title} e{i}", "sent_id": sents[i]}] for i in range(n)],
        "labels": [dict(zip(("h", "t", "r", "evidence"), label, strict=False)) for label in labels],
    }


def fact(h, t, r, title="d", **more):
    return {"title": title, "h_idx": h, "t_idx": t, "r": r, **more}


def hub_rows(documents):
    names = {"head": "h", "tail": "t", "relation_id": "r"}
    return [
        {
            **d,
            "labels": {column: [label[key] for label in d["labels"]] for column, key in names.items()}
            | {
                "relation_text": ["words"] * len(d["labels"]),
                "evidence": [label.get("evidence") or [] for label in d["labels"]],
            },
        }
        for d in documents
    ]


def as_facts(documents, **more):
    return [
        fact(label["h"], label["t"], label["r"], d["title"], evidence=label.get("evidence") or [], **more)
        for d in documents
        for label in d["labels"]
    ]


def as_records(facts):
    by_title = defaultdict(list)
    for item in facts:
        by_title[item["title"]].append({key: value for key, value in item.items() if key != "title"})
    return [{"title": title, "relations": relations} for title, relations in by_title.items()]


def as_dense(documents, facts, names, pairs=False, low=-1.0, dtype=np.float32):
    """Cubes (or pairs) that hold the scores of facts, and `low` elsewhere; NaN on the diagonal."""
    cubes = {}
    for d in documents:
        n = len(d["vertexSet"])
        cubes[d["title"]] = np.full((n, n, len(names)), low, dtype)
        cubes[d["title"]][np.arange(n), np.arange(n)] = np.nan
    for item in facts:
        cubes[item["title"]][item["h_idx"], item["t_idx"], names.index(item["r"])] = item.get("score", 1.0)
    if pairs:
        cubes = {title: cube[~np.eye(len(cube), dtype=bool)] for title, cube in cubes.items()}
    return [{"title": title, "scores": cube} for title, cube in cubes.items()]


# --- an oracle, from the specification, one fact at a time ------------------------------------------------------------


def rates(tp, predicted, gold):
    p = 100 * tp / predicted if predicted else 0.0
    r = 100 * tp / gold if gold else 0.0
    return {
        "precision": p,
        "recall": r,
        "f1": 2 * p * r / (p + r) if p + r else 0.0,
        "true_positives": tp,
        "predicted": predicted,
        "gold": gold,
    }


def closest(vertex_set, h, t):
    return min(
        (abs(a["sent_id"] - b["sent_id"]) for a in vertex_set[h] for b in vertex_set[t]),
        default=10**9,
    )


def oracle(facts, references, threshold=0.5, relation_names=None, train=None):
    by_title = {d["title"]: d for d in references}
    gold, listed_evidence = {}, Counter()
    for d in references:
        for label in d["labels"]:
            key = (d["title"], label["h"], label["t"], label["r"])
            gold[key] = set(label.get("evidence") or [])
            listed_evidence[key] += len(label.get("evidence") or [])
    scores, evidence = {}, {}
    for item in facts:
        key = (item["title"], item["h_idx"], item["t_idx"], item["r"])
        value = 1.0 if item.get("score") is None else item["score"]
        scores[key] = max(scores.get(key, value), value)
        evidence.setdefault(key, set(item.get("evidence") or []))
    predicted = {key for key, value in scores.items() if value > threshold}
    right = predicted & gold.keys()

    def seen(key):
        title, h, t, r = key
        entities = by_title[title]["vertexSet"]
        return any((a["name"], b["name"], r) in train for a in entities[h] for b in entities[t])

    def part(chosen, known_only=False):
        keep = [k for k in predicted if (k[0] in by_title or not known_only) and chosen(k)]
        held = [k for k in gold if chosen(k)]
        return rates(len(set(keep) & set(held)), len(keep), len(held))

    def distance(key):
        return closest(by_title[key[0]]["vertexSet"], key[1], key[2])

    result = rates(len(right), len(predicted), len(gold))
    n_right = sum(len(evidence[k] & gold[k]) for k in right)
    result["evidence"] = rates(
        n_right, sum(len(evidence[k]) for k in predicted if k[0] in by_title), sum(listed_evidence.values())
    )
    result["evidence_annotated"] = rates(
        n_right,
        sum(len(evidence[k]) for k in right if gold[k]),
        sum(n for k, n in listed_evidence.items() if gold[k]),
    )
    result["intra"] = part(lambda k: distance(k) == 0, True)
    result["inter"] = part(lambda k: distance(k) >= 1, True)
    result["inter_long"] = part(lambda k: distance(k) > 5, True)
    result["frequent"] = part(lambda k: k[3] in FREQUENT)
    result["long_tail"] = part(lambda k: k[3] not in FREQUENT)
    occurring = {k[3] for k in predicted} | {k[3] for k in gold}
    result["per_relation"] = {r: part(lambda k, r=r: k[3] == r) for r in occurring}
    f1s = [r["f1"] for r in result["per_relation"].values()]
    result["macro_f1"] = sum(f1s) / len(f1s) if f1s else 0.0

    def kind(key):
        sentences = gold[key]
        if len(sentences) < 2:
            return ("none", "single")[len(sentences)]
        entities = by_title[key[0]]["vertexSet"]
        both = {m["sent_id"] for m in entities[key[1]]} & {m["sent_id"] for m in entities[key[2]]}
        return "mix" if both & sentences else "multiple"

    result["by_evidence"] = {}
    for name in ("none", "single", "mix", "multiple"):
        held = [k for k in gold if kind(k) == name]
        row = rates(len(right & set(held)), 0, len(held))
        result["by_evidence"][name] = {key: row[key] for key in ("recall", "true_positives", "gold")}

    relations = {n for n in relation_names if n not in (None, "Na")} if relation_names else {k[3] for k in gold}
    if train and not relation_names:
        relations |= {r for _, _, r in train}
    universe = {
        (d["title"], h, t, r)
        for d in references
        for h in range(len(d["vertexSet"]))
        for t in range(len(d["vertexSet"]))
        if h != t
        for r in relations
    } | scores.keys()
    result["candidates"], result["n_relations"] = len(universe), len(relations)
    ranked = [(scores.get(k), k in gold, k in gold and train is not None and seen(k)) for k in universe]
    result |= ranking_oracle(ranked, len(gold), "")
    for name in ("f1", "precision"):
        result[f"ign_{name}"] = None
    result |= {"ign_auc": None, "ign_pr_auc": None, "ign_best_f1": None}
    if train is not None:
        n_seen = sum(map(seen, right))
        precision = rates(len(right) - n_seen, len(predicted) - n_seen, 0)["precision"]
        recall = result["recall"]
        result["ign_precision"] = precision
        result["ign_f1"] = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        result |= ranking_oracle(ranked, len(gold), "ign_")
    return result


def ranking_oracle(ranked, n_gold, prefix):
    ign = bool(prefix)
    floor = min([s for s, _, _ in ranked if s is not None], default=0)
    value = {None: -1} | {s: i for i, s in enumerate(sorted({s for s, _, _ in ranked if s is not None}))}
    del floor
    kept = [(value[s], right) for s, right, seen in ranked if not (ign and seen)]
    truth = [right for _, right in kept]
    area = roc_auc_score(truth, [v for v, _ in kept]) if 0 < sum(truth) < len(truth) else 0.0
    points, best = [(0.0, 0.0, 0)], 0.0
    for step in sorted({s for s, _, _ in ranked if s is not None}, reverse=True):
        taken = [item for item in ranked if item[0] is not None and item[0] >= step]
        correct, shown = sum(right for _, right, _ in taken), sum(seen for _, _, seen in taken) if ign else 0
        precision = (correct - shown) / (len(taken) - shown) if correct > shown else 0.0
        recall = correct / n_gold if n_gold else 0.0
        points.append((recall, precision, len(taken)))
        if step > LOWEST and precision + recall:
            best = max(best, 100 * 2 * precision * recall / (precision + recall))
    under = trapezoid(*zip(*[point[:2] for point in points[1:]], strict=True)) if len(points) > 2 else 0.0
    if len(points) > 1 and points[1][2] > 1:
        under += points[1][0] * points[1][1]
    return {f"{prefix}auc": area, f"{prefix}pr_auc": under, f"{prefix}best_f1": best}


def agree(result, wanted, place=""):
    for key, value in wanted.items():
        if isinstance(value, dict):
            assert result[key].keys() == value.keys(), place + key
            agree(result[key], value, f"{place}{key}.")
        elif value is None:
            assert result[key] is None, place + key
        else:
            assert result[key] == pytest.approx(value, abs=1e-9), place + key


# --- made-up corpora --------------------------------------------------------------------------------------------------

RELATIONS = ["P17", "P131", "P1", "P2"]
SCORES = [None, 1.0, 0.9, 0.75, 0.5, 0.25, 0.0, -3.0, INFINITY, -INFINITY]
NAMES = ["Ann", "Bob", "ann", "Cy  Dee", "cy dee", "Eve"]


@st.composite
def corpora(draw, n_least=0, named=False):
    documents = []
    for index in range(draw(st.integers(1, 3))):
        mention = st.fixed_dictionaries({"name": st.sampled_from(NAMES), "sent_id": st.integers(0, 8)})
        n = draw(st.integers(n_least, 4))
        vertex_set = draw(
            st.lists(st.lists(mention, min_size=int(named), max_size=2), min_size=n, max_size=n)
        )
        label = st.builds(
            lambda pair, r, e: {"h": pair[0], "t": pair[1], "r": r} | ({} if e is None else {"evidence": e}),
            pairs(n),
            st.sampled_from(RELATIONS),
            st.none() | st.lists(st.integers(0, 8), max_size=3),
        )
        labels = draw(st.lists(label, max_size=4)) if n > 1 else []
        documents.append({"title": f"t{index}", "vertexSet": vertex_set, "labels": labels})
    return documents


def pairs(n):
    n = max(n, 2)
    return st.permutations(range(n)).map(lambda order: (order[0], order[1]))


@st.composite
def predicted_facts(draw, documents, relations=(*RELATIONS, "P9"), unknown=True):
    facts = []
    for d in [*documents, *([document("x"), document("y")] if unknown else [])]:
        if len(d["vertexSet"]) > 1:
            item = st.builds(
                lambda pair, r, s, e, d=d: fact(*pair, r, d["title"], score=s, evidence=e),
                pairs(len(d["vertexSet"])),
                st.sampled_from(relations),
                st.sampled_from(SCORES),
                st.none() | st.lists(st.integers(0, 8), max_size=3),
            )
            facts += draw(st.lists(item, max_size=5))
    return draw(st.permutations(facts))


training = st.none() | st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES), st.sampled_from([*RELATIONS, "P7"])), max_size=30
)
thresholds = st.sampled_from([0.5, 0.0, 0.25, 0.3, -INFINITY, INFINITY, -5, 2])


@relaxed
@given(st.data(), thresholds, training, st.sampled_from([None, [*RELATIONS, "P9", "P8"], ["P8", None, "P9", *RELATIONS]]))
def test_facts_agree_with_the_oracle(docred, data, threshold, train, names):
    documents = data.draw(corpora())
    facts = data.draw(predicted_facts(documents))
    wanted = oracle(facts, documents, threshold, names, None if train is None else set(train))
    for predictions in (facts, as_records(facts)):
        for references in (documents, hub_rows(documents)):
            result = score(
                docred, predictions, references, threshold=threshold, relation_names=names, train_facts=train
            )
            agree(result, wanted)
    best = score(docred, facts, documents, threshold=result["best_threshold"], relation_names=names)
    assert best["f1"] == result["best_f1"]
    assert result["unknown_titles"] == len({f["title"] for f in facts} - {d["title"] for d in documents})


@relaxed
@given(st.data(), thresholds, training, st.sampled_from(["float16", "float32", "float64", "int64"]), st.booleans())
def test_dense_scores_agree_with_the_oracle(docred, data, threshold, train, dtype, beside):
    names = ["P1", "Na", "P2", "P17", "P131"]
    documents = data.draw(corpora())
    predictions, facts = [], []
    values = [0, 1, 2, -3] if dtype == "int64" else [0.1, 0.25, 0.5, 1 / 3, -2, INFINITY, -INFINITY]
    for d in data.draw(st.permutations([*documents, *documents[:1], document("x", 2)])):
        n, cube = len(d["vertexSet"]), data.draw(st.booleans())
        shape = (n, n, len(names)) if cube else (n * (n - 1), len(names))
        numbers = data.draw(st.lists(st.sampled_from(values), min_size=math.prod(shape), max_size=math.prod(shape)))
        array = np.array(numbers, dtype).reshape(shape)
        places = [(h, t) for h in range(n) for t in range(n) if h != t]
        for row, (h, t) in enumerate(places):
            for column, name in enumerate(names):
                if name != "Na":
                    value = float(array[h, t, column] if cube else array[row, column])
                    facts.append(fact(h, t, name, d["title"], score=value))
        predictions.append({"title": d["title"], "scores": array})
        if beside and n > 1 and data.draw(st.booleans()):
            listed = data.draw(predicted_facts([d], relations=RELATIONS, unknown=False))
            facts += listed
            predictions.append({"title": d["title"], "relations": listed})
    options = {"threshold": threshold, "relation_names": names, "train_facts": train}
    result = score(docred, predictions, documents, **options)
    agree(result, oracle(facts, documents, threshold, names, None if train is None else set(train)))
    agree(result, {k: v for k, v in score(docred, facts, documents, **options).items() if k != "duplicate_predictions"})
    best = score(docred, predictions, documents, relation_names=names, threshold=result["best_threshold"])
    assert best["f1"] == result["best_f1"]


def most(edges, n_right):
    """Maximum matching by trying paths, depth first."""
    holder = {}

    def place(i, tried):
        for j in range(n_right):
            if j in edges[i] and j not in tried:
                tried.add(j)
                if j not in holder or place(holder[j], tried):
                    holder[j] = i
                    return True
        return False

    return sum(place(i, set()) for i in range(len(edges)))


@relaxed
@given(st.data(), thresholds)
def test_names_agree_with_the_oracle(docred, data, threshold):
    documents = data.draw(corpora(n_least=1, named=True))
    item = st.builds(
        lambda title, h, t, r, s: {"title": title, "head": h, "tail": t, "r": r, "score": s},
        st.sampled_from([d["title"] for d in documents] + ["x"]),
        st.sampled_from([*NAMES, "nobody", "No  one"]),
        st.sampled_from([*NAMES, "nobody", "no one"]),
        st.sampled_from(RELATIONS),
        st.sampled_from(SCORES),
    )
    facts = data.draw(st.lists(item, max_size=10))
    result = score(docred, facts, documents, match="names", threshold=threshold)
    by_title = {d["title"]: d["vertexSet"] for d in documents}
    fold = lambda name: " ".join(name.lower().split())  # noqa: E731
    sets = {}
    for f in facts:
        key = [f["title"], f["r"]]
        for side in ("head", "tail"):
            entities = frozenset(
                i
                for i, mentions in enumerate(by_title.get(f["title"], []))
                if any(fold(m["name"]) == fold(f[side]) for m in mentions)
            )
            key += [entities, "" if entities else fold(f[side])]
        value = 1.0 if f["score"] is None else f["score"]
        sets[tuple(key)] = max(value, sets.get(tuple(key), -INFINITY))
    gold = sorted({(d["title"], g["r"], g["h"], g["t"]) for d in documents for g in d["labels"]})

    def matched(limit, strict=True):
        taken = [k for k, s in sets.items() if (s > limit if strict else s >= limit)]
        edges = [
            {j for j, g in enumerate(gold) if g[:2] == k[:2] and g[2] in k[2] and g[3] in k[4]} for k in taken
        ]
        return most(edges, len(gold)), len(taken)

    correct, taken = matched(threshold)
    agree(result, rates(correct, taken, len(gold)))
    best, points = 0.0, []
    for step in sorted(set(sets.values()), reverse=True):
        row = rates(*matched(step, strict=False), len(gold))
        points.append((row["recall"] / 100, row["precision"] / 100, row["predicted"]))
        best = max(best, row["f1"] if step > LOWEST else 0.0)
    assert result["best_f1"] == pytest.approx(best, abs=1e-9)
    under = trapezoid(*zip(*[point[:2] for point in points], strict=True)) if len(points) > 1 else 0.0
    if points and points[0][2] > 1:
        under += points[0][0] * points[0][1]
    assert result["pr_auc"] == pytest.approx(under, abs=1e-9)
    shuffled = score(docred, data.draw(st.permutations(facts)), documents, match="names", threshold=threshold)
    assert shuffled == result
    assert 0 <= result["auc"] <= 1
