"""Every command on real files, with predictions made from gold; its figures are those of `compute`."""

import csv
import gzip
import io
import json
import os
import pty
import subprocess
import sys
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from conftest import DATA, ROOT, benchmark_file, load, perturbed, read_terminal

import spanscore.formats.aste
import spanscore.formats.docred
import spanscore.formats.propsegment
from spanscore import cli, terminal
from spanscore.benchmarks import BENCHMARKS, formats_of, task_names
from spanscore.commands import program

GOLD = {
    "aste": "aste/v2/14lap/test_triplets.txt",
    "docred": "docred/test_revised.json",
    "propsegment": "propsegment/propositions.test.json",
}


@pytest.fixture(scope="session")
def made(tmp_path_factory):
    """From a benchmark and a seed to files of predictions and references."""
    folder = tmp_path_factory.mktemp("predictions")

    @cache
    def files(benchmark, seed=1):
        if benchmark == "sentivent":
            both = json.loads(perturbed("sentivent", 30, seed))
            paths = [folder / f"sentivent-{seed}-{side}.jsonl" for side in ("predictions", "references")]
            for path, side in zip(paths, ("predictions", "references"), strict=True):
                path.write_text("".join(json.dumps(record) + "\n" for record in both[side]))
            return tuple(map(str, paths))
        if benchmark == "entailment":
            gold = benchmark_file("propsegment/relationships.dev.json")
            wanted = ("entail", "neutral", "contradict")
            labels = [wanted[(at * 7 + seed) % 3] for at in range(len(json.loads(gold.read_text())))]
            path = folder / f"labels-{seed}.jsonl"
            path.write_text("".join(json.dumps({"label": label}) + "\n" for label in labels))
            return str(path), str(gold)
        gold = benchmark_file(GOLD[benchmark])
        path = folder / f"{benchmark}-{seed}.txt"
        path.write_text(perturbed(benchmark, gold, seed))
        return str(path), str(gold)

    return files


def computed(benchmark, files, config=None, **options):
    reader = __import__(f"spanscore.formats.{benchmark}", fromlist=["read"]).read
    predictions, references = (reader(path).records for path in files)
    return load(benchmark, config).compute(predictions=predictions, references=references, **options)


def as_json(result):
    return json.loads(json.dumps(result))


def scores(text):
    """A result as JSON, without the description of how it was made."""
    found = json.loads(text)
    assert found.pop("run")["command"].startswith("spanscore ")
    return found


def run(capsys, *arguments, code=0):
    """Standard output and standard error of a command."""
    assert cli.main([str(argument) for argument in arguments]) == code
    captured = capsys.readouterr()
    return captured.out, captured.err


VERBS = (["compare"], ["runs"], ["validate"])

CASES = [
    ("aste", "aste", [], {}),
    ("aste", "aste", ["--duplicates", "pairs"], {"duplicates": "pairs"}),
    ("docred", "docred", [], {}),
    ("docred", "docred", ["--train", str(DATA / "docred/dev_revised.json"), "--threshold", "0.5"], "train"),
    ("propsegment", "propsegment", ["--threshold", "0.5", "--empty", "skip"], {"threshold": 0.5, "empty": "skip"}),
    ("entailment", "propsegment", [], {}),
    (
        "sentivent",
        "sentivent",
        ["--include-factuality", "--no-relaxed"],
        {"include_factuality": True, "relaxed": False},
    ),
]


@pytest.mark.parametrize(("what", "benchmark", "given", "options"), CASES)
def test_a_command_gives_the_figures_of_compute(what, benchmark, given, options, made, capsys, tmp_path):
    files = made(what)
    if options == "train":
        options = {"train": str(benchmark_file("docred/dev_revised.json")), "threshold": 0.5}
    if options == "factuality":
        options = {"include_factuality": True, "relaxed": False}
    expected = computed(benchmark, files, "entailment" if what == "entailment" else None, **options)
    out, err = run(capsys, benchmark, *files, *given, "--json", tmp_path / "result.json", "--csv")
    assert scores((tmp_path / "result.json").read_text()) == as_json(expected)
    lines = list(csv.DictReader(io.StringIO(out)))
    of_csv = {(line["table"], line["row"], line["measure"]): line["value"] for line in lines}
    for name, value in expected.items():
        if isinstance(value, float):
            assert float(of_csv["scores", name, "value"]) == value
        elif isinstance(value, int):
            assert int(of_csv["counts", name, "value"]) == value
    assert of_csv["signature", "", ""] == expected["signature"]
    assert [line.split(":")[0] for line in err.splitlines()] == ["predictions", "references"]


def test_every_figure_is_in_the_csv(made, capsys):
    result = computed("sentivent", made("sentivent"))
    out, _ = run(capsys, "sentivent", *made("sentivent"), "--csv")
    found = {tuple(line[:3]): line[3] for line in csv.reader(io.StringIO(out))}
    for profile in ("strict", "relaxed"):
        for name, row in result[profile].items():
            if "f1" in row:
                for key, value in row.items():
                    assert found[profile, name, key] == str(value)
    for component, rows in result["strict"]["classification_report"].items():
        for label, row in rows.items():
            for key, value in row.items():
                assert found[f"strict.classification_report.{component}", label, key] == str(value)
    assert found["weights.active", "event_trigger", "value"] == str(result["weights"]["active"]["event_trigger"])


