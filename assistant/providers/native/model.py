"""What models of Anthropic's and Google's wire formats have in common: their options, and reading an answer."""

from __future__ import annotations

import asyncio
import hashlib
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypedDict, TypeVar

from cachetools import TTLCache

from assistant.core.llm.protocol import Delta, ModelError, ModelRequest, NoTypedAnswers
from assistant.core.values.messages import Reply
from assistant.providers.answers import AnswerAssembler, as_model_error, complete_error, first_failure, read_answer
from assistant.providers.calling import CallsTools
from assistant.providers.native.tool_rules import NativeToolRules, translated_request
from assistant.providers.openai_wire.provider_state import origin_of
from assistant.providers.openai_wire.refusals import Refusal, is_about_schema
from assistant.providers.openai_wire.request_body import checked_extra_body
from assistant.providers.openai_wire.sse import StreamReader
from assistant.providers.sent_media import with_sent_pdfs
from assistant.providers.tool_adaptation.refused_tools import OnRefused, RefusedTools
from assistant.toolkit.guards.url_guard import UrlGuard
from assistant.toolkit.lazy_module import LazyModule
from assistant.toolkit.unknown_options import unknown_options

if TYPE_CHECKING:
    import httpx2

T = TypeVar("T")
# What adapts requests to small models.
small_models = LazyModule("assistant.providers.embedded.small_models")
# A request is changed so many times at most to what the server demands.
MAX_CHANGES = 4
# Changes that are not remembered, because they depend on what the conversation contains or how a typed answer is
# requested.
OF_ONE_REQUEST = frozenset({"state", "tools"})
# Those that are not remembered if one particular schema was refused, not schemas as such.
OF_SCHEMAS = frozenset({"format", "strict"})
# The other changes, for an hour: by the kind of the model, its address and name, and a hash of the key, since what one
# tenant is refused says nothing about another's requests.
_learned: TTLCache[tuple[str, ...], frozenset[str]] = TTLCache(1_000, ttl=3_600)


class Assembler(AnswerAssembler[T], Protocol[T]):  # type: ignore[misc]  # the base is contravariant
    """Puts one reply together."""

    def finish(self) -> Reply:
        """Return the complete reply. Raises `ModelError` if it is incomplete."""


class NativeOptions(TypedDict, total=False):
    """What models of all native wire formats take besides name, address, key and provider; see `NativeModel`."""

    timeout: float
    max_retries: int
    small: bool
    strict: bool | None
    guard: UrlGuard | None
    sees_images: bool
    reads_pdfs: bool
    extra_body: Mapping[str, Any] | None
    refused_tools: Collection[str]
    on_refused_tool: OnRefused | None
    http_client: httpx2.AsyncClient | None


def check_options(called: str, options: Iterable[str]) -> None:
    """Raise `TypeError` for options that the models do not have; `called` is the name of the class."""
    known = ("name", "base_url", "api_key", "provider", *NativeOptions.__annotations__)
    if mistake := unknown_options(f"{called}() has no options", options, known):
        raise TypeError(mistake)


