"""A tool's page: its use by tenant, missing secrets, its off switch for everyone; and the simulation of a run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields
from datetime import timedelta
from typing import Literal

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.text import capfirst

from assistant.contrib.panel.admin.tools.parameters import parameters_of
from assistant.contrib.panel.reports.tool_use import percentile
from assistant.core.values.limits import Limits
from assistant.models import (
    Approval,
    Assistant,
    AuditEntry,
    Conversation,
    Run,
    Tenant,
    ToolBlock,
    ToolCall,
    ToolSetting,
)
from assistant.services.assistants.prompts import draft_prompt, publish_prompt
from assistant.services.tenancy.members import create_api_key
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.switch_changes import Target, set_switches
from assistant.toolkit import Registry, ToolContext, tool
from tests.base import Cast
from tests.contrib.panel.conftest import say_something, signed_in
from tests.contrib.panel.tenants.test_custom_roles import holder
from tests.factories import make_assistant, make_tenant, switch_tool

PAGE = "/admin/assistant/toolsetting/tool/get_customer/"
SIMULATE = "/admin/assistant/toolsetting/simulate/"
TOOL = "get_customer"


@tool(secrets=["token"], enabled_by_default=True)
def send_letter(context: ToolContext, to: str) -> str:
    """Send a letter."""
    return context.secret("token") + context.tenant.slug + to


@pytest.fixture
def letters() -> Iterator[None]:
    with catalogue.using(Registry([*catalogue.registry(), send_letter])):
        yield


def rows(client: Client, path: str = PAGE) -> dict[str, list[str]]:
    """Return the texts of the rows of the page's table, by tenant."""
    page = client.get(path).content.decode()
    body = page[page.index('id="use"') :]
    found = re.findall(r'<th scope="row"><a [^>]*>([^<]+)</a></th>(.*?)</tr>', body, re.DOTALL)
    return {name: [re.sub(r"<[^>]+>|\s+", " ", cell).strip() for cell in row.split("<td")[1:]] for name, row in found}


def call(cast: Cast, tenant: Tenant, number: int, **fields: object) -> None:
    user = cast.alice if tenant == cast.acme else cast.mallory
    ToolCall.objects.create(tenant=tenant, user=user, call_id=f"c{number}", name=TOOL, **fields)


def test_the_table_is_a_csv_file_too(root: Client, amys: Client, cast: Cast) -> None:
    call(cast, cast.acme, 1, status="error", duration_ms=40)
    call(cast, cast.globex, 2, status="ok", duration_ms=20)
    assert "?csv=1" in root.get(PAGE).content.decode()
    head, *lines = root.get(PAGE + "?csv=1").content.decode("utf-8-sig").splitlines()
    assert head == "Tenant,State,Calls,Errors,Refused,p95 (ms),Last call"
    assert [line.split(",")[:6] for line in lines] == [
        ["acme", "off", "1", "1", "0", "40"],
        ["globex", "off", "1", "0", "0", "20"],
    ]
    assert "globex" not in amys.get(PAGE + "?csv=1").content.decode()


def test_calls_errors_and_p95_by_tenant(root: Client, cast: Cast) -> None:
    for number in range(20):
        call(cast, cast.acme, number, status="error" if number < 5 else "ok", duration_ms=10 * (number + 1))
    call(cast, cast.globex, 1, status="refused")
    old = timezone.now() - timedelta(days=8)
    call(cast, cast.globex, 2, status="ok")
    ToolCall.objects.filter(tenant=cast.globex, call_id="c2").update(started_at=old)
    found = rows(root)
    acme = " | ".join(found["Acme"])
    assert re.search(r">20 \|.*>5 \(25 %\) \|.*>0 \|.*>190 ms", acme)
    assert re.search(r">1 \|.*>0 \|.*>1 \|.*>—", " | ".join(found["Globex"]))


def test_calls_of_tests_are_counted_apart(root: Client, cast: Cast) -> None:
    run = say_something(cast, tool=TOOL)
    switch_tool(cast.acme, TOOL)
    assert re.search(r">1 \|", " | ".join(rows(root)["Acme"]))
    Run.objects.filter(pk=run.pk).update(is_test=True)
    assert re.search(r">0 \|", " | ".join(rows(root)["Acme"]))
    assert root.get(PAGE).context["sum"].calls == 0


@pytest.mark.parametrize(("values", "share"), [([], None), ([7], 7), ([1, 2, 3], 3), (list(range(1, 101)), 95)])
def test_percentiles(values: list[int], share: int | None) -> None:
    assert percentile(values, 95) == share


