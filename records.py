"""What a user hands over, to checked Arrow columns.

A metric describes a record of each side as a tree of :class:`Record`, :class:`Items`, :class:`Text` and so on. The
tree reads records in one of two ways, which agree:

* the fast way converts a whole batch with :func:`pyarrow.array` and looks for what must be refused on the columns;
* where that finds anything unusual, the careful way walks the records in Python. It either knows the form (a tuple for
  a record, a numpy integer for an integer, a number for an id) and reads it, or names the place of the first mistake.

:class:`Staging` is the part of a metric that collects such columns and hands the whole to ``_compute``.
"""

from __future__ import annotations

import math
import reprlib
import time
from array import array as machine_array
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from functools import partial
from itertools import chain, repeat
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

SIDES = ("predictions", "references")
LISTED = 5  # an error names up to so many ids
INT32_MAX = 2**31 - 1
FEW = 4  # records that are read sooner by a walk than by setting up a conversion
CHUNK = 8192  # records read at a time: they stay in the processor's cache, and an unusual one slows only its own down

# What pyarrow raises on values that do not fit; UnicodeEncodeError (a lone surrogate) is a ValueError, and SystemError
# comes of numpy arrays without a dimension, LookupError of mappings that pyarrow takes for sequences.
_ARROW_ERRORS = (pa.ArrowException, TypeError, ValueError, OverflowError, AttributeError, LookupError, SystemError)

_short = reprlib.Repr()
_short.maxlevel = 3
_short.maxstring = _short.maxother = _short.maxlong = 80


def shown(value: object) -> str:
    """`value` as an error message quotes it: one line, never long."""
    try:
        return " ".join(_short.repr(value).split())
    except ValueError:  # Python writes no integer of over 4,300 digits
        return f"a {type(value).__name__} too long to write"


class Mistake(Exception):
    """A value that is refused; each level of the record adds its step of the place on the way out."""

    def __init__(self, words: str, place: str = "") -> None:
        super().__init__(words)
        self.words = words
        self.place = place

    def within(self, step: str) -> Mistake:
        """The same mistake, seen from one level further out."""
        self.place = step + self.place
        return self

    def error(self) -> ValueError:
        """The one line that the user sees."""
        return ValueError(f"{self.place}: {self.words}")


class _Unusual(Exception):
    """The columns hold something that only the careful way can read or refuse."""


# --- what a record is made of -----------------------------------------------------------------------------------------


class Node:
    """One kind of value.

    Attributes
    ----------
    arrow : pyarrow.DataType
        How the value is stored.
    what : str
        What an error says was expected.
    forms : int
        In how many ways the fast conversion may be tried.
    looks : bool
        Whether `plain` has anything to look at.
    tells : bool
        Whether a converted column shows which values there is nothing to look at in.
    """

    arrow: pa.DataType
    what: str
    forms = 1
    looks = False
    tells = False

    def wire(self, form: int) -> pa.DataType:
        """The type that raw values are converted to: one that refuses what `arrow` would swallow."""
        return self.arrow

    def settle(self, array: pa.Array) -> pa.Array:
        """A converted column as it is stored; raises `_Unusual` where the careful way must look."""
        if array.null_count:
            raise _Unusual
        return array

    def read(self, value: Any) -> Any:
        """One value, as `pyarrow.array` takes it for `arrow`; raises `Mistake`."""
        raise NotImplementedError

    def plain(self, values: list, form: int) -> None:
        """Look, in a fast conversion, for what pyarrow reads otherwise than `read` would; raises `_Unusual`.

        This sees every container of a corpus, so it stays within C: maps over methods, and sets of types.
        """

    def suspects(self, array: pa.Array) -> np.ndarray:
        """Of a node that `tells`, the rows of a converted column that `plain` must look at."""
        return np.arange(len(array))

    def resembles(self, value: Any) -> bool:
        """Whether a value is meant to be of this kind, if perhaps a mistaken one."""
        return False

    def dressed(self, records: list) -> list:
        """Whole records as the fast conversion takes them."""
        return records

    @property
    def keys(self) -> list[str]:
        """The keys that count in a record, and so in a dict of columns."""
        return []

    def refuse(self, value: object) -> Mistake:
        return Mistake(f"{shown(value)} is not {self.what}")


class Text(Node):
    """A string, with more than white space in it if not `blank`. Bytes are read as UTF-8, as pyarrow does."""

    arrow = pa.string()

    def __init__(self, what: str = "text", blank: bool = True) -> None:
        self.what, self.blank = what, blank

    def resembles(self, value: Any) -> bool:
        return isinstance(value, (str, bytes, bytearray, memoryview))

    def settle(self, array: pa.Array) -> pa.Array:
        array = super().settle(array)
        if not self.blank and any(not text.strip() for text in array.unique().to_pylist()):
            raise _Unusual
        return array

    def read(self, value: Any) -> str:
        if isinstance(value, (bytes, bytearray, memoryview)):
            try:
                value = bytes(value).decode()
            except UnicodeDecodeError:
                raise self.refuse(value) from None
        if not isinstance(value, str):
            raise self.refuse(value)
        try:
            value.encode()
        except UnicodeEncodeError:
            raise Mistake(f"{shown(value)} is not valid Unicode") from None
        if not self.blank and not value.strip():
            raise Mistake(f"{shown(value)} is blank, expected {self.what}")
        return value


class Identifier(Text):
    """An id: text, or a whole number, which is read as its digits."""

    def __init__(self, what: str = "an id (text or a whole number)") -> None:
        super().__init__(what)

    def read(self, value: Any) -> str:
        if isinstance(value, Integral) and not isinstance(value, bool):
            if abs(int(value)) >= 10**100:  # Python writes no integer of over 4,300 digits
                raise self.refuse(value)
            return str(int(value))
        return super().read(value)


