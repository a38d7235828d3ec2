"""Integer arrays as DocRED's documents need them: sets, places, pairs of ranges, and codes of texts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from itertools import count, repeat

import numpy as np

from .columns import to_offsets


def find(values: np.ndarray, among: np.ndarray) -> np.ndarray:
    """The place of each value in an increasing array, the first one if it repeats; -1 if it is not there."""
    place = np.searchsorted(among, values)
    within = place < len(among)
    within[within] = among[place[within]] == values[within]
    return np.where(within, place, -1)


class IntegerSet:
    """A set of integers, like ``np.isin`` with sorted values, but faster where it holds few of the values asked for.

    A table of remainders rules out most values that it does not hold.

    Parameters
    ----------
    values : ndarray of int64
    """

    def __init__(self, values: np.ndarray) -> None:
        self._values = np.sort(values)
        self._mask = (1 << (8 * len(values)).bit_length()) - 1
        self._may_hold = np.zeros(self._mask + 1, bool)
        self._may_hold[values & self._mask] = True

    def holds(self, values: np.ndarray) -> np.ndarray:
        """Whether the set holds each value: an array of bool."""
        found: np.ndarray = self._may_hold[values & self._mask]
        left = np.flatnonzero(found)
        found[left] = find(values[left], self._values) >= 0
        return found


def elements(starts: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All elements of many ranges.

    Parameters
    ----------
    starts, sizes : ndarray of int, shape (n,)

    Returns
    -------
    owner, element : ndarray of int64
        The index of the range, increasing, and the element.
    """
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return owner, starts[owner] + np.arange(len(owner)) - to_offsets(sizes)[:-1][owner]


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
        The index of the pair of ranges, increasing, and the two elements, by left, then right.
    """
    sizes = np.asarray(left_size, np.int64) * right_size
    if sizes.max(initial=0) <= 1:
        owner = np.flatnonzero(sizes)
        return owner, left_start[owner], right_start[owner]
    owner = np.repeat(np.arange(len(sizes)), sizes)
    within = np.arange(len(owner)) - to_offsets(sizes)[:-1][owner]
    row, column = np.divmod(within, np.asarray(right_size)[owner])
    return owner, left_start[owner] + row, right_start[owner] + column


def order_equal(items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Order items, earlier ones of equal items first.

    Returns
    -------
    order : ndarray of int64, shape (n,)
    starts : ndarray of int64
        The place in the order where each different item starts.
    """
    n_bits = len(items).bit_length()
    if int(items.max(initial=0)).bit_length() + n_bits < 63:
        # Sorting items together with their places is faster than a stable sort of places.
        both = np.sort(items << n_bits | np.arange(len(items)))
        order, ordered = both & ((1 << n_bits) - 1), both >> n_bits
    else:
        order = np.argsort(items, kind="stable")
        ordered = items[order]
    return order, np.flatnonzero(np.diff(ordered, prepend=-1))


def encode_texts(texts: np.ndarray, codes: Mapping[str, int]) -> np.ndarray:
    """The code of each text, -1 for a text without one: shape (n,) of object to (n,) of int64."""
    return np.fromiter(map(codes.get, texts.tolist(), repeat(-1)), np.int64, len(texts))


def number_texts(texts: np.ndarray) -> tuple[np.ndarray, list[str]]:
    """Number texts by their first occurrence.

    Returns
    -------
    numbers : ndarray of int64, shape (n,)
    different : list of str
        The different texts, in the order of their numbers.
    """
    numbers: defaultdict[str, int] = defaultdict(count().__next__)
    found = np.fromiter(map(numbers.__getitem__, texts.tolist()), np.int64, len(texts))
    return found, list(numbers)
