#!/usr/bin/env python3
"""The command line: from files of predictions and references to scores, comparisons and reports.

``python score.py --help`` lists the commands. The options of a metric are not listed here: they are what the metric
says it takes (``option_checks`` and the description of its inputs), so that a new option of a metric is one of the
command too. Results go to standard output, and all else to standard error.
"""

from __future__ import annotations

import importlib
import io
import json
import os
import re
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click

ROOT = Path(__file__).resolve().parent
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

_PATIENCE = 2.0  # seconds of work before a terminal shows that there is some
_PARQUET_MAGIC = b"PAR1"


class Benchmark(NamedTuple):
    """What the command line knows of a benchmark.

    Attributes
    ----------
    name : str
        Of ``<name>_metric.py`` and of ``formats/<name>.py``.
    title : str
    tasks : tuple of str
        The metric's configurations, if it has several.
    reading : tuple of str
        What else than ``format`` its reader takes.
    """

    name: str
    title: str
    tasks: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()


BENCHMARKS = {
    benchmark.name: benchmark
    for benchmark in (
        Benchmark("aste", "aspect sentiment triplets", reading=("span_format",)),
        Benchmark("docred", "document-level relations"),
        Benchmark("propsegment", "propositions, and entailment between them", ("segmentation", "entailment")),
        Benchmark("sentivent", "economic events and implicit sentiment"),
    )
}
# Options of `compute` that follow from what is to be written.
_FROM_OUTPUT = ("per_document", "return_errors")
# Options of intervals, which comparisons and runs have in ways of their own.
_INTERVALS = ("confidence_level", "n_resamples", "random_state", "interval_method")
_HEADLINES = ("f1", "sentivent_score", "balanced_accuracy")


# --- metrics and their options ----------------------------------------------------------------------------------------


class MetricOption(NamedTuple):
    """An option of ``compute`` as the metric describes it."""

    name: str
    switch: bool
    kind: str
    text: str


def load_metric(benchmark: Benchmark, task: str | None = None) -> Any:
    """The benchmark's metric through ``evaluate.load``."""
    os.environ.setdefault("HF_UPDATE_DOWNLOAD_COUNTS", "0")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    import evaluate

    evaluate.utils.logging.set_verbosity_error()
    return evaluate.load(str(ROOT / f"{benchmark.name}_metric.py"), task)


def metric_options(metric: Any) -> dict[str, MetricOption]:
    """What ``compute`` takes, from the metric's own checks, with the words of its description."""
    described: dict[str, tuple[str, str]] = {}
    parameters = metric.inputs_description.partition("Returns\n-------")[0]
    for names, kind, text in re.findall(r"^([a-z_, ]+) : (.*)\n((?:(?: .*)?\n)*)", parameters, re.MULTILINE):
        for name in names.split(", "):
            described[name] = (kind, " ".join(text.split()))
    return {
        name: MetricOption(name, getattr(check, "__name__", "") == "flag", *described.get(name, ("", "")))
        for name, check in metric.option_checks.items()
    }


def _value(text: str) -> Any:
    """An option's value as given: ``@FILE`` is what a file holds, JSON is what it says, and the rest is text."""
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


def _option_parameters(benchmark: Benchmark, but: tuple[str, ...] = ()) -> list[click.Parameter]:
    options: dict[str, MetricOption] = {}
    for task in benchmark.tasks or (None,):
        for name, option in metric_options(load_metric(benchmark, task)).items():
            options.setdefault(name, option)
    parameters: list[click.Parameter] = []
    for option in options.values():
        if option.name in (*_FROM_OUTPUT, *but):
            continue
        dashed = "--" + option.name.replace("_", "-")
        text = f"{option.text} ({option.kind})" if option.kind else option.text
        if option.switch:
            flag = f"{dashed}/--no-{dashed[2:]}"
            parameters.append(click.Option([flag, option.name], default=None, help=text))
        else:
            parameters.append(click.Option([dashed, option.name], metavar="VALUE", help=text))
    return parameters


def given_options(benchmark: Benchmark, arguments: dict[str, Any], but: tuple[str, ...] = ()) -> dict[str, Any]:
    """The options of ``compute`` that the user gave; a metric's own defaults stand for the rest."""
    names = {p.name for p in _option_parameters(benchmark, but)}
    options = {
        name: _value(value) if isinstance(value, str) else value
        for name, value in arguments.items()
        if name in names and value is not None
    }
    if arguments.get("confidence"):
        options.setdefault("confidence_level", 0.95)
    return options


