"""A long text is rendered for one client while others are served."""

from __future__ import annotations

import asyncio
import time

import pytest

from assistant.core.events import Custom
from assistant.rendering import BlockRenderer
from assistant.services.markdown import render_blocks

TEXTS = {
    "many short blocks": "".join(f"a *b{number}*\n\n" for number in range(8_000)),
    "one long list": "- a\n" * 25_000,
    "one long paragraph": "a\n" * 50_000,
}


async def _longest_turn(work: asyncio.Task[object]) -> float:
    """Seconds of the processor that the loop's thread spent at the longest before others had their turn."""
    longest = 0.0
    while not work.done():
        begun = time.thread_time()
        await asyncio.sleep(0.001)
        longest = max(longest, time.thread_time() - begun)
    return longest


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
async def test_nobody_waits_for_a_long_text(text: str) -> None:
    work = asyncio.create_task(BlockRenderer().catch_up("m", text, is_open=False))
    assert await _longest_turn(work) < 0.1


async def test_in_pieces_it_is_the_same() -> None:
    text = TEXTS["many short blocks"][:20_000] + "\r\n```\n" + "x\n" * 5_000 + "```\n"
    blocks = await BlockRenderer().catch_up("m", text, is_open=False)
    shown = [event.value["html"] for event in blocks if isinstance(event, Custom)]
    assert shown == render_blocks(text)
