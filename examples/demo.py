"""Score the examples of every benchmark through `evaluate.load`, and show what the scores tell apart."""

from __future__ import annotations

from typing import Any

import evaluate

from spanscore.examples import Example, all_examples
from spanscore.metrics import FOLDER


def part(result: dict[str, Any], name: str) -> Any:
    """Return the row or the figure `name` of a result."""
    for key in name.split(".") if name else []:
        result = result[key]
    return result


def show(example: Example) -> None:
    """Score one example and print its rows."""
    name = example.benchmark.name
    metric = evaluate.load(str(FOLDER / f"{name}_metric.py"), example.task)
    predictions, references = example.read()
    result = metric.compute(predictions=predictions, references=references, **example.arguments())
    print(f"{name}{f' ({example.task})' if example.task else ''}: {result['signature']}")
    for place in example.shown:
        row = part(result, place)
        if isinstance(row, dict):
            figures = "  ".join(f"{key} {row[key]:6.2f}" for key in ("precision", "recall", "f1") if key in row)
        else:
            figures = f"{row:6d}" if isinstance(row, int) else f"{row:6.2f}"
        print(f"  {place or 'headline':32}{figures}")
    print()


def main() -> None:
    """Show every example."""
    evaluate.utils.logging.set_verbosity_error()
    for example in all_examples():
        show(example)


if __name__ == "__main__":
    main()
