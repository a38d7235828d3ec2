"""Records and options of aspect sentiment triplet extraction.

A record is a sentence with its triplets. Reading gives a column with the fields ``id``, ``tokens`` (their number) and
``triplets``, whose fields are ``aspect``, ``opinion`` (each with ``indices`` and ``text``) and ``polarity``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .columns import Column, Lists, Struct
from .mistakes import Mistakes, Places
from .options import choice, confidence_options, flag, output_options, table
from .records import Either, Items, Length, Optional, Record, Task, check_inside, read_all, to_records
from .values import CheckedText, Choice, Identifier, Integer, Text

POLARITIES = ("POS", "NEG", "NEU", "CON")
TERMS = ("aspect", "opinion")
_WORDS = {"positive": "POS", "negative": "NEG", "neutral": "NEU", "conflict": "CON", "con": "CON"}

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
    ),
    **output_options("the counts of each record", "the items that were missed, spurious, or wrong in one respect"),
    **confidence_options("records"),
}


KINDS_OF_TERM = ("indices", "text")


def _kind_of_term(value: Any) -> str | None:
    if isinstance(value, (str, bytes)):
        return "text"
    return "indices" if hasattr(value, "__iter__") and not isinstance(value, dict) else None


def _term(name: str) -> Either:
    return Either(
        f"an {name}: token indices or the term's text",
        choose=_kind_of_term,
        by_type=True,
        indices=Items(Integer("a token index"), f"the token indices of an {name}", minimum=1),
        text=Text(f"the text of an {name}", blank=False),
    )


_TRIPLET = Record(
    {
        **{name: _term(name) for name in TERMS},
        "polarity": Optional(Choice(POLARITIES, _WORDS, fold=True, listed=POLARITIES[:3])),
    },
    "a triplet: a dict with aspect, opinion and polarity, or a tuple of them",
    as_tuple=True,
)
SENTENCE = Record(
    {
        "id": Optional(Identifier()),
        "tokens": Optional(Length(Items(CheckedText("a token"), "a list of tokens"))),
        "triplets": Items(_TRIPLET, "a list of triplets"),
    },
    "a record: a dict with triplets, or a list of triplets",
    bare="triplets",
)


def read(side: str, given: Any, mistakes: Mistakes) -> Column:
    """Read and check a batch of records; see `Task`."""
    places = Places.of_batch(side)
    column = read_all(to_records(given, side, SENTENCE.keys), SENTENCE, places, mistakes)
    check_uniform(column, places, mistakes)
    check_indices(column, column["tokens"], places, mistakes)
    return column


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
        mistakes.add(
            here.field("polarity")(int(np.argmin(has_polarity))),
            f"missing, expected one of {', '.join(POLARITIES[:3])}, as other triplets have one",
        )


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
