"""Markdown for clients that ask for it: each block of an answer as HTML, as soon as it is closed."""

from __future__ import annotations

import asyncio
import time
from functools import lru_cache

from assistant.core import events
from assistant.core.events import Event
from assistant.services.blocks import BlockSplitter
from assistant.services.markdown import render_block

# Two tabs, or a reload, render the same blocks again.
_render = lru_cache(maxsize=4096)(render_block)
# A block of this many characters may take tens of milliseconds: it is rendered beside the event loop.
LONG_BLOCK = 2_000
# So many characters are split at once, and short blocks are rendered for so many seconds, before others get their turn.
PIECE = 8_000
TURN_SECONDS = 0.01


class BlockRenderer:
    """Follows one connection's answers and says which blocks have closed."""

    def __init__(self) -> None:
        self._splitters: dict[str, BlockSplitter] = {}
        self._counts: dict[str, int] = {}

    async def apply(self, event: Event) -> list[Event]:
        """The `message.block` events that this event brings about."""
        if isinstance(event, events.TextMessageStart):
            # A start that repeats an id goes on with the same text: it follows a picture.
            self._splitters.setdefault(event.message_id, BlockSplitter())
            return []
        if isinstance(event, events.TextMessageContent):
            splitter = self._splitters.setdefault(event.message_id, BlockSplitter())
            found: list[Event] = []
            for start in range(0, len(event.delta), PIECE):
                if start:
                    await asyncio.sleep(0)
                found += await self._blocks(event.message_id, splitter.feed(event.delta[start : start + PIECE]))
            return found
        if isinstance(event, events.TextMessageEnd):
            ended = self._splitters.pop(event.message_id, None)
            blocks = await self._blocks(event.message_id, ended.finish() if ended else [])
            self._counts.pop(event.message_id, None)
            return blocks
        return []

    async def _blocks(self, message_id: str, sources: list[str]) -> list[Event]:
        found: list[Event] = []
        began = time.monotonic()
        for source in sources:
            if time.monotonic() - began > TURN_SECONDS:
                await asyncio.sleep(0)
                began = time.monotonic()
            index = self._counts.get(message_id, 0)
            self._counts[message_id] = index + 1
            html = _render(source) if len(source) < LONG_BLOCK else await asyncio.to_thread(_render, source)
            block = {"messageId": message_id, "index": index, "html": html, "length": _utf16_length(source)}
            found.append(events.Custom("message.block", block))
        return found

    async def catch_up(self, message_id: str, text: str, *, is_open: bool) -> list[Event]:
        """The blocks of a text that was sent as a whole; an open one goes on afterwards."""
        start = await self.apply(events.TextMessageStart(message_id))
        content = await self.apply(events.TextMessageContent(message_id, text)) if text else []
        end = [] if is_open else await self.apply(events.TextMessageEnd(message_id))
        return [*start, *content, *end]


def _utf16_length(text: str) -> int:
    """How long JavaScript takes the text to be, so that a page knows how much of what it shows the block replaces."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
