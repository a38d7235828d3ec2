"""Span sets and their overlap, one-to-one alignment, counts, precision, recall and F.

Everything here works on a whole corpus at once, on numpy arrays. Nothing here depends on a benchmark. The vocabulary:

span
    A set of token indices of one document.
item
    An integer that stands for everything that makes two items equal (see `encode`).
edge
    A pair of a left and a right item that may be aligned.
alignment
    A set of edges in which each item occurs at most once.
counts
    True positives, predicted and gold, in this order, along the last axis of an integer array.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, min_weight_full_bipartite_matching

from .columns import to_offsets

Array = npt.NDArray[Any]

TRUE_POSITIVES, PREDICTED, GOLD = range(3)
COUNT_NAMES = ("true_positives", "predicted", "gold")

_INT64_MAX = np.iinfo(np.int64).max


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
    """Pairs of a left and a right span that share a token.

    Attributes
    ----------
    left, right : ndarray of int64, shape (m,)
        Indices into the two sides, ordered by left, then right.
    shared : ndarray of int64, shape (m,)
        Number of shared tokens, at least 1.
    """

    left: Array
    right: Array
    shared: Array


def overlaps(left: Spans, left_group: Array, right: Spans, right_group: Array) -> Edges:
    """Find all pairs of spans of the same group that share a token.

    This is one sparse product of two incidence matrices: rows are spans, columns are the tokens of a group.

    Parameters
    ----------
    left, right : Spans
    left_group, right_group : ndarray of int, shape (n_left,) and (n_right,)
        Document of each span, or `encode` of its document and label.
    """
    groups = np.repeat(np.concatenate([left_group, right_group]), np.concatenate([left.lengths, right.lengths]))
    column, n_columns = _columns(groups, np.concatenate([left.tokens, right.tokens]))
    split = len(left.tokens)

    def incidence(column: Array, offsets: Array) -> csr_array:
        shape = (len(offsets) - 1, n_columns)
        return csr_array((np.ones(len(column), np.int64), column, offsets), shape=shape)

    product = (incidence(column[:split], left.offsets) @ incidence(column[split:], right.offsets).T).tocsr()
    product.sort_indices()
    rows = np.repeat(np.arange(len(left)), np.diff(product.indptr))
    return Edges(rows, product.indices.astype(np.int64), product.data)


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
    return np.asarray(edges.shared / (left.lengths[edges.left] + right.lengths[edges.right] - edges.shared))


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
    # scipy's graph routines take 32-bit indices; up to 1.11 they do not convert.
    places = left.astype(np.int32), right.astype(np.int32)
    graph = csr_array((np.ones(len(left), bool), places), shape=(n_nodes, n_nodes))
    return np.asarray(connected_components(graph, directed=False)[1])


# --- alignment --------------------------------------------------------------------------------------------------------


class Goal(NamedTuple):
    """A value of each edge whose total over the chosen edges should be as large as possible.

    Attributes
    ----------
    values : ndarray of int or float, shape (m,)
        Value of each edge, 0 or greater.
    tolerance : float
        Smallest difference between two totals that matters, greater than 0: 1 for whole numbers, `FRACTION_TOLERANCE`
        for fractions. Totals that differ by rounding errors count as equal.
    """

    values: Array
    tolerance: float = 1.0


# Sums of a few fractions of small whole numbers, such as Dice or Jaccard, are equal or differ by more than this.
FRACTION_TOLERANCE = 1e-9


def most_pairs(left: Array) -> Goal:
    """The goal of as many pairs as possible: each of the edges has the value 1."""
    return Goal(np.ones(len(left), np.int64))


# The sparse solver is slower than the dense one for matrices of fewer cells, or of fewer cells for each edge.
_DENSE_CELLS = 2**14
_DENSE_CELLS_PER_EDGE = 8
# A unit of a goal exceeds the total of all later goals by this part: more than rounding, and few digits are lost.
_MARGIN = 2**-6


def align(left: Array, right: Array, n_left: int, n_right: int, goals: Sequence[Goal]) -> Array:
    """Align items one to one, with several goals in order of importance.

    The first goal asks for the largest total of its values over the chosen edges. Each further goal decides between the
    alignments whose totals of all earlier goals are equal within the tolerance.

    Parameters
    ----------
    left, right : ndarray of int, shape (m,)
        The edges, each pair once, ordered by left, then right.
    n_left, n_right : int
        Number of items of each side.
    goals : sequence of Goal
        At least one, the most important first.

    Returns
    -------
    ndarray of int64
        Indices of the chosen edges, increasing.

    Notes
    -----
    Edges with the value 0 in every goal are left out. The others fall into connected components. If one item has all
    edges of a component, its best edge is chosen, the first one among equals. The other components are assignment
    problems. scipy solves dense ones as in Crouse (2016) and large sparse ones as in Jonker and Volgenant (1987).

    The result depends only on the edges and on the order of items. If a caller orders items by their content, the order
    of the input has no effect.

    All goals are combined to one float64 weight for each edge. In large components the weight has too few digits for
    the last goals, so that these goals decide some ties wrongly. The goals before them stay right. Measured with three
    goals, namely most pairs, a fraction, and whole numbers of 0 or 1: all are exact up to 1,000 pairs in a component. A
    fourth goal of whole numbers is exact up to 100 pairs, or up to 1,000 pairs if every possible pair is an edge.

    Examples
    --------
    The edge 0-0 has the largest value. The edges 0-1 and 1-0 have the largest total.

    >>> left, right = np.array([0, 0, 1]), np.array([0, 1, 0])
    >>> align(left, right, 2, 2, [Goal(np.array([5, 3, 3]))])
    array([1, 2])
    """
    some = np.flatnonzero(np.any([goal.values > 0 for goal in goals], axis=0))
    # Most edges of a usual corpus are the only edge of both their items.
    only = np.bincount(left[some], minlength=n_left)[left[some]] == 1
    only &= np.bincount(right[some], minlength=n_right)[right[some]] == 1
    chosen = np.zeros(len(left), bool)
    chosen[some[only]] = True
    some = some[~only]
    if not len(some):
        return np.flatnonzero(chosen)

    # Order edges and items by component.
    left, n_left = _renumber(left[some], n_left)
    right, n_right = _renumber(right[some], n_right)
    component = connected(left, n_left + right, n_left + n_right)
    order = np.argsort(component[left], kind="stable")
    some, of_edge = some[order], component[left[order]]
    row = _places(component[:n_left])[left[order]]
    column = _places(component[n_left:])[right[order]]
    edge_start, row_start, column_start = (
        to_offsets(np.bincount(ids)) for ids in (of_edge, component[:n_left], component[n_left:])
    )
    n_edges, n_rows, n_columns = (np.diff(offsets) for offsets in (edge_start, row_start, column_start))
    n_pairs = np.minimum(n_rows, n_columns)
    weight = _weights(goals, some, of_edge, edge_start[:-1], n_pairs, n_edges == n_rows * n_columns)

    partner = np.full(n_left, -1)  # the column with which each row is aligned
    star = n_pairs == 1  # one item has all edges
    best = np.flatnonzero(star[of_edge] & (weight == np.maximum.reduceat(weight, edge_start[:-1])[of_edge]))
    best = best[np.diff(of_edge[best], prepend=-1) > 0]
    partner[row[best]] = column[best]

    cells = n_rows * n_columns
    dense = ~star & (cells <= np.maximum(_DENSE_CELLS, _DENSE_CELLS_PER_EDGE * n_edges))
    cell_start = to_offsets(np.where(dense, cells, 0))
    cell = cell_start[of_edge] + (row - row_start[of_edge]) * n_columns[of_edge] + column - column_start[of_edge]
    matrices = np.zeros(cell_start[-1])
    matrices[cell[dense[of_edge]]] = weight[dense[of_edge]]
    shapes = np.stack([cell_start[:-1], cell_start[1:], n_rows, n_columns, row_start[:-1], column_start[:-1]], axis=-1)
    for start, end, height, width, first_row, first_column in shapes[dense].tolist():
        rows, columns = linear_sum_assignment(matrices[start:end].reshape(height, width), maximize=True)
        partner[first_row + rows] = first_column + columns
    for at in np.flatnonzero(~star & ~dense).tolist():
        part = slice(edge_start[at], edge_start[at + 1])
        rows, columns = _assign_sparse(row[part] - row_start[at], column[part] - column_start[at], weight[part])
        partner[row_start[at] + rows] = column_start[at] + columns
    chosen[some[partner[row] == column]] = True
    return np.flatnonzero(chosen)


def _renumber(items: Array, n_items: int) -> tuple[Array, int]:
    """Map the items that occur to 0, 1, … in the same order; also return their number."""
    used = np.zeros(n_items, bool)
    used[items] = True
    return (np.cumsum(used) - 1)[items], int(used.sum())


def _places(component: Array) -> Array:
    """Place of each item in the order of components."""
    places = np.empty(len(component), np.int64)
    places[np.argsort(component, kind="stable")] = np.arange(len(component))
    return places


def _weights(
    goals: Sequence[Goal], edges: Array, component: Array, starts: Array, n_pairs: Array, fixed: Array
) -> Array:
    """Combine the goals to one weight for each edge.

    Edges are given in the order of their components, by their indices `edges`. A component has its first edge at
    `starts`, at most `n_pairs` pairs in an alignment, and is `fixed` if all its best alignments have the same number of
    pairs. A weight is greater than 0, except in a component that is `fixed`.
    """
    parts, largest = [], []
    for goal in goals:
        values = np.asarray(goal.values, np.float64)[edges]
        low, high = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
        # With a fixed number of pairs, only differences between values matter. Smaller numbers leave more precision.
        base = np.where(fixed, low, 0.0)
        parts.append(values - base[component])
        largest.append(n_pairs * (high - base))
        fixed = fixed | ((low == high) & (high > 0))
    # One unit of a goal outweighs the largest total of all later goals, by enough that rounding cannot make them equal.
    weight, later = np.zeros(len(edges)), np.ones(len(starts))
    for goal, values, total in zip(reversed(goals), reversed(parts), reversed(largest), strict=True):
        unit = (1 + _MARGIN) * later / goal.tolerance
        weight += values * unit[component]
        later += total * unit
    return weight


def _assign_sparse(row: Array, column: Array, weight: Array) -> tuple[Array, Array]:
    """Rows and columns of the alignment with the largest total weight, in memory proportional to the number of edges.

    Rows and columns are numbered from 0 without gaps, and each has an edge. Weights are greater than 0.
    """
    n_rows, n_columns = int(row.max()) + 1, int(column.max()) + 1
    if n_rows > n_columns:
        columns, rows = _assign_sparse(column, row, weight)
        return rows, columns
    # The solver pairs every row. So each row gets an extra column, and a row paired with it stays alone. The weight of
    # that pair is nearly 0; a weight of exactly 0 would mean no edge.
    alone = np.arange(n_rows)
    places = np.concatenate([row, alone]).astype(np.int32), np.concatenate([column, n_columns + alone]).astype(np.int32)
    weights = np.concatenate([weight, np.full(n_rows, np.finfo(np.float64).tiny)])
    graph = csr_array((weights, places), shape=(n_rows, n_columns + n_rows))
    rows, columns = min_weight_full_bipartite_matching(graph, maximize=True)
    paired = columns < n_columns
    return rows[paired], columns[paired]


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
