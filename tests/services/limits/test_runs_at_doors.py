"""Runs at once at every door: the queue and the refusal, in the door's own shape and with a time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx2
import openai
import pytest

from assistant.contrib.openai_api.api.shapes import Answer, CompletionFailed, CompletionHeader
from assistant.core.values.events import Custom, Event, RunError, RunStarted
from assistant.models import Provider, Run
from assistant.services.eventlog.frames import FrameEncoder
from assistant.services.eventlog.log import Entry
from assistant.services.limits.runs_at_once import RETRY_SECONDS
from assistant.services.tenancy.members import create_api_key
from tests.agui import Frame, check_run, run_of
from tests.base import Cast
from tests.fake_answers import Gate, reply
from tests.fake_provider import FakeProvider
from tests.live import Server, serve
from tests.services.limits.test_quotas_at_doors import DOORS, key_of_alice, limit
from tests.websocket.test_websocket import in_db, until
from tests.ws import Socket, open_socket, run_input

pytestmark = pytest.mark.django_db(transaction=True)


@asynccontextmanager
async def full(server: Server, cast: Cast, fake_provider: FakeProvider) -> AsyncIterator[tuple[Socket, Frame, Gate]]:
    """Alice's connection with one run, her limit, and a queued one; the input of that, and the gate of the first."""
    await in_db(limit)(cast, member_runs=1)
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    async with open_socket(server.url, user=cast.alice) as socket:
        await socket.start("Hello")
        await asyncio.to_thread(gate.wait_reached)
        queued = run_input("And again")
        await socket.send(queued)
        await socket.until_custom("run.queued")
        yield socket, queued, gate
        gate.release()


