"""SENTiVENT's documents as WebAnno and INCEpTION export them: TSV, zip files and folders."""

import gzip
import io
import re
import zipfile

import pytest
from conftest import benchmark_file, load
from hypothesis import given, settings
from hypothesis import strategies as st
from test_formats_sentivent import OURS, xmi
from webanno_writer import to_tsv

from spanscore.formats.files import TextFile
from spanscore.formats.sentivent import detect, detect_path, read

EVENT = ["a_Type", "b_Subtype", "e_OtherModalityFactuality", "f_NegativePolarityFactuality", "i_Polarity"]
EVENT_SLOTS = {"c_Participant": "B_Participant", "d_FILLER": "C_FILLER", "f_Discontiguous": "D_Discontiguous"}
LAYERS = [
    ("A_Event", EVENT, EVENT_SLOTS),
    ("B_Participant", [], {}),
    ("C_FILLER", [], {}),
    ("D_Discontiguous", [], {}),
    (
        "E_Sentiment",
        ["c_Uncertain", "d_Negated", "e_Polarity"],
        {"a_Target": "B_Participant", "b_TargetEvent": "A_Event"},
    ),
]
RELATIONS = {"CorefEvent": "A_Event", "PronomCanonRef": "B_Participant"}
# All of the events of `OURS` have the two flags of factuality, as they always have in WebAnno.
DOCUMENT = [
    (name, word, f'{rest} e_OtherModalityFactuality="false" f_NegativePolarityFactuality="false"')
    if (name, word) == ("A_Event", "It")
    else (name, word, rest)
    for name, word, rest in OURS
]


def tsv(text, **more):
    return to_tsv(text, LAYERS, RELATIONS, **more)


def content(record):
    """A record with annotations told apart by their kind and span, in place of ids."""
    spans = {a["id"]: (a["kind"], tuple(a["span"]["tokens"])) for a in record["annotations"]}

    def shown(annotation):
        pointers = {
            name: [{**pointer, "id": spans[pointer["id"]]} for pointer in annotation[name]]
            for name in ("arguments", "targets")
            if name in annotation
        }
        return {**annotation, "id": None, **pointers}

    annotations = sorted(map(repr, map(shown, record["annotations"])))
    chains = sorted((spans[r["from"]], spans[r["to"]]) for r in record["relations"]["event_coreference"])
    return {"tokens": record["tokens"], "annotations": annotations, "chains": chains}


def read_text(text, name="<file>"):
    return read(TextFile(name, text))


@pytest.fixture
def metric():
    return load("sentivent")


# --- TSV --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["anno_01", "anno_02"])
def test_annotation_project_is_the_same_in_both_formats(metric, tmp_path, name):
    text = benchmark_file(f"sentivent/{name}.xmi").read_text()
    (tmp_path / f"{name}.tsv").write_text(tsv(text))
    ours, theirs = read(tmp_path / f"{name}.tsv"), read(benchmark_file(f"sentivent/{name}.xmi"))
    assert (ours.format, ours.records[0]["id"]) == ("tsv", name)
    assert ours.format_notes == theirs.format_notes
    assert content(ours.records[0]) == content(theirs.records[0])
    bare = [{key: value for key, value in record.items() if key != "id"} for record in theirs.records]
    for prediction, reference in ((ours.records, ours.records), (ours.records, bare), (bare, ours.records)):
        result = metric.compute(predictions=prediction, references=reference, include_factuality=True)
        assert all(result[f"sentivent_{kind}score"] == pytest.approx(100) for kind in ("", "macro_", "relaxed_"))


def test_all_layers_in_both_formats():
    text = xmi(*DOCUMENT)
    ours, theirs = read_text(tsv(text)), read(io.StringIO(text))
    assert ours.format == "tsv"
    assert "id" not in ours.records[0]  # the name of the document is that of the file
    assert content(ours.records[0]) == content(theirs.records[0])
    assert ours.format_notes == theirs.format_notes == {"distant_parts": 1, "canonical_links": 0}
    for changed in (tsv(text).replace("\n", "\r\n"), "\ufeff" + tsv(text), tsv(text, version="3.0")):
        assert read_text(changed).records == ours.records
    assert read_text(re.sub("#FORMAT=.*", "#FORMAT=WebAnno TSV 3", tsv(text))).records == ours.records
    assert read_text(tsv(text).replace("\t\n", "\n")).records == ours.records  # without the last tab
    assert read_text(tsv(text).replace("#Text=", "#Sentence.id=s\n#Text=")).records == ours.records


