"""Recovers runs whose process died: they go on here, or end as interrupted with the known part of the answer."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass

from assistant.core.conversation.transcript import Transcript
from assistant.core.values.events import PROTOCOL_VERSION, RunError, RunStarted
from assistant.core.values.untrusted import ReadText
from assistant.services.conversations.stored_messages import with_unsealed_states
from assistant.services.db.threads import in_database
from assistant.services.eventlog.frames import FrameEncoder, decode_event
from assistant.services.eventlog.log import Entry, EventLog, Fenced, Position
from assistant.services.outage_errors import OUTAGE_ERRORS
from assistant.services.runs.closing import close_run, ending_of
from assistant.services.runs.leases import DeadRun, LostRun, take_over_dead_runs
from assistant.services.runs.recovery.recovered_calls import AuditedCall, audited_calls, earlier_sources, reconcile
from assistant.services.runs.run_task import INTERRUPTED
from assistant.services.toolcalls.run_journal import record_delegations

logger = logging.getLogger(__name__)

# How many event numbers are skipped after a loss of events: more than a run writes between two checkpoints.
SKIPPED_NUMBERS = 1_000_000
# Runs that a process recovers at the same time.
AT_ONCE = 5


@dataclass(frozen=True, slots=True)
class KnownRun:
    """What is known of a dead run, from its checkpoint, its log and the audit.

    Attributes:
        audited: its tool calls in the audit.
        seq: the number after which its events go on.
        end: its last event, if clients have seen it, but the database could not be written.
        is_started: whether it has written an event. A process may die between opening a run and writing its first.
    """

    dead: DeadRun
    transcript: Transcript
    audited: list[AuditedCall]
    seq: int
    end: RunError | None
    is_started: bool


# Goes on with a run in this process, or leaves it to another one; returns False if it has to end.
Resume = Callable[[KnownRun], Awaitable[bool]]


async def recover_dead_runs(
    *,
    log: EventLog,
    owner: str,
    alive: Collection[int] = (),
    since: float | None = None,
    resume: Resume | None = None,
    next_in: Callable[[float], object] = lambda seconds: None,
) -> int:
    """Recover runs whose lease has expired. Return how many there were.

    Args:
        owner: the id of this process.
        alive: primary keys of this process's own runs.
        since: when leases have to have expired, by `time.monotonic()`; None for now.
        resume: goes on with them; None to end all as interrupted.
        next_in: called as `take_over_dead_runs` calls it.
    """
    dead = await in_database(take_over_dead_runs, owner=owner, alive=alive, since=since, next_in=next_in)
    turn, outages = asyncio.Semaphore(AT_ONCE), list[Exception]()

    async def recover(run: DeadRun) -> None:
        async with turn:
            if outages:
                return  # the next one would wait as long and fail too
            try:
                await _recover(run, log, resume)
            except (LostRun, Fenced):
                logger.warning("Run %s was recovered by another process", run.key.run_id)
            except (*OUTAGE_ERRORS, OSError) as exc:
                outages.append(exc)
            except Exception:
                # One run that cannot be stored must not prevent the recovery of the others.
                logger.exception("Run %s of tenant %s could not be recovered", run.key.run_id, run.key.tenant_id)

    await asyncio.gather(*map(recover, dead))
    if outages:
        raise outages[0]
    return len(dead)


async def _recover(dead: DeadRun, log: EventLog, resume: Resume | None) -> None:
    run, key = await read_dead_run(dead, log), dead.key
    if run.end is not None:
        await _store(run, run.end, run.seq)
        logger.warning("Run %s of tenant %s is stored now: it ended during an outage", key.run_id, key.tenant_id)
    elif resume is None or not await resume(run):
        await _interrupt(run, log)


async def read_dead_run(dead: DeadRun, log: EventLog) -> KnownRun:
    """Return what is known of a run that this process has taken over."""
    key = dead.key
    thread_log = await log.open_for_recovery(key.thread, key.number)
    transcript = Transcript.from_state(with_unsealed_states(dead.partial)) if dead.partial else Transcript()
    if not dead.partial:
        transcript.read = ReadText(await in_database(earlier_sources, key=key))
    audited = await in_database(audited_calls, key=key)
    for one in audited:
        # The log's events do not have them.
        transcript.mark_result(one.call.id, one.sources)
    seq, end = dead.checkpoint_seq, None
    # The log may have events after the checkpoint, which clients have seen.
    for entry in thread_log.read(Position(key.number, seq)):
        if entry.number == key.number and entry.seq == seq + 1:
            event, seq = decode_event(entry.frame), entry.seq
            if isinstance(event, RunError):
                end = event
            else:
                transcript.apply(event)
    last = thread_log.last
    latest = max(seq, last.seq if last is not None and last.number == key.number else 0)
    if last != Position(key.number, seq) and end is None:
        # Events that clients have seen may be lost. Their numbers must not be used again, or these clients would take
        # the new events for ones that they have. All clients get a snapshot in place of the missing events.
        seq = latest + SKIPPED_NUMBERS
    return KnownRun(dead, transcript, audited, seq, end, is_started=latest > 0)


async def _interrupt(run: KnownRun, log: EventLog) -> None:
    """End a run as interrupted: store what is known of its answer, and write the events that close it."""
    key, seq = run.dead.key, run.seq
    encoder = FrameEncoder(run_id=key.run_id, thread=key.client_thread)
    ending = RunError(INTERRUPTED, code="interrupted")
    opening = [] if run.is_started else [RunStarted(key.client_thread, key.client_run, PROTOCOL_VERSION)]
    closing = [*opening, *reconcile(run.transcript, run.audited), ending]
    entries = [Entry(key.number, seq + n, encoder.frame(event, seq + n)) for n, event in enumerate(closing, start=1)]
    await _store(run, ending, entries[-1].seq)
    writer = log.writer(key.thread, lambda: None)
    for entry in entries:
        writer.write(entry)
    await writer.flush()
    logger.warning("Run %s of tenant %s was interrupted by the end of its process", key.run_id, key.tenant_id)


async def _store(run: KnownRun, ending: RunError, last_seq: int) -> None:
    transcript, key = run.transcript, run.dead.key
    await in_database(
        close_run,
        key=key,
        messages=transcript.messages,
        usage=transcript.usage,
        ending=ending_of(ending),
        last_seq=last_seq,
    )
    if transcript.sub_agents is not None:
        await in_database(record_delegations, key=key, asked=transcript.sub_agents.by_call())
