"""Workers, as processes of their own, take runs that web processes have opened."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from assistant.models import Provider
from tests.agui import custom_name, seq_of, text_of
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import Server, serve
from tests.ws import open_socket

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.services]


@contextmanager
def web_and_worker(**web: str) -> Iterator[tuple[Server, Server]]:
    with (
        serve(env={"ASSISTANT_ROLE": "web", **web}) as site,
        serve("worker", env={"ASSISTANT_ROLE": "worker"}) as worker,
    ):
        yield site, worker


async def test_a_worker_takes_a_run_that_a_web_process_opened(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply(chunks=["Hel", "lo"])
    with web_and_worker(RUNS_ON="workers") as (site, worker):
        async with open_socket(site.url, user=cast.alice) as socket:
            frames = await socket.ask("Hello")
        assert text_of(frames) == "Hello"
        assert custom_name(frames[1]) == "run.queued"
        assert [seq_of(frame) for frame in frames] == list(range(1, len(frames) + 1))
        assert "Run ended: finished" in worker.log
        assert "Run ended" not in site.log
