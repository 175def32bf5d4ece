"""Any OpenAI-compatible server as a `Model`; the only file that knows the openai package.

The openai client does keys, connections and retries; the stream is read by our own reader (`sse`, `core.assembling`),
for building the package's chunk objects costs more than ten times as much.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import ssl
import traceback
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from functools import cache
from pathlib import Path
from typing import Literal, cast
from weakref import WeakKeyDictionary, WeakSet

import httpx2
import openai

from assistant.core.assembling import Assembler
from assistant.core.failures import BROKEN, TOO_SLOW, failure
from assistant.core.messages import Reply
from assistant.core.model import Delta, ModelError, ModelRequest, NoTypedAnswers
from assistant.core.output import OUTPUT_TOOL
from assistant.providers.bodies import read_body
from assistant.providers.requests import request_body
from assistant.providers.sse import EventReader
from tools.guardedhttp import guarded_client
from tools.logs import request_id
from tools.urlguard import UrlGuard

log = logging.getLogger(__name__)

OPENAI_URL = "https://api.openai.com/v1"
CONNECT_SECONDS = 5.0
LONGEST_RETRY_AFTER = 20.0

_Clients = dict[tuple[str, str, UrlGuard | None], tuple[openai.AsyncOpenAI, AsyncGenerator[openai.AsyncOpenAI]]]
_clients: WeakKeyDictionary[asyncio.AbstractEventLoop, _Clients] = WeakKeyDictionary()
_without_usage: WeakSet[openai.AsyncOpenAI] = WeakSet()
# Servers (by address and model) that have refused to be asked for structured output.
_without_format: set[tuple[str, str]] = set()
_NAMES_TOOLS = re.compile(r"\btools?\b|tool_choice|function", re.IGNORECASE)
_NAMES_FORMAT = re.compile(r"response_format|json_schema|structured output", re.IGNORECASE)


class OpenAIModel:
    """A model on a server that speaks the chat-completions wire format.

    Args:
        name: the model's name there; default `OPENAI_MODEL`.
        base_url: the address up to `/v1`; default `OPENAI_BASE_URL`, and "" means OpenAI's own.
        api_key: default `OPENAI_API_KEY`; "" means none, for servers that ask for none.
        provider: who answers, for usage figures and for people.
        timeout: seconds to wait for the first byte, and then for each next one.
        max_retries: further attempts before the first byte, after connection errors, 408, 409, 429 and 5xx.
        small: a small model, which needs worked examples of its tools.
        strict: ask for arguments that follow the schema to the letter; default for OpenAI's own address only.
        guard: judges the address and where it leads to, for addresses that others have set.
        sees_images: show the model images that tools return; else it reads only their names and descriptions.
        http_client: use this client and leave it open; default one for each address and key, in each event loop.
    """

    def __init__(
        self,
        name: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        provider: str = "openai",
        timeout: float = 60.0,
        max_retries: int = 2,
        small: bool = False,
        strict: bool | None = None,
        guard: UrlGuard | None = None,
        sees_images: bool = False,
        http_client: httpx2.AsyncClient | None = None,
    ) -> None:
        self.name = name or os.environ.get("OPENAI_MODEL") or "gpt-4.1-mini"
        self.provider = provider
        self.is_small = small
        self._url = (os.environ.get("OPENAI_BASE_URL") if base_url is None else base_url) or OPENAI_URL
        self._key = (os.environ.get("OPENAI_API_KEY", "") if api_key is None else api_key) or "no-key"
        self._strict = self._url.startswith(OPENAI_URL) if strict is None else strict
        self._sees_images = sees_images
        self._timeout = timeout
        self._max_retries = max_retries
        self._guard = guard
        self._http_client = http_client

    @property
    def output_mode(self) -> Literal["native", "tool"]:
        """How to ask for typed answers: as structured output, until this server has refused that for this model."""
        return "tool" if (self._url, self.name) in _without_format else "native"

    def __repr__(self) -> str:
        return f"OpenAIModel({self.name!r}, provider={self.provider!r})"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply]:
        """See `Model.stream`. Raises `ModelError`; closing the iterator closes the connection."""
        assembler = Assembler(
            names={tool.name for tool in request.tools},
            taken={call.id for message in request.messages for call in message.tool_calls},
        )
        reader = EventReader()
        try:
            async with aclosing(await self._open(request)) as response:
                kind = response.headers.get("content-type", "")
                async with aclosing(read_body(response.aiter_bytes(), kind, reader, assembler)) as reads:
                    async for chunks in reads:
                        for chunk in chunks:
                            assembler.feed(chunk)
                        for delta in assembler.take():
                            yield delta
        except Exception as exc:
            error = _as_model_error(exc)
            error.usage = assembler.usage
            self._warn(error)
            for delta in assembler.take():
                yield delta
            if isinstance(exc, ModelError) or not assembler.is_ended:  # a reply that had ended is whole all the same
                raise error from None
        try:
            reply = assembler.finish(is_closed=reader.is_done)
        except ModelError as error:
            error.usage = assembler.usage
            self._warn(error)
            raise
        for delta in assembler.take():
            yield delta
        yield reply

    def _warn(self, error: ModelError) -> None:
        notes = "; ".join(getattr(error, "__notes__", ()))
        log.warning("%s, model %s: %s (%s)", self.provider, self.name, error, notes)

    async def _open(self, request: ModelRequest) -> httpx2.Response:
        """Send the request; the answer's head is there when this returns, the body is not."""
        client = await self._client()
        async with asyncio.timeout(self._timeout):
            try:
                response = await self._post(client, request)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as exc:
                if request.response_format and _NAMES_FORMAT.search(str(exc)):
                    _without_format.add((self._url, self.name))
                    raise NoTypedAnswers("The provider does not know structured output.") from exc
                if request.tool_choice == OUTPUT_TOOL and _NAMES_TOOLS.search(str(exc)):
                    raise NoTypedAnswers("The provider does not know tools.") from exc
                if "stream_options" not in str(exc) or client in _without_usage:
                    raise
                _without_usage.add(client)
                response = await self._post(client, request)
        return response

    async def _post(self, client: openai.AsyncOpenAI, request: ModelRequest) -> httpx2.Response:
        with_usage = client not in _without_usage
        # With this `cast_to` the openai client hands out the bare response and makes no stream object.
        response = await client.post(
            "/chat/completions",
            content=request_body(
                request,
                model=self.name,
                strict=self._strict,
                small=self.is_small,
                with_usage=with_usage,
                sees_images=self._sees_images,
            ),
            cast_to=httpx2.Response,
            stream=True,
            stream_cls=openai.AsyncStream[object],
            options={
                "max_retries": self._max_retries,
                "timeout": httpx2.Timeout(self._timeout, connect=CONNECT_SECONDS),
                "headers": _our_id(),
                "follow_redirects": False,  # a redirect would carry the prompt to a host that nobody chose
            },
        )
        return cast(httpx2.Response, response)

    async def _client(self) -> openai.AsyncOpenAI:
        """The client of this address and key in this event loop; building one takes 30 ms."""
        if self._http_client is not None:
            return _new_client(self._url, self._key, self._http_client)
        clients = _clients.setdefault(asyncio.get_running_loop(), {})
        which = (self._url, self._key, self._guard)
        if which not in clients:
            keeper = _kept_open(*which)
            clients[which] = (await anext(keeper), keeper)
        return clients[which][0]


