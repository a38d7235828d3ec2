"""The ASTE metric through `evaluate.load`: figures of the benchmark, a slow plain oracle, properties, mistakes."""

import json
import warnings
from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from conftest import ROOT, benchmark_file, expected, load, looks_like_a_mask, perturbed
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spanscore.formats.aste import parse_generated, read

SETS = ("14lap", "14res", "15res", "16res")
RATES = ("precision", "recall", "f1")
COUNTS = ("true_positives", "predicted", "gold")

aste = load("aste")


def score(predictions, references, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return aste.compute(predictions=predictions, references=references, **options)


def counts(row):
    return [row[name] for name in COUNTS]


@pytest.fixture(scope="module", params=SETS)
def real(request, tmp_path_factory):
    """Predictions made from a test set of V2, and the set."""
    gold = benchmark_file(f"aste/v2/{request.param}/test_triplets.txt")
    path = tmp_path_factory.mktemp("aste") / "predictions.txt"
    path.write_text(perturbed("aste", gold))
    return request.param, read(path).records, read(gold).records


# --- figures ----------------------------------------------------------------------------------------------------------


def test_the_expected_figures(real):
    name, predictions, references = real
    result = score(predictions, references)
    for component, figures in expected()["aste"][name].items():
        row = result if component == "triplet" else result[component]
        for key, figure in figures.items():
            assert row[key] == pytest.approx(figure, abs=1e-6), (component, key)


@pytest.mark.parametrize(
    ("mode", "true_positives", "gold"), [("pairs", 547, 543), ("count", 543, 543), ("set", 541, 541)]
)
def test_triplets_written_twice_in_14lap(mode, true_positives, gold):
    records = read(benchmark_file("aste/v2/14lap/test_triplets.txt")).records
    result = score(records, records, duplicates=mode)
    assert counts(result) == [true_positives, gold, gold]
    assert result["f1"] == pytest.approx(100 * true_positives / gold)
    assert (result["duplicate_predictions"], result["duplicate_references"]) == (2, 2)
    assert result["signature"].endswith(f"duplicates:{mode}")


@pytest.mark.parametrize("name", SETS)
def test_v1_against_the_pairs_that_the_benchmark_ships(name):
    corpus = read(benchmark_file(f"aste/v1/{name}_test.txt"))
    shipped = json.loads(benchmark_file(f"aste/v1/{name}_test_pairs.json").read_text())
    pairs = [[(aspect, opinion, ("NEU", "POS", "NEG")[polarity]) for aspect, opinion, polarity in s] for s in shipped]
    result = score(corpus.records, pairs, duplicates="count")
    total = {"14lap": 490, "14res": 862, "15res": 455, "16res": 465}[name]
    assert counts(result) == [total] * 3
    left_out = {"14lap": 57, "14res": 123, "15res": 23, "16res": 39}[name]
    assert corpus.format_notes["aspects_without_opinion"] == left_out


# --- a slow plain oracle ----------------------------------------------------------------------------------------------


def rates(true_positives, predicted, gold):
    precision = 100 * true_positives / predicted if predicted else 0.0
    recall = 100 * true_positives / gold if gold else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {"precision": precision, "recall": recall, "f1": f1} | dict(
        zip(COUNTS, (true_positives, predicted, gold), strict=True)
    )


def pooled(sentences, view, mode="set"):
    """Counts over sentences of what `view` makes of each triplet (None leaves it out)."""
    total = Counter()
    for sides in sentences:
        left, right = (Counter(v for t in side if (v := view(t)) is not None) for side in sides)
        if mode == "set":
            left, right = Counter(left.keys()), Counter(right.keys())
        product = sum(left[item] * right[item] for item in left)
        total += Counter(tp=product if mode == "pairs" else (left & right).total(), p=left.total(), g=right.total())
    return rates(total["tp"], total["p"], total["g"])


def relaxed_pairs(predicted, gold):
    """The most pairs, over all one-to-one alignments (augmenting paths, one prediction at a time)."""
    fits = [[p[2] == g[2] and bool(p[0] & g[0]) and bool(p[1] & g[1]) for g in gold] for p in predicted]
    taken = {}

    def place(i, seen):
        for j, fit in enumerate(fits[i]):
            if fit and j not in seen:
                seen.add(j)
                if j not in taken or place(taken[j], seen):
                    taken[j] = i
                    return True
        return False

    return sum(place(i, set()) for i in range(len(predicted)))


def oracle(predictions, references, mode="set"):
    """All rows, from token sets, by loops."""
    sentences = [
        [[(frozenset(a), frozenset(o), p) for a, o, p in side] for side in pair]
        for pair in zip(predictions, references, strict=True)
    ]
    result = pooled(sentences, lambda t: t, mode)
    result["pair"] = pooled(sentences, lambda t: t[:2], mode)
    result["aspect"] = pooled(sentences, lambda t: t[0])
    result["opinion"] = pooled(sentences, lambda t: t[1])
    result["aspect_polarity"] = pooled(sentences, lambda t: (t[0], t[2]))
    labels = ["POS", "NEG", "NEU", "CON"]
    by_label = {label: pooled(sentences, lambda t, label=label: t if t[2] == label else None) for label in labels}
    occurring = [row for row in by_label.values() if row["predicted"] + row["gold"]]
    result["polarity"] = {label: by_label[label] for label in labels if label != "CON" or by_label[label] in occurring}
    result["polarity"]["macro_f1"] = sum(row["f1"] for row in occurring) / len(occurring) if occurring else 0.0
    result["single_word"] = pooled(sentences, lambda t: t if len(t[0]) == len(t[1]) == 1 else None)
    result["multi_word"] = pooled(sentences, lambda t: t if max(len(t[0]), len(t[1])) > 1 else None)
    aligned = [sorted(set(side), key=str) for sides in sentences for side in sides]
    right = sum(relaxed_pairs(p, g) for p, g in zip(aligned[::2], aligned[1::2], strict=True))
    result["relaxed"] = rates(right, sum(map(len, aligned[::2])), sum(map(len, aligned[1::2])))
    return result


def assert_close(result, figures):
    for key, value in figures.items():
        if isinstance(value, dict):
            assert_close(result[key], value)
        else:
            assert result[key] == pytest.approx(value, abs=1e-9), key


def tuples(records):
    return [[(t["aspect"], t["opinion"], t["polarity"]) for t in record["triplets"]] for record in records]


@pytest.mark.parametrize("mode", ["set", "count", "pairs"])
def test_every_row_of_real_files_against_the_oracle(real, mode):
    _, predictions, references = real
    assert_close(score(predictions, references, duplicates=mode), oracle(tuples(predictions), tuples(references), mode))


spans = st.lists(st.integers(0, 4), min_size=1, max_size=3).filter(lambda span: not looks_like_a_mask(span))
triplets = st.lists(st.tuples(spans, spans, st.sampled_from(["POS", "NEG", "NEU", "CON"])), max_size=5)
corpora = st.lists(st.tuples(triplets, triplets), min_size=1, max_size=4)


def sides_of(corpus):
    return [list(side) for side in zip(*corpus, strict=True)]


@given(corpora, st.sampled_from(["set", "count", "pairs"]))
def test_every_row_against_the_oracle(corpus, mode):
    predictions, references = sides_of(corpus)
    assert_close(score(predictions, references, duplicates=mode), oracle(predictions, references, mode))


# --- properties -------------------------------------------------------------------------------------------------------


@given(st.lists(triplets, min_size=1, max_size=4).filter(lambda corpus: any(corpus)))
def test_a_corpus_against_itself_is_perfect(corpus):
    result = score(corpus, corpus)
    assert result["f1"] == 100
    for name in ("pair", "aspect", "opinion", "aspect_polarity", "relaxed"):
        assert result[name]["f1"] == 100
    assert result["polarity"]["macro_f1"] == 100


@given(corpora, st.randoms(use_true_random=False), st.sampled_from(["set", "count", "pairs"]))
def test_order_changes_nothing(corpus, rng, mode):
    def shuffled(sentence):
        mixed = []
        for aspect, opinion, polarity in sentence:
            more = opinion[:1] if max(opinion) > 1 else []
            mixed.append((rng.sample(aspect, len(aspect)), rng.sample(opinion, len(opinion)) + more, polarity))
        return rng.sample(mixed, len(mixed))

    moved = rng.sample([tuple(map(shuffled, pair)) for pair in corpus], len(corpus))
    assert score(*sides_of(corpus), duplicates=mode) == score(*sides_of(moved), duplicates=mode)


@given(corpora)
def test_relaxed_is_never_below_strict(corpus):
    result = score(*sides_of(corpus))
    assert result["relaxed"]["true_positives"] >= result["true_positives"]


@given(corpora, st.sampled_from(["set", "count", "pairs"]))
def test_counts_of_sentences_add_up(corpus, mode):
    result = score(*sides_of(corpus), duplicates=mode, per_document=True)
    assert [row["id"] for row in result["per_document"]] == list(range(len(corpus)))
    assert [sum(row[name] for row in result["per_document"]) for name in COUNTS] == counts(result)
    alone = [score([p], [g], duplicates=mode) for p, g in corpus]
    assert [counts(row) for row in result["per_document"]] == [counts(row) for row in alone]


@given(corpora, st.booleans())
def test_text_scores_as_indices_do_where_every_word_is_different(corpus, upper):
    words = ["alpha", "beta", "gamma", "delta", "epsilon"]

    def as_text(side):
        return [
            [tuple(" ".join(words[i] for i in sorted(set(span))) for span in t[:2]) + t[2:] for t in sentence]
            for sentence in side
        ]

    predictions, references = sides_of(corpus)
    by_index = score(predictions, references)
    texts = as_text(predictions)
    if upper:
        texts = [[(a.upper(), f"  {o} ", p) for a, o, p in sentence] for sentence in texts]
    by_text = score(texts, as_text(references), ignore_case=upper)
    if any(predictions) or any(references):
        assert "relaxed" not in by_text
        assert "match:text" in by_text["signature"]
    for name in ("pair", "aspect", "opinion", "aspect_polarity", "polarity", "single_word", "multi_word", *RATES):
        assert by_text[name] == by_index[name]


# --- worked examples --------------------------------------------------------------------------------------------------

GOLD = [[([0], [2], "POS"), ([4, 5], [7], "NEG")], [([1], [3], "NEU")]]
PREDICTED = [[([0], [2], "POS"), ([4], [7], "NEG"), ([0], [7], "POS")], [([1], [3], "POS")]]


def test_a_worked_example():
    # right: the first triplet. The second has half of its aspect, the third pairs terms of two triplets, the fourth
    # has the wrong polarity.
    result = score(PREDICTED, GOLD, per_document=True)
    assert counts(result) == [1, 4, 3]
    assert [result[key] for key in RATES] == pytest.approx([25, 100 / 3, 200 / 7])
    assert counts(result["pair"]) == [2, 4, 3]
    assert counts(result["aspect"]) == [2, 3, 3]
    assert counts(result["opinion"]) == [3, 3, 3]
    assert counts(result["aspect_polarity"]) == [1, 3, 3]
    assert counts(result["polarity"]["POS"]) == [1, 3, 1]
    assert counts(result["polarity"]["NEG"]) == [0, 1, 1]
    assert counts(result["polarity"]["NEU"]) == [0, 0, 1]
    assert result["polarity"]["macro_f1"] == pytest.approx(50 / 3)
    assert counts(result["single_word"]) == [1, 4, 2]
    assert counts(result["multi_word"]) == [0, 0, 1]
    assert counts(result["relaxed"]) == [2, 4, 3]
    assert result["per_document"] == [
        {"id": 0, "true_positives": 1, "predicted": 3, "gold": 2},
        {"id": 1, "true_positives": 0, "predicted": 1, "gold": 1},
    ]
    assert result["signature"] == "aste|v:2.0.0|pairing:position|match:tokens|duplicates:set"
    assert "no_gold" not in result


def test_equal_strings_never_substrings():
    assert score([[("food", "good", "POS")]], [[("seafood", "good", "POS")]])["true_positives"] == 0


def test_text_is_folded():
    composed, decomposed = "caf\u00e9  au lait", " cafe\u0301 au\u00a0lait "
    assert score([[(composed, "good", "POS")]], [[(decomposed, "good", "POS")]])["f1"] == 100
    assert score([[("Cafe", "good", "POS")]], [[("cafe", "good", "POS")]])["f1"] == 0
    folded = score([[("Cafe", "good", "POS")]], [[("cafe", "good", "POS")]], ignore_case=True)
    assert folded["f1"] == 100
    assert folded["signature"] == "aste|v:2.0.0|pairing:position|match:text|duplicates:set|ignore_case:yes"


def test_a_term_twice_in_a_sentence_is_one_item_of_text():
    result = score([[("food", "good", "POS")] * 2], [[("food", "good", "POS")]])
    assert counts(result) == [1, 1, 1]
    assert result["duplicate_predictions"] == 1
    for mode in ("count", "pairs"):
        with pytest.raises(ValueError, match=rf"^duplicates: '{mode}' needs token indices"):
            score([[("food", "good", "POS")]], [[("food", "good", "POS")]], duplicates=mode)


@pytest.mark.parametrize(
    ("word", "label"),
    [
        ("positive", "POS"),
        ("NEGATIVE", "NEG"),
        ("Neutral", "NEU"),
        ("conflict", "CON"),
        ("Con", "CON"),
        ("CON", "CON"),
        ("pos", "POS"),
        ("Neg", "NEG"),
        (" neu\t", "NEU"),
        ("\u00a0POS\r\n", "POS"),
        (b"neutral", "NEU"),
    ],
)
def test_names_of_polarities(word, label):
    assert score([[([0], [1], word)]], [[([0], [1], label)]])["f1"] == 100


def test_conflict_is_a_row_only_where_it_occurs():
    assert list(score(PREDICTED, GOLD)["polarity"]) == ["POS", "NEG", "NEU", "macro_f1"]
    result = score([[([0], [1], "CON")]], [[([0], [1], "CON")]])
    assert counts(result["polarity"]["CON"]) == [1, 1, 1]
    assert result["polarity"]["macro_f1"] == 100


WITHOUT = ("aspect_polarity", "polarity", "single_word", "multi_word", "relaxed", *RATES, *COUNTS)


@pytest.mark.parametrize("bare", [(True, True), (True, False), (False, True), (False, False)])
def test_without_polarity_pairs_stand_alone(bare):
    sides = [
        [[t[:2] if is_bare else t for t in sentence] for sentence in side]
        for side, is_bare in zip((PREDICTED, GOLD), bare, strict=True)
    ]
    options = {} if all(bare) else {"polarity": False}
    result = score(*sides, per_document=True, **options)
    full = score(PREDICTED, GOLD)
    assert all(result[name] is None for name in WITHOUT)
    for name in ("pair", "aspect", "opinion"):
        assert result[name] == full[name]
    assert [counts(row) for row in result["per_document"]] == [[1, 3, 2], [1, 1, 1]]
    assert result["signature"].endswith("polarity:none")
    assert {error["component"] for error in score(*sides, return_errors=True, **options)["errors"]} == {"pair"}


@pytest.mark.parametrize("lacking", ["predictions", "references"])
def test_polarity_on_one_side_only_is_an_error(lacking):
    bare = [[{"aspect": [0], "opinion": [1], "label": "POS", "score": 1}], [], [([2], [3])]]
    full = [[], [([2], [3], "POS")], []]
    other = ({"predictions", "references"} - {lacking}).pop()
    words = (
        f"{lacking}[1].triplets[0].polarity: missing, expected one of POS, NEG, NEU, as the {other} have one; "
        "the triplet has 'label', 'score'; polarity=False scores pairs without it"
    )
    for batches in ([0, 1, 2], [0, 2]):
        metric = load("aste")
        metric.add_batch(**{lacking: [[]], other: [[]]})
        for start, end in zip(batches, [*batches[1:], 3], strict=True):
            metric.add_batch(**{lacking: bare[start:end], other: full[start:end]})
        with pytest.raises(ValueError) as caught:
            metric.compute()
        assert str(caught.value) == words
        assert metric.compute(polarity=False)["signature"].endswith("|polarity:none")
    with pytest.raises(
        ValueError, match=r"\.polarity: missing, expected one of POS, NEG, NEU, as the \w+ have one; pol"
    ):
        score(**{lacking: [[([0], [1])]], other: [[([0], [1], "POS")]]})


def test_polarity_on_some_triplets_only_names_the_other_keys():
    some = [[([0], [1], "POS")], [([0], [1], "POS"), {"aspect": [0], "opinion": [1], "pol": "POS"}]]
    words = (
        r"^predictions\[1\]\.triplets\[1\]\.polarity: missing, .* as other triplets have one; the triplet has 'pol'$"
    )
    with pytest.raises(ValueError, match=words):
        score(some, some)
    metric = load("aste")
    metric.add_batch(predictions=some[:1], references=some[:1])
    metric.add_batch(predictions=[some[1][1:]], references=[some[1][:1]])
    with pytest.raises(ValueError, match=words.replace(r"\[1\]\.p", r"\[0\]\.p")):
        metric.compute()


def test_sides_without_triplets_say_nothing_about_polarity():
    full, bare = [[([0], [1], "POS")], []], [[], [([0], [1])]]
    for sides, f1 in [((full, [[], []]), 0), (([[], []], full), 0), (([[], []], [[], []]), 0)]:
        result = score(*sides)
        assert result["f1"] == f1 and "polarity:" not in result["signature"]
    for sides in ((bare, [[], []]), ([[], []], bare), (bare, bare)):
        result = score(*sides)
        assert result["f1"] is None and result["signature"].endswith("|polarity:none")


def test_sentiment_is_another_name_of_polarity():
    named = [[{"aspect": [0], "opinion": [2], "sentiment": "positive"}]]
    assert score(named, GOLD[:1])["true_positives"] == 1
    assert score({"triplets": [{"aspect": [[0]], "opinion": [[2]], "sentiment": ["POS"]}]}, GOLD[:1])["f1"] > 0
    both = [[{**named[0][0], "polarity": "NEG"}]]
    with pytest.raises(ValueError, match=r"^predictions\[0\]\.triplets\[0\]\.\w+: '\w+' contradicts"):
        score(both, GOLD[:1])


def test_polarity_under_a_name_that_is_not_known_is_told():
    named = [[{"aspect": [0], "opinion": [2], "label": "POS"}]]
    with pytest.warns(UserWarning, match="^predictions: triplets have no polarity, but have 'label'; pairs alone are"):
        assert aste.compute(predictions=named, references=named)["f1"] is None
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        assert aste.compute(predictions=named, references=named, polarity=False)["pair"]["f1"] == 100
        assert aste.compute(predictions=[[([0], [2])]], references=[[([0], [2])]])["pair"]["f1"] == 100


@given(corpora)
def test_without_polarity_the_score_is_that_of_pairs(corpus):
    predictions, references = sides_of(corpus)
    full, pairs = score(predictions, references), score(predictions, references, polarity=False)
    assert [pairs[name] for name in ("pair", "aspect", "opinion")] == [full[n] for n in ("pair", "aspect", "opinion")]
    assert all(pairs[name] is None for name in WITHOUT)
    bare = [[[t[:2] for t in sentence] for sentence in side] for side in (predictions, references)]
    if any(predictions) or any(references):
        assert score(*bare) == pairs


def test_relaxed_is_absent_with_text_and_none_without_polarity():
    assert "relaxed" not in score([[("a", "b")]], [[("a", "b")]])
    assert score([[([0], [1])]], [[([0], [1])]])["relaxed"] is None


def test_a_hidden_test_set_is_told():
    with pytest.warns(UserWarning, match="the references hold no triplet"):
        result = aste.compute(predictions=PREDICTED, references=[[], []])
    assert result["no_gold"] is True
    assert counts(result) == [0, 4, 0]
    assert "no_gold" not in score([[], []], [[], []])


def test_ids_pair_whatever_the_order():
    predictions = [{"id": "b", "triplets": PREDICTED[1]}, {"id": "a", "triplets": PREDICTED[0]}]
    references = [{"id": "a", "triplets": GOLD[0]}, {"id": "b", "triplets": GOLD[1]}]
    result = score(predictions, references, per_document=True, return_errors=True)
    assert {**result, **dict.fromkeys(("per_document", "errors", "matched", "error_kinds", "signature"))} == {
        **score(PREDICTED, GOLD),
        **dict.fromkeys(("per_document", "errors", "matched", "error_kinds", "signature")),
    }
    assert [row["id"] for row in result["per_document"]] == ["a", "b"]
    assert {error["record"] for error in result["errors"]} == {"a", "b"}
    assert "pairing:id" in result["signature"]
    one_sided = score([{"triplets": p} for p in PREDICTED], references)
    assert "pairing:position" in one_sided["signature"]


# --- items in error ---------------------------------------------------------------------------------------------------


def kinds(predicted, gold, **options):
    errors = score([predicted], [gold], return_errors=True, **options)["errors"]
    return [error["kind"] for error in errors]


@pytest.mark.parametrize(
    ("predicted", "gold", "kind"),
    [
        (([0], [2], "NEG"), ([0], [2], "POS"), "wrong_polarity"),
        (([0], [2], "POS"), ([0, 1], [2], "POS"), "wrong_aspect_boundary"),
        (([0], [2], "POS"), ([0], [2, 3], "POS"), "wrong_opinion_boundary"),
        (([0], [2], "NEG"), ([0], [2, 3], "POS"), "several"),
        (([0, 1], [2], "POS"), ([0], [2, 3], "POS"), "several"),
    ],
)
def test_kinds_of_error(predicted, gold, kind):
    assert kinds([predicted], [gold]) == [kind]


def test_wrong_pairing_has_gold_spans_that_are_no_gold_pair():
    gold = [([0], [1], "POS"), ([4], [5], "POS")]
    assert sorted(kinds([([0], [5], "POS")], gold)) == ["missed", "wrong_pairing"]
    assert sorted(kinds([([0], [5], "NEG")], gold)) == ["missed", "several"]
    assert sorted(kinds([([0], [7], "POS")], gold)) == ["missed", "missed", "spurious"]
    assert sorted(kinds([([0], [5], "POS"), ([4], [1], "POS")], gold)) == ["wrong_pairing", "wrong_pairing"]


def test_errors_name_their_items():
    errors = score(PREDICTED, GOLD, return_errors=True)["errors"]
    assert errors[0] == {
        "record": 0,
        "component": "triplet",
        "kind": "wrong_aspect_boundary",
        "prediction": {"aspect": [4], "opinion": [7], "polarity": "NEG"},
        "reference": {"aspect": [4, 5], "opinion": [7], "polarity": "NEG"},
    }
    assert [error["kind"] for error in errors] == ["wrong_aspect_boundary", "spurious", "wrong_polarity"]
    assert errors[1]["reference"] is None


def test_copies_too_many_are_spurious_when_counted():
    twice = [([0], [2], "POS")] * 2
    assert kinds(twice, twice[:1], duplicates="count") == ["spurious"]
    assert kinds(twice, twice[:1]) == []


def test_text_errors_know_no_boundaries():
    assert kinds([("screen", "big", "POS")], [("screen", "very big", "POS")]) == ["spurious", "missed"]
    assert kinds([("screen", "big", "NEG")], [("screen", "big", "POS")]) == ["wrong_polarity"]


@given(corpora, st.sampled_from(["set", "count"]))
def test_errors_add_up_and_mending_them_all_is_perfect(corpus, mode):
    predictions, references = sides_of(corpus)
    result = score(predictions, references, return_errors=True, duplicates=mode)
    found = Counter(error["kind"] for error in result["errors"])
    pairs = result["errors"] and sum(found.values()) - found["spurious"] - found["missed"]
    assert (pairs or 0) + found["spurious"] == result["predicted"] - result["true_positives"]
    assert (pairs or 0) + found["missed"] == result["gold"] - result["true_positives"]


@given(corpora)
def test_every_pair_of_errors_is_of_its_kind(corpus):
    predictions, references = sides_of(corpus)
    for error in score(predictions, references, return_errors=True)["errors"]:
        if error["prediction"] is None or error["reference"] is None:
            continue
        p, g = error["prediction"], error["reference"]
        terms = {
            name: "equal" if set(p[name]) == set(g[name]) else "overlap" if set(p[name]) & set(g[name]) else "apart"
            for name in ("aspect", "opinion")
        }
        same_polarity = p["polarity"] == g["polarity"]
        singles = {
            "wrong_polarity": (terms == {"aspect": "equal", "opinion": "equal"} and not same_polarity),
            "wrong_aspect_boundary": (terms == {"aspect": "overlap", "opinion": "equal"} and same_polarity),
            "wrong_opinion_boundary": (terms == {"aspect": "equal", "opinion": "overlap"} and same_polarity),
            "wrong_pairing": ("apart" in terms.values() and same_polarity),
        }
        assert singles.get(error["kind"], not any(singles.values()))


# --- text that could not be read --------------------------------------------------------------------------------------

MARKED = [{"id": "b", "triplets": PREDICTED[1]}, {"id": "a", "triplets": PREDICTED[0], "unparsed": 2}]
MARKED_GOLD = [{"id": "a", "triplets": GOLD[0]}, {"id": "b", "triplets": GOLD[1]}]


def test_unparsed_text_is_wrong_predictions():
    plain = score([{**p, "unparsed": None} for p in MARKED], MARKED_GOLD)
    result = score(MARKED, MARKED_GOLD, per_document=True)
    assert counts(plain) == [1, 4, 3] and plain["unparsed_predictions"] == 0
    assert counts(result) == [1, 6, 3] and result["unparsed_predictions"] == 2
    assert result["precision"] == pytest.approx(100 / 6) and result["recall"] == plain["recall"]
    assert counts(result["pair"]) == [2, 6, 3]
    assert counts(result["relaxed"]) == [2, 6, 3]
    for name in ("aspect", "opinion", "aspect_polarity", "polarity", "single_word", "multi_word"):
        assert result[name] == plain[name]
    assert [row["predicted"] for row in result["per_document"]] == [5, 1]
    assert result["signature"] == plain["signature"]


def test_the_precision_of_a_text_that_could_be_read_in_part():
    record = parse_generated("(screen, dim, negative); (price, low, great); nonsense")
    result = score([record], [[("screen", "dim", "NEG")]])
    assert result["precision"] == pytest.approx(100 / 3) and result["recall"] == 100


def test_without_polarity_unparsed_text_counts_in_pairs_alone():
    result = score(MARKED, MARKED_GOLD, polarity=False, per_document=True)
    assert counts(result["pair"]) == [2, 6, 3]
    assert counts(result["aspect"]) == [2, 3, 3]
    assert all(result[name] is None for name in WITHOUT)
    assert [row["predicted"] for row in result["per_document"]] == [5, 1]


@given(corpora, st.lists(st.integers(0, 3), min_size=4, max_size=4), st.sampled_from(["set", "count", "pairs"]))
def test_unparsed_text_adds_to_the_predicted_whatever_the_mode(corpus, unparsed, mode):
    predictions, references = sides_of(corpus)
    marked = [{"triplets": t, "unparsed": n} for t, n in zip(predictions, unparsed, strict=False)]
    plain, result = (score(side, references, duplicates=mode, per_document=True) for side in (predictions, marked))
    n = [record["unparsed"] for record in marked]
    rows = zip(plain["per_document"], result["per_document"], n, strict=True)
    assert all(row == {**before, "predicted": before["predicted"] + more} for before, row, more in rows)
    for name, row in (("f1", result), *((name, result[name]) for name in ("pair", "relaxed"))):
        before = plain if name == "f1" else plain[name]
        assert counts(row) == [before["true_positives"], before["predicted"] + sum(n), before["gold"]]
    assert result["duplicate_predictions"] == plain["duplicate_predictions"]
    assert result["unparsed_predictions"] == sum(n)


def test_unparsed_text_alone_is_a_prediction():
    with pytest.warns(UserWarning, match="the references hold no triplet"):
        result = aste.compute(predictions=[{"triplets": [], "unparsed": 1}], references=[[]])
    assert result["no_gold"] is True and counts(result) == [0, 1, 0]
    result = score([{"triplets": [], "unparsed": 1}], [[([0], [1], "POS")]], return_errors=True)
    assert counts(result) == [0, 1, 1] and result["f1"] == 0 and "no_gold" not in result
    assert [error["kind"] for error in result["errors"]] == ["unparsed", "missed"]
    result = score([{"triplets": [], "unparsed": 1}], [[([0], [1])]])
    assert result["f1"] is None and counts(result["pair"]) == [0, 1, 1]


def test_unparsed_text_in_a_reference_is_an_error():
    with pytest.raises(ValueError, match=r"^references\[1\]\.unparsed: 2, expected 0"):
        score(GOLD, [{"triplets": GOLD[0], "unparsed": 0}, {"triplets": GOLD[1], "unparsed": 2}])


@pytest.mark.parametrize("polarity", [True, False])
def test_unparsed_text_is_listed_and_can_be_mended(polarity):
    result = score(MARKED, MARKED_GOLD, return_errors=True, polarity=polarity)
    component = "triplet" if polarity else "pair"
    assert result["errors"][0] == {
        "record": "a",
        "component": component,
        "kind": "unparsed",
        "prediction": None,
        "reference": None,
        "number": 2,
    }
    assert [error["record"] for error in result["errors"]] == sorted(error["record"] for error in result["errors"])
    (row,) = (row for row in result["error_kinds"] if row["kind"] == "unparsed")
    plain = score([{**p, "unparsed": 0} for p in MARKED], MARKED_GOLD, polarity=polarity)
    assert row["errors"] == 2 and row["f1"] == pytest.approx((plain if polarity else plain["pair"])["f1"])


def test_unparsed_text_counts_in_intervals_and_comparisons():
    options = {"confidence_level": 0.9, "n_resamples": 50}
    whole = score(MARKED, MARKED_GOLD, **options)["confidence_intervals"]
    assert whole["precision"][0] == 0 and whole["precision"][1] < 25
    plain = [{**p, "unparsed": 0} for p in MARKED]
    statistics = aste.statistics(predictions=[MARKED, plain], references=MARKED_GOLD)
    assert statistics.observed(0)[0] == pytest.approx(100 / 6) and statistics.observed(1)[0] == 25


def test_unparsed_text_comes_through_batches_and_columns():
    metric = load("aste")
    for record, gold in zip(MARKED, MARKED_GOLD, strict=True):
        metric.add(prediction=record, reference=gold)
    expected = score(MARKED, MARKED_GOLD)
    assert metric.compute() == expected
    columns = {key: [record.get(key) for record in MARKED] for key in ("id", "triplets", "unparsed")}
    assert score(columns, MARKED_GOLD) == expected


def published_counts(predictions, references):
    """Counts as published scorers of generated text have them: different strings of a sentence, right or wrong."""
    total = Counter()
    for predicted, gold in zip(predictions, references, strict=True):
        predicted, gold = set(predicted), set(gold)
        total += Counter(right=len(predicted & gold), predicted=len(predicted), gold=len(gold))
    return [total["right"], total["predicted"], total["gold"]]


LINEARISED = {
    "GAS": ("({}, {}, {})".format, "; ", {}),
    "bars": ("{} | {} | {}".format, "; ", {}),
    "Paraphrase": (lambda a, o, p: f"It is {p} because {a} is {o}", " [SSEP] ", True),
    "MvP": (lambda a, o, p: f"[A] {a} [O] {o} [S] {p}", " [SSEP] ", True),
    "DLO": (lambda a, o, p: f"[S] {p} [A] {a} [O] {o}", " [SSEP] ", True),
    "PASTE": ("{} ; {} ; {}".format, " | ", {}),
    "Python": (lambda a, o, p: repr((a, o, p)), ", ", {}),
    "JSON": (lambda a, o, p: json.dumps([a, o, p]), ", ", {}),
}


@pytest.mark.parametrize("form", LINEARISED)
def test_generated_text_scores_as_published_scorers_have_it(form, tmp_path):
    """Imperfect copies of 14lap as text, with every seventh piece broken."""
    gold_path = benchmark_file("aste/v2/14lap/test_triplets.txt")
    path = tmp_path / "predictions.txt"
    path.write_text(perturbed("aste", gold_path))
    linearise, separator, simple_words = LINEARISED[form]
    words = {"POS": "positive", "NEG": "negative", "NEU": "neutral"}
    if simple_words:
        words = {"POS": "great", "NEG": "bad", "NEU": "ok"}

    def strings(records):
        return [
            [
                linearise(
                    *(" ".join(record["tokens"][i] for i in t[n]) for n in ("aspect", "opinion")), words[t["polarity"]]
                )
                for t in record["triplets"]
            ]
            for record in records
        ]

    gold, predicted = strings(read(gold_path).records), strings(read(path).records)
    place = 0
    for sentence in predicted:
        for at in range(len(sentence)):
            place += 1
            if place % 7 == 0:
                # Different strings, as published scorers fold equal ones.
                sentence[at] = f"nonsense {place}" if form != "JSON" else json.dumps([f"nonsense {place}"])
    as_list = "[{}]" if form in ("Python", "JSON") else "{}"
    texts, gold_texts = ([as_list.format(separator.join(sentence)) for sentence in side] for side in (predicted, gold))
    records = [parse_generated(text) for text in texts]
    references = [parse_generated(text) for text in gold_texts]
    assert all(record["unparsed"] == 0 for record in references)
    assert sum(record["unparsed"] for record in records) == place // 7
    result = score(records, references)
    assert counts(result) == published_counts(predicted, gold)
    (tmp_path / "generated.txt").write_text("\n".join(texts) + "\n")
    assert read(tmp_path / "generated.txt").records == records


# --- mistakes ---------------------------------------------------------------------------------------------------------

GOOD = {"id": "a", "tokens": ["w"] * 8, "triplets": [{"aspect": [0], "opinion": [1, 2], "polarity": "POS"}]}


def altered(key, value):
    record = json.loads(json.dumps(GOOD))
    target = record if key in record else record["triplets"][0]
    if value is ...:
        del target[key]
    else:
        target[key] = value
    return record


MISTAKES = [
    (7, "7 is not a record: a dict with triplets, or a list of triplets"),
    (None, "None is not a record: a dict with triplets, or a list of triplets"),
    ("abc", "'abc' is not a record: a dict with triplets, or a list of triplets"),
    ({}, ".triplets: missing, expected a list of triplets"),
    ([7], ".triplets[0]: 7 is not a triplet"),
    ([[[0]]], ".triplets[0].opinion: missing, expected an opinion"),
    ([[[0], [1], "POS", 4]], ".triplets[0]: [[0], [1], 'POS', 4] is not a triplet"),
    (altered("id", 0.5), ".id: 0.5 is not an id"),
    (altered("id", ["a"]), ".id: ['a'] is not an id"),
    (altered("tokens", "abc"), ".tokens: 'abc' is not a list of tokens"),
    (altered("tokens", ["w", 3]), ".tokens[1]: 3 is not a token"),
    (altered("tokens", ["w", None]), ".tokens[1]: None is not a token"),
    (altered("tokens", ["w"] * 2), ".triplets[0].opinion[1]: 2 is past the end, expected an index below 2"),
    (altered("triplets", ...), ".triplets: missing, expected a list of triplets"),
    (altered("triplets", None), ".triplets: None is not a list of triplets"),
    (altered("triplets", {"aspect": 1}), ".triplets: {'aspect': 1} is not a list of triplets"),
    (altered("triplets", [None]), ".triplets[0]: None is not a triplet"),
    (altered("aspect", ...), ".triplets[0].aspect: missing, expected an aspect: token indices or the term's text"),
    (altered("aspect", None), ".triplets[0].aspect: None is not an aspect: token indices or the term's text"),
    (altered("aspect", 3), ".triplets[0].aspect: 3 is not an aspect: token indices or the term's text"),
    (altered("aspect", []), ".triplets[0].aspect: [] is empty, expected the token indices of an aspect"),
    (altered("aspect", [0.5]), ".triplets[0].aspect[0]: 0.5 is not a token index (a whole number from 0)"),
    (altered("aspect", [True]), ".triplets[0].aspect[0]: True is not a token index (a whole number from 0)"),
    (altered("aspect", ["0"]), ".triplets[0].aspect[0]: '0' is not a token index (a whole number from 0)"),
    (altered("aspect", [-1]), ".triplets[0].aspect[0]: -1 is not a token index (a whole number from 0)"),
    (altered("aspect", [None]), ".triplets[0].aspect[0]: None is not a token index (a whole number from 0)"),
    (altered("aspect", [10**20]), ".triplets[0].aspect[0]: 100000000000000000000 is too large, expected a token index"),
    (altered("aspect", [8]), ".triplets[0].aspect[0]: 8 is past the end, expected an index below 8"),
    (altered("aspect", " "), ".triplets[0].aspect: ' ' is blank, expected the text of an aspect"),
    (altered("aspect", "w"), ".triplets[0].aspect: text among terms given as token indices"),
    (altered("opinion", ...), ".triplets[0].opinion: missing, expected an opinion"),
    (altered("opinion", {"a": 1}), ".triplets[0].opinion: {'a': 1} is not an opinion"),
    (altered("opinion", []), ".triplets[0].opinion: [] is empty, expected the token indices of an opinion"),
    (altered("opinion", "w"), ".triplets[0].opinion: text among terms given as token indices"),
    (altered("polarity", "happy"), ".triplets[0].polarity: 'happy' is not one of POS, NEG, NEU"),
    (altered("polarity", ""), ".triplets[0].polarity: '' is not one of POS, NEG, NEU"),
    (altered("polarity", "great"), ".triplets[0].polarity: 'great' is not one of POS, NEG, NEU"),
    (altered("aspect", "[0]"), ".triplets[0].aspect: text among terms given as token indices"),
    ({"triplets": [], "unparsed": -1}, ".unparsed: -1 is not a number of pieces of text that could not be read"),
    ({"triplets": [], "unparsed": "2"}, ".unparsed: '2' is not a number of pieces"),
    ({"triplets": [], "unparsed": True}, ".unparsed: True is not a number of pieces"),
    ({"triplets": [], "unparsed": 0.5}, ".unparsed: 0.5 is not a number of pieces"),
    (altered("polarity", 1), ".triplets[0].polarity: 1 is not one of POS, NEG, NEU"),
    (altered("triplets", [*GOOD["triplets"], {"aspect": [0], "opinion": [1]}]), ".triplets[1].polarity: missing"),
]


@pytest.mark.parametrize("side", ["predictions", "references"])
@pytest.mark.parametrize(("record", "message"), MISTAKES, ids=range(len(MISTAKES)))
def test_a_mistake_is_named_and_what_was_added_stays(side, record, message):
    metric = load("aste")
    metric.add(prediction=GOOD, reference=GOOD)
    other = "references" if side == "predictions" else "predictions"
    good = {**GOOD, "id": "b"}
    for call in (metric.add_batch, metric.compute):
        with pytest.raises(ValueError) as caught:
            call(**{side: [{**GOOD, "id": "b"}, record], other: [good, good]})
        assert str(caught.value).startswith(f"{side}[1]{message}" if message[0] == "." else f"{side}[1]: {message}")
        assert "\n" not in str(caught.value)
    assert len(metric) == 1
    metric.add(prediction=good, reference=good)
    assert counts(metric.compute()) == [2, 2, 2]
    assert len(metric) == 0


@pytest.mark.parametrize("text", ["[0, 1]", "[0,1]", " ( 3 )\n", "(0, 1,)"])
def test_token_indices_as_text_are_refused(text):
    sides = {"predictions": [[("screen", "dim", "POS")], [("screen", text, "POS")]], "references": [[], []]}
    with pytest.raises(ValueError) as caught:
        aste.compute(**sides)
    expected = f"predictions[1].triplets[0].opinion: {' '.join(repr(text).split())} is token indices as text"
    assert str(caught.value).startswith(expected)
    assert score([[("7", "[sic] 3", "POS")]], [[("7", "[sic] 3", "POS")]])["f1"] == 100


TEXTS = {
    "str": str,
    "np.str_": np.str_,
    "bytes": str.encode,
    "np.bytes_": lambda text: np.bytes_(text.encode()),
    "bytearray": lambda text: bytearray(text.encode()),
    "array": np.array,
}


@pytest.mark.parametrize("as_text", TEXTS.values(), ids=TEXTS)
@pytest.mark.parametrize("others", [0, 1, 2000])
def test_text_of_every_type_compares_as_text(as_text, others):
    gold = [[("screen", "dim", "NEG")]]
    wrong = [[(as_text("neercs"), as_text("mid"), "NEG")]]
    right = [[(as_text("screen"), as_text("dim"), "NEG")]]
    more = [[("a", "b", "POS")]] * others
    assert score(right + more, gold + more)["f1"] == 100
    assert score(wrong + more, gold + more)["true_positives"] == others
    with pytest.raises(ValueError, match=r"text among terms given as token indices"):
        score([[([0], [1], "NEG")], *right], [[], []])
    with pytest.raises(ValueError, match=r"token indices among terms given as text"):
        score([*right, [([0], [1], "NEG")]], [[], []])
    with pytest.raises(ValueError, match=r"^predictions: terms are text, and the references' are token indices"):
        score(right, [[([0], [1], "NEG")]])


@pytest.mark.parametrize("others", [0, 1, 2000])
def test_views_of_memory_are_refused(others):
    more = [[("a", "b", "POS")]] * others
    with pytest.raises(ValueError, match=r"^predictions\[0\]\.triplets\[0\]\.aspect: <memory at .*> is not an aspect"):
        score([[(memoryview(b"screen"), "dim", "NEG")], *more], [[], *more])


def test_columns_of_triplets_are_triplets():
    columns = {"aspect": [[0], [4, 5]], "opinion": [[2], [7]], "polarity": ["POS", "NEG"]}
    assert score([{"triplets": columns}], GOLD[:1])["f1"] == 100
    assert score([{"triplets": {**columns, "note": "x"}}], GOLD[:1])["f1"] == 100
    with pytest.raises(ValueError, match=r"^predictions\[0\]\.triplets: .* is not a list of triplets$"):
        score([{"triplets": {**columns, "polarity": "POS"}}], GOLD[:1])


def test_what_only_the_other_side_shows_is_found_at_compute():
    metric = load("aste")
    metric.add(prediction=[([0], [9], "POS")], reference=GOOD)
    with pytest.raises(ValueError, match=r"^predictions\[0\]\.triplets\[0\]\.opinion\[0\]: 9 is past the end"):
        metric.compute()
    assert len(metric) == 1
    metric = load("aste")
    metric.add(prediction=[("w", "w", "POS")], reference=GOOD)
    with pytest.raises(ValueError, match=r"^predictions: terms are text, and the references' are token indices"):
        metric.compute()
    with pytest.raises(ValueError, match=r"^predictions\[0\].tokens: 9 tokens, expected 8"):
        score([{**GOOD, "tokens": ["w"] * 9}], [GOOD])
    metric = load("aste")
    metric.add(prediction=[([0], [1], "POS")], reference=[([0], [1], "POS")])
    metric.add(prediction=[([0], [1])], reference=[([0], [1], "POS")])
    with pytest.raises(ValueError, match=r"^predictions\[1\]\.triplets\[0\]\.polarity: missing"):
        metric.compute()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"duplicates": "sets"}, "duplicates: 'sets' is not one of set, count, pairs"),
        ({"duplicates": None}, "duplicates: None is not one of set, count, pairs"),
        ({"ignore_case": "yes"}, "ignore_case: 'yes' is not true or false"),
        ({"per_document": 1}, "per_document: 1 is not true or false"),
        ({"return_errors": []}, "return_errors: [] is not true or false"),
        ({"polarity": None}, "polarity: None is not true or false"),
        ({"duplicate": "set"}, "duplicate: not an option of aste_metric, expected one of duplicates, ignore_case"),
    ],
)
def test_options_are_checked_before_anything_is_given_up(options, message):
    metric = load("aste")
    metric.add(prediction=GOOD, reference=GOOD)
    with pytest.raises(ValueError) as caught:
        metric.compute(**options)
    assert str(caught.value).startswith(message)
    assert metric.compute()["f1"] == 100


