import doctest
import gzip
import itertools
import json
import math
import pickle
import warnings
from collections import Counter, defaultdict, namedtuple

import datasets
import numpy as np
import pandas
import pyarrow
import pytest
from conftest import ROOT, benchmark_file, expected, load, perturbed
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sklearn.metrics import auc as trapezoid
from sklearn.metrics import roc_auc_score

import spanscore.formats.docred

FREQUENT = {"P17", "P131", "P27", "P150", "P175", "P577", "P463", "P527", "P495", "P361"}
INFINITY = float("inf")
LOWEST = -1.7976931348623157e308
HEADLINE = ("precision", "recall", "f1", "true_positives", "predicted", "gold")
relaxed = settings(
    deadline=None, max_examples=100, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
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


def oracle(facts, references, threshold=None, relation_names=None, train=None, dense=False):
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
    predicted = {key for key, value in scores.items() if threshold is None or value > threshold}
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
    result |= ranking_oracle(ranked, len(gold), "", dense)
    for name in ("f1", "precision"):
        result[f"ign_{name}"] = None
    result |= {"ign_auc": None, "ign_pr_auc": None, "ign_best_f1": None}
    if train is not None:
        n_seen = sum(map(seen, right))
        precision = rates(len(right) - n_seen, len(predicted) - n_seen, 0)["precision"]
        recall = result["recall"]
        result["ign_precision"] = precision
        result["ign_f1"] = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
        result |= ranking_oracle(ranked, len(gold), "ign_", dense)
    return result


def ranking_oracle(ranked, n_gold, prefix, dense):
    ign = bool(prefix)
    floor = min([s for s, _, _ in ranked if s is not None], default=0)
    value = {None: -1} | {s: i for i, s in enumerate(sorted({s for s, _, _ in ranked if s is not None}))}
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
        takable = step > LOWEST or (step == floor and not dense)
        if takable and precision + recall:
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
        vertex_set = draw(st.lists(st.lists(mention, min_size=int(named), max_size=2), min_size=n, max_size=n))
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
numbers = st.sampled_from([0.5, 0.0, 0.25, 0.3, -INFINITY, INFINITY, -5, 2])
thresholds = st.none() | numbers


@relaxed
@given(
    st.data(), thresholds, training, st.sampled_from([None, [*RELATIONS, "P9", "P8"], ["P8", None, "P9", *RELATIONS]])
)
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
@given(st.data(), numbers, training, st.sampled_from(["float16", "float32", "float64", "int64"]), st.booleans())
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
    wanted = oracle(facts, documents, threshold, names, None if train is None else set(train), dense=bool(predictions))
    agree(result, wanted)
    of_lists = {"duplicate_predictions", "best_threshold", "best_f1", "ign_best_f1"}
    agree(result, {k: v for k, v in score(docred, facts, documents, **options).items() if k not in of_lists})
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
        taken = [k for k, s in sets.items() if limit is None or (s > limit if strict else s >= limit)]
        edges = [{j for j, g in enumerate(gold) if g[:2] == k[:2] and g[2] in k[2] and g[3] in k[4]} for k in taken]
        return most(edges, len(gold)), len(taken)

    correct, taken = matched(threshold)
    agree(result, rates(correct, taken, len(gold)))
    best, points = 0.0, []
    for step in sorted(set(sets.values()), reverse=True):
        row = rates(*matched(step, strict=False), len(gold))
        points.append((row["recall"] / 100, row["precision"] / 100, row["predicted"]))
        best = max(best, row["f1"] if step > LOWEST or step == min(sets.values()) else 0.0)
    assert result["best_f1"] == pytest.approx(best, abs=1e-9)
    under = trapezoid(*zip(*[point[:2] for point in points], strict=True)) if len(points) > 1 else 0.0
    if points and points[0][2] > 1:
        under += points[0][0] * points[0][1]
    assert result["pr_auc"] == pytest.approx(under, abs=1e-9)
    shuffled = score(docred, data.draw(st.permutations(facts)), documents, match="names", threshold=threshold)
    assert shuffled == result
    assert 0 <= result["auc"] <= 1


@relaxed
@given(st.data())
def test_names_match_as_many_facts_as_possible_at_every_threshold(docred, data):
    """Names that many entities share, so that which fact takes which gold fact matters."""
    n = data.draw(st.integers(2, 5))
    names = st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True)
    vertex_set = [[{"name": name, "sent_id": 0} for name in data.draw(names)] for _ in range(n)]
    every = [{"h": h, "t": t, "r": "P1", "evidence": [h]} for h in range(n) for t in range(n) if h != t]
    labels = data.draw(st.lists(st.sampled_from(every), unique_by=lambda label: (label["h"], label["t"]), max_size=9))
    documents = [{"title": "d", "vertexSet": vertex_set, "labels": labels}]
    scores = data.draw(st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.4, 0.5]), min_size=9, max_size=9))
    facts = [
        {"title": "d", "head": head, "tail": tail, "r": "P1", "score": score}
        for (head, tail), score in zip(itertools.product("abc", repeat=2), scores, strict=True)
    ]
    called = {
        name: {i for i, mentions in enumerate(vertex_set) if {"name": name, "sent_id": 0} in mentions} for name in "abc"
    }
    options = {"match": "names", "return_errors": True}
    for threshold in (None, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5):
        result = score(docred, facts, documents, threshold=threshold, **options)
        limit = -1 if threshold is None else threshold
        taken = {(frozenset(called[f["head"]]), frozenset(called[f["tail"]])) for f in facts if f["score"] > limit}
        unnamed = [f for f in facts if f["score"] > limit and not (called[f["head"]] and called[f["tail"]])]
        edges = [{j for j, g in enumerate(labels) if g["h"] in head and g["t"] in tail} for head, tail in taken]
        assert result["true_positives"] == most(edges, len(labels)) == len(result["matched"])
        assert result["predicted"] <= len(taken) + len(unnamed)
        shuffled = score(
            docred,
            data.draw(st.permutations(facts)),
            [{**documents[0], "labels": labels[::-1]}],
            threshold=threshold,
            **options,
        )
        if len({frozenset(places) for places in called.values()}) == 3:  # else the first of equal facts is shown
            assert shuffled == result


@relaxed
@given(st.data(), thresholds, st.sampled_from(["facts", "dense"]))
def test_matched_items_and_the_curve(docred, data, threshold, form):
    documents = data.draw(corpora())
    facts = data.draw(predicted_facts(documents, unknown=form == "facts"))
    facts = [{**f, "score": 1.0 if f["score"] is None else f["score"]} for f in facts]
    names = [*RELATIONS, "P9"]
    best = {}
    for f in facts:
        key = f["title"], f["h_idx"], f["t_idx"], f["r"]
        best[key] = max(best.get(key, f["score"]), f["score"])
    once = [fact(h, t, r, title, score=value) for (title, h, t, r), value in best.items()]
    predictions = facts if form == "facts" else as_dense(documents, once, names, low=-4.0, dtype=np.float64)
    if form == "dense" and threshold is None:
        threshold = 0.5
    options = {"relation_names": names, "threshold": threshold}
    result = score(docred, predictions, documents, return_errors=True, **options)
    plain = score(docred, predictions, documents, **options)
    assert {name: value for name, value in result.items() if name in plain} == plain
    assert result.keys() - plain.keys() == {"errors", "matched", "error_kinds", "curve"}

    gold = {(d["title"], label["h"], label["t"], label["r"]) for d in documents for label in d["labels"]}
    found = [(m["record"], *m["reference"].values()) for m in result["matched"]]
    assert sorted(found) == sorted(
        key
        for key in gold
        if (key in best if threshold is None else best.get(key, -4.0 if form == "dense" else -INFINITY) > threshold)
    )
    for match in result["matched"]:
        assert (match["component"], match["kind"]) == ("fact", "right")
        assert [*match["prediction"]] == ["h_idx", "t_idx", "r"]
        assert [*match["prediction"].values()] == [*match["reference"].values()]

    curve = result["curve"]
    of_numbers = [at for at in curve["threshold"] if at is not None]
    assert of_numbers == sorted(of_numbers, reverse=True) and None not in curve["threshold"][:-1]
    for recall, precision, at in zip(curve["recall"], curve["precision"], curve["threshold"], strict=True):
        there = score(docred, predictions, documents, relation_names=names, threshold=at)
        assert (100 * recall, 100 * precision) == pytest.approx((there["recall"], there["precision"]))
    if len(curve["recall"]) and result["best_f1"]:
        f1s = [200 * r * p / (r + p) for r, p in zip(curve["recall"], curve["precision"], strict=True)]
        assert max(f1s) == pytest.approx(result["best_f1"])


