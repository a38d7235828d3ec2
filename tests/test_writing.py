"""A failed write leaves what was there; outputs destroy no input; the program ends with one line whatever happens."""

import errno
import gzip
import json
import os
import pty
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from conftest import ROOT

from spanscore import cli, terminal
from spanscore.formats import writing
from spanscore.formats.files import write_parquet, write_text

GOLD = "the screen is large####[([1], [3], 'POS')]\n" * 5


@pytest.fixture
def gold(tmp_path):
    path = tmp_path / "gold.txt"
    path.write_text(GOLD)
    return path


def error_of(capsys, *arguments):
    """The only line on standard error of a command that fails, and nothing on standard output."""
    assert cli.main([str(argument) for argument in arguments]) == 2
    out, err = capsys.readouterr()
    lines = [line for line in err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1 and out == "" and "Traceback" not in err
    return lines[0]


class FullDisk:
    """A file in which the first bytes fit."""

    def __init__(self, file):
        self.file = file

    def __enter__(self):
        self.file.__enter__()
        return self

    def __exit__(self, *error):
        return self.file.__exit__(*error)

    def fileno(self):
        return self.file.fileno()

    def write(self, data):
        self.file.write(data[:3])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def names_in(folder):
    return [path.name for path in folder.iterdir()]


# --- one file ---------------------------------------------------------------------------------------------------------


def test_a_failed_write_leaves_the_file_that_was_there(tmp_path, monkeypatch):
    path = tmp_path / "file.txt"
    path.write_bytes(b"before")
    whole = Path.open
    monkeypatch.setattr(Path, "open", lambda self, mode="r", *more: FullDisk(whole(self, mode, *more)))
    with pytest.raises(OSError, match="No space left") as caught:
        write_text(path, "after")
    assert caught.value.filename == str(path)
    with pytest.raises(OSError, match="No space left"):
        write_parquet(path, [{"a": 1}])
    monkeypatch.undo()
    assert path.read_bytes() == b"before" and names_in(tmp_path) == ["file.txt"]


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system takes root")
def test_a_full_disk_leaves_the_file_that_was_there(tmp_path, gold, capsys):
    folder = tmp_path / "small"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", folder], capture_output=True).returncode:
        pytest.skip("no file system can be mounted")
    try:
        (folder / "report.html").write_text("before")
        error = error_of(capsys, "aste", gold, gold, "--html", folder / "report.html", "--json", tmp_path / "x.json")
        assert error.endswith("report.html: No space left on device")
        assert (folder / "report.html").read_text() == "before" and names_in(folder) == ["report.html"]
    finally:
        subprocess.run(["umount", folder], check=True)


def test_an_interrupted_write_leaves_the_file_that_was_there(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("before")

    def interrupt(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_text(tmp_path / "file", "after")
    assert (tmp_path / "file").read_text() == "before" and names_in(tmp_path) == ["file"]


def test_links_and_permissions_are_kept(tmp_path):
    target = tmp_path / "folder" / "target.json"
    target.parent.mkdir()
    target.write_text("before")
    target.chmod(0o640)
    (tmp_path / "link").symlink_to("folder/target.json")
    (tmp_path / "link to nothing").symlink_to("new")
    write_text(tmp_path / "link", "after")
    write_text(tmp_path / "link to nothing", "new")
    assert (tmp_path / "link").is_symlink() and target.read_text() == "after"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert (tmp_path / "link to nothing").is_symlink() and (tmp_path / "new").read_text() == "new"
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "fresh", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "fresh").stat().st_mode) == 0o640
    write_text(tmp_path / ("n" * 255), "x")
    assert not [name for name in names_in(tmp_path) if name.endswith(".part")]


def test_special_files_are_written_directly(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_bytes()))
    reader.start()
    write_text(tmp_path / "pipe", "through")
    reader.join()
    assert read == [b"through"] and stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    write_text("/dev/null", "x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    with pytest.raises(OSError, match="/dev/full"):
        write_text("/dev/full", "x")
    with (tmp_path / "open").open("wb") as file:
        write_text(f"/dev/fd/{file.fileno()}", "x")
        assert os.path.samestat(os.fstat(file.fileno()), (tmp_path / "open").stat())


def test_files_that_cannot_be_written(tmp_path, monkeypatch):
    for path, words in ((tmp_path, "Is a directory"), (tmp_path / "no" / "x", "No such file")):
        with pytest.raises(OSError, match=words):
            writing.check_writable(path)
        with pytest.raises(OSError, match=words):
            write_text(path, "x")
    (tmp_path / "file").write_text("before")
    with pytest.raises(OSError, match="Not a directory"):
        writing.check_writable(tmp_path / "file" / "x")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path / "file")
    with pytest.raises(OSError, match="Permission denied"):
        write_text(tmp_path / "file", "x")
    assert (tmp_path / "file").read_text() == "before"


