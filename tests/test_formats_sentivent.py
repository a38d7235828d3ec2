import gzip
import html
import io
import json
import re

import pytest
from conftest import benchmark_file, load, perturbed
from hypothesis import given, settings
from hypothesis import strategies as st

import spanscore.formats.sentivent
from spanscore.formats.sentivent import read, write


@pytest.fixture
def rows():
    return json.loads(perturbed("sentivent-hard", 12))["references"]


# --- the rows of the dataset ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz", "rows.ndjson", "rows.txt"])
def test_json_lines_there_and_back(rows, tmp_path, name):
    write(tmp_path / name, rows)
    corpus = read(tmp_path / name)
    assert (corpus.format, corpus.records, corpus.format_notes) == ("jsonl", rows, {})
    assert read(io.StringIO("\n\n".join(map(json.dumps, rows)))).records == rows


@pytest.mark.parametrize("name", ["rows.parquet", "rows.bin"])
def test_parquet_there_and_back(rows, tmp_path, name):
    write(tmp_path / name, rows, format="parquet")
    corpus = read(tmp_path / name)
    assert corpus.format == "parquet"
    assert [row["id"] for row in corpus.records] == [row["id"] for row in rows]
    result = load("sentivent").compute(predictions=rows, references=corpus.records, include_factuality=True)
    assert result["sentivent_score"] == pytest.approx(100)
    assert result == load("sentivent").compute(predictions=rows, references=rows, include_factuality=True)


def test_parquet_of_a_dataset(rows, tmp_path):
    import datasets

    datasets.Dataset.from_list(rows).to_parquet(str(tmp_path / "test.parquet"))
    records = read(tmp_path / "test.parquet").records
    assert load("sentivent").compute(predictions=rows, references=records)["sentivent_score"] == pytest.approx(100)


def test_refused_rows(rows, tmp_path):
    path = tmp_path / "rows.jsonl"

    def refused(text, words, **more):
        path.write_text(text)
        with pytest.raises(ValueError, match=words):
            read(path, **more)

    good = json.dumps(rows[0])
    refused(f"{good}\n\n{{", r"rows.jsonl:3: not JSON")
    refused(f"{good}\n[1]", r"rows.jsonl:2: \[1\] is not a document, expected a row of the dataset")
    refused('{"annotations": {}}', r"rows.jsonl:1: .* is not a document")
    refused('{"id": "' + "x" * 99 + '"}', r"xxx\.\.\. is not a document")
    refused(good, "format: 'csv' is not one of auto, jsonl, parquet, xmi", format="csv")
    refused(good, "rows.jsonl:1: not a Parquet file", format="parquet")
    with pytest.raises(ValueError, match="<file>:1: not a Parquet file"):
        read(io.StringIO("PAR1"), format="parquet")
    with pytest.raises(ValueError, match="<file>:1: not a Parquet file"):
        read(io.BytesIO(b"PAR1"))
    with pytest.raises(ValueError, match="format: 'xmi' is not one of auto, jsonl, parquet"):
        write(path, rows, format="xmi")
    with pytest.raises(ValueError, match=r"rows\.parquet: these records do not fit into Parquet"):
        write(tmp_path / "rows.parquet", [{"annotations": [{"span": [1]}, {"span": {"tokens": [1]}}]}])
    with pytest.raises(ValueError, match=r"rows\.jsonl: these records do not fit into JSON"):
        write(path, [{"annotations": [{1, 2}]}])
    import pyarrow as pa
    import pyarrow.parquet

    pyarrow.parquet.write_table(pa.table({"text": ["x"]}), str(tmp_path / "other.parquet"))
    with pytest.raises(ValueError, match=r"other\.parquet:1: columns text are not those of the dataset"):
        read(tmp_path / "other.parquet")


# --- WebAnno XMI ------------------------------------------------------------------------------------------------------


def by_regex(text):
    """The elements of an XMI file by name, as dicts of attributes, without an XML parser."""
    found = {}
    for name, attributes in re.findall(r"<[\w]+:([\w]+)((?:\s+[\w:]+=\"[^\"]*\")*)\s*/>", text):
        pairs = re.findall(r"([\w:]+)=\"([^\"]*)\"", attributes)
        found.setdefault(name, []).append({key: html.unescape(value) for key, value in pairs})
    return found


