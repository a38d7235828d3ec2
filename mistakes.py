"""Mistakes in what a user gives: the place of the wrong value, the value, and what was expected, in one line."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

Step = int | str

LISTED = 5  # names that an error lists
_LONGEST = 200  # characters of a value
_MOST = 10_000  # mistakes that are kept: more than a person reads

_short = reprlib.Repr()
_short.maxlevel = 3
_short.maxstring = _short.maxother = _short.maxlong = 80


def quote(value: object) -> str:
    """Write a value as an error message shows it: in one line, never long."""
    try:
        text = " ".join(_short.repr(value).split())
        if not text.isprintable():  # an object may write itself with control characters
            text = "".join(letter if letter.isprintable() else "?" for letter in text)
        return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
    except ValueError:  # Python writes no integer of over 4,300 digits
        return f"a {type(value).__name__} too long to write"


def quote_some(names: Iterable[object]) -> str:
    """Write the first few names, and the number of the others."""
    names = list(names)
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(quote(name) for name in names[:LISTED]) + more


def write_path(path: Sequence[Step]) -> str:
    """Write a path as Python would: ``("predictions", 3, "triplets")`` is ``predictions[3].triplets``.

    A step that is written in brackets already, such as ``["a b"]``, has no dot before it.
    """
    first, *steps = path
    written = (f"[{step}]" if isinstance(step, int) else step if step[0] == "[" else f".{step}" for step in steps)
    return str(first) + "".join(written)


class Refused(ValueError):
    """A value that is refused.

    Parameters
    ----------
    words : str
        The value and what was expected.
    *steps : int or str
        The way from the value that was checked to its wrong part.
    """

    def __init__(self, words: str, *steps: Step) -> None:
        super().__init__(words)
        self.words = words
        self.steps = steps

    def at(self, *path: Step) -> ValueError:
        """The error that the user sees, given the path of the value that was checked."""
        return ValueError(f"{write_path((*path, *self.steps))}: {self.words}")


class Places:
    """The paths of the values of one column, made only when an error needs one.

    Parameters
    ----------
    path : callable
        From the index of a value in its column to its path, such as ``("predictions", 3, "triplets", 1, "aspect")``.
    """

    def __init__(self, path: Callable[[int], tuple[Step, ...]]) -> None:
        self._path = path

    @classmethod
    def of_batch(cls, name: str) -> Places:
        """The places of the records of a batch: ``predictions[0]``, ``predictions[1]`` and so on."""
        return cls(lambda at: (name, at))

    def __call__(self, at: int) -> tuple[Step, ...]:
        """The path of one value."""
        return self._path(int(at))

    def field(self, name: Step) -> Places:
        """The places of a field of each value."""
        return Places(lambda at: (*self._path(at), name))

    def items(self, offsets: Sequence[int] | np.ndarray) -> Places:
        """The places of the items of each value, end to end; the items of value ``i`` begin at ``offsets[i]``."""
        from bisect import bisect_right

        def path(at: int) -> tuple[Step, ...]:
            owner = bisect_right(offsets, at) - 1
            return (*self._path(owner), at - int(offsets[owner]))

        return Places(path)

    def rows(self, chosen: Sequence[int]) -> Places:
        """The places of chosen values."""
        return Places(lambda at: self._path(int(chosen[at])))


class Mistakes:
    """The mistakes of a batch.

    A value is wrong once: a mistake is left out if the same value, a part of it or a value around it has one already.
    So a check that comes after reading may treat refused values as missing.
    """

    def __init__(self) -> None:
        self._found: dict[tuple[Step, ...], str] = {}
        self._around: set[tuple[Step, ...]] = set()  # the paths of all values that hold a wrong one

    def __bool__(self) -> bool:
        return bool(self._found)

    def add(self, path: tuple[Step, ...], words: str) -> None:
        """Note a mistake; beyond 10,000 they are left out."""
        parts = [path[:end] for end in range(1, len(path) + 1)]
        if len(self._found) < _MOST and path not in self._around and self._found.keys().isdisjoint(parts):
            self._found[path] = words
            self._around.update(parts[:-1])

    def sorted(self) -> list[tuple[tuple[Step, ...], str]]:
        """All mistakes, each with its path and words.

        They come in the order of the records; of a record, in the order in which its fields were read; of a field, in
        the order of its items.
        """
        fields: dict[tuple[Step, ...], int] = {}
        for path in self._found:
            fields.setdefault(path[:3], len(fields))

        def place(found: tuple[tuple[Step, ...], str]) -> tuple[list[int], int, list[int]]:
            record, items = ([step for step in part if isinstance(step, int)] for part in (found[0][:3], found[0][3:]))
            return record, fields[found[0][:3]], items

        return sorted(self._found.items(), key=place)

    def records(self) -> set[int]:
        """The indices of the records with a mistake."""
        return {path[1] for path in self._found if len(path) > 1 and isinstance(path[1], int)}

    def raise_first(self) -> None:
        """Raise the first mistake of `sorted`, if there is any.

        Raises
        ------
        ValueError
        """
        if self._found:
            path, words = self.sorted()[0]
            raise ValueError(f"{write_path(path)}: {words}")
