"""Asking for a tool by REST: what can be asked for, bounds, and nothing of anybody else's."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from assistant.contrib.tool_requests.models import ToolRequest
from assistant.contrib.tool_requests.services import asking
from assistant.models import AuditEntry, Conversation, Membership, Run, ToolCall
from assistant.services.privacy.leaving import end_memberships
from assistant.services.tenancy.members import find_member
from assistant.services.toolpolicy.blocks import block_tool
from tests.base import Cast
from tests.factories import make_conversation, make_message, make_run, switch_tool

pytestmark = pytest.mark.django_db


def refused(cast: Cast, tool: str = "current_time") -> Conversation:
    """Return a conversation of Alice's in which a call of a tool was refused, which is off."""
    switch_tool(cast.acme, tool, "off")
    conversation = make_conversation(cast.alice, cast.support)
    make_message(conversation, content="What time is it?")
    run = make_run(conversation, status=Run.Status.FINISHED)
    ToolCall.objects.create(
        tenant=cast.acme, run=run, name=tool, call_id="c", arguments="{}", status=ToolCall.Status.REFUSED
    )
    return conversation


def address(conversation: Conversation, tenant: str = "acme") -> str:
    return f"/api/v1/tenants/{tenant}/conversations/{conversation.pk}/tool-requests/"


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def ask(user: Any, conversation: Conversation, **given: str) -> Any:
    return signed_in(user).post(address(conversation), given, content_type="application/json")


def test_a_refused_tool_is_asked_for_with_the_question_that_needed_it(cast: Cast) -> None:
    conversation = refused(cast)
    listed = signed_in(cast.alice).get(address(conversation)).json()
    assert (listed["question"], listed["requests"]) == ("What time is it?", [])
    assert [one["name"] for one in listed["askable"]] == ["current_time"]
    made = ask(cast.alice, conversation, tool="current_time", wish=" To know\nwhen ")
    assert made.status_code == 201 and made.json()["state"] == "open"
    row = ToolRequest.objects.get()
    assert (row.user, row.wish, row.question) == (cast.alice, "To know when", "What time is it?")
    assert ask(cast.alice, conversation, tool="current_time").status_code == 409
    (entry,) = AuditEntry.objects.filter(action="toolrequest.add")
    assert (entry.tenant, entry.target) == (cast.acme, "current_time")
    assert signed_in(cast.alice).delete(f"{address(conversation)}{row.pk}/").status_code == 204
    assert not ToolRequest.objects.exists()


def test_a_tool_that_is_off_with_a_reason_is_askable_and_others_are_not_told(cast: Cast) -> None:
    switch_tool(cast.acme, "current_time")
    switch_tool(cast.acme, "calculate", "off")
    block_tool(actor=None, tool="current_time", reason="The clock runs late")
    conversation = make_conversation(cast.alice, cast.support)
    (one,) = signed_in(cast.alice).get(address(conversation)).json()["askable"]
    assert (one["name"], one["why"]) == ("current_time", "Switched off: The clock runs late.")
    assert ask(cast.alice, conversation, tool="calculate").status_code == 409


def test_a_wish_without_a_name_is_enough_and_nothing_is_not(cast: Cast) -> None:
    conversation = make_conversation(cast.alice, cast.support)
    assert ask(cast.alice, conversation, wish="Send letters").status_code == 201
    for given in ({}, {"wish": "  "}, {"wish": "x" * 501}, {"tool": "x" * 65}):
        assert ask(cast.alice, conversation, **given).status_code == 400
    assert ask(cast.alice, conversation, tool="no_such").status_code == 409


def test_few_requests_of_a_member_wait(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "MAX_OPEN", 2)
    conversation = make_conversation(cast.alice, cast.support)
    codes = [ask(cast.alice, conversation, wish=f"Thing {number}").status_code for number in range(3)]
    assert codes == [201, 201, 409]


@pytest.mark.parametrize("who", ["amy", "mallory", "greta"])
def test_nobody_else_sees_asks_or_takes_back(cast: Cast, who: str) -> None:
    conversation = refused(cast)
    ask(cast.alice, conversation, tool="current_time")
    row = ToolRequest.objects.get()
    other = signed_in(getattr(cast, who))
    for tenant in ("acme", "globex"):
        place = address(conversation, tenant)
        given = {"wish": "Theirs"}
        assert other.get(place).status_code == 404
        assert other.post(place, given, content_type="application/json").status_code == 404
        assert other.delete(f"{place}{row.pk}/").status_code == 404
    assert list(ToolRequest.objects.all()) == [row]
    tenant = "acme" if who == "amy" else "globex"
    member = find_member(user_id=getattr(cast, who).pk, tenant_slug=tenant)
    assert member is not None and asking.told_to(member) == []
    asking.mark_seen(member=member, request_id=row.pk)
    assert not ToolRequest.objects.get().is_seen


def test_the_list_takes_the_same_queries_for_one_and_for_many(cast: Cast) -> None:
    conversation = refused(cast)
    alice = signed_in(cast.alice)
    ask(cast.alice, conversation, tool="current_time")
    with CaptureQueriesContext(connection) as few:
        alice.get(address(conversation))
    for number in range(8):
        ask(cast.alice, conversation, wish=f"Thing {number}")
    with CaptureQueriesContext(connection) as many:
        assert len(alice.get(address(conversation)).json()["requests"]) == 9
    assert len(many) == len(few)


def test_what_waits_goes_with_the_member(cast: Cast) -> None:
    conversation = refused(cast)
    ask(cast.alice, conversation, tool="current_time")
    memberships = Membership.objects.filter(tenant=cast.acme, user=cast.alice)
    end_memberships(actor=None, memberships=memberships)
    assert not ToolRequest.objects.exists()