async def test_a_queued_run_is_told_and_then_answered(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with full(server, cast, fake_provider) as (socket, queued, gate):
        told = next(frame for frame in socket.frames if frame.get("name") == "run.queued")
        assert (told["value"]["ahead"], told["metadata"]["run"]["seq"]) == (0, 2)
        async with open_socket(server.url, user=cast.alice) as other:
            await other.attach(queued["threadId"])
            await other.until_type("RUN_STARTED", "MESSAGES_SNAPSHOT")
        gate.release()
        await socket.until_end(queued["runId"])
        frames = [frame for frame in socket.frames if run_of(frame) == queued["runId"]]
    check_run(frames)
    assert [frame["type"] for frame in frames[:2]] == ["RUN_STARTED", "CUSTOM"]
    assert frames[-1]["type"] == "RUN_FINISHED"


async def test_a_run_beyond_the_queue_is_refused_over_the_websocket(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with full(uvicorn_server, cast, fake_provider) as (socket, queued, gate):
        await socket.send(given := run_input("Once more"))
        refusal = (await socket.until_end(given["runId"]))[-1]
        assert (refusal["type"], refusal["code"]) == ("RUN_ERROR", "limit_reached")
        assert refusal["metadata"]["resetsAt"]
        # A rival is not affected.
        async with open_socket(uvicorn_server.url, user=cast.mallory, tenant="globex") as rival:
            assert (await rival.ask("Hello"))[-1]["type"] == "RUN_FINISHED"
        await socket.cancel(queued["runId"])
        end = (await socket.until_end(queued["runId"]))[-1]
        assert end["outcome"] == {"type": "cancelled"}
        gate.release()
        await socket.until_end()
    assert await Run.objects.filter(tenant=cast.acme).acount() == 2


@pytest.mark.parametrize("door", DOORS)
async def test_a_run_beyond_the_queue_is_refused_at_every_door(
    door: str, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    key = await in_db(key_of_alice)(cast)
    async with full(uvicorn_server, cast, fake_provider):
        answer = await asyncio.to_thread(DOORS[door], uvicorn_server.url, key)
        assert "You have 1 run at once, the most allowed, and as many wait." in answer.text
        if door == "SSE":
            event = json.loads(answer.text.split("data: ")[2])
            assert (event["type"], event["code"]) == ("RUN_ERROR", "limit_reached")
            assert event["metadata"]["resetsAt"]
            return
        assert answer.status_code == 429
        assert 0 < int(answer.headers["Retry-After"]) <= RETRY_SECONDS
        error = answer.json().get("error", answer.json())
        assert error["code"] == {"REST": "limit_reached", "/v1": "rate_limit_exceeded"}[door]
        if door == "/v1":
            assert (error["type"], "x-should-retry" in answer.headers) == ("rate_limit_error", False)
            client = openai.OpenAI(base_url=f"{uvicorn_server.url}/v1", api_key=key, max_retries=0)
            with pytest.raises(openai.RateLimitError):
                await asyncio.to_thread(
                    client.chat.completions.create, model="support", messages=[{"role": "user", "content": "Hello"}]
                )


@pytest.mark.parametrize("door", DOORS)
async def test_a_queued_run_is_answered_at_every_door(
    door: str, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    key = await in_db(key_of_alice)(cast)
    await in_db(limit)(cast, member_runs=1)
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await socket.start("Hello")
        asking = asyncio.create_task(asyncio.to_thread(DOORS[door], uvicorn_server.url, key))
        await until(lambda: Run.objects.filter(status=Run.Status.QUEUED).exists())
        gate.release()
        answer = await asking
    assert answer.status_code in {200, 201}
    assert ("run.queued" in answer.text) == (door == "SSE")
    assert not await Run.objects.exclude(status=Run.Status.FINISHED).aexists()


async def test_the_runs_of_a_key_are_counted_and_named(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    row, key = await in_db(create_api_key)(tenant=cast.acme, user=cast.alice, name="one", runs_at_once=1)
    gate = fake_provider.gate()
    fake_provider.queue(*(reply(chunks=["Hel", gate, "lo"]) for _ in range(2)))
    async with open_socket(uvicorn_server.url, key=key) as socket:
        await socket.start("Hello")
        await socket.send(run_input("Hello"))
        await socket.until_custom("run.queued")
        await socket.send(given := run_input("Hello"))
        refusal = (await socket.until_end(given["runId"]))[-1]
        assert refusal["message"].startswith("This key has 1 run at once")
        gate.release()
    assert await Run.objects.filter(api_key=row).acount() == 2


async def test_a_queued_run_whose_process_is_killed_goes_on_in_another(
    transactional_db: None, cast: Cast, provider: Provider, fake_provider: FakeProvider, uvicorn_server: Server
) -> None:
    with serve() as dying:
        async with full(dying, cast, fake_provider) as (_, queued, _):
            dying.kill()
            fake_provider.rule(reply("Hello"))
        await until(lambda: Run.objects.filter(run_id=queued["runId"], status="finished").first(), timeout=60)
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await socket.attach(queued["threadId"])
        end = (await socket.until_end(queued["runId"]))[-1]
    assert end["type"] == "RUN_FINISHED"


@pytest.mark.services
async def test_a_queued_run_starts_when_a_run_has_ended_in_another_process(
    two_servers: tuple[Server, Server], cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    here, there = two_servers
    await in_db(limit)(cast, tenant_runs=1)
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    async with open_socket(here.url, user=cast.alice) as alice, open_socket(there.url, user=cast.amy) as amy:
        await alice.start("Hello")
        await amy.send(given := run_input("Hello"))
        await amy.until_custom("run.queued")
        gate.release()
        assert (await amy.until_end(given["runId"]))[-1]["type"] == "RUN_FINISHED"


@pytest.mark.services
async def test_a_limit_holds_over_two_processes(
    two_servers: tuple[Server, Server], cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(limit)(cast, member_runs=3)
    gate = fake_provider.gate()
    fake_provider.queue(*(reply(chunks=["Hel", gate, "lo"]) for _ in range(6)))
    sockets = []
    async with (
        open_socket(two_servers[0].url, user=cast.alice) as one,
        open_socket(two_servers[1].url, user=cast.alice) as other,
    ):
        sockets = [one, other]
        inputs = [run_input("Hello") for _ in range(20)]
        await asyncio.gather(*(sockets[number % 2].send(given) for number, given in enumerate(inputs)))
        codes: list[str] = []

        async def collect(socket: Socket) -> None:
            while True:
                codes.append((await socket.until_type("RUN_ERROR"))[-1]["code"])

        collecting = [asyncio.create_task(collect(socket)) for socket in sockets]
        # Once all of the 20 are answered: one that came after the others have ended would be admitted.
        await until(lambda: len(codes) == 14)
        for task in collecting:
            task.cancel()
        assert set(codes) == {"limit_reached"}
        statuses = [status async for status in Run.objects.order_by("pk").values_list("status", flat=True)]
        assert sorted(statuses) == ["queued"] * 3 + ["running"] * 3
        gate.release()
        await until(lambda: Run.objects.filter(status="finished").count() == 6)


async def test_a_completion_that_ended_in_the_queue_is_answered_when_it_is_sent_again(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    key = await in_db(key_of_alice)(cast)
    await in_db(limit)(cast, member_runs=1)
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    fake_provider.reply("Hello again")
    with serve(env={"ASSISTANT_RUN_QUEUE_SECONDS": "1"}) as server:

        def complete() -> httpx2.Response:
            body = {"model": "support", "messages": [{"role": "user", "content": "Hello"}]}
            headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": "k1"}
            return httpx2.post(f"{server.url}/v1/chat/completions", json=body, headers=headers, timeout=30)

        async with open_socket(server.url, user=cast.alice) as socket:
            await socket.start("Hello")
            await until(lambda: Run.objects.filter(status=Run.Status.RUNNING).exists())
            assert (await asyncio.to_thread(complete)).status_code == 429
            gate.release()
            await until(lambda: Run.objects.filter(status=Run.Status.FINISHED).exists())
        again = await asyncio.to_thread(complete)
    assert (again.status_code, again.json()["choices"][0]["message"]["content"]) == (200, "Hello again")


def entries(*events: Event) -> list[Entry]:
    encoder = FrameEncoder(run_id="r", thread="t")
    return [Entry(1, seq, encoder.frame(event, seq)) for seq, event in enumerate(events, start=1)]


@pytest.mark.parametrize(("is_queued", "status"), [(True, 429), (False, 400)])
def test_a_completion_that_waited_too_long_may_be_asked_for_again(is_queued: bool, status: int) -> None:
    queued = [Custom("run.queued", {"ahead": 0})] if is_queued else []
    answer = Answer(CompletionHeader("r", "m", 0))
    with pytest.raises(CompletionFailed) as failed:
        for entry in entries(RunStarted("t", "r", "1.0"), *queued, RunError("Waited.", code="limit_reached")):
            list(answer.take(entry))
    response = failed.value.response()
    assert response.status_code == status
    assert response.headers.get("Retry-After") == (str(RETRY_SECONDS) if is_queued else None)
    assert ("x-should-retry" in response) != is_queued
