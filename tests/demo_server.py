"""The web demo as a process of its own, for tests."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager

from conftest import ROOT


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Server:
    """A running demo.

    Attributes
    ----------
    url : str
    process : subprocess.Popen
    folder : pathlib.Path
        The folder of its temporary files.
    log : pathlib.Path
        What it writes on its two outputs.
    """

    def __init__(self, url, process, folder, log):
        self.url, self.process, self.folder, self.log = url, process, folder, log

    def files(self):
        """All files that it keeps for visitors."""
        return [path for path in self.folder.rglob("*") if path.is_file()]


@contextmanager
def running(folder, script=ROOT / "app.py", **environment):
    """Start a demo, and stop it in the end."""
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
            assert process.poll() is None, log.read_text()
            try:
                urllib.request.urlopen(url, timeout=5).close()
                break
            except OSError:
                time.sleep(0.1)
        else:
            raise AssertionError(f"the demo did not start: {log.read_text()}")
        yield Server(url, process, temporary, log)
    finally:
        process.terminate()
        process.wait(timeout=30)
