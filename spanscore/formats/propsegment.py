"""Files of PropSegmEnt.

``propositions``, ``relationships``
    The benchmark's own JSON: ``propositions.*.json`` for segmentation, ``relationships.*.json`` for entailment.
``hub``
    Rows of the data set ``sihaochen/propsegment`` on the Hub, of either configuration.
``records``
    Records of the metric.
``labels``
    Plain labels of entailment, one a line.
``sequence``
    The output of a text-to-text model (Chen et al. 2022, section 5.1), one sentence a line. Each proposition is a copy
    of the sentence with its tokens inside ``[M] ... [/M]``. ``[TARGET]`` joins the copies. A copy that does not line up
    with the sentence is unparsed: it counts as a wrong prediction.

All but ``labels`` and ``sequence`` are JSON lines, one JSON list, or one JSON object of columns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import count, islice, pairwise, takewhile
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
    json_value,
    no_format,
    parse_json,
    parse_json_items,
    parse_json_lines,
    read_text,
    rows_of_columns,
    shorten,
    tokens_of,
    write_text,
)
from spanscore.formats.generated_propositions import (
    CLOSE,
    NEXT,
    OPEN,
    Sentence,
    format_sequence,
    parse_copy,
    parse_generated,
    parse_record,
    parse_sequence,
    spell,
    tokenize,
    without_space,
)
from spanscore.metrics.columns import is_present
from spanscore.metrics.entailment_records import ALL_LABELS, LABEL
from spanscore.metrics.mistakes import Mistakes, Refused
from spanscore.metrics.propsegment_records import TASKS

__all__ = [
    "FORMATS",
    "detect",
    "document_text",
    "format_sequence",
    "parse_copy",
    "parse_generated",
    "parse_sequence",
    "read",
    "read_sentences",
    "task_of",
    "to_predictions",
    "tokenize",
    "write",
]

FORMATS = ("propositions", "relationships", "hub", "records", "labels", "sequence")

# The keys by which the benchmark's files are known. The second key of a pair is that of the benchmark's documentation.
_ENTRY_KEYS = {
    "propositions": ("segmentation_responses",),
    "relationships": ("relationship_responses", "entailment_responses"),
}
_LABEL_KEYS = ("label", *_ENTRY_KEYS["relationships"])
_LINES_TO_DETECT = 100  # lines whose content shows the format
_NO_JSON = object()
_DECODER, _SPACE = json.JSONDecoder(), re.compile(r"[ \t\n\r]*")

# --- reading ----------------------------------------------------------------------------------------------------------


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
    format : {"auto", "propositions", "relationships", "hub", "records", "labels", "sequence"}
        ``"auto"`` finds the format by the content.
    sentences : iterable of str or of list of str, optional
        The sentence of each line of sequence output, or its tokens. Without them, a line is the sentence, a tab, and
        the output. If lines have a sentence of their own as well, it is kept, so that the metric sees misplaced ones.
        Other formats do not need them.
    clusters : path or open text file, optional
        A ``document_clusters.*.json``. Entries of ``propositions`` get the ``tokens`` of their sentences from it, and
        entries of ``relationships`` get the texts of ``hypothesis`` and ``premise``.

    Returns
    -------
    Corpus
        The metric takes entries of the benchmark's files as references as they are; `to_predictions` makes predictions
        of them. ``format_notes`` counts ``unparsed`` copies, which do not line up with their sentence, and the
        attribute ``unparsed`` lists them. Each record has its number of them too.

    Raises
    ------
    ValueError
        The file does not have the format, or no copy in its sequence output lines up with its sentence. The message
        begins with file and line.
    """
    check_format(format, FORMATS)
    file = read_text(source)
    given = None if sentences is None else list(sentences)
    if format == "auto":
        format = detect(file) if given is None else _detect_with_sentences(file)
    if format == "sequence":
        corpus = _read_sequence(file, given)
    elif format == "labels":
        corpus = _read_labels(file)
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
    """An entry with the text of its sentence, or of its hypothesis and premise, if known; other records as they are."""
    name = _name_of_entry(record)
    if not name:
        return record
    if "hypothesis_proposition" not in record:
        return {**record, "tokens": sentences[name]} if name in sentences else record
    texts = {}
    proposition = record["hypothesis_proposition"].get("proposition")
    indices = proposition.get("token_indices") if isinstance(proposition, dict) else None
    if name in sentences and isinstance(indices, list):
        tokens = sentences[name]
        texts["hypothesis"] = " ".join(tokens[at] for at in indices if isinstance(at, int) and 0 <= at < len(tokens))
    document = f"{record.get('cluster_id')}/{record.get('premise_document_id')}"
    names = takewhile(sentences.__contains__, (f"{document}/{at}" for at in count()))
    premise = " ".join(token for name in names for token in sentences[name])
    return {**texts, **({"premise": premise} if premise else {}), **record}


