"""The page of spend has the same figures from sums of days as from the rows, however it is narrowed and split."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from itertools import product
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.contrib.panel.models import SpendSum, SummedTenant
from assistant.contrib.panel.reports.months import Month
from assistant.contrib.panel.reports.spend import KINDS, forecast, spend_days, spend_table, spend_total
from assistant.contrib.panel.reports.spend_scope import SpendScope
from assistant.contrib.panel.reports.tenant_filter import TenantFilter
from assistant.contrib.panel.sums.day_sums import sum_days
from assistant.models import Conversation, Run, Tenant, UsageEntry
from tests.base import Cast
from tests.contrib.panel.spend.test_spend import call, use
from tests.factories import make_assistant, make_conversation, make_run

pytestmark = pytest.mark.django_db

# Ten days at least of the running month are over, so that there are sums of it.
NOW = timezone.now().replace(day=12, hour=9, minute=30)
MONTH = Month.of(NOW)
TOOLS = ("refund", "find_orders", "find")


@pytest.fixture(autouse=True)
def the_twelfth(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)


@pytest.fixture
def used(cast: Cast) -> list[Run]:
    """Use by chance of both tenants since the month before: runs with several models, purposes and days, and tests."""
    chance = random.Random(7)
    other = make_assistant(cast.acme, slug="other")
    askers = (
        (cast.alice, cast.support),
        (cast.amy, cast.support),
        (cast.amy, other),
        (cast.mallory, cast.rival_support),
    )
    found = []
    for _ in range(70):
        user, assistant = chance.choice(askers)
        run = make_run(make_conversation(user, assistant), ended_at=NOW)
        at = NOW - timedelta(minutes=chance.randrange(42 * 24 * 60))
        if chance.random() < 0.3:
            # It goes on after midnight.
            at = at.replace(hour=23, minute=50)
        Run.objects.filter(pk=run.pk).update(started_at=at)
        for _ in range(chance.randrange(4)):
            call(run, chance.choice(TOOLS))
        for _ in range(chance.randint(1, 4)):
            entry = use(
                run,
                at=min(NOW, at + timedelta(minutes=chance.randrange(20))),
                cost=chance.choice((0, chance.randrange(10_000_000))),
                model=chance.choice(("small", "large")),
                tokens=chance.randrange(5000),
                purpose=chance.choice(("", "title")),
            )
            UsageEntry.objects.filter(pk=entry.pk).update(
                is_test=chance.random() < 0.1, provider=chance.choice(("P", "Q")), cached_input_tokens=3
            )
        found.append(run)
    UsageEntry.objects.filter(pk__in=UsageEntry.objects.values("pk")[:2]).update(run=None)
    return found


def make_sums(now: datetime = NOW) -> None:
    for tenant in Tenant.objects.all():
        SummedTenant.objects.get_or_create(tenant=tenant, zone="UTC", defaults={"checked_at": now})
        sum_days(tenant_id=tenant.pk, zone="UTC", now=now)


def figures(scope: SpendScope) -> list[Any]:
    total = spend_total(scope)
    tables = [spend_table(scope, by, total=total) for by in KINDS]
    cut = [spend_table(scope, by, total=total, listed=1) for by in KINDS]
    return [total, tables, cut, spend_days(scope), spend_days(scope.before), forecast(scope, spent=total.cost, now=NOW)]


def scopes(cast: Cast) -> list[SpendScope]:
    of_tenants = (TenantFilter(None), TenantFilter(frozenset({cast.acme.pk})))
    narrowings: list[dict[str, Any]] = [
        {},
        {"assistant": cast.support.pk},
        {"person": cast.amy.pk},
        {"tool": "find"},
        {"tool": ""},
        {"model": ("P", "small")},
        {"purpose": "title"},
        {"model": ("Q", "small"), "purpose": "", "tool": "refund"},
        {"person": cast.amy.pk, "model": ("P", "small")},
        {"day": NOW.date() - timedelta(days=2)},
        {"day": NOW.date()},
        {"day": NOW.date() - timedelta(days=1), "purpose": ""},
    ]
    now = [SpendScope(MONTH, tenants, **one) for tenants, one in product(of_tenants, narrowings)]
    return [*now, SpendScope(MONTH.previous, of_tenants[0]), SpendScope(MONTH.previous, of_tenants[1], tool="find")]


def assert_as_the_rows(cast: Cast) -> None:
    for scope in scopes(cast):
        from_sums = figures(scope)
        with override_settings(ASSISTANT_PANEL_SUMS=False):
            assert from_sums == figures(scope)


def test_figures_from_sums_are_those_of_the_rows(cast: Cast, used: list[Run]) -> None:
    make_sums()
    assert {row.split for row in SpendSum.objects.all()} == {"model", "tool", "person"}
    assert spend_total(SpendScope(MONTH, TenantFilter(None))).runs > 10
    assert_as_the_rows(cast)


def test_days_without_sums_and_tenants_without_any_are_read_from_rows(cast: Cast, used: list[Run]) -> None:
    make_sums(NOW - timedelta(days=2))
    assert_as_the_rows(cast)
    SummedTenant.objects.filter(tenant=cast.globex).delete()
    SpendSum.objects.filter(tenant=cast.globex).delete()
    assert_as_the_rows(cast)


def test_what_was_deleted_is_taken_out_of_sums(cast: Cast, used: list[Run]) -> None:
    make_sums()
    for run in used[::3]:
        Conversation.objects.filter(pk=run.conversation_id).delete()
    make_sums()
    assert_as_the_rows(cast)
    cast.amy.delete()
    assert SpendSum.objects.filter(split="person", user=None).exists()
    make_sums()
    scope = SpendScope(MONTH, TenantFilter(None))
    from_sums = figures(scope)
    with override_settings(ASSISTANT_PANEL_SUMS=False):
        assert from_sums == figures(scope)


def test_days_that_are_over_are_read_from_no_row_of_usage(cast: Cast, used: list[Run]) -> None:
    make_sums()
    past = SpendScope(MONTH.previous, TenantFilter(None))
    for by in KINDS:
        with CaptureQueriesContext(connection) as queries:
            spend_table(past, by, total=spend_total(past))
        assert not any("usageentry" in query["sql"] or "toolcall" in query["sql"] for query in queries)
