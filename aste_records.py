"""Records and options of aspect sentiment triplet extraction.

A record is a sentence with its triplets. Reading gives a column with the fields ``id``, ``tokens`` (see `Tokens`),
``unparsed`` (-1 where it is missing), ``triplets``, whose fields are ``aspect``, ``opinion`` (each with ``indices`` and
``text``) and ``polarity``, and ``other_keys`` (see `_note_other_keys`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .columns import Column, Lists, Struct
from .mistakes import Mistakes, Places, quote, quote_some
from .options import choice, confidence_options, flag, output_options, table
from .records import (
    Either,
    Optional,
    Record,
    Rows,
    Span,
    Task,
    Tokens,
    check_inside,
    has_items,
    read_all,
    to_records,
)
from .values import Choice, Identifier, Integer, Text, to_strings

POLARITIES = ("POS", "NEG", "NEU", "CON")
TERMS = ("aspect", "opinion")
_WORDS = {"positive": "POS", "negative": "NEG", "neutral": "NEU", "conflict": "CON"}
_NAMES = {label.lower(): label for label in POLARITIES} | _WORDS

OPTIONS = {
    **table(
        choice(
            "duplicates",
            ("set", "count", "pairs"),
            "set",
            "How repeated triplets of a sentence count in the headline and in ``pair``: once; one to one; or every "
            "equal pair of a predicted and a gold triplet, as some published scripts count.",
        ),
        flag("ignore_case", "Whether terms given as text compare without regard to case."),
        flag(
            "polarity",
            "Whether triplets are scored with their polarity. Without, pairs of aspect and opinion are scored.",
            default=True,
        ),
    ),
    **output_options("the counts of each record", "the items that were missed, spurious, or wrong in one respect"),
    **confidence_options("records"),
}


KINDS_OF_TERM = ("indices", "text")


# Text such as "[0, 1]", which a table of text makes of token indices.
_INDICES_AS_TEXT = re.compile(r"\s*[\[(]\s*\d+\s*(?:,\s*\d+\s*)*,?\s*[\])]\s*", re.ASCII)


def _kind_of_term(value: Any) -> str | None:
    if isinstance(value, (str, bytes, bytearray)):
        return "text"
    # A memoryview may be one of letters or one of numbers, which its type does not show.
    return "indices" if hasattr(value, "__iter__") and not isinstance(value, (dict, memoryview)) else None


def looks_like_indices(text: str) -> bool:
    """Whether a text is token indices written out, such as ``"[0, 1]"``."""
    return _INDICES_AS_TEXT.fullmatch(text) is not None


def _term(name: str) -> Either:
    return Either(
        f"an {name}: token indices or the term's text",
        choose=_kind_of_term,
        by_type=True,
        indices=Span(f"the token indices of an {name}"),
        text=Text(f"the text of an {name}", blank=False),
    )


_TRIPLET = Record(
    {
        **{name: _term(name) for name in TERMS},
        "polarity": Optional(Choice(POLARITIES, _NAMES, fold=True, listed=POLARITIES[:3])),
    },
    "a triplet: a dict with aspect, opinion and polarity, or a tuple of them",
    as_tuple=True,
    aliases={"sentiment": "polarity"},
)


class _Triplets(Rows):
    """A list of triplets, or its columns."""

    def read_one(self, value: Any) -> Sequence[Any]:
        if isinstance(value, Mapping) and not all(has_items(value[key]) for key in value if key in self.item.keys):
            raise self.refuse(value)
        return super().read_one(value)


SENTENCE = Record(
    {
        "id": Optional(Identifier()),
        "tokens": Optional(Tokens()),
        "unparsed": Optional(Integer("a number of pieces of text that could not be read")),
        "triplets": _Triplets(_TRIPLET, "a list of triplets"),
    },
    "a record: a dict with triplets, or a list of triplets",
    bare="triplets",
)


def read(side: str, given: Any, mistakes: Mistakes) -> Column:
    """Read and check a batch of records; see `Task`."""
    places = Places.of_batch(side)
    records = to_records(given, side, SENTENCE.keys)
    column = _note_other_keys(read_all(records, SENTENCE, places, mistakes), records)
    check_uniform(column, places, mistakes)
    check_indices(column, column["tokens"]["number"], places, mistakes)
    _check_texts(column, places, mistakes)
    if side == "references":
        for at in np.flatnonzero(column["unparsed"] > 0).tolist():
            words = f"{column['unparsed'][at]}, expected 0, since a reference is not the output of a model"
            mistakes.add((*places(at), "unparsed"), words)
    return column


def _note_other_keys(column: Struct, records: Sequence[Any]) -> Struct:
    """Add the field ``other_keys``, for the error that a polarity is missing.

    It is given for the record of the first triplet without polarity: the keys of this triplet besides aspect and
    opinion, which may hold the polarity. It is None for all other records.
    """
    names: list[str | None] = [None] * len(column)
    triplets: Lists = column["triplets"]
    first = int(np.argmin(triplets.items["polarity"])) if len(triplets.items) else 0
    if len(triplets.items) and triplets.items["polarity"][first] < 0:
        owner = int(triplets.owners[first])
        record = records[owner]
        listed: Any = record.get("triplets") if isinstance(record, Mapping) else record
        if isinstance(listed, Mapping):
            keys = list(listed)
        else:
            try:
                triplet = list(listed)[first - int(triplets.offsets[owner])]
            except (TypeError, IndexError):
                triplet = None
            keys = list(triplet) if isinstance(triplet, Mapping) else []
        names[owner] = quote_some([key for key in keys if key not in ("polarity", *TERMS)])
    return Struct({**column.fields, "other_keys": to_strings(names)}, column.present)


def missing_polarity(column: Struct, at: int, others: str) -> str:
    """The words of the error of a triplet without polarity; `others` says which triplets have one."""
    words = f"missing, expected one of {', '.join(POLARITIES[:3])}, as {others} have one"
    keys = column["other_keys"][column["triplets"].owners[at]]
    return f"{words}; the triplet has {keys}" if keys else words


def kinds_of_terms(column: Struct) -> np.ndarray:
    """The kind of aspect and opinion of each triplet, an index into `KINDS_OF_TERM`: shape (n_triplets, 2)."""
    triplets = column["triplets"].items
    return np.stack([triplets[name]["kind"] for name in TERMS], axis=-1)


def check_uniform(column: Struct, places: Places, mistakes: Mistakes) -> None:
    """Note a term of another kind than the first term of the side, and triplets without polarity among others."""
    triplets: Lists = column["triplets"]
    kinds, has_polarity = kinds_of_terms(column), triplets.items["polarity"] >= 0
    if not kinds.size or (kinds.min() == kinds.max() and has_polarity.min() == has_polarity.max()):
        return
    here = places.field("triplets").items(triplets.offsets)
    known = np.argwhere(kinds >= 0)
    for triplet, term in known[kinds[kinds >= 0] != kinds[tuple(known[0])]][:1].tolist() if len(known) else ():
        names = "token indices", "text"
        kind = kinds[triplet, term]
        words = f"{names[kind]} among terms given as {names[1 - kind]}, expected the same kind throughout"
        mistakes.add(here.field(TERMS[term])(triplet), words)
    if has_polarity.any() and not has_polarity.all():
        at = int(np.argmin(has_polarity))
        mistakes.add(here.field("polarity")(at), missing_polarity(column, at, "other triplets"))


def _check_texts(column: Struct, places: Places, mistakes: Mistakes) -> None:
    """Note text that is token indices written out: it would compare letter by letter."""
    triplets: Lists = column["triplets"]
    here = places.field("triplets").items(triplets.offsets)
    for name in TERMS:
        texts: np.ndarray = triplets.items[name]["text"]
        kinds = triplets.items[name]["kind"]
        if len(kinds) and kinds.max() == KINDS_OF_TERM.index("text"):
            wrong = {text for text in set(texts.tolist()) if text is not None and looks_like_indices(text)}
            for at in np.flatnonzero([text in wrong for text in texts.tolist()]).tolist() if wrong else ():
                words = f"{quote(texts[at])} is token indices as text, expected a list of numbers"
                mistakes.add(here.field(name)(at), words)


def check_indices(column: Struct, n_tokens: np.ndarray, places: Places, mistakes: Mistakes) -> None:
    """Note token indices past the end; `n_tokens` is the number of tokens of each record, -1 if it is not known."""
    if (n_tokens < 0).all():
        return
    triplets: Lists = column["triplets"]
    for name in TERMS:
        indices: Lists = triplets.items[name]["indices"]
        here = places.field("triplets").items(triplets.offsets).field(name).items(indices.offsets)
        limits = n_tokens[triplets.owners][indices.owners]
        check_inside(indices.items, limits, here, "the number of tokens", mistakes)


TASKS = {"default": Task({"predictions": SENTENCE, "references": SENTENCE}, read, OPTIONS)}
