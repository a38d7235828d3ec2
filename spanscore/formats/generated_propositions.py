"""The output of text-to-text models for PropSegmEnt, read as propositions, and the reverse.

Each proposition is a copy of the sentence with its tokens inside ``[M] ... [/M]``, and ``[TARGET]`` joins the copies
(Chen et al. 2022, section 5.1). A copy that does not line up with the sentence is unparsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

OPEN, CLOSE, NEXT = "[M]", "[/M]", "[TARGET]"

_MARK = re.compile(r"(\[/?M\])")
# The tokens of the corpus: runs of letters and digits, and each other character that is not a space.
_TOKEN = re.compile(r"[^\W_]+|[^\s\w]|_")

Sentence = str | Sequence[str]


def tokenize(sentence: str) -> list[str]:
    """Split a sentence into the tokens of the corpus."""
    return _TOKEN.findall(sentence)


class Spelled(NamedTuple):
    """A sentence without its white space, which copies are compared with.

    Attributes
    ----------
    tokens : list of str
        As they were given.
    words : list of str
        The tokens without white space.
    characters : str
        All words, joined.
    """

    tokens: list[str]
    words: list[str]
    characters: str


def without_space(text: str) -> str:
    """The text without its white space, which a model may write otherwise."""
    return "".join(text.split())


def spell(sentence: Sentence) -> Spelled:
    """The tokens of a sentence and their letters, to compare copies with."""
    tokens = tokenize(sentence) if isinstance(sentence, str) else list(map(str, sentence))
    words = list(map(without_space, tokens))
    return Spelled(tokens, words, "".join(words))


def parse_copy(copy: str, tokens: Sequence[str]) -> list[int] | None:
    """Find the tokens inside the marks of a copy of a sentence.

    Parameters
    ----------
    copy : str
        All characters must be those of the sentence, in the same case. Spaces alone may differ: a model may join or
        split tokens. So a copy that breaks off before the end of the sentence is none.
    tokens : sequence of str
        The tokens of the sentence.

    Returns
    -------
    list of int or None
        Token indices. None if the copy differs from the sentence, a mark stands inside a token, marks do not pair up,
        or no token is marked.
    """
    return _find_marked(copy, spell(list(tokens)))


def _find_marked(copy: str, sentence: Spelled) -> list[int] | None:
    pieces = _MARK.split(copy)  # text and marks by turns
    marks, texts = pieces[1::2], list(map(without_space, pieces[::2]))
    if "".join(texts) != sentence.characters or marks != [OPEN, CLOSE] * (len(marks) // 2):
        return None
    places = list(accumulate(map(len, texts)))
    is_marked = bytearray(len(sentence.characters))
    for start, end in zip(places[:-1:2], places[1:-1:2], strict=True):
        is_marked[start:end] = b"\1" * (end - start)
    found = []
    for index, (start, end) in enumerate(pairwise(accumulate(map(len, sentence.words), initial=0))):
        n_marked = is_marked.count(1, start, end)
        if 0 < n_marked < end - start:
            return None
        if n_marked:
            found.append(index)
    return found or None


def parse_sequence(output: str, sentence: Sentence) -> tuple[list[list[int]], int]:
    """Turn sequence output into propositions.

    Parameters
    ----------
    output : str
        Copies of the sentence joined by ``[TARGET]``. A sentence without propositions has blank output.
    sentence : str or list of str
        The sentence, or its tokens.

    Returns
    -------
    propositions : list of list of int
        Token indices of each proposition.
    unparsed : int
        Number of copies that do not line up with the sentence.
    """
    propositions, unparsed = _parse_copies(output, spell(sentence))
    return propositions, len(unparsed)


def parse_generated(text: str, tokens: Sentence) -> dict[str, Any]:
    """Turn the output of a text-to-text model for one sentence into a record of the metric.

    It raises no error for any text, so that an unlucky output does not end a training run. Its time is linear in the
    lengths of text and sentence.

    Parameters
    ----------
    text : str
        Copies of the sentence joined by ``[TARGET]``; see `parse_copy`. A sentence without propositions has blank
        output.
    tokens : sequence of str, or str
        The tokens of the sentence, or the sentence.

    Returns
    -------
    dict
        ``tokens``; ``propositions``, the token indices of each; and ``unparsed``, the number of copies that do not line
        up with the sentence.

    Examples
    --------
    >>> output = "[M] Ada wrote [/M] and sang . [TARGET] [M] Ada danced [/M] ."
    >>> parse_generated(output, ["Ada", "wrote", "and", "sang", "."])
    {'tokens': ['Ada', 'wrote', 'and', 'sang', '.'], 'propositions': [[0, 1]], 'unparsed': 1}
    """
    return parse_record(text, spell(tokens))[0]


def parse_record(output: str, sentence: Spelled) -> tuple[dict[str, Any], list[str]]:
    """The record of one output, and the copies that do not line up with the sentence."""
    propositions, unparsed = _parse_copies(output, sentence)
    return {"tokens": sentence.tokens, "propositions": propositions, "unparsed": len(unparsed)}, unparsed


def _parse_copies(output: str, sentence: Spelled) -> tuple[list[list[int]], list[str]]:
    """The propositions of the copies of a sentence, and the copies that do not line up with it."""
    propositions, unparsed = [], []
    for copy in output.split(NEXT):
        if copy.strip():
            proposition = _find_marked(copy, sentence)
            if proposition is None:
                unparsed.append(copy.strip())
            else:
                propositions.append(proposition)
    return propositions, unparsed


def format_sequence(propositions: Iterable[Iterable[int]], tokens: Sequence[str]) -> str:
    """Turn propositions into sequence output; the inverse of `parse_sequence`.

    Raises
    ------
    ValueError
        A token index is past the end, or a token is blank or holds a mark of sequence output.
    """
    copies = []
    for token in tokens:
        if not token.strip() or any(mark in token for mark in (OPEN, CLOSE, NEXT)):
            raise ValueError(f"{token!r} is not a token of sequence output: text without {OPEN}, {CLOSE} and {NEXT}")
    for proposition in propositions:
        chosen, words = set(proposition), []
        if not all(0 <= index < len(tokens) for index in chosen):
            raise ValueError(f"token indices {sorted(chosen)} are not all below {len(tokens)}, the number of tokens")
        for index, token in enumerate(tokens):
            if index in chosen and index - 1 not in chosen:
                words.append(OPEN)
            words.append(token)
            if index in chosen and index + 1 not in chosen:
                words.append(CLOSE)
        copies.append(" ".join(words))
    return f" {NEXT} ".join(copies)
