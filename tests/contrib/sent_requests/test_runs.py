"""What the models of runs are sent is kept as long as an operator wants it, and without keys."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.utils import timezone

from assistant.contrib.sent_requests.keeping import keep_requests
from assistant.contrib.sent_requests.models import Keeping, KeptRequest
from assistant.models import Provider
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.services.runs.test_failed_requests import THREAD
from tests.websocket.test_websocket import in_db
from tests.ws import open_socket

pytestmark = pytest.mark.django_db(transaction=True)


async def test_what_the_model_was_sent_is_kept_while_an_operator_wants_it(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await socket.ask("Not kept", thread=THREAD)
        assert await KeptRequest.objects.filter(tenant=cast.acme).acount() == 0
        await in_db(keep_requests)(tenant=cast.acme, hours=1, actor=cast.root, reason="Odd answers")
        await socket.ask("My key is sk-test", thread=THREAD)
        await socket.ask("And then?", thread=THREAD)
        past = timezone.now() - timedelta(seconds=1)
        await Keeping.objects.filter(tenant=cast.acme).aupdate(until=past)
        await socket.ask("Not kept either", thread=THREAD)
    rows = [row async for row in KeptRequest.objects.filter(tenant=cast.acme).order_by("pk")]
    sent = [json.loads(row.content) for row in rows]
    expected = [json.loads(json.dumps(one.json).replace("sk-test", "[key]")) for one in fake_provider.requests[1:3]]
    assert sent == expected
    assert "sk-test" not in str([row.content for row in rows])
