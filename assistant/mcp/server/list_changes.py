"""Notices when what a member would be listed has changed, whoever changed it and in whichever process.

While somebody listens, the member's lists are made anew now and then, at once after a switch was turned in this
process, and compared with what they were. So switches, permissions, prompts, documents and outside servers all count.
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

from assistant.mcp.server.tenant_sources import every_source
from assistant.mcp.server.tool_results import describe
from assistant.services.callers.connections import while_access_lasts
from assistant.services.connections import shutdown
from assistant.services.db.threads import in_database
from assistant.services.tenancy import change_notices
from assistant.services.tenancy.authentication import Caller
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.row_scope import tenant_scope
from assistant.services.toolcalls.direct_call import tools_for
from assistant.toolkit.per_loop import PerLoop

logger = logging.getLogger(__name__)

# How soon a change in another process is noticed.
SWEEP_SECONDS = 2.0
# Streams that a member may keep open to this process.
MAX_STREAMS = 16

LISTS: Mapping[str, ServerEvent] = {
    "tools": ToolsListChanged(),
    "prompts": PromptsListChanged(),
    "resources": ResourcesListChanged(),
}
Snapshot = dict[str, str]


class TooManyStreams(Exception):
    """The member listens on as many streams as they may already."""


@dataclass(eq=False, slots=True)
class Watch:
    """One stream that listens: iterate over it for what has changed, until the member is no longer welcome.

    `lists` are of "tools", "prompts" and "resources"; `watched` gives the addresses of single resources.
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

    async def look(self) -> None:
        """Make the lists anew, and tell what has changed; what was not watched before is only remembered."""
        with tenant_scope(self.member.tenant_id):
            now = await _picture(self)
        for name, made in now.items():
            if self.seen.get(name, made) != made:
                self.queue.put_nowait(LISTS.get(name) or ResourceUpdated(uri=name))
        self.seen = now


async def _picture(watch: Watch) -> Snapshot:
    member, picture = watch.member, Snapshot()
    if "tools" in watch.lists:
        picture["tools"] = _digest(map(describe, await tools_for(member=member)))
    return picture | await in_database(_rows, member, watch.lists, list(watch.watched()))


def _rows(member: Member, lists: Collection[str], watched: Iterable[str]) -> Snapshot:
    picture, sources = Snapshot(), every_source()
    if "prompts" in lists:
        picture["prompts"] = _digest(prompt for source in sources for prompt in source.prompts(member))
    if "resources" in lists:
        picture["resources"] = _digest(row for source in sources for row in source.resources(member))
    return picture | {uri: "".join(source.version(member, uri) for source in sources) for uri in watched}


def _digest(values: Iterable[BaseModel]) -> str:
    digest = hashlib.sha256()
    for line in sorted(value.model_dump_json() for value in values):
        digest.update(line.encode())
    return digest.hexdigest()


@dataclass(slots=True)
class _Room:
    watches: set[Watch] = field(default_factory=set)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    sweeper: asyncio.Task[None] | None = None


_rooms = PerLoop(_Room)


@asynccontextmanager
async def watching(
    member: Member, lists: Collection[str], watched: Callable[[], Iterable[str]] = tuple
) -> AsyncIterator[Watch]:
    """Notice every change from now on.

    Raises:
        TooManyStreams: the member listens on `MAX_STREAMS` already.
    """
    room = _rooms.get()
    mine = [one for one in room.watches if one.member.user == member.user and one.member.tenant == member.tenant]
    if len(mine) >= MAX_STREAMS:
        raise TooManyStreams
    watch = Watch(member, lists, watched)
    # Before anything is awaited: of those that come at once, each is to count the others.
    room.watches.add(watch)
    try:
        with while_access_lasts(Caller(member), watch.close):
            await watch.look()
            if room.sweeper is None or room.sweeper.done():
                room.sweeper = asyncio.create_task(_sweep(room), name="mcp-changes")
            yield watch
    finally:
        room.watches.discard(watch)


async def _sweep(room: _Room) -> None:
    loop = asyncio.get_running_loop()
    stop_listening = change_notices.add_listener(lambda: loop.call_soon_threadsafe(room.wake.set))
    stop_awaiting = shutdown.add_listener(room.wake.set)
    try:
        while room.watches:
            try:
                async with asyncio.timeout(SWEEP_SECONDS):
                    await room.wake.wait()
            except TimeoutError:
                pass
            room.wake.clear()
            if shutdown.is_shutting_down():  # the server waits for open streams, and tells them nothing of it
                for watch in room.watches:
                    watch.close()
                return
            for watch in list(room.watches):
                try:
                    await watch.look()
                except Exception:  # one member's outside server must not end the others' streams
                    logger.warning("The lists of an MCP client could not be looked at", exc_info=True)
    finally:
        stop_listening()
        stop_awaiting()
