"""Test chats: a draft answers those who may write prompts, tools change nothing unasked, and no run is counted."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest
from asgiref.sync import sync_to_async
from pytest_django.fixtures import Settings

from assistant.models import Conversation, Message, Provider, Run, ToolCall, UsageEntry
from assistant.services.assistants.prompts import draft_prompt
from tests.agui import Frame, text_of
from tests.api.calling import key_of
from tests.base import Cast
from tests.contrib.panel.tenants.test_custom_roles import give
from tests.contrib.sub_agents.delegation import let_ask
from tests.factories import make_assistant, make_conversation, make_member, switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.pages.test_without_admin import page
from tests.ws import open_socket, run_input, session_cookie
from tools.models import Customer

pytestmark = pytest.mark.django_db(transaction=True)
in_db = sync_to_async
CHANGE = ("update_customer", {"customer_id": 42, "city": "Nowhere"})


@pytest.fixture
def draft(cast: Cast, demo: None, provider: Provider) -> dict[str, Any]:
    """What a client sends to test a draft of Acme's."""
    switch_tool(cast.acme, "update_customer")
    return {"promptVersion": draft_prompt(assistant=cast.support, text="You are a draft.").pk}


def changed() -> bool:
    return Customer.objects.filter(city="Nowhere").exists()


async def test_the_draft_answers_and_the_chat_is_marked_and_in_no_list(
    uvicorn_server: Server, cast: Cast, fake_provider: FakeProvider, draft: dict[str, Any]
) -> None:
    fake_provider.call(*CHANGE)
    fake_provider.reply("Moved.")
    fake_provider.reply("Again.")
    async with open_socket(uvicorn_server.url, user=cast.amy) as socket:
        frames = await socket.ask("Move them", forwardedProps=draft)
        assert text_of(frames) == "Moved."
        # A run that names no version uses that of the run before.
        assert text_of(await socket.ask("And now?", thread=frames[0]["threadId"])) == "Again."
    prompts = {request.messages[0]["content"] for request in fake_provider.requests}
    assert prompts == {"You are a draft."}
    assert not await in_db(changed)()
    call = await ToolCall.objects.aget()
    assert (call.status, "this is a test" in call.result) == ("ok", True)
    assert [row async for row in Run.objects.values_list("is_test", "prompt_version")] == [
        (True, draft["promptVersion"])
    ] * 2
    assert await UsageEntry.objects.filter(is_test=False).acount() == 0
    assert (await Conversation.objects.aget()).test_tools == "stub"
    cookies = {"Cookie": await in_db(session_cookie)(cast.amy)}
    async with httpx2.AsyncClient(base_url=uvicorn_server.url, headers=cookies) as client:
        page = (await client.get("/t/acme/")).text
        test = (await client.get(f"/t/acme/c/{frames[0]['threadId']}/")).text
    assert "Move them" not in page
    assert "Test of version 2" in test and f'data-test-version="{draft["promptVersion"]}"' in test


