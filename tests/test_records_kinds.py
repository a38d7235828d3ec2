import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from records import (
    ByKind,
    Identifier,
    Items,
    Mistake,
    Optional,
    Record,
    Text,
    convert,
    rows,
)

PART = Record({"to": Identifier()}, "a part", aliases={"kind_of_part": "kind", "target": "to"})
PARTS = ByKind(PART, {"screw": "screw", "bolt": "screw", "nut": "nut"}, "parts, by kind or with a kind")
WHOLE = Record({"parts": Optional(PARTS)}, "a record")


def read(*records):
    return [record["parts"] for record in convert(list(records), WHOLE, "references").to_pylist()]


def parts(*pairs):
    return [{"kind": kind, "to": to} for kind, to in pairs]


def test_both_forms():
    grouped = {"screw": [{"to": "a"}, {"to": "b"}], "other": [{"to": "c"}, {}], "nut": None, "empty": []}
    wanted = parts(("screw", "a"), ("screw", "b"), ("other", None), ("other", None))
    assert read({"parts": grouped}, {}, {"parts": {}}, {"parts": None}) == [wanted, None, [], None]
    listed = [{"kind": "nut", "to": "a"}, {"kind": "other", "to": "b", "more": 1}]
    assert read({"parts": listed}, {"parts": []}) == [parts(("nut", "a"), ("other", None)), []]
    assert read({"parts": grouped}, {"parts": listed}) == [wanted, parts(("nut", "a"), ("other", None))]


def test_other_names():
    assert read({"parts": {"bolt": [{"target": 5}]}}) == [parts(("screw", "5"))]
    assert read({"parts": [{"kind_of_part": "bolt", "to": "x"}]}) == [parts(("screw", "x"))]
    assert read({"parts": {"bolt": [{"to": "a"}], "screw": [{"to": "b"}]}}) == [parts(("screw", "a"), ("screw", "b"))]


def test_other_kinds_may_hold_anything():
    assert read({"parts": {"x": 5, "y": "text", "z": [1, None]}}) == [parts(*[(k, None) for k in "xyzz"])]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (5, "parts: 5 is not parts, by kind or with a kind"),
        ("nut", "parts: 'nut' is not parts"),
        ({"nut": 5}, "parts.nut: 5 is not parts"),
        ({"nut": [None]}, r"parts.nut\[0\]: None is not a part"),
        ({"nut": [{}]}, r"parts.nut\[0\].to: missing"),
        ({5: []}, r"parts\[5\]: 5 is not a kind"),
        ({b"nut": []}, ""),
        ({"a\nb\ud800": []}, r"parts\['a\\nb\\ud800'\]"),
        ([5], r"parts\[0\]: 5 is not a part"),
        ([{"to": "a"}], r"parts\[0\].kind: missing"),
        ([{"kind": 5}], r"parts\[0\].kind: 5 is not a kind"),
        ([{"kind": "nut", "to": 1.5}], r"parts\[0\].to: 1.5 is not an id"),
    ],
)
def test_mistakes(value, words):
    if not words:
        assert read({"parts": value}) == [[]]
        return
    with pytest.raises(ValueError, match=f"^references\\[0\\].{words}") as error:
        read({"parts": value})
    assert "\n" not in str(error.value)


INNER = st.none() | st.booleans() | st.integers(-1, 5) | st.text("ab", max_size=1)
PIECE = st.dictionaries(st.sampled_from(["to", "kind", "target", "x"]), INNER | st.just("nut"), max_size=3)
GROUPS = st.dictionaries(st.sampled_from(["nut", "bolt", "other"]), st.lists(PIECE | INNER, max_size=3) | INNER)


@settings(max_examples=300)
@given(st.lists(st.fixed_dictionaries({"parts": GROUPS | st.lists(PIECE, max_size=3) | INNER}), max_size=3))
def test_fast_and_careful_way_agree(given_records):
    def careful():
        found = []
        for record in given_records:
            try:
                found.append(WHOLE.read(record))
            except Mistake as mistake:
                raise mistake.within(f"references[{len(found)}]").error() from None
        return pa.array(found, WHOLE.arrow)

    def outcome(way):
        try:
            return way().to_pylist()
        except ValueError as error:
            return str(error)

    assert outcome(lambda: convert(given_records, WHOLE, "references")) == outcome(careful)


@pytest.mark.parametrize("value", ["", "ab", {}, {"a": 1}, b"ab"])
def test_a_list_is_not_a_text_nor_a_dict(value):
    schema = Record({"words": Items(Text("a word"), "a list of words")}, "a record")
    with pytest.raises(ValueError, match=r"^x\[0\].words: .* is not a list of words"):
        convert([{"words": value}], schema, "x")


def test_two_names_of_a_list():
    import numpy as np

    schema = Record({"words": Items(Text("a word"), "a list")}, "a record", aliases={"tokens": "words"})
    same = {"words": np.array(["a", "b"]), "tokens": ["a", "b"]}
    assert convert([same], schema, "x").to_pylist() == [{"words": ["a", "b"]}]
    with pytest.raises(ValueError, match=r"^x\[0\].tokens: .* contradicts"):
        convert([{"words": np.array(["a", "b"]), "tokens": ["a", "c"]}], schema, "x")
    # As columns, too.
    assert rows({"tokens": [["a"]]}, "x", (*schema.fields, *schema.aliases)) == [{"tokens": ["a"]}]
