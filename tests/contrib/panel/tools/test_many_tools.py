"""A tenant with hundreds of tools: groups, search, changes of many switches, and at most 100 rows."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from assistant.contrib.mcp_servers.models import McpServer, McpTool
from assistant.mcp_client import ToolDefinition
from assistant.models import Tenant, ToolSetting
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import Registry
from tests.base import Cast
from tests.factories import make_tenant, switch_tool

BOARD = "/admin/assistant/toolsetting/switchboard/"
MANY = 500


@pytest.fixture
def many(cast: Cast) -> None:
    give_many(cast.acme)


def give_many(tenant: Tenant, count: int = MANY) -> None:
    server = McpServer.objects.create(
        tenant=tenant, name="crm", prefix="crm", url="https://crm.example.com/mcp", is_active=True
    )
    made = [ToolDefinition(f"person_{number:03}", description=f"Person {number}.") for number in range(count)]
    McpTool.objects.bulk_create(
        McpTool(
            server=server,
            name=one.name,
            definition=one.to_state(),
            digest=one.digest,
            accepted=one.to_state(),
            accepted_digest=one.digest,
            is_allowed=True,
            needs_approval=False,
        )
        for one in made
    )


def rows(client: Client, path: str = f"{BOARD}acme/", **query: object) -> list[str]:
    page = client.get(path, query).content.decode()
    return re.findall(r'<th scope="row"><code>(\w+)</code>', page)


def test_at_most_100_tools_are_drawn(amys: Client, cast: Cast, many: None) -> None:
    first = amys.get(f"{BOARD}acme/")
    assert len(rows(amys)) == 100
    every = first.context["all"]
    assert every > MANY
    assert f"{every} of {every} tools" in first.content.decode()
    last = rows(amys, page=first.context["page"].paginator.num_pages)
    assert last[-1] == f"crm__person_{MANY - 1}"
    assert len(first.content) < 700_000
    assert len(rows(amys, f"/admin/assistant/tenant/{cast.acme.pk}/tools/")) == 100
    assert len(rows(amys, f"/admin/assistant/assistant/{cast.support.pk}/tools/")) == 100


def test_tools_are_in_groups_by_server_and_app(amys: Client, cast: Cast, many: None) -> None:
    page = amys.get(f"{BOARD}acme/")
    groups = {name: count for name, count, _shown in page.context["groups"]}
    assert groups["crm"] == MANY
    assert groups["Shop"] == 5
    assert groups["Alarms and schedules"] > 1
    assert set(rows(amys, group="Shop")) == {
        "find_customers", "get_customer", "update_customer", "find_orders", "get_order"
    }  # fmt: skip


def test_they_are_found_by_words_and_by_state(amys: Client, cast: Cast, many: None) -> None:
    assert rows(amys, q="person 42.") == ["crm__person_042"]
    switch_tool(cast.acme, "crm__person_007", "ask")
    assert rows(amys, state="ask", group="crm") == ["crm__person_007"]
    assert "No tool is like that." in amys.get(f"{BOARD}acme/", {"q": "nowhere"}).content.decode()


def test_many_switches_are_set_at_once_and_taken_back(amys: Client, cast: Cast, many: None) -> None:
    answer = amys.post(f"{BOARD}acme/?group=crm", {"tool": ["crm__person_001", "crm__person_002"], "policy": "off"})
    assert answer.status_code == 302
    off = ToolSetting.objects.filter(tenant=cast.acme, policy="off")
    assert set(off.values_list("tool", flat=True)) == {"crm__person_001", "crm__person_002"}
    change = amys.get(f"{BOARD}acme/").context["undo"]["id"]
    amys.post(f"{BOARD}acme/", {"undo": change})
    assert not ToolSetting.objects.exists()


def test_all_that_are_found_are_set_on_all_pages(amys: Client, cast: Cast, many: None) -> None:
    amys.post(f"{BOARD}acme/?group=crm", {"all": "1", "policy": "ask"})
    assert set(ToolSetting.objects.values_list("tenant", "policy")) == {(cast.acme.pk, "ask")}
    assert ToolSetting.objects.count() == MANY


def test_nothing_is_set_if_nothing_is_ticked(amys: Client, cast: Cast) -> None:
    answer = amys.post(f"{BOARD}acme/", {"tool": ["made_up"], "policy": "off"}, follow=True)
    assert "tick the tools first" in answer.content.decode()
    assert not ToolSetting.objects.exists()


def test_a_rivals_tools_are_not_set(amys: Client, cast: Cast) -> None:
    assert amys.post(f"{BOARD}globex/", {"all": "1", "policy": "off"}).status_code == 404
    assert not ToolSetting.objects.exists()


def test_the_page_makes_no_more_queries_for_many_tools(amys: Client, cast: Cast) -> None:
    def count() -> int:
        with CaptureQueriesContext(connection) as queries:
            amys.get(f"{BOARD}acme/")
        return len(queries)

    give_many(cast.acme, 1)
    amys.get(f"{BOARD}acme/")
    few = count()
    McpServer.objects.all().delete()
    give_many(cast.acme)
    assert count() == few <= 16


def test_the_deployments_board_folds_a_tenants_many_tools(root: Client, cast: Cast, many: None) -> None:
    page = root.get(BOARD).content.decode()
    assert len(re.findall(r'data-tool="crm__', page)) == 12
    assert f"{MANY - 12} more tools of external servers are folded" in page
    assert "?source=outside" in page
    assert len(re.findall(r'data-tool="crm__', root.get(BOARD, {"source": "outside"}).content.decode())) == 40


@pytest.fixture
def one_app(cast: Cast) -> Iterator[None]:
    with catalogue.using(Registry([tool for tool in catalogue.registry() if tool.name == "get_customer"])):
        yield


def test_without_groups_nothing_is_chosen_among_them(root: Client, one_app: None) -> None:
    tenant = make_tenant()
    assert root.get(f"{BOARD}{tenant.slug}/").context["groups"] == []
