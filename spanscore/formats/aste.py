"""Files of aspect sentiment triplets.

``v2``
    ASTE-Data-V2 (Xu et al. 2020): ``sentence####[([0, 1], [4], 'POS')]``. A span lists all its indices.
``span-aste``
    The output of Span-ASTE (Xu et al. 2021): ``sentence#### #### ####[([6, 8], [1], 'POS')]``. A span lists its first
    and its last index.
``v1``
    ASTE-Data-V1 (Peng et al. 2019): ``sentence####tok=T-POS …####tok=S …``.
``pairs``
    ``sentence####[([3], [2])]``: aspect and opinion, without polarity.
``v1-pairs``
    The file of triplets beside each file of ASTE-Data-V1: ``[[[[0, 1], [4], 1]], …]``, a JSON list of sentences.
``gts``
    Grid tagging scheme (Wu et al. 2020): JSON with ``target_tags`` and ``opinion_tags`` such as ``screen\\B``.
``joint``
    JSON of joint models such as SpERT (Eberts and Ulges 2020) and D2E2S (Zhao et al. 2024): ``tokens``, ``entities``
    with ``type``, ``start`` and ``end``, ``sentiments`` with ``type``, ``head`` and ``tail``.
``jsonl``
    One record of the metric a line, or a JSON array of them.
``generated``
    Text of generative models, one sentence a line, in the forms of `spanscore.formats.generated_triplets`.
"""

from __future__ import annotations

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from spanscore.formats.files import (
    Corpus,
    FileSource,
    TextFile,
    check_choice,
    check_format,
    is_json,
    json_lines,
    json_value,
    no_format,
    parse_json,
    parse_json_items,
    parse_json_lines,
    read_text,
    rows_of_columns,
    shorten,
    write_text,
)
from spanscore.formats.generated_triplets import POLARITIES, WORDS, parse_generated, parse_pieces

__all__ = ["FORMATS", "LINE_FORMATS", "detect", "line_mistakes", "parse_generated", "read", "write"]

FORMATS = ("v2", "span-aste", "v1", "pairs", "v1-pairs", "gts", "joint", "jsonl", "generated")
LINE_FORMATS = ("v2", "span-aste", "v1", "pairs", "generated")
SPAN_FORMATS = ("auto", "indices", "ends")
SEPARATOR = "####"

_WRITABLE = ("v2", "span-aste", "gts", "jsonl", "generated")
_LINES_TO_DETECT = 100
_TEXT_TO_DETECT = 1_000_000  # characters in which generated text must hold a triplet
_NO_TRIPLET = "(no triplet)"  # written for text that could not be read
_NOT_JSON = object()


def read(source: FileSource, format: str = "auto", span_format: str = "auto") -> Corpus:
    """Read a file of triplets.

    Parameters
    ----------
    source : path or open text file
        A path that ends in ``.gz`` is unpacked, and ``-`` is standard input.
    format : {"auto", "v2", "span-aste", "v1", "pairs", "v1-pairs", "gts", "joint", "jsonl", "generated"}
        ``"auto"`` finds the format by the content.
    span_format : {"auto", "indices", "ends"}
        The form of spans in ``v2``, ``span-aste`` and ``pairs``. ``"indices"``: a span lists all its indices.
        ``"ends"``: a span lists its first and its last index, or a single index. With ``"auto"``, ``span-aste`` has
        ends, and the others have indices. A span with a gap is then refused, since its indices are probably ends.

    Returns
    -------
    Corpus
        For ``v1``, ``gts`` and ``joint``, ``format_notes`` counts terms that are in no triplet:
        ``aspects_without_opinion`` and ``opinions_without_aspect``. For ``generated``, each record has ``unparsed``,
        the number of pieces of its text that are no triplet. ``format_notes`` has their sum, and the attribute
        ``unparsed`` lists them.

    Raises
    ------
    ValueError
        The file does not have the format, or no format fits. The message begins with file and line.
    """
    check_format(format, FORMATS)
    check_choice("span_format", span_format, SPAN_FORMATS)
    file = read_text(source)
    format = detect(file) if format == "auto" else format
    if format in ("v2", "span-aste", "pairs"):
        ends = span_format == "ends" or (span_format == "auto" and format == "span-aste")
        gaps = span_format == "indices"
        return Corpus([_line(file, *line, format, ends, gaps) for line in file.lines()], format, {})
    readers: dict[str, Callable[[TextFile], Corpus]] = {
        "v1": _read_v1,
        "v1-pairs": _read_v1_pairs,
        "joint": _read_joint,
        "gts": _read_gts,
        "jsonl": _read_json,
        "generated": _read_generated,
    }
    corpus = readers[format](file)
    # A text in memory may be a piece of a file, in which other pieces are triplets.
    if corpus.unparsed and not (isinstance(source, TextFile) and len(list(file.lines())) == 1):
        _check_some_triplet(file, corpus)
    return corpus


