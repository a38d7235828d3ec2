"""Kinds of single values: text, ids, labels, whole numbers, numbers and flags.

Each kind has one method, `Node.read`, which turns a list of values into a column. It looks at the set of types of the
list. Only a list with an unusual type in it is looked at value by value.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from .columns import Column
from .mistakes import Mistakes, Places, Refused, quote

INT32_MAX = 2**31 - 1
FLOAT_BYTES = 4  # of a float32, the smallest float that all libraries share
_MOST_DIGITS = 100  # of a whole number that is an id; Python writes no integer of over 4,300 digits


# Types that `unwrap` leaves as they are.
PLAIN = frozenset((str, int, float, bool, list, tuple, dict, type(None)))


def unwrap(value: Any) -> Any:
    """A value of numpy, torch, pyarrow or a similar library as a list, number or array that Python and numpy know.

    A tensor becomes a numpy array, an array of no dimension its number, and a table of pandas, polars or pyarrow a
    dict of its columns. A masked value of numpy is None.
    """
    if type(value) in PLAIN:
        return value
    if hasattr(value, "as_py"):  # pyarrow's scalars
        return value.as_py()
    if is_table(value):
        names = value.column_names if hasattr(value, "column_names") else value.columns
        columns = {name: value[name] for name in names}
        # numpy would turn the nulls of an Arrow column of integers into NaN.
        return {
            name: column.to_pylist() if hasattr(column, "to_pylist") else column for name, column in columns.items()
        }
    if hasattr(value, "__array__") and not isinstance(value, (np.ndarray, np.generic)):
        value = _to_numpy(value)
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]
        return None if value is np.ma.masked else value
    return value


def is_table(value: Any) -> bool:
    """Whether a value is a table with named columns, as pandas, polars and pyarrow have them."""
    return hasattr(value, "__dataframe__")


def _to_numpy(tensor: Any) -> Any:
    """The numpy array of a tensor; the tensor itself if it has none."""
    try:
        if hasattr(tensor, "detach"):
            # torch refuses to convert a tensor with gradients, of another device, or of a float type of its own.
            tensor = tensor.detach().cpu()
            if getattr(tensor, "is_floating_point", bool)() and tensor.element_size() < FLOAT_BYTES:
                tensor = tensor.float()
        array = np.asarray(tensor)
        # numpy knows the float types of other libraries by their size alone.
        return array.astype(np.float32) if array.dtype.kind == "V" else array
    except Exception:  # another library may raise anything
        return tensor


class Node(ABC):
    """One kind of value.

    Attributes
    ----------
    expected : str
        The words with which an error says what was expected.
    """

    expected: str

    @abstractmethod
    def read(self, values: Sequence[Any], places: Places, mistakes: Mistakes, types: Types = None) -> Column:
        """Read a list of values.

        Parameters
        ----------
        values : list or ndarray
        places : Places
            The path of each value.
        mistakes : Mistakes
            Gets a mistake for each value that is refused.
        types : set of type, optional
            The types of the values, if the caller has looked at them.

        Returns
        -------
        column
            One value for each given one; missing for a refused one.
        """

    @abstractmethod
    def missing(self, n: int) -> Column:
        """A column of n missing values."""

    @abstractmethod
    def feature(self) -> Any:
        """The type of the value as the features of a metric show it: a numpy name, or lists and dicts of these."""

    def refuse(self, value: object) -> Refused:
        """The usual error of a value of another kind."""
        return Refused(f"{quote(value)} is not {self.expected}")


def read_one_by_one(
    values: Iterable[Any], read: Callable[[Any], Any], places: Places, mistakes: Mistakes, missing: Any
) -> list[Any]:
    """Read values that are unusual one by one; a refused one becomes a missing one."""
    found = []
    for at, value in enumerate(values):
        try:
            found.append(read(unwrap(value)))
        except Refused as refused:
            mistakes.add((*places(at), *refused.steps), refused.words)
            found.append(missing)
    return found


Types = set[type] | None


def types_of(values: Iterable[Any]) -> set[type]:
    """The set of types of values."""
    return set(map(type, values))


class Text(Node):
    """A string. Bytes are read as UTF-8.

    Parameters
    ----------
    expected : str
    blank : bool
        Whether a string of nothing but white space is taken.
    """

    def __init__(self, expected: str = "text", blank: bool = True) -> None:
        self.expected, self.blank = expected, blank

    def read(self, values: Sequence[Any], places: Places, mistakes: Mistakes, types: Types = None) -> np.ndarray:
        if (
            (types or types_of(values)) <= {str}
            and is_unicode(values)
            and (self.blank or all(map(str.strip, set(values))))
        ):
            return to_strings(values)
        return to_strings(read_one_by_one(values, self.read_one, places, mistakes, None))

    def read_one(self, value: Any) -> str:
        """Read one value; `Refused` if it is another kind of value."""
        if isinstance(value, (bytes, bytearray, memoryview)):
            try:
                value = bytes(value).decode()
            except UnicodeDecodeError:
                raise self.refuse(value) from None
        if not isinstance(value, str):
            raise self.refuse(value)
        if not is_unicode([value]):
            raise Refused(f"{quote(value)} is not valid Unicode")
        if not self.blank and not value.strip():
            raise Refused(f"{quote(value)} is blank, expected {self.expected}")
        return str(value)

    def missing(self, n: int) -> np.ndarray:
        return np.full(n, None, object)

    def feature(self) -> Any:
        return "string"


def is_unicode(texts: Sequence[str]) -> bool:
    """Whether texts can be written to a file: halves of surrogate pairs cannot."""
    joined = "".join(texts)
    if joined.isascii():
        return True
    try:
        joined.encode()
    except UnicodeEncodeError:
        return False
    return True


def to_strings(values: Sequence[str | None]) -> np.ndarray:
    """Strings, and None for missing ones, as a column."""
    column = np.empty(len(values), object)
    column[:] = values
    return column


class Identifier(Text):
    """An id: text, or a whole number, which is read as its digits."""

    def __init__(self, expected: str = "an id (text or a whole number)") -> None:
        super().__init__(expected)

    def read_one(self, value: Any) -> str:
        if isinstance(value, Integral) and not isinstance(value, bool):
            if abs(int(value)) >= 10**_MOST_DIGITS:
                raise self.refuse(value)
            return str(int(value))
        return super().read_one(value)


class Choice(Node):
    """One of a few labels. The column holds their numbers, in the order of `labels`.

    Parameters
    ----------
    labels : sequence of str
    names : mapping of str to str
        Other names of labels, each with its label.
    fold : bool
        Whether the names in `names` are also found in any case, and with white space around them.
    listed : sequence of str, optional
        The labels that errors name, if these are not all of them.
    """

    def __init__(
        self,
        labels: Sequence[str],
        names: Mapping[str, str] | None = None,
        fold: bool = False,
        listed: Sequence[str] | None = None,
    ) -> None:
        self.labels = tuple(labels)
        self.numbers = {label: number for number, label in enumerate(self.labels)}
        self._exact = dict(self.numbers)
        self._folded: dict[str, int] = {}
        for name, label in (names or {}).items():
            (self._folded if fold else self._exact)[name] = self.numbers[label]
        self._text = Text("one of " + ", ".join(listed or self.labels))
        self.expected = self._text.expected

    def read(self, values: Sequence[Any], places: Places, mistakes: Mistakes, types: Types = None) -> np.ndarray:
        if (types or types_of(values)) <= {str}:
            numbers = {text: self._find(text) for text in set(values)}
            if None not in numbers.values():
                return np.fromiter(map(numbers.__getitem__, values), np.int64, len(values))
        return np.array(read_one_by_one(values, self.read_one, places, mistakes, -1), np.int64)

    def _find(self, text: str) -> int | None:
        number = self._exact.get(text)
        return self._folded.get(text.strip().lower()) if number is None else number

    def read_one(self, value: Any) -> int:
        """Read one value to the number of its label; `Refused` for anything that names no label."""
        number = self._find(self._text.read_one(value))
        if number is None:
            raise self.refuse(value)
        return number

    def missing(self, n: int) -> np.ndarray:
        return np.full(n, -1)

    def feature(self) -> Any:
        return "string"


class Integer(Node):
    """A whole number from 0 that fits into 32 bits."""

    def __init__(self, expected: str) -> None:
        self.expected = f"{expected} (a whole number from 0)"

    def read(self, values: Sequence[Any], places: Places, mistakes: Mistakes, types: Types = None) -> np.ndarray:
        if isinstance(values, np.ndarray) or all(map(_is_integer_type, types or types_of(values))):
            try:
                with np.errstate(invalid="ignore"):  # unsigned integers beyond int64 become negative
                    column = np.asarray(values, np.int64)
            except OverflowError:
                column = np.array([-1])
            if not len(column) or (column.min() >= 0 and column.max() <= INT32_MAX):
                return column
        return np.array(read_one_by_one(values, self.read_one, places, mistakes, -1), np.int64)

    def read_one(self, value: Any) -> int:
        """Read one value; `Refused` if it is no whole number in the range."""
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (Integral, float, np.floating)):
            raise self.refuse(value)
        if not value >= 0 or value == math.inf or int(value) != value:  # type: ignore[operator]
            raise self.refuse(value)
        if value > INT32_MAX:  # type: ignore[operator]
            raise Refused(f"{quote(value)} is too large, expected {self.expected}, at most {INT32_MAX}")
        return int(value)

    def missing(self, n: int) -> np.ndarray:
        return np.full(n, -1)

    def feature(self) -> Any:
        return "int32"


def _is_integer_type(kind: type) -> bool:
    return kind is int or issubclass(kind, np.integer)


class Number(Node):
    """A real number. Infinite ones are taken, NaN is not."""

    def __init__(self, expected: str = "a number") -> None:
        self.expected = expected

    def read(self, values: Sequence[Any], places: Places, mistakes: Mistakes, types: Types = None) -> np.ndarray:
        if (types or types_of(values)) <= {float, int}:
            try:
                column = np.array(values, np.float64)
            except OverflowError:
                column = np.array([np.nan])
            if not np.isnan(column).any():
                return column
        return np.array(read_one_by_one(values, self.read_one, places, mistakes, math.nan), np.float64)

    def read_one(self, value: Any) -> float:
        """Read one value; `Refused` if it is no number."""
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real) or value != value:
            raise self.refuse(value)
        try:
            return float(value)
        except OverflowError:
            raise self.refuse(value) from None

    def missing(self, n: int) -> np.ndarray:
        return np.full(n, np.nan)

    def feature(self) -> Any:
        return "float64"


class Flag(Node):
    """True or False. The column holds 1 and 0."""

    expected = "true or false"

    def read(self, values: Sequence[Any], places: Places, mistakes: Mistakes, types: Types = None) -> np.ndarray:
        if not (types or types_of(values)) <= {bool, np.bool_}:
            values = read_one_by_one(values, self.read_one, places, mistakes, -1)
        return np.array(values, np.int64)

    def read_one(self, value: Any) -> bool:
        """Read one value; `Refused` if it is neither."""
        if not isinstance(value, (bool, np.bool_)):
            raise self.refuse(value)
        return bool(value)

    def missing(self, n: int) -> np.ndarray:
        return np.full(n, -1)

    def feature(self) -> Any:
        return "bool"
