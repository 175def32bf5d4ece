"""Addresses of the websocket API, and who is calling there."""

from __future__ import annotations

from typing import Any

from channels.sessions import CookieMiddleware, SessionMiddleware
from django.urls import path

from assistant.consumers import ChatConsumer

websocket_urlpatterns = [path("ws/<slug:tenant>/<slug:assistant>/", ChatConsumer.as_asgi())]


def with_caller(application: Any) -> Any:
    """Give the consumer the browser's session; it reads keys itself and decides who is calling in one query."""
    return CookieMiddleware(SessionMiddleware(application))
