"""Typed answers in tenants' runs: by the caller's schema, the assistant's own, and those of called assistants."""

from __future__ import annotations

from typing import Any

import pytest

from assistant.models import Assistant, Message, Provider, Run, Tenant, UsageEntry
from tests.base import Cast
from tests.fake_provider import FakeProvider
from tests.live import Server, serve
from tests.ws import Socket, open_socket, run_input

pytestmark = pytest.mark.django_db(transaction=True)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": "trip",
    "properties": {"city": {"type": "string"}, "days": {"type": "array", "items": {"type": "integer"}}},
    "required": ["city", "days"],
}
ANSWER = '{"city": "Graz", "days": [10, 11, 12, 13, 14, 15, 16]}'


async def test_an_answer_follows_the_callers_schema_and_is_streamed_in_parts(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    gate = fake_provider.gate()
    fake_provider.reply(chunks=[ANSWER[:30], gate, ANSWER[30:]])
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await socket.send(given := run_input("Where to?", forwardedProps={"outputSchema": SCHEMA}))
        grown = await socket.until_custom("output.partial")
        assert grown["value"]["value"] == {"city": "Graz", "days": [10]}
        gate.release()
        frames = await socket.until_end(given["runId"])
    assert frames[-1]["result"] == {"city": "Graz", "days": [10, 11, 12, 13, 14, 15, 16]}
    sent = fake_provider.requests[0].json["response_format"]["json_schema"]
    assert (sent["name"], sent["schema"]) == ("trip", SCHEMA)


@pytest.mark.parametrize(
    "schema",
    [
        "text",
        {"type": "array"},
        {"type": "object", "properties": {f"p{n}": {"pattern": rf"\w{{300}}{n}"} for n in range(100)}},
        {"type": "object", "properties": {"p": {"$ref": "http://127.0.0.1:9/schema.json"}}},
    ],
    ids=["text", "array", "patterns", "address"],
)
async def test_an_invalid_schema_is_refused(
    uvicorn_server: Server, cast: Cast, provider: Provider, schema: Any
) -> None:
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        frames = await socket.ask("Where to?", forwardedProps={"outputSchema": schema})
    assert frames[-1]["code"] == "invalid_input"
    assert "outputSchema" in frames[-1]["message"]


@pytest.mark.parametrize(
    ("schemas", "reason"),
    [
        ([{"type": "object", "properties": {"p": {"$ref": "file:///etc/hostname"}}}], "leads outside the schema"),
        ([{"type": "object", "description": "x" * 65_000}], "64000 bytes"),
        ([{"type": "object", "description": "x" * 40_000}] * 4, "128000 bytes together"),
    ],
    ids=["file", "one", "together"],
)
async def test_client_side_tools_out_of_bounds_are_refused(
    uvicorn_server: Server, cast: Cast, provider: Provider, schemas: list[Any], reason: str
) -> None:
    tools = [{"name": f"t{n}", "description": "T.", "parameters": schema} for n, schema in enumerate(schemas)]
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        frames = await socket.ask("Where to?", tools=tools)
    assert frames[-1]["code"] == "invalid_input"
    assert reason in frames[-1]["message"]


async def test_answers_that_do_not_fit_the_assistants_schema_are_repaired(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await Assistant.objects.filter(pk=cast.support.pk).aupdate(answer_schema=SCHEMA)
    fake_provider.reply('{"city": "Graz"}')
    fake_provider.reply(ANSWER)
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        frames = await socket.ask("Where to?")
    assert frames[-1]["result"]["city"] == "Graz"
    assert "days: missing" in fake_provider.requests[1].json["messages"][-1]["content"]
    rows = [row async for row in Message.objects.filter(role="assistant").order_by("position")]
    assert [row.is_partial for row in rows] == [True, False]


async def test_after_a_provider_refuses_structured_output_tool_calls_are_used(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await Assistant.objects.filter(pk=cast.support.pk).aupdate(answer_schema=SCHEMA)
    fake_provider.respond(400, {"error": {"message": "Unknown parameter: 'response_format'."}})
    for _ in range(2):
        fake_provider.call("give_answer", {"city": "Graz", "days": [1]})
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        for _ in range(2):
            frames = await socket.ask("Where to?")
            assert frames[-1]["result"] == {"city": "Graz", "days": [1]}
    assert ["response_format" in request.json for request in fake_provider.requests] == [True, False, False]


async def stop_in_mid_answer(socket: Socket, fake_provider: FakeProvider) -> None:
    fake_provider.reply(chunks=["This much ", fake_provider.gate(), "and no more"])
    started = await socket.start("Go on")
    await socket.until_type("TEXT_MESSAGE_CONTENT")
    await socket.cancel(started["runId"])
    await socket.until_end()


async def test_tokens_of_a_cancelled_answer_are_estimated_and_counted(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        await stop_in_mid_answer(socket, fake_provider)
        assert socket.frames[-1]["usage"][0]["outputTokens"] == 3
    entry = await UsageEntry.objects.aget()
    assert entry.is_estimated and entry.input_tokens > 0
    assert (await Run.objects.aget()).output_tokens == 3


@pytest.mark.parametrize("ends", [False, True])
async def test_a_failing_tool_ends_the_run_if_the_tenant_says_so(
    cast: Cast, provider: Provider, fake_provider: FakeProvider, ends: bool
) -> None:
    await Tenant.objects.filter(pk=cast.acme.pk).aupdate(ends_runs_on_tool_failure=ends)
    fake_provider.call("break_down", {})
    fake_provider.reply("I could not.")
    with serve(env={"DJANGO_SETTINGS_MODULE": "tests.settings_slow_tool"}) as server:
        async with open_socket(server.url, user=cast.alice) as socket:
            last = (await socket.ask("Do it"))[-1]
    assert last.get("code") == ("internal_error" if ends else None)
    assert "machine oil" not in str(last)
