"""An HTTP client that opens only URLs allowed by a `UrlGuard` and limits the size of responses."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import httpcore2
import httpx2

from assistant.toolkit.guards.url_guard import UnsafeUrl, UrlGuard

# Limit of one response, except for the event stream of a successful one.
MAX_BYTES = 10 * 2**20


def guarded_client(
    guard: UrlGuard,
    *,
    max_bytes: int = MAX_BYTES,
    max_values: int | None = None,
    client_class: type[httpx2.AsyncClient] = httpx2.AsyncClient,
    **options: Any,
) -> httpx2.AsyncClient:
    """Return a client for untrusted URLs; opening a forbidden one raises `httpx2.ConnectError`.

    Proxies from the environment are not used: they would resolve the host again, without the guard.

    Args:
        max_bytes: limit of one response; a longer one raises `ResponseTooLong`. Event streams have no limit, unless
            they have an error status, because such a response is read as a whole.
        max_values: limit of the JSON values of one response, or of one event; more raise `ResponseTooLong`. A parser
            needs a hundred times as long for a megabyte of empty lists as for a megabyte of text.
        client_class: what the client is made of, with these `options`.
    """
    headers = httpx2.Headers(options.pop("headers", None))
    headers.setdefault("accept-encoding", "identity")
    transport = GuardedTransport(guard, max_bytes=max_bytes, max_values=max_values)
    return client_class(transport=transport, headers=headers, trust_env=False, **options)


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Checks the URL of every request, redirects included, and connects to the checked addresses only.

    The guard resolves the name once per connection; TLS still verifies the name.
    """

    def __init__(self, guard: UrlGuard, *, max_bytes: int = MAX_BYTES, max_values: int | None = None) -> None:
        self._guard = guard
        self._max_bytes = max_bytes
        self._max_values = max_values
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=_ssl_context(),
            max_connections=1000,
            max_keepalive_connections=100,
            keepalive_expiry=30,
            network_backend=_GuardedBackend(guard),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        assert isinstance(request.stream, httpx2.AsyncByteStream)  # noqa: S101 - always so in an async client  # nosec B101
        try:
            self._guard.check(str(request.url))
        except UnsafeUrl as exc:
            raise httpx2.ConnectError(str(exc)) from exc
        url = request.url
        forwarded = httpcore2.Request(
            method=request.method,
            url=httpcore2.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path),
            headers=request.headers.raw,
            content=request.stream,
            extensions=request.extensions,
        )
        with _as_httpx():
            raw = await self._pool.handle_async_request(forwarded)
        stream = _Limited(raw, self._max_bytes, self._max_values)
        response = httpx2.Response(raw.status, headers=raw.headers, stream=stream, extensions=raw.extensions)
        if response.headers.get("content-encoding", "identity") != "identity":
            # A few compressed bytes can expand to gigabytes.
            await stream.aclose()
            raise httpx2.DecodingError(
                "The server sent a compressed response, although none was requested.", request=request
            )
        if response.is_success and response.headers.get("content-type", "").startswith("text/event-stream"):
            stream.limit = None
        return response

    async def aclose(self) -> None:
        await self._pool.aclose()


@cache
def _ssl_context() -> ssl.SSLContext:
    return httpx2.create_ssl_context()  # it takes 20 ms to build


class ResponseTooLong(httpx2.StreamError, httpx2.ReadError):
    """The response exceeds a limit. Its connection is closed; other connections of the client are not affected."""


class _Limited(httpx2.AsyncByteStream):
    """A response's bytes, up to `limit`, and up to `max_values` JSON values in it, or in each of its events."""

    def __init__(self, raw: httpcore2.Response, limit: int | None, max_values: int | None) -> None:
        self._raw = raw
        self._max_values = max_values
        self.limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        read = values = 0
        with _as_httpx():
            async for part in self._raw.aiter_stream():
                read += len(part)
                if self.limit is not None and read > self.limit:
                    raise ResponseTooLong(f"The response is longer than {self.limit:,} bytes.")
                if self._max_values is not None:
                    values = self._count(part, values, self._max_values)
                yield part

    def _count(self, part: bytes, counted: int, max_values: int) -> int:
        """Return the number of values so far in the response, or in the event that this part ends within."""
        events = part.replace(b"\r\n", b"\n").split(b"\n\n") if self.limit is None else [part]
        counts = [counted + _values(events[0]), *map(_values, events[1:])]
        if max(counts) > max_values:
            raise ResponseTooLong(f"The response is longer than {max_values:,} values.")
        return counts[-1]

    async def aclose(self) -> None:
        await self._raw.aclose()


def _values(text: bytes) -> int:
    """Estimate the number of JSON values in a text."""
    return text.count(b",") + text.count(b"[") + text.count(b"{")


class _GuardedBackend(httpcore2.AsyncNetworkBackend):
    """Resolves hosts with the guard and connects to the addresses that it allows."""

    def __init__(self, guard: UrlGuard) -> None:
        self._guard = guard
        self._inner = httpcore2.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 - the interface
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        try:
            async with asyncio.timeout(timeout):
                addresses = await self._guard.addresses(host, port)
        except TimeoutError as exc:
            raise httpcore2.ConnectTimeout("The name could not be looked up in time.") from exc
        except (UnsafeUrl, OSError) as exc:
            raise httpcore2.ConnectError(str(exc)) from exc
        for address in addresses[:-1]:
            try:
                return await self._inner.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout):
                continue
        return await self._inner.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


@contextmanager
def _as_httpx() -> Iterator[None]:
    """Re-raise httpcore2's errors as the httpx2 errors with the same names."""
    try:
        yield
    except (httpcore2.TimeoutException, httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.ProxyError) as exc:
        raise getattr(httpx2, type(exc).__name__, httpx2.TransportError)(str(exc)) from exc