def test_tables_of_all_forms_show_the_same_figures(made, capsys):
    result = computed("aste", made("aste"))
    plain, markdown, latex = (
        run(capsys, "aste", *made("aste"), *form)[0] for form in ([], ["--markdown"], ["--latex"])
    )
    f1 = f"{result['aspect']['f1']:.2f}"
    assert any(line.split()[:1] == ["aspect"] and f1 in line.split() for line in plain.splitlines())
    row = f"| Aspect | {result['aspect']['precision']:.2f} | {result['aspect']['recall']:.2f} | {f1} |"
    assert row in markdown and f"`{result['signature']}`" in markdown
    assert "Aspect polarity & " in latex and r"\toprule" in latex and latex.count(r"\begin{tabular}") == 2
    assert latex.count(r"\label{tab:") == 2 and r"\label{tab:components}" in latex
    assert "\x1b" not in plain


def test_errors_and_counts_of_documents_go_to_files(made, capsys, tmp_path):
    files = made("docred")
    expected = computed("docred", files, per_document=True, return_errors=True)
    run(capsys, "docred", *files, "--errors", tmp_path / "e.jsonl", "--per-document", tmp_path / "d.jsonl.gz")
    errors = [json.loads(line) for line in (tmp_path / "e.jsonl").read_text().splitlines()]
    documents = [json.loads(line) for line in gzip.decompress((tmp_path / "d.jsonl.gz").read_bytes()).splitlines()]
    texts = ("id", "prediction_text", "reference_text")
    assert [{k: v for k, v in row.items() if k not in texts} for row in errors] == as_json(expected["errors"])
    counts = [{k: row[k] for k in ("id", "true_positives", "predicted", "gold")} for row in documents]
    assert counts == expected["per_document"]
    assert all(len(row["text"].split()) > 50 for row in documents)
    row = next(row for row in documents if row["true_positives"])
    assert row["precision"] == 100 * row["true_positives"] / row["predicted"]
    assert row["f1"] == pytest.approx(200 * row["true_positives"] / (row["predicted"] + row["gold"]))
    names = {record["title"]: record for record in spanscore.formats.docred.read(files[1]).records}
    for row in errors[:200]:
        entities = names[row["record"]]["vertexSet"]
        for side in ("prediction", "reference"):
            if row[side] is not None:
                h = row[side].get("h_idx", row[side].get("h"))
                assert row[f"{side}_text"]["head"] == entities[h][0]["name"]
            else:
                assert row[f"{side}_text"] is None


def test_the_data_version_and_what_it_does_not_hold_are_said(capsys):
    gold = benchmark_file("aste/v1/14lap_test.txt")
    out, err = run(capsys, "aste", gold, gold, "--json", "-")
    assert "format v1, 339 records, 57 aspects without opinion" in err
    assert json.loads(out)["f1"] == 100.0


def test_other_forms_of_files(made, capsys, tmp_path):
    predictions, references = made("aste")
    expected = computed("aste", (predictions, references))["f1"]
    packed = tmp_path / "predictions.txt.gz"
    packed.write_bytes(gzip.compress(Path(predictions).read_bytes()))
    lines = tmp_path / "references.jsonl"
    spanscore.formats.aste.write(lines, spanscore.formats.aste.read(references).records, "jsonl")
    parquet = tmp_path / "references.parquet"
    pa.parquet.write_table(pa.Table.from_pylist(spanscore.formats.aste.read(references).records), str(parquet))
    for given in ((packed, references), (predictions, lines), (packed, parquet)):
        out, _ = run(capsys, "aste", *given, "--json", "-")
        assert json.loads(out)["f1"] == expected
    gold = spanscore.formats.docred.read(benchmark_file(GOLD["docred"])).records[:20]
    pa.parquet.write_table(
        pa.Table.from_pylist([spanscore.formats.docred._row(record) for record in gold]), str(parquet)
    )
    facts = [
        {"title": record["title"], "h_idx": label["h"], "t_idx": label["t"], "r": label["r"]}
        for record in gold
        for label in record["labels"][::2]
    ]
    (tmp_path / "result.json").write_text(json.dumps(facts))
    out, _ = run(capsys, "docred", tmp_path / "result.json", parquet, "--json", "-")
    assert scores(out) == as_json(load("docred").compute(predictions=facts, references=gold))


def test_standard_input_and_clean_standard_output(made):
    predictions, references = made("aste")
    command = [sys.executable, "-m", "spanscore", "aste", "-", references, "--json", "-"]
    done = subprocess.run(
        command, cwd=ROOT, input=Path(predictions).read_text(), capture_output=True, text=True, check=True
    )
    assert scores(done.stdout) == as_json(computed("aste", made("aste")))
    assert done.stderr.splitlines()[0] == "predictions: standard input: format v2, 328 records"


def test_sequence_output_is_read_against_the_tokens_of_the_references(capsys, tmp_path):
    sentences = [["Ann", "sings", "and", "dances", "."], ["No", "claim", "here", "."]]
    gold = [{"tokens": t, "propositions": p} for t, p in zip(sentences, ([[0, 1], [0, 3]], []), strict=True)]
    spanscore.formats.propsegment.write(tmp_path / "gold.jsonl", gold)
    (tmp_path / "output.txt").write_text("[M] Ann sings [/M] and dances .\n\n")
    given = ("propsegment", tmp_path / "output.txt", tmp_path / "gold.jsonl", "--format", "sequence", "--json", "-")
    assert json.loads(run(capsys, *given)[0])["micro"]["recall"] == 0.5


