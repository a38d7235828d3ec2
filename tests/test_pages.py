"""Reports and comparisons in a browser: what they show, how they filter, themes, phones, keyboard, accessibility."""

import json
from html import escape
from itertools import pairwise

import pytest
from conftest import load, start_browser
from reports_of import HOSTILE, unread_records

from spanscore import analysis, comparison, pages, tables
from spanscore.benchmarks import BENCHMARKS, formats_of
from spanscore.examples import examples_of
from spanscore.inputs import InputFile
from spanscore.scoring import SystemFiles, score_files


@pytest.fixture(scope="session")
def browser():
    driver = start_browser()
    yield driver
    driver.quit()


def select(browser, name, value):
    browser.execute_script(
        "const e = document.getElementById(arguments[0]); e.value = arguments[1]; e.dispatchEvent(new Event('input'))",
        name,
        value,
    )


def texts(browser, selector):
    script = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
    return browser.execute_script(script, selector)


def test_a_browser_shows_hostile_text_as_text(browser, hostile):
    browser.get(hostile.as_uri())
    assert "owned" not in browser.title and not browser.get_log("browser")
    assert texts(browser, "#list script, #list img") == []
    assert texts(browser, "#list .name")[0] == "<b>'\"&"
    text = texts(browser, "#list .text")[0]
    assert all(token in text for token in HOSTILE) and "word99989" in text and len(text.split()) >= 100_000
    assert texts(browser, "#found") == ["5001 of 5001 documents"] and texts(browser, "#page") == ["1 of 251"]
    browser.find_element("id", "next").click()
    assert texts(browser, "#list .name")[0] == "s19"
    select(browser, "search", "s4999")
    assert texts(browser, "#list .name") == ["s4999"]


def test_a_browser_shows_text_that_cannot_be_read(browser, scored, tmp_path):
    path = tmp_path / "report.html"
    path.write_text(pages.report_page(*scored("aste", unread_records())), encoding="utf-8")
    browser.get(path.as_uri())
    select(browser, "kind", "unparsed")
    assert texts(browser, "#list .items button") == ["a text that cannot be read", "3 texts that cannot be read"]
    browser.execute_script("document.querySelector('.items button').click()")
    assert not browser.get_log("browser")


def test_a_browser_filters_chooses_and_sorts(browser, scored, tmp_path):
    found, analysed = scored("aste")
    path = tmp_path / "report.html"
    path.write_text(pages.report_page(found, analysed), encoding="utf-8")
    browser.get(path.as_uri())
    assert not browser.get_log("browser")
    wrong = [e for e in found.result["errors"] if e["kind"] == "wrong_polarity"]
    select(browser, "order", "file")
    select(browser, "kind", "wrong_polarity")
    assert texts(browser, "#list .badge") == ["wrong polarity"] * len(wrong)
    assert texts(browser, "#list .name") == [str(name) for name in dict.fromkeys(e["record"] for e in wrong)]
    first, tokens = wrong[0], found.references.records[wrong[0]["record"]]["tokens"]
    browser.execute_script("document.querySelector('.items button').click()")
    marked = sorted({*first["reference"]["aspect"], *first["reference"]["opinion"]})
    assert texts(browser, "#list .text.chosen bdi.gold") == [tokens[at] for at in marked]
    roles = browser.execute_script("return [...document.querySelectorAll('[data-role]')].map((e) => e.dataset.role)")
    assert set(roles) == {"aspect", "opinion"}
    f1 = {label: value["f1"] for label, value in found.result["polarity"].items() if label != "macro_f1"}
    for order in (1, -1):
        shown = browser.execute_script(
            "const part = [...document.querySelectorAll('h3')].find((h) => h.textContent === 'By polarity').parentNode;"
            "part.querySelectorAll('th button')[3].click();"
            "return [...part.querySelectorAll('tbody th')].map((e) => e.textContent)"
        )
        assert shown == sorted(f1, key=lambda label: -order * f1[label])


