"""The package as people install it: what a wheel holds, how it runs elsewhere, and what it needs."""

import ast
import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from conftest import ROOT

import spanscore
from spanscore.benchmarks import BENCHMARKS

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib  # which pytest needs there

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXAMPLE = [str(ROOT / f"examples/aste/{side}.txt") for side in ("predictions", "references")]


def build(source, target, folder):
    """Build a wheel or an sdist, without network."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    done = subprocess.run(command, cwd=source, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.iterdir()
    return path


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))


def contents(path):
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name) for name in file.namelist()}


def imported_files(script):
    """The files beside a metric script that it imports, and those that they import."""
    found, left = set(), {script}
    while left:
        name = left.pop()
        found.add(name)
        imports = re.findall(r"^\s*from \.(\w+) import", (ROOT / name).read_text(), re.MULTILINE)
        left |= {f"{module}.py" for module in imports} - found
    return found


def test_the_wheel_has_all_files_of_the_metrics(wheel):
    held = contents(wheel)
    scripts = [path.name for path in ROOT.glob("*_metric.py")]
    needed = set().union(*map(imported_files, scripts))
    assert {name.removesuffix("_metric.py") for name in scripts} == set(BENCHMARKS) and "matching.py" in needed
    missing = [name for name in sorted(needed) if f"spanscore/metrics/{name}" not in held]
    assert not missing, "these files are missing in the list force-include of pyproject.toml"
    for name in needed:
        assert held[f"spanscore/metrics/{name}"] == (ROOT / name).read_bytes()
    metrics = {name.removeprefix("spanscore/metrics/") for name in held if name.startswith("spanscore/metrics/")}
    assert metrics == needed | {"__init__.py"}
    for path in (ROOT / "spanscore").rglob("*"):
        if path.suffix in (".py", ".html"):
            assert held[str(path.relative_to(ROOT))] == path.read_bytes()


def test_the_sdist_builds_the_same_wheel(wheel, tmp_path):
    folders = [tmp_path / name for name in ("sdist", "source", "wheel")]
    for folder in folders:
        folder.mkdir()
    with tarfile.open(build(ROOT, "sdist", folders[0])) as file:
        if hasattr(tarfile, "data_filter"):
            file.extractall(folders[1], filter="data")
        else:
            file.extractall(folders[1])
    (source,) = folders[1].iterdir()
    assert contents(build(source, "wheel", folders[2])) == contents(wheel)


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory):
    folder = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(folder)]
    subprocess.run([*command, str(wheel)], check=True, capture_output=True)
    return folder


USE = """
import json
import spanscore
from spanscore.formats import aste
from spanscore.metrics import matching
from spanscore.comparison import resampling
sides = {side: aste.read(path).records for side, path in zip(("predictions", "references"), PATHS)}
result = spanscore.load("aste").compute(**sides)
print(json.dumps([spanscore.__file__, matching.__file__, resampling.__file__, result["f1"]]))
"""


def elsewhere(folder, *command):
    """Run Python in another folder than the checkout, with a folder of packages on its path."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [sys.executable, *command], cwd=folder.parent, env=environment, capture_output=True, text=True, timeout=120
    )


def test_an_installed_package_runs_in_any_folder(installed):
    done = elsewhere(installed, "-c", USE.replace("PATHS", repr(EXAMPLE)))
    assert done.returncode == 0, done.stderr
    *files, f1 = json.loads(done.stdout)
    assert all(Path(file).is_relative_to(installed) for file in files)
    assert f1 == pytest.approx(45.4545, abs=1e-4)


