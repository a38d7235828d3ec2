"""CPU time of two scorers in one run, in turn, so that their ratio holds on a noisy machine; growth of peak memory."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import evaluate

ROOT = Path(__file__).parent.parent


def load(name: str, config_name: str | None = None, **kwargs: Any) -> evaluate.EvaluationModule:
    """A metric of this project through `evaluate.load`."""
    evaluate.utils.logging.set_verbosity_error()
    return evaluate.load(str(ROOT / f"{name}_metric.py"), config_name, **kwargs)


def seconds(call: Callable[[], Any]) -> float:
    start = time.process_time()
    call()
    return time.process_time() - start


def compare(title: str, ours: Callable[[], Any], theirs: Callable[[], Any], runs: int = 3) -> float:
    """Warm both up once, time them in turn, and print the ratio of the medians (theirs over ours)."""
    ours(), theirs()
    pairs = [(seconds(ours), seconds(theirs)) for _ in range(runs)]
    own, other = (statistics.median(column) for column in zip(*pairs, strict=True))
    print(f"{title}: {own:.3f} s, the other {other:.3f} s, ratio {other / own:.1f}")
    ratio: float = other / own
    return ratio


def peak_growth(call: Callable[[], Any]) -> float:
    """Mebibytes by which a call raises this process's memory at its highest, above what it had before."""
    try:
        Path("/proc/self/clear_refs").write_text("5")  # Linux: forget the peak so far
    except OSError:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        call()
        return (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    before = _memory("VmRSS")
    call()
    return (_memory("VmHWM") - before) / 1024


def _memory(name: str) -> int:
    """Kibibytes, as Linux tells of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(f"{name}:")))


def in_new_process(module: str, *arguments: object) -> str:
    """What a module of this folder prints when run by itself, so that its peak memory is its own."""
    command = [sys.executable, "-m", f"benchmarks.{module}", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
