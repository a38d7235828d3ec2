"""All mistakes of a file, each with its line and place. Reading and scoring stop at the first mistake."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from spanscore.benchmarks import Benchmark, formats_of, tasks_of
from spanscore.formats.files import DataFile, read_data, read_raw, read_text
from spanscore.formats.pieces import Pieces, read_pieces, read_with_sentences
from spanscore.inputs import (
    InputFile,
    as_predictions,
    read_arguments,
    read_file,
    read_predictions,
    read_references,
    task_of_references,
    with_sentences,
)
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
    lines : list of int or None
        The line of each record.
    """

    format: str
    side: str
    records: list[Any]
    problems: list[Problem]
    lines: Sequence[int | None] = ()

    def problem(self, message: str) -> Problem:
        """Make the problem of an error of ``compute``. It has a line if the error is in one record of this file."""
        place, colon, words = message.partition(": ")
        found = re.match(rf"{self.side}\[(\d+)\]", place)
        if not colon or found is None:
            return Problem(None, "", message)
        at = int(found[1])
        return Problem(self.lines[at] if at < len(self.lines) else None, place, words)


def check_with_references(benchmark: Benchmark, path: str, arguments: dict[str, Any]) -> CheckedFile:
    """Find all mistakes of a file, with the arguments of a command.

    Parameters
    ----------
    benchmark : Benchmark
    path : str
        ``"-"`` is standard input.
    arguments : dict
        ``side``, ``task``, the path of ``references``, and the arguments of reading.

    Returns
    -------
    CheckedFile
        Where the file alone has no mistake and there are references, the first mistake that shows only when both sides
        are compared is among its problems.
    """
    side = arguments.get("side") or ("predictions" if arguments.get("references") else None)
    format = arguments.get("format") or "auto"
    gold: list[Any] = []
    if arguments.get("references"):
        gold = read_references(benchmark, arguments["references"], arguments).records
    special = read_arguments(benchmark, arguments, side or "predictions")
    special = with_sentences(benchmark, special, format, gold)
    # The bytes are read once: a pipe has them no second time. Some formats are folders, which their readers know.
    source = path if Path(path).is_dir() else read_raw(path)
    checked = check_file(benchmark, source, format, side, arguments.get("task"), **special)
    if not checked.problems and arguments.get("references"):
        problems = _check_both_sides(benchmark, checked, gold, arguments.get("task"))
        if problems and not checked.lines and not isinstance(source, str):
            checked = check_file(benchmark, source, format, side, arguments.get("task"), with_lines=True, **special)
            problems = _check_both_sides(benchmark, checked, gold, arguments.get("task"))
        checked = checked._replace(problems=problems)
    return checked


def check_several(
    benchmark: Benchmark, pattern: str, paths: Sequence[str], arguments: dict[str, Any]
) -> dict[str, CheckedFile]:
    """Find all mistakes of several files, and the first one that shows only when both sides are compared.

    Parameters
    ----------
    benchmark : Benchmark
    pattern : str
        The folder or the pattern of the files.
    paths : sequence of str
        The files.
    arguments : dict
        As for `check_with_references`.

    Returns
    -------
    dict of str to CheckedFile
        By path. A mistake of all files together stands under `pattern`.
    """
    side = arguments.get("side") or ("predictions" if arguments.get("references") else None)
    alone = arguments | {"references": None, "side": side}
    found = {path: check_with_references(benchmark, path, alone) for path in paths}
    if arguments.get("references") and not any(checked.problems for checked in found.values()):
        gold = read_references(benchmark, arguments["references"], arguments)
        file = read_predictions(benchmark, pattern, arguments, gold)
        together = CheckedFile(file.format, "predictions", file.records, [])
        problems = _check_both_sides(benchmark, together, gold.records, arguments.get("task"))
        if problems:
            found[pattern] = together._replace(problems=problems)
    return found


