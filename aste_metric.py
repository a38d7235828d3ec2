"""Aspect sentiment triplet extraction (Peng et al. 2019) as a Hugging Face Evaluate metric.

The file reads as the benchmark's definition: what is counted, and what is scored. Counting gives a table of integers,
one row a sentence. Every score is a function of the table's sum. Records and options are in ``aste_records.py``.
"""

import unicodedata
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import evaluate
import numpy as np

from .alignment import align, most_pairs
from .aste_records import POLARITIES, TASKS, TERMS, check_indices, check_uniform, kinds_of_terms, missing_polarity
from .collecting import (
    Collector,
    Counted,
    Definition,
    compare_tokens,
    count_rows,
    describe,
    document_names,
    pair_records,
    yes_or_no,
)
from .columns import Lists, Struct, concatenate_columns
from .errors import Items, Relations, error_records, leftovers, matched_records, mended_kinds, unparsed_records
from .matching import (
    COUNT_NAMES,
    GOLD,
    PREDICTED,
    TRUE_POSITIVES,
    Edges,
    Matches,
    Spans,
    encode,
    encode_spans,
    match_equal,
    overlaps_in_all,
    rates_or_whole,
    row,
    stack_tables,
    token_sets,
)
from .mistakes import Mistakes, Places
from .resampling import Statistics, group_codes

# For Evaluate's loader alone: it copies the files that this script names, so helpers of helpers are named too.
from .options import Options
from .processes import Run
from .records import Task
from .results import Result
from .values import Node

VERSION = "2.0.0"

_DESCRIPTION = """\
Aspect sentiment triplet extraction: triplets of an aspect term, an opinion term and a polarity, on 14res, 14lap, 15res
and 16res. A triplet is right when all three equal one gold triplet of the same sentence (Peng et al. 2019, section 4).
The headline is micro precision, recall and F1 over a set of sentences, in percent.
"""

_CITATION = """\
@inproceedings{peng2020knowing,
  title = {Knowing What, How and Why: A Near Complete Solution for Aspect-Based Sentiment Analysis},
  author = {Peng, Haiyun and Xu, Lu and Bing, Lidong and Huang, Fei and Lu, Wei and Si, Luo},
  booktitle = {Proceedings of the AAAI Conference on Artificial Intelligence},
  volume = {34},
  year = {2020},
  note = {arXiv:1911.01616}
}
"""

_INPUTS = """
predictions, references : list of records
    A record is ``{"triplets": [{"aspect": ..., "opinion": ..., "polarity": ...}]}``, with ``id`` and ``tokens`` if you
    like, or the bare list of triplets; a triplet may be a tuple. Aspect and opinion are token indices, counted from 0,
    or the terms' text, the same kind throughout. Polarity is POS, NEG, NEU (or CON, for the sets that keep conflicts),
    or the full word, in any case; the key ``sentiment`` is read as ``polarity``. Leave polarity out of all triplets of
    both sides to score pairs. A prediction may have ``unparsed``, the number of pieces of a model's text that could not
    be read as a triplet. Columns and a ``datasets.Dataset`` are taken too.
"""

_RETURNS = """
Returns
-------
dict
    ``precision``, ``recall``, ``f1`` (percent), ``true_positives``, ``predicted``, ``gold`` of triplets; the same six
    for ``pair``, ``aspect``, ``opinion``, ``aspect_polarity``, ``polarity`` (by label, with their ``macro_f1``),
    ``single_word``, ``multi_word`` and ``relaxed`` (token indices only); ``duplicate_predictions`` and
    ``duplicate_references``; ``unparsed_predictions``, the number of pieces of text that could not be read, each a
    wrong prediction in the first six, in ``pair`` and in ``relaxed``; ``different_tokens``, the number of predictions
    whose tokens are not those of their reference; ``signature``. Without polarity, everything that has to do with it
    is None.

Examples
--------
>>> import evaluate
>>> aste = evaluate.load("aste_metric.py")
>>> gold = [("battery life", "great", "POS"), ("screen", "dim", "NEG")]
>>> result = aste.compute(predictions=[gold[:1]], references=[gold])
>>> result["precision"], result["recall"], round(result["f1"], 2)
(100.0, 50.0, 66.67)
"""

