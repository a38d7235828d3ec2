"""What commands show and write: short tables in a terminal of 80 columns, chosen measures, files, how it was made."""

import csv
import fcntl
import io
import json
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from conftest import ROOT, benchmark_file, load, perturbed, read_terminal

import spanscore
import spanscore.formats.aste
import spanscore.formats.propsegment
from spanscore import cli, comparison
from spanscore.benchmarks import BENCHMARKS
from spanscore.examples import all_examples

EXAMPLES = ROOT / "examples"
ASTE = [str(EXAMPLES / "aste" / name) for name in ("predictions.txt", "references.txt")]
DOCRED = [str(EXAMPLES / "docred" / name) for name in ("predictions.json", "references.json")]
PROPSEGMENT = EXAMPLES / "propsegment"
SECOND = str(EXAMPLES / "aste/second.txt")


def run(capsys, *arguments, code=0):
    """Standard output and standard error of a command."""
    assert cli.main([str(argument) for argument in arguments]) == code
    captured = capsys.readouterr()
    return captured.out, captured.err


def in_terminal(*arguments, columns=80):
    """The lines that a terminal shows of standard output, without colours."""
    main, side = pty.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
    process = subprocess.Popen(
        [sys.executable, "-m", "spanscore", *map(str, arguments)],
        cwd=ROOT,
        stdout=side,
        stderr=subprocess.PIPE,
        env=environment | {"TERM": "xterm-256color"},
    )
    os.close(side)
    written = read_terminal(main)
    _, err = process.communicate()
    assert process.returncode == 0, err.decode()
    text = re.sub(r"\x1b\[[0-9;]*m", "", written.replace("\r\n", "\n"))
    lines = []
    for line in text.rstrip("\n").split("\n"):
        # A terminal goes on in the next line.
        lines += [line[at : at + columns] for at in range(0, max(1, len(line)), columns)]
    return lines


# --- short first ------------------------------------------------------------------------------------------------------

COMMANDS = [
    ["aste", *ASTE, "--confidence"],
    ["docred", *DOCRED, "--train-facts", EXAMPLES / "docred/train.fact", "--confidence"],
    [
        "propsegment",
        EXAMPLES / "propsegment/predictions.txt",
        EXAMPLES / "propsegment/references.jsonl",
        "--confidence",
    ],
    ["propsegment", EXAMPLES / "propsegment/labels.jsonl", EXAMPLES / "propsegment/relationships.jsonl"],
    ["sentivent", *(EXAMPLES / f"sentivent/{side}.jsonl" for side in ("predictions", "references"))],
    [
        "sentivent",
        *(EXAMPLES / f"sentivent/{side}.jsonl" for side in ("predictions", "references")),
        "--include-factuality",
        "--confidence",
    ],
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda c: "-".join(map(str, (c[0], *c[3:]))).replace("/", "_"))
def test_the_short_form_fits_a_terminal_of_80_columns_and_cuts_no_name(command):
    lines = in_terminal(*command)
    text = "\n".join(lines)
    assert len(lines) <= 25 and "…" not in text
    benchmark = BENCHMARKS[command[0]]
    assert lines[0].startswith(tuple(f"{name} " for name in benchmark.headlines))
    assert ("95 % interval" in lines[0]) == ("--confidence" in command)
    (rule,) = (at for at, line in enumerate(lines) if set(line.strip()) == {"─"})
    rows = [line.split() for line in lines[rule + 1 : lines.index("", rule)]]
    # Every row has its whole name and all its figures.
    header = " ".join(" ".join(lines[at].split()) for at in range(2, rule))
    n_columns = sum(header.count(word) for word in ("precision", "recall", "f1", "positives", "predicted", "gold"))
    n_columns += header.count("support")
    places = {place.rpartition(".")[2] or benchmark.scored_item for place in benchmark.components}
    assert rows and all(len(row) == 1 + n_columns and row[0] in places for row in rows)


