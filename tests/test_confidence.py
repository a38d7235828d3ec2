"""Confidence intervals of every metric: resampled sums score as the metric scores resampled records."""

import json
import random

import numpy as np
import pytest
from conftest import benchmark_file, load, perturbed
from spanscore.metrics.resampling import draws, uncertainty

import spanscore.formats.aste
import spanscore.formats.docred
import spanscore.formats.propsegment

N = 8  # resamples that the slow loop looks at


def aste_case():
    path = benchmark_file("aste/v2/14lap/dev_triplets.txt")
    references = spanscore.formats.aste.read(path).records[:60]
    lines = perturbed("aste", path).splitlines()
    return "aste", None, [json_aste(line) for line in lines[:60]], references, {}


def json_aste(line):
    import ast

    return [(list(a), list(o), p) for a, o, p in ast.literal_eval(line.split("####")[1])]


def segmentation_case(**options):
    path = benchmark_file("propsegment/propositions.dev.json")
    entries = json.loads(path.read_text())
    with_response = [e for e in entries if any(r["is_reference_response"] for r in e["segmentation_responses"])]
    return "propsegment", "segmentation", json.loads(perturbed("propsegment", path))[:80], with_response[:80], options


def entailment_case():
    rng = random.Random(3)
    gold = [rng.choice("eenncc") for _ in range(60)]
    predicted = [g if rng.random() < 0.6 else rng.choice("enc") for g in gold]
    return "propsegment", "entailment", predicted, gold, {}


def sentivent_case(**options):
    made = json.loads(perturbed("sentivent-hard", 30))
    return "sentivent", None, made["predictions"], made["references"], options


def docred_case(kind):
    path = benchmark_file("docred/dev_revised.json")
    references = json.loads(path.read_text())[:40]
    titles = {r["title"] for r in references}
    train = json.loads(path.read_text())[40:80]
    facts = [f for f in json.loads(perturbed("docred-scores", path)) if f["title"] in titles]
    options = {"train": train, "threshold": 0.3}
    if kind == "dense":
        names = sorted({label["r"] for r in references + train for label in r["labels"]})
        rng = np.random.default_rng(1)
        dense = []
        for record in references:
            n = len(record["vertexSet"])
            scores = np.round(rng.random((n, n, len(names))) * 0.6, 2)
            for label in record["labels"]:
                scores[label["h"], label["t"], names.index(label["r"])] += round(rng.random() * 0.5, 2)
            dense.append({"title": record["title"], "scores": scores})
        return "docred", None, dense, references, options | {"relation_names": names}
    by_title = {record["title"]: [] for record in references} | {"not there": [facts[0] | {"title": "not there"}]}
    for fact in facts:
        by_title[fact["title"]].append({k: v for k, v in fact.items() if k != "title"})
    names = sorted({label["r"] for r in references + train for label in r["labels"]} | {f["r"] for f in facts})
    predictions = [{"title": title, "relations": listed} for title, listed in by_title.items()]
    predictions[-1]["relations"] = [{k: v for k, v in f.items() if k != "title"} for f in predictions[-1]["relations"]]
    return "docred", None, predictions, references, options | {"relation_names": names}


CASES = {
    "aste": aste_case,
    "segmentation": segmentation_case,
    "segmentation, skip": lambda: segmentation_case(empty="skip", beta=2.0, threshold=0.6),
    "entailment": entailment_case,
    "sentivent": sentivent_case,
    "sentivent, factuality": lambda: sentivent_case(include_factuality=True),
    "docred": lambda: docred_case("facts"),
    "docred, dense": lambda: docred_case("dense"),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]()


def again(record, number):
    """A record as one more document."""
    if isinstance(record, dict):
        return (
            record
            | {key: f"{record[key]}#{number}" for key in ("title", "id") if key in record}
            | ({"sentence_id": None} if "sentence_id" in record else {})
        )
    return record


def resample(predictions, references, weights):
    """Records as often as the weights say; documents of an unknown title, which come last, are DocRED's."""
    sides = [], []
    for at, n in enumerate(weights.astype(int).tolist()):
        for number in range(n):
            for side, records in zip(sides, (predictions, references), strict=True):
                if at < len(records):
                    side.append(again(records[at], number))
    return sides


