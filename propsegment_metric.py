"""Propositional segmentation and entailment (Chen et al. 2022) as a Hugging Face Evaluate metric of two configurations.

This file reads as the definition of segmentation: what is counted, and what is scored. Counting gives a table of
integers, one row a sentence. Most scores are means over sentences, so the precision and recall of each sentence stand
in a second table, with the number of sentences as a further column. Every score is a function of the tables' sums.
Records and options are in ``propsegment_records.py``, and entailment is in ``entailment.py``.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise, repeat
from operator import itemgetter
from typing import Any, NamedTuple

import evaluate
import numpy as np

from .alignment import FRACTION_TOLERANCE, Goal, align
from .collecting import SIDES, Collector, Counted, Definition, compare_tokens, count_rows, describe, yes_or_no
from .columns import Lists, Struct, is_present, take
from .entailment import ENTAILMENT
from .errors import MISSED, RIGHT, SPURIOUS, error_record, mended_kinds, unparsed_records
from .matching import (
    GOLD,
    PREDICTED,
    Edges,
    Spans,
    concatenate,
    divide,
    encode_spans,
    f_score,
    jaccard,
    match_equal,
    overlaps,
    precision_recall_f,
    row,
    stack_tables,
    token_sets,
)
from .mistakes import Mistakes, Places, quote
from .propsegment_records import TASKS, check_indices
from .propsegment_tasks import VERSION, Scorer, pair_scored
from .resampling import Statistics

# For Evaluate's loader alone: it copies the files that this script names, so helpers of helpers are named too.
from .entailment_records import LABELS
from .options import Options
from .processes import Run
from .records import Task
from .results import Result
from .values import Node

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

_INPUTS = """
predictions, references : list of records
    A record is ``{"propositions": [[token index, ...], ...]}``, with ``id`` and ``tokens`` if you like, or the bare
    list of propositions. A prediction may have ``unparsed``, the number of copies in a model's output that do not line
    up with the sentence: each is a predicted proposition that matches nothing. A reference may be an entry of the
    benchmark's ``propositions.*.json`` as it is: its reference response counts. Columns and a ``datasets.Dataset`` are
    taken too.
"""

_RETURNS = """
Returns
-------
dict
    ``precision``, ``recall``, ``f1`` (means over sentences, and F of the two means); the same three for ``exact``
    (equal token sets); ``micro`` (pooled over propositions, with its counts); ``repeated_predictions``,
    ``repeated_references``, ``repetition_rate``; ``empty_predictions``, ``empty_references``; ``unparsed_predictions``;
    ``no_reference`` (entries without a reference response, left out); ``different_tokens`` (predictions with other
    tokens than their reference); ``signature``.

