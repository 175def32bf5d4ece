"""The clock tools: the current time in any time zone, and conversion between zones."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from django.utils.translation import gettext_lazy as _

from assistant.contrib.timed.time_parsing import (
    datetimes_of,
    format_datetime,
    format_utc_offset,
    parse_day,
    parse_time,
    parse_zone,
)
from assistant.toolkit import Example, Param, ToolContext, tool


@dataclass(frozen=True, slots=True)
class ZonedTime:
    """A time in one time zone."""

    human: str
    iso: str
    weekday: str
    timezone: str
    utc_offset: str


@dataclass(frozen=True, slots=True)
class ConvertedTime:
    """A time in two time zones; `note` says if it occurs twice in the first, because its clocks are set back."""

    source: ZonedTime
    target: ZonedTime
    note: str


@tool(
    title=_("Look up the time"),
    read_only=True,
    enabled_by_default=True,
    examples=[
        Example(
            "what time is it, and which day?",
            {},
            result='{"human":"Friday 3 February 1911, 15:05","iso":"1911-02-03T15:05:00+01:00"}',
            answer="It is 15:05 on Friday 3 February 1911.",
        ),
        Example(
            "how late is it in Honolulu?",
            {"timezone": "Pacific/Honolulu"},
            result='{"human":"Friday 3 February 1911, 04:05","iso":"1911-02-03T04:05:00-10:00"}',
            answer="In Honolulu it is 04:05 on Friday 3 February 1911.",
        ),
        Example(
            "what was the date last Thursday?",
            {"day": "last Thursday"},
            result='{"human":"Thursday 2 February 1911, 15:05","iso":"1911-02-02T15:05:00+01:00"}',
            answer="Last Thursday was 2 February 1911.",
        ),
    ],
)
def current_time(
    context: ToolContext,
    timezone: Annotated[
        str | None, Param("IANA name, like Asia/Tokyo. Leave out for the user's own zone.", max_length=100)
    ] = None,
    day: Annotated[str | None, Param("Another day, like last Friday or in 3 weeks.", max_length=50)] = None,
) -> ZonedTime:
    """Tell the current date and time, or which date a day is."""
    now = datetime.now(UTC).astimezone(parse_zone(timezone or context.tenant.timezone))
    return _zoned(now if day is None else datetime.combine(parse_day(day, now), now.timetz()))


@tool(
    title=_("Convert a time"),
    read_only=True,
    idempotent=True,
    enabled_by_default=True,
    examples=[
        Example(
            "when it is 23:11 in Nairobi, what time is that in Lima?",
            {"time": "23:11", "from_zone": "Africa/Nairobi", "to_zone": "America/Lima"},
            result='{"source":{"human":"Friday 3 February 1911, 23:11"},'
            '"target":{"human":"Friday 3 February 1911, 15:11"}}',
            answer="23:11 in Nairobi is 15:11 in Lima.",
        )
    ],
)
def convert_time(
    time: Annotated[str, Param("Like 15:30 (today) or 2026-11-21T15:30.", max_length=50)],
    from_zone: Annotated[str, Param("IANA name of the zone that the time is in.", max_length=100)],
    to_zone: Annotated[str, Param("IANA name of the zone wanted.", max_length=100)],
) -> ConvertedTime:
    """Convert a time from one time zone to another."""
    source, target = parse_zone(from_zone), parse_zone(to_zone)
    now = datetime.now(UTC)
    parsed = parse_time(time, source, now)
    if parsed.moment is not None:
        moments = [parsed.moment.astimezone(source)]
    else:
        moments = datetimes_of(parsed.day or now.astimezone(source).date(), parsed.clock, source)
    note = ""
    if len(moments) == 2:
        later = moments[1].astimezone(target)
        note = (
            f"The clocks of {source.key} show {moments[0]:%H:%M} twice that day. This is the first; "
            f"the second (UTC{format_utc_offset(moments[1])}) is {format_datetime(later)} in {target.key}."
        )
    return ConvertedTime(_zoned(moments[0]), _zoned(moments[0].astimezone(target)), note)


def _zoned(moment: datetime) -> ZonedTime:
    return ZonedTime(
        human=format_datetime(moment),
        iso=moment.isoformat(timespec="seconds"),
        weekday=f"{moment:%A}",
        timezone=str(moment.tzinfo),
        utc_offset=format_utc_offset(moment),
    )
