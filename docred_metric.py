"""Document-level relation extraction, DocRED (Yao et al. 2019), as a Hugging Face Evaluate metric.

The file reads as the benchmark's definition: what is counted, and what is scored. Counting gives tables of integers,
one row a document, and every rate is a function of their sums. Areas and the best threshold are functions of a ranking
(``docred_ranking.py``). Records and options are in ``docred_records.py``, documents and facts in
``docred_documents.py``, dense scores in ``docred_dense.py``.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import evaluate
import numpy as np

from .collecting import Collector, Counted, Definition, count_rows, describe, yes_or_no
from .alignment import Goal, align
from .columns import Struct, to_offsets
from .docred_arrays import IntegerSet, find
from .docred_dense import highest_not_above, row_of_pair
from .docred_documents import Corpus, join
from .docred_ranking import FactScores, precision_recall_points, rank, score_ranking
from .docred_records import BY_INDEX, BY_NAME, TASKS, TRAINING
from .docred_resampling import System, sum_systems
from .errors import RIGHT, Items, Relations, error_record, error_records, mended_kinds
from .matching import Edges, encode, f_score, precision_recall_f, row, token_sets
from .resampling import Statistics, group_codes

# For Evaluate's loader alone: it copies the files that this script names, so helpers of helpers are named too.
from .docred_names import fold
from .mistakes import Mistakes
from .options import Options
from .processes import Run
from .ranking import Ranking
from .reading import read_json
from .records import Task
from .results import Result
from .values import Node

VERSION = "2.0.0"

_DESCRIPTION = """\
Document-level relation extraction: facts (head entity, tail entity, relation) of a document, on DocRED and Re-DocRED.
The headline is micro precision, recall and F1 over the facts of all documents, in percent; Ign F1 leaves correct facts
that training has shown out of precision; areas are in [0, 1] (Yao et al. 2019, section 4; Tan et al. 2022, section 4).
"""

_CITATION = """\
@inproceedings{yao2019docred,
  title = {{DocRED}: A Large-Scale Document-Level Relation Extraction Dataset},
  author = {Yao, Yuan and Ye, Deming and Li, Peng and Han, Xu and Lin, Yankai and Liu, Zhenghao and Liu, Zhiyuan and
            Huang, Lixin and Zhou, Jie and Sun, Maosong},
  booktitle = {Proceedings of the 57th Annual Meeting of the Association for Computational Linguistics},
  year = {2019},
  note = {arXiv:1906.06127}
}
@inproceedings{tan2022revisiting,
  title = {Revisiting {DocRED} -- Addressing the False Negative Problem in Relation Extraction},
  author = {Tan, Qingyu and Xu, Lu and Bing, Lidong and Ng, Hwee Tou and Aljunied, Sharifah Mahani},
  booktitle = {Proceedings of the 2022 Conference on Empirical Methods in Natural Language Processing},
  year = {2022},
  note = {arXiv:2205.12696}
}
"""

_INPUTS = """
predictions : list of records
    Records join by title and may differ in number from the references. A record is
    ``{"title", "relations": [{"h_idx", "t_idx", "r", "evidence": [], "score": 1.0}]}``; or a fact by itself, with its
    title, as in the ``result.json`` that models write; or dense scores ``{"title", "scores": array}`` of shape
    (entities, entities, relations), the diagonal not read, or (entities * (entities - 1), relations), ordered by head,
    then tail; or, with ``match="names"``, ``{"title", "relations": [{"head": name, "tail": name, "r"}]}``.
references : list of records
    Documents as in the benchmark's files, ``{"title", "vertexSet": [[{"name", "sent_id"}]], "labels": [{"h", "t", "r",
    "evidence"}]}``, or as rows of the Hub's dataset. Without any ``sent_id`` the breakdowns by distance are None.
