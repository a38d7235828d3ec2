"""`processes`: records of several processes come together once, or an error says which process is to blame."""

import json
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from itertools import chain

import evaluate
import numpy as np
import pytest
from conftest import ROOT, load
from spanscore.metrics.columns import Struct
from spanscore.metrics.processes import Run, gather, give
from spanscore.metrics.values import to_strings

from spanscore.metrics import processes


def part(*numbers):
    column = Struct({"number": np.array(numbers, np.int64), "name": to_strings([str(number) for number in numbers])})
    return {"predictions": column, "references": column}


def numbers_of(parts):
    return [taken["predictions"]["number"].tolist() for taken in parts]


def in_thread(work, *given):
    """Start work that may fail; the result is a thread and the list that gets its error or None."""
    found = []

    def run():
        try:
            found.append(work(*given))
        except ValueError as error:
            found.append(str(error))

    thread = threading.Thread(target=run)
    thread.start()
    return thread, found


def runs_of(folder, n, timeout=20.0, experiment="a/b c"):
    return [Run(folder, experiment, process, n, timeout) for process in range(n)]


def one_round(runs, parts, options):
    """The parts that process 0 took, and the answers of all processes."""
    taken = []
    threads = [in_thread(give, run, options[run.process], parts[run.process]) for run in runs[1:]]
    threads.insert(0, in_thread(gather, runs[0], options[0], taken.append))
    for thread, _ in threads:
        thread.join()
    return taken, [found[0] for _, found in threads]


@pytest.mark.parametrize("n", [2, 3, 5])
def test_all_records_come_together_in_the_order_of_the_processes(tmp_path, n):
    options = [{"threshold": 0.5, "names": ["a", "a"]}] * n
    for start in (0, 10):
        parts = [part(*range(start, start + process)) for process in range(n)]
        taken, answers = one_round(runs_of(tmp_path, n), parts, options)
        assert answers == [None] * n
        assert numbers_of(taken) == numbers_of(parts[1:])
        assert list(tmp_path.iterdir()) == []


def test_equal_options_are_equal_in_whatever_way_they_were_made(tmp_path):
    name = "".join(["a", "b"])
    options = [
        {"names": ["ab", "ab"], "values": np.arange(3), "texts": to_strings(["ab", None])},
        {
            "names": [name, str(bytes(name, "ascii"), "ascii")],
            "values": np.arange(3),
            "texts": to_strings([name, None]),
        },
    ]
    _, answers = one_round(runs_of(tmp_path, 2), [part(), part()], options)
    assert answers == [None, None]


def test_other_options_are_an_error_in_all_processes(tmp_path):
    options = [{"threshold": 0.5}, {"threshold": 0.5}, {"threshold": 0.25}]
    taken, answers = one_round(runs_of(tmp_path, 3), [part(1)] * 3, options)
    assert taken == []
    assert answers == ["threshold: 0.25 in process 2 and 0.5 in process 0, expected the same in all"] * 3


def test_a_process_that_does_not_come_is_named(tmp_path):
    runs = runs_of(tmp_path, 3, timeout=0.5)
    worker, found = in_thread(give, runs[1]._replace(timeout=20), {}, part(1))
    with pytest.raises(ValueError, match=r"^process 2 of 3 did not arrive within 0\.5 s$"):
        gather(runs[0], {}, pytest.fail)
    worker.join()
    assert found == ["process 2 of 3 did not arrive within 0.5 s"]
    with pytest.raises(ValueError, match=r"^processes 1, 2 of 3 did not arrive within 0\.5 s$"):
        gather(runs[0], {}, pytest.fail)
    with pytest.raises(ValueError, match=r"^process 0 of 3 did not arrive within 0\.5 s$"):
        give(runs[1], {}, part(1))
    assert not list(tmp_path.glob("*.part"))
    # After all these errors, a complete round has each record once.
    taken, answers = one_round(runs_of(tmp_path, 3), [part(0), part(1), part(2)], [{}] * 3)
    assert answers == [None] * 3
    assert numbers_of(taken) == [[1], [2]]


