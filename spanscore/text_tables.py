"""Tables of figures as text: for a terminal, as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
import re
import shutil
import sys
from typing import Any

from spanscore.packages import optional_package
from spanscore.tables import Summary, Table
from spanscore.terminal import plain

_PIPE_WIDTH = 80  # columns, where the output is no terminal
_GAP = 2  # spaces between columns
_MARGIN = 12  # columns that the narrowest figures take beside a long name


# --- terminal ---------------------------------------------------------------------------------------------------------


def to_terminal(found: list[Table], signature: str, versions: str = "", summary: Summary | None = None) -> str:
    """Write tables for standard output. On a terminal they have colour.

    A table that is wider than the terminal is shown in parts, each with some of its columns. No name is cut.

    Parameters
    ----------
    found : list of Table
    signature, versions : str
        The lines below the tables.
    summary : Summary, optional
        It comes before the tables.
    """
    console_module = optional_package("rich.console", "commands", "cli")
    on_terminal = sys.stdout is not None and sys.stdout.isatty()
    text = io.StringIO()
    width = shutil.get_terminal_size((_PIPE_WIDTH, 24)).columns if on_terminal else _PIPE_WIDTH
    console = console_module.Console(file=text, force_terminal=on_terminal, width=width, highlight=False)
    if summary is not None:
        for number, line in enumerate(summary.lines):
            console.print(_as_text(line, "bold" if not number else ""))
        console.print()
        _print_table(console, summary.table)
        if summary.scores:
            console.print(_as_text(", ".join(f"{name} {value}" for name, value in summary.scores)))
            console.print()
    for table in found:
        console.print(_as_text(table.title, "italic"))
        _print_table(console, table)
    for line in filter(None, (signature, versions)):
        console.print(_as_text(line), soft_wrap=True)
    return text.getvalue()


def _as_text(words: str, style: str = "") -> Any:
    return optional_package("rich.text", "commands", "cli").Text(plain(words), style)


def _print_table(console: Any, table: Table) -> None:
    """Print a table in as many parts as the width takes, each with the names of the rows and some of the columns."""
    cells = table.cells()
    titles = [table.titles.get(column, column.replace("_", " ")) for column in table.columns]
    names = _narrowest(console, [name for name, _ in cells])
    widths = [_narrowest(console, [title, *(values[at] for _, values in cells)]) for at, title in enumerate(titles)]
    # Titles of columns stay on one line where there is room.
    whole = [max(width, _length(title)) for width, title in zip(widths, titles, strict=True)]
    longest = max((_length(name) for name, _ in cells), default=0)
    if longest + sum(width + _GAP for width in whole) <= console.width:
        widths = whole
    start = 0
    while start < len(titles):
        end = start + 1
        while end < len(titles) and names + sum(width + _GAP for width in widths[start : end + 1]) <= console.width:
            end += 1
        box, rich_table = (optional_package(f"rich.{name}", "commands", "cli") for name in ("box", "table"))
        drawn = rich_table.Table(box=box.SIMPLE_HEAD, show_edge=False, padding=0)
        # The box puts one space between columns. Versions of rich differ in the padding of edges, so there is none.
        # Names get the rest of the width, so that few of them break.
        rest = console.width - sum(width + _GAP for width in widths[start:end])
        drawn.add_column("", overflow="fold", width=max(names, min(rest, longest)))
        for at in range(start, end):
            drawn.add_column(_as_text(titles[at]), justify="right", overflow="fold", width=widths[at] + _GAP - 1)
        for name, values in cells:
            drawn.add_row(_as_text(name), *map(_as_text, values[start:end]))
        console.print(drawn)
        console.print()
        start = end


def _narrowest(console: Any, texts: list[str]) -> int:
    """The width of a column whose lines break at spaces. A longer word goes on in the next line."""
    words = [word for text in texts for word in plain(text).split()]
    return min(max(map(_length, words), default=0), int(console.width) - _MARGIN)


def _length(text: str) -> int:
    length: int = optional_package("rich.cells", "commands", "cli").cell_len(plain(text))
    return length


# --- Markdown and LaTeX -----------------------------------------------------------------------------------------------

# Characters that Markdown, or GitHub's form of it, may take for marks. An underscore is one at the edge of a word only.
_MARKDOWN = re.compile(r"[\\`*\[\]<|~#!$&@]|(?<![^\W_])_|_(?![^\W_])|:(?=//)|(?<=www)\.")
_ENTITIES = {"<": "&lt;", "&": "&amp;", "@": "&#64;", ":": "&#58;", ".": "&#46;"}


def to_markdown(found: list[Table], signature: str, versions: str = "") -> str:
    """Write tables as Markdown, each under a heading. Marks in names are shown as they are."""

    def escape(text: str) -> str:
        words = " ".join(plain(text).split())
        return _MARKDOWN.sub(lambda mark: _ENTITIES.get(mark.group(), "\\" + mark.group()), words)

    parts = []
    for table in found:
        lines = [
            f"| | {' | '.join(escape(table.column_title(column)) for column in table.columns)} |",
            "|---|" + "---:|" * len(table.columns),
        ]
        best = table.best()
        for number, (name, cells) in enumerate(table.cells()):
            shown = [f"**{escape(cell)}**" if (number, at) in best else escape(cell) for at, cell in enumerate(cells)]
            lines.append(f"| {escape(table.row_title(name))} | {' | '.join(shown)} |")
        parts.append(f"### {escape(table.title)}\n\n" + "\n".join(lines) + "\n")
    return "\n".join([*parts, *(_markdown_code(line) + "\n" for line in (signature, versions) if line)])


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


def to_latex(found: list[Table], signature: str, versions: str = "") -> str:
    """Write tables as LaTeX, with captions and labels. They need the LaTeX package booktabs.

    Of systems that are compared, the best score is set in bold.
    """

    def escape(text: str) -> str:
        return " ".join("".join(_LATEX.get(sign, sign) for sign in plain(text)).split())

    parts = ["% needs \\usepackage{booktabs}", *(f"% {plain(line)}" for line in (signature, versions) if line)]
    for table in found:
        best = table.best()
        header = " & ".join(["", *(escape(table.column_title(column)) for column in table.columns)])
        body = []
        for number, (name, cells) in enumerate(table.cells()):
            shown = [
                rf"\textbf{{{escape(cell)}}}" if (number, at) in best else escape(cell) for at, cell in enumerate(cells)
            ]
            body.append(" & ".join([escape(table.row_title(name)), *shown]) + r" \\")
        parts += [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escape(table.caption or table.title)}}}",
            rf"\label{{tab:{_label(table.name)}}}",
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


def _label(name: str) -> str:
    """A name for ``\\ref``: letters, digits and hyphens."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-") or "table"


# --- CSV --------------------------------------------------------------------------------------------------------------

# First characters of a text that a spreadsheet takes for a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def to_csv(found: list[Table], signature: str, versions: str = "") -> str:
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
    for name, line in (("signature", signature), ("versions", versions)):
        if line:
            writer.writerow(map(escape, [name, "", "", line]))
    return text.getvalue()
