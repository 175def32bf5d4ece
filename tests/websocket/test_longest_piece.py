"""No piece of a follower's work is long, whatever text it is given: between two pieces the event loop serves others.

Pieces are measured in steps (calls of functions), which do not depend on the machine.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Coroutine
from types import FrameType
from typing import Any

import pytest

from assistant.core.values.events import TextMessageContent, TextMessageEnd, TextMessageStart
from assistant.markdown.block_splitter import MAX_PARSED_CHARACTERS
from assistant.services.eventlog.frames import FrameEncoder
from assistant.services.eventlog.log import Entry, Position, ThreadLog
from assistant.services.token_bucket import Bucket
from tests.websocket.followers import follower_of, snapshot_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("unrecorded")]

# The longest piece has 160,000: a block of the most characters that are parsed. Without bounds it was 3,500,000.
MAX_STEPS = 250_000
HOSTILE = {
    "a paragraph whose last line is a dash": "a\n-" * 12_000,
    "lines that are perhaps underlined": "a\n-\n" * 6_000,
    "items without text": "- a\n\n-\nb\n" * 4_000,
    "a table whose lines may be items": "a | b\n--|--\n" + "c | d\n" * 2_000 + "- e | f\n" * 2_000,
    "quotes and lines that may end them": "> a\nb\n" * 6_000,
    "formulas without an end": "$$\nx\n" * 6_000,
    "short blocks": "a *b*\n\n" * 4_000,
}


async def steps_of_longest_piece(work: Coroutine[Any, Any, object]) -> int:
    """Return the calls of functions in the longest time without a turn of another task, until `work` is done."""
    longest = steps = 0

    def count(_frame: FrameType, event: str, _what: object) -> None:
        nonlocal steps
        steps += event in {"call", "c_call"}

    task = asyncio.create_task(work)
    sys.setprofile(count)
    try:
        while not task.done():
            steps = 0
            await asyncio.sleep(0)
            longest = max(longest, steps)
    finally:
        sys.setprofile(None)
    await task
    return longest


async def streamed(text: str, size: int) -> None:
    """A follower sends a text that has come in events of a size."""
    log, sent, all_sent = ThreadLog(), list[str](), asyncio.Event()
    deltas = [text[start : start + size] for start in range(0, len(text), size)]
    made = [TextMessageStart("m"), *(TextMessageContent("m", delta) for delta in deltas), TextMessageEnd("m")]
    encoder = FrameEncoder(run_id="r", thread="t")
    log.append([Entry(1, seq, encoder.frame(event, seq)) for seq, event in enumerate(made, start=1)])

    async def send(frame: str) -> None:
        sent.append(frame)
        if "TEXT_MESSAGE_END" in frame:
            all_sent.set()

    following = asyncio.create_task(follower_of(log, send, bucket=Bucket(10**9, 1.0)).follow(Position(1, 0)))
    await all_sent.wait()
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


async def attached(text: str) -> None:
    """A follower sends a snapshot with a text."""
    log, all_sent = ThreadLog(), asyncio.Event()

    async def refresh() -> Any:
        return snapshot_of(1, 5, is_end=True, texts=[text, "The end."])

    async def send(frame: str) -> None:
        if "The end." in frame:
            all_sent.set()

    follower = follower_of(log, send, refresh=refresh, bucket=Bucket(10**9, 1.0))
    following = asyncio.create_task(follower.follow(None))
    await all_sent.wait()
    following.cancel()
    await asyncio.gather(following, return_exceptions=True)


@pytest.mark.parametrize("size", [40, 100_000], ids=["in small events", "at once"])
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
async def test_a_streamed_text_is_sent_in_short_pieces(text: str, size: int) -> None:
    assert await steps_of_longest_piece(streamed(text, size)) < MAX_STEPS


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
async def test_a_text_of_a_snapshot_is_sent_in_short_pieces(text: str) -> None:
    assert await steps_of_longest_piece(attached(text)) < MAX_STEPS


async def test_the_longest_block_that_is_parsed_is_a_short_piece() -> None:
    text = "a\n-" * (MAX_PARSED_CHARACTERS // 3)
    assert await steps_of_longest_piece(streamed(text, 100_000)) < MAX_STEPS
