"""Lets the event loop serve others during a coroutine's long work."""

from __future__ import annotations

import asyncio
import time

# Of work without a pause. One piece of it must be bounded in itself.
SLICE_SECONDS = 0.01


class TimeSlice:
    """How long a coroutine has worked since it last let the event loop serve others."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    async def pause(self) -> None:
        """Let the loop serve others if the work has taken `SLICE_SECONDS`. Call this between its pieces."""
        if time.monotonic() - self._began > SLICE_SECONDS:
            await asyncio.sleep(0)
            self._began = time.monotonic()