# --- looks, keyboard, small screens -----------------------------------------------------------------------------------


EXAMPLES = [example for benchmark in BENCHMARKS.values() for example in examples_of(benchmark)]


@pytest.fixture(scope="module")
def example_pages(tmp_path_factory):
    """From an example to the files of its report and of a comparison."""
    folder = tmp_path_factory.mktemp("pages")
    made = {}
    for at, example in enumerate(EXAMPLES):
        options = example.arguments() | {"per_document": True, "return_errors": True, "confidence_level": 0.9}
        found = score_files(example.benchmark, str(example.predictions), str(example.references), {}, options)
        path = folder / f"{at}.html"
        path.write_text(pages.report_page(found, analysis.analyse(found)), encoding="utf-8")
        made[example.benchmark.name] = path
    for name, names in (("comparison", ["first", "second"]), ("hostile", ["first", *HOSTILE])):
        path = folder / f"{name}.html"
        path.write_text(comparison_page_of(names), encoding="utf-8")
        made[name] = path
    return made


SETTINGS = {"method": "randomisation", "n_resamples": 200, "random_state": 0, "confidence_level": 0.9}


def systems_of(example, n):
    """The system of an example, and the second one several times."""
    predictions, references = example.read()
    second = formats_of(example.benchmark).read(example.second).records
    files = [InputFile(f"system {at}", records, "v2", {}) for at, records in enumerate([predictions, *[second] * n])]
    gold = InputFile("gold.txt", references, "v2", {})
    return SystemFiles(example.benchmark, load(example.benchmark.name), None, files, gold, {})


def comparison_page_of(names, settings=SETTINGS):
    systems = systems_of(EXAMPLES[0], len(names) - 1)
    found, signature = comparison.compare_files(systems, settings)
    return pages.comparison_page(systems, found, settings, signature, names=names)


PAGES = ["aste", "docred", "propsegment", "sentivent", "comparison"]


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_follow_the_theme_with_enough_contrast(browser, example_pages, name, theme):
    scheme = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
    browser.get(example_pages[name].as_uri())
    # The contrast of the text of every element that has text of its own, with the background that shows through.
    ratios, lightness = browser.execute_script(CONTRAST), browser.execute_script(LIGHTNESS)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert len(ratios) > 20
    low = [(ratio, text) for ratio, text in ratios if ratio < 4.5]
    assert not low
    # The page itself is light or dark.
    assert (lightness < 0.2) == (theme == "dark")


