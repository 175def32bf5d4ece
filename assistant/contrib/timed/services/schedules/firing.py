"""Asks the questions of due schedules, once for each moment, and delivers the answers.

Servers import this module, so that its jobs are done. At a moment one transaction stores the row of that moment, which
is unique, and the job that asks. That job is held by a lease: if its process dies, another one goes on with the same
conversation and run id, so that there is one run of a schedule and a moment.
"""

from __future__ import annotations

import asyncio
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from django.conf import settings
from django.db.models import Sum
from django.utils import timezone
from django.utils.translation import gettext_noop

from assistant.contrib.timed.event_names import SCHEDULE_FINISHED
from assistant.contrib.timed.models import Schedule, ScheduleRun
from assistant.contrib.timed.services.schedules.delivery import MAIL_TRIES, due_mail, send_mail
from assistant.contrib.timed.services.schedules.schedules import (
    ASK_JOB,
    DUE_JOB,
    State,
    first_moment,
    schedule_next,
    spent_by,
    stop_schedule,
)
from assistant.models import Conversation, Job, Run, UsageEntry
from assistant.services.db.threads import in_database
from assistant.services.errors import Refused
from assistant.services.jobs import jobs
from assistant.services.jobs.jobs import LongWork
from assistant.services.runs.manager import get_runs
from assistant.services.runs.run_input import RunInput, TextMessage
from assistant.services.tenancy.members import Member, find_member, member_of_key
from assistant.services.tenancy.person_settings import language_of
from assistant.services.tenancy.row_scope import set_tenants, tenant_scope
from assistant.services.tenant_events import record_event, run_url
from assistant.services.text import format_timestamp
from assistant.toolkit.per_loop import PerLoop

# A question whose moment passed longer ago than this is not asked: the moment was missed.
MISSED_AFTER = timedelta(minutes=2)
# How long the job of a question is held, and how often that is renewed.
LEASE, RENEW_SECONDS = timedelta(seconds=60), 15.0
# Questions that one process asks at once, of all tenants and of one; the others wait in their jobs.
AT_ONCE, AT_ONCE_OF_TENANT = 40, 10
# Pauses before a retry: while schedules are off, and after an e-mail that could not be sent.
OFF_RETRY, MAIL_RETRY = timedelta(minutes=10), timedelta(minutes=5)
# The reasons why a schedule stops, or does not ask; translated where they are shown.
NO_TENANT = gettext_noop("Its tenant is suspended.")
NO_ACCESS = gettext_noop("Its member has no access any more.")
NO_KEY = gettext_noop("The API key that made it is not valid any more.")
NO_ASSISTANT = gettext_noop("Its assistant is not active.")
NO_BUDGET = gettext_noop("Its budget is used up.")
MISSED = gettext_noop("Its moment was missed.")
DELETED = gettext_noop("The conversation was deleted.")
_IDS = uuid.UUID("0f2a3a5e-6f0b-4f53-9a0c-6a9f3b1d7c42")
_places = PerLoop(lambda: asyncio.Semaphore(AT_ONCE))
# Weak references: a tenant's semaphore is dropped with the last question that uses it.
_tenant_places: PerLoop[WeakValueDictionary[int, asyncio.Semaphore]] = PerLoop(WeakValueDictionary)
RunState = ScheduleRun.State


@jobs.handles(DUE_JOB)
def _fire(job: Job) -> None:
    """Store that a schedule is due, and when it is due next."""
    with tenant_scope(job.tenant_id):
        rows = Schedule.objects.select_for_update(of=("self",)).select_related("tenant", "assistant", "user")
        row = rows.filter(pk=int(job.key), tenant_id=job.tenant_id).first()
        now = max(timezone.now(), job.due_at)  # the database's clock, by which it is due, may be ahead of this one
        if row is None or row.state != State.ON or row.next_at is None:
            return
        if not settings.ASSISTANT_SCHEDULES:
            jobs.schedule(tenant_id=row.tenant_id, name=DUE_JOB, key=job.key, due_at=now + OFF_RETRY)
            return
        if reason := _why_not(row):
            stop_schedule(row, reason)
            return
        if row.next_at > now:
            schedule_next(row)
            return
        _store_due(row, row.next_at, now)
        row.next_at = first_moment(row, now) if row.cron else None
        if row.next_at is None:
            stop_schedule(row, "", state=State.DONE)
        else:
            row.save(update_fields=["next_at"])
            schedule_next(row)


