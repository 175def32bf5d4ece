"""Answers requests that never reach the site, in the form of the API that they were meant for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
from typing import Any

from django.urls import Resolver404, resolve

from assistant.api.authentication import HttpRefusal
from assistant.api.openai.shapes import error_body

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Mapping[str, Any], Receive, Send], Awaitable[None]]

# The prefixes of the two APIs with JSON bodies. `API` comes first, because its addresses hold "v1/" too.
API, OPENAI = "api/", "v1/"
# How long the rest of a refused body is read.
DRAIN_SECONDS = 2.0


def path_of(scope: Mapping[str, Any]) -> str:
    """Return the path that Django resolves."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


def api_of(scope: Mapping[str, Any]) -> str:
    """Return which API an address belongs to, wherever the project has mounted it; empty for all others."""
    try:
        match = resolve(path_of(scope))
    except Resolver404:
        return ""
    if "assistant" not in match.app_names:
        return ""
    return next((api for api in (API, OPENAI) if f"/{api}" in f"/{match.route}"), "")


async def refuse(refusal: HttpRefusal, scope: Mapping[str, Any], send: Send, receive: Receive | None = None) -> None:
    """Send a refusal, read what is left of the body from `receive` for a moment, and let the connection be closed."""
    kind, body = _answer(refusal, api_of(scope))
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": receive is not None})
    if receive is not None:
        await drain(receive)
        await send({"type": "http.response.body", "body": b""})


def _answer(refusal: HttpRefusal, api: str) -> tuple[bytes, bytes]:
    """Return the content type and the body: JSON for the APIs, a sentence for browsers."""
    if api == OPENAI:
        error = error_body(str(refusal), kind="invalid_request_error", code=refusal.code)
        return b"application/json", json.dumps(error).encode()
    if api == API:
        return b"application/json", json.dumps(refusal.body).encode()
    return b"text/plain; charset=utf-8", str(refusal).encode()


async def drain(receive: Receive) -> None:
    """Drop the rest of a body: closing a connection with unread data would reset it, and the client lose the answer."""
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            while (await receive()).get("more_body"):
                pass
