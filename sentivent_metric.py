"""SENTiVENT: economic events and implicit sentiment in whole documents, as a Hugging Face Evaluate metric.

The file reads as the benchmark's definition: what is counted, and what is scored. Each component is a row of
`COMPONENTS` or `FACTUALITY`. Counting gives a table of integers, one row a document. Every score is a function of the
table's sum. Records and options are in ``sentivent_records.py``, items and their overlap in ``sentivent_documents.py``,
and the counts of factuality in ``sentivent_factuality.py``.
"""

import warnings
from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import evaluate
import numpy as np

from .alignment import align, most_pairs
from .collecting import (
    SIDES,
    Collector,
    Counted,
    Definition,
    compare_tokens,
    count_rows,
    describe,
    document_names,
    pair_records,
)
from .columns import Struct
from .coreference import Mentions, coreference_scores, document_statistics
from .errors import error_records, leftovers, matched_records, mended_kinds
from .matching import (
    GOLD,
    PREDICTED,
    TRUE_POSITIVES,
    Edges,
    Matches,
    divide,
    encode,
    match_equal,
    rates_or_whole,
    row,
    stack_tables,
    tabulate,
)
from .mistakes import Mistakes, Places
from .resampling import Statistics, group_codes
from .sentivent_documents import (
    FRAMES,
    Corpus,
    Overlaps,
    check_same_tokens,
    collect_items,
    join_annotations,
    missing_fields,
    unknown_kinds,
)
from .sentivent_errors import KINDS, items_at, relate
from .sentivent_factuality import FACTUALITY, count_factuality
from .sentivent_records import TASKS, check_indices, count_tokens

# For Evaluate's loader alone: it copies the files that this script names, so helpers of helpers are named too.
from .options import Options
from .processes import Run
from .records import Task
from .results import Result
from .values import Node

VERSION = "0.4.0"

_DESCRIPTION = """\
SENTiVENT: economic events with their arguments, implicit sentiment with its targets, and links between the two, in
whole news articles (Jacobs and Hoste 2021, 2022). The headline is a mean of the F1 of five components (twelve with
factuality), weighted by fixed supports, in percent; spans must be equal token for token, and overlap in the relaxed
profile.
"""

_CITATION = """\
@article{jacobs2022sentivent,
  title = {{SENTiVENT}: enabling supervised information extraction of company-specific events in economic and financial
    news},
  author = {Jacobs, Gilles and Hoste, Veronique},
  journal = {Language Resources and Evaluation},
  volume = {56},
  pages = {225--257},
  year = {2022},
  doi = {10.1007/s10579-021-09562-4}
}
@article{jacobs2021fine,
  title = {Fine-Grained Implicit Sentiment in Financial News: Uncovering Hidden Bulls and Bears},
  author = {Jacobs, Gilles and Hoste, Veronique},
  journal = {Electronics},
  volume = {10},
  number = {20},
  year = {2021}
}
@inproceedings{liu2015evaluation,
  title = {Evaluation Algorithms for Event Nugget Detection: A Pilot Study},
  author = {Liu, Zhengzhong and Mitamura, Teruko and Hovy, Eduard},
  booktitle = {Proceedings of the 3rd Workshop on EVENTS at the NAACL-HLT 2015},
  pages = {53--57},
  year = {2015}
}
"""

_INPUTS = """
predictions, references : list of records
    A record is ``{"id": ..., "tokens": [...], "annotations": [...], "relations": ...}``; only annotations are needed,
    and rows of the dataset's ``sentivent_unified_document`` are records as they are. An annotation is
    ``{"id", "kind", "span"}`` and, by kind,

    * ``event``: ``type`` (null for a mere carrier of sentiment), ``subtype``, ``polarity``, ``scoped_polarity``,
      ``realis``, ``modality``, ``negated``, ``arguments`` (each with ``role`` and a pointer);
    * ``sentiment_expression``: ``polarity``, ``scoped_polarity``, ``uncertain``, ``negated``, ``targets`` (pointers);
    * any other kind holds a span that pointers may name.

    A span is ``{"tokens": [...]}`` or the list of token indices, counted from 0. A pointer is the id of an annotation,
    ``{"id": ...}``, or ``{"span": ...}``. Relations are ``{"event_sentiment": [{"from", "to"}], "event_coreference":
    [...]}``, or a list of items with ``kind``. A missing label is a value like any other in the strict and relaxed
    components; factuality leaves it out.
"""

