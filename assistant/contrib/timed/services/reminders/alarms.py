"""Members' alarms: setting, listing, ending and snoozing them. `ringing` makes them ring."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from assistant.contrib.timed.models import Alarm
from assistant.contrib.timed.switches import alarms_are_on
from assistant.services.eventlog.member_notices import notify
from assistant.services.jobs import jobs
from assistant.services.tenancy.members import Member
from assistant.services.text import format_timestamp
from assistant.toolkit.context import UserId

# The subject of the notices to a member's connections.
ALARMS = "alarms"
RING_JOB, REACH_JOB = "alarm.ring", "alarm.reach"
# An alarm that begins to ring later than this is marked as late.
LATE = timedelta(minutes=1)
# How many ringing alarms a client is sent, the newest ones.
MAX_RINGING = 20
MIN_SNOOZE, MAX_SNOOZE, DEFAULT_SNOOZE = 1, 24 * 60, 10
State = Alarm.State


@dataclass(frozen=True, slots=True)
class Ringing:
    """The description of a ringing alarm for clients."""

    number: int
    label: str
    at: datetime
    rang_at: datetime
    rings: int
    is_late: bool

    def as_mapping(self) -> dict[str, Any]:
        """Return it with the names of the websocket API."""
        return {
            "number": self.number,
            "label": self.label,
            "at": format_timestamp(self.at),
            "rangAt": format_timestamp(self.rang_at),
            "rings": self.rings,
            "isLate": self.is_late,
        }


def schedule_ring(alarm: Alarm) -> None:
    """Schedule an alarm to ring at its moment, or cancel that if it is no longer set.

    Must be called in the transaction that changes the alarm.
    """
    whose: dict[str, Any] = {"tenant_id": alarm.tenant_id, "name": RING_JOB, "key": str(alarm.pk)}
    if alarm.state == State.SET:
        jobs.schedule(**whose, due_at=alarm.at, created_by=alarm.user_id)
    else:
        jobs.cancel(**whose)


def alarms_of(*, tenant_id: int, user_id: UserId) -> QuerySet[Alarm]:
    """Return a member's alarms in a tenant."""
    return Alarm.objects.filter(tenant_id=tenant_id, user_id=user_id)


def own_alarms(member: Member, *, state: str = "") -> QuerySet[Alarm]:
    """Return a member's alarms, the newest first; with `state` those in that state."""
    found = alarms_of(tenant_id=member.tenant_id, user_id=member.user_id).order_by("-number")
    return found.filter(state=state) if state else found


def ringing_of(*, tenant_id: int, user_id: UserId) -> list[Ringing]:
    """Return a member's ringing alarms, the one first that rings longest."""
    if not alarms_are_on():
        return []
    found = alarms_of(tenant_id=tenant_id, user_id=user_id).filter(state=State.RINGING, rang_at__isnull=False)
    return [ringing(alarm) for alarm in reversed(found.order_by("-rang_at", "-pk")[:MAX_RINGING])]


def ringing(alarm: Alarm) -> Ringing:
    """Return the description, for clients, of an alarm that has rung."""
    rang_at = alarm.rang_at or alarm.at
    return Ringing(alarm.number, alarm.label, alarm.at, rang_at, alarm.rings, rang_at - alarm.at > LATE)


def mark_seen(*, member: Member, number: int) -> None:
    """Record that a chat of the member shows the alarm, so that no webhook event and no e-mail are sent."""
    found = own_alarms(member, state=State.RINGING).filter(number=number, seen_at=None)
    found.update(seen_at=timezone.now())


def end_alarm(*, member: Member, number: int) -> Alarm | None:
    """End a ringing alarm, or one that is set; return it, or None if the member has none of this number.

    One that has ended already stays as it is, so that ending it twice is no error.
    """
    return _change(member, number, {"state": State.DONE}, from_states=(State.RINGING, State.SET))


def snooze_alarm(*, member: Member, number: int, minutes: int) -> Alarm | None:
    """Make a ringing alarm ring again in this many minutes; return it, or None if the member has none of this number.

    Only one of two requests at once has an effect: after it the alarm does not ring.

    Raises:
        ValueError: `minutes` is out of bounds.
    """
    if not MIN_SNOOZE <= minutes <= MAX_SNOOZE:
        raise ValueError(f"minutes is {MIN_SNOOZE} to {MAX_SNOOZE}, not {minutes}")
    at = timezone.now() + timedelta(minutes=minutes)
    values = {"state": State.SET, "at": at, "seen_at": None, "told_at": None, "mail_tries": 0}
    return _change(member, number, values, from_states=(State.RINGING,))


@transaction.atomic
def _change(member: Member, number: int, values: dict[str, Any], *, from_states: tuple[str, ...]) -> Alarm | None:
    own = own_alarms(member).filter(number=number)
    is_changed = own.filter(state__in=from_states).update(**values)
    alarm = own.first()
    if alarm is not None and is_changed:
        schedule_ring(alarm)
        jobs.cancel(tenant_id=alarm.tenant_id, name=REACH_JOB, key=str(alarm.pk))
        notify(tenant_id=alarm.tenant_id, user_id=alarm.user_id, about=ALARMS)
    return alarm
