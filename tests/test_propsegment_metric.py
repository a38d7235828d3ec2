"""Both configurations: published figures, slow plain oracles, options, refused input."""

import doctest
import json
import math
import random
import warnings
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from itertools import permutations

import datasets
import numpy as np
import pytest
from conftest import ROOT, benchmark_file, expected, load, perturbed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    confusion_matrix,
    matthews_corrcoef,
    precision_recall_fscore_support,
)

import spanscore.formats.propsegment
from spanscore.comparison import compare_systems, summarise_runs
from spanscore.metrics import entailment, entailment_records, propsegment_records
from spanscore.metrics.columns import to_arrow
from spanscore.metrics.mistakes import Mistakes

SEGMENTATION = load("propsegment")
ENTAILMENT = load("propsegment", "entailment")
LABELS = ["entail", "neutral", "contradict"]


def segment(predictions, references, **options):
    return SEGMENTATION.compute(predictions=predictions, references=references, **options)


def entail(predictions, references, **options):
    return ENTAILMENT.compute(predictions=predictions, references=references, **options)


def prf(row):
    return row["precision"], row["recall"], row["f1"]


# --- slow, plain and exact --------------------------------------------------------------------------------------------


def similarity(a, b):
    return Fraction(len(a & b), len(a | b))


def brute_force(predicted, gold, threshold, alignment):
    """Counting pairs of the best of all alignments."""
    short, long = sorted((predicted, gold), key=len)
    best = (Fraction(-1), -1)
    for order in permutations(range(len(long)), len(short)):
        values = [similarity(short[i], long[j]) for i, j in enumerate(order)]
        counting = sum(value >= threshold for value in values)
        total = Fraction(0) if alignment == "threshold" else sum(values, Fraction(0))
        best = max(best, (total, counting))
    return best[1]


def scipy_loop(predicted, gold, threshold, alignment):
    if not predicted or not gold:
        return 0
    values = np.array([[float(similarity(p, g)) for g in gold] for p in predicted])
    counting = values >= float(threshold)
    chosen = linear_sum_assignment(counting if alignment == "threshold" else values + 1e-9 * counting, maximize=True)
    return int(counting[chosen].sum())


def oracle(
    predictions,
    references,
    align=brute_force,
    threshold=Fraction(4, 5),
    alignment="total",
    beta=1,
    deduplicate=True,
    empty="zero",
):
    means, pooled, used = {"jaccard": [], "exact": []}, Counter(), 0
    tally = Counter()
    for prediction, reference in zip(predictions, references, strict=True):
        sides = [[frozenset(p) for p in side] for side in (prediction, reference)]
        for name, side in zip(("predictions", "references"), sides, strict=True):
            tally[f"repeated_{name}"] += len(side) - len(set(side))
            tally[f"empty_{name}"] += not side
        tally["repeating"] += len(sides[0]) > len(set(sides[0]))
        predicted, gold = (sorted(set(side), key=sorted) if deduplicate else side for side in sides)
        found = {
            "jaccard": align(predicted, gold, threshold, alignment),
            "exact": sum((Counter(predicted) & Counter(gold)).values()),
        }
        pooled.update(found=found["jaccard"], predicted=len(predicted), gold=len(gold))
        if not predicted and not gold and empty == "skip":
            continue
        used += 1
        for name, n in found.items():
            if not predicted and not gold:
                means[name].append((Fraction(empty == "one"),) * 2)
            else:
                means[name].append(tuple(Fraction(n, len(side)) if side else Fraction(0) for side in (predicted, gold)))

    def row(p, r):
        weight = Fraction(beta) ** 2
        f = (1 + weight) * p * r / (weight * p + r) if p or r else 0
        return {"precision": float(p), "recall": float(r), "f1": float(f)}

    result = {}
    for name, values in means.items():
        p, r = (
            sum(column, Fraction(0)) / used if used else Fraction(0)
            for column in (zip(*values, strict=True) if values else ((), ()))
        )
        result[name] = row(p, r)
    micro = [Fraction(pooled["found"], pooled[side]) if pooled[side] else Fraction(0) for side in ("predicted", "gold")]
    counts = {"true_positives": pooled["found"], "predicted": pooled["predicted"], "gold": pooled["gold"]}
    return result["jaccard"] | {
        "exact": result["exact"],
        "micro": row(*micro) | counts,
        "repeated_predictions": tally["repeated_predictions"],
        "repeated_references": tally["repeated_references"],
        "repetition_rate": tally["repeating"] / len(references),
        "empty_predictions": tally["empty_predictions"],
        "empty_references": tally["empty_references"],
        "no_reference": 0,
    }


def assert_close(found, wanted):
    for key, value in wanted.items():
        if isinstance(value, dict):
            assert_close(found[key], value)
        else:
            assert found[key] == pytest.approx(value, rel=0, abs=1e-12), key


# --- the benchmark's files --------------------------------------------------------------------------------------------


def reference_of(entry):
    return next((r for r in entry["segmentation_responses"] if r["is_reference_response"]), None)


def propositions_of(response):
    return [p["token_indices"] for p in response.get("propositions", [])]


def corpus(split):
    return spanscore.formats.propsegment.read(benchmark_file(f"propsegment/propositions.{split}.json")).records


def test_expected_figures():
    path = benchmark_file("propsegment/propositions.test.json")
    predictions = json.loads(perturbed("propsegment", path))
    result = segment(predictions, corpus("test"))
    figures = expected()["propsegment"]
    assert prf(result) == pytest.approx(prf(figures["jaccard"]), abs=1e-6)
    assert prf(result["exact"]) == pytest.approx(prf(figures["exact"]), abs=1e-6)
    assert result["no_reference"] == 144


@pytest.mark.parametrize("split", ["dev", "test"])
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    "options",
    [{}, {"alignment": "threshold", "deduplicate": False}, {"threshold": 0.7, "empty": "one", "beta": 2}],
    ids=["default", "threshold", "0.7"],
)
def test_other_seeds_against_a_loop(split, seed, options):
    path = benchmark_file(f"propsegment/propositions.{split}.json")
    predictions = json.loads(perturbed("propsegment", path, seed))
    references = [propositions_of(r) for entry in corpus(split) if (r := reference_of(entry))]
    exact = options | ({"threshold": Fraction(7, 10)} if "threshold" in options else {})
    assert_close(segment(predictions, references, **options), oracle(predictions, references, scipy_loop, **exact))


@pytest.mark.parametrize(
    ("split", "precision", "recall", "exact"), [("dev", 0.512, 0.581, None), ("test", 0.497, 0.567, (0.228, 0.259))]
)
def test_raters_against_the_reference(split, precision, recall, exact):
    predictions, references = [], []
    for entry in corpus(split):
        reference = reference_of(entry)
        for response in entry["segmentation_responses"] if reference else []:
            if response is not reference:
                predictions.append(propositions_of(response))
                references.append(propositions_of(reference))
    result = segment(predictions, references, per_document=True)
    assert (round(result["precision"], 3), round(result["recall"], 3)) == (precision, recall)
    if exact:
        assert (round(result["exact"]["precision"], 3), round(result["exact"]["recall"], 3)) == exact
        other = segment(predictions, references, alignment="threshold", per_document=True)
        pairs = zip(result["per_document"], other["per_document"], strict=True)
        assert (len(references), sum(a != b for a, b in pairs)) == (2256, 12)


@pytest.mark.parametrize("split", ["dev", "test"])
def test_reference_against_itself(split):
    entries = corpus(split)
    predictions = [propositions_of(reference_of(entry) or {}) for entry in entries]
    result = segment(predictions, entries)
    assert prf(result) == prf(result["exact"]) == (1.0, 1.0, 1.0)
    assert result["no_reference"] == sum(reference_of(entry) is None for entry in entries) > 0


def test_entailment_of_the_dev_file():
    path = benchmark_file("propsegment/relationships.dev.json")
    entries = spanscore.formats.propsegment.read(path).records
    result = entail(["neutral"] * len(entries), entries)
    assert result["balanced_accuracy"] == 0.5
    assert round(result["accuracy"], 4) == 0.7301
    assert sum(row["support"] for row in result["per_label"].values()) == 1986
    assert result["per_label"]["entail"]["support"] == 536
    assert result["no_reference"] == 26
    assert round(536 / 1986, 4) == 0.2699
    # The labels by plain counting, and predictions for the labelled entries alone.
    gold = []
    for entry in entries:
        votes = Counter(r["relationship"] for r in entry["relationship_responses"])
        votes.pop("RELATIONSHIP_UNSPECIFIED", None)
        if votes and votes.most_common(1)[0][1] >= 2:
            gold.append(votes.most_common(1)[0][0])
    perfect = entail(gold, entries)
    assert perfect["balanced_accuracy"] == perfect["macro_f1"] == perfect["matthews_correlation"] == 1.0


# --- segmentation: hand-worked ----------------------------------------------------------------------------------------


def test_the_two_alignments_differ():
    # Similarities [[.8, .7], [.7, .45]]: 88/110, 91/130, 98/140 and 81/180. Crossing has the larger total, 1.4 to 1.25.
    predicted = [[*range(100)], [*range(88), *range(100, 152)]]
    gold = [[*range(88), *range(100, 110)], [*range(79), *range(88, 100), *range(110, 112), *range(152, 180)]]
    found = [[similarity(set(p), set(g)) for g in gold] for p in predicted]
    assert found == [[Fraction(4, 5), Fraction(7, 10)], [Fraction(7, 10), Fraction(9, 20)]]
    assert segment([predicted], [gold])["micro"]["true_positives"] == 0
    assert segment([predicted], [gold], alignment="threshold")["micro"]["true_positives"] == 1


