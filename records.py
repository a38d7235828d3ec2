"""Descriptions of records, and one way of reading: from the values a user gives to checked columns.

A metric describes a record as a tree of `Record`, `Items` and the kinds of single values in ``values.py``. Each node
has one method, `read`, which turns a list of values into a column. Reading goes level by level over a whole batch: the
values of a field of all records come first into one list, then into one column. Every mistake is noted with its place,
and a refused value becomes a missing one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import chain, pairwise, repeat
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from .columns import Column, Lists, Struct, concatenate_columns, spread, take, to_offsets
from .mistakes import Mistakes, Places, Refused, quote, quote_some, write_path
from .options import Options
from .values import (
    PLAIN,
    Integer,
    Node,
    Number,
    Text,
    Types,
    is_unicode,
    read_one_by_one,
    to_strings,
    types_of,
    unwrap,
)

_AT_ONCE = 1024  # small records read at a time


class Items(Node):
    """A list of values of one kind: a list, a tuple, a set, a numpy array or another sequence, but no string.

    Parameters
    ----------
    item : Node
    expected : str
    """

    def __init__(self, item: Node, expected: str) -> None:
        self.item, self.expected = item, expected

    def read(self, values: Sequence[Any], places: Places, mistakes: Mistakes, types: Types = None) -> Lists:
        types = types or types_of(values)
        if types == {np.ndarray} and isinstance(self.item, Integer) and all(map(_is_integer_array, values)):
            # Spans as numpy arrays: no number becomes a Python object.
            lengths = np.fromiter(map(len, values), np.int64, len(values))
            flat: Any = np.concatenate(values)
        else:
            if not types <= {list, tuple}:
                lists = read_one_by_one(values, self.read_one, places, mistakes, None)
                rows = [at for at, items in enumerate(lists) if items is not None]
                if len(rows) < len(values):
                    column = self.read([lists[at] for at in rows], places.rows(rows), mistakes)
                    wide: Lists = spread(column, rows, len(values))
                    return wide
                values = lists
            lengths = np.fromiter(map(len, values), np.int64, len(values))
            flat = list(chain.from_iterable(values))
        offsets = to_offsets(lengths)
        column = Lists(offsets, self.item.read(flat, places.items(offsets), mistakes))
        self.check(column, values, places, mistakes)
        return column

    def check(self, column: Lists, values: Sequence[Any], places: Places, mistakes: Mistakes) -> None:
        """Note lists that are wrong as a whole."""

    def read_one(self, value: Any) -> Sequence[Any]:
        """One value as a list or a tuple; `Refused` if it is no list."""
        if isinstance(value, (list, tuple)):
            return value
        is_list = value.ndim > 0 if isinstance(value, np.ndarray) else isinstance(value, (Sequence, Set))
        if isinstance(value, str) or not (is_list or _is_machine_array(value)):
            raise self.refuse(value)
        is_numbers = isinstance(value, memoryview) and isinstance(self.item, (Integer, Number))
        if isinstance(value, (bytes, bytearray, memoryview)) and not is_numbers:
            raise self.refuse(value)
        try:
            return list(value)
        except Exception:  # a sequence of another library may raise anything
            raise self.refuse(value) from None

    def missing(self, n: int) -> Lists:
        return Lists(np.zeros(n + 1, np.int64), self.item.missing(0), np.zeros(n, bool))

    def feature(self) -> Any:
        return [self.item.feature()]


class Span(Items):
    """Token indices: a list of at least one whole number.

    A list of nothing but 0 and 1 with repeats is refused, since it looks like a mask: one number a token, 1 for the
    tokens of the span.
    """

    def __init__(self, expected: str) -> None:
        super().__init__(Integer("a token index"), expected)

    def check(self, column: Lists, values: Sequence[Any], places: Places, mistakes: Mistakes) -> None:
        lengths, ends = column.lengths, column.offsets[1:]
        if len(lengths) and not lengths.min():
            for at in np.flatnonzero(lengths == 0).tolist():
                mistakes.add(places(at), f"{quote(values[at])} is empty, expected {self.expected}")
        long = np.flatnonzero(lengths > 1)
        # Few spans begin and end with 0 or 1, so that only these are looked at one by one.
        may_be_mask = (column.items[ends[long] - lengths[long]] <= 1) & (column.items[ends[long] - 1] <= 1)
        for at in long[may_be_mask].tolist():
            span = column.items[ends[at] - lengths[at] : ends[at]].tolist()
            if len(set(span)) < len(span) and set(span) <= {0, 1}:
                words = f"looks like a mask (0 and 1 repeat), expected {self.expected}"
                mistakes.add(places(at), f"{quote(values[at])} {words}")


def _is_integer_array(array: np.ndarray) -> bool:
    return array.ndim == 1 and array.dtype.kind in "iu"


def _is_machine_array(value: Any) -> bool:
    """Whether a value is of Python's ``array.array`` or a view of memory, which are not registered as sequences."""
    return isinstance(value, memoryview) or type(value).__module__ == "array"


