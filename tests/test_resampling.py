"""Intervals against scipy's, randomisation against plain loops, and how often tests find what is not there."""

import inspect
import math
from statistics import NormalDist, pstdev
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.stats
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from spanscore.metrics.resampling import Statistics, draws, group_codes, paired_test, uncertainty

from spanscore.metrics import resampling

LEVELS = (0.01, 0.05, 0.1)


def mean(sums, _):
    """Of a table of values and ones."""
    return sums[:, :1] / np.maximum(sums[:, 1:], 1)


def f1(sums, whole):
    empty = sums[:, 1] + sums[:, 2] == 0
    sums = np.where(empty[:, None], whole, sums)
    return (200 * sums[:, 0] / np.maximum(sums[:, 1] + sums[:, 2], 1))[:, None]


def statistics(*tables, score=f1, groups=None):
    return Statistics(["score"], list(tables), score, list(range(len(tables[0]))), groups)


def intervals(*given):
    return uncertainty(*given).intervals


def documents(rng, n, rate=0.6, shape=()):
    """Counts of documents of 0 to 7 gold items, each found at a rate, with spurious ones."""
    gold = rng.integers(0, 8, (*shape, n))
    found = rng.binomial(gold, rate)
    return np.stack([found, found + rng.poisson(1, gold.shape), gold], axis=-1)


def resampled(table, score, n_resamples, seed):
    return np.concatenate([score(w @ table, table.sum(axis=0)) for w in draws(table, n_resamples, seed)])[:, 0]


def test_draws_are_as_many_as_there_are_rows_in_one_piece_or_in_many(monkeypatch):
    table = np.zeros((30, 3))
    whole = np.concatenate(list(draws(table, 500, 7)))
    assert whole.shape == (500, 30)
    assert (whole.sum(axis=1) == 30).all()
    assert (whole.mean(axis=0) > 0.8).all()
    assert np.array_equal(whole, np.concatenate(list(draws(table, 500, 7))))
    assert not np.array_equal(whole, np.concatenate(list(draws(table, 500, 8))))
    monkeypatch.setattr(resampling, "_BLOCK", 64)
    assert np.array_equal(whole, np.concatenate(list(draws(table, 500, 7))))


@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_intervals_are_those_of_scipy_on_the_same_resamples(method, level):
    rng = np.random.default_rng(3)
    values = rng.exponential(size=40)
    table = np.stack([values, np.ones(40)], axis=-1)
    ours = intervals(statistics(table, score=mean), level, 2000, 5, method)["score"]
    drawn = resampled(table, mean, 2000, 5)
    theirs = scipy.stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=0,
        bootstrap_result=SimpleNamespace(bootstrap_distribution=drawn),
        confidence_level=level,
        method={"percentile": "percentile", "bca": "BCa"}[method],
    ).confidence_interval
    assert ours == pytest.approx([theirs.low, theirs.high], rel=1e-9)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_intervals_are_close_to_those_that_scipy_draws(method):
    table = documents(np.random.default_rng(4), 100)
    ours = intervals(statistics(table), 0.9, 20_000, 1, method)["score"]
    # The seed has another name before scipy 1.15.
    seed = {"rng" if "rng" in inspect.signature(scipy.stats.bootstrap).parameters else "random_state": 2}
    theirs = scipy.stats.bootstrap(
        tuple(table.T),
        lambda a, b, c, axis: 200 * a.sum(axis=axis) / (b + c).sum(axis=axis),
        paired=True,
        vectorized=True,
        confidence_level=0.9,
        n_resamples=20_000,
        **seed,
        method={"percentile": "percentile", "bca": "BCa"}[method],
    ).confidence_interval
    assert ours == pytest.approx([theirs.low, theirs.high], abs=0.15)


def test_blocks_and_sparse_tables_change_nothing(monkeypatch):
    table = documents(np.random.default_rng(5), 30)
    other = documents(np.random.default_rng(6), 30)
    whole = [intervals(statistics(table), 0.9, method_seed, 1, "bca") for method_seed in (50, 51)]
    pair = paired_test(statistics(table, other), n_resamples=99)
    monkeypatch.setattr(resampling, "_BLOCK", 100)
    sparse = csr_array(table), csr_array(other)
    assert [intervals(statistics(table), 0.9, n, 1, "bca") for n in (50, 51)] == whole
    assert [intervals(Statistics(["score"], [sparse[0]], f1, []), 0.9, n, 1, "bca") for n in (50, 51)] == whole
    for one, two in zip(pair, paired_test(Statistics(["score"], list(sparse), f1, []), n_resamples=99), strict=True):
        assert np.array_equal(one, two)