def test_equal_totals_choose_the_alignment_with_more_counting_pairs():
    # 0.8 + 0.8 = 1 + 0.6: both pairs of the first count, one of the second.
    predicted, gold = [[1, 2, 3, 4, 5], [2, 3, 4, 5]], [[1, 2, 3, 4, 5], [1, 2, 3, 4]]
    for p in (predicted, predicted[::-1]):
        for g in (gold, gold[::-1]):
            result = segment([p], [g])
            assert (result["precision"], result["recall"]) == (1.0, 1.0)
            assert prf(result["exact"]) == (0.5, 0.5, 0.5)


def test_four_of_five_counts():
    assert segment([[[0, 1, 2, 3]]], [[[0, 1, 2, 3, 4]]])["f1"] == 1.0
    assert segment([[[0, 1, 2, 3]]], [[[0, 1, 2, 3, 4]]], threshold=0.81)["f1"] == 0.0
    assert segment([[[0, 1, 2, 3]]], [[[0, 1, 2, 3, 4]]])["exact"]["f1"] == 0.0


def test_macro_and_micro_means():
    # One sentence with 1 of 1 predicted right and 1 of 4 gold found, one with 0 of 3 and 0 of 1.
    predictions = [[[0, 1]], [[0], [1], [2]]]
    references = [[[0, 1], [2], [3], [4]], [[5]]]
    result = segment(predictions, references)
    assert (result["precision"], result["recall"]) == (0.5, 0.125)
    assert result["f1"] == pytest.approx(2 * 0.5 * 0.125 / 0.625)
    assert result["micro"] == {
        "precision": 0.25,
        "recall": 0.2,
        "f1": pytest.approx(2 / 9),
        "true_positives": 1,
        "predicted": 4,
        "gold": 5,
    }


def test_beta_weights_recall_in_every_row():
    predictions, references = [[[0, 1]]], [[[0, 1], [2], [3], [4]]]
    for row in (r := segment(predictions, references, beta=2), r["exact"], r["micro"]):
        assert row["f1"] == pytest.approx(5 * 1 * 0.25 / (4 * 1 + 0.25))
    low = segment(predictions, references, beta=0.5)
    assert low["f1"] == pytest.approx(1.25 * 0.25 / (0.25 + 0.25))
    assert "beta:0.5" in low["signature"]


def test_repeats():
    predictions = [[[0, 2], [2, 0, 0], [5]], [[2]]]
    references = [[[0, 2], [0, 2], [7]], [[2]]]
    once = segment(predictions, references)
    assert (once["precision"], once["recall"]) == (0.75, 0.75)
    assert (once["repeated_predictions"], once["repeated_references"], once["repetition_rate"]) == (1, 1, 0.5)
    kept = segment(predictions, references, deduplicate=False)
    assert (kept["precision"], kept["recall"]) == (pytest.approx((2 / 3 + 1) / 2), pytest.approx((2 / 3 + 1) / 2))
    assert (kept["repeated_predictions"], kept["repeated_references"], kept["repetition_rate"]) == (1, 1, 0.5)
    assert kept["exact"]["precision"] == kept["precision"]


def test_empty_sentences():
    predictions, references = [[], [[0]], [], [[0]]], [[], [[0]], [[0]], []]
    zero, one, skip = (segment(predictions, references, empty=empty) for empty in ("zero", "one", "skip"))
    assert (zero["precision"], zero["recall"]) == (0.25, 0.25)
    assert (one["precision"], one["recall"]) == (0.5, 0.5)
    assert (skip["precision"], skip["recall"]) == (1 / 3, 1 / 3)
    assert (zero["empty_predictions"], zero["empty_references"]) == (2, 2)
    assert one["exact"]["precision"] == 0.5
    assert one["micro"] == zero["micro"] == skip["micro"]
    nothing = segment([[]], [[]], empty="skip")
    assert prf(nothing) == (0.0, 0.0, 0.0)


def test_no_gold_at_all():
    with pytest.warns(UserWarning, match="no proposition"):
        result = segment([[[0]], []], [[], []])
    assert result["no_gold"] is True
    assert "no_gold" not in segment([[]], [[]])


def test_discontinuous_propositions_are_sets():
    assert segment([[[9, 0, 4, 4]]], [[[0, 4, 9]]])["exact"]["f1"] == 1.0
    assert segment([[[0, 1, 2]]], [[[0, 2]]], threshold=0.8)["f1"] == 0.0


def test_signature():
    assert segment([[[0]]], [[[0]]])["signature"] == (
        "propsegment|v:2.0.0|task:segmentation|pairing:position|alignment:total|threshold:0.8|beta:1.0"
        "|deduplicate:yes|empty:zero"
    )
    options = {"alignment": "threshold", "threshold": 0.5, "beta": 2, "deduplicate": False, "empty": "skip"}
    with_ids = [{"id": 1, "propositions": [[0]]}]
    assert segment(with_ids, with_ids, **options)["signature"] == (
        "propsegment|v:2.0.0|task:segmentation|pairing:id|alignment:threshold|threshold:0.5|beta:2.0"
        "|deduplicate:no|empty:skip"
    )


# --- segmentation: properties -----------------------------------------------------------------------------------------

proposition = st.sets(st.integers(0, 7), min_size=1).map(sorted)
sentence = st.lists(proposition, max_size=4)
corpora = st.lists(st.tuples(sentence, sentence), min_size=1, max_size=4).map(
    lambda both: tuple(zip(*both, strict=True))
)


@given(
    corpora,
    st.sampled_from([Fraction(1, 3), Fraction(1, 2), Fraction(3, 5), Fraction(7, 10), Fraction(4, 5), Fraction(1)]),
    st.sampled_from(["total", "threshold"]),
    st.sampled_from([Fraction(1, 2), 1, 2]),
    st.booleans(),
    st.sampled_from(["zero", "one", "skip"]),
)
@settings(max_examples=300, deadline=None)
def test_against_the_exact_oracle(both, threshold, alignment, beta, deduplicate, empty):
    options = {"alignment": alignment, "deduplicate": deduplicate, "empty": empty}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = segment(*both, threshold=float(threshold), beta=float(beta), **options)
    assert_close(result, oracle(*both, threshold=threshold, beta=beta, **options))


@given(corpora, st.randoms(use_true_random=False), st.sampled_from(["total", "threshold"]), st.booleans())
@settings(max_examples=150, deadline=None)
def test_order_changes_nothing(both, rng, alignment, deduplicate):
    def shuffled(items):
        return rng.sample(items, len(items))

    order = shuffled(range(len(both[0])))
    mixed = [[shuffled([shuffled(p) for p in side[i]]) for i in order] for side in both]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"alignment": alignment, "deduplicate": deduplicate, "threshold": 0.6}
        assert segment(*both, **options) == segment(*mixed, **options)


def in_whole_numbers(predicted, gold, threshold, alignment):
    """Counting pairs by one assignment in whole numbers: 2520 is a multiple of every union of up to ten tokens."""
    if not predicted or not gold:
        return 0
    values = [[similarity(p, g) for g in gold] for p in predicted]
    counting = np.array([[value >= threshold for value in row] for row in values])
    totals = np.array([[int(value * 2520) for value in row] for row in values]) if alignment == "total" else 0
    return int(counting[linear_sum_assignment(totals * 100 + counting, maximize=True)].sum())


@given(st.integers(0, 10**6), st.sampled_from([Fraction(1, 2), Fraction(3, 5), Fraction(4, 5)]))
@settings(max_examples=150, deadline=None)
def test_ties_in_sentences_of_many_propositions(seed, threshold):
    rng = random.Random(seed)
    n_tokens = rng.randint(4, 10)

    def side():
        # Subsets of few tokens tie all the time.
        return [rng.sample(range(n_tokens), rng.randint(1, n_tokens)) for _ in range(rng.randint(1, 20))]

    both = [side() for _ in range(3)], [side() for _ in range(3)]
    for alignment in ("total", "threshold"):
        wanted = oracle(*both, in_whole_numbers, threshold=threshold, alignment=alignment, deduplicate=False)
        assert_close(segment(*both, threshold=float(threshold), alignment=alignment, deduplicate=False), wanted)


@given(corpora, st.booleans())
@settings(max_examples=50, deadline=None)
def test_bounds_and_self_score(both, deduplicate):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = segment(*both, deduplicate=deduplicate)
        whole = segment(*both, threshold=1, deduplicate=deduplicate)
        perfect = segment(both[1], both[1], deduplicate=deduplicate, empty="one")
    assert prf(whole) == prf(result["exact"])
    assert result["exact"]["recall"] <= result["recall"] + 1e-15
    assert prf(perfect) == prf(perfect["exact"]) == (1.0, 1.0, 1.0)


@given(corpora, st.sampled_from(["total", "threshold"]))
@settings(max_examples=100, deadline=None)
def test_errors_add_up(both, alignment):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = segment(*both, alignment=alignment, return_errors=True, per_document=True)
    kinds = Counter((error["record"], error["kind"]) for error in result["errors"])
    for row in result["per_document"]:
        pairs = sum(kinds[row["id"], kind] for kind in ("near_miss", "merged", "split"))
        assert row["predicted"] - row["true_positives"] == pairs + kinds[row["id"], "spurious"]
        assert row["gold"] - row["true_positives"] == pairs + kinds[row["id"], "missed"]
    # The rows of sentences make up the whole.
    totals = Counter()
    for row in result["per_document"]:
        totals.update({key: row[key] for key in ("true_positives", "predicted", "gold")})
    assert all(result["micro"][key] == totals[key] for key in ("true_positives", "predicted", "gold"))


