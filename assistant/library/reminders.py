"""Alarms: a member sets, lists and cancels their own, and nobody else's."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from django.db import IntegrityError, transaction
from django.db.models import Max, QuerySet

from assistant.library.moments import in_words, moments_of, read_time, read_zone
from assistant.models.reminders import Alarm
from assistant.toolkit import Example, ExampleStep, Param, ToolContext, ToolError, tool

# Alarms that lie ahead, for one member.
MAX_AHEAD = 100
# A model's clock time is rounded to the minute, so the minute that has begun still counts as now.
GRACE = timedelta(minutes=1)

State = Literal["set", "cancelled", "past"]

# Small models cannot add times; they may leave that to the tool, from a clock time on or from now.
_LATER = re.compile(
    r"(?:(?P<start>.*?)\s*\+|in)\s*(?P<amount>\d{1,5})\s*(?P<unit>m|h)(?:in|inutes?|ours?)?\.?", re.IGNORECASE
)
_NOW = {"", "now", "current_time", "current time"}


@dataclass(frozen=True, slots=True)
class AlarmRecord:
    """An alarm; `alarm_id` is the member's own count, `at` is in the tenant's zone, "past" is what was due."""

    alarm_id: int
    human: str
    at: str
    label: str
    state: State


@tool(
    examples=[
        Example(
            "set an alarm in 25 minutes",
            {"at": "04:05 + 25 minutes"},
            before=[ExampleStep("current_time", {}, '{"human":"Friday 3 February 1911, 04:05"}')],
            result='{"alarm_id":90003,"human":"Friday 3 February 1911, 04:30","label":"","state":"set"}',
            answer="The alarm is set for 04:30.",
        ),
        Example(
            "wake me for the ferry on 3 February 2111 at 6:35",
            {"at": "2111-02-03T06:35", "label": "Ferry"},
            result='{"alarm_id":90004,"human":"Tuesday 3 February 2111, 06:35","label":"Ferry","state":"set"}',
            answer="The alarm for the ferry is set for Tuesday 3 February 2111, 06:35.",
        ),
    ]
)
def set_alarm(
    at: Annotated[
        str,
        Param(
            "Clock time, like 10:42 or 2026-11-21T10:42. For a wait, first ask current_time: 10:42 + 5 minutes.",
            max_length=50,
        ),
    ],
    context: ToolContext,
    label: Annotated[str, Param("What it is for, in a few words.", max_length=200)] = "",
) -> AlarmRecord:
    """Set an alarm at a clock time."""
    now = datetime.now(UTC)
    alarm = _set_before(context)
    if alarm is None:
        moment = _moment(at, context, now)
        if _ahead(context, now).count() >= MAX_AHEAD:
            raise ToolError(f"There are {MAX_AHEAD} alarms ahead already. Cancel one first.")
        alarm = _add(context, moment, " ".join(label.split()))
    return _record(alarm, context, now)


@tool(
    read_only=True,
    examples=[
        Example(
            "do I have any alarms?",
            {},
            result='[{"alarm_id":90004,"human":"Tuesday 3 February 2111, 06:35","label":"","state":"set"}]',
            answer="You have one: alarm 90004 on Tuesday 3 February 2111, 06:35.",
        )
    ],
)
def list_alarms(
    context: ToolContext,
    include_old: Annotated[bool, Param("Also show past and cancelled ones.")] = False,
) -> list[AlarmRecord]:
    """List the user's alarms, the next one first."""
    now = datetime.now(UTC)
    alarms = _mine(context) if include_old else _ahead(context, now)
    return [_record(alarm, context, now) for alarm in alarms[:MAX_AHEAD]]


@tool(
    idempotent=True,
    examples=[
        Example(
            "cancel alarm 90004",
            {"alarm_id": 90004},
            result='{"alarm_id":90004,"human":"Tuesday 3 February 2111, 06:35","label":"","state":"cancelled"}',
            answer="Alarm 90004 is cancelled.",
        )
    ],
)
def cancel_alarm(alarm_id: Annotated[int, Param("From list_alarms.", ge=1)], context: ToolContext) -> AlarmRecord:
    """Cancel one of the user's alarms."""
    alarm = _mine(context).filter(number=alarm_id).first()
    if alarm is None:
        raise ToolError(f"The user has no alarm {alarm_id}. Ask list_alarms which there are.")
    alarm.state = Alarm.State.CANCELLED
    alarm.save(update_fields=["state"])
    return _record(alarm, context, datetime.now(UTC))


def _mine(context: ToolContext) -> QuerySet[Alarm]:
    return Alarm.objects.filter(tenant_id=context.tenant.pk, user_id=context.user.pk)


def _ahead(context: ToolContext, now: datetime) -> QuerySet[Alarm]:
    return _mine(context).filter(state=Alarm.State.SET, at__gt=now - GRACE)


def _set_before(context: ToolContext) -> Alarm | None:
    """What this very tool call set already, if it is run again."""
    if not context.idempotency_key:
        return None
    return _mine(context).filter(idempotency_key=context.idempotency_key).first()


def _moment(at: str, context: ToolContext, now: datetime) -> datetime:
    """When the alarm is due; a clock time without a day is the next time that clocks show it."""
    zone = read_zone(context.tenant.timezone)
    later = _LATER.fullmatch(" ".join(at.split()))
    if later is not None and (later["start"] or "").lower() in _NOW:
        return (now.replace(microsecond=0) + _wait(later)).astimezone(zone)
    written = read_time(later["start"] if later else at, zone, now)
    today = now.astimezone(zone).date()
    if written.moment is not None:
        moment = written.moment.astimezone(zone)
    elif written.day is not None:
        moment = moments_of(written.day, written.clock, zone)[0]
    else:
        moment = moments_of(today, written.clock, zone)[0]
        if later is None and moment <= now - GRACE:
            moment = moments_of(today + timedelta(days=1), written.clock, zone)[0]
        elif later is not None and moment > now + timedelta(hours=12):  # the clock was asked before midnight
            moment = moments_of(today - timedelta(days=1), written.clock, zone)[0]
    if later is not None:
        moment = (moment.astimezone(UTC) + _wait(later)).astimezone(zone)
    if moment <= now - GRACE:
        raise ToolError(f"{in_words(moment)} is past. It is now {in_words(now.astimezone(zone))}.")
    return moment


def _wait(later: re.Match[str]) -> timedelta:
    return timedelta(minutes=int(later["amount"]) * (60 if later["unit"].lower() == "h" else 1))


def _add(context: ToolContext, moment: datetime, label: str) -> Alarm:
    """A row with the member's next number; another call may take that number first, and then the next one is tried."""
    for _ in range(10):
        last = _mine(context).aggregate(last=Max("number"))["last"] or 0
        try:
            with transaction.atomic():
                return Alarm.objects.create(
                    tenant_id=context.tenant.pk,
                    user_id=context.user.pk,
                    number=last + 1,
                    at=moment,
                    label=label,
                    idempotency_key=context.idempotency_key,
                )
        except IntegrityError:
            if done := _set_before(context):
                return done
    raise ToolError("Too many alarms are being set at once. Try again.")


def _record(alarm: Alarm, context: ToolContext, now: datetime) -> AlarmRecord:
    at = alarm.at.astimezone(read_zone(context.tenant.timezone))
    state: State = "cancelled" if alarm.state == Alarm.State.CANCELLED else "past" if at <= now - GRACE else "set"
    return AlarmRecord(
        alarm_id=alarm.number,
        human=in_words(at),
        at=at.isoformat(timespec="seconds"),
        label=alarm.label,
        state=state,
    )
