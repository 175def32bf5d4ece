"""Times as people write them."""

from __future__ import annotations

from datetime import UTC, date, datetime, time
from zoneinfo import ZoneInfo

import pytest

from assistant.contrib.timed.time_parsing import parse_day, parse_time
from assistant.toolkit import ToolError

# A Saturday, 23:30 in Vienna.
NOW = datetime(2026, 11, 28, 22, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "day", "clock"),
    [
        ("tomorrow at 9", date(2026, 11, 29), time(9)),
        ("Tomorrow, 6:15", date(2026, 11, 29), time(6, 15)),
        ("7:30 tomorrow", date(2026, 11, 29), time(7, 30)),
        ("at 9 tomorrow", date(2026, 11, 29), time(9)),
        ("Friday 10:00", date(2026, 12, 4), time(10)),
        ("on monday at 3 pm", date(2026, 11, 30), time(15)),
        ("next Saturday at noon", date(2026, 12, 5), time(12)),
        ("2026-12-24 18", date(2026, 12, 24), time(18)),
        ("10:42", None, time(10, 42)),
    ],
)
def test_a_day_may_stand_beside_a_time(text: str, day: date | None, clock: time) -> None:
    parsed = parse_time(text, ZoneInfo("Europe/Vienna"), NOW)
    assert (parsed.day, parsed.clock, parsed.moment) == (day, clock, None)


@pytest.mark.parametrize(
    "text", ["9", "at 9", "tomorrow", "Friday", "tomorrow at 25", "someday 9:00", "tomorrow tomorrow"]
)
def test_what_is_no_time_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ToolError, match="is not a time"):
        parse_time(text, ZoneInfo("Europe/Vienna"), NOW)


@pytest.mark.parametrize(
    ("words", "day"),
    [
        ("last Friday", "2026-11-20"),
        ("last Saturday", "2026-11-14"),
        ("Saturday", "2026-11-28"),
        ("on Monday", "2026-11-23"),
        ("next monday", "2026-11-23"),
        ("yesterday", "2026-11-20"),
        ("the day after tomorrow", "2026-11-23"),
        ("in 3 weeks", "2026-12-12"),
        ("1 day ago", "2026-11-20"),
        ("2026-02-28", "2026-02-28"),
    ],
)
def test_a_day_in_words_is_a_date(words: str, day: str) -> None:
    assert parse_day(words, datetime(2026, 11, 21, 10, 42, tzinfo=UTC)) == date.fromisoformat(day)


@pytest.mark.parametrize("words", ["", "Fryday", "last week", "in 99999 weeks", "99999 weeks ago", "2026-02-30"])
def test_what_is_no_day_is_refused(words: str) -> None:
    with pytest.raises(ToolError):
        parse_day(words, datetime(2026, 11, 21, 10, 42, tzinfo=UTC))
