"""Build the Spaces of the metrics, upload them to the Hugging Face Hub, and build the package.

``python publish.py --output DIR`` builds a folder for each metric: its script with all files that it imports, the web
demo, a card, requirements and examples. ``--user NAME`` uploads the folders as Spaces ``NAME/<name>_metric`` and gives
each the tag ``<name>-<version>``. A tag never moves: other files under a published version are an error.

Nothing that is printed holds a token. Where standard output is a closed pipe, the work goes on without words.
"""

from __future__ import annotations

import ast
import difflib
import hashlib
import io
import logging
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import redirect_stderr
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TextIO
from urllib.parse import quote, unquote, urlsplit

import click

import spanscore
from spanscore.benchmarks import BENCHMARKS
from spanscore.formats.writing import write_bytes

ROOT = Path(__file__).resolve().parent
PINS = ROOT / "spaces" / "requirements.txt"
# A version of Python that the pinned packages run on, and that they are tested with.
PYTHON_VERSION = "3.11"
_COLOURS = {"aste": ("yellow", "green"), "docred": ("blue", "indigo"), "propsegment": ("purple", "pink")}
_EMOJI = {"aste": "💬", "docred": "🕸️", "propsegment": "✂️", "sentivent": "📈"}
# The Hub makes this file in each Space.
_OF_THE_HUB = ".gitattributes"


class PublishError(click.ClickException):
    """Nothing was published. The message is one line."""

    exit_code = 2


# --- what is printed --------------------------------------------------------------------------------------------------


