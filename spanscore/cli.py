"""The program ``spanscore``: run a command, and turn errors into one line and an exit code."""

from __future__ import annotations

import os
import sys

from spanscore.packages import MissingPackage, optional_package
from spanscore.terminal import say


def main(arguments: list[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : list of str, optional
        By default those of the process.

    Returns
    -------
    int
        0 for success, 2 for a mistake of the user, 1 for an error of the program, 130 after an interrupt.
    """
    given = sys.argv[1:] if arguments is None else arguments
    try:
        click = optional_package("click", "commands", "cli")
        from spanscore.commands import program
    except MissingPackage as error:
        say(f"error: {error}")
        return 2
    try:
        # Outside its standalone mode, click returns the code of `Exit` and raises other exceptions.
        code = program.main(given, prog_name="spanscore", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as leave:
        return int(leave.exit_code)
    except click.Abort:
        return 130
    except BrokenPipeError:
        # The reader of the output has closed it. Python would write to it once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if "--debug" in given:
            raise
        if isinstance(error, click.ClickException):
            say(f"error: {error.format_message()}")
        elif isinstance(error, OSError) and error.filename is not None:
            say(f"error: {error.filename}: {error.strerror}")
        elif isinstance(error, (ValueError, OSError, MissingPackage)):
            say(f"error: {error}")
        else:
            say(f"error: {type(error).__name__}: {error} (unexpected; --debug shows where)")
            return 1
        return 2
