"""Files of PropSegmEnt.

``propositions``, ``relationships``
    The benchmark's own JSON: ``propositions.*.json`` for segmentation, ``relationships.*.json`` for entailment.
``hub``
    Rows of the data set ``sihaochen/propsegment`` on the Hub, of either configuration.
``records``
    Records of the metric.
``sequence``
    The output of a text-to-text model (Chen et al. 2022, section 5.1), one sentence a line. Each proposition is a copy
    of the sentence with its tokens inside ``[M] ... [/M]``. ``[TARGET]`` joins the copies.

All but ``sequence`` are JSON lines or one JSON list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from spanscore.formats.files import (
    Corpus,
    DocumentText,
    FileSource,
    TextFile,
    check_choice,
    check_format,
    is_json,
    json_lines,
    parse_json,
    parse_json_lines,
    read_text,
    tokens_of,
    write_text,
)

FORMATS = ("propositions", "relationships", "hub", "records", "sequence")
OPEN, CLOSE, NEXT = "[M]", "[/M]", "[TARGET]"

# The keys by which the benchmark's files are known. The second key of a pair is that of the benchmark's documentation.
_ENTRY_KEYS = {
    "propositions": ("segmentation_responses",),
    "relationships": ("relationship_responses", "entailment_responses"),
}
_LABEL_KEYS = ("label", *_ENTRY_KEYS["relationships"])
_MARK = re.compile(r"(\[/?M\])")
# The tokens of the corpus: runs of letters and digits, and each other character that is not a space.
_TOKEN = re.compile(r"[^\W_]+|[^\s\w]|_")

Sentence = str | Sequence[str]


def tokenize(sentence: str) -> list[str]:
    """Split a sentence into the tokens of the corpus."""
    return _TOKEN.findall(sentence)


def parse_copy(copy: str, tokens: Sequence[str]) -> list[int] | None:
    """Find the tokens inside the marks of a copy of a sentence.

    Parameters
    ----------
    copy : str
        All characters must be those of the sentence, except spaces: a model may join or split tokens.
    tokens : sequence of str
        The tokens of the sentence.

    Returns
    -------
    list of int or None
        Token indices. None if the copy differs from the sentence, a mark stands inside a token, marks do not pair up,
        or no token is marked.
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
        Number of copies that do not line up with the sentence. They are left out.
    """
    tokens = tokenize(sentence) if isinstance(sentence, str) else list(sentence)
    propositions, unparsed = _parse_copies(output.split(NEXT), tokens)
    return propositions, len(unparsed)


def _parse_copies(copies: Iterable[str], tokens: Sequence[str]) -> tuple[list[list[int]], list[str]]:
    """The propositions of marked copies of a sentence, and the copies that do not line up with it."""
    propositions, unparsed = [], []
    for copy in copies:
        if copy.strip():
            proposition = parse_copy(copy, tokens)
            if proposition is None:
                unparsed.append(copy.strip())
            else:
                propositions.append(proposition)
    return propositions, unparsed


def format_sequence(propositions: Iterable[Iterable[int]], tokens: Sequence[str]) -> str:
    """Turn propositions into sequence output; the inverse of `parse_sequence`."""
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


def read_sentences(source: FileSource) -> dict[str, list[str]]:
    """Read the tokens of the sentences of a ``document_clusters.*.json``, by their ids ``cluster/document/index``."""
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


def read(
    source: FileSource,
    format: str = "auto",
    sentences: Iterable[Sentence] | None = None,
    clusters: FileSource | None = None,
) -> Corpus:
    """Read a file of either task.

    Parameters
    ----------
    source : path or open text file
        A path that ends in ``.gz`` is unpacked, and ``-`` is standard input.
    format : {"auto", "propositions", "relationships", "hub", "records", "sequence"}
        ``"auto"`` finds the format by the content.
    sentences : iterable of str or of list of str, optional
        The sentence of each line of sequence output, or its tokens. Without them, a line is the sentence, a tab, and
        the output.
    clusters : path or open text file, optional
        A ``document_clusters.*.json``. Entries of ``propositions`` get the ``tokens`` of their sentences from it.

    Returns
    -------
    Corpus
        The metric takes entries of the benchmark's files as they are. ``format_notes`` counts ``unparsed`` copies,
        which do not line up with their sentence, and the attribute ``unparsed`` lists them.

    Raises
    ------
    ValueError
        The file does not have the format. The message begins with file and line.
    """
    check_format(format, FORMATS)
    file = read_text(source)
    given = None if sentences is None else list(sentences)
    if format == "auto":
        format = _detected(file, given)
    if format == "sequence":
        corpus = _read_sequence(file, given)
    else:
        rows = _json_rows(file)
        if format in _ENTRY_KEYS:
            keys = _ENTRY_KEYS[format]
            for number, (line, row) in enumerate(rows):
                if not isinstance(row, Mapping) or not any(key in row for key in keys):
                    raise file.error(line, f"entry {number} has no {keys[0]}, expected one of a {format}.*.json")
        corpus = _read_hub(file, rows) if format == "hub" else Corpus([row for _, row in rows], format, {})
    if clusters is None:
        return corpus
    known = read_sentences(clusters)
    return corpus._replace(records=[_with_tokens(record, known) for record in corpus.records])


def _with_tokens(record: Any, sentences: Mapping[str, list[str]]) -> Any:
    """An entry of ``propositions`` with the tokens of its sentence, if they are known; other records as they are."""
    place = record.get("sentence_id") if isinstance(record, dict) else None
    if not isinstance(place, dict):
        return record
    name = f"{place.get('cluster_id')}/{place.get('document_id')}/{place.get('sentence_index')}"
    return {**record, "tokens": sentences[name]} if name in sentences else record


def task_of(records: Sequence[Any]) -> str:
    """Tell by its first record whether references are of ``"segmentation"`` or of ``"entailment"``."""
    first = records[0] if records else {}
    is_label = isinstance(first, str) or (isinstance(first, dict) and any(key in first for key in _LABEL_KEYS))
    return "entailment" if is_label else "segmentation"


def document_text(record: Any) -> DocumentText:
    """The tokens of a sentence; for a pair of sentences, the words of premise and hypothesis with an arrow between."""
    tokens = tokens_of(record)
    if tokens is None:
        texts = [str(record[name]) for name in ("premise", "hypothesis") if isinstance(record, dict) and name in record]
        tokens = " → ".join(texts).split()
    return DocumentText(tokens)


def write(path: str | Path, records: Iterable[Any], format: str = "records") -> None:
    """Write records of the metric.

    Parameters
    ----------
    path : path
        A name that ends in ``.gz`` packs the file.
    records : iterable
    format : {"records", "sequence"}
        ``"records"`` writes JSON lines. ``"sequence"`` writes the sentence, a tab, and sequence output; records need
        ``tokens``.

    Raises
    ------
    ValueError
        The format is unknown, or a record cannot be written in it.
    """
    check_choice("format", format, ("records", "sequence"))
    records = list(records)
    if format == "records":
        write_text(path, json_lines(records))
        return
    lines = []
    for number, record in enumerate(records):
        if not isinstance(record, Mapping) or record.get("tokens") is None or record.get("propositions") is None:
            raise ValueError(f"records[{number}]: expected a dict with tokens and propositions, to write a sequence")
        tokens = record["tokens"]
        lines.append(f"{' '.join(tokens)}\t{format_sequence(record['propositions'], tokens)}\n")
    write_text(path, "".join(lines))


def _detected(file: TextFile, sentences: list[Sentence] | None) -> str:
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


def _is_hub(row: Mapping[str, Any]) -> bool:
    return {"hypothesis", "premise", "label"} <= row.keys() or {"sentence", "propositions"} <= row.keys()


def _json_rows(file: TextFile) -> list[tuple[int, Any]]:
    """The rows of one JSON list or of JSON lines, with their lines. All rows of a list have line 1."""
    lines = list(file.lines())
    if not lines:
        return []
    # A list over several lines begins with a line that is not JSON by itself.
    is_list = lines[0][1].lstrip().startswith("[") and (len(lines) == 1 or not is_json(lines[0][1]))
    if not is_list:
        return parse_json_lines(file)
    values = parse_json(file)
    return [(1, values)] if _is_record(values) else [(1, value) for value in values]


def _is_record(value: list[Any]) -> bool:
    """Whether a JSON list is one record, that is a list of propositions, and not a list of records."""
    return bool(value) and all(
        isinstance(item, list) and item and all(isinstance(index, int) for index in item) for item in value
    )


def _read_sequence(file: TextFile, sentences: list[Sentence] | None) -> Corpus:
    lines = [line.rstrip("\r") for line in file.text.split("\n")]
    if lines[-1] == "":
        del lines[-1]  # the last newline ends a line; other empty lines are sentences without propositions
    if sentences is not None and len(lines) != len(sentences):
        raise file.error(
            max(len(lines), 1), f"{len(lines)} lines for {len(sentences)} sentences, expected one a sentence"
        )
    records = []
    unparsed: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        if sentences is None:
            sentence, tab, output = line.partition("\t")
            if not tab:
                raise file.error(number + 1, "no tab, expected the sentence, a tab, and the output")
            tokens = tokenize(sentence)
        else:
            given, output = sentences[number], line
            tokens = tokenize(given) if isinstance(given, str) else list(given)
        propositions, wrong = _parse_copies(output.split(NEXT), tokens)
        unparsed += [(number + 1, copy) for copy in wrong]
        records.append({"tokens": tokens, "propositions": propositions})
    return Corpus(records, "sequence", {"unparsed": len(unparsed)}, unparsed)


def _read_hub(file: TextFile, rows: list[tuple[int, Any]]) -> Corpus:
    records: list[dict[str, Any]] = []
    unparsed: list[tuple[int, str]] = []
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
        propositions, wrong = _parse_copies(NEXT.join(copies).split(NEXT), tokens)
        unparsed += [(line, copy) for copy in wrong]
        records.append({"tokens": tokens, "propositions": propositions})
    return Corpus(records, "hub", {"unparsed": len(unparsed)}, unparsed)
