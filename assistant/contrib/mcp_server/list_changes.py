"""Detects changes of the lists that a member sees, of any cause and in any process.

While a client listens, the member's lists are built and compared with the previous ones every few seconds, and at once
after a switch was changed in this process. This covers switches, permissions, prompts, documents and other servers.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)
from pydantic import BaseModel

from assistant.contrib.mcp_server.direct_call import tools_for
from assistant.contrib.mcp_server.tenant_sources import all_sources
from assistant.contrib.mcp_server.tool_results import describe
from assistant.services.callers.connections import while_access_lasts
from assistant.services.connections import shutdown
from assistant.services.db.threads import in_database
from assistant.services.tenancy import change_notices
from assistant.services.tenancy.authentication import Caller
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.row_scope import tenant_scope
from assistant.toolkit.per_loop import PerLoop

logger = logging.getLogger(__name__)

# A change in another process is noticed after this long.
CHECK_SECONDS = 2.0
# The streams that a member may have open in this process.
MAX_STREAMS = 16

LISTS: Mapping[str, ServerEvent] = {
    "tools": ToolsListChanged(),
    "prompts": PromptsListChanged(),
    "resources": ResourcesListChanged(),
}
Snapshot = dict[str, str]


class TooManyStreams(Exception):
    """The member has `MAX_STREAMS` open already."""


@dataclass(eq=False, slots=True)
class Watch:
    """The changes for one stream: iterate over it until the member loses access.

    `lists` are some of "tools", "prompts" and "resources"; `watched` returns the URIs of single resources.
    """

    member: Member
    lists: Collection[str]
    watched: Callable[[], Iterable[str]]
    seen: Snapshot = field(default_factory=dict)
    queue: asyncio.Queue[ServerEvent | None] = field(default_factory=asyncio.Queue)

    def __aiter__(self) -> Watch:
        return self

    async def __anext__(self) -> ServerEvent:
        event = await self.queue.get()
        if event is None:
            raise StopAsyncIteration
        return event

    def close(self) -> None:
        self.queue.put_nowait(None)

    async def check(self) -> None:
        """Build the lists and queue an event for each change. What is seen for the first time causes none."""
        with tenant_scope(self.member.tenant_id):
            now = await _snapshot(self)
        for name, made in now.items():
            if self.seen.get(name, made) != made:
                self.queue.put_nowait(LISTS.get(name) or ResourceUpdated(uri=name))
        self.seen = now


async def _snapshot(watch: Watch) -> Snapshot:
    member, snapshot = watch.member, Snapshot()
    if "tools" in watch.lists:
        snapshot["tools"] = _digest(map(describe, await tools_for(member=member)))
    return snapshot | await in_database(_rows, member, watch.lists, list(watch.watched()))


def _rows(member: Member, lists: Collection[str], watched: Iterable[str]) -> Snapshot:
    snapshot, sources = Snapshot(), all_sources()
    if "prompts" in lists:
        snapshot["prompts"] = _digest(prompt for source in sources for prompt in source.prompts(member))
    if "resources" in lists:
        snapshot["resources"] = _digest(row for source in sources for row in source.resources(member))
    return snapshot | {uri: "".join(source.version(member, uri) for source in sources) for uri in watched}


def _digest(values: Iterable[BaseModel]) -> str:
    digest = hashlib.sha256()
    for line in sorted(value.model_dump_json() for value in values):
        digest.update(line.encode())
    return digest.hexdigest()


@dataclass(slots=True)
class _Watches:
    open: set[Watch] = field(default_factory=set)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    checker: asyncio.Task[None] | None = None


_watches_by_loop = PerLoop(_Watches)


@asynccontextmanager
async def watching(
    member: Member, lists: Collection[str], watched: Callable[[], Iterable[str]] = tuple
) -> AsyncIterator[Watch]:
    """Watch for changes, to the end of the block.

    Raises:
        TooManyStreams: the member listens on `MAX_STREAMS` already.
    """
    watches = _watches_by_loop.get()
    mine = [one for one in watches.open if one.member.user == member.user and one.member.tenant == member.tenant]
    if len(mine) >= MAX_STREAMS:
        raise TooManyStreams
    watch = Watch(member, lists, watched)
    # Before anything is awaited, so that simultaneous requests count each other.
    watches.open.add(watch)
    try:
        with while_access_lasts(Caller(member), watch.close):
            await watch.check()
            if watches.checker is None or watches.checker.done():
                watches.checker = asyncio.create_task(_check_all(watches), name="mcp-changes")
            yield watch
    finally:
        watches.open.discard(watch)


async def _check_all(watches: _Watches) -> None:
    loop = asyncio.get_running_loop()
    stop_listening = change_notices.add_listener(lambda: loop.call_soon_threadsafe(watches.wake.set))
    stop_awaiting = shutdown.add_listener(watches.wake.set)
    try:
        while watches.open:
            try:
                async with asyncio.timeout(CHECK_SECONDS):
                    await watches.wake.wait()
            except TimeoutError:
                pass
            watches.wake.clear()
            if shutdown.is_shutting_down():  # the server waits for open streams to end
                for watch in watches.open:
                    watch.close()
                return
            for watch in list(watches.open):
                try:
                    await watch.check()
                except Exception:  # a failing server of one member must not end the others' streams
                    logger.warning("The lists of an MCP client could not be checked", exc_info=True)
    finally:
        stop_listening()
        stop_awaiting()
