"""Tables, kinds of error and HTML reports, against results of `compute` and in a browser."""

import json
import re
from collections import Counter
from html import escape
from itertools import pairwise

import pytest
from conftest import benchmark_file, load, perturbed, start_browser

from spanscore import analysis, pages, reports
from spanscore.benchmarks import BENCHMARKS, formats_of
from spanscore.comparison import compare_systems
from spanscore.examples import examples_of
from spanscore.options import given_options
from spanscore.scoring import score_files

GOLD = {
    "aste": "aste/v2/14lap/test_triplets.txt",
    "docred": "docred/test_revised.json",
    "docred-scores": "docred/dev_revised.json",
    "propsegment": "propsegment/propositions.test.json",
}
HOSTILE = [
    "<script>document.title='owned'</script>",
    "</script><img src=x onerror=\"document.title='owned'\">",
    "<!--",
    "\"quotes\" & 'more'",
    "{{ 7 * 7 }}",
    "שלום",
    "‮مرحبا",
    "👩‍👩‍👧",
    "\u2028",
    "`${1}`",
]


@pytest.fixture(scope="session")
def scored(tmp_path_factory):
    """From a benchmark to its scored files and their analysis; `extra` are arguments of the command."""
    folder = tmp_path_factory.mktemp("report")
    made = {}

    def make(name, records=None, **extra):
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
        found = score_files(benchmark, *map(str, paths), extra, options)
        result = found, analysis.analyse(found)
        if records is None:
            made[key] = result
        return result

    return make


# --- kinds of error ---------------------------------------------------------------------------------------------------

EVERY = [
    ("aste", {}),
    ("aste", {"duplicates": "count"}),
    ("docred", {}),
    ("docred-scores", {"threshold": "0.4"}),
    ("propsegment", {}),
    ("propsegment", {"deduplicate": False, "empty": "skip", "beta": "2"}),
    ("sentivent", {}),
    ("sentivent-hard", {"include_factuality": True}),
]


@pytest.mark.parametrize(("name", "extra"), EVERY)
def test_right_items_are_the_true_positives(name, extra, scored):
    found, analysed = scored(name, **extra)
    shown = Counter((item.component, item.status) for document in analysed.documents for item in document.items)
    result = found.result
    rows = {component: result["strict"][component] for component, _ in shown} if "strict" in result else None
    if rows is None:
        component = next(iter(shown))[0]
        rows = {component: result["micro"] if component == "proposition" else result}
    for component, row in rows.items():
        assert shown[component, "right"] == row["true_positives"]
        false_negatives = shown[component, "wrong"] + shown[component, "missed"]
        false_positives = shown[component, "wrong"] + shown[component, "spurious"]
        assert (false_negatives, false_positives) == (
            row["gold"] - row["true_positives"],
            row["predicted"] - row["true_positives"],
        )
    assert len(analysed.documents) == len(result["per_document"])


def mended_records(kind, errors, predictions):
    """ASTE predictions with all errors of a kind put right by hand."""
    records = [{"triplets": [dict(t) for t in record["triplets"]]} for record in predictions]
    for error in errors:
        if error["kind"] != kind:
            continue
        triplets = records[error["record"]]["triplets"]
        if error["prediction"] is not None:
            as_set = [(sorted(set(t["aspect"])), sorted(set(t["opinion"])), t["polarity"]) for t in triplets]
            wrong = error["prediction"]
            key = (sorted(set(wrong["aspect"])), sorted(set(wrong["opinion"])), wrong["polarity"])
            triplets[:] = [t for t, k in zip(triplets, as_set, strict=True) if k != key]
        if error["reference"] is not None:
            triplets.append(error["reference"])
    return records


def test_mending_a_kind_by_hand_gives_the_score_that_is_told(scored):
    found, analysed = scored("aste")
    assert len(analysed.kinds) >= 5
    for kind in analysed.kinds:
        records = mended_records(kind.kind, found.result["errors"], found.predictions.records)
        mended = load("aste").compute(predictions=records, references=found.references.records)
        assert mended["f1"] == pytest.approx(kind.mended) and kind.mended > analysed.score


