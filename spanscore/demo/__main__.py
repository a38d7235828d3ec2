"""Start the web demo: ``python -m spanscore.demo``, or ``python app.py`` in a checkout and in a Space."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Start the server, and serve until it is stopped."""
    # Jobs import this file, and need no page.
    from spanscore.demo.page import Demo
    from spanscore.demo.settings import Settings

    # An ordered end, in which the files of visitors are deleted.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    Demo(Settings.from_environment()).launch()


if __name__ == "__main__":
    main()
