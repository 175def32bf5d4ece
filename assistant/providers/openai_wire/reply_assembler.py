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
from assistant.providers.openai_wire.call_assembler import CallAssembler, OpenCall
from assistant.providers.openai_wire.chunks import CallPiece, Chunk, Piece
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
from assistant.providers.openai_wire.provider_state import MAX_BYTES, CallState, merge_fields, written_state
from assistant.providers.openai_wire.reply_parts import Channel, content_parts, id_in, transcript_in, usage_of
from assistant.providers.openai_wire.text_tags import Part, TextTags
from assistant.toolkit.text import clean_text

# Fields of an entry that arrive in pieces; any other is replaced by a later piece, unless that is null.
_IN_PIECES = ("text", "summary", "thinking")
# The entries go back with an answer without calls only if one of them has one of these fields.
_PROOFS = ("signature", "data", "encrypted_content")
_MAX_ENTRIES = 1_000


class _Entries:
    """One list of reasoning, joined from its pieces; none if it is longer than provider state may be."""

    def __init__(self) -> None:
        self._entries: list[dict[str, Any]] = []
        self._texts: list[dict[str, list[str]]] = []
        self._places: dict[tuple[object, ...], int] = {}
        self._size = 0

    def add(self, pieces: Any) -> str:
        """Add the entries of one chunk; returns their text, for people."""
        shown = ""
        for piece in pieces if isinstance(pieces, list) else ():
            if isinstance(piece, dict):
                text = next((piece[name] for name in _IN_PIECES if isinstance(piece.get(name), str)), "")
                shown += text
                if self._size <= MAX_BYTES and len(self._entries) <= _MAX_ENTRIES:
                    self._add(piece)
        return shown

    def result(self, *, has_calls: bool) -> list[dict[str, Any]]:
        """Return the entries; of an answer without calls only if they prove where they come from."""
        if self._size > MAX_BYTES or len(self._entries) > _MAX_ENTRIES:
            return []
        whole = [
            entry | {name: "".join(parts) for name, parts in texts.items()}
            for entry, texts in zip(self._entries, self._texts, strict=True)
        ]
        return whole if has_calls or any(entry.get(name) for entry in whole for name in _PROOFS) else []

    def _add(self, piece: dict[str, Any]) -> None:
        self._size += sum(len(value) for value in piece.values() if isinstance(value, str))
        kind = piece.get("type")
        index = piece.get("index")
        place = self._place_of(kind, index, piece)
        if place is None:
            place = len(self._entries)
            self._entries.append({})
            self._texts.append({})
            if isinstance(kind, str) and isinstance(index, int):
                self._places[kind, index] = place
        for name, value in piece.items():
            if name in _IN_PIECES and isinstance(value, str):
                self._texts[place].setdefault(name, []).append(value)
            elif value is not None or name not in self._entries[place]:
                self._entries[place][name] = value

    def _place_of(self, kind: Any, index: Any, piece: dict[str, Any]) -> int | None:
        """Return the position of the entry that a piece continues; None if it begins another one.

        What is encrypted comes whole, and what has its signature is complete.
        """
        if any(piece.get(name) for name in ("data", "encrypted_content")):
            return None
        if isinstance(index, int):
            return self._places.get((kind, index)) if isinstance(kind, str) else None
        last = self._entries[-1] if self._entries else {}
        return len(self._entries) - 1 if last.get("type") == kind and not last.get("signature") else None


