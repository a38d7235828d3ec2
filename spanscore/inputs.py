"""Reading the files of predictions and references, and the task of a benchmark that they belong to."""

from __future__ import annotations

from typing import Any, NamedTuple

from spanscore.benchmarks import Benchmark, formats_of, task_names
from spanscore.formats.files import tokens_of


class InputFile(NamedTuple):
    """A file of predictions or references that has been read.

    Attributes
    ----------
    path : str
    records : list
        Records as the metric takes them.
    format : str
    notes : dict of str to int
        What the records do not hold, and how often.
    """

    path: str
    records: list[Any]
    format: str
    notes: dict[str, int]

    def __str__(self) -> str:
        words = [f"{count:,} {name.replace('_', ' ')}" for name, count in self.notes.items() if count]
        return f"{self.path}: format {self.format}, {len(self.records):,} records" + "".join(f", {w}" for w in words)


def read_file(benchmark: Benchmark, path: str, format: str = "auto", **special: Any) -> InputFile:
    """Read a file of a benchmark.

    Parameters
    ----------
    benchmark : Benchmark
    path : str
        ``"-"`` is standard input.
    format : str
    **special
        Arguments that only the formats of this benchmark have. Those that are None are left out.

    Returns
    -------
    InputFile

    Raises
    ------
    ValueError
        The file does not have the format.
    """
    given = {name: value for name, value in special.items() if value is not None}
    corpus = formats_of(benchmark).read(path, format, **given)
    return InputFile("standard input" if path == "-" else path, corpus.records, corpus.format, corpus.format_notes)


def read_references(benchmark: Benchmark, path: str, arguments: dict[str, Any]) -> InputFile:
    """Read references, with the arguments of a command."""
    special = {option.name: arguments.get(option.name) for option in benchmark.read_options}
    return read_file(benchmark, path, arguments.get("references_format") or "auto", **special)


def read_predictions(benchmark: Benchmark, path: str, arguments: dict[str, Any], references: InputFile) -> InputFile:
    """Read predictions, with the arguments of a command.

    Some formats have no sentences. They are read with the sentences of the references, if all references have tokens.
    """
    special = {
        option.name: arguments.get(option.name) for option in benchmark.read_options if not option.references_only
    }
    format = arguments.get("format") or "auto"
    if format in benchmark.sentence_formats:
        sentences = [tokens_of(record) for record in references.records]
        if sentences and all(sentence is not None for sentence in sentences):
            special["sentences"] = sentences
    return read_file(benchmark, path, format, **special)


def task_of_references(benchmark: Benchmark, references: list[Any], task: str | None = None) -> str | None:
    """Return the task if one is given, else the task of the references; None for a benchmark with a single task."""
    if not task_names(benchmark):
        return None
    found: str = task or formats_of(benchmark).task_of(references)
    return found