HEADER = """#FORMAT=WebAnno TSV 3.3
#T_SP=webanno.custom.A_Event|a_Type|b_Subtype|ROLE_webanno.custom.A_Event:c_Participant_webanno.custom.A_EventC_ParticipantLink|webanno.custom.B_Participant
#T_SP=webanno.custom.B_Participant|
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.lexmorph.type.pos.POS|PosValue
#T_SP=webanno.custom.E_Sentiment|e_Polarity|ROLE_webanno.custom.E_Sentiment:a_Target_webanno.custom.E_SentimentA_TargetLink|uima.tcas.Annotation
#T_RL=webanno.custom.CorefEvent|BT_webanno.custom.A_Event
#T_CH=de.tudarmstadt.ukp.dkpro.core.api.coref.type.CoreferenceLink|referenceType|referenceRelation


"""


COLUMNS = ["type", "subtype", "roles", "arguments", "participant", "pos"]
COLUMNS += ["polarity", "target roles", "targets", "coreferent", "chain", "link"]
OFFSETS = {"1-1": "0-1", "1-2": "2-3", "1-3": "4-5", "1-4": "6-7", "2-1": "8-9", "1-1.1": "0-0"}


def line(unit, **cells):
    given = {name.replace("_", " "): cell for name, cell in cells.items()}
    return "\t".join([unit, OFFSETS[unit], "x", *(given.get(name, "_") for name in COLUMNS)]) + "\t\n"


def made(*lines):
    return HEADER + "#Text=x x x x\n" + "".join(lines)


EVENTS = {"type": r"Deal[1]|A\_B\|C\[1\][2]|*[3]", "subtype": "Sign[1]|*[2]|*[3]"}
ROLES = r"Agent;The\;me[1]|_[2]|_[3]"


def test_worked_document():
    """Events side by side, numbers, links without a role, targets of any layer, and chains, which are not read."""
    text = made(
        line("1-1", **EVENTS, roles=ROLES, arguments="1-3;1-4|*|*", pos="NN", chain="*[1]", link="*->1-1"),
        line("1-2", type="Deal[1]", subtype="Sign[1]", roles=r"Agent;The\;me[1]", arguments="1-3;1-4", pos="NN"),
        line("1-3", participant="*", pos="NN", polarity="+Positive", target_roles="*", targets="1-1[2]"),
        line("1-4", type="Deal", subtype="*", roles="_", arguments="*", participant="*", coreferent="1-1[3_0]",
             polarity="-Negative[4]", target_roles="*;x[4]", targets="1-1[1];1-4"),
        line("2-1", polarity="-Negative[4]", target_roles="*;x[4]", targets="1-1[1];1-4"),
    )  # fmt: skip
    with pytest.raises(ValueError, match=r":14: 1-4 points to 2 annotations, expected one of the layer Annotation"):
        read_text(text)
    (record,) = read_text(text.replace("|uima.tcas.Annotation", "|webanno.custom.B_Participant")).records
    annotations = {a["id"]: a for a in record["annotations"]}
    events = [a for a in record["annotations"] if a["kind"] == "event"]
    assert [(e["span"]["tokens"], e["type"], e["subtype"]) for e in events] == [
        ([0, 1], "Deal", "Sign"),
        ([0], "A_B|C[1]", None),
        ([0], None, None),
        ([3], "Deal", None),
    ]
    assert events[0]["span"] == {"tokens": [0, 1], "chars": [[0, 3]], "discontinuous": False}
    arguments = [(a["role"], annotations[a["id"]]["span"]["tokens"]) for a in events[0]["arguments"]]
    assert arguments == [("Agent", [2]), ("The;me", [3])]
    assert all(e["arguments"] == [] for e in events[1:])
    expressions = [a for a in record["annotations"] if a["kind"] == "sentiment_expression"]
    assert [(e["span"]["tokens"], e["polarity"]) for e in expressions] == [([2], "positive"), ([3, 4], "negative")]
    assert [t["id"] for t in expressions[0]["targets"]] == [events[1]["id"]]
    assert [annotations[t["id"]]["kind"] for t in expressions[1]["targets"]] == ["event", "participant"]
    assert record["relations"]["event_coreference"] == [{"from": events[2]["id"], "to": events[3]["id"]}]


