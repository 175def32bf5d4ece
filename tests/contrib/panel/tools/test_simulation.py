"""*Simulate* shows what a run is given: the first request of a run has the same prompt, model and tools."""

from __future__ import annotations

import pytest
from channels.db import database_sync_to_async

from assistant.contrib.panel.services.prompt_tests.simulation import Simulation, simulate
from assistant.models import PromptVariable, Provider
from assistant.services.assistants.prompts import draft_prompt, publish_prompt
from assistant.services.tenancy.members import find_member
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.blocks import block_tool
from assistant.toolkit import Registry, ToolContext, tool
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.ws import open_socket

pytestmark = [pytest.mark.django_db(transaction=True)]


@pytest.fixture
def server(uvicorn_server: Server) -> Server:
    return uvicorn_server


@database_sync_to_async
def configure(cast: Cast) -> None:
    PromptVariable.objects.create(tenant=cast.acme, name="hours", value="nine to five")
    text = "You work for {{ tenant.name }}, open {{ hours }}. Greet {{ user.name }}."
    publish_prompt(version=draft_prompt(assistant=cast.support, text=text))
    switch_tool(cast.acme, "get_customer")
    switch_tool(cast.acme, "find_orders")
    switch_tool(cast.acme, "find_orders", "off", assistant=cast.support)
    switch_tool(cast.acme, "set_alarm", "ask")
    switch_tool(cast.acme, "list_alarms")
    block_tool(actor=None, tool="list_alarms", reason="It is mended")


@database_sync_to_async
def simulated(cast: Cast) -> Simulation:
    member = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None
    found = simulate(member=member, assistant_slug="support")
    assert found is not None
    return found


async def test_a_run_is_given_what_was_simulated(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await configure(cast)
    shown = await simulated(cast)
    async with open_socket(server.url, user=cast.alice) as socket:
        await socket.ask("Hi")
    request = fake_provider.requests[0].json
    offered = [one["function"] for one in request["tools"]]
    assert [one["name"] for one in offered] == [tool.name for tool in shown.offered]
    assert {"get_customer", "set_alarm"} <= {one["name"] for one in offered}
    assert not {"find_orders", "list_alarms"} & {one["name"] for one in offered}
    assert [one["description"] for one in offered] == [tool.description for tool in shown.offered]
    system = request["messages"][0]
    told = "\n\nTools that cannot be called now, and otherwise could be:\n- list_alarms: Switched off: It is mended."
    assert (system["role"], system["content"]) == ("system", shown.setup.system_prompt + told)
    assert "nine to five" in system["content"] and "alice" in system["content"]
    assert request["model"] == "test-model"


def test_each_condition_is_asked_once(cast: Cast, provider: Provider) -> None:
    asked: list[str] = []

    def is_open(context: ToolContext) -> bool:
        asked.append("is_open")
        return True

    def opening(context: ToolContext) -> str:
        asked.append("opening")
        return f"Open the vault of {context.tenant.slug}."

    @tool(read_only=True, available=is_open, describe=opening)
    def open_vault() -> str:
        """Open the vault."""
        return "open"

    switch_tool(cast.acme, "open_vault")
    with catalogue.using(Registry([open_vault])):
        member = find_member(user_id=cast.alice.pk, tenant_slug="acme")
        assert member is not None
        shown = simulate(member=member, assistant_slug="support")
    assert shown is not None and asked == ["is_open", "opening"]
    assert [one.description for one in shown.offered] == ["Open the vault of acme."]
    assert shown.conditions["open_vault"].offered == shown.offered[0]
