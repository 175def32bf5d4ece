"""The HTTP protocol that uvicorn is started with: a request's head is bounded in size and time.

uvicorn bounds neither, and the application is called only when a head is complete. Imports without Django, since
uvicorn loads it by its name: `--http assistant.asgi.request_heads:BoundedHeads`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from assistant.core.values.frame_sizes import HTTP_PROTOCOL

logger = logging.getLogger(__name__)

# Bytes of a request line and its headers.
MAX_HEAD = 64 * 1024
# What a body of small chunks may have around it: a chunk of one byte has five.
CHUNK_OVERHEAD = 8
OPTION = f"--http {HTTP_PROTOCOL}"
WARNING = (
    f"This server bounds neither the size nor the time of requests' heads. Start uvicorn with {OPTION} "
    "(docs/production.md), or let no client reach it but through a proxy that bounds them."
)


class BoundedHeads(HttpToolsProtocol):
    """uvicorn's protocol on httptools, which ends connections whose heads are too long or come too slowly.

    Whatever is not a body counts: request lines, headers, extensions of chunks, and what follows the last one.
    """

    # In which a head has to come, from the connection's start on.
    head_seconds = 15.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._received = 0
        self._body = 0
        self._is_in_head = True
        self._has_new_count = False
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what has come, unless the head is too long by now."""
        if self._is_in_head and self._head_timer is None:
            self._wait_for_head()
        self._has_new_count = False
        super().data_received(data)
        if self.transport.is_closing():
            return
        # If a request has ended or begun in these bytes, how many belong to the next one is not known.
        self._received += 0 if self._has_new_count else len(data)
        most = MAX_HEAD if self._is_in_head else MAX_HEAD + CHUNK_OVERHEAD * self._body
        if self._received - self._body > most:
            self._refuse(431)

    def on_message_begin(self) -> None:
        """Count a new request."""
        super().on_message_begin()
        if self._received:
            self._count_anew()

    def on_headers_complete(self) -> None:
        """Call the application, unless the head is too long."""
        self._is_in_head = False
        self._stop_waiting()
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > MAX_HEAD:
            self._refuse(431)
            return
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Count a part of a body."""
        self._body += len(body)
        if not self.transport.is_closing():
            super().on_body(body)

    def on_message_complete(self) -> None:
        """Wait for the next head."""
        self._is_in_head = True
        self._count_anew()
        if not self.transport.is_closing():
            super().on_message_complete()

    def _count_anew(self) -> None:
        self._has_new_count = True
        self._received = 0
        self._body = 0

    def _wait_for_head(self) -> None:
        self._head_timer = self.loop.call_later(self.head_seconds, self._on_late_head)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _on_late_head(self) -> None:
        self._head_timer = None
        if self.transport.is_closing():
            return
        if self.cycle is not None and not self.cycle.response_complete:
            self._wait_for_head()  # the answer to the request before goes on
        else:
            self._refuse(408)

    def _refuse(self, status: int) -> None:
        logger.warning("A connection was closed: the head of its request %s", _REASONS[status])
        head = b"content-length: 0\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[status] + head)
        self.transport.close()


_REASONS = {408: "did not come in time", 431: f"is longer than {MAX_HEAD} bytes"}


def check_heads(receive: Callable[[], Awaitable[Any]]) -> None:
    """Warn if uvicorn was started with another protocol. What other servers bound is not known.

    Args:
        receive: the lifespan's, which under uvicorn is a method of an object that has the server's options.
    """
    options = getattr(getattr(receive, "__self__", None), "config", None)
    used = getattr(options, "http_protocol_class", None)
    if isinstance(used, type) and not issubclass(used, BoundedHeads):
        logger.warning(WARNING)
