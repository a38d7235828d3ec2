"""All that is wrong with a file, each mistake with its line and place, where reading and scoring name the first.

Nothing is checked here that the readers and the metrics do not check: a file is read piece by piece, and a record is
checked again without what was wrong in it. So a mistake that hides another, such as an annotation that others point
to, shows the other only when it is mended.
"""

from __future__ import annotations

import ast
import copy
import io
import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from formats.files import TextFile, parse_json_items, read_text

# More than a person reads; a file that is of another kind altogether has a mistake in every line.
MAXIMUM = 10_000
_SPAN_LINES = ("v2", "span-aste")

Read = Callable[[Any, str], Any]


class Problem(NamedTuple):
    """One mistake.

    Attributes
    ----------
    line : int or None
        Of the file, from 1; of a list on one line, that line. None in a file that has no lines.
    place : str
        Such as ``predictions[3].triplets[1].polarity``, or empty if the line could not be read.
    problem : str
        The value there, and what was expected.
    """

    line: int | None
    place: str
    problem: str


class Located(NamedTuple):
    """Records that could be read, with the line each stands on."""

    records: list[Any]
    lines: list[int | None]
    format: str


def _named(text: str, name: str) -> io.StringIO:
    source = io.StringIO(text)
    source.name = name
    return source


def _pieces(file: TextFile, read: Read, format: str) -> tuple[list[tuple[int, str]], ValueError | None]:
    """The parts of a text file that can be read one by one, with their lines; or why it cannot be taken apart."""
    lines = list(file.lines())
    first = lines[0][1].lstrip() if lines else ""
    if first.startswith("[") and (len(lines) == 1 or not _is_json(first)):
        try:
            items = parse_json_items(file)
        except ValueError as error:
            return [], error
        pieces = [(line, json.dumps([value], ensure_ascii=False)) for line, value in items]
        if len(lines) > 1:
            return pieces, None
        # One line may be one record that is a list.
        try:
            whole = len(read(_named(file.text, file.name), format).records)
        except ValueError:
            return pieces, None
        return (pieces if whole == len(items) else [(1, file.text)]), None
    if first and not first.startswith(("{", "[")):
        text = file.text[:-1] if file.text.endswith("\n") else file.text
        return list(enumerate(text.split("\n"), start=1)), None
    return lines, None


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _detected(pieces: list[tuple[int, str]], read: Read) -> str:
    """The format of the first piece that can be read, or that most things that cannot be read are taken for."""
    for _, text in pieces[:100]:
        if text.strip():
            try:
                return read(io.StringIO(text), "auto").format
            except ValueError:
                continue
    return "auto"


def read_pieces(
    source: str, read: Read, format: str = "auto", detect: Callable[[TextFile], str] | None = None
) -> tuple[Located, list[Problem]]:
    """Read what can be read of a text file.

    Parameters
    ----------
    source : str
        A path, or ``-``.
    read : callable
        From an open text file and the name of a format to a `formats.files.Corpus`.
    format : str
    detect : callable, optional
        From a text file to its format, where not every piece shows it.

    Returns
    -------
    Located, list of Problem
    """
    file = read_text(source)
    pieces, error = _pieces(file, read, format)
    if error is not None:
        return Located([], [], format), [_of_file(str(error), file.name)]
    if format == "auto":
        format = _detected(pieces, read) if detect is None else detect(file)
    found = Located([], [], format)
    problems: list[Problem] = []
    for line, text in pieces:
        if not text.strip() and format in _SPAN_LINES:
            continue
        try:
            corpus = read(_named(text + "\n", file.name), format)
        except ValueError as mistake:
            problem = _of_file(str(mistake), file.name)
            inner = list(_triplets_alone(text, file.name, read, format)) if format in _SPAN_LINES else []
            for place, words in inner or [(problem.place, problem.problem)]:
                problems.append(Problem(line + (problem.line or 1) - 1, place, words))
            continue
        found.records.extend(corpus.records)
        found.lines.extend([line] * len(corpus.records))
        problems += [Problem(line + at - 1, "", f"{words!r} cannot be read") for at, words in corpus.unparsed]
        n_copies = 0 if corpus.unparsed else corpus.format_notes.get("unparsed", 0)
        if n_copies:
            problems.append(Problem(line, "", f"{n_copies} copies do not line up with the sentence"))
    return found, problems


def _of_file(message: str, name: str) -> Problem:
    """A reader's message taken apart."""
    rest = message.removeprefix(f"{name}:")
    line, colon, words = rest.partition(": ")
    if rest != message and colon and line.isdigit():
        return Problem(int(line), "", words)
    return Problem(None, "", message)


