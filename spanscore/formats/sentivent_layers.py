"""The layers of SENTiVENT's annotation project, from documents of WebAnno to records of the metric.

``A_Event``
    Features ``a_Type``, ``b_Subtype``, ``e_OtherModalityFactuality``, ``f_NegativePolarityFactuality``, ``i_Polarity``;
    slots ``c_Participant`` and ``d_FILLER``, whose roles are those of the arguments, and ``f_Discontiguous``, the
    further parts of the trigger.
``E_Sentiment``
    Features ``e_Polarity``, ``c_Uncertain``, ``d_Negated``; slots ``a_Target`` and ``b_TargetEvent``. This layer is
    known by its features, whatever its name.
``B_Participant``, ``C_FILLER``, ``D_Discontiguous``
    Spans that slots point to.
``CorefEvent``
    A relation between two events that are the same event.
``PronomCanonRef``
    A relation to the referent (``Dependent``) from a pronoun.

All other layers and features are ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from spanscore.formats.files import TextFile
from spanscore.formats.webanno import Annotation, Document
from spanscore.formats.webanno_tsv import read_tsv
from spanscore.formats.webanno_xmi import read_xmi

_EVENT, _PARTICIPANT, _FILLER, _PART = "A_Event", "B_Participant", "C_FILLER", "D_Discontiguous"
_CANONICAL, _COREFERENCE = "PronomCanonRef", "CorefEvent"
_LAYERS = (_EVENT, _PARTICIPANT, _FILLER, _PART, _CANONICAL, _COREFERENCE)
_OF_EXPRESSIONS = ("e_Polarity", "c_Uncertain", "d_Negated", "a_Target", "b_TargetEvent")
_ARGUMENTS, _PARTS, _TARGETS = ("c_Participant", "d_FILLER"), "f_Discontiguous", ("a_Target", "b_TargetEvent")
_SLOTS = (*_ARGUMENTS, _PARTS, *_TARGETS)
_POLARITIES = {"=Neutral": "neutral", "+Positive": "positive", "-Negative": "negative"}
_FLIPPED = {"positive": "negative", "negative": "positive", "neutral": "neutral", None: None}
_FLAGS = {"true": True, "false": False}

# From the format of a file to its reader.
READERS: dict[str, Callable[[TextFile], Document]] = {
    "xmi": lambda file: read_xmi(file, _LAYERS, _OF_EXPRESSIONS, _SLOTS),
    "tsv": lambda file: read_tsv(file, _LAYERS, _OF_EXPRESSIONS),
}


class Converted(NamedTuple):
    """A record, and what it does not hold.

    Attributes
    ----------
    record : dict
    notes : dict of str to int
        ``distant_parts`` are parts of a trigger outside its sentence. ``canonical_links`` are links from a pronoun to
        its referent; the record holds the pronoun and the referent, without the link. ``partial_tokens``, if there
        are any, are tokens that a span covers in part.
    """

    record: dict[str, Any]
    notes: dict[str, int]


def to_record(document: Document) -> Converted:
    """Turn a document into a record of the metric.

    Raises
    ------
    ValueError
        An annotation has no token, or a feature has an unknown value. The message begins with file and line.
    """
    notes = {"distant_parts": 0, "canonical_links": len(document.of_layer(_CANONICAL))}

    def span(*parts: Annotation) -> dict[str, Any]:
        tokens = sorted({token for part in parts for token in part.tokens})
        first = parts[0]
        if not tokens:
            raise document.file.error(first.line, f"{first.begin} to {first.end} covers no token")
        n_partial = sum(part.n_partial for part in parts)
        if n_partial:
            notes["partial_tokens"] = notes.get("partial_tokens", 0) + n_partial
        return {
            "tokens": tokens,
            "chars": sorted([part.begin, part.end] for part in parts),
            "discontinuous": tokens[-1] - tokens[0] + 1 > len(tokens),
        }

    def event(annotation: Annotation) -> dict[str, Any]:
        parts = [part for _, part in document.linked(annotation, _PARTS)]
        near = [part for part in parts if part.sentence == annotation.sentence]
        notes["distant_parts"] += len(parts) - len(near)
        other = _choice(document, annotation, "e_OtherModalityFactuality", _FLAGS)
        negated = _choice(document, annotation, "f_NegativePolarityFactuality", _FLAGS)
        polarity = _choice(document, annotation, "i_Polarity", _POLARITIES)
        return {
            "id": annotation.id,
            "kind": "event",
            "span": span(annotation, *near),
            "type": annotation.features.get("a_Type") or None,
            "subtype": annotation.features.get("b_Subtype") or None,
            "polarity": polarity,
            "scoped_polarity": _FLIPPED[polarity] if negated else polarity,
            "realis": "asserted" if negated is False and other is False else "other",
            "modality": {True: "other", False: "certain", None: None}[other],
            "negated": negated,
            "arguments": _arguments(document, annotation),
        }

    def expression(annotation: Annotation) -> dict[str, Any]:
        negated = _choice(document, annotation, "d_Negated", _FLAGS)
        polarity = _choice(document, annotation, "e_Polarity", _POLARITIES)
        return {
            "id": annotation.id,
            "kind": "sentiment_expression",
            "span": span(annotation),
            "polarity": polarity,
            "scoped_polarity": _FLIPPED[polarity] if negated else polarity,
            "uncertain": _choice(document, annotation, "c_Uncertain", _FLAGS),
            "negated": negated,
            "targets": [{"id": link.target} for name in _TARGETS for link in annotation.links.get(name, [])],
        }

    annotations = [
        {"id": annotation.id, "kind": kind, "span": span(annotation)}
        for layer, kind in ((_PARTICIPANT, "participant"), (_FILLER, "filler"))
        for annotation in document.of_layer(layer)
    ]
    annotations += [
        {
            "id": annotation.id,
            "kind": "canonical_referent",
            "span": span(document.annotations[_end(document, annotation, "Dependent")]),
        }
        for annotation in document.of_layer(_CANONICAL)
    ]
    annotations += map(event, document.of_layer(_EVENT))
    annotations += [
        expression(annotation)
        for annotation in document.annotations.values()
        if any(name in annotation.features or name in annotation.links for name in _OF_EXPRESSIONS)
    ]
    chains = [
        {"from": _end(document, annotation, "Governor"), "to": _end(document, annotation, "Dependent")}
        for annotation in document.of_layer(_COREFERENCE)
    ]
    record: dict[str, Any] = {} if document.name is None else {"id": document.name}
    record |= {
        "tokens": document.tokens,
        "annotations": annotations,
        "relations": {"event_sentiment": [], "event_coreference": chains},
    }
    return Converted(record, notes)


def _arguments(document: Document, annotation: Annotation) -> list[dict[str, str]]:
    found = []
    for link in [link for name in _ARGUMENTS for link in annotation.links.get(name, [])]:
        if link.role is None:
            raise document.file.error(link.line, f"{link.layer} lacks role")
        found.append({"role": link.role, "id": link.target})
    return found


def _choice(document: Document, annotation: Annotation, name: str, choices: dict[str, Any]) -> Any:
    value = annotation.features.get(name)
    if value is not None and value not in choices:
        raise document.file.error(annotation.line, f"{name}: {value!r} is not one of {', '.join(choices)}")
    return None if value is None else choices[value]


def _end(document: Document, annotation: Annotation, name: str) -> str:
    if name not in annotation.ends:
        raise document.file.error(annotation.line, f"{annotation.layer} lacks {name}")
    return annotation.ends[name]
