"""Propositional segmentation and entailment (Chen et al. 2022) as a Hugging Face Evaluate metric of two configurations.

The file reads as the benchmark's definition: what a record is, what is counted, what is scored; segmentation first,
then entailment. Counting gives a table with one row a sentence (an entailment pair), and every score is a function of
the table's sum. Macro means over sentences are such functions too: the rates of each sentence are columns of a second
table beside the counts, and how many sentences they are from is its last column.
"""

import math
import warnings
from collections.abc import Mapping
from numbers import Real
from typing import Any, NamedTuple

import datasets
import evaluate
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .matching import (
    COUNT_NAMES,
    GOLD,
    PREDICTED,
    Edges,
    Spans,
    align,
    beside,
    concatenate,
    divide,
    f_score,
    jaccard,
    match,
    most_pairs,
    number_spans,
    overlaps,
    precision_recall_f,
    rates_or,
    row,
    spans,
)
from .records import (
    CONFIDENCE,
    SIDES,
    Check,
    Choice,
    Either,
    Flag,
    Identifier,
    Integer,
    Items,
    Length,
    Mistake,
    Node,
    Optional,
    Record,
    Staging,
    Text,
    check_inside,
    check_same_length,
    flag,
    integers,
    lists,
    number,
    one_of,
    owners,
    pair,
    present,
    shown,
)
from .resampling import Statistics, add_intervals, number_groups

VERSION = "1.0.0"

_DESCRIPTION = """\
PropSegmEnt: how well a model splits sentences into propositions, sets of tokens (configuration "segmentation", the
default), and how well it tells whether a premise entails a proposition (configuration "entailment"). Segmentation
aligns predicted with gold propositions one to one for the largest total Jaccard similarity; a pair counts when its
similarity is at least 0.8; precision and recall are means over sentences (Chen et al. 2022, section 5.1). Entailment's
headline is balanced accuracy of entail against not-entail (section 5.2). All rates are in [0, 1].
"""

_CITATION = """\
@inproceedings{chen2023propsegment,
  title = {{PropSegmEnt}: A Large-Scale Corpus for Proposition-Level Segmentation and Entailment Recognition},
  author = {Chen, Sihao and Buthpitiya, Senaka and Fabrikant, Alex and Roth, Dan and Schuster, Tal},
  booktitle = {Findings of the Association for Computational Linguistics: ACL 2023},
  pages = {8874--8893},
  year = {2023},
  note = {arXiv:2212.10750}
}
"""

_SEGMENTATION_DESCRIPTION = """
Parameters
----------
predictions, references : list of records
    A record is ``{"propositions": [[token index, ...], ...]}``, with ``id`` and ``tokens`` if you like, or the bare
    list of propositions. A reference may be an entry of the benchmark's ``propositions.*.json`` as it is: its
    reference response counts. Columns and a ``datasets.Dataset`` are taken too.
threshold : float in (0, 1], default 0.8
    The Jaccard similarity from which on an aligned pair counts.
alignment : {"total", "threshold"}, default "total"
    For the largest total similarity, before the threshold is looked at; or for as many pairs at or above the threshold
    as possible.
beta : float above 0, default 1.0
    Above 1 weights recall in every F, below 1 precision. The keys stay ``f1``; the signature tells.
deduplicate : bool, default True
    Whether propositions equal to an earlier one of their sentence are removed before scoring, on both sides.
empty : {"zero", "one", "skip"}, default "zero"
    Precision and recall of a sentence with neither predicted nor gold propositions: 0, 1, or left out of the means.
per_document : bool, default False
    Adds the counts of each sentence.
return_errors : bool, default False
    Adds what was missed, spurious, a near miss, merged or split.
confidence_level : float in (0, 1), optional
    Adds ``confidence_intervals``, ``[low, high]`` of each headline score, by resampling sentences with replacement.
n_resamples, random_state : int, default 1000 and 0
interval_method : {"percentile", "bca"}, default "percentile"
groups : list of keys, one a reference, optional
    Sentences of one key are resampled together; entries of the benchmark's files have their document's.

Returns
-------
dict
    ``precision``, ``recall``, ``f1`` (means over sentences, and F of the two means); the same three for ``exact``
    (equal token sets); ``micro`` (pooled over propositions, with its counts); ``repeated_predictions``,
    ``repeated_references``, ``repetition_rate``; ``empty_predictions``, ``empty_references``; ``no_reference`` (entries
    without a reference response, left out); ``signature``.

Examples
--------
>>> import evaluate
>>> propsegment = evaluate.load("propsegment_metric.py")
>>> gold = [[0, 1, 2, 3, 4], [0, 1, 5, 6]]
>>> result = propsegment.compute(predictions=[[[0, 1, 2, 3]]], references=[gold])
>>> result["precision"], result["recall"], round(result["f1"], 4)
(1.0, 0.5, 0.6667)
"""

_ENTAILMENT_DESCRIPTION = """
Parameters
----------
predictions, references : list of labels
    ``entail``, ``neutral``, ``contradict``, their usual other names, the letters e, n and c, the benchmark's
    ``RELATIONSHIP_...``, or integers with `label_names`; in two-way data ``entail`` and ``not-entail``. A label may
    stand in a dict under ``label``, with ``id`` if you like. A reference may be an entry of the benchmark's
    ``relationships.*.json`` as it is: the label that most raters gave counts, and at least two.
label_names : list of str, or dict of int to str, optional
    What integers mean. There is no default, as models differ.
per_document : bool, default False
    Adds gold and predicted label of each pair, and whether they agree on entail against not-entail.
return_errors : bool, default False
    Adds the pairs with a wrong label.
confidence_level : float in (0, 1), optional
    Adds ``confidence_intervals``, ``[low, high]`` of each headline score, by resampling pairs with replacement.
n_resamples, random_state : int, default 1000 and 0
interval_method : {"percentile", "bca"}, default "percentile"
groups : list of keys, one a reference, optional
    Pairs of one key are resampled together.

Returns
-------
dict
    ``balanced_accuracy`` and ``accuracy`` (two-way); ``per_label``; ``macro_f1``, ``three_way_accuracy``,
    ``matthews_correlation``, ``confusion_matrix`` (three-way, None in two-way data); ``no_reference`` (entries without
    a label that two raters gave, left out); ``undefined``, if a class does not occur in the references; ``signature``.

Examples
--------
>>> import evaluate
>>> propsegment = evaluate.load("propsegment_metric.py", "entailment")
>>> result = propsegment.compute(predictions=["n", "n", "e"], references=["entail", "neutral", "entail"])
>>> result["balanced_accuracy"], round(result["accuracy"], 4)
(0.75, 0.6667)
"""


