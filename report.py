"""Results as tables on a terminal, Markdown, LaTeX, CSV, and one HTML file with every document.

A result of any of the metrics becomes tables by its shape alone: a dict with F1 or recall is a row, a dict of rows is a
table, and numbers at the top are the headline.
"""

from __future__ import annotations

import csv
import io
import math
import re
from pathlib import Path
from typing import Any, NamedTuple

# Keys of a row of rates, under the names that the metrics give them.
_RATES = ("precision", "recall", "f1", "f1-score")
_P = "p_value"
_NO_SCORE = 1e6  # what is larger is a threshold without end
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
    heading : str or None
        What stands above it, if not its name.
    """

    name: str
    columns: list[str]
    rows: list[tuple[str, list[Any]]]
    heading: str | None = None

    def cells(self) -> list[tuple[str, list[str]]]:
        """The rows as text, the scores of a row alike in decimals; a p-value always has four."""
        made = []
        for name, values in self.rows:
            scores = [abs(v) for c, v in zip(self.columns, values, strict=True) if isinstance(v, float) and c != _P]
            small = all(score <= 1 or score >= _NO_SCORE for score in scores)
            cells = [shown(v, small or c == _P) for c, v in zip(self.columns, values, strict=True)]
            made.append((name, cells))
        return made

    @property
    def title(self) -> str:
        """What stands above it."""
        return title(self.name) if self.heading is None else self.heading


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
        for key, value in inner.items():
            # A row that has tables of its own: both come, one after the other.
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
    columns = ["value"]
    intervals = result.get("confidence_intervals") or {}
    if intervals:
        columns += ["low", "high"]
        scores = [(name, [*value, *(intervals.get(name) or [None, None])]) for name, value in scores]
    return [
        table for table in [Table("scores", columns, scores), Table("counts", ["value"], counts), *found] if table.rows
    ]


def shown(value: Any, small: bool | None = None) -> str:
    """A figure as tables show it: scores in percent have two decimals, those in [0, 1] (`small`) four."""
    if value is None:
        return "–"
    if isinstance(value, float):
        if not math.isfinite(value) or abs(value) >= _NO_SCORE:
            return f"{value:.4g}"
        small = abs(value) <= 1 if small is None else small
        return f"{value:.4f}" if small and value else f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def title(name: str) -> str:
    """A table's or column's name as people write it."""
    words = name.replace("_", " ").replace(".", ", ")
    words = re.sub(r"\b(?:f1|auc|pr|conll)\b", lambda found: found.group().upper(), words)
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
        drawn = RichTable(title=Text(table.title), box=box.SIMPLE_HEAD, title_justify="left", pad_edge=False)
        drawn.add_column("")
        for column in table.columns:
            drawn.add_column(Text(column.replace("_", " ")), justify="right")
        for name, cells in table.cells():
            drawn.add_row(Text(name), *map(Text, cells))
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
        for name, cells in table.cells():
            lines.append(f"| {escape(name)} | {' | '.join(map(escape, cells))} |")
        parts.append(f"### {escape(table.title)}\n\n" + "\n".join(lines) + "\n")
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


# --- errors -----------------------------------------------------------------------------------------------------------


def kinds_table(analysed: Any) -> Table:
    """The kinds of error, and what the score would be without each."""
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
    """A row's figures, with what is a pair or a dict of figures in columns of its own."""
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
    """One system against the first: a row a headline score, with difference, p-value and interval."""
    rows = {key: row for key, row in scores.items() if isinstance(row, dict) and "difference" in row}
    return _rows_table(name, rows)._replace(heading=f"a is {first}, b is {name}")


def runs_tables(found: dict[str, Any]) -> list[Table]:
    """Mean and deviation of each headline score, and what is computed from means."""
    rows = {key: {"mean": value} if _is_number(value) else value for key, value in found.items()}
    return [_rows_table("runs", rows)]


# --- HTML -------------------------------------------------------------------------------------------------------------

_TEMPLATES = Path(__file__).resolve().parent / "templates"
_STRICT, _RELAXED = "#2b6cb0", "#9fc3ea"
_WIDEST = 330
_MOST_BARS = 30
_WIDE = 5  # columns of a table that needs the page's whole width


