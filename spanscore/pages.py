"""HTML pages: the report of a result with every document, and systems side by side.

Each page is one file that needs no network. Text from files is escaped, or is data that the page shows as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanscore import contrasts, plots, tables
from spanscore.packages import optional_package
from spanscore.tables import Table, format_figure, format_p, is_row, spell_out

if TYPE_CHECKING:
    from spanscore.analysis import Analysis, Confusion, Document, DocumentItem, Side
    from spanscore.breakdowns import Breakdown
    from spanscore.scoring import ScoredFiles, SystemFiles

_TEMPLATES = Path(__file__).resolve().parent / "templates"
# What is told of how a result was made, where nothing is known.
_NO_RUN: dict[str, Any] = {"date": None, "command": None, "options": None, "versions": None}
_MOST_BARS = 20
_MOST_LABELS = 100  # of a heat map
_AVERAGES = ("micro", "macro", "weighted")
_WIDE = 5  # number of columns from which a table takes the whole width of the page
_MOST_ON_A_PHONE = 6  # columns; rows of wider tables are stacked there
# Titles of columns on a phone.
_SHORT = {
    "Precision": "P",
    "Recall": "R",
    "True positives": "TP",
    "Predicted": "pred.",
    "Support": "n",
    "F1 if mended": "F1",
    "Balanced accuracy if mended": "score",
    "Score if mended": "score",
}
_LEGEND = [
    ("right", "right"),
    ("missed", "missed"),
    ("spurious", "spurious"),
    ("wrong", "wrong in some respect"),
]


def check_packages() -> None:
    """Raise a MissingPackage if a package that pages need is not installed."""
    optional_package("jinja2", "reports", "report")
    plots.check_packages()


# --- the report of a result -------------------------------------------------------------------------------------------


def report_page(scored: ScoredFiles, analysed: Analysis, run: Mapping[str, Any] | None = None) -> str:
    """Write a report with tables, plots and every document.

    Parameters
    ----------
    scored : spanscore.scoring.ScoredFiles
    analysed : spanscore.analysis.Analysis
    run : dict, optional
        How the result was made: ``date``, ``command``, ``options`` and ``versions``.

    Returns
    -------
    str
        HTML.

    Raises
    ------
    spanscore.packages.MissingPackage
        jinja2 or vl-convert-python is not installed.
    """
    result, benchmark = scored.result, scored.benchmark
    hidden = scored.hidden
    summary = tables.summarise(result, benchmark, scored.size, hidden)
    found = tables.result_tables(result, benchmark, hidden)
    return _render(
        "report.html",
        heading=f"{benchmark.heading}{f' ({scored.task})' if scored.task else ''}",
        predictions=str(scored.predictions),
        references=str(scored.references),
        signature=result["signature"],
        run=_NO_RUN | dict(run or {}),
        headline=_headline(scored, analysed),
        notes=summary.lines[1:],
        tiles=[(benchmark.words.get(name) or spell_out(name), value) for name, value in summary.scores],
        kinds=_kinds(analysed),
        components=_as_dict(summary.table._replace(titles=_row_titles(summary.table, benchmark))),
        charts=_charts(scored, found, analysed),
        breakdowns=[_breakdown_chart(one, benchmark.perfect) for one in analysed.breakdowns],
        confusions=[_confusion_chart(one) for one in analysed.confusions],
        tables=[_as_dict(table) for table in [*found, tables.kinds_table(analysed)] if table.rows],
        known=all(document.known for document in analysed.documents),
        legend=_LEGEND,
        bins={bin.code: f"{one.title}: {bin.name}" for one in analysed.breakdowns for bin in one.bins},
        documents=[
            _document(document, [_item(item) for item in document.items], codes, item_codes)
            for document, codes, item_codes in zip(
                analysed.documents, analysed.document_codes, analysed.item_codes, strict=True
            )
        ],
    )


def _row_titles(table: Table, benchmark: Any) -> dict[str, str]:
    titles = {place.rpartition(".")[2]: title for place, title in benchmark.words.items()}
    return {name: titles[name] for name, _ in table.rows if name in titles} | {
        place.rpartition(".")[2]: place.rpartition(".")[2]
        for place in benchmark.components
        if any(place.startswith(f"{labels}.") for labels in benchmark.label_tables)
    }


def _headline(scored: ScoredFiles, analysed: Analysis) -> dict[str, str]:
    """The headline score in words, with its interval."""
    name, value = analysed.headline, analysed.score
    small = value is None or abs(value) <= 1
    interval = (scored.result.get("confidence_intervals") or {}).get(name)
    level = scored.options.get("confidence_level") or 0
    return {
        "name": scored.benchmark.words.get(name) or spell_out(name),
        "value": format_figure(value),
        "interval": f"{100 * level:g} % interval {format_figure(interval[0], small)} to "
        f"{format_figure(interval[1], small)}"
        if interval
        else "",
        "documents": scored.size,
    }


def _kinds(analysed: Analysis) -> dict[str, Any]:
    """The kinds of error, those first that would bring most."""
    table = tables.kinds_table(analysed)
    rows = []
    for kind, (_, cells) in zip(analysed.kinds, table.cells(), strict=True):
        best = kind.headline if kind.headline is not None else kind.mended
        gain = None if best is None or analysed.score is None else best - analysed.score
        rows.append(
            {
                "component": spell_out(kind.component),
                "kind": kind.kind.replace("_", " "),
                "status": kind.kind if kind.kind in ("missed", "spurious") else "wrong",
                "count": format_figure(kind.errors),
                "figures": cells[1:],
                "gain": "–" if gain is None else f"{gain:+.4f}" if abs(analysed.score or 0) <= 1 else f"{gain:+.2f}",
                "order": -kind.errors if gain is None else -gain,
                "link": _link(kind=kind.kind, component=kind.component if kind.component != _ALL else None),
            }
        )
    rows.sort(key=lambda row: row["order"])
    # The name of a single component says nothing.
    with_component = len({row["component"] for row in rows}) > 1
    return {
        "with_component": with_component,
        "columns": [(title, _SHORT.get(title, "")) for title in map(spell_out, table.columns)],
        "rows": rows,
    }


_ALL = "all components"


def _link(**filters: Any) -> str:
    """The part of an address after ``#`` that filters the documents."""
    from urllib.parse import urlencode

    return "?" + urlencode({name: value for name, value in filters.items() if value is not None})


