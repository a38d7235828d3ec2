"""Scores by length, distance, number, frequency and training, against plain counts over the records."""

import json
from collections import Counter
from itertools import pairwise

import pytest
from conftest import benchmark_file
from hypothesis import given
from hypothesis import strategies as st

from spanscore.breakdowns import _bins, break_down


def named(analysed, title):
    return next(one for one in analysed.breakdowns if one.title == title)


def bin_of(one, value):
    """The bin whose name holds a value."""
    for bin in one.bins:
        ends = [int(end.replace(",", "")) for end in bin.name.split(" to ")]
        if ends[0] <= value <= ends[-1]:
            return bin.name
    raise AssertionError(f"{value} is in no bin of {one.title}")


def triplets(record):
    return {(tuple(t["aspect"]), tuple(t["opinion"]), t["polarity"]) for t in record["triplets"]}


def as_counts(one):
    return {bin.name: (bin.right_predicted, bin.predicted, bin.right_gold, bin.gold) for bin in one.bins}


def count_triplets(found, one, value_of):
    """Right and all, predicted and gold triplets of each bin, by plain loops over the records."""
    counts = {bin.name: [0, 0, 0, 0] for bin in one.bins}
    for predicted, gold in zip(found.predictions.records, found.references.records, strict=True):
        sides = triplets(predicted), triplets(gold)
        for side, triplets_of in enumerate(sides):
            for triplet in triplets_of:
                row = counts[bin_of(one, value_of(triplet, gold))]
                row[2 * side + 1] += 1
                row[2 * side] += triplet in sides[0] & sides[1]
    return {name: tuple(row) for name, row in counts.items()}


def gap(triplet):
    aspect, opinion, _ = triplet
    return max(0, min(abs(a - o) for a in aspect for o in opinion) - 1)


@pytest.mark.parametrize(
    ("title", "value_of"),
    [
        ("Length of the sentence, in tokens", lambda triplet, gold: len(gold["tokens"])),
        ("Gold items in the sentence", lambda triplet, gold: len(triplets(gold))),
        ("Length of the longest span, in tokens", lambda triplet, gold: max(map(len, triplet[:2]))),
        ("Tokens between the parts of an item", lambda triplet, gold: gap(triplet)),
    ],
)
def test_bins_have_the_counts_of_plain_loops(scored, title, value_of):
    found, analysed = scored("aste")
    one = named(analysed, title)
    assert as_counts(one) == count_triplets(found, one, value_of)
    # All items are in a bin.
    result = found.result
    assert sum(bin.gold for bin in one.bins) == result["gold"]
    assert sum(bin.predicted for bin in one.bins) == result["predicted"]
    assert sum(bin.right_gold for bin in one.bins) == result["true_positives"]
    for bin in one.bins:
        precision, recall = bin.right_predicted / bin.predicted, bin.right_gold / bin.gold
        assert bin.f1 == pytest.approx(2 * precision * recall / (precision + recall))


def test_the_frequency_of_relations_is_that_of_the_references(scored):
    found, analysed = scored("docred")
    one = named(analysed, "Gold items with the same label")
    frequency = Counter(label["r"] for record in found.references.records for label in record["labels"])
    expected = Counter()
    for n in frequency.values():
        expected[bin_of(one, n)] += n
    assert {bin.name: bin.gold for bin in one.bins} == expected


