r"""WebAnno TSV 3: one document a file, one token a line.

Versions 3.0 to 3.3 are read, as WebAnno and INCEpTION write them:

``#FORMAT=WebAnno TSV 3.3``
    The first line.
``#T_SP=webanno.custom.A_Event|a_Type|b_Subtype|ROLE_webanno.custom.A_Event:c_Participant_…Link|…B_Participant``
    A layer of spans with its columns. A slot feature has two, for roles and for targets. A layer without features has
    one. Features that have no value in the document have none. ``#T_RL=`` is a layer of relations, whose last column
    names the source; ``#T_CH=`` a layer of chains, which are not read.
``#Text=…``
    A sentence. Its tokens follow, one a line: ``1-2``, offsets, text, and the columns of all layers. A part of a token
    that an annotation covers has a line of its own, such as ``1-2.1``.

A cell is ``_`` without annotation, ``*`` for an annotation without value, else the value. Annotations on one token are
side by side: ``Deal|Rating``. Lines with the same number in brackets belong to one annotation: ``Deal[3]``. Slots are
joined by ``;``. A target is the number of its first line, with its own number if it has one: ``1-4[2]``. A relation is
on the line of its target, with the line of its source and the numbers of both: ``1-4[2_3]``, 0 for none. In values, a
backslash is before each of ``[ ] | _ ; * \`` and ``->``.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from spanscore.formats.files import TextFile, shorten
from spanscore.formats.webanno import Annotation, Document, Link

FIRST_LINE = "#FORMAT="
_VERSION = re.compile(r"#FORMAT=WebAnno TSV 3(\.\d+)?\s*")
_LAYER_LINES = {"#T_SP=": "span", "#T_RL=": "relation", "#T_CH=": "chain"}
_UNIT = re.compile(r"(\d{1,9})-(\d{1,9})(?:\.(\d{1,9}))?")
_OFFSETS = re.compile(r"(\d{1,9})-(\d{1,9})")
_ROLE = re.compile(
    r"ROLE_[^:]*:(.*)_([^_.]+\..+)"
)  # layer, feature and type of the link; feature names have underscores
_NUMBERED = re.compile(r"((?:\\.|[^\\])*?)\[(\d+)(?:_(\d+))?\]", re.DOTALL)
_ESCAPED = re.compile(r"\\(->|.)", re.DOTALL)
_NONE, _NO_VALUE = "_", "*"


class _Column(NamedTuple):
    """A column: ``role`` is one of "value", "slot role", "slot target", "source" and "unread"."""

    role: str
    feature: str
    target_layer: str = ""


class _Layer(NamedTuple):
    name: str
    kind: str
    first: int  # its first column, after those of token, offsets and text
    columns: list[_Column]


class _Pointer(NamedTuple):
    """A pointer to an annotation: the line where it begins, and its number, None if it has none."""

    unit: str
    number: int | None


@dataclass
class _Found:
    """An annotation that is being read."""

    id: str
    layer: str
    line: int
    sentence: int
    values: dict[str, str]
    slots: dict[str, list[tuple[str | None, str, _Pointer]]]  # role, layer and pointer of each target
    number: int | None = None
    ends: dict[str, tuple[str, _Pointer]] = field(default_factory=dict)  # layer and pointer of each end
    units: list[str] = field(default_factory=list)
    begin: int = 0
    end: int = 0
    whole: list[int] = field(default_factory=list)  # tokens that it covers whole
    partial: list[int] = field(default_factory=list)


def is_tsv(text: str) -> bool:
    """Whether a text begins as WebAnno TSV does, of any version that has a header."""
    return text.lstrip("\ufeff \t\r\n").startswith(FIRST_LINE)


def read_tsv(file: TextFile, layers: Collection[str], marks: Collection[str]) -> Document:
    """Read a document.

    A span has the tokens that it covers whole. A span that covers none whole, as its lines are those of parts of
    tokens, has these tokens.

    Parameters
    ----------
    file : TextFile
        Its name without suffix is the name of the document. A file that is no path, such as ``<stdin>``, gives none.
    layers : collection of str
        The layers to read, by their names without the package.
    marks : collection of str
        Features that only further layers to read have.

    Returns
    -------
    Document

    Raises
    ------
    ValueError
        The file is no WebAnno TSV 3. The message begins with file and line.
    """
    return _Tsv(file, layers, marks).document()


class _Tsv:
    """The lines of a file, and the annotations so far."""

    def __init__(self, file: TextFile, layers: Collection[str], marks: Collection[str]) -> None:
        self.file = file
        self.wanted, self.marks = layers, marks
        self.tokens: list[str] = []
        self.offsets: list[tuple[int, int]] = []  # of each token, in UTF-16 units
        self.index: dict[tuple[str, str], int] = {}  # from the numbers of sentence and token
        self.units: dict[str, int] = {}  # from the unit to its line
        self.found: list[_Found] = []
        self.numbered: dict[tuple[str, int], _Found] = {}
        self.at: dict[str, list[_Found]] = {}  # the annotations that begin at a unit
        self.layers, rows = self._header(list(file.lines()))
        for line, text in rows:
            if not text.startswith("#"):
                self._row(line, text)
            elif text.startswith(FIRST_LINE):
                raise file.error(line, "a second document begins, expected one document a file")
        if not self.tokens:
            raise file.error(1, "the document has no tokens, expected a WebAnno export")

    # --- header -------------------------------------------------------------------------------------------------------

    def _header(self, lines: list[tuple[int, str]]) -> tuple[list[_Layer], list[tuple[int, str]]]:
        """The layers, and the lines after them."""
        line, first = lines[0] if lines else (1, "")
        if not _VERSION.fullmatch(first.lstrip("\ufeff")):
            raise self.file.error(line, f"{shorten(first)!r} is not the first line, expected #FORMAT=WebAnno TSV 3.3")
        layers: list[_Layer] = []
        n_columns, at = 0, 1
        while at < len(lines):
            text = lines[at][1]
            kind = _LAYER_LINES.get(text[:6])
            if kind is None:
                break
            name, *columns = text[6:].rstrip().split("|")
            layer = _Layer(_short(name), kind, n_columns, _columns(kind, columns))
            n_columns, at = n_columns + len(layer.columns), at + 1
            has_mark = any(column.feature in self.marks for column in layer.columns)
            if kind != "chain" and (layer.name in self.wanted or has_mark):
                layers.append(layer)
        self.n_columns = n_columns
        return layers, lines[at:]

    # --- lines --------------------------------------------------------------------------------------------------------

    def _row(self, line: int, text: str) -> None:
        cells = text.split("\t")
        n_columns = self.n_columns
        if len(cells) == n_columns + 4 and not cells[-1]:
            cells.pop()
        unit, offsets = _UNIT.fullmatch(cells[0]), _OFFSETS.fullmatch(cells[1]) if len(cells) > 1 else None
        if unit is None or offsets is None:
            raise self.file.error(
                line, f"{shorten(text)!r} is not a line of a token, such as 1-1, 0-4, text and columns"
            )
        if len(cells) != n_columns + 3:
            raise self.file.error(
                line, f"{len(cells)} columns, expected {n_columns + 3}: 3 of the token and {n_columns} of the layers"
            )
        if cells[0] in self.units:
            raise self.file.error(line, f"{cells[0]} is the number of line {self.units[cells[0]]} too")
        self.units[cells[0]] = line
        sentence, token, part = unit.groups()
        place = int(offsets[1]), int(offsets[2])
        if part is None:
            self.index[sentence, token] = len(self.tokens)
            self.tokens.append(cells[2])
            self.offsets.append(place)
        elif (sentence, token) not in self.index:
            raise self.file.error(line, f"{cells[0]} is a part of a token that has no line before it")
        for layer in self.layers:
            own = cells[3 + layer.first : 3 + layer.first + len(layer.columns)]
            if not all(cell in ("", _NONE) for cell in own):
                self._cells(line, cells[0], self.index[sentence, token], place, part is not None, layer, own)

    def _cells(
        self,
        line: int,
        unit: str,
        token: int,
        place: tuple[int, int],
        is_part: bool,
        layer: _Layer,
        cells: Sequence[str],
    ) -> None:
        """Read the annotations of one layer on one line."""
        stacks = [_split(cell, "|") for cell in cells]
        n = max(map(len, stacks))
        if any(len(stack) not in (1, n) or (len(stack) < n and stack[0] not in ("", _NONE)) for stack in stacks):
            listed = ", ".join(str(len(stack)) for stack in stacks)
            raise self.file.error(line, f"{layer.name}: columns of {listed} annotations, expected as many in each")
        for at in range(n):
            values = [stack[at] if len(stack) == n else _NONE for stack in stacks]
            found = self._annotation(line, unit, layer, values)
            known = None if found.number is None else self.numbered.get((layer.name, found.number))
            if known is None:
                self.found.append(found)
                self.at.setdefault(unit, []).append(found)
                found.begin = place[0]
                if found.number is not None:
                    self.numbered[layer.name, found.number] = found
            else:
                self._check_continues(line, token, known, found)
                found = known
            found.units.append(unit)
            found.end = place[1]
            if place[0] < place[1] or not is_part:
                (found.partial if is_part else found.whole).append(token)

    def _check_continues(self, line: int, token: int, known: _Found, found: _Found) -> None:
        """Refuse two annotations with one number: lines of one annotation follow each other and have one value."""
        sentence, before, _ = _numbers(known.units[-1])
        if token - self.index[sentence, before] > 1:
            raise self.file.error(
                line,
                f"{known.layer}: the number {known.number} is that of an annotation that ends at {known.units[-1]}, "
                f"expected numbers that differ within a document",
            )
        if found.values != known.values or (any(found.slots.values()) and found.slots != known.slots):
            raise self.file.error(
                line, f"{known.layer}: other values than in line {known.line} for the annotation number {known.number}"
            )

    def _annotation(self, line: int, unit: str, layer: _Layer, cells: Sequence[str]) -> _Found:
        """The annotation of some cells."""
        sentence = int(_numbers(unit)[0])
        found = _Found(f"{layer.name}:{len(self.found) + 1}", layer.name, line, sentence, {}, {})
        roles: list[str | None] = []
        for column, cell in zip(layer.columns, cells, strict=True):
            if column.role == "source":
                self._read_ends(found, unit, column, cell)
                continue
            if column.role == "slot target":
                targets = [] if cell in ("", _NONE, _NO_VALUE) else _split(cell, ";")
                if not targets and roles == [None]:
                    roles = []
                if len(targets) != len(roles):
                    words = f"{column.feature}: {len(targets)} targets, expected as many as roles, {len(roles)}"
                    raise self.file.error(line, words)
                found.slots[column.feature] = [
                    (role, column.target_layer, self._pointer(line, target))
                    for role, target in zip(roles, targets, strict=True)
                ]
                continue
            value, number = _numbered(cell)
            found.number = number if found.number is None else found.number
            if column.role == "slot role":
                roles = [] if value in ("", _NONE) else [_value(role) for role in _split(value, ";")]
            elif column.role == "value" and value not in ("", _NONE, _NO_VALUE):
                found.values[column.feature] = _unescape(value)
        return found

    def _read_ends(self, found: _Found, unit: str, column: _Column, cell: str) -> None:
        """Read the two ends of a relation, which stands on the line of its target."""
        match = _NUMBERED.fullmatch(cell)
        source, *numbers = (match[1], match[2], match[3]) if match else (cell, None, None)
        self._check_unit(found.line, source)
        source_number, target_number = (int(number) if number and int(number) else None for number in numbers)
        found.ends = {
            "Governor": (column.target_layer, _Pointer(source, source_number)),
            "Dependent": (column.target_layer, _Pointer(unit, target_number)),
        }

    def _pointer(self, line: int, cell: str) -> _Pointer:
        unit, number = _numbered(cell)
        self._check_unit(line, unit)
        return _Pointer(unit, number)

    def _check_unit(self, line: int, unit: str) -> None:
        if not _UNIT.fullmatch(unit):
            raise self.file.error(line, f"{shorten(unit)!r} is not the number of a line, such as 1-4")

    # --- the document -------------------------------------------------------------------------------------------------

    def document(self) -> Document:
        """The document; looks up all that is pointed to."""
        place = _characters(self.offsets, self.tokens)
        annotations: dict[str, Annotation] = {}
        for found in self.found:
            tokens = sorted(set(found.whole or found.partial))
            annotations[found.id] = Annotation(
                found.id,
                found.layer,
                found.line,
                place(found.begin),
                place(found.end),
                tokens,
                len(set(found.partial)),
                found.sentence,
                found.values,
                {
                    name: [
                        Link(name, found.line, role, self._find(found.line, layer, pointer))
                        for role, layer, pointer in links
                    ]
                    for name, links in found.slots.items()
                },
                {name: self._find(found.line, *end) for name, end in found.ends.items()},
            )
        return Document(self.file, _document_name(self.file.name), self.tokens, annotations)

    def _find(self, line: int, layer: str, pointer: _Pointer) -> str:
        """The id of the annotation that a pointer names.

        The header names the layer by the first target that WebAnno finds, so others are looked at too.
        """
        here = [each for each in self.at.get(pointer.unit, []) if not each.ends]
        ours = [each for each in here if each.number == pointer.number]
        if pointer.number is None:
            ours = ours or here
        of_layer = [each for each in ours if each.layer == layer] or ours
        if len(of_layer) != 1:
            shown = pointer.unit if pointer.number is None else f"{pointer.unit}[{pointer.number}]"
            raise self.file.error(
                line, f"{shown} points to {len(of_layer)} annotations, expected one of the layer {layer}"
            )
        return of_layer[0].id


# --- names, cells and offsets -----------------------------------------------------------------------------------------


def _short(layer: str) -> str:
    return layer.strip().rpartition(".")[2]


def _columns(kind: str, names: Iterable[str]) -> list[_Column]:
    """The columns of a layer."""
    columns: list[_Column] = []
    for name in names:
        role = _ROLE.fullmatch(name)
        if kind == "relation" and name.startswith("BT_"):
            columns.append(_Column("source", "", _short(name.removeprefix("BT_"))))
        elif role is not None:
            columns.append(_Column("slot role", role[1]))
        elif columns and columns[-1].role == "slot role":
            columns.append(_Column("slot target", columns[-1].feature, _short(name)))
        else:
            columns.append(_Column("value" if name else "unread", name))
    return columns or [_Column("unread", "")]


def _document_name(file: str) -> str | None:
    if file.startswith("<"):
        return None
    name = Path(file).name
    for suffix in (".gz", ".tsv"):
        name = name.removesuffix(suffix)
    return name


def _numbers(unit: str) -> tuple[str, str, str | None]:
    match = _UNIT.fullmatch(unit)
    assert match is not None
    return match[1], match[2], match[3]


def _split(text: str, separator: str) -> list[str]:
    """Split at a separator that has no backslash before it."""
    if "\\" not in text:
        return text.split(separator)
    parts = [""]
    for piece in re.findall(r"\\.|.", text, re.DOTALL):
        if piece == separator:
            parts.append("")
        else:
            parts[-1] += piece
    return parts


def _numbered(cell: str) -> tuple[str, int | None]:
    """A value and the number in brackets after it."""
    match = _NUMBERED.fullmatch(cell) if cell.endswith("]") else None
    return (cell, None) if match is None else (match[1], int(match[2]))


def _value(text: str) -> str | None:
    return None if text in ("", _NO_VALUE) else _unescape(text)


def _unescape(text: str) -> str:
    return _ESCAPED.sub(lambda found: {"t": "\t", "n": "\n"}.get(found[1], found[1]), text) if "\\" in text else text


def _characters(offsets: Sequence[tuple[int, int]], tokens: Sequence[str]) -> Callable[[int], int]:
    """A function from offsets in UTF-16 units, as the file has them, to offsets in characters."""
    wide = [sum(ord(character) > 0xFFFF for character in token) for token in tokens]
    if not any(wide):
        return int
    begins = [begin for begin, _ in offsets]
    before = [0]
    for number in wide:
        before.append(before[-1] + number)

    def place(unit: int) -> int:
        at = bisect.bisect_right(begins, unit) - 1
        if at < 0:
            return unit
        inside, units, characters = unit - begins[at], 0, 0
        for character in tokens[at]:
            if units >= inside:
                break
            units += 1 + (ord(character) > 0xFFFF)
            characters += 1
        return unit - before[at] - (units - characters)

    return place
