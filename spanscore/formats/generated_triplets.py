"""The text of generative models, read as triplets.

========== =============================================================================================================
GAS        ``(screen, large, positive); (battery, short, negative)`` (Zhang et al. 2021a)
bars       ``screen | large | positive; battery | short | negative``
Paraphrase ``It is great because screen is large [SSEP] It is bad because …`` (Zhang et al. 2021b)
MvP, DLO   ``[A] screen [O] large [S] positive [SSEP] …`` in any order (Gou et al. 2023, Hu et al. 2022)
PASTE      ``screen ; large ; positive | battery ; short ; negative`` (Mukherjee et al. 2021)
lists      Python or JSON lists of tuples, lists or dicts, as language models write them
========== =============================================================================================================

A piece of text that is no triplet is unparsed. Some text is no piece: code fences, special tokens such as ``</s>``,
an introduction that ends in a colon, and bullets. A text may be read in several ways, such as ``a ; b | c``. The way
that gives the most triplets is used, and of those the one that leaves the fewest pieces.

Nothing is evaluated, and time is in line with the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.entities import html5
from typing import Any, NamedTuple

from spanscore.metrics.aste_records import looks_like_indices

WORDS = {"POS": "positive", "NEG": "negative", "NEU": "neutral", "CON": "conflict"}
POLARITIES = {name: label for label, word in WORDS.items() for name in (label.lower(), word)}
# The words of Paraphrase and MvP, which no other form takes as a polarity.
_OPINIONS = {"great": "POS", "ok": "NEU", "bad": "NEG", **POLARITIES}

Triplet = dict[str, Any]


class Generated(NamedTuple):
    """A text that has been read.

    Attributes
    ----------
    triplets : list of dict
        With ``aspect``, ``opinion`` and ``polarity``.
    unparsed : list of str
        The pieces that are no triplet.
    """

    triplets: list[Triplet]
    unparsed: list[str]


def parse_generated(text: str) -> dict[str, Any]:
    """Read the text that a model generated for one sentence.

    Parameters
    ----------
    text : str
        In any form of this file, such as ``"(screen, large, positive); (battery, short, negative)"``. A text without
        content, ``[]`` and ``none`` have no triplet. No string raises an error.

    Returns
    -------
    dict
        A record of the ASTE metric: ``triplets``, and ``unparsed``, the number of pieces that are no triplet.

    Examples
    --------
    >>> parse_generated("(screen, dim, negative); (price, low, great); nonsense")
    {'triplets': [{'aspect': 'screen', 'opinion': 'dim', 'polarity': 'NEG'}], 'unparsed': 2}
    """
    found = parse_pieces(text)
    return {"triplets": found.triplets, "unparsed": len(found.unparsed)}


def parse_pieces(text: str) -> Generated:
    """Read a text as `parse_generated` does, to its triplets and the pieces that are none."""
    text = _without_frame(text)
    if text.strip().lower() in _NOTHING:
        return Generated([], [])
    readings = []
    if _MARKER.search(text):
        readings.append(_read_markers(text))
    has_quotes = any(quote in text for quote in "\"'“‘")
    readings += [_read_groups(text, quoted) for quoted in ((True, False) if has_quotes else (False,))]
    if ";" in text:
        readings += _read_semicolons(text)
    return max(readings, key=lambda found: (len(found.triplets), -len(found.unparsed)))


# --- around the pieces ------------------------------------------------------------------------------------------------

_NOTHING = {"", "[]", "none", "null"}
_SPECIAL_TOKEN = re.compile(r"</?s>|<pad>|<extra_id_[0-9]{1,4}>|<\|[a-z_]{1,20}\|>")
_FENCE = re.compile(r"```(?:(?:json|python|py|text|txt|plaintext)\b|[A-Za-z]+(?=[ \t]*\n))?")
_SEPARATOR = re.compile(r"\[SSEP\]", re.IGNORECASE)
_INTRODUCTION = re.compile(r"[^;|()\[\]{}]*:(?:[ \t]*\n|\s*(?=[\[({]|none\s*\Z))", re.IGNORECASE)
_BULLET = re.compile(r"^[ \t]*(?:[-*•]|\d{1,3}[.)])[ \t]+(?=[(\[{])", re.MULTILINE)


def _without_frame(text: str) -> str:
    """The text with pieces on lines of their own, and without what is no piece."""
    text = _FENCE.sub("\n", _SPECIAL_TOKEN.sub(" ", text)).strip()
    introduction = _INTRODUCTION.match(text)
    text = _SEPARATOR.sub("\n", text[introduction.end() :] if introduction else text)
    return _BULLET.sub("", text)


# --- triplets ---------------------------------------------------------------------------------------------------------


def _triplet(fields: list[str], labels: dict[str, str] = POLARITIES) -> Triplet | None:
    """A triplet of three texts, or None: a term is blank or no term, or the polarity is none."""
    aspect, opinion, polarity = fields
    label = labels.get(polarity.strip().lower())
    terms = aspect.strip(), opinion.strip()
    if label is None or not all(map(_is_term, terms)):
        return None
    return {"aspect": terms[0], "opinion": terms[1], "polarity": label}


def _is_term(text: str) -> bool:
    """Whether the metric takes a text as a term."""
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return False
    return bool(text) and not looks_like_indices(text)


def _entity_end(text: str, semicolon: int) -> bool:
    """Whether a semicolon ends an HTML entity such as ``&amp;`` or ``&#39;``."""
    start = text.rfind("&", max(0, semicolon - _LONGEST_ENTITY), semicolon) + 1
    name = text[start : semicolon + 1]
    return bool(start) and (name in html5 or _NUMBERED_ENTITY.fullmatch(name) is not None)


