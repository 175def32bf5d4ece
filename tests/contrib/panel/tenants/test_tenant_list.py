"""The list of tenants: what each spends, does, and whose it is."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.contrib.panel.reports.tenants import TenantReport
from assistant.models import Membership, Run, TenantLimits, UsageEntry
from tests.base import Cast
from tests.contrib.panel.home.test_home import run_of
from tests.factories import make_member, make_tenant

LIST = "/admin/assistant/tenant/"


def reports(client: Client) -> dict[str, TenantReport]:
    page: Any = client.get(LIST)
    assert page.status_code == 200
    return {tenant.slug: tenant.report for tenant in page.context["cl"].result_list}


def test_each_tenant_has_its_own_figures(root: Client, cast: Cast) -> None:
    make_member(cast.acme, "olga", role=Membership.Role.OWNER)
    TenantLimits.objects.create(tenant=cast.acme, tenant_cost_per_month=6)
    run_of(cast)
    last = run_of(cast, status=Run.Status.FAILED)
    run_of(cast, rival=True)
    Run.objects.filter(pk=run_of(cast).pk).update(started_at=timezone.now() - timedelta(days=8))
    found = reports(root)
    acme = found["acme"]
    assert acme.cost is not None
    assert (acme.spend, acme.cost.used, acme.cost.limit, acme.cost.percent) == (4.5, "USD 4.50", "USD 6.00", 75)
    assert (acme.runs, acme.failed, acme.owners) == (2, 1, ("olga",))
    assert (acme.members, acme.assistants, acme.last_run_at) == (3, 1, last.started_at)
    assert (found["globex"].spend, found["globex"].cost, found["globex"].runs) == (1.5, None, 1)


def test_the_spend_is_this_months(root: Client, cast: Cast) -> None:
    run_of(cast)
    UsageEntry.objects.filter(tenant=cast.acme).update(created_at=timezone.now() - timedelta(days=32))
    assert reports(root)["acme"].spend == 0


def test_an_admin_sees_their_tenant_only(amys: Client, cast: Cast) -> None:
    run_of(cast, rival=True)
    assert list(reports(amys)) == ["acme"]


def test_the_list_makes_no_more_queries_for_many_tenants(root: Client, cast: Cast) -> None:
    def count(tenants: int) -> int:
        for _ in range(tenants):
            make_member(make_tenant(), role=Membership.Role.OWNER)
        with CaptureQueriesContext(connection) as queries:
            root.get(LIST)
        return len(queries)

    assert count(2) == count(20)
