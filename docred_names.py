"""Entities and relations by name, as generative models write them, and the matching of facts by name.

A name stands for all entities of its document that have a mention of that name, so a predicted fact may be one of
several gold facts. Facts match one to one, as many as possible.
"""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .columns import to_offsets
from .docred_arrays import elements, find, number_texts, order_equal
from .docred_dense import NO_RELATION
from .matching import Spans, encode, encode_spans, token_sets
from .mistakes import quote

if TYPE_CHECKING:
    from .docred_documents import Documents, Gold, Predicted

_PAIRS_AT_ONCE = 2**20  # pairs that are compared at once, which bounds memory


def fold(name: str) -> str:
    """The form in which names compare: Unicode NFC, case and white space folded."""
    return " ".join(unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold()).split())


# --- names of relations -----------------------------------------------------------------------------------------------


def resolve_relations(written: np.ndarray, relations: Sequence[str], info: Mapping[str, str]) -> np.ndarray:
    """Find the relations that a model names by their code or their readable name.

    Parameters
    ----------
    written : ndarray of str, shape (n,)
        The relations of predicted facts.
    relations : sequence of str
        The candidate relations.
    info : mapping of str to str
        Readable names of relations.

    Returns
    -------
    ndarray of str, shape (n,)
        A text that is a relation as it stands stays. Other texts are compared with relations and readable names, case
        and white space folded. A text that names no relation stays.

    Raises
    ------
    ValueError
        A name stands for two relations, or readable names are given for relations and relations for names.
    """
    exact = {name for name in NO_RELATION if name is not None}.union(relations, info)
    if info.keys().isdisjoint(relations) and not set(relations).isdisjoint(info.values()):
        name = next(name for name in info.values() if name in relations)
        raise ValueError(
            f"relation_info: {quote(name)} is given as a readable name, but is a relation of the references, "
            f"expected a dict from relation to readable name"
        )
    relation_of: dict[str, str] = {}
    for name, relation in [*((code, code) for code in (*relations, *info)), *((info[code], code) for code in info)]:
        other = relation_of.setdefault(fold(name), relation)
        if other != relation:
            raise ValueError(
                f"relation_info: {quote(name)} stands for {quote(other)} and {quote(relation)}, "
                f"expected names that stand for one relation, which match='names' needs"
            )
    for none in NO_RELATION:
        if none is not None:
            relation_of.setdefault(fold(none), none)
    numbers, different = number_texts(written)
    found = [text if text in exact else relation_of.get(fold(text), text) for text in different]
    return np.array(found, object)[numbers] if found else written


# --- names of entities ------------------------------------------------------------------------------------------------


class NamedPairs(NamedTuple):
    """The heads and tails of facts that name their entities.

    Attributes
    ----------
    entities : Spans
        The entities of each different name of each document; equal sets of a document are one. The last set is empty.
    head, tail : ndarray of int64, shape (n_facts,)
        The set of each fact: an index into `entities`. A name that no mention of the document has stands for the last.
    head_key, tail_key : ndarray of int64, shape (n_facts,)
        Equal for equal sets. Names of no entity are equal only to themselves, since two made-up names are two mistakes.
        Keys are in the order of names, so that the order of the input has no effect.
    """

    entities: Spans
    head: np.ndarray
    tail: np.ndarray
    head_key: np.ndarray
    tail_key: np.ndarray


def _encode_names(names: np.ndarray) -> np.ndarray:
    """Equal integers for equal names, in the order of the names."""
    numbers, different = number_texts(names)
    folded = list(map(fold, different))
    code = {name: at for at, name in enumerate(sorted(set(folded)))}
    return np.asarray(np.array([code[name] for name in folded], np.int64)[numbers])


