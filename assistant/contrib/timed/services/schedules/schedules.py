"""Creates, pauses, continues and deletes members' schedules. `firing` asks their questions."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet, Sum
from django.utils import timezone
from django.utils.translation import gettext as _

from assistant.contrib.timed.models import Schedule, ScheduleRun
from assistant.contrib.timed.services.schedules.moments import InvalidMoments, check_cron, next_moment
from assistant.models import Assistant, Tenant
from assistant.models.tenants import validate_timezone
from assistant.services.jobs import jobs
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.members import Member
from assistant.toolkit.context import UserId

DUE_JOB, ASK_JOB = "schedule.due", "schedule.ask"
# Schedules of a member, and of a tenant, that are on or paused; more are refused.
MAX_OF_MEMBER, MAX_OF_TENANT = 20, 500
MAX_NAME, MAX_PROMPT, MAX_CRON = 100, 4000, 100
# How far ahead a moment or an end may be.
MAX_AHEAD = timedelta(days=366)
MAX_BUDGET = 10**12
State = Schedule.State
OPEN = (State.ON, State.PAUSED)


class ScheduleRefused(ValueError):
    """A schedule cannot be made as it is asked for. People and models read the sentence."""


@dataclass(frozen=True, slots=True)
class ScheduleDraft:
    """What a member wants asked, and when.

    Attributes:
        cron: a line of five fields; "" to ask once, `at` a moment.
        ends_at: when a recurring one ends.
        budget: what all answers of a recurring one may cost together, in millionths of the currency.
        sources: if a model wrote the question: the sources of untrusted text that it had read.
        timezone: an IANA name; "" for the tenant's.
    """

    assistant: str
    name: str
    prompt: str
    cron: str = ""
    at: datetime | None = None
    timezone: str = ""
    ends_at: datetime | None = None
    budget: int | None = None
    missed: str = Schedule.Missed.RUN
    delivery: str = Schedule.Delivery.CONVERSATION
    idempotency_key: str = ""
    sources: tuple[str, ...] = ()


def own_schedules(member: Member) -> QuerySet[Schedule]:
    """Return a member's schedules, the newest first."""
    found = Schedule.objects.filter(tenant_id=member.tenant_id, user_id=member.user_id)
    return found.select_related("assistant")


@transaction.atomic
def make_schedule(*, member: Member, draft: ScheduleDraft) -> Schedule:
    """Store a member's schedule, and schedule its first moment. A repeated idempotency key returns the first schedule.

    Raises:
        ScheduleRefused: schedules are off here, the member is an end user, there are too many, or a value is wrong.
    """
    if not settings.ASSISTANT_SCHEDULES or member.is_end_user:
        raise ScheduleRefused(_("Schedules are off here."))
    if draft.idempotency_key and (done := _made_by(member, draft.idempotency_key)):
        return done
    zone, now = draft.timezone or member.tenant.timezone, timezone.now()
    # One after the other, so that the limits hold.
    Tenant.objects.select_for_update().get(pk=member.tenant_id)
    assistant = Assistant.objects.filter(tenant_id=member.tenant_id, slug=draft.assistant, is_active=True).first()
    if assistant is None:
        raise ScheduleRefused(_("There is no such assistant."))
    check_draft(draft, zone=zone, now=now)
    _check_number(tenant_id=member.tenant_id, user_id=member.user_id)
    row = Schedule(
        tenant_id=member.tenant_id,
        user_id=member.user_id,
        api_key_id=member.key_id,
        assistant=assistant,
        name=" ".join(draft.name.split()),
        prompt=draft.prompt.strip(),
        sources=list(draft.sources),
        cron=" ".join(draft.cron.split()),
        at=None if draft.cron else draft.at,
        timezone=zone,
        ends_at=draft.ends_at if draft.cron else None,
        budget=draft.budget,
        missed=draft.missed,
        delivery=draft.delivery,
        idempotency_key=draft.idempotency_key,
    )
    row.next_at = first_moment(row, now)
    try:
        with transaction.atomic():
            row.save()
    except IntegrityError:
        if done := _made_by(member, draft.idempotency_key):
            return done
        raise
    schedule_next(row)
    _record(row, "schedule.create", row.user)
    return row


def _made_by(member: Member, key: str) -> Schedule | None:
    return own_schedules(member).filter(idempotency_key=key).first()


