"""The web demo as a whole: its tabs, its API, its server, and the files that it keeps for a while."""

from __future__ import annotations

import asyncio
import atexit
import os
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import gradio as gr
from starlette.middleware import Middleware

from spanscore.demo import api, jobs, look
from spanscore.demo.requests import AVAILABLE
from spanscore.demo.sessions import KEPT, Sessions
from spanscore.demo.settings import Settings
from spanscore.demo.tab import BenchmarkTab
from spanscore.demo.traffic import LimitBody

_SWEEP = 30.0  # seconds between two looks for files that are too old
_SIGN_OF_LIFE = 60.0  # seconds between two signs of life of an open page
_QUEUE = 100  # waiting jobs
_INTRODUCTION = (
    "# Score {what}\n\n"
    "Drop or paste predictions and references, in any format of the benchmark. The page gives the official score with "
    "its interval, and a report with every document. A file has at most {size:g} MiB, and scoring takes at most "
    "{seconds:g} seconds. Files are deleted {minutes:g} minutes after the page is closed."
)


class Demo:
    """The page, its API, and what they need while they run.

    Parameters
    ----------
    settings : Settings

    Attributes
    ----------
    space : str
        The name of the Space that it runs in; empty elsewhere.
    folder : pathlib.Path
        Uploads, files of sessions, and files of jobs. It is deleted at the end.
    sessions : Sessions
    blocks : gradio.Blocks
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.space = os.environ.get("SPACE_ID", "")
        self.folder = Path(tempfile.mkdtemp(prefix="spanscore-"))
        atexit.register(shutil.rmtree, self.folder, ignore_errors=True)
        self.uploads = self.folder / "uploads"
        for path in (self.uploads, self.folder / "sessions", self.folder / "jobs"):
            path.mkdir()
        self.sessions = Sessions(self.folder / "sessions")
        # Gradio puts uploads there before a session takes them.
        os.environ["GRADIO_TEMP_DIR"] = str(self.uploads)
        jobs.start_server()
        self.blocks = self._build()

    def _build(self) -> gr.Blocks:
        headings = [benchmark.heading for benchmark in AVAILABLE.values()]
        private: dict[str, Any] = {"api_visibility": "private", "queue": False, "show_progress": "hidden"}
        blocks: gr.Blocks
        with gr.Blocks(title=f"spanscore: {', '.join(headings)}", analytics_enabled=False) as blocks:
            # Gradio numbers events of equal names, and the first keeps its name.
            api.add_endpoints(self)
            gr.Markdown(
                _INTRODUCTION.format(
                    what=f"{', '.join(headings[:-1])} and {headings[-1]}" if len(headings) > 1 else headings[0],
                    size=self.settings.max_upload / 2**20,
                    seconds=self.settings.seconds,
                    minutes=KEPT / 60 + 1,
                )
            )
            tabs = []
            for benchmark in AVAILABLE.values():
                # The page of a single benchmark has no tabs to choose from.
                with gr.Tab(benchmark.heading, id=benchmark.name) if len(AVAILABLE) > 1 else gr.Column():
                    tabs.append(BenchmarkTab(self, benchmark))
            for tab in tabs:
                blocks.load(**tab.check_event)
            gr.Timer(_SIGN_OF_LIFE).tick(self._touch, **private)
            blocks.unload(self._leave)
        blocks.queue(max_size=_QUEUE, default_concurrency_limit=None)
        return blocks

    def _touch(self, request: gr.Request) -> None:
        self.sessions.touch(request.session_hash or "")

    def _leave(self, request: gr.Request) -> None:
        jobs.stop(request.session_hash or "")

    def sweep(self, clock: Callable[[], float] = time.time) -> None:
        """Delete files of closed pages, and uploads that no session took."""
        self.sessions.sweep()
        for path in sorted(self.uploads.rglob("*"), reverse=True):
            with suppress(OSError):  # a folder with files, or a file that was just taken
                if path.is_dir():
                    path.rmdir()
                elif clock() - path.stat().st_ctime > KEPT:
                    path.unlink()

    @asynccontextmanager
    async def _lifespan(self, app: Any) -> AsyncIterator[None]:
        async def sweep_often() -> None:
            while True:
                await asyncio.sleep(_SWEEP)
                await asyncio.to_thread(self.sweep)

        task = asyncio.create_task(sweep_often())
        yield
        task.cancel()

    def launch(self, **more: Any) -> Any:
        """Start the server, at ``GRADIO_SERVER_NAME`` and ``GRADIO_SERVER_PORT`` if they are set.

        Parameters
        ----------
        **more
            Further arguments of ``gradio.Blocks.launch``.
        """
        limit = Middleware(LimitBody, max_upload=self.settings.max_upload, max_text=self.settings.max_text)
        return self.blocks.launch(
            theme=look.THEME,
            head=look.HEAD,
            js=look.NAME_UPLOADS,
            max_file_size=self.settings.max_upload,
            mcp_server=True,
            run_history=False,
            enable_monitoring=False,
            footer_links=["api", "settings"],
            app_kwargs={"lifespan": self._lifespan, "middleware": [limit]},
            **more,
        )
