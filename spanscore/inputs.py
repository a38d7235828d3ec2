"""Reading the files of predictions and references, and the task of a benchmark that they belong to."""

from __future__ import annotations

import glob
import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from spanscore.benchmarks import Benchmark, flag_of, formats_of, task_names
from spanscore.formats.files import DataFile, FileSource, parse_json, read_text, tokens_of
from spanscore.terminal import say


class InputFile(NamedTuple):
    """A file of predictions or references that has been read.

    Attributes
    ----------
    path : str
        Also of a folder, or a pattern of several files.
    records : list
        Records as the metric takes them.
    format : str
        Several formats have commas between them.
    notes : dict of str to int
        What the records do not hold, and how often.
    """

    path: str
    records: list[Any]
    format: str
    notes: dict[str, int]

    def __str__(self) -> str:
        words = [f"{count:,} {name.replace('_', ' ')}" for name, count in self.notes.items() if count]
        return f"{self.path}: format {self.format}, {len(self.records):,} records" + "".join(f", {w}" for w in words)


def read_file(benchmark: Benchmark, source: str | DataFile, format: str = "auto", **special: Any) -> InputFile:
    """Read a file of a benchmark.

    Parameters
    ----------
    benchmark : Benchmark
    source : str or DataFile
        A path, or the content of a file. ``"-"`` is standard input.
    format : str
    **special
        Arguments that only the formats of this benchmark have. Those that are None are left out.

    Returns
    -------
    InputFile

    Raises
    ------
    ValueError
        The file does not have the format.
    """
    given = {name: value for name, value in special.items() if value is not None}
    corpus = formats_of(benchmark).read(source, format, **given)
    name = source.name if isinstance(source, DataFile) else source
    return InputFile(
        "standard input" if name in ("-", "<stdin>") else name, corpus.records, corpus.format, corpus.format_notes
    )


# Suffixes of files that hold records, in folders that are no export of an annotation project.
_RECORD_FILES = (".json", ".jsonl", ".ndjson", ".parquet", ".txt")
_PACKINGS = (".gz", ".zip")


def expand(benchmark: Benchmark, path: str) -> list[str]:
    """The files that a path stands for: itself, the files of a folder, or the files that fit a pattern.

    Parameters
    ----------
    benchmark : Benchmark
    path : str
        A folder of an annotation project's export stays as it is, since its reader knows such folders.

    Raises
    ------
    ValueError
        A folder or a pattern has no file, or a folder has folders in it.
    """
    place = Path(path)
    if path == "-":
        return [path]
    if place.is_dir():
        inside = sorted(each for each in place.iterdir() if not each.name.startswith("."))
        if _reads_folders(benchmark) and not all(_is_record_file(each) for each in inside):
            return [path]
        folder = next((each for each in inside if each.is_dir()), None)
        if folder is not None:
            raise ValueError(f"{path}: has the folder {folder.name}, expected files alone")
        if not inside:
            raise ValueError(f"{path}: a folder without files, expected one file or more")
        return [str(each) for each in inside]
    if glob.has_magic(path) and not place.exists():
        found = sorted(glob.glob(path))  # noqa: PTH207  a pattern may be absolute
        if not found:
            raise ValueError(f"{path}: no file fits this pattern")
        return found
    return [path]


def _reads_folders(benchmark: Benchmark) -> bool:
    return "export" in formats_of(benchmark).FORMATS


def _is_record_file(path: Path) -> bool:
    name = path.name.lower()
    for packing in _PACKINGS:
        name = name.removesuffix(packing)
    return path.is_file() and name.endswith(_RECORD_FILES)


def read_files(benchmark: Benchmark, path: str, format: str = "auto", **special: Any) -> InputFile:
    """Read a file, the files of a folder, or the files that fit a pattern; see `read_file`.

    Several files give the records of all, in the order of their names. Where each file has one record and no record has
    an id, the name of the file is the id.
    """
    paths = expand(benchmark, path)
    if len(paths) == 1:
        return read_file(benchmark, paths[0], format, **special)
    files = [read_file(benchmark, each, format, **special) for each in paths]
    key = benchmark.reference_key
    if all(len(file.records) == 1 and isinstance(file.records[0], dict) for file in files) and key == "id":
        records = [file.records[0] for file in files]
        if all(record.get(key) is None for record in records):
            records = [{**record, key: _stem(file.path)} for record, file in zip(records, files, strict=True)]
    else:
        records = [record for file in files for record in file.records]
    notes: Counter[str] = Counter()
    for file in files:
        notes.update(file.notes)
    return InputFile(path, records, ", ".join(dict.fromkeys(file.format for file in files)), dict(notes))


