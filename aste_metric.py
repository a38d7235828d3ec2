"""Aspect sentiment triplet extraction (Peng et al. 2019) as a Hugging Face Evaluate metric.

The file reads as the benchmark's definition: what a record is, what is counted, what is scored. Counting gives a table
of integers, one row a sentence; every score is a function of the table's sum.
"""

import unicodedata
import warnings
from collections import defaultdict
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
    TRUE_POSITIVES,
    Matches,
    Spans,
    beside,
    concatenate,
    explain,
    match,
    meet,
    most_pairs,
    number,
    number_spans,
    overlaps,
    rates_or,
    row,
    spans,
)
from .records import (
    CONFIDENCE,
    Choice,
    Either,
    Identifier,
    Integer,
    Items,
    Length,
    Optional,
    Record,
    Staging,
    Text,
    check_inside,
    check_same_length,
    flag,
    integers,
    lists,
    one_of,
    owners,
    pair,
    present,
)
from .resampling import Statistics, add_intervals, number_groups

VERSION = "1.0.0"

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

_KWARGS_DESCRIPTION = """
Parameters
----------
predictions, references : list of records
    A record is ``{"triplets": [{"aspect": ..., "opinion": ..., "polarity": ...}]}``, with ``id`` and ``tokens`` if you
    like, or the bare list of triplets; a triplet may be a tuple. Aspect and opinion are token indices, counted from 0,
    or the terms' text, the same kind throughout. Polarity is POS, NEG, NEU (or CON, for the sets that keep conflicts),
    or the full word. Leave polarity out of all triplets of a side to score pairs. Columns and a ``datasets.Dataset``
    are taken too.
duplicates : {"set", "count", "pairs"}, default "set"
    How repeated triplets of a sentence count in the headline and in ``pair``: once; one to one; or every equal pair of
    a predicted and a gold one, as some published scripts do.
ignore_case : bool, default False
    Whether terms given as text compare without regard to case.
per_document : bool, default False
    Adds the counts of each record.
return_errors : bool, default False
    Adds what was missed, spurious, or wrong in one respect.
confidence_level : float in (0, 1), optional
    Adds ``confidence_intervals``, ``[low, high]`` of each headline score, by resampling records with replacement.
n_resamples, random_state : int, default 1000 and 0
interval_method : {"percentile", "bca"}, default "percentile"
groups : list of keys, one a reference, optional
    Records of one key, such as the document that sentences come from, are resampled together.

Returns
-------
dict
    ``precision``, ``recall``, ``f1`` (percent), ``true_positives``, ``predicted``, ``gold`` of triplets; the same six
    for ``pair``, ``aspect``, ``opinion``, ``aspect_polarity``, ``polarity`` (by label, with their ``macro_f1``),
    ``single_word``, ``multi_word`` and ``relaxed`` (token indices only); ``duplicate_predictions`` and
    ``duplicate_references``; ``signature``.

Examples
--------
>>> import evaluate
>>> aste = evaluate.load("aste_metric.py")
>>> gold = [("battery life", "great", "POS"), ("screen", "dim", "NEG")]
>>> result = aste.compute(predictions=[gold[:1]], references=[gold])
>>> result["precision"], result["recall"], round(result["f1"], 2)
(100.0, 50.0, 66.67)
"""

POLARITIES = ("POS", "NEG", "NEU", "CON")
_WORDS = {"positive": "POS", "negative": "NEG", "neutral": "NEU", "conflict": "CON", "con": "CON"}

# The components every record has; those with polarity are None where a side has none.
_TERM_COMPONENTS = ("pair", "aspect", "opinion")

_HEADLINE = ("precision", "recall", "f1")
_KINDS = ("wrong_polarity", "wrong_aspect_boundary", "wrong_opinion_boundary", "wrong_pairing")


# --- records ----------------------------------------------------------------------------------------------------------


def _bare_record(value: Any) -> dict | None:
    return {"triplets": value} if isinstance(value, (list, tuple, np.ndarray)) else None


def _term(name: str) -> Either:
    return Either(
        f"an {name}: token indices or the term's text",
        indices=Items(Integer("a token index"), f"the token indices of an {name}", minimum=1),
        text=Text(f"the text of an {name}", blank=False),
    )


