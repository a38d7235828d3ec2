"""Span sets and their overlap, matching and alignment, counts, precision, recall and F.

Everything here works on a whole corpus at once, as numpy arrays, and knows no benchmark. The vocabulary:

span
    A set of token indices of one document.
item
    What is compared: an integer that stands for everything that makes two items equal (see `number`).
edge
    A pair of a left and a right item that may be aligned.
counts
    True positives, predicted and gold, in this order, along the last axis of an integer array.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, maximum_bipartite_matching

TRUE_POSITIVES, PREDICTED, GOLD = range(3)
COUNT_NAMES = ("true_positives", "predicted", "gold")

_INT64_MAX = np.iinfo(np.int64).max


class Spans(NamedTuple):
    """Token sets, end to end.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n + 1,)
        Span ``i`` is ``tokens[offsets[i]:offsets[i + 1]]``.
    tokens : ndarray of int64
        Not negative, increasing within each span.
    """

    offsets: np.ndarray
    tokens: np.ndarray

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> np.ndarray:
        """How many tokens each span has."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> np.ndarray:
        """For each token, the span it belongs to."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def take(self, chosen: np.ndarray) -> Spans:
        """The chosen spans, in the order of `chosen` (indices)."""
        lengths = self.lengths[chosen]
        offsets = _offsets(lengths)
        places = np.repeat(self.offsets[:-1][chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Spans(offsets, self.tokens[places])


def _offsets(lengths: np.ndarray) -> np.ndarray:
    offsets = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def spans(offsets: np.ndarray, tokens: np.ndarray) -> Spans:
    """Token lists as token sets: sorted, each token once.

    Parameters
    ----------
    offsets : ndarray of int, shape (n + 1,)
    tokens : ndarray of int
        In any order, with or without repeats.
    """
    made = Spans(np.asarray(offsets, np.int64), np.asarray(tokens, np.int64))
    if len(tokens) < 2:
        return made
    owner = made.owners
    inside = owner[1:] == owner[:-1]
    if np.all(made.tokens[1:][inside] > made.tokens[:-1][inside]):
        return made
    order = np.lexsort((made.tokens, owner))
    owner, tokens = owner[order], made.tokens[order]
    keep = np.ones(len(tokens), bool)
    keep[1:] = (tokens[1:] != tokens[:-1]) | (owner[1:] != owner[:-1])
    return Spans(_offsets(np.bincount(owner[keep], minlength=len(made))), tokens[keep])


def concatenate(left: Spans, right: Spans) -> Spans:
    """The spans of both, left first."""
    return Spans(
        np.concatenate([left.offsets, left.offsets[-1] + right.offsets[1:]]),
        np.concatenate([left.tokens, right.tokens]),
    )


# --- equality to integers ---------------------------------------------------------------------------------------------


def number(*columns: np.ndarray) -> np.ndarray:
    """One integer a row, equal where rows are equal in every column, and only there.

    Parameters
    ----------
    *columns : ndarray of int, shape (n,)
        Not negative.

    Returns
    -------
    ndarray of int64, shape (n,)
        Ordered as the rows are, first column first. Not consecutive.
    """
    rows = np.asarray(columns[0], np.int64)
    bound = _bound(rows)
    for column in columns[1:]:
        column = np.asarray(column, np.int64)
        width = _bound(column)
        if bound * width > _INT64_MAX:
            rows = np.unique(rows, return_inverse=True)[1]
            bound = _bound(rows)
        if bound * width > _INT64_MAX:
            column = np.unique(column, return_inverse=True)[1]
            width = _bound(column)
        rows = rows * width + column
        bound *= width
    return rows


def _bound(column: np.ndarray) -> int:
    return int(column.max()) + 1 if len(column) else 1


def number_spans(spans: Spans) -> np.ndarray:
    """One integer a span, equal for equal token sets, and only for them.

    A span is a sequence of runs of neighbouring tokens, most have one. Runs are numbered by start and length, and
    a span's number is built run by run.

    Returns
    -------
    ndarray of int64, shape (n,)
    """
    offsets, tokens = spans
    starts_run = np.ones(len(tokens), bool)
    starts_run[1:] = tokens[1:] != tokens[:-1] + 1
    starts_run[offsets[:-1][spans.lengths > 0]] = True
    run_at = np.flatnonzero(starts_run)
    run = number(tokens[run_at], np.diff(np.append(run_at, len(tokens))))
    run_offsets = np.searchsorted(run_at, offsets)
    n_runs = np.diff(run_offsets)
    numbers = np.zeros(len(spans), np.int64)
    first = n_runs > 0
    numbers[first] = run[run_offsets[:-1][first]]
    for step in range(1, int(n_runs.max(initial=0))):
        longer = np.flatnonzero(n_runs > step)
        numbers[longer] = number(numbers[longer], run[run_offsets[longer] + step])
    return number(n_runs, numbers)


# --- exact matching ---------------------------------------------------------------------------------------------------


class Matches(NamedTuple):
    """The different items of both sides and how often each occurs.

    Attributes
    ----------
    document : ndarray of int64, shape (m,)
        The document of each different item.
    example : ndarray of int64, shape (m,)
        One place where it stands: an index into the predicted items followed by the gold items.
    counts : ndarray of int64, shape (m, 3)
        What it adds to the counts.
    """

    document: np.ndarray
    example: np.ndarray
    counts: np.ndarray

    def table(self, n_documents: int, label: np.ndarray | None = None, n_labels: int = 1) -> np.ndarray:
        """Counts of each document, and of each label if one is given for each different item.

        Returns
        -------
        ndarray of int64, shape (n_documents, 3) or (n_documents, n_labels, 3)
        """
        if label is None:
            return tabulate(self.document, self.counts, n_documents)
        flat = tabulate(self.document * n_labels + label, self.counts, n_documents * n_labels)
        return flat.reshape(n_documents, n_labels, 3)


def tabulate(row: np.ndarray, counts: np.ndarray, n_rows: int) -> np.ndarray:
    """Sums of counts by row: shape (m, 3) to (n_rows, 3)."""
    columns = [np.bincount(row, weights=column, minlength=n_rows) for column in counts.T]
    return np.stack(columns, axis=-1).astype(np.int64)


def match(
    predicted_document: np.ndarray,
    predicted: np.ndarray,
    gold_document: np.ndarray,
    gold: np.ndarray,
    repeats: str = "set",
) -> Matches:
    """Match equal items of the same document.

    Parameters
    ----------
    predicted_document, gold_document : ndarray of int
        The document of each item.
    predicted, gold : ndarray of int
        The items.
    repeats : {"set", "count", "pairs"}
        ``"set"``: items are sets; ``"count"``: multisets, compared one to one; ``"pairs"``: every equal pair of a
        predicted and a gold item is a true positive.

    Returns
    -------
    Matches
    """
    n_predicted = len(predicted)
    documents = np.concatenate([predicted_document, gold_document])
    items = number(documents, np.concatenate([predicted, gold]))
    order = np.argsort(items, kind="stable")
    ordered = items[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])) if len(items) else order
    in_gold = np.add.reduceat(order >= n_predicted, starts, dtype=np.int64) if len(items) else starts
    in_predicted = np.diff(np.append(starts, len(items))) - in_gold
    if repeats == "set":
        in_predicted, in_gold = np.minimum(in_predicted, 1), np.minimum(in_gold, 1)
    if repeats == "pairs":
        true_positives = in_predicted * in_gold
    else:
        true_positives = np.minimum(in_predicted, in_gold)
    example = order[starts]
    return Matches(documents[example], example, np.stack([true_positives, in_predicted, in_gold], axis=-1))


# --- overlap and alignment --------------------------------------------------------------------------------------------


class Edges(NamedTuple):
    """Pairs of items that overlap.

    Attributes
    ----------
    left, right : ndarray of int64, shape (m,)
        Indices into the two sides, ordered by left, then right.
    shared : ndarray of int64, shape (m,)
        How many tokens the two spans share.
    """

    left: np.ndarray
    right: np.ndarray
    shared: np.ndarray


def overlaps(left: Spans, left_group: np.ndarray, right: Spans, right_group: np.ndarray) -> Edges:
    """All pairs of spans of the same group that share a token: one sparse product of two incidence matrices.

    Parameters
    ----------
    left, right : Spans
    left_group, right_group : ndarray of int
        Only spans of equal groups overlap: the document, or `number` of the document and a label.
    """
    both = concatenate(left, right)
    place = number(np.concatenate([left_group, right_group])[both.owners], both.tokens)
    columns, column = np.unique(place, return_inverse=True)
    split = len(left.tokens)

    def incidence(column: np.ndarray, offsets: np.ndarray) -> csr_array:
        shape = (len(offsets) - 1, max(len(columns), 1))
        return csr_array((np.ones(len(column), np.int64), column, offsets), shape=shape)

    product = (incidence(column[:split], left.offsets) @ incidence(column[split:], right.offsets).T).tocsr()
    product.sort_indices()
    rows = np.repeat(np.arange(len(left)), np.diff(product.indptr))
    return Edges(rows, product.indices.astype(np.int64), product.data)


def common(first: Edges, second: Edges, n_right: int) -> tuple[np.ndarray, np.ndarray]:
    """The pairs that are in both: where they stand in the first, and in the second."""
    n_right = max(n_right, 1)
    keys = [edges.left * n_right + edges.right for edges in (first, second)]
    at = np.searchsorted(keys[1], keys[0])
    in_first = np.flatnonzero(at < len(keys[1]))
    in_first = in_first[keys[1][at[in_first]] == keys[0][in_first]]
    return in_first, at[in_first]


def dice(edges: Edges, left: Spans, right: Spans) -> np.ndarray:
    """Twice the shared tokens over the tokens of both, of each edge, in (0, 1]."""
    return 2 * edges.shared / (left.lengths[edges.left] + right.lengths[edges.right])


def most_pairs(left: np.ndarray, right: np.ndarray, n_left: int, n_right: int) -> np.ndarray:
    """For each left item, the right item it is paired with, or -1; as many pairs as possible (Hopcroft, Karp 1973)."""
    if not len(left):
        return np.full(n_left, -1)
    graph = csr_array((np.ones(len(left), bool), (left, right)), shape=(n_left, n_right))
    return maximum_bipartite_matching(graph, perm_type="column")


def pairs(left: np.ndarray, right: np.ndarray) -> Edges:
    """All pairs of equal items, each sharing one token, so to speak: `overlaps` for what is equal or is not."""
    sides = [Spans(np.arange(len(items) + 1), np.asarray(items, np.int64)) for items in (left, right)]
    groups = [np.zeros(len(items), np.int64) for items in (left, right)]
    return overlaps(sides[0], groups[0], sides[1], groups[1])


def align(left: np.ndarray, right: np.ndarray, weight: np.ndarray, n_left: int, n_right: int) -> np.ndarray:
    """Align items one to one for the largest total weight.

    The graph falls into connected components. In most, one item has all the edges, and its heaviest edge is the
    answer; only the others go to the Hungarian algorithm (Kuhn 1955).

    Parameters
    ----------
    left, right : ndarray of int, shape (m,)
        The edges, each pair once.
    weight : ndarray of float, shape (m,)
        Positive. To want as many pairs as possible first, add to each weight more than all of them can sum to.
    n_left, n_right : int

    Returns
    -------
    ndarray of int64
        The chosen edges, increasing.
    """
    return _by_component(left, right, [weight], lambda edges, n_pairs: weight[edges], n_left, n_right)


class Ratio(NamedTuple):
    """Exact fractions in [0, 1], one an edge.

    Attributes
    ----------
    numerator, denominator : ndarray of int, shape (m,)
    """

    numerator: np.ndarray
    denominator: np.ndarray


def align_by(
    left: np.ndarray, right: np.ndarray, wishes: Sequence[Ratio | np.ndarray], n_left: int, n_right: int
) -> np.ndarray:
    """Align as many pairs as possible, and among all such alignments fulfil one wish after the other.

    Each wish is a largest total over the chosen edges, and the first comes first: the second decides only between
    alignments that are equal in it, exactly. So within a component all wishes are whole numbers, each counted in units
    larger than the sum of all that come after it.

    Parameters
    ----------
    left, right : ndarray of int, shape (m,)
        The edges, each pair once.
    wishes : sequence of Ratio or ndarray of int, shape (m,)
        Not negative.
    n_left, n_right : int

    Returns
    -------
    ndarray of int64
        The chosen edges, increasing.

    Notes
    -----
    The Hungarian algorithm adds and subtracts weights in float64, and its sums stay within a few times the largest
    weight, so whole numbers up to 2**51 keep it exact. Where a component is too large for that, which takes hundreds
    of items and fractions of many denominators, its fractions are rounded, and alignments that differ by less than
    the rounding may be taken one for the other.
    """
    keys = [wish.numerator / wish.denominator if isinstance(wish, Ratio) else wish for wish in wishes]

    def weigh(edges: np.ndarray, n_pairs: int) -> np.ndarray:
        weights, unit = np.zeros(len(edges), np.int64), 1
        for wish in reversed(wishes):
            if isinstance(wish, Ratio):
                scale = math.lcm(*np.unique(wish.denominator[edges]).tolist())
                largest = max(1, (_EXACT // unit - 1) // n_pairs)
                if scale <= largest:
                    whole = wish.numerator[edges] * (scale // wish.denominator[edges])
                else:
                    whole = np.rint(wish.numerator[edges] * (largest / wish.denominator[edges])).astype(np.int64)
            else:
                whole = np.asarray(wish[edges], np.int64)
            weights += whole * unit
            unit *= n_pairs * int(whole.max()) + 1
        return weights + unit

    return _by_component(left, right, keys, weigh, n_left, n_right)


_EXACT = 2**51


def _by_component(
    left: np.ndarray,
    right: np.ndarray,
    keys: Sequence[np.ndarray],
    weigh: Callable[[np.ndarray, int], np.ndarray],
    n_left: int,
    n_right: int,
) -> np.ndarray:
    """The best alignment of each connected component.

    `keys` order the edges of a component where one is to be chosen, the first key first; where more are, `weigh` gives
    the weights of its edges for so many pairs.
    """
    if not len(left):
        return np.zeros(0, np.int64)
    nodes = n_left + n_right
    graph = csr_array((np.ones(len(left), bool), (left, n_left + right)), shape=(nodes, nodes))
    n_components, component = connected_components(graph, directed=False)
    sides = component[:n_left], component[n_left:]
    sizes = [np.bincount(side, minlength=n_components) for side in sides]
    n_pairs = np.minimum(*sizes)
    edge_component = component[left]
    star = n_pairs[edge_component] == 1

    edges = np.flatnonzero(star)
    order = edges[np.lexsort((*(-np.asarray(key[edges], float) for key in reversed(keys)), edge_component[edges]))]
    chosen = [order[np.flatnonzero(np.diff(edge_component[order], prepend=-1))]]

    edges = np.flatnonzero(~star)
    edges = edges[np.argsort(edge_component[edges], kind="stable")]
    starts = np.flatnonzero(np.diff(edge_component[edges], prepend=-1))
    row, column = (_places_within(side, size) for side, size in zip(sides, sizes, strict=True))
    bounds = np.append(starts, len(edges)).tolist()
    for start, end in pairwise(bounds):
        some = edges[start:end]
        at = edge_component[some[0]]
        places = row[left[some]], column[right[some]]
        weights = np.zeros((sizes[0][at], sizes[1][at]))
        weights[places] = weigh(some, int(n_pairs[at]))
        edge_at = np.full(weights.shape, -1)
        edge_at[places] = some
        found = edge_at[linear_sum_assignment(weights, maximize=True)]
        chosen.append(found[found >= 0])
    return np.sort(np.concatenate(chosen))


def _places_within(group: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The place of each item among those of its group."""
    order = np.argsort(group, kind="stable")
    places = np.empty(len(group), np.int64)
    places[order] = np.arange(len(group)) - np.repeat(_offsets(sizes)[:-1], sizes)
    return places