def test_spans_of_parts_of_tokens():
    """A span has its whole tokens; if it has none, the tokens that its parts belong to."""
    text = TEXT_OF_PARTS
    ours = read_text(text)
    spans = [a["span"]["tokens"] for a in ours.records[0]["annotations"]]
    assert spans == [[0], [0, 1], [1]]
    assert ours.format_notes["partial_tokens"] == 1 + 2 + 1
    whole = xmi(("B_Participant", "Acme gr", 'xmi:id="20"'), ("B_Participant", "me grew no", 'xmi:id="21"'))
    theirs = read(io.StringIO(whole))
    assert [a["span"]["tokens"] for a in theirs.records[0]["annotations"]] == [[2], [3]]
    assert theirs.format_notes["partial_tokens"] == 3
    assert content(read_text(tsv(whole)).records[0]) == content(theirs.records[0])
    assert read_text(tsv(whole)).format_notes == theirs.format_notes


TEXT_OF_PARTS = """#FORMAT=WebAnno TSV 3.3
#T_SP=webanno.custom.B_Participant|


#Text=Acmes grew
1-1\t0-5\tAcmes\t_\t
1-1.1\t0-4\tAcme\t*\t
1-1.2\t3-5\tes\t*[2]\t
1-2\t6-10\tgrew\t_\t
1-2.1\t6-8\tgr\t*|*[2]\t
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("#FORMAT=WebAnno TSV 2\n", ":1: '#FORMAT=WebAnno TSV 2' is not the first line, expected #FORMAT="),
        (HEADER, ":1: the document has no tokens"),
        (made("1-1\t0-1\tx\t_\n"), r":11: 4 columns, expected 15: 3 of the token and 12 of the layers"),
        (made("what is this"), ":11: 'what is this' is not a line of a token"),
        (made("1-1\t0 to 1\tx\n"), ":11: .* is not a line of a token"),
        (made(line("1-1"), line("1-1")), ":12: 1-1 is the number of line 11 too"),
        (made(line("1-1.1")), ":11: 1-1.1 is a part of a token that has no line before it"),
        (made(line("1-1"), "#FORMAT=WebAnno TSV 3.3"), ":12: a second document begins"),
        (made(line("1-1", type="A|B", subtype="x|y|z")), r":11: A_Event: columns of 2, 3, 1, 1 annotations"),
        (made(line("1-1", type="A", roles="R;S", arguments="1-1")), ":11: c_Participant: 1 targets, .* as roles, 2"),
        (made(line("1-1", type="A", roles="R", arguments="1-9")), ":11: 1-9 points to 0 annotations, .* B_Participant"),
        (made(line("1-1", type="A", roles="R", arguments="x")), ":11: 'x' is not the number of a line"),
        (made(line("1-1", type="A", roles="*", arguments="1-1", participant="*")), ":11: c_Participant lacks role"),
        (made(line("1-1", type="A", coreferent="x[1_2]")), ":11: 'x' is not the number of a line"),
        (made(line("1-1", type="A", coreferent="1-1[3_0]")), r":11: 1-1\[3\] points to 0 annotations"),
        (made(line("1-1", type="A[1]"), line("1-2"), line("1-3", type="A[1]")), ":13: A_Event: the number 1 is"),
        (made(line("1-1", type="A[1]"), line("1-2", type="B[1]")), ":12: A_Event: other values than in line 11"),
        (made(line("1-1", polarity="good")), ":11: e_Polarity: 'good' is not one of =Neutral"),
        (made(line("1-1"), line("1-1.1", participant="*")), ":12: 0 to 0 covers no token"),
    ],
)  # fmt: skip
def test_refused_tsv(tmp_path, text, words):
    path = tmp_path / "document.tsv"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"document.tsv{words}") as error:
        read(path)
    assert "\n" not in str(error.value)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_damaged_tsv_gives_a_record_or_an_error_of_one_line(data):
    text = tsv(xmi(*DOCUMENT))
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 30)))
    damaged = text[:start] + data.draw(st.text("\\[]|_;*->\t\n#0123.ab", max_size=8)) + text[end:]
    try:
        corpus = read(io.StringIO(damaged), format="tsv")
    except ValueError as error:
        assert re.match(r"<file>:\d+: ", str(error))
        assert "\n" not in str(error)
    else:
        assert corpus.format == "tsv"


# --- zip files and folders --------------------------------------------------------------------------------------------

TYPES = '<?xml version="1.0"?><typeSystemDescription xmlns="http://uima.apache.org/resourceSpecifier"/>'


def titled(name):
    return xmi(*DOCUMENT).replace('documentTitle="ours"', f'documentTitle="{name}"')


def zipped(files):
    """A zip file in memory, of names and contents; a dict is a zip file inside."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, value in files.items():
            packed.writestr(name, zipped(value) if isinstance(value, dict) else value)
    return data.getvalue()


