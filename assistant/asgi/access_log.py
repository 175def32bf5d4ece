"""Gives every request an id, which is logged and returned in a header, and logs one line for every response.

What a request does belongs to the trace that its headers name (`traceparent`).

The line has the path without the query string and tokens, and neither the IP address nor the name of the caller.
"""

from __future__ import annotations

import logging
import re
import time
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import quote

from assistant.health import PROBES
from assistant.services import metrics
from assistant.toolkit.carried_context import attach_parent, detach_parent
from assistant.toolkit.logs import Request, begin_request, end_request

logger = logging.getLogger(__name__)

HEADER = b"x-request-id"
# Ids that a proxy or client may send; other ids are replaced, so that they cannot forge log lines or headers.
_VALID_ID = re.compile(rb"[A-Za-z0-9._:-]{8,64}")
# The token in an address for results that come later, which is their credential.
_TOKEN = re.compile(r"(/pending/)[^/]+")
# The ASGI messages that start a response, with its headers.
_RESPONSE_STARTS = frozenset({"http.response.start", "websocket.accept", "websocket.http.response.start"})

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]


def with_request_id(application: Application) -> Application:
    """Wrap an ASGI application so that each response has an `X-Request-ID` and a line in the log."""

    async def answer(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await application(scope, receive, send)
            return
        exchange = _Exchange(scope, send)
        token, parent = begin_request(exchange.request), attach_parent(scope["headers"])
        try:
            await application(scope, receive, exchange.send)
        finally:
            exchange.log()
            end_request(token)
            detach_parent(parent)

    return answer


class _Exchange:
    """One request with its response, or one websocket connection."""

    def __init__(self, scope: MutableMapping[str, Any], send: Send) -> None:
        self.request = Request(_given_id(scope) or uuid.uuid4().hex)
        self._method = scope.get("method", "WEBSOCKET")
        # Quoted, so that a path cannot forge log lines.
        self._path = _TOKEN.sub(r"\1***", quote(scope["path"], errors="replace"))
        self._send = send
        self._began = time.perf_counter()
        self._status = 0

    def send(self, message: Message) -> Awaitable[None]:
        # Not a coroutine function, because it is called for every frame.
        if self._status == 0:
            self._begin(message)
        return self._send(message)

    def _begin(self, message: Message) -> None:
        kind = message["type"]
        if kind in _RESPONSE_STARTS:
            headers = [pair for pair in message.get("headers") or () if bytes(pair[0]).lower() != HEADER]
            message["headers"] = [*headers, (HEADER, self.request.id.encode())]
            self._status = int(message.get("status", 101))
        elif kind == "websocket.close":
            # Closed before it was accepted, which servers answer with 403.
            self._status = 403

    def log(self) -> None:
        # Monitoring requests probes every few seconds.
        level = logging.DEBUG if self._path.rpartition("/")[2] in PROBES else logging.INFO
        # 499, as in nginx: the client disconnected before there was a response.
        status, seconds = self._status or 499, time.perf_counter() - self._began
        metrics.counting().count_response(self._method, status)
        if logger.isEnabledFor(level):
            fields = {
                "method": self._method,
                "path": self._path,
                "status": status,
                "duration_ms": round(seconds * 1000),
            }
            logger.log(level, "%s %s %d", self._method, self._path, status, extra=fields)


def _given_id(scope: MutableMapping[str, Any]) -> str:
    """Return the id that a proxy or client sent, or an empty string if there is no valid one."""
    found = next((value for name, value in scope["headers"] if name.lower() == HEADER), b"")
    return found.decode() if _VALID_ID.fullmatch(found) else ""
