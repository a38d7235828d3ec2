"""The web demo in a browser: examples, uploads, mistakes, comparisons, downloads, looks, and several visitors."""

import json
import re
import subprocess
import sys
import time

import pytest
from conftest import ROOT, load, start_browser

from benchmarks.demo_server import running
from spanscore.benchmarks import BENCHMARKS, formats_of
from spanscore.comparison import compare_systems
from spanscore.examples import all_examples, examples_of

EXAMPLES = all_examples()
NAMES = [f"{example.benchmark.name}-{example.title}" for example in EXAMPLES]
HEADLINES = {"aste": "f1", "docred": "f1", "sentivent": "sentivent_score"}


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    with running(folder, SPANSCORE_DEMO_UPLOAD="3M", SPANSCORE_DEMO_SECONDS="60", SPANSCORE_MAX_SIZE="4M") as found:
        yield found
    assert not found.files() and "Traceback" not in found.log.read_text()
    # Records that a stopped job was counting are deleted with its folder.
    assert list((folder / "home").rglob("*_metric.py")) and not list((folder / "home").rglob("*.arrow"))


class Page:
    """The page in a browser of its own."""

    def __init__(self, server, query="", width=1300, height=1800):
        self.browser = start_browser(width, height)
        self.url = server.url
        self.browser.get(f"{server.url}/?{query}")
        self.wait(lambda: self.element("aste-score"))
        # The files of the example are checked when the page is there.
        self.wait(lambda: "8 records, no problem" in self.text("aste-problems"))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.browser.quit()

    def wait(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while True:
            try:
                if found := condition():
                    return found
                problem = "it stays false"
            except Exception as error:
                problem = error
            assert time.monotonic() < end, problem
            time.sleep(0.1)

    def element(self, name):
        return self.browser.find_element("id", name)

    def text(self, name):
        return self.element(name).text

    def shows(self, name):
        """Whether an element is there and can be seen."""
        return any(one.is_displayed() for one in self.browser.find_elements("id", name))

    def open_tab(self, benchmark):
        heading = BENCHMARKS[benchmark].heading
        (tab,) = (one for one in self.browser.find_elements("css selector", "[role=tab]") if one.text == heading)
        tab.click()
        self.wait(lambda: self.shows(f"{benchmark}-score"))

    def open_part(self, words):
        (part,) = (
            one
            for one in self.browser.find_elements("css selector", "button.label-wrap")
            if one.is_displayed() and words in one.text
        )
        self.click(part)
        time.sleep(0.5)

    def click(self, element):
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def choose_example(self, example):
        name = example.benchmark.name
        box = self.element(f"{name}-example").find_element("css selector", "input")
        if box.get_attribute("value") == example.title:
            return
        self.click(box)
        shown = "//*[@role='option']"
        self.wait(lambda: any(one.is_displayed() for one in self.browser.find_elements("xpath", shown)))
        options = [one for one in self.browser.find_elements("xpath", shown) if one.is_displayed()]
        next(one for one in options if one.text.strip().endswith(example.title)).click()
        self.wait(lambda: self.box(name, "predictions").get_attribute("value") == example.predictions.read_text())

    def box(self, benchmark, slot):
        return self.element(f"{benchmark}-{slot}").find_element("css selector", "textarea, input")

    def write(self, benchmark, slot, text):
        """Put text in a box, in place of all that is there, as pasting does."""
        box = self.box(benchmark, slot)
        command = "execCommand(arguments[1] ? 'insertText' : 'delete', false, arguments[1])"
        script = f"arguments[0].focus(); arguments[0].select(); document.{command}"
        self.browser.execute_script(script, box, text)

    def upload(self, benchmark, slot, path):
        self.element(f"{benchmark}-{slot}-file").find_element("css selector", "input[type=file]").send_keys(str(path))

    def score(self, benchmark="aste", words="interval"):
        before = self.text(f"{benchmark}-status")
        self.click(self.element(f"{benchmark}-score"))
        self.wait(lambda: words in self.text(f"{benchmark}-status") and self.idle(benchmark))
        return before, self.text(f"{benchmark}-status")

    def idle(self, benchmark):
        """Whether no progress is shown."""
        return not self.browser.find_elements("css selector", f"#{benchmark}-status .progress-text")

    def frame(self, benchmark="aste", kind="report"):
        """Enter the report; `browser.switch_to.default_content()` leaves it."""
        frame = self.wait(lambda: self.element(f"{benchmark}-{kind}").find_element("css selector", "iframe"))
        self.browser.switch_to.frame(frame)
        # It is laid out, and can be seen.
        self.wait(lambda: self.browser.find_element("tag name", "h1").is_displayed())

    def leave(self):
        self.browser.switch_to.default_content()

    def code(self, benchmark, kind):
        """The Python or the command that the page shows."""
        if not self.shows(f"{benchmark}-{kind}"):
            self.open_part("The same in Python")
        script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent).join('\\n')"
        return self.browser.execute_script(script, f"#{benchmark}-{kind} .cm-line")

    def complaints(self):
        return [line for line in self.browser.get_log("browser") if line["level"] == "SEVERE"]

    def requests(self):
        """The addresses of all requests of the browser."""
        log = [json.loads(line["message"])["message"] for line in self.browser.get_log("performance")]
        return [line["params"]["request"]["url"] for line in log if line["method"] == "Network.requestWillBeSent"]


