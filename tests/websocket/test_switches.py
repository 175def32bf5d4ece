"""Which tools a tenant's run offers: by tenant, assistant, user, conversation and call."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import Permission

from assistant.admin.base.changes import sentence_of_entry
from assistant.client import ToolCall
from assistant.models import Assistant, AuditEntry, Conversation, Tenant
from assistant.models import ToolCall as StoredCall
from assistant.providers import ScriptedModel
from assistant.services.toolpolicy import catalogue
from assistant.testing import ChatTester, answer_with
from assistant.toolkit import Registry, tool
from tests.api.calling import Caller
from tests.base import Cast
from tests.factories import make_assistant, switch_tool

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("provider")]


@tool
def find_order(customer: str) -> int:
    """Find a customer's last order."""
    return 7


@tool(permission="auth.view_user")
def find_user(name: str) -> str:
    """Find a user."""
    return name


@pytest.fixture(autouse=True)
def _catalogue() -> Iterator[None]:
    with catalogue.using(Registry([find_order, find_user])):
        yield


def offered(tenant: Tenant, user: Any, assistant: Assistant, *calls: dict[str, Any]) -> list[list[str]]:
    """The names of the tools that the model gets, in each call of one conversation."""
    model = ScriptedModel(["ok", "Title", *["ok"] * len(calls)])
    with answer_with(model), ChatTester(tenant, user, assistant.slug) as chat:
        for props in calls or ({},):
            chat.ask("?", forwardedProps=props)
    # Titles are made without tools, and by a prompt of their own.
    asked = [request for request in model.requests if request.messages[-1].content == "?"]
    return [[tool.name for tool in request.tools] for request in asked]


def test_the_switch_of_a_tenant(cast: Cast) -> None:
    switch_tool(cast.acme, "find_order")
    assert offered(cast.acme, cast.alice, cast.support) == [["find_order"]]
    assert offered(cast.globex, cast.mallory, cast.rival_support) == [[]]


def test_the_switch_of_an_assistant(cast: Cast) -> None:
    expert = make_assistant(cast.acme, "expert")
    switch_tool(cast.acme, "find_order")
    switch_tool(cast.acme, "find_order", "off", assistant=cast.support)
    assert offered(cast.acme, cast.alice, cast.support) == [[]]
    assert offered(cast.acme, cast.alice, expert) == [["find_order"]]


def test_the_switch_of_a_user(cast: Cast) -> None:
    switch_tool(cast.acme, "find_user")
    cast.amy.user_permissions.add(Permission.objects.get(codename="view_user"))
    assert offered(cast.acme, cast.alice, cast.support) == [[]]
    assert offered(cast.acme, cast.amy, cast.support) == [["find_user"]]


def test_the_switch_of_a_call(cast: Cast) -> None:
    switch_tool(cast.acme, "find_order")
    calls: list[dict[str, Any]] = [{}, {"allowedTools": []}, {}]
    assert offered(cast.acme, cast.alice, cast.support, *calls) == [["find_order"], [], ["find_order"]]


def switch_off(cast: Cast, *names: str) -> None:
    thread = Conversation.objects.get(tenant=cast.acme).pk
    given = Caller(cast.acme, cast.alice)("patch", f"conversations/{thread}/", {"tools_off": list(names)})
    assert (given.status_code, given.json()["tools_off"]) == (200, sorted(names))


def test_the_switch_of_a_conversation(cast: Cast) -> None:
    switch_tool(cast.acme, "find_order")
    model = ScriptedModel(["ok"] * 4)
    with answer_with(model), ChatTester(cast.acme, cast.alice, "support") as chat:
        chat.ask("?")
        switch_off(cast, "find_order")
        chat.ask("?")
        switch_off(cast, "*")
        chat.ask("?")
        switch_off(cast)
        chat.ask("?")
    assert [len(request.tools) for request in model.requests] == [1, 0, 0, 1]


def test_a_call_of_a_tool_that_is_off_in_the_conversation_is_refused(cast: Cast) -> None:
    switch_tool(cast.acme, "find_order")
    model = ScriptedModel(["ok", ToolCall("", "find_order", '{"customer": "Ann"}'), "ok"])
    with answer_with(model), ChatTester(cast.acme, cast.alice, "support") as chat:
        chat.ask("?")
        switch_off(cast, "find_order")
        chat.ask("?")
    (call,) = StoredCall.objects.filter(tenant=cast.acme)
    assert (call.status, call.rule) == ("refused", "Switched off for this conversation.")


@pytest.mark.parametrize("names", ["find_order", ["no spaces here"], ["x" * 65], ["a"] * 201])
def test_what_are_no_names_of_tools_is_refused(cast: Cast, names: object) -> None:
    made = Caller(cast.acme, cast.alice)("post", "conversations/", {"assistant": "support"}).json()
    assert (
        Caller(cast.acme, cast.alice)("patch", f"conversations/{made['id']}/", {"tools_off": names}).status_code == 400
    )


def test_nobody_switches_the_tools_of_anothers_conversation(cast: Cast) -> None:
    made = Caller(cast.acme, cast.alice)("post", "conversations/", {"assistant": "support"}).json()
    address = f"conversations/{made['id']}/"
    for user, tenant in ((cast.amy, cast.acme), (cast.mallory, cast.globex)):
        assert Caller(tenant, user)("patch", address, {"tools_off": ["*"]}).status_code == 404
    assert Conversation.objects.get(pk=made["id"]).tools_off == []
    assert not AuditEntry.objects.filter(action="conversation.tools").exists()


def test_the_audit_names_who_has_switched_which_tools_of_a_conversation(cast: Cast) -> None:
    for tenant, user, slug in ((cast.acme, cast.alice, "support"), (cast.globex, cast.mallory, "support")):
        calls = Caller(tenant, user)
        made = calls("post", "conversations/", {"assistant": slug}).json()
        for names in (["find_user", "find_order"], ["find_order", "find_user"], ["*"], []):
            assert calls("patch", f"conversations/{made['id']}/", {"tools_off": names}).status_code == 200
        entries = AuditEntry.objects.filter(tenant=tenant, action="conversation.tools").order_by("pk")
        assert [(entry.actor, entry.target) for entry in entries] == [(user, f"conversation {made['id']}")] * 3
        assert [sentence_of_entry(entry) for entry in entries] == [
            "tools off: — → find_order, find_user",
            "tools off: find_order, find_user → *",
            "tools off: * → —",
        ]
