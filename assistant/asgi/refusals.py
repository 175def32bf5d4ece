"""Answers requests that never reach the site, in the form of the API that they were meant for."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any

from assistant.api.authentication import HttpRefusal
from assistant.asgi.json_apis import JsonApi, api_of

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

# How long the rest of a refused body is read.
DRAIN_SECONDS = 2.0


async def refuse(
    refusal: HttpRefusal, scope: MutableMapping[str, Any], send: Send, receive: Receive | None = None
) -> None:
    """Send a refusal, read what is left of the body from `receive` for a moment, and let the connection be closed."""
    kind, body = _answer(refusal, api_of(scope))
    headers = [(b"content-type", kind), (b"content-length", b"%d" % len(body)), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": receive is not None})
    if receive is not None:
        await drain(receive)
        await send({"type": "http.response.body", "body": b""})


def _answer(refusal: HttpRefusal, api: JsonApi | None) -> tuple[bytes, bytes]:
    """Return the content type and the body: JSON for the APIs, a sentence for browsers."""
    if api is not None:
        return b"application/json", json.dumps(api.refusal_body(refusal)).encode()
    return b"text/plain; charset=utf-8", str(refusal).encode()


async def drain(receive: Receive) -> None:
    """Drop the rest of a body: closing a connection with unread data would reset it, and the client lose the answer."""
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            while (await receive()).get("more_body"):
                pass
