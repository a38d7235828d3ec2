"""Files are read once, as bytes: pipes, packed files, Parquet, encodings, JSON."""

import gzip
import io
import json
import os
import pickle
import subprocess
import sys
import threading
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from conftest import ROOT, benchmark_file, load

from spanscore import cli
from spanscore.formats import aste, docred, propsegment, sentivent
from spanscore.formats.files import DataFile, TextFile, parse_json_items, read_data, read_parquet, read_text
from spanscore.metrics import reading

LINES = "".join(f"the screen is large number{at}####[([1], [3], 'POS')]\n" for at in range(400))
EVENT = {"annotations": [{"id": "e", "kind": "event", "span": [0], "type": "Deal"}]}
PACKED = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "zip": lambda data: zipped({"file.txt": data}),
    "zip of gzip": lambda data: zipped({"folder/": b"", "file.txt.gz": gzip.compress(data), "__MACOSX/x": b"1"}),
    "byte order mark": lambda data: b"\xef\xbb\xbf" + data,
}


def zipped(members):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            file.writestr(name, data)
    return content.getvalue()


def parquet(rows):
    content = pa.BufferOutputStream()
    pa.parquet.write_table(pa.Table.from_pylist(rows), content)
    return content.getvalue().to_pybytes()


def run_program(arguments, **more):
    """Run the program as a process, and return the process with its output as text."""
    command = [sys.executable, "-m", "spanscore", *map(str, arguments)]
    environment = {**os.environ, **more.pop("environment", {})}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, **more)


def error_of(capsys, *arguments):
    """The only line on standard error of a command that fails."""
    assert cli.main([str(argument) for argument in arguments]) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1
    return lines[0]


# --- bytes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("packing", PACKED)
def test_packed_files_are_known_by_content(packing, tmp_path, monkeypatch):
    data = PACKED[packing](LINES.encode())
    (tmp_path / "file").write_bytes(data)
    expected = aste.read(io.StringIO(LINES)).records
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="latin-1"))
    for source in (tmp_path / "file", str(tmp_path / "file"), "-", io.BytesIO(data)):
        assert aste.read(source).records == expected
    with (tmp_path / "file").open("rb") as file:
        assert aste.read(file).records == expected


@pytest.mark.parametrize("packing", ["plain", "gzip", "zip"])
def test_parquet_is_read_from_everywhere(packing, tmp_path, monkeypatch):
    rows = [{"id": "a", "tokens": ["x", "y"], "triplets": []}, {"id": "b", "tokens": ["z"], "triplets": []}]
    data = PACKED[packing](parquet(rows))
    (tmp_path / "file").write_bytes(data)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    for source in (tmp_path / "file", "-", io.BytesIO(data), read_data(tmp_path / "file")):
        assert [row["id"] for row in aste.read(source).records] == ["a", "b"]
    documents = PACKED[packing](parquet([EVENT]))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(documents)))
    for source in ("-", io.BytesIO(documents)):
        corpus = sentivent.read(source)
        assert corpus.format == "parquet" and corpus.records[0]["annotations"][0]["id"] == "e"


def test_a_pipe_as_a_path_keeps_its_beginning(tmp_path):
    for command, module, data in (
        (["aste", "{}", "{}"], aste, LINES.encode()),
        (["sentivent", "{}", "{}"], sentivent, parquet([EVENT] * 30)),
    ):
        paths = [tmp_path / f"{command[0]}-{at}" for at in range(2)]
        for path in paths:
            os.mkfifo(path)
            threading.Thread(target=path.write_bytes, args=(data,), daemon=True).start()
        done = run_program([command[0], *paths, "--json", "-"], timeout=120)
        n = len(module.read(io.BytesIO(data)).records)
        assert done.returncode == 0 and done.stderr.decode().count(f" {n} records") == 2


