"""What went wrong, and where: kinds of error and what mending each would bring, confusions, and every document's items.

It works on results alone. That all gold items are known in the form in which a metric lists its errors comes from the
metric itself: against predictions that hold nothing, each gold item is missed.
"""

from __future__ import annotations

import json
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

RIGHT, MISSED, SPURIOUS, WRONG = "right", "missed", "spurious", "wrong"
# Beyond this many labels a confusion is a list of the most frequent pairs, no matrix.
_MATRIX_LABELS = 12
_MOST_CONFUSED = 30

Item = Any


class Kind(NamedTuple):
    """One kind of error of a component.

    Attributes
    ----------
    component, kind : str
    errors : int
        How many.
    mended : float or None
        F1 of the component if all errors of this kind were mended; None where counts do not add up to errors, as with
        repeated items that are counted more than once.
    headline : float or None
        The headline score then, if it is not the component's own.
    """

    component: str
    kind: str
    errors: int
    mended: float | None
    headline: float | None


class Confusion(NamedTuple):
    """Labels of gold items in rows, of the predicted items aligned with them in columns.

    Attributes
    ----------
    name : str
    labels : list of str
    counts : dict of (str, str) to int
    """

    name: str
    labels: list[str]
    counts: dict[tuple[str, str], int]

    @property
    def as_matrix(self) -> bool:
        """Whether there are few enough labels for a matrix."""
        return len(self.labels) <= _MATRIX_LABELS

    def most(self) -> list[tuple[str, str, int]]:
        """Gold label, predicted label and count of what is confused most."""
        pairs = [(gold, predicted, n) for (gold, predicted), n in self.counts.items() if gold != predicted]
        return sorted(pairs, key=lambda pair: (-pair[2], pair[:2]))[:_MOST_CONFUSED]


class Side(NamedTuple):
    """An item as it is shown: where it is in the text, and what it says."""

    spans: dict[str, list[int]]
    texts: dict[str, str]
    labels: dict[str, str]


class Shown(NamedTuple):
    """An item of a document: right, missed, spurious, or wrong with the kind of its error."""

    status: str
    kind: str
    component: str
    prediction: Side | None
    reference: Side | None


class Document(NamedTuple):
    """A document with its items; `known` is False where its text is not, and tokens are their own numbers."""

    name: str
    tokens: list[str]
    known: bool
    items: list[Shown]


class Analysis(NamedTuple):
    """See the module.

    Attributes
    ----------
    headline : str
        The name of the headline score.
    score : float
        Its value.
    kinds : list of Kind
    confusions : list of Confusion
    documents : list of Document
    curve : list of (float, float)
        Recall and precision over the ranking of scored facts, in [0, 1]; empty for all but DocRED.
    """

    headline: str
    score: float | None
    kinds: list[Kind]
    confusions: list[Confusion]
    documents: list[Document]
    curve: list[tuple[float, float]]


def analyse(scored: Any) -> Analysis:
    """Analyse a result that has ``errors`` and ``per_document``.

    Parameters
    ----------
    scored : score.Scored
    """
    result = scored.result
    headline = {"sentivent": "sentivent_score"}.get(scored.benchmark, "f1")
    if scored.task == "entailment":
        headline = "balanced_accuracy"
    elif headline == "f1" and result["f1"] is None:
        return _analysed(scored, "pair.f1", result["pair"]["f1"])
    return _analysed(scored, headline, result[headline])


def _analysed(scored: Any, headline: str, score: float | None) -> Analysis:
    if scored.task == "entailment":
        return Analysis(headline, score, _label_kinds(scored), [], _label_documents(scored), [])
    right = _right(scored)
    return Analysis(
        headline,
        score,
        error_kinds(scored),
        _confusions(scored.result["errors"], right),
        _documents(scored, right),
        _curve(scored),
    )


# --- kinds and what mending them would bring --------------------------------------------------------------------------


def mended_counts(counts: tuple[int, int, int], kind: str, n: int) -> tuple[int, int, int]:
    """True positives, predicted and gold once n errors of a kind are mended.

    A missed item is found, a spurious one is not predicted, and a pair of any other kind becomes a true positive.
    """
    true_positives, predicted, gold = counts
    if kind == "spurious":
        return true_positives, predicted - n, gold
    return true_positives + n, predicted + n * (kind == "missed"), gold


def _f1(counts: tuple[int, int, int]) -> float:
    true_positives, predicted, gold = counts
    return 200.0 * true_positives / (predicted + gold) if predicted + gold else 0.0


def _explained(counts: tuple[int, int, int], kinds: Counter) -> bool:
    """Whether errors are all that stands between counts and perfection."""
    true_positives, predicted, gold = counts
    pairs = sum(n for kind, n in kinds.items() if kind not in ("spurious", "missed"))
    return predicted - true_positives == pairs + kinds["spurious"] and gold - true_positives == pairs + kinds["missed"]