# --- files ------------------------------------------------------------------------------------------------------------


class Source(NamedTuple):
    """A file that was read.

    Attributes
    ----------
    path : str
    records : list
    format : str
    notes : dict of str to int
        What the format could not carry over.
    """

    path: str
    records: list[Any]
    format: str
    notes: dict[str, int]

    def __str__(self) -> str:
        words = [f"{count:,} {name.replace('_', ' ')}" for name, count in self.notes.items() if count]
        return f"{self.path}: format {self.format}, {len(self.records):,} records" + "".join(f", {w}" for w in words)


def _formats(benchmark: Benchmark) -> Any:
    return importlib.import_module(f"formats.{benchmark.name}")


def _is_parquet(path: str) -> bool:
    if path == "-":
        return False
    with Path(path).open("rb") as file:
        return file.read(len(_PARQUET_MAGIC)) == _PARQUET_MAGIC


def _parquet_as_lines(path: str) -> io.StringIO:
    """The rows of a Parquet file as JSON lines, for readers of text."""
    import pyarrow as pa
    import pyarrow.parquet

    try:
        rows = pa.parquet.read_table(path).to_pylist()
        text = io.StringIO("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    except (pa.ArrowException, TypeError) as error:
        raise ValueError(f"{path}:1: not a readable Parquet file ({error})") from None
    text.name = path
    return text


def read(benchmark: Benchmark, path: str, format: str = "auto", **reading: Any) -> Source:
    """Read a file of a benchmark, whatever its format."""
    formats = _formats(benchmark)
    source: Any = path
    if "parquet" not in formats.FORMATS and _is_parquet(path):
        source = _parquet_as_lines(path)
    corpus = formats.read(source, format, **{name: value for name, value in reading.items() if value is not None})
    return Source("standard input" if path == "-" else path, corpus.records, corpus.format, corpus.format_notes)


def _tokens(record: Any) -> list[str] | None:
    tokens = record.get("tokens") if isinstance(record, dict) else None
    return None if tokens is None else list(tokens)


def read_references(benchmark: Benchmark, path: str, arguments: dict[str, Any]) -> Source:
    """Read the references; with ``--clusters``, PropSegmEnt's entries get their tokens."""
    reading = {name: arguments.get(name) for name in benchmark.reading}
    source = read(benchmark, path, arguments.get("references_format") or "auto", **reading)
    if arguments.get("clusters"):
        known = _formats(benchmark).read_sentences(arguments["clusters"])
        records = []
        for record in source.records:
            place = record.get("sentence_id") if isinstance(record, dict) else None
            if isinstance(place, dict):
                name = f"{place.get('cluster_id')}/{place.get('document_id')}/{place.get('sentence_index')}"
                record = {**record, "tokens": known[name]} if name in known else record
            records.append(record)
        source = source._replace(records=records)
    return source


def read_predictions(benchmark: Benchmark, path: str, arguments: dict[str, Any], references: Source) -> Source:
    """Read predictions; sequence output is read against the sentences of the references where these have them."""
    reading = {name: arguments.get(name) for name in benchmark.reading}
    format = arguments.get("format") or "auto"
    if benchmark.tasks and format == "sequence":
        sentences = [_tokens(record) for record in references.records]
        if sentences and all(sentence is not None for sentence in sentences):
            reading["sentences"] = sentences
    return read(benchmark, path, format, **reading)


def _task(benchmark: Benchmark, arguments: dict[str, Any], references: Source) -> str | None:
    """The task that is asked for, or that the references are of."""
    if not benchmark.tasks:
        return None
    if arguments.get("task"):
        return arguments["task"]
    first = references.records[0] if references.records else {}
    labels = ("label", "relationship_responses", "entailment_responses")
    is_label = isinstance(first, str) or (isinstance(first, dict) and any(key in first for key in labels))
    return benchmark.tasks[1 if is_label else 0]


# --- the terminal -----------------------------------------------------------------------------------------------------


def say(text: object) -> None:
    """One line on standard error."""
    print(" ".join(str(text).split()), file=sys.stderr)


@contextmanager
def working(words: str) -> Iterator[None]:
    """Show on a terminal that there is work, once it has taken a while."""
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    status = Console(stderr=True).status(words)
    timer = threading.Timer(_PATIENCE, status.start)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()
        status.stop()


def _write(path: str, text: str) -> None:
    if path == "-":
        sys.stdout.write(text)
    else:
        from formats.files import write_text

        write_text(path, text)


def _lines(items: list[Any]) -> str:
    from formats.files import json_lines

    return json_lines(items)


def _one_on_standard_output(arguments: dict[str, Any]) -> None:
    files = [name for name in ("json", "html", "errors", "per_document") if arguments.get(name) == "-"]
    chosen = files + [name for name in ("markdown", "latex", "csv") if arguments.get(name)]
    if len(chosen) > 1:
        raise click.UsageError(f"{' and '.join(chosen)} cannot share standard output, expected one of them")


def _inputs_differ(*paths: str) -> None:
    if paths.count("-") > 1:
        raise click.UsageError("standard input (-) holds one file only")


# --- commands ---------------------------------------------------------------------------------------------------------


class Scored(NamedTuple):
    """All that a report is made of.

    Attributes
    ----------
    benchmark : str
    task : str or None
    result : dict
        Of ``compute``, with per-document counts and errors where they are needed.
    predictions, references : Source
    options : dict
        As given to ``compute``.
    metric : evaluate.Metric
    """

    benchmark: str
    task: str | None
    result: dict[str, Any]
    predictions: Source
    references: Source
    options: dict[str, Any]
    metric: Any


def score_files(benchmark: Benchmark, predictions: str, references: str, arguments: dict[str, Any]) -> Scored:
    """Read both files and compute; messages about them go to standard error."""
    _inputs_differ(predictions, references)
    options = given_options(benchmark, arguments)
    gold = read_references(benchmark, references, arguments)
    predicted = read_predictions(benchmark, predictions, arguments, gold)
    for side, source in (("predictions", predicted), ("references", gold)):
        say(f"{side}: {source}")
    task = _task(benchmark, arguments, gold)
    metric = load_metric(benchmark, task)
    detailed = bool(arguments.get("html") or arguments.get("kinds"))
    switches = {
        "per_document": detailed or arguments.get("per_document") is not None,
        "return_errors": detailed or arguments.get("errors") is not None,
    }
    options |= {name: True for name, wanted in switches.items() if wanted}
    result = _quietly(metric.compute, predictions=predicted.records, references=gold.records, **options)
    return Scored(benchmark.name, task, result, predicted, gold, options, metric)


def _score(benchmark: Benchmark, predictions: str, references: str, **arguments: Any) -> None:
    import report

    _one_on_standard_output(arguments)
    with working(f"scoring {benchmark.title}"):
        scored = score_files(benchmark, predictions, references, arguments)
        result = scored.result
        analysed = None
        if arguments.get("html") or arguments.get("kinds"):
            import analysis

            analysed = analysis.analyse(scored)
        if arguments.get("html"):
            _write(arguments["html"], report.to_html(scored, analysed))
    if arguments.get("errors") is not None:
        _write(arguments["errors"], _lines(result["errors"]))
    if arguments.get("per_document") is not None:
        _write(arguments["per_document"], _lines(result["per_document"]))
    if arguments.get("json"):
        _write(arguments["json"], json.dumps(result, ensure_ascii=False, indent=1) + "\n")
    tables = report.tables(result)
    if arguments.get("kinds") and analysed is not None:
        tables.append(report.kinds_table(analysed))
    _print_tables(tables, result["signature"], arguments)


def _print_tables(tables: list[Any], signature: str, arguments: dict[str, Any]) -> None:
    """Tables in the form that is asked for, on standard output, if nothing else goes there."""
    import report

    forms = {"markdown": report.to_markdown, "latex": report.to_latex, "csv": report.to_csv}
    chosen = [form for name, form in forms.items() if arguments.get(name)]
    if chosen:
        sys.stdout.write(chosen[0](tables, signature))
    elif "-" not in [arguments.get(name) for name in ("json", "html", "errors", "per_document")]:
        report.to_terminal(tables, signature)


# `-` is standard input, and the readers say what is wrong with a path.
_PATH = click.Path(dir_okay=False, allow_dash=True)


def _forms() -> list[click.Parameter]:
    return [
        click.Option(["--json"], metavar="FILE", help="The result as JSON (- is standard output)."),
        click.Option(["--markdown"], is_flag=True, help="Tables as Markdown."),
        click.Option(["--latex"], is_flag=True, help="Tables as LaTeX, with booktabs."),
        click.Option(["--csv"], is_flag=True, help="All figures as CSV, one a line."),
        click.Option(["--debug"], is_flag=True, help="Show where in the program an error came up."),
    ]


def _reading(benchmark: Benchmark, references: bool = True) -> list[click.Parameter]:
    formats = _formats(benchmark)
    choices = click.Choice(["auto", *formats.FORMATS])
    options: list[click.Parameter] = [
        click.Option(["--format"], type=choices, help="The format of predictions; by default told by content.")
    ]
    if references:
        options.append(click.Option(["--references-format"], type=choices, help="The same of references."))
    if "span_format" in benchmark.reading:
        options.append(
            click.Option(
                ["--span-format"],
                type=click.Choice(list(formats.SPAN_FORMATS)),
                help="Whether a span lists every token, or its first and last.",
            )
        )
    if benchmark.tasks and references:
        options.append(
            click.Option(
                ["--task"], type=click.Choice(list(benchmark.tasks)), help="By default what the references are of."
            )
        )
        options.append(
            click.Option(
                ["--clusters"],
                type=_PATH,
                metavar="FILE",
                help="A document_clusters.*.json, which has the text of the sentences.",
            )
        )
    return options


def _score_command(benchmark: Benchmark) -> click.Command:
    return click.Command(
        benchmark.name,
        callback=lambda **arguments: _score(benchmark, **arguments),
        help=f"Score {benchmark.title}.",
        params=[
            click.Argument(["predictions"], type=_PATH),
            click.Argument(["references"], type=_PATH),
            *_option_parameters(benchmark),
            click.Option(["--confidence"], is_flag=True, help="Intervals of the headline scores, at 0.95 by default."),
            *_reading(benchmark),
            click.Option(["--html"], metavar="FILE", help="A report with every document, in one file."),
            click.Option(["--errors"], metavar="FILE", help="Items in error, as JSON lines."),
            click.Option(["--per-document"], metavar="FILE", help="Counts of each document, as JSON lines."),
            click.Option(["--kinds"], is_flag=True, help="What mending each kind of error would bring."),
            *_forms(),
        ],
    )


def _side(format: str) -> str:
    """Which side records of a format are for; where both sides are alike, it does not matter."""
    if format in ("documents", "rows", "propositions", "relationships"):
        return "references"
    return "predictions"


def _validate(benchmark: Benchmark, file: str, **arguments: Any) -> None:
    import validation

    reading = {name: arguments[name] for name in benchmark.reading if arguments.get(name)}
    formats = _formats(benchmark)
    format = arguments.get("format") or "auto"
    with working(f"checking {file}"):
        name = "<stdin>" if file == "-" else file
        if _is_parquet(file) or format in ("parquet", "xmi") or file.endswith((".xmi", ".xml")):
            source = read(benchmark, file, format, **reading)
            located = validation.Located(source.records, [None] * len(source.records), source.format)
            problems: list[Any] = []
        else:
            located, problems = validation.read_pieces(
                file, lambda text, form: formats.read(text, form, **reading), format, getattr(formats, "detect", None)
            )
        side = arguments.get("side") or _side(located.format)
        if located.format != "facts":
            task = _task(benchmark, arguments, Source(name, located.records, located.format, {}))
            metric = load_metric(benchmark, task)
            # DocRED's predictions join by title, of which a document has one and its facts each have it.
            key = "id" if benchmark.name != "docred" else "title" if side == "references" else None
            problems += validation.record_problems(
                lambda records: metric._read(side, records), side, located.records, located.lines, key
            )
        if not problems and arguments.get("references"):
            # What only both sides show.
            gold = read_references(benchmark, arguments["references"], arguments)
            metric = load_metric(benchmark, _task(benchmark, arguments, gold))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    metric.compute(predictions=located.records, references=gold.records)
                except ValueError as error:
                    problems.append(validation.Problem(None, "", str(error)))
    problems.sort(key=lambda problem: problem.line or 0)
    if arguments.get("json"):
        listed = [problem._asdict() for problem in problems]
        _write(arguments["json"], json.dumps({"problems": listed}, ensure_ascii=False, indent=1) + "\n")
    if arguments.get("json") != "-":
        for problem in problems:
            parts = [name if problem.line is None else f"{name}:{problem.line}", problem.place, problem.problem]
            click.echo(": ".join(part for part in parts if part))
    count = f"{len(problems):,} problem{'s' * (len(problems) != 1)}" if problems else "no problem"
    say(f"{name}: format {located.format}, {len(located.records):,} records read as {side}, {count}")
    if problems:
        raise click.exceptions.Exit(2)


def _validate_command(benchmark: Benchmark) -> click.Command:
    tasks = [click.Option(["--task"], type=click.Choice(list(benchmark.tasks)))] if benchmark.tasks else []
    return click.Command(
        benchmark.name,
        callback=lambda **arguments: _validate(benchmark, **arguments),
        help=f"List all that is wrong with a file of {benchmark.title}.",
        params=[
            click.Argument(["file"], type=_PATH),
            click.Option(["--side"], type=click.Choice(["predictions", "references"]), help="Where formats are alike."),
            click.Option(["--references"], type=_PATH, metavar="FILE", help="Check predictions against these too."),
            *_reading(benchmark, references=False),
            *tasks,
            click.Option(["--json"], metavar="FILE", help="The problems as JSON (- is standard output)."),
            click.Option(["--debug"], is_flag=True, help="Show where in the program an error came up."),
        ],
    )


class Systems(NamedTuple):
    """Several sets of predictions on the same references."""

    metric: Any
    predictions: list[Source]
    references: Source
    options: dict[str, Any]


def _read_systems(
    benchmark: Benchmark, predictions: list[str], references: str, arguments: dict[str, Any], but: tuple[str, ...]
) -> Systems:
    _inputs_differ(*predictions, references)
    options = given_options(benchmark, arguments, but)
    gold = read_references(benchmark, references, arguments)
    sources = [read_predictions(benchmark, path, arguments, gold) for path in predictions]
    for number, source in enumerate(sources, start=1):
        say(f"predictions {number}: {source}")
    say(f"references: {gold}")
    return Systems(load_metric(benchmark, _task(benchmark, arguments, gold)), sources, gold, options)


def _quietly(work: Callable[..., Any], *given: Any, **options: Any) -> Any:
    """Do work whose warnings are one line each on standard error."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UserWarning)
        result = work(*given, **options)
    for words in dict.fromkeys(str(w.message) for w in caught if issubclass(w.category, UserWarning)):
        say(f"warning: {words}")
    return result


def _compare(benchmark: Benchmark, files: tuple[str, ...], **arguments: Any) -> None:
    import report

    _one_on_standard_output(arguments)
    if len(files) < 3:
        raise click.UsageError("expected predictions of two systems or more, then the references")
    import comparison

    *paths, last = files
    with working(f"comparing on {benchmark.title}"):
        systems = _read_systems(benchmark, paths, last, arguments, _INTERVALS)
        settings = {name: arguments[name] for name in ("method", "n_resamples", "random_state", "confidence_level")}
        found = _quietly(
            comparison.compare,
            systems.metric,
            [source.records for source in systems.predictions],
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
        headline = next((name for name in _HEADLINES if name in scores), next(iter(scores)))
        whole = {"score": headline, **scores[headline], **settings, "references": last, "comparisons": comparisons}
        _write(arguments["json"], json.dumps(whole, ensure_ascii=False, indent=1) + "\n")
    tables = [report.comparison_table(paths[0], one["system_b"], one["scores"]) for one in comparisons]
    words = "|".join(f"{name}:{value}" for name, value in settings.items())
    _print_tables(tables, words, arguments)


def _runs(benchmark: Benchmark, predictions: tuple[str, ...], references: str, **arguments: Any) -> None:
    import report

    _one_on_standard_output(arguments)
    import comparison

    but = (*_INTERVALS, "groups")
    with working(f"scoring {len(predictions)} runs"):
        systems = _read_systems(benchmark, list(predictions), references, arguments, but)
        found = _quietly(
            comparison.runs,
            systems.metric,
            [source.records for source in systems.predictions],
            systems.references.records,
            systems.options,
        )
    if arguments.get("json"):
        _write(arguments["json"], json.dumps(found, ensure_ascii=False, indent=1) + "\n")
    _print_tables(report.runs_tables(found), f"{len(predictions)} runs of {benchmark.name}", arguments)


def _compare_command(benchmark: Benchmark) -> click.Command:
    return click.Command(
        benchmark.name,
        callback=lambda **arguments: _compare(benchmark, **arguments),
        help=f"Compare systems on {benchmark.title}, each with the first: FILES are the predictions of two or more, "
        f"then the references.",
        params=[
            click.Argument(["files"], type=_PATH, nargs=-1, required=True),
            *_option_parameters(benchmark, _INTERVALS),
            click.Option(
                ["--method"],
                type=click.Choice(["randomisation", "bootstrap"]),
                default="randomisation",
                show_default=True,
                help="How p-values come about.",
            ),
            click.Option(["--n-resamples"], type=click.IntRange(min=1), default=10_000, show_default=True),
            click.Option(["--random-state"], type=click.IntRange(min=0), default=0, show_default=True),
            click.Option(
                ["--confidence-level"],
                type=click.FloatRange(0, 1, min_open=True, max_open=True),
                default=0.95,
                show_default=True,
                help="Of the intervals of the differences.",
            ),
            *_reading(benchmark),
            *_forms(),
        ],
    )


def _runs_command(benchmark: Benchmark) -> click.Command:
    return click.Command(
        benchmark.name,
        callback=lambda **arguments: _runs(benchmark, **arguments),
        help=f"Mean and standard deviation over several runs of one system on {benchmark.title}.",
        params=[
            click.Argument(["predictions"], type=_PATH, nargs=-1, required=True),
            click.Option(["--references"], type=_PATH, metavar="FILE", required=True),
            *_option_parameters(benchmark, (*_INTERVALS, "groups")),
            *_reading(benchmark),
            *_forms(),
        ],
    )


# --- the program ------------------------------------------------------------------------------------------------------


class _ByBenchmark(click.Group):
    """A command for each benchmark, made when it is asked for: its options are the metric's."""

    def __init__(
        self, name: str | None, make: Callable[[Benchmark], click.Command], more: list[click.Command], help: str
    ) -> None:
        super().__init__(name, help=help, commands=more)
        self.make = make

    def list_commands(self, context: click.Context) -> list[str]:
        return [*BENCHMARKS, *super().list_commands(context)]

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name in BENCHMARKS:
            return self.make(BENCHMARKS[name])
        return super().get_command(context, name)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        rows = [(benchmark.name, benchmark.title) for benchmark in BENCHMARKS.values()]
        rows += [(name, command.get_short_help_str(80)) for name, command in sorted(self.commands.items())]
        with formatter.section("Commands"):
            formatter.write_dl(rows)


program = _ByBenchmark(
    None,
    _score_command,
    [
        _ByBenchmark("compare", _compare_command, [], help="Whether systems differ by more than chance."),
        _ByBenchmark("runs", _runs_command, [], help="Mean and deviation over the runs of one system."),
        _ByBenchmark("validate", _validate_command, [], help="List all problems of a file, with line and place."),
    ],
    help="Score predictions on SENTiVENT, PropSegmEnt, ASTE and DocRED.",
)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    try:
        # Without its standalone mode, click returns the code of an `Exit`.
        code = program.main(given, prog_name="score.py", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as leave:
        return leave.exit_code
    except click.exceptions.NoArgsIsHelpError as shown:
        print(shown.format_message())
        return 2
    except click.Abort:
        return 130
    except BrokenPipeError:
        # Whoever read the output has had enough; nothing more can be written there.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception as error:
        if "--debug" in given:
            raise
        if isinstance(error, click.ClickException):
            say(f"error: {error.format_message()}")
        elif isinstance(error, OSError) and error.filename is not None:
            say(f"error: {error.filename}: {error.strerror}")
        elif isinstance(error, (ValueError, OSError)):
            say(f"error: {error}")
        else:
            say(f"error: {type(error).__name__}: {error} (unexpected; --debug shows where)")
            return 1
        return 2


if __name__ == "__main__":
    sys.exit(main())
