"""Continues runs once all results that they waited for have come, or the time is over.

Processes that do jobs import this module. A run that goes on is a new one of its conversation, in the name
of its member, with the permissions and limits that they have then. Its id is made from that of the run that waited, so
that there is only one, even if several processes do the job.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial

from django.utils import timezone
from django.utils.translation import gettext_noop

from assistant.contrib.later_results.models import PendingCall
from assistant.contrib.later_results.services.pending_calls import CONTINUE_JOB, EXPIRE_JOB, State, settle_calls
from assistant.models import Approval, Job, Run
from assistant.services.db.clock import DatabaseTime
from assistant.services.db.threads import in_database
from assistant.services.errors import Refused
from assistant.services.jobs import jobs
from assistant.services.jobs.jobs import JobRefused, LongWork
from assistant.services.runs.approval_expiry import APPROVAL_LIFETIME
from assistant.services.runs.input.forwarded_props import ForwardedProps
from assistant.services.runs.manager import get_runs
from assistant.services.runs.opening.client_input import language_of, trace_of
from assistant.services.runs.run_input import RunInput
from assistant.services.tenancy.members import Member, active_keys, find_member
from assistant.services.tenancy.row_scope import set_tenants, tenant_scope
from assistant.toolkit.carried_context import continue_trace

# How long this process has to open the run before another one tries.
LEASE = timedelta(seconds=60)
# The pause before a retry while the run has not ended yet, or its conversation is being answered.
BUSY_RETRY = timedelta(seconds=3)
# The pause before a retry after a limit or a quota refused the run, and how long after the result to keep trying.
LIMITED_RETRY, LIMITED_FOR = timedelta(minutes=10), timedelta(days=2)
# The pause before a retry while the tenant is suspended.
SUSPENDED_RETRY = timedelta(minutes=10)
# How often in a row a conversation continues by itself. Without this, limits of one run would not bound the
# conversation.
MAX_IN_A_ROW = 100
# The prefix of the ids of runs that continue by themselves.
RUN_PREFIX = "pending-"
NO_ACCESS = gettext_noop("Its member has no access any more.")
TOO_OFTEN = gettext_noop("It has gone on by itself too often without a message.")


@jobs.handles(EXPIRE_JOB)
def _expire(job: Job) -> None:
    """Stop waiting for a call whose time is over, and continue its run."""
    with tenant_scope(job.tenant_id):
        if not job.tenant.is_active:
            jobs.again(job, SUSPENDED_RETRY)
            return
        rows = PendingCall.objects.filter(pk=int(job.key), tenant_id=job.tenant_id, state=State.WAITING)
        if not rows.update(state=State.EXPIRED, ended_at=DatabaseTime()):
            return
        row = PendingCall.objects.select_related("run").get(pk=int(job.key), tenant_id=job.tenant_id)
        if row.run.is_active or row.run.status == Run.Status.WAITING:
            jobs.schedule(tenant_id=job.tenant_id, name=CONTINUE_JOB, key=str(row.run_id), due_at=timezone.now())
        else:  # its run was stopped
            settle_calls(tenant_id=job.tenant_id, calls=[row.call_id])


@dataclass(frozen=True, slots=True)
class _Continuation:
    """A run that can continue: whose it is, and the job by which this process holds it."""

    tenant_id: int
    run: Run
    member: Member
    lease: Job
    came_at: datetime


@jobs.handles(CONTINUE_JOB, is_long=True)
def _continue(job: Job) -> LongWork | None:
    """Return the work that continues a run; None if it has to wait, or there is nothing left to continue."""
    with tenant_scope(job.tenant_id):
        runs = Run.objects.filter(pk=int(job.key), tenant_id=job.tenant_id)
        run = runs.select_related("tenant", "assistant", "conversation").first()
        waits = list(PendingCall.objects.filter(tenant_id=job.tenant_id, run=run)) if run is not None else []
        came = [row.ended_at for row in waits if row.ended_at is not None]
        if run is None or not came:
            return None
        if not (run.is_active or run.status == Run.Status.WAITING):  # it was stopped, or has failed
            settle_calls(tenant_id=job.tenant_id, calls=[row.call_id for row in waits])
            return None
        if run.is_active:
            jobs.again(job, BUSY_RETRY)
            return None
        if any(row.state == State.WAITING for row in waits):
            return None  # the last result to come continues it
        if (until := _approvals_until(run)) is not None:
            jobs.again(job, max(until - timezone.now(), timedelta()) + LEASE)
            return None
        if not run.tenant.is_active:
            jobs.again(job, SUSPENDED_RETRY)
            return None
        member = find_member(user_id=run.user_id, tenant_slug=run.tenant.slug, with_end_users=True)
        if member is None or not _has_key(run):
            raise JobRefused(NO_ACCESS)
        if _times_in_a_row(run) >= MAX_IN_A_ROW:
            raise JobRefused(TOO_OFTEN)
        # The run that goes on has the API key of the one that waited, so that the same client can follow it.
        member = replace(member, key_id=run.api_key_id)
        return partial(_work, _Continuation(job.tenant_id, run, member, jobs.again(job, LEASE), max(came)))


def _has_key(run: Run) -> bool:
    """Return whether the API key with which a run was begun is still valid; True for one that was begun without."""
    if run.api_key_id is None:
        return True
    return active_keys().filter(pk=run.api_key_id, tenant_id=run.tenant_id).exists()


def _times_in_a_row(run: Run) -> int:
    """Return how many runs of the conversation have gone on by themselves since the last one that a person began."""
    runs = Run.objects.filter(tenant_id=run.tenant_id, conversation=run.conversation)
    begun = runs.exclude(run_id__startswith=RUN_PREFIX).order_by("-number").values_list("number", flat=True).first()
    return runs.filter(number__gt=begun or 0).count()


def _approvals_until(run: Run) -> datetime | None:
    """Return until when approvals of the same answer can be given; None if there are none."""
    waiting = Approval.objects.filter(tenant_id=run.tenant_id, run=run).order_by("-started_at")
    last = waiting.values_list("started_at", flat=True).first()
    return None if last is None else last + APPROVAL_LIFETIME


async def _work(one: _Continuation) -> None:
    set_tenants(one.tenant_id)
    run = one.run
    continue_trace(trace_of(run))
    given = RunInput(
        thread_id=run.conversation_id,
        run_id=f"{RUN_PREFIX}{run.pk}",
        options=ForwardedProps(follows=run.run_id),
        protocol_version="1.0",
        language=language_of(run),
    )
    try:
        await get_runs().open(member=one.member, assistant_slug=run.assistant.slug, given=given)
    except Refused as exc:
        await in_database(_refused, one, exc)
    else:
        await in_database(jobs.finish, tenant_id=one.tenant_id, name=CONTINUE_JOB, key=str(run.pk))


def _later(one: _Continuation, after: timedelta) -> None:
    jobs.renew(tenant_id=one.tenant_id, pk=one.lease.pk, due_at=timezone.now() + after, is_new=True)


def _refused(one: _Continuation, refusal: Refused) -> None:
    """Try again later, or give up, depending on the refusal."""
    if refusal.code == "invalid_input":  # the conversation has gone on without it
        jobs.cancel(tenant_id=one.tenant_id, name=CONTINUE_JOB, key=str(one.run.pk))
    elif refusal.code == "thread_busy":
        _later(one, BUSY_RETRY)
    elif refusal.code in {"limit_reached", "quota_exceeded"} and timezone.now() - one.came_at < LIMITED_FOR:
        _later(one, LIMITED_RETRY)
    elif refusal.code == "internal_error" and refusal.resets_at is not None:  # an outage
        _later(one, LEASE)
    else:
        jobs.fail(tenant_id=one.tenant_id, pk=one.lease.pk, problem=str(refusal))
