"""Limits of what the server takes from the network."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.middleware import Middleware
from starlette.responses import PlainTextResponse

# JSON may write a byte of text as six bytes, and a request has up to three large texts.
_JSON_FACTOR = 3
_Message = MutableMapping[str, Any]


class LimitBody:
    """Refuse requests whose body is too large, before they are read.

    Parameters
    ----------
    app : ASGI application
    max_size : int
        Number of bytes of a body.
    """

    def __init__(self, app: Callable[..., Awaitable[None]], max_size: int) -> None:
        self.app = app
        self.max_size = max_size

    @classmethod
    def of(cls, max_upload: int) -> Middleware:
        """Make the middleware for texts of at most `max_upload` bytes."""
        return Middleware(cls, max_size=_JSON_FACTOR * max_upload)

    async def __call__(self, scope: _Message, receive: Callable[[], Awaitable[_Message]], send: Any) -> None:
        """Pass a request on, with a count of the bytes of its body."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        length = dict(scope["headers"]).get(b"content-length", b"0")
        if length.isdigit() and int(length) > self.max_size:
            # Senders read the answer only after they have sent all.
            while (await receive()).get("more_body"):
                pass
            await PlainTextResponse(self._words(), status_code=413)(scope, receive, send)
            return
        n_bytes = 0

        async def counted() -> _Message:
            nonlocal n_bytes
            message = await receive()
            n_bytes += len(message.get("body", b""))
            if n_bytes > self.max_size:  # a body without a length
                return {"type": "http.disconnect"}
            return message

        await self.app(scope, counted, send)

    def _words(self) -> str:
        return f"The request is too large, expected at most {self.max_size:,} bytes."