def test_validate_reads_a_pipe_once(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    threading.Thread(target=path.write_bytes, args=(parquet([EVENT] * 3),), daemon=True).start()
    done = run_program(["validate", "sentivent", path], timeout=120)
    assert done.returncode == 0 and b"3 records" in done.stderr


def test_an_export_is_read_from_standard_input_too(tmp_path):
    paths = [benchmark_file(f"sentivent/anno_0{at}.xmi") for at in (1, 2)]
    data = zipped({path.name: path.read_bytes() for path in paths})
    (tmp_path / "export.zip").write_bytes(data)
    done = run_program(["sentivent", "-", tmp_path / "export.zip", "--json", "-"], input=data)
    assert done.returncode == 0 and json.loads(done.stdout)["sentivent_score"] == pytest.approx(100)
    done = run_program(["validate", "sentivent", "-"], input=data)
    assert done.returncode == 0 and b"2 records" in done.stderr


def test_rows_of_the_hub_keep_their_ids(tmp_path):
    rows = [{"id": at, "hypothesis": "a b", "premise": "c", "label": "entail"} for at in range(3)]
    propositions = [{"id": at, "sentence": "Ann sings .", "propositions": "[M] Ann sings [/M] ."} for at in range(3)]
    for module, given in ((propsegment, rows), (propsegment, propositions)):
        (tmp_path / "rows").write_bytes(parquet(given))
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in given))
        for name in ("rows", "rows.jsonl"):
            assert [record["id"] for record in module.read(tmp_path / name).records] == [0, 1, 2]


def test_a_pipe_or_standard_input_is_given_once(tmp_path, capsys):
    (tmp_path / "gold").write_text(LINES)
    os.mkfifo(tmp_path / "pipe")
    assert "holds one file only" in error_of(capsys, "aste", tmp_path / "pipe", tmp_path / "pipe")
    assert "holds one file only" in error_of(capsys, "aste", "-", "-")
    done = run_program(["aste", "-", "/dev/stdin"], input=LINES.encode())
    assert done.returncode == 2 and b"holds one file only" in done.stderr


def test_standard_input_is_not_decoded_by_the_locale():
    tokens = "das café ist groß####[([1], [3], 'POS')]\n"
    for locale in ("C", "en_US.ISO-8859-1"):
        data = b"\xef\xbb\xbf" + tokens.encode()
        environment = {"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"}
        done = run_program(["validate", "aste", "-", "--json", "-"], input=data, environment=environment)
        assert done.returncode == 0, done.stderr
    done = run_program(["validate", "aste", "-"], input=tokens.encode("utf-16"))
    assert done.returncode == 2 and b"UTF-16" in done.stderr


