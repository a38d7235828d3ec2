"""Several systems on the same documents: what each gets right, item by item."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from spanscore.analysis import Document, DocumentItem, Side, read_documents
from spanscore.metrics.errors import MISSED, RIGHT, SPURIOUS
from spanscore.scoring import ScoredFiles

if TYPE_CHECKING:
    from spanscore.scoring import SystemFiles

_SPLIT = "wrong"  # the colour of items that some systems get right
LEGEND = [
    (RIGHT, "right in all"),
    (_SPLIT, "right in some"),
    (MISSED, "right in none"),
    (SPURIOUS, "spurious"),
]


class ContrastedItem(NamedTuple):
    """An item with what each system makes of it.

    Attributes
    ----------
    status : {"right", "wrong", "missed", "spurious"}
        Right in all systems, in some, in none, or predicted without gold.
    kind : str
        The same in words, with the names of the systems.
    component : str
    predictions : list of (str, Side)
        The predictions that are wrong, each with the name of its system and the kind of its error.
    reference : Side or None
    number : int
        The number of pieces of text that could not be read, of an entry that stands for these.
    """

    status: str
    kind: str
    component: str
    predictions: list[tuple[str, Side]]
    reference: Side | None
    number: int = 0


def contrast(systems: SystemFiles, names: Sequence[str]) -> list[tuple[Document, list[ContrastedItem]]]:
    """Score each system, and put the items of all together, document by document.

    Parameters
    ----------
    systems : spanscore.scoring.SystemFiles
    names : sequence of str
        The names of the systems.

    Returns
    -------
    list of (Document, list of ContrastedItem)
        Items that some systems get right come first.
    """
    of_systems = []
    options = systems.options | {"per_document": True, "return_errors": True}
    for file in systems.predictions:
        result = systems.metric.compute(predictions=file.records, references=systems.references.records, **options)
        scored = ScoredFiles(systems.benchmark, systems.task, result, file, systems.references, options, systems.metric)
        of_systems.append({document.id: document for document in read_documents(scored)})
    # A title that is no document of the references may be in one system alone.
    ids = dict.fromkeys(name for documents in of_systems for name in documents)
    found = []
    for name in ids:
        here = [documents.get(name) for documents in of_systems]
        document = max((each for each in here if each is not None), key=lambda each: len(each.tokens))
        items = _contrast_items([each.items if each is not None else [] for each in here], names)
        found.append((document, items))
    return found


def _contrast_items(of_systems: Sequence[Sequence[DocumentItem]], names: Sequence[str]) -> list[ContrastedItem]:
    # By component, side and number of the copy: the item of each system.
    gold: dict[Any, dict[int, DocumentItem]] = defaultdict(dict)
    spurious: dict[Any, dict[int, DocumentItem]] = defaultdict(dict)
    found = []
    for system, items in enumerate(of_systems):
        for item in items:
            side, group = (item.reference, gold) if item.reference is not None else (item.prediction, spurious)
            if side is None:
                kind = f"unread text in {names[system]}"
                found.append(ContrastedItem(SPURIOUS, kind, item.component, [], None, item.number))
                continue
            shown, copy = repr(side[:3]), 0
            while system in group[item.component, shown, copy]:
                copy += 1
            group[item.component, shown, copy][system] = item
    for of_item in gold.values():
        first = next(iter(of_item.values()))
        right = [names[at] for at, item in of_item.items() if item.status == RIGHT]
        status = RIGHT if len(right) == len(names) else _SPLIT if right else MISSED
        kind = {RIGHT: "right in all", MISSED: "right in none"}.get(status) or f"right in {', '.join(right)} alone"
        found.append(ContrastedItem(status, kind, first.component, _wrong(of_item, names), first.reference))
    for of_item in spurious.values():
        first = next(iter(of_item.values()))
        having = [names[at] for at in of_item]
        kind = "spurious in all" if len(having) == len(names) else f"spurious in {', '.join(having)} alone"
        found.append(ContrastedItem(SPURIOUS, kind, first.component, _wrong(of_item, names, 1), None))
    order = (_SPLIT, MISSED, SPURIOUS, RIGHT)
    return sorted(found, key=lambda item: order.index(item.status))


def _wrong(of_item: dict[int, DocumentItem], names: Sequence[str], most: int | None = None) -> list[tuple[str, Side]]:
    wrong = [
        (f"{names[at]} ({item.kind.replace('_', ' ')})", item.prediction)
        for at, item in of_item.items()
        if item.prediction is not None
    ]
    if most is not None:  # all systems predict the same
        return [("", side) for _, side in wrong[:most]]
    return wrong