@pytest.fixture(scope="module")
def shared(server):
    with Page(server) as found:
        yield found


@pytest.fixture
def page(shared):
    """A page that several tests use, one after the other."""
    yield shared
    shared.leave()


def result_of(example, **options):
    predictions, references = example.read()
    metric = load(example.benchmark.name, example.task)
    return metric.compute(predictions=predictions, references=references, **example.arguments(), **options)


@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_every_example_is_scored(page, example):
    name = example.benchmark.name
    page.open_tab(name)
    page.choose_example(example)
    _, status = page.score(name)
    result = result_of(example, confidence_level=0.95)
    headline = next(place for place in example.benchmark.headlines if place in result)
    value, (low, high) = result[headline], result["confidence_intervals"][headline]
    decimals = 4 if example.benchmark.perfect == 1 else 2
    assert f"{value:.{decimals}f}" in status
    assert f"95 % interval {low:.{decimals}f}".rstrip("0") in status or f"interval {low:.2f}" in status
    assert f"to {high:.{decimals}f}" in status or f"to {high:.2f}" in status
    page.frame(name)
    body = page.browser.find_element("tag name", "body").text
    assert result["signature"] in body and "Documents" in body
    assert len(page.browser.find_elements("css selector", "#list article")) == len(
        result_of(example, per_document=True)["per_document"]
    )
    page.leave()
    assert not page.complaints()


def test_the_page_asks_no_other_server(server):
    with Page(server) as page:
        page.score()
        addresses = {url for url in page.requests() if not url.startswith(("data:", "blob:", "about:", server.url))}
        assert not addresses


def test_a_file_is_uploaded(server, tmp_path):
    example = examples_of(BENCHMARKS["aste"])[0]
    mine = tmp_path / "my predictions.txt"
    mine.write_text(example.second.read_text())
    with Page(server) as page:
        page.upload("aste", "predictions", mine)
        page.wait(lambda: not page.shows("aste-predictions"))
        page.upload("aste", "references", example.references)
        page.wait(lambda: not page.shows("aste-references"))
        _, status = page.score(words="my predictions.txt: format v2")
        assert "81.82" in status
        assert sorted(path.name for path in server.files() if "sessions" in path.parts) == [
            "my predictions.txt",
            "references.txt",
        ]
        assert not [path for path in server.files() if "uploads" in path.parts and path.stat().st_size]
        # Without the file, the text counts again. That of the example is gone.
        for side in ("predictions", "references"):
            (remove,) = page.element(f"aste-{side}-file").find_elements("css selector", "button[aria-label*=lear]")
            page.click(remove)
            page.wait(lambda side=side: page.shows(f"aste-{side}"))
        page.wait(lambda: not [path for path in server.files() if "sessions" in path.parts])
        assert page.box("aste", "predictions").get_attribute("value") == ""
        for side in ("predictions", "references"):
            page.write("aste", side, getattr(example, side).read_text())
        _, status = page.score(words="predictions/pasted")
        assert "45.45" in status


