"""The chunks of a chat-completions stream as typed values.

Fields that providers fill with more than one type are `Any`; `reply_assembler` and `call_assembler` interpret them.
"""

from __future__ import annotations

from typing import Any

import msgspec

from assistant.providers.openai_wire.error_sentences import with_status


class FunctionPiece(msgspec.Struct, gc=False):
    """More of a function's name and arguments; `arguments` is text, but some providers send an object."""

    name: str | None = None
    arguments: Any = None


class CallPiece(msgspec.Struct, gc=False):
    """More of one tool call; `extra_content` is what Gemini wants back with it, and `provider_specific_fields` LiteLLM.

    Some servers have `name` and `arguments` in place of `function`.
    """

    index: int | None = None
    id: str | int | None = None
    function: FunctionPiece | None = None
    extra_content: Any = None
    provider_specific_fields: Any = None
    name: str | None = None
    arguments: Any = None


class Piece(msgspec.Struct, gc=False):
    """What one chunk adds to the message; `content` is text or a list of parts, `images` and sound are not shown.

    `annotations` say what the text was taken from, as Azure's `context` does.
    """

    content: str | list[Any] | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: str | None = None
    tool_calls: list[CallPiece | None] | CallPiece | None = None
    function_call: FunctionPiece | None = None
    extra_content: Any = None
    reasoning_details: Any = None
    thinking_blocks: Any = None
    images: Any = None
    audio: Any = None
    annotations: Any = None
    context: Any = None


class Choice(msgspec.Struct, gc=False):
    """One alternative answer.

    Replies that are not streamed, and a few streams, have `message` instead of `delta`. After deltas a `message`
    repeats the whole answer.
    """

    index: int | None = 0
    delta: Piece | None = None
    message: Piece | None = None
    finish_reason: str | None = None
    usage: Any = None


class Chunk(msgspec.Struct, gc=False):
    """One event of the stream, or a whole reply; servers report failures in the fields from `error` on.

    `citations` and `search_results` are Perplexity's and xAI's.
    """

    choices: list[Choice | None] | None = None
    usage: Any = None
    id: Any = None
    model: str | None = None
    citations: Any = None
    search_results: Any = None
    error: Any = None
    message: Any = None
    detail: Any = None
    msg: Any = None
    error_msg: Any = None
    code: Any = None
    error_code: Any = None
    type: Any = None
    base_resp: Any = None
    status: Any = None

    @property
    def failure(self) -> Any:
        """The error that the provider reports, in its own form; None if there is none."""
        if self.error:
            return with_status(self.error, self.status)
        if self.choices is not None or self.usage is not None:
            return None
        if said := self.message or self.detail or self.msg or self.error_msg:
            return {"message": said, "code": self.code or self.error_code, "type": self.type}
        status = self.base_resp if isinstance(self.base_resp, dict) else {}  # MiniMax's
        return (
            {"message": status.get("status_msg"), "code": status["status_code"]} if status.get("status_code") else None
        )