def _stem(path: str) -> str:
    """A file's name up to its first dot that is not its first character."""
    name = Path(path).name
    return name[:1] + name[1:].partition(".")[0]


def read_list(source: FileSource) -> Any:
    """Read the value of an option that is a list or a dict: JSON, or an item a line."""
    file = read_text(source)
    if file.text.lstrip().startswith(("[", "{")):
        return parse_json(file)
    # An empty line is an item, so that lines stay beside their records.
    return file.text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def parse_value(text: str) -> Any:
    """Turn the text of an option into its value: that of JSON, else the text itself."""
    try:
        return json.loads(text, parse_constant=lambda name: name)
    except (ValueError, RecursionError):
        return text


def read_arguments(benchmark: Benchmark, arguments: dict[str, Any], side: str) -> dict[str, Any]:
    """Select the arguments of ``read`` of the benchmark's formats, from those of a command.

    Parameters
    ----------
    benchmark : Benchmark
    arguments : dict
        ``<side>_<name>`` goes before ``<name>``, which is for both sides.
    side : {"predictions", "references"}

    Returns
    -------
    dict
        Without the arguments that the user did not give.
    """
    found = {}
    for option in benchmark.read_options:
        if side == "references" or not option.references_only:
            value = arguments.get(f"{side}_{option.name}")
            value = arguments.get(option.name) if value is None else value
            if value is not None:
                found[option.name] = value
    return found


def read_references(benchmark: Benchmark, path: str, arguments: dict[str, Any]) -> InputFile:
    """Read references, with the arguments of a command."""
    special = read_arguments(benchmark, arguments, "references")
    file = read_files(benchmark, path, arguments.get("references_format") or "auto", **special)
    _check_use(benchmark, arguments, "references_", [file])
    return file


def read_predictions(benchmark: Benchmark, path: str, arguments: dict[str, Any], references: InputFile) -> InputFile:
    """Read predictions, with the arguments of a command.

    Some formats have no sentences. They are read with those of the references (see `with_sentences`). A file of
    references becomes predictions that are right, and a line on standard error says so.
    """
    format = arguments.get("format") or "auto"
    special = read_arguments(benchmark, arguments, "predictions")
    special = with_sentences(benchmark, special, format, references.records)
    file = read_files(benchmark, path, format, **special)
    _check_use(benchmark, arguments, "predictions_", [file])
    _check_use(benchmark, arguments, "", [file, references])
    return as_predictions(benchmark, file)


def _check_use(benchmark: Benchmark, arguments: dict[str, Any], side: str, files: list[InputFile]) -> None:
    """Raise a ValueError if an option of reading has no effect on the formats of the files that it is for.

    Parameters
    ----------
    benchmark : Benchmark
    arguments : dict
    side : {"predictions_", "references_", ""}
        The beginning of the names of options for one side. Options for both sides have none.
    files : list of InputFile
    """
    for option in benchmark.read_options:
        name = side + option.name
        found = [format for file in files for format in file.format.split(", ")]
        if arguments.get(name) is not None and option.formats and not set(found) & set(option.formats):
            raise ValueError(
                f"{flag_of(name)}: no effect on the format {' or '.join(dict.fromkeys(found))}, expected a "
                f"file of {', '.join(option.formats)}"
            )


def with_sentences(benchmark: Benchmark, special: dict[str, Any], format: str, references: list[Any]) -> dict[str, Any]:
    """Add ``sentences`` to the arguments of ``read``, for predictions of a format that has none.

    Parameters
    ----------
    benchmark : Benchmark
    special : dict
    format : str
        The format that the user gave, or ``"auto"``: the file may have one of the formats without sentences.
    references : list
        Their tokens are the sentences, if all references have some.

    Returns
    -------
    dict
    """
    if not benchmark.sentence_formats or format not in ("auto", *benchmark.sentence_formats):
        return special
    sentences = [tokens_of(record) for record in references]
    if not sentences or any(sentence is None for sentence in sentences):
        return special
    return {**special, "sentences": sentences}


def as_predictions(benchmark: Benchmark, file: InputFile) -> InputFile:
    """Turn a file of the benchmark's own references into predictions; other files stay as they are.

    A line on standard error names the file, since it is rarely meant but as a first check.
    """
    turn = getattr(formats_of(benchmark), "to_predictions", None)
    if turn is None or file.format not in benchmark.reference_formats:
        return file
    say(f"{file.path}: a file of references (format {file.format}), which is read as predictions")
    return file._replace(records=turn(file.records))


def task_of_references(benchmark: Benchmark, references: list[Any], task: str | None = None) -> str | None:
    """Return the task if one is given, else the task of the references; None for a benchmark with a single task."""
    if not task_names(benchmark):
        return None
    found: str = task or formats_of(benchmark).task_of(references)
    return found