_DEFINITION = Definition(
    "aste",
    VERSION,
    TASKS["default"],
    _INPUTS,
    _RETURNS,
    "triplet",
)

# The components without polarity, which every record has.
_TERM_COMPONENTS = ("pair", *TERMS)
# The components in which text that could not be read is a wrong prediction.
_WITH_UNPARSED = ("triplet", "pair", "relaxed")
_HEADLINE = ("precision", "recall", "f1")
_KINDS = ("wrong_polarity", "wrong_aspect_boundary", "wrong_opinion_boundary", "wrong_pairing")


# --- count ------------------------------------------------------------------------------------------------------------


class Triplets(NamedTuple):
    """The triplets of both sides, predicted first; every attribute has one value a triplet.

    Attributes
    ----------
    n_predicted : int
    document : ndarray of int64
        The reference each belongs to.
    terms : tuple of two ndarray of int64
        Aspect and opinion: equal integers for equal terms.
    n_words : tuple of two ndarray of int64
        The number of words of the aspect and of the opinion.
    polarity : ndarray of int64
        An index into `POLARITIES`, -1 without.
    spans : tuple of two Spans, or None
        Of aspect and opinion; None where terms are text.
    column : Struct
        The triplets as they were read.
    """

    n_predicted: int
    document: np.ndarray
    terms: tuple[np.ndarray, np.ndarray]
    n_words: tuple[np.ndarray, np.ndarray]
    polarity: np.ndarray
    spans: tuple[Spans, Spans] | None
    column: Struct

    def show(self, at: int) -> dict[str, Any]:
        """A triplet as the result shows it."""
        shown: dict[str, Any] = {}
        for name in TERMS:
            text, indices = self.column[name]["text"][at], self.column[name]["indices"]
            start, end = indices.offsets[at : at + 2].tolist()
            shown[name] = indices.items[start:end].tolist() if text is None else text
        return shown | ({"polarity": POLARITIES[self.polarity[at]]} if self.polarity[at] >= 0 else {})


def _fold(text: str, ignore_case: bool) -> str:
    """The form in which terms given as text compare: Unicode NFC, white space folded."""
    text = unicodedata.normalize("NFC", text)
    if ignore_case:
        text = unicodedata.normalize("NFC", text.casefold())
    return " ".join(text.split())


def _encode_texts(texts: np.ndarray, ignore_case: bool) -> tuple[np.ndarray, np.ndarray]:
    """Equal integers for equal terms, in the order of the terms, and the number of words of each."""
    folded = {text: _fold(text, ignore_case) for text in set(texts.tolist())}
    code = {text: at for at, text in enumerate(sorted(set(folded.values())))}
    codes = np.array([code[folded[text]] for text in texts.tolist()], np.int64)
    return codes, np.array([len(folded[text].split()) for text in texts.tolist()], np.int64)


def collect_triplets(
    predictions: Struct, references: Struct, order: np.ndarray, as_text: bool, ignore_case: bool
) -> Triplets:
    """The triplets of both sides."""
    sides: list[Lists] = [predictions["triplets"], references["triplets"]]
    column: Struct = concatenate_columns([side.items for side in sides])
    document = np.concatenate([order[sides[0].owners], sides[1].owners])
    spans = None
    if as_text:
        coded = [_encode_texts(column[name]["text"], ignore_case) for name in TERMS]
    else:
        indices = [column[name]["indices"] for name in TERMS]
        spans = token_sets(indices[0].offsets, indices[0].items), token_sets(indices[1].offsets, indices[1].items)
        coded = [(encode_spans(each), each.lengths) for each in spans]
    (aspect, aspect_words), (opinion, opinion_words) = coded
    return Triplets(
        len(sides[0].items),
        document,
        (aspect, opinion),
        (aspect_words, opinion_words),
        column["polarity"],
        spans,
        column,
    )


