"""The metric cards say what the metrics say of themselves: options, citation, version, licence and homepage."""

import re

import pytest
from conftest import ROOT, load
from documents import CARDS, name, prose

from spanscore.benchmarks import BENCHMARKS, tasks_of

# As in the cards of Evaluate's own metrics, and what a reader of these cards looks for.
SECTIONS = (
    "## Metric Description",
    "## How to Use",
    "### Inputs",
    "### Output Values",
    "#### Options",
    "#### Which Number to Report",
    "#### Values from Popular Papers",
    "### Examples",
    "#### Training Loop",
    "#### Files",
    "## Limitations and Bias",
    "## Citation",
    "## Further References",
)
COMMON = re.compile(r"\*\*In all four metrics.*?(?=\n\n###)", re.DOTALL)


def options_table(options):
    """The table of options that a card has, with the words of the options themselves."""
    rows = ["| option | values | default | effect |", "|---|---|---|---|"]
    for option in options.values():
        default = f"{option.default!r}".replace("'", '"')
        effect = option.text.replace("``", "`")
        rows.append(f"| `{option.name}` | {option.kind} | `{default}` | {effect} |")
    return "\n".join(rows)


def card(benchmark):
    return (ROOT / "spaces" / f"{benchmark}_metric" / "README.md").read_text()


def test_there_is_a_card_for_each_metric():
    assert [path.parent.name for path in CARDS] == sorted(f"{benchmark}_metric" for benchmark in BENCHMARKS)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_sections_come_in_the_order_of_the_cards_of_evaluate(benchmark):
    lines = prose(card(benchmark)).splitlines()
    assert [line for line in lines if line in SECTIONS] == list(SECTIONS)
    assert lines[0].startswith("# Metric Card for ")


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_options_are_those_of_the_metric(benchmark):
    tables = re.findall(r"^\| option \|.*?(?=\n\n)", card(benchmark), re.DOTALL | re.MULTILINE)
    wanted = [options_table(task.options) for task in tasks_of(BENCHMARKS[benchmark]).values()]
    assert tables == wanted, "expected\n\n" + "\n\n".join(wanted)


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_citation_is_that_of_the_metric(benchmark):
    (citation,) = re.findall(r"```bibtex\n(.*?)```", card(benchmark), re.DOTALL)
    assert citation == load(benchmark).citation


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_revision_is_the_tag_of_the_version(benchmark):
    metric = load(benchmark)
    assert re.findall(r'revision="(.*?)"', card(benchmark)) == [f"{benchmark}-{metric.definition.version}"]


@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_the_metric_names_its_licence_and_homepage(benchmark):
    for config in tasks_of(BENCHMARKS[benchmark]):
        metric = load(benchmark, config)
        assert metric.license == "Apache-2.0"
        assert metric.homepage.startswith("https://") and f"({metric.homepage})" in card(benchmark)
        assert metric.reference_urls and all(f"({url})" in card(benchmark) for url in metric.reference_urls)
    assert "Apache License" in (ROOT / "LICENSE").read_text()


def test_the_supports_are_those_of_the_score():
    rows = dict(re.findall(r"^\| (`.*`|\*.*\*) \| .*\| \*?([\d,]+)(?: each)?\*? \|$", card("sentivent"), re.MULTILINE))
    supports = {
        component: int(number.replace(",", ""))
        for names, number in rows.items()
        for component in re.findall(r"\w+", names)
    }
    document = [{"annotations": [{"kind": "event", "span": [0], "type": "Deal"}]}]
    for options in ({}, {"include_factuality": True}):
        weights = load("sentivent").compute(predictions=document, references=document, **options)["weights"]
        counts = weights["support_counts"]
        assert counts | {weights["profile"]: sum(counts.values())} == {
            name: supports[name] for name in (*counts, weights["profile"])
        }


def test_the_facts_of_all_metrics_are_the_same_in_all_cards():
    found = {COMMON.findall(path.read_text())[0] for path in CARDS}
    assert len(found) == 1


@pytest.mark.parametrize("path", CARDS, ids=name)
def test_a_card_stands_by_itself(path):
    """On the Hub, front matter comes before it, and nothing of the repository is beside it but its pictures."""
    text = path.read_text()
    assert text.startswith("# ")
    links = re.findall(r"\]\(([^)]*)\)", prose(text))
    assert {link for link in links if not link.startswith("https://")} == {"demo.png"}