def _check_both_sides(benchmark: Benchmark, checked: CheckedFile, gold: list[Any], task: str | None) -> list[Problem]:
    """Find the first mistake that shows only when predictions are compared with their references."""
    from spanscore import scoring

    metric = scoring.load_metric(benchmark, task_of_references(benchmark, gold, task))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            metric.compute(predictions=checked.records, references=gold)
        except ValueError as error:
            return [checked.problem(str(error))]
    return []


def check_file(
    benchmark: Benchmark,
    source: str | DataFile,
    format: str = "auto",
    side: str | None = None,
    task: str | None = None,
    with_lines: bool = False,
    **special: Any,
) -> CheckedFile:
    """Find all mistakes of a file.

    Parameters
    ----------
    benchmark : Benchmark
    source : str or DataFile
        The path of a folder, or the content of a file.
    format : str
    side : {"predictions", "references"}, optional
        By default it is found by the format.
    task : str, optional
        By default it is found by the records, if the benchmark has several tasks.
    with_lines : bool
        Whether a file without mistakes is read piece by piece too, for the lines of its records.
    **special
        Further arguments of ``read`` of the benchmark's formats.

    Returns
    -------
    CheckedFile
    """
    formats = formats_of(benchmark)
    if format == "auto" and hasattr(formats, "detect_path"):
        format = formats.detect_path(source)
    if format in benchmark.whole_formats or (isinstance(source, DataFile) and read_data(source).is_parquet()):
        special.pop("sentences", None)
        file = read_file(benchmark, source, format, **special)
        whole = Pieces(file.records, [None] * len(file.records), file.format, [])
        return _check_pieces(benchmark, source, whole, side, task)
    if not with_lines:
        # Most files have no mistake. Then they are read as scoring reads them, which is quicker.
        try:
            corpus = formats.read(read_text(source), format, **special)
        except ValueError:
            corpus = None
        if corpus is not None and not corpus.unparsed:
            checked = _check_pieces(benchmark, source, Pieces(corpus.records, [], corpus.format, []), side, task)
            if not checked.problems:
                return checked
    sentences = special.pop("sentences", None)
    if sentences is not None and _has_no_sentences(benchmark, source, format):
        pieces = read_with_sentences(source, formats, benchmark.sentence_formats[0], sentences=sentences, **special)
    else:
        pieces = read_pieces(source, formats, format, **special)
    return _check_pieces(benchmark, source, pieces, side, task)


def _check_pieces(
    benchmark: Benchmark, source: str | DataFile, pieces: Pieces, side: str | None, task: str | None
) -> CheckedFile:
    """Check the records of a file, and make predictions of a file of references that is meant as predictions."""
    formats = formats_of(benchmark)
    records, lines, format, unreadable = pieces
    problems = [Problem(*part) for part in unreadable]
    if side is None:
        side = "references" if format in benchmark.reference_formats else "predictions"
    # A file of references that is meant as predictions is checked as references, before it becomes predictions.
    is_gold = side == "predictions" and format in benchmark.reference_formats and hasattr(formats, "to_predictions")
    if format not in benchmark.training_formats:
        as_side = "references" if is_gold else side
        key = benchmark.reference_key if as_side == "references" else benchmark.prediction_key
        reader = tasks_of(benchmark)[task_of_references(benchmark, records, task) or "default"]
        problems += check_records(reader, as_side, records, lines, key)
    if is_gold and not problems:
        n_records = len(records)
        name = source.name if isinstance(source, DataFile) else source
        records = as_predictions(benchmark, InputFile(name, records, format, {})).records
        lines = lines if len(records) == n_records else [None] * len(records)
    return CheckedFile(format, side, records, sorted(problems, key=lambda problem: problem.line or 0), lines)


def _has_no_sentences(benchmark: Benchmark, source: Any, format: str) -> bool:
    """Whether a text file has a format that has no sentences."""
    if format == "auto":
        try:
            format = formats_of(benchmark).detect(read_text(source))
        except ValueError:
            return False
    return format in benchmark.sentence_formats


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
        at = path[1] if len(path) > 1 else None
        line = lines[at] if isinstance(at, int) and at < len(lines) else None
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