def test_kinds_of_error():
    def errors(predicted, gold, **options):
        found = segment([predicted], [gold], return_errors=True, **options)["errors"]
        return [(error["kind"], error["prediction"], error["reference"]) for error in found]

    assert errors([[0, 1, 2]], [[0, 1, 4]]) == [("near_miss", [0, 1, 2], [0, 1, 4])]
    # One prediction over two gold propositions, and the reverse.
    assert errors([[0, 1, 2, 3, 4]], [[0, 1, 2], [3, 4]]) == [
        ("merged", [0, 1, 2, 3, 4], [0, 1, 2]),
        ("missed", None, [3, 4]),
    ]
    assert errors([[0, 1, 2], [3, 4]], [[0, 1, 2, 3, 4]]) == [
        ("split", [0, 1, 2], [0, 1, 2, 3, 4]),
        ("spurious", [3, 4], None),
    ]
    # Four of five tokens cover; three of four do not.
    whole = list(range(10))
    assert errors([whole], [[0, 1, 2, 3, 20], [5, 6, 7, 8, 21]])[0][0] == "merged"
    assert errors([whole], [[0, 1, 2, 20], [5, 6, 7, 21]])[0][0] == "near_miss"
    assert errors([[0]], [[1]]) == [("spurious", [0], None), ("missed", None, [1])]
    assert errors([[0, 1]], [[1, 0]]) == []
    entry = segment([[[0]]], [[[1]]], return_errors=True)["errors"][0]
    assert entry == {"record": 0, "component": "proposition", "kind": "spurious", "prediction": [0], "reference": None}
    # A matched pair is out of it, in both alignments.
    for alignment in ("total", "threshold"):
        found = errors([[0, 1], [4, 5, 6]], [[0, 1], [5, 6, 7]], alignment=alignment)
        assert found == [("near_miss", [4, 5, 6], [5, 6, 7])]
    # A copy too many is an item of its own where repeats are kept.
    assert errors([[0], [0]], [[0]]) == []
    assert errors([[0], [0]], [[0]], deduplicate=False) == [("spurious", [0], None)]


@given(corpora, st.sampled_from(["total", "threshold"]), st.booleans())
@settings(max_examples=100, deadline=None)
def test_matched_and_errors_make_up_both_sides(both, alignment, deduplicate):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"alignment": alignment, "deduplicate": deduplicate, "return_errors": True, "threshold": 0.6}
        result = segment(*both, **options)
    for pair in result["matched"]:
        assert (pair["component"], pair["kind"]) == ("proposition", "right")
        assert similarity(set(pair["prediction"]), set(pair["reference"])) >= Fraction(3, 5)
    assert len(result["matched"]) == result["micro"]["true_positives"]
    for side, name in zip(both, ("prediction", "reference"), strict=True):
        given = Counter((at, tuple(p)) for at, propositions in enumerate(side) for p in propositions)
        found = Counter(
            (item["record"], tuple(item[name]))
            for item in result["matched"] + result["errors"]
            if item[name] is not None
        )
        assert found == (Counter(set(given)) if deduplicate else given)


@given(corpora, st.randoms(use_true_random=False), st.sampled_from(["total", "threshold"]), st.booleans())
@settings(max_examples=100, deadline=None)
def test_order_of_propositions_does_not_show_in_errors(both, rng, alignment, deduplicate):
    mixed = [[rng.sample(propositions, len(propositions)) for propositions in side] for side in both]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"alignment": alignment, "deduplicate": deduplicate, "return_errors": True, "threshold": 0.6}
        assert segment(*both, **options) == segment(*mixed, **options)


def test_pairs_that_count_are_aligned_first():
    # As above: one pair counts, and the other two propositions are aligned with each other.
    predicted = [[*range(100)], [*range(88), *range(100, 152)]]
    gold = [[*range(88), *range(100, 110)], [*range(79), *range(88, 100), *range(110, 112), *range(152, 180)]]
    result = segment([predicted], [gold], alignment="threshold", return_errors=True)
    assert [(pair["prediction"], pair["reference"]) for pair in result["matched"]] == [(predicted[0], gold[0])]
    assert [(error["prediction"], error["reference"]) for error in result["errors"]] == [(predicted[1], gold[1])]
    # Of the two ways to align one pair that counts, the closer one.
    result = segment([[[0, 1, 2, 3, 4]]], [[[0, 1, 2, 3], [0, 1, 2, 3, 4]]], alignment="threshold", return_errors=True)
    assert result["matched"][0]["reference"] == [0, 1, 2, 3, 4]


@given(corpora, st.booleans(), st.sampled_from(["zero", "one", "skip"]), st.sampled_from([0.5, 1, 2]))
@settings(max_examples=100, deadline=None)
def test_mended_kinds(both, deduplicate, empty, beta):
    options = {"deduplicate": deduplicate, "empty": empty, "beta": beta}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = segment(*both, return_errors=True, per_document=True, **options)
    assert sum(kind["errors"] for kind in result["error_kinds"]) == len(result["errors"])
    for kind in result["error_kinds"]:
        errors = Counter(error["record"] for error in result["errors"] if error["kind"] == kind["kind"])
        assert kind["errors"] == errors.total()
        assert (kind["component"], kind["headline"]) == ("proposition", None)
        rates = []
        for row in result["per_document"]:
            found, predicted, gold = row["true_positives"], row["predicted"], row["gold"]
            if kind["kind"] == "spurious":
                predicted -= errors[row["id"]]
            else:
                found += errors[row["id"]]
                predicted += errors[row["id"]] * (kind["kind"] == "missed")
            if predicted or gold:
                rates.append([found / side if side else 0.0 for side in (predicted, gold)])
            elif empty != "skip":
                rates.append([float(empty == "one")] * 2)
        precision, recall = np.mean(rates, axis=0) if rates else (0.0, 0.0)
        weighted = beta**2 * precision + recall
        f1 = (1 + beta**2) * precision * recall / weighted if weighted else 0.0
        assert kind["f1"] == pytest.approx(f1, abs=1e-12)
    assert segment([[[0]], []], [[[0]], []], return_errors=True)["error_kinds"] == []


# --- segmentation: forms of records -----------------------------------------------------------------------------------


def entry(index, *responses, **more):
    """An entry of the benchmark; a response is its propositions, the first is the reference; None stays without."""
    listed = [
        {
            "non_informational": propositions is None,
            "rater_did_not_understand_sentence": False,
            "is_reference_response": number == 0,
            **({} if propositions is None else {"propositions": [{"token_indices": p} for p in propositions]}),
        }
        for number, propositions in enumerate(responses)
    ]
    name = {"cluster_id": "7", "document_id": f"d{index // 2}", "sentence_index": index}
    return {"sentence_id": name, "segmentation_responses": listed} | more


def without_reference(index):
    made = entry(index, [[0]], [[1]])
    for response in made["segmentation_responses"]:
        response["is_reference_response"] = False
    return made


def test_record_forms_are_the_same():
    predictions, references = [[[0, 1], [2]], []], [[[0, 1], [3]], [[4, 5]]]
    wanted = segment(predictions, references)

    def dicts(side):
        return [{"propositions": propositions, "extra": object} for propositions in side]

    forms = {
        "dicts": dicts,
        "columns": lambda side: {"propositions": side, "other": [1, 2]},
        "dataset": lambda side: datasets.Dataset.from_dict({"propositions": side, "text": ["a", "b"]}),
        "tuples": lambda side: tuple(tuple(map(tuple, propositions)) for propositions in side),
        "sets": lambda side: [[set(p) for p in propositions] for propositions in side],
        "arrays": lambda side: [[np.array(p) for p in propositions] for propositions in side],
        "numpy integers": lambda side: [[[np.int64(t) for t in p] for p in propositions] for propositions in side],
        "floats that are whole": lambda side: [[[float(t) for t in p] for p in propositions] for propositions in side],
        "with None": lambda side: [{"id": None, "tokens": None, "propositions": p} for p in side],
        "mixed": lambda side: [side[0], {"propositions": side[1]}],
        "entries": lambda side: [entry(i, propositions or None) for i, propositions in enumerate(side)],
    }
    for name, form in forms.items():
        assert segment(predictions, form(references)) == wanted, name
        if name != "entries":
            assert segment(form(predictions), references) == wanted, name
    array = np.array([[0, 1], [2, 3]])
    assert segment([array], [[[0, 1], [2, 3]]])["exact"]["f1"] == 1.0


def test_entries_as_references():
    references = [entry(0, [[0, 1]], [[9]]), without_reference(1), entry(2, None, [[1]]), entry(3, [[2]])]
    wanted = segment([[[0, 1]], [[5]], [[2]]], [[[0, 1]], [], [[2]]])
    for predictions in ([[[0, 1]], [[8]], [[5]], [[2]]], [[[0, 1]], [[5]], [[2]]]):
        result = segment(predictions, references, per_document=True)
        assert [row["id"] for row in result.pop("per_document")] == [0, 2, 3]
        assert result == wanted | {"no_reference": 1}
    for n in (0, 2, 5):
        with pytest.raises(ValueError, match=f"{n} predictions for 4 entries, 3 of which .*expected 4 or 3"):
            segment([[[0]]] * n, references)


