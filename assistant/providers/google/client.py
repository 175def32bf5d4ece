"""Clients for Google Gemini; the only module that imports the google-genai package, on first use."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import httpx2
from google import genai
from google.genai import errors, types

from assistant.core.llm.protocol import ModelError
from assistant.providers.given_settings import split_query
from assistant.providers.google.errors import failure_of, retry_delay
from assistant.providers.http_clients import (
    CONNECT_SECONDS,
    MAX_RETRY_AFTER_SECONDS,
    ClientCache,
    new_http_client,
    ssl_context,
)
from assistant.providers.openai_wire.error_sentences import NOT_FOUND, request_id_in
from assistant.providers.openai_wire.refusals import Refusal
from assistant.toolkit.guards.url_guard import UrlGuard

# The package refuses an empty key, and gateways on an internal network may need none.
_NO_KEY = "no-key"
_REPEATED = frozenset({408, 409, 429})
_FIRST_PAUSE, _MAX_PAUSE = 0.5, 8.0


@dataclass(slots=True)
class _Exchange:
    """One request: its body, how long each wait may take, and the response once it is there."""

    content: bytes | None
    seconds: float
    response: httpx2.Response | None = None


_exchange: ContextVar[_Exchange | None] = ContextVar("gemini_exchange", default=None)


class _Transport(httpx2.AsyncClient):
    """Sends what the package wants to send with the body of `_exchange`, and keeps the answer from it.

    The package does keys, addresses and errors. It gets an empty answer in place of a good one: its own reader keeps
    whole lines without a bound, refuses half characters and drops fields, and builds pydantic objects for each chunk.
    """

    def __init__(self, inner: httpx2.AsyncClient, query: Mapping[str, str]) -> None:
        super().__init__(transport=_Unused())
        self.inner = inner
        self._query = dict(query)

    async def send(self, request: httpx2.Request, **options: Any) -> httpx2.Response:
        exchange = _exchange.get()
        if exchange is None:
            raise RuntimeError("A request was sent outside of an exchange.")
        headers = {
            name: value
            for name, value in request.headers.items()
            # What names the Python version, and what belongs to the other body.
            if name.lower() not in ("x-goog-api-client", "user-agent", "content-length", "transfer-encoding", "host")
        }
        response = await self.inner.send(
            self.inner.build_request(
                request.method,
                request.url.copy_merge_params(self._query),
                headers=headers,
                content=exchange.content,
                timeout=httpx2.Timeout(exchange.seconds, connect=CONNECT_SECONDS),
            ),
            stream=True,
            follow_redirects=False,  # a redirect would send the prompt to a host that was not configured
        )
        if not response.is_success:
            return response
        exchange.response = response
        return httpx2.Response(200, content=b"", request=request)


class _Unused(httpx2.AsyncBaseTransport):
    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        raise RuntimeError("Requests are sent by the inner client.")


class Client:
    """The package's client for one address and key.

    Args:
        http_client: sends the requests.
    """

    def __init__(self, url: str, version: str, key: str, http_client: httpx2.AsyncClient) -> None:
        address = split_query(url)
        options = types.HttpOptions(
            base_url=address.base,
            api_version=version,
            httpx_async_client=_Transport(http_client, address.query),
            # For the package's clients of other kinds, which send nothing here: each would build a context of its own.
            client_args={"verify": ssl_context()},
            async_client_args={"ssl": ssl_context()},
        )
        self._models = genai.Client(vertexai=False, api_key=key or _NO_KEY, http_options=options).aio.models
        self._http_client = http_client
        self._config = types.GenerateContentConfig(
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            automatic_continuation=False,
        )

    async def close(self) -> None:
        """Close the connections."""
        await self._http_client.aclose()

    async def ask(self, model: str, content: bytes, *, seconds: float, max_retries: int) -> httpx2.Response:
        """Send the body of a request; returns the response, whose body has not been read.

        Raises:
            ModelError: the server answered with an error.
            Refusal: it did so with status 400 or 422.
        """

        async def send() -> None:
            async for _ in await self._models.generate_content_stream(model=model, contents="-", config=self._config):
                pass

        for attempt in range(max_retries + 1):
            try:
                return await _exchanged(content, seconds, send)
            except (errors.APIError, httpx2.TransportError) as exc:
                pause = _pause(exc, attempt)
                if attempt == max_retries or pause is None:
                    if isinstance(exc, errors.APIError):
                        raise _error_of(exc) from exc
                    raise
                await asyncio.sleep(pause)
            except ValueError as exc:  # of the package, for a name that cannot be one
                raise ModelError(NOT_FOUND) from exc
        raise AssertionError("the last attempt returns or raises")

    async def get_models(self, limit: int, *, seconds: float) -> httpx2.Response:
        """Request the list of models; returns the response, whose body has not been read. Raises `ModelError`."""

        async def send() -> None:
            await self._models.list(config={"page_size": limit})

        try:
            return await _exchanged(None, seconds, send)
        except errors.APIError as exc:
            raise _error_of(exc) from exc


async def _exchanged(content: bytes | None, seconds: float, send: Callable[[], Awaitable[None]]) -> httpx2.Response:
    exchange = _Exchange(content, seconds)
    token = _exchange.set(exchange)
    try:
        await send()
    except BaseException:
        if exchange.response is not None:
            await exchange.response.aclose()
        raise
    finally:
        _exchange.reset(token)
    if exchange.response is None:
        raise ModelError(NOT_FOUND)
    return exchange.response


def _pause(exc: Exception, attempt: int) -> float | None:
    """Return the seconds to wait before a failed request is sent again; None if that is not worth it."""
    if isinstance(exc, errors.APIError):
        code = exc.code if isinstance(exc.code, int) else 0
        if (code < 500 and code not in _REPEATED) or _error_of(exc).kind == "no_credit":
            return None
        wanted = _retry_after(exc)
        if wanted is not None:
            return wanted if wanted <= MAX_RETRY_AFTER_SECONDS else None
    grown: float = min(_FIRST_PAUSE * 2**attempt, _MAX_PAUSE)
    return grown * (1 - random.random() / 4)  # noqa: S311 - no secret  # nosec B311


def _retry_after(exc: errors.APIError) -> float | None:
    headers = getattr(exc.response, "headers", {})
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            return float(headers.get(name, "")) * unit
        except ValueError:
            continue
    return retry_delay(exc.details)


def _error_of(exc: errors.APIError) -> ModelError:
    headers = getattr(exc.response, "headers", {})
    status = getattr(exc.response, "status_code", None) or exc.code
    error = failure_of(status, exc.details, request_id=request_id_in(headers))
    return Refusal(error, str(exc.message or "")) if status in (400, 422) else error


async def client_of(
    url: str, version: str, key: str, guard: UrlGuard | None, http_client: httpx2.AsyncClient | None
) -> Client:
    """Return the client for this address and key in this event loop, cached.

    Args:
        version: of the API, such as v1beta.
        http_client: sends the requests; with it the client is not cached. By default the client gets one of its own.
    """
    if http_client is not None:
        return Client(url, version, key, http_client)
    return await _clients.get(url, version, key, guard)


async def _make_client(url: str, version: str, key: str, guard: UrlGuard | None) -> Client:
    # In a thread: on its first use the package builds hundreds of types, for a third of a second.
    return await asyncio.to_thread(Client, url, version, key, new_http_client(guard))


_clients = ClientCache(_make_client)