class Tokens(Node):
    """The tokens of a sentence.

    The column is a `Struct` with the fields ``number`` (of tokens) and ``text``: the tokens joined by a null character,
    enough to compare the tokens of two sentences.
    """

    def __init__(self) -> None:
        self._items = Items(Text("a token"), "a list of tokens")
        self.expected = self._items.expected

    def read(self, values: Sequence[Any], places: Places, mistakes: Mistakes, types: Types = None) -> Struct:
        try:
            texts = list(map("\0".join, values)) if (types or types_of(values)) <= {list, tuple} else None
        except TypeError:  # a token is no string
            texts = None
        if texts is None or not is_unicode(texts):
            lists = self._items.read(values, places, mistakes, types)
            starts, tokens = lists.offsets.tolist(), lists.items.tolist()
            values = [tokens[start:end] for start, end in pairwise(starts)]
            texts = ["\0".join(token or "" for token in sentence) for sentence in values]
        return Struct({"number": np.fromiter(map(len, values), np.int64, len(values)), "text": to_strings(texts)})

    def missing(self, n: int) -> Struct:
        return Struct({"number": np.full(n, -1), "text": to_strings([None] * n)}, np.zeros(n, bool))

    def feature(self) -> Any:
        return self._items.feature()


def split_tokens(text: str) -> list[str]:
    """The tokens of a sentence, from the field ``text`` of a column of `Tokens`."""
    return text.split("\0")


class Optional(Node):
    """A value that may be missing or None."""

    def __init__(self, node: Node) -> None:
        self.node, self.expected = node, node.expected

    def read(self, values: Sequence[Any], places: Places, mistakes: Mistakes, types: Types = None) -> Column:
        types = types or types_of(values)
        if not types <= PLAIN:  # pyarrow has a null of its own
            values = list(map(unwrap, values))
            types = types_of(values)
        if type(None) not in types:
            return self.node.read(values, places, mistakes, types)
        if len(types) == 1:
            return self.node.missing(len(values))
        rows = [at for at, value in enumerate(values) if value is not None]
        column = self.node.read([values[at] for at in rows], places.rows(rows), mistakes)
        return spread(column, rows, len(values))

    def missing(self, n: int) -> Column:
        return self.node.missing(n)

    def feature(self) -> Any:
        return self.node.feature()