def test_mending_propositions_by_hand_gives_the_score_that_is_told(scored):
    for extra in ({}, {"empty": "skip", "beta": "2", "deduplicate": False}):
        found, analysed = scored("propsegment", **extra)
        options = {k: v for k, v in found.options.items() if k not in ("per_document", "return_errors")}
        names = [row["id"] for row in found.result["per_document"]]
        for kind in analysed.kinds:
            records = {name: [list(p) for p in r] for name, r in zip(names, found.predictions.records, strict=True)}
            for error in found.result["errors"]:
                if error["kind"] != kind.kind:
                    continue
                here = records[error["record"]]
                if error["prediction"] is not None:
                    same = [p for p in here if sorted(set(p)) == sorted(set(error["prediction"]))]
                    for p in same if found.options.get("deduplicate", True) else same[:1]:
                        here.remove(p)
                if error["reference"] is not None:
                    here.append(error["reference"])
            mended = load("propsegment").compute(
                predictions=list(records.values()), references=found.references.records, **options
            )
            # What is mended may change how the rest is aligned, to the better only.
            assert kind.mended - 1e-9 <= mended["f1"] <= kind.mended + 0.004


def mended_counts(counts, kind, n):
    """True positives, predicted and gold after n errors of a kind are corrected."""
    true_positives, predicted, gold = counts
    if kind == "spurious":
        return true_positives, predicted - n, gold
    return true_positives + n, predicted + n * (kind == "missed"), gold


def f1(counts):
    return 200 * counts[0] / (counts[1] + counts[2])


@pytest.mark.parametrize("name", ["docred", "sentivent"])
def test_mending_every_kind_at_once_is_perfect(name, scored):
    found, analysed = scored(name)
    by_component = {}
    for kind in analysed.kinds:
        if kind.component != "all components":
            by_component.setdefault(kind.component, []).append(kind)
    for component, kinds in by_component.items():
        row = found.result["strict"][component] if "strict" in found.result else found.result
        counts = row["true_positives"], row["predicted"], row["gold"]
        for kind in kinds:
            assert kind.mended == pytest.approx(f1(mended_counts(counts, kind.kind, kind.errors)))
        for kind in kinds:
            counts = mended_counts(counts, kind.kind, kind.errors)
        assert counts == (row["gold"],) * 3
    if name == "sentivent":
        gains = [k.headline - analysed.score for k in analysed.kinds if k.component != "all components"]
        whole = [k.headline - analysed.score for k in analysed.kinds if k.component == "all components"]
        assert sum(gains) == pytest.approx(sum(whole)) and min(whole) > 0


def test_no_score_is_told_where_errors_do_not_add_up(scored):
    _, analysed = scored("aste", duplicates="pairs")
    assert {kind.mended for kind in analysed.kinds} == {None}


def test_labels_that_are_taken_for_others(scored):
    labels = ["entail", "neutral", "contradict"]
    gold = [labels[at % 3] for at in range(60)]
    predicted = ["entail" if at % 5 == 0 else labels[(at + at % 2) % 3] for at in range(60)]
    records = {
        "references": [{"label": x, "premise": "a b", "hypothesis": "c"} for x in gold],
        "predictions": [{"label": x} for x in predicted],
    }
    found, analysed = scored("propsegment", records, references_format="records")
    assert found.task == "entailment" and analysed.score == found.result["balanced_accuracy"]
    for kind in analysed.kinds:
        was, became = kind.kind.split(" as ")
        mended = [g if (g, p) == (was, became) else p for g, p in zip(gold, predicted, strict=True)]
        again = load("propsegment", "entailment").compute(predictions=mended, references=gold)
        assert again["balanced_accuracy"] == pytest.approx(kind.mended)
        assert kind.errors == sum((g, p) == (was, became) for g, p in zip(gold, predicted, strict=True))
    assert analysed.documents[0].tokens == ["a", "b", "→", "c"]


def test_confusions_count_aligned_and_right_items(scored):
    found, analysed = scored("aste")
    (confusion,) = analysed.confusions
    wrong = sum(n for (gold, predicted), n in confusion.counts.items() if gold != predicted)
    aligned = [e for e in found.result["errors"] if e["prediction"] and e["reference"]]
    assert wrong == sum(e["prediction"]["polarity"] != e["reference"]["polarity"] for e in aligned)
    assert sum(confusion.counts.values()) == found.result["true_positives"] + len(aligned)
    _, analysed = scored("docred")
    (relations,) = analysed.confusions
    assert not relations.as_matrix and relations.most()[0][2] >= relations.most()[-1][2] > 0


