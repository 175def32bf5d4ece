"""Refuses unknown hosts at the API's addresses with the API's error; Django would answer with an HTML page."""

from __future__ import annotations

from collections.abc import MutableMapping
from io import BytesIO
from typing import Any

from django.core.exceptions import DisallowedHost
from django.core.handlers.asgi import ASGIRequest

from assistant.api.authentication import HttpRefusal
from assistant.asgi.json_apis import api_of
from assistant.asgi.refusals import Application, Receive, Send, refuse

WRONG_HOST = HttpRefusal(421, "invalid_host", "This host name is not served here.")


def with_known_hosts(application: Application) -> Application:
    """Wrap an ASGI application so that its API answers 421 to hosts that the site does not serve."""

    async def known(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and _has_unknown_host(scope) and api_of(scope):
            await refuse(WRONG_HOST, scope, send)
        else:
            await application(scope, receive, send)

    return known


def _has_unknown_host(scope: MutableMapping[str, Any]) -> bool:
    """Return whether Django refuses the host, which it reads from the header that the settings name."""
    try:
        ASGIRequest(scope, BytesIO()).get_host()
    except DisallowedHost:
        return True
    return False
