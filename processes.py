"""Records of several processes, gathered in the first process through files in a shared folder.

Process 0 calls a round: it writes the file ``.call`` with the name of the round, which is new each time. Every other
process answers with its part, a file whose name contains that of the round. So a file of an earlier run is never read.

Process 0 takes all parts at once. It makes the file ``.open``, reads the parts, and renames ``.open`` to ``.taken``. A
process that gives up waiting puts its part aside and then removes ``.open``. If it does so while process 0 reads, the
renaming fails, and process 0 looks again. So process 0 takes the records of all processes or of none, and every process
learns which, also if process 0 is killed. A process that sees ``.taken`` removes its part, and the last one ``.taken``.
"""

from __future__ import annotations

import errno
import io
import json
import pickle
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote as to_file_name

import pyarrow as pa

from .columns import Column, concatenate_columns, from_arrow, to_arrow
from .mistakes import quote

_PAUSE = 0.02  # seconds between two looks at the folder
_LONGEST = 60  # letters of the experiment in names of files, which file systems limit to 255

Part = dict[str, Column]


class Run(NamedTuple):
    """The processes that exchange records.

    Attributes
    ----------
    folder : Path
        Shared by all processes.
    experiment : str
        The same in all processes of a run, and another one in each run.
    process, n_processes : int
        The number of this process, from 0, and the number of all processes.
    timeout : float
        Seconds that a process waits for others.
    """

    folder: Path
    experiment: str
    process: int
    n_processes: int
    timeout: float

    def file(self, ending: str) -> Path:
        """A file of this run."""
        name = to_file_name(self.experiment, safe="", errors="surrogatepass")
        if len(name) > _LONGEST:
            name = f"{name[:_LONGEST]}-{sha256(name.encode()).hexdigest()[:16]}"
        return self.folder / f"{name},{self.n_processes}{ending}"  # a comma in the experiment is written otherwise

    def part(self, called: str, process: int) -> Path:
        """The file with the part of a process, in a round."""
        return self.file(f"-{called}-{process}.part")

    def opened(self, called: str) -> Path:
        """The file that is there while no process has given up since process 0 looked at the parts of a round."""
        return self.file(f"-{called}.open")

    def taken(self, called: str) -> Path:
        """The file that is there when process 0 has taken the parts of a round."""
        return self.file(f"-{called}.taken")

    def absent(self, processes: list[int]) -> str:
        """The words for processes that did not come."""
        return f"{self.name(processes)} did not arrive within {self.timeout:g} s"

    def name(self, processes: list[int]) -> str:
        """The words for some of the processes."""
        which = ", ".join(map(str, processes))
        return f"{'process' if len(processes) == 1 else 'processes'} {which} of {self.n_processes}"

    def in_use(self, process: int) -> ValueError:
        """The error that another run has the same experiment."""
        return ValueError(
            f"experiment_id: {quote(self.experiment)} is in use by another process {process}, expected another one in "
            f"each run"
        )


@contextmanager
def _naming_the_folder(run: Run) -> Iterator[None]:
    """Name the process and the folder in errors of the file system."""
    try:
        yield
    except OSError as error:
        raise ValueError(
            f"cache_dir: process {run.process} of {run.n_processes} cannot use {str(run.folder)!r} "
            f"({error.strerror or error}), expected a folder that all processes can write to"
        ) from error


# --- the first process ------------------------------------------------------------------------------------------------


def gather(run: Run, options: Mapping[str, Any], keep: Callable[[Part], object]) -> None:
    """Take the parts of all other processes.

    Parameters
    ----------
    run : Run
        Of process 0.
    options : dict
        The options of ``compute``, as this process read them.
    keep : callable
        Gets each part, in the order of the processes, once all are taken.

    Raises
    ------
    ValueError
        A process did not arrive in time or has other options, or the folder cannot be used. Then no part was taken, and
        the processes that wait are told.
    """
    called = uuid.uuid4().hex
    with _naming_the_folder(run):
        try:
            _call(run, called)
            parts = _take(run, called, options)
        except BaseException as error:
            words = str(error) if isinstance(error, ValueError) else f"process 0 stopped: {type(error).__name__}"
            with suppress(OSError):
                _remove(run.opened(called))
                if _read_call(run).get("round") == called:
                    _call(run, called, error=words)
            raise
    for part in parts:
        keep(part)
    with suppress(OSError):
        _remove(run.file(".call"))
        _clean(run, called)


