"""Options of commands: options of the metrics, of reading, and of output, as click parameters.

Options of a metric are not listed here. They come from its table of options, in ``<name>_records.py``. So a new option
of a metric is an option of the commands too.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from spanscore.benchmarks import (
    OUTPUT_OPTIONS,
    Benchmark,
    ReadOption,
    flag_of,
    formats_of,
    metric_options,
    task_names,
    tasks_of,
)
from spanscore.inputs import parse_value, read_list
from spanscore.metrics import reading
from spanscore.metrics.options import confidence_options

if TYPE_CHECKING:
    from spanscore.metrics.options import Option

# Options of intervals. `compare` and `runs` have their own or none.
INTERVAL_OPTIONS = tuple(name for name in confidence_options("") if name != "groups")
CONFIDENCE_LEVEL = 0.95  # of `--confidence` without a level
# Options that say how intervals are made. `groups` also decides what `compare` swaps.
_OF_INTERVALS = tuple(name for name in confidence_options("") if name != "confidence_level")
# "-" is standard input. Readers report what is wrong with a path, since some formats are folders.
INPUT_PATH = click.Path(allow_dash=True)


# --- metrics ----------------------------------------------------------------------------------------------------------


class ConfidenceCommand(click.Command):
    """A command whose option ``--confidence`` may stand alone, also before a file: it is then `CONFIDENCE_LEVEL`."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Give ``--confidence`` its level, then parse."""
        given = []
        for at, word in enumerate(args):
            given.append(word)
            if word == "--":
                given += args[at + 1 :]
                break
            if word == "--confidence" and not _is_number(args[at + 1] if at + 1 < len(args) else ""):
                given.append(str(CONFIDENCE_LEVEL))
        try:
            return super().parse_args(context, given)
        except click.UsageError as error:
            if "unexpected extra argument" not in error.message:
                raise
            words = f"{error.message}; several files of a side are a folder, or a pattern in quotes"
            raise click.UsageError(words, context) from None


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def metric_parameters(benchmark: Benchmark, without: tuple[str, ...] = ()) -> list[click.Parameter]:
    """Make the click options of a benchmark's metric."""
    return [_metric_parameter(option) for option in _command_options(benchmark, without).values()]


def _command_options(benchmark: Benchmark, without: tuple[str, ...] = ()) -> dict[str, Option]:
    """Select the options of ``compute`` that are options of a command."""
    left_out = (*OUTPUT_OPTIONS, *without)
    return {name: option for name, option in metric_options(benchmark).items() if name not in left_out}


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
    if option.name == "confidence_level":
        words = f"{words} Alone, also before the files, it is {CONFIDENCE_LEVEL}."
        return click.Option(["--confidence", "--confidence-level", option.name], metavar="[LEVEL]", help=words)
    metavar = {"file": "FILE", "list": "@FILE"}.get(option.form, "INTEGER" if option.kind == "int" else "VALUE")
    kind = "" if option.kind == "int" else f" ({option.kind})"
    return click.Option([f"--{dashed}", option.name], metavar=metavar, help=f"{words}{kind}{shown}")


def given_options(benchmark: Benchmark, arguments: dict[str, Any], without: tuple[str, ...] = ()) -> dict[str, Any]:
    """Select the options of ``compute`` that the user gave.

    Raises
    ------
    click.UsageError
        An option has no effect, since another one is missing.
    ValueError
        The value of an option is wrong for every task of the benchmark.
    OSError
        An option is the path of a file that cannot be opened.
    """
    options = {}
    for name, option in _command_options(benchmark, without).items():
        value = arguments.get(name)
        if value is not None:
            options[name] = _option_value(value) if isinstance(value, str) and not option.choices else value
    if "confidence_level" not in without and "confidence_level" not in options:
        idle = next((name for name in options if name in _OF_INTERVALS), None)
        if idle is not None:
            raise click.UsageError(f"{flag_of(idle)} has no effect without --confidence")
    for name, value in options.items():
        _check_value(benchmark, name, value)
    return options


def _check_value(benchmark: Benchmark, name: str, value: Any) -> None:
    """Check the value of an option before any file is read, as far as that is possible."""
    refused = []
    for task in tasks_of(benchmark).values():
        option = task.options.get(name)
        if option is None:
            continue
        if option.form == "file":
            # The metric reads the file itself. Here it only must be there.
            if isinstance(value, str):
                Path(value).open("rb").close()
            return
        try:
            option.read(value)
        except ValueError as error:
            refused.append(error)
        else:
            return
    raise refused[0]


def all_options(
    benchmark: Benchmark, arguments: dict[str, Any], task: str | None, without: tuple[str, ...] = ()
) -> dict[str, Any]:
    """All options of a task as the user wrote them, or their defaults, to be stored beside a result."""
    of_task = tasks_of(benchmark)[task or "default"].options
    options = {name: option for name, option in _command_options(benchmark, without).items() if name in of_task}
    given = {name: arguments.get(name) for name in options}
    return {
        name: option.default if given[name] is None else _as_value(given[name], option)
        for name, option in options.items()
    }


