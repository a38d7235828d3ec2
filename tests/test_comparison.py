"""Comparisons and runs on the benchmarks' files."""

import json

import numpy as np
import pytest
from conftest import benchmark_file, load, perturbed

import spanscore.formats.aste
import spanscore.formats.docred
from spanscore.comparison import compare_systems, summarise_runs


def predictions_of(benchmark, source, seed):
    text = perturbed(benchmark, source, seed)
    if benchmark != "aste":
        return json.loads(text)
    import ast

    return [[(list(a), list(o), p) for a, o, p in ast.literal_eval(s.split("####")[1])] for s in text.splitlines()]


def aste():
    path = benchmark_file("aste/v2/14lap/test_triplets.txt")
    return (
        "aste",
        None,
        [predictions_of("aste", path, seed) for seed in (1, 2)],
        spanscore.formats.aste.read(path).records,
        {},
    )


def docred():
    path = benchmark_file("docred/dev_revised.json")
    systems = [predictions_of("docred-scores", path, seed) for seed in (1, 2)]
    return "docred", None, systems, json.loads(path.read_text()), {}


def propsegment():
    path = benchmark_file("propsegment/propositions.dev.json")
    return (
        "propsegment",
        None,
        [predictions_of("propsegment", path, s) for s in (1, 2)],
        json.loads(path.read_text()),
        {},
    )


def entailment():
    path = benchmark_file("propsegment/relationships.dev.json")
    entries = json.loads(path.read_text())
    systems = [np.random.default_rng(s).choice(["e", "n", "c"], len(entries)).tolist() for s in (1, 2)]
    return "propsegment", "entailment", systems, entries, {}


def sentivent():
    one, two = (json.loads(perturbed("sentivent-hard", 60, seed)) for seed in (1, 2))
    other = [doc | {"annotations": doc["annotations"][:-2], "relations": None} for doc in one["references"]]
    for doc in other:
        ids = {a["id"] for a in doc["annotations"]}
        doc["annotations"] = [
            {**a, "targets": [t for t in a.get("targets", []) if t["id"] in ids]}
            | {"arguments": [x for x in a.get("arguments", []) if x["id"] in ids]}
            for a in doc["annotations"]
        ]
    assert two
    return "sentivent", None, [one["predictions"], other], one["references"], {"include_factuality": True}


POWER = {"detectable_difference", "documents_needed"}
CASES = {"aste": aste, "docred": docred, "propsegment": propsegment, "entailment": entailment, "sentivent": sentivent}


@pytest.fixture(params=CASES, scope="module")
def case(request):
    name, config, systems, references, options = CASES[request.param]()
    return load(name, config), systems, references, options


@pytest.mark.parametrize("method", ["randomisation", "bootstrap"])
def test_scores_are_those_of_compute(case, method):
    metric, systems, references, options = case
    (found,) = compare_systems(metric, systems, references, options, method, n_resamples=100)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    for side, system in zip("ab", systems, strict=True):
        result = metric.compute(predictions=system, references=references, **options)
        for score, row in found.items():
            assert row[side] == pytest.approx(result[score], abs=1e-9), (score, side)
    for row in found.values():
        assert set(row) == {"a", "b", "difference", "p_value", "p_value_holm", "interval", "better", *POWER}
        assert row["difference"] == pytest.approx(row["b"] - row["a"])
        assert 1 / 101 <= row["p_value"] <= 1
        assert row["interval"][0] <= row["difference"] <= row["interval"][1]
        assert row["detectable_difference"] > 0
        if row["p_value"] <= 0.05:
            assert row["documents_needed"] is None
        elif abs(row["difference"]) > row["detectable_difference"] / 10:
            assert row["documents_needed"] > 0


@pytest.mark.parametrize("case", ["aste", "docred"], indirect=True)  # where F1 is micro, documents give it
def test_documents_in_which_each_is_better(case):
    metric, systems, references, options = case
    name = "f1"
    (found,) = compare_systems(metric, systems, references, options, n_resamples=1)
    rows = [
        metric.compute(predictions=system, references=references, per_document=True, **options)["per_document"]
        for system in systems
    ]
    f1 = [[2 * d["true_positives"] / max(d["predicted"] + d["gold"], 1) for d in side] for side in rows]
    pairs = list(zip(*f1, strict=True))
    assert found[name]["better"] == {"a": sum(a > b for a, b in pairs), "b": sum(b > a for a, b in pairs)}