COLOUR = """
const canvas = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
const rgba = (colour) => {
  canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
  return canvas.getImageData(0, 0, 1, 1).data;
};
const light = (colour) => [0.2126, 0.7152, 0.0722].reduce((sum, weight, at) => {
  const part = colour[at] / 255;
  return sum + weight * (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
}, 0);
const behind = (element) => {
  for (let e = element; e; e = e.parentElement) {
    const colour = rgba(getComputedStyle(e).backgroundColor);
    if (colour[3] > 0) return colour;
  }
  return [255, 255, 255, 255];
};
"""
LIGHTNESS = COLOUR + "return light(behind(document.body));"
CONTRAST = (
    COLOUR
    + """
const found = [];
for (const element of document.body.querySelectorAll("*")) {
  const text = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data.trim()).join(" ");
  if (!text.trim() || !element.getClientRects().length || element.closest("script, svg, noscript, option")) continue;
  const [a, b] = [light(rgba(getComputedStyle(element).color)), light(behind(element))];
  found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), element.outerHTML.slice(0, 120)]);
}
return found;
"""
)


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [360, 400])
def test_pages_fit_a_phone(browser, example_pages, name, width):
    metrics = {"width": width, "height": 800, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(example_pages[name].as_uri())
    widths = browser.execute_script("return [document.documentElement.scrollWidth, innerWidth]")
    names, plots = browser.execute_script(NARROWEST), browser.execute_script(SMALLEST)
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert widths == [width, width]
    # Names of rows are not broken into single letters, and words in plots can be read.
    assert names and not [(name, lines) for name, lines in names if lines > 1 + len(name) // 14 + name.count(" ")]
    assert not [size for size in plots if size < 9]


# Each row's name with its number of lines, and the heights of letters in plots.
NARROWEST = """
return [...document.querySelectorAll("tbody th")].map((head) => {
  const range = document.createRange();
  range.selectNodeContents(head);
  return [head.textContent, new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size];
});
"""
SMALLEST = """
return [...document.querySelectorAll("svg")].map((svg) => {
  const scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  return scale * parseFloat(getComputedStyle(svg.querySelector("text")).fontSize);
});
"""


@pytest.mark.parametrize("name", PAGES)
def test_pages_work_with_the_keyboard_and_have_names(browser, example_pages, name):
    from selenium.webdriver.common.keys import Keys

    browser.get(example_pages[name].as_uri())
    # Whatever scrolls can be reached, and has a name. Headings leave out no level.
    unreachable = browser.execute_script(
        "return [...document.querySelectorAll('*')].filter((e) => /auto|scroll/.test(getComputedStyle(e).overflowY) && "
        "e.tagName !== 'SELECT' && !(e.tabIndex === 0 && e.getAttribute('aria-label'))).map((e) => e.outerHTML)"
    )
    assert not unreachable
    levels = browser.execute_script(
        "return [...document.querySelectorAll('h1, h2, h3, h4')].map((e) => Number(e.tagName[1]))"
    )
    assert levels[0] == 1 and all(after - before <= 1 for before, after in pairwise(levels))
    nameless = browser.execute_script(
        "return [...document.querySelectorAll('input, select, button')].filter((e) => "
        "!e.textContent.trim() && !e.getAttribute('aria-label') && !e.closest('label')).length"
    )
    assert nameless == 0
    reached: set[str] = set()
    for _ in range(600):
        if "search" in reached:
            break
        browser.switch_to.active_element.send_keys(Keys.TAB)
        active = browser.switch_to.active_element
        reached.add(active.get_attribute("id") or active.tag_name)
    assert {"kind", "component", "search", "button"} <= reached
    browser.find_element("css selector", ".items button").send_keys(Keys.ENTER)
    assert len(browser.find_elements("css selector", ".text.chosen")) == 1
    assert browser.find_element("css selector", ".items button").get_attribute("aria-pressed") == "true"
    head = browser.find_element("css selector", "table.sorts th:last-child button")
    for order in ("descending", "ascending"):
        head.send_keys(Keys.ENTER)
        assert head.find_element("xpath", "..").get_attribute("aria-sort") == order
    assert not browser.find_elements("xpath", "//th[not(normalize-space())]")


def test_the_words_of_a_chosen_item_come_into_view(browser, scored, tmp_path):
    from selenium.webdriver.common.keys import Keys

    tokens = [f"word{at}" for at in range(3000)]
    gold = [{"aspect": [at], "opinion": [at + 1], "polarity": "POS"} for at in (0, 2990)]
    records = {"references": [{"tokens": tokens, "triplets": gold}], "predictions": [{"triplets": gold[:1]}]}
    path = tmp_path / "report.html"
    path.write_text(pages.report_page(*scored("aste", records)), encoding="utf-8")
    browser.get(path.as_uri())

    def is_seen(words):
        return browser.execute_script(
            "const box = document.querySelector('.text').getBoundingClientRect();"
            "return [...document.querySelectorAll('.text bdi')].filter((e) => arguments[0].includes(e.textContent))"
            ".map((e) => e.getBoundingClientRect()).every((e) => box.top <= e.top && e.bottom <= box.bottom)",
            words,
        )

    assert is_seen(["word0", "word1"]) and not is_seen(["word2990", "word2991"])
    first, last = browser.find_elements("css selector", ".items button")
    for item, words in ((last, ["word2990", "word2991"]), (first, ["word0", "word1"])):
        browser.execute_script("arguments[0].focus()", item)
        before = browser.execute_script("return scrollY")
        item.send_keys(Keys.ENTER)
        assert texts(browser, ".text .gold") == words and is_seen(words)
        # The page itself does not move.
        assert browser.execute_script("return scrollY") == before


@pytest.mark.parametrize("way", ["message", "style"])
def test_a_report_inside_another_page_follows_its_theme(browser, example_pages, tmp_path, way):
    inner = escape(example_pages["aste"].read_text(), quote=True)
    for theme in ("light", "dark"):
        tell = f"onload=\"this.contentWindow.postMessage('{theme}', '*')\""
        tell = tell if way == "message" else f'style="color-scheme: {theme}"'
        frame = f'<iframe {tell} width="360" sandbox="allow-scripts" srcdoc="{inner}"></iframe>'
        (tmp_path / "outer.html").write_text(f"<!doctype html><meta charset=utf-8>{frame}", encoding="utf-8")
        browser.get((tmp_path / "outer.html").as_uri())
        browser.switch_to.frame(browser.find_element("tag name", "iframe"))
        try:
            assert (browser.execute_script(LIGHTNESS) < 0.2) == (theme == "dark")
            wide = "const page = document.documentElement; return page.scrollWidth <= page.clientWidth && innerWidth"
            assert browser.execute_script(wide) == 360
            browser.find_element("id", "kind").send_keys("wrong polarity")
            assert texts(browser, "#found") == ["1 of 8 documents"]
        finally:
            browser.switch_to.default_content()
    assert not [line for line in browser.get_log("browser") if line["level"] == "SEVERE"]


# --- links from plots and tables --------------------------------------------------------------------------------------


def page_of(scored, tmp_path, name, **extra):
    found, analysed = scored(name, **extra)
    path = tmp_path / "report.html"
    path.write_text(pages.report_page(found, analysed), encoding="utf-8")
    return path, found, analysed


def shown_items(browser):
    """The number of documents, and of items on this page, after a filter."""
    return int(texts(browser, "#found")[0].split()[0]), len(browser.find_elements("css selector", "#list .items li"))


def click(browser, element):
    browser.execute_script(
        "arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))", element
    )


def links(browser, start):
    found = browser.find_elements("css selector", f"a[href^='#?{start}']")
    assert found
    return found


def test_a_kind_of_error_leads_to_its_items(browser, scored, tmp_path):
    path, found, _ = page_of(scored, tmp_path, "aste")
    browser.get(path.as_uri())
    for link in links(browser, "kind="):
        kind = link.text.replace(" ", "_")
        click(browser, link)
        errors = [e for e in found.result["errors"] if e["kind"] == kind]
        assert shown_items(browser)[0] == len({e["record"] for e in errors})
        assert set(texts(browser, "#list .badge")) == {kind.replace("_", " ")}
        assert browser.switch_to.active_element.get_attribute("id") == "documents-heading"


def test_a_bar_of_a_label_leads_to_its_items(browser, scored, tmp_path):
    path, found, _ = page_of(scored, tmp_path, "aste")
    browser.get(path.as_uri())
    every = [*found.result["errors"], *found.result["matched"]]
    for label in ("POS", "NEG", "NEU"):
        (link,) = links(browser, f"label={label}")
        assert f"{label}: {found.result['polarity'][label]['f1']:.2f}" in link.get_attribute("aria-label")
        click(browser, link)
        having = [e for e in every if label in [s["polarity"] for s in (e["prediction"], e["reference"]) if s]]
        assert shown_items(browser)[0] == len({e["record"] for e in having})
        assert texts(browser, "#filters button") == [f"label {label} ×"]
    browser.find_element("css selector", "#filters button").click()
    assert shown_items(browser)[0] == 328 and texts(browser, "#filters button") == []


def test_a_cell_of_a_confusion_leads_to_its_items(browser, scored, tmp_path):
    path, found, _ = page_of(scored, tmp_path, "docred")
    browser.get(path.as_uri())
    pairs = [(e["reference"]["r"], e["prediction"]["r"], e["record"]) for e in found.result["errors"]
             if e["reference"] and e["prediction"]]  # fmt: skip
    gold, predicted, _ = next(pair for pair in pairs if pair[0] != pair[1])
    wanted = {record for g, p, record in pairs if (g, p) == (gold, predicted)}
    cell = links(browser, f"component=fact&gold={gold}&predicted={predicted}")[0]
    words = cell.get_attribute("aria-label")
    n_gold = sum(g == gold for g, _, _ in pairs) + sum(e["reference"]["r"] == gold for e in found.result["matched"])
    n = sum((g, p) == (gold, predicted) for g, p, _ in pairs)
    assert words == f"{n} of {n_gold:,} {gold} ({100 * n / n_gold:.0f} %) taken for {predicted}"
    click(browser, cell)
    assert shown_items(browser) == (len(wanted), min(n, shown_items(browser)[1]))
    assert set(texts(browser, "#list .badge")) <= {"wrong relation", "several", "wrong direction"}
    assert not browser.get_log("browser")


def test_a_bar_of_a_breakdown_leads_to_its_documents_worst_first(browser, scored, tmp_path):
    path, _, analysed = page_of(scored, tmp_path, "aste")
    browser.get(path.as_uri())
    for one in analysed.breakdowns[:2]:
        for bin in one.bins:
            click(browser, links(browser, f"bin={bin.code}")[0])
            at = [n for n, codes in enumerate(analysed.document_codes) if bin.code in codes]
            assert shown_items(browser)[0] == len(at) and texts(browser, "#filters button") == [
                f"{one.title}: {bin.name} ×"
            ]
            names = texts(browser, "#list .name")
            of_name = {d.name: sum(i.status != "right" for i in d.items) for d in analysed.documents}
            shown = [of_name[name] for name in names]
            assert shown == sorted(shown, reverse=True)


def test_every_cell_of_a_confusion_finds_its_items(browser, scored, tmp_path):
    path, _, _ = page_of(scored, tmp_path, "sentivent-hard")
    browser.get(path.as_uri())
    cells = browser.execute_script(
        "return [...document.querySelectorAll(\"a[href^='#?component='][href*='gold=']\")].map((link) => {"
        "show(new URLSearchParams(link.getAttribute('href').slice(1)));"
        "const n = matching().reduce((sum, [, items]) => sum + items.length, 0);"
        "return [link.getAttribute('aria-label'), n]; }).filter(([words]) => words)"
    )
    assert len(cells) > 20
    assert not [(words, n) for words, n in cells if int(words.split(" ")[0].replace(",", "")) > n]
    # A click on the number in a cell is one on the cell.
    assert browser.execute_script("return getComputedStyle(document.querySelector('svg text')).pointerEvents") == "none"


def test_an_address_opens_the_page_where_it_points(browser, scored, tmp_path):
    path, _, _ = page_of(scored, tmp_path, "aste")
    browser.get(path.as_uri() + "#?kind=missed")
    assert set(texts(browser, "#list .badge")) == {"missed"}
    browser.get("about:blank")
    browser.get(path.as_uri() + "#breakdowns")
    assert browser.switch_to.active_element.get_attribute("id") == "breakdowns"


def test_every_entry_of_the_contents_has_its_heading(browser, example_pages):
    for name in PAGES:
        browser.get(example_pages[name].as_uri())
        targets = [link.get_attribute("href").split("#")[1] for link in browser.find_elements("css selector", "nav a")]
        assert len(targets) >= 4
        headings = browser.execute_script("return [...document.querySelectorAll('h2')].map((e) => e.id)")
        assert headings == targets


# --- accessibility, print, speed --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_accessibility_checker_finds_nothing_serious(browser, example_pages, name, theme):
    from axe_core_python.selenium import Axe

    scheme = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", scheme)
    browser.get(example_pages[name].as_uri())
    browser.execute_script("for (const folded of document.querySelectorAll('details')) folded.open = true")
    found = Axe().run(browser)
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    assert found["passes"]
    serious = [
        (one["id"], one["help"], [node["html"][:200] for node in one["nodes"][:3]])
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == []


@pytest.mark.parametrize("name", PAGES)
def test_no_table_is_cut_on_a_phone(browser, example_pages, name):
    metrics = {"width": 400, "height": 800, "deviceScaleFactor": 2, "mobile": True}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    browser.get(example_pages[name].as_uri())
    cut = browser.execute_script(
        "return [...document.querySelectorAll('.scroll')].filter((box) => box.querySelector('table'))"
        ".filter((box) => box.getClientRects().length && box.scrollWidth > box.clientWidth)"
        ".map((box) => [box.getAttribute('aria-label'), box.scrollWidth, box.clientWidth])"
    )
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert cut == []


def test_a_printed_page_has_all_tables(browser, example_pages):
    import base64

    browser.get(example_pages["aste"].as_uri())
    printed = base64.b64decode(browser.execute_cdp_cmd("Page.printToPDF", {})["data"])
    assert printed.startswith(b"%PDF") and len(printed) > 10_000
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    assert browser.execute_script("return [...document.querySelectorAll('details')].every((e) => e.open)")


def test_five_hundred_documents_are_there_at_once(browser, scored, tmp_path):
    path, _, _ = page_of(scored, tmp_path, "docred")
    browser.get("about:blank")
    browser.get(path.as_uri())
    timing = browser.execute_script("return performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    assert texts(browser, "#found") == ["500 of 500 documents"]
    # It takes a third of a second; a shared machine may need much longer.
    assert timing < 10_000


# --- comparisons ------------------------------------------------------------------------------------------------------


def test_a_comparison_shows_hostile_names_as_text(browser, example_pages):
    browser.get(example_pages["hostile"].as_uri())
    assert "owned" not in browser.title and not browser.find_elements("css selector", "main script, main img")
    shown = texts(browser, "#systems ~ section tbody th, section[aria-labelledby=systems] tbody th")
    # Marks around each name keep its direction from the words beside it.
    assert shown == [f"\u2068{name}\u2069" for name in ["first", *HOSTILE]]
    verdicts = texts(browser, ".verdict")
    assert len(verdicts) == len(HOSTILE)
    assert all(f"for \u2068{name}\u2069" in words for name, words in zip(HOSTILE, verdicts, strict=True))
    # No request but for the page itself.
    requests = [json.loads(line["message"])["message"] for line in browser.get_log("performance")]
    addresses = [one["params"]["request"]["url"] for one in requests if one["method"] == "Network.requestWillBeSent"]
    assert all(address.startswith("file:") or address == "about:blank" for address in addresses)


def test_a_comparison_shows_all_figures_and_says_what_they_mean():
    systems = systems_of(EXAMPLES[0], 1)
    (found,), signature = comparison.compare_files(systems, SETTINGS)
    page = comparison_page_of(["first", "second"])
    for name, row in found.items():
        assert f'<th scope="row">{tables.spell_out(name)}</th>' in page
        for key in ("a", "b", "difference"):
            assert f">{row[key]:.2f}</td>" in page
        assert f">{row['p_value']:.4f}</td>" in page
    assert "p-values are those of paired randomisation" in page
    page_of_bootstrap = comparison_page_of(["first", "second"], {**SETTINGS, "method": "bootstrap"})
    assert "paired randomisation" not in page_of_bootstrap and "those of the paired bootstrap" in page_of_bootstrap
    assert "method:randomisation|n_resamples:200|random_state:0|confidence_level:0.9" in page
    assert signature.startswith("aste|v:2.0.0|pairing:position|") and signature in page
    f1 = found["f1"]
    low, high = f1["interval"]
    assert (
        f"F1 is {f1['a']:.2f} for \u2068first\u2069 and {f1['b']:.2f} for \u2068second\u2069. "
        f"The difference is {f1['difference']:.2f} (90 % interval {low:.2f} to {high:.2f}, p = {f1['p_value']:.4f})."
    ) in page


def test_systems_stand_side_by_side_in_the_texts(browser, example_pages):
    browser.get(example_pages["comparison"].as_uri())
    systems = systems_of(EXAMPLES[0], 1)
    gold = systems.references.records
    right = []
    for file in systems.predictions:
        result = systems.metric.compute(predictions=file.records, references=gold, return_errors=True)
        right.append({(m["record"], str(m["reference"])) for m in result["matched"]})
    n_gold = result["gold"]
    expected = {
        "right in all": len(right[0] & right[1]),
        "right in first alone": len(right[0] - right[1]),
        "right in second alone": len(right[1] - right[0]),
        "right in none": n_gold - len(right[0] | right[1]),
    }
    options = dict(text.rsplit(" (", 1) for text in texts(browser, "#kind option") if text.startswith("right"))
    assert {kind: int(n[:-1]) for kind, n in options.items()} == {k: n for k, n in expected.items() if n}
    select(browser, "kind", "right in second alone")
    assert texts(browser, "#list .badge") == ["right in second alone"] * expected["right in second alone"]
    assert any("first (" in text for text in texts(browser, "#list .items button"))


def test_text_that_cannot_be_read_is_named_with_its_system():
    both = unread_records()
    files = [InputFile(f"system {at}", both["predictions"][::step], "records", {}) for at, step in enumerate((1, -1))]
    gold = InputFile("gold", both["references"], "records", {})
    systems = SystemFiles(BENCHMARKS["aste"], load("aste"), None, files, gold, {})
    found, signature = comparison.compare_files(systems, SETTINGS)
    page = pages.comparison_page(systems, found, SETTINGS, signature, names=["first", "second"])
    text = page.partition('id="documents">')[2].partition("</script>")[0]
    unread = [[item[1:2] + item[5:6] for item in document[2] if item[5]] for document in json.loads(text)]
    assert unread == [
        [["unread text in second", 3]],
        [["unread text in first", 1], ["unread text in second", 1]],
        [["unread text in first", 3]],
    ]


def test_a_verdict_follows_the_test():
    found = {"a": 0.5, "b": 0.4, "difference": -0.1, "p_value": 0.05, "interval": [-0.2, -0.01]}
    assert pages.verdict("x", "y", "f1", found, 0.95).endswith("The test shows that x is better.")
    assert pages.verdict("x", "y", "f1", {**found, "difference": 0.1}, 0.95).endswith("shows that y is better.")
    assert "does not show" in pages.verdict("x", "y", "f1", {**found, "p_value": 0.051}, 0.95)
    assert "0.5000 for x" in pages.verdict("x", "y", "f1", found, 0.95)
    assert pages.verdict("x", "y", "f1", {**found, "p_value": 0.1}, 0.9).endswith("shows that x is better.")
    assert "p = 0.0001)" in pages.verdict("x", "y", "f1", {**found, "p_value": 0.0001}, 0.95)
    assert "p < 0.0001)" in pages.verdict("x", "y", "f1", {**found, "p_value": 0.00002}, 0.95)
    corrected = pages.verdict("x", "y", "f1", {**found, "p_value": 0.04, "p_value_holm": 0.08}, 0.95)
    assert "p = 0.0400, with the correction of Holm = 0.0800)" in corrected and "does not show" in corrected
    needed = pages.verdict("x", "y", "f1", {**found, "p_value": 0.3, "documents_needed": 1200}, 0.95)
    assert needed.endswith("About 1,200 documents would be needed to show such a difference.")
