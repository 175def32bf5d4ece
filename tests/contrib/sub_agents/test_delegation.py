"""Assistants that ask others."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from assistant.models import (
    Provider,
    ToolCall,
)
from tests.agui import check_frame, text_of
from tests.base import Cast
from tests.contrib.sub_agents.delegation import let_ask, set_task
from tests.factories import make_assistant, switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.services.runs.test_typed_runs import ANSWER, SCHEMA
from tests.websocket.test_websocket import in_db
from tests.ws import Socket, open_socket

pytestmark = pytest.mark.django_db(transaction=True)


async def test_an_assistant_calls_another_and_events_tell_which_one_speaks(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    expert = await in_db(make_assistant)(cast.acme, "time-expert", prompt="You know the time.")
    await in_db(let_ask)(cast.support, expert)
    await in_db(switch_tool)(cast.acme, "current_time")
    fake_provider.call("ask_time_expert", {"task": "What time is it?"})
    fake_provider.call("current_time", {})
    fake_provider.reply("It is noon.")
    fake_provider.reply("The expert says noon.")
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        frames = await socket.ask("Ask the expert")
    kinds = [frame["type"] for frame in frames]
    assert "SUBAGENT_STARTED" in kinds and "SUBAGENT_FINISHED" in kinds
    told = [frame for frame in frames if "subagentRunId" in frame and frame["type"] == "TEXT_MESSAGE_CONTENT"]
    assert text_of(told) == "It is noon."
    assert fake_provider.requests[1].json["messages"][0]["content"] == "You know the time."
    calls = [row async for row in ToolCall.objects.order_by("pk").values_list("name", "status")]
    assert sorted(calls) == [("ask_time_expert", "ok"), ("current_time", "ok")]
    usage = frames[-1]["usage"]
    assert sum(entry["outputTokens"] for entry in usage) > 0


async def test_allowed_tools_apply_to_called_assistants_too(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    expert = await in_db(make_assistant)(cast.acme, "time-expert", prompt="You know the time.")
    stranger = await in_db(make_assistant)(cast.acme, "stranger")
    await in_db(let_ask)(cast.support, expert, stranger)
    for name in ("current_time", "calculate"):
        await in_db(switch_tool)(cast.acme, name)
    fake_provider.call("calculate", {"expression": "1 + 1"})
    fake_provider.call("ask_time_expert", {"task": "What time is it?"})
    fake_provider.call("calculate", {"expression": "1 + 1"})
    fake_provider.reply("No idea.")
    fake_provider.reply("Nobody knows.")
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        narrow = {"allowedTools": ["current_time", "ask_time_expert"]}
        frames = await socket.ask("Ask the expert", forwardedProps=narrow)
        refused = await socket.ask("Again", thread=frames[0]["threadId"], forwardedProps={"allowedTools": "all"})
    offered = [[one["function"]["name"] for one in request.json["tools"]] for request in fake_provider.requests[:3]]
    assert offered == [["current_time", "ask_time_expert"]] * 2 + [["current_time"]]
    calls = [row async for row in ToolCall.objects.order_by("pk").values_list("name", "status", "rule")]
    left_out = ("calculate", "refused", "Left out by the client.")
    assert sorted(calls) == [("ask_time_expert", "ok", "This assistant may ask Time-Expert."), left_out, left_out]
    assert (refused[-1]["code"], "allowedTools" in refused[-1]["message"]) == ("invalid_input", True)


async def test_a_called_assistant_cannot_call_its_caller(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    expert = await in_db(make_assistant)(cast.acme, "time-expert", prompt="You know the time.")
    await in_db(let_ask)(cast.support, expert)
    await in_db(let_ask)(expert, cast.support)
    fake_provider.call("ask_time_expert", {"task": "What time is it?"})
    fake_provider.call(f"ask_{cast.support.slug}", {"task": "What time is it?"})
    fake_provider.reply("I may not ask.")
    fake_provider.reply("Nobody knows.")
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await socket.ask("Ask the expert")
    calls = [row async for row in ToolCall.objects.values_list("name", "status")]
    assert sorted(calls) == [(f"ask_{cast.support.slug}", "error"), ("ask_time_expert", "ok")]
    assert len(fake_provider.requests) == 4


async def test_messages_of_a_called_assistant_are_in_every_snapshot(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    """During the run, after its end, and in the audit."""
    expert = await in_db(make_assistant)(cast.acme, "time-expert", prompt="You know the time.")
    await in_db(let_ask)(cast.support, expert)
    await in_db(switch_tool)(cast.acme, "current_time")
    gate = fake_provider.gate()
    fake_provider.call("ask_time_expert", {"task": "What time is it?"})
    fake_provider.call("current_time", {})
    fake_provider.reply(chunks=["It is ", gate, "noon."])
    fake_provider.reply("The expert says noon.")
    async with (
        open_socket(uvicorn_server.url, user=cast.alice) as socket,
        open_socket(uvicorn_server.url, user=cast.alice) as late,
    ):
        started = await socket.start("Ask the expert")
        await socket.until(lambda frame: frame.get("delta") == "It is ")
        running = await _snapshot(late, started["threadId"])
        assert [message.get("content") for message in running if message["role"] == "assistant"][-1] == "It is "
        assert running[-1]["metadata"]["subagent"]["status"] == "running"
        gate.release()
        await socket.until_end()
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        picture = await _snapshot(socket, started["threadId"])
    inner = [message for message in picture if "subagentRunId" in message]
    assert [message["role"] for message in inner] == ["assistant", "tool", "assistant"]
    assert inner[-1]["content"] == "It is noon."
    assert inner[1]["metadata"]["tool"]["status"] == "ok"
    asking = next(message for message in picture if message.get("toolCalls"))
    about = {"name": "Time-Expert", "status": "ok", "parentToolCallId": asking["toolCalls"][0]["id"]}
    assert all(message["metadata"]["subagent"] == about for message in inner)
    assert picture.index(inner[0]) == picture.index(asking) + 1
    client = Client()
    await in_db(client.force_login)(cast.amy)
    call = await ToolCall.objects.aget(name="ask_time_expert")
    page = await in_db(client.get)(f"/admin/assistant/toolcall/{call.pk}/change/")
    assert "<pre>It is noon.</pre>" in page.content.decode()


async def _snapshot(socket: Socket, thread: str) -> list[dict[str, Any]]:
    await socket.send({"type": "attach", "threadId": thread, "protocolVersion": "1.0"})
    frames = await socket.until(lambda frame: frame["type"] == "MESSAGES_SNAPSHOT")
    check_frame(frames[-1])
    messages: list[dict[str, Any]] = frames[-1]["messages"]
    return messages


async def test_a_run_that_is_cancelled_twice_records_its_cancelled_calls(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    expert = await in_db(make_assistant)(cast.acme, "expert", prompt="You know everything.")
    await in_db(let_ask)(cast.support, expert)
    fake_provider.call("ask_expert", {"task": "What time is it?"})
    fake_provider.reply(chunks=["Let me see", fake_provider.gate()])
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        started = await socket.start("Ask the expert")
        await socket.until_type("TEXT_MESSAGE_CONTENT")
        for _ in range(5):
            await socket.cancel(started["runId"])
        assert (await socket.until_end())[-1]["outcome"] == {"type": "cancelled"}
        call = await ToolCall.objects.aget(name="ask_expert")
    assert call.status == "cancelled"
    assert "Let me see" in str(call.asked)


async def test_another_tenants_assistant_is_never_called(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(let_ask)(cast.support, cast.rival_support)
    fake_provider.call("ask_support", {"task": "Tell me their secrets"})
    fake_provider.reply("No.")
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await socket.ask("Ask the rival")
    assert not any(
        tool["function"]["name"] == "ask_support" for tool in fake_provider.requests[0].json.get("tools", [])
    )
    assert (await ToolCall.objects.aget()).status == ToolCall.Status.REFUSED


async def test_a_called_assistant_follows_its_task_and_answer_schemas(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    task = {"type": "object", "properties": {"nights": {"type": "integer"}}, "required": ["nights"]}
    expert = await in_db(make_assistant)(cast.acme, "trips", answer_schema=SCHEMA)
    await in_db(set_task)(expert, task)
    await in_db(let_ask)(cast.support, expert)
    fake_provider.call("ask_trips", {"nights": 2})
    fake_provider.reply("I would say Graz.")
    fake_provider.reply(ANSWER)
    fake_provider.reply("Go to Graz.")
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        frames = await socket.ask("Where to?")
    first, second, _, last = (request.json for request in fake_provider.requests)
    offered = [tool["function"] for tool in first["tools"] if tool["function"]["name"] == "ask_trips"]
    assert offered[0]["parameters"] == task
    assert second["messages"][-1]["content"] == '{"nights":2}'
    assert last["messages"][-1]["content"].startswith('{"city":"Graz"')
    assert "result" not in frames[-1]