class Choice(Text):
    """One of a few labels, under any of the names given to each.

    Parameters
    ----------
    labels : mapping or sequence of str
        The labels to be named in errors; a mapping gives for each name the label it is read as.
    find : callable, optional
        From a text that is not among the names, to its label or None.
    listed : sequence of str, optional
        The labels to be named in errors, where not all of them should be.
    """

    def __init__(
        self,
        labels: Mapping[str, str] | Sequence[str],
        find: Callable[[str], str | None] = lambda text: None,
        listed: Sequence[str] | None = None,
    ) -> None:
        self.names = dict(labels) if isinstance(labels, Mapping) else {label: label for label in labels}
        self.find = find
        super().__init__("one of " + ", ".join(listed or dict.fromkeys(self.names.values())))

    def read(self, value: Any) -> str:
        if not self.resembles(value):
            raise self.refuse(value)
        text = super().read(value)
        label = self.names.get(text) or self.find(text)
        if label is None:
            raise self.refuse(value)
        return label

    def settle(self, array: pa.Array) -> pa.Array:
        coded = super().settle(array).dictionary_encode()
        try:
            labels = [self.read(name) for name in coded.dictionary.to_pylist()]
        except Mistake:
            raise _Unusual from None
        return pa.DictionaryArray.from_arrays(coded.indices, pa.array(labels, pa.string())).dictionary_decode()


class Integer(Node):
    """A whole number of at least `minimum`.

    Parameters
    ----------
    what : str
    minimum : int
    many : bool
        For long lists of numbers: converting takes half the time, and a walk over them that many short lists are not
        worth.
    """

    arrow = pa.int32()
    # An int32 column would take 0.5 as 0; decimals take Python's integers alone.
    _strict = pa.decimal128(10, 0)

    def __init__(self, what: str, minimum: int = 0, many: bool = False) -> None:
        self.minimum = minimum
        self.what = f"{what} (a whole number from {minimum})"
        self.looks = many

    def wire(self, form: int) -> pa.DataType:
        return pa.int64() if self.looks else self._strict

    def plain(self, values: list, form: int) -> None:
        # A sum is one of Python's integers only if every number is; pyarrow itself refuses booleans.
        if type(sum(values)) is not int:
            raise _Unusual

    def settle(self, array: pa.Array) -> pa.Array:
        array = super().settle(array).cast(self.arrow)
        if len(array) and pc.min(array).as_py() < self.minimum:
            raise _Unusual
        return array

    def read(self, value: Any) -> int:
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (Integral, float, np.floating)):
            raise self.refuse(value)
        if not self.minimum <= value <= INT32_MAX or int(value) != value:  # type: ignore[operator]
            raise self.refuse(value)
        return int(value)


class Number(Node):
    """A real number; infinite ones are taken, NaN is not."""

    arrow = pa.float64()
    looks = True

    def __init__(self, what: str = "a number") -> None:
        self.what = what

    def settle(self, array: pa.Array) -> pa.Array:
        array = super().settle(array)
        if pc.any(pc.is_nan(array)).as_py():
            raise _Unusual
        return array

    def plain(self, values: list, form: int) -> None:
        if not set(map(type, values)) <= {float, int}:
            raise _Unusual

    def read(self, value: Any) -> float:
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real) or value != value:
            raise self.refuse(value)
        try:
            return float(value)
        except OverflowError:
            raise self.refuse(value) from None


class Flag(Node):
    """True or False."""

    arrow = pa.bool_()
    what = "true or false"

    def read(self, value: Any) -> bool:
        if not isinstance(value, (bool, np.bool_)):
            raise self.refuse(value)
        return bool(value)


class Items(Node):
    """A list of values of one kind: a list or another sequence, a set, or a numpy array.

    A string is not the list of its letters; bytes are a sequence of integers, as in Python.

    Parameters
    ----------
    item : Node
    what : str
        What the list holds, for errors.
    minimum : int
        The least number of items.
    """

    def __init__(self, item: Node, what: str, minimum: int = 0) -> None:
        self.item, self.minimum, self.what = item, minimum, what
        # pyarrow reads a string as the list of its letters, so an empty one as an empty list of anything.
        self.looks = item.looks or isinstance(item, Text) or not minimum
        self.tells = not item.looks
        self.arrow = pa.list_(item.arrow)
        self.forms = item.forms

    def resembles(self, value: Any) -> bool:
        if isinstance(value, np.ndarray):
            return value.ndim > 0
        if isinstance(value, (bytes, bytearray, memoryview, machine_array)):
            return isinstance(self.item, (Integer, Number))
        return isinstance(value, (Sequence, Set)) and not isinstance(value, str)

    def wire(self, form: int) -> pa.DataType:
        return pa.list_(self.item.wire(form))

    def settle(self, array: pa.Array) -> pa.Array:
        array = super().settle(array)
        if self.minimum and len(array) and pc.min(pc.list_value_length(array)).as_py() < self.minimum:
            raise _Unusual
        return _relist(array, self.item.settle(array.values))

    def plain(self, values: list, form: int) -> None:
        if not set(map(type, values)) <= {list, tuple, np.ndarray}:
            raise _Unusual
        if self.item.looks:
            self.item.plain(list(chain.from_iterable(values)), form)

    def suspects(self, array: pa.Array) -> np.ndarray:
        # A list may have been a text if it has no item, or if each of its items is a letter.
        offsets = array.offsets.to_numpy()
        lengths = np.diff(offsets)
        if isinstance(self.item, Text):
            is_letter = pc.equal(pc.utf8_length(array.values), 1).fill_null(False).to_numpy(zero_copy_only=False)
            lengths = lengths - np.diff(np.concatenate([[0], np.cumsum(is_letter)])[offsets])
        return np.flatnonzero((lengths == 0) & present(array))

    def read(self, value: Any) -> list:
        if not self.resembles(value):
            raise self.refuse(value)
        if len(value) < self.minimum:
            raise Mistake(f"{shown(value)} is empty, expected {self.what}")
        read, items = self.item.read, []
        for item in value:
            try:
                items.append(read(_scalar(item)))
            except Mistake as mistake:
                raise mistake.within(f"[{len(items)}]") from None
        return items


