"""Names that are code are shown as text: on terminals, in messages, in CSV, Markdown, LaTeX and HTML."""

import csv
import io
import json
import shutil
import subprocess

import pytest

from spanscore import cli, terminal, text_tables
from spanscore.tables import Table

ESCAPES = "\x1b[31mred\x1b]0;title\x07 \x9b2J"
BIDI = "a\u202eb\u2066c\u200f"
LINES = "one\ntwo\rthree\u2028four\u2029five\x85six\x0bseven\x1ceight"
SPREADSHEET = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "  =1", "\n=1"]
MARKDOWN = "![x](http://a/b.png) `code` [l](javascript:1) <img src=x> a|b **b** ~~s~~ $m$ &copy; www.a.b @me #1 _e_"
LATEX = ["[2cm]", "*", "\\input{x}", "50% $_{}#~^&", "a -- b"]
HTML = ["<script>alert(1)</script>", "\"'></td><b>", "</script><script>alert(1)</script>", "<!--"]
ALL = [ESCAPES, BIDI, LINES, *SPREADSHEET, MARKDOWN, *LATEX, *HTML]


def tables(name):
    scores = Table("scores", ["value"], [(name, [-1.5])], of_labels=True)
    return [scores, Table(name, [name], [("f1", [50.0])])]


def no_controls(text):
    return not any(c in text for c in "\x1b\x07\x9b\u202e\u2066\u200f\u2028\u2029\x85\x0b\x1c\r")


# --- terminals and messages -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_every_form_has_only_printable_characters_and_its_own_lines(name):
    expected = {form: len(form(tables("name"), "s").splitlines()) for form in FORMS}
    for form in FORMS:
        text = form(tables(name), f"s|{name}")
        assert no_controls(text)
        assert len(text.split("\n")) - 1 <= expected[form] + (form is text_tables.to_terminal) * 9


FORMS = (text_tables.to_terminal, text_tables.to_markdown, text_tables.to_latex, text_tables.to_csv)


def test_escape_sequences_are_shown():
    assert terminal.plain(ESCAPES) == r"\x1b[31mred\x1b]0;title\x07 \x9b2J"
    assert terminal.plain(BIDI) == r"a\u202eb\u2066c\u200f"
    assert terminal.plain("é 日本 \u200d👩‍👧 ــ\u200c") == "é 日本 \u200d👩‍👧 ــ\u200c"
    assert r"\x1b[31mred" in text_tables.to_terminal(tables(ESCAPES), "s")


def test_a_message_is_one_line_whatever_it_holds(capsys):
    for text in ALL:
        terminal.say(f"error: {text}")
    err = capsys.readouterr().err
    assert len(err.splitlines()) == len(ALL) and no_controls(err)


def test_errors_are_one_line_whatever_the_labels_hold(tmp_path, capsys):
    gold = [{"tokens": ["a", "b"], "triplets": [{"aspect": [0], "opinion": [1], "polarity": "POS"}]}]
    (tmp_path / "gold.jsonl").write_text(json.dumps(gold[0]) + "\n")
    for label in (ESCAPES, BIDI, LINES, "\ud800"):
        wrong = [{"tokens": ["a", label], "triplets": [{"aspect": [0], "opinion": [1], "polarity": label}]}]
        (tmp_path / "wrong.jsonl").write_text(json.dumps(wrong[0]) + "\n")
        (tmp_path / "wrong.txt").write_bytes(f"a {label}####[([0], [1], {label!r})]\n".encode("utf-8", "replace"))
        for name in ("wrong.jsonl", "wrong.txt"):
            for given in (["aste", tmp_path / name, tmp_path / "gold.jsonl"], ["validate", "aste", tmp_path / name]):
                assert cli.main([str(one) for one in given]) == 2
                out, err = capsys.readouterr()
                assert no_controls(out) and no_controls(err)
                assert len([line for line in err.splitlines() if line.startswith("error: ")]) <= 1
    name = tmp_path / "file\x1b[31m\u2028.txt"
    assert cli.main(["aste", str(name), str(name)]) == 2
    err = capsys.readouterr().err
    assert len(err.splitlines()) == 1 and no_controls(err)


