"""What holds for a run holds for the assistants that it asks."""

from __future__ import annotations

import json
import uuid
from datetime import timedelta

import pytest

from assistant.client import ToolCall
from assistant.contrib.sub_agents.extension import DelegatingToolset
from assistant.models import Conversation, Provider
from assistant.models import ToolCall as StoredCall
from assistant.providers import ScriptedModel
from assistant.services.db.threads import in_database
from assistant.services.runs.opening.plan_builder import plan_of
from assistant.services.tenancy.members import Member
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.blocks import block_tool
from assistant.services.toolpolicy.toolset import TenantToolset
from assistant.testing import ChatTester, answer_with
from assistant.toolkit import Registry, tool
from tests.base import Cast
from tests.contrib.sub_agents.delegation import let_ask
from tests.factories import make_assistant, switch_tool
from tests.services.runs.test_opening import begin
from tests.services.toolpolicy.test_known_destinations import READ, write_to

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("provider")]


@tool
def find_order(customer: str) -> int:
    """Find a customer's last order."""
    return 7


def test_assistants_that_are_asked_run_no_tool_that_is_off_in_the_conversation(cast: Cast) -> None:
    switch_tool(cast.acme, "find_order")
    let_ask(cast.support, make_assistant(cast.acme, "expert"))
    ask = ToolCall("", "ask_expert", '{"task": "?"}')
    find = ToolCall("", "find_order", '{"customer": "Ann"}')
    model = ScriptedModel(["ok", ask, find, "ok", "ok"])
    with (
        catalogue.using(Registry([find_order])),
        answer_with(model),
        ChatTester(cast.acme, cast.alice, "support") as chat,
    ):
        chat.ask("?")
        Conversation.objects.filter(tenant=cast.acme).update(tools_off=["find_order"])
        answer = chat.ask("?")
    assert "Switched off for this conversation." in answer.tool_results


def test_an_assistant_that_is_off_in_the_conversation_is_not_asked(cast: Cast) -> None:
    let_ask(cast.support, make_assistant(cast.acme, "expert"))
    model = ScriptedModel(["ok", ToolCall("", "ask_expert", '{"task": "?"}'), "ok"])
    with answer_with(model), ChatTester(cast.acme, cast.alice, "support") as chat:
        chat.ask("?")
        Conversation.objects.filter(tenant=cast.acme).update(tools_off=["ask_expert"])
        chat.ask("?")
    assert [tool.name for tool in model.requests[0].tools].count("ask_expert") == 1
    assert "ask_expert" not in [tool.name for tool in model.requests[1].tools]
    (call,) = StoredCall.objects.filter(tenant=cast.acme)
    assert (call.status, call.rule) == ("refused", "Switched off for this conversation.")


async def test_a_block_of_the_deployment_applies_to_them(cast: Cast) -> None:
    asked = await in_database(make_assistant, cast.acme)
    its = {"tenant_id": cast.acme.pk, "user_id": cast.alice.pk, "assistant_id": asked.pk}
    await in_database(switch_tool, cast.acme, "find_order")
    with catalogue.using(Registry([find_order])):
        helper = DelegatingToolset(TenantToolset(**its), **its)
        assert [one.name for one in await helper.offered()] == ["find_order"]
        await in_database(block_tool, actor=None, tool="find_order", reason="Leaks", lasts=timedelta(1))
        (admission,) = await helper.admit([ToolCall("1", "find_order", "{}")])
        assert admission.policy == "off"
        assert not await helper.offered()


async def test_tools_are_asked_for_known_destinations_with_the_runs_own_context(
    cast: Cast, alice_member: Member, provider: Provider
) -> None:
    def plan() -> object:
        let_ask(cast.support, make_assistant(cast.acme, "helper"))
        switch_tool(cast.acme, "write_to")
        opened = begin(alice_member, uuid.uuid4())
        assert opened.setup is not None
        return plan_of(key=opened.key, setup=opened.setup, member=alice_member).toolset

    with catalogue.using(Registry([write_to])):
        toolset = await in_database(plan)
        calls = [ToolCall(name, "write_to", json.dumps({"to": name})) for name in (cast.alice.username, "mallory")]
        assert [one.policy for one in await toolset.admit(calls, READ)] == ["on", "ask"]  # type: ignore[attr-defined]