def check_draft(draft: ScheduleDraft, *, zone: str, now: datetime) -> None:
    """Check the values of a schedule, apart from its assistant. Raises `ScheduleRefused`."""
    for value, most, what in ((draft.name, MAX_NAME, _("name")), (draft.prompt, MAX_PROMPT, _("question"))):
        if not value.strip() or len(value) > most:
            raise ScheduleRefused(_("The %(what)s has 1 to %(most)d characters.") % {"what": what, "most": most})
    if draft.missed not in Schedule.Missed.values or draft.delivery not in Schedule.Delivery.values:
        raise ScheduleRefused(_("This way to deliver, or to do with what was missed, does not exist."))
    try:
        validate_timezone(zone)
    except Exception as exc:
        raise ScheduleRefused(_("There is no time zone “%(zone)s”.") % {"zone": zone[:64]}) from exc
    if not draft.cron:
        _check_moment(draft.at, now)
        return
    if len(draft.cron) > MAX_CRON:
        raise ScheduleRefused(_("A cron line has five fields: minute, hour, day, month, day of the week."))
    if draft.at is not None:
        raise ScheduleRefused(_("A schedule has a cron line or a moment, not both."))
    if draft.ends_at is None or not draft.budget:
        raise ScheduleRefused(_("A schedule that asks again and again needs an end and a budget."))
    if not 0 < draft.budget <= MAX_BUDGET:
        raise ScheduleRefused(_("This budget is not possible."))
    _check_moment(draft.ends_at, now)
    try:
        check_cron(draft.cron, zone, now)
    except InvalidMoments as exc:
        raise ScheduleRefused(str(exc)) from exc
    first = next_moment(draft.cron, zone, now)
    if first is None or first > draft.ends_at:
        raise ScheduleRefused(_("It would end before it asks for the first time."))


def _check_moment(at: datetime | None, now: datetime) -> None:
    if at is None or not now < at <= now + MAX_AHEAD:
        raise ScheduleRefused(_("The moment must be in the future, within a year."))


def _check_number(*, tenant_id: int, user_id: UserId) -> None:
    open_ones = Schedule.objects.filter(tenant_id=tenant_id, state__in=OPEN)
    if open_ones.filter(user_id=user_id).count() >= MAX_OF_MEMBER or open_ones.count() >= MAX_OF_TENANT:
        raise ScheduleRefused(_("There are too many schedules already. Delete one first."))


def first_moment(row: Schedule, after: datetime) -> datetime | None:
    """Return the next moment of a schedule after another one; None if there is none before its end."""
    if not row.cron:
        return row.at if row.at is not None and row.at > after else None
    found = next_moment(row.cron, row.timezone, after)
    return found if found is not None and (row.ends_at is None or found <= row.ends_at) else None


def schedule_next(row: Schedule) -> None:
    """Schedule the next moment of a schedule, or none if it is not on or has none."""
    whose: dict[str, Any] = {"tenant_id": row.tenant_id, "name": DUE_JOB, "key": str(row.pk)}
    if row.state == State.ON and row.next_at is not None:
        jobs.schedule(**whose, due_at=row.next_at, created_by=row.user_id)
    else:
        jobs.cancel(**whose)


@transaction.atomic
def set_paused(*, row: Schedule, is_paused: bool, actor: audit_trail.Actor, by: Member | None = None) -> Schedule:
    """Pause a schedule, or continue it at its next moment; one that has ended or stopped for good stays as it is.

    Args:
        by: its member, if they continue it themselves: from then on it asks with the API key that they use now, or with
            none.

    Raises:
        ScheduleRefused: it has no moment any more, or there are too many that are on or paused.
    """
    # Locked first, as when a schedule is created.
    Tenant.objects.select_for_update(no_key=True).get(pk=row.tenant_id)
    row = Schedule.objects.select_for_update().get(pk=row.pk, tenant_id=row.tenant_id)
    if is_paused and row.state == State.ON:
        row.state = State.PAUSED
    elif not is_paused and row.state in (State.PAUSED, State.STOPPED):
        if row.state == State.STOPPED:
            _check_number(tenant_id=row.tenant_id, user_id=row.user_id)
        row.state, row.reason, row.next_at = State.ON, "", first_moment(row, timezone.now())
        if row.next_at is None:
            raise ScheduleRefused(_("Its last moment has passed."))
        if by is not None:
            row.api_key_id = by.key_id
    else:
        return row
    row.save(update_fields=["state", "reason", "next_at", "api_key"])
    schedule_next(row)
    _record(row, "schedule.pause" if is_paused else "schedule.resume", actor)
    return row


@transaction.atomic
def delete_schedule(*, row: Schedule, actor: audit_trail.Actor) -> None:
    """Delete a schedule. Conversations with its answers stay."""
    jobs.cancel(tenant_id=row.tenant_id, name=DUE_JOB, key=str(row.pk))
    _record(row, "schedule.delete", actor)
    row.delete()


def stop_schedule(row: Schedule, reason: str, *, state: str = State.STOPPED) -> None:
    """End a locked schedule with a reason that people read."""
    row.state, row.reason, row.next_at = state, reason[:200], None
    row.save(update_fields=["state", "reason", "next_at"])
    schedule_next(row)
    _record(row, "schedule.stop", None, reason=row.reason)


def spent_by(row: Schedule) -> int:
    """Return what the answers of a schedule have cost, in millionths."""
    runs = ScheduleRun.objects.filter(tenant_id=row.tenant_id, schedule=row)
    return int(runs.aggregate(cost=Sum("cost"))["cost"] or 0)


def moment_in_zone(row: Schedule, at: datetime) -> datetime:
    """Return a moment in a schedule's time zone."""
    return at.astimezone(ZoneInfo(row.timezone))


def _record(row: Schedule, action: str, actor: audit_trail.Actor, **details: str) -> None:
    audit_trail.record(actor=actor, action=action, target=f"schedule {row.pk}", tenant=row.tenant, details=details)
