"""The Python and the command line that give the same figures as the page."""

from __future__ import annotations

import json
import shlex
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from spanscore.benchmarks import BENCHMARKS, metric_options

if TYPE_CHECKING:
    from spanscore.demo.work import Request
    from spanscore.scoring import ScoredFiles

# The name of the file that holds pasted text.
PASTED = "pasted"
# Options of the intervals of one system. A comparison has intervals of its own.
_NOT_OF_COMPARISONS = ("n_resamples", "interval_method")


def file_names(request: Request) -> dict[str, str]:
    """Choose a name for each file of a request, by its path: as the user named it, all of them different.

    Pasted text has no name, so it is named after what it is.
    """
    chosen: dict[str, str] = {}
    of_reading = [
        request.arguments.get(option.name) for option in BENCHMARKS[request.benchmark].read_options if option.is_file
    ]
    for path in (request.predictions, request.second, request.references, *request.files.values(), *of_reading):
        if path:
            folder, name = PurePosixPath(path).parts
            shown = f"{folder}.txt" if name == PASTED else name
            chosen[path] = f"{folder}/{name}" if shown in chosen.values() else shown
    return chosen


def python(request: Request, scored: ScoredFiles) -> str:
    """Write the lines of Python that score the files."""
    names, benchmark = file_names(request), scored.benchmark
    sides = {}
    for side, file in (("references", scored.references), ("predictions", scored.predictions)):
        given = [repr(names[getattr(request, side)])]
        given += [f"{name}={value!r}" for name, value in _reading(request, side).items()]
        if side == "predictions" and file.format in benchmark.sentence_formats:
            given.append('sentences=[record["tokens"] for record in references]')
        sides[side] = f"read({', '.join(given)}).records"
    imports = ["read"]
    if scored.predictions.format in benchmark.reference_formats:
        imports.append("to_predictions")
        sides["predictions"] = f"to_predictions({sides['predictions']})"
    options = [f"{name}={value!r}" for name, value in request.options.items()]
    lists = False
    for name, path in request.files.items():
        is_list = metric_options(benchmark)[name].form == "list"
        lists = lists or is_list
        options.append(f"{name}=read_list({names[path]!r})" if is_list else f"{name}={names[path]!r}")
    task = f", {scored.task!r}" if scored.task else ""
    metric = f'evaluate.load("{request.space}"{task})' if request.space else f"spanscore.load({benchmark.name!r}{task})"
    lines = [
        "import evaluate" if request.space else "import spanscore",
        f"from spanscore.formats.{benchmark.name} import {', '.join(imports)}",
        *(["from spanscore.inputs import read_list"] if lists else []),
        "",
        f"metric = {metric}",
        f"references = {sides['references']}",
        f"predictions = {sides['predictions']}",
        f"result = metric.compute({', '.join(['predictions=predictions', 'references=references', *options])})",
    ]
    return "\n".join(line.replace("'", '"') if '"' not in line and "\\" not in line else line for line in lines) + "\n"


def shell(request: Request) -> str:
    """Write the command that scores the files, or compares two systems."""
    names, benchmark = file_names(request), BENCHMARKS[request.benchmark]
    known = metric_options(benchmark)
    words = ["spanscore", *(["compare"] if request.second else []), benchmark.name]
    words += [names[path] for path in (request.predictions, request.second, request.references) if path]
    for name, value in request.options.items():
        if not request.second or name not in _NOT_OF_COMPARISONS:
            words += _option(name, value)
    for name, path in request.files.items():
        words += [_flag(name), names[path] if known[name].form == "file" else f"@{names[path]}"]
    for name, value in request.arguments.items():
        words += [_flag(name), str(names.get(str(value), value))]
    return shlex.join(words) + "\n"


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _option(name: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [_flag(name) if value else "--no-" + name.replace("_", "-")]
    return [_flag(name), value if isinstance(value, str) else json.dumps(value)]


def _reading(request: Request, side: str) -> dict[str, Any]:
    """The arguments of ``read`` for one side."""
    benchmark, names, found = BENCHMARKS[request.benchmark], file_names(request), {}
    format = request.arguments.get("format" if side == "predictions" else "references_format")
    if format:
        found["format"] = format
    for option in benchmark.read_options:
        if option.name in request.arguments and (side == "references" or not option.references_only):
            value = request.arguments[option.name]
            found[option.name] = names[value] if option.is_file else value
    return found