def test_the_curve_has_few_points(docred):
    n = 60
    labels = [(h, t, "P1") for h in range(n) for t in range(h)]
    facts = [fact(h, t, r, score=at / len(labels)) for at, (h, t, r) in enumerate(labels)]
    curve = score(docred, facts, [document(n=n, labels=labels)], return_errors=True)["curve"]
    assert len(curve["recall"]) == 400
    assert curve["recall"][0] == pytest.approx(1 / len(labels)) and curve["recall"][-1] == 1


def test_mending_a_kind_of_error(docred):
    reference = document("d", 6, [(0, 1, "P1"), (2, 3, "P1"), (4, 5, "P2")])
    facts = [fact(1, 0, "P1"), fact(2, 3, "P2"), fact(3, 5, "P9"), fact(4, 5, "P2")]
    kinds = score(docred, facts, [reference], return_errors=True)["error_kinds"]
    assert all((row["component"], row["errors"], row["headline"]) == ("fact", 1, None) for row in kinds)
    assert {row["kind"]: row["f1"] for row in kinds} == {
        "wrong_direction": pytest.approx(rates(2, 4, 3)["f1"]),
        "wrong_relation": pytest.approx(rates(2, 4, 3)["f1"]),
        "spurious": pytest.approx(rates(1, 3, 3)["f1"]),
    }


# --- figures of the benchmark files -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def gold():
    return json.loads(benchmark_file("docred/test_revised.json").read_text())


def test_figures_of_seed_1(docred, gold):
    source = benchmark_file("docred/test_revised.json")
    wanted = expected()
    facts = json.loads(perturbed("docred", source))
    result = score(docred, facts, gold, train=str(benchmark_file("docred/dev_revised.json")))
    for key, value in wanted["docred"].items():
        for table in ("evidence", "intra", "inter"):
            if key.startswith(table + "_"):
                assert result[table][key.removeprefix(table + "_")] == pytest.approx(value, abs=1e-6), key
                break
        else:
            assert result[key] == pytest.approx(value, abs=1e-6), key
    result = score(docred, json.loads(perturbed("docred-scores", source)), gold)
    for key, value in wanted["docred_scores"].items():
        assert result[key] == pytest.approx(value, abs=1e-6), key


@pytest.mark.parametrize("name", ["dev_revised", "test_revised"])
def test_gold_against_itself_in_all_forms(docred, name):
    documents = json.loads(benchmark_file(f"docred/{name}.json").read_text())
    facts = as_facts(documents)
    names = ["Na", *sorted({f["r"] for f in facts})]
    results = []
    forms = [facts, as_records(facts), as_dense(documents, facts, names), as_dense(documents, facts, names, pairs=True)]
    for predictions, references in zip([*forms, facts], [documents] * 4 + [hub_rows(documents)], strict=True):
        threshold = 0.5 if "scores" in predictions[0] else None
        results.append(score(docred, predictions, references, relation_names=names, threshold=threshold))
        result = results[-1]
        assert result["f1"] == result["best_f1"] == result["macro_f1"] == 100
        for key in ("intra", "inter", "inter_long", "frequent", "long_tail"):
            assert result[key]["f1"] == 100, key
        assert all(row["f1"] == 100 for row in result["per_relation"].values())
        assert all(row["recall"] == 100 for row in result["by_evidence"].values())
        assert result["auc"] == 1 and result["n_relations"] == len(names) - 1
    assert results[0] == results[1] == results[4]
    assert results[0]["evidence"]["f1"] == results[0]["evidence_annotated"]["f1"] == 100
    listed_only = {"evidence", "evidence_annotated", "best_threshold", "pr_auc", "signature"}
    for result in results[2:4]:
        assert {k: v for k, v in result.items() if k not in listed_only} == {
            k: v for k, v in results[0].items() if k not in listed_only
        }
    assert results[2] == results[3]


def test_any_alias_matches(docred, gold):
    rng = np.random.default_rng(3)
    documents, facts = [], []
    for d in gold:
        folded = [{" ".join(m["name"].casefold().split()) for m in e} for e in d["vertexSet"]]
        shared = Counter(name for names in folded for name in names)
        clear = [i for i, names in enumerate(folded) if all(shared[name] == 1 for name in names)]
        labels = [g for g in d["labels"] if g["h"] in clear and g["t"] in clear]
        documents.append({**d, "labels": labels})
        for g in labels:
            head, tail = (d["vertexSet"][g[side]][rng.integers(len(d["vertexSet"][g[side]]))]["name"] for side in "ht")
            facts.append(
                {"title": d["title"], "head": f" {head.upper()}", "tail": tail.replace(" ", "  "), "r": g["r"]}
            )
    assert len(facts) > 15000
    result = score(docred, facts, documents, match="names")
    assert result["f1"] == 100 and result["inter"]["f1"] == 100


def test_areas_as_the_benchmark_ranks_a_list(docred, gold):
    """Distinct random scores for every candidate of some documents, ranked as ``Config.test`` does."""
    documents, rng = gold[:40], np.random.default_rng(5)
    names = sorted({g["r"] for d in documents for g in d["labels"]})
    train = {
        (d["vertexSet"][g["h"]][0]["name"], d["vertexSet"][g["t"]][0]["name"], g["r"])
        for d in documents
        for g in d["labels"][::3]
    }
    predictions = as_dense(documents, [], names, dtype=np.float64)
    ranked = []
    for d, p in zip(documents, predictions, strict=True):
        p["scores"][:] = rng.random(p["scores"].shape)
        for g in d["labels"]:
            p["scores"][g["h"], g["t"], names.index(g["r"])] += 0.4
        facts = {(g["h"], g["t"], g["r"]) for g in d["labels"]}
        for h, t, r in np.ndindex(p["scores"].shape):
            if h != t:
                right = (h, t, names[r]) in facts
                shown = right and any(
                    (a["name"], b["name"], names[r]) in train for a in d["vertexSet"][h] for b in d["vertexSet"][t]
                )
                ranked.append((p["scores"][h, t, r], right, shown))
    ranked.sort(reverse=True)
    right, shown = (np.array(column) for column in list(zip(*ranked, strict=True))[1:])
    correct, seen, listed = right.cumsum(), shown.cumsum(), np.arange(1, len(right) + 1)
    recall = correct / right.sum()
    facts = [list(t) for t in train]
    result = score(docred, predictions, documents, relation_names=names, train_facts=facts, threshold=0.5)
    for prefix, precision in (("", correct / listed), ("ign_", (correct - seen) / np.maximum(listed - seen, 1))):
        assert result[f"{prefix}pr_auc"] == pytest.approx(trapezoid(recall, precision), abs=1e-9)
        best = (200 * precision * recall / np.maximum(precision + recall, 1e-20)).max()
        assert result[f"{prefix}best_f1"] == pytest.approx(best, abs=1e-9)
    values = [value for value, _, _ in ranked]
    assert result["auc"] == pytest.approx(roc_auc_score(right, values), abs=1e-9)
    kept = ~shown
    assert shown.any()
    assert result["ign_auc"] == pytest.approx(roc_auc_score(right[kept], np.array(values)[kept]), abs=1e-9)


