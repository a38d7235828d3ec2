"""Results as tables for a terminal, as Markdown, LaTeX and CSV.

The shape of a result decides its tables. A dict with a rate, such as ``f1``, is a row. A dict of rows is a table.
Numbers outside rows are scores if they are floats, and counts if they are integers.
"""

from __future__ import annotations

import csv
import io
import math
import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from spanscore.packages import optional_package
from spanscore.terminal import plain

if TYPE_CHECKING:
    from spanscore.analysis import Analysis

# Names of rates in results. A dict with one of them is a row.
_RATES = ("precision", "recall", "f1", "f1-score")
_P = "p_value"
NO_SCORE = 1e6  # a larger number is a threshold, not a score
# Parts of a result that are no scores.
_DETAILS = (
    "label_texts",
    "per_document",
    "errors",
    "matched",
    "error_kinds",
    "curve",
    "confidence_intervals",
    "detectable_differences",
)


class Table(NamedTuple):
    """A table of figures.

    Attributes
    ----------
    name : str
        Its place in the result, with dots for nesting.
    columns : list of str
    rows : list of (str, list)
        The name of each row and its figures. A missing figure is None.
    heading : str or None
        The title, if it is not made from the name.
    """

    name: str
    columns: list[str]
    rows: list[tuple[str, list[Any]]]
    heading: str | None = None

    def cells(self) -> list[tuple[str, list[str]]]:
        """The rows as text. All scores of a row have the same number of decimals, and p-values have four."""
        made = []
        for name, values in self.rows:
            scores = [abs(v) for c, v in zip(self.columns, values, strict=True) if isinstance(v, float) and c != _P]
            small = all(score <= 1 or score >= NO_SCORE for score in scores)
            cells = [format_figure(v, small or c == _P) for c, v in zip(self.columns, values, strict=True)]
            made.append((name, cells))
        return made

    @property
    def title(self) -> str:
        """The title of the table."""
        return spell_out(self.name) if self.heading is None else self.heading


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_row(value: Any) -> bool:
    """Whether a part of a result is a row: a dict of numbers, with a rate among them."""
    return (
        isinstance(value, dict)
        and any(_is_number(value.get(name)) for name in _RATES)
        and all(_is_number(item) or item is None for item in value.values())
    )


def result_tables(result: dict[str, Any]) -> list[Table]:
    """Make tables of all figures of a result.

    Parameters
    ----------
    result : dict
        The result of ``compute`` of any metric.

    Returns
    -------
    list of Table
        First ``scores``, with the ends of their intervals and the detectable differences if the result has them. Then
        ``counts``, and a table for each dict of rows.
    """
    found: list[Table] = []
    scores: list[tuple[str, list[Any]]] = []
    counts: list[tuple[str, list[Any]]] = []

    def walk(values: dict[str, Any], path: str) -> None:
        prefix = f"{path}." if path else ""
        rows = {key: value for key, value in values.items() if is_row(value)}
        figures = {key: value for key, value in values.items() if _is_number(value)}
        inner = {key: value for key, value in values.items() if isinstance(value, dict) and key not in rows}
        for key, value in inner.items():
            # A row that has tables of its own gives a row here and tables later.
            if _is_number(value.get("f1")):
                rows[key] = {name: figure for name, figure in value.items() if _is_number(figure)}
                inner[key] = {name: table for name, table in value.items() if isinstance(table, dict)}
        if path and figures and not rows and not inner:
            found.append(Table(path, ["value"], [(key, [value]) for key, value in figures.items()]))
        else:
            for key, value in figures.items():
                (counts if isinstance(value, int) else scores).append((prefix + key, [value]))
        if rows:
            columns = list(dict.fromkeys(column for row in rows.values() for column in row))
            body = [(key, [row.get(column) for column in columns]) for key, row in rows.items()]
            found.append(Table(path or "components", columns, body))
        for key, value in inner.items():
            if "matrix" in value:
                body = [(label, list(row)) for label, row in zip(value["labels"], value["matrix"], strict=True)]
                found.append(Table(prefix + key, [f"as {label}" for label in value["labels"]], body))
            else:
                walk(value, prefix + key)

    walk({key: value for key, value in result.items() if key not in _DETAILS}, "")
    texts = result.get("label_texts") or {}
    found = [
        table._replace(rows=[(f"{name} {texts[name]}" if name in texts else name, row) for name, row in table.rows])
        for table in found
    ]
    columns = ["value"]
    intervals = result.get("confidence_intervals") or {}
    if intervals:
        columns += ["low", "high"]
        scores = [(name, [*value, *(intervals.get(name) or [None, None])]) for name, value in scores]
    detectable = result.get("detectable_differences") or {}
    if detectable:
        columns += ["detectable_difference"]
        scores = [(name, [*value, detectable.get(name)]) for name, value in scores]
    return [
        table for table in [Table("scores", columns, scores), Table("counts", ["value"], counts), *found] if table.rows
    ]