def test_a_tenants_admin_sees_their_own_tenant_alone(amys: Client, cast: Cast) -> None:
    call(cast, cast.globex, 1, status="error")
    assert set(rows(amys)) == {"Acme"}
    page = amys.get(PAGE).content.decode()
    assert "Switch off for everyone" not in page
    assert "Globex" not in page


def test_the_picked_tenant_narrows_the_page(root: Client, cast: Cast) -> None:
    root.post("/admin/pick-tenant/", {"tenant": "globex"})
    assert set(rows(root)) == {"Globex"}


def test_missing_secrets_are_named(root: Client, cast: Cast, letters: None) -> None:
    ToolSetting.objects.create(tenant=cast.acme, tool="send_letter", secrets=json.dumps({"token": "x"}))
    page = root.get(PAGE.replace(TOOL, "send_letter")).content.decode()
    assert "at 1 tenant" in page
    assert "secret token, tenant.slug" in page  # what it reads of its context
    found = rows(root, PAGE.replace(TOOL, "send_letter"))
    assert "missing: token" in " ".join(found["Globex"])
    assert "missing" not in " ".join(found["Acme"])


def test_an_operator_switches_off_for_everyone_and_on_again(root: Client, cast: Cast) -> None:
    switch_tool(cast.acme, TOOL, "on")
    answer = root.post(PAGE, {"do": "block", "reason": "Leaks", "lasts": "3600"}, follow=True).content.decode()
    row = ToolBlock.objects.get()
    assert row.until is not None
    assert (row.tool, row.reason, row.actor) == (TOOL, "Leaks", cast.root)
    assert answer.count(f"Off in the whole deployment until {row.until:%Y-%m-%d %H:%M} UTC: Leaks.") >= 3
    assert "Switched off by root, " in answer
    assert "Off in the whole deployment" in root.get("/admin/assistant/toolsetting/switchboard/acme/").content.decode()
    root.post(PAGE, {"do": "unblock"})
    assert not ToolBlock.objects.exists()
    assert list(AuditEntry.objects.order_by("pk").values_list("action", flat=True)) == ["tool.block", "tool.unblock"]
    trail = root.get("/admin/assistant/auditentry/").content.decode()
    assert "in the whole deployment: as switched → off" in trail


@pytest.mark.parametrize("do", ["block", "unblock"])
def test_only_operators_may(do: str, amys: Client, cast: Cast) -> None:
    ToolBlock.objects.create(tool="calculate", reason="Wrong")
    path = PAGE.replace(TOOL, "calculate") if do == "unblock" else PAGE
    assert amys.post(path, {"do": do, "reason": "Mine"}).status_code == 403
    assert ToolBlock.objects.get().tool == "calculate"
    plain = signed_in(cast.alice)
    cast.alice.is_staff = True
    cast.alice.save()
    assert plain.get(PAGE).status_code == 404
    assert plain.post(PAGE, {"do": do, "reason": "Mine"}).status_code == 404


@pytest.mark.parametrize(
    "given",
    [{"reason": ""}, {"lasts": "5"}, {"until": "2020-01-01T00:00"}, {"lasts": "3600", "until": "2030-01-01T00:00"}],
)
def test_what_cannot_be_meant_is_said_in_the_form(given: dict[str, str], root: Client, cast: Cast) -> None:
    answer = root.post(PAGE, {"do": "block", "reason": "Leaks", **given})
    assert answer.status_code == 200
    assert "errorlist" in answer.content.decode()
    assert not ToolBlock.objects.exists()


def test_all_tenants_are_set_after_who_is_affected_was_shown(root: Client, cast: Cast) -> None:
    page = root.post(PAGE, {"do": "set", "policy": "ask"}).content.decode()
    assert "2 switches become: asks first" in page
    names = re.search(r'name="cells" value="([^"]+)"', page)
    assert names is not None
    assert not ToolSetting.objects.exists()
    root.post(PAGE, {"do": "set", "policy": "ask", "confirmed": "1"})
    assert ToolSetting.objects.filter(tool=TOOL, policy="ask").count() == 2


@pytest.mark.parametrize("path", [PAGE.replace(TOOL, "made_up"), PAGE.replace(TOOL, "ask_support")])
def test_a_tool_that_does_not_exist_has_no_page(path: str, root: Client, cast: Cast) -> None:
    assert root.get(path).status_code == 404


def test_the_page_makes_no_more_queries_for_many_tenants(root: Client, cast: Cast) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            assert root.get(PAGE).status_code == 200
        return len(queries)

    switch_tool(cast.acme, TOOL, "on")
    call(cast, cast.acme, 0, status="ok", duration_ms=5)
    few = count()
    for number in range(8):
        tenant = make_tenant()
        switch_tool(tenant, TOOL, "ask", assistant=make_assistant(tenant))
        switch_tool(tenant, TOOL, "on")
        call(cast, tenant, number, status="ok", duration_ms=5)
    assert count() == few <= 20


