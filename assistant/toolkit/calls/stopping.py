"""Stops tasks that run foreign code, without waiting for longer than such code deserves."""

from __future__ import annotations

import asyncio
from typing import Any

# How long a cancelled tool may take to clean up.
GRACE_SECONDS = 5.0

# Tasks that went on after their grace; asyncio itself keeps only weak references to tasks.
_left: set[asyncio.Task[Any]] = set()


async def stop(task: asyncio.Task[Any], grace: float) -> bool:
    """Cancel a task and wait for its end for `grace` seconds; also if the caller is cancelled meanwhile.

    Returns:
        Whether it has ended. Otherwise it runs on, and nothing waits for it, not even the end of the program: what
        ignores one cancellation would ignore that of `asyncio.run` too, which waits without a limit.
    """
    task.cancel()
    try:
        await asyncio.wait({task}, timeout=grace)
    finally:
        if not task.done():
            _left.add(task)
            task.add_done_callback(_left.discard)
            # Source: https://docs.python.org/3/library/asyncio-extending.html#task-lifetime-support
            asyncio.tasks._unregister_task(task)
    return task.done()