_LONGEST_ENTITY = 32
_NUMBERED_ENTITY = re.compile(r"#(?:[0-9]{1,7}|[xX][0-9a-fA-F]{1,6});")


def _split_semicolons(text: str) -> list[str]:
    """Split a text at semicolons that do not end an HTML entity."""
    parts, start = [], 0
    for found in re.finditer(";", text):
        if not _entity_end(text, found.start()):
            parts.append(text[start : found.start()])
            start = found.end()
    return [*parts, text[start:]]


# --- forms without brackets -------------------------------------------------------------------------------------------

# Letters other than those of the three terms mark what is no part of a triplet, such as [C], the category.
_MARKER = re.compile(r"\[((?i:AT?|OT?|SP?)|[A-Z]{1,3})\]")
_PARAPHRASE = re.compile(r"\s*it is (\w+) because (.*)", re.IGNORECASE | re.DOTALL)


def _read_markers(text: str) -> Generated:
    """Read ``[A] … [O] … [S] …``. A marker that repeats begins the next triplet."""
    triplets: list[Triplet] = []
    unparsed: list[str] = []

    def close(parts: dict[str, str], piece: str) -> None:
        triplet = _triplet([parts[name] for name in "AOS"], _OPINIONS) if parts.keys() >= set("AOS") else None
        if triplet is not None:
            triplets.append(triplet)
        elif piece.strip():
            unparsed.append(piece.strip())

    for line in text.split("\n"):
        parts: dict[str, str] = {}
        start = 0
        markers = list(_MARKER.finditer(line))
        ends = [marker.start() for marker in markers[1:]] + [len(line)]
        for marker, end in zip(markers, ends, strict=False):
            name = marker[1][0].upper() if marker[1].upper() in ("A", "AT", "O", "OT", "S", "SP") else marker[1]
            if name in parts:
                close(parts, line[start : marker.start()])
                parts, start = {}, marker.start()
            parts[name] = line[marker.end() : end]
        close(parts, line[start:])
    return Generated(triplets, unparsed)


