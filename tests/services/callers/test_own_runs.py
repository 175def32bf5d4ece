"""A key with `chat` alone follows the runs that it began, and reads nothing else of its member's conversations."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async

from assistant.models import ApiKey, Conversation, Provider, Run
from assistant.services.tenancy.members import create_api_key
from tests.agui import Frame, run_of, seq_of, text_of
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.ws import Socket, open_socket, run_input

pytestmark = pytest.mark.django_db(transaction=True)
BEFORE, MEANWHILE = "said-before", "said-meanwhile"
API = "/api/v1/tenants/acme/"


@dataclass(frozen=True)
class Place:
    """Alice's thread, in which her browser's run was first; a key of hers that chats alone, and another such key."""

    server: Server
    cast: Cast
    thread: str
    run: str
    key: str
    other: str

    def socket(self, key: str) -> Any:
        return open_socket(self.server.url, key=key)

    def http(self, key: str, **more: str) -> httpx2.AsyncClient:
        sent = {"Authorization": f"Bearer {key}", **more}
        return httpx2.AsyncClient(base_url=self.server.url, headers=sent, timeout=60)


def _key(cast: Cast) -> str:
    return create_api_key(tenant=cast.acme, user=cast.alice, name="chats", scopes=["chat"])[1]


@pytest_asyncio.fixture
async def place(uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider) -> Place:
    fake_provider.reply(BEFORE)
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        frames = await socket.ask("Hi")
    keys = [await sync_to_async(_key)(cast) for _ in range(2)]
    return Place(uvicorn_server, cast, frames[0]["threadId"], frames[0]["runId"], *keys)


async def pong(socket: Socket) -> None:
    await socket.send({"type": "ping"})
    await socket.until_custom("pong")


def told(frames: list[Frame]) -> str:
    return json.dumps(frames)


async def test_it_comes_back_to_its_own_run(place: Place, fake_provider: FakeProvider) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["One", gate, " two"])
    async with place.socket(place.key) as socket:
        started = await socket.start("Go on", thread=place.thread)
        last = (await socket.until_type("TEXT_MESSAGE_CONTENT"))[-1]
    async with place.socket(place.key) as again, place.socket(place.key) as fresh:
        await again.attach(place.thread, after=(started["runId"], seq_of(last)))
        await fresh.attach(place.thread)
        picture = await fresh.until_type("TEXT_MESSAGE_START")
        gate.release()
        assert text_of(await again.until_end()) == " two"
        rest = await fresh.until_end()
    assert BEFORE not in told(picture + rest) and "Go on" in told(picture)


async def test_it_finds_no_thread_without_a_run_of_its_own(place: Place) -> None:
    async with place.socket(place.key) as socket:
        await socket.attach(place.thread)
        assert (await socket.until_end())[-1]["code"] == "thread_not_found"
        await socket.attach(place.thread, after=(place.run, 0))
        assert (await socket.until_end())[-1]["code"] == "thread_not_found"


@pytest.mark.parametrize("whose", ["browser's", "other key's"])
async def test_the_id_of_another_run_shows_nothing(place: Place, fake_provider: FakeProvider, whose: str) -> None:
    run = place.run
    if whose == "other key's":
        fake_provider.reply(BEFORE)
        async with place.socket(place.other) as socket:
            run = (await socket.ask("Go on", thread=place.thread))[0]["runId"]
    given = run_input("Go on", thread=place.thread, run=run)
    async with place.socket(place.key) as socket:
        await socket.send(given)
        (refusal,) = await socket.until_end()
        assert (refusal["code"], BEFORE in told([refusal])) == ("invalid_input", False)
    async with place.http(place.key) as client:
        for after in ("0", "2"):
            headers = {"Last-Event-ID": after}
            answer = await client.post(f"{API}assistants/support/runs/", json=given, headers=headers)
            assert '"RUN_ERROR"' in answer.text and BEFORE not in answer.text
            assert (await client.get(f"{API}runs/{run}/events/", headers=headers)).status_code == 404
        assert (await client.get(f"{API}runs/{run}/")).status_code == 404
    async with place.http(place.other) as client:
        assert (await client.get(f"{API}runs/{run}/")).status_code == (404 if whose == "browser's" else 200)


async def test_it_resumes_and_reads_its_own_run_over_http(place: Place, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Hello")
    given = run_input("Go on", thread=place.thread)
    async with place.http(place.key) as client:
        first = await client.post(f"{API}assistants/support/runs/", json=given)
        again = await client.get(f"{API}runs/{given['runId']}/events/", params={"protocolVersion": "1.0"})
        joined = await client.post(f"{API}assistants/support/runs/", json=given)
        assert first.text == again.text == joined.text and "Hello" in first.text
        assert (await client.get(f"{API}runs/{given['runId']}/")).json()["text"] == "Hello"


async def test_it_sees_no_other_run_of_a_thread_that_it_follows(place: Place, fake_provider: FakeProvider) -> None:
    fake_provider.reply("First")
    async with place.socket(place.key) as socket, open_socket(place.server.url, user=place.cast.alice) as browser:
        await socket.ask("Go on", thread=place.thread)
        fake_provider.reply(MEANWHILE)
        others = (await browser.ask("And?", thread=place.thread))[0]["runId"]
        await pong(socket)
        fake_provider.reply("Last")
        assert text_of(await socket.ask("Once more", thread=place.thread)) == "Last"
        await socket.attach(place.thread)
        await socket.until_end()
        await pong(socket)
    assert MEANWHILE not in told(socket.frames) and others not in {run_of(frame) for frame in socket.frames}


async def test_it_gets_no_stored_answer_of_another_key(place: Place, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Hello")
    talk = await Conversation.objects.aget(pk=uuid.UUID(place.thread))
    once = {"Idempotency-Key": "k-1"}
    async with place.http(place.other, **once) as other, place.http(place.key, **once) as client:
        asked = {"url": f"{API}conversations/{talk.pk}/runs/", "json": {"message": "Go on"}}
        assert (await other.post(**asked)).json()["text"] == "Hello"
        assert (await other.post(**asked)).json()["text"] == "Hello"
        answer = await client.post(**asked)
    assert (answer.status_code, "Hello" in answer.text) == (409, False)


async def test_a_run_outlives_the_key_that_began_it(place: Place, fake_provider: FakeProvider) -> None:
    fake_provider.reply("Hello")
    async with place.socket(place.key) as socket:
        run = (await socket.ask("Go on", thread=place.thread))[0]["runId"]
    row = await Run.objects.aget(run_id=run)
    assert row.api_key_id is not None
    await ApiKey.objects.filter(pk=row.api_key_id).adelete()
    assert (await Run.objects.aget(run_id=run)).api_key_id is None
