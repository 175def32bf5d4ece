"""Keeps what models are sent in one turn: for `ChatReply.requests`, and for operators who have switched it on."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from assistant.core.extensions.extension import Extension, ExtensionRun, ShippedExtension
from assistant.core.llm.protocol import Model, ModelRequest
from assistant.core.values.messages import Message
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


class SentRequests(ShippedExtension[None]):
    """Keeps the newest requests of one turn and of the assistants that it asks, oldest first.

    They are within `MAX_REQUESTS` and `MAX_BYTES`; larger ones are not kept. An instance serves one turn.
    """

    name = "assistant.sent_requests"
    in_sub_agents = True

    def __init__(self) -> None:
        self._requests: deque[SentRequest] = deque()
        self._count = self._bytes = 0

    def __iter__(self) -> Iterator[SentRequest]:
        return iter(self._requests)

    def __len__(self) -> int:
        return len(self._requests)

    async def before_request(self, run: ExtensionRun[None], request: ModelRequest) -> ModelRequest:
        model = run.model
        # In place of the body, until the model says what it sends; it may send several, and need not say it.
        unsaid: SentRequest | None = self.add(model, request)

        def on_sent(body: bytes) -> None:
            nonlocal unsaid
            if unsaid is None:
                self.add(model, body)
            else:
                self._replace(unsaid, replace(unsaid, sent=body))
                unsaid = None

        return replace(request, on_sent=on_sent)

    def add(self, model: Model, sent: bytes | ModelRequest) -> SentRequest:
        """Keep a request; `sent` as in `SentRequest`."""
        self._count += 1
        kept = SentRequest(self._count, model.provider, model.name, sent)
        self._requests.append(kept)
        self._bytes += _size(kept)
        self._shorten()
        return kept

    def _replace(self, kept: SentRequest, said: SentRequest) -> None:
        place = next((place for place, request in enumerate(self._requests) if request is kept), None)
        if place is not None:
            self._requests[place] = said
            self._bytes += _size(said) - _size(kept)
            self._shorten()

    def _shorten(self) -> None:
        while len(self._requests) > MAX_REQUESTS or self._bytes > MAX_BYTES:
            self._bytes -= _size(self._requests.popleft())


def requests_of(extensions: Iterable[Extension[Any]]) -> tuple[SentRequest, ...]:
    """Return what models were sent in a turn, as far as one of its extensions has kept it."""
    return tuple(request for one in extensions if isinstance(one, SentRequests) for request in one)


def _size(request: SentRequest) -> int:
    # The messages of a request that is not JSON are the turn's own.
    return len(request.sent) if isinstance(request.sent, bytes) else 0


def content_of(request: ModelRequest) -> bytes:
    """Return a request as JSON, for models that do not say what they send."""
    body: Mapping[str, Any] = {
        **request.options,
        "messages": [_wire_message(message) for message in request.messages],
        "tools": [
            {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
            for tool in request.tools
        ],
        "tool_choice": request.tool_choice,
        "response_format": request.response_format,
    }
    found = {name: value for name, value in body.items() if value}
    return msgspec.json.encode(found, enc_hook=str)


def _wire_message(message: Message) -> dict[str, Any]:
    """Return a message as a chat-completions request carries it."""
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}
    if message.tool_calls:
        calls = [call.to_wire() for call in message.tool_calls]
        return {"role": message.role, "content": message.content or None, "tool_calls": calls}
    return {"role": message.role, "content": message.content}
