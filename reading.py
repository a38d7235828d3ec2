"""Files to text and JSON: bytes read once, unpacked by their content, decoded as UTF-8.

Every error names the file, and the line where there is one.
"""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

# Bytes that a packed file may expand to, and that are read from a pipe.
MAX_SIZE = 512 * 2**20
# The limit is an environment variable, since evaluate loads a copy of this module for each metric.
MAX_SIZE_VARIABLE = "SPANSCORE_MAX_SIZE"
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_MOST_PACKINGS = 3  # such as a gzip file inside a zip file; a file may expand to itself for ever

_GZIP, _ZIP, _EMPTY_ZIP = b"\x1f\x8b", b"PK\x03\x04", b"PK\x05\x06"
# First bytes of files that are no UTF-8 text.
_OTHER_FILES = {
    b"\xff\xfe": "UTF-16 text",
    b"\xfe\xff": "UTF-16 text",
    b"\x93NUMPY": "a numpy array",
    b"\x80": "a pickle",
    b"\xfd7zXZ": "xz",
    b"BZh": "bzip2",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"%PDF": "PDF",
    b"ARROW1": "an Arrow file",
}
_JSON_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\],]', re.DOTALL)


class RepeatedKey(ValueError):
    """An object of JSON has a key twice."""


# --- limits -----------------------------------------------------------------------------------------------------------