def test_sequence_output_is_known_by_its_content_and_validated_with_the_sentences(capsys, tmp_path):
    sentences = [["Ann", "sings", "."], ["No", "claim", "."], ["Bo", "ran", "."]]
    gold = [{"tokens": tokens, "propositions": [[0, 1]]} for tokens in sentences]
    spanscore.formats.propsegment.write(tmp_path / "gold.jsonl", gold)
    (tmp_path / "output.txt").write_text("[M] Ann sings [/M] .\n[M] No claims [/M] .\n[M] Bo ran [/M] .\n")
    files = (tmp_path / "output.txt", tmp_path / "gold.jsonl")
    result = json.loads(run(capsys, "propsegment", *files, "--json", "-")[0])
    assert result["recall"] == pytest.approx(2 / 3) and result["unparsed_predictions"] == 1
    out, err = run(capsys, "validate", "propsegment", files[0], "--references", files[1], code=2)
    assert out == f"{files[0]}:2: '[M] No claims [/M] .' cannot be read\n" and "format sequence, 3 records" in err
    (tmp_path / "output.txt").write_text("[M] Ann sings [/M] .\n[M] No claim [/M] .\n")
    out, _ = run(capsys, "validate", "propsegment", files[0], "--references", files[1], code=2)
    assert out == f"{files[0]}:2: 2 lines for 3 sentences, expected one a sentence\n"
    # A file of another kind stays known as such.
    (tmp_path / "other.json").write_text('[{"title": "a", "h_idx": 0, "t_idx": 1, "r": "P1"}]')
    _, err = run(capsys, "propsegment", tmp_path / "other.json", files[1], code=2)
    assert "no format fits" in err


def test_sequence_output_without_sentences_says_where_they_come_from(capsys, tmp_path):
    (tmp_path / "output.txt").write_text("[M] Ann sings [/M] .\n")
    (tmp_path / "gold.jsonl").write_text('{"propositions": [[0, 1]]}\n')
    _, err = run(capsys, "propsegment", tmp_path / "output.txt", tmp_path / "gold.jsonl", code=2)
    assert f"{tmp_path / 'output.txt'}:1: no tab" in err and "--clusters" in err


JOINT = {"tokens": ["a", "b"], "entities": [{"type": "t", "start": 0, "end": 1}], "sentiments": []}


@pytest.mark.parametrize(
    ("benchmark", "good", "bad"),
    [
        ("aste", JOINT, {**JOINT, "sentiments": [{"type": "POS", "head": 0, "tail": 9}]}),
        ("aste", [["a", "b", "POS"]], 7),
        (
            "docred",
            {"title": "a", "h_idx": 0, "t_idx": 1, "r": "P1"},
            {"title": "a", "h_idx": 0, "t_idx": 1, "r": None},
        ),
        ("propsegment", {"sentence": "a", "propositions": ["[M]a[/M]"]}, {"sentence": "a"}),
        ("sentivent", {"annotations": []}, {"annotation": []}),
    ],
)
def test_a_mistake_in_a_list_on_one_line_names_the_record(capsys, tmp_path, benchmark, good, bad):
    path = tmp_path / "list.json"
    path.write_text(json.dumps([good, good, bad, good]))
    _, err = run(capsys, benchmark, path, path, code=2)
    assert f"{path}:1: records[2]: " in err
    out, _ = run(capsys, "validate", benchmark, path, code=2)
    assert f"{path}:1: records[2]: " in out
    path.write_text("[\n" + ",\n".join(map(json.dumps, [good, good, bad, good])) + "\n]")
    err = run(capsys, benchmark, path, path, code=2)[1]
    assert f"{path}:4: " in err and "records[" not in err


TRIPLETS = [[([0], [1], "POS"), ([2], [1], "NEG")], [], [([0], [2], "POS")]]


@pytest.mark.parametrize(
    ("benchmark", "rows"),
    [
        ("aste", [{"id": at, "triplets": triplets} for at, triplets in enumerate(TRIPLETS)]),
        ("aste", [{"tokens": ["a", "b", "c"], "triplets": [{"aspect": [0], "opinion": [1], "polarity": "POS"}]}] * 2),
        ("propsegment", [{"propositions": [[0, 1], [2]]}, {"propositions": []}]),
        ("propsegment", [{"label": "entail"}, {"label": "neutral"}, {"label": "neutral"}]),
        ("propsegment", [{"sentence": "a b", "propositions": ["[M]a[/M] b", "a [M]b[/M]"]}] * 2),
        ("propsegment", [{"hypothesis": "a", "premise": "b", "label": "e"}] * 2),
        ("docred", [{"title": name, "vertexSet": [], "labels": []} for name in "ab"]),
        ("sentivent", [{"id": at, "annotations": [{"kind": "event", "span": [at], "type": "T"}]} for at in range(3)]),
    ],
)
@pytest.mark.parametrize("indent", [None, 1])
def test_an_object_of_columns_is_read_as_its_rows(capsys, tmp_path, benchmark, rows, indent):
    path, other = tmp_path / "columns.json", tmp_path / "rows.json"
    columns = {key: [row[key] for row in rows] for key in rows[0]}
    path.write_text(json.dumps(columns, indent=indent))
    other.write_text(json.dumps(rows))
    formats = formats_of(BENCHMARKS[benchmark])
    assert formats.read(path) == formats.read(other)
    assert f"{len(rows)} records" in run(capsys, "validate", benchmark, path)[1]
    other.write_text(json.dumps(rows[0], indent=indent))
    assert " 1 records" in run(capsys, "validate", benchmark, other)[1]
    path.write_text(json.dumps({**columns, "more": [1]}, indent=indent))
    with pytest.raises(ValueError, match=r"columns\.json:1: columns differ in length: .*more has 1"):
        formats.read(path)


