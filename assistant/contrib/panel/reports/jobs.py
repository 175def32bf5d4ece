"""What is said about jobs: what they are about, and which have failed and wait for a person."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef, QuerySet

from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.contrib.panel.services.scheduled_prompts import FAILURE_DAYS
from assistant.models import Job, PromptVersion
from assistant.services.jobs.names import PUBLISH_JOB, of_tenants


def failed_jobs(*, tenants: TenantFilter, now: datetime) -> QuerySet[Job]:
    """Return the jobs that failed in the last `FAILURE_DAYS` days, and whose work no newer job has taken over."""
    newer = Job.objects.filter(
        tenant=OuterRef("tenant"), name=OuterRef("name"), key=OuterRef("key"), pk__gt=OuterRef("pk")
    )
    since = now - timedelta(days=FAILURE_DAYS)
    failed = tenants.rows(Job.objects.filter(state=Job.State.FAILED, ended_at__gt=since)).exclude(Exists(newer))
    # Those that the people of a tenant can open.
    return failed if tenants.ids is None else failed.filter(name__in=of_tenants())


def names_of(found: Collection[Job]) -> dict[int, str]:
    """Return what jobs are about, by their primary keys; one query. Jobs that it knows nothing of are left out."""
    publications = [job for job in found if job.name == PUBLISH_JOB and job.key.isdecimal()]
    if not publications:
        return {}
    versions = PromptVersion.objects.filter(
        pk__in=[int(job.key) for job in publications],
        assistant__tenant__in={job.tenant_id for job in publications},
    ).values_list("pk", "assistant__tenant", "assistant__slug", "number")
    names = {(str(pk), tenant): f"{slug} v{number}" for pk, tenant, slug, number in versions}
    return {job.pk: names[job.key, job.tenant_id] for job in publications if (job.key, job.tenant_id) in names}
