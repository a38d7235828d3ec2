"""Items in error: unmatched predicted and gold items, aligned one to one, each with the kind of its error."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

import numpy as np

from .columns import to_offsets
from .matching import (
    FRACTION_TOLERANCE,
    GOLD,
    PREDICTED,
    TRUE_POSITIVES,
    Goal,
    Matches,
    align,
    most_pairs,
    precision_recall_f,
)

RIGHT, SEVERAL, SPURIOUS, MISSED = "right", "several", "spurious", "missed"
ALL_COMPONENTS = "all components"

# The change of true positives, predicted and gold by mending one error.
_MENDED_PAIR = np.array([1, 0, 0])
_MENDED = {SPURIOUS: np.array([0, -1, 0]), MISSED: np.array([1, 1, 0])}

Item = TypeVar("Item")
# The kinds of error between a predicted and a gold item, in the order of the benchmark's list, and their closeness in
# [0, 1]; None where the two are unrelated.
Relation: TypeAlias = tuple[list[str], float] | None
# The kind of an error, and the indices of its predicted and its gold item; one of the two may be None.
Error: TypeAlias = tuple[str, int | None, int | None]


def explain_documents(
    predicted: Sequence[Sequence[Item]], gold: Sequence[Sequence[Item]], relate: Callable[[Item, Item], Relation]
) -> list[list[Error]]:
    """Explain the unmatched items of each document.

    Related items are aligned one to one: as many pairs as possible, then as many pairs with a single kind of error as
    possible, then the largest total closeness.

    Parameters
    ----------
    predicted, gold : sequence of sequence of items, one for each document
        The items without a match, in an order of their content.
    relate : callable
        Takes a predicted and a gold item of the same document. Returns the kinds of error between them, in the order of
        the benchmark's list, and their closeness in [0, 1]. Returns None if the items are unrelated.

    Returns
    -------
    list of list of (kind, predicted index or None, gold index or None)
        The errors of each document: first the aligned pairs, by their predicted index, then predicted items left over
        (``spurious``), then gold items left over (``missed``). The kind of a pair is ``several`` if `relate` gives more
        than one kind. Indices count within the document.
    """
    pairs: list[tuple[int, int]] = []
    document_of_pair: list[int] = []
    kinds: list[str] = []
    closeness: list[float] = []
    for document, sides in enumerate(zip(predicted, gold, strict=True)):
        for i, left in enumerate(sides[0]):
            for j, right in enumerate(sides[1]):
                relation = relate(left, right)
                if relation is not None:
                    pairs.append((i, j))
                    document_of_pair.append(document)
                    kinds.append(relation[0][0] if len(relation[0]) == 1 else SEVERAL)
                    closeness.append(relation[1])

    starts = np.stack([to_offsets(np.array([len(items) for items in side], np.int64)) for side in (predicted, gold)])
    edges = np.array(pairs, np.int64).reshape(-1, 2).T + starts[:, np.array(document_of_pair, np.int64)]
    single = np.array([kind != SEVERAL for kind in kinds], np.int64)
    goals = [most_pairs(edges[0]), Goal(single), Goal(np.array(closeness), FRACTION_TOLERANCE)]
    errors: list[list[Error]] = [[] for _ in predicted]
    for edge in align(edges[0], edges[1], int(starts[0, -1]), int(starts[1, -1]), goals).tolist():
        errors[document_of_pair[edge]].append((kinds[edge], *pairs[edge]))
    for found, left_items, right_items in zip(errors, predicted, gold, strict=True):
        left_used, right_used = {i for _, i, _ in found}, {j for _, _, j in found}
        found += [(SPURIOUS, i, None) for i in range(len(left_items)) if i not in left_used]
        found += [(MISSED, None, j) for j in range(len(right_items)) if j not in right_used]
    return errors


def leftovers(matches: Matches) -> tuple[dict[int, list[int]], dict[int, list[int]]]:
    """Find the items of each document that have no match.

    An item of which one side has `n` more than the other is given `n` times. With ``repeats="set"``, each item counts
    at most once on each side.

    Returns
    -------
    predicted, gold : dict of int to list of int
        From documents, increasing, to the leftover items: indices as in `Matches.example`, in the order of
        `matches`. A document without leftover items has no entry.
    """
    surplus = matches.counts[:, PREDICTED] - matches.counts[:, GOLD]
    sides = []
    for times in (np.maximum(surplus, 0), np.maximum(-surplus, 0)):
        documents, examples = np.repeat(matches.document, times), np.repeat(matches.example, times)
        by_document: dict[int, list[int]] = defaultdict(list)
        for document, example in zip(documents.tolist(), examples.tolist(), strict=True):
            by_document[document].append(example)
        sides.append(dict(by_document))
    return sides[0], sides[1]


def error_record(record: Any, component: str, kind: str, prediction: Any, reference: Any) -> dict[str, Any]:
    """One entry of a result's ``errors``.

    Parameters
    ----------
    record : str or int
        Id or index of the record.
    component : str
        Name of the counted component.
    kind : str
        Kind of the error, one of the benchmark's list, ``several``, ``spurious`` or ``missed``.
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
    component: str,
    records: Sequence[Any],
    predicted: Mapping[int, Sequence[Item]],
    gold: Mapping[int, Sequence[Item]],
    relate: Callable[[Item, Item], Relation],
    show: Callable[[Item], Any],
) -> list[dict[str, Any]]:
    """List the errors of a component over all documents, as a result gives them.

    Parameters
    ----------
    component : str
        Name of the counted component.
    records : sequence
        Id or index of each document.
    predicted, gold : mapping of int to sequence of items
        From documents to the items without a match, in an order of their content. A document without such items needs
        no entry.
    relate : callable
        As in `explain_documents`.
    show : callable
        From an item to its form in the result: plain Python values.

    Returns
    -------
    list of dict
        Ordered by document; see `error_record`.
    """
    documents = sorted(predicted.keys() | gold.keys())
    left, right = ([side.get(document, ()) for document in documents] for side in (predicted, gold))
    explained = explain_documents(left, right, relate)
    return [
        error_record(
            records[document],
            component,
            kind,
            None if i is None else show(left_items[i]),
            None if j is None else show(right_items[j]),
        )
        for document, left_items, right_items, errors in zip(documents, left, right, explained, strict=True)
        for kind, i, j in errors
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

    A mended pair becomes a true positive, a mended spurious item is not predicted, and a mended missed item is found.

    Parameters
    ----------
    errors : list of dict
        As `error_records` gives them.
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
        of_kind[error["kind"]][document_of[error["record"]]] += 1

    mended: dict[str, dict[str, np.ndarray]] = {}
    for component, of_kind in numbers.items():
        table = tables[component]
        pairs = sum(
            (n for kind, n in of_kind.items() if kind not in (SPURIOUS, MISSED)), np.zeros(len(table), np.int64)
        )
        explained = np.stack([pairs + of_kind.get(side, 0) for side in (SPURIOUS, MISSED)])
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
