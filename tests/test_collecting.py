"""`collecting`: pairing, adding, computing and signing, with a metric made up for the purpose."""

import copy
import warnings
from dataclasses import dataclass

import datasets
import evaluate
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from spanscore.metrics.collecting import (
    Collector,
    Counted,
    Definition,
    compare_tokens,
    count_rows,
    describe,
    document_names,
    flatten,
    pair_records,
    sign,
)
from spanscore.metrics.matching import precision_recall_f, rates_or_whole
from spanscore.metrics.mistakes import Mistakes, Places
from spanscore.metrics.options import confidence_options, flag, output_options, table
from spanscore.metrics.records import Items, Optional, Record, Task, Tokens, read_sound, to_records
from spanscore.metrics.resampling import Statistics, group_codes
from spanscore.metrics.values import Identifier, Text


def ids_of(names):
    column = np.empty(len(names), object)
    column[:] = names
    return column


def pair(predictions, references):
    order, pairing = pair_records(ids_of(predictions), ids_of(references))
    return order.tolist(), pairing


# --- pairing ----------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.text("abc", min_size=1), unique=True, min_size=1).flatmap(
        lambda ids: st.tuples(st.permutations(ids), st.just(ids))
    )
)
def test_ids_pair_whatever_the_order(sides):
    predictions, references = sides
    order, pairing = pair(predictions, references)
    assert pairing == "id"
    assert [references[at] for at in order] == predictions


@pytest.mark.parametrize(
    "sides", [([None, None], ["a", "b"]), (["a", "b"], [None, None]), ([None, None], [None, None])]
)
def test_without_ids_on_both_sides_records_pair_by_position(sides):
    assert pair(*sides) == ([0, 1], "position")


MANY = [f"d{number}" for number in range(7)]


@pytest.mark.parametrize(
    ("predictions", "references", "words"),
    [
        ([], [], "references: there are none"),
        ([], ["a"], "0 predictions for 1 references"),
        ([None], [None, None], "1 predictions for 2 references"),
        (["a"], [None, None], "1 predictions for 2 references"),
        (["a", None], ["a", "b"], "predictions[1].id: missing"),
        (["a", "b"], [None, "b"], "references[0].id: missing"),
        (["a", "c"], ["a", "b"], "predictions: ids 'c' are not among the references'"),
        (["a"], ["a", "b"], "predictions: none for ids 'b' of the references"),
        (["a", "a"], ["a", "b"], "predictions: repeated ids 'a'"),
        (["a", "a"], ["a", "a"], "predictions: repeated ids 'a'"),
        (["a", "b"], ["b", "b"], "references: repeated ids 'b'"),
        (["a"], ["a", *MANY], "predictions: none for ids 'd0', 'd1', 'd2', 'd3', 'd4' and 2 more of"),
        (["a", *MANY], ["a"], "predictions: ids 'd0', 'd1', 'd2', 'd3', 'd4' and 2 more are not"),
    ],
)
def test_what_cannot_be_paired_is_named(predictions, references, words):
    with pytest.raises(ValueError) as caught:
        pair(predictions, references)
    assert str(caught.value).startswith(words)


def test_names_of_documents():
    assert document_names(ids_of(["a", "b"]), "id") == ["a", "b"]
    assert document_names(ids_of(["a", "b"]), "position") == [0, 1]


def tokens_of(*sentences):
    return Optional(Tokens()).read(list(sentences), Places.of_batch("records"), Mistakes())


def test_numbers_of_tokens():
    order = np.array([1, 0, 2])
    predicted, gold = tokens_of(["a", "b", "c"], None, ["d"]), tokens_of(["x"], ["a", "b", "c"], None)
    assert compare_tokens(predicted, gold, order, "id") == 0
    with pytest.raises(ValueError, match=r"^predictions\[1\]\.tokens: 2 tokens, expected 1 as in the reference"):
        compare_tokens(tokens_of(["a", "b", "c"], ["x", "y"], ["d"]), gold, order, "id")
    assert compare_tokens(tokens_of(["a", "b", "c"], ["x", "y"], ["d"]), gold, order, "id", as_indices=False) == 1