# --- segmentation: records --------------------------------------------------------------------------------------------


def _bare_record(value: Any) -> dict | None:
    return {"propositions": value} if isinstance(value, (list, tuple, np.ndarray)) else None


def _form(value: Any) -> str:
    """Whether a reference is an entry of the benchmark's files: one with responses is, whatever else it has."""
    is_entry = isinstance(value, (dict, Mapping)) and value.get("segmentation_responses") is not None
    return "entry" if is_entry else "record"


_TOKENS = Optional(Length(Items(Text("a token"), "a list of tokens")))
_PROPOSITION = Items(Integer("a token index", many=True), "the token indices of a proposition", minimum=1)
_SENTENCE = Record(
    {"id": Optional(Identifier()), "tokens": _TOKENS, "propositions": Items(_PROPOSITION, "a list of propositions")},
    "a record: a dict with propositions, or a list of propositions",
    other=_bare_record,
)
# The files and their documentation differ in one name.
_ENTRY_PROPOSITION = Record(
    {"token_indices": _PROPOSITION},
    "a proposition: a dict with token_indices",
    aliases={"included_token_indices": "token_indices"},
)
_RESPONSE = Record(
    {
        "is_reference_response": Flag(),
        "propositions": Optional(Items(_ENTRY_PROPOSITION, "a list of propositions")),
    },
    "a rater's response: a dict with is_reference_response and propositions",
)
_SENTENCE_ID = Record(
    {"cluster_id": Identifier(), "document_id": Identifier(), "sentence_index": Integer("a sentence index")},
    "a sentence_id: a dict with cluster_id, document_id and sentence_index",
)
_SENTENCE_ENTRY = Record(
    {
        "id": Optional(Identifier()),
        "sentence_id": Optional(_SENTENCE_ID),
        "tokens": _TOKENS,
        "segmentation_responses": Items(_RESPONSE, "a list of responses"),
    },
    "an entry: a dict with sentence_id and segmentation_responses",
)
_REFERENCE = Either(
    "a record: a dict with propositions or segmentation_responses, or a list of propositions",
    choose=_form,
    record=_SENTENCE,
    entry=_SENTENCE_ENTRY,
)

# How records are kept; a reference without propositions is an entry without a reference response.
_KEPT_PREDICTION = pa.struct([_SENTENCE.arrow.field(name) for name in ("id", "tokens", "propositions")])
_KEPT_REFERENCE = pa.struct([*_KEPT_PREDICTION, ("group", pa.string())])


def _kept_references(column: pa.StructArray) -> pa.StructArray:
    """References of either form as they are kept: an entry's reference response gives its propositions.

    The id of an entry is ``cluster/document/index``, unless it has one of its own, and its document is its group.
    Raters who found a sentence non-informational gave a response without propositions, which is one with none of them.
    """
    records, entries = column.flatten()
    columns = [records.field(name) for name in ("id", "tokens", "propositions")]
    if entries.null_count == len(entries):
        return pa.StructArray.from_arrays([*columns, pa.nulls(len(column), pa.string())], fields=list(_KEPT_REFERENCE))

    name, sentence_id, tokens, given = entries.flatten()
    cluster, document, index = sentence_id.flatten()
    names = pc.coalesce(name, pc.binary_join_element_wise(cluster, document, index.cast(pa.string()), "/"))
    kept = [names, tokens, _of_reference_response(given)]
    if records.null_count < len(records):
        is_entry = entries.is_valid()
        kept = [pc.if_else(is_entry, *choice) for choice in zip(kept, columns, strict=True)]
    return pa.StructArray.from_arrays([*kept, document], fields=list(_KEPT_REFERENCE))


def _of_reference_response(column: pa.ListArray) -> pa.ListArray:
    """From the raters' responses to the propositions of the one that is the reference, null where none is."""
    offsets, responses = lists(column)
    chosen = np.flatnonzero(responses.field("is_reference_response").to_numpy(zero_copy_only=False))
    entry = owners(offsets)[chosen]
    again = entry[1:][entry[1:] == entry[:-1]]
    if len(again):
        raise Mistake(
            "two responses are the reference response, expected at most one", f"[{again[0]}].segmentation_responses"
        )
    response = np.full(len(column), -1)
    response[entry] = chosen
    absent = response < 0
    taken = responses.field("propositions").take(pa.array(response, mask=absent))
    offsets, propositions = lists(taken)
    starts = pa.array(offsets.astype(np.int32), mask=np.append(absent, False))
    return pa.ListArray.from_arrays(starts, propositions.field("token_indices"))


def _check_inside(side: str, column: pa.StructArray, tokens: pa.Int32Array, order: np.ndarray) -> None:
    """Refuse token indices past the end, where the number of tokens of a record (`tokens[order]`) is known."""
    n_tokens = tokens.fill_null(-1).to_numpy(zero_copy_only=False)[order]
    if (n_tokens < 0).all():
        return
    offsets, propositions = lists(column.field("propositions"))
    index_offsets, indices = lists(propositions)
    proposition = owners(index_offsets)
    record = owners(offsets)[proposition]

    def place(at: int) -> str:
        steps = proposition[at] - offsets[record[at]], at - index_offsets[proposition[at]]
        return f"{side}[{record[at]}].propositions[{steps[0]}][{steps[1]}]"

    check_inside(integers(indices), n_tokens[record], place, "the number of tokens")