class Length(Node):
    """A list of which only the number of items is kept."""

    arrow = pa.int32()

    def __init__(self, items: Items) -> None:
        self.items, self.what = items, items.what
        self.looks, self.tells = items.looks, items.tells

    def wire(self, form: int) -> pa.DataType:
        return self.items.wire(form)

    def plain(self, values: list, form: int) -> None:
        self.items.plain(values, form)

    def suspects(self, array: pa.Array) -> np.ndarray:
        return self.items.suspects(array)

    def settle(self, array: pa.Array) -> pa.Array:
        return pc.list_value_length(self.items.settle(array))

    def read(self, value: Any) -> int:
        return len(self.items.read(value))


class Optional(Node):
    """A value that may be missing or None."""

    def __init__(self, node: Node) -> None:
        self.node, self.arrow, self.what = node, node.arrow, node.what
        self.forms, self.looks, self.tells = node.forms, node.looks, node.tells

    def wire(self, form: int) -> pa.DataType:
        return self.node.wire(form)

    def settle(self, array: pa.Array) -> pa.Array:
        if not array.null_count:
            return self.node.settle(array)
        filled = self.node.settle(array.drop_null())
        # Each value takes its place again; the places of nulls point to nothing.
        valid = present(array)
        places = pa.array(np.cumsum(valid) - 1, mask=~valid)
        return filled.take(places)

    def plain(self, values: list, form: int) -> None:
        if self.looks:
            if type(None) in set(map(type, values)):
                values = [value for value in values if value is not None]
            self.node.plain(values, form)

    def suspects(self, array: pa.Array) -> np.ndarray:
        return self.node.suspects(array)

    def read(self, value: Any) -> Any:
        return None if value is None else self.node.read(value)


class Either(Node):
    """A value of one of several kinds, stored as a struct with one filled field.

    Parameters
    ----------
    what : str
    choose : callable, optional
        From a value to the name of its kind, or None. Without it, a value is of the first kind that it resembles.
    **kinds : Node
        Each kind under the name of its field, the most usual first.
    """

    def __init__(self, what: str, choose: Callable[[Any], str | None] | None = None, **kinds: Node) -> None:
        self.kinds, self.what, self.choose = kinds, what, choose
        self.looks = choose is not None or any(node.looks for node in kinds.values())
        self.arrow = pa.struct([(name, node.arrow) for name, node in kinds.items()])
        # Each kind is tried in each of its own forms.
        self._forms = [(name, form) for name, node in kinds.items() for form in range(node.forms)]
        self.forms = len(self._forms)

    @property
    def keys(self) -> list[str]:
        return list(dict.fromkeys(key for node in self.kinds.values() for key in node.keys))

    def wire(self, form: int) -> pa.DataType:
        name, form = self._forms[form]
        return self.kinds[name].wire(form)

    def dressed(self, records: list) -> list:
        # A fast conversion is of one kind only.
        kind = self.choose(records[0]) if self.choose is not None and records else None
        return self.kinds[kind].dressed(records) if kind in self.kinds else records

    def plain(self, values: list, form: int) -> None:
        name, form = self._forms[form]
        if self.choose is not None and not set(map(self.choose, values)) <= {name}:
            raise _Unusual
        if self.kinds[name].looks:
            self.kinds[name].plain(values, form)

    def settle(self, array: pa.Array) -> pa.Array:
        if array.null_count:
            raise _Unusual
        columns = []
        for node in self.kinds.values():
            matches = any(node.wire(form) == array.type for form in range(node.forms))
            columns.append(node.settle(array) if matches else pa.nulls(len(array), node.arrow))
        return pa.StructArray.from_arrays(columns, fields=list(self.arrow))

    def read(self, value: Any) -> dict:
        if self.choose is None:
            kind = next((name for name, node in self.kinds.items() if node.resembles(value)), None)
        else:
            kind = self.choose(value)
        if kind in self.kinds:
            return {kind: self.kinds[kind].read(value)}
        raise self.refuse(value)


