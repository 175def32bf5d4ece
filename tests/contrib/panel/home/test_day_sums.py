"""Sums of days: pages show from them what the rows themselves say, to the last run, in every time zone."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext

from assistant.contrib.panel.models import DaySum, SummedTenant
from assistant.contrib.panel.reports.days import Day, by_day
from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.contrib.panel.sums import summing
from assistant.contrib.panel.sums.day_sums import sum_days
from assistant.contrib.panel.sums.summing import MAX_CLAIMED, claim_sums, sum_tenants
from assistant.models import Conversation, Run, Tenant, UsageEntry
from tests.base import Cast
from tests.factories import make_conversation, make_run, make_tenant

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 4, 2, 9, 30, tzinfo=UTC)
ZONES = ("UTC", "Asia/Kathmandu", "America/New_York", "Pacific/Kiritimati")
DAYS = 60


def ran(cast: Cast, at: datetime, *, rival: bool = False, **fields: Any) -> Run:
    """Create a run that began at a moment, and what it used within the ten minutes after it."""
    user, assistant = (cast.mallory, cast.rival_support) if rival else (cast.alice, cast.support)
    run = make_run(make_conversation(user, assistant), **{"ended_at": at, **fields})
    Run.objects.filter(pk=run.pk).update(started_at=at)
    entry = UsageEntry.objects.create(
        tenant=run.tenant, user=user, assistant=assistant, run=run, model="m", cost=run.pk * 1_001, is_test=run.is_test
    )
    UsageEntry.objects.filter(pk=entry.pk).update(created_at=at + timedelta(minutes=run.pk % 10))
    return run


@pytest.fixture
def history(cast: Cast) -> list[Run]:
    """Runs by chance of both tenants, many of them around midnights, and some of today."""
    chance = random.Random(5)
    moments = [NOW - timedelta(minutes=chance.randrange(DAYS * 24 * 60)) for _ in range(60)]
    moments += [datetime(2026, 3, day, hour, 57, tzinfo=UTC) for day in (8, 28, 29, 31) for hour in (4, 9, 17, 23)]
    statuses = (Run.Status.FINISHED, Run.Status.FAILED, Run.Status.INTERRUPTED)
    return [
        ran(cast, at, rival=chance.random() < 0.5, status=chance.choice(statuses), is_test=chance.random() < 0.1)
        for at in moments
    ]


def make_sums(now: datetime = NOW, *zones: str) -> None:
    for tenant in Tenant.objects.all():
        for zone in zones or ZONES:
            SummedTenant.objects.get_or_create(tenant=tenant, zone=zone, defaults={"checked_at": now})
            sum_days(tenant_id=tenant.pk, zone=zone, now=now)


def shown(zone: str, *tenants: Tenant, now: datetime = NOW) -> list[Day]:
    today = now.astimezone(ZoneInfo(zone)).date()
    chosen = TenantFilter(frozenset(tenant.pk for tenant in tenants) if tenants else None)
    return by_day(tenants=chosen, first=today - timedelta(days=DAYS), today=today, zone=ZoneInfo(zone))


def assert_as_the_rows(cast: Cast, now: datetime = NOW) -> None:
    for zone in ZONES:
        for tenants in ((), (cast.acme,), (cast.acme, cast.globex)):
            from_sums = shown(zone, *tenants, now=now)
            with override_settings(ASSISTANT_PANEL_SUMS=False):
                assert from_sums == shown(zone, *tenants, now=now)
            assert sum(day.runs for day in from_sums) > 1


def test_days_from_sums_are_those_of_the_rows(cast: Cast, history: list[Run]) -> None:
    make_sums()
    assert DaySum.objects.filter(zone="UTC").exists()
    assert_as_the_rows(cast)


def test_days_that_are_over_are_not_read_from_rows(cast: Cast, history: list[Run]) -> None:
    make_sums()
    before = shown("UTC")
    Run.objects.filter(started_at__lt=NOW.replace(hour=0)).delete()
    assert shown("UTC")[:-1] == before[:-1]


def test_until_the_sums_are_made_rows_are_read(cast: Cast, history: list[Run]) -> None:
    make_sums(NOW - timedelta(days=1))
    ran(cast, NOW - timedelta(hours=20))
    assert_as_the_rows(cast)
    later = make_tenant()
    make_run(make_conversation(cast.alice, cast.support))
    assert later
    assert_as_the_rows(cast)
    # So far behind that the rows of all days are read.
    assert_as_the_rows(cast, NOW + timedelta(days=9))


def test_a_tenant_without_sums_is_counted_beside_those_with_some(cast: Cast, history: list[Run]) -> None:
    make_sums()
    SummedTenant.objects.filter(tenant=cast.acme).delete()
    DaySum.objects.filter(tenant=cast.acme).delete()
    assert_as_the_rows(cast)


def test_deleted_runs_are_taken_out_of_sums(cast: Cast, history: list[Run]) -> None:
    make_sums()
    for run in history[::3]:
        Conversation.objects.filter(pk=run.conversation_id).delete()
    UsageEntry.objects.filter(run=history[1].pk).delete()
    make_sums()
    assert_as_the_rows(cast)
    Conversation.objects.all().delete()
    make_sums()
    assert not DaySum.objects.exclude(runs=0).exists()
    assert DaySum.objects.exclude(cost=0).exists()


def test_a_day_with_a_run_that_goes_on_has_no_sum_yet(cast: Cast, history: list[Run]) -> None:
    run = ran(cast, NOW - timedelta(days=2), status=Run.Status.RUNNING, ended_at=None)
    make_sums()
    assert SummedTenant.objects.get(tenant=cast.acme, zone="UTC").through == date(2026, 3, 30)
    assert SummedTenant.objects.get(tenant=cast.globex, zone="UTC").through == date(2026, 4, 1)
    Run.objects.filter(pk=run.pk).update(status=Run.Status.FAILED, ended_at=NOW)
    assert_as_the_rows(cast)
    make_sums()
    assert SummedTenant.objects.get(tenant=cast.acme, zone="UTC").through == date(2026, 4, 1)
    assert_as_the_rows(cast)


def test_sums_are_of_days_that_are_over_for_an_hour(cast: Cast, history: list[Run]) -> None:
    make_sums(datetime(2026, 4, 2, 0, 59, tzinfo=UTC), "UTC")
    assert {row.through for row in SummedTenant.objects.all()} == {date(2026, 3, 31)}


def test_sums_of_a_tenant_are_claimed_once_an_hour_for_each_time_zone(cast: Cast) -> None:
    Tenant.objects.filter(pk=cast.acme.pk).update(timezone="Asia/Kathmandu")
    claimed = claim_sums(now=NOW)
    assert {zone for pk, zone in claimed if pk == cast.acme.pk} >= {"UTC", "Asia/Kathmandu"}
    assert len(claimed) == len(set(claimed)) <= MAX_CLAIMED
    assert claim_sums(now=NOW + timedelta(minutes=59)) == []
    assert set(claim_sums(now=NOW + timedelta(minutes=61))) == set(claimed)


def test_a_months_rows_are_compared_by_numbers_alone(cast: Cast, history: list[Run]) -> None:
    make_sums()
    with CaptureQueriesContext(connection) as queries:
        sum_days(tenant_id=cast.acme.pk, zone="UTC", now=NOW)
    assert not any("cost" in query["sql"] and "assistant_usageentry" in query["sql"] for query in queries)


def test_those_that_have_waited_longest_are_claimed_first(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    claim_sums(now=NOW)
    SummedTenant.objects.update(checked_at=NOW - timedelta(hours=2))
    SummedTenant.objects.filter(tenant=cast.globex, zone="UTC").update(checked_at=NOW - timedelta(hours=3))
    new = make_tenant("new")
    monkeypatch.setattr(summing, "MAX_CLAIMED", 2)
    assert claim_sums(now=NOW) == [(new.pk, "UTC"), (cast.globex.pk, "UTC")]


@pytest.mark.django_db(transaction=True)
async def test_a_tenant_whose_days_cannot_be_summed_holds_no_other(cast: Cast) -> None:
    await Tenant.objects.filter(pk=cast.acme.pk).aupdate(timezone="Nowhere/Never")
    await Tenant.objects.filter(pk=cast.globex.pk).aupdate(timezone="Asia/Kathmandu")
    await sum_tenants()
    through = {row.zone: row.through async for row in SummedTenant.objects.all()}
    assert through["Nowhere/Never"] is None
    assert through["Asia/Kathmandu"] is not None
