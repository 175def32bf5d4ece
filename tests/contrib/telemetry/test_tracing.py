"""Spans and metrics by the GenAI semantic conventions."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys

import pytest
from django.conf import settings
from opentelemetry.semconv._incubating.attributes import gen_ai_attributes
from opentelemetry.semconv._incubating.metrics import gen_ai_metrics

from assistant.services.toolcalls import interceptors, observers

# An SDK can be set once for a process, so each test has a process of its own.
SCRIPT = """
import asyncio, os, time, django
django.setup()
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
from opentelemetry import metrics
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
reader = InMemoryMetricReader()
metrics.set_meter_provider(MeterProvider([reader]))

from assistant.core.turn.loop import run_turn
from assistant.core.values.messages import ToolCall
from assistant.core.llm.protocol import ModelError
from assistant.core.turn.plan import Plan
from assistant.core.values.messages import Message
from assistant.core.toolcalls.protocols import FixedToolset
from assistant.core.conversation.transcript import Transcript
from assistant.core.extensions.extension import Interceptors
from assistant.providers import ScriptedModel
from assistant.client.spans import fail
from assistant.contrib.telemetry.observer import SPANS
from assistant.contrib.telemetry.run_spans import run_span
from assistant.core.extensions.interceptors import InterceptedModel

trace_call = SPANS.around_call

def traced(model, *, tenant):
    return InterceptedModel(model, [SPANS.around_requests(model, tenant=tenant)])
from assistant.toolkit import TenantInfo, ToolContext, ToolError, ToolResult, tool

@tool
def greet(name: str) -> str:
    "Greet somebody."
    return f"Hello {name}"

@tool
def break_down() -> str:
    "Break down."
    raise RuntimeError("canary-error")

@tool(timeout=0.05)
async def wait() -> str:
    "Wait."
    await asyncio.sleep(30)

@tool(timeout=0.05)
def wait_in_thread() -> str:
    "Wait."
    time.sleep(0.5)

@tool
async def say_no() -> ToolResult:
    "Say no."
    return ToolResult("canary-no", is_error=True)

@tool
async def refuse() -> str:
    "Refuse."
    raise ToolError("canary-refusal")

@tool
async def get_cancelled() -> str:
    "Await what is cancelled."
    raise asyncio.CancelledError

@tool
async def hang() -> str:
    "Hang."
    RUNNING.set()
    await asyncio.sleep(30)

RUNNING = asyncio.Event()

async def cancel_in_the_middle():
    plan = Plan(ScriptedModel([ToolCall("c", "hang", "{}")]), [Message("user", "hi")], FixedToolset([hang]),
                extensions=(Interceptors([trace_call]),))
    async def run():
        async for event in run_turn(plan, Transcript()):
            pass
    task = asyncio.create_task(run())
    await RUNNING.wait()
    task.cancel()
    await asyncio.wait([task])

async def main():
    model = traced(ScriptedModel([ToolCall("c", "greet", '{"name": "canary-name"}'), "canary-answer"]), tenant="acme")
    plan = Plan(model, [Message("user", "canary-question")], FixedToolset([greet]),
                context=ToolContext(tenant=TenantInfo(1, "acme")), extensions=(Interceptors([trace_call]),))
    with run_span(assistant="support", tenant="acme", thread="t", run_id="r", model=model, replaced="Large, l-1"):
        async for event in run_turn(plan, Transcript()):
            pass
    broken = traced(ScriptedModel([ToolCall("c", "break_down", "{}"), ModelError("No.", "provider_timeout")]),
                      tenant="acme")
    plan = Plan(broken, [Message("user", "hi")], FixedToolset([break_down]), extensions=(Interceptors([trace_call]),))
    with run_span(assistant="support", tenant="acme", thread="t", run_id="r2", model=broken) as span:
        async for event in run_turn(plan, Transcript()):
            pass
        fail(span, event.code)
    slow = ScriptedModel([[ToolCall(f"c{n}", name, "{}") for n, name in enumerate(
        ["wait", "wait_in_thread", "say_no", "refuse", "get_cancelled"])], "ok"])
    tools = [wait, wait_in_thread, say_no, refuse, get_cancelled]
    plan = Plan(slow, [Message("user", "hi")], FixedToolset(tools), extensions=(Interceptors([trace_call]),))
    async for event in run_turn(plan, Transcript()):
        pass
    await cancel_in_the_middle()
    for span in exporter.get_finished_spans():
        print(span.name, dict(span.attributes), span.status.status_code.name, span.status.description, span.events)
    for scope in reader.get_metrics_data().resource_metrics[0].scope_metrics:
        for metric in scope.metrics:
            for point in metric.data.data_points:
                print("metric", metric.name, dict(point.attributes))

