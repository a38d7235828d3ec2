"""Options of commands: options of the metrics, of reading, and of output, as click parameters.

Options of a metric are not listed here. They come from its table of options, in ``<name>_records.py``. So a new option
of a metric is an option of the commands too.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spanscore.benchmarks import Benchmark, formats_of, task_names, tasks_of
from spanscore.metrics.options import confidence_options, output_options

if TYPE_CHECKING:
    from spanscore.metrics.options import Option

# Options of `compute` that follow from the output that is asked for.
_FROM_OUTPUT = tuple(output_options("", ""))
# Options of intervals. `compare` and `runs` have their own or none.
INTERVAL_OPTIONS = tuple(name for name in confidence_options("") if name != "groups")
# "-" is standard input. Readers report what is wrong with a path.
INPUT_PATH = click.Path(dir_okay=False, allow_dash=True)


# --- metrics ----------------------------------------------------------------------------------------------------------


def metric_options(benchmark: Benchmark, without: tuple[str, ...] = ()) -> dict[str, Option]:
    """Collect the options of ``compute`` that are options of a command, of all tasks of a benchmark together."""
    options: dict[str, Option] = {}
    for task in tasks_of(benchmark).values():
        options |= {name: option for name, option in task.options.items() if name not in options}
    return {name: option for name, option in options.items() if name not in (*_FROM_OUTPUT, *without)}


def metric_parameters(benchmark: Benchmark, without: tuple[str, ...] = ()) -> list[click.Parameter]:
    """Make the click options of a benchmark's metric."""
    return [_metric_parameter(option) for option in metric_options(benchmark, without).values()]


def _metric_parameter(option: Option) -> click.Parameter:
    """Make the click option of an option of ``compute``.

    Its default is None, so that the defaults are those of the metric alone. The help text shows the metric's default.
    """
    words = option.text.replace("``", "`")
    dashed = option.name.replace("_", "-")
    if option.is_flag:
        default = dashed if option.default else f"no-{dashed}"
        return click.Option(
            [f"--{dashed}/--no-{dashed}", option.name], default=None, help=f"{words}  [default: {default}]"
        )
    shown = "" if option.default is None else f"  [default: {option.default}]"
    if option.choices:
        return click.Option([f"--{dashed}", option.name], type=click.Choice(option.choices), help=words + shown)
    return click.Option([f"--{dashed}", option.name], metavar="VALUE", help=f"{words} ({option.kind}){shown}")


def given_options(benchmark: Benchmark, arguments: dict[str, Any], without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Select the options of ``compute`` that the user gave."""
    options = {}
    for name, option in metric_options(benchmark, without).items():
        value = arguments.get(name)
        if value is not None:
            options[name] = _option_value(value) if isinstance(value, str) and not option.choices else value
    if arguments.get("confidence"):
        options.setdefault("confidence_level", 0.95)
    return options


def _option_value(text: str) -> Any:
    """The value of an option: the content of FILE for ``@FILE``, else the value of JSON, else the text."""
    if text.startswith("@"):
        content = Path(text[1:]).read_text(encoding="utf-8")
        try:
            return json.loads(content)
        except ValueError:
            return content.splitlines()
    try:
        return json.loads(text, parse_constant=lambda name: name)
    except (ValueError, RecursionError):
        return text


# --- reading and output -----------------------------------------------------------------------------------------------


def read_parameters(benchmark: Benchmark, references: bool = True) -> list[click.Parameter]:
    """Make the click options of reading files, with those of references or without."""
    choices = click.Choice(["auto", *formats_of(benchmark).FORMATS])
    options: list[click.Parameter] = [
        click.Option(
            ["--format"], type=choices, help="The format of the predictions. By default it is found by their content."
        )
    ]
    if references:
        options.append(
            click.Option(
                ["--references-format"],
                type=choices,
                help="The format of the references. By default it is found by their content.",
            )
        )
        options += task_parameters(benchmark, "The task. By default it is found by the references.")
    for option in benchmark.read_options:
        if references or not option.references_only:
            flag = "--" + option.name.replace("_", "-")
            kind = click.Choice(list(option.choices)) if option.choices else INPUT_PATH
            metavar = None if option.choices else "FILE"
            options.append(click.Option([flag], type=kind, metavar=metavar, help=option.help))
    return options


def task_parameters(benchmark: Benchmark, help: str) -> list[click.Parameter]:
    """Make the click option of the task, if the benchmark has several tasks."""
    names = task_names(benchmark)
    return [click.Option(["--task"], type=click.Choice(names), help=help)] if names else []


def output_parameters() -> list[click.Parameter]:
    """Make the click options of output."""
    return [
        click.Option(["--json"], metavar="FILE", help="The result as JSON (- is standard output)."),
        click.Option(["--markdown"], is_flag=True, help="Tables as Markdown."),
        click.Option(["--latex"], is_flag=True, help="Tables as LaTeX, with booktabs."),
        click.Option(["--csv"], is_flag=True, help="All figures as CSV, one a line."),
        debug_parameter(),
    ]


def debug_parameter() -> click.Parameter:
    """Make the click option of tracebacks."""
    return click.Option(["--debug"], is_flag=True, help="Show where in the program an error came up.")
