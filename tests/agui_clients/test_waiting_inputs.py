"""An input that waits for its thread ends with its caller's access, and with its connection if its run would."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from assistant.models import ApiKey, Message, Provider, Run
from tests.agui import text_of
from tests.agui_clients.door import talking
from tests.agui_clients.test_busy_threads import has
from tests.base import Cast
from tests.contrib.metrics.test_metrics import TOKEN, numbers
from tests.fake_provider import FakeProvider
from tests.live import Server, serve
from tests.websocket.test_websocket import until
from tests.ws import open_socket, run_input

pytestmark = pytest.mark.django_db(transaction=True)

QUEUE = {"whenBusy": "queue"}


@pytest.fixture
def counting(transactional_db: None) -> Iterator[Server]:
    """A server of its own that counts its open connections, to which inputs that wait belong."""
    with serve(env={"ASSISTANT_METRICS_TOKEN": TOKEN}) as server:
        yield server


async def until_open(server: Server, count: int) -> None:
    await until(lambda: numbers(server)["assistant_open_connections"] == count)


def revoke_keys() -> None:
    ApiKey.objects.update(revoked_at=timezone.now())


async def test_a_waiting_stream_ends_when_its_key_is_revoked(
    counting: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once upon", gate, " a time"])
    async with (
        open_socket(counting.url, user=cast.alice) as page,
        talking(counting, cast.acme, cast.alice) as talk,
    ):
        first = await page.start("A story, please", thread=talk.thread)
        given = talk.given("And then?", forwardedProps=QUEUE)
        async with talk.client.stream("POST", talk.address, json=given) as answer:
            assert answer.status_code == 200
            await until_open(counting, 2)
            await sync_to_async(revoke_keys)()
            assert "data:" not in (await answer.aread()).decode()  # while the thread is busy
        gate.release()
        await page.until_end(first["runId"])
    assert await Run.objects.acount() == 1 and not await Message.objects.filter(content="And then?").aexists()


async def test_a_key_that_was_revoked_opens_no_run_afterwards(
    counting: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    """The client has gone, so that its connection is watched no more; and no check comes before the thread is free."""
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once upon", gate, " a time"])
    async with open_socket(counting.url, user=cast.alice) as page, talking(counting, cast.acme, cast.alice) as talk:
        first = await page.start("A story, please", thread=talk.thread)
        given = talk.given("And then?", forwardedProps=QUEUE)
        async with talk.client.stream("POST", talk.address, json=given):
            await until_open(counting, 2)
        await sync_to_async(revoke_keys)()
        # Behind the other in the line.
        await page.send(last := run_input("The end?", thread=talk.thread, forwardedProps=QUEUE))
        fake_provider.reply("The end.")
        gate.release()
        await page.until_end(first["runId"])
        assert text_of(await page.until_end(last["runId"])).endswith("The end.")
    assert await Run.objects.acount() == 2 and not await Message.objects.filter(content="And then?").aexists()


@pytest.mark.parametrize("door", ["websocket", "SSE"])
@pytest.mark.parametrize(("on_disconnect", "stays"), [("cancel", False), ("continue", True)])
async def test_an_input_whose_run_would_end_with_the_connection_does_not_wait_without_it(
    door: str,
    on_disconnect: str,
    stays: bool,
    counting: Server,
    cast: Cast,
    provider: Provider,
    fake_provider: FakeProvider,
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Once upon", gate, " a time"])
    fields: dict[str, Any] = {"forwardedProps": {**QUEUE, "onDisconnect": on_disconnect}}
    async with (
        open_socket(counting.url, user=cast.alice) as page,
        talking(counting, cast.acme, cast.alice) as talk,
        AsyncExitStack() as other,
    ):
        first = await page.start("A story, please", thread=talk.thread)
        if door == "SSE":
            given = talk.given("And then?", **fields)
            async with talk.client.stream("POST", talk.address, json=given):
                await until_open(counting, 2)
        else:
            second = await other.enter_async_context(open_socket(counting.url, user=cast.alice))
            await second.send(run_input("And then?", thread=talk.thread, **fields))
            await until_open(counting, 3)
            await second.drop()
        await until_open(counting, 1 + stays)
        fake_provider.reply("They lived happily.")
        gate.release()
        await page.until_end(first["runId"])
        if stays:
            await until(has("finished", "finished"))
    assert await Message.objects.filter(content="And then?").aexists() is stays