# --- the outputs of a command -----------------------------------------------------------------------------------------


@pytest.fixture
def no_scoring(monkeypatch):
    def fail(*given, **more):
        raise AssertionError("the files were not checked before scoring")

    for name in (
        "spanscore.commands.score_files",
        "spanscore.commands.read_systems",
        "spanscore.validation.check_file",
    ):
        monkeypatch.setattr(name, fail)


def outputs_of(command):
    return ("--json", "--html", "--errors", "--per-document") if command == "aste" else ("--json",)


@pytest.mark.parametrize("command", ["aste", "compare aste", "runs aste", "validate aste"])
def test_an_output_is_no_input(command, tmp_path, gold, capsys, no_scoring):
    (tmp_path / "link").symlink_to(gold)
    os.link(gold, tmp_path / "hard link")
    (tmp_path / "folder").symlink_to(tmp_path)
    files = {
        "aste": [gold, gold],
        "compare aste": [gold, gold, gold],
        "runs aste": [gold, "--references", gold],
        "validate aste": [gold],
    }[command]
    for option in outputs_of(command):
        for output in (gold, tmp_path / "link", tmp_path / "hard link", tmp_path / "folder" / "gold.txt"):
            error = error_of(capsys, *command.split(), *files, option, output)
            assert error == f"error: {option}: {output} is an input too, expected another file"
    assert gold.read_text() == GOLD


def test_files_of_options_are_inputs_too(tmp_path, gold, capsys, no_scoring):
    (tmp_path / "other").write_text("[]")
    for benchmark, option, value in (
        ("docred", "--train", tmp_path / "other"),
        ("docred", "--groups", f"@{tmp_path / 'other'}"),
        ("propsegment", "--clusters", tmp_path / "other"),
    ):
        error = error_of(capsys, benchmark, gold, gold, option, value, "--json", tmp_path / "other")
        assert "is an input too" in error
    given = ("validate", "aste", gold, "--references", tmp_path / "other", "--json", tmp_path / "other")
    assert "is an input too" in error_of(capsys, *given)


def test_two_outputs_are_two_files(tmp_path, gold, capsys, no_scoring):
    (tmp_path / "folder").symlink_to(tmp_path)
    (tmp_path / "there").write_text("before")
    for first, second in (("new", "new"), ("new", "folder/new"), ("there", "folder/there")):
        error = error_of(capsys, "aste", gold, gold, "--json", tmp_path / first, "--html", tmp_path / second)
        assert error == f"error: --json and --html: both are {tmp_path / second}, expected two files"
    assert cli.main(["aste", str(gold), str(gold), "--json", "-", "--errors", "-"]) == 2


def test_outputs_that_cannot_be_written_are_found_before_scoring(tmp_path, gold, capsys, no_scoring, monkeypatch):
    for option in outputs_of("aste"):
        assert "Is a directory" in error_of(capsys, "aste", gold, gold, option, tmp_path)
        assert "No such file" in error_of(capsys, "aste", gold, gold, option, tmp_path / "no" / "x")
        with monkeypatch.context() as patch:
            patch.setattr(os, "access", lambda path, mode: not mode & os.W_OK)
            assert "Permission denied" in error_of(capsys, "aste", gold, gold, option, tmp_path / "x")


def test_several_outputs_may_be_nothing(gold, capsys):
    assert cli.main(["aste", str(gold), str(gold), "--json", "/dev/null", "--errors", "/dev/null", "--csv"]) == 0
    assert "f1" in capsys.readouterr().out


# --- the process ------------------------------------------------------------------------------------------------------


def shell(words, **more):
    """The exit code, standard output and standard error of a shell command in which PROGRAM is the program."""
    command = words.replace("PROGRAM", f"{sys.executable} -m spanscore")
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, **more)
    return done.returncode, done.stdout, done.stderr


def test_standard_output_under_another_name(gold, tmp_path):
    code, out, _ = shell(f"PROGRAM aste {gold} {gold} --json /dev/stdout")
    assert code == 0 and json.loads(out)["f1"] == 100
    code, out, _ = shell(f"PROGRAM aste {gold} {gold} --json {tmp_path}/out > {tmp_path}/out")
    assert code == 0 and json.loads((tmp_path / "out").read_text())["f1"] == 100
    code, out, err = shell(f"PROGRAM aste {gold} {gold} --json /dev/stdout --csv")
    assert code == 2 and out == "" and "cannot share standard output" in err
    code, out, _ = shell(f"PROGRAM aste {gold} {gold} --csv --json >(cat > {tmp_path}/json); sleep 1")
    assert json.loads((tmp_path / "json").read_text())["f1"] == 100 and "f1" in out


