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
from collections.abc import Callable, Iterable, Sequence
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
    rises = made.tokens[1:] > made.tokens[:-1]
    borders = made.offsets[1:-1]
    rises[borders[(borders > 0) & (borders < len(made.tokens))] - 1] = True
    if rises.all():
        return made
    owner = made.owners
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
            rows, bound = consecutive(rows)
        if bound * width > _INT64_MAX:
            column, width = consecutive(column)
        rows = rows * width + column
        bound *= width
    return rows


def _bound(column: np.ndarray) -> int:
    return int(column.max()) + 1 if len(column) else 1


def consecutive(column: np.ndarray) -> tuple[np.ndarray, int]:
    """Integers to consecutive ones from 0 in the same order, and how many there are.

    As ``np.unique`` with its inverse, but by a stable sort, which takes a third of the time on the nearly sorted
    columns of a corpus.
    """
    order = np.argsort(column, kind="stable")
    ordered = column[order]
    steps = np.zeros(len(column), np.int64)
    np.cumsum(ordered[1:] != ordered[:-1], out=steps[1:])
    ranks = np.empty(len(column), np.int64)
    ranks[order] = steps
    return ranks, int(steps[-1]) + 1 if len(steps) else 0


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
    filled = spans.lengths > 0
    starts_run[offsets[:-1][filled]] = True
    run_at = np.flatnonzero(starts_run)
    run = number(tokens[run_at], np.diff(np.append(run_at, len(tokens))))
    run_offsets = np.concatenate([[0], np.cumsum(starts_run)])[offsets]
    n_runs = np.diff(run_offsets)
    numbers = np.zeros(len(spans), np.int64)
    numbers[filled] = run[run_offsets[:-1][filled]]
    for step in range(1, int(n_runs.max(initial=0))):
        longer = np.flatnonzero(n_runs > step)
        numbers[longer] = number(numbers[longer], run[run_offsets[longer] + step])
    return number(n_runs, numbers)


def find(values: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Where each value stands in an increasing array, the first place if it repeats; -1 if it does not."""
    place = np.searchsorted(among, values)
    within = place < len(among)
    within[within] = among[place[within]] == values[within]
    return np.where(within, place, -1)


def product(
    left_start: np.ndarray, left_size: np.ndarray, right_start: np.ndarray, right_size: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All pairs of an element of one range and an element of another, for many pairs of ranges at once.

    Parameters
    ----------
    left_start, left_size, right_start, right_size : ndarray of int, shape (n,)
        The ``i``-th pair of ranges.

    Returns
    -------
    owner, left, right : ndarray of int64
        The pair of ranges, increasing, and the two elements.
    """
    sizes = np.asarray(left_size, np.int64) * right_size
    owner = np.repeat(np.arange(len(sizes)), sizes)
    within = np.arange(len(owner)) - _offsets(sizes)[:-1][owner]
    row, column = np.divmod(within, np.asarray(right_size)[owner])
    return owner, left_start[owner] + row, right_start[owner] + column


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
    """Sums of counts by row: shape (m, 3) to (n_rows, 3), where each column lies in one piece."""
    columns = np.empty((counts.shape[-1], n_rows), np.int64)
    for column, values in zip(columns, counts.T, strict=True):
        column[:] = np.bincount(row, weights=values, minlength=n_rows)
    return columns.T


def beside(tables: Iterable[np.ndarray]) -> np.ndarray:
    """Tables of shape (n_documents, 3) as one, (n_documents, n_tables, 3), where each column lies in one piece.

    So the sum over documents, and later their resampling, read memory in order.
    """
    return np.stack([table.T for table in tables]).transpose(2, 0, 1)


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
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(items)])
    borders = np.append(starts, len(items))
    in_gold = np.diff(np.concatenate([[0], np.cumsum(order >= n_predicted)])[borders])
    in_predicted = np.diff(borders) - in_gold
    if repeats == "set":
        in_predicted, in_gold = np.minimum(in_predicted, 1), np.minimum(in_gold, 1)
    if repeats == "pairs":
        true_positives = in_predicted * in_gold
    else:
        true_positives = np.minimum(in_predicted, in_gold)
    example = order[starts]
    return Matches(documents[example], example, np.stack([true_positives, in_predicted, in_gold], axis=-1))


