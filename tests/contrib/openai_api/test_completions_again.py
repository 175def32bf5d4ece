"""A completion requested again with the same `Idempotency-Key` has the same answer, and nothing is done twice."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx2
import openai
import pytest

from assistant.models import IdempotentAnswer, Provider, Run
from tests.api.calling import key_of
from tests.base import Cast
from tests.contrib.openai_api.test_completions import HI, PICK, client_of
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.websocket.test_websocket import in_db, until

pytestmark = pytest.mark.django_db(transaction=True)
AGAIN = {"Idempotency-Key": "question-1"}
ASKED: dict[str, Any] = {"model": "support", "messages": HI, "extra_headers": AGAIN}


async def test_the_same_request_gets_the_same_answer(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Once.")
    async with client_of(uvicorn_server, cast) as client:
        first = await client.chat.completions.create(**ASKED)
        again = await client.chat.completions.with_raw_response.create(**ASKED)
        assert again.headers["Idempotent-Replayed"] == "true"
        assert again.parse() == first
        with pytest.raises(openai.ConflictError) as conflict:
            await client.chat.completions.create(**{**ASKED, "temperature": 0.5})
    assert conflict.value.code == "idempotency_conflict"
    assert len(fake_provider.requests) == 1


async def test_a_stream_is_streamed_again(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.call("pick_colour", {"why": "sky"})
    options = {"stream": True, "tools": [PICK], "stream_options": {"include_usage": True}}
    parts = []
    async with client_of(uvicorn_server, cast) as client:
        for _ in range(2):
            stream = await client.chat.completions.create(**ASKED, **options)
            chunks = [chunk async for chunk in stream]
            calls = [call for chunk in chunks for choice in chunk.choices for call in choice.delta.tool_calls or []]
            reasons = [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason]
            parts.append((chunks[0].id, [(call.id, call.function) for call in calls], reasons, chunks[-1].usage))
    assert parts[0] == parts[1]
    assert parts[0][2] == ["tool_calls"]
    assert len(fake_provider.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_a_client_that_disconnected_joins_the_same_run(
    stream: bool, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=[gate, "It goes ", "on."])
    asked = {**ASKED, "stream": stream, **({"stream_options": {"include_usage": True}} if stream else {})}
    async with client_of(uvicorn_server, cast) as client:
        asking = asyncio.create_task(client.chat.completions.create(**asked))
        await asyncio.to_thread(gate.wait_reached)
        with pytest.raises(openai.ConflictError):
            await client.chat.completions.create(**asked)
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
        # The server has noticed: the key is free, and the run is not stopped.
        await until(lambda: not IdempotentAnswer.objects.exists())
        gate.release()
        answer = await client.chat.completions.create(**asked)
        if stream:
            chunks = [chunk async for chunk in answer]
            said = "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices)
            usage = chunks[-1].usage
        else:
            said, usage = answer.choices[0].message.content, answer.usage
    assert said == "It goes on."
    assert usage is not None and usage.completion_tokens > 0
    assert len(fake_provider.requests) == 1
    assert await in_db(Run.objects.values_list("status", flat=True).get)() == "finished"


async def test_an_error_of_a_run_that_was_begun_is_repeated_too(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.respond(400, {"error": {"message": "no"}})
    async with client_of(uvicorn_server, cast) as client:
        for _ in range(2):
            with pytest.raises(openai.APIStatusError) as failed:
                await client.chat.completions.create(**ASKED)
            assert failed.value.code == "provider_error"
            assert failed.value.response.headers["x-should-retry"] == "false"
    assert len(fake_provider.requests) == 1
    assert await in_db(Run.objects.count)() == 1


async def test_a_request_that_was_refused_leaves_its_key_free(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with client_of(uvicorn_server, cast) as client:
        with pytest.raises(openai.NotFoundError):
            await client.chat.completions.create(**{**ASKED, "model": "nobody"})
        with pytest.raises(openai.BadRequestError):
            await client.chat.completions.create(**{**ASKED, "extra_headers": {"Idempotency-Key": "with space"}})
        assert (await client.chat.completions.create(**ASKED)).choices[0].message.content


async def test_another_members_key_gets_another_answer(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with client_of(uvicorn_server, cast) as client:
        first = await client.chat.completions.create(**ASKED)
    key = await in_db(key_of)(cast.globex, cast.mallory)
    async with httpx2.AsyncClient() as web:
        answer = await web.post(
            f"{uvicorn_server.url}/v1/chat/completions",
            headers={"Authorization": f"Bearer {key}", **AGAIN}, json={"model": "support", "messages": HI},
        )  # fmt: skip
    assert answer.status_code == 200
    assert answer.json()["id"] != first.id