Examples
--------
>>> import evaluate
>>> propsegment = evaluate.load("propsegment_metric.py")
>>> gold = [[0, 1, 2, 3, 4], [0, 1, 5, 6]]
>>> result = propsegment.compute(predictions=[[[0, 1, 2, 3]]], references=[gold])
>>> result["precision"], result["recall"], round(result["f1"], 4)
(1.0, 0.5, 0.6667)
"""

_HEADLINE = ("precision", "recall", "f1")
_ITEM = "proposition"


# --- count ------------------------------------------------------------------------------------------------------------


class Propositions(NamedTuple):
    """The propositions of one side.

    Attributes
    ----------
    sentence : ndarray of int64, shape (n,)
        The sentence of each proposition.
    spans : Spans
        The token set of each proposition.
    """

    sentence: np.ndarray
    spans: Spans

    def take(self, chosen: np.ndarray) -> "Propositions":
        """The chosen propositions, in the order of `chosen` (indices)."""
        return Propositions(self.sentence[chosen], self.spans.take(chosen))

    def as_lists(self) -> list[list[int]]:
        """The tokens of each proposition."""
        tokens, bounds = self.spans.tokens.tolist(), self.spans.offsets.tolist()
        return [tokens[start:end] for start, end in pairwise(bounds)]


class Alignment(NamedTuple):
    """The one-to-one alignment of the propositions that are compared.

    Attributes
    ----------
    predicted, gold : Propositions
        Ordered by sentence, then content; each different one once if propositions are deduplicated.
    edges : Edges
        The pairs that share tokens.
    counting, below : ndarray of int64
        The aligned edges with a similarity of at least the threshold, and the aligned edges below it.
    """

    predicted: Propositions
    gold: Propositions
    edges: Edges
    counting: np.ndarray
    below: np.ndarray


class Counts(NamedTuple):
    """The counts of all sentences.

    Attributes
    ----------
    table : ndarray of int64, shape (n_sentences, 2, 3)
        True positives, predicted and gold of each sentence, at the threshold and exact.
    given : ndarray of int64, shape (n_sentences, 2)
        The number of predicted and of gold propositions, repeated ones included.
    different : ndarray of int64, shape (n_sentences, 2)
        The number of different predicted and gold propositions.
    unparsed : ndarray of int64, shape (n_sentences,)
        The number of unparsed copies. They are predicted in `table`, and not in `given` and `different`.
    alignment : Alignment
    """

    table: np.ndarray
    given: np.ndarray
    different: np.ndarray
    unparsed: np.ndarray
    alignment: Alignment


def count(
    predicted: Propositions,
    gold: Propositions,
    unparsed: np.ndarray,
    threshold: float,
    alignment: str,
    deduplicate: bool,
) -> Counts:
    """Count the propositions found, by sentence (Chen et al. 2022, section 5.1).

    `unparsed` is the number of unparsed copies of each sentence. Each is predicted, and matches nothing.

    Exact matches are the equal propositions of a sentence and need no alignment of their own. Some alignment with the
    largest total similarity has as many equal pairs as possible, because 1 - Jaccard is a metric: if two pairs are
    replaced by an equal pair and the pair of the other two propositions, the total is never lower.
    """
    split, n_sentences = len(predicted.sentence), len(unparsed)
    both = Propositions(np.concatenate([predicted.sentence, gold.sentence]), concatenate(predicted.spans, gold.spans))
    items = encode_spans(both.spans)
    sides = predicted.sentence, items[:split], gold.sentence, items[split:]
    given = np.stack([np.bincount(side.sentence, minlength=n_sentences) for side in (predicted, gold)], axis=1)
    copies = match_equal(*sides, repeats="count")
    different = copies._replace(counts=np.minimum(copies.counts, 1))
    exact = different if deduplicate else copies
    # Matches are ordered by sentence and content, so the order of the input has no effect. The example of an item may
    # be of the other side, where the same proposition has the same sentence and tokens.
    chosen = [np.repeat(exact.example, exact.counts[:, side]) for side in (PREDICTED, GOLD)]
    aligned = align_propositions(both.take(chosen[0]), both.take(chosen[1]), threshold, alignment)

    found = np.bincount(aligned.predicted.sentence[aligned.edges.left[aligned.counting]], minlength=n_sentences)
    exact_table = exact.table(n_sentences)
    at_threshold = np.column_stack([found, exact_table[:, [PREDICTED, GOLD]]])
    n_different = different.table(n_sentences)[:, [PREDICTED, GOLD]]
    table = stack_tables([at_threshold, exact_table])
    table[:, :, PREDICTED] += unparsed[:, None]
    return Counts(table, given, n_different, unparsed, aligned)


def align_propositions(predicted: Propositions, gold: Propositions, threshold: float, alignment: str) -> Alignment:
    """Align propositions one to one.

    A pair counts if its similarity is at least the threshold. ``alignment="total"`` asks for the largest total
    similarity, then for the most counting pairs (Chen et al. 2022, section 5.1). ``"threshold"`` asks for the most
    counting pairs, then for the largest total similarity of these pairs (section 3.2). Then it aligns the other
    propositions for the largest total similarity. Two propositions without a shared token are never aligned.
    """
    edges = overlaps(predicted.spans, predicted.sentence, gold.spans, gold.sentence)
    similarity = jaccard(edges, predicted.spans, gold.spans)
    is_counting = similarity >= threshold
    total, number = Goal(similarity, FRACTION_TOLERANCE), Goal(is_counting)
    sizes = len(predicted.spans), len(gold.spans)
    if alignment == "total":
        chosen = align(edges.left, edges.right, *sizes, [total, number])
    else:
        # An edge without a value in any goal is left out.
        of_counting = Goal(np.where(is_counting, similarity, 0.0), FRACTION_TOLERANCE)
        first = align(edges.left, edges.right, *sizes, [number, of_counting])
        is_free = [np.ones(size, bool) for size in sizes]
        is_free[0][edges.left[first]] = is_free[1][edges.right[first]] = False
        is_rest = is_free[0][edges.left] & is_free[1][edges.right]
        of_rest = Goal(np.where(is_rest, similarity, 0.0), FRACTION_TOLERANCE)
        then = align(edges.left, edges.right, *sizes, [of_rest])
        chosen = np.sort(np.concatenate([first, then]))
    return Alignment(predicted, gold, edges, chosen[is_counting[chosen]], chosen[~is_counting[chosen]])


# --- score ------------------------------------------------------------------------------------------------------------


class Rates(NamedTuple):
    """The parts of means over sentences: one row a sentence, or their sum.

    Attributes
    ----------
    rates : ndarray of float64, shape (n_sentences, n_components, 2) or (n_components, 2)
        Precision and recall.
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
    """Precision and recall of each sentence.

    Parameters
    ----------
    table : ndarray of int64, shape (n_sentences, n_components, 3)
        Counts. All components have the same numbers of predicted and of gold propositions.
    empty : {"zero", "one", "skip"}
        Rates of a sentence with neither predicted nor gold propositions: 0, or 1, or left out.
    """
    rates = precision_recall_f(table, scale=1.0)[..., :2]
    nothing = (table[:, 0, PREDICTED] == 0) & (table[:, 0, GOLD] == 0)
    rates[nothing] = 1.0 if empty == "one" else 0.0
    return Rates(rates, np.where(nothing, 0, 1) if empty == "skip" else np.ones(len(table), np.int64))