# --- worked examples --------------------------------------------------------------------------------------------------


def test_nothing_to_rank(docred):
    one = document(n=1)
    result = score(
        docred, [{"title": "d", "scores": np.zeros((1, 1, 2))}], [one], relation_names=["P1", "P2"], threshold=0.5
    )
    assert (result["candidates"], result["auc"], result["pr_auc"], result["best_f1"]) == (0, 0.0, 0.0, 0.0)
    assert score(docred, [{"title": "d", "scores": []}], [one], relation_names=["P1"], threshold=0.5)["candidates"] == 0
    assert (
        score(docred, [{"title": "d", "scores": np.zeros((0, 1))}], [one], relation_names=["P1"], threshold=0.5)["f1"]
        == 0
    )
    result = score(docred, [], [document(labels=[(0, 1, "P1")])])
    assert (result["recall"], result["auc"], result["best_threshold"]) == (0.0, 0.5, None)
    with pytest.warns(UserWarning, match="no fact"):
        result = docred.compute(predictions=[fact(0, 1, "P1")], references=[document()])
    assert result["no_gold"] is True and result["candidates"] == 1 and result["n_relations"] == 0
    assert "no_gold" not in score(docred, [], [document()])


def test_best_threshold(docred):
    reference = document(labels=[(0, 1, "P1"), (1, 0, "P1")])

    def best(*scores):
        names = [(0, 1), (1, 0), (0, 2), (2, 0)]
        facts = [fact(*pair, "P1", score=s) for pair, s in zip(names, scores, strict=False)]
        result = score(docred, facts, [reference])
        again = score(docred, facts, [reference], threshold=result["best_threshold"])
        assert again["f1"] == result["best_f1"]
        return result["best_threshold"]

    assert best(0.9, 0.8, 0.5) == (0.8 + 0.5) / 2
    assert best(0.9, 0.8) is None
    assert best(0.9, 0.8, -INFINITY) == LOWEST
    assert best(INFINITY, INFINITY, 3.0) == 3.0
    assert best(0.5, 0.5, np.nextafter(0.5, 0)) == np.nextafter(0.5, 0)
    assert best(-INFINITY, -INFINITY) is None
    assert best(-INFINITY, 0.5) is None
    assert best(1.7e308, 1.7e308, 1.6e308) == pytest.approx(1.65e308)


def test_tied_first_step_adds_an_area(docred):
    reference = document(labels=[(0, 1, "P1"), (1, 0, "P1")])
    tied = score(docred, [fact(0, 1, "P1"), fact(0, 2, "P1")], [reference])
    assert tied["pr_auc"] == 0.5 * 0.5
    assert score(docred, [fact(0, 1, "P1")], [reference])["pr_auc"] == 0.0


def test_threshold_na(docred):
    reference = document(n=2, labels=[(0, 1, "P1")])
    scores = np.zeros((2, 2, 3), np.float16)
    scores[0, 1] = [-2, -1, -3]  # no relation, P1, P2
    scores[1, 0] = [5, 4, 6]
    names = ["Na", "P1", "P2"]
    result = score(docred, [{"title": "d", "scores": scores}], [reference], relation_names=names, threshold="na")
    assert (result["true_positives"], result["predicted"]) == (1, 2)
    assert result["best_f1"] == pytest.approx(200 / 3)
    scores[1, 0] = [INFINITY, INFINITY, -INFINITY]
    result = score(docred, [{"title": "d", "scores": scores}], [reference], relation_names=names, threshold="na")
    assert (result["f1"], result["best_threshold"], result["auc"]) == (100.0, 0.5, 1.0)
    for wrong in ([fact(0, 1, "P1")], [{"title": "d", "relations": [{"h_idx": 0, "t_idx": 1, "r": "P1"}]}]):
        with pytest.raises(ValueError, match=r"predictions\[0\].*threshold='na'"):
            docred.compute(predictions=wrong, references=[reference], relation_names=names, threshold="na")
    with pytest.raises(ValueError, match="no-relation column"):
        docred.compute(predictions=[], references=[reference], relation_names=["P1"], threshold="na")


def test_training_in_every_form(docred, tmp_path):
    reference = document(labels=[(0, 1, "P1"), (1, 2, "P1")])
    shown = document("old", 2, [(0, 1, "P1")])
    shown["vertexSet"] = [[{"name": "d e0"}, {"name": "x"}], [{"name": "d e1"}, {"name": "y"}]]
    triples = [["d e0", "d e1", "P1"], ["x", "d e1", "P1"], ["d e0", "d e1", "P5"]]
    files = {}
    for name, value in (("train.json", [shown]), ("train.fact", triples), ("hub.json", hub_rows([shown]))):
        files[name] = tmp_path / name
        files[name].write_text(json.dumps(value))
    files["train.json.gz"] = tmp_path / "train.json.gz"
    files["train.json.gz"].write_bytes(gzip.compress(json.dumps([shown]).encode()))
    facts = [*as_facts([reference]), fact(0, 2, "P1")]
    given = [{"train": v} for v in ([shown], hub_rows([shown]), datasets.Dataset.from_list([shown]))]
    given += [{"train_facts": v} for v in (triples, tuple(map(tuple, triples)), np.array(triples))]
    given += [{option: path} for path in files.values() for option in ("train", "train_facts")]
    given += [{"train": [], "train_facts": triples}]
    for options in given:
        result = score(docred, facts, [reference], **options)
        assert result["ign_precision"] == 50.0 and result["ign_distant_f1"] is None, options
        assert result["ign_f1"] == pytest.approx(200 / 3)
        distant = {name.replace("train", "train_distant"): value for name, value in options.items()}
        result = score(docred, facts, [reference], **distant)
        assert result["ign_distant_precision"] == 50.0 and result["ign_f1"] is result["ign_auc"] is None
    assert score(docred, facts, [reference], train=[shown])["ign_auc"] is not None


@pytest.mark.parametrize("facts", [[], [["d e0", "P1", "d e1"]], [["d e0", "d e1", "capital of"]]])
def test_training_facts_without_a_relation_of_the_references_are_told(docred, facts):
    reference = document(labels=[(0, 1, "P1")])
    for name in ("train", "train_distant"):
        with pytest.warns(
            UserWarning, match=f"^{name}: no training fact has a relation of the references, such as 'P1'"
        ):
            docred.compute(predictions=[], references=[reference], **{f"{name}_facts": facts})


