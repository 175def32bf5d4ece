"""Tenants' runs whose provider fails: recovery, the fallback model, and what operators read of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from assistant.models import Assistant, Message, Provider, Run, RunConfiguration, Tenant, UsageEntry
from tests import fake_answers
from tests.base import Cast
from tests.factories import make_provider, switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server
from tests.providers.test_recovery import OVERFLOW, check_valid, error
from tests.websocket.test_websocket import in_db
from tests.ws import Socket, open_socket

pytestmark = pytest.mark.django_db(transaction=True)
THREAD = "6f1c9c58-6d0a-4d59-9d1b-3c2b3f0f7a11"
PRICES = {"second": {"input": 1_000, "output": 1_000}}


def text_of(events: list[Any]) -> str:
    return "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")


async def go_on(provider: FakeProvider, socket: Socket) -> None:
    """Ask two more turns of the thread, and check every request so far."""
    for _ in range(2):
        provider.reply("So it is.")
        events = await socket.ask("And then?", thread=THREAD)
        assert (events[-1].get("message"), text_of(events)) == (None, "So it is.")
    check_valid(provider)


@pytest.mark.parametrize("case", ["empty", "white space", "first event", "unreadable call", "thinking"])
async def test_a_run_survives_a_bad_answer(
    case: str, uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await in_db(switch_tool)(cast.acme, "current_time")
    fake_provider.call("current_time", {})
    match case:
        case "empty":
            fake_provider.reply("")
        case "white space":
            fake_provider.reply(chunks=[" ", "\n"])
        case "first event":
            fake_provider.stream(error("overloaded", code=503))
        case "unreadable call":
            fake_provider.respond(400, error("No.", code="tool_use_failed", failed_generation="<function=x>"))
    fake_provider.reply("<think>Let me see.</think>It is late." if case == "thinking" else "It is late.")
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        events = await socket.ask("What time is it?", thread=THREAD)
        assert events[-1]["type"] == "RUN_FINISHED"
        assert text_of(events).strip() == "It is late."
        await go_on(fake_provider, socket)
    run = await Run.objects.filter(tenant=cast.acme).order_by("pk").afirst()
    assert run is not None and run.timeline is not None
    failed = [one["failed"] for one in run.timeline["rounds"] if "failed" in one]
    assert len(failed) == (0 if case == "thinking" else 1)
    assert "".join(failed) != "" or case == "thinking"
    reasoning = [one async for one in Message.objects.filter(run=run).values_list("reasoning", flat=True) if one]
    assert reasoning == (["Let me see."] if case == "thinking" else [])


async def test_a_thread_that_is_too_long_for_its_model_goes_on(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        for _ in range(3):
            await socket.ask("words " * 300, thread=THREAD)
        fake_provider.respond(400, error(OVERFLOW))
        fake_provider.reply("In short, yes.")
        events = await socket.ask("Well?", thread=THREAD)
        assert text_of(events) == "In short, yes."
        assert len(fake_provider.requests[-1].messages) < len(fake_provider.requests[-2].messages)
        await go_on(fake_provider, socket)


async def use_fallback(cast: Cast, second: FakeProvider) -> None:
    fields: dict[str, Any] = {"name": "Second", "default_model": "second", "prices": PRICES}
    row = await in_db(make_provider)(base_url=second.url, **fields)
    cast.support.fallback_provider = row
    await in_db(cast.support.save)()


async def test_the_fallback_answers_and_it_is_said_everywhere(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    with FakeProvider() as second:
        await use_fallback(cast, second)
        fake_provider.rule(lambda request: fake_answers.respond(503, error("overloaded")))
        second.reply("Hello.", usage={"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15})
        async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
            events = await socket.ask("Hi", thread=THREAD)
            (told,) = [one["value"] for one in events if one["type"] == "CUSTOM" and one["name"] == "model.fallback"]
            await go_on(second, socket)
    assert text_of(events) == "Hello."
    assert told == {"provider": "Second", "model": "second", "replaces": "test-model", "reason": "down"}
    run = await Run.objects.filter(tenant=cast.acme).order_by("pk").afirst()
    assert run is not None and run.timeline is not None
    assert (run.model, run.fallback_provider, run.fallback_model) == ("test-model", "Second", "second")
    assert run.timeline["fallback"]["reason"] == "down"
    assert [one.get("model") for one in run.timeline["rounds"]] == [None, "fake"]
    configuration = await RunConfiguration.objects.aget(tenant=cast.acme, digest=run.configuration)
    assert configuration.content["fallback"] == {"name": "Second", "source": "fallback", "model": "second"}
    (entry,) = [one async for one in UsageEntry.objects.filter(tenant=cast.acme, run=run)]
    assert (entry.provider, entry.cost) == ("Second", 15_000)


async def test_a_fallback_of_another_tenant_is_never_used(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    with FakeProvider() as second:
        foreign = await in_db(make_provider)(cast.globex, base_url=second.url)
        await Assistant.objects.filter(pk=cast.support.pk).aupdate(fallback_provider=foreign)
        await Tenant.objects.filter(pk=cast.acme.pk).aupdate(fallback_provider=foreign)
        fake_provider.respond(400, error("no"))
        for _ in range(3):
            fake_provider.respond(503, error("no"))
        async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
            for text in ("Hi", "Hi again"):
                assert (await socket.ask(text, thread=THREAD))[-1]["code"] == "provider_error"
        assert len(fake_provider.requests) == 4
        assert second.requests == []


async def test_the_providers_reason_is_kept_and_not_shown_to_members(
    uvicorn_server: Server, cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    said = "Unknown field 'top_q' for sk-test in: My card is 4111 1111 1111 1111"
    fake_provider.respond(400, error(said, code="unknown_field"), headers={"x-request-id": "req_77"})
    async with open_socket(uvicorn_server.url, user=cast.alice) as socket:
        events = await socket.ask("Please: my card is 4111 1111 1111 1111", thread=THREAD)
        assert events[-1]["type"] == "RUN_ERROR"
        assert "top_q" not in json.dumps(events)
        await go_on(fake_provider, socket)
    run = await Run.objects.filter(tenant=cast.acme).order_by("pk").afirst()
    assert run is not None and run.timeline is not None
    reason = run.timeline["error"]["reason"]
    assert reason == "status 400, unknown_field: Unknown field 'top_q' for … in: …; request req_77"
    assert run.timeline["error"]["id"] in events[-1]["message"]
