import copy
import json
import pickle
import random
import subprocess
import sys
import warnings
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import pairwise, permutations
from multiprocessing import get_context

import datasets
import numpy as np
import pytest
import sentivent_oracle as oracle
from conftest import ROOT, benchmark_file, expected, load, looks_like_a_mask, perturbed
from hypothesis import given, settings
from hypothesis import strategies as st

import spanscore.formats.sentivent
from spanscore.metrics.mistakes import Mistakes, write_path
from spanscore.metrics.sentivent_records import read

SIDES = ("predictions", "references")
SCORES = [f"sentivent_{profile}{kind}" for profile in ("", "relaxed_") for kind in ("score", "macro_score")]
EVENT_ROWS = ("event_trigger", "event_argument", "event_sentiment_link")


@pytest.fixture(scope="module")
def metric():
    return load("sentivent")


@pytest.fixture(autouse=True)
def emptied(metric):
    """What a failed test added is not there for the next."""
    yield
    metric._batches.clear()


def made(benchmark, n_documents, seed=1):
    both = json.loads(perturbed(benchmark, n_documents, seed))
    return both["predictions"], both["references"]


def scores(result):
    return {name: result[name] for name in SCORES}


# --- a document to check by hand --------------------------------------------------------------------------------------

TOKENS = [
    "Acme",
    "raised",
    "its",
    "dividend",
    "after",
    "profits",
    "did",
    "not",
    "fall",
    ";",
    "analysts",
    "hailed",
    "the",
    "move",
    ".",
]


def worked_reference():
    return {
        "id": "acme",
        "tokens": TOKENS,
        "annotations": [
            {"id": "p1", "kind": "participant", "span": {"tokens": [0]}},
            {"id": "p2", "kind": "participant", "span": {"tokens": [5]}},
            {
                "id": "e1",
                "kind": "event",
                "span": {"tokens": [1, 3], "discontinuous": True},
                "type": "Dividend",
                "subtype": "Raise",
                "polarity": "positive",
                "scoped_polarity": "positive",
                "realis": "asserted",
                "modality": "certain",
                "negated": False,
                "arguments": [{"role": "Company", "id": "p1"}],
            },
            {
                "id": "e2",
                "kind": "event",
                "span": {"tokens": [8]},
                "type": "Profit",
                "subtype": "Decrease",
                "polarity": "negative",
                "scoped_polarity": "positive",
                "realis": "other",
                "modality": "certain",
                "negated": True,
                "arguments": [{"role": "Measure", "id": "p2"}],
            },
            {
                "id": "s1",
                "kind": "sentiment_expression",
                "span": {"tokens": [11]},
                "polarity": "positive",
                "scoped_polarity": "positive",
                "uncertain": False,
                "negated": False,
                "targets": [{"id": "e1"}, {"id": "p1"}],
            },
        ],
        "relations": {"event_sentiment": [{"from": "e1", "to": "s1"}], "event_coreference": []},
    }


def worked_prediction():
    document = worked_reference()
    _, _, e1, e2, _ = document["annotations"]
    e1["span"] = [1]
    e2["negated"] = False
    document["annotations"].append(
        {"id": "s2", "kind": "sentiment_expression", "span": [13], "polarity": "negative", "targets": []}
    )
    return document


def test_worked_document(metric):
    result = metric.compute(predictions=[worked_prediction()], references=[worked_reference()], include_factuality=True)
    extraction = metric.compute(predictions=[worked_prediction()], references=[worked_reference()])
    f1 = {name: extraction["strict"][name]["f1"] for name in oracle.FIVE}
    assert f1 == pytest.approx(
        {
            "event_trigger": 50,
            "event_argument": 50,
            "sentiment_expression": 200 / 3,
            "sentiment_target": 50,
            "event_sentiment_link": 0,
        }
    )
    total = 5256 * 50 + 11492 * 50 + 3341 * 200 / 3 + 3933 * 50 + 77 * 0
    assert extraction["sentivent_score"] == pytest.approx(total / 24099)
    assert extraction["sentivent_score"] == pytest.approx(52.15, abs=0.005)
    assert extraction["sentivent_macro_score"] == pytest.approx((50 + 50 + 200 / 3 + 50 + 0) / 5)
    assert extraction["sentivent_relaxed_score"] == pytest.approx((24099 * 100 - 3341 * 100 / 3) / 24099)
    assert extraction["sentivent_relaxed_macro_score"] == pytest.approx((4 * 100 + 200 / 3) / 5)
    others = {name: row["f1"] for name, row in extraction["strict"].items() if name not in f1 and "f1" in row}
    assert others == pytest.approx(
        {
            "trigger_identification": 50,
            "event_type": 50,
            "event_polarity": 50,
            "argument_identification": 50,
            "expression_identification": 200 / 3,
            "target_identification": 50,
            "link_identification": 0,
            "target": 50,
            "target_polarity": 50,
        }
    )
    # Only "fall" and "hailed" are aligned in the strict profile; "raised" is in the relaxed one.
    negated = {profile: result[profile]["factuality"]["event_negated"] for profile in ("strict", "relaxed")}
    assert (negated["strict"]["f1"], negated["strict"]["accuracy"], negated["strict"]["accuracy_support"]) == (0, 0, 1)
    assert negated["relaxed"]["f1"] == pytest.approx((200 / 3 + 0) / 2)
    assert (negated["relaxed"]["accuracy"], negated["relaxed"]["accuracy_support"]) == (50, 2)
    assert result["strict"]["factuality"]["event_realis"]["f1"] == pytest.approx((0 + 100) / 2)
    report = extraction["strict"]["classification_report"]["event_trigger"]
    assert list(report) == ["Dividend.Raise", "Profit.Decrease", "micro", "macro", "weighted"]
    assert report["Dividend.Raise"] == {"precision": 0, "recall": 0, "f1": 0, "support": 1}
    assert report["Profit.Decrease"] == {"precision": 100, "recall": 100, "f1": 100, "support": 1}
    assert extraction["signature"] == "sentivent|v:0.4.0|pairing:id|profile:extraction|relaxed:dice>0"


def test_worked_document_is_among_the_examples(metric):
    sides = [spanscore.formats.sentivent.read(ROOT / f"examples/sentivent/{name}.jsonl").records for name in SIDES]
    first = [[document for document in side if document["id"] == "acme"] for side in sides]
    ours = [[worked_prediction()], [worked_reference()]]
    for options in ({}, {"include_factuality": True}):
        shown, wanted = (metric.compute(predictions=p, references=g, **options) for p, g in (first, ours))
        if not options:
            assert scores(shown) == scores(wanted)
    for profile in ("strict", "relaxed"):
        rows = [result[profile]["factuality"]["event_negated"] for result in (shown, wanted)]
        assert rows[0] == rows[1]
    result = metric.compute(predictions=sides[0], references=sides[1], include_factuality=True)
    assert 0 < result["sentivent_score"] < result["sentivent_relaxed_score"] < 100
    assert result["strict"]["event_trigger"]["gold_invalid_structure"] == 1
    assert 0 < result["coreference"]["conll_f1"] < 100


def test_prediction_without_ids_as_the_readme_shows(metric):
    prediction = {
        "id": "acme",
        "annotations": [
            {
                "id": "e1",
                "kind": "event",
                "span": [1, 3],
                "type": "Dividend",
                "subtype": "Raise",
                "polarity": "positive",
                "arguments": [{"role": "Company", "span": [0]}],
            },
            {"id": "s1", "kind": "sentiment_expression", "span": [11], "polarity": "positive", "targets": ["e1", [0]]},
        ],
        "relations": {"event_sentiment": [{"from": "e1", "to": "s1"}]},
    }
    result = metric.compute(predictions=[prediction], references=[worked_reference()])
    assert [result["strict"][name]["true_positives"] for name in oracle.FIVE] == [1, 1, 1, 2, 1]
    assert all(result["strict"][name]["precision"] == 100 for name in oracle.FIVE)


def test_worked_document_errors(metric):
    result = metric.compute(predictions=[worked_prediction()], references=[worked_reference()], return_errors=True)
    found = [(e["record"], e["component"], e["kind"]) for e in result["errors"]]
    assert found == [
        ("acme", "event_trigger", "wrong_boundary"),
        ("acme", "event_argument", "wrong_boundary"),
        ("acme", "sentiment_expression", "spurious"),
        ("acme", "sentiment_target", "wrong_boundary"),
        ("acme", "event_sentiment_link", "wrong_boundary"),
    ]
    assert result["errors"][0]["prediction"] == {"trigger": [1], "type": "Dividend", "subtype": "Raise"}
    assert result["errors"][0]["reference"] == {"trigger": [1, 3], "type": "Dividend", "subtype": "Raise"}
    assert result["errors"][2]["prediction"] == {"expression": [13], "polarity": "negative"}
    assert result["errors"][2]["reference"] is None


