"""Tables, kinds of error and HTML reports, against results of `compute` and in a browser."""

import json
import re
from collections import Counter
from html import escape

import pytest
from conftest import load
from reports_of import HOSTILE, unread_records

from spanscore import pages, tables

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
    first = analysed.documents[0]
    assert (first.tokens, first.parts) == (["c", "a", "b"], [("hypothesis", 0), ("premise", 1)])


def test_confusions_count_aligned_and_right_items(scored):
    found, analysed = scored("aste")
    (confusion,) = analysed.confusions
    wrong = sum(n for (gold, predicted), n in confusion.counts.items() if gold != predicted)
    aligned = [e for e in found.result["errors"] if e["prediction"] and e["reference"]]
    assert wrong == sum(e["prediction"]["polarity"] != e["reference"]["polarity"] for e in aligned)
    assert sum(confusion.counts.values()) == found.result["true_positives"] + len(aligned)
    _, analysed = scored("docred")
    (relations,) = analysed.confusions
    assert len(relations.labels) > 90
    errors = [e for e in scored("docred")[0].result["errors"] if e["prediction"] and e["reference"]]
    pair = errors[0]["reference"]["r"], errors[0]["prediction"]["r"]
    assert relations.counts[pair] == sum((e["reference"]["r"], e["prediction"]["r"]) == pair for e in errors)


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
    assert not re.search(r"https?://|<link|src=", html) and "xlink" not in html
    assert html.count(f"<code>{escape(found.result['signature'])}</code>") == 1
    documents = embedded(html)
    names = [d[0].partition(": ")[0] if name == "propsegment" else d[0] for d in documents]
    assert names == [str(row["id"]) for row in found.result["per_document"]]
    if name == "propsegment":  # records pair by position, and the benchmark's own names are there too
        place = found.references.records[0]["sentence_id"]
        parts = (place["cluster_id"], place["document_id"], place["sentence_index"])
        assert documents[0][0] == f"0: {'/'.join(map(str, parts))}"
    statuses = Counter(item[0] for d in documents for item in d[2])
    n_errors = Counter(e["kind"] if e["kind"] in ("missed", "spurious") else "wrong" for e in found.result["errors"])
    assert {s: n for s, n in statuses.items() if s != "right"} == dict(n_errors)
    for table in tables.result_tables(found.result, found.benchmark, found.hidden):
        assert f"<h3>{escape(table.title)}</h3>" in html
        for row, cells in table.cells():
            assert f'<th scope="row">{escape(table.row_title(row))}</th>' in html
            assert all(re.search(rf"<td(?: data-name=\"[^\"]*\")?>{re.escape(cell)}</td>", html) for cell in cells)


def test_hostile_text_is_data(hostile):
    html = hostile.read_text(encoding="utf-8")
    assert "owned" in html and "<script>document" not in html and "<img" not in html and "<!--" not in html
    assert html.count("<script") == html.count("</script>") == 3
    documents = embedded(html)
    assert documents[0][0] == "<b>'\"&" and documents[0][1][: len(HOSTILE)] == HOSTILE
    assert len(documents[0][1]) == 100_000 and len(documents) == 5001


def test_text_that_cannot_be_read_is_listed_with_its_number(scored):
    found, analysed = scored("aste", unread_records())
    items = [document[2] for document in embedded(pages.report_page(found, analysed))]
    assert [[item[5] for item in of_document if item[1] == "unparsed"] for of_document in items] == [[], [1], [3]]
    assert all(item[5] == 0 for of_document in items for item in of_document if item[1] != "unparsed")
    assert [kind.errors for kind in analysed.kinds if kind.kind == "unparsed"] == [4]


def test_plots_and_titles_are_in_words(scored):
    page = pages.report_page(*scored("docred-scores", threshold="0.4"))
    found, _ = scored("docred-scores", threshold="0.4")
    # The chosen threshold and the best one are marked on the curve.
    assert f"threshold 0.4: F1 {found.result['f1']:.2f}" in page
    assert f"best F1 {found.result['best_f1']:.2f}" in page
    assert "No evidence" in page and '<th scope="row">none</th>' not in page
    relation, row = max(found.result["per_relation"].items(), key=lambda item: item[1]["gold"])
    assert f'aria-label="{relation}: {row["f1"]:.2f} ({row["gold"]:,})"' in page
    titles = re.findall(r"<h[1-3][^>]*>([^<]*)</h[1-3]>", page)
    assert titles and not any("_" in title or title[:1].islower() for title in titles)
    page = pages.report_page(*scored("propsegment"))
    shown = page.partition("<main>")[2].partition("<script")[0].replace("var(--relaxed)", "")
    assert "Exact beside aligned matching" in shown and "relaxed" not in shown
    found, analysed = scored("sentivent-hard", include_factuality=True)
    page = pages.report_page(found, analysed)
    assert "Strict beside relaxed matching" in page
    for kind, row in (("strict", found.result["strict"]), ("relaxed", found.result["relaxed"])):
        assert f'aria-label="Event trigger, {kind}: {row["event_trigger"]["f1"]:.2f}"' in page
