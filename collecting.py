"""The part of a metric that collects records and scores them: ``add``, ``compute``, pairing and several processes.

`Collector` is mixed into an ``evaluate.Metric``. Records are read and checked when they are added, and kept as columns.
``compute`` pairs the records of all batches, counts, and scores the counts.
"""

from __future__ import annotations

import inspect
import math
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

from .columns import Column, Struct, concatenate_columns, is_present, take
from .matching import COUNT_NAMES
from .mistakes import Mistakes, quote, quote_some
from .options import describe_options, number, read_options, table, whole_number
from .processes import Run, gather, give
from .records import Task, split_tokens
from .resampling import Statistics, uncertainty
from .results import Result

SIDES = ("predictions", "references")

# Of the metrics, not of the benchmarks' data.
LICENSE = "Apache-2.0"


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
    through Evaluate's shared cache folder; if scoring fails after that, the first process keeps what all had added.

    A metric gives ``definition`` and the abstract methods.

    Parameters
    ----------
    config_name : str, optional
        One of `configurations`; None and ``"default"`` are the first of them.
    **settings
        Parameters of ``evaluate.EvaluationModule``, and options of ``compute``, which become the defaults of this
        metric.

    Raises
    ------
    ValueError
        For an unknown configuration, a wrong option, or several processes without an ``experiment_id``.
    """

    configurations: tuple[str, ...] = ("default",)
    _batches: list[dict[str, Column]]  # each with one or both sides

    def __init__(self, config_name: str | None = None, **settings: Any) -> None:
        known = ("default", *(name for name in self.configurations if name != "default"))
        if config_name is not None and config_name not in known:
            raise ValueError(f"config_name: {quote(config_name)} is not one of {', '.join(known)}")
        parameters = inspect.signature(evaluate.EvaluationModule.__init__).parameters
        of_module = {name: value for name, value in settings.items() if name in parameters}
        super().__init__(config_name, **_read_processes(of_module))  # type: ignore[call-arg]
        self._batches = []
        self._defaults: dict[str, Any] = {}
        options = {name: value for name, value in settings.items() if name not in parameters}
        self._defaults = self._read_options(options)

    def __getstate__(self) -> dict[str, Any]:
        """What a copy gets: its own list of batches, and none of the methods that Evaluate binds to the original."""
        state = {name: value for name, value in self.__dict__.items() if name not in ("add", "add_batch", "compute")}
        return state | {"_batches": list(self._batches)}

    # --- what each metric gives ---------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def definition(self) -> Definition:
        """The `Definition` of the configuration."""

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

    def _compute(self, predictions: Column, references: Column, **options: Any) -> Result:
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
            found = uncertainty(statistics, **how)
            result["confidence_intervals"] = found.intervals
            result["detectable_differences"] = found.detectable_differences
            grouped = "no" if statistics.groups is None else "document"
            choices |= {name: str(value) for name, value in how.items()}
            choices["groups"] = "given" if options["groups"] is not None else grouped
        result["signature"] = sign(self.definition.name, choices)
        return Result(flatten(result) if options["flat"] else result)

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
        for system, given in enumerate(predictions, 1):
            try:
                column = self._join("predictions", [self._read("predictions", given)])
                counted.append(self._count(column, gold, checked))
            except ValueError as error:
                raise ValueError(f"system {system}: {error}") from None
        # Systems may differ in choices of the data: those of the first stand in front.
        choices: dict[str, str] = {"v": self.definition.version}
        for each in reversed(counted):
            choices |= each.choices
        signature = sign(self.definition.name, choices)
        return self._statistics(counted)._replace(signature=signature)

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
        # One step, so that an interrupt cannot leave one side of a batch.
        self._batches.append(self._read_both({"predictions": predictions, "references": references, **kwargs}))

    def add(self, *, prediction: Any = None, reference: Any = None, **kwargs: Any) -> None:
        """Add one record of each side; see ``add_batch``."""
        # evaluate.combine passes the plural names.
        given = {"predictions": prediction, "references": reference, **kwargs}
        self.add_batch(**{side: None if value is None else [value] for side, value in given.items()})

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> Result | None:
        """Score the records that were added, and the records given here.

        Parameters
        ----------
        predictions, references : list of records, dict of columns, or datasets.Dataset, optional
        **options
            See the metric's description.

        Returns
        -------
        Result or None
            The scores, a dict of plain Python; None in every process but the first.

        Raises
        ------
        ValueError
            For a mistake in a record or option; records that had been added are still there.
        """
        checked = self._read_options(options)
        batches = [*self._batches, self._read_both({"predictions": predictions, "references": references})]
        if self.num_process > 1:  # type: ignore[attr-defined]
            batches = self._gather(batches, checked)
            if not batches:
                return None
        result = self._compute(**self._join_both(batches), **checked)
        self._batches = []
        return result

    def __len__(self) -> int:
        """The number of records added so far, of the side that has more."""
        return max(sum(len(batch[side]) for batch in self._batches if side in batch) for side in SIDES)

    def _read_options(self, given: dict[str, Any]) -> dict[str, Any]:
        return read_options(given, self.definition.task.options, self.name, self._defaults)  # type: ignore[attr-defined]

    def _read_both(self, given: dict[str, Any]) -> dict[str, Column]:
        unknown = [name for name in given if name not in SIDES]
        if unknown:
            raise ValueError(f"{unknown[0]}: not an input of {self.name}, expected predictions and references")  # type: ignore[attr-defined]
        return {side: self._read(side, given[side]) for side in SIDES if given.get(side) is not None}

    def _read(self, side: str, batch: Any) -> Column:
        mistakes = Mistakes()
        column = self.definition.task.read(side, batch, mistakes)
        mistakes.raise_first()
        return column

    def _join(self, side: str, columns: list[Column]) -> Column:
        return concatenate_columns(columns) if columns else self._read(side, [])

    def _join_both(self, batches: list[dict[str, Column]]) -> dict[str, Column]:
        return {side: self._join(side, [batch[side] for batch in batches if side in batch]) for side in SIDES}

    # --- several processes --------------------------------------------------------------------------------------------

    def _gather(self, batches: list[dict[str, Column]], options: dict[str, Any]) -> list[dict[str, Column]]:
        """Give this process's records to the first process; the result is the batches of all there, none elsewhere.

        The last batch holds the records that were given to ``compute``. They are apart from those that were added, as
        the first process keeps only the latter if scoring fails.
        """
        module: Any = self
        run = Run(Path(module.data_dir), module.experiment_id, module.process_id, module.num_process, module.timeout)
        kinds = {"added": self._join_both(batches[:-1]), "given": self._join_both(batches[-1:])}
        if run.process:
            part = {f"{kind} {side}": column for kind, sides in kinds.items() for side, column in sides.items()}
            give(run, options, part, self._batches.clear)
            return []
        taken = list(kinds.values())

        def keep(part: dict[str, Column]) -> None:
            both = [{side: part[f"{kind} {side}"] for side in SIDES} for kind in kinds]
            taken.extend(both)
            self._batches.append(both[0])  # once taken, records are nowhere else

        gather(run, options, keep)
        return taken


def _read_processes(settings: dict[str, Any]) -> dict[str, Any]:
    """Check the settings of several processes among those of the module."""
    read = {name: option.read(settings[name]) for name, option in _OF_PROCESSES.items() if name in settings}
    n_processes, process = read.get("num_process", 1), read.get("process_id", 0)
    if process >= n_processes:
        raise ValueError(f"process_id: {process} is not the number of a process, expected 0 to {n_processes - 1}")
    experiment = settings.get("experiment_id")
    if experiment is not None:
        read["experiment_id"] = str(experiment)
    if n_processes > 1 and not read.get("experiment_id"):
        raise ValueError(
            "experiment_id: missing, expected one for several processes: the same in all processes of a run, and "
            "another one in each run"
        )
    return settings | read


_OF_PROCESSES = table(
    whole_number("num_process", 1, "", "a number of processes", 1),
    whole_number("process_id", 0, "", "the number of a process"),
    number("timeout", "float", 100.0, "", 0.0, math.inf, "a number of seconds, at least 0"),
)
_INTERVAL_OPTIONS = ("confidence_level", "n_resamples", "random_state", "interval_method")


def flatten(result: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """The numbers of a result in one level, for loggers.

    Parameters
    ----------
    result : dict
    prefix : str
        The beginning of each name.

    Returns
    -------
    dict of str to int or float
        Names of nested numbers are joined by ``/``; an interval gives ``…/low`` and ``…/high``. All else is left out.
    """
    flat: dict[str, Any] = {}
    for name, value in result.items():
        if name == "confidence_intervals" and not prefix:
            value = {score: dict(zip(("low", "high"), ends, strict=True)) for score, ends in value.items()}
        if isinstance(value, dict):
            flat |= flatten(value, f"{prefix}{name}/")
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            flat[prefix + name] = value
    return flat


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


def compare_tokens(
    predictions: Struct, references: Struct, order: np.ndarray, pairing: str, as_indices: bool = True
) -> int:
    """Check that each prediction is of the sentence of its reference.

    Where records pair by position, a prediction with the tokens of another reference is refused: its sentence is in
    another place. Case and tokens without a letter or digit are ignored. Other differences are taken, as models
    lower-case or escape tokens. Records without tokens, or with none, are not looked at.

    Parameters
    ----------
    predictions, references : Struct
        The tokens of each side; see `records.Tokens`.
    order : ndarray of int64
        The reference of each prediction.
    pairing : {"id", "position"}
    as_indices : bool
        Whether spans are token indices. Then another number of tokens than in the reference is refused.

    Returns
    -------
    int
        The number of predictions whose tokens differ from those of their reference.

    Raises
    ------
    ValueError
    """
    expected = take(references, order)
    numbers = predictions["number"], expected["number"]
    is_other = (predictions["text"] != expected["text"]) | (numbers[0] != numbers[1])
    differ = np.flatnonzero(is_other.astype(bool) & (numbers[0] > 0) & (numbers[1] > 0)).tolist()
    if differ and pairing == "position":
        _check_places(predictions["text"], references["text"], order, differ)
    wrong = np.flatnonzero((numbers[0] != numbers[1]) & (numbers[0] >= 0) & (numbers[1] >= 0)).tolist()
    if as_indices and wrong:
        at = wrong[0]
        raise ValueError(
            f"predictions[{at}].tokens: {numbers[0][at]} tokens, expected {numbers[1][at]} as in the reference, "
            f"since indices count from its tokens"
        )
    return len(differ)


def _check_places(predicted: np.ndarray, gold: np.ndarray, order: np.ndarray, differ: list[int]) -> None:
    """Refuse a prediction with the sentence of another reference."""
    sentences = [_fold_tokens(text) for text in gold.tolist()]
    place: dict[tuple[str, ...], int] = {}
    for at, sentence in enumerate(sentences):
        place.setdefault(sentence, at)
    for at in differ:
        sentence, own = _fold_tokens(predicted[at]), int(order[at])
        if sentence and sentence != sentences[own] and sentence in place:
            raise ValueError(
                f"predictions[{at}].tokens: the sentence of references[{place[sentence]}], expected that of "
                f"references[{own}], since records without ids pair by position"
            )


def _fold_tokens(text: str | None) -> tuple[str, ...]:
    """The tokens with a letter or digit, without regard to case; none where tokens are not known."""
    return tuple(token.casefold() for token in split_tokens(text or "") if any(map(str.isalnum, token)))


def describe(
    definition: Definition, description: str, citation: str, urls: list[str], homepage: str = ""
) -> evaluate.MetricInfo:
    """The information on a metric that Evaluate shows.

    Parameters
    ----------
    definition : Definition
    description, citation : str
    urls : list of str
        The papers of the benchmark.
    homepage : str
        The address of the benchmark's data.
    """
    return evaluate.MetricInfo(
        description=description,
        citation=citation,
        inputs_description=definition.inputs_description,
        features=definition.features(),
        homepage=homepage,
        license=LICENSE,
        reference_urls=urls,
    )
