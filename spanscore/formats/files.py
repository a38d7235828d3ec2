"""What all formats share: files of text, JSON and Parquet, and errors with file and line."""

from __future__ import annotations

import gzip
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from spanscore.formats.writing import write_bytes
from spanscore.metrics import reading

if TYPE_CHECKING:
    import pyarrow as pa

_PARQUET_MAGIC = b"PAR1"
_LONGEST = 80  # characters of a value in an error message
_NO_JSON = object()
_VALUE_SIZE = 32  # bytes that a value of a Parquet file has at least as a Python object
_ROWS_AT_ONCE = 2**16


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
    place : str
        The place within a line, in error messages. Empty if the line is place enough.
    """

    name: str
    text: str
    place: str = ""

    def lines(self) -> Iterator[tuple[int, str]]:
        """Yield each line that is not blank, with its number from 1. Only a newline ends a line, not U+2028."""
        for number, line in enumerate(self.text.split("\n"), start=1):
            if line.strip():
                yield number, line.rstrip("\r")

    def error(self, line: int, words: str) -> ValueError:
        """Make an error that begins with file, line and place."""
        return ValueError(f"{self.name}:{line}: {self.place}{': ' if self.place else ''}{words}")

    def at_each(self, items: Sequence[tuple[int, Any]]) -> Iterator[tuple[TextFile, int, Any]]:
        """Yield each item of a file with its line, and the file whose errors name the item.

        A list on one line has all its items there, so the line does not tell which of them is wrong.

        Parameters
        ----------
        items : sequence of (int, object)
            As `parse_json_items` gives them.

        Yields
        ------
        file : TextFile
            Its place is such as ``records[3]`` if other items are on the line.
        line : int
        value : object
        """
        n_on_line = Counter(line for line, _ in items)
        for at, (line, value) in enumerate(items):
            yield self._replace(place=f"records[{at}]") if n_on_line[line] > 1 else self, line, value


class DocumentText(NamedTuple):
    """The text of a document, for reports.

    Attributes
    ----------
    tokens : list of str
    entities : list of (str, list of int)
        The name and the tokens of each entity that items refer to by its number or its name.
    parts : list of (str, int)
        The name of each part of the text, with the number of its first token. Empty if the text is one part.
    name : str
        The benchmark's own name of the document. Empty if it is the id.
    """

    tokens: list[str]
    entities: list[tuple[str, list[int]]] = []
    parts: list[tuple[str, int]] = []
    name: str = ""


class DataFile(NamedTuple):
    """The bytes of a file in memory.

    Attributes
    ----------
    name : str
        The name of the file in error messages.
    data : bytes
    """

    name: str
    data: bytes

    def is_parquet(self) -> bool:
        """Whether the first bytes are those of a Parquet file."""
        return self.data.startswith(_PARQUET_MAGIC)


# A path, "-" for standard input, an open file of text or bytes, or a file in memory.
FileSource = str | Path | IO[str] | IO[bytes] | TextFile | DataFile


# --- checks and words -------------------------------------------------------------------------------------------------


def check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise a ValueError if the value of an argument is none of the choices."""
    if value not in choices:
        raise ValueError(f"{name}: {value!r} is not one of {', '.join(choices)}")


def check_format(format: str, formats: Sequence[str]) -> None:
    """Raise a ValueError if a format is neither ``"auto"`` nor one of the formats."""
    check_choice("format", format, ("auto", *formats))


def no_format(file: TextFile, reasons: Mapping[str, str], line: int = 1) -> ValueError:
    """Make the error of a file that has none of the formats.

    Parameters
    ----------
    file : TextFile
    reasons : dict of str to str
        The formats that come nearest, each with the reason why the file does not have it.
    line : int
    """
    listed = "; ".join(f"{format} ({reason})" for format, reason in reasons.items())
    return file.error(line, f"no format fits, nearest are {listed}")


def shorten(value: object) -> str:
    """Write a value for an error message, in at most 80 characters."""
    try:
        text = value.strip() if isinstance(value, str) else repr(value)
    except (ValueError, RecursionError):  # Python writes no integers of more than 4,300 digits, and no deep nesting
        text = "a value too long to write"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 3] + "..."


# --- records ----------------------------------------------------------------------------------------------------------