def detect(file: TextFile) -> str:
    """Find the format of a file by its content.

    Raises
    ------
    ValueError
        No format fits. The message names those that come nearest.
    """
    lines = [text for _, text in file.lines()]
    some = lines[:_LINES_TO_DETECT]
    n_separated = sum(SEPARATOR in text for text in some)
    if n_separated and 2 * n_separated >= len(some):
        return _detect_separated([text for text in lines if SEPARATOR in text])
    reasons: dict[str, str] = {}
    is_generated = True
    if lines and lines[0].lstrip().startswith(("[", "{")):
        format, reasons, is_generated = _detect_json(file.text, some)
        if format is not None:
            return format
    if is_generated and _holds_triplets(lines):
        return "generated"
    if is_generated:
        reasons["generated"] = "no text is a triplet, such as (screen, large, positive)"
        reasons["v2"] = f"{n_separated or 'none'} of the first {len(some)} lines have {SEPARATOR}"
    raise no_format(file, reasons)


def _detect_separated(lines: list[str]) -> str:
    """The format of most lines with ``####``; ``v2`` unless all items of the lists are pairs."""
    ((number, _),) = Counter(text.count(SEPARATOR) for text in lines[:_LINES_TO_DETECT]).most_common(1)
    if number != 1:
        return "v1" if number == 2 else "span-aste"
    lengths: set[int] = set()
    for text in lines:
        listed = _literal(text.rpartition(SEPARATOR)[2])
        items = listed if isinstance(listed, list) else []
        lengths.update(len(item) for item in items if isinstance(item, (list, tuple)))
        if lengths and lengths != {2}:
            break
    return "pairs" if lengths == {2} else "v2"


def _detect_json(text: str, lines: list[str]) -> tuple[str | None, dict[str, str], bool]:
    """The format of a text that may be JSON.

    Returns
    -------
    format : str or None
    reasons : dict of str to str
        The reasons why it has none, for `no_format`.
    may_be_generated : bool
        Whether it could be generated text if it has no other format.
    """
    whole = json_value(text, _NOT_JSON)
    if whole is _NOT_JSON:
        given = {line: json_value(line, _NOT_JSON) for line in lines}
        others = [line for line, value in given.items() if value is _NOT_JSON]
        if others and _holds_triplets(others):
            return "generated", {}, True
        values = [value for value in given.values() if value is not _NOT_JSON]
    else:
        values = whole[:_LINES_TO_DETECT] if _is_array(whole) else [whole]
    found = [format for format in map(_format_of_value, values) if format is not None]
    if "jsonl" in found and not _is_array(whole) and any(map(_lists_text, values)):
        return "generated", {}, True
    if found or (values and not any(values)):
        return (found[0] if found else "jsonl"), {}, False
    if whole is _NOT_JSON and not is_json(lines[0]):
        return None, {"jsonl": _json_mistake(text)}, True
    first = values[0]
    if not isinstance(first, dict):
        return None, {"jsonl": f"{shorten(first)} is not a list of triplets"}, True
    keys = shorten(", ".join(map(str, first)))
    reasons = {
        "jsonl": f"the first record has no triplets, but {keys}",
        "gts": "it has no triples",
        "joint": "it has no entities with sentiments",
    }
    return None, reasons, _is_triplet(first)


