"""Limits of the page. Environment variables change them."""

from __future__ import annotations

import os
from typing import NamedTuple

from spanscore.demo.jobs import Limits
from spanscore.metrics.reading import MAX_SIZE_VARIABLE, parse_size


class Settings(NamedTuple):
    """Limits of the page.

    Attributes
    ----------
    seconds : float
        Time of one job (``SPANSCORE_DEMO_SECONDS``).
    memory : int
        Bytes of one job (``SPANSCORE_DEMO_MEMORY``, such as ``4G``).
    max_upload : int
        Bytes of an uploaded file (``SPANSCORE_DEMO_UPLOAD``).
    max_text : int
        Bytes of a pasted text, and of a text of the API (``SPANSCORE_DEMO_TEXT``). Texts wait in memory.
    max_expanded : int
        Bytes that a packed file may expand to (``SPANSCORE_MAX_SIZE``).
    workers : int
        Jobs at the same time (``SPANSCORE_DEMO_WORKERS``).
    """

    seconds: float = 120.0
    memory: int = 4 * 2**30
    max_upload: int = 64 * 2**20
    max_text: int = 16 * 2**20
    max_expanded: int = 256 * 2**20
    workers: int = os.cpu_count() or 1

    @classmethod
    def from_environment(cls) -> Settings:
        """Read the settings from environment variables.

        Raises
        ------
        ValueError
            A variable has a value that it does not take.
        """
        defaults = cls()

        def size(variable: str, default: int) -> int:
            given = os.environ.get(variable)
            try:
                return parse_size(given) if given else default
            except ValueError as error:
                raise ValueError(f"{variable}: {error}") from None

        return cls(
            float(size("SPANSCORE_DEMO_SECONDS", int(defaults.seconds))),
            size("SPANSCORE_DEMO_MEMORY", defaults.memory),
            size("SPANSCORE_DEMO_UPLOAD", defaults.max_upload),
            size("SPANSCORE_DEMO_TEXT", defaults.max_text),
            size(MAX_SIZE_VARIABLE, defaults.max_expanded),
            size("SPANSCORE_DEMO_WORKERS", defaults.workers),
        )

    @property
    def limits(self) -> Limits:
        """The limits of one job."""
        return Limits(self.seconds, self.memory, self.max_expanded)