# Fields of an answer that the provider wants back with it, and that no other provider can use. `extra_content` is
# Gemini's. `reasoning_details` comes from OpenRouter and MiniMax, and `thinking_blocks` from LiteLLM: lists of
# reasoning with signatures or in encrypted form, in pieces that are joined here.
# Source: https://openrouter.ai/docs/use-cases/reasoning-tokens
class KeptFields:
    """The fields of one answer that go back to its provider."""

    def __init__(self) -> None:
        self._extra: dict[str, Any] = {}
        self._lists: dict[str, _Entries] = {}

    def add(self, piece: Piece) -> str:
        """Add what a chunk has of these fields; returns the reasoning in it that people can read."""
        if piece.extra_content is not None:
            merge_fields(self._extra, piece.extra_content)
        shown = ""
        for name, entries in (
            ("reasoning_details", piece.reasoning_details),
            ("thinking_blocks", piece.thinking_blocks),
        ):
            if entries:
                shown = self._lists.setdefault(name, _Entries()).add(entries) or shown
        return shown

    def fields(self, *, has_calls: bool) -> dict[str, Any]:
        """Return the fields that the message is sent back with."""
        found = {name: entries.result(has_calls=has_calls) for name, entries in self._lists.items()}
        extra = {"extra_content": self._extra} if self._extra else {}
        return extra | {name: entries for name, entries in found.items() if entries}


# What the database column of usage records can hold.
MAX_MODEL_NAME = 200


