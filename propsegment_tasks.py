"""The parts that segmentation and entailment share: the functions of a configuration, and pairing.

References may be entries of the benchmark's files. Some entries have no reference: in segmentation, no rater's response
is the reference; in entailment, no label was given by enough raters. These entries are left out of the scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .collecting import Definition, document_names, pair_records
from .resampling import Statistics, group_codes

VERSION = "2.0.0"


@dataclass(frozen=True)
class Scorer:
    """One configuration of the metric: its definition, and a function for each method that `Collector` asks for."""

    definition: Definition
    count: Callable[[Any, Any, dict[str, Any]], Any]
    score: Callable[[Any, dict[str, Any]], dict[str, Any]]
    statistics: Callable[[list[Any]], Statistics]
    document_rows: Callable[[Any], list[dict[str, Any]]]
    errors: Callable[[Any, dict[str, Any]], dict[str, Any]]


class Pairing(NamedTuple):
    """The reference of each prediction, and the scored records of both sides.

    Attributes
    ----------
    order : ndarray of int64, shape (n_predictions,)
        The reference of each prediction.
    predictions : ndarray of int64, shape (n_scored,)
        The scored predictions.
    document : ndarray of int64, shape (n_scored,)
        The document of each scored prediction: its place among the scored references.
    references : ndarray of int64, shape (n_scored,)
        The scored references, increasing.
    ids : list
        The name of each scored reference in the result.
    groups : ndarray of int64, shape (n_scored,), or None
        The group of each scored reference.
    kind : {"id", "position"}
    """

    order: np.ndarray
    predictions: np.ndarray
    document: np.ndarray
    references: np.ndarray
    ids: list[Any]
    groups: np.ndarray | None
    kind: str


def pair_scored(
    predicted_ids: np.ndarray, gold_ids: np.ndarray, has_reference: np.ndarray, reference: str, groups: list[Any] | None
) -> Pairing:
    """Pair predictions with references, and leave out entries without a reference.

    Parameters
    ----------
    predicted_ids, gold_ids : ndarray of object, shapes (n_predictions,) and (n_references,)
        None for a record without an id.
    has_reference : ndarray of bool, shape (n_references,)
        False for an entry without a reference.
    reference : str
        The name of the missing part, for errors.
    groups : list, optional
        The key of the group of each reference.

    Raises
    ------
    ValueError
        No entry has a reference; the predictions are neither one for each entry nor one for each entry with a
        reference; or the records do not pair, as in `pair_records`.
    """
    n_all, n_with = len(has_reference), int(has_reference.sum())
    references = np.flatnonzero(has_reference)
    if n_all and not n_with:
        raise ValueError(f"references: none of the {n_all} entries has {reference}, expected at least one that has")
    if n_with == n_all or len(predicted_ids) == n_all:
        order, kind = pair_records(predicted_ids, gold_ids)
    elif len(predicted_ids) == n_with:
        order, kind = pair_records(predicted_ids, gold_ids[references])
        order = references[order]
    else:
        raise ValueError(
            f"{len(predicted_ids)} predictions for {n_all} entries, {n_with} of which have {reference}: "
            f"expected {n_all} or {n_with} predictions"
        )
    predictions = np.flatnonzero(has_reference[order])
    names = document_names(gold_ids, kind)
    codes = group_codes(groups, n_all)
    return Pairing(
        order,
        predictions,
        (np.cumsum(has_reference) - 1)[order[predictions]],
        references,
        names if n_with == n_all else [names[at] for at in references.tolist()],
        None if codes is None else codes[references],
        kind,
    )