def test_the_curve_ends_at_all_listed_facts(scored):
    found, analysed = scored("docred-scores", threshold="-1")
    recall, precision = analysed.curve[-1]
    assert 100 * recall == pytest.approx(found.result["recall"])
    assert 100 * precision == pytest.approx(found.result["precision"])
    best = max(200 * p * r / (p + r) for r, p in analysed.curve if p + r)
    assert best == pytest.approx(found.result["best_f1"], abs=0.2)
    assert scored("docred")[1].curve == []


# --- HTML -------------------------------------------------------------------------------------------------------------


def embedded(html):
    return json.loads(re.search(r'<script type="application/json" id="documents">(.*?)</script>', html, re.S).group(1))


@pytest.mark.parametrize(("name", "extra"), [*EVERY[:1], *EVERY[2:5], EVERY[7]])
def test_a_report_holds_all_figures_and_documents_and_needs_no_network(name, extra, scored):
    found, analysed = scored(name, **extra)
    html = pages.report_page(found, analysed)
    assert not re.search(r"https?://|<link|src=", html)
    assert html.count(f"<code>{escape(found.result['signature'])}</code>") == 1
    documents = embedded(html)
    assert [d[0] for d in documents] == [str(row["id"]) for row in found.result["per_document"]]
    statuses = Counter(item[0] for d in documents for item in d[2])
    n_errors = Counter(e["kind"] if e["kind"] in ("missed", "spurious") else "wrong" for e in found.result["errors"])
    assert {s: n for s, n in statuses.items() if s != "right"} == dict(n_errors)
    for table in reports.result_tables(found.result):
        for row, cells in table.cells():
            assert f'<th scope="row">{escape(row)}</th>' in html
            assert all(f"<td>{cell}</td>" in html for cell in cells)


def test_intervals_are_in_every_form():
    result = {
        "f1": 50.0,
        "aspect": {"f1": 1.0, "gold": 3},
        "signature": "x",
        "confidence_intervals": {"f1": [41.25, 58.75]},
    }
    found = reports.result_tables(result)
    assert found[0] == reports.Table("scores", ["value", "low", "high"], [("f1", [50.0, 41.25, 58.75])])
    assert "| f1 | 50.00 | 41.25 | 58.75 |" in reports.to_markdown(found, "x")
    assert "f1 & 50.00 & 41.25 & 58.75" in reports.to_latex(found, "x")
    assert "scores,f1,low,41.25" in reports.to_csv(found, "x")


def test_the_scores_of_a_row_have_as_many_decimals():
    rows = [("x", [70.5, 0.25, 0.03, 1234]), ("y", [0.5, 1.0, 0.5, 0]), ("z", [None, -1.7e308, 0.0, 2])]
    table = reports.Table("t", ["a", "difference", "p_value", "n"], rows)
    assert table.cells() == [
        ("x", ["70.50", "0.25", "0.0300", "1,234"]),
        ("y", ["0.5000", "1.0000", "0.5000", "0"]),
        ("z", ["–", "-1.7e+308", "0.00", "2"]),
    ]


def test_signs_of_a_form_are_escaped_in_it():
    found = [reports.Table("a_b", ["x|y"], [("50% & $_{}#~^\\", [1.0]), ("<b>|", [None])])]
    latex = reports.to_latex(found, "s")
    escaped = r"50\% \& \$\_\{\}\#\textasciitilde{}\textasciicircum{}\textbackslash{} & 1.0000 \\"
    assert escaped in latex.splitlines()
    assert r"| &lt;b>\| | – |" in reports.to_markdown(found, "s")


def hostile_records(n_tokens):
    tokens = HOSTILE + [f"word{at}" for at in range(n_tokens - len(HOSTILE))]
    gold = [
        {"aspect": [0, 1], "opinion": [5, 6, 9], "polarity": "POS"},
        {"aspect": [n_tokens - 1], "opinion": [7], "polarity": "NEG"},
    ]
    references = [
        {"id": "<b>'\"&", "tokens": tokens, "triplets": gold},
        *({"id": f"s{at}", "tokens": ["fine", str(at)], "triplets": gold[:0]} for at in range(5000)),
    ]
    predictions = [{"id": r["id"], "triplets": r["triplets"][:1]} for r in references]
    return {"references": references, "predictions": predictions}