def _why_not(row: Schedule) -> str:
    """Return why a schedule may not ask any more; "" if it may."""
    if not row.tenant.is_active:
        return NO_TENANT
    if reason := _no_access(row):
        return reason
    if not row.assistant.is_active:
        return NO_ASSISTANT
    if row.budget is not None and spent_by(row) >= row.budget:
        return NO_BUDGET
    return ""


def _member(row: Schedule) -> Member | None:
    """Return the member in whose name a schedule asks, if they may still, with the API key that made it."""
    if row.api_key_id is not None:
        return member_of_key(tenant_id=row.tenant_id, key_id=row.api_key_id)
    return find_member(user_id=row.user_id, tenant_slug=row.tenant.slug)


def _no_access(row: Schedule) -> str:
    """Return why a schedule's member may not ask any more; "" if they may."""
    if _member(row) is not None:
        return ""
    is_member = find_member(user_id=row.user_id, tenant_slug=row.tenant.slug) is not None
    return NO_KEY if is_member else NO_ACCESS


def _store_due(row: Schedule, due_at: datetime, now: datetime) -> None:
    is_skipped = row.missed == Schedule.Missed.SKIP and now - due_at > MISSED_AFTER
    values = {"state": RunState.SKIPPED, "ended_at": now, "problem": MISSED} if is_skipped else {}
    due, is_new = ScheduleRun.objects.get_or_create(
        tenant_id=row.tenant_id, schedule=row, due_at=due_at, defaults=values
    )
    if is_new and not is_skipped:
        due.conversation_id = uuid.uuid5(_IDS, f"{row.tenant_id} {due.pk}")
        due.run_id = f"schedule-{row.pk}-{due_at.astimezone(UTC):%Y%m%dT%H%M%S}"
        due.save(update_fields=["conversation_id", "run_id"])
        jobs.schedule(tenant_id=row.tenant_id, name=ASK_JOB, key=str(due.pk), due_at=now, created_by=row.user_id)


@dataclass(frozen=True, slots=True)
class _Asking:
    """A question that this process asks: whose it is, and the job by which the process holds it."""

    tenant_id: int
    due_id: int
    lease: int
    member: Member
    assistant: str
    given: RunInput


@jobs.handles(ASK_JOB, is_long=True)
def _ask(job: Job) -> LongWork | None:
    """Return the work of a moment that is not done: to ask its question, or to send its answer."""
    with tenant_scope(job.tenant_id):
        rows = ScheduleRun.objects.select_related("schedule__tenant", "schedule__assistant", "schedule__user")
        due = rows.filter(pk=int(job.key), tenant_id=job.tenant_id).first()
        if due is None:
            return None
        if due.state != RunState.RUNNING:
            return _mail_of(due)
        member = _member(due.schedule)
        if member is None:
            _end(due, _no_access(due.schedule))
            return None
        asked = due.schedule
        message = TextMessage(id=f"{due.run_id}-question", text=asked.prompt, sources=tuple(asked.sources))
        how: dict[str, Any] = {"is_unattended": True, "language": language_of(asked.user)}
        given = RunInput(due.conversation_id or uuid.uuid4(), due.run_id, message=message, **how)
        asking = _Asking(job.tenant_id, due.pk, jobs.again(job, LEASE).pk, member, due.schedule.assistant.slug, given)
        return partial(_work, asking)


async def _work(asking: _Asking) -> None:
    set_tenants(asking.tenant_id)
    renewal = asyncio.create_task(_renew(asking), name="renew-schedule")
    try:
        place_of_tenant = _tenant_places.get().setdefault(asking.tenant_id, asyncio.Semaphore(AT_ONCE_OF_TENANT))
        async with place_of_tenant, _places.get():
            problem = await _ask_and_wait(asking)
    finally:
        renewal.cancel()
    send = await in_database(_finish, asking, problem)
    if send is not None:
        await send()


async def _renew(asking: _Asking) -> None:
    """Hold the job while this process works on it."""
    while True:
        await asyncio.sleep(RENEW_SECONDS)
        due_at = timezone.now() + LEASE
        await in_database(jobs.renew, tenant_id=asking.tenant_id, pk=asking.lease, due_at=due_at)


