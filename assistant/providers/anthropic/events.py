"""The events of an Anthropic stream as typed values, and a whole message, which some gateways answer with instead."""

from __future__ import annotations

from typing import Any

import msgspec

from assistant.providers.openai_wire.error_sentences import with_status


class Block(msgspec.Struct, gc=False):
    """The beginning of a content block, or a whole one."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    data: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    citations: Any = None


class Change(msgspec.Struct, gc=False):
    """What an event adds to a block, or says about the end of the message."""

    type: str = ""
    text: str | None = None
    thinking: str | None = None
    signature: str | None = None
    partial_json: str | None = None
    citation: Any = None
    stop_reason: str | None = None


class Opening(msgspec.Struct, gc=False):
    """The beginning of a message: its model and what is counted already."""

    id: Any = None
    model: str | None = None
    usage: Any = None


class Event(msgspec.Struct, gc=False):
    """One event; `content` and `stop_reason` are of a whole message."""

    type: str = ""
    index: int = 0
    message: Opening | str | None = None
    content_block: Block | None = None
    delta: Change | None = None
    usage: Any = None
    error: Any = None
    status: Any = None
    content: list[Block] | None = None
    stop_reason: str | None = None
    id: Any = None
    model: str | None = None

    @property
    def failure(self) -> Any:
        """The error that the server reports, in its own form; None if there is none."""
        if self.error is not None:
            return with_status(self.error, self.status)
        return (self.message or "") if self.type == "error" else None
