"""Servers publish scheduled prompts at their moment, without a request; two of them do it once."""

from __future__ import annotations

from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from assistant.contrib.panel.services.scheduled_prompts import schedule_publication
from assistant.models import AuditEntry, Job, PromptVersion
from assistant.services.assistants.prompts import draft_prompt
from tests.base import Cast
from tests.live import Server
from tests.websocket.test_websocket import until

pytestmark = pytest.mark.django_db(transaction=True)


def plan(cast: Cast) -> PromptVersion:
    version = draft_prompt(assistant=cast.support, text="Sale!")
    schedule_publication(version=version, at=timezone.now() + timedelta(hours=1), actor=cast.amy)
    Job.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    return version


async def published_by(cast: Cast) -> None:
    version = await sync_to_async(plan)(cast)
    await until(Job.objects.filter(state=Job.State.DONE).exists, timeout=60.0)
    await version.arefresh_from_db()
    assert version.status == PromptVersion.Status.PUBLISHED
    assert await AuditEntry.objects.filter(action="prompt.publish").acount() == 1


async def test_a_server_publishes_a_version_at_its_moment(uvicorn_server: Server, cast: Cast) -> None:
    await published_by(cast)


@pytest.mark.services
async def test_two_processes_publish_it_once(two_servers: tuple[Server, Server], cast: Cast) -> None:
    await published_by(cast)