class Either(Node):
    """A value of one of several kinds.

    The column is a `Struct` with a field for each kind, of which one is filled, and a field ``kind``: the number of the
    kind, in the order of `kinds`.

    Parameters
    ----------
    expected : str
    choose : callable
        From a value to the name of its kind, or None for a value of no kind.
    by_type : bool
        Whether the type of a value alone decides, so that `choose` is asked once a type.
    **kinds : Node
    """

    def __init__(
        self, expected: str, choose: Callable[[Any], str | None], by_type: bool = False, **kinds: Node
    ) -> None:
        self.expected, self.choose, self.by_type, self.kinds = expected, choose, by_type, kinds

    @property
    def keys(self) -> list[str]:
        """The keys of all kinds that are records."""
        return list(dict.fromkeys(key for node in self.kinds.values() for key in getattr(node, "keys", ())))

    def read(self, values: Sequence[Any], places: Places, mistakes: Mistakes, types: Types = None) -> Struct:
        if self.by_type:
            types = types or types_of(values)
            if not types <= PLAIN:
                values = list(map(unwrap, values))
                types = types_of(values)
            examples = {kind: next(value for value in values if type(value) is kind) for kind in types}
            of_type = {kind: self.choose(value) for kind, value in examples.items()}
            chosen = set(of_type.values())
        else:
            names = list(map(self.choose, values))
            chosen = set(names)
        if len(chosen) == 1 and None not in chosen:
            (name,) = chosen
            rows: dict[str | None, Sequence[int] | None] = {name: None}
        else:
            if self.by_type:
                names = [of_type[type(value)] for value in values]
            rows = {name: [at for at, other in enumerate(names) if other == name] for name in chosen}
        for at in rows.pop(None, None) or ():
            mistakes.add(places(at), self.refuse(values[at]).words)
        kind = np.full(len(values), -1)
        fields: dict[str, Column] = {"kind": kind}
        for number, (name, node) in enumerate(self.kinds.items()):
            if name not in rows:
                fields[name] = node.missing(len(values))
                continue
            here = rows[name]
            kind[slice(None) if here is None else here] = number
            if here is None:
                fields[name] = node.read(values, places, mistakes, types)
            else:
                column = node.read([values[at] for at in here], places.rows(here), mistakes)
                fields[name] = spread(column, here, len(values))
        return Struct(fields)

    def missing(self, n: int) -> Struct:
        fields = {name: node.missing(n) for name, node in self.kinds.items()}
        return Struct({"kind": np.full(n, -1), **fields}, np.zeros(n, bool))

    def feature(self) -> Any:
        return {name: node.feature() for name, node in self.kinds.items()}


# The values of a key, and the indices of the records that have it, None if all have it.
_Values = tuple[Sequence[Any], list[int] | None]