def test_a_part_of_an_earlier_run_is_never_read(tmp_path):
    runs = runs_of(tmp_path, 2, timeout=1)
    # All processes of an earlier run were killed, after process 1 had answered.
    processes._call(runs[0], "old")
    runs[0].part("old", 1).write_bytes(processes._write_part({}, part(7)))
    with pytest.raises(ValueError, match=r"^process 1 of 2 did not arrive within 1 s$"):
        gather(runs[0], {}, pytest.fail)
    processes._call(runs[0], "old")
    worker, found = in_thread(give, runs[1]._replace(timeout=20), {}, part(8))
    time.sleep(0.3)
    taken = []
    gather(runs[0]._replace(timeout=20), {}, taken.append)
    worker.join()
    assert found == [None]
    assert numbers_of(taken) == [[8]]


def test_two_processes_with_one_number_are_told_apart(tmp_path):
    run = runs_of(tmp_path, 2, timeout=1)
    threads = [in_thread(give, run[1], {}, part(number)) for number in (1, 2)]
    taken = []
    gather(run[0], {}, taken.append)
    for thread, _ in threads:
        thread.join()
    answers = [found[0] for _, found in threads]
    assert numbers_of(taken) == [[1 if answers[0] is None else 2]]
    (error,) = (answer for answer in answers if answer is not None)
    assert "arrive within" in error or error.startswith("experiment_id: 'a/b c' is in use by another process 1")


def test_two_first_processes_are_told_apart(tmp_path):
    runs = runs_of(tmp_path, 2, timeout=3)
    first, found = in_thread(gather, runs[0], {}, pytest.fail)
    time.sleep(0.3)
    with pytest.raises(ValueError, match=r"did not arrive"):
        gather(runs[0]._replace(timeout=0.5), {}, pytest.fail)
    first.join()
    assert found == ["experiment_id: 'a/b c' is in use by another process 0, expected another one in each run"]


def test_records_are_in_one_place_however_early_a_process_gives_up(tmp_path):
    for trial in range(12):
        rng = random.Random(trial)
        runs = [run._replace(timeout=rng.uniform(0, 0.12)) for run in runs_of(tmp_path, 3, experiment=str(trial))]
        taken = []
        first = in_thread(gather, runs[0], {}, taken.append)
        workers = [in_thread(give, run, {}, part(run.process)) for run in runs[1:]]
        for thread, _ in (first, *workers):
            thread.join()
        kept = [process for process, (_, found) in enumerate(workers, 1) if found[0] is not None]
        assert sorted([*kept, *(number for numbers in numbers_of(taken) for number in numbers)]) == [1, 2]


@pytest.mark.parametrize("seed", range(4))
def test_records_are_neither_lost_nor_repeated_by_any_order_of_retries(tmp_path, monkeypatch, seed):
    monkeypatch.setattr(processes, "_PAUSE", 0.001)
    rng = random.Random(seed)
    runs = [run._replace(timeout=rng.choice([0.005, 0.02, 0.05])) for run in runs_of(tmp_path, 2 + seed % 2)]
    held, rounds, fresh = [[] for _ in runs], [], iter(range(10**6))

    def work(run, rng):
        own = held[run.process]
        for _ in range(30):
            own.extend(next(fresh) for _ in range(rng.randint(0, 2)))
            time.sleep(rng.uniform(0, 0.02))
            try:
                if run.process:
                    give(run, {}, part(*own), own.clear)
                else:
                    taken = []
                    gather(run, {}, taken.append)
                    rounds.extend([own.copy(), *numbers_of(taken)])
                    own.clear()
            except ValueError as error:
                assert "did not" in str(error) or "gave up" in str(error)

    threads = [in_thread(work, run, random.Random(rng.random())) for run in runs]
    for thread, _ in threads:
        thread.join()
    assert [found for _, found in threads] == [[None]] * len(runs)
    assert rounds
    assert sorted(chain(*rounds, *held)) == list(range(next(fresh)))
    assert {path.suffix for path in tmp_path.iterdir()} <= {".call"}