def error_kinds(scored: Any) -> list[Kind]:
    """The kinds of error of each component, the most frequent first."""
    result = scored.result
    by_component: dict[str, Counter] = defaultdict(Counter)
    for error in result["errors"]:
        by_component[error["component"]][error["kind"]] += 1
    if scored.benchmark == "propsegment":
        kinds = by_component["proposition"]
        return [Kind("proposition", k, n, _mended_mean(scored, k), None) for k, n in kinds.most_common()]

    def counts_of(component: str) -> tuple[int, int, int]:
        row = result["strict"][component] if scored.benchmark == "sentivent" else result.get(component, result)
        return row["true_positives"], row["predicted"], row["gold"]

    found = []
    totals: Counter = Counter()
    f1 = {c: _f1(counts_of(c)) for c in by_component}
    gains: dict[str, float] = defaultdict(float)
    weights = result["weights"]["active"] if scored.benchmark == "sentivent" else {}
    for component, kinds in by_component.items():
        counts = counts_of(component)
        exact = _explained(counts, kinds)
        for kind, n in kinds.most_common():
            mended = _f1(mended_counts(counts, kind, n)) if exact else None
            gain = 0.0 if mended is None else weights.get(component, 0.0) * (mended - f1[component])
            gains[kind] += gain
            totals[kind] += n
            headline = result["sentivent_score"] + gain if weights else None
            found.append(Kind(component, kind, n, mended, headline))
    if weights:
        whole = [
            Kind("all components", kind, n, None, result["sentivent_score"] + gains[kind])
            for kind, n in totals.most_common()
        ]
        found = whole + found
    return found


def _mended_mean(scored: Any, kind: str) -> float:
    """F of mean precision and recall over sentences, as PropSegmEnt has it, once a kind is mended."""
    errors = Counter(error["record"] for error in scored.result["errors"] if error["kind"] == kind)
    beta, empty = float(scored.options.get("beta", 1.0)), scored.options.get("empty", "zero")
    rates = []
    for row in scored.result["per_document"]:
        given = row["true_positives"], row["predicted"], row["gold"]
        true_positives, predicted, gold = mended_counts(given, kind, errors[row["id"]])
        if not predicted and not gold:
            if empty != "skip":
                rates.append((float(empty == "one"),) * 2)
            continue
        rates.append((true_positives / predicted if predicted else 0.0, true_positives / gold if gold else 0.0))
    precision, recall = (sum(column) / len(rates) for column in zip(*rates, strict=True)) if rates else (0.0, 0.0)
    weighted = beta**2 * precision + recall
    return (1 + beta**2) * precision * recall / weighted if weighted else 0.0


def _label_kinds(scored: Any) -> list[Kind]:
    """Each label that was taken for another, and balanced accuracy if it had not been."""
    pairs = Counter((row["gold"], row["predicted"]) for row in scored.result["per_document"])

    def balanced(mended: tuple[str, str] | None) -> float:
        recalls = []
        for entail in (True, False):
            here = {pair: n for pair, n in pairs.items() if (pair[0] == "entail") == entail}
            found = sum(n for pair, n in here.items() if (pair[1] == "entail") == entail or pair == mended)
            if here:
                recalls.append(found / sum(here.values()))
        return sum(recalls) / len(recalls) if recalls else 0.0

    wrong = [(pair, n) for pair, n in pairs.most_common() if pair[0] != pair[1]]
    return [
        Kind("three_way" if "entail" not in pair else "entailment", f"{pair[0]} as {pair[1]}", n, balanced(pair), None)
        for pair, n in wrong
    ]


# --- items ------------------------------------------------------------------------------------------------------------


def _key(item: Item) -> str:
    return json.dumps(item, sort_keys=True)


def _without_polarity(record: Any) -> Any:
    triplets = record["triplets"] if isinstance(record, dict) else record
    return [{"aspect": t["aspect"], "opinion": t["opinion"]} if isinstance(t, dict) else tuple(t)[:2] for t in triplets]


def _nothing(scored: Any) -> tuple[list[Any], list[Any]]:
    """Predictions that hold nothing, and references to score them against."""
    references = scored.references.records
    if scored.benchmark == "docred":
        return [], references
    field = {"aste": "triplets", "propsegment": "propositions", "sentivent": "annotations"}[scored.benchmark]
    if scored.benchmark == "aste" and scored.result["f1"] is None:
        ids = [record.get("id") if isinstance(record, dict) else None for record in references]
        references = [
            {"id": name, "triplets": _without_polarity(record)} for name, record in zip(ids, references, strict=True)
        ]
    by_id = "pairing:id" in scored.result["signature"]
    return [{"id": record["id"], field: []} if by_id else {field: []} for record in references], references


