"""Runs survive killed processes, second processes and restarts."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request

import pytest

from assistant.models import Message, Provider, Run, ToolCall
from tests.agui import numbered, seq_of, text_of
from tests.base import Cast
from tests.fake_answers import reply
from tests.fake_provider import FakeProvider
from tests.live import Server, serve
from tests.websocket.test_websocket import in_db, until
from tests.ws import open_socket

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]

# Runs of dead processes end; `test_resumed_processes` has those that go on.
ENDING = {"ASSISTANT_RUN_RESUMES": "0"}
# A dead process's lease lasts 15 s, and dead runs are looked for every few seconds; a busy machine takes longer.
RECOVERY = 80.0


def is_valid(messages: list[dict[str, object]]) -> bool:
    """Whether every call of a request has exactly one result, right after the message that made it."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return False
            waiting.remove(str(message["tool_call_id"]))
            continue
        if waiting:
            return False
        waiting = [call["id"] for call in message.get("tool_calls", [])]  # type: ignore[attr-defined]
    return not waiting


async def test_a_killed_process_loses_at_most_a_second(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once upon a time", gate, " and so on"])
    with serve() as doomed:
        async with open_socket(doomed.url, user=cast.alice) as socket:
            started = await socket.start("Tell me")
            await socket.until_type("TEXT_MESSAGE_CONTENT")
            await until(lambda: Run.objects.filter(checkpoint_seq__gt=0).exists())
            doomed.kill()
    with serve(env=ENDING) as heir:
        run = await until(lambda: Run.objects.filter(status=Run.Status.INTERRUPTED).first(), RECOVERY)
        assert run.error_code == "interrupted"
        async with open_socket(heir.url, user=cast.alice) as socket:
            await socket.attach(started["threadId"])
            picture = await socket.until_end()
            assert picture[-1]["code"] == "interrupted"
            assert picture[1]["messages"][-1]["content"] == "Once upon a time"
            assert text_of(await socket.ask("Go on", thread=started["threadId"]))
    assert (await Message.objects.aget(is_partial=True)).content == "Once upon a time"


async def test_a_process_killed_during_a_tool_call_leaves_valid_history(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.call("wait_for_ever", {})
    environment = {"DJANGO_SETTINGS_MODULE": "tests.settings_slow_tool", **ENDING}
    with serve(env=environment) as doomed:
        async with open_socket(doomed.url, user=cast.alice) as socket:
            started = await socket.start("Wait")
            await until(lambda: ToolCall.objects.filter(status=ToolCall.Status.RUNNING).exists())
            await until(lambda: Run.objects.filter(checkpoint_seq__gt=0).exists())
            doomed.kill()
    with serve(env=environment) as heir:
        await until(lambda: Run.objects.filter(status=Run.Status.INTERRUPTED).exists(), RECOVERY)
        async with open_socket(heir.url, user=cast.alice) as socket:
            assert text_of(await socket.ask("And now?", thread=started["threadId"]))
    assert is_valid(fake_provider.requests[-1].json["messages"])
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.INTERRUPTED


async def test_a_server_that_shuts_down_lets_runs_finish(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    with serve() as server:
        async with open_socket(server.url, user=cast.alice) as socket:
            await socket.start("Hi")
            await socket.until_type("TEXT_MESSAGE_CONTENT")
            stopped = asyncio.create_task(asyncio.to_thread(server.stop))
            await socket.closed()
        gate.release()
        await stopped
    assert (await Run.objects.aget()).status == Run.Status.FINISHED
    assert (await Message.objects.aget(role="assistant")).content == "Hello"


@pytest.mark.services
async def test_two_processes_serve_one_thread(
    two_servers: tuple[Server, Server], cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    here, there = two_servers
    async with (
        open_socket(here.url, user=cast.alice) as first,
        open_socket(there.url, user=cast.alice) as second,
    ):
        started = await first.start("Hi")
        seen = (await first.until_type("TEXT_MESSAGE_CONTENT"))[-1]
        await second.attach(started["threadId"], after=(started["runId"], 0))
        await second.until_type("TEXT_MESSAGE_CONTENT")
        gate.release()
        await first.until_end()
        await second.until_end()
    assert numbered(first.frames) == numbered(second.frames)
    assert seq_of(seen) > 0


@pytest.mark.services
async def test_a_run_is_cancelled_from_another_process(
    two_servers: tuple[Server, Server], cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once", gate])
    here, there = two_servers
    async with (
        open_socket(here.url, user=cast.alice) as first,
        open_socket(there.url, user=cast.alice) as second,
    ):
        started = await first.start("Tell me")
        await first.until_type("TEXT_MESSAGE_CONTENT")
        await second.cancel(started["runId"])
        frames = await first.until_end()
    assert frames[-1]["outcome"]["type"] == "cancelled"


async def test_many_chats_at_once_on_one_process(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.rule(reply("ok"))

    async def chat() -> str:
        async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
            return text_of(await socket.ask("Hi", timeout=60))

    assert await asyncio.gather(*(chat() for _ in range(50))) == ["ok"] * 50
    assert await in_db(Run.objects.filter(status=Run.Status.FINISHED).count)() == 50


async def test_daphne_finishes_its_runs_before_it_ends(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    with serve("daphne") as server:
        async with open_socket(server.url, user=cast.alice) as socket:
            await socket.start("Hi")
            await socket.until_type("TEXT_MESSAGE_CONTENT")
            stopped = asyncio.create_task(asyncio.to_thread(server.stop))
            while (ready := await asyncio.to_thread(readiness, server)) != 503:
                assert ready in {200, None}
                await asyncio.sleep(0.05)
            gate.release()
            await socket.until_end()
        await stopped
    assert (await Run.objects.aget()).status == Run.Status.FINISHED


def readiness(server: Server) -> int | None:
    """What a load balancer is told; None: nothing, as daphne drops the requests it is at when it is asked to end."""
    try:
        with urllib.request.urlopen(f"{server.url}/readyz", timeout=2) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as exc:
        return exc.code
    except TimeoutError:
        return None
