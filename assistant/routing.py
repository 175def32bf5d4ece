"""Addresses of the websocket API and of the MCP server, and how they are mounted beside a site."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from channels.routing import ProtocolTypeRouter, URLRouter
from channels.sessions import CookieMiddleware
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.urls import path

from assistant.asgi.access_log import with_request_id
from assistant.asgi.body_limits import with_bounded_bodies, with_known_hosts
from assistant.asgi.lifespan import lifespan
from assistant.mcp.server.asgi import application as mcp_application
from assistant.mcp.server.asgi import is_mcp
from assistant.services.tenancy.row_scope import set_tenants
from assistant.staticfiles import StaticFiles
from assistant.websocket.consumer import ChatConsumer

websocket_urlpatterns = [path("ws/<slug:tenant>/<slug:assistant>/", ChatConsumer.as_asgi())]


def from_nobody(application: Any) -> Any:
    """Let every request and connection begin with nobody's rows in sight."""

    async def begin(scope: Any, receive: Any, send: Any) -> None:
        set_tenants()
        await application(scope, receive, send)

    return begin


def with_caller(application: Any) -> Any:
    """Give the consumer the browser's cookies; it reads the session itself, once.

    Channels' own session middleware looks whether the session was modified at every frame that is sent.
    """
    return CookieMiddleware(application)


def _choosing(is_ours: Callable[[str], bool], ours: Any, others: Any) -> Any:
    """Hand what comes to our addresses to one application, and the rest to another."""

    async def route(scope: Any, receive: Any, send: Any) -> None:
        await (ours if is_ours(scope["path"]) else others)(scope, receive, send)

    return route


def with_mcp(site: Any) -> Any:
    """Answer the MCP server's addresses before the site: its streams end with their clients, as ASGI tells it."""
    return _choosing(is_mcp, mcp_application, site)


async def upgrade_required(scope: Any, receive: Any, send: Any) -> None:
    """Tell an ordinary request that a websocket is meant, whatever tenant it names (RFC 9110, section 15.5.22).

    Any page may read it: to the widget it says that the server is there, and so refused its handshake.
    """
    headers = [(b"upgrade", b"websocket"), (b"content-length", b"0"), (b"access-control-allow-origin", b"*")]
    await send({"type": "http.response.start", "status": 426, "headers": headers})
    await send({"type": "http.response.body"})


async def nowhere(scope: Any, receive: Any, send: Any) -> None:
    """Refuse a websocket at an address that nobody has, as one of a caller who may not come in: 403."""
    await receive()
    await send({"type": "websocket.close"})


def _is_websocket_of_ours(address: str) -> bool:
    return any(route.pattern.match(address.lstrip("/")) for route in websocket_urlpatterns)


def with_assistant(site: Any, *, websockets: Any = None) -> Any:
    """A project's ASGI application: the site, and beside it the websocket API and the MCP server.

    With DEBUG it serves static files too, as `runserver` does: other servers do not.

    Args:
        site: What `get_asgi_application()` gave.
        websockets: The project's own websockets, if it has any: a `URLRouter`, say. It gets what is not ours.

    Raises:
        ImproperlyConfigured: an environment variable has a wrong value.
    """
    if settings.ENVIRONMENT_PROBLEMS:
        # Servers run no system checks, and a wrong value must stop the start there too.
        raise ImproperlyConfigured(
            " ".join(f"The environment variable {name} {problem}." for name, problem in settings.ENVIRONMENT_PROBLEMS)
        )
    if settings.DEBUG:
        site = StaticFiles(site)
    api = with_known_hosts(with_bounded_bodies(with_mcp(site)))
    chat = with_caller(URLRouter(websocket_urlpatterns))
    router = ProtocolTypeRouter(
        {
            "http": _choosing(_is_websocket_of_ours, upgrade_required, api),
            "websocket": _choosing(_is_websocket_of_ours, chat, websockets or nowhere),
            "lifespan": lifespan,
        }
    )
    return with_request_id(from_nobody(router))