def test_groups_are_drawn_together():
    table = documents(np.random.default_rng(7), 40)
    groups = np.arange(40) // 4
    together = table.reshape(10, 4, 3).sum(axis=1)
    for method in ("percentile", "bca"):
        by_group = intervals(statistics(table, groups=groups * 3 + 5), 0.95, 300, 1, method)
        assert by_group == intervals(statistics(together), 0.95, 300, 1, method)
    other = documents(np.random.default_rng(8), 40)
    pair = paired_test(statistics(table, other, groups=groups), n_resamples=99)
    summed = paired_test(statistics(together, other.reshape(10, 4, 3).sum(axis=1)), n_resamples=99)
    assert pair.p_value == summed.p_value
    assert np.array_equal(pair.interval, summed.interval)
    assert pair.better.sum() > summed.better.sum()  # of documents


def test_keys_of_groups():
    assert group_codes(None, 3) is None
    assert group_codes(["b", "a", "b"], 3).tolist() == [0, 1, 0]
    assert len(set(group_codes([None, None, "a"], 3).tolist())) == 3
    with pytest.raises(ValueError, match=r"^groups: 2 keys, expected one for each of the 3 references$"):
        group_codes(["a", "b"], 3)


def test_what_is_the_same_in_all_documents_has_no_width():
    table = np.tile([2, 3, 4], (20, 1))
    for method in ("percentile", "bca"):
        assert intervals(statistics(table), 0.95, 200, 1, method)["score"] == [400 / 7] * 2


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n", [1, 2, 3, 7, 20, 60])
@pytest.mark.parametrize("method", ["percentile", "bca"])
@pytest.mark.parametrize("rate", [0.1, 1 / 3, 0.7])
def test_rounding_gives_no_width(n, method, rate):
    # Sums of rates round differently for each resample.
    table = np.stack([np.full(n, rate), np.ones(n)], axis=-1)
    found = statistics(table, score=mean)
    assert intervals(found, 0.95, 200, 1, method)["score"] == found.observed(0).tolist() * 2


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("n", [10, 30, 300])
@pytest.mark.parametrize("level", [0.5, 0.95, 0.999, 1 - 1e-12])
@pytest.mark.parametrize("odd", [[[0, 1, 1]], [[3, 3, 3], [0, 9, 2]], [[0, 0, 5]], [[0, 7, 0]]])
def test_one_document_unlike_all_others(n, level, odd):
    # It makes the acceleration so large that a confidence level near 1 lies beyond the pole of the formula.
    table = np.array(odd + [[2, 2, 2]] * n)
    found = statistics(table)
    low, high = intervals(found, level, 500, 1, "bca")["score"]
    assert low <= found.observed(0)[0] <= high
    if level > 0.9:
        assert low < high


@pytest.mark.parametrize("n", [1, 2])
@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_few_documents(n, method):
    low, high = intervals(statistics(documents(np.random.default_rng(1), n)), 0.95, 50, 1, method)["score"]
    assert 0 <= low <= high <= 100


def test_an_empty_resample_has_the_observed_score():
    table = np.array([[1, 2, 2]] + [[0, 0, 0]] * 3)
    low, high = intervals(statistics(table), 0.99, 200)["score"]
    assert low == high == 50


@settings(max_examples=40)
@given(
    st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=8),
    st.sampled_from(["percentile", "bca"]),
    st.floats(0.5, 0.99),
    st.integers(0, 5),
)
def test_intervals_are_ordered_lie_among_the_resamples_and_widen(counts, method, level, seed):
    table = np.array([[min(t, p, g), p, g] for t, p, g in counts])
    low, high = intervals(statistics(table), level, 60, seed, method)["score"]
    drawn = resampled(table, f1, 60, seed)
    assert drawn.min() <= low <= high <= drawn.max()
    if method == "percentile":
        wide = intervals(statistics(table), (1 + level) / 2, 60, seed, method)["score"]
        assert wide[0] <= low <= high <= wide[1]


# --- two systems ------------------------------------------------------------------------------------------------------


