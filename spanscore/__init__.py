"""Scores for span benchmarks: the metrics, the command line, file formats, comparison of systems, and reports."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import evaluate

    from spanscore.reporting import report as report

__version__ = "2.0.0"


def load(name: str, config_name: str | None = None, **kwargs: Any) -> evaluate.EvaluationModule:
    """Load a metric of this package through ``evaluate.load``.

    Parameters
    ----------
    name : {"aste", "docred", "propsegment", "sentivent"}
    config_name : str, optional
        The task, where a metric has several: ``"segmentation"`` or ``"entailment"`` of ``"propsegment"``.
    **kwargs
        Further arguments of ``evaluate.load``, such as ``experiment_id``, and options of ``compute``, which become
        defaults.

    Returns
    -------
    evaluate.EvaluationModule

    Raises
    ------
    ValueError
        There is no metric of this name.

    Notes
    -----
    Telemetry and download counts of the Hugging Face Hub are off, unless their environment variables are already set.
    """
    from spanscore.metrics import FOLDER

    script = FOLDER / f"{name}_metric.py"
    if not script.is_file():
        names = sorted(path.stem.removesuffix("_metric") for path in FOLDER.glob("*_metric.py"))
        raise ValueError(f"name: {name!r} is not one of {', '.join(names)}")
    os.environ.setdefault("HF_UPDATE_DOWNLOAD_COUNTS", "0")
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    import evaluate

    return evaluate.load(str(script), config_name, **kwargs)


def __getattr__(name: str) -> Any:
    # The command line imports this file too, and does not need reports.
    if name == "report":
        from spanscore.reporting import report

        return report
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
