"""The switchboard: one click sets a switch, and every cell names the rule that decided."""

from __future__ import annotations

import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from assistant.models import AuditEntry, Tenant, ToolSetting
from assistant.services.toolpolicy import catalogue
from assistant.toolkit import Registry, tool
from tests.base import Cast
from tests.contrib.panel.tenants.test_scope import new_assistant
from tests.factories import make_assistant, make_tenant, switch_tool

BOARD = "/admin/assistant/toolsetting/switchboard/"


def click(client: Client, cast: Cast, policy: str, *, assistant: object = "", tool: str = "get_customer") -> int:
    return client.post(f"{BOARD}acme/", {"set": f"{cast.acme.pk}:{assistant}:{tool}:{policy}"}).status_code


def test_one_click_sets_a_switch_and_is_audited(root: Client, cast: Cast) -> None:
    assert click(root, cast, "ask") == 302
    setting = ToolSetting.objects.get(tenant=cast.acme, assistant=None, tool="get_customer")
    assert setting.policy == "ask"
    entry = AuditEntry.objects.get(action="tool.switch")
    assert (entry.actor, entry.tenant, entry.target) == (cast.root, cast.acme, "get_customer")
    assert (entry.details["policy"], entry.details["before"]) == ("ask", "follow")


def test_an_assistants_switch_does_not_change_the_tenants(amys: Client, cast: Cast) -> None:
    click(amys, cast, "off", assistant=cast.support.pk)
    setting = ToolSetting.objects.get()
    assert (setting.tenant, setting.assistant, setting.policy) == (cast.acme, cast.support, "off")


def test_a_switch_can_be_removed(amys: Client, cast: Cast) -> None:
    click(amys, cast, "off")
    click(amys, cast, "follow")
    assert not ToolSetting.objects.exists()


def test_removing_a_switch_keeps_its_settings(amys: Client, cast: Cast) -> None:
    ToolSetting.objects.create(tenant=cast.acme, tool="get_customer", config={"a": 1})
    click(amys, cast, "follow")
    assert ToolSetting.objects.get().config == {"a": 1}


def test_every_cell_names_the_rule_that_decided(amys: Client, cast: Cast) -> None:
    switch_tool(cast.acme, "get_customer", "on")
    switch_tool(cast.acme, "get_customer", "ask", assistant=cast.support)
    page = amys.get(f"{BOARD}acme/").content.decode()
    assert "Switched on for the tenant." in page
    assert "Set to ask first for this assistant." in page
    assert "Off until the tenant switches it on." in page


def test_a_tenants_admin_is_redirected_to_their_own_board(amys: Client, cast: Cast) -> None:
    assert amys.get(BOARD).headers["Location"] == f"{BOARD}acme/"


@pytest.mark.parametrize("method", ["get", "post"])
def test_a_rivals_board_does_not_exist(amys: Client, cast: Cast, method: str) -> None:
    data = {"set": f"{cast.globex.pk}::get_customer:on"}
    assert getattr(amys, method)(f"{BOARD}globex/", data).status_code == 404
    assert getattr(amys, method)(f"{BOARD}nowhere/", data).status_code == 404


@pytest.mark.parametrize("target", ["{globex}::get_customer:on", "{acme}:{rival}:get_customer:on", "x:y", "", "9" * 40])
def test_a_forged_button_changes_nothing(amys: Client, cast: Cast, target: str) -> None:
    forged = target.format(globex=cast.globex.pk, acme=cast.acme.pk, rival=cast.rival_support.pk)
    assert amys.post(f"{BOARD}acme/", {"set": forged}).status_code == 404
    assert not ToolSetting.objects.exists()


@pytest.mark.parametrize("target", ["{acme}::made_up:on", "{acme}::get_customer:maybe"])
def test_a_tool_or_policy_that_does_not_exist_changes_nothing(amys: Client, cast: Cast, target: str) -> None:
    answer = amys.post(f"{BOARD}acme/", {"set": target.format(acme=cast.acme.pk)}, follow=True)
    assert "Nothing was changed" in answer.content.decode()
    assert not ToolSetting.objects.exists()


def test_a_plain_member_has_no_board(cast: Cast) -> None:
    cast.alice.is_staff = True
    cast.alice.save()
    client = Client()
    client.force_login(cast.alice)
    assert client.get(BOARD).status_code == 404
    assert client.post(BOARD, {"set": f"{cast.acme.pk}::get_customer:on"}).status_code == 404


def test_a_click_needs_the_csrf_token(cast: Cast) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(cast.root)
    assert click(client, cast, "on") == 403


