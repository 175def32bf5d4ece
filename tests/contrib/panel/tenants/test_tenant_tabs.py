"""A tenant's page has tabs: each shows its own tenant only, and no more queries for more rows."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from assistant.contrib.panel.admin.tenants.tenant_pages import PAGES
from assistant.models import AuditEntry, Tenant, TenantLimits
from tests.base import Cast
from tests.contrib.panel.conftest import fill, say_something
from tests.contrib.panel.home.test_home import run_of
from tests.factories import make_member

TABS = [*(tab.slug for tab in PAGES), "requests"]
OF_OPERATORS = {"requests", "danger"}
OF_ADMINS = [slug for slug in TABS if slug not in OF_OPERATORS]


def address(tenant: Tenant, tab: str) -> str:
    return f"/admin/assistant/tenant/{tenant.pk}/{tab}/"


@pytest.mark.parametrize("tab", TABS)
def test_an_operator_opens_each_tab(root: Client, cast: Cast, tab: str) -> None:
    say_something(cast)
    page: Any = root.get(address(cast.acme, tab))
    assert page.status_code == 200
    assert [link.is_current for link in page.context["tabs"]].count(True) == 1


@pytest.mark.parametrize("tab", [*TABS, "change"])
def test_another_tenants_tabs_do_not_exist_for_an_admin(amys: Client, cast: Cast, tab: str) -> None:
    assert amys.get(address(cast.globex, tab)).status_code == 404
    assert amys.get(address(cast.acme, tab)).status_code == (404 if tab in OF_OPERATORS else 200)
    assert amys.get(f"/admin/assistant/tenant/99999/{tab}/").status_code == 404


def test_an_admin_is_offered_the_tabs_that_open(amys: Client, cast: Cast) -> None:
    page: Any = amys.get(address(cast.acme, "overview"))
    urls = [link.url for link in page.context["tabs"]]
    assert {amys.get(url).status_code for url in urls} == {200}
    assert address(cast.acme, "danger") not in urls


@pytest.mark.parametrize("tab", OF_ADMINS)
def test_a_tab_shows_no_row_of_another_tenant(amys: Client, cast: Cast, tab: str) -> None:
    run_of(cast, rival=True)
    make_member(cast.globex, "rivalina")
    AuditEntry.objects.create(tenant=cast.globex, actor=cast.greta, action="tool.switch", target="rival tool")
    page = amys.get(address(cast.acme, tab)).content.decode()
    assert not {name for name in ("rivalina", "mallory", "greta", "Globex", "rival tool") if name in page}


@pytest.mark.parametrize("tab", TABS)
def test_a_tab_makes_no_more_queries_for_more_rows(root: Client, cast: Cast, tab: str) -> None:
    def count(rows: int) -> int:
        fill(cast, rows)
        for _ in range(rows):
            make_member(cast.acme)
        with CaptureQueriesContext(connection) as queries:
            assert root.get(address(cast.acme, tab)).status_code == 200
        return len(queries)

    assert count(2) == count(12)


def test_the_spend_is_summed_by_assistant_person_and_model(amys: Client, cast: Cast) -> None:
    run_of(cast)
    run_of(cast)
    page: Any = amys.get(address(cast.acme, "spend"))
    spend = page.context["spend"]
    assert spend.total == 3
    assert [(line.name, line.runs, line.cost) for line in spend.assistants] == [("Support", 2, 3.0)]
    assert [line.name for line in spend.people] == ["alice"]


def test_limits_are_set_beside_their_use_and_audited(root: Client, cast: Cast) -> None:
    page = address(cast.acme, "spend")
    assert root.post(page, {"tenant_cost_per_month": "10", "member_messages_per_day": "5"}).status_code == 302
    assert root.post(page, {"tenant_cost_per_month": "20", "member_messages_per_day": "5"}).status_code == 302
    assert TenantLimits.objects.get(tenant=cast.acme).tenant_cost_per_month == 20
    entry = AuditEntry.objects.get(tenant=cast.acme, action="limits.set", pk=AuditEntry.objects.latest("pk").pk)
    assert entry.details["values"] == {"tenant_cost_per_month": ["10.00", "20"]}


def test_an_admin_sets_the_limits_of_each_member_only(amys: Client, cast: Cast) -> None:
    sent = {"tenant_cost_per_month": "99", "member_messages_per_day": "5"}
    assert amys.post(address(cast.acme, "spend"), sent).status_code == 302
    limits = TenantLimits.objects.get(tenant=cast.acme)
    assert (limits.tenant_cost_per_month, limits.member_messages_per_day) == (None, 5)
    assert amys.post(address(cast.globex, "spend"), sent).status_code == 404
    assert not TenantLimits.objects.filter(tenant=cast.globex).exists()


def test_a_limit_that_is_no_number_is_a_form_error(root: Client, cast: Cast) -> None:
    answer = root.post(address(cast.acme, "spend"), {"tenant_cost_per_month": "-1"})
    assert (answer.status_code, TenantLimits.objects.exists()) == (200, False)


def test_an_operator_suspends_with_a_notice_and_activates_again(root: Client, amys: Client, cast: Cast) -> None:
    page = address(cast.acme, "danger")
    assert root.post(page, {"is_active": "no", "suspension_notice": "Unpaid since May."}).status_code == 302
    cast.acme.refresh_from_db()
    assert (cast.acme.is_active, cast.acme.suspension_notice) == (False, "Unpaid since May.")
    assert amys.get(address(cast.acme, "overview")).status_code == 404
    root.post(page, {"is_active": "yes", "suspension_notice": ""})
    cast.acme.refresh_from_db()
    assert cast.acme.is_active
    actions = AuditEntry.objects.filter(tenant=cast.acme, actor=cast.root).order_by("pk")
    assert list(actions.values_list("action", flat=True)) == ["tenant.suspend", "tenant.activate"]


def test_only_operators_suspend(amys: Client, cast: Cast) -> None:
    for tenant in (cast.acme, cast.globex):
        assert amys.post(address(tenant, "danger"), {"is_active": "no"}).status_code == 404
    assert not Tenant.objects.filter(is_active=False).exists()


def test_a_project_tenant_is_not_suspended_here(root: Client, cast: Cast) -> None:
    Tenant.objects.filter(pk=cast.acme.pk).update(external_id="7")
    assert root.post(address(cast.acme, "danger"), {"is_active": "no"}).status_code == 200
    cast.acme.refresh_from_db()
    assert cast.acme.is_active


def test_an_erased_tenant_is_no_longer_the_picked_one(root: Client, cast: Cast) -> None:
    root.post("/admin/pick-tenant/", {"tenant": "globex"})
    Tenant.objects.filter(pk=cast.globex.pk).delete()
    page: Any = root.get("/admin/assistant/assistant/")
    assert [row.tenant for row in page.context["cl"].result_list] == [cast.acme]
    assert page.context["panel"].picker.picked is None