def _as_dict(table: Table) -> dict[str, Any]:
    return {
        "title": table.title,
        "name": table.name,
        "wide": len(table.columns) > _WIDE,
        "stacks": len(table.columns) > _MOST_ON_A_PHONE,
        "columns": [(title, _SHORT.get(title, "")) for title in map(table.column_title, table.columns)],
        "rows": [(table.row_title(name), cells) for name, cells in table.cells()],
    }


# --- plots ------------------------------------------------------------------------------------------------------------


def _charts(scored: ScoredFiles, found: list[Table], analysed: Analysis) -> list[dict[str, Any]]:
    """Plots of strict beside relaxed matching, of F1 by label with its support, and of precision over recall."""
    benchmark, charts = scored.benchmark, []
    pairs = _strict_and_lenient(scored)
    # Components that have items in the documents.
    listed = {item.component for document in analysed.documents for item in document.items}
    if pairs:
        kinds = benchmark.strictness
        rows = [
            plots.Bar(
                spell_out(name), kind, value, format_figure(value), _link(component=name) if name in listed else ""
            )
            for name, both in pairs
            for kind, value in zip(kinds, both, strict=True)
        ]
        title = f"{kinds[0].capitalize()} beside {kinds[1]} matching"
        charts.append(_chart(title, "F1. Choose a bar to see its items.", plots.bars(rows, benchmark.perfect)))
    for table in found:
        score = next((name for name in ("f1", "f1-score") if name in table.columns), None)
        support = next((name for name in ("support", "gold") if name in table.columns), None)
        if score is None or support is None or not table.of_labels or table.name.endswith(".labels"):
            continue
        at, of = table.columns.index(score), table.columns.index(support)
        rows_of = [(name, values[at], values[of]) for name, values in table.rows if name not in _AVERAGES]
        labels = sorted((row for row in rows_of if row[2]), key=lambda row: -row[2])
        if len(labels) > 1:
            last = table.name.rpartition(".")[2]
            component = last if last in listed else None
            shown = [
                plots.Bar(
                    name, "", f1, f"{format_figure(f1)} ({format_figure(n)})", _link(label=name, component=component)
                )
                for name, f1, n in labels[:_MOST_BARS]
            ]
            caption = "F1 of each label, with its number of gold items in parentheses, the most frequent first."
            if len(labels) > _MOST_BARS:
                caption += f" The {_MOST_BARS} most frequent of {len(labels)}; all are in the tables."
            title = f"F1 by label: {spell_out(last).lower()}" if component else f"F1 {table.title.lower()}"
            charts.append(_chart(title, caption, plots.bars(shown, benchmark.perfect)))
    if analysed.curve:
        charts.append(_precision_over_recall(scored, analysed))
    return charts


def _chart(title: str, caption: str, svg: str, wide: bool = False) -> dict[str, Any]:
    return {"title": title, "caption": caption, "svg": svg, "wide": wide}


