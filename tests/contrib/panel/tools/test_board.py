"""The board of tools by tenants: compact cells, filters, changes of many switches, and who is affected first."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from assistant.models import Membership, Tenant, ToolCall, ToolSetting
from assistant.services.toolpolicy.blocks import block_tool
from assistant.services.toolpolicy.switch_changes import Target, set_switches
from tests.base import Cast
from tests.contrib.panel.conftest import say_something, signed_in
from tests.factories import make_tenant, switch_tool

BOARD = "/admin/assistant/toolsetting/switchboard/"
TOOL = "get_customer"


def make_admin_of_both(cast: Cast) -> User:
    Membership.objects.create(tenant=cast.globex, user=cast.amy, role=Membership.Role.ADMIN)
    return cast.amy


def cells(page: str) -> dict[tuple[str, str], str]:
    """Return the classes of each cell of a page, by tenant's name and tool."""
    tools = re.findall(r'<th scope="col" data-tool="(\w+)"', page)
    rows = re.findall(r'<tr data-tenant="\d+"[^>]*>.*?<a [^>]*>([^<]+)</a></div></th>(.*?)</tr>', page, re.DOTALL)
    return {
        (tenant, name): classes
        for tenant, row in rows
        for name, classes in zip(tools, re.findall(r'<td class="([^"]*)"', row), strict=True)
    }


def board(client: Client, **filters: str) -> dict[tuple[str, str], str]:
    return cells(client.get(BOARD, filters).content.decode())


def set_cells(client: Client, cast: Cast, policy: str, *, script: bool = False, **more: str) -> Any:
    names = ",".join(f"{tenant.pk}:{TOOL}" for tenant in (cast.acme, cast.globex))
    headers = {"X-Requested-With": "fetch"} if script else {}
    return client.post(BOARD, {"cells": names, "policy": policy, **more}, headers=headers)


def stored() -> dict[tuple[str, str], str]:
    return {(row.tenant.slug, row.tool): row.policy for row in ToolSetting.objects.select_related("tenant")}


def test_a_cell_says_what_holds_and_whether_it_is_the_tenants_own(root: Client, cast: Cast) -> None:
    switch_tool(cast.acme, TOOL, "ask")
    switch_tool(cast.acme, "calculate", "off")
    found = board(root)
    assert found["Acme", TOOL] == "ask own own-ask"
    assert found["Acme", "calculate"] == "off own own-off"
    assert found["Globex", TOOL] == "off"
    block_tool(actor=None, tool="calculate", reason="Wrong sums")
    assert board(root)["Globex", "calculate"] == "off blocked"


def test_a_cell_says_who_set_it_last(root: Client, cast: Cast) -> None:
    set_cells(root, cast, "on", confirmed="1")
    page = root.get(BOARD).content.decode()
    texts = json.loads(re.search(r'<script id="board-texts"[^>]*>(.*?)</script>', page)[1])  # type: ignore[index]
    assert any(note.startswith("Last set by root, ") for note in texts["notes"])
    assert ["Switched on for the tenant.", "stays on, because it only reads."] in texts["rules"]


@pytest.mark.parametrize(
    ("filters", "tenants", "has_tool"),
    [
        ({"q": "glob"}, {"Globex"}, True),
        ({"tool": "customer"}, {"Acme", "Globex"}, True),
        ({"tool": "weather"}, {"Acme", "Globex"}, False),
        ({"state": "ask"}, {"Acme"}, True),
        ({"state": "own", "tool": "customer"}, {"Acme"}, True),
        ({"changes": "1"}, {"Acme", "Globex"}, False),
        ({"state": "no such"}, {"Acme", "Globex"}, True),
    ],
)
def test_filters(filters: dict[str, str], tenants: set[str], has_tool: bool, root: Client, cast: Cast) -> None:
    switch_tool(cast.acme, TOOL, "ask")
    found = board(root, **filters)
    assert {tenant for tenant, _ in found} == tenants
    assert (TOOL in {tool for _, tool in found}) is has_tool


def test_a_state_is_looked_for_on_all_pages(root: Client, cast: Cast) -> None:
    for number in range(40):
        make_tenant(name=f"A {number:02}")
    last = make_tenant(name="Z last")
    switch_tool(last, TOOL, "ask")
    assert len({tenant for tenant, _ in board(root)}) == 30
    assert {tenant for tenant, _ in board(root, state="ask")} == {"Z last"}


