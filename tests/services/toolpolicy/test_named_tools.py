"""A switch of a conversation or a run that names what is no tool is refused, and tells nothing about hidden tools."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.contrib.auth.models import Permission

from assistant.contrib.mcp_servers.models import McpServer, McpTool
from assistant.models import Conversation
from assistant.providers import ScriptedModel
from assistant.services.conversations.tool_switch import switch_tools
from assistant.services.tenancy.members import Member, find_member
from assistant.services.tenancy.scopes import OF_TOKENS
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.named_tools import UnknownTools, check_tool_names
from assistant.testing import ChatTester, answer_with
from assistant.toolkit import Registry, ToolContext, tool
from tests.api.calling import Caller
from tests.base import Cast
from tests.contrib.sub_agents.delegation import let_ask
from tests.factories import make_assistant

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("provider")]


@tool(enabled_by_default=True)
def supply(part: str) -> str:
    """Supply a part."""
    return part


@tool
def find_payroll(name: str) -> str:
    """Find a salary."""
    return name


@tool(permission="auth.view_user", enabled_by_default=True)
def find_user(name: str) -> str:
    """Find a user."""
    return name


@tool(enabled_by_default=True, available=lambda context: False)
def secret_sauce(context: ToolContext) -> str:
    """Make the sauce."""
    return "sauce"


@pytest.fixture(autouse=True)
def _catalogue() -> Iterator[None]:
    with catalogue.using(Registry([supply, find_payroll, find_user, secret_sauce])):
        yield


def member_of(cast: Cast, *, is_visitor: bool = False) -> Member:
    member = find_member(user_id=cast.alice.pk, tenant_slug=cast.acme.slug)
    assert member is not None
    return replace(member, scopes=OF_TOKENS) if is_visitor else member


def refusal(cast: Cast, *names: str, is_visitor: bool = False) -> str:
    """What the member reads; "" if all names may stand there."""
    member = member_of(cast, is_visitor=is_visitor)
    try:
        check_tool_names("tools_off", names, member=member, assistant=cast.support)
    except UnknownTools as exc:
        return str(exc)
    return ""


def test_a_misspelt_tool_leads_to_the_likely_one(cast: Cast) -> None:
    sentence = "tools_off has 'suply' (is 'supply' meant?), which is no tool here. Tools: supply."
    assert refusal(cast, "suply") == refusal(cast, "suply", is_visitor=True) == sentence


def test_a_name_like_none_leads_to_the_valid_ones(cast: Cast) -> None:
    assert (
        refusal(cast, "delete_all", "x") == "tools_off has 'delete_all', 'x', which are no tools here. Tools: supply."
    )


def test_tools_that_are_off_for_the_member_may_be_named(cast: Cast) -> None:
    assert refusal(cast, "supply", "find_payroll", "find_user", "secret_sauce", "search_tools") == ""


def test_who_may_not_list_all_tools_learns_nothing_of_those_that_are_hidden(cast: Cast) -> None:
    for hidden, absent in (("find_payroll", "find_payrolls"), ("find_user", "find_users")):
        told = {refusal(cast, name, is_visitor=True) for name in (hidden, absent)}
        assert told == {""}
    assert refusal(cast, "secret_sauc", is_visitor=True) == ""
    assert "secret" not in refusal(cast, "secret_sauc").partition("which")[2]
    assert "meant" not in refusal(cast, "secret_sauc")


def test_tools_of_a_server_that_is_away_may_be_named_and_those_of_another_tenant_may_not(cast: Cast) -> None:
    for tenant, prefix in ((cast.acme, "crm"), (cast.globex, "erp")):
        server = McpServer.objects.create(tenant=tenant, name=prefix, prefix=prefix, url="https://a.example/mcp")
        McpTool.objects.create(server=server, name="look", definition={}, digest="1")
    McpServer.objects.update(is_active=False)
    assert refusal(cast, "crm__look") == ""
    absent = refusal(cast, "erp__loot").replace("loot", "look")
    assert refusal(cast, "erp__look") == absent != ""


def test_assistants_may_be_named_where_they_are_asked(cast: Cast) -> None:
    let_ask(cast.support, make_assistant(cast.acme, "expert"))
    make_assistant(cast.globex, "stranger")
    assert refusal(cast, "ask_expert") == refusal(cast, "ask_expert", is_visitor=True) == ""
    assert "is 'ask_expert' meant?" in refusal(cast, "ask_expart")
    assert "Tools: ask_expert, supply." in refusal(cast, "ask_stranger")


def test_a_conversation_refuses_it_whole(cast: Cast) -> None:
    calls = Caller(cast.acme, cast.alice)
    made = calls("post", "conversations/", {"assistant": "support"}).json()
    given = calls("patch", f"conversations/{made['id']}/", {"title": "New", "tools_off": ["supply", "suply"]})
    assert (given.status_code, given.json()["code"]) == (409, "conflict")
    assert "is 'supply' meant?" in given.json()["message"] and "tools_off" in given.json()["fields"]
    stored = Conversation.objects.get(pk=made["id"])
    assert (stored.title, stored.tools_off) == (made["title"], [])


def test_what_is_off_already_stays_off_when_its_tool_has_gone(cast: Cast) -> None:
    conversation = Conversation.objects.create(
        tenant=cast.acme, user=cast.alice, assistant=cast.support, tools_off=["gone"]
    )
    assert switch_tools(member=member_of(cast), conversation_id=conversation.pk, off=["gone", "supply"])


def test_a_run_that_allows_what_is_no_tool_is_narrower_and_not_refused(cast: Cast) -> None:
    model = ScriptedModel(["ok", "Title"])
    with answer_with(model), ChatTester(cast.acme, cast.alice, "support") as chat:
        chat.ask("?", forwardedProps={"allowedTools": ["supply", "suply", "gone_since"]})
    assert [one.name for one in model.requests[0].tools] == ["supply"]


def test_a_run_may_allow_the_clients_own_tools_and_those_that_are_off(cast: Cast) -> None:
    own = {"name": "open_page", "description": "Open a page.", "parameters": {"type": "object"}}
    names = {"allowedTools": ["open_page", "find_payroll", "supply"]}
    model = ScriptedModel(["ok", "Title"])
    with answer_with(model), ChatTester(cast.acme, cast.alice, "support") as chat:
        chat.ask("?", forwardedProps=names, tools=[own])
    assert {one.name for one in model.requests[0].tools} == {"open_page", "supply"}


def test_the_permission_shows_the_tool(cast: Cast) -> None:
    cast.alice.user_permissions.add(Permission.objects.get(codename="view_user"))
    assert "is 'find_user' meant?" in refusal(cast, "find_usr", is_visitor=True)
