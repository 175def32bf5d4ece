"""Messages in the making: pieces in lists, joined only when somebody asks."""

from __future__ import annotations

from assistant.core.messages import Message, ToolCall

# The id of a message's reasoning, where clients see that as a message of its own.
REASONING_SUFFIX = "-reasoning"


class Draft:
    """An assistant's message as it grows; `open` counts the spans of it that have no end yet."""

    __slots__ = ("calls", "id", "is_cut", "open", "reasoning", "text")

    def __init__(self, message_id: str) -> None:
        self.id = message_id
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.calls: list[CallDraft] = []
        self.open = 0
        self.is_cut = False

    def message(self) -> Message:
        return Message(
            "assistant",
            "".join(self.text),
            id=self.id,
            tool_calls=tuple(call.tool_call() for call in self.calls),
            reasoning="".join(self.reasoning),
            is_partial=self.is_cut or self.open > 0,
        )

    def restore(self, message: Message) -> None:
        """Go on from what `message` gave."""
        self.text = [message.content]
        self.reasoning = [message.reasoning]
        self.calls = [CallDraft(self, call.id, call.name, call.arguments) for call in message.tool_calls]
        self.is_cut = message.is_partial


class CallDraft:
    """A tool call as its arguments arrive."""

    __slots__ = ("arguments", "draft", "id", "name")

    def __init__(self, draft: Draft, call_id: str, name: str, arguments: str = "") -> None:
        self.draft = draft
        self.id = call_id
        self.name = name
        self.arguments = [arguments] if arguments else []

    def tool_call(self) -> ToolCall:
        return ToolCall(self.id, self.name, "".join(self.arguments))