def test_randomisation_is_that_of_a_plain_loop():
    rng = np.random.default_rng(10)
    first, second = documents(rng, 25), documents(rng, 25)
    result = paired_test(statistics(first, second), n_resamples=400, random_state=3)
    score = lambda table: 200 * table[:, 0].sum() / table[:, 1:].sum()  # noqa: E731
    swaps = np.random.default_rng(3).integers(0, 2, (400, 25))
    observed = score(second) - score(first)
    extreme = 0
    for swap in swaps:
        mixed = [[a, b] if not s else [b, a] for a, b, s in zip(first, second, swap, strict=True)]
        difference = score(np.array([b for _, b in mixed])) - score(np.array([a for a, _ in mixed]))
        extreme += abs(difference) >= abs(observed) - 1e-9
    assert result.difference[0] == pytest.approx(observed)
    assert result.p_value[0] == (1 + extreme) / 401
    better = [sum(200 * row[0] / max(row[1:].sum(), 1) for row in [a]) for a in first]
    other = [200 * row[0] / max(row[1:].sum(), 1) for row in second]
    pairs = list(zip(better, other, strict=True))
    assert result.better.tolist() == [[sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)]]


def test_all_swaps_of_few_documents_are_the_exact_test():
    first = np.array([[1, 1, 1], [1, 2, 2], [0, 1, 1]])
    second = np.array([[1, 1, 1], [2, 2, 2], [1, 1, 1]])
    # Of the four ways to swap the two documents that differ, two give a difference as large.
    result = paired_test(statistics(first, second), n_resamples=20_000)
    assert result.p_value[0] == pytest.approx(0.5, abs=0.015)


def test_paired_bootstrap_is_that_of_a_plain_loop():
    rng = np.random.default_rng(11)
    first, second = documents(rng, 25), documents(rng, 25, 0.7)
    result = paired_test(statistics(first, second), "bootstrap", n_resamples=300, random_state=3, confidence_level=0.9)
    score = lambda table: 200 * table[:, 0].sum() / table[:, 1:].sum()  # noqa: E731
    drawn = np.random.default_rng(3).integers(0, 25, (300, 25))
    differences = np.array([score(second[rows]) - score(first[rows]) for rows in drawn])
    observed = score(second) - score(first)
    extreme = np.sum(abs(differences - differences.mean()) >= abs(observed))
    assert result.p_value[0] == (1 + extreme) / 301
    assert result.interval[0] == pytest.approx(np.quantile(differences, [0.05, 0.95]))


@settings(max_examples=30)
@given(
    st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=8),
    st.sampled_from(["randomisation", "bootstrap"]),
    st.integers(0, 5),
)
def test_a_system_is_no_better_than_itself(counts, method, seed):
    table = np.array([[min(t, p, g), p, g] for t, p, g in counts])
    result = paired_test(statistics(table, table.copy()), method, 50, seed)
    assert result.difference.tolist() == [0.0]
    assert result.p_value.tolist() == [1.0]
    assert result.interval.tolist() == [[0.0, 0.0]]
    assert result.better.tolist() == [[0, 0]]


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(1, 30))
def test_the_other_way_round(seed, n):
    rng = np.random.default_rng(seed)
    first, second = documents(rng, n), documents(rng, n)
    for method in ("randomisation", "bootstrap"):
        ours = paired_test(statistics(first, second), method, 60, 1)
        theirs = paired_test(statistics(second, first), method, 60, 1)
        assert ours.difference == pytest.approx(-theirs.difference)
        assert ours.p_value.tolist() == theirs.p_value.tolist()
        assert ours.interval[0] == pytest.approx(-theirs.interval[0, ::-1])
        assert ours.better.tolist() == theirs.better[:, ::-1].tolist()
        assert 1 / 61 <= ours.p_value[0] <= 1


def shares(method, corpora, n_documents, n_resamples, change):
    """How often p is at most each level, over corpora of two systems, the second changed by `change`."""
    rng = np.random.default_rng(12)
    p_values = []
    for seed in range(corpora):
        first, second = documents(rng, n_documents, shape=(2,))
        second[:, 2] = first[:, 2]  # the same gold
        second[:, 0] = rng.binomial(first[:, 2], 0.6)
        second[:, 1] = second[:, 0] + rng.poisson(1, n_documents)
        second = change(rng, second)
        p_values.append(paired_test(statistics(first, second), method, n_resamples, seed).p_value[0])
    return [float(np.mean(np.array(p_values) <= level)) for level in LEVELS]


def test_under_exchangeable_systems_the_test_errs_no_more_often_than_it_says():
    corpora = 1500
    found = shares("randomisation", corpora, 40, 199, lambda rng, table: table)
    for level, share in zip(LEVELS, found, strict=True):
        assert share <= level + 3 * math.sqrt(level * (1 - level) / corpora)
    assert found[2] > 0.05  # and not for want of power


