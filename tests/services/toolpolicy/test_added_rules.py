"""An optional app can stop all tools with an effect, and have a person asked about single calls."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from assistant.core.toolcalls.protocols import Admission
from assistant.core.values.messages import Message, ToolCall
from assistant.core.values.untrusted import ReadText
from assistant.services.toolpolicy import added_rules, catalogue
from assistant.services.toolpolicy.added_rules import AskedCall
from assistant.services.toolpolicy.policy import effective_tools
from assistant.services.toolpolicy.toolset import TenantToolset
from assistant.toolkit import Registry, Tool, tool
from tests.base import Cast

pytestmark = pytest.mark.django_db(transaction=True)


@tool(enabled_by_default=True)
def pay(amount: int) -> str:
    """Pay."""
    return "paid"


@tool(enabled_by_default=True, read_only=True)
def look(what: str = "") -> str:
    """Look."""
    return "seen"


SEARCH = Tool.provider_side(name="search", description="Search.", parameters={"type": "object", "properties": {}})


@pytest.fixture(autouse=True)
def tools() -> Iterator[None]:
    search = SEARCH.replace(enabled_by_default=True)
    with catalogue.using(Registry([pay, look, search])):
        yield
    added_rules.read_only_reasons.clear()
    added_rules.questions.clear()


def policies(cast: Cast) -> dict[str, str]:
    found = effective_tools(tenant_id=cast.acme.pk, user_id=cast.alice.pk, assistant_id=None)
    return {entry.tool.name: entry.policy for entry in found}


async def admit(cast: Cast, name: str, **arguments: object) -> Admission:
    toolset = TenantToolset(tenant_id=cast.acme.pk, user_id=cast.alice.pk, assistant_id=None)
    call = ToolCall("c", name, json.dumps(arguments))
    (admission,) = await toolset.admit([call], ReadText.of([Message("user", "Pay 7")]))
    return admission


def test_while_there_is_a_reason_only_tools_that_read_run(cast: Cast) -> None:
    reasons = [""]
    added_rules.read_only_if(lambda: reasons[0])
    assert policies(cast)["pay"] == "on"
    reasons[0] = "nobody has looked yet"
    assert policies(cast) == {"pay": "off", "look": "on", "search": "on"}


def test_a_look_at_tools_that_read_asks_for_no_reason(cast: Cast) -> None:
    asked: list[str] = []
    added_rules.read_only_if(lambda: asked.append("") or "nobody has looked yet")
    who = {"tenant_id": cast.acme.pk, "user_id": cast.alice.pk, "assistant_id": None}
    (found,) = effective_tools(**who, names=["look"])
    assert (found.tool.name, found.policy, asked) == ("look", "on", [])
    (found,) = effective_tools(**who, names=["pay"])
    assert (found.tool.name, found.policy, asked) == ("pay", "off", [""])


async def test_who_calls_is_told_the_reason(cast: Cast) -> None:
    added_rules.read_only_if(lambda: "nobody has looked yet")
    admission = await admit(cast, "pay", amount=7)
    assert admission.policy == "off" and "nobody has looked yet" in admission.rule
    assert admission.switched_off is not None and "nobody has looked yet" in admission.switched_off.for_people


def about_seven(asked: AskedCall) -> str:
    is_told = any("7" in message.content for message in asked.messages)
    return "It is 7." if is_told and ("7" in asked.call.arguments or asked.tool.is_provider_side) else ""


async def test_a_person_is_asked_about_a_call_for_which_there_is_a_reason(cast: Cast) -> None:
    added_rules.ask_if(about_seven)
    admission = await admit(cast, "pay", amount=7)
    assert (admission.policy, admission.rule, admission.warning) == ("ask", "It is 7.", "It is 7.")
    assert (await admit(cast, "pay", amount=8)).policy == "on"


async def test_what_the_provider_runs_is_off_since_nobody_can_be_asked(cast: Cast) -> None:
    added_rules.ask_if(about_seven)
    assert (await admit(cast, "search")).policy == "off"