def score_means(rates: np.ndarray, sentences: np.ndarray, beta: float) -> np.ndarray:
    """Mean precision, mean recall, and F of the two means; 0 without sentences.

    Parameters
    ----------
    rates : ndarray of float64, shape (..., 2)
        Sums of precision and of recall over sentences.
    sentences : ndarray of int, of a shape that broadcasts to (...)
        Number of sentences in each sum.
    beta : float
        Weight of recall relative to precision.

    Returns
    -------
    ndarray of float64, shape (..., 3)
    """
    means = divide(rates, np.asarray(sentences)[..., None])
    return np.concatenate([means, f_score(means[..., 0], means[..., 1], beta)[..., None]], axis=-1)


def score(counts: np.ndarray, rates: Rates, beta: float) -> dict[str, Any]:
    """Scores of sums over sentences, under the names of the result.

    Parameters
    ----------
    counts : ndarray of int, shape (2, 3)
        Summed counts, at the threshold and exact.
    rates : Rates
        Summed rates of the same two.
    beta : float
        Weight of recall relative to precision.
    """
    means = score_means(rates.rates, rates.sentences, beta).tolist()
    at_threshold, exact = (dict(zip(_HEADLINE, values, strict=True)) for values in means)
    return at_threshold | {"exact": exact, "micro": row(counts[0], scale=1.0, beta=beta)}


# --- items in error ---------------------------------------------------------------------------------------------------

# A proposition covers another one if it has at least 4 of each 5 of its tokens.
_COVERED = (4, 5)


def _kinds_of_error(alignment: Alignment) -> np.ndarray:
    """The kind of error of each pair that is aligned below the threshold.

    A pair is ``merged`` if its prediction covers its gold proposition and at least one more gold proposition of the
    sentence, aligned or not. Otherwise it is ``split`` if its gold proposition covers its prediction and at least one
    more prediction. Otherwise it is a ``near_miss``.
    """
    edges, below = alignment.edges, alignment.below
    kinds = np.full(len(below), "near_miss")
    sides = (
        ("split", edges.right, edges.left, alignment.predicted),
        ("merged", edges.left, edges.right, alignment.gold),
    )
    for kind, whole, part, parts in sides:
        covers = _COVERED[1] * edges.shared >= (_COVERED[0] * parts.spans.lengths).astype(np.int32)[part]
        n_covered = np.bincount(whole[covers], minlength=whole.max(initial=0) + 1)
        kinds[covers[below] & (n_covered[whole[below]] > 1)] = kind
    return kinds