_POLARITY = Choice(
    {polarity: polarity for polarity in POLARITIES},
    find=lambda text: _WORDS.get(text.lower()),
    listed=POLARITIES[:3],
)
_TRIPLET = Record(
    {"aspect": _term("aspect"), "opinion": _term("opinion"), "polarity": Optional(_POLARITY)},
    "a triplet: a dict with aspect, opinion and polarity, or a tuple of them",
    as_tuple=True,
)
_SENTENCE = Record(
    {
        "id": Optional(Identifier()),
        "tokens": Optional(Length(Items(Text("a token"), "a list of tokens"))),
        "triplets": Items(_TRIPLET, "a list of triplets"),
    },
    "a record: a dict with triplets, or a list of triplets",
    other=_bare_record,
)


def _check_uniform(side: str, column: pa.StructArray) -> None:
    """Refuse terms of both kinds on a side, and polarity on some triplets only."""
    offsets, triplets = lists(column.field("triplets"))

    def place(triplet: int) -> str:
        record = int(np.searchsorted(offsets, triplet, side="right")) - 1
        return f"{side}[{record}].triplets[{triplet - offsets[record]}]"

    texts = [triplets.field(name).field("text") for name in ("aspect", "opinion")]
    if {text.null_count for text in texts} not in ({0}, {len(triplets)}):
        is_text = np.stack([present(text) for text in texts])
        term, triplet = min(np.argwhere(is_text != is_text[0, 0]).tolist(), key=lambda found: found[::-1])
        kinds = ("token indices", "text") if is_text[0, 0] else ("text", "token indices")
        raise ValueError(
            f"{place(triplet)}.{('aspect', 'opinion')[term]}: {kinds[0]} among terms given as {kinds[1]}, "
            f"expected the same kind throughout"
        )
    polarity = triplets.field("polarity")
    if 0 < polarity.null_count < len(polarity):
        raise ValueError(
            f"{place(pc.index(polarity.is_null(), True).as_py())}.polarity: missing, "
            f"expected one of {', '.join(POLARITIES[:3])}, as other triplets have one"
        )


def _check_inside(side: str, column: pa.StructArray, tokens: pa.Int32Array, order: np.ndarray) -> None:
    """Refuse token indices past the end, where the number of tokens of a record (`tokens[order]`) is known."""
    n_tokens = tokens.fill_null(-1).to_numpy(zero_copy_only=False)[order]
    if (n_tokens < 0).all():
        return
    offsets, triplets = lists(column.field("triplets"))
    record = owners(offsets)
    for name in ("aspect", "opinion"):
        span_offsets, indices = lists(triplets.field(name).field("indices"))
        owner = owners(span_offsets)

        def place(at: int, name=name, owner=owner, span_offsets=span_offsets) -> str:
            triplet = owner[at]
            step = f"triplets[{triplet - offsets[record[triplet]]}].{name}[{at - span_offsets[triplet]}]"
            return f"{side}[{record[triplet]}].{step}"

        check_inside(integers(indices), n_tokens[record[owner]], place, "the number of tokens")


# --- count ------------------------------------------------------------------------------------------------------------


class Triplets(NamedTuple):
    """The triplets of both sides, predicted first; every attribute has one value a triplet.

    Attributes
    ----------
    n_predicted : int
    document : ndarray of int64
        The reference each belongs to.
    aspect, opinion : ndarray of int64
        Equal for equal terms.
    n_words : ndarray of int64, shape (2, n)
        Words of the aspect and of the opinion.
    polarity : ndarray of int64
        An index into `POLARITIES`, -1 without.
    aspect_spans, opinion_spans : Spans or None
        None where terms are text.
    """

    n_predicted: int
    document: np.ndarray
    aspect: np.ndarray
    opinion: np.ndarray
    n_words: np.ndarray
    polarity: np.ndarray
    aspect_spans: Spans | None
    opinion_spans: Spans | None


def _folded(text: str, ignore_case: bool) -> str:
    text = unicodedata.normalize("NFC", text)
    if ignore_case:
        text = unicodedata.normalize("NFC", text.casefold())
    return " ".join(text.split())


def _terms(
    columns: list[pa.StructArray], as_text: bool, ignore_case: bool
) -> tuple[np.ndarray, np.ndarray, Spans | None]:
    """One kind of term of both sides: equal integers for equal terms, their numbers of words, and their spans."""
    if not as_text:
        sides = [lists(column.field("indices")) for column in columns]
        both = concatenate(*(spans(offsets, integers(indices)) for offsets, indices in sides))
        return number_spans(both), both.lengths, both
    coded = pa.concat_arrays([column.field("text") for column in columns]).dictionary_encode()
    code = integers(coded.indices)
    texts = [_folded(text, ignore_case) for text in coded.dictionary.to_pylist()]
    numbers = dict(zip(dict.fromkeys(texts), range(len(texts)), strict=False))
    term = np.array([numbers[text] for text in texts], np.int64)
    n_words = np.array([len(text.split()) for text in texts], np.int64)
    return term[code], n_words[code], None