def parse_size(text: str) -> int:
    """Turn a size such as ``"512M"`` or ``"2G"`` into bytes; raise a ValueError if the text is no size."""
    found = re.fullmatch(r"([1-9][0-9]{0,17})([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if found is None:
        raise ValueError(f"{text!r} is not a size, expected bytes, or a number with K, M, G or T, such as 2G")
    return int(found[1]) * _UNITS[found[2].upper()]


def max_size() -> int:
    """The number of bytes that a packed file may expand to: ``SPANSCORE_MAX_SIZE`` if it is set, else 512 MiB."""
    given = os.environ.get(MAX_SIZE_VARIABLE)
    if not given:
        return MAX_SIZE
    try:
        return parse_size(given)
    except ValueError as error:
        raise ValueError(f"{MAX_SIZE_VARIABLE}: {error}") from None


@contextmanager
def allow_size(size: str | None) -> Iterator[None]:
    """Set the number of bytes that a packed file may expand to; None leaves it as it is."""
    before = os.environ.get(MAX_SIZE_VARIABLE)
    if size is not None:
        os.environ[MAX_SIZE_VARIABLE] = size
    try:
        yield
    finally:
        if size is not None:
            os.environ.pop(MAX_SIZE_VARIABLE)
            if before is not None:
                os.environ[MAX_SIZE_VARIABLE] = before


def too_large(name: str, what: str = "expands to") -> ValueError:
    """Make the error of a file that expands to more than is allowed."""
    size = max_size()
    unit = next(unit for unit in "TGMK" if size >= _UNITS[unit] or unit == "K")
    words = f"{size / _UNITS[unit]:.4g}{unit}"
    return ValueError(
        f"{name}:1: {what} more than {words}, the limit against damaged files "
        f"(--max-size on the command line, or the variable {MAX_SIZE_VARIABLE})"
    )


# --- bytes ------------------------------------------------------------------------------------------------------------


def read_bytes(path: str | Path) -> bytes:
    """Read a file or a pipe, once and to its end.

    Raises
    ------
    ValueError
        A pipe has more bytes than `max_size`, or a file whose name ends in ``.gz`` is not gzip.
    OSError
        The file cannot be read.
    """
    name = str(path)
    with Path(path).open("rb") as file:
        is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
        data = file.read() if is_file else read_some(name, file)
    if name.endswith(".gz") and not data.startswith(_GZIP):
        raise ValueError(f"{name}:1: not a gzip file (its first bytes are {data[:2]!r})")
    return data


def read_some(name: str, file: IO[bytes] | gzip.GzipFile) -> bytes:
    """Read an open binary file to its end; raise a ValueError if it has more bytes than `max_size`."""
    size = max_size()
    data = file.read(size + 1)
    if len(data) > size:
        raise too_large(name, "has")
    return data


def is_packed(data: bytes) -> bool:
    """Whether data are those of a gzip or a zip file."""
    return data.startswith(_GZIP) or is_zip(data)


def is_zip(data: bytes) -> bool:
    """Whether data are those of a zip file."""
    return data.startswith((_ZIP, _EMPTY_ZIP))


def unpack(name: str, data: bytes) -> bytes:
    """Unpack gzip, and a zip file that holds one file.

    Parameters
    ----------
    name : str
        The name of the file in errors.
    data : bytes
        The first bytes tell whether the data are packed. Data that are not are returned as they are.

    Returns
    -------
    bytes

    Raises
    ------
    ValueError
        The packed file is damaged, or it expands to more than `max_size`.
    """
    for _ in range(_MOST_PACKINGS):
        if data.startswith(_GZIP):
            try:
                data = read_some(name, gzip.GzipFile(fileobj=io.BytesIO(data)))
            except (OSError, EOFError, zlib.error) as error:
                raise ValueError(f"{name}:1: not a gzip file ({error})") from None
            except ValueError:
                raise too_large(name) from None
        elif is_zip(data):
            members = zip_members(name, data)
            if len(members) != 1:
                raise ValueError(f"{name}:1: a zip file with {len(members)} files, expected one")
            data = members[0][1]
        else:
            return data
    if is_packed(data):
        raise ValueError(f"{name}:1: packed more than {_MOST_PACKINGS} times, expected a file packed once")
    return data


def zip_members(name: str, data: bytes) -> list[tuple[str, bytes]]:
    """Unpack a zip file.

    Parameters
    ----------
    name : str
        The name of the zip file in errors.
    data : bytes

    Returns
    -------
    list of (str, bytes)
        The name and the bytes of each file, in the order of the zip file. Folders are left out, and the files that
        macOS adds.

    Raises
    ------
    ValueError
        The zip file is damaged or locked by a password, or its files together expand to more than `max_size`.
    """
    import zipfile

    found = []
    left = max_size()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as packed:
            for info in packed.infolist():
                if info.is_dir() or info.filename.startswith("__MACOSX/"):
                    continue
                with packed.open(info) as file:
                    content = file.read(left + 1)
                left -= len(content)
                if left < 0:
                    break
                found.append((info.filename, content))
    # zipfile raises a RuntimeError for passwords, and a NotImplementedError, which is one, for rare compressions.
    except (zipfile.BadZipFile, OSError, EOFError, zlib.error, RuntimeError, ValueError) as error:
        raise ValueError(f"{name}:1: a zip file that cannot be read ({error})") from None
    if left < 0:
        raise too_large(name)
    return found


# --- text -------------------------------------------------------------------------------------------------------------


def decode(name: str, data: bytes) -> str:
    """Decode UTF-8, without byte order marks at the beginning of lines.

    Raises
    ------
    ValueError
        The data are not UTF-8 text. The message has the line and the byte.
    """
    try:
        text = data.decode("utf-8-sig")
        at = data.find(b"\0")
        reason = "NUL, which text does not have"
    except UnicodeDecodeError as error:
        # The codec counts from after the byte order mark.
        at = error.start + (len(data) - len(error.object))
        reason = error.reason
    if at >= 0:
        kind = next((kind for first, kind in _OTHER_FILES.items() if data.startswith(first)), None)
        if kind is None and data[:64].count(b"\0") >= len(data[:64]) // 4:
            kind = "UTF-16 text or no text"
        line = data.count(b"\n", 0, at) + 1
        seems = f"; it seems to be {kind}" if kind else ""
        raise ValueError(
            f"{name}:{line}: not UTF-8 text (byte 0x{data[at]:02x} at position {at}: {reason}){seems}, expected UTF-8"
        )
    # Files that were joined have a mark in the middle.
    return text.replace("\n\ufeff", "\n") if "\ufeff" in text else text


def read_text(path: str | Path) -> str:
    """Read a text file: UTF-8, packed with gzip or zip or not."""
    name = str(path)
    return decode(name, unpack(name, read_bytes(path)))


# --- JSON -------------------------------------------------------------------------------------------------------------


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise RepeatedKey
    return found


# Decodes JSON as `json.loads` does, and raises `RepeatedKey` for an object with a key twice.
DECODER = json.JSONDecoder(object_pairs_hook=_unique)


def parse(name: str, text: str, line: int = 1) -> Any:
    """Parse one value of JSON.

    Parameters
    ----------
    name : str
        The name of the file in errors.
    text : str
    line : int
        The line of the file that the text begins on.

    Returns
    -------
    object

    Raises
    ------
    ValueError
        The text is not JSON, an object has a key twice, or a value is nested too deeply or is too long a number.
    """
    try:
        return DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise json_error(name, text, error, line) from None


def json_error(name: str, text: str, error: Exception, line: int = 1, start: int = 0) -> ValueError:
    """Make the error of a text that could not be parsed.

    Parameters
    ----------
    name : str
        The name of the file.
    text : str
    error : Exception
        The error of `DECODER`.
    line : int
        The line of the file that the text begins on.
    start : int
        The place in the text of the value that was parsed.
    """
    if isinstance(error, json.JSONDecodeError):
        words = error.msg.removesuffix(" at")  # "Unterminated string starting at"
        return ValueError(f"{name}:{line + error.lineno - 1}: not JSON: {words} at column {error.colno}")
    if isinstance(error, RepeatedKey):
        at, key = _repeated_key(text, start)
        line += text.count("\n", 0, at)
        return ValueError(f"{name}:{line}: the key {key} is twice in one object, expected each key once")
    line += text.count("\n", 0, start)
    if isinstance(error, RecursionError):
        return ValueError(f"{name}:{line}: not readable: nested too deeply")
    # The other errors are of numbers with more than 4,300 digits.
    return ValueError(f"{name}:{line}: not readable: {error}")


def _repeated_key(text: str, start: int) -> tuple[int, str]:
    """The place of the first key that its object has already, and the key as it is written."""
    keys: list[set[str] | None] = []  # of each open object; None for a list
    expected = False  # whether a string would be a key
    for found in _JSON_TOKEN.finditer(text, start):
        token = found.group()
        if token in "{[":
            keys.append(set() if token == "{" else None)
            expected = token == "{"
        elif token in "}]":
            keys.pop()
            expected = False
        elif token == ",":
            expected = bool(keys) and keys[-1] is not None
        elif expected and keys and keys[-1] is not None:
            key = json.loads(token, strict=False)
            if key in keys[-1]:
                return found.start(), token if len(token) <= 80 else token[:77] + "..."
            keys[-1].add(key)
            expected = False
    return start, "of an object"


def read_json(path: str | Path) -> Any:
    """Read a file that holds one value of JSON, packed with gzip or zip or not."""
    return parse(str(path), read_text(path))
