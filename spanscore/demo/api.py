"""The API: score files without the page, and list what can be scored."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr
from gradio.events import api

from spanscore.benchmarks import Benchmark, formats_of, metric_options, task_names
from spanscore.demo import jobs, work
from spanscore.demo.requests import (
    AVAILABLE,
    BadRequest,
    api_values,
    expect_files,
    job_folder,
    make_request,
    reading_choices,
)

if TYPE_CHECKING:
    from spanscore.demo.page import Demo


def add_endpoints(demo: Demo) -> None:
    """Add the endpoints ``/score`` and ``/benchmarks`` to the page. They are tools of its MCP server too."""

    async def score(
        benchmark: str, predictions: str, references: str, options: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Score predictions against references with the official metric of a benchmark.

        Args:
            benchmark: The name of the benchmark, such as aste. Another endpoint lists them.
            predictions: The text of the file of predictions, in any text format of the benchmark.
            references: The text of the file of references, the gold data.
            options: Options of the metric and of reading, such as {"duplicates": "count"}. The value of an option that
                is a file is the text of the file.

        Returns:
            The result of the metric: its headline scores at the top, tables of components, and a signature.
        """
        try:
            result: dict[str, Any] = await _score(demo, benchmark, predictions, references, options)
        except (BadRequest, jobs.JobError) as error:
            raise gr.Error(str(error), print_exception=False) from None
        return result

    def list_benchmarks() -> list[dict[str, Any]]:
        """List the benchmarks that can be scored, with their file formats and their options.

        Returns:
            For each benchmark its name, heading, formats, tasks, and options, each with its type, default and meaning.
        """
        return [_describe(benchmark) for benchmark in AVAILABLE.values()]

    queued: Any = {"concurrency_id": "jobs", "concurrency_limit": demo.settings.workers}
    api(score, api_name="score", **queued)
    api(list_benchmarks, api_name="benchmarks", queue=False)


async def _score(demo: Demo, name: str, predictions: str, references: str, given: dict[str, Any] | None) -> Any:
    benchmark = AVAILABLE.get(name) if isinstance(name, str) else None
    if benchmark is None:
        raise BadRequest(f"benchmark: {str(name)[:80]!r} is not one of {', '.join(AVAILABLE)}")
    for side, text in (("predictions", predictions), ("references", references)):
        if not isinstance(text, str):
            raise BadRequest(f"{side}: expected the text of a file")
    if given is not None and not isinstance(given, dict):
        raise BadRequest("options: expected a dict from the name of an option to its value")
    options, arguments, files = api_values(benchmark, given or {})
    texts = {"predictions": predictions, "references": references, **files}
    with job_folder(demo.folder / "jobs", texts, demo.settings.max_text) as (folder, paths):
        expect_files(paths, "predictions", "references")
        request = make_request(benchmark, folder, paths, options, arguments)
        return await jobs.run(work.compute, request, demo.settings.limits)


def _describe(benchmark: Benchmark) -> dict[str, Any]:
    return {
        "name": benchmark.name,
        "heading": benchmark.heading,
        "formats": list(formats_of(benchmark).FORMATS),
        "tasks": list(task_names(benchmark)),
        "options": [
            {
                "name": option.name,
                "type": option.kind,
                "default": option.default,
                "choices": list(option.choices),
                "form": option.form,
                "text": " ".join(option.text.replace("``", "`").split()),
            }
            for option in metric_options(benchmark).values()
        ],
        "reading": [{"name": name, "choices": list(choices)} for name, choices in reading_choices(benchmark).items()],
    }
