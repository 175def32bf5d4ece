"""Rendering a long text does not block the event loop."""

from __future__ import annotations

import asyncio

import pytest

from assistant.core.values.events import Custom
from assistant.markdown.render import render_blocks
from assistant.markdown.stream import BlockRenderer

TEXTS = {
    "many short blocks": "".join(f"a *b{number}*\n\n" for number in range(8_000)),
    "one long list": "- a\n" * 60_000,
    "one long paragraph": "a\n" * 120_000,
}


async def _turns(work: asyncio.Task[object]) -> int:
    """Return how often another task ran on the event loop until `work` was done."""
    turns = 0
    while not work.done():
        await asyncio.sleep(0)
        turns += 1
    return turns


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
async def test_a_long_text_does_not_block_the_event_loop(text: str) -> None:
    work = asyncio.create_task(BlockRenderer().catch_up("m", text, is_open=False))
    # A turn takes at most some 20 ms, and the whole text 200 or more.
    assert await _turns(work) >= 5


async def test_a_text_in_pieces_gives_the_same_blocks() -> None:
    text = TEXTS["many short blocks"][:20_000] + "\r\n```\n" + "x\n" * 5_000 + "```\n"
    blocks = await BlockRenderer().catch_up("m", text, is_open=False)
    shown = [event.value["html"] for event in blocks if isinstance(event, Custom)]
    assert shown == render_blocks(text)
