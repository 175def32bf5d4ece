"""What is used of a limit is one figure on every page, also far above the limit, and what refuses comes first."""

from __future__ import annotations

import uuid
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.formats import date_format

from assistant.core.values.quota_kinds import LimitUse
from assistant.models import QuotaUse, Tenant, TenantLimits, UsageEntry
from assistant.services.limits.quota_ledger import current_use, record_quota_reached, reset_use
from assistant.services.runs.opening.open_run import open_run
from assistant.services.runs.run_input import RunInput, TextMessage
from assistant.services.tenancy.members import find_member
from assistant.services.tenancy.quotas import QuotaReached
from tests.base import Cast
from tests.contrib.panel.home.test_frame import pick
from tests.contrib.panel.home.test_home import home, trouble
from tests.factories import make_tenant, make_user


def spent(tenant: Tenant, cost: int, **limits: Any) -> None:
    UsageEntry.objects.create(tenant=tenant, user=make_user(), model="m", cost=cost)
    TenantLimits.objects.update_or_create(tenant=tenant, defaults=limits or {"tenant_cost_per_month": Decimal(10)})
    reset_use(tenant_id=tenant.pk)


def refuse(cast: Cast) -> QuotaReached:
    """Let Alice send a message that a limit refuses, as a door does."""
    member = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None
    given = RunInput(uuid.uuid4(), str(uuid.uuid4()), TextMessage(str(uuid.uuid4()), "Hello"))
    with pytest.raises(QuotaReached) as caught:
        open_run(member=member, assistant_slug="support", given=given, owner="here")
    record_quota_reached(tenant_id=cast.acme.pk, user_id=cast.alice.pk, reached=caught.value)
    return caught.value


@pytest.mark.parametrize(("used", "percent"), [(0, 0), (999, 99), (1_000, 100), (3_600, 360)])
def test_a_share_is_rounded_down_and_not_cut_off(used: int, percent: int) -> None:
    use = LimitUse(used, 1_000)
    assert use.percent == percent
    assert use.has_reached(percent)
    assert not use.has_reached(percent + 1)


def test_a_tenant_at_360_per_cent_is_first_on_home_though_nothing_was_counted_yet(root: Client, cast: Cast) -> None:
    trouble(cast, cast.acme)
    spent(cast.acme, 36_000_000)
    first = home(root)["needs"][0]
    assert first["is_urgent"]
    assert [(name, tenant) for name, tenant, _ in first["items"]] == [("cost a month: 360 %", "Acme")]


def test_every_page_says_the_same_figure(root: Client, cast: Cast) -> None:
    spent(cast.acme, 36_000_000)
    tenant = f"/admin/assistant/tenant/{cast.acme.pk}"
    pages = (
        "/admin/",
        "/admin/assistant/tenant/",
        f"{tenant}/overview/",
        f"{tenant}/spend/",
        "/admin/spend/?by=tenant",
    )
    for page in pages:
        assert "360 %" in root.get(page, follow=True).content.decode(), page


def test_home_says_since_when_a_limit_refuses(root: Client, cast: Cast) -> None:
    spent(cast.acme, 36_000_000)
    refuse(cast)
    at = QuotaUse.objects.get(user=None).refused_at["cost_per_month"]
    refuse(cast)
    assert QuotaUse.objects.get(user=None).refused_at == {"cost_per_month": at}
    name = home(root)["needs"][0]["items"][0][0]
    assert name.startswith("cost a month: 360 %, refused since ")
    page = root.get(f"/admin/assistant/tenant/{cast.acme.pk}/spend/").content.decode()
    assert f"refused since {date_format(timezone.localtime(), 'SHORT_DATE_FORMAT')}" in page


def test_a_refusal_of_an_ended_window_is_forgotten(cast: Cast) -> None:
    spent(cast.acme, 36_000_000)
    refuse(cast)
    use = QuotaUse.objects.get(user=None)
    assert current_use(use, timezone.now() + timedelta(days=32)).refused_at == {}


def test_a_members_refusal_is_theirs_alone(root: Client, cast: Cast) -> None:
    spent(cast.acme, 0, member_messages_per_day=1)
    member = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None
    given = RunInput(uuid.uuid4(), str(uuid.uuid4()), TextMessage(str(uuid.uuid4()), "Hello"))
    open_run(member=member, assistant_slug="support", given=given, owner="here")
    refuse(cast)
    refused = QuotaUse.objects.exclude(refused_at={})
    assert list(refused.values_list("user", flat=True)) == [cast.alice.pk]
    assert [need["sentence"] for need in home(root)["needs"] if need["is_urgent"]] == []


def test_an_admin_does_not_read_of_the_rivals_limit(amys: Client, root: Client, cast: Cast) -> None:
    spent(cast.globex, 36_000_000)
    assert "360 %" not in amys.get("/admin/").content.decode()
    pick(root, "acme")
    assert "360 %" not in root.get("/admin/").content.decode()
    pick(root, "globex")
    assert "360 %" in root.get("/admin/").content.decode()


@pytest.mark.parametrize("page", ["/admin/", "/admin/spend/?by=tenant", "/admin/assistant/tenant/"])
def test_the_figures_cost_no_more_queries_for_many_tenants(root: Client, cast: Cast, page: str) -> None:
    def count(tenants: int) -> int:
        for _ in range(tenants):
            spent(make_tenant(), 36_000_000)
        with CaptureQueriesContext(connection) as queries:
            assert root.get(page).status_code == 200
        return len(queries)

    first = count(2)
    assert count(8) == first