def _strict_and_lenient(scored: ScoredFiles) -> list[tuple[str, tuple[float, float]]]:
    """F1 of each component with both kinds of matching: of all components, or of the headline."""
    result, benchmark = scored.result, scored.benchmark
    strict, relaxed = result.get("strict"), result.get("relaxed")
    if isinstance(strict, Mapping) and isinstance(relaxed, Mapping):
        return [
            (name, (row["f1"], relaxed[name]["f1"]))
            for name, row in strict.items()
            if is_row(row) and is_row(relaxed.get(name)) and (row["gold"] or row["predicted"])
        ]
    if relaxed is not None and is_row(relaxed):
        return [(benchmark.scored_item, (result["f1"], relaxed["f1"]))]
    if is_row(result.get("exact")):
        return [(benchmark.scored_item, (result["exact"]["f1"], result["f1"]))]
    return []


def _precision_over_recall(scored: ScoredFiles, analysed: Analysis) -> dict[str, Any]:
    result, threshold = scored.result, scored.options.get("threshold")
    chosen = "all listed facts" if threshold is None else f"threshold {threshold}"
    marks = [plots.Mark(f"{chosen}: F1 {result['f1']:.2f}", result["recall"] / 100, result["precision"] / 100)]
    best = max(analysed.curve, key=lambda point: point[0] * point[1] / sum(point) if sum(point) else 0.0)
    if result.get("best_f1") is not None and result["best_f1"] - result["f1"] > 1e-9:
        at = result.get("best_threshold")
        where = "" if at is None or abs(at) >= tables.NO_SCORE else f" at {at:.4g}"
        marks.append(plots.Mark(f"best F1 {result['best_f1']:.2f}{where}", *best))
    svg = plots.curve(analysed.curve, marks, "recall", "precision")
    return _chart("Precision over recall", "Over all facts that have a score, whatever the threshold.", svg)


def _breakdown_chart(one: Breakdown, perfect: float) -> dict[str, Any]:
    rows = []
    for bin in one.bins:
        score = perfect * one.score(bin)
        n = max(bin.gold, bin.predicted) if one.measure != "recall" else bin.gold
        rows.append(plots.Bar(bin.name, "", score, f"{format_figure(score)} ({n:,})", _link(bin=bin.code)))
    measure = one.measure[:1].upper() + one.measure[1:]
    caption = f"{measure} of the items in each bin, pooled, with their number in parentheses. Choose a bar to see them."
    return _chart(one.title, caption, plots.bars(rows, perfect))


def _confusion_chart(confusion: Confusion) -> dict[str, Any]:
    """A heat map of gold and predicted labels, of the labels that are confused most."""
    wrong = {pair: n for pair, n in confusion.counts.items() if pair[0] != pair[1]}
    labels = confusion.labels[:_MOST_LABELS]
    totals: dict[str, int] = {}
    for (gold, _), n in confusion.counts.items():
        totals[gold] = totals.get(gold, 0) + n
    cells = []
    for (gold, predicted), n in confusion.counts.items():
        if gold not in labels or predicted not in labels:
            continue
        share = n / totals[gold]
        words = f"{n:,} of {totals[gold]:,} {gold} ({100 * share:.0f} %)"
        words += " right" if gold == predicted else f" taken for {predicted}"
        link = _link(component=confusion.component, gold=gold, predicted=predicted)
        cells.append(plots.Cell(gold, predicted, share, gold == predicted, f"{n:,}\n{100 * share:.0f} %", words, link))
    most = sorted(wrong.items(), key=lambda pair: (-pair[1], pair[0]))[:_MOST_BARS]
    caption = (
        "Gold labels in rows, predicted labels in columns, of items that are right or aligned with the gold item. "
    )
    caption += "The colour is the share of the gold label."
    if len(confusion.labels) > len(labels):
        caption += f" The {len(labels)} most frequent of {len(confusion.labels)} labels."
    return {
        **_chart(confusion.name, caption, plots.heat_map(cells, labels, labels), True),
        # A small map says the same.
        "most": []
        if len(labels) <= plots.SMALL
        else [
            (
                gold,
                predicted,
                format_figure(n),
                f"{100 * n / totals[gold]:.1f} %",
                _link(component=confusion.component, gold=gold, predicted=predicted),
            )
            for (gold, predicted), n in most
        ],
    }


# --- documents --------------------------------------------------------------------------------------------------------


def _document(
    document: Document, items: list[list[Any]], codes: Iterable[int] = (), item_codes: Sequence[Iterable[int]] = ()
) -> list[Any]:
    """A document for the script of the page: name, tokens, items, codes of bins, and parts of the text."""
    for item, of_item in zip(items, item_codes, strict=False):
        item.append(list(of_item))
    return [document.name, document.tokens, items, list(codes), document.parts]