def task_of(records: Sequence[Any]) -> str:
    """Tell by its first record whether references are of ``"segmentation"`` or of ``"entailment"``."""
    first = records[0] if records else {}
    is_label = isinstance(first, (str, int)) or (isinstance(first, dict) and any(key in first for key in _LABEL_KEYS))
    return "entailment" if is_label else "segmentation"


def to_predictions(records: Sequence[Any]) -> list[Any]:
    """Turn entries of the benchmark's own files into predictions, to score the gold against itself.

    Parameters
    ----------
    records : sequence
        Entries of ``propositions.*.json`` or of ``relationships.*.json``, or records.

    Returns
    -------
    list of dict
        The propositions of each reference response, with the id of the entry and its tokens; or the label that at least
        two raters gave. Entries without a reference are left out, as the metric leaves them out among references.

    Raises
    ------
    ValueError
        A record is wrong.
    """
    mistakes = Mistakes()
    task = task_of(records)
    column = TASKS[task].read("references", records, mistakes)
    try:
        mistakes.raise_first()
    except ValueError as error:
        raise ValueError(str(error).replace("references", "predictions", 1)) from None
    if task == "entailment":
        label, integer = column["label"].tolist(), column["integer"].tolist()
        found: list[dict[str, Any]] = [
            {"label": number if name < 0 else ALL_LABELS[name]} for name, number in zip(label, integer, strict=True)
        ]
        has_reference = [row["label"] != -1 for row in found]
    else:
        lists = column["propositions"]
        indices = lists.items
        flat, bounds, starts = indices.items.tolist(), indices.offsets.tolist(), lists.offsets.tolist()
        found = [
            {"propositions": [flat[start:end] for start, end in pairwise(bounds[first : last + 1])]}
            for first, last in pairwise(starts)
        ]
        has_reference = is_present(lists).tolist()
        for row, record in zip(found, records, strict=True):
            if tokens_of(record) is not None:
                row["tokens"] = record["tokens"]
    named = zip(column["id"].tolist(), found, has_reference, strict=True)
    return [row if name is None else {"id": name, **row} for name, row, is_kept in named if is_kept]


def document_text(record: Any) -> DocumentText:
    """The tokens and the name of a sentence; of a pair, the words of hypothesis and premise, which are its parts."""
    tokens, parts = tokens_of(record), []
    if tokens is None:
        tokens = []
        for part in ("hypothesis", "premise"):
            if isinstance(record, dict) and record.get(part) is not None:
                parts.append((part, len(tokens)))
                tokens += str(record[part]).split()
    return DocumentText(tokens, parts=parts, name=_name_of_entry(record))


def _name_of_entry(record: Any) -> str:
    """The place of the sentence of an entry, or of the hypothesis of an entry."""
    if not isinstance(record, dict):
        return ""
    place, hypothesis = record.get("sentence_id"), record.get("hypothesis_proposition")
    if isinstance(place, dict):
        return "/".join(str(place.get(name)) for name in ("cluster_id", "document_id", "sentence_index"))
    if isinstance(hypothesis, dict):
        return f"{record.get('cluster_id')}/{hypothesis.get('document_id')}/{hypothesis.get('sentence_index')}"
    return ""