@pytest.mark.parametrize(
    ("benchmark", "text", "words"),
    [
        ("aste", "", "format generated, 0 records"),
        ("aste", '[["a", "b", "POS"]]\n[]\n', "2 records"),
        ("propsegment", "[[0, 1], [2]]\n[]\n[]\n[[3]]\n", "format records, 4 records"),
        ("propsegment", "[]\n[[0, 1], [2]]\n", "format records, 2 records"),
        ("docred", '{"a": [{"h_idx": 0, "t_idx": 1, "r": "P1"}],\n"b": []}', "format records, 2 records"),
    ],
)
def test_validate_reads_the_records_that_scoring_reads(capsys, tmp_path, benchmark, text, words):
    path = tmp_path / "file"
    path.write_text(text)
    _, err = run(capsys, "validate", benchmark, path)
    n_records = len(formats_of(BENCHMARKS[benchmark]).read(path).records)
    assert words in err and f" {n_records} records" in err


def test_validate_names_blank_lines_among_labels(capsys, tmp_path):
    path = tmp_path / "labels.txt"
    path.write_text("entail\n\nneutral\n")
    assert run(capsys, "validate", "propsegment", path, code=2)[0].startswith(f"{path}:2: a blank line is not a label")


@pytest.mark.parametrize("command", [[], *([*verb, name] for verb in ([], *VERBS) for name in BENCHMARKS)])
def test_help_fits_into_80_columns(capsys, monkeypatch, command):
    monkeypatch.setenv("COLUMNS", "80")
    lines = run(capsys, *command, "--help")[0].splitlines()
    assert len(lines) > 10 and max(map(len, lines)) <= 80
    assert not any(line.endswith(("span-", "v1-")) for line in lines)


