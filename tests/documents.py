"""The documents of the project, and running the blocks of code in them.

A block of a document is run as its language says:

- ``python``: a doctest if it has ``>>>``, else plain code. All blocks of a document share their names. If a block
  ``text`` comes right after, it is what the code prints; otherwise the code prints nothing.
- ``sh``: commands that succeed.
- ``console``: commands after ``$``, each followed by what it prints. A line ``…`` stands for any lines.
- ``json``: it can be read.
- ``text`` and ``bibtex``: not run.

Any other language is an error, so that no block is left out by accident.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import json
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from conftest import ROOT

from spanscore import cli

README = ROOT / "README.md"
# Its code needs a running demo, see `test_demo_api.py`.
DEMO = ROOT / "docs" / "demo.md"
PAGES = sorted((ROOT / "docs").glob("*.md"))
CARDS = sorted((ROOT / "spaces").glob("*/README.md"))
DOCUMENTS = [README, *PAGES, *CARDS]

_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_OUTPUT = re.compile(r"\n+```text\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_FROM_HUB = re.compile(r'"<user>/(\w+)"')
_ANY_LINES = "…"


class Block(NamedTuple):
    """A block of code, its line in the document, and the text block right after it."""

    language: str
    code: str
    line: int
    output: str


def name(document: Path) -> str:
    """The document as tests name it."""
    return str(document.relative_to(ROOT))


def prose(text: str) -> str:
    """A document without its blocks of code."""
    return _BLOCK.sub("", text)


def read_blocks(text: str) -> list[Block]:
    """All blocks of a document."""
    blocks = []
    for found in _BLOCK.finditer(text):
        after = _OUTPUT.match(text, found.end())
        line = text.count("\n", 0, found.start()) + 1
        blocks.append(Block(found[1], found[2], line, after[1] if after else ""))
    return blocks


def copy_checkout(folder: Path) -> None:
    """Copy the parts of the checkout that documents use, so that commands leave nothing in it."""
    for pattern in ("*.py", "*.txt", "pyproject.toml", "README.md", "LICENSE", "Makefile"):
        for path in ROOT.glob(pattern):
            shutil.copy(path, folder)
    for part in ("spanscore", "examples", "spaces"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))


def run_blocks(text: str) -> dict[str, Any]:
    """Run the blocks of a document in the current folder, a copy of the checkout.

    A metric ``"<user>/name"`` of the Hub is loaded from its script.

    Returns
    -------
    dict
        The names that the Python blocks have defined.
    """
    names: dict[str, Any] = {"__name__": "document"}
    for block in read_blocks(_FROM_HUB.sub(r'"\1.py"', text)):
        if block.language == "python":
            (_run_examples if ">>> " in block.code else _run_code)(block, names)
        elif block.language == "sh":
            for command in block.code.replace("\\\n", "").splitlines():
                code, printed = _run_command(command)
                assert code == 0, f"line {block.line}: {command}\n{printed}"
        elif block.language == "console":
            for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block.code, re.MULTILINE):
                _compare(_run_command(command)[1], expected, f"line {block.line}: {command}")
        elif block.language == "json":
            json.loads(block.code)
        else:
            assert block.language in ("text", "bibtex"), f"line {block.line}: a block {block.language!r} would not run"
    return names


def _run_examples(block: Block, names: dict[str, Any]) -> None:
    test = doctest.DocTestParser().get_doctest(block.code, names, f"line {block.line}", None, 0)
    said: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=said.append, clear_globs=False)
    assert not said, "".join(said)
    names |= test.globs


def _run_code(block: Block, names: dict[str, Any]) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.code, f"line {block.line}", "exec"), names)
    _compare(printed.getvalue(), block.output, f"line {block.line}")


def _run_command(command: str) -> tuple[int, str]:
    """The exit code of a command, and all that it prints. What would change the machine is only planned."""
    if command.startswith("spanscore "):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = cli.main(shlex.split(command, comments=True)[1:])
        return code, printed.getvalue()
    command = re.sub(r"^make ", "make --dry-run ", command)
    only_planned = f"{shlex.quote(sys.executable)} -m pip install --dry-run --no-deps --no-build-isolation "
    command = re.sub(r"^pip install ", lambda _: only_planned, command)
    done = subprocess.run(command, shell=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout


def _compare(printed: str, expected: str, place: str) -> None:
    """Compare lines, without regard to white space at their ends."""
    lines = [line.rstrip() for line in printed.rstrip().splitlines()]
    pattern = "".join(
        r"(?:.*\n)*?" if line == _ANY_LINES else re.escape(line.rstrip()) + r"\n"
        for line in expected.rstrip().splitlines()
    )
    assert re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)), f"{place} prints\n{printed}"