# --- overlap and alignment --------------------------------------------------------------------------------------------


# How many steps of a dense product take as long as one of a sparse product. Long spans of one document that mostly
# overlap are better multiplied densely.
_DENSE_SPEED = 16


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
    column, n_columns = _columns(np.concatenate([left_group, right_group])[both.owners], both.tokens)
    split = len(left.tokens)
    columns = column[:split], column[split:]

    def incidence(column: np.ndarray, offsets: np.ndarray) -> csr_array:
        shape = (len(offsets) - 1, n_columns)
        return csr_array((np.ones(len(column), np.int64), column, offsets), shape=shape)

    first, second = incidence(columns[0], left.offsets), incidence(columns[1], right.offsets)
    work = np.bincount(columns[0], minlength=n_columns) @ np.bincount(columns[1], minlength=n_columns)
    if len(left) * len(right) * n_columns < _DENSE_SPEED * work:
        # Counts below 2 ** 24 are exact in float32.
        left_dense, right_dense = (side.astype(np.float32).toarray() for side in (first, second))
        product = csr_array(left_dense @ right_dense.T).astype(np.int64)
    else:
        product = (first @ second.T).tocsr()
    product.sort_indices()
    rows = np.repeat(np.arange(len(left)), np.diff(product.indptr))
    return Edges(rows, product.indices.astype(np.int64), product.data)


def _columns(group: np.ndarray, token: np.ndarray) -> tuple[np.ndarray, int]:
    """A column for each token of each group, and how many there are.

    Where groups and tokens are close to consecutive, a column is found by counting; sorting is for the others.
    """
    if not len(token):
        return token, 1
    n_groups = int(group.max()) + 1
    if n_groups <= 4 * len(token):
        widths = np.zeros(n_groups, np.int64)
        np.maximum.at(widths, group, token + 1)
        starts = _offsets(widths)
        if starts[-1] <= 4 * len(token):
            return starts[group] + token, int(starts[-1])
    return consecutive(number(group, token))


def meet(left: Spans, right: Spans, left_at: np.ndarray, right_at: np.ndarray) -> np.ndarray:
    """Whether two spans share a token, for many pairs of spans, none of them empty.

    Where neither has a gap, first and last tokens tell.

    Parameters
    ----------
    left, right : Spans
    left_at, right_at : ndarray of int, shape (m,)
        Which spans each pair is of.

    Returns
    -------
    ndarray of bool, shape (m,)
    """
    sides = ((left, left_at), (right, right_at))
    first = [side.tokens[side.offsets[:-1]][at] for side, at in sides]
    last = [side.tokens[side.offsets[1:] - 1][at] for side, at in sides]
    found = np.maximum(*first) <= np.minimum(*last)
    gap = np.logical_or(
        *(end - start >= side.lengths[at] for (side, at), start, end in zip(sides, first, last, strict=True))
    )
    for pair in np.flatnonzero(found & gap).tolist():
        tokens = [side.tokens[side.offsets[at[pair]] : side.offsets[at[pair] + 1]] for side, at in sides]
        found[pair] = not set(tokens[0].tolist()).isdisjoint(tokens[1].tolist())
    return found


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


def jaccard(edges: Edges, left: Spans, right: Spans) -> np.ndarray:
    """The shared tokens over the tokens of either, of each edge, in (0, 1] (Jaccard 1912).

    Numerator and denominator are exact and the quotient is rounded once, so comparing it with a decimal number of a few
    digits, itself rounded once, is exact too.
    """
    return edges.shared / (left.lengths[edges.left] + right.lengths[edges.right] - edges.shared)


# Components of at most so many edges are paired by scipy, all at once. Its search can take exponential time, so larger
# ones are not left to it.
_FEW_EDGES = 64