def tokens_of(record: Any) -> list[str] | None:
    """The ``tokens`` of a record, or None if it has none."""
    tokens = record.get("tokens") if isinstance(record, dict) else None
    return None if tokens is None else [str(token) for token in tokens]


# --- bytes and text ---------------------------------------------------------------------------------------------------


def read_raw(source: FileSource) -> DataFile:
    """Read the bytes of a file, once. A packed file stays packed.

    Parameters
    ----------
    source : path, open file, TextFile or DataFile
        ``"-"`` is standard input. Pipes are read like files.

    Returns
    -------
    DataFile

    Raises
    ------
    OSError
        The file cannot be read.
    """
    if isinstance(source, DataFile):
        return source
    if isinstance(source, TextFile):
        return DataFile(source.name, source.text.encode("utf-8", "surrogatepass"))
    if isinstance(source, (str, Path)) and str(source) != "-":
        return DataFile(str(source), reading.read_bytes(source))
    return DataFile(*_read_open(source))


def read_data(source: FileSource) -> DataFile:
    """Read the bytes of a file, once, and unpack them.

    Parameters
    ----------
    source : path, open file, TextFile or DataFile
        Gzip, and a zip file that holds one file, are known by their first bytes.

    Returns
    -------
    DataFile

    Raises
    ------
    ValueError
        The file is packed and damaged, or expands to more than `spanscore.metrics.reading.max_size`.
    OSError
        The file cannot be read.
    """
    file = read_raw(source)
    return file._replace(data=reading.unpack(file.name, file.data))


def _read_open(source: Any) -> tuple[str, bytes]:
    """The name and the bytes of standard input or of an open file. Standard input is never decoded by the locale."""
    if source == "-" or source is sys.stdin:
        if sys.stdin is None:
            raise ValueError("<stdin>:1: standard input is closed, expected a file")
        name, source = "<stdin>", getattr(sys.stdin, "buffer", sys.stdin)
        data = reading.read_some(name, source) if hasattr(source, "raw") else source.read()
    else:
        name = str(getattr(source, "name", "<file>"))
        try:
            data = source.read()
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{name}:1: not {error.encoding} text ({error.reason}), expected a file of UTF-8"
            ) from None
    return name, data.encode("utf-8", "surrogatepass") if isinstance(data, str) else bytes(data)


def read_text(source: FileSource) -> TextFile:
    """Read a text file.

    Parameters
    ----------
    source : path, open file, TextFile or DataFile
        Text is UTF-8, with a byte order mark or without. ``"-"`` is standard input. Gzip, and a zip file that holds one
        file, are unpacked. The rows of a Parquet file become JSON lines.

    Returns
    -------
    TextFile

    Raises
    ------
    ValueError
        The file is neither UTF-8 text nor Parquet, is packed and damaged, or expands to too much.
    """
    if isinstance(source, TextFile):
        return source
    file = read_data(source)
    if file.is_parquet():
        return TextFile(file.name, _parquet_as_lines(file))
    return TextFile(file.name, reading.decode(file.name, file.data))


def pack(path: str | Path, data: bytes) -> bytes:
    """Pack data with gzip if the name of their file ends in ``.gz``."""
    return gzip.compress(data, mtime=0) if str(path).endswith(".gz") else data


def write_text(path: str | Path, text: str) -> None:
    """Write UTF-8 text. A file whose name ends in ``.gz`` is packed. A failed write leaves the file that was there."""
    write_bytes(path, pack(path, text.encode()))


# --- JSON -------------------------------------------------------------------------------------------------------------