"""

_RETURNS = """
Returns
-------
dict
    ``precision``, ``recall``, ``f1``, ``true_positives``, ``predicted``, ``gold`` of facts; ``ign_f1``,
    ``ign_precision``, ``ign_distant_f1``, ``ign_distant_precision`` (None without training facts); the same six for
    ``evidence``, ``evidence_annotated``, ``intra``, ``inter``, ``inter_long``, ``frequent``, ``long_tail`` and each of
    ``per_relation``, with ``macro_f1``; ``by_evidence`` (recall); ``auc``, ``ign_auc``, ``pr_auc``, ``ign_pr_auc``,
    ``best_f1``, ``best_threshold``, ``ign_best_f1``, ``candidates``, ``n_relations``; ``unknown_titles``,
    ``duplicate_predictions``, ``duplicate_references``; ``signature``. With ``return_errors`` also ``errors``,
    ``matched`` (the facts that were found), ``error_kinds`` (F1 after mending all errors of a kind) and ``curve``
    (``recall`` and ``precision``, in [0, 1], with the ``threshold`` that gives both, at up to 400 points).

Examples
--------
>>> import evaluate
>>> docred = evaluate.load("docred_metric.py")
>>> document = {
...     "title": "Ada Lovelace",
...     "vertexSet": [
...         [{"name": "Ada Lovelace", "sent_id": 0}],
...         [{"name": "London", "sent_id": 0}],
...         [{"name": "1815", "sent_id": 1}],
...     ],
...     "labels": [{"h": 0, "t": 1, "r": "P19", "evidence": [0]}, {"h": 0, "t": 2, "r": "P569", "evidence": [1]}],
... }
>>> facts = [{"title": "Ada Lovelace", "h_idx": 0, "t_idx": 1, "r": "P19", "evidence": [0]}]
>>> result = docred.compute(predictions=facts, references=[document])
>>> result["precision"], result["recall"], round(result["f1"], 2)
(100.0, 50.0, 66.67)
"""

_DEFINITION = Definition(
    "docred",
    VERSION,
    TASKS["default"],
    _INPUTS,
    _RETURNS,
    "fact",
)

# Tan et al. 2022, section 4: the ten relations of most facts. All others are long-tail.
FREQUENT = ("P17", "P131", "P27", "P150", "P175", "P577", "P463", "P527", "P495", "P361")

_DISTANCES = ("intra", "inter", "inter_long")
_LONG_DISTANCE = 5  # sentences; inter_long is above
_EVIDENCE_TYPES = ("none", "single", "mix", "multiple")
_KINDS = ("wrong_direction", "wrong_relation", "wrong_head", "wrong_tail")


# --- count ------------------------------------------------------------------------------------------------------------


class Counts(NamedTuple):
    """The counts of all components.

    Attributes
    ----------
    tables : dict of str to ndarray of int64, shape (n_documents, 3)
        True positives, predicted and gold of each counted component.
    by_relation : ndarray of int64, shape (n_documents, n_relations, 3)
        The same of each relation.
    scores : FactScores
    is_taken : ndarray of bool, shape (n_predicted,)
        Whether a listed fact is predicted.
    is_found : ndarray of bool, shape (n_gold,)
        Whether a gold fact is predicted.
    """

    tables: dict[str, np.ndarray]
    by_relation: np.ndarray
    scores: FactScores
    is_taken: np.ndarray
    is_found: np.ndarray


def count(corpus: Corpus, threshold: float | None) -> Counts:
    """Count correct, predicted and gold facts, and the sentences of their evidence, by document.

    Facts are counted as in the benchmark's ``evaluation.py``, breakdowns as in Tan et al. 2022, section 4, and Yao et
    al. 2019, section 4.3.
    """
    documents, gold, predicted, partner = corpus.documents, corpus.gold, corpus.predicted, corpus.partner
    n_documents = len(documents)
    gold_score = np.full(len(gold.document), np.nan)
    is_right = (partner >= 0) & ~predicted.is_dense
    gold_score[partner[is_right]] = predicted.score[is_right]

    above = _count_above(corpus, threshold)
    gold_score[above.gold] = above.gold_score
    is_taken, is_hit = (_is_above(scores, threshold) for scores in (above.fact_score, gold_score))
    is_counted = is_taken & ~predicted.is_dense

    predicted_relation = above.by_relation + _count_by(corpus, predicted.document, predicted.relation, is_counted)
    gold_relation = _count_by(corpus, gold.document, gold.relation)
    correct_relation = _count_by(corpus, gold.document, gold.relation, is_hit)

    def facts(chosen: np.ndarray, in_predicted: np.ndarray) -> np.ndarray:
        correct, in_gold = (
            np.bincount(gold.document[some], minlength=n_documents) for some in (chosen & is_hit, chosen)
        )
        return np.stack([correct, in_predicted, in_gold], axis=-1)

    tables = {"fact": facts(np.ones(len(is_hit), bool), predicted_relation.sum(axis=1))}
    for kind, seen in gold.seen.items():
        # Yao et al. 2019, section 4: correct facts of training leave precision, and recall stays.
        n_seen = np.bincount(gold.document[is_hit & seen], minlength=n_documents)
        tables[kind] = tables["fact"] - n_seen[:, None] * np.array([1, 1, 0])
    tables |= _count_evidence(corpus, np.where(is_taken, partner, -1), is_taken)
    if documents.sentence is not None:
        sides = zip(
            _DISTANCES, _by_distance(gold.distance), _by_distance(corpus.distance), above.by_distance.T, strict=True
        )
        for name, in_gold, in_predicted, n_dense in sides:
            n_listed = np.bincount(predicted.document[is_counted & in_predicted], minlength=n_documents)
            tables[name] = facts(in_gold, n_listed + n_dense)
    for kind, chosen in _by_evidence(corpus).items():
        tables[f"by_evidence.{kind}"] = facts(chosen, np.zeros(n_documents, np.int64))

    is_wrong = (partner < 0) & ~predicted.is_dense
    is_outside = (corpus.distance < 0) | (predicted.relation >= corpus.n_candidates)
    return Counts(
        tables,
        np.stack([correct_relation, predicted_relation, gold_relation]).transpose(1, 2, 0),
        FactScores(gold_score, is_wrong, _count_candidates(corpus, is_wrong, is_outside)),
        is_taken,
        is_hit,
    )


def _is_above(scores: np.ndarray, threshold: float | None) -> np.ndarray:
    """Whether scores, NaN for none, are above a threshold; without a threshold every score is."""
    return np.asarray(~np.isnan(scores) if threshold is None else scores > threshold)


def _count_by(
    corpus: Corpus, document: np.ndarray, relation: np.ndarray, chosen: np.ndarray | slice = slice(None)
) -> np.ndarray:
    """The number of chosen facts of each document and relation: shape (n_documents, n_relations)."""
    shape = len(corpus.documents), len(corpus.relations)
    flat = np.bincount(document[chosen] * shape[1] + relation[chosen], minlength=shape[0] * shape[1])
    return flat.reshape(shape)


class _Above(NamedTuple):
    """The facts with dense scores above the threshold.

    Attributes
    ----------
    by_relation : ndarray of int64, shape (n_documents, n_relations)
    by_distance : ndarray of int64, shape (n_documents, 3)
    gold, gold_score : ndarray, shape (m,)
        The gold facts with a dense score, and the score.
    fact_score : ndarray of float64, shape (n_predicted,)
        Scores of listed facts, or the dense scores that include them.
    """

    by_relation: np.ndarray
    by_distance: np.ndarray
    gold: np.ndarray
    gold_score: np.ndarray
    fact_score: np.ndarray


def _count_above(corpus: Corpus, threshold: float | None) -> _Above:
    limit = -np.inf if threshold is None else threshold  # without a threshold there are no dense scores
    documents, gold, predicted, dense = corpus.documents, corpus.gold, corpus.predicted, corpus.dense
    by_relation = np.zeros((len(documents), len(corpus.relations)), np.int64)
    by_distance = np.zeros((len(documents), len(_DISTANCES)), np.int64)
    fact_score = predicted.score.copy()
    in_dense = np.flatnonzero(predicted.is_dense)
    starts = np.searchsorted(gold.document, np.arange(len(documents) + 1))
    with_score, gold_score = [np.zeros(0, np.int64)], [np.zeros(0)]
    for document in dense.arrays:
        scores = dense.scores(document)
        above = scores > highest_not_above(limit, scores.dtype)
        by_relation[document, : corpus.n_candidates] += above.sum(axis=0)
        if document in dense.listed:
            rows, relation, _ = dense.listed[document]
            fact_score[in_dense[predicted.document[in_dense] == document]] = scores[rows, relation]
        if document >= documents.n_known:
            continue
        n = int(documents.n_entities[document])
        facts = np.arange(starts[document], starts[document + 1])
        with_score.append(facts)
        gold_score.append(scores[row_of_pair(gold.head[facts], gold.tail[facts], n), gold.relation[facts]])
        head, tail = np.nonzero(~np.eye(n, dtype=bool))
        distance = documents.distance(np.full(len(head), document), head, tail)
        n_above = above.sum(axis=1)
        by_distance[document] = [n_above[chosen].sum() for chosen in _by_distance(distance)]
    return _Above(by_relation, by_distance, np.concatenate(with_score), np.concatenate(gold_score), fact_score)


def _by_distance(distance: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Which facts are intra, inter and inter_long; a fact without a pair of entities is none of these."""
    return distance == 0, distance >= 1, distance > _LONG_DISTANCE