@pytest.mark.parametrize("columns", [60, 80, 100])
@pytest.mark.parametrize("command", [COMMANDS[1], COMMANDS[5]], ids=["docred", "sentivent"])
def test_all_tables_fit_any_terminal_without_a_cut(command, columns):
    lines = in_terminal(*command, "--all", columns=columns)
    text = "\n".join(lines)
    assert "…" not in text
    if command[0] == "sentivent":
        assert "expression_identification" in text and "event_scoped_polarity" in text
    result = json.loads(
        subprocess.run(
            [sys.executable, "-m", "spanscore", *map(str, command), "--json", "-"],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    )

    def rows(part):
        for key, value in part.items():
            if isinstance(value, dict):
                if isinstance(value.get("f1"), float) and (value.get("gold") or value.get("predicted")):
                    yield key, value["f1"]
                yield from rows(value)

    shown = set(text.split())
    assert all(f"{f1:.2f}" in shown or f"{f1:.4f}" in shown for _, f1 in rows(result) if f1)


def test_rows_without_data_are_left_out(capsys, tmp_path):
    facts = json.loads(Path(DOCRED[0]).read_text())
    plain = [{key: value for key, value in fact.items() if key != "score"} for fact in facts]
    path = tmp_path / "plain.json"
    path.write_text(json.dumps(plain))
    without, with_scores = (run(capsys, "docred", each, DOCRED[1], "--all")[0] for each in (path, DOCRED[0]))
    short = run(capsys, "docred", path, DOCRED[1])[0]
    compared = run(capsys, "compare", "docred", path, path, DOCRED[1], "--n-resamples", "9")[0]
    for name in ("auc", "pr_auc", "best_f1", "best_threshold"):
        assert name in with_scores and name not in without and name not in short
    assert "auc" not in compared
    assert "inter_long" not in with_scores and "e+308" not in without + short
    # The file keeps all figures.
    assert json.loads(run(capsys, "docred", path, DOCRED[1], "--json", "-")[0])["auc"] > 0


def test_chosen_measures(capsys):
    result = load("docred").compute(**_records("docred"))
    out, _ = run(capsys, "docred", *DOCRED, "--measures", "ign_f1,f1, evidence.recall,per_relation/P17/f1", code=2)
    out, err = run(capsys, "docred", *DOCRED, "--measures", "f1, evidence.recall,per_relation/P17/f1")
    assert [line.split() for line in out.splitlines()[3:6]] == [
        ["f1", f"{result['f1']:.2f}"],
        ["evidence.recall", f"{result['evidence']['recall']:.2f}"],
        ["per_relation.P17.f1", f"{result['per_relation']['P17']['f1']:.2f}"],
    ]
    out, err = run(capsys, "docred", *DOCRED, "--measures", "evidence.f1,recall", "-q")
    assert out.splitlines() == [repr(result["evidence"]["f1"]), repr(result["recall"])] and err == ""
    for name, words in (
        ("f2", "'f2' is no measure of this result, expected such as precision, recall, f1,"),
        ("evidence", "'evidence' is no measure of this result, expected such as evidence.precision, evidence.recall"),
        ("evidence.f3", "expected such as evidence.precision"),
        ("ign_f1", "'ign_f1' is None on these data"),
    ):
        _, err = run(capsys, "docred", *DOCRED, "--measures", name, code=2)
        assert words in err.splitlines()[-1]
    out, _ = run(capsys, "docred", *DOCRED, "--confidence", "0.9", "--measures", "f1", "--csv")
    # Two documents are too few for a detectable difference.
    rows = {row[2]: float(row[3]) for row in csv.reader(io.StringIO(out)) if row[0] == "measures" and row[3]}
    assert rows["low"] <= rows["value"] <= rows["high"]


def test_measures_of_labels_with_dots(capsys):
    files = [EXAMPLES / f"sentivent/{side}.jsonl" for side in ("predictions", "references")]
    result = load("sentivent").compute(**_records("sentivent"))
    row = result["strict"]["classification_report"]["event_trigger"]["Profit.Decrease"]
    for sep in (".", "/"):
        name = sep.join(("strict", "classification_report", "event_trigger", "Profit.Decrease", "recall"))
        assert run(capsys, "sentivent", *files, "--measures", name, "-q")[0] == f"{row['recall']!r}\n"
    _, err = run(capsys, "sentivent", *files, "--measures", "strict.classification_report.event_trigger.x.f1", code=2)
    assert "is no measure of this result" in err
    _, err = run(capsys, "aste", *ASTE, "--measures", " ,", code=2)
    assert err == "error: --measures names none, expected such as f1,recall\n"


def test_files_of_a_shell_pattern_are_told_apart(capsys):
    _, err = run(capsys, "aste", *ASTE, SECOND, code=2)
    assert err.endswith("; several files of a side are a folder, or a pattern in quotes\n")


def _records(name):
    (example,) = [each for each in all_examples() if each.benchmark.name == name][:1]
    predictions, references = example.read()
    return {"predictions": predictions, "references": references}


def test_a_bare_number_for_scripts(capsys):
    expected = load("aste").compute(**_records("aste"))
    assert run(capsys, "aste", *ASTE, "-q") == (f"{expected['f1']!r}\n", "")
    assert run(capsys, "aste", *ASTE, "--quiet", "--json", "-")[1] == ""
    out, err = run(capsys, "runs", "aste", ASTE[0], SECOND, "--references", ASTE[1], "-q")
    assert float(out) == pytest.approx(63.64, abs=0.01) and err == ""
    out, err = run(capsys, "compare", "aste", ASTE[0], SECOND, ASTE[1], "-q", "--n-resamples", "99")
    assert 0 < float(out) <= 1 and err == ""


# --- options ----------------------------------------------------------------------------------------------------------

NO_EFFECT = [
    (["--n-resamples", "50"], "--n-resamples has no effect without --confidence"),
    (["--random-state", "5"], "--random-state has no effect without --confidence"),
    (["--interval-method", "bca"], "--interval-method has no effect without --confidence"),
    (["--groups", "[1, 1, 2, 2, 3, 3, 4, 4]"], "--groups has no effect without --confidence"),
    (["--all", "--csv"], "--all has no effect with --csv"),
    (["--all", "--measures", "f1"], "--all has no effect with --measures"),
    (["-q", "--markdown"], "--markdown has no effect with --quiet"),
    (["-q", "--kinds"], "--kinds has no effect with --quiet"),
    (["--measures", "f1", "--json", "-"], "--measures has no effect with --json"),
    (["--format", "jsonl", "--predictions-span-format", "ends"], ""),
]


@pytest.mark.parametrize(("given", "words"), NO_EFFECT, ids=lambda value: " ".join(value) if value else "")
def test_an_option_without_effect_is_an_error(given, words, capsys, tmp_path):
    files = ASTE
    if not words:
        rows = spanscore.formats.aste.read(ASTE[0]).records
        spanscore.formats.aste.write(tmp_path / "p.jsonl", rows, "jsonl")
        files = [str(tmp_path / "p.jsonl"), ASTE[1]]
        words = "--predictions-span-format: no effect on the format jsonl, expected a file of v2, span-aste, pairs"
    out, err = run(capsys, "aste", *files, *given, code=2)
    assert out == "" and err.splitlines()[-1] == f"error: {words}"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["--confidence", "95"], "confidence_level: 95 is not a number above 0, below 1"),
        (["--confidence", "0.9", "--n-resamples", "0"], "n_resamples: 0 is not"),
        (["--html", "{missing}/x.html"], "x.html: No such file or directory"),
        (["--errors", "{missing}/x"], "x: No such file or directory"),
        (["--per-document", "{folder}"], "Is a directory"),
    ],
)
def test_options_and_folders_are_checked_before_files_are_read(given, words, capsys, tmp_path):
    paths = {"missing": str(tmp_path / "missing"), "folder": str(tmp_path)}
    (tmp_path / "broken.txt").write_text("no triplets\n")
    given = [each.format(**paths) for each in given]
    _, err = run(capsys, "aste", tmp_path / "broken.txt", tmp_path / "broken.txt", *given, code=2)
    assert len(err.splitlines()) == 1 and words in err


