"""Tools of external servers on the board, and their pages."""

from __future__ import annotations

import pytest
from django.test import Client

from assistant.contrib.mcp_servers.models import McpServer, McpTool
from assistant.contrib.panel.services import tool_board as board_module
from assistant.mcp_client import ToolDefinition
from assistant.models import Tenant, ToolBlock, ToolCall, ToolSetting
from assistant.services.toolpolicy.blocks import block_tool
from assistant.services.toolpolicy.outside_tools import most_common
from assistant.services.toolpolicy.switch_changes import Target, set_switches
from tests.base import Cast
from tests.contrib.panel.conftest import signed_in
from tests.contrib.panel.tenants.test_custom_roles import holder
from tests.contrib.panel.tools.test_board import BOARD, board, queries_of, stored
from tests.contrib.panel.tools.test_tool_page import rows
from tests.factories import make_tenant

NAME = "crm__find_person"
PAGE = f"/admin/assistant/toolsetting/tool/{NAME}/"


def allow(
    tenant: Tenant, name: str = "find_person", *, description: str = "Find a person.", is_allowed: bool = True
) -> McpTool:
    """Give a tenant an active server `crm` that offers a tool."""
    server, _ = McpServer.objects.get_or_create(
        tenant=tenant, name="crm", defaults={"prefix": "crm", "url": "https://crm.example.com/mcp", "is_active": True}
    )
    definition = ToolDefinition(name, description=description, is_read_only=name.startswith("find"))
    return McpTool.objects.create(
        server=server,
        name=name,
        definition=definition.to_state(),
        digest=definition.digest,
        accepted=definition.to_state() if is_allowed else None,
        accepted_digest=definition.digest if is_allowed else "",
        is_allowed=is_allowed,
        needs_approval=False,
    )


def test_a_server_s_tools_have_cells_for_the_tenants_that_have_it(root: Client, cast: Cast) -> None:
    allow(cast.acme)
    found = board(root)
    assert (found["Acme", NAME], found["Globex", NAME]) == ("on", "none")
    allow(cast.globex, is_allowed=False)
    assert board(root)["Globex", NAME] == "off"
    assert "Not allowed on the page of the server crm." in root.get(BOARD).content.decode()


@pytest.mark.parametrize(
    ("filters", "names"),
    [
        ({"source": "outside"}, {NAME, "crm__delete_person"}),
        ({"source": "own", "tool": "person"}, set()),
        ({"tool": "crm__find"}, {NAME}),
        ({"tool": "Remove"}, {"crm__delete_person"}),
        ({"source": "outside", "changes": "1"}, {"crm__delete_person"}),
        ({"source": "outside", "asks": "1"}, set()),
        ({"source": "outside", "state": "on"}, {NAME, "crm__delete_person"}),
    ],
)
def test_filters_find_outside_tools(filters: dict[str, str], names: set[str], root: Client, cast: Cast) -> None:
    allow(cast.acme)
    allow(cast.acme, "delete_person", description="Remove a person.")
    assert {tool for _, tool in board(root, **filters)} == names


def test_a_column_is_set_for_the_tenants_that_have_the_tool(root: Client, cast: Cast) -> None:
    allow(cast.acme)
    root.post(BOARD, {"column": NAME, "policy": "off", "cells": "", "confirmed": "1"})
    assert stored() == {("acme", NAME): "off"}
    answer = root.post(BOARD, {"cells": f"{cast.globex.pk}:{NAME}", "policy": "on"}, follow=True)
    assert f"this deployment has no tool &#x27;{NAME}&#x27;" in answer.content.decode()
    given = {"cells": f"{cast.acme.pk}:{NAME}", "policy": "ask"}
    cell = root.post(BOARD, given, headers={"X-Requested-With": "fetch"}).json()["cells"][NAME]
    assert cell["class"] == "ask own own-ask"


def test_an_outside_tool_has_a_page(root: Client, cast: Cast) -> None:
    allow(cast.acme)
    allow(cast.globex, is_allowed=False, description="Find anybody.")
    McpServer.objects.filter(tenant=cast.acme).update(context_keys=["tenant_slug"])
    for number, status in enumerate(("ok", "error")):
        values = {"tenant": cast.acme, "user": cast.alice, "name": NAME, "status": status, "duration_ms": 30}
        ToolCall.objects.create(call_id=f"c{number}", **values)
    found = rows(root, PAGE)
    assert "1 (50 %)" in " ".join(found["Acme"]) and "30 ms" in " ".join(found["Acme"])
    page = root.get(PAGE).content.decode()
    assert "<dd>at 1 of 2</dd>" in page and "<dd>crm</dd>" in page and "tenant_slug" in page
    assert "The servers describe it differently" in page


