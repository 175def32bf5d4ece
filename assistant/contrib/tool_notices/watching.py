"""Tells open chats when a tool is switched off with a reason, or on again, in whatever process.

For everyone, or for the tenant or the assistant of the chat.

While threads are followed, the switches are read every few seconds, and at once after a change in this process. That
finds the end of a switch too, which nobody sets off.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from assistant.contrib.tool_notices.off_switches import read_tenants_blocks
from assistant.services.db.threads import in_database
from assistant.services.eventlog.log import ThreadLog
from assistant.services.tenancy import change_notices
from assistant.services.tenancy.row_scope import tenant_scope
from assistant.services.toolpolicy.blocks import Block, read_blocks
from assistant.toolkit.per_loop import PerLoop

logger = logging.getLogger(__name__)

CHECK_SECONDS = 3.0


# By assistant (None: the whole tenant) and tool.
TenantBlocks = Mapping[tuple[int | None, str], Block]


@dataclass(slots=True)
class _Watched:
    """The followed logs of one event loop by tenant, how often each is followed, and the switches as last read."""

    logs: Counter[tuple[int, ThreadLog]] = field(default_factory=Counter)
    blocks: Mapping[str, Block] = field(default_factory=dict)
    of_tenants: Mapping[int, TenantBlocks] = field(default_factory=dict)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    checker: asyncio.Task[None] | None = None


_watched_by_loop = PerLoop(_Watched)


def watch_tools(tenant_id: int, log: ThreadLog) -> tuple[bool, Callable[[], None]]:
    """Notify a log's readers of each change of the switches, until the returned function is called.

    Returned is also whether any tool was switched off for everyone, or in the tenant, when that was last read.
    """
    watched = _watched_by_loop.get()
    followed = (tenant_id, log)
    watched.logs[followed] += 1
    if tenant_id not in watched.of_tenants:
        watched.wake.set()
    if watched.checker is None or watched.checker.done():
        # An empty context: the task must not inherit the tenant of the connection that starts it.
        watched.checker = asyncio.create_task(_check(watched), name="tool-switches", context=contextvars.Context())

    def stop() -> None:
        watched.logs[followed] -= 1
        if not watched.logs[followed]:
            del watched.logs[followed]

    return bool(watched.blocks or watched.of_tenants.get(tenant_id)), stop


async def _check(watched: _Watched) -> None:
    loop = asyncio.get_running_loop()
    stop_listening = change_notices.add_listener(lambda: loop.call_soon_threadsafe(watched.wake.set))
    try:
        while watched.logs:
            watched.wake.clear()
            try:
                blocks, of_tenants = await in_database(_read, {tenant for tenant, _ in watched.logs})
            except Exception:
                logger.warning("Which tools are switched off could not be read", exc_info=True)
            else:
                changed = [
                    log
                    for tenant, log in watched.logs
                    if blocks != watched.blocks or of_tenants.get(tenant, {}) != watched.of_tenants.get(tenant, {})
                ]
                watched.blocks = blocks
                watched.of_tenants = of_tenants
                for log in changed:
                    log.notify_change("tools")
            try:
                async with asyncio.timeout(CHECK_SECONDS):
                    await watched.wake.wait()
            except TimeoutError:
                pass
    finally:
        stop_listening()


def _read(tenants: Collection[int]) -> tuple[Mapping[str, Block], Mapping[int, TenantBlocks]]:
    with tenant_scope(*tenants):
        return read_blocks(), read_tenants_blocks(tenants)