class Record(Node):
    """A dict with known keys; other keys are ignored.

    Parameters
    ----------
    fields : dict of str to Node
        The value of each key. A key that may be missing has an `Optional` value.
    expected : str
    other : callable, optional
        From a value that is no dict to the dict it stands for, or None.
    bare : str, optional
        The field that a list stands for, where a list is given for a record.
    as_tuple : bool
        Whether the values alone, in the order of `fields`, are a record too.
    aliases : mapping of str to str, optional
        Other names of keys, each with its key. A key that is given under two names with different values is a mistake.
    only_in : dict of str to (str, set of str), optional
        Fields that are read only in records in which another field, of text, has one of these
        values. Such a field is `Optional` and comes after that other one.
    """

    def __init__(
        self,
        fields: dict[str, Node],
        expected: str,
        other: Callable[[Any], dict[str, Any] | None] = lambda value: None,
        as_tuple: bool = False,
        aliases: Mapping[str, str] | None = None,
        only_in: dict[str, tuple[str, set[str]]] | None = None,
        bare: str | None = None,
    ) -> None:
        self.fields, self.expected, self.other, self.as_tuple = fields, expected, other, as_tuple
        self.aliases = dict(aliases or {})
        self.only_in, self.bare = only_in or {}, bare

    @property
    def keys(self) -> list[str]:
        """The keys that count in a record, and so in a dict of columns."""
        return [*self.fields, *self.aliases]

    def read(self, values: Sequence[Any], places: Places, mistakes: Mistakes, types: Types = None) -> Struct:
        try:
            return self._read_fields(self._by_key(values), values, places, mistakes)
        except (TypeError, IndexError):
            # A value is no dict, or has a key under another name.
            return self._read_unusual(values, places, mistakes)

    def _by_key(self, values: Sequence[Any]) -> dict[str, _Values]:
        """The values of each key, and the indices of the dicts that have it if not all do.

        A key that no dict has may be left out. Raises TypeError for dicts that `_read_unusual` has to read.
        """
        first = values[0] if len(values) else {}
        if not isinstance(first, dict):
            raise TypeError
        given: dict[str, _Values] = {}
        n_found = 0
        for name, node in self.fields.items():
            if name in self.only_in or (isinstance(node, Optional) and name not in first):
                continue
            try:
                given[name] = list(map(itemgetter(name), values)), None
                n_found += 1
            except KeyError:
                if types_of(values) != {dict}:
                    raise TypeError from None
                rows = [at for at, value in enumerate(values) if name in value]
                given[name] = [values[at][name] for at in rows], rows
        # Dicts with as many keys as were found in all of them have no other key.
        if not n_found or set(map(len, values)) != {n_found}:
            if self.aliases and not all(map(self.aliases.keys().isdisjoint, values)):
                raise TypeError
            for name in self.fields.keys() - self.only_in.keys() - given.keys():
                given[name] = list(map(dict.get, values, repeat(name))), None
        return given

    def _read_unusual(self, values: Sequence[Any], places: Places, mistakes: Mistakes) -> Struct:
        n, types = len(values), types_of(values)
        columns: dict[str, Sequence[Any]] = {}
        if self.as_tuple and types == {tuple} and set(map(len, values)) == {len(self.fields)}:
            columns = dict(zip(self.fields, zip(*values, strict=True), strict=True))
        elif self.bare is not None and types <= {list, tuple}:
            columns = {name: values if name == self.bare else [None] * n for name in self.fields}
        if columns:
            given: dict[str, _Values] = {name: (column, None) for name, column in columns.items()}
            return self._read_fields(given, values, places, mistakes)
        records = read_one_by_one(values, self.read_one, places, mistakes, None)
        rows = [at for at, record in enumerate(records) if record is not None]
        column = self.read([records[at] for at in rows], places.rows(rows), mistakes)
        return column if len(rows) == n else spread(column, rows, n)

    def _read_fields(
        self, given: dict[str, _Values], records: Sequence[Any], places: Places, mistakes: Mistakes
    ) -> Struct:
        """Read the values of each field, which come from `_by_key`, or from the only records that have it."""
        n, fields = len(records), dict[str, Column]()
        for name, node in self.fields.items():
            here = places.field(name)
            if name in self.only_in:
                other, kinds = self.only_in[name]
                rows: list[int] | None = [at for at, kind in enumerate(fields[other].tolist()) if kind in kinds]
                values: Sequence[Any] = [records[at].get(name) for at in rows or ()]
            elif name in given:
                values, rows = given[name]
            else:
                fields[name] = node.missing(n)
                continue
            if name in given and rows is not None and not isinstance(node, Optional):
                for at in sorted(set(range(n)).difference(rows)):
                    mistakes.add((*places(at), name), f"missing, expected {node.expected}; {list_keys(records[at])}")
            if rows is None:
                fields[name] = node.read(values, here, mistakes)
            else:
                fields[name] = spread(node.read(values, here.rows(rows), mistakes), rows, n)
        return Struct(fields)

    def read_one(self, value: Any) -> dict[str, Any]:
        """One value as a dict with the keys of the fields; `Refused` if it is no record."""
        names = getattr(value, "_fields", ()) if isinstance(value, tuple) else ()
        if not set(names).isdisjoint(self.keys):  # a named tuple may have the fields in another order
            value = dict(zip(names, value, strict=True))
        if not isinstance(value, Mapping):
            record = self._from_values(value) if self.as_tuple else self.other(value)
            if self.bare is not None and isinstance(value, (list, tuple, np.ndarray)):
                record = {self.bare: value}
            if record is None:
                raise self.refuse(value)
            return record
        return self.renamed(value) if self.aliases else dict(value)

    def _from_values(self, value: Any) -> dict[str, Any] | None:
        if isinstance(value, np.ndarray) and value.ndim:
            value = list(value)
        if not isinstance(value, (list, tuple)) or len(value) > len(self.fields):
            return self.other(value)
        return dict(zip(self.fields, value, strict=False))

    def renamed(self, value: Mapping[Any, Any]) -> dict[str, Any]:
        """The dict with its keys under their own names; `Refused` if two names of a key disagree."""
        renamed: dict[str, Any] = {}
        for key, item in value.items():
            name = self.aliases.get(key, key) if isinstance(key, str) else key
            if name in self.fields and not _agree(renamed.get(name), item):
                raise Refused(f"{quote(item)} contradicts {quote(renamed[name])}, given under another name", key)
            if item is not None or name not in renamed:
                renamed[name] = item
        return renamed

    def missing(self, n: int) -> Struct:
        return Struct({name: node.missing(n) for name, node in self.fields.items()}, np.zeros(n, bool))

    def feature(self) -> Any:
        return {name: node.feature() for name, node in self.fields.items()}


