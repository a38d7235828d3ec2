"""What all formats share: files of text, JSON and Parquet, and errors with file and line."""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

_PARQUET_MAGIC = b"PAR1"
_LONGEST = 80  # characters of a value in an error message
_NO_JSON = object()


class Corpus(NamedTuple):
    """The content of a file.

    Attributes
    ----------
    records : list
        Records as the metric takes them.
    format : str
        The format of the file.
    format_notes : dict of str to int
        What the records do not hold, and how often.
    unparsed : list of (int, str)
        Generated text that could not be read, with its line.
    """

    records: list[Any]
    format: str
    format_notes: dict[str, int]
    unparsed: list[tuple[int, str]] = []


class TextFile(NamedTuple):
    """A text file in memory.

    Attributes
    ----------
    name : str
        The name of the file in error messages.
    text : str
    """

    name: str
    text: str

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield each line that is not blank, with its number from 1. Only a newline ends a line, not U+2028."""
        for number, line in enumerate(self.text.split("\n"), start=1):
            if line.strip():
                yield number, line.rstrip("\r")

    def error(self, line: int, words: str) -> ValueError:
        """Make an error that begins with file and line."""
        return ValueError(f"{self.name}:{line}: {words}")


class DocumentText(NamedTuple):
    """The text of a document, for reports.

    Attributes
    ----------
    tokens : list of str
    entities : list of (str, list of int)
        The name and the tokens of each entity that items refer to by its number or its name.
    """

    tokens: list[str]
    entities: list[tuple[str, list[int]]] = []


# A path, "-" for standard input, an open text file, or a text file in memory.
FileSource = str | Path | IO[str] | TextFile


# --- checks and words -------------------------------------------------------------------------------------------------


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise a ValueError if the value of an argument is none of the choices."""
    if value not in choices:
        raise ValueError(f"{name}: {value!r} is not one of {', '.join(choices)}")


def check_format(format: str, formats: Sequence[str]) -> None:
    """Raise a ValueError if a format is neither ``"auto"`` nor one of the formats."""
    check_choice("format", format, ("auto", *formats))


def shorten(value: object) -> str:
    """Write a value for an error message, in at most 80 characters."""
    try:
        text = value.strip() if isinstance(value, str) else repr(value)
    except ValueError:  # Python refuses to write integers of more than 4,300 digits
        text = "a value too long to write"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


# --- records ----------------------------------------------------------------------------------------------------------


def tokens_of(record: Any) -> list[str] | None:
    """The ``tokens`` of a record, or None if it has none."""
    tokens = record.get("tokens") if isinstance(record, dict) else None
    return None if tokens is None else [str(token) for token in tokens]


# --- text -------------------------------------------------------------------------------------------------------------


def read_text(source: FileSource) -> TextFile:
    """Read a text file.

    Parameters
    ----------
    source : path, open text file or TextFile
        Files are UTF-8. A path that ends in ``.gz`` is unpacked, and ``"-"`` is standard input. The rows of a Parquet
        file become JSON lines.

    Returns
    -------
    TextFile

    Raises
    ------
    ValueError
        The file is not UTF-8 text, gzip or Parquet.
    """
    if isinstance(source, TextFile):
        return source
    if not isinstance(source, (str, Path)):
        return TextFile(str(getattr(source, "name", "<file>")), source.read())
    if str(source) == "-":
        return TextFile("<stdin>", sys.stdin.read())
    path = Path(source)
    data = path.read_bytes()
    if data.startswith(_PARQUET_MAGIC):
        return TextFile(str(path), _parquet_as_lines(path))
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
    """Write UTF-8 text. A file whose name ends in ``.gz`` is packed."""
    data = text.encode()
    Path(path).write_bytes(gzip.compress(data, mtime=0) if str(path).endswith(".gz") else data)


# --- JSON -------------------------------------------------------------------------------------------------------------


def json_value(text: str, default: Any = None) -> Any:
    """Return the value of a JSON text, or the default if the text is not JSON."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return default


def is_json(text: str) -> bool:
    """Whether a text is JSON."""
    return json_value(text, _NO_JSON) is not _NO_JSON


def parse_json(file: TextFile, text: str | None = None, line: int = 1) -> Any:
    """Parse a file that is one JSON value, or the JSON value on one line of it."""
    try:
        return json.loads(file.text if text is None else text)
    except json.JSONDecodeError as error:
        raise file.error(line + error.lineno - 1, f"not JSON: {error.msg} at column {error.colno}") from None
    except ValueError as error:  # an integer of more than 4,300 digits
        raise file.error(line, f"not readable: {error}") from None
    except RecursionError:
        raise file.error(line, "not readable: nested too deeply") from None


def parse_json_lines(file: TextFile) -> list[tuple[int, Any]]:
    """Parse a file of JSON lines, into values with their line numbers."""
    return [(line, parse_json(file, text, line)) for line, text in file.lines()]


def json_lines(records: Iterable[Any]) -> str:
    """Write records as JSON lines."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def parse_json_items(file: TextFile) -> list[tuple[int, Any]]:
    """Parse a file that is one JSON list or JSON lines.

    Parameters
    ----------
    file : TextFile
        A file that begins with ``[`` is one list.

    Returns
    -------
    list of (int, object)
        The items of the list or the values of the lines, each with the line that it begins on.

    Raises
    ------
    ValueError
        The file is not JSON; the message has the line.
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
        except ValueError as error:  # an integer of more than 4,300 digits
            raise file.error(line, f"not readable: {error}") from None
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


# --- Parquet ----------------------------------------------------------------------------------------------------------


def is_parquet(source: FileSource) -> bool:
    """Whether a path is that of a Parquet file, by its first bytes. Standard input and open files are not."""
    if not isinstance(source, (str, Path)) or str(source) == "-":
        return False
    with Path(source).open("rb") as file:
        return file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC


def read_parquet(path: str | Path, column: str | None = None) -> list[dict[str, Any]]:
    """Read the rows of a Parquet file.

    Parameters
    ----------
    path : path
    column : str, optional
        A column that the file must have.

    Returns
    -------
    list of dict

    Raises
    ------
    ValueError
        The file is not Parquet, or the column is missing.
    """
    import pyarrow as pa
    import pyarrow.parquet

    try:
        table = pa.parquet.read_table(str(path))
    except pa.ArrowException as error:
        raise ValueError(f"{path}:1: not a Parquet file ({' '.join(str(error).split())})") from None
    if column is not None and column not in table.column_names:
        listed = ", ".join(table.column_names)
        raise ValueError(f"{path}:1: columns {listed} are not those of the dataset, expected one called {column}")
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def write_parquet(path: str | Path, records: Iterable[Any]) -> None:
    """Write records as the rows of a Parquet file; raise a ValueError if their fields have no common type."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        rows = pa.array(list(records))
        table = pa.Table.from_batches([pa.RecordBatch.from_struct_array(rows)] if len(rows) else [], None)
        pa.parquet.write_table(table, str(path))
    except (pa.ArrowException, TypeError, ValueError) as error:
        words = " ".join(str(error).split())
        raise ValueError(f"{path}: these records do not fit into Parquet ({words})") from None


def _parquet_as_lines(path: Path) -> str:
    try:
        return json_lines(read_parquet(path))
    except TypeError as error:
        raise ValueError(f"{path}:1: a Parquet file with values that JSON does not have ({error})") from None
