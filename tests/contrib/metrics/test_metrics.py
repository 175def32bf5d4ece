"""Metrics: who may read them, that runs and calls are counted once, and that labels are bounded."""

from __future__ import annotations

import re
import urllib.error
import urllib.request

import pytest
from asgiref.sync import sync_to_async
from django.test import Client

from assistant.contrib.metrics.prometheus import exposition
from assistant.core.values.messages import Usage
from assistant.models import Provider, ToolSetting
from assistant.services.assistants.prompts import draft_prompt
from assistant.services.metrics import BoundedLabel, Series, counting
from tests.base import Cast
from tests.factories import make_provider, switch_tool
from tests.fake_answers import respond
from tests.fake_provider import FakeProvider
from tests.live import Server, serve
from tests.ws import open_socket

TOKEN = "let-prometheus-in"


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer wrong"}, {"Authorization": f"Basic {TOKEN}"}])
def test_callers_without_the_token_get_404(client: Client, settings: object, headers: dict[str, str]) -> None:
    settings.ASSISTANT_METRICS_TOKEN = TOKEN  # type: ignore[attr-defined]
    assert client.get("/metrics", headers=headers).status_code == 404


def test_without_a_configured_token_nobody_gets_metrics(client: Client, settings: object) -> None:
    settings.ASSISTANT_METRICS_TOKEN = ""  # type: ignore[attr-defined]
    assert client.get("/metrics", headers={"Authorization": "Bearer "}).status_code == 404


def test_tokens_read_from_and_written_to_caches_are_counted_apart() -> None:
    spent = Usage(input_tokens=9_000, output_tokens=20, cached_input_tokens=3_000, cache_write_tokens=5_000)
    counting().count_run(tenant="acme", outcome="finished", usage={("p", "caching-model"): spent})
    series = r'^assistant_tokens_total\{kind="(\w+)",model="caching-model",.*\} (\S+)'
    found = re.findall(series, exposition().decode(), re.M)
    assert {kind: float(number) for kind, number in found} == {
        "input": 9_000, "output": 20, "cached_input": 3_000, "cache_write_input": 5_000,
    }  # fmt: skip


def numbers(server: Server) -> dict[str, float]:
    """Every series of a server."""
    request = urllib.request.Request(f"{server.url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"})
    with urllib.request.urlopen(request, timeout=10) as answer:
        lines = [line for line in answer.read().decode().splitlines() if not line.startswith("#")]
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in lines}


