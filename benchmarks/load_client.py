"""Clients with little CPU cost: they keep each message with its time, and nothing is parsed while measuring."""

from __future__ import annotations

import asyncio
import base64
import os
import re
import time
from collections.abc import Mapping
from typing import Self
from urllib.parse import urlsplit

_TEXT, _CLOSE, _PING, _PONG = 1, 8, 9, 10
PATIENCE_SECONDS = 300.0
_NOTHING = re.compile(rb"(?!)")


class LoadClient(asyncio.Protocol):
    """One connection. `received` has (time on the monotonic clock, payload) of every message, oldest first."""

    def __init__(self) -> None:
        self.received: list[tuple[float, bytes]] = []
        self.closed = asyncio.get_running_loop().create_future()
        self._buffer = b""
        self._wanted = _NOTHING
        self._seen: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)
        if self._seen is not None and not self._seen.done():
            self._seen.set_exception(ConnectionError("the server closed the connection"))

    async def until(self, wanted: re.Pattern[bytes]) -> None:
        """Wait for the next message that matches `wanted`.

        Raises:
            ConnectionError: the server closed the connection.
            TimeoutError: no such message came within `PATIENCE_SECONDS`.
        """
        self._wanted, self._seen = wanted, asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._seen
        except TimeoutError as exc:
            last = self.received[-1][1][:500] if self.received else b"nothing"
            raise TimeoutError(f"{wanted.pattern!r} did not come; the last was {last!r}") from exc

    def _take(self, payload: bytes) -> None:
        self.received.append((time.monotonic(), payload))
        if self._seen is not None and not self._seen.done() and self._wanted.search(payload):
            self._seen.set_result(None)

    def close(self) -> None:
        self.transport.close()


class HttpClient(LoadClient):
    """A client of the provider itself: its messages are the reads of the socket."""

    @classmethod
    async def open(cls, url: str) -> Self:
        parts = urlsplit(url)
        _, client = await asyncio.get_running_loop().create_connection(cls, parts.hostname or "", parts.port or 80)
        return client

    def post(self, path: str, body: bytes) -> None:
        self.transport.write(
            b"POST %b HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%b" % (path.encode(), len(body), body)
        )

    def data_received(self, data: bytes) -> None:
        self._take(data)


class WebSocketClient(LoadClient):
    """A websocket client: its messages are the payloads of text frames. `close_code` is the server's, 0 without one."""

    @classmethod
    async def open(cls, url: str, headers: Mapping[str, str] | None = None) -> Self:
        """Connect and do the handshake. Raises `ConnectionError` if the server refuses."""
        parts = urlsplit(url)
        _, client = await asyncio.get_running_loop().create_connection(cls, parts.hostname or "", parts.port or 80)
        fields = {
            "Host": parts.netloc, "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": base64.b64encode(os.urandom(16)).decode(), **(headers or {}),
        }  # fmt: skip
        path = f"{parts.path}?{parts.query}" if parts.query else parts.path
        lines = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
        client.transport.write(f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode())
        await asyncio.wait_for(client._handshaken, 60)
        return client

    def __init__(self) -> None:
        super().__init__()
        self._handshaken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.close_code = 0

    def send(self, text: str) -> None:
        """Send a text frame."""
        self._send(_TEXT, text.encode())

    def _send(self, kind: int, data: bytes) -> None:
        # A mask of zeros is valid, and needs no masking.
        size = len(data)
        length = bytes([0x80 | size]) if size < 126 else b"\xfe" + size.to_bytes(2, "big")
        self.transport.write(bytes([0x80 | kind]) + length + b"\0\0\0\0" + data)

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._handshaken.done():
            head, end, rest = self._buffer.partition(b"\r\n\r\n")
            if not end:
                return
            self._buffer = rest
            if b" 101 " not in head.split(b"\r\n")[0]:
                self._handshaken.set_exception(ConnectionError(head.split(b"\r\n")[0].decode()))
                return
            self._handshaken.set_result(None)
        self._read_frames()

    def _read_frames(self) -> None:
        buffer, start, end = self._buffer, 0, len(self._buffer)
        while end - start >= 2:
            size, head = buffer[start + 1] & 0x7F, start + 2
            if size >= 126:
                wide = 2 if size == 126 else 8
                size, head = int.from_bytes(buffer[head : head + wide], "big"), head + wide
            if end < head + size:
                break
            self._frame(buffer[start] & 0x0F, buffer[head : head + size])
            start = head + size
        self._buffer = buffer[start:]

    def _frame(self, kind: int, payload: bytes) -> None:
        if kind == _TEXT:
            self._take(payload)
        elif kind == _PING:
            self._send(_PONG, payload)
        elif kind == _CLOSE:
            self.close_code = int.from_bytes(payload[:2], "big")
            self.transport.close()