def json_value(text: str, default: Any = None) -> Any:
    """Return the value of a JSON text, or the default if the text is not JSON.

    This is for finding the format of a file. To read it, use `parse_json`, which refuses repeated keys.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return default


def is_json(text: str) -> bool:
    """Whether a text is JSON."""
    return json_value(text, _NO_JSON) is not _NO_JSON


def parse_json(file: TextFile, text: str | None = None, line: int = 1) -> Any:
    """Parse a file that is one JSON value, or the JSON value on one line of it.

    Raises
    ------
    ValueError
        The text is not JSON, or an object has a key twice. The message has the line.
    """
    return reading.parse(file.name, file.text if text is None else text, line)


def parse_json_lines(file: TextFile) -> list[tuple[int, Any]]:
    """Parse a file of JSON lines, into values with their line numbers."""
    return [(line, parse_json(file, text, line)) for line, text in file.lines()]


def rows_of_columns(file: TextFile, line: int, value: dict[str, Any]) -> list[dict[str, Any]]:
    """Turn a JSON object of columns into rows, as ``Dataset.to_dict`` gives it. Values that are no lists are left out.

    Raises
    ------
    ValueError
        Columns differ in length.
    """
    columns = {key: column for key, column in value.items() if isinstance(column, list)}
    if len(set(map(len, columns.values()))) > 1:
        listed = ", ".join(f"{key} has {len(column)}" for key, column in columns.items())
        raise file.error(line, f"columns differ in length: {listed}")
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


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
    decode = reading.DECODER.raw_decode
    items: list[tuple[int, Any]] = []
    line, counted, separator = 1, 0, "["
    while True:
        at = skip(at + len(separator))
        if not items and text[at : at + 1] == "]":
            break
        line, counted = line + text.count("\n", counted, at), at
        try:
            value, at = decode(text, at)
        except (ValueError, RecursionError) as error:
            raise reading.json_error(file.name, text, error, start=at) from None
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


def read_parquet(source: FileSource, column: str | None = None) -> list[dict[str, Any]]:
    """Read the rows of a Parquet file.

    Parameters
    ----------
    source : path, open file or DataFile
    column : str, optional
        A column that the file must have.

    Returns
    -------
    list of dict

    Raises
    ------
    ValueError
        The file is not Parquet or is damaged, expands to too much, or lacks the column.
    """
    import pyarrow as pa
    import pyarrow.parquet

    file = read_data(source)
    try:
        # Damaged metadata may ask for any amount of memory; threads would each read a column at the same time.
        opened = pa.parquet.ParquetFile(pa.BufferReader(file.data))
        columns = opened.schema_arrow.names
        if column is not None and column not in columns:
            listed = ", ".join(columns)
            words = f"columns {listed} are not those of the dataset, expected one called {column}"
            raise ValueError(f"{file.name}:1: {words}")
        _check_parquet_size(file.name, opened.metadata)
        rows: list[dict[str, Any]] = []
        size = 0
        for batch in opened.iter_batches(_rows_at_once(opened.metadata), use_threads=False):
            size += batch.nbytes
            if size > reading.max_size():
                raise reading.too_large(file.name)
            rows += batch.to_pylist()
    except (pa.ArrowException, OSError, OverflowError, MemoryError, UnicodeDecodeError) as error:
        raise ValueError(f"{file.name}:1: not a Parquet file ({' '.join(str(error).split())})") from None
    return rows


def _check_parquet_size(name: str, metadata: pa.parquet.FileMetaData) -> None:
    """Raise a ValueError if a Parquet file has too many values, before they are read."""
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    n_values = sum(group.column(at).num_values for group in groups for at in range(group.num_columns))
    size = max(
        _VALUE_SIZE * max(n_values, metadata.num_rows),
        sum(group.total_byte_size for group in groups),
    )
    if size > reading.max_size():
        raise reading.too_large(name)


def _rows_at_once(metadata: pa.parquet.FileMetaData) -> int:
    """The number of rows to read at a time, so that rows with copies of one long text do not fill the memory."""
    longest = max((metadata.row_group(at).total_byte_size for at in range(metadata.num_row_groups)), default=0)
    return min(max(reading.max_size() // max(longest, 1), 1), _ROWS_AT_ONCE)


def write_parquet(path: str | Path, records: Iterable[Any]) -> None:
    """Write records as the rows of a Parquet file; raise a ValueError if their fields have no common type."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        rows = pa.array(list(records))
        table = pa.Table.from_batches([pa.RecordBatch.from_struct_array(rows)] if len(rows) else [], None)
        content = pa.BufferOutputStream()
        pa.parquet.write_table(table, content)
    except (pa.ArrowException, TypeError, ValueError) as error:
        words = " ".join(str(error).split())
        raise ValueError(f"{path}: these records do not fit into Parquet ({words})") from None
    write_bytes(path, content.getvalue().to_pybytes())


def _parquet_as_lines(file: DataFile) -> str:
    try:
        return json_lines(read_parquet(file))
    except TypeError as error:
        raise ValueError(f"{file.name}:1: a Parquet file with values that JSON does not have ({error})") from None