@pytest.mark.parametrize(("name", "n_events", "n_arguments"), [("anno_01", 26, 39), ("anno_02", 11, 32)])
def test_annotation_project_agrees_with_another_reader(name, n_events, n_arguments):
    path = benchmark_file(f"sentivent/{name}.xmi")
    corpus = read(path)
    (record,) = corpus.records
    assert corpus.format == "xmi"
    layers = by_regex(path.read_text())
    text = layers["Sofa"][0]["sofaString"]
    by_id = {e["xmi:id"]: e for elements in layers.values() for e in elements if "xmi:id" in e}

    def words(*elements):
        return " ".join(text[int(e["begin"]) : int(e["end"])] for e in elements)

    def covered(annotation):
        return " ".join(record["tokens"][at] for at in annotation["span"]["tokens"])

    annotations = {a["id"]: a for a in record["annotations"]}
    events = [a for a in record["annotations"] if a["kind"] == "event"]
    assert len(events) == len(layers["A_Event"]) == n_events
    assert sum(len(e["arguments"]) for e in events) == n_arguments
    for element in layers["A_Event"]:
        event = annotations[element["xmi:id"]]
        parts = [by_id[by_id[link]["target"]] for link in element.get("f_Discontiguous", "").split()]
        assert covered(event).split() == [w for part in (element, *parts) for w in tokenised(words(part), record)]
        assert (event["type"], event["subtype"]) == (element["a_Type"], element.get("b_Subtype"))
        assert event["negated"] is (element["f_NegativePolarityFactuality"] == "true")
        assert event["modality"] == {"true": "other", "false": "certain"}[element["e_OtherModalityFactuality"]]
        assert (event["realis"] == "asserted") == (not event["negated"] and event["modality"] == "certain")
        assert event["polarity"] is event["scoped_polarity"] is None
        links = [by_id[link] for link in (element["c_Participant"] + " " + element["d_FILLER"]).split()]
        assert [(a["role"], a["id"]) for a in event["arguments"]] == [(e["role"], e["target"]) for e in links]
        for link in links:
            target = annotations[link["target"]]
            assert covered(target).split() == tokenised(words(by_id[link["target"]]), record)
    for kind, layer in (
        ("participant", "B_Participant"),
        ("filler", "C_FILLER"),
        ("canonical_referent", "PronomCanonRef"),
    ):
        assert sum(a["kind"] == kind for a in record["annotations"]) == len(layers.get(layer, []))
    assert record["relations"]["event_coreference"] == [
        {"from": e["Governor"], "to": e["Dependent"]} for e in layers["CorefEvent"]
    ]
    assert record["id"] == layers["DocumentMetaData"][0]["documentTitle"]
    assert len(record["tokens"]) == len(layers["Token"])


def tokenised(words, record):
    """Words as the file's tokens have them: without spaces, which token boundaries need not follow."""
    joined, found = words.replace(" ", ""), []
    vocabulary = set(record["tokens"])
    for word in words.split():
        while word:
            end = next(n for n in range(len(word), 0, -1) if word[:n] in vocabulary)
            found.append(word[:end])
            word = word[end:]
    assert "".join(found) == joined
    return found


TEXT = "Good \U0001f680 Acme grew not .\nIt may fall ."
SENTENCES = ["Good \U0001f680 Acme grew not .", "It may fall ."]