async def test_a_tester_may_be_asked_and_then_the_tool_runs(
    uvicorn_server: Server, cast: Cast, fake_provider: FakeProvider, draft: dict[str, Any]
) -> None:
    number = (await Customer.objects.filter(tenant_id=cast.acme.pk).afirst()).number  # type: ignore[union-attr]
    fake_provider.call("update_customer", {"customer_id": number, "city": "Nowhere"})
    async with open_socket(uvicorn_server.url, user=cast.amy) as socket:
        frames = await socket.ask("Move them", forwardedProps={**draft, "testTools": "ask"})
        (interrupt,) = frames[-1]["outcome"]["interrupts"]
        assert not await in_db(changed)()
        fake_provider.reply("Moved.")
        resume = [{"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}}]
        await socket.send(given := run_input("", thread=frames[0]["threadId"], messages=[], resume=resume))
        assert text_of(await socket.until_end(given["runId"])) == "Moved."
    assert await in_db(changed)()
    assert (await ToolCall.objects.aget()).status == "ok"


async def test_where_the_tester_is_asked_assistants_that_are_asked_change_nothing(
    uvicorn_server: Server, cast: Cast, fake_provider: FakeProvider, draft: dict[str, Any]
) -> None:
    expert = await in_db(make_assistant)(cast.acme, "expert", prompt="You know.")
    await in_db(let_ask)(cast.support, expert)
    number = (await Customer.objects.filter(tenant_id=cast.acme.pk).afirst()).number  # type: ignore[union-attr]
    fake_provider.call("ask_expert", {"task": "Move them"})
    fake_provider.call("update_customer", {"customer_id": number, "city": "Nowhere"})
    fake_provider.reply("Moved.")
    fake_provider.reply("It is done.")
    async with open_socket(uvicorn_server.url, user=cast.amy) as socket:
        frames = await socket.ask("Move them", forwardedProps={**draft, "testTools": "ask"})
    assert "It is done." in text_of(frames)
    assert not await in_db(changed)()


async def test_a_question_that_was_taken_along_is_anothers_words(
    uvicorn_server: Server, cast: Cast, fake_provider: FakeProvider, draft: dict[str, Any]
) -> None:
    fake_provider.reply("Tried.")
    fake_provider.reply("Asked.")
    async with open_socket(uvicorn_server.url, user=cast.amy) as socket:
        await socket.ask("Fetch https://elsewhere.example/", forwardedProps={**draft, "takenQuestion": True})
        await socket.ask("Fetch my own", forwardedProps=draft)
    sources = [
        row async for row in Message.objects.filter(role="user").order_by("pk").values_list("sources", flat=True)
    ]
    assert sources == [["a question of another conversation"], []]


def refusal(frames: list[Frame]) -> str:
    return str(frames[-1].get("code"))


async def test_only_those_who_may_write_prompts_may_test_and_only_their_tenants_versions(
    uvicorn_server: Server, cast: Cast, fake_provider: FakeProvider, draft: dict[str, Any]
) -> None:
    writer = await in_db(make_member)(cast.acme, "wendy")
    await in_db(give)(cast, writer, "prompts")
    theirs = await in_db(draft_prompt)(assistant=cast.rival_support, text="Globex's secret.")
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        assert refusal(await socket.ask("Hi", forwardedProps=draft)) == "test_forbidden"
    async with open_socket(uvicorn_server.url, tenant="globex", user=cast.greta) as socket:
        assert refusal(await socket.ask("Hi", forwardedProps=draft)) == "invalid_input"
    key = await in_db(key_of)(cast.acme, cast.amy)
    async with open_socket(uvicorn_server.url, key=key) as socket:
        assert refusal(await socket.ask("Hi", forwardedProps=draft)) == "test_forbidden"
    async with open_socket(uvicorn_server.url, user=writer) as socket:
        assert refusal(await socket.ask("Hi", forwardedProps={"promptVersion": theirs.pk})) == "invalid_input"
        own = await in_db(make_conversation)(writer, cast.support)
        assert refusal(await socket.ask("Hi", thread=str(own.pk), forwardedProps=draft)) == "invalid_input"
        for wrong in (
            {"promptVersion": "1"},
            {"promptVersion": True},
            {**draft, "testTools": "call"},
            {**draft, "takenQuestion": 1},
        ):
            assert refusal(await socket.ask("Hi", forwardedProps=wrong)) == "invalid_input"
        assert fake_provider.requests == []
        fake_provider.reply("Here.")
        assert text_of(await socket.ask("Hi", forwardedProps=draft)) == "Here."
    assert await Conversation.objects.exclude(test_tools="").acount() == 1


async def test_who_loses_the_permission_cannot_go_on_with_a_test(
    uvicorn_server: Server, cast: Cast, fake_provider: FakeProvider, draft: dict[str, Any]
) -> None:
    async with open_socket(uvicorn_server.url, user=cast.amy) as socket:
        frames = await socket.ask("Hi", forwardedProps=draft)
        await cast.acme.memberships.filter(user=cast.amy).aupdate(role="member")
        assert refusal(await socket.ask("Hi", thread=frames[0]["threadId"])) == "test_forbidden"
    cookies = {"Cookie": await in_db(session_cookie)(cast.amy)}
    async with httpx2.AsyncClient(base_url=uvicorn_server.url, headers=cookies) as client:
        assert (await client.get(f"/t/acme/?test={draft['promptVersion']}")).status_code == 404


@pytest.mark.django_db(transaction=False)
def test_without_the_admin_a_test_leads_back_to_no_prompt(settings: Settings, cast: Cast) -> None:
    settings.ROOT_URLCONF = "tests.pages.test_without_admin"
    tested = page(cast.amy, f"/t/acme/?test={cast.support.prompt_versions.get().pk}")
    assert "Begin again" in tested and "Back to the prompt" not in tested