def test_kinds_of_error(docred):
    reference = document("d", 6, [(0, 1, "P1"), (2, 3, "P1"), (4, 5, "P2"), (0, 5, "P3"), (3, 0, "P4"), (1, 2, "P5")])
    facts = [
        fact(1, 0, "P1"),  # the inverse
        fact(2, 3, "P2"),  # another relation
        fact(1, 5, "P2"),  # another head
        fact(0, 4, "P3"),  # another tail
        fact(0, 3, "P3"),  # the inverse, with another relation
        fact(5, 1, "P9"),  # nothing like it
        fact(0, 1, "P9", "x"),
    ]
    result = score(docred, facts, [reference], return_errors=True, per_document=True)
    kinds = Counter(error["kind"] for error in result["errors"])
    assert kinds == Counter(
        wrong_direction=1, wrong_relation=1, wrong_head=1, wrong_tail=1, several=1, spurious=2, missed=1
    )
    by_kind = {error["kind"]: error for error in result["errors"]}
    assert by_kind["wrong_direction"] == {
        "record": "d",
        "component": "fact",
        "kind": "wrong_direction",
        "prediction": {"h_idx": 1, "t_idx": 0, "r": "P1"},
        "reference": {"h": 0, "t": 1, "r": "P1"},
    }
    assert [row["id"] for row in result["per_document"]] == ["d", "x"]
    assert result["per_document"][0] == {"id": "d", "true_positives": 0, "predicted": 6, "gold": 6}
    names = ["P1", "P2", "P3", "P4", "P5", "P9"]
    dense = as_dense([reference], facts[:-1], names)
    again = score(docred, dense, [reference], relation_names=names, threshold=0.5, return_errors=True)
    key = lambda error: json.dumps(error, sort_keys=True)  # noqa: E731
    assert sorted(map(key, again["errors"])) == sorted(key(e) for e in result["errors"] if e["record"] == "d")
    named = [{"title": "d", "head": f"d e{f['h_idx']}", "tail": f"D  E{f['t_idx']}", "r": f["r"]} for f in facts[:-1]]
    again = score(docred, named, [reference], match="names", return_errors=True)
    assert Counter(error["kind"] for error in again["errors"]) == kinds - Counter(spurious=1)


@relaxed
@given(st.data())
def test_errors_account_for_every_mistake(docred, data):
    documents = data.draw(corpora())
    facts = data.draw(predicted_facts(documents))
    result = score(docred, facts, documents, return_errors=True, per_document=True)
    errors = result["errors"]
    assert sum(e["prediction"] is not None for e in errors) == result["predicted"] - result["true_positives"]
    assert sum(e["reference"] is not None for e in errors) == result["gold"] - result["true_positives"]
    for name in ("true_positives", "predicted", "gold"):
        assert sum(row[name] for row in result["per_document"]) == result[name]
    mended = list(facts)
    for error in errors:
        if error["kind"] not in ("spurious", "missed"):
            wrong, right = error["prediction"], error["reference"]
            mended = [f for f in mended if (f["title"], *(f[k] for k in wrong)) != (error["record"], *wrong.values())]
            mended.append(fact(right["h"], right["t"], right["r"], error["record"]))
    n_mended = sum(e["kind"] not in ("spurious", "missed") for e in errors)
    assert score(docred, mended, documents)["true_positives"] == result["true_positives"] + n_mended


@relaxed
@given(st.data())
def test_order_and_batches_change_nothing(docred, data):
    documents = data.draw(corpora())
    facts = data.draw(predicted_facts(documents))
    for f in facts:
        f["evidence"] = sorted({f["h_idx"], f["t_idx"]})  # of repeated facts the first one counts
    whole = score(docred, facts, documents)
    facts, documents = data.draw(st.permutations(facts)), data.draw(st.permutations(documents))
    for f in facts:
        docred.add_batch(predictions=[f] if f["t_idx"] % 2 else as_records([f]))
    for d in documents:
        docred.add(reference=d)
    assert score(docred, None, None) == whole


def test_processes_share_records(tmp_path):
    reference = [document(t, labels=[(0, 1, "P1")]) for t in ("a", "b")]
    parts = [
        load("docred", num_process=2, process_id=i, experiment_id="docred", cache_dir=str(tmp_path)) for i in (0, 1)
    ]
    names = ["P1", None]
    cube = as_dense(reference[1:], [fact(0, 1, "P1", "b")], names)
    import threading

    results = {}

    def run(i, predictions):
        results[i] = parts[i].compute(
            predictions=predictions, references=[reference[i]], relation_names=names, threshold=0.5
        )

    other = threading.Thread(target=run, args=(1, cube))
    other.start()
    run(0, [fact(0, 1, "P1", "a")])
    other.join()
    assert results[1] is None and results[0]["f1"] == 100 and results[0]["gold"] == 2


def test_dataset_rows(docred):
    documents = [document(t, 3, [(0, 1, "P1", [0]), (1, 2, "P2", [])]) for t in "ab"]
    rows = datasets.Dataset.from_list(hub_rows(documents))
    assert isinstance(rows[0]["labels"], dict)
    facts = as_facts(documents)
    assert score(docred, facts, rows)["f1"] == 100
    assert score(docred, datasets.Dataset.from_list(facts), documents)["f1"] == 100
    assert score(docred, datasets.Dataset.from_list(as_records(facts)), documents)["f1"] == 100
    columns = {key: [f[key] for f in facts] for key in facts[0]}
    assert score(docred, columns, documents)["f1"] == 100
    by_column = [
        {"title": r["title"], "relations": {k: [x[k] for x in r["relations"]] for k in r["relations"][0]}}
        for r in as_records(facts)
    ]
    assert score(docred, by_column, documents)["f1"] == 100
    dense = as_dense(documents, facts, ["P1", "P2"], pairs=True)
    stored = datasets.Dataset.from_list([{**d, "scores": d["scores"].tolist()} for d in dense])
    assert score(docred, stored, documents, relation_names=["P1", "P2"], threshold=0.5)["f1"] == 100
    cubes = [{**d, "scores": np.nan_to_num(d["scores"])} for d in as_dense(documents, facts, ["P1", "P2"])]
    features = datasets.Features({"title": datasets.Value("string"), "scores": datasets.Array3D((3, 3, 2), "float32")})
    stored = datasets.Dataset.from_list(cubes, features=features)
    assert score(docred, stored, documents, relation_names=["P1", "P2"], threshold=0.5)["f1"] == 100


def test_kept_scores_are_copies(docred):
    documents = [document(n=2, labels=[(0, 1, "P1")])]
    cube = np.zeros((2, 2, 1))
    cube[0, 1] = 1
    docred.add_batch(predictions=[{"title": "d", "scores": cube}], references=documents)
    cube[:] = 0
    assert score(docred, None, None, relation_names=["P1"], threshold=0.5)["f1"] == 100


def test_signature(docred):
    result = score(docred, [fact(0, 1, "P1")], [document(labels=[(0, 1, "P1")])], threshold=0.25)
    assert result["signature"] == (
        "docred|v:2.0.0|pairing:title|match:indices|threshold:0.25|relations:references|train:no|train_distant:no"
    )
    assert "|threshold:listed|" in score(docred, [], [document()])["signature"]
    result = score(docred, [], [document()], relation_names=["P1"], train_facts=[["a", "b", "P1"]], match="names")
    wanted = "|match:names|threshold:listed|relations:given|train:yes|train_distant:no|relation_info:no"
    assert result["signature"].endswith(wanted)


# --- every listed fact ------------------------------------------------------------------------------------------------


