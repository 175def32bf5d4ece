"""The first page of the control panel."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings as site_settings
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.contrib.mcp_servers.models import McpServer, McpTool
from assistant.core.values.quota_kinds import Windows
from assistant.models import (
    AuditEntry,
    Incident,
    QuotaUse,
    Run,
    Tenant,
    TenantLimits,
    ToolCall,
    UsageEntry,
)
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import Registry, tool
from tests.base import Cast
from tests.contrib.panel.conftest import say_something
from tests.contrib.panel.home.test_frame import pick
from tests.contrib.webhooks.hooks import hook
from tests.factories import make_assistant, make_conversation, make_provider, make_run, make_tenant, switch_tool


def home(client: Client) -> dict[str, Any]:
    page = client.get("/admin/")
    assert page.status_code == 200
    return {name: page.context[name] for name in ("report", "zone", "needs", "changes")}


def run_of(cast: Cast, *, rival: bool = False, **fields: Any) -> Run:
    user, assistant = (cast.mallory, cast.rival_support) if rival else (cast.alice, cast.support)
    run = make_run(make_conversation(user, assistant), ended_at=timezone.now(), **fields)
    UsageEntry.objects.create(
        tenant=assistant.tenant, user=user, assistant=assistant, run=run, model="m", cost=1_500_000
    )
    return run


def test_the_figures_are_sums_of_rows(root: Client, cast: Cast) -> None:
    for first_token in (100, 300, 900):
        run_of(cast, first_token_ms=first_token)
    run_of(cast, status=Run.Status.FAILED)
    old = run_of(cast)
    Run.objects.filter(pk=old.pk).update(started_at=timezone.now() - timedelta(days=3))
    UsageEntry.objects.filter(run=old).update(created_at=timezone.now() - timedelta(days=3))
    report = home(root)["report"]
    assert (report.today.runs, report.today.failed, report.today.cost) == (4, 1, 6.0)
    assert (report.whole.runs, report.whole.cost) == (5, 7.5)
    assert report.first_token == 0.3
    assert report.whole_answer is not None


def test_a_day_is_one_of_the_picked_tenants_time_zone(root: Client, cast: Cast) -> None:
    Tenant.objects.filter(pk=cast.acme.pk).update(timezone="Pacific/Kiritimati")
    Run.objects.filter(pk=run_of(cast).pk).update(started_at=timezone.now() - timedelta(hours=13))
    pick(root, "acme")
    context = home(root)
    assert context["zone"] == "Pacific/Kiritimati"
    expected = (timezone.now() - timedelta(hours=13) + timedelta(hours=14)).date()
    assert [day.date for day in context["report"].days if day.runs] == [expected]


def test_an_admin_reads_the_figures_of_their_tenant_only(amys: Client, root: Client, cast: Cast) -> None:
    run_of(cast, rival=True)
    AuditEntry.objects.create(tenant=cast.globex, actor=cast.greta, action="prompt.publish", target="rival v1")
    assert home(root)["report"].today.runs == 1
    context = home(amys)
    assert context["report"].today.runs == 0
    assert list(context["changes"]) == []
    assert b"Globex" not in amys.get("/admin/").content


def test_the_picked_tenant_narrows_the_figures(root: Client, cast: Cast) -> None:
    run_of(cast, rival=True)
    pick(root, "acme")
    assert home(root)["report"].today.runs == 0
    pick(root, "globex")
    assert home(root)["report"].today.runs == 1


def use_of_today(tenant: Tenant, messages: int) -> QuotaUse:
    now = Windows.at(timezone.now())
    at = {"minute_at": now.minute, "day_at": now.day, "month_at": now.month}
    return QuotaUse.objects.create(tenant=tenant, day_messages=messages, **at)


@tool(secrets=("token",))
def send_fax(text: str) -> str:
    """Send a fax."""
    return text


def trouble(cast: Cast, tenant: Tenant) -> None:
    """Create one of each thing that needs a person, in a tenant whose only assistant has no model."""
    rival = tenant == cast.globex
    run = make_run(
        make_conversation(cast.mallory if rival else cast.alice, cast.rival_support if rival else cast.support)
    )
    ToolCall.objects.create(tenant=tenant, run=run, call_id="a", name="refund", status="awaiting_approval")
    Incident.objects.create(tenant=tenant, tool="get_customer", description="a foreign row")
    TenantLimits.objects.create(tenant=tenant, tenant_messages_per_day=10)
    use_of_today(tenant, 8)
    server = McpServer.objects.create(tenant=tenant, name="crm", url="https://crm.example.com/", is_active=True)
    McpTool.objects.create(
        server=server, name="find", definition={}, digest="new", accepted={}, accepted_digest="old", is_allowed=True
    )
    failing = hook(tenant, "https://hooks.example.com/")
    failing.failing_since = timezone.now()
    failing.save(update_fields=["failing_since"])
    switch_tool(tenant, "send_fax")


def kinds(client: Client) -> list[str]:
    return [need["sentence"] for need in home(client)["needs"]]


def test_what_needs_a_person_is_named(amys: Client, cast: Cast) -> None:
    trouble(cast, cast.acme)
    with catalogue.using(Registry([send_fax])):
        found = kinds(amys)
    assert found == [
        "1 tool call waits for approval",
        "1 incident is not resolved",
        "1 limit is nearly used up",
        "1 tool of an MCP server has changed and is off",
        "1 webhook fails",
        "1 assistant has no language model, and the stand-in answers",
        "1 tool lacks a secret",
    ]


def test_another_tenants_trouble_is_not_shown(amys: Client, cast: Cast) -> None:
    make_provider(cast.acme, base_url="https://llm.example.com/v1")
    trouble(cast, cast.globex)
    with catalogue.using(Registry([send_fax])):
        assert kinds(amys) == []


@pytest.mark.parametrize("whose", ["assistant", "tenant", "default", "deployment"])
def test_an_assistant_with_a_model_needs_nobody(whose: str, root: Client, cast: Cast, settings: Any) -> None:
    shared = make_provider(base_url="https://llm.example.com/v1")
    if whose == "assistant":
        type(cast.support).objects.filter(tenant__in=[cast.acme, cast.globex]).update(provider=shared)
    elif whose == "tenant":
        for tenant in (cast.acme, cast.globex):
            make_provider(tenant, base_url="https://llm.example.com/v1")
    elif whose == "default":
        Tenant.objects.update(default_provider=shared)
    else:
        settings.OPENAI_API_KEY = "sk-test"
    assert kinds(root) == []


def test_the_page_makes_no_more_queries_for_many_rows(root: Client, cast: Cast) -> None:
    def fill(number: int) -> int:
        for _ in range(number):
            tenant = make_tenant()
            run_of(cast)
            say_something(cast)
            TenantLimits.objects.create(tenant=tenant, tenant_messages_per_day=1)
            use_of_today(tenant, 1)
            switch_tool(tenant, "send_fax")
            make_assistant(tenant)
        with catalogue.using(Registry([send_fax])), CaptureQueriesContext(connection) as queries:
            root.get("/admin/")
        return len(queries)

    few = fill(2)
    assert fill(6) == few
    assert few <= 31


def test_days_are_a_chart_a_table_and_a_file(root: Client, cast: Cast) -> None:
    run_of(cast, status=Run.Status.FAILED)
    page = root.get("/admin/").content.decode()
    # A bar for the day with a run, and a place for each day.
    assert page.count('class="chart-bar"') == 1
    assert page.count('class="chart-day"') == 30
    assert "<table>" in page
    lines = root.get("/admin/days.csv").content.decode("utf-8-sig").splitlines()
    assert len(lines) == 31
    assert lines[0] == "Day,Runs,Failed,Cost (USD)"
    assert lines[-1] == f"{timezone.now():%Y-%m-%d},1,1,1.500000"


def test_the_days_of_a_tenants_page_are_a_csv_file_too(root: Client, amys: Client, cast: Cast) -> None:
    say_something(cast)
    link = f"/admin/assistant/tenant/{cast.acme.pk}/days.csv"
    assert f'href="{link}"' in amys.get(f"/admin/assistant/tenant/{cast.acme.pk}/overview/").content.decode()

    def runs_today(client: Client, tenant: Tenant) -> str:
        lines = client.get(f"/admin/assistant/tenant/{tenant.pk}/days.csv").content.decode("utf-8-sig").splitlines()
        return lines[-1].split(",")[1]

    assert (runs_today(amys, cast.acme), runs_today(root, cast.acme), runs_today(root, cast.globex)) == ("1", "1", "0")
    assert amys.get(f"/admin/assistant/tenant/{cast.globex.pk}/days.csv").status_code == 404


def test_an_empty_panel_says_what_to_do(root: Client, cast: Cast) -> None:
    assert "Nobody has asked an assistant" in root.get("/admin/").content.decode()
    Tenant.objects.all().delete()
    assert "Add a tenant" in root.get("/admin/").content.decode()
    assert site_settings.TIME_ZONE in home(root)["zone"]