def _item(item: DocumentItem) -> list[Any]:
    """An item: status, kind, component, predictions (each a name and a side), gold side, number of unreadable texts."""
    predictions = [] if item.prediction is None else [["", _side(item.prediction)]]
    return [item.status, item.kind, item.component, predictions, _side(item.reference), item.number]


def _side(side: Side | None) -> list[Any] | None:
    return None if side is None else [side.spans, side.texts, side.labels]


# --- several systems --------------------------------------------------------------------------------------------------


def comparison_page(
    systems: SystemFiles,
    found: Sequence[Mapping[str, Any]],
    settings: Mapping[str, Any],
    signature: str,
    run: Mapping[str, Any] | None = None,
    names: Sequence[str] | None = None,
) -> str:
    """Write a page with systems side by side: their scores, and every document with what each gets right.

    Parameters
    ----------
    systems : spanscore.scoring.SystemFiles
    found : sequence of dict
        For each system but the first, what `spanscore.comparison.compare_systems` gives.
    settings : dict
        The method, the numbers and the seed of the comparison; ``method`` and ``confidence_level`` are among them.
    signature : str
    run : dict, optional
        As for `report_page`.
    names : sequence of str, optional
        The names of the systems, by default those of their files.

    Returns
    -------
    str
        HTML.
    """
    benchmark, found = systems.benchmark, systems.shown(found)
    names = tables.short_names([file.path for file in systems.predictions]) if names is None else names
    shown = [_isolated(name) for name in names]
    level = settings["confidence_level"]
    headline = tables.headline_among(found[0], benchmark.headlines)
    listed = [tables.systems_table(shown, found, level, settings["method"])]
    listed += [
        tables.all_differences_table(shown[0], name, scores) for name, scores in zip(shown[1:], found, strict=True)
    ]
    documents = contrasts.contrast(systems, names)
    return _render(
        "comparison.html",
        heading=f"{benchmark.heading}{f' ({systems.task})' if systems.task else ''}",
        references=str(systems.references),
        files=[str(file) for file in systems.predictions],
        signature=signature,
        run=_NO_RUN | dict(run or {}),
        verdicts=[
            verdict(shown[0], name, headline, scores[headline], level)
            for name, scores in zip(shown[1:], found, strict=True)
            if headline in scores
        ],
        systems=_as_dict(listed[0]) | {"caption": listed[0].caption},
        tables=[_as_dict(table) for table in listed[1:]],
        bootstrap=settings["method"] == "bootstrap",
        known=all(document.known for document, _ in documents),
        legend=contrasts.LEGEND,
        bins={},
        documents=[
            _document(
                document,
                [
                    [
                        item.status,
                        item.kind,
                        item.component,
                        [[name, _side(side)] for name, side in item.predictions],
                        _side(item.reference),
                        item.number,
                        [],
                    ]
                    for item in items
                ],
            )
            for document, items in documents
        ],
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
        A p-value of at most 1 minus this level, after Holm's correction, shows a difference.
    """
    a, b, difference, p_value = (found[key] for key in ("a", "b", "difference", "p_value"))
    corrected = found.get("p_value_holm", p_value)
    small = max(abs(a), abs(b)) <= 1
    low, high = (format_figure(end, small) for end in found["interval"])
    scores = f"{spell_out(name)} is {format_figure(a, small)} for {first} and {format_figure(b, small)} for {second}. "
    p_words = _p_words("p", p_value) + (
        "" if corrected == p_value else f", {_p_words('with the correction of Holm', corrected)}"
    )
    interval = f"{100 * confidence_level:g} % interval {low} to {high}, {p_words}"
    scores += f"The difference is {format_figure(difference, small)} ({interval}). "
    if tables.shows_difference(corrected, confidence_level):
        return scores + f"The test shows that {second if difference > 0 else first} is better."
    scores += "The test does not show that one of them is better."
    if found.get("documents_needed"):
        scores += f" About {found['documents_needed']:,} documents would be needed to show such a difference."
    return scores


def _p_words(name: str, value: float) -> str:
    words = format_p(value)
    return f"{name} {words[0]} {words[1:]}" if words.startswith("<") else f"{name} = {words}"


def _render(template: str, **values: Any) -> str:
    jinja2 = optional_package("jinja2", "reports", "report")
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_TEMPLATES), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {"sort_keys": False, "separators": (",", ":")}
    text = environment.get_template(template).render(**values)
    # JSON and Python strings may hold half of a surrogate pair, and UTF-8 may not.
    return str(text).encode("utf-8", "replace").decode()