class Assembler:
    """Assembles one reply: `feed` it chunks, `take` the deltas, and `finish` returns the reply.

    Args:
        names: the offered tools.
        taken: ids of earlier tool calls of the conversation.
        kind: the kind of the provider, and `model` and `origin` its model and address: the reply's state is sent back
            only to these.
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
        begins_thinking: bool = False,
    ) -> None:
        self._origin = kind, model, origin
        self._reasoning_field = ""
        self._kept: KeptFields | None = None
        self._tags = TextTags(self._text_so_far, begins_inside=True) if begins_thinking else None
        self._names = names
        self._begins_thinking = begins_thinking
        self._text, self._reasoning = Channel(), Channel()
        self._calls = CallAssembler(names, taken)
        self._legacy: list[CallPiece] = []
        self._has_deltas = False
        self._whole: Piece | None = None
        self._runs: list[tuple[Channel | OpenCall, list[str]]] = []
        self._deltas: list[Delta] = []
        self._started_calls = 0
        self._finish = ""
        self._goes_on = False  # after the finish reason, which some servers send too early
        self.is_ended = False
        self._is_refused = self._has_media = False
        self._usage: Any = None
        self._model, self._id = "", None
        self._citations: Citations | None = None

    @property
    def usage(self) -> Usage:
        """The tokens that the provider has counted so far."""
        return usage_of(self._usage)

    def feed(self, chunk: Chunk) -> None:  # noqa: PLR0912 - one branch a field
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
                    self.is_ended = False
                self._add(choice.delta)
            elif choice.message is not None and self._has_deltas:
                self._whole = choice.message
            elif choice.message is not None:
                self._add(choice.message)
            if reason := choice.finish_reason:
                if REASONS.get(self._finish) not in CUTS:  # some servers send a `stop` after the actual reason
                    self._finish = reason if reason in REASONS else known_name(reason) or self._finish
                self.is_ended = bool(self._finish) and not self._goes_on
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
        repeats: list[Sequence[CallPiece | None]] = [self._legacy]
        if self._whole is not None:
            repeats += self._add_whole_message(self._whole)
        if not self._calls.calls and (pieces := next(filter(None, repeats), None)):
            for call, text in self._calls.add(pieces):
                self._emit(call, text, allow_empty=True)
        has_calls = bool(self._calls.calls)
        reason = REASONS.get(self._finish)
        if reason != ("tool_calls" if has_calls else "stop") or self._is_refused:
            reason = reason_of(self._finish, is_closed=is_closed, has_calls=has_calls, is_refused=self._is_refused)
        if has_calls:
            if reason != "tool_calls":
                raise ModelError(CALL_CUT)
            if self._is_refused:
                raise ModelError(CALL_REFUSED)
            for call, text in self._calls.finish():
                self._emit(call, text, allow_empty=True)
            for pieces in filter(None, repeats):
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
            citations=() if self._citations is None else self._citations.all(),
        )

    def _state(self) -> str:
        kind, model, origin = self._origin
        reasoning = "".join(self._reasoning.parts)
        calls = self._calls.calls
        fields = {} if self._kept is None else self._kept.fields(has_calls=bool(calls))
        is_in_field = reasoning and self._reasoning_field and "reasoning_details" not in fields
        return written_state(
            kind,
            model,
            calls=[CallState(call.given_id, {n: kept for n, kept in call.extra.items() if kept}) for call in calls],
            fields=fields,
            reasoning=(self._reasoning_field, reasoning) if is_in_field else None,
            origin=origin,
        )

    def _add(self, piece: Piece) -> None:  # noqa: PLR0912 - one branch a field
        reasoning = piece.reasoning_content or piece.reasoning
        if piece.extra_content or piece.reasoning_details or piece.thinking_blocks:
            if self._kept is None:
                self._kept = KeptFields()
            shown = self._kept.add(piece)
            reasoning = reasoning or shown
        if reasoning and isinstance(reasoning, str):
            if self._tags is not None:
                self._tags.expect_text()
            self._reasoning_field = "reasoning_content" if piece.reasoning_content else "reasoning"
            self._emit(self._reasoning, self._reasoning.joiner.add(reasoning))
        if content := piece.content:
            if isinstance(content, str):
                # A call for each token would cost more.
                is_plain = content.isascii() and "\x00" not in content and not self._text.joiner.held
                text = content if is_plain else self._text.joiner.add(content)
                if "<" not in text and (self._tags is None or self._tags.is_idle):
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
            pieces = [piece.tool_calls] if isinstance(piece.tool_calls, CallPiece) else piece.tool_calls
            for call, text in self._calls.add(pieces):
                self._emit(call, text, allow_empty=True)
        if piece.function_call is not None:
            # Used at the end, and only if no `tool_calls` have arrived: the same call can be in both.
            self._legacy.append(CallPiece(index=0, function=piece.function_call))

    def _cited(self) -> Citations:
        if self._citations is None:
            self._citations = Citations()
        return self._citations

    def _add_text(self, text: str) -> None:
        if self._tags is None:
            self._tags = TextTags(self._text_so_far)
        self._add_parts_of_text(self._tags.add(text))

    def _text_so_far(self) -> str:
        waiting = [piece for source, pieces in self._runs if source is self._text for piece in pieces]
        return "".join((*self._text.parts, *waiting))

    def _add_parts_of_text(self, parts: Iterable[Part]) -> None:
        for kind, found in parts:
            if kind == "text":
                self._emit(self._text, found)
            elif not self._reasoning_field:  # some servers give it in a field and leave it in the text
                self._emit(self._reasoning, found)

    def _close(self, *, is_cut: bool = False) -> str:
        """Add the text that was held back; returns the answer's text."""
        if self._reasoning.joiner.held:
            self._emit(self._reasoning, self._reasoning.joiner.finish())
        if self._text.joiner.held:
            self._add_text(self._text.joiner.finish())
        if self._tags is not None and not self._tags.is_idle:
            is_cut = is_cut or bool(self._calls.calls) or REASONS.get(self._finish) in CUTS
            self._add_parts_of_text(self._tags.finish(is_cut=is_cut))
        self._flush()
        return "".join(self._text.parts)

    def _add_whole_message(self, message: Piece) -> list[Sequence[CallPiece | None]]:
        """Add what a final `message` contains beyond the streamed text; returns the calls that it repeats.

        Raises:
            ModelError: the message contradicts the streamed text.
        """
        whole = Assembler(names=self._names, begins_thinking=self._begins_thinking)
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
            text = "".join(pieces)
            if isinstance(source, Channel):
                source.parts.append(text)
                self._deltas.append(TextDelta(text) if source is self._text else ReasoningDelta(text))
            elif source.index < self._started_calls:
                self._deltas.append(ToolCallDelta(source.index, arguments=text))
            else:
                self._started_calls = source.index + 1
                self._deltas.append(ToolCallDelta(source.index, source.id, source.name, text))
        self._runs = []
