"""Who may use a tool is told why operators have switched it off and until when: the model, the card, MCP, the trace."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from asgiref.sync import sync_to_async as in_db
from django.test import Client as Browser
from django.utils import timezone

from assistant.contrib.tool_notices.off_switches import blocks_for
from assistant.core.values.switched_off import MAX_NOT_CALLED, SwitchedOff, note_of_tools_off
from assistant.models import Provider, ToolBlock, ToolCall, ToolSetting
from assistant.services.tenancy.members import create_api_key
from assistant.services.toolpolicy.blocks import block_tool, unblock_tool
from assistant.services.toolpolicy.policy import effective_tools
from assistant.services.toolpolicy.switch_changes import set_switch
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_answers import reply
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.mcp.talking import Client as McpClient
from tests.mcp.talking import text_of
from tests.websocket.test_websocket import until
from tests.ws import Socket, open_socket, run_input

pytestmark = pytest.mark.django_db(transaction=True)
REASON = "The clock <b>runs</b> late"


def off(**end: Any) -> str:
    """Switch the clock off for everyone; return until when, as it is told."""
    ends_at = block_tool(actor=None, tool="current_time", reason=REASON, **end).until
    return "" if ends_at is None else f"{ends_at:%Y-%m-%dT%H:%M:%SZ}"


def off_for(cast: Cast, whose: str, **end: Any) -> None:
    """Switch the clock off for Acme, or for its assistant, with the reason."""
    assistant = cast.support if whose == "assistant" else None
    set_switch(
        actor=None, tenant=cast.acme, assistant=assistant, tool="current_time", policy="on", reason=REASON, **end
    )


async def call_while(act: Callable[[], str], server: Server, cast: Cast, fake: FakeProvider) -> tuple[Socket, str, str]:
    """Let Alice's model call the clock, and `act` before it runs. Return the connection, what `act` did, the thread."""
    await in_db(switch_tool)(cast.acme, "current_time")
    gate = fake.gate()
    fake.queue(reply(chunks=[gate, "Let me look."], calls=[("current_time", {})]))
    fake.reply("I cannot tell.")
    async with open_socket(server.url, user=cast.alice) as socket:
        started = await socket.start("What time is it?")
        await until(lambda: fake.requests)
        done = await in_db(act)()
        gate.release()
        await socket.until_end()
        return socket, done, started["threadId"]