def _count_evidence(corpus: Corpus, partner: np.ndarray, is_taken: np.ndarray) -> dict[str, np.ndarray]:
    """Right, predicted and gold sentences: of all facts in known documents, and of facts whose gold fact has evidence.

    `partner` is -1 for facts that are not taken.
    """
    gold, predicted = corpus.gold, corpus.predicted
    n_documents = len(corpus.documents)
    owner = predicted.evidence.owners
    items = encode(
        np.concatenate([partner[owner] + 1, gold.evidence.owners + 1]),
        np.concatenate([predicted.evidence.tokens, gold.evidence.tokens]),
    )
    is_right = find(items[: len(owner)], items[len(owner) :]) >= 0
    correct = np.bincount(predicted.document[owner[is_right]], minlength=n_documents)
    is_annotated = gold.evidence.lengths > 0
    is_known = is_taken & (predicted.document < corpus.documents.n_known)
    is_on_annotated = is_known & (partner >= 0)
    is_on_annotated[is_on_annotated] = is_annotated[partner[is_on_annotated]]

    def sentences(facts: np.ndarray, gold_facts: np.ndarray) -> np.ndarray:
        in_predicted = np.bincount(
            predicted.document, weights=predicted.evidence.lengths * facts, minlength=n_documents
        )
        in_gold = np.bincount(gold.document, weights=gold.n_listed * gold_facts, minlength=n_documents)
        return np.stack([correct, in_predicted, in_gold], axis=-1).astype(np.int64)

    return {
        "evidence": sentences(is_known, np.ones(len(is_annotated), bool)),
        "evidence_annotated": sentences(is_on_annotated, is_annotated),
    }


