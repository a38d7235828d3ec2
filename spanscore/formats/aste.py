"""Files of aspect sentiment triplets.

``v2``
    ASTE-Data-V2 (Xu et al. 2020): ``sentence####[([0, 1], [4], 'POS')]``. A span lists all its indices.
``span-aste``
    The output of Span-ASTE (Xu et al. 2021): ``sentence#### #### ####[([6, 8], [1], 'POS')]``. A span lists its first
    and its last index.
``v1``
    ASTE-Data-V1 (Peng et al. 2019): ``sentence####tok=T-POS …####tok=S …``.
``gts``
    Grid tagging scheme (Wu et al. 2020): JSON with ``target_tags`` and ``opinion_tags`` such as ``screen\\B``.
``jsonl``
    One record of the metric a line, or a JSON array of them.
``generated``
    Text of generative models, one sentence a line: ``(screen, large, positive); (…)`` or
    ``screen | large | positive; …``.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from spanscore.formats.files import (
    Corpus,
    FileSource,
    TextFile,
    check_choice,
    check_format,
    json_lines,
    json_value,
    parse_json,
    parse_json_lines,
    read_text,
    shorten,
    write_text,
)

FORMATS = ("v2", "span-aste", "v1", "gts", "jsonl", "generated")
SPAN_FORMATS = ("auto", "indices", "ends")
SEPARATOR = "####"

_SENTIMENTS = {"POS": "positive", "NEG": "negative", "NEU": "neutral", "CON": "conflict"}
_POLARITIES = {name: label for label, word in _SENTIMENTS.items() for name in (label.lower(), word)}

Triplet = dict[str, Any]


def read(source: FileSource, format: str = "auto", span_format: str = "auto") -> Corpus:
    """Read a file of triplets.

    Parameters
    ----------
    source : path or open text file
        A path that ends in ``.gz`` is unpacked, and ``-`` is standard input.
    format : {"auto", "v2", "span-aste", "v1", "gts", "jsonl", "generated"}
        ``"auto"`` finds the format by the content.
    span_format : {"auto", "indices", "ends"}
        The form of spans in ``v2`` and ``span-aste``. ``"indices"``: a span lists all its indices. ``"ends"``: a span
        lists its first and its last index, or a single index. With ``"auto"``, ``span-aste`` has ends, and ``v2`` has
        indices. A span with a gap is then refused in ``v2``, since its indices are probably ends.

    Returns
    -------
    Corpus
        For ``v1`` and ``gts``, ``format_notes`` counts terms that are in no triplet: ``aspects_without_opinion`` and
        ``opinions_without_aspect``. For ``generated``, it counts ``unparsed`` pieces of text, which the attribute
        ``unparsed`` lists.

    Raises
    ------
    ValueError
        The file does not have the format. The message begins with file and line.
    """
    check_format(format, FORMATS)
    check_choice("span_format", span_format, SPAN_FORMATS)
    file = read_text(source)
    format = detect(file) if format == "auto" else format
    if format in ("v2", "span-aste"):
        ends = span_format == "ends" or (span_format == "auto" and format == "span-aste")
        gaps = span_format == "indices"
        return Corpus([_line(file, *line, format, ends, gaps) for line in file.lines()], format, {})
    readers: dict[str, Callable[[TextFile], Corpus]] = {
        "v1": _read_v1,
        "gts": _read_gts,
        "jsonl": _read_json,
        "generated": _read_generated,
    }
    return readers[format](file)


def detect(file: TextFile) -> str:
    """Find the format of a file by its first line. A line that has no other format is generated text."""
    first = next((text for _, text in file.lines()), "").lstrip()
    whole = json_value(file.text) if first.startswith("[") else None
    if isinstance(whole, list) and whole and isinstance(whole[0], dict) and "triples" in whole[0]:
        return "gts"
    if whole is not None or (first.startswith(("[", "{")) and json_value(first) is not None):
        return "jsonl"
    n_separators = first.count(SEPARATOR)
    if n_separators:
        return {1: "v2", 2: "v1"}.get(n_separators, "span-aste")
    return "jsonl" if first.startswith(("[", "{")) and "|" not in first else "generated"


# --- lines with spans -------------------------------------------------------------------------------------------------


def _line(file: TextFile, number: int, text: str, format: str, ends: bool, gaps: bool) -> dict[str, Any]:
    parts = text.split(SEPARATOR)
    expected = 2 if format == "v2" else 4
    if len(parts) != expected:
        raise file.error(number, f"{len(parts) - 1} times {SEPARATOR}, expected {expected - 1} in a line of {format}")
    tokens = _split(parts[0])
    listed = _literal(parts[-1])
    if not isinstance(listed, list):
        raise file.error(number, f"{shorten(parts[-1])} is not a list of triplets")
    triplets = []
    for item in listed:
        if not isinstance(item, (list, tuple)) or len(item) != 3:
            raise file.error(number, f"{shorten(item)} is not a triplet ([aspect], [opinion], polarity)")
        aspect, opinion = (_span(file, number, span, len(tokens), ends, gaps) for span in item[:2])
        triplets.append({"aspect": aspect, "opinion": opinion, "polarity": _polarity(file, number, item[2])})
    return {"tokens": tokens, "triplets": triplets}


def line_mistakes(line: TextFile, format: str, **special: Any) -> Iterator[tuple[str, ValueError]]:
    """Find the wrong triplets of a line, by reading each triplet without the others.

    Parameters
    ----------
    line : TextFile
        A single line.
    format : str
        Formats other than ``v2`` and ``span-aste`` are not taken apart, so nothing is found in them.
    **special
        Further arguments of `read`.

    Yields
    ------
    place : str
        Such as ``"triplets[1]"``.
    mistake : ValueError
        The error of `read`.
    """
    if format not in ("v2", "span-aste"):
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
    label = _POLARITIES.get(value.lower()) if isinstance(value, str) else None
    if label is None:
        raise file.error(number, f"polarity {shorten(value)} is not one of {', '.join(list(_SENTIMENTS)[:3])}")
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
    sentences = parse_json(file)
    if not isinstance(sentences, list):
        raise file.error(1, f"{shorten(sentences)} is not a list of sentences")
    records = []
    for index, sentence in enumerate(sentences):
        place = f"sentence {index}"
        if not isinstance(sentence, dict) or not isinstance(sentence.get("sentence"), str):
            raise file.error(1, f"{place}: {shorten(sentence)} has no sentence")
        entries = sentence.get("triples")
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise file.error(1, f"{place}: {shorten(entries)} is not a list of triples")
        tokens, triplets = _split(sentence["sentence"]), []
        for entry in entries:
            spans = [_bio(file, place, entry, key, tokens) for key in ("target_tags", "opinion_tags")]
            polarity = _polarity(file, 1, entry.get("sentiment"))
            notes["aspects_without_opinion"] += 0 if spans[1] else len(spans[0])
            notes["opinions_without_aspect"] += 0 if spans[0] else len(spans[1])
            triplets += [{"aspect": a, "opinion": o, "polarity": polarity} for a in spans[0] for o in spans[1]]
        record = {"tokens": tokens, "triplets": triplets}
        records.append({"id": sentence["id"], **record} if sentence.get("id") is not None else record)
    return Corpus(records, "gts", notes)


def _bio(file: TextFile, place: str, entry: dict[str, Any], key: str, tokens: list[str]) -> list[list[int]]:
    if not isinstance(entry.get(key), str):
        raise file.error(1, f"{place}: {key} is {shorten(entry.get(key))}, expected tagged tokens")
    spans: list[list[int]] = []
    before = "O"
    for index, tag in enumerate(_tags(file, 1, entry[key], tokens, "\\", "[BIO]")):
        if tag == "B":
            spans.append([index])
        elif tag == "I":
            if before == "O":
                raise file.error(1, f"{place}: {key} has an I without a B before it, at token {index}")
            spans[-1].append(index)
        before = tag
    return spans


# --- records and generated text ---------------------------------------------------------------------------------------


def _read_json(file: TextFile) -> Corpus:
    """Read one record a line, or one JSON array of records."""
    lines = list(file.lines())
    if lines and lines[0][1].lstrip().startswith("["):
        whole = json_value(file.text)
        if isinstance(whole, list) and whole and isinstance(whole[0], dict) and "triplets" in whole[0]:
            return Corpus(whole, "jsonl", {})
    records = []
    for number, record in parse_json_lines(file):
        if not isinstance(record, (dict, list)):
            raise file.error(number, f"{shorten(record)} is not a record")
        records.append(record)
    return Corpus(records, "jsonl", {})


def _read_generated(file: TextFile) -> Corpus:
    """Read terms as text.

    A line is a sentence. An empty line is a sentence without triplets. A piece of a line must have three terms, and the
    third must be a polarity. Other pieces cannot be scored; they are counted and listed with their line.
    """
    lines = file.text.split("\n")
    if lines and not lines[-1].strip():
        lines.pop()
    records, unparsed = [], []
    for number, text in enumerate(lines, start=1):
        triplets = []
        for piece in _pieces(text):
            terms = _terms(piece)
            if terms is None:
                unparsed.append((number, piece))
            else:
                triplets.append(terms)
        records.append({"triplets": triplets})
    return Corpus(records, "generated", {"unparsed": len(unparsed)}, unparsed)


def _pieces(text: str) -> list[str]:
    """Split a line into triplets, which are separated by semicolons or stand in parentheses."""
    pieces = re.split(r";|(?<=\))\s*,?\s*(?=\()", text)
    return [piece.strip() for piece in pieces if piece.strip()]


def _terms(piece: str) -> Triplet | None:
    if "|" in piece:
        terms = piece.split("|")
    elif piece.startswith("(") and piece.endswith(")"):
        terms = piece[1:-1].split(",")
    else:
        return None
    terms = [term.strip() for term in terms]
    if len(terms) != 3 or not all(terms) or terms[2].lower() not in _POLARITIES:
        return None
    return {"aspect": terms[0], "opinion": terms[1], "polarity": _POLARITIES[terms[2].lower()]}


# --- writing ----------------------------------------------------------------------------------------------------------


def write(path: str | Path, records: Iterable[Any], format: str = "v2") -> None:
    """Write records to a file that `read` takes.

    Parameters
    ----------
    path : path
        A name that ends in ``.gz`` packs the file.
    records : iterable
        Records as the metric takes them, with ``tokens`` and token indices. ``generated`` takes terms as text too, and
        ``jsonl`` takes all records.
    format : {"v2", "span-aste", "gts", "jsonl", "generated"}
        ``v1`` cannot be written, since its tags cannot hold every set of triplets.

    Raises
    ------
    ValueError
        A record does not fit the format. It has no tokens, a span with a gap, or a term with the format's separator.
    """
    check_choice("format", format, tuple(name for name in FORMATS if name != "v1"))
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
    triplets = []
    for number, triplet in enumerate(record["triplets"]):
        if not isinstance(triplet, dict):
            triplet = dict(zip(("aspect", "opinion", "polarity"), triplet, strict=False))
        place = f"records[{index}].triplets[{number}]"
        if triplet.get("polarity") is None:
            raise ValueError(f"{place}.polarity: missing, expected one, as {format} has it")
        for name in ("aspect", "opinion"):
            if isinstance(triplet[name], str) and format != "generated":
                raise ValueError(
                    f"{place}.{name}: {shorten(triplet[name])} is text, expected token indices for {format}"
                )
        label = _POLARITIES.get(str(triplet["polarity"]).lower(), triplet["polarity"])
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
    pieces = []
    for triplet in record["triplets"]:
        terms = [
            triplet[name]
            if isinstance(triplet[name], str)
            else " ".join(_tokens(index, record)[i] for i in triplet[name])
            for name in ("aspect", "opinion")
        ]
        if any(re.search(r"[;|\n]", term) for term in terms):
            raise ValueError(f"records[{index}].triplets: {terms} hold ; or |, which separate in {format} text")
        pieces.append(" | ".join([*terms, _SENTIMENTS[triplet["polarity"]]]))
    return "; ".join(pieces)


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
            "sentiment": _SENTIMENTS[triplet["polarity"]],
        }
        for number, triplet in enumerate(record["triplets"])
    ]
    return {"id": name, "sentence": " ".join(tokens), "triples": triples}
