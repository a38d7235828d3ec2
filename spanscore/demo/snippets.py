"""The Python and the command line that give the same figures as the page."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from spanscore.benchmarks import BENCHMARKS, flag_of, metric_options

if TYPE_CHECKING:
    from spanscore.demo.work import Request

# The name of the file that holds pasted text.
PASTED = "pasted"
# Options of the intervals of one system. A comparison has intervals of its own.
_NOT_OF_COMPARISONS = ("n_resamples", "interval_method")
# Options of the intervals of one system, and settings of a comparison.
_OF_BOTH = ("random_state", "confidence_level")


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


def python(request: Request, task: str | None, formats: Mapping[str, str]) -> str:
    """Write the lines of Python that score the files, or compare two systems.

    Parameters
    ----------
    request : Request
    task : str or None
    formats : dict of str to str
        The format of each side that was read: ``predictions`` and ``second``.

    Returns
    -------
    str
        Lines that set ``result``.
    """
    benchmark, names = BENCHMARKS[request.benchmark], file_names(request)
    of_task = f", {task!r}" if task else ""
    imports = {f"spanscore.formats.{benchmark.name}": ["read"]}
    if request.space:
        imports["evaluate"], metric = [], f"evaluate.load({request.space!r}{of_task})"
    else:
        imports["spanscore"], metric = [], f"spanscore.load({benchmark.name!r}{of_task})"
    lines = [f"metric = {metric}", f"references = {_read(request, 'references', names)}"]
    for side, format in formats.items():
        line = _read(request, side, names, format in benchmark.sentence_formats)
        if format in benchmark.reference_formats:
            imports[f"spanscore.formats.{benchmark.name}"] = ["read", "to_predictions"]
            line = f"to_predictions({line})"
        lines.append(f"{side} = {line}")
    options = {name: repr(value) for name, value in request.options.items()}
    for name, path in request.files.items():
        options[name] = repr(names[path])
        if metric_options(benchmark)[name].form == "list":
            imports["spanscore.inputs"] = ["read_list"]
            options[name] = f"read_list({names[path]!r})"
    if request.second:
        imports["spanscore.comparison"] = ["compare_systems"]
        settings = {name: options.pop(name) for name in _OF_BOTH if name in options}
        ours = ", ".join(f"{name!r}: {value}" for name, value in options.items() if name not in _NOT_OF_COMPARISONS)
        given = ["metric", "[predictions, second]", "references", f"{{{ours}}}"]
        given += [f"{name}={value}" for name, value in settings.items()]
        lines.append(f"(result,) = compare_systems({', '.join(given)})")
    else:
        given = ["predictions=predictions", "references=references"]
        given += [f"{name}={value}" for name, value in options.items()]
        lines.append(f"result = metric.compute({', '.join(given)})")
    modules = [
        f"from {module} import {', '.join(found)}" if found else f"import {module}"
        for module, found in sorted(imports.items(), key=lambda item: (bool(item[1]), item[0]))
    ]
    return "\n".join([*modules, "", *lines]) + "\n"


def _read(request: Request, side: str, names: Mapping[str, str], with_sentences: bool = False) -> str:
    """The call that reads the records of a side."""
    given = [repr(names[getattr(request, side)])]
    given += [f"{name}={value!r}" for name, value in _reading(request, side).items()]
    if with_sentences:
        given.append("sentences=[record['tokens'] for record in references]")
    return f"read({', '.join(given)}).records"


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
        words += [flag_of(name), names[path] if known[name].form == "file" else f"@{names[path]}"]
    for name, value in request.arguments.items():
        words += [flag_of(name), str(names.get(str(value), value))]
    return shlex.join(words) + "\n"


def _option(name: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [flag_of(name) if value else "--no-" + name.replace("_", "-")]
    return [flag_of(name), value if isinstance(value, str) else json.dumps(value)]


def _reading(request: Request, side: str) -> dict[str, Any]:
    """The arguments of ``read`` for one side."""
    benchmark, names, found = BENCHMARKS[request.benchmark], file_names(request), {}
    format = request.arguments.get("references_format" if side == "references" else "format")
    if format:
        found["format"] = format
    for option in benchmark.read_options:
        if option.name in request.arguments and (side == "references" or not option.references_only):
            value = request.arguments[option.name]
            found[option.name] = names[value] if option.is_file else value
    return found