_RETURNS = """
Returns
-------
dict
    ``sentivent_score``, ``sentivent_macro_score``, ``sentivent_relaxed_score``, ``sentivent_relaxed_macro_score``
    (percent, or None); ``strict`` and ``relaxed``, a row a component; ``strict["classification_report"]``;
    ``weights``; ``ignored_annotations`` (by side and kind, those that are no event, no expression and that nothing
    points to) and ``ignored_relations`` (by side and kind, those of other kinds); ``coreference`` if either side has
    event coreference; ``signature``.

Examples
--------
>>> import evaluate
>>> sentivent = evaluate.load("sentivent_metric.py")
>>> event = {"id": "e1", "kind": "event", "span": [3, 4], "type": "Deal"}
>>> gold = [{"annotations": [event, {**event, "id": "e2", "span": [7]}]}]
>>> result = sentivent.compute(predictions=[{"annotations": [event]}], references=gold)
>>> round(result["sentivent_score"], 2), result["strict"]["event_trigger"]["precision"]
(66.67, 100.0)
>>> result["weights"]["active"]
{'event_trigger': 1.0}
"""

_DEFINITION = Definition("sentivent", VERSION, TASKS["default"], _INPUTS, _RETURNS, "item")


# --- components -------------------------------------------------------------------------------------------------------


class Component(NamedTuple):
    """The parts of items that one component compares.

    Attributes
    ----------
    name, frame : str
    spans, labels : tuple of str
        Two items are equal if these spans and labels are.
    report : tuple of str
        The labels that name a row of the classification report, joined by a dot.
    support : int
        Its fixed weight, from train and validation; 0 for a component that is in no score.
    repeats : {"count", "set"}
        Whether the items of a document are a multiset or a set.
    """

    name: str
    frame: str
    spans: tuple[str, ...]
    labels: tuple[str, ...] = ()
    report: tuple[str, ...] = ()
    support: int = 0
    repeats: str = "count"


COMPONENTS = (
    Component("event_trigger", "event", ("trigger",), ("type", "subtype"), ("type", "subtype"), 5256),
    Component("event_argument", "argument", ("trigger", "argument"), ("type", "role"), ("role",), 11492),
    Component("sentiment_expression", "expression", ("expression",), ("polarity",), ("polarity",), 3341),
    Component("sentiment_target", "target", ("expression", "target"), ("polarity",), ("polarity",), 3933),
    Component("event_sentiment_link", "link", ("trigger", "expression"), ("polarity",), ("polarity",), 77),
    Component("trigger_identification", "event", ("trigger",)),
    Component("event_type", "event", ("trigger",), ("type",)),
    Component("event_polarity", "event", ("trigger",), ("polarity",)),
    Component("argument_identification", "argument", ("trigger", "argument")),
    Component("expression_identification", "expression", ("expression",)),
    Component("target_identification", "target", ("expression", "target")),
    Component("link_identification", "link", ("trigger", "expression")),
    Component("target", "target", ("target",), repeats="set"),
    Component("target_polarity", "target", ("target",), ("polarity",), repeats="set"),
)
SCORED = tuple(component for component in COMPONENTS if component.support)
SUPPORTS = {component.name: component.support for component in SCORED} | {
    component.name: component.support for component in FACTUALITY
}
AVERAGES = ("micro", "macro", "weighted")  # rows of a classification report that are no labels
PROFILES = {"strict": "sentivent", "relaxed": "sentivent_relaxed"}  # with the first part of the names of their scores


# --- count ------------------------------------------------------------------------------------------------------------


class Counts(NamedTuple):
    """The counts of all components.

    Attributes
    ----------
    names : list of str
        The counted rows: profile and component, such as ``strict.event_trigger``. A factuality component has a row for
        each label, such as ``strict.factuality.event_negated:true``, and two more. ``aligned`` holds the correct
        records, the aligned ones, and the aligned ones with a gold label. ``labelled`` holds 0 and the predicted and
        gold records with a label, aligned or not.
    table : ndarray of int64, shape (n_documents, len(names), 3)
    reports : dict of str to dict of str to ndarray of int64, shape (3,)
        The counts of each component and label over all documents. There may be hundreds of labels, and no score depends
        on them.
    different : dict of str to Matches
        The different items of each component.
    """

    names: list[str]
    table: np.ndarray
    reports: dict[str, dict[str, np.ndarray]]
    different: dict[str, Matches]

    def whole(self) -> dict[str, np.ndarray]:
        """The counts of all documents by name, each of shape (3,)."""
        return dict(zip(self.names, self.table.sum(axis=0), strict=True))

    def rows(self, names: list[str]) -> np.ndarray:
        """The table with these rows, 0 where a row was not counted: shape (n_documents, len(names), 3)."""
        table = np.zeros((len(self.table), len(names), 3), np.int64)
        place = {name: at for at, name in enumerate(self.names)}
        for at, name in enumerate(names):
            if name in place:
                table[:, at] = self.table[:, place[name]]
        return table


