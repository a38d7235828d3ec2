"""Files of DocRED and Re-DocRED.

``documents``
    A list of documents: ``train_annotated.json``, ``dev.json``, ``test.json``, and the files of Re-DocRED.
``rows``
    Rows of the dataset on the Hub, where ``labels`` is a dict of lists.
``result``
    ``result.json``, which models write for submission: a list of facts with their titles. Facts may have the names of
    the Hub's dataset: ``head``, ``tail`` and ``relation_id``.
``records``
    Predictions by document: ``{"title", "relations": [...]}``, or with dense ``scores``.
``facts``
    ``*.fact``: a list of training triples of head name, tail name and relation.

Each file is a JSON list. All but ``facts`` may be JSON lines or Parquet instead, or one JSON object of columns; and
``records`` one JSON object that has the facts of each title. Reading checks the keys that tell the formats apart and
that join documents; the metric checks the rest.
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
    is_json,
    json_lines,
    no_format,
    parse_json,
    parse_json_items,
    read_text,
    rows_of_columns,
    write_text,
)

FORMATS = ("documents", "rows", "result", "records", "facts")

# The keys of a value of each format, with their types.
_TITLE = (str, int)
_KEYS: dict[str, dict[str, tuple[type, ...]]] = {
    "documents": {"title": _TITLE, "vertexSet": (list,), "labels": (list,)},
    "rows": {"title": _TITLE, "vertexSet": (list,), "labels": (dict,)},
    "result": {"title": _TITLE, "r": (str,)},
    "records": {"title": _TITLE, "relations": (list, dict)},
}
# Other names of keys.
_ALIASES = {"r": "relation_id", "relations": "scores"}
_WORDS: dict[type, str] = {str: "text", int: "a whole number", list: "a list", dict: "an object"}
_HUB_NAMES = {"h": "head", "t": "tail", "r": "relation_id"}
_FACT_KEYS = {"h_idx", "t_idx", "head", "tail", "r", "relation_id", "evidence", "score"}


def read(source: FileSource, format: str = "auto") -> Corpus:
    """Read a file of DocRED.

    Parameters
    ----------
    source : path or open text file
        A path that ends in ``.gz`` is unpacked, and ``-`` is standard input.
    format : {"auto", "documents", "rows", "result", "records", "facts"}
        ``"auto"`` finds the format as `detect` does.

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
    items = _items(file)
    if format == "auto":
        format = _detected(file, items)
    without_labels = 0
    records = []
    for here, line, value in file.at_each(items):
        if format in ("documents", "rows") and isinstance(value, dict) and value.get("labels") is None:
            value, without_labels = {**value, "labels": []}, without_labels + 1
            _check(here, line, value, "documents")
        else:
            _check(here, line, value, format)
        records.append(value)
    notes = {"documents without labels": without_labels} if without_labels else {}
    return Corpus(records, format, notes)


def detect(file: TextFile) -> str:
    """Find the format of a file by its first value. An empty list is ``"result"``.

    Raises
    ------
    ValueError
        No format fits. The message names the formats that come nearest, and why not.
    """
    return _detected(file, _items(file))


