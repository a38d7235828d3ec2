"""WebAnno XMI: a UIMA CAS as XML, one document a file. It needs the package lxml.

A file with a document type definition is refused, so no entities are expanded or fetched. WebAnno writes no such
definition.
"""

from __future__ import annotations

import bisect
from collections.abc import Callable, Collection
from typing import Any

from spanscore.formats.files import TextFile
from spanscore.formats.webanno import Annotation, Document, Link
from spanscore.packages import optional_package

_XMI_ID = "{http://www.omg.org/XMI}id"
_ENDS = ("Governor", "Dependent")


def read_xmi(file: TextFile, layers: Collection[str], marks: Collection[str], slots: Collection[str]) -> Document:
    """Read a document.

    A span has the tokens that it covers whole.

    Parameters
    ----------
    file : TextFile
    layers : collection of str
        The layers to read, by the names of their elements without the package.
    marks : collection of str
        Attributes that only elements of further layers to read have.
    slots : collection of str
        The slot features of these layers.

    Returns
    -------
    Document

    Raises
    ------
    ValueError
        The file is no WebAnno XMI. The message begins with file and line.
    spanscore.packages.MissingPackage
        The package lxml is not installed.
    """
    return _Xmi(file).document(layers, marks, slots)


class _Xmi:
    """The elements of a file, by their ids and names."""

    def __init__(self, file: TextFile) -> None:
        self.file = file
        root = self._parse()
        self.by_id: dict[str, Any] = {}
        self.by_name: dict[str, list[Any]] = {}
        for element in root.iterchildren(tag="*"):
            if _XMI_ID in element.attrib:
                self.by_id[element.attrib[_XMI_ID]] = element
            self.by_name.setdefault(_name(element), []).append(element)
        sofa = self._only("Sofa")
        self.text = self._attribute(sofa, "sofaString")
        # Offsets count UTF-16 units, and some characters have two of them.
        self.place: Callable[[int], int] = int
        if any(ord(character) > 0xFFFF for character in self.text):
            units = [0]
            for character in self.text:
                units.append(units[-1] + 1 + (ord(character) > 0xFFFF))
            self.place = lambda unit: bisect.bisect_left(units, unit)
        self.tokens = sorted(self._range(token) for token in self.by_name.get("Token", []))
        self.sentences = sorted(begin for begin, _ in map(self._range, self.by_name.get("Sentence", [])))
        if not self.tokens:
            raise self._error(root, "the document has no tokens, expected a WebAnno export")

    def document(self, layers: Collection[str], marks: Collection[str], slots: Collection[str]) -> Document:
        """The document with the annotations of some layers, and all that these point to."""
        metadata = self._only("DocumentMetaData")
        name = metadata.attrib.get("documentTitle") or self._attribute(metadata, "documentId")
        wanted = [
            element
            for name, elements in self.by_name.items()
            for element in elements
            if name in layers or any(mark in element.attrib for mark in marks)
        ]
        annotations: dict[str, Annotation] = {}
        while wanted:
            found = [self._annotation(element, slots) for element in wanted]
            annotations |= {annotation.id: annotation for annotation in found}
            named = [end for annotation in found for end in annotation.ends.values()]
            named += [link.target for annotation in found for links in annotation.links.values() for link in links]
            wanted = [self.by_id[one] for one in dict.fromkeys(named) if one not in annotations]
        return Document(self.file, name, [self.text[begin:end] for begin, end in self.tokens], annotations)

    def _annotation(self, element: Any, slots: Collection[str]) -> Annotation:
        values = {name: value for name, value in element.attrib.items() if name not in slots}
        ends = {
            name: self._attribute(self._named(element, name, values[name]), _XMI_ID) for name in _ENDS if name in values
        }
        # The range of a relation is that of one of its ends, and of no use.
        begin, end = (0, 0) if ends else self._range(element)
        first = bisect.bisect_left(self.tokens, (begin, begin))
        last = first
        while last < len(self.tokens) and self.tokens[last][1] <= end:
            last += 1
        before = first > 0 and begin < self.tokens[first - 1][1]
        after = last < len(self.tokens) and self.tokens[last][0] < end
        return Annotation(
            self._attribute(element, _XMI_ID),
            _name(element),
            element.sourceline or 1,
            begin,
            end,
            list(range(first, last)),
            int(before) + int(after),
            bisect.bisect_right(self.sentences, begin) - 1,
            values,
            {name: self._links(element, name) for name in slots if name in element.attrib},
            ends,
        )

    def _links(self, element: Any, name: str) -> list[Link]:
        found = []
        for link_id in element.attrib[name].split():
            link = self._named(element, name, link_id)
            target = self._named(link, "target", self._attribute(link, "target"))
            role = link.attrib.get("role")
            found.append(Link(_name(link), link.sourceline or 1, role, self._attribute(target, _XMI_ID)))
        return found

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

    def _only(self, name: str) -> Any:
        found = self.by_name.get(name, [])
        if len(found) != 1:
            raise self.file.error(1, f"{len(found)} elements {name}, expected one, as in a WebAnno export")
        return found[0]

    def _attribute(self, element: Any, name: str) -> str:
        if name not in element.attrib:
            raise self._error(element, f"{_name(element)} lacks {name.rpartition('}')[2]}")
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

    def _named(self, element: Any, name: str, wanted: str) -> Any:
        if wanted not in self.by_id:
            raise self._error(element, f"{name}: {wanted!r} is the id of nothing in the file")
        return self.by_id[wanted]


def _name(element: Any) -> str:
    name: str = element.tag.rpartition("}")[2]
    return name