def most_pairs(left: np.ndarray, right: np.ndarray, n_left: int, n_right: int) -> np.ndarray:
    """For each left item, the right item it is paired with, or -1; as many pairs as possible (Hopcroft, Karp 1973)."""
    partner = np.full(n_left, -1)
    if not len(left):
        return partner
    nodes = n_left + n_right
    component = connected(left, n_left + right, nodes)[left]
    few = np.bincount(component)[component] <= _FEW_EDGES
    if few.any():
        graph = _graph(left[few], right[few], (n_left, n_right))
        partner = maximum_bipartite_matching(graph, perm_type="column").astype(np.int64)
    many = np.flatnonzero(~few)
    many = many[np.lexsort((right[many], left[many], component[many]))]
    for edges in np.split(many, np.flatnonzero(np.diff(component[many])) + 1):
        for i, j in _hopcroft_karp(left[edges].tolist(), right[edges].tolist()).items():
            partner[i] = j
    return partner


def _hopcroft_karp(left: list[int], right: list[int]) -> dict[int, int]:
    """The right item of each left item that is paired, in one graph, by shortest augmenting paths, many at a time."""
    choices: dict[int, list[int]] = {}
    for i, j in zip(left, right, strict=True):
        choices.setdefault(i, []).append(j)
    partner: dict[int, int] = {}
    holder: dict[int, int] = {}
    for i, some in choices.items():
        free = next((j for j in some if j not in holder), None)
        if free is not None:
            partner[i], holder[free] = free, i
    while True:
        layer = {i: 0 for i in choices if i not in partner}
        queue, found = list(layer), False
        for i in queue:
            for j in choices[i]:
                if j not in holder:
                    found = True
                elif holder[j] not in layer:
                    layer[holder[j]] = layer[i] + 1
                    queue.append(holder[j])
        if not found:
            return partner
        # Each left item is entered once a phase, and each of its choices is tried once.
        rest = {i: iter(choices[i]) for i in layer}
        for start in [i for i in layer if layer[i] == 0]:
            path = [start]
            taken: list[int] = []
            while path:
                j = next(rest[path[-1]], -1)
                if j < 0:
                    path.pop()
                    if taken:
                        taken.pop()
                elif j not in holder:
                    for i, end in zip(path, [*taken, j], strict=True):
                        partner[i], holder[end] = end, i
                    break
                elif layer.get(holder[j], -1) == layer[path[-1]] + 1:
                    taken.append(j)
                    path.append(holder[j])


def connected(left: np.ndarray, right: np.ndarray, n_nodes: int) -> np.ndarray:
    """The connected component of each node of a graph, numbered from 0, from its edges."""
    return connected_components(_graph(left, right, (n_nodes, n_nodes)), directed=False)[1]


def _graph(left: np.ndarray, right: np.ndarray, shape: tuple[int, int]) -> csr_array:
    # scipy's graph routines take 32-bit indices; up to 1.11 they do not convert.
    places = left.astype(np.int32), right.astype(np.int32)
    return csr_array((np.ones(len(left), bool), places), shape=shape)


def match_in_order(left: np.ndarray, right: np.ndarray, n_left: int, n_right: int) -> tuple[np.ndarray, np.ndarray]:
    """Pair items one to one, left items coming in the order of their indices.

    Each left item is paired if that leaves all earlier ones paired (Kuhn's augmenting paths), so that among the first
    `k` left items as many are paired as possible, for every `k`, and a right item once paired stays so.

    Parameters
    ----------
    left, right : ndarray of int, shape (m,)
        The edges, each pair once.
    n_left, n_right : int

    Returns
    -------
    partner : ndarray of int64, shape (n_left,)
        The right item that each left item is paired with in the end, or -1.
    since : ndarray of int64, shape (n_right,)
        The left item with whose coming each right item was first paired, or -1.
    """
    partner, since = np.full(n_left, -1), np.full(n_right, -1)
    alone = (np.bincount(left, minlength=n_left)[left] == 1) & (np.bincount(right, minlength=n_right)[right] == 1)
    partner[left[alone]], since[right[alone]] = right[alone], left[alone]

    choices: dict[int, list[int]] = {}
    for i, j in sorted(zip(left[~alone].tolist(), right[~alone].tolist(), strict=True)):
        choices.setdefault(i, []).append(j)
    holder: dict[int, int] = {}
    for i in choices:
        # Breadth first, so that a path is short and no recursion is deep.
        reached: dict[int, int] = {}
        queue, free = [i], -1
        for at in queue:
            for j in choices[at]:
                if j in reached:
                    continue
                reached[j] = at
                if j not in holder:
                    free = j
                    break
                queue.append(holder[j])
            if free >= 0:
                break
        if free < 0:
            continue
        since[free] = i
        while free >= 0:
            at, free_before = reached[free], int(partner[reached[free]])
            holder[free], partner[at] = at, free
            free = free_before if at != i else -1
    return partner, since