def _read_semicolons(text: str) -> list[Generated]:
    """Read ``a ; b ; positive | …``; nothing if no piece is two fields and the word of a polarity, right or wrong."""
    triplets, unparsed = [], []
    has_form = False
    for piece in re.split(r"[|\n]", text):
        fields = _split_semicolons(piece)
        has_form = has_form or (len(fields) > 2 and fields[2].strip().lower() in _OPINIONS)
        triplet = _of_fields(fields)
        if triplet is not None:
            triplets.append(triplet)
        elif piece.strip():
            unparsed.append(piece.strip())
    return [Generated(triplets, unparsed)] if has_form else []


def _of_fields(fields: list[str]) -> Triplet | None:
    """A triplet of its fields, after which a separator may stand."""
    if len(fields) == 4 and not fields[3].strip():
        fields = fields[:3]
    return _triplet(fields) if len(fields) == 3 else None


def _of_plain(piece: str) -> Triplet | None:
    """A triplet of ``a | b | positive``, also as the row of a table, or of ``It is great because a is b``.

    Also of ``((, b, positive)``, whose brackets have no partner: the aspect is a bracket.
    """
    piece = piece.strip()
    if "|" in piece:
        fields = piece.split("|")
        is_row = len(fields) == 5 and not fields[0].strip() and not fields[4].strip()
        return _of_fields(fields[1:4] if is_row else fields)
    if piece.startswith("(") and piece.endswith(")"):
        return _of_fields(piece[1:-1].split(", "))
    found = _PARAPHRASE.fullmatch(piece)
    # With several "is", the place between aspect and opinion is unknown.
    terms = re.split(r"\sis\s", found[2]) if found else []
    return _triplet([*terms, found[1]], _OPINIONS) if found and len(terms) == 2 else None


# --- brackets ---------------------------------------------------------------------------------------------------------

_OPENING = {"(": ")", "[": "]", "{": "}"}
_CLOSING = {closer: opener for opener, closer in _OPENING.items()}
_SIGN = re.compile(r"[()\[\]{},;:|\n\"']")
_QUOTE_OR_END = {quote: re.compile(rf"\\.|{quote}|\n") for quote in "\"'"}
_AFTER_QUOTE = re.compile(r"\s*(?:[,\])}:;|]|\Z)")
_CURLY = {"“": "”", "‘": "’"}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
# Longer groups are lists of triplets. So nested groups take no more time than others.
_LONGEST_TRIPLET = 2000
_MOST_CUTS = 50
# Ways in which the fields of a group may be separated. Where terms have commas, as in "(screen, good , but small,
# positive)", the commas that separate follow a word, as in "a, ", or have a blank after them.
_SEPARATORS = ("a, ", ", ", ",", "|", ";")
_KEYS = {
    **dict.fromkeys(("aspect", "aspect term", "target"), 0),
    **dict.fromkeys(("opinion", "opinion term"), 1),
    **dict.fromkeys(("polarity", "sentiment", "sentiment polarity"), 2),
}


class _Sign(NamedTuple):
    """A bracket, separator or quoted string; the text before it is what follows the sign before."""

    name: str
    start: int
    end: int


# Within a field: its words are not yet found, may go on, or have ended.
_BEFORE_WORDS, _IN_WORDS, _AFTER_WORDS = range(3)


