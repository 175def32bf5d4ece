"""Answering a request for a tool: the switches in the way, who may, and that the member's open chats hear it."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from asgiref.sync import sync_to_async as in_db
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from assistant.contrib.tool_requests.models import ToolRequest
from assistant.contrib.tool_requests.services.asking import ask_for_tool
from assistant.models import AuditEntry, ToolSetting
from assistant.services.tenancy.members import find_member
from assistant.services.toolpolicy.blocks import block_tool
from assistant.services.toolpolicy.policy import effective_tools
from tests.base import Cast
from tests.contrib.tool_requests.test_asking import refused
from tests.factories import make_conversation, switch_tool
from tests.live import Server
from tests.ws import open_socket, session_cookie

pytestmark = pytest.mark.django_db
LIST = "/admin/assistant_tool_requests/toolrequest/"


def requested(cast: Cast, tool: str = "current_time") -> ToolRequest:
    conversation = refused(cast, tool)
    member = find_member(user_id=cast.alice.pk, tenant_slug="acme")
    assert member is not None
    return ask_for_tool(member=member, conversation=conversation, tool=tool, wish="To know when")


def signed_in(user: Any) -> Client:
    client = Client()
    client.force_login(user)
    return client


def page_of(row: ToolRequest) -> str:
    return f"{LIST}{row.pk}/change/"


def policy(cast: Cast) -> str:
    tools = effective_tools(tenant_id=cast.acme.pk, user_id=cast.alice.pk, assistant_id=cast.support.pk)
    return next(entry.policy for entry in tools if entry.tool.name == "current_time")


async def answer_over_http(server: Server, user: User, row: ToolRequest, **given: str) -> None:
    """Answer on the page of the server's own process, which tells its connections."""
    token = "t" * 32
    headers = {"Cookie": f"{await in_db(session_cookie)(user)}; csrftoken={token}", "Referer": server.url}
    async with httpx2.AsyncClient(base_url=server.url, timeout=30) as client:
        sent = await client.post(page_of(row), data={**given, "csrfmiddlewaretoken": token}, headers=headers)
    assert sent.status_code == 302


def test_the_list_home_and_the_page_have_the_question_and_the_switches(cast: Cast) -> None:
    row = requested(cast)
    amy = signed_in(cast.amy)
    assert "What time is it?" in amy.get(LIST).content.decode()
    assert "1 member asks for a tool" in amy.get("/admin/").content.decode()
    page = amy.get(page_of(row)).content.decode()
    assert "What time is it?" in page and "To know when" in page and "Switched off for the tenant" in page
    assert page.count('<th scope="row">') == 1


@pytest.mark.parametrize("wanted", ["on", "ask"])
def test_a_yes_sets_the_switches_that_are_in_the_way(cast: Cast, wanted: str) -> None:
    row = requested(cast)
    switch_tool(cast.acme, "current_time", "off", assistant=cast.support)
    answer = signed_in(cast.amy).post(page_of(row), {"do": wanted, "answer": "From today on"}, follow=True)
    assert "alice reads it in the conversation" in answer.content.decode()
    assert policy(cast) == wanted
    row.refresh_from_db()
    assert (row.state, row.answer, row.answered_by) == ("granted", "From today on", cast.amy)
    actions = AuditEntry.objects.filter(tenant=cast.acme).values_list("action", flat=True)
    assert {"tool.switch", "toolrequest.approve"} <= set(actions)


def test_a_no_and_a_yes_without_a_switch_need_words_and_change_none(cast: Cast) -> None:
    row = requested(cast)
    amy = signed_in(cast.amy)
    assert "Say something" in amy.post(page_of(row), {"do": "no"}).content.decode()
    amy.post(page_of(row), {"do": "no", "answer": "Ask Ben"})
    row.refresh_from_db()
    assert (row.state, row.answer, policy(cast)) == ("declined", "Ask Ben", "off")
    assert "Ask Ben" in amy.get(page_of(row)).content.decode()


def test_where_another_rule_keeps_it_off_nothing_is_changed(cast: Cast) -> None:
    row = requested(cast)
    block_tool(actor=None, tool="current_time", reason="The clock runs late")
    page = signed_in(cast.amy).post(page_of(row), {"do": "on"}).content.decode()
    assert "Nothing was changed" in page and "The clock runs late" in page
    row.refresh_from_db()
    assert row.state == "open"
    assert ToolSetting.objects.get(tenant=cast.acme, tool="current_time").policy == "off"


def test_the_second_answer_is_refused(cast: Cast) -> None:
    row = requested(cast)
    signed_in(cast.amy).post(page_of(row), {"do": "no", "answer": "Ask Ben"})
    page = signed_in(cast.root).post(page_of(row), {"do": "on"}).content.decode()
    assert "answered this request meanwhile" in page and policy(cast) == "off"


@pytest.mark.parametrize("who", ["alice", "mallory", "greta"])
def test_nobody_else_sees_or_answers(cast: Cast, who: str) -> None:
    row = requested(cast)
    other = signed_in(getattr(cast, who))
    assert "What time is it?" not in other.get(LIST, follow=True).content.decode()
    assert other.post(page_of(row), {"do": "on"}).status_code in (302, 403, 404)
    row.refresh_from_db()
    assert row.state == "open" and policy(cast) == "off"


def test_the_list_takes_the_same_queries_for_one_and_for_many(cast: Cast) -> None:
    row = requested(cast)
    amy = signed_in(cast.amy)
    amy.get(LIST)
    with CaptureQueriesContext(connection) as few:
        amy.get(LIST)
    for number in range(8):
        conversation = make_conversation(cast.alice, cast.support)
        values = {"tenant": cast.acme, "user": cast.alice, "wish": f"Thing {number}"}
        ToolRequest.objects.create(conversation=conversation, **values)
    with CaptureQueriesContext(connection) as many:
        assert "Thing 7" in amy.get(LIST).content.decode()
    assert row.pk and len(many) == len(few)


@pytest.mark.django_db(transaction=True)
async def test_open_chats_of_the_member_hear_the_answer_and_nobody_elses(uvicorn_server: Server, cast: Cast) -> None:
    row = await in_db(requested)(cast)
    url = uvicorn_server.url
    async with (
        open_socket(url, user=cast.alice) as alice,
        open_socket(url, user=cast.amy) as amy,
        open_socket(url, user=cast.mallory, tenant="globex") as mallory,
    ):
        for socket in (alice, amy, mallory):
            await socket.send({"type": "tool_requests"})
        (told,) = (await alice.until_custom("tool_requests"))["value"]["requests"]
        assert (told["state"], told["tool"]) == ("open", "current_time")
        await answer_over_http(uvicorn_server, cast.amy, row, do="on", answer="From today on")
        (told,) = (await alice.until_custom("tool_requests"))["value"]["requests"]
        assert (told["state"], told["answer"], told["answeredBy"]) == ("granted", "From today on", "amy")
        await alice.send({"type": "tool_requests.seen", "id": row.pk})
        assert (await alice.until_custom("tool_requests"))["value"] == {"requests": []}
        for other in (amy, mallory):
            assert (await other.until_custom("tool_requests"))["value"] == {"requests": []}
            assert "From today on" not in str(other.frames)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("number", [None, True, 0, -1, "1", [1]])
async def test_a_number_that_is_none_is_refused(uvicorn_server: Server, cast: Cast, number: Any) -> None:
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await socket.send({"type": "tool_requests.seen", "id": number})
        assert (await socket.until_custom("protocol_error"))["value"]["code"] == "invalid_frame"