def test_a_misplaced_sentence_is_refused():
    order = np.arange(3)
    gold = tokens_of(["Good", "food", "."], ["Slow", "staff", "!"], ["food", "good", "?"])
    escaped = tokens_of(["good", "FOOD", "-full-stop-"], ["Slow", "staff", "!"], ["food", "good", "?"])
    assert compare_tokens(escaped, gold, order, "position") == 1
    swapped = tokens_of(["good", "FOOD", "."], ["Food", "good", "!"], ["slow", "staff", "."])
    with pytest.raises(ValueError) as caught:
        compare_tokens(swapped, gold, order, "position")
    assert str(caught.value).startswith(
        "predictions[1].tokens: the sentence of references[2], expected that of references[1]"
    )
    assert compare_tokens(swapped, gold, order, "id") == 3
    # Records without tokens, or with none, say nothing about their place. Nor do punctuation marks.
    unknown = tokens_of(None, ["!", "...", "-"], [])
    assert compare_tokens(unknown, gold, order, "position", as_indices=False) == 1
    # A sentence that occurs twice is in its place at both.
    twice = tokens_of(["Yes"], ["No"], ["Yes"])
    assert compare_tokens(tokens_of(["yes"], ["No"], ["yes"]), twice, order, "position") == 2


def test_signature_and_rows():
    assert sign("words", {"v": "1.0.0", "pairing": "id"}) == "words|v:1.0.0|pairing:id"
    assert count_rows(np.array([[1, 2, 3]])) == [{"true_positives": 1, "predicted": 2, "gold": 3}]


# --- a metric ---------------------------------------------------------------------------------------------------------

BAG = Record(
    {"id": Optional(Identifier()), "words": Items(Text("a word"), "a list of words")},
    "a record with words",
    bare="words",
)
OPTIONS = {
    **table(flag("lower", "Whether case is folded.")),
    **output_options("counts", "errors"),
    **confidence_options("records"),
}


def read_bags(side, given_batch, mistakes):
    column, places = read_sound(to_records(given_batch, side, BAG.keys), BAG, side, mistakes)
    words = column["words"]
    for at, word in enumerate(words.items.tolist()):
        if word == "forbidden":
            mistakes.add(places.field("words").items(words.offsets)(at), "'forbidden' is forbidden")
    return column


DEFINITION = Definition(
    "words",
    "1.0.0",
    Task({"predictions": BAG, "references": BAG}, read_bags, OPTIONS),
    "predictions, references : list of lists of words",
    "Returns\n-------\ndict",
    "word",
)


@dataclass(frozen=True)
class CountedWords(Counted):
    table: np.ndarray


class Words(Collector, evaluate.Metric):
    """Words in common."""

    definition = DEFINITION

    def _info(self):
        return describe(DEFINITION, "Words in common.", "", [])

    def _count(self, predictions, references, options):
        order, pairing = pair_records(predictions["id"], references["id"])
        sets = [
            [
                {word.lower() if options["lower"] else word for word in words.items[start:end].tolist()}
                for start, end in zip(words.offsets[:-1], words.offsets[1:], strict=True)
            ]
            for words in (predictions["words"], references["words"])
        ]
        gold = sets[1]
        predicted = [set() for _ in gold]
        for at, document in enumerate(order.tolist()):
            predicted[document] = sets[0][at]
        counts = [[len(p & g), len(p), len(g)] for p, g in zip(predicted, gold, strict=True)]
        counted = np.array(counts, np.int64).reshape(-1, 3)
        return CountedWords(
            document_names(references["id"], pairing),
            group_codes(options["groups"], len(references)),
            {"pairing": pairing},
            (int(counted[:, 1].sum()), int(counted[:, 2].sum())),
            counted,
        )

    def _score(self, counted, options):
        return {"f1": float(precision_recall_f(counted.table.sum(axis=0))[2])}

    def _statistics(self, counted):
        tables = [system.table for system in counted]
        return Statistics(
            ["f1"], tables, lambda s, whole: rates_or_whole(whole, s)[:, 2:], counted[0].ids, counted[0].groups
        )

    def _document_rows(self, counted):
        return count_rows(counted.table)

    def _errors(self, counted, options):
        return {"errors": [], "matched": [], "error_kinds": []}


