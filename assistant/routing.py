"""Addresses of the websocket API and of the MCP server, and who is calling there."""

from __future__ import annotations

from typing import Any

from channels.sessions import CookieMiddleware
from django.urls import path

from assistant.consumers import ChatConsumer
from assistant.mcp.server.application import application as mcp_application
from assistant.mcp.server.application import is_mcp
from assistant.services.tenancy import enter

websocket_urlpatterns = [path("ws/<slug:tenant>/<slug:assistant>/", ChatConsumer.as_asgi())]


def from_nobody(application: Any) -> Any:
    """Let every request and connection begin with nobody's rows in sight."""

    async def begin(scope: Any, receive: Any, send: Any) -> None:
        enter()
        await application(scope, receive, send)

    return begin


def with_caller(application: Any) -> Any:
    """Give the consumer the browser's cookies; it reads the session itself, once.

    Channels' own session middleware looks whether the session was modified at every frame that is sent.
    """
    return CookieMiddleware(application)


def with_mcp(application: Any) -> Any:
    """Answer the MCP server's addresses before the site: its streams end with their clients, as ASGI tells it."""

    async def route(scope: Any, receive: Any, send: Any) -> None:
        chosen = mcp_application if is_mcp(scope["path"]) else application
        await chosen(scope, receive, send)

    return route