def test_no_records_are_taken_if_a_process_gives_up_while_they_are_read(tmp_path, monkeypatch):
    read = processes._read_part
    monkeypatch.setattr(processes, "_read_part", lambda path: (time.sleep(0.4), read(path))[1])
    runs = runs_of(tmp_path, 3, timeout=2)
    first = in_thread(gather, runs[0], {}, pytest.fail)
    patient, hasty = runs[1]._replace(timeout=20), runs[2]._replace(timeout=0.6)
    others = [in_thread(give, run, {}, part(run.process)) for run in (patient, hasty)]
    for thread, _ in (first, *others):
        thread.join()
    assert others[1][1] == ["process 0 of 3 did not take the records of process 2 within 0.6 s"]
    assert first[1] == others[0][1] == ["process 2 of 3 gave up waiting for the others"]


def test_a_process_that_comes_again_while_its_records_are_read_is_counted_once(tmp_path, monkeypatch):
    read, reads = processes._read_part, []

    def read_slowly(path):
        found = read(path)
        reads.append(path)
        if len(reads) == 1:
            time.sleep(0.8)
        return found

    monkeypatch.setattr(processes, "_read_part", read_slowly)
    runs, taken = runs_of(tmp_path, 2), []
    first, found = in_thread(gather, runs[0], {}, taken.append)
    with pytest.raises(ValueError, match="did not take the records of process 1"):
        give(runs[1]._replace(timeout=0.4), {}, part(1))
    give(runs[1], {}, part(1, 2))
    first.join()
    assert found == [None]
    assert numbers_of(taken) == [[1, 2]]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", b"null", b"\xff\xfe", b'{"round": 5}'])
def test_a_damaged_call_of_an_earlier_run_is_no_call(tmp_path, damage):
    runs, taken = runs_of(tmp_path, 2), []
    runs[0].file(".call").write_bytes(damage)
    worker, found = in_thread(give, runs[1], {}, part(1))
    time.sleep(0.2)
    gather(runs[0], {}, taken.append)
    worker.join()
    assert (numbers_of(taken), found) == ([[1]], [None])


def test_files_of_killed_processes_go_in_the_next_round(tmp_path):
    runs = runs_of(tmp_path, 2)
    others = [run._replace(experiment="a/b c-2") for run in runs]
    for killed in (runs[0], others[0]):
        processes._call(killed, "0" * 32)
        for path in (killed.part("0" * 32, 1), killed.taken("0" * 32), killed.file(".call.1")):
            path.write_bytes(b"half")
    _, answers = one_round(runs, [part(), part()], [{}] * 2)
    assert answers == [None] * 2
    assert len(list(tmp_path.iterdir())) == 4  # those of the other experiment


def test_a_folder_that_is_gone_is_named(tmp_path):
    folder = tmp_path / "cache"
    run = runs_of(folder, 2, timeout=1)
    for absent_at in (0, 0.3):
        folder.mkdir(exist_ok=True)
        threads = [in_thread(gather, runs_of(folder, 3, timeout=1)[0], {}, pytest.fail)]
        threads.append(in_thread(give, runs_of(folder, 3, timeout=1)[1], {}, part(1), pytest.fail))
        time.sleep(absent_at)
        shutil.rmtree(folder, ignore_errors=True)
        for thread, _ in threads:
            thread.join()
        first, second = (found[0] for _, found in threads)
        assert "removed while process 0 waited" in first or "cache_dir: process 0 of 3 cannot use" in first
        assert second.startswith(("process 0 of 3 did not", "cache_dir: process 1 of 3 cannot use"))
    with pytest.raises(ValueError, match=r"^cache_dir: process 0 of 2 cannot use '.*' \(No such file or directory\)"):
        gather(run[0], {}, pytest.fail)


def test_an_interrupted_process_takes_its_records_back(tmp_path, monkeypatch):
    runs = runs_of(tmp_path, 2, timeout=5)
    processes._call(runs[0], "round")

    def interrupt(seconds):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(processes.time, "sleep", interrupt)
        with pytest.raises(KeyboardInterrupt):
            give(runs[1], {}, part(1), pytest.fail)
        assert not list(tmp_path.glob("*.part"))
        # Interrupted after the records were taken: they are not there to be given again.
        runs[0].taken("taken").touch()
        patched.setattr(processes, "_withdraw", lambda run, called: False)
        cleared = []
        with pytest.raises(KeyboardInterrupt):
            give(runs[1], {}, part(1), lambda: cleared.append(True))
        assert cleared == [True]
    runs[0].part("round", 1).unlink()
    taken, answers = one_round(runs, [part(), part(1)], [{}] * 2)
    assert (numbers_of(taken), answers) == ([[1]], [None] * 2)


