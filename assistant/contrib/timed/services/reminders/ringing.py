"""Makes alarms ring: in the open chats of their member, else by e-mail and webhook.

Servers import this module, so that its jobs are done. An alarm rings once, because one process claims it by an update
of its row; clients read the row, so that one that connects later gets it too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

from django.contrib.auth import get_user_model
from django.db.models import F, QuerySet
from django.utils import timezone

from assistant.contrib.timed.event_names import ALARM_UNSEEN
from assistant.contrib.timed.models import Alarm, PersonAlarms, TenantAlarms
from assistant.contrib.timed.services.reminders.alarms import ALARMS, REACH_JOB, RING_JOB, ringing
from assistant.contrib.timed.switches import alarms_are_on
from assistant.models import Job, Membership, Tenant
from assistant.services.db.clock import DatabaseTime
from assistant.services.db.threads import in_database
from assistant.services.eventlog.member_notices import notify
from assistant.services.jobs import jobs
from assistant.services.jobs.jobs import LongWork
from assistant.services.tenancy import mail
from assistant.services.tenancy.end_users import directory, is_end_user
from assistant.services.tenancy.person_settings import language_of
from assistant.services.tenancy.row_scope import tenant_scope
from assistant.services.tenant_events import record_event
from assistant.services.text import format_timestamp

# How long the open chats have to show an alarm before the e-mail and the webhook are sent.
SEEN_WITHIN = timedelta(seconds=15)
# When an e-mail that could not be sent, or whose process died, is tried again, and how often.
MAIL_RETRY, MAIL_TRIES = timedelta(minutes=5), 3


@dataclass(frozen=True, slots=True)
class DueMail:
    """An e-mail about an alarm: of whom, to whom, in which language, and what it says."""

    tenant_id: int
    alarm_id: int
    to: str
    key: str
    language: str
    context: Mapping[str, Any]


@jobs.handles(RING_JOB)
def _ring(job: Job) -> None:
    """Make an alarm ring, if it is still set and due and its member still has access."""
    if not alarms_are_on() or not job.tenant.is_active:
        return
    with tenant_scope(job.tenant_id):
        due = Alarm.objects.filter(
            pk=int(job.key), tenant_id=job.tenant_id, state=Alarm.State.SET, at__lte=DatabaseTime()
        )
        members = _may_enter(job.tenant_id).values("user_id")
        values = {"state": Alarm.State.RINGING, "rang_at": DatabaseTime(), "rings": F("rings") + 1}
        if not due.filter(user_id__in=members).update(**values, seen_at=None, told_at=None, mail_tries=0):
            return
        alarm = Alarm.objects.get(pk=int(job.key), tenant_id=job.tenant_id)
        jobs.schedule(tenant_id=job.tenant_id, name=REACH_JOB, key=job.key, due_at=timezone.now() + SEEN_WITHIN)
        notify(tenant_id=job.tenant_id, user_id=alarm.user_id, about=ALARMS)


@jobs.handles(REACH_JOB, is_long=True)
def _reach(job: Job) -> LongWork | None:
    """Report an alarm that no chat has shown by webhook; return the work that sends its e-mail."""
    with tenant_scope(job.tenant_id):
        found = Alarm.objects.filter(pk=int(job.key), tenant_id=job.tenant_id, state=Alarm.State.RINGING, seen_at=None)
        alarm = found.select_related("tenant", "user").first()
        if alarm is None or not alarm.tenant.is_active or not alarms_are_on():
            return None
        if not _may_enter(job.tenant_id).filter(user_id=alarm.user_id).exists():
            return None
        if alarm.told_at is None:
            Alarm.objects.filter(pk=alarm.pk, tenant_id=job.tenant_id).update(told_at=DatabaseTime())
            _record_unseen(alarm)
            # For a process whose chats have missed the first notice.
            notify(tenant_id=job.tenant_id, user_id=alarm.user_id, about=ALARMS)
        to = _address_of(alarm)
        if not to or alarm.mail_tries >= MAIL_TRIES:
            return None
        Alarm.objects.filter(pk=alarm.pk, tenant_id=job.tenant_id).update(mail_tries=F("mail_tries") + 1)
        jobs.schedule(tenant_id=job.tenant_id, name=REACH_JOB, key=job.key, due_at=timezone.now() + MAIL_RETRY)
        key, language = f"alarm-{alarm.pk}-{alarm.rings}", language_of(alarm.user)
        return partial(_send, DueMail(job.tenant_id, alarm.pk, to, key, language, _mail_context(alarm)))


def _may_enter(tenant_id: int) -> QuerySet[Membership]:
    return Membership.objects.filter(tenant_id=tenant_id, user__is_active=True)


def _record_unseen(alarm: Alarm) -> None:
    end_user = directory().find(user_id=alarm.user_id)
    about = ringing(alarm)
    record_event(
        tenant_id=alarm.tenant_id,
        event=ALARM_UNSEEN,
        data={
            "alarm": alarm.number,
            "user": alarm.user_id,
            **({"end_user": end_user.external_id} if end_user else {}),
            "at": format_timestamp(about.at),
            "rang_at": format_timestamp(about.rang_at),
            "rings": alarm.rings,
            "is_late": about.is_late,
        },
        event_key=f"alarm {alarm.pk} {alarm.rings}",
    )


def _address_of(alarm: Alarm) -> str:
    """Return the address to which an alarm is sent; empty if no e-mail should be sent."""
    if not mail.is_mail_configured():
        return ""
    if TenantAlarms.objects.filter(tenant_id=alarm.tenant_id, are_mailed=False).exists():
        return ""
    if is_end_user(user_id=alarm.user_id):
        return ""  # the tenant informs its end users itself, by the webhook
    if PersonAlarms.objects.filter(user_id=alarm.user_id, are_mailed=False).exists():
        return ""
    return str(getattr(alarm.user, get_user_model().get_email_field_name(), "") or "")


def _mail_context(alarm: Alarm) -> Mapping[str, Any]:
    tenant: Tenant = alarm.tenant
    about = ringing(alarm)
    return {
        "tenant": tenant.name,
        # A label that may repeat untrusted text is shown in the chat only.
        "label": "" if alarm.sources else alarm.label,
        "at": about.at.astimezone(ZoneInfo(tenant.timezone)),
        "zone": tenant.timezone,
        "is_late": about.is_late,
    }


async def _send(due: DueMail) -> None:
    """Send an e-mail in a thread that uses no database connection. One that fails is tried again by its job."""
    send = partial(mail.send, to=due.to, template="alarm", key=due.key, language=due.language, **due.context)
    if await asyncio.to_thread(send):
        await in_database(jobs.cancel, tenant_id=due.tenant_id, name=REACH_JOB, key=str(due.alarm_id))
