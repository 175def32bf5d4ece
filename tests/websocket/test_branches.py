"""Changed questions, other answers and the switch between them, over the websocket."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.models import Message, Provider
from tests.agui import Frame
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.ws import Socket, open_socket, run_input

pytestmark = [pytest.mark.django_db(transaction=True)]


@pytest.fixture
def server(uvicorn_server: Server) -> Server:
    return uvicorn_server


async def snapshot(socket: Socket, thread: str = "") -> list[dict[str, Any]]:
    """The messages of the next snapshot; with `thread`, after attaching to it."""
    if thread:
        await socket.attach(thread)
    messages: list[dict[str, Any]] = (await socket.until_type("MESSAGES_SNAPSHOT"))[-1]["messages"]
    await socket.until_end()
    return messages


def said(messages: list[dict[str, Any]]) -> list[str]:
    return [message["content"] for message in messages]


def versions(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [about["versions"] for message in messages if "versions" in (about := message.get("metadata", {}))]


async def show(socket: Socket, thread: str, message: str) -> None:
    await socket.send({"type": "show", "threadId": thread, "messageId": message})


async def asked_twice(socket: Socket, provider: FakeProvider) -> tuple[str, Frame]:
    """Ask a question and regenerate its answer; return the thread and the question."""
    provider.reply("One.")
    provider.reply("Two.")
    first = run_input("Hi")
    await socket.send(first)
    await socket.until_end(first["runId"])
    await socket.ask("", thread=first["threadId"], messages=first["messages"])
    return first["threadId"], first["messages"][0]


async def test_another_answer_is_shown_with_its_place_among_all(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with open_socket(server.url, user=cast.alice) as socket:
        thread, _ = await asked_twice(socket, fake_provider)
        messages = await snapshot(socket, thread)
    assert said(messages) == ["Hi", "Two."]
    first = await Message.objects.aget(content="One.")
    assert versions(messages) == [{"number": 2, "of": 2, "previous": first.message_id}]
    assert [one["content"] for one in fake_provider.requests[-1].json["messages"]][1:] == ["Hi"]


async def test_a_switch_is_shown_on_every_connection_and_after_a_reconnect(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with (
        open_socket(server.url, user=cast.alice) as here,
        open_socket(server.url, user=cast.alice) as there,
    ):
        thread, _ = await asked_twice(here, fake_provider)
        end = here.frames[-1]["metadata"]["run"]
        await snapshot(there, thread)
        await show(there, thread, (await Message.objects.aget(content="One.")).message_id)
        for socket in (here, there):
            messages = await snapshot(socket)
            assert said(messages) == ["Hi", "One."]
            assert versions(messages)[0]["number"] == 1
        async with open_socket(server.url, user=cast.alice) as later:
            await later.attach(thread, after=(end["id"], end["seq"]))
            assert said(await snapshot(later)) == ["Hi", "One."]
        fake_provider.reply("Three.")
        await here.ask("And?", thread=thread)
    asked = [one["content"] for one in fake_provider.requests[-1].json["messages"]]
    assert asked[1:] == ["Hi", "One.", "And?"]


async def test_the_running_answer_of_a_branch_is_one_of_its_versions(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with open_socket(server.url, user=cast.alice) as socket:
        thread, question = await asked_twice(socket, fake_provider)
        gate = fake_provider.gate()
        fake_provider.reply(chunks=["Thr", gate, "ee."])
        again = run_input("", thread=thread, messages=[question])
        await socket.send(again)
        await socket.until_type("TEXT_MESSAGE_CONTENT")
        await show(socket, thread, question["id"])
        refused = await socket.until_custom("protocol_error")
        assert refused["value"]["code"] == "thread_busy"
        async with open_socket(server.url, user=cast.alice) as other:
            await other.attach(thread)
            messages = (await other.until_type("MESSAGES_SNAPSHOT"))[-1]["messages"]
        gate.release()
        await socket.until_end(again["runId"])
    assert said(messages) == ["Hi", "Thr"]
    assert versions(messages)[0]["number"] == versions(messages)[0]["of"] == 3


async def test_a_snapshot_ends_as_the_last_run_of_the_path_that_is_shown(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    """An approval that waits there would be asked for again, and none of another path."""
    async with open_socket(server.url, user=cast.alice) as socket:
        thread, _ = await asked_twice(socket, fake_provider)
        await socket.attach(thread)
        *_, end = await socket.until_end()
        await show(socket, thread, (await Message.objects.aget(content="One.")).message_id)
        *_, shown = await socket.until_end()
    assert shown["metadata"]["run"] == end["metadata"]["run"]
    assert shown["runId"] != end["runId"]


async def test_strangers_switch_nothing(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with open_socket(server.url, user=cast.alice) as socket:
        thread, _ = await asked_twice(socket, fake_provider)
        first = await Message.objects.aget(content="One.")
        for user, tenant in ((cast.mallory, "globex"), (cast.amy, "acme")):
            async with open_socket(server.url, user=user, tenant=tenant) as stranger:
                await show(stranger, thread, first.message_id)
                refused = await stranger.until_custom("protocol_error")
                assert refused["value"]["code"] == "thread_not_found"
        assert said(await snapshot(socket, thread)) == ["Hi", "Two."]
