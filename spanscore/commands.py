"""The commands of ``spanscore``: score, compare systems, summarise runs, validate a file.

Results go to standard output or to files, and messages to standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from spanscore.benchmarks import BENCHMARKS, Benchmark
from spanscore.formats.files import json_lines
from spanscore.options import (
    INPUT_PATH,
    INTERVAL_OPTIONS,
    debug_parameter,
    given_options,
    input_arguments,
    metric_parameters,
    output_parameters,
    read_parameters,
    task_parameters,
)
from spanscore.paths import check_inputs, check_outputs, is_standard_output
from spanscore.scoring import read_systems, score_files
from spanscore.terminal import call_quietly, plain, print_text, say, working, write_json, write_output

# Arguments that are names of output files.
_OUTPUT_FILES = ("json", "html", "errors", "per_document")
# `runs` has no intervals, so it has no groups to resample.
_NOT_OF_RUNS = (*INTERVAL_OPTIONS, "groups")


# --- output -----------------------------------------------------------------------------------------------------------


def _check_files(benchmark: Benchmark, inputs: Iterable[str], arguments: dict[str, Any]) -> dict[str, Any]:
    """Check all files of a command, before any work.

    Parameters
    ----------
    benchmark : Benchmark
    inputs : iterable of str
        The inputs that are not among the arguments.
    arguments : dict

    Returns
    -------
    dict
        The arguments, with ``"-"`` for outputs that are standard output under another name.

    Raises
    ------
    click.UsageError
        Several outputs go to standard output.
    ValueError
        An input that can be read only once is given twice. An output is an input or another output too.
    OSError
        An output cannot be written.
    """
    outputs = {name: arguments[name] for name in _OUTPUT_FILES if arguments.get(name) is not None}
    to_standard_output = [name for name, path in outputs.items() if is_standard_output(path)]
    chosen = to_standard_output + [name for name in ("markdown", "latex", "csv") if arguments.get(name)]
    if len(chosen) > 1:
        raise click.UsageError(f"{' and '.join(chosen)} cannot share standard output, expected one of them")
    arguments = arguments | dict.fromkeys(to_standard_output, "-")
    inputs = [*inputs, *input_arguments(benchmark, arguments)]
    check_inputs(inputs)
    flags = {"--" + name.replace("_", "-"): arguments[name] for name in outputs}
    check_outputs(flags, inputs)
    return arguments


def _print_tables(tables: list[Any], signature: str, arguments: dict[str, Any]) -> None:
    """Write tables on standard output, unless a file goes there."""
    from spanscore import reports

    forms = {"markdown": reports.to_markdown, "latex": reports.to_latex, "csv": reports.to_csv}
    chosen = [form for name, form in forms.items() if arguments.get(name)]
    if chosen:
        write_output("-", chosen[0](tables, signature))
    elif "-" not in [arguments.get(name) for name in _OUTPUT_FILES]:
        print_text(reports.to_terminal(tables, signature))


# --- scoring ----------------------------------------------------------------------------------------------------------


def _score(benchmark: Benchmark, predictions: str, references: str, **arguments: Any) -> None:
    from spanscore import reports

    arguments = _check_files(benchmark, [predictions, references], arguments)
    detailed = bool(arguments.get("html") or arguments.get("kinds"))
    switches = {
        "per_document": detailed or arguments.get("per_document") is not None,
        "return_errors": detailed or arguments.get("errors") is not None,
    }
    with working(f"scoring {benchmark.subject}"):
        options = given_options(benchmark, arguments) | {name: True for name, wanted in switches.items() if wanted}
        scored = score_files(benchmark, predictions, references, arguments, options)
        result = scored.result
        tables = reports.result_tables(result)
        if arguments.get("html") or arguments.get("kinds"):
            from spanscore import analysis

            analysed = analysis.analyse(scored)
            if arguments.get("html"):
                from spanscore import pages

                write_output(arguments["html"], pages.report_page(scored, analysed))
            if arguments.get("kinds"):
                tables.append(reports.kinds_table(analysed))
    for name in ("errors", "per_document"):
        if arguments.get(name) is not None:
            write_output(arguments[name], json_lines(result[name]))
    if arguments.get("json"):
        write_json(arguments["json"], result)
    _print_tables(tables, result["signature"], arguments)


def _score_command(benchmark: Benchmark) -> click.Command:
    return click.Command(
        benchmark.name,
        callback=lambda **arguments: _score(benchmark, **arguments),
        help=f"Score {benchmark.subject}.",
        params=[
            click.Argument(["predictions"], type=INPUT_PATH),
            click.Argument(["references"], type=INPUT_PATH),
            *metric_parameters(benchmark),
            click.Option(["--confidence"], is_flag=True, help="Intervals of the headline scores, at 0.95 by default."),
            *read_parameters(benchmark),
            click.Option(["--html"], metavar="FILE", help="A report with every document, in one file."),
            click.Option(["--errors"], metavar="FILE", help="Items in error, as JSON lines."),
            click.Option(["--per-document"], metavar="FILE", help="Counts of each document, as JSON lines."),
            click.Option(["--kinds"], is_flag=True, help="Kinds of error, and the score without each kind."),
            *output_parameters(),
        ],
    )


# --- several systems, several runs ------------------------------------------------------------------------------------


def _compare(benchmark: Benchmark, files: tuple[str, ...], **arguments: Any) -> None:
    from spanscore import comparison, reports

    if len(files) < 3:
        raise click.UsageError("expected predictions of two systems or more, then the references")
    arguments = _check_files(benchmark, files, arguments)
    *paths, last = files
    with working(f"comparing on {benchmark.subject}"):
        systems = read_systems(benchmark, paths, last, arguments, given_options(benchmark, arguments, INTERVAL_OPTIONS))
        settings = {name: arguments[name] for name in ("method", "n_resamples", "random_state", "confidence_level")}
        found = call_quietly(
            comparison.compare_systems,
            systems.metric,
            [file.records for file in systems.predictions],
            systems.references.records,
            systems.options,
            **settings,
        )
    comparisons = [
        {"system_a": paths[0], "system_b": path, "scores": scores}
        for path, scores in zip(paths[1:], found, strict=True)
    ]
    if arguments.get("json"):
        scores = comparisons[0]["scores"]
        headline = next((name for name in benchmark.headlines if name in scores), next(iter(scores)))
        whole = {"score": headline, **scores[headline], **settings, "references": last, "comparisons": comparisons}
        write_json(arguments["json"], whole)
    tables = [reports.comparison_table(paths[0], one["system_b"], one["scores"]) for one in comparisons]
    words = "|".join(f"{name}:{value}" for name, value in settings.items())
    _print_tables(tables, words, arguments)


def _compare_command(benchmark: Benchmark) -> click.Command:
    return click.Command(
        benchmark.name,
        callback=lambda **arguments: _compare(benchmark, **arguments),
        help=f"Compare systems on {benchmark.subject}. FILES are the predictions of two or more systems, then the "
        f"references. Each system is compared with the first.",
        params=[
            click.Argument(["files"], type=INPUT_PATH, nargs=-1, required=True),
            *metric_parameters(benchmark, INTERVAL_OPTIONS),
            click.Option(
                ["--method"],
                type=click.Choice(["randomisation", "bootstrap"]),
                default="randomisation",
                show_default=True,
                help="The method of p-values. With few documents the bootstrap is a little liberal: 0.06 of its "
                "p-values are up to 0.05 without any difference. Randomisation stays close to 0.05 or below.",
            ),
            click.Option(
                ["--n-resamples"],
                type=click.IntRange(min=1),
                default=10_000,
                show_default=True,
                help="Number of resamples.",
            ),
            click.Option(
                ["--random-state"],
                type=click.IntRange(min=0),
                default=0,
                show_default=True,
                help="Seed of the resamples.",
            ),
            click.Option(
                ["--confidence-level"],
                type=click.FloatRange(0, 1, min_open=True, max_open=True),
                default=0.95,
                show_default=True,
                help="The level of the intervals of differences.",
            ),
            *read_parameters(benchmark),
            *output_parameters(),
        ],
    )


def _summarise_runs(benchmark: Benchmark, predictions: tuple[str, ...], references: str, **arguments: Any) -> None:
    from spanscore import comparison, reports

    arguments = _check_files(benchmark, [*predictions, references], arguments)
    with working(f"scoring {len(predictions)} runs"):
        systems = read_systems(
            benchmark, list(predictions), references, arguments, given_options(benchmark, arguments, _NOT_OF_RUNS)
        )
        found = call_quietly(
            comparison.summarise_runs,
            systems.metric,
            [file.records for file in systems.predictions],
            systems.references.records,
            systems.options,
        )
    if arguments.get("json"):
        write_json(arguments["json"], found)
    _print_tables(reports.runs_tables(found), f"{len(predictions)} runs of {benchmark.name}", arguments)


def _runs_command(benchmark: Benchmark) -> click.Command:
    return click.Command(
        benchmark.name,
        callback=lambda **arguments: _summarise_runs(benchmark, **arguments),
        help=f"Mean and standard deviation over several runs of one system on {benchmark.subject}.",
        params=[
            click.Argument(["predictions"], type=INPUT_PATH, nargs=-1, required=True),
            click.Option(["--references"], type=INPUT_PATH, metavar="FILE", required=True),
            *metric_parameters(benchmark, _NOT_OF_RUNS),
            *read_parameters(benchmark),
            *output_parameters(),
        ],
    )


# --- validation -------------------------------------------------------------------------------------------------------


def _validate(benchmark: Benchmark, file: str, **arguments: Any) -> None:
    from spanscore import validation

    arguments = _check_files(benchmark, [file], arguments)
    name = "<stdin>" if file == "-" else file
    with working(f"checking {file}"):
        checked = validation.check_with_references(benchmark, file, arguments)
    problems = checked.problems
    if arguments["json"]:
        write_json(arguments["json"], {"problems": [problem._asdict() for problem in problems]})
    if arguments["json"] != "-":
        for problem in problems:
            parts = [name if problem.line is None else f"{name}:{problem.line}", problem.place, problem.problem]
            print_text(plain(": ".join(part for part in parts if part)) + "\n")
    count = f"{len(problems):,} problem{'s' * (len(problems) != 1)}" if problems else "no problem"
    say(f"{name}: format {checked.format}, {len(checked.records):,} records read as {checked.side}, {count}")
    if problems:
        raise click.exceptions.Exit(2)


def _validate_command(benchmark: Benchmark) -> click.Command:
    return click.Command(
        benchmark.name,
        callback=lambda **arguments: _validate(benchmark, **arguments),
        help=f"List all problems of a file of {benchmark.subject}.",
        params=[
            click.Argument(["file"], type=INPUT_PATH),
            click.Option(
                ["--side"],
                type=click.Choice(["predictions", "references"]),
                help="The side of the file. By default it is found by the format.",
            ),
            click.Option(
                ["--references"], type=INPUT_PATH, metavar="FILE", help="References to check the predictions against."
            ),
            *read_parameters(benchmark, scores=False),
            *task_parameters(benchmark, "The task. By default it is found by the records."),
            click.Option(["--json"], metavar="FILE", help="The problems as JSON (- is standard output)."),
            debug_parameter(),
        ],
    )


# --- the program ------------------------------------------------------------------------------------------------------


class _BenchmarkGroup(click.Group):
    """A group with a command for each benchmark, made on demand: its options come from the files of the metric."""

    def __init__(
        self, name: str | None, make: Callable[[Benchmark], click.Command], more: list[click.Command], help: str
    ) -> None:
        super().__init__(name, help=help, commands=more)
        self.make = make

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        # Versions of click differ in the exit code and the exception of a group without arguments.
        if not args and not context.resilient_parsing:
            click.echo(context.get_help())
            context.exit(2)
        return super().parse_args(context, args)

    def list_commands(self, context: click.Context) -> list[str]:
        return [*BENCHMARKS, *super().list_commands(context)]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in BENCHMARKS:
            return self.make(BENCHMARKS[name])
        return super().get_command(context, name)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(benchmark.name, benchmark.subject) for benchmark in BENCHMARKS.values()]
        rows += [(name, command.get_short_help_str(80)) for name, command in sorted(self.commands.items())]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


program = _BenchmarkGroup(
    None,
    _score_command,
    [
        _BenchmarkGroup("compare", _compare_command, [], help="Whether systems differ by more than chance."),
        _BenchmarkGroup("runs", _runs_command, [], help="Mean and deviation over the runs of one system."),
        _BenchmarkGroup("validate", _validate_command, [], help="List all problems of a file, with line and place."),
    ],
    help=f"Score predictions on {', '.join(benchmark.heading for benchmark in BENCHMARKS.values())}.",
)
