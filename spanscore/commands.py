"""The commands of ``spanscore``: score, compare systems, summarise runs, validate a file.

Results go to standard output or to files, and messages to standard error.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click

from spanscore import __version__
from spanscore.benchmarks import BENCHMARKS, Benchmark, flag_of
from spanscore.formats.files import json_lines
from spanscore.inputs import InputFile, expand
from spanscore.options import (
    CONFIDENCE_LEVEL,
    INPUT_PATH,
    INTERVAL_OPTIONS,
    ConfidenceCommand,
    all_options,
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
# Arguments that are forms of the tables, and those that choose what the tables show.
_FORMS = ("markdown", "latex", "csv")
_CHOICES = ("everything", "measures", "kinds", "quiet")
# `runs` has no intervals, so it has no groups to resample.
_NOT_OF_RUNS = (*INTERVAL_OPTIONS, "groups")


# --- checks before any work -------------------------------------------------------------------------------------------


def _check(benchmark: Benchmark, inputs: Iterable[str], arguments: dict[str, Any]) -> dict[str, Any]:
    """Check all files and the options of output of a command, before any work.

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
        Several outputs go to standard output, or an option of output has no effect.
    ValueError
        An input that can be read only once is given twice. An output is an input or another output too.
    OSError
        An output cannot be written.
    spanscore.packages.MissingPackage
        A package that an output needs is not installed.
    """
    outputs = {name: arguments[name] for name in _OUTPUT_FILES if arguments.get(name) is not None}
    to_standard_output = [name for name, path in outputs.items() if is_standard_output(path)]
    chosen = to_standard_output + [name for name in _FORMS if arguments.get(name)]
    if len(chosen) > 1:
        raise click.UsageError(f"{' and '.join(chosen)} cannot share standard output, expected one of them")
    arguments = arguments | dict.fromkeys(to_standard_output, "-")
    _check_effects(arguments, chosen)
    _measures(arguments)
    of_options = input_arguments(benchmark, arguments)
    sides = [*inputs, *([arguments["references"]] if arguments.get("references") else [])]
    check_inputs([*sides, *of_options])
    files = [path for side in sides for path in expand(benchmark, side)]
    check_outputs({_flag(name): path for name, path in outputs.items()}, [*files, *of_options])
    if arguments.get("html"):
        from spanscore import pages

        pages.check_packages()
    return arguments


def _check_effects(arguments: dict[str, Any], chosen: list[str]) -> None:
    """Raise a UsageError for an option of the tables that has no effect beside another one."""
    given = [name for name in _CHOICES if arguments.get(name)]
    idle = None
    if "-" in [arguments.get(name) for name in _OUTPUT_FILES]:
        # There are no tables. Messages can still be quiet.
        idle = next(((name, chosen[0]) for name in given if name != "quiet"), None)
    elif "quiet" in given:
        others = [name for name in (*given, *chosen) if name not in ("quiet", "measures")]
        idle = (others[0], "quiet") if others else None
    elif "measures" in given and "everything" in given:
        idle = ("everything", "measures")
    elif arguments.get("csv") and "everything" in given:
        idle = ("everything", "csv")
    if idle is not None:
        raise click.UsageError(f"{_flag(idle[0])} has no effect with {_flag(idle[1])}")


def _flag(name: str) -> str:
    return "--all" if name == "everything" else flag_of(name)


# --- output -----------------------------------------------------------------------------------------------------------


def _print_tables(
    tables: list[Any],
    signature: str,
    arguments: dict[str, Any],
    summary: Any = None,
    versions: Mapping[str, str] | None = None,
) -> None:
    """Write tables on standard output, unless a file goes there.

    Parameters
    ----------
    tables : list of spanscore.tables.Table
    signature : str
    arguments : dict
    summary : spanscore.tables.Summary, optional
        It comes first on a terminal.
    versions : dict of str to str, optional
        They stand after the signature.
    """
    from spanscore import text_tables

    forms = {"markdown": text_tables.to_markdown, "latex": text_tables.to_latex, "csv": text_tables.to_csv}
    chosen = [form for name, form in forms.items() if arguments.get(name)]
    with_versions = ", ".join(f"{name} {version}" for name, version in (versions or {}).items())
    if chosen:
        write_output("-", chosen[0](tables, signature, with_versions))
    elif "-" not in [arguments.get(name) for name in _OUTPUT_FILES]:
        print_text(text_tables.to_terminal(tables, signature, with_versions, summary))


def _print_numbers(values: Iterable[Any], arguments: dict[str, Any]) -> None:
    """Write bare numbers, one a line, unless a file goes to standard output."""
    if "-" not in [arguments.get(name) for name in _OUTPUT_FILES]:
        print_text("".join(f"{value!r}\n" for value in values))


def _measures(arguments: dict[str, Any]) -> list[str]:
    """The names of ``--measures``, none if it is not given."""
    given = arguments.get("measures")
    names = [name.strip() for name in (given or "").split(",") if name.strip()]
    if given is not None and not names:
        raise click.UsageError("--measures names none, expected such as f1,recall")
    return names


def _select(scores: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Select the scores that ``--measures`` names, in its order; all scores if it names none.

    Raises
    ------
    ValueError
        There is no such score.
    """
    for name in names:
        if name not in scores:
            raise ValueError(f"--measures: {name!r} is not one of {', '.join(scores)}")
    return {name: scores[name] for name in names or scores}