def _clean(run: Run, called: str) -> None:
    """Remove what killed processes left of earlier rounds, since every process has answered this one."""
    for path in run.folder.glob(run.file("[-.]*").name):
        if not path.name.startswith(run.file(f"-{called}").name):
            _remove(path)


def _call(run: Run, called: str, **more: Any) -> None:
    """Write the file that calls a round, at once."""
    path = run.file(".call")
    beside = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    try:
        beside.write_text(json.dumps({"round": called, **more}), encoding="utf-8")
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            _remove(beside)
        raise


def _take(run: Run, called: str, options: Mapping[str, Any]) -> list[Part]:
    """The parts of all other processes, all taken in one moment."""
    came: set[int] = set()
    deadline = time.monotonic() + run.timeout
    while True:
        run.opened(called).touch()
        paths = _wait_for_parts(run, called, came, deadline)
        parts = []
        with suppress(FileNotFoundError):  # a process that gives up removes the file
            for process, path in enumerate(paths, 1):
                of_process, part = _read_part(path)
                _check_options(options, of_process, process)
                parts.append(part)
            run.opened(called).rename(run.taken(called))
            return parts


def _wait_for_parts(run: Run, called: str, came: set[int], deadline: float) -> list[Path]:
    """The file of each other process, when all are there; `came` gets the processes that were there at any time."""
    paths = [run.part(called, process) for process in range(1, run.n_processes)]
    while True:
        absent = [process for process, path in enumerate(paths, 1) if not path.exists()]
        came.update(set(range(1, run.n_processes)) - set(absent))
        call = _read_call(run)
        if not call:
            raise ValueError(
                f"{run.file('.call')}: removed while process 0 waited, expected that it stays and that each run has "
                f"another experiment_id"
            )
        if call["round"] != called:
            raise run.in_use(0)
        if not absent:
            return paths
        if time.monotonic() > deadline:
            never = [process for process in absent if process not in came]
            raise ValueError(run.absent(never) if never else f"{run.name(absent)} gave up waiting for the others")
        time.sleep(_PAUSE)


def _check_options(own: Mapping[str, Any], others: Mapping[str, list[str]], process: int) -> None:
    for name, (code, words) in others.items():
        value = own.get(name)
        if code != _digest(value):
            differ = f"{words} in process {process} and {quote(value)} in process 0"
            if words == quote(value):  # long values are cut short
                differ = f"another value in process {process} than in process 0"
            raise ValueError(f"{name}: {differ}, expected the same in all")


# --- the other processes ----------------------------------------------------------------------------------------------


def give(run: Run, options: Mapping[str, Any], part: Part, when_taken: Callable[[], object] = lambda: None) -> None:
    """Give this process's records to process 0, and return when it has taken them.

    Parameters
    ----------
    run : Run
        Of another process than 0.
    options : dict
        The options of ``compute``, as this process read them.
    part : dict of str to column
    when_taken : callable
        Called when process 0 has taken the records, also if an interrupt comes at that moment.

    Raises
    ------
    ValueError
        Process 0 did not come in time, or stopped, or the folder cannot be used. Then it has not taken the records.
    """
    table = _write_part(options, part)
    answered = ""  # the round that has this process's part
    is_answered_by_other = False
    deadline = time.monotonic() + run.timeout
    with _naming_the_folder(run):
        try:
            while not (answered and run.taken(answered).exists()):
                call = _read_call(run)
                called, error = call.get("round", ""), call.get("error")
                late = time.monotonic() > deadline
                if answered and (late or error or called != answered):
                    if not _withdraw(run, answered):
                        break
                    is_stopped, answered = bool(error) and called == answered, ""
                    if is_stopped:
                        raise ValueError(error)
                    if late:
                        words = f"process 0 of {run.n_processes} did not take the records of process {run.process}"
                        raise ValueError(f"{words} within {run.timeout:g} s")
                if late:
                    raise run.in_use(run.process) if is_answered_by_other else ValueError(run.absent([0]))
                if called and called != answered and not error and not run.taken(called).exists():
                    answered = called
                    is_answered_by_other = not _place(table, run.part(called, run.process))
                    answered = "" if is_answered_by_other else called
                time.sleep(_PAUSE)
        except BaseException:
            if answered and not _withdraw(run, answered):
                when_taken()
            raise
        when_taken()
        with suppress(OSError):
            _leave(run, answered, run.part(answered, run.process))


