"""Says which task held the event loop, and for how long: everybody else in the process waited for it.

A timer on the loop notices that it was late. A thread notices while the loop is still held, and looks at what runs.
"""

from __future__ import annotations

import asyncio
import logging
import sys
import threading
import time
from dataclasses import dataclass
from types import FrameType

from django.conf import settings

from assistant.services import metrics

logger = logging.getLogger("assistant.loop")

# Seconds between two looks of the timer, and from which delay on a loop counts as held.
LOOK_SECONDS = 0.05
HELD_SECONDS = 0.1
# At most one line in the log in so many seconds; everything is counted.
LOG_SECONDS = 1.0
NOBODY = "unknown"
IDLE = "idle"


@dataclass(frozen=True, slots=True)
class Culprit:
    """What ran while the loop was held: the task's name, its coroutine, and the place in the code."""

    task: str = NOBODY
    coroutine: str = NOBODY
    place: str = ""


class LoopWatch:
    """Watches the running event loop from `start` to `stop`."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._beat = 0.0
        self._logged_at = 0.0
        self._culprit: Culprit | None = None
        self._loop_thread = 0
        self._ends = threading.Event()

    def start(self) -> None:
        """Begin to watch the loop that this is called on, unless `LOOP_WATCH` is off; the second call does nothing."""
        if self._loop is not None or not settings.LOOP_WATCH:
            return
        self._loop = asyncio.get_running_loop()
        self._loop_thread = threading.get_ident()
        self._look()
        threading.Thread(target=self._sample, name="loop-watch", daemon=True).start()

    def stop(self) -> None:
        """End it."""
        self._ends.set()
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        assert self._loop is not None  # noqa: S101 - set before the first call  # nosec B101
        now = time.monotonic()
        late = now - self._beat - LOOK_SECONDS if self._beat else 0.0
        culprit, self._culprit, self._beat = self._culprit, None, now
        metrics.record_delay(late)
        if late > HELD_SECONDS:
            self._tell(late, culprit or Culprit())
        self._timer = self._loop.call_later(LOOK_SECONDS, self._look)

    def _tell(self, seconds: float, culprit: Culprit) -> None:
        metrics.count_held(culprit.coroutine, seconds)
        if self._beat - self._logged_at >= LOG_SECONDS:
            self._logged_at = self._beat
            logger.warning(
                "The event loop was held for %d ms by the task %s (%s) at %s",
                seconds * 1000,
                culprit.task,
                culprit.coroutine,
                culprit.place or NOBODY,
            )

    def _sample(self) -> None:
        """In a thread: note what runs as soon as the timer is late."""
        while not self._ends.wait(LOOK_SECONDS / 2):
            if self._culprit is None and time.monotonic() - self._beat > LOOK_SECONDS + HELD_SECONDS / 2:
                self._culprit = self._what_runs()

    def _what_runs(self) -> Culprit:
        frame = sys._current_frames().get(self._loop_thread)
        place = _place(frame)
        try:
            task = asyncio.current_task(self._loop)
        except RuntimeError:
            task = None
        if task is None:
            # A callback, or nothing at all: the machine itself had no time for this process.
            return Culprit(NOBODY, IDLE if frame is not None and "select" in frame.f_code.co_name else NOBODY, place)
        coroutine = task.get_coro()
        return Culprit(task.get_name(), getattr(coroutine, "__qualname__", type(coroutine).__name__), place)


def _place(frame: FrameType | None) -> str:
    if frame is None:
        return ""
    code = frame.f_code
    return f"{frame.f_globals.get('__name__', '?')}.{code.co_name}:{frame.f_lineno}"
