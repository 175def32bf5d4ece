"""Has sources read when their time has come: a job of each. Servers import this module."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

from django.db.models import CharField, Exists, OuterRef, Q
from django.db.models.functions import Cast
from django.utils import timezone

from assistant.contrib.sources.models import Source
from assistant.contrib.sources.services.changes import REFRESH_JOB, schedule
from assistant.contrib.sources.services.refreshing import refresh
from assistant.models import Job
from assistant.services.db.threads import in_database
from assistant.services.jobs import jobs
from assistant.services.jobs.jobs import LongWork
from assistant.services.jobs.recurring import recurs
from assistant.services.tenancy.row_scope import set_tenants

# How long a page may take before another process reads the source.
LEASE = timedelta(minutes=5)
PLAN_SECONDS = 60.0
# Sources that are read at once, of all tenants and of each.
MAX_AT_ONCE = 20
MAX_OF_A_TENANT = 2
# When a source whose job was given up is read again.
AFTER_GIVING_UP = timedelta(hours=1)


@recurs("sources.plan", seconds=PLAN_SECONDS, is_first_later=True)
def plan_refreshes() -> int:
    """Order the reading of sources whose time has come, those that wait longest first; return how many there were."""
    now = timezone.now()
    waiting = list(
        Job.objects.filter(name=REFRESH_JOB, state=Job.State.WAITING).values_list("tenant_id", flat=True)[:MAX_AT_ONCE]
    )
    own = Job.objects.filter(tenant=OuterRef("tenant"), name=REFRESH_JOB, key=Cast(OuterRef("pk"), CharField()))
    given_up = Q(state=Job.State.FAILED, ended_at__gte=now - AFTER_GIVING_UP)
    due = Source.objects.filter(Q(next_at=None) | Q(next_at__lte=now), is_on=True, tenant__is_active=True)
    due = due.exclude(Exists(own.filter(Q(state=Job.State.WAITING) | given_up)))
    ordered = 0
    for source_id, tenant_id in due.order_by("next_at", "pk").values_list("pk", "tenant_id")[:500]:
        if len(waiting) >= MAX_AT_ONCE:
            break
        if waiting.count(tenant_id) < MAX_OF_A_TENANT:
            schedule(tenant_id=tenant_id, source_id=source_id)
            waiting.append(tenant_id)
            ordered += 1
    return ordered


@jobs.handles(REFRESH_JOB, is_long=True)
def _begin(job: Job) -> LongWork:
    return partial(_work, job.tenant_id, int(job.key), jobs.again(job, LEASE).pk)


async def _work(tenant_id: int, source_id: int, job: int) -> None:
    set_tenants(tenant_id)

    async def renew() -> bool:
        return await in_database(jobs.renew, tenant_id=tenant_id, pk=job, due_at=timezone.now() + LEASE)

    await refresh(tenant_id=tenant_id, source_id=source_id, renew=renew)
    await in_database(jobs.drop, tenant_id=tenant_id, pk=job)