def count(corpus: Corpus, relaxed: bool, include_factuality: bool) -> Counts:
    """Count all components, by document (relaxed alignment after Liu et al. 2015)."""
    tables: dict[str, np.ndarray] = {}
    reports, different = {}, {}
    overlaps = Overlaps(corpus)
    for component in COMPONENTS:
        items = corpus.items[component.frame]
        codes = encode(
            *(corpus.span_codes[items.columns[name]] for name in component.spans),
            *(items.columns[name] for name in component.labels),
        )
        document, code = items.split(items.document), items.split(codes)
        matches = match_equal(document[0], code[0], document[1], code[1], component.repeats)
        table = tables[f"strict.{component.name}"] = matches.table(corpus.n_documents)
        different[component.name] = matches
        if component.report:
            reports[component.name] = _count_report(corpus, component, matches)
        if relaxed:
            edges = overlaps.with_equal_labels(component.frame, component.spans, component.labels)
            table = tables[f"relaxed.{component.name}"] = table.copy()
            table[:, TRUE_POSITIVES] = _count_relaxed(corpus, component, codes, edges)
    if include_factuality:
        tables |= count_factuality(corpus, overlaps if relaxed else None)
    return Counts(list(tables), stack_tables(tables.values()), reports, different)


def _count_report(corpus: Corpus, component: Component, matches: Matches) -> dict[str, np.ndarray]:
    """Counts by label, over all documents.

    A label is its values joined by a dot, without the missing ones, or ``none``. Different labels that are written
    alike, such as the type ``Deal.Sign`` and the type ``Deal`` with the subtype ``Sign``, share one row.
    """
    columns = [corpus.items[component.frame].columns[name][matches.example] for name in component.report]
    _, first, of_item = np.unique(encode(*columns), return_index=True, return_inverse=True)
    counted: dict[str, np.ndarray] = {}
    for at, counts in zip(first.tolist(), tabulate(of_item, matches.counts, len(first)), strict=True):
        values = [corpus.labels[name][column[at]] for name, column in zip(component.report, columns, strict=True)]
        name = ".".join(value for value in values if value is not None) or "none"
        counted[name] = counted[name] + counts if name in counted else counts
    return dict(sorted(counted.items()))


def _count_relaxed(corpus: Corpus, component: Component, codes: np.ndarray, edges: Edges) -> np.ndarray:
    """The largest number of overlapping pairs of each document, one to one.

    The relaxed profile aligns for as many pairs as possible, then for the largest overlap. The counts depend on the
    number of pairs alone, so the amount of overlap is not needed here.
    """
    items = corpus.items[component.frame]
    left, right = edges.left, edges.right
    document, gold_document = items.split(items.document)
    n_left, n_right = len(document), len(gold_document)
    counted = [document, gold_document]
    if component.repeats == "set":
        # Equal items of a document are one item: the first of them.
        first = [_is_first(*side) for side in zip(counted, items.split(codes), strict=True)]
        both = first[0][left] & first[1][right]
        left, right = left[both], right[both]
        counted = [side[is_first] for side, is_first in zip(counted, first, strict=True)]
    # Where all items of a document overlap, any pairs will do.
    n_edges = np.zeros(corpus.n_documents, np.int64)
    np.add.at(n_edges, document, np.bincount(left, minlength=n_left))
    n_predicted, n_gold = (np.bincount(side, minlength=corpus.n_documents) for side in counted)
    n_pairs = np.where(n_edges == n_predicted * n_gold, np.minimum(n_predicted, n_gold), 0)
    rest = (n_pairs[document] == 0)[left]
    left, right = left[rest], right[rest]
    chosen = align(left, right, n_left, n_right, [most_pairs(left)])
    return n_pairs + np.bincount(document[left[chosen]], minlength=corpus.n_documents)


