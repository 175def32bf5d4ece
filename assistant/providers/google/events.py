"""The chunks of a Gemini stream as typed values."""

from __future__ import annotations

from typing import Any

import msgspec


class FunctionCall(msgspec.Struct, gc=False):
    """A call; `args` is an object."""

    name: str | None = None
    id: str | None = None
    args: Any = None


class Part(msgspec.Struct, gc=False, rename="camel"):
    """One part of an answer: text, thought, a call, or an image or sound."""

    text: str | None = None
    thought: bool | None = None
    thought_signature: str | None = None
    function_call: FunctionCall | None = None
    inline_data: Any = None
    file_data: Any = None


class Content(msgspec.Struct, gc=False):
    """The parts of an answer."""

    parts: list[Part] | None = None


class Candidate(msgspec.Struct, gc=False, rename="camel"):
    """One alternative answer."""

    index: int | None = None
    content: Content | None = None
    finish_reason: str | None = None
    finish_message: str | None = None
    grounding_metadata: Any = None


class Feedback(msgspec.Struct, gc=False, rename="camel"):
    """Why a question was blocked."""

    block_reason: str | None = None
    block_reason_message: str | None = None


class Chunk(msgspec.Struct, gc=False, rename="camel"):
    """One event of the stream, or a whole answer."""

    candidates: list[Candidate] | None = None
    prompt_feedback: Feedback | None = None
    usage_metadata: Any = None
    model_version: str | None = None
    response_id: Any = None
    error: Any = None
