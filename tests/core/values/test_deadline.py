from __future__ import annotations

import asyncio

import pytest

from assistant.core.values.deadline import Deadline, DeadlinePassed


async def test_a_wait_ends_when_the_time_is_up() -> None:
    deadline = Deadline(0.01)
    with pytest.raises(DeadlinePassed), deadline:
        await asyncio.Event().wait()
    assert asyncio.current_task().cancelling() == 0  # type: ignore[union-attr]


async def test_between_waits_nothing_happens_until_the_next_one() -> None:
    deadline = Deadline(0.01)
    await asyncio.sleep(0.02)
    with pytest.raises(DeadlinePassed), deadline:
        pytest.fail("this wait must not begin")


async def test_without_a_limit_there_is_no_timer() -> None:
    deadline = Deadline(0)
    with deadline:
        await asyncio.sleep(0)
    assert deadline.remaining() == float("inf")


async def test_a_cancel_from_outside_in_the_same_moment_stays_a_cancel() -> None:
    async def wait() -> None:
        deadline = Deadline(0.01)
        asyncio.get_running_loop().call_at(deadline.at or 0, asyncio.current_task().cancel)  # type: ignore[union-attr]
        with deadline:
            await asyncio.Event().wait()

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(wait())


async def test_a_paused_time_counts_for_nothing() -> None:
    deadline = Deadline(0.05)
    before = deadline.remaining()
    with deadline.paused():
        await asyncio.sleep(0.1)
    assert 0 < deadline.remaining() <= before
    with pytest.raises(DeadlinePassed), deadline:
        await asyncio.Event().wait()


async def test_a_time_that_is_up_is_not_paused() -> None:
    deadline = Deadline(0.01)
    await asyncio.sleep(0.02)
    with pytest.raises(DeadlinePassed), deadline.paused():
        pytest.fail("this wait must not begin")