def test_no_references_is_an_error():
    with pytest.raises(ValueError, match=r"^references: there are none"):
        aste.compute(predictions=[], references=[])
    with pytest.raises(ValueError, match=r"^references: there are none"):
        load("aste").compute()
    with pytest.raises(ValueError, match=r"^2 predictions for 1 references"):
        aste.compute(predictions=[[], []], references=[[]])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats() | st.sampled_from(["", "POS", "w", "happy", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["id", "tokens", "triplets", "aspect", "opinion", "polarity", "sentiment", "unparsed", "x"]
            ),
            inner,
        )
    ),
    max_leaves=10,
)
good_triplets = st.fixed_dictionaries(
    {"aspect": spans | st.just("w"), "opinion": spans | st.just("w"), "polarity": st.sampled_from(["POS", "neutral"])}
)


@st.composite
def nearly_good(draw):
    records = draw(
        st.lists(
            st.fixed_dictionaries(
                {"triplets": st.lists(good_triplets, max_size=2)},
                optional={
                    "id": st.sampled_from(["a", "b", 1]),
                    "unparsed": st.sampled_from([0, 2, None]),
                    "tokens": st.lists(st.just("w"), min_size=4, max_size=6),
                },
            ),
            max_size=2,
        )
    )
    if records and draw(st.booleans()):
        record = draw(st.sampled_from(records))
        places = [record, *record["triplets"]]
        draw(st.sampled_from(places))[draw(st.sampled_from(["id", "tokens", "triplets", "aspect", "polarity"]))] = draw(
            json_values
        )
    return records


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(json_values | nearly_good(), json_values | nearly_good(), st.booleans())
def test_arbitrary_json_gives_a_result_or_an_error_of_one_line(predictions, references, errors):
    try:
        result = score(predictions, references, return_errors=errors, per_document=errors)
    except ValueError as error:
        assert "\n" not in str(error)
        assert 5 < len(str(error)) < 500
    else:
        json.dumps(result, allow_nan=False)
    assert len(aste) == 0


