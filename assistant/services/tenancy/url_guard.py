"""The guard of every URL that a tenant sets: of providers, and of outside MCP servers."""

from __future__ import annotations

from django.conf import settings

from assistant.toolkit.guards.url_guard import UrlGuard


def tenant_guard() -> UrlGuard:
    """Public https and the places inside that the deployment names; in development (DEBUG) the machine itself too."""
    return UrlGuard(allow_loopback=settings.DEBUG, inside=settings.INTERNAL_HOSTS)
