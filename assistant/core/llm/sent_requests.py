"""Keeps what a model was sent in one turn: for `ChatReply.requests`, and for operators who have switched it on."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from assistant.core.llm.protocol import Model, ModelRequest
from assistant.toolkit.bounded_json import load_json

# Of one turn. The newest are kept.
MAX_REQUESTS = 50
MAX_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class SentRequest:
    """One request as it was sent to a model.

    Attributes:
        number: counts the requests of the turn from 1, those that were repeated too.
        content: the body as JSON; keys are not part of it.
    """

    number: int
    provider: str
    model: str
    content: bytes = field(repr=False)

    @property
    def body(self) -> dict[str, Any]:
        """The body as JSON values: messages, tools and options."""
        found: dict[str, Any] = load_json(self.content.decode("utf-8", "replace"))
        return found


class SentRequests:
    """The newest requests of one turn, within `MAX_REQUESTS` and `MAX_BYTES`; larger ones are not kept."""

    def __init__(self) -> None:
        self._requests: deque[SentRequest] = deque()
        self._count = self._bytes = 0

    def __iter__(self) -> Iterator[SentRequest]:
        return iter(self._requests)

    def __len__(self) -> int:
        return len(self._requests)

    @property
    def count(self) -> int:
        """How many requests there were, those that are not kept included."""
        return self._count

    def add(self, model: Model, content: bytes) -> None:
        """Keep the body of a request."""
        self._count += 1
        self._keep(SentRequest(self._count, model.provider, model.name, content))

    def extend(self, others: SentRequests) -> None:
        """Keep those of an assistant that this turn has asked."""
        for one in others:
            self._count += 1
            self._keep(SentRequest(self._count, one.provider, one.model, one.content))

    def _keep(self, request: SentRequest) -> None:
        self._requests.append(request)
        self._bytes += len(request.content)
        while len(self._requests) > MAX_REQUESTS or self._bytes > MAX_BYTES:
            self._bytes -= len(self._requests.popleft().content)


def content_of(request: ModelRequest) -> bytes:
    """Return a request as JSON, for models that do not say what they send."""
    body: Mapping[str, Any] = {
        **request.options,
        "messages": [message.to_wire() for message in request.messages],
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in request.tools
        ],
        "tool_choice": request.tool_choice,
        "response_format": request.response_format,
    }
    found = {name: value for name, value in body.items() if value}
    return msgspec.json.encode(found, enc_hook=str)
