"""Propositional entailment (Chen et al. 2022, section 5.2): what is counted, and what is scored.

Counting gives a confusion matrix for each pair of premise and proposition. Every score is a function of the sum of
these matrices. Records and options are in ``entailment_records.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .collecting import Counted, Definition
from .columns import Struct
from .entailment_records import AGREEING, ALL_LABELS, LABELS, TASK, TWO_WAY_LABELS
from .errors import RIGHT, error_record
from .matching import divide, precision_recall_f
from .propsegment_tasks import VERSION, Scorer, pair_scored
from .resampling import Statistics

_INPUTS = """
predictions, references : list of labels
    ``entail``, ``neutral``, ``contradict``, their usual other names, the letters e, n and c, the benchmark's
    ``RELATIONSHIP_...``, or integers with `label_names`; in two-way data ``entail`` and ``not-entail``. A label may
    stand in a dict under ``label``, with ``id`` if you like. A reference may be an entry of the benchmark's
    ``relationships.*.json`` as it is: the label that most raters gave counts, and at least two.
"""

_RETURNS = """
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

# The scores with intervals. Macro F1 has none: rare labels bias it, and 95 % intervals cover 74 % of simulated corpora.
_HEADLINE = ("balanced_accuracy", "accuracy", "three_way_accuracy", "matthews_correlation")
_ENTAIL, _NOT_ENTAIL = ALL_LABELS.index("entail"), ALL_LABELS.index("not-entail")


# --- count ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Labelled(Counted):
    """The labels of all pairs.

    Attributes
    ----------
    predicted, gold : ndarray of int64, shape (n_pairs,)
        Indices into `ALL_LABELS`.
    n_without : int
        Entries without a label that counts.
    is_two_way : bool
        Whether a label of either side is not-entail.
    """

    predicted: np.ndarray
    gold: np.ndarray
    n_without: int
    is_two_way: bool

    def as_scored(self, two_way: bool) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
        """Gold and predicted labels as indices into the labels that are scored, and these labels.

        Two-way, every label but entail is not-entail.
        """
        if two_way:
            return np.minimum(self.gold, 1), np.minimum(self.predicted, 1), TWO_WAY_LABELS
        return self.gold, self.predicted, LABELS


def confusion(gold: np.ndarray, predicted: np.ndarray, n_labels: int) -> np.ndarray:
    """The confusion matrix of each pair: 1 in the row of its gold label and the column of its predicted label.

    Parameters
    ----------
    gold, predicted : ndarray of int, shape (n_pairs,)
        In [0, n_labels).
    n_labels : int

    Returns
    -------
    ndarray of int64, shape (n_pairs, n_labels, n_labels)
    """
    table = np.zeros((len(gold), n_labels, n_labels), np.int64)
    table[np.arange(len(gold)), gold, predicted] = 1
    return table


def sum_confusion(gold: np.ndarray, predicted: np.ndarray, n_labels: int) -> np.ndarray:
    """The sum of `confusion` over all pairs, in less memory: shape (n_labels, n_labels)."""
    return np.bincount(gold * n_labels + predicted, minlength=n_labels**2).reshape(n_labels, n_labels)


def count(predictions: Struct, references: Struct, options: dict[str, Any]) -> Labelled:
    """Pair the labels of both sides."""
    label_names = options["label_names"]
    predicted = _number_labels(predictions, "predictions", label_names)
    gold = _number_labels(references, "references", label_names)
    pairing = pair_scored(
        predictions["id"], references["id"], gold >= 0, f"a label that {AGREEING} raters gave", options["groups"]
    )
    gold = gold[pairing.references]
    in_order = np.empty_like(gold)
    in_order[pairing.document] = predicted[pairing.predictions]
    is_two_way = bool((gold == _NOT_ENTAIL).any() or (in_order == _NOT_ENTAIL).any())
    choices = {"task": "entailment", "pairing": pairing.kind, "labels": "two-way" if is_two_way else "three-way"}
    if label_names is not None:
        choices["label_names"] = ",".join(f"{key}={name}" for key, name in sorted(label_names.items()))
    n_without = len(references) - len(gold)
    return Labelled(
        pairing.ids, pairing.groups, choices, (len(in_order), len(gold)), in_order, gold, n_without, is_two_way
    )


def _number_labels(column: Struct, side: str, label_names: dict[int, str] | None) -> np.ndarray:
    """Each label as an index into `ALL_LABELS`, -1 for an entry without one."""
    at = np.flatnonzero(column["integer"] >= 0)
    if not len(at):
        labels: np.ndarray = column["label"]
        return labels
    given = column["integer"][at]
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
    labels = column["label"].copy()
    labels[at] = np.array([ALL_LABELS.index(label_names[key]) for key in distinct.tolist()], np.int64)[inverse]
    return labels


# --- score ------------------------------------------------------------------------------------------------------------


