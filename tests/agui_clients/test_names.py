"""Threads and runs under the names that clients give them, within what their member may see."""

from __future__ import annotations

import json
import uuid
from itertools import groupby

import pytest

from assistant.models import Assistant, Conversation, Provider, Run
from tests.agui import check_run, text_of
from tests.agui_clients.door import RUNS, error_of, sent, talking
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.ws import open_socket, run_input

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("name", ["main", "a b/ü #1", "x" * 200, "C0FFEE00-0000-4000-8000-000000000000"])
async def test_names_are_echoed_and_known_again(
    name: str, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Hello.")
    fake_provider.reply("Again.")
    async with talking(uvicorn_server, cast.acme, cast.alice, thread=name) as talk:
        first = await talk.ask("Hi", run=name)
        check_run(first)
        assert (first[0]["threadId"], first[0]["runId"], first[-1]["threadId"]) == (name, name, name)
        assert first[0]["metadata"]["run"]["thread"] == name
        await talk.ask("And again")
    assert sent(fake_provider) == ["Hi", "Hello.", "And again"]
    assert (await Conversation.objects.aget()).thread_key == name


async def test_the_id_of_the_conversation_attaches_too_and_is_echoed(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with talking(uvicorn_server, cast.acme, cast.alice, thread="main") as talk:
        await talk.ask("Hi")
        talk.thread = ours = str((await Conversation.objects.aget()).pk)
        assert (await talk.ask("By your own id"))[0]["threadId"] == ours
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        for thread in ("main", ours):
            await socket.attach(thread)
            frames = await socket.until_end()
            assert {frame["metadata"]["run"]["thread"] for frame in frames} == {thread}
            assert (frames[0]["threadId"], frames[-1]["threadId"]) == (thread, thread)
        questions = [one["content"] for one in frames[1]["messages"] if one["role"] == "user"]
    assert questions == ["Hi", "By your own id"]


async def test_a_name_belongs_to_one_member_and_one_assistant(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await Assistant.objects.acreate(tenant=cast.acme, slug="sales", name="Sales")
    async with talking(uvicorn_server, cast.acme, cast.alice, thread="main") as talk:
        await talk.ask("Alice's own")
        talk.address = RUNS.format(tenant="acme").replace("support", "sales")
        await talk.post(talk.given(messages=[{"id": "u", "role": "user", "content": "For sales"}]))
    assert sent(fake_provider) == ["For sales"]
    for tenant, user in ((cast.acme, cast.amy), (cast.globex, cast.mallory)):
        async with talking(uvicorn_server, tenant, user, thread="main") as other:
            events = await other.ask("Whose is this?", run="r")
        assert events[-1]["type"] == "RUN_FINISHED" and sent(fake_provider) == ["Whose is this?"]
    async with open_socket(uvicorn_server.url, user=cast.greta, tenant="globex") as socket:
        await socket.attach("main")
        assert (await socket.until_end())[-1]["code"] == "thread_not_found"
    assert await Conversation.objects.filter(thread_key="main").acount() == 4


async def test_an_id_of_another_tenant_is_as_any_that_nobody_has(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    taken, free = str(uuid.uuid4()), str(uuid.uuid4())
    await Assistant.objects.acreate(tenant=cast.globex, slug="sales", name="Sales")
    async with talking(uvicorn_server, cast.acme, cast.alice, thread=taken) as alice:
        fake_provider.reply("The password is sesame.")
        await alice.ask("Tell me", run="r1")
    seen = []
    for thread in (taken, free):
        async with talking(uvicorn_server, cast.globex, cast.mallory, thread=thread) as mallory:
            fake_provider.reply("Hello.")
            events = await mallory.ask("Hi", run="r1")
            again = await mallory.ask("Hi again", run="r2")
            rest = await mallory.client.get(f"/api/v1/tenants/globex/conversations/{thread}/")
            mallory.address = RUNS.format(tenant="globex").replace("support", "sales")
            elsewhere = await mallory.ask("Hi, sales", run="r3")
        assert rest.json()["id"] == thread and error_of(elsewhere) == "thread_not_found"
        told = json.dumps([events, again, rest.json()]).replace(thread, "T")
        # In how many pieces a text comes is not the thread's doing.
        kinds = [kind for kind, _ in groupby(event["type"] for event in (*events, *again, *elsewhere))]
        seen.append([rest.status_code, *kinds])
        assert "sesame" not in told and sent(fake_provider) == ["Hi", "Hello.", "Hi again"]
    assert seen[0] == seen[1]
    assert await Run.objects.filter(conversation=taken).acount() == 1


async def test_one_of_two_first_messages_begins_a_named_thread(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with talking(uvicorn_server, cast.acme, cast.alice, thread="main") as talk:
        given = run_input("Hi", thread="main")
        assert text_of(await talk.post(given)) == text_of(await talk.post(given))
    assert await Conversation.objects.acount() == 1