def _describe_run(
    benchmark: Benchmark, predictions: Sequence[InputFile], references: InputFile, options: Mapping[str, Any]
) -> dict[str, Any]:
    """All that is needed to make a result again: the command, versions, options and files."""
    import datetime
    import platform
    from importlib.metadata import version

    words = click.get_current_context().find_root().obj or []
    packages = ("evaluate", "datasets", "numpy", "scipy", "pyarrow")
    return {
        "command": shlex.join(["spanscore", *words]),
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "benchmark": benchmark.name,
        "options": dict(options),
        "predictions": [_describe_file(file) for file in predictions],
        "references": _describe_file(references),
        "versions": {
            "spanscore": __version__,
            **{name: version(name) for name in packages},
            "python": platform.python_version(),
        },
    }


def _describe_file(file: InputFile) -> dict[str, Any]:
    notes = {name: count for name, count in file.notes.items() if count}
    return {"path": file.path, "format": file.format, "records": len(file.records), **notes}


# --- scoring ----------------------------------------------------------------------------------------------------------


def _score(benchmark: Benchmark, predictions: str, references: str, **arguments: Any) -> None:
    arguments = _check(benchmark, [predictions, references], arguments)
    options = given_options(benchmark, arguments)
    is_analysed = any(arguments.get(name) for name in ("html", "kinds", "errors", "per_document"))
    options |= dict.fromkeys(("per_document", "return_errors"), True) if is_analysed else {}
    with working(f"scoring {benchmark.subject}") as stage:
        scored = score_files(benchmark, predictions, references, arguments, options, stage)
        used = all_options(benchmark, arguments, scored.task)
        run = _describe_run(benchmark, [scored.predictions], scored.references, used)
        analysed = None
        if is_analysed:
            from spanscore import analysis

            stage("explaining the errors")
            analysed = analysis.analyse(scored)
            if arguments.get("html"):
                from spanscore import pages

                stage("writing the report")
                write_output(arguments["html"], pages.report_page(scored, analysed, run))
            for name, rows_of in (("errors", analysis.error_rows), ("per_document", analysis.document_rows)):
                if arguments.get(name):
                    write_output(arguments[name], json_lines(list(rows_of(scored, analysed.documents))))
    if arguments.get("json"):
        details = ("per_document", "errors", "matched", "error_kinds", "curve")
        result = {name: value for name, value in scored.result.items() if name not in details}
        write_json(arguments["json"], result | {"run": run})
    _print_result(scored, analysed, arguments)


def _print_result(scored: Any, analysed: Any, arguments: dict[str, Any]) -> None:
    """Write a result on standard output in the form that the arguments choose."""
    from spanscore import tables

    result, benchmark, hidden = scored.result, scored.benchmark, scored.hidden
    measures = tables.chosen_tables(result, names) if (names := _measures(arguments)) else []
    if arguments["quiet"]:
        chosen = [row[0] for table in measures for _, row in table.rows]
        _print_numbers(chosen or [tables.headline_of(result, benchmark.headlines)[1]], arguments)
        return
    found, summary = measures, None
    if not measures and arguments.get("csv"):
        found = tables.result_tables(result, benchmark, complete=True)
    elif not measures and arguments["everything"]:
        found = tables.result_tables(result, benchmark, hidden)
    elif not measures:
        summary = tables.summarise(result, benchmark, scored.size, hidden)
        if arguments.get("markdown") or arguments.get("latex"):
            found = tables.short_tables(result, benchmark, summary, hidden)
    if arguments.get("kinds"):
        found = [*found, *(table for table in [tables.kinds_table(analysed)] if table.rows)]
    _print_tables(found, result["signature"], arguments, summary)


