"""Models of Anthropic, and of servers that speak its wire format, as a `Model`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Unpack

from assistant.core.llm.protocol import ModelError, ModelRequest
from assistant.core.llm.typed_output import OUTPUT_TOOL
from assistant.providers.anthropic.assembler import AnthropicAssembler
from assistant.providers.anthropic.errors import NO_KEY
from assistant.providers.anthropic.events import Event
from assistant.providers.anthropic.request_body import change_for, request_body
from assistant.providers.given_settings import address_of, key_of, name_of, split_query
from assistant.providers.native.model import NativeModel, NativeOptions, check_options
from assistant.providers.native.request_parts import with_query
from assistant.providers.native.tool_rules import NativeToolRules
from assistant.providers.native.whole_body import read_json
from assistant.providers.openai_wire.sse import NOT_JSON, Decoder, StreamReader
from assistant.toolkit.lazy_module import LazyModule

if TYPE_CHECKING:
    import httpx2

URL = "https://api.anthropic.com"
DEFAULT_MODEL = "claude-sonnet-5-5"
_EVENTS = Decoder(Event)


class AnthropicModel(NativeModel[Event]):
    """A model on a server that speaks Anthropic's wire format; needs the extra `tenant-assistant[anthropic]`.

    Args:
        name: the model's name; default `ANTHROPIC_MODEL`.
        base_url: the address, with or without `/v1`; default `ANTHROPIC_BASE_URL`, and "" means Anthropic's own.
        api_key: default `ANTHROPIC_API_KEY`; "" means none.
        options: as for `NativeModel`.
    """

    well_known_provider = "anthropic"
    public_host = "api.anthropic.com"
    no_key = NO_KEY
    rules = NativeToolRules("Anthropic", property_name=re.compile(r"[a-zA-Z0-9_.-]{1,64}", re.ASCII))
    clients = LazyModule("assistant.providers.anthropic.client")

    def __init__(
        self,
        name: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        provider: str = "anthropic",
        **options: Unpack[NativeOptions],
    ) -> None:
        check_options(type(self).__name__, options)
        url = address_of(base_url, "base_url", "ANTHROPIC_BASE_URL") or URL
        base = split_query(url).base.rstrip("/").removesuffix("/v1")
        super().__init__(
            name_of(name or None, "name", "ANTHROPIC_MODEL") or DEFAULT_MODEL,
            base_url=with_query(base, url),
            api_key=key_of(api_key, "api_key", "ANTHROPIC_API_KEY"),
            provider=provider,
            **options,
        )

    def _reader(self) -> StreamReader[Event]:
        return StreamReader(_EVENTS)

    def _assembler(self, request: ModelRequest) -> AnthropicAssembler:
        taken = {call.id for one in request.messages for call in one.tool_calls}
        return AnthropicAssembler(self.name, taken, origin=self._origin)

    def _body(self, request: ModelRequest, changes: frozenset[str]) -> bytes:
        return request_body(
            request,
            model=self.name,
            strict=self._is_strict,
            sees_images=self._sees_images and not request.without_files,
            extra=self._extra_body,
            changes=changes,
            origin=self._origin,
        )

    def _change_for(self, reason: str, request: ModelRequest) -> str:
        return change_for(reason, request, is_typed_by_tool=request.tool_choice == OUTPUT_TOOL)

    async def _ask(self, client: Any, content: bytes, max_retries: int) -> httpx2.Response:
        response: httpx2.Response = await client.ask(content, seconds=self._timeout, max_retries=max_retries)
        return response

    async def _list_models(self, client: Any, limit: int) -> list[str]:
        found = await read_json(await client.get_models(limit, seconds=self._timeout))
        try:
            return [one["id"] for one in found["data"]]
        except (KeyError, TypeError):
            raise ModelError(NOT_JSON) from None

    async def _client(self) -> Any:
        clients = await self.clients.get()
        return await clients.client_of(self._url, self._key, self._guard, self._http_client)
