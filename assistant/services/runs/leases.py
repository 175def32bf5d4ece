"""Leases of runs, checkpoints, cancel requests, and taking over runs whose process died."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Max, Min, Q, QuerySet
from django.utils import timezone

from assistant.core.toolcalls.protocols import RunTakenOver
from assistant.models import Run, ToolCall
from assistant.models.runs import ACTIVE, IS_ACTIVE
from assistant.services.db.clock import ClockWatch, DatabaseTime, clock_watch, latest_database_time, read_clock
from assistant.services.roles import has_workers
from assistant.services.run_key import RunKey, key_of
from assistant.toolkit.context import UserId

# A process that has not renewed a run's lease for this long is regarded as dead. A run that dies in three processes,
# one after the other, still goes on within half a minute.
LEASE_SECONDS = 9.0
# How often a process renews the leases of its runs, and looks for dead ones. A run survives two missed renewals.
RENEWAL_SECONDS = 2.5
# The end of a lease that is written now, by the database's clock.
LEASE_END = DatabaseTime(LEASE_SECONDS)
# Shorter, because recovering a run takes milliseconds, and if that process dies too, readers wait for the next.
RECOVERY_LEASE_SECONDS = 5.0
# The owner of a run that its process gave up when it stopped.
HANDED_OVER = "handed over"
# A lease that ends so much later than one written now was written before the database's clock went back. Smaller steps
# back only delay the recovery of a dead run by as much.
MAX_STEP_BACK_SECONDS = 60.0
# Dead runs that one round of recovery takes over.
MAX_TAKEN = 20


class LostRun(RunTakenOver):
    """Another process has taken the run over, and this one must not write to it any more."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A run's partial answer, from `Transcript.to_state`, and the number of its last event."""

    key: RunKey
    partial: Mapping[str, Any]
    seq: int


# For many runs of a tenant on PostgreSQL. Django's `bulk_update`, with a CASE for each row, costs more than an UPDATE
# for each row.
_CHECKPOINTS = """
UPDATE assistant_run run SET partial = new.partial, checkpoint_seq = new.seq,
    lease_until = {lease_end}
FROM (VALUES {rows}) new (pk, owner, partial, seq)
WHERE run.tenant_id = %s AND run.id = new.pk AND run.lease_owner = new.owner AND run.status = ANY(%s)
    AND run.cancel_requested_at IS NULL
RETURNING run.id
"""
_LEASE_END_SQL, _ = LEASE_END.as_sql()
_ROW = "(%s::bigint, %s::text, %s::jsonb, %s::integer)"
# Another transaction may lock these rows in another order. Gives up before PostgreSQL looks for deadlocks, after 1 s.
_LOCK_TIMEOUT = "SET LOCAL lock_timeout = '100ms'"


def checkpoint_run(*, key: RunKey, partial: Mapping[str, Any], seq: int) -> bool:
    """Store a partial answer and renew the lease. Return whether the run is to be cancelled.

    Raises:
        LostRun: another process has taken the run over.
    """
    columns = {"partial": dict(partial), "checkpoint_seq": seq, "lease_until": LEASE_END}
    if held_run(key).filter(cancel_requested_at=None).update(**columns):
        return False
    if not held_run(key).update(**columns):
        raise LostRun(key.run_id)
    return True


@transaction.atomic
def checkpoint_runs(*, tenant_id: int, checkpoints: Sequence[Checkpoint]) -> set[int]:
    """Store checkpoints of many runs of one tenant with one statement, on PostgreSQL.

    Returns:
        The primary keys of the runs that were updated. Runs that are lost or to be cancelled are not.

    Raises:
        OperationalError: another transaction locked one of the runs for 100 ms; nothing was stored.
    """
    partial = Run._meta.get_field("partial")
    values: list[Any] = []
    for one in checkpoints:
        values += (one.key.pk, one.key.owner, partial.get_db_prep_save(dict(one.partial), connection), one.seq)
    values += (tenant_id, list(ACTIVE))
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_TIMEOUT)
        cursor.execute(_CHECKPOINTS.format(lease_end=_LEASE_END_SQL, rows=", ".join([_ROW] * len(checkpoints))), values)
        return {pk for (pk,) in cursor.fetchall()}


