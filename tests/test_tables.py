"""Tables of results, and their forms as text."""

from spanscore import tables, text_tables
from spanscore.benchmarks import BENCHMARKS
from spanscore.tables import Table


def test_intervals_are_in_every_form():
    result = {
        "f1": 50.0,
        "aspect": {"f1": 1.0, "gold": 3},
        "signature": "x",
        "confidence_intervals": {"f1": [41.25, 58.75]},
    }
    found = tables.result_tables(result, BENCHMARKS["aste"])
    assert found[0] == Table("scores", ["value", "low", "high"], [("f1", [50.0, 41.25, 58.75])])
    assert "| F1 | 50.00 | 41.25 | 58.75 |" in text_tables.to_markdown(found, "x")
    assert "F1 & 50.00 & 41.25 & 58.75" in text_tables.to_latex(found, "x")
    assert "scores,f1,low,41.25" in text_tables.to_csv(found, "x")


def test_the_scores_of_a_row_have_as_many_decimals():
    rows = [("x", [70.5, 0.25, 0.03, 1234]), ("y", [0.5, 1.0, 0.5, 0]), ("z", [None, -1.7e308, 0.0, 2])]
    table = Table("t", ["a", "difference", "p_value", "n"], rows)
    assert table.cells() == [
        ("x", ["70.50", "0.25", "0.0300", "1,234"]),
        ("y", ["0.5000", "1.0000", "0.5000", "0"]),
        ("z", ["–", "-1.7e+308", "<0.0001", "2"]),
    ]


def test_signs_of_a_form_are_escaped_in_it():
    found = [Table("a_b", ["x|y"], [("50% & $_{}#~^\\", [1.0]), ("<b>|", [None])], of_labels=True)]
    latex = text_tables.to_latex(found, "s")
    escaped = r"50\% \& \$\_\{\}\#\textasciitilde{}\textasciicircum{}\textbackslash{} & 1.0000 \\"
    assert escaped in latex.splitlines()
    assert r"| &lt;b>\| | – |" in text_tables.to_markdown(found, "s")
