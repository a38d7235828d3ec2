"""What commands write: messages on standard error, results on standard output or to files."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from spanscore.formats.files import pack
from spanscore.formats.writing import write_bytes
from spanscore.packages import MissingPackage, optional_package

_PATIENCE = 2.0  # seconds of work after which a terminal shows a message


# Characters that a terminal obeys instead of showing them, that begin a new line, or that turn the direction of text.
# Halves of surrogate pairs are among them, since they cannot be written.
_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_CONTROLS_IN_LINES = re.compile(_CONTROLS.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f"))


def plain(text: object) -> str:
    """Write control characters, line ends and direction marks of a text as escapes, such as ``\\x1b``."""
    return _CONTROLS.sub(_escape, str(text))


def _escape(found: re.Match[str]) -> str:
    return repr(found.group())[1:-1] if found.group() != "\ufeff" else "\\ufeff"


def say(text: object) -> None:
    """Write one line on standard error, with escapes for control characters."""
    if sys.stderr is None:
        return
    # A message that nobody can read is no reason to stop.
    with suppress(OSError):
        print(plain(re.sub(r"[ \t\r\n]+", " ", str(text)).strip()), file=sys.stderr, flush=True)


def describe_error(error: Exception) -> str | None:
    """Describe a mistake of the user, or a limit that was met, in one line; None for an error of the program."""
    if isinstance(error, OSError) and error.filename is not None:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    if isinstance(error, RecursionError):
        return "the input is nested too deeply"
    if isinstance(error, MemoryError):
        return f"not enough memory {error}".strip()
    if isinstance(error, OSError):
        return str(error.strerror or error)
    return str(error) if isinstance(error, (ValueError, MissingPackage)) else None


Stage = Callable[[str], None]  # takes the name of the next stage of long work


def no_stage(words: str) -> None:
    """Take the name of a stage, and show nothing."""


@contextmanager
def working(words: str) -> Iterator[Stage]:
    """Show on a terminal what long work is at, and for how long, after two seconds of it.

    Gives the function that takes the name of the next stage.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda stage: None
        return
    progress = optional_package("rich.progress", "commands", "cli")
    console = optional_package("rich.console", "commands", "cli").Console(stderr=True)
    columns = (progress.SpinnerColumn(), progress.TextColumn("{task.description}"), progress.TimeElapsedColumn())
    shown = progress.Progress(*columns, console=console, transient=True)
    task = shown.add_task(plain(words))
    timer = threading.Timer(_PATIENCE, shown.start)
    timer.start()
    try:
        yield lambda stage: shown.update(task, description=plain(stage))
    finally:
        timer.cancel()
        timer.join()
        shown.stop()


def call_quietly(work: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """Call a function, and write each of its different warnings as one line on standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        result = work(*given, **options)
    for words in dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, UserWarning)):
        say(f"warning: {words}")
    return result


def write_output(path: str, text: str) -> None:
    """Write text to a file, or to standard output if the path is ``"-"``.

    A terminal gets escapes in place of control characters.
    """
    if path != "-":
        # Halves of surrogate pairs, which JSON can hold and UTF-8 cannot, are written as JSON escapes them.
        write_bytes(path, pack(path, text.encode("utf-8", "backslashreplace")))
    elif sys.stdout is not None and sys.stdout.isatty():
        print_text(_CONTROLS_IN_LINES.sub(_escape, text))
    else:
        print_text(text)


def print_text(text: str) -> None:
    """Write text on standard output at once; an error of writing names standard output."""
    if sys.stdout is None:
        raise OSError(errno.EBADF, "closed, expected a file or a terminal", "standard output")
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        raise OSError(error.errno, os.strerror(error.errno or 0), "standard output") from None


def write_json(path: str, value: Any) -> None:
    """Write a value as indented JSON."""
    write_output(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")
