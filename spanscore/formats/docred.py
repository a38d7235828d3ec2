"""Files of DocRED and Re-DocRED.

``documents``
    A list of documents: ``train_annotated.json``, ``dev.json``, ``test.json``, and the files of Re-DocRED.
``rows``
    Rows of the dataset on the Hub, where ``labels`` is a dict of lists.
``result``
    ``result.json``, which models write for submission: a list of facts with their titles.
``records``
    Predictions by document: ``{"title", "relations": [...]}``.
``facts``
    ``*.fact``: a list of training triples of head name, tail name and relation.

Each file is a JSON list. All but ``facts`` may be JSON lines instead. Reading checks the keys that tell the formats
apart and that join documents; the metric checks the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from spanscore.formats.files import (
    Corpus,
    DocumentText,
    FileSource,
    TextFile,
    check_format,
    json_lines,
    parse_json_items,
    read_text,
    write_text,
)

FORMATS = ("documents", "rows", "result", "records", "facts")

# The keys of a value of each format, with their types.
_KEYS: dict[str, dict[str, tuple[type, ...]]] = {
    "documents": {"title": (str,), "vertexSet": (list,), "labels": (list,)},
    "rows": {"title": (str,), "vertexSet": (list,), "labels": (dict,)},
    "result": {"title": (str,), "r": (str,)},
    "records": {"title": (str,), "relations": (list,)},
}
_WORDS: dict[type, str] = {str: "text", list: "a list", dict: "an object"}
_HUB_NAMES = {"h": "head", "t": "tail", "r": "relation_id"}


def read(source: FileSource, format: str = "auto") -> Corpus:
    """Read a file of DocRED.

    Parameters
    ----------
    source : path or open text file
        A path that ends in ``.gz`` is unpacked, and ``-`` is standard input.
    format : {"auto", "documents", "rows", "result", "records", "facts"}
        ``"auto"`` finds the format by the first value. An empty list is ``"result"``.

    Returns
    -------
    Corpus
        Documents and rows give references, result and records give predictions, and facts give ``train_facts``.
        Documents of a hidden test set have no ``labels``; they get an empty list, and ``format_notes`` counts them.

    Raises
    ------
    ValueError
        The file does not have the format. The message begins with file and line.
    """
    check_format(format, FORMATS)
    file = read_text(source)
    items = parse_json_items(file)
    if format == "auto":
        format = _detected(file, *items[0]) if items else "result"
    without_labels = 0
    records = []
    for line, value in items:
        if format in ("documents", "rows") and isinstance(value, dict) and value.get("labels") is None:
            value, without_labels = {**value, "labels": []}, without_labels + 1
            _check(file, line, value, "documents")
        else:
            _check(file, line, value, format)
        records.append(value)
    notes = {"documents without labels": without_labels} if without_labels else {}
    return Corpus(records, format, notes)


def _detected(file: TextFile, line: int, value: Any) -> str:
    format = _form(value)
    if format is None:
        raise file.error(line, f"not a value of any of the formats {', '.join(FORMATS)}")
    return format


def _form(value: Any) -> str | None:
    """The format of a value, or None if it has no format's keys."""
    if isinstance(value, (list, tuple)):
        return "facts"
    if isinstance(value, dict):
        if "vertexSet" in value:
            return "rows" if isinstance(value.get("labels"), dict) else "documents"
        if "relations" in value:
            return "records"
        if "r" in value:
            return "result"
    return None


def _check(file: TextFile, line: int, value: Any, format: str) -> None:
    if format == "facts":
        if not isinstance(value, list) or len(value) != 3 or not all(isinstance(text, str) for text in value):
            raise file.error(line, "not a triple: expected a list of head name, tail name, relation")
        return
    if not isinstance(value, dict):
        raise file.error(line, f"not an object, expected one with {', '.join(_KEYS[format])}")
    for key, kinds in _KEYS[format].items():
        if key not in value:
            raise file.error(line, f"{key} is missing, expected {' or '.join(_WORDS[kind] for kind in kinds)}")
        if not isinstance(value[key], kinds):
            raise file.error(line, f"{key} is not {' or '.join(_WORDS[kind] for kind in kinds)}")