@pytest.fixture(scope="session")
def hostile(scored, tmp_path_factory):
    html = pages.report_page(*scored("aste", hostile_records(100_000)))
    path = tmp_path_factory.mktemp("hostile") / "report.html"
    path.write_text(html, encoding="utf-8")
    return path


def test_hostile_text_is_data(hostile):
    html = hostile.read_text(encoding="utf-8")
    assert "owned" in html and "<script>document" not in html and "<img" not in html and "<!--" not in html
    assert html.count("<script") == html.count("</script>") == 2
    documents = embedded(html)
    assert documents[0][0] == "<b>'\"&" and documents[0][1][: len(HOSTILE)] == HOSTILE
    assert len(documents[0][1]) == 100_000 and len(documents) == 5001


def unread_records():
    gold = {"tokens": ["a", "b"], "triplets": [{"aspect": [0], "opinion": [1], "polarity": "POS"}]}
    counts = (0, 1, 3)
    return {"references": [gold] * 3, "predictions": [{**gold, "triplets": [], "unparsed": n} for n in counts]}


def test_text_that_cannot_be_read_is_listed_with_its_number(scored):
    found, analysed = scored("aste", unread_records())
    items = [document[2] for document in embedded(pages.report_page(found, analysed))]
    assert [[item[5] for item in of_document if item[1] == "unparsed"] for of_document in items] == [[], [1], [3]]
    assert all(item[5] == 0 for of_document in items for item in of_document if item[1] != "unparsed")
    assert [kind.errors for kind in analysed.kinds if kind.kind == "unparsed"] == [4]


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
    select(browser, "kind", "wrong_polarity")
    assert texts(browser, "#list .badge") == ["wrong_polarity"] * len(wrong)
    assert texts(browser, "#list .name") == [str(name) for name in dict.fromkeys(e["record"] for e in wrong)]
    first, tokens = wrong[0], found.references.records[wrong[0]["record"]]["tokens"]
    browser.execute_script("document.querySelector('.items button').click()")
    marked = sorted({*first["reference"]["aspect"], *first["reference"]["opinion"]})
    assert texts(browser, "#list .text.chosen bdi.gold") == [tokens[at] for at in marked]
    roles = browser.execute_script("return [...document.querySelectorAll('[data-role]')].map((e) => e.dataset.role)")
    assert set(roles) == {"aspect", "opinion"}
    row = "table.sorts tbody tr th:first-child"
    for order in (1, -1):
        browser.execute_script(
            "[...document.querySelectorAll('h3')].find((h) => h.textContent === 'Polarity')"
            ".parentNode.querySelectorAll('th button')[3].click()"
        )
        f1 = {label: value["f1"] for label, value in found.result["polarity"].items() if label != "macro_f1"}
        shown = [name for name in texts(browser, row) if name in f1]
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
    path = folder / "comparison.html"
    path.write_text(comparison_page_of(HOSTILE), encoding="utf-8")
    made["comparison"] = path
    return made


def comparison_page_of(names):
    example = EXAMPLES[0]
    predictions, references = example.read()
    second = formats_of(example.benchmark).read(example.second).records
    settings = {"method": "randomisation", "n_resamples": 200, "random_state": 0, "confidence_level": 0.9}
    found = compare_systems(load("aste"), [predictions, *[second] * len(names)], references, {}, **settings)
    listed = [{"system_a": "first", "system_b": name, "scores": one} for name, one in zip(names, found, strict=True)]
    return pages.comparison_page("ASTE", "gold.txt", listed, settings, ("f1",))


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
    if name != "comparison":
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


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_words_under_a_plot_hold_in_both_themes(browser, example_pages, theme):
    browser.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    )
    browser.get(example_pages["sentivent"].as_uri())
    caption, strict, relaxed = browser.execute_script(
        "const plot = document.querySelector('figure'), all = (kind) => [...plot.querySelectorAll('rect.' + kind)];"
        "const tops = (kind) => all(kind).map((bar) => bar.getBoundingClientRect().top);"
        "return [plot.querySelector('figcaption').textContent, tops('strict'), tops('relaxed')]"
    )
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    # A colour that is dark in one theme is light in the other, so places tell the bars apart.
    assert "upper bar is strict" in caption and "lower one is relaxed" in caption
    assert strict and all(upper < lower for upper, lower in zip(strict, relaxed, strict=True))


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
            browser.find_element("id", "kind").send_keys("wrong_polarity")
            assert texts(browser, "#found") == ["1 of 8 documents"]
        finally:
            browser.switch_to.default_content()
    assert not [line for line in browser.get_log("browser") if line["level"] == "SEVERE"]


