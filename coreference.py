"""Coreference scores: MUC (Vilain et al. 1995), B³ (Bagga and Baldwin 1998) and CEAFe (Luo 2005), and their mean.

As in the reference implementation of Pradhan et al. 2014: statistics of documents add up, a mention that the other
side lacks is never right, and chains of one mention stay in B³ and CEAFe (MUC has no links to count in them).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

METRICS = ("muc", "b_cubed", "ceaf_e")
# What is summed over documents, for each metric: what precision and recall have above and below the line.
STATISTICS = tuple(
    f"{metric}.{rate}.{part}"
    for metric in METRICS
    for rate in ("precision", "recall")
    for part in ("numerator", "denominator")
)


def singleton_statistics(counts: np.ndarray) -> np.ndarray:
    """Statistics of documents in which every mention is a chain of its own.

    Parameters
    ----------
    counts : ndarray of int, shape (n, 3)
        Mentions on both sides, predicted ones, gold ones.

    Returns
    -------
    ndarray of float64, shape (n, len(STATISTICS))
    """
    shared, predicted, gold = np.asarray(counts, np.float64).T
    nothing = np.zeros_like(shared)
    by_mention = (shared, predicted, shared, gold)
    return np.stack([nothing] * 4 + list(by_mention) * 2, axis=-1)


def chain_statistics(predicted: Sequence[Sequence[Hashable]], gold: Sequence[Sequence[Hashable]]) -> np.ndarray:
    """Statistics of one document.

    Parameters
    ----------
    predicted, gold : sequence of chains
        A chain is a sequence of mentions. Mentions that compare equal are the same, paired one to one where a name
        occurs more than once on a side: those of chains that have most in common first.

    Returns
    -------
    ndarray of float64, shape (len(STATISTICS),)
    """
    # Mentions in an order of their own, so that the order they were given in decides nothing.
    sides = [sorted(sorted(chain) for chain in side) for side in (predicted, gold)]  # type: ignore[type-var]
    chain_of = _paired(*sides)
    lengths = [[len(chain) for chain in side] for side in sides]
    shared = Counter(chain_of)  # how many mentions a predicted and a gold chain have in common

    n_mentions = [sum(side) for side in lengths]
    muc = []
    for side in (0, 1):
        # A chain falls into as many parts as chains of the other side share it, and one for each mention of its own.
        parts = [0] * len(lengths[side])
        kept = [0] * len(lengths[side])
        for at, count in shared.items():
            parts[at[side]] += 1
            kept[at[side]] += count
        links = sum(kept) - sum(parts)
        muc += [links, n_mentions[side] - len(lengths[side])]
    b_cubed = []
    for side in (0, 1):
        b_cubed += [sum(count**2 / lengths[side][at[side]] for at, count in shared.items()), n_mentions[side]]
    similarity = np.zeros((len(lengths[0]), len(lengths[1])))
    for (i, j), count in shared.items():
        similarity[i, j] = 2 * count / (lengths[0][i] + lengths[1][j])
    best = similarity[linear_sum_assignment(similarity, maximize=True)].sum()
    return np.array([*muc, *b_cubed, best, len(lengths[0]), best, len(lengths[1])], np.float64)


def _paired(predicted: list[list], gold: list[list]) -> list[tuple[int, int]]:
    """The predicted and the gold chain of each pair of equal mentions."""
    left, right = ([Counter(chain) for chain in side] for side in (predicted, gold))
    names = [Counter(name for chain in side for name in chain) for side in (predicted, gold)]
    found: list[tuple[int, int]] = []

    def take(i: int, j: int) -> None:
        same = left[i] & right[j]
        found.extend([(i, j)] * same.total())
        left[i] -= same
        right[j] -= same

    if any(count > 1 and names[1 - side][name] for side in (0, 1) for name, count in names[side].items()):
        in_common = np.array([[(a & b).total() for b in right] for a in left], np.float64)
        for i, j in np.stack(linear_sum_assignment(in_common, maximize=True), axis=-1).tolist():
            take(i, j)
    places: dict[Any, list[int]] = {}
    for j, chain in enumerate(right):
        for name in chain.elements():
            places.setdefault(name, []).append(j)
    for i, chain in enumerate(left):
        found += [(i, places[name].pop(0)) for name in chain.elements() if places.get(name)]
    return found


def coreference_scores(statistics: np.ndarray) -> dict[str, Any]:
    """Precision, recall and F1 of summed statistics, and the CoNLL F1, the mean of the three F1, in percent."""
    values = dict(zip(STATISTICS, np.asarray(statistics, np.float64).tolist(), strict=True))
    result: dict[str, Any] = {}
    for metric in METRICS:
        line = {}
        for rate in ("precision", "recall"):
            below = values[f"{metric}.{rate}.denominator"]
            line[rate] = 100 * values[f"{metric}.{rate}.numerator"] / below if below else 0.0
        both = line["precision"] + line["recall"]
        result[metric] = {**line, "f1": 2 * line["precision"] * line["recall"] / both if both else 0.0}
    result["conll_f1"] = sum(result[metric]["f1"] for metric in METRICS) / len(METRICS)
    return result
