"""The Spaces as they are built: their files, their cards, and loading them from a server that stands in for the Hub."""

import importlib.metadata
import re
import sys

import pytest
from conftest import ROOT
from hub import load_from, result_of

import publish
from spanscore.benchmarks import BENCHMARKS
from spanscore.examples import all_examples

EXAMPLES = all_examples()
NAMES = [f"{example.benchmark.name}-{example.title}" for example in EXAMPLES]


# --- building ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_space_holds_what_it_needs_and_nothing_of_the_other_metrics(built, name):
    files = publish.local_files(built / f"{name}_metric")
    assert {"app.py", "README.md", "requirements.txt", "LICENSE", f"{name}_metric.py", f"{name}_records.py"} <= set(
        files
    )
    assert {
        "matching.py",
        "spanscore/pages.py",
        "spanscore/templates/page.html",
        f"examples/{name}/examples.json",
    } <= set(files)
    others = [path for path in files if any(other in path for other in BENCHMARKS if other != name)]
    assert not others
    assert not any("cli" in path or "commands" in path or "test" in path for path in files)
    for path, file in files.items():
        if path.endswith(".py"):
            assert file.read_bytes() == (ROOT / path).read_bytes()


def test_a_build_is_the_same_each_time_and_replaces_an_earlier_one(built, tmp_path):
    folder = tmp_path / "aste_metric"
    publish.build("aste", folder)
    (folder / ".git").mkdir()
    (folder / "stale.py").write_text("old")
    publish.build("aste", folder)
    ours, theirs = (publish.local_files(place) for place in (folder, built / "aste_metric"))
    assert {path: file.read_bytes() for path, file in ours.items()} == {
        path: file.read_bytes() for path, file in theirs.items()
    }
    assert (folder / ".git").is_dir()
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.tex").write_text("my work")
    with pytest.raises(
        publish.PublishError, match=r"is no Space of aste, expected an empty folder or an earlier build$"
    ):
        publish.build("aste", mine)
    assert (mine / "thesis.tex").read_text() == "my work"


@pytest.mark.parametrize("name", BENCHMARKS)
def test_the_card_begins_with_the_settings_of_the_space(built, name):
    import yaml

    text = (built / f"{name}_metric/README.md").read_text()
    _, settings, card = text.split("---\n", 2)
    assert card.strip() == (ROOT / f"spaces/{name}_metric/README.md").read_text().strip()
    settings = yaml.safe_load(settings)
    pins = dict(re.findall(r"^(\w+)==(\S+)$", (built / f"{name}_metric/requirements.txt").read_text(), re.MULTILINE))
    assert settings["sdk"] == "gradio" and settings["sdk_version"] == pins["gradio"]
    assert settings["app_file"] == "app.py" and settings["tags"] == ["evaluate", "metric"]
    assert settings["license"] == "apache-2.0" and settings["python_version"] == publish.PYTHON_VERSION
    assert len(settings["short_description"]) <= 60 and settings["description"]
    assert re.fullmatch(r"\W+", settings["emoji"])
    colours = {"red", "yellow", "green", "blue", "indigo", "purple", "pink", "gray"}
    assert {settings["colorFrom"], settings["colorTo"]} <= colours
    assert ("lxml" in pins) == (name == "sentivent")


def test_the_pinned_versions_are_the_tested_ones():
    pins = re.findall(
        r"^([\w-]+)==([\w.]+)(; python_version >= \"(3\.\d+)\")?$", publish.PINS.read_text(), re.MULTILINE
    )
    assert len(pins) >= 10
    if sys.version_info[:2] == tuple(map(int, publish.PYTHON_VERSION.split("."))):
        installed = {package: importlib.metadata.version(package) for package, _, _, _ in pins}
        assert installed == {package: version for package, version, _, _ in pins}
    # All packages that the files of a Space import have a pin.
    packages = set().union(*(publish.source_files(name)[1] for name in BENCHMARKS))
    own = {path.stem for path in ROOT.glob("*.py")} | {"spanscore"}
    # The name of a package may be that of its module with an addition.
    named = {re.sub("-python$", "", package).replace("-", "_") for package, _, _, _ in pins}
    assert packages - set(sys.stdlib_module_names) - own <= named


@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_a_built_space_loads_from_the_hub_with_an_empty_cache(built, hub, example, tmp_path):
    name = example.benchmark.name
    space = hub.add(f"someone/{name}_metric", built / f"{name}_metric")
    assert load_from(hub, example, tmp_path) == result_of(example)
    assert list(tmp_path.rglob(f"{name}_metric.py"))
    # A version stays what it is, whatever comes later.
    space.tags[publish.tag_of(name)] = space.branches["main"]
    space.commit({f"{name}_metric.py": b"raise SystemExit('another version')"})
    assert load_from(hub, example, tmp_path, revision=publish.tag_of(name)) == result_of(example)