def test_an_interrupted_first_process_tells_the_others(tmp_path, monkeypatch):
    runs = runs_of(tmp_path, 3)
    worker, found = in_thread(give, runs[1], {}, part(1))

    def interrupt(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(processes, "_wait_for_parts", lambda *given: time.sleep(0.3) or interrupt())
    with pytest.raises(KeyboardInterrupt):
        gather(runs[0], {}, pytest.fail)
    worker.join()
    assert found == ["process 0 stopped: KeyboardInterrupt"]


@pytest.mark.parametrize("experiment", ["x" * 300, "é" * 100, "a,b", "../..", "\ud800", "\n"])
def test_any_text_is_an_experiment(tmp_path, experiment):
    taken, answers = one_round(runs_of(tmp_path, 2, experiment=experiment), [part(), part(1)], [{}] * 2)
    assert (numbers_of(taken), answers) == ([[1]], [None] * 2)
    names = [
        runs_of(tmp_path, n, experiment=name)[0].file("") for n in (2, 3) for name in (experiment, experiment + "1")
    ]
    assert len(set(names)) == 4
    assert all(name.parent == tmp_path for name in names)


def test_long_options_that_differ_are_told_in_few_words(tmp_path):
    options = [{"train": list(range(1000))}, {"train": [*range(999), 0]}]
    _, answers = one_round(runs_of(tmp_path, 2), [part(), part()], options)
    assert answers == ["train: another value in process 1 than in process 0, expected the same in all"] * 2


# --- through the metrics ----------------------------------------------------------------------------------------------

GOLD = [("screen", "dim", "NEG"), ("price", "low", "POS")]

WORKER = """
import json, sys
import evaluate
script, cache, process, n_processes, timeout, options = sys.argv[1:]
metric = evaluate.load(script, num_process=int(n_processes), process_id=int(process), experiment_id="run",
                       cache_dir=cache, timeout=float(timeout))
print("ready", flush=True)
for line in sys.stdin:
    if line.strip() == "compute":
        try:
            print(json.dumps(metric.compute(**json.loads(options))), flush=True)
        except ValueError as error:
            print(json.dumps({"error": str(error)}), flush=True)
    else:
        metric.add_batch(**json.loads(line))
        print("added", flush=True)
"""


class Worker:
    """A process with a metric, which does as it is told line by line."""

    def __init__(self, cache, process, n_processes=2, timeout=30.0, **options):
        command = [sys.executable, "-c", WORKER, str(ROOT / "aste_metric.py"), str(cache)]
        self.run = subprocess.Popen(
            [*command, str(process), str(n_processes), str(timeout), json.dumps(options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def tell(self, line):
        self.run.stdin.write(line + "\n")
        self.run.stdin.flush()

    def hear(self):
        return self.run.stdout.readline().strip()

    def add(self, n):
        self.tell(json.dumps({"predictions": [GOLD] * n, "references": [GOLD] * n}))
        assert self.hear() == "added"

    def result(self):
        return json.loads(self.hear())


@pytest.fixture
def workers(tmp_path):
    started = []

    def start(process, **settings):
        worker = Worker(tmp_path, process, **settings)
        started.append(worker)
        assert worker.hear() == "ready"
        return worker

    yield start
    for worker in started:
        worker.run.kill()
        worker.run.communicate()


def test_a_worker_that_is_killed_between_two_batches_is_named(workers):
    first, second = workers(0, timeout=1.0), workers(1)
    first.add(2)
    second.add(2)
    second.run.send_signal(signal.SIGKILL)
    second.run.wait()
    first.tell("compute")
    assert first.result() == {"error": "process 1 of 2 did not arrive within 1 s"}
    # The first process has its records still, and a new worker completes the run.
    second = workers(1)
    second.add(3)
    second.tell("compute")
    first.tell("compute")
    assert second.result() is None
    assert first.result()["gold"] == 10


def test_a_worker_that_gave_up_has_its_records_and_none_is_counted_twice(workers):
    first, second = workers(0), workers(1, timeout=0.5)
    first.add(2)
    second.add(4)
    second.tell("compute")
    assert second.result() == {"error": "process 0 of 2 did not arrive within 0.5 s"}
    first.tell("compute")
    time.sleep(0.2)
    second.tell("compute")
    assert second.result() is None
    assert first.result()["gold"] == 12


def test_options_must_be_the_same_in_all_processes(workers):
    first, second = workers(0), workers(1, ignore_case=True)
    first.add(1)
    second.add(1)
    first.tell("compute")
    second.tell("compute")
    error = {"error": "ignore_case: True in process 1 and False in process 0, expected the same in all"}
    assert [first.result(), second.result()] == [error, error]


@pytest.mark.parametrize("seed", range(3))
def test_workers_killed_at_any_moment_never_change_a_figure(workers, seed):
    rng = random.Random(seed)
    first = workers(0, n_processes=3, timeout=2.0)
    others = [workers(process, n_processes=3, timeout=2.0) for process in (1, 2)]
    for worker in (first, *others):
        worker.add(2)
    for worker in (first, *others):
        worker.tell("compute")
    time.sleep(rng.uniform(0, 0.06))
    others[seed % 2].run.send_signal(signal.SIGKILL)
    result = first.result()
    # The figure is of all records, or there is none.
    assert result.get("gold") == 12 or result["error"] == f"process {1 + seed % 2} of 3 did not arrive within 2 s"


def test_records_given_to_compute_are_not_kept_if_scoring_fails(tmp_path):
    def metric(process):
        return load("aste", num_process=2, process_id=process, experiment_id=7, cache_dir=str(tmp_path), timeout=20)

    def compute(metric, n_keys):
        return metric.compute(predictions=[GOLD], references=[GOLD], groups=["a"] * n_keys, confidence_level=0.9)

    first, second = metric(0), metric(1)
    second.add_batch(predictions=[GOLD], references=[GOLD])
    worker, _ = in_thread(compute, second, 2)
    with pytest.raises(ValueError, match=r"^groups: 2 keys, expected one for each of the 3 references$"):
        compute(first, 2)
    worker.join()
    # As in one process: the records that had been added are still there, those given to `compute` are not.
    assert (len(first), len(second)) == (1, 0)
    worker, _ = in_thread(compute, second, 3)
    assert compute(first, 3)["gold"] == 6
    worker.join()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"timeout": "15"}, "timeout: '15' is not a number of seconds, at least 0"),
        ({"timeout": float("nan")}, "timeout: nan is not a number of seconds, at least 0"),
        ({"timeout": None}, "timeout: None is not a number of seconds, at least 0"),
        ({"num_process": "2"}, "num_process: '2' is not a number of processes (a whole number from 1)"),
        ({"process_id": "1"}, "process_id: '1' is not the number of a process (a whole number from 0)"),
        ({"process_id": 2}, "process_id: 2 is not the number of a process, expected 0 to 1"),
    ],
)
def test_settings_of_processes_are_checked(tmp_path, settings, words):
    given = {"num_process": 2, "process_id": 1, "experiment_id": "run", "cache_dir": str(tmp_path)}
    with pytest.raises(ValueError) as caught:
        load("aste", **(given | settings))
    assert str(caught.value) == words
    metric = load("aste", **(given | {"num_process": np.int64(2), "process_id": np.int64(1), "timeout": 0}))
    with pytest.raises(ValueError, match=r"^process 0 of 2 did not arrive within 0 s$"):
        metric.compute(predictions=[GOLD], references=[GOLD])


def test_several_processes_need_an_experiment(tmp_path):
    for settings in ({}, {"experiment_id": None}, {"experiment_id": ""}):
        with pytest.raises(ValueError, match=r"^experiment_id: missing, expected one for several processes"):
            load("aste", num_process=2, process_id=1, cache_dir=str(tmp_path), **settings)
    assert isinstance(load("aste", num_process=1, cache_dir=str(tmp_path)), evaluate.Metric)
