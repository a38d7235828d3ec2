"""Folders and zip files of documents, as WebAnno and INCEpTION export them. Nothing is extracted to the disk.

A project's export holds ``annotation/<document>/<annotator>.zip`` with a file of the document in each, and
``curation/<document>/CURATION_USER.zip``. Other folders and zip files of documents are read too.
"""

from __future__ import annotations

import gzip
import io
import os
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple

from spanscore.formats.files import DataFile, read_raw
from spanscore.metrics import reading

_XMI_NAMESPACE = b"http://www.omg.org/XMI"
_SUFFIXES = (".xmi", ".xml", ".tsv")
_PACKINGS = (".gz", ".zip")
_MOST_ZIPS = 3  # one inside the other
_PROJECT_FOLDERS = ("annotation", "curation")
_INITIAL = "INITIAL_CAS"  # the document as it was before anyone annotated it
_SHOWN = 5  # names of files in an error
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError)


class Packed(NamedTuple):
    """A file of a document, in a folder or a zip file.

    Attributes
    ----------
    name : str
        For error messages: the path of the export, then the path inside.
    parts : tuple of str
        The path inside. Zip files are like folders.
    data : bytes
    """

    name: str
    parts: tuple[str, ...]
    data: bytes

    @property
    def project_document(self) -> str | None:
        """The document, if the path is one of a project's export."""
        at = _project_folder(self.parts)
        return None if at is None else self.parts[at + 1]


class Export(NamedTuple):
    """The files of documents of an export.

    Attributes
    ----------
    files : list of Packed
        In alphabetical order.
    n_unannotated : int
        The number of documents that nobody has annotated.
    """

    files: list[Packed]
    n_unannotated: int


def stem(name: str) -> str:
    """A file's name without the suffixes of documents and packings."""
    for suffix in (*_PACKINGS, *_SUFFIXES):
        if name.lower().endswith(suffix):
            name = name[: -len(suffix)]
    return name


def read_export(source: Path | DataFile) -> Export:
    """Read the files of documents of an export.

    Parameters
    ----------
    source : path or DataFile
        The path of a folder or a zip file, or the content of a zip file.

    Returns
    -------
    Export
        The files whose names end in ``.xmi``, ``.xml`` or ``.tsv``, packed or not. Other XML, documents that nobody has
        annotated, hidden files, and the other folders of a project's export are left out. A zip file with one file
        gives this file, whatever its name.

    Raises
    ------
    ValueError
        There is none, or a packed file is damaged, locked by a password, or all together expand to more than
        `spanscore.metrics.reading.max_size`.
    """
    path = Path(source.name) if isinstance(source, DataFile) else source
    reader = _Reader(str(path))
    if isinstance(source, Path) and source.is_dir():
        reader.read_folder(source)
    else:
        reader.read_zip(read_raw(source).data, (), str(path))
    if not reader.found:
        listed = ", ".join(map(_printable, reader.names[:_SHOWN])) + (", ..." if len(reader.names) > _SHOWN else "")
        held = f"it holds {len(reader.names)} files ({listed})" if reader.names else "it is empty"
        raise ValueError(f"{path}:1: no documents, expected XMI or TSV files as WebAnno exports them; {held}")
    depths = set(map(len, reader.initial))
    annotated = {file.parts[:depth] for file in reader.found for depth in depths}
    return Export(sorted(reader.found, key=lambda file: file.parts), len(reader.initial - annotated))


