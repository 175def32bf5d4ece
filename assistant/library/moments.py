"""Reads time zones and points in time as people write them, and refuses what could mean two things."""

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
_DAY = re.compile(r"(?P<day>today|tomorrow|\d{4}-\d{2}-\d{2})(?:\s*,?\s+(?:at\s+)?|[Tt])(?P<clock>.+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WrittenTime:
    """A time as somebody wrote it: `day` only if they said one, `moment` only if it names its own offset."""

    clock: time
    day: date | None = None
    moment: datetime | None = None


@lru_cache(maxsize=1)
def _zone_names() -> dict[str, str]:
    """Every way to call a zone, in lower case: its whole IANA name, and its city where only one zone has it."""
    names = sorted(zoneinfo.available_timezones() - {"localtime", "Factory"})
    cities: dict[str, list[str]] = {}
    for name in names:
        cities.setdefault(name.rpartition("/")[2].lower().replace("_", " "), []).append(name)
    found = {city: full[0] for city, full in cities.items() if len(full) == 1}
    return found | {name.lower().replace("_", " "): name for name in names}


def read_zone(text: str) -> zoneinfo.ZoneInfo:
    """A time zone from its IANA name, in any case, or from its city ("Tokyo").

    Raises:
        ToolError: there is no such zone; the sentence names some that are alike.
    """
    names = _zone_names()
    wanted = " ".join(text.replace("_", " ").lower().split())
    if wanted in {"z", "utc", "gmt"}:
        return zoneinfo.ZoneInfo("UTC")
    if wanted in names:
        return zoneinfo.ZoneInfo(names[wanted])
    inside = [name for key, name in names.items() if wanted and wanted in key]
    alike = inside or [names[key] for key in difflib.get_close_matches(wanted, names, n=5, cutoff=0.6)]
    hint = f"Did you mean {', '.join(dict.fromkeys(alike[:5]))}?" if alike else "Use an IANA name like Europe/Vienna."
    raise ToolError(f"There is no time zone {text!r}. {hint}")


def read_time(text: str, zone: zoneinfo.ZoneInfo, now: datetime) -> WrittenTime:
    """A time like "10:42", "3 pm", "tomorrow 7:30", "2026-11-21 15:00" or ISO 8601 with or without an offset.

    Raises:
        ToolError: it is none of these; the sentence says what is.
    """
    written = " ".join(text.split())
    moment = _read_moment(written)
    if moment is not None:
        _check_year(moment)
    # A date alone would be read as its midnight.
    if moment is not None and len(written) > len("2026-11-21"):
        clock = moment.time()
        return WrittenTime(clock, moment.date(), moment if moment.tzinfo is not None else None)
    said = _DAY.fullmatch(written)
    day = _read_day(said["day"].lower(), zone, now) if said else None
    clock_text = said["clock"].strip() if said else written
    found = _CLOCK.fullmatch(_NAMED.get(clock_text.lower(), clock_text))
    if found is None or (found["minute"] is None and found["half"] is None):
        raise ToolError(f"{text!r} is not a time. Write it like 10:42 or 2026-11-21T10:42.")
    return WrittenTime(_read_clock(found, text), day)


def _read_moment(written: str) -> datetime | None:
    """ISO 8601, or the way `in_words` writes it."""
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
    try:
        day = date.fromisoformat(word)
    except ValueError:
        raise ToolError(f"{word} is not a date.") from None
    return _check_year(day)


def _check_year(day: date) -> date:
    if not MIN_YEAR <= day.year <= MAX_YEAR:
        raise ToolError(f"The year {day.year} is out of range: years go from {MIN_YEAR} to {MAX_YEAR}.")
    return day


def _read_clock(found: re.Match[str], text: str) -> time:
    hour = int(found["hour"])
    if half := (found["half"] or "").lower():
        if not 1 <= hour <= 12:
            raise ToolError(f"{text!r} is not a time: with am or pm the hour is 1 to 12.")
        hour = hour % 12 + (12 if half.startswith("p") else 0)
    try:
        return time(hour, int(found["minute"] or 0), int(found["second"] or 0))
    except ValueError:
        raise ToolError(f"{text!r} is not a time.") from None


def moments_of(day: date, clock: time, zone: zoneinfo.ZoneInfo) -> list[datetime]:
    """When a zone's clocks show this: one moment, or two where they are set back.

    Raises:
        ToolError: they never do, because they are set forward over it.
    """
    naive = datetime.combine(day, clock.replace(tzinfo=None, fold=0))
    # A time that clocks skip comes back from UTC as another one.
    shown = [naive.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1)]
    real = [moment for moment in shown if moment.astimezone(zone).replace(tzinfo=None, fold=0) == naive]
    if not real:
        before, after = sorted(f"{moment.astimezone(zone):%H:%M}" for moment in shown)
        raise ToolError(
            f"{clock:%H:%M} does not exist on {day} in {zone.key}: the clocks are set forward over it. "
            f"Take {before} or {after}."
        )
    return [moment.astimezone(zone) for moment in dict.fromkeys(real)]


def in_words(moment: datetime) -> str:
    """A moment as people say it, like "Saturday 21 November 2026, 10:42"."""
    return f"{moment:%A} {moment.day} {moment:%B %Y}, {moment:%H:%M}"


def offset_of(moment: datetime) -> str:
    """An aware moment's distance from UTC, like "+01:00"."""
    return moment.isoformat(timespec="minutes")[16:]