def _by_evidence(corpus: Corpus) -> dict[str, np.ndarray]:
    """Which gold facts have which type of evidence; ``mix`` and ``multiple`` need the sentences of mentions."""
    gold, documents = corpus.gold, corpus.documents
    n_sentences = gold.evidence.lengths
    types = {"none": n_sentences == 0, "single": n_sentences == 1}
    if documents.sentence is None:
        return types
    is_several = n_sentences > 1
    evidence = gold.evidence.take(np.flatnonzero(is_several))
    owner = np.flatnonzero(is_several)[evidence.owners]
    entity = np.repeat(np.arange(len(documents.n_mentions)), documents.n_mentions)
    first = documents.first_entity[gold.document[owner]]
    items = encode(
        np.concatenate([first + gold.head[owner], first + gold.tail[owner], entity]),
        np.concatenate([evidence.tokens, evidence.tokens, documents.sentence]),
    )
    in_head, in_tail = IntegerSet(items[2 * len(owner) :]).holds(items[: 2 * len(owner)]).reshape(2, -1)
    has_both = np.bincount(owner[in_head & in_tail], minlength=len(n_sentences)) > 0
    return types | {"mix": is_several & has_both, "multiple": is_several & ~has_both}


def _count_candidates(corpus: Corpus, is_wrong: np.ndarray, is_outside: np.ndarray) -> np.ndarray:
    """The number of facts to rank in each document.

    These are every pair of its entities with every candidate relation, and one more for each wrong fact that is none of
    these: one of an unknown title, of another relation or of a name of no entity. Names can make more different facts
    than there are wrong candidates; the excess counts too.
    """
    documents, predicted = corpus.documents, corpus.predicted
    n_documents = len(documents)
    known = documents.n_entities * (documents.n_entities - 1) * corpus.n_candidates
    wrong_inside = np.bincount(predicted.document[is_wrong & ~is_outside], minlength=n_documents)
    n_gold = np.bincount(corpus.gold.document, minlength=n_documents)
    more = np.bincount(predicted.document[is_wrong & is_outside], minlength=n_documents)
    more += np.maximum(wrong_inside - np.maximum(known - n_gold, 0), 0)
    for document in corpus.dense.documents[corpus.dense.documents >= documents.n_known].tolist():
        n = corpus.dense.n_entities(document)
        more[document] += n * (n - 1) * corpus.n_candidates
    return np.asarray(known + more)