# --- the figures ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("key", "n_documents"), [("sentivent", 30), ("sentivent-hard", 40)])
def test_expected_figures(metric, key, n_documents, tmp_path):
    figures = expected()[key.replace("-", "_")]
    files = {}
    for name, documents in zip(("predictions", "references"), made(key, n_documents), strict=True):
        spanscore.formats.sentivent.write(tmp_path / f"{name}.jsonl", documents)
        files[name] = spanscore.formats.sentivent.read(tmp_path / f"{name}.jsonl").records
    extraction = metric.compute(**files)
    both = metric.compute(**files, include_factuality=True)
    hard = key.endswith("hard")
    for profile, prefix in (("strict", "sentivent"), ("relaxed", "sentivent_relaxed")):
        for name, row in figures[profile].items():
            assert {rate: extraction[profile][name][rate] for rate in row} == pytest.approx(row, abs=1e-6)
        assert extraction[f"{prefix}_score"] == pytest.approx(figures[f"{profile}_score"], abs=1e-6)
        assert extraction[f"{prefix}_macro_score"] == pytest.approx(figures[f"{profile}_macro_score"], abs=1e-6)
        # Equally good alignments leave the F1 of factuality some room.
        room = 0.5 if hard or profile == "relaxed" else 1e-6
        for name, row in figures[f"{profile}_factuality"].items():
            ours = both[profile]["factuality"][name]
            assert ours["f1"] == pytest.approx(row["f1"], abs=room)
            assert ours["accuracy"] == pytest.approx(row["accuracy"], abs=1e-6)
            assert ours["accuracy_support"] == row["accuracy_support"]
        for ours, theirs in (("score", "score_with_factuality"), ("macro_score", "macro_score_with_factuality")):
            assert both[f"{prefix}_{ours}"] == pytest.approx(figures[f"{profile}_{theirs}"], abs=room)


def agree(result, with_factuality, figures, room):
    for profile, prefix in (("strict", "sentivent"), ("relaxed", "sentivent_relaxed")):
        for name, row in figures[profile].items():
            assert {key: result[profile][name][key] for key in row} == pytest.approx(row, abs=1e-9), name
        wanted = figures[f"{profile}_score"]
        assert (result[f"{prefix}_score"], result[f"{prefix}_macro_score"]) == pytest.approx(wanted, abs=1e-9)
        for name, row in figures[f"{profile}_factuality"].items():
            ours = with_factuality[profile]["factuality"][name]
            for key in ("accuracy", "accuracy_support", "correct"):
                assert ours[key] == pytest.approx(row[key], abs=1e-9), (profile, name, key)
            assert {label: line["gold"] for label, line in ours["labels"].items() if line["gold"]} == row["gold"]
            assert ours["f1"] == pytest.approx(row["f1"], abs=room)
        wanted = figures[f"{profile}_score_with_factuality"]
        ours = (with_factuality[f"{prefix}_score"], with_factuality[f"{prefix}_macro_score"])
        assert ours == pytest.approx(wanted, abs=room)
    for name, labels in figures["labels"].items():
        report = result["strict"]["classification_report"][name]
        for label, row in labels.items():
            assert report[label]["f1"] == pytest.approx(row["f1"]), (name, label)
            assert report[label]["support"] == row["gold"]
    for side, left_out in zip(("predicted", "gold"), figures["left_out"], strict=True):
        for name, frame in zip(EVENT_ROWS, ("event", "argument", "link"), strict=True):
            assert result["strict"][name][f"{side}_invalid_structure"] == left_out[frame]
            assert result["relaxed"][name][f"{side}_invalid_structure"] == left_out[frame]
        for name in ("event_realis", "event_modality", "event_negated", "event_scoped_polarity"):
            row = with_factuality["strict"]["factuality"][name]
            assert row[f"{side}_invalid_structure"] == left_out["event"]
    assert list(result["weights"]["active"]) == figures["active"]


@pytest.mark.parametrize("seed", range(1, 9))
@pytest.mark.parametrize("benchmark", ["sentivent", "sentivent-hard"])
def test_agrees_with_oracle(metric, benchmark, seed):
    predictions, references = made(benchmark, 30, seed)
    sides = {"predictions": predictions, "references": references}
    result, with_factuality = metric.compute(**sides), metric.compute(**sides, include_factuality=True)
    agree(result, with_factuality, oracle.scores(predictions, references), 0.5)


# --- small documents of all shapes ------------------------------------------------------------------------------------

SPANS = st.lists(st.integers(0, 6), min_size=1, max_size=4).filter(lambda span: not looks_like_a_mask(span))
POLARITY = st.sampled_from(["positive", "negative", "neutral"])


@st.composite
def documents(draw, coreference=False):
    """A document with few tokens and labels, so that much is equal and much overlaps."""
    annotations = [
        {"id": f"p{i}", "kind": draw(st.sampled_from(["participant", "filler"])), "span": {"tokens": draw(SPANS)}}
        for i in range(draw(st.integers(0, 2)))
    ]
    events = [
        {
            "id": f"e{i}",
            "kind": "event",
            "span": {"tokens": draw(SPANS)},
            "type": draw(st.sampled_from(["A", "B", None])),
            "subtype": draw(st.sampled_from(["x", None])),
            "polarity": draw(POLARITY | st.none()),
            "scoped_polarity": draw(POLARITY | st.none()),
            "realis": draw(st.sampled_from(["asserted", "other", None])),
            "modality": draw(st.sampled_from(["certain", "other", None])),
            "negated": draw(st.booleans() | st.none()),
        }
        for i in range(draw(st.integers(0, 4)))
    ]
    annotations += events
    ids = [a["id"] for a in annotations]
    pointers = st.builds(lambda tokens: {"span": {"tokens": tokens}}, SPANS)
    if ids:
        pointers |= st.builds(lambda name: {"id": name}, st.sampled_from(ids))
    for event in events:
        some = draw(st.lists(st.tuples(st.sampled_from(["R", "S"]), pointers), max_size=2))
        event["arguments"] = [{"role": role, **pointer} for role, pointer in some]
    expressions = [
        {
            "id": f"s{i}",
            "kind": "sentiment_expression",
            "span": {"tokens": draw(SPANS)},
            "polarity": draw(POLARITY),
            "scoped_polarity": draw(POLARITY | st.none()),
            "uncertain": draw(st.booleans() | st.none()),
            "negated": draw(st.booleans() | st.none()),
            "targets": draw(st.lists(pointers, max_size=2)),
        }
        for i in range(draw(st.integers(0, 3)))
    ]
    links, chains = [], []
    if events and expressions:
        one = st.tuples(st.sampled_from(events), st.sampled_from(expressions))
        links = [{"from": e["id"], "to": s["id"]} for e, s in draw(st.lists(one, max_size=2))]
    if events and coreference:
        some = draw(st.lists(st.tuples(st.sampled_from(events), st.sampled_from(events)), max_size=3))
        chains = [{"from": a["id"], "to": b["id"]} for a, b in some]
    return {
        "annotations": annotations + expressions,
        "relations": {"event_sentiment": links, "event_coreference": chains},
    }


CORPORA = st.lists(st.tuples(documents(coreference=True), documents(coreference=True)), min_size=1, max_size=3)


def factuality_of(spans):
    """Own spans as the oracle reads them."""
    found = copy.deepcopy(spans)
    for document in found:
        for a in document["annotations"]:
            for pointer in [*(a.get("arguments") or []), *(a.get("targets") or [])]:
                if "span" in pointer:
                    pointer |= {"kind": "span", "id": None}
    return found


@settings(max_examples=150, deadline=None)
@given(CORPORA)
def test_small_documents_agree_with_oracle(metric, corpus):
    predictions, references = ([pair[side] for pair in corpus] for side in (0, 1))
    sides = {"predictions": predictions, "references": references}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result, with_factuality = metric.compute(**sides), metric.compute(**sides, include_factuality=True)
    figures = oracle.scores(factuality_of(predictions), factuality_of(references))
    agree(result, with_factuality, figures, 100)


@settings(max_examples=60, deadline=None)
@given(st.lists(documents(coreference=True), min_size=1, max_size=3))
def test_gold_against_itself_is_perfect(metric, gold):
    result = metric.compute(predictions=gold, references=gold, include_factuality=True)
    extraction = metric.compute(predictions=gold, references=gold)
    for some in (result, extraction):
        for value in scores(some).values():
            assert value is None or value == pytest.approx(100)
        assert (some["sentivent_score"] is None) == (not some["weights"]["active"])
        for name, weight in some["weights"]["active"].items():
            rows = some["strict"] if name in oracle.FIVE else some["strict"]["factuality"]
            assert weight > 0
            assert rows[name]["f1"] == pytest.approx(100)
    if "coreference" in result:
        chains = result["coreference"]
        rows = [chains[name]["f1"] for name in ("muc", "b_cubed", "ceaf_e")]
        assert all(f1 == pytest.approx(100) or f1 == 0 for f1 in rows)  # 0 where there is nothing to find
        assert rows[1] == rows[2] == pytest.approx(100 if extraction["strict"]["event_trigger"]["gold"] else 0)