def format_figure(value: Any, small: bool | None = None) -> str:
    """Write a figure for a table. Scores in percent have two decimals, and scores in [0, 1] (`small`) have four."""
    if value is None:
        return "–"
    if isinstance(value, float):
        if not math.isfinite(value) or abs(value) >= NO_SCORE:
            return f"{value:.4g}"
        small = abs(value) <= 1 if small is None else small
        return f"{value:.4f}" if small and value else f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def spell_out(name: str) -> str:
    """Write the name of a table or a column as a title."""
    words = name.replace("_", " ").replace(".", ", ")
    words = re.sub(r"\b(?:f1|auc|pr|conll)\b", lambda found: found.group().upper(), words)
    return words[:1].upper() + words[1:]


# --- forms ------------------------------------------------------------------------------------------------------------


def to_terminal(found: list[Table], signature: str) -> str:
    """Write tables for standard output. On a terminal they have colour and its width."""
    box, console_module, rich_table, rich_text = (
        optional_package(f"rich.{name}", "commands", "cli") for name in ("box", "console", "table", "text")
    )

    def show(text: str) -> Any:
        return rich_text.Text(plain(text))

    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    text = io.StringIO()
    console = console_module.Console(
        file=text, force_terminal=on_terminal, width=None if on_terminal else 200, highlight=False
    )
    for table in found:
        drawn = rich_table.Table(title=show(table.title), box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
        drawn.add_column("")
        for column in table.columns:
            drawn.add_column(show(column.replace("_", " ")), justify="right")
        for name, cells in table.cells():
            drawn.add_row(show(name), *map(show, cells))
        console.print(drawn)
    console.print(show(signature), soft_wrap=True)
    return text.getvalue()


# Characters that Markdown, or GitHub's form of it, may take for marks. An underscore is one at the edge of a word only.
_MARKDOWN = re.compile(r"[\\`*\[\]<|~#!$&@]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.")
_ENTITIES = {"<": "&lt;", "&": "&amp;", "@": "&#64;", ":": "&#58;", ".": "&#46;"}


def to_markdown(found: list[Table], signature: str) -> str:
    """Write tables as Markdown, each under a heading. Marks in names are shown as they are."""

    def escape(text: str) -> str:
        words = " ".join(plain(text).split())
        return _MARKDOWN.sub(lambda mark: _ENTITIES.get(mark.group(), "\\" + mark.group()), words)

    parts = []
    for table in found:
        lines = [
            f"| | {' | '.join(escape(column.replace('_', ' ')) for column in table.columns)} |",
            "|---|" + "---:|" * len(table.columns),
        ]
        for name, cells in table.cells():
            lines.append(f"| {escape(name)} | {' | '.join(map(escape, cells))} |")
        parts.append(f"### {escape(table.title)}\n\n" + "\n".join(lines) + "\n")
    return "\n".join([*parts, _markdown_code(signature) + "\n"])


def _markdown_code(text: str) -> str:
    """Write text as code, between more backticks than it has in a row."""
    text = plain(text)
    marks = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    edge = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{marks}{edge}{text}{edge}{marks}"


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "–": "--",
    # After the end of a row, LaTeX takes a bracket or a star for an argument.
    "[": "{[}",
    "]": "{]}",
    "*": "{*}",
    **{sign: "\\" + sign for sign in "&%$#_{}"},
}


