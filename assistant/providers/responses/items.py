"""The items of a response while they are streamed."""

from __future__ import annotations

import uuid

from assistant.core.llm.protocol import Delta, ReasoningDelta, TextDelta, ToolCallDelta
from assistant.core.values.messages import ToolCall
from assistant.providers.openai_wire.reply_parts import SplitCharacterJoiner

MESSAGE, CALL, REASONING = "message", "function_call", "reasoning"


class Item:
    """One item: a message, a call, reasoning, or something that only the provider knows.

    Attributes:
        parts: its text, or a call's arguments, so far.
        index: a call's position among the calls.
        call_id: the provider's own id of a call, and `our_id` the one that the reply has.
        starts_part: whether another part of reasoning begins.
    """

    __slots__ = ("call_id", "index", "is_cut", "is_done", "is_shown", "joiner", "kind", "name", "our_id", "parts",
                 "starts_part")  # fmt: skip

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.parts: list[str] = []
        self.joiner = SplitCharacterJoiner(is_exact=kind == CALL)
        self.index = 0
        self.name = self.call_id = self.our_id = ""
        self.is_done = self.is_cut = self.is_shown = False
        self.starts_part = True

    @property
    def text(self) -> str:
        return "".join(self.parts)

    def set_name(self, name: str, call_id: str, our_id: str) -> None:
        """Set the name and the ids of a call."""
        self.name, self.call_id, self.our_id = name, call_id, our_id or f"call_{uuid.uuid4().hex[:24]}"

    def rest_of(self, whole: str) -> str | None:
        """Return what the whole text has beyond the pieces; None if it contradicts them. An empty one says nothing."""
        if not whole:
            return self.joiner.finish()
        again = SplitCharacterJoiner(is_exact=self.kind == CALL)
        whole, known = again.add(whole) + again.finish(), self.text
        self.joiner.finish()  # the whole text has what was held back
        if whole.startswith(known):
            return whole[len(known) :]
        if self.kind == CALL:
            is_same = ToolCall("", "", whole).canonical == ToolCall("", "", known).canonical
        else:
            is_same = whole.strip() == known.strip()
        return "" if is_same else None

    def delta(self, text: str) -> Delta:
        """Return more of the item as a delta; the first one of a call carries its id and name."""
        if self.kind == MESSAGE:
            return TextDelta(text)
        if self.kind == REASONING:
            return ReasoningDelta(text)
        if self.is_shown:
            return ToolCallDelta(self.index, arguments=text)
        self.is_shown = True
        return ToolCallDelta(self.index, self.our_id, self.name, text)