def _triplets_alone(text: str, name: str, read: Read, format: str) -> Iterator[tuple[str, str]]:
    """The mistakes of a line's triplets, each read without the others."""
    *before, listed = text.split("####")
    try:
        items = ast.literal_eval(listed.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return
    if not isinstance(items, list):
        return
    for at, item in enumerate(items):
        try:
            read(_named("####".join([*before, repr([item])]), name), format)
        except ValueError as mistake:
            yield f"triplets[{at}]", _of_file(str(mistake), name).problem


# --- records ----------------------------------------------------------------------------------------------------------

_PLACE = re.compile(r"(?:\.\w+|\[\d+\])*")
_STEP = re.compile(r"\.(\w+)|\[(\d+)\]")


def record_problems(
    check: Callable[[list[Any]], Any], side: str, records: list[Any], lines: list[int | None], key: str | None = "id"
) -> Iterator[Problem]:
    """The mistakes of records.

    Parameters
    ----------
    check : callable
        Raises a ValueError for the first mistake of a batch, which begins with its place in ``side``.
    side : str
    records : list
    lines : list of int or None
        The line each record stands on.
    key : str or None
        What names a record and may be there once, or not at all.

    Yields
    ------
    Problem
    """
    bad = sorted(_bad(check, records, 0))
    for at in bad:
        yield from _mistakes(check, side, [records[at]], [at], [lines[at]])
    # What only several records show.
    repeated = {} if key is None else dict(_repeated(side, records, lines, key))
    yield from repeated.values()
    left_out = {*bad, *repeated}
    kept = [at for at in range(len(records)) if at not in left_out]
    yield from _mistakes(check, side, [records[at] for at in kept], kept, [lines[at] for at in kept])


def _bad(check: Callable[[list[Any]], Any], records: list[Any], start: int) -> Iterator[int]:
    """Which records are wrong by themselves, by halving the batches that are refused."""
    if not records:
        return
    try:
        check(records)
    except ValueError:
        if len(records) == 1:
            yield start
            return
        half = len(records) // 2
        yield from _bad(check, records[:half], start)
        yield from _bad(check, records[half:], start + half)


def _mistakes(
    check: Callable[[list[Any]], Any], side: str, records: list[Any], places: list[int], lines: list[int | None]
) -> Iterator[Problem]:
    """Check records until nothing is found, each time without what was wrong."""
    if not records:
        return
    single = len(records) == 1
    batch = copy.deepcopy(records) if single else list(records)
    # Where what is left stood at first, by the place of its list.
    stood: dict[tuple, list[int]] = {(): list(places)}
    lines = list(lines)
    before: tuple[str, str] | None = None
    for _ in range(MAXIMUM):
        try:
            check(batch)
            return
        except ValueError as error:
            message = str(error)
        given = _PLACE.match(message, len(side)) if message.startswith(side) else None
        steps = [name or int(index) for name, index in _STEP.findall(given.group())] if given else []
        if not steps or not isinstance(steps[0], int) or steps[0] >= len(batch):
            yield Problem(lines[0] if single else None, "", message)
            return
        place, path = side, tuple[Any, ...]()
        for step in steps:
            at = stood[path][step] if isinstance(step, int) and path in stood else step
            place += f"[{at}]" if isinstance(step, int) else f".{step}"
            path = (*path, step)
        words = message[given.end() :].removeprefix(": ") if given else message
        if (place, words) == before:
            return
        before = (place, words)
        yield Problem(lines[steps[0]], place, words)
        if not _without(batch, steps, stood, lines, whole=not single):
            return


def _without(batch: list[Any], steps: list[Any], stood: dict, lines: list, whole: bool) -> bool:
    """Take the item that is wrong out of its list, or the key out of its record; False if that would mislead."""
    if whole:
        del batch[steps[0]], stood[()][steps[0]], lines[steps[0]]
        return bool(batch)
    value: Any = batch
    path: tuple[Any, ...] = ()
    inner: tuple[list, int, tuple] | None = None
    owner: tuple[dict, str] | None = None
    for step in steps:
        if isinstance(step, int):
            if not isinstance(value, list) or step >= len(value):
                return False
            item = value[step]
            if path and isinstance(item, (dict, list)):
                inner = (value, step, path)
            value = item
        elif isinstance(value, dict):
            if step not in value:
                break
            if inner is None:
                owner = (value, step)
            value = value[step]
        elif len(path) > 1:
            break  # a tuple of fields
        path = (*path, step)
    if inner is not None:
        items, at, path = inner
        if isinstance(items[at], dict) and items[at].get("id") is not None:
            return False  # others may point to it
        stood.setdefault(path, list(range(len(items))))
        del items[at], stood[path][at]
        # Lists further in have moved with the items that hold them.
        moved = {
            (*path, key[len(path)] - 1, *key[len(path) + 1 :]): value
            for key, value in stood.items()
            if len(key) > len(path) and key[: len(path)] == path and key[len(path)] > at
        }
        for key in [k for k in stood if len(k) > len(path) and k[: len(path)] == path and k[len(path)] >= at]:
            del stood[key]
        stood.update(moved)
        return True
    if owner is not None:
        del owner[0][owner[1]]
        return True
    return False


def _repeated(side: str, records: list[Any], lines: list[int | None], key: str) -> Iterator[tuple[int, Problem]]:
    """Names that are there twice, and records without one among records that have one."""
    names = [record.get(key) if isinstance(record, dict) else None for record in records]
    if all(name is None for name in names):
        return
    first: dict[str, int] = {}
    for at, name in enumerate(names):
        place = f"{side}[{at}].{key}"
        if name is None:
            yield at, Problem(lines[at], place, "missing, expected one, as other records have it")
        elif str(name) in first:
            yield at, Problem(lines[at], place, f"{name!r} is that of {side}[{first[str(name)]}] too")
        else:
            first[str(name)] = at