class Components(NamedTuple):
    """The counts of all components.

    Attributes
    ----------
    names : list of str
        The counted components.
    table : ndarray of int64, shape (n_documents, len(names), 3)
        True positives, predicted and gold of each sentence.
    different : Matches
        The different triplets, or pairs where there is no polarity.
    compared : Matches
        The same as the headline counts them: with their copies, unless they are sets.
    """

    names: list[str]
    table: np.ndarray
    different: Matches
    compared: Matches


def count_unparsed(predictions: Struct, order: np.ndarray) -> np.ndarray:
    """The pieces of text that could not be read, by reference: shape (n_documents,)."""
    unparsed = np.zeros(len(order), np.int64)
    unparsed[order] = np.maximum(predictions["unparsed"], 0)
    return unparsed


def count(triplets: Triplets, unparsed: np.ndarray, duplicates: str, with_polarity: bool) -> Components:
    """Count all components, by sentence (Peng et al. 2019, section 4).

    A piece of text that could not be read is a wrong prediction of a triplet and of a pair, as in the scorers of
    generative models (Zhang et al. 2021, "Towards Generative Aspect-Based Sentiment Analysis").
    """
    n_documents, split = len(unparsed), triplets.n_predicted
    document = triplets.document

    def matched(*columns: np.ndarray, repeats: str = "set") -> Matches:
        items = encode(*columns)
        return match_equal(document[:split], items[:split], document[split:], items[split:], repeats)

    aspect, opinion = triplets.terms
    polarity = triplets.polarity
    pairs = matched(aspect, opinion, repeats=duplicates)
    tables = {
        "pair": pairs.table(n_documents),
        "aspect": matched(aspect).table(n_documents),
        "opinion": matched(opinion).table(n_documents),
    }
    if not with_polarity:
        return Components(list(tables), _stack(tables, unparsed), matched(aspect, opinion), pairs)

    different = matched(aspect, opinion, polarity)
    compared = different if duplicates == "set" else matched(aspect, opinion, polarity, repeats=duplicates)
    tables = {"triplet": compared.table(n_documents), **tables}
    tables["aspect_polarity"] = matched(aspect, polarity).table(n_documents)
    by_polarity = different.table(n_documents, polarity[different.example], len(POLARITIES))
    for label, name in enumerate(POLARITIES):
        tables[f"polarity.{name}"] = by_polarity[:, label]
    is_longer = np.maximum(*triplets.n_words)[different.example] > 1
    by_length = different.table(n_documents, is_longer, 2)
    tables["single_word"], tables["multi_word"] = by_length[:, 0], by_length[:, 1]
    if triplets.spans is not None:
        tables["relaxed"] = _count_relaxed(triplets, triplets.spans, different, n_documents)
    return Components(list(tables), _stack(tables, unparsed), different, compared)


def _stack(tables: dict[str, np.ndarray], unparsed: np.ndarray) -> np.ndarray:
    """The tables of all components as one, with the text that could not be read among the predicted."""
    if unparsed.any():
        for name in tables.keys() & set(_WITH_UNPARSED):
            tables[name][:, PREDICTED] += unparsed
    return stack_tables(tables.values())


def _count_relaxed(triplets: Triplets, terms: tuple[Spans, Spans], different: Matches, n_documents: int) -> np.ndarray:
    """Pairs of different triplets of equal polarity whose aspects overlap and whose opinions overlap, one to one.

    The count needs the largest number of pairs alone: alignments with more overlap have as many.
    """
    left, right = (different.example[different.counts[:, side] > 0] for side in (PREDICTED, GOLD))
    group = encode(triplets.document, triplets.polarity)
    sides = [[spans.take(side) for spans in terms] for side in (left, right)]
    edges = overlaps_in_all(sides[0], group[left], sides[1], group[right])
    chosen = align(edges.left, edges.right, len(left), len(right), [most_pairs(edges.left)])
    table = different.table(n_documents)
    aligned = triplets.document[left[edges.left[chosen]]]
    table[:, TRUE_POSITIVES] = np.bincount(aligned, minlength=n_documents)
    return table