def to_latex(found: list[Table], signature: str) -> str:
    """Write tables as LaTeX. They need the LaTeX package booktabs."""

    def escape(text: str) -> str:
        return " ".join("".join(_LATEX.get(sign, sign) for sign in plain(text)).split())

    parts = ["% needs \\usepackage{booktabs}", f"% {plain(signature)}"]
    for table in found:
        header = " & ".join(["", *(escape(column.replace("_", " ")) for column in table.columns)])
        body = [" & ".join(map(escape, [name, *cells])) + r" \\" for name, cells in table.cells()]
        parts += [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escape(table.title)}}}",
            rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
            r"\toprule",
            header + r" \\",
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    return "\n".join(parts)


# First characters of a text that a spreadsheet takes for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def to_csv(found: list[Table], signature: str) -> str:
    """Write all figures as CSV, one a line and not rounded: table, row, measure, value.

    A text that a spreadsheet would take for a formula begins with an apostrophe. Numbers stay numbers.
    """

    def escape(value: Any) -> Any:
        if not isinstance(value, str):
            return "" if value is None else value
        return plain("'" * value.lstrip(" ").startswith(_FORMULA) + value)

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["table", "row", "measure", "value"])
    for table in found:
        for name, values in table.rows:
            for column, value in zip(table.columns, values, strict=True):
                writer.writerow(map(escape, [table.name, name, column, value]))
    writer.writerow(map(escape, ["signature", "", "", signature]))
    return text.getvalue()


# --- errors -----------------------------------------------------------------------------------------------------------


def kinds_table(analysed: Analysis) -> Table:
    """Make the table of the kinds of error, with the score if all errors of a kind were corrected."""
    with_headline = any(kind.headline is not None for kind in analysed.kinds)
    columns = [
        "errors",
        "f1 if mended" if analysed.headline != "balanced_accuracy" else f"{analysed.headline} if mended",
    ]
    columns += [f"{analysed.headline} if mended"] * with_headline
    rows = [
        (f"{kind.component}: {kind.kind}", [kind.errors, kind.mended, *([kind.headline] if with_headline else [])])
        for kind in analysed.kinds
    ]
    return Table("kinds_of_error", columns, rows)


# --- several systems --------------------------------------------------------------------------------------------------


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """The figures of a row. An interval, a list or a dict of figures takes several columns."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if name == "interval":
            flat |= dict(zip(("low", "high"), value or (None, None), strict=True))
        elif isinstance(value, list):
            flat |= {f"run {number}": figure for number, figure in enumerate(value, start=1)}
        elif isinstance(value, dict):
            flat |= {f"{name} {key}": inner for key, inner in value.items()}
        else:
            flat[name] = value
    return flat


def _rows_table(name: str, rows: dict[str, dict[str, Any]]) -> Table:
    flat = {key: _flat(row) for key, row in rows.items()}
    columns = list(dict.fromkeys(column for row in flat.values() for column in row))
    return Table(name, columns, [(key, [row.get(column) for column in columns]) for key, row in flat.items()])


def comparison_table(first: str, name: str, scores: dict[str, dict[str, Any]]) -> Table:
    """Make the table of one system and the first: a row for each headline score, with difference and p-value."""
    rows = {key: row for key, row in scores.items() if isinstance(row, dict) and "difference" in row}
    return _rows_table(name, rows)._replace(heading=f"a is {first}, b is {name}")


def runs_tables(found: dict[str, Any]) -> list[Table]:
    """Make the table of several runs: mean and deviation of each headline score, and scores of mean rates."""
    rows = {key: {"mean": value} if _is_number(value) else value for key, value in found.items()}
    return [_rows_table("runs", rows)]