class _Group:
    """An open bracket, or a piece outside of brackets, and what has been found within it so far.

    Attributes
    ----------
    name : str
        The bracket, or an empty string.
    start : int
        Where its content begins.
    cuts : list of (str, int)
        The separators of its own level, with their places.
    n_triplets, n_unparsed : int
        How many triplets and pieces had been found before it.
    words : list of [int, int]
        The text with words outside of inner groups, one a field. It is unparsed if the group holds triplets.
    has_text, has_group : bool
    is_open : bool
        Whether a bracket without a partner was the last one. The separators after it are within this cut-off group.
    """

    __slots__ = (
        "cuts",
        "has_group",
        "has_text",
        "is_open",
        "n_triplets",
        "n_unparsed",
        "name",
        "start",
        "state",
        "words",
    )

    def __init__(self, name: str, start: int, n_triplets: int, n_unparsed: int) -> None:
        self.name, self.start, self.n_triplets, self.n_unparsed = name, start, n_triplets, n_unparsed
        self.cuts: list[tuple[str, int]] = []
        self.words: list[list[int]] = []
        self.has_text = self.has_group = self.is_open = False
        self.state = _BEFORE_WORDS

    def add(self, text: str, start: int, end: int) -> None:
        """Add text of its own level."""
        own = text[start:end]
        if own and not own.isspace():
            self.has_text = True
            if self.state == _IN_WORDS:
                self.words[-1][1] = end
            elif self.state == _BEFORE_WORDS and any(map(str.isalnum, own)):
                self.words.append([start, end])
                self.state = _IN_WORDS

    def add_group(self) -> None:
        """Note that an inner group begins."""
        self.has_group, self.is_open = True, False
        if self.state == _IN_WORDS:
            self.state = _AFTER_WORDS

    def cut(self, separator: str, place: int) -> None:
        """Begin another field."""
        self.cuts.append((separator, place))
        if not self.is_open:
            self.state = _BEFORE_WORDS

    @property
    def is_blank(self) -> bool:
        """Whether it has neither text nor inner groups nor places for them."""
        has_places = any(self.name or separator == "|" for separator, _ in self.cuts)
        return not (self.has_text or (has_places and not self.has_group))


def _read_groups(text: str, quoted: bool) -> Generated:
    """Read groups in brackets, and pieces without brackets.

    A group is a triplet, or a list of groups, or unparsed. Outside of brackets, semicolons and newlines separate
    pieces.

    Parameters
    ----------
    text : str
    quoted : bool
        Whether separators and brackets in quotes are text.
    """
    signs = list(_signs(text, quoted))
    matched = _matched_brackets(signs)
    triplets: list[Triplet] = []
    unparsed: list[tuple[int, int]] = []

    def close(group: _Group, end: int) -> None:
        holds_triplets = len(triplets) > group.n_triplets
        triplet = None
        if group.name and end - group.start <= _LONGEST_TRIPLET and len(group.cuts) <= _MOST_CUTS:
            triplet = _of_group(text, group, end, quoted)
        elif not group.name and not holds_triplets:
            triplet = _of_plain(text[group.start : end])
        if triplet is not None:
            del triplets[group.n_triplets :], unparsed[group.n_unparsed :]
            triplets.append(triplet)
        elif holds_triplets:
            # Text of a list beside its triplets. The text of a dict is its keys.
            unparsed.extend((start, stop) for start, stop in group.words if group.name != "{")
        elif not (group.is_blank or (group.name == "{" and group.has_group)):
            del unparsed[group.n_unparsed :]
            unparsed.append((group.start - len(group.name), end + len(group.name)))

    groups = [_Group("", 0, 0, 0)]
    before = 0
    for number, sign in enumerate(signs):
        group = groups[-1]
        group.add(text, before, sign.start)
        before = sign.end
        if number in matched:
            if sign.name in _OPENING:
                group.add_group()
                groups.append(_Group(sign.name, sign.end, len(triplets), len(unparsed)))
            else:
                close(groups.pop(), sign.start)
        elif not group.name and sign.name in (";", "\n"):
            close(group, sign.start)
            groups = [_Group("", sign.end, len(triplets), len(unparsed))]
        elif sign.name in (",", ";", "|"):
            group.cut(sign.name, sign.start)
        else:
            group.is_open = group.is_open or sign.name in _OPENING
            group.add(text, sign.start, sign.end)
    groups[0].add(text, before, len(text))
    close(groups[0], len(text))
    return Generated(triplets, [text[start:end].strip() for start, end in sorted(unparsed)])


