"""A server with OpenAI's Responses wire format as a `Model`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

from cachetools import TTLCache

from assistant.core.llm.protocol import ModelRequest
from assistant.providers.openai import OpenAIModel, WholeAssembler, call_ids_of
from assistant.providers.openai_wire.provider_state import origin_of
from assistant.providers.openai_wire.refusals import Refusal
from assistant.providers.openai_wire.request_body import RESERVED_BY_RESPONSES
from assistant.providers.openai_wire.sse import StreamReader
from assistant.providers.profiles.profile import family
from assistant.providers.responses.events import EVENTS
from assistant.providers.responses.reply_assembler import ResponseAssembler
from assistant.providers.responses.request_body import response_request
from assistant.providers.responses.web_search import WEB_SEARCH
from assistant.toolkit.unknown_options import lists_options

# Models of OpenAI's that do not reason, and refuse to encrypt reasoning.
_DOES_NOT_REASON = re.compile(r"gpt-[34]|chatgpt")
# Refusals of what the provider gave itself: it cannot read it any more, or misses what belongs to it.
_NAMES_STATE = re.compile(
    r"invalid_encrypted_content|encrypted content .{0,80}(?:verif|decrypt)|without its required|item .{0,80} not found"
    r"|items? (?:are|is) not persisted|duplicate item",
    re.IGNORECASE,
)
_NAMES_ENCRYPTION = re.compile(r"encrypted|\binclude\b", re.IGNORECASE)
# Servers and models that refused to encrypt reasoning, for an hour: by address, key and model.
_without_encryption: TTLCache[tuple[str, str, str], bool] = TTLCache(1_000, ttl=3_600)


@lists_options
class ResponsesModel(OpenAIModel):
    """A model on a server that speaks the Responses wire format; its arguments are those of `OpenAIModel`.

    Nothing is stored at the provider. What the model gives for itself (encrypted reasoning, ids, searches) is kept with
    the messages and sent back to the same model at the same address.

    `provider_tools` are names of tools that the provider runs itself if they are offered.
    """

    provider_tools = frozenset({WEB_SEARCH})
    _path = "/responses"
    _reserved = RESERVED_BY_RESPONSES

    def _reading(self, request: ModelRequest) -> tuple[StreamReader[Any], WholeAssembler]:
        reader = StreamReader(EVENTS)
        assembler = ResponseAssembler(
            reader=reader,
            taken=call_ids_of(request),
            model=self.name,
            origin=origin_of(self._url),
            begins_thinking=self._profile.begins_thinking,
        )
        return reader, assembler

    def _body(self, request: ModelRequest) -> bytes:
        return response_request(
            request,
            model=self.name,
            strict=self._strict,
            sees_images=self._sees_images and not request.without_files,
            encrypts=self._encrypts,
            profile=self._profile,
            extra=self._extra_body,
            origin=origin_of(self._url),
        )

    @property
    def _encrypts(self) -> bool:
        """Whether to request encrypted reasoning."""
        return self.circuit_key not in _without_encryption and not _DOES_NOT_REASON.match(family(self.name))

    def _without_refused(self, request: ModelRequest, refusal: Refusal) -> ModelRequest | None:
        if _NAMES_STATE.search(refusal.reason):
            # Such as reasoning that was encrypted for another organisation, before the key was changed.
            messages = [replace(one, provider_state="") if one.provider_state else one for one in request.messages]
            return replace(request, messages=messages) if any(one.provider_state for one in request.messages) else None
        if not self._encrypts or not _NAMES_ENCRYPTION.search(refusal.reason):
            return None
        _without_encryption[self.circuit_key] = True
        return request
