"""Damaged files of every benchmark in every command: success or one line on standard error, and never a traceback."""

import gzip
import io
import os
import random
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from conftest import ROOT

from spanscore import cli
from spanscore.benchmarks import BENCHMARKS
from spanscore.formats.files import parse_json_items, read_text

N_RANDOM = 12  # damaged files of each kind and benchmark
INSERTED = [
    b"\0",
    b"\xff",
    b"\x1b[31m",
    b'"',
    b"[",
    b"}",
    b"####",
    b"-1",
    b"9" * 5000,
    b"[" * 300,
    b"NaN",
    b"1e999",
    b"null",
    b'"\\ud800"',
    "\u2028".encode(),
    b"\r",
    b"\n\n",
    b"\\u0000",
]


def example(benchmark, side):
    (found,) = (ROOT / "examples" / benchmark).glob(f"{side}.*")
    return found


def as_parquet(data):
    rows = [value for _, value in parse_json_items(read_text(io.BytesIO(data)))]
    content = pa.BufferOutputStream()
    pa.parquet.write_table(pa.Table.from_pylist(rows), content)
    return content.getvalue().to_pybytes()


def as_zip(data):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("file", data)
    return content.getvalue()


def cut(data, chance):
    return data[: chance.randrange(len(data))]


def flipped(data, chance):
    changed = bytearray(data)
    for _ in range(chance.choice([1, 3, 30])):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def inserted(data, chance):
    at = chance.randrange(len(data))
    return data[:at] + chance.choice(INSERTED) + data[at + chance.choice([0, 0, 1, 5]) :]


def without_a_piece(data, chance):
    begin, end = sorted(chance.randrange(len(data)) for _ in range(2))
    return data[:begin] + data[min(end, begin + 40) :]


def swapped_lines(data, chance):
    lines = data.split(b"\n")
    chance.shuffle(lines)
    return b"\n".join(lines)


DAMAGES = [cut, flipped, inserted, without_a_piece, swapped_lines]
FIXED = {
    "empty": b"",
    "a byte order mark": b"\xef\xbb\xbf",
    "blank lines": b"\n \n\t\n\r\n",
    "no items": b"[]",
    "an object": b"{}",
    "null": b"null",
    "a number": b"7\n",
    "a long number": b"[" + b"9" * 5000 + b"]",
    "nested": b"[" * 100_000,
    "nested below the limit": b"[" * 900 + b"]" * 900,
    "nested in a record": b'[{"id": ' + b"[" * 900 + b"]" * 900 + b"}]",
    "a file of text": b"Lorem ipsum dolor sit amet,\nconsectetur adipiscing elit.\n",
    "HTML": b"<!DOCTYPE html>\n<html><body>404 Not Found</body></html>\n",
    "UTF-16": '[{"id": 1}]'.encode("utf-16"),
    "Latin-1": '[{"id": "é"}]'.encode("latin-1"),
    "a gzip file of nothing": gzip.compress(b""),
}


def check(capsys, arguments):
    """Run a command, and check its exit code and standard error."""
    code = cli.main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    assert code in (0, 2), (code, err)
    errors = [line for line in err.splitlines() if line.startswith("error: ")]
    assert "Traceback" not in err and len(errors) <= 1
    assert "\x1b" not in out + err and len(err) < 3000
    if code == 2:
        # Only `validate` lists problems on standard output.
        assert errors or "validate" in arguments, (out, err)
    return code, err


def commands_of(benchmark, path):
    gold, predictions = example(benchmark, "references"), example(benchmark, "predictions")
    return [
        [benchmark, path, gold, "--json", "-"],
        [benchmark, predictions, path],
        ["validate", benchmark, path],
        ["validate", benchmark, path, "--references", gold],
        ["compare", benchmark, predictions, path, gold, "--n-resamples", "3"],
        ["runs", benchmark, path, predictions, "--references", gold],
    ]


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_damaged_files(benchmark, damage, tmp_path, capsys):
    chance = random.Random(f"{benchmark} {damage.__name__}")
    for at in range(N_RANDOM):
        data = example(benchmark, chance.choice(["references", "predictions"])).read_bytes()
        packing = chance.choice([None, None, None, gzip.compress, as_zip, as_parquet])
        if packing is as_parquet and not data.lstrip().startswith((b"[", b"{")):
            packing = None
        # A packed file is damaged before it is packed, or after.
        before = packing is None or (packing is not as_parquet and chance.random() < 0.5)
        data = damage(data, chance) if before else data
        data = data if packing is None else packing(data)
        data = data if before else damage(data, chance)
        path = tmp_path / f"{at}{chance.choice(['.txt', '.json', '.jsonl', '.gz', ''])}"
        path.write_bytes(data)
        check(capsys, chance.choice(commands_of(benchmark, path)))


@pytest.mark.parametrize("what", FIXED)
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_files_that_hold_something_else(benchmark, what, tmp_path, capsys):
    path = tmp_path / "file"
    path.write_bytes(FIXED[what])
    for command in commands_of(benchmark, path)[:4]:
        check(capsys, command)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_paths_that_are_no_files(benchmark, tmp_path, capsys):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("nothing")
    (tmp_path / "round").symlink_to("round")
    for name in ("folder", "link", "round", "missing", "missing/file", "n" * 300, ""):
        for command in commands_of(benchmark, tmp_path / name):
            code, err = check(capsys, command)
            assert code == 2 and err.startswith("error: ")
    for command in commands_of(benchmark, Path("/dev/null")):
        check(capsys, command)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_files_that_cannot_be_read(benchmark, tmp_path, capsys):
    path = tmp_path / "file"
    path.write_text("x")
    path.chmod(0)
    if os.geteuid() == 0:  # root may read every file, but the first page of memory is no content
        path = Path("/proc/self/mem")
    for command in commands_of(benchmark, path):
        assert check(capsys, command)[0] == 2
