"""Items in error: unmatched predicted and gold items, aligned one to one, each with the kind of its error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from .alignment import FRACTION_TOLERANCE, Goal, align, most_pairs
from .matching import GOLD, PREDICTED, TRUE_POSITIVES, Edges, Matches, Spans, precision_recall_f, sharing

RIGHT, SEVERAL, SPURIOUS, MISSED, UNPARSED = "right", "several", "spurious", "missed", "unparsed"
ALL_COMPONENTS = "all components"

# The change of true positives, predicted and gold by mending one error.
_MENDED_PAIR = np.array([1, 0, 0])
_MENDED = {SPURIOUS: np.array([0, -1, 0]), UNPARSED: np.array([0, -1, 0]), MISSED: np.array([1, 1, 0])}

# Related pairs that are held at once, in addition to those of one document.
_HELD = 2**22


class Items(NamedTuple):
    """The items of one side without a match, ordered by document, then by their content.

    Attributes
    ----------
    document : ndarray of int64, shape (n,)
        Index of the document of each item, increasing.
    example : ndarray of int64, shape (n,)
        What `show` takes of each item, such as an index as in `Matches.example`.
    show : callable
        From an example to the item's form in the result: plain Python values.
    spans : sequence of Spans, each of length n
        The token sets of the items. Other things that items may share can stand as numbers in the place of tokens.
        No spans if no item is related to another.
    """

    document: np.ndarray
    example: np.ndarray
    show: Callable[[int], Any]
    spans: Sequence[Spans] = ()

    def show_at(self, at: int) -> Any:
        """The form in the result of the item with this index, in [0, n)."""
        return self.show(int(self.example[at]))


class Relations(NamedTuple):
    """What `relate` finds about pairs of a predicted and a gold item.

    Attributes
    ----------
    is_related : ndarray of bool, shape (m,)
        False where the two items have nothing to do with each other.
    wrong : ndarray of bool, shape (n_kinds, m)
        Whether the pair has an error of each kind, in the order of the benchmark's list.
    closeness : ndarray of float64, shape (m,)
        In [0, 1].
    """

    is_related: np.ndarray
    wrong: np.ndarray
    closeness: np.ndarray


# Takes pairs as `matching.sharing` gives them.
Relate: TypeAlias = Callable[[Edges], Relations]


def explain(predicted: Items, gold: Items, relate: Relate | None, n_kinds: int) -> np.ndarray:
    """Explain the unmatched items of each document.

    Only items that share a token, in spans at the same place, are compared. Related items are aligned one to one: as
    many pairs as possible, then as many pairs with a single kind of error as possible, then the largest total
    closeness.

    Parameters
    ----------
    predicted, gold : Items
    relate : callable
        From pairs of items of the same document to `Relations`. None if no item is related to another.
    n_kinds : int
        Number of kinds of error that `relate` knows.

    Returns
    -------
    ndarray of int64, shape (n_errors, 3)
        Kind, predicted item and gold item of each error, ordered by document. In a document, the aligned pairs come
        first, by predicted item, then predicted items left over, then gold items left over. The item of the other side
        is -1 there, and so is the kind. The kind of a pair is `n_kinds` if it has errors of more than one kind.
    """
    found = [np.zeros((0, 3), np.int64)]
    if relate is not None:
        found += [_align_related(predicted, gold, *some, relate, n_kinds) for some in _some_documents(predicted, gold)]
    pairs = np.concatenate(found)
    left, right = (
        np.setdiff1d(np.arange(len(side.document)), pairs[:, column]) for side, column in ((predicted, 1), (gold, 2))
    )
    errors = np.full((len(pairs) + len(left) + len(right), 3), -1)
    errors[: len(pairs)] = pairs
    errors[len(pairs) : len(pairs) + len(left), 1] = left
    errors[len(pairs) + len(left) :, 2] = right
    document = np.concatenate([predicted.document[pairs[:, 1]], predicted.document[left], gold.document[right]])
    return errors[np.argsort(document, kind="stable")]


def _some_documents(predicted: Items, gold: Items) -> Iterator[tuple[slice, slice]]:
    """The items of both sides, as slices, of some documents with few pairs, or of one document."""
    documents = [side.document for side in (predicted, gold)]
    n_documents = 1 + int(max(document.max(initial=-1) for document in documents))
    n_items = [np.bincount(document, minlength=n_documents) for document in documents]
    borders = np.flatnonzero(np.diff(np.cumsum(n_items[0] * n_items[1]) // _HELD)) + 1
    for ends in pairwise([0, *borders.tolist(), n_documents]):
        left, right = (slice(*np.searchsorted(document, ends).tolist()) for document in documents)
        yield left, right


def _align_related(
    predicted: Items, gold: Items, left: slice, right: slice, relate: Relate, n_kinds: int
) -> np.ndarray:
    """The aligned pairs among some items of both sides, as rows of kind, predicted item and gold item."""
    parts = []
    cut = [[each.part(some) for each in side.spans] for side, some in ((predicted, left), (gold, right))]
    for edges in sharing(cut[0], predicted.document[left], cut[1], gold.document[right]):
        relations = relate(Edges(edges.left + left.start, edges.right + right.start, edges.shared))
        some = np.flatnonzero(relations.is_related)
        wrong = relations.wrong[:, some]
        kinds = np.where(wrong.sum(axis=0) == 1, wrong.argmax(axis=0), n_kinds).astype(np.int8)
        parts.append([edges.left[some], edges.right[some], kinds, relations.closeness[some]])
    # One document may have millions of pairs, so each part is freed as soon as it is copied.
    first, second, kinds, closeness = (np.concatenate([part.pop(0) for part in parts]) for _ in range(4))
    goals = [most_pairs(first), Goal(kinds < n_kinds), Goal(closeness, FRACTION_TOLERANCE)]
    chosen = align(first, second, left.stop - left.start, right.stop - right.start, goals)
    return np.column_stack([kinds[chosen], left.start + first[chosen], right.start + second[chosen]]).astype(np.int64)


def leftovers(matches: Matches) -> list[tuple[np.ndarray, np.ndarray]]:
    """Find the predicted items, and the gold items, that have no match.

    An item of which one side has `n` more than the other is given `n` times. With ``repeats="set"``, each item counts
    at most once on each side.

    Returns
    -------
    list of (document, example)
        Of the predicted and of the gold items: ndarrays of int64, ordered as in `matches`, by document.
    """
    surplus = matches.counts[:, PREDICTED] - matches.counts[:, GOLD]
    return [
        (np.repeat(matches.document, times), np.repeat(matches.example, times))
        for times in (np.maximum(surplus, 0), np.maximum(-surplus, 0))
    ]


def error_record(record: Any, component: str, kind: str, prediction: Any, reference: Any) -> dict[str, Any]:
    """One entry of a result's ``errors``.

    Parameters
    ----------
    record : str or int
        Id or index of the record.
    component : str
        Name of the counted component.
    kind : str
        Kind of the error, one of the benchmark's list, ``several``, ``spurious``, ``missed`` or ``unparsed``.
    prediction, reference
        The items as the result shows them; None for a side without an item.
    """
    return {
        "record": record,
        "component": component,
        "kind": kind,
        "prediction": prediction,
        "reference": reference,
    }


def error_records(
    component: str, records: Sequence[Any], predicted: Items, gold: Items, relate: Relate | None, kinds: Sequence[str]
) -> list[dict[str, Any]]:
    """List the errors of a component over all documents, as a result gives them.

    Parameters
    ----------
    component : str
        Name of the counted component.
    records : sequence
        Id or index of each document.
    predicted, gold : Items
    relate : callable
        As in `explain`.
    kinds : sequence of str
        The benchmark's list of kinds.

    Returns
    -------
    list of dict
        Ordered by document; see `error_record` and `explain`.
    """
    found = []
    for kind, i, j in explain(predicted, gold, relate, len(kinds)).tolist():
        document = gold.document[j] if i < 0 else predicted.document[i]
        name = MISSED if i < 0 else SPURIOUS if j < 0 else (*kinds, SEVERAL)[kind]
        prediction, reference = None if i < 0 else predicted.show_at(i), None if j < 0 else gold.show_at(j)
        found.append(error_record(records[document], component, name, prediction, reference))
    return found


def unparsed_records(component: str, records: Sequence[Any], unparsed: np.ndarray) -> list[dict[str, Any]]:
    """List the text of each document that could not be read, in the form of `error_record`.

    Parameters
    ----------
    component : str
    records : sequence
        Id or index of each document.
    unparsed : ndarray of int64, shape (n_documents,)
        The number of pieces that could not be read.

    Returns
    -------
    list of dict
        One entry a document with such pieces, of kind ``unparsed``, with their ``number``.
    """
    return [
        error_record(records[at], component, UNPARSED, None, None) | {"number": int(unparsed[at])}
        for at in np.flatnonzero(unparsed).tolist()
    ]


def matched_records(
    component: str, records: Sequence[Any], matches: Matches, show: Callable[[int], Any]
) -> list[dict[str, Any]]:
    """List the matched items of a component over all documents, in the form of `error_records`, with kind ``right``.

    Parameters
    ----------
    component : str
    records : sequence
        Id or index of each document.
    matches : Matches
    show : callable
        From an index as in `Matches.example` to the item's form in the result.
    """
    times = np.minimum(matches.counts[:, PREDICTED], matches.counts[:, GOLD])
    documents, examples = np.repeat(matches.document, times), np.repeat(matches.example, times)
    found = []
    for document, example in zip(documents.tolist(), examples.tolist(), strict=True):
        item = show(example)
        found.append(error_record(records[document], component, RIGHT, item, item))
    return found


# --- the effect of mending errors -------------------------------------------------------------------------------------


def pooled_f1(table: np.ndarray) -> float:
    """F1 of the summed counts of all documents, in percent: shape (n_documents, 3) to one number."""
    return float(precision_recall_f(table.sum(axis=0))[2])


def mended_kinds(
    errors: Sequence[Mapping[str, Any]],
    tables: Mapping[str, np.ndarray],
    records: Sequence[Any],
    f1: Callable[[np.ndarray], float] = pooled_f1,
    headline: Callable[[Mapping[str, np.ndarray]], float] | None = None,
) -> list[dict[str, Any]]:
    """The scores that mending all errors of one kind would give.

    A mended pair becomes a true positive. A mended spurious item, or piece that could not be read, is not predicted. A
    mended missed item is found.

    Parameters
    ----------
    errors : list of dict
        As `error_records` and `unparsed_records` give them.
    tables : dict of str to ndarray of int64, shape (n_documents, 3)
        The counts of each component.
    records : sequence
        Id or index of each document.
    f1 : callable
        From the counts of a component to its F1.
    headline : callable, optional
        From the counts of all components to the headline score, if that is not the F1 of the one component.

    Returns
    -------
    list of dict
        ``component``, ``kind``, ``errors`` (their number), ``f1`` and ``headline`` after mending, by component, with
        the most frequent kind first. ``f1`` is None where a component counts repeated items in another way than errors
        list them; ``headline`` is None without the argument. If there is a headline of several components, the rows of
        component ``all components`` come first, without ``f1``.
    """
    document_of = {record: document for document, record in enumerate(records)}
    numbers: dict[str, dict[str, np.ndarray]] = {component: {} for component in tables}
    for error in errors:
        of_kind = numbers[error["component"]]
        if error["kind"] not in of_kind:
            of_kind[error["kind"]] = np.zeros(len(records), np.int64)
        of_kind[error["kind"]][document_of[error["record"]]] += error.get("number", 1)

    mended: dict[str, dict[str, np.ndarray]] = {}
    for component, of_kind in numbers.items():
        table = tables[component]
        pairs = sum((n for kind, n in of_kind.items() if kind not in _MENDED), np.zeros(len(table), np.int64))
        not_gold = of_kind.get(SPURIOUS, 0) + of_kind.get(UNPARSED, 0)
        explained = np.stack([pairs + not_gold, pairs + of_kind.get(MISSED, 0)])
        wrong = np.stack([table[:, side] - table[:, TRUE_POSITIVES] for side in (PREDICTED, GOLD)])
        if (explained == wrong).all():
            mended[component] = {
                kind: table + n[:, None] * _MENDED.get(kind, _MENDED_PAIR) for kind, n in of_kind.items()
            }

    rows: list[dict[str, Any]] = []
    totals: dict[str, int] = {}
    for component, of_kind in numbers.items():
        for kind, n in sorted(of_kind.items(), key=lambda found: -int(found[1].sum())):
            after = mended.get(component, {}).get(kind)
            totals[kind] = totals.get(kind, 0) + int(n.sum())
            rows.append(
                {
                    "component": component,
                    "kind": kind,
                    "errors": int(n.sum()),
                    "f1": None if after is None else f1(after),
                    "headline": None
                    if headline is None
                    else headline(tables if after is None else {**tables, component: after}),
                }
            )
    if headline is None:
        return rows
    whole = []
    for kind, total in sorted(totals.items(), key=lambda found: -found[1]):
        after_all = {c: mended.get(c, {}).get(kind, table) for c, table in tables.items()}
        whole.append(
            {"component": ALL_COMPONENTS, "kind": kind, "errors": total, "f1": None, "headline": headline(after_all)}
        )
    return whole + rows