def unpacked(files, folder):
    for name, value in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = zipped(value) if isinstance(value, dict) else value
        path.write_bytes(data.encode() if isinstance(data, str) else data)
    return folder


def project(kind="xmi", annotators=("anna",)):
    """A project's export, as WebAnno writes it."""
    made = {
        "exportedproject.json": "{}",
        "log/project.log": "",
        "META-INF/x": "",
        "annotation_ser/b.txt/anna.ser": b"\0",
    }
    for name in ("b.txt", "a.txt"):
        made[f"source/{name}"] = "Good"
        made[f"source/{name}.xml"] = titled("source")
        for annotator in ("INITIAL_CAS", *annotators):
            text = titled(name)
            if kind == "xmi":
                made[f"annotation/{name}/{annotator}.zip"] = {f"{annotator}.xmi": text, "TypeSystem.xml": TYPES}
            else:
                made[f"annotation/{name}/{annotator}.tsv"] = tsv(text)
    return made


@pytest.mark.parametrize("kind", ["xmi", "tsv"])
@pytest.mark.parametrize("as_zip", [True, False])
def test_export_of_a_project(metric, tmp_path, kind, as_zip):
    path = tmp_path / "project.zip" if as_zip else unpacked(project(kind), tmp_path / "project")
    if as_zip:
        path.write_bytes(zipped(project(kind)))
    assert detect_path(path) == "export"
    corpus = read(path)
    assert [record["id"] for record in corpus.records] == ["a.txt", "b.txt"]
    assert (corpus.format, corpus.format_notes) == (kind, {"distant_parts": 2, "canonical_links": 0})
    assert [content(record) for record in corpus.records] == [content(read(io.StringIO(titled("x"))).records[0])] * 2
    result = metric.compute(predictions=corpus.records, references=corpus.records, include_factuality=True)
    assert result["sentivent_score"] == pytest.approx(100)
    assert "pairing:id" in result["signature"]


def test_documents_that_nobody_annotated_are_counted(tmp_path):
    files = project() | {"annotation/c.txt/INITIAL_CAS.zip": {"INITIAL_CAS.xmi": titled("c.txt")}}
    for path in (unpacked(files, tmp_path / "project"), tmp_path / "project.zip"):
        if path.suffix:
            path.write_bytes(zipped(files))
        corpus = read(path)
        assert [record["id"] for record in corpus.records] == ["a.txt", "b.txt"]
        assert corpus.format_notes["unannotated_documents"] == 1