def test_numpy_and_tuples_and_columns():
    references = {"triplets": GOLD, "id": np.array([3, 4])}
    predictions = [
        {"id": np.int64(4), "triplets": tuple(tuple(t) for t in PREDICTED[1])},
        {"id": "3", "triplets": [(np.array(a), tuple(o), np.str_(p)) for a, o, p in PREDICTED[0]]},
    ]
    result = score(predictions, references)
    assert counts(result) == [1, 4, 3]
    assert "pairing:id" in result["signature"]


def test_the_examples_of_the_description_run():
    import doctest

    import evaluate

    text = evaluate.load(str(ROOT / "aste_metric.py")).inputs_description
    text = text.replace('"aste_metric.py"', repr(str(ROOT / "aste_metric.py")))
    test = doctest.DocTestParser().get_doctest(text, {}, "description", None, 0)
    assert test.examples
    assert doctest.DocTestRunner().run(test).failed == 0


def test_brute_force_agrees_with_the_oracle_on_relaxed():
    """The oracle's augmenting paths, against all permutations, since it judges the metric."""
    rng = np.random.default_rng(0)

    def triplet():
        return (*(frozenset(rng.integers(0, 4, 2).tolist()) for _ in range(2)), "POS")

    for _ in range(50):
        left, right = ([triplet() for _ in range(4)] for _ in range(2))
        fits = [[bool(p[0] & g[0]) and bool(p[1] & g[1]) for g in right] for p in left]
        assert relaxed_pairs(left, right) == max(
            sum(fits[i][j] for i, j in enumerate(order)) for order in permutations(range(4))
        )