def slow_scores(metric, name, options, whole, predictions, references):
    """The headline scores of some documents, with the choices of the whole data."""
    result = metric.compute(predictions=predictions, references=references, **options)
    if name == "docred":
        at_best = metric.compute(
            predictions=predictions, references=references, **options | {"threshold": whole["best_threshold"]}
        )
        result["best_f1"] = at_best["f1"]
        result.pop("ign_best_f1")
    if name == "sentivent":
        for profile, prefix in (("strict", "sentivent"), ("relaxed", "sentivent_relaxed")):
            f1 = {}
            for component in whole["weights"]["active"]:
                if component in whole[profile]:
                    row, old = result[profile][component], whole[profile][component]
                    f1[component] = row["f1"] if row["predicted"] or row["gold"] else old["f1"]
                    continue
                labels = result[profile]["factuality"][component]["labels"]
                occurring = {
                    label: row
                    for label, row in whole[profile]["factuality"][component]["labels"].items()
                    if row["predicted"] or row["gold"]
                }
                values = []
                for label, old in occurring.items():
                    row = labels.get(label, old)
                    values.append(row["f1"] if row["predicted"] or row["gold"] else old["f1"])
                f1[component] = sum(values) / len(values)
            weights = whole["weights"]["active"]
            result[f"{prefix}_score"] = sum(weights[c] * f1[c] for c in f1)
            result[f"{prefix}_macro_score"] = sum(f1.values()) / len(f1)
    return result


def test_resampled_sums_score_as_resampled_records(case):
    name, config, predictions, references, options = case
    metric = load(name, config)
    whole = metric.compute(predictions=predictions, references=references, **options)
    found = metric.statistics(predictions=[predictions], references=references, **options)
    assert found.names
    for score, value in zip(found.names, found.observed(0), strict=True):
        assert value == pytest.approx(whole[score], abs=1e-9), score
    table = found.tables[0]
    weights = np.concatenate(list(draws(table, N, 5)))
    fast = found.scorer(0)(weights @ table)
    for row, drawn in zip(fast, weights, strict=True):
        slow = slow_scores(metric, name, options, whole, *resample(predictions, references, drawn))
        for score, value in zip(found.names, row, strict=True):
            if score in slow:
                assert value == pytest.approx(slow[score], abs=1e-9), score


def test_ign_best_f1_is_ign_f1_at_the_best_threshold():
    _, _, predictions, references, options = docred_case("facts")
    metric = load("docred")
    scores = sorted({f["score"] for p in predictions for f in p["relations"]})
    found = metric.statistics(predictions=[predictions], references=references, **options)
    observed = dict(zip(found.names, found.observed(0), strict=True))["ign_best_f1"]
    at = next(
        t
        for t in np.convolve([-1.0, *scores], [0.5, 0.5], "valid")[::-1].tolist()  # of equal ones the highest
        if metric.compute(predictions=predictions, references=references, **options | {"threshold": t})["ign_f1"]
        == pytest.approx(observed, abs=1e-9)
    )
    table = found.tables[0]
    weights = np.concatenate(list(draws(table, 5, 6)))
    for row, drawn in zip(found.scorer(0)(weights @ table), weights, strict=True):
        sides = resample(predictions, references, drawn)
        slow = metric.compute(predictions=sides[0], references=sides[1], **options | {"threshold": at})
        assert dict(zip(found.names, row, strict=True))["ign_best_f1"] == pytest.approx(slow["ign_f1"], abs=1e-9)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_intervals_of_compute(case, method):
    name, config, predictions, references, options = case
    metric = load(name, config)
    plain = metric.compute(predictions=predictions, references=references, **options)
    asked = {"confidence_level": 0.9, "n_resamples": 200, "random_state": 3, "interval_method": method}
    result = metric.compute(predictions=predictions, references=references, **options, **asked)
    added = "|confidence_level:0.9|n_resamples:200|random_state:3|interval_method:" + method + "|groups:"
    found, detectable = result.pop("confidence_intervals"), result.pop("detectable_differences")
    groups = "document" if config == "segmentation" else "no"
    assert result.pop("signature") == plain.pop("signature") + added + groups
    assert result == plain
    statistics = metric.statistics(predictions=[predictions], references=references, **options)
    assert (found, detectable) == uncertainty(statistics, 0.9, 200, 3, method)
    assert all(low <= result[score] <= high for score, (low, high) in found.items())
    assert all(low < high for low, high in found.values())
    assert json.loads(json.dumps([found, detectable], allow_nan=False)) == [found, detectable]
    assert all(detectable[score] > 0 for score in found)
    if name == "docred":
        assert "macro_f1" in result and "macro_f1" not in found
    assert (
        set(found)
        >= {
            "aste": {"precision", "recall", "f1"},
            "propsegment": {"balanced_accuracy", "accuracy"}
            if config == "entailment"
            else {"precision", "recall", "f1"},
            "sentivent": {"sentivent_score", "sentivent_macro_score", "sentivent_relaxed_score"},
            "docred": {"precision", "recall", "f1", "ign_f1", "auc", "ign_auc", "pr_auc", "best_f1"},
        }[name]
    )