def test_entries_pair_by_their_sentence_id():
    references = [entry(0, [[0, 1]]), without_reference(1), entry(2, [[2]])]
    predictions = [{"id": "7/d1/2", "propositions": [[2]]}, {"id": "7/d0/0", "propositions": [[0, 1]]}]
    result = segment(predictions, references, per_document=True)
    assert prf(result) == (1.0, 1.0, 1.0)
    assert [row["id"] for row in result["per_document"]] == ["7/d0/0", "7/d1/2"]
    assert "pairing:id" in result["signature"]
    everything = [*predictions, {"id": "7/d0/1", "propositions": [[4]]}]
    assert prf(segment(everything, references)) == (1.0, 1.0, 1.0)
    with pytest.raises(ValueError, match="'7/x' are not among"):
        segment([predictions[0], {"id": "7/x", "propositions": []}], references)
    with pytest.raises(ValueError, match="none of the 1 entries has a reference response"):
        segment([[]], [without_reference(0)])


def rows_and_mistakes(read, references):
    """References as they are read, and the mistakes: the record, the path within it and the words."""
    mistakes = Mistakes()
    rows = to_arrow(read("references", references, mistakes)).to_pylist()
    return rows, [(path[1], path[2:], words) for path, words in mistakes.sorted()]


def test_entries_keep_their_document_as_group():
    rows, _ = rows_and_mistakes(propsegment_records.read, [entry(0, [[0]]), [[1]], entry(2, [[2]])])
    assert [row["group"] for row in rows] == ["d0", None, "d1"]
    assert [row["id"] for row in rows] == ["7/d0/0", None, "7/d1/2"]
    assert [row["propositions"] for row in rows] == [[[0]], [[1]], [[2]]]
    assert load("propsegment").features["references"]["group"] == datasets.Value("string")


def test_names_of_the_documentation():
    made = entry(0, [[0, 1]])
    for response in made["segmentation_responses"]:
        response["propositions"] = [{"included_token_indices": p["token_indices"]} for p in response["propositions"]]
    assert segment([[[0, 1]]], [made])["f1"] == 1.0
    votes = [{"entailment_status": "RELATIONSHIP_ENTAILS"}] * 2
    assert entail(["e"], [{"entailment_responses": votes}])["accuracy"] == 1.0


def test_entries_among_records_read_as_they_do_alone():
    entries = [entry(0, [[0, 1], [3]], [[9]]), without_reference(1), entry(2, None, [[1]]), entry(3, [[2]])]
    alone, _ = rows_and_mistakes(propsegment_records.read, entries)
    among, _ = rows_and_mistakes(propsegment_records.read, [*entries, [[5]]])
    assert alone == among[:4]
    assert [row["propositions"] for row in among] == [[[0, 1], [3]], None, [], [[2]], [[5]]]


def test_pairing_by_id():
    predictions = [{"id": 2, "propositions": [[1]]}, {"id": "1", "propositions": [[0]]}]
    references = [{"id": "1", "propositions": [[0]]}, {"id": "2", "propositions": [[1]]}]
    result = segment(predictions, references, per_document=True)
    assert result["f1"] == 1.0
    assert result["per_document"][0] == {"id": "1", "true_positives": 1, "predicted": 1, "gold": 1}
    with pytest.raises(ValueError, match="repeated ids '1'"):
        segment([predictions[1]] * 2, references)
    with pytest.raises(ValueError, match="1 predictions for 2 references"):
        segment([[[0]]], references)


# --- segmentation: what is refused ------------------------------------------------------------------------------------

GOOD = [[[0, 1]]]
BAD_PREDICTIONS = [
    (5, "predictions: 5 is not a list of records"),
    ("abc", "predictions: 'abc' is not a list of records"),
    ([5], "predictions[0]: 5 is not a record"),
    ([None], "predictions[0]: None is not a record"),
    (["abc"], "predictions[0]: 'abc' is not a record"),
    ([{}], "predictions[0].propositions: missing, expected a list of propositions"),
    ([{"propositions": None}], "predictions[0].propositions: None is not a list of propositions"),
    ([{"propositions": 3}], "predictions[0].propositions: 3 is not a list of propositions"),
    ([{"propositions": "ab"}], "predictions[0].propositions: 'ab' is not a list of propositions"),
    ([[3]], "predictions[0].propositions[0]: 3 is not the token indices of a proposition"),
    ([[[0], None]], "predictions[0].propositions[1]: None is not the token indices of a proposition"),
    ([[[0]], [[1], []]], "predictions[1].propositions[1]: [] is empty, expected the token indices of a proposition"),
    ([[[0, -1]]], "predictions[0].propositions[0][1]: -1 is not a token index (a whole number from 0)"),
    ([[[0, 0.5]]], "predictions[0].propositions[0][1]: 0.5 is not a token index"),
    ([[[0, float("nan")]]], "predictions[0].propositions[0][1]: nan is not a token index"),
    ([[[True]]], "predictions[0].propositions[0][0]: True is not a token index"),
    ([[[np.True_]]], "predictions[0].propositions[0][0]: "),
    ([[["0"]]], "predictions[0].propositions[0][0]: '0' is not a token index"),
    ([[[None]]], "predictions[0].propositions[0][0]: None is not a token index"),
    ([[[2**40]]], "predictions[0].propositions[0][0]: 1099511627776 is too large, expected a token index"),
    ([[[10**30]]], "predictions[0].propositions[0][0]: "),
    ([{"id": 1.5, "propositions": []}], "predictions[0].id: 1.5 is not an id"),
    ([{"id": True, "propositions": []}], "predictions[0].id: True is not an id"),
    ([{"tokens": "ab", "propositions": []}], "predictions[0].tokens: 'ab' is not a list of tokens"),
    ([{"tokens": b"ab", "propositions": []}], "predictions[0].tokens: b'ab' is not a list of tokens"),
    ([{"tokens": ["a", 1], "propositions": []}], "predictions[0].tokens[1]: 1 is not a token"),
    (
        [{"tokens": ["a", "b"], "propositions": [[0], [1, 2]]}],
        "predictions[0].propositions[1][1]: 2 is past the end, expected an index below 2, the number of tokens",
    ),
    (
        [entry(0, [[0]])],
        "predictions[0].propositions: missing, expected a list of propositions; an entry with segmentation_responses "
        "is gold, which only references may be",
    ),
    ({"text": ["a"]}, "predictions: {'text': ['a']} is not a list of records, nor columns id, tokens, propositions"),
    ({"propositions": [[[0]]], "id": [1, 2]}, "predictions: columns differ in length: id has 2, propositions has 1"),
]


@pytest.mark.parametrize(("predictions", "message"), BAD_PREDICTIONS, ids=[m for _, m in BAD_PREDICTIONS])
def test_bad_predictions(predictions, message):
    with pytest.raises(ValueError) as refused:
        segment(predictions, GOOD)
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)
    assert segment(GOOD, GOOD)["f1"] == 1.0


def changed(path, value):
    """An entry with one value changed; `...` takes the key away."""
    made = json.loads(json.dumps(entry(0, [[0, 1]], [[2]])))
    place = made
    for step in path[:-1]:
        place = place[step]
    if value is ...:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return made


RESPONSES = ("segmentation_responses",)
BAD_ENTRIES = [
    (changed(RESPONSES, 5), "references[0].segmentation_responses: 5 is not a list of responses"),
    (changed(RESPONSES, [5]), "references[0].segmentation_responses[0]: 5 is not a rater's response"),
    (
        changed((*RESPONSES, 0, "is_reference_response"), ...),
        "references[0].segmentation_responses[0].is_reference_response: missing, expected true or false",
    ),
    (
        changed((*RESPONSES, 0, "is_reference_response"), 1),
        "references[0].segmentation_responses[0].is_reference_response: 1 is not true or false",
    ),
    (
        changed((*RESPONSES, 1, "is_reference_response"), True),
        "references[0].segmentation_responses: two responses are the reference response, expected at most one",
    ),
    (
        changed((*RESPONSES, 1, "propositions"), 5),
        "references[0].segmentation_responses[1].propositions: 5 is not a list of propositions",
    ),
    (
        changed((*RESPONSES, 0, "propositions", 0), [0]),
        "references[0].segmentation_responses[0].propositions[0]: [0] is not a proposition",
    ),
    (
        changed((*RESPONSES, 0, "propositions", 0, "token_indices"), ...),
        "references[0].segmentation_responses[0].propositions[0].token_indices: missing",
    ),
    (
        changed((*RESPONSES, 0, "propositions", 0, "token_indices"), []),
        "references[0].segmentation_responses[0].propositions[0].token_indices: [] is empty",
    ),
    (
        changed((*RESPONSES, 0, "propositions", 0, "token_indices", 1), -3),
        "references[0].segmentation_responses[0].propositions[0].token_indices[1]: -3 is not a token index",
    ),
    (changed(("sentence_id",), "x"), "references[0].sentence_id: 'x' is not a sentence_id"),
    (changed(("sentence_id", "cluster_id"), ...), "references[0].sentence_id.cluster_id: missing, expected an id"),
    (changed(("sentence_id", "document_id"), 0.5), "references[0].sentence_id.document_id: 0.5 is not an id"),
    (changed(("sentence_id", "sentence_index"), -1), "references[0].sentence_id.sentence_index: -1 is not a sentence"),
    (changed(("tokens",), ["a"]), "references[0].propositions[0][1]: 1 is past the end, expected an index below 1"),
]