# --- scores -----------------------------------------------------------------------------------------------------------


def divide(numerator: Any, denominator: Any) -> np.ndarray:
    """Division in float64 where 0 comes of nothing to divide by."""
    numerator, denominator = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    return np.divide(numerator, denominator, out=np.zeros(shape), where=denominator != 0)


def f_score(precision: Any, recall: Any, beta: float = 1.0) -> np.ndarray:
    """The weighted harmonic mean (van Rijsbergen 1979), 0 where both are 0; `beta` > 1 weights recall."""
    precision, recall = np.asarray(precision, np.float64), np.asarray(recall, np.float64)
    return divide((1 + beta**2) * precision * recall, beta**2 * precision + recall)


def precision_recall_f(counts: np.ndarray, scale: float = 100.0, beta: float = 1.0) -> np.ndarray:
    """Precision, recall and F from counts.

    Parameters
    ----------
    counts : ndarray of int, shape (..., 3)
    scale : float
        1 for rates in [0, 1], 100 for percent.
    beta : float

    Returns
    -------
    ndarray of float64, shape (..., 3)
    """
    counts = np.asarray(counts)
    precision = divide(counts[..., TRUE_POSITIVES], counts[..., PREDICTED])
    recall = divide(counts[..., TRUE_POSITIVES], counts[..., GOLD])
    return scale * np.stack([precision, recall, f_score(precision, recall, beta)], axis=-1)


