"""Builds a reply from the text, the reasoning and the calls of a provider's stream, and the deltas on the way."""

from __future__ import annotations

import json
import uuid
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from assistant.core.llm.protocol import Delta, ModelError, ReasoningDelta, TextDelta, ToolCallDelta
from assistant.core.values.messages import FinishReason, ToolCall
from assistant.providers.openai_wire.endings import CALL_CUT, CALL_REFUSED, NO_CALL, without_text
from assistant.providers.openai_wire.reply_parts import Channel
from assistant.providers.openai_wire.text_tags import TextTags
from assistant.toolkit.translation import gettext_noop

DECLINED = gettext_noop("The model declined to answer this.")
FILTERED = gettext_noop("The provider's content filter blocked the answer.")
TOO_SHORT = gettext_noop("The answer reached its limit of length before its first word.")
NO_NAME = gettext_noop("The provider sent a tool call without a name, which was not run.")


@dataclass(slots=True)
class BuiltCall:
    """One call, under the id that the conversation has it; `given_id` is the provider's own."""

    index: int
    id: str
    given_id: str
    name: str
    parts: list[str] = field(default_factory=list)


class ReplyBuilder:
    """Collects one reply; adjacent deltas of one kind are joined when they are taken.

    `<think>…</think>` in the text becomes reasoning, as servers of other models leave it there.

    Args:
        taken: ids of earlier tool calls of the conversation.

    Attributes:
        length: characters of the text so far.
        has_media: whether the answer has an image or sound too, which is not shown.
    """

    def __init__(self, taken: Collection[str]) -> None:
        self.calls: list[BuiltCall] = []
        self._taken = set(taken)
        self._text, self._reasoning = Channel(), Channel()
        self._tags = TextTags(lambda: self.text)
        self._runs: list[tuple[Channel | BuiltCall, list[str]]] = []
        self._started_calls = 0
        self.length = 0
        self.has_media = False

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self._text.parts)

    @property
    def reasoning(self) -> str:
        """The reasoning so far."""
        return "".join(self._reasoning.parts)

    def add_text(self, piece: str) -> None:
        text = self._text.joiner.add(piece)
        if "<" not in text and self._tags.is_idle:
            self._emit(self._text, text)
        else:
            self._add_tagged(text)

    def add_reasoning(self, piece: str) -> None:
        self._emit(self._reasoning, self._reasoning.joiner.add(piece))

    def open_call(self, name: str, given_id: str) -> BuiltCall:
        """Begin a call. It keeps the provider's id unless the conversation has that already. Raises `ModelError`."""
        if not name:
            raise ModelError(NO_NAME)
        is_new = given_id and given_id not in self._taken
        call = BuiltCall(len(self.calls), given_id if is_new else f"call_{uuid.uuid4().hex[:24]}", given_id, name)
        self._taken.add(call.id)
        self.calls.append(call)
        self._emit(call, "", allow_empty=True)
        return call

    def add_arguments(self, call: BuiltCall, piece: str) -> None:
        self._emit(call, piece)

    def take(self) -> list[Delta]:
        """Return the deltas since this was last called."""
        deltas = [self._delta(source, "".join(pieces)) for source, pieces in self._runs]
        self._runs = []
        return deltas

    def close(self) -> None:
        """Add what was held back of the text and the reasoning, since the answer ends here."""
        self._emit(self._reasoning, self._reasoning.joiner.finish())
        if rest := self._text.joiner.finish():
            self._add_tagged(rest)
        if not self._tags.is_idle:
            for kind, found in self._tags.finish():
                self._emit(self._text if kind == "text" else self._reasoning, found)

    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Return the calls; absent arguments are an empty object."""
        found = ((call, "".join(call.parts)) for call in self.calls)
        return tuple(ToolCall(call.id, call.name, text if text.strip() else "{}") for call, text in found)

    def check(self, reason: FinishReason) -> None:
        """Raise `ModelError` if an answer that ended with this reason is none, or must not be acted on."""
        if self.calls:
            if reason == "refusal":
                raise ModelError(CALL_REFUSED)
            if reason != "tool_calls":
                raise ModelError(CALL_CUT)
        elif reason == "tool_calls":
            raise ModelError(NO_CALL)
        elif not self.text.strip():
            empty = {"refusal": DECLINED, "content_filter": FILTERED, "length": TOO_SHORT}
            raise ModelError(empty[reason]) if reason in empty else without_text(has_media=self.has_media)

    def _add_tagged(self, text: str) -> None:
        for kind, found in self._tags.add(text):
            self._emit(self._text if kind == "text" else self._reasoning, found)

    def _emit(self, source: Channel | BuiltCall, text: str, *, allow_empty: bool = False) -> None:
        if not text and not allow_empty:
            return
        source.parts.append(text)
        if source is self._text:
            self.length += len(text)
        if self._runs and self._runs[-1][0] is source:
            self._runs[-1][1].append(text)
        else:
            self._runs.append((source, [text]))

    def _delta(self, source: Channel | BuiltCall, text: str) -> Delta:
        if isinstance(source, Channel):
            return TextDelta(text) if source is self._text else ReasoningDelta(text)
        if source.index < self._started_calls:
            return ToolCallDelta(source.index, arguments=text)
        self._started_calls = source.index + 1
        return ToolCallDelta(source.index, source.id, source.name, text)


def arguments_text(value: Any) -> str:
    """Return a call's arguments as text, if the provider sent them as a value.

    Infinity and NaN stay what they are, so that the tool layer refuses them; as null they would be other arguments.
    """
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
