"""What clients have seen is kept when the process is killed, before it was stored in the database."""

from __future__ import annotations

import pytest

from assistant.models import Message, Provider, Run
from tests.agui import text_of
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import serve
from tests.services.runs.recovery.test_recovery import ENDING, RECOVERY
from tests.websocket.test_websocket import until
from tests.ws import open_socket

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.timeout(600)]


async def test_every_word_that_a_client_has_seen_is_kept(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=["every", " word", gate])
    with serve() as doomed:
        async with open_socket(doomed.url, user=cast.alice) as socket:
            await socket.start("Tell me")
            await socket.until(lambda frame: text_of(socket.frames) == "every word")
            doomed.kill()
    with serve(env=ENDING):
        await until(lambda: Run.objects.filter(status=Run.Status.INTERRUPTED).exists(), RECOVERY)
    assert (await Message.objects.aget(role="assistant")).content == "every word"
