"""DocRED's files: documents, ``result.json``, rows of the Hub's dataset, and lists of training triples.

========= ===================================================================================================
format    what
========= ===================================================================================================
documents ``train_annotated.json``, ``dev.json``, ``test.json``, Re-DocRED's files: a list of documents
rows      rows of the Hub's dataset, where ``labels`` is a dict of lists
result    ``result.json``: a list of facts with their titles, as models write it for submission
records   predictions by document, ``{"title", "relations": [...]}``
facts     ``*.fact``: a list of training triples, head name, tail name, relation
========= ===================================================================================================

Each is a JSON list, or, but for facts, JSON lines. Reading checks what the format needs to be told apart and joined;
the metric checks the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from formats.files import Corpus, TextFile, json_lines, parse_json_items, read_text, write_text

FORMATS = ("documents", "rows", "result", "records", "facts")

# What a value of each format must have, and of what kind.
_KEYS: dict[str, dict[str, tuple[type, ...]]] = {
    "documents": {"title": (str,), "vertexSet": (list,), "labels": (list,)},
    "rows": {"title": (str,), "vertexSet": (list,), "labels": (dict,)},
    "result": {"title": (str,), "r": (str,)},
    "records": {"title": (str,), "relations": (list,)},
}
_WORDS: dict[type, str] = {str: "text", list: "a list", dict: "an object"}
_HUB_NAMES = {"h": "head", "t": "tail", "r": "relation_id"}


def read(source: str | Path | IO[str], format: str = "auto") -> Corpus:
    """Read a file of DocRED.

    Parameters
    ----------
    source : path or open text file
        ``.gz`` is unpacked, ``-`` is standard input.
    format : {"auto", "documents", "rows", "result", "records", "facts"}
        ``"auto"`` tells it from the first value; an empty list is read as ``"result"``.

    Returns
    -------
    Corpus
        Its records are as the metric takes them: references of documents and rows, predictions of result and records,
        ``train_facts`` of facts. A document without ``labels``, as in a hidden test set, gets none; `format_notes`
        counts these.

    Raises
    ------
    ValueError
        With file and line, if the file is not what it should be.
    """
    if format != "auto" and format not in FORMATS:
        raise ValueError(f"format: {format!r} is not one of auto, {', '.join(FORMATS)}")
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
    if isinstance(value, list):
        return "facts"
    if isinstance(value, dict):
        if "vertexSet" in value:
            return "rows" if isinstance(value.get("labels"), dict) else "documents"
        if "relations" in value:
            return "records"
        if "r" in value:
            return "result"
    raise file.error(line, f"not a value of any of the formats {', '.join(FORMATS)}")


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


def write(path: str | Path, records: Iterable[Any], format: str) -> None:
    """Write records to a file of DocRED; a name that ends in ``.gz`` packs it, one in ``.jsonl`` makes JSON lines.

    Parameters
    ----------
    path : path
    records : iterable
        References for ``documents`` and ``rows``, in either form; predictions for ``result`` and ``records``, in either
        form, not dense scores; triples for ``facts``, or training documents, whose different triples are written in
        order.
    format : {"documents", "rows", "result", "records", "facts"}

    Raises
    ------
    ValueError
        If the format is unknown, or a record cannot be written in it.
    """
    if format not in FORMATS:
        raise ValueError(f"format: {format!r} is not one of {', '.join(FORMATS)}")
    given = list(records)
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


def training_triples(records: Iterable[Any]) -> list[list[str]]:
    """The different triples of training documents: every name of the head, every name of the tail, and the relation.

    Triples that are given as such stay as they are.
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


def _document(record: dict) -> dict:
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


def _row(record: dict) -> dict:
    """A reference with its labels as a dict of lists; the Hub's relation texts are not known here and left empty."""
    if isinstance(record.get("labels"), dict):
        return record
    labels = record.get("labels") or []
    columns: dict[str, list] = {name: [label[key] for label in labels] for key, name in _HUB_NAMES.items()}
    columns["relation_text"] = ["" for _ in labels]
    columns["evidence"] = [label.get("evidence") or [] for label in labels]
    return {**record, "labels": columns}


def _flat(records: Iterable[dict]) -> Iterable[dict]:
    for index, record in enumerate(records):
        if record.get("scores") is not None:
            raise ValueError(f"records[{index}].scores: dense scores, expected facts")
        if record.get("relations") is None:
            yield record
        else:
            for fact in record["relations"]:
                yield {"title": record["title"], **fact}


def _by_title(facts: Iterable[dict]) -> list[dict]:
    by_title: dict[str, list[dict]] = {}
    for fact in facts:
        by_title.setdefault(fact["title"], []).append({key: value for key, value in fact.items() if key != "title"})
    return [{"title": title, "relations": relations} for title, relations in by_title.items()]
