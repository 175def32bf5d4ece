"""The alarm tools: a member sets, lists and cancels their own alarms."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from django.db import IntegrityError, transaction
from django.db.models import Max, QuerySet
from django.utils.translation import gettext_lazy as _

from assistant.contrib.timed.models import Alarm
from assistant.contrib.timed.services.reminders.alarms import ALARMS, schedule_ring
from assistant.contrib.timed.time_parsing import datetimes_of, format_datetime, parse_time, parse_zone
from assistant.services.eventlog.member_notices import notify
from assistant.toolkit import Example, Param, ToolContext, ToolError, tool

# Upcoming alarms of one member.
MAX_UPCOMING = 100
# Models round times to the minute, so an alarm is past only when its minute has ended.
GRACE = timedelta(minutes=1)

State = Literal["set", "ringing", "done", "cancelled", "past"]

_STATES: dict[str, State] = {"set": "set", "ringing": "ringing", "done": "done", "cancelled": "cancelled"}
_NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8}
_NUMBERS |= {"nine": 9, "ten": 10, "fifteen": 15, "twenty": 20, "thirty": 30, "forty-five": 45, "sixty": 60}
# Small models cannot add times, so the tool accepts "in 5 minutes" and "10:42 + 5 minutes".
_OFFSET = re.compile(
    rf"(?:(?P<start>.*?)\s*\+|in)\s*(?P<amount>\d{{1,5}}|{'|'.join(_NUMBERS)})\s*"
    r"(?P<unit>m|h)(?:in|ins|inutes?|ours?)?\.?",
    re.IGNORECASE,
)
_NOW = {"", "now", "current_time", "current time"}


@dataclass(frozen=True, slots=True)
class AlarmRecord:
    """An alarm; `alarm_id` counts the member's alarms, `at` is in the tenant's time zone.

    "ringing" means that it waits to be seen, "past" that it was due and did not ring.
    """

    alarm_id: int
    human: str
    at: str
    label: str
    state: State


@dataclass(frozen=True, slots=True)
class AlarmSet:
    """The alarm that was set, as an `AlarmRecord` has it; `summary` says so in a sentence."""

    summary: str
    alarm_id: int
    human: str
    at: str
    label: str
    state: State


@tool(
    title=_("Set an alarm"),
    examples=[
        Example(
            "set an alarm in 25 minutes",
            {"at": "in 25 minutes"},
            result='{"alarm_id":90003,"human":"Friday 3 February 1911, 04:30","label":"","state":"set"}',
            answer="The alarm is set for 04:30.",
        ),
        Example(
            "wake me tomorrow at 6:35 for the ferry",
            {"at": "tomorrow 6:35", "label": "Ferry"},
            result='{"alarm_id":90004,"human":"Tuesday 3 February 2111, 06:35","label":"Ferry","state":"set"}',
            answer="The alarm for the ferry is set for Tuesday 3 February 2111, 06:35.",
        ),
    ],
)
def set_alarm(
    at: Annotated[
        str,
        Param(
            "Like 10:42, tomorrow 10:42, 2026-11-21T10:42 or in 5 minutes.",
            max_length=50,
        ),
    ],
    context: ToolContext,
    label: Annotated[str, Param("What it is for, in a few words.", max_length=200)] = "",
) -> AlarmSet:
    """Set an alarm at a clock time, or after a wait."""
    now = datetime.now(UTC)
    alarm = _existing_alarm(context)
    if alarm is None:
        moment = _due_at(at, context, now)
        if _upcoming(context, now).count() >= MAX_UPCOMING:
            raise ToolError(f"There are {MAX_UPCOMING} upcoming alarms already. Cancel one first.")
        alarm = _add(context, moment, " ".join(label.split()))
    record = _record(alarm, context, now)
    about = f" for “{alarm.label}”" if alarm.label else ""
    return AlarmSet(f"The alarm{about} is set for {record.human}.", **asdict(record))


@tool(
    title=_("List alarms"),
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
    alarms = _alarms_of(context) if include_old else _open(context, now)
    return [_record(alarm, context, now) for alarm in alarms[:MAX_UPCOMING]]


@tool(
    title=_("Cancel an alarm"),
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
    alarm = _alarms_of(context).filter(number=alarm_id).first()
    if alarm is None:
        raise ToolError(f"The user has no alarm {alarm_id}. Ask list_alarms which there are.")
    alarm.state = Alarm.State.CANCELLED
    with transaction.atomic():
        alarm.save(update_fields=["state"])
        schedule_ring(alarm)
        notify(tenant_id=alarm.tenant_id, user_id=alarm.user_id, about=ALARMS)
    return _record(alarm, context, datetime.now(UTC))


def _alarms_of(context: ToolContext) -> QuerySet[Alarm]:
    return Alarm.objects.filter(tenant_id=context.tenant.pk, user_id=context.user.pk)


def _upcoming(context: ToolContext, now: datetime) -> QuerySet[Alarm]:
    return _alarms_of(context).filter(state=Alarm.State.SET, at__gt=now - GRACE)


def _open(context: ToolContext, now: datetime) -> QuerySet[Alarm]:
    return _upcoming(context, now) | _alarms_of(context).filter(state=Alarm.State.RINGING)


def _existing_alarm(context: ToolContext) -> Alarm | None:
    """Return the alarm that an earlier attempt of the same tool call has set."""
    if not context.idempotency_key:
        return None
    return _alarms_of(context).filter(idempotency_key=context.idempotency_key).first()


def _due_at(at: str, context: ToolContext, now: datetime) -> datetime:
    """Return when an alarm is due; a time without a date is the next one."""
    zone = parse_zone(context.tenant.timezone)
    offset = _OFFSET.fullmatch(" ".join(at.split()))
    if offset is not None and (offset["start"] or "").lower() in _NOW:
        return (now.replace(microsecond=0) + _offset(offset)).astimezone(zone)
    parsed = parse_time(offset["start"] if offset else at, zone, now)
    today = now.astimezone(zone).date()
    if parsed.moment is not None:
        moment = parsed.moment.astimezone(zone)
    elif parsed.day is not None:
        moment = datetimes_of(parsed.day, parsed.clock, zone)[0]
    else:
        moment = datetimes_of(today, parsed.clock, zone)[0]
        if offset is None and moment <= now - GRACE:
            moment = datetimes_of(today + timedelta(days=1), parsed.clock, zone)[0]
        elif offset is not None and moment > now + timedelta(hours=12):  # current_time was called before midnight
            moment = datetimes_of(today - timedelta(days=1), parsed.clock, zone)[0]
        elif offset is not None and moment > now + GRACE:  # a model made the time up, or copied it from an example
            raise ToolError(
                f"It is now {format_datetime(now.astimezone(zone))}, not {offset['start']}. "
                f"For a wait from now use: in {offset['amount']} {offset['unit'].lower()}."
            )
    if offset is not None:
        moment = (moment.astimezone(UTC) + _offset(offset)).astimezone(zone)
    if moment <= now - GRACE:
        raise ToolError(f"{format_datetime(moment)} is past. It is now {format_datetime(now.astimezone(zone))}.")
    return moment


def _offset(offset: re.Match[str]) -> timedelta:
    amount = _NUMBERS.get(offset["amount"].lower()) or int(offset["amount"])
    return timedelta(minutes=amount * (60 if offset["unit"].lower() == "h" else 1))


def _add(context: ToolContext, moment: datetime, label: str) -> Alarm:
    """Create an alarm with the member's next number, retrying if a concurrent call takes that number."""
    for _attempt in range(10):
        last = _alarms_of(context).aggregate(last=Max("number"))["last"] or 0
        try:
            with transaction.atomic():
                alarm = Alarm.objects.create(
                    tenant_id=context.tenant.pk,
                    user_id=context.user.pk,
                    number=last + 1,
                    at=moment,
                    label=label,
                    sources=list(context.read_sources) if label else [],
                    idempotency_key=context.idempotency_key,
                )
                schedule_ring(alarm)
                return alarm
        except IntegrityError:
            if done := _existing_alarm(context):
                return done
    raise ToolError("Too many alarms are being set at once. Try again.")


def _record(alarm: Alarm, context: ToolContext, now: datetime) -> AlarmRecord:
    if alarm.sources:
        # The label may repeat untrusted text that the model had read.
        context.mark_untrusted(*alarm.sources)
    at = alarm.at.astimezone(parse_zone(context.tenant.timezone))
    state: State = "past" if alarm.state == Alarm.State.SET and at <= now - GRACE else _STATES[alarm.state]
    return AlarmRecord(
        alarm_id=alarm.number,
        human=format_datetime(at),
        at=at.isoformat(timespec="seconds"),
        label=alarm.label,
        state=state,
    )
