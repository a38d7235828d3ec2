"""Relations of items in error: the arrays of each metric against plain functions of two items, for all pairs."""

import json

import numpy as np
import pytest
from conftest import perturbed
from hypothesis import given, settings
from hypothesis import strategies as st
from spanscore.metrics.matching import sharing

from spanscore.metrics import aste_metric, docred_metric, sentivent_metric


def dice(left, right):
    return 2 * len(set(left) & set(right)) / (len(left) + len(right))


def relate_triplets(predicted, gold, references):
    """Of triplets of token indices, or of terms as text."""
    terms = "aspect", "opinion"
    as_text = isinstance(predicted["aspect"], str)
    closeness = [float(predicted[t] == gold[t]) if as_text else dice(predicted[t], gold[t]) for t in terms]
    mispaired = (
        predicted["aspect"] in [t[0] for t in references]
        and predicted["opinion"] in [t[1] for t in references]
        and (predicted["aspect"], predicted["opinion"]) not in [tuple(t[:2]) for t in references]
    )
    kinds = {"wrong_polarity"} if predicted.get("polarity") != gold.get("polarity") else set()
    if all(closeness):
        kinds |= {f"wrong_{t}_boundary" for t in terms if predicted[t] != gold[t]}
    elif any(closeness) and mispaired:
        kinds.add("wrong_pairing")
    else:
        return None
    return kinds, sum(closeness) / 2


def relate_facts(predicted, gold, _):
    p, g = (predicted["h_idx"], predicted["t_idx"], predicted["r"]), (gold["h"], gold["t"], gold["r"])
    same = [left == right for left, right in zip(p, g, strict=True)]
    if p[:2] == g[1::-1]:
        kinds = {"wrong_direction"} | (set() if same[2] else {"wrong_relation"})
    elif same[0] and same[1]:
        kinds = {"wrong_relation"}
    elif same[2] and (same[0] or same[1]):
        kinds = {"wrong_tail" if same[0] else "wrong_head"}
    else:
        return None
    return kinds, sum(same) / 3


SPANS = ("trigger", "argument", "expression", "target")
ATTACHED = {"trigger, argument": {"trigger": {"type"}}, "expression, target": {"expression": {"polarity"}}}
ATTACHED["trigger, expression"] = {"trigger": set(), "expression": {"polarity"}}


def relate_annotations(predicted, gold, _):
    spans = [name for name in SPANS if name in predicted]
    closeness = {name: dice(predicted[name], gold[name]) for name in spans}
    wrong = {name for name in predicted if name not in spans and predicted[name] != gold[name]}
    apart = [name for name in spans if not closeness[name]]
    kinds = set()
    if not apart:
        if min(closeness.values()) < 1:
            kinds.add("wrong_boundary")
        if "type" in wrong:
            wrong.discard("subtype")
    else:
        attached = ATTACHED.get(", ".join(spans), {})
        if apart[0] not in attached or sum(closeness.values()) != 1:
            return None
        kinds.add("wrong_attachment")
        wrong -= attached[apart[0]]
    return kinds | {f"wrong_{name}" for name in wrong}, sum(closeness.values()) / len(spans)


def check(monkeypatch, module, metric, oracle, predictions, references, triplets=None, **options):
    """Compare what a metric finds about all pairs of each document with what the plain function finds."""
    compared = 0

    def check_pairs(component, records, predicted, gold, relate, kinds):
        nonlocal compared
        found = {}
        for edges in sharing(predicted.spans, predicted.document, gold.spans, gold.document):
            relations = relate(edges)
            for at in np.flatnonzero(relations.is_related).tolist():
                wrong = {kind for kind, is_wrong in zip(kinds, relations.wrong[:, at], strict=True) if is_wrong}
                found[int(edges.left[at]), int(edges.right[at])] = wrong, float(relations.closeness[at])
        expected = {}
        for i, document in enumerate(predicted.document.tolist()):
            for j in np.flatnonzero(gold.document == document).tolist():
                pair = oracle(predicted.show_at(i), gold.show_at(j), triplets and triplets[document])
                if pair is not None:
                    expected[i, j] = pair
        assert found == expected
        compared += len(expected)
        return []

    with monkeypatch.context() as patch:
        patch.setattr(module, "error_records", check_pairs)
        metric.compute(predictions=predictions, references=references, return_errors=True, **options)
    return compared


spans = st.sets(st.integers(0, 4), min_size=1, max_size=3).map(sorted)
triplets = st.tuples(spans, spans, st.sampled_from(["POS", "NEG"]))
sentences = st.lists(st.tuples(*[st.lists(triplets, max_size=5)] * 2), min_size=1, max_size=3)


def as_text(triplet):
    return str(triplet[0][0]), str(triplet[1][0]), triplet[2]


@settings(max_examples=40)
@given(sentences, st.sampled_from(["indices", "text", "pairs"]), st.sampled_from(["set", "count"]))
def test_triplets(sentences, form, duplicates):
    change = {"indices": lambda t: t, "text": as_text, "pairs": lambda t: t[:2]}[form]
    predictions, references = ([[change(t) for t in s[side]] for s in sentences] for side in (0, 1))
    duplicates = "set" if form == "text" else duplicates
    with pytest.MonkeyPatch.context() as patch:
        sides = predictions, references
        check(patch, aste_metric, aste_metric.AsteMetric(), relate_triplets, *sides, references, duplicates=duplicates)


facts = st.lists(
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from("PQR")).filter(lambda fact: fact[0] != fact[1]),
    max_size=6,
    unique=True,
)


@settings(max_examples=40)
@given(st.lists(st.tuples(facts, facts), min_size=1, max_size=3))
def test_facts(documents):
    vertices = [[{"name": str(at), "sent_id": 0}] for at in range(4)]
    predictions = [
        {"title": str(at), "relations": [{"h_idx": h, "t_idx": t, "r": r} for h, t, r in predicted]}
        for at, (predicted, _) in enumerate(documents)
    ]
    references = [
        {
            "title": str(at),
            "vertexSet": vertices,
            "labels": [{"h": h, "t": t, "r": r} for h, t, r in gold],
        }
        for at, (_, gold) in enumerate(documents)
    ]
    with pytest.MonkeyPatch.context() as patch:
        check(patch, docred_metric, docred_metric.DocredMetric(), relate_facts, predictions, references)


def test_annotations(monkeypatch):
    both = json.loads(perturbed("sentivent-hard", 60))
    metric = sentivent_metric.SentiventMetric()
    sides = both["predictions"], both["references"]
    assert check(monkeypatch, sentivent_metric, metric, relate_annotations, *sides) > 100