def _triplets(
    predictions: pa.StructArray, references: pa.StructArray, order: np.ndarray, as_text: bool, ignore_case: bool
) -> Triplets:
    sides = [lists(column.field("triplets")) for column in (predictions, references)]
    documents = [order[owners(sides[0][0])], owners(sides[1][0])]
    aspect, aspect_words, aspect_spans = _terms([t.field("aspect") for _, t in sides], as_text, ignore_case)
    opinion, opinion_words, opinion_spans = _terms([t.field("opinion") for _, t in sides], as_text, ignore_case)
    polarity = pc.index_in(pa.concat_arrays([t.field("polarity") for _, t in sides]), pa.array(POLARITIES))
    return Triplets(
        len(documents[0]),
        np.concatenate(documents),
        aspect,
        opinion,
        np.stack([aspect_words, opinion_words]),
        integers(polarity.fill_null(-1)).astype(np.int64),
        aspect_spans,
        opinion_spans,
    )


class Counts(NamedTuple):
    """What was counted.

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


def count(triplets: Triplets, n_documents: int, duplicates: str, with_polarity: bool) -> Counts:
    """Count all components, by sentence (spec of the benchmark: Peng et al. 2019, section 4)."""
    split = triplets.n_predicted
    document = triplets.document

    def matched(*columns: np.ndarray, repeats: str = "set") -> Matches:
        items = number(*columns)
        return match(document[:split], items[:split], document[split:], items[split:], repeats)

    aspect, opinion, polarity = triplets.aspect, triplets.opinion, triplets.polarity
    pairs = matched(aspect, opinion, repeats=duplicates)
    tables = {
        "pair": pairs.table(n_documents),
        "aspect": matched(aspect).table(n_documents),
        "opinion": matched(opinion).table(n_documents),
    }
    if not with_polarity:
        return Counts(list(tables), beside(tables.values()), matched(aspect, opinion), pairs)

    different = matched(aspect, opinion, polarity)
    compared = different if duplicates == "set" else matched(aspect, opinion, polarity, repeats=duplicates)
    tables = {"triplet": compared.table(n_documents), **tables}
    tables["aspect_polarity"] = matched(aspect, polarity).table(n_documents)
    by_polarity = different.table(n_documents, polarity[different.example], len(POLARITIES))
    for label, name in enumerate(POLARITIES):
        tables[f"polarity.{name}"] = by_polarity[:, label]
    longer = triplets.n_words.max(axis=0)[different.example] > 1
    by_length = different.table(n_documents, longer, 2)
    tables["single_word"], tables["multi_word"] = by_length[:, 0], by_length[:, 1]
    if triplets.aspect_spans is not None and triplets.opinion_spans is not None:
        terms = (triplets.aspect_spans, triplets.opinion_spans)
        tables["relaxed"] = _relaxed(triplets, terms, different, n_documents)
    return Counts(list(tables), beside(tables.values()), different, compared)


def _relaxed(triplets: Triplets, terms: tuple[Spans, Spans], different: Matches, n_documents: int) -> np.ndarray:
    """Pairs of different triplets of equal polarity whose aspects overlap and whose opinions overlap, one to one.

    The count needs no more than the largest number of pairs; which of them overlap most does not change it.
    """
    left, right = (different.example[different.counts[:, side] > 0] for side in (PREDICTED, GOLD))
    group = number(triplets.document, triplets.polarity)
    aspects, opinions = ([spans.take(side) for side in (left, right)] for spans in terms)
    by_aspect = overlaps(aspects[0], group[left], aspects[1], group[right])
    both = meet(*opinions, by_aspect.left, by_aspect.right)
    partner = most_pairs(by_aspect.left[both], by_aspect.right[both], len(left), len(right))
    table = different.table(n_documents)
    paired = triplets.document[left[partner >= 0]]
    table[:, TRUE_POSITIVES] = np.bincount(paired, minlength=n_documents)
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


def _errors(
    triplets: Triplets, columns: list[pa.Array], counts: Counts, names: list, duplicates: str, with_polarity: bool
) -> list[dict[str, Any]]:
    """The unmatched triplets of each sentence, each with the kind of its error (see `explain`).

    With ``duplicates="count"`` a copy too many is an item of its own; in the other modes items are the different ones.
    Where terms are text, overlap is unknown, so boundaries are not told apart from other mistakes.
    """
    given = pa.concat_arrays(columns).to_pylist()
    polarity = triplets.polarity if with_polarity else np.zeros_like(triplets.polarity)
    spans_of = [
        [] if s is None else np.split(s.tokens, s.offsets[1:-1])
        for s in (triplets.aspect_spans, triplets.opinion_spans)
    ]

    class Item(NamedTuple):
        at: int
        aspect: int
        opinion: int
        polarity: int
        tokens: tuple[frozenset, frozenset] | None

    def item(at: int) -> Item:
        tokens = (
            None
            if triplets.aspect_spans is None
            else (frozenset(spans_of[0][at].tolist()), frozenset(spans_of[1][at].tolist()))
        )
        return Item(at, int(triplets.aspect[at]), int(triplets.opinion[at]), int(polarity[at]), tokens)

    predicted: dict[int, list[int]] = defaultdict(list)
    gold: dict[int, list[int]] = defaultdict(list)
    gold_of: dict[int, list[int]] = defaultdict(list)
    items = counts.compared if duplicates == "count" else counts.different
    for document, at, (_, in_predicted, in_gold) in zip(
        items.document.tolist(), items.example.tolist(), items.counts.tolist(), strict=True
    ):
        if in_gold:
            gold_of[document].append(at)
        if in_predicted > in_gold:
            predicted[document] += [at] * (in_predicted - in_gold)
        if in_gold > in_predicted:
            gold[document] += [at] * (in_gold - in_predicted)

    found = []
    component = "triplet" if with_polarity else "pair"
    for document in sorted(predicted.keys() | gold.keys()):
        all_gold = [item(at) for at in gold_of[document]]
        aspects, opinions = {i.aspect for i in all_gold}, {i.opinion for i in all_gold}
        pairs = {(i.aspect, i.opinion) for i in all_gold}

        def relate(p: Item, g: Item, aspects=aspects, opinions=opinions, pairs=pairs):
            same, closeness = (p.aspect == g.aspect, p.opinion == g.opinion), []
            for role in (0, 1):
                if p.tokens is None or g.tokens is None:
                    closeness.append(float(same[role]))
                else:
                    shared = len(p.tokens[role] & g.tokens[role])
                    closeness.append(2 * shared / (len(p.tokens[role]) + len(g.tokens[role])))
            if not any(closeness):
                return None
            needed = [p.polarity != g.polarity]
            if all(closeness):
                needed += [not same[0], not same[1], False]
            elif p.aspect in aspects and p.opinion in opinions and (p.aspect, p.opinion) not in pairs:
                needed += [False, False, True]
            else:
                return None
            return [kind for kind, need in zip(_KINDS, needed, strict=True) if need], sum(closeness) / 2

        left, right = [item(at) for at in predicted[document]], [item(at) for at in gold[document]]
        for kind, i, j in explain(left, right, relate):
            found.append(
                {
                    "record": names[document],
                    "component": component,
                    "kind": kind,
                    "prediction": None if i is None else _shown(given[left[i].at]),
                    "reference": None if j is None else _shown(given[right[j].at]),
                }
            )
    return found


def _shown(triplet: dict) -> dict[str, Any]:
    terms = {name: triplet[name]["text"] or triplet[name]["indices"] for name in ("aspect", "opinion")}
    return terms | ({} if triplet["polarity"] is None else {"polarity": triplet["polarity"]})


# --- the metric -------------------------------------------------------------------------------------------------------


class _Counted(NamedTuple):
    """What was read and counted; `given` are the triplets of each side."""

    pairing: str
    ids: list
    groups: np.ndarray | None
    given: list[pa.StructArray]
    triplets: Triplets
    with_polarity: bool
    counts: Counts


class AsteMetric(Staging, evaluate.Metric):
    """Aspect sentiment triplet extraction; see the module's description."""

    schemas = {"predictions": _SENTENCE, "references": _SENTENCE}
    option_checks = {
        "duplicates": one_of("set", "count", "pairs"),
        "ignore_case": flag,
        "per_document": flag,
        "return_errors": flag,
        **CONFIDENCE,
    }

    def _info(self) -> evaluate.MetricInfo:
        schema = pa.schema([(side, node.arrow) for side, node in self.schemas.items()])
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=datasets.Features.from_arrow_schema(schema),
            reference_urls=["https://arxiv.org/abs/1911.01616"],
        )

    def _read(self, side: str, batch: Any) -> pa.Array:
        column = super()._read(side, batch)
        _check_uniform(side, column)
        _check_inside(side, column, column.field("tokens"), np.arange(len(column)))
        return column

    def _count(
        self,
        predictions: pa.StructArray,
        references: pa.StructArray,
        duplicates: str = "set",
        ignore_case: bool = False,
        groups: list[str] | None = None,
        **_: Any,
    ) -> _Counted:
        order, pairing = pair(predictions.field("id"), references.field("id"))
        sides = {"predictions": predictions, "references": references}
        triplets_of = {side: lists(column.field("triplets"))[1] for side, column in sides.items()}
        as_text = _all_text(sides, triplets_of, order)
        if as_text and duplicates != "set":
            raise ValueError(
                f"duplicates: {duplicates!r} needs token indices, expected 'set' with terms given as text, "
                f"which cannot tell two places of a term apart"
            )
        with_polarity = not any(
            len(triplets) and triplets.field("polarity").null_count for triplets in triplets_of.values()
        )
        triplets = _triplets(predictions, references, order, as_text, ignore_case)
        n_documents = len(references)
        counts = count(triplets, n_documents, duplicates, with_polarity)
        ids = references.field("id").to_pylist() if pairing == "id" else list(range(n_documents))
        given = list(triplets_of.values())
        return _Counted(pairing, ids, number_groups(groups, n_documents), given, triplets, with_polarity, counts)

    def _statistics(self, counted: list[_Counted]) -> Statistics:
        names = _HEADLINE if all(system.with_polarity for system in counted) else ()
        tables = [system.counts.table[:, 0] for system in counted]
        return Statistics(
            list(names),
            tables,
            lambda sums, whole: rates_or(whole, sums)[:, : len(names)],
            counted[0].ids,
            counted[0].groups,
        )

    def _compute(
        self,
        predictions: pa.StructArray,
        references: pa.StructArray,
        duplicates: str = "set",
        ignore_case: bool = False,
        per_document: bool = False,
        return_errors: bool = False,
        groups: list[str] | None = None,
        **confidence: Any,
    ) -> dict[str, Any]:
        """Count, then score; the options are described with the metric.

        If either side has no polarity, pairs alone are scored, also against a side that has them. The triplets (pairs)
        equal to an earlier one of their sentence are ``duplicate_predictions`` and ``duplicate_references`` in every
        mode.
        """
        counted = self._count(predictions, references, duplicates, ignore_case, groups)
        counts, with_polarity = counted.counts, counted.with_polarity
        as_text = counted.triplets.aspect_spans is None
        result = score(counts.names, counts.table.sum(axis=0))
        if not as_text and not with_polarity:
            result["relaxed"] = None

        n_predicted, n_gold = map(len, counted.given)
        n_different = counts.different.counts.astype(bool).sum(axis=0)
        result["duplicate_predictions"] = n_predicted - int(n_different[PREDICTED])
        result["duplicate_references"] = n_gold - int(n_different[GOLD])
        if n_predicted and not n_gold:
            warnings.warn("the references hold no triplet: is this a test set without labels?", stacklevel=2)
            result["no_gold"] = True
        if per_document:
            rows = counts.table[:, 0].tolist()
            result["per_document"] = [
                {"id": name, **dict(zip(COUNT_NAMES, values, strict=True))}
                for name, values in zip(counted.ids, rows, strict=True)
            ]
        if return_errors:
            result["errors"] = _errors(counted.triplets, counted.given, counts, counted.ids, duplicates, with_polarity)
        result["signature"] = "|".join(
            ["aste", f"v:{VERSION}", f"pairing:{counted.pairing}", f"match:{'text' if as_text else 'tokens'}"]
            + [f"duplicates:{duplicates}"]
            + [f"ignore_case:{'yes' if ignore_case else 'no'}"] * as_text
            + ["polarity:none"] * (not with_polarity)
        )
        add_intervals(result, lambda: self._statistics([counted]), groups, **confidence)
        return result


def _all_text(sides: dict[str, pa.StructArray], triplets_of: dict[str, pa.Array], order: np.ndarray) -> bool:
    """Whether terms are text; checks what batches and sides show only together."""
    for side, column in sides.items():
        _check_uniform(side, column)
    kinds = {
        side: "text" if triplets.field("aspect").field("text").null_count == 0 else "token indices"
        for side, triplets in triplets_of.items()
        if len(triplets)
    }
    if len(set(kinds.values())) > 1:
        raise ValueError(
            f"predictions: terms are {kinds['predictions']}, and the references' are {kinds['references']}, "
            f"expected the same kind on both sides"
        )
    if "text" in kinds.values():
        return True
    predictions, references = sides.values()
    _check_inside("predictions", predictions, references.field("tokens"), order)
    check_same_length(predictions.field("tokens"), references.field("tokens"), order)
    return False
