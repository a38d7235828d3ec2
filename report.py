"""Results as tables on a terminal, Markdown, LaTeX, CSV, and one HTML file with every document.

A result of any of the metrics becomes tables by its shape alone: a dict with F1 or recall is a row, a dict of rows is a
table, and numbers at the top are the headline.
"""

from __future__ import annotations

import csv
import io
import math
from typing import Any, NamedTuple

# Keys of a row of rates, under the names that the metrics give them.
_RATES = ("precision", "recall", "f1", "f1-score")
_DETAILS = ("per_document", "errors", "confidence_intervals")


class Table(NamedTuple):
    """A table of figures.

    Attributes
    ----------
    name : str
        Where in the result it stands, with dots for nesting.
    columns : list of str
    rows : list of (str, list)
        The name of each row and its figures; None where there is none.
    """

    name: str
    columns: list[str]
    rows: list[tuple[str, list[Any]]]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_row(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and any(_is_number(value.get(name)) for name in _RATES)
        and all(_is_number(item) or item is None for item in value.values())
    )


def tables(result: dict[str, Any]) -> list[Table]:
    """All figures of a result.

    Parameters
    ----------
    result : dict
        Of ``compute`` of any of the metrics.

    Returns
    -------
    list of Table
        ``scores`` first, with the ends of their intervals if there are some, and ``counts``; then rows of rates, and
        the tables within.
    """
    found: list[Table] = []
    scores: list[tuple[str, list[Any]]] = []
    counts: list[tuple[str, list[Any]]] = []

    def walk(values: dict[str, Any], path: str) -> None:
        prefix = f"{path}." if path else ""
        rows = {key: value for key, value in values.items() if _is_row(value)}
        figures = {key: value for key, value in values.items() if _is_number(value)}
        inner = {key: value for key, value in values.items() if isinstance(value, dict) and key not in rows}
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
    columns = ["value"]
    intervals = result.get("confidence_intervals") or {}
    if intervals:
        columns += ["low", "high"]
        scores = [(name, [*value, *(intervals.get(name) or [None, None])]) for name, value in scores]
    return [
        table for table in [Table("scores", columns, scores), Table("counts", ["value"], counts), *found] if table.rows
    ]


def shown(value: Any) -> str:
    """A figure as tables show it: scores in percent have two decimals, those in [0, 1] four."""
    if value is None:
        return "–"
    if isinstance(value, float):
        if not math.isfinite(value) or abs(value) >= 1e6:
            return f"{value:.4g}"
        return f"{value:.4f}" if 0 < abs(value) <= 1 else f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def title(name: str) -> str:
    """A table's or column's name as people write it."""
    words = name.replace("_", " ").replace(".", ", ")
    return words[:1].upper() + words[1:]


# --- forms ------------------------------------------------------------------------------------------------------------


def to_terminal(found: list[Table], signature: str) -> None:
    """Print tables on standard output, in colour and within its width on a terminal, plain and whole elsewhere."""
    import sys

    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    on_terminal = sys.stdout.isatty()
    console = Console(width=None if on_terminal else 200, highlight=False)
    for table in found:
        drawn = RichTable(title=Text(title(table.name)), box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
        drawn.add_column("")
        for column in table.columns:
            drawn.add_column(Text(column.replace("_", " ")), justify="right")
        for name, values in table.rows:
            drawn.add_row(Text(name), *(Text(shown(value)) for value in values))
        console.print(drawn)
    console.print(Text(signature), soft_wrap=True)


def to_markdown(found: list[Table], signature: str) -> str:
    """Tables as Markdown, under headings."""

    def escape(text: str) -> str:
        return " ".join(text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").split())

    parts = []
    for table in found:
        lines = [
            f"| | {' | '.join(escape(column.replace('_', ' ')) for column in table.columns)} |",
            "|---|" + "---:|" * len(table.columns),
        ]
        for name, values in table.rows:
            lines.append(f"| {escape(name)} | {' | '.join(escape(shown(value)) for value in values)} |")
        parts.append(f"### {escape(title(table.name))}\n\n" + "\n".join(lines) + "\n")
    return "\n".join([*parts, f"`{signature}`\n"])


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "–": "--",
    **{sign: "\\" + sign for sign in "&%$#_{}"},
}


def to_latex(found: list[Table], signature: str) -> str:
    """Tables as LaTeX; they need the package booktabs."""

    def escape(text: str) -> str:
        return " ".join("".join(_LATEX.get(sign, sign) for sign in text).split())

    parts = ["% needs \\usepackage{booktabs}", f"% {signature}"]
    for table in found:
        header = " & ".join(["", *(escape(column.replace("_", " ")) for column in table.columns)])
        body = [" & ".join(map(escape, [name, *map(shown, values)])) + r" \\" for name, values in table.rows]
        parts += [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escape(title(table.name))}}}",
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


def to_csv(found: list[Table], signature: str) -> str:
    """All figures, one a line, unrounded: table, row, measure, value."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["table", "row", "measure", "value"])
    for table in found:
        for name, values in table.rows:
            for column, value in zip(table.columns, values, strict=True):
                writer.writerow([table.name, name, column, "" if value is None else value])
    writer.writerow(["signature", "", "", signature])
    return text.getvalue()
