"""Limits of what the server takes from the network."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.responses import PlainTextResponse

# A request has up to three large texts. That of an uploaded file has little beside the file.
_TEXTS = 3
_BESIDE_A_FILE = 2**16
_UPLOADS = "/upload"
_Message = MutableMapping[str, Any]


class LimitBody:
    """Refuse requests whose body is too large, before they are read.

    Parameters
    ----------
    app : ASGI application
    max_upload : int
        Number of bytes of an uploaded file.
    max_text : int
        Number of bytes of a text.
    """

    def __init__(self, app: Callable[..., Awaitable[None]], max_upload: int, max_text: int) -> None:
        self.app = app
        self.max_upload = max_upload + _BESIDE_A_FILE
        self.max_texts = _TEXTS * max_text

    async def __call__(self, scope: _Message, receive: Callable[[], Awaitable[_Message]], send: Any) -> None:
        """Pass a request on, with a count of the bytes of its body."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        # Gradio itself refuses a file that is a little too large, with a message on the page.
        max_size = 2 * self.max_upload if scope["path"].endswith(_UPLOADS) else self.max_texts
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if length.isdigit() and int(length) > max_size:
            # Senders read the answer only after they have sent all.
            while (await receive()).get("more_body"):
                pass
            words = f"The request is too large, expected at most {max_size:,} bytes."
            await PlainTextResponse(words, status_code=413)(scope, receive, send)
            return
        n_bytes = 0

        async def counted() -> _Message:
            nonlocal n_bytes
            message = await receive()
            n_bytes += len(message.get("body", b""))
            if n_bytes > max_size:  # a body without a length
                return {"type": "http.disconnect"}
            return message

        await self.app(scope, counted, send)