def script(facts, documents, train):
    """The figures of the benchmark's script, which knows no scores: a fact that is listed is predicted."""
    std, vertex_sets, n_evidence = {}, {}, 0
    for d in documents:
        vertex_sets[d["title"]] = d["vertexSet"]
        for label in d["labels"]:
            std[d["title"], label["r"], label["h"], label["t"]] = set(label["evidence"])
            n_evidence += len(label["evidence"])
    order = sorted(facts, key=lambda f: (f["title"], f["h_idx"], f["t_idx"], f["r"]))
    key = lambda f: (f["title"], f["r"], f["h_idx"], f["t_idx"])  # noqa: E731
    answer = [f for at, f in enumerate(order) if not at or key(f) != key(order[at - 1])]
    correct = seen = right_evidence = listed_evidence = 0
    for f in answer:
        if f["title"] not in vertex_sets:
            continue
        evidence = set(f.get("evidence", []))
        listed_evidence += len(evidence)
        if key(f) in std:
            correct += 1
            right_evidence += len(std[key(f)] & evidence)
            sides = (vertex_sets[f["title"]][f[name]] for name in ("h_idx", "t_idx"))
            seen += any((a["name"], b["name"], f["r"]) in train for a, b in itertools.product(*sides))
    recall = correct / len(std)
    f1 = lambda precision, recall: 100 * 2 * precision * recall / (precision + recall)  # noqa: E731
    return {
        "f1": f1(correct / len(answer), recall),
        "ign_f1": f1((correct - seen) / (len(answer) - seen), recall),
        "evidence": f1(right_evidence / listed_evidence, right_evidence / n_evidence),
    }


@pytest.mark.parametrize("seed", [1, 2])
def test_scores_of_a_result_file_only_rank(docred, gold, seed):
    source = benchmark_file("docred/test_revised.json")
    facts = json.loads(perturbed("docred-scores", source, seed))
    train = spanscore.formats.docred.training_triples(json.loads(benchmark_file("docred/dev_revised.json").read_text()))
    assert min(f["score"] for f in facts) < 0.5
    result = score(docred, facts, gold, train_facts=train)
    wanted = script(facts, gold, set(map(tuple, train)))
    assert result["f1"] == pytest.approx(wanted["f1"], abs=1e-9)
    assert result["ign_f1"] == pytest.approx(wanted["ign_f1"], abs=1e-9)
    assert result["evidence"]["f1"] == pytest.approx(wanted["evidence"], abs=1e-9)
    unscored = [{key: value for key, value in f.items() if key != "score"} for f in facts]
    plain = score(docred, unscored, gold, train_facts=train)
    assert {key: plain[key] for key in HEADLINE} == {key: result[key] for key in HEADLINE}
    assert "|threshold:listed|" in result["signature"]
    best = score(docred, facts, gold, threshold=result["best_threshold"])
    assert best["f1"] == result["best_f1"] >= result["f1"]


def test_listed_facts_of_any_score_are_predicted(docred):
    reference = document(labels=[(0, 1, "P1"), (1, 0, "P1")])
    facts = [fact(0, 1, "P1", score=-INFINITY), fact(1, 0, "P1", score=-3), fact(0, 2, "P1", score=0)]
    for options in ({}, {"threshold": None}):
        result = score(docred, facts, [reference], return_errors=True, **options)
        assert (result["true_positives"], result["predicted"], len(result["matched"])) == (2, 3, 2)
        assert (result["best_threshold"], result["best_f1"]) == (None, result["f1"])
        assert result["curve"]["threshold"][-1] is None and len(result["errors"]) == 1


def test_best_threshold_of_dense_scores(docred):
    reference = document(n=2, labels=[(0, 1, "P1"), (1, 0, "P1")])
    for dtype, lowest in itertools.product((np.float16, np.float32, np.float64), (0.25, -8.0)):
        dense = as_dense(
            [reference], [fact(0, 1, "P1", score=1.0), fact(1, 0, "P1", score=lowest)], ["P1"], dtype=dtype
        )
        result = score(docred, dense, [reference], relation_names=["P1"], threshold=0.5)
        assert result["best_threshold"] == np.nextafter(lowest, -INFINITY) and result["best_f1"] == 100
        again = score(docred, dense, [reference], relation_names=["P1"], threshold=result["best_threshold"])
        assert again["f1"] == 100


# --- no relation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("none", ["Na", "NA", "no_relation"])
def test_facts_of_no_relation_predict_nothing(docred, none):
    documents = [document(labels=[(0, 1, "P1", [0]), (1, 0, none, [1])])]
    facts = [fact(0, 1, "P1", evidence=[0], score=0.5)]
    plain = score(docred, facts, [document(labels=[(0, 1, "P1", [0])])])
    more = [fact(h, t, none, evidence=[2], score=9.0) for h, t in ((0, 1), (1, 2), (1, 2))]
    for predictions in ([*more, *facts], as_records([*more, *facts])):
        for references in (documents, hub_rows(documents)):
            result = score(docred, predictions, references)
            assert (plain.pop("no_relation_predictions", 0), result.pop("no_relation_predictions")) == (0, 3)
            assert result == plain
            named = score(docred, predictions, references, relation_names=["P1"], return_errors=True)
            assert named["f1"] == 100 and named["errors"] == [] and named["no_relation_predictions"] == 3
    train = [["d e0", "d e1", "P1"], ["d e0", "d e1", none]]
    result = score(docred, facts, documents, train_facts=train)
    assert (result["n_relations"], result["candidates"]) == (1, 6)
    refused(docred, "predictions[0].r: None is not a relation", [fact(0, 1, None)])
    refused(docred, "predictions[0].h_idx: 7 is past the end", [fact(7, 1, none)])
    empty = score(docred, [fact(0, 1, none)], [document(labels=[(0, 1, none)])])
    assert (empty["gold"], empty["predicted"], empty["per_relation"]) == (0, 0, {}) and "no_gold" not in empty


@pytest.mark.parametrize("none", [None, "Na", "NA", "no_relation"])
def test_the_column_of_no_relation(docred, none):
    reference = document(n=2, labels=[(0, 1, "P1")])
    scores = np.zeros((2, 2, 2))
    scores[0, 1] = [1, 2]
    dense = [{"title": "d", "scores": scores}]
    result = score(docred, dense, [reference], relation_names=[none, "P1"], threshold="na")
    assert (result["f1"], result["n_relations"]) == (100, 1)
    beside = [*dense, {"title": "d", "relations": [{"h_idx": 1, "t_idx": 0, "r": "Na"}]}]
    assert score(docred, beside, [reference], relation_names=[none, "P1"], threshold="na")["f1"] == 100


# --- names of relations, facts under the names of the Hub -------------------------------------------------------------


