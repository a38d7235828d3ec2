"""Work in processes of its own, with limits of time and memory, that can be stopped.

A server process imports the metrics once. Each job is a fork of it, so a job starts at once and cannot change the next.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import resource
import sys
import traceback
from collections import defaultdict
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, NamedTuple

from spanscore.metrics.reading import MAX_SIZE, MAX_SIZE_VARIABLE
from spanscore.terminal import describe_error

_POLL = 0.02  # seconds between two looks at a job
_NICE = 5  # jobs give way to the page
_PRELOADED = "spanscore.demo.work"
_ROOT = Path(__file__).resolve().parents[2]  # the folder of the package
_context = multiprocessing.get_context("forkserver")
# The processes of each owner, such as the session of a page.
_running: dict[str, set[BaseProcess]] = defaultdict(set)


class Limits(NamedTuple):
    """What one job may use.

    Attributes
    ----------
    seconds : float
        Time from its start, waiting included.
    memory : int
        Bytes beyond those of the imported modules.
    expanded : int
        Bytes that a packed file may expand to.
    """

    seconds: float = 120.0
    memory: int = 4 * 2**30
    expanded: int = MAX_SIZE


class JobError(Exception):
    """A job gave no result. The message is one line for the user."""


def start_server() -> None:
    """Start the server process. Without it, the first job does so, and takes some seconds."""
    _context.set_forkserver_preload([_PRELOADED])
    # The server process looks for modules where Python does by default, and not in the `sys.path` of this process.
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(_ROOT), *([before] if before else [])])
    try:
        process = _context.Process(target=_nothing)
        process.start()
        process.join()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


def _nothing() -> None:
    """Do nothing: the first process starts the server."""


async def run(
    work: Callable[[Any, Callable[[str], None]], Any],
    request: Any,
    limits: Limits = Limits(),  # noqa: B008  an immutable tuple
    owner: str = "",
    on_progress: Callable[[str], None] | None = None,
) -> Any:
    """Run a function in a process of its own.

    Parameters
    ----------
    work : callable
        A function of a module. It takes the request, and a function that it calls with words on its progress. Its
        result is JSON.
    request : object
        Anything that can be pickled.
    limits : Limits
    owner : str
        A name for `stop`.
    on_progress : callable, optional
        It gets the words on the progress.

    Returns
    -------
    object
        The result of the function.

    Raises
    ------
    JobError
        The function raised an error, met a limit, or was stopped.
    """
    receiver, sender = _context.Pipe(duplex=False)
    process = _context.Process(target=_work, args=(sender, work, request, limits), daemon=True)
    await asyncio.to_thread(process.start)  # this waits while the server process starts
    sender.close()
    _running[owner].add(process)
    loop = asyncio.get_running_loop()
    end = loop.time() + limits.seconds
    try:
        while True:
            has_ended = not process.is_alive()
            if receiver.poll():
                try:
                    kind, value = json.loads(await asyncio.to_thread(receiver.recv_bytes))
                except (EOFError, OSError):
                    raise JobError(_ending(process, limits)) from None
                if kind == "result":
                    return value
                if kind == "error":
                    raise JobError(value)
                if on_progress is not None:
                    on_progress(value)
            elif has_ended:
                raise JobError(_ending(process, limits))
            elif loop.time() > end:
                raise JobError(f"stopped after {limits.seconds:g} seconds, the limit of time of this page")
            else:
                await asyncio.sleep(_POLL)
    finally:
        _running[owner].discard(process)
        if not _running[owner]:
            del _running[owner]
        process.kill()
        process.join()
        process.close()
        receiver.close()


def stop(owner: str) -> int:
    """Stop all jobs of an owner, and return their number. Each of them raises a `JobError`."""
    processes = list(_running.get(owner, ()))
    for process in processes:
        process.terminate()
    return len(processes)


def _ending(process: BaseProcess, limits: Limits) -> str:
    """The words for a process that ended without a result."""
    process.join()
    if process.exitcode == -15:  # SIGTERM
        return "stopped"
    return f"the process ended without a result; it may need more than {limits.memory / 2**30:.3g} GiB of memory"


# --- in the process ---------------------------------------------------------------------------------------------------


def _work(sender: Connection, work: Callable[..., Any], request: Any, limits: Limits) -> None:
    def send(kind: str, value: Any) -> None:
        # JSON has escapes for halves of surrogate pairs, which UTF-8 has not.
        sender.send_bytes(json.dumps([kind, value]).encode())

    try:
        _set_limits(limits)
        send("result", work(request, lambda words: send("progress", words)))
    except Exception as error:
        words = describe_error(error)
        if words is None:
            words = f"{type(error).__name__}: an error of this program, which its log shows"
            # The message of the error may hold data of the user, and logs are kept.
            print("".join(traceback.format_tb(error.__traceback__)), type(error).__name__, file=sys.__stderr__)
        send("error", words)


def _set_limits(limits: Limits) -> None:
    os.nice(_NICE)
    os.environ[MAX_SIZE_VARIABLE] = str(limits.expanded)
    sizes = Path("/proc/self/statm")
    if sizes.exists():  # systems without it do not keep to this limit
        # The limit is on memory that can be written: the library of plots reserves far more addresses than it uses.
        used = int(sizes.read_text().split()[5]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_DATA, (used + limits.memory, used + limits.memory))
    seconds = int(limits.seconds) * (os.cpu_count() or 1) + 1  # of all threads together
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