def test_a_change_of_several_tenants_shows_who_is_affected_first(root: Client, cast: Cast) -> None:
    switch_tool(cast.acme, TOOL, "on")
    run = say_something(cast, tool=TOOL)
    status = ToolCall.Status.AWAITING_APPROVAL
    ToolCall.objects.create(tenant=cast.acme, run=run, call_id="c2", name=TOOL, status=status)
    old = ToolCall.objects.create(tenant=cast.acme, run=run, call_id="c3", name=TOOL)
    ToolCall.objects.filter(pk=old.pk).update(started_at=timezone.now() - timedelta(days=8))
    page = set_cells(root, cast, "off").content.decode()
    sums = dict(re.findall(r"<dt>([^<]+)</dt><dd>(\d+)</dd>", page))
    assert sums == {
        "Tenants affected": "1",  # it is off for Globex already
        "Calls in 7 days": "2",
        "Waiting approvals": "1",
        "Conversations of the last 24 hours": "1",
    }
    assert f"{TOOL}: on → off" in page
    assert stored() == {("acme", TOOL): "on"}
    set_cells(root, cast, "off", confirmed="1")
    assert stored() == {("acme", TOOL): "off", ("globex", TOOL): "off"}


def test_a_script_gets_the_cells_of_one_tenant(root: Client, cast: Cast) -> None:
    given = {"cells": f"{cast.acme.pk}:{TOOL}", "policy": "ask"}
    answer = root.post(BOARD, given, headers={"X-Requested-With": "fetch"}).json()
    shown = answer["cells"][TOOL]
    assert (answer["tenant"], shown["class"], shown["texts"][0]) == (
        cast.acme.pk,
        "ask own own-ask",
        "Set to ask first for the tenant.",
    )
    assert answer["undo"]["id"]


def test_rows_and_columns_without_a_script(root: Client, cast: Cast) -> None:
    given = {"row": str(cast.acme.pk), "policy": "ask", "cells": ""}
    root.post(f"{BOARD}?tool=alarm", given)
    assert set(stored()) == {("acme", "set_alarm"), ("acme", "list_alarms"), ("acme", "cancel_alarm")}
    root.post(BOARD, {"column": TOOL, "policy": "on", "cells": "", "confirmed": "1"})
    assert stored()["globex", TOOL] == "on"


def test_undo_takes_the_change_back_and_is_offered_to_who_made_it(root: Client, cast: Cast) -> None:
    set_cells(root, cast, "on", confirmed="1")
    change = re.search(r'name="undo" value="(\w+)"', root.get(BOARD).content.decode())
    assert change is not None
    greta = signed_in(cast.greta)
    assert 'name="undo" value=""' in greta.get(f"{BOARD}globex/").content.decode()
    refused = greta.post(f"{BOARD}globex/", {"undo": change[1]}, follow=True).content.decode()
    assert "There is no change of yours" in refused
    assert stored()["globex", TOOL] == "on"
    root.post(BOARD, {"undo": change[1]})
    assert stored() == {}


def test_an_admin_of_two_tenants_has_a_board_of_these_alone(cast: Cast) -> None:
    client = signed_in(make_admin_of_both(cast))
    make_tenant(name="Initech")
    assert {tenant for tenant, _ in board(client)} == {"Acme", "Globex"}
    set_cells(client, cast, "ask", confirmed="1")
    assert stored() == {("acme", TOOL): "ask", ("globex", TOOL): "ask"}


@pytest.mark.parametrize(
    "target", ["{globex}:get_customer", "{acme}:get_customer,{globex}:get_customer", "0:x", "", ","]
)
def test_a_tenants_admin_sets_no_other_tenants_switches(target: str, amys: Client, cast: Cast) -> None:
    names = target.format(acme=cast.acme.pk, globex=cast.globex.pk)
    assert amys.post(BOARD, {"cells": names, "policy": "on", "confirmed": "1"}).status_code == 404
    assert not ToolSetting.objects.exists()


@pytest.mark.parametrize("given", [{"row": "{globex}"}, {"column": TOOL}])
def test_nor_by_rows_and_columns(given: dict[str, str], amys: Client, cast: Cast) -> None:
    fields = {name: value.format(globex=cast.globex.pk) for name, value in given.items()}
    amys.post(BOARD, {**fields, "policy": "on", "confirmed": "1"})
    assert not ToolSetting.objects.filter(tenant=cast.globex).exists()


def test_the_board_is_for_operators_and_admins(cast: Cast) -> None:
    User.objects.filter(pk__in=[cast.alice.pk, cast.oscar.pk]).update(is_staff=True)
    for user in (cast.alice, cast.oscar):
        client = signed_in(user)
        for path in (BOARD, f"{BOARD}acme/", "/admin/assistant/toolsetting/simulate/"):
            assert client.get(path).status_code == 404
        assert set_cells(client, cast, "on", confirmed="1").status_code == 404
    assert not ToolSetting.objects.exists()


def test_a_change_needs_the_csrf_token(cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.root)
    assert set_cells(client, cast, "on", confirmed="1").status_code == 403


@pytest.mark.parametrize("script", [False, True])
def test_a_policy_that_does_not_exist_changes_nothing(script: bool, root: Client, cast: Cast) -> None:
    answer = set_cells(root, cast, "maybe", script=script)
    assert answer.status_code == (400 if script else 302)
    assert not ToolSetting.objects.exists()