asyncio.run(main())
"""


def spans(script: str = SCRIPT, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"} | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_spans_of_runs_model_calls_and_tool_calls_have_no_content() -> None:
    told = spans()
    for name in ("invoke_agent support", "chat scripted", "execute_tool greet"):
        assert f"{name} {{" in told
    assert "'tenant.slug': 'acme'" in told
    assert told.count("'run.replaced_model': 'Large, l-1'") == 1
    assert "gen_ai.usage.input_tokens" in told
    for operation in ("invoke_agent", "chat", "execute_tool"):
        assert f"metric gen_ai.client.operation.duration {{'gen_ai.operation.name': '{operation}'" in told
    assert "metric gen_ai.client.token.usage" in told
    assert told.count("'tenant.slug': 'acme'") >= 8
    assert "canary" not in told


def test_content_is_recorded_if_configured() -> None:
    told = spans(ASSISTANT_TRACE_CONTENT="true")
    assert all(f"canary-{what}" in told for what in ("question", "name", "answer"))


def test_names_follow_the_conventions_and_failures_have_a_type() -> None:
    told = spans()
    known = {value for value in vars(gen_ai_attributes).values() if isinstance(value, str)}
    known |= {value for value in vars(gen_ai_metrics).values() if isinstance(value, str)}
    used = set(re.findall(r"gen_ai\.[\w.]+\w", told))
    assert used <= known, used - known
    for line in told.splitlines():
        if "execute_tool" not in line:
            assert "'gen_ai.provider.name': 'scripted'" in line, line
    metrics = [line for line in told.splitlines() if line.startswith("metric gen_ai.client.operation.duration")]
    for operation, kind in (("invoke_agent", "provider_timeout"), ("chat", "provider_timeout"), ("execute_tool", "R")):
        assert any(f"'{operation}'" in line and f"'error.type': '{kind}" in line for line in metrics), operation


def test_recorded_answers_have_the_format_of_the_conventions() -> None:
    told = spans(ASSISTANT_TRACE_CONTENT="true")
    (first, *_) = re.findall(r"'gen_ai.output.messages': '(.*?)'[,}]", told)
    (message,) = json.loads(first.encode().decode("unicode_escape"))
    assert message["role"] == "assistant" and message["finish_reason"] == "tool_calls"
    assert message["parts"][0]["type"] == "tool_call" and message["parts"][0]["name"] == "greet"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("execute_tool wait", "timeout"),
        ("execute_tool wait_in_thread", "timeout"),
        ("execute_tool say_no", "tool_error"),
        ("execute_tool refuse", "tool_error"),
        ("execute_tool get_cancelled", "RuntimeError"),
        ("execute_tool hang", "cancelled"),
        ("execute_tool break_down", "RuntimeError"),
    ],
)
def test_failures_have_an_error_type_without_the_exceptions_text(name: str, kind: str, told: str) -> None:
    (line,) = [line for line in told.splitlines() if line.startswith(f"{name} {{")]
    assert f"'error.type': '{kind}'" in line
    assert line.endswith("ERROR None ()")


def test_successful_spans_have_no_status(told: str) -> None:
    assert all(line.endswith("UNSET None ()") for line in told.splitlines() if line.startswith("execute_tool greet"))


@pytest.fixture(scope="module")
def told() -> str:
    return spans()


# No Django here, and nothing but an SDK switches it on.
CLIENT_SCRIPT = """
import asyncio, sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