# --- both: pairing with entries that have no reference ----------------------------------------------------------------


class Pairing(NamedTuple):
    """Which records are scored.

    Attributes
    ----------
    order : ndarray of int64, shape (n_predictions,)
        The reference each prediction belongs to.
    predictions, references : ndarray of bool
        Which records of each side are scored: not those of entries without a reference.
    kind : {"id", "position"}
    """

    order: np.ndarray
    predictions: np.ndarray
    references: np.ndarray
    kind: str


def _paired(predicted: pa.StringArray, gold: pa.StringArray, has_reference: np.ndarray, what: str) -> Pairing:
    """Pair by id or position; predictions are one an entry, or one an entry with a reference."""
    n_all, n_with = len(has_reference), int(has_reference.sum())
    if n_all and not n_with:
        raise ValueError(f"references: none of the {n_all} entries has {what}, expected at least one that has")
    if n_with == n_all or len(predicted) == n_all:
        order, kind = pair(predicted, gold)
    elif len(predicted) == n_with:
        order, kind = pair(predicted, gold.filter(pa.array(has_reference)))
        order = np.flatnonzero(has_reference)[order]
    else:
        raise ValueError(
            f"{len(predicted)} predictions for {n_all} entries, {n_with} of which have {what}: "
            f"expected {n_all} or {n_with} predictions"
        )
    return Pairing(order, has_reference[order], has_reference, kind)


def _names(ids: pa.StringArray, pairing: Pairing) -> list:
    """What the result calls each scored reference: its id where records pair by id, else its position."""
    positions = np.flatnonzero(pairing.references).tolist()
    if pairing.kind == "position":
        return positions
    names = ids.to_pylist()
    return [names[position] for position in positions]


def _signature(choices: dict[str, str]) -> str:
    return "|".join(["propsegment", *(f"{name}:{choice}" for name, choice in choices.items())])


# --- segmentation: count ----------------------------------------------------------------------------------------------

# The rows of the tables.
_COMPONENTS = ("jaccard", "exact")


class Propositions(NamedTuple):
    """The propositions of one side.

    Attributes
    ----------
    sentence : ndarray of int64, shape (n,)
    spans : Spans
        Their token sets.
    """

    sentence: np.ndarray
    spans: Spans


class Alignment(NamedTuple):
    """How the propositions that are compared were aligned.

    Attributes
    ----------
    predicted, gold : Propositions
        Each once if deduplicated.
    edges : Edges
        Those that share tokens.
    similarity : ndarray of float64
        Jaccard, of each edge.
    matched, unmatched : ndarray of int64
        The aligned edges that count, and those that do not.
    """

    predicted: Propositions
    gold: Propositions
    edges: Edges
    similarity: np.ndarray
    matched: np.ndarray
    unmatched: np.ndarray


class Counts(NamedTuple):
    """What was counted.

    Attributes
    ----------
    table : ndarray of int64, shape (n_sentences, 2, 3)
        True positives, predicted and gold of each sentence, at the threshold and exact.
    given : ndarray of int64, shape (n_sentences, 2)
        Predicted and gold propositions before repeated ones are removed.
    different : ndarray of int64, shape (n_sentences, 2)
        The same after that, whether or not they are removed.
    alignment : Alignment
    """

    table: np.ndarray
    given: np.ndarray
    different: np.ndarray
    alignment: Alignment


def count(
    predicted: Propositions, gold: Propositions, n_sentences: int, threshold: float, alignment: str, deduplicate: bool
) -> Counts:
    """Count propositions found, by sentence (Chen et al. 2022, section 5.1).

    Equal propositions need no alignment: 1 - Jaccard is a metric, so swapping two pairs for an equal pair and the pair
    of the other two never lowers the total, and among alignments with the largest total one has as many equal pairs as
    there can be.
    """
    split = len(predicted.sentence)
    both = concatenate(predicted.spans, gold.spans)
    items = number_spans(both)
    columns = (predicted.sentence, items[:split], gold.sentence, items[split:])
    given = np.stack([np.bincount(side.sentence, minlength=n_sentences) for side in (predicted, gold)], axis=1)
    different = match(*columns)
    exact = different if deduplicate else match(*columns, repeats="count")
    if deduplicate:
        # An example stands for its item on either side, as the two are equal.
        on_side = (different.counts[:, side] > 0 for side in (PREDICTED, GOLD))
        predicted, gold = (Propositions(different.document[on], both.take(different.example[on])) for on in on_side)
    aligned = _aligned(predicted, gold, threshold, alignment)

    by_sentence = different.table(n_sentences)[:, [PREDICTED, GOLD]]
    exact_table = exact.table(n_sentences)
    found = np.bincount(predicted.sentence[aligned.edges.left[aligned.matched]], minlength=n_sentences)
    at_threshold = np.column_stack([found, exact_table[:, [PREDICTED, GOLD]]])
    return Counts(beside([at_threshold, exact_table]), given, by_sentence, aligned)


