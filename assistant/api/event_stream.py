"""One reader of a run's events: their seat, and how they are let out when they lose the right to be here."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager

from assistant.api.authentication import HttpRefusal
from assistant.services.connections import open_connections
from assistant.services.connections.connection_limits import SLOT_SECONDS, TooManyConnections
from assistant.services.connections.open_connections import OpenConnection, is_full
from assistant.services.eventlog.log import Entry
from assistant.services.run_key import RunKey
from assistant.services.runs.follow_run import run_entries
from assistant.services.runs.manager import get_runs
from assistant.services.tenancy.members import Member

# Whoever is no longer welcome is noticed this often, when nothing else happens.
IDLE_SECONDS = 1.0


@asynccontextmanager
async def seated(member: Member) -> AsyncIterator[None]:
    """A seat for one stream, as each websocket has one, until the block ends; or its stack is let go of.

    Raises:
        HttpRefusal: 429, as many connections are open as may be.
    """
    runs = get_runs()
    await runs.start()
    try:
        if is_full():
            raise TooManyConnections("The server has as many connections open as it may. Try again in a moment.")
        seat = await runs.connection_limiter.acquire(member)
    except TooManyConnections as exc:
        raise HttpRefusal(429, "too_many_requests", str(exc), retry_after=SLOT_SECONDS) from exc
    try:
        yield
    finally:
        await runs.connection_limiter.release(seat)


class Visit:
    """A member who reads a run; `session_key` and `session_hash` are set if a session speaks for them."""

    def __init__(self, member: Member, session_key: str = "", session_hash: str = "") -> None:
        self.is_welcome = True
        self._member = member
        self._presence = OpenConnection(member, self._leave, session_key, session_hash)

    def _leave(self) -> None:
        self.is_welcome = False

    async def entries(self, key: RunKey, after: int = 0, *, repaints: bool = False) -> AsyncGenerator[Entry | None]:
        """The run's events after number `after`; None after each second without one. Going away ends only this.

        `repaints`: a fresh picture is told in the place of events that are gone, as `run_entries` says.
        """
        member = self._member if repaints else None
        open_connections.register(self._presence)
        try:
            async with aclosing(run_entries(key=key, after=after, idle_seconds=IDLE_SECONDS, member=member)) as entries:
                async for entry in entries:
                    if not self.is_welcome:
                        return
                    yield entry
        finally:
            open_connections.unregister(self._presence)