async def test_the_model_and_the_card_of_a_refused_call_are_told(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    socket, ends_at, _ = await call_while(lambda: off(lasts=timedelta(hours=2)), uvicorn_server, cast, fake_provider)
    told = f"Switched off until {ends_at}: {REASON}."
    assert told in fake_provider.requests[-1].json["messages"][-1]["content"]
    (finished,) = (one["value"] for one in socket.frames if one.get("name") == "tool.finished")
    assert (finished["status"], finished["display"]) == ("refused", told)
    assert (await ToolCall.objects.aget()).display == told


@pytest.mark.parametrize("whose", ["tenant", "assistant"])
async def test_a_tenants_and_an_assistants_reason_are_told_alike(
    whose: str, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    end = timezone.now().replace(microsecond=0) + timedelta(hours=2)

    def act() -> str:
        off_for(cast, whose, until=end)
        return f"{end:%Y-%m-%dT%H:%M:%SZ}"

    socket, ends_at, thread = await call_while(act, uvicorn_server, cast, fake_provider)
    told = f"Switched off until {ends_at}: {REASON}."
    assert told in fake_provider.requests[-1].json["messages"][-1]["content"]
    (finished,) = (one["value"] for one in socket.frames if one.get("name") == "tool.finished")
    assert (finished["status"], finished["display"]) == ("refused", told)
    name = {"tenant": "the tenant", "assistant": "this assistant"}[whose]
    call = await ToolCall.objects.aget()
    assert call.rule == f"Switched off for {name} until {end:%Y-%m-%d %H:%M} UTC: {REASON}."
    fake_provider.reply("It is off.")
    async with open_socket(uvicorn_server.url, user=cast.alice) as again:
        await again.ask("And now?", thread=thread)
    told_before = [one["content"] for one in fake_provider.requests[-1].json["messages"] if one["role"] == "system"]
    assert f"- current_time: {told}" in told_before[-1]


@pytest.mark.parametrize("whose", ["tenant", "assistant"])
async def test_open_chats_are_told_of_a_tenants_and_an_assistants_reason(
    whose: str, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    _, _, thread = await call_while(lambda: "", uvicorn_server, cast, fake_provider)
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await socket.attach(thread, render="html")
        await socket.until_type("MESSAGES_SNAPSHOT")
        await in_db(off_for)(cast, whose)
        (told,) = (await socket.until_custom("thread.tools"))["value"]["off"]
        assert (told["name"], told["reason"], told["until"]) == ("current_time", REASON, None)
        assistant = cast.support if whose == "assistant" else None
        on = {"tool": "current_time", "policy": "on"}
        await in_db(set_switch)(actor=None, tenant=cast.acme, assistant=assistant, **on)
        assert (await socket.until_custom("thread.tools"))["value"] == {"off": []}


def test_a_reason_that_has_ended_leaves_the_policy(cast: Cast) -> None:
    off_for(cast, "tenant", until=timezone.now() + timedelta(hours=1))
    assert rule_of(cast).startswith("Switched off for the tenant until")
    ToolSetting.objects.update(until=timezone.now() - timedelta(seconds=1))
    assert rule_of(cast) == "Switched on for the tenant."


def test_a_reason_of_one_tenant_or_assistant_is_not_another_ones(cast: Cast) -> None:
    switch_tool(cast.globex, "current_time", "on")
    off_for(cast, "tenant")
    assert "current_time" not in blocks_for(tenant_id=cast.globex.pk, assistant_id=None)
    found = effective_tools(tenant_id=cast.globex.pk, user_id=cast.mallory.pk, assistant_id=None)
    assert next(entry.policy for entry in found if entry.tool.name == "current_time") == "on"


def rule_of(cast: Cast) -> str:
    found = effective_tools(tenant_id=cast.acme.pk, user_id=cast.alice.pk, assistant_id=cast.support.pk)
    return next(entry.rule for entry in found if entry.tool.name == "current_time")


async def test_the_model_is_told_of_a_tool_that_it_called_earlier(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    _, _, thread = await call_while(lambda: "", uvicorn_server, cast, fake_provider)
    await in_db(off)()
    fake_provider.reply("It is off.")
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await socket.ask("And now?", thread=thread)
    told = [one["content"] for one in fake_provider.requests[-1].json["messages"] if one["role"] == "system"]
    assert f"- current_time: Switched off: {REASON}." in told[-1]


async def test_the_model_and_the_chat_are_told_of_a_tool_that_could_be_used_and_was_not(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "current_time")
    await in_db(off)()
    fake_provider.reply("It is off.")
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        frames = await socket.ask("What time is it?")
        await socket.attach(frames[0]["threadId"], render="html")
        (told,) = (await socket.until_custom("thread.tools"))["value"]["off"]
    assert (told["name"], told["reason"], told["isCalled"]) == ("current_time", REASON, False)
    (note,) = [one["content"] for one in fake_provider.requests[-1].json["messages"] if "Switched" in one["content"]]
    assert note.endswith(f"otherwise could be:\n- current_time: Switched off: {REASON}.")


def test_the_model_is_told_of_few_tools_that_were_not_called() -> None:
    off = {f"tool_{number}": SwitchedOff("Broken") for number in range(2 * MAX_NOT_CALLED)}
    note = note_of_tools_off(off, [f"tool_{len(off) - 1}", "others"])
    assert note.count("Switched off: Broken.") == MAX_NOT_CALLED + 1
    assert note.index(f"tool_{len(off) - 1}") < note.index("tool_0:")
    assert note_of_tools_off({}, ["a"]) == ""


def test_who_could_not_use_a_tool_anyway_is_not_told(cast: Cast) -> None:
    switch_tool(cast.acme, "current_time", "on")
    switch_tool(cast.globex, "current_time", "off")
    off()

    def told(tenant_id: int, user_id: int) -> SwitchedOff | None:
        found = effective_tools(tenant_id=tenant_id, user_id=user_id, assistant_id=None)
        return next(entry.switched_off for entry in found if entry.tool.name == "current_time")

    assert told(cast.acme.pk, cast.alice.pk) == SwitchedOff(REASON)
    assert told(cast.globex.pk, cast.mallory.pk) is None


def test_a_reason_has_no_characters_that_hide_or_turn_text(cast: Cast) -> None:
    block_tool(actor=None, tool="current_time", reason="It\u202e is\x00 \x1b[31m late\u200b")
    assert ToolBlock.objects.get().reason == "It is [31m late"


async def test_open_chats_that_called_the_tool_are_told_when_it_goes_off_and_comes_back(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    _, _, thread = await call_while(lambda: "", uvicorn_server, cast, fake_provider)
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await socket.attach(thread, render="html")
        await socket.until_type("MESSAGES_SNAPSHOT")
        ends_at = await in_db(off)(lasts=timedelta(hours=2))
        (told,) = (await socket.until_custom("thread.tools"))["value"]["off"]
        assert (told["name"], told["reason"], told["until"]) == ("current_time", REASON, ends_at)
        await in_db(unblock_tool)(actor=None, tool="current_time")
        assert (await socket.until_custom("thread.tools"))["value"] == {"off": []}


async def test_a_chat_that_could_not_use_it_anyway_hears_nothing_of_it(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "current_time", "off")
    await in_db(off)()
    fake_provider.reply("Hello")
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        frames = await socket.ask("Hi")
        await socket.attach(frames[0]["threadId"], render="html")
        assert (await socket.until_custom("thread.tools"))["value"] == {"off": []}


def test_a_caller_over_mcp_gets_the_reason_as_error(uvicorn_server: Server, cast: Cast) -> None:
    switch_tool(cast.acme, "current_time")
    ends_at = off(lasts=timedelta(hours=1))
    alice = McpClient(uvicorn_server.url, create_api_key(tenant=cast.acme, user=cast.alice, name="k")[1])
    result = alice.call("current_time", {})
    assert result["isError"] is True
    assert text_of(result) == f"Switched off until {ends_at}: {REASON}."


async def test_a_run_over_rest_has_the_reason_in_its_result(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "current_time")
    await in_db(off)()
    fake_provider.queue(reply(calls=[("current_time", {})]))
    fake_provider.reply("I cannot tell.")
    _, key = await in_db(create_api_key)(tenant=cast.acme, user=cast.alice, name="k")
    url = f"{uvicorn_server.url}/api/v1/tenants/acme/assistants/support/runs/"
    async with httpx2.AsyncClient() as client:
        sent = {"headers": {"Authorization": f"Bearer {key}"}, "json": run_input("What time is it?"), "timeout": 30}
        answer = await client.post(url, **sent)
    assert f"Switched off: {REASON}." in answer.text


def page_of(cast: Cast, address: str) -> str:
    browser = Browser()
    browser.force_login(cast.root)
    return browser.get(address).content.decode()


async def test_the_trace_shows_the_rule_beside_refused(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await call_while(off, uvicorn_server, cast, fake_provider)
    run = await in_db(lambda: ToolCall.objects.get().run)()
    page = await in_db(page_of)(cast, f"/admin/assistant/run/{run.pk}/change/")
    rule = "Off in the whole deployment: The clock &lt;b&gt;runs&lt;/b&gt; late."
    assert f"Refused: {rule}" in page
    assert f"Refused later in this run: {rule}" in page
    assert "<b>runs</b>" not in page
