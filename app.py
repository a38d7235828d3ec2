"""Start the web demo of the metrics: files in, scores and a report with every document out.

Run ``python app.py``. In a Space of the Hub it shows the benchmark of the Space.
"""

from __future__ import annotations


def main() -> None:
    """Start the server, and serve until it is stopped."""
    import signal
    import sys

    # An ordered end, in which the files of visitors are deleted.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    # Jobs import this file, and need no page.
    from spanscore.demo.page import Demo
    from spanscore.demo.settings import Settings

    Demo(Settings.from_environment()).launch()


if __name__ == "__main__":
    main()
