"""Limits the progress notifications of outside servers in rate and size."""

from __future__ import annotations

import asyncio
import math

from mcp.shared.dispatcher import ProgressFnT

from assistant.mcp_client.definitions import visible

# Between two reports of one call; others are dropped.
PAUSE_SECONDS = 0.1
MAX_MESSAGE = 300


def throttled(listener: ProgressFnT) -> ProgressFnT:
    """Wrap `listener`: drops reports that come too often or are not finite numbers, and shortens messages."""
    quiet_until = -math.inf

    async def listen(progress: float, total: float | None, message: str | None) -> None:
        nonlocal quiet_until
        now = asyncio.get_running_loop().time()
        if now < quiet_until or not math.isfinite(progress):
            return
        quiet_until = now + PAUSE_SECONDS
        whole = total if total is not None and math.isfinite(total) else None
        await listener(progress, whole, visible(message)[:MAX_MESSAGE] if message else None)

    return listen