def test_facts_seen_in_training_are_those_that_ign_leaves_out(scored):
    train = str(benchmark_file("docred/dev_revised.json"))
    found, analysed = scored("docred", train=train)
    one = named(analysed, "Seen in training")
    seen, result = next(bin for bin in one.bins if bin.name == "seen"), found.result
    assert one.measure == "recall"
    # Ign precision leaves right facts seen in training out of both sides.
    right, n_predicted = result["true_positives"], result["predicted"]
    ign = (right - seen.right_gold) / (n_predicted - seen.right_gold)
    assert result["ign_precision"] == pytest.approx(100 * ign)
    assert sum(bin.gold for bin in one.bins) == result["gold"]
    names = [[{mention["name"] for mention in entity} for entity in record["vertexSet"]] for record in
             json.loads(benchmark_file("docred/dev_revised.json").read_text())]  # fmt: skip
    facts = set()
    for record, entities in zip(json.loads(benchmark_file("docred/dev_revised.json").read_text()), names, strict=True):
        for label in record["labels"]:
            facts |= {(h, t, label["r"]) for h in entities[label["h"]] for t in entities[label["t"]]}
    n_seen = 0
    for record in found.references.records:
        entities = [{mention["name"] for mention in entity} for entity in record["vertexSet"]]
        for label in {(x["h"], x["t"], x["r"]) for x in record["labels"]}:
            n_seen += any((h, t, label[2]) in facts for h in entities[label[0]] for t in entities[label[1]])
    assert seen.gold == n_seen


def test_pieces_of_propositions(scored):
    found, analysed = scored("propsegment")
    one = named(analysed, "Pieces of the most scattered span")
    expected = Counter()
    for items in (found.result["matched"], found.result["errors"]):
        for item in items:
            if item["reference"] is not None:
                span = sorted(set(item["reference"]))
                expected[bin_of(one, 1 + sum(b > a + 1 for a, b in pairwise(span)))] += 1
    assert {bin.name: bin.gold for bin in one.bins} == expected


@pytest.mark.parametrize("name", ["aste", "docred", "propsegment", "sentivent"])
def test_codes_lead_to_the_items_of_their_bins(scored, name):
    _, analysed = scored(name)
    assert analysed.breakdowns
    of_documents = Counter(code for codes in analysed.document_codes for code in codes)
    of_items = Counter(
        code for document, items in zip(analysed.documents, analysed.item_codes, strict=True)
        for item, codes in zip(document.items, items, strict=True) for code in codes
    )  # fmt: skip
    codes = [bin.code for one in analysed.breakdowns for bin in one.bins]
    assert len(set(codes)) == len(codes) and set(of_documents) | set(of_items) <= set(codes)
    for one in analysed.breakdowns:
        for bin in one.bins:
            assert of_documents[bin.code] or bin.right_gold <= of_items[bin.code] <= bin.gold + bin.predicted


def test_the_accuracy_of_pairs(scored):
    gold = [("entail", "neutral", "contradict")[at % 3] for at in range(60)]
    predicted = ["entail" if at % 4 else label for at, label in enumerate(gold)]
    records = {
        "references": [{"label": x, "premise": "a b", "hypothesis": "c " * (1 + at % 7)} for at, x in enumerate(gold)],
        "predictions": [{"label": x} for x in predicted],
    }
    _, analysed = scored("propsegment", records, references_format="records")
    one = named(analysed, "Length of the pair, in tokens")
    assert one.measure == "accuracy"
    right = sum(one.score(bin) * bin.gold for bin in one.bins)
    assert right == pytest.approx(sum(map(str.__eq__, gold, predicted))) and sum(bin.gold for bin in one.bins) == 60


@given(st.lists(st.integers(0, 300), max_size=80))
def test_bins_are_disjoint_and_hold_every_value(values):
    found = _bins(values)
    if found is None:
        assert len(set(values)) < 2 or len(values) < 8
        return
    numbers = [found.number(value) for value in values]
    assert 2 <= len(set(numbers)) <= 5 and set(numbers) == set(range(len(found.starts)))
    for value, number in zip(values, numbers, strict=True):
        ends = [int(end.replace(",", "")) for end in found.name(number).split(" to ")]
        assert ends[0] <= value <= ends[-1]


def test_nothing_to_break_down():
    from spanscore.benchmarks import BENCHMARKS

    assert break_down([], BENCHMARKS["aste"]) == ([], [], [])
