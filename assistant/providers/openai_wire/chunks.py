"""The chunks of a chat-completions stream as typed values.

Fields that providers fill with more than one type are `Any`; `reply_assembler` and `call_assembler` interpret them.
"""

from __future__ import annotations

from typing import Any

import msgspec


class FunctionPiece(msgspec.Struct, gc=False):
    """More of a function's name and arguments; `arguments` is text, but some providers send an object."""

    name: str | None = None
    arguments: Any = None


class CallPiece(msgspec.Struct, gc=False):
    """More of one tool call; `extra_content` is what Gemini wants back with it."""

    index: int | None = None
    id: str | None = None
    function: FunctionPiece | None = None
    extra_content: Any = None


class Piece(msgspec.Struct, gc=False):
    """What one chunk adds to the message; `content` is text or a list of parts."""

    content: str | list[Any] | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: str | None = None
    tool_calls: list[CallPiece | None] | None = None
    function_call: FunctionPiece | None = None
    extra_content: Any = None


class Choice(msgspec.Struct, gc=False):
    """One alternative answer.

    Replies that are not streamed, and a few streams, have `message` instead of `delta`. After deltas a `message`
    repeats the whole answer.
    """

    index: int | None = 0
    delta: Piece | None = None
    message: Piece | None = None
    finish_reason: str | None = None


class Chunk(msgspec.Struct, gc=False):
    """One event of the stream, or a whole reply; servers report failures in `error`, `message` or `detail`."""

    choices: list[Choice | None] | None = None
    usage: Any = None
    id: Any = None
    model: str | None = None
    error: Any = None
    message: Any = None
    detail: Any = None

    @property
    def failure(self) -> Any:
        """The error that the provider reports, in its own form; None if there is none."""
        if self.error:
            return self.error
        return (self.message or self.detail) if self.choices is None and self.usage is None else None
