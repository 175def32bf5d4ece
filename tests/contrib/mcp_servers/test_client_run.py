"""A run that uses an external server's tool, over the websocket; another tenant's runs never see it."""

from __future__ import annotations

from typing import Any

import pytest
from pytest_django import Settings

from assistant.models import Provider, ToolCall
from tests.agui import text_of
from tests.base import Cast
from tests.contrib.mcp_servers.allowing import add_server, allow, look
from tests.fake_provider import FakeProvider
from tests.live import serve
from tests.mcp.outside import Outside
from tests.ws import open_socket

pytestmark = pytest.mark.django_db(transaction=True)


def offered(request: Any) -> list[str]:
    return [tool["function"]["name"] for tool in request.json.get("tools", [])]


async def test_an_assistant_uses_an_outside_tool(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, outsider: Outside, settings: Settings
) -> None:
    settings.DEBUG = True
    server = await add_server(cast.acme, outsider)
    await look(server)
    await allow(server, "echo", "fail")
    fake_provider.calls([("crm__echo", {"text": "42 bicycles"}), ("crm__fail", {})])
    fake_provider.reply("They have 42 bicycles.")
    fake_provider.call("crm__echo", {"text": "steal"})
    fake_provider.reply("I cannot.")
    with serve(env={"DJANGO_SETTINGS_MODULE": "tests.settings_debug"}) as site:
        async with open_socket(site.url, user=cast.alice) as socket:
            frames = await socket.ask("How many bicycles?")
        async with open_socket(site.url, user=cast.mallory, tenant="globex") as socket:
            await socket.ask("Ask Acme's CRM")
    assert text_of(frames) == "They have 42 bicycles."
    first, second, rival, _ = fake_provider.requests
    assert {"crm__echo", "crm__fail"} <= set(offered(first))
    results = [message["content"] for message in second.json["messages"] if message["role"] == "tool"]
    assert [text.splitlines()[1] for text in results] == ["42 bicycles", "No such customer."]
    assert all("text from outside" in text.splitlines()[0] for text in results)
    assert not any(name.startswith("crm") for name in offered(rival))
    assert [entry["arguments"] for entry in outsider.log() if entry["name"] == "echo"] == [{"text": "42 bicycles"}]
    calls = [row async for row in ToolCall.objects.order_by("pk").values_list("tenant__slug", "name", "status")]
    assert sorted(calls) == [
        ("acme", "crm__echo", "ok"),
        ("acme", "crm__fail", "error"),
        ("globex", "crm__echo", "refused"),
    ]