def _right(scored: Any) -> dict[Any, list[tuple[str, Item]]]:
    """The gold items of each record that were found, with their component."""
    predictions, references = _nothing(scored)
    metric_options = {name: value for name, value in scored.options.items() if name != "per_document"}
    metric_options = {name: value for name, value in metric_options.items() if name not in _ONLY_FIGURES}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        everything = scored.metric.compute(predictions=predictions, references=references, **metric_options)
    left = Counter(
        (error["record"], error["component"], _key(error["reference"]))
        for error in scored.result["errors"]
        if error["reference"] is not None
    )
    found: dict[Any, list[tuple[str, Item]]] = defaultdict(list)
    for error in everything["errors"]:
        key = (error["record"], error["component"], _key(error["reference"]))
        if left[key]:
            left[key] -= 1
        else:
            found[error["record"]].append((error["component"], error["reference"]))
    return found


# Options that cost time and change no error.
_ONLY_FIGURES = ("confidence_level", "n_resamples", "random_state", "interval_method", "groups", "train")
_SPAN_NAMES = {"h_idx": "head", "h": "head", "t_idx": "tail", "t": "tail"}


def _is_span(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(index, int) for index in value)


def _side(item: Item, entities: list[tuple[str, list[int]]]) -> Side | None:
    """An item of a metric's errors as it is shown."""
    if item is None:
        return None
    if isinstance(item, list):
        item = {"proposition": item}
    spans: dict[str, list[int]] = {}
    texts: dict[str, str] = {}
    labels: dict[str, str] = {}
    for name, value in item.items():
        if _is_span(value):
            spans[name] = sorted(set(value))
        elif name in _SPAN_NAMES:
            texts[_SPAN_NAMES[name]], spans[_SPAN_NAMES[name]] = (
                entities[value] if value < len(entities) else (f"entity {value}", [])
            )
        elif name in ("head", "tail", "aspect", "opinion"):
            texts[name] = str(value)
            spans[name] = next((place for text, place in entities if text == value), [])
        elif value is not None:
            labels[name] = str(value)
    return Side(spans, texts, labels)


def _entities(record: Any) -> tuple[list[str], list[tuple[str, list[int]]]]:
    """The tokens of a DocRED document, and the name and the tokens of each entity."""
    sentences = record.get("sents") or []
    starts = [0]
    for sentence in sentences:
        starts.append(starts[-1] + len(sentence))
    found = []
    for mentions in record["vertexSet"]:
        place: set[int] = set()
        for mention in mentions:
            position, sentence = mention.get("pos"), mention.get("sent_id")
            if position is not None and sentence is not None and sentence < len(sentences):
                begin, end = (starts[sentence] + int(at) for at in position)
                place.update(at for at in range(begin, end) if 0 <= at < starts[-1])
        found.append((str(mentions[0].get("name")) if mentions else "", sorted(place)))
    return [str(token) for sentence in sentences for token in sentence], found


def _by_name(scored: Any) -> dict[Any, Any]:
    """The reference record of each name that errors use."""
    records = scored.references.records
    if scored.benchmark == "docred":
        return {str(record["title"]): record for record in records}
    named = {str(r["id"]): r for r in records if isinstance(r, dict) and r.get("id") is not None}
    return named if "pairing:id" in scored.result["signature"] else dict(enumerate(records))


def _tokens_of(record: Any) -> list[str] | None:
    tokens = record.get("tokens") if isinstance(record, dict) else None
    return None if tokens is None else [str(token) for token in tokens]


def _documents(scored: Any, right: dict[Any, list[tuple[str, Item]]]) -> list[Document]:
    references = _by_name(scored)
    predicted_tokens = (
        {at: _tokens_of(record) for at, record in enumerate(scored.predictions.records)}
        if 0 in references and len(scored.predictions.records) == len(references)
        else {}
    )
    errors: dict[Any, list[dict[str, Any]]] = defaultdict(list)
    for error in scored.result["errors"]:
        errors[error["record"]].append(error)
    documents = []
    for row in scored.result["per_document"]:
        name = row["id"]
        record = references.get(name, {})
        entities: list[tuple[str, list[int]]] = []
        tokens: list[str] | None
        if scored.benchmark == "docred":
            tokens, entities = _entities(record) if record else ([], [])
        else:
            tokens = _tokens_of(record) or predicted_tokens.get(name)
        items = [Shown(RIGHT, RIGHT, component, None, _side(item, entities)) for component, item in right.get(name, [])]
        for error in errors.get(name, []):
            kind = error["kind"]
            status = kind if kind in (MISSED, SPURIOUS) else WRONG
            sides = (_side(error[side], entities) for side in ("prediction", "reference"))
            items.append(Shown(status, kind, error["component"], *sides))
        known = bool(tokens)
        if not tokens:
            last = max((at for item in items for at in _places(item)), default=-1)
            tokens = [str(at) for at in range(last + 1)]
        documents.append(Document(str(name), tokens, known, items))
    return documents


