"""The watch measures how long the event loop is held, and names the task that holds it."""

from __future__ import annotations

import asyncio
import logging
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator

import pytest
from prometheus_client import REGISTRY

from assistant.contrib.deploy.loop_watch import LoopWatch
from assistant.contrib.metrics.prometheus import exposition
from assistant.services.loop_services import new_services
from assistant.toolkit import ToolContext, tool
from assistant.toolkit.context import use_context


@pytest.fixture
async def watch() -> AsyncIterator[LoopWatch]:
    watch = LoopWatch()
    watch.start()
    await asyncio.sleep(0.12)
    yield watch
    await watch.stop()


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
    await watch.stop()
    await asyncio.to_thread(thread.join, 10)
    assert not thread.is_alive()
    before = counted("hold_the_loop")
    await asyncio.create_task(hold_the_loop(0.4))
    await asyncio.sleep(0.2)
    assert counted("hold_the_loop") == before


def test_it_runs_in_every_server_process() -> None:
    assert [type(one).__name__ for one in new_services()].count("LoopWatch") == 1


@pytest.mark.usefixtures("watch")
async def test_of_a_callback_the_line_says_that_no_task_ran(caplog: pytest.LogCaptureFixture) -> None:
    before = counted("unknown")
    with caplog.at_level(logging.WARNING, "assistant.loop"):
        asyncio.get_running_loop().call_soon(time.sleep, 0.6)
        await settled("unknown", before)
    assert any("no task was running" in record.getMessage() for record in caplog.records)


@pytest.mark.usefixtures("watch")
async def test_a_tool_that_holds_the_loop_is_named(caplog: pytest.LogCaptureFixture) -> None:
    @tool
    async def crunch() -> str:
        """Compute without a pause."""
        await hold_the_loop(0.6)
        return "done"

    with caplog.at_level(logging.WARNING, "assistant.loop"):
        await asyncio.create_task(crunch.call({}, ToolContext()), name="call-crunch")
        async with asyncio.timeout(5):
            while not (held := REGISTRY.get_sample_value("assistant_tool_held_loop_seconds_total", {"tool": "crunch"})):
                await asyncio.sleep(0.01)
    assert held > 0.4
    assert "by the tool crunch in the task call-crunch" in caplog.text


@pytest.mark.usefixtures("watch")
async def test_a_tool_is_named_for_a_task_that_it_started(caplog: pytest.LogCaptureFixture) -> None:
    @tool
    async def delegate() -> str:
        """Compute in a task of its own."""
        await asyncio.create_task(hold_the_loop(0.6))
        return "done"

    with caplog.at_level(logging.WARNING, "assistant.loop"):
        await delegate.call({}, ToolContext())
        async with asyncio.timeout(5):
            while "The event loop was held" not in caplog.text:
                await asyncio.sleep(0.01)
    # Before Python 3.12 tasks do not show their context, so that only the task is named.
    assert ("by the tool delegate in the task" in caplog.text) == (sys.version_info >= (3, 12))


def test_a_tool_that_leaves_threads_is_logged_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    end = threading.Event()
    with caplog.at_level(logging.WARNING, "assistant.loop"), use_context(ToolContext(), "forgetful"):
        for _ in range(12):
            threading.Thread(target=end.wait, daemon=True).start()
    assert "The tool forgetful has left 12 threads running after its calls" in caplog.text
    assert 'assistant_tool_threads{tool="forgetful"} 12.0' in exposition().decode()
    end.set()


STOPPED = """
import asyncio, logging, sys, django
django.setup()
from assistant.contrib.deploy import loop_watch
loop_watch.STOPPED_SECONDS = 0.5
logging.getLogger("assistant.loop").addHandler(logging.StreamHandler(sys.stdout))

async def main():
    watch = loop_watch.LoopWatch()
    watch.start()
    await asyncio.sleep(0.3)
    print("watching", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline)
    await asyncio.sleep(0.3)
    await watch.stop()

asyncio.run(main())
"""


def test_a_process_that_was_stopped_is_told_from_a_task_that_holds_the_loop() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", STOPPED], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "watching\n"
        process.send_signal(signal.SIGSTOP)
        time.sleep(1.5)
        process.send_signal(signal.SIGCONT)
        said, _ = process.communicate("\n", timeout=60)
    assert "This process did not run for" in said
    assert "The event loop was held" not in said