def test_an_outside_tool_is_switched_off_for_everyone_on_its_page(root: Client, cast: Cast) -> None:
    allow(cast.acme)
    assert (
        "Off in the whole deployment"
        in root.post(PAGE, {"do": "block", "reason": "Leaks"}, follow=True).content.decode()
    )
    assert ToolBlock.objects.get().tool == NAME
    assert board(root)["Acme", NAME] == "off blocked"
    root.post(PAGE, {"do": "set", "policy": "ask", "confirmed": "1"})
    assert stored() == {("acme", NAME): "ask"}


def test_a_block_of_one_outside_tool_is_not_shown_at_another(root: Client, cast: Cast) -> None:
    for tenant in (cast.acme, cast.globex):
        allow(tenant)
        allow(tenant, "find_order")
    block_tool(actor=None, tool=NAME, reason="Leaks")
    found = board(root)
    for name in ("Acme", "Globex"):
        assert (found[name, NAME], found[name, "crm__find_order"]) == ("off blocked", "on")


def test_a_tenants_admin_sees_no_outside_tool_of_others(amys: Client, cast: Cast) -> None:
    allow(cast.acme, "find_customer")
    allow(cast.globex)
    assert amys.get(PAGE).status_code == 404
    assert amys.post(PAGE, {"do": "set", "policy": "on", "confirmed": "1"}).status_code == 404
    assert amys.get(PAGE.replace("find_person", "find_customer")).status_code == 200
    assert signed_in(cast.greta).get(PAGE).status_code == 200
    assert not ToolSetting.objects.exists()


def test_tools_of_most_tenants_come_first_and_others_are_counted(
    root: Client, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(board_module, "MAX_OUTSIDE", 1)
    allow(cast.acme, "a_tool")
    for tenant in (cast.acme, cast.globex):
        allow(tenant)
    page = root.get(BOARD).content.decode()
    assert f'data-tool="{NAME}"' in page and 'data-tool="crm__a_tool"' not in page
    assert "1 more tool of external servers is folded" in page
    assert f'data-tool="{NAME}"' not in root.get(BOARD, {"tool": "crm__a"}).content.decode()


def test_a_name_that_is_too_long_for_models_is_shortened_as_in_a_run(root: Client, cast: Cast) -> None:
    allow(cast.acme, "find_" + "x" * 90)
    (tool,) = most_common(tenants=[cast.acme.pk], limit=5).tools
    assert len(tool.name) == 64
    assert root.get(PAGE.replace(NAME, tool.name)).status_code == 200
    set_switches(actor=None, targets=[Target(cast.acme.pk, None, tool.name)], policy="off")


def test_the_pages_make_no_more_queries_for_many_servers(root: Client, cast: Cast) -> None:
    def counts() -> list[int]:
        names = ",".join(
            f"{pk}:{NAME}" for pk in Tenant.objects.filter(mcp_servers__name="crm").values_list("pk", flat=True)
        )
        return [
            queries_of(root, BOARD),
            queries_of(root, f"{BOARD}?state=on"),
            queries_of(root, PAGE),
            queries_of(root, BOARD, cells=names, policy="off"),
        ]

    for tenant in (cast.acme, cast.globex):
        allow(tenant)
    few = counts()
    for _ in range(6):
        tenant = make_tenant()
        for number in range(3):
            allow(tenant, f"find_{number}")
        allow(tenant)
    assert counts() == few
    assert max(few) <= 23


def hits(client: Client, text: str) -> list[tuple[str, str, str]]:
    page = client.get("/admin/search/", {"q": text})
    return [(hit.name, hit.belongs_to, url) for _title, found, _more in page.context["found"] for hit, url in found]


def test_the_search_leads_to_the_page_of_an_external_tool(root: Client, amys: Client, cast: Cast) -> None:
    allow(cast.acme)
    assert hits(amys, "find_person") == [(NAME, "Acme", PAGE)]
    assert amys.get(PAGE).status_code == 200
    allow(cast.globex)
    assert hits(root, "crm__find") == [(NAME, "2 tenants", PAGE)]
    McpServer.objects.update(is_active=False)
    ((_, _, url),) = hits(root, NAME)
    assert url.startswith("/admin/assistant/toolcall/")


def test_who_may_switch_tools_finds_them_without_reading_chats(cast: Cast) -> None:
    allow(cast.acme)
    keeper = holder(cast, "tools")
    assert hits(keeper, "find_person") == [(NAME, "Acme", PAGE)]
    assert keeper.get(PAGE).status_code == 200
    assert hits(holder(cast, "spend"), "find_person") == []


def test_tools_of_one_name_are_decided_each_by_its_own_server(root: Client, cast: Cast) -> None:
    allow(cast.acme)
    asking = allow(cast.globex)
    asking.needs_approval = True
    asking.save(update_fields=["needs_approval"])
    assert (board(root)["Acme", NAME], board(root)["Globex", NAME]) == ("on", "ask")
    assert {tenant for tenant, _ in board(root, state="ask", source="outside")} == {"Globex"}
