"""Span sets and their overlap, exact matching, counts, precision, recall and F.

Everything here works on a whole corpus at once, on numpy arrays. Nothing here depends on a benchmark. The vocabulary:

span
    A set of token indices of one document.
item
    An integer that stands for everything that makes two items equal (see `encode`).
edge
    A pair of a left and a right item that may be aligned (see `alignment`).
counts
    True positives, predicted and gold, in this order, along the last axis of an integer array.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array, hstack
from scipy.sparse.csgraph import connected_components

from .columns import to_offsets

Array = npt.NDArray[Any]

TRUE_POSITIVES, PREDICTED, GOLD = range(3)
COUNT_NAMES = ("true_positives", "predicted", "gold")

_INT64_MAX = np.iinfo(np.int64).max
BLOCK = 2**18  # edges that are worked on at once; about 30 MB


# --- spans ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Token sets, stored end to end.

    Attributes
    ----------
    offsets : ndarray of int64, shape (n + 1,)
        Span ``i`` is ``tokens[offsets[i]:offsets[i + 1]]``.
    tokens : ndarray of int64
        Token indices, 0 or greater, increasing within each span.
    """

    offsets: Array
    tokens: Array

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Array:
        """Number of tokens of each span, shape (n,)."""
        return np.diff(self.offsets)

    @property
    def owners(self) -> Array:
        """Index of the span of each token, shape of `tokens`."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def take(self, chosen: Array) -> Spans:
        """Spans at the indices `chosen`, in that order; an index may repeat."""
        lengths = self.lengths[chosen]
        offsets = to_offsets(lengths)
        places = np.repeat(self.offsets[:-1][chosen] - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Spans(offsets, self.tokens[places])

    def part(self, chosen: slice) -> Spans:
        """Neighbouring spans, without a copy of their tokens."""
        offsets = self.offsets[chosen.start : chosen.stop + 1]
        return Spans(offsets - offsets[0], self.tokens[offsets[0] : offsets[-1]])


def token_sets(offsets: Array, tokens: Array) -> Spans:
    """Turn lists of tokens into sets: sorted, each token once.

    Parameters
    ----------
    offsets : ndarray of int, shape (n + 1,)
        List ``i`` is ``tokens[offsets[i]:offsets[i + 1]]``.
    tokens : ndarray of int
        Token indices, 0 or greater, in any order, with or without repeats.
    """
    given = Spans(np.asarray(offsets, np.int64), np.asarray(tokens, np.int64))
    rises = given.tokens[1:] > given.tokens[:-1]
    borders = given.offsets[1:-1]
    rises[borders[(borders > 0) & (borders < len(given.tokens))] - 1] = True
    if rises.all():
        return given
    # Sort the tokens of lists that are not sorted, each with its list in one number.
    owner, tokens = given.owners, given.tokens.copy()
    is_unsorted = np.zeros(len(given), bool)
    is_unsorted[owner[:-1][~rises]] = True
    some = np.flatnonzero(is_unsorted[owner])
    n_bits = int(tokens.max()).bit_length()
    tokens[some] = np.sort(owner[some] << n_bits | tokens[some]) & ((1 << n_bits) - 1)
    keep = np.ones(len(tokens), bool)
    keep[1:] = (tokens[1:] != tokens[:-1]) | (owner[1:] != owner[:-1])
    if keep.all():
        return Spans(given.offsets, tokens)
    return Spans(to_offsets(np.bincount(owner[keep], minlength=len(given))), tokens[keep])


def concatenate(left: Spans, right: Spans) -> Spans:
    """The spans of `left`, then the spans of `right`."""
    return Spans(
        np.concatenate([left.offsets, left.offsets[-1] + right.offsets[1:]]),
        np.concatenate([left.tokens, right.tokens]),
    )


# --- equality to integers ---------------------------------------------------------------------------------------------


def encode(*columns: Array) -> Array:
    """Encode rows as integers that are equal exactly where the rows are equal.

    Parameters
    ----------
    *columns : ndarray of int, shape (n,)
        Values of 0 or greater.

    Returns
    -------
    ndarray of int64, shape (n,)
        Sorts as the rows sort, by the first column first. Not consecutive.
    """
    rows = np.asarray(columns[0], np.int64)
    bound = _bound(rows)
    for column in columns[1:]:
        column = np.asarray(column, np.int64)
        width = _bound(column)
        if bound * width > _INT64_MAX:
            rows, bound = _consecutive(rows)
        if bound * width > _INT64_MAX:
            column, width = _consecutive(column)
        rows = rows * width + column
        bound *= width
    return rows


def _bound(column: Array) -> int:
    return int(column.max()) + 1 if len(column) else 1


def _consecutive(column: Array) -> tuple[Array, int]:
    """Map integers to 0, 1, … in the same order; also return the number of different integers.

    A stable sort takes a third of the time of ``np.unique`` on the nearly sorted columns of a corpus.
    """
    order = np.argsort(column, kind="stable")
    ordered = column[order]
    steps = np.zeros(len(column), np.int64)
    np.cumsum(ordered[1:] != ordered[:-1], out=steps[1:])
    ranks = np.empty(len(column), np.int64)
    ranks[order] = steps
    return ranks, int(steps[-1]) + 1 if len(steps) else 0


def encode_spans(spans: Spans) -> Array:
    """Encode spans as integers that are equal exactly where the token sets are equal.

    A span is a sequence of runs of neighbouring tokens, and most spans have one run. A run is encoded by its start and
    length, a span by its runs.

    Returns
    -------
    ndarray of int64, shape (n,)
    """
    offsets, tokens = spans.offsets, spans.tokens
    starts_run = np.ones(len(tokens), bool)
    starts_run[1:] = tokens[1:] != tokens[:-1] + 1
    filled = spans.lengths > 0
    starts_run[offsets[:-1][filled]] = True
    run_at = np.flatnonzero(starts_run)
    run = encode(tokens[run_at], np.diff(np.append(run_at, len(tokens))))
    run_offsets = to_offsets(starts_run)[offsets]
    n_runs = np.diff(run_offsets)
    codes = np.zeros(len(spans), np.int64)
    codes[filled] = run[run_offsets[:-1][filled]]
    for step in range(1, int(n_runs.max(initial=0))):
        longer = np.flatnonzero(n_runs > step)
        codes[longer] = encode(codes[longer], run[run_offsets[longer] + step])
    return encode(n_runs, codes)


# --- exact matching ---------------------------------------------------------------------------------------------------


class Matches(NamedTuple):
    """The different items of both sides, ordered by document, then item, with their counts.

    Attributes
    ----------
    document : ndarray of int64, shape (m,)
        Document of each different item.
    example : ndarray of int64, shape (m,)
        One occurrence of the item: an index into the predicted items followed by the gold items. It is a predicted
        occurrence if there is one.
    counts : ndarray of int64, shape (m, 3)
        True positives, predicted and gold of the item. Each column is contiguous in memory.
    """

    document: Array
    example: Array
    counts: Array

    def table(self, n_documents: int, label: Array | None = None, n_labels: int = 1) -> Array:
        """Sum the counts by document, and by label where `label` gives one for each different item.

        Parameters
        ----------
        n_documents : int
        label : ndarray of int, shape (m,), optional
            In [0, n_labels).
        n_labels : int

        Returns
        -------
        ndarray of int64, shape (n_documents, 3) or (n_documents, n_labels, 3)
        """
        if label is None:
            return tabulate(self.document, self.counts, n_documents)
        flat = tabulate(self.document * n_labels + label, self.counts, n_documents * n_labels)
        return flat.reshape(n_documents, n_labels, 3)


def tabulate(row: Array, counts: Array, n_rows: int) -> Array:
    """Sum counts by row.

    Parameters
    ----------
    row : ndarray of int, shape (m,)
        In [0, n_rows).
    counts : ndarray of int, shape (m, k)
    n_rows : int

    Returns
    -------
    ndarray of int64, shape (n_rows, k)
        Each column is contiguous in memory.
    """
    columns = np.empty((counts.shape[-1], n_rows), np.int64)
    for column, values in zip(columns, counts.T, strict=True):
        column[:] = np.bincount(row, weights=values, minlength=n_rows)
    table: Array = columns.T
    return table


def stack_tables(tables: Iterable[Array]) -> Array:
    """Stack tables of shape (n_documents, 3) to one of shape (n_documents, n_tables, 3).

    Each column is contiguous in memory, so that sums over documents and resampling read memory in order.
    """
    stacked: Array = np.ascontiguousarray(np.stack([table.T for table in tables])).transpose(2, 0, 1)
    return stacked


def match_equal(
    predicted_document: Array, predicted: Array, gold_document: Array, gold: Array, repeats: str = "set"
) -> Matches:
    """Match equal items of the same document.

    Parameters
    ----------
    predicted_document : ndarray of int, shape (n_predicted,)
        Document of each predicted item.
    predicted : ndarray of int, shape (n_predicted,)
        Predicted items.
    gold_document, gold : ndarray of int, shape (n_gold,)
        The same of the gold items.
    repeats : {"set", "count", "pairs"}
        ``"set"``: repeats of an item are ignored. ``"count"``: repeats are matched one to one. ``"pairs"``: every pair
        of an equal predicted and gold item is a true positive.
    """
    n_predicted = len(predicted)
    documents = np.concatenate([predicted_document, gold_document])
    items = encode(documents, np.concatenate([predicted, gold]))
    order = np.argsort(items, kind="stable")
    ordered = items[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(items)])
    borders = np.append(starts, len(items))
    in_gold = np.diff(to_offsets(order >= n_predicted)[borders])
    in_predicted = np.diff(borders) - in_gold
    if repeats == "set":
        in_predicted, in_gold = np.minimum(in_predicted, 1), np.minimum(in_gold, 1)
    if repeats == "pairs":
        true_positives = in_predicted * in_gold
    else:
        true_positives = np.minimum(in_predicted, in_gold)
    example = order[starts]
    return Matches(documents[example], example, np.stack([true_positives, in_predicted, in_gold]).T)


# --- overlap ----------------------------------------------------------------------------------------------------------


class Edges(NamedTuple):
    """Pairs of a left and a right item that share a token.

    Attributes
    ----------
    left, right : ndarray of int32, shape (m,)
        Indices into the two sides, ordered by left, then right.
    shared : ndarray of int32 or int64, shape (m,) or (n_sets, m)
        Number of shared tokens.
    """

    left: Array
    right: Array
    shared: Array


def overlaps(left: Spans, left_group: Array, right: Spans, right_group: Array) -> Edges:
    """Find all pairs of spans of the same group that share a token.

    Parameters
    ----------
    left, right : Spans
    left_group, right_group : ndarray of int, shape (n_left,) and (n_right,)
        Document of each span, or `encode` of its document and label.

    Returns
    -------
    Edges
        With ``shared`` of shape (m,).
    """
    return overlaps_in_all([left], left_group, [right], right_group)


def overlaps_in_all(left: Sequence[Spans], left_group: Array, right: Sequence[Spans], right_group: Array) -> Edges:
    """Find all pairs of items of the same group of which each span shares a token with its counterpart.

    Parameters
    ----------
    left, right, left_group, right_group
        As in `sharing`.

    Returns
    -------
    Edges
        With ``shared`` of shape (m,), of the first span.
    """
    found = []
    for edges in sharing(left, left_group, right, right_group):
        in_all = edges.shared.all(axis=0)
        found.append((edges.left[in_all], edges.right[in_all], edges.shared[0][in_all]))
    first, second, shared = (np.concatenate(column) for column in zip(*found, strict=True))
    return Edges(first, second, shared)


def sharing(left: Sequence[Spans], left_group: Array, right: Sequence[Spans], right_group: Array) -> Iterator[Edges]:
    """Find all pairs of items of the same group of which any span shares a token with its counterpart.

    This is one sparse product of two incidence matrices. Rows are items, and columns are the tokens of a group in one
    of the spans. The counts of all spans of a pair are the digits of one number.

    Parameters
    ----------
    left, right : sequence of Spans
        The spans of each side, one `Spans` for each span of an item. Those at the same place are counterparts.
    left_group, right_group : ndarray of int, shape (n_left,) and (n_right,)
        As in `overlaps`.

    Yields
    ------
    Edges
        Some left items at a time, in their order, so that memory is bounded. ``shared`` has the shape (n_sets, m).
    """
    rows: list[csr_array] = []
    columns: list[csr_array] = []
    bases, base = [], 1
    for ours, theirs in zip(left, right, strict=True):
        groups = np.repeat(np.concatenate([left_group, right_group]), np.concatenate([ours.lengths, theirs.lengths]))
        column, n_columns = _columns(groups, np.concatenate([ours.tokens, theirs.tokens]))
        sides = zip((ours, theirs), np.split(column, [len(ours.tokens)]), (1, base), strict=True)
        for matrices, (spans, tokens, value) in zip((rows, columns), sides, strict=True):
            entries = np.full(len(tokens), value, np.int64), tokens, spans.offsets
            matrices.append(csr_array(entries, shape=(len(spans), n_columns)))
        bases.append(base)
        base *= 1 + int(min(ours.lengths.max(initial=0), theirs.lengths.max(initial=0)))
    dtype = np.int32 if base <= np.iinfo(np.int32).max else np.int64
    first, second = (hstack(matrices, format="csr", dtype=dtype) for matrices in (rows, columns))
    second = second.T.tocsr()
    n_steps = np.cumsum(first.astype(bool).astype(np.int64) @ np.diff(second.indptr).astype(np.int64))
    borders = np.flatnonzero(np.diff(n_steps // BLOCK)) + 1
    for start, stop in pairwise([0, *borders.tolist(), len(left_group)]):
        product = first[start:stop] @ second
        product.sort_indices()
        at = np.repeat(np.arange(start, stop, dtype=np.int32), np.diff(product.indptr))
        shared = [product.data // low % (high // low) for low, high in pairwise([*bases, base])]
        yield Edges(at, product.indices.astype(np.int32, copy=False), np.stack(shared))


def _columns(group: Array, token: Array) -> tuple[Array, int]:
    """A column for each different pair of a group and a token, and an upper bound of the number of columns.

    Counting takes half the time of sorting, but its memory grows with the largest token of each group.
    """
    if not len(token):
        return token, 1
    n_groups = int(group.max()) + 1
    if n_groups <= 4 * len(token):
        widths = np.zeros(n_groups, np.int64)
        np.maximum.at(widths, group, token + 1)
        starts = to_offsets(widths)
        if starts[-1] <= 4 * len(token):
            return starts[group] + token, int(starts[-1])
    return _consecutive(encode(group, token))


def jaccard(edges: Edges, left: Spans, right: Spans) -> Array:
    """Number of shared tokens over number of tokens in either span, for each edge, in (0, 1] (Jaccard 1912).

    Numerator and denominator are exact, and the quotient is rounded once. So a comparison with a decimal number of a
    few digits, itself rounded once, is exact too.
    """
    in_both = left.lengths.astype(np.int32)[edges.left] + right.lengths.astype(np.int32)[edges.right]
    return np.asarray(edges.shared / (in_both - edges.shared))


def connected(left: Array, right: Array, n_nodes: int) -> Array:
    """Find the connected components of a graph.

    Parameters
    ----------
    left, right : ndarray of int, shape (m,)
        The two nodes of each edge, in [0, n_nodes).
    n_nodes : int

    Returns
    -------
    ndarray of int32, shape (n_nodes,)
        Component of each node, numbered from 0 in the order of their first nodes.
    """
    component = np.arange(n_nodes, dtype=np.int32)
    for part in parts(0, len(left)):
        component = merge(component, left[part], right[part])
    return component


def merge(component: Array, left: Array, right: Array) -> Array:
    """Add edges to a graph of which the components are known, as `connected` gives them, and find the new ones."""
    # The components so far are the nodes of the new graph. scipy's graph routines take 32-bit indices.
    n_components = int(component.max(initial=-1)) + 1
    places = component[left], component[right]
    graph = csr_array((np.ones(len(left), bool), places), shape=(n_components, n_components))
    return np.asarray(connected_components(graph, directed=False)[1][component])


def parts(start: int, stop: int) -> Iterator[slice]:
    """Slices of at most `BLOCK` edges, so that arrays of a few values for each edge stay small."""
    for at in range(start, stop, BLOCK):
        yield slice(at, min(at + BLOCK, stop))


# --- scores -----------------------------------------------------------------------------------------------------------


def divide(numerator: Any, denominator: Any) -> Array:
    """Divide in float64; the quotient is 0 where the denominator is 0."""
    numerator, denominator = np.asarray(numerator, np.float64), np.asarray(denominator, np.float64)
    shape = np.broadcast_shapes(numerator.shape, denominator.shape)
    quotient: Array = np.divide(numerator, denominator, out=np.zeros(shape), where=denominator != 0)
    return quotient


def f_score(precision: Any, recall: Any, beta: float = 1.0) -> Array:
    """Weighted harmonic mean of precision and recall (van Rijsbergen 1979), 0 where both are 0.

    `beta` is the weight of recall relative to precision, greater than 0.
    """
    precision, recall = np.asarray(precision, np.float64), np.asarray(recall, np.float64)
    return divide((1 + beta**2) * precision * recall, beta**2 * precision + recall)


def precision_recall_f(counts: Array, scale: float = 100.0, beta: float = 1.0) -> Array:
    """Precision, recall and F from counts.

    Parameters
    ----------
    counts : ndarray of int, shape (..., 3)
        True positives, predicted and gold.
    scale : float
        1 for rates in [0, 1], 100 for percent.
    beta : float
        Weight of recall relative to precision, greater than 0.

    Returns
    -------
    ndarray of float64, shape (..., 3)
    """
    true_positives, predicted, gold = np.moveaxis(np.asarray(counts, np.float64), -1, 0)
    precision = divide(scale * true_positives, predicted)
    recall = divide(scale * true_positives, gold)
    # The harmonic mean from counts needs one division, so it is rounded once.
    f = divide(scale * (1 + beta**2) * true_positives, beta**2 * gold + predicted)
    return np.stack([precision, recall, f], axis=-1)


def rates_or_whole(whole: Array, counts: Array, scale: float = 100.0, beta: float = 1.0) -> Array:
    """Precision, recall and F of resamples, with the rates of the whole data where a resample has no items.

    Parameters
    ----------
    whole : ndarray of int, shape (..., 3)
        Counts of the whole data.
    counts : ndarray of int, shape (n, ..., 3)
        Counts of each resample.
    scale, beta : float
        As in `precision_recall_f`.

    Returns
    -------
    ndarray of float64, shape (n, ..., 3)
    """
    empty = (counts[..., PREDICTED] == 0) & (counts[..., GOLD] == 0)
    return precision_recall_f(np.where(empty[..., None], whole, counts), scale, beta)


def row(counts: Array, scale: float = 100.0, beta: float = 1.0) -> dict[str, Any]:
    """One row of a report as plain Python values, from counts of shape (3,).

    The keys are ``precision``, ``recall``, ``f1``, ``true_positives``, ``predicted`` and ``gold``.
    """
    rates = precision_recall_f(counts, scale, beta).tolist()
    return dict(zip(("precision", "recall", "f1"), rates, strict=True)) | dict(
        zip(COUNT_NAMES, np.asarray(counts).tolist(), strict=True)
    )