def hand_over_run(checkpoint: Checkpoint) -> bool:
    """Store a run's state and give it up, so that the next recovery goes on with it. Return False if it is lost."""
    kept = {"partial": dict(checkpoint.partial), "checkpoint_seq": checkpoint.seq}
    return bool(held_run(checkpoint.key).update(**kept, lease_owner=HANDED_OVER, lease_until=DatabaseTime()))


def claim_dead_run(*, key: RunKey, resumes: Sequence[Mapping[str, Any]]) -> bool:
    """Claim a dead run to go on with it. Return False if it is lost, or was cancelled meanwhile.

    Args:
        key: its owner is this process, by `take_over_dead_runs`.
        resumes: the run's record of all times that a process went on with it.
    """
    held = held_run(key).filter(cancel_requested_at=None)
    return bool(held.update(resumes=list(resumes), lease_until=LEASE_END))


def release_run(*, key: RunKey, owner: str = "") -> None:
    """Give up a run that cannot be started here; the next round of recovery takes it.

    Args:
        owner: `HANDED_OVER` for a run that was handed over.
    """
    release_taken(pk=key.pk, tenant_id=key.tenant_id, owner=key.owner, to=owner)


def release_taken(*, pk: int, tenant_id: int, owner: str, to: str = "") -> None:
    """Give up a run that the process `owner` has taken and cannot start, as `release_run` does."""
    # Without this process as owner, so that a renewal in progress does not extend the lease.
    held_by(pk=pk, tenant_id=tenant_id, owner=owner).update(lease_owner=to, lease_until=DatabaseTime())


def renew_leases(*, owner: str, runs: Sequence[int]) -> list[int]:
    """Renew the leases of a process's runs. Return the primary keys of those that are to be cancelled."""
    mine = Run.objects.filter(IS_ACTIVE, pk__in=runs, lease_owner=owner)
    mine.update(lease_until=LEASE_END)
    return list(mine.exclude(cancel_requested_at=None).values_list("pk", flat=True))


@dataclass(frozen=True, slots=True)
class DeadRun:
    """A run taken over from a dead process, with its last checkpoint and the number of the last event in it.

    Attributes:
        was_handed_over: its process gave it up when it stopped.
        lease_until: when its lease ended.
    """

    key: RunKey
    partial: Mapping[str, Any] | None
    checkpoint_seq: int
    was_handed_over: bool = False
    lease_until: datetime | None = None


def take_over_dead_runs(
    *,
    owner: str,
    alive: Collection[int] = (),
    since: float | None = None,
    limit: int = MAX_TAKEN,
    clock: ClockWatch = clock_watch,
    next_in: Callable[[float], object] = lambda seconds: None,
) -> list[DeadRun]:
    """Take over runs of all tenants whose lease has expired by the database's clock.

    After a jump of that clock none is taken over for the length of a lease, in which every live process renews its
    leases. A lease that ends much later than one written now was written before the clock went back: its run is taken
    over if nobody has renewed it in that time.

    Args:
        owner: the process that takes them over.
        alive: primary keys of the process's own runs, which are in progress even if their leases have expired.
        since: when leases have to have expired, by `time.monotonic()`; None for now.
        limit: the most runs to take over.
        clock: takes the reading of the database's clock.
        next_in: called with the seconds after which the next lease has expired, if nobody renews it.
    """
    leases: dict[str, Any] = {}
    behind = 0.0 if since is None else max(0.0, time.monotonic() - since)
    later = Q(lease_until__gt=DatabaseTime(-behind))

    def look() -> datetime:
        running = Run.objects.filter(IS_ACTIVE, lease_until__isnull=False)
        leases.update(
            running.aggregate(
                at=latest_database_time(),
                oldest=Min("lease_until"),
                next=Min("lease_until", filter=later),
                newest=Max("lease_until"),
            )
        )
        return leases["at"]  # type: ignore[no-any-return]

    reading = read_clock(look)
    clock.observe(reading)
    if leases["oldest"] is None or clock.seconds_since_jump() < LEASE_SECONDS:
        return []
    by = reading.database
    if since is not None:
        by -= timedelta(seconds=max(0.0, reading.steady[1] - since))
    if leases["next"] is not None:
        next_in((leases["next"] - by).total_seconds())
    dead, is_any = Q(lease_until__lt=by), leases["oldest"] < by
    if clock.watched_seconds() >= LEASE_SECONDS:
        latest = reading.database + timedelta(seconds=LEASE_SECONDS + MAX_STEP_BACK_SECONDS)
        dead, is_any = dead | Q(lease_until__gt=latest), is_any or leases["newest"] > latest
    return _take_over(owner, alive, dead, limit) if is_any else []


