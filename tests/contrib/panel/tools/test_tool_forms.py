"""The admin form of a tool's declared settings and secrets, and how a run receives them."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from django.test import Client
from django.utils import timezone
from pydantic import BaseModel, Field

from assistant.contrib.panel.admin.tools.declared_settings import fields_of
from assistant.models import AuditEntry, Provider, ToolSetting
from assistant.toolkit import ToolContext, tool
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server, serve
from tests.websocket.test_websocket import in_db
from tests.ws import open_socket, session_cookie

SETTINGS = "/admin/assistant/toolsetting/"
FORM = {"policy": "on", "config_currency": '"USD"', "config_most": "50", "config_is_careful": "false"}
FORM |= {"config_greeting": "", "config_payees": '["Ada"]', "config_rate": "0.5", "secret_bank_key": "sk-canary-1"}


def test_each_setting_has_a_field_of_its_type(amys: Client, cast: Cast) -> None:
    setting = switch_tool(cast.acme, "get_weather")
    address = f"{SETTINGS}{setting.pk}/change/"
    page = amys.get(address).content.decode()
    assert '<select name="config_units"' in page and "Of temperatures, wind and rain. Empty: metric." in page
    assert 'name="config"' not in page and 'name="new_secrets"' not in page
    form = {"tenant": cast.acme.pk, "assistant": "", "tool": "get_weather", "policy": "on"}
    assert amys.post(address, {**form, "config_units": '"imperial"'}).status_code == 302
    setting.refresh_from_db()
    assert setting.config == {"units": "imperial"}
    assert '<option value="&quot;imperial&quot;" selected>' in amys.get(address).content.decode()
    for wrong in ('"parsecs"', "no json"):
        assert amys.post(address, {**form, "config_units": wrong}).status_code == 200
    assert amys.post(address, {**form, "config_units": ""}).status_code == 302
    setting.refresh_from_db()
    assert setting.config == {}


def test_a_new_setting_begins_with_the_tool_and_has_its_own_form(amys: Client, cast: Cast) -> None:
    choice = amys.get(f"{SETTINGS}add/?tenant={cast.acme.pk}").content.decode()
    assert f'href="?tool=get_weather&amp;tenant={cast.acme.pk}"' in choice and "<form" not in choice.partition("<h1")[2]
    address = f"{SETTINGS}add/?tool=get_weather"
    page = amys.get(address).content.decode()
    assert '<select name="config_units"' in page and "Of temperatures, wind and rain. Empty: metric." in page
    assert 'name="config"' not in page and 'name="new_secrets"' not in page and 'name="clear_secrets"' not in page
    form = {"tenant": cast.acme.pk, "assistant": "", "policy": "ask", "tool": "current_time"}
    wrong = amys.post(address, {**form, "config_units": '"parsecs"'})
    assert wrong.status_code == 200 and "Select a valid choice" in wrong.content.decode()
    assert amys.post(address, {**form, "config_units": '"imperial"'}).status_code == 302
    stored = ToolSetting.objects.get()
    assert (stored.tool, stored.policy, stored.config) == ("get_weather", "ask", {"units": "imperial"})
    assert amys.post(address, form).status_code == 200 and ToolSetting.objects.count() == 1


def test_a_reason_switches_off_until_its_end_and_stands_on_the_board(amys: Client, cast: Cast) -> None:
    address = f"{SETTINGS}add/?tool=current_time&tenant={cast.acme.pk}"
    board = amys.get(f"{SETTINGS}switchboard/acme/").content.decode()
    assert "Off with a reason" in board
    form = {
        "tenant": cast.acme.pk,
        "assistant": "",
        "policy": "on",
        "tool": "current_time",
        "reason": "It\u202e is late",
    }
    past = amys.post(address, {**form, "until_0": "2020-01-01", "until_1": "10:00"})
    assert past.status_code == 200 and "the end must be in the future" in past.content.decode()
    end = timezone.now() + timedelta(days=2)
    assert amys.post(address, {**form, "until_0": f"{end:%Y-%m-%d}", "until_1": "10:00"}).status_code == 302
    stored = ToolSetting.objects.get()
    assert (stored.policy, stored.reason) == ("on", "It is late") and stored.until is not None
    board = amys.get(f"{SETTINGS}switchboard/acme/").content.decode()
    assert f"Switched off for the tenant until {end:%Y-%m-%d} 10:00 UTC: It is late." in board
    assert AuditEntry.objects.get(action="tool.switch").details["reason"] == "It is late"
    change = f"{SETTINGS}{stored.pk}/change/"
    assert (
        amys.post(
            change, {**form, "config": "{}", "reason": "", "until_0": f"{end:%Y-%m-%d}", "until_1": "10:00"}
        ).status_code
        == 302
    )
    stored.refresh_from_db()
    assert (stored.reason, stored.until) == ("", None)


def test_an_end_without_a_reason_is_refused_and_a_reason_shows_as_off(amys: Client, cast: Cast) -> None:
    setting = switch_tool(cast.acme, "current_time", "on")
    change = f"{SETTINGS}{setting.pk}/change/"
    form = {"tenant": cast.acme.pk, "assistant": "", "policy": "on", "tool": "current_time", "config": "{}"}
    end = timezone.now() + timedelta(days=2)
    until = {"until_0": f"{end:%Y-%m-%d}", "until_1": "10:00"}
    asked = amys.post(change, {**form, "reason": "", **until})
    assert asked.status_code == 200 and "An end needs a reason" in asked.content.decode()
    saved = amys.post(change, {**form, "reason": "It is late", **until}, follow=True).content.decode()
    assert "current_time: Off</a>” was changed" in saved
    assert '<td class="field-off_because">It is late</td>' in saved
    ToolSetting.objects.update(until=timezone.now() - timedelta(minutes=1))
    listed = amys.get(SETTINGS).content.decode()
    assert "It is late" not in listed and str(ToolSetting.objects.get()) == "current_time: On"


def test_the_board_sees_that_a_form_has_set_an_assistants_switch(root: Client, amys: Client, cast: Cast) -> None:
    setting = switch_tool(cast.acme, "current_time", "on", assistant=cast.support)
    board = f"{SETTINGS}switchboard/acme/"
    (seen,) = set(re.findall(r'name="seen" value="(\d+)"', root.get(board).content.decode()))
    form = {"tenant": cast.acme.pk, "assistant": cast.support.pk, "tool": "current_time", "config": "{}"}
    assert amys.post(f"{SETTINGS}{setting.pk}/change/", {**form, "policy": "off"}).status_code == 302
    sent = {"set": f"{cast.acme.pk}:{cast.support.pk}:current_time:ask", "seen": seen}
    assert "(Last set by amy, " in root.post(board, sent, follow=True).content.decode()
    assert ToolSetting.objects.get().policy == "off"
    root.post(board, {**sent, "set": f"{cast.acme.pk}::current_time:off"})
    assert ToolSetting.objects.filter(assistant=None, policy="off").exists()


def switches_recorded() -> list[tuple[str, str, str]]:
    entries = AuditEntry.objects.filter(action="tool.switch").order_by("pk")
    return [(entry.target, entry.details["before"], entry.details["policy"]) for entry in entries]


def test_a_deleted_setting_is_a_change_of_its_switch(amys: Client, cast: Cast) -> None:
    off = switch_tool(cast.acme, "get_weather", policy="off")
    switch_tool(cast.acme, "get_weather", policy="on", assistant=cast.acme.assistants.get())
    amys.post(f"{SETTINGS}{off.pk}/delete/", {"post": "yes"})
    assert switches_recorded() == [("get_weather", "off", "follow")]
    rows = [str(pk) for pk in ToolSetting.objects.values_list("pk", flat=True)]
    amys.post(SETTINGS, {"action": "delete_selected", "_selected_action": rows, "post": "yes"})
    slug = cast.acme.assistants.get().slug
    assert switches_recorded()[1:] == [(f"{slug}: get_weather", "on", "follow")]
    assert not ToolSetting.objects.exists()
    board = amys.get(f"{SETTINGS}switchboard/acme/").content.decode()
    assert "amy" in board


def test_a_switch_that_is_deleted_on_its_assistants_page_is_recorded(amys: Client, cast: Cast) -> None:
    assistant = cast.acme.assistants.get()
    row = switch_tool(cast.acme, "get_weather", policy="off", assistant=assistant)
    address = f"/admin/assistant/assistant/{assistant.pk}/change/"
    context: Any = amys.get(address).context
    form = context["adminform"].form
    fields = {form.add_prefix(name): form[name].value() for name in form.fields}
    for inline in context["inline_admin_formsets"]:
        forms = [inline.formset.management_form, *inline.formset.forms]
        fields |= {one.add_prefix(name): one[name].value() for one in forms for name in one.fields}
        (switch,) = [one for one in inline.formset.forms if one.instance == row] or [None]
        fields |= {switch.add_prefix("DELETE"): "on"} if switch else {}
    amys.post(address, {name: value for name, value in fields.items() if value is not None})
    assert not ToolSetting.objects.exists()
    assert switches_recorded() == [(f"{assistant.slug}: get_weather", "off", "follow")]


def test_a_new_setting_of_a_tool_without_settings_is_a_switch(amys: Client, cast: Cast) -> None:
    address = f"{SETTINGS}add/?tool=current_time"
    page = amys.get(address).content.decode()
    assert 'name="config' not in page and "secret" not in page.partition("<h1")[2]
    assert amys.post(address, {"tenant": cast.acme.pk, "assistant": "", "policy": "on"}).status_code == 302
    assert ToolSetting.objects.get().tool == "current_time"


@pytest.mark.parametrize("query", ["", "?tool=no_such_tool", "?tool=%00"])
def test_an_unknown_tool_has_no_add_form(amys: Client, cast: Cast, query: str) -> None:
    for answer in (amys.get(f"{SETTINGS}add/{query}"), amys.post(f"{SETTINGS}add/{query}", {"policy": "on"})):
        assert answer.status_code == 200 and "Choose the tool" in answer.content.decode()
    assert not ToolSetting.objects.exists()


async def _send(server: Server, user: Any, pk: int, form: dict[str, str]) -> httpx2.Response:
    cookie, token = await in_db(session_cookie)(user), "t" * 32
    headers = {"Cookie": f"{cookie}; csrftoken={token}", "Origin": server.url}
    async with httpx2.AsyncClient(base_url=server.url, timeout=30) as client:
        if not form:
            return await client.get(f"{SETTINGS}{pk}/change/", headers=headers)
        return await client.post(
            f"{SETTINGS}{pk}/change/", data={**form, "csrfmiddlewaretoken": token}, headers=headers
        )


@pytest.mark.django_db(transaction=True)
async def test_a_run_has_the_settings_and_secrets_that_the_form_gave(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    setting = await in_db(switch_tool)(cast.acme, "pay_out")
    with serve(env={"DJANGO_SETTINGS_MODULE": "tests.settings_slow_tool"}) as server:
        assert (await _send(server, cast.amy, setting.pk, FORM)).status_code == 302
        wrong = await _send(server, cast.amy, setting.pk, {**FORM, "config_most": "5000", "config_payees": "Ada"})
        assert (
            wrong.status_code == 200 and "less than or equal to 1000" in wrong.text and "This is not JSON" in wrong.text
        )
        page = (await _send(server, cast.amy, setting.pk, {})).text
        assert "sk-canary-1" not in page and page.count("A secret, which is stored. Empty: it is kept.") == 1
        more = {**FORM, "secret_bank_key": "", "secret_pin": "sk-canary-2"}
        assert (await _send(server, cast.amy, setting.pk, more)).status_code == 302
        fake_provider.call("pay_out", {})
        fake_provider.reply("Paid.")
        async with open_socket(server.url, user=cast.alice) as socket:
            frames = await socket.ask("Pay")
    (result,) = [frame["content"] for frame in frames if frame["type"] == "TOOL_CALL_RESULT"]
    config, _, secrets = result.rpartition(" [")
    assert json.loads(config) == {
        "currency": "USD",
        "most": 50,
        "is_careful": False,
        "greeting": "Hello",
        "payees": ["Ada"],
        "rate": 0.5,
    }
    assert secrets == "'bank_key', 'pin']"
    stored = await ToolSetting.objects.aget()
    assert json.loads(stored.secrets) == {"bank_key": "sk-canary-1", "pin": "sk-canary-2"}
    assert "sk-canary" not in str([row async for row in AuditEntry.objects.values()])
    assert "sk-canary" not in str(fake_provider.requests[-1].json)


def test_a_setting_that_is_empty_by_default_has_no_empty_help(cast: Cast) -> None:
    class Config(BaseModel):
        footer: str = Field("", description="Below every letter.")
        payees: list[str] = []

    @tool(config=Config)
    def write_letter(context: ToolContext) -> str:
        """Write a letter."""
        return "Done."

    texts = [field.help_text for field in fields_of(write_letter, ToolSetting(tool="write_letter")).values()]
    assert texts == ["Below every letter.", ""]
