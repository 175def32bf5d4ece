"""The queue of runs that any process may start: the rows of queued runs whose events so far can be read by all."""

from __future__ import annotations

from collections.abc import Mapping

from django.db import transaction
from django.db.models import Count, Exists, Max, Min, OuterRef, Q

from assistant.models import Membership, Run
from assistant.services.db.clock import DatabaseTime
from assistant.services.limits.runs_at_once import QueuedRun, lock_tenant, within_limits
from assistant.services.tenancy.row_scope import all_tenants, tenant_scope

# Of one tenant, so many of the oldest queued runs are looked at for one that its members' limits allow.
MAX_LOOKED_AT = 50
_OPEN = Q(status=Run.Status.QUEUED, is_shared=True, ended_at=None, cancel_requested_at=None)


def _claimable() -> Q:
    """Return the condition that a queued run can be started by any process.

    Its first events are in the log; or the process that was to write them is dead.
    """
    return _OPEN & (Q(checkpoint_seq__gt=0) | Q(lease_until__lt=DatabaseTime()))


@all_tenants()
def waiting_tenants() -> Mapping[int, int]:
    """Return the tenants with runs that any process may start, and their turns, the one that waits longest first."""
    rows = Run.objects.filter(_claimable(), tenant__is_active=True).order_by()
    counted = rows.values("tenant_id").annotate(first=Min("pk"), turns=Max("tenant__limits__tenant_turns"))
    return {row["tenant_id"]: row["turns"] or 1 for row in counted.order_by("first")}


def take_first(*, tenant_id: int, owner: str, lease_end: DatabaseTime) -> int | None:
    """Start the first of a tenant's queued runs that its limits allow, for the process `owner`, which holds it then.

    Args:
        lease_end: the end of its lease.

    Returns:
        The primary key of the run, now `running`; None if none can start.
    """
    with tenant_scope(tenant_id), transaction.atomic():
        lock_tenant(tenant_id)
        for one in within_limits(tenant_id, _queued(tenant_id)):
            row = Run.objects.filter(_OPEN, pk=one.pk, tenant_id=tenant_id)
            if row.update(status=Run.Status.RUNNING, lease_owner=owner, lease_until=lease_end):
                return one.pk
    return None


def _queued(tenant_id: int) -> list[QueuedRun]:
    end_users = Membership.objects.filter(
        tenant_id=tenant_id, user_id=OuterRef("user_id"), role=Membership.Role.END_USER
    )
    rows = Run.objects.filter(_claimable(), tenant_id=tenant_id).annotate(of_end_user=Exists(end_users))
    found = rows.order_by("pk").values_list("pk", "user_id", "api_key_id", "api_key__runs_at_once", "of_end_user")
    return [
        QueuedRun(pk, user_id, key_id, key_limit or 0, is_end_user, is_shared=True)
        for pk, user_id, key_id, key_limit, is_end_user in found[:MAX_LOOKED_AT]
    ]


@all_tenants()
def runs_before(*, tenant_id: int, pk: int) -> int:
    """Return how many shared runs get their turn before a queued one, if all tenants have the same number of turns."""
    queued = Run.objects.filter(_OPEN).exclude(pk=pk).order_by()
    before = queued.filter(tenant_id=tenant_id, pk__lt=pk).count()
    others = queued.exclude(tenant_id=tenant_id).values("tenant_id").annotate(count=Count("pk"))
    counts: list[int] = [row["count"] for row in others]
    return before + sum(min(count, before + 1) for count in counts)


def offer(*, pk: int, tenant_id: int, owner: str, seq: int) -> bool:
    """Let any process start a queued run, whose events up to `seq` are in the log; return whether `owner` holds it."""
    row = Run.objects.filter(_OPEN, pk=pk, tenant_id=tenant_id, lease_owner=owner)
    return bool(row.update(checkpoint_seq=seq))


def hand_over(*, owner: str) -> int:
    """Leave the queued runs of a process that is ending to the others; return how many there are.

    Nobody holds them then, and their place in the queue stays.
    """
    with all_tenants():
        return Run.objects.filter(_OPEN, lease_owner=owner).update(lease_owner="", lease_until=DatabaseTime())
