"""Stops waiting for results, at an operator's request."""

from __future__ import annotations

from collections.abc import Collection

from django.db import transaction

from assistant.contrib.later_results.models import PendingCall
from assistant.contrib.later_results.services.pending_calls import State, cancel_waits
from assistant.contrib.later_results.services.stopping import stop_waiting
from assistant.models import Run
from assistant.models.runs import ACTIVE
from assistant.services.db.threads import in_database
from assistant.services.eventlog.log import PATH
from assistant.services.runs.manager import get_runs
from assistant.services.tenancy import audit_trail


async def stop_waits(*, tenant_ids: Collection[int], pks: Collection[int], actor: audit_trail.Actor) -> int:
    """Stop waiting for calls without a result; return how many there were.

    Args:
        tenant_ids: the tenants that the actor may change; calls of others are left.
        pks: primary keys of the waiting calls.
    """
    count, threads = await in_database(_stop, set(tenant_ids), set(pks), actor)
    for thread in threads:
        await get_runs().log.publish_change(thread, PATH)
    return count


@transaction.atomic
def _stop(tenant_ids: set[int], pks: set[int], actor: audit_trail.Actor) -> tuple[int, list[str]]:
    count = 0
    threads = []
    for tenant_id in sorted(tenant_ids):
        waits = PendingCall.objects.filter(pk__in=pks, tenant_id=tenant_id, state=State.WAITING)
        found = list(waits.select_related("call", "tenant"))
        threads += stop_waiting(waits, tenant_id)
        # Those of runs that have failed, or were stopped before they waited.
        cancel_waits(waits.exclude(run__status__in=[*ACTIVE, Run.Status.WAITING]), tenant_id=tenant_id)
        stopped = PendingCall.objects.filter(
            pk__in=[row.pk for row in found], tenant_id=tenant_id, state=State.CANCELLED
        )
        done = set(stopped.values_list("pk", flat=True))
        for row in found:
            if row.pk in done:
                audit_trail.record(actor=actor, action="pending.stop", target=row.call.name, tenant=row.tenant)
        count += len(done)
    return count, threads