@pytest.mark.parametrize(("reference", "message"), BAD_ENTRIES, ids=[m for _, m in BAD_ENTRIES])
def test_bad_entries(reference, message):
    with pytest.raises(ValueError) as refused:
        segment(GOOD, [reference])
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)


def test_tokens_of_both_sides():
    references = [{"tokens": ["a", "b"], "propositions": [[0]]}]
    with pytest.raises(ValueError, match=r"predictions\[0\]\.propositions\[0\]\[1\]: 2 is past the end"):
        segment([[[0, 2]]], references)
    with pytest.raises(ValueError, match=r"predictions\[0\]\.tokens: 3 tokens, expected 2 as in the reference"):
        segment([{"tokens": ["a", "b", "c"], "propositions": [[0]]}], references)
    assert segment([{"tokens": ["A", "B"], "propositions": [[0]]}], references)["f1"] == 1.0


BAD_OPTIONS = [
    ("threshold", [0, -0.1, 1.01, "0.8", None, True, float("nan"), [0.8]], "a number above 0, at most 1"),
    ("alignment", ["Total", "", None, 1], "one of total, threshold"),
    ("beta", [0, -1, float("inf"), float("nan"), "1", None, True], "a number above 0, at most 1e6"),
    ("deduplicate", [1, "yes", None], "true or false"),
    ("empty", ["Zero", 0, None], "one of zero, one, skip"),
    ("per_document", [1, None], "true or false"),
    ("return_errors", ["no", None], "true or false"),
    ("label_names", [LABELS], "not an option of propsegment_metric, expected one of threshold, alignment, beta"),
    ("treshold", [0.8], "not an option of propsegment_metric"),
]


@pytest.mark.parametrize(("name", "values", "message"), BAD_OPTIONS, ids=[name for name, _, _ in BAD_OPTIONS])
def test_bad_options(name, values, message):
    metric = load("propsegment")
    metric.add_batch(predictions=GOOD, references=GOOD)
    for value in values:
        with pytest.raises(ValueError) as refused:
            metric.compute(**{name: value})
        assert str(refused.value).startswith(f"{name}: ")
        assert message in str(refused.value)
    assert metric.compute()["micro"]["gold"] == 1


def test_what_was_added_survives_errors():
    metric = load("propsegment")
    metric.add(prediction=[[0]], reference=[[0]])
    with pytest.raises(ValueError, match=r"predictions\[1\]\.propositions\[0\]\[0\]: -1"):
        metric.add_batch(predictions=[[[0]], [[-1]]], references=[[[0]], [[0]]])
    metric.add_batch(predictions=[[[1]]])
    with pytest.raises(ValueError, match="2 predictions for 1 references"):
        metric.compute()
    unnamed = entry(0, [[1]]) | {"sentence_id": None}
    metric.add_batch(references=[unnamed])
    with pytest.raises(ValueError, match="threshold"):
        metric.compute(threshold=2)
    assert metric.compute()["micro"]["true_positives"] == 2
    with pytest.raises(ValueError, match="there are none"):
        metric.compute()
    with pytest.raises(ValueError, match="there are none"):
        segment([], [])


def test_configurations():
    assert prf(load("propsegment", "segmentation").compute(predictions=GOOD, references=GOOD)) == (1.0, 1.0, 1.0)
    for name in ("segment", "Entailment", "nli"):
        with pytest.raises(ValueError, match=f"config_name: '{name}' is not one of default, segmentation, entailment"):
            load("propsegment", name)
    assert set(ENTAILMENT.features["predictions"]) == {"id", "label", "integer"}
    assert set(SEGMENTATION.features["predictions"]) == {"id", "tokens", "propositions", "unparsed"}


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("id", "tokens", "propositions", "segmentation_responses", "sentence_id", "token_indices", "x"),
                    *("is_reference_response", "label", "relationship_responses", "relationship"),
                ]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


def only_a_result_or_one_line(metric, predictions, references, options):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = metric.compute(predictions=predictions, references=references, **options)
    except ValueError as refused:
        assert "\n" not in str(refused)
        assert len(str(refused)) < 1000
        return
    json.dumps(result, allow_nan=False)


@given(st.data())
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_segmentation_of_anything(data):
    valid = sentence | st.builds(entry, st.integers(0, 3), sentence)
    sides = [data.draw(json_values | st.lists(json_values | valid, max_size=3)) for _ in range(2)]
    options = data.draw(
        st.just({}) | st.dictionaries(st.sampled_from([name for name, _, _ in BAD_OPTIONS]), json_values, max_size=2)
    )
    only_a_result_or_one_line(SEGMENTATION, *sides, {"per_document": True, "return_errors": True} | options)


