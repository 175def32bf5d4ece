"""The guard for URLs that tenants set: of providers, webhooks and external MCP servers."""

from __future__ import annotations

from django.conf import settings

from assistant.toolkit.guards.url_guard import UrlGuard


def tenant_guard() -> UrlGuard:
    """Return a guard that allows public https, ASSISTANT_INTERNAL_HOSTS, and with DEBUG this machine."""
    return UrlGuard(allow_loopback=settings.DEBUG, internal_hosts=settings.ASSISTANT_INTERNAL_HOSTS)
