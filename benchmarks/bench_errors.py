"""Time and memory of `return_errors` on one document with N wrong items a side, by default 4,000.

In the related form, every predicted item is related to every gold item: 16 million pairs of 4,000 items. In the apart
form, each predicted item is related to one or two gold items.

Usage: python -m benchmarks.bench_errors [CASE FORM [N]]
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.timing import in_new_process, load

N = 4000


def _spans(form: str, side: int, n: int) -> list[list[int]]:
    """Different spans. All share token 0, or each overlaps two spans of the other side. No span is on both sides."""
    if form == "related":
        return [[0, 1 + side * n + at] for at in range(n)]
    return [[4 * at + 2 * side, 4 * at + 2 * side + 1, 4 * at + 2 * side + 2] for at in range(n)]


def aste(form: str, side: int, n: int) -> Any:
    if form == "related":
        aspects, opinions = (_spans(form, side, math.isqrt(n) + 1) for _ in range(2))
        return [(aspect, [1000 + token for token in opinion], "POS") for aspect in aspects for opinion in opinions][:n]
    return [(span, [20_000 + token for token in span], "POS") for span in _spans(form, side, n)]


def propsegment(form: str, side: int, n: int) -> Any:
    return _spans(form, side, n)


def sentivent(form: str, side: int, n: int) -> Any:
    events = [
        {"kind": "event", "span": span, "type": "Deal", "realis": "asserted", "modality": "certain", "negated": False}
        for span in _spans(form, side, n)
    ]
    return {"annotations": events}


def docred(form: str, side: int, n: int) -> Any:
    if form == "related":
        facts = [(0, 1 + side * n + at, "P1") for at in range(n)]
        entities = 2 * n + 1
    else:
        facts = [(at, at + 1, f"P{side}") for at in range(n)]
        entities = n + 1
    if side == 0:
        return {"title": "one", "relations": [{"h_idx": h, "t_idx": t, "r": r} for h, t, r in facts]}
    labels = [{"h": h, "t": t, "r": r, "evidence": []} for h, t, r in facts]
    return {
        "title": "one",
        "vertexSet": [[{"name": str(at), "sent_id": 0}] for at in range(entities)],
        "labels": labels,
    }


CASES: dict[str, tuple[Callable[[str, int, int], Any], dict[str, Any]]] = {
    "aste": (aste, {}),
    "propsegment": (propsegment, {}),
    "sentivent": (sentivent, {}),
    "sentivent factuality": (sentivent, {"include_factuality": True}),
    "docred": (docred, {}),
}


def _peak() -> float:
    """Mebibytes of this process's memory at its highest."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM"))) / 1024


def measure(name: str, form: str, n: int = N) -> None:
    make, options = CASES[name]
    metric = load(name.split()[0])
    sides = {"predictions": [make(form, 0, n)], "references": [make(form, 1, n)]}
    before, start = _peak(), time.perf_counter()
    metric.compute(**sides, **options)
    plain, counted, start = time.perf_counter() - start, _peak(), time.perf_counter()
    result = metric.compute(**sides, **options, return_errors=True)
    spent = time.perf_counter() - start
    print(
        f"{name}, {form}: {spent:.1f} s and {_peak():.0f} MiB at the highest, {len(result['errors']):,} errors; "
        f"without errors {plain:.1f} s and {counted:.0f} MiB; before, {before:.0f} MiB"
    )


def main() -> None:
    if len(sys.argv) > 2:
        measure(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
        return
    for name in CASES:
        for form in ("related", "apart"):
            print(in_new_process("bench_errors", name, form), end="", flush=True)


if __name__ == "__main__":
    main()
