"""The interceptors that settings name, around live runs and calls over MCP."""

from __future__ import annotations

from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.core.checks import run_checks

from assistant.models import Provider, ToolCall
from assistant.services.tenancy.members import create_api_key
from tests.base import Cast
from tests.contrib.sub_agents.delegation import let_ask
from tests.factories import make_assistant
from tests.fake_provider import FakeProvider
from tests.live import Server, serve
from tests.mcp.talking import Client, text_of
from tests.ws import open_socket

pytestmark = pytest.mark.django_db(transaction=True)

ENVIRONMENT = {
    "DJANGO_SETTINGS_MODULE": "tests.settings_slow_tool",
    "ASSISTANT_TOOL_INTERCEPTORS": ",".join(
        ("tests.slow_tool.interceptors.outer", "assistant.client.Cache", "tests.slow_tool.interceptors.Inner")
    ),
    "ASSISTANT_MODEL_INTERCEPTORS": "tests.slow_tool.interceptors.first,tests.slow_tool.interceptors.second",
}


async def results(server: Server, user: User, provider: FakeProvider, *words: str) -> list[str]:
    """What the model reads of one call with each of these arguments, in one run."""
    provider.calls([("count_calls", {"about": word}) for word in words])
    provider.reply("Counted.")
    tenant = "globex" if user.username == "mallory" else "acme"
    async with open_socket(server.url, user=user, tenant=tenant) as socket:
        frames = await socket.ask("Count")
    return [frame["content"] for frame in frames if frame["type"] == "TOOL_CALL_RESULT"]


async def test_configured_interceptors_wrap_every_call(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    expert = await sync_to_async(make_assistant)(cast.acme, "expert")
    await sync_to_async(let_ask)(cast.support, expert)
    with serve(env=ENVIRONMENT) as server:
        assert await results(server, cast.alice, fake_provider, "cows") == ["outer(inner(cows: 1))"]
        for request in fake_provider.requests:
            (system,) = [m["content"] for m in request.messages if m["role"] == "system"]
            assert system.endswith("\n\nFirst.\n\nSecond.")
        # Only a repetition of the same call by the same member is answered from the cache.
        assert await results(server, cast.alice, fake_provider, "cows") == ["outer(inner(cows: 1))"]
        assert await results(server, cast.amy, fake_provider, "cows") == ["outer(inner(cows: 2))"]
        assert await results(server, cast.mallory, fake_provider, "cows") == ["outer(inner(cows: 3))"]
        assert await results(server, cast.alice, fake_provider, "goats", "weather") == [
            "outer(inner(sheep: 4))",
            "Nobody speaks of the weather here.",
        ]
        await _check_called_assistants(server, cast, fake_provider)
        await _check_calls_over_mcp(server, cast)
    statuses = [row async for row in ToolCall.objects.filter(name="count_calls").values_list("status", flat=True)]
    assert statuses.count("error") == 2 and statuses.count("ok") == len(statuses) - 2
    assert await ToolCall.objects.filter(result="outer(inner(sheep: 4))").acount() == 1


async def _check_called_assistants(server: Server, cast: Cast, provider: FakeProvider) -> None:
    before = len(provider.requests)
    provider.call("ask_expert", {"task": "Count the goats"})
    provider.call("count_calls", {"about": "hens"})
    provider.reply("Five.")
    provider.reply("It says five.")
    async with open_socket(server.url, user=cast.alice) as socket:
        frames = await socket.ask("Ask")
    told = [frame["content"] for frame in frames if frame["type"] == "TOOL_CALL_RESULT"]
    assert told[0] == "outer(inner(hens: 5))"
    assert all("Second." in str(request.messages[0]) for request in provider.requests[before:])


async def _check_calls_over_mcp(server: Server, cast: Cast) -> None:
    def call(about: str) -> Any:
        _, key = create_api_key(tenant=cast.acme, user=cast.alice, name="MCP", scopes=["tools"])
        return Client(server.url, key).call("count_calls", {"about": about})

    assert text_of(await sync_to_async(call)("ducks")) == "outer(inner(ducks: 6))"
    refused = await sync_to_async(call)("weather")
    assert refused["isError"] and text_of(refused) == "Nobody speaks of the weather here."


def test_an_interceptor_that_does_not_exist_stops_the_start(settings: Any) -> None:
    settings.ASSISTANT_TOOL_INTERCEPTORS = ["tests.slow_tool.interceptors.nobody"]
    assert [problem.id for problem in run_checks() if "ASSISTANT_TOOL_INTERCEPTORS" in problem.msg] == [
        "assistant.E002"
    ]