PREDICTIONS, REFERENCES = [["a", "b"], ["c"], []], [["a"], ["C", "d"], ["e"]]


def test_options_reach_counting_and_default_otherwise():
    metric = Words()
    assert metric.compute(predictions=PREDICTIONS, references=REFERENCES) == {
        "f1": 200 / 7,
        "signature": "words|v:1.0.0|pairing:position",
    }
    assert metric.compute(predictions=PREDICTIONS, references=REFERENCES, lower=True)["f1"] == 400 / 7
    with pytest.raises(ValueError, match=r"^lower: 1 is not true or false$"):
        metric.compute(predictions=PREDICTIONS, references=REFERENCES, lower=1)
    with pytest.raises(ValueError, match=r"^upper: not an option of .*words.*, expected one of lower, per_document"):
        metric.compute(predictions=PREDICTIONS, references=REFERENCES, upper=True)


def test_batches_in_any_cut_give_the_same():
    metric, whole = Words(), Words().compute(predictions=PREDICTIONS, references=REFERENCES, per_document=True)
    for predictions, references in [
        ([1, 1, 1], [3]),
        ([3], [1, 2]),
        ([2, 1], [2, 1]),
    ]:
        for side, records, sizes in (
            ("predictions", PREDICTIONS, predictions),
            ("references", REFERENCES, references),
        ):
            start = 0
            for size in sizes:
                metric.add_batch(**{side: records[start : start + size]})
                start += size
        assert metric.compute(per_document=True) == whole
        assert len(metric) == 0


def test_records_stay_after_an_error_and_go_after_a_result():
    metric = Words()
    metric.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    for refused in (
        lambda: metric.add_batch(predictions=[["a"], [5]]),
        lambda: metric.add(prediction=["forbidden"], reference=["a"]),
        lambda: metric.compute(predictions=[["a"]]),
        lambda: metric.compute(lower="yes"),
        lambda: metric.add_batch(predictions=[], labels=[]),
    ):
        with pytest.raises(ValueError):
            refused()
        assert len(metric) == 3
    assert metric.compute()["f1"] == 200 / 7
    assert len(metric) == 0
    with pytest.raises(ValueError, match=r"^references: there are none"):
        metric.compute()


def test_the_first_mistake_of_a_batch_is_raised_of_whatever_kind():
    metric = Words()
    with pytest.raises(ValueError, match=r"^predictions\[0\]\.words\[1\]: 'forbidden' is forbidden$"):
        metric.add_batch(predictions=[["a", "forbidden"], ["b", 5]])
    with pytest.raises(ValueError, match=r"^predictions\[0\]\.words\[0\]: 5 is not a word$"):
        metric.add_batch(predictions=[[5], ["a", "forbidden"]])


def test_what_all_metrics_add_to_a_result():
    metric = Words()
    references = [{"id": name, "words": words} for name, words in zip("xyz", REFERENCES, strict=True)]
    predictions = [{"id": name, "words": words} for name, words in zip("xyz", PREDICTIONS, strict=True)][::-1]
    result = metric.compute(
        predictions=predictions,
        references=references,
        per_document=True,
        return_errors=True,
        confidence_level=0.9,
        n_resamples=20,
        groups=["1", "1", "2"],
    )
    assert result["per_document"] == [
        {"id": "x", "true_positives": 1, "predicted": 2, "gold": 1},
        {"id": "y", "true_positives": 0, "predicted": 1, "gold": 2},
        {"id": "z", "true_positives": 0, "predicted": 0, "gold": 1},
    ]
    assert result["errors"] == result["matched"] == []
    low, high = result["confidence_intervals"]["f1"]
    assert 0 <= low <= result["f1"] <= high <= 100
    assert result["signature"] == (
        "words|v:1.0.0|pairing:id|confidence_level:0.9|n_resamples:20|random_state:0|interval_method:percentile"
        "|groups:given"
    )
    assert "no_gold" not in result


