"""Open chats are told what waits for their member, in all windows; nobody else is told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from assistant.models import Provider
from tests.base import Cast
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.ws import Socket, open_socket, run_input

pytestmark = pytest.mark.django_db(transaction=True)


async def listed(socket: Socket) -> list[str]:
    """Return the states that the next event lists."""
    frame = await socket.until_custom("inbox", timeout=60.0)
    assert "metadata" not in frame
    return [entry["state"] for entry in frame["value"]["entries"]]


async def follow(socket: Socket) -> list[str]:
    await socket.send({"type": "inbox"})
    return await listed(socket)


async def until(socket: Socket, wanted: list[str]) -> Any:
    while await listed(socket) != wanted:
        pass


async def test_every_window_hears_that_an_answer_runs_and_is_new_until_one_has_seen_it(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    url = uvicorn_server.url
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["One ", gate, "two."])
    async with (
        open_socket(url, user=cast.alice) as asking,
        open_socket(url, user=cast.alice) as other,
        open_socket(url, user=cast.amy) as amy,
        open_socket(url, user=cast.mallory, tenant="globex") as mallory,
    ):
        assert [await follow(one) for one in (other, amy, mallory)] == [[], [], []]
        started = await asking.start("Count")
        await asyncio.to_thread(gate.wait_reached)
        await until(other, ["running"])
        gate.release()
        await asking.until_end(started["runId"])
        await until(other, ["new"])
        await asking.send({"type": "inbox.seen", "threadId": started["threadId"]})
        await until(other, [])
        assert [await follow(one) for one in (amy, mallory)] == [[], []]
        assert not [frame for one in (amy, mallory) for frame in one.frames if "Count" in str(frame)]


async def test_an_approval_needs_its_member_until_it_is_answered(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "current_time", policy="ask")
    fake_provider.call("current_time", {})
    fake_provider.reply("It is late.")
    async with (
        open_socket(uvicorn_server.url, user=cast.alice) as asking,
        open_socket(uvicorn_server.url, user=cast.alice) as other,
    ):
        await follow(other)
        asked = await asking.ask("The time?")
        await until(other, ["needs"])
        interrupt = asked[-1]["outcome"]["interrupts"][0]["id"]
        resume = [{"interruptId": interrupt, "status": "resolved", "payload": {"approved": True}}]
        again = run_input("", thread=asked[0]["threadId"], messages=[], resume=resume)
        await asking.send(again)
        await asking.until_end(again["runId"])
        await until(other, ["new"])


@pytest.mark.parametrize("thread", [None, 7, "no id", ["x"]])
async def test_a_conversation_that_is_none_is_refused(uvicorn_server: Server, cast: Cast, thread: Any) -> None:
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await socket.send({"type": "inbox.seen", "threadId": thread})
        refused = await socket.until_custom("protocol_error")
        assert refused["value"]["code"] == "invalid_frame"
