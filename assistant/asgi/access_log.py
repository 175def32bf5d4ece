"""Around everything that is answered: a request id, taken or made, given back and logged, and one line for each answer.

The line has the path without its query string, and neither address nor name of the caller.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any
from urllib.parse import quote

from assistant.services import metrics
from assistant.toolkit.logs import Request, begin_request, end_request

logger = logging.getLogger(__name__)

HEADER = b"x-request-id"
# What a proxy or a client may give: printable, short, and nothing that a log or a header could choke on.
_GIVEN = re.compile(rb"[A-Za-z0-9._:-]{8,64}")
# Asked for every few seconds, by machines.
_QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
# The messages of ASGI that begin an answer, and so carry its headers.
_BEGINNINGS = frozenset({"http.response.start", "websocket.accept", "websocket.http.response.start"})

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Mapping[str, Any], Receive, Send], Awaitable[None]]


def with_request_id(application: Application) -> Application:
    """The application, each of its answers with an `X-Request-ID` and a line in the log."""

    async def answer(scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await application(scope, receive, send)
            return
        visit = _Visit(scope, send)
        token = begin_request(visit.request)
        try:
            await application(scope, receive, visit.send)
        finally:
            visit.log()
            end_request(token)

    return answer


class _Visit:
    """One request, or one connection from its handshake to its end."""

    def __init__(self, scope: Mapping[str, Any], send: Send) -> None:
        self.request = Request(_given(scope) or uuid.uuid4().hex)
        self._method = scope.get("method", "WEBSOCKET")
        # Quoted again, or an address could write lines of its own into the log.
        self._path = quote(scope["path"], errors="replace")
        self._send = send
        self._began = time.perf_counter()
        self._status = 0

    def send(self, message: Message) -> Awaitable[None]:
        # No coroutine of its own: every frame of every answer comes this way.
        if self._status == 0:
            self._begin(message)
        return self._send(message)

    def _begin(self, message: Message) -> None:
        kind = message["type"]
        if kind in _BEGINNINGS:
            headers = [pair for pair in message.get("headers") or () if bytes(pair[0]).lower() != HEADER]
            message["headers"] = [*headers, (HEADER, self.request.id.encode())]
            self._status = int(message.get("status", 101))
        elif kind == "websocket.close":
            # Before the connection was accepted, which servers answer so.
            self._status = 403

    def log(self) -> None:
        level = logging.DEBUG if self._path in _QUIET else logging.INFO
        # Without an answer: whoever asked went away first.
        status, seconds = self._status or 499, time.perf_counter() - self._began
        metrics.count_response(self._method, status)
        if logger.isEnabledFor(level):
            fields = {
                "method": self._method,
                "path": self._path,
                "status": status,
                "duration_ms": round(seconds * 1000),
            }
            logger.log(level, "%s %s %d", self._method, self._path, status, extra=fields)


def _given(scope: Mapping[str, Any]) -> str:
    """The id that a proxy or client gave, if it is one."""
    found = next((value for name, value in scope["headers"] if name.lower() == HEADER), b"")
    return found.decode() if _GIVEN.fullmatch(found) else ""
