"""When a process looks for dead runs, and when it leaves them alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any, NoReturn

import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.db import OperationalError
from django.utils import timezone

from assistant.models import Provider, Run
from assistant.services.limits.runs_at_once import TooManyRuns
from assistant.services.runs import manager as runs
from assistant.services.runs.leases import MAX_TAKEN, DeadRun, take_over_dead_runs
from assistant.services.runs.manager import Runs
from assistant.services.runs.recovery import dead_runs, recovery_task
from assistant.services.runs.recovery.recovery_task import STOPPED_SECONDS
from assistant.services.tenancy.members import Member
from tests.base import Cast
from tests.services.runs.recovery.test_recovery_rounds import make_running
from tests.websocket.test_websocket import until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest_asyncio.fixture
async def here(monkeypatch: pytest.MonkeyPatch, settings: Any) -> AsyncIterator[Runs]:
    """A process whose housekeeping looks once, and which ends dead runs as interrupted."""
    settings.ASSISTANT_RUN_RESUMES = 0
    for module in (runs, recovery_task):
        monkeypatch.setattr(module, "RENEWAL_SECONDS", 60.0)
    process = Runs()
    yield process
    await process.stop()


async def test_a_lease_that_is_not_renewed_is_looked_at_when_it_expires(cast: Cast, here: Runs) -> None:
    soon = timezone.now() + timedelta(seconds=1)
    dead = await sync_to_async(make_running)(cast, "another", soon)
    await here.start()
    run = await until(lambda: Run.objects.exclude(status=Run.Status.RUNNING).first())
    assert run.pk == dead.pk
    assert soon < run.ended_at < soon + timedelta(seconds=5)


async def test_all_runs_of_a_dead_process_are_found_at_once(cast: Cast, here: Runs) -> None:
    expired = timezone.now() - timedelta(seconds=1)
    for _ in range(MAX_TAKEN + 3):
        await sync_to_async(make_running)(cast, "another", expired)
    await here.start()
    await until(lambda: not Run.objects.filter(status=Run.Status.RUNNING).exists())


async def test_runs_without_room_here_are_not_looked_for_again_at_once(
    cast: Cast, provider: Provider, here: Runs, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []

    def note(**choice: Any) -> list[DeadRun]:
        taken = take_over_dead_runs(**choice)
        found.append(len(taken))
        return taken

    settings.ASSISTANT_RUN_RESUMES = 3
    monkeypatch.setattr(dead_runs, "take_over_dead_runs", note)
    here.queue.enter = refuse_room  # type: ignore[method-assign]
    for _ in range(MAX_TAKEN):
        await sync_to_async(make_running)(cast, "another", timezone.now() - timedelta(seconds=1))
    await here._recovery.start(asyncio.get_running_loop().time())
    assert found == [MAX_TAKEN]


def refuse_room(member: Member, **_: Any) -> NoReturn:
    raise TooManyRuns("none")


async def test_a_process_that_did_not_run_lets_the_others_renew_their_leases_first(
    cast: Cast, here: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    recovery, now = here._recovery, asyncio.get_running_loop().time()
    await recovery.start(now - STOPPED_SECONDS - 1)
    await sync_to_async(make_running)(cast, "another", timezone.now() - timedelta(minutes=1))
    await recovery.start(now)
    assert await Run.objects.filter(status=Run.Status.RUNNING).aexists()
    monkeypatch.setattr(recovery_task, "LEASE_SECONDS", 0.0)
    await recovery.start(now)
    assert not await Run.objects.filter(status=Run.Status.RUNNING).aexists()


async def test_after_an_outage_of_the_database_others_renew_their_leases_first(
    cast: Cast, here: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: Any) -> NoReturn:
        raise OperationalError("away")

    monkeypatch.setattr(dead_runs, "take_over_dead_runs", fail)
    await here._recovery.start(asyncio.get_running_loop().time())
    monkeypatch.setattr(dead_runs, "take_over_dead_runs", take_over_dead_runs)
    await sync_to_async(make_running)(cast, "another", timezone.now() - timedelta(minutes=1))
    await here._recovery.start(asyncio.get_running_loop().time())
    assert await Run.objects.filter(status=Run.Status.RUNNING).aexists()
