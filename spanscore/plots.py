"""Plots as SVG, drawn by Vega-Lite: bars, a curve, a heat map.

The colours are variables of the page's style, so that a plot follows light and dark. A mark may be a link that filters
the documents of the page. Each mark has its words, for screen readers and for the pointer.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from spanscore.packages import optional_package

_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
# vl-convert puts an address before links inside the page, and makes links of marks without one too.
_BASE = re.compile(r'xlink:href="[^"#]*#')
_CLIP = re.compile(r"\bclip\d+\b")
_NO_LINK = re.compile(r'<a xlink:href="[^"#]*">(.*?)</a>')
_CONFIG = {
    "background": None,
    "font": "system-ui, DejaVu Sans, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--ink)",
        "titleColor": "var(--soft)",
        "gridColor": "var(--line)",
        "domainColor": "var(--soft)",
        "tickColor": "var(--soft)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 170,
    },
    "legend": {"labelColor": "var(--ink)", "titleColor": "var(--soft)", "labelFontSize": 12, "orient": "top"},
}
_BAR = 18  # pixels of height
_LENGTH = 190  # pixels of the longest bar
_CELL = 22
_SMALL_CELL = 13
_MIDDLE = 0.5
SMALL = 14  # labels up to which the cells of a heat map have room for a number


class Bar(NamedTuple):
    """A bar of a plot.

    Attributes
    ----------
    name : str
        Of the row. Bars of one name stand below each other.
    series : str
        The kind of bar, in the legend. Empty if there is one kind.
    value : float
    words : str
        Behind the bar.
    link : str
        The part of the address after ``#``. Empty if the bar is no link.
    """

    name: str
    series: str
    value: float
    words: str
    link: str = ""


class Mark(NamedTuple):
    """A point on a curve, with its name."""

    name: str
    x: float
    y: float


class Cell(NamedTuple):
    """A cell of a heat map.

    Attributes
    ----------
    row, column : str
    share : float
        In [0, 1].
    is_right : bool
        Whether the labels are the same.
    text : str
        In the cell, where there is room.
    words : str
        What the cell says, in a sentence.
    link : str
    """

    row: str
    column: str
    share: float
    is_right: bool
    text: str
    words: str
    link: str


def check_packages() -> None:
    """Raise a MissingPackage if the library of plots is not installed."""
    optional_package("vl_convert", "reports", "report")


def bars(rows: Sequence[Bar], largest: float) -> str:
    """Draw horizontal bars, in the given order.

    Parameters
    ----------
    rows : sequence of Bar
    largest : float
        The value of the longest bar that there could be.

    Returns
    -------
    str
        SVG.
    """
    series = list(dict.fromkeys(row.series for row in rows))
    values = [
        {
            "name": row.name,
            "series": row.series,
            "value": row.value,
            "words": row.words,
            "about": f"{row.name}{f', {row.series}' if row.series else ''}: {row.words}",
            **({"link": f"#{row.link}"} if row.link else {}),
        }
        for row in rows
    ]
    y: dict[str, Any] = {
        "field": "name",
        "type": "nominal",
        "sort": None,
        "axis": {"title": None, "ticks": False, "domain": False, "labelPadding": 6},
        "scale": {"paddingInner": 0.2, "paddingOuter": 0.1},
    }
    shared: dict[str, Any] = {"y": y, "yOffset": {"field": "series", "sort": series}} if len(series) > 1 else {"y": y}
    x = {
        "field": "value",
        "type": "quantitative",
        "scale": {"domain": [0, largest]},
        "axis": None,
    }
    colours = ["var(--strict)", "var(--relaxed)"]
    colour: dict[str, Any] = {"value": colours[0]}
    if len(series) > 1:
        colour = {
            "field": "series",
            "type": "nominal",
            "sort": series,
            "scale": {"domain": series, "range": colours[: len(series)]},
            "legend": {"title": None},
        }
    bar = {
        "mark": {"type": "bar", "cornerRadiusEnd": 2},
        "encoding": {**shared, "x": x, "color": colour, "href": {"field": "link"}, "description": {"field": "about"}},
    }
    words = {
        "mark": {"type": "text", "align": "left", "dx": 4, "color": "var(--ink)", "fontSize": 12, "aria": False},
        "encoding": {**shared, "x": x, "text": {"field": "words"}},
    }
    step = {"step": _BAR} if len(series) == 1 else {"step": _BAR * 0.8, "for": "offset"}
    return _draw({"data": {"values": values}, "width": _LENGTH, "height": step, "layer": [bar, words]})


def curve(points: Sequence[tuple[float, float]], marks: Sequence[Mark], x_title: str, y_title: str) -> str:
    """Draw a curve through points in the unit square, with marks.

    Returns
    -------
    str
        SVG.
    """
    scale = {"domain": [0, 1]}
    x = {"field": "x", "type": "quantitative", "scale": scale, "axis": {"title": x_title, "tickCount": 5}}
    y = {"field": "y", "type": "quantitative", "scale": scale, "axis": {"title": y_title, "tickCount": 5}}
    line = {
        "data": {"values": [{"x": a, "y": b, "at": at} for at, (a, b) in enumerate(points)]},
        "mark": {"type": "line", "color": "var(--strict)", "strokeWidth": 2},
        "encoding": {"x": x, "y": y, "order": {"field": "at"}, "description": {"value": f"{y_title} over {x_title}"}},
    }
    named = {
        "values": [
            {"x": mark.x, "y": mark.y, "name": mark.name, "about": f"{mark.name}: {x_title} {mark.x:.2f}, {y_title} "
             f"{mark.y:.2f}"}
            for mark in marks
        ]
    }  # fmt: skip
    dots = {
        "data": named,
        "mark": {"type": "point", "filled": True, "size": 80, "color": "var(--guess)", "opacity": 1},
        "encoding": {"x": x, "y": y, "description": {"field": "about"}},
    }
    layers: list[dict[str, Any]] = [line, dots]
    for at, mark in enumerate(marks):
        # Names of marks that are near each other stand above and below.
        is_left = mark.x < _MIDDLE
        text = {"type": "text", "align": "left" if is_left else "right", "dx": 8 if is_left else -8}
        text |= {"dy": 18 if at % 2 else -12, "color": "var(--ink)", "fontSize": 12, "aria": False}
        layers.append(
            {
                "data": {"values": [named["values"][at]]},
                "mark": text,
                "encoding": {"x": x, "y": y, "text": {"field": "name"}},
            }
        )
    return _draw({"width": 300, "height": 260, "layer": layers})


def heat_map(cells: Sequence[Cell], rows: Sequence[str], columns: Sequence[str]) -> str:
    """Draw a heat map. The more a cell has of its row, the stronger its colour.

    Parameters
    ----------
    cells : sequence of Cell
        Those with a count.
    rows, columns : sequence of str
        The names, in their order: gold labels, and predicted labels.

    Returns
    -------
    str
        SVG.
    """
    is_small = max(len(rows), len(columns)) <= SMALL
    size = 2 * _CELL if is_small else _SMALL_CELL
    values = [{**cell._asdict(), "link": f"#{cell.link}"} for cell in cells]
    axis = {"title": "gold", "ticks": False, "domain": False}
    place = {
        "y": {"field": "row", "type": "nominal", "scale": {"domain": list(rows)}, "axis": axis},
        "x": {
            "field": "column",
            "type": "nominal",
            "scale": {"domain": list(columns)},
            "axis": {**axis, "title": "predicted", "orient": "top", "labelAngle": -90 if not is_small else -40},
        },
    }
    square = {
        "mark": {"type": "rect", "stroke": "var(--line)"},
        "encoding": {
            **place,
            "color": {"condition": {"test": "datum.is_right", "value": "var(--right)"}, "value": "var(--heat)"},
            # Even a rare confusion can be seen.
            "fillOpacity": {
                "field": "share",
                "type": "quantitative",
                "scale": {"type": "sqrt", "domain": [0, 1], "range": [0.15, 0.9]},
                "legend": None,
            },
            "href": {"field": "link"},
            "description": {"field": "words"},
        },
    }
    layers: list[dict[str, Any]] = [square]
    if is_small:
        text = {"type": "text", "color": "var(--ink)", "fontSize": 11, "aria": False, "lineBreak": "\n", "dy": -6}
        layers.append({"mark": text, "encoding": {**place, "text": {"field": "text"}}})
    steps = {"width": {"step": size}, "height": {"step": size * 0.75 if is_small else size}}
    return _draw({"data": {"values": values}, **steps, "layer": layers})


def _draw(spec: dict[str, Any]) -> str:
    converter = optional_package("vl_convert", "reports", "report")
    drawn = converter.vegalite_to_svg({"$schema": _SCHEMA, "config": _CONFIG, **spec})
    drawn = _NO_LINK.sub(r"\1", _BASE.sub('href="#', drawn))
    # The library numbers clips over all plots of a process. Here their names depend on the plot alone.
    numbers = {name: at for at, name in enumerate(dict.fromkeys(_CLIP.findall(drawn)))}
    digest = hashlib.sha1(json.dumps(spec).encode()).hexdigest()[:12]
    drawn = _CLIP.sub(lambda found: f"clip-{digest}-{numbers[found.group()]}", drawn)
    return (
        str(drawn)
        .replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "")
        .replace(' xmlns="http://www.w3.org/2000/svg"', "")
    )
