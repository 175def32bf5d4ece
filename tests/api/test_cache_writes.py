"""Tokens that a provider wrote to its cache are told at every door that tells usage."""

from __future__ import annotations

import httpx2
import pytest

from assistant.models import Provider
from tests.api.calling import key_of
from tests.base import Cast
from tests.contrib.openai_api.test_completions import HI, client_of
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.websocket.test_websocket import in_db
from tests.ws import open_socket

pytestmark = pytest.mark.django_db(transaction=True)
USAGE = {
    "prompt_tokens": 100,
    "completion_tokens": 7,
    "total_tokens": 107,
    "prompt_tokens_details": {"cached_tokens": 20, "cache_write_tokens": 60},
}


async def test_cache_writes_are_in_chat_completions_and_responses(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("One", usage=USAGE)
    fake_provider.reply("Two", usage=USAGE)
    async with client_of(uvicorn_server, cast) as client:
        completion = await client.chat.completions.create(model="support", messages=HI)
        response = await client.responses.create(model="support", input="Hi")
    assert completion.usage is not None and response.usage is not None
    for details in (completion.usage.prompt_tokens_details, response.usage.input_tokens_details):
        assert details is not None and (details.cached_tokens, details.cache_write_tokens) == (20, 60)


async def test_cache_writes_are_in_the_events_and_in_the_usage_of_rest(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.reply("One", usage=USAGE)
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        (used,) = (await socket.ask("Hi"))[-1]["usage"]
        assert (used["inputTokens"], used["cachedInputTokens"], used["cacheWriteInputTokens"]) == (100, 20, 60)
        (used,) = (await socket.ask("Hi"))[-1]["usage"]
        assert "cacheWriteInputTokens" not in used
    key = await in_db(key_of)(cast.acme, cast.alice)
    async with httpx2.AsyncClient(base_url=uvicorn_server.url, headers={"Authorization": f"Bearer {key}"}) as client:
        lines = (await client.get("/api/v1/tenants/acme/usage/")).json()["results"]
    assert sum(one["cache_write_tokens"] for one in lines) == 60
