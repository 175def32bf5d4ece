"""Workers, as processes of their own, take runs that web processes have opened."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.conf import settings

from assistant.models import Job, Provider, Run
from tests.agui import custom_name, seq_of, text_of
from tests.base import Cast
from tests.fake_answers import reply
from tests.fake_provider import FakeProvider
from tests.live import Server, serve, test_database_url
from tests.trace_parent import PARENT
from tests.websocket.test_websocket import in_db, until
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
    with web_and_worker(ASSISTANT_RUNS_ON="workers") as (site, worker):
        async with open_socket(site.url, user=cast.alice) as socket:
            frames = await socket.ask("Hello")
        assert text_of(frames) == "Hello"
        assert custom_name(frames[1]) == "run.queued"
        assert [seq_of(frame) for frame in frames] == list(range(1, len(frames) + 1))
        assert "Run ended: finished" in worker.log
        assert "Run ended" not in site.log


async def test_a_run_that_a_worker_takes_stays_in_its_callers_trace(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    with web_and_worker(ASSISTANT_RUNS_ON="workers") as (site, _):
        async with open_socket(site.url, user=cast.alice, headers=PARENT) as socket:
            await socket.ask("Hello")
    sent = fake_provider.requests[-1].headers
    assert (sent["traceparent"], sent["tracestate"]) == (PARENT["traceparent"], PARENT["tracestate"])


async def test_a_run_that_is_queued_when_its_web_process_dies_is_answered_all_the_same(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Hello")
    with serve(env={"ASSISTANT_ROLE": "web", "ASSISTANT_RUNS_ON": "workers"}) as other:
        with serve(env={"ASSISTANT_ROLE": "web", "ASSISTANT_RUNS_ON": "workers"}) as site:
            async with open_socket(site.url, user=cast.alice) as socket:
                asked = await socket.start("Hello", state={"page": "orders"})
                await socket.until_custom("run.queued")
                await until(lambda: Run.objects.filter(checkpoint_seq=2).exists())
                site.kill()
        with serve("worker", env={"ASSISTANT_ROLE": "worker"}):
            async with open_socket(other.url, user=cast.alice) as socket:
                await socket.send(
                    {"type": "attach", "threadId": asked["threadId"], "after": {"runId": asked["runId"], "seq": 2}}
                )
                frames = await socket.until_end(asked["runId"])
    assert text_of(frames) == "Hello"
    assert [seq_of(frame) for frame in frames] == list(range(3, len(frames) + 3))
    assert '"page": "orders"' in fake_provider.requests[-1].last_text
    assert await in_db(lambda: Run.objects.get().client_input)() is None


async def test_a_web_process_that_ends_leaves_its_queue_to_the_others(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("Hello")
    with serve(env={"ASSISTANT_ROLE": "web", "ASSISTANT_RUNS_ON": "workers"}) as site:
        async with open_socket(site.url, user=cast.alice) as socket:
            await socket.start("Hello")
            await socket.until_custom("run.queued")
            await until(lambda: Run.objects.filter(checkpoint_seq=2).exists())
    assert await in_db(lambda: Run.objects.get().status)() == "queued"
    with serve("worker", env={"ASSISTANT_ROLE": "worker"}):
        await until(lambda: Run.objects.filter(status=Run.Status.FINISHED).exists())


async def test_a_run_in_the_shared_queue_can_be_cancelled(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    with serve(env={"ASSISTANT_ROLE": "web", "ASSISTANT_RUNS_ON": "workers"}) as site:
        async with open_socket(site.url, user=cast.alice) as socket:
            asked = await socket.start("Hello")
            await socket.until_custom("run.queued")
            await socket.send({"type": "cancel", "runId": asked["runId"]})
            frames = await socket.until_end(asked["runId"])
    assert frames[-1]["outcome"] == {"type": "cancelled"}
    assert fake_provider.requests == []


async def test_a_run_in_a_worker_is_cancelled_from_the_web(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["Hel", gate, "lo"])
    with web_and_worker(ASSISTANT_RUNS_ON="workers") as (site, _):
        async with open_socket(site.url, user=cast.alice) as socket:
            asked = await socket.start("Hello")
            await socket.until_type("TEXT_MESSAGE_CONTENT")
            await socket.send({"type": "cancel", "runId": asked["runId"]})
            frames = await socket.until_end(asked["runId"])
    assert frames[-1]["outcome"] == {"type": "cancelled"}


async def test_a_web_process_starts_runs_itself_while_it_has_room(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.queue(reply(chunks=["Hel", gate, "lo"]), reply("Hello"))
    with web_and_worker(ASSISTANT_MAX_RUNS="1") as (site, worker):
        async with open_socket(site.url, user=cast.alice) as socket:
            own = await socket.start("Hello")
            await asyncio.to_thread(gate.wait_reached)
            taken = await socket.ask("Hello")
            assert "run.queued" in map(custom_name, taken)
            gate.release()
            await socket.until_end(own["runId"])
        assert site.log.count("Run ended: finished") == worker.log.count("Run ended: finished") == 1


def as_web(*command: str, **env: str) -> None:
    """Run a command of manage.py as a web process would; `env` adds to its environment."""
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "tests.settings",
        "TEST_DATABASE_URL": test_database_url(),
        "TEST_REDIS_URL": settings.ASSISTANT_REDIS_URL,
        "ASSISTANT_ROLE": "web",
        **env,
    }
    subprocess.run(
        [sys.executable, "-m", "django", *command], env=environment, cwd=settings.BASE_DIR, check=True, timeout=300
    )


ORDER = """
from django.utils import timezone
from assistant.models import Tenant
from assistant.contrib.sent_requests.keeping import ERASE_JOB
from assistant.services.jobs.jobs import schedule
schedule(tenant_id={tenant}, name=ERASE_JOB, key="", due_at=timezone.now())
"""


async def test_a_worker_does_a_job_that_a_command_has_scheduled(cast: Cast) -> None:
    with serve("worker", env={"ASSISTANT_ROLE": "worker"}) as worker:
        order = ORDER.format(tenant=cast.acme.pk)
        # Where PostgreSQL limits statements to tenants, each is sent with the setting of these.
        await asyncio.to_thread(as_web, "shell", "-v", "0", "-c", order, ASSISTANT_ROW_LEVEL_SECURITY="true")
        await until(lambda: Job.objects.filter(state=Job.State.DONE).exists())
        assert worker.stop() == -signal.SIGTERM  # as uvicorn ends, after its lifespan