def test_missing_files_of_options_are_named_before_any_file_is_read(capsys, tmp_path):
    (tmp_path / "broken.json").write_text("{")
    given = ["--train", tmp_path / "missing.json"]
    _, err = run(capsys, "docred", tmp_path / "broken.json", tmp_path / "broken.json", *given, code=2)
    assert err == f"error: {tmp_path / 'missing.json'}: No such file or directory\n"


@pytest.mark.parametrize("verb", [[], ["compare"], ["runs"], ["validate"]])
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_help_has_short_name_examples_and_each_default_once(verb, benchmark, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    long, short = (run(capsys, *verb, benchmark, flag)[0] for flag in ("--help", "-h"))
    assert long == short and "Examples:" in long
    examples = [shlex.split(line) for line in long.splitlines() if line.strip().startswith("spanscore ")]
    assert examples and all(words[: len(verb) + 2] == ["spanscore", *verb, benchmark] for words in examples)
    options = re.split(r"\n  (?=-)", long.partition("Options:")[2])
    assert all(option.count("[default:") <= 1 and "default 1000 and 0" not in option for option in options)
    if not verb:
        (resamples,) = (option for option in options if option.startswith("--n-resamples"))
        assert "INTEGER" in resamples and "[default: 1000]" in " ".join(resamples.split())


def test_version(capsys):
    assert run(capsys, "--version")[0] == f"spanscore {spanscore.__version__}\n"


@pytest.mark.parametrize(
    "command", [["--help"], *([*verb, "docred", "--help"] for verb in ([], ["compare"], ["runs"]))]
)
def test_help_imports_nothing_that_it_does_not_use(command):
    script = (
        "import sys; from spanscore.cli import main; main(sys.argv[1:]);"
        "print(sorted({'evaluate', 'datasets', 'scipy', 'pyarrow', 'rich', 'jinja2', 'vl_convert', 'pandas', 'lxml'} "
        "& set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *command], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


# --- how it was made --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    [
        ["aste", *ASTE, "--confidence", "0.9", "--n-resamples", "50", "--duplicates", "pairs"],
        ["compare", "aste", ASTE[0], SECOND, ASTE[1], "--n-resamples", "50"],
        ["runs", "aste", ASTE[0], SECOND, "--references", ASTE[1]],
    ],
)
def test_a_result_can_be_made_again_from_what_was_written(command, capsys, tmp_path):
    path = tmp_path / "result.json"
    run(capsys, *command, "--json", path)
    first = json.loads(path.read_text())
    made = first["run"]
    assert made["versions"]["spanscore"] == spanscore.__version__ and set(made["versions"]) >= {"numpy", "python"}
    assert made["references"] == {"path": ASTE[1], "format": "v2", "records": 8}
    words = shlex.split(made["command"])
    assert words[0] == "spanscore"
    run(capsys, *words[1:])
    again = json.loads(path.read_text())
    for result in (first, again):
        result["run"].pop("date")
    assert again == first
    assert first["signature"].startswith("aste|v:2.0.0|")
    if command[0] == "aste":
        assert made["options"]["n_resamples"] == 50 and made["options"]["duplicates"] == "pairs"
        assert made["options"]["ignore_case"] is False


