"""The metric scripts and the helper modules that they import.

An installed package holds copies of these files in this folder. A checkout has them in its root folder only, so there
the submodules of this package are the files of the root folder. In both cases ``spanscore.metrics.matching`` is a
module, and relative imports between helper modules work.

Attributes
----------
FOLDER : pathlib.Path
    The folder of the metric scripts.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parent
if not (FOLDER / "matching.py").is_file():
    FOLDER = FOLDER.parent.parent
    __path__ = [str(FOLDER)]
