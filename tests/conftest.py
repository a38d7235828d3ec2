"""What tests share: the benchmark files where they are at hand, predictions made from them, and loaded metrics."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

# Before evaluate is imported: its caches, away from the user's and from each other's.
_HOME = tempfile.mkdtemp(prefix="metrics-test-")
os.environ.update(HF_HOME=_HOME, HF_UPDATE_DOWNLOAD_COUNTS="0", HF_HUB_DISABLE_TELEMETRY="1", HF_DATASETS_OFFLINE="1")

import evaluate  # noqa: E402
import hypothesis  # noqa: E402
import pytest  # noqa: E402

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared"
DATA = Path(os.environ.get("BENCHMARK_DATA", SHARED / "data"))

evaluate.utils.logging.set_verbosity_error()
# Machines are shared: how long an example takes says nothing.
hypothesis.settings.register_profile("shared", deadline=None)
hypothesis.settings.load_profile("shared")


def load(name: str, config_name: str | None = None, **kwargs: Any) -> Any:
    """The metric `name` through `evaluate.load`, from its file."""
    return evaluate.load(str(ROOT / f"{name}_metric.py"), config_name, **kwargs)


def start_browser(width: int = 1300, height: int = 1800) -> Any:
    """A headless Chromium, or a skipped test."""
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if chromium is None or driver is None:
        pytest.skip("Chromium and its driver are not installed; `make browser` does it on Debian, as root")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    switches = "headless=new no-sandbox disable-dev-shm-usage disable-gpu disable-quic no-first-run disable-sync"
    for switch in (*switches.split(), "disable-background-networking", "disable-component-update"):
        options.add_argument(f"--{switch}")
    options.add_argument(f"--window-size={width},{height}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of all built Spaces."""
    import publish
    from spanscore.benchmarks import BENCHMARKS

    folder = tmp_path_factory.mktemp("built")
    for name in BENCHMARKS:
        publish.build(name, folder / f"{name}_metric")
    return folder


@pytest.fixture(scope="session")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """From a benchmark to its scored files and their analysis; `extra` are arguments of the command."""
    from reports_of import GOLD  # type: ignore[import-not-found]  # the tests are no package

    from spanscore import analysis
    from spanscore.benchmarks import BENCHMARKS
    from spanscore.options import given_options
    from spanscore.scoring import score_files

    folder = tmp_path_factory.mktemp("report")
    made: dict[Any, Any] = {}

    def make(name: str, records: Any = None, **extra: Any) -> Any:
        key = name, json.dumps(extra, sort_keys=True)
        if records is None and key in made:
            return made[key]
        benchmark = BENCHMARKS[name.partition("-")[0]]
        if records is not None or benchmark.name == "sentivent":
            both = records or json.loads(perturbed(name, 30, 1))
            paths = [folder / f"{name}-{side}.jsonl" for side in ("predictions", "references")]
            for path, side in zip(paths, ("predictions", "references"), strict=True):
                path.write_text("".join(json.dumps(record) + "\n" for record in both[side]))
        else:
            gold = benchmark_file(GOLD[name])
            paths = [folder / f"{name}.json", gold]
            paths[0].write_text(perturbed(name, gold, 1))
        options = {**given_options(benchmark, extra), "per_document": True, "return_errors": True}
        found = score_files(benchmark, str(paths[0]), str(paths[1]), extra, options)
        result = found, analysis.analyse(found)
        if records is None:
            made[key] = result
        return result

    return make


@pytest.fixture(scope="session")
def hostile(scored: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of records whose text is HTML, script and marks of other kinds."""
    from reports_of import hostile_records

    from spanscore import pages

    path = tmp_path_factory.mktemp("hostile") / "report.html"
    path.write_text(pages.report_page(*scored("aste", hostile_records(100_000))), encoding="utf-8")
    return path


@pytest.fixture
def hub() -> Any:
    """A server that stands in for the Hub; see `hub.Hub`."""
    import hub  # type: ignore[import-not-found]  # the tests are no package

    with hub.running() as found:
        yield found


def read_terminal(descriptor: int) -> str:
    """All that a program has written to a terminal, whose other side is closed."""
    chunks = []
    while True:
        try:
            chunk = os.read(descriptor, 65536)
        except OSError:
            break
        if not chunk:
            break
        chunks.append(chunk)
    os.close(descriptor)
    return b"".join(chunks).decode()


def looks_like_a_mask(span: Any) -> bool:
    """Whether a span holds nothing but 0 and 1, with repeats. Metrics refuse such spans."""
    return set(span) <= {0, 1} and len(set(span)) < len(span)


def benchmark_file(name: str) -> Path:
    """A file of the benchmarks, or a skipped test."""
    path = DATA / name
    if not path.exists():
        pytest.skip(f"the benchmark file {name} is not at hand; BENCHMARK_DATA names the folder")
    return path


def expected(seed: int = 1) -> Any:
    """What scores must come out on predictions made with a seed."""
    path = DATA.parent / "expected" / f"seed{seed}.json"
    if not path.exists():
        pytest.skip("the expected figures are not at hand")
    return json.loads(path.read_text())


@cache
def perturbed(benchmark: str, source: object, seed: int = 1) -> str:
    """The output of the script that makes imperfect predictions from gold, as text."""
    script = DATA.parent / "tools" / "perturb.py"
    if not script.exists():
        pytest.skip("the script that makes predictions is not at hand")
    command = [sys.executable, str(script), benchmark, str(source), str(seed)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
