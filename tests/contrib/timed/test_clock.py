"""The clock: the tenant's zone, other zones, and times that clocks skip or show twice."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from assistant.contrib.timed.library.clock import convert_time, current_time
from assistant.toolkit import TenantInfo, ToolContext, ToolError
from tests.library.calling import call

IN_VIENNA = ToolContext(tenant=TenantInfo(1, "acme", "Acme", "Europe/Vienna"))


def test_the_time_is_told_in_the_tenants_zone() -> None:
    told = call(current_time, IN_VIENNA)
    moment = datetime.fromisoformat(told["iso"])
    assert told["timezone"] == "Europe/Vienna"
    assert abs(moment - datetime.now(UTC)) < timedelta(minutes=5)
    assert told["human"] == f"{moment:%A} {moment.day} {moment:%B %Y, %H:%M}"
    assert (told["weekday"], told["utc_offset"]) == (f"{moment:%A}", told["iso"][19:])


@pytest.mark.parametrize("name", ["Asia/Tokyo", "asia/tokyo", "Tokyo", " TOKYO "])
def test_a_zone_goes_by_its_name_or_its_city(name: str) -> None:
    assert call(current_time, IN_VIENNA, timezone=name)["timezone"] == "Asia/Tokyo"


def test_an_unknown_zone_suggests_similar_ones() -> None:
    with pytest.raises(ToolError, match=r"There is no time zone 'Europe/Viena'\. Did you mean Europe/Vienna"):
        call(current_time, IN_VIENNA, timezone="Europe/Viena")


@pytest.mark.parametrize(
    ("time", "source", "target"),
    [
        ("2026-07-01T15:30", "2026-07-01T15:30:00+02:00", "2026-07-01T09:30:00-04:00"),
        ("2026-07-01 3:30 pm", "2026-07-01T15:30:00+02:00", "2026-07-01T09:30:00-04:00"),
        ("2026-03-20 noon", "2026-03-20T12:00:00+01:00", "2026-03-20T07:00:00-04:00"),
        ("2026-01-01T00:15", "2026-01-01T00:15:00+01:00", "2025-12-31T18:15:00-05:00"),
        ("2026-07-01T12:00Z", "2026-07-01T14:00:00+02:00", "2026-07-01T08:00:00-04:00"),
    ],
)
def test_a_time_is_converted(time: str, source: str, target: str) -> None:
    told = call(convert_time, time=time, from_zone="Europe/Vienna", to_zone="America/New_York")
    assert (told["source"]["iso"], told["target"]["iso"], told["note"]) == (source, target, "")


def test_an_hour_that_clocks_skip_does_not_exist() -> None:
    with pytest.raises(ToolError, match=r"02:30 does not exist on 2026-03-29 in Europe/Vienna: .* Take 01:30 or 03:30"):
        call(convert_time, time="2026-03-29T02:30", from_zone="Europe/Vienna", to_zone="UTC")


def test_an_hour_that_clocks_show_twice_is_named_both_times() -> None:
    told = call(convert_time, time="2026-10-25T02:30", from_zone="Europe/Vienna", to_zone="UTC")
    assert told["target"]["iso"] == "2026-10-25T00:30:00+00:00"
    assert "twice that day" in told["note"]
    assert "the second (UTC+01:00) is Sunday 25 October 2026, 01:30 in UTC" in told["note"]


@pytest.mark.parametrize(
    "time", ["25:00", "13 pm", "5", "soon", "2026-13-01 10:00", "0001-01-01T00:00", "0001-01-01 1pm"]
)
def test_invalid_times_are_refused(time: str) -> None:
    with pytest.raises(ToolError):
        call(convert_time, time=time, from_zone="Asia/Tokyo", to_zone="UTC")


def test_another_day_is_told_as_a_date_with_its_day_of_the_week() -> None:
    today = datetime.fromisoformat(call(current_time, IN_VIENNA)["iso"])
    told = call(current_time, IN_VIENNA, day="yesterday")
    assert told["human"].startswith(f"{today - timedelta(days=1):%A} {(today - timedelta(days=1)).day} ")
    with pytest.raises(ToolError, match="is not a day"):
        call(current_time, IN_VIENNA, day="someday")