def test_compare_and_runs_name_signature_and_versions(capsys):
    signature = load("aste").compute(**_records("aste"))["signature"]
    for given in (("compare", "aste", ASTE[0], SECOND, ASTE[1], "--n-resamples", "20"),
                  ("runs", "aste", ASTE[0], SECOND, "--references", ASTE[1])):  # fmt: skip
        for form in ([], ["--markdown"], ["--latex"], ["--csv"]):
            out, _ = run(capsys, *given, *form)
            assert signature in out and f"spanscore {spanscore.__version__}, evaluate" in out


# --- several systems --------------------------------------------------------------------------------------------------


@pytest.fixture
def systems(tmp_path):
    """Five systems on real sentences: the gold with ever more errors; and the gold."""
    gold = benchmark_file("aste/v2/14lap/test_triplets.txt")
    lines = gold.read_text().splitlines(keepends=True)
    paths = []
    for at, share in enumerate((0.5, 0.5, 0.52, 0.6, 0.95)):
        path = tmp_path / f"system{at}.txt"
        n_right = int(share * len(lines))
        path.write_text(
            "".join(line if i < n_right else line.split("####")[0] + "####[]\n" for i, line in enumerate(lines))
        )
        paths.append(path)
    return paths, gold


def test_systems_are_rows_with_marks_and_holms_correction(systems, capsys, tmp_path):
    paths, gold = systems
    given = ("compare", "aste", *paths, gold, "--n-resamples", "500", "--json", tmp_path / "c.json")
    out, _ = run(capsys, *given)
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.startswith("system")}
    found = json.loads((tmp_path / "c.json").read_text())
    raw = [c["scores"]["f1"]["p_value"] for c in found["comparisons"]]
    corrected = [c["scores"]["f1"]["p_value_holm"] for c in found["comparisons"]]
    # Holm, plainly: sorted p-values times the number of those that are left, never falling.
    order = sorted(range(4), key=raw.__getitem__)
    expected, largest = [0.0] * 4, 0.0
    for rank, at in enumerate(order):
        largest = max(largest, min(1.0, raw[at] * (4 - rank)))
        expected[at] = largest
    assert corrected == pytest.approx(expected) and corrected == comparison.holm(raw)
    first_table = out.partition("minus that of")[0]
    marked = [name for name in (f"system{at}.txt" for at in range(5)) if re.search(rf"{name}.*\*$", first_table, re.M)]
    assert marked == [f"system{at + 1}.txt" for at in range(4) if corrected[at] <= 0.05] and "system4.txt" in marked
    assert "p" in rows or "(Holm)" in out


