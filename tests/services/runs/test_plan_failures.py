"""A run whose plan cannot be made ends at once, and its thread goes on."""

from __future__ import annotations

import uuid

import pytest

from assistant.models import Assistant, Provider, Run
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.ws import open_socket

pytestmark = pytest.mark.django_db(transaction=True)


async def test_a_run_that_cannot_be_prepared_fails_and_the_next_one_runs(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    thread = str(uuid.uuid4())
    await Assistant.objects.aupdate(answer_schema={"type": "array"})  # which the admin would refuse
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        frames = await socket.ask("One", thread=thread)
        assert (frames[0]["type"], frames[-1]["type"]) == ("RUN_STARTED", "RUN_ERROR")
        assert frames[-1]["code"] == "provider_error" and "operator" in frames[-1]["message"]
        assert [run.status async for run in Run.objects.all()] == ["failed"]
        await Assistant.objects.aupdate(answer_schema=None)
        fake_provider.reply("Fine.")
        assert "Fine." in str(await socket.ask("Two", thread=thread))