def test_several_annotators(tmp_path):
    path = tmp_path / "project.zip"
    path.write_bytes(zipped(project(annotators=("anna", "ben")) | {"curation/a.txt/CURATION_USER.zip": {
        "CURATION_USER.xmi": titled("a.txt").replace("Growth", "Rating")}}))  # fmt: skip
    with pytest.raises(
        ValueError, match=r"project.zip:1: the document 'a.txt' is there 3 times, by anna, ben, CURATION_U"
    ):
        read(path)
    corpus = read(path, annotator="ben")
    assert [record["id"] for record in corpus.records] == ["a.txt", "b.txt"]
    assert corpus.format_notes["documents_of_others"] == 0
    corpus = read(path, annotator="CURATION_USER")
    assert [record["id"] for record in corpus.records] == ["a.txt"]
    assert "Rating" in {a.get("type") for a in corpus.records[0]["annotations"]}
    assert corpus.format_notes["documents_of_others"] == 1
    with pytest.raises(
        ValueError, match=r"annotator: 'eve' annotated no document, expected one of CURATION_USER, anna, b"
    ):
        read(path, annotator="eve")


def test_files_of_one_name_in_a_zip_each(tmp_path):
    """The corpus' own export: a zip file of a random name for each document, with the annotator's file inside."""
    files = {
        f"annotation/{name}/webanno{number}export.zip": {"anna.xmi": titled(name), "typesystem.xml": TYPES}
        for number, name in ((7, "d.txt"), (3, "c.txt"))
    }
    assert [r["id"] for r in read(unpacked(files, tmp_path / "project")).records] == ["c.txt", "d.txt"]
    assert [r["id"] for r in read(tmp_path / "project", annotator="anna").records] == ["c.txt", "d.txt"]
    files["annotation/d.txt/webanno9export.zip"] = {"anna.xmi": titled("d.txt")}
    with pytest.raises(ValueError, match=r"'d.txt' is there 2 times, by webanno7export, webanno9export"):
        read(unpacked(files, tmp_path / "twice"))
    (tmp_path / "one.zip").write_bytes(zipped({"anna.xmi": titled("d.txt"), "typesystem.xml": TYPES}))
    assert read(tmp_path / "one.zip").records[0]["id"] == "d.txt"


@pytest.mark.parametrize("as_zip", [True, False])
def test_documents_side_by_side(tmp_path, as_zip):
    files = {
        "z.tsv": tsv(titled("z")),
        "more/a.tsv.gz": gzip.compress(tsv(titled("a")).encode()),
        "m.xmi": titled("m"),
        "q.xml": titled("q"),
        "types.xml": TYPES,
        ".hidden.tsv": "x",
        "__MACOSX/._z.tsv": "x",
        "README.md": "# Documents",
    }
    path = unpacked(files, tmp_path / "gold")
    if as_zip:
        path = tmp_path / "gold.zip"
        path.write_bytes(zipped(files))
    corpus = read(path)
    assert (corpus.format, [record["id"] for record in corpus.records]) == ("export", ["a", "m", "q", "z"])
    assert [record["id"] for record in read(path, format="tsv").records] == ["a", "z"]
    assert [record["id"] for record in read(path, format="xmi").records] == ["m", "q"]
    with pytest.raises(
        ValueError, match=r"gold.*:1: (a folder, expected a file|not UTF-8 text|a zip file with 7 files)"
    ):
        read(path, format="jsonl")


def test_folders_of_annotators(tmp_path):
    """Files of one name are those of an annotator, and their folders are the documents."""
    files = {f"{name}/{who}.tsv": tsv(titled("x")) for name in ("a", "b") for who in ("anna", "ben")}
    path = unpacked(files, tmp_path / "documents")
    with pytest.raises(ValueError, match="the document 'a' is there 2 times, by anna, ben"):
        read(path)
    assert [record["id"] for record in read(path, annotator="ben").records] == ["a", "b"]
    both = unpacked({"a.tsv": tsv(titled("a")), "a.xmi": titled("a")}, tmp_path / "both")
    with pytest.raises(ValueError, match=r"'a' is there 2 times, by a.tsv, a.xmi, .* or the format xmi or tsv"):
        read(both)
    assert read(both, format="xmi").format == "xmi"


def test_a_zip_file_of_rows(tmp_path):
    rows = '{"id": "a", "annotations": []}\n'
    (tmp_path / "rows.zip").write_bytes(zipped({"rows.jsonl": rows}))
    corpus = read(tmp_path / "rows.zip")
    assert (corpus.format, corpus.records) == ("jsonl", [{"id": "a", "annotations": []}])


