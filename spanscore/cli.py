"""The program ``spanscore``: run a command, and turn errors into one line and an exit code.

This file imports little before it handles interrupts.
"""

from __future__ import annotations

import os
import sys
from typing import Any

_INTERRUPTED = 130  # the exit code of an interrupt
_COMPLETION = "_SPANSCORE_COMPLETE"  # the environment variable by which a shell asks for completions


def main(arguments: list[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : list of str, optional
        By default those of the process.

    Returns
    -------
    int
        0 for success or a closed pipe, 2 for a mistake of the user or a failed write, 1 for an error of the program,
        130 after an interrupt.
    """
    given = sys.argv[1:] if arguments is None else arguments
    interrupts = _note_interrupts() if arguments is None else []
    try:
        try:
            if arguments is None:
                _use_utf8()
            code = _run(given)
            if sys.stdout is not None:
                sys.stdout.flush()
        except BrokenPipeError:
            code = 0
        except Exception as error:
            # Some libraries turn an interrupt of their import into another error.
            if interrupts:
                raise KeyboardInterrupt from None
            if "--debug" in given:
                raise
            code = _say_error(error)
    except KeyboardInterrupt:
        from spanscore.terminal import say

        say("interrupted")
        code = _INTERRUPTED
    if arguments is None:
        _leave(code)
    return code


def _run(given: list[str]) -> int:
    from spanscore.packages import optional_package

    click = optional_package("click", "commands", "cli")
    from spanscore.commands import program

    instruction = os.environ.get(_COMPLETION)
    if instruction:
        from click.shell_completion import shell_complete

        return shell_complete(program, {}, "spanscore", _COMPLETION, instruction)
    # `program.main` of click would handle closed pipes and interrupts in its own way.
    try:
        # The command is stored in results.
        with program.make_context("spanscore", list(given), obj=list(given)) as context:
            code = program.invoke(context)
    except click.exceptions.Exit as leave:
        return int(leave.exit_code)
    except click.Abort:
        return _INTERRUPTED
    return code if isinstance(code, int) else 0


def _say_error(error: Exception) -> int:
    """Write an error as one line on standard error, and return the exit code."""
    from spanscore.terminal import describe_error, say

    # A ClickException has `format_message`; click itself may be missing.
    words = error.format_message() if hasattr(error, "format_message") else describe_error(error)
    if words is None:
        say(f"error: {type(error).__name__}: {error} (unexpected; --debug shows where)")
        return 1
    say(f"error: {words}")
    return 2


# --- the process ------------------------------------------------------------------------------------------------------


def _note_interrupts() -> list[int]:
    """Make interrupts leave a note in the returned list, beside raising KeyboardInterrupt."""
    import signal
    import threading

    noted: list[int] = []

    def note(number: int, frame: object) -> None:
        noted.append(number)
        raise KeyboardInterrupt

    def report(unraisable: Any) -> None:
        # Python writes a traceback if an interrupt comes during a callback.
        if not noted:
            sys.__unraisablehook__(unraisable)

    # A process in the background may have been started to ignore interrupts. Only the main thread gets them.
    in_main_thread = threading.current_thread() is threading.main_thread()
    if in_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, note)
        sys.unraisablehook = report
    return noted


def _use_utf8() -> None:
    """Write UTF-8 whatever the locale, and escape halves of surrogate pairs, which UTF-8 does not have."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            encoding = None if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _leave(code: int) -> None:
    """Write what is left of the output. If that fails, Python must not try it once more at exit."""
    import signal
    from contextlib import suppress

    # The work is done, so an interrupt has nothing to stop. Outside the main thread, there are no interrupts.
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    if code == _INTERRUPTED:
        # Python may remember an interrupt that was handled, and would then end itself by a signal, without this code.
        os._exit(code)
