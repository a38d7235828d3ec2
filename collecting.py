"""The part of a metric that collects records and scores them: ``add``, ``compute``, pairing and several processes.

`Collector` is mixed into an ``evaluate.Metric``. Records are read and checked when they are added, and kept as columns.
``compute`` pairs the records of all batches, counts, and scores the counts.
"""

from __future__ import annotations

import time
import warnings
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import evaluate
import numpy as np
import pyarrow as pa

from .columns import Column, concatenate_columns, from_arrow, is_present, to_arrow
from .matching import COUNT_NAMES
from .mistakes import Mistakes, quote_some
from .options import describe_options, read_options
from .records import Task
from .resampling import Statistics, intervals

SIDES = ("predictions", "references")


class Definition(NamedTuple):
    """The name, version, records, options and description of one configuration of a metric.

    Attributes
    ----------
    name : str
        With which the signature begins.
    version : str
        Of the score.
    task : Task
        Its records and options.
    inputs, returns : str
        The records that ``compute`` takes and the result it gives, in numpydoc.
    item : str
        The word for one item, for the warning that references hold none; empty if a task has no such case.
    """

    name: str
    version: str
    task: Task
    inputs: str
    returns: str
    item: str = ""

    @property
    def inputs_description(self) -> str:
        """The arguments, result and examples of ``compute``, in numpydoc."""
        arguments = f"Parameters\n----------\n{self.inputs.strip()}\n{describe_options(self.task.options)}"
        return f"\n{arguments}\n\n{self.returns.strip()}\n"

    def features(self) -> datasets.Features:
        """The types of both sides, as Evaluate shows them."""
        return datasets.Features({side: _feature(node.feature()) for side, node in self.task.nodes.items()})


def _feature(shape: Any) -> Any:
    if isinstance(shape, dict):
        return {name: _feature(field) for name, field in shape.items()}
    return [_feature(shape[0])] if isinstance(shape, list) else datasets.Value(shape)


@dataclass(frozen=True)
class Counted:
    """Both sides, paired and counted; each metric adds its tables.

    Attributes
    ----------
    ids : list
        The name of each document in the result: its id where records pair by id, else its position.
    groups : ndarray of int64, shape (n_documents,), or None
        Documents of one group are resampled together.
    choices : dict of str to str
        The parts of the signature that the data decide, or options and data together.
    n_items : tuple of int
        The numbers of predicted and of gold items.
    """

    ids: list[Any]
    groups: np.ndarray | None
    choices: dict[str, str]
    n_items: tuple[int, int]