# --- score ------------------------------------------------------------------------------------------------------------


def score(tables: dict[str, np.ndarray], by_relation: dict[str, np.ndarray]) -> dict[str, Any]:
    """Rates of summed counts, under the names of the result.

    Parameters
    ----------
    tables, by_relation : dict of str to ndarray of int64, shape (3,)
        Counts of each component and of each relation.

    Returns
    -------
    dict
        Components are None where they were not counted.
    """
    result: dict[str, Any] = row(tables["fact"])
    for kind in TRAINING:
        result |= {f"{kind}_f1": None, f"{kind}_precision": None}
        if kind in tables:
            # Recall is that of all facts.
            precision = float(precision_recall_f(tables[kind])[0])
            result[f"{kind}_f1"] = float(f_score(precision, result["recall"]))
            result[f"{kind}_precision"] = precision
    for name in ("evidence", "evidence_annotated", *_DISTANCES):
        result[name] = row(tables[name]) if name in tables else None
    for name, is_frequent in (("frequent", True), ("long_tail", False)):
        chosen = [counts for relation, counts in by_relation.items() if (relation in FREQUENT) is is_frequent]
        result[name] = row(sum(chosen, np.zeros(3, np.int64)))
    by_type = {kind: tables.get(f"by_evidence.{kind}") for kind in _EVIDENCE_TYPES}
    result["by_evidence"] = {kind: None if counts is None else _recall(counts) for kind, counts in by_type.items()}
    per_relation = {relation: row(counts) for relation, counts in by_relation.items() if counts.any()}
    f1s = [rates["f1"] for rates in per_relation.values()]
    result["macro_f1"] = sum(f1s) / len(f1s) if f1s else 0.0
    result["per_relation"] = per_relation
    return result


def _recall(counts: np.ndarray) -> dict[str, Any]:
    rates = row(counts)
    return {name: rates[name] for name in ("recall", "true_positives", "gold")}


