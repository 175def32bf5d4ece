"""A stream begins while the model, or a tool, is still at work."""

from __future__ import annotations

from typing import Any

import httpx2
import pytest

from assistant.models import Provider
from tests.api.calling import key_of
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.websocket.test_websocket import in_db
from tests.ws import run_input

pytestmark = pytest.mark.django_db(transaction=True)

EVENTS = "api/v1/tenants/acme/assistants/support/runs/"


async def begins_early(
    address: str, asked: dict[str, Any], first: str, *, server: Server, cast: Cast, fake_provider: FakeProvider
) -> None:
    """Assert that the first event of a stream comes before the model's first word."""
    gate = fake_provider.gate()
    fake_provider.reply(chunks=[gate, "Hello"])
    headers = {"Authorization": f"Bearer {await in_db(key_of)(cast.acme, cast.alice)}"}
    async with (
        httpx2.AsyncClient(base_url=server.url, headers=headers, timeout=30) as http,
        http.stream("POST", address, json=asked) as answer,
    ):
        lines = answer.aiter_lines()
        begun = [await anext(lines), await anext(lines)]
        assert answer.status_code == 200 and any(first in line for line in begun)
        gate.release()
        rest = [line async for line in lines]
    assert any('"Hello"' in line for line in rest)


async def test_a_stream_begins_before_the_first_word(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await begins_early(
        EVENTS, run_input("Hi"), '"RUN_STARTED"', server=uvicorn_server, cast=cast, fake_provider=fake_provider
    )