def headline(matrices: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """The headline scores of many confusion matrices (Chen et al. 2022, section 5.2).

    Parameters
    ----------
    matrices : ndarray, shape (n, n_labels, n_labels)
        Gold labels in rows. The first label is entail; two-way, every other one is not-entail.
    whole : ndarray, shape (n_labels, n_labels)
        The matrix of the whole data, which decides what classes occur. A class that is empty in a matrix keeps its rate
        of the whole data.

    Returns
    -------
    ndarray of float64, shape (n, 4) or (n, 2)
        In the order of `_HEADLINE`; for two labels the first two scores.
    """
    two_way = _as_two_way(matrices)
    found, occurring = np.diagonal(two_way, axis1=-2, axis2=-1), two_way.sum(axis=-1)
    whole_two_way = _as_two_way(whole)
    whole_occurring = whole_two_way.sum(axis=-1)
    rates = np.where(occurring > 0, divide(found, occurring), divide(np.diag(whole_two_way), whole_occurring))
    total = matrices.sum(axis=(-2, -1))
    columns = [divide(rates[:, whole_occurring > 0].sum(axis=-1), (whole_occurring > 0).sum())]
    columns.append(divide(found.sum(axis=-1), total))
    if len(whole) == len(LABELS):
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

    Macro F1 is the mean over all three labels. A label that never occurs has F1 0.

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
    three_way = len(labels) == len(LABELS)
    result["macro_f1"] = float(per_label[:, 2].mean()) if three_way else None
    result |= {name: scores[name] for name in _HEADLINE[2:]}
    result["confusion_matrix"] = {"labels": list(labels), "matrix": matrix.tolist()} if three_way else None
    if (occurring > 0).sum() == 1:
        result["undefined"] = TWO_WAY_LABELS[int(np.argmin(occurring))]
    return result


def _score(counted: Labelled, options: dict[str, Any]) -> dict[str, Any]:
    gold, predicted, labels = counted.as_scored(counted.is_two_way)
    result = score_labels(sum_confusion(gold, predicted, len(labels)), labels)
    return result | {"no_reference": counted.n_without}


def _statistics(counted: list[Labelled]) -> Statistics:
    """Confusion matrices; two-way if any system is."""
    two_way = any(system.is_two_way for system in counted)
    tables = []
    for system in counted:
        gold, predicted, labels = system.as_scored(two_way)
        tables.append(confusion(gold, predicted, len(labels)).reshape(-1, len(labels) ** 2))
    shape = len(labels), len(labels)
    return Statistics(
        list(_HEADLINE[: 2 if two_way else None]),
        tables,
        lambda sums, whole: headline(sums.reshape(-1, *shape), whole.reshape(shape)),
        counted[0].ids,
        counted[0].groups,
    )


# --- wrong labels -----------------------------------------------------------------------------------------------------


def _document_rows(counted: Labelled) -> list[dict[str, Any]]:
    gold, predicted, labels = counted.as_scored(counted.is_two_way)
    return [
        {"gold": labels[g], "predicted": labels[p], "correct": (g == _ENTAIL) == (p == _ENTAIL)}
        for g, p in zip(gold.tolist(), predicted.tolist(), strict=True)
    ]


def _component(gold: int, predicted: int) -> str:
    """The component of a pair of labels: ``three_way`` for labels that differ and are both not-entail two-way."""
    return "three_way" if gold != predicted and _ENTAIL not in (gold, predicted) else "entailment"


def _errors(counted: Labelled, options: dict[str, Any]) -> dict[str, Any]:
    """The wrong labels, the right ones, and balanced accuracy if all labels of one confusion had been right."""
    gold, predicted, labels = counted.as_scored(counted.is_two_way)
    wrong: list[dict[str, Any]] = []
    right: list[dict[str, Any]] = []
    for name, g, p in zip(counted.ids, gold.tolist(), predicted.tolist(), strict=True):
        found, kind = (right, RIGHT) if g == p else (wrong, "wrong_label")
        found.append(error_record(name, _component(g, p), kind, labels[p], labels[g]))
    return {
        "errors": wrong,
        "matched": right,
        "error_kinds": mended_labels(sum_confusion(gold, predicted, len(labels)), labels),
    }


def mended_labels(matrix: np.ndarray, labels: tuple[str, ...]) -> list[dict[str, Any]]:
    """Balanced accuracy if all labels of one confusion had been right, for each confusion of two labels.

    Parameters
    ----------
    matrix : ndarray of int, shape (n_labels, n_labels)
        Gold labels in rows.
    labels : tuple of str

    Returns
    -------
    list of dict
        As `errors.mended_kinds` gives them, the most frequent confusion first. The kind ``neutral as entail`` is a
        gold label neutral that was predicted as entail. ``f1`` is the balanced accuracy after mending.
    """
    confusions = [(gold, predicted) for gold, predicted in np.argwhere(matrix).tolist() if gold != predicted]
    rows = []
    for gold, predicted in sorted(confusions, key=lambda pair: -int(matrix[pair])):
        number = int(matrix[gold, predicted])
        mended = matrix.copy()
        mended[gold, predicted] = 0
        mended[gold, gold] += number
        rows.append(
            {
                "component": _component(gold, predicted),
                "kind": f"{labels[gold]} as {labels[predicted]}",
                "errors": number,
                "f1": float(headline(mended[None], matrix)[0, 0]),
                "headline": None,
            }
        )
    return rows


ENTAILMENT = Scorer(
    Definition("propsegment", VERSION, TASK, _INPUTS, _RETURNS),
    count,
    _score,
    _statistics,
    _document_rows,
    _errors,
)
