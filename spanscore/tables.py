"""Tables of figures: of a result, of its errors, of systems that are compared, of runs.

The shape of a result decides its tables. A dict with a rate, such as ``f1``, is a row. A dict of rows is a table.
Numbers outside rows are scores if they are floats, and counts if they are integers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, NamedTuple

from spanscore.benchmarks import Benchmark

if TYPE_CHECKING:
    from spanscore.analysis import Analysis

# Names of rates in results. A dict with one of them is a row.
_RATES = ("precision", "recall", "f1", "f1-score")
_P_VALUES = ("p_value", "p_value_holm")
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
# Columns of the short table of components, where rows have them.
_SHORT_COLUMNS = ("precision", "recall", "f1", "true_positives", "predicted", "gold", "support")
_COUNTS = ("true_positives", "predicted", "gold", "support", "accuracy_support")
_SMALLEST_P = 0.0001  # p-values have four decimals
_ROUNDING = 1e-12
MARK = "*"  # after the score of a system that differs from the first one


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
    titles : dict of str to str
        Names of rows and columns in words, where these are not made from the name.
    of_labels : bool
        Whether the names of rows come from the data. They are shown as they are.
    marks : dict of (int, int) to str
        Marks after figures, by row and column.
    competing : bool
        Whether rows are systems, of which the best of each column is set in bold.
    caption : str or None
        The caption in a paper, if it is not the title.
    """

    name: str
    columns: list[str]
    rows: list[tuple[str, list[Any]]]
    heading: str | None = None
    titles: Mapping[str, str] = {}
    of_labels: bool = False
    marks: Mapping[tuple[int, int], str] = {}
    competing: bool = False
    caption: str | None = None

    def cells(self) -> list[tuple[str, list[str]]]:
        """The rows as text. P-values have four decimals.

        All scores of a row have the same number of decimals; where rows compete, all scores of a column.
        """
        made = []
        columns = list(zip(*(values for _, values in self.rows), strict=True)) if self.competing else []
        of_columns = [all(abs(value) <= 1 for value in column if isinstance(value, float)) for column in columns]
        for number, (name, values) in enumerate(self.rows):
            named = list(zip(self.columns, values, strict=True))
            scores = [abs(v) for c, v in named if isinstance(v, float) and c not in _P_VALUES]
            small = all(score <= 1 or score >= NO_SCORE for score in scores)
            decimals = of_columns or [small] * len(named)
            cells = [
                format_p(v) if c in _P_VALUES else format_figure(v, few)
                for (c, v), few in zip(named, decimals, strict=True)
            ]
            made.append((name, [cell + self.marks.get((number, at), "") for at, cell in enumerate(cells)]))
        return made

    @property
    def title(self) -> str:
        """The title of the table."""
        return spell_out(self.name) if self.heading is None else self.heading

    def row_title(self, name: str) -> str:
        """The name of a row in words. Names that come from the data stay as they are."""
        return self.titles.get(name) or (name if self.of_labels else spell_out(name))

    def column_title(self, name: str) -> str:
        """The name of a column in words."""
        return self.titles.get(name) or spell_out(name)

    def best(self) -> set[tuple[int, int]]:
        """The places of the best figure of each column, where rows compete."""
        found = set()
        for at in range(len(self.columns)) if self.competing else ():
            values = [values[at] for _, values in self.rows]
            most = max((value for value in values if isinstance(value, float)), default=None)
            found |= {(number, at) for number, value in enumerate(values) if value == most is not None}
        return found


class Summary(NamedTuple):
    """The short form of a result.

    Attributes
    ----------
    lines : list of str
        The headline score with its interval, and what goes with it.
    table : Table
        The components.
    scores : list of (str, str)
        Further scores, by name.
    """

    lines: list[str]
    table: Table
    scores: list[tuple[str, str]]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_row(value: Any) -> bool:
    """Whether a part of a result is a row: a dict of numbers, with a rate among them."""
    return (
        isinstance(value, dict)
        and any(_is_number(value.get(name)) for name in _RATES)
        and all(_is_number(item) or item is None for item in value.values())
    )


