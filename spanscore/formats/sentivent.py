"""Files of SENTiVENT.

``jsonl``, ``parquet``
    Rows of the dataset.
``xmi``
    WebAnno XMI, as the corpus' annotation project exports it; one document a file. It needs the package lxml.

An XMI file with a document type definition is refused, so no entities are expanded or fetched. WebAnno writes no such
definition.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from spanscore.formats.files import (
    Corpus,
    FileSource,
    TextFile,
    check_choice,
    check_format,
    is_parquet,
    json_lines,
    parse_json_lines,
    read_parquet,
    read_text,
    shorten,
    write_parquet,
    write_text,
)
from spanscore.packages import optional_package

FORMATS = ("jsonl", "parquet", "xmi")
_SUFFIXES = {".parquet": "parquet", ".xmi": "xmi", ".xml": "xmi", ".jsonl": "jsonl", ".ndjson": "jsonl"}


def read(source: FileSource, format: str = "auto") -> Corpus:
    """Read a file of documents.

    Parameters
    ----------
    source : path or open text file
        A path that ends in ``.gz`` is unpacked, and ``-`` is standard input. Parquet is read from a path only.
    format : {"auto", "jsonl", "parquet", "xmi"}
        ``"auto"`` finds the format by the name of the file, then by its content.

    Returns
    -------
    Corpus
        For XMI, ``format_notes`` counts annotations that the records do not hold. ``distant_parts`` are parts of a
        trigger outside its sentence. ``canonical_links`` are links from a pronoun to its referent; the records hold the
        pronoun and the referent, without the link.

    Raises
    ------
    ValueError
        The file does not have the format. The message begins with file and line.
    spanscore.packages.MissingPackage
        The file is XMI, and lxml is not installed.
    """
    check_format(format, FORMATS)
    if format == "auto":
        format = detect_path(source)
    if format == "parquet":
        if not isinstance(source, (str, Path)) or str(source) == "-":
            raise ValueError("Parquet is read from a path, not from an open text file or standard input")
        return Corpus(read_parquet(source, "annotations"), "parquet", {})
    text = read_text(source)
    if format == "auto":
        format = "xmi" if text.text.lstrip().startswith("<") else "jsonl"
    if format == "xmi":
        record, notes = _Xmi(text).record()
        return Corpus([record], "xmi", notes)
    return Corpus([_row(text, line, value) for line, value in parse_json_lines(text)], "jsonl", {})


def detect_path(source: FileSource) -> str:
    """Find the format of a file by its name, or by its first bytes for Parquet; ``"auto"`` if they do not show it."""
    if not isinstance(source, (str, Path)) or str(source) == "-":
        return "auto"
    path = Path(source)
    suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    return _SUFFIXES.get(suffix) or ("parquet" if is_parquet(path) else "auto")


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


def _row(file: TextFile, line: int, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not isinstance(value.get("annotations"), list):
        words = "expected a row of the dataset, a JSON object with a list of annotations"
        raise file.error(line, f"{shorten(value)} is not a document, {words}")
    return value


# --- WebAnno XMI ------------------------------------------------------------------------------------------------------

_XMI_ID = "{http://www.omg.org/XMI}id"
_EVENT, _PARTICIPANT, _FILLER, _PART = "A_Event", "B_Participant", "C_FILLER", "D_Discontiguous"
_CANONICAL, _COREFERENCE = "PronomCanonRef", "CorefEvent"
# The layer of expressions has no fixed name. It is known by attributes that only it has.
_OF_EXPRESSIONS = {"e_Polarity", "c_Uncertain", "d_Negated", "a_Target", "b_TargetEvent"}
_POLARITIES = {"=Neutral": "neutral", "+Positive": "positive", "-Negative": "negative"}
_FLIPPED = {"positive": "negative", "negative": "positive", "neutral": "neutral", None: None}
_FLAGS = {"true": True, "false": False, None: None}


class _Xmi:
    """One document of a WebAnno export (UIMA CAS as XMI, with the custom layers of the corpus' annotation project)."""

    def __init__(self, file: TextFile) -> None:
        self.file = file
        root = self._parse()
        self.by_id: dict[str, Any] = {}
        self.layers: dict[str, list[Any]] = {}
        self.expressions: list[Any] = []
        for element in root.iterchildren(tag="*"):
            if _XMI_ID in element.attrib:
                self.by_id[element.attrib[_XMI_ID]] = element
            self.layers.setdefault(element.tag.rpartition("}")[2], []).append(element)
            if not _OF_EXPRESSIONS.isdisjoint(element.attrib):
                self.expressions.append(element)
        sofa = self._only("Sofa")
        self.text = self._attribute(sofa, "sofaString")
        # Offsets count UTF-16 units, and some characters have two of them.
        self.place: Callable[[int], int] = int
        if any(ord(character) > 0xFFFF for character in self.text):
            units = [0]
            for character in self.text:
                units.append(units[-1] + 1 + (ord(character) > 0xFFFF))
            self.place = lambda unit: bisect.bisect_left(units, unit)
        self.tokens = sorted(self._range(token) for token in self.layers.get("Token", []))
        self.sentences = sorted(self._range(sentence) for sentence in self.layers.get("Sentence", []))
        if not self.tokens:
            raise self._error(root, "the document has no tokens, expected a WebAnno export")

    def _parse(self) -> Any:
        etree = optional_package("lxml.etree", "XMI files", "xmi")
        parser = etree.XMLParser(
            encoding="utf-8", resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False
        )
        try:
            root = etree.fromstring(self.file.text.encode(), parser)
        except etree.XMLSyntaxError as error:
            words = " ".join(str(error.msg).split())
            raise self.file.error(error.lineno or 1, f"not XML: {words}") from None
        if root.getroottree().docinfo.internalDTD is not None:
            raise self.file.error(1, "has a document type definition, which is refused, as it may define entities")
        return root

    def _error(self, element: Any, words: str) -> ValueError:
        return self.file.error(element.sourceline or 1, words)

    def _only(self, layer: str) -> Any:
        found = self.layers.get(layer, [])
        if len(found) != 1:
            raise self.file.error(1, f"{len(found)} elements {layer}, expected one, as in a WebAnno export")
        return found[0]

    def _attribute(self, element: Any, name: str) -> str:
        if name not in element.attrib:
            raise self._error(element, f"{element.tag.rpartition('}')[2]} lacks {name}")
        value: str = element.attrib[name]
        return value

    def _range(self, element: Any) -> tuple[int, int]:
        given = [self._attribute(element, name) for name in ("begin", "end")]
        try:
            begin, end = (self.place(int(value)) for value in given)
        except ValueError:
            begin, end = 0, -1
        if not 0 <= begin <= end <= len(self.text):
            raise self._error(element, f"{given[0]} to {given[1]} is not a range of the text")
        return begin, end

    def _choice(self, element: Any, name: str, choices: dict[Any, Any]) -> Any:
        value = element.attrib.get(name)
        if value not in choices:
            listed = ", ".join(choice for choice in choices if choice is not None)
            raise self._error(element, f"{name}: {value!r} is not one of {listed}")
        return choices[value]

    def _linked(self, element: Any, name: str) -> list[tuple[Any, Any]]:
        """The links that an attribute names, each with the element that it points to."""
        found = []
        for link_id in element.attrib.get(name, "").split():
            link = self._named(element, name, link_id)
            target = self._named(link, "target", self._attribute(link, "target"))
            found.append((link, target))
        return found

    def _named(self, element: Any, name: str, wanted: str) -> Any:
        if wanted not in self.by_id:
            raise self._error(element, f"{name}: {wanted!r} is the id of nothing in the file")
        return self.by_id[wanted]

    def _span(self, ranges: list[tuple[int, int]], element: Any) -> dict[str, Any]:
        tokens = sorted(
            {
                index
                for begin, end in ranges
                for index, token in enumerate(self.tokens)
                if begin <= token[0] and token[1] <= end
            }
        )
        if not tokens:
            raise self._error(element, f"{ranges[0][0]} to {ranges[0][1]} covers no token")
        return {
            "tokens": tokens,
            "chars": [list(some) for some in sorted(ranges)],
            "discontinuous": tokens[-1] - tokens[0] + 1 > len(tokens),
        }

    def _sentence(self, place: int) -> int:
        """The number of the sentence of a character."""
        return bisect.bisect_right([begin for begin, _ in self.sentences], place) - 1

    def _id(self, element: Any) -> str:
        return self._attribute(element, _XMI_ID)

    def record(self) -> tuple[dict[str, Any], dict[str, int]]:
        """The document, and counts of the annotations that it does not hold."""
        metadata = self._only("DocumentMetaData")
        notes = {"distant_parts": 0, "canonical_links": len(self.layers.get(_CANONICAL, []))}
        annotations: list[dict[str, Any]] = [
            {"id": self._id(element), "kind": kind, "span": self._span([self._range(element)], element)}
            for layer, kind in ((_PARTICIPANT, "participant"), (_FILLER, "filler"))
            for element in self.layers.get(layer, [])
        ]
        for element in self.layers.get(_CANONICAL, []):
            referent = self._named(element, "Dependent", self._attribute(element, "Dependent"))
            span = self._span([self._range(referent)], referent)
            annotations.append({"id": self._id(element), "kind": "canonical_referent", "span": span})
        annotations += [self._event(element, notes) for element in self.layers.get(_EVENT, [])]
        annotations += [self._expression(element) for element in self.expressions]

        def end(element: Any, name: str) -> str:
            return self._id(self._named(element, name, self._attribute(element, name)))

        chains = [
            {"from": end(element, "Governor"), "to": end(element, "Dependent")}
            for element in self.layers.get(_COREFERENCE, [])
        ]
        record = {
            "id": metadata.attrib.get("documentTitle") or self._attribute(metadata, "documentId"),
            "tokens": [self.text[begin:end] for begin, end in self.tokens],
            "annotations": annotations,
            "relations": {"event_sentiment": [], "event_coreference": chains},
        }
        return record, notes

    def _event(self, element: Any, notes: dict[str, int]) -> dict[str, Any]:
        first = self._range(element)
        ranges = [first]
        for _, part in self._linked(element, "f_Discontiguous"):
            place = self._range(part)
            if self._sentence(place[0]) == self._sentence(first[0]):
                ranges.append(place)
            else:
                notes["distant_parts"] += 1
        other = self._choice(element, "e_OtherModalityFactuality", _FLAGS)
        negated = self._choice(element, "f_NegativePolarityFactuality", _FLAGS)
        polarity = self._choice(element, "i_Polarity", {**_POLARITIES, None: None})
        asserted = negated is False and other is False
        return {
            "id": self._id(element),
            "kind": "event",
            "span": self._span(ranges, element),
            "type": element.attrib.get("a_Type") or None,
            "subtype": element.attrib.get("b_Subtype") or None,
            "polarity": polarity,
            "scoped_polarity": _FLIPPED[polarity] if negated else polarity,
            "realis": "asserted" if asserted else "other",
            "modality": {True: "other", False: "certain", None: None}[other],
            "negated": negated,
            "arguments": [
                {"role": self._attribute(link, "role"), "id": self._id(target)}
                for name in ("c_Participant", "d_FILLER")
                for link, target in self._linked(element, name)
            ],
        }

    def _expression(self, element: Any) -> dict[str, Any]:
        negated = self._choice(element, "d_Negated", _FLAGS)
        polarity = self._choice(element, "e_Polarity", {**_POLARITIES, None: None})
        return {
            "id": self._id(element),
            "kind": "sentiment_expression",
            "span": self._span([self._range(element)], element),
            "polarity": polarity,
            "scoped_polarity": _FLIPPED[polarity] if negated else polarity,
            "uncertain": self._choice(element, "c_Uncertain", _FLAGS),
            "negated": negated,
            "targets": [
                {"id": self._id(target)}
                for name in ("a_Target", "b_TargetEvent")
                for _, target in self._linked(element, name)
            ],
        }
