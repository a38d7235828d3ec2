"""What tests share: the benchmark files where they are at hand, predictions made from them, and loaded metrics."""

import json
import os
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

# Before evaluate is imported: its caches, away from the user's and from each other's.
_HOME = tempfile.mkdtemp(prefix="metrics-test-")
os.environ.update(HF_HOME=_HOME, HF_UPDATE_DOWNLOAD_COUNTS="0", HF_HUB_DISABLE_TELEMETRY="1", HF_DATASETS_OFFLINE="1")

import evaluate  # noqa: E402
import hypothesis  # noqa: E402
import pytest  # noqa: E402

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared"
DATA = Path(os.environ.get("BENCHMARK_DATA", SHARED / "data"))
sys.path.insert(0, str(ROOT))

evaluate.utils.logging.set_verbosity_error()
# Machines are shared: how long an example takes says nothing.
hypothesis.settings.register_profile("shared", deadline=None)
hypothesis.settings.load_profile("shared")


import records  # noqa: E402


def load(name, config_name=None, **kwargs):
    """The metric `name` through `evaluate.load`, from its file; small batches are read the fast way too."""
    metric = evaluate.load(str(ROOT / f"{name}_metric.py"), config_name, **kwargs)
    staging = next(kind for kind in type(metric).__mro__ if kind.__name__ == "Staging")
    setattr(sys.modules[staging.__module__], "FEW", 0)  # noqa: B010  a module has no such attribute for mypy
    return metric


# The tests are about few records, which the fast way is not used for otherwise.
records.FEW = 0


def benchmark_file(name):
    """A file of the benchmarks, or a skipped test."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"the benchmark file {name} is not at hand; BENCHMARK_DATA names the folder")
    return path


def expected(seed=1):
    """What scores must come out on predictions made with a seed."""
    path = DATA.parent / "expected" / f"seed{seed}.json"
    if not path.exists():
        pytest.skip("the expected figures are not at hand")
    return json.loads(path.read_text())


@cache
def perturbed(benchmark, source, seed=1):
    """The output of the script that makes imperfect predictions from gold, as text."""
    script = DATA.parent / "tools" / "perturb.py"
    if not script.exists():
        pytest.skip("the script that makes predictions is not at hand")
    command = [sys.executable, str(script), benchmark, str(source), str(seed)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