def place_in(result: Mapping[str, Any], place: str) -> Any:
    """The part of a result at a place, which has dots for nesting; None if there is none."""
    value: Any = result
    for step in place.split(".") if place else ():
        value = value.get(step) if isinstance(value, Mapping) else None
    return value


# --- the words of figures ---------------------------------------------------------------------------------------------


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


def format_p(value: Any) -> str:
    """Write a p-value with four decimals, the smallest ones as ``<0.0001``."""
    if not isinstance(value, float):
        return format_figure(value)
    return f"{value:.4f}" if value >= _SMALLEST_P else f"<{_SMALLEST_P}"


_ACRONYMS = {"f1": "F1", "auc": "AUC", "pr": "PR", "conll": "CoNLL", "muc": "MUC", "ceaf": "CEAF"}


def spell_out(name: str) -> str:
    """Write the name of a table, a row or a column in words."""
    words = name.replace("_", " ").replace(".", ", ")
    words = re.sub(rf"\b(?:{'|'.join(_ACRONYMS)})\b", lambda found: _ACRONYMS[found.group()], words)
    return words[:1].upper() + words[1:]


# --- a result ---------------------------------------------------------------------------------------------------------


def result_tables(
    result: Mapping[str, Any], benchmark: Benchmark, hidden: Collection[str] = (), complete: bool = False
) -> list[Table]:
    """Make tables of all figures of a result.

    Parameters
    ----------
    result : dict
        The result of ``compute`` of the benchmark's metric.
    benchmark : Benchmark
    hidden : collection of str
        Places of scores that say nothing on these data.
    complete : bool
        Whether rows without data are there too, and counts of wrong structure stand in the rows of their components.

    Returns
    -------
    list of Table
        First ``scores``, with the ends of their intervals if the result has intervals. Then ``counts``, and a table for
        each dict of rows.
    """
    found: list[Table] = []
    scores: list[tuple[str, list[Any]]] = []
    counts: list[tuple[str, list[Any]]] = []

    def add_rows(name: str, rows: Mapping[str, Mapping[str, Any]], prefix: str) -> None:
        rows = {key: row for key, row in rows.items() if complete or _has_data(row)}
        columns = list(dict.fromkeys(column for row in rows.values() for column in row))
        of_labels = _is_of_labels(name, benchmark)
        titles = {key: title for key in rows if (title := benchmark.words.get(f"{prefix}{key}"))}
        of_structure = [column for column in columns if "invalid_structure" in column and not complete]
        rates = [column for column in columns if column not in of_structure]
        body = [(key, [row.get(column) for column in rates]) for key, row in rows.items()]
        found.append(Table(name, rates, body, None, titles, of_labels))
        wrong = [(key, [row.get(column) for column in of_structure]) for key, row in rows.items()]
        wrong = [(key, figures) for key, figures in wrong if any(figures)]
        # A table of its own, so that the table of rates stays narrow.
        found.append(Table(f"{name}.invalid_structure", of_structure, wrong, None, titles, of_labels))

    def walk(values: Mapping[str, Any], path: str) -> None:
        prefix = f"{path}." if path else ""
        values = {key: value for key, value in values.items() if complete or prefix + key not in hidden}
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
            add_rows(path or "components", rows, prefix)
        for key, value in inner.items():
            if "matrix" in value:
                body = [(label, list(row)) for label, row in zip(value["labels"], value["matrix"], strict=True)]
                columns = [f"as {label}" for label in value["labels"]]
                found.append(Table(prefix + key, columns, body, None, dict(zip(columns, columns, strict=True)), True))
            else:
                walk(value, prefix + key)

    walk({key: value for key, value in result.items() if key not in _DETAILS}, "")
    texts = result.get("label_texts") or {}
    found = [
        table._replace(
            rows=[(f"{name} {texts[name]}" if name in texts else name, row) for name, row in table.rows],
            heading=benchmark.words.get(table.name),
        )
        for table in found
    ]
    # A threshold is no score with an interval, but a float too.
    columns = ["value", *_interval_columns(result)]
    scores = [(name, [*value, *_interval_of(result, name)]) for name, value in scores]
    top = [Table("scores", columns, scores, titles=_score_titles(scores, benchmark))]
    return [table for table in [*top, Table("counts", ["value"], counts), *found] if table.rows]


