"""Messages that are being streamed: pieces are kept in lists and joined only when they are read."""

from __future__ import annotations

from assistant.core.values.messages import Message, ToolCall

# Clients see reasoning as a message of its own, whose id is the message's with this suffix.
REASONING_SUFFIX = "-reasoning"


class Draft:
    """An assistant's message that is being streamed; `open` counts its parts (text, reasoning, calls) still open."""

    __slots__ = ("_whole", "calls", "id", "is_cut", "open", "reasoning", "sources", "text")

    def __init__(self, message_id: str, sources: tuple[str, ...] = ()) -> None:
        self.id = message_id
        self.sources = sources
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.calls: list[CallDraft] = []
        self.open = 0
        self.is_cut = False
        self._whole: Message | None = None

    def begin(self) -> None:
        """Open a part of the message."""
        self.open += 1
        self._whole = None

    def message(self) -> Message:
        """The message so far. Once it is complete, each call returns the same object."""
        if self._whole is None or self.open or self.is_cut:
            made = self._make()
            self._whole = None if self.open or self.is_cut else made
            return made
        return self._whole

    def _make(self) -> Message:
        return Message(
            "assistant",
            "".join(self.text),
            id=self.id,
            tool_calls=tuple(call.tool_call() for call in self.calls),
            reasoning="".join(self.reasoning),
            is_partial=self.is_cut or self.open > 0,
            sources=self.sources,
        )

    def restore(self, message: Message) -> None:
        """Continue from a message that `message` returned."""
        self._whole = None
        self.text = [message.content]
        self.reasoning = [message.reasoning]
        self.calls = [CallDraft(self, call.id, call.name, call.arguments) for call in message.tool_calls]
        self.is_cut = message.is_partial
        self.sources = message.sources


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