def test_a_known_difference_is_found():
    def worse(rng, table):
        lost = rng.binomial(table[:, 0], 0.25)
        return table - np.stack([lost, lost, 0 * lost], axis=-1)

    for method in ("randomisation", "bootstrap"):
        assert shares(method, 100, 150, 199, worse)[1] >= 0.9


def test_the_bootstrap_test_errs_about_as_often_as_it_says():
    found = shares("bootstrap", 600, 100, 199, lambda rng, table: table)
    assert found[1] <= 0.05 + 4 * math.sqrt(0.05 * 0.95 / 600)


# --- how many documents are enough ------------------------------------------------------------------------------------


def factor(level):
    """Standard errors from no difference to one that a test shows with a power of 80 %."""
    return NormalDist().inv_cdf((1 + level) / 2) + NormalDist().inv_cdf(0.8)


def f1_of(rows):
    true, predicted, gold = (sum(column) for column in zip(*rows, strict=True))
    return 200 * true / (predicted + gold)


def plain_needed(n, detectable, difference):
    """The first number of at most two digits and zeros on which the difference is detectable."""
    if detectable > 10 * abs(difference):
        return None
    enough = n + 1
    while detectable * math.sqrt(n / enough) > abs(difference) or str(enough)[2:].strip("0"):
        enough += 1
    return enough


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_detectable_differences_are_those_of_plain_loops(level):
    rng = np.random.default_rng(20)
    first, second = documents(rng, 25), documents(rng, 25, 0.7)
    drawn = np.random.default_rng(3).integers(0, 25, (300, 25)).tolist()
    scores = [[f1_of([table[row] for row in rows]) for rows in drawn] for table in (first.tolist(), second.tolist())]
    single = uncertainty(statistics(first), level, 300, 3).detectable_differences
    assert single["score"] == pytest.approx(factor(level) * math.sqrt(2) * pstdev(scores[0]))
    assert single == uncertainty(statistics(first), level, 300, 3, "bca").detectable_differences
    for method in ("randomisation", "bootstrap"):
        pair = paired_test(statistics(first, second), method, 300, 3, level)
        paired = factor(level) * pstdev(b - a for a, b in zip(*scores, strict=True))
        assert pair.detectable_difference == [pytest.approx(paired)]
        is_shown = pair.p_value[0] <= 1 - level
        assert pair.documents_needed == [None if is_shown else plain_needed(25, paired, pair.difference[0])]


def test_the_detectable_difference_of_means_is_that_of_the_books():
    rng = np.random.default_rng(21)
    values = rng.normal(5, 2, size=(2, 200))
    tables = [np.stack([row, np.ones(200)], axis=-1) for row in values]
    single = uncertainty(statistics(tables[0], score=mean), 0.95, 10_000).detectable_differences["score"]
    assert single == pytest.approx(2.8016 * math.sqrt(2 * values[0].var() / 200), rel=0.03)
    paired = paired_test(statistics(*tables, score=mean)).detectable_difference[0]
    assert paired == pytest.approx(2.8016 * math.sqrt((values[1] - values[0]).var() / 200), rel=0.03)


@pytest.mark.parametrize(
    ("difference", "detectable", "n", "needed"),
    [
        (2.0, 4.0, 25, 100),
        (-2.0, 4.0, 25, 100),
        (1.0, 1.01, 100, 110),  # 102.01
        (1.0, 10.0, 30, 3000),
        (1.0, 10.001, 30, None),  # more than a hundred times as many
        (0.0, 4.0, 25, None),
        (1.0, None, 3, None),
        (5.0, 4.0, 25, 26),  # not shown, so not enough
        (5.0, 4.0, 100, 110),
        (1.0, 2.0, 2, 8),
        (1.0, 3.0, 1111, 10_000),
    ],
)
def test_documents_needed(difference, detectable, n, needed):
    assert resampling._needed(difference, detectable, n) == needed