@given(st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_entailment_of_anything(data):
    label = st.sampled_from([*LABELS, "e", "not-entail", "RELATIONSHIP_UNSPECIFIED", 0, 1])
    rated = st.lists(st.fixed_dictionaries({"relationship": label}), max_size=3)
    valid = label | st.fixed_dictionaries({"relationship_responses": rated}) | st.fixed_dictionaries({"label": label})
    sides = [data.draw(json_values | st.lists(json_values | valid, max_size=3)) for _ in range(2)]
    names = data.draw(st.sampled_from([None, LABELS]) | json_values)
    options = {"per_document": True, "return_errors": True, "label_names": names}
    only_a_result_or_one_line(ENTAILMENT, *sides, options)


@given(st.data())
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_records_read_alike_alone_and_together(data):
    odd = st.sampled_from([None, True, 0.5, 2.0, -1, "1", 2**40, np.int64(1), np.float64(0.5), np.True_, {1}, (), []])
    token = st.integers(0, 9) | odd
    tokens = st.lists(token, max_size=3) | odd
    good = st.lists(proposition, max_size=3)
    segmentation = st.lists(tokens, max_size=3) | good | odd
    kinds = {
        "segmentation": segmentation
        | st.fixed_dictionaries(
            {"propositions": segmentation},
            optional={"id": token, "tokens": st.sampled_from([["a"], "ab", [1], None, b"a"])},
        )
        | st.builds(entry, st.integers(0, 3), good | st.just([[0.5]]) | st.none()),
        "entailment": st.sampled_from([*LABELS, "E", "Entailment", "x", "", b"e", b"\xff", 3])
        | odd
        | st.fixed_dictionaries({"label": st.sampled_from(["n", 1, "x", None, 0.5])}, optional={"id": token})
        | st.fixed_dictionaries(
            {
                "relationship_responses": st.lists(
                    st.fixed_dictionaries({"relationship": st.sampled_from(["e", None, 5])})
                )
            }
        ),
    }
    task = data.draw(st.sampled_from(sorted(kinds)))
    read = {"segmentation": propsegment_records.read, "entailment": entailment_records.read}[task]
    values = data.draw(st.lists(kinds[task], max_size=4))

    rows, mistakes = rows_and_mistakes(read, values)
    alone = [rows_and_mistakes(read, [value]) for value in values]
    assert mistakes == [(at, path, words) for at, (_, found) in enumerate(alone) for _, path, words in found]
    assert rows == [row for found, _ in alone for row in found]


# --- both: several processes ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("config", ["segmentation", "entailment"])
def test_several_processes(config, tmp_path):
    if config == "segmentation":
        first, last = ({**entry(0, propositions), "sentence_id": None} for propositions in ([[0, 1]], [[9, 10]]))
        parts = [([[[0, 1]]], [first]), ([[[2]], [[9]]], [[[3]], last])]
    else:
        parts = [(["e", "n"], ["e", "e"]), (["c"], [{"relationship_responses": [{"relationship": "c"}] * 2}])]
    whole = load("propsegment", config)
    wanted = whole.compute(predictions=parts[0][0] + parts[1][0], references=parts[0][1] + parts[1][1])

    def part(process):
        metric = load(
            "propsegment",
            config,
            num_process=2,
            process_id=process,
            experiment_id="test",
            cache_dir=str(tmp_path),
        )
        metric.add_batch(predictions=parts[process][0], references=parts[process][1])
        return metric.compute()

    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(part, range(2))
    assert first == wanted
    assert second is None


def test_hard_input():
    """Sizes that a slow way would not get through; how fast, the benchmarks tell."""
    rng = random.Random(0)
    left, right = ([[0, *rng.sample(range(1, 60), rng.randint(2, 12))] for _ in range(2000)] for _ in range(2))
    for alignment in ("total", "threshold"):
        assert segment([left], [right], alignment=alignment)["micro"]["predicted"] <= 2000
    predictions = [[[0, 1], [1, 2, i % 7 + 3]] for i in range(100_000)]
    references = [[[1, 2, i % 5 + 3], [0, 1]] for i in range(100_000)]
    result = segment(predictions, references)
    equal = sum(i % 7 == i % 5 for i in range(100_000))
    assert result["micro"]["true_positives"] == 100_000 + equal


# --- entailment -------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=30))
@settings(max_examples=200, deadline=None)
def test_against_scikit_learn(both):
    predicted, gold = map(list, zip(*both, strict=True))
    result = entail(predicted, gold)
    matrix = result["confusion_matrix"]
    assert matrix == {"labels": LABELS, "matrix": confusion_matrix(gold, predicted, labels=LABELS).tolist()}
    rows = precision_recall_fscore_support(gold, predicted, labels=LABELS, zero_division=0)
    for label, *wanted in zip(LABELS, *rows, strict=True):
        assert list(result["per_label"][label].values()) == pytest.approx(wanted)
    assert result["macro_f1"] == pytest.approx(np.mean(rows[2]))
    assert result["three_way_accuracy"] == pytest.approx(accuracy_score(gold, predicted))
    assert result["matthews_correlation"] == pytest.approx(matthews_corrcoef(gold, predicted))
    entailed = [[label == "entail" for label in side] for side in (gold, predicted)]
    assert result["accuracy"] == pytest.approx(accuracy_score(*entailed))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert result["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(*entailed))
    if len(set(entailed[0])) == 1:
        assert result["undefined"] == ("not-entail" if entailed[0][0] else "entail")
    else:
        assert "undefined" not in result


def test_hand_worked_labels():
    # Entail: 1 of 2 found. Not entail: 2 of 3, the third taken for entail.
    gold = ["entail", "entail", "neutral", "neutral", "contradict"]
    predicted = ["entail", "neutral", "neutral", "contradict", "entail"]
    result = entail(predicted, gold)
    assert result["balanced_accuracy"] == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert result["accuracy"] == 3 / 5
    assert result["three_way_accuracy"] == 2 / 5
    assert result["per_label"]["contradict"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 1}
    assert result["signature"] == "propsegment|v:2.0.0|task:entailment|pairing:position|labels:three-way"
    assert result["no_reference"] == 0


def test_a_label_that_never_occurs():
    result = entail(["entail", "neutral"], ["entail", "neutral"])
    assert result["per_label"]["contradict"] == {"precision": 0.0, "recall": 0.0, "f1": 0.0, "support": 0}
    assert result["macro_f1"] == pytest.approx(2 / 3)


def test_names_of_labels():
    names = {
        "entail": "entail Entail ENTAILMENT entailment entails e E RELATIONSHIP_ENTAILS",
        "neutral": "neutral Neutral n N RELATIONSHIP_NEITHER_ENTAILS_NOR_CONTRADICTS",
        "contradict": "contradict contradiction Contradiction contradicts c C RELATIONSHIP_CONTRADICTS",
        "not-entail": "not-entail not_entailment Not-Entailment not_entail",
    }
    for label, words in names.items():
        for word in words.split():
            (row,) = entail([word], [word], per_document=True)["per_document"]
            assert row == {"id": 0, "gold": label, "predicted": label, "correct": True}


def test_two_way():
    gold = ["entail", "not-entail", "not-entail", "neutral"]
    predicted = ["entail", "contradict", "entail", "n"]
    result = entail(predicted, gold, per_document=True)
    assert result["balanced_accuracy"] == pytest.approx((1 + 2 / 3) / 2)
    assert list(result["per_label"]) == ["entail", "not-entail"]
    assert result["per_label"]["not-entail"] == {
        "precision": 1.0,
        "recall": pytest.approx(2 / 3),
        "f1": pytest.approx(0.8),
        "support": 3,
    }
    for key in ("macro_f1", "three_way_accuracy", "matthews_correlation", "confusion_matrix"):
        assert result[key] is None
    assert result["per_document"][1] == {"id": 1, "gold": "not-entail", "predicted": "not-entail", "correct": True}
    assert "labels:two-way" in result["signature"]
    # One such label, of either side, is enough.
    assert entail(["not-entail", "n"], ["n", "c"])["macro_f1"] is None


def test_one_class_only():
    result = entail(["entail", "neutral"], ["entail", "entail"])
    assert (result["balanced_accuracy"], result["undefined"]) == (0.5, "not-entail")
    result = entail(["contradict", "neutral"], ["neutral", "neutral"])
    assert (result["balanced_accuracy"], result["undefined"]) == (1.0, "entail")
    assert entail(["not-entail"], ["not-entail"])["undefined"] == "entail"


def test_integers_need_label_names():
    gold, predicted = [0, 1, 2, 1], np.array([0, 1, 1, 2])
    metric = load("propsegment", "entailment")
    metric.add_batch(predictions=predicted, references=gold)
    with pytest.raises(ValueError, match=r"predictions\[0\]: 0 is an integer, expected the option label_names"):
        metric.compute()
    with pytest.raises(
        ValueError, match=r"references\[2\]: 2 is not a number of label_names, expected one of 0 \(entail"
    ):
        entail([0, 0, 0], [0, 1, 2], label_names=["entail", "neutral"])
    names = ["contradiction", "Entailment", "neutral"]
    result = metric.compute(label_names=names)
    words = ["contradict", "entail", "neutral"]
    wanted = entail([words[i] for i in predicted], [words[i] for i in gold])
    assert "label_names:0=contradict,1=entail,2=neutral" in result.pop("signature")
    del wanted["signature"]
    assert result == wanted
    # A model's id2label, also as read from JSON, and integers on one side only.
    for mapping in ({0: "contradiction", 1: "entailment", 2: "neutral"}, {"0": "c", "1": "e", "2": "n"}):
        again = entail(predicted, [words[i] for i in gold], label_names=mapping)
        del again["signature"]
        assert again == wanted
    # An integer may stand for not-entail, as in two-way data; more than one may.
    two_way = entail([0, 1, 2], [0, 2, 2], label_names=["entail", "not-entail", "not-entail"])
    assert two_way["balanced_accuracy"] == 1.0


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (5, "label_names: 5 is not a list of labels"),
        ("enc", "label_names: 'enc' is not a list of labels"),
        ([], "label_names: [] is empty"),
        ({}, "label_names: {} is empty"),
        (["entail", "happy"], "label_names[1]: 'happy' is not one of entail, neutral, contradict, not-entail"),
        (["entail", None], "label_names[1]: None is not one of"),
        (["entail", "entailment"], "label_names[1]: 'entailment' is the second name of entail"),
        ({"a": "entail"}, "label_names: {'a': 'entail'} is not a list of labels, or a dict"),
        ({-1: "entail"}, "label_names: {-1: 'entail'} is not a list of labels, or a dict"),
        ({0.5: "entail"}, "label_names: {0.5: 'entail'} is not a list of labels, or a dict"),
        ({0: "entail", "0": "neutral"}, "label_names: "),
    ],
)
def test_bad_label_names(value, message):
    with pytest.raises(ValueError) as refused:
        entail([0], [0], label_names=value)
    assert str(refused.value).startswith(message)


BAD_LABELS = [
    ("happy", "predictions[1]: 'happy' is not one of entail, neutral, contradict, not-entail"),
    ("", "predictions[1]: '' is not one of entail"),
    ("RELATIONSHIP_UNSPECIFIED", "predictions[1]: 'RELATIONSHIP_UNSPECIFIED' is not one of entail"),
    (None, "predictions[1]: None is not a label: one of entail, neutral, contradict, not-entail, or an integer"),
    (["entail"], "predictions[1]: ['entail'] is not a label"),
    (0.5, "predictions[1]: 0.5 is not a label's number"),
    (True, "predictions[1]: True is not a label's number"),
    (-1, "predictions[1]: -1 is not a label's number"),
    (2**40, "predictions[1]: 1099511627776 is too large, expected a label's number"),
    ({}, "predictions[1].label: missing, expected a label"),
    ({"label": None}, "predictions[1].label: None is not a label"),
    ({"label": "happy"}, "predictions[1].label: 'happy' is not one of entail"),
    ({"label": "e", "id": 0.5}, "predictions[1].id: 0.5 is not an id"),
    (
        {"relationship_responses": []},
        "predictions[1].label: missing, expected a label; an entry with relationship_responses is gold, which only "
        "references may be",
    ),
]


@pytest.mark.parametrize(("label", "message"), BAD_LABELS, ids=[m for _, m in BAD_LABELS])
def test_bad_labels(label, message):
    with pytest.raises(ValueError) as refused:
        entail(["entail", label], ["entail", "entail"])
    assert str(refused.value).startswith(message)
    assert "\n" not in str(refused.value)
    assert entail(["e"], ["e"])["accuracy"] == 1.0


@pytest.mark.parametrize(
    ("responses", "message"),
    [
        (5, "references[0].relationship_responses: 5 is not a list of responses"),
        ([5], "references[0].relationship_responses[0]: 5 is not a rater's response"),
        (
            [{"relationship": "happy"}],
            "references[0].relationship_responses[0].relationship: 'happy' is not one of entail, neutral, contradict",
        ),
        ([{"relationship": 1}], "references[0].relationship_responses[0].relationship: 1 is not one of"),
    ],
)
def test_bad_ratings(responses, message):
    with pytest.raises(ValueError) as refused:
        entail(["e"], [{"relationship_responses": responses}])
    assert str(refused.value).startswith(message)


def rated(*labels):
    return {"relationship_responses": [{"relationship": label} for label in labels]}


def test_entries_give_the_label_of_two_raters():
    e, n, c = "RELATIONSHIP_ENTAILS", "RELATIONSHIP_NEITHER_ENTAILS_NOR_CONTRADICTS", "RELATIONSHIP_CONTRADICTS"
    unspecified = "RELATIONSHIP_UNSPECIFIED"
    references = [
        rated(e, e, n),
        rated(e, n, c),
        rated(n, unspecified, unspecified),
        rated(c, unspecified, c),
        rated(e, e, n, n),
        rated(n, n, n, e, e),
        rated(e, None),
        rated(),
    ]
    result = entail(["e"] * 8, references, per_document=True)
    assert [(row["id"], row["gold"]) for row in result["per_document"]] == [
        (0, "entail"),
        (3, "contradict"),
        (5, "neutral"),
    ]
    assert result["no_reference"] == 5
    short = entail(["e", "c", "n"], references)
    assert short["three_way_accuracy"] == 1.0
    with pytest.raises(ValueError, match=r"5 predictions for 8 entries, 3 of which have a label .*expected 8 or 3"):
        entail(["e"] * 5, references)
    with pytest.raises(ValueError, match="none of the 1 entries has a label that 2 raters gave"):
        entail(["e"], [rated(e, n, c)])