class Record(Node):
    """A dict with known keys; others are ignored.

    Parameters
    ----------
    fields : dict of str to Node
        What each key holds; one that may be missing is `Optional`.
    what : str
    other : callable, optional
        From a value that is not a dict to the dict it stands for, or None.
    as_tuple : bool
        Whether the values alone, in the order of `fields`, are a record too, and pairs of key and value. pyarrow reads
        both, so that no record has to be looked at.
    aliases : mapping of str to str, optional
        Other names of the keys. Giving a key under two names is a mistake.
    """

    def __init__(
        self,
        fields: dict[str, Node],
        what: str,
        other: Callable[[Any], dict | None] = lambda value: None,
        as_tuple: bool = False,
        aliases: Mapping[str, str] | None = None,
    ) -> None:
        self.fields, self.what, self.other, self.as_tuple = fields, what, other, as_tuple
        self.aliases = dict(aliases or {})
        self.arrow = pa.struct([(name, node.arrow) for name, node in fields.items()])
        self.forms = max(node.forms for node in fields.values())
        self.looks = not as_tuple or bool(aliases) or any(node.looks for node in fields.values())

    @property
    def keys(self) -> list[str]:
        return [*self.fields, *self.aliases]

    def dressed(self, records: list) -> list:
        if self.as_tuple or set(map(type, records)) <= {dict}:
            return records
        # What `other` does not know stays as it is, for `plain` to refuse.
        return [
            record if isinstance(record, Mapping) or (dress := self.other(record)) is None else dress
            for record in records
        ]

    def wire(self, form: int) -> pa.DataType:
        return pa.struct([(name, node.wire(min(form, node.forms - 1))) for name, node in self.fields.items()])

    def settle(self, array: pa.Array) -> pa.Array:
        array = super().settle(array)
        columns = [node.settle(array.field(name)) for name, node in self.fields.items()]
        return pa.StructArray.from_arrays(columns, fields=list(self.arrow))

    def plain(self, values: list, form: int, array: pa.Array | None = None) -> None:
        # pyarrow reads tuples as structs by position, and lists of pairs by name.
        if not set(map(type, values)) <= {dict}:
            raise _Unusual
        if self.aliases and not all(map(self.aliases.keys().isdisjoint, values)):
            raise _Unusual
        for name, node in self.fields.items():
            if not node.looks:
                continue
            some = values
            if node.tells and array is not None:
                some = [values[row] for row in node.suspects(array.field(name)).tolist()]
            if some:
                node.plain(list(map(dict.get, some, repeat(name))), min(form, node.forms - 1))

    def read(self, value: Any) -> dict:
        if not isinstance(value, Mapping):
            value, given = self._values(value) if self.as_tuple else self.other(value), value
            if value is None:
                raise self.refuse(given)
        if self.aliases:
            value = self.renamed(value)
        record = {}
        for name, node in self.fields.items():
            item = value.get(name)
            if item is None and name not in value and not isinstance(node, Optional):
                raise Mistake(f"missing, expected {node.what}", f".{name}")
            try:
                record[name] = node.read(_scalar(item))
            except Mistake as mistake:
                raise mistake.within(f".{name}") from None
        return record

    def _values(self, value: Any) -> dict | None:
        if isinstance(value, np.ndarray) and value.ndim:
            value = list(value)
        if not isinstance(value, (list, tuple)) or not len(value) <= len(self.fields):
            return self.other(value)
        pairs = isinstance(value, list) and all(isinstance(pair, tuple) and len(pair) == 2 for pair in value)
        if value and pairs and all(isinstance(key, str) for key, _ in value):
            return dict(value)
        return dict(zip(self.fields, value, strict=False))

    def renamed(self, value: Mapping) -> dict:
        """The dict with its keys under their own names; raises `Mistake` where two names of a key disagree."""
        renamed: dict[str, Any] = {}
        for key, item in value.items():
            name = self.aliases.get(key, key) if isinstance(key, str) else key
            if name in self.fields and not _agree(renamed.get(name), item):
                raise Mistake(f"{shown(item)} contradicts {shown(renamed[name])}, given under another name", f".{key}")
            if item is not None or name not in renamed:
                renamed[name] = item
        return renamed


def _scalar(value: Any) -> Any:
    """The number within a numpy array without a dimension, which rows of a numpy-formatted dataset hold."""
    return value[()] if isinstance(value, np.ndarray) and not value.ndim else value


def _agree(value: Any, other: Any) -> bool:
    """Whether two values given for one key are the same, or one of them is None."""
    return value is None or other is None or value is other or bool(np.array_equal(value, other))


class Rows(Items):
    """A list of records, or its columns: the dict of lists that ``datasets`` makes of it.

    Parameters
    ----------
    item : Record
    what : str
    columns : mapping of str to str, optional
        The usual names of columns that differ from those of the fields, each with its field; other names that columns
        may have are the record's `aliases`.
    """

    item: Record

    def __init__(self, item: Record, what: str, columns: Mapping[str, str] | None = None) -> None:
        super().__init__(item, what)
        named = {field: column for column, field in (columns or {}).items()}
        self.columns = {field: named.get(field, field) for field in item.fields}
        self.forms, self.looks, self.tells = item.forms + 1, True, False

    def wire(self, form: int) -> pa.DataType:
        if form < self.item.forms:
            return super().wire(form)
        return pa.struct([(self.columns[name], pa.list_(node.wire(0))) for name, node in self.item.fields.items()])

    def settle(self, array: pa.Array) -> pa.Array:
        if not pa.types.is_struct(array.type):
            return super().settle(array)
        if array.null_count:
            raise _Unusual
        lengths, columns = None, list[Any]()
        for name, node in self.item.fields.items():
            column = array.field(self.columns[name])
            if column.null_count == len(column) and isinstance(node, Optional):
                columns.append(None)
                continue
            if column.null_count or (lengths is not None and not lengths.equals(pc.list_value_length(column))):
                raise _Unusual
            lengths = pc.list_value_length(column)
            columns.append(column.flatten())
        if lengths is None:
            raise _Unusual
        n_items = pc.sum(lengths).as_py() or 0
        nodes = self.item.fields.values()
        filled = [pa.nulls(n_items, node.wire(0)) if c is None else c for c, node in zip(columns, nodes, strict=True)]
        items = self.item.settle(pa.StructArray.from_arrays(filled, names=list(self.item.fields)))
        offsets = np.zeros(len(array) + 1, np.int32)
        np.cumsum(lengths.to_numpy(zero_copy_only=False), out=offsets[1:])
        return pa.ListArray.from_arrays(pa.array(offsets), items)

    def plain(self, values: list, form: int) -> None:
        kinds = set(map(type, values))
        if not any(issubclass(kind, Mapping) for kind in kinds):
            super().plain(values, form)
            return
        if kinds != {dict}:
            raise _Unusual
        other = self.item.fields.keys() | self.item.aliases.keys()
        for name, node in self.item.fields.items():
            other.discard(self.columns[name])
            if node.looks:
                node.plain([x for value in values for x in value.get(self.columns[name]) or () if x is not None], 0)
        if any(not other.isdisjoint(value) for value in values):
            raise _Unusual  # columns under other names

    def read(self, value: Any) -> list:
        if isinstance(value, Mapping):
            known = self.item.fields.keys() | self.item.aliases.keys()
            given = {name: column for name, column in value.items() if name in known and column is not None}
            for name, column in given.items():
                if not isinstance(column, (list, tuple, np.ndarray)) or getattr(column, "ndim", 1) == 0:
                    raise Mistake(f"{shown(column)} is not a column (a list with one value an item)", f".{name}")
            lengths = {name: len(column) for name, column in given.items()}
            if len(set(lengths.values())) > 1:
                listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
                raise Mistake(f"columns differ in length: {listed}, expected {self.what}")
            if not given:
                raise self.refuse(value)
            value = [dict(zip(given, items, strict=True)) for items in zip(*given.values(), strict=True)]
        return super().read(value)