def _place(table: bytes, path: Path) -> bool:
    """Write a part at once; False if the round has a part of this process already."""
    beside = path.with_suffix(".new")
    try:
        with beside.open("xb") as file:
            file.write(table)
        if not path.exists():  # no other process has the file beside it now, so none can write this one
            beside.rename(path)
            return True
    except FileExistsError:
        return False
    except BaseException:
        with suppress(OSError):
            _remove(beside)
        raise
    _remove(beside)
    return False


def _withdraw(run: Run, called: str) -> bool:
    """Take this process's part back; False if process 0 has taken it.

    The part is put aside first: process 0 then does not find it when it looks again. It is removed last: while it is
    there, no other process removes ``.taken``.
    """
    part = run.part(called, run.process)
    aside = part.with_suffix(".aside")
    with suppress(FileNotFoundError):
        part.replace(aside)
    is_taken = not _remove(run.opened(called)) and run.taken(called).exists()
    _leave(run, called, aside)
    return not is_taken


def _leave(run: Run, called: str, part: Path) -> None:
    """Remove this process's part of a round, and ``.taken`` if no part of another process is there."""
    _remove(part)
    if not any(run.folder.glob(run.file(f"-{called}-*").name)):
        _remove(run.taken(called))


def _read_call(run: Run) -> dict[str, Any]:
    """The round that process 0 calls; nothing if there is none, or a damaged file of an earlier run."""
    try:
        call = json.loads(run.file(".call").read_bytes())
    except ValueError:
        return {}
    except OSError as error:
        # On network file systems a file that is replaced while it is read is stale.
        if error.errno in (errno.ENOENT, errno.ESTALE):
            return {}
        raise
    return call if isinstance(call, dict) and isinstance(call.get("round"), str) else {}


def _remove(path: Path) -> bool:
    """Remove a file; False if it was gone."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True


# --- parts ------------------------------------------------------------------------------------------------------------


def _write_part(options: Mapping[str, Any], part: Part) -> bytes:
    """A part as an Arrow file with one row, the list of all records of each side; options and numbers are metadata."""
    lists = [
        pa.ListArray.from_arrays(pa.array([0, len(column)], pa.int32()), to_arrow(column)) for column in part.values()
    ]
    described = {
        "options": {name: (_digest(value), quote(value)) for name, value in options.items()},
        "records": {side: len(column) for side, column in part.items()},
    }
    table = pa.table(lists, names=list(part)).replace_schema_metadata({"part": json.dumps(described)})
    stream = pa.BufferOutputStream()
    with pa.ipc.new_file(stream, table.schema) as writer:
        writer.write_table(table)
    written: bytes = stream.getvalue().to_pybytes()
    return written


def _read_part(path: Path) -> tuple[dict[str, list[str]], Part]:
    """The options and the records of a part."""
    written = path.read_bytes()
    try:
        table = pa.ipc.open_file(pa.py_buffer(written)).read_all()
    except (pa.ArrowException, OSError):
        raise ValueError(f"{path}: damaged ({len(written)} bytes), expected a file as its process wrote it") from None
    described = json.loads(table.schema.metadata[b"part"])
    part = {
        side: concatenate_columns([from_arrow(chunk.flatten()) for chunk in table.column(side).chunks])
        for side in table.column_names
    }
    numbers = {side: len(column) for side, column in part.items()}
    if numbers != described["records"]:
        raise ValueError(f"{path}: {numbers} records, expected {described['records']}")
    return described["options"], part


def _digest(value: Any) -> str:
    """Equal texts for equal values of an option, in all processes."""
    stream = io.BytesIO()
    pickler = pickle.Pickler(stream, protocol=4)
    pickler.fast = True  # so that the bytes do not depend on which parts of the value are one object
    pickler.dump(value)
    return sha256(stream.getvalue()).hexdigest()