def test_relation_names_as_dicts(docred):
    reference = document(n=2, labels=[(0, 1, "P1")])
    scores = np.zeros((2, 2, 3))
    scores[0, 1] = [0, 0, 1]
    dense = [{"title": "d", "scores": scores}]
    wanted = score(docred, dense, [reference], relation_names=["Na", "P2", "P1"], threshold=0.5)
    assert wanted["f1"] == 100
    for names in (
        {"P1": 2, "Na": 0, "P2": 1},
        {"P1": np.int64(2), "P2": 1, None: 0},
        {2: "P1", 0: "Na", 1: "P2"},
        {"2": "P1", "0": "Na", "1": "P2"},
        {2: "P1", 0: None, 1: "P2"},
        np.array(["Na", "P2", "P1"]),
    ):
        assert score(docred, dense, [reference], relation_names=names, threshold=0.5) == wanted
    for names, words in (
        ({"P1": 0, "P2": 2}, "relation_names: no name has the index 1, expected each index from 0 to 1"),
        ({"P1": 1, "P2": 1}, "relation_names['P2']: 1 is the index of 'P1' too, expected each index once"),
        ({0: "P1", "0": "P2"}, "relation_names['0']: 0 is the index of 'P1' too"),
        ({1: "P1", 2: "P2"}, "relation_names: no name has the index 0"),
        ({0: "P1", 1: "P1"}, "relation_names[1]: 'P1' repeats [0]"),
        ({"Na": 0, "no_relation": 1}, "relation_names[1]: 'no_relation' repeats [0]"),
        ({"P1": "country"}, "relation_names['P1']: 'P1' is not an index"),
        ({"P1": 0.5}, "relation_names['P1']"),
        ({"P1": True}, "relation_names['P1']"),
        ({"P1": -1}, "relation_names['P1']"),
        ({0: 3.5}, "relation_names[0]: 3.5 is not a relation"),
    ):
        refused(docred, words, relation_names=names)


def test_facts_under_the_names_of_the_hub(docred):
    documents = [document(title, 3, [(0, 1, "P1", [0]), (1, 2, "P2", [1])]) for title in "ab"]
    facts = as_facts(documents)
    wanted = score(docred, facts, documents)
    names = {"h_idx": "head", "t_idx": "tail", "r": "relation_id"}
    flat = [{names.get(key, key): value for key, value in f.items()} for f in facts]
    columns = [
        {"title": r["title"], "relations": {key: [f[key] for f in r["relations"]] for key in r["relations"][0]}}
        for r in as_records(flat)
    ]
    with_text = [{**f, "relation_text": "words"} for f in flat]
    forms = [flat, as_records(flat), columns, {key: [f[key] for f in flat] for key in flat[0]}, with_text]
    forms += [[flat[0], *facts[1:]], datasets.Dataset.from_list(flat), datasets.Dataset.from_list(columns)]
    forms += [[{**f, "head": float(f["head"]), "tail": np.int32(f["tail"])} for f in flat]]
    forms += [[{**f, "h_idx": f["head"]} for f in flat]]
    for predictions in forms:
        assert score(docred, predictions, documents) == wanted
    refused(docred, "predictions[0].head: 2 contradicts 0, given as h_idx", [{**facts[0], "head": 2}], documents)
    refused(docred, "predictions[0].h_idx: 7 is past the end", [{**flat[0], "head": 7}], documents)
    refused(docred, "contradicts 'P1', given under another name", [{**flat[0], "r": "P9"}], documents)
    for wrong in (True, 0.5, -1, [0]):
        refused(docred, "predictions[0].head: ", [{**flat[0], "head": wrong}], documents)
    words = "predictions[0].head: missing, expected a name, which match='names' needs; head and tail are 0, 1"
    refused(docred, words, flat, documents, match="names")
    # A number in a text is a name.
    words = (
        "predictions[0].h_idx: missing, expected an entity index (a whole number from 0), which match='indices' needs"
    )
    refused(docred, words, [{**flat[0], "head": "0", "tail": "1"}], documents)


def test_gold_documents_are_no_predictions(docred):
    documents = [document(labels=[(0, 1, "P1")])]
    for gold_documents in (documents, hub_rows(documents), datasets.Dataset.from_list(hub_rows(documents))):
        refused(docred, "predictions[0]: a document with gold labels, expected a prediction", gold_documents)
    with_relations = [{**documents[0], "relations": [{"h_idx": 0, "t_idx": 1, "r": "P1"}]}]
    assert score(docred, with_relations, documents)["f1"] == 100


def test_errors_name_the_keys_that_are_there(docred):
    label = {"h": 0, "t": 1, "r": "P1"}
    for predictions, place in (
        ([{"title": "d", **label}], ""),
        ([{"title": "d", "relations": [label]}], ".relations[0]"),
    ):
        with pytest.raises(ValueError) as error:
            docred.compute(predictions=predictions, references=GOOD["references"])
        message = str(error.value)
        assert message.startswith(f"predictions[0]{place}.h_idx: missing") and "the keys there are " in message
        assert "'h', 't', 'r'" in message
    columns = [{"title": "d", "relations": {"h": [0], "t": [1], "r": ["P1"]}}]
    refused(docred, "the keys there are 'h', 't', 'r'", columns)
    dense = [{"title": "d", "scores": np.zeros((3, 3, 1))}, {"title": "e", "facts": []}]
    refused(
        docred,
        "predictions[1].relations: missing, expected a list of facts; the keys there are 'title', 'facts'",
        dense,
    )


# --- bad input --------------------------------------------------------------------------------------------------------

GOOD = {
    "predictions": [fact(0, 1, "P1", evidence=[0], score=1.0)],
    "references": [document(labels=[(0, 1, "P1", [0])])],
}


def test_fact_from_an_entity_to_itself(docred):
    refused(docred, "predictions[0].t_idx: 1 is the head too", [fact(1, 1, "P1")])
    refused(docred, "predictions[0].relations[0].t_idx: 1 is the head too", as_records([fact(1, 1, "P1", "x")]))
    refused(docred, "references[0].labels[0].t: 2 is the head too", references=[document(labels=[(2, 2, "P1")])])
    assert score(docred, *GOOD.values(), train=[document(labels=[(2, 2, "P1")])])["ign_f1"] == 100


def refused(docred, words, predictions=None, references=None, **options):
    predictions = GOOD["predictions"] if predictions is None else predictions
    references = GOOD["references"] if references is None else references
    with pytest.raises(ValueError) as caught:
        docred.compute(predictions=predictions, references=references, **options)
    message = str(caught.value)
    assert words in message and "\n" not in message, message
    docred.add_batch(**GOOD)
    with pytest.raises(ValueError):
        docred.compute(predictions=predictions, references=references or GOOD["references"], **options)
    assert score(docred, None, None)["f1"] == 100  # still there


def nested(value, path, leaf):
    """A copy with one place changed, or taken out."""
    value = pickle.loads(pickle.dumps(value))  # noqa: S301
    at = value
    for step in path[:-1]:
        at = at[step]
    if leaf is KeyError:
        del at[path[-1]]
    else:
        at[path[-1]] = leaf
    return value


RECORD = [{"title": "d", "relations": [{"h_idx": 0, "t_idx": 1, "r": "P1", "evidence": [0], "score": 0.9}]}]


@pytest.mark.parametrize(
    "key, wrong",
    [
        ("title", [None, 1.5, KeyError, ["d"]]),
        ("r", [None, 3, KeyError, " ", ["P1"]]),
        ("h_idx", [None, KeyError, -1, 0.5, "0", True, 3, 2**40]),
        ("t_idx", [None, KeyError, -1, 0.5, "1", False, 3, 0]),
        ("evidence", [0, "0", [-1], [0.5], ["a"], [None], [True]]),
        ("score", ["1", float("nan"), True, [1.0], 10**400]),
    ],
)
def test_wrong_facts(docred, key, wrong):
    for value in wrong:
        refused(docred, f"predictions[0].{key}", nested(GOOD["predictions"], [0, key], value))
        at = [0, key] if key == "title" else [0, "relations", 0, key]
        place = "predictions[0].title" if key == "title" else f"predictions[0].relations[0].{key}"
        refused(docred, place, nested(RECORD, at, value))