@pytest.mark.django_db(transaction=True)
async def test_a_run_is_counted_with_its_tokens_and_calls(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "calculate", ToolSetting.Policy.ON)
    fake_provider.call("calculate", {"expression": "6*7"})
    fake_provider.reply("canary-answer", usage={"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16})
    fake_provider.respond(500, {"error": {"message": "canary"}})
    with serve(env={"ASSISTANT_METRICS_TOKEN": TOKEN, "ASSISTANT_METRICS_TENANTS": "1"}) as server:
        async with open_socket(server.url, user=cast.alice) as socket:
            await socket.ask("canary-question")
            found = numbers(server)
            assert found["assistant_open_connections"] == 1
    assert found['assistant_runs_total{outcome="finished",tenant="acme"}'] == 1
    assert found['assistant_tool_calls_total{outcome="ok",tenant="acme",tool="calculate"}'] == 1
    assert found['assistant_run_seconds_count{outcome="finished"}'] == 1
    assert found["assistant_first_token_seconds_count"] == 1
    assert sum(value for name, value in found.items() if re.match(r"assistant_tokens_total.*output", name)) > 0
    assert found["assistant_event_log_bytes"] > 0
    assert not [name for name in found if "canary" in name or "alice" in name]


@pytest.mark.django_db(transaction=True)
async def test_a_test_of_a_prompt_counts_apart(cast: Cast, provider: Provider, fake_provider: FakeProvider) -> None:
    await sync_to_async(switch_tool)(cast.acme, "calculate", ToolSetting.Policy.ON)
    draft = await sync_to_async(draft_prompt)(assistant=cast.support, text="You are a draft.")
    fake_provider.call("calculate", {"expression": "6*7"})
    fake_provider.reply("42")
    with serve(env={"ASSISTANT_METRICS_TOKEN": TOKEN}) as server:
        async with open_socket(server.url, user=cast.amy) as socket:
            await socket.ask("Go", forwardedProps={"promptVersion": draft.pk})
            found = numbers(server)
    assert found['assistant_test_runs_total{outcome="finished"}'] == 1
    assert found['assistant_test_tool_calls_total{outcome="ok",tool="calculate"}'] == 1
    assert not [name for name in found if name.startswith(("assistant_runs_total", "assistant_tool_calls_total"))]
    assert found["assistant_first_token_seconds_count"] == 0
    assert any(name.startswith("assistant_tokens_total") for name in found)


@pytest.mark.django_db(transaction=True)
async def test_calls_that_are_written_as_text_are_counted(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "calculate", "on")
    fake_provider.reply('<tool_call>{"name": "calculate", "arguments": {"expression": "6*7"}}</tool_call>')
    fake_provider.reply('[TOOL_CALLS] [{"name": "canary_tool", "arguments": {}}]')
    with serve(env={"ASSISTANT_METRICS_TOKEN": TOKEN}) as server:
        async with open_socket(server.url, user=cast.alice) as socket:
            events = await socket.ask("Go")
        found = numbers(server)
    assert "TOOL_CALLS" not in str(events) and "tool_call>" not in str(events)
    counted = {name: value for name, value in found.items() if name.startswith("assistant_written_calls_total")}
    assert sorted(counted.values()) == [1, 1] and "canary" not in str(counted)


@pytest.mark.django_db(transaction=True)
async def test_provider_errors_and_unknown_tools_are_counted(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.call("canary_tool", {})
    fake_provider.respond(400, {"error": {"message": "no"}})
    with serve(env={"ASSISTANT_METRICS_TOKEN": TOKEN}) as server:
        async with open_socket(server.url, user=cast.alice) as socket:
            await socket.ask("Go")
        found = numbers(server)
    assert [value for name, value in found.items() if name.startswith("assistant_provider_errors_total")] == [1]
    assert found['assistant_runs_total{outcome="failed",tenant="other"}'] == 1
    assert any('tool="unknown"' in name for name in found)
    assert not any("canary" in name for name in found)


@pytest.mark.django_db(transaction=True)
async def test_a_run_that_the_fallback_answered_is_counted_for_the_provider_that_failed(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    fake_provider.rule(lambda request: respond(503, {"error": {"message": "overloaded"}}))
    with FakeProvider() as second, serve(env={"ASSISTANT_METRICS_TOKEN": TOKEN}) as server:
        cast.support.fallback_provider = await sync_to_async(make_provider)(base_url=second.url, name="Second")
        await sync_to_async(cast.support.save)()
        second.reply("Hello.")
        async with open_socket(server.url, user=cast.alice) as socket:
            await socket.ask("Go")
        found = numbers(server)
    counted = {name: value for name, value in found.items() if name.startswith("assistant_model_fallbacks_total")}
    assert list(counted.values()) == [1] and 'reason="down"' in next(iter(counted))


@pytest.mark.django_db(transaction=True)
async def test_calls_that_did_not_run_are_counted_for_their_tool(
    cast: Cast, provider: Provider, fake_provider: FakeProvider
) -> None:
    await sync_to_async(switch_tool)(cast.acme, "get_customer", ToolSetting.Policy.ON)
    await sync_to_async(switch_tool)(cast.acme, "update_customer", ToolSetting.Policy.ASK)
    fake_provider.call("get_customer", {"customer_id": "canary"})
    fake_provider.call("update_customer", {"customer_id": 1, "name": "canary"})
    with serve(env={"ASSISTANT_METRICS_TOKEN": TOKEN}) as server:
        async with open_socket(server.url, user=cast.alice) as socket:
            await socket.ask("Go")
        found = numbers(server)
    calls = {name for name in found if name.startswith("assistant_tool_calls_total")}
    assert calls == {
        'assistant_tool_calls_total{outcome="error",tenant="other",tool="get_customer"}',
        'assistant_tool_calls_total{outcome="awaiting_approval",tenant="other",tool="update_customer"}',
    }


def test_a_label_is_bounded() -> None:
    label = BoundedLabel(2)
    assert [label(value) for value in ("a", "b", "c", "a", "d")] == ["a", "b", "other", "a", "other"]


def test_a_series_of_another_app_is_there_before_something_is_counted() -> None:
    series = Series("assistant_sheep", "Sheep that were seen.")
    assert "assistant_sheep_total 0.0" in exposition().decode()
    series.add(amount=3)
    assert "assistant_sheep_total 3.0" in exposition().decode()
    times = Series("assistant_shearing_seconds", "How long it took.", ("colour",), buckets=(1, 2))
    times.add("black", amount=1.5)
    assert 'assistant_shearing_seconds_bucket{colour="black",le="2.0"} 1.0' in exposition().decode()
