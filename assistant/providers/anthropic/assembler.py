"""Assembles a reply from the events of an Anthropic stream.

Source of the events: https://platform.claude.com/docs/en/build-with-claude/streaming and the types of the package.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from assistant.core.llm.protocol import PASSING, Delta, ModelError
from assistant.core.values.citations import Citation, bounded
from assistant.core.values.messages import FinishReason, Reply, Usage
from assistant.providers.anthropic.citations import citation_of
from assistant.providers.anthropic.errors import failure_of
from assistant.providers.anthropic.events import Block, Change, Event, Opening
from assistant.providers.native.reply_builder import BuiltCall, ReplyBuilder, arguments_text
from assistant.providers.openai_wire.endings import CUT
from assistant.providers.openai_wire.provider_state import CallState, written_state
from assistant.providers.openai_wire.reply_assembler import MAX_MODEL_NAME
from assistant.providers.openai_wire.reply_parts import MAX_TOKEN_COUNT, id_in
from assistant.toolkit.text import clean_text
from assistant.toolkit.translation import gettext_noop

KIND = "anthropic"
PAUSED = gettext_noop("The provider paused the answer in the middle of a tool of its own, and has to be asked again.")
MIXED_UP = gettext_noop("The provider sent a piece of an answer that belongs to nothing.")
_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
# Of one answer; the same passage may be cited often.
MAX_CITED = 200
_COUNTS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


class AnthropicAssembler:
    """Assembles one reply: `feed` it events, `take` the deltas, and `finish` returns the reply.

    Args:
        model: the model's name, to which, at `origin`, the reply's state goes back.
        taken: ids of earlier tool calls of the conversation.
    """

    def __init__(self, model: str, taken: Collection[str] = (), *, origin: str = "") -> None:
        self._asked, self._origin = model, origin
        self._built = ReplyBuilder(taken)
        self._open: dict[int, Block] = {}
        self._calls: dict[int, BuiltCall] = {}
        # What goes back with the calls: blocks of thinking, characters of text and the calls, in their order.
        self._order: list[Any] = []
        self._text_end = 0
        self._stop = ""
        self._counts: dict[str, int] = {}
        self._citations: list[Citation | None] = []
        self._model, self._id = "", None
        self.is_closed = False

    @property
    def is_ended(self) -> bool:
        """Whether the reason for the end has arrived."""
        return bool(self._stop)

    @property
    def usage(self) -> Usage:
        """The tokens that the provider has counted so far. Its count of input leaves out those from and for caches."""
        found = self._counts
        return Usage(
            input_tokens=sum(found.get(name, 0) for name in _COUNTS[:3]),
            output_tokens=found.get("output_tokens", 0),
            cached_input_tokens=found.get("cache_read_input_tokens", 0),
            cache_write_tokens=found.get("cache_creation_input_tokens", 0),
            reasoning_tokens=found.get("thinking_tokens", 0),
        )

    def feed(self, event: Event) -> None:
        """Add one event. Raises `ModelError` if it is an error, or a piece of a call that was not begun."""
        match event.type:
            case "content_block_delta" if event.delta is not None:
                self._add(event.index, event.delta)
            case "content_block_start" if event.content_block is not None:
                self._begin(event.index, event.content_block)
            case "content_block_stop":
                self._end(event.index)
            case "message_start" if isinstance(event.message, Opening):
                self._model, self._id = event.message.model or "", event.message.id
                self._count(event.message.usage)
            case "message_delta":
                self._stop = (event.delta and event.delta.stop_reason) or self._stop
                self._count(event.usage)
            case "message_stop":
                self.is_closed = True
            case "message":
                self._add_whole(event)
            case _:
                self._check_failure(event)

    def take(self) -> list[Delta]:
        """Return the deltas since `take` was last called."""
        return self._built.take()

    def finish(self) -> Reply:
        """Return the complete reply. Call `take` once more after it. Raises `ModelError` if there is none."""
        for index in list(self._open):
            self._end(index)
        self._built.close()
        if not self._stop:
            raise ModelError(CUT, kind="down")
        if self._stop == "pause_turn":
            raise ModelError(PAUSED)
        reason = _REASONS.get(self._stop)
        if reason is None:
            error = ModelError(CUT)
            error.add_note(f"stop_reason {self._stop[:40]!r}")
            raise error
        if reason == "stop" and self._built.calls:
            reason = "tool_calls"
        self._built.check(reason)
        return Reply(
            text=self._built.text,
            reasoning=self._built.reasoning,
            tool_calls=self._built.tool_calls(),
            usage=self.usage,
            finish_reason=reason,
            model=clean_text(self._model)[:MAX_MODEL_NAME],
            response_id=id_in(self._id),
            provider_state=self._state() if self._built.calls else "",
            citations=bounded(self._citations),
        )

    def _begin(self, index: int, block: Block) -> None:
        self._open[index] = block
        match block.type:
            case "text":
                self._built.add_text(block.text or "")
                for one in block.citations if isinstance(block.citations, list) else ():
                    self._cite(one)
            case "thinking":
                self._built.add_reasoning(block.thinking or "")
            case "tool_use":
                self._calls[index] = self._built.open_call(block.name or "", block.id or "")

    def _add(self, index: int, delta: Change) -> None:
        block = self._open.get(index)
        match delta.type:
            case "text_delta":
                self._built.add_text(delta.text or "")
            case "input_json_delta":
                if block is None:
                    raise ModelError(MIXED_UP)
                if (call := self._calls.get(index)) is not None and delta.partial_json:
                    block.input = None  # the pieces replace what the block began with
                    self._built.add_arguments(call, delta.partial_json)
            case "thinking_delta":
                self._built.add_reasoning(delta.thinking or "")
                if block is not None:
                    block.thinking = (block.thinking or "") + (delta.thinking or "")
            case "citations_delta":
                self._cite(delta.citation)
            case "signature_delta":
                if block is not None:
                    block.signature = (block.signature or "") + (delta.signature or "")

    def _end(self, index: int) -> None:
        block = self._open.pop(index, None)
        if block is None:
            return
        if block.type == "tool_use":
            if block.input and index in self._calls:
                self._built.add_arguments(self._calls[index], arguments_text(block.input))
            self._note_text()
            self._order.append("call")
        elif block.type == "thinking" and (block.signature or block.thinking):
            self._note_text()
            # Servers of other models that speak this wire format sign nothing, but also want the thinking back.
            signature = block.signature or ""
            self._order.append({"type": "thinking", "thinking": block.thinking or "", "signature": signature})
        elif block.type == "redacted_thinking" and block.data:
            self._note_text()
            self._order.append({"type": "redacted_thinking", "data": block.data})

    def _cite(self, raw: Any) -> None:
        if len(self._citations) < MAX_CITED:
            self._citations.append(citation_of(raw))

    def _note_text(self) -> None:
        """Note the text since the last other block, by its length: the text itself is the message's."""
        length = self._built.length
        if length > self._text_end:
            self._order.append(length - self._text_end)
            self._text_end = length

    def _add_whole(self, event: Event) -> None:
        self._model, self._id = event.model or "", event.id
        self._count(event.usage)
        for index, block in enumerate(event.content or ()):
            self._begin(index, block)
            self._end(index)
        self._stop = event.stop_reason or ""
        self.is_closed = True

    def _count(self, usage: Any) -> None:
        """Keep the counts of an event; later ones are of the whole message, and leave out what has not changed."""
        if not isinstance(usage, dict):
            return
        details = usage.get("output_tokens_details")
        thinking = details.get("thinking_tokens") if isinstance(details, dict) else None
        for name, value in (*((name, usage.get(name)) for name in _COUNTS), ("thinking_tokens", thinking)):
            if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_TOKEN_COUNT:
                self._counts[name] = value

    def _check_failure(self, event: Event) -> None:
        """Raise the `ModelError` that an event reports, if it does; events of unknown types are left out."""
        if (failure := event.failure) is not None and self._stop not in _REASONS:  # else the answer is complete
            error = failure_of(None, failure)
            error.is_worth_repeating = error.kind in PASSING
            raise error

    def _state(self) -> str:
        return written_state(
            KIND,
            self._asked,
            calls=[CallState(call.given_id) for call in self._built.calls],
            fields={"order": self._order} if any(isinstance(one, dict) for one in self._order) else {},
            reasoning=None,
            origin=self._origin,
        )
