"""Any OpenAI-compatible server as a `Model`.

The openai package (in `http_clients`) handles keys, connections and retries. The stream is parsed here (`sse`,
`reply_assembler`), since building the package's chunk objects costs more than ten times as much.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

from cachetools import TTLCache

from assistant.core.llm.protocol import UNREAD, Delta, ModelError, ModelRequest, NoTypedAnswers
from assistant.core.llm.typed_output import OUTPUT_TOOL
from assistant.core.values.messages import Reply
from assistant.providers.answers import AnswerAssembler, complete_error, first_failure, read_answer, request_id_header
from assistant.providers.calling import CallsTools
from assistant.providers.given_settings import address_of, key_of, name_of
from assistant.providers.openai_wire.error_sentences import NO_KEY
from assistant.providers.openai_wire.provider_state import origin_of
from assistant.providers.openai_wire.refusals import OPENAI_URL, Refusal, is_about_schema
from assistant.providers.openai_wire.reply_assembler import Assembler
from assistant.providers.openai_wire.request_body import RESERVED, checked_extra_body, request_body
from assistant.providers.openai_wire.sse import CHUNKS, StreamReader
from assistant.providers.profiles.choice import profile_of
from assistant.providers.sent_media import with_sent_pdfs
from assistant.providers.tool_adaptation.adapted_tool import OPENAI_RULES, adapted_tools
from assistant.providers.tool_adaptation.refused_tools import OnRefused, RefusedTools
from assistant.toolkit.guards.url_guard import UrlGuard
from assistant.toolkit.lazy_module import LazyModule
from assistant.toolkit.unknown_options import lists_options

if TYPE_CHECKING:
    import httpx2

    from assistant.providers.openai_wire.http_clients import Client


# The openai package refuses an empty key, and many servers need none.
_NO_KEY = "no-key"

# The module that imports the openai package, which takes a large part of a second.
http_clients = LazyModule("assistant.providers.openai_wire.http_clients")
# What adapts requests to small models.
small_models = LazyModule("assistant.providers.embedded.small_models")
# Servers that refused `stream_options`, for an hour: by address and key, as a gateway may route each key elsewhere.
_without_usage: TTLCache[tuple[str, str], bool] = TTLCache(1_000, ttl=3_600)
# Servers that refused structured output, for an hour: by address, key, path and model.
_without_format: TTLCache[tuple[str, ...], bool] = TTLCache(1_000, ttl=3_600)
_NAMES_TOOLS = re.compile(r"\btools?\b|tool_choice|function", re.IGNORECASE)
_NAMES_FORMAT = re.compile(r"response_format|text\.format|json_schema|structured output", re.IGNORECASE)


class WholeAssembler(AnswerAssembler[Any], Protocol):
    """Puts one reply together."""

    def finish(self, *, is_closed: bool) -> Reply:
        """Return the complete reply; `is_closed` if the stream was ended. Raises `ModelError` if it is incomplete."""


@lists_options
class OpenAIModel(CallsTools):
    """A model on a server that speaks the chat-completions wire format.

    Args:
        name: the model's name there; default `OPENAI_MODEL`.
        base_url: the address up to `/v1`; default `OPENAI_BASE_URL`, and "" means OpenAI's own. Each request has its
            query, such as Azure's `?api-version=`.
        api_key: default `OPENAI_API_KEY`; "" means none, for servers that need none.
        provider: the provider's name, for usage figures and for people.
        timeout: seconds to wait for the first byte, and for each further one.
        max_retries: further attempts before the first byte, after connection errors, 408, 409, 429 and 5xx.
        small: a small model, which needs worked examples of its tools.
        strict: request strict schemas for arguments; default for OpenAI's own address only.
        guard: checks the address and what it resolves to, for addresses that tenants have set.
        sees_images: send the model images that tools return; else it reads only their names and descriptions.
        reads_pdfs: send PDFs that users attach as files; else the model reads their text.
        kind: what kind of provider it is, as docs/provider-quirks.md lists them; default by its address and the model.
        extra_body: further options of each request, as the provider names them.
        refused_tools: digests of tools that the provider has refused, which are not offered to it.
        on_refused_tool: called with a tool that it refuses, and without which the request was repeated. May be async;
            else it runs in a thread.
        http_client: a client to use; it is not closed. Default: one for each address and key, in each event loop.

    Raises:
        InvalidSetting: the name, the address or the key cannot be used; white space and quotes around them are removed.
    """

    # What providers take of tools, the address below `base_url`, and options that `extra_body` cannot set.
    rules = OPENAI_RULES
    _path = "/chat/completions"
    well_known_provider = "openai"
    _reserved = RESERVED

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
        reads_pdfs: bool = False,
        kind: str = "",
        extra_body: Mapping[str, Any] | None = None,
        refused_tools: Collection[str] = (),
        on_refused_tool: OnRefused | None = None,
        http_client: httpx2.AsyncClient | None = None,
    ) -> None:
        self.name = name_of(name or None, "name", "OPENAI_MODEL") or "gpt-4.1-mini"
        self.provider = provider
        self.is_small = small
        self._url = address_of(base_url, "base_url", "OPENAI_BASE_URL") or OPENAI_URL
        self._key = key_of(api_key, "api_key", "OPENAI_API_KEY") or _NO_KEY
        self._server_key = (self._url, self._key)
        self._strict = self._url.startswith(OPENAI_URL) if strict is None else strict
        self._sees_images = sees_images
        self._profile = profile_of(kind, self._url, self.name)
        self._reads_pdfs = reads_pdfs and self._profile.content != "text"
        self._extra_body = checked_extra_body(extra_body, reserved=self._reserved)
        self._timeout = timeout
        self._max_retries = max_retries
        self._guard = guard
        self._http_client = http_client
        self._refused = RefusedTools(
            (type(self).__name__, self._url),
            model=self.name,
            label=f"{provider}, model {self.name}",
            key=self._key,
            known=refused_tools,
            on_refused=on_refused_tool,
        )

    @property
    def output_mode(self) -> Literal["native", "tool"]:
        """How to request typed answers: as structured output, if this server does not refuse that."""
        return "tool" if (*self._server_key, self._path, self.name) in _without_format else "native"

    @property
    def circuit_key(self) -> tuple[str, str, str]:
        """What distinguishes the model from others whose limits and failures are not its own."""
        return (*self._server_key, self.name)

    @property
    def server_url(self) -> str:
        """The address of the server."""
        return self._url

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, provider={self.provider!r})"

    def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply]:
        """See `Model.stream`. Raises `ModelError`; closing the iterator closes the connection."""
        return self._stream(request, None)

    def stream_to(self, on_text: Callable[[str], bool], request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """See `DirectModel.stream_to`. If `stream` was overridden, uses that, since it may change the deltas."""
        is_ours = getattr(self.stream, "__func__", None) is _STREAM
        return self._stream(request, on_text) if is_ours else self.stream(request)

    def _stream(self, request: ModelRequest, on_text: Callable[[str], bool] | None) -> AsyncGenerator[Delta | Reply]:
        if any(message.media for message in request.messages):
            request = with_sent_pdfs(request, reads_pdfs=self._reads_pdfs)
        if request.tools:
            request = replace(request, tools=adapted_tools(tuple(request.tools), self.rules))
        reader, assembler = self._reading(request)
        complete = partial(
            complete_error,
            request=request,
            provider=self.provider,
            model=self.name,
            key="" if self._key == _NO_KEY else self._key,
        )
        return read_answer(
            self._open,
            request,
            reader,
            assembler,
            finish=lambda: assembler.finish(is_closed=reader.is_done),
            complete=complete,
            refused=self._refused,
            first_failure=partial(self._first_failure, request),
            seconds=self._timeout,
            on_text=on_text,
        )

    async def _first_failure(self, request: ModelRequest, response: httpx2.Response) -> ModelError | None:
        return await first_failure(response, *self._reading(request), seconds=self._timeout)

    def _reading(self, request: ModelRequest) -> tuple[StreamReader[Any], WholeAssembler]:
        """Return what parses the answer to a request, and what puts the reply together."""
        assembler = Assembler(
            names={tool.name for tool in request.tools},
            taken=call_ids_of(request),
            kind=self._profile.kind,
            model=self.name,
            origin=origin_of(self._url),
            begins_thinking=self._profile.begins_thinking,
        )
        return StreamReader(CHUNKS), assembler

    async def _open(self, request: ModelRequest) -> httpx2.Response:
        """Send the request and return the response, whose body has not been read."""
        if self._key == _NO_KEY and self._url.startswith(OPENAI_URL):
            raise ModelError(NO_KEY)
        if self.is_small:
            request = (await small_models.get()).brief(request)
        clients = http_clients.module or await http_clients.get()
        client: Client = await clients.client_of(self._url, self._key, self._guard, self._http_client)
        async with asyncio.timeout(self._timeout):
            is_changed = False
            while True:
                content = self._body(request)
                if request.on_sent is not None:
                    key = self._key.encode()
                    request.on_sent(content if self._key == _NO_KEY else content.replace(key, b"[key]"))
                try:
                    return await client.ask(
                        content,
                        path=self._path,
                        seconds=self._timeout,
                        max_retries=self._max_retries if request.has_retries else 0,
                        headers=request_id_header(),
                    )
                except Refusal as refusal:
                    if is_changed:
                        raise
                    request = self._changed(request, refusal)
                    is_changed = True

    def _changed(self, request: ModelRequest, refusal: Refusal) -> ModelRequest:
        """Return the request to send after it was refused. Raises `ModelError` if none would help."""
        if refusal.kind in UNREAD:
            raise refusal
        if request.response_format and _NAMES_FORMAT.search(refusal.reason):
            if not is_about_schema(refusal.reason):
                _without_format[(*self._server_key, self._path, self.name)] = True
            raise NoTypedAnswers("The provider does not support structured output.") from refusal
        if request.tool_choice == OUTPUT_TOOL and _NAMES_TOOLS.search(refusal.reason):
            raise NoTypedAnswers("The provider does not support tools.") from refusal
        if (changed := self._without_refused(request, refusal)) is None:
            raise refusal
        return changed

    def _without_refused(self, request: ModelRequest, refusal: Refusal) -> ModelRequest | None:
        """Note what the server refused, and return the request to send without it; None if that would not help."""
        if "stream_options" not in refusal.reason or self._server_key in _without_usage:
            return None
        _without_usage[self._server_key] = True
        return request

    def _body(self, request: ModelRequest) -> bytes:
        """Return the JSON body of a request."""
        return request_body(
            request,
            model=self.name,
            strict=self._strict,
            with_usage=self._server_key not in _without_usage,
            sees_images=self._sees_images and not request.without_files,
            profile=self._profile,
            extra=self._extra_body,
            origin=origin_of(self._url),
        )


_STREAM = OpenAIModel.stream


def call_ids_of(request: ModelRequest) -> set[str]:
    """Return the ids of the calls in the conversation that a request sends."""
    return {call.id for message in request.messages for call in message.tool_calls}