async def _ask_and_wait(asking: _Asking) -> str:
    """Ask the question, or find that it was asked, and wait for the end; return why it was refused, or ""."""
    runs = get_runs()
    try:
        opened = await runs.open(member=asking.member, assistant_slug=asking.assistant, given=asking.given)
    except Refused as exc:
        return str(exc)
    await runs.ended(pk=opened.key.pk)
    # Another process may work on it; then only the database shows its end.
    while not await in_database(_has_ended, asking.tenant_id, opened.key.pk):  # noqa: ASYNC110
        await asyncio.sleep(1.0)
    return ""


def _has_ended(tenant_id: int, pk: int) -> bool:
    active = (Run.Status.RUNNING, Run.Status.QUEUED)
    return not Run.objects.filter(tenant_id=tenant_id, pk=pk, status__in=active).exists()


def _finish(asking: _Asking, problem: str) -> LongWork | None:
    """Store how a moment ended; return the work that sends its e-mail, if there is one to send."""
    rows = ScheduleRun.objects.select_related("schedule__tenant", "schedule__assistant", "schedule__user")
    due = rows.filter(pk=asking.due_id, tenant_id=asking.tenant_id).first()
    if due is None:
        return None
    _end(due, problem)
    return _mail_of(due)


def _end(due: ScheduleRun, problem: str) -> None:
    """Store the end of a moment and its event, unless another process has."""
    run = None
    if due.conversation_id is not None:
        own_runs = Run.objects.filter(tenant_id=due.tenant_id, run_id=due.run_id)
        run = own_runs.filter(conversation_id=due.conversation_id).first()
    if not problem and (run is None or run.status != Run.Status.FINISHED):
        problem = DELETED if run is None else run.error_message or run.get_status_display()
    cost = 0
    if run is not None:
        cost = UsageEntry.objects.filter(tenant_id=due.tenant_id, run=run).aggregate(sum=Sum("cost"))["sum"] or 0
        new = Conversation.objects.filter(tenant_id=due.tenant_id, pk=run.conversation_id, run_count=1)
        new.update(title=due.schedule.name)
    values = {
        "state": RunState.FAILED if problem else RunState.FINISHED,
        "problem": problem[:300],
        "cost": cost,
        "ended_at": timezone.now(),
    }
    own = ScheduleRun.objects.filter(pk=due.pk, tenant_id=due.tenant_id, state=RunState.RUNNING)
    if not own.update(**values):
        return
    if due.schedule.delivery == Schedule.Delivery.WEBHOOK:
        _record_event(due, str(values["state"]))
    due.refresh_from_db(fields=["state", "problem", "cost", "ended_at"])


def _record_event(due: ScheduleRun, status: str) -> None:
    row = due.schedule
    record_event(
        tenant_id=due.tenant_id,
        event=SCHEDULE_FINISHED,
        data={
            "schedule": row.pk,
            "assistant": row.assistant.slug,
            "user": row.user_id,
            "due_at": format_timestamp(due.due_at),
            "status": status,
            "conversation": str(due.conversation_id),
            "run": due.run_id,
            "url": run_url(tenant=row.tenant.slug, run_id=due.run_id),
        },
        event_key=f"schedule run {due.pk}",
    )


def _mail_of(due: ScheduleRun) -> LongWork | None:
    """Return the work that sends the e-mail of a moment, held by its job; None if none is to be sent."""
    whose: dict[str, Any] = {"tenant_id": due.tenant_id, "name": ASK_JOB, "key": str(due.pk)}
    # A member who has lost access meanwhile gets no e-mail: they could not read the answer in the chat either.
    mail = due_mail(due) if _member(due.schedule) is not None else None
    if mail is None or due.mail_tries >= MAIL_TRIES:
        jobs.cancel(**whose)
        return None
    ScheduleRun.objects.filter(pk=due.pk, tenant_id=due.tenant_id).update(mail_tries=due.mail_tries + 1)
    jobs.schedule(**whose, due_at=timezone.now() + MAIL_RETRY)
    return partial(_send, mail.due_id, due.tenant_id, partial(send_mail, mail))


async def _send(due_id: int, tenant_id: int, send: partial[bool]) -> None:
    if await asyncio.to_thread(send):
        await in_database(_sent, due_id, tenant_id)


def _sent(due_id: int, tenant_id: int) -> None:
    ScheduleRun.objects.filter(pk=due_id, tenant_id=tenant_id).update(delivered_at=timezone.now())
    jobs.cancel(tenant_id=tenant_id, name=ASK_JOB, key=str(due_id))