def test_the_tenant_that_is_picked_in_the_header_is_shown(root: Client, cast: Cast) -> None:
    root.post("/admin/pick-tenant/", {"tenant": "globex", "next": BOARD})
    assert root.get(BOARD).headers["Location"] == f"{BOARD}globex/"
    page = root.get(f"{BOARD}acme/").content.decode()
    assert f'name="next" value="{BOARD}"' in page  # another that is picked on this page is shown in its place
    root.post("/admin/pick-tenant/", {"tenant": "", "next": BOARD})
    assert root.get(BOARD).status_code == 200


def test_a_form_that_sets_a_switch_says_who_did_on_the_board(amys: Client, cast: Cast) -> None:
    setting = switch_tool(cast.acme, TOOL, "on")
    url = f"/admin/assistant/toolsetting/{setting.pk}/change/"
    amys.post(url, {"tenant": cast.acme.pk, "tool": TOOL, "policy": "ask", "config": "{}"})
    setting.refresh_from_db()
    assert setting.policy == "ask"
    assert "Last set by amy, " in amys.get(f"{BOARD}acme/").content.decode()


def seen_on(client: Client, path: str = BOARD) -> str:
    (found,) = set(re.findall(r'name="seen" value="(\d+)"', client.get(path).content.decode()))
    return found


def test_of_two_operators_clicks_on_one_cell_the_later_is_told(root: Client, cast: Cast) -> None:
    seen = seen_on(root)
    amy = signed_in(cast.amy)
    cell = {"cells": f"{cast.acme.pk}:{TOOL}", "seen": seen}
    headers = {"X-Requested-With": "fetch"}
    assert amy.post(BOARD, {**cell, "policy": "off"}, headers=headers).json()["overtaken"] == ""
    answer = root.post(BOARD, {**cell, "policy": "on"}, headers=headers).json()
    assert f"it is left as it is: {TOOL}, Acme (Last set by amy, " in answer["overtaken"]
    assert stored() == {("acme", TOOL): "off"} and "off" in answer["cells"][TOOL]["class"]
    again = root.post(BOARD, {**cell, "seen": answer["seen"], "policy": "on"}, headers=headers).json()
    assert (again["overtaken"], stored()) == ("", {("acme", TOOL): "on"})


def test_who_sets_many_is_told_of_those_that_others_have_set(root: Client, cast: Cast) -> None:
    seen = seen_on(root)
    set_switches(actor=cast.oscar, targets=[Target(cast.globex.pk, None, TOOL)], policy="ask")
    asked = set_cells(root, cast, "on", seen=seen).content.decode()
    assert f'name="seen" value="{seen}"' in asked
    set_cells(root, cast, "on", seen=seen, confirmed="1")
    assert stored() == {("acme", TOOL): "on", ("globex", TOOL): "ask"}
    page = root.get(BOARD).content.decode()
    assert f"left as it is: {TOOL}, Globex (Last set by oscar, " in page


@pytest.mark.parametrize("of_assistant", [False, True])
def test_a_tenants_page_tells_the_later_of_two(of_assistant: bool, root: Client, cast: Cast) -> None:
    path = f"{BOARD}acme/"
    seen = seen_on(root, path)
    assistant = str(cast.support.pk) if of_assistant else ""
    switch = f"{cast.acme.pk}:{assistant}:{TOOL}"
    signed_in(cast.amy).post(path, {"set": f"{switch}:off", "seen": seen})
    assert "(Last set by amy, " in root.post(path, {"set": f"{switch}:on", "seen": seen}, follow=True).content.decode()
    assert stored() == {("acme", TOOL): "off"}
    root.post(path, {"set": f"{switch}:on", "seen": seen_on(root, path)})
    assert stored() == {("acme", TOOL): "on"}


def test_own_changes_do_not_overtake_oneself(root: Client, cast: Cast) -> None:
    seen = seen_on(root)
    for policy in ("ask", "off", "on"):
        set_cells(root, cast, policy, seen=seen, confirmed="1")
    assert stored() == {("acme", TOOL): "on", ("globex", TOOL): "on"}


def queries_of(client: Client, path: str, **given: Any) -> int:
    with CaptureQueriesContext(connection) as queries:
        answer = client.post(path, given) if given else client.get(path)
        assert answer.status_code == 200
    return len(queries)


def test_the_board_makes_no_more_queries_for_many_tenants(root: Client, cast: Cast) -> None:
    def counts() -> list[int]:
        names = ",".join(f"{tenant.pk}:{TOOL}" for tenant in Tenant.objects.all())
        return [
            queries_of(root, BOARD),
            queries_of(root, f"{BOARD}?state=on"),
            queries_of(root, BOARD, cells=names, policy="off"),
        ]

    switch_tool(cast.acme, TOOL, "on")
    set_cells(root, cast, "on", confirmed="1")
    few = counts()
    for _ in range(8):
        switch_tool(make_tenant(), TOOL, "ask")
    assert counts() == few
    assert max(few) <= 13