@pytest.mark.parametrize(
    "path, wrong",
    [
        (["title"], [None, KeyError, 0.5]),
        (["vertexSet"], [None, KeyError, 3, "ab", {}]),
        (["vertexSet", 0], [None, 3, {}]),
        (["vertexSet", 0, 0], [None, 3, "Ann"]),
        (["vertexSet", 0, 0, "name"], [3, ["a"]]),
        (["vertexSet", 0, 0, "sent_id"], [-1, 0.5, "0", True, None, KeyError]),
        (["labels"], [None, KeyError, 3, {}, "x", {"head": [0], "tail": [1], "relation_id": []}]),
        (["labels", 0], [None, 3, []]),
        (["labels", 0, "h"], [None, KeyError, -1, 3, 1, "0", 0.5, True]),
        (["labels", 0, "t"], [None, KeyError, -1, 3, 0, "0", 0.5]),
        (["labels", 0, "r"], [None, KeyError, 3, ""]),
        (["labels", 0, "evidence"], [3, [-1], ["a"], [0.5], [None]]),
    ],
)
def test_wrong_documents(docred, path, wrong):
    place = "references[0]"
    for step in path:
        place += f"[{step}]" if isinstance(step, int) else f".{step}"
    for value in wrong:
        refused(docred, place.rsplit(".h", 1)[0], references=nested(GOOD["references"], [0, *path], value))
    if path[0] == "vertexSet" and len(path) < 4 and None in wrong:
        refused(docred, "train[0].vertexSet", train=nested(GOOD["references"], [0, *path], None))


def test_wrong_hub_columns(docred):
    row = hub_rows(GOOD["references"])[0]
    for column, value, words in (
        ("head", [5], "references[0].labels[0].h"),
        ("head", [1.5], "references[0].labels[0].h"),
        ("tail", None, "references[0].labels[0].t"),
        ("relation_id", "P1", "references[0].labels.relation_id"),
        ("evidence", [], "columns differ in length"),
    ):
        refused(docred, words, references=[{**row, "labels": {**row["labels"], column: value}}])
    both = {**row["labels"], "h": [1]}
    refused(docred, "contradicts", references=[{**row, "labels": both}])


@pytest.mark.parametrize("facts", [{1}, {"a": 1}.keys(), pandas.Series([{"h_idx": 1}], index=[7])])
def test_facts_in_sequences_without_indices(docred, facts):
    refused(docred, "predictions[0].relations[0]", [{"title": "d", "relations": facts}])
    by_name = namedtuple("Prediction", "title relations")  # read by its names, as a dict is
    refused(docred, "predictions[0].relations[0].h_idx: missing", [by_name("d", [{"r": "P1"}])])
    assert score(docred, [by_name("d", [fact(0, 1, "P1")])], [document(labels=[(0, 1, "P1")])])["f1"] == 100


def test_facts_as_tables(docred):
    facts = pandas.DataFrame([fact(1, 0, "P1", "e"), fact(0, 1, "P1", "d")])
    references = [document("d", labels=[(0, 1, "P1")]), document("e", labels=[(1, 0, "P1")])]
    by_title = [{"title": title, "relations": rows} for title, rows in facts.groupby("title")]
    for given_as in (facts, facts[::-1], by_title, pyarrow.Table.from_pandas(facts)):
        assert score(docred, given_as, references)["f1"] == 100
    dense = {"title": ["d"], "scores": [np.eye(3)[:, :, None].tolist()]}
    for given_as in (pandas.DataFrame(dense), pyarrow.table(dense)):
        assert score(docred, given_as, references, relation_names=["P1"], threshold=0.5)["predicted"] == 0


def test_wrong_dense_scores(docred):
    good = np.zeros((3, 3, 2))
    names = ["P1", None]
    bad = good.copy()
    bad[0, 1, 1] = np.nan
    off = good.copy()
    off[1, 1, 1] = np.nan
    assert (
        score(docred, [{"title": "d", "scores": off}], GOOD["references"], relation_names=names, threshold=0.5)[
            "predicted"
        ]
        == 0
    )
    for value, words in (
        (bad, "predictions[0].scores[0, 1, 1]: nan"),
        (np.ma.masked_invalid(bad), "predictions[0].scores[0, 1, 1]: a masked value is not a number"),
        (np.ma.masked_greater(np.ones((3, 3, 2), int), 0), "predictions[0].scores[0, 1, 0]: a masked value"),
        (good[:2], "shape (2, 3, 2)"),
        (np.zeros((5, 2)), "shape (5, 2)"),
        (np.zeros((6, 3)), "expected (3, 3, 2) or (6, 2)"),
        (np.zeros((2, 2, 2)), "for 3 entities"),
        (3, "predictions[0].scores"),
        ("abc", "predictions[0].scores"),
        (good > 0, "predictions[0].scores"),
        (good.astype(complex), "predictions[0].scores"),
        ([[True, 0.5]] * 6, "predictions[0].scores"),
        ([[1, 2], [3]], "predictions[0].scores"),
        ([["a", "b"]] * 6, "predictions[0].scores"),
        ([[None, 1.0]] * 6, "predictions[0].scores"),
        ({}, "predictions[0].scores"),
        (np.zeros(3), "shape (3,)"),
    ):
        refused(docred, words, [{"title": "d", "scores": value}], relation_names=names, threshold=0.5)
    dense = [{"title": "d", "scores": good}]
    refused(docred, "relation_names: missing", dense, threshold=0.5)
    words = 'threshold: missing, expected a number or "na" for the dense scores of predictions[0]'
    refused(docred, words, dense)
    refused(docred, words, [*dense, {"title": "x", "relations": []}], relation_names=names)
    refused(docred, "3 relation_names", dense, relation_names=["P1", "P2", "P3"], threshold=0.5)
    refused(docred, "match='names'", dense, relation_names=names, threshold=0.5, match="names")
    refused(docred, "predictions[0].title", [{"scores": good}], relation_names=names, threshold=0.5)
    refused(docred, "predictions[1].relations: missing", [*dense, {"title": "e"}], relation_names=names, threshold=0.5)
    unknown = [{"title": "x", "scores": np.zeros((2, 2, 2))}, {"title": "x", "scores": np.zeros((3, 3, 2))}]
    refused(docred, "predictions[1].scores", unknown, relation_names=names, threshold=0.5)


def test_wrong_options(docred, tmp_path):
    for option, wrong in {
        "threshold": ["NA", True, float("nan"), [0.5], "listed"],
        "relation_names": ["P1", 3, [3], ["P1", "P1"], ["P1", None, "Na"], ["NA", "no_relation"], [""], {"P1"}],
        "match": ["name", None, 1],
        "per_document": [1, "yes", None],
        "return_errors": [1, "yes", None],
        "train": [3, "no such file", [3], [{"vertexSet": []}], {"a": 1}],
        "train_facts": [3, "no such file", [3], [["a", "b"]], [["a", "b", 3]], [["a", "b", "c", "d"]], {"a": 1}],
        "train_distant": [3, "no such file"],
        "train_distant_facts": [3, b"ab"],
        "confidence": [1],
    }.items():
        for value in wrong:
            refused(docred, option, **{option: value})
    (tmp_path / "train.json").write_text("[{]")
    refused(docred, "train.json:1: not JSON", train=str(tmp_path / "train.json"))
    (tmp_path / "train.json").write_text("{}")
    refused(docred, "expected a JSON file", train=tmp_path / "train.json")
    refused(
        docred, "predictions[0].r: 'P1' is not one of relation_names", relation_names=["P2"], references=[document()]
    )
    refused(docred, "references[0].labels[0].r: 'P1'", relation_names=["P2"])
    refused(docred, "predictions[0].head: missing", match="names")
    refused(docred, "predictions[0].h_idx: missing", [{"title": "d", "head": "a", "tail": "b", "r": "P1"}])
    refused(docred, "predictions[0].tail: missing", [{"title": "d", "head": "a", "r": "P1"}])
    unnamed = nested(GOOD["references"], [0, "vertexSet", 1, 0, "name"], KeyError)
    refused(docred, "references[0].vertexSet[1][0].name: missing", references=unnamed, train_facts=[])
    refused(docred, "train[0].vertexSet[1][0].name: missing", train=unnamed)
    assert score(docred, GOOD["predictions"], unnamed)["f1"] == 100


