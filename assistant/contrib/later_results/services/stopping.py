"""Stops waiting for results. Runs that wait for nothing else are cancelled."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from assistant.contrib.later_results.models import PendingCall
from assistant.contrib.later_results.services.pending_calls import CAME, CONTINUE_JOB, cancel_waits
from assistant.models import Run
from assistant.services.jobs import jobs


@transaction.atomic
def stop_waiting(waits: QuerySet[PendingCall], tenant_id: int, assistant_id: int | None = None) -> list[str]:
    """Stop waiting for calls of a tenant, and leave the results of `waits` that have come unused.

    Their runs are cancelled if they wait for nothing else.

    Args:
        assistant_id: only runs with this assistant; None for any.

    Returns:
        The threads of these runs.
    """
    waits = waits if assistant_id is None else waits.filter(run__assistant_id=assistant_id)
    pks = list(waits.order_by().values_list("run", flat=True).distinct())
    runs = Run.objects.select_for_update().filter(pk__in=pks, tenant_id=tenant_id, status=Run.Status.WAITING)
    threads = []
    for run in runs.order_by("pk"):
        own = waits.filter(run=run)
        # Results that have come and were not used yet are kept for the next message.
        came = own.filter(state__in=CAME).values_list("call__call_id", flat=True)
        given_up = {*came, *cancel_waits(own, tenant_id=tenant_id)}
        interrupts = [one for one in _interrupts(run) if one.get("toolCallId") not in given_up]
        run.ending = {**(run.ending or {}), "outcome": {"type": "interrupt", "interrupts": interrupts}}
        if not interrupts:
            run.status, run.ending["outcome"] = Run.Status.CANCELLED, {"type": "cancelled"}
            jobs.cancel(tenant_id=tenant_id, name=CONTINUE_JOB, key=str(run.pk))
        else:
            jobs.schedule(tenant_id=tenant_id, name=CONTINUE_JOB, key=str(run.pk), due_at=timezone.now())
        run.save(update_fields=["status", "ending"])
        threads.append(str(run.conversation_id))
    return threads


def _interrupts(run: Run) -> list[dict[str, Any]]:
    outcome = (run.ending or {}).get("outcome") or {}
    return list(outcome.get("interrupts") or ())