def _aligned(predicted: Propositions, gold: Propositions, threshold: float, alignment: str) -> Alignment:
    """One to one, for the largest total similarity or for the most pairs at or above the threshold.

    Of alignments with equal totals, one with the most pairs at or above the threshold: then the order of propositions
    never shows. Pairs that share no token add nothing to a total and never count, so they are left out.
    """
    edges = overlaps(predicted.spans, predicted.sentence, gold.spans, gold.sentence)
    similarity = jaccard(edges, predicted.spans, gold.spans)
    counting = similarity >= threshold
    sizes = len(predicted.spans), len(gold.spans)
    if alignment == "total":
        chosen = align(edges.left, edges.right, similarity, *sizes, prefer=counting)
        return Alignment(predicted, gold, edges, similarity, chosen[counting[chosen]], chosen[~counting[chosen]])
    candidates = np.flatnonzero(counting)
    partner = most_pairs(edges.left[candidates], edges.right[candidates], *sizes)
    matched = candidates[partner[edges.left[candidates]] == edges.right[candidates]]
    free = np.isin(edges.left, edges.left[matched], invert=True) & np.isin(
        edges.right, edges.right[matched], invert=True
    )
    rest = np.flatnonzero(free)
    chosen = align(edges.left[rest], edges.right[rest], similarity[rest], *sizes)
    return Alignment(predicted, gold, edges, similarity, matched, rest[chosen])


# --- segmentation: score ----------------------------------------------------------------------------------------------


class Rates(NamedTuple):
    """What means over sentences are made of: one row a sentence, or their sum.

    Attributes
    ----------
    rates : ndarray of float64, shape (n_sentences, 2, 2) or (2, 2)
        Precision and recall, at the threshold and exact.
    sentences : ndarray of int64, shape (n_sentences,) or ()
        1 for a sentence that is scored, 0 for one that is left out.
    """

    rates: np.ndarray
    sentences: np.ndarray

    def sum(self) -> "Rates":
        """The sum over sentences, correctly rounded, so that their order does not show in the last digit."""
        columns = self.rates.reshape(len(self.rates), -1).T
        totals = [math.fsum(column.tolist()) for column in columns]
        return Rates(np.reshape(totals, self.rates.shape[1:]), self.sentences.sum())


def rate(table: np.ndarray, empty: str) -> Rates:
    """Precision and recall of each sentence from its counts; `empty` is for those with neither side."""
    rates = precision_recall_f(table, scale=1.0)[..., :2]
    nothing = (table[:, 0, PREDICTED] == 0) & (table[:, 0, GOLD] == 0)
    rates[nothing] = 1.0 if empty == "one" else 0.0
    return Rates(rates, np.where(nothing, 0, 1) if empty == "skip" else np.ones(len(table), np.int64))


def score(counts: np.ndarray, rates: Rates, beta: float) -> dict[str, Any]:
    """Macro and micro scores of sums over sentences, under the names of the result.

    Parameters
    ----------
    counts : ndarray of int, shape (2, 3)
    rates : Rates
    beta : float
    """
    precision, recall = divide(rates.rates, rates.sentences).T
    f = f_score(precision, recall, beta)
    rows = [
        dict(zip(("precision", "recall", "f1"), values, strict=True))
        for values in zip(precision.tolist(), recall.tolist(), f.tolist(), strict=True)
    ]
    return rows[0] | {"exact": rows[1], "micro": row(counts[0], scale=1.0, beta=beta)}


# --- segmentation: items in error -------------------------------------------------------------------------------------

# A proposition covers another when it has at least 4 of each 5 of its tokens.
_COVERED = (4, 5)


def _proposition_errors(alignment: Alignment, names: list) -> list[dict[str, Any]]:
    """The unmatched propositions: aligned pairs with their kind, then those left over.

    A pair is ``merged`` if its prediction covers its gold proposition and at least one more of the sentence, matched
    ones included; else ``split`` if the reverse holds; else a ``near_miss``. Every aligned pair is a near miss, so that
    kind has to come last.
    """
    predicted, gold, edges = alignment.predicted, alignment.gold, alignment.edges
    kinds = np.full(len(edges.left), "near_miss")
    sides = (("split", edges.right, edges.left, predicted), ("merged", edges.left, edges.right, gold))
    for kind, whole, part, parts in sides:
        covers = _COVERED[1] * edges.shared >= _COVERED[0] * parts.spans.lengths[part]
        n_covered = np.bincount(whole[covers], minlength=whole.max(initial=0) + 1)
        kinds[covers & (n_covered[whole] > 1)] = kind

    aligned = np.concatenate([alignment.matched, alignment.unmatched])
    found = [(kinds[edge], edges.left[edge], edges.right[edge]) for edge in alignment.unmatched]
    found += [("spurious", at, None) for at in np.setdiff1d(np.arange(len(predicted.spans)), edges.left[aligned])]
    found += [("missed", None, at) for at in np.setdiff1d(np.arange(len(gold.spans)), edges.right[aligned])]

    def tokens(side: Propositions, at: int | None) -> list[int] | None:
        return None if at is None else side.spans.tokens[slice(*side.spans.offsets[at : at + 2])].tolist()

    def sentence(error: tuple) -> int:
        return predicted.sentence[error[1]] if error[1] is not None else gold.sentence[error[2]]

    return [
        {
            "record": names[sentence(error)],
            "component": "proposition",
            "kind": str(error[0]),
            "prediction": tokens(predicted, error[1]),
            "reference": tokens(gold, error[2]),
        }
        for error in sorted(found, key=sentence)
    ]


# --- segmentation -----------------------------------------------------------------------------------------------------


def _propositions(column: pa.StructArray, sentence: np.ndarray) -> Propositions:
    offsets, propositions = lists(column.field("propositions"))
    index_offsets, indices = lists(propositions)
    return Propositions(sentence[owners(offsets)], spans(index_offsets, integers(indices)))


class _Segmented(NamedTuple):
    """What was read and counted of segmentation."""

    kind: str
    ids: list
    groups: np.ndarray | None
    counts: Counts
    rates: Rates
    beta: float