from assistant.client import ChatClient, RunFailed
from assistant.client.agents import Agent
from assistant.core.values.messages import ToolCall
from assistant.core.llm.protocol import ModelError
from assistant.core.toolcalls.protocols import FixedToolset
from assistant.core.extensions.extension import Interceptors
from assistant.providers import ScriptedModel
from assistant.toolkit import TenantInfo, tool

@tool
def greet(name: str) -> str:
    "Greet somebody."
    return f"Hello {name}"

async def main():
    greeting = ToolCall("c", "greet", '{"name": "canary-name"}')
    helper = Agent(name="helper", description="Help.", model=ScriptedModel([greeting, "ok"]),
                   toolset=FixedToolset([greet]))
    asking = ToolCall("d", "helper", '{"task": "canary-task"}')
    client = ChatClient(model=ScriptedModel([[greeting, asking], "canary-answer"]), tools=[greet, helper.as_tool()],
                        system="canary-system", context={"tenant": TenantInfo(1, "acme")})
    async for event in client.stream("canary-question"):
        assert trace.get_current_span() is trace.INVALID_SPAN
    failing = ChatClient(model=ScriptedModel([ModelError("No.", "provider_timeout")]))
    try:
        await failing.call("hi")
    except RunFailed:
        pass
    stream = aiter(ChatClient(model=ScriptedModel(["one two three"])).stream("hi"))
    await anext(stream)
    await stream.aclose()
    assert "django" not in sys.modules
    spans = {span.context.span_id: span for span in exporter.get_finished_spans()}
    for span in spans.values():
        parent = spans[span.parent.span_id].name if span.parent else "-"
        print(f"{parent} > {span.name}", span.status.status_code.name, dict(span.attributes))

asyncio.run(main())
"""


def test_the_client_records_spans_if_an_sdk_is_set_up() -> None:
    told = spans(CLIENT_SCRIPT).splitlines()
    begun = [line.partition(" {")[0] for line in told]
    # The tool and the called assistant run concurrently.
    inner = [line for line in begun if line.startswith("execute_tool helper > ")]
    assert inner == [
        "execute_tool helper > chat scripted UNSET",
        "execute_tool helper > execute_tool greet UNSET",
        "execute_tool helper > chat scripted UNSET",
    ]
    assert [line for line in begun if line not in inner] == [
        "invoke_agent > chat scripted UNSET",
        "invoke_agent > execute_tool greet UNSET",
        "invoke_agent > execute_tool helper UNSET",
        "invoke_agent > chat scripted UNSET",
        "- > invoke_agent UNSET",
        "invoke_agent > chat scripted ERROR",
        "- > invoke_agent ERROR",
        "- > invoke_agent ERROR",
    ]
    assert "'tenant.slug': 'acme'" in told[0] and "'error.type': 'provider_timeout'" in told[-2]
    assert "'error.type': 'cancelled'" in told[-1]
    assert "canary" not in "".join(told)


PROPAGATION = """
from assistant.toolkit.carried_context import attach_parent, trace_headers
parent = b"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
attach_parent([(b"traceparent", parent), (b"tracestate", b"a=" + b"x" * 600)])
print(trace_headers())
"""


def test_a_trace_is_passed_on_without_an_sdk_unless_propagation_is_off() -> None:
    named = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
    assert spans(PROPAGATION).strip() == str(named)
    assert spans(PROPAGATION, OTEL_PROPAGATORS="none").strip() == "{}"


def test_only_the_app_watches_runs() -> None:
    """Without an SDK nobody does; what an app registers is found by its name."""
    assert interceptors.observers() == []
    assert [*observers.NAMES.values()] == ["assistant.contrib.telemetry.observer.SPANS"]
