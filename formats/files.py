"""What all formats share: opening files, JSON with line numbers, and errors that name file and line."""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple


class Corpus(NamedTuple):
    """What a file holds.

    Attributes
    ----------
    records : list
        As the metric takes them.
    format : str
        Which format was read.
    format_notes : dict of str to int
        What the format could not carry over, and how often.
    unparsed : list of (line, text)
        Generated text that could not be read.
    """

    records: list[Any]
    format: str
    format_notes: dict[str, int]
    unparsed: list[tuple[int, str]] = []


class TextFile(NamedTuple):
    """A whole text file and what errors call it."""

    name: str
    text: str

    def lines(self) -> Iterator[tuple[int, str]]:
        """Lines that are not blank, with their numbers from 1. Only newlines end a line; sentences may hold U+2028."""
        for number, line in enumerate(self.text.split("\n"), start=1):
            if line.strip():
                yield number, line.rstrip("\r")

    def error(self, line: int, words: str) -> ValueError:
        """A mistake of the file, with its place."""
        return ValueError(f"{self.name}:{line}: {words}")


def read_text(source: str | Path | IO[str]) -> TextFile:
    """Read a path (``-`` for standard input, ``.gz`` is unpacked) or an open text file, as UTF-8."""
    if not isinstance(source, (str, Path)):
        return TextFile(str(getattr(source, "name", "<file>")), source.read())
    if str(source) == "-":
        return TextFile("<stdin>", sys.stdin.read())
    path = Path(source)
    data = path.read_bytes()
    if path.suffix == ".gz":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError) as error:
            raise ValueError(f"{path}:1: not a gzip file ({error})") from None
    try:
        return TextFile(str(path), data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ValueError(f"{path}:{line}: not UTF-8 text ({error.reason})") from None


def write_text(path: str | Path, text: str) -> None:
    """Write UTF-8 text, packed if the name ends in ``.gz``."""
    data = text.encode()
    Path(path).write_bytes(gzip.compress(data, mtime=0) if str(path).endswith(".gz") else data)


def parse_json(file: TextFile, text: str | None = None, line: int = 1) -> Any:
    """A JSON document, or the one on a line of a file."""
    try:
        return json.loads(file.text if text is None else text)
    except json.JSONDecodeError as error:
        raise file.error(line + error.lineno - 1, f"not JSON: {error.msg} at column {error.colno}") from None
    except ValueError as error:  # a number of over 4,300 digits
        raise file.error(line, f"not readable: {error}") from None
    except RecursionError:
        raise file.error(line, "not readable: nested too deeply") from None


def parse_json_lines(file: TextFile) -> list[tuple[int, Any]]:
    """The values of a JSON lines file with their line numbers."""
    return [(line, parse_json(file, text, line)) for line, text in file.lines()]


def json_lines(records: list[Any]) -> str:
    """Records as JSON lines."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def parse_json_items(file: TextFile) -> list[tuple[int, Any]]:
    """The items of a JSON list, or the values of a JSON lines file, each with the line it begins on.

    A file that begins with a bracket is one list.
    """
    text, white = file.text, re.compile(r"[ \t\n\r]*")

    def skip(place: int) -> int:
        found = white.match(text, place)
        return found.end() if found else place

    at = skip(0)
    if text[at : at + 1] != "[":
        return parse_json_lines(file)
    decode = json.JSONDecoder().raw_decode
    items: list[tuple[int, Any]] = []
    line, counted, separator = 1, 0, "["
    while True:
        at = skip(at + len(separator))
        if not items and text[at : at + 1] == "]":
            break
        line, counted = line + text.count("\n", counted, at), at
        try:
            value, at = decode(text, at)
        except json.JSONDecodeError as error:
            raise file.error(error.lineno, f"not JSON: {error.msg} at column {error.colno}") from None
        except RecursionError:
            raise file.error(line, "not readable: nested too deeply") from None
        items.append((line, value))
        at = skip(at)
        separator = text[at : at + 1]
        if separator == "]":
            break
        if separator != ",":
            place = text.count("\n", 0, at) + 1
            raise file.error(place, "not JSON: expected ',' or ']' after an item of the list")
    rest = skip(at + 1)
    if rest < len(text):
        raise file.error(text.count("\n", 0, rest) + 1, "not JSON: text after the list")
    return items