def test_wrong_sides(docred):
    refused(docred, "references: there are none", references=[])
    refused(docred, "repeated titles 'd'", references=GOOD["references"] * 2)
    with pytest.raises(ValueError, match="there are none"):
        docred.compute(predictions=[])
    docred.add_batch(references=GOOD["references"])
    with pytest.raises(ValueError, match="repeated titles 'd'"):
        docred.compute(references=GOOD["references"], predictions=[])
    assert score(docred, GOOD["predictions"], None)["f1"] == 100
    for wrong in (3, "ab", [3], [None], [[]], [{}], {"a": [1]}):
        refused(docred, "predictions", predictions=wrong)
        if wrong:
            refused(docred, "references", references=wrong)
    with pytest.raises(ValueError, match="not an input"):
        docred.add_batch(predictions=[], references=[], labels=[])


def test_without_sentences(docred):
    documents = [document("d", 3, [(0, 1, "P1", [0]), (1, 2, "P1", [0, 1])])]
    for entity in documents[0]["vertexSet"]:
        del entity[0]["sent_id"]
    result = score(docred, as_facts(documents), documents)
    assert result["intra"] is result["inter"] is result["inter_long"] is None
    assert result["by_evidence"]["single"]["recall"] == 100 and result["by_evidence"]["mix"] is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 6) | st.floats() | st.sampled_from(["d", "P1", "Ann", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "title",
                    "relations",
                    "scores",
                    "h_idx",
                    "t_idx",
                    "r",
                    "evidence",
                    "score",
                    "head",
                    "tail",
                    "vertexSet",
                    "labels",
                    "name",
                    "sent_id",
                    "h",
                    "t",
                    "relation_id",
                ]
            ),
            inner,
            max_size=6,
        )
    ),
    max_leaves=12,
)


@st.composite
def damaged(draw, value):
    """JSON with one place replaced by anything."""
    value = json.loads(json.dumps(value))
    path, at = [], value
    while isinstance(at, (list, dict)) and at and (not path or draw(st.integers(0, 4))):
        path.append(draw(st.sampled_from(sorted(at) if isinstance(at, dict) else range(len(at)))))
        at = at[path[-1]]
    return nested(value, path, draw(json_values | st.just(KeyError))) if path else draw(json_values)


@settings(relaxed, max_examples=300)
@given(st.data())
@example(None)
def test_arbitrary_json_gives_a_result_or_one_line(docred, data):
    if data is None:
        return
    documents = data.draw(corpora())
    forms = st.one_of(
        predicted_facts(documents).map(lambda facts: [{**f, "score": None} for f in facts]),
        predicted_facts(documents).map(lambda facts: as_records([{**f, "score": 0.75} for f in facts])),
        st.just(
            [{"title": d["title"], "scores": np.zeros((len(d["vertexSet"]),) * 2 + (2,)).tolist()} for d in documents]
        ),
    )
    predictions = data.draw(forms)
    references = data.draw(st.sampled_from([documents, hub_rows(documents)]))
    which = data.draw(st.integers(0, 3))
    if which != 1:
        predictions = data.draw(damaged(predictions) | json_values)
    if which != 2:
        references = data.draw(damaged(references) | json_values)
    options = data.draw(
        st.fixed_dictionaries(
            {},
            optional={
                "threshold": st.sampled_from([0.5, "na", 0.0]) | json_values,
                "relation_names": st.sampled_from([["P1", None], [*RELATIONS, "P9"]]) | json_values,
                "match": st.sampled_from(["names", "indices"]),
                "train": damaged(documents) | json_values,
                "train_facts": json_values | st.just([["Ann", "Bob", "P1"]]),
                "return_errors": st.just(True),
                "per_document": st.just(True),
            },
        )
    )
    try:
        score(docred, predictions, references, **options)
    except ValueError as error:
        assert "\n" not in str(error) and len(str(error)) < 600


def test_example_of_the_description():
    metric = load("docred")
    text = metric.inputs_description.replace('"docred_metric.py"', repr(str(ROOT / "docred_metric.py")))
    tests = doctest.DocTestParser().get_doctest(text, {}, "docred", None, 0)
    assert tests.examples and doctest.DocTestRunner().run(tests).failed == 0


def test_examples(docred):
    folder = ROOT / "examples" / "docred"
    documents, facts, names, train = (
        spanscore.formats.docred.read(folder / f"{name}").records
        for name in ("references.json", "predictions.json", "predictions_by_name.json", "train.fact")
    )
    result = score(docred, facts, documents, train_facts=train)
    agree(result, oracle(facts, documents, train=set(map(tuple, train))))
    assert (result["true_positives"], result["predicted"], result["gold"]) == (11, 16, 14)
    assert result["ign_f1"] < result["f1"] <= result["best_f1"]
    result = score(docred, facts, documents, train_facts=train, threshold=0.5)
    agree(result, oracle(facts, documents, 0.5, train=set(map(tuple, train))))
    assert (result["true_positives"], result["predicted"], result["gold"]) == (9, 13, 14)
    result = score(docred, names, documents, match="names")
    assert (result["true_positives"], result["predicted"]) == (3, 4)


def test_forms_in_one_batch_are_read_as_one_by_one(docred):
    documents = [document(title, 3, [(0, 1, "P1", [0]), (1, 2, "P1", [1])]) for title in "abc"]
    flat, records = as_facts(documents), as_records(as_facts(documents))
    cubes = as_dense(documents[2:], flat[4:], ["P1"])
    for mixed in (
        [*flat[:2], records[1], *flat[4:]],
        [records[0], *flat[2:4], records[2]],
        [*flat[:2], records[1], *cubes],
    ):
        options = {"threshold": 0.5, "relation_names": ["P1"]}
        whole = score(docred, mixed, documents, **options)
        for record in mixed:
            docred.add(prediction=record)
        assert whole == score(docred, None, documents, **options)
        assert whole["f1"] == 100
    broken = [flat[0], records[1], {"title": "c", "relations": [{"h_idx": 0, "t_idx": 0, "r": "P1"}]}, flat[1]]
    refused(docred, "predictions[2].relations[0].t_idx: 0 is the head too", broken, documents)
    refused(docred, "predictions[3].r: missing", [*records, {"title": "a", "h_idx": 0, "t_idx": 1}], documents)


def test_a_fact_beside_relations_or_scores_is_refused():
    document = {"title": "a", "vertexSet": [[{"name": "x"}], [{"name": "y"}]], "labels": []}
    fact = {"title": "a", "h_idx": 0, "t_idx": 1, "r": "P"}
    for more in ({"relations": []}, {"scores": np.zeros((2, 2, 1))}):
        with pytest.raises(ValueError, match=r"^predictions\[0\]\.h_idx: 0 is of a fact by itself"):
            load("docred").compute(predictions=[{**fact, **more}], references=[document], relation_names=["P"])