def test_nothing_of_an_example_stays_beside_files_of_the_visitor(server, tmp_path):
    """An option or a training file of the example would change the visitor's figures without a word."""
    by_index = examples_of(BENCHMARKS["docred"])[0]
    with_factuality = examples_of(BENCHMARKS["sentivent"])[1]
    assert by_index.files and with_factuality.options
    with Page(server) as page:
        page.open_tab("docred")
        assert page.text("docred-example") and by_index.files
        page.upload("docred", "predictions", by_index.predictions)
        page.wait(lambda: not page.shows("docred-predictions"))
        page.wait(lambda: page.box("docred", "references").get_attribute("value") == "")
        page.upload("docred", "references", by_index.references)
        page.wait(lambda: not page.shows("docred-references"))
        page.score("docred")
        predictions, references = by_index.read()
        result = load("docred").compute(predictions=predictions, references=references, confidence_level=0.95)
        page.frame("docred")
        assert result["signature"] in page.browser.find_element("tag name", "body").text
        page.leave()
        # Text that is pasted on both sides replaces the example too; on one side it is a try with the example.
        page.open_tab("sentivent")
        page.choose_example(with_factuality)
        predictions, references = (path.read_text() for path in (with_factuality.second, with_factuality.references))
        page.write("sentivent", "predictions", predictions)
        _, status = page.score("sentivent")
        page.frame("sentivent")
        assert "profile:extraction_factuality" in page.browser.find_element("tag name", "body").text
        page.leave()
        page.write("sentivent", "references", references + "\n")
        page.wait(
            lambda: page.element("sentivent-example").find_element("css selector", "input").get_attribute("value") == ""
        )
        page.click(page.element("sentivent-score"))
        page.wait(lambda: page.text("sentivent-status") not in ("", status) and page.idle("sentivent"))
        page.frame("sentivent")
        assert "profile:extraction|" in page.browser.find_element("tag name", "body").text
        page.leave()


def test_all_problems_of_a_file_are_listed_with_their_places(server):
    example = examples_of(BENCHMARKS["aste"])[0]
    text = (
        example.predictions.read_text().replace("'NEG'), ([6]", "'GOOD'), ([6]").replace("[5, 6], [4]", "[5, 99], [4]")
    )
    with Page(server) as page:
        page.write("aste", "predictions", text)
        page.wait(lambda: "3 problems" in page.text("aste-problems"))
        items = [one.text for one in page.element("aste-problems").find_elements("css selector", "li")]
        assert [item.split(" ")[1] for item in items] == ["2", "3", "4"]
        assert all("GOOD is not one of POS, NEG, NEU" in item for item in items[:2])
        assert "[5, 99]" in items[2] or "99" in items[2]
        page.click(page.element("aste-score"))
        page.wait(lambda: "GOOD is not one of" in page.text("aste-status"))
        page.write("aste", "predictions", "nonsense")
        page.wait(lambda: "no format fits" in page.text("aste-problems"))
        page.write("aste", "predictions", "")
        page.wait(lambda: "Predictions" not in page.text("aste-problems"))
        page.click(page.element("aste-score"))
        page.wait(lambda: page.text("aste-status") == "predictions: missing, expected a file or its text")
        page.write("aste", "predictions", "<img src=x onerror=alert(1)>####[([0], [0], '<b>')]")
        page.wait(lambda: "<b>" in page.text("aste-problems"))
        assert not page.element("aste-problems").find_elements("css selector", "img")


def test_files_that_are_too_large_or_damaged_get_a_message(server, tmp_path):
    import gzip

    large, bomb, broken = (tmp_path / name for name in ("large.txt", "bomb.txt.gz", "broken.gz"))
    large.write_bytes(b"x" * (3 * 2**20 + 1))
    bomb.write_bytes(gzip.compress(b"x" * (5 * 2**20)))
    broken.write_bytes(gzip.compress(bytes(range(256)))[:200])
    with Page(server) as page:
        page.upload("aste", "predictions", large)
        page.wait(
            lambda: "exceed the maximum allowed size of 3.0 M" in page.browser.find_element("tag name", "body").text
        )
        assert page.shows("aste-predictions")
        page.upload("aste", "references", bomb)
        page.wait(lambda: "expands to more than 4M" in page.text("aste-problems"))
        page.upload("aste", "predictions", broken)
        page.wait(lambda: "broken.gz" in page.text("aste-problems"))


