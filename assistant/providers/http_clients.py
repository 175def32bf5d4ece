"""HTTP clients for the clients of the providers' packages, and how long these wait before they ask again."""

from __future__ import annotations

import ssl
from functools import cache

import httpx2

from assistant.toolkit.guards.guarded_http import guarded_client
from assistant.toolkit.guards.url_guard import UrlGuard

CONNECT_SECONDS = 5.0
MAX_RETRY_AFTER_SECONDS = 20.0
LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=100, keepalive_expiry=30)


async def limit_retry_wait(response: httpx2.Response) -> None:
    """Forbid retries after more than `MAX_RETRY_AFTER_SECONDS`; the providers' clients would wait for minutes."""
    wait = response.headers.get("retry-after", "")
    if wait.isdecimal() and int(wait) > MAX_RETRY_AFTER_SECONDS:
        response.headers["x-should-retry"] = "false"


@cache
def ssl_context() -> ssl.SSLContext:
    """Return the context of all clients, which takes 20 ms to build."""
    return httpx2.create_ssl_context()


def new_http_client(guard: UrlGuard | None) -> httpx2.AsyncClient:
    """Return an HTTP client for the providers' clients; with a guard, for addresses that tenants have set."""
    hooks = {"response": [limit_retry_wait]}
    if guard is not None:
        return guarded_client(guard, event_hooks=hooks)
    return httpx2.AsyncClient(verify=ssl_context(), limits=LIMITS, event_hooks=hooks)