def explain_alignment(
    alignment: Alignment, unparsed: np.ndarray, ids: list[Any]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """List the propositions in error and the counting pairs.

    Parameters
    ----------
    alignment : Alignment
    unparsed : ndarray of int64, shape (n_sentences,)
        The number of unparsed copies of each sentence.
    ids : list
        Id or index of each sentence.

    Returns
    -------
    errors, matched : list of dict
        As `errors.error_record` gives them, ordered by sentence. In each sentence, pairs below the threshold come
        first, then predicted propositions without a partner, then gold propositions without a partner, then the number
        of unparsed copies.
    """
    predicted, gold, edges = alignment.predicted, alignment.gold, alignment.edges
    predicted_tokens, gold_tokens = predicted.as_lists(), gold.as_lists()
    aligned = np.concatenate([alignment.counting, alignment.below])
    spurious = np.setdiff1d(np.arange(len(predicted_tokens)), edges.left[aligned])
    missed = np.setdiff1d(np.arange(len(gold_tokens)), edges.right[aligned])

    def pairs(kinds: Iterable[str], chosen: np.ndarray) -> list[tuple[int, dict[str, Any]]]:
        left, right = edges.left[chosen], edges.right[chosen]
        rows = zip(predicted.sentence[left].tolist(), kinds, left.tolist(), right.tolist(), strict=False)
        return [
            (sentence, error_record(ids[sentence], _ITEM, kind, predicted_tokens[p], gold_tokens[g]))
            for sentence, kind, p, g in rows
        ]

    wrong = pairs(_kinds_of_error(alignment).tolist(), alignment.below)
    wrong += [
        (sentence, error_record(ids[sentence], _ITEM, SPURIOUS, predicted_tokens[p], None))
        for sentence, p in zip(predicted.sentence[spurious].tolist(), spurious.tolist(), strict=True)
    ]
    wrong += [
        (sentence, error_record(ids[sentence], _ITEM, MISSED, None, gold_tokens[g]))
        for sentence, g in zip(gold.sentence[missed].tolist(), missed.tolist(), strict=True)
    ]
    wrong += zip(np.flatnonzero(unparsed).tolist(), unparsed_records(_ITEM, ids, unparsed), strict=True)
    wrong.sort(key=itemgetter(0))
    right = pairs(repeat(RIGHT), alignment.counting)
    return [record for _, record in wrong], [record for _, record in right]


# --- the task ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Segmented(Counted):
    """The counts and rates of all sentences.

    Attributes
    ----------
    counts : Counts
    rates : Rates
    empty : {"zero", "one", "skip"}
    beta : float
        The options with these names.
    n_without : int
        Number of entries without a reference response.
    different_tokens : int
        Number of predictions with other tokens than their reference.
    """

    counts: Counts
    rates: Rates
    empty: str
    beta: float
    n_without: int
    different_tokens: int


def _propositions(lists: Lists, chosen: np.ndarray, sentence: np.ndarray) -> Propositions:
    """The propositions of the chosen records of one side, given the sentence of each chosen record."""
    if len(chosen) < len(lists):
        lists = take(lists, chosen)
    return Propositions(sentence[lists.owners], token_sets(lists.items.offsets, lists.items.items))


def _count(predictions: Struct, references: Struct, options: dict[str, Any]) -> _Segmented:
    has_reference = is_present(references["propositions"])
    groups = options["groups"]
    if groups is None and is_present(references["group"]).any():
        groups = references["group"].tolist()
    pairing = pair_scored(predictions["id"], references["id"], has_reference, "a reference response", groups)
    different_tokens = compare_tokens(predictions["tokens"], references["tokens"], pairing.order, pairing.kind)
    mistakes = Mistakes()
    check_indices(predictions, references["tokens"]["number"][pairing.order], Places.of_batch("predictions"), mistakes)
    mistakes.raise_first()

    n_sentences = len(pairing.references)
    unparsed = np.zeros(n_sentences, np.int64)
    unparsed[pairing.document] = np.maximum(predictions["unparsed"][pairing.predictions], 0)  # -1 if it is missing
    predicted = _propositions(predictions["propositions"], pairing.predictions, pairing.document)
    gold = _propositions(references["propositions"], pairing.references, np.arange(n_sentences))
    threshold, alignment, deduplicate, empty, beta = (
        options[name] for name in ("threshold", "alignment", "deduplicate", "empty", "beta")
    )
    counts = count(predicted, gold, unparsed, threshold, alignment, deduplicate)
    choices = {
        "task": "segmentation",
        "pairing": pairing.kind,
        "alignment": alignment,
        "threshold": repr(threshold),
        "beta": repr(beta),
        "deduplicate": yes_or_no(deduplicate),
        "empty": empty,
    }
    return _Segmented(
        pairing.ids,
        pairing.groups,
        choices,
        (len(predicted.sentence) + int(unparsed.sum()), len(gold.sentence)),
        counts,
        rate(counts.table, empty),
        empty,
        beta,
        len(references) - n_sentences,
        different_tokens,
    )


def _score(counted: _Segmented, options: dict[str, Any]) -> dict[str, Any]:
    """Score the counts; numbers of repeated propositions and of empty sentences are the same in all modes."""
    counts = counted.counts
    result = score(counts.table.sum(axis=0), counted.rates.sum(), counted.beta)
    repeated = counts.given - counts.different
    for side, name in enumerate(SIDES):
        result[f"repeated_{name}"] = int(repeated[:, side].sum())
    result["repetition_rate"] = float(divide((repeated[:, 0] > 0).sum(), len(repeated)))
    nothing = counts.given == 0
    nothing[:, 0] &= counts.unparsed == 0
    for side, name in enumerate(SIDES):
        result[f"empty_{name}"] = int(nothing[:, side].sum())
    result["unparsed_predictions"] = int(counts.unparsed.sum())
    result["no_reference"] = counted.n_without
    result["different_tokens"] = counted.different_tokens
    return result


def _statistics(counted: list[_Segmented]) -> Statistics:
    """Sums of precision and recall, and the number of sentences in each sum."""
    beta = counted[0].beta

    def score_sums(sums: np.ndarray, whole: np.ndarray) -> np.ndarray:
        sums = np.where(sums[:, 2:], sums, whole)
        return score_means(sums[:, :2], sums[:, 2], beta)

    tables = [np.column_stack([system.rates.rates[:, 0], system.rates.sentences]) for system in counted]
    return Statistics(list(_HEADLINE), tables, score_sums, counted[0].ids, counted[0].groups)


def _document_rows(counted: _Segmented) -> list[dict[str, Any]]:
    return count_rows(counted.counts.table[:, 0])


def _errors(counted: _Segmented, options: dict[str, Any]) -> dict[str, Any]:
    """The propositions in error, the pairs that count, and F if all errors of one kind were mended."""

    def f1(table: np.ndarray) -> float:
        rates = rate(table[:, None], counted.empty).sum()
        return float(score_means(rates.rates, rates.sentences, counted.beta)[0, 2])

    counts = counted.counts
    errors, matched = explain_alignment(counts.alignment, counts.unparsed, counted.ids)
    table = counts.table[:, 0]
    return {
        "errors": errors,
        "matched": matched,
        "error_kinds": mended_kinds(errors, {_ITEM: table}, counted.ids, f1),
    }


SEGMENTATION = Scorer(
    Definition("propsegment", VERSION, TASKS["segmentation"], _INPUTS, _RETURNS, _ITEM),
    _count,
    _score,
    _statistics,
    _document_rows,
    _errors,
)


# --- the metric -------------------------------------------------------------------------------------------------------

_SCORERS = {"segmentation": SEGMENTATION, "entailment": ENTAILMENT}


class PropsegmentMetric(Collector, evaluate.Metric):  # type: ignore[misc]  # evaluate has no types
    """Propositional segmentation, or entailment; see the module's description."""

    configurations = tuple(_SCORERS)

    @property
    def _scorer(self) -> Scorer:
        return _SCORERS["segmentation" if self.config_name == "default" else self.config_name]

    @property
    def definition(self) -> Definition:
        """Of the configuration."""
        return self._scorer.definition

    def _info(self) -> evaluate.MetricInfo:
        homepage = "https://github.com/google-research-datasets/PropSegmEnt"
        return describe(self.definition, _DESCRIPTION, _CITATION, ["https://arxiv.org/abs/2212.10750"], homepage)

    def _count(self, predictions: Struct, references: Struct, options: dict[str, Any]) -> Any:
        return self._scorer.count(predictions, references, options)

    def _score(self, counted: Any, options: dict[str, Any]) -> dict[str, Any]:
        return self._scorer.score(counted, options)

    def _statistics(self, counted: list[Any]) -> Statistics:
        return self._scorer.statistics(counted)

    def _document_rows(self, counted: Any) -> list[dict[str, Any]]:
        return self._scorer.document_rows(counted)

    def _errors(self, counted: Any, options: dict[str, Any]) -> dict[str, Any]:
        return self._scorer.errors(counted, options)
