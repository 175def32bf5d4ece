"""Limits the progress notifications of external servers in rate and size."""

from __future__ import annotations

import asyncio
import math

from mcp.shared.dispatcher import ProgressFnT

from assistant.mcp_client.definitions import visible

# Minimum time between two reports of one call; of those in between the last is told.
PAUSE_SECONDS = 0.1
MAX_MESSAGE = 300


class ThrottledProgress:
    """Passes the reports of one call on to `listener`, but none that comes too soon after another.

    The newest of those is passed on by `flush`. Reports that are no finite numbers are dropped, messages shortened.
    """

    def __init__(self, listener: ProgressFnT) -> None:
        self._listener = listener
        self._next_report_at = -math.inf
        self._held: tuple[float, float | None, str | None] | None = None

    async def __call__(self, progress: float, total: float | None, message: str | None) -> None:
        if not math.isfinite(progress):
            return
        finite_total = total if total is not None and math.isfinite(total) else None
        self._held = (progress, finite_total, visible(message)[:MAX_MESSAGE] if message else None)
        now = asyncio.get_running_loop().time()
        if now >= self._next_report_at:
            self._next_report_at = now + PAUSE_SECONDS
            await self.flush()

    async def flush(self) -> None:
        """Pass the newest report on, if it is held back; called when the call has ended."""
        if self._held is not None:
            held = self._held
            self._held = None
            await self._listener(*held)
