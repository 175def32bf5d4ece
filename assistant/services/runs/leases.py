"""Who works on a run: leases, checkpoints, cancel requests, and runs whose process died."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from assistant.models import Run, ToolCall
from assistant.services.db.prepared_queries import PreparedQuery
from assistant.services.db.prepared_writes import PreparedUpdate
from assistant.services.run_key import RunKey, key_of
from assistant.toolkit.context import UserId

# A run whose process has not renewed its lease for this long is taken for dead.
LEASE = timedelta(seconds=15)
# Finishing a dead run takes milliseconds; whoever dies over it too must not make its reader wait for as long again.
RECOVERY_LEASE = timedelta(seconds=5)


class LostRun(Exception):
    """The run was taken over by another process; nothing of it may be written here any more."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A run's answer so far, as `Transcript.to_state` has it, and the number of its last event."""

    key: RunKey
    partial: Mapping[str, Any]
    seq: int


def _uncancelled(*, pk: int, tenant_id: int, owner: str) -> QuerySet[Run]:
    return held_by(pk=pk, tenant_id=tenant_id, owner=owner).filter(cancel_requested_at=None)


# Of every running answer, every second or few.
_CHECKPOINT = PreparedUpdate(_uncancelled, "partial", "checkpoint_seq", "lease_until", pk=int, tenant_id=int, owner=str)

# The same of many runs of one tenant on PostgreSQL: Django's own way to it, CASE by CASE, costs more than one by one.
_CHECKPOINTS = """
UPDATE assistant_run run SET partial = new.partial, checkpoint_seq = new.seq, lease_until = %s
FROM (VALUES {rows}) new (pk, owner, partial, seq)
WHERE run.tenant_id = %s AND run.id = new.pk AND run.lease_owner = new.owner AND run.status = %s
    AND run.cancel_requested_at IS NULL
RETURNING run.id
"""
_ROW = "(%s::bigint, %s::text, %s::jsonb, %s::integer)"
# Whoever holds one of these runs may want another of them: we give way before PostgreSQL looks for deadlocks (1 s).
_LOCK_TIMEOUT = "SET LOCAL lock_timeout = '100ms'"


def checkpoint_run(*, key: RunKey, partial: Mapping[str, Any], seq: int) -> bool:
    """Keep the answer so far and renew the lease. Returns whether somebody asked to cancel the run.

    Raises:
        LostRun: another process has taken the run over.
    """
    kept = {"partial": dict(partial), "checkpoint_seq": seq, "lease_until": timezone.now() + LEASE}
    if _CHECKPOINT.update(to=kept, pk=key.pk, tenant_id=key.tenant_id, owner=key.owner):
        return False
    if not held(key).update(**kept):
        raise LostRun(key.run_id)
    return True


@transaction.atomic
def checkpoint_runs(*, tenant_id: int, checkpoints: Sequence[Checkpoint]) -> set[int]:
    """The same for many runs of one tenant, by one statement, on PostgreSQL.

    Returns:
        The keys of the runs whose answers were kept; runs that are lost or to be cancelled are not among them.

    Raises:
        OperationalError: somebody else held one of the runs for 100 ms; nothing was kept.
    """
    partial = Run._meta.get_field("partial")
    values: list[Any] = [timezone.now() + LEASE]
    for one in checkpoints:
        values += (one.key.pk, one.key.owner, partial.get_db_prep_save(dict(one.partial), connection), one.seq)
    values += (tenant_id, Run.Status.RUNNING)
    with connection.cursor() as cursor:
        cursor.execute(_LOCK_TIMEOUT)
        cursor.execute(_CHECKPOINTS.format(rows=", ".join([_ROW] * len(checkpoints))), values)
        return {pk for (pk,) in cursor.fetchall()}


def release(*, key: RunKey) -> None:
    """Give up a run that was never begun: the next look for dead runs ends it."""
    # No owner's any more, lest a renewal that is under way keeps it.
    held(key).update(lease_owner="", lease_until=timezone.now())


