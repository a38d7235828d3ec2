"""HTML pages: the report of a result, with every document, and the comparison of systems.

Each page is one file that needs no network. Text from files is escaped, or is data that the page shows as text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanscore.packages import optional_package
from spanscore.reports import (
    NO_SCORE,
    Table,
    comparison_table,
    format_figure,
    is_row,
    kinds_table,
    result_tables,
    spell_out,
)

if TYPE_CHECKING:
    from spanscore.analysis import Analysis, Confusion
    from spanscore.scoring import ScoredFiles

_TEMPLATES = Path(__file__).resolve().parent / "templates"
_STRICT, _RELAXED = "strict", "relaxed"  # classes of bars, which have a colour in the style of the page
_WIDEST = 330  # length of the longest bar, in pixels
_MOST_BARS = 30
_SMALLEST_P = 0.0001  # p-values have four decimals
_WIDE = 5  # number of columns from which a table takes the whole width of the page


def report_page(scored: ScoredFiles, analysed: Analysis) -> str:
    """Write a report with tables, charts and every document.

    Parameters
    ----------
    scored : spanscore.scoring.ScoredFiles
    analysed : spanscore.analysis.Analysis

    Returns
    -------
    str
        HTML.

    Raises
    ------
    spanscore.packages.MissingPackage
        jinja2 is not installed.
    """
    found = result_tables(scored.result)
    by_name = {table.name: table for table in found}
    tiles = []
    if "scores" in by_name:
        for (name, values), (_, cells) in zip(by_name["scores"].rows, by_name["scores"].cells(), strict=True):
            # A threshold is no score, and figures inside tables have no tile.
            if abs(values[0]) < NO_SCORE and "." not in name:
                ends = cells[1:] if values[-1] is not None else []
                tiles.append((spell_out(name), cells[0], *ends, None, None)[:4])
    kinds = kinds_table(analysed)
    return _render(
        "report.html",
        heading=f"{scored.benchmark.heading}{f' ({scored.task})' if scored.task else ''}",
        predictions=str(scored.predictions),
        references=str(scored.references),
        signature=scored.result["signature"],
        tiles=tiles,
        headline=spell_out(analysed.headline),
        score=format_figure(analysed.score),
        kinds=[
            {
                "component": kind.component,
                "kind": kind.kind,
                "status": kind.kind if kind.kind in ("missed", "spurious") else "wrong",
                "count": format_figure(kind.errors),
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
                document.items,
            ]
            for document in analysed.documents
        ],
    )


def comparison_page(
    heading: str,
    references: str,
    comparisons: Sequence[Mapping[str, Any]],
    settings: Mapping[str, Any],
    headlines: Sequence[str],
) -> str:
    """Write a page on systems that are compared with the first of them.

    Parameters
    ----------
    heading : str
        The name of the benchmark.
    references : str
        The name of the file of references.
    comparisons : sequence of dict
        For each system but the first: ``system_a`` and ``system_b``, the names of the files, and ``scores``, as
        `spanscore.comparison.compare_systems` gives them.
    settings : dict
        The method, the numbers and the seed of the comparison; ``method`` and ``confidence_level`` are among them.
    headlines : sequence of str
        Names of the headline score. The first that was compared counts.

    Returns
    -------
    str
        HTML.
    """
    shown = []
    for one in comparisons:
        first, second, scores = _isolated(one["system_a"]), _isolated(one["system_b"]), one["scores"]
        name = next((name for name in headlines if name in scores), next(iter(scores)))
        table = comparison_table(first, second, scores)
        shown.append(
            {
                "first": first,
                "second": second,
                "verdict": verdict(first, second, name, scores[name], settings["confidence_level"]),
                "columns": [column.replace("_", " ") for column in table.columns],
                "rows": table.cells(),
            }
        )
    words = "|".join(f"{name}:{value}" for name, value in settings.items())
    return _render(
        "comparison.html",
        heading=heading,
        references=references,
        comparisons=shown,
        settings=words,
        bootstrap=settings["method"] == "bootstrap",
    )


def _isolated(name: str) -> str:
    """A name between marks, so that its direction does not change that of the words around it."""
    return f"\u2068{name}\u2069"


def verdict(first: str, second: str, name: str, found: Mapping[str, Any], confidence_level: float) -> str:
    """Say in a sentence or two which of two systems is better, by how much, and whether that may be chance.

    Parameters
    ----------
    first, second : str
        The names of the systems.
    name : str
        The name of the score.
    found : dict
        What `spanscore.comparison.compare_systems` gives for this score.
    confidence_level : float
        A p-value of at most 1 minus this level shows a difference.
    """
    a, b, difference, p_value = (found[key] for key in ("a", "b", "difference", "p_value"))
    small = max(abs(a), abs(b)) <= 1
    low, high = (format_figure(end, small) for end in found["interval"])
    scores = f"{spell_out(name)} is {format_figure(a, small)} for {first} and {format_figure(b, small)} for {second}. "
    # No p-value is shown as 0.
    p_words = f"p = {p_value:.4f}" if p_value >= _SMALLEST_P else f"p < {_SMALLEST_P}"
    interval = f"{100 * confidence_level:g} % interval {low} to {high}, {p_words}"
    scores += f"The difference is {format_figure(difference, small)} ({interval}). "
    if p_value <= 1 - confidence_level:
        return scores + f"The test shows that {second if difference > 0 else first} is better."
    return scores + "The test does not show that one of them is better."


def _render(template: str, **values: Any) -> str:
    jinja2 = optional_package("jinja2", "reports", "report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False}
    text = environment.get_template(template).render(**values)
    # JSON and Python strings may hold half of a surrogate pair, and UTF-8 may not.
    return str(text).encode("utf-8", "replace").decode()


def _confusion(confusion: Confusion) -> dict[str, Any]:
    """A matrix, or the most frequent pairs of confused labels if there are many labels."""
    if not confusion.as_matrix:
        rows = [(gold, [_cell(predicted), _cell(format_figure(n))]) for gold, predicted, n in confusion.most()]
        return {"title": confusion.name, "matrix": False, "columns": ["gold", "predicted", "items"], "rows": rows}
    most = max((n for pair, n in confusion.counts.items() if pair[0] != pair[1]), default=1)
    rows = []
    for gold in confusion.labels:
        counts = [(label, confusion.counts.get((gold, label), 0)) for label in confusion.labels]
        rows.append((gold, [_cell(format_figure(n), gold == label, round(100 * n / most)) for label, n in counts]))
    return {"title": confusion.name, "matrix": True, "columns": ["gold", *confusion.labels], "rows": rows}


def _cell(text: str, same: bool = False, share: int = 0) -> dict[str, Any]:
    return {"text": text, "same": same, "share": share}


def _charts(scored: ScoredFiles, found: list[Table]) -> list[dict[str, Any]]:
    """Charts of F1 by label with its support, and of strict and relaxed matching."""
    scale = scored.benchmark.perfect
    result = scored.result
    pairs: list[tuple[str, float, float]] = []
    if isinstance(result.get("relaxed"), dict) and "strict" in result:
        pairs = [
            (name, row["f1"], result["relaxed"][name]["f1"])
            for name, row in result["strict"].items()
            if is_row(row) and is_row(result["relaxed"].get(name))
        ]
    elif is_row(result.get("relaxed")):
        pairs = [(scored.benchmark.scored_item, result["f1"], result["relaxed"]["f1"])]
    elif is_row(result.get("exact")):
        pairs = [(scored.benchmark.scored_item, result["exact"]["f1"], result["f1"])]
    charts = []
    if pairs:
        caption = "F1: the upper bar is strict matching, the lower one is relaxed."
        rows = [(name, [(strict, _STRICT), (relaxed, _RELAXED)], "") for name, strict, relaxed in pairs]
        charts.append(_chart("Strict beside relaxed", caption, rows, scale))
    for table in found:
        score = next((name for name in ("f1", "f1-score") if name in table.columns), None)
        support = next((name for name in ("support", "gold") if name in table.columns), None)
        is_labels = any(f"{table.name}.".startswith(f"{name}.") for name in scored.benchmark.label_tables)
        if score is None or support is None or not is_labels:
            continue
        at, of = table.columns.index(score), table.columns.index(support)
        labels = [(name, values[at], values[of]) for name, values in table.rows if not name.endswith(" avg")]
        labels = sorted((row for row in labels if row[2]), key=lambda row: -row[2])
        if len(labels) > 1:
            caption = "F1, with the number of gold items in parentheses, the most frequent first"
            caption += f" ({_MOST_BARS} of {len(labels)})." if len(labels) > _MOST_BARS else "."
            bars = [(name, [(f1, _STRICT)], f" ({format_figure(n)})") for name, f1, n in labels[:_MOST_BARS]]
            charts.append(_chart(f"F1: {table.name.replace('_', ' ')}", caption, bars, scale))
    return charts


def _chart(
    heading: str, caption: str, rows: list[tuple[str, list[tuple[float, str]], str]], scale: float
) -> dict[str, Any]:
    """A chart of horizontal bars. A row has a name, figures with the kinds of their bars, and words after them."""
    bars, y = [], 4
    for name, parts, after in rows:
        drawn = []
        for at, (value, kind) in enumerate(parts):
            width = round(_WIDEST * (value or 0.0) / scale, 1)
            words = format_figure(value) + after
            drawn.append({"y": y + 14 * at, "width": width, "height": 12, "kind": kind, "words": words})
        label = name if len(name) <= 26 else name[:25] + "…"
        bars.append({"y": y, "name": name, "label": label, "parts": drawn})
        y += 14 * len(parts) + 5
    return {"title": heading, "caption": caption, "bars": bars, "height": y + 4}
