"""Tells open chats when operators switch a tool off for everyone, or on again, in whatever process.

While threads are followed, the switches are read every few seconds, and at once after a change in this process. That
finds the end of a switch too, which nobody sets off.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from assistant.services.db.threads import in_database
from assistant.services.eventlog.log import TOOLS, ThreadLog
from assistant.services.tenancy import change_notices
from assistant.services.toolpolicy.blocks import Block, read_blocks
from assistant.toolkit.per_loop import PerLoop

logger = logging.getLogger(__name__)

CHECK_SECONDS = 3.0


@dataclass(slots=True)
class _Watched:
    """The followed logs of one event loop, how often each is followed, and the switches as they were read last."""

    logs: Counter[ThreadLog] = field(default_factory=Counter)
    blocks: Mapping[str, Block] = field(default_factory=dict)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    checker: asyncio.Task[None] | None = None


_watched_by_loop = PerLoop(_Watched)


def are_tools_off() -> bool:
    """Return whether any tool was switched off for everyone when that was last read."""
    return bool(_watched_by_loop.get().blocks)


def watch_tools(log: ThreadLog) -> Callable[[], None]:
    """Notify a log's readers of each change of the switches, until the returned function is called."""
    watched = _watched_by_loop.get()
    watched.logs[log] += 1
    if watched.checker is None or watched.checker.done():
        # An empty context: the task must not inherit the tenant of the connection that starts it.
        watched.checker = asyncio.create_task(_check(watched), name="tool-switches", context=contextvars.Context())

    def stop() -> None:
        watched.logs[log] -= 1
        if not watched.logs[log]:
            del watched.logs[log]

    return stop


async def _check(watched: _Watched) -> None:
    loop = asyncio.get_running_loop()
    stop_listening = change_notices.add_listener(lambda: loop.call_soon_threadsafe(watched.wake.set))
    try:
        while watched.logs:
            watched.wake.clear()
            try:
                blocks = await in_database(read_blocks)
            except Exception:
                logger.warning("Which tools are switched off could not be read", exc_info=True)
            else:
                if blocks != watched.blocks:
                    watched.blocks = blocks
                    for log in list(watched.logs):
                        log.notify_change(TOOLS)
            try:
                async with asyncio.timeout(CHECK_SECONDS):
                    await watched.wake.wait()
            except TimeoutError:
                pass
    finally:
        stop_listening()
