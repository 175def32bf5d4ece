"""A time limit for many short waits together; it needs one timer and interrupts nothing but these waits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType


class DeadlinePassed(Exception):
    """The time limit of a `Deadline` was reached."""


class Deadline:
    """Raises `DeadlinePassed` in a wait inside `with deadline:` once the time is up.

    It can be entered again and again between the `yield`s of a generator. An `asyncio.timeout` around a `yield` would
    also interrupt the code that reads the generator.

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