def pairs(left: np.ndarray, right: np.ndarray) -> Edges:
    """All pairs of equal items, each sharing one token, so to speak: `overlaps` for what is equal or is not."""
    sides = [Spans(np.arange(len(items) + 1), np.asarray(items, np.int64)) for items in (left, right)]
    groups = [np.zeros(len(items), np.int64) for items in (left, right)]
    return overlaps(sides[0], groups[0], sides[1], groups[1])


# A wish that only decides between equal totals, as a part of the largest weight. The Hungarian algorithm's prices stay
# within the weights and are rounded once or twice a row, so that for 2,000 rows they err by less than this. Totals of
# quotients of small integers that differ at all differ by more: two times two of 60ths by 60 ** -4 at the least.
_TIE_BREAK = 2.0**-40

# Components up to this size go to the batched assignment: its work grows with 2 to the power of the smaller side, and
# beyond these sizes the Hungarian algorithm is faster.
_BATCH_SMALLER, _BATCH_LARGER = 6, 16
_BATCH_STATES = 2**17  # totals held at once, 1 MiB


def align(
    left: np.ndarray,
    right: np.ndarray,
    weight: np.ndarray,
    n_left: int,
    n_right: int,
    prefer: np.ndarray | None = None,
) -> np.ndarray:
    """Align items one to one for the largest total weight.

    The graph falls into connected components. In many, one item has all the edges, and its heaviest edge is the answer;
    small ones of equal shape are solved together, and only the others go to the Hungarian algorithm (Kuhn 1955).

    Parameters
    ----------
    left, right : ndarray of int, shape (m,)
        The edges, each pair once.
    weight : ndarray of float, shape (m,)
        Positive. To want as many pairs as possible first, add to each weight more than all of them can sum to.
    n_left, n_right : int
    prefer : ndarray of bool, shape (m,), optional
        Of alignments with equal totals, one with the most of these edges is chosen. Totals count as equal when they
        differ by less than 2 ** -40 of the largest weight for each such edge more.

    Returns
    -------
    ndarray of int64
        The chosen edges, increasing.
    """
    if prefer is not None and len(left):
        weight = weight + np.where(prefer, weight.max() * _TIE_BREAK, 0.0)
    return _by_component(left, right, [weight], lambda edges, n_pairs: weight[edges], n_left, n_right, alike=True)


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
    weight, so whole numbers up to 2**51 keep it exact. Where fractions of many denominators need larger ones, a
    component of up to 64 pairs is solved in Python's integers. In larger ones fractions are then rounded, and
    alignments that differ by less than the rounding may be taken one for the other.
    """
    keys = [wish.numerator / wish.denominator if isinstance(wish, Ratio) else wish for wish in wishes]

    def weigh(edges: np.ndarray, n_pairs: int) -> np.ndarray:
        scales = [
            math.lcm(*np.unique(wish.denominator[edges]).tolist())
            if isinstance(wish, Ratio)
            else int(wish[edges].max())
            for wish in wishes
        ]
        fits = math.prod(n_pairs * scale + 1 for scale in scales) <= _EXACT
        kind = np.int64 if fits or n_pairs > _FEW_PAIRS else object  # object: Python's integers
        weights, unit = np.zeros(len(edges), kind), 1
        for wish, scale in zip(reversed(wishes), reversed(scales), strict=True):
            if not isinstance(wish, Ratio):
                whole = wish[edges].astype(kind)
            elif fits or kind is object:
                whole = wish.numerator[edges].astype(kind) * (scale // wish.denominator[edges].astype(kind))
            else:
                largest = max(1, (_EXACT // unit - 1) // n_pairs)
                whole = np.rint(wish.numerator[edges] * (largest / wish.denominator[edges])).astype(kind)
            weights = weights + whole * unit
            unit *= n_pairs * int(whole.max()) + 1
        return weights + unit

    return _by_component(left, right, keys, weigh, n_left, n_right, alike=False)


_EXACT = 2**51
_FEW_PAIRS = 64


def _by_component(
    left: np.ndarray,
    right: np.ndarray,
    keys: Sequence[np.ndarray],
    weigh: Callable[[np.ndarray, int], np.ndarray],
    n_left: int,
    n_right: int,
    alike: bool,
) -> np.ndarray:
    """The best alignment of each connected component.

    `keys` order the edges of a component where one is to be chosen, the first key first; where more are, `weigh` gives
    the weights of its edges for so many pairs. `alike` says that these depend on nothing but the edge, so that small
    components can be solved together.
    """
    if not len(left):
        return np.zeros(0, np.int64)
    nodes = n_left + n_right
    component = connected(left, n_left + right, nodes)
    n_components = int(component.max()) + 1
    edge_component = component[left]
    sizes = np.stack([np.bincount(part, minlength=n_components) for part in (component[:n_left], component[n_left:])])

    order = np.argsort(edge_component, kind="stable")
    starts = np.flatnonzero(np.diff(edge_component[order], prepend=-1))
    ends = np.append(starts[1:], len(order))
    components = edge_component[order[starts]]
    smaller, larger = np.sort(sizes[:, components], axis=0)
    star = smaller == 1
    in_star = np.repeat(star, ends - starts)
    edges = order[in_star]
    edges = edges[np.lexsort((*(-np.asarray(key[edges], float) for key in reversed(keys)), edge_component[edges]))]
    chosen = [edges[np.flatnonzero(np.diff(edge_component[edges], prepend=-1))]]

    batched = alike & ~star & (smaller <= _BATCH_SMALLER) & (larger <= _BATCH_LARGER)
    ranks = [_ranks(part, n_components) for part in (component[:n_left], component[n_left:])]
    flipped = sizes[0] > sizes[1]
    shape = smaller * (_BATCH_LARGER + 1) + larger
    for each in np.unique(shape[batched]).tolist():
        members = np.flatnonzero(batched & (shape == each))
        n_smaller, n_larger = divmod(each, _BATCH_LARGER + 1)
        for part in np.array_split(members, -(-len(members) * 2**n_smaller // _BATCH_STATES)):
            lengths = ends[part] - starts[part]
            place = np.repeat(np.arange(len(part)), lengths)
            edges = order[np.repeat(starts[part] - _offsets(lengths)[:-1], lengths) + np.arange(len(place))]
            rows, columns = ranks[0][left[edges]], ranks[1][right[edges]]
            turn = flipped[edge_component[edges]]
            rows, columns = np.where(turn, rows, columns), np.where(turn, columns, rows)
            weights = np.zeros((n_larger, n_smaller, len(part)))
            weights[rows, columns, place] = weigh(edges, n_smaller)
            number_of = np.full(weights.shape, -1)
            number_of[rows, columns, place] = edges
            numbers = number_of[_assign_batch(weights)]
            chosen.append(numbers[numbers >= 0])

    rest = ~star & ~batched
    shapes = sizes[:, components[rest]].T.tolist()
    for start, end, sizes_of in zip(starts[rest].tolist(), ends[rest].tolist(), shapes, strict=True):
        edges = order[start:end]
        rows, columns = ranks[0][left[edges]], ranks[1][right[edges]]
        weight = weigh(edges, min(sizes_of))
        weights = np.zeros(sizes_of, weight.dtype)
        weights[rows, columns] = weight
        number_of = np.full(sizes_of, -1)
        number_of[rows, columns] = edges
        if weight.dtype == object:
            assigned = _assign_integers(weights)
        else:
            assigned = linear_sum_assignment(weights, maximize=True)
        numbers = number_of[assigned]
        chosen.append(numbers[numbers >= 0])
    return np.sort(np.concatenate(chosen))


def _assign_integers(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The Hungarian algorithm in whole numbers of any size: each row of the smaller side gets a column."""
    if weights.shape[0] > weights.shape[1]:
        columns, rows = _assign_integers(weights.T)
        return rows, columns
    n_rows, n_columns = weights.shape
    costs = (-weights).tolist()
    row_price, column_price = [0] * n_rows, [0] * n_columns
    row_of = [-1] * n_columns
    for start in range(n_rows):
        # The shortest path from this row to a free column, by reduced costs (Dijkstra).
        distance: list[int | None] = [None] * n_columns
        before, done = [-1] * n_columns, [False] * n_columns
        row, column, travelled = start, -1, 0
        reached: list[tuple[int, int]] = []  # rows on the way, and how far along each was reached
        while row >= 0:
            reached.append((row, travelled))
            for j, cost in enumerate(costs[row]):
                if not done[j]:
                    length = travelled + cost - row_price[row] - column_price[j]
                    known = distance[j]
                    if known is None or length < known:
                        distance[j], before[j] = length, row
            travelled, column = min((d, j) for j, d in enumerate(distance) if d is not None and not done[j])
            done[column] = True
            row = row_of[column]
        for i, length in reached:
            row_price[i] += travelled - length
        for j, length_or_none in enumerate(distance):
            if done[j] and length_or_none is not None:
                column_price[j] -= travelled - length_or_none
        while column >= 0:
            row = before[column]
            row_of[column] = row
            column = next((j for j in range(n_columns) if j != column and row_of[j] == row and row != start), -1)
    found = [(row, column) for column, row in enumerate(row_of) if row >= 0]
    return tuple(np.array(side) for side in zip(*found, strict=True))  # type: ignore[return-value]


