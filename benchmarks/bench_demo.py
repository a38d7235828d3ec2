"""The web demo under load: many API clients at once score the examples, each with options of its own.

The program fails on an error or on a result that is not the client's own. It prints the median and the 95th percentile
of the time from call to result, and the memory of the server before and after.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import spanscore
from benchmarks.demo_server import Server, running
from spanscore.examples import Example, all_examples

_CLIENTS = 50
_ROUNDS = 6


def memory(server: Server) -> float:
    """Resident memory of the server and of its processes, in MiB."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = path.read_text().rpartition(")")[2].split()
        except OSError:  # a process that has just ended
            continue
        parents[int(path.parent.name)] = (int(words[1]), int(words[21]))
    found, pages = {server.process.pid}, 0
    for _ in range(3):  # children, and children of children
        found |= {process for process, (parent, _) in parents.items() if parent in found}
    pages = sum(parents[process][1] for process in found if process in parents)
    return pages * 4096 / 2**20


def call(client: Any, example: Example, options: dict[str, Any]) -> tuple[float, Any]:
    """Score an example with a client, and return the time in seconds and the result."""
    files = {name: path.read_text() for name, path in example.files.items()}
    given = {**example.options, **files, **options}
    texts = example.predictions.read_text(), example.references.read_text()
    start = time.perf_counter()
    result = client.predict(example.benchmark.name, *texts, given, api_name="/score")
    return time.perf_counter() - start, result


def alone(example: Example, options: dict[str, Any]) -> Any:
    """The result of the metric itself."""
    predictions, references = example.read()
    metric = spanscore.load(example.benchmark.name, example.task)
    result = metric.compute(predictions=predictions, references=references, **example.arguments(), **options)
    return json.loads(json.dumps(result))


def main() -> None:
    """Run the clients."""
    from gradio_client import Client  # type: ignore[import-untyped]

    examples = all_examples()

    def task(client: int, number: int) -> tuple[Example, dict[str, Any]]:
        options = {"confidence_level": 0.9, "n_resamples": 100 + client, "random_state": number}
        return examples[(client + number) % len(examples)], options

    with tempfile.TemporaryDirectory() as folder, running(Path(folder)) as server:
        clients = [Client(server.url, verbose=False) for _ in range(_CLIENTS)]
        call(clients[0], examples[0], {})
        print(f"before: {memory(server):,.0f} MiB")
        for number in range(_ROUNDS):
            starts = threading.Barrier(_CLIENTS)

            def one(client: int, starts: threading.Barrier = starts, number: int = number) -> tuple[float, Any]:
                starts.wait()
                return call(clients[client], *task(client, number))

            with ThreadPoolExecutor(_CLIENTS) as pool:
                answers = list(pool.map(one, range(_CLIENTS)))
            for client, (_, result) in enumerate(answers):
                if result != alone(*task(client, number)):
                    raise SystemExit(f"client {client} got another result")
            times = [seconds for seconds, _ in answers]
            median, high = statistics.median(times), statistics.quantiles(times, n=20)[-1]
            print(f"{_CLIENTS} clients: median {median:.1f} s, 95th percentile {high:.1f} s, {memory(server):,.0f} MiB")
        time.sleep(5)
        print(f"after: {memory(server):,.0f} MiB, {len(server.files())} files")


if __name__ == "__main__":
    main()
