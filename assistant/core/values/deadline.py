"""Time limits: of many short waits together, of each of many waits, and of work without a pause for others."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType


class DeadlinePassed(Exception):
    """The time limit of a `Deadline` was reached."""


class Deadline:
    """Raises `DeadlinePassed` in a wait inside `with deadline:` once the time is up.

    It needs one timer, and interrupts nothing but these waits. It can be entered again and again between the `yield`s
    of a generator. An `asyncio.timeout` around a `yield` would also interrupt the code that reads the generator.

    Args:
        seconds: 0 for no limit.
        spent: how many of them are over already.

    Attributes:
        at: when the time is up, by the loop's clock; None without a limit.
        has_passed: whether the time is up.
    """

    def __init__(self, seconds: float, *, spent: float = 0.0) -> None:
        loop = asyncio.get_running_loop()
        self.at = loop.time() + seconds - spent if seconds else None
        self._timer = loop.call_at(self.at, self._time_out) if self.at is not None else None
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0
        self.has_passed = self.at is not None and spent >= seconds
        self._has_cancelled = False

    def remaining(self) -> float:
        """Return the seconds that are left; infinite without a limit."""
        return float("inf") if self.at is None else max(0.0, self.at - asyncio.get_running_loop().time())

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Let the time of a block count for nothing: the limit moves by as much as the block took."""
        if self.at is None or self.has_passed:
            with self:
                yield
            return
        loop = asyncio.get_running_loop()
        begun = loop.time()
        self.close()
        try:
            yield
        finally:
            self.at += loop.time() - begun
            self._timer = loop.call_at(self.at, self._time_out)

    def close(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def _time_out(self) -> None:
        self.has_passed = True
        if self._task is not None:
            self._has_cancelled = True
            self._task.cancel()

    def __enter__(self) -> None:
        if self.has_passed:
            raise DeadlinePassed
        self._task = task = asyncio.current_task()
        self._cancelling = task.cancelling() if task is not None else 0

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        task, self._task = self._task, None
        if self._has_cancelled and task is not None:
            self._has_cancelled = False
            if task.uncancel() <= self._cancelling and kind is asyncio.CancelledError:
                raise DeadlinePassed from exc


# Of work without a pause. One piece of it must be bounded in itself.
SLICE_SECONDS = 0.01


@dataclass(slots=True)
class TimeSlice:
    """How long a coroutine has worked since it last let the event loop serve others."""

    _began: float = field(default_factory=time.monotonic)

    async def pause(self) -> None:
        """Let the loop serve others if the work has taken `SLICE_SECONDS`. Call this between its pieces."""
        if time.monotonic() - self._began > SLICE_SECONDS:
            await asyncio.sleep(0)
            self._began = time.monotonic()


@dataclass(eq=False, slots=True)
class IdleTimer:
    """Calls back when one wait has taken too long. Its timer is set again when it fires, not for every wait.

    Attributes:
        seconds: how long a wait may take.
        on_timeout: called in the event loop, once for each wait that takes longer.
        since: when the wait began, by the loop's clock. Set None to end it.
    """

    seconds: float
    on_timeout: Callable[[], None]
    since: float | None = field(default=None, init=False)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop, init=False)
    _timer: asyncio.TimerHandle | None = field(default=None, init=False)

    def start(self) -> None:
        """Start a wait; ends one that was under way."""
        self.since = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_later(self.seconds, self._check)

    def close(self) -> None:
        """End the wait and cancel the timer."""
        self.since = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        self._timer = None
        if self.since is None:
            return
        remaining = self.since + self.seconds - self._loop.time()
        if remaining > 0:
            self._timer = self._loop.call_later(remaining, self._check)
        else:
            self.since = None
            self.on_timeout()