def _ranks(component: np.ndarray, n_components: int) -> np.ndarray:
    """The place of each node among those of its component."""
    order = np.argsort(component, kind="stable")
    starts = _offsets(np.bincount(component, minlength=n_components))
    ranks = np.empty(len(component), np.int64)
    ranks[order] = np.arange(len(component)) - starts[component[order]]
    return ranks


def _assign_batch(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Many assignments of one small shape, each for the largest total.

    Rows are taken one by one; for each set of columns used so far, the largest total is kept, and which column the row
    got (Bellman 1962, Held and Karp 1962).

    Parameters
    ----------
    weights : ndarray of float, shape (n_rows, n_columns, n)
        Not negative.

    Returns
    -------
    row, column, problem : ndarray of int64
        The pairs of all problems.
    """
    n_rows, n_columns, n = weights.shape
    best = np.full((2**n_columns, n), -np.inf)
    best[0] = 0
    got = np.full((n_rows, 2**n_columns, n), -1, np.int8)
    for row in range(n_rows):
        before, best = best, best.copy()
        for column in range(n_columns):
            # Axis 1 tells the sets without this column from the same sets with it.
            halves = (2 ** (n_columns - 1 - column), 2, 2**column, n)
            total = before.reshape(halves)[:, 0] + weights[row, column]
            target = best.reshape(halves)[:, 1]
            better = total > target
            np.copyto(target, total, where=better)
            np.copyto(got[row].reshape(halves)[:, 1], column, where=better)
    problems = np.arange(n)
    used = best.argmax(axis=0)
    columns = np.empty((n_rows, n), np.int64)
    for row in reversed(range(n_rows)):
        columns[row] = got[row, used, problems]
        used = np.where(columns[row] >= 0, used ^ (1 << np.maximum(columns[row], 0)), used)
    rows, problems = np.nonzero(columns >= 0)
    return rows, columns[rows, problems], problems


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
    true_positives, predicted, gold = np.moveaxis(np.asarray(counts, np.float64), -1, 0)
    precision = divide(scale * true_positives, predicted)
    recall = divide(scale * true_positives, gold)
    # The harmonic mean, written in counts: one division, so one rounding.
    f = divide(scale * (1 + beta**2) * true_positives, beta**2 * gold + predicted)
    return np.stack([precision, recall, f], axis=-1)


def rates_or(whole: np.ndarray, counts: np.ndarray, scale: float = 100.0, beta: float = 1.0) -> np.ndarray:
    """Precision, recall and F from counts of some documents, those of the whole where there is neither side.

    Parameters
    ----------
    whole : ndarray, shape (..., 3)
        The counts of all documents.
    counts : ndarray, shape (n, ..., 3)
    scale, beta : float
        As in `precision_recall_f`.

    Returns
    -------
    ndarray of float64, shape (n, ..., 3)
    """
    empty = (counts[..., PREDICTED] == 0) & (counts[..., GOLD] == 0)
    return precision_recall_f(np.where(empty[..., None], whole, counts), scale, beta)


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
