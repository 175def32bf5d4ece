"""What is shown of a reply: its text, its reasoning and its calls, as deltas in the order in which they came."""

from __future__ import annotations

from assistant.core.llm.protocol import Delta, ProviderCall
from assistant.providers.openai_wire.text_tags import TextTags
from assistant.providers.responses.item_state import BETWEEN
from assistant.providers.responses.items import MESSAGE, REASONING, Item
from assistant.toolkit.text import clean_text


class ShownReply:
    """Collects a reply; texts of several messages, and of several parts of reasoning, are put apart.

    Args:
        begins_thinking: as in `openai_wire.reply_assembler`.
    """

    def __init__(self, *, begins_thinking: bool = False) -> None:
        self._runs: list[tuple[Item | ProviderCall, list[str]]] = []
        self._texts: list[str] = []
        self._thoughts: list[str] = []
        self._needs_gap = {MESSAGE: False, REASONING: False}
        self._tags = TextTags(lambda: self.text, begins_inside=begins_thinking)
        self._tagged = Item(REASONING)

    @property
    def text(self) -> str:
        return "".join(self._texts)

    @property
    def reasoning(self) -> str:
        return "".join(self._thoughts)

    def take(self) -> list[Delta]:
        """Return the deltas since `take` was last called; adjacent ones of the same item are joined."""
        runs, self._runs = self._runs, []
        return [item if isinstance(item, ProviderCall) else item.delta("".join(pieces)) for item, pieces in runs]

    def add(self, item: Item, text: str) -> None:
        """Add text to an item."""
        if not text:
            return
        if item.kind == MESSAGE:
            is_first = not item.parts
            item.parts.append(text)
            if "<" not in text and self._tags.is_idle:
                self._add_text(item, text, is_first=is_first)
            else:
                self._add_tagged(item, text, is_first=is_first)
        elif item.kind == REASONING:
            self._tags.expect_text()
            item.parts.append(text)
            self._add_reasoning(item, clean_text(text))
        else:
            item.parts.append(text)
            if item.name:  # what came before is shown with it
                self._emit(item, text)

    def end_message(self, item: Item, *, is_cut: bool = False) -> None:
        """Add what was held back of a message's text."""
        for kind, found in self._tags.finish(is_cut=is_cut):
            if kind == "text":
                self._add_text(item, found, is_first=False)
            else:
                self._add_reasoning(self._tagged, found)

    def begin_call(self, item: Item) -> None:
        """Show that a call begins, whose name is known now."""
        self._emit(item, item.text)

    def add_call(self, call: ProviderCall) -> None:
        """Add a call that the provider has run; what follows belongs to another message."""
        self._runs.append((call, []))
        self._needs_gap = dict.fromkeys(self._needs_gap, False)

    def _add_tagged(self, item: Item, text: str, *, is_first: bool) -> None:
        for kind, found in self._tags.add(text):
            if kind == "text":
                self._add_text(item, found, is_first=is_first)
                is_first = False
            else:
                self._add_reasoning(self._tagged, found)

    def _add_text(self, item: Item, text: str, *, is_first: bool) -> None:
        shown = BETWEEN + text if is_first and self._needs_gap[MESSAGE] else text
        self._needs_gap[MESSAGE] = True
        self._texts.append(shown)
        self._emit(item, shown)

    def _add_reasoning(self, item: Item, text: str) -> None:
        shown = BETWEEN + text if item.starts_part and self._needs_gap[REASONING] else text
        item.starts_part = False
        self._needs_gap[REASONING] = True
        self._thoughts.append(shown)
        self._emit(item, shown)

    def _emit(self, item: Item, text: str) -> None:
        if self._runs and self._runs[-1][0] is item:
            self._runs[-1][1].append(text)
        else:
            self._runs.append((item, [text]))