def _places(item: Shown) -> Iterable[int]:
    for side in (item.prediction, item.reference):
        for span in side.spans.values() if side else ():
            yield from span


def _label_documents(scored: Any) -> list[Document]:
    """Pairs of premise and hypothesis, whose texts are in records of other files."""
    references = _by_name(scored)
    documents = []
    for row in scored.result["per_document"]:
        right = row["gold"] == row["predicted"]
        predicted, gold = (Side({}, {}, {"label": row[side]}) for side in ("predicted", "gold"))
        kind = RIGHT if right else f"{row['gold']} as {row['predicted']}"
        record = references.get(row["id"], {})
        texts = [str(record[k]) for k in ("premise", "hypothesis") if isinstance(record, dict) and k in record]
        tokens = " → ".join(texts).split()
        component = "entailment" if row["correct"] == right else "three_way"
        item = Shown(RIGHT if right else WRONG, kind, component, None if right else predicted, gold)
        documents.append(Document(str(row["id"]), tokens, True, [item]))
    return documents


# --- confusions -------------------------------------------------------------------------------------------------------


def _confusions(errors: list[dict[str, Any]], right: dict[Any, list[tuple[str, Item]]]) -> list[Confusion]:
    """For each label of a component's items, which gold label was predicted as which, over right and aligned items."""
    counts: dict[tuple[str, str], Counter] = defaultdict(Counter)

    def add(component: str, prediction: Item, reference: Item) -> None:
        if not isinstance(reference, dict) or not isinstance(prediction, dict):
            return
        for name, gold in reference.items():
            predicted = prediction.get(name)
            if name in prediction and (isinstance(gold, str) or isinstance(predicted, str)) and name not in _TERMS:
                counts[component, name][str(gold), str(predicted)] += 1

    for items in right.values():
        for component, item in items:
            add(component, item, item)
    for error in errors:
        add(error["component"], error["prediction"], error["reference"])
    found = []
    for (component, name), pairs in counts.items():
        if any(gold != predicted for gold, predicted in pairs):
            frequent: Counter = Counter()
            for (gold, predicted), n in pairs.items():
                frequent[gold] += n
                frequent[predicted] += n * (gold != predicted)
            labels = [label for label, _ in frequent.most_common()]
            field = {"r": "relation"}.get(name, name)
            found.append(Confusion(f"{component}: {field}", labels, dict(pairs)))
    return found


_TERMS = ("aspect", "opinion", "head", "tail")


# --- ranking ----------------------------------------------------------------------------------------------------------


def _curve(scored: Any, points: int = 400) -> list[tuple[float, float]]:
    """Recall and precision of the different facts, in the order of their scores, ties together."""
    if scored.benchmark != "docred" or scored.options.get("match", "indices") != "indices":
        return []
    gold = set()
    for record in scored.references.records:
        labels = record["labels"]
        if isinstance(labels, dict):
            columns = [labels.get(long) or labels.get(short) or [] for long, short in _LABEL_COLUMNS]
            gold |= {(str(record["title"]), *fact) for fact in zip(*columns, strict=False)}
        else:
            gold |= {
                (str(record["title"]), *(label.get(short, label.get(long)) for long, short in _LABEL_COLUMNS))
                for label in labels
            }
    best: dict[tuple, float] = {}
    for record in scored.predictions.records:
        if record.get("scores") is not None or isinstance(record.get("relations"), dict):
            return []
        for fact in [record] if record.get("relations") is None else record["relations"]:
            key = (str(record["title"]), fact["h_idx"], fact["t_idx"], fact["r"])
            value = fact.get("score")
            best[key] = max(best.get(key, float("-inf")), 1.0 if value is None else float(value))
    if not gold or len(set(best.values())) < 2:
        return []
    found, curve, seen = 0, [], 0
    ranked = sorted(best.items(), key=lambda item: -item[1])
    for at, (key, value) in enumerate(ranked):
        found, seen = found + (key in gold), seen + 1
        if at + 1 == len(ranked) or ranked[at + 1][1] != value:
            curve.append((found / len(gold), found / seen))
    step = max(1, len(curve) // points)
    return curve[::step] + ([curve[-1]] if (len(curve) - 1) % step else [])


_LABEL_COLUMNS = (("head", "h"), ("tail", "t"), ("relation_id", "r"))