@settings(max_examples=60, deadline=None)
@given(CORPORA, st.randoms(use_true_random=False))
def test_order_and_ids_change_nothing(metric, corpus, rng):
    def shuffled(document):
        document = copy.deepcopy(document)
        names = {a["id"]: f"renamed{i}" for i, a in enumerate(document["annotations"])}
        rng.shuffle(document["annotations"])
        for a in document["annotations"]:
            a["id"] = names[a["id"]]
            rng.shuffle(a["span"]["tokens"])
            if max(a["span"]["tokens"]) > 1:
                a["span"]["tokens"] += a["span"]["tokens"][:1]
            for pointers in (a.get("arguments"), a.get("targets")):
                rng.shuffle(pointers or [])
                for pointer in pointers or []:
                    if pointer.get("id"):
                        pointer["id"] = names[pointer["id"]]
        for relations in document["relations"].values():
            rng.shuffle(relations)
            for relation in relations:
                relation |= {end: names[name] for end, name in relation.items()}
        return document

    before = [[pair[side] for pair in corpus] for side in (0, 1)]
    order = rng.sample(range(len(corpus)), len(corpus))
    after = [[shuffled(corpus[i][side]) for i in order] for side in (0, 1)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first, second = (
            metric.compute(predictions=p, references=g, include_factuality=True) for p, g in (before, after)
        )
    # Floats may differ by the order of additions; choices between alignments may not.
    assert flat(second) == pytest.approx(flat(first), abs=1e-9)


def flat(value, name=""):
    if isinstance(value, dict):
        return {key: leaf for part in value for key, leaf in flat(value[part], f"{name}.{part}").items()}
    return {name: value}


@settings(max_examples=60, deadline=None)
@given(CORPORA)
def test_relaxed_is_never_below_strict(metric, corpus):
    predictions, references = ([pair[side] for pair in corpus] for side in (0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = metric.compute(predictions=predictions, references=references)
    for name, row in result["relaxed"].items():
        assert row["true_positives"] >= result["strict"][name]["true_positives"]
        assert (row["predicted"], row["gold"]) == tuple(result["strict"][name][k] for k in ("predicted", "gold"))
    if result["sentivent_score"] is not None:
        assert result["sentivent_relaxed_score"] >= result["sentivent_score"] - 1e-9


@settings(max_examples=60, deadline=None)
@given(CORPORA)
def test_documents_add_up_and_errors_account_for_all(metric, corpus):
    predictions, references = ([pair[side] for pair in corpus] for side in (0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = metric.compute(
            predictions=predictions, references=references, per_document=True, return_errors=True,
            include_factuality=True,
        )  # fmt: skip
    rows = result["per_document"]
    assert [row["id"] for row in rows] == list(range(len(corpus)))
    for name in oracle.FIVE:
        row = result["strict"][name]
        for key in ("true_positives", "predicted", "gold"):
            assert sum(line[name][key] for line in rows) == row[key]
        kinds = Counter(e["kind"] for e in result["errors"] if e["component"] == name)
        n_pairs = sum(kinds.values()) - kinds["spurious"] - kinds["missed"]
        assert row["predicted"] - row["true_positives"] == n_pairs + kinds["spurious"]
        assert row["gold"] - row["true_positives"] == n_pairs + kinds["missed"]
    for name in oracle.SEVEN:
        labels = result["strict"]["factuality"][name]["labels"].values()
        for key in ("true_positives", "predicted", "gold"):
            assert sum(line[name][key] for line in rows) == sum(label[key] for label in labels)


# --- rules, one by one ------------------------------------------------------------------------------------------------


def event(span=(1,), **more):
    return {"kind": "event", "span": list(span), "type": "Deal", **more}


def expression(span=(2,), polarity="positive", **more):
    return {"kind": "sentiment_expression", "span": list(span), "polarity": polarity, **more}


def document(*annotations, **more):
    return {"annotations": list(annotations), **more}


def compute(metric, prediction, reference, **options):
    return metric.compute(predictions=[prediction], references=[reference], **options)


def test_gaps_are_not_filled(metric):
    row = compute(metric, document(event([1, 2, 3])), document(event([1, 3])))["strict"]["event_trigger"]
    assert (row["true_positives"], row["predicted"], row["gold"]) == (0, 1, 1)


def test_repeated_items_compare_one_to_one(metric):
    result = compute(metric, document(event(), event(), event()), document(event(), event()))
    for profile in ("strict", "relaxed"):
        row = result[profile]["event_trigger"]
        assert (row["true_positives"], row["predicted"], row["gold"]) == (2, 3, 2)


def test_targets_are_sets_in_their_own_rows(metric):
    both = document(expression(targets=[{"span": [5]}, [5]]), expression([3], targets=[[5]]))
    rows = compute(metric, both, both)["strict"]
    assert [rows[name]["gold"] for name in ("sentiment_target", "target_identification")] == [3, 3]
    assert [rows[name]["gold"] for name in ("target", "target_polarity")] == [1, 1]


def test_carriers_are_targets_and_nothing_else(metric):
    gold = document(
        event(id="c", type=None, arguments=[{"role": "R", "id": "p"}]),
        {"id": "p", "kind": "participant", "span": [7]},
        expression(id="s", targets=["c"]),
        relations={"event_sentiment": [{"from": "c", "to": "s"}], "event_coreference": [{"from": "c", "to": "c"}]},
    )
    result = compute(metric, document(expression(targets=[{"span": [1]}])), gold, include_factuality=True)
    strict = result["strict"]
    assert strict["sentiment_target"]["f1"] == 100
    for name in (*EVENT_ROWS, "trigger_identification", "event_polarity", "link_identification"):
        assert (strict[name]["predicted"], strict[name]["gold"]) == (0, 0)
        assert (strict[name]["gold_invalid_structure"], strict[name]["predicted_invalid_structure"]) == (1, 0)
    for name, row in strict["factuality"].items():
        assert ("gold_invalid_structure" in row) == name.startswith("event")
    assert "gold_invalid_structure" not in strict["sentiment_target"]
    assert list(result["weights"]["active"]) == ["sentiment_expression", "sentiment_target"]


def test_weights_renormalise_over_active_components(metric):
    both = document(event(), expression())
    weights = compute(metric, both, both)["weights"]
    assert weights["active"] == {"event_trigger": 5256 / 8597, "sentiment_expression": 3341 / 8597}
    assert weights["profile"] == "extraction"
    assert sum(weights["support_counts"].values()) == 24099
    weights = compute(metric, both, both, include_factuality=True)["weights"]
    assert weights["profile"] == "extraction_factuality"
    assert len(weights["support_counts"]) == 12
    assert sum(weights["support_counts"].values()) == 55146


def test_prediction_only_components_stay_at_zero(metric):
    result = compute(metric, document(event(), expression(realis="x")), document(event()), include_factuality=True)
    assert result["weights"]["active"] == {"event_trigger": 5256 / 8597, "sentiment_expression": 3341 / 8597}
    assert result["sentivent_score"] == pytest.approx(100 * 5256 / 8597)
    result = compute(metric, document(event(negated=True)), document(event()), include_factuality=True)
    assert result["strict"]["factuality"]["event_negated"]["f1"] == 0
    assert set(result["weights"]["active"]) == {"event_trigger", "event_negated"}


def test_nothing_at_all_has_no_score(metric):
    result = compute(metric, document(), document(), include_factuality=True)
    assert scores(result) == dict.fromkeys(SCORES)
    assert result["weights"]["active"] == {}
    assert result["strict"]["event_trigger"]["f1"] == 0.0
    full = compute(metric, worked_prediction(), worked_reference(), include_factuality=True)

    def keys(value):
        usual = ("labels", "classification_report", "active")
        return {k: keys(v) for k, v in value.items() if k not in usual} if isinstance(value, dict) else None

    assert keys(result) == keys(full)
    assert json.loads(json.dumps(full)) == full


def test_relaxed_can_be_switched_off(metric):
    result = compute(metric, worked_prediction(), worked_reference(), relaxed=False, include_factuality=True)
    assert result["sentivent_relaxed_score"] is result["sentivent_relaxed_macro_score"] is None
    assert "relaxed" not in result
    assert result["signature"].endswith("|profile:extraction_factuality|relaxed:no")
    whole = compute(metric, worked_prediction(), worked_reference(), include_factuality=True)
    assert result["strict"] == whole["strict"]
    assert "factuality" not in compute(metric, worked_prediction(), worked_reference())["strict"]


def test_overlap_must_be_in_every_place_and_labels_equal(metric):
    gold = document(expression([1, 2], targets=[[5, 6]]))

    def found(*targets):
        return compute(metric, document(*targets), gold)["relaxed"]["sentiment_target"]["true_positives"]

    assert found(expression([2, 3], targets=[[6, 7]])) == 1
    assert found(expression([2, 3], targets=[[7]])) == 0
    assert found(expression([5, 6], targets=[[1, 2]])) == 0
    assert found(expression([2, 3], "negative", targets=[[6, 7]])) == 0


def test_coordinated_events_are_aligned_for_their_labels(metric):
    # One span, one type, several events: the alignment is the best one for each label by itself.
    gold = document(event(realis="asserted", modality="other"), event(realis="other", modality="certain"))
    guess = document(event(realis="other", modality="other"), event(realis="asserted", modality="certain"))
    for prediction in (guess, document(*guess["annotations"][::-1])):
        rows = compute(metric, prediction, gold, include_factuality=True)["strict"]["factuality"]
        assert [rows[f"event_{name}"]["accuracy"] for name in ("realis", "modality")] == [100, 100]


def test_overlap_comes_before_labels(metric):
    gold = document(event([1, 2, 3], realis="asserted"), event([1, 2], realis="other"))
    guess = document(event([1, 2, 3], realis="other"), event([1, 2], realis="asserted"))
    row = compute(metric, guess, gold, include_factuality=True)["relaxed"]["factuality"]["event_realis"]
    assert (row["correct"], row["accuracy_support"]) == (0, 2)


def test_ties_of_overlap_are_exact(metric):
    # Every alignment overlaps by 2/5 + 1/3 + 2/7, sums that floats round differently; so labels decide.
    spans = [[0, 1], [2, 3, 4], [5, 6, 7, 8]]
    labels = ["asserted", "other", "third"]
    gold = document(*(event([9, *span], realis=label) for span, label in zip(spans, labels, strict=True)))
    for order in permutations(labels):
        guess = document(*(event([9, 20 + i], realis=label) for i, label in enumerate(order)))
        row = compute(metric, guess, gold, include_factuality=True)["relaxed"]["factuality"]["event_realis"]
        assert (row["correct"], row["accuracy_support"]) == (3, 3)


def test_missing_labels_are_left_out_of_factuality(metric):
    gold = document(event([1], negated=None), event([2], negated=True), event([3], negated=False))
    guess = document(event([1], negated=True), event([2], negated=None), event([4], negated=True))
    row = compute(metric, guess, gold, include_factuality=True)["strict"]["factuality"]["event_negated"]
    counts = {name: [line[k] for k in ("true_positives", "predicted", "gold")] for name, line in row["labels"].items()}
    assert counts == {"false": [0, 0, 1], "true": [0, 1, 1]}
    assert (row["correct"], row["accuracy_support"], row["accuracy"]) == (0, 1, 0)


def test_labels_beyond_the_usual_are_scored(metric):
    gold, guess = document(event(realis="irrealis")), document(event(realis="other"))
    row = compute(metric, guess, gold, include_factuality=True)["strict"]["factuality"]["event_realis"]
    assert list(row["labels"]) == ["asserted", "other", "irrealis"]
    assert row["f1"] == 0


def test_classification_report(metric):
    gold = document(event([1]), event([2]), event([3], type="Rating", subtype="Upgrade"), event([4], type="micro"))
    guess = document(event([1]), event([3], type="Rating", subtype="Upgrade"), event([5], type="Rating"))
    result = compute(metric, guess, gold)
    report = result["strict"]["classification_report"]["event_trigger"]
    assert list(report) == ["Deal", "Rating", "Rating.Upgrade", "micro (label)", "micro", "macro", "weighted"]
    assert report["Deal"] == pytest.approx({"precision": 100, "recall": 50, "f1": 200 / 3, "support": 2})
    assert report["Rating.Upgrade"] == {"precision": 100, "recall": 100, "f1": 100, "support": 1}
    assert report["micro"]["f1"] == result["strict"]["event_trigger"]["f1"]
    assert report["macro"]["f1"] == pytest.approx((200 / 3 + 0 + 100 + 0) / 4)
    assert report["weighted"]["f1"] == pytest.approx((2 * 200 / 3 + 0 + 100 + 0) / 4)
    assert report["weighted"]["support"] == 4
    assert set(result["strict"]["classification_report"]) == set(oracle.FIVE)


def test_labels_that_are_written_alike_share_a_row(metric):
    whole, parts = event(type="Deal.Sign"), event(type="Deal", subtype="Sign")
    for prediction, reference in ((whole, parts), (parts, whole)):
        for options in ({}, {"include_factuality": True, "return_errors": True, "confidence_level": 0.9}):
            result = compute(metric, document(prediction), document(reference), **options)
            trigger = result["strict"]["event_trigger"]
            assert (trigger["true_positives"], trigger["predicted"], trigger["gold"]) == (0, 1, 1)
            report = result["strict"]["classification_report"]["event_trigger"]
            assert list(report) == ["Deal.Sign", "micro", "macro", "weighted"]
            assert report["Deal.Sign"] == {"precision": 0, "recall": 0, "f1": 0, "support": 1}
    both = document(whole, event([3], type="Deal", subtype="Sign"))
    report = compute(metric, document(whole), both)["strict"]["classification_report"]["event_trigger"]
    assert report["Deal.Sign"] == pytest.approx({"precision": 100, "recall": 50, "f1": 200 / 3, "support": 2})


@pytest.mark.parametrize("component", oracle.FIVE)
def test_no_label_of_a_report_is_lost(metric, component):
    """Labels that are named after averages, after missing values or after other rows, in every component."""
    names = ["micro", "macro", "weighted", "micro (label)", "micro (label) (label)", "none", "aligned", "Deal.Sign"]
    odd = [
        event([at], type=name, subtype=None if at % 2 else "x", arguments=[(name, [at + 20])])
        for at, name in enumerate(names)
    ]
    odd += [event([30], type="Deal", subtype="Sign", arguments=[("none", [31])])]
    odd += [{**expression([40], None, targets=[[41]]), "id": "s"}, {**expression([42], targets=[[43]]), "id": "t"}]
    relations = {"event_sentiment": [(f"e{at}", "st"[at % 2]) for at in range(4)]}
    gold = {"annotations": [{"id": f"e{at}", **each} for at, each in enumerate(odd)], "relations": relations}
    result = compute(metric, gold, gold, include_factuality=True)
    report = dict(result["strict"]["classification_report"][component])
    averages = [report.pop(name) for name in ("micro", "macro", "weighted")]
    assert {average["support"] for average in averages} == {result["strict"][component]["gold"]}
    assert sum(row["support"] for row in report.values()) == result["strict"][component]["gold"]
    assert {average["f1"] for average in averages} == {100}
    if component == "event_argument":
        renamed = ["micro (label) (label) (label)", "macro (label)", "weighted (label)"]
        assert set(report) == {*names[3:], *renamed}
    json.dumps(result, allow_nan=False)


def test_labels_of_factuality_with_names_of_rows(metric):
    names = ["aligned", "labelled", "f1", "labels", "realis", "realis:x", "micro", "strict.factuality.event_realis:y"]
    gold = document(*(event([at], realis=name, modality=name) for at, name in enumerate(names)))
    rows = compute(metric, gold, gold, include_factuality=True)["strict"]["factuality"]
    for component in ("event_realis", "event_modality"):
        counted = {name: row["gold"] for name, row in rows[component]["labels"].items() if row["gold"]}
        assert counted == dict.fromkeys(names, 1)
        assert rows[component]["f1"] == 100


@pytest.mark.parametrize(
    ("prediction", "reference", "component", "kind"),
    [
        (event([1, 2]), event([1]), "event_trigger", "wrong_boundary"),
        (event(type="Rating"), event(subtype="x"), "event_trigger", "wrong_type"),
        (event(subtype="x"), event(subtype="y"), "event_trigger", "wrong_subtype"),
        (event([1, 2], subtype="x"), event(subtype="y"), "event_trigger", "several"),
        (expression(polarity="negative"), expression(), "sentiment_expression", "wrong_polarity"),
        (event(arguments=[("R", [5])]), event(arguments=[("S", [5])]), "event_argument", "wrong_role"),
        (event(arguments=[("R", [5])]), event(arguments=[("R", [5, 6])]), "event_argument", "wrong_boundary"),
        (event(arguments=[("R", [5])]), event(arguments=[("S", [5, 6])]), "event_argument", "several"),
        (event([2], arguments=[("R", [5])]), event([1], arguments=[("R", [5])]), "event_argument", "wrong_attachment"),
        (
            event([2], type="Rating", arguments=[("R", [5])]),
            event([1], arguments=[("R", [5])]),
            "event_argument",
            "wrong_attachment",
        ),
        (event([2], arguments=[("S", [5])]), event([1], arguments=[("R", [5])]), "event_argument", "several"),
        (
            expression([3], "negative", targets=[[5]]),
            expression([2], targets=[[5]]),
            "sentiment_target",
            "wrong_attachment",
        ),
        (expression(targets=[[5]]), expression(targets=[[6]]), "sentiment_target", "spurious"),
    ],
)
def test_kinds_of_error(metric, prediction, reference, component, kind):
    result = compute(metric, document(prediction), document(reference), return_errors=True)
    kinds = [e["kind"] for e in result["errors"] if e["component"] == component]
    assert kinds == ([kind, "missed"] if kind == "spurious" else [kind])


def test_matched_items_and_kinds_of_error(metric):
    result = compute(metric, worked_prediction(), worked_reference(), return_errors=True)
    plain = compute(metric, worked_prediction(), worked_reference())
    assert {name: value for name, value in result.items() if name not in ("errors", "matched", "error_kinds")} == plain
    assert [m["component"] for m in result["matched"]] == [
        "event_trigger",
        "event_argument",
        "sentiment_expression",
        "sentiment_target",
    ]
    assert result["matched"][0] == {
        "record": "acme",
        "component": "event_trigger",
        "kind": "right",
        "prediction": {"trigger": [8], "type": "Profit", "subtype": "Decrease"},
        "reference": {"trigger": [8], "type": "Profit", "subtype": "Decrease"},
    }
    kinds = {(row["component"], row["kind"]): row for row in result["error_kinds"]}
    assert list(kinds)[:2] == [("all components", "wrong_boundary"), ("all components", "spurious")]
    boundaries = kinds["all components", "wrong_boundary"]
    assert (boundaries["errors"], boundaries["f1"]) == (4, None)
    assert boundaries["headline"] == pytest.approx(100 - 100 / 3 * 3341 / 24099)
    trigger = kinds["event_trigger", "wrong_boundary"]
    assert (trigger["errors"], trigger["f1"]) == (1, 100)
    assert trigger["headline"] == pytest.approx(result["sentivent_score"] + 50 * 5256 / 24099)
    spurious = kinds["sentiment_expression", "spurious"]
    assert spurious["f1"] == 100
    assert spurious["headline"] == pytest.approx(result["sentivent_score"] + 100 / 3 * 3341 / 24099)


def test_effect_of_mending_with_factuality(metric):
    predictions, references = made("sentivent-hard", 20)
    sides = {"predictions": predictions, "references": references, "include_factuality": True}
    result = metric.compute(**sides, return_errors=True)
    weights = result["weights"]["active"]
    gains = Counter()
    for row in result["error_kinds"]:
        if row["component"] in weights:
            gain = weights[row["component"]] * (row["f1"] - result["strict"][row["component"]]["f1"])
            assert row["headline"] == pytest.approx(result["sentivent_score"] + gain)
            gains[row["kind"]] += gain
    for row in result["error_kinds"]:
        if row["component"] == "all components":
            assert row["headline"] == pytest.approx(result["sentivent_score"] + gains[row["kind"]])
    for name in oracle.FIVE:
        n_matched = sum(m["component"] == name for m in result["matched"])
        assert n_matched == result["strict"][name]["true_positives"]


def test_links_may_be_attached_to_the_wrong_event_or_expression(metric):
    def linked(trigger, span, polarity="positive"):
        annotations = [event(trigger, id="e"), expression(span, polarity, id="s")]
        return document(*annotations, relations={"event_sentiment": [("e", "s")]})

    for prediction, kind in (
        (linked([3], [2]), "wrong_attachment"),
        (linked([1], [4], "negative"), "wrong_attachment"),
        (linked([3], [2], "negative"), "several"),
        (linked([3], [4]), "spurious"),
    ):
        result = compute(metric, prediction, linked([1], [2]), return_errors=True)
        assert next(e["kind"] for e in result["errors"] if e["component"] == "event_sentiment_link") == kind


# --- coreference ------------------------------------------------------------------------------------------------------


def chains_of(document):
    """Chains of typed events by span and type; only for documents where no two are equal."""
    events = {a["id"]: a for a in document["annotations"] if a["kind"] == "event"}
    chain = {name: {name} for name in events}
    for relation in document["relations"]["event_coreference"]:
        joined = chain[relation["from"]] | chain[relation["to"]]
        for name in joined:
            chain[name] = joined
    found = []
    for name in events:
        mentions = {
            (frozenset(events[n]["span"]["tokens"]), events[n]["type"]) for n in chain[name] if events[n]["type"]
        }
        if mentions and mentions not in found:
            found.append(mentions)
    return found


def without_twins(document):
    """A document without a second event of the same span and type."""
    seen = set()
    for a in document["annotations"]:
        if a["kind"] == "event":
            key = (frozenset(a["span"]["tokens"]), a["type"])
            if key in seen:
                return False
            seen.add(key)
    return True


TWINLESS = documents(coreference=True).filter(without_twins)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(TWINLESS, TWINLESS), min_size=1, max_size=3))
def test_coreference_agrees_with_oracle(metric, corpus):
    predictions, references = ([pair[side] for pair in corpus] for side in (0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = metric.compute(predictions=predictions, references=references)
    if not any(d["relations"]["event_coreference"] for d in predictions + references):
        assert "coreference" not in result
        return
    wanted = oracle.coreference(*([chains_of(d) for d in side] for side in (predictions, references)))
    assert flat(result["coreference"]) == pytest.approx(flat(wanted))


def test_coreference_by_hand(metric):
    def chained(*chains):
        names = [name for chain in chains for name in chain]
        events = [event([ord(name) - 97], id=name) for name in names]
        pairs = [pair for chain in chains for pair in pairwise(chain)]
        return document(*events, relations={"event_coreference": [{"from": a, "to": b} for a, b in pairs]})

    # Gold {a b c} {d}, predicted {a b} {c d}.
    result = compute(metric, chained("ab", "cd"), chained("abc", "d"))["coreference"]
    assert result["muc"] == pytest.approx({"precision": 50, "recall": 50, "f1": 50})
    assert result["b_cubed"]["precision"] == pytest.approx(100 * (1 + 1 + 0.5 + 0.5) / 4)
    assert result["b_cubed"]["recall"] == pytest.approx(100 * (2 / 3 + 2 / 3 + 1 / 3 + 1) / 4)
    assert result["ceaf_e"]["f1"] == pytest.approx(100 * (4 / 5 + 2 / 3) / 2)
    assert result["conll_f1"] == pytest.approx(sum(result[name]["f1"] for name in ("muc", "b_cubed", "ceaf_e")) / 3)
    # It changes no score.
    assert scores(compute(metric, chained("ab", "cd"), chained("abc", "d")))["sentivent_score"] == 100


# --- what records may look like ---------------------------------------------------------------------------------------


def test_forms_of_records(metric):
    plain = compute(metric, worked_prediction(), worked_reference(), include_factuality=True)

    def check(predictions, references):
        assert metric.compute(predictions=predictions, references=references, include_factuality=True) == plain

    both = worked_prediction(), worked_reference()

    def each(change):
        changed = copy.deepcopy(both)
        for side in changed:
            change(side)
        check([changed[0]], [changed[1]])

    def spans_as(make):
        def change(side):
            for a in side["annotations"]:
                a["span"] = make(a["span"]["tokens"] if isinstance(a["span"], dict) else a["span"])

        return change

    each(spans_as(np.array))
    each(spans_as(tuple))
    each(spans_as(set))
    each(spans_as(lambda tokens: {"token_indices": tokens, "chars": [[0, 1]], "discontinuous": False}))

    def pointers(side):
        for a in side["annotations"]:
            if "arguments" in a:
                a["arguments"] = [(x["role"], x["id"]) for x in a["arguments"]]
            if "targets" in a:
                a["targets"] = [x["id"] for x in a["targets"]]

    each(pointers)

    def listed(side):
        side["relations"] = [
            {"kind": kind, **relation} for kind, some in side["relations"].items() for relation in some
        ]

    each(listed)

    def aliased(side):
        for a in side["annotations"]:
            for name, alias in (("type", "event_type"), ("scoped_polarity", "polarity_scoped"), ("targets", "target")):
                if name in a:
                    a[alias] = a.pop(name)
            a["kind"] = {"sentiment_expression": "expression", "event": "Event"}.get(a["kind"], a["kind"])
        links = side["relations"]["event_sentiment"]
        side["relations"] = [
            {"relation_kind": "event_sentiment", "event": x["from"], "expression": x["to"]} for x in links
        ]

    each(aliased)

    def numbered(side):
        names = {a["id"]: i for i, a in enumerate(side["annotations"])}
        for a in side["annotations"]:
            a["id"] = names[a["id"]]
            for x in [*a.get("arguments", []), *a.get("targets", [])]:
                x["id"] = np.int64(names[x["id"]])
        for relation in side["relations"]["event_sentiment"]:
            relation |= {end: {"id": names[name]} for end, name in relation.items()}

    each(numbered)

    def other_case(side):
        for a in side["annotations"]:
            if a.get("polarity"):
                a["polarity"] = {"positive": "+Positive", "negative": "NEG"}[a["polarity"]]

    each(other_case)
    columns = [{name: [side[name]] for name in side} for side in both]
    check(*columns)
    whole = copy.deepcopy(both)
    for side in whole:  # a table has one type a column
        spans_as(lambda tokens: {"tokens": list(tokens)})(side)
    check(*(datasets.Dataset.from_list([side]) for side in whole))
    check(*(datasets.Dataset.from_list([side]).to_list() for side in whole))
    for prediction, reference in zip(*([side] for side in both), strict=True):
        metric.add(prediction=prediction, reference=reference)
    assert metric.compute(include_factuality=True) == plain


def test_pairs_by_id_or_by_position(metric):
    predictions, references = made("sentivent", 30)
    plain = metric.compute(predictions=predictions, references=references)
    assert metric.compute(predictions=predictions[::-1], references=references) == plain
    bare = [{name: value for name, value in d.items() if name != "id"} for d in predictions]
    by_position = metric.compute(predictions=bare, references=references)
    assert "pairing:position" in by_position["signature"]
    assert {**by_position, "signature": plain["signature"]} == plain
    with pytest.raises(ValueError, match="29 predictions for 30 references"):
        metric.compute(predictions=bare[1:], references=references)


def test_other_relations_are_ignored_and_counted(metric):
    relations = {"cause": [{"from": 1, "to": 2}, {}], "canonical": None, "note": "x", "event_sentiment": None}
    result = compute(metric, document(relations=relations), document(relations=[{"kind": "cause", "from": None}]))
    assert result["ignored_relations"] == {"predictions": {"cause": 2, "note": 1}, "references": {"cause": 1}}
    assert compute(metric, document(), document())["ignored_relations"] == {"predictions": {}, "references": {}}


def test_other_kinds_are_ignored_and_counted(metric):
    mistyped = {"kind": "evnt", "span": [1], "type": "Deal"}
    with pytest.warns(
        UserWarning, match=r"^predictions: annotations of kind 'evnt' are ignored \(1\), .* expected event or"
    ):
        result = compute(metric, document(mistyped), document(event()))
    assert result["ignored_annotations"] == {"predictions": {"evnt": 1}, "references": {}}
    assert result["strict"]["event_trigger"]["f1"] == 0
    assert compute(metric, document(), document())["ignored_annotations"] == {"predictions": {}, "references": {}}
    with pytest.warns(
        UserWarning, match=r"^predictions: relations of kind 'cause' are ignored \(2\), .* event_coreference"
    ):
        result = compute(metric, document(relations={"cause": [{}, {}]}), document())
    assert result["ignored_relations"] == {"predictions": {"cause": 2}, "references": {}}
    with pytest.warns(UserWarning, match=r"kind 'a b\\n\\x1b\[31m' are ignored"):
        compute(metric, document({"kind": "a b\n\x1b[31m"}), document(event()))
    with pytest.warns(UserWarning, match=r"kind '0', '1', '10', '11', '12' and 95 more are ignored \(100\)"):
        compute(metric, document(*({"kind": str(at)} for at in range(100))), document(event()))


def test_annotations_that_something_points_to_are_not_ignored(metric):
    kinds = {"a": "thing", "b": "thing", "c": "Thing", "d": "filler"}
    spans = [{"id": name, "kind": kind, "span": [9]} for name, kind in kinds.items()]
    pointing = [event(arguments=[("R", {"id": "a"})]), expression(targets=["d"])]
    both = document(*spans, *pointing, {"kind": "participant", "arguments": [("R", "b")]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # kinds that both sides have are as expected
        result = compute(metric, both, both)
    counted = {"Thing": 1, "participant": 1, "thing": 1}
    assert result["ignored_annotations"] == {"predictions": counted, "references": counted}


@pytest.mark.parametrize(
    ("prediction", "reference", "words", "options"),
    [
        ({"label": "Deal", "type": ...}, {}, "predictions: none of the 1 annotations of kind event has type", {}),
        ({}, {"type": ...}, "references: none of the 1 annotations of kind event has type", {}),
        ({"participants": [("R", [5])]}, {"arguments": [("R", [5])]}, "kind event has arguments", {}),
        ({"factuality": "asserted"}, {"realis": "asserted"}, "kind event has realis", {"include_factuality": True}),
        ({"kind": "sentiment", "sentiment": "positive"}, {"kind": "sentiment", "polarity": "positive"}, "polarity", {}),
    ],
)
def test_a_field_that_only_one_side_has_is_warned_of(metric, prediction, reference, words, options):
    def made(fields):
        return document({name: value for name, value in {**event(), **fields}.items() if value is not ...})

    with pytest.warns(UserWarning, match=f"{words}.*expected this key, which 1 of the"):
        compute(metric, made(prediction), made(reference), **options)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compute(metric, made(reference), made(reference), **options)
        compute(metric, document(), made(reference), **options)


def test_polarities_that_no_side_has_are_warned_of(metric):
    both = document({"kind": "sentiment_expression", "span": [2], "sentiment": "positive"})
    with pytest.warns(
        UserWarning, match="^none of the 2 annotations of kind sentiment_expression on both sides has pol"
    ):
        compute(metric, both, both)


def test_links_that_only_one_side_has_are_warned_of(metric):
    both = [event(id="e"), expression(id="s")]
    linked, bare = document(*both, relations={"event_sentiment": [("e", "s")]}), document(*both, links=[("e", "s")])
    for prediction, reference, side in ((bare, linked, "predictions"), (linked, bare, "references")):
        with pytest.warns(
            UserWarning, match=f"^{side}: there are no relations of kind event_sentiment, .* side has 1$"
        ):
            compute(metric, prediction, reference)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compute(metric, document(event()), linked)  # without expressions there is nothing to link


def test_ids_are_text_or_numbers_and_may_come_later(metric):
    def made(number):
        one, two, three = map(number, (1, 2, 3))
        annotations = [
            expression(id=two, targets=[{"id": one}, three]),
            event(id=one, arguments=[("R", three)]),
            {"id": three, "kind": "participant", "span": [7]},
        ]
        return {"id": number(9), **document(*annotations, relations={"event_sentiment": [{"from": one, "to": two}]})}

    for first, second in ((int, str), (str, np.int64), (np.int64, int)):
        result = compute(metric, made(first), made(second))
        assert result["sentivent_score"] == pytest.approx(100)
        assert [result["strict"][name]["gold"] for name in oracle.FIVE] == [1, 1, 1, 2, 1]
        again = pickle.loads(pickle.dumps(result))  # noqa: S301
        assert again == copy.deepcopy(result) == result


@pytest.mark.parametrize(
    ("prediction", "words"),
    [
        (document(event(), span={"chars": [[0, 4]]}), None),
        (document({**event(), "span": {"chars": [[0, 4]]}}), r"annotations\[0\].span.tokens: missing"),
        (document({**event(), "span": {"start": 0, "end": 2}}), r"annotations\[0\].span.tokens: missing"),
        (document({"kind": "event", "trigger": [1], "type": "Deal"}), r"annotations\[0\].span: missing"),
        (document({"type": "event", "span": [1]}), r"annotations\[0\].kind: missing"),
        (document(event(negated="true")), r"annotations\[0\].negated: 'true' is not true or false"),
        (document(event(arguments={"R": [1]})), r"annotations\[0\].arguments: .* is not a list of arguments"),
        (document(event(arguments=[{"label": "R", "span": [1]}])), r"arguments\[0\].role: missing"),
        (document(expression(targets=[5])), r"targets\[0\]: '5' is the id of nothing"),
        (document(relations=[{"kind": None, "from": 1, "to": 2}]), r"relations\[0\].kind: missing"),
        (document(relations=[{"kind": "event_sentiment", "head": 1}]), r"relations\[0\].from: missing"),
        ({"events": [event()]}, r"annotations: missing"),
        ({"annotations": {"kind": ["event"]}}, r"annotations: .* is not a list of annotations"),
        ({"annotations": [], "tokens": "Acme fell"}, r"tokens: 'Acme fell' is not a list of tokens"),
    ],
)
def test_names_and_forms_of_newcomers_are_no_silent_zero(metric, prediction, words):
    if words is None:
        assert compute(metric, prediction, document(event()))["sentivent_score"] == 100
        return
    with pytest.raises(ValueError, match=rf"^predictions\[0\]\.?.*{words}") as error:
        compute(metric, prediction, document(event()))
    assert "\n" not in str(error.value)


def test_two_documents_of_one_id(metric):
    twice = [{"id": "a", **document(event())}] * 2
    for predictions, references, side in ((twice, twice, "predictions"), (twice[:1], twice, "references")):
        with pytest.raises(ValueError, match=f"^{side}: repeated ids 'a', expected each id once"):
            metric.compute(predictions=predictions, references=references)


def test_own_spans_and_ids_of_pointers_must_agree(metric):
    participant = {"id": "p", "kind": "participant", "span": [4, 5]}
    both = document(event(arguments=[{"role": "R", "id": "p", "span": [5, 4]}]), participant)
    assert compute(metric, both, both)["strict"]["event_argument"]["f1"] == 100
    both["annotations"][0]["arguments"][0]["span"] = [4]
    with pytest.raises(ValueError, match=r"predictions\[0\].annotations\[0\].arguments\[0\]: 'p' has another span"):
        compute(metric, both, both)


def test_fields_of_other_kinds_are_not_looked_at(metric):
    odd = {"kind": "participant", "type": 5, "polarity": "mixed", "arguments": "none", "span": None}
    result = compute(metric, document(odd, event(targets=[{"id": "nobody"}])), document(event()))
    assert result["sentivent_score"] == 100


# --- mistakes ---------------------------------------------------------------------------------------------------------

GOOD = worked_reference()


def broken(path, value):
    """The good document with one value replaced, or taken away if it is `...`."""
    found = copy.deepcopy(GOOD)
    at = found
    for step in path[:-1]:
        at = at[step]
    if value is ...:
        del at[path[-1]]
    else:
        at[path[-1]] = value
    return found


MISTAKES = [
    (("annotations",), ..., r"annotations: missing, expected a list of annotations"),
    (("annotations",), None, r"annotations: None is not a list of annotations"),
    (("annotations",), "x", r"annotations: 'x' is not a list of annotations"),
    (("annotations", 0), "x", r"annotations\[0\]: 'x' is not an annotation"),
    (("tokens",), "Acme raised", r"tokens: 'Acme raised' is not a list of tokens"),
    (("tokens", 3), 5, r"tokens\[3\]: 5 is not a token"),
    (("id",), 1.5, r"id: 1.5 is not an id"),
    (("relations",), 5, r"relations: 5 is not relations"),
    (("relations", "event_sentiment"), 5, r"relations.event_sentiment: 5 is not relations"),
    (("relations", "event_sentiment", 0), 5, r"relations.event_sentiment\[0\]: 5 is not a relation"),
    (("relations", "event_sentiment", 0, "from"), ..., r"relations.event_sentiment\[0\].from: missing"),
    (("relations", "event_sentiment", 0, "to"), None, r"relations.event_sentiment\[0\].to: None is not an id"),
    (
        ("relations", "event_sentiment", 0, "from"),
        "e9",
        r"relations.event_sentiment\[0\].from: 'e9' is the id of nothing",
    ),
    (
        ("relations", "event_sentiment", 0, "from"),
        "s1",
        r"relations.event_sentiment\[0\].from: 's1' is of kind 'sentiment_expression', .* of kind event$",
    ),
    (("relations", "event_sentiment", 0, "to"), "p1", r"to: 'p1' is of kind 'participant'"),
    (("relations", "event_coreference"), [("e1", "s1")], r"event_coreference\[0\].to: 's1' is of kind"),
    (("relations",), [{"from": "e1", "to": "s1"}], r"relations\[0\].kind: missing"),
    (("relations",), [{"kind": 7}], r"relations\[0\].kind: 7 is not a kind"),
    (("annotations", 1, "id"), "p1", r"annotations\[1\].id: 'p1' is repeated"),
    (("annotations", 0, "id"), [1], r"annotations\[0\].id: \[1\] is not an id"),
    (("annotations", 2, "kind"), ..., r"annotations\[2\].kind: missing, expected one of event, sentiment_expression"),
    (("annotations", 2, "kind"), "  ", r"annotations\[2\].kind: ' ' is not one of event"),
    (("annotations", 2, "kind"), 3, r"annotations\[2\].kind: 3 is not one of event"),
    (("annotations", 2, "span"), ..., r"annotations\[2\].span: missing, expected a span"),
    (("annotations", 4, "span"), None, r"annotations\[4\].span: missing, expected a span"),
    (("annotations", 0, "span"), None, r"annotations\[2\].arguments\[0\]: 'p1' has no span"),
    (("annotations", 2, "span"), "1", r"annotations\[2\].span: '1' is not a span"),
    (("annotations", 2, "span"), {}, r"annotations\[2\].span.tokens: missing, expected the token indices"),
    (("annotations", 2, "span"), [], r"annotations\[2\].span.tokens: \[\] is empty"),
    (("annotations", 2, "span"), {"tokens": []}, r"annotations\[2\].span.tokens: \[\] is empty"),
    (("annotations", 2, "span"), {"tokens": [-1]}, r"annotations\[2\].span.tokens\[0\]: -1 is not a token index"),
    (("annotations", 2, "span"), {"tokens": [1, 0.5]}, r"annotations\[2\].span.tokens\[1\]: 0.5 is not a token index"),
    (("annotations", 2, "span"), {"tokens": [True]}, r"annotations\[2\].span.tokens\[0\]: True is not a token index"),
    (("annotations", 2, "span"), {"tokens": ["1"]}, r"annotations\[2\].span.tokens\[0\]: '1' is not a token index"),
    (("annotations", 2, "span"), {"tokens": [3, 15]}, r"annotations\[2\].span.tokens\[1\]: 15 is past the end, .* 15"),
    (("annotations", 0, "span"), [99], r"annotations\[0\].span.tokens\[0\]: 99 is past the end"),
    (("annotations", 2, "type"), 5, r"annotations\[2\].type: 5 is not an event type"),
    (("annotations", 2, "type"), " ", r"annotations\[2\].type: ' ' is blank"),
    (("annotations", 2, "subtype"), ["x"], r"annotations\[2\].subtype: \['x'\] is not an event subtype"),
    (("annotations", 2, "polarity"), "happy", r"annotations\[2\].polarity: 'happy' is not one of positive, negative"),
    (("annotations", 4, "polarity"), 1, r"annotations\[4\].polarity: 1 is not one of positive"),
    (("annotations", 4, "scoped_polarity"), "bad", r"annotations\[4\].scoped_polarity: 'bad' is not one of"),
    (("annotations", 2, "realis"), True, r"annotations\[2\].realis: True is not a realis label"),
    (("annotations", 2, "modality"), "", r"annotations\[2\].modality: '' is blank"),
    (("annotations", 2, "negated"), "no", r"annotations\[2\].negated: 'no' is not true or false"),
    (("annotations", 4, "negated"), 1, r"annotations\[4\].negated: 1 is not true or false"),
    (("annotations", 4, "uncertain"), 0.0, r"annotations\[4\].uncertain: 0.0 is not true or false"),
    (("annotations", 2, "arguments"), "x", r"annotations\[2\].arguments: 'x' is not a list of arguments"),
    (("annotations", 2, "arguments"), ["p1"], r"annotations\[2\].arguments\[0\]: 'p1' is not an argument"),
    (("annotations", 2, "arguments", 0, "role"), ..., r"annotations\[2\].arguments\[0\].role: missing"),
    (("annotations", 2, "arguments", 0, "role"), "", r"annotations\[2\].arguments\[0\].role: '' is blank"),
    (("annotations", 2, "arguments", 0, "id"), ..., r"annotations\[2\].arguments\[0\]: points to nothing"),
    (("annotations", 2, "arguments", 0, "id"), "p9", r"annotations\[2\].arguments\[0\]: 'p9' is the id of nothing"),
    (("annotations", 2, "arguments", 0, "id"), 1.5, r"annotations\[2\].arguments\[0\].id: 1.5 is not an id"),
    (("annotations", 2, "arguments", 0), {"role": "R", "span": [20]}, r"arguments\[0\].span.tokens\[0\]: 20 is past"),
    (("annotations", 2, "arguments", 0), {"role": "R", "span": []}, r"arguments\[0\].span.tokens: \[\] is empty"),
    (("annotations", 4, "targets"), 5, r"annotations\[4\].targets: 5 is not a list of targets"),
    (("annotations", 4, "targets", 1), None, r"annotations\[4\].targets\[1\]"),
    (("annotations", 4, "targets", 1), "e7", r"annotations\[4\].targets\[1\]: 'e7' is the id of nothing"),
    (("annotations", 4, "targets", 1), {}, r"annotations\[4\].targets\[1\]: points to nothing"),
    (("annotations", 2, "event_type"), "Other", r"annotations\[2\].event_type: 'Other' contradicts 'Dividend'"),
]


@pytest.mark.parametrize(("path", "value", "words"), MISTAKES)
def test_mistakes_are_named(metric, path, value, words):
    wrong = broken(path, value)
    metric.add(prediction=GOOD, reference=GOOD)
    for side in ("predictions", "references"):
        sides = {"predictions": [GOOD, GOOD], "references": [GOOD, GOOD], side: [GOOD, wrong]}
        with pytest.raises(ValueError, match=rf"^{side}\[1\].*{words}") as error:
            metric.add_batch(**sides)
        assert "\n" not in str(error.value)
        with pytest.raises(ValueError, match=rf"^{side}\[1\]"):
            metric.compute(**sides)
    assert metric.compute()["sentivent_score"] == pytest.approx(100)


@pytest.mark.parametrize("name", ["include_factuality", "relaxed", "per_document", "return_errors"])
@pytest.mark.parametrize("value", [1, "yes", None, [True]])
def test_wrong_options(metric, name, value):
    with pytest.raises(ValueError, match=rf"^{name}: .* is not true or false$"):
        compute(metric, GOOD, GOOD, **{name: value})
    with pytest.raises(ValueError, match="factuality: not an option of sentivent_metric, expected one of include_fact"):
        compute(metric, GOOD, GOOD, factuality=True)
    assert compute(metric, GOOD, GOOD)["sentivent_score"] == pytest.approx(100)


def test_mistakes_seen_only_together(metric):
    def refused(prediction, reference, words):
        metric.add(prediction=prediction, reference=reference)
        with pytest.raises(ValueError, match=words):
            metric.compute()
        assert len(metric) == 1
        metric._batches.clear()  # gives up what was added

    other = broken(("tokens", 3), "Dividend")
    refused(other, GOOD, r"^predictions\[0\].tokens\[3\]: 'Dividend' is not the reference's token, expected 'dividend'")
    refused(
        {"id": "acme", "tokens": [], "annotations": []},
        GOOD,
        r"^predictions\[0\].tokens\[0\]: .* 0 tokens, expected 15",
    )
    longer = broken(("tokens",), [*TOKENS, "!"])
    refused(longer, GOOD, r"^predictions\[0\].tokens\[15\]: .* 16 tokens, expected 15")
    far = {"id": "acme", "annotations": [event([3, 15])]}
    refused(far, GOOD, r"^predictions\[0\].annotations\[0\].span.tokens\[1\]: 15 is past the end, .* below 15")
    refused({**GOOD, "id": "other"}, GOOD, r"predictions: ids 'other' are not among the references'")
    with pytest.raises(ValueError, match="references: there are none"):
        metric.compute(predictions=[], references=[])
    without = {name: value for name, value in GOOD.items() if name != "tokens"}
    assert compute(metric, without, GOOD)["sentivent_score"] == pytest.approx(100)
    assert compute(metric, GOOD, without)["sentivent_score"] == pytest.approx(100)


def test_documents_in_the_place_of_others(metric):
    texts = [["One", "fell", "."], ["Two", "rose", "."], ["Three", "did", "both"]]
    gold = [{"tokens": tokens, **document(event([0]))} for tokens in texts]
    moved = [gold[1], gold[0], gold[2]]
    words = (
        r"^predictions\[0\].tokens: the sentence of references\[1\], expected that of references\[0\], since records"
    )
    with pytest.raises(ValueError, match=words):
        metric.compute(predictions=moved, references=gold)
    lowered = [{**each, "tokens": [token.lower() for token in each["tokens"]]} for each in moved]
    with pytest.raises(ValueError, match=words):
        metric.compute(predictions=lowered, references=gold)
    named = [{"id": at, **each} for at, each in enumerate(gold)]
    with pytest.raises(ValueError, match=r"^predictions\[0\].tokens\[0\]: 'Two' is not the reference's token"):
        metric.compute(predictions=[{**named[1], "id": 0}, {**named[0], "id": 1}, named[2]], references=named)
    assert metric.compute(predictions=named[::-1], references=named)["sentivent_score"] == 100


def test_references_without_gold(metric):
    hidden = {"annotations": [{"id": "p", "kind": "participant", "span": [1]}]}
    with pytest.warns(UserWarning, match="test set without labels"):
        result = compute(metric, document(event()), hidden)
    assert result["no_gold"] is True
    assert result["sentivent_score"] == 0
    assert "no_gold" not in compute(metric, document(), hidden)
    assert "no_gold" not in compute(metric, document(), document(event()))


KEYS = ["id", "kind", "span", "tokens", "type", "role", "polarity", "arguments", "targets", "from", "to"]
KEYS += ["event_sentiment", "event_coreference", "annotations", "relations", "event_type", "target", "x"]
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-2, 2**33)
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from(["e1", "p1", "s1", "event", "sentiment_expression", "positive", "asserted"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


def places(value, path=()):
    """The paths of all values within a value."""
    found = [path] if path else []
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, inner in steps:
        found += places(inner, (*path, step))
    return found


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_any_json_gives_a_result_or_an_error_of_one_line(metric, data):
    def one():
        if data.draw(st.integers(0, 9)) == 0:
            return data.draw(JSON)
        return broken(data.draw(st.sampled_from(places(GOOD))), data.draw(JSON | st.just(...)))

    flags = ("include_factuality", "relaxed", "per_document", "return_errors")
    options = {name: data.draw(st.booleans()) for name in flags}
    options |= {"confidence_level": data.draw(st.sampled_from([None, 0.9])), "n_resamples": 20}
    options["interval_method"] = data.draw(st.sampled_from(["percentile", "bca"]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = metric.compute(predictions=[one()], references=[one()], **options)
        except ValueError as error:
            assert str(error)
            assert "\n" not in str(error)
            assert str(error).startswith(("predictions", "references", "1 predictions"))
        else:
            json.dumps(result, allow_nan=False)
    assert len(metric) == 0


def mistakes_of(*records):
    """All mistakes of some predictions, each as it is written in an error."""
    mistakes = Mistakes()
    read("predictions", list(records), mistakes)
    return [f"{write_path(path)}: {words}" for path, words in mistakes.sorted()]


def test_all_mistakes_are_found_at_once():
    wrong = copy.deepcopy(GOOD)
    _, p2, e1, e2, s1 = wrong["annotations"]
    p2["span"] = [15]
    e1["id"] = "p1"
    e1["arguments"] = [{"role": "R", "id": "e9"}, {"role": "R"}, {"role": "R", "span": [1, 16]}]
    e2["span"] = None
    e2["arguments"] = [{"role": "R", "id": "p2", "span": [5]}]
    s1["targets"] = ["e2"]
    wrong["relations"] = {
        "event_sentiment": [("e2", "s1"), ("s1", "e7")],
        "event_coreference": [("e2", "e2"), ("e2", "p2")],
    }
    at = "predictions[1]"
    assert sorted(mistakes_of(GOOD, wrong)) == [
        f"{at}.annotations[1].span.tokens[0]: 15 is past the end, expected an index below 15, the number of tokens",
        f"{at}.annotations[2].arguments[0]: 'e9' is the id of nothing, expected that of an annotation of the document",
        f"{at}.annotations[2].arguments[1]: points to nothing, expected the id of an annotation, or a span",
        f"{at}.annotations[2].arguments[2].span.tokens[1]: 16 is past the end, expected an index below 15, the number "
        "of tokens",
        f"{at}.annotations[2].id: 'p1' is repeated, expected ids that differ within a document",
        f"{at}.annotations[3].arguments[0]: 'p2' has another span, expected one that agrees",
        f"{at}.annotations[3].span: missing, expected a span: a dict with tokens, or a list of token indices",
        f"{at}.annotations[4].targets[0]: 'e2' has no span, expected an annotation with one",
        f"{at}.relations.event_coreference[1].to: 'p2' is of kind 'participant', expected the id of an annotation of "
        "the document that is of kind event",
        f"{at}.relations.event_sentiment[1].from: 's1' is of kind 'sentiment_expression', expected the id of an "
        "annotation of the document that is of kind event",
        f"{at}.relations.event_sentiment[1].to: 'e7' is the id of nothing, expected the id of an annotation of the "
        "document that is of kind sentiment_expression",
    ]


def test_mistakes_of_values_and_of_other_records_are_found_too():
    odd = broken(("annotations", 2, "polarity"), "happy")
    odd["annotations"][4]["negated"] = "no"
    odd["annotations"][0]["kind"] = " "
    assert [words.partition(":")[0] for words in mistakes_of(odd, GOOD, broken(("annotations", 1, "id"), "p1"))] == [
        "predictions[0].annotations[0].kind",
        "predictions[0].annotations[2].polarity",
        "predictions[0].annotations[4].negated",
        "predictions[2].annotations[1].id",
        "predictions[2].annotations[3].arguments[0]",
    ]


def test_kinds_of_annotation_are_read_in_any_case():
    document = {"annotations": [{"kind": kind, "span": [0]} for kind in ("EVENT", "Trigger", "Sentiment", "Filler")]}
    column = read("references", [document], Mistakes())
    kinds = column["annotations"].items["kind"].tolist()
    assert kinds == ["event", "event", "sentiment_expression", "Filler"]


def test_options_and_records_import_nothing_heavy():
    source = "import sys, spanscore.metrics.sentivent_records; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", source], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    assert {"evaluate", "datasets", "scipy", "pyarrow"}.isdisjoint(loaded.split())


# --- the metric as evaluate sees it -----------------------------------------------------------------------------------


def part_of(process_id, folder, predictions, references):
    metric = load("sentivent", num_process=2, process_id=process_id, experiment_id="sentivent-test", cache_dir=folder)
    return metric.compute(predictions=predictions, references=references, include_factuality=True)


def test_two_processes(metric, tmp_path):
    predictions, references = made("sentivent", 30)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        jobs = [pool.submit(part_of, i, str(tmp_path), predictions[i::2], references[i::2]) for i in (0, 1)]
        results = [job.result() for job in jobs]
    assert results[1] is None
    whole = metric.compute(predictions=predictions, references=references, include_factuality=True)
    assert flat(results[0]) == pytest.approx(flat(whole))


def test_usage_of_the_metric_card(metric, capsys):
    _, test = made("sentivent-hard", 40)
    source = """
predictions = [
    {
        "id": row["id"],
        "tokens": row["tokens"],
        "annotations": [],
        "relations": {"event_sentiment": [], "event_coreference": []},
    }
    for row in test
]

result = metric.compute(predictions=predictions, references=list(test))
summary = {
    "sentivent_score": result["sentivent_score"],
    "sentivent_macro_score": result["sentivent_macro_score"],
    "sentivent_relaxed_score": result["sentivent_relaxed_score"],
    "sentivent_relaxed_macro_score": result["sentivent_relaxed_macro_score"],
}
print(summary)
"""
    exec(source, {"test": test, "metric": metric})
    wanted = dict.fromkeys(SCORES, 0.0)
    assert capsys.readouterr().out == f"{wanted}\n"
    rows = datasets.Dataset.from_list(test)
    exec(source, {"test": rows, "metric": metric})
    assert capsys.readouterr().out == f"{wanted}\n"


def test_annotation_project_against_itself_and_perturbed(metric):
    gold = [spanscore.formats.sentivent.read(benchmark_file(f"sentivent/anno_0{i}.xmi")).records[0] for i in (1, 2)]
    result = metric.compute(predictions=gold, references=gold, include_factuality=True)
    assert scores(result) == pytest.approx(dict.fromkeys(SCORES, 100))
    rng, guess = random.Random(5), copy.deepcopy(gold)
    for document in guess:
        events = [a for a in document["annotations"] if a["kind"] == "event"]
        for a in rng.sample(events, len(events) // 2):
            if rng.random() < 0.5:
                a["type"] = rng.choice(events)["type"]
            else:
                a["span"]["tokens"] = a["span"]["tokens"][:1]
    result = metric.compute(predictions=guess, references=gold, include_factuality=True)
    agree(metric.compute(predictions=guess, references=gold), result, oracle.scores(guess, gold), 0.5)
    assert 0 < result["sentivent_score"] < 100
    assert 0 < result["coreference"]["conll_f1"] < 100
