"""Alarms: set, listed and cancelled by the member they belong to, and by nobody else."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from assistant.contrib.timed.library.clock import current_time
from assistant.contrib.timed.library.reminders import cancel_alarm, list_alarms, set_alarm
from assistant.contrib.timed.models import Alarm
from assistant.toolkit import TenantInfo, ToolContext, ToolError
from tests.base import Cast
from tests.library.calling import call, context_of


def test_the_time_told_plus_ten_minutes_sets_an_alarm(at_acme: ToolContext) -> None:
    wanted = datetime.fromisoformat(call(current_time, at_acme)["iso"]) + timedelta(minutes=10)
    alarm = call(set_alarm, at_acme, at=f"{wanted:%H:%M}", label="Tea")
    assert datetime.fromisoformat(alarm["at"]) == wanted.replace(second=0)
    assert (alarm["alarm_id"], alarm["label"], alarm["state"]) == (1, "Tea", "set")


@pytest.mark.parametrize(("wait", "minutes"), [("10 minutes", 10), ("90 min", 90), ("2 hours", 120), ("1 h", 60)])
def test_the_tool_itself_adds_a_wait_to_a_time(at_acme: ToolContext, wait: str, minutes: int) -> None:
    now = datetime.fromisoformat(call(current_time, at_acme)["iso"])
    alarm = call(set_alarm, at_acme, at=f"{now:%H:%M} + {wait}")
    assert datetime.fromisoformat(alarm["at"]) == now.replace(second=0) + timedelta(minutes=minutes)


@pytest.mark.parametrize("at", ["now + 45 minutes", "in 45 minutes", "+ 45 min", "Now+45m", "in forty-five mins"])
def test_a_wait_alone_counts_from_now(at_acme: ToolContext, at: str) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    alarm = call(set_alarm, at_acme, at=at)
    wait = datetime.fromisoformat(alarm["at"]) - before
    assert timedelta(minutes=45) <= wait < timedelta(minutes=46)


def test_a_wait_from_a_time_that_is_yet_to_come_is_refused_with_the_time(at_acme: ToolContext) -> None:
    """A small model copies the time of an example instead of the one it was told."""
    where_it_is_noon = f"Etc/GMT{datetime.now(UTC).hour - 12:+d}"
    at_acme = replace(at_acme, tenant=replace(at_acme.tenant, timezone=where_it_is_noon))
    later = datetime.fromisoformat(call(current_time, at_acme)["iso"]) + timedelta(hours=2)
    with pytest.raises(ToolError, match=rf"It is now .*, not {later:%H:%M}\. For a wait from now use: in 10 m\."):
        call(set_alarm, at_acme, at=f"{later:%H:%M} + 10 minutes")
    assert not Alarm.objects.exists()


def test_a_time_without_zone_is_the_tenants(at_globex: ToolContext) -> None:
    call(set_alarm, at_globex, at="2090-07-01T08:00")
    assert Alarm.objects.get().at == datetime(2090, 7, 1, 12, tzinfo=UTC)


def test_a_time_with_an_offset_is_taken_by_it(at_globex: ToolContext) -> None:
    call(set_alarm, at_globex, at="2090-07-01T08:00+02:00")
    assert Alarm.objects.get().at == datetime(2090, 7, 1, 6, tzinfo=UTC)


def test_a_clock_time_that_is_over_today_means_tomorrow(at_acme: ToolContext) -> None:
    now = datetime.fromisoformat(call(current_time, at_acme)["iso"])
    earlier = now - timedelta(minutes=2)
    alarm = call(set_alarm, at_acme, at=f"{earlier:%H:%M}")
    assert datetime.fromisoformat(alarm["at"]) > now + timedelta(hours=20)


def test_a_moment_in_the_past_is_refused_with_the_time(at_acme: ToolContext) -> None:
    with pytest.raises(ToolError, match=r"Monday 1 January 2024, 08:00 is past. It is now "):
        call(set_alarm, at_acme, at="2024-01-01T08:00")


def test_a_call_that_is_repeated_sets_one_alarm(at_acme: ToolContext) -> None:
    same_call = replace(at_acme, idempotency_key="run-1:call-1")
    first = call(set_alarm, same_call, at="2090-01-01T08:00")
    assert call(set_alarm, same_call, at="2090-01-01T08:00") == first
    call(set_alarm, replace(at_acme, idempotency_key="run-1:call-2"), at="2090-01-01T08:00")
    assert Alarm.objects.count() == 2


def test_alarms_are_listed_by_time_without_the_cancelled(at_acme: ToolContext) -> None:
    for year in (2092, 2090, 2091):
        call(set_alarm, at_acme, at=f"{year}-01-01T08:00", label=str(year))
    assert call(cancel_alarm, at_acme, alarm_id=3)["state"] == "cancelled"
    assert [alarm["label"] for alarm in call(list_alarms, at_acme)] == ["2090", "2092"]
    assert [alarm["state"] for alarm in call(list_alarms, at_acme, include_old=True)] == ["set", "cancelled", "set"]


def test_alarms_are_a_members_own(cast: Cast, at_acme: ToolContext, at_globex: ToolContext) -> None:
    call(set_alarm, at_acme, at="2090-01-01T08:00", label="Alice's")
    for other in (at_globex, context_of(cast.acme, cast.amy), context_of(cast.globex, cast.alice)):
        assert call(list_alarms, other, include_old=True) == []
        with pytest.raises(ToolError, match="The user has no alarm 1"):
            call(cancel_alarm, other, alarm_id=1)
    assert Alarm.objects.get().state == Alarm.State.SET


def test_without_a_stored_tenant_nothing_can_be_set(at_acme: ToolContext) -> None:
    with pytest.raises(ToolError, match="members only"):
        call(set_alarm, replace(at_acme, tenant=TenantInfo("acme")), at="2090-01-01T08:00")


def test_a_members_alarms_are_limited(at_acme: ToolContext) -> None:
    at = datetime(2090, 1, 1, tzinfo=UTC)
    Alarm.objects.bulk_create(
        [Alarm(tenant_id=at_acme.tenant.id, user_id=at_acme.user.id, number=n, at=at) for n in range(1, 101)]
    )
    with pytest.raises(ToolError, match="There are 100 upcoming alarms already"):
        call(set_alarm, at_acme, at="2090-01-01T08:00")


@pytest.mark.django_db(transaction=True)
def test_calls_side_by_side_set_an_alarm_each_and_repeated_ones_none(at_acme: ToolContext) -> None:
    async def side_by_side() -> None:
        calls = [replace(at_acme, idempotency_key=f"call-{number % 4}") for number in range(8)]
        await asyncio.gather(*(set_alarm.call({"at": "2090-01-01T08:00"}, call) for call in calls))

    asyncio.run(side_by_side())
    assert list(Alarm.objects.order_by("number").values_list("number", flat=True)) == [1, 2, 3, 4]


def test_a_label_that_a_marked_run_wrote_is_marked_whenever_it_is_read(at_acme: ToolContext) -> None:
    call(set_alarm, replace(at_acme, read_sources=("Returns policy",)), at="2090-01-01T08:00", label="Pay Mallory")
    call(set_alarm, replace(at_acme, read_sources=("A mail",)), at="2090-01-01T09:00")
    call(set_alarm, at_acme, at="2090-01-01T10:00", label="Tea")
    marked: list[tuple[str, ...]] = []
    reading = replace(at_acme, untrusted=marked.append)
    call(list_alarms, reading)
    assert marked == [("Returns policy",)]
    for number in (1, 2, 3):
        call(cancel_alarm, reading, alarm_id=number)
    assert marked == [("Returns policy",)] * 2
