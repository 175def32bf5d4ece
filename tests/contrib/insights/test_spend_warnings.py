"""Warnings of spend: each part of the limit is told once a month, by webhook and e-mail, over all processes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core import mail
from django.core.mail.backends.base import BaseEmailBackend
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.contrib.insights.models import SpendNotice, WarningSettings
from assistant.contrib.insights.services.spend_warnings import claim_mails, record_reached, warn_of_spend
from assistant.contrib.insights.services.warning_mails import MAIL_TRIES
from assistant.core.values.quota_kinds import Windows
from assistant.models import Membership, QuotaUse, Tenant, TenantLimits, UsageEntry
from assistant.services.jobs import jobs
from assistant.services.privacy.erasure import erase_user
from assistant.services.runs import timed_work
from assistant.services.runs.manager import Runs
from tests.base import Cast
from tests.factories import make_member, make_tenant

NOW = datetime(2026, 3, 11, 12, tzinfo=UTC)


def spend(tenant: Tenant, cost: float, at: datetime = NOW) -> None:
    """Store usage, and the counter as the end of a run would have it."""
    entry = UsageEntry.objects.create(tenant=tenant, model="m", cost=int(cost * 1_000_000))
    UsageEntry.objects.filter(pk=entry.pk).update(created_at=at)


def limit(tenant: Tenant, cap: float | None = 10, **warnings: object) -> None:
    """Set a tenant's limit of cost a month, and what its `WarningSettings` say."""
    TenantLimits.objects.update_or_create(tenant=tenant, defaults={"tenant_cost_per_month": cap})
    if warnings:
        WarningSettings.objects.update_or_create(tenant=tenant, defaults=warnings)


def told() -> list[tuple[str, int]]:
    return list(SpendNotice.objects.order_by("pk").values_list("tenant__slug", "percent"))


def warn() -> None:
    asyncio.run(warn_of_spend())


def test_each_part_is_told_once_a_month(cast: Cast) -> None:
    limit(cast.acme)
    steps: tuple[tuple[float, list[int]], ...] = (
        (4.9, []),
        (0.1, [50]),
        (0.5, [50]),
        (3.0, [50, 80]),
        (5.0, [50, 80, 100]),
        (5.0, [50, 80, 100]),
    )
    for cost, expected in steps:
        spend(cast.acme, cost)
        record_reached(now=NOW)
        record_reached(now=NOW)
        assert told() == [("acme", percent) for percent in expected]
    april = NOW + timedelta(days=30)
    assert record_reached(now=april) == 0
    spend(cast.acme, 5, april)
    assert record_reached(now=april) == 1


def test_a_tenant_has_parts_of_its_own_or_none(cast: Cast) -> None:
    limit(cast.acme, percentages=[10, 90])
    limit(cast.globex, percentages=[])
    for tenant in (cast.acme, cast.globex):
        spend(tenant, 9.5)
    record_reached(now=NOW)
    assert told() == [("acme", 10), ("acme", 90)]


def test_without_a_limit_or_use_nothing_is_told(cast: Cast) -> None:
    limit(cast.acme, None)
    limit(cast.globex)
    spend(cast.acme, 100)
    spend(cast.globex, 100, NOW - timedelta(days=20))
    record_reached(now=NOW)
    assert told() == []


def test_the_deployments_limit_counts_too(cast: Cast, settings: Any) -> None:
    settings.ASSISTANT_TENANT_LIMITS = {"cost_per_month": 10}
    spend(cast.acme, 6)
    record_reached(now=NOW)
    assert told() == [("acme", 50)]


def test_reservations_of_running_runs_are_not_spent(cast: Cast) -> None:
    limit(cast.acme)
    spend(cast.acme, 1)
    windows = Windows.at(NOW)
    QuotaUse.objects.create(
        tenant=cast.acme, minute_at=windows.minute, day_at=windows.day, month_at=windows.month, month_cost=9_000_000
    )
    record_reached(now=NOW)
    assert told() == []


