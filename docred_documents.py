"""Documents and facts of DocRED: predictions and references joined by title, with equal facts made equal numbers.

A record comes this way: its title decides its document, its relation becomes a number, its entities are indices or are
found by name, and equal facts become one. Mistakes that one side alone shows were found when it was read.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from .columns import Lists, Struct, is_present, take, to_offsets
from .docred_arrays import IntegerSet, encode_texts, find, order_equal, product
from .docred_dense import NO_RELATION, Dense, collect_dense, row_of_pair
from .docred_names import closest_distance, find_names, has_two_entities, match_names, resolve_relations
from .docred_records import (
    BY_INDEX,
    TRAINING,
    Training,
    check_names,
    check_pair_fields,
    check_sentences,
    check_titles,
    fact_places,
)
from .matching import Spans, encode, token_sets
from .mistakes import Mistakes, Places, quote, write_path
from .records import check_inside

UNREACHABLE = 2**31  # distance of an entity without mentions
_NO_PAIR = -1  # distance of a fact without a pair of different entities
_BLOCK = 2**14  # pairs of entities whose mentions are compared at once


# --- documents --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of the references, followed by one without entities for each unknown title.

    Attributes
    ----------
    n_known : int
        The number of references.
    n_entities, first_entity : ndarray of int64, shape (n_documents,)
    n_mentions, first_mention : ndarray of int64, shape (n_entities,)
        Of the entities of all documents, end to end.
    name : ndarray of object, shape (n_mentions,)
    sentence : ndarray of int64 or None, shape (n_mentions,)
        None if no mention has a sentence.
    """

    n_known: int
    n_entities: np.ndarray
    first_entity: np.ndarray
    n_mentions: np.ndarray
    first_mention: np.ndarray
    name: np.ndarray
    sentence: np.ndarray | None

    def __len__(self) -> int:
        return len(self.n_entities)

    def mention_pairs(
        self, document: np.ndarray, head: np.ndarray, tail: np.ndarray
    ) -> Iterator[tuple[slice, np.ndarray, np.ndarray, np.ndarray]]:
        """All pairs of mentions of many pairs of entities, some entity pairs at a time, which keeps memory small.

        Yields
        ------
        some : slice
            The entity pairs.
        pair, left, right : ndarray of int64
            Index of the entity pair among these, increasing, and the mentions of its head and of its tail.
        """
        heads, tails = self.first_entity[document] + head, self.first_entity[document] + tail
        for start in range(0, len(heads), _BLOCK):
            some = slice(start, start + _BLOCK)
            left, right = heads[some], tails[some]
            pairs = product(
                self.first_mention[left], self.n_mentions[left], self.first_mention[right], self.n_mentions[right]
            )
            yield some, *pairs

    def distance(self, document: np.ndarray, head: np.ndarray, tail: np.ndarray) -> np.ndarray:
        """Number of sentences between the closest mentions of two entities, for many pairs of entities.

        As in Re-DocRED's script, an entity without mentions is further than any number of sentences from all others.
        """
        distances = np.full(len(document), UNREACHABLE, np.int64)
        for some, pair, left, right in self.mention_pairs(document, head, tail):
            self.put_distances(distances[some], pair, left, right)
        return distances

    def put_distances(self, distances: np.ndarray, pair: np.ndarray, left: np.ndarray, right: np.ndarray) -> None:
        """Put the distances of entity pairs that have mentions, from the pairs of their mentions."""
        if self.sentence is not None and len(pair):
            starts = np.flatnonzero(np.diff(pair, prepend=-1))
            distances[pair[starts]] = np.minimum.reduceat(np.abs(self.sentence[left] - self.sentence[right]), starts)


