"""HTTP clients for OpenAI-compatible servers; the only module that imports the openai package.

It is imported on first use, or in the background once a process serves: importing the package takes long.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import httpx2
import openai

from assistant.providers.given_settings import key_of, split_query
from assistant.providers.http_clients import CONNECT_SECONDS, HOOKS, LIMITS, ClientCache, new_http_client, ssl_context
from assistant.providers.openai_wire.error_sentences import failure_of_response
from assistant.providers.openai_wire.refusals import OPENAI_URL, Refusal
from assistant.providers.profiles.choice import is_azure
from assistant.toolkit.guards.url_guard import UrlGuard

# Headers of the openai package that name the operating system, the processor and the Python version.
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
)
_WITHOUT_TELEMETRY = {f"X-Stainless-{name}": openai.Omit() for name in _TELEMETRY}


class Client(openai.AsyncOpenAI):
    """The openai client, for requests whose bodies are built by `request_body`."""

    async def ask(
        self,
        content: bytes,
        *,
        seconds: float,
        max_retries: int,
        headers: Mapping[str, str],
        path: str = "/chat/completions",
    ) -> httpx2.Response:
        """Send the body of a request; returns the response, whose body has not been read.

        Args:
            seconds: how long to wait for the first byte, and for each further one.
            headers: of this request only.
            path: where it is sent, below the base URL.

        Raises:
            ModelError: the server answered with an error.
            Refusal: it did so with status 400 or 422.
        """
        try:
            # With this `cast_to` the package returns the plain response without a stream object.
            response: Any = await self.post(
                path,
                cast_to=httpx2.Response,
                content=content,
                options={
                    "headers": {**_WITHOUT_TELEMETRY, **headers},
                    "max_retries": max_retries,
                    "timeout": httpx2.Timeout(seconds, connect=CONNECT_SECONDS),
                    "follow_redirects": False,  # a redirect would send the prompt to a host that was not configured
                    "idempotency_key": "",  # keeps the package from generating one
                },
                stream=True,
                stream_cls=openai.AsyncStream[object],
            )
        except openai.APIStatusError as exc:
            error = failure_of_response(exc.status_code, exc.body, exc.response.headers, exc.code, exc.type, exc.param)
            if isinstance(exc, openai.BadRequestError | openai.UnprocessableEntityError):
                raise Refusal(error, str(exc)) from exc
            raise error from exc
        return cast(httpx2.Response, response)

    async def get_models(self, *, seconds: float) -> httpx2.Response:
        """Request the list of models; returns the response, whose body has not been read.

        Raises:
            openai.APIError: the server answered with an error, or could not be asked.
        """
        response: Any = await self.get(
            "/models",
            cast_to=httpx2.Response,
            options={
                "headers": _WITHOUT_TELEMETRY,
                "max_retries": 0,
                "timeout": httpx2.Timeout(seconds, connect=CONNECT_SECONDS),
                "follow_redirects": False,
            },
            stream=True,
            stream_cls=openai.AsyncStream[object],
        )
        return cast(httpx2.Response, response)


async def client_of(url: str, key: str, guard: UrlGuard | None, http_client: httpx2.AsyncClient | None) -> Client:
    """Return the client for this address and key in this event loop, cached.

    Args:
        http_client: sends the requests; with it the client is not cached. By default the client gets one of its own.
    """
    return await _clients.get(url, key, guard) if http_client is None else _new_client(url, key, http_client)


async def _make_client(url: str, key: str, guard: UrlGuard | None) -> Client:
    return _new_client(url, key, _new_http_client(guard))


_clients = ClientCache(_make_client)


def _new_client(url: str, key: str, http_client: httpx2.AsyncClient) -> Client:
    address = split_query(url)
    client = Client(
        base_url=address.base,
        api_key=key,
        http_client=http_client,
        default_query=address.query,
        default_headers={"api-key": key} if is_azure(url) else None,
    )
    client.admin_api_key = None
    if not url.startswith(OPENAI_URL):  # the environment variables for these are meant for OpenAI only
        client.organization = client.project = None
    else:
        client.organization = key_of(client.organization or "", "OPENAI_ORG_ID") or None
        client.project = key_of(client.project or "", "OPENAI_PROJECT_ID") or None
    return client


def _new_http_client(guard: UrlGuard | None) -> httpx2.AsyncClient:
    if guard is not None:
        return new_http_client(guard)
    try:
        client = openai.DefaultAioHttpClient(verify=ssl_context(), limits=LIMITS)
    except RuntimeError:  # without aiohttp
        return new_http_client(None)
    client.event_hooks = HOOKS
    return client