def test_label_rows():
    hub = [{"hypothesis": "h", "premise": "p", "label": label} for label in "encn"]
    wanted = entail(list("enne"), list("encn"))
    assert entail(list("enne"), hub) == wanted
    assert entail({"label": list("enne")}, hub) == wanted
    assert entail(datasets.Dataset.from_list([{"label": label, "text": "t"} for label in "enne"]), hub) == wanted
    with_ids = [{"id": i, "label": label} for i, label in enumerate("encn")]
    result = entail(with_ids[::-1], with_ids, return_errors=True, per_document=True)
    assert result["three_way_accuracy"] == 1.0
    assert result["errors"] == []
    assert result["per_document"][2] == {"id": "2", "gold": "contradict", "predicted": "contradict", "correct": True}
    assert "pairing:id" in result["signature"]


def test_wrong_labels():
    result = entail(list("enc"), list("nce"), return_errors=True, per_document=True)
    assert result["errors"] == [
        {"record": 0, "component": "entailment", "kind": "wrong_label", "prediction": "entail", "reference": "neutral"},
        {
            "record": 1,
            "component": "three_way",
            "kind": "wrong_label",
            "prediction": "neutral",
            "reference": "contradict",
        },
        {
            "record": 2,
            "component": "entailment",
            "kind": "wrong_label",
            "prediction": "contradict",
            "reference": "entail",
        },
    ]
    assert [row["correct"] for row in result["per_document"]] == [False, True, False]
    assert sum(row["correct"] for row in result["per_document"]) / 3 == result["accuracy"]


@given(st.lists(st.tuples(*[st.sampled_from([*LABELS, "not-entail"])] * 2), min_size=1, max_size=12))
@settings(max_examples=100, deadline=None)
def test_right_and_mended_labels(both):
    predicted, gold = map(list, zip(*both, strict=True))
    result = entail(predicted, gold, return_errors=True, per_document=True)
    rows = result["per_document"]
    assert [(item["record"], item["reference"]) for item in result["matched"]] == [
        (row["id"], row["gold"]) for row in rows if row["gold"] == row["predicted"]
    ]
    for item in result["matched"]:
        assert (item["component"], item["kind"]) == ("entailment", "right")
        assert item["prediction"] == item["reference"]
    wrong = Counter((row["gold"], row["predicted"]) for row in rows if row["gold"] != row["predicted"])
    assert {kind["kind"]: kind["errors"] for kind in result["error_kinds"]} == {
        " as ".join(pair): n for pair, n in wrong.items()
    }
    numbers = [kind["errors"] for kind in result["error_kinds"]]
    assert numbers == sorted(numbers, reverse=True)
    for kind in result["error_kinds"]:
        was, became = kind["kind"].split(" as ")
        assert kind["component"] == ("entailment" if "entail" in (was, became) else "three_way")
        mended = [row["gold"] if (row["gold"], row["predicted"]) == (was, became) else row["predicted"] for row in rows]
        again = entail(mended, [row["gold"] for row in rows])
        assert kind["f1"] == pytest.approx(again["balanced_accuracy"])


@pytest.mark.parametrize("name", ["threshold", "alignment", "labels"])
def test_entailment_options(name):
    with pytest.raises(ValueError, match=f"{name}: not an option of .*expected one of label_names, per_document"):
        entail(["e"], ["e"], **{name: 1})


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=12), st.randoms())
@settings(max_examples=50, deadline=None)
def test_order_of_pairs_changes_nothing(both, rng):
    mixed = rng.sample(both, len(both))
    assert entail(*map(list, zip(*both, strict=True))) == entail(*map(list, zip(*mixed, strict=True)))


def test_matthews_correlation_of_many_pairs():
    # Products of counts beyond 64 bits.
    matrix = np.array([[3_000_000_000, 1_000_000, 0], [2_000_000, 4_000_000_000, 0], [0, 0, 0]])
    phi = (3e9 * 4e9 - 1e6 * 2e6) / math.sqrt(3.001e9 * 4.002e9 * 3.002e9 * 4.001e9)
    assert entailment.score_labels(matrix, tuple(LABELS))["matthews_correlation"] == pytest.approx(phi)


# --- examples and documentation ---------------------------------------------------------------------------------------


def test_examples_show_every_kind():
    folder = ROOT / "examples" / "propsegment"
    predictions, references = (
        spanscore.formats.propsegment.read(folder / name) for name in ("predictions.txt", "references.jsonl")
    )
    assert predictions.format_notes == {"unparsed": 1}
    result = segment(predictions.records, references.records, return_errors=True)
    kinds = {error["kind"] for error in result["errors"]}
    assert kinds == {"near_miss", "merged", "split", "spurious", "missed", "unparsed"}
    assert result["repeated_predictions"] == result["empty_references"] == 1
    assert result["recall"] < result["precision"] < 1
    labels, entries = (
        spanscore.formats.propsegment.read(folder / name) for name in ("labels.jsonl", "relationships.jsonl")
    )
    result = entail(labels.records, entries.records)
    assert result["no_reference"] == 1
    assert result["balanced_accuracy"] != result["accuracy"] != result["three_way_accuracy"]


def test_docstring_examples():
    for config in ("segmentation", "entailment"):
        metric = load("propsegment", config)
        lines = doctest.DocTestParser().get_doctest(metric.inputs_description, {}, config, None, 0)
        # The documented path is that of a reader in the project's folder.
        for example in lines.examples:
            example.source = example.source.replace(
                '"propsegment_metric.py"', repr(str(ROOT / "propsegment_metric.py"))
            )
        runner = doctest.DocTestRunner()
        assert runner.run(lines).failed == 0
        assert runner.tries > 3


def test_entries_pair_by_ids_of_their_own():
    def entry(name, tokens):
        response = {"is_reference_response": True, "propositions": [{"token_indices": tokens}]}
        return {"id": name, "segmentation_responses": [response]}

    metric = load("propsegment")
    predictions = [{"id": "b", "propositions": [[1]]}, {"id": "a", "propositions": [[0]]}]
    result = metric.compute(predictions=predictions, references=[entry("a", [0]), entry("b", [1])])
    assert result["f1"] == 1
    assert "pairing:id" in result["signature"]
    ratings = [{"id": name, "relationship_responses": [{"relationship": label}] * 2} for name, label in ("ae", "bn")]
    labels = [{"id": "b", "label": "n"}, {"id": "a", "label": "e"}]
    assert load("propsegment", "entailment").compute(predictions=labels, references=ratings)["accuracy"] == 1


def test_raters_have_three_labels():
    entry = {"relationship_responses": [{"relationship": "not-entail"}] * 3}
    with pytest.raises(ValueError, match=r"relationship: 'not-entail' is not one of entail, neutral, contradict"):
        load("propsegment", "entailment").compute(predictions=["e"], references=[entry])


# --- unparsed copies --------------------------------------------------------------------------------------------------


def test_unparsed_copies_are_wrong_predictions():
    references = [[[0, 1]], [[2, 3], [4]], []]
    predictions = [
        {"propositions": [[0, 1]], "unparsed": 2},
        {"propositions": [[2, 3]]},
        {"propositions": [], "unparsed": 1},
    ]
    result = segment(predictions, references, per_document=True, return_errors=True)
    assert (result["precision"], result["recall"]) == (pytest.approx((1 / 3 + 1 + 0) / 3), pytest.approx((1 + 0.5) / 3))
    assert prf(result["exact"]) == prf(result)
    assert (result["micro"]["precision"], result["micro"]["predicted"]) == (0.4, 5)
    assert (result["unparsed_predictions"], result["empty_predictions"], result["empty_references"]) == (3, 0, 1)
    assert (result["repeated_predictions"], result["repetition_rate"]) == (0, 0.0)
    assert [row["predicted"] for row in result["per_document"]] == [3, 1, 1]
    assert [(e["record"], e["kind"], e.get("number")) for e in result["errors"]] == [
        (0, "unparsed", 2),
        (1, "missed", None),
        (2, "unparsed", 1),
    ]
    # A sentence with nothing but unparsed copies is not empty.
    for empty in ("one", "skip"):
        again = segment(predictions, references, empty=empty)
        assert (again["precision"], again["recall"]) == (result["precision"], result["recall"])
    # Unparsed copies are not folded, and repeated propositions are.
    folded = segment([{"propositions": [[0], [0]], "unparsed": 3}], [[[0]]])
    assert (folded["micro"]["predicted"], folded["repeated_predictions"], folded["precision"]) == (4, 1, 0.25)
    kept = segment([{"propositions": [[0], [0]], "unparsed": 3}], [[[0]]], deduplicate=False)
    assert kept["micro"]["predicted"] == 5


