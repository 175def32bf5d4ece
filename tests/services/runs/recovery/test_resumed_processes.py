"""Runs go on in another server process after the first was killed or stopped; attached clients miss nothing."""

from __future__ import annotations

import asyncio

import pytest

from assistant.models import Message, Provider, Run, ToolCall
from tests.agui import check_run, run_of, seq_of, text_of
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import Server, serve
from tests.services.runs.recovery.test_recovery import RECOVERY, is_valid
from tests.websocket.test_websocket import until
from tests.ws import open_socket, run_input

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]


async def test_a_client_that_attaches_gets_the_rest_of_a_killed_processs_run(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once upon", gate])
    fake_provider.reply("Once upon a time.")
    with serve() as doomed:
        async with open_socket(doomed.url, user=cast.alice) as socket:
            started = await socket.start("Tell me")
            await socket.until_type("TEXT_MESSAGE_CONTENT")
            seen = max(map(seq_of, socket.frames))
            await until(lambda: "Once upon" in str(Run.objects.get().partial))
            doomed.kill()
    with serve() as heir:
        async with open_socket(heir.url, user=cast.alice) as socket:
            await socket.attach(started["threadId"], after=(started["runId"], seen))
            frames = await socket.until_end(timeout=RECOVERY)
            # A snapshot has the answer if it was there before the client was.
            shown = [one["messages"][-1] for one in frames if one["type"] == "MESSAGES_SNAPSHOT"]
            told = text_of(frames) or shown[-1]["content"]
            assert frames[-1]["type"] == "RUN_FINISHED" and told.endswith("Once upon a time.")
            await socket.attach(started["threadId"])
            picture = (await socket.until_end())[1]["messages"]
    cut, answer = picture[-2:]
    assert (cut["content"], cut["metadata"]) == ("Once upon", {"partial": True, "superseded": True})
    assert "metadata" not in answer and len(fake_provider.requests) == 2


async def test_a_call_with_an_effect_that_was_cut_waits_for_a_person(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.call("wait_for_ever", {})
    environment = {"DJANGO_SETTINGS_MODULE": "tests.settings_slow_tool"}
    with serve(env=environment) as doomed:
        async with open_socket(doomed.url, user=cast.alice) as socket:
            started = await socket.start("Wait")
            await until(lambda: ToolCall.objects.filter(status=ToolCall.Status.RUNNING).exists())
            await until(lambda: "wait_for_ever" in str(Run.objects.get().partial))
            doomed.kill()
    fake_provider.reply("I leave it.")
    with serve(env=environment) as heir:
        run = await until(lambda: Run.objects.filter(status=Run.Status.WAITING).first(), RECOVERY)
        asked = run.ending["outcome"]["interrupts"][0]
        declined = [{"interruptId": asked["id"], "status": "resolved", "payload": {"approved": False}}]
        async with open_socket(heir.url, user=cast.alice) as socket:
            await socket.send(answer := run_input("", thread=started["threadId"], messages=[], resume=declined))
            assert text_of(await socket.until_end(answer["runId"])) == "I leave it."
    assert is_valid(fake_provider.requests[-1].json["messages"])


async def test_a_run_of_a_stopped_process_goes_on_after_the_restart(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once upon", gate])
    fake_provider.reply("Once upon a time.")
    with serve() as stopping:
        async with open_socket(stopping.url, user=cast.alice) as socket:
            await socket.start("Tell me")
            await socket.until_type("TEXT_MESSAGE_CONTENT")
            await asyncio.to_thread(stopping.stop, 40)
    assert (await Run.objects.aget()).lease_owner == "handed over"
    with serve():
        run = await until(lambda: Run.objects.filter(status=Run.Status.FINISHED).first(), RECOVERY)
    assert [one["handedOver"] for one in run.resumes] == [True]
    assert (await Message.objects.aget(is_superseded=False, role="assistant")).content == "Once upon a time."


@pytest.mark.services
async def test_a_client_of_another_process_sees_one_continuous_run(
    two_servers: tuple[Server, Server], cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["every", " word", gate])
    fake_provider.reply("every word again")
    doomed, heir = two_servers
    async with (
        open_socket(doomed.url, user=cast.alice) as first,
        open_socket(heir.url, user=cast.alice) as second,
    ):
        started = await first.start("Hi")
        await second.attach(started["threadId"], after=(started["runId"], 0))
        await second.until(lambda frame: text_of(second.frames) == "every word")
        doomed.kill()
        frames = await second.until_end(timeout=RECOVERY)
    assert frames[-1]["type"] == "RUN_FINISHED"
    check_run([frame for frame in second.frames if run_of(frame)])
    assert text_of(second.frames) == "every wordevery word again"
