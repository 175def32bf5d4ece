"""What a message does that comes during an answer, and what a lost connection does to an answer."""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Any

import pytest

from assistant.models import Assistant, Message, Provider, Run
from tests.agui import Frame, text_of
from tests.agui_clients.door import Talk, error_of, talking
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.websocket.test_websocket import until
from tests.ws import open_socket, run_input

pytestmark = pytest.mark.django_db(transaction=True)


async def begin(talk: Talk, text: str, **fields: Any) -> Frame:
    """Send a message, and leave the stream once the answer has begun, as a client does whose user presses Stop."""
    given = talk.given(text, **fields)
    async with talk.client.stream("POST", talk.address, json=given) as answer:
        async for line in answer.aiter_lines():
            if "TEXT_MESSAGE_CONTENT" in line:
                break
    return given


async def statuses() -> list[str]:
    return [run.status async for run in Run.objects.order_by("number")]


def has(*wanted: str) -> Any:
    return lambda: [run.status for run in Run.objects.order_by("number")] == list(wanted)


async def test_over_http_the_next_message_takes_the_place_of_the_callers_own(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once upon", gate, " a time"])
    async with talking(server, cast.acme, cast.alice) as talk:
        await begin(talk, "A story, please")
        fake_provider.reply("Gladly.")
        assert text_of(await talk.ask("No, a poem")) == "Gladly."
    assert await statuses() == ["cancelled", "finished"]
    assert (await Message.objects.aget(content="Once upon")).is_partial


async def test_the_run_of_another_caller_is_not_replaced(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once upon", gate, " a time"])
    async with (
        open_socket(uvicorn_server.url, user=cast.alice) as page,
        talking(uvicorn_server, cast.acme, cast.alice) as talk,
    ):
        started = await page.start("A story, please", thread=talk.thread)
        assert error_of(await talk.ask("No, a poem")) == "thread_busy"
        gate.release()
        assert text_of(await page.until_end(started["runId"])) == "Once upon a time"


@pytest.mark.parametrize("by", ["input", "assistant"])
async def test_a_message_can_be_refused(
    by: str, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fields = {"forwardedProps": {"whenBusy": "refuse"}} if by == "input" else {}
    if by == "assistant":
        await Assistant.objects.filter(pk=cast.support.pk).aupdate(when_busy="refuse")
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once upon", gate, " a time"])
    async with talking(uvicorn_server, cast.acme, cast.alice) as talk:
        await begin(talk, "A story, please")
        assert error_of(await talk.ask("No, a poem", **fields)) == "thread_busy"
        gate.release()
        await until(has("finished"))


async def test_messages_wait_in_their_order(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate, waits = fake_provider.gate(), {"forwardedProps": {"whenBusy": "queue"}}
    fake_provider.reply(chunks=["Once upon", gate, " a time"])
    async with talking(server, cast.acme, cast.alice) as talk:
        await begin(talk, "A story, please")
        second = asyncio.create_task(talk.post(talk.given("Shorter", **waits)))
        await asyncio.sleep(0)
        third = asyncio.create_task(talk.post({**talk.given("Longer", **waits)}))
        fake_provider.reply("Second.")
        fake_provider.reply("Third.")
        await until(lambda: Run.objects.count() == 1)
        gate.release()
        answers = {text_of(await second), text_of(await third)}
    assert answers == {"Second.", "Third."} and await statuses() == ["finished"] * 3


async def test_on_a_websocket_a_message_is_refused_and_waits_or_replaces_if_it_says_so(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once upon", gate, " a time"])
    async with open_socket(server.url, user=cast.alice) as socket:
        first = await socket.start("A story, please")
        thread = first["threadId"]
        await socket.send(refused := run_input("No", thread=thread))
        assert (await socket.until_end(refused["runId"]))[-1]["code"] == "thread_busy"
        await socket.send(queued := run_input("And then?", thread=thread, forwardedProps={"whenBusy": "queue"}))
        await socket.send({"type": "ping"})
        await socket.until_custom("pong")  # the connection does not wait
        other = fake_provider.gate()
        fake_provider.reply(chunks=["They lived", other, " happily"])
        gate.release()
        await socket.until(lambda frame: frame.get("delta") == "They lived")
        fake_provider.reply("The end.")
        await socket.send(last := run_input("Stop", thread=thread, forwardedProps={"whenBusy": "replace"}))
        frames = await socket.until_end(last["runId"])
    assert frames[-1]["type"] == "RUN_FINISHED" and text_of(frames).endswith("The end.")
    assert {frame["runId"] for frame in socket.frames if frame["type"] == "RUN_STARTED"} == {
        first["runId"], queued["runId"], last["runId"],
    }  # fmt: skip
    assert await statuses() == ["finished", "cancelled", "finished"]


@pytest.mark.parametrize("by", ["input", "assistant"])
async def test_a_lost_stream_stops_its_run_if_that_is_wanted(
    by: str, server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fields = {"forwardedProps": {"onDisconnect": "cancel"}} if by == "input" else {}
    if by == "assistant":
        await Assistant.objects.filter(pk=cast.support.pk).aupdate(on_disconnect="cancel")
    fake_provider.reply(chunks=["Once upon", fake_provider.gate(), " a time"])
    async with talking(server, cast.acme, cast.alice) as talk:
        await begin(talk, "A story, please", **fields)
        await until(has("cancelled"))
        fake_provider.reply("Gladly.")
        assert text_of(await talk.ask("A poem", forwardedProps={"whenBusy": "refuse"})) == "Gladly."


async def test_a_lost_websocket_stops_its_run_if_that_is_wanted_and_no_other(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    for words in (["One", gate, "!"], ["Two", gate, "!"]):
        fake_provider.reply(chunks=words)
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        stopped = await socket.start("Stop with me", forwardedProps={"onDisconnect": "cancel"})
        await socket.until_type("TEXT_MESSAGE_CONTENT")
        kept = await socket.start("Go on without me")
        await socket.until_type("TEXT_MESSAGE_CONTENT")
        await socket.drop()
    await until(lambda: Run.objects.get(run_id=stopped["runId"]).status == "cancelled")
    gate.release()
    await until(lambda: Run.objects.get(run_id=kept["runId"]).status == "finished")


async def test_strangers_cannot_tell_that_a_thread_is_busy(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate, run_id = fake_provider.gate(), str(uuid.uuid4())
    fake_provider.reply(chunks=["Once upon", gate, " a time"])
    async with talking(uvicorn_server, cast.acme, cast.alice, thread="main") as alice:
        await begin(alice, "A story, please", run=run_id)
        for tenant, user in ((cast.acme, cast.amy), (cast.globex, cast.mallory)):
            async with talking(uvicorn_server, tenant, user, thread="main") as other:
                fake_provider.reply("Mine.")
                events = await other.ask("Mine", run=run_id)
                assert text_of(events) == "Mine." and "Once" not in json.dumps(events)
        gate.release()
        await until(lambda: set(Run.objects.values_list("status", flat=True)) == {"finished"})