def write(path: str | Path, records: Iterable[Any], format: str = "auto") -> None:
    """Write records to a file of DocRED.

    Parameters
    ----------
    path : path
        A name that ends in ``.gz`` packs the file. A name that ends in ``.jsonl`` or ``.jsonl.gz`` makes JSON lines
        instead of a JSON list.
    records : iterable
        References for ``documents`` and ``rows``, in either form. Predictions for ``result`` and ``records``, in either
        form, without dense scores. Triples for ``facts``, or training documents, whose different triples are written
        in sorted order.
    format : {"auto", "documents", "rows", "result", "records", "facts"}
        ``"auto"`` keeps the form of the first record; no records are written as ``"result"``.

    Raises
    ------
    ValueError
        The format is unknown, or a record cannot be written in it.
    """
    check_format(format, FORMATS)
    given = list(records)
    if format == "auto":
        found = _form(given[0]) if given else "result"
        if found is None:
            raise ValueError(f"records[0]: not a value of any of the formats {', '.join(FORMATS)}")
        format = found
    if format == "facts":
        values: list[Any] = training_triples(given)
    elif format in ("documents", "rows"):
        values = [_document(value) if format == "documents" else _row(value) for value in given]
    else:
        facts = list(_flat(given))
        values = facts if format == "result" else _by_title(facts)
    lines = str(path).removesuffix(".gz").endswith(".jsonl")
    if lines and format == "facts":
        raise ValueError(
            f"{path}: facts as JSON lines, expected another name, since a list of triples is one JSON list"
        )
    write_text(path, json_lines(values) if lines else json.dumps(values, ensure_ascii=False) + "\n")


def document_text(record: dict[str, Any]) -> DocumentText:
    """The tokens of all sentences of a document, and the entities with the name and the tokens of their mentions."""
    sentences = record.get("sents") or []
    starts = [0]
    for sentence in sentences:
        starts.append(starts[-1] + len(sentence))
    entities = []
    for mentions in record["vertexSet"]:
        places: set[int] = set()
        for mention in mentions:
            position, sentence = mention.get("pos"), mention.get("sent_id")
            if position is not None and sentence is not None and sentence < len(sentences):
                begin, end = (starts[sentence] + int(at) for at in position)
                places.update(at for at in range(begin, end) if 0 <= at < starts[-1])
        entities.append((str(mentions[0].get("name")) if mentions else "", sorted(places)))
    return DocumentText([str(token) for sentence in sentences for token in sentence], entities)


def training_triples(records: Iterable[Any]) -> list[list[str]]:
    """Make training triples from training documents.

    Parameters
    ----------
    records : iterable
        Documents or rows. Triples among them are kept as they are.

    Returns
    -------
    list of [head, tail, relation]
        One triple for each name of the head and each name of the tail of a fact. The given triples come first, then
        the different triples of the documents in sorted order.
    """
    triples: set[tuple[str, ...]] = set()
    given = []
    for record in records:
        if isinstance(record, (list, tuple)):
            given.append(list(record))
            continue
        entities = record["vertexSet"]
        for label in _document(record)["labels"]:
            triples.update(
                (head["name"], tail["name"], label["r"])
                for head in entities[label["h"]]
                for tail in entities[label["t"]]
            )
    return given + sorted(map(list, triples))


def _document(record: dict[str, Any]) -> dict[str, Any]:
    """A reference with its labels as a list."""
    labels = record.get("labels") or []
    if not isinstance(labels, dict):
        return {**record, "labels": labels}
    columns = {key: labels.get(name, []) for key, name in _HUB_NAMES.items()}
    columns["evidence"] = labels.get("evidence") or [[] for _ in columns["h"]]
    return {
        **record,
        "labels": [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)],
    }


def _row(record: dict[str, Any]) -> dict[str, Any]:
    """A reference with its labels as a dict of lists. The texts of relations, which the Hub has, are left empty."""
    if isinstance(record.get("labels"), dict):
        return record
    labels = record.get("labels") or []
    columns: dict[str, list[Any]] = {name: [label[key] for label in labels] for key, name in _HUB_NAMES.items()}
    columns["relation_text"] = ["" for _ in labels]
    columns["evidence"] = [label.get("evidence") or [] for label in labels]
    return {**record, "labels": columns}


def _flat(records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The facts of predictions in either form, each with its title."""
    for index, record in enumerate(records):
        if record.get("scores") is not None:
            raise ValueError(f"records[{index}].scores: dense scores, expected facts")
        if record.get("relations") is None:
            yield record
        else:
            for fact in record["relations"]:
                yield {"title": record["title"], **fact}


def _by_title(facts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    by_title: dict[str, list[dict[str, Any]]] = {}
    for fact in facts:
        by_title.setdefault(fact["title"], []).append({key: value for key, value in fact.items() if key != "title"})
    return [{"title": title, "relations": relations} for title, relations in by_title.items()]
