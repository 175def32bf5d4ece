"""Checks the host and origin of ASGI requests against Django's settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host


def headers_of(scope: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers of an ASGI scope, names in lower case."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}


def is_allowed_host(host: str) -> bool:
    """Return whether the Host header is in ALLOWED_HOSTS."""
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, _allowed_hosts())


def is_allowed_origin(scope: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
    """Return whether the Origin header is the site itself, its scheme included, or in CSRF_TRUSTED_ORIGINS.

    A page that was loaded over http can have been changed on the way, so it does not count as the https site.
    """
    origin = headers.get("origin", "")
    if not origin:
        return False
    parts = urlsplit(origin)
    # Servers refuse requests without a Host header, but those made in the process, as by Channels' tests, have none.
    host = headers.get("host", parts.netloc)
    scheme = "https" if is_secure(scope, headers) else "http"
    if (parts.scheme, parts.netloc) == (scheme, host) and is_allowed_host(host):
        return True
    return any(_matches(parts.scheme, parts.netloc, trusted) for trusted in settings.CSRF_TRUSTED_ORIGINS)


def is_secure(scope: Mapping[str, Any], headers: Mapping[str, str]) -> bool:
    """Return whether the request came by https or wss, here or at the proxy named by SECURE_PROXY_SSL_HEADER."""
    trusted = getattr(settings, "SECURE_PROXY_SSL_HEADER", None)
    if trusted:
        name, wanted = trusted
        given = headers.get(name.removeprefix("HTTP_").replace("_", "-").lower())
        if given is not None:
            return bool(given.split(",", 1)[0].strip() == wanted)
    return scope.get("scheme") in {"https", "wss"}


def _allowed_hosts() -> list[str]:
    return settings.ALLOWED_HOSTS or (["localhost", "127.0.0.1", "[::1]"] if settings.DEBUG else [])


def _matches(scheme: str, netloc: str, trusted: str) -> bool:
    parts = urlsplit(trusted)
    if parts.scheme != scheme:
        return False
    if parts.netloc.startswith("*."):
        return netloc.endswith(parts.netloc[1:])
    return parts.netloc == netloc
