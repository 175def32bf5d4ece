"""What a request does belongs to the trace that it names, at every door, and is told to whom it asks."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest
from opentelemetry.semconv.schemas import Schemas

from assistant.models import Provider, Webhook
from assistant.spans import CONVENTIONS_VERSION
from tests.api.calling import key_of
from tests.base import Cast
from tests.factories import make_conversation, switch_tool
from tests.fake_provider import FakeProvider
from tests.live import Server, serve
from tests.mcp.talking import OLDER, Client
from tests.webhooks.conftest import hook, receiver
from tests.webhooks.receiver import Receiver
from tests.ws import open_socket, run_input

__all__ = ["receiver"]
pytestmark = pytest.mark.django_db(transaction=True)

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = {"traceparent": f"00-{TRACE}-{SPAN}-01", "tracestate": "vendor=1", "baggage": "user=canary-baggage"}
Spans = list[dict[str, Any]]


class Site(NamedTuple):
    server: Server
    file: Path
    cast: Cast
    key: str

    def spans(self, name: str) -> Spans:
        """The spans that have ended so far and whose names begin so."""
        text, found, at = self.file.read_text(), [], 0
        while (start := text.find("{", at)) >= 0:
            span, at = json.JSONDecoder().raw_decode(text, start)
            found.append(span)
        return [span for span in found if span["name"].startswith(name)]

    def wait_for(self, name: str) -> dict[str, Any]:
        """The only span whose name begins so, once it has ended."""
        deadline = time.monotonic() + 30
        while not (found := self.spans(name)):
            assert time.monotonic() < deadline, self.file.read_text() + self.server.log
            time.sleep(0.05)
        (span,) = found
        return span


@pytest.fixture
def site(cast: Cast, provider: Provider, tmp_path: Path) -> Iterator[Site]:
    file = tmp_path / "spans"
    application = "tests.isolation.sites.recorded_asgi:application"
    env = {"TRACES": str(file), "TRACE_CONTENT": "true", "DJANGO_SETTINGS_MODULE": "tests.webhooks.settings"}
    with serve(application=application, env=env) as server:
        yield Site(server, file, cast, key_of(cast.acme, cast.alice))


def post(site: Site, path: str, body: Any) -> None:
    headers = {"Authorization": f"Bearer {site.key}", **PARENT}
    assert httpx2.post(site.server.url + path, json=body, headers=headers, timeout=60).is_success


def over_websocket(site: Site) -> None:
    async def ask() -> None:
        async with open_socket(site.server.url, key=site.key, headers=PARENT) as socket:
            await socket.ask("Hello")

    asyncio.run(ask())


def over_sse(site: Site) -> None:
    post(site, "/api/v1/tenants/acme/assistants/support/runs/", run_input("Hello"))


def over_rest(site: Site) -> None:
    talk = make_conversation(site.cast.alice, site.cast.support)
    post(site, f"/api/v1/tenants/acme/conversations/{talk.pk}/runs/", {"message": "Hello"})


def over_completions(site: Site) -> None:
    post(site, "/v1/chat/completions", {"model": "support", "messages": [{"role": "user", "content": "Hello"}]})


@pytest.mark.parametrize("ask", [over_websocket, over_sse, over_rest, over_completions])
def test_runs_belong_to_the_trace_that_a_request_names(
    ask: Callable[[Site], None], site: Site, fake_provider: FakeProvider, receiver: Receiver
) -> None:
    hook(site.cast.acme, receiver.url, events=[Webhook.Event.RUN_FINISHED])
    ask(site)
    run, chat = site.wait_for("invoke_agent"), site.wait_for("chat ")
    assert (run["context"]["trace_id"], run["parent_id"]) == (f"0x{TRACE}", f"0x{SPAN}")
    assert chat["parent_id"] == run["context"]["span_id"]
    sent = fake_provider.requests[-1].headers
    assert sent["traceparent"] == f"00-{TRACE}-{chat['context']['span_id'][2:]}-01"
    assert sent["tracestate"] == "vendor=1" and "baggage" not in sent
    (told,) = receiver.wait_for(1)
    assert told.headers["traceparent"].startswith(f"00-{TRACE}-") and "baggage" not in told.headers


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
    post(site, "/v1/chat/completions", body)
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