def list_keys(record: Mapping[Any, Any]) -> str:
    """The keys of a record, for the error that one is missing."""
    return f"the keys there are {quote_some(record)}" if record else "there is no key"


def _agree(value: Any, other: Any) -> bool:
    """Whether two values given for one key are the same, or one of them is None."""
    return value is None or other is None or value is other or bool(np.array_equal(value, other))


class Rows(Items):
    """A list of records, or its columns: the dict of lists that ``datasets`` makes of a list of dicts.

    Parameters
    ----------
    item : Record
    expected : str
    """

    item: Record

    def read_one(self, value: Any) -> Sequence[Any]:
        if not isinstance(value, Mapping):
            return super().read_one(value)
        known = {name: unwrap(column) for name, column in value.items() if name in self.item.keys}
        known = {name: column for name, column in known.items() if column is not None}
        for name, column in known.items():
            if not isinstance(column, (list, tuple, np.ndarray)):
                raise Refused(f"{quote(column)} is not a column (a list with one value an item)", name)
        lengths = {name: len(column) for name, column in known.items()}
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
            raise Refused(f"columns differ in length: {listed}, expected {self.expected}")
        if not known:
            raise self.refuse(value)
        names = [self.item.aliases.get(name, name) for name in known]
        if len(set(names)) < len(names):  # a column is given under two names, which may differ
            names = list(known)
        return [dict(zip(names, row, strict=True)) for row in zip(*known.values(), strict=True)]


