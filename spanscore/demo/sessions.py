"""The files that visitors upload, for as long as their page is open."""

from __future__ import annotations

import hashlib
import re
import shutil
import time
from collections.abc import Callable
from pathlib import Path

KEPT = 300.0  # seconds that files are kept after the last sign of life of their page
_LONGEST_NAME = 80
_REPLACED = '<>:"|?*'


class Sessions:
    """The uploaded files of each session of the page.

    A session has at most one file in each slot. An open page gives a sign of life each minute. The files of a session
    are deleted when the last sign is some minutes old.

    Parameters
    ----------
    folder : pathlib.Path
    kept : float
        Seconds from the last sign of life to the deletion of the files.
    clock : callable
        Gives the time in seconds.
    """

    def __init__(self, folder: Path, kept: float = KEPT, clock: Callable[[], float] = time.monotonic) -> None:
        self.folder = folder
        self.kept = kept
        self.clock = clock
        self._seen: dict[str, float] = {}

    def touch(self, session: str) -> Path:
        """Note a sign of life of a session, and return its folder."""
        # The browser names its session, so the name may be any text.
        name = hashlib.sha256(session.encode("utf-8", "replace")).hexdigest()
        self._seen[name] = self.clock()
        return self.folder / name

    def put(self, session: str, slot: str, file: Path) -> Path:
        """Move a file into a slot, and return its new path."""
        self.drop(session, slot)
        place = self.touch(session) / slot
        place.mkdir(parents=True)
        return Path(shutil.move(file, place / safe_name(file.name)))

    def find(self, session: str, slot: str) -> Path | None:
        """Return the path of the file in a slot, or None."""
        place = self.touch(session) / slot
        return next(place.iterdir(), None) if place.is_dir() else None

    def drop(self, session: str, slot: str) -> None:
        """Delete the file in a slot."""
        shutil.rmtree(self.touch(session) / slot, ignore_errors=True)

    def sweep(self) -> None:
        """Delete the files of sessions whose last sign of life is too old."""
        oldest = self.clock() - self.kept
        self._seen = {name: seen for name, seen in self._seen.items() if seen >= oldest}
        for folder in self.folder.iterdir():
            if folder.name not in self._seen:
                shutil.rmtree(folder, ignore_errors=True)


def safe_name(name: str) -> str:
    """The last part of a file name. What could be taken for a path, an option or a control character is replaced."""
    last = re.split(r"[/\\]", name)[-1]
    words = "".join("_" if sign in _REPLACED or not sign.isprintable() else sign for sign in last)
    return words[-_LONGEST_NAME:].lstrip("._-@~ ") or "file"
