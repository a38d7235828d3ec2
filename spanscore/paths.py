"""Checks of the files of a command before any work: inputs that can be read once, outputs that destroy no input."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Mapping

from spanscore.formats.writing import check_writable

# What tells a file from others: device and inode, or its real path while it does not exist.
_Identity = tuple[int, int] | str


def check_inputs(paths: Iterable[str]) -> None:
    """Raise a ValueError if several inputs are standard input, or the same pipe.

    Parameters
    ----------
    paths : iterable of str
        ``"-"`` is standard input.
    """
    pipes: dict[object, str] = {}
    for path in paths:
        found = _pipe(path)
        if found is None:
            continue
        if found in pipes:
            name = "standard input (-)" if "-" in (path, pipes[found]) else f"the pipe {path}"
            raise ValueError(f"{name} holds one file only, expected different files")
        pipes[found] = path


def _pipe(path: str) -> object:
    """What identifies an input that can be read only once, or None for a file."""
    try:
        if path == "-":
            found = os.fstat(0 if sys.stdin is None else sys.stdin.fileno())
        else:
            found = os.stat(path)  # noqa: PTH116  the path is a str
    except (OSError, ValueError):
        return path if path == "-" else None
    # /dev/null may be read many times.
    is_once = stat.S_ISFIFO(found.st_mode) or stat.S_ISSOCK(found.st_mode) or path == "-"
    return (found.st_dev, found.st_ino) if is_once else None


def check_outputs(outputs: Mapping[str, str], inputs: Iterable[str]) -> None:
    """Raise an error if an output cannot be written, is an input, or is another output too.

    Parameters
    ----------
    outputs : dict of str to str
        The name of each option of an output, and its path. ``"-"`` is standard output.
    inputs : iterable of str
        Paths of inputs.

    Raises
    ------
    ValueError
        An output is the same file as an input or as another output, also through links.
    OSError
        An output cannot be written.
    """
    read = {found for found in map(_identity, inputs) if found is not None}
    written: dict[_Identity, str] = {}
    for name, path in outputs.items():
        if path == "-":
            continue
        found = _identity(path)
        if found is not None:
            if found in read:
                raise ValueError(f"{name}: {path} is an input too, expected another file")
            if found in written:
                raise ValueError(f"{written[found]} and {name}: both are {path}, expected two files")
            written[found] = name
        check_writable(path)


def _identity(path: str) -> _Identity | None:
    """What tells a file from others. None for pipes, devices and folders."""
    try:
        found = os.stat(path)  # noqa: PTH116  the path is a str
    except (OSError, ValueError):
        return os.path.realpath(path)
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def is_standard_output(path: str) -> bool:
    """Whether a path is that of standard output: ``"-"``, ``/dev/stdout``, or the file that it is redirected to."""
    if path == "-":
        return True
    try:
        found, output = os.stat(path), os.fstat(sys.stdout.fileno())  # noqa: PTH116  the path is a str
    except (OSError, ValueError, AttributeError):
        return False
    # A device other than a terminal, such as /dev/null, can be written by several outputs.
    is_shared = not stat.S_ISCHR(found.st_mode) or os.isatty(sys.stdout.fileno())
    return is_shared and os.path.samestat(found, output)
