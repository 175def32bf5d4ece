"""A web process tells workers of the jobs that it schedules; a worker that is told looks for them at their moment."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from assistant.models import Job
from assistant.services.jobs import jobs
from assistant.services.runs import timed_work
from assistant.services.runs.manager import Runs
from tests.base import Cast
from tests.websocket.test_websocket import until

pytestmark = pytest.mark.django_db(transaction=True)
NAME = "test.notice"


@pytest.fixture(autouse=True)
def seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    """No process looks for jobs again by itself within a test."""
    monkeypatch.setattr(timed_work, "JOBS_SECONDS", 3600.0)
    monkeypatch.setitem(jobs._handlers, NAME, lambda job: None)


async def test_a_web_process_tells_workers_of_a_job_that_is_due(cast: Cast, settings: Any) -> None:
    settings.ASSISTANT_ROLE = "web"
    sent: asyncio.Queue[str] = asyncio.Queue()
    work = timed_work.TimedWork(sent.put)
    work.listen()
    await sync_to_async(jobs.schedule)(tenant_id=cast.acme.pk, name=NAME, key="a", due_at=timezone.now())
    word, _, seconds = (await asyncio.wait_for(sent.get(), 30)).partition(" ")
    work.stop()
    assert word == "due" and float(seconds) <= 0


async def test_a_worker_that_is_told_of_a_job_does_it(cast: Cast, settings: Any) -> None:
    settings.ASSISTANT_ROLE = "worker"
    runs = Runs()
    await runs.start()
    try:
        await until(lambda: runs._timed_work._next_look_at > 0)
        await Job.objects.acreate(tenant=cast.acme, name=NAME, key="a", due_at=timezone.now())
        runs._on_control("due 0.000")
        await until(lambda: Job.objects.filter(state=Job.State.DONE).exists())
    finally:
        await runs.stop()


def test_a_job_that_is_started_again_is_told_of(cast: Cast) -> None:
    job = jobs.schedule(tenant_id=cast.acme.pk, name=NAME, key="a", due_at=timezone.now())
    jobs.cancel(tenant_id=cast.acme.pk, name=NAME, key="a")
    heard: list[object] = []
    ignore = jobs.add_listener(heard.append)
    jobs.retry(tenant_id=cast.acme.pk, pk=job.pk, created_by=None)
    ignore()
    assert len(heard) == 1