def _count_segmentation(
    predictions: pa.StructArray,
    references: pa.StructArray,
    threshold: float = 0.8,
    alignment: str = "total",
    beta: float = 1.0,
    deduplicate: bool = True,
    empty: str = "zero",
    groups: list[str] | None = None,
    **_: Any,
) -> _Segmented:
    has_reference = present(references.field("propositions"))
    pairing = _paired(predictions.field("id"), references.field("id"), has_reference, "a reference response")
    _check_inside("predictions", predictions, references.field("tokens"), pairing.order)
    check_same_length(predictions.field("tokens"), references.field("tokens"), pairing.order)

    n_sentences = int(has_reference.sum())
    renumbered = np.cumsum(has_reference) - 1
    order = renumbered[pairing.order[pairing.predictions]]
    predicted = _propositions(predictions.filter(pa.array(pairing.predictions)), order)
    gold = _propositions(references.filter(pa.array(has_reference)), np.arange(n_sentences))
    counts = count(predicted, gold, n_sentences, threshold, alignment, deduplicate)
    own = references.field("group")
    keys = groups if groups is not None or own.null_count == len(own) else own.to_pylist()
    numbers = number_groups(keys, len(references))
    if numbers is not None:
        numbers = numbers[has_reference]
    ids = _names(references.field("id"), pairing)
    return _Segmented(pairing.kind, ids, numbers, counts, rate(counts.table, empty), beta)


def _segmentation_statistics(counted: list[_Segmented]) -> Statistics:
    """Sums of precision and recall, and the number of sentences that they are of."""
    beta = counted[0].beta

    def scores(sums: np.ndarray, whole: np.ndarray) -> np.ndarray:
        sums = np.where(sums[:, 2:], sums, whole)
        means = divide(sums[:, :2], sums[:, 2:])
        return np.column_stack([means, f_score(means[:, 0], means[:, 1], beta)])

    tables = [np.column_stack([system.rates.rates[:, 0], system.rates.sentences]) for system in counted]
    return Statistics(["precision", "recall", "f1"], tables, scores, counted[0].ids, counted[0].groups)


def _segmentation(
    predictions: pa.StructArray,
    references: pa.StructArray,
    threshold: float = 0.8,
    alignment: str = "total",
    beta: float = 1.0,
    deduplicate: bool = True,
    empty: str = "zero",
    per_document: bool = False,
    return_errors: bool = False,
    groups: list[str] | None = None,
    **confidence: Any,
) -> dict[str, Any]:
    """Count, then score; the options are described with the metric."""
    counted = _count_segmentation(predictions, references, threshold, alignment, beta, deduplicate, empty, groups)
    counts = counted.counts
    n_sentences = len(counts.table)
    result = score(counts.table.sum(axis=0), counted.rates.sum(), beta)

    repeated = counts.given - counts.different
    n_given = counts.given.sum(axis=0)
    for side, name in enumerate(SIDES):
        result[f"repeated_{name}"] = int(repeated[:, side].sum())
    result["repetition_rate"] = float(divide((repeated[:, 0] > 0).sum(), n_sentences))
    for side, name in enumerate(SIDES):
        result[f"empty_{name}"] = int((counts.given[:, side] == 0).sum())
    result["no_reference"] = len(references) - n_sentences
    if n_given[0] and not n_given[1]:
        warnings.warn("the references hold no proposition: is this a test set without labels?", stacklevel=2)
        result["no_gold"] = True
    if per_document:
        result["per_document"] = [
            {"id": name, **dict(zip(COUNT_NAMES, values, strict=True))}
            for name, values in zip(counted.ids, counts.table[:, 0].tolist(), strict=True)
        ]
    if return_errors:
        result["errors"] = _proposition_errors(counts.alignment, counted.ids)
    choices = {
        "v": VERSION,
        "task": "segmentation",
        "pairing": counted.kind,
        "alignment": alignment,
        "threshold": repr(threshold),
        "beta": repr(beta),
        "deduplicate": "yes" if deduplicate else "no",
        "empty": empty,
    }
    result["signature"] = _signature(choices)
    add_intervals(result, lambda: _segmentation_statistics([counted]), groups, **confidence)
    return result


# --- entailment: records ----------------------------------------------------------------------------------------------

LABELS = ("entail", "neutral", "contradict")
TWO_WAY_LABELS = ("entail", "not-entail")
_ALL_LABELS = (*LABELS, "not-entail")
_UNSPECIFIED = "unspecified"  # a rater who gave no label

_FILE_LABELS = {
    "RELATIONSHIP_ENTAILS": "entail",
    "RELATIONSHIP_NEITHER_ENTAILS_NOR_CONTRADICTS": "neutral",
    "RELATIONSHIP_CONTRADICTS": "contradict",
}
_WORDS = {
    "e": "entail",
    "entails": "entail",
    "entailed": "entail",
    "entailment": "entail",
    "n": "neutral",
    "c": "contradict",
    "contradicts": "contradict",
    "contradicted": "contradict",
    "contradiction": "contradict",
    "not_entail": "not-entail",
    "not-entailed": "not-entail",
    "not_entailed": "not-entail",
    "not-entailment": "not-entail",
    "not_entailment": "not-entail",
    "non-entailment": "not-entail",
}
_WORDS |= {label: label for label in _ALL_LABELS} | {name.lower(): label for name, label in _FILE_LABELS.items()}


def _kind_of_label(value: Any) -> str | None:
    if isinstance(value, Mapping):
        names = ("relationship_responses", "entailment_responses")
        return "entry" if any(value.get(name) is not None for name in names) else "record"
    if isinstance(value, (str, bytes)):
        return "text"
    return "integer" if isinstance(value, (Real, np.generic)) else None


