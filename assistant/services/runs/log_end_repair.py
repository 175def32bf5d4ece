"""Appends the last event of stored runs to the event log where it is missing."""

from __future__ import annotations

from contextlib import suppress

from assistant.services.db.threads import in_database
from assistant.services.eventlog.log import Entry, EventLog, Fenced
from assistant.services.run_key import RunKey
from assistant.services.runs.reading.thread_snapshot import run_before, run_ending


async def append_missing_end(*, key: RunKey, log: EventLog) -> Entry | None:
    """Append a stored run's last event to the log if it is missing. Return it; None while the run is running.

    It is missing if the process was killed between storing the run and writing the event, or if Redis has lost data.
    """
    ending = await in_database(run_ending, key=key)
    if ending is None:
        return None
    end = Entry(key.number, *ending)
    thread_log = await log.open(key.thread)
    if thread_log.last is not None and thread_log.last.number == key.number:
        thread_log.forget_after(end.position)
    if thread_log.last is None or thread_log.last < end.position:
        writer = log.writer(key.thread, lambda: None)
        writer.write(end)
        with suppress(Fenced):  # another process has just appended it
            await writer.flush()
    return end


async def append_missing_end_before(*, key: RunKey, log: EventLog) -> None:
    """Append the last event of the run before `key`'s, which the log lacks."""
    before = await in_database(run_before, key=key)
    if before is not None:
        await append_missing_end(key=before, log=log)