def row(counts: np.ndarray, scale: float = 100.0, beta: float = 1.0) -> dict[str, Any]:
    """One row of a report, as plain Python: precision, recall, f1, true_positives, predicted, gold."""
    rates = precision_recall_f(counts, scale, beta).tolist()
    return dict(zip(("precision", "recall", "f1"), rates, strict=True)) | dict(
        zip(COUNT_NAMES, np.asarray(counts).tolist(), strict=True)
    )


# --- items in error ---------------------------------------------------------------------------------------------------


def explain(
    predicted: Sequence[Any],
    gold: Sequence[Any],
    relate: Callable[[Any, Any], tuple[list[str], float] | None],
) -> list[tuple[str, int | None, int | None]]:
    """What went wrong among the unmatched items of one document.

    Items are aligned one to one: as many related pairs as possible, then as many as possible that one kind explains,
    then the closest.

    Parameters
    ----------
    predicted, gold : sequence
        The items that did not match.
    relate : callable
        From a predicted and a gold item to the kinds of error between them, in the order of the benchmark's list, and
        their closeness in [0, 1]; None where they are unrelated.

    Returns
    -------
    list of (kind, predicted index or None, gold index or None)
        ``several`` where it takes more than one kind, ``spurious`` and ``missed`` for what is left over.
    """
    pairs, kinds, closenesses = [], [], []
    for i, left in enumerate(predicted):
        for j, right in enumerate(gold):
            relation = relate(left, right)
            if relation is not None:
                pairs.append((i, j))
                kinds.append(relation[0][0] if len(relation[0]) == 1 else "several")
                closenesses.append(relation[1])
    edges = np.array(pairs, np.int64).reshape(-1, 2)
    single = np.array([kind != "several" for kind in kinds], float)
    # Closeness adds up to at most n, single kinds then to at most n (n + 1), so each wish outweighs the next.
    n = min(len(predicted), len(gold))
    weight = (n + 1) ** 2 + (n + 1) * single + np.array(closenesses, float)
    chosen = align(edges[:, 0], edges[:, 1], weight, len(predicted), len(gold)).tolist()
    found: list[tuple[str, int | None, int | None]] = [(kinds[edge], *pairs[edge]) for edge in chosen]
    left_used, right_used = {i for _, i, _ in found}, {j for _, _, j in found}
    found += [("spurious", i, None) for i in range(len(predicted)) if i not in left_used]
    found += [("missed", None, j) for j in range(len(gold)) if j not in right_used]
    return found