@pytest.mark.parametrize("method", ["randomisation", "bootstrap"])
def test_a_system_beside_itself(case, method):
    metric, systems, references, options = case
    (found,) = compare_systems(metric, [systems[0]] * 2, references, options, method, n_resamples=50)
    for row in found.values():
        assert (row["difference"], row["p_value"], row["interval"]) == (0.0, 1.0, [0.0, 0.0])
        assert row["better"] == {"a": 0, "b": 0}
        assert row["detectable_difference"] is row["documents_needed"] is None


def test_many_systems_each_beside_the_first_and_a_real_difference_is_found():
    _, _, systems, references, _ = aste()
    gold = [record["triplets"] for record in references]
    found = compare_systems(load("aste"), [*systems, gold], references, n_resamples=500)
    assert len(found) == 2
    assert found[0]["f1"]["p_value"] > 0.01
    assert found[1]["f1"]["p_value"] == 1 / 501
    assert found[1]["f1"]["b"] == 100
    assert found[1]["f1"]["interval"][0] > 0
    assert found[1]["f1"]["better"]["a"] == 0


def test_documents_needed_show_a_difference_that_is_not_shown():
    _, _, systems, references, _ = aste()
    gold = [record["triplets"] for record in references]
    revised = [*gold[:4], *systems[0][4:]]  # four sentences of 328 corrected
    metric = load("aste")
    (found,) = compare_systems(metric, [systems[0], revised], references, n_resamples=500)
    row = found["f1"]
    assert row["p_value"] > 0.05
    assert 328 < row["documents_needed"] < 1500
    times = -(-row["documents_needed"] // 328)
    (more,) = compare_systems(metric, [systems[0] * times, revised * times], references * times, n_resamples=500)
    assert more["f1"]["p_value"] <= 0.05
    assert more["f1"]["difference"] == pytest.approx(row["difference"])
    assert more["f1"]["difference"] > more["f1"]["detectable_difference"]
    assert more["f1"]["documents_needed"] is None


def test_groups_are_swapped_as_a_whole():
    # Two documents of one sentence more each: of four ways to swap groups two give the observed difference.
    gold = [[("a", "b", "POS")]] * 20
    systems = [gold, [[]] * 20]
    metric = load("aste")
    (alone,) = compare_systems(metric, systems, gold, n_resamples=400)
    (grouped,) = compare_systems(metric, systems, gold, {"groups": [0] * 10 + [1] * 10}, n_resamples=400)
    assert alone["f1"]["p_value"] == 1 / 401
    assert grouped["f1"]["p_value"] == pytest.approx(0.5, abs=0.1)


def test_sentences_of_a_document_are_swapped_together():
    _, _, systems, references, _ = propsegment()
    metric = load("propsegment")
    statistics = metric.statistics(predictions=systems, references=references)
    keys = [e["sentence_id"]["document_id"] for e in references]
    kept = [
        k
        for k, e in zip(keys, references, strict=True)
        if any(r["is_reference_response"] for r in e["segmentation_responses"])
    ]
    assert statistics.units(0).shape[0] == len(set(kept)) < len(kept)


def test_active_components_are_those_of_both_systems():
    event = {"id": "e", "kind": "event", "span": [0], "type": "Deal"}
    expression = {"id": "s", "kind": "sentiment_expression", "span": [1], "polarity": "positive"}
    gold = [{"annotations": [event]}] * 3
    more = [{"annotations": [event, expression]}] * 3
    metric = load("sentivent")
    assert metric.compute(predictions=gold, references=gold)["sentivent_score"] == 100
    (found,) = compare_systems(metric, [gold, more], gold, n_resamples=50)
    # The expressions of the second are a component of both, in which neither has anything right.
    expected = 100 * 5256 / (5256 + 3341)
    assert found["sentivent_score"]["a"] == found["sentivent_score"]["b"] == pytest.approx(expected)
    assert found["sentivent_macro_score"]["a"] == 50
    assert found["sentivent_score"]["p_value"] == 1


def test_unknown_titles_of_either_system_are_documents():
    _, _, systems, references, _ = docred()
    invented = [systems[0][0] | {"title": "nowhere", "score": 1.0}]
    metric = load("docred")
    (found,) = compare_systems(metric, [systems[0], systems[0] + invented], references, n_resamples=50)
    for side, system in (("a", systems[0]), ("b", systems[0] + invented)):
        result = metric.compute(predictions=system, references=references)
        assert found["f1"][side] == pytest.approx(result["f1"])
        assert found["auc"][side] == pytest.approx(result["auc"])


def test_two_way_and_three_way_labels():
    metric = load("propsegment", "entailment")
    gold = ["entail", "neutral", "contradict"] * 4
    (found,) = compare_systems(metric, [gold, ["not-entail"] * 12], gold, n_resamples=50)
    assert set(found) == {"balanced_accuracy", "accuracy"}
    assert (found["balanced_accuracy"]["a"], found["balanced_accuracy"]["b"]) == (1.0, 0.5)


GOLD = [[("a", "b", "POS")]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"predictions": [GOLD]}, "predictions: expected a list of the predictions of 2 or more systems"),
        ({"predictions": {}}, "predictions: expected a list of the predictions of 2 or more systems"),
        ({"method": "t-test"}, "method: 't-test' is not one of randomisation, bootstrap"),
        ({"n_resamples": 0}, "n_resamples: 0 is not a whole number from 1"),
        ({"n_resamples": 2.5}, "n_resamples: 2.5 is not a whole number from 1"),
        ({"random_state": -1}, "random_state: -1 is not a whole number from 0"),
        ({"confidence_level": 95}, "confidence_level: 95 is not a number above 0, below 1"),
        ({"options": {"polarity": False}}, "predictions: the systems have no headline score in common, "),
        ({"predictions": [GOLD, [[("a", "b", "x")]]]}, "system 2: predictions[0].triplets[0].polarity: 'x' is not one"),
        ({"predictions": [GOLD, []]}, "system 2: "),
        ({"options": {"x": 1}}, "x: not an option of aste_metric, expected one of duplicates"),
        ({"options": {"groups": ["a", "b"]}}, "system 1: groups: 2 keys, expected one for each of the 1 references"),
    ],
)
def test_mistakes(given, message):
    arguments = {"predictions": [GOLD, GOLD], "references": GOLD} | given
    with pytest.raises(ValueError) as error:
        compare_systems(load("aste"), **arguments)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)


