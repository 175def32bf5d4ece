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
        sent: the body as JSON, without keys, or the request to a model that does not say what it sends.
    """

    number: int
    provider: str
    model: str
    sent: bytes | ModelRequest = field(repr=False)

    @property
    def content(self) -> bytes:
        """The body as JSON."""
        return self.sent if isinstance(self.sent, bytes) else content_of(self.sent)

    @property
    def body(self) -> dict[str, Any]:
        """The body as JSON values: messages, tools and options."""
        found: dict[str, Any] = load_json(self.content.decode("utf-8", "replace"))
        return found


class SentRequests:
    """The newest requests of one turn, within `MAX_REQUESTS` and `MAX_BYTES`; larger ones are not kept.

    Attributes:
        is_kept: whether the turn keeps them, and those of the assistants that it asks.
    """

    def __init__(self) -> None:
        self.is_kept = False
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

    def add(self, model: Model, sent: bytes | ModelRequest) -> None:
        """Keep a request; `sent` as in `SentRequest`."""
        self._count += 1
        self._keep(SentRequest(self._count, model.provider, model.name, sent))

    def extend(self, others: SentRequests) -> None:
        """Keep those of an assistant that this turn has asked."""
        for one in others:
            self._count += 1
            self._keep(SentRequest(self._count, one.provider, one.model, one.sent))

    def _keep(self, request: SentRequest) -> None:
        self._requests.append(request)
        self._bytes += _size(request)
        while len(self._requests) > MAX_REQUESTS or self._bytes > MAX_BYTES:
            self._bytes -= _size(self._requests.popleft())


def _size(request: SentRequest) -> int:
    # The messages of a request that is not JSON are the turn's own.
    return len(request.sent) if isinstance(request.sent, bytes) else 0


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