def simulated(client: Client, **given: str) -> dict[str, str]:
    """Return the tools of a simulation with their state and rule."""
    page = client.get(SIMULATE, {"tenant": "acme", "assistant": "support", "user": "alice", **given}).content.decode()
    found = re.findall(
        r"<code>(\w+)</code>(?:</a>)?</th><td><span class=\"state (\w+)\">[^<]*</span></td><td>([^<]*)", page
    )
    return {name: f"{state}: {rule}" for name, state, rule in found}


def test_a_simulation_has_the_tools_rules_prompt_and_limits(amys: Client, cast: Cast) -> None:
    switch_tool(cast.acme, TOOL, "on")
    switch_tool(cast.acme, TOOL, "ask", assistant=cast.support)
    found = simulated(amys)
    assert found[TOOL] == "ask: Set to ask first for this assistant."
    assert found["find_orders"] == "off: Off until the tenant switches it on."
    page = amys.get(SIMULATE, {"assistant": "support", "user": "alice"}).content.decode()  # her only tenant
    assert "You are Acme&#x27;s support assistant." in page
    sums = dict(re.findall(r"<dt>([^<]+)</dt><dd>([\d,]+)</dd>", page))
    offered = int(sums["Offered in the first request"])
    assert offered == sum(not line.startswith("off") for line in found.values())
    assert int(sums["Tokens of schemas"]) > 20 * offered
    assert sums["Max rounds"] == str(cast.support.max_rounds)


def test_a_simulation_has_every_limit_of_a_run(amys: Client, cast: Cast) -> None:
    page = amys.get(SIMULATE, {"assistant": "support", "user": "alice"}).content.decode()
    for limit in fields(Limits):
        name = Assistant._meta.get_field(f"max_{limit.name}").verbose_name
        assert f"<dt>{capfirst(name)}</dt>" in page


def test_a_simulation_has_the_prompt_with_the_members_values(amys: Client, cast: Cast) -> None:
    publish_prompt(version=draft_prompt(assistant=cast.support, text="Greet {{ user.name }} of {{ tenant.name }}."))
    page = amys.get(SIMULATE, {"assistant": "support", "user": "alice"}).content.decode()
    assert "Greet &lt;user.name&gt; of Acme." in page and "user.name: alice" in page


def test_a_simulation_stores_nothing(amys: Client, cast: Cast) -> None:
    simulated(amys)
    assert not any(model.objects.exists() for model in (Run, Conversation, ToolCall, Approval, AuditEntry))


def test_a_simulation_by_key_has_the_keys_limits(amys: Client, cast: Cast) -> None:
    key, _ = create_api_key(tenant=cast.acme, user=cast.alice, name="backend", requests_per_minute=7)
    given = {"tenant": "acme", "assistant": "support", "key": str(key.pk)}
    page = amys.get(SIMULATE, given).content.decode()
    assert re.search(r"Requests a minute of the key</dt><dd>7<", page)
    key.revoked_at = timezone.now()
    key.save()
    assert "This key cannot be used" in amys.get(SIMULATE, given).content.decode()


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({"tenant": "globex"}, "There is no such tenant."),
        ({"user": "mallory"}, "There is no active member of this name"),
        ({"assistant": "nothing"}, "There is no such active assistant."),
        ({"key": "99999999999999999999"}, "This key cannot be used"),
    ],
)
def test_a_tenants_admin_simulates_nothing_of_others(
    given: dict[str, str], problem: str, amys: Client, cast: Cast
) -> None:
    page = amys.get(SIMULATE, {"tenant": "acme", "assistant": "support", "user": "alice", **given}).content.decode()
    assert problem in page
    assert "Globex&#x27;s support" not in page


def test_another_tenants_key_is_not_used(amys: Client, cast: Cast) -> None:
    key, _ = create_api_key(tenant=cast.globex, user=cast.mallory, name="theirs")
    page = amys.get(SIMULATE, {"tenant": "acme", "assistant": "support", "key": str(key.pk)}).content.decode()
    assert "This key cannot be used" in page


def test_a_simulation_follows_the_off_switch_for_everyone(root: Client, cast: Cast) -> None:
    ToolBlock.objects.create(tool="calculate", reason="Wrong sums")
    assert simulated(root)["calculate"] == "off: Off in the whole deployment: Wrong sums."


