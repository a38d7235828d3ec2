"""The work of the page's jobs: check files, score them, compare two systems.

Each function runs in a process of its own, in a folder that holds the files of one request.
"""

from __future__ import annotations

import inspect
import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from typing import Any, NamedTuple

# The server process of jobs imports these once for all jobs.
import evaluate

from spanscore import analysis, comparison, pages, scoring, tables, text_tables, validation
from spanscore.benchmarks import BENCHMARKS, OUTPUT_OPTIONS, Benchmark, metric_options
from spanscore.demo import snippets
from spanscore.inputs import read_list
from spanscore.metrics.options import confidence_options
from spanscore.terminal import call_quietly, describe_error

_MOST_PROBLEMS = 200
# The settings of a comparison, where the options of the metric do not give others.
_COMPARISON: dict[str, Any] = {
    name: parameter.default
    for name, parameter in inspect.signature(comparison.compare_systems).parameters.items()
    if name in ("method", "n_resamples", "random_state", "confidence_level")
}
Progress = Callable[[str], None]


class Request(NamedTuple):
    """Files and options of one job.

    Attributes
    ----------
    benchmark : str
    folder : str
        The folder that all paths are in. The job may write there.
    predictions, references : str
        Paths. An empty path is no file.
    second : str
        The predictions of a second system. Empty if there is none.
    arguments : dict of str to object
        Arguments of reading, as on the command line.
    options : dict of str to object
        Options of ``compute``, as values.
    files : dict of str to str
        Options of ``compute`` that are given as the path of a file, with a list or with content of the file's own form.
    space : str
        The name of the Space, such as ``"user/aste_metric"``. Empty elsewhere.
    """

    benchmark: str
    folder: str
    predictions: str
    references: str
    second: str = ""
    arguments: dict[str, Any] = {}
    options: dict[str, Any] = {}
    files: dict[str, str] = {}
    space: str = ""


@contextmanager
def _at_work(request: Request) -> Iterator[tuple[Benchmark, io.StringIO]]:
    """Enter the folder of a request. Gives the benchmark, and the lines that go to standard error."""
    os.chdir(request.folder)
    # Metrics keep their records in this folder while they count.
    evaluate.config.HF_METRICS_CACHE = request.folder
    with redirect_stderr(io.StringIO()) as said:
        yield BENCHMARKS[request.benchmark], said


def _options(benchmark: Benchmark, request: Request) -> dict[str, Any]:
    """The options of ``compute``. Only options that name a file of the request open a file.

    Raises
    ------
    ValueError
        An option is unknown, or is given as a path.
    """
    known = metric_options(benchmark)
    for name in request.options:
        if name not in known:
            raise ValueError(f"{name}: not an option of {benchmark.name}, expected one of {', '.join(known)}")
    # A metric opens text as a path. Here a path may only be that of a file of the request.
    paths = [name for name, value in request.options.items() if known[name].form == "file" and isinstance(value, str)]
    if paths:
        raise ValueError(f"{paths[0]}: no path is opened here, expected the content of the file")
    files = {name: path if known[name].form == "file" else read_list(path) for name, path in request.files.items()}
    return request.options | files


def check(request: Request, progress: Progress) -> dict[str, Any]:
    """Find all problems of the files.

    Returns
    -------
    dict
        For each side that has a file: ``format`` and ``records`` (the number of them), ``problems`` (each a place and
        words), and ``more``, the number of further problems.
    """
    found = {}
    with _at_work(request) as (benchmark, _):
        references = request.references
        if references:
            found["references"] = _check_file(benchmark, references, {**request.arguments, "side": "references"})
            if found["references"]["problems"]:
                references = ""
        for side, path in (("predictions", request.predictions), ("second", request.second)):
            if path:
                arguments = {**request.arguments, "references": references, "side": "predictions"}
                found[side] = _check_file(benchmark, path, arguments)
    return found


