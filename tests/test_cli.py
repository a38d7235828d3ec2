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
from conftest import DATA, ROOT, benchmark_file, load, perturbed

import spanscore.formats.aste
import spanscore.formats.docred
import spanscore.formats.propsegment
from spanscore import cli, terminal
from spanscore.benchmarks import BENCHMARKS, task_names
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


def run(capsys, *arguments, code=0):
    """Standard output and standard error of a command."""
    assert cli.main([str(argument) for argument in arguments]) == code
    captured = capsys.readouterr()
    return captured.out, captured.err


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
    assert json.loads((tmp_path / "result.json").read_text()) == as_json(expected)
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
    row = f"| aspect | {result['aspect']['precision']:.2f} | {result['aspect']['recall']:.2f} | {f1} |"
    assert row in markdown and f"`{result['signature']}`" in markdown
    assert r"aspect\_polarity & " in latex and r"\toprule" in latex and latex.count(r"\begin{tabular}") == 4
    assert "\x1b" not in plain


def test_errors_and_counts_of_documents_go_to_files(made, capsys, tmp_path):
    files = made("docred")
    expected = computed("docred", files, per_document=True, return_errors=True)
    run(capsys, "docred", *files, "--errors", tmp_path / "e.jsonl", "--per-document", tmp_path / "d.jsonl.gz")
    errors = [json.loads(line) for line in (tmp_path / "e.jsonl").read_text().splitlines()]
    documents = [json.loads(line) for line in gzip.decompress((tmp_path / "d.jsonl.gz").read_bytes()).splitlines()]
    assert errors == as_json(expected["errors"]) and documents == expected["per_document"]


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
    assert json.loads(out) == as_json(load("docred").compute(predictions=facts, references=gold))


def test_standard_input_and_clean_standard_output(made):
    predictions, references = made("aste")
    command = [sys.executable, "-m", "spanscore", "aste", "-", references, "--json", "-"]
    done = subprocess.run(
        command, cwd=ROOT, input=Path(predictions).read_text(), capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == as_json(computed("aste", made("aste")))
    assert done.stderr.splitlines()[0] == "predictions: standard input: format v2, 328 records"


def test_sequence_output_is_read_against_the_tokens_of_the_references(capsys, tmp_path):
    sentences = [["Ann", "sings", "and", "dances", "."], ["No", "claim", "here", "."]]
    gold = [{"tokens": t, "propositions": p} for t, p in zip(sentences, ([[0, 1], [0, 3]], []), strict=True)]
    spanscore.formats.propsegment.write(tmp_path / "gold.jsonl", gold)
    (tmp_path / "output.txt").write_text("[M] Ann sings [/M] and dances .\n\n")
    given = ("propsegment", tmp_path / "output.txt", tmp_path / "gold.jsonl", "--format", "sequence", "--json", "-")
    assert json.loads(run(capsys, *given)[0])["micro"]["recall"] == 0.5


@pytest.mark.parametrize("benchmark", BENCHMARKS.values(), ids=BENCHMARKS)
def test_options_are_those_of_the_metric(benchmark):
    wanted = {}
    for task in task_names(benchmark) or (None,):
        wanted |= load(benchmark.name, task).definition.task.options
    parameters = {parameter.name: parameter for parameter in program.get_command(None, benchmark.name).params}
    assert wanted.keys() - {"return_errors"} <= parameters.keys()
    for name, option in wanted.items():
        if name in ("per_document", "return_errors"):
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
        assert json.loads(run(capsys, "aste", *files, *given, "--json", "-")[0]) == expected


def test_intervals(made, capsys):
    result = computed("aste", made("aste"), confidence_level=0.9)
    given = ("aste", *made("aste"), "--confidence")
    out, _ = run(capsys, *given, "--confidence-level", "0.9", "--json", "-")
    assert json.loads(out) == as_json(result)
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
        chunks = []
        while True:
            try:
                chunk = os.read(main, 4096)
            except OSError:
                break
            if not chunk:
                break
            chunks.append(chunk)
        os.close(main)
        return b"".join(chunks).decode()

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

    def scores(self, metric, predictions, references, options):
        results = [metric.compute(predictions=p, references=references, **options) for p in predictions]
        return [{key: value for key, value in r.items() if isinstance(value, float)} for r in results]

    def compare_systems(self, metric, predictions, references, options, **settings):
        self.settings, self.options = settings, options
        first, *others = self.scores(metric, predictions, references, options)
        return [
            {
                name: {
                    "difference": value - first[name],
                    "p_value": 0.25,
                    "interval": [-1.5, 2.5],
                    "a": first[name],
                    "b": value,
                    "better": {"a": 3, "b": 4},
                }
                for name, value in other.items()
            }
            for other in others
        ]

    def summarise_runs(self, metric, predictions, references, options):
        found = self.scores(metric, predictions, references, options)
        names = {name: [one[name] for one in found] for name in found[0]}
        return {
            name: {"mean": sum(v) / len(v), "standard_deviation": max(v) - min(v), "values": v}
            for name, v in names.items()
        }


@pytest.fixture
def stand_in(monkeypatch):
    found = StandIn()
    monkeypatch.setattr("spanscore.comparison.compare_systems", found.compare_systems)
    monkeypatch.setattr("spanscore.comparison.summarise_runs", found.summarise_runs)
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
    assert values[second, headline, "low"] == "-1.5" and values[second, headline, "better b"] == "4"
    assert len(err.splitlines()) == 4
    assert "difference" in run(capsys, *given)[0]


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
    cells = [sum(f1) / 3, max(f1) - min(f1), *f1]
    assert f"| f1 | {' | '.join(f'{cell:.2f}' for cell in cells)} |" in out and "| run 3 |" in out


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
    assert float(values["runs", "f1", "mean"]) == pytest.approx((a + b) / 2)
    assert float(values["runs", "f1", "run 2"]) == pytest.approx(b)
    assert 0 < float(values["runs", "f1_of_means", "mean"]) < 100
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
    assert '"film", "marks", "the", "directorial", "debut"' in text