def _is_first(documents: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """True for each item that is the first of the equal items of its document."""
    first = np.zeros(len(codes), bool)
    first[np.unique(encode(documents, codes), return_index=True)[1]] = True
    return first


# --- score ------------------------------------------------------------------------------------------------------------


def active_components(counts: Mapping[str, np.ndarray]) -> list[str]:
    """The active components: either side has an item, or for factuality, any record has a label.

    `counts` holds the counts of all documents by name, as `Counts.whole` gives them.
    """
    seen = {component.name: f"strict.{component.name}" for component in SCORED}
    seen |= {component.name: f"strict.factuality.{component.name}.labelled" for component in FACTUALITY}
    return [name for name, at in seen.items() if at in counts and (counts[at][PREDICTED] or counts[at][GOLD])]


def active_rows(counts: Mapping[str, np.ndarray], profile: str) -> dict[str, list[str]]:
    """The counted rows of each active component: the component's F1 is the plain mean of the F1 of its rows.

    The rows of a factuality component are its labels with any count. A profile that was not counted has no components.
    """
    rows = {}
    for name in active_components(counts) if f"{profile}.{SCORED[0].name}" in counts else ():
        labels = f"{profile}.factuality.{name}:"
        rows[name] = [each for each in counts if each.startswith(labels) and counts[each].any()]
        if f"{profile}.{name}" in counts:
            rows[name] = [f"{profile}.{name}"]
    return rows


def headlines(counts: Mapping[str, np.ndarray], rows: Mapping[str, list[str]]) -> tuple[float | None, float | None]:
    """The means of the F1 of the active components: weighted by their fixed supports, and plain.

    Parameters
    ----------
    counts : dict of str to ndarray of int, shape (3,)
    rows : dict of str to list of str
        The rows of each active component.

    Returns
    -------
    tuple of float, or None where no component is active
    """
    if not rows:
        return None, None
    f1 = {name: _mean([row(counts[each])["f1"] for each in some]) for name, some in rows.items()}
    weighted = sum(SUPPORTS[name] * f1[name] for name in rows) / sum(SUPPORTS[name] for name in rows)
    return weighted, _mean(list(f1.values()))


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0


def score(counts: dict[str, np.ndarray], reports: dict[str, dict[str, np.ndarray]]) -> dict[str, Any]:
    """The scores and tables of the counts of all documents, under the names of the result.

    Parameters
    ----------
    counts : dict of str to ndarray of int, shape (3,)
        As `Counts.whole` gives them.
    reports : dict of str to dict of str to ndarray of int, shape (3,)
        See `Counts`.

    Returns
    -------
    dict
        Scores in [0, 100], None where no component is active or the profile is switched off.
    """
    with_factuality = any(".factuality." in name for name in counts)
    result: dict[str, Any] = {}
    tables: dict[str, Any] = {}
    for profile, prefix in PROFILES.items():
        result[f"{prefix}_score"], result[f"{prefix}_macro_score"] = headlines(counts, active_rows(counts, profile))
        if f"{profile}.{SCORED[0].name}" not in counts:
            continue
        tables[profile] = {component.name: row(counts[f"{profile}.{component.name}"]) for component in COMPONENTS}
        if profile == "strict":
            tables[profile]["classification_report"] = {
                name: _report(labels, counts[f"strict.{name}"]) for name, labels in reports.items()
            }
        if with_factuality:
            tables[profile]["factuality"] = {
                component.name: _factuality_row(counts, f"{profile}.factuality.{component.name}")
                for component in FACTUALITY
            }
    active = active_components(counts)
    total = sum(SUPPORTS[name] for name in active)
    weights = {
        "profile": "extraction_factuality" if with_factuality else "extraction",
        "support_counts": dict(SUPPORTS) if with_factuality else {each.name: each.support for each in SCORED},
        "active": {name: SUPPORTS[name] / total for name in active},
    }
    return result | tables | {"weights": weights}


def _report(labels: dict[str, np.ndarray], micro: np.ndarray) -> dict[str, dict[str, float]]:
    """A row for each label, and their averages; a label with the name of an average gets a longer name."""
    rows = [_report_row(counts) for counts in labels.values()]
    support = int(micro[GOLD])
    macro: dict[str, float] = {}
    weighted: dict[str, float] = {}
    for rate in ("precision", "recall", "f1"):
        macro[rate] = _mean([line[rate] for line in rows])
        weighted[rate] = sum(line[rate] * line["support"] for line in rows) / support if support else 0.0
    names = [_row_name(name, labels) for name in labels]
    return dict(zip(names, rows, strict=True)) | {
        "micro": _report_row(micro),
        "macro": {**macro, "support": support},
        "weighted": {**weighted, "support": support},
    }


def _row_name(label: str, labels: Container[str]) -> str:
    """The name of a label's row, which is neither that of an average nor that of another label."""
    name = label
    while name in AVERAGES or (name != label and name in labels):
        name += " (label)"
    return name


def _report_row(counts: np.ndarray) -> dict[str, float]:
    rates = row(counts)
    return {name: rates[name] for name in ("precision", "recall", "f1")} | {"support": rates["gold"]}


def _factuality_row(counts: Mapping[str, np.ndarray], name: str) -> dict[str, Any]:
    labels = {each.removeprefix(f"{name}:"): row(counts[each]) for each in counts if each.startswith(f"{name}:")}
    correct, _, support = counts[f"{name}.aligned"].tolist()
    return {
        "f1": _mean([line["f1"] for line in labels.values() if line["predicted"] or line["gold"]]),
        "accuracy": float(100 * divide(correct, support)),
        "accuracy_support": support,
        "correct": correct,
        "labels": labels,
    }


# --- coreference ------------------------------------------------------------------------------------------------------


def count_coreference(corpus: Corpus) -> np.ndarray:
    """Statistics of event coreference, one row a document; a mention is a typed event, known by its span and type."""
    items = corpus.items["event"]
    codes = encode(items.document, corpus.span_codes[items.columns["trigger"]], items.columns["type"])
    columns = [items.split(column) for column in (items.document, codes, corpus.chains)]
    predicted, gold = (Mentions(*(column[side] for column in columns)) for side in (0, 1))
    matches = match_equal(predicted.document, predicted.name, gold.document, gold.name, "count")
    return document_statistics(predicted, gold, matches.table(corpus.n_documents), corpus.chained)


# --- items in error ---------------------------------------------------------------------------------------------------


def _errors_of(
    component: Component, corpus: Corpus, matches: Matches, ids: list[Any]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The unmatched items of a component, each with the kind of its error, and the matched items."""
    items = partial(items_at, corpus, component.frame, component.spans, component.labels)
    predicted, gold = (items(*found) for found in leftovers(matches))
    columns = corpus.items[component.frame].columns
    labels = {name: (columns[name][predicted.example], columns[name][gold.example]) for name in component.labels}
    errors = error_records(
        component.name,
        ids,
        predicted,
        gold,
        lambda edges: relate(component.name, edges, component.spans, (predicted, gold), labels),
        KINDS,
    )
    return errors, matched_records(component.name, ids, matches, predicted.show)


# --- the metric -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Counted(Counted):
    """The items and their counts.

    Attributes
    ----------
    ignored : dict of str to dict
        ``ignored_annotations`` and ``ignored_relations`` of the result: counts by side and kind.
    corpus : Corpus
    counts : Counts
    """

    ignored: dict[str, dict[str, dict[str, int]]]
    corpus: Corpus
    counts: Counts


class SentiventMetric(Collector, evaluate.Metric):  # type: ignore[misc]  # evaluate has no types
    """Economic events and implicit sentiment; see the module's description."""

    definition = _DEFINITION

    def _info(self) -> evaluate.MetricInfo:
        homepage = "https://huggingface.co/datasets/GillesJacobs/sentivent"
        return describe(_DEFINITION, _DESCRIPTION, _CITATION, ["https://doi.org/10.1007/s10579-021-09562-4"], homepage)

    def _count(self, predictions: Struct, references: Struct, options: dict[str, Any]) -> _Counted:
        order, pairing = pair_records(predictions["id"], references["id"])
        compare_tokens(predictions["tokens"], references["tokens"], order, pairing, as_indices=False)
        check_same_tokens(predictions["tokens"], references["tokens"], order)
        mistakes = Mistakes()
        check_indices(predictions, count_tokens(references)[order], Places.of_batch("predictions"), mistakes)
        mistakes.raise_first()
        annotations = join_annotations(predictions, references, order)
        for words in (*unknown_kinds(annotations), *missing_fields(annotations, options["include_factuality"])):
            warnings.warn(words, stacklevel=2)
        corpus = collect_items(annotations, len(references))
        counts = count(corpus, options["relaxed"], options["include_factuality"])
        n_items = counts.rows([f"strict.{component.name}" for component in SCORED]).sum(axis=(0, 1))
        choices = {
            "pairing": pairing,
            "profile": "extraction_factuality" if options["include_factuality"] else "extraction",
            "relaxed": "dice>0" if options["relaxed"] else "no",
        }
        return _Counted(
            document_names(references["id"], pairing),
            group_codes(options["groups"], len(references)),
            choices,
            (int(n_items[PREDICTED]), int(n_items[GOLD])),
            {
                "ignored_annotations": dict(zip(SIDES, annotations.ignored_annotations, strict=True)),
                "ignored_relations": dict(zip(SIDES, annotations.ignored_relations, strict=True)),
            },
            corpus,
            counts,
        )

    def _score(self, counted: _Counted, options: dict[str, Any]) -> dict[str, Any]:
        """Score the counts.

        Events without a type are left out of the components about events. ``gold_invalid_structure`` and
        ``predicted_invalid_structure`` of these components are the numbers of events, arguments or links left out.
        """
        corpus = counted.corpus
        result = score(counted.counts.whole(), counted.counts.reports)
        for profile in PROFILES:
            rows = result.get(profile, {})
            rows = rows | rows.get("factuality", {})
            for component in (*COMPONENTS, *FACTUALITY):
                if FRAMES[component.frame].typed and component.name in rows:
                    predicted, gold = corpus.items[component.frame].n_untyped
                    rows[component.name] |= {"gold_invalid_structure": gold, "predicted_invalid_structure": predicted}
        result |= counted.ignored
        if len(corpus.chained):
            result["coreference"] = coreference_scores(count_coreference(corpus).sum(axis=0))
        return result

    def _statistics(self, counted: list[_Counted]) -> Statistics:
        """Every headline is a weighted sum of F1, with the components and labels that the data of any system has."""
        names = list(dict.fromkeys(name for system in counted for name in system.counts.names))
        tables = [system.counts.rows(names) for system in counted]
        whole = dict(zip(names, sum(table.sum(axis=0) for table in tables), strict=True))
        weights: dict[str, dict[str, float]] = {}  # of each counted row in each headline
        for profile, prefix in PROFILES.items():
            rows = active_rows(whole, profile)
            total = sum(SUPPORTS[name] for name in rows)
            if rows:
                weights[f"{prefix}_score"] = {
                    each: SUPPORTS[name] / total / len(some) for name, some in rows.items() for each in some
                }
                weights[f"{prefix}_macro_score"] = {
                    each: 1 / len(rows) / len(some) for some in rows.values() for each in some
                }
        used = [at for at, name in enumerate(names) if any(name in each for each in weights.values())]
        matrix = np.array([[each.get(names[at], 0.0) for each in weights.values()] for at in used])
        matrix = matrix.reshape(len(used), len(weights))

        def scores(sums: np.ndarray, whole: np.ndarray) -> np.ndarray:
            rates = rates_or_whole(whole.reshape(-1, 3), sums.reshape(len(sums), len(used), 3))
            return np.asarray(rates[..., 2] @ matrix)

        tables = [table[:, used].reshape(len(table), -1) for table in tables]
        return Statistics(list(weights), tables, scores, counted[0].ids, counted[0].groups)

    def _document_rows(self, counted: _Counted) -> list[dict[str, Any]]:
        """The strict counts of each scored component. Counts of factuality are summed over labels."""
        columns = {component.name: [f"strict.{component.name}"] for component in SCORED}
        for component in FACTUALITY:
            labels = f"strict.factuality.{component.name}:"
            columns[component.name] = [name for name in counted.counts.names if name.startswith(labels)]
        tables = {name: count_rows(counted.counts.rows(rows).sum(axis=1)) for name, rows in columns.items() if rows}
        return [dict(zip(tables, rows, strict=True)) for rows in zip(*tables.values(), strict=True)]

    def _errors(self, counted: _Counted, options: dict[str, Any]) -> dict[str, Any]:
        """Explain the unmatched items of each document in the strict components, and list the matched ones."""
        counts, ids = counted.counts, counted.ids
        errors: list[dict[str, Any]] = []
        matched: list[dict[str, Any]] = []
        for component in SCORED:
            wrong, right = _errors_of(component, counted.corpus, counts.different[component.name], ids)
            errors += wrong
            matched += right
        whole = counts.whole()
        rows = active_rows(whole, "strict")
        tables = {component.name: counts.rows([f"strict.{component.name}"])[:, 0] for component in SCORED}

        def headline(tables: Mapping[str, np.ndarray]) -> float:
            """The score with these counts of the scored components, and with the weights of the whole data."""
            mended = {f"strict.{name}": table.sum(axis=0) for name, table in tables.items()}
            weighted, _ = headlines(whole | mended, rows)
            return 0.0 if weighted is None else weighted

        return {
            "errors": errors,
            "matched": matched,
            "error_kinds": mended_kinds(errors, tables, ids, headline=headline),
        }