@given(corpora, st.data(), st.booleans(), st.sampled_from(["zero", "one", "skip"]))
@settings(max_examples=100, deadline=None)
def test_an_unparsed_copy_scores_as_a_proposition_that_matches_nothing(both, data, deduplicate, empty):
    numbers = [data.draw(st.integers(0, 3)) for _ in both[0]]
    predictions = [{"propositions": p, "unparsed": n} for p, n in zip(both[0], numbers, strict=True)]
    # Tokens of their own, so that no proposition overlaps with them and none is repeated.
    wrong = [[*p, *([100 + at] for at in range(n))] for p, n in zip(both[0], numbers, strict=True)]
    options = {"deduplicate": deduplicate, "empty": empty, "per_document": True, "return_errors": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = segment(predictions, both[1], confidence_level=0.9, n_resamples=50, **options)
        wanted = segment(wrong, both[1], confidence_level=0.9, n_resamples=50, **options)
    assert result.pop("unparsed_predictions") == sum(numbers)
    assert wanted.pop("unparsed_predictions") == 0
    kinds = Counter(error["kind"] for error in result.pop("errors"))
    as_spurious = Counter(error["kind"] for error in wanted.pop("errors"))
    assert kinds.pop("unparsed", 0) == sum(n > 0 for n in numbers)
    assert as_spurious["spurious"] == kinds["spurious"] + sum(numbers)
    mended = {kind["kind"]: kind for kind in result.pop("error_kinds")}
    for kind in wanted.pop("error_kinds"):
        if kind["kind"] != "spurious":
            assert mended[kind["kind"]] == kind
    assert result == wanted
    if sum(numbers):
        assert mended["unparsed"]["errors"] == sum(numbers)
        assert mended["unparsed"]["f1"] == pytest.approx(segment_quietly(both, deduplicate=deduplicate, empty=empty))


def segment_quietly(both, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return segment(*both, **options)["f1"]


def test_unparsed_copies_of_systems_are_compared():
    references = [[[at]] for at in range(8)]
    with_unparsed = [{"propositions": p, "unparsed": 1} for p in references]
    (found,) = compare_systems(SEGMENTATION, [references, with_unparsed], references)
    assert (found["precision"]["a"], found["precision"]["b"], found["recall"]["difference"]) == (1.0, 0.5, 0.0)
    assert found["precision"]["better"] == {"a": 8, "b": 0}
    result = segment(with_unparsed, references, confidence_level=0.95)
    assert result["confidence_intervals"]["precision"] == [0.5, 0.5]


@pytest.mark.parametrize("value", [-1, 0.5, "1", True, [1], float("nan"), float("inf")])
def test_bad_numbers_of_unparsed_copies(value):
    with pytest.raises(ValueError, match=r"predictions\[0\]\.unparsed: .* is not a number of unparsed copies"):
        segment([{"propositions": [[0]], "unparsed": value}], GOOD)


def test_references_have_no_unparsed_copies():
    reference = {"propositions": [[0]], "unparsed": 1}
    with pytest.raises(ValueError, match=r"references\[1\]\.unparsed: 1, expected 0 in a reference"):
        segment([[[0]], [[0]]], [[[0]], reference])
    for none in (0, None, np.int64(0)):
        assert segment([reference | {"unparsed": none}], [reference | {"unparsed": none}])["f1"] == 1.0
    assert segment([reference | {"unparsed": np.int64(1)}], [[[0]]])["precision"] == 0.5
    only_unparsed = segment_warned([{"propositions": [], "unparsed": 1}], [[]])
    assert only_unparsed["no_gold"] is True


def segment_warned(*both):
    with pytest.warns(UserWarning, match="no proposition"):
        return segment(*both)


# --- sentences in other places ----------------------------------------------------------------------------------------


def entries_with_tokens():
    clusters = benchmark_file("propsegment/document_clusters.dev.json")
    path = benchmark_file("propsegment/propositions.dev.json")
    entries = spanscore.formats.propsegment.read(path, clusters=clusters).records
    return [entry for entry in entries if "tokens" in entry]


def predictions_of(entries, *more):
    return [
        {"propositions": propositions_of(reference_of(entry) or {}), **{name: entry[name] for name in more}}
        for entry in entries
    ]


def swapped_of_equal_length(predictions):
    """The predictions with one pair of sentences of equal length swapped, and the two places."""
    seen = {}
    for at, prediction in enumerate(predictions):
        other = seen.setdefault(len(prediction["tokens"]), at)
        if other != at and prediction["tokens"] != predictions[other]["tokens"]:
            mixed = list(predictions)
            mixed[at], mixed[other] = mixed[other], mixed[at]
            return mixed, other, at
    raise AssertionError("no two sentences of equal length")


def test_a_swapped_sentence_of_the_benchmark_is_refused():
    entries = entries_with_tokens()
    predictions = predictions_of(entries, "tokens")
    assert segment(predictions, entries)["f1"] == 1.0
    mixed, first, last = swapped_of_equal_length(predictions)
    place = (
        rf"predictions\[{first}\]\.tokens: the sentence of references\[{last}\], expected that of references\[{first}\]"
    )
    with pytest.raises(ValueError, match=place):
        segment(mixed, entries)
    lowered = [{**p, "tokens": [token.lower() for token in p["tokens"]]} for p in mixed]
    with pytest.raises(ValueError, match=place):
        segment(lowered, entries)


def test_places_are_those_of_the_references_as_given_where_entries_are_left_out():
    entries = entries_with_tokens()
    has_reference = [reference_of(entry) is not None for entry in entries]
    places = np.flatnonzero(has_reference).tolist()
    assert places != list(range(len(places)))
    predictions = predictions_of([entries[at] for at in places], "tokens")
    assert segment(predictions, entries)["f1"] == 1.0
    # The last two, which come after entries that are left out.
    predictions[-2:] = predictions[:-3:-1]
    with pytest.raises(ValueError, match=rf"predictions\[{len(places) - 2}\]\.tokens: .*expected") as refused:
        segment(predictions, entries)
    assert f"sentence of references[{places[-1]}], expected that of references[{places[-2]}]" in str(refused.value)
    # The sentence of an entry that is left out.
    left_out = has_reference.index(False)
    predictions = predictions_of([entries[at] for at in places], "tokens")
    predictions[0] = predictions[0] | {"tokens": entries[left_out]["tokens"], "propositions": []}
    with pytest.raises(ValueError, match=rf"predictions\[0\]\.tokens: the sentence of references\[{left_out}\]"):
        segment(predictions, entries)


def test_predictions_with_the_sentence_id_of_the_benchmark_pair_by_it():
    entries = entries_with_tokens()
    predictions = predictions_of(entries, "sentence_id")[::-1]
    result = segment(predictions, entries)
    assert (result["f1"], "pairing:id" in result["signature"]) == (1.0, True)
    columns = {name: [row[name] for row in predictions] for name in ("sentence_id", "propositions")}
    assert segment(columns, entries)["f1"] == 1.0
    # Plain references have it too, and an id of their own goes before it.
    plain = predictions_of(entries, "sentence_id")
    assert segment(predictions, plain, empty="one")["f1"] == 1.0
    named = [{"id": "a", **predictions[0]}]
    assert segment(named, [{"id": "a", **plain[-1]}])["f1"] == 1.0
    # Keys of that name in other data sets mean something else.
    for other in (5, "x", None, {}, {"cluster_id": "c"}, {"cluster_id": [], "document_id": "d", "sentence_index": 0}):
        result = segment([{"propositions": [[0]], "sentence_id": other}], GOOD)
        assert "pairing:position" in result["signature"]


# --- gold as predictions ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("split", ["dev", "test"])
def test_gold_propositions_against_themselves(split):
    entries = corpus(split)
    with pytest.raises(ValueError, match=r"predictions\[0\]\.propositions: missing.* segmentation_responses is gold"):
        segment(entries, entries)
    predictions = spanscore.formats.propsegment.to_predictions(entries)
    result = segment(predictions, entries)
    assert prf(result) == prf(result["exact"]) == (1.0, 1.0, 1.0)
    assert result["no_reference"] == len(entries) - len(predictions) > 0
    assert "pairing:id" in result["signature"]
    assert segment(predictions[::-1], entries)["f1"] == 1.0
    unnamed = [prediction["propositions"] for prediction in predictions]
    assert segment(unnamed, entries)["f1"] == 1.0


def test_gold_labels_against_themselves():
    entries = spanscore.formats.propsegment.read(benchmark_file("propsegment/relationships.dev.json")).records
    with pytest.raises(ValueError, match=r"predictions\[0\]\.label: missing.* relationship_responses is gold"):
        entail(entries, entries)
    predictions = spanscore.formats.propsegment.to_predictions(entries)
    result = entail(predictions, entries)
    assert (len(predictions), result["no_reference"]) == (1986, 26)
    for score in ("balanced_accuracy", "accuracy", "macro_f1", "three_way_accuracy", "matthews_correlation"):
        assert result[score] == 1.0


# --- intervals of entailment ------------------------------------------------------------------------------------------


def test_macro_f1_has_no_interval():
    gold, predicted = LABELS * 10, (LABELS * 7 + ["neutral"] * 9)
    result = entail(predicted, gold, confidence_level=0.95)
    assert 0 < result["macro_f1"] < 1
    headline = {"balanced_accuracy", "accuracy", "three_way_accuracy", "matthews_correlation"}
    assert set(result["confidence_intervals"]) == headline
    (found,) = compare_systems(ENTAILMENT, [predicted, gold], gold, n_resamples=20)
    assert set(found) == headline
    assert set(summarise_runs(ENTAILMENT, [predicted, gold], gold)) == headline
    two_way = entail(["not-entail", "entail"], ["entail", "entail"], confidence_level=0.95)
    assert set(two_way["confidence_intervals"]) == {"balanced_accuracy", "accuracy"}
    assert two_way["macro_f1"] is None


def test_words_for_not_entailed():
    for word in ("not entail", "Not Entailed", "non entailment", "NON_ENTAILMENT", "not entailment"):
        assert entail([word, "e"], ["not-entail", "e"])["balanced_accuracy"] == 1.0
