"""Mounts the websocket API, and what optional apps serve, beside a Django site."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.sessions import CookieMiddleware
from django.core.exceptions import ImproperlyConfigured
from django.urls import path

from assistant.api.request_end import with_request_end
from assistant.asgi.access_log import with_request_id
from assistant.asgi.body_limits import with_bounded_bodies
from assistant.asgi.known_hosts import with_known_hosts
from assistant.asgi.lifespan import lifespan
from assistant.asgi.mounts import with_mounted_websockets, with_mounts
from assistant.asgi.probes import with_probes
from assistant.asgi.view_slots import with_bounded_views
from assistant.optional_apps import problems_of_settings
from assistant.services.jobs import jobs
from assistant.services.pending import continuation  # noqa: F401 - registers its jobs
from assistant.services.privacy import daily_retention  # noqa: F401 - registers its job
from assistant.services.tenancy.row_scope import set_tenants
from assistant.staticfiles import with_static_files
from assistant.websocket.consumer import ChatConsumer

websocket_urlpatterns = [path("ws/<slug:tenant>/<slug:assistant>/", ChatConsumer.as_asgi())]


def without_tenants(application: Any) -> Any:
    """Wrap an application so that every request and connection starts without access to any tenant's rows."""

    async def begin(scope: Any, receive: Any, send: Any) -> None:
        set_tenants()
        await application(scope, receive, send)

    return begin


def with_cookies(application: Any) -> Any:
    """Wrap an application so that it gets the browser's cookies.

    The consumer reads the session itself, because Channels' session middleware would check for every frame that is sent
    whether the session was modified.
    """
    return CookieMiddleware(application)


def _choosing(is_ours: Callable[[str], bool], ours: Any, others: Any) -> Any:
    """Route paths for which `is_ours` is true to one application, and others to another."""

    async def route(scope: Any, receive: Any, send: Any) -> None:
        await (ours if is_ours(scope["path"]) else others)(scope, receive, send)

    return route


async def upgrade_required(scope: Any, receive: Any, send: Any) -> None:
    """Answer 426 to an HTTP request for a websocket's address, of any tenant (RFC 9110, section 15.5.22).

    Pages of all origins may read the response, from which the widget learns that the server is up and has refused its
    handshake.
    """
    headers = [(b"upgrade", b"websocket"), (b"content-length", b"0"), (b"access-control-allow-origin", b"*")]
    await send({"type": "http.response.start", "status": 426, "headers": headers})
    await send({"type": "http.response.body"})


async def refuse_unknown(scope: Any, receive: Any, send: Any) -> None:
    """Refuse a websocket at an unknown address with 403, the status for callers who are not admitted."""
    await receive()
    await send({"type": "websocket.close"})


def _is_websocket_of_ours(address: str) -> bool:
    return any(route.pattern.match(address.lstrip("/")) for route in websocket_urlpatterns)


def with_assistant(site: Any, *, websockets: Any = None) -> Any:
    """Return a project's ASGI application: the site, and beside it the websocket API and what optional apps serve.

    It answers probes, and serves the assistant's static files (with DEBUG those of all apps), as `runserver` does.

    Args:
        site: the result of `get_asgi_application()`.
        websockets: the application for the project's own websockets, such as a `URLRouter`.

    Raises:
        ImproperlyConfigured: an environment variable or a setting of the assistant has a wrong value.
    """
    if problems := problems_of_settings():
        # ASGI servers run no system checks.
        raise ImproperlyConfigured(" ".join(problems))
    jobs.import_handlers()
    views = with_static_files(with_bounded_views(site))
    api = with_probes(with_known_hosts(with_mounts(with_request_end(views))))
    chat = with_cookies(URLRouter(websocket_urlpatterns))
    router = ProtocolTypeRouter(
        {
            "http": with_bounded_bodies(_choosing(_is_websocket_of_ours, upgrade_required, api)),
            "websocket": with_mounted_websockets(_choosing(_is_websocket_of_ours, chat, websockets or refuse_unknown)),
            "lifespan": lifespan,
        }
    )
    return with_request_id(without_tenants(router))
