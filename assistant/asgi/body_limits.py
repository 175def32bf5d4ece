"""Refuses what no address of the API takes before the site sees it, in the shape of the address's errors.

The site itself would keep all of a body first, and answer a wrong host with a page.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from io import BytesIO
from typing import Any

from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest
from django.urls import Resolver404, resolve

from assistant.api.authentication import HttpRefusal
from assistant.api.openai.shapes import error_body
from assistant.api.parsers import MAX_BODY

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Mapping[str, Any], Receive, Send], Awaitable[None]]

# The two addresses below which bodies are JSON; other applications of the site, and our own pages, take what they take.
# In this order: the first has a version of its own, which reads like the second.
API, OPENAI = "api/", "v1/"
# Of slack: a body a little too long is read, and answered by whoever knows its address.
MOST = 2 * MAX_BODY
TOO_LARGE = HttpRefusal(413, "too_large", f"A body holds at most {MAX_BODY} bytes.")
WRONG_HOST = HttpRefusal(421, "invalid_host", "This host name is not served here.")


class _TooLarge(Exception):
    """More of a body has come than is taken."""


def with_known_hosts(application: Application) -> Application:
    """The application, whose API answers 421 to a host that the site does not serve."""

    async def known(scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _is_misdirected(scope) and _door(scope):
            await _answer(WRONG_HOST, scope, send)
        else:
            await application(scope, receive, send)

    return known


def _is_misdirected(scope: Mapping[str, Any]) -> bool:
    """Whether Django would refuse the host, which it reads from whatever header the project tells it to."""
    try:
        ASGIRequest(scope, BytesIO()).get_host()
    except DisallowedHost:
        return True
    return False


def with_bounded_bodies(application: Application) -> Application:
    """The application, whose API answers 413 to a body that says to be too long, or turns out to be."""

    async def bounded(scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await application(scope, receive, send)
            return
        if _announced(scope) > MOST and _door(scope):
            await _answer(TOO_LARGE, scope, send)
            return
        has_begun, left = False, MOST

        async def counted() -> Message:
            nonlocal left
            message = await receive()
            was_within, left = left >= 0, left - len(message.get("body", b""))
            if left < 0 and was_within and not has_begun and _door(scope):
                raise _TooLarge
            return message

        async def begun(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await application(scope, counted, begun)
        except _TooLarge:
            await _answer(TOO_LARGE, scope, send)

    return bounded


def _announced(scope: Mapping[str, Any]) -> int:
    """How long a body says to be; 0 if it does not say."""
    given = next((value for name, value in scope["headers"] if name == b"content-length"), b"0").decode("latin-1")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 20 else 0


def _door(scope: Mapping[str, Any]) -> str:
    """Which of the two doors an address belongs to, wherever the project has mounted them; "" for all others."""
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    try:
        match = resolve(path)
    except Resolver404:
        return ""
    if "assistant" not in match.app_names:
        return ""
    return next((door for door in (API, OPENAI) if f"/{door}" in f"/{match.route}"), "")


async def _answer(refusal: HttpRefusal, scope: Mapping[str, Any], send: Send) -> None:
    body = refusal.body
    if _door(scope) == OPENAI:
        body = error_body(str(refusal), kind="invalid_request_error", code=refusal.code)
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