class Output:
    """Standard output or standard error, with ``***`` for secrets. No words are written to a closed pipe.

    Parameters
    ----------
    stream : file

    Attributes
    ----------
    secrets : set of str
        Those of all streams.

    Raises
    ------
    PublishError
        Standard output cannot be written, such as on a full disk.
    """

    secrets: set[str] = set()

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text without secrets."""
        for secret in sorted(self.secrets, key=len, reverse=True):
            text = text.replace(secret, "***")
        # Click tries whether a stream takes text, or bytes, with an empty one, and hides the error.
        if text != "":
            self._try(self._stream.write, text)
        return len(text)

    def flush(self) -> None:
        """Write what is left."""
        self._try(self._stream.flush)

    def _try(self, work: Callable[..., Any], *given: str) -> None:
        try:
            work(*given)
        except OSError as error:
            # Python writes what is left once more at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())
            if self._stream is sys.__stdout__ and not isinstance(error, BrokenPipeError):
                raise PublishError(f"standard output: {error.strerror}") from None


def forms_of(secrets: Iterable[str]) -> set[str]:
    """All forms in which secrets may stand in an address."""
    return {
        form
        for one in secrets
        if one
        for form in (one, unquote(one), quote(one, safe=""), quote(unquote(one), safe=""))
    }


def secrets_of(environment: Mapping[str, str]) -> set[str]:
    """Find the tokens in environment variables, also in the address of the Hub, which may be a wrong one."""
    secrets = {environment.get(name, "").strip() for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")}
    before, at, _ = environment.get("HF_ENDPOINT", "").rpartition("@")
    if at:
        given = before.partition("//")[2] or before
        # A short name by itself is no token, and stands in other words.
        secrets |= {given + at, *(part for part in given.split(":", 1) if len(part) >= 8)}
    return forms_of(secrets)


def check_endpoint() -> None:
    """Raise a PublishError if the address of the Hub is none. Libraries would print a part of it."""
    try:
        address = urlsplit(os.environ.get("HF_ENDPOINT", ""))
        _ = address.hostname, address.port
    except ValueError:
        raise PublishError("HF_ENDPOINT: is no address, expected one such as https://huggingface.co") from None


# --- what a Space consists of -----------------------------------------------------------------------------------------


def imported_modules(path: Path) -> Iterator[tuple[str, str | None]]:
    """Yield what a file imports, also inside functions: the module, and a name in it, which may be a module too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            # Only files at the root have relative imports, of files beside them.
            module = f"spanscore.metrics.{node.module}" if node.level else str(node.module)
            yield from ((module, alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "optional_package":
            yield from ((str(arg.value), None) for arg in node.args[:1] if isinstance(arg, ast.Constant))


def _files_of(module: str, name: str | None) -> list[Path]:
    """The files of a module of the project and of the packages that it is in; none for another module."""
    if module.split(".")[0] != "spanscore":
        return []
    files = []
    for dotted in (module, f"{module}.{name}"):
        parts = dotted.split(".")
        files += [ROOT.joinpath(*parts[:end], "__init__.py") for end in range(1, len(parts) + 1)]
        files.append(ROOT.joinpath(*parts).with_suffix(".py"))
        if parts[:2] == ["spanscore", "metrics"] and len(parts) > 2:
            files.append(ROOT / f"{parts[2]}.py")
    return [path for path in files if path.is_file()]


def source_files(name: str) -> tuple[set[Path], set[str]]:
    """Find all Python files of a Space, and the packages of others that they import.

    Parameters
    ----------
    name : str
        The name of the benchmark.

    Returns
    -------
    files : set of pathlib.Path
    packages : set of str
        The names by which they are imported, such as ``"lxml"``.
    """
    # The last two are imported by the name of the benchmark.
    left = [
        ROOT / file for file in ("app.py", f"{name}_metric.py", f"{name}_records.py", f"spanscore/formats/{name}.py")
    ]
    files: set[Path] = set()
    packages: set[str] = set()
    while left:
        path = left.pop()
        if path in files:
            continue
        files.add(path)
        for module, imported in imported_modules(path):
            packages.add(module.split(".")[0])
            left += _files_of(module, imported)
    return files, packages


def requirements(packages: set[str], of_others: set[str]) -> str:
    """Write the requirements of a Space: all pins but those of packages that only other Spaces import."""
    lines = []
    for line in PINS.read_text(encoding="utf-8").splitlines():
        package = re.split(r"[=;]", line)[0].strip()
        if line.strip() and not line.startswith("#") and (package in packages or package not in of_others):
            lines.append(line.split(";")[0].strip())
    return "\n".join(lines) + "\n"


def pinned_version(package: str) -> str:
    """Return the pinned version of a package."""
    found = re.search(rf"^{package}==([\w.]+)", PINS.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    return found[1]


@cache
def metric_of(name: str) -> Any:
    """Load a metric, for its version, description and licence."""
    return spanscore.load(name)


def tag_of(name: str) -> str:
    """The tag of a metric's version. It is no ``v<number>``, since evaluate loads such tags without being asked."""
    return f"{name}-{metric_of(name).definition.version}"


def front_matter(name: str) -> str:
    """Write the settings of a Space, which stand at the top of its card."""
    benchmark = BENCHMARKS[name]
    first, second = _COLOURS.get(name, ("gray", "blue"))
    metric = metric_of(name)
    lines = {
        "title": f"{benchmark.heading} metric",
        "emoji": _EMOJI.get(name, "📏"),
        "colorFrom": first,
        "colorTo": second,
        "sdk": "gradio",
        "sdk_version": pinned_version("gradio"),
        "python_version": f'"{PYTHON_VERSION}"',
        "app_file": "app.py",
        "pinned": "false",
        "license": metric.license.lower(),
        "tags": "[evaluate, metric]",
        "short_description": f'"Official scores for {benchmark.heading}"',
        "description": f">-\n  {' '.join(metric.description.split())}",
    }
    return "---\n" + "".join(f"{key}: {value}\n" for key, value in lines.items()) + "---\n\n"


def build(name: str, folder: Path) -> None:
    """Build the Space of a metric.

    Parameters
    ----------
    name : str
        The name of the benchmark.
    folder : pathlib.Path
        It is made. What an earlier build made there is replaced.

    Raises
    ------
    PublishError
        The folder holds something else than a Space of this metric.
    """
    # Hidden files stay: the folder may be a clone of the Space.
    present = [path for path in folder.glob("*") if not path.name.startswith(".")]
    if present and not (folder / f"{name}_metric.py").is_file():
        raise PublishError(f"{folder}: is no Space of {name}, expected an empty folder or an earlier build")
    for path in present:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    files, packages = source_files(name)
    card = ROOT / "spaces" / f"{name}_metric"
    for path in (*files, *_below("spanscore/templates"), *_below(f"examples/{name}"), ROOT / "LICENSE"):
        _copy(path, folder / path.relative_to(ROOT))
    for path in _below(f"spaces/{name}_metric"):
        _copy(path, folder / path.relative_to(card))
    text = (card / "README.md").read_text(encoding="utf-8")
    write_bytes(folder / "README.md", (front_matter(name) + text).encode())
    others = set().union(*(source_files(other)[1] for other in BENCHMARKS if other != name))
    write_bytes(folder / "requirements.txt", requirements(packages, others).encode())


def _below(folder: str) -> list[Path]:
    return list(local_files(ROOT / folder).values())


def _copy(path: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    # An error of shutil.copyfile names the file that is read, also where the other one cannot be written.
    write_bytes(to, path.read_bytes())


# --- the Hub ----------------------------------------------------------------------------------------------------------


class Changes(NamedTuple):
    """How a built Space differs from a revision on the Hub.

    Attributes
    ----------
    added, changed, deleted : list of str
        Paths of files.
    """

    added: list[str]
    changed: list[str]
    deleted: list[str]

    def __bool__(self) -> bool:
        """Whether there is any difference."""
        return any(self)

    def __str__(self) -> str:
        """Name some of the files."""
        files = [*self.added, *self.changed, *self.deleted]
        return ", ".join(files[:5]) + (f" and {len(files) - 5} more" if len(files) > 5 else "")


class Plan(NamedTuple):
    """What is to be done with a Space.

    Attributes
    ----------
    repo, tag : str
    folder : pathlib.Path
    exists : bool
        Whether the Space is there.
    is_published : bool
        Whether the tag is there, with the same files.
    changes : Changes
        From the main branch to the folder.
    """

    repo: str
    tag: str
    folder: Path
    exists: bool
    is_published: bool
    changes: Changes


def local_files(folder: Path) -> dict[str, Path]:
    """All files of a built Space by their paths in it, without hidden ones and without caches of Python."""
    found = {path.relative_to(folder): path for path in sorted(folder.rglob("*")) if path.is_file()}
    return {
        path.as_posix(): file
        for path, file in found.items()
        if "__pycache__" not in path.parts and not any(part.startswith(".") for part in path.parts)
    }


def compare(folder: Path, remote: Iterable[Any]) -> Changes:
    """Compare a built Space with the files of a revision, by their hashes.

    Parameters
    ----------
    folder : pathlib.Path
    remote : iterable of huggingface_hub.hf_api.RepoFile or RepoFolder
    """
    theirs = {item.path: item for item in remote if hasattr(item, "blob_id") and item.path != _OF_THE_HUB}
    ours = local_files(folder)
    changed = [path for path in ours if path in theirs and not _is_same(ours[path].read_bytes(), theirs[path])]
    return Changes(
        [path for path in ours if path not in theirs], changed, [path for path in theirs if path not in ours]
    )


def _is_same(data: bytes, remote: Any) -> bool:
    if remote.lfs is not None:
        return bool(hashlib.sha256(data).hexdigest() == remote.lfs.sha256)
    # The hash of a file in git.
    return bool(hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest() == remote.blob_id)


def plan(api: Any, user: str, name: str, folder: Path) -> Plan:
    """Find what is to be done with a Space. Nothing is written.

    Raises
    ------
    PublishError
        Other files are published under this version.
    """
    from huggingface_hub.errors import RepositoryNotFoundError

    repo, tag = f"{user}/{name}_metric", tag_of(name)
    try:
        refs = api.list_repo_refs(repo, repo_type="space")
    except RepositoryNotFoundError:
        return Plan(repo, tag, folder, False, False, compare(folder, []))

    def changes(revision: str) -> Changes:
        return compare(folder, api.list_repo_tree(repo, repo_type="space", revision=revision, recursive=True))

    is_published = any(one.name == tag for one in refs.tags)
    if is_published and (different := changes(tag)):
        raise PublishError(
            f"{repo}: {tag} is published with other files ({different}), expected another VERSION in {name}_metric.py"
        )
    return Plan(repo, tag, folder, True, is_published, changes("main"))


def carry_out(api: Any, one: Plan) -> str:
    """Upload a Space in one commit, and set its tag. Returns what was done, in words."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    if one.is_published:
        return f"{one.repo}: {one.tag} is published already"
    if not one.exists:
        api.create_repo(one.repo, repo_type="space", space_sdk="gradio", exist_ok=True)
    revision = "main"
    if one.changes:
        files = local_files(one.folder)
        operations: list[Any] = [
            CommitOperationAdd(path, files[path]) for path in (*one.changes.added, *one.changes.changed)
        ]
        operations += [CommitOperationDelete(path) for path in one.changes.deleted]
        revision = api.create_commit(one.repo, operations, commit_message=one.tag, repo_type="space").oid
    api.create_tag(one.repo, tag=one.tag, revision=revision, repo_type="space")
    return f"{one.repo}: {one.tag} is published"


def show(api: Any, one: Plan) -> Iterator[str]:
    """Yield the lines of what an upload would change."""
    if one.is_published:
        yield f"{one.repo}: {one.tag} is published already"
        return
    yield f"{one.repo}: {'' if one.exists else 'a new Space, '}{one.tag}"
    yield from (f"  added {path}" for path in one.changes.added)
    yield from (f"  deleted {path}" for path in one.changes.deleted)
    files = local_files(one.folder)
    for path in one.changes.changed:
        yield f"  changed {path}"
        with tempfile.TemporaryDirectory() as folder:
            there = Path(api.hf_hub_download(one.repo, path, repo_type="space", local_dir=folder)).read_bytes()
        try:
            old, new = (data.decode().splitlines() for data in (there, files[path].read_bytes()))
        except UnicodeDecodeError:
            continue
        yield from ("    " + line for line in difflib.unified_diff(old, new, "on the Hub", "here", lineterm="", n=1))


def upload(names: Iterable[str], folders: Mapping[str, Path], user: str, dry_run: bool) -> None:
    """Upload built Spaces, or show what that would change.

    All Spaces are compared with the Hub before the first is written.

    Raises
    ------
    PublishError
        There is no token, the Hub refuses, or a version is published with other files.
    OSError
        A file of this machine cannot be read or written.
    """
    from huggingface_hub import HfApi, get_token
    from huggingface_hub.errors import HfHubHTTPError

    token = get_token()
    if token is None and not dry_run:
        raise PublishError("no token, expected one in the variable HF_TOKEN, or from `hf auth login`")
    Output.secrets |= forms_of([token or ""])
    api = HfApi(token=token)
    repo = user
    try:
        plans = []
        for name in names:
            repo = f"{user}/{name}_metric"
            plans.append(plan(api, user, name, folders[name]))
        for one in plans:
            repo = one.repo
            for line in show(api, one) if dry_run else [carry_out(api, one)]:
                click.echo(line)
    except HfHubHTTPError as error:
        words = _REFUSALS.get(error.response.status_code, f"the Hub answers {error.response.status_code}")
        raise PublishError(f"{repo}: {words}") from None
    except Exception as error:
        # Versions of huggingface_hub differ in the library that they send requests with.
        is_of_hub = isinstance(error, OSError) or type(error).__module__.partition(".")[0] in _SENDERS
        if not is_of_hub or _is_of_files(error):
            raise
        raise PublishError(f"{repo}: the Hub cannot be reached ({type(error).__name__})") from None


_SENDERS = ("httpx", "httpx2", "httpcore", "requests")
_REFUSALS = {
    401: "the Hub does not know the token, or there is no such Space",
    403: "the token has no right to write there, expected one with the right to write",
    404: "not found on the Hub",
    409: "the Space was changed meanwhile, expected another try",
    429: "the Hub asks to wait, expected another try later",
}


def _is_of_files(error: Exception) -> bool:
    """Whether the system reports an error of a file, such as a full disk."""
    is_of_system = isinstance(error, OSError) and error.errno is not None and type(error).__module__ == "builtins"
    return is_of_system and not isinstance(error, (ConnectionError, TimeoutError))


# --- the package ------------------------------------------------------------------------------------------------------


def build_package(folder: Path) -> list[Path]:
    """Build the wheel and the source distribution of the package, and return their paths."""
    before = set(folder.glob("*")) if folder.exists() else set()
    command = [sys.executable, "-m", "hatchling", "build", "-d", str(folder.resolve())]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise PublishError(f"hatchling: {lines[-1] if lines else f'ended with {done.returncode}'}")
    return sorted(path for path in folder.glob("spanscore-*") if path not in before or path.suffix in (".whl", ".gz"))


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("names", nargs=-1, type=click.Choice(list(BENCHMARKS)))
@click.option("--output", type=click.Path(path_type=Path), help="The folder to build the Spaces in.")
@click.option("--user", help="The account of the Hub to upload the Spaces to.")
@click.option("--dry-run", is_flag=True, help="With --user: show the differences, and write nothing on the Hub.")
@click.option("--dist", type=click.Path(path_type=Path), help="The folder to build the wheel and the source in.")
def main(names: tuple[str, ...], output: Path | None, user: str | None, dry_run: bool, dist: Path | None) -> None:
    """Build and upload the Spaces of the metrics NAMES (by default of all), and build the package."""
    if output is None and user is None and dist is None:
        raise click.UsageError("nothing to do, expected --output, --user or --dist")
    if dry_run and user is None:
        raise click.UsageError("--dry-run needs --user")
    if user is not None and not re.fullmatch(r"[\w-]+", user, re.ASCII):
        raise click.UsageError(f"--user: {user!r} is not the name of an account")
    check_endpoint()
    chosen = dict.fromkeys(names or BENCHMARKS)
    try:
        if output is not None or user is not None:
            with tempfile.TemporaryDirectory() as temporary:
                folders = {name: (output or Path(temporary)) / f"{name}_metric" for name in chosen}
                for name, folder in folders.items():
                    build(name, folder)
                    if output is not None:
                        click.echo(f"{folder}: {tag_of(name)}, {len(local_files(folder))} files")
                if user is not None:
                    # What libraries log, and their warnings and progress, can hold the address with a token.
                    logging.disable(logging.CRITICAL)
                    with redirect_stderr(io.StringIO()):
                        upload(chosen, folders, user, dry_run)
        if dist is not None:
            for path in build_package(dist):
                click.echo(path)
    except OSError as error:
        raise PublishError(
            f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
        ) from None


def run() -> None:
    """Run the program, with streams that hide secrets."""
    Output.secrets |= secrets_of(os.environ)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not None:
            # Click goes past a stream that is no UTF-8.
            stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")
            setattr(sys, name, Output(stream))
    main()


if __name__ == "__main__":
    run()