# --- facts in error ---------------------------------------------------------------------------------------------------


class _Item(NamedTuple):
    """A fact as errors compare it: its possible heads and tails, its relation, and its form in the result."""

    heads: frozenset[int]
    tails: frozenset[int]
    relation: int
    shown: dict[str, Any]


def _relate(edges: Edges, relation: np.ndarray, gold_relation: np.ndarray) -> Relations:
    """The kinds of error between facts, and the share of head, tail and relation that is right.

    Two facts are related if they are of the same two entities, in either direction, or of the same relation and the
    same head or tail.

    Parameters
    ----------
    edges : Edges
        Pairs of facts with a common entity. A gold fact has one head and one tail, so that it shares one entity or
        none: its head with the heads of a predicted fact, its tail with the tails, its tail with the heads, and its
        head with the tails.
    relation, gold_relation : ndarray of int
        The relations of the predicted and of the gold facts.
    """
    same_head, same_tail, tail_is_head, head_is_tail = edges.shared > 0
    same_relation = relation[edges.left] == gold_relation[edges.right]
    is_inverse = tail_is_head & head_is_tail & ~(same_head & same_tail)
    same_pair = is_inverse | (same_head & same_tail)
    attached = ~same_pair & same_relation & (same_head | same_tail)
    wrong = np.stack([is_inverse, same_pair & ~same_relation, attached & ~same_head, attached & ~same_tail])
    right = np.sum([same_relation, same_head, same_tail], axis=0)
    return Relations(np.asarray(wrong.any(axis=0)), wrong, right / 3)


def _collect(by_document: Mapping[int, Sequence[_Item]], is_gold: bool) -> tuple[Items, np.ndarray]:
    """The facts of one side as errors compare them, and their relations."""
    found = [(document, item) for document in sorted(by_document) for item in by_document[document]]
    heads, tails = (
        token_sets(
            to_offsets(np.array([len(entities) for entities in side], np.int64)),
            np.array([entity for entities in side for entity in entities], np.int64),
        )
        for side in ([item.heads for _, item in found], [item.tails for _, item in found])
    )
    crossed = [tails, heads] if is_gold else [heads, tails]
    document = np.array([document for document, _ in found], np.int64)
    relation = np.array([item.relation for _, item in found], np.int64)
    items = Items(document, np.arange(len(found)), lambda at: found[at][1].shown, [heads, tails, *crossed])
    return items, relation


class _Shown(NamedTuple):
    """The form of facts in the result.

    Attributes
    ----------
    corpus : Corpus
    facts : Struct
        All predicted facts as they were given.
    pair : tuple of str
        The fields that name head and tail of a predicted fact.
    info : mapping of str to str
        Readable names of relations.
    """

    corpus: Corpus
    facts: Struct
    pair: tuple[str, str]
    info: Mapping[str, str]

    def gold(self, fact: int) -> dict[str, Any]:
        """A gold fact, with whether it is seen in training where training facts are given."""
        gold = self.corpus.gold
        shown = {"h": int(gold.head[fact]), "t": int(gold.tail[fact])} | self.relation(gold.relation[fact])
        return shown | ({"seen_in_training": bool(gold.seen["ign"][fact])} if "ign" in gold.seen else {})

    def predicted(self, fact: int) -> dict[str, Any]:
        """A listed fact with its entities as they were given, without evidence and score."""
        predicted = self.corpus.predicted
        entities = (self.facts[name][predicted.example[fact]] for name in self.pair)
        pair = (entity if isinstance(entity, str) else int(entity) for entity in entities)
        return dict(zip(self.pair, pair, strict=True)) | self.relation(predicted.relation[fact])

    def dense(self, head: int, tail: int, relation: int) -> dict[str, Any]:
        """A fact of dense scores."""
        return {"h_idx": head, "t_idx": tail} | self.relation(relation)

    def relation(self, number: int) -> dict[str, str]:
        """A relation, with its readable name if there is one."""
        name = self.corpus.relations[number]
        return {"r": name} | ({"relation_text": self.info[name]} if name in self.info else {})