def to_html(scored: Any, analysed: Any) -> str:
    """One file with tables, plots and every document, which needs no network.

    Parameters
    ----------
    scored : score.Scored
    analysed : analysis.Analysis

    Returns
    -------
    str
        Text from records is escaped, or is data that the page shows as text.
    """
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False}
    found = tables(scored.result)
    by_name = {table.name: table for table in found}
    tiles = []
    if "scores" in by_name:
        for (name, values), (_, cells) in zip(by_name["scores"].rows, by_name["scores"].cells(), strict=True):
            # A threshold may be any number, and what is within a table is found there.
            if abs(values[0]) < _NO_SCORE and "." not in name:
                tiles.append((title(name), cells[0], *(cells[1:] if values[-1] is not None else ()), None, None)[:4])
    kinds = kinds_table(analysed)
    text = environment.get_template("report.html").render(
        heading=f"{_HEADINGS[scored.benchmark]}{f' ({scored.task})' if scored.task else ''}",
        predictions=str(scored.predictions),
        references=str(scored.references),
        signature=scored.result["signature"],
        tiles=tiles,
        headline=title(analysed.headline),
        score=shown(analysed.score),
        kinds=[
            {
                "component": kind.component,
                "kind": kind.kind,
                "status": kind.kind if kind.kind in ("missed", "spurious") else "wrong",
                "count": shown(kind.errors),
                "figures": cells[1:],
            }
            for kind, (_, cells) in zip(analysed.kinds, kinds.cells(), strict=True)
        ],
        kind_columns=[column.replace("_", " ") for column in kinds.columns[1:]],
        charts=_charts(scored, found),
        curve=" ".join(f"{50 + 350 * recall:.1f},{280 - 270 * precision:.1f}" for recall, precision in analysed.curve),
        tables=[
            {
                "title": table.title,
                "wide": len(table.columns) > _WIDE,
                "columns": [column.replace("_", " ") for column in table.columns],
                "rows": table.cells(),
            }
            for table in found
        ],
        confusions=[_confusion(confusion) for confusion in analysed.confusions],
        known=all(document.known for document in analysed.documents),
        documents=[
            [
                document.name,
                document.tokens,
                [[item.status, item.kind, item.component, item.prediction, item.reference] for item in document.items],
            ]
            for document in analysed.documents
        ],
    )
    # Half of a surrogate pair is a character to JSON and to Python, and to no file.
    return text.encode("utf-8", "replace").decode()


_HEADINGS = {"aste": "ASTE", "docred": "DocRED", "propsegment": "PropSegmEnt", "sentivent": "SENTiVENT"}


def _confusion(confusion: Any) -> dict[str, Any]:
    """A matrix, or the pairs that are confused most where labels are many."""
    if not confusion.as_matrix:
        rows = [(gold, [_cell(predicted), _cell(shown(n))]) for gold, predicted, n in confusion.most()]
        return {"title": confusion.name, "matrix": False, "columns": ["gold", "predicted", "items"], "rows": rows}
    most = max((n for pair, n in confusion.counts.items() if pair[0] != pair[1]), default=1)
    rows = []
    for gold in confusion.labels:
        counts = [(label, confusion.counts.get((gold, label), 0)) for label in confusion.labels]
        rows.append((gold, [_cell(shown(n), gold == label, round(100 * n / most)) for label, n in counts]))
    return {"title": confusion.name, "matrix": True, "columns": ["", *confusion.labels], "rows": rows}


def _cell(text: str, same: bool = False, share: int = 0) -> dict[str, Any]:
    return {"text": text, "same": same, "share": share}


def _charts(scored: Any, found: list[Table]) -> list[dict[str, Any]]:
    """F1 by label with its support, and strict beside relaxed matching."""
    scale = 1.0 if scored.benchmark == "propsegment" else 100.0
    result = scored.result
    pairs: list[tuple[str, float, float]] = []
    if isinstance(result.get("relaxed"), dict) and "strict" in result:
        pairs = [
            (name, row["f1"], result["relaxed"][name]["f1"])
            for name, row in result["strict"].items()
            if _is_row(row) and _is_row(result["relaxed"].get(name))
        ]
    elif _is_row(result.get("relaxed")):
        pairs = [("triplet", result["f1"], result["relaxed"]["f1"])]
    elif _is_row(result.get("exact")):
        pairs = [("proposition", result["exact"]["f1"], result["f1"])]
    charts = []
    if pairs:
        caption = "F1: dark is strict matching, light is relaxed."
        rows = [(name, [(strict, _STRICT), (relaxed, _RELAXED)], "") for name, strict, relaxed in pairs]
        charts.append(_chart("Strict beside relaxed", caption, rows, scale))
    for table in found:
        score = next((name for name in ("f1", "f1-score") if name in table.columns), None)
        support = next((name for name in ("support", "gold") if name in table.columns), None)
        is_labels = "." in table.name or table.name in ("polarity", "per_relation", "per_label")
        if score is None or support is None or not is_labels or "factuality" in table.name:
            continue
        at, of = table.columns.index(score), table.columns.index(support)
        labels = [(name, values[at], values[of]) for name, values in table.rows if not name.endswith(" avg")]
        labels = sorted((row for row in labels if row[2]), key=lambda row: -row[2])
        if len(labels) > 1:
            caption = "F1, and in parentheses how many gold items there are, the most frequent first"
            caption += f" ({_MOST_BARS} of {len(labels)})." if len(labels) > _MOST_BARS else "."
            bars = [(name, [(f1, _STRICT)], f" ({shown(n)})") for name, f1, n in labels[:_MOST_BARS]]
            charts.append(_chart(f"F1: {table.name.replace('_', ' ')}", caption, bars, scale))
    return charts


def _chart(
    heading: str, caption: str, rows: list[tuple[str, list[tuple[float, str]], str]], scale: float
) -> dict[str, Any]:
    """A chart of horizontal bars; a row is its name, its bars with their colours, and what follows the figures."""
    bars, y = [], 4
    for name, parts, after in rows:
        drawn = []
        for at, (value, colour) in enumerate(parts):
            width = round(_WIDEST * (value or 0.0) / scale, 1)
            words = shown(value) + after
            drawn.append({"y": y + 14 * at, "width": width, "height": 12, "colour": colour, "words": words})
        label = name if len(name) <= 26 else name[:25] + "…"
        bars.append({"y": y, "name": name, "label": label, "parts": drawn})
        y += 14 * len(parts) + 5
    return {"title": heading, "caption": caption, "bars": bars, "height": y + 4}
