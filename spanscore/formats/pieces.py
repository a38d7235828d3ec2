"""Reading a text file piece by piece, so that one piece that cannot be read does not hide the others.

A piece is an item of a JSON list, or a line.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from spanscore.formats.files import FileSource, TextFile, is_json, parse_json_items, read_text, shorten

_PIECES_TO_DETECT = 100  # number of pieces whose format is tried


class Unreadable(NamedTuple):
    """Something in a file that could not be read.

    Attributes
    ----------
    line : int or None
        The line in the file, from 1. None if the error names no line.
    place : str
        Such as ``triplets[1]``, if a part of the line is wrong. Empty if the whole line is.
    words : str
    """

    line: int | None
    place: str
    words: str


class Pieces(NamedTuple):
    """The pieces of a file.

    Attributes
    ----------
    records : list
        The records of the pieces that could be read.
    lines : list of int or None
        The line of each record. Empty if the lines are not known.
    format : str
    unreadable : list of Unreadable
    """

    records: list[Any]
    lines: Sequence[int | None]
    format: str
    unreadable: list[Unreadable]


def read_pieces(source: FileSource, formats: Any, format: str = "auto", **special: Any) -> Pieces:
    """Read all pieces of a text file that can be read.

    Parameters
    ----------
    source : path or open text file
    formats : module
        The formats of a benchmark, such as `spanscore.formats.aste`. Its ``detect`` finds the format of a file whose
        pieces do not show it, its ``line_mistakes`` finds several mistakes in a line, and its ``LINE_FORMATS`` are not
        JSON, whatever a line begins with; a module may lack these.
    format : str
    **special
        Further arguments of ``read`` of the formats.

    Returns
    -------
    Pieces
    """
    detect, line_mistakes = (getattr(formats, name, None) for name in ("detect", "line_mistakes"))

    def read(piece: TextFile, format: str) -> Any:
        return formats.read(piece, format, **special)

    file = read_text(source)
    try:
        if format == "auto" and detect is not None:
            format = detect(file)
        has_lines = format in getattr(formats, "LINE_FORMATS", ())
        pieces = _lines(file) if has_lines else _split(file, read, format)
    except ValueError as error:
        return Pieces([], [], format, [_unreadable(error, file.name)])
    if format == "auto":
        format = _detected(pieces, read)
    records: list[Any] = []
    lines: list[int] = []
    unreadable: list[Unreadable] = []
    n_on_line = Counter(line for line, _ in pieces)
    for at, (line, text) in enumerate(pieces):
        place = f"records[{at}]" if n_on_line[line] > 1 else ""
        try:
            corpus = read(TextFile(file.name, text + "\n", place), format)
        except ValueError as error:
            whole = _unreadable(error, file.name)
            first = line + (whole.line or 1) - 1
            parts = [] if line_mistakes is None else line_mistakes(TextFile(file.name, text), format, **special)
            inner = [Unreadable(first, place, _unreadable(mistake, file.name).words) for place, mistake in parts]
            unreadable.extend(inner or [whole._replace(line=first)])
            continue
        records.extend(corpus.records)
        lines.extend([line] * len(corpus.records))
        for at, words in corpus.unparsed:
            unreadable.append(Unreadable(line + at - 1, "", f"{shorten(words)!r} cannot be read"))
    if not unreadable:
        # Some mistakes show in the whole file alone, such as a blank line among labels.
        try:
            read(file, format)
        except ValueError as error:
            unreadable.append(_unreadable(error, file.name))
    return Pieces(records, lines, format, unreadable)


def read_with_sentences(source: FileSource, formats: Any, format: str, **special: Any) -> Pieces:
    """Read all lines of a text file whose format has no sentences, as text of the ``sentences`` that are given.

    The lines cannot be read one by one, since each belongs to its own sentence.

    Parameters
    ----------
    source : path or open text file
    formats : module
    format : str
    **special
        Further arguments of ``read`` of the formats, with ``sentences``.

    Returns
    -------
    Pieces
    """
    file = read_text(source)
    try:
        corpus = formats.read(file, format, **special)
    except ValueError as error:
        return Pieces([], [], format, [_unreadable(error, file.name)])
    unreadable = [Unreadable(line, "", f"{shorten(words)!r} cannot be read") for line, words in corpus.unparsed]
    return Pieces(corpus.records, list(range(1, len(corpus.records) + 1)), format, unreadable)


def _split(file: TextFile, read: Callable[[TextFile, str], Any], format: str) -> list[tuple[int, str]]:
    """Split a file into pieces, with their lines. Blank lines are pieces only of files that are not JSON."""
    lines = list(file.lines())
    first = lines[0][1].lstrip() if lines else ""
    if first.startswith("[") and (len(lines) == 1 or not is_json(first)):
        items = parse_json_items(file)
        pieces = [(line, json.dumps([value], ensure_ascii=False)) for line, value in items]
        if len(lines) > 1:
            return pieces
        # A list on one line may be a single record.
        try:
            n_records = len(read(file, format).records)
        except ValueError:
            return pieces
        return pieces if n_records == len(items) else [(1, file.text)]
    if first and not first.startswith(("{", "[")):
        return _lines(file)
    if first and not is_json(first) and is_json(file.text):
        return [(lines[0][0], file.text)]  # one object over several lines
    # An empty list on one of several lines is a record without items, and not a list of no records.
    return [(line, "[[]]" if len(lines) > 1 and text.strip() == "[]" else text) for line, text in lines]


def _lines(file: TextFile) -> list[tuple[int, str]]:
    """All lines of a file, also blank ones."""
    if not file.text:
        return []
    return list(enumerate(file.text.removesuffix("\n").split("\n"), start=1))


def _detected(pieces: list[tuple[int, str]], read: Callable[[TextFile, str], Any]) -> str:
    """The format of the first piece that can be read, or ``"auto"`` if there is none among the first pieces."""
    for _, text in pieces[:_PIECES_TO_DETECT]:
        if text.strip():
            try:
                format: str = read(TextFile("", text), "auto").format
            except ValueError:
                continue
            return format
    return "auto"


def _unreadable(error: ValueError, name: str) -> Unreadable:
    """Split the message of a reader into line and words."""
    message = str(error)
    rest = message.removeprefix(f"{name}:")
    line, colon, words = rest.partition(": ")
    if rest != message and colon and line.isdigit():
        return Unreadable(int(line), "", words)
    return Unreadable(None, "", message)
