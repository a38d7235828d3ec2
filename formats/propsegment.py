"""PropSegmEnt's files: the benchmark's JSON, rows of its Hub data set, JSON lines of records, and sequence output.

Sequence output is what a text-to-text model writes (Chen et al. 2022, section 5.1): copies of the sentence joined by
``[TARGET]``, one a proposition, in each the tokens of the proposition inside ``[M] ... [/M]``.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from formats.files import Corpus, TextFile, json_lines, parse_json, parse_json_lines, read_text, write_text

FORMATS = ("propositions", "relationships", "hub", "records", "sequence")
OPEN, CLOSE, NEXT = "[M]", "[/M]", "[TARGET]"

# The keys that tell the forms of JSON apart; the second name of a pair is the one of the benchmark's documentation.
_ENTRY_KEYS = {
    "propositions": ("segmentation_responses",),
    "relationships": ("relationship_responses", "entailment_responses"),
}
_MARK = re.compile(r"(\[/?M\])")
# The corpus's own tokens: runs of letters and digits, and every other character that is not a space.
_TOKEN = re.compile(r"[^\W_]+|[^\s\w]|_")

Sentence = str | Sequence[str]


def tokenize(sentence: str) -> list[str]:
    """The tokens of a sentence as the corpus counts them."""
    return _TOKEN.findall(sentence)


def parse_copy(copy: str, tokens: Sequence[str]) -> list[int] | None:
    """The token indices that a marked copy of a sentence has inside its marks.

    Spaces do not matter, so a model may join or split tokens; every other character does. None if the copy is not one
    of the sentence, a mark stands inside a token, marks do not pair up, or nothing is marked.
    """
    characters, inside = [], []
    within = False
    for piece in _MARK.split(copy):
        if piece in (OPEN, CLOSE):
            if within == (piece == OPEN):
                return None
            within = not within
        else:
            text = "".join(piece.split())
            characters.append(text)
            inside += [within] * len(text)
    words = ["".join(token.split()) for token in tokens]
    if within or "".join(characters) != "".join(words):
        return None
    found, start = [], 0
    for index, word in enumerate(words):
        marked = set(inside[start : start + len(word)])
        start += len(word)
        if len(marked) > 1:
            return None
        if marked == {True}:
            found.append(index)
    return found or None


def parse_sequence(output: str, sentence: Sentence) -> tuple[list[list[int]], int]:
    """Sequence output to propositions.

    Parameters
    ----------
    output : str
        Copies of the sentence joined by ``[TARGET]``; blank for a sentence without propositions.
    sentence : str or list of str
        The sentence, or its tokens.

    Returns
    -------
    propositions : list of list of int
    unparsed : int
        How many copies do not line up with the sentence; they are left out.
    """
    tokens = tokenize(sentence) if isinstance(sentence, str) else list(sentence)
    parsed = [parse_copy(copy, tokens) for copy in output.split(NEXT) if copy.strip()]
    propositions = [proposition for proposition in parsed if proposition is not None]
    return propositions, len(parsed) - len(propositions)


def format_sequence(propositions: Iterable[Iterable[int]], tokens: Sequence[str]) -> str:
    """Propositions as sequence output; the inverse of `parse_sequence`."""
    copies = []
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


def read_sentences(source: str | Path | IO[str]) -> dict[str, list[str]]:
    """The tokens of every sentence of a ``document_clusters.*.json``, by the id ``cluster/document/index``."""
    file = read_text(source)
    sentences = {}
    try:
        for cluster in parse_json(file):
            for document in cluster["documents"]:
                for index, sentence in enumerate(document["sentences"]):
                    name = f"{cluster['cluster_id']}/{document['document_id']}/{index}"
                    sentences[name] = [token["text"] for token in sentence["tokens"]]
    except (KeyError, TypeError) as error:
        raise file.error(1, f"not a list of document clusters ({error!r})") from None
    return sentences


def read(source: str | Path | IO[str], format: str = "auto", sentences: Iterable[Sentence] | None = None) -> Corpus:
    """Read a file of either task.

    Parameters
    ----------
    source : path or open text file
        A path ending in ``.gz`` is unpacked, ``-`` is standard input.
    format : {"auto", "propositions", "relationships", "hub", "records", "sequence"}
        ``propositions`` and ``relationships`` are the benchmark's own; ``hub`` are rows of ``sihaochen/propsegment``,
        of either configuration, and ``records`` are records of the metric, both as JSON lines or one JSON list;
        ``sequence`` is one line of sequence output a sentence.
    sentences : iterable of str or of list of str, optional
        The sentences of sequence output, or their tokens, one a line. Without them a line is the sentence, a tab, and
        the output.

    Returns
    -------
    Corpus
        Entries of the benchmark's files are as they are, for the metric takes them as references. `format_notes` has
        ``unparsed``, the number of copies that did not line up with their sentence.

    Raises
    ------
    ValueError
        The file is not of the format; the message begins with file and line.
    """
    if format not in ("auto", *FORMATS):
        raise ValueError(f"format: {format!r} is not one of auto, {', '.join(FORMATS)}")
    file = read_text(source)
    given = None if sentences is None else list(sentences)
    if format == "auto":
        format = _guess(file, given)
    if format == "sequence":
        return _read_sequence(file, given)
    rows = _json_rows(file)
    if format in _ENTRY_KEYS:
        keys = _ENTRY_KEYS[format]
        for number, (line, row) in enumerate(rows):
            if not isinstance(row, Mapping) or not any(key in row for key in keys):
                raise file.error(line, f"entry {number} has no {keys[0]}, expected one of a {format}.*.json")
        return Corpus([row for _, row in rows], format, {})
    if format == "hub":
        return _read_hub(file, rows)
    return Corpus([row for _, row in rows], format, {})


def write(path: str | Path, records: Iterable[Any], format: str = "records") -> None:
    """Write records of the metric.

    Parameters
    ----------
    path : path
        Packed if it ends in ``.gz``.
    records : iterable
    format : {"records", "sequence"}
        JSON lines; or sequence output, each line after its sentence and a tab, for which records need ``tokens``.
    """
    records = list(records)
    if format == "records":
        write_text(path, json_lines(records))
        return
    if format != "sequence":
        raise ValueError(f"format: {format!r} is not one of records, sequence")
    lines = []
    for number, record in enumerate(records):
        if not isinstance(record, Mapping) or record.get("tokens") is None or record.get("propositions") is None:
            raise ValueError(f"records[{number}]: expected a dict with tokens and propositions, to write a sequence")
        tokens = record["tokens"]
        lines.append(f"{' '.join(tokens)}\t{format_sequence(record['propositions'], tokens)}\n")
    write_text(path, "".join(lines))


def _guess(file: TextFile, sentences: list[Sentence] | None) -> str:
    if sentences is not None:
        return "sequence"
    first = next(file.lines(), None)
    if first is None:
        return "records"
    start = first[1].lstrip()
    if "\t" in first[1] or start.startswith((OPEN, NEXT)) or start[:1] not in '[{"-0123456789':
        return "sequence"
    row: Any = next((row for _, row in _json_rows(file)), None)
    if isinstance(row, Mapping):
        for name, keys in _ENTRY_KEYS.items():
            if any(key in row for key in keys):
                return name
        if _is_hub(row):
            return "hub"
    return "records"


def _is_hub(row: Mapping) -> bool:
    return {"hypothesis", "premise", "label"} <= row.keys() or {"sentence", "propositions"} <= row.keys()


def _json_rows(file: TextFile) -> list[tuple[int, Any]]:
    """The rows of one JSON list, or of JSON lines, with their lines (1 for all of a list)."""
    lines = list(file.lines())
    if not lines:
        return []
    # A list over several lines opens with a line that is no JSON by itself.
    if len(lines) > 1 and not (lines[0][1].lstrip().startswith("[") and not _is_json(lines[0][1])):
        return parse_json_lines(file)
    value = parse_json(file)
    if isinstance(value, list) and not _is_record(value):
        return [(1, row) for row in value]
    return [(1, value)]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_record(value: list) -> bool:
    """Whether a JSON list is one bare record, a list of propositions, and not a list of records."""
    return bool(value) and all(
        isinstance(item, list) and item and all(isinstance(index, int) for index in item) for item in value
    )


def _read_sequence(file: TextFile, sentences: list[Sentence] | None) -> Corpus:
    lines = [line.rstrip("\r") for line in file.text.split("\n")]
    if lines[-1] == "":
        del lines[-1]  # what the last newline ends; other blank lines are sentences without propositions
    if sentences is not None and len(lines) != len(sentences):
        raise file.error(
            max(len(lines), 1), f"{len(lines)} lines for {len(sentences)} sentences, expected one a sentence"
        )
    records, notes = [], Counter(unparsed=0)
    for number, line in enumerate(lines):
        if sentences is None:
            sentence, tab, output = line.partition("\t")
            if not tab:
                raise file.error(number + 1, "no tab, expected the sentence, a tab, and the output")
            tokens = tokenize(sentence)
        else:
            given, output = sentences[number], line
            tokens = tokenize(given) if isinstance(given, str) else list(given)
        propositions, unparsed = parse_sequence(output, tokens)
        notes["unparsed"] += unparsed
        records.append({"tokens": tokens, "propositions": propositions})
    return Corpus(records, "sequence", dict(notes))


def _read_hub(file: TextFile, rows: list[tuple[int, Any]]) -> Corpus:
    records, notes = [], Counter(unparsed=0)
    for line, row in rows:
        if not isinstance(row, Mapping) or not _is_hub(row):
            raise file.error(
                line, "not a row of the data set, expected hypothesis, premise and label, or sentence and propositions"
            )
        if "label" in row:
            records.append({"label": row["label"]})
            continue
        sentence, marked = row["sentence"], row["propositions"]
        copies = [marked] if isinstance(marked, str) else marked
        if not isinstance(sentence, str) or not isinstance(copies, list) or not all(isinstance(c, str) for c in copies):
            raise file.error(line, "expected the sentence as text, and its propositions as marked copies of it")
        tokens = tokenize(sentence)
        propositions, unparsed = parse_sequence(NEXT.join(copies), tokens)
        notes["unparsed"] += unparsed
        records.append({"tokens": tokens, "propositions": propositions})
    return Corpus(records, "hub", dict(notes))
