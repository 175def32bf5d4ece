"""Lets optional work wait until no run of the process waits for its model's first token."""

from __future__ import annotations

import asyncio

from assistant.toolkit.per_loop import PerLoop

# How long optional work waits. What has waited longer is left out: answers have priority.
IDLE_SECONDS = 60.0


class IdleMoments:
    """Knows which runs of one event loop wait for their first token."""

    def __init__(self) -> None:
        self._waiting: set[int] = set()
        self._is_idle = asyncio.Event()
        self._is_idle.set()

    def begin(self, pk: int) -> None:
        """Note that a run waits for its first token, until `end`."""
        self._waiting.add(pk)
        self._is_idle.clear()

    def end(self, pk: int) -> None:
        """Note that a run has its first token, or has ended; later calls do nothing."""
        self._waiting.discard(pk)
        if not self._waiting:
            self._is_idle.set()

    async def wait(self) -> None:
        """Wait for an idle moment. Raises `TimeoutError` if there is none within `IDLE_SECONDS`."""
        async with asyncio.timeout(IDLE_SECONDS):
            while self._waiting:
                await self._is_idle.wait()


idle_moments = PerLoop(IdleMoments)
