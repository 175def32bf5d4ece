"""Applies the retention periods of each tenant once a day, as a job of that tenant. Servers import this module."""

from __future__ import annotations

import random
from datetime import timedelta
from functools import partial

from django.conf import settings
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from assistant.models import Job, Tenant
from assistant.services.db.threads import in_database
from assistant.services.jobs import jobs
from assistant.services.jobs.jobs import LongWork
from assistant.services.jobs.recurring import recurs
from assistant.services.privacy.retention import remove_some
from assistant.services.tenancy.row_scope import set_tenants

RETENTION_JOB = "retention.apply"
EVERY = timedelta(days=1)
# How long a batch may take before another process does the job.
LEASE = timedelta(minutes=5)
# How often tenants without a job get one, and how many at once.
PLAN_SECONDS, MAX_PLANNED = 600.0, 200


@recurs("retention.plan", seconds=PLAN_SECONDS, is_first_later=True)
def plan_retention() -> int:
    """Schedule the first job of tenants that have none, at a random time within a day; return how many there were.

    A tenant whose job has failed gets no new one for a day, so that people can see the failed one and retry it.
    """
    if not settings.ASSISTANT_RETENTION_FROM_SERVER:
        return 0
    now = timezone.now()
    own = Job.objects.filter(tenant=OuterRef("pk"), name=RETENTION_JOB)
    planned = own.filter(Q(state=Job.State.WAITING) | Q(ended_at__gt=now - EVERY))
    found = list(Tenant.objects.exclude(Exists(planned)).order_by("pk").values_list("pk", flat=True)[:MAX_PLANNED])
    for tenant_id in found:
        due_at = now + EVERY * random.random()  # noqa: S311 - spreads the load  # nosec B311
        jobs.schedule(tenant_id=tenant_id, name=RETENTION_JOB, key="", due_at=due_at)
    return len(found)


@jobs.handles(RETENTION_JOB, is_long=True)
def _begin(job: Job) -> LongWork | None:
    """Return the work of one day; None if retention by servers is switched off."""
    if not settings.ASSISTANT_RETENTION_FROM_SERVER:
        return None
    return partial(_apply, job.tenant_id, jobs.again(job, LEASE).pk)


async def _apply(tenant_id: int, job: int) -> None:
    """Delete batch by batch, so that other work gets its turn in between, and wait for the next day."""
    set_tenants(tenant_id)
    while await in_database(remove_some, tenant_id=tenant_id):
        await in_database(jobs.renew, tenant_id=tenant_id, pk=job, due_at=timezone.now() + LEASE)
    await in_database(jobs.renew, tenant_id=tenant_id, pk=job, due_at=timezone.now() + EVERY, is_new=True)