def test_latex_of_a_comparison_is_as_papers_want_it(systems, capsys):
    paths, gold = systems
    out, _ = run(capsys, "compare", "aste", *paths[:1], paths[4], gold, "--n-resamples", "200", "--latex")
    for words in (r"\caption{Scores of systems", r"\label{tab:systems}", r"\toprule", r"\bottomrule"):
        assert words in out
    rows = [line for line in out.splitlines() if line.startswith("system") and line.count("&") == 3]
    assert r"\textbf{" not in rows[0].split("&")[3] and re.search(r"\\textbf\{[\d.]+\{\*\}\}", rows[1])


# --- several files ----------------------------------------------------------------------------------------------------


def test_a_folder_or_a_pattern_is_a_side(capsys, tmp_path):
    both = json.loads(perturbed("sentivent", 12, 1))
    for side in ("predictions", "references"):
        (tmp_path / side).mkdir()
        for record in both[side]:
            rows = {key: value for key, value in record.items() if key != "id"}
            (tmp_path / side / f"{record['id']}.json").write_text(json.dumps(rows))
    expected = load("sentivent").compute(**both)
    folders = [tmp_path / side for side in ("predictions", "references")]
    patterns = [f"{folder}/*.json" for folder in folders]
    for given in (folders, patterns, (folders[0], patterns[1])):
        out, err = run(capsys, "sentivent", *given, "--json", "-")
        found = json.loads(out)
        assert found["sentivent_score"] == expected["sentivent_score"] and "pairing:id" in found["signature"]
        assert "12 records" in err
    run(capsys, "validate", "sentivent", folders[0], "--references", folders[1])
    (tmp_path / "predictions" / f"{both['predictions'][3]['id']}.json").write_text('{"annotations": [{"kind": 1}]}')
    out, err = run(capsys, "validate", "sentivent", patterns[0], code=2)
    assert len(out.splitlines()) == 1 and f"{both['predictions'][3]['id']}.json:1: " in out
    _, err = run(capsys, "sentivent", tmp_path / "*.nothing", folders[1], code=2)
    assert "no file fits this pattern" in err
    (tmp_path / "empty").mkdir()
    _, err = run(capsys, "aste", tmp_path / "empty", ASTE[1], code=2)
    assert "a folder without files" in err


def test_several_files_hold_their_records_one_after_another(capsys, tmp_path):
    for at, path in enumerate(ASTE):
        lines = Path(path).read_text().splitlines(keepends=True)
        (tmp_path / f"{at}").mkdir()
        for part in range(2):
            (tmp_path / f"{at}" / f"part{part}.txt").write_text("".join(lines[4 * part : 4 * part + 4]))
    out, _ = run(capsys, "aste", tmp_path / "0", tmp_path / "1", "--json", "-")
    expected = load("aste").compute(**_records("aste"))
    assert json.loads(out)["f1"] == expected["f1"]
    # An output must not be one of the files of a folder.
    _, err = run(capsys, "aste", tmp_path / "0", tmp_path / "1", "--json", tmp_path / "0/part1.txt", code=2)
    assert "is an input too" in err


# --- errors and documents ---------------------------------------------------------------------------------------------