# --- comparisons ------------------------------------------------------------------------------------------------------


def test_a_comparison_shows_hostile_names_as_text(browser, example_pages):
    browser.get(example_pages["comparison"].as_uri())
    assert "owned" not in browser.title and not browser.find_elements("css selector", "main script, main img")
    shown = texts(browser, "h2")
    # Marks around each name keep its direction from the words beside it.
    assert [text.removesuffix(" beside \u2068first\u2069") for text in shown] == [
        f"\u2068{name}\u2069" for name in HOSTILE
    ]
    order = browser.execute_script(
        """return [...document.querySelectorAll("h2")].map(({firstChild, textContent}) => {
          const range = document.createRange(), at = textContent.indexOf("beside");
          const [b, e] = [at, at + 5].map((letter) => {
            range.setStart(firstChild, letter); range.setEnd(firstChild, letter + 1);
            return range.getBoundingClientRect().left;
          });
          return e - b;
        })"""
    )
    assert len(order) == len(HOSTILE) and min(order) > 0
    # No request but for the page itself.
    requests = [json.loads(line["message"])["message"] for line in browser.get_log("performance")]
    addresses = [one["params"]["request"]["url"] for one in requests if one["method"] == "Network.requestWillBeSent"]
    assert all(address.startswith("file:") for address in addresses)


def test_a_comparison_shows_all_figures_and_says_what_they_mean():
    example = EXAMPLES[0]
    predictions, references = example.read()
    second = formats_of(example.benchmark).read(example.second).records
    settings = {"method": "randomisation", "n_resamples": 200, "random_state": 0, "confidence_level": 0.9}
    (found,) = compare_systems(load("aste"), [predictions, second], references, {}, **settings)
    page = comparison_page_of(["second"])
    for name, row in found.items():
        assert f'<th scope="row">{name}</th>' in page
        for key in ("a", "b", "difference"):
            assert f"<td>{row[key]:.2f}</td>" in page
        assert f"<td>{row['p_value']:.4f}</td>" in page
    assert "p-values are those of paired randomisation" in page
    bootstrap = {**settings, "method": "bootstrap"}
    listed = [{"system_a": "a", "system_b": "b", "scores": found}]
    page_of_bootstrap = pages.comparison_page("ASTE", "gold.txt", listed, bootstrap, ("f1",))
    assert "randomisation" not in page_of_bootstrap and "those of the paired bootstrap" in page_of_bootstrap
    assert "method:randomisation|n_resamples:200|random_state:0|confidence_level:0.9" in page
    f1 = found["f1"]
    low, high = f1["interval"]
    assert (
        f"F1 is {f1['a']:.2f} for \u2068first\u2069 and {f1['b']:.2f} for \u2068second\u2069. "
        f"The difference is {f1['difference']:.2f} (90 % interval {low:.2f} to {high:.2f}, p = {f1['p_value']:.4f})."
    ) in page


def test_a_verdict_follows_the_test():
    found = {"a": 0.5, "b": 0.4, "difference": -0.1, "p_value": 0.05, "interval": [-0.2, -0.01]}
    assert pages.verdict("x", "y", "f1", found, 0.95).endswith("The test shows that x is better.")
    assert pages.verdict("x", "y", "f1", {**found, "difference": 0.1}, 0.95).endswith("shows that y is better.")
    assert "does not show" in pages.verdict("x", "y", "f1", {**found, "p_value": 0.051}, 0.95)
    assert "0.5000 for x" in pages.verdict("x", "y", "f1", found, 0.95)
    assert "p = 0.0001)" in pages.verdict("x", "y", "f1", {**found, "p_value": 0.0001}, 0.95)
    assert "p < 0.0001)" in pages.verdict("x", "y", "f1", {**found, "p_value": 0.00002}, 0.95)
