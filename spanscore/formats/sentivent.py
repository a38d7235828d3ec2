"""Files of SENTiVENT.

``jsonl``, ``parquet``
    Rows of the dataset. JSON may also be one list of rows, or one row.
``xmi``, ``tsv``
    WebAnno XMI and WebAnno TSV 3, as the corpus' annotation project exports them; one document a file. XMI needs the
    package lxml. See `spanscore.formats.sentivent_layers` for the layers.
``export``
    A folder or a zip file of XMI and TSV files; see `spanscore.formats.exports`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from spanscore.formats.exports import Export, Packed, read_export, stem
from spanscore.formats.files import (
    Corpus,
    DataFile,
    FileSource,
    TextFile,
    check_choice,
    check_format,
    json_lines,
    no_format,
    parse_json,
    parse_json_items,
    read_data,
    read_parquet,
    read_raw,
    read_text,
    rows_of_columns,
    shorten,
    write_parquet,
    write_text,
)
from spanscore.formats.sentivent_layers import READERS, to_record
from spanscore.formats.webanno_tsv import is_tsv
from spanscore.metrics import reading

FORMATS = ("jsonl", "parquet", "xmi", "tsv", "export")
_FIRST = 256  # bytes that show the format of a file


def read(source: FileSource, format: str = "auto", annotator: str | None = None) -> Corpus:
    """Read a file or a folder of documents.

    Parameters
    ----------
    source : path or open text file
        A packed file is unpacked, and ``-`` is standard input.
    format : {"auto", "jsonl", "parquet", "xmi", "tsv", "export"}
        ``"auto"`` finds the format by the content of the file. Of an export with XMI and TSV files, ``"xmi"`` and
        ``"tsv"`` choose these.
    annotator : str, optional
        The annotator whose documents of an export are read, by the name of the files. It is not used for other files.

    Returns
    -------
    Corpus
        The documents of an export are ordered by their ids. The id of an XMI document is its title; that of a TSV
        document is its folder in a project's export, else the name of the file. For XMI and TSV, ``format_notes``
        counts what the records do not hold (see `spanscore.formats.sentivent_layers.Converted`), for an export also
        ``unannotated_documents``, if there are any, and with an annotator ``documents_of_others``.

    Raises
    ------
    ValueError
        The file does not have the format, or a document of an export has several annotators. The message begins with
        file and line.
    spanscore.packages.MissingPackage
        The file is XMI, and lxml is not installed.
    """
    check_format(format, FORMATS)
    if isinstance(source, TextFile):
        return _read_text(source, format)
    file = Path(str(source)) if _is_folder(source) else read_raw(source)
    name = str(file) if isinstance(file, Path) else file.name
    found = detect_path(file)
    if found == "export" and format in ("auto", "export", *READERS):
        return _read_export(name, read_export(file), format, annotator)
    if format == "export":
        raise ValueError(f"{name}:1: not an export, expected a folder or a zip file of documents")
    if isinstance(file, Path):
        raise ValueError(f"{name}:1: a folder, expected a file of the format {format}")
    if format == "auto":
        format = found
    if format == "parquet":
        return Corpus(read_parquet(file, "annotations"), "parquet", {})
    return _read_text(read_text(file), format)


def _read_text(file: TextFile, format: str = "auto") -> Corpus:
    if format == "auto":
        format = detect(file)
    if format in READERS:
        record, notes = to_record(READERS[format](file))
        return Corpus([record], format, notes)
    return Corpus([_row(*item) for item in file.at_each(_json_values(file))], "jsonl", {})


def _json_values(file: TextFile) -> list[tuple[int, Any]]:
    """The values of JSON lines, of a list, or of one object over several lines or of columns, each with its line."""
    first = next(file.lines(), (1, ""))[1].strip()
    items = [(1, parse_json(file))] if first == "{" else parse_json_items(file)
    if len(items) == 1:
        line, value = items[0]
        column = value.get("annotations") if isinstance(value, dict) else None
        if isinstance(column, list) and column and all(isinstance(row, list) for row in column):
            return [(line, row) for row in rows_of_columns(file, line, value)]
    return items


def _row(file: TextFile, line: int, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not isinstance(value.get("annotations"), list):
        keys = (
            f"; there are the keys {shorten(', '.join(map(str, value)))}" if isinstance(value, dict) and value else ""
        )
        words = f"expected a row of the dataset, a JSON object with a list of annotations{keys}"
        raise file.error(line, f"{shorten(value)} is not a document, {words}")
    return value


def write(path: str | Path, records: Iterable[dict[str, Any]], format: str = "auto") -> None:
    """Write documents.

    Parameters
    ----------
    path : path
        A name that ends in ``.gz`` packs JSON lines.
    records : iterable of dict
        Documents as the metric takes them, made of lists, dicts and plain values.
    format : {"auto", "jsonl", "parquet"}
        ``"auto"`` writes Parquet if the name ends in ``.parquet``, else JSON lines.

    Raises
    ------
    ValueError
        A record cannot be written in the format. Parquet does not take spans of two forms in one file.
    """
    check_choice("format", format, ("auto", "jsonl", "parquet"))
    if format == "parquet" or (format == "auto" and Path(path).suffix == ".parquet"):
        write_parquet(path, records)
        return
    try:
        write_text(path, json_lines(list(records)))
    except TypeError as error:
        raise ValueError(f"{path}: these records do not fit into JSON ({error})") from None


# --- finding the format -----------------------------------------------------------------------------------------------


def detect(file: TextFile) -> str:
    """Find the format of a text by its content.

    Raises
    ------
    ValueError
        The text has no format of this benchmark. The message says why not.
    """
    line, first = next(file.lines(), (1, "{"))
    first = first.lstrip("\ufeff \t")
    if first.startswith("<"):
        return "xmi"
    if is_tsv(first):
        return "tsv"
    if first.startswith(("{", "[")):
        return "jsonl"
    reasons = {
        "jsonl": f"{shorten(first)!r} is no JSON",
        "tsv": "the first line is not #FORMAT=WebAnno TSV 3.3",
        "xmi": "no XML",
    }
    raise no_format(file, reasons, line)


def detect_path(source: FileSource) -> str:
    """Find the format of a file by its first bytes, of Parquet also by its suffix; ``"auto"`` for JSON and others."""
    if _is_folder(source):
        return "export"
    raw = read_raw(source)
    if reading.is_zip(raw.data):
        return "export"
    file = read_data(raw)
    if file.is_parquet() or file.name.endswith(".parquet"):
        return "parquet"
    text = file.data[:_FIRST].decode("utf-8-sig", "replace").lstrip()
    if text.startswith("<"):
        return "xmi"
    return "tsv" if is_tsv(text) else "auto"


def _is_folder(source: FileSource) -> bool:
    return isinstance(source, (str, Path)) and str(source) != "-" and Path(source).is_dir()


# --- exports ----------------------------------------------------------------------------------------------------------


def _read_export(name: str, export: Export, format: str, annotator: str | None) -> Corpus:
    """Read the documents of an export, of one annotator each."""
    files = export.files
    if len(files) == 1 and (rows := DataFile(files[0].name, files[0].data)).is_parquet():
        return Corpus(read_parquet(rows, "annotations"), "parquet", {})
    documents: dict[str, list[tuple[Packed, Corpus]]] = {}
    for file, tsv_name in zip(files, _tsv_names(files), strict=True):
        text = TextFile(file.name, reading.decode(file.name, file.data))
        found = detect(text)
        if found not in READERS:
            if len(files) == 1:  # rows of the dataset in a zip file
                return _read_text(text)
            raise text.error(1, "neither XMI nor TSV of WebAnno, expected a document")
        if format not in ("auto", "export", found):
            continue
        corpus = _read_text(text, found)
        (record,) = corpus.records
        if found == "tsv":
            record["id"] = tsv_name
        documents.setdefault(str(record["id"]), []).append((file, corpus))
    if not documents:
        raise ValueError(f"{name}:1: no document of the format {format}")
    chosen, n_others = _choose(name, documents, annotator)
    formats = sorted({corpus.format for corpus in chosen})
    notes: Counter[str] = Counter()
    for corpus in chosen:
        notes.update(corpus.format_notes)
    if annotator is not None:
        notes["documents_of_others"] = n_others
    if export.n_unannotated:
        notes["unannotated_documents"] = export.n_unannotated
    return Corpus(
        [corpus.records[0] for corpus in chosen],
        formats[0] if len(formats) == 1 else "export",
        dict(notes),
    )


def _choose(
    name: str, documents: dict[str, list[tuple[Packed, Corpus]]], annotator: str | None
) -> tuple[list[Corpus], int]:
    """The documents of the annotator, ordered by their names, and the number of documents without that annotator."""
    chosen, n_others = [], 0
    for document, found in sorted(documents.items()):
        labels = _annotators([file for file, _ in found])
        if annotator is not None:
            ours = [at for at, (file, _) in enumerate(found) if annotator in (labels[at], *map(stem, file.parts[-2:]))]
            n_others += not ours
            found, labels = [found[at] for at in ours], [labels[at] for at in ours]
        if len(found) > 1:
            raise ValueError(
                f"{name}:1: the document {shorten(document)!r} is there {len(found)} times, by {', '.join(labels)}, "
                f"expected one annotator; choose one with the option annotator, or the format xmi or tsv"
            )
        chosen += [corpus for _, corpus in found]
    if not chosen:
        known = sorted({label for found in documents.values() for label in _annotators([file for file, _ in found])})
        shown = ", ".join(known[:5]) + (", ..." if len(known) > 5 else "")
        raise ValueError(f"{name}:1: annotator: {annotator!r} annotated no document, expected one of {shown}")
    return chosen, n_others


def _annotators(files: Sequence[Packed]) -> list[str]:
    """The annotators of a document's files: the names of the files, or their folders', or paths if these are alike."""
    for depth in (1, 2):
        names = [stem(file.parts[-min(depth, len(file.parts))]) for file in files]
        if len(set(names)) == len(files):
            return names
    return ["/".join(file.parts) for file in files]


def _tsv_names(files: Sequence[Packed]) -> list[str]:
    """The name of each file's document, if the file is TSV, which has no name inside.

    Files of one name in different folders are those of one annotator; then the folders are the documents.
    """
    names = [stem(file.parts[-1]) for file in files]
    repeated = any(times > 1 for times in Counter(names).values())
    found = []
    for file, name in zip(files, names, strict=True):
        folders = [part for part in file.parts[:-1] if not part.lower().endswith(".zip")]
        found.append(file.project_document or (folders[-1] if repeated and folders else name))
    return found
