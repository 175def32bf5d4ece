"""The schedule tools: a member schedules questions to an assistant, and approves each schedule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from typing import Annotated, Any, Literal

from django.utils.formats import date_format
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from assistant.contrib.timed.models import Schedule
from assistant.contrib.timed.services.schedules.moments import next_moment
from assistant.contrib.timed.services.schedules.schedules import (
    ScheduleDraft,
    ScheduleRefused,
    check_draft,
    delete_schedule,
    make_schedule,
    own_schedules,
)
from assistant.contrib.timed.time_parsing import format_datetime, parse_time, parse_zone
from assistant.services.tenancy.members import Member, acting_key, find_member
from assistant.toolkit import Change, Example, Param, ToolContext, ToolError, tool

MILLIONTHS = 1_000_000


@dataclass(frozen=True, slots=True)
class ScheduleRecord:
    """A schedule of the member; `next` is in its time zone, empty if it asks no more."""

    schedule_id: int
    name: str
    question: str
    cron: str
    next: str
    state: str


def _preview(arguments: Mapping[str, Any], context: ToolContext) -> list[Change]:
    """Return what would be scheduled, with the first moment, in the language of the person who is asked."""
    draft, zone = _draft(arguments, context), context.tenant.timezone
    try:
        check_draft(draft, zone=zone, now=datetime.now(UTC))
    except ScheduleRefused as exc:
        raise ToolError(str(exc)) from exc
    facts: dict[str, Any] = {"prompt": draft.prompt}
    if draft.cron:
        facts |= {"cron": f"{draft.cron} ({zone})", "next_at": next_moment(draft.cron, zone, datetime.now(UTC))}
        facts |= {"ends_at": draft.ends_at, "budget": f"{arguments['budget']:g}"}
    else:
        facts["at"] = draft.at
    facts["delivery"] = Schedule.Delivery(draft.delivery).label
    labels = {field.name: str(capfirst(field.verbose_name)) for field in Schedule._meta.concrete_fields}
    return [Change(labels[name], None, _shown(value, context)) for name, value in facts.items()]


def _shown(value: Any, context: ToolContext) -> Any:
    if not isinstance(value, datetime):
        return str(value)
    local = value.astimezone(parse_zone(context.tenant.timezone))
    return f"{date_format(local, 'l')}, {date_format(local, 'DATETIME_FORMAT')}"


def _draft(arguments: Mapping[str, Any], context: ToolContext) -> ScheduleDraft:
    when, until, budget = arguments["when"], arguments.get("until"), arguments.get("budget")
    is_cron = len(when.split()) == 5
    return ScheduleDraft(
        assistant=context.assistant,
        name=arguments["name"],
        prompt=arguments["question"],
        cron=when if is_cron else "",
        at=None if is_cron else _moment(when, context),
        ends_at=_end(until, context) if until and is_cron else None,
        budget=round(budget * MILLIONTHS) if budget and is_cron else None,
        delivery=arguments.get("delivery", Schedule.Delivery.CONVERSATION),
        idempotency_key=context.idempotency_key,
        sources=context.read_sources,
    )


@tool(
    title=_("Schedule a question"),
    requires_approval=True,
    preview=_preview,
    examples=[
        Example(
            "every Monday at 9, tell me which orders are open, until the end of May",
            {
                "name": "Open orders",
                "question": "Which orders are open?",
                "when": "0 9 * * 1",
                "until": "2111-05-31T23:59",
                "budget": 5,
            },
            result='{"schedule_id":90002,"name":"Open orders","next":"Monday 9 February 2111, 09:00","state":"on"}',
            answer="I will ask that every Monday at 9. The first time is Monday 9 February 2111, 09:00.",
        )
    ],
)
def schedule_question(
    context: ToolContext,
    *,
    name: Annotated[str, Param("A few words for a list.", max_length=100)],
    question: Annotated[str, Param("What is asked each time. It must be understood by itself.", max_length=4000)],
    when: Annotated[
        str,
        Param("A cron line of five fields for again and again, or one moment like 2026-11-21T10:42.", max_length=100),
    ],
    until: Annotated[str, Param("When a cron line ends, like 2026-12-31 or 2026-12-31T18:00.", max_length=50)] = "",
    budget: Annotated[
        float | None, Param("What all answers of a cron line may cost together. Ask the user.", ge=0, le=1_000_000)
    ] = None,
    delivery: Annotated[
        Literal["conversation", "email", "webhook"], Param("Where the answer goes besides a conversation.")
    ] = "conversation",
) -> ScheduleRecord:
    """Have a question asked later, once or again and again, in the user's name. The user is asked first."""
    member = _member(context)
    values = {"name": name, "question": question, "when": when, "until": until, "budget": budget, "delivery": delivery}
    draft = _draft(values, context)
    try:
        return _record(make_schedule(member=member, draft=draft), context)
    except ScheduleRefused as exc:
        raise ToolError(str(exc)) from exc


@tool(title=_("List schedules"), read_only=True)
def list_schedules(context: ToolContext) -> list[ScheduleRecord]:
    """List the user's scheduled questions, the newest first."""
    return [_record(row, context) for row in own_schedules(_member(context))[:100]]


@tool(title=_("Delete a schedule"), idempotent=True)
def delete_scheduled_question(
    schedule_id: Annotated[int, Param("From list_schedules.", ge=1)], context: ToolContext
) -> str:
    """Delete one of the user's scheduled questions."""
    row = own_schedules(_member(context)).filter(pk=schedule_id).first()
    if row is None:
        raise ToolError(f"The user has no schedule {schedule_id}. Ask list_schedules which there are.")
    delete_schedule(row=row, actor=row.user)
    return f"Schedule {schedule_id} is deleted."


def _member(context: ToolContext) -> Member:
    found = find_member(user_id=context.user.pk, tenant_slug=context.tenant.slug)
    if found is None:
        raise ToolError("Only members of the tenant can schedule questions.")
    return replace(found, key_id=acting_key())


def _end(text: str, context: ToolContext) -> datetime:
    """Parse the end of a schedule; a date alone means the end of that day."""
    try:
        day = date.fromisoformat(text.strip())
    except ValueError:
        return _moment(text, context)
    return datetime.combine(day, time(23, 59), tzinfo=parse_zone(context.tenant.timezone))


def _moment(text: str, context: ToolContext) -> datetime:
    zone = parse_zone(context.tenant.timezone)
    parsed = parse_time(text, zone, datetime.now(UTC))
    if parsed.moment is not None:
        return parsed.moment
    if parsed.day is None:
        raise ToolError(f"{text!r} has no date. Write it like 2026-11-21T10:42.")
    return datetime.combine(parsed.day, parsed.clock, tzinfo=zone)


def _record(row: Schedule, context: ToolContext) -> ScheduleRecord:
    if row.sources:
        # The question may repeat untrusted text that the model had read.
        context.mark_untrusted(*row.sources)
    moment = "" if row.next_at is None else format_datetime(row.next_at.astimezone(parse_zone(row.timezone)))
    return ScheduleRecord(row.pk, row.name, row.prompt, row.cron, moment, row.state)
