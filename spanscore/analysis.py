"""Errors and where they are: kinds of error, confusions of labels, and the items of every document.

All of it is read from a result of ``compute`` with ``return_errors=True``. Nothing is scored again.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from spanscore.benchmarks import Benchmark, document_word, formats_of
from spanscore.breakdowns import Breakdown, break_down
from spanscore.formats.files import DocumentText, tokens_of
from spanscore.metrics.errors import MISSED, RIGHT, SPURIOUS
from spanscore.tables import headline_of, spell_out

if TYPE_CHECKING:
    from spanscore.scoring import ScoredFiles

WRONG = "wrong"
Item = Any


class Kind(NamedTuple):
    """One kind of error of a component.

    Attributes
    ----------
    component, kind : str
    errors : int
        Their number.
    mended : float or None
        F1 of the component if all errors of this kind were corrected. None if the counts do not add up to the errors,
        as with repeated items that count more than once.
    headline : float or None
        The headline score after this correction, if it is not the component's own.
    """

    component: str
    kind: str
    errors: int
    mended: float | None
    headline: float | None


class Confusion(NamedTuple):
    """Counts of pairs of a gold and a predicted label.

    Attributes
    ----------
    name, component : str
    labels : list of str
        The most frequent first.
    counts : dict of (str, str) to int
        From gold and predicted label to the number of items.
    """

    name: str
    component: str
    labels: list[str]
    counts: dict[tuple[str, str], int]


class Side(NamedTuple):
    """The predicted or the gold item of an error, for reports.

    Attributes
    ----------
    spans : dict of str to list of int
        The tokens of each part.
    texts : dict of str to str
        The text of each part that is given as text.
    labels : dict of str to str
        The other fields.
    seen : bool or None
        Whether training data have the item. None if that is not known.
    """

    spans: dict[str, list[int]]
    texts: dict[str, str]
    labels: dict[str, str]
    seen: bool | None = None


class DocumentItem(NamedTuple):
    """An item of a document.

    Attributes
    ----------
    status : {"right", "missed", "spurious", "wrong"}
    kind : str
        The kind of its error, or ``"right"``.
    component : str
    prediction, reference : Side or None
    number : int
        The number of pieces of text that could not be read, of an entry that stands for these. Such an entry has
        neither prediction nor reference.
    """

    status: str
    kind: str
    component: str
    prediction: Side | None
    reference: Side | None
    number: int = 0


class Document(NamedTuple):
    """A document with its items.

    Attributes
    ----------
    id : object
        The id in the result, which is the position of records without ids.
    name : str
        The id, with the benchmark's own name of the document where the id is a position.
    tokens : list of str
    known : bool
        False if the files do not have the text. The tokens are then their own numbers.
    items : list of DocumentItem
    parts : list of (str, int)
        The name of each part of the text, with the number of its first token.
    """

    id: Any
    name: str
    tokens: list[str]
    known: bool
    items: list[DocumentItem]
    parts: list[tuple[str, int]]


class Analysis(NamedTuple):
    """All that a report shows besides the scores.

    Attributes
    ----------
    headline : str
        The name of the headline score.
    score : float or None
        Its value.
    kinds : list of Kind
    confusions : list of Confusion
    documents : list of Document
    curve : list of (float, float)
        Recall and precision over the ranking of scored items, in [0, 1]. Empty if the metric gives no curve.
    breakdowns : list of spanscore.breakdowns.Breakdown
    document_codes : list of tuple of int
        The codes of the bins of each document.
    item_codes : list of list of tuple of int
        The codes of the bins of each item of each document.
    """

    headline: str
    score: float | None
    kinds: list[Kind]
    confusions: list[Confusion]
    documents: list[Document]
    curve: list[tuple[float, float]]
    breakdowns: list[Breakdown]
    document_codes: list[tuple[int, ...]]
    item_codes: list[list[tuple[int, ...]]]


def analyse(scored: ScoredFiles) -> Analysis:
    """Analyse a result that has ``errors``, ``matched``, ``error_kinds`` and ``per_document``.

    Parameters
    ----------
    scored : spanscore.scoring.ScoredFiles

    Returns
    -------
    Analysis
    """
    result, benchmark = scored.result, scored.benchmark
    headline, score = headline_of(result, benchmark.headlines)
    kinds = [
        Kind(*(row[n] for n in ("component", "kind", "errors", "f1", "headline"))) for row in result["error_kinds"]
    ]
    points = result.get("curve") or {"recall": [], "precision": []}
    curve = list(zip(points["recall"], points["precision"], strict=True))
    confusions = _confusions(result["matched"], result["errors"], benchmark, result.get("label_texts") or {})
    documents = read_documents(scored)
    word = document_word(benchmark, scored.task).removesuffix("s")
    measure = "accuracy" if headline == "balanced_accuracy" else "F1"
    # A single point is no curve.
    curve = curve if len(curve) > 1 else []
    return Analysis(
        headline, score, kinds, confusions, documents, curve, *break_down(documents, benchmark, word, measure)
    )


# --- documents --------------------------------------------------------------------------------------------------------


def read_documents(scored: ScoredFiles) -> list[Document]:
    """Make the documents of ``per_document``, each with its items, right items first."""
    result, benchmark = scored.result, scored.benchmark
    items: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for item in (*result["matched"], *result["errors"]):
        items[item["record"]].append(item)
    texts, labels = _texts(scored), result.get("label_texts") or {}
    documents = []
    for row in result["per_document"]:
        text = texts.get(row["id"], DocumentText([]))
        shown = [_document_item(item, text, benchmark, labels) for item in items[row["id"]]]
        tokens, last = text.tokens, max((at for item in shown for at in _token_indices(item)), default=-1)
        known = bool(tokens) or last < 0
        name = f"{row['id']}: {text.name}" if text.name and isinstance(row["id"], int) else str(row["id"])
        tokens = tokens or [str(at) for at in range(last + 1)]
        documents.append(Document(row["id"], name, tokens, known, shown, text.parts))
    return documents


def error_rows(scored: ScoredFiles, documents: Iterable[Document]) -> Iterable[dict[str, Any]]:
    """The items in error as the result has them, each with the id of its document and the texts of its parts.

    ``prediction_text`` and ``reference_text`` give the text of each part, such as ``{"aspect": "battery life"}``. They
    are None for a side that is missing, and where the files do not have the text.
    """
    shown = {document.id: iter([i for i in document.items if i.status != RIGHT]) for document in documents}
    known = {document.id: document for document in documents}
    for error in scored.result["errors"]:
        document, item = known[error["record"]], next(shown[error["record"]])
        sides = {"prediction_text": item.prediction, "reference_text": item.reference}
        yield {"id": document.name, **error} | {name: _side_texts(side, document) for name, side in sides.items()}


def _side_texts(side: Side | None, document: Document) -> dict[str, str] | None:
    if side is None or not document.known:
        return None
    return {role: " ".join(document.tokens[at] for at in span) for role, span in side.spans.items()} | side.texts


def document_rows(scored: ScoredFiles, documents: Iterable[Document]) -> Iterable[dict[str, Any]]:
    """The counts of each document as the result has them, with precision, recall, F1 and the text."""
    scale = scored.benchmark.perfect
    for row, document in zip(scored.result["per_document"], documents, strict=True):
        counts = {name: _with_rates(part, scale) if isinstance(part, dict) else part for name, part in row.items()}
        text = " ".join(document.tokens) if document.known and document.tokens else None
        yield _with_rates(counts, scale) | {"id": document.name, "text": text}


def _with_rates(counts: dict[str, Any], scale: float) -> dict[str, Any]:
    """Counts with precision, recall and F1; other dicts as they are."""
    if "true_positives" not in counts:
        return counts
    right, predicted, gold = (counts[name] for name in ("true_positives", "predicted", "gold"))
    shares = [(right, predicted), (right, gold), (2 * right, predicted + gold)]
    rates = [scale * part / whole if whole else 0.0 for part, whole in shares]
    return counts | dict(zip(("precision", "recall", "f1"), rates, strict=True))


def _texts(scored: ScoredFiles) -> dict[Any, DocumentText]:
    """The text of each reference, by its position and by its id.

    Where references have no text and the predictions are as many, the text of the prediction at the same position is
    taken.
    """
    predictions, references = scored.predictions.records, scored.references.records
    text_of = getattr(formats_of(scored.benchmark), "document_text", _text_of_tokens)
    texts: dict[Any, DocumentText] = {}
    for at, record in enumerate(references):
        text = text_of(record)
        if not text.tokens and len(predictions) == len(references):
            text = text._replace(tokens=tokens_of(predictions[at]) or [])
        texts[at] = text
    key = scored.benchmark.reference_key
    for at, record in enumerate(references):
        if isinstance(record, dict) and record.get(key) is not None:
            texts[str(record[key])] = texts[at]
    return texts


def _text_of_tokens(record: Any) -> DocumentText:
    return DocumentText(tokens_of(record) or [])


def _document_item(
    item: Mapping[str, Any], text: DocumentText, benchmark: Benchmark, labels: Mapping[str, str]
) -> DocumentItem:
    """An entry of ``errors`` or ``matched`` for reports. Of a right item, only the gold side is shown."""
    prediction, reference, kind = item["prediction"], item["reference"], item["kind"]
    status = kind if kind in (RIGHT, MISSED, SPURIOUS) else WRONG
    if status == WRONG and isinstance(reference, str):
        # An item that is a label has the kind that `error_kinds` gives it.
        kind = f"{reference} as {prediction}"
    predicted = None if status == RIGHT else _side(prediction, text, benchmark, labels)
    gold = _side(reference, text, benchmark, labels)
    return DocumentItem(status, kind, item["component"], predicted, gold, item.get("number", 0))


def _side(item: Item, text: DocumentText, benchmark: Benchmark, labels: Mapping[str, str]) -> Side | None:
    """An item of a result for reports: a label, a list of tokens, or a dict of several fields.

    `labels` are readable names of labels, which come after them.
    """
    if item is None:
        return None
    if not isinstance(item, dict):
        item = {"label": item} if isinstance(item, str) else {benchmark.scored_item: item}
    side = Side({}, {}, {})
    for field, value in item.items():
        if isinstance(value, list) and all(isinstance(index, int) for index in value):
            side.spans[field] = sorted(set(value))
        elif field == "seen_in_training":
            side = side._replace(seen=value)
        elif field in benchmark.entity_fields:
            name, is_known = benchmark.entity_fields[field], value < len(text.entities)
            side.texts[name], side.spans[name] = text.entities[value] if is_known else (f"entity {value}", [])
        elif field in benchmark.text_fields:
            side.texts[field] = str(value)
            side.spans[field] = next((tokens for name, tokens in text.entities if name == value), [])
        elif value is not None and field not in benchmark.label_text_fields:
            side.labels[benchmark.field_names.get(field, field)] = name_of_label(str(value), labels)
    return side


def name_of_label(label: str, texts: Mapping[str, str]) -> str:
    """A label with its readable name, if there is one, such as ``P17 country``."""
    return f"{label} {texts[label]}" if label in texts else label


def _token_indices(item: DocumentItem) -> Iterable[int]:
    for side in (item.prediction, item.reference):
        for span in side.spans.values() if side else ():
            yield from span


# --- confusions -------------------------------------------------------------------------------------------------------


def _confusions(
    matched: list[dict[str, Any]], errors: list[dict[str, Any]], benchmark: Benchmark, texts: Mapping[str, str]
) -> list[Confusion]:
    """Count the pairs of gold and predicted label, for each label of a component, over right and aligned items.

    Components whose labels are never confused are left out. `texts` are readable names of labels, which come after
    them.
    """

    counts: dict[tuple[str, str], Counter[tuple[str, str]]] = defaultdict(Counter)
    pairs = [(item["component"], item["reference"], item["reference"]) for item in matched]
    pairs += [(item["component"], item["prediction"], item["reference"]) for item in errors]
    for component, prediction, reference in pairs:
        if not isinstance(reference, dict) or not isinstance(prediction, dict):
            continue
        for field, gold in reference.items():
            if field in prediction and field not in (*benchmark.text_fields, *benchmark.label_text_fields):
                predicted = prediction[field]
                if isinstance(gold, str) or isinstance(predicted, str):
                    pair = name_of_label(str(gold), texts), name_of_label(str(predicted), texts)
                    counts[component, field][pair] += 1
    found = []
    for (component, field), of_labels in counts.items():
        if any(gold != predicted for gold, predicted in of_labels):
            frequent: Counter[str] = Counter()
            for (gold, predicted), n in of_labels.items():
                frequent[gold] += n
                frequent[predicted] += n * (gold != predicted)
            labels = [label for label, _ in frequent.most_common()]
            name = benchmark.field_names.get(field, field)
            found.append(Confusion(spell_out(f"{name} of {component}"), component, labels, dict(of_labels)))
    return found
