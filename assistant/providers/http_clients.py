"""The clients of the providers' packages, which are kept, and their HTTP clients and waits before they ask again."""

from __future__ import annotations

import ssl
import time
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Hashable
from email.utils import parsedate_to_datetime
from functools import cache
from http import HTTPStatus
from typing import Any, Generic, Protocol, TypeVar

import httpx2

from assistant.providers.billing_sentences import says_unpaid
from assistant.toolkit.carried_context import trace_headers
from assistant.toolkit.guards.guarded_http import guarded_client
from assistant.toolkit.guards.url_guard import UrlGuard
from assistant.toolkit.per_loop import PerLoop

# Clients in one event loop. The client of a replaced key stays until it is the least recently used.
MAX_CLIENTS = 1_000


class Closable(Protocol):
    """A client of a provider's package."""

    def close(self) -> Awaitable[None]: ...


C = TypeVar("C", bound=Closable)
_Key = tuple[Hashable, ...]


class ClientCache(Generic[C]):
    """One client for each address, key and guard in each event loop.

    Above `MAX_CLIENTS` the one that was not used for the longest time is closed. All are closed when the event loop
    closes its asynchronous generators, as `asyncio.run` does.

    Args:
        make: makes a client from the arguments of `get`.
    """

    def __init__(self, make: Callable[..., Awaitable[C]]) -> None:
        self._make = make
        self._clients: PerLoop[OrderedDict[_Key, tuple[C, AsyncGenerator[C]]]] = PerLoop(OrderedDict)

    async def get(self, *key: Hashable) -> C:
        """Return the client for these arguments."""
        clients = self._clients.get()
        if key not in clients:
            generator = self._open(key)
            made = await anext(generator)
            if key in clients:  # another task has made one meanwhile
                await generator.aclose()
            else:
                clients[key] = made, generator
        client, _ = clients[key]
        clients.move_to_end(key)
        while len(clients) > MAX_CLIENTS:
            _, (_, oldest) = clients.popitem(last=False)
            await oldest.aclose()
        return client

    async def _open(self, key: _Key) -> AsyncGenerator[C]:
        """Yield a client, and close it with the generator."""
        client = await self._make(*key)
        try:
            yield client
        finally:
            clients = self._clients.get()
            if key in clients and clients[key][0] is client:
                del clients[key]
            await client.close()


CONNECT_SECONDS = 5.0
MAX_RETRY_AFTER_SECONDS = 20.0
# Bytes of an answer with an error status: the packages read it whole, and the sentence in it is short.
MAX_ERROR_BYTES = 2**20
LIMITS = httpx2.Limits(max_connections=1000, max_keepalive_connections=100, keepalive_expiry=30)


async def limit_failure(response: httpx2.Response) -> None:
    """Bound what a response that is not a good one costs.

    Its body ends after `MAX_ERROR_BYTES`, with its connection. Retries are forbidden after more than
    `MAX_RETRY_AFTER_SECONDS`, as the providers' clients would wait for minutes, and after a 429 that says that the
    account has no credit left, which no waiting mends.
    """
    if response.is_success:
        return
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Beginning(response.stream)
    headers = response.headers
    wait = _seconds(headers.get("retry-after-ms", "")) / 1_000 or _seconds(headers.get("retry-after", ""))
    is_unpaid = response.status_code == HTTPStatus.TOO_MANY_REQUESTS and says_unpaid(await response.aread())
    if wait > MAX_RETRY_AFTER_SECONDS or is_unpaid:
        headers["x-should-retry"] = "false"


def _seconds(retry_after: str) -> float:
    """Return the seconds that a `Retry-After` says, as a number or a date; 0 if it says nothing."""
    try:
        return float(retry_after)
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(retry_after).timestamp() - time.time()
    except (ValueError, OverflowError):
        return 0.0


class _Beginning(httpx2.AsyncByteStream):
    """The first `MAX_ERROR_BYTES` of a body."""

    def __init__(self, whole: httpx2.AsyncByteStream) -> None:
        self._whole = whole

    async def __aiter__(self) -> AsyncGenerator[bytes]:
        left, parts = MAX_ERROR_BYTES, aiter(self._whole)
        try:
            async for part in parts:
                yield part[:left]
                left -= len(part)
                if left <= 0:
                    return
        finally:
            if isinstance(parts, AsyncGenerator):
                await parts.aclose()

    async def aclose(self) -> None:
        await self._whole.aclose()


async def name_trace(request: httpx2.Request) -> None:
    """Name the span that a request belongs to, for the provider's own traces."""
    request.headers.update(trace_headers())


HOOKS: dict[str, list[Callable[..., Any]]] = {"request": [name_trace], "response": [limit_failure]}


@cache
def ssl_context() -> ssl.SSLContext:
    """Return the context of all clients, which takes 20 ms to build."""
    return httpx2.create_ssl_context()


def new_http_client(guard: UrlGuard | None) -> httpx2.AsyncClient:
    """Return an HTTP client for the providers' clients; with a guard, for addresses that tenants have set."""
    if guard is not None:
        return guarded_client(guard, event_hooks=HOOKS)
    return httpx2.AsyncClient(verify=ssl_context(), limits=LIMITS, event_hooks=HOOKS)
