"""Every metric in every way that Evaluate offers: at once and piece by piece, alone, combined, in several processes.

The figures of the examples must come out the same. `test_spaces.py` loads the metrics from the Hub.
"""

import json
import pickle
import subprocess
import sys
from itertools import zip_longest

import datasets
import evaluate
import pytest
from conftest import ROOT, load

from spanscore.examples import all_examples

EXAMPLES = all_examples()
NAMES = [f"{example.benchmark.name}-{example.title}" for example in EXAMPLES]
every_example = pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)


def load_for(example, **kwargs):
    return load(example.benchmark.name, example.task, **kwargs)


def at_once(example):
    predictions, references = example.read()
    return load_for(example).compute(predictions=predictions, references=references, **example.arguments())


@every_example
def test_results_are_plain_python(example, tmp_path):
    result = at_once(example)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    evaluate.save(tmp_path, **result)


@every_example
@pytest.mark.parametrize("size", [1, 2, 3])
def test_small_batches(example, size):
    predictions, references = example.read()
    metric = load_for(example)
    for start in range(0, max(len(predictions), len(references)), size):
        metric.add_batch(
            predictions=predictions[start : start + size],
            references=references[start : start + size],
        )
    assert metric.compute(**example.arguments()) == at_once(example)


@every_example
def test_sides_apart_and_the_rest_at_compute(example):
    predictions, references = example.read()
    metric = load_for(example)
    metric.add_batch(references=references[:2])
    metric.add_batch(predictions=predictions)
    assert metric.compute(references=references[2:], **example.arguments()) == at_once(example)


@every_example
def test_one_by_one(example):
    predictions, references = example.read()
    metric = load_for(example)
    for prediction, reference in zip_longest(predictions, references):  # None is not given
        metric.add(prediction=prediction, reference=reference)
    assert len(metric) == max(len(predictions), len(references))
    assert metric.compute(**example.arguments()) == at_once(example)


@every_example
def test_twice_the_same(example):
    predictions, references = example.read()
    metric = load_for(example)
    results = [metric.compute(predictions=predictions, references=references, **example.arguments()) for _ in range(2)]
    assert results[0] == results[1]


@every_example
def test_combined(example):
    predictions, references = example.read()
    pair = [load_for(example) for _ in range(2)]
    both = evaluate.combine(dict(zip("ab", pair, strict=True)), force_prefix=True)
    expected = at_once(example)
    result = both.compute(predictions=predictions, references=references, **example.arguments())
    assert result == {f"{name}_{key}": value for name in "ab" for key, value in expected.items()}
    if len(predictions) == len(references):
        for prediction, reference in zip(predictions, references, strict=True):
            both.add(prediction, reference)
        assert both.compute(**example.arguments()) == result


@every_example
def test_a_dataset_as_references(example):
    predictions, references = example.read()
    rows = datasets.Dataset.from_list(json.loads(json.dumps(references)))
    result = load_for(example).compute(predictions=predictions, references=rows, **example.arguments())
    assert result == at_once(example)


@every_example
def test_a_metric_with_records_can_be_pickled(example):
    predictions, references = example.read()
    metric = load_for(example, **example.arguments())
    metric.add_batch(predictions=predictions, references=references)
    copied = pickle.loads(pickle.dumps(metric))  # noqa: S301
    assert copied.compute() == at_once(example) == metric.compute()


@every_example
def test_options_and_configurations_at_load(example):
    predictions, references = example.read()
    metric = load_for(example, flat=True, **example.arguments())
    flat = metric.compute(predictions=predictions, references=references)
    assert flat
    assert all(type(value) in (int, float) for value in flat.values())
    nested = metric.compute(predictions=predictions, references=references, flat=False)
    assert nested == at_once(example)
    assert {name: value for name, value in nested.items() if type(value) in (int, float)}.items() <= flat.items()
    both = evaluate.combine([metric, metric], force_prefix=True)
    assert (
        both.compute(predictions=predictions, references=references).items()
        >= {f"{metric.name}_0_{name}": value for name, value in flat.items()}.items()
    )
    with pytest.raises(ValueError, match=r"^nonsense: not an option of "):
        load_for(example, nonsense=1)
    with pytest.raises(ValueError, match=r"^config_name: 'nonsense' is not one of default"):
        load(example.benchmark.name, "nonsense")


@every_example
def test_unknown_inputs_are_named(example):
    metric = load_for(example)
    with pytest.raises(ValueError, match=r"^labels: not an input of .*, expected predictions and references$"):
        metric.add_batch(predictions=[], references=[], labels=[])


SCRIPT = """
import json, sys
import evaluate
from spanscore.examples import all_examples
from spanscore.metrics import FOLDER
example = all_examples()[{index}]
predictions, references = example.read()
"""

ONE_OF_TWO = (
    SCRIPT
    + """
process = int(sys.argv[1])
metric = evaluate.load(str(FOLDER / f"{{example.benchmark.name}}_metric.py"), example.task, num_process=2,
                       process_id=process, experiment_id="two", cache_dir=sys.argv[2])
start, end = (0, 3) if process == 0 else (3, None)
for refused in range(2):
    try:
        metric.compute(nonsense=1)
    except ValueError:
        pass
metric.add_batch(predictions=predictions[start:end])
metric.add_batch(references=references[start:end])
print(json.dumps(metric.compute(**example.arguments())))
print(json.dumps(metric.compute(predictions=predictions[start:end], references=references[start:end],
                                **example.arguments())))
"""
)


@every_example
def test_two_processes(example, tmp_path):
    script = ONE_OF_TWO.format(index=EXAMPLES.index(example))
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(process), str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        for process in range(2)
    ]
    outputs = [run.communicate(timeout=120)[0].splitlines() for run in runs]
    assert [run.returncode for run in runs] == [0, 0]
    assert outputs[1] == ["null", "null"]
    expected = json.loads(json.dumps(at_once(example)))
    assert [json.loads(line) for line in outputs[0]] == [expected, expected]


def test_the_demo_shows_every_example(capsys):
    from examples import demo

    demo.main()
    shown = capsys.readouterr().out
    for example in EXAMPLES:
        name = example.benchmark.name
        assert (f"{name} ({example.task}): " if example.task else f"{name}: ") in shown
    assert "headline" in shown
