"""Documents of WebAnno and INCEpTION, as the readers of their file formats give them.

`spanscore.formats.webanno_xmi` and `spanscore.formats.webanno_tsv` read the formats. What the layers of an annotation
project mean is for the benchmark to say.
"""

from __future__ import annotations

from typing import NamedTuple

from spanscore.formats.files import TextFile


class Link(NamedTuple):
    """A link of a slot feature.

    Attributes
    ----------
    layer : str
        The name of the link in errors.
    line : int
    role : str or None
    target : str
        The id of the annotation that it points to.
    """

    layer: str
    line: int
    role: str | None
    target: str


class Annotation(NamedTuple):
    """An annotation of a layer.

    Attributes
    ----------
    id : str
        Differs within a document.
    layer : str
        The name of its layer, without the package.
    line : int
        Its line in the file, from 1.
    begin, end : int
        Its characters, as offsets into the text.
    tokens : list of int
        The indices of its tokens, increasing.
    n_partial : int
        The number of tokens that it covers in part.
    sentence : int
        The number of the sentence that it begins in.
    features : dict of str to str
        The features that have a value.
    links : dict of str to list of Link
        By slot feature.
    ends : dict of str to str
        Of a relation: the ids of the annotations that it joins, ``Governor`` and ``Dependent``.
    """

    id: str
    layer: str
    line: int
    begin: int
    end: int
    tokens: list[int]
    n_partial: int
    sentence: int
    features: dict[str, str]
    links: dict[str, list[Link]]
    ends: dict[str, str]


class Document(NamedTuple):
    """A document with the annotations of one annotator.

    Attributes
    ----------
    file : TextFile
    name : str or None
        None if the file does not tell it.
    tokens : list of str
    annotations : dict of str to Annotation
        By id, in the order of the file.
    """

    file: TextFile
    name: str | None
    tokens: list[str]
    annotations: dict[str, Annotation]

    def of_layer(self, layer: str) -> list[Annotation]:
        """The annotations of a layer."""
        return [annotation for annotation in self.annotations.values() if annotation.layer == layer]

    def linked(self, annotation: Annotation, feature: str) -> list[tuple[Link, Annotation]]:
        """The links of a slot feature, each with the annotation that it points to."""
        return [(link, self.annotations[link.target]) for link in annotation.links.get(feature, [])]