_LABEL = Choice(_FILE_LABELS, find=lambda text: _WORDS.get(text.lower()), listed=_ALL_LABELS)
_INDEX = Integer("a label's number")
_A_LABEL = "a label: one of " + ", ".join(_ALL_LABELS) + ", or an integer"
_LABELLED = Record(
    {
        "id": Optional(Identifier()),
        "label": Either(_A_LABEL, choose=_kind_of_label, text=_LABEL, integer=_INDEX),
    },
    "a record: a dict with label",
)
_RATING = Record(
    {
        "relationship": Optional(
            Choice(
                {**_FILE_LABELS, "RELATIONSHIP_UNSPECIFIED": _UNSPECIFIED},
                find=lambda text: label if (label := _WORDS.get(text.lower())) in LABELS else None,
                listed=LABELS,
            )
        )
    },
    "a rater's response: a dict with relationship",
    aliases={"entailment_status": "relationship"},
)
_PAIR_ENTRY = Record(
    {"id": Optional(Identifier()), "relationship_responses": Items(_RATING, "a list of responses")},
    "an entry: a dict with relationship_responses",
    aliases={"entailment_responses": "relationship_responses"},
)
_PREDICTED_LABEL = Either(_A_LABEL, choose=_kind_of_label, text=_LABEL, integer=_INDEX, record=_LABELLED)
_GOLD_LABEL = Either(_A_LABEL, choose=_kind_of_label, text=_LABEL, integer=_INDEX, record=_LABELLED, entry=_PAIR_ENTRY)

# How labels are kept: as text or as an integer; neither is an entry without a label that two raters gave.
_KEPT_LABEL = pa.struct([("id", pa.string()), ("label", pa.string()), ("integer", pa.int32())])

_HEADLINE = ("balanced_accuracy", "accuracy", "macro_f1", "three_way_accuracy", "matthews_correlation")
_AGREEING = 2  # raters who must have given a label for it to count (Chen et al. 2022, section 3.3)


def _kept_labels(column: pa.StructArray) -> pa.StructArray:
    """Labels of every form as they are kept."""
    text, integer, record, *entry = column.flatten()
    ids, label = record.flatten()
    text_within, integer_within = label.flatten()
    text, integer = pc.coalesce(text, text_within), pc.coalesce(integer, integer_within)
    if entry and entry[0].null_count < len(column):
        entry_ids, responses = entry[0].flatten()
        ids, text = pc.coalesce(ids, entry_ids), pc.coalesce(text, _agreed(responses))
    return pa.StructArray.from_arrays([ids, text, integer], fields=list(_KEPT_LABEL))


def _agreed(responses: pa.ListArray) -> pa.StringArray:
    """The label that most raters gave, and at least two; null where there is none, or two such labels."""
    offsets, ratings = lists(responses)
    given = pc.index_in(ratings.field("relationship"), pa.array(LABELS)).fill_null(len(LABELS))
    votes = np.zeros((len(responses), len(LABELS) + 1), np.int64)
    np.add.at(votes, (owners(offsets), integers(given)), 1)
    votes = votes[:, : len(LABELS)]
    most = votes.max(axis=1, initial=0)
    agreed = (most >= _AGREEING) & ((votes == most[:, None]).sum(axis=1) == 1)
    return pa.array(LABELS).take(pa.array(votes.argmax(axis=1), mask=~agreed))


def _label_names(value: Any) -> dict[int, str]:
    """The option `label_names`: a list of labels, or a dict from integers to them, as in a model's ``id2label``."""
    wanted = "a list of labels, or a dict from integers to labels"
    if isinstance(value, Mapping):
        try:
            items = {int(key): name for key, name in value.items() if not isinstance(key, (bool, float))}
        except (TypeError, ValueError):
            raise Mistake(f"{shown(value)} is not {wanted}") from None
        if len(items) < len(value) or min(items, default=0) < 0:
            raise Mistake(f"{shown(value)} is not {wanted}")
    elif isinstance(value, (list, tuple)):
        items = dict(enumerate(value))
    else:
        raise Mistake(f"{shown(value)} is not {wanted}")
    if not items:
        raise Mistake(f"{shown(value)} is empty, expected {wanted}")
    names: dict[int, str] = {}
    for key, name in items.items():
        try:
            label = _LABEL.read(name)
        except Mistake as mistake:
            raise mistake.within(f"[{key}]") from None
        # Two classes of a model may both be not-entail; another label twice is a slip.
        if label in names.values() and label != "not-entail":
            raise Mistake(f"{shown(name)} is the second name of {label}, expected each label once", f"[{key}]")
        names[key] = label
    return names


def _codes(column: pa.StructArray, side: str, label_names: dict[int, str] | None) -> np.ndarray:
    """Each label as an index into `_ALL_LABELS`, -1 where an entry has none."""
    codes = integers(pc.index_in(column.field("label"), pa.array(_ALL_LABELS)).fill_null(-1)).astype(np.int64)
    numbers = column.field("integer")
    at = np.flatnonzero(present(numbers))
    if not len(at):
        return codes
    given = integers(numbers.drop_null())
    if label_names is None:
        raise ValueError(
            f"{side}[{at[0]}]: {given[0]} is an integer, expected the option label_names to say what integers mean"
        )
    known = np.isin(given, list(label_names))
    if not known.all():
        first = int(np.argmin(known))
        listed = ", ".join(f"{key} ({name})" for key, name in sorted(label_names.items()))
        raise ValueError(
            f"{side}[{at[first]}]: {given[first]} is not a number of label_names, expected one of {listed}"
        )
    distinct, inverse = np.unique(given, return_inverse=True)
    codes[at] = np.array([_ALL_LABELS.index(label_names[key]) for key in distinct.tolist()], np.int64)[inverse]
    return codes


# --- entailment: count ------------------------------------------------------------------------------------------------


def confusion(gold: np.ndarray, predicted: np.ndarray, n_labels: int) -> np.ndarray:
    """The table of counts: for each pair, 1 in the row of its gold label and the column of its predicted label.

    Returns
    -------
    ndarray of int64, shape (n_pairs, n_labels, n_labels)
    """
    table = np.zeros((len(gold), n_labels, n_labels), np.int64)
    table[np.arange(len(gold)), gold, predicted] = 1
    return table


