"""Limits the progress notifications of external servers in rate and size."""

from __future__ import annotations

import asyncio
import math

from mcp.shared.dispatcher import ProgressFnT

from assistant.mcp_client.definitions import visible

# Minimum time between two reports of one call; reports in between are dropped.
PAUSE_SECONDS = 0.1
MAX_MESSAGE = 300


def throttled(listener: ProgressFnT) -> ProgressFnT:
    """Wrap `listener`: drops reports that come too often or are not finite numbers, and shortens messages."""
    next_report_at = -math.inf

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        nonlocal next_report_at
        now = asyncio.get_running_loop().time()
        if now < next_report_at or not math.isfinite(progress):
            return
        next_report_at = now + PAUSE_SECONDS
        finite_total = total if total is not None and math.isfinite(total) else None
        await listener(progress, finite_total, visible(message)[:MAX_MESSAGE] if message else None)

    return listen
