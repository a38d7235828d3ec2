"""What commands write: messages on standard error, results on standard output or to files."""

from __future__ import annotations

import json
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from spanscore.formats.files import write_text
from spanscore.packages import optional_package

_PATIENCE = 2.0  # seconds of work after which a terminal shows a message


def say(text: object) -> None:
    """Write one line on standard error."""
    print(" ".join(str(text).split()), file=sys.stderr)


@contextmanager
def working(words: str) -> Iterator[None]:
    """Show a message on a terminal while work lasts, after two seconds of it."""
    if not sys.stderr.isatty():
        yield
        return
    console = optional_package("rich.console", "commands", "cli")
    status = console.Console(stderr=True).status(words)
    timer = threading.Timer(_PATIENCE, status.start)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def call_quietly(work: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """Call a function, and write each of its different warnings as one line on standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        result = work(*given, **options)
    for words in dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, UserWarning)):
        say(f"warning: {words}")
    return result


def write_output(path: str, text: str) -> None:
    """Write text to a file, or to standard output if the path is ``"-"``."""
    if path == "-":
        sys.stdout.write(text)
    else:
        write_text(path, text)


def write_json(path: str, value: Any) -> None:
    """Write a value as indented JSON."""
    write_output(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")