@pytest.mark.parametrize("benchmark", BENCHMARKS.values(), ids=BENCHMARKS)
def test_options_are_those_of_the_metric(benchmark):
    wanted = {}
    for task in task_names(benchmark) or (None,):
        wanted |= load(benchmark.name, task).definition.task.options
    parameters = {parameter.name: parameter for parameter in program.get_command(None, benchmark.name).params}
    assert wanted.keys() - {"return_errors", "flat"} <= parameters.keys()
    for name, option in wanted.items():
        if name in ("per_document", "return_errors", "flat"):
            continue
        assert len(parameters[name].help) > 20
        if option.choices:
            assert tuple(parameters[name].type.choices) == option.choices
        if option.default is not None:
            shown = name.replace("_", "-") if option.is_flag else str(option.default)
            assert f"{'no-' * (option.is_flag and not option.default)}{shown}]" in parameters[name].help


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_help_and_validation_load_no_metric(benchmark):
    (example,) = (ROOT / "examples" / benchmark).glob("references.*")
    script = """
import sys
from spanscore.cli import main
codes = [main(arguments) for arguments in ARGUMENTS]
print(codes, sorted({"evaluate", "datasets", "scipy", "pyarrow"} & set(sys.modules)))
"""
    commands = [["--help"], [benchmark, "--help"], *([name, benchmark, "--help"] for name in ("compare", "runs"))]
    commands += [["validate", benchmark, "--help"], ["validate", benchmark, str(example), "--side", "references"]]
    done = subprocess.run(
        [sys.executable, "-c", script.replace("ARGUMENTS", repr(commands))],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "[0, 0, 0, 0, 0, 0] []"


def test_a_file_gives_the_value_of_an_option(made, capsys, tmp_path):
    files = made("aste")
    n = len(spanscore.formats.aste.read(files[1]).records)
    keys = [at // 4 for at in range(n)]
    (tmp_path / "groups.json").write_text(json.dumps(keys))
    (tmp_path / "groups.txt").write_text("".join(f"{key}\n" for key in keys))
    expected = as_json(computed("aste", files, confidence_level=0.9, n_resamples=50, groups=keys))
    for name in ("groups.json", "groups.txt"):
        given = ("--confidence-level", "0.9", "--n-resamples", "50", "--groups", f"@{tmp_path / name}")
        assert scores(run(capsys, "aste", *files, *given, "--json", "-")[0]) == expected


def test_intervals(made, capsys):
    result = computed("aste", made("aste"), confidence_level=0.9)
    for words in (("--confidence", "0.9"), ("--confidence-level", "0.9"), ("--confidence=0.9",)):
        for given in (("aste", *made("aste"), *words), ("aste", *words, *made("aste"))):
            assert scores(run(capsys, *given, "--json", "-")[0]) == as_json(result)
    for given in (("aste", *made("aste"), "--confidence"), ("aste", "--confidence", *made("aste"))):
        found = scores(run(capsys, *given, "--json", "-")[0])
        assert found == as_json(computed("aste", made("aste"), confidence_level=0.95))
    out, _ = run(capsys, *given, "--csv")
    values = {tuple(line[:3]): line[3] for line in csv.reader(io.StringIO(out))}
    low, high = (float(values["scores", "f1", end]) for end in ("low", "high"))
    assert low < result["confidence_intervals"]["f1"][0] < result["confidence_intervals"]["f1"][1] < high


WRONG = [
    (["aste", "{missing}", "{gold}"], "missing.txt: No such file or directory"),
    (["aste", "{broken}", "{gold}"], "broken.txt:2: "),
    (["aste", "{gold}", "{gold}", "--duplicates", "some"], "Invalid value for '--duplicates': 'some' is not one of"),
    (["aste", "{gold}", "{gold}", "--duplicate", "set"], "No such option"),
    (["aste", "{gold}", "{gold}", "--format", "v9"], "'v9' is not one of"),
    (["aste", "{gold}"], "Missing argument"),
    (["aste", "-", "-"], "standard input (-) holds one file only"),
    (["aste", "{gold}", "{gold}", "--json", "-", "--csv"], "cannot share standard output"),
    (["nothing", "{gold}", "{gold}"], "No such command"),
    (["aste", "{gold}", "{gold}", "--json", "{missing}/x"], "x: No such file or directory"),
    (["propsegment", "{gold}", "{gold}"], "error: "),
    (["docred", "{gold}", "{gold}"], "error: "),
    (["sentivent", "{gold}", "{gold}"], "error: "),
    (["docred", "{docred}", "{docred}", "--threshold", "nan"], "threshold: "),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG)
def test_mistakes_are_one_line_and_code_two(arguments, words, capsys, tmp_path):
    paths = {
        "missing": str(tmp_path / "missing.txt"),
        "broken": str(tmp_path / "broken.txt"),
        "gold": str(tmp_path / "gold.txt"),
        "docred": str(ROOT / "examples/docred/references.json"),
    }
    line = "the screen is large####[([1], [3], 'POS')]\n"
    Path(paths["gold"]).write_text(line * 2)
    Path(paths["broken"]).write_text(line + "the screen is large####[([1], [9], 'POS')]\n")
    out, err = run(capsys, *(argument.format(**paths) for argument in arguments), code=2)
    last = err.splitlines()[-1]
    assert out == "" and words in last and last.startswith("error: ") and "Traceback" not in err
    assert len([line for line in err.splitlines() if line.startswith("error: ")]) == 1


def test_debug_shows_where(tmp_path):
    with pytest.raises(FileNotFoundError):
        cli.main(["aste", str(tmp_path / "missing"), str(tmp_path / "missing"), "--debug"])


def test_a_closed_pipe_is_no_error(made):
    command = f"{sys.executable} -m spanscore aste {' '.join(made('aste'))} --csv 2>&1 >/dev/full; echo $?"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True)
    assert "Traceback" not in done.stdout and "No space left" in done.stdout


def test_progress_shows_on_a_terminal_and_only_for_long_work(monkeypatch):
    def seen(work):
        main, side = pty.openpty()
        with os.fdopen(side, "w") as screen:
            monkeypatch.setattr(sys, "stderr", screen)
            with terminal.working("counting the sheep"):
                work()
        monkeypatch.undo()
        return read_terminal(main)

    assert "sheep" not in seen(lambda: None)
    monkeypatch.setattr(terminal, "_PATIENCE", 0.0)
    assert "sheep" in seen(lambda: __import__("time").sleep(0.3))


# --- validate ---------------------------------------------------------------------------------------------------------

TRIPLET = '{"aspect": [0], "opinion": [1], "polarity": "POS"}'
MENTIONS = [[{"name": "x", "sent_id": 0}], [{"name": "y", "sent_id": 1}]]
BROKEN = [
    (
        "aste",
        ["the screen is large####[([1], [9], 'POS'), ([1], [3], 'GOOD')]", "the screen is large"],
        [(1, "triplets[0]"), (1, "triplets[1]"), (2, "")],
    ),
    (
        "aste",
        [
            "the screen is large####[([1], [3], 'POS')]",
            "the screen is large####[([1], [9], 'POS'), ([1], [3], 'GOOD'), ([1], [3], 'POS'), ([1, 3], [2], 'NEG')]",
            "the screen is large",
            "",
            "the screen is large####[([1], [3], 'POS'",
        ],
        [(2, "triplets[0]"), (2, "triplets[1]"), (2, "triplets[3]"), (3, ""), (5, "")],
    ),
    (
        "aste",
        [
            f'{{"id": 1, "tokens": ["a", "b", "c"], "triplets": [{TRIPLET}]}}',
            f'{{"id": 1, "tokens": ["a", "b", "c"], "triplets": [{TRIPLET.replace("[1]", "[7]")}, '
            f"{TRIPLET.replace('[0]', '[-1]')}, {TRIPLET}, {TRIPLET.replace('POS', 'NICE')}]}}",
            '{"id": 2,',
            '{"tokens": ["a", "b", 3], "triplets": []}',
        ],
        [
            (2, "predictions[1].triplets[1].aspect[0]"),
            (2, "predictions[1].triplets[3].polarity"),
            (2, "predictions[1].triplets[0].opinion[0]"),
            (2, "predictions[1].id"),
            (3, ""),
            (4, "predictions[2].tokens[2]"),
            (4, "predictions[2].id"),
        ],
    ),
    (
        "docred",
        [
            "[",
            json.dumps(
                {
                    "title": "A",
                    "vertexSet": [MENTIONS[0], [{"name": "y", "sent_id": -1}]],
                    "labels": [{"h": 0, "t": 5, "r": "P1"}, {"h": 0, "t": 0, "r": "P1"}, {"h": 0, "t": 1, "r": 3}],
                }
            )
            + ",",
            json.dumps({"title": "B", "vertexSet": MENTIONS, "labels": []}) + ",",
            json.dumps({"title": "B", "vertexSet": MENTIONS, "labels": []}) + ",",
            json.dumps({"title": "C", "labels": []}) + "]",
        ],
        [
            (2, "references[0].vertexSet[1][0].sent_id"),
            (2, "references[0].labels[2].r"),
            (2, "references[0].labels[0].t"),
            (2, "references[0].labels[1].t"),
            (4, "references[2].title"),
            (5, ""),
        ],
    ),
    (
        "propsegment",
        ["[[[0, 1]], [[0, -1], [1], []],", "[[2]], 7]"],
        [(1, "predictions[1].propositions[0][1]"), (1, "predictions[1].propositions[2]"), (2, "predictions[3]")],
    ),
    (
        "propsegment",
        ['[{"id": 1, "propositions": []},', '7, {"id": 2, "propositions": []}, [], {"id": 2, "propositions": [[]]}]'],
        [
            (2, "predictions[1]"),
            (2, "predictions[3].id"),
            (2, "predictions[4].id"),
            (2, "predictions[4].propositions[0]"),
        ],
    ),
    (
        "sentivent",
        [
            '{"annotations": [{"id": "e", "kind": "event", "span": [0], "type": "Deal", "negated": 2}]}',
            '{"annotations": [], "tokens": 4}',
            '{"annotations": 3}',
            '{"annotations": [{"kind": "event", "span": []}, {"kind": 1, "span": [0]}]}',
        ],
        [
            (1, "predictions[0].annotations[0].negated"),
            (2, "predictions[1].tokens"),
            (3, ""),
            (4, "predictions[2].annotations[0].span.tokens"),
            (4, "predictions[2].annotations[1].kind"),
        ],
    ),
]


@pytest.mark.parametrize(("benchmark", "lines", "places"), BROKEN)
def test_validate_lists_all_problems_with_line_and_place(benchmark, lines, places, capsys, tmp_path):
    path = tmp_path / "file"
    path.write_text("\n".join(lines) + "\n")
    out, err = run(capsys, "validate", benchmark, path, "--json", "-", code=2)
    problems = json.loads(out)["problems"]
    assert sorted((p["line"], p["place"]) for p in problems) == sorted(places)
    assert all(p["problem"] and "\n" not in p["problem"] for p in problems)
    assert f"{len(places)} problems" in err
    out, _ = run(capsys, "validate", benchmark, path, code=2)
    assert len(out.splitlines()) == len(places) and all(line.startswith(f"{path}:") for line in out.splitlines())


@pytest.mark.parametrize("what", ["aste", "docred", "propsegment", "sentivent", "entailment"])
def test_validate_finds_nothing_in_good_files(what, made, capsys):
    benchmark = "propsegment" if what == "entailment" else what
    for path, side in zip(made(what), ("predictions", "references"), strict=True):
        out, err = run(capsys, "validate", benchmark, path, "--side", side)
        assert out == "" and "no problem" in err
    run(capsys, "validate", benchmark, made(what)[0], "--references", made(what)[1])


def test_validate_names_repeated_titles_with_their_lines(capsys, tmp_path):
    path = tmp_path / "references.json"
    documents = [{"title": title, "vertexSet": MENTIONS, "labels": []} for title in ("A", "B", "A")]
    path.write_text("[" + ",\n".join(map(json.dumps, documents)) + "]")
    out, _ = run(capsys, "validate", "docred", path, code=2)
    assert out == f"{path}:3: references[2].title: 'A' is that of references[0] too\n"


def test_validate_names_generated_text_that_cannot_be_read(capsys, tmp_path):
    (tmp_path / "a.txt").write_text("(a, b, positive); (c, d)\nnonsense\n")
    out, _ = run(capsys, "validate", "aste", tmp_path / "a.txt", code=2)
    assert out.splitlines() == [
        f"{tmp_path / 'a.txt'}:1: '(c, d)' cannot be read",
        f"{tmp_path / 'a.txt'}:2: 'nonsense' cannot be read",
    ]


def test_validate_checks_predictions_against_references(made, capsys, tmp_path):
    predictions, references = made("aste")
    short = tmp_path / "short.txt"
    short.write_text("".join(Path(predictions).read_text().splitlines(keepends=True)[:-1]))
    out, _ = run(capsys, "validate", "aste", short, "--references", references, code=2)
    assert "327" in out and "328" in out


# --- several systems --------------------------------------------------------------------------------------------------


class StandIn:
    """Has the two functions of `comparison`, by plain use of `compute`."""

    def scores(self, systems):
        gold = systems.references.records
        results = [
            systems.metric.compute(predictions=file.records, references=gold, **systems.options)
            for file in systems.predictions
        ]
        return [{key: value for key, value in r.items() if isinstance(value, float)} for r in results]

    def compare_files(self, systems, settings, stage):
        self.settings, self.options = settings, systems.options
        first, *others = self.scores(systems)
        found = [
            {
                name: {
                    "difference": value - first[name],
                    "p_value": 0.25,
                    "p_value_holm": 0.5,
                    "interval": [-1.5, 2.5],
                    "a": first[name],
                    "b": value,
                    "better": {"a": 3, "b": 4},
                }
                for name, value in other.items()
            }
            for other in others
        ]
        return found, "the signature"

    def summarise_files(self, systems):
        found = self.scores(systems)
        names = {name: [one[name] for one in found] for name in found[0]}
        rows = {
            name: {"mean": sum(v) / len(v), "standard_deviation": max(v) - min(v), "values": v}
            for name, v in names.items()
        }
        return rows, "the signature"


@pytest.fixture
def stand_in(monkeypatch):
    found = StandIn()
    monkeypatch.setattr("spanscore.comparison.compare_files", found.compare_files)
    monkeypatch.setattr("spanscore.comparison.summarise_files", found.summarise_files)
    return found


@pytest.mark.parametrize("benchmark", ["aste", "docred", "propsegment", "sentivent"])
def test_compare_gives_files_and_settings_on_and_shows_what_comes_back(benchmark, made, capsys, stand_in, tmp_path):
    first, gold = made(benchmark)
    second = made(benchmark, 2)[0]
    if benchmark == "sentivent":
        second = first
    given = ("compare", benchmark, first, second, first, gold, "--n-resamples", "50", "--confidence-level", "0.9")
    out, err = run(capsys, *given, "--json", tmp_path / "c.json", "--csv")
    found = json.loads((tmp_path / "c.json").read_text())
    a, b = (computed(benchmark, (path, gold)) for path in (first, second))
    headline = "sentivent_score" if benchmark == "sentivent" else "f1"
    assert found["score"] == headline and (found["a"], found["b"]) == (a[headline], b[headline])
    assert found["difference"] == b[headline] - a[headline]
    assert found["p_value"] == 0.25 and found["interval"] == [-1.5, 2.5]
    assert [c["system_b"] for c in found["comparisons"]] == [second, first]
    assert found["comparisons"][1]["scores"][headline]["difference"] == 0.0
    assert stand_in.settings == {
        "method": "randomisation",
        "n_resamples": 50,
        "random_state": 0,
        "confidence_level": 0.9,
    }
    values = {tuple(line[:3]): line[3] for line in csv.reader(io.StringIO(out))}
    name = Path(second).name
    assert values[name, headline, "low"] == "-1.5" and values[name, headline, "better"] == "4"
    assert values["signature", "", ""] == found["signature"] == "the signature"
    assert found["run"]["options"]["n_resamples"] == 50 and found["run"]["references"]["path"] == gold
    assert len(err.splitlines()) == 4
    out = run(capsys, *given)[0]
    assert "difference" in out and "the signature" in out
    assert run(capsys, *given, "-q") == ("0.25\n0.25\n", "")


def test_compare_and_runs_pass_options_of_the_metric_on(made, capsys, stand_in):
    files = made("aste")
    run(capsys, "compare", "aste", files[0], files[0], files[1], "--duplicates", "pairs", "--csv")
    assert stand_in.options == {"duplicates": "pairs"}
    gold = files[1]
    out, _ = run(capsys, "runs", "aste", gold, "--references", gold, "--duplicates", "pairs", "--json", "-")
    assert json.loads(out)["f1"]["mean"] == computed("aste", (gold, gold), duplicates="pairs")["f1"] > 100


def test_runs_shows_means_and_deviations(made, capsys, stand_in, tmp_path):
    gold = made("aste")[1]
    paths = [made("aste", seed)[0] for seed in (1, 2, 3)]
    out, _ = run(capsys, "runs", "aste", *paths, "--references", gold, "--json", tmp_path / "r.json", "--markdown")
    f1 = [computed("aste", (path, gold))["f1"] for path in paths]
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["f1"]["mean"] == pytest.approx(sum(f1) / 3)
    assert found["signature"] == "the signature" and len(found["run"]["predictions"]) == 3
    rows = [line.strip("| ").split(" | ") for line in out.splitlines() if line.startswith("| ")]
    at = next(row for row in rows if "F1" in row).index("F1")
    shown = {row[0]: row[at + 1] for row in rows[1:]}
    cells = [sum(f1) / 3, max(f1) - min(f1), *f1]
    assert list(shown.values()) == [f"{cell:.2f}" for cell in cells]
    assert list(shown) == ["mean", "standard deviation", *(Path(path).name for path in paths)]


def test_compare_needs_two_systems(made, capsys, stand_in):
    _, err = run(capsys, "compare", "aste", *made("aste"), code=2)
    assert err == "error: expected predictions of two systems or more, then the references\n"
    _, err = run(capsys, "runs", "aste", made("aste")[0], code=2)
    assert "--references" in err and len(err.splitlines()) == 1


def test_compare_and_runs_with_their_own_module(made, capsys):
    first, gold = made("aste")
    second = made("aste", 2)[0]
    out, _ = run(capsys, "compare", "aste", first, second, first, gold, "--n-resamples", "100", "--json", "-")
    found = json.loads(out)
    a, b = (computed("aste", (path, gold))["f1"] for path in (first, second))
    assert (found["a"], found["b"]) == pytest.approx((a, b)) and found["difference"] == pytest.approx(b - a)
    assert found["interval"][0] <= found["difference"] <= found["interval"][1]
    same = found["comparisons"][1]["scores"]["f1"]
    assert same["p_value"] == 1 and same["difference"] == 0
    out, _ = run(capsys, "runs", "aste", first, second, "--references", gold, "--csv")
    values = {tuple(line[:3]): line[3] for line in csv.reader(io.StringIO(out))}
    assert float(values["runs", "mean", "f1"]) == pytest.approx((a + b) / 2)
    assert float(values["runs", Path(second).name, "f1"]) == pytest.approx(b)
    assert 0 < float(values["runs", "F of means", "f1"]) < 100
    _, err = run(capsys, "compare", "aste", first, gold, first, "--groups", "[1, 2]", code=2)
    assert "groups" in err.splitlines()[-1]


def test_clusters_give_propositions_their_text(capsys, tmp_path):
    gold = benchmark_file("propsegment/propositions.dev.json")
    predictions = tmp_path / "predictions.json"
    predictions.write_text(perturbed("propsegment", gold))
    clusters = benchmark_file("propsegment/document_clusters.dev.json")
    given = ("propsegment", predictions, gold, "--clusters", clusters, "--html", tmp_path / "r.html", "--json", "-")
    out, _ = run(capsys, *given)
    assert json.loads(out)["f1"] == computed("propsegment", (predictions, gold))["f1"]
    text = (tmp_path / "r.html").read_text()
    assert '"film","marks","the","directorial","debut"' in text


# --- each side by itself ----------------------------------------------------------------------------------------------


@pytest.fixture
def sides(tmp_path):
    """Gold that lists every index, and the same triplets with first and last index, as a model writes them."""
    gold = benchmark_file(GOLD["aste"])
    path = tmp_path / "ends.txt"
    lines = []
    for record in spanscore.formats.aste.read(gold).records:
        triplets = [
            (*([min(t[name]), max(t[name])] for name in ("aspect", "opinion")), t["polarity"])
            for t in record["triplets"]
        ]
        lines.append(f"{' '.join(record['tokens'])}####{triplets!r}\n")
    path.write_text("".join(lines))
    return str(path), str(gold)


def test_each_side_may_have_its_own_span_format(sides, capsys):
    ends, gold = sides
    own = ("--predictions-span-format", "ends", "--references-span-format", "indices")
    for given in (own, own[:2], (*own[:2], "--span-format", "indices")):
        assert json.loads(run(capsys, "aste", ends, gold, *given, "--json", "-")[0])["f1"] == 100
    given = ("--references-span-format", "ends", "--span-format", "indices")
    assert json.loads(run(capsys, "aste", gold, ends, *given, "--json", "-")[0])["f1"] == 100
    out, _ = run(capsys, "runs", "aste", ends, ends, "--references", gold, *own, "--json", "-")
    assert json.loads(out)["f1"]["mean"] == 100
    out, _ = run(capsys, "compare", "aste", ends, ends, gold, *own, "--n-resamples", "9", "--json", "-")
    assert json.loads(out)["a"] == 100
    run(capsys, "validate", "aste", ends, "--references", gold, *own)
    run(capsys, "validate", "aste", ends, "--side", "references", "--references-span-format", "ends")
    run(capsys, "validate", "aste", ends, code=2)


@pytest.fixture
def gold_as_predictions(monkeypatch):
    def to_predictions(records):
        return [
            {"title": record["title"], "h_idx": label["h"], "t_idx": label["t"], "r": label["r"]}
            for record in records
            for label in record["labels"]
        ]

    monkeypatch.setattr(spanscore.formats.docred, "to_predictions", to_predictions, raising=False)


def test_a_file_of_references_is_read_as_predictions(gold_as_predictions, capsys):
    gold = str(ROOT / "examples/docred/references.json")
    out, err = run(capsys, "docred", gold, gold, "--json", "-")
    assert json.loads(out)["f1"] == 100
    assert f"{gold}: a file of references (format documents), which is read as predictions" in err.splitlines()
    for given in (("--references", gold), ("--side", "predictions")):
        _, err = run(capsys, "validate", "docred", gold, *given)
        assert "read as predictions" in err and "no problem" in err
    assert "records read as references" in run(capsys, "validate", "docred", gold)[1]


@pytest.mark.parametrize(
    ("benchmark", "name", "score", "best"),
    [
        ("aste", GOLD["aste"], "f1", 100),
        ("aste", "aste/gts/lap14_test.json", "f1", 100),
        ("aste", "aste/v1/14res_test.txt", "f1", 100),
        ("docred", GOLD["docred"], "f1", 100),
        ("propsegment", GOLD["propsegment"], "f1", 1),
        ("propsegment", "propsegment/relationships.dev.json", "accuracy", 1),
        ("sentivent", "sentivent/anno_01.xmi", "sentivent_score", 100),
    ],
)
def test_gold_against_gold_is_right(benchmark, name, score, best, capsys):
    gold = benchmark_file(name)
    out, err = run(capsys, benchmark, gold, gold, "--json", "-")
    assert json.loads(out)[score] == pytest.approx(best)
    is_said = "a file of references" in err
    assert is_said == (benchmark in ("docred", "propsegment"))
    run(capsys, "validate", benchmark, gold, "--references", gold)


def test_a_wrong_file_of_references_is_validated_before_it_becomes_predictions(gold_as_predictions, capsys, tmp_path):
    documents = [{"title": "A", "vertexSet": MENTIONS, "labels": [{"h": 0, "t": 7, "r": "P1"}]}]
    (tmp_path / "gold.json").write_text(json.dumps(documents))
    out, _ = run(capsys, "validate", "docred", tmp_path / "gold.json", "--side", "predictions", code=2)
    assert "gold.json:1: references[0].labels[0].t: " in out


def test_validate_names_misplaced_sentences_with_their_line(capsys, tmp_path):
    lines = [f"the {word} is large####[([1], [3], 'POS')]\n" for word in ("screen", "price", "key", "fan")]
    (tmp_path / "gold.txt").write_text("".join(lines))
    (tmp_path / "swapped.txt").write_text("".join([lines[0], lines[2], lines[1], lines[3]]))
    out, _ = run(capsys, "validate", "aste", tmp_path / "swapped.txt", "--references", tmp_path / "gold.txt", code=2)
    expected = "predictions[1].tokens: the sentence of references[2], expected that of references[1]"
    assert out.startswith(f"{tmp_path / 'swapped.txt'}:2: {expected}") and len(out.splitlines()) == 1


def test_a_format_that_is_not_found_is_an_error_with_the_file(capsys, tmp_path, monkeypatch):
    from spanscore.formats import files, propsegment

    def detect(file):
        raise files.no_format(file, {"records": "line 1 is a number", "sequence": "no line has a tab"})

    monkeypatch.setattr(propsegment, "detect", detect, raising=False)
    (tmp_path / "file").write_text("7\n")
    out, _ = run(capsys, "validate", "propsegment", tmp_path / "file", code=2)
    words = "no format fits, nearest are records (line 1 is a number); sequence (no line has a tab)"
    assert out == f"{tmp_path / 'file'}:1: {words}\n"