def _score_command(benchmark: Benchmark) -> click.Command:
    return _command(
        benchmark,
        "",
        lambda **arguments: _score(benchmark, **arguments),
        f"Score {benchmark.subject}. A side is a file, a folder, or a pattern in quotes, such as 'runs/*.json'.",
        [
            click.Argument(["predictions"], type=INPUT_PATH),
            click.Argument(["references"], type=INPUT_PATH),
            *metric_parameters(benchmark),
            *read_parameters(benchmark),
            click.Option(["--html"], metavar="FILE", help="A report with every document, in one file."),
            click.Option(["--errors"], metavar="FILE", help="Items in error with their texts, as JSON lines."),
            click.Option(["--per-document"], metavar="FILE", help="Counts and rates of each document, as JSON lines."),
            click.Option(["--kinds"], is_flag=True, help="Kinds of error, and the score without each kind."),
            *output_parameters("the headline score, or each of the --measures,"),
        ],
        ["{predictions} {references} --confidence", "{predictions} {references} --html report.html"],
    )


def _command(
    benchmark: Benchmark,
    verb: str,
    work: Callable[..., Any],
    help: str,
    parameters: list[click.Parameter],
    examples: list[str],
) -> click.Command:
    """Make a command with examples below its help."""
    predictions, references = benchmark.example_files
    second = predictions.replace("ours", "base", 1)
    start = " ".join(filter(None, ["spanscore", verb, benchmark.name]))
    lines = [
        f"{start} {each.format(predictions=predictions, second=second, references=references)}" for each in examples
    ]
    # Click keeps the lines of a paragraph that begins with \b.
    epilog = "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)
    return ConfidenceCommand(benchmark.name, callback=work, help=help, params=parameters, epilog=epilog)


# --- several systems, several runs ------------------------------------------------------------------------------------


def _compare(benchmark: Benchmark, files: tuple[str, ...], **arguments: Any) -> None:
    from spanscore import comparison, tables

    if len(files) < 3:
        raise click.UsageError("expected predictions of two systems or more, then the references")
    arguments = _check(benchmark, files, arguments)
    *paths, last = files
    options = given_options(benchmark, arguments, INTERVAL_OPTIONS)
    settings = {name: arguments[name] for name in ("method", "n_resamples", "random_state", "confidence_level")}
    with working(f"comparing on {benchmark.subject}") as stage:
        systems = read_systems(benchmark, paths, last, arguments, options, stage)
        found, signature = call_quietly(comparison.compare_files, systems, settings, stage)
        run = _describe_run(
            benchmark,
            systems.predictions,
            systems.references,
            settings | all_options(benchmark, arguments, systems.task, INTERVAL_OPTIONS),
        )
        if arguments.get("html"):
            from spanscore import pages

            stage("writing the report")
            write_output(arguments["html"], pages.comparison_page(systems, found, settings, signature, run))
    names = tables.short_names(paths)
    headline = tables.headline_among(found[0], benchmark.headlines)
    if arguments.get("json"):
        comparisons = [
            {"system_a": paths[0], "system_b": path, "scores": scores}
            for path, scores in zip(paths[1:], found, strict=True)
        ]
        top = {"score": headline, **found[0][headline], **settings, "references": last}
        write_json(arguments["json"], {**top, "comparisons": comparisons, "signature": signature, "run": run})
    wanted = _measures(arguments)
    shown = [_select(scores, wanted) for scores in found] if wanted else systems.shown(found)
    if arguments["quiet"]:
        chosen = wanted or [headline]
        _print_numbers([scores[name]["p_value"] for scores in shown for name in chosen], arguments)
        return
    level = settings["confidence_level"]
    listed = [tables.systems_table(names, shown, level, settings["method"])]
    if arguments["everything"] or arguments.get("csv") or wanted:
        listed += [
            tables.all_differences_table(names[0], name, scores) for name, scores in zip(names[1:], shown, strict=True)
        ]
    else:
        listed.append(tables.differences_table(headline, names, shown))
    _print_tables(listed, signature, arguments, versions=run["versions"])


def _compare_command(benchmark: Benchmark) -> click.Command:
    return _command(
        benchmark,
        "compare",
        lambda **arguments: _compare(benchmark, **arguments),
        f"Compare systems on {benchmark.subject}. FILES are the predictions of two or more systems, then the "
        f"references. Each system is compared with the first.",
        [
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
                ["--confidence", "--confidence-level", "confidence_level"],
                type=click.FloatRange(0, 1, min_open=True, max_open=True),
                metavar="LEVEL",
                default=CONFIDENCE_LEVEL,
                show_default=True,
                help="The level of the intervals of differences. A p-value of at most 1 minus this level is marked.",
            ),
            *read_parameters(benchmark),
            click.Option(["--html"], metavar="FILE", help="The systems side by side in every document, in one file."),
            *output_parameters("the p-value of the headline score, or of each of the --measures,"),
        ],
        ["{predictions} {second} {references}", "{predictions} {second} {references} --html page.html"],
    )


