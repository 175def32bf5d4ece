"""Asks the project's ASGI application, within this process, what a proxy would ask a server."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

SECONDS = 30


@dataclass
class Answer:
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)


def load(application: str) -> Any:
    """Return the application that `module:name` names. Raises `ImportError` or `AttributeError`."""
    module, _, name = application.partition(":")
    return getattr(import_module(module), name)


def ask(application: Any, path: str, *, host: str = "127.0.0.1", is_secure: bool = True) -> Answer:
    """Send a GET request to an ASGI application; return the status, 0 if there is none in time, and the headers."""
    return asyncio.run(_ask(application, path, host, "https" if is_secure else "http"))


async def _ask(application: Any, path: str, host: str, scheme: str) -> Answer:
    answer, is_done = Answer(), asyncio.Event()
    given = iter([{"type": "http.request", "body": b"", "more_body": False}])

    async def receive() -> Mapping[str, Any]:
        for message in given:
            return message
        await is_done.wait()
        return {"type": "http.disconnect"}

    async def send(message: Mapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            answer.status = message["status"]
            pairs = message.get("headers") or ()
            answer.headers = {bytes(name).decode().lower(): bytes(value).decode("latin-1") for name, value in pairs}
        elif not message.get("more_body"):
            is_done.set()

    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": scheme,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(b"host", host.encode()), (b"x-forwarded-proto", scheme.encode())],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 1),
    }
    async with asyncio.timeout(SECONDS):
        await application(scope, receive, send)
    return answer
