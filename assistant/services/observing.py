"""OpenTelemetry spans and metrics of runs, model calls and tool calls, by the GenAI semantic conventions.

Source: https://opentelemetry.io/docs/specs/semconv/gen-ai/. Names, tokens and durations only; what was said or passed
is recorded when `TRACE_CONTENT` is on. Without an OpenTelemetry SDK in the process nothing is measured or costs.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

from django.conf import settings
from opentelemetry import metrics, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from assistant.core.interceptors import AskModel, CallTool, InterceptedModel, Invocation, ModelInterceptor
from assistant.core.messages import Reply
from assistant.core.model import Delta, Model, ModelError, ModelRequest
from tools import ToolError, ToolResult

_tracer = trace.get_tracer("assistant")
_meter = metrics.get_meter("assistant")
_tokens = _meter.create_histogram("gen_ai.client.token.usage", "{token}", "Tokens of one model call.")
_duration = _meter.create_histogram("gen_ai.client.operation.duration", "s", "Duration of one model or tool call.")


def is_observed() -> bool:
    """Whether anybody collects spans in this process."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


@contextmanager
def run_span(*, assistant: str, tenant: str, thread: str, run_id: str) -> Iterator[Span]:
    """The span of one run."""
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": assistant,
        "gen_ai.conversation.id": thread,
        "tenant.slug": tenant,
        "run.id": run_id,
    }
    began = time.perf_counter()
    with _tracer.start_as_current_span(f"invoke_agent {assistant}", attributes=attributes) as span:
        try:
            yield span
        finally:
            labels = {name: attributes[name] for name in ("gen_ai.operation.name", "gen_ai.agent.name", "tenant.slug")}
            _duration.record(time.perf_counter() - began, labels)


def observed(model: Model, *, tenant: str) -> Model:
    """The model with a span around every question to it; the model itself if nobody collects spans."""
    return InterceptedModel(model, [_model_spans(model, tenant)]) if is_observed() else model


def _model_spans(model: Model, tenant: str) -> ModelInterceptor:
    labels = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": model.provider,
        "gen_ai.request.model": model.name,
        "tenant.slug": tenant,
    }

    async def ask(request: ModelRequest, following: AskModel) -> AsyncIterator[Delta | Reply]:
        began = time.perf_counter()
        # Not the current span: a generator may be closed in another context than it began in.
        span = _tracer.start_span(f"chat {model.name}", kind=SpanKind.CLIENT, attributes=labels)
        try:
            async for item in following(request):
                if isinstance(item, Reply):
                    _note_reply(span, item, labels)
                yield item
        except ModelError as exc:
            span.set_attribute("error.type", exc.code)
            span.set_status(Status(StatusCode.ERROR))
            raise
        finally:
            _duration.record(time.perf_counter() - began, labels)
            span.end()

    return ask


def _note_reply(span: Span, reply: Reply, labels: dict[str, str]) -> None:
    span.set_attribute("gen_ai.response.model", reply.model)
    span.set_attribute("gen_ai.response.finish_reasons", [reply.finish_reason])
    span.set_attribute("gen_ai.usage.input_tokens", reply.usage.input_tokens)
    span.set_attribute("gen_ai.usage.output_tokens", reply.usage.output_tokens)
    _tokens.record(reply.usage.input_tokens, labels | {"gen_ai.token.type": "input"})
    _tokens.record(reply.usage.output_tokens, labels | {"gen_ai.token.type": "output"})
    if settings.TRACE_CONTENT:
        span.set_attribute("gen_ai.output.messages", reply.text)


async def observe_call(invocation: Invocation, call: CallTool) -> ToolResult:
    """An interceptor: a span around one tool call."""
    tool, context = invocation.tool, invocation.context
    labels = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool.name,
        "gen_ai.tool.type": "function",
        "tenant.slug": context.tenant.slug,
    }
    began = time.perf_counter()
    with _tracer.start_as_current_span(f"execute_tool {tool.name}", attributes=labels, record_exception=False) as span:
        span.set_attribute("gen_ai.tool.call.id", context.tool_call_id)
        if settings.TRACE_CONTENT:
            span.set_attribute("gen_ai.tool.call.arguments", str(invocation.arguments))
        try:
            result = await call(invocation)
        except Exception as exc:
            # The exception's text may hold what must not be recorded; its kind may not.
            span.set_attribute("error.type", "tool_error" if isinstance(exc, ToolError) else type(exc).__name__)
            span.set_status(Status(StatusCode.ERROR))
            raise
        finally:
            _duration.record(time.perf_counter() - began, labels)
        if settings.TRACE_CONTENT:
            span.set_attribute("gen_ai.tool.call.result", result.content)
        return result
