"""A tenant's own server that webhooks are sent to: keeps what came, and answers as it is told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any


@dataclass(frozen=True)
class Received:
    """One request: its path, headers (lower case) and body."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


class Receiver(ThreadingHTTPServer):
    """`status` is answered to all, and `headers` and `tail` (more of a body) with it; `gate` holds answers back."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 204
        self.headers: dict[str, str] = {}
        self.tail: Callable[[Any], None] = lambda _file: None
        self.gate: threading.Event | None = None
        self.received: list[Received] = []
        self._came = threading.Condition()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook"

    def take(self, received: Received) -> None:
        with self._came:
            self.received.append(received)
            self._came.notify_all()

    def wait_for(self, number: int, seconds: float = 30.0) -> list[Received]:
        """The requests, once there are so many."""
        with self._came:
            assert self._came.wait_for(lambda: len(self.received) >= number, seconds), self.received
            return list(self.received)

    def __enter__(self) -> Receiver:
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        if self.gate is not None:
            self.gate.set()
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    server: Receiver

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.take(Received(self.path, {name.lower(): value for name, value in self.headers.items()}, body))
        if self.server.gate is not None:
            self.server.gate.wait(60)
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.server.tail(self.wfile)

    def log_message(self, *args: object) -> None:
        pass