def xmi(*elements, text=TEXT, head='<?xml version="1.0" encoding="UTF-8"?>'):
    """A document of our own; offsets of words are found in UTF-16, as WebAnno counts."""

    def place(word, after=0):
        begin = text.index(word, after)
        return tuple(len(text[:at].encode("utf-16-le")) // 2 for at in (begin, begin + len(word)))

    lines = ['<type2:DocumentMetaData xmi:id="1" documentTitle="ours"/>']
    number, after = 100, 0
    for sentence in text.split("\n"):
        begin, end = place(sentence, after)
        lines.append(f'<type4:Sentence xmi:id="{number}" begin="{begin}" end="{end}"/>')
        for word in sentence.split():
            number, (begin, end) = number + 1, place(word, after)
            lines.append(f'<type4:Token xmi:id="{number}" begin="{begin}" end="{end}"/>')
            after = text.index(word, after) + len(word)
        number += 1
    for element in elements:
        name, word, attributes = element
        where = 'begin="{}" end="{}" '.format(*place(word)) if word else ""
        lines.append(f"<custom:{name} {where}{attributes}/>")
    shown = text.replace("\n", "&#10;")
    lines.append(f'<cas:Sofa xmi:id="12" sofaString="{shown}"/>')
    spaces = "xmi=http://www.omg.org/XMI custom=http:///webanno/custom.ecore cas=http:///uima/cas.ecore"
    spaces += " type2=http:///type2.ecore type4=http:///type4.ecore"
    declared = " ".join('xmlns:{}="{}"'.format(*space.split("=", 1)) for space in spaces.split())
    return "\n".join([head, f"<xmi:XMI {declared}>", *lines, "</xmi:XMI>"])


OURS = (
    ("B_Participant", "Acme", 'xmi:id="20"'),
    ("C_FILLER", "It", 'xmi:id="21"'),
    ("A_Event", "grew", 'xmi:id="30" a_Type="Growth" c_Participant="40" d_FILLER="41" f_Discontiguous="42 43" '
     'e_OtherModalityFactuality="false" f_NegativePolarityFactuality="true" i_Polarity="+Positive"'),
    ("D_Discontiguous", "Good", 'xmi:id="31"'),
    ("D_Discontiguous", "may", 'xmi:id="32"'),
    ("A_Event", "fall", 'xmi:id="33" a_Type="Loss" b_Subtype="Fall" c_Participant="" i_Polarity="-Negative" '
     'e_OtherModalityFactuality="true" f_NegativePolarityFactuality="false"'),
    ("A_Event", "It", 'xmi:id="34"'),
    ("A_EventC_ParticipantLink", "", 'xmi:id="40" role="Company" target="20"'),
    ("A_EventD_FILLERLink", "", 'xmi:id="41" role="TIME" target="21"'),
    ("A_EventF_DiscontiguousLink", "", 'xmi:id="42" role="Discontiguous" target="31"'),
    ("A_EventF_DiscontiguousLink", "", 'xmi:id="43" role="Discontiguous" target="32"'),
    ("E_Sentiment", "Good \U0001f680", 'xmi:id="50" e_Polarity="-Negative" c_Uncertain="true" d_Negated="true" '
     'a_Target="60" b_TargetEvent="61"'),
    ("E_Sentiment", "may", 'xmi:id="51" e_Polarity="=Neutral" c_Uncertain="false" d_Negated="false" a_Target=""'),
    ("E_SentimentA_TargetLink", "", 'xmi:id="60" role="x" target="20"'),
    ("E_SentimentB_TargetEventLink", "", 'xmi:id="61" role="x" target="33"'),
    ("CorefEvent", "fall", 'xmi:id="70" Governor="30" Dependent="33"'),
)  # fmt: skip


def test_all_layers():
    corpus = read(io.StringIO(xmi(*OURS)))
    (record,) = corpus.records
    annotations = {a["id"]: a for a in record["annotations"]}
    assert record["id"] == "ours"
    assert record["tokens"] == ["Good", "🚀", "Acme", "grew", "not", ".", "It", "may", "fall", "."]
    assert corpus.format_notes == {"distant_parts": 1, "canonical_links": 0}
    grew = annotations["30"]
    assert grew["span"] == {"tokens": [0, 3], "chars": [[0, 4], [12, 16]], "discontinuous": True}
    assert grew["arguments"] == [{"role": "Company", "id": "20"}, {"role": "TIME", "id": "21"}]
    labels = ("type", "subtype", "polarity", "scoped_polarity", "realis", "modality", "negated")
    assert [grew[x] for x in labels] == ["Growth", None, "positive", "negative", "other", "certain", True]
    assert [annotations["33"][x] for x in labels] == ["Loss", "Fall", "negative", "negative", "other", "other", False]
    assert [annotations["34"][x] for x in labels] == [None, None, None, None, "other", None, None]
    labels = ("polarity", "scoped_polarity", "uncertain", "negated", "targets")
    good = annotations["50"]
    assert good["span"] == {"tokens": [0, 1], "chars": [[0, 6]], "discontinuous": False}
    assert [good[x] for x in labels] == ["negative", "positive", True, True, [{"id": "20"}, {"id": "33"}]]
    assert [annotations["51"][x] for x in labels] == ["neutral", "neutral", False, False, []]
    assert record["relations"] == {"event_sentiment": [], "event_coreference": [{"from": "30", "to": "33"}]}
    result = load("sentivent").compute(predictions=[record], references=[record], include_factuality=True)
    assert result["sentivent_score"] == pytest.approx(100)
    assert result["strict"]["event_trigger"]["gold_invalid_structure"] == 1


def replaced(at, old, new):
    changed = list(OURS)
    name, word, attributes = changed[at]
    assert old in attributes
    changed[at] = (name, word, attributes.replace(old, new))
    return xmi(*changed)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<a>", r":1: not XML"),
        ("<xmi></xmi>", r":1: 0 elements Sofa, expected one"),
        (xmi(*OURS).replace("documentTitle", "x"), r":3: DocumentMetaData lacks documentId"),
        (replaced(2, 'c_Participant="40"', 'c_Participant="99"'), r":\d+: c_Participant: '99' is the id of nothing"),
        (replaced(7, 'target="20"', 'target="98"'), r":\d+: target: '98' is the id of nothing"),
        (replaced(7, 'role="Company"', ""), r":\d+: A_EventC_ParticipantLink lacks role"),
        (replaced(2, 'i_Polarity="+Positive"', 'i_Polarity="good"'), r"i_Polarity: 'good' is not one of =Neutral"),
        (replaced(2, 'Factuality="true"', 'Factuality="yes"'), r"f_Negative.*: 'yes' is not one of true, false"),
        (replaced(11, 'd_Negated="true"', 'd_Negated="1"'), r"d_Negated: '1' is not one of true, false"),
        (xmi(("B_Participant", "", 'xmi:id="9" begin="3" end="999"')), r":\d+: 3 to 999 is not a range of the text"),
        (xmi(("B_Participant", "", 'xmi:id="9" begin="3" end="x"')), r":\d+: 3 to x is not a range of the text"),
        (xmi(("B_Participant", "", 'xmi:id="9" begin="1" end="3"')), r":\d+: 1 to 3 covers no token"),
        (xmi(("B_Participant", "", 'xmi:id="9" begin="1"')), r":\d+: B_Participant lacks end"),
        (xmi(("CorefEvent", "", 'xmi:id="9" Governor="8" Dependent="8"')), r":\d+: Governor: '8' is the id of nothing"),
        (re.sub("<type4:Token.*/>", "", xmi()), r"the document has no tokens"),
    ],
)
def test_refused_xmi(tmp_path, text, words):
    path = tmp_path / "document.xmi"
    path.write_text(text)
    with pytest.raises(ValueError, match=f"document.xmi{words}" if words.startswith(":") else words) as error:
        read(path)
    assert "\n" not in str(error.value)


