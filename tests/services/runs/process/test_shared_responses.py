"""Responses of the Responses API that are begun in one process, and read, followed, stopped and repeated in another."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import openai
import pytest

from assistant.models import Provider, Run
from tests.base import Cast
from tests.contrib.openai_api.responses.test_responses import assert_same
from tests.contrib.openai_api.test_completions import client_of
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server, serve
from tests.websocket.test_websocket import in_db, until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.services]
HI: Any = {"model": "support", "input": "Hi"}
WAYS = {"two of all": {}, "web and worker": {"ASSISTANT_ROLE": "web", "ASSISTANT_RUNS_ON": "workers"}}


@contextmanager
def two_sites(way: str) -> Iterator[tuple[Server, Server]]:
    """Two processes that serve callers; in one of the ways with a worker beside them, which runs are left to."""
    env = WAYS[way]
    with serve(env=env) as one, serve(env=env) as other:
        if not env:
            yield one, other
            return
        with serve("worker", env={"ASSISTANT_ROLE": "worker"}):
            yield one, other


@pytest.mark.parametrize("way", WAYS)
async def test_a_response_is_followed_read_and_repeated_in_another_process(
    way: str, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["One ", "two ", gate, "three"])
    once: Any = {"extra_headers": {"Idempotency-Key": "once"}}
    with two_sites(way) as (one, other):
        async with client_of(one, cast) as here, client_of(other, cast) as there:
            begun = await here.responses.create(background=True, **HI, **once)
            assert begun.status in ("queued", "in_progress")
            await asyncio.to_thread(gate.wait_reached)
            assert (await there.responses.retrieve(begun.id)).status == "in_progress"
            with pytest.raises(openai.ConflictError):
                await there.responses.delete(begun.id)
            assert (await there.responses.create(background=True, **HI, **once)).id == begun.id
            seen: list[Any] = []
            async for event in await there.responses.retrieve(begun.id, stream=True):
                seen.append(event)
                if event.type == "response.output_text.delta":
                    gate.release()
            rest = [one async for one in await here.responses.retrieve(begun.id, stream=True, starting_after=3)]
            assert [one.to_dict() for one in rest[:-1]] == [one.to_dict() for one in seen[4:-1]]
            assert rest[-1].type == seen[-1].type == "response.completed"
            assert_same(rest[-1].response, seen[-1].response)
            assert seen[-1].response.output_text == "One two three"
            assert (await there.responses.retrieve(begun.id)).output_text == "One two three"
            items = await there.responses.input_items.list(begun.id)
            assert items.data[0].content[0].text == "Hi"  # type: ignore[union-attr]
    assert await in_db(Run.objects.count)() == 1


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("conversation", [None, "c"], ids=["alone", "in a conversation"])
async def test_a_response_is_stopped_from_another_process(
    conversation: str | None, way: str, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    with two_sites(way) as (one, other):
        async with client_of(one, cast) as here, client_of(other, cast) as there:
            begun = await here.responses.create(background=True, conversation=conversation, **HI)
            await asyncio.to_thread(gate.wait_reached)
            stopped = await there.responses.cancel(begun.id)
            assert stopped.status == "cancelled"
            assert (await here.responses.retrieve(begun.id)).status == "cancelled"
            events = [one async for one in await there.responses.retrieve(begun.id, stream=True)]
    assert events[-1].response.status == "cancelled"  # type: ignore[union-attr]


async def test_a_conversation_goes_on_in_another_process(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "calculate", "ask")
    fake_provider.call("calculate", {"expression": "6*7"})
    fake_provider.reply("42.")
    with two_sites("web and worker") as (one, other):
        async with client_of(one, cast) as here, client_of(other, cast) as there:
            asked = await here.responses.create(conversation="c", **HI)
            answer: Any = {
                "type": "mcp_approval_response", "approval_request_id": asked.output[-1].id, "approve": True,
            }  # fmt: skip
            done = await there.responses.create(model="support", input=[answer], conversation="c")
            assert done.output_text == "42."
            assert (await here.responses.retrieve(done.id)).output_text == "42."


async def test_a_response_whose_process_is_killed_has_failed_elsewhere(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    with serve() as other, serve() as one:
        async with client_of(one, cast) as here, client_of(other, cast) as there:
            begun = await here.responses.create(background=True, **HI)
            await asyncio.to_thread(gate.wait_reached)
            one.kill()
            await until(lambda: Run.objects.filter(status=Run.Status.INTERRUPTED).exists(), 60)
            gone = await there.responses.retrieve(begun.id)
            assert gone.status == "failed" and gone.error is not None and gone.error.code == "interrupted"
            events = [one async for one in await there.responses.retrieve(begun.id, stream=True)]
    assert events[-1].type == "response.failed"