class Collector:
    """The methods that all metrics share.

    Adding refuses a batch whole or takes it whole. Records are cleared only after ``compute`` succeeds, so after any
    error the metric holds the records that it held before. Several processes (``num_process``) exchange their columns
    through Evaluate's own shared cache files; if scoring fails after that, the first process keeps the records of all.

    A metric gives ``definition`` and the abstract methods.
    """

    definition: Definition
    _columns: dict[str, list[Column]]

    # --- what each metric gives ---------------------------------------------------------------------------------------

    @abstractmethod
    def _count(self, predictions: Column, references: Column, options: dict[str, Any]) -> Any:
        """Pair and count both sides, to a `Counted` of the metric."""

    @abstractmethod
    def _score(self, counted: Any, options: dict[str, Any]) -> dict[str, Any]:
        """The scores of the counts."""

    @abstractmethod
    def _statistics(self, counted: list[Any]) -> Statistics:
        """The sums over documents of one or more systems, from which resampling computes the headline scores."""

    @abstractmethod
    def _document_rows(self, counted: Any) -> list[dict[str, Any]]:
        """The counts of each document, without its id."""

    @abstractmethod
    def _errors(self, counted: Any, options: dict[str, Any]) -> dict[str, Any]:
        """The items in error and the matched items: ``errors`` and ``matched``, and tables made of these."""

    # --- from records to a result -------------------------------------------------------------------------------------

    def _compute(self, predictions: Column, references: Column, **options: Any) -> dict[str, Any]:
        """Count, then score."""
        counted = self._count(predictions, references, options)
        result = self._score(counted, options)
        n_predicted, n_gold = counted.n_items
        if n_predicted and not n_gold and self.definition.item:
            warnings.warn(
                f"the references hold no {self.definition.item}: is this a test set without labels?", stacklevel=2
            )
            result["no_gold"] = True
        if options["per_document"]:
            rows = self._document_rows(counted)
            result["per_document"] = [{"id": name, **row} for name, row in zip(counted.ids, rows, strict=True)]
        if options["return_errors"]:
            result |= self._errors(counted, options)
        choices = {"v": self.definition.version, **counted.choices}
        if options["confidence_level"] is not None:
            statistics = self._statistics([counted])
            how = {name: options[name] for name in _INTERVAL_OPTIONS}
            result["confidence_intervals"] = intervals(statistics, **how)
            grouped = "no" if statistics.groups is None else "document"
            choices |= {name: str(value) for name, value in how.items()}
            choices["groups"] = "given" if options["groups"] is not None else grouped
        result["signature"] = sign(self.definition.name, choices)
        return result

    def statistics(self, *, predictions: Iterable[Any], references: Any, **options: Any) -> Statistics:
        """The sums over documents that a comparison of systems needs.

        Records that had been added are neither used nor changed.

        Parameters
        ----------
        predictions : list of the predictions of each system
        references : list of records, dict of columns, or datasets.Dataset
        **options
            Of ``compute``.

        Returns
        -------
        resampling.Statistics

        Raises
        ------
        ValueError
            As ``compute``; for predictions with the number of the system before it, counted from 1.
        """
        checked = self._read_options(options)
        gold = self._join("references", [self._read("references", references)])
        counted = []
        for number, given in enumerate(predictions, 1):
            try:
                column = self._join("predictions", [self._read("predictions", given)])
                counted.append(self._count(column, gold, checked))
            except ValueError as error:
                raise ValueError(f"system {number}: {error}") from None
        return self._statistics(counted)

    # --- adding -------------------------------------------------------------------------------------------------------

    def add_batch(self, *, predictions: Any = None, references: Any = None, **kwargs: Any) -> None:
        """Add a batch of records; a batch with a mistake is refused whole.

        Parameters
        ----------
        predictions, references : list of records, dict of columns, or datasets.Dataset
            Either may be left out, and the two may differ in number: they are paired at ``compute``.

        Raises
        ------
        ValueError
            With the place of the first mistake, the value there and what was expected.
        """
        read = self._read_both({"predictions": predictions, "references": references, **kwargs})
        for side, columns in read.items():
            self._held[side].extend(columns)

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Add one record of each side; see ``add_batch``."""
        # evaluate.combine passes the plural names.
        given = {"predictions": prediction, "references": reference, **kwargs}
        self.add_batch(**{side: None if value is None else [value] for side, value in given.items()})

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any] | None:
        """Score the records that were added, and the records given here.

        Parameters
        ----------
        predictions, references : list of records, dict of columns, or datasets.Dataset, optional
        **options
            See the metric's description.

        Returns
        -------
        dict or None
            The scores, as plain Python; None in every process but the first.

        Raises
        ------
        ValueError
            For a mistake in a record or option; records that had been added are still there.
        """
        checked = self._read_options(options)
        read = self._read_both({"predictions": predictions, "references": references})
        whole = {side: self._join(side, self._held[side] + read[side]) for side in SIDES}
        if self.num_process > 1:  # type: ignore[attr-defined]
            gathered = self._gather(whole)
            self._columns = {side: [] for side in SIDES}
            if gathered is None:
                return None
            whole = gathered
            self._columns = {side: [column] for side, column in whole.items()}
        result = self._compute(**whole, **checked)
        self._columns = {side: [] for side in SIDES}
        return result

    def __len__(self) -> int:
        """The number of records added so far, of the side that has more."""
        return max(sum(map(len, columns)) for columns in self._held.values())

    @property
    def _held(self) -> dict[str, list[Column]]:
        held: dict[str, list[Column]] = self.__dict__.setdefault("_columns", {side: [] for side in SIDES})
        return held

    def _read_options(self, given: dict[str, Any]) -> dict[str, Any]:
        return read_options(given, self.definition.task.options, self.name)  # type: ignore[attr-defined]

    def _read_both(self, given: dict[str, Any]) -> dict[str, list[Column]]:
        unknown = [name for name in given if name not in SIDES]
        if unknown:
            raise ValueError(f"{unknown[0]}: not an input of {self.name}, expected predictions and references")  # type: ignore[attr-defined]
        return {side: [] if given.get(side) is None else [self._read(side, given[side])] for side in SIDES}

    def _read(self, side: str, batch: Any) -> Column:
        mistakes = Mistakes()
        column = self.definition.task.read(side, batch, mistakes)
        mistakes.raise_first()
        return column

    def _join(self, side: str, columns: list[Column]) -> Column:
        return concatenate_columns(columns) if columns else self._read(side, [])

    # --- several processes --------------------------------------------------------------------------------------------

    def _gather(self, part: dict[str, Column]) -> dict[str, Column] | None:
        """Give this process's columns to Evaluate's shared cache; the first process gets the columns of all.

        The file of a process has one row, with the list of all its records of each side. A process returns only when
        its part was taken: with Evaluate alone, a process that soon comes to its next ``compute`` would write over the
        part that the first process is about to read.
        """
        lists = [
            pa.ListArray.from_arrays(pa.array([0, len(column)], pa.int32()), to_arrow(column))
            for column in part.values()
        ]
        table = pa.table(lists, names=list(part))
        module: Any = self
        module.selected_feature_format = datasets.Features.from_arrow_schema(table.schema)
        try:
            module._init_writer()
            module.writer.write_table(table)
            module._finalize()
            if module.process_id > 0:
                _wait_until_gone(Path(module.cache_file_name), module.timeout)
                return None
            rows = module.data.with_format("arrow")[:]
            gathered = {
                side: concatenate_columns([from_arrow(chunk.flatten()) for chunk in rows.column(side).chunks])
                for side in part
            }
            # Its own file first: a process whose file is gone may begin the next round, and must find no lock of this.
            for lock, path in zip(module.filelocks, module.file_paths, strict=True):
                lock.release()
                Path(path).unlink()
            return gathered
        finally:
            for lock in (module.filelock, module.rendez_vous_lock):
                if lock is not None:
                    lock.release()
            module.writer = module.data = module.filelocks = module.file_paths = None
            module.cache_file_name = module.filelock = module.selected_feature_format = None


_INTERVAL_OPTIONS = ("confidence_level", "n_resamples", "random_state", "interval_method")


def _wait_until_gone(path: Path, timeout: float) -> None:
    deadline = time.monotonic() + timeout
    while path.exists():
        if time.monotonic() > deadline:
            raise ValueError(f"{path}: still there after {timeout} s, expected the first process to take its records")
        time.sleep(0.01)


def sign(name: str, choices: dict[str, str]) -> str:
    """The signature of a result: all choices that can change a figure, in one string."""
    return "|".join([name, *(f"{choice}:{value}" for choice, value in choices.items())])


def yes_or_no(value: bool) -> str:
    """An option that is on or off as the signature writes it."""
    return "yes" if value else "no"


def count_rows(table: np.ndarray) -> list[dict[str, int]]:
    """Counts of each document as dicts: shape (n_documents, 3) to n dicts."""
    return [dict(zip(COUNT_NAMES, counts, strict=True)) for counts in table.tolist()]


# --- pairing ----------------------------------------------------------------------------------------------------------


def pair_records(predictions: np.ndarray, references: np.ndarray) -> tuple[np.ndarray, str]:
    """Find the reference of each prediction.

    Parameters
    ----------
    predictions, references : ndarray of object, shapes (n_predictions,) and (n_references,)
        The ids as strings, None for a record without an id.

    Returns
    -------
    order : ndarray of int64, shape (n_predictions,)
        ``order[i]`` is the reference of prediction ``i``.
    pairing : {"id", "position"}

    Raises
    ------
    ValueError
        There is no reference, some records of a side lack an id, an id is missing, unknown or repeated (up to five are
        named), or records pair by position and their numbers differ.
    """
    if not len(references):
        raise ValueError("references: there are none, expected at least one record")
    has_ids = []
    for side, ids in zip(SIDES, (predictions, references), strict=True):
        present = is_present(ids)
        if present.any() and not present.all():
            first = int(np.argmin(present))
            raise ValueError(f"{side}[{first}].id: missing, expected an id, as other {side} have one")
        has_ids.append(bool(present.all()) and len(ids) > 0)
    if not all(has_ids):
        if len(predictions) != len(references):
            raise ValueError(
                f"{len(predictions)} predictions for {len(references)} references: without ids on both sides, "
                f"expected one prediction for each reference, in the same order"
            )
        return np.arange(len(references)), "position"
    sides = dict(zip(SIDES, (predictions.tolist(), references.tolist()), strict=True))
    place = dict(zip(sides["references"], range(len(references)), strict=True))
    if sides["predictions"] == sides["references"] and len(place) == len(references):
        return np.arange(len(references)), "id"
    for side, names in sides.items():
        repeated = [name for name, times in Counter(names).items() if times > 1]
        if repeated:
            raise ValueError(f"{side}: repeated ids {quote_some(repeated)}, expected each id once")
    unknown = [name for name in sides["predictions"] if name not in place]
    if unknown:
        raise ValueError(f"predictions: ids {quote_some(unknown)} are not among the references'")
    if len(predictions) < len(references):
        given = set(sides["predictions"])
        absent = [name for name in sides["references"] if name not in given]
        raise ValueError(f"predictions: none for ids {quote_some(absent)} of the references")
    return np.array([place[name] for name in sides["predictions"]], np.int64), "id"


def document_names(ids: np.ndarray, pairing: str) -> list[Any]:
    """The name of each reference in the result: its id where records pair by id, else its position."""
    return list(ids.tolist()) if pairing == "id" else list(range(len(ids)))


def check_token_numbers(predicted: np.ndarray, gold: np.ndarray, order: np.ndarray) -> None:
    """Refuse predictions with another number of tokens than their reference: their indices mean other tokens.

    The tokens themselves may differ, as models lower-case or escape them.

    Parameters
    ----------
    predicted, gold : ndarray of int64
        Numbers of tokens, -1 where they are not known.
    order : ndarray of int64
        The reference of each prediction.
    """
    expected = gold[order]
    differ = (predicted != expected) & (predicted >= 0) & (expected >= 0)
    if differ.any():
        at = int(np.argmax(differ))
        raise ValueError(
            f"predictions[{at}].tokens: {predicted[at]} tokens, expected {expected[at]} as in the reference, "
            f"since indices count from its tokens"
        )


def describe(definition: Definition, description: str, citation: str, urls: list[str]) -> evaluate.MetricInfo:
    """The information on a metric that Evaluate shows."""
    return evaluate.MetricInfo(
        description=description,
        citation=citation,
        inputs_description=definition.inputs_description,
        features=definition.features(),
        reference_urls=urls,
    )
