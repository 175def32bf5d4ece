"""Runs are cancelled if their member loses access, and a deletion waits until running runs have ended."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import redis
from django.conf import settings
from django.utils import timezone

from assistant.models import Conversation, Membership, Provider, Run
from assistant.services.privacy.erasure import erase_tenant
from assistant.services.runs import cancelling
from assistant.services.runs.cancelling import cancel_runs_and_wait, cancel_runs_without_access
from tests.agui import Frame
from tests.base import Cast
from tests.factories import make_conversation, make_run
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.redis_log import STREAM
from tests.websocket.test_websocket import in_db
from tests.ws import Socket, open_socket

pytestmark = pytest.mark.django_db(transaction=True)


def suspend(cast: Cast) -> None:
    cast.acme.is_active = False
    cast.acme.save()


def disable(cast: Cast) -> None:
    cast.alice.is_active = False
    cast.alice.save()


def remove(cast: Cast) -> None:
    Membership.objects.filter(tenant=cast.acme, user=cast.alice).delete()


def switch_off(cast: Cast) -> None:
    cast.support.is_active = False
    cast.support.save()


ENDS = (suspend, disable, remove, switch_off)


async def long_run_input(socket: Socket, fake_provider: FakeProvider) -> Frame:
    """The input of a run that has begun an answer of half a minute."""
    fake_provider.reply(chunks=["secret "] * 3_000, delay=0.01)
    started = await socket.start("Go on and on")
    await socket.until_type("TEXT_MESSAGE_CONTENT")
    return started


def running(cast: Cast, **fields: Any) -> Run:
    """A run of Alice's, on which the process "me" works."""
    held = {"lease_owner": "me", "lease_until": timezone.now() + timedelta(seconds=15), **fields}
    return make_run(make_conversation(cast.alice, cast.support), status=Run.Status.RUNNING, **held)


@pytest.mark.parametrize("end", ENDS)
def test_losing_access_cancels_that_run_and_no_other(cast: Cast, end: Callable[[Cast], None]) -> None:
    mine, elsewhere = running(cast), running(cast, lease_owner="another")
    rivals = make_run(make_conversation(cast.mallory, cast.rival_support), status=Run.Status.RUNNING, lease_owner="me")
    runs = [mine.pk, elsewhere.pk, rivals.pk]
    assert cancel_runs_without_access(owner="me", runs=runs) == []
    end(cast)
    assert cancel_runs_without_access(owner="me", runs=runs) == [mine.pk]
    asked = Run.objects.exclude(cancel_requested_at=None)
    assert [run.pk for run in asked] == [mine.pk]


@pytest.mark.parametrize("end", ENDS)
async def test_the_answer_to_a_member_who_lost_access_is_cancelled(
    uvicorn_server: Server,
    cast: Cast,
    provider: Provider,
    fake_provider: FakeProvider,
    end: Callable[[Cast], None],
) -> None:
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        started = await long_run_input(socket, fake_provider)
    began = time.monotonic()
    await in_db(end)(cast)
    run = await in_db(Run.objects.get)(run_id=started["runId"])
    while run.status == Run.Status.RUNNING and time.monotonic() - began < 25:
        await in_db(time.sleep)(0.2)
        await in_db(run.refresh_from_db)()
    assert run.status == Run.Status.CANCELLED


def test_a_deletion_waits_for_running_runs(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    run = running(cast)

    def end(_: float) -> None:
        assert Run.objects.get().cancel_requested_at is not None
        Run.objects.update(status=Run.Status.CANCELLED)

    monkeypatch.setattr(cancelling.time, "sleep", end)
    cancel_runs_and_wait(tenant_id=run.tenant_id)
    assert Run.objects.get().status == Run.Status.CANCELLED


def test_a_deletion_does_not_wait_for_runs_of_a_dead_process(cast: Cast, monkeypatch: pytest.MonkeyPatch) -> None:
    run = running(cast, lease_until=timezone.now() - timedelta(seconds=1))
    monkeypatch.setattr(cancelling.time, "sleep", lambda _: pytest.fail("waited for nobody"))
    cancel_runs_and_wait(tenant_id=run.tenant_id)


@pytest.mark.services
async def test_deleting_a_tenant_during_a_run_leaves_nothing_in_redis(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await long_run_input(socket, fake_provider)
        thread = await in_db(Conversation.objects.get)()
        await in_db(erase_tenant)(tenant=cast.acme, actor=None)
    with redis.Redis.from_url(settings.ASSISTANT_REDIS_URL) as client:
        assert not client.exists(STREAM + str(thread.pk))


@pytest.mark.services
async def test_events_written_after_a_deletion_expire(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        started = await long_run_input(socket, fake_provider)
        key = STREAM + started["threadId"]
        with redis.Redis.from_url(settings.ASSISTANT_REDIS_URL) as client:
            client.delete(key)
            while not client.exists(key):
                await socket.next()
            assert client.ttl(key) > 0
        await socket.cancel(started["runId"])
