from __future__ import annotations

import asyncio

import pytest

from assistant.toolkit.per_loop import PerLoop


async def twice(holder: PerLoop[object]) -> tuple[object, object]:
    return holder.get(), holder.get()


def test_each_loop_has_one_value() -> None:
    holder = PerLoop(object)
    (first, again), (other, _) = asyncio.run(twice(holder)), asyncio.run(twice(holder))
    assert first is again and first is not other


async def test_a_value_can_be_replaced() -> None:
    holder = PerLoop(object)
    first = holder.get()
    holder.reset()
    assert holder.get() is not first
    assert holder.values() == [holder.get()]


def test_outside_of_a_loop_there_is_no_value() -> None:
    with pytest.raises(RuntimeError):
        PerLoop(object).get()