def test_errors_are_filtered(page):
    page.open_tab("aste")
    page.choose_example(EXAMPLES[0])
    page.score()
    page.frame()
    page.browser.find_element("id", "kind").send_keys("wrong polarity")
    articles = page.browser.find_elements("css selector", "#list article")
    assert len(articles) == 1 and "usual power supply" in articles[0].text.replace("\n", " ")
    page.leave()


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_two_systems_are_compared(page, benchmark, tmp_path):
    page.open_tab(benchmark)
    example = examples_of(BENCHMARKS[benchmark])[0]
    page.choose_example(example)
    if not page.shows(f"{benchmark}-compare"):
        page.open_part("A second system")
        page.wait(lambda: page.shows(f"{benchmark}-compare"))
    page.click(page.element(f"{benchmark}-compare"))
    page.wait(lambda: "The difference is" in page.text(f"{benchmark}-status"))
    predictions, references = example.read()
    second = formats_of(example.benchmark).read(example.second).records
    metric = load(benchmark, example.task)
    (found,) = compare_systems(metric, [predictions, second], references, example.arguments())
    headline = next(place for place in example.benchmark.headlines if place in found)
    assert f"p = {found[headline]['p_value']:.4f}" in page.text(f"{benchmark}-status")
    page.frame(benchmark, "comparison")
    body = page.browser.find_element("tag name", "body").text
    assert f"{found[headline]['p_value']:.4f}" in body
    page.leave()
    compared = same_in_python(page, example, tmp_path)
    assert compared == json.loads(json.dumps(found))
    command = page.code(benchmark, "shell").split()
    assert command[:3] == ["spanscore", "compare", benchmark]
    done = run(tmp_path, "-m", *command, "--json", "-")
    assert json.loads(done)["comparisons"][0]["scores"] == compared


def test_results_are_downloaded(page, server, tmp_path):
    page.browser.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    page.open_tab("aste")
    page.choose_example(EXAMPLES[0])
    page.score()
    files = {"json": "result.json", "html": "report.html", "tex": "tables.tex"}
    for kind, name in files.items():
        page.click(page.element(f"aste-{kind}"))
        page.wait(lambda name=name: (tmp_path / name).exists() and (tmp_path / name).stat().st_size)
    options = {"confidence_level": 0.95, "per_document": True, "return_errors": True}
    assert json.loads((tmp_path / "result.json").read_text()) == json.loads(
        json.dumps(result_of(EXAMPLES[0], **options))
    )
    assert "</html>" in (tmp_path / "report.html").read_text()
    assert "\\toprule" in (tmp_path / "tables.tex").read_text()
    assert not [path for path in server.files() if path.name in files.values()]


def test_options_are_controls(page):
    page.open_tab("aste")
    page.choose_example(EXAMPLES[0])
    if not page.shows("aste-duplicates"):
        page.open_part("Options of the metric")
        page.wait(lambda: page.shows("aste-duplicates"))
    assert "How repeated triplets of a sentence count" in page.text("aste-duplicates")
    (count,) = (
        one for one in page.element("aste-duplicates").find_elements("css selector", "label") if one.text == "count"
    )
    page.click(count)
    page.write("aste", "confidence_level", "0.8")
    _, status = page.score(words="80 % interval")
    assert "43.48" in status
    page.write("aste", "confidence_level", "1.5")
    page.click(page.element("aste-score"))
    page.wait(lambda: "confidence_level: 1.5 is not a number above 0, below 1" in page.text("aste-status"))
    page.write("aste", "confidence_level", "0.95")
    page.click(
        next(one for one in page.element("aste-duplicates").find_elements("css selector", "label") if one.text == "set")
    )


@pytest.mark.parametrize("example", EXAMPLES, ids=NAMES)
def test_the_same_in_python_and_on_the_command_line(page, example, tmp_path):
    name = example.benchmark.name
    page.open_tab(name)
    page.choose_example(example)
    page.score(name)
    expected = json.loads(json.dumps(result_of(example, confidence_level=0.95)))
    assert same_in_python(page, example, tmp_path) == expected
    command = page.code(name, "shell").split()
    assert command[:2] == ["spanscore", name]
    found = json.loads(run(tmp_path, "-m", *command, "--json", "-"))
    assert found.pop("run")["command"] == f"{' '.join(command)} --json -"
    assert found == expected


