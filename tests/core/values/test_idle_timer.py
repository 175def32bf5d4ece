"""One timer for many waits."""

from __future__ import annotations

import asyncio

from assistant.core.values.idle_timer import IdleTimer


async def test_a_wait_that_takes_too_long_is_told_once_and_the_next_again() -> None:
    told: list[str] = []
    idle_timer = IdleTimer(0.03, lambda: told.append("long"))
    idle_timer.begin()
    await asyncio.sleep(0.1)
    assert told == ["long"]
    idle_timer.begin()
    await asyncio.sleep(0.1)
    assert told == ["long", "long"]


async def test_many_short_waits_are_none_that_is_long() -> None:
    told: list[str] = []
    idle_timer = IdleTimer(0.1, lambda: told.append("long"))
    for _ in range(30):
        idle_timer.begin()
        await asyncio.sleep(0.01)
    idle_timer.end()
    await asyncio.sleep(0.2)
    assert told == []


async def test_after_its_end_nothing_is_told() -> None:
    told: list[str] = []
    idle_timer = IdleTimer(0.02, lambda: told.append("long"))
    idle_timer.begin()
    idle_timer.close()
    await asyncio.sleep(0.05)
    assert told == []
