"""Clients for Anthropic; the only module that imports the anthropic package, on first use."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, cast

import anthropic
import httpx2

from assistant.providers.anthropic.errors import failure_of
from assistant.providers.given_settings import split_query
from assistant.providers.http_clients import CONNECT_SECONDS, ClientCache, new_http_client
from assistant.providers.openai_wire.error_sentences import request_id_in
from assistant.providers.openai_wire.refusals import Refusal
from assistant.toolkit.guards.url_guard import UrlGuard

# Headers of the package that name the operating system, the processor and the Python version.
_TELEMETRY = (
    "Lang",
    "Package-Version",
    "OS",
    "Arch",
    "Runtime",
    "Runtime-Version",
    "Async",
    "Retry-Count",
    "Read-Timeout",
    "Timeout",
)
# The package refuses an empty key, and gateways on an internal network may need none.
_NO_KEY = "no-key"


class Client(anthropic.AsyncAnthropic):
    """The package's client, for requests whose bodies are built by `request_body` and whose answers are read here.

    It does keys, versions, retries and errors. Its own stream builds pydantic objects for each event.
    """

    def left_out(self) -> dict[str, Any]:
        """Return the headers that requests do not get."""
        return {f"X-Stainless-{name}": anthropic.Omit() for name in _TELEMETRY}

    async def ask(self, content: bytes, *, seconds: float, max_retries: int) -> httpx2.Response:
        """Send the body of a request; returns the response, whose body has not been read.

        Args:
            seconds: how long to wait for the first byte, and for each further one.

        Raises:
            ModelError: the server answered with an error.
            Refusal: it did so with status 400 or 422.
        """
        try:
            response: Any = await self.post(
                "/v1/messages",
                cast_to=httpx2.Response,
                content=content,
                options=self._options(seconds, max_retries),
                stream=True,
                stream_cls=anthropic.AsyncStream[object],
            )
        except anthropic.APIStatusError as exc:
            reported = exc.body.get("error", exc.body) if isinstance(exc.body, dict) else exc.body
            error = failure_of(exc.status_code, reported, request_id=request_id_in(exc.response.headers))
            if exc.status_code in (400, 422):
                raise Refusal(error, str(exc)) from exc
            raise error from exc
        return cast(httpx2.Response, response)

    async def get_models(self, limit: int, *, seconds: float) -> httpx2.Response:
        """Request the list of models; returns the response, whose body has not been read. Raises `ModelError`."""
        try:
            response: Any = await self.get(
                "/v1/models",
                cast_to=httpx2.Response,
                options=self._options(seconds, 0, params={"limit": limit}),
                stream=True,
                stream_cls=anthropic.AsyncStream[object],
            )
        except anthropic.APIStatusError as exc:
            reported = exc.body.get("error", exc.body) if isinstance(exc.body, dict) else exc.body
            raise failure_of(exc.status_code, reported, request_id=request_id_in(exc.response.headers)) from exc
        return cast(httpx2.Response, response)

    def _options(self, seconds: float, max_retries: int, **more: Any) -> Any:
        return {
            "headers": self.left_out(),
            "max_retries": max_retries,
            "timeout": httpx2.Timeout(seconds, connect=CONNECT_SECONDS),
            "follow_redirects": False,  # a redirect would send the prompt to a host that was not configured
            "idempotency_key": "",  # keeps the package from generating one
            **more,
        }


class GuardedClient(Client):
    """A client for an address that a tenant has set, which gets no headers of the deployment's environment."""

    def left_out(self) -> dict[str, Any]:
        return {**super().left_out(), **{name: anthropic.Omit() for name in _environment_headers()}}


def _environment_headers() -> Iterator[str]:
    for line in os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").splitlines():
        name, colon, _ = line.partition(":")
        if colon:
            yield name.strip()


async def client_of(url: str, key: str, guard: UrlGuard | None, http_client: httpx2.AsyncClient | None) -> Client:
    """Return the client for this address and key in this event loop, cached.

    Args:
        http_client: sends the requests; with it the client is not cached. By default the client gets one of its own.
    """
    return await _clients.get(url, key, guard) if http_client is None else _new_client(url, key, guard, http_client)


async def _make_client(url: str, key: str, guard: UrlGuard | None) -> Client:
    return _new_client(url, key, guard, new_http_client(guard))


_clients = ClientCache(_make_client)


def _new_client(url: str, key: str, guard: UrlGuard | None, http_client: httpx2.AsyncClient) -> Client:
    kind = Client if guard is None else GuardedClient
    # The package's own spans would send trace headers to the provider, and duplicate the product's.
    address = split_query(url)
    return kind(
        base_url=address.base,
        default_query=address.query,
        api_key=key or _NO_KEY,
        http_client=http_client,
        open_telemetry=False,
    )
