"""What a request does belongs to the trace that it names, at every door, and is told to whom it asks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.semconv.schemas import Schemas
from pytest_django import Settings

from assistant.client.spans import CONVENTIONS_VERSION
from assistant.core.values.wire_formats import ANTHROPIC, CHAT_COMPLETIONS, GOOGLE, RESPONSES, WIRE_FORMATS
from assistant.models import Provider
from assistant.services.tenant_events import RUN_FINISHED
from tests.base import Cast
from tests.contrib.mcp_servers.allowing import add_server, allow, look
from tests.contrib.telemetry.doors import DOORS, Door, event_stream
from tests.contrib.telemetry.site import Site, recorded_site
from tests.contrib.webhooks.conftest import receiver
from tests.contrib.webhooks.hooks import hook
from tests.contrib.webhooks.receiver import Receiver
from tests.factories import switch_tool
from tests.fake_answers import reply
from tests.fake_provider import FakeProvider
from tests.mcp.conftest import outside_process, outsider
from tests.mcp.outside import Outside
from tests.mcp.talking import OLDER, Client
from tests.providers.native import anthropic_wire, google_wire
from tests.providers.responses import wire as responses_wire
from tests.trace_parent import PARENT, SPAN, TRACE

__all__ = ["outside_process", "outsider", "receiver"]
pytestmark = pytest.mark.django_db(transaction=True)

# An answer in each wire format.
ANSWERS = {
    CHAT_COMPLETIONS: reply("Hi."),
    RESPONSES: responses_wire.answer(responses_wire.says("Hi.")),
    ANTHROPIC: anthropic_wire.say("Hi."),
    GOOGLE: google_wire.say("Hi."),
}


@pytest.fixture
def site(cast: Cast, provider: Provider, fake_provider: FakeProvider, tmp_path: Path) -> Iterator[Site]:
    with recorded_site(cast, fake_provider, tmp_path / "spans") as started:
        yield started


@pytest.mark.parametrize("ask", DOORS, ids=lambda door: door.__name__)
def test_runs_belong_to_the_trace_that_a_request_names(ask: Door, site: Site, receiver: Receiver) -> None:
    hook(site.cast.acme, receiver.url, events=[RUN_FINISHED])
    ask(site)
    run, chat = site.wait_for("invoke_agent", trace=TRACE), site.wait_for("chat ", trace=TRACE)
    assert run["parent_id"] == f"0x{SPAN}"
    assert chat["parent_id"] == run["context"]["span_id"]
    sent = site.model.requests[-1].headers
    assert sent["traceparent"] == f"00-{TRACE}-{chat['context']['span_id'][2:]}-01"
    assert sent["tracestate"] == "vendor=1" and "baggage" not in sent
    (told,) = receiver.wait_for(1)
    assert told.headers["traceparent"].startswith(f"00-{TRACE}-") and "baggage" not in told.headers


@pytest.mark.parametrize("wire_format", WIRE_FORMATS)
def test_a_request_in_every_wire_format_names_its_span(site: Site, wire_format: str) -> None:
    Provider.objects.update(wire_format=wire_format)
    site.model.queue(ANSWERS[wire_format])
    event_stream(site)
    chat = site.wait_for("chat ")
    assert site.model.requests[-1].headers["traceparent"] == f"00-{TRACE}-{chat['context']['span_id'][2:]}-01"
    told = chat["attributes"]
    assert told["server.address"] == "127.0.0.1" and told["gen_ai.response.id"]
    assert told["gen_ai.usage.output_tokens"] > 0 and told["gen_ai.response.time_to_first_chunk"] >= 0


def test_a_call_of_an_external_server_is_one_span_which_it_is_told(
    site: Site, outsider: Outside, settings: Settings
) -> None:
    settings.DEBUG = True

    async def allow_whoami() -> None:
        server = await add_server(site.cast.acme, outsider)
        await look(server)
        await allow(server, "whoami")

    asyncio.run(allow_whoami())
    site.model.call("crm__whoami", {})
    event_stream(site)
    run = site.wait_for("invoke_agent", trace=TRACE)
    call = site.wait_for("execute_tool")
    assert call["name"] == "execute_tool crm__whoami" and call["parent_id"] == run["context"]["span_id"]
    assert [one["name"] for one in site.spans("tools/call")] == []
    assert f"00-{TRACE}-" in site.model.requests[-1].last_text


@pytest.mark.parametrize("where", ["header", "_meta"])
@pytest.mark.parametrize("version", ["2026-07-28", OLDER])
def test_a_call_over_mcp_is_one_span_in_the_trace_that_its_request_names(site: Site, version: str, where: str) -> None:
    switch_tool(site.cast.acme, "calculate", "on")
    client = Client(site.server.url, site.key, version=version)
    call = {"name": "calculate", "arguments": {"expression": "6*7"}}
    if version == OLDER:
        about = {"protocolVersion": OLDER, "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
        client.ask("initialize", about)
    named = {"traceparent": PARENT["traceparent"]}
    if where == "_meta":
        told = client.ask("tools/call", {**call, "_meta": named})
    else:
        told = client.ask("tools/call", call, **named)
    assert "42" in told["result"]["content"][0]["text"]
    span = site.wait_for("tools/call")
    assert (span["context"]["trace_id"], span["parent_id"]) == (f"0x{TRACE}", f"0x{SPAN}")
    assert span["attributes"]["gen_ai.operation.name"] == "execute_tool"
    assert span["attributes"]["tenant.slug"] == "acme" and "6*7" in span["attributes"]["gen_ai.tool.call.arguments"]
    assert site.spans("execute_tool") == []


def test_the_span_of_a_request_to_a_model_has_what_was_asked_and_what_it_took(
    site: Site, fake_provider: FakeProvider
) -> None:
    usage = {
        "prompt_tokens": 9,
        "completion_tokens": 8,
        "prompt_tokens_details": {"cached_tokens": 5},
        "completion_tokens_details": {"reasoning_tokens": 3},
    }
    chunk = {"id": "chatcmpl-1", "model": "fake-2026"}
    fake_provider.stream(
        {**chunk, "choices": [{"index": 0, "delta": {"content": "Hi."}}]},
        {**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage},
    )
    body = {
        "model": "support",
        "messages": [{"role": "user", "content": "Good day"}],
        "temperature": 0.5,
        "max_tokens": 50,
        "stop": ["END"],
        "seed": 7,
    }
    site.post("/v1/chat/completions", body)
    told = site.wait_for("chat ")["attributes"]
    assert (told["server.address"], f":{told['server.port']}/" in fake_provider.url) == ("127.0.0.1", True)
    assert (told["gen_ai.request.temperature"], told["gen_ai.request.max_tokens"]) == (0.5, 50)
    assert (told["gen_ai.request.seed"], told["gen_ai.request.stop_sequences"]) == (7, ["END"])
    assert (told["gen_ai.response.id"], told["gen_ai.response.model"]) == ("chatcmpl-1", "fake-2026")
    assert told["gen_ai.usage.cache_read.input_tokens"] == 5
    assert told["gen_ai.usage.reasoning.output_tokens"] == 3
    assert told["gen_ai.response.time_to_first_chunk"] >= 0 and told["gen_ai.request.stream"] is True
    assert "Acme's support assistant" in told["gen_ai.system_instructions"]
    asked = json.loads(told["gen_ai.input.messages"])[-1]
    assert asked["role"] == "user" and "Good day" in asked["parts"][0]["content"]
    assert "Hi." in told["gen_ai.output.messages"]


def test_the_version_of_the_conventions_is_that_of_the_installed_package(site: Site) -> None:
    newest = list(Schemas)[-1].value
    assert newest.endswith(f"/{CONVENTIONS_VERSION}")
