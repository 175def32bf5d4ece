"""Quotas at every door: refusals in its own format, with the time when they end; too many sockets, large bodies."""

from __future__ import annotations

import json
from collections.abc import Callable
from decimal import Decimal

import httpx2
import openai
import pytest
from django.utils import timezone

from assistant.asgi.body_sizes import size_bound
from assistant.contrib.webhooks.models import WebhookDelivery
from assistant.core.values.quota_kinds import Windows
from assistant.models import Assistant, Provider, QuotaUse, TenantLimits, ToolCall, UsageEntry
from assistant.services.limits.quota_ledger import reset_use
from assistant.services.tenancy.members import create_api_key
from tests.base import Cast
from tests.contrib.webhooks.hooks import hook
from tests.factories import switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.mcp.talking import Client as McpClient
from tests.websocket.test_websocket import in_db
from tests.ws import open_socket, run_input

pytestmark = pytest.mark.django_db(transaction=True)


def limit(cast: Cast, **limits: object) -> None:
    TenantLimits.objects.update_or_create(tenant=cast.acme, defaults=limits)
    reset_use(tenant_id=cast.acme.pk)


def key_of_alice(cast: Cast) -> str:
    return create_api_key(tenant=cast.acme, user=cast.alice, name="k")[1]


def bearer(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def rest(url: str, key: str) -> httpx2.Response:
    """Send a message in a new conversation."""
    base = f"{url}/api/v1/tenants/acme/conversations/"
    made = httpx2.post(base, headers=bearer(key), json={"assistant": "support"}).json()
    return httpx2.post(f"{base}{made['id']}/runs/", headers=bearer(key), json={"message": "Hello"}, timeout=30)


def sse(url: str, key: str) -> httpx2.Response:
    address = f"{url}/api/v1/tenants/acme/assistants/support/runs/"
    return httpx2.post(address, headers=bearer(key), json=run_input("Hello"), timeout=30)


def completion(url: str, key: str) -> httpx2.Response:
    asked = {"model": "support", "messages": [{"role": "user", "content": "Hello"}]}
    return httpx2.post(f"{url}/v1/chat/completions", headers=bearer(key), json=asked, timeout=30)


Ask = Callable[[str, str], httpx2.Response]
DOORS: dict[str, Ask] = {"REST": rest, "SSE": sse, "/v1": completion}


@pytest.mark.parametrize("door", DOORS)
def test_every_door_refuses_in_its_own_format(
    door: str, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    limit(cast, member_messages_per_day=1)
    key, ask, resets_at = key_of_alice(cast), DOORS[door], _next_midnight()
    assert ask(uvicorn_server.url, key).status_code in {200, 201}
    answer = ask(uvicorn_server.url, key)
    assert resets_at in answer.text
    assert "limit of 1 message a day" in answer.text
    if door == "SSE":
        event = json.loads(answer.text.split("data: ")[2])
        assert (event["type"], event["code"]) == ("RUN_ERROR", "quota_exceeded")
        assert event["metadata"]["resetsAt"] == resets_at
    else:
        assert answer.status_code == 429
        assert 0 < int(answer.headers["Retry-After"]) <= 86_400
        error = answer.json().get("error", answer.json())
        assert error["code"] == {"REST": "quota_exceeded", "/v1": "insufficient_quota"}[door]
    if door == "/v1":
        assert (error["type"], answer.headers["x-should-retry"]) == ("insufficient_quota", "false")
        with pytest.raises(openai.RateLimitError):
            openai.OpenAI(base_url=f"{uvicorn_server.url}/v1", api_key=key).chat.completions.create(
                model="support", messages=[{"role": "user", "content": "Hello"}]
            )
    assert len(fake_provider.requests) == 1


def _next_midnight() -> str:
    return f"{Windows.at(timezone.now()).end('day'):%Y-%m-%dT%H:%M:%SZ}"


async def test_a_message_above_the_quota_is_refused_over_the_websocket(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    key = await in_db(key_of_alice)(cast)
    await in_db(hook)(cast.acme, "https://hooks.example.com/")
    async with open_socket(uvicorn_server.url, key=key) as socket:
        # Limits apply to connections that were opened before they were set.
        await in_db(limit)(cast, tenant_messages_per_day=1)
        first = run_input("Hello")
        await socket.send(first)
        assert (await socket.until_end(first["runId"]))[-1]["type"] == "RUN_FINISHED"
        for _ in range(2):
            await socket.send(given := run_input("Hello"))
            refusal = (await socket.until_end(given["runId"]))[-1]
            assert (refusal["type"], refusal["code"]) == ("RUN_ERROR", "quota_exceeded")
            assert refusal["metadata"]["resetsAt"] == _next_midnight()
            assert refusal["message"].startswith("Your organisation has reached its limit of 1 message a day.")
        # A run that was admitted before can still be followed.
        await socket.send({"type": "attach", "threadId": first["threadId"]})
        await socket.until_end(first["runId"])
    delivery = await WebhookDelivery.objects.filter(event="quota.reached").aget()
    assert json.loads(delivery.body)["data"]["quota"] == "messages_per_day"
    assert len(fake_provider.requests) == 1


async def test_a_tool_call_above_the_quota_ends_the_run(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "calculate")
    await in_db(limit)(cast, member_tool_calls_per_day=2)
    key = await in_db(key_of_alice)(cast)
    fake_provider.calls([("calculate", {"expression": f"1 + {n}"}) for n in range(3)])
    async with open_socket(uvicorn_server.url, key=key) as socket:
        end = (await socket.ask("Add"))[-1]
    assert (end["type"], end["code"]) == ("RUN_ERROR", "quota_exceeded")
    assert _next_midnight() in end["message"]
    statuses = ToolCall.objects.values_list("status", flat=True)
    assert sorted([status async for status in statuses]) == ["ok", "ok", "refused"]


@pytest.mark.parametrize("model", ["", "test-model", "fake"], ids=["every model", "as asked for", "as answered"])
async def test_a_run_ends_when_the_tenants_cost_quota_is_used_up(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider, model: str
) -> None:
    await in_db(switch_tool)(cast.acme, "current_time")
    await Provider.objects.aupdate(prices={model: {"input": 1_000, "output": 1_000}})
    await in_db(limit)(cast, tenant_cost_per_month=Decimal("0.01"))
    key = await in_db(key_of_alice)(cast)
    for _ in range(2):
        fake_provider.call("current_time", {}, usage={"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10})
    async with open_socket(uvicorn_server.url, key=key) as socket:
        end = (await socket.ask("What time is it?"))[-1]
        assert (end["code"], "0.01 of cost a month" in end["message"]) == ("quota_exceeded", True)
    assert (await UsageEntry.objects.aget()).cost == 10_000
    assert (await QuotaUse.objects.aget()).month_cost == 10_000
    assert len(fake_provider.requests) == 1


async def test_a_run_ends_at_its_own_limit_of_cost(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "current_time")
    await Provider.objects.aupdate(prices={"": {"input": 1_000, "output": 1_000}})
    await Assistant.objects.aupdate(max_cost=Decimal("0.01"))
    key = await in_db(key_of_alice)(cast)
    fake_provider.call("current_time", {}, usage={"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10})
    async with open_socket(uvicorn_server.url, key=key) as socket:
        end = (await socket.ask("What time is it?"))[-1]
    assert (end["code"], end["message"]) == ("limit_reached", "This run has reached its limit of 0.01 of cost.")


def test_a_tool_call_above_the_quota_is_an_error_over_mcp(uvicorn_server: Server, cast: Cast) -> None:
    switch_tool(cast.acme, "current_time")
    limit(cast, member_tool_calls_per_day=1)
    client = McpClient(uvicorn_server.url, key_of_alice(cast))
    called = [client.post("tools/call", {"name": "current_time", "arguments": {}}).json()["result"] for _ in range(2)]
    assert not called[0].get("isError")
    assert called[1]["isError"]
    assert _next_midnight() in called[1]["content"][0]["text"]


@pytest.mark.parametrize("scope", ["tenant", "member"])
async def test_a_connection_above_the_limit_gets_the_reason(scope: str, uvicorn_server: Server, cast: Cast) -> None:
    await in_db(limit)(cast, **{f"{scope}_connections": 2})
    key = await in_db(key_of_alice)(cast)
    async with open_socket(uvicorn_server.url, key=key), open_socket(uvicorn_server.url, key=key) as second:
        async with open_socket(uvicorn_server.url, key=key) as third:
            assert await third.closed() == 4429
            assert "may have 2 open" in third.close_reason
        await second.send({"type": "ping"})
        await second.until_custom("pong")
    async with open_socket(uvicorn_server.url, key=key) as later:
        await later.send({"type": "ping"})
        await later.until_custom("pong")


@pytest.mark.parametrize("is_announced", [True, False])
@pytest.mark.parametrize("path", ["/api/v1/tenants/acme/conversations/", "/v1/chat/completions"])
def test_a_body_that_is_far_too_large_is_not_read(
    path: str, is_announced: bool, uvicorn_server: Server, cast: Cast
) -> None:
    body = b"x" * (size_bound({"path": path}) + 1)
    given = body if is_announced else iter([body])
    answer = httpx2.post(uvicorn_server.url + path, content=given, headers=bearer(key_of_alice(cast)), timeout=30)
    assert answer.status_code == 413
    assert answer.json().get("error", answer.json())["code"] == "too_large"