async def _kept_open(url: str, key: str, guard: UrlGuard | None) -> AsyncGenerator[openai.AsyncOpenAI]:
    """A client that is closed when the event loop shuts its asynchronous generators down, as `asyncio.run` does."""
    client = _new_client(url, key, _new_http_client(guard))
    try:
        yield client
    finally:
        _clients.pop(asyncio.get_running_loop(), None)
        await client.close()


def _our_id() -> dict[str, str]:
    """The request's id, so that a provider's log and ours can be read side by side.

    Source: https://platform.openai.com/docs/api-reference/debugging-requests
    """
    known = request_id()
    return {"X-Client-Request-Id": known} if known else {}


def _new_client(url: str, key: str, http_client: httpx2.AsyncClient) -> openai.AsyncOpenAI:
    client = openai.AsyncOpenAI(base_url=url, api_key=key, http_client=http_client)
    client.admin_api_key = None
    if not url.startswith(OPENAI_URL):  # what the environment says of OpenAI is not for others
        client.organization = client.project = None
    return client


def _new_http_client(guard: UrlGuard | None) -> httpx2.AsyncClient:
    hooks = {"response": [_forbid_long_waits]}
    if guard is not None:
        return guarded_client(guard, event_hooks=hooks)
    limits = httpx2.Limits(max_connections=1000, max_keepalive_connections=100, keepalive_expiry=30)
    try:
        client = openai.DefaultAioHttpClient(verify=_ssl_context(), limits=limits)
    except RuntimeError:  # without aiohttp
        client = openai.DefaultAsyncHttpxClient(verify=_ssl_context(), limits=limits)
    client.event_hooks = hooks
    return client


@cache
def _ssl_context() -> ssl.SSLContext:
    return httpx2.create_ssl_context()


async def _forbid_long_waits(response: httpx2.Response) -> None:
    """The openai client waits as long as Retry-After says, up to two minutes; somebody is sitting there waiting."""
    wait = response.headers.get("retry-after", "")
    if wait.isdecimal() and int(wait) > LONGEST_RETRY_AFTER:
        response.headers["x-should-retry"] = "false"


def _as_model_error(exc: Exception) -> ModelError:
    """What went wrong, without what was said: messages of exceptions can hold addresses, prompts and keys."""
    if isinstance(exc, ModelError):
        return exc
    if isinstance(exc, openai.APIStatusError):
        return failure(exc.status_code, exc.code, exc.type, exc.param)
    causes = list(_causes(exc))
    timed_out = any(isinstance(cause, TimeoutError) for cause in causes)
    error = ModelError(TOO_SLOW, "provider_timeout") if timed_out else ModelError(BROKEN)
    place = traceback.extract_tb(exc.__traceback__)[-1]
    names = " from ".join(type(cause).__name__ for cause in causes)
    error.add_note(f"{names}, {Path(place.filename).name} line {place.lineno}")
    return error


def _causes(exc: BaseException | None) -> Iterator[BaseException]:
    while exc is not None:
        yield exc
        exc = exc.__cause__