class ByKind(Node):
    """Records of several kinds: a dict from kind to the list of its records, or one list of records that name theirs.

    Stored as one list, each record with its kind. Records of kinds that are not known are not looked at: only their
    kind is kept, so that they can be counted.

    Parameters
    ----------
    item : Record
        A record, without its kind; an alias of the key ``kind`` may be among its aliases.
    kinds : mapping or sequence of str
        The known kinds; a mapping gives for each name the kind it is read as.
    what : str
    """

    forms = 2
    looks = True

    def __init__(self, item: Record, kinds: Mapping[str, str] | Sequence[str], what: str) -> None:
        self.item, self.what = item, what
        self.names = dict(kinds) if isinstance(kinds, Mapping) else {kind: kind for kind in kinds}
        self.known = list(dict.fromkeys(self.names.values()))
        self.arrow = pa.list_(pa.struct([("kind", pa.string()), *item.arrow]))

    def wire(self, form: int) -> pa.DataType:
        fields = self.item.wire(0)
        if form:
            return pa.list_(pa.struct([("kind", pa.string()), *fields]))
        return pa.map_(pa.string(), pa.list_(fields))

    def settle(self, array: pa.Array) -> pa.Array:
        array = super().settle(array)
        if pa.types.is_map(array.type):
            offsets, groups = lists(_entries(array))
            inner, items = lists(groups.field("value"))
            kind = groups.field("key").take(pa.array(owners(inner)))
            offsets = inner[offsets]
        else:
            offsets, items = lists(array)
            kind = items.field("kind")
        if kind.null_count:
            raise _Unusual
        coded = kind.dictionary_encode()
        names = [self.names.get(name, name) for name in coded.dictionary.to_pylist()]
        kind = pa.DictionaryArray.from_arrays(coded.indices, pa.array(names, pa.string())).dictionary_decode()
        known = pc.is_in(kind, pa.array(self.known, pa.string())).to_numpy(zero_copy_only=False)
        settled = self.item.settle(items.filter(pa.array(known)))
        places = pa.array(np.cumsum(known) - 1, mask=~known)
        columns = [kind, *(settled.field(name).take(places) for name in self.item.fields)]
        items = pa.StructArray.from_arrays(columns, fields=list(self.arrow.value_type))
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), items)

    def plain(self, values: list, form: int) -> None:
        known = values
        if all(issubclass(kind, dict) for kind in set(map(type, values))):
            groups = [(kind, group) for value in values for kind, group in value.items() if group is not None]
            if not all(isinstance(kind, str) for kind, _ in groups):
                raise _Unusual  # pyarrow reads bytes as text
            values = [group for _, group in groups]
            known = [group for kind, group in groups if kind in self.names]
        # and a text as a list of its characters, a dict as one of its keys.
        if any(issubclass(kind, (str, bytes, Mapping)) for kind in set(map(type, values))):
            raise _Unusual
        self.item.plain(list(chain.from_iterable(known)), 0)

    def read(self, value: Any) -> list[dict]:
        found: list[dict] = []
        if isinstance(value, Mapping):
            for kind, group in value.items():
                try:
                    name = self._kind(kind)
                    if group is None:
                        continue
                    if name in self.known:
                        found += [{"kind": name, **record} for record in Items(self.item, self.what).read(group)]
                    else:
                        length = len(group) if isinstance(group, (list, tuple, set, frozenset, np.ndarray)) else 1
                        found += [{"kind": name}] * length
                except Mistake as mistake:
                    raise mistake.within(f".{kind}" if kind in self.names else f"[{shown(kind)}]") from None
            return found
        if not isinstance(value, (list, tuple, np.ndarray)) or not has_items(value):
            raise self.refuse(value)
        for item in value:
            try:
                found.append(self._named(item))
            except Mistake as mistake:
                raise mistake.within(f"[{len(found)}]") from None
        return found

    def _named(self, item: Any) -> dict:
        if not isinstance(item, Mapping):
            raise self.item.refuse(item)
        renamed = self.item.renamed(item)
        if renamed.get("kind") is None:
            raise Mistake("missing, expected a kind, as these are not grouped by kind", ".kind")
        try:
            kind = self._kind(renamed["kind"])
        except Mistake as mistake:
            raise mistake.within(".kind") from None
        return {"kind": kind, **(self.item.read(item) if kind in self.known else {})}

    def _kind(self, name: Any) -> str:
        name = Text("a kind (text)").read(name)
        return self.names.get(name, name)


def _entries(column: pa.MapArray) -> pa.ListArray:
    """A column of maps as lists of key and value."""
    entries = pa.StructArray.from_arrays([column.keys, column.items], ["key", "value"])
    return pa.ListArray.from_arrays(column.offsets, entries)


