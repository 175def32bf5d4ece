"""Connections to OpenAI-compatible servers; the only file that knows the openai package, and imported late.

Importing that package takes as long as most of the rest, so a process does it beside its work once it serves.
"""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Mapping
from functools import cache
from typing import Any, cast

import httpx2
import openai
from openai._models import FinalRequestOptions

from assistant.providers.openai_wire.error_sentences import failure
from assistant.providers.openai_wire.refusals import OPENAI_URL, Refusal
from assistant.toolkit.guards.guarded_http import guarded_client
from assistant.toolkit.guards.url_guard import UrlGuard
from assistant.toolkit.per_loop import PerLoop

CONNECT_SECONDS = 5.0
_STREAM = openai.AsyncStream[object]
MAX_RETRY_AFTER_SECONDS = 20.0


class Client(openai.AsyncOpenAI):
    """The openai client, which makes the options and the head of its requests once for each timeout.

    Of two questions to one server only the body differs; to write the rest anew takes the package longer than it
    takes us to read a short answer.
    """

    _heads: dict[float | None, httpx2.Request]
    _options: dict[tuple[float, int], FinalRequestOptions]

    async def ask(
        self, content: bytes, *, seconds: float, max_retries: int, headers: Mapping[str, str]
    ) -> httpx2.Response:
        """Send the body of a chat-completions request; the answer's body is not read.

        Args:
            seconds: how long to wait for the first byte, and then for each next one.
            headers: that only this request has.

        Raises:
            ModelError: the server answered with an error, and with `Refusal` where it could not read the request.
        """
        try:
            # With this `cast_to` the openai client hands out the bare response and makes no stream object.
            response = await self.request(
                httpx2.Response,
                self._options_of(seconds, max_retries).model_copy(update={"content": content, "headers": headers}),
                stream=True,
                stream_cls=_STREAM,
            )
        except openai.APIStatusError as exc:
            error = failure(exc.status_code, exc.code, exc.type, exc.param)
            if isinstance(exc, openai.BadRequestError | openai.UnprocessableEntityError):
                raise Refusal(error, str(exc)) from exc
            raise error from exc
        return cast(httpx2.Response, response)

    def _options_of(self, seconds: float, max_retries: int) -> FinalRequestOptions:
        kept = vars(self).setdefault("_options", {})
        options = kept.get((seconds, max_retries))
        if options is None:
            options = kept[seconds, max_retries] = FinalRequestOptions.construct(
                method="post",
                url="/chat/completions",
                max_retries=max_retries,
                timeout=httpx2.Timeout(seconds, connect=CONNECT_SECONDS),
                follow_redirects=False,  # a redirect would carry the prompt to a host that nobody chose
                idempotency_key="",  # makes none up, which no provider would be sent
            )
        return cast(FinalRequestOptions, options)

    def _build_request(self, options: Any, *, retries_taken: int = 0) -> httpx2.Request:
        if retries_taken:
            return _reserved(super()._build_request(options, retries_taken=retries_taken))
        heads = vars(self).setdefault("_heads", {})
        head = heads.get(options.timeout.read)
        if head is None:
            head = heads[options.timeout.read] = _reserved(super()._build_request(options))
            for name in options.headers or ():
                del head.headers[name]
        headers = httpx2.Headers(head.headers, encoding=head.headers.encoding)
        headers["content-length"] = str(len(options.content))
        for name, value in (options.headers or {}).items():
            headers[name] = value
        stream = httpx2.ByteStream(options.content)
        request = httpx2.Request(head.method, head.url, headers=headers, stream=stream, extensions=head.extensions)
        request.read()
        return request


def _reserved(request: httpx2.Request) -> httpx2.Request:
    """The request without what the package tells every server of this machine: system, processor, Python's version.

    It is half of the head, which is written, sent and read with each question.
    """
    for name in [name for name in request.headers if name.startswith("x-stainless-")]:
        del request.headers[name]
    return request


_Clients = dict[tuple[str, str, UrlGuard | None], tuple[Client, AsyncGenerator[Client]]]
_clients: PerLoop[_Clients] = PerLoop(dict)


async def client_of(url: str, key: str, guard: UrlGuard | None, http_client: httpx2.AsyncClient | None) -> Client:
    """The client of this address and key in this event loop; building one takes 30 ms.

    Args:
        http_client: what it is to send with; default one of its own.
    """
    if http_client is not None:
        return _new_client(url, key, http_client)
    clients = _clients.get()
    which = (url, key, guard)
    if which not in clients:
        keeper = _kept_open(*which)
        clients[which] = (await anext(keeper), keeper)
    return clients[which][0]


async def _kept_open(url: str, key: str, guard: UrlGuard | None) -> AsyncGenerator[Client]:
    """A client that is closed when the event loop shuts its asynchronous generators down, as `asyncio.run` does."""
    client = _new_client(url, key, _new_http_client(guard))
    try:
        yield client
    finally:
        _clients.reset()
        await client.close()


def _new_client(url: str, key: str, http_client: httpx2.AsyncClient) -> Client:
    client = Client(base_url=url, api_key=key, http_client=http_client)
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
    if wait.isdecimal() and int(wait) > MAX_RETRY_AFTER_SECONDS:
        response.headers["x-should-retry"] = "false"