def _has_data(row: Mapping[str, Any]) -> bool:
    """Whether there is something that a row counts. A row without counts has data."""
    counts = [row[name] for name in _COUNTS if row.get(name) is not None]
    return not counts or any(counts)


def _is_of_labels(name: str, benchmark: Benchmark) -> bool:
    return any(f"{name}.".startswith(f"{place}.") for place in benchmark.label_tables) or name.endswith(".labels")


def _interval_columns(result: Mapping[str, Any]) -> list[str]:
    found = ["low", "high"] if result.get("confidence_intervals") else []
    return found + ["detectable_difference"] * bool(result.get("detectable_differences"))


def _interval_of(result: Mapping[str, Any], name: str) -> list[Any]:
    found: list[Any] = []
    if result.get("confidence_intervals"):
        found += result["confidence_intervals"].get(name) or [None, None]
    if result.get("detectable_differences"):
        found.append(result["detectable_differences"].get(name))
    return found


def _score_titles(scores: Iterable[tuple[str, Any]], benchmark: Benchmark) -> dict[str, str]:
    return {name: benchmark.words[name] for name, _ in scores if name in benchmark.words}


def short_tables(
    result: Mapping[str, Any], benchmark: Benchmark, summary: Summary, hidden: Collection[str] = ()
) -> list[Table]:
    """Make the tables of the short form for a paper: the scores of the summary, and the components."""
    place, _ = headline_of(result, benchmark.headlines)
    found = result_tables(result, benchmark, hidden)
    chosen = (place, *(name for name, _ in summary.scores))
    scores = [
        table._replace(rows=[row for row in table.rows if row[0] in chosen])
        for table in found
        if table.name == "scores"
    ]
    return [table for table in [*scores, summary.table] if table.rows]


def chosen_tables(result: Mapping[str, Any], names: Sequence[str]) -> list[Table]:
    """Make the table of chosen measures.

    Parameters
    ----------
    result : dict
    names : sequence of str
        Places in the result, with dots or slashes for nesting, such as ``f1`` or ``pair.recall``. The name of a label
        may have dots.

    Raises
    ------
    ValueError
        A name is that of no number in the result; the message names the numbers nearby.
    """
    columns = ["value", *_interval_columns(result)]
    rows = []
    for name in names:
        keys, value, rest = _follow(result, name.replace("/", "."))
        if rest or not _is_number(value):
            inside, keys = (value, keys) if isinstance(value, Mapping) else (result, [])
            known = [".".join([*keys, key]) for key, item in inside.items() if _is_number(item)]
            words = "is None on these data" if value is None and not rest else "is no measure of this result"
            raise ValueError(f"--measures: {name!r} {words}, expected such as {', '.join(known)}")
        rows.append((".".join(keys), [value, *_interval_of(result, ".".join(keys))]))
    return [Table("measures", columns, rows)]


def _follow(values: Any, place: str) -> tuple[list[str], Any, str]:
    """Follow a dotted place as far as it goes: the keys, the value there, and the rest of the place."""
    if isinstance(values, Mapping):
        # The longest key that fits: a key may have dots.
        for key in sorted(values, key=lambda key: -len(str(key))):
            if f"{place}.".startswith(f"{key}."):
                keys, value, rest = _follow(values[key], place[len(str(key)) + 1 :])
                return [key, *keys], value, rest
    return [], values, place