def test_the_board_of_all_tenants_can_be_searched(root: Client, cast: Cast) -> None:
    for _ in range(8):
        make_tenant()
    page = root.get(BOARD, {"q": "globex"}).content.decode()
    board = page[page.index("<table") :]  # the header's choice of tenants has all of them
    assert "Globex" in board
    assert "Acme" not in board


def test_the_board_makes_no_more_queries_for_many_assistants(root: Client, cast: Cast) -> None:
    root.get(f"{BOARD}acme/")
    with CaptureQueriesContext(connection) as few:
        root.get(f"{BOARD}acme/")
    for _ in range(5):
        switch_tool(cast.acme, "get_customer", assistant=make_assistant(cast.acme))
    with CaptureQueriesContext(connection) as many:
        root.get(f"{BOARD}acme/")
    assert len(many) == len(few) <= 13


def test_a_switch_of_a_removed_tool_can_only_be_deleted(amys: Client, cast: Cast) -> None:
    old = switch_tool(cast.acme, "gone_tool", "on", assistant=cast.support)
    form = new_assistant(tenant=cast.acme.pk, name="Support", slug="support")
    form["tool_settings-TOTAL_FORMS"] = 1
    form |= {"tool_settings-INITIAL_FORMS": 1, "tool_settings-0-id": old.pk, "tool_settings-0-policy": "off"}
    form |= {"tool_settings-0-assistant": cast.support.pk}
    form |= {"prompt_versions-TOTAL_FORMS": 0, "prompt_versions-INITIAL_FORMS": 0}
    url = f"/admin/assistant/assistant/{cast.support.pk}/change/"
    assert "no such tool any more" in amys.post(url, form).content.decode()
    assert amys.post(url, {**form, "tool_settings-0-DELETE": "on"}).status_code == 302
    assert not ToolSetting.objects.exists()


def test_an_assistants_page_sets_its_switches(amys: Client, cast: Cast) -> None:
    form = new_assistant(tenant=cast.acme.pk, name="Support", slug="support")
    form["tool_settings-TOTAL_FORMS"] = 1
    form |= {"tool_settings-INITIAL_FORMS": 0, "tool_settings-0-tool": "get_customer", "tool_settings-0-policy": "ask"}
    form |= {"prompt_versions-TOTAL_FORMS": 0, "prompt_versions-INITIAL_FORMS": 0}
    assert amys.post(f"/admin/assistant/assistant/{cast.support.pk}/change/", form).status_code == 302
    setting = ToolSetting.objects.get()
    assert (setting.tenant, setting.assistant, setting.policy) == (cast.acme, cast.support, "ask")
    assert AuditEntry.objects.filter(action="tool.switch", actor=cast.amy).exists()


def lines_after_text_from_outside(client: Client) -> dict[str, str]:
    """Return what the board says of each tool of the whole tenant, by its name, if it says something."""
    page = client.get(f"{BOARD}acme/").content.decode()
    rows = re.findall(r'<th scope="row"><code>(\w+)</code>(.*?)</tr>', page, re.DOTALL)
    cells = {name: re.search(r"After text from outside</strong>: ([^<]*)</p>", row) for name, row in rows}
    return {name: found[1] for name, found in cells.items() if found}


def test_a_cell_says_what_becomes_of_the_tool_after_text_from_outside(
    amys: Client, cast: Cast, monkeypatch: pytest.MonkeyPatch
) -> None:
    @tool(enabled_by_default=True, destinations=["to"])
    def send(to: str) -> str:
        """Send."""
        return to

    known = [*catalogue.registry(), send]
    monkeypatch.setattr(catalogue, "registry", lambda: Registry(known))
    for name, policy in (("search_docs", "on"), ("set_alarm", "on"), ("cancel_alarm", "ask"), ("calculate", "off")):
        switch_tool(cast.acme, name, policy)
    said = lines_after_text_from_outside(amys)
    assert said["search_docs"] == "stays on, because it only reads."
    assert said["set_alarm"] == "asks first, and is refused where nobody can be asked."
    assert said["cancel_alarm"] == "asks first, as always."
    assert said["send"] == "asks first, unless a person or trusted text named where it goes."
    assert "calculate" not in said
    Tenant.objects.filter(pk=cast.acme.pk).update(after_untrusted="off")
    said = lines_after_text_from_outside(amys)
    assert (said["set_alarm"], said["cancel_alarm"]) == ("off.", "off.")
    assert said["send"] == "off, unless a person or trusted text named where it goes."
    Tenant.objects.filter(pk=cast.acme.pk).update(after_untrusted="on")
    assert lines_after_text_from_outside(amys)["set_alarm"] == "stays on, because the tenant has no rule."
