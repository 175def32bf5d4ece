"""How much is rendered for a member whose clients ask for long threads again and again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from assistant.services.eventlog.log import ThreadLog
from assistant.services.limits.rate_limits import render_bucket
from assistant.services.token_bucket import Bucket
from assistant.websocket import follower as following
from tests.websocket.followers import follower_of, snapshot_of

BLOCKS = 20
TEXTS = [f"Message {number:02} of a long thread" for number in range(BLOCKS)]
BLOCK = len(TEXTS[0])
# No test waits for a token at this rate.
NEVER = 1e-9


class Client:
    """What one connection is sent."""

    def __init__(self) -> None:
        self.frames: list[str] = []

    async def send(self, frame: str) -> None:
        self.frames.append(frame)

    @property
    def blocks(self) -> int:
        return sum("message.block" in frame for frame in self.frames)


async def repaint(bucket: Bucket) -> Client:
    """Let a client attach to a long thread, and look at what it has after many turns of the event loop."""
    client = Client()
    task = asyncio.create_task(follower_of(ThreadLog(), client.send, refresh=long_thread, bucket=bucket).follow(None))
    for _ in range(500):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return client


async def long_thread() -> Any:
    return snapshot_of(1, 1, is_end=True, texts=TEXTS)


async def test_what_a_member_is_sent_again_is_rendered_within_a_budget() -> None:
    bucket = Bucket(BLOCK * (BLOCKS + 5), NEVER)
    first, second, third = [await repaint(bucket) for _ in range(3)]
    assert first.blocks == BLOCKS
    assert second.blocks == 5
    assert third.blocks == 0
    # The text itself comes first, and at once.
    assert [client.frames[0] for client in (first, second, third)] == ["snapshot 1-1"] * 3


async def test_a_reader_who_waits_for_blocks_is_not_taken_for_one_who_does_not_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(following, "SNAPSHOT_TIMEOUT_SECONDS", 0.2)
    client, done = Client(), asyncio.Event()

    async def send(frame: str) -> None:
        await client.send(frame)
        if client.blocks == BLOCKS:
            done.set()

    # All blocks take a second.
    bucket = Bucket(1, float(BLOCK * BLOCKS))
    task = asyncio.create_task(follower_of(ThreadLog(), send, refresh=long_thread, bucket=bucket).follow(None))
    waiting = asyncio.create_task(done.wait())
    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    has_failed = task.done()
    for one in (task, waiting):
        one.cancel()
    await asyncio.gather(task, waiting, return_exceptions=True)
    assert not has_failed


def test_the_budget_is_the_members() -> None:
    mine = render_bucket(tenant_id=1, user_id=7)
    assert mine is render_bucket(tenant_id=1, user_id=7)
    assert mine is not render_bucket(tenant_id=1, user_id=8)
    assert mine is not render_bucket(tenant_id=2, user_id=7)