# --- runs -------------------------------------------------------------------------------------------------------------


def test_runs(case):
    metric, systems, references, options = case
    found = summarise_runs(metric, systems, references, options)
    results = [metric.compute(predictions=system, references=references, **options) for system in systems]
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    of_means = found.pop("f1_of_means", None)
    for name, row in found.items():
        values = [result[name] for result in results]
        assert row["values"] == pytest.approx(values)
        assert row["mean"] == pytest.approx(sum(values) / 2)
        assert row["standard_deviation"] == pytest.approx(abs(values[0] - values[1]) / 2**0.5)
    if "precision" in found:
        p, r = found["precision"]["mean"], found["recall"]["mean"]
        assert of_means == pytest.approx(2 * p * r / (p + r))
        assert of_means != found["f1"]["mean"]


def test_one_run_has_no_spread_and_mistakes_name_the_run():
    metric = load("aste")
    assert summarise_runs(metric, [GOLD], GOLD)["f1"] == {"mean": 100.0, "standard_deviation": None, "values": [100.0]}
    nothing = summarise_runs(metric, [[[]], [[]]], GOLD)
    assert nothing["f1_of_means"] == 0.0
    with pytest.raises(ValueError, match=r"^run 2: predictions\[0\]"):
        summarise_runs(metric, [GOLD, [[("a", "b", "x")]]], GOLD)
    with pytest.raises(ValueError, match=r"^predictions: expected a list of the predictions of 1 or more runs$"):
        summarise_runs(metric, [], GOLD)
    with pytest.raises(ValueError, match=r"^predictions: the runs have no headline score in common"):
        summarise_runs(metric, [GOLD], GOLD, {"polarity": False})


def test_f1_of_means_has_the_beta_of_the_scores():
    _, _, systems, references, _ = propsegment()
    metric = load("propsegment")
    found = summarise_runs(metric, systems[:1], references, {"beta": 2.0})
    assert found["f1_of_means"] == pytest.approx(found["f1"]["mean"])
