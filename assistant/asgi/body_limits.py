"""Rejects unknown hosts and too large bodies at the API's URLs, with the API's errors.

Django itself would read the whole body first, and answer an unknown host with an HTML page.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from contextlib import suppress
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

# The prefixes of the two APIs with JSON bodies. Other pages of the site have their own limits. `API` comes first,
# because its URLs contain "v1/" too.
API, OPENAI = "api/", "v1/"
# More than MAX_BODY, so that the view itself can answer a body that is only slightly too large.
MAX_BUFFERED_BYTES = 2 * MAX_BODY
# How long the rest of a rejected body is read.
DRAIN_SECONDS = 2.0
TOO_LARGE = HttpRefusal(413, "too_large", f"A body holds at most {MAX_BODY} bytes.")
WRONG_HOST = HttpRefusal(421, "invalid_host", "This host name is not served here.")


class _TooLarge(Exception):
    """The body is larger than `MAX_BUFFERED_BYTES`."""


def with_known_hosts(application: Application) -> Application:
    """Wrap an ASGI application so that its API answers 421 to hosts that the site does not serve."""

    async def known(scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _has_unknown_host(scope) and _api_of(scope):
            await _answer(WRONG_HOST, scope, send)
        else:
            await application(scope, receive, send)

    return known


def _has_unknown_host(scope: Mapping[str, Any]) -> bool:
    """Return whether Django rejects the host, read from the header that the settings name."""
    try:
        ASGIRequest(scope, BytesIO()).get_host()
    except DisallowedHost:
        return True
    return False


def with_bounded_bodies(application: Application) -> Application:
    """Wrap an ASGI application so that its API answers 413 to too large bodies, whatever their Content-Length."""

    async def bounded(scope: Mapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await application(scope, receive, send)
            return
        if _declared_length(scope) > MAX_BUFFERED_BYTES and _api_of(scope):
            await _answer(TOO_LARGE, scope, send, receive)
            return
        has_begun, remaining = False, MAX_BUFFERED_BYTES

        async def counting_receive() -> Message:
            nonlocal remaining
            message = await receive()
            was_within, remaining = remaining >= 0, remaining - len(message.get("body", b""))
            if remaining < 0 and was_within and not has_begun and _api_of(scope):
                raise _TooLarge
            return message

        async def tracking_send(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await application(scope, counting_receive, tracking_send)
        except _TooLarge:
            await _answer(TOO_LARGE, scope, send, receive)

    return bounded


def _declared_length(scope: Mapping[str, Any]) -> int:
    """Return the Content-Length, 0 if there is none."""
    given = next((value for name, value in scope["headers"] if name == b"content-length"), b"0").decode("latin-1")
    return int(given) if given.isascii() and given.isdigit() and len(given) < 20 else 0


def _api_of(scope: Mapping[str, Any]) -> str:
    """Return the API that a URL belongs to, wherever the project has mounted it; empty for other URLs."""
    path = scope["path"].removeprefix(scope.get("root_path", ""))
    try:
        match = resolve(path)
    except Resolver404:
        return ""
    if "assistant" not in match.app_names:
        return ""
    return next((api for api in (API, OPENAI) if f"/{api}" in f"/{match.route}"), "")


async def _answer(refusal: HttpRefusal, scope: Mapping[str, Any], send: Send, receive: Receive | None = None) -> None:
    """Send an error. With `receive`, read the rest of the body for up to `DRAIN_SECONDS` before closing."""
    body = refusal.body
    if _api_of(scope) == OPENAI:
        body = error_body(str(refusal), kind="invalid_request_error", code=refusal.code)
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode(), "more_body": receive is not None})
    if receive is not None:
        await _drain(receive)
        await send({"type": "http.response.body", "body": b""})


async def _drain(receive: Receive) -> None:
    """Read and drop the rest of a body: closing with unread data would reset the connection and lose the answer."""
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            while (await receive()).get("more_body"):
                pass
