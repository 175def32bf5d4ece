"""Publications of prompt versions at a moment."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_noop

from assistant.models import Job, PromptVersion
from assistant.services.assistants.prompt_values import UnknownVariables, check_variables
from assistant.services.assistants.prompts import publish_prompt
from assistant.services.jobs import jobs
from assistant.services.jobs.jobs import JobRefused
from assistant.services.jobs.names import PUBLISH_JOB
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.row_scope import tenant_scope

# The latest moment that a publication can be scheduled for.
MAX_AHEAD = timedelta(days=366)
# Publications of an assistant that wait; more are refused.
MAX_WAITING = 20
DELETED = gettext_noop("The version was deleted.")
# How long, and how many, failed publications are shown.
FAILURE_DAYS, MAX_FAILURES = 14, 20


@transaction.atomic
def schedule_publication(*, version: PromptVersion, at: datetime, actor: audit_trail.Actor = None) -> Job:
    """Publish a version at a moment; one that it waits for already is replaced.

    Raises:
        ValueError: the moment has passed or is too far away, or too many publications wait.
        UnknownVariables: the version names variables that the tenant does not have.
    """
    now, tenant = timezone.now(), version.assistant.tenant
    if not now < at <= now + MAX_AHEAD:
        raise ValueError("The moment must be in the future, within a year.")
    if version.uses_variables:
        check_variables(version.text, tenant_id=tenant.pk)
    waiting = {job.key: job for job in publications_of(tenant_id=tenant.pk, assistant_id=version.assistant_id)}
    before = waiting.pop(str(version.pk), None)
    if len(waiting) >= MAX_WAITING:
        raise ValueError("Too many publications wait. Cancel one first.")
    actor_id = actor.pk if actor is not None else None
    job = jobs.schedule(tenant_id=tenant.pk, name=PUBLISH_JOB, key=str(version.pk), due_at=at, created_by=actor_id)
    _record(version, "prompt.schedule", None if before is None else before.due_at, at, actor)
    return job


@transaction.atomic
def cancel_publication(*, version: PromptVersion, actor: audit_trail.Actor = None) -> bool:
    """Cancel the publication that waits for a version; return whether one did."""
    waiting = jobs.waiting_jobs(tenant_id=version.assistant.tenant_id, name=PUBLISH_JOB)
    job = waiting.filter(key=str(version.pk)).first()
    if job is None or not jobs.cancel(tenant_id=job.tenant_id, name=PUBLISH_JOB, key=job.key):
        return False
    _record(version, "prompt.unschedule", job.due_at, None, actor)
    return True


def publications_of(*, tenant_id: int, assistant_id: int) -> list[Job]:
    """Return the publications that wait for versions of an assistant, the next one first."""
    waiting = list(jobs.waiting_jobs(tenant_id=tenant_id, name=PUBLISH_JOB))
    return _of_assistant(waiting, tenant_id=tenant_id, assistant_id=assistant_id)


def failed_publications_of(*, tenant_id: int, assistant_id: int) -> list[Job]:
    """Return the publications of an assistant's versions that failed in the last `FAILURE_DAYS`, the newest first."""
    since = timezone.now() - timedelta(days=FAILURE_DAYS)
    failed = Job.objects.filter(tenant_id=tenant_id, name=PUBLISH_JOB, state=Job.State.FAILED, ended_at__gt=since)
    newest = list(failed.order_by("-ended_at")[:MAX_FAILURES])
    return _of_assistant(newest, tenant_id=tenant_id, assistant_id=assistant_id)


def _of_assistant(found: list[Job], *, tenant_id: int, assistant_id: int) -> list[Job]:
    rows = PromptVersion.objects.filter(assistant_id=assistant_id, assistant__tenant_id=tenant_id)
    own = {str(pk) for pk in rows.filter(pk__in=[int(job.key) for job in found]).values_list("pk", flat=True)}
    return [job for job in found if job.key in own]


@jobs.handles(PUBLISH_JOB)
def _publish(job: Job) -> None:
    with tenant_scope(job.tenant_id):
        rows = PromptVersion.objects.select_related("assistant__tenant")
        version = rows.filter(assistant__tenant_id=job.tenant_id, pk=int(job.key)).first()
        if version is None:
            raise JobRefused(DELETED)
        try:
            publish_prompt(version=version, actor=job.created_by, was_scheduled=True)
        except UnknownVariables as exc:
            raise JobRefused(str(exc)) from exc


def _record(
    version: PromptVersion, action: str, before: datetime | None, after: datetime | None, actor: audit_trail.Actor
) -> None:
    moments = [None if at is None else at.isoformat(timespec="minutes") for at in (before, after)]
    audit_trail.record(
        actor=actor,
        action=action,
        target=f"{version.assistant.slug} v{version.number}",
        tenant=version.assistant.tenant,
        details={"values": {"publication": moments}},
    )