def test_references_without_items():
    metric = Words()
    with pytest.warns(UserWarning, match="the references hold no word"):
        assert metric.compute(predictions=[["a"]], references=[[]])["no_gold"] is True
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "no_gold" not in metric.compute(predictions=[[]], references=[[]])


def test_the_description_has_every_option():
    metric = Words()
    for name, option in OPTIONS.items():
        assert f"\n{name} : {option.kind}" in metric.inputs_description
    record = {"id": datasets.Value("string"), "words": [datasets.Value("string")]}
    assert metric.features == datasets.Features({"predictions": record, "references": record})


def test_systems_are_numbered_in_errors():
    with pytest.raises(ValueError, match=r"^system 2: predictions\[0\]\.words\[0\]: 5 is not a word$"):
        Words().statistics(predictions=[PREDICTIONS, [[5]]], references=REFERENCES)
    statistics = Words().statistics(predictions=[PREDICTIONS, REFERENCES], references=REFERENCES)
    assert statistics.observed(0).tolist() == [200 / 7]
    assert statistics.observed(1).tolist() == [100.0]


@pytest.mark.parametrize("make", [copy.copy, copy.deepcopy])
def test_a_copy_has_records_of_its_own(make):
    metric = Words(lower=True)
    metric.add_batch(predictions=PREDICTIONS, references=REFERENCES)
    other = make(metric)
    other.add(prediction=["x"], reference=["y"])
    assert (len(metric), len(other)) == (3, 4)
    assert metric.compute()["f1"] == 400 / 7
    assert (len(metric), len(other)) == (0, 4)
    assert other.compute()["f1"] != 400 / 7


# --- when loading -----------------------------------------------------------------------------------------------------


def test_options_at_load_are_defaults_of_compute():
    metric = Words(lower=True)
    assert metric.compute(predictions=PREDICTIONS, references=REFERENCES)["f1"] == 400 / 7
    assert metric.compute(predictions=PREDICTIONS, references=REFERENCES, lower=False)["f1"] == 200 / 7
    with pytest.raises(ValueError, match=r"^lower: 1 is not true or false$"):
        Words(lower=1)
    with pytest.raises(ValueError, match=r"^upper: not an option of .*words.*, expected one of lower, per_document"):
        Words(upper=True)


def test_unknown_configurations_are_refused():
    for known in (None, "default"):
        assert Words(known).compute(predictions=PREDICTIONS, references=REFERENCES)["f1"] == 200 / 7
    with pytest.raises(ValueError, match=r"^config_name: 'strict' is not one of default$"):
        Words("strict")


def test_flat_results():
    nested = {
        "f1": 0.5,
        "gold": 3,
        "pair": {"f1": 1.0, "by": {"a": {"f1": 0.0, "none": None}}},
        "no_gold": True,
        "signature": "x",
        "labels": [1, 2],
        "per_document": [{"gold": 1}],
        "confidence_intervals": {"f1": [0.25, 0.75]},
        "detectable_differences": {"f1": 0.5, "accuracy": None},
    }
    assert flatten(nested) == {
        "f1": 0.5,
        "gold": 3,
        "pair/f1": 1.0,
        "pair/by/a/f1": 0.0,
        "confidence_intervals/f1/low": 0.25,
        "confidence_intervals/f1/high": 0.75,
        "detectable_differences/f1": 0.5,
    }
    options = {"confidence_level": 0.9, "n_resamples": 20, "per_document": True, "return_errors": True}
    whole = Words().compute(predictions=PREDICTIONS, references=REFERENCES, **options)
    flat = Words(flat=True).compute(predictions=PREDICTIONS, references=REFERENCES, **options)
    assert flat == {
        "f1": whole["f1"],
        "confidence_intervals/f1/low": whole["confidence_intervals"]["f1"][0],
        "confidence_intervals/f1/high": whole["confidence_intervals"]["f1"][1],
    }
