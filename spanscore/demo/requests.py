"""From what a visitor or an API client gives to the request of a job: values, and files in a folder of its own."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from spanscore.benchmarks import BENCHMARKS, Benchmark, formats_of, metric_options, task_names
from spanscore.demo.snippets import PASTED
from spanscore.demo.work import Request
from spanscore.metrics import FOLDER

# The benchmarks whose metric is here: all of them in a checkout, one of them in its Space.
AVAILABLE = {name: one for name, one in BENCHMARKS.items() if (FOLDER / f"{name}_metric.py").is_file()}


class BadRequest(ValueError):
    """The request cannot be worked on. The message is one line for the user."""


@contextmanager
def job_folder(root: Path, files: Mapping[str, str | Path], max_size: int) -> Iterator[tuple[str, dict[str, str]]]:
    """Make a folder with the files of a request, for as long as its job runs.

    Parameters
    ----------
    root : pathlib.Path
    files : dict of str to str or pathlib.Path
        The text or the path of each file, by its slot. Blank text is no file.
    max_size : int
        Number of bytes that text may have.

    Yields
    ------
    folder : str
    paths : dict of str to str
        The path of each file in the folder, by its slot.

    Raises
    ------
    BadRequest
        A text is too long, or an uploaded file is gone.
    """
    folder = Path(tempfile.mkdtemp(dir=root))
    try:
        paths = {}
        for slot, given in files.items():
            if isinstance(given, str) and not given.strip():
                continue
            name = PASTED if isinstance(given, str) else given.name
            place = folder / slot / name
            place.parent.mkdir()
            if isinstance(given, str):
                data = given.encode("utf-8", "surrogatepass")
                if len(data) > max_size:
                    raise BadRequest(f"{slot}: {len(data):,} bytes, expected at most {max_size:,}")
                place.write_bytes(data)
            else:
                try:
                    shutil.copyfile(given, place)
                except FileNotFoundError:
                    raise BadRequest(f"{slot}: the file {name} is gone, expected it to be chosen again") from None
            paths[slot] = f"{slot}/{name}"
        yield str(folder), paths
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def api_values(benchmark: Benchmark, given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, str]]:
    """Sort the options of an API call.

    Parameters
    ----------
    benchmark : Benchmark
    given : dict
        Options of ``compute`` and of reading. An option that is a file, or a list, may be the text of a file.

    Returns
    -------
    options : dict
        Options of ``compute``, as values.
    arguments : dict
        Arguments of reading, as values.
    files : dict of str to str
        The text of each option that is a file.

    Raises
    ------
    BadRequest
        An option is unknown, or an argument of reading has a value that it does not take.
    """
    known = metric_options(benchmark)
    choices = reading_choices(benchmark)
    options: dict[str, Any] = {}
    arguments: dict[str, Any] = {}
    files: dict[str, str] = {}
    for name, value in given.items():
        if name in known:
            if known[name].form != "value" and isinstance(value, str):
                files[name] = value
            else:
                options[name] = value
        elif name in choices:
            if value is None:
                continue
            if not isinstance(value, str) or (choices[name] and value not in choices[name]):
                expected = f"one of {', '.join(choices[name])}" if choices[name] else "text"
                raise BadRequest(f"{name}: {json.dumps(value)[:80]} is not {expected}")
            is_file = any(option.name == name and option.is_file for option in benchmark.read_options)
            (files if is_file else arguments)[name] = value
        else:
            raise BadRequest(
                f"{name}: not an option of {benchmark.name}, expected one of {', '.join([*known, *choices])}"
            )
    return options, arguments, files


def reading_choices(benchmark: Benchmark) -> dict[str, tuple[str, ...]]:
    """The arguments of reading, each with the values that it takes; none if it takes any text."""
    formats = ("auto", *formats_of(benchmark).FORMATS)
    choices: dict[str, tuple[str, ...]] = {"format": formats, "references_format": formats}
    if task_names(benchmark):
        choices["task"] = task_names(benchmark)
    return choices | {option.name: option.choices for option in benchmark.read_options}


def expect_files(paths: Mapping[str, str], *slots: str) -> None:
    """Raise a `BadRequest` that names the first of the slots without a file."""
    for slot in slots:
        if slot not in paths:
            name = "the predictions of the second system" if slot == "second" else slot
            raise BadRequest(f"{name}: missing, expected a file or its text")


def make_request(
    benchmark: Benchmark,
    folder: str,
    paths: Mapping[str, str],
    options: Mapping[str, Any],
    arguments: Mapping[str, Any],
    space: str = "",
) -> Request:
    """Make the request of a job whose files are in its folder."""
    of_reading = {option.name for option in benchmark.read_options}
    files = {slot: path for slot, path in paths.items() if slot in metric_options(benchmark)}
    read = {slot: path for slot, path in paths.items() if slot in of_reading}
    return Request(
        benchmark.name,
        folder,
        paths.get("predictions", ""),
        paths.get("references", ""),
        paths.get("second", ""),
        {**arguments, **read},
        dict(options),
        files,
        space,
    )