class ByKind(Node):
    """Records of several kinds: a dict from kind to the list of its records, or one list of records with a key.

    The key is ``kind``. The column holds one list of records a value, each record with its kind. Of records of a kind
    that is not known, only the kind is kept, so that they can be counted.

    Parameters
    ----------
    item : Record
        A record without its kind. An alias of the key ``kind`` may be among its aliases.
    kinds : mapping of str to str
        The names of the known kinds, each with its kind.
    expected : str
    """

    def __init__(self, item: Record, kinds: Mapping[str, str], expected: str) -> None:
        self.item, self.kinds, self.expected = item, dict(kinds), expected
        self._known = set(self.kinds.values())
        self._kind = Text("a kind (text)")

    def read(self, values: Sequence[Any], places: Places, mistakes: Mistakes, types: Types = None) -> Lists:
        kinds: list[str] = []
        paths: list[tuple[int, tuple[int | str, ...]]] = []  # the value and the steps to each record of a known kind
        records: list[Any] = []
        known: list[int] = []
        lengths = np.zeros(len(values), np.int64)
        for at, value in enumerate(values):
            for kind, record, steps in self._records(unwrap(value), places(at), mistakes):
                if kind in self._known:
                    known.append(len(kinds))
                    records.append(record)
                    paths.append((at, steps))
                kinds.append(kind)
                lengths[at] += 1
        where = Places(lambda at: (*places(paths[at][0]), *paths[at][1]))
        items = spread(self.item.read(records, where, mistakes), known, len(kinds))
        return Lists(to_offsets(lengths), Struct({"kind": to_strings(kinds), **items.fields}))

    def _records(
        self, value: Any, path: tuple[int | str, ...], mistakes: Mistakes
    ) -> Iterator[tuple[str, Any, tuple[int | str, ...]]]:
        """The kind of each record of one value, the record, and the steps to it."""
        if isinstance(value, Mapping):
            for name, group in value.items():
                step = name if name in self.kinds else f"[{quote(name)}]"
                try:
                    kind = self._read_kind(name)
                    records = self._group(kind, unwrap(group))
                except Refused as refused:
                    mistakes.add((*path, step), refused.words)
                    continue
                yield from ((kind, record, (step, at)) for at, record in enumerate(records))
        elif isinstance(value, (list, tuple, np.ndarray)):
            for at, record in enumerate(value):
                try:
                    if not isinstance(record, Mapping):
                        raise self.item.refuse(record)
                    name = self.item.renamed(record).get("kind")
                except Refused as refused:
                    mistakes.add((*path, at, *refused.steps), refused.words)
                    continue
                try:
                    if name is None:
                        raise Refused("missing, expected a kind, as these are not grouped by kind")
                    yield self._read_kind(name), record, (at,)
                except Refused as refused:
                    mistakes.add((*path, at, "kind"), refused.words)
        else:
            mistakes.add(path, self.refuse(value).words)

    def _group(self, kind: str, group: Any) -> Sequence[Any]:
        """The records of a kind; of a kind that is not known, as many values as there are records."""
        if group is None:
            return ()
        if kind in self._known:
            return Items(self.item, self.expected).read_one(group)
        is_list = isinstance(group, (list, tuple, set, frozenset, np.ndarray))
        return [None] * (len(group) if is_list else 1)

    def _read_kind(self, name: Any) -> str:
        kind = self._kind.read_one(name)
        return self.kinds.get(kind, kind)

    def missing(self, n: int) -> Lists:
        kinds, items = self._kind.missing(0), self.item.missing(0)
        return Lists(np.zeros(n + 1, np.int64), Struct({"kind": kinds, **items.fields}), np.zeros(n, bool))

    def feature(self) -> Any:
        return [{"kind": "string", **self.item.feature()}]


# --- tasks ------------------------------------------------------------------------------------------------------------

# From the side, a batch as it was given, and the mistakes so far, to the column of the batch.
Read = Callable[[str, Any, Mistakes], Column]


class Task(NamedTuple):
    """The records and options of one configuration of a metric.

    Attributes
    ----------
    nodes : dict of str to Node
        The records of each side.
    read : callable
        Reads and checks a batch. Takes the side ("predictions" or "references"), the batch (a list of records, a dict
        of columns or a ``datasets.Dataset``) and a `Mistakes`, to which it adds every mistake. Returns the column of
        the records. A refused value is missing in it, or its record is left out.
    options : dict of str to Option
    """

    nodes: dict[str, Node]
    read: Read
    options: Options


# --- whole batches ----------------------------------------------------------------------------------------------------


def read_all(values: Sequence[Any], node: Node, places: Places, mistakes: Mistakes, at_once: int = _AT_ONCE) -> Column:
    """Read a batch some records at a time, so that these stay in the processor's cache; notes every mistake."""
    if len(values) <= at_once:
        return node.read(values, places, mistakes)
    starts = range(0, len(values), at_once)
    pieces = [
        node.read(values[start : start + at_once], places.rows(range(start, start + at_once)), mistakes)
        for start in starts
    ]
    return concatenate_columns(pieces)


def read_sound(
    values: Sequence[Any], node: Node, name: str, mistakes: Mistakes, at_once: int = _AT_ONCE
) -> tuple[Column, Places]:
    """Read a batch, and leave out the records with a mistake, so that later checks see sound records only.

    Parameters
    ----------
    values : list
    node : Node
    name : str
        The name of the batch, with which the places of errors begin.
    mistakes : Mistakes
        Gets every mistake.
    at_once : int
        Number of records to read at a time; fewer for large records.

    Returns
    -------
    column, places
        Of the records without a mistake.
    """
    places = Places.of_batch(name)
    column = read_all(values, node, places, mistakes, at_once)
    wrong = mistakes.records()
    if not wrong:
        return column, places
    sound = np.array([at for at in range(len(values)) if at not in wrong], np.int64)
    return take(column, sound), places.rows(sound.tolist())