def to_predictions(records: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Turn documents or rows into predictions of their own labels, which score 100.

    Parameters
    ----------
    records : iterable of dict
        References. Other records are kept as they are.

    Returns
    -------
    list of dict
        ``{"title", "relations": [{"h_idx", "t_idx", "r", "evidence"}]}``.
    """
    predictions = []
    for at, record in enumerate(records):
        if not isinstance(record, dict) or _form(record) not in ("documents", "rows"):
            predictions.append(record)
            continue
        facts = [
            {"h_idx": label.get("h"), "t_idx": label.get("t"), "r": label.get("r"), "evidence": label.get("evidence")}
            for label in _document(record, at)["labels"]
        ]
        predictions.append({"title": record.get("title"), "relations": facts})
    return predictions


def has_scores(predictions: Iterable[Any]) -> bool:
    """Whether a predicted fact has a score, so that areas and thresholds say something."""
    for record in predictions:
        if isinstance(record, dict):
            facts = record.get("relations")
            listed = [record, *facts] if isinstance(facts, list) else [record]
            if record.get("scores") is not None or any(
                isinstance(f, dict) and f.get("score") is not None for f in listed
            ):
                return True
    return False


def label_options(path: str, references: Iterable[Any]) -> dict[str, Any]:
    """Find readable names of relations: in ``rel_info.json`` beside the references, else in rows of the Hub.

    Returns
    -------
    dict
        The option ``relation_info``, or nothing.
    """
    beside = Path(path).with_name("rel_info.json")
    if beside.is_file():
        return {"relation_info": str(beside)}
    names: dict[str, str] = {}
    for record in references:
        labels = record.get("labels") if isinstance(record, dict) else None
        if isinstance(labels, dict) and labels.get("relation_text") is not None:
            names.update(zip(labels.get("relation_id") or [], labels["relation_text"], strict=False))
    return {"relation_info": names} if names else {}


# --- the format of a file ---------------------------------------------------------------------------------------------


def _items(file: TextFile) -> list[tuple[int, Any]]:
    """The values of a file, with their lines. An object of columns or of titles is as many values."""
    lines = list(file.lines())
    if lines and lines[0][1].lstrip().startswith("{") and not is_json(lines[0][1]):
        items = [(lines[0][0], parse_json(file))]  # one object on several lines
    elif lines and not lines[0][1].lstrip().startswith(("[", "{")):
        raise no_format(file, {", ".join(FORMATS): "not JSON"}, lines[0][0])
    else:
        items = parse_json_items(file)
    if len(items) == 1 and isinstance(items[0][1], dict):
        line, value = items[0]
        return [(line, row) for row in _unfolded(file, line, value)]
    return items


def _unfolded(file: TextFile, line: int, value: dict[str, Any]) -> list[Any]:
    """The values that one object stands for: columns, or the facts of each title, or itself."""
    if isinstance(value.get("title"), list):
        return rows_of_columns(file, line, value)
    columns = {key: column for key, column in value.items() if isinstance(column, list)}
    is_by_title = value and len(columns) == len(value) and value.keys().isdisjoint(_keys_of_all())
    facts = [fact for column in columns.values() for fact in column]
    if is_by_title and facts and all(isinstance(fact, dict) and not _FACT_KEYS.isdisjoint(fact) for fact in facts):
        return [{"title": title, "relations": relations} for title, relations in columns.items()]
    return [value]


def _keys_of_all() -> set[str]:
    return {key for keys in _KEYS.values() for key in keys} | set(_ALIASES.values())


def _detected(file: TextFile, items: list[tuple[int, Any]]) -> str:
    if not file.text.strip():
        raise no_format(file, {", ".join(FORMATS): "the file is empty"})
    if not items:
        return "result"
    line, value = items[0]
    format = _form(value)
    if format is None:
        raise no_format(file, _reasons(value), line)
    return format


def _form(value: Any) -> str | None:
    """The format of a value, or None if it has no format's keys."""
    if isinstance(value, (list, tuple)):
        return "facts" if len(value) == len(_HUB_NAMES) and all(isinstance(text, str) for text in value) else None
    if isinstance(value, dict):
        if "vertexSet" in value:
            return "rows" if isinstance(value.get("labels"), dict) else "documents"
        if "relations" in value or "scores" in value:
            return "records"
        if "r" in value or "relation_id" in value:
            return "result"
    return None


def _reasons(value: Any) -> dict[str, str]:
    """The formats that come nearest to a value, each with the reason why it has another one."""
    if isinstance(value, list):
        return {"facts": _NO_TRIPLE}
    if not isinstance(value, dict):
        return {", ".join(_KEYS): "not an object", "facts": _NO_TRIPLE}
    held = {format: sum(_find(value, key) is not None for key in keys) for format, keys in _KEYS.items()}
    most = max(held.values())
    given = ", ".join(map(str, list(value)[:5])) or "none"
    nearest = [format for format, n in held.items() if n == most and format != "rows"]
    return {format: f"{_mistake(value, format)}; the keys are {given}" for format in nearest}


_NO_TRIPLE = "not a triple: expected a list of head name, tail name, relation"


def _find(value: dict[str, Any], key: str) -> str | None:
    """The name under which a value has a key; None if it lacks it."""
    return next((name for name in (key, _ALIASES.get(key)) if name is not None and name in value), None)


def _mistake(value: Any, format: str) -> str | None:
    """Why a value does not have a format; None if it has."""
    if format == "facts":
        return None if _form(value) == "facts" else _NO_TRIPLE
    if not isinstance(value, dict):
        return f"not an object, expected one with {', '.join(_KEYS[format])}"
    for key, kinds in _KEYS[format].items():
        words = " or ".join(_WORDS[kind] for kind in kinds)
        name = _find(value, key)
        if name is None:
            return f"{key} is missing, expected {words}"
        if name != "scores" and (not isinstance(value[name], kinds) or isinstance(value[name], bool)):
            return f"{name} is not {words}"
    return None


def _check(file: TextFile, line: int, value: Any, format: str) -> None:
    words = _mistake(value, format)
    if words is not None:
        raise file.error(line, words)


# --- writing ----------------------------------------------------------------------------------------------------------


def write(path: str | Path, records: Iterable[Any], format: str = "auto") -> None:
    """Write records to a file of DocRED.

    Parameters
    ----------
    path : path
        A name that ends in ``.gz`` packs the file. A name that ends in ``.jsonl`` or ``.jsonl.gz`` makes JSON lines
        instead of a JSON list.
    records : iterable
        References for ``documents`` and ``rows``, in either form. Predictions for ``result`` and ``records``, in either
        form, without dense scores; documents become predictions of their own labels. Triples for ``facts``, or training
        documents, whose different triples are written in sorted order.
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
        values = [_document(value, at) if format == "documents" else _row(value) for at, value in enumerate(given)]
    else:
        facts = list(_flat(to_predictions(given)))
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
    for at, record in enumerate(records):
        if isinstance(record, (list, tuple)):
            given.append(list(record))
            continue
        entities = record["vertexSet"]
        for label in _document(record, at)["labels"]:
            triples.update(
                (head["name"], tail["name"], label["r"])
                for head in entities[label["h"]]
                for tail in entities[label["t"]]
            )
    return given + sorted(map(list, triples))


def _document(record: dict[str, Any], at: int) -> dict[str, Any]:
    """A reference with its labels as a list; `at` is its index, for errors."""
    labels = record.get("labels") or []
    if not isinstance(labels, dict):
        return {**record, "labels": labels}
    columns = {key: labels.get(name, labels.get(key)) or [] for key, name in _HUB_NAMES.items()}
    columns["evidence"] = labels.get("evidence") or [[] for _ in columns["h"]]
    return {**record, "labels": _from_columns(columns, f"records[{at}].labels")}


def _from_columns(columns: dict[str, list[Any]], place: str) -> list[dict[str, Any]]:
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} has {length}" for name, length in lengths.items())
        raise ValueError(f"{place}: columns differ in length: {listed}")
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


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
            facts = record["relations"]
            if isinstance(facts, dict):
                facts = _from_columns(facts, f"records[{index}].relations")
            for fact in facts:
                yield {"title": record["title"], **fact}


def _by_title(facts: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    by_title: dict[str, list[dict[str, Any]]] = {}
    for fact in facts:
        by_title.setdefault(fact["title"], []).append({key: value for key, value in fact.items() if key != "title"})
    return [{"title": title, "relations": relations} for title, relations in by_title.items()]
