"""Answers by another of the assistant's models."""

from __future__ import annotations

from decimal import Decimal

import pytest

from assistant.models import Assistant, Message, Provider, Run, TenantLimits, UsageEntry
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.ws import Socket, open_socket, run_input

pytestmark = [pytest.mark.django_db(transaction=True)]
OTHER = {"forwardedProps": {"model": "large", "render": "html"}}


@pytest.fixture
def server(uvicorn_server: Server) -> Server:
    return uvicorn_server


async def offer(cast: Cast) -> None:
    await Assistant.objects.filter(pk=cast.support.pk).aupdate(other_models=["large", "small"])


async def refusal(socket: Socket, model: object) -> str:
    frame = run_input("Hi", forwardedProps={"model": model})
    await socket.send(frame)
    (error,) = await socket.until_end(frame["runId"])
    assert error["type"] == "RUN_ERROR" and error["code"] == "invalid_input"
    return str(error["message"])


async def test_another_answer_by_another_model_stands_beside_the_first(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await offer(cast)
    prices = {"test-model": {"input": 1, "output": 1}, "large": {"input": 1000, "output": 1000}}
    await Provider.objects.filter(pk=provider.pk).aupdate(prices=prices)
    question = {"id": "q1", "role": "user", "content": "How are sheep?"}
    async with open_socket(server.url, user=cast.alice) as socket:
        thread = (await socket.ask("", messages=[question], forwardedProps={"render": "html"}))[0]["threadId"]
        await socket.ask("", thread=thread, messages=[question], **OTHER)
        await socket.attach(thread, render="html")
        picture = (await socket.until_type("MESSAGES_SNAPSHOT"))[-1]
        about = (await socket.until_custom("message.details"))["value"]["messages"][-1]
    assert [one["role"] for one in picture["messages"]] == ["user", "assistant"]
    assert picture["messages"][1]["metadata"]["versions"]["of"] == 2 and about["model"] == "large"
    assert [request.json["model"] for request in fake_provider.requests] == ["test-model", "large"]
    assert await Message.objects.filter(role="user").acount() == 1
    costs = [one.cost async for one in UsageEntry.objects.order_by("pk")]
    assert costs[1] > 100 * costs[0] > 0


async def test_a_model_that_the_assistant_does_not_list_is_refused(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await offer(cast)
    async with open_socket(server.url, user=cast.alice) as socket:
        assert "must be one of" in await refusal(socket, "expensive")
        assert "must be a name" in await refusal(socket, ["large"])
        assert "must be a name" in await refusal(socket, "x" * 201)
    async with open_socket(server.url, user=cast.mallory, tenant="globex") as socket:
        await refusal(socket, "large")  # another tenant's
    assert not fake_provider.requests and not await Run.objects.acount()


async def test_an_approved_call_goes_on_with_the_model_that_asked_for_it(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await offer(cast)
    tools = [{"name": "pick_colour", "description": "Pick.", "parameters": {"type": "object", "properties": {}}}]
    fake_provider.call("pick_colour", {})
    async with open_socket(server.url, user=cast.alice) as socket:
        first = run_input("Paint it", tools=tools, forwardedProps={"model": "small"})
        await socket.send(first)
        (call_id,) = (await socket.until_end(first["runId"]))[-1]["outcome"]["pendingToolCallIds"]
        told = {"id": "t1", "role": "tool", "toolCallId": call_id, "content": "blue"}
        await socket.ask("", thread=first["threadId"], tools=tools, messages=[told])
        await socket.ask("And now?", thread=first["threadId"])
    assert [request.json["model"] for request in fake_provider.requests] == ["small", "small", "test-model"]


async def test_a_tenant_beyond_its_soft_threshold_gets_the_cheaper_model_all_the_same(
    server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await offer(cast)
    await TenantLimits.objects.acreate(
        tenant=cast.acme, tenant_cost_per_month=Decimal("1"), soft_percent=1, soft_model="cheap"
    )
    await UsageEntry.objects.acreate(tenant=cast.acme, model="m", cost=500_000)
    async with open_socket(server.url, user=cast.alice) as socket:
        await socket.ask("Hi", **OTHER)
    assert fake_provider.requests[0].json["model"] == "cheap"
    assert "large" in (await Run.objects.aget()).replaced_model