class _Reader:
    """Reads folders and zip files, and counts the bytes that packed files expand to."""

    def __init__(self, name: str) -> None:
        self.name, self.left = name, reading.max_size()
        self.names: list[str] = []  # of all files
        self.found: list[Packed] = []
        self.initial: set[tuple[str, ...]] = set()  # folders of documents as they were before annotation

    def read_folder(self, folder: Path) -> None:
        """Read the documents of a folder and of the folders and zip files in it."""
        paths = [
            (*Path(place).relative_to(folder).parts, name)
            for place, _, names in os.walk(folder, onerror=_raise)
            for name in names
        ]
        for parts in self._chosen(paths):
            self._take(parts, folder.joinpath(*parts).read_bytes)

    def read_zip(self, data: bytes, before: tuple[str, ...], shown: str) -> None:
        """Read the documents of a zip file; `before` is the path of it in the export."""
        if sum(part.lower().endswith(".zip") for part in before) >= _MOST_ZIPS:
            raise ValueError(f"{shown}:1: a zip file in {_MOST_ZIPS} others, expected fewer")
        try:
            packed = zipfile.ZipFile(io.BytesIO(data))
        except _DAMAGED as error:
            raise ValueError(f"{shown}:1: a zip file that cannot be read ({error})") from None
        with packed:
            members: dict[tuple[str, ...], list[zipfile.ZipInfo]] = {}
            for info in packed.infolist():
                if not info.is_dir():
                    inside = PurePosixPath(info.filename.replace("\\", "/")).parts
                    members.setdefault((*before, *inside), []).append(info)
            for parts in self._chosen(members):
                for info in members[parts]:
                    read = partial(self._expand_member, packed, info)
                    self._take(parts, read, not before and len(members) == 1)

    def _chosen(self, paths: Iterable[tuple[str, ...]]) -> list[tuple[str, ...]]:
        """The paths that may be documents: of a project's export, those in the folders of annotations."""
        paths = sorted(paths)
        self.names += ["/".join(parts) for parts in paths]
        self.initial |= {parts[:-1] for parts in paths if _INITIAL in map(stem, parts[-1:])}
        of_project = [parts for parts in paths if _project_folder(parts) is not None]
        return [
            parts
            for parts in of_project or paths
            if not any(map(_is_hidden, parts)) and _INITIAL not in map(stem, parts)
        ]

    def _take(self, parts: tuple[str, ...], read: Callable[[], bytes], whatever: bool = False) -> None:
        """Read a file if its name is that of a document or a zip file."""
        shown, name = f"{self.name}/{'/'.join(map(_printable, parts))}", parts[-1].lower()
        bare = name.removesuffix(".gz")
        if not (whatever or bare.endswith((*_SUFFIXES, ".zip"))):
            return
        try:
            data = read()
            if name.endswith(".gz"):
                data = self._expand(gzip.GzipFile(fileobj=io.BytesIO(data)))
        except _TooLarge:
            raise reading.too_large(shown, "with the packed files before it expands to") from None
        except _DAMAGED as error:
            raise ValueError(f"{shown}:1: a file that cannot be read ({' '.join(str(error).split())})") from None
        if reading.is_zip(data):
            self.read_zip(data, parts, shown)
        elif bare.endswith(".zip"):
            raise ValueError(f"{shown}:1: not a zip file")
        elif whatever or not bare.endswith(".xml") or _XMI_NAMESPACE in data[:4096]:
            self.found.append(Packed(shown, parts, data))

    def _expand_member(self, packed: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
        with packed.open(info) as file:
            return self._expand(file)

    def _expand(self, file: IO[bytes] | gzip.GzipFile) -> bytes:
        data = file.read(self.left + 1)
        self.left -= len(data)
        if self.left < 0:
            raise _TooLarge
        return data


class _TooLarge(Exception):
    """Packed files expand to more than is allowed."""


def _project_folder(parts: Sequence[str]) -> int | None:
    """The place of the folder ``annotation`` or ``curation`` in the path of an annotated document."""
    return next((at for at, part in enumerate(parts[:-2]) if part in _PROJECT_FOLDERS), None)


def _is_hidden(part: str) -> bool:
    """Whether a part of a path is hidden, or is the folder that macOS adds to zip files."""
    return part == "__MACOSX" or (part.startswith(".") and part.strip(".") != "")


def _printable(name: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in name)


def _raise(error: OSError) -> None:
    raise error