# --- entailment: score ------------------------------------------------------------------------------------------------


def headline(matrices: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """The headline scores of many confusion matrices (Chen et al. 2022, section 5.2).

    Parameters
    ----------
    matrices : ndarray, shape (n, n_labels, n_labels)
        Gold labels in rows. The first label is entail; two-way, every other one is not-entail.
    whole : ndarray, shape (n_labels, n_labels)
        That of all pairs, which says what classes occur; one that is empty in a matrix has its rate from here.

    Returns
    -------
    ndarray of float64, shape (n, 5) or (n, 2)
        As `_HEADLINE` names them, the first two for two labels. Macro F1 is the mean over all three labels: one that
        never occurs has 0.
    """
    two_way = _as_two_way(matrices)
    found, occurring = np.diagonal(two_way, axis1=-2, axis2=-1), two_way.sum(axis=-1)
    all_two_way = _as_two_way(whole)
    all_occurring = all_two_way.sum(axis=-1)
    rates = np.where(occurring > 0, divide(found, occurring), divide(np.diag(all_two_way), all_occurring))
    total = matrices.sum(axis=(-2, -1))
    columns = [divide(rates[:, all_occurring > 0].sum(axis=-1), (all_occurring > 0).sum())]
    columns.append(divide(found.sum(axis=-1), total))
    if len(whole) == len(LABELS):
        columns.append(rates_or(_by_label(whole), _by_label(matrices), scale=1.0)[..., 2].mean(axis=-1))
        columns.append(divide(np.trace(matrices, axis1=-2, axis2=-1), total))
        columns.append(_matthews(matrices))
    return np.stack(columns, axis=-1)


def _as_two_way(matrices: np.ndarray) -> np.ndarray:
    rows = np.stack([matrices[..., 0, :], matrices[..., 1:, :].sum(axis=-2)], axis=-2)
    return np.stack([rows[..., 0], rows[..., 1:].sum(axis=-1)], axis=-1)


def _by_label(matrices: np.ndarray) -> np.ndarray:
    """True positives, predicted and gold of each label: shape (..., n_labels, 3)."""
    correct = np.diagonal(matrices, axis1=-2, axis2=-1)
    return np.stack([correct, matrices.sum(axis=-2), matrices.sum(axis=-1)], axis=-1)


def _matthews(matrices: np.ndarray) -> np.ndarray:
    """The correlation of gold and predicted labels (Gorodkin 2004), 0 where one side has one label only."""
    matrices = np.asarray(matrices, np.float64)  # exact for up to 90 million pairs
    gold, predicted = matrices.sum(axis=-1), matrices.sum(axis=-2)
    total, correct = gold.sum(axis=-1), np.trace(matrices, axis1=-2, axis2=-1)
    covariance = correct * total - (gold * predicted).sum(axis=-1)
    variances = [total**2 - (side**2).sum(axis=-1) for side in (gold, predicted)]
    return divide(covariance, np.sqrt(variances[0] * variances[1]))


def score_labels(matrix: np.ndarray, labels: tuple[str, ...]) -> dict[str, Any]:
    """Scores of a confusion matrix, under the names of the result.

    Parameters
    ----------
    matrix : ndarray of int, shape (n_labels, n_labels)
        Gold labels in rows.
    labels : tuple of str
    """
    per_label = precision_recall_f(_by_label(matrix), scale=1.0)
    occurring = _as_two_way(matrix).sum(axis=-1)
    scores = dict.fromkeys(_HEADLINE) | dict(zip(_HEADLINE, headline(matrix[None], matrix)[0].tolist(), strict=False))
    result: dict[str, Any] = {name: scores[name] for name in _HEADLINE[:2]}
    result["per_label"] = {
        label: dict(zip(("precision", "recall", "f1"), values, strict=True)) | {"support": support}
        for label, values, support in zip(labels, per_label.tolist(), matrix.sum(axis=1).tolist(), strict=True)
    }
    result |= {name: scores[name] for name in _HEADLINE[2:]}
    three_way = len(labels) == len(LABELS)
    result["confusion_matrix"] = {"labels": list(labels), "matrix": matrix.tolist()} if three_way else None
    if (occurring > 0).sum() == 1:
        result["undefined"] = TWO_WAY_LABELS[int(np.argmin(occurring))]
    return result


# --- entailment -------------------------------------------------------------------------------------------------------


class _Labelled(NamedTuple):
    """What was read and counted of entailment; labels as indices into `_ALL_LABELS`."""

    kind: str
    ids: list
    groups: np.ndarray | None
    predicted: np.ndarray
    gold: np.ndarray

    @property
    def two_way(self) -> bool:
        not_entail = _ALL_LABELS.index("not-entail")
        return bool((self.predicted == not_entail).any() or (self.gold == not_entail).any())

    def table(self, two_way: bool) -> np.ndarray:
        """The confusion of each pair; two-way, every label but entail is not-entail."""
        if two_way:
            return confusion(np.minimum(self.gold, 1), np.minimum(self.predicted, 1), len(TWO_WAY_LABELS))
        return confusion(self.gold, self.predicted, len(LABELS))


def _count_labels(
    predictions: pa.StructArray,
    references: pa.StructArray,
    label_names: dict[int, str] | None = None,
    groups: list[str] | None = None,
    **_: Any,
) -> _Labelled:
    predicted, gold = _codes(predictions, "predictions", label_names), _codes(references, "references", label_names)
    pairing = _paired(
        predictions.field("id"), references.field("id"), gold >= 0, f"a label that {_AGREEING} raters gave"
    )
    scored = pairing.references
    aligned = np.empty(len(references), np.int64)
    aligned[pairing.order] = predicted
    numbers = number_groups(groups, len(references))
    if numbers is not None:
        numbers = numbers[scored]
    return _Labelled(pairing.kind, _names(references.field("id"), pairing), numbers, aligned[scored], gold[scored])


def _label_statistics(counted: list[_Labelled]) -> Statistics:
    """Confusion matrices; two-way if any system is."""
    two_way = any(system.two_way for system in counted)
    n_labels = len(TWO_WAY_LABELS if two_way else LABELS)
    return Statistics(
        list(_HEADLINE[: 2 if two_way else None]),
        [system.table(two_way).reshape(-1, n_labels**2) for system in counted],
        lambda sums, whole: headline(sums.reshape(-1, n_labels, n_labels), whole.reshape(n_labels, n_labels)),
        counted[0].ids,
        counted[0].groups,
    )


def _entailment(
    predictions: pa.StructArray,
    references: pa.StructArray,
    label_names: dict[int, str] | None = None,
    per_document: bool = False,
    return_errors: bool = False,
    groups: list[str] | None = None,
    **confidence: Any,
) -> dict[str, Any]:
    """Count, then score; the options are described with the metric.

    A wrong label that is wrong in the headline too, entail against not-entail, is an error of component
    ``entailment``; neutral for contradict, or the reverse, is one of ``three_way``.
    """
    counted = _count_labels(predictions, references, label_names, groups)
    gold, two_way = counted.gold, counted.two_way
    labels = TWO_WAY_LABELS if two_way else LABELS
    result = score_labels(counted.table(two_way).sum(axis=0), labels)

    result["no_reference"] = len(references) - len(gold)
    sides = (np.minimum(side, 1) if two_way else side for side in (gold, counted.predicted))
    rows = list(zip(counted.ids, *(side.tolist() for side in sides), strict=True))
    if per_document:
        result["per_document"] = [
            {"id": name, "gold": labels[g], "predicted": labels[p], "correct": (g == 0) == (p == 0)}
            for name, g, p in rows
        ]
    if return_errors:
        result["errors"] = [
            {
                "record": name,
                "component": "three_way" if g and p else "entailment",
                "kind": "wrong_label",
                "prediction": labels[p],
                "reference": labels[g],
            }
            for name, g, p in rows
            if g != p
        ]
    choices = {
        "v": VERSION,
        "task": "entailment",
        "pairing": counted.kind,
        "labels": "two-way" if two_way else "three-way",
    }
    if label_names is not None:
        choices["label_names"] = ",".join(f"{key}={name}" for key, name in sorted(label_names.items()))
    result["signature"] = _signature(choices)
    add_intervals(result, lambda: _label_statistics([counted]), groups, **confidence)
    return result


# --- the metric -------------------------------------------------------------------------------------------------------


class _Configuration(NamedTuple):
    """What differs between the two tasks."""

    schemas: dict[str, Node]
    kept: dict[str, pa.DataType]
    checks: dict[str, Check]
    inputs: str


_SHARED: dict[str, Check] = {"per_document": flag, "return_errors": flag, **CONFIDENCE}
_CONFIGURATIONS = {
    "segmentation": _Configuration(
        {"predictions": _SENTENCE, "references": _REFERENCE},
        {"predictions": _KEPT_PREDICTION, "references": _KEPT_REFERENCE},
        {
            "threshold": number(math.ulp(0.0), 1.0, "a number above 0, at most 1"),
            "alignment": one_of("total", "threshold"),
            "beta": number(math.ulp(0.0), 1e6, "a number above 0, at most 1e6"),
            "deduplicate": flag,
            "empty": one_of("zero", "one", "skip"),
            **_SHARED,
        },
        _SEGMENTATION_DESCRIPTION,
    ),
    "entailment": _Configuration(
        {"predictions": _PREDICTED_LABEL, "references": _GOLD_LABEL},
        {"predictions": _KEPT_LABEL, "references": _KEPT_LABEL},
        {"label_names": lambda value: None if value is None else _label_names(value), **_SHARED},
        _ENTAILMENT_DESCRIPTION,
    ),
}


class PropsegmentMetric(Staging, evaluate.Metric):
    """Propositional segmentation, or entailment; see the module's description."""

    def _info(self) -> evaluate.MetricInfo:
        # The first that is asked of a metric, so the configuration is settled here.
        name = "segmentation" if self.config_name == "default" else self.config_name
        if name not in _CONFIGURATIONS:
            raise ValueError(f"config_name: {shown(name)} is not one of {', '.join(_CONFIGURATIONS)}")
        self._task = name
        self._configuration = configuration = _CONFIGURATIONS[name]
        self.schemas, self.option_checks = configuration.schemas, configuration.checks
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=configuration.inputs,
            features=datasets.Features.from_arrow_schema(pa.schema(list(configuration.kept.items()))),
            reference_urls=["https://arxiv.org/abs/2212.10750"],
        )

    def _kept(self, side: str) -> pa.DataType:
        return self._configuration.kept[side]

    def _read(self, side: str, batch: Any) -> pa.Array:
        column = super()._read(side, batch)
        if self._task == "entailment":
            return _kept_labels(column)
        if side == "references":
            try:
                column = _kept_references(column)
            except Mistake as mistake:
                raise mistake.within(side).error() from None
        _check_inside(side, column, column.field("tokens"), np.arange(len(column)))
        return column

    def _count(self, predictions: pa.StructArray, references: pa.StructArray, **options: Any) -> Any:
        task = _count_labels if self._task == "entailment" else _count_segmentation
        return task(predictions, references, **options)

    def _statistics(self, counted: list) -> Statistics:
        return (_label_statistics if self._task == "entailment" else _segmentation_statistics)(counted)

    def _compute(self, predictions: pa.StructArray, references: pa.StructArray, **options: Any) -> dict[str, Any]:
        task = _entailment if self._task == "entailment" else _segmentation
        return task(predictions, references, **options)
