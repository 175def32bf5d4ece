"""A time limit for each of many waits, with one timer that is set anew when it fires, not for every wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class IdleTimer:
    """Calls back when one wait has taken too long.

    Args:
        seconds: that a wait may take.
        on_too_long: called in the event loop; once for a wait.
    """

    def __init__(self, seconds: float, on_too_long: Callable[[], None]) -> None:
        self._seconds = seconds
        self._on_too_long = on_too_long
        self._loop = asyncio.get_running_loop()
        self._since: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """A wait begins; one that was under way is over."""
        self._since = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._look)

    def end(self) -> None:
        """Nobody waits."""
        self._since = None

    def close(self) -> None:
        """Let go of the timer."""
        self._since = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        self._timer = None
        if self._since is None:
            return
        left = self._since + self._seconds - self._loop.time()
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
        else:
            self._since = None
            self._on_too_long()
