"""The web demo as a process of its own, for tests and benchmarks."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent


def free_port() -> int:
    """A port of the loopback address that nobody uses."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


class Server(NamedTuple):
    """A running demo.

    Attributes
    ----------
    url : str
    process : subprocess.Popen
    folder : pathlib.Path
        The folder of its temporary files.
    log : pathlib.Path
        The file of its standard output and standard error.
    """

    url: str
    process: subprocess.Popen[bytes]
    folder: Path
    log: Path

    def files(self) -> list[Path]:
        """All files that it keeps for visitors."""
        return [path for path in self.folder.glob("spanscore-*/**/*") if path.is_file()]


@contextmanager
def running(folder: Path, script: Path = ROOT / "app.py", **environment: str) -> Iterator[Server]:
    """Start a demo, and stop it in the end.

    Parameters
    ----------
    folder : pathlib.Path
        An empty folder for its temporary files, its caches and its log.
    script : pathlib.Path
    **environment
        Further environment variables.
    """
    temporary, log = folder / "tmp", folder / "log.txt"
    temporary.mkdir()
    port = free_port()
    given = {
        **os.environ,
        "GRADIO_SERVER_NAME": "127.0.0.1",
        "GRADIO_SERVER_PORT": str(port),
        "TMPDIR": str(temporary),
        "HF_HOME": str(folder / "home"),
        **environment,
    }
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, str(script)], cwd=script.parent, env=given, stdout=output, stderr=output
        )
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            if process.poll() is not None:
                break
            try:
                urllib.request.urlopen(url, timeout=5).close()
            except OSError:
                time.sleep(0.1)
            else:
                break
        if process.poll() is not None:
            raise RuntimeError(f"the demo did not start: {log.read_text()}")
        yield Server(url, process, temporary, log)
    finally:
        process.terminate()
        process.wait(timeout=30)
