"""What has documents of rows made: changes of rows, and a job of each tenant and model. Servers import this module."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from assistant.contrib.data.knowledge_sources import declared_sources
from assistant.contrib.data.models import RowDocument
from assistant.contrib.data.services.row_documents import remove_batch, sync_batch, sync_key
from assistant.contrib.data.services.row_signals import ROW_JOB, SOURCE_JOB
from assistant.models import Job, Tenant
from assistant.services.db.threads import in_database
from assistant.services.jobs import jobs
from assistant.services.jobs.jobs import LongWork
from assistant.services.jobs.recurring import recurs
from assistant.services.tenancy.row_scope import set_tenants

# How long a batch may take before another process does the job.
LEASE = timedelta(minutes=5)
# How often all rows that are knowledge are compared with their documents, besides what signals tell.
COMPARED_EVERY = timedelta(hours=1)
PLAN_SECONDS = 60.0
MAX_PLANNED = 200
# When a job that was given up is ordered again.
AFTER_GIVING_UP = timedelta(hours=1)


@recurs("knowledge_sources.plan", seconds=PLAN_SECONDS, is_first_later=True)
def plan_sources() -> int:
    """Order the first look at the rows of tenants and models that have no job; return how many there were."""
    ordered = 0
    labels = {source.label for source in declared_sources()}
    stale = RowDocument.objects.exclude(row_model__in=labels).order_by().values_list("row_model", flat=True).distinct()
    for label in sorted({*labels, *stale[:MAX_PLANNED]}):
        own = Job.objects.filter(tenant=OuterRef("pk"), name=SOURCE_JOB, key=_key(label))
        given_up = Q(state=Job.State.FAILED, ended_at__gte=timezone.now() - AFTER_GIVING_UP)
        tenants = Tenant.objects.filter(is_active=True).exclude(
            Exists(own.filter(Q(state=Job.State.WAITING) | given_up))
        )
        if label not in labels:
            tenants = tenants.filter(Exists(RowDocument.objects.filter(tenant=OuterRef("pk"), row_model=label)))
        for tenant_id in list(tenants.order_by("pk").values_list("pk", flat=True)[: MAX_PLANNED - ordered]):
            jobs.schedule(tenant_id=tenant_id, name=SOURCE_JOB, key=_key(label), due_at=timezone.now())
            ordered += 1
    return ordered


def _key(label: str) -> str:
    return label[:100]


@jobs.handles(SOURCE_JOB, is_long=True)
def _begin(job: Job) -> LongWork | None:
    return partial(sync_source, job.tenant_id, job.key, jobs.again(job, LEASE).pk)


async def sync_source(tenant_id: int, label: str, job: int) -> None:
    """Compare all rows of a tenant and model with their documents, batch by batch, and again after the set time."""
    set_tenants(tenant_id)
    after: Any = None
    while (after := await in_database(sync_batch, tenant_id=tenant_id, label=label, after=after)) is not None:
        if not await in_database(jobs.renew, tenant_id=tenant_id, pk=job, due_at=timezone.now() + LEASE):
            return  # another process does the job
    last: int | None = 0
    while last is not None:
        last = await in_database(remove_batch, tenant_id=tenant_id, label=label, after=last)
    if any(source.label == label for source in declared_sources()):
        due_at = timezone.now() + COMPARED_EVERY
        await in_database(jobs.renew, tenant_id=tenant_id, pk=job, due_at=due_at, is_new=True)
    else:
        await in_database(jobs.drop, tenant_id=tenant_id, pk=job)


@jobs.handles(ROW_JOB, is_long=True)
def _begin_row(job: Job) -> LongWork | None:
    return partial(_sync_row, job.tenant_id, job.key, jobs.again(job, LEASE).pk)


async def _sync_row(tenant_id: int, key: str, job: int) -> None:
    set_tenants(tenant_id)
    label, _, row = key.partition(" ")
    await in_database(sync_key, tenant_id=tenant_id, label=label, key=row)
    await in_database(jobs.drop, tenant_id=tenant_id, pk=job)