def same_in_python(page, example, folder):
    """What the Python of the page gives, in a folder with the files under the names that it uses."""
    sides = {"predictions": example.predictions, "references": example.references, "second": example.second}
    for slot, path in (sides | example.files).items():
        if path:
            (folder / f"{slot}.txt").write_bytes(path.read_bytes())
    code = page.code(example.benchmark.name, "python")
    return json.loads(run(folder, "-c", code + "\nimport json; print(json.dumps(result))"))


def run(folder, *arguments):
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HF_HOME": str(folder / "home")}
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, f"{arguments}\n{done.stderr}"
    return done.stdout


def brightness(browser, element, property):
    """The mean of red, green and blue of a colour, from 0 to 255."""
    script = "return getComputedStyle(document.querySelector(arguments[0])).getPropertyValue(arguments[1])"
    return sum(map(int, re.findall(r"\d+", browser.execute_script(script, element, property))[:3])) / 3


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_dark_and_light(server, theme):
    with Page(server, f"__theme={theme}") as page:
        page.score()
        is_dark = theme == "dark"
        assert (brightness(page.browser, "h1", "color") > 128) == is_dark
        page.frame()
        page.wait(lambda: (brightness(page.browser, "h1", "color") > 128) == is_dark)
        assert (brightness(page.browser, "body", "background-color") < 128) == is_dark
        page.leave()


def test_a_phone(server):
    with Page(server, width=500) as page:
        page.browser.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride", {"width": 390, "height": 844, "deviceScaleFactor": 2, "mobile": True}
        )
        page.score()
        assert page.browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]") == [390, 390]
        page.frame()
        width, inner = page.browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
        assert width <= inner <= 390
        page.leave()


def test_the_keyboard_is_enough(server):
    from selenium.webdriver.common.keys import Keys

    with Page(server) as page:
        active = page.browser.switch_to.active_element
        for _ in range(60):
            active.send_keys(Keys.TAB)
            active = page.browser.switch_to.active_element
            if active.get_attribute("id") == "aste-score":
                break
        active.send_keys(Keys.ENTER)
        page.wait(lambda: "45.45" in page.text("aste-status"))
        status = page.element("aste-status").find_element("css selector", "[role=status]")
        assert status.get_attribute("aria-live") == "polite"


def test_two_visitors_do_not_see_each_other(server, tmp_path):
    example = examples_of(BENCHMARKS["aste"])[0]
    with Page(server) as first, Page(server) as second:
        for page, name, text in (
            (first, "first.txt", example.second.read_text()),
            (second, "second.txt", example.references.read_text()),
        ):
            (tmp_path / name).write_text(text)
            page.upload("aste", "predictions", tmp_path / name)
            page.wait(lambda page=page: not page.shows("aste-predictions"))
            page.upload("aste", "references", example.references)
            page.wait(lambda page=page: not page.shows("aste-references"))
        for page in (first, second):
            page.click(page.element("aste-score"))
        first.wait(lambda: "81.82" in first.text("aste-status") and "first.txt" in first.text("aste-status"))
        second.wait(lambda: "100.00" in second.text("aste-status") and "second.txt" in second.text("aste-status"))
        assert "second.txt" not in first.browser.page_source and "first.txt" not in second.browser.page_source


def jobs_of(server):
    return list(server.folder.glob("spanscore-*/jobs/*"))


LONG = 60_000_000  # resamples that take longer than the test


def test_work_is_stopped(server):
    with Page(server) as page:
        page.open_part("Options of the metric")
        page.write("aste", "n_resamples", str(LONG))
        page.click(page.element("aste-score"))
        page.wait(lambda: "reading and scoring" in page.text("aste-status"))
        page.click(page.element("aste-stop"))
        page.wait(lambda: page.text("aste-status") == "stopped")
        page.wait(lambda: not jobs_of(server), 10)
        page.write("aste", "n_resamples", "1000")
        _, status = page.score()
        assert "45.45" in status


def test_work_for_a_closed_page_is_stopped(server):
    with Page(server) as page:
        page.open_part("Options of the metric")
        page.write("aste", "n_resamples", str(LONG))
        page.click(page.element("aste-score"))
        page.wait(lambda: jobs_of(server))
        time.sleep(1)
    end = time.monotonic() + 30
    while jobs_of(server):
        assert time.monotonic() < end
        time.sleep(0.2)