def test_standard_input_that_is_closed(capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", None)
    assert error_of(capsys, "aste", "-", "x").startswith("error: ")
    with pytest.raises(ValueError, match="<stdin>:1: standard input is closed"):
        read_text("-")


def test_joined_files_may_have_a_mark_each(tmp_path):
    (tmp_path / "file").write_bytes(b"\xef\xbb\xbfa b####[]\n\xef\xbb\xbfc d####[]\n")
    assert [record["tokens"] for record in aste.read(tmp_path / "file").records] == [["a", "b"], ["c", "d"]]
    assert read_text(io.StringIO("\ufeffa")).text == "a"


# --- what is no text --------------------------------------------------------------------------------------------------

NO_TEXT = {
    "utf-16": (LINES.encode("utf-16"), "byte 0xff at position 0.*UTF-16"),
    "utf-16 without a mark": (LINES.encode("utf-16-le"), "byte 0x00 at position 1.*UTF-16"),
    "utf-32": (LINES.encode("utf-32"), "not UTF-8 text"),
    "latin-1": (b"one line\nsome caf\xe9 here\n", ":2: .*byte 0xe9 at position 17"),
    "latin-1 after a mark": (b"\xef\xbb\xbfone line\nsome caf\xe9 here\n", ":2: .*byte 0xe9 at position 20"),
    "surrogates": ("a\ud800b".encode("utf-8", "surrogatepass"), "byte 0xed at position 1"),
    "nul": (b"text\0text\n", "byte 0x00 at position 4"),
    "pickle": (pickle.dumps([1, 2]), "byte 0x80 at position 0.*pickle"),
    "numpy": (None, "byte 0x93 at position 0.*numpy"),
    "xz": (b"\xfd7zXZ\x00\x00\x04", "xz"),
    "zstd": (b"\x28\xb5\x2f\xfd\x00\x00\x04", "zstd"),
    "two files in a zip": (zipped({"a": b"1", "b": b"2"}), "a zip file with 2 files, expected one"),
    "nothing in a zip": (zipped({}), "a zip file with 0 files, expected one"),
    "damaged zip": (zipped({"a": b"1" * 999})[:40], "a zip file that cannot be read"),
    "gzip cut short": (gzip.compress(LINES.encode())[:-20], "not a gzip file"),
    "gzip with other bytes": (gzip.compress(LINES.encode())[:40] + b"\xff" * 400, "not a gzip file"),
    "four times gzip": (gzip.compress(gzip.compress(gzip.compress(gzip.compress(b"a")))), "packed more than 3 times"),
    "Parquet cut short": (parquet([EVENT])[:-30], "not a Parquet file"),
    "Parquet with bad pages": (parquet([EVENT] * 9)[:4] + b"\xff" * 300 + parquet([EVENT] * 9)[304:], "Parquet file"),
}


@pytest.mark.parametrize("what", NO_TEXT)
def test_what_is_no_text_is_an_error_with_file_and_byte(what, tmp_path, capsys):
    data, words = NO_TEXT[what]
    path = tmp_path / "file"
    if data is None:
        with path.open("wb") as file:
            np.save(file, np.arange(9))
        data = path.read_bytes()
    path.write_bytes(data)
    for source, name in ((path, str(path)), (io.BytesIO(data), "<file>")):
        with pytest.raises(ValueError, match=words) as caught:
            read_text(source)
        assert str(caught.value).startswith(f"{name}:") and "\n" not in str(caught.value)
    for benchmark in ("aste", "docred", "propsegment", "sentivent"):
        assert str(path) in error_of(capsys, benchmark, path, path)


# --- limits -----------------------------------------------------------------------------------------------------------


def test_a_packed_file_expands_to_a_limit(tmp_path, capsys, monkeypatch):
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b" " * 3_000_000))
    (tmp_path / "bomb.zip").write_bytes(zipped({"a": b" " * 3_000_000}))
    pa.parquet.write_table(pa.table({"id": pa.array(np.zeros(10**6, np.int64))}), str(tmp_path / "rows.parquet"))
    pa.parquet.write_table(pa.table({"id": pa.array(["x" * 10**5] * 100)}), str(tmp_path / "text.parquet"))
    pa.parquet.write_table(pa.table({"id": pa.array([[0] * 10**6])}), str(tmp_path / "list.parquet"))
    (tmp_path / "good.txt").write_text(LINES)
    for name in ("bomb.gz", "bomb.zip", "rows.parquet", "text.parquet", "list.parquet"):
        assert (tmp_path / name).stat().st_size < 200_000
        given = ("aste", tmp_path / name, tmp_path / "good.txt", "--max-size", "2M")
        error = error_of(capsys, *given)
        assert f"{tmp_path / name}:1: expands to more than 2M" in error and "--max-size" in error
        assert error_of(capsys, *given[:-1], "200M") != error
        with monkeypatch.context() as patch:
            patch.setenv("SPANSCORE_MAX_SIZE", "1M")
            with pytest.raises(ValueError, match=r"more than 1M.*SPANSCORE_MAX_SIZE"):
                read_text(tmp_path / name)
    assert "SPANSCORE_MAX_SIZE" not in os.environ


def test_the_limit_of_a_large_file_holds_before_it_is_expanded(tmp_path):
    with gzip.open(tmp_path / "large.gz", "wb", compresslevel=6) as file:
        for _ in range(1000):
            file.write(b"\0" * 10**6)
    pa.parquet.write_table(pa.table({"id": pa.array(np.zeros(50_000_000, np.int8))}), str(tmp_path / "large.parquet"))
    for name in ("large.gz", "large.parquet"):
        with pytest.raises(ValueError, match=f"{name}:1: expands to more than 512M"):
            read_text(tmp_path / name)


def test_a_pipe_has_a_limit():
    done = run_program(["aste", "-", "x", "--max-size", "1K"], input=b" " * 2000)
    assert done.returncode == 2
    with reading.allow_size("1K"), pytest.raises(ValueError, match="<stdin>:1: has more than 1K"):
        reading.read_some("<stdin>", io.BytesIO(b" " * 2000))


@pytest.mark.parametrize(("text", "size"), [("7", 7), ("2K", 2048), ("1 ", 1), ("3MiB", 3 * 2**20), ("1gb", 2**30)])
def test_sizes(text, size):
    assert reading.parse_size(text) == size


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5G", "many", "1X", "9" * 40])
def test_wrong_sizes(text, capsys):
    assert "is not a size" in error_of(capsys, "aste", "x", "y", "--max-size", text)


# --- JSON -------------------------------------------------------------------------------------------------------------