def renew_leases(*, owner: str, runs: Sequence[int]) -> list[int]:
    """Say that this process still works on its runs; returns those that somebody asked to cancel."""
    mine = Run.objects.filter(pk__in=runs, lease_owner=owner, status=Run.Status.RUNNING)
    mine.update(lease_until=timezone.now() + LEASE)
    return list(mine.exclude(cancel_requested_at=None).values_list("pk", flat=True))


@dataclass(frozen=True, slots=True)
class DeadRun:
    """A run whose process died, now held by us: its checkpoint and the last event in that."""

    key: RunKey
    partial: Mapping[str, Any] | None
    checkpoint_seq: int


def _leases() -> QuerySet[Run, datetime | None]:
    running = Run.objects.filter(status=Run.Status.RUNNING, lease_until__isnull=False)
    return running.order_by("lease_until").values_list("lease_until", flat=True)[:1]


# Asked every few seconds by every process, and nearly always all there is to ask.
_OLDEST_LEASE = PreparedQuery(_leases)


def take_over_dead_runs(
    *, owner: str, alive: Collection[int] = (), by: datetime | None = None, limit: int = 20
) -> list[DeadRun]:
    """Take runs whose lease had run out `by` then, or by now; of all tenants: it is the deployment's own housekeeping.

    Not those that are `alive`: this process, `owner`, knows that it works on them, however late it says so.
    """
    oldest, by = _OLDEST_LEASE.first(), by or timezone.now()
    return [] if oldest is None or oldest >= by else _take_over(owner, alive, by, limit)


@transaction.atomic
def _take_over(owner: str, alive: Collection[int], by: datetime, limit: int) -> list[DeadRun]:
    now = timezone.now()
    expired = Run.objects.filter(status=Run.Status.RUNNING, lease_until__lt=by).select_for_update(skip_locked=True)
    if alive:
        expired = expired.exclude(pk__in=alive)
    runs = list(expired.order_by("lease_until")[:limit])
    if not runs:
        return []
    Run.objects.filter(pk__in=[run.pk for run in runs]).update(lease_owner=owner, lease_until=now + RECOVERY_LEASE)
    # An approved call runs in the row of the run that asked, and of a conversation one run runs at a time.
    threads = [run.conversation_id for run in runs]
    ToolCall.objects.filter(run__conversation__in=threads, status=ToolCall.Status.RUNNING).update(
        status=ToolCall.Status.INTERRUPTED, error="The server stopped while the tool was running."
    )
    return [DeadRun(key_of(run, owner), run.partial, run.checkpoint_seq) for run in runs]


def request_cancel(*, tenant_id: int, user_id: UserId, run_id: str, assistant_id: int | None = None) -> list[int]:
    """Mark a member's running runs of that id, with one assistant or any, as to be cancelled; returns their keys."""
    running = Run.objects.filter(tenant_id=tenant_id, user_id=user_id, run_id=run_id, status=Run.Status.RUNNING)
    if assistant_id is not None:
        running = running.filter(assistant_id=assistant_id)
    pks = list(running.values_list("pk", flat=True))
    if pks:
        mark_for_cancel(running)
    return pks


def mark_for_cancel(runs: QuerySet[Run]) -> None:
    """Mark these as to be cancelled: their processes hear of it when they store the answer so far, or keep house."""
    runs.filter(cancel_requested_at=None).update(cancel_requested_at=timezone.now())


def held(key: RunKey) -> QuerySet[Run]:
    """The run, as long as `key.owner` holds it; whoever writes goes through this."""
    return held_by(pk=key.pk, tenant_id=key.tenant_id, owner=key.owner)


def held_by(*, pk: int, tenant_id: int, owner: str) -> QuerySet[Run]:
    """The same by its parts."""
    return Run.objects.filter(pk=pk, tenant_id=tenant_id, status=Run.Status.RUNNING, lease_owner=owner)
