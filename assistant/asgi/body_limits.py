"""Bounds the body of every request: its size, the time without a byte, and how slowly it may come.

Django would store a whole body first, on disk if it is large, and would wait for it without end.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import MutableMapping
from typing import Any

from assistant.api.authentication import HttpRefusal
from assistant.api.parsers import MAX_BODY
from assistant.asgi.body_sizes import MAX_BUFFERED_BYTES, least_bound, size_bound
from assistant.asgi.refusals import Application, Message, Receive, Send, drain, refuse

# A body ends after so many seconds without a byte, or if it comes more slowly than so many bytes a second.
BODY_TIMEOUT_SECONDS = 15
MIN_BODY_RATE = 1_000
_CLOSE = (b"connection", b"close")


def with_bounded_bodies(application: Application) -> Application:
    """Wrap an ASGI application so that bodies end at their bounds.

    A body that is too large, declared so or not, is answered with 413; one that comes too slowly with 408. The
    application, if it was called, sees a client that has disconnected.
    """

    async def bounded(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _has_body(scope):
            await application(scope, receive, send)
            return
        body = _Body(scope, receive, send)
        if not await body.refuse_declared():
            await application(scope, body.receive, body.send)

    return bounded


class _Body:
    """The body of one request, as it comes in."""

    def __init__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        self._scope, self._receive, self._send = scope, receive, send
        self._bound, self._is_bound_known = least_bound(), False
        self._size = 0
        self._waited = 0.0
        self._is_complete = self._is_ended = self._is_answered = self._is_response_begun = False

    async def refuse_declared(self) -> bool:
        """Refuse the request if it declares a body that is too large; return whether it did."""
        if self._is_within(_declared_length(self._scope)):
            return False
        await self._end(_too_large(self._bound))
        return True

    def _is_within(self, size: int) -> bool:
        if size > self._bound and not self._is_bound_known:
            self._bound, self._is_bound_known = size_bound(self._scope), True
        return size <= self._bound

    async def receive(self) -> Message:
        """The application's `receive`."""
        if self._is_complete:
            return await self._receive()
        if self._is_ended:
            return {"type": "http.disconnect"}
        try:
            message = await self._next()
        except TimeoutError:
            return await self._end(_too_slow())
        self._size += len(message.get("body", b""))
        if not self._is_within(self._size):
            return await self._end(_too_large(self._bound))
        self._is_complete = not message.get("more_body", False)
        return message

    async def _next(self) -> Message:
        """Wait for the next part. Raises `TimeoutError` if none comes for too long, or too little has come so far."""
        # The time that the application takes between two parts is not the client's.
        allowed = BODY_TIMEOUT_SECONDS + self._size / MIN_BODY_RATE - self._waited
        began = time.monotonic()
        async with asyncio.timeout(min(BODY_TIMEOUT_SECONDS, allowed)):
            message = await self._receive()
        self._waited += time.monotonic() - began
        return message

    async def _end(self, refusal: HttpRefusal) -> Message:
        self._is_ended = True
        if not self._is_response_begun:
            self._is_answered = True
            await refuse(refusal, self._scope, self._send, self._receive)
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        """The application's `send`. A response before the end of the body closes the connection."""
        if self._is_answered:
            return
        if message["type"] == "http.response.start":
            self._is_response_begun = True
            if not self._is_complete and _is_http_1(self._scope):
                message = {**message, "headers": [*message.get("headers", ()), _CLOSE]}
        is_last = message["type"] == "http.response.body" and not message.get("more_body", False)
        if is_last and not self._is_complete and not self._is_ended:
            await self._send({**message, "more_body": True})
            await drain(self._receive)
            message = {"type": "http.response.body", "body": b""}
        await self._send(message)


def _has_body(scope: MutableMapping[str, Any]) -> bool:
    return not _is_http_1(scope) or any(
        name == b"transfer-encoding" or (name == b"content-length" and value != b"0")
        for name, value in scope["headers"]
    )


def _is_http_1(scope: MutableMapping[str, Any]) -> bool:
    """Return whether a request without those headers has no body, and connections are closed by a header."""
    return scope.get("http_version", "1.1") in {"1.0", "1.1"}


def _declared_length(scope: MutableMapping[str, Any]) -> int:
    """Return the Content-Length, 0 if there is none."""
    given = next((value for name, value in scope["headers"] if name == b"content-length"), b"0").decode("latin-1")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 20 else 0


def _too_large(bound: int) -> HttpRefusal:
    said = MAX_BODY if bound == MAX_BUFFERED_BYTES else bound
    return HttpRefusal(413, "too_large", f"A body holds at most {said} bytes.")


def _too_slow() -> HttpRefusal:
    return HttpRefusal(408, "request_timeout", "The body came too slowly.")