def _wrong_items(counts: Counts, shown: _Shown, threshold: float | None) -> dict[int, list[_Item]]:
    """The predicted facts that match no gold fact, by document."""
    corpus = shown.corpus
    predicted, dense = corpus.predicted, corpus.dense
    items: dict[int, list[_Item]] = defaultdict(list)

    @cache
    def entities(side: int) -> frozenset[int]:
        sets = predicted.entities
        return frozenset([side] if sets is None else sets.tokens[sets.offsets[side] : sets.offsets[side + 1]].tolist())

    for fact in np.flatnonzero(counts.is_taken & counts.scores.is_wrong).tolist():
        heads, tails = entities(int(predicted.head[fact])), entities(int(predicted.tail[fact]))
        item = _Item(heads, tails, int(predicted.relation[fact]), shown.predicted(fact))
        items[int(predicted.document[fact])].append(item)
    for document in dense.arrays:
        n = dense.n_entities(document)
        head, tail = np.nonzero(~np.eye(n, dtype=bool))
        here = corpus.gold.document == document
        scores = dense.scores(document)
        above = scores > highest_not_above(-np.inf if threshold is None else threshold, scores.dtype)
        above[row_of_pair(corpus.gold.head[here], corpus.gold.tail[here], n), corpus.gold.relation[here]] = False
        for pair, relation in np.argwhere(above).tolist():
            h, t = int(head[pair]), int(tail[pair])
            items[document].append(_Item(entities(h), entities(t), relation, shown.dense(h, t, relation)))
    return items


def _missed_items(counts: Counts, shown: _Shown) -> dict[int, list[_Item]]:
    """The gold facts that were not found, by document."""
    gold = shown.corpus.gold
    items: dict[int, list[_Item]] = defaultdict(list)
    for fact in np.flatnonzero(~counts.is_found).tolist():
        heads, tails = frozenset([int(gold.head[fact])]), frozenset([int(gold.tail[fact])])
        items[int(gold.document[fact])].append(_Item(heads, tails, int(gold.relation[fact]), shown.gold(fact)))
    return items


def _matched(counts: Counts, shown: _Shown) -> list[dict[str, Any]]:
    """The gold facts that were found, with the predicted facts that match them, in the form of errors."""
    corpus = shown.corpus
    gold, partner = corpus.gold, corpus.partner
    holder = np.full(len(gold.document), -1)
    is_right = (partner >= 0) & ~corpus.predicted.is_dense
    holder[partner[is_right]] = np.flatnonzero(is_right)
    found = []
    for fact in np.flatnonzero(counts.is_found).tolist():
        if holder[fact] >= 0:
            prediction = shown.predicted(int(holder[fact]))
        else:  # from dense scores
            prediction = shown.dense(int(gold.head[fact]), int(gold.tail[fact]), int(gold.relation[fact]))
        title = corpus.titles[gold.document[fact]]
        found.append(error_record(title, "fact", RIGHT, prediction, shown.gold(fact)))
    return found


# --- the metric -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Counted(Counted):
    """Both sides, their counts, the form of facts in the result, and the threshold of scores."""

    corpus: Corpus
    counts: Counts
    ranking: Ranking
    seen: dict[str, np.ndarray]
    shown: _Shown
    threshold: float | None

    @property
    def is_dense(self) -> bool:
        """Whether there are dense scores."""
        return bool(self.corpus.dense.arrays)


