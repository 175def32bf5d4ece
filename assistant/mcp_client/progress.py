"""What an outside server tells of a call's progress, as far as it is passed on: numbers, short words, now and then."""

from __future__ import annotations

import asyncio
import math

from mcp.shared.dispatcher import ProgressFnT

from assistant.mcp_client.definitions import visible

# Seconds between two reports of one call; what comes in between is dropped.
PAUSE_SECONDS = 0.1
MAX_MESSAGE = 300


def throttled(listener: ProgressFnT) -> ProgressFnT:
    """`listener` for a server that may tell too much, too often, or what is no number."""
    quiet_until = -math.inf

    async def told(progress: float, total: float | None, message: str | None) -> None:
        nonlocal quiet_until
        now = asyncio.get_running_loop().time()
        if now < quiet_until or not math.isfinite(progress):
            return
        quiet_until = now + PAUSE_SECONDS
        whole = total if total is not None and math.isfinite(total) else None
        await listener(progress, whole, visible(message)[:MAX_MESSAGE] if message else None)

    return told
