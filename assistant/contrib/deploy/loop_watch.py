"""Measures how long the event loop is held, and names the task and tool that hold it.

Tells a process that did not run at all, such as after SIGSTOP, from one whose loop was held.

A timer on the loop measures its own delay. A thread samples what runs while the loop is still held.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from dataclasses import dataclass
from types import FrameType

from assistant.services import gauges
from assistant.services.metrics import BoundedLabel, Series
from assistant.toolkit.context import tool_of_task

logger = logging.getLogger("assistant.loop")

# The timer's interval, and the delay from which a loop counts as held.
INTERVAL_SECONDS = 0.05
HELD_SECONDS = 0.1
# The shortest time between two log lines; the metric counts every case.
LOG_SECONDS = 1.0
# If the sampling thread is also late by this much, no task held the loop: the whole process did not run.
STOPPED_SECONDS = 2.0
UNKNOWN = "unknown"
IDLE = "idle"

_coroutine = BoundedLabel(100)
_tool = BoundedLabel(500)
_held_seconds = Series(
    "assistant_loop_held_seconds",
    "How long a task held the event loop, from 100 ms on, by its coroutine.",
    ("task",),
    buckets=(0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
)
_tool_held_seconds = Series("assistant_tool_held_loop_seconds", "Seconds that a tool held the event loop.", ("tool",))
_stopped_seconds = Series("assistant_stopped_seconds", "Seconds in which this process did not run at all.")


class _Longest:
    """The longest of some durations, since it was last read."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def record(self, seconds: float) -> None:
        self._seconds = max(self._seconds, seconds)

    def take(self) -> float:
        seconds = self._seconds
        self._seconds = 0.0
        return seconds


_delay = _Longest()
gauges.watch(
    "assistant_loop_longest_delay_seconds",
    "The latest that a timer of the event loop was since this was last read.",
    _delay.take,
)


@dataclass(frozen=True, slots=True)
class LoopHolder:
    """What ran while the loop was held: the task's name, its coroutine, the place in the code, and the tool, if any."""

    task: str = UNKNOWN
    coroutine: str = UNKNOWN
    place: str = ""
    tool: str = ""


class LoopWatch:
    """Watches the running event loop from `start` to `stop`."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._measured_at = 0.0
        self._logged_at = 0.0
        self._holder: LoopHolder | None = None
        self._sampled_at = time.monotonic()
        self._gap = 0.0
        self._processor_seconds = 0.0
        self._loop_thread = 0
        self._stopped = threading.Event()

    def start(self) -> None:
        """Watch the running loop; later calls do nothing."""
        if self._loop is not None:
            return
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._measure()
        threading.Thread(target=self._sample, name="loop-watch", daemon=True).start()

    async def stop(self) -> None:
        """Stop watching."""
        self._stopped.set()
        if self._timer is not None:
            self._timer.cancel()

    def _measure(self) -> None:
        assert self._loop is not None  # noqa: S101 - set before the first call  # nosec B101
        now = time.monotonic()
        late = now - self._measured_at - INTERVAL_SECONDS if self._measured_at else 0.0
        holder, self._holder, self._measured_at = self._holder, None, now
        was_stopped = late > STOPPED_SECONDS and self._was_stopped(now)
        self._gap, self._processor_seconds = 0.0, time.process_time()
        _delay.record(late)
        if was_stopped:
            self._report_stop(late)
        elif late > HELD_SECONDS:
            self._report(late, holder or LoopHolder())
        self._timer = self._loop.call_later(INTERVAL_SECONDS, self._measure)

    def _was_stopped(self, now: float) -> bool:
        """Whether nothing of the process ran, neither the thread that samples nor code that kept it from running."""
        gap = max(self._gap, now - self._sampled_at)
        return gap > STOPPED_SECONDS and time.process_time() - self._processor_seconds < gap / 2

    def _report_stop(self, seconds: float) -> None:
        _stopped_seconds.add(amount=seconds)
        logger.warning(
            "This process did not run for %.1f s: it was stopped, or its machine was suspended or overloaded. "
            "Other processes end its runs if that takes longer than leases last.",
            seconds,
        )

    def _report(self, seconds: float, holder: LoopHolder) -> None:
        _held_seconds.add(_coroutine(holder.coroutine), amount=seconds)
        if holder.tool:
            _tool_held_seconds.add(_tool(holder.tool), amount=seconds)
        if self._measured_at - self._logged_at >= LOG_SECONDS:
            self._logged_at = self._measured_at
            if holder.task == UNKNOWN:
                logger.warning(
                    "The event loop was late by %d ms, and no task was running: its machine gave this process no time, "
                    "or a callback took it (at %s)",
                    seconds * 1000,
                    holder.place or UNKNOWN,
                )
                return
            logger.warning(
                "The event loop was held for %d ms by %sthe task %s (%s) at %s",
                seconds * 1000,
                f"the tool {holder.tool} in " if holder.tool else "",
                holder.task,
                holder.coroutine,
                holder.place or UNKNOWN,
            )

    def _sample(self) -> None:
        """Record the running task as soon as the timer is late. Runs in a thread of its own."""
        while not self._stopped.wait(INTERVAL_SECONDS / 2):
            now = time.monotonic()
            self._gap, self._sampled_at = max(self._gap, now - self._sampled_at), now
            if self._holder is None and now - self._measured_at > INTERVAL_SECONDS + HELD_SECONDS / 2:
                self._holder = self._running_task()

    def _running_task(self) -> LoopHolder:
        frame = sys._current_frames().get(self._loop_thread)
        place = _place(frame)
        try:
            task = asyncio.current_task(self._loop)
        except RuntimeError:
            task = None
        if task is None:
            # A callback ran, or nothing did, because the machine gave this process no time.
            return LoopHolder(
                UNKNOWN, IDLE if frame is not None and "select" in frame.f_code.co_name else UNKNOWN, place
            )
        coroutine = task.get_coro()
        name = getattr(coroutine, "__qualname__", type(coroutine).__name__)
        return LoopHolder(task.get_name(), name, place, tool_of_task(task))


def _place(frame: FrameType | None) -> str:
    if frame is None:
        return ""
    code = frame.f_code
    return f"{frame.f_globals.get('__name__', '?')}.{code.co_name}:{frame.f_lineno}"
