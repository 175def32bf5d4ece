"""A time limit across many short waits; it takes one timer and only interrupts within a wait."""

from __future__ import annotations

import asyncio
from types import TracebackType


class DeadlinePassed(Exception):
    """The time limit of a `Deadline` was reached."""


class Deadline:
    """Interrupts a wait inside `with deadline:` by `DeadlinePassed` once the time is up.

    Unlike `asyncio.timeout` it can be used across the `yield`s of a generator, where a timeout would interrupt the code
    that reads the generator.

    Args:
        seconds: from now; 0 for no limit.
    """

    def __init__(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self.at = loop.time() + seconds if seconds else None
        self._timer = loop.call_at(self.at, self._pass) if self.at is not None else None
        self._task: asyncio.Task[object] | None = None
        self._cancelling = 0
        self._has_passed = False
        self._has_cancelled = False

    def remaining(self) -> float:
        """Seconds that are left; infinite without a limit."""
        return float("inf") if self.at is None else max(0.0, self.at - asyncio.get_running_loop().time())

    def check(self) -> None:
        """Raise `DeadlinePassed` if the time is up."""
        if self._has_passed:
            raise DeadlinePassed

    def close(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def _pass(self) -> None:
        self._has_passed = True
        if self._task is not None:
            self._has_cancelled = True
            self._task.cancel()

    def __enter__(self) -> None:
        if self._has_passed:
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
