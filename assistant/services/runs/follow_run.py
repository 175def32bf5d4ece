"""Reads one run's events to their end, wherever the run is worked on; a reader that goes away ends only this."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator

from assistant.services.db.threads import in_database
from assistant.services.eventlog.log import Entry, Position
from assistant.services.run_key import RunKey
from assistant.services.runs.log_end_repair import append_missing_end
from assistant.services.runs.manager import get_runs
from assistant.services.runs.thread_snapshot import (
    SNAPSHOT_RETRY_SECONDS,
    Snapshot,
    build_snapshot,
    run_ending,
    run_state,
    stored_thread,
)
from assistant.services.tenancy.members import Member


async def run_entries(
    *, key: RunKey, after: int = 0, patience: float = 15.0, member: Member | None = None
) -> AsyncGenerator[Entry | None]:
    """The run's events after number `after`, to its end; None whenever nothing has come for `patience` seconds or less.

    If events in between are no longer in the log, `member`, whose run it is, gets a fresh picture in their place: all
    its frames but the last have number 0, for a reader must have all of them. Without a member only the end is told.
    """
    log = await get_runs().log.open(key.thread)
    position = Position(key.number, after)
    # Whoever asks for what comes after the end has seen it. But if Redis lost data, the end may have a number that
    # something else had before, which the reader has seen.
    may_have_seen_end = True
    with log.watching() as changed:
        while True:
            changed.clear()
            entries, is_painted = log.read(position), False
            if not log.holds(position if entries else Position(key.number, 0)):
                ending = await in_database(run_ending, key=key)
                if ending is not None and ending[0] == position.seq and may_have_seen_end:
                    return
                if ending is not None or (member is not None and entries):
                    entries, is_painted = await _news(key, ending, member, position), True
            for entry in entries:
                if entry.number != key.number:
                    return
                yield entry
                position, may_have_seen_end = entry.position, False
                if entry.is_end:
                    return
            if is_painted:
                if not log.holds(position):
                    await asyncio.sleep(SNAPSHOT_RETRY_SECONDS)
                    yield None
                continue
            try:
                async with asyncio.timeout(patience):
                    await changed.wait()
            except TimeoutError:
                end = await append_missing_end(key=key, log=get_runs().log)
                if end is not None and not log.read(position):
                    # The reader has seen its end already, or as much of the run as was kept, or more.
                    is_seen = end.position == position and may_have_seen_end
                    for entry in [] if is_seen else await _shown(key, (end.seq, end.frame), member):
                        yield entry
                    return
                may_have_seen_end = False
                yield None


async def _picture(member: Member, key: RunKey) -> Snapshot:
    state = await in_database(run_state, key=key)
    thread_id = state.run.conversation_id
    stored = await in_database(stored_thread, member=member, thread_id=thread_id, until=key.number)
    return build_snapshot(state=state, log=await get_runs().log.open(key.thread), stored=stored)


async def _news(key: RunKey, ending: tuple[int, str] | None, member: Member | None, position: Position) -> list[Entry]:
    """What is shown to a reader who has come so far, in the place of events that are gone; nothing if it is no more."""
    shown = await _shown(key, ending, member)
    return shown if shown[-1].is_end or shown[-1].position > position else []


async def _shown(key: RunKey, ending: tuple[int, str] | None, member: Member | None) -> list[Entry]:
    """What stands for events that are not there any more: a picture, or, if there is no member, the run's end alone."""
    if member is None:
        return [Entry(key.number, *ending)] if ending is not None else []
    picture = await _picture(member, key)
    *frames, last = picture.frames
    return [*(Entry(key.number, 0, frame) for frame in frames), Entry(*picture.position, last)]
