"""Begins, cancels and ends runs of checks, within their bounds. Each is audited.

The callers have checked that the person may change the tenant's prompts.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from assistant.contrib.evaluations.job_names import HOSTILE_CHECKS_JOB
from assistant.contrib.evaluations.models import HostileCheckResult, HostileCheckRun
from assistant.contrib.evaluations.models.hostile_checks import UNDER_WAY
from assistant.models import Assistant, Membership, Tenant
from assistant.services.jobs import jobs
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.members import Member, find_member

# Runs of a tenant that are under way or wait at once, and those of an assistant that are kept.
MAX_UNDER_WAY, MAX_KEPT = 2, 50


class ChecksRefused(ValueError):
    """Checks cannot be begun; the message can be shown to people."""


@transaction.atomic
def begin_checks(
    *, assistant: Assistant, actor: audit_trail.Actor = None, in_background: bool = True
) -> HostileCheckRun:
    """Begin the checks of an assistant; the results of its oldest runs are deleted if it has many.

    Args:
        actor: who begins them; None for a command.
        in_background: whether a server makes them, as a job; if not, the caller does.

    Raises:
        ChecksRefused: they are being made already, too many of the tenant are, the assistant is not
            active, or the tenant has nobody in whose name it could be asked.
    """
    # Locked, so that two at once do not pass the limit.
    Tenant.objects.select_for_update().only("pk").get(pk=assistant.tenant_id)
    own = HostileCheckRun.objects.filter(tenant=assistant.tenant_id, state__in=UNDER_WAY)
    if own.filter(assistant=assistant).exists():
        raise ChecksRefused(_("This assistant is being checked already."))
    if own.count() >= MAX_UNDER_WAY:
        raise ChecksRefused(_("Too many assistants are being checked. Wait for one, or cancel its checks."))
    if not assistant.is_active:
        raise ChecksRefused(_("The assistant is not active."))
    person = _person(assistant, actor)
    if person is None:
        raise ChecksRefused(_("The tenant has no active member in whose name the assistant could be asked."))
    run = HostileCheckRun.objects.create(
        tenant_id=assistant.tenant_id,
        assistant=assistant,
        state=HostileCheckRun.State.WAITING if in_background else HostileCheckRun.State.RUNNING,
        created_by_id=None if actor is None else actor.pk,
        run_as_id=person.pk,
    )
    if in_background:
        # In the past, because databases count microseconds and clocks may differ.
        schedule(run, timezone.now() - timedelta(seconds=1))
    _delete_old(assistant)
    _record(run, "hostile_checks.begin", actor)
    return run


def schedule(run: HostileCheckRun, at: datetime) -> int:
    """Schedule a server to make, or to continue, the checks of a run; return the job's primary key."""
    key, actor_id = str(run.pk), run.created_by_id
    return jobs.schedule(tenant_id=run.tenant_id, name=HOSTILE_CHECKS_JOB, key=key, due_at=at, created_by=actor_id).pk


@transaction.atomic
def cancel_checks(*, run: HostileCheckRun, actor: audit_trail.Actor = None) -> bool:
    """Cancel checks, whose process notices within seconds; return whether they were under way."""
    jobs.cancel(tenant_id=run.tenant_id, name=HOSTILE_CHECKS_JOB, key=str(run.pk))
    if not _under_way(run).update(state=HostileCheckRun.State.CANCELLED, ended_at=timezone.now()):
        return False
    _record(run, "hostile_checks.cancel", actor)
    return True


@transaction.atomic
def finish_checks(*, run: HostileCheckRun, lease: int, problem: str = "") -> None:
    """Store the end of checks, unless they were cancelled or another process goes on with them.

    Args:
        lease: the primary key of the job by which the process holds the checks.
        problem: why not all were made.
    """
    if not jobs.give_up(tenant_id=run.tenant_id, pk=lease):
        return
    state = HostileCheckRun.State.FAILED if problem else HostileCheckRun.State.DONE
    if not _under_way(run).update(state=state, problem=problem[:300], ended_at=timezone.now()):
        return
    run.refresh_from_db()
    counts = {"passed": run.passed, "failed": run.failed, "undecided": run.undecided}
    _record(run, "hostile_checks.end", run.created_by, {"state": state, **counts})


def is_under_way(run: HostileCheckRun) -> bool:
    """Whether a run has not been cancelled, ended or deleted meanwhile."""
    return _under_way(run).exists()


def member_of(run: HostileCheckRun) -> Member | None:
    """Return the member in whose name an assistant is asked; None if they are no active member any more."""
    return None if run.run_as_id is None else find_member(user_id=run.run_as_id, tenant_slug=run.tenant.slug)


def _under_way(run: HostileCheckRun) -> QuerySet[HostileCheckRun]:
    return HostileCheckRun.objects.filter(pk=run.pk, tenant=run.tenant_id, state__in=UNDER_WAY)


def _person(assistant: Assistant, actor: audit_trail.Actor) -> AbstractBaseUser | None:
    """Return in whose name an assistant is asked: the actor's own, else the tenant's oldest owner's or admin's."""
    people = get_user_model()._base_manager.filter(is_active=True, assistant_memberships__tenant=assistant.tenant_id)
    if actor is not None:
        own = people.filter(pk=actor.pk or 0).exclude(assistant_memberships__role=Membership.Role.END_USER).first()
        if own is not None:
            return own
    roles = (Membership.Role.OWNER, Membership.Role.ADMIN)
    admins = Membership.objects.filter(tenant=assistant.tenant_id, role__in=roles, user__is_active=True)
    first = admins.select_related("user").order_by("pk").first()
    return None if first is None else first.user


def _delete_old(assistant: Assistant) -> None:
    runs = HostileCheckRun.objects.filter(tenant=assistant.tenant_id, assistant=assistant).order_by("-pk")
    old = list(runs.values_list("pk", flat=True)[MAX_KEPT:])
    HostileCheckResult.objects.filter(tenant=assistant.tenant_id, run__in=old).delete()
    HostileCheckRun.objects.filter(tenant=assistant.tenant_id, pk__in=old).delete()


def _record(run: HostileCheckRun, action: str, actor: audit_trail.Actor, details: dict[str, Any] | None = None) -> None:
    audit_trail.record(
        actor=actor,
        action=action,
        target=run.assistant.slug,
        tenant=run.tenant,
        details={"run": run.pk, **(details or {})},
    )