def test_packed_and_named_otherwise(tmp_path):
    wanted = read(io.StringIO(xmi(*OURS))).records
    (tmp_path / "document.xmi.gz").write_bytes(gzip.compress(xmi(*OURS).encode()))
    (tmp_path / "document").write_text(xmi(*OURS))
    assert read(tmp_path / "document.xmi.gz").records == wanted
    assert read(str(tmp_path / "document")).records == wanted


def bomb():
    """Entities that each name the one before ten times."""
    entities = ['<!ENTITY a0 "ha">']
    entities += [f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 12)]
    return f"<!DOCTYPE x [{''.join(entities)}]>"


BOMB = bomb()


def test_entities_are_refused(tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    outside = f'<!DOCTYPE x [<!ENTITY e SYSTEM "{secret.as_uri()}">]>'
    head = '<?xml version="1.0"?>'
    for prologue, inside in (
        (BOMB, "&a11;"),
        (BOMB, ""),
        (outside, "&e;"),
        ('<!DOCTYPE x SYSTEM "http://127.0.0.1:9/x.dtd">', ""),
    ):
        text = xmi(*OURS, head=head + prologue).replace("</xmi:XMI>", f"<x>{inside}</x></xmi:XMI>")
        with pytest.raises(ValueError, match=r"not XML|document type definition") as error:
            read(io.StringIO(text))
        assert "secret" not in str(error.value)
    # In an attribute, where a parser must expand it.
    text = xmi(*OURS, head=head + BOMB).replace('role="Company"', 'role="&a11;"')
    with pytest.raises(ValueError, match=r"not XML|document type definition"):
        read(io.StringIO(text))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damaged_xmi_gives_a_record_or_an_error_of_one_line(data):
    text = xmi(*OURS)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 30)))
    damaged = text[:start] + data.draw(st.text('<>"=& 0123456789abx:/', max_size=8)) + text[end:]
    try:
        corpus = read(io.StringIO(damaged), format="xmi")
    except ValueError as error:
        assert re.match(r"<file>:\d+: ", str(error))
        assert "\n" not in str(error)
    else:
        json.dumps(corpus.records)


def test_formats_are_known():
    assert spanscore.formats.sentivent.FORMATS == ("jsonl", "parquet", "xmi", "tsv", "export")
