"""Lists of records that may come as columns: the fast and the careful way agree."""

import conftest  # noqa: F401
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from records import Integer, Items, Mistake, Optional, Record, Rows, Text, convert

NAMES = {"head": "h", "relation": "r"}
ROWS = Rows(
    Record(
        {
            "h": Integer("an index"),
            "r": Text("a relation", blank=False),
            "e": Optional(Items(Integer("a place"), "places")),
        },
        "an item",
        aliases=NAMES,
    ),
    "a list of items",
    columns=NAMES,
)
SCHEMA = Record({"rows": ROWS}, "a record")

whole = st.integers(-1, 3) | st.sampled_from([np.int64(2), 1.0, 0.5, True, None, "1", 2**40])
text = st.sampled_from(["a", "b", "", None, 3])
places = st.none() | st.lists(whole, max_size=2) | st.just(np.array([1, 2]))
item = st.fixed_dictionaries(
    {}, optional={"h": whole, "head": whole, "r": text, "relation": text, "e": places, "x": text}
)
good = st.fixed_dictionaries({"h": st.integers(0, 3), "r": st.sampled_from(["a", "b"])}, optional={"e": places})


@st.composite
def columns(draw):
    n = draw(st.integers(0, 2))
    kinds = {"h": whole, "head": st.integers(0, 3), "r": text, "relation": st.sampled_from("ab"), "e": places}
    chosen = draw(st.sets(st.sampled_from(sorted(kinds)))) | draw(st.sampled_from([set(), {"head", "relation"}]))
    sizes = st.sampled_from([n, n, n, n + 1])
    return {
        name: draw(st.none() | st.lists(kinds[name], min_size=(m := draw(sizes)), max_size=m))
        for name in sorted(chosen)
    } | draw(st.sampled_from([{}, {"x": [1]}]))


values = st.lists(good, max_size=2) | st.lists(item, max_size=2) | columns() | st.sampled_from([None, 3, "ab", {}, []])


@settings(deadline=None, max_examples=500)
@given(st.lists(st.fixed_dictionaries({"rows": values}), max_size=3))
def test_both_ways_agree(records):
    careful = []
    try:
        for record in records:
            careful.append(SCHEMA.read(record))  # noqa: PERF401
    except Mistake as mistake:
        with pytest.raises(ValueError) as caught:
            convert(records, SCHEMA, "side")
        assert str(caught.value) == str(mistake.within(f"side[{len(careful)}]").error())
    else:
        assert convert(records, SCHEMA, "side").equals(pa.array(careful, SCHEMA.arrow))


def test_columns():
    made = convert([{"rows": {"head": [1, 2], "relation": ["a", "b"]}}], SCHEMA, "side")
    assert made.to_pylist() == [{"rows": [{"h": 1, "r": "a", "e": None}, {"h": 2, "r": "b", "e": None}]}]
    with pytest.raises(ValueError, match=r"side\[0\].rows: columns differ in length: head has 1, relation has 2"):
        convert([{"rows": {"head": [1], "relation": ["a", "b"]}}], SCHEMA, "side")
    with pytest.raises(ValueError, match=r"side\[0\].rows.head: 3 is not a column"):
        convert([{"rows": {"head": 3, "relation": ["a", "b"]}}], SCHEMA, "side")