def read_value(value: Any, node: Node) -> Column:
    """Read one value to a column of length 1; `Refused` at its first mistake."""
    mistakes = Mistakes()
    column = node.read([value], Places(lambda at: ()), mistakes)
    for path, words in mistakes.sorted()[:1]:
        raise Refused(words, *path)
    return column


def has_items(value: Any) -> bool:
    """Whether a value has items, as lists have them."""
    return isinstance(value, Iterable) and not isinstance(value, (str, bytes)) and getattr(value, "ndim", 1) > 0


def to_records(given: Any, name: str, keys: Iterable[str]) -> list[Any]:
    """A batch as a list of records.

    Parameters
    ----------
    given : iterable of records, dict or table of columns, or datasets.Dataset
    name : str
        The name of the batch, for errors.
    keys : iterable of str
        The keys that count in a dict of columns.

    Raises
    ------
    ValueError
        If it is none of these, or columns differ in length.
    """
    keys = list(keys)
    given = unwrap(given)
    if not has_items(given):
        raise ValueError(f"{name}: {quote(given)} is not a list of records")
    if isinstance(given, (set, frozenset)):
        raise ValueError(f"{name}: {quote(given)} has no order, expected a list of records")
    if hasattr(given, "with_format") and hasattr(given, "column_names"):
        given = given.with_format(None)  # the torch or numpy format of a datasets.Dataset would change the values
        known_names = [column for column in given.column_names or () if column in keys]
        if given.column_names and not known_names:
            raise ValueError(
                f"{name}: a dataset of {', '.join(given.column_names)} has none of the columns {', '.join(keys)}"
            )
        others = [column for column in given.column_names or () if column not in keys]
        if given.column_names:
            given = given.select_columns(known_names)
        if hasattr(given, "to_list"):
            return _with_others(given.to_list(), others)
    if not isinstance(given, Mapping):
        return list(given)
    columns = {key: unwrap(given[key]) for key in keys if key in given}
    known = {key: column for key, column in columns.items() if column is not None}
    if not known:
        raise ValueError(f"{name}: {quote(given)} is not a list of records, nor columns {', '.join(keys)}")
    for key, column in known.items():
        if not has_items(column) or isinstance(column, (set, frozenset)):
            lacking = "has no order, expected" if has_items(column) else "is not"
            raise ValueError(
                f"{write_path((name, key))}: {quote(column)} {lacking} a column (a list with one value a record)"
            )
    columns = {key: list(column) for key, column in known.items()}
    lengths = {key: len(column) for key, column in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{key} has {length}" for key, length in lengths.items())
        raise ValueError(f"{name}: columns differ in length: {listed}")
    records = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    return _with_others(records, [key for key in given if key not in keys])


def _with_others(records: list[dict[str, Any]], others: list[Any]) -> list[dict[str, Any]]:
    """Records made of columns, with the names of the columns that do not count, for the error that a key is missing."""
    return [record | dict.fromkeys(others) for record in records] if others else records


def check_inside(indices: np.ndarray, limits: np.ndarray, places: Places, counted: str, mistakes: Mistakes) -> None:
    """Note a mistake for each index past the end.

    Parameters
    ----------
    indices, limits : ndarray of int, shape (n,)
        Each index, and the number of things it counts. A negative limit is not known.
    places : Places
        Of the indices.
    counted : str
        The meaning of the limit, such as "the number of tokens".
    mistakes : Mistakes
    """
    for at in np.flatnonzero((indices >= limits) & (limits >= 0)).tolist():
        words = f"{indices[at]} is past the end, expected an index below {limits[at]}, {counted}"
        mistakes.add(places(at), words)