# --- score ------------------------------------------------------------------------------------------------------------


def score(names: list[str], counts: np.ndarray) -> dict[str, Any]:
    """Precision, recall and F1 of summed counts, under the names of the result.

    Parameters
    ----------
    names : list of str
    counts : ndarray of int, shape (len(names), 3)

    Returns
    -------
    dict
        Components with polarity are None where they were not counted.
    """
    rows = {name: row(counts[index]) for index, name in enumerate(names)}
    with_polarity = "triplet" in rows
    nothing = dict.fromkeys(("precision", "recall", "f1", *COUNT_NAMES))
    result: dict[str, Any] = rows["triplet"] if with_polarity else nothing
    result |= {name: rows[name] for name in _TERM_COMPONENTS}
    if not with_polarity:
        return result | dict.fromkeys(("aspect_polarity", "polarity", "single_word", "multi_word"))
    result["aspect_polarity"] = rows["aspect_polarity"]
    polarity = {label: rows[f"polarity.{label}"] for label in POLARITIES}
    occurring = [r for r in polarity.values() if r["predicted"] or r["gold"]]
    # A fourth row only for the sets that keep conflicts.
    result["polarity"] = {label: r for label, r in polarity.items() if label in POLARITIES[:3] or r in occurring}
    result["polarity"]["macro_f1"] = sum(r["f1"] for r in occurring) / len(occurring) if occurring else 0.0
    return result | {name: rows[name] for name in ("single_word", "multi_word", "relaxed") if name in rows}


# --- items in error ---------------------------------------------------------------------------------------------------


def _relate(
    edges: Edges, triplets: Triplets, sides: Sequence[np.ndarray], is_mispaired: np.ndarray, with_polarity: bool
) -> Relations:
    """The kinds of error between triplets, and the mean Dice of their terms.

    Two triplets are related if both terms overlap, or if one does and both predicted terms are gold terms that are no
    gold pair. Overlap of terms given as text is unknown, so only equal ones overlap.

    Parameters
    ----------
    edges : Edges
        Pairs that share a token of the aspect or of the opinion.
    triplets : Triplets
    sides : sequence of two ndarray of int
        Indices of the predicted and of the gold triplets in question.
    is_mispaired : ndarray of bool
        For each of these predicted triplets, whether its terms are gold terms of the sentence that are no gold pair.
    with_polarity : bool
    """
    left, right = sides[0][edges.left], sides[1][edges.right]
    sizes = [np.ones(len(each), np.int64) for each in triplets.terms]
    if triplets.spans is not None:
        sizes = [each.lengths for each in triplets.spans]
    closeness = [2 * shared / (size[left] + size[right]) for shared, size in zip(edges.shared, sizes, strict=True)]
    wrong_polarity = triplets.polarity[left] != triplets.polarity[right]
    overlap = np.minimum(*closeness) > 0
    mispaired = ~overlap & is_mispaired[edges.left]
    wrong = [
        wrong_polarity & with_polarity,
        overlap & (closeness[0] < 1),
        overlap & (closeness[1] < 1),
        mispaired,
    ]
    return Relations(overlap | mispaired, np.stack(wrong), (closeness[0] + closeness[1]) / 2)