# --- CSV --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SPREADSHEET)
def test_texts_in_csv_are_no_formulas_and_numbers_stay_numbers(name):
    rows = list(csv.reader(io.StringIO(text_tables.to_csv(tables(name), name))))
    assert rows[1][:3] == ["scores", "'" + terminal.plain(name), "value"] and float(rows[1][3]) == -1.5
    assert all(cell[:1] not in "=+-@\t\r" or cell == "-1.5" for row in rows for cell in row if cell)
    assert rows[-1] == ["signature", "", "", "'" + terminal.plain(name)]


# --- Markdown ---------------------------------------------------------------------------------------------------------


def test_marks_in_markdown_are_shown_as_text():
    text = text_tables.to_markdown(tables(MARKDOWN), "a ``b` c`")
    row = text.splitlines()[4]
    assert row == (
        r"| \!\[x\](http&#58;//a/b.png) \`code\` \[l\](javascript:1) &lt;img src=x> a\|b \*\*b\*\* \~\~s\~\~ \$m\$ "
        r"&amp;copy; www&#46;a.b &#64;me \#1 \_e\_ | -1.50 |"
    )
    assert text.endswith("``` a ``b` c` ```\n")
    assert "| true_positives | 1 |" in text_tables.to_markdown(
        [Table("t", ["n"], [("true_positives", [1])], of_labels=True)], "s"
    )


# --- LaTeX ------------------------------------------------------------------------------------------------------------


def test_rows_of_latex_do_not_become_arguments():
    found = [Table("t", ["n"], [(name, [-1.5]) for name in LATEX], of_labels=True)]
    lines = text_tables.to_latex(found, "a\nb").splitlines()
    begin = lines.index(r"\midrule") + 1
    assert lines[begin : begin + len(LATEX)] == [
        r"{[}2cm{]} & -1.50 \\",
        r"{*} & -1.50 \\",
        r"\textbackslash{}input\{x\} & -1.50 \\",
        r"50\% \$\_\{\}\#\textasciitilde{}\textasciicircum{}\& & -1.50 \\",
        r"a -- b & -1.50 \\",
    ]
    assert lines[1] == r"% a\nb"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not installed")
def test_latex_takes_hostile_names(tmp_path):
    found = [Table(name, [name], [(other, [1.0]) for other in LATEX]) for name in LATEX]
    text = text_tables.to_latex(found, "s")
    (tmp_path / "t.tex").write_text(
        "\\documentclass{article}\\usepackage{booktabs}\\begin{document}" + text + "\\end{document}"
    )
    done = subprocess.run(["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "t.tex"], cwd=tmp_path)
    assert done.returncode == 0


# --- HTML -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("label", HTML)
def test_labels_and_names_in_html_are_text(label, tmp_path, capsys):
    mention = [{"name": label, "sent_id": 0, "pos": [0, 1]}]
    gold = [
        {
            "title": label,
            "sents": [[label, label]],
            "vertexSet": [mention, mention],
            "labels": [{"h": 0, "t": 1, "r": label}, {"h": 1, "t": 0, "r": "P1"}],
        }
    ]
    facts = [{"title": label, "h_idx": 0, "t_idx": 1, "r": "P1"}, {"title": label, "h_idx": 1, "t_idx": 0, "r": label}]
    for name, value in (("gold.json", gold), ("facts.json", facts)):
        (tmp_path / name).write_text(json.dumps(value))
    given = ["docred", tmp_path / "facts.json", tmp_path / "gold.json", "--html", tmp_path / "r.html", "--csv"]
    assert cli.main([str(one) for one in given]) == 0
    text = (tmp_path / "r.html").read_text()
    assert label not in text
    assert text.count("<script") == text.count("</script>") == 3
