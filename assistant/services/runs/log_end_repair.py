"""Prepares the event log for runs, and appends the last event of stored runs where it is missing."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from assistant.services.db.threads import in_database
from assistant.services.eventlog.log import Entry, EventLog, Fenced, ThreadLog
from assistant.services.run_key import RunKey
from assistant.services.runs.reading.thread_snapshot import run_before, run_ending

# The time to prepare the event log for a run, including its retries.
PREPARE_SECONDS = 60.0


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


async def prepare_log(*, key: RunKey, log: EventLog) -> None:
    """Prepare the event log for a run. Raises `TimeoutError` after `PREPARE_SECONDS`."""
    async with asyncio.timeout(PREPARE_SECONDS):
        thread_log = await log.start_run(key.thread, key.number)
        await _append_missing_end_before_run(key=key, log=log, thread_log=thread_log)


async def _append_missing_end_before_run(*, key: RunKey, log: EventLog, thread_log: ThreadLog) -> None:
    """Append the last event of the run before `key`'s if it is missing.

    A run is stored before its last event is written, and the next run can be opened in between. Once the log has events
    of the next run, the event could not be appended any more.
    """
    if thread_log.lacks_end_of(key.number - 1):
        before = await in_database(run_before, key=key)
        if before is not None:
            await append_missing_end(key=before, log=log)