def test_repeated_keys_have_line_and_key(tmp_path, capsys):
    texts = {
        "lines.jsonl": ('{"a": 1}\n{"a": {"b": "}"}, "c": [{"b": 1, "\\u0062": 2}]}\n', 2),
        "list.json": ('[\n{"a": 1},\n{"a":\n [{"b": "\\"b\\":"}],\n "b": 1,\n "a": 2}]', 6),
    }
    for name, (text, line) in texts.items():
        (tmp_path / name).write_text(text)
        with pytest.raises(ValueError, match=rf'{name}:{line}: the key "(a|\\u0062)" is twice in one object'):
            parse_json_items(read_text(tmp_path / name))
    gold = ROOT / "examples/docred/references.json"
    (tmp_path / "facts.json").write_text('[{"title": "x", "h_idx": 0,\n "t_idx": 1, "t_idx": 2, "r": "P1"}]')
    assert 'facts.json:2: the key "t_idx" is twice' in error_of(capsys, "docred", tmp_path / "facts.json", gold)
    for module in (aste, propsegment, sentivent):
        with pytest.raises(ValueError, match='<file>:2: the key "id" is twice'):
            record = '"annotations": [], "propositions": [], "triplets": []'
            module.read(io.StringIO(f'{{"id": 1, {record}}}\n{{"id": 1, {record}, "id": 2}}\n'))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("9" * 5000, "not readable: "),
        ("[" * 100_000, "not readable: nested"),
        ('{"a":' * 100_000, "not readable: nested"),
    ],
)
def test_long_numbers_and_deep_nesting(text, words):
    for before in ("", '["a",\n'):
        line = 1 + before.count("\n")
        with pytest.raises(ValueError, match=rf"^f:{line}: {words}"):
            parse_json_items(TextFile("f", before + text if before else text + "\n"))


# --- options that name files ------------------------------------------------------------------------------------------

WRONG_OPTION_FILES = {
    "zlib": gzip.compress(LINES.encode())[:40] + b"\xff" * 400,
    "cut": gzip.compress(b"[]")[:-4],
    "latin": b'["\xe9"]',
    "utf-16": "[]".encode("utf-16"),
    "number": b"[" + b"9" * 5000 + b"]",
    "nested": b"[" * 100_000,
    "half": b'["a", ',
    "keys": b'[{"title": 1, "title": 2}]',
    "bomb": gzip.compress(b" " * 3_000_000),
}


@pytest.mark.parametrize("what", WRONG_OPTION_FILES)
def test_files_of_options_have_the_same_errors(what, tmp_path, capsys):
    path = tmp_path / "option.gz" if what in ("zlib", "cut", "bomb") else tmp_path / "option"
    path.write_bytes(WRONG_OPTION_FILES[what])
    gold = ROOT / "examples/docred/references.json"
    predictions = next((ROOT / "examples/docred").glob("predictions.*"))
    for option, value in (("--train", path), ("--train-distant", path), ("--groups", f"@{path}")):
        given = (option, value, "--max-size", "1M", "--confidence", "--n-resamples", "5")
        assert str(path) in error_of(capsys, "docred", predictions, gold, *given)
    with reading.allow_size("1M"), pytest.raises(ValueError, match=r"^train: .*option") as caught:
        load("docred").compute(predictions=[], references=docred.read(gold).records, train=str(path))
    assert "\n" not in str(caught.value)


def test_training_files_may_be_packed_and_have_a_mark(tmp_path):
    gold = docred.read(benchmark_file("docred/dev_revised.json")).records[:5]
    facts = [{"title": d["title"], "h_idx": f["h"], "t_idx": f["t"], "r": f["r"]} for d in gold for f in d["labels"]]
    data = json.dumps(gold).encode()
    expected = load("docred").compute(predictions=facts, references=gold, train=gold)
    for packing, pack in PACKED.items():
        (tmp_path / packing).write_bytes(pack(data))
        assert load("docred").compute(predictions=facts, references=gold, train=tmp_path / packing) == expected


def test_groups_of_a_file_keep_their_empty_lines(tmp_path):
    from spanscore.options import _option_value

    (tmp_path / "groups.txt").write_bytes(b"\xef\xbb\xbfa\r\n\r\nb\xe2\x80\xa8c\r\n")
    assert _option_value(f"@{tmp_path / 'groups.txt'}") == ["a", "", "b\u2028c"]


def test_data_files_are_read_again_from_memory():
    file = DataFile("x", b"\xef\xbb\xbfa")
    assert read_data(file) == file and read_text(file) == TextFile("x", "a")
    assert read_data(TextFile("x", "é")).data == "é".encode()
    assert read_parquet(DataFile("x", parquet([{"a": 1}])), "a") == [{"a": 1}]


def test_json_that_breaks_off_is_named_in_plain_words():
    with pytest.raises(ValueError, match=r"file:2: not JSON: Unterminated string starting at column 2$"):
        reading.parse("file", '[\n "a')
