"""One timer for many waits."""

from __future__ import annotations

import asyncio

from assistant.core.values.deadline import IdleTimer
from tests.toolkit.test_call import eventually


async def test_a_wait_that_takes_too_long_times_out_once_and_the_next_again() -> None:
    calls: list[str] = []
    idle_timer = IdleTimer(0.03, lambda: calls.append("long"))
    idle_timer.start()
    await eventually(lambda: calls == ["long"])
    idle_timer.start()
    await eventually(lambda: calls == ["long", "long"])


async def test_many_short_waits_do_not_time_out() -> None:
    calls: list[str] = []
    idle_timer = IdleTimer(0.5, lambda: calls.append("long"))
    for _ in range(20):
        idle_timer.start()
        await asyncio.sleep(0.05)
    idle_timer.since = None
    await asyncio.sleep(0.6)  # longer than a wait may take: that nothing comes can only be waited for
    assert calls == []


async def test_after_close_nothing_is_called() -> None:
    calls: list[str] = []
    idle_timer = IdleTimer(0.02, lambda: calls.append("long"))
    idle_timer.start()
    idle_timer.close()
    await asyncio.sleep(0.05)
    assert calls == []
