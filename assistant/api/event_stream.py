"""Reads a run's events for an HTTP request, in a connection slot, until the caller loses access."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager

from assistant.api.authentication import HttpRefusal
from assistant.services.callers.connections import connection_slot, while_access_lasts
from assistant.services.connections.connection_limits import SLOT_SECONDS, TooManyConnections
from assistant.services.eventlog.log import Entry
from assistant.services.run_key import RunKey
from assistant.services.runs.follow_run import run_entries
from assistant.services.tenancy.authentication import Caller
from assistant.services.tenancy.members import Member

# While the run has no events, a reader's access is checked this often.
IDLE_SECONDS = 1.0


@asynccontextmanager
async def stream_slot(member: Member) -> AsyncIterator[None]:
    """Hold one of the member's connection slots, which websockets use too, for the block.

    Raises:
        HttpRefusal: 429, too many connections are open.
    """
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(connection_slot(member))
        except TooManyConnections as exc:
            raise HttpRefusal(429, "too_many_requests", str(exc), retry_after=SLOT_SECONDS) from exc
        yield


class RunReader:
    """Reads a run for a caller; `has_access` becomes false when the caller loses access."""

    def __init__(self, caller: Caller) -> None:
        self.has_access = True
        self._caller = caller

    def _lose_access(self) -> None:
        self.has_access = False

    async def entries(self, key: RunKey, after: int = 0, *, repaints: bool = False) -> AsyncGenerator[Entry | None]:
        """Yield the run's events after number `after`, and None after each second without one.

        Closing the generator does not affect the run. `repaints`: yield a snapshot in place of events that are no
        longer stored, as `run_entries` does.
        """
        member = self._caller.member if repaints else None
        entries = run_entries(key=key, after=after, idle_seconds=IDLE_SECONDS, member=member)
        with while_access_lasts(self._caller, self._lose_access):
            async with aclosing(entries):
                async for entry in entries:
                    if not self.has_access:
                        return
                    yield entry
