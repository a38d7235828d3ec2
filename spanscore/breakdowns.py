"""Scores by what makes items hard: length, distance, number, frequency of the label, facts seen in training.

A breakdown sorts documents, or items, into a few bins, and scores each bin by its own counts. So each item can be found
again by its bin.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from spanscore.benchmarks import Benchmark
from spanscore.metrics.errors import RIGHT

if TYPE_CHECKING:
    from spanscore.analysis import Document, DocumentItem, Side

_MOST_BINS = 5
_CODES = 100  # a code is this times the number of the breakdown, plus the number of the bin
_FEWEST_LABELS = 8  # with fewer labels, the table of labels says more than their frequencies
_SEEN = "Seen in training"
_FEWEST_ITEMS = 4  # in each bin, on average


class Bin(NamedTuple):
    """The items, or the items of the documents, of one bin.

    Attributes
    ----------
    name : str
        The values in it, such as ``"3 to 5"``.
    code : int
        Each of its items or documents has this code.
    right_predicted, predicted, right_gold, gold : int
        Items of the predictions, and of the references.
    """

    name: str
    code: int
    right_predicted: int
    predicted: int
    right_gold: int
    gold: int

    @property
    def f1(self) -> float:
        """F1 of the counts, in [0, 1]."""
        precision = self.right_predicted / self.predicted if self.predicted else 0.0
        total = precision + self.recall
        return 2 * precision * self.recall / total if total else 0.0

    @property
    def recall(self) -> float:
        """Recall of the counts, in [0, 1]."""
        return self.right_gold / self.gold if self.gold else 0.0


class Breakdown(NamedTuple):
    """The bins of one property.

    Attributes
    ----------
    title : str
        The property.
    measure : {"F1", "accuracy", "recall"}
        The score of a bin. Of predictions that are wrong, it is not known whether they are seen in training, so facts
        seen in training have recall alone.
    bins : list of Bin
        In the order of the values.
    """

    title: str
    measure: str
    bins: list[Bin]

    def score(self, bin: Bin) -> float:
        """The score of a bin, in [0, 1]."""
        return bin.recall if self.measure == "recall" else bin.f1


# From a part of the data to its value; None puts it into no bin.
_OfDocument = Callable[["Document"], int | None]
_OfSide = Callable[["Side"], Any]


def break_down(
    documents: Sequence[Document], benchmark: Benchmark, word: str = "document", measure: str = "F1"
) -> tuple[list[Breakdown], list[tuple[int, ...]], list[list[tuple[int, ...]]]]:
    """Score the items of documents by their properties.

    Properties with a single value on these data are left out.

    Parameters
    ----------
    documents : sequence of spanscore.analysis.Document
    benchmark : Benchmark
    word : str
        The word for a document.
    measure : {"F1", "accuracy"}
        The name of the score. With one predicted and one gold label a document, F1 is accuracy.

    Returns
    -------
    breakdowns : list of Breakdown
    of_documents : list of tuple of int
        The codes of each document.
    of_items : list of list of tuple of int
        The codes of each item of each document.
    """
    found: list[Breakdown] = []
    of_documents: list[list[int]] = [[] for _ in documents]
    of_items: list[list[list[int]]] = [[[] for _ in document.items] for document in documents]

    def count(document: Document) -> int:
        return sum(item.reference is not None for item in document.items)

    def length(document: Document) -> int | None:
        return len(document.tokens) if document.known and document.tokens else None

    per_document: list[tuple[str, _OfDocument]] = [
        (f"Length of the {word}, in tokens", length),
        (f"Gold items in the {word}", count),
    ]
    for title, property_of in per_document:
        values = [property_of(document) for document in documents]
        names = _bins([value for value in values if value is not None])
        if names is None:
            continue
        counts: dict[int, Counter[str]] = {}
        for at, (document, value) in enumerate(zip(documents, values, strict=True)):
            if value is not None:
                number = names.number(value)
                of_documents[at].append(_CODES * len(found) + number)
                for item in document.items:
                    _count(counts.setdefault(number, Counter()), item, True, True)
        found.append(_breakdown(title, measure, len(found), names, counts))

    frequency = _label_frequencies(documents)
    per_item: list[tuple[str, _OfSide]] = [
        ("Length of the longest span, in tokens", lambda side: _longest(side, benchmark)),
        ("Pieces of the most scattered span", lambda side: _pieces(side, benchmark)),
        ("Tokens between the parts of an item", _distance),
        ("Gold items with the same label", lambda side: _frequency(side, frequency)),
        (_SEEN, lambda side: side.seen),
    ]
    for title, value_of in per_item:
        sides = [
            (value_of(side), item, at, place, side is item.prediction)
            for at, document in enumerate(documents)
            for place, item in enumerate(document.items)
            for side in _sides(item)
        ]
        sides = [side for side in sides if side[0] is not None]
        names = _bins([side[0] for side in sides])
        if names is None:
            continue
        counts = {}
        for value, item, at, place, is_predicted in sides:
            number = names.number(value)
            code = _CODES * len(found) + number
            if code not in of_items[at][place]:
                of_items[at][place].append(code)
            # A right item is shown by its gold side alone, and counts on both sides.
            is_right = item.status == RIGHT
            _count(counts.setdefault(number, Counter()), item, is_predicted or is_right, not is_predicted)
        shown = "recall" if title == _SEEN else measure
        found.append(_breakdown(title, shown, len(found), names, counts))
    return found, [tuple(codes) for codes in of_documents], [[tuple(c) for c in items] for items in of_items]


def _sides(item: DocumentItem) -> list[Side]:
    return [side for side in (item.reference, item.prediction) if side is not None]


def _count(counts: Counter[str], item: DocumentItem, as_predicted: bool, as_gold: bool) -> None:
    """Count an item on one side, or on both."""
    is_right = item.status == RIGHT
    # Text that could not be read is predicted, and has no sides.
    n_predicted = item.number or int(is_right or item.prediction is not None)
    if as_predicted:
        counts["predicted"] += n_predicted
        counts["right_predicted"] += is_right
    if as_gold and item.reference is not None:
        counts["gold"] += 1
        counts["right_gold"] += is_right


class _Names:
    """Bins of whole numbers, or of yes and no."""

    def __init__(self, starts: list[int], largest: int) -> None:
        self.starts, self.largest = starts, largest

    def number(self, value: int) -> int:
        """The number of the bin of a value."""
        return sum(value >= start for start in self.starts) - 1

    def name(self, number: int) -> str:
        """The values of a bin in words."""
        start = self.starts[number]
        end = self.starts[number + 1] - 1 if number + 1 < len(self.starts) else self.largest
        return f"{start:,}" if start == end else f"{start:,} to {end:,}"


class _Flags(_Names):
    def name(self, number: int) -> str:
        return ("unseen", "seen")[number]


def _bins(values: list[Any]) -> _Names | None:
    """Bins with about as many values each; None if there is a single one."""
    kinds = set(values)
    if len(kinds) < 2 or len(values) < 2 * _FEWEST_ITEMS:
        return None
    if kinds == {False, True}:
        return _Flags([0, 1], 1)
    ordered = sorted(values)
    n_bins = min(_MOST_BINS, len(kinds), max(2, len(values) // _FEWEST_ITEMS))
    starts = sorted({ordered[0], *(ordered[len(ordered) * at // n_bins] for at in range(1, n_bins))})
    if len(starts) == 1:  # most values are the smallest one
        starts.append(min(value for value in kinds if value > starts[0]))
    return _Names(starts, ordered[-1])


def _breakdown(title: str, measure: str, number: int, names: _Names, counts: dict[int, Counter[str]]) -> Breakdown:
    fields = ("right_predicted", "predicted", "right_gold", "gold")
    bins = [
        Bin(names.name(at), _CODES * number + at, *(counts[at][field] for field in fields)) for at in sorted(counts)
    ]
    return Breakdown(title, measure, bins)


# --- properties of items ----------------------------------------------------------------------------------------------


def _spans(side: Side, benchmark: Benchmark) -> list[list[int]]:
    """The spans of an item, without those that are all mentions of an entity."""
    return [] if benchmark.entity_fields else [span for span in side.spans.values() if span]


def _longest(side: Side, benchmark: Benchmark) -> int | None:
    return max(map(len, _spans(side, benchmark)), default=None)


def _pieces(side: Side, benchmark: Benchmark) -> int | None:
    pieces = [1 + sum(b > a + 1 for a, b in pairwise(span)) for span in _spans(side, benchmark)]
    return max(pieces, default=None)


def _distance(side: Side) -> int | None:
    """The number of tokens between the nearest tokens of two parts, of the parts that are farthest from each other."""
    spans = [span for span in side.spans.values() if span]
    return max((_gap(a, b) for a, b in combinations(spans, 2)), default=None)


def _gap(first: list[int], second: list[int]) -> int:
    ordered = sorted([(at, 0) for at in first] + [(at, 1) for at in second])
    steps = [b[0] - a[0] for a, b in pairwise(ordered) if a[1] != b[1]]
    return max(0, min(steps) - 1)


def _label_frequencies(documents: Sequence[Document]) -> dict[str, Counter[str]]:
    """The numbers of gold items of each label, by the field that has them."""
    counts: dict[str, Counter[str]] = {}
    for document in documents:
        for item in document.items:
            for field, label in item.reference.labels.items() if item.reference is not None else ():
                counts.setdefault(field, Counter())[label] += 1
    return {field: labels for field, labels in counts.items() if len(labels) >= _FEWEST_LABELS}


def _frequency(side: Side, frequencies: dict[str, Counter[str]]) -> int | None:
    return next((frequencies[field][label] for field, label in side.labels.items() if field in frequencies), None)
