"""The end of a stored run, told to its readers where the log lacks it."""

from __future__ import annotations

from contextlib import suppress

from assistant.services.db.threads import in_database
from assistant.services.eventlog.log import Entry, EventLog, Fenced, ThreadLog
from assistant.services.run_key import RunKey
from assistant.services.runs.thread_snapshot import run_before, run_ending


async def append_missing_end(*, key: RunKey, log: EventLog) -> Entry | None:
    """Put a stored run's last event into the log if it is missing there; returns it, or None while the run is running.

    A process can be killed after it has stored a run and before it has told of that. Nobody finishes such a run again.
    And Redis can lose events that were shown: whoever finished the run then did so before them.
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
        with suppress(Fenced):  # it was told in this moment
            await writer.flush()
    return end


async def append_missing_end_before_run(*, key: RunKey, log: EventLog, thread_log: ThreadLog) -> None:
    """Before a run begins: put the end of the run before it into the log if it is missing there.

    A run is stored before its end is told, and the next one can be opened in between. Nothing is told of a run any more
    once the log has events of the next one.
    """
    if thread_log.lacks_end_of(key.number - 1):
        before = await in_database(run_before, key=key)
        if before is not None:
            await append_missing_end(key=before, log=log)