def _check_file(benchmark: Benchmark, path: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if arguments["side"] == "references":
        arguments = {**arguments, "format": arguments.get("references_format"), "references": ""}
    try:
        checked = validation.check_with_references(benchmark, path, arguments)
    except Exception as error:
        words = describe_error(error)
        if words is None:
            raise
        return {"format": "", "records": 0, "problems": [["", words]], "more": 0}
    problems = [
        [" ".join(part for part in (f"line {one.line}" if one.line else "", one.place) if part), one.problem]
        for one in checked.problems
    ]
    return {
        "format": "" if checked.format == "auto" else checked.format,
        "records": len(checked.records),
        "problems": problems[:_MOST_PROBLEMS],
        "more": max(0, len(problems) - _MOST_PROBLEMS),
    }


def score(request: Request, progress: Progress) -> dict[str, Any]:
    """Score the files, and write all that the page shows of the result.

    Returns
    -------
    dict
        ``headline`` (``name``, ``value``, and ``low`` and ``high`` of its interval, as text), ``messages`` (a list),
        ``report`` (HTML), ``json``, ``latex``, ``python`` and ``shell`` (text).
    """
    with _at_work(request) as (benchmark, said):
        progress("reading and scoring")
        options = _options(benchmark, request)
        detailed = options | {"per_document": True, "return_errors": True, "flat": False}
        scored = scoring.score_files(benchmark, request.predictions, request.references, request.arguments, detailed)
        progress("writing the report")
        result = scored.result
        analysed = analysis.analyse(scored)
        summary = tables.summarise(result, benchmark, scored.size, scored.hidden)
        found = tables.short_tables(result, benchmark, summary, scored.hidden)
        interval = (result.get("confidence_intervals") or {}).get(analysed.headline) or ()
        return {
            "headline": {
                "name": tables.spell_out(analysed.headline),
                "value": tables.format_figure(analysed.score),
                "interval": [tables.format_figure(end) for end in interval],
                "level": options.get("confidence_level"),
            },
            "messages": said.getvalue().splitlines(),
            "report": pages.report_page(scored, analysed),
            "json": json.dumps(result, ensure_ascii=False, indent=1),
            "latex": text_tables.to_latex(found, result["signature"]),
            "python": snippets.python(request, scored.task, {"predictions": scored.predictions.format}),
            "shell": snippets.shell(request),
        }


def compare(request: Request, progress: Progress) -> dict[str, Any]:
    """Compare the second system with the first.

    Returns
    -------
    dict
        ``headline`` (text), ``messages`` (a list), ``report`` (HTML), ``python`` and ``shell`` (text).
    """
    with _at_work(request) as (benchmark, said):
        progress("reading and comparing")
        options = _options(benchmark, request)
        left_out = {*OUTPUT_OPTIONS, *confidence_options("")} - {"groups"}
        # `n_resamples` of the metric is that of the intervals of one system.
        given = {name: options[name] for name in ("random_state", "confidence_level") if name in options}
        settings = _COMPARISON | given
        options = {name: value for name, value in options.items() if name not in left_out}
        systems = scoring.read_systems(
            benchmark, [request.predictions, request.second], request.references, request.arguments, options
        )
        found, signature = call_quietly(comparison.compare_files, systems, settings)
        formats = dict(zip(("predictions", "second"), (file.format for file in systems.predictions), strict=True))
        progress("writing the report")
        names = snippets.file_names(request)
        first, second = names[request.predictions], names[request.second]
        (scores,) = found
        name = tables.headline_among(scores, benchmark.headlines)
        return {
            "headline": pages.verdict(first, second, name, scores[name], settings["confidence_level"]),
            "messages": said.getvalue().splitlines(),
            "report": pages.comparison_page(systems, found, settings, signature, names=[first, second]),
            "python": snippets.python(request, systems.task, formats),
            "shell": snippets.shell(request),
        }


def compute(request: Request, progress: Progress) -> dict[str, Any]:
    """Score the files, and return the result of ``compute``."""
    with _at_work(request) as (benchmark, _):
        options = _options(benchmark, request)
        return scoring.score_files(
            benchmark, request.predictions, request.references, request.arguments, options
        ).result