def find_names(head: np.ndarray, tail: np.ndarray, document: np.ndarray, documents: Documents) -> NamedPairs:
    """Find the entities that the names of facts stand for.

    Parameters
    ----------
    head, tail : ndarray of str, shape (n_facts,)
    document : ndarray of int64, shape (n_facts,)
    documents : Documents
        Every mention has a name.

    Notes
    -----
    If head and tail have the same entity alone, then the fact has no pair of entities and is wrong, but no mistake in
    the input: a model that writes names does not know of entities.
    """
    code = _encode_names(np.concatenate([documents.name, head, tail]))
    n_mentions, n_facts = len(documents.name), len(document)
    entity = np.repeat(np.arange(len(documents.n_mentions)), documents.n_mentions)
    entity_document = np.repeat(np.arange(len(documents)), documents.n_entities)
    mention_document = entity_document[entity]
    name = encode(np.concatenate([mention_document, document, document]), code)
    order, starts = order_equal(name[:n_mentions])
    offsets = np.concatenate([starts, [n_mentions, n_mentions]])
    sets = token_sets(offsets, (entity - documents.first_entity[mention_document])[order])

    set_document = np.append(mention_document[order[starts]], len(documents))
    by_content, first = order_equal(encode(set_document, encode_spans(sets)))
    equal = np.empty(len(sets), np.int64)
    equal[by_content] = np.repeat(by_content[first], np.diff(np.append(first, len(sets))))

    place = find(name[n_mentions:], name[order[starts]])
    found = equal[np.where(place >= 0, place, len(starts))]
    key = np.where(place >= 0, found, len(sets) + code[n_mentions:])
    return NamedPairs(sets, found[:n_facts], found[n_facts:], key[:n_facts], key[n_facts:])


def _blocks(sizes: np.ndarray) -> Iterator[slice]:
    """Slices of rows that have about `_PAIRS_AT_ONCE` pairs together; a larger row is alone."""
    ends, start = np.cumsum(sizes), 0
    while start < len(sizes):
        before = int(ends[start - 1]) if start else 0
        end = max(int(np.searchsorted(ends, before + _PAIRS_AT_ONCE, side="right")), start + 1)
        yield slice(start, end)
        start = end


# --- distances --------------------------------------------------------------------------------------------------------


def has_two_entities(predicted: Predicted) -> np.ndarray:
    """Whether head and tail of each named fact can be two different entities: shape (n_predicted,)."""
    assert predicted.entities is not None
    sizes, first = predicted.entities.lengths, predicted.entities.offsets[:-1]
    both = (sizes[predicted.head] > 0) & (sizes[predicted.tail] > 0)
    is_single = both & (sizes[predicted.head] == 1) & (sizes[predicted.tail] == 1)
    head, tail = (predicted.entities.tokens[first[side[is_single]]] for side in (predicted.head, predicted.tail))
    both[is_single] = head != tail
    return np.asarray(both)


def closest_distance(predicted: Predicted, facts: np.ndarray, documents: Documents) -> np.ndarray:
    """Number of sentences between the closest mentions of two different entities that head and tail may be.

    Parameters
    ----------
    predicted : Predicted
    facts : ndarray of int64, shape (n,)
        Indices of facts that `has_two_entities` holds of.
    documents : Documents
        With sentences.

    Returns
    -------
    ndarray of int64, shape (n,)

    Notes
    -----
    Each mention of the tail looks for the nearest mentions of the head before and after it. So the work grows with
    facts times mentions, not with pairs of mentions.
    """
    assert predicted.entities is not None and documents.sentence is not None
    head, tail, entities = predicted.head[facts], predicted.tail[facts], predicted.entities
    used = np.unique(np.concatenate([head, tail]))
    # A set belongs to one document, that of any fact that names it.
    document_of = np.zeros(len(entities), np.int64)
    document_of[head] = document_of[tail] = predicted.document[facts]
    members = entities.take(used)
    entity = documents.first_entity[document_of[used]][members.owners] + members.tokens
    owner, mention = elements(documents.first_mention[entity], documents.n_mentions[entity])
    of_set, of_entity, sentence = used[members.owners[owner]], entity[owner], documents.sentence[mention]
    order = np.argsort(encode(of_set, sentence, of_entity), kind="stable")
    of_set, of_entity, sentence = of_set[order], of_entity[order], sentence[order]
    n, width = len(order), int(sentence.max(initial=0)) + 1
    keys = of_set * width + sentence
    # Of each mention, the nearest one before and after it in its set that is of another entity.
    changes = (np.diff(of_set, prepend=-1) != 0) | (np.diff(of_entity, prepend=-1) != 0)
    run_start = np.maximum.accumulate(np.where(changes, np.arange(n), 0))
    run_end = np.append(np.flatnonzero(changes), n)[np.cumsum(changes)]

    starts = np.searchsorted(of_set, np.arange(len(entities) + 1))
    sizes = np.diff(starts)[tail]
    distance = np.empty(len(facts), np.int64)
    for some in _blocks(sizes):
        fact, at = elements(starts[tail[some]], sizes[some])
        wanted, here, itself = head[some][fact], sentence[at], of_entity[at]
        after = np.searchsorted(keys, wanted * width + here, side="right")
        before = after - 1
        nearest = np.full(len(at), np.iinfo(np.int64).max)
        for place, others in ((before, run_start - 1), (after, run_end)):
            place = np.where(_is_of(of_entity, place, itself), others[np.clip(place, 0, n - 1)], place)
            inside = _is_of(of_set, place, wanted)
            gap = np.abs(sentence[np.clip(place, 0, n - 1)] - here)
            nearest = np.where(inside, np.minimum(nearest, gap), nearest)
        distance[some] = np.minimum.reduceat(nearest, np.flatnonzero(np.diff(fact, prepend=-1)))
    return distance