@pytest.fixture
def sends_mail(settings: Any) -> None:
    """The project says where its e-mail goes, here into `mail.outbox`."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"


def owner(tenant: Tenant, email: str) -> None:
    make_member(tenant, role=Membership.Role.OWNER, email=email)


@pytest.mark.django_db(transaction=True)
def test_owners_are_told_by_mail_once(cast: Cast, sends_mail: None) -> None:
    limit(cast.acme)
    owner(cast.acme, "olga@acme.example")
    owner(cast.globex, "gus@globex.example")
    spend(cast.acme, 6, timezone.now())
    warn()
    warn()
    (message,) = mail.outbox
    assert message.to == ["olga@acme.example"]
    assert message.subject == "Acme has used 50 % of its limit of cost this month"
    assert "have cost USD 6.00" in str(message.body) and "limit of USD 10.00" in str(message.body)


@pytest.mark.django_db(transaction=True)
def test_recipients_of_the_tenants_choice_are_told_instead(cast: Cast, sends_mail: None) -> None:
    limit(cast.acme, emails=["money@acme.example", "boss@acme.example"])
    owner(cast.acme, "olga@acme.example")
    spend(cast.acme, 6, timezone.now())
    warn()
    assert [message.to for message in mail.outbox] == [["money@acme.example"], ["boss@acme.example"]]


@pytest.mark.django_db(transaction=True)
def test_the_operator_can_switch_it_off(cast: Cast, settings: Any) -> None:
    settings.ASSISTANT_SPEND_WARNINGS = False
    limit(cast.acme)
    spend(cast.acme, 6, timezone.now())
    warn()
    assert told() == []


@pytest.mark.django_db(transaction=True)
def test_many_processes_tell_once(cast: Cast, sends_mail: None) -> None:
    limit(cast.acme, emails=["money@acme.example"])
    spend(cast.acme, 10, NOW)

    def process(_: int) -> tuple[int, int]:
        try:
            return record_reached(now=NOW), len(claim_mails(now=NOW))
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(process, range(8)))
    claimed = sum(mails for _, mails in found) + len(claim_mails(now=NOW))
    assert (sum(new for new, _ in found), claimed, len(told())) == (3, 3, 3)


class Broken(BaseEmailBackend):
    """A mail server that cannot be reached."""

    def send_messages(self, _messages: Sequence[object]) -> int:
        raise OSError("no route to host")


@pytest.mark.django_db(transaction=True)
def test_a_mail_that_cannot_be_sent_is_tried_again_a_few_times(cast: Cast, settings: Any) -> None:
    settings.EMAIL_BACKEND = f"{__name__}.Broken"
    limit(cast.acme, emails=["money@acme.example"])
    spend(cast.acme, 6, timezone.now())
    for tries in range(1, MAIL_TRIES + 1):
        warn()
        warn()
        assert SpendNotice.objects.get().mail_tries == tries
        SpendNotice.objects.filter(mail_due_at__isnull=False).update(mail_due_at=timezone.now() - timedelta(seconds=1))
    warn()
    assert SpendNotice.objects.get().mail_tries == MAIL_TRIES


class Slow(BaseEmailBackend):
    """A mail server that answers only when it may, and gives up at last."""

    threads: list[int] = []
    may_answer = threading.Event()
    answered: list[bool] = []

    def send_messages(self, messages: Sequence[object]) -> int:
        self.threads.append(threading.get_ident())
        self.answered.append(self.may_answer.wait(30))
        return len(messages)


@pytest.mark.django_db(transaction=True)
async def test_a_slow_mail_server_holds_up_neither_the_loop_nor_the_housekeeping(
    cast: Cast, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.EMAIL_BACKEND = f"{__name__}.Slow"
    Slow.threads = []
    Slow.may_answer = threading.Event()
    Slow.answered = []
    monkeypatch.setattr(timed_work, "JOBS_SECONDS", 0.1)
    monkeypatch.setitem(jobs._handlers, "answer", lambda job: Slow.may_answer.set())
    await sync_to_async(limit)(cast.acme, emails=["money@acme.example"])
    await sync_to_async(spend)(cast.acme, 6, timezone.now())
    runs = Runs()
    await runs.start()
    while not Slow.threads:
        await asyncio.sleep(0.01)
    # The server answers once the housekeeping has done this job, which needs the loop.
    due = timezone.now() - timedelta(seconds=1)
    await sync_to_async(jobs.schedule)(tenant_id=cast.acme.pk, name="answer", key="mail", due_at=due)
    while not Slow.answered:
        await asyncio.sleep(0.01)
    await runs.stop()
    assert Slow.answered == [True]
    assert threading.get_ident() not in Slow.threads


def test_the_search_makes_no_more_queries_for_many_tenants(cast: Cast) -> None:
    def fill(number: int) -> int:
        for _ in range(number):
            tenant = make_tenant()
            limit(tenant)
            spend(tenant, 4)
        with CaptureQueriesContext(connection) as queries:
            assert record_reached(now=NOW) == 0
        return len(queries)

    few = fill(2)
    assert fill(6) == few <= 5


@pytest.mark.django_db(transaction=True)
def test_a_persons_address_leaves_with_them(cast: Cast) -> None:
    cast.alice.email = "alice@acme.example"
    cast.alice.save()
    limit(cast.acme, emails=["Alice@acme.example", "money@acme.example"])
    erase_user(user=cast.alice, actor=None)
    assert WarningSettings.objects.get(tenant=cast.acme).emails == ["money@acme.example"]
