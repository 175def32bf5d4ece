"""A stream begins while the model, or a tool, is still at work; what fails before keeps its status."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import pytest

from assistant.models import Provider
from tests.api.calling import key_of
from tests.api.test_stream_beginnings import begins_early
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.websocket.test_websocket import in_db

pytestmark = pytest.mark.django_db(transaction=True)

CHAT = "v1/chat/completions"
RESPONSES = "v1/responses"
SAID = [{"role": "user", "content": "Hi"}]
# By address: what is asked, and what the first event is.
DOORS: dict[str, tuple[dict[str, Any], str]] = {
    CHAT: ({"model": "support", "messages": SAID, "stream": True}, '"role":"assistant"'),
    RESPONSES: ({"model": "support", "input": "Hi", "stream": True}, '"response.created"'),
}


@pytest.mark.parametrize("address", DOORS)
async def test_a_stream_begins_before_the_first_word(
    address: str, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    asked, first = DOORS[address]
    await begins_early(address, asked, first, server=uvicorn_server, cast=cast, fake_provider=fake_provider)


@pytest.mark.parametrize("address", [CHAT, RESPONSES])
async def test_what_fails_before_a_stream_begins_is_a_status(
    address: str, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.respond(400, {"error": {"message": "no", "type": "invalid_request_error"}})
    headers = {"Authorization": f"Bearer {await in_db(key_of)(cast.acme, cast.alice)}"}
    async with httpx2.AsyncClient(base_url=uvicorn_server.url, headers=headers, timeout=30) as http:
        answer = await http.post(address, json=DOORS[address][0])
    assert (answer.status_code, answer.json()["error"]["code"]) == (502, "provider_error")


@pytest.mark.parametrize("address", [CHAT, RESPONSES])
async def test_what_fails_afterwards_is_an_event(
    address: str, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.raw(b": working\n\n", gate, b'data: {"error": {"message": "no"}}\n\n')
    fake_provider.respond(400, {"error": {"message": "no", "type": "invalid_request_error"}})
    headers = {"Authorization": f"Bearer {await in_db(key_of)(cast.acme, cast.alice)}"}
    async with (
        httpx2.AsyncClient(base_url=uvicorn_server.url, headers=headers, timeout=30) as http,
        http.stream("POST", address, json=DOORS[address][0]) as answer,
    ):
        assert answer.status_code == 200
        gate.release()
        events = [json.loads(line[6:]) async for line in answer.aiter_lines() if line.startswith("data: {")]
    assert "provider_error" in json.dumps(events[-1])
