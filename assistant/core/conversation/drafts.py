"""Messages that are being streamed: pieces are kept in lists and joined only when they are read."""

from __future__ import annotations

import re

from assistant.core.values.messages import Message, ToolCall

# Clients see reasoning as a message of its own, whose id is the message's with this suffix.
REASONING_SUFFIX = "-reasoning"
# AG-UI starts an id once in a run. Text that goes on after a call of the same message has an id with such an end.
_PART = re.compile(r"-part\d+$")


def part_id(part_of: str, number: int) -> str:
    """Return the id of the part `number`, from 1, of a message's text or reasoning."""
    return part_of if number == 1 else f"{part_of}-part{number}"


def without_part(part: str) -> str:
    """Return the id that the first part of the same text or reasoning has."""
    return _PART.sub("", part) if "-part" in part else part


class Draft:
    """An assistant's message that is being streamed.

    `open` counts its parts (text, reasoning, calls) that have started and not ended.
    """

    __slots__ = (
        "_complete", "calls", "cut_reason", "id", "is_cut", "is_superseded", "open", "provider_state", "reasoning",
        "sources", "text",
    )  # fmt: skip

    def __init__(self, message_id: str, sources: tuple[str, ...] = ()) -> None:
        self.id = message_id
        self.sources = sources
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.calls: list[CallDraft] = []
        self.open = 0
        self.is_cut = self.is_superseded = False
        self.cut_reason = ""
        self.provider_state = ""
        self._complete: Message | None = None

    def begin(self) -> None:
        """Open a part of the message."""
        self.open += 1
        self._complete = None

    def keep_state(self, provider_state: str) -> None:
        """Add what the provider gave with the message."""
        self.provider_state = provider_state
        self._complete = None

    def cut(self, reason: str) -> None:
        """Mark the message as cut off, for a reason of the `message.cut` event."""
        self.is_cut = True
        self.cut_reason = reason

    def message(self) -> Message:
        """Return the message so far. Once it is complete, each call returns the same object."""
        if self._complete is None or self.open or self.is_cut:
            message = self._make()
            self._complete = None if self.open or self.is_cut else message
            return message
        return self._complete

    def _make(self) -> Message:
        return Message(
            "assistant",
            "".join(self.text),
            id=self.id,
            tool_calls=tuple(call.tool_call() for call in self.calls),
            reasoning="".join(self.reasoning),
            is_partial=self.is_cut or self.open > 0,
            sources=self.sources,
            provider_state=self.provider_state,
            is_superseded=self.is_superseded,
            cut_reason=self.cut_reason,
        )

    def restore(self, message: Message) -> None:
        """Continue from a message that `message` returned."""
        self._complete = None
        self.text = [message.content]
        self.reasoning = [message.reasoning]
        self.calls = [CallDraft(self, call.id, call.name, call.arguments) for call in message.tool_calls]
        self.is_cut = message.is_partial
        self.is_superseded = message.is_superseded
        self.cut_reason = message.cut_reason
        self.sources = message.sources
        self.provider_state = message.provider_state


class CallDraft:
    """A tool call whose arguments are being streamed."""

    __slots__ = ("arguments", "draft", "id", "name")

    def __init__(self, draft: Draft, call_id: str, name: str, arguments: str = "") -> None:
        self.draft = draft
        self.id = call_id
        self.name = name
        self.arguments = [arguments] if arguments else []

    def tool_call(self) -> ToolCall:
        return ToolCall(self.id, self.name, "".join(self.arguments))
