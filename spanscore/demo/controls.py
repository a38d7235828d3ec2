"""Controls of the page: files, options of a metric, and options of reading, made from the tables of a benchmark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import gradio as gr

from spanscore.benchmarks import OUTPUT_OPTIONS, Benchmark, formats_of, metric_options, task_names
from spanscore.inputs import parse_value

if TYPE_CHECKING:
    from spanscore.metrics.options import Option

# The level of intervals on the page, which always shows some.
CONFIDENCE_LEVEL = 0.95


class Source(NamedTuple):
    """A file that is pasted as text, dropped or chosen.

    Attributes
    ----------
    slot : str
        The name of the file's place: ``"predictions"``, or the name of an option.
    text : gr.Textbox
        The text, while no file is chosen.
    file : gr.File
    """

    slot: str
    text: gr.Textbox
    file: gr.File


class Control(NamedTuple):
    """A control for one option.

    Attributes
    ----------
    name : str
    component : gr.components.Component
    start : object
        The value that the page starts with.
    default : object
        The value at which the option is not given to the metric.
    is_text : bool
        Whether the control gives text that stands for a value, such as a number.
    of_reading : bool
        Whether the option is one of reading files, and not one of the metric.
    """

    name: str
    component: Any
    start: Any
    default: Any
    is_text: bool = False
    of_reading: bool = False


def source(slot: str, label: str, info: str, lines: int, prefix: str) -> Source:
    """Make the control of a file."""
    with gr.Group():
        text = gr.Textbox(
            label=label, info=info, lines=lines, max_lines=max(lines, 12), elem_id=f"{prefix}-{slot}", autoscroll=False
        )
        file = gr.File(label=f"{label}: drop or choose a file", height=125, elem_id=f"{prefix}-{slot}-file")
    return Source(slot, text, file)


def option_controls(benchmark: Benchmark) -> tuple[list[Control], list[Source]]:
    """Make the controls of the metric's options, with their meaning.

    Returns
    -------
    controls : list of Control
        Options that are a value.
    sources : list of Source
        Options that are a list or a file.
    """
    options = [option for name, option in metric_options(benchmark).items() if name not in OUTPUT_OPTIONS]
    with gr.Row():
        controls = []
        for option in options:
            if option.form == "value":
                with gr.Column(min_width=280):
                    controls.append(_control(option, benchmark.name))
    with gr.Row():
        sources = []
        for option in options:
            if option.form != "value":
                form = "JSON, or an item a line" if option.form == "list" else "the content of a file"
                with gr.Column(min_width=280):
                    sources.append(source(option.name, option.name, f"{_info(option)} ({form})", 2, benchmark.name))
    return controls, sources


def _info(option: Option) -> str:
    return option.text.replace("``", "`")


def _control(option: Option, prefix: str) -> Control:
    where: dict[str, Any] = {"label": option.name, "elem_id": f"{prefix}-{option.name}"}
    box: Any
    if option.is_flag:
        box = gr.Checkbox(option.default, info=_info(option), **where)
        return Control(option.name, box, option.default, option.default)
    if option.choices:
        box = gr.Radio([*option.choices], value=option.default, info=_info(option), **where)
        return Control(option.name, box, option.default, option.default)
    default = "" if option.default is None else str(option.default)
    start = str(CONFIDENCE_LEVEL) if option.name == "confidence_level" else default
    box = gr.Textbox(start, max_lines=1, info=f"{_info(option)} ({option.kind})", **where)
    return Control(option.name, box, start, default, is_text=True)


def reading_controls(benchmark: Benchmark) -> tuple[list[Control], list[Source]]:
    """Make the controls of reading files. By default the format of each file is found by its content."""
    controls, sources = [], []
    box: Any
    formats = [("found by content", ""), *((name, name) for name in formats_of(benchmark).FORMATS)]
    for name, label in (("format", "Format of the predictions"), ("references_format", "Format of the references")):
        box = gr.Dropdown(formats, value="", label=label, elem_id=f"{benchmark.name}-{name}")
        controls.append(Control(name, box, "", "", of_reading=True))
    if task_names(benchmark):
        tasks = [("found by the references", ""), *((name, name) for name in task_names(benchmark))]
        box = gr.Dropdown(tasks, value="", label="Task", elem_id=f"{benchmark.name}-task")
        controls.append(Control("task", box, "", "", of_reading=True))
    for option in benchmark.read_options:
        if option.is_file:
            sources.append(source(option.name, option.name, option.help, 2, benchmark.name))
            continue
        where: dict[str, Any] = {"label": option.name, "info": option.help}
        where["elem_id"] = f"{benchmark.name}-{option.name}"
        start = option.choices[0] if option.choices else ""
        box = gr.Dropdown([*option.choices], value=start, **where) if option.choices else gr.Textbox("", **where)
        controls.append(Control(option.name, box, start, start, of_reading=True))
    return controls, sources


def given_values(controls: list[Control], values: list[Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Select the options that differ from their defaults.

    Parameters
    ----------
    controls : list of Control
    values : list
        The value of each control.

    Returns
    -------
    options : dict
        Options of ``compute``.
    arguments : dict
        Arguments of reading.
    """
    options, arguments = {}, {}
    for control, value in zip(controls, values, strict=True):
        if isinstance(value, str) and not control.of_reading:
            value = value.strip()
        if value is None or value in ("", control.default):
            continue
        if control.of_reading:
            arguments[control.name] = value
        else:
            options[control.name] = parse_value(value) if control.is_text else value
    return options, arguments