def _documents(column: Struct, n_unknown: int) -> Documents:
    entities: Lists = column["vertexSet"]
    mentions: Lists = entities.items
    sentence = mentions.items["sent_id"]
    none = np.zeros(n_unknown, np.int64)
    return Documents(
        len(column),
        np.concatenate([entities.lengths, none]),
        np.concatenate([entities.offsets[:-1], none]),
        mentions.lengths,
        mentions.offsets[:-1],
        mentions.items["name"],
        None if len(sentence) and (sentence < 0).all() else sentence,
    )


# --- facts of training ------------------------------------------------------------------------------------------------


class Triples(NamedTuple):
    """Training facts: the texts of head, tail and relation; each an ndarray of object, shape (n,)."""

    head: np.ndarray
    tail: np.ndarray
    relation: np.ndarray


def training_triples(given: list[Training]) -> Triples:
    """All training facts of one kind; a label stands for every name of its head with every name of its tail."""
    parts = [Triples(*(np.full(0, None, object) for _ in range(3)))]
    for training in given:
        if training.triples is not None:
            parts.append(Triples(*training.triples))
        if training.documents is not None:
            documents, labels = _documents(training.documents, 0), training.documents["labels"]
            head, tail, relation = (labels.items[name] for name in ("h", "t", "r"))
            for some, fact, left, right in documents.mention_pairs(labels.owners, head, tail):
                parts.append(Triples(documents.name[left], documents.name[right], relation[some][fact]))
    return Triples(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _hash_texts(texts: list[str]) -> np.ndarray:
    return np.fromiter(map(hash, texts), np.int64, len(texts))


def _hash_triples(head: np.ndarray, tail: np.ndarray, relation: np.ndarray) -> np.ndarray:
    """One number for the three hashes of a triple; sums and products of int64 arrays wrap around."""
    return np.asarray((head * 3 + tail) * 5 + relation)


class _TripleIndex:
    """Training facts of one kind, which are found by hash, then compared as text.

    Equal texts have equal hashes, so comparing hashes first loses nothing.
    """

    def __init__(self, triples: Triples) -> None:
        self._triples = triples
        self._hashes = _hash_triples(*(_hash_texts(texts.tolist()) for texts in triples))
        self._set = IntegerSet(self._hashes)
        self._hits: list[np.ndarray] = []

    def look_up(self, hashes: np.ndarray, fact: np.ndarray, head: np.ndarray, tail: np.ndarray) -> None:
        """Keep the pairs of mentions whose hashes are among the training facts.

        Parameters
        ----------
        hashes : ndarray of int64, shape (n,)
            Of the triples of the head's name, the tail's name and the relation.
        fact, head, tail : ndarray of int64, shape (n,)
            The gold fact, and the mentions of its head and tail.
        """
        at = np.flatnonzero(self._set.holds(hashes))
        self._hits.append(np.stack([hashes[at], fact[at], head[at], tail[at]]))

    def seen(self, names: np.ndarray, relation: np.ndarray, vocabulary: list[str]) -> np.ndarray:
        """Whether any of the pairs of mentions of each gold fact is a training fact.

        Parameters
        ----------
        names : ndarray of object, shape (n_mentions,)
        relation : ndarray of int64, shape (n_gold,)
            The relation of each gold fact: an index into `vocabulary`.
        vocabulary : list of str

        Returns
        -------
        ndarray of bool, shape (n_gold,)
        """
        hashes, fact, head, tail = np.concatenate([np.zeros((4, 0), np.int64), *self._hits], axis=1)
        shown = np.flatnonzero(IntegerSet(hashes).holds(self._hashes))
        triples = set(zip(*(texts[shown].tolist() for texts in self._triples), strict=True))
        relations = (vocabulary[code] for code in relation[fact].tolist())
        texts = zip(names[head].tolist(), names[tail].tolist(), relations, strict=True)
        is_equal = np.fromiter((triple in triples for triple in texts), bool, len(fact))
        return np.bincount(fact[is_equal], minlength=len(relation)) > 0


# --- both sides -------------------------------------------------------------------------------------------------------


class Gold(NamedTuple):
    """The different gold facts, ordered by document, head, tail and relation; every attribute has one value a fact.

    Attributes
    ----------
    document, head, tail, relation : ndarray of int64
    evidence : Spans
        Sentences, as the last of equal facts has them.
    n_listed : ndarray of int64
        Number of evidence sentences that all equal facts list together.
    distance : ndarray of int64
        Number of sentences between head and tail; see `Documents.distance`.
    seen : dict of str to ndarray of bool
        For each kind of training facts that is given, whether the fact is among them.
    """

    document: np.ndarray
    head: np.ndarray
    tail: np.ndarray
    relation: np.ndarray
    evidence: Spans
    n_listed: np.ndarray
    distance: np.ndarray
    seen: dict[str, np.ndarray]


class Predicted(NamedTuple):
    """The different listed facts of the predictions, by document, then content; every array has one value a fact.

    Facts of no relation are left out.

    Attributes
    ----------
    example : ndarray of int64
        The first of equal facts: an index into all given facts.
    document, relation : ndarray of int64
    head, tail : ndarray of int64
        Entities; or, for facts that name their entities, indices into `entities`.
    entities : Spans or None
        The sets of entities that names stand for. None for facts with indices.
    score : ndarray of float64
        The highest of equal facts.
    evidence : Spans
        Sentences, as the first of equal facts has them.
    is_dense : ndarray of bool
        Whether dense scores include the fact, so that it adds nothing but evidence.
    """

    example: np.ndarray
    document: np.ndarray
    relation: np.ndarray
    head: np.ndarray
    tail: np.ndarray
    entities: Spans | None
    score: np.ndarray
    evidence: Spans
    is_dense: np.ndarray


class Corpus(NamedTuple):
    """Both sides, joined.

    Attributes
    ----------
    titles : list of str, length n_documents
    documents : Documents
    relations : list of str
        Candidates first, then the relations that predictions alone have.
    n_candidates : int
        Number of candidate relations.
    gold : Gold
    predicted : Predicted
    partner : ndarray of int64, shape (n_predicted,)
        The gold fact that each predicted fact matches, -1 without.
    distance : ndarray of int64, shape (n_predicted,)
        Number of sentences between head and tail, -1 for a fact without a pair of different entities. Names of several
        entities have the distance of the gold fact that they match, else that of the closest pair.
    dense : Dense
    n_facts, n_labels : int
        Number of facts that each side gave, repeats included, and facts of no relation left out.
    n_no_relation : int
        Number of predicted facts of no relation.
    """

    titles: list[str]
    documents: Documents
    relations: list[str]
    n_candidates: int
    gold: Gold
    predicted: Predicted
    partner: np.ndarray
    distance: np.ndarray
    dense: Dense
    n_facts: int
    n_labels: int
    n_no_relation: int


def join(
    predictions: Struct,
    references: Struct,
    training: Mapping[str, list[Training]],
    threshold: float | str | None,
    match: str,
    relation_names: list[str | None] | None,
    relation_info: Mapping[str, str] | None,
) -> Corpus:
    """Join predictions and references by title.

    Mistakes that both sides together show, or a record with an option, are found here.

    Parameters
    ----------
    predictions, references : Struct
        As ``docred_records.read`` gives them.
    training : mapping of str to list of Training
        The training facts of each kind that is given.
    threshold : float, "na" or None
        With ``"na"``, dense scores are taken relative to the column of no relation. Without a threshold there may be no
        dense scores.
    match : {"indices", "names"}
    relation_names : list of (str or None), or None
    relation_info : mapping of str to str, or None
        Readable names of relations.

    Raises
    ------
    ValueError
    """
    places, mistakes = Places.of_batch("references"), Mistakes()
    check_titles(references["title"], mistakes)
    check_sentences(references, places, mistakes)
    mistakes.raise_first()
    titles, document_of = _join_titles(predictions["title"], references["title"])
    documents = _documents(references, len(titles) - len(references))

    labels: Lists = references["labels"]
    written: np.ndarray = predictions["relations"].items["r"]
    triples = {kind: training_triples(given) for kind, given in training.items()}
    _warn_of_other_relations(triples, set(labels.items["r"].tolist()))
    candidates = _candidate_relations(labels.items["r"], relation_names, triples)
    if match == "names" and relation_info is not None:
        written = resolve_relations(written, candidates, relation_info)
    if relation_names is not None:
        _check_relations(predictions, written, references, candidates)
    relations = [*candidates, *sorted(set(written.tolist()).difference(candidates, NO_RELATION))]
    codes = {relation: code for code, relation in enumerate(relations)}

    relation = encode_texts(written, codes)
    dense = _dense(predictions, relation, document_of, documents, relation_names, match, threshold)
    if match == "names":
        check_names(references, places, "match='names'", mistakes)
        mistakes.raise_first()
    predicted = _predicted(predictions, relation, document_of, documents, match)
    if triples:
        check_names(references, places, "the comparison with training facts", mistakes)
        mistakes.raise_first()
    if dense.arrays:
        predicted = _cover(dense, predicted, predictions["relations"].owners[predicted.example])
    label_relation = encode_texts(labels.items["r"], codes)
    gold = _gold(labels, label_relation, documents, triples, relations)
    by_name = predicted.entities is not None
    partner = match_names(predicted, gold, documents) if by_name else _match_indices(predicted, gold)
    n_facts = int((relation >= 0).sum())
    return Corpus(
        titles=titles,
        documents=documents,
        relations=relations,
        n_candidates=len(candidates),
        gold=gold,
        predicted=predicted,
        partner=partner,
        distance=_predicted_distance(predicted, gold, partner, documents),
        dense=dense,
        n_facts=n_facts,
        n_labels=int((label_relation >= 0).sum()),
        n_no_relation=len(relation) - n_facts,
    )


def _warn_of_other_relations(triples: Mapping[str, Triples], labels: set[str]) -> None:
    """Warn of training facts that cannot be those of the references, since no relation is the same."""
    gold = labels.difference(NO_RELATION)
    for kind, facts in triples.items():
        if gold and gold.isdisjoint(facts.relation.tolist()):
            warnings.warn(
                f"{TRAINING[kind][0]}: no training fact has a relation of the references, such as {quote(min(gold))}, "
                f"so {kind}_f1 is f1; expected documents, or triples in the order head name, tail name, relation",
                stacklevel=2,
            )


def _join_titles(predicted: np.ndarray, gold: np.ndarray) -> tuple[list[str], np.ndarray]:
    """The titles of the references, then the unknown ones of the predictions; and the document of each prediction."""
    titles = gold.tolist()
    documents = {title: document for document, title in enumerate(titles)}
    document_of = encode_texts(predicted, documents)
    if len(document_of) and document_of.min() < 0:
        unknown = dict.fromkeys(predicted[document_of < 0].tolist())
        documents |= {title: len(titles) + at for at, title in enumerate(unknown)}
        titles += unknown
        document_of = encode_texts(predicted, documents)
    return titles, document_of


def _candidate_relations(
    labels: np.ndarray, relation_names: list[str | None] | None, triples: Mapping[str, Triples]
) -> list[str]:
    """The relations to rank. Relations of predictions are left out: they would make systems incomparable."""
    if relation_names is not None:
        return [name for name in relation_names if name is not None and name not in NO_RELATION]
    names = set(labels.tolist()).union(*(given.relation.tolist() for given in triples.values()))
    return sorted(names.difference(NO_RELATION))


def _check_relations(predictions: Struct, written: np.ndarray, references: Struct, candidates: list[str]) -> None:
    """Refuse labels and facts of a relation that is not among the candidates; `written` are those of the facts."""
    labels = Places.of_batch("references").field("labels").items(references["labels"].offsets)
    facts = fact_places(predictions, Places.of_batch("predictions"))
    known = {*candidates, *NO_RELATION}
    for column, places in ((references["labels"].items["r"], labels), (written, facts)):
        names = column.tolist()
        if not known.issuperset(names):
            at = next(at for at, name in enumerate(names) if name not in known)
            raise ValueError(f"{write_path((*places(at), 'r'))}: {quote(names[at])} is not one of relation_names")


def _dense(
    predictions: Struct,
    relation: np.ndarray,
    document_of: np.ndarray,
    documents: Documents,
    relation_names: list[str | None] | None,
    match: str,
    threshold: float | str | None,
) -> Dense:
    """The dense scores of the predictions, by document. `relation` is that of each listed fact, -1 for none."""
    records = np.flatnonzero(predictions["flat"] == 0)
    records = records[is_present(take(predictions["scores"], records))]
    if len(records):
        first = f"predictions[{records[0]}]"
        if match == "names":
            raise ValueError(f"{first}.scores: dense scores, expected facts by name with match='names'")
        if threshold is None:
            raise ValueError(f'threshold: missing, expected a number or "na" for the dense scores of {first}')
    subtract = threshold == "na"
    arrays = take(predictions["scores"], records)
    dense = collect_dense(
        arrays, records, document_of, documents.n_entities, documents.n_known, relation_names, subtract
    )
    listed = np.flatnonzero(relation >= 0)
    if subtract and len(listed):
        place = write_path(fact_places(predictions, Places.of_batch("predictions"))(listed[0]))
        raise ValueError(f"{place}: a fact by itself, expected dense scores alone with threshold='na'")
    return dense


def _predicted(
    predictions: Struct, relation: np.ndarray, document_of: np.ndarray, documents: Documents, match: str
) -> Predicted:
    """The different predicted facts. `relation` is that of each listed fact, -1 for none."""
    facts: Struct = predictions["relations"].items
    document = document_of[predictions["relations"].owners]
    places, mistakes = fact_places(predictions, Places.of_batch("predictions")), Mistakes()
    check_pair_fields(predictions, places, match, mistakes)
    mistakes.raise_first()
    if match == "names":
        entities, head, tail, head_key, tail_key = find_names(facts["head"], facts["tail"], document, documents)
    else:
        limits = np.where(document < documents.n_known, documents.n_entities[document], -1)
        for name in BY_INDEX:
            check_inside(facts[name], limits, places.field(name), "the number of entities", mistakes)
        mistakes.raise_first()
        entities = None
        head, tail = head_key, tail_key = facts["h_idx"], facts["t_idx"]

    kept = np.flatnonzero(relation >= 0)
    order, starts = order_equal(encode(*(column[kept] for column in (document, head_key, tail_key, relation))))
    order = kept[order]
    example = order[starts]
    score = np.where(np.isnan(facts["score"]), 1.0, facts["score"])
    evidence: Lists = facts["evidence"]
    return Predicted(
        example,
        document[example],
        relation[example],
        head[example],
        tail[example],
        entities,
        np.maximum.reduceat(score[order], starts) if len(starts) else score[:0],
        token_sets(evidence.offsets, evidence.items).take(example),
        np.zeros(len(example), bool),
    )


def _gold(
    labels: Lists, relation: np.ndarray, documents: Documents, triples: Mapping[str, Triples], vocabulary: list[str]
) -> Gold:
    """The different gold facts. `relation` is that of each label: an index into `vocabulary`, -1 for none."""
    document, kept = labels.owners, np.flatnonzero(relation >= 0)
    head, tail, evidence = (labels.items[name] for name in ("h", "t", "evidence"))
    order, starts = order_equal(encode(*(column[kept] for column in (document, head, tail, relation))))
    order = kept[order]
    last = order[np.append(starts[1:], len(order)) - 1] if len(starts) else order
    lengths = evidence.lengths[order]
    n_listed = np.add.reduceat(lengths, starts) if len(starts) else lengths
    document, head, tail, relation = (column[last] for column in (document, head, tail, relation))
    distance, seen = _compare_mentions(documents, document, head, tail, relation, vocabulary, triples)
    return Gold(
        document,
        head,
        tail,
        relation,
        token_sets(evidence.offsets, evidence.items).take(last),
        n_listed,
        distance,
        seen,
    )


def _compare_mentions(
    documents: Documents,
    document: np.ndarray,
    head: np.ndarray,
    tail: np.ndarray,
    relation: np.ndarray,
    vocabulary: list[str],
    triples: Mapping[str, Triples],
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """The distance of each gold fact, and whether each kind of training facts has it, in one pass over its mentions.

    A fact is seen in training if any name of its head and any name of its tail stand in a training fact of the same
    relation (Yao et al. 2019, section 4).
    """
    training = {kind: _TripleIndex(given) for kind, given in triples.items()}
    name_hash = _hash_texts(documents.name.tolist() if training else [])
    relation_hash = _hash_texts(vocabulary)[relation]
    distance = np.full(len(document), UNREACHABLE, np.int64)
    for some, pair, left, right in documents.mention_pairs(document, head, tail):
        documents.put_distances(distance[some], pair, left, right)
        if training:
            fact = some.start + pair
            hashes = _hash_triples(name_hash[left], name_hash[right], relation_hash[fact])
            for facts in training.values():
                facts.look_up(hashes, fact, left, right)
    return distance, {kind: facts.seen(documents.name, relation, vocabulary) for kind, facts in training.items()}


def _match_indices(predicted: Predicted, gold: Gold) -> np.ndarray:
    """The gold fact that each predicted fact equals, -1 without: shape (n_predicted,)."""
    columns = zip(
        (predicted.document, predicted.head, predicted.tail, predicted.relation),
        (gold.document, gold.head, gold.tail, gold.relation),
        strict=True,
    )
    items = encode(*map(np.concatenate, columns))
    n = len(predicted.document)
    return find(items[:n], items[n:])  # gold facts are in increasing order


def _predicted_distance(predicted: Predicted, gold: Gold, partner: np.ndarray, documents: Documents) -> np.ndarray:
    """The distance between head and tail of each predicted fact; see `Corpus`."""
    by_name = predicted.entities is not None
    has_pair = has_two_entities(predicted) if by_name else predicted.document < documents.n_known
    distance = np.where(has_pair, UNREACHABLE, _NO_PAIR)
    distance[partner >= 0] = gold.distance[partner[partner >= 0]]
    others = np.flatnonzero(has_pair & (partner < 0))
    if by_name and len(others) and documents.sentence is not None:
        distance[others] = closest_distance(predicted, others, documents)
    elif not by_name:
        pairs = (column[others] for column in (predicted.document, predicted.head, predicted.tail))
        distance[others] = documents.distance(*pairs)
    return distance


# --- facts beside dense scores ----------------------------------------------------------------------------------------


def _cover(dense: Dense, predicted: Predicted, record: np.ndarray) -> Predicted:
    """Fold facts that are listed beside dense scores of the same document into these scores.

    `record` is the prediction that gave each fact first. Of repeated facts the evidence of the first counts, so a fact
    keeps no evidence if the dense scores came before it.
    """
    head, tail = predicted.head, predicted.tail
    is_dense, is_late = np.zeros(len(head), bool), np.zeros(len(head), bool)
    for document in np.intersect1d(predicted.document, dense.documents).tolist():
        n = dense.n_entities(document)
        here = np.flatnonzero((predicted.document == document) & (head < n) & (tail < n))
        rows = row_of_pair(head[here], tail[here], n)
        dense.listed[document] = (rows, predicted.relation[here], predicted.score[here])
        is_dense[here] = True
        is_late[here] = record[here] > dense.first_record[document]
    evidence = predicted.evidence
    lengths = np.where(is_late, 0, evidence.lengths)
    kept = Spans(to_offsets(lengths), evidence.tokens[~is_late[evidence.owners]])
    return predicted._replace(evidence=kept, is_dense=is_dense)