class NativeModel(CallsTools, ABC, Generic[T]):
    """A model of a provider with a wire format of its own; the subclasses say what is sent and read.

    Args:
        name: the model's name there.
        base_url: the provider's address.
        api_key: "" for servers that need none.
        provider: the provider's name, for usage figures and for people.
        timeout: seconds to wait for the first byte, and for each further one.
        max_retries: further attempts before the first byte, after connection errors, 408, 409, 429 and 5xx.
        small: a small model, which needs worked examples of its tools.
        strict: request strict schemas for arguments.
        guard: checks the address and what it resolves to, for addresses that tenants have set.
        sees_images: send the model images of users and tools; else it reads only their names and descriptions.
        reads_pdfs: send PDFs that users attach as files; else the model reads their text.
        extra_body: further options of each request, as the provider names them.
        refused_tools, on_refused_tool: as for `OpenAIModel`.
        http_client: a client to use; it is not closed. Default: one for each address and key, in each event loop.
    """

    well_known_provider: str
    # The public address of the provider, which needs a key.
    public_host: str
    # What is said if the key is missing.
    no_key: str
    # The module that imports the provider's package and makes clients of it.
    clients: LazyModule
    # What the provider takes of tools.
    rules: NativeToolRules

    def __init__(
        self,
        name: str,
        *,
        base_url: str,
        api_key: str,
        provider: str,
        timeout: float = 60.0,
        max_retries: int = 2,
        small: bool = False,
        strict: bool | None = None,
        guard: UrlGuard | None = None,
        sees_images: bool = False,
        reads_pdfs: bool = False,
        extra_body: Mapping[str, Any] | None = None,
        refused_tools: Collection[str] = (),
        on_refused_tool: OnRefused | None = None,
        http_client: httpx2.AsyncClient | None = None,
    ) -> None:
        self.name = name
        self.provider = provider
        self.is_small = small
        self._url, self._key = base_url, api_key
        self._origin = origin_of(base_url)
        self._is_strict = bool(strict)
        self._sees_images = sees_images
        self._reads_pdfs = reads_pdfs
        self._extra_body = checked_extra_body(extra_body)
        self._timeout = timeout
        self._max_retries = max_retries
        self._guard = guard
        self._http_client = http_client
        self._refused = RefusedTools(
            (type(self).__name__, self._url),
            model=name,
            label=f"{provider}, model {name}",
            key=api_key,
            known=refused_tools,
            on_refused=on_refused_tool,
        )

    @property
    def output_mode(self) -> Literal["native", "tool"]:
        """How to request typed answers: as structured output, if this server does not refuse that."""
        return "tool" if "format" in self._changes else "native"

    @property
    def circuit_key(self) -> tuple[str, str, str]:
        """What distinguishes the model from others whose limits and failures are not its own."""
        return self._url, self._key, self.name

    @property
    def server_url(self) -> str:
        """The address of the server."""
        return self._url

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, provider={self.provider!r})"

    def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | Reply]:
        """See `Model.stream`. Raises `ModelError`; closing the iterator closes the connection."""
        translated = translated_request(with_sent_pdfs(request, reads_pdfs=self._reads_pdfs), self.rules)
        request = translated.request
        assembler = self._assembler(request)
        complete = partial(complete_error, request=request, provider=self.provider, model=self.name, key=self._key)
        answer = read_answer(
            self._open,
            request,
            self._reader(),
            assembler,
            finish=assembler.finish,
            complete=complete,
            refused=self._refused,
            first_failure=partial(self._first_failure, request),
            seconds=self._timeout,
        )
        return translated.restored(answer)

    async def _first_failure(self, request: ModelRequest, response: httpx2.Response) -> ModelError | None:
        return await first_failure(response, self._reader(), self._assembler(request), seconds=self._timeout)

    async def list_models(self, limit: int) -> list[str]:
        """Return the names of the provider's models, of which it is asked for `limit`. Raises `ModelError`."""
        try:
            if not self._key and self._is_public:
                raise ModelError(self.no_key)
            return await self._list_models(await self._client(), limit)
        except ModelError:
            raise
        except Exception as exc:
            raise as_model_error(exc) from exc

    async def _open(self, request: ModelRequest) -> httpx2.Response:
        """Send the request and return the response, whose body has not been read.

        What a server of this model refuses is left out of this request and the following ones.
        """
        if not self._key and self._is_public:
            raise ModelError(self.no_key)
        if self.is_small:
            request = (await small_models.get()).brief(request)
        client = await self._client()  # importing its package can take longer than an answer may
        retries = self._max_retries if request.has_retries else 0
        async with asyncio.timeout(self._timeout):
            tried = self._changes
            for _ in range(MAX_CHANGES):
                content = self._body(request, tried)
                if request.on_sent is not None:
                    request.on_sent(content.replace(self._key.encode(), b"[key]") if self._key else content)
                try:
                    return await self._ask(client, content, retries)
                except Refusal as refusal:
                    # The turn itself handles errors with a kind, such as a conversation that is too long.
                    change = "" if refusal.kind else self._change_for(refusal.reason, request)
                    if not change or change in tried:
                        raise
                    tried = tried | {change}
                    is_odd_schema = change in OF_SCHEMAS and is_about_schema(refusal.reason)
                    if change not in OF_ONE_REQUEST and not is_odd_schema:
                        _learned[self._place] = self._changes | {change}
                    if change == "format":
                        raise NoTypedAnswers("The provider does not support structured output.") from refusal
                    if change == "tools":
                        raise NoTypedAnswers("The provider does not support tools.") from refusal
            return await self._ask(client, self._body(request, tried), retries)

    @property
    def _is_public(self) -> bool:
        return self.public_host in self._url

    @property
    def _changes(self) -> frozenset[str]:
        return _learned.get(self._place, frozenset())

    @property
    def _place(self) -> tuple[str, ...]:
        key = hashlib.sha256(self._key.encode(errors="surrogatepass")).hexdigest()
        return type(self).__name__, self._url, self.name, key

    @abstractmethod
    def _reader(self) -> StreamReader[T]:
        """Return what parses the response."""

    @abstractmethod
    def _assembler(self, request: ModelRequest) -> Assembler[T]:
        """Return what puts the reply to a request together."""

    @abstractmethod
    def _body(self, request: ModelRequest, changes: frozenset[str]) -> bytes:
        """Return the body of a request, changed to what the server has demanded before."""

    @abstractmethod
    def _change_for(self, reason: str, request: ModelRequest) -> str:
        """Return what to change after a refusal; "" if that cannot help."""

    @abstractmethod
    async def _client(self) -> Any:
        """Return the client of the provider's package."""

    @abstractmethod
    async def _ask(self, client: Any, content: bytes, max_retries: int) -> httpx2.Response:
        """Send a body. Raises `ModelError`, and `Refusal` with status 400."""

    @abstractmethod
    async def _list_models(self, client: Any, limit: int) -> list[str]:
        """Return the names of the provider's models, of which it is asked for `limit`."""