def _find_mispaired(triplets: Triplets, chosen: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Whether the terms of each chosen triplet are gold terms of its sentence that are no gold pair."""
    aspect, opinion, pair = (
        encode(triplets.document, *terms) for terms in (triplets.terms[:1], triplets.terms[1:], triplets.terms)
    )
    of_gold = [np.isin(codes[chosen], codes[gold]) for codes in (aspect, opinion, pair)]
    return np.asarray(of_gold[0] & of_gold[1] & ~of_gold[2])


# --- the metric -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Counted(Counted):
    """The triplets and their counts; `unparsed` has the number of pieces that could not be read, by reference."""

    triplets: Triplets
    unparsed: np.ndarray
    with_polarity: bool
    components: Components
    different_tokens: int


class AsteMetric(Collector, evaluate.Metric):  # type: ignore[misc]  # evaluate has no types
    """Aspect sentiment triplet extraction; see the module's description."""

    definition = _DEFINITION

    def _info(self) -> evaluate.MetricInfo:
        homepage = "https://github.com/xuuuluuu/SemEval-Triplet-data"
        return describe(_DEFINITION, _DESCRIPTION, _CITATION, ["https://arxiv.org/abs/1911.01616"], homepage)

    def _count(self, predictions: Struct, references: Struct, options: dict[str, Any]) -> _Counted:
        order, pairing = pair_records(predictions["id"], references["id"])
        duplicates = options["duplicates"]
        as_text, different_tokens = _check_both(predictions, references, order, pairing)
        if as_text and duplicates != "set":
            raise ValueError(
                f"duplicates: {duplicates!r} needs token indices, expected 'set' with terms given as text, "
                f"which cannot tell two places of a term apart"
            )
        with_polarity = options["polarity"] and _have_polarity(predictions, references)
        triplets = collect_triplets(predictions, references, order, as_text, options["ignore_case"])
        choices = {"pairing": pairing, "match": "text" if as_text else "tokens", "duplicates": duplicates}
        if as_text:
            choices["ignore_case"] = yes_or_no(options["ignore_case"])
        if not with_polarity:
            choices["polarity"] = "none"
        unparsed = count_unparsed(predictions, order)
        return _Counted(
            document_names(references["id"], pairing),
            group_codes(options["groups"], len(references)),
            choices,
            (triplets.n_predicted + int(unparsed.sum()), len(triplets.document) - triplets.n_predicted),
            triplets,
            unparsed,
            with_polarity,
            count(triplets, unparsed, duplicates, with_polarity),
            different_tokens,
        )

    def _score(self, counted: _Counted, options: dict[str, Any]) -> dict[str, Any]:
        """Score the counts.

        Without polarity, pairs alone are scored. Triplets (pairs) equal to an earlier one of their sentence are
        ``duplicate_predictions`` and ``duplicate_references`` in every mode.
        """
        components = counted.components
        result = score(components.names, components.table.sum(axis=0))
        if counted.triplets.spans is not None and not counted.with_polarity:
            result["relaxed"] = None
        n_different = components.different.counts.astype(bool).sum(axis=0)
        n_predicted, n_triplets = counted.triplets.n_predicted, len(counted.triplets.document)
        result["duplicate_predictions"] = n_predicted - int(n_different[PREDICTED])
        result["duplicate_references"] = n_triplets - n_predicted - int(n_different[GOLD])
        result["unparsed_predictions"] = int(counted.unparsed.sum())
        result["different_tokens"] = counted.different_tokens
        return result

    def _statistics(self, counted: list[_Counted]) -> Statistics:
        names = _HEADLINE if all(system.with_polarity for system in counted) else ()
        tables = [system.components.table[:, 0] for system in counted]
        return Statistics(
            list(names),
            tables,
            lambda sums, whole: rates_or_whole(whole, sums)[:, : len(names)],
            counted[0].ids,
            counted[0].groups,
        )

    def _document_rows(self, counted: _Counted) -> list[dict[str, Any]]:
        return count_rows(counted.components.table[:, 0])

    def _errors(self, counted: _Counted, options: dict[str, Any]) -> dict[str, Any]:
        """Explain the unmatched triplets of each sentence.

        With ``duplicates="count"`` a copy too many is an item of its own; in the other modes items are the different
        ones.
        """
        triplets, components, with_polarity = counted.triplets, counted.components, counted.with_polarity
        matches = components.compared if options["duplicates"] == "count" else components.different
        terms: Sequence[Spans]
        if triplets.spans is None:
            # A term given as text stands as one token, so that equal terms overlap.
            terms = [Spans(np.arange(len(each) + 1), each) for each in triplets.terms]
        else:
            terms = triplets.spans
        found = leftovers(matches)
        sides = [chosen for _, chosen in found]
        predicted, gold = (
            Items(document, chosen, triplets.show, [each.take(chosen) for each in terms]) for document, chosen in found
        )
        in_gold = components.different.example[components.different.counts[:, GOLD] > 0]
        is_mispaired = _find_mispaired(triplets, sides[0], in_gold)
        component = "triplet" if with_polarity else "pair"
        errors = unparsed_records(component, counted.ids, counted.unparsed) + error_records(
            component,
            counted.ids,
            predicted,
            gold,
            lambda edges: _relate(edges, triplets, sides, is_mispaired, with_polarity),
            _KINDS,
        )
        place = {name: at for at, name in enumerate(counted.ids)}
        errors.sort(key=lambda error: place[error["record"]])
        return {
            "errors": errors,
            "matched": matched_records(component, counted.ids, matches, triplets.show),
            "error_kinds": mended_kinds(errors, {component: components.table[:, 0]}, counted.ids),
        }


def _have_polarity(predictions: Struct, references: Struct) -> bool:
    """Whether triplets have polarity, which those of a side all have or all lack.

    A side without triplets says nothing. If neither side has any, triplets count as having polarity. A warning names
    the keys of triplets without polarity, of which one may be polarity under another name.

    Raises
    ------
    ValueError
        The triplets of one side have polarity, and those of the other have none.
    """
    sides = {"predictions": predictions, "references": references}
    filled = {name: side for name, side in sides.items() if len(side["triplets"].items)}
    found = {name: bool(side["triplets"].items["polarity"][0] >= 0) for name, side in filled.items()}
    if len(set(found.values())) > 1:
        (lacking,) = (name for name, has_polarity in found.items() if not has_polarity)
        (other,) = found.keys() - {lacking}
        first = int(filled[lacking]["triplets"].owners[0])
        raise ValueError(
            f"{lacking}[{first}].triplets[0].polarity: {missing_polarity(filled[lacking], 0, f'the {other}')}; "
            f"polarity=False scores pairs without it"
        )
    for name, side in filled.items():
        keys = next(filter(None, side["other_keys"].tolist()), None)
        if keys and not found[name]:
            warnings.warn(
                f"{name}: triplets have no polarity, but have {keys}; pairs alone are scored, as with polarity=False",
                stacklevel=2,
            )
    return all(found.values())


def _check_both(predictions: Struct, references: Struct, order: np.ndarray, pairing: str) -> tuple[bool, int]:
    """Check what batches and sides show only together.

    Returns
    -------
    as_text : bool
        Whether terms are text.
    different_tokens : int
        The number of predictions with other tokens than their reference.

    Raises
    ------
    ValueError
    """
    mistakes = Mistakes()
    kinds = {}
    for side, column in (("predictions", predictions), ("references", references)):
        check_uniform(column, Places.of_batch(side), mistakes)
        mistakes.raise_first()
        if len(column["triplets"].items):
            kinds[side] = ("token indices", "text")[kinds_of_terms(column)[0, 0]]
    if len(set(kinds.values())) > 1:
        raise ValueError(
            f"predictions: terms are {kinds['predictions']}, and the references' are {kinds['references']}, "
            f"expected the same kind on both sides"
        )
    as_text = "text" in kinds.values()
    different_tokens = compare_tokens(predictions["tokens"], references["tokens"], order, pairing, not as_text)
    if not as_text:
        check_indices(predictions, references["tokens"]["number"][order], Places.of_batch("predictions"), mistakes)
        mistakes.raise_first()
    return as_text, different_tokens