@pytest.mark.parametrize("form", ["", "--csv", "--markdown", "--json -"])
def test_standard_output_that_takes_nothing(form, gold):
    for command in (f"aste {gold} {gold} {form}", f"compare aste {gold} {gold} {gold} --n-resamples 5 {form}"):
        code, _, err = shell(f"PROGRAM {command} > /dev/full")
        assert code == 2 and err.splitlines()[-1] == "error: standard output: No space left on device"
        code, _, err = shell(f"PROGRAM {command} >&-")
        assert code == 2 and err.splitlines()[-1].startswith("error: standard output: closed")
        assert "Traceback" not in err and "Exception" not in err


def test_help_and_validation_into_a_full_disk(tmp_path):
    (tmp_path / "wrong").write_text("x####[\n" * 3)
    for command in ("--help", "aste --help", f"validate aste {tmp_path / 'wrong'}"):
        code, _, err = shell(f"PROGRAM {command} > /dev/full")
        assert code == 2 and err.startswith("error: ") and len(err.splitlines()) == 1


def test_a_closed_pipe_ends_the_program_quietly(gold):
    code, _, err = shell(
        f"set -o pipefail; PROGRAM aste {gold} {gold} --json - --confidence --groups '[1,1,1,1,1]' | true"
    )
    assert code == 0 and len(err.splitlines()) == 2
    code, _, err = shell("set -o pipefail; PROGRAM aste --help | head -1")
    assert (code, err) == (0, "")


def test_messages_that_nobody_can_read(gold):
    for end in ("2>&-", "2>/dev/full"):
        code, out, _ = shell(f"PROGRAM aste {gold} {gold} --json - {end}")
        assert code == 0 and json.loads(out)["f1"] == 100


def test_output_is_utf8_in_every_locale(tmp_path):
    path = tmp_path / "gold.txt"
    path.write_text("das café ist groß####[([1], [3], 'POS')]\n", encoding="utf-8")
    environment = {**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    code, out, _ = shell(f"PROGRAM aste {path} {path} --kinds | cat", env=environment, encoding="utf-8")
    assert code == 0 and "100.00" in out


@pytest.fixture
def interrupts_are_heard():
    """The default handler of interrupts, here and in child processes; a shell's background jobs ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def interrupted(arguments, wait):
    """Interrupt the program some seconds after it begins; return its code, its messages and its seconds."""
    script = "import sys; from spanscore.cli import main; print('ready', file=sys.stderr, flush=True); sys.exit(main())"
    process = subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stderr.readline() == b"ready\n"
    began = time.monotonic()
    if wait is not None:
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    return process.returncode, err.decode(), time.monotonic() - began


def test_an_interrupt_is_one_line_at_any_moment(interrupts_are_heard, gold):
    given = ["aste", gold, gold, "--json", "-"]
    code, _, seconds = interrupted(given, None)
    assert code == 0
    codes = []
    for part in range(8):
        code, err, _ = interrupted(given, 0.05 + seconds * part / 8)
        assert "Traceback" not in err and "Exception" not in err and code in (0, 130), (code, err)
        assert code == 0 or err.splitlines()[-1] == "interrupted"
        codes.append(code)
    assert codes[0] == 130


def test_an_interrupt_that_a_library_swallows(interrupts_are_heard, monkeypatch, capsys, gold):
    noted = []
    monkeypatch.setattr(cli, "_note_interrupts", lambda: noted)
    monkeypatch.setattr(sys, "argv", ["spanscore", "aste", str(gold), str(gold)])
    monkeypatch.setattr(cli, "_leave", lambda code: None)

    def score(*given):
        noted.append(signal.SIGINT)
        raise ImportError("numpy failed to import")

    monkeypatch.setattr("spanscore.commands.score_files", score)
    assert cli.main() == 130 and capsys.readouterr().err == "interrupted\n"
    monkeypatch.setattr("spanscore.commands.score_files", lambda *given: os.kill(os.getpid(), signal.SIGINT))
    assert cli.main(["aste", str(gold), str(gold)]) == 130 and capsys.readouterr().err == "interrupted\n"


def test_a_terminal_gets_no_control_characters(monkeypatch):
    main, side = pty.openpty()
    with os.fdopen(side, "w") as screen:
        monkeypatch.setattr(sys, "stdout", screen)
        terminal.write_output("-", "a\x1b[31mb c\x9b\nd")
        monkeypatch.undo()
    assert os.read(main, 100).replace(b"\r\n", b"\n") == rb"a\x1b[31mb c\x9b" + b"\nd"
    os.close(main)


def test_halves_of_surrogate_pairs_are_written_as_json_escapes_them(tmp_path):
    terminal.write_json(str(tmp_path / "x.json.gz"), {"a": "\ud83d"})
    assert json.loads(gzip.decompress((tmp_path / "x.json.gz").read_bytes())) == {"a": "\ud83d"}
