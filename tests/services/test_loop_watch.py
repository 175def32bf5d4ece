"""The watch measures how long the event loop is held, and names the task that holds it."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import AsyncIterator

import pytest
from prometheus_client import REGISTRY
from pytest_django import Settings

from assistant.services.loop_watch import LoopWatch


@pytest.fixture
async def watch() -> AsyncIterator[LoopWatch]:
    watch = LoopWatch()
    watch.start()
    await asyncio.sleep(0.12)
    yield watch
    watch.stop()


async def hold_the_loop(seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pass


def counted(task: str) -> float:
    return REGISTRY.get_sample_value("assistant_loop_held_seconds_count", {"task": task}) or 0.0


async def settled(task: str, before: float) -> None:
    async with asyncio.timeout(5):
        while counted(task) == before:
            await asyncio.sleep(0.01)


@pytest.mark.usefixtures("watch")
async def test_a_task_that_holds_the_loop_is_named(caplog: pytest.LogCaptureFixture) -> None:
    before = counted("hold_the_loop")
    with caplog.at_level(logging.WARNING, "assistant.loop"):
        await asyncio.create_task(hold_the_loop(0.6), name="greedy")
        await settled("hold_the_loop", before)
    assert counted("hold_the_loop") == before + 1
    assert (REGISTRY.get_sample_value("assistant_loop_held_seconds_sum", {"task": "hold_the_loop"}) or 0) > 0.5
    [line] = [record.getMessage() for record in caplog.records if "greedy" in record.getMessage()]
    assert "hold_the_loop" in line
    assert "test_loop_watch.hold_the_loop:" in line


@pytest.mark.usefixtures("watch")
async def test_a_task_that_waits_is_not_reported() -> None:
    async def wait_without_blocking() -> None:
        await asyncio.sleep(0.4)

    await asyncio.create_task(wait_without_blocking())
    assert not [
        sample
        for metric in REGISTRY.collect()
        for sample in metric.samples
        if "wait_without_blocking" in str(sample.labels)
    ]


async def test_stopping_ends_the_thread() -> None:
    others = set(threading.enumerate())
    watch = LoopWatch()
    watch.start()
    [thread] = [one for one in threading.enumerate() if one.name == "loop-watch" and one not in others]
    await asyncio.sleep(0.12)
    watch.stop()
    await asyncio.to_thread(thread.join, 10)
    assert not thread.is_alive()
    before = counted("hold_the_loop")
    await asyncio.create_task(hold_the_loop(0.4))
    await asyncio.sleep(0.2)
    assert counted("hold_the_loop") == before


async def test_an_operator_can_switch_it_off(settings: Settings) -> None:
    settings.LOOP_WATCH = False
    watch = LoopWatch()
    watch.start()
    before = counted("hold_the_loop")
    await asyncio.create_task(hold_the_loop(0.3))
    await asyncio.sleep(0.2)
    assert counted("hold_the_loop") == before
    watch.stop()