def _waits_for_others() -> Q:
    """Return the condition that a run of a dead process is in the shared queue, so that another may still start it."""
    since = DatabaseTime(-settings.ASSISTANT_RUN_QUEUE_SECONDS)
    waits = Q(status=Run.Status.QUEUED, is_shared=True, cancel_requested_at=None, started_at__gt=since)
    return waits if has_workers() else Q(pk__in=())


@transaction.atomic
def _take_over(owner: str, alive: Collection[int], dead: Q, limit: int) -> list[DeadRun]:
    expired = Run.objects.filter(IS_ACTIVE, dead, ~_waits_for_others())
    expired = expired.select_for_update(skip_locked=True, of=("self",))
    if alive:
        expired = expired.exclude(pk__in=alive)
    runs = list(expired.select_related("conversation").order_by("lease_until")[:limit])
    if not runs:
        return []
    Run.objects.filter(pk__in=[run.pk for run in runs]).update(
        lease_owner=owner, lease_until=DatabaseTime(RECOVERY_LEASE_SECONDS)
    )
    # By conversation, not by run: an approved call belongs to the earlier run that asked for approval. A conversation
    # has one active run at a time.
    threads = [run.conversation_id for run in runs]
    ToolCall.objects.filter(run__conversation__in=threads, status=ToolCall.Status.RUNNING).update(
        status=ToolCall.Status.INTERRUPTED, error="The server stopped while the tool was running."
    )
    return [
        DeadRun(key_of(run, owner), run.partial, run.checkpoint_seq, run.lease_owner == HANDED_OVER, run.lease_until)
        for run in runs
    ]


def request_cancel(*, tenant_id: int, user_id: UserId, run_id: str, assistant_id: int | None = None) -> list[int]:
    """Mark a member's running or queued runs with an id as to be cancelled. Return their primary keys.

    Args:
        assistant_id: only runs with this assistant; None for any.
    """
    named = Q(run_id=run_id) | Q(continues=run_id)
    running = Run.objects.filter(named, IS_ACTIVE, tenant_id=tenant_id, user_id=user_id)
    if assistant_id is not None:
        running = running.filter(assistant_id=assistant_id)
    pks = list(running.values_list("pk", flat=True))
    if pks:
        mark_for_cancel(running)
    return pks


def mark_for_cancel(runs: QuerySet[Run]) -> None:
    """Mark runs as to be cancelled. Their processes notice it with a checkpoint or when they renew leases."""
    runs.filter(cancel_requested_at=None).update(cancel_requested_at=timezone.now())


def held_run(key: RunKey) -> QuerySet[Run]:
    """Return the queryset of a run, empty unless `key.owner` holds it. All writes to an active run use it."""
    return held_by(pk=key.pk, tenant_id=key.tenant_id, owner=key.owner)


def held_by(*, pk: int, tenant_id: int, owner: str) -> QuerySet[Run]:
    """Return the queryset of a run, empty unless it has not ended and `owner` holds it."""
    return Run.objects.filter(IS_ACTIVE, pk=pk, tenant_id=tenant_id, lease_owner=owner)
