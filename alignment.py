"""One-to-one alignment of the items of two sides, with several goals in order of importance.

An alignment is a set of edges in which each item occurs at most once. Memory is a few numbers for each edge, and one
for each pair of items of the largest component that is solved as a matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from .columns import to_offsets
from .matching import BLOCK, Array, merge, parts


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
    return Goal(np.ones(len(left), np.int8))


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
    has_value = goals[0].values > 0
    for goal in goals[1:]:
        has_value |= goal.values > 0
    degrees = np.zeros(n_left, np.int64), np.zeros(n_right, np.int64)
    for part in parts(0, len(left)):
        for degree, side in zip(degrees, (left, right), strict=True):
            degree += np.bincount(side[part][has_value[part]], minlength=len(degree))
    # Most edges of a usual corpus are the only edge of both their items.
    chosen = has_value.copy()
    for part in parts(0, len(left)):
        chosen[part] &= (degrees[0][left[part]] == 1) & (degrees[1][right[part]] == 1)
    index = np.int32 if len(left) <= np.iinfo(np.int32).max else np.int64
    rest = [
        (part.start + np.flatnonzero(has_value[part] & ~chosen[part])).astype(index) for part in parts(0, len(left))
    ]
    if any(map(len, rest)):
        graph = _order_by_component(left, right, np.concatenate(rest), n_left, n_right)
        for edges in _align_components(graph, goals):
            chosen[edges] = True
    return np.flatnonzero(chosen)


class _Graph(NamedTuple):
    """Edges ordered by component.

    First come the components in which one item has all edges, then those for the dense solver, then those for the
    sparse one.

    Attributes
    ----------
    left, right : ndarray of int
        The two items of each given edge.
    edges : ndarray of int, shape (m,)
        Indices of the edges in question, by component, then left, then right.
    component : ndarray of int64, shape (n_left,)
        Component of each left item.
    row, column : ndarray of int64, shape (n_left,) and (n_right,)
        Place of each item among the items of its side in its component.
    n_edges, n_rows, n_columns : ndarray of int64, shape (n_components,)
        Numbers of edges, of left and of right items of each component.
    n_stars, n_dense : int
        Numbers of components of the first two sorts.
    """

    left: Array
    right: Array
    edges: Array
    component: Array
    row: Array
    column: Array
    n_edges: Array
    n_rows: Array
    n_columns: Array
    n_stars: int
    n_dense: int

    def at(self, part: slice) -> tuple[Array, Array, Array]:
        """Component, row and column of a part of the edges."""
        edges = self.edges[part]
        left = self.left[edges]
        return self.component[left], self.row[left], self.column[self.right[edges]]


def _order_by_component(left: Array, right: Array, edges: Array, n_left: int, n_right: int) -> _Graph:
    """Find the components of the chosen edges, and order the edges by them."""
    found = np.arange(n_left + n_right, dtype=np.int32)
    for part in parts(0, len(edges)):
        found = merge(found, left[edges[part]], n_left + right[edges[part]])
    n_components = int(found.max()) + 1
    of_left, of_right = np.split(found, [n_left])
    n_edges, n_rows, n_columns = (
        np.zeros(n_components, np.int64),
        *(np.bincount(component, minlength=n_components) for component in (of_left, of_right)),
    )
    for part in parts(0, len(edges)):
        n_edges += np.bincount(of_left[left[edges[part]]], minlength=n_components)
    is_dense = n_rows * n_columns <= np.maximum(_DENSE_CELLS, _DENSE_CELLS_PER_EDGE * n_edges)
    sort = np.where(np.minimum(n_rows, n_columns) == 1, 0, np.where(is_dense, 1, 2))
    # Items without an edge are components too, and come last.
    order = np.argsort(np.where(n_edges, sort, 3), kind="stable")
    rank = np.empty(n_components, np.int32)
    rank[order] = np.arange(n_components)
    order = order[: np.count_nonzero(n_edges)]
    if len(order) > 1:
        edges = edges[np.argsort(rank[of_left][left[edges]], kind="stable")]
    n_stars, n_dense = (int(np.sum(sort[order] == each)) for each in (0, 1))
    sizes = n_edges[order], n_rows[order], n_columns[order]
    return _Graph(left, right, edges, rank[of_left], _places(of_left), _places(of_right), *sizes, n_stars, n_dense)


def _places(component: Array) -> Array:
    """Place of each item among the items of its component: shape (n,)."""
    order = np.argsort(component, kind="stable")
    places = np.empty(len(component), np.int64)
    places[order] = np.arange(len(component)) - to_offsets(np.bincount(component))[component[order]]
    return places


def _align_components(graph: _Graph, goals: Sequence[Goal]) -> Iterator[Array]:
    """Align the items of each component; yield the chosen edges of some components at a time."""
    scales = _scale_goals(goals, graph)
    starts = to_offsets(graph.n_edges).tolist()
    n_stars, n_dense = graph.n_stars, graph.n_dense
    if n_stars:
        stars = slice(0, starts[n_stars])
        component = graph.at(stars)[0]
        weight = _weigh(goals, scales, graph.edges[stars], component)
        best = np.flatnonzero(weight == np.maximum.reduceat(weight, starts[:n_stars])[component])
        yield graph.edges[best[np.diff(component[best], prepend=-1) > 0]]
    for first, last in _batches((graph.n_rows * graph.n_columns)[n_stars : n_stars + n_dense]):
        yield from _assign_dense(graph, goals, scales, first + n_stars, last + n_stars, starts)
    for at in range(n_stars + n_dense, len(graph.n_edges)):
        part = slice(starts[at], starts[at + 1])
        component, row, column = graph.at(part)
        rows, columns = _assign_sparse(row, column, _weigh(goals, scales, graph.edges[part], component))
        partner = np.full(graph.n_rows[at], -1)
        partner[rows] = columns
        yield graph.edges[part][partner[row] == column]


def _batches(sizes: Array) -> Iterator[tuple[int, int]]:
    """Ranges of things with a total size of about `BLOCK`, or of one larger thing."""
    borders = np.flatnonzero(np.diff(np.cumsum(sizes) // BLOCK)) + 1
    yield from pairwise([0, *borders.tolist(), len(sizes)] if len(sizes) else [])


def _scale_goals(goals: Sequence[Goal], graph: _Graph) -> list[tuple[Array, Array]]:
    """The numbers by which the values of each goal become weights, as `_weigh` takes them.

    Returns
    -------
    list of (base, unit)
        One value a component in each. The weight of an edge is the sum of ``unit * (value - base)`` over the goals. It
        is greater than 0, except in a component of which all best alignments have the same number of pairs.
    """
    n_pairs = np.minimum(graph.n_rows, graph.n_columns)
    fixed = graph.n_edges == graph.n_rows * graph.n_columns
    bases, largest = [], []
    for goal in goals:
        low, high = np.full(len(n_pairs), np.inf), np.full(len(n_pairs), -np.inf)
        for part in parts(0, len(graph.edges)):
            edges = graph.edges[part]
            component, values = graph.component[graph.left[edges]], goal.values[edges]
            starts = np.flatnonzero(np.diff(component, prepend=-1))
            for end, pick in ((low, np.minimum), (high, np.maximum)):
                some = component[starts]
                end[some] = pick(end[some], pick.reduceat(values, starts))
        # With a fixed number of pairs, only differences between values matter. Smaller numbers leave more precision.
        bases.append(np.where(fixed, low, 0.0))
        largest.append(n_pairs * (high - bases[-1]))
        fixed = fixed | ((low == high) & (high > 0))
    # One unit of a goal outweighs the largest total of all later goals, by enough that rounding cannot make them equal.
    units, later = [], np.ones(len(n_pairs))
    for goal, total in zip(reversed(goals), reversed(largest), strict=True):
        units.append((1 + _MARGIN) * later / goal.tolerance)
        later += total * units[-1]
    return list(zip(bases, reversed(units), strict=True))


def _weigh(goals: Sequence[Goal], scales: list[tuple[Array, Array]], edges: Array, component: Array) -> Array:
    """Combine the goals to one weight for each of some edges, of which `component` is the component."""
    weight = np.zeros(len(edges))
    for goal, (base, unit) in zip(reversed(goals), reversed(scales), strict=True):
        weight += (np.asarray(goal.values[edges], np.float64) - base[component]) * unit[component]
    return weight


def _assign_dense(
    graph: _Graph, goals: Sequence[Goal], scales: list[tuple[Array, Array]], first: int, last: int, starts: list[int]
) -> Iterator[Array]:
    """Align the components from `first` to before `last`; yield the chosen edges.

    The solver copies a matrix to negate it or to turn it on its side. So matrices have negative weights, and no more
    rows than columns.
    """
    heights, widths = graph.n_rows[first:last], graph.n_columns[first:last]
    cell_start = to_offsets(heights * widths)
    matrices = np.zeros(cell_start[-1])

    def cells(component: Array, row: Array, column: Array) -> Array:
        at = component - first
        height, width = heights[at], widths[at]
        return np.asarray(cell_start[at] + np.where(height <= width, row * width + column, column * height + row))

    blocks = list(parts(starts[first], starts[last]))
    for part in blocks:
        component, row, column = graph.at(part)
        matrices[cells(component, row, column)] = -_weigh(goals, scales, graph.edges[part], component)
    few, many = np.minimum(heights, widths), np.maximum(heights, widths)
    pairs = []
    for start, height, width in zip(cell_start.tolist(), few.tolist(), many.tolist(), strict=False):
        rows, columns = linear_sum_assignment(matrices[start : start + height * width].reshape(height, width))
        pairs.append(start + rows * width + columns)
    is_chosen = np.zeros(len(matrices), bool)
    is_chosen[np.concatenate(pairs)] = True
    for part in blocks:
        yield graph.edges[part][is_chosen[cells(*graph.at(part))]]


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
