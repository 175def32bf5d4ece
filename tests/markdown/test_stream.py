"""Rendering a long text does not block the event loop."""

from __future__ import annotations

import asyncio

import pytest

from assistant.core.values.events import Custom, Event, TextMessageContent, TextMessageEnd, TextMessageStart
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


@pytest.mark.slow
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


async def test_the_blocks_of_a_later_part_go_on_with_the_numbers_of_the_message() -> None:
    renderer = BlockRenderer()
    found: list[Event] = []
    for message_id, text in (("m", "One.\n\nTwo."), ("m-part2", "Three."), ("n", "Four.")):
        for event in (TextMessageStart(message_id), TextMessageContent(message_id, text), TextMessageEnd(message_id)):
            found += await renderer.apply(event)
    blocks = [event.value for event in found if isinstance(event, Custom)]
    assert [(block["messageId"], block["index"]) for block in blocks] == [("m", 0), ("m", 1), ("m", 2), ("n", 0)]