def _as_value(value: Any, option: Option) -> Any:
    is_text = not isinstance(value, str) or option.choices or option.form == "file" or value.startswith("@")
    return value if is_text else parse_value(value)


def _option_value(text: str) -> Any:
    """The value of an option: the content of FILE for ``@FILE``, else the value of JSON, else the text."""
    return read_list(text[1:]) if text.startswith("@") else parse_value(text)


# --- reading and output -----------------------------------------------------------------------------------------------


def input_arguments(benchmark: Benchmark, arguments: dict[str, Any]) -> list[str]:
    """Select the paths of inputs among the arguments of a command: those of reading, and those of the metric."""
    names = [
        name
        for option in benchmark.read_options
        if option.is_file
        for name in (option.name, *(name for _, name in _side_names(option)))
    ]
    found = [arguments.get(name) for name in names]
    for name, option in _command_options(benchmark).items():
        value = arguments.get(name)
        if isinstance(value, str) and not option.choices:
            found.append(value.removeprefix("@"))
    return [path for path in found if path is not None]


def read_parameters(benchmark: Benchmark, scores: bool = True) -> list[click.Parameter]:
    """Make the click options of reading files: of a command that scores, or of one that checks a single file."""
    choices = click.Choice(["auto", *formats_of(benchmark).FORMATS])
    side = "predictions" if scores else "file"
    # The choices are in the help, which is folded. In the place of the value, a long list would not be.
    listed = ", ".join(choices.choices)
    options: list[click.Parameter] = [
        click.Option(
            [name],
            type=choices,
            metavar="FORMAT",
            help=f"The format of the {of}, by default found by content: {listed}.",
        )
        for name, of in (("--format", side), ("--references-format", "references"))
    ]
    if scores:
        options += task_parameters(benchmark, "The task. By default it is found by the references.")
    for option in benchmark.read_options:
        kind: Any = click.STRING if option.is_text else INPUT_PATH
        metavar: str | None = "NAME" if option.is_text else "FILE"
        if option.choices:
            kind, metavar = click.Choice(list(option.choices)), None
        help = option.help if option.references_only else f"{option.help} Of both files."
        options.append(click.Option([flag_of(option.name)], type=kind, metavar=metavar, help=help))
        options += [
            click.Option([flag_of(name)], type=kind, metavar=metavar, help=f"The same, of the {side} alone.")
            for side, name in _side_names(option)
        ]
    return [*options, _size_parameter()]


def _side_names(option: ReadOption) -> list[tuple[str, str]]:
    """The sides that an option of reading can be given for alone, each with the name of its argument."""
    return [] if option.references_only else [(side, f"{side}_{option.name}") for side in ("predictions", "references")]


def _size_parameter() -> click.Parameter:
    """Make the click option of the size that packed files may expand to. It holds until the command ends."""

    def allow(context: click.Context, parameter: click.Parameter, value: str | None) -> None:
        if value is not None:
            try:
                reading.parse_size(value)
            except ValueError as error:
                raise click.BadParameter(str(error), context, parameter) from None
            context.with_resource(reading.allow_size(value))

    return click.Option(
        ["--max-size"],
        metavar="SIZE",
        expose_value=False,
        callback=allow,
        help="The size that a packed file (gzip, zip, Parquet) may expand to, and that a pipe may have, such as 2G.  "
        f"[default: {reading.MAX_SIZE // 2**20}M]",
    )


def task_parameters(benchmark: Benchmark, help: str) -> list[click.Parameter]:
    """Make the click option of the task, if the benchmark has several tasks."""
    names = task_names(benchmark)
    return [click.Option(["--task"], type=click.Choice(names), help=help)] if names else []


def output_parameters(quiet: str) -> list[click.Parameter]:
    """Make the click options of output.

    Parameters
    ----------
    quiet : str
        What ``--quiet`` writes.
    """
    return [
        click.Option(["--all", "everything"], is_flag=True, help="Show all tables."),
        click.Option(
            ["--measures"], metavar="NAMES", help="Show these measures only, such as f1,recall. Commas part names."
        ),
        click.Option(["-q", "--quiet"], is_flag=True, help=f"Write {quiet} alone, not rounded, and name no files."),
        click.Option(["--json"], metavar="FILE", help="The result as JSON (- is standard output)."),
        click.Option(["--markdown"], is_flag=True, help="Tables as Markdown."),
        click.Option(["--latex"], is_flag=True, help="Tables as LaTeX, with booktabs."),
        click.Option(["--csv"], is_flag=True, help="All figures as CSV, one a line."),
        debug_parameter(),
    ]


def debug_parameter() -> click.Parameter:
    """Make the click option of tracebacks."""
    return click.Option(["--debug"], is_flag=True, help="Show where in the program an error came up.")