def write(path: str | Path, records: Iterable[Any], format: str = "records") -> None:
    """Write records of the metric.

    Parameters
    ----------
    path : path
        A name that ends in ``.gz`` packs the file.
    records : iterable
    format : {"records", "sequence"}
        ``"records"`` writes JSON lines. ``"sequence"`` writes the sentence, a tab, and sequence output; records need
        ``tokens`` as `tokenize` gives them, and no ``unparsed`` copies.

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
        place, sentence = f"records[{number}]", " ".join(tokens)
        if record.get("unparsed"):
            raise ValueError(f"{place}.unparsed: {record['unparsed']}, expected 0, since their text is not known")
        try:
            output = format_sequence(record["propositions"], tokens)
        except ValueError as error:
            raise ValueError(f"{place}: {error}") from None
        if tokenize(sentence) != list(tokens):
            words = f"{shorten(tokens)} would be read as other tokens, expected those of `tokenize`"
            raise ValueError(f"{place}.tokens: {words}")
        lines.append(f"{sentence}\t{output}\n")
    write_text(path, "".join(lines))


# --- finding the format -----------------------------------------------------------------------------------------------


def detect(file: TextFile) -> str:
    """Find the format of a file by its content.

    Raises
    ------
    ValueError
        No format fits. The message names the formats that come nearest.
    """
    lines = list(islice(file.lines(), _LINES_TO_DETECT))
    if not lines:
        return "records"
    texts = [text for _, text in lines]
    values = _first_values(file, texts)
    if values is not None:
        values = [value for _, value in _unfolded(file, [(1, value) for value in values])]
    if values is None:
        if any(mark in text for text in texts for mark in (OPEN, CLOSE, "\t")):
            return "sequence"
        if any(_parse_label(text) is not None for text in texts):
            return "labels"
        words = repr(shorten(texts[0]))
        reasons = {
            "sequence": f"no line has {OPEN} or a tab",
            "labels": f"{words} is not one of {', '.join(ALL_LABELS)}",
            "records": f"{words} is not JSON",
        }
        raise no_format(file, reasons, lines[0][0])
    found = next(filter(None, map(_format_of, values)), None)
    if found is None and any(map(_is_hub, values)):
        return "hub"  # sentences without propositions
    if found is None and any(value != [] for value in values):
        raise no_format(file, _reasons(values[0]), lines[0][0])
    return found or "records"


def _detect_with_sentences(file: TextFile) -> str:
    """As `detect`, for a file whose sentences are given: text that has no other format is sequence output."""
    texts = [text for _, text in islice(file.lines(), _LINES_TO_DETECT)]
    if not texts:
        return "sequence"
    try:
        return detect(file)
    except ValueError:
        if _first_values(file, texts) is not None:
            raise
        return "sequence"


def _first_values(file: TextFile, texts: list[str]) -> list[Any] | None:
    """The first values of JSON lines or the first items of a JSON list; None if the file is text.

    Parameters
    ----------
    file : TextFile
    texts : list of str
        The first lines of the file that are not blank.
    """
    values = [json_value(text, _NO_JSON) for text in texts]
    first, read = values[0], [value for value in values if value is not _NO_JSON]
    if first is _NO_JSON:
        items = _first_items(file.text)
        return items or ([value for value in read if isinstance(value, (dict, list))] or None)
    if len(values) == 1 and isinstance(first, list) and not _is_record(first):
        return first[:_LINES_TO_DETECT]
    if not isinstance(first, dict):
        # A line of text may be JSON by chance, such as a number.
        others = [text for text, value in zip(texts, values, strict=True) if value is _NO_JSON]
        if any(mark in text for text in others for mark in (OPEN, CLOSE, "\t")) or any(map(_parse_label, others)):
            return None
    return read


def _first_items(text: str) -> list[Any]:
    """The first items of a JSON list over several lines, or a JSON object over several lines; else none."""
    at = len(text) - len(text.lstrip())
    if text[at : at + 1] == "{":
        value = json_value(text)
        return [] if value is None else [value]
    items: list[Any] = []
    while len(items) < _LINES_TO_DETECT and text[at : at + 1] == ("," if items else "["):
        at = _SPACE.match(text, at + 1).end()  # type: ignore[union-attr]  # it matches anywhere
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]
        if text[at : at + 1] not in (",", "]"):
            break
        items.append(value)
    return items


def _format_of(value: Any) -> str | None:
    """The format of a file that holds a JSON value; None if the value does not show it."""
    if isinstance(value, dict):
        for name, keys in _ENTRY_KEYS.items():
            if any(key in value for key in keys):
                return name
        marked = value.get("propositions")
        if _is_hub(value) and ("label" in value or isinstance(marked, str)):
            return "hub"
        if _is_hub(value) and isinstance(marked, list) and all(isinstance(copy, str) for copy in marked):
            return "hub" if marked else None
        return "records" if "propositions" in value or "label" in value else None
    if isinstance(value, list):
        are_lists = all(isinstance(item, list) and all(map(_is_number, item)) for item in value)
        return "records" if value and are_lists else None
    return "records" if _is_number(value) or (isinstance(value, str) and _parse_label(value) is not None) else None


def _reasons(value: Any) -> dict[str, str]:
    """The formats that come nearest to a JSON value that has none, each with the reason why it does not fit."""
    if not isinstance(value, dict):
        return {"records": f"{shorten(value)!r} is neither a list of propositions nor a label"}
    reasons = {name: f"no {keys[0]}" for name, keys in _ENTRY_KEYS.items()}
    return {"records": f"the keys are {shorten(list(value))}, expected propositions or label"} | reasons


def _is_hub(value: Any) -> bool:
    return isinstance(value, Mapping) and any(
        keys <= value.keys() for keys in ({"hypothesis", "premise", "label"}, {"sentence", "propositions"})
    )


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_record(value: list[Any]) -> bool:
    """Whether a JSON list is one record, that is a list of propositions, and not a list of records."""
    return bool(value) and all(isinstance(item, list) and item and all(map(_is_number, item)) for item in value)


# --- reading one format -----------------------------------------------------------------------------------------------


def _json_rows(file: TextFile) -> list[tuple[int, Any]]:
    """The rows of one JSON list, of JSON lines or of an object of columns, with their lines."""
    lines = list(file.lines())
    if not lines:
        return []
    first = lines[0][1].lstrip()
    # A list or an object over several lines begins with a line that is not JSON by itself.
    is_whole = first.startswith("[") and len(lines) == 1
    if not is_whole and first.startswith(("[", "{")) and len(lines) > 1 and not is_json(first):
        is_whole = first.startswith("[") or is_json(file.text)
    if not is_whole:
        return _unfolded(file, parse_json_lines(file))
    if first.startswith("{"):
        return _unfolded(file, [(1, parse_json(file))])
    items = parse_json_items(file)
    values = [value for _, value in items]
    return [(1, values)] if _is_record(values) else items


def _unfolded(file: TextFile, items: list[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """The rows that a single object of columns stands for; other items as they are."""
    if len(items) != 1 or not _has_columns(items[0][1]):
        return items
    line, value = items[0]
    return [(line, row) for row in rows_of_columns(file, line, value)]


def _has_columns(value: Any) -> bool:
    """Whether a JSON value is an object of columns: its rows are those of a record, a row of the Hub or an entry."""
    if not isinstance(value, dict):
        return False
    if isinstance(value.get("label"), list) or isinstance(value.get("sentence"), list):
        return True
    column = next(
        (value[key] for key in ("propositions", *_LABEL_KEYS, "segmentation_responses") if key in value), None
    )
    rows = column if isinstance(column, list) else []
    inner = [item for row in rows if isinstance(row, list) for item in row]
    return any(isinstance(item, (list, dict)) for item in inner)


def _parse_label(text: str) -> str | int | None:
    """The label on a line, or the integer that stands for one; None if the line is neither."""
    value = json_value(text, text.strip())  # labels may be in quotes
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    try:
        LABEL.read_one(value)
    except Refused:
        return None
    return str(value)


def _read_labels(file: TextFile) -> Corpus:
    labels: list[str | int] = []
    for number, line in enumerate(file.text.rstrip().split("\n") if file.text.strip() else [], start=1):
        label = _parse_label(line)
        if label is None:
            words = repr(shorten(line)) if line.strip() else "a blank line"
            raise file.error(number, f"{words} is not a label: one of {', '.join(ALL_LABELS)}, or an integer")
        labels.append(label)
    return Corpus(labels, "labels", {})


def _read_sequence(file: TextFile, sentences: list[Sentence] | None) -> Corpus:
    lines = [line.rstrip("\r") for line in file.text.split("\n")]
    if lines[-1] == "":
        del lines[-1]  # the last newline ends a line; other empty lines are sentences without propositions
    own = [line.partition("\t") for line in lines]
    have_own = all(tab and OPEN not in sentence and CLOSE not in sentence for sentence, tab, _ in own)
    if sentences is not None and len(lines) != len(sentences):
        if not have_own:
            words = f"{len(lines)} lines for {len(sentences)} sentences, expected one a sentence"
            raise file.error(max(len(lines), 1), words)
        sentences = None  # such as one line for each entry with a reference
    records = []
    unparsed: list[tuple[int, str]] = []
    for number, line in enumerate(lines):
        text, tab, output = own[number]
        if sentences is None and not tab:
            words = (
                "no tab, expected the sentence, a tab, and the output, unless all references have tokens, "
                "as those of the benchmark have with --clusters"
            )
            raise file.error(number + 1, words)
        if sentences is None:
            sentence = spell(text)
        else:
            sentence = spell(sentences[number])
            if not have_own:
                output = line
            elif without_space(text) != sentence.characters:
                sentence = spell(text)  # the metric tells whether it is another reference's
        record, wrong = parse_record(output, sentence)
        unparsed += [(number + 1, copy) for copy in wrong]
        records.append(record)
    return _with_unparsed(file, records, "sequence", unparsed)


def _read_hub(file: TextFile, rows: list[tuple[int, Any]]) -> Corpus:
    records: list[dict[str, Any]] = []
    unparsed: list[tuple[int, str]] = []
    for here, line, row in file.at_each(rows):
        if not _is_hub(row):
            raise here.error(
                line, "not a row of the data set, expected hypothesis, premise and label, or sentence and propositions"
            )
        named = {} if row.get("id") is None else {"id": row["id"]}
        if "label" in row:
            records.append({**named, "label": row["label"]})
            continue
        sentence, marked = row["sentence"], row["propositions"]
        copies = [marked] if isinstance(marked, str) else marked
        if not isinstance(sentence, str) or not isinstance(copies, list) or not all(isinstance(c, str) for c in copies):
            raise here.error(line, "expected the sentence as text, and its propositions as marked copies of it")
        record, wrong = parse_record(NEXT.join(copies), spell(sentence))
        unparsed += [(line, copy) for copy in wrong]
        records.append({**named, **record})
    return _with_unparsed(file, records, "hub", unparsed)


def _with_unparsed(
    file: TextFile, records: list[dict[str, Any]], format: str, unparsed: list[tuple[int, str]]
) -> Corpus:
    """The corpus of a file of marked copies; an error if there are copies and none of them lines up."""
    if unparsed and not any(record.get("propositions") for record in records):
        line, copy = unparsed[0]
        others = ", ".join(name for name in FORMATS if name != format)
        raise file.error(
            line,
            f"{shorten(copy)!r} is no copy of its sentence with tokens inside {OPEN} ... {CLOSE}, and there is no "
            f"other, so nothing can be read as {format}; other formats are {others}",
        )
    return Corpus(records, format, {"unparsed": len(unparsed)}, unparsed)