def test_given_groups(case):
    name, config, predictions, references, options = case
    metric = load(name, config)
    keys = [at // 3 for at in range(len(references))]
    asked = options | {"confidence_level": 0.9, "n_resamples": 100}
    result = metric.compute(predictions=predictions, references=references, groups=keys, **asked)
    assert result["signature"].endswith("|groups:given")
    as_text = metric.compute(
        predictions=predictions, references=references, groups=np.array([f"k{key}" for key in keys]), **asked
    )
    assert as_text["confidence_intervals"] == result["confidence_intervals"]
    alone = list(range(len(references)))
    ungrouped = metric.compute(predictions=predictions, references=references, groups=alone, **asked)
    if config != "segmentation":
        assert (
            ungrouped["confidence_intervals"]
            == (metric.compute(predictions=predictions, references=references, **asked)["confidence_intervals"])
        )
    assert ungrouped["confidence_intervals"] != result["confidence_intervals"]


def test_sentences_of_the_benchmark_are_drawn_by_document():
    _, _, predictions, references, _ = segmentation_case()
    metric = load("propsegment")
    asked = {"confidence_level": 0.9, "n_resamples": 100}
    keys = [entry["sentence_id"]["document_id"] for entry in references]
    assert 1 < len(set(keys)) < len(keys)
    own, by_option = (
        metric.compute(predictions=predictions, references=references, **asked, **more)
        for more in ({}, {"groups": keys})
    )
    assert own["confidence_intervals"] == by_option["confidence_intervals"]


def test_groups_are_one_a_reference_also_where_some_have_no_response():
    entries = json.loads(benchmark_file("propsegment/propositions.dev.json").read_text())[:60]
    metric = load("propsegment")
    asked = {"confidence_level": 0.9, "n_resamples": 50, "groups": list(range(60))}
    result = metric.compute(predictions=[[[0]]] * 60, references=entries, **asked)
    assert result["no_reference"] > 0
    with pytest.raises(ValueError, match=r"^groups: 59 keys, expected one for each of the 60 references$"):
        metric.compute(predictions=[[[0]]] * 60, references=entries, **asked | {"groups": list(range(59))})


SMALL = {
    "aste": (None, [[("a", "b", "POS")]], [[("a", "b", "POS")]]),
    "propsegment": ("segmentation", [[[0]]], [[[0]]]),
    "entailment": ("entailment", ["e"], ["e"]),
    "sentivent": (None, [{"annotations": []}], [{"annotations": []}]),
    "docred": (
        None,
        [{"title": "t", "relations": []}],
        [{"title": "t", "vertexSet": [[], []], "labels": [{"h": 0, "t": 1, "r": "P1"}]}],
    ),
}

BAD = [
    ("confidence_level", 0, "confidence_level: 0 is not a number above 0, below 1"),
    ("confidence_level", 1.0, "confidence_level: 1.0 is not a number above 0, below 1"),
    ("confidence_level", 95, "confidence_level: 95 is not a number above 0, below 1"),
    ("confidence_level", "high", "confidence_level: 'high' is not a number above 0, below 1"),
    ("n_resamples", 0, "n_resamples: 0 is not a number of resamples (a whole number from 1)"),
    ("n_resamples", 1.5, "n_resamples: 1.5 is not a number of resamples (a whole number from 1)"),
    ("n_resamples", None, "n_resamples: None is not a number of resamples (a whole number from 1)"),
    ("random_state", -1, "random_state: -1 is not a seed (a whole number from 0)"),
    ("random_state", "x", "random_state: 'x' is not a seed (a whole number from 0)"),
    ("interval_method", "BCa", "interval_method: 'BCa' is not one of percentile, bca"),
    ("groups", 3, "groups: 3 is not a list of keys, one a reference"),
    ("groups", {"a"}, "groups: {'a'} has no order, expected a list of keys, one a reference"),
    ("groups", [None], "groups[0]: None is not a key (text or a whole number)"),
    ("groups", ["a", "b"], "groups: 2 keys, expected one for each of the 1 references"),
    ("groups", [], "groups: 0 keys, expected one for each of the 1 references"),
]


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize(("option", "value", "message"), BAD)
def test_bad_options(name, option, value, message):
    config, predictions, references = SMALL[name]
    metric = load("propsegment" if name == "entailment" else name, config)
    metric.add_batch(predictions=predictions, references=references)
    with pytest.raises(ValueError) as error:
        metric.compute(**{"confidence_level": 0.9, option: value})
    assert str(error.value) == message
    assert len(metric) == 1
    assert metric.compute(confidence_level=0.9, n_resamples=5)


@pytest.mark.parametrize("name", SMALL)
def test_one_document_has_a_result(name):
    config, predictions, references = SMALL[name]
    metric = load("propsegment" if name == "entailment" else name, config)
    for method in ("percentile", "bca"):
        result = metric.compute(
            predictions=predictions, references=references, confidence_level=0.9, interval_method=method
        )
        for score, interval in result["confidence_intervals"].items():
            assert interval == [result[score]] * 2
        assert result["detectable_differences"] == dict.fromkeys(result["confidence_intervals"])


def test_an_active_component_that_is_empty_in_a_resample_keeps_its_observed_score():
    # One link in one of three documents: many resamples have none.
    def document(with_link):
        event = {"id": "e", "kind": "event", "span": [0], "type": "Deal"}
        expression = {"id": "s", "kind": "sentiment_expression", "span": [1], "polarity": "positive"}
        links = [{"from": "e", "to": "s"}] if with_link else []
        return {"annotations": [event, expression], "relations": {"event_sentiment": links}}

    both = [document(True), document(False), document(False)]
    result = load("sentivent").compute(predictions=both, references=both, confidence_level=0.99, n_resamples=100)
    assert "event_sentiment_link" in result["weights"]["active"]
    for low, high in result["confidence_intervals"].values():
        assert low == pytest.approx(100)
        assert high == pytest.approx(100)


def test_without_scores_there_are_no_intervals():
    pairs = [[("a", "b")]]
    assert load("aste").compute(predictions=pairs, references=pairs, confidence_level=0.9)["confidence_intervals"] == {}
    nothing = [{"annotations": []}]
    result = load("sentivent").compute(predictions=nothing, references=nothing, confidence_level=0.9)
    assert result["confidence_intervals"] == {}


def test_statistics_name_the_system_with_a_mistake():
    metric = load("aste")
    good, bad = [[("a", "b", "POS")]], [[("a", "b", "happy")]]
    with pytest.raises(ValueError, match=r"^system 2: predictions\[0\]\.triplets\[0\]\.polarity: 'happy' is not one"):
        metric.statistics(predictions=[good, bad], references=good)
    with pytest.raises(ValueError, match=r"^references\[0\]"):
        metric.statistics(predictions=[good], references=bad)
    with pytest.raises(ValueError, match=r"^duplicates: 3 is not one of"):
        metric.statistics(predictions=[good], references=good, duplicates=3)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_equal_documents_have_no_width(name, method):
    config, predictions, references = SMALL[name]
    many = {"predictions": predictions * 7, "references": references * 7}
    if name == "propsegment":  # a precision of 1/3, whose sums are rounded
        many = {"predictions": [[[0], [1], [2]]] * 7, "references": [[[0]]] * 7}
    if name == "docred":
        many = {side: [{**record, "title": str(at)} for at, record in enumerate(many[side])] for side in many}
    metric = load("propsegment" if name == "entailment" else name, config)
    result = metric.compute(**many, confidence_level=0.95, interval_method=method, n_resamples=200)
    for score, interval in result["confidence_intervals"].items():
        assert interval == [result[score]] * 2


def test_detectable_differences_of_flat_results(case):
    name, config, predictions, references, options = case
    metric = load(name, config)
    asked = options | {"confidence_level": 0.95, "n_resamples": 50}
    whole = metric.compute(predictions=predictions, references=references, **asked)
    flat = metric.compute(predictions=predictions, references=references, flat=True, **asked)
    assert whole["detectable_differences"].keys() == whole["confidence_intervals"].keys()
    shown = {key: value for key, value in flat.items() if key.startswith("detectable_differences/")}
    assert shown == {f"detectable_differences/{key}": value for key, value in whole["detectable_differences"].items()}
    assert shown
    without = metric.compute(predictions=predictions, references=references, **options)
    assert "detectable_differences" not in without