def test_an_installed_package_has_the_command(installed, tmp_path):
    done = elsewhere(installed, "-m", "spanscore", "aste", *EXAMPLE, "--json", "-", "--html", str(tmp_path / "r.html"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["f1"] == pytest.approx(45.4545, abs=1e-4)
    assert "<html" in (tmp_path / "r.html").read_text()
    help_text = elsewhere(installed, str(installed / "bin" / "spanscore"), "--help").stdout
    assert help_text.startswith("Usage: spanscore ") and "validate" in help_text


# --- what it needs ----------------------------------------------------------------------------------------------------


def test_requirements_are_those_of_the_package():
    requirements = (ROOT / "requirements.txt").read_text().split()
    extras = PROJECT["optional-dependencies"]
    assert PROJECT["dependencies"] == requirements + extras["cli"]
    development = (ROOT / "requirements-dev.txt").read_text().splitlines()
    assert {*extras["cli"], *extras["report"], *extras["xmi"]} <= set(development)


def test_the_version_stands_in_one_place():
    assert "version" in PROJECT["dynamic"]
    assert f"\nversion: {spanscore.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert f"\n## {spanscore.__version__}\n" in (ROOT / "CHANGELOG.md").read_text()


XMI = '<?xml version="1.0"?><x/>'
MISSING = [
    ("jinja2", ["aste", *EXAMPLE, "--html", "-"], "reports need jinja2: pip install 'spanscore[report]'"),
    ("lxml", ["sentivent", "x.xmi", "x.xmi"], "XMI files need lxml: pip install 'spanscore[xmi]'"),
    ("rich", ["aste", *EXAMPLE], "commands need rich: pip install 'spanscore[cli]'"),
    ("click", ["--help"], "commands need click: pip install 'spanscore[cli]'"),
]


@pytest.mark.parametrize(("package", "arguments", "words"), MISSING)
def test_a_missing_package_is_one_line_and_code_two(package, arguments, words, tmp_path):
    (tmp_path / "x.xmi").write_text(XMI)
    # Packages that spanscore itself needs may import the optional one too, so they come first.
    script = f"""
import sys
import evaluate, datasets
for name in [name for name in sys.modules if name.partition(".")[0] == {package!r}]:
    del sys.modules[name]
sys.modules[{package!r}] = None
from spanscore.cli import main
sys.exit(main({arguments!r}))
"""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.splitlines()[-1] == f"error: {words}" and "Traceback" not in done.stderr


def test_help_imports_nothing_heavy():
    script = """
import sys
from spanscore.cli import main
main(["--help"])
heavy = ("numpy", "scipy", "pyarrow", "evaluate", "datasets", "rich", "jinja2", "lxml")
print(sorted(set(heavy) & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


# --- names ------------------------------------------------------------------------------------------------------------


def test_unknown_metrics_are_named():
    with pytest.raises(ValueError, match=f"^name: 'bleu' is not one of {', '.join(sorted(BENCHMARKS))}$"):
        spanscore.load("bleu")


def test_no_function_has_the_name_of_a_module():
    files = list((ROOT / "spanscore").rglob("*.py"))
    modules = {path.stem for path in files} | {path.name for path in (ROOT / "spanscore").iterdir() if path.is_dir()}
    modules |= {path.stem for path in ROOT.glob("*.py")}
    modules -= {"__init__", "__main__"}
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                assert node.name not in modules, f"{node.name} in {path}"


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_all_formats_have_one_interface(benchmark, tmp_path):
    import importlib
    import inspect

    formats = importlib.import_module(f"spanscore.formats.{benchmark}")
    reading, writing = (list(inspect.signature(f).parameters.values()) for f in (formats.read, formats.write))
    assert [parameter.name for parameter in reading[:2]] == ["source", "format"] and reading[1].default == "auto"
    assert all(parameter.default is not parameter.empty for parameter in reading[1:])
    assert [parameter.name for parameter in writing] == ["path", "records", "format"]
    (path,) = (ROOT / "examples" / benchmark).glob("references.*")
    corpus, name = formats.read(path), path.name
    assert corpus.format in formats.FORMATS and corpus.records and corpus.unparsed == []
    formats.write(tmp_path / name, corpus.records)
    assert formats.read(tmp_path / name).records == corpus.records
