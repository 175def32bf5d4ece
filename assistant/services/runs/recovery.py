"""Recovers runs whose process died: stores the known part of the answer as interrupted, and frees the thread."""

from __future__ import annotations

import logging
from collections.abc import Collection

from assistant.core.conversation.transcript import Transcript
from assistant.core.values.events import PROTOCOL_VERSION, RunError, RunStarted
from assistant.core.values.untrusted import ReadText
from assistant.services.db.threads import in_database
from assistant.services.errors import OUTAGE_ERRORS
from assistant.services.eventlog.frames import FrameEncoder, decode_event
from assistant.services.eventlog.log import Entry, EventLog, Fenced, Position
from assistant.services.runs.closing import close_run, ending_of
from assistant.services.runs.leases import DeadRun, LostRun, take_over_dead_runs
from assistant.services.runs.recovered_calls import audited_calls, earlier_sources, reconcile
from assistant.services.runs.run_task import INTERRUPTED
from assistant.services.toolcalls.run_journal import record_delegations

logger = logging.getLogger(__name__)

# How many event numbers are skipped after a loss of events: more than a run writes between two checkpoints.
SKIPPED_NUMBERS = 1_000_000


async def recover_dead_runs(
    *, log: EventLog, owner: str, alive: Collection[int] = (), since: float | None = None
) -> int:
    """End runs whose lease has expired as `interrupted`. Return how many there were.

    Args:
        owner: the id of this process.
        alive: primary keys of this process's own runs.
        since: when leases have to have expired, by `time.monotonic()`; None for now.
    """
    dead = await in_database(take_over_dead_runs, owner=owner, alive=alive, since=since)
    for run in dead:
        try:
            await _recover(run, log)
        except (LostRun, Fenced):
            logger.warning("Run %s was recovered by another process", run.key.run_id)
        except (*OUTAGE_ERRORS, OSError):
            raise  # each of the other runs would wait as long and fail too
        except Exception:
            # One run that cannot be stored must not prevent the recovery of the others.
            logger.exception("Run %s of tenant %s could not be recovered", run.key.run_id, run.key.tenant_id)
    return len(dead)


async def _recover(run: DeadRun, log: EventLog) -> None:
    key = run.key
    thread_log = await log.open_for_recovery(key.thread, key.number)
    transcript = Transcript.from_state(run.partial) if run.partial else Transcript()
    if not run.partial:
        transcript.read = ReadText(await in_database(earlier_sources, key=key))
    audited = await in_database(audited_calls, key=key)
    for one in audited:
        # The log's events do not have them.
        transcript.mark_result(one.call.id, one.sources)
    seq, end = run.checkpoint_seq, None
    # The log may have events after the checkpoint, which clients have seen.
    for entry in thread_log.read(Position(key.number, seq)):
        if entry.number == key.number and entry.seq == seq + 1:
            event, seq = decode_event(entry.frame), entry.seq
            if isinstance(event, RunError):
                end = event
            else:
                transcript.apply(event)
    if end is not None:
        # Clients have seen its end, when the database could not be written.
        await _store(run, transcript, end, seq)
        logger.warning("Run %s of tenant %s is stored now: it ended during an outage", key.run_id, key.tenant_id)
        return
    # A process may die between opening a run and writing its first event.
    is_started = seq > 0
    if thread_log.last != Position(key.number, seq):
        # Events that clients have seen may be lost. Their numbers must not be used again, or these clients would take
        # the new events for ones that they have. All clients get a snapshot in place of the missing events.
        seq += SKIPPED_NUMBERS
    encoder = FrameEncoder(run_id=key.run_id, thread=key.client_thread)
    ending = RunError(INTERRUPTED, code="interrupted")
    opening = [] if is_started else [RunStarted(key.client_thread, key.client_run, PROTOCOL_VERSION)]
    closing = [*opening, *reconcile(transcript, audited), ending]
    entries = [Entry(key.number, seq + n, encoder.frame(event, seq + n)) for n, event in enumerate(closing, start=1)]
    await _store(run, transcript, ending, entries[-1].seq)
    writer = log.writer(key.thread, lambda: None)
    for entry in entries:
        writer.write(entry)
    await writer.flush()
    logger.warning("Run %s of tenant %s was interrupted by the end of its process", key.run_id, key.tenant_id)


async def _store(run: DeadRun, transcript: Transcript, ending: RunError, last_seq: int) -> None:
    await in_database(
        close_run,
        key=run.key,
        messages=transcript.messages,
        usage=transcript.usage,
        ending=ending_of(ending),
        last_seq=last_seq,
    )
    await in_database(record_delegations, key=run.key, asked=transcript.sub_agents.by_call())