def damaged():
    good = zipped({"a.xmi": titled("a")})
    at = good.index(b"PK\x01\x02")
    yield "cut", good[:-30]
    yield "flipped", good[: at // 2] + bytes(byte ^ 255 for byte in good[at // 2 : at // 2 + 20]) + good[at // 2 + 20 :]
    yield "locked", good[:6] + b"\x01" + good[7 : at + 8] + b"\x01" + good[at + 9 :]
    yield "method", good[:8] + b"\x63" + good[9 : at + 10] + b"\x63" + good[at + 11 :]


@pytest.mark.parametrize("name", ["cut", "flipped", "locked", "method"])
@pytest.mark.parametrize("inside", [False, True])
def test_damaged_zip_files(tmp_path, name, inside):
    data = dict(damaged())[name]
    (tmp_path / "x.zip").write_bytes(zipped({"annotation/a/anna.zip": data}) if inside else data)
    with pytest.raises(ValueError, match=r"x\.zip.*:1: ") as error:
        read(tmp_path / "x.zip")
    assert "\n" not in str(error.value)


def test_refused_exports(tmp_path):
    def refused(files, words):
        (tmp_path / "x.zip").write_bytes(zipped(files))
        with pytest.raises(ValueError, match=words) as error:
            read(tmp_path / "x.zip")
        assert "\n" not in str(error.value)
        assert "\x1b" not in str(error.value)

    refused({}, "x.zip:1: no documents, expected XMI or TSV files .*; it is empty")
    refused({"a.txt": "x", "b.ser": "y"}, r"x.zip:1: no documents, .* it holds 2 files \(a.txt, b.ser\)")
    refused({"a.txt": "x", "\x1b[31m\n": "y"}, r"it holds 2 files \(\?\[31m\?, a.txt\)")
    refused({"a/b\n.xmi": titled("a")[:-9], "c.xmi": ""}, r"x.zip/a/b\?.xmi:\d+: not XML")
    refused(
        {"a.tsv": tsv(titled("a")), "c.tsv": "x\ty\n"}, r"x.zip/c.tsv:1: no format fits, nearest are .*WebAnno TSV 3"
    )
    refused({"a.tsv": b"\xff", "b.tsv": ""}, r"x.zip/a.tsv:1: not UTF-8 text")
    refused({"a.tsv": '{"annotations": []}', "c.tsv": tsv(titled("a"))}, "x.zip/a.tsv:1: neither XMI nor TSV")
    refused(
        {"a.zip": {"b.zip": {"c.zip": {"d.zip": {"e.xmi": titled("e")}}}}, "x": ""}, r"c.zip:1: a zip file in 3 others"
    )
    with pytest.raises(ValueError, match=r":1: no documents, .* it is empty"):
        (tmp_path / "empty").mkdir()
        read(tmp_path / "empty")
    with pytest.raises(ValueError, match=":1: not an export, expected a folder or a zip file of documents"):
        (tmp_path / "x.jsonl").write_text("{}")
        read(tmp_path / "x.jsonl", format="export")


def test_paths_out_of_the_export_write_nothing(tmp_path):
    inside = tmp_path / "inside"
    inside.mkdir()
    names = ["../out.xmi", "/tmp/out-of-the-export.xmi", "C:\\out.xmi", "..\\..\\out.xmi"]
    (inside / "x.zip").write_bytes(zipped({name: titled(str(at)) for at, name in enumerate(names)}))
    before = sorted(tmp_path.rglob("*"))
    assert [record["id"] for record in read(inside / "x.zip").records] == ["0", "1", "2", "3"]
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("form", ["one", "many", "inside", "gzip", "said small"])
def test_what_an_export_may_expand_to(tmp_path, monkeypatch, form):
    monkeypatch.setenv("SPANSCORE_MAX_SIZE", "1M")
    large = b" " * 2**21
    files = {
        "one": {"a.xmi": large},
        "many": {f"{at}.xmi": large[: 2**18] for at in range(6)},
        "inside": {f"{at}.zip": {"a.xmi": large[: 2**19]} for at in range(3)},
        "gzip": {"a.xmi.gz": gzip.compress(large), "b": ""},
        "said small": {"a.xmi": large},
    }[form]
    data = zipped(files)
    if form == "said small":  # the directory of the file lies about the size
        data = data.replace((2**21).to_bytes(4, "little"), (9).to_bytes(4, "little"))
    (tmp_path / "x.zip").write_bytes(data)
    with pytest.raises(
        ValueError, match=r"x\.zip/.*:1: (with the packed files before it expands to more than 1M|a file that)"
    ):
        read(tmp_path / "x.zip")


# --- finding the format -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", ["", ".txt", ".xmi", ".tsv", ".jsonl", ".conll"])
def test_formats_are_told_by_content(tmp_path, suffix):
    contents = {
        "xmi": titled("a"),
        "tsv": tsv(titled("a")),
        "jsonl": '{"annotations": []}\n{"annotations": []}\n',
        "list": '[{"annotations": []},\n {"annotations": []}]\n',
        "object": '{\n  "annotations": []\n}\n',
    }
    for name, text in contents.items():
        for packed in (False, True):
            path = tmp_path / f"{name}{suffix}{'.gz' if packed else ''}"
            path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
            corpus = read(path)
            assert corpus.format == (name if name in ("xmi", "tsv") else "jsonl")
            assert len(corpus.records) == (2 if name in ("jsonl", "list") else 1)
            assert read(io.StringIO(text)).records == [
                {key: value for key, value in record.items() if name != "tsv" or key != "id"}
                for record in corpus.records
            ]
            assert detect_path(path) == (name if name in ("xmi", "tsv") else "auto")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The food was great .####[([1], [4], 'POS')]\n", "x:1: no format fits, nearest are jsonl .*; tsv .*; xmi"),
        ('[{"title": "A", "sents": [["x"]], "vertexSet": []}]', r"x:1: .* the keys title, sents, vertexSet$"),
        (
            '{"id": 1, "words": ["x"], "triplets": []}',
            r"is not a document, expected .*; there are the keys id, words, trip",
        ),
        ("premise\thypothesis\n", "x:1: no format fits"),
        ("<html></html>", "x:1: 0 elements Sofa, expected one, as in a WebAnno export"),
        ("#FORMAT=WebAnno TSV 2\n", "x:1: .* expected #FORMAT=WebAnno TSV 3.3"),
        ("[1, 2]", r"x:1: records\[0\]: 1 is not a document"),
    ],
)
def test_files_of_other_benchmarks_are_refused(text, words):
    with pytest.raises(ValueError, match=words) as error:
        read(TextFile("x", text))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "name",
    [
        "aste/v2/14lap/test_triplets.txt",
        "aste/v1/14lap_test.txt",
        "aste/gts/lap14_test.json",
        "docred/dev_revised.json",
    ],
)
def test_benchmark_files_of_other_benchmarks_are_refused(name):
    path = benchmark_file(name)
    with pytest.raises(ValueError, match=r":\d+: .*(no format fits|is not a document)") as error:
        read(path)
    assert len(str(error.value)) < 600
    assert "\n" not in str(error.value)


def test_detect_of_texts():
    assert [detect(TextFile("x", text)) for text in ("", "  <a>", "\ufeff#FORMAT=x", "[", ' {"a"')] == [
        "jsonl", "xmi", "tsv", "jsonl", "jsonl"]  # fmt: skip


# --- the command line -------------------------------------------------------------------------------------------------


def test_exports_on_the_command_line(tmp_path, capsys):
    from spanscore.cli import main

    def run(*arguments):
        return main(list(map(str, arguments))), *capsys.readouterr()

    (tmp_path / "gold.zip").write_bytes(zipped(project(annotators=("anna", "ben"))))
    folder = unpacked(project("tsv"), tmp_path / "folder")
    code, _, said = run("sentivent", folder, tmp_path / "gold.zip")
    assert code == 2
    assert said.startswith("error: ")
    assert "by anna, ben" in said
    code, out, said = run("sentivent", folder, tmp_path / "gold.zip", "--annotator", "anna")
    assert code == 0
    assert "sentivent_score" in out
    assert "100.00" in out
    assert f"{folder}: format tsv, 2 records" in said
    assert run("validate", "sentivent", folder)[0] == 0
    assert run("validate", "sentivent", tmp_path / "gold.zip")[0] == 2
