"""Make the pictures of the README and of the cards: the web demo and a report of the examples, in headless Chromium."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from conftest import start_browser  # noqa: E402

import publish  # noqa: E402
from benchmarks.demo_server import running  # noqa: E402
from spanscore import cli  # noqa: E402
from spanscore.benchmarks import BENCHMARKS  # noqa: E402

_PATIENCE = 30.0
_PAINT = 4.0  # seconds after which Chromium has painted a frame that came into view


def wait(condition: Any) -> None:
    """Wait until a condition is true."""
    end = time.monotonic() + _PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise SystemExit("the page does not show a score")
        time.sleep(0.1)


def score(browser: Any, url: str, name: str) -> None:
    """Open the page of a benchmark, and score its first example."""
    browser.get(f"{url}/?__theme=light")
    wait(lambda: browser.find_elements("id", f"{name}-score"))
    wait(lambda: "no problem" in browser.find_element("id", f"{name}-problems").text)
    browser.find_element("id", f"{name}-score").click()
    wait(lambda: "interval" in browser.find_element("id", f"{name}-status").text)
    time.sleep(1)


def report(browser: Any, folder: Path) -> None:
    """Picture a document of a report, with an item whose parts are far from each other."""
    sides = [str(ROOT / "examples" / "sentivent" / f"{side}.jsonl") for side in ("predictions", "references")]
    page = folder / "report.html"
    if cli.main(["sentivent", *sides, "--html", str(page), "--quiet"]):
        raise SystemExit("no report")
    browser.get(page.as_uri())
    item = browser.find_element(
        "xpath", "//li[span[not(contains(@class, 'right'))]]/button[contains(., 'sentiment link')]"
    )
    browser.execute_script("arguments[0].click()", item)
    item.find_element("xpath", "ancestor::article").screenshot(str(ROOT / "docs" / "report.png"))


def main() -> None:
    """Make all pictures."""
    browser = start_browser(1200, 1150)
    with tempfile.TemporaryDirectory() as temporary:
        report(browser, Path(temporary))
        for name in BENCHMARKS:
            space, work = Path(temporary, name, "space"), Path(temporary, name, "work")
            publish.build(name, space)
            work.mkdir(parents=True)
            with running(work, space / "app.py") as server:
                score(browser, server.url, name)
                if name == "aste":
                    browser.set_window_size(1200, 1800)
                    time.sleep(_PAINT)
                    browser.save_screenshot(str(ROOT / "docs" / "demo.png"))
                    browser.set_window_size(1200, 1150)
                # The headline, and below it the first documents of the report.
                status = browser.find_element("id", f"{name}-status")
                browser.execute_script("arguments[0].scrollIntoView()", status)
                browser.switch_to.frame(browser.find_element("css selector", f"#{name}-report iframe"))
                browser.execute_script(
                    "document.getElementById('documents-heading').scrollIntoView();"
                    "document.querySelector('.items .badge:not(.right) + button').click();"
                )
                browser.switch_to.default_content()
                time.sleep(_PAINT)
                browser.save_screenshot(str(ROOT / "spaces" / f"{name}_metric" / "demo.png"))
    browser.quit()


if __name__ == "__main__":
    main()
