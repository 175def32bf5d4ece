"""Reads the events of one run to its end; the run may be in any process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from assistant.services.db.threads import in_database
from assistant.services.eventlog.log import Entry, Position
from assistant.services.run_key import RunKey
from assistant.services.runs.log_end_repair import append_missing_end
from assistant.services.runs.manager import get_runs
from assistant.services.runs.reading.stored_thread import stored_thread
from assistant.services.runs.reading.thread_snapshot import (
    SNAPSHOT_RETRY_SECONDS,
    Snapshot,
    build_snapshot,
    run_ending,
    run_state,
)
from assistant.services.tenancy.members import Member


async def run_entries(
    *, key: RunKey, after: int = 0, idle_seconds: float = 15.0, member: Member | None = None
) -> AsyncGenerator[Entry | None]:
    """Yield the run's events after number `after`, to its last one.

    Closing the generator does not affect the run.

    Args:
        idle_seconds: the longest time between two yields. None is yielded if no event has come by then.
        member: the owner of the run, for whom a snapshot takes the place of events that the log does not have any more.
            All frames of a snapshot but the last have number 0, because a reader needs all of them or none. Without a
            member, only the run's last event takes their place.
    """
    log = await get_runs().log.open(key.thread)
    position = Position(key.number, after)
    # A reader who asks for events after the last one has seen it. But after a loss of data in Redis, the last event may
    # have the number of another event that the reader has seen.
    may_have_seen_end = True
    with log.watching() as changed:
        while True:
            changed.clear()
            entries, is_snapshot = log.read(position), False
            if not log.holds(position if entries else Position(key.number, 0)):
                ending = await in_database(run_ending, key=key)
                if ending is not None and ending[0] == position.seq and may_have_seen_end:
                    return
                if ending is not None or (member is not None and entries):
                    entries, is_snapshot = await _newer_entries(key, ending, member, position), True
            for entry in entries:
                if entry.number != key.number:
                    return
                yield entry
                position, may_have_seen_end = entry.position, False
                if entry.is_end:
                    return
            if is_snapshot:
                if not log.holds(position):
                    await asyncio.sleep(SNAPSHOT_RETRY_SECONDS)
                    yield None
                continue
            try:
                async with asyncio.timeout(idle_seconds):
                    await changed.wait()
            except TimeoutError:
                # A run's task ends after its last event, so that the database need not be asked about own runs.
                is_own = get_runs().works_on(key.thread, key.run_id)
                end = None if is_own else await append_missing_end(key=key, log=get_runs().log)
                if end is not None and not log.read(position):
                    # The reader has seen the end, or at least as much of the run as was stored.
                    is_seen = end.position == position and may_have_seen_end
                    for entry in [] if is_seen else await _replacement(key, (end.seq, end.frame), member):
                        yield entry
                    return
                may_have_seen_end = False
                yield None


async def _snapshot(member: Member, key: RunKey) -> Snapshot:
    state = await in_database(run_state, key=key)
    thread_id = state.run.conversation_id
    stored = await in_database(stored_thread, member=member, thread_id=thread_id, until=key.number, with_added=True)
    return build_snapshot(state=state, log=await get_runs().log.open(key.thread), stored=stored)


async def _newer_entries(
    key: RunKey, ending: tuple[int, str] | None, member: Member | None, position: Position
) -> list[Entry]:
    """Return the replacement of missing events, or nothing if it ends before the reader's position."""
    entries = await _replacement(key, ending, member)
    return entries if entries[-1].is_end or entries[-1].position > position else []


async def _replacement(key: RunKey, ending: tuple[int, str] | None, member: Member | None) -> list[Entry]:
    """Return the entries in place of missing events: a snapshot, or without a member the run's last event."""
    if member is None:
        return [Entry(key.number, *ending)] if ending is not None else []
    snapshot = await _snapshot(member, key)
    *frames, last = snapshot.frames
    return [*(Entry(key.number, 0, frame) for frame in frames), Entry(*snapshot.position, last)]
