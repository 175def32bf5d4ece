"""Addresses of the APIs, for the core and for optional apps."""

from __future__ import annotations

from typing import Any

from django.urls import URLPattern, URLResolver, path
from django.urls.resolvers import RoutePattern

from assistant.api.base import TenantView
from assistant.services.tenancy.scopes import REST

# Below the mount of `assistant.urls`, for the addresses of apps.
OF_TENANT = "api/v1/tenants/<slug:tenant>/"


def tenant_path(address: str, view: type[TenantView], name: str | None = None) -> URLPattern:
    """Return the address of a view below a tenant's, with the scopes that the table says."""
    return path(address, view.as_view(rules=REST[address]), name=name)


class EitherSlash(RoutePattern):
    """A route that also matches with a slash too few or too many at its end: redirects lose what was posted."""

    def match(self, path: str) -> Any:
        """Return what Django's own route does."""
        found = super().match(path)
        as_written = path.rstrip("/") + ("/" if str(self).endswith("/") else "")
        if found is None and as_written != path:
            found = super().match(as_written)
        return found


def take_either_slash(entries: list[URLPattern | URLResolver]) -> list[URLPattern | URLResolver]:
    """Let all routes of URL patterns, and of those below them, match with a missing or an extra slash at their ends."""
    for entry in entries:
        if isinstance(entry, URLResolver):
            take_either_slash(entry.url_patterns)
        elif type(entry.pattern) is RoutePattern:
            entry.pattern = EitherSlash(str(entry.pattern), entry.pattern.name, is_endpoint=True)
    return entries
