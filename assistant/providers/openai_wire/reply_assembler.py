"""Assembles a reply from a provider's chunks, including those that deviate from the format.

What the model meant is reconstructed if it is unambiguous; anything else is a `ModelError`. Arguments are never
repaired or guessed, and an empty or cut answer is never a complete one. docs/provider-quirks.md lists the cases, each
with its test.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from assistant.core.llm.protocol import Delta, ModelError, ReasoningDelta, TextDelta, ToolCallDelta
from assistant.core.values.messages import Reply, Usage
from assistant.providers.call_notations import NO_SCHEMAS, Schemas
from assistant.providers.openai_wire.call_assembler import CallAssembler, OpenCall
from assistant.providers.openai_wire.chunks import CallPiece, Choice, Chunk, FunctionPiece, Piece
from assistant.providers.openai_wire.citations import Citations
from assistant.providers.openai_wire.endings import (
    CALL_CUT,
    CALL_REFUSED,
    CONTRADICTED,
    CUTS,
    REASONS,
    known_name,
    reason_of,
    without_text,
)
from assistant.providers.openai_wire.error_sentences import failure_in_stream
from assistant.providers.openai_wire.kept_fields import KeptFields
from assistant.providers.openai_wire.provider_state import written_state
from assistant.providers.openai_wire.reply_parts import Channel, content_parts, id_in, transcript_in
from assistant.providers.openai_wire.text_tags import Part, TextTags
from assistant.providers.openai_wire.token_counts import usage_of
from assistant.toolkit.text import clean_text

# What the database column of usage records can hold.
MAX_MODEL_NAME = 200


class Assembler:
    """Assembles one reply: `feed` it chunks, `take` the deltas, and `finish` returns the reply.

    Args:
        names: the offered tools.
        taken: ids of earlier tool calls of the conversation.
        kind: the kind of the provider, and `model` and `origin` its model and address: the reply's state is sent back
            only to these.
        written: the schemas of the tools whose calls are taken out of the text (`<tool_call>`).
        begins_thinking: the answer begins with reasoning, up to `</think>`, unless the server separates it.
    """

    is_closed = False  # the reader sees `[DONE]`

    def __init__(
        self,
        *,
        names: Collection[str] = (),
        taken: Collection[str] = (),
        kind: str = "openai",
        model: str = "",
        origin: str = "",
        written: Schemas = NO_SCHEMAS,
        begins_thinking: bool = False,
    ) -> None:
        self._origin = kind, model, origin
        self._reasoning_field = ""
        self._kept = KeptFields()
        self._tags = TextTags(self._text_so_far, written, begins_inside=begins_thinking)
        self._names, self._written, self._begins_thinking = names, written, begins_thinking
        self._in_text: list[CallPiece] = []
        self._text, self._reasoning = Channel(), Channel()
        self._calls = CallAssembler(names, taken)
        self._legacy: list[CallPiece] = []
        self._has_deltas = False
        self._whole: Piece | None = None
        self._runs: list[tuple[Channel | OpenCall, list[str]]] = []
        self._deltas: list[Delta] = []
        self._started_calls = 0
        self._finish = ""
        self._goes_on = False
        self._is_refused = self._has_media = False
        self._usage: Any = None
        self._model, self._id = "", None
        self._citations: Citations | None = None

    @property
    def is_ended(self) -> bool:
        """Whether the finish reason has arrived, after which only the usage follows; some servers send it too early."""
        return bool(self._finish) and not self._goes_on

    @property
    def usage(self) -> Usage:
        """The tokens that the provider has counted so far."""
        return usage_of(self._usage)

    def feed(self, chunk: Chunk) -> None:
        """Add one chunk. Raises `ModelError` if it contains an error, or pieces of a call that cannot be assigned."""
        if (chunk.error is not None or chunk.choices is None) and (failure := chunk.failure):
            if self.is_ended and self._finish in REASONS:  # the answer is complete: only token counts are lost
                return
            raise failure_in_stream(failure)
        if chunk.usage is not None:
            self._usage = chunk.usage
        if chunk.model:
            self._model, self._id = chunk.model, chunk.id
        if chunk.citations or chunk.search_results:
            self._cited().add_answer(chunk.search_results, chunk.citations)
        for choice in chunk.choices or ():
            if choice is None or choice.index:
                continue
            if choice.delta is not None:
                self._has_deltas = True
                if self._finish and (choice.delta.content or choice.delta.tool_calls):
                    self._goes_on = True
                self._add(choice.delta)
            elif choice.message is not None and self._has_deltas:
                self._whole = choice.message
            elif choice.message is not None:
                self._add(choice.message)
            if choice.finish_reason:
                self._end(choice, choice.finish_reason)

    def _end(self, choice: Choice, reason: str) -> None:
        if REASONS.get(self._finish) not in CUTS:  # some servers send a `stop` after the actual reason
            self._finish = known_name(reason) or self._finish
        if choice.usage is not None:  # Kimi
            self._usage = choice.usage

    def take(self) -> list[Delta]:
        """Return the deltas since `take` was last called; adjacent ones of the same kind are joined."""
        self._flush()
        deltas, self._deltas = self._deltas, []
        return deltas

    def finish(self, *, is_closed: bool) -> Reply:
        """Return the complete reply. Call `take` once more after it, for deltas that were held back.

        Args:
            is_closed: the provider has ended the stream (`[DONE]`), or the answer was not a stream.

        Raises:
            ModelError: the answer is cut off or empty, or its calls are incomplete.
        """
        self._close(is_cut=not (is_closed or self._finish))
        has_read_calls = bool(self._in_text) and not self._calls.calls
        if has_read_calls:  # a server that sends a call may leave it in the text too
            self._add_calls(self._in_text)
        repeats: list[Sequence[CallPiece | None]] = [self._legacy]
        if self._whole is not None:
            repeats += self._add_whole_message(self._whole)
        if not self._calls.calls:
            self._add_calls(next(filter(None, repeats), ()))
        reason = reason_of(
            self._finish, is_closed=is_closed, has_calls=bool(self._calls.calls), is_refused=self._is_refused
        )
        if self._calls.calls:
            if reason != "tool_calls":
                raise ModelError(CALL_CUT)
            if self._is_refused:
                raise ModelError(CALL_REFUSED)
            for call, text in self._calls.finish():
                self._emit(call, text, allow_empty=True)
            for pieces in repeats:
                self._calls.check_repeated(pieces)
        self._flush()
        text = "".join(self._text.parts)
        if reason == "stop" and not text.strip():
            raise without_text(has_media=self._has_media)
        return Reply(
            text=text,
            reasoning="".join(self._reasoning.parts),
            tool_calls=self._calls.result(),
            usage=usage_of(self._usage),
            finish_reason=reason,
            model=clean_text(self._model)[:MAX_MODEL_NAME],
            response_id=id_in(self._id),
            provider_state=self._state(),
            has_read_calls=has_read_calls,
            citations=() if self._citations is None else self._citations.all(),
        )

    def _state(self) -> str:
        kind, model, origin = self._origin
        reasoning = "".join(self._reasoning.parts)
        fields = self._kept.fields(has_calls=bool(self._calls.calls))
        is_in_field = reasoning and self._reasoning_field and "reasoning_details" not in fields
        return written_state(
            kind,
            model,
            calls=self._calls.states(),
            fields=fields,
            reasoning=(self._reasoning_field, reasoning) if is_in_field else None,
            origin=origin,
        )

    def _add(self, piece: Piece) -> None:
        reasoning = piece.reasoning_content or piece.reasoning
        if piece.extra_content or piece.reasoning_details or piece.thinking_blocks:
            shown = self._kept.add(piece)
            reasoning = reasoning or shown
        if reasoning and isinstance(reasoning, str):
            self._tags.expect_text()
            self._reasoning_field = "reasoning_content" if piece.reasoning_content else "reasoning"
            self._emit(self._reasoning, self._reasoning.joiner.add(reasoning))
        if content := piece.content:
            if isinstance(content, str):
                text = self._text.joiner.add(content)
                if "<" not in text and self._tags.is_idle:  # a call of `_add_text` for each token would cost more
                    self._emit(self._text, text)
                else:
                    self._add_text(text)
            else:
                self._add_parts(content)
        if piece.refusal:
            self._is_refused = True
            self._emit(self._text, self._text.joiner.add(piece.refusal))
        if piece.annotations or piece.context:
            self._cited().add_message(piece.annotations, piece.context)
        if piece.images or piece.audio:
            self._has_media = True
            self._add_text(self._text.joiner.add(transcript_in(piece.audio)))
        if piece.tool_calls:
            self._add_calls([piece.tool_calls] if isinstance(piece.tool_calls, CallPiece) else piece.tool_calls)
        if piece.function_call is not None:
            # Used at the end, and only if no `tool_calls` have arrived: the same call can be in both.
            self._legacy.append(CallPiece(index=0, function=piece.function_call))

    def _cited(self) -> Citations:
        if self._citations is None:
            self._citations = Citations()
        return self._citations

    def _add_text(self, text: str) -> None:
        self._add_parts_of_text(self._tags.add(text))

    def _text_so_far(self) -> str:
        waiting = [piece for source, pieces in self._runs if source is self._text for piece in pieces]
        return "".join((*self._text.parts, *waiting))

    def _add_parts_of_text(self, parts: Iterable[Part]) -> None:
        for kind, found in parts:
            if kind == "call":
                self._in_text.append(CallPiece(index=len(self._in_text), function=FunctionPiece(*found)))
            elif kind == "text":
                self._emit(self._text, found)
            elif not self._reasoning_field:  # some servers give it in a field and leave it in the text
                self._emit(self._reasoning, found)

    def _add_calls(self, pieces: Sequence[CallPiece | None]) -> None:
        for call, text in self._calls.add(pieces):
            self._emit(call, text, allow_empty=True)

    def _close(self, *, is_cut: bool = False) -> str:
        """Add the text that was held back; returns the answer's text."""
        self._emit(self._reasoning, self._reasoning.joiner.finish())
        if rest := self._text.joiner.finish():
            self._add_text(rest)
        if not self._tags.is_idle:
            is_cut = is_cut or bool(self._calls.calls) or REASONS.get(self._finish) in CUTS
            self._add_parts_of_text(self._tags.finish(is_cut=is_cut))
        self._flush()
        return "".join(self._text.parts)

    def _add_whole_message(self, message: Piece) -> list[Sequence[CallPiece | None]]:
        """Add what a final `message` contains beyond the streamed text; returns the calls that it repeats.

        Raises:
            ModelError: the message contradicts the streamed text.
        """
        whole = Assembler(names=self._names, written=self._written, begins_thinking=self._begins_thinking)
        whole._citations = self._citations
        whole._add(message)
        self._citations = whole._citations
        streamed, text = self._close(), whole._close()
        if text and text.strip() != streamed.strip():
            if not text.startswith(streamed):
                raise ModelError(CONTRADICTED)
            self._emit(self._text, text[len(streamed) :])
        self._is_refused |= whole._is_refused
        self._has_media |= whole._has_media
        repeated = message.tool_calls or ()
        return [[repeated] if isinstance(repeated, CallPiece) else repeated, whole._legacy]

    def _add_parts(self, parts: list[Any]) -> None:
        for kind, text in content_parts(parts):
            if kind == "reasoning":
                self._emit(self._reasoning, self._reasoning.joiner.add(text))
            elif kind == "text":
                self._add_text(self._text.joiner.add(text))
            else:
                self._is_refused = True
                self._emit(self._text, self._text.joiner.add(text))

    def _emit(self, source: Channel | OpenCall, text: str, *, allow_empty: bool = False) -> None:
        if not text and not allow_empty:
            return
        if self._runs and self._runs[-1][0] is source:
            self._runs[-1][1].append(text)
        else:
            self._runs.append((source, [text]))

    def _flush(self) -> None:
        for source, pieces in self._runs:
            self._deltas.append(self._delta(source, "".join(pieces)))
        self._runs = []

    def _delta(self, source: Channel | OpenCall, text: str) -> Delta:
        if isinstance(source, Channel):
            source.parts.append(text)
            return TextDelta(text) if source is self._text else ReasoningDelta(text)
        if source.index < self._started_calls:
            return ToolCallDelta(source.index, arguments=text)
        self._started_calls = source.index + 1
        return ToolCallDelta(source.index, source.id, source.name, text)