def summarise(result: Mapping[str, Any], benchmark: Benchmark, size: str, hidden: Collection[str] = ()) -> Summary:
    """Make the short form of a result: the headline with its interval, components, and further scores.

    Parameters
    ----------
    result : dict
    benchmark : Benchmark
    size : str
        The number of documents, in words.
    hidden : collection of str
        Places of scores that say nothing on these data.
    """
    place, value = headline_of(result, benchmark.headlines)
    small = value is None or abs(value) <= 1
    lines = [f"{place} {format_figure(value)}"]
    interval = (result.get("confidence_intervals") or {}).get(place)
    if interval is not None:
        low, high = (format_figure(end, small) for end in interval)
        found = re.search(r"confidence_level:([^|]*)", result["signature"])
        level = f"{100 * float(found[1]):g} % interval " if found else ""
        lines[0] += f" ({level}{low} to {high}, {size})"
    detectable = (result.get("detectable_differences") or {}).get(place)
    if detectable is not None:
        lines.append(
            f"A paired test on these {size} shows a difference of {format_figure(detectable, small)} (power 80 %)"
        )
    rows = {}
    for name in benchmark.components:
        row = result if not name else place_in(result, name)
        if not isinstance(row, Mapping):
            continue
        figures = {column: row[column] for column in _SHORT_COLUMNS if _is_number(row.get(column))}
        if "f1" in figures and _has_data(figures):
            rows[name.rpartition(".")[2] or benchmark.scored_item] = figures
    columns = [c for c in _SHORT_COLUMNS if any(c in row for row in rows.values())]
    body = [(name, [row.get(column) for column in columns]) for name, row in rows.items()]
    further = [
        (name, format_figure(place_in(result, name)))
        for name in benchmark.scores
        if name != place and name not in hidden and place_in(result, name) is not None
    ]
    return Summary(lines, Table("components", columns, body), further)


def headline_of(result: Mapping[str, Any], places: Iterable[str]) -> tuple[str, float | None]:
    """The first of several scores that a result has, with its place; the last place if it has none."""
    place = ""
    for place in places:
        value = place_in(result, place)
        if value is not None:
            return place, value
    return place, None


def headline_among(scores: Iterable[str], headlines: Iterable[str]) -> str:
    """The name of the headline score among scores that were compared; the first score if it is not there."""
    names = list(scores)
    return next((name for name in headlines if name in names), names[0])


def kinds_table(analysed: Analysis) -> Table:
    """Make the table of the kinds of error, with the score if all errors of a kind were corrected."""
    with_headline = any(kind.headline is not None for kind in analysed.kinds)
    score = "f1" if analysed.headline != "balanced_accuracy" else analysed.headline
    columns = ["errors", f"{score} if mended", *["score if mended"] * with_headline]
    rows = [
        (f"{kind.component}: {kind.kind}", [kind.errors, kind.mended, *([kind.headline] if with_headline else [])])
        for kind in analysed.kinds
    ]
    return Table("kinds_of_error", columns, rows)


# --- several systems, several runs ------------------------------------------------------------------------------------


def short_names(paths: Sequence[str]) -> list[str]:
    """The ends of paths that tell them apart: ``run1/result.json`` and ``run2/result.json`` of longer ones."""
    parts = [PurePath(path).parts for path in paths]
    for depth in range(1, max(map(len, parts)) + 1):
        names = ["/".join(part[-depth:]) for part in parts]
        if len(set(names)) == len(set(paths)):
            return names
    return list(paths)


def shows_difference(p_value: float, confidence_level: float) -> bool:
    """Whether a p-value is at most 1 minus the level; 1 - 0.9 is a little below 0.1."""
    return p_value <= 1 - confidence_level + _ROUNDING


