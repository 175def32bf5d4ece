"""Short outages of the database: every door answers with the same code, and no message is lost."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import urlsplit, urlunsplit

import httpx2
import pytest
import pytest_asyncio
from django.conf import settings
from redis.asyncio import Redis
from websockets.exceptions import InvalidStatus

from assistant.models import Message, Provider, Run, ToolCall
from tests import live
from tests.agui import text_of
from tests.api.calling import key_of
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.line import Line
from tests.redis_log import STREAM
from tests.websocket.test_websocket import in_db, until
from tests.ws import open_socket, run_input, session_cookie

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.services]

RUNS = "/api/v1/tenants/acme/assistants/support/runs/"
COMPLETION = {"model": "support", "messages": [{"role": "user", "content": "Hi"}]}
LISTING = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}


@pytest_asyncio.fixture
async def database_line() -> AsyncIterator[Line]:
    """A relay between a server and PostgreSQL."""
    line = Line(urlsplit(live.test_database_url()).port or 5432)
    await line.start()
    yield line
    await line.stop()


@pytest_asyncio.fixture
async def server(database_line: Line, transactional_db: None) -> AsyncIterator[live.Server]:
    parts = urlsplit(live.test_database_url())
    there = parts._replace(netloc=f"{parts.username}@{urlsplit(database_line.origin).netloc}")
    serving = live.serve(env={"TEST_DATABASE_URL": urlunsplit(there)})
    running = await asyncio.to_thread(serving.__enter__)
    yield running
    await asyncio.to_thread(serving.__exit__, None, None, None)


async def test_a_message_during_an_outage_is_refused_and_accepted_when_it_is_sent_again(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, server: live.Server, database_line: Line
) -> None:
    fake_provider.reply("Hello")
    given = run_input("Hi")
    async with open_socket(server.url, user=cast.alice) as socket:
        database_line.cut()
        await socket.send(given)
        refusal = await socket.next()
        assert (refusal["type"], refusal["code"]) == ("RUN_ERROR", "internal_error")
        assert refusal["metadata"]["resetsAt"].endswith("Z")
        assert "temporarily unavailable. Try again" in refusal["message"]
        database_line.mend()
        await socket.send(given)
        assert text_of(await socket.until_end()) == "Hello"
    assert [one.content async for one in Message.objects.filter(role="user")] == ["Hi"]
    assert len(fake_provider.requests) == 1


async def test_a_handshake_during_an_outage_gets_503(cast: Cast, server: live.Server, database_line: Line) -> None:
    cookie = await in_db(session_cookie)(cast.alice)
    database_line.cut()
    with pytest.raises(InvalidStatus) as caught:
        async with open_socket(server.url, headers={"Cookie": cookie}, origin=server.url):
            pass
    assert caught.value.response.status_code == 503
    assert caught.value.response.headers["Retry-After"]


@pytest.mark.parametrize(
    ("method", "path", "body", "place"),
    [
        ("POST", RUNS, run_input("Hi"), ("code",)),
        ("GET", "/api/v1/tenants/acme/conversations/", None, ("code",)),
        ("POST", "/v1/chat/completions", COMPLETION, ("error", "code")),
        ("POST", "/mcp/", LISTING, ("code",)),
    ],
    ids=["runs", "REST", "/v1", "MCP"],
)
async def test_every_api_answers_503_with_retry_after(
    cast: Cast, server: live.Server, database_line: Line, method: str, path: str, body: object, place: tuple[str, ...]
) -> None:
    key = await in_db(key_of)(cast.acme, cast.alice)
    database_line.cut()
    headers = {"Authorization": f"Bearer {key}", "Accept": "application/json, text/event-stream"}
    async with httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=30) as http:
        answer = await http.request(method, path, json=body)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    said = answer.json()
    for name in place:
        said = said[name]
    assert said == "unavailable"
    assert "127.0.0.1" not in answer.text


@pytest.mark.parametrize("path", ["/t/acme/", "/admin/assistant/run/"])
async def test_a_page_explains_the_outage(cast: Cast, server: live.Server, database_line: Line, path: str) -> None:
    cookie = await in_db(session_cookie)(cast.root)
    database_line.cut()
    async with httpx2.AsyncClient(base_url=server.url, headers={"Cookie": cookie}, timeout=30) as http:
        answer = await http.get(path)
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "2")
    assert "Back in a moment" in answer.text


async def test_a_run_with_tool_calls_waits_for_the_database(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, server: live.Server, database_line: Line
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Let me see. ", gate], calls=[("current_time", {})])
    fake_provider.reply("It is 3.")
    async with open_socket(server.url, user=cast.alice) as socket:
        await socket.start("How much?")
        await socket.until_type("TEXT_MESSAGE_CONTENT")
        database_line.cut()
        gate.release()
        await until(lambda: "trying again" in server.log)
        database_line.mend()
        frames = await socket.until_end(timeout=40)
    assert frames[-1]["type"] == "RUN_FINISHED"
    assert await ToolCall.objects.acount() == 1


async def test_events_that_redis_lost_reach_readers_in_another_process(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, two_servers: tuple[live.Server, live.Server]
) -> None:
    here, there = two_servers
    gates = [fake_provider.gate() for _ in range(3)]
    fake_provider.reply(chunks=["one ", gates[0], "two ", gates[1], "three ", gates[2], "four"])
    async with open_socket(here.url, user=cast.alice) as asker, open_socket(there.url, user=cast.alice) as watcher:
        thread = (await asker.start("Count"))["threadId"]
        await until(lambda: Run.objects.exclude(partial=None).exists())
        gates[0].release()
        await asker.until(lambda frame: frame.get("delta") == "two ")
        async with Redis.from_url(settings.ASSISTANT_REDIS_URL) as redis:
            assert await redis.delete(STREAM + thread)
        gates[1].release()
        await asker.until(lambda frame: frame.get("delta") == "three ")
        await watcher.attach(thread)
        await watcher.until_type("MESSAGES_SNAPSHOT")
        gates[2].release()
        await watcher.until_end()
    last = max(n for n, frame in enumerate(watcher.frames) if frame["type"] == "MESSAGES_SNAPSHOT")
    told = watcher.frames[last]["messages"][-1]["content"]
    assert told + text_of(watcher.frames[last:]) == "one two three four"
