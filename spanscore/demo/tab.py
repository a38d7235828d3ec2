"""The tab of one benchmark: its files, its options, and all that is shown of a result."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gradio as gr

from spanscore.benchmarks import Benchmark
from spanscore.demo import jobs, look, work
from spanscore.demo.controls import Control, Source, given_values, option_controls, reading_controls, source
from spanscore.demo.requests import BadRequest, expect_files, job_folder, make_request
from spanscore.examples import Example, examples_of

if TYPE_CHECKING:
    from spanscore.demo.page import Demo

_JOBS = "jobs"  # the queue of all jobs
_STEPS = 2  # of a job: it scores or compares, then it writes a report
_PROGRESS = gr.Progress()  # a default by which Gradio knows the argument
_HIDDEN: dict[str, Any] = {"api_visibility": "private"}


class BenchmarkTab:
    """The controls and events of one benchmark.

    Parameters
    ----------
    demo : Demo
    benchmark : Benchmark

    Attributes
    ----------
    check_event : dict
        The arguments of the event that checks the files. The page runs it when it is opened.
    """

    def __init__(self, demo: Demo, benchmark: Benchmark) -> None:
        self.demo = demo
        self.benchmark = benchmark
        self.examples = examples_of(benchmark)
        self._build()
        self._connect()

    # --- what is shown ------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        name = self.benchmark.name
        titles = [example.title for example in self.examples]
        self.example = gr.Dropdown(titles, label="Example", elem_id=f"{name}-example")
        with gr.Row():
            with gr.Column(min_width=280):
                predictions = source("predictions", "Predictions", "Text of a file in any format", 8, name)
            with gr.Column(min_width=280):
                references = source("references", "References", "Text of the gold file", 8, name)
        self.problems = gr.HTML(elem_classes="problems", js_on_load=look.LIVE, elem_id=f"{name}-problems")
        with gr.Accordion("Options of the metric", open=False):
            controls, sources = option_controls(self.benchmark)
        with gr.Accordion("How the files are read", open=False):
            of_reading, more = reading_controls(self.benchmark)
        with gr.Accordion("A second system, to compare", open=False):
            second = source("second", "Predictions of the second system", "Text of a file in any format", 6, name)
            self.compare_button = gr.Button("Compare the systems", elem_id=f"{name}-compare")
        self.controls: list[Control] = [*controls, *of_reading]
        self.sides = [predictions, references, second]
        self.sources: list[Source] = [*self.sides, *sources, *more]
        with gr.Row():
            self.score_button = gr.Button("Score", variant="primary", elem_id=f"{name}-score")
            self.stop_button = gr.Button("Stop", elem_id=f"{name}-stop", scale=0, min_width=120)
        self.status = gr.HTML(elem_classes="status", js_on_load=look.LIVE, elem_id=f"{name}-status")
        self.report = self._report("report", f"Report: {self.benchmark.heading}")
        self.comparison = self._report("comparison", f"Comparison: {self.benchmark.heading}")
        self.json, self.latex = gr.Textbox(visible=False), gr.Textbox(visible=False)
        with gr.Row(visible=False) as self.downloads:
            for words, text, file, kind in (
                ("Result as JSON", self.json, "result.json", "application/json"),
                ("Report as HTML", self.report, "report.html", "text/html"),
                ("Tables as LaTeX", self.latex, "tables.tex", "application/x-tex"),
            ):
                button = gr.Button(words, size="sm", elem_id=f"{name}-{file.partition('.')[2]}")
                button.click(None, text, js=look.download(file, kind), **_HIDDEN)
        with gr.Accordion("The same in Python and on the command line", open=False, visible=False) as self.same:
            code: dict[str, Any] = {"interactive": False, "elem_classes": "snippet"}
            self.python = gr.Code(language="python", label="Python", elem_id=f"{name}-python", **code)
            self.shell = gr.Code(language="shell", label="Command line", elem_id=f"{name}-shell", **code)
        if self.examples:
            self._set_example(self.examples[0])

    def _report(self, kind: str, title: str) -> gr.HTML:
        return gr.HTML(
            html_template="",
            title=title,
            js_on_load=look.SHOW_REPORT,
            elem_classes="report",
            elem_id=f"{self.benchmark.name}-{kind}",
        )

    def _set_example(self, example: Example) -> None:
        """Make an example the first content of the page."""
        self.example.value = example.title
        for one, text in zip(self.sources, self._texts(example), strict=True):
            one.text.value = text
        for control in self.controls:
            control.component.value = example.options.get(control.name, control.component.value)

    def _texts(self, example: Example) -> list[str]:
        """The text of each source in an example."""
        files = {"predictions": example.predictions, "references": example.references, "second": example.second}
        files |= example.files
        paths = [files.get(one.slot) for one in self.sources]
        return [path.read_text(encoding="utf-8") if path else "" for path in paths]

    # --- what happens -------------------------------------------------------------------------------------------------

    def _connect(self) -> None:
        # What each job gets: all texts, then all options.
        inputs = [*(one.text for one in self.sources), *(control.component for control in self.controls)]
        queued: dict[str, Any] = {"concurrency_id": _JOBS, "concurrency_limit": self.demo.settings.workers}
        self.check_event: dict[str, Any] = {"fn": self.check, "inputs": inputs, "outputs": self.problems}
        self.check_event |= {"trigger_mode": "always_last", "show_progress": "hidden", **queued, **_HIDDEN}
        self._connect_files(inputs)
        self._connect_work(inputs, queued)
        files = [one.file for one in self.sources]
        texts, options = inputs[: len(self.sources)], inputs[len(self.sources) :]
        self.example.input(
            self.load_example, self.example, [*texts, *files, *options], show_progress="hidden", **_HIDDEN
        )

    def _connect_files(self, inputs: list[Any]) -> None:
        """Check the files whenever one of them changes, and leave the example when the visitor's own come in."""
        of_example = [self.example, *inputs]
        leave: dict[str, Any] = {"inputs": of_example, "outputs": of_example}
        leave |= {"queue": False, "show_progress": "hidden", **_HIDDEN}
        for one in self.sources:
            store: dict[str, Any] = {"fn": self._store(one.slot), "inputs": one.file, "outputs": one.text}
            store |= {"show_progress": "hidden", **_HIDDEN}
            uploaded = one.file.upload(**store)
            if one.slot in ("predictions", "references"):
                uploaded = uploaded.then(self.leave_example, **leave)
                # Gradio tells of pasted text as a change, and not as an input.
                one.text.change(self.leave_replaced_example, trigger_mode="always_last", **leave)
            uploaded.then(**self.check_event)
            one.file.clear(**store).then(**self.check_event)
        read = [
            *(one.text for one in self.sides),
            *(control.component for control in self.controls if control.of_reading),
        ]
        gr.on([component.change for component in read], **self.check_event)

    def _connect_work(self, inputs: list[Any], queued: dict[str, Any]) -> None:
        """Score, compare and stop when a button is clicked."""
        work_event: dict[str, Any] = {"inputs": inputs, "show_progress_on": self.status, "trigger_mode": "once"}
        work_event |= queued | _HIDDEN
        texts = [self.json, self.latex, self.python, self.shell]
        scored = [self.status, self.report, self.comparison, *texts, self.downloads, self.same]
        compared = [self.status, self.comparison, self.python, self.shell, self.same]
        events: Any = [
            self.score_button.click(self.score, outputs=scored, **work_event),
            self.compare_button.click(self.compare, outputs=compared, **work_event),
        ]
        self.stop_button.click(self.stop, outputs=self.status, cancels=events, queue=False, **_HIDDEN)

    def _store(self, slot: str) -> Any:
        """Make the function that keeps an uploaded file for its session, or drops it."""
        place = f"{self.benchmark.name}-{slot}"

        def store(request: gr.Request, path: str | None) -> Any:
            session = request.session_hash or ""
            if path is None:
                self.demo.sessions.drop(session, place)
            else:
                self.demo.sessions.put(session, place, Path(path))
            # A chosen file takes the place of the text.
            return gr.update(visible=path is None)

        return store

    def load_example(self, request: gr.Request, title: str) -> list[Any]:
        """Put an example in the place of all files and options."""
        example = next(one for one in self.examples if one.title == title)
        for one in self.sources:
            self.demo.sessions.drop(request.session_hash or "", f"{self.benchmark.name}-{one.slot}")
        texts = [gr.update(value=text, visible=True) for text in self._texts(example)]
        values = [example.options.get(control.name, control.start) for control in self.controls]
        return [*texts, *([None] * len(self.sources)), *values]

    def leave_example(self, title: str | None, *values: Any) -> list[Any]:
        """Clear what is left of an example: its texts, and the options that it sets. A file of the visitor came in."""
        example = next((one for one in self.examples if one.title == title), None)
        if example is None:
            return [gr.skip()] * (1 + len(values))
        texts, rest = values[: len(self.sources)], values[len(self.sources) :]
        cleared = [gr.update(value="") if text == own else gr.skip() for text, own in self._beside(texts, example)]
        for control, value in zip(self.controls, rest, strict=True):
            is_set = control.name in example.options and value == example.options[control.name]
            cleared.append(gr.update(value=control.start) if is_set else gr.skip())
        return [gr.update(value=None), *cleared]

    def leave_replaced_example(self, title: str | None, *values: Any) -> list[Any]:
        """Clear what is left of an example, if the visitor has replaced both of its sides."""
        example = next((one for one in self.examples if one.title == title), None)
        if example is None or any(text == own for text, own in list(self._beside(values, example))[:2]):
            return [gr.skip()] * (1 + len(values))
        return self.leave_example(title, *values)

    def _beside(self, texts: tuple[Any, ...], example: Example) -> Iterator[tuple[str, str]]:
        """The text of each source, beside that of the example."""
        return zip(texts, self._texts(example), strict=False)

    async def _run(self, function: Any, request: gr.Request, values: tuple[Any, ...], progress: Any = None) -> Any:
        """Run a job on the files and options of a session.

        Raises
        ------
        BadRequest, spanscore.demo.jobs.JobError
            The message is one line for the visitor.
        """
        session, texts, rest = request.session_hash or "", values[: len(self.sources)], values[len(self.sources) :]
        files: dict[str, str | Path] = {}
        for one, text in zip(self.sources, texts, strict=True):
            files[one.slot] = self.demo.sessions.find(session, f"{self.benchmark.name}-{one.slot}") or text or ""
        if function is work.score:
            files["second"] = ""
        options, arguments = given_values(self.controls, list(rest))
        settings = self.demo.settings
        with job_folder(self.demo.folder / "jobs", files, settings.max_text) as (folder, paths):
            if function is not work.check:
                expect_files(paths, "predictions", *(["second"] if function is work.compare else []), "references")
            job = make_request(self.benchmark, folder, paths, options, arguments, self.demo.space)
            steps = ((step, _STEPS) for step in range(_STEPS))
            tell = None if progress is None else (lambda words: progress(next(steps), desc=words))
            return await jobs.run(function, job, settings.limits, session, tell)

    async def check(self, request: gr.Request, *values: Any) -> str:
        """Show all problems of the files."""
        try:
            return look.problems(await self._run(work.check, request, values))
        except (BadRequest, jobs.JobError) as error:
            return look.error(str(error))

    async def score(self, request: gr.Request, progress: Any = _PROGRESS, *values: Any) -> tuple[Any, ...]:
        """Show the scores and the report, in place of an earlier comparison."""
        try:
            result = await self._run(work.score, request, values, progress)
        except (BadRequest, jobs.JobError) as error:
            return look.error(str(error)), *[gr.skip()] * 8
        texts = (result[name] for name in ("json", "latex", "python", "shell"))
        shown = gr.update(visible=True)
        return look.headline(result), [result["report"]], [], *texts, shown, shown

    async def compare(self, request: gr.Request, progress: Any = _PROGRESS, *values: Any) -> tuple[Any, ...]:
        """Show the comparison of the two systems, above an earlier report."""
        try:
            result = await self._run(work.compare, request, values, progress)
        except (BadRequest, jobs.JobError) as error:
            return look.error(str(error)), *[gr.skip()] * 4
        return look.compared(result), [result["report"]], result["python"], result["shell"], gr.update(visible=True)

    def stop(self, request: gr.Request) -> str:
        """Stop the jobs of the session."""
        jobs.stop(request.session_hash or "")
        return "stopped"
