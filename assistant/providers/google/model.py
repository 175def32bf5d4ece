"""Models of Google Gemini as a `Model`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Unpack

from assistant.core.llm.protocol import ModelError, ModelRequest
from assistant.core.llm.typed_output import OUTPUT_TOOL
from assistant.providers.given_settings import address_of, key_of, name_of, split_query
from assistant.providers.google.assembler import GoogleAssembler
from assistant.providers.google.errors import NO_KEY
from assistant.providers.google.events import Chunk
from assistant.providers.google.request_body import change_for, request_body
from assistant.providers.native.model import NativeModel, NativeOptions, check_options
from assistant.providers.native.request_parts import with_query
from assistant.providers.native.tool_rules import NativeToolRules
from assistant.providers.native.whole_body import read_json
from assistant.providers.openai_wire.sse import NOT_JSON, Decoder, StreamReader
from assistant.toolkit.lazy_module import LazyModule

if TYPE_CHECKING:
    import httpx2

URL = "https://generativelanguage.googleapis.com"
VERSION = "v1beta"
DEFAULT_MODEL = "gemini-3.8-flash"
_CHUNKS = Decoder(Chunk)
_ENDS_WITH_VERSION = re.compile(r"(.*)/(v\d+(?:(?:alpha|beta)\d*)?)")


class GoogleModel(NativeModel[Chunk]):
    """A Gemini model by Google's own wire format; needs the extra `tenant-assistant[google]`.

    Args:
        name: the model's name; default `GEMINI_MODEL`.
        base_url: the address, with or without the version of the API; default `GEMINI_BASE_URL`, and "" means
            Google's own. Without a version `v1beta` is used.
        api_key: default `GEMINI_API_KEY`, else `GOOGLE_API_KEY`; "" means none.
        options: as for `NativeModel`.
    """

    well_known_provider = "gcp.gemini"
    public_host = "generativelanguage.googleapis.com"
    no_key = NO_KEY
    rules = NativeToolRules("Google", tool_name=re.compile(r"[a-zA-Z_].*", re.DOTALL), tools=128, references=False)
    clients = LazyModule("assistant.providers.google.client")

    def __init__(
        self,
        name: str | None = None,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        provider: str = "google",
        **options: Unpack[NativeOptions],
    ) -> None:
        check_options(type(self).__name__, options)
        url = address_of(base_url, "base_url", "GEMINI_BASE_URL") or URL
        base = split_query(url).base.rstrip("/")
        found = _ENDS_WITH_VERSION.fullmatch(base)
        self._version = found[2] if found else VERSION
        super().__init__(
            name_of(name or None, "name", "GEMINI_MODEL") or DEFAULT_MODEL,
            base_url=with_query(found[1] if found else base, url),
            api_key=key_of(api_key, "api_key", "GEMINI_API_KEY", "GOOGLE_API_KEY"),
            provider=provider,
            **options,
        )

    def _reader(self) -> StreamReader[Chunk]:
        return StreamReader(_CHUNKS)

    def _assembler(self, request: ModelRequest) -> GoogleAssembler:
        taken = {call.id for one in request.messages for call in one.tool_calls}
        return GoogleAssembler(self.name, taken, origin=self._origin)

    def _body(self, request: ModelRequest, changes: frozenset[str]) -> bytes:
        return request_body(
            request,
            model=self.name,
            sees_images=self._sees_images and not request.without_files,
            extra=self._extra_body,
            changes=changes,
            origin=self._origin,
        )

    def _change_for(self, reason: str, request: ModelRequest) -> str:
        return change_for(reason, request, is_typed_by_tool=request.tool_choice == OUTPUT_TOOL)

    async def _ask(self, client: Any, content: bytes, max_retries: int) -> httpx2.Response:
        response: httpx2.Response = await client.ask(self.name, content, seconds=self._timeout, max_retries=max_retries)
        return response

    async def _list_models(self, client: Any, limit: int) -> list[str]:
        found = await read_json(await client.get_models(limit, seconds=self._timeout))
        try:
            return [one["name"].removeprefix("models/") for one in found["models"]]
        except (AttributeError, KeyError, TypeError):
            raise ModelError(NOT_JSON) from None

    async def _client(self) -> Any:
        clients = await self.clients.get()
        return await clients.client_of(self._url, self._version, self._key, self._guard, self._http_client)