def _summarise_runs(benchmark: Benchmark, predictions: tuple[str, ...], references: str, **arguments: Any) -> None:
    from spanscore import comparison, tables

    arguments = _check(benchmark, [*predictions, references], arguments)
    options = given_options(benchmark, arguments, _NOT_OF_RUNS)
    with working(f"scoring {len(predictions)} runs") as stage:
        systems = read_systems(benchmark, list(predictions), references, arguments, options, stage)
        stage(f"scoring {len(predictions)} runs")
        found, signature = call_quietly(comparison.summarise_files, systems)
        run = _describe_run(
            benchmark,
            systems.predictions,
            systems.references,
            all_options(benchmark, arguments, systems.task, _NOT_OF_RUNS),
        )
    if arguments.get("json"):
        write_json(arguments["json"], {**found, "signature": signature, "run": run})
    shown = _select(found, _measures(arguments))
    if arguments["quiet"]:
        headline = tables.headline_among(found, benchmark.headlines)
        chosen = shown if _measures(arguments) else {headline: found[headline]}
        _print_numbers([row["mean"] if isinstance(row, dict) else row for row in chosen.values()], arguments)
        return
    listed = [tables.runs_table(shown, tables.short_names(predictions))]
    _print_tables(listed, signature, arguments, versions=run["versions"])


def _runs_command(benchmark: Benchmark) -> click.Command:
    return _command(
        benchmark,
        "runs",
        lambda **arguments: _summarise_runs(benchmark, **arguments),
        f"Mean and standard deviation over several runs of one system on {benchmark.subject}.",
        [
            click.Argument(["predictions"], type=INPUT_PATH, nargs=-1, required=True),
            click.Option(
                ["--references"], type=INPUT_PATH, metavar="FILE", required=True, help="The references of all runs."
            ),
            *metric_parameters(benchmark, _NOT_OF_RUNS),
            *read_parameters(benchmark),
            *output_parameters("the mean of the headline score, or of each of the --measures,"),
        ],
        ["{predictions} {second} --references {references}"],
    )


# --- validation -------------------------------------------------------------------------------------------------------


def _validate(benchmark: Benchmark, file: str, **arguments: Any) -> None:
    from spanscore import validation

    arguments = _check(benchmark, [file], arguments)
    paths = expand(benchmark, file)
    with working(f"checking {file}"):
        if len(paths) == 1:
            found = {paths[0]: validation.check_with_references(benchmark, paths[0], arguments)}
        else:
            found = validation.check_several(benchmark, file, paths, arguments)
    problems = [(path, problem) for path, checked in found.items() for problem in checked.problems]
    if arguments["json"]:
        listed = [{"file": path, **problem._asdict()} for path, problem in problems]
        write_json(arguments["json"], {"problems": listed})
    if arguments["json"] != "-":
        for path, problem in problems:
            name = _shown_path(path)
            parts = [name if problem.line is None else f"{name}:{problem.line}", problem.place, problem.problem]
            print_text(plain(": ".join(part for part in parts if part)) + "\n")
    for path, checked in found.items():
        n_problems = len(checked.problems)
        count = f"{n_problems:,} problem{'s' * (n_problems != 1)}" if n_problems else "no problem"
        words = f"{len(checked.records):,} records read as {checked.side}, {count}"
        say(f"{_shown_path(path)}: format {checked.format}, {words}")
    if problems:
        raise click.exceptions.Exit(2)


def _shown_path(path: str) -> str:
    return "<stdin>" if path == "-" else path


def _validate_command(benchmark: Benchmark) -> click.Command:
    return _command(
        benchmark,
        "validate",
        lambda **arguments: _validate(benchmark, **arguments),
        f"List all problems of a file of {benchmark.subject}.",
        [
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
        ["{predictions}", "{predictions} --references {references}"],
    )


# --- the program ------------------------------------------------------------------------------------------------------


class _BenchmarkGroup(click.Group):
    """A group with a command for each benchmark, made on demand: its options come from the files of the metric."""

    def __init__(
        self, name: str | None, make: Callable[[Benchmark], click.Command], more: list[click.Command], help: str
    ) -> None:
        super().__init__(name, help=help, commands=more, context_settings={"help_option_names": ["-h", "--help"]})
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


def _version_option() -> click.Option:
    def show(context: click.Context, parameter: click.Parameter, wanted: bool) -> None:
        if wanted:
            print_text(f"spanscore {__version__}\n")
            context.exit()

    return click.Option(["--version"], is_flag=True, expose_value=False, is_eager=True, callback=show, help="Show it.")


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
program.params.append(_version_option())