def _is_of(owner: np.ndarray, place: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Whether places are inside of an array and hold the wanted values."""
    inside = (place >= 0) & (place < len(owner))
    return np.asarray(inside & (owner[np.clip(place, 0, len(owner) - 1)] == wanted))


# --- matching ---------------------------------------------------------------------------------------------------------


def match_names(predicted: Predicted, gold: Gold, documents: Documents) -> np.ndarray:
    """The gold fact that each predicted fact matches, one to one, -1 without: shape (n_predicted,).

    At every threshold as many of the facts above it are matched as possible.

    Notes
    -----
    Entities that have the same names among those that predictions write are alike, so gold facts of one relation
    between alike heads and alike tails are one group. Facts take places in groups, and the facts of a group take its
    gold facts, both in order of rank and content.
    """
    kind, kinds = _kinds_of_entities(predicted, documents)
    first = documents.first_entity[gold.document]
    heads, tails = kind[first + gold.head], kind[first + gold.tail]
    matchable = np.flatnonzero((heads >= 0) & (tails >= 0))
    items = encode(gold.relation[matchable], heads[matchable], tails[matchable])
    order, starts = order_equal(items)
    capacity = np.diff(np.append(starts, len(order)))
    members, group = matchable[order], matchable[order[starts]]

    fact, to_group = _edges(predicted, kinds, gold.relation[group], heads[group], tails[group])
    rank = np.empty(len(predicted.score), np.int64)
    rank[np.argsort(-predicted.score, kind="stable")] = np.arange(len(rank))
    chosen = choose_groups(fact, to_group, predicted.score, capacity)
    placed = np.flatnonzero(chosen >= 0)
    placed = placed[np.lexsort([rank[placed], chosen[placed]])]
    runs = chosen[placed]
    within = np.arange(len(runs)) - np.searchsorted(runs, runs)
    partner = np.full(len(chosen), -1)
    partner[placed] = members[starts[runs] + within]
    return partner


def _kinds_of_entities(predicted: Predicted, documents: Documents) -> tuple[np.ndarray, Spans]:
    """Number entities by the sets that hold them.

    Returns
    -------
    kind : ndarray of int64, shape (n_entities,)
        Equal for entities of a document that the same names stand for; -1 for an entity that no name stands for.
    kinds : Spans
        The kinds in each set of ``predicted.entities``.
    """
    assert predicted.entities is not None
    n_sets = len(predicted.entities)
    document_of = np.full(n_sets, -1)
    document_of[predicted.head] = document_of[predicted.tail] = predicted.document
    used = np.flatnonzero((document_of >= 0) & (predicted.entities.lengths > 0))
    members = predicted.entities.take(used)
    owner = used[members.owners]
    entity = documents.first_entity[document_of[owner]] + members.tokens
    order = np.argsort(entity, kind="stable")
    named, starts = np.unique(entity[order], return_index=True)
    codes = encode_spans(Spans(np.append(starts, len(order)), owner[order]))
    kind = np.full(len(documents.n_mentions), -1)
    kind[named] = np.unique(codes, return_inverse=True)[1]
    return kind, token_sets(to_offsets(np.bincount(owner, minlength=n_sets)), kind[entity])


def _edges(
    predicted: Predicted, kinds: Spans, relation: np.ndarray, head: np.ndarray, tail: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of a predicted fact and a group of gold facts that it may be one of, ordered by both.

    `relation`, `head` and `tail` are those of each group, in increasing order; heads and tails are kinds of entities.
    A fact looks at the groups of its relation whose head it may have, so at no more than there are.
    """
    by_fact = kinds.take(predicted.head)
    owner = by_fact.owners
    wanted = encode(np.concatenate([relation, predicted.relation[owner]]), np.concatenate([head, by_fact.tokens]))
    groups, wanted = wanted[: len(relation)], wanted[len(relation) :]
    first, last = np.searchsorted(groups, wanted), np.searchsorted(groups, wanted, side="right")
    width = int(kinds.tokens.max(initial=0)) + 1
    held = kinds.owners * width + kinds.tokens
    found: list[tuple[np.ndarray, np.ndarray]] = [(np.zeros(0, np.int64),) * 2]
    for some in _blocks(last - first):
        at, group = elements(first[some], (last - first)[some])
        fact = owner[some][at]
        fits = find(predicted.tail[fact] * width + tail[group], held) >= 0
        found.append((fact[fits], group[fits]))
    fact, group = (np.concatenate(column) for column in zip(*found, strict=True))
    order = np.argsort(encode(fact, group), kind="stable")
    return fact[order], group[order]


def choose_groups(fact: np.ndarray, group: np.ndarray, score: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """Give facts places in groups, so that at every threshold as many of the facts above it as possible have one.

    Parameters
    ----------
    fact, group : ndarray of int64, shape (m,)
        The edges: each fact and a group that has places for it, ordered by both.
    score : ndarray of float64, shape (n_facts,)
    capacity : ndarray of int64, shape (n_groups,)
        The number of places of each group.

    Returns
    -------
    ndarray of int64, shape (n_facts,)
        The group of each fact, -1 without.

    Notes
    -----
    The sets of facts that can have a place together are a transversal matroid (Edmonds 1971). So facts of higher scores
    come first, and a fact that has a place keeps one.
    """
    chosen = np.full(len(score), -1)
    # A group with a place for each of its facts is no rival of another fact.
    is_roomy = capacity[group] >= np.bincount(group, minlength=len(capacity))[group]
    first = np.flatnonzero(is_roomy)[::-1]
    chosen[fact[first]] = group[first]
    left = chosen[fact] < 0
    fact, group = fact[left], group[left]
    rivals, starts = np.unique(fact, return_index=True)
    neighbours = dict(zip(rivals.tolist(), map(np.ndarray.tolist, np.split(group, starts[1:])), strict=False))
    places = GroupMatching(neighbours, dict(enumerate(capacity.tolist())))
    for _, level in groupby(sorted(neighbours, key=lambda rival: -score[rival]), key=lambda rival: score[rival]):
        places.fill(list(level))
    for at, held in places.held.items():
        chosen[list(held)] = at
    return chosen


class GroupMatching:
    """A matching of facts with the places of groups, which grows.

    Parameters
    ----------
    neighbours : mapping of int to sequence of int
        The groups of each fact.
    capacity : mapping of int to int
        The number of places of each group.

    Attributes
    ----------
    held : dict of int to dict of int to None
        The facts in each group, in the order in which they came.
    """

    def __init__(self, neighbours: Mapping[int, Sequence[int]], capacity: Mapping[int, int]) -> None:
        self.held: defaultdict[int, dict[int, None]] = defaultdict(dict)
        self._neighbours, self._capacity = neighbours, capacity
        self._n_full = dict.fromkeys(neighbours, 0)  # how many of the first groups of a fact are known to be full
        self._visited: set[int] = set()  # groups that this round has looked into
        self._closed: set[int] = set()  # groups whose facts can make no room

    def fill(self, facts: list[int]) -> None:
        """Give places to as many of these facts as possible; facts with a place keep one.

        In a round, no two searches look into the same group. Rounds end when all have a place, or none got one.
        """
        while facts:
            self._visited = set()
            without = [fact for fact in facts if not self._place(fact)]
            if len(without) == len(facts):
                self._closed |= self._visited
                return
            facts = without

    def _place(self, fact: int) -> bool:
        """Find a place for a fact, for which other facts may move to other groups of theirs, depth first."""
        path = [(-1, fact, self._movable(fact))]
        while path:
            _, last, movable = path[-1]
            free = self._free_group(last)
            if free is not None:
                self.held[free][last] = None
                for (_, before, _), (group, after, _) in pairwise(path):
                    del self.held[group][after]
                    self.held[group][before] = None
                return True
            step = next(movable, None)
            if step is None:
                path.pop()
            else:
                path.append((*step, self._movable(step[1])))
        return False

    def _free_group(self, fact: int) -> int | None:
        """The first group of a fact with a free place. A full group stays full."""
        groups = self._neighbours[fact]
        for at in range(self._n_full[fact], len(groups)):
            if len(self.held[groups[at]]) < self._capacity[groups[at]]:
                return groups[at]
            self._n_full[fact] = at + 1
        return None

    def _movable(self, fact: int) -> Iterator[tuple[int, int]]:
        """The facts that hold places in the groups of a fact, each with its group."""
        for group in self._neighbours[fact]:
            if group not in self._visited and group not in self._closed:
                self._visited.add(group)
                for other in list(self.held[group]):
                    yield group, other
