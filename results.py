"""The result of ``compute``: a dict that notebooks show as a short table, and that becomes a table of pandas."""

from __future__ import annotations

import html
from collections.abc import Iterator
from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas

_RATES = ("precision", "recall", "f1")
# Numbers of the top level that make one row. Any other number there is a row of its own.
_HEADLINE = (*_RATES, "true_positives", "predicted", "gold")
_LAST_COLUMNS = ("value", "low", "high", "detectable_difference")
# A table with a number for each score, which `to_frame` has as a column.
_DETECTABLE = "detectable_differences"
_MOST_ROWS = 25
_LONGEST_NAME = 80
_LARGE, _TINY = 1e6, 1e-4  # numbers beyond these are written with an exponent

_Place = tuple[str, ...]  # keys of the result, from the top level down


class Result(dict[str, Any]):
    """The scores of a metric: a dict of plain Python that can show itself as a table.

    It equals a plain dict with the same items, and ``json`` writes it as one. It is pickled as a plain dict, so that a
    process without the metric can read it. ``copy.copy`` and ``copy.deepcopy`` give a `Result`.

    Examples
    --------
    >>> from spanscore.metrics.results import Result
    >>> result = Result(f1=50.0, pair={"precision": 60.0, "recall": 75.0, "f1": 66.7}, auc=0.9, signature="words")
    >>> print(result.to_frame().to_string(na_rep="-"))
              precision  recall    f1  value
    headline          -       -  50.0      -
    pair           60.0    75.0  66.7      -
    auc               -       -     -    0.9
    """

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the result as a plain dict."""
        return dict, (dict(self),)

    def __copy__(self) -> Result:
        """Return a shallow copy."""
        return Result(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Result:
        """Return a deep copy."""
        return Result(deepcopy(dict(self), memo))

    def to_frame(self) -> pandas.DataFrame:
        """Return all numbers of the result as a table of pandas.

        A component is a dict with ``precision``, ``recall`` or ``f1``. It is one row, and its numbers are in columns of
        their names. So is each label of a table of labels. Any other number is a row of its own, in the column
        ``value``.

        Returns
        -------
        pandas.DataFrame
            The index is the place in the result, with dots for nesting. The row ``headline`` has the precision, recall,
            F1 and counts of the top level. Counts are of type ``Int64``, all else is ``float64``.

            With confidence intervals, the columns ``low``, ``high`` and ``detectable_difference`` belong to ``f1`` in
            the row ``headline``, and to ``value`` in other rows. Precision and recall of the headline then have rows of
            their own too.

            Lists and components that are None are left out. A result of ``flat=True`` has one row for each name.
        """
        import pandas

        intervals = self.get("confidence_intervals") or {}
        detectable = self.get(_DETECTABLE) or {}

        def more(name: str) -> dict[str, float]:
            found = _ends(intervals.get(name))
            return found | ({"detectable_difference": detectable[name]} if detectable.get(name) is not None else {})

        rows: list[tuple[str, dict[str, Any]]] = []
        for place, figures in self._rows():
            name = ".".join(place) or "headline"
            rows.append((name, figures | more(name if place else "f1")))
            if not place:
                others = [score for score in figures if score in intervals and score != "f1"]
                rows += [(score, {"value": figures[score]} | more(score)) for score in others]
        found = dict.fromkeys(column for _, figures in rows for column in figures)
        columns = dict.fromkeys([*_RATES, *(column for column in found if column not in _LAST_COLUMNS)])
        columns |= {column: None for column in _LAST_COLUMNS if column in found}
        index = pandas.Index([name for name, _ in rows], dtype=object)
        frame = pandas.DataFrame(index=index)
        for column in columns:
            values = [figures.get(column) for _, figures in rows]
            is_score = column in (*_RATES, *_LAST_COLUMNS) or any(isinstance(value, float) for value in values)
            frame[column] = pandas.Series(values, index, "float64" if is_score else "Int64")
        return frame

    def _repr_html_(self) -> str:
        """Return the headline scores and the components as HTML, for notebooks.

        Of many components, those deep in the result are left out first. Lists are only counted.
        """
        is_flat = self._is_flat()
        scores = {name: value for name, value in self.items() if is_flat or isinstance(value, float)}
        components = [(place, figures) for place, figures in self._rows() if place and _is_component(figures)]
        components.sort(key=lambda row: len(row[0]))
        rates = [value for name, value in scores.items() if name.endswith(_RATES)]
        rates += [figures[rate] for _, figures in components for rate in _RATES if rate in figures]
        in_percent = any(rate > 1 for rate in rates)

        intervals = self.get("confidence_intervals") or {}
        score_lines = []
        for name, value in scores.items():
            score, *ends = _write([value, *(intervals.get(name) or ())], in_percent and name.endswith(_RATES))
            score_lines.append([name, score, " – ".join(ends)] if intervals else [name, score])
        component_lines = [
            [".".join(place), *(_write([figures[rate]], in_percent)[0] if rate in figures else "" for rate in _RATES)]
            for place, figures in components
        ]
        n_left = max(0, _MOST_ROWS - len(score_lines))
        n_more = max(0, len(score_lines) - _MOST_ROWS) + max(0, len(component_lines) - n_left)
        lists = [f"{name}: {_count_items(value)}" for name, value in self.items() if isinstance(value, list)]
        notes = [f"{n_more:,} more rows in to_frame()" if n_more else "", ", ".join(lists), self.get("signature", "")]
        parts = [
            _table(["score", "value", "interval"] if intervals else ["score", "value"], score_lines[:_MOST_ROWS]),
            _table(["component", *_RATES], component_lines[:n_left]),
            *(f'<p style="overflow-wrap: anywhere">{html.escape(str(note))}</p>' for note in notes if note),
        ]
        return f"<div>{''.join(parts)}</div>"

    def _is_flat(self) -> bool:
        """Whether this is a result of ``flat=True``."""
        return all(map(_is_number, self.values()))

    def _rows(self) -> list[tuple[_Place, dict[str, Any]]]:
        """The place and the numbers of each row of `to_frame`."""
        if self._is_flat():
            return [((name,), {"value": number}) for name, number in self.items()]
        return list(_walk(self, ()))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_component(figures: dict[str, Any]) -> bool:
    return any(rate in figures for rate in _RATES)


def _walk(values: dict[str, Any], place: _Place) -> Iterator[tuple[_Place, dict[str, Any]]]:
    figures = {name: value for name, value in values.items() if _is_number(value)}
    row = {name: value for name, value in figures.items() if place or name in _HEADLINE}
    if _is_component(row):
        yield place, row
    else:
        row = {}
    for name, value in values.items():
        if isinstance(value, dict) and (*place, name) != (_DETECTABLE,):
            yield from _walk(value, (*place, name))
        elif name in figures and name not in row:
            yield (*place, name), {"value": value}


def _ends(interval: list[float] | None) -> dict[str, float]:
    return dict(zip(("low", "high"), interval, strict=True)) if interval else {}


def _count_items(items: list[Any]) -> str:
    return "1 item" if len(items) == 1 else f"{len(items):,} items"


def _write(numbers: list[Any], in_percent: bool) -> list[str]:
    """Write a score, and the ends of its interval, with two decimals for percent and four for fractions."""
    decimals = 2 if in_percent or any(abs(number) > 1 for number in numbers) else 4
    written = []
    for number in numbers:
        is_extreme = number and not _TINY <= abs(number) < _LARGE
        form = "," if isinstance(number, int) else ".4g" if is_extreme else f".{decimals}f"
        written.append(format(number, form))
    return written


def _table(header: list[str], lines: list[list[str]]) -> str:
    """Write a table as HTML without colours, with names in the first column; nothing if it has no lines."""
    if not lines:
        return ""
    rows: list[str] = []
    for name, *cells in [header, *lines]:
        kind, scope = ("td", "row") if rows else ("th", "col")
        short = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
        first = f'<th scope="{scope}" style="text-align: left">{html.escape(short)}</th>'
        others = (f'<{kind} style="text-align: right">{html.escape(cell)}</{kind}>' for cell in cells)
        rows.append(f"<tr>{first}{''.join(others)}</tr>")
    return f"<table><thead>{rows[0]}</thead><tbody>{''.join(rows[1:])}</tbody></table>"
