"""All mistakes of a file, each with its line and place. Reading and scoring stop at the first mistake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from spanscore.benchmarks import Benchmark, formats_of, tasks_of
from spanscore.formats.files import is_parquet
from spanscore.formats.pieces import read_pieces
from spanscore.inputs import read_file, task_of_references
from spanscore.metrics.mistakes import Mistakes, quote, write_path

if TYPE_CHECKING:
    from spanscore.metrics.records import Task


class Problem(NamedTuple):
    """One mistake.

    Attributes
    ----------
    line : int or None
        The line in the file, from 1. All items of a list on one line have that line. None if the file has no lines.
    place : str
        Such as ``predictions[3].triplets[1].polarity``. Empty if the line could not be read.
    problem : str
        The value at the place, and the expected value.
    """

    line: int | None
    place: str
    problem: str


class CheckedFile(NamedTuple):
    """A file that has been checked.

    Attributes
    ----------
    format : str
    side : {"predictions", "references"}
    records : list
        The records that could be read.
    problems : list of Problem
        In the order of lines.
    """

    format: str
    side: str
    records: list[Any]
    problems: list[Problem]


def check_file(
    benchmark: Benchmark,
    path: str,
    format: str = "auto",
    side: str | None = None,
    task: str | None = None,
    **special: Any,
) -> CheckedFile:
    """Find all mistakes of a file.

    Parameters
    ----------
    benchmark : Benchmark
    path : str
        ``"-"`` is standard input.
    format : str
    side : {"predictions", "references"}, optional
        By default it is found by the format.
    task : str, optional
        By default it is found by the records, if the benchmark has several tasks.
    **special
        Further arguments of ``read`` of the benchmark's formats.

    Returns
    -------
    CheckedFile
    """
    formats = formats_of(benchmark)
    if format == "auto" and hasattr(formats, "detect_path"):
        format = formats.detect_path(path)
    lines: Sequence[int | None]
    problems: list[Problem] = []
    if format in benchmark.whole_formats or is_parquet(path):
        file = read_file(benchmark, path, format, **special)
        records, format = file.records, file.format
        lines = [None] * len(records)
    else:
        records, lines, format, unreadable = read_pieces(path, formats, format, **special)
        problems += [Problem(*part) for part in unreadable]
    if side is None:
        side = "references" if format in benchmark.reference_formats else "predictions"
    if format not in benchmark.training_formats:
        key = benchmark.reference_key if side == "references" else benchmark.prediction_key
        reader = tasks_of(benchmark)[task_of_references(benchmark, records, task) or "default"]
        problems += check_records(reader, side, records, lines, key)
    return CheckedFile(format, side, records, sorted(problems, key=lambda problem: problem.line or 0))


def check_records(
    task: Task, side: str, records: list[Any], lines: Sequence[int | None], key: str | None
) -> list[Problem]:
    """Find all mistakes of records.

    Parameters
    ----------
    task : Task
    side : {"predictions", "references"}
    records : list
    lines : sequence of int or None
        The line of each record.
    key : str or None
        The field that identifies a record. Either all records have different values of it, or none has a value.

    Returns
    -------
    list of Problem
        First mistakes within records, then mistakes of their keys; both in the order of the records.
    """
    mistakes, of_keys = Mistakes(), Mistakes()
    task.read(side, records, mistakes)
    if key is not None:
        _check_keys(side, records, key, of_keys)
    # A mistake of the whole side names repeated keys without their places.
    found = {path: words for path, words in mistakes.sorted() if path != (side,) or not of_keys}
    found |= {path: words for path, words in of_keys.sorted() if path not in found and path[:2] not in found}
    problems = []
    for path, words in found.items():
        line = lines[path[1]] if len(path) > 1 and isinstance(path[1], int) else None
        problems.append(Problem(line, write_path(path), words))
    return problems


def _check_keys(side: str, records: list[Any], key: str, mistakes: Mistakes) -> None:
    """Note records with the key of an earlier record, and records without a key if others have one."""
    names = [record.get(key) if isinstance(record, dict) else None for record in records]
    if all(name is None for name in names):
        return
    first: dict[str, int] = {}
    for at, name in enumerate(names):
        place = (side, at, key)
        if name is None:
            mistakes.add(place, "missing, expected one, as other records have it")
        elif str(name) in first:
            mistakes.add(place, f"{quote(name)} is that of {write_path((side, first[str(name)]))} too")
        else:
            first[str(name)] = at
