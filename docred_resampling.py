"""Sums over documents from which resampling computes DocRED's headline scores, rankings included."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array, hstack

from .docred_documents import Corpus
from .docred_ranking import FactScores, areas, best_step
from .docred_records import TRAINING
from .matching import f_score, rates_or_whole
from .ranking import Ranking, between
from .resampling import Statistics

# Without `macro_f1`: rare relations bias its resamples, so that a 95 % interval covers 56 % (300 documents).
HEADLINE = (
    *("precision", "recall", "f1", "ign_f1", "ign_precision", "ign_distant_f1", "ign_distant_precision"),
    *("auc", "ign_auc", "pr_auc", "ign_pr_auc", "best_f1", "ign_best_f1"),
)


# --- rankings by document ---------------------------------------------------------------------------------------------


class Ranks(NamedTuple):
    """Rankings by document, with steps that may come from several systems; see `Ranking`.

    Attributes
    ----------
    right, wrong : csr_array, shapes (n_documents, m + 1) and (n_documents, 2 m + 2)
    seen : csr_array or None, shape (n_documents, m + 1)
        Number of gold facts among the training facts.
    """

    right: csr_array
    wrong: csr_array
    seen: csr_array | None


def rank_documents(corpus: Corpus, scores: FactScores, steps: np.ndarray) -> Ranks:
    """Rank the candidates of each document among the steps."""
    gold, predicted, n_documents, m = corpus.gold, corpus.predicted, len(corpus.documents), len(steps)

    def tally(document: np.ndarray, column: np.ndarray, times: np.ndarray, width: int) -> csr_array:
        return csr_array((times.astype(np.float64), (document, column)), shape=(n_documents, width))

    def place(values: np.ndarray) -> np.ndarray:
        return np.searchsorted(steps, values) + np.searchsorted(steps, values, side="right")

    has_score = ~np.isnan(scores.gold)
    step = np.where(has_score, np.searchsorted(steps, scores.gold), m)
    right = tally(gold.document, step, np.ones(len(step)), m + 1)
    seen = tally(gold.document, step, gold.seen["ign"], m + 1) if "ign" in gold.seen else None

    columns = [place(predicted.score[scores.is_wrong])]
    documents, times = [predicted.document[scores.is_wrong]], [np.ones(len(columns[0]))]
    for number in corpus.dense.arrays:
        n_between, _ = between(steps, corpus.dense.scores(number).flatten())
        columns.append(np.flatnonzero(n_between))
        times.append(n_between[columns[-1]])
        documents.append(np.full(len(columns[-1]), number))
    # Dense scores include the scores of gold facts.
    in_dense = np.isin(gold.document, corpus.dense.documents) & has_score
    documents.append(gold.document[in_dense])
    columns.append(2 * step[in_dense] + 1)
    times.append(np.full(in_dense.sum(), -1))
    document, column, n_wrong_there = (np.concatenate(parts) for parts in (documents, columns, times))
    n_wrong = np.bincount(document, weights=n_wrong_there, minlength=n_documents)
    without_score = scores.candidates - np.bincount(gold.document, minlength=n_documents) - n_wrong
    document = np.append(document, np.arange(n_documents))
    column = np.append(column, np.full(n_documents, 2 * m + 1))
    return Ranks(right, tally(document, column, np.append(n_wrong_there, without_score), 2 * m + 2), seen)


def best_rows(corpus: Corpus, ranks: Ranks, steps: np.ndarray) -> dict[str, np.ndarray]:
    """Counts of each document at the best thresholds of the whole data.

    Returns
    -------
    dict of str to ndarray of float64, shape (n_documents, 3)
        ``best``; and with training facts ``ign_best``, without the correct facts that are among them, and
        ``ign_best_recall``, with them.
    """
    right, wrong = (table.sum(axis=0) for table in (ranks.right, ranks.wrong))
    ranking = Ranking(steps, right, wrong, np.full(len(steps), -np.inf))
    gold, is_dense = ranks.right.sum(axis=1), bool(corpus.dense.arrays)

    def taken(table: csr_array, first: int | None, last: int) -> np.ndarray:
        return np.zeros(len(gold)) if first is None else np.asarray(table[:, first:last].sum(axis=1))

    def counts(step: int | None) -> np.ndarray:
        correct = taken(ranks.right, step, len(steps))
        others = taken(ranks.wrong, None if step is None else 2 * step + 1, 2 * len(steps) + 1)
        return np.stack([correct, correct + others, gold], axis=-1)

    found = {"best": counts(best_step(ranking, is_dense)[0])}
    if ranks.seen is not None:
        step = best_step(ranking, is_dense, ranks.seen.sum(axis=0))[0]
        found["ign_best_recall"] = counts(step)
        seen = taken(ranks.seen, step, len(steps))
        found["ign_best"] = found["ign_best_recall"] - seen[:, None] * np.array([1, 1, 0])
    return found


# --- systems ----------------------------------------------------------------------------------------------------------


class System(NamedTuple):
    """The counts of one system.

    Attributes
    ----------
    corpus : Corpus
    tables : dict of str to ndarray of int64, shape (n_documents, 3)
        Counts of each component.
    scores : FactScores
    """

    corpus: Corpus
    tables: dict[str, np.ndarray]
    scores: FactScores


def beside(tables: list[csr_array]) -> csr_array:
    """Put tables with the same rows side by side."""
    # Before scipy 1.12, `hstack` makes a matrix of arrays. The sums of a matrix have two axes.
    return csr_array(hstack(tables, format="csr"))


def sum_systems(systems: list[System], groups: np.ndarray | None) -> Statistics:
    """The sums over documents of one or more systems on the same references.

    They are counts, and ranks among the scores that any system gives to gold facts. The documents are those of the
    references and of all unknown titles.

    Parameters
    ----------
    systems : list of System
    groups : ndarray of int64, shape (n_references,), or None
    """
    titles = list(dict.fromkeys(title for system in systems for title in system.corpus.titles))
    document_of = {title: document for document, title in enumerate(titles)}
    gold_scores = np.concatenate([system.scores.gold for system in systems])
    steps = np.unique(gold_scores[~np.isnan(gold_scores)])
    rows_of, ranks_of = [], []
    for corpus, counted, scores in systems:
        documents = np.array([document_of[title] for title in corpus.titles], np.int64)
        move = csr_array(
            (np.ones(len(documents)), (documents, np.arange(len(documents)))), shape=(len(titles), len(documents))
        )
        ranks = rank_documents(corpus, scores, steps)
        rows = {name: counted[name] for name in ("fact", *corpus.gold.seen)} | best_rows(corpus, ranks, steps)
        rows_of.append({name: move @ table for name, table in rows.items()})
        ranks_of.append(beside([move @ part for part in ranks if part is not None]))
    names = list(rows_of[0])
    tables = [
        beside([csr_array(np.concatenate(list(rows.values()), axis=1)), ranks])
        for rows, ranks in zip(rows_of, ranks_of, strict=True)
    ]
    if groups is not None:  # a document of an unknown title is a group of its own
        n_unknown = len(titles) - len(groups)
        groups = np.append(groups, groups.max() + 1 + np.arange(n_unknown))
    return Statistics(
        _headline_names(names),
        tables,
        lambda sums, whole: _score_sums(names, steps, sums, whole),
        titles,
        groups,
    )


def _headline_names(tables: list[str]) -> list[str]:
    """The headline scores that can be computed, given the names of the counted tables."""
    kinds = [kind for kind in TRAINING if kind in tables]
    found = {name for name in HEADLINE if not name.startswith("ign")}
    found |= {f"{kind}_{rate}" for kind in kinds for rate in ("f1", "precision")}
    if "ign" in kinds:
        found |= {"ign_auc", "ign_pr_auc", "ign_best_f1"}
    return [name for name in HEADLINE if name in found]


def _score_sums(names: list[str], steps: np.ndarray, sums: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """The headline scores of many sums of documents: shape (n, n_scores).

    A component without items in a sum has the value of the whole data.
    """
    split = np.cumsum([3 * len(names), len(steps) + 1, 2 * len(steps) + 2])

    def parts(table: np.ndarray) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
        counts, right, wrong, seen = np.split(table, split, axis=-1)
        ranking = Ranking(steps, right, wrong, steps)
        return counts.reshape(-1, len(names), 3), right.sum(axis=-1), areas(ranking, seen if seen.shape[-1] else None)

    (counts, n_gold, area), (whole_counts, _, whole_area) = parts(sums), parts(whole)
    rates = rates_or_whole(whole_counts[0], counts)
    precision, recall, f1 = (dict(zip(names, rate.T, strict=True)) for rate in np.moveaxis(rates, -1, 0))
    found = {"precision": precision["fact"], "recall": recall["fact"], "f1": f1["fact"], "best_f1": f1["best"]}
    for kind in TRAINING:
        if kind in names:
            found[f"{kind}_f1"] = f_score(precision[kind], recall["fact"])
            found[f"{kind}_precision"] = precision[kind]
    if "ign" in names:
        found["ign_best_f1"] = f_score(precision["ign_best"], recall["ign_best_recall"])
    found |= {name: np.where(n_gold > 0, values, whole_area[name]) for name, values in area.items()}
    return np.stack([found[name] for name in _headline_names(names)], axis=-1)
