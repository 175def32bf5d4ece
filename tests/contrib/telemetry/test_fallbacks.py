"""A model that took over is in the trace of its turn."""

from __future__ import annotations

from tests.contrib.telemetry.test_tracing import spans

# An SDK can be set once for a process, so the test has a process of its own.
SCRIPT = """
import asyncio
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)

from assistant.client import ChatClient
from assistant.core.llm.protocol import ModelError
from assistant.providers import ScriptedModel

async def main():
    down = ScriptedModel([ModelError("Down.", kind="down")])
    reply = await ChatClient(model=down, fallback=ScriptedModel(["canary-answer"])).call("canary-question")
    assert reply.text == "canary-answer"
    for span in exporter.get_finished_spans():
        print(span.name, span.status.status_code.name, dict(span.attributes))

asyncio.run(main())
"""


def test_the_turns_span_names_the_model_that_took_over_and_why() -> None:
    *requests, turn = spans(SCRIPT).splitlines()
    assert [line.split(" {")[0] for line in requests] == ["chat scripted ERROR", "chat scripted UNSET"]
    assert turn.startswith("invoke_agent UNSET")
    assert "'run.fallback_model': 'scripted, scripted'" in turn and "'run.fallback_reason': 'down'" in turn
    assert "canary" not in turn
