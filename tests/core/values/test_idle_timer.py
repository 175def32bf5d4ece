"""One timer for many waits."""

from __future__ import annotations

import asyncio

from assistant.core.values.idle_timer import IdleTimer


async def test_a_wait_that_takes_too_long_times_out_once_and_the_next_again() -> None:
    calls: list[str] = []
    idle_timer = IdleTimer(0.03, lambda: calls.append("long"))
    idle_timer.start()
    await asyncio.sleep(0.1)
    assert calls == ["long"]
    idle_timer.start()
    await asyncio.sleep(0.1)
    assert calls == ["long", "long"]


async def test_many_short_waits_do_not_time_out() -> None:
    calls: list[str] = []
    idle_timer = IdleTimer(0.1, lambda: calls.append("long"))
    for _ in range(30):
        idle_timer.start()
        await asyncio.sleep(0.01)
    idle_timer.stop()
    await asyncio.sleep(0.2)
    assert calls == []


async def test_after_close_nothing_is_called() -> None:
    calls: list[str] = []
    idle_timer = IdleTimer(0.02, lambda: calls.append("long"))
    idle_timer.start()
    idle_timer.close()
    await asyncio.sleep(0.05)
    assert calls == []