def systems_table(
    names: Sequence[str], found: Sequence[Mapping[str, Mapping[str, Any]]], confidence_level: float, method: str
) -> Table:
    """Make the table with a row for each system, and a column for each score.

    A mark shows where a system differs from the first one, by the p-value after Holm's correction.

    Parameters
    ----------
    names : sequence of str
        The names of the systems.
    found : sequence of dict
        What `spanscore.comparison.compare_systems` gives: one dict for each system but the first.
    confidence_level : float
    method : str
        Of the p-values.
    """
    columns = list(found[0])
    rows: list[tuple[str, list[Any]]] = [(names[0], [found[0][column]["a"] for column in columns])]
    marks = {}
    for number, (name, scores) in enumerate(zip(names[1:], found, strict=True), start=1):
        rows.append((name, [scores[column]["b"] if column in scores else None for column in columns]))
        for at, column in enumerate(columns):
            if column in scores and shows_difference(scores[column]["p_value_holm"], confidence_level):
                marks[number, at] = MARK
    caption = (
        f"Scores of systems, the best of each column in bold. {MARK} marks a difference from {names[0]} "
        f"(paired {method}, two-sided, p up to {1 - confidence_level:.4g}"
        f"{', with the correction of Holm' if len(found) > 1 else ''})."
    )
    return Table("systems", columns, rows, None, {}, True, marks, True, caption)


def differences_table(score: str, names: Sequence[str], found: Sequence[Mapping[str, Mapping[str, Any]]]) -> Table:
    """Make the table of how each system differs from the first one in a score: a row for each system."""
    rows = {name: _difference(scores[score]) for name, scores in zip(names[1:], found, strict=True) if score in scores}
    return _differences(
        f"differences.{score}", rows, f"{spell_out(score)} minus that of {names[0]}", {"score": spell_out(score)}, True
    )


def all_differences_table(first: str, name: str, scores: Mapping[str, Mapping[str, Any]]) -> Table:
    """Make the table of how a system differs from the first one: a row for each score."""
    rows = {score: _difference(row) for score, row in scores.items()}
    return _differences(name, rows, f"{name} minus {first}", {}, False)


def _difference(one: Mapping[str, Any]) -> dict[str, Any]:
    low, high = one["interval"]
    found = {"score": one["b"], "difference": one["difference"], "low": low, "high": high}
    found |= {name: one[name] for name in _P_VALUES}
    found |= {"better": one["better"]["b"], "worse": one["better"]["a"]}
    return found | {name: one.get(name) for name in ("detectable_difference", "documents_needed")}


def _differences(
    name: str, rows: Mapping[str, Mapping[str, Any]], heading: str, titles: dict[str, str], of_systems: bool
) -> Table:
    columns = list(next(iter(rows.values()), {}))
    columns = [column for column in columns if any(row[column] is not None for row in rows.values())]
    if all(row["p_value_holm"] == row["p_value"] for row in rows.values()):
        columns.remove("p_value_holm")
    if of_systems and "detectable_difference" in columns:  # the table of all scores has it
        columns.remove("detectable_difference")
    body = [(key, [row[column] for column in columns]) for key, row in rows.items()]
    titles = {"p_value": "p", "p_value_holm": "p (Holm)", "detectable_difference": "detectable"} | titles
    return Table(name, columns, body, heading, titles, of_labels=of_systems)


def runs_table(found: Mapping[str, Any], names: Sequence[str]) -> Table:
    """Make the table with a row for each run, and rows for mean and standard deviation.

    Parameters
    ----------
    found : dict
        What `spanscore.comparison.summarise_runs` gives.
    names : sequence of str
        The names of the runs.
    """
    scores = {name: row for name, row in found.items() if isinstance(row, Mapping)}
    rows: list[tuple[str, list[Any]]] = [
        ("mean", [row["mean"] for row in scores.values()]),
        ("standard deviation", [row["standard_deviation"] for row in scores.values()]),
    ]
    rows += [(name, [row["values"][at] for row in scores.values()]) for at, name in enumerate(names)]
    if "f1_of_means" in found:
        rows.append(("F of means", [found["f1_of_means"] if name == "f1" else None for name in scores]))
    return Table("runs", list(scores), rows, None, {}, True)