def test_the_page_names_the_parameters_in_words(root: Client, cast: Cast) -> None:
    @tool(enabled_by_default=True)
    def find(status: Literal["open", "paid"], ids: list[int], limit: int = 5, note: str | None = None) -> str:
        """Find.

        Args:
            ids: the numbers of the orders.
        """
        return status

    with catalogue.using(Registry([find])):
        found = root.get(PAGE.replace(TOOL, "find")).context["parameters"]
    assert [(one.name, one.kind, one.is_required, one.default) for one in found] == [
        ("status", "one of open, paid", True, ""),
        ("ids", "list of: whole number", True, ""),
        ("limit", "whole number", False, "5"),
        ("note", "text", False, ""),
    ]
    assert found[1].description == "the numbers of the orders."


@pytest.mark.parametrize(
    "schema",
    [{}, {"properties": []}, {"properties": {"a": 1}, "required": 5}, {"properties": {"a": {"type": ["x", None]}}}],
)
def test_a_schema_of_any_shape_is_shown(schema: dict[str, object]) -> None:
    assert len(parameters_of(schema)) <= 1


def test_a_schema_that_refers_to_itself_ends() -> None:
    schema = {
        "$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}},
        "properties": {"a": {"$ref": "#/$defs/a"}},
    }
    assert parameters_of(schema)[0].kind == "list of: lists"


def test_days_count_calls_and_failures(root: Client, cast: Cast) -> None:
    call(cast, cast.acme, 1, status="ok")
    call(cast, cast.acme, 2, status="error")
    call(cast, cast.globex, 3, status="refused")
    days = root.get(PAGE).context["call_days"]
    assert len(days) == 30
    assert (days[-1].calls, days[-1].failed, days[-1].refused) == (3, 1, 1)
    assert sum(day.calls for day in days[:-1]) == 0


def test_the_last_failures_lead_to_their_calls(root: Client, amys: Client, cast: Cast) -> None:
    call(cast, cast.acme, 1, status="error", error="The shop is closed.")
    call(cast, cast.acme, 2, status="ok")
    call(cast, cast.globex, 3, status="refused", rule="Off for the tenant.")
    page = root.get(PAGE)
    assert [row.status for row, _rule, _error in page.context["failures"]] == ["refused", "error"]
    failed = ToolCall.objects.get(call_id="c1")
    assert f"/admin/assistant/toolcall/{failed.pk}/change/" in page.content.decode()
    assert "The shop is closed." in page.content.decode()
    own = amys.get(PAGE).context["failures"]
    assert [row.pk for row, _rule, _error in own] == [failed.pk]


@pytest.mark.parametrize("reading", ["reason", "off"])
def test_errors_of_conversations_that_are_restricted_are_not_shown(reading: str, root: Client, cast: Cast) -> None:
    run = say_something(cast, tool=TOOL)
    ToolCall.objects.filter(run=run).update(status="error", error="Card 4711 is blocked.")
    assert "4711" in root.get(PAGE).content.decode()
    Tenant.objects.filter(pk=cast.acme.pk).update(chat_reading=reading)
    assert "4711" not in root.get(PAGE).content.decode()


def test_a_role_for_tools_alone_sees_neither_who_waits_nor_what_failed(cast: Cast) -> None:
    run = say_something(cast, tool=TOOL)
    ToolCall.objects.filter(run=run).update(status="error")
    page = holder(cast, "tools").get(PAGE)
    assert list(page.context["failures"]) == []
    assert list(page.context["waiting"]) == []


def test_changes_of_the_tool_are_those_of_the_tenants_shown(root: Client, amys: Client, cast: Cast) -> None:
    actor = cast.root
    for tenant in (cast.acme, cast.globex):
        set_switches(actor=actor, targets=[Target(tenant.pk, None, TOOL)], policy="ask")
    set_switches(actor=actor, targets=[Target(cast.acme.pk, None, "find_orders")], policy="ask")
    found = root.get(PAGE).context["changes"]
    assert {entry.tenant for entry, _title, _change in found} == {cast.acme, cast.globex}
    assert {entry.target for entry, _title, _change in found} == {TOOL}
    assert [entry.tenant for entry, _title, _change in amys.get(PAGE).context["changes"]] == [cast.acme]


def test_the_page_makes_no_more_queries_for_many_failures(root: Client, cast: Cast) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            root.get(PAGE)
        return len(queries)

    call(cast, cast.acme, 1, status="error")
    root.get(PAGE)
    few = count()
    for number in range(2, 12):
        call(cast, cast.globex, number, status="error")
    for _ in range(5):
        make_tenant()
    assert count() == few <= 22
