"""Lets people have a failed job done again, and cancel one that waits or has failed; the audit trail says who did."""

from __future__ import annotations

from django.db import transaction

from assistant.models import Job
from assistant.services.jobs import jobs
from assistant.services.tenancy import audit_trail


@transaction.atomic
def retry_job(*, job: Job, actor: audit_trail.Actor) -> None:
    """Have a failed or cancelled job done again, now and in the name of `actor`.

    Raises:
        ValueError: the job waits or is done, or another one does the same work.
    """
    if not jobs.retry(tenant_id=job.tenant_id, pk=job.pk, created_by=actor.pk if actor is not None else None):
        raise ValueError("It is waiting or done already, or another job does the same work.")
    _record(job, "job.retry", actor)


@transaction.atomic
def cancel_job(*, job: Job, actor: audit_trail.Actor) -> None:
    """Cancel a job that waits, or stop showing one that has failed.

    Raises:
        ValueError: the job is done or cancelled already.
    """
    if not jobs.give_up(tenant_id=job.tenant_id, pk=job.pk):
        raise ValueError("It is done or cancelled already.")
    _record(job, "job.cancel", actor)


def _record(job: Job, action: str, actor: audit_trail.Actor) -> None:
    after = Job.objects.filter(tenant_id=job.tenant_id, pk=job.pk).values_list("state", flat=True).get()
    details = {"values": {"state": [job.state, after]}}
    audit_trail.record(actor=actor, action=action, target=str(job), tenant=job.tenant, details=details)