class DocredMetric(Collector, evaluate.Metric):  # type: ignore[misc]  # evaluate has no types
    """Document-level relation extraction; see the module's description."""

    definition = _DEFINITION

    def _info(self) -> evaluate.MetricInfo:
        urls = ["https://arxiv.org/abs/1906.06127", "https://arxiv.org/abs/2205.12696"]
        return describe(_DEFINITION, _DESCRIPTION, _CITATION, urls, "https://github.com/thunlp/DocRED")

    def _count(self, predictions: Struct, references: Struct, options: dict[str, Any]) -> _Counted:
        if not len(references):
            raise ValueError("references: there are none, expected at least one document")
        given = {
            kind: [options[name] for name in names if options[name] is not None] for kind, names in TRAINING.items()
        }
        training = {kind: facts for kind, facts in given.items() if facts}
        threshold, match, names, info = (
            options[name] for name in ("threshold", "match", "relation_names", "relation_info")
        )
        corpus = join(predictions, references, training, threshold, match, names, info)
        limit = 0.0 if threshold == "na" else threshold
        counts = count(corpus, limit)
        ranking, seen = rank(corpus, counts.scores)
        choices = {
            "pairing": "title",
            "match": match,
            "threshold": "listed" if threshold is None else str(threshold),
            "relations": "given" if names is not None else "references+train" if training else "references",
            "train": yes_or_no("ign" in training),
            "train_distant": yes_or_no("ign_distant" in training),
        }
        if match == "names":
            choices["relation_info"] = yes_or_no(info is not None)
        pair = BY_NAME if match == "names" else BY_INDEX
        return _Counted(
            corpus.titles,
            group_codes(options["groups"], len(references)),
            choices,
            (corpus.n_facts + len(corpus.dense.arrays), corpus.n_labels),
            corpus,
            counts,
            ranking,
            seen,
            _Shown(corpus, predictions["relations"].items, pair, info or {}),
            limit,
        )

    def _score(self, counted: _Counted, options: dict[str, Any]) -> dict[str, Any]:
        """Score the counts and the ranking."""
        corpus, counts = counted.corpus, counted.counts
        tables = {name: table.sum(axis=0) for name, table in counts.tables.items()}
        result = score(tables, dict(zip(corpus.relations, counts.by_relation.sum(axis=0), strict=True)))
        info = counted.shown.info
        if info:
            result["label_texts"] = {name: info[name] for name in result["per_relation"] if name in info}
        result |= score_ranking(counted.ranking, counted.is_dense, counted.seen.get("ign"))
        result["candidates"] = int(counts.scores.candidates.sum())
        result["n_relations"] = corpus.n_candidates
        result["unknown_titles"] = len(corpus.titles) - corpus.documents.n_known
        result["no_relation_predictions"] = corpus.n_no_relation
        result["duplicate_predictions"] = corpus.n_facts - len(corpus.predicted.example)
        result["duplicate_references"] = corpus.n_labels - len(corpus.gold.document)
        return result

    def _statistics(self, counted: list[_Counted]) -> Statistics:
        systems = [System(each.corpus, each.counts.tables, each.counts.scores) for each in counted]
        return sum_systems(systems, counted[0].groups)

    def _document_rows(self, counted: _Counted) -> list[dict[str, Any]]:
        return count_rows(counted.counts.tables["fact"])

    def _errors(self, counted: _Counted, options: dict[str, Any]) -> dict[str, Any]:
        """Explain the wrong and the missed facts of each document, and list the points of the ranking's curve."""
        corpus, counts, shown = counted.corpus, counted.counts, counted.shown
        predicted, relation = _collect(_wrong_items(counts, shown, counted.threshold), is_gold=False)
        gold, gold_relation = _collect(_missed_items(counts, shown), is_gold=True)
        errors = error_records(
            "fact",
            corpus.titles,
            predicted,
            gold,
            lambda edges: _relate(edges, relation, gold_relation),
            _KINDS,
        )
        return {
            "errors": errors,
            "matched": _matched(counts, shown),
            "error_kinds": mended_kinds(errors, {"fact": counts.tables["fact"]}, corpus.titles),
            "curve": precision_recall_points(counted.ranking, counted.is_dense),
        }