@given(st.floats(-50, 50), st.floats(0.01, 50), st.integers(6, 400))
def test_documents_needed_are_those_of_a_plain_loop(difference, detectable, n):
    found = resampling._needed(difference, detectable, n)
    expected = plain_needed(n, detectable, difference)
    if found != expected:  # at the edge of rounding
        nearly = [plain_needed(n, detectable * (1 + step), difference) for step in (-1e-9, 1e-9)]
        assert found in nearly


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1), st.integers(8, 25), st.integers(2, 5))
def test_more_documents_detect_smaller_differences(seed, n, times):
    # The standard error of a mean falls with the square root of the number of documents, up to the draws: 1000 of them
    # give it with a deviation of about 2 %. That of an F-measure on few documents falls less regularly.
    values = np.random.default_rng(seed).normal(size=(2, n))
    few = [np.stack([row, np.ones(n)], axis=-1) for row in values]
    many = [np.tile(table, (times**2, 1)) for table in few]
    small, large = (
        [
            uncertainty(statistics(*tables, score=mean), 0.95, 1000).detectable_differences["score"],
            paired_test(statistics(*tables, score=mean), n_resamples=1000).detectable_difference[0],
        ]
        for tables in (few, many)
    )
    for before, after in zip(small, large, strict=True):
        assert after < before
        assert after * times == pytest.approx(before, rel=0.25)


@settings(max_examples=30)
@given(
    st.lists(st.tuples(*[st.integers(0, 4)] * 3), min_size=1, max_size=12),
    st.sampled_from(["randomisation", "bootstrap"]),
)
def test_equal_systems_have_no_detectable_difference_and_need_no_documents(counts, method):
    table = np.array([[min(t, p, g), p, g] for t, p, g in counts])
    result = paired_test(statistics(table, table.copy()), method, 50)
    assert result.detectable_difference == result.documents_needed == [None]


@pytest.mark.parametrize(("n", "level"), [(2, 0.95), (5, 0.95), (6, 0.95), (7, 0.99), (8, 0.99)])
def test_too_few_documents_for_any_test(n, level):
    # The best case: the second system is better in all documents, so only two of all 2^n swaps are as extreme.
    first, second = np.tile([0, 4, 4], (n, 1)), np.tile([4, 4, 4], (n, 1))
    first[0, 0] = 1
    result = paired_test(statistics(first, second), "randomisation", 50_000, 1, level)
    can_show = bool(result.p_value[0] <= 1 - level)
    assert can_show is (n in (6, 8))
    assert (result.detectable_difference[0] is not None) is can_show
    assert (uncertainty(statistics(first), level).detectable_differences["score"] is not None) is can_show
    assert result.documents_needed == [None]


def test_scores_without_spread_have_no_detectable_difference():
    table = np.stack([np.full(30, 0.1), np.ones(30)], axis=-1)
    assert uncertainty(statistics(table, score=mean), 0.95).detectable_differences == {"score": None}
    better = table + np.array([0.1, 0.0])
    result = paired_test(statistics(table, better, score=mean), n_resamples=200)
    assert result.detectable_difference == [None]


def test_groups_are_the_documents_of_a_test():
    rng = np.random.default_rng(22)
    first, second = documents(rng, 80), documents(rng, 80, 0.62)
    together = [table.reshape(20, 4, 3).sum(axis=1) for table in (first, second)]
    grouped = statistics(first, second, groups=np.arange(80) // 4)
    ours, theirs = paired_test(grouped, n_resamples=200), paired_test(statistics(*together), n_resamples=200)
    assert ours.detectable_difference == theirs.detectable_difference
    assert ours.documents_needed == theirs.documents_needed
    assert ours.documents_needed[0] > 20
    assert uncertainty(grouped, 0.95, 200) == uncertainty(statistics(*together), 0.95, 200)


@pytest.mark.parametrize("source", ["both", "first"])
def test_the_detectable_difference_is_shown_with_a_power_of_80_percent(source):
    def pair(rng, n):
        first = documents(rng, n)
        found = rng.binomial(first[:, 2], 0.68)
        return first, np.stack([found, found + rng.poisson(1, n), first[:, 2]], axis=-1)

    rng = np.random.default_rng(23)
    first, second = pair(rng, 100_000)
    true = float(f1_of(second) - f1_of(first))
    sample = statistics(*pair(rng, 2000))
    detectable = (
        paired_test(sample, n_resamples=2000).detectable_difference[0]
        if source == "both"
        else uncertainty(sample, 0.95, 2000).detectable_differences["score"]
    )
    n = round(2000 * (detectable / true) ** 2)  # on which the true difference is the detectable one
    assert 50 < n < 500
    shown = [paired_test(statistics(*pair(rng, n)), "randomisation", 199, seed).p_value[0] for seed in range(300)]
    assert 0.7 <= np.mean(np.array(shown) <= 0.05) <= (0.9 if source == "both" else 0.97)
