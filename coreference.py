"""Coreference scores: MUC (Vilain et al. 1995), B³ (Bagga and Baldwin 1998) and CEAFe (Luo 2005), and their mean.

The scores are those of the reference implementation (Pradhan et al. 2014). Statistics of documents add up. A mention
that the other side lacks is never right. Chains of one mention count in B³ and CEAFe; they have no links, so MUC does
not see them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

METRICS = ("muc", "b_cubed", "ceaf_e")
# The sums over documents: numerator and denominator of precision and of recall of each metric.
STATISTICS = tuple(
    f"{metric}.{rate}.{part}"
    for metric in METRICS
    for rate in ("precision", "recall")
    for part in ("numerator", "denominator")
)

Chains = Sequence[Sequence[Any]]  # mentions are of one type and can be compared and hashed


class Mentions(NamedTuple):
    """The mentions of one side, ordered by document.

    Attributes
    ----------
    document : ndarray of int64, shape (n,)
    name : ndarray of int64, shape (n,)
        Mentions of a document are the same if their names are equal.
    chain : ndarray of int, shape (n,)
    """

    document: np.ndarray
    name: np.ndarray
    chain: np.ndarray

    def chains_of(self, document: int) -> list[list[int]]:
        """The chains of one document."""
        start, end = np.searchsorted(self.document, [document, document + 1])
        chains: dict[int, list[int]] = defaultdict(list)
        for chain, name in zip(self.chain[start:end].tolist(), self.name[start:end].tolist(), strict=True):
            chains[chain].append(name)
        return list(chains.values())


def document_statistics(predicted: Mentions, gold: Mentions, counts: np.ndarray, chained: np.ndarray) -> np.ndarray:
    """Statistics of all documents.

    Parameters
    ----------
    predicted, gold : Mentions
    counts : ndarray of int, shape (n_documents, 3)
        The numbers of mentions on both sides, of predicted mentions, and of gold mentions.
    chained : ndarray of int
        The documents with a chain of several mentions. In all others each mention is a chain of its own.

    Returns
    -------
    ndarray of float64, shape (n_documents, len(STATISTICS))
    """
    statistics = singleton_statistics(counts)
    for document in chained.tolist():
        statistics[document] = chain_statistics(predicted.chains_of(document), gold.chains_of(document))
    return statistics


def singleton_statistics(counts: np.ndarray) -> np.ndarray:
    """Statistics of documents in which each mention is a chain of its own.

    Parameters
    ----------
    counts : ndarray of int, shape (n, 3)
        The numbers of mentions on both sides, of predicted mentions, and of gold mentions.

    Returns
    -------
    ndarray of float64, shape (n, len(STATISTICS))
    """
    shared, predicted, gold = np.asarray(counts, np.float64).T
    nothing = np.zeros_like(shared)
    by_mention = (shared, predicted, shared, gold)
    return np.stack([nothing] * 4 + list(by_mention) * 2, axis=-1)


def chain_statistics(predicted: Chains, gold: Chains) -> np.ndarray:
    """Statistics of one document.

    Parameters
    ----------
    predicted, gold : sequence of chains
        A chain is a sequence of mentions. Equal mentions are the same mention. Where a mention occurs more than once
        on a side, its occurrences are paired one to one, first between the chains that have most mentions in common.

    Returns
    -------
    ndarray of float64, shape (len(STATISTICS),)
    """
    # Sorted, so that the order in which chains and mentions are given decides nothing.
    sides = [sorted(sorted(chain) for chain in side) for side in (predicted, gold)]
    lengths = [[len(chain) for chain in side] for side in sides]
    # The number of mentions that a predicted and a gold chain have in common.
    shared = Counter(_pair_mentions(sides[0], sides[1]))

    n_mentions = [sum(side) for side in lengths]
    # The mentions that two chains have in common form one part of each chain. The links within parts are right.
    links = shared.total() - len(shared)
    muc = [links, n_mentions[0] - len(lengths[0]), links, n_mentions[1] - len(lengths[1])]
    b_cubed: list[float] = []
    for side in (0, 1):
        b_cubed += [sum(count**2 / lengths[side][pair[side]] for pair, count in shared.items()), n_mentions[side]]
    similarity = np.zeros((len(lengths[0]), len(lengths[1])))
    for (i, j), count in shared.items():
        similarity[i, j] = 2 * count / (lengths[0][i] + lengths[1][j])
    best = similarity[linear_sum_assignment(similarity, maximize=True)].sum()
    return np.array([*muc, *b_cubed, best, len(lengths[0]), best, len(lengths[1])], np.float64)


def _pair_mentions(predicted: list[list[Any]], gold: list[list[Any]]) -> list[tuple[int, int]]:
    """Pair equal mentions one to one; a pair is given by its predicted and its gold chain."""
    left, right = ([Counter(chain) for chain in side] for side in (predicted, gold))
    numbers = [Counter(name for chain in side for name in chain) for side in (predicted, gold)]
    pairs: list[tuple[int, int]] = []

    is_repeated = any(n > 1 and numbers[1 - side][name] for side in (0, 1) for name, n in numbers[side].items())
    if is_repeated:
        in_common = np.array([[(a & b).total() for b in right] for a in left], np.float64)
        for i, j in np.stack(linear_sum_assignment(in_common, maximize=True), axis=-1).tolist():
            same = left[i] & right[j]
            pairs += [(i, j)] * same.total()
            left[i] -= same
            right[j] -= same
    # The rest in the order of chains; where nothing is repeated, a mention has one partner at most.
    chains_with: dict[Any, list[int]] = defaultdict(list)
    for j, chain in enumerate(right):
        for name in chain.elements():
            chains_with[name].append(j)
    for i, chain in enumerate(left):
        pairs += [(i, chains_with[name].pop(0)) for name in chain.elements() if chains_with.get(name)]
    return pairs


def coreference_scores(statistics: np.ndarray) -> dict[str, Any]:
    """Precision, recall and F1 of summed statistics, and the CoNLL F1, the mean of the three F1, in percent.

    Parameters
    ----------
    statistics : ndarray of float, shape (len(STATISTICS),)
    """
    values = dict(zip(STATISTICS, np.asarray(statistics, np.float64).tolist(), strict=True))
    result: dict[str, Any] = {}
    for metric in METRICS:
        rates = {}
        for rate in ("precision", "recall"):
            denominator = values[f"{metric}.{rate}.denominator"]
            rates[rate] = 100 * values[f"{metric}.{rate}.numerator"] / denominator if denominator else 0.0
        both = rates["precision"] + rates["recall"]
        result[metric] = {**rates, "f1": 2 * rates["precision"] * rates["recall"] / both if both else 0.0}
    result["conll_f1"] = sum(result[metric]["f1"] for metric in METRICS) / len(METRICS)
    return result
