"""Event streams and completions end cleanly when their server restarts."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import openai
import pytest

from assistant.models import Provider, Run
from tests.agui import check_run, text_of
from tests.api.test_event_streams import RUNS, bearer, events_of, http
from tests.base import Cast
from tests.contrib.openai_api.test_completions import HI, client_of
from tests.fake_provider import FakeProvider
from tests.live import Server, serve
from tests.websocket.test_websocket import until
from tests.ws import run_input

pytestmark = pytest.mark.django_db(transaction=True)

AGAIN = {"Idempotency-Key": "question-1"}
Serving = Callable[[str], Server]


@pytest.fixture
def serving(transactional_db: None) -> Iterator[Serving]:
    """Starts servers as docs/production.md says, of an application."""
    with ExitStack() as stack:
        env = {"UVICORN_TIMEOUT_GRACEFUL_SHUTDOWN": "10"}
        yield lambda application: stack.enter_context(serve(application=application, env=env))


@pytest.fixture
def leaving(serving: Serving) -> Server:
    """A server that ends its streams soon after it is asked to end."""
    return serving("tests.api.hurried_asgi:application")


@pytest.fixture
def patient(serving: Serving) -> Server:
    return serving("config.asgi:application")


def ask_to_end(server: Server) -> None:
    server.process.send_signal(signal.SIGTERM)


async def test_a_stream_ends_cleanly_and_is_resumed_elsewhere(
    leaving: Server, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    given, headers, seen = run_input("Hi"), await bearer(cast), ""
    async with (
        http(leaving, **headers) as client,
        client.stream("POST", RUNS.format(tenant="acme"), json=given) as answer,
    ):
        async for piece in answer.aiter_text():
            seen += piece
            if "TEXT_MESSAGE_CONTENT" in piece:
                ask_to_end(leaving)
    assert "RUN_ERROR" not in seen and ": The server restarts" in seen
    gate.release()
    await until(Run.objects.filter(status=Run.Status.FINISHED).exists)
    last = str(events_of(seen)[-1][0])
    async with http(uvicorn_server, **headers) as client:
        address = f"/api/v1/tenants/acme/runs/{given['runId']}/events/"
        rest = await client.get(address, headers={"Last-Event-ID": last})
    assert '"RUN_FINISHED"' in rest.text and "lo" in rest.text
    assert await asyncio.to_thread(leaving.stop, 30) in {0, -signal.SIGTERM}


async def test_a_stream_whose_run_ends_in_time_is_complete(
    patient: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    async with http(patient, **await bearer(cast)) as client:
        asking = asyncio.create_task(client.post(RUNS.format(tenant="acme"), json=run_input("Hi")))
        await asyncio.to_thread(gate.wait_reached)
        ask_to_end(patient)
        gate.release()
        frames = [frame for _, frame in events_of((await asking).text)]
    check_run(frames)
    assert text_of(frames) == "Hello"


@pytest.mark.parametrize("stream", [False, True])
async def test_a_completion_that_ends_in_time_is_complete(
    stream: bool, patient: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    async with client_of(patient, cast) as client:
        asking = asyncio.create_task(_ask(client, stream=stream))
        await asyncio.to_thread(gate.wait_reached)
        ask_to_end(patient)
        gate.release()
        assert await asking == "Hello"


@pytest.mark.parametrize("stream", [False, True])
async def test_a_longer_completion_is_a_typed_error_and_its_run_continues(
    stream: bool, leaving: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    async with client_of(leaving, cast) as client:
        asking = asyncio.create_task(_ask(client, stream=stream))
        await asyncio.to_thread(gate.wait_reached)
        ask_to_end(leaving)
        with pytest.raises(openai.APIError) as failed:
            await asking
    assert failed.value.code == "interrupted" and "server restarts" in failed.value.message
    gate.release()
    await until(Run.objects.filter(status=Run.Status.FINISHED).exists)


async def test_a_completion_with_a_key_is_joined_elsewhere(
    leaving: Server, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    async with client_of(leaving, cast) as client:
        asking = asyncio.create_task(_ask(client, stream=True, extra_headers=AGAIN))
        await asyncio.to_thread(gate.wait_reached)
        ask_to_end(leaving)
        with pytest.raises(openai.APIError):
            await asking
        gate.release()
        elsewhere = client.with_options(base_url=f"{uvicorn_server.url}/v1")
        assert await _ask(elsewhere, stream=True, extra_headers=AGAIN) == "Hello"
    assert len(fake_provider.requests) == 1


async def _ask(client: openai.AsyncOpenAI, **options: Any) -> str:
    answer: Any = await client.chat.completions.create(model="support", messages=HI, **options)
    if not options["stream"]:
        return str(answer.choices[0].message.content)
    return "".join([chunk.choices[0].delta.content or "" async for chunk in answer])