def _signs(text: str, quoted: bool) -> Iterator[_Sign]:
    """Find brackets, separators and quoted strings. A string begins a field, and a field ends after it."""
    last, end = "", 0  # the sign before, and its end
    no_string = dict.fromkeys("\"'", 0)  # up to this place no string of this quote ends
    found = _SIGN.search(text)
    while found is not None:
        name, start, after = found.group(), found.start(), found.end()
        if name in no_string:
            begins = quoted and last in ("(", "[", "{", ",", ":") and not text[end:start].strip()
            if begins and start >= no_string[name]:
                stop = _string_end(text, after, name)
                if stop > after:
                    after = stop
                else:
                    no_string[name] = -stop
        if name != ";" or not _entity_end(text, start):
            yield _Sign(name, start, after)
        last, end = name, after
        found = _SIGN.search(text, after)


def _string_end(text: str, start: int, quote: str) -> int:
    """The end of a quoted string, or the negative place up to which it does not end."""
    for found in _QUOTE_OR_END[quote].finditer(text, start):
        if found.group() == "\n":
            return -found.start()
        if found.group() == quote and _AFTER_QUOTE.match(text, found.end()):
            return found.end()
    return -len(text)


def _matched_brackets(signs: list[_Sign]) -> set[int]:
    """The brackets that have a partner, as indices of signs. A bracket within a pair of others may lack its own."""
    matched: set[int] = set()
    waiting: list[int] = []
    n_waiting = dict.fromkeys(_OPENING, 0)
    for number, sign in enumerate(signs):
        if sign.name in _OPENING:
            waiting.append(number)
            n_waiting[sign.name] += 1
        elif sign.name in _CLOSING and n_waiting[_CLOSING[sign.name]]:
            while True:
                opener = waiting.pop()
                n_waiting[signs[opener].name] -= 1
                if signs[opener].name == _CLOSING[sign.name]:
                    break
            matched |= {opener, number}
    return matched


def _of_group(text: str, group: _Group, end: int, quoted: bool) -> Triplet | None:
    """The triplet that a group in brackets is, or None."""
    for separator in _SEPARATORS:
        cuts = [place for name, place in group.cuts if name in separator]
        if separator.endswith(" "):
            cuts = [place for place in cuts if text[place + 1].isspace()]
        if separator == "a, ":
            cuts = [place for place in cuts if not text[place - 1].isspace()]
        starts, ends = [group.start, *(place + 1 for place in cuts)], [*cuts, end]
        fields = [text[slice(*field)].strip() for field in zip(starts, ends, strict=True)]
        triplet = _of_dict(fields) if group.name == "{" else _of_values(fields, quoted)
        if triplet is not None:
            return triplet
    return None


def _of_dict(fields: list[str]) -> Triplet | None:
    """A triplet of the fields ``"aspect": …``; other keys are ignored."""
    values = ["", "", ""]
    for field in fields:
        key, _, value = field.partition(":")
        place = _KEYS.get(_unquote(key.strip()).replace("_", " ").lower())
        if place is not None:
            values[place] = _unquote(value.strip())
    return _triplet(values)


def _of_values(fields: list[str], quoted: bool) -> Triplet | None:
    """A triplet of fields, which are Python or JSON if two of them are in quotes."""
    if quoted and sum(_unquote(field) != field for field in fields) > 1:
        fields = list(map(_unquote, fields))
    elif any(field and field[0] in _OPENING and field[-1] in _CLOSING for field in fields):
        return None  # such as ([0], [4], 'POS')
    return _of_fields(fields)


def _unquote(field: str) -> str:
    """The text of a string of Python or JSON; nothing for None. Other text stays as it is."""
    if len(field) > 1 and field[0] == field[-1] and field[0] in "\"'":
        return _ESCAPE.sub(_unescape, field[1:-1])
    if len(field) > 1 and _CURLY.get(field[0]) == field[-1]:
        return field[1:-1]
    return "" if field in ("None", "null") else field


def _unescape(found: re.Match[str]) -> str:
    if found[1] or found[2]:
        return chr(int(found[1] or found[2], 16))
    return {"n": "\n", "t": "\t", "r": "\r"}.get(found[3], found[3])
