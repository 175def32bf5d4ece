"""Answers probes before the project's middleware: they come without TLS, under the address of a port."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from assistant.asgi.json_apis import path_of
from assistant.asgi.refusals import Application, Receive, Send
from assistant.asgi.view_slots import with_bounded_views
from assistant.health import PROBES, answer_probe, healthz, probe_of


class _Probes(ASGIHandler):
    """Django's handler, without middleware: it gets requests of probes only."""

    def load_middleware(self, is_async: bool = False) -> None:
        pass

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        return await answer_probe(PROBES[request.path_info.rpartition("/")[2]], request)


def with_probes(application: Application) -> Application:
    """Wrap an ASGI application so that probes are answered at any mount point and before all middleware.

    A project redirects plain HTTP and refuses unknown hosts, and a probe asks `http://127.0.0.1:8001`.
    """
    handler: Any = _Probes()
    bounded = with_bounded_views(handler)

    async def route(scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        probe = probe_of(path_of(scope))
        # `healthz` is answered even while `readyz` waits.
        chosen = application if probe is None else handler if probe is healthz else bounded
        await chosen(scope, receive, send)

    return route