def test_errors_and_documents_of_propositions_have_ids_texts_and_rates(capsys, tmp_path):
    gold = benchmark_file("propsegment/propositions.dev.json")
    clusters = benchmark_file("propsegment/document_clusters.dev.json")
    (tmp_path / "p.json").write_text(perturbed("propsegment", gold))
    given = ("--errors", tmp_path / "e.jsonl", "--per-document", tmp_path / "d.jsonl", "--clusters", clusters)
    run(capsys, "propsegment", tmp_path / "p.json", gold, *given)
    texts = spanscore.formats.propsegment.read_sentences(clusters)
    documents = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text().splitlines()]
    for row in documents:
        tokens = texts.get(row["id"].partition(": ")[2])
        assert row["text"] == (" ".join(tokens) if tokens else None)
        if row["gold"]:
            assert row["recall"] == row["true_positives"] / row["gold"]
    errors = [json.loads(line) for line in (tmp_path / "e.jsonl").read_text().splitlines()]
    assert len(errors) > 100
    for row in errors:
        tokens = texts.get(row["id"].partition(": ")[2])
        for side in ("prediction", "reference"):
            shown = row[f"{side}_text"]
            if tokens is None or row[side] is None:
                assert shown is None
            else:
                assert shown == {"proposition": " ".join(tokens[at] for at in row[side])}


def test_the_texts_of_pairs_come_from_the_clusters(capsys, tmp_path):
    gold = benchmark_file("propsegment/relationships.dev.json")
    clusters = benchmark_file("propsegment/document_clusters.dev.json")
    entries = json.loads(gold.read_text())
    (tmp_path / "p.jsonl").write_text("".join('{"label": "neutral"}\n' for _ in entries))
    given = ("--clusters", clusters, "--per-document", tmp_path / "d.jsonl", "--html", tmp_path / "r.html")
    run(capsys, "propsegment", tmp_path / "p.jsonl", gold, *given)
    texts = spanscore.formats.propsegment.read_sentences(clusters)
    rows = [json.loads(line) for line in (tmp_path / "d.jsonl").read_text().splitlines()]
    entry = entries[0]
    place, cluster = entry["hypothesis_proposition"], entry["cluster_id"]
    tokens = texts[f"{cluster}/{place['document_id']}/{place['sentence_index']}"]
    hypothesis = " ".join(tokens[at] for at in place["proposition"]["token_indices"])
    premise = [w for name, words in texts.items() if name.startswith(f"{cluster}/{entry['premise_document_id']}/")
               for w in words]  # fmt: skip
    assert rows[0]["text"] == f"{hypothesis} {' '.join(premise)}"
    page = (tmp_path / "r.html").read_text()
    assert '[["hypothesis",0],["premise",' in page


def test_relations_have_names_in_reports(capsys, tmp_path):
    (tmp_path / "gold.json").write_text(Path(DOCRED[1]).read_text())
    run(capsys, "docred", DOCRED[0], tmp_path / "gold.json", "--html", tmp_path / "plain.html", "-q")
    (tmp_path / "rel_info.json").write_text(json.dumps({"P17": "country", "P131": "located in"}))
    out, _ = run(capsys, "docred", DOCRED[0], tmp_path / "gold.json", "--html", tmp_path / "named.html", "--all")
    assert "P17 country" in out
    assert "P17 country" in (tmp_path / "named.html").read_text()
    assert "P17 country" not in (tmp_path / "plain.html").read_text()
    # The scores are those without names.
    golds = (DOCRED[1], tmp_path / "gold.json")
    plain, named = (json.loads(run(capsys, "docred", DOCRED[0], gold, "--json", "-")[0]) for gold in golds)
    assert {**plain, "run": 0} == {**named, "run": 0}
    # Rows of the Hub have the names beside the relations.
    rows = []
    for document in json.loads(Path(DOCRED[1]).read_text()):
        labels = document["labels"]
        names = {"P17": "country of", "P131": "in"}
        rows.append({**document, "labels": {
            "head": [x["h"] for x in labels], "tail": [x["t"] for x in labels], "relation_id": [x["r"] for x in labels],
            "relation_text": [names.get(x["r"], f"name of {x['r']}") for x in labels],
            "evidence": [x["evidence"] for x in labels],
        }})  # fmt: skip
    (tmp_path / "hub").mkdir()
    pa.parquet.write_table(pa.Table.from_pylist(rows), str(tmp_path / "hub/rows.parquet"))
    run(capsys, "docred", DOCRED[0], tmp_path / "hub/rows.parquet", "--html", tmp_path / "hub.html", "-q")
    assert "P17 country of" in (tmp_path / "hub.html").read_text()
