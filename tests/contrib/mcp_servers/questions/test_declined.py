"""Questions of external servers that nobody is asked: the server is told so, and the model reads it."""

from __future__ import annotations

import sys
from typing import Any

import httpx2
import pytest
from asgiref.sync import sync_to_async
from pytest_django import Settings

from assistant.contrib.mcp_servers.models import McpServer
from assistant.contrib.mcp_servers.services.calls import session_pool
from assistant.mcp_client.questions import MAX_ROUNDS, NO_PAGES, NOBODY, TOO_MANY, UNREADABLE
from assistant.models import Provider, ToolCall
from assistant.toolkit.definition.questions import NeedsAnswer
from tests.agui import text_of
from tests.api.calling import key_of
from tests.base import Cast
from tests.contrib.mcp_servers.allowing import allow, look
from tests.contrib.mcp_servers.questions.acts import add, asked, result_in
from tests.contrib.mcp_servers.test_client_tenants import context_of, tools_of
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.mcp.outside import Outside
from tests.mcp.questions.acts import answers_in
from tests.mcp.talking import Client
from tests.websocket.test_questions import answer
from tests.ws import open_socket

pytestmark = pytest.mark.django_db(transaction=True)
DECLINED = {"action": "decline", "content": None}


async def test_a_server_that_may_not_ask_is_not_told_that_it_could(
    site: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider, asking: Outside
) -> None:
    server = await add(cast, asking, "book", asks_people=False)
    fake_provider.call("crm__book", {})
    fake_provider.reply("No.")
    async with open_socket(site.url, user=cast.alice) as socket:
        assert text_of(await socket.ask("Book it")) == "No."
        assert "This client cannot ask." in result_in(fake_provider)
        # The switch holds for the next call, without a restart.
        server.asks_people = True
        await server.asave()
        _, interrupt = await asked(socket, fake_provider, "book")
    assert interrupt["reason"] == "input_required"


@pytest.mark.parametrize(("tool", "note"), [("page", NO_PAGES), ("nested", UNREADABLE)])
async def test_what_is_no_form_is_declined(
    tool: str,
    note: str,
    site: Server,
    cast: Cast,
    provider: Provider,
    fake_provider: FakeProvider,
    asking: Outside,
) -> None:
    await add(cast, asking, tool)
    fake_provider.call(f"crm__{tool}", {})
    fake_provider.reply("No.")
    async with open_socket(site.url, user=cast.alice) as socket:
        assert text_of(await socket.ask("Go")) == "No."
    assert note in result_in(fake_provider)
    assert answers_in(asking) == [DECLINED]


async def test_a_server_asks_a_bounded_number_of_questions(
    site: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider, asking: Outside
) -> None:
    await add(cast, asking, "pry")
    async with open_socket(site.url, user=cast.alice) as socket:
        thread, interrupt = await asked(socket, fake_provider, "pry")
        for _ in range(MAX_ROUNDS - 1):
            frames = await answer(socket, thread, interrupt, {"go_on": True})
            (interrupt,) = frames[-1]["outcome"]["interrupts"]
        fake_provider.reply("Enough.")
        assert text_of(await answer(socket, thread, interrupt, {"go_on": True})) == "Enough."
    assert TOO_MANY in result_in(fake_provider)
    assert answers_in(asking)[-1] == DECLINED


async def test_where_nobody_can_answer_it_is_declined(
    site: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider, asking: Outside
) -> None:
    await add(cast, asking, "book")
    fake_provider.call("crm__book", {})
    fake_provider.reply("Nobody is there.")
    key = await sync_to_async(key_of)(cast.acme, cast.alice)
    body = {"model": cast.support.slug, "messages": [{"role": "user", "content": "Book it"}]}
    async with httpx2.AsyncClient(timeout=60) as client:
        done = await client.post(
            f"{site.url}/v1/chat/completions", json=body, headers={"Authorization": f"Bearer {key}"}
        )
    assert done.json()["choices"][0]["message"]["content"] == "Nobody is there."
    assert NOBODY in result_in(fake_provider)
    assert answers_in(asking) == [DECLINED]


async def test_a_caller_over_mcp_that_cannot_ask_is_told_so(
    site: Server, cast: Cast, provider: Provider, asking: Outside
) -> None:
    await add(cast, asking, "book")
    key = await sync_to_async(key_of)(cast.acme, cast.alice)
    caller = Client(site.url, key)
    result: Any = await sync_to_async(caller.call)("crm__book", {})
    assert NOBODY in result["content"][0]["text"]
    assert answers_in(asking) == [DECLINED]
    assert (await ToolCall.objects.aget()).status == "ok"


async def test_a_program_asks_in_its_call_and_not_besides(cast: Cast, settings: Settings) -> None:
    settings.ASSISTANT_MCP_STDIO_COMMANDS = {"asking": [sys.executable, "-m", "tests.mcp.questions.asking_app"]}
    server = await McpServer.objects.acreate(
        tenant=cast.acme, name="crm", prefix="crm", command="asking", is_active=True, asks_people=True
    )
    await look(server)
    await allow(server, "book")
    book = (await tools_of(cast))["crm__book"].tool
    with pytest.raises(NeedsAnswer) as caught:
        await book.call({}, context_of(cast, answers={}))
    answers = {caught.value.question.key: {"seat": "Window", "people": 1}}
    assert '"seat": "w"' in (await book.call({}, context_of(cast, answers=answers))).content
    assert (await book.call({}, context_of(cast))).content.startswith(NOBODY)
    await session_pool().close()
