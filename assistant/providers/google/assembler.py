"""Assembles a reply from the chunks of a Gemini stream.

Source of the chunks: https://ai.google.dev/api/generate-content and the types of the package.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from assistant.core.llm.protocol import PASSING, Delta, ModelError
from assistant.core.values.citations import Citation, bounded
from assistant.core.values.messages import FinishReason, Reply, Usage
from assistant.providers.google.errors import failure_of
from assistant.providers.google.events import Candidate, Chunk, Part
from assistant.providers.google.grounding import grounds_of
from assistant.providers.native.reply_builder import ReplyBuilder, arguments_text
from assistant.providers.openai_wire.endings import CUT
from assistant.providers.openai_wire.error_sentences import BLOCKED, MAX_FAILED_CALL, REFUSED
from assistant.providers.openai_wire.provider_state import CallState, written_state
from assistant.providers.openai_wire.reply_assembler import MAX_MODEL_NAME
from assistant.providers.openai_wire.reply_parts import MAX_TOKEN_COUNT, id_in
from assistant.toolkit.text import clean_text

KIND = "google"
# The fields of the state.
CALL_SIGNATURE, TEXT_SIGNATURE = "thoughtSignature", "text_signature"
_FILTERS = (
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
    "ESCALATION",
    "MODEL_ARMOR",
)
_REASONS: dict[str, FinishReason] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    **dict.fromkeys(_FILTERS, "content_filter"),
}
# The model wrote a call that Google could not read, or of a tool that there is not.
_BAD_CALLS = frozenset({"MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL"})


class GoogleAssembler:
    """Assembles one reply: `feed` it chunks, `take` the deltas, and `finish` returns the reply.

    Args:
        model: the model's name, to which, at `origin`, the reply's state goes back.
        taken: ids of earlier tool calls of the conversation.
    """

    # The end of the stream is the end of its body.
    is_closed = False

    def __init__(self, model: str, taken: Collection[str] = (), *, origin: str = "") -> None:
        self._asked, self._origin = model, origin
        self._built = ReplyBuilder(taken)
        self._signatures: list[str] = []
        self._text_signature = ""
        self._finish = self._finish_message = ""
        self._goes_on = False
        self._blocked: ModelError | None = None
        self._usage: dict[str, Any] = {}
        self._grounds: list[Citation | None] = []
        self._model, self._id = "", None

    @property
    def is_ended(self) -> bool:
        """Whether the reason for the end has arrived: older models send one with every chunk."""
        return (bool(self._finish) and not self._goes_on) or self._blocked is not None

    @property
    def usage(self) -> Usage:
        """The tokens that the provider has counted so far. Its count of output leaves out the thoughts."""
        thoughts = self._count("thoughtsTokenCount")
        return Usage(
            input_tokens=self._count("promptTokenCount") + self._count("toolUsePromptTokenCount"),
            output_tokens=self._count("candidatesTokenCount") + thoughts,
            cached_input_tokens=self._count("cachedContentTokenCount"),
            reasoning_tokens=thoughts,
        )

    def feed(self, chunk: Chunk) -> None:
        """Add one chunk. Raises `ModelError` if it contains an error, or a call without a name."""
        if chunk.error is not None:
            error = failure_of(None, chunk.error)
            error.is_worth_repeating = error.kind in PASSING
            raise error
        if isinstance(chunk.usage_metadata, dict):
            self._usage |= chunk.usage_metadata
        if chunk.model_version:
            self._model, self._id = chunk.model_version, chunk.response_id
        if chunk.prompt_feedback is not None and (reason := chunk.prompt_feedback.block_reason):
            self._blocked = failure_of(200, {"status": reason, "message": chunk.prompt_feedback.block_reason_message})
        for candidate in chunk.candidates or ():
            if not candidate.index:
                self._add(candidate)

    def take(self) -> list[Delta]:
        """Return the deltas since `take` was last called."""
        return self._built.take()

    def finish(self) -> Reply:
        """Return the complete reply. Call `take` once more after it. Raises `ModelError` if there is none."""
        self._built.close()
        if self._blocked is not None and not self._finish:
            error = ModelError(BLOCKED)
            error.details = self._blocked.details
            raise error
        reason = self._reason()
        self._built.check(reason)
        return Reply(
            text=self._built.text,
            reasoning=self._built.reasoning,
            tool_calls=self._built.tool_calls(),
            usage=self.usage,
            finish_reason=reason,
            model=clean_text(self._model)[:MAX_MODEL_NAME],
            response_id=id_in(self._id),
            provider_state=self._state(),
            citations=bounded(self._grounds),
        )

    def _add(self, candidate: Candidate) -> None:
        parts = (candidate.content.parts if candidate.content is not None else None) or ()
        self._goes_on |= bool(self._finish and any(part.text or part.function_call for part in parts))
        for part in parts:
            self._add_part(part)
        if grounds := grounds_of(candidate.grounding_metadata):
            self._grounds = grounds  # later ones are of the whole answer
        if candidate.finish_reason and candidate.finish_reason != "FINISH_REASON_UNSPECIFIED":
            self._finish = candidate.finish_reason
            self._finish_message = candidate.finish_message or ""

    def _add_part(self, part: Part) -> None:
        signature = part.thought_signature or ""
        if part.function_call is not None:
            call = self._built.open_call(part.function_call.name or "", part.function_call.id or "")
            self._signatures.append(signature)
            if part.function_call.args:
                self._built.add_arguments(call, arguments_text(part.function_call.args))
        elif part.thought:
            self._built.add_reasoning(part.text or "")
        elif part.inline_data or part.file_data:
            self._built.has_media = True  # its signature belongs to no text
        else:
            self._built.add_text(part.text or "")
            # It can come alone, in a last part without text.
            self._text_signature = signature or self._text_signature

    def _reason(self) -> FinishReason:
        if not self._finish:
            raise ModelError(CUT, kind="down")
        if self._finish in _BAD_CALLS:
            error = ModelError(REFUSED, kind="bad_call")
            error.failed_call = self._finish_message[:MAX_FAILED_CALL]
            error.add_note(f"finishReason {self._finish}")
            raise error
        reason = _REASONS.get(self._finish)
        if reason is None:
            error = ModelError(CUT)
            error.add_note(f"finishReason {self._finish[:40]!r}")
            raise error
        return "tool_calls" if reason == "stop" and self._built.calls else reason

    def _count(self, name: str) -> int:
        value = self._usage.get(name)
        is_count = isinstance(value, int) and not isinstance(value, bool) and 0 < value <= MAX_TOKEN_COUNT
        return value if is_count and isinstance(value, int) else 0

    def _state(self) -> str:
        signed = zip(self._built.calls, self._signatures, strict=True)
        has_text = self._text_signature and self._built.text.strip()
        return written_state(
            KIND,
            self._asked,
            calls=[CallState(call.given_id, {CALL_SIGNATURE: one} if one else {}) for call, one in signed],
            fields={TEXT_SIGNATURE: self._text_signature} if has_text else {},
            reasoning=None,
            origin=self._origin,
        )
