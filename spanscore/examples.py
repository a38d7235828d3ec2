"""The examples of each benchmark: small files of our own, and how to score them.

They lie in the folder ``examples`` beside the metric scripts, in a checkout and in a Space. An installed package has
none.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from spanscore.benchmarks import BENCHMARKS, Benchmark, formats_of
from spanscore.metrics import FOLDER


class Example(NamedTuple):
    """Files of predictions and references, and the options to score them with.

    Attributes
    ----------
    benchmark : Benchmark
    title : str
    task : str or None
        The task, where the benchmark has several.
    predictions, references : pathlib.Path
    second : pathlib.Path or None
        The predictions of a second system, to compare.
    options : dict
        Options of ``compute``.
    files : dict of str to pathlib.Path
        Options of ``compute`` that are files.
    shown : list of str
        Places in the result that tell something, with dots for nesting. The empty place is the headline.
    """

    benchmark: Benchmark
    title: str
    task: str | None
    predictions: Path
    references: Path
    second: Path | None
    options: dict[str, Any]
    files: dict[str, Path]
    shown: list[str]

    def read(self) -> tuple[list[Any], list[Any]]:
        """Read the records of the predictions and of the references."""
        read = formats_of(self.benchmark).read
        return read(self.predictions).records, read(self.references).records

    def arguments(self) -> dict[str, Any]:
        """All options of ``compute``. Files are given as paths."""
        return self.options | {name: str(path) for name, path in self.files.items()}


def examples_of(benchmark: Benchmark) -> list[Example]:
    """Read the table of a benchmark's examples; empty if there are none."""
    folder = FOLDER / "examples" / benchmark.name
    try:
        listed = json.loads((folder / "examples.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    return [
        Example(
            benchmark,
            one["title"],
            one["task"],
            folder / one["predictions"],
            folder / one["references"],
            folder / one["second"] if one.get("second") else None,
            one["options"],
            {name: folder / file for name, file in one["files"].items()},
            one["shown"],
        )
        for one in listed
    ]


def all_examples() -> list[Example]:
    """Read the examples of all benchmarks."""
    return [example for benchmark in BENCHMARKS.values() for example in examples_of(benchmark)]
