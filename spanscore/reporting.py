"""Reports from Python: the page of a result that ``compute`` gave."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

from spanscore.benchmarks import BENCHMARKS, Benchmark, task_names
from spanscore.inputs import InputFile

_NEEDED = ("per_document", "errors", "matched", "error_kinds")


def report(
    result: Mapping[str, Any],
    path: str | PathLike[str],
    *,
    references: Any,
    predictions: Any = None,
) -> None:
    """Write the HTML report of a result: scores, plots, breakdowns, and every document with its items.

    Parameters
    ----------
    result : dict
        What ``compute`` of a metric of this project gives with ``per_document=True`` and ``return_errors=True``.
    path : path
        The file to write. A file that is there is replaced.
    references : list of records, dict of columns, or datasets.Dataset
        The references of the result. Their tokens are the text of the documents.
    predictions : list of records, dict of columns, or datasets.Dataset, optional
        Where references have no tokens, those of predictions are taken. Without predictions, it is not known whether
        DocRED's facts had scores, and all scores are shown.

    Raises
    ------
    ValueError
        The result is of no metric of this project, or has no documents and errors.
    spanscore.packages.MissingPackage
        jinja2 or vl-convert-python is not installed.
    """
    import datetime

    from spanscore import __version__, analysis, pages
    from spanscore.formats.writing import write_bytes
    from spanscore.scoring import ScoredFiles

    benchmark, task = _find_benchmark(result)
    missing = [name for name in _NEEDED if name not in result]
    if missing:
        raise ValueError(f"result: no {missing[0]}, expected one of compute(per_document=True, return_errors=True)")
    sides = {"predictions": _records(predictions), "references": _records(references)}
    files = {side: InputFile(side, records, "records", {}) for side, records in sides.items()}
    options = _options_of(str(result["signature"]))
    scored = ScoredFiles(benchmark, task, dict(result), files["predictions"], files["references"], options, None)
    run = {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "versions": {"spanscore": __version__},
    }
    page = pages.report_page(scored, analysis.analyse(scored), run)
    write_bytes(str(path), page.encode("utf-8"))


def _find_benchmark(result: Any) -> tuple[Benchmark, str | None]:
    """The benchmark of a result, and its task where there are several."""
    signature = result.get("signature") if isinstance(result, Mapping) else None
    name, *choices = str(signature).split("|")
    if name not in BENCHMARKS:
        raise ValueError(f"result: the signature {signature!r} is not that of {', '.join(BENCHMARKS)}")
    benchmark = BENCHMARKS[name]
    task = next((choice.removeprefix("task:") for choice in choices if choice.startswith("task:")), None)
    return benchmark, task if task in task_names(benchmark) else None


def _options_of(signature: str) -> dict[str, Any]:
    """The options that a report shows, by the signature."""
    found = dict(part.split(":", 1) for part in signature.split("|") if ":" in part)
    options: dict[str, Any] = {}
    if "confidence_level" in found:
        options["confidence_level"] = float(found["confidence_level"])
    if found.get("threshold", "listed") != "listed":
        options["threshold"] = found["threshold"]
    return options


def _records(given: Any) -> list[Any]:
    """Records as a list of rows."""
    if given is None:
        return []
    if isinstance(given, Mapping):
        columns = list(given.values())
        return [dict(zip(given, row, strict=True)) for row in zip(*columns, strict=True)]
    return list(given) if isinstance(given, Iterable) else [given]
