"""Renders streamed answers: an event with the HTML of each block as soon as the block is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from threading import Lock

from cachetools import LRUCache, cached

from assistant.core.values import events
from assistant.core.values.deadline import TimeSlice
from assistant.core.values.events import Event
from assistant.core.values.messages import without_part
from assistant.markdown.block_splitter import BlockSplitter
from assistant.markdown.cut_text import close_marks
from assistant.markdown.render import MAX_CODE_BLOCK_CHARACTERS, render_block

# Cached, because several tabs and reloads render the same blocks; in characters of HTML, as code has many tags.
CACHED_CHARACTERS = 20_000_000
_CACHE: LRUCache[object, str] = LRUCache(CACHED_CHARACTERS, getsizeof=len)
_render = cached(_CACHE, lock=Lock())(render_block)
# Longer blocks may take tens of milliseconds and are rendered in a thread.
THREAD_BLOCK_CHARACTERS = 2_000
# Between pieces of this many characters the event loop may serve other tasks.
PIECE_CHARACTERS = 1_000


async def _at_once(characters: int) -> None:
    """The default pace: do not wait."""


class BlockRenderer:
    """Renders the answers that are sent on one connection.

    `pace` is awaited before each block, with its characters.
    """

    def __init__(self, pace: Callable[[int], Awaitable[object]] = _at_once) -> None:
        self._pace = pace
        self._splitters: dict[str, BlockSplitter] = {}
        self._counts: dict[str, int] = {}
        # The message that ended last, as long as it may turn out to have been cut off, and its last block.
        self._ended: tuple[str, str] | None = None

    async def apply(self, event: Event) -> list[Event]:
        """Return the `message.block` events to send after an event.

        The last block of an answer that was cut off comes a second time, with its open marks closed.
        """
        if isinstance(event, events.TextMessageStart):
            # A start with a known id continues the same text: it follows a snapshot.
            self._splitters.setdefault(without_part(event.message_id), BlockSplitter())
            return []
        if isinstance(event, events.TextMessageContent):
            message_id = without_part(event.message_id)
            splitter = self._splitters.setdefault(message_id, BlockSplitter())
            found: list[Event] = []
            time_slice = TimeSlice()
            for start in range(0, len(event.delta), PIECE_CHARACTERS):
                await time_slice.pause()
                piece = event.delta[start : start + PIECE_CHARACTERS]
                found += await self._blocks(message_id, splitter.feed(piece))
            return found
        if isinstance(event, events.TextMessageEnd):
            message_id = without_part(event.message_id)
            ended = self._splitters.pop(message_id, None)
            sources = ended.finish() if ended else []
            self._ended = (message_id, sources[-1]) if sources else None
            return await self._blocks(message_id, sources)
        blocks = await self._closed_block() if _tells_of_cut(event) else []
        if isinstance(event, events.RunFinished | events.RunError):
            self._counts.clear()
        if isinstance(event, events.ToolCallStart | events.RunFinished | events.RunError):
            self._ended = None
        return blocks

    async def _closed_block(self) -> list[Event]:
        """Return the last block of the message that ended last once more, if it has open marks."""
        ended, self._ended = self._ended, None
        if ended is None or close_marks(ended[1]) == ended[1]:
            return []
        message_id, source = ended
        self._counts[message_id] -= 1
        return [await self._block(message_id, source, close_marks(source))]

    async def _blocks(self, message_id: str, sources: list[str]) -> list[Event]:
        time_slice = TimeSlice()
        found: list[Event] = []
        for source in sources:
            await time_slice.pause()
            found.append(await self._block(message_id, source, source))
        return found

    async def _block(self, message_id: str, source: str, shown: str) -> Event:
        """Return the event of a message's next block, with `shown` rendered in place of its source."""
        # More is not rendered, but shown as it is.
        await self._pace(min(len(shown), MAX_CODE_BLOCK_CHARACTERS))
        index = self._counts.get(message_id, 0)
        self._counts[message_id] = index + 1
        html = _render(shown) if len(shown) < THREAD_BLOCK_CHARACTERS else await asyncio.to_thread(_render, shown)
        block = {"messageId": message_id, "index": index, "html": html, "length": _utf16_length(source)}
        return events.Custom("message.block", block)

    async def catch_up(self, message_id: str, text: str, *, is_open: bool, is_cut: bool = False) -> list[Event]:
        """Return the events for a text that was sent as a whole.

        Args:
            is_open: it is still being streamed.
            is_cut: it was cut off, and nothing follows.
        """
        start = await self.apply(events.TextMessageStart(message_id))
        content = await self.apply(events.TextMessageContent(message_id, text)) if text else []
        end = [] if is_open else await self.apply(events.TextMessageEnd(message_id))
        if is_cut:
            end = [*end[:-1], *(await self._closed_block() or end[-1:])]
        self._ended = None
        return [*start, *content, *end]


def _tells_of_cut(event: Event) -> bool:
    match event:
        case events.RunError() | events.Custom("message.cut"):
            return True
        case events.RunFinished(outcome=outcome):
            return isinstance(outcome, events.Cancelled)
        case _:
            return False


def _utf16_length(text: str) -> int:
    """Return the length of the text in JavaScript, by which a page finds the text that the block replaces."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