def _relist(array: pa.ListArray, values: pa.Array) -> pa.ListArray:
    """The lists of `array` over other values."""
    return pa.ListArray.from_arrays(array.offsets, values)


# --- reading a batch --------------------------------------------------------------------------------------------------


def has_items(value: Any) -> bool:
    """Whether a value has items, as lists have them."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes)) and getattr(value, "ndim", 1) > 0


def rows(given: Any, side: str, columns: Iterable[str]) -> list:
    """A batch as a list of records, whatever it was given as.

    Parameters
    ----------
    given : iterable of records, dict of columns, or datasets.Dataset
    side : str
        The name of the batch, for errors.
    columns : iterable of str
        The keys that count in a dict of columns.

    Raises
    ------
    ValueError
        If it is none of these, or columns differ in length.
    """
    if not has_items(given):
        raise ValueError(f"{side}: {shown(given)} is not a list of records")
    if hasattr(given, "with_format") and hasattr(given, "column_names"):
        given = given.with_format(None)  # a datasets.Dataset; its torch or numpy format would change the values
        known_names = [name for name in given.column_names or () if name in set(columns)]
        if given.column_names and not known_names:
            raise ValueError(
                f"{side}: a dataset of {', '.join(given.column_names)} has none of the columns {', '.join(columns)}"
            )
        if given.column_names:
            given = given.select_columns(known_names)
        if hasattr(given, "to_list"):
            return given.to_list()
    if not isinstance(given, Mapping):
        return list(given)
    known = {name: given[name] for name in columns if given.get(name) is not None}
    if not known:
        raise ValueError(f"{side}: {shown(given)} is not a list of records, nor columns {', '.join(columns)}")
    for name, column in known.items():
        if not has_items(column):
            raise ValueError(f"{side}.{name}: {shown(column)} is not a column (a list with one value a record)")
    known = {name: list(column) for name, column in known.items()}
    lengths = {name: len(column) for name, column in known.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(f"{side}: columns differ in length: {listed}")
    return [dict(zip(known, values, strict=True)) for values in zip(*known.values(), strict=True)]


def convert(records: list, schema: Node, side: str) -> pa.StructArray:
    """Records to a checked Arrow column.

    Parameters
    ----------
    records : list
    schema : Node
        What a record is.
    side : str
        The name that errors begin with; the record's index follows in brackets.

    Returns
    -------
    pyarrow.StructArray
        Of type ``schema.arrow``, one row a record.

    Raises
    ------
    ValueError
        With the place, the value and what was expected, in one line.
    """
    if not records:
        return pa.array([], schema.arrow)
    starts = range(0, len(records), CHUNK)
    return pa.concat_arrays([_convert_chunk(records[start : start + CHUNK], schema, side, start) for start in starts])


def _convert_chunk(records: list, schema: Node, side: str, start: int) -> pa.StructArray:
    dressed = schema.dressed(records)
    for form in range(schema.forms if len(records) > FEW else 0):
        try:
            array = pa.array(dressed, schema.wire(form))
            look = partial(schema.plain, array=array) if isinstance(schema, Record) else schema.plain
            look(dressed, form)
            return schema.settle(array)
        except (_Unusual, *_ARROW_ERRORS):
            continue
    walked = []
    for index, record in enumerate(records, start):
        try:
            walked.append(schema.read(record))
        except Mistake as mistake:
            raise mistake.within(f"{side}[{index}]").error() from None
    return pa.array(walked, schema.arrow)


# --- columns to numpy -------------------------------------------------------------------------------------------------


def lists(column: pa.Array) -> tuple[np.ndarray, pa.Array]:
    """A column of lists as offsets (int64, one more than rows, from 0) and the values of all rows, end to end."""
    lengths = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False)
    offsets = np.zeros(len(column) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets, column.flatten()


def integers(column: pa.Array) -> np.ndarray:
    """A column of integers without nulls."""
    return column.to_numpy(zero_copy_only=False)


def present(column: pa.Array) -> np.ndarray:
    """Which values of a column are not null."""
    return column.is_valid().to_numpy(zero_copy_only=False)


def owners(offsets: np.ndarray) -> np.ndarray:
    """For each value of a column of lists, the row it belongs to."""
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))


# --- indices into something -------------------------------------------------------------------------------------------


def check_inside(indices: np.ndarray, limits: np.ndarray, place: Callable[[int], str], what: str) -> None:
    """Refuse indices past the end of what they count.

    Parameters
    ----------
    indices, limits : ndarray of int, shape (n,)
        Each index and how many things there are; a negative limit is not known.
    place : callable
        From the place in `indices` to what an error calls it.
    what : str
        What the limit is.

    Raises
    ------
    ValueError
    """
    past = (indices >= limits) & (limits >= 0)
    if past.any():
        at = int(np.argmax(past))
        raise ValueError(f"{place(at)}: {indices[at]} is past the end, expected an index below {limits[at]}, {what}")


def check_same_length(predicted: pa.Int32Array, gold: pa.Int32Array, order: np.ndarray) -> None:
    """Refuse predictions whose number of tokens is not that of their reference: their indices do not mean the same.

    The tokens themselves may differ, as models lower-case or escape them.

    Parameters
    ----------
    predicted, gold : pyarrow.Int32Array
        Numbers of tokens, null where they are not known.
    order : ndarray of int
        The reference of each prediction.
    """
    expected = gold.take(pa.array(order))
    differ = pc.not_equal(predicted, expected).fill_null(False)
    if pc.any(differ).as_py():
        at = pc.index(differ, True).as_py()
        raise ValueError(
            f"predictions[{at}].tokens: {predicted[at]} tokens, expected {expected[at]} as in the reference, "
            f"since indices count from its tokens"
        )


# --- pairing ----------------------------------------------------------------------------------------------------------


def listing(names: Iterable[object]) -> str:
    """The first few names, and how many more there are."""
    names = list(names)
    more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
    return ", ".join(shown(name) for name in names[:LISTED]) + more


def pair(predictions: pa.Array, references: pa.Array) -> tuple[np.ndarray, str]:
    """Which reference each prediction belongs to.

    Parameters
    ----------
    predictions, references : pyarrow.StringArray
        The ids, null where a record has none.

    Returns
    -------
    order : ndarray of int64, shape (n,)
        ``order[i]`` is the reference of prediction ``i``.
    kind : {"id", "position"}

    Raises
    ------
    ValueError
        There is no reference, some records of a side lack an id, an id is missing, unknown or repeated (up to five are
        named), or records pair by position and their numbers differ.
    """
    if not len(references):
        raise ValueError("references: there are none, expected at least one record")
    sides = dict(zip(SIDES, (predictions, references), strict=True))
    for side, ids in sides.items():
        if 0 < ids.null_count < len(ids):
            first = pc.index(ids.is_null(), True).as_py()
            raise ValueError(f"{side}[{first}].id: missing, expected an id, as other {side} have one")
    if predictions.null_count or references.null_count or not len(predictions):
        if len(predictions) != len(references):
            raise ValueError(
                f"{len(predictions)} predictions for {len(references)} references: without ids on both sides, "
                f"expected one prediction for each reference, in the same order"
            )
        return np.arange(len(references)), "position"
    if predictions.equals(references) and len(references) == pc.count_distinct(references).as_py():
        return np.arange(len(references)), "id"
    for side, ids in sides.items():
        counts = pc.value_counts(ids)
        repeated = counts.filter(pc.greater(counts.field("counts"), 1)).field("values").to_pylist()
        if repeated:
            raise ValueError(f"{side}: repeated ids {listing(repeated)}, expected each id once")
    order = pc.index_in(predictions, references)
    if order.null_count:
        unknown = predictions.filter(order.is_null()).to_pylist()
        raise ValueError(f"predictions: ids {listing(unknown)} are not among the references'")
    if len(predictions) < len(references):
        absent = references.filter(pc.invert(pc.is_in(references, predictions))).to_pylist()
        raise ValueError(f"predictions: none for ids {listing(absent)} of the references")
    return order.to_numpy(zero_copy_only=False).astype(np.int64), "id"


# --- options ----------------------------------------------------------------------------------------------------------

Check = Callable[[Any], Any]


def one_of(*choices: str) -> Check:
    """An option that takes one of these names."""

    def check(value: Any) -> str:
        if not isinstance(value, str) or value not in choices:
            raise Mistake(f"{shown(value)} is not one of {', '.join(choices)}")
        return value

    return check


def flag(value: Any) -> bool:
    """An option that is on or off."""
    return Flag().read(value)


def number(minimum: float, maximum: float, what: str) -> Check:
    """An option that takes a number from `minimum` to `maximum`, both included."""

    def check(value: Any) -> float:
        value, given = Number(what).read(value), value
        if not minimum <= value <= maximum:
            raise Mistake(f"{shown(given)} is not {what}")
        return value

    return check


def or_none(check: Check) -> Check:
    """An option that may be None too."""
    return lambda value: None if value is None else check(value)


def _groups(value: Any) -> list[str]:
    if isinstance(value, Set):
        raise Mistake(f"{shown(value)} has no order, expected a list of keys, one a reference")
    return Items(Identifier("a key (text or a whole number)"), "a list of keys, one a reference").read(value)


# The options of confidence intervals, which every metric takes.
CONFIDENCE: dict[str, Check] = {
    "confidence_level": or_none(number(math.ulp(0.0), math.nextafter(1.0, 0.0), "a number above 0, below 1")),
    "n_resamples": Integer("a number of resamples", minimum=1).read,
    "random_state": Integer("a seed").read,
    "interval_method": one_of("percentile", "bca"),
    "groups": or_none(_groups),
}


def checked_options(given: Mapping[str, Any], checks: Mapping[str, Check], metric: str) -> dict[str, Any]:
    """Options as `_compute` takes them; an unknown name or a bad value is a ValueError that names the choices."""
    checked = {}
    for name, value in given.items():
        if name not in checks:
            raise ValueError(f"{name}: not an option of {metric}, expected one of {', '.join(checks)}")
        try:
            checked[name] = checks[name](value)
        except Mistake as mistake:
            raise mistake.within(name).error() from None
    return checked


# --- the part of a metric that collects records -----------------------------------------------------------------------


class Staging:
    """Mixed into an ``evaluate.Metric``: records are checked when added, kept as Arrow columns, and scored at once.

    Adding refuses a batch whole or takes it whole, and ``compute`` gives up what was added only when it has a result,
    so after any error the metric holds what it held before. Several processes (``num_process``) exchange their columns
    through evaluate's own shared cache files; if scoring fails after that, the first process keeps what was gathered.

    A metric gives

    * ``schemas``, what a record of each side is;
    * ``option_checks``, a check for each option of ``_compute``;
    * ``_compute(predictions, references, **options)``, which gets both sides as ``pyarrow.StructArray``;
    * ``_count``, which takes the same, and ``_statistics``, from what it gives of one or more systems to
      ``resampling.Statistics``;
    * if it needs to, ``_read``, which turns a batch of a side into such an array, and ``_kept``, the type of that array
      where it is not the schema's.
    """

    schemas: dict[str, Node]
    option_checks: dict[str, Check]
    _columns: dict[str, list[pa.Array]]

    def _read(self, side: str, batch: Any) -> pa.Array:
        """One batch of a side to its checked column."""
        schema = self.schemas[side]
        return convert(rows(batch, side, schema.keys), schema, side)

    def _kept(self, side: str) -> pa.DataType:
        """How the records of a side are kept."""
        return self.schemas[side].arrow

    def _read_both(self, given: dict[str, Any]) -> dict[str, list[pa.Array]]:
        unknown = [name for name in given if name not in SIDES]
        if unknown:
            raise ValueError(f"{unknown[0]}: not an input of {self.name}, expected predictions and references")  # type: ignore[attr-defined]
        return {side: [] if given.get(side) is None else [self._read(side, given[side])] for side in SIDES}

    @property
    def _held(self) -> dict[str, list[pa.Array]]:
        return self.__dict__.setdefault("_columns", {side: [] for side in SIDES})

    def __len__(self) -> int:
        """The number of records added so far, of the side that has more."""
        return max(sum(map(len, columns)) for columns in self._held.values())

    def add_batch(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Add a batch of records; a batch with a mistake is refused whole.

        Parameters
        ----------
        predictions, references : list of records, dict of columns, or datasets.Dataset
            Either may be left out, and the two may differ in number: they are paired at ``compute``.

        Raises
        ------
        ValueError
            With the place of the first mistake, the value there and what was expected.
        """
        fresh = self._read_both({"predictions": predictions, "references": references, **kwargs})
        for side, columns in fresh.items():
            self._held[side].extend(columns)

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Add one record of each side; see ``add_batch``."""
        # evaluate.combine passes the plural names
        given = {"predictions": prediction, "references": reference, **kwargs}
        self.add_batch(**{side: None if value is None else [value] for side, value in given.items()})

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any] | None:
        """Score all that was added, and what is given here.

        Parameters
        ----------
        predictions, references : list of records, dict of columns, or datasets.Dataset, optional
        **options
            See the metric's description.

        Returns
        -------
        dict or None
            The scores, as plain Python; None in every process but the first.

        Raises
        ------
        ValueError
            For a mistake in a record or option; what had been added before is still there.
        """
        options = checked_options(options, self.option_checks, self.name)  # type: ignore[attr-defined]
        fresh = self._read_both({"predictions": predictions, "references": references})
        whole = {side: self._join(side, self._held[side] + fresh[side]) for side in SIDES}
        if self.num_process > 1:  # type: ignore[attr-defined]
            gathered = self._gather(whole)
            self._columns = {side: [] for side in SIDES}
            if gathered is None:
                return None
            whole = gathered
            self._columns = {side: [column] for side, column in whole.items()}
        result = self._compute(**whole, **options)  # type: ignore[attr-defined]
        self._columns = {side: [] for side in SIDES}
        return result

    def statistics(self, *, predictions: Iterable[Any], references: Any, **options: Any) -> Any:
        """What comparing systems needs: sums of each system's documents, and a function from these to scores.

        What had been added is neither used nor touched.

        Parameters
        ----------
        predictions : list of the predictions of each system
        references : list of records, dict of columns, or datasets.Dataset
        **options
            Of ``compute``.

        Returns
        -------
        resampling.Statistics

        Raises
        ------
        ValueError
            As ``compute``; for predictions with the number of the system before it, counted from 1.
        """
        options = checked_options(options, self.option_checks, self.name)  # type: ignore[attr-defined]
        gold = self._join("references", self._read_both({"references": references})["references"])
        counted = []
        for number, given in enumerate(predictions, 1):
            try:
                column = self._join("predictions", self._read_both({"predictions": given})["predictions"])
                counted.append(self._count(column, gold, **options))  # type: ignore[attr-defined]
            except ValueError as error:
                raise ValueError(f"system {number}: {error}") from None
        return self._statistics(counted)  # type: ignore[attr-defined]

    def _join(self, side: str, columns: list[pa.Array]) -> pa.Array:
        if not columns:
            return pa.array([], self._kept(side))
        return columns[0] if len(columns) == 1 else pa.concat_arrays(columns)

    def _gather(self, part: dict[str, pa.Array]) -> dict[str, pa.Array] | None:
        """Give this process's columns to evaluate's shared cache; the first process gets those of all, in their order.

        A table has one number of rows, so the shorter side is filled up with nulls, which no record is. A process
        returns only when its part was taken: with evaluate alone, one that is soon back for the next round would write
        over the part that the first process is about to read.
        """
        n_rows = max(map(len, part.values()))
        padded = [pa.concat_arrays([column, pa.nulls(n_rows - len(column), column.type)]) for column in part.values()]
        module: Any = self
        module.selected_feature_format = module.features
        try:
            module._init_writer()
            module.writer.write_table(pa.table(padded, names=list(part)))
            module._finalize()
            if module.process_id > 0:
                _wait_until_gone(Path(module.cache_file_name), module.timeout)
                return None
            # A copy, by filtering: the files that the table is mapped to are about to go.
            table = module.data.with_format("arrow")[:]
            gathered = {
                side: self._join(side, [chunk.filter(chunk.is_valid()) for chunk in table.column(side).chunks])
                for side in part
            }
            # Its own file first: a process whose file is gone may begin the next round, and must find no lock of this.
            for lock, path in zip(module.filelocks, module.file_paths, strict=True):
                lock.release()
                Path(path).unlink()
            return gathered
        finally:
            for lock in (module.filelock, module.rendez_vous_lock):
                if lock is not None:
                    lock.release()
            module.writer = module.data = module.filelocks = module.file_paths = None
            module.cache_file_name = module.filelock = module.selected_feature_format = None


def _wait_until_gone(path: Path, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while path.exists():
        if time.monotonic() > deadline:
            raise ValueError(f"{path}: still there after {timeout} s, expected the first process to take its records")
        time.sleep(0.01)
