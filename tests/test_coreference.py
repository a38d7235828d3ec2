import random

import numpy as np
import pytest
import sentivent_oracle as oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from spanscore.metrics.coreference import (
    METRICS,
    STATISTICS,
    chain_statistics,
    coreference_scores,
    singleton_statistics,
)


@st.composite
def partitions(draw, names=range(6)):
    """Some of the names in chains."""
    chains = {}
    for name in names:
        at = draw(st.integers(0, 4))
        if at:
            chains.setdefault(at, set()).add(name)
    return list(chains.values())


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(partitions(), partitions()), min_size=1, max_size=3))
def test_agrees_with_oracle(documents):
    total = sum(chain_statistics([list(c) for c in p], [list(c) for c in g]) for p, g in documents)
    scores = coreference_scores(total)
    wanted = oracle.coreference([p for p, _ in documents], [g for _, g in documents])
    for metric in METRICS:
        assert scores[metric] == pytest.approx(wanted[metric])
    assert scores["conll_f1"] == pytest.approx(wanted["conll_f1"])


@given(st.sets(st.integers(0, 5)), st.sets(st.integers(0, 5)))
def test_singletons_need_no_look(predicted, gold):
    counts = np.array([[len(predicted & gold), len(predicted), len(gold)]])
    looked = chain_statistics([[x] for x in predicted], [[x] for x in gold])
    assert singleton_statistics(counts)[0].tolist() == looked.tolist()
    assert len(looked) == len(STATISTICS)


CHAINS = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=3), max_size=4)


@given(CHAINS)
def test_equal_mentions_are_paired_within_equal_chains(chains):
    scores = coreference_scores(chain_statistics(chains, chains))
    assert scores["b_cubed"]["f1"] == scores["ceaf_e"]["f1"] == pytest.approx(100 if chains else 0)
    assert scores["muc"]["f1"] == pytest.approx(100 if any(len(chain) > 1 for chain in chains) else 0)


@given(CHAINS, CHAINS, st.randoms(use_true_random=False))
def test_order_decides_nothing(predicted, gold, rng: random.Random):
    def shuffled(chains):
        return rng.sample([rng.sample(chain, len(chain)) for chain in chains], len(chains))

    assert chain_statistics(predicted, gold).tolist() == pytest.approx(
        chain_statistics(shuffled(predicted), shuffled(gold)).tolist()
    )


def test_equal_mentions_go_to_the_chain_that_has_most_in_common():
    # The predicted "a" is that of the gold chain with "y", though the one with "x" comes first.
    scores = coreference_scores(chain_statistics(["ay"], ["ax", "ay"]))
    assert scores["muc"] == pytest.approx({"precision": 100, "recall": 50, "f1": 200 / 3})
    assert scores["b_cubed"] == pytest.approx({"precision": 100, "recall": 50, "f1": 200 / 3})
