"""Parses time zones and times as people write them; ambiguous ones are refused."""

from __future__ import annotations

import difflib
import re
import zoneinfo
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache

from assistant.toolkit import ToolError

MIN_YEAR, MAX_YEAR = 1900, 2200

_NAMED = {"noon": "12:00", "midnight": "00:00"}
_CLOCK = re.compile(
    r"(?:at\s+)?(?P<hour>\d{1,2})(?:[:.](?P<minute>\d{2}))?(?:[:.](?P<second>\d{2})(?:\.\d+)?)?\s*(?P<half>[ap]\.?m\.?)?",
    re.IGNORECASE,
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_DAYS_AWAY = {"today": 0, "tomorrow": 1, "the day after tomorrow": 2, "yesterday": -1, "the day before yesterday": -2}
# At most five digits: so many weeks before or after today are still within the calendar.
_AWAY = re.compile(r"in (?P<count>\d{1,5}) (?:days?|weeks?)|(?P<ago>\d{1,5}) (?:days?|weeks?) ago")
_BEFORE = frozenset({"last", "previous", "past", "this past", "the last"})
_AFTER = frozenset({"", "next", "this", "coming", "this coming", "the next"})
_DAY_WORD = rf"(?:on\s+|next\s+)?(?:{'|'.join(_WEEKDAYS)})|today|tomorrow|\d{{4}}-\d{{2}}-\d{{2}}"
_DAY_AND_CLOCK = re.compile(rf"(?P<day>{_DAY_WORD})(?:\s*,?\s+(?:at\s+)?|T)(?P<clock>.+)", re.IGNORECASE)
_CLOCK_AND_DAY = re.compile(rf"(?P<clock>.+?)\s*,?\s+(?P<day>{_DAY_WORD})", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ParsedTime:
    """A parsed time; `day` is set if the text has a date, `moment` if it has a UTC offset."""

    clock: time
    day: date | None = None
    moment: datetime | None = None


@lru_cache(maxsize=1)
def _zone_names() -> dict[str, str]:
    """Return the names of zones in lower case: IANA names, and cities that only one zone has."""
    names = sorted(zoneinfo.available_timezones() - {"localtime", "Factory"})
    cities: dict[str, list[str]] = {}
    for name in names:
        cities.setdefault(name.rpartition("/")[2].lower().replace("_", " "), []).append(name)
    found = {city: full[0] for city, full in cities.items() if len(full) == 1}
    return found | {name.lower().replace("_", " "): name for name in names}


def parse_zone(text: str) -> zoneinfo.ZoneInfo:
    """Return the time zone of an IANA name, in any case, or of a city ("Tokyo").

    Raises:
        ToolError: there is no such zone; the message suggests similar ones.
    """
    names = _zone_names()
    name_or_city = " ".join(text.replace("_", " ").lower().split())
    if name_or_city in {"z", "utc", "gmt"}:
        return zoneinfo.ZoneInfo("UTC")
    if name_or_city in names:
        return zoneinfo.ZoneInfo(names[name_or_city])
    containing = [name for key, name in names.items() if name_or_city and name_or_city in key]
    similar = containing or [names[key] for key in difflib.get_close_matches(name_or_city, names, n=5, cutoff=0.6)]
    hint = (
        f"Did you mean {', '.join(dict.fromkeys(similar[:5]))}?" if similar else "Use an IANA name like Europe/Vienna."
    )
    raise ToolError(f"There is no time zone {text!r}. {hint}")


def parse_day(text: str, now: datetime) -> date:
    """Parse a day beside that of an aware time: "yesterday", "last Friday", "in 3 weeks", "2 days ago", a date.

    A day of the week is the next one, and with "last" the one before; never today.

    Raises:
        ToolError: it is none of these; the message gives examples.
    """
    today = now.date()
    words = " ".join(text.lower().split()).removeprefix("on ")
    if words in _DAYS_AWAY:
        return today + timedelta(days=_DAYS_AWAY[words])
    if match := _AWAY.fullmatch(words):
        days = int(match["count"] or match["ago"]) * (7 if "week" in words else 1)
        return _check_year(today + timedelta(days=days if match["count"] else -days))
    back, _, weekday = words.rpartition(" ")
    if weekday in _WEEKDAYS and back in _BEFORE:
        return today - timedelta(days=(today.weekday() - _WEEKDAYS.index(weekday) - 1) % 7 + 1)
    if weekday in _WEEKDAYS and back in _AFTER:
        return _next(weekday, today)
    try:
        return _check_year(date.fromisoformat(words))
    except ValueError:
        raise ToolError(f"{text!r} is not a day. Write it like last Friday, in 3 weeks or 2026-11-21.") from None


def _next(weekday: str, today: date) -> date:
    return today + timedelta(days=(_WEEKDAYS.index(weekday) - today.weekday() - 1) % 7 + 1)


def parse_time(text: str, zone: zoneinfo.ZoneInfo, now: datetime) -> ParsedTime:
    """Parse a time like "10:42", "3 pm", "tomorrow at 9", "Friday 7:30", "2026-11-21 15:00" or ISO 8601.

    A day of the week is the next one, never today. Only beside a day may an hour stand alone: it is of 24.

    Raises:
        ToolError: it is none of these; the message gives examples.
    """
    normalised = " ".join(text.split())
    moment = _read_moment(normalised)
    if moment is not None:
        _check_year(moment)
    # A date alone is no time, although `fromisoformat` parses it as midnight.
    if moment is not None and len(normalised) > len("2026-11-21"):
        clock = moment.time()
        return ParsedTime(clock, moment.date(), moment if moment.tzinfo is not None else None)
    dated = _DAY_AND_CLOCK.fullmatch(normalised) or _CLOCK_AND_DAY.fullmatch(normalised)
    day = _read_day(dated["day"].lower(), zone, now) if dated else None
    clock_text = dated["clock"].strip() if dated else normalised
    clock_match = _CLOCK.fullmatch(_NAMED.get(clock_text.lower(), clock_text))
    if clock_match is None or (clock_match["minute"] is None and clock_match["half"] is None and day is None):
        raise ToolError(f"{text!r} is not a time. Write it like 10:42, tomorrow 10:42 or 2026-11-21T10:42.")
    return ParsedTime(_read_clock(clock_match, text), day)


def _read_moment(written: str) -> datetime | None:
    """Parse ISO 8601 or the format of `format_datetime`."""
    try:
        return datetime.fromisoformat(written)
    except ValueError:
        pass
    try:
        return datetime.strptime(written.partition(" ")[2], "%d %B %Y, %H:%M")
    except ValueError:
        return None


def _read_day(word: str, zone: zoneinfo.ZoneInfo, now: datetime) -> date:
    today = now.astimezone(zone).date()
    if word in {"today", "tomorrow"}:
        return today + timedelta(days=word == "tomorrow")
    weekday = word.rpartition(" ")[2]
    if weekday in _WEEKDAYS:
        return _next(weekday, today)
    try:
        day = date.fromisoformat(word)
    except ValueError:
        raise ToolError(f"{word} is not a date.") from None
    return _check_year(day)


def _check_year(day: date) -> date:
    if not MIN_YEAR <= day.year <= MAX_YEAR:
        raise ToolError(f"The year {day.year} is out of range: years go from {MIN_YEAR} to {MAX_YEAR}.")
    return day


def _read_clock(clock: re.Match[str], text: str) -> time:
    hour = int(clock["hour"])
    if half := (clock["half"] or "").lower():
        if not 1 <= hour <= 12:
            raise ToolError(f"{text!r} is not a time: with am or pm the hour is 1 to 12.")
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    try:
        return time(hour, int(clock["minute"] or 0), int(clock["second"] or 0))
    except ValueError:
        raise ToolError(f"{text!r} is not a time.") from None


def datetimes_of(day: date, clock: time, zone: zoneinfo.ZoneInfo) -> list[datetime]:
    """Return the moments at which a zone's clocks show this time: one, or two where the clocks are set back.

    Raises:
        ToolError: the clocks never show this time, because they are set forward past it.
    """
    naive = datetime.combine(day, clock.replace(tzinfo=None, fold=0))
    # A time that the clocks skip becomes another time when it is converted to UTC and back.
    shown = [naive.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
    real = [moment for moment in shown if moment.astimezone(zone).replace(tzinfo=None, fold=0) == naive]
    if not real:
        before, after = sorted(f"{moment.astimezone(zone):%H:%M}" for moment in shown)
        raise ToolError(
            f"{clock:%H:%M} does not exist on {day} in {zone.key}: the clocks are set forward over it. "
            f"Take {before} or {after}."
        )
    return [moment.astimezone(zone) for moment in dict.fromkeys(real)]


def format_datetime(moment: datetime) -> str:
    """Format a time like "Saturday 21 November 2026, 10:42"."""
    return f"{moment:%A} {moment.day} {moment:%B %Y}, {moment:%H:%M}"


def format_utc_offset(moment: datetime) -> str:
    """Return the UTC offset of an aware time, like "+01:00"."""
    return moment.isoformat(timespec="minutes")[16:]
