"""Connections that stay open: each counts against its member's limit, and ends when its caller loses access."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial

from assistant.services.connections import open_connections
from assistant.services.connections.connection_limits import TooManyConnections
from assistant.services.connections.open_connections import OpenConnection, is_full
from assistant.services.db.threads import in_database
from assistant.services.runs.busy_threads import WaitingInput
from assistant.services.runs.manager import get_runs
from assistant.services.runs.opening.busy_thread import ThreadBusy
from assistant.services.runs.run_input import RunInput
from assistant.services.tenancy.authentication import Caller
from assistant.services.tenancy.members import Member


@asynccontextmanager
async def connection_slot(member: Member) -> AsyncIterator[None]:
    """Count one open connection of a tenant and its member until the end of the block.

    Raises:
        TooManyConnections: the tenant, the member or this process has reached its limit of open connections.
    """
    runs = get_runs()
    await runs.start()
    if is_full():
        raise TooManyConnections("The server has reached its limit of open connections. Try again in a moment.")
    slot = await runs.connection_limiter.acquire(member)
    try:
        yield
    finally:
        await runs.connection_limiter.release(slot)


@contextmanager
def while_access_lasts(caller: Caller, on_access_lost: Callable[[], None]) -> Iterator[None]:
    """Check every few seconds, to the end of the block, that the caller still has access.

    `on_access_lost` is called in the event loop as soon as the tenant, the member, the key, the session or the token
    has ended.
    """
    connection = _connection(caller, on_access_lost)
    open_connections.register(connection)
    try:
        yield
    finally:
        open_connections.unregister(connection)


def waiting_input(busy: ThreadBusy, caller: Caller, *, assistant_slug: str, given: RunInput) -> WaitingInput:
    """Return an input of a caller that waits for its thread, as `busy` says, while the caller has access."""
    return WaitingInput(
        busy,
        member=caller.member,
        assistant_slug=assistant_slug,
        given=given,
        has_access=partial(has_access, caller),
        while_access_lasts=partial(while_access_lasts, caller),
    )


async def has_access(caller: Caller) -> bool:
    """Return whether a caller still has access at this moment."""
    return not await in_database(open_connections.without_access, [_connection(caller, lambda: None)])


def _connection(caller: Caller, on_access_lost: Callable[[], None]) -> OpenConnection:
    return OpenConnection(
        member=caller.member,
        close=on_access_lost,
        session_key=caller.session_key,
        session_hash=caller.session_hash,
        assistant_id=caller.member.assistant_id if caller.origin else None,
        origin=caller.origin,
        until=caller.until,
    )