def _json_mistake(text: str) -> str:
    """Why a text is not JSON."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return f"line {error.lineno} is not JSON: {error.msg.removesuffix(' at')} at column {error.colno}"
    except (ValueError, RecursionError):
        pass
    return "nested too deeply"


def _format_of_value(value: Any) -> str | None:
    """The format that one record, as JSON, shows."""
    if isinstance(value, dict):
        if "triplets" in value:
            return "jsonl"
        return "joint" if {"entities", "sentiments"} <= value.keys() else "gts" if "triples" in value else None
    if not isinstance(value, list) or not value or not all(map(_is_triplet, value)):
        return None
    has_codes = all(isinstance(item, list) and len(item) == 3 and type(item[2]) is int for item in value)
    return "v1-pairs" if has_codes else "jsonl"


def _is_triplet(value: Any) -> bool:
    """Whether a JSON value looks like a triplet or a pair, and not like a list of them."""
    if isinstance(value, dict):
        return "aspect" in value or "opinion" in value
    if not isinstance(value, list) or not 2 <= len(value) <= 3:
        return False
    first = value[0]
    return isinstance(first, str) or (isinstance(first, list) and bool(first) and type(first[0]) is int)


def _has_columns(value: Any) -> bool:
    """Whether a JSON value is an object of columns: its triplets are lists of triplets."""
    column = value.get("triplets") if isinstance(value, dict) else None
    if not isinstance(column, list) or not column or not all(isinstance(row, list) for row in column):
        return False
    inner = [item for row in column for item in row]
    return not any(map(_is_triplet, column)) and all(isinstance(item, (list, dict)) for item in inner)


def _lists_text(value: Any) -> bool:
    """Whether a JSON value is a list of triplets as a language model writes it: lists of three texts."""
    lists = [item for item in value if isinstance(item, list)] if isinstance(value, list) else []
    return any(len(item) == 3 and isinstance(item[0], str) for item in lists)


def _is_array(whole: Any) -> bool:
    """Whether a JSON value is a list of records. A list of triplets is a single record."""
    return isinstance(whole, list) and bool(whole) and not any(map(_is_triplet, whole))


def _holds_triplets(lines: Iterable[str]) -> bool:
    """Whether lines have a triplet as generated text, or no piece of text at all."""
    n_characters, has_pieces = 0, False
    for text in lines:
        found = parse_pieces(text[:_TEXT_TO_DETECT])
        if found.triplets:
            return True
        has_pieces = has_pieces or bool(found.unparsed)
        n_characters += len(text)
        if n_characters > _TEXT_TO_DETECT:
            break
    return not has_pieces


# --- lines with spans -------------------------------------------------------------------------------------------------


_PARTS = "triplet ([aspect], [opinion], polarity)"


def _line(file: TextFile, number: int, text: str, format: str, ends: bool, gaps: bool) -> dict[str, Any]:
    parts = text.split(SEPARATOR)
    expected = 4 if format == "span-aste" else 2
    n_parts, parts_of = (2, "pair ([aspect], [opinion])") if format == "pairs" else (3, _PARTS)
    if len(parts) != expected:
        raise file.error(number, f"{len(parts) - 1} times {SEPARATOR}, expected {expected - 1} in a line of {format}")
    tokens = _split(parts[0])
    listed = _literal(parts[-1])
    if not isinstance(listed, list):
        raise file.error(number, f"{shorten(parts[-1])} is not a list of triplets")
    triplets = []
    for item in listed:
        if not isinstance(item, (list, tuple)) or len(item) != n_parts:
            raise file.error(number, f"{shorten(item)} is not a {parts_of}")
        aspect, opinion = (_span(file, number, span, len(tokens), ends, gaps) for span in item[:2])
        triplet: dict[str, Any] = {"aspect": aspect, "opinion": opinion}
        triplets.append(triplet if n_parts == 2 else {**triplet, "polarity": _polarity(file, number, item[2])})
    return {"tokens": tokens, "triplets": triplets}


def line_mistakes(line: TextFile, format: str, **special: Any) -> Iterator[tuple[str, ValueError]]:
    """Find the wrong triplets of a line, by reading each triplet without the others.

    Parameters
    ----------
    line : TextFile
        A single line.
    format : str
        Formats other than ``v2``, ``span-aste`` and ``pairs`` are not taken apart, so nothing is found in them.
    **special
        Further arguments of `read`.

    Yields
    ------
    place : str
        Such as ``"triplets[1]"``.
    mistake : ValueError
        The error of `read`.
    """
    if format not in ("v2", "span-aste", "pairs"):
        return
    *before, listed = line.text.split(SEPARATOR)
    items = _literal(listed)
    for at, item in enumerate(items if isinstance(items, list) else []):
        try:
            read(TextFile(line.name, SEPARATOR.join([*before, repr([item])])), format, **special)
        except ValueError as mistake:
            yield f"triplets[{at}]", mistake


def _literal(text: str) -> Any:
    """The value of a Python literal, or None if the text is none."""
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return None


def _span(file: TextFile, number: int, span: Any, n_tokens: int, ends: bool, gaps: bool) -> list[int]:
    if not isinstance(span, (list, tuple)) or not span or not all(type(index) is int for index in span):
        raise file.error(number, f"{shorten(span)} is not a span, a list of token indices")
    if ends:
        if len(span) > 2 or not 0 <= span[0] <= span[-1]:
            raise file.error(
                number, f"{shorten(span)} is not a first and a last index; span_format='indices' reads lists of indices"
            )
        span = list(range(span[0], span[-1] + 1)) if span[-1] < n_tokens else span
    if min(span) < 0 or max(span) >= n_tokens:
        raise file.error(number, f"{shorten(span)} is outside the sentence's {n_tokens} tokens (0 to {n_tokens - 1})")
    if not ends and not gaps and max(span) - min(span) >= len(set(span)):
        raise file.error(
            number,
            f"{shorten(span)} has a gap: if it is first and last index, pass span_format='ends', "
            f"and if the gap is meant, span_format='indices'",
        )
    return list(span)


def _polarity(file: TextFile, number: int, value: Any) -> str:
    label = POLARITIES.get(value.strip().lower()) if isinstance(value, str) else None
    if label is None:
        raise file.error(number, f"polarity {shorten(value)} is not one of {', '.join(list(WORDS)[:3])}")
    return label


def _split(sentence: str) -> list[str]:
    """Split a sentence at blanks and tabs. A token may hold a no-break space."""
    return re.findall(r"[^ \t]+", sentence)


# --- tags -------------------------------------------------------------------------------------------------------------


def _runs(tags: list[str]) -> Iterator[tuple[str, list[int]]]:
    """Yield each run of equal tags other than ``O``, with its token indices."""
    start = 0
    for end in range(1, len(tags) + 1):
        if end == len(tags) or tags[end] != tags[start]:
            if tags[start] != "O":
                yield tags[start], list(range(start, end))
            start = end


def _read_v1(file: TextFile) -> Corpus:
    """Read unified tags.

    A run of equal tags is a term. The number of letters of a tag joins terms: each aspect forms a triplet with each
    opinion that has the same number of letters. Aspects without an opinion are in no triplet. They are counted, since
    the first-stage figures of some papers include them.
    """
    records, notes = [], {"aspects_without_opinion": 0, "opinions_without_aspect": 0}
    for number, text in file.lines():
        parts = text.split(SEPARATOR)
        if len(parts) != 3:
            raise file.error(number, f"{len(parts) - 1} times {SEPARATOR}, expected 2 in a line of v1")
        tokens = _split(parts[0])
        aspects, opinions = [], []
        for tag, span in _runs(_tags(file, number, parts[1], tokens, "=", r"O|T+-(?:POS|NEG|NEU|CON)")):
            letters, polarity = tag.split("-")
            aspects.append((len(letters), span, polarity))
        for tag, span in _runs(_tags(file, number, parts[2], tokens, "=", r"O|S+")):
            opinions.append((len(tag), span))
        triplets = [
            {"aspect": aspect, "opinion": opinion, "polarity": polarity}
            for tie, aspect, polarity in aspects
            for other, opinion in opinions
            if tie == other
        ]
        ties = {tie for tie, _, _ in aspects}, {tie for tie, _ in opinions}
        notes["aspects_without_opinion"] += sum(tie not in ties[1] for tie, _, _ in aspects)
        notes["opinions_without_aspect"] += sum(tie not in ties[0] for tie, _ in opinions)
        records.append({"tokens": tokens, "triplets": triplets})
    return Corpus(records, "v1", notes)


def _tags(file: TextFile, number: int, text: str, tokens: list[str], sign: str, allowed: str) -> list[str]:
    """Return the tags of ``token<sign>tag`` pairs; check the tokens with the sentence, and the tags with a pattern."""
    pairs = [pair.rpartition(sign) for pair in _split(text)]
    if [token for token, _, _ in pairs] != tokens:
        at = next((i for i, (pair, token) in enumerate(zip(pairs, tokens, strict=False)) if pair[0] != token), None)
        where = (
            f"{len(pairs)} tagged tokens for {len(tokens)}" if at is None else f"{''.join(pairs[at])!r} at token {at}"
        )
        raise file.error(number, f"tags do not line up with the sentence: {shorten(where)}")
    for index, (token, _, tag) in enumerate(pairs):
        if not re.fullmatch(allowed, tag):
            raise file.error(number, f"tag {shorten(tag)!r} of token {index} ({shorten(token)}) is not of the format")
    return [tag for _, _, tag in pairs]


def _read_gts(file: TextFile) -> Corpus:
    """Read grid tags.

    Each ``B`` starts a span. An entry gives a triplet for each of its targets with each of its opinions. Some entries
    have targets alone or opinions alone, such as opinions on an implied aspect. They give no triplet, and their terms
    are counted.
    """
    notes = {"aspects_without_opinion": 0, "opinions_without_aspect": 0}
    records = []
    for here, number, sentence in file.at_each(parse_json_items(file)):
        if not isinstance(sentence, dict) or not isinstance(sentence.get("sentence"), str):
            raise here.error(number, f"{shorten(sentence)} has no sentence")
        entries = sentence.get("triples")
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise here.error(number, f"{shorten(entries)} is not a list of triples")
        tokens, triplets = _split(sentence["sentence"]), []
        for entry in entries:
            spans = [_bio(here, number, entry, key, tokens) for key in ("target_tags", "opinion_tags")]
            polarity = _polarity(here, number, entry.get("sentiment"))
            notes["aspects_without_opinion"] += 0 if spans[1] else len(spans[0])
            notes["opinions_without_aspect"] += 0 if spans[0] else len(spans[1])
            triplets += [{"aspect": a, "opinion": o, "polarity": polarity} for a in spans[0] for o in spans[1]]
        record = {"tokens": tokens, "triplets": triplets}
        records.append({"id": sentence["id"], **record} if sentence.get("id") is not None else record)
    return Corpus(records, "gts", notes)


def _bio(file: TextFile, number: int, entry: dict[str, Any], key: str, tokens: list[str]) -> list[list[int]]:
    if not isinstance(entry.get(key), str):
        raise file.error(number, f"{key} is {shorten(entry.get(key))}, expected tagged tokens")
    spans: list[list[int]] = []
    before = "O"
    for index, tag in enumerate(_tags(file, number, entry[key], tokens, "\\", "[BIO]")):
        if tag == "B":
            spans.append([index])
        elif tag == "I":
            if before == "O":
                raise file.error(number, f"{key} has an I without a B before it, at token {index}")
            spans[-1].append(index)
        before = tag
    return spans


# --- JSON and generated text ------------------------------------------------------------------------------------------

_V1_CODES = ("NEU", "POS", "NEG")  # of ASTE-Data-V1's files of triplets


def _read_v1_pairs(file: TextFile) -> Corpus:
    """Read a list of sentences, each a list of ``[aspect, opinion, code of the polarity]``."""
    records = []
    for here, number, sentence in file.at_each(parse_json_items(file)):
        if not isinstance(sentence, list):
            raise here.error(number, f"{shorten(sentence)} is not a list of triplets")
        triplets = []
        for item in sentence:
            if not isinstance(item, list) or len(item) != 3:
                raise here.error(number, f"{shorten(item)} is not a {_PARTS}")
            if type(item[2]) is not int or not 0 <= item[2] < len(_V1_CODES):
                raise here.error(number, f"polarity {shorten(item[2])} is not one of 0 (NEU), 1 (POS), 2 (NEG)")
            triplets.append({"aspect": item[0], "opinion": item[1], "polarity": _V1_CODES[item[2]]})
        records.append({"triplets": triplets})
    return Corpus(records, "v1-pairs", {})


def _read_joint(file: TextFile) -> Corpus:
    """Read entities and the sentiments between them.

    The head of a sentiment is the aspect, unless the types of the entities say that the tail is.
    """
    records, notes = [], {"aspects_without_opinion": 0, "opinions_without_aspect": 0}
    for here, number, sentence in file.at_each(parse_json_items(file)):
        tokens, entities, sentiments = _joint_parts(here, number, sentence)
        spans = [_joint_span(here, number, entity, len(tokens)) for entity in entities]
        is_opinion = [str(entity.get("type")).lower().startswith("opin") for entity in entities]
        triplets, used = [], set()
        for sentiment in sentiments:
            ends = [sentiment.get(end) for end in ("head", "tail")]
            for end in ends:
                if type(end) is not int or not 0 <= end < len(entities):
                    raise here.error(number, f"{shorten(end)} is not one of the {len(entities)} entities, from 0")
            if is_opinion[ends[0]] and not is_opinion[ends[1]]:
                ends.reverse()
            used.update(ends)
            polarity = _polarity(here, number, sentiment.get("type"))
            triplets.append({"aspect": spans[ends[0]], "opinion": spans[ends[1]], "polarity": polarity})
        for at in set(range(len(entities))) - used:
            notes["opinions_without_aspect" if is_opinion[at] else "aspects_without_opinion"] += 1
        record = {"tokens": tokens, "triplets": triplets}
        records.append({"id": sentence["id"], **record} if sentence.get("id") is not None else record)
    return Corpus(records, "joint", notes)


def _joint_parts(file: TextFile, number: int, sentence: Any) -> tuple[list[str], list[Any], list[Any]]:
    """The tokens, entities and sentiments of a sentence, checked."""
    if not isinstance(sentence, dict):
        raise file.error(number, f"{shorten(sentence)} is not a sentence with tokens, entities and sentiments")
    tokens = sentence.get("tokens")
    if not isinstance(tokens, list) or not all(isinstance(token, str) for token in tokens):
        raise file.error(number, f"tokens: {shorten(tokens)} is not a list of tokens")
    for key in ("entities", "sentiments"):
        listed = sentence.get(key)
        if not isinstance(listed, list) or not all(isinstance(item, dict) for item in listed):
            raise file.error(number, f"{key}: {shorten(listed)} is not a list of dicts")
    return tokens, sentence["entities"], sentence["sentiments"]


def _joint_span(file: TextFile, number: int, entity: dict[str, Any], n_tokens: int) -> list[int]:
    start, end = entity.get("start"), entity.get("end")
    if type(start) is not int or type(end) is not int or not 0 <= start < end <= n_tokens:
        raise file.error(
            number, f"{shorten(entity)} has no start and end (exclusive) within the sentence's {n_tokens} tokens"
        )
    return list(range(start, end))


def _read_json(file: TextFile) -> Corpus:
    """Read one record a line, one JSON array of records, a single record, or an object of columns."""
    whole = json_value(file.text, _NOT_JSON)
    if whole is _NOT_JSON:
        values = parse_json_lines(file)
    else:
        values = parse_json_items(file) if _is_array(whole) else [(1, parse_json(file))]
    if len(values) == 1 and _has_columns(values[0][1]):
        values = [(number, row) for number, value in values for row in rows_of_columns(file, number, value)]
    for here, number, record in file.at_each(values):
        if not isinstance(record, (dict, list)):
            raise here.error(number, f"{shorten(record)} is not a record")
    return Corpus([record for _, record in values], "jsonl", {})


def _read_generated(file: TextFile) -> Corpus:
    """Read terms as text; each line is a sentence."""
    lines = file.text.split("\n")
    if not lines[-1].strip():
        lines.pop()
    read = [parse_pieces(text) for text in lines]
    unparsed = [(number, piece) for number, found in enumerate(read, start=1) for piece in found.unparsed]
    records = [{"triplets": found.triplets, "unparsed": len(found.unparsed)} for found in read]
    return Corpus(records, "generated", {"unparsed": len(unparsed)}, unparsed)


def _check_some_triplet(file: TextFile, corpus: Corpus) -> None:
    """Refuse a file of text in which nothing can be read."""
    if not any(record["triplets"] for record in corpus.records):
        number, piece = corpus.unparsed[0]
        raise no_format(file, {"generated": f"no text is a triplet, the first is {shorten(piece)!r}"}, number)


# --- writing ----------------------------------------------------------------------------------------------------------


def write(path: str | Path, records: Iterable[Any], format: str = "v2") -> None:
    """Write records to a file that `read` takes.

    Parameters
    ----------
    path : path
        A name that ends in ``.gz`` packs the file.
    records : iterable
        Records as the metric takes them, with ``tokens`` and token indices. ``generated`` takes terms as text too, and
        writes ``unparsed`` as so many texts without a triplet. ``jsonl`` takes all records.
    format : {"v2", "span-aste", "gts", "jsonl", "generated"}
        The other formats cannot hold every set of triplets, or are not needed.

    Raises
    ------
    ValueError
        A record does not fit the format. It has no tokens, a span with a gap, a term with the format's separator, or
        text that could not be read.
    """
    check_choice("format", format, _WRITABLE)
    records = list(records)
    if format == "jsonl":
        return write_text(path, json_lines(records))
    records = [_writable(index, record, format) for index, record in enumerate(records)]
    if format == "gts":
        sentences = [_gts_sentence(index, record) for index, record in enumerate(records)]
        return write_text(path, json.dumps(sentences, ensure_ascii=False, indent=1) + "\n")
    line = _generated_line if format == "generated" else _span_line
    return write_text(path, "".join(line(i, record, format) + "\n" for i, record in enumerate(records)))


def _writable(index: int, record: Any, format: str) -> dict[str, Any]:
    """Make a record whose triplets are dicts with a polarity, and with token indices where the format needs them."""
    record = record if isinstance(record, dict) else {"triplets": record}
    if record.get("unparsed") and format != "generated":
        raise ValueError(f"records[{index}].unparsed: {record['unparsed']}, expected 0, as {format} cannot hold it")
    triplets = []
    for number, triplet in enumerate(record["triplets"]):
        if not isinstance(triplet, dict):
            triplet = dict(zip(("aspect", "opinion", "polarity"), triplet, strict=False))
        place = f"records[{index}].triplets[{number}]"
        if triplet.get("polarity") is None and "sentiment" in triplet:
            triplet = {**triplet, "polarity": triplet["sentiment"]}
        if triplet.get("polarity") is None:
            raise ValueError(f"{place}.polarity: missing, expected one, as {format} has it")
        for name in ("aspect", "opinion"):
            if isinstance(triplet[name], str) and format != "generated":
                raise ValueError(
                    f"{place}.{name}: {shorten(triplet[name])} is text, expected token indices for {format}"
                )
        label = POLARITIES.get(str(triplet["polarity"]).strip().lower(), triplet["polarity"])
        triplets.append({**triplet, "polarity": label})
    return {**record, "triplets": triplets}


def _tokens(index: int, record: dict[str, Any]) -> list[str]:
    tokens: list[str] | None = record.get("tokens")
    if not tokens or not all(isinstance(token, str) and token.split() == [token] for token in tokens):
        raise ValueError(f"records[{index}].tokens: {shorten(tokens)}, expected tokens without white space")
    if any(SEPARATOR in token for token in tokens):
        raise ValueError(
            f"records[{index}].tokens: {SEPARATOR} separates the parts of a line, expected tokens without it"
        )
    return tokens


def _span_line(index: int, record: dict[str, Any], format: str) -> str:
    triplets = []
    for triplet in record["triplets"]:
        spans = [sorted(set(triplet[name])) for name in ("aspect", "opinion")]
        for span in spans:
            if span[-1] - span[0] >= len(span):
                raise ValueError(f"records[{index}].triplets: {span} has a gap, which {format} cannot hold")
        if format == "span-aste":
            spans = [sorted({span[0], span[-1]}) for span in spans]
        triplets.append((*spans, triplet["polarity"]))
    middle = f"{SEPARATOR} " * 2 if format == "span-aste" else ""
    return f"{' '.join(_tokens(index, record))}{middle}{SEPARATOR}{triplets!r}"


def _generated_line(index: int, record: dict[str, Any], format: str) -> str:
    pieces, expected = [], []
    for triplet in record["triplets"]:
        terms = [
            triplet[name]
            if isinstance(triplet[name], str)
            else " ".join(_tokens(index, record)[i] for i in triplet[name])
            for name in ("aspect", "opinion")
        ]
        pieces.append(" | ".join([*terms, WORDS[triplet["polarity"]]]))
        aspect, opinion = map(str.strip, terms)
        expected.append({"aspect": aspect, "opinion": opinion, "polarity": triplet["polarity"]})
        if "\n" in pieces[-1] or parse_pieces(pieces[-1]) != (expected[-1:], []):
            raise ValueError(f"records[{index}].triplets: {terms} would be read in another way from {format} text")
    unparsed = [_NO_TRIPLET] * (record.get("unparsed") or 0)
    line = "; ".join([*pieces, *unparsed])
    if parse_pieces(line) != (expected, unparsed):
        raise ValueError(f"records[{index}].triplets: {line!r} would be read in another way from {format} text")
    return line


def _gts_sentence(index: int, record: dict[str, Any]) -> dict[str, Any]:
    tokens = _tokens(index, record)
    name = str(record.get("id", index))

    def tagged(span: list[int]) -> str:
        chosen = set(span)
        tags = ["O" if i not in chosen else "I" if i - 1 in chosen else "B" for i in range(len(tokens))]
        if tags.count("B") > 1:
            raise ValueError(f"records[{index}].triplets: {sorted(chosen)} has a gap, which gts cannot hold")
        return " ".join(f"{token}\\{tag}" for token, tag in zip(tokens, tags, strict=True))

    triples = [
        {
            "uid": f"{name}-{number}",
            "target_tags": tagged(triplet["aspect"]),
            "opinion_tags": tagged(triplet["opinion"]),
            "sentiment": WORDS[triplet["polarity"]],
        }
        for number, triplet in enumerate(record["triplets"])
    ]
    return {"id": name, "sentence": " ".join(tokens), "triples": triples}
