"""A time limit for each of many waits, with a single timer: it is set again when it fires, not for every wait."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class IdleTimer:
    """Calls back when one wait has taken too long.

    Args:
        seconds: how long a wait may take.
        on_timeout: called in the event loop, once for each wait that takes longer.
    """

    def __init__(self, seconds: float, on_timeout: Callable[[], None]) -> None:
        self._seconds = seconds
        self._on_timeout = on_timeout
        self._loop = asyncio.get_running_loop()
        self._since: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Start a wait; ends one that was under way."""
        self._since = self._loop.time()
        if self._timer is None:
            self._timer = self._loop.call_later(self._seconds, self._check)

    def stop(self) -> None:
        """End the wait."""
        self._since = None

    def close(self) -> None:
        """End the wait and cancel the timer."""
        self._since = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _check(self) -> None:
        self._timer = None
        if self._since is None:
            return
        remaining = self._since + self._seconds - self._loop.time()
        if remaining > 0:
            self._timer = self._loop.call_later(remaining, self._check)
        else:
            self._since = None
            self._on_timeout()
