"""OpenTelemetry spans and metrics of runs, model calls and tool calls, by the GenAI semantic conventions.

Source: https://opentelemetry.io/docs/specs/semconv/gen-ai/. Spans contain names, tokens and durations; messages,
arguments and results only with `content`. Without an OpenTelemetry SDK nothing is recorded.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from assistant.core.client.turns import Turn
from assistant.core.llm.protocol import Delta, Model, ModelError, ModelRequest
from assistant.core.toolcalls.interceptors import (
    AskModel,
    CallTool,
    InterceptedModel,
    Invocation,
    ModelInterceptor,
    ToolInterceptor,
)
from assistant.core.values.events import RunError
from assistant.core.values.messages import Reply
from assistant.core.values.timeline import Timeline
from assistant.toolkit import ToolError, ToolResult

_tracer = trace.get_tracer("assistant")
_meter = metrics.get_meter("assistant")
# With the buckets of the conventions.
_tokens = _meter.create_histogram(
    "gen_ai.client.token.usage",
    "{token}",
    "Tokens of one model call.",
    explicit_bucket_boundaries_advisory=[4**exponent for exponent in range(14)],
)
_duration = _meter.create_histogram(
    "gen_ai.client.operation.duration",
    "s",
    "Duration of one run, model call or tool call.",
    explicit_bucket_boundaries_advisory=[0.01 * 2**exponent for exponent in range(14)],
)


# The text of an exception may contain what must not be recorded.
_NO_EXCEPTION_TEXT: Any = {"record_exception": False, "set_status_on_exception": False}
# Timeouts and deadlines are measured by different clocks.
_CLOCK_TOLERANCE = timedelta(milliseconds=50)


def is_observed() -> bool:
    """Return whether an OpenTelemetry SDK is set up in this process."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


def provider_of(model: Model) -> str:
    """Return the conventions' name of a model's provider."""
    return str(getattr(model, "well_known_provider", model.provider))


@contextmanager
def run_span(
    *, assistant: str, tenant: str, thread: str, run_id: str, model: Model, replaced: str = ""
) -> Iterator[Span]:
    """Record a span for a run, to the end of the block. Call `fail` if the run fails without an exception.

    Args:
        replaced: the model in whose place `model` answers, since a threshold of cost is reached; "" if none.
    """
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": provider_of(model),
        "gen_ai.request.model": model.name,
        "gen_ai.agent.name": assistant,
        "gen_ai.conversation.id": thread,
        "tenant.slug": tenant,
        "run.id": run_id,
        **({"run.replaced_model": replaced} if replaced else {}),
    }
    named = (
        "gen_ai.operation.name",
        "gen_ai.provider.name",
        "gen_ai.request.model",
        "gen_ai.agent.name",
        "tenant.slug",
    )
    labels = {name: attributes[name] for name in named}
    began = time.perf_counter()
    with _tracer.start_as_current_span(
        f"invoke_agent {assistant}", attributes=attributes, **_NO_EXCEPTION_TEXT
    ) as span:
        try:
            yield span
        except BaseException as exc:
            fail(span, _error_type(exc))
            raise
        finally:
            _duration.record(time.perf_counter() - began, labels | _error_label(span))


def fail(span: Span, kind: str) -> None:
    """Mark a span as failed; `kind` is the conventions' `error.type`."""
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))


def fell_back(span: Span, timeline: Timeline) -> None:
    """Mark a run's span with the model that took over, and why, if one did."""
    if found := timeline.fallback:
        span.set_attribute("run.fallback_model", f"{found['provider']}, {found['model']}")
        span.set_attribute("run.fallback_reason", found["reason"])


def _error_type(exc: BaseException, deadline: datetime | None = None) -> str:
    """Return the `error.type` of an exception; a cancellation after `deadline` is a timeout."""
    if isinstance(exc, asyncio.CancelledError | GeneratorExit):
        is_late = deadline is not None and datetime.now(UTC) + _CLOCK_TOLERANCE >= deadline
        return "timeout" if is_late else "cancelled"
    if isinstance(exc, ModelError):
        return exc.code
    return "tool_error" if isinstance(exc, ToolError) else type(exc).__name__


def _error_label(span: Span) -> dict[str, str]:
    """Return the metric label for a failed span, nothing for others."""
    kind = (getattr(span, "attributes", None) or {}).get("error.type")
    return {"error.type": str(kind)} if kind else {}


# Returns the context of a span's parent; None for the current span.
Parent = Callable[[], Context | None]


def _current() -> None:
    return None


def model_spans(model: Model, *, tenant: str, content: bool = False, parent: Parent = _current) -> ModelInterceptor:
    """Return a model interceptor that records a span for every request to `model`."""
    labels = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider_of(model),
        "gen_ai.request.model": model.name,
        "tenant.slug": tenant,
    }

    async def ask(request: ModelRequest, following: AskModel) -> AsyncIterator[Delta | Reply]:
        began = time.perf_counter()
        # Not made the current span, because a generator may be closed in another context than it was started in.
        span = _tracer.start_span(f"chat {model.name}", parent(), kind=SpanKind.CLIENT, attributes=labels)
        is_answered = False
        try:
            async for item in following(request):
                if isinstance(item, Reply):
                    is_answered = True
                    _record_reply(span, item, labels, content)
                yield item
        except BaseException as exc:
            # Closing the generator after the reply is no failure.
            if not (is_answered and isinstance(exc, GeneratorExit)):
                fail(span, _error_type(exc))
            raise
        finally:
            _duration.record(time.perf_counter() - began, labels | _error_label(span))
            span.end()

    return ask


def _record_reply(span: Span, reply: Reply, labels: dict[str, str], content: bool) -> None:
    usage = reply.usage
    span.set_attribute("gen_ai.response.model", reply.model)
    span.set_attribute("gen_ai.response.finish_reasons", [reply.finish_reason])
    span.set_attribute("gen_ai.usage.input_tokens", usage.input_tokens)
    span.set_attribute("gen_ai.usage.output_tokens", usage.output_tokens)
    if usage.cached_input_tokens:
        span.set_attribute("gen_ai.usage.cache_read.input_tokens", usage.cached_input_tokens)
    if usage.cache_write_tokens:
        span.set_attribute("gen_ai.usage.cache_creation.input_tokens", usage.cache_write_tokens)
    if usage.reasoning_tokens:
        span.set_attribute("gen_ai.usage.reasoning.output_tokens", usage.reasoning_tokens)
    _tokens.record(usage.input_tokens, labels | {"gen_ai.token.type": "input"})
    _tokens.record(usage.output_tokens, labels | {"gen_ai.token.type": "output"})
    if content:
        span.set_attribute("gen_ai.output.messages", json.dumps([_message_of(reply)], ensure_ascii=False))


def _message_of(reply: Reply) -> dict[str, Any]:
    """Return a reply in the conventions' format of messages."""
    parts: list[dict[str, Any]] = [{"type": "text", "content": reply.text}] if reply.text else []
    parts += [
        {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}
        for call in reply.tool_calls
    ]
    return {"role": "assistant", "parts": parts, "finish_reason": reply.finish_reason}


class ToolSpans:
    """A tool interceptor that records a span for every call."""

    def __init__(self, *, content: bool = False, parent: Parent = _current) -> None:
        self._content = content
        self._parent = parent

    async def __call__(self, invocation: Invocation, call: CallTool) -> ToolResult:
        tool, context = invocation.tool, invocation.context
        labels = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": tool.name,
            "gen_ai.tool.type": "function",
            "tenant.slug": context.tenant.slug,
        }
        began = time.perf_counter()
        with _tracer.start_as_current_span(
            f"execute_tool {tool.name}", self._parent(), attributes=labels, **_NO_EXCEPTION_TEXT
        ) as span:
            span.set_attribute("gen_ai.tool.call.id", context.tool_call_id)
            span.set_attribute("gen_ai.tool.description", tool.description)
            if self._content:
                given = invocation.arguments
                text = given if isinstance(given, str) else json.dumps(dict(given))
                span.set_attribute("gen_ai.tool.call.arguments", text)
            try:
                result = await call(invocation)
                if result.is_error:
                    fail(span, "tool_error")
            except BaseException as exc:
                fail(span, _error_type(exc, context.deadline))
                raise
            finally:
                _duration.record(time.perf_counter() - began, labels | _error_label(span))
            if self._content:
                span.set_attribute("gen_ai.tool.call.result", result.content)
            return result


def with_spans(turn: Turn) -> Turn:
    """Return a client's turn that records spans for itself, its model requests and its tool calls."""
    return _TurnSpans(turn).turn


class _TurnSpans:
    """Records the spans of a turn. Its own is not made the current span: the caller's code runs between its events."""

    def __init__(self, turn: Turn) -> None:
        self._span: Span = trace.INVALID_SPAN
        self._outer: Span = trace.INVALID_SPAN
        plan = turn.plan
        self._model, self._context = plan.model, plan.context
        interceptors: tuple[ToolInterceptor, ...] = (ToolSpans(parent=self._parent), *plan.interceptors)
        plan = replace(
            plan,
            model=self._observed(plan.model),
            fallbacks=tuple(replace(one, model=self._observed(one.model)) for one in plan.fallbacks),
            interceptors=interceptors,
            observe=self._observed,
        )
        self.turn = replace(turn, plan=plan, watch=self._watch)

    def _observed(self, model: Model) -> Model:
        asks = model_spans(model, tenant=self._context.tenant.slug, parent=self._parent)
        return InterceptedModel(model, [asks])

    def _parent(self) -> Context | None:
        # In an assistant called as a tool, the current span is that of the call, which is the parent then.
        return trace.set_span_in_context(self._span) if trace.get_current_span() is self._outer else None

    @contextmanager
    def _watch(self, turn: Turn) -> Iterator[None]:
        labels = {
            "gen_ai.operation.name": "invoke_agent",
            "gen_ai.provider.name": provider_of(self._model),
            "gen_ai.request.model": self._model.name,
            "tenant.slug": self._context.tenant.slug,
        }
        began = time.perf_counter()
        self._outer = trace.get_current_span()
        self._span = _tracer.start_span("invoke_agent", attributes=labels)
        self._span.set_attribute("gen_ai.conversation.id", self._context.thread_id)
        self._span.set_attribute("run.id", self._context.run_id)
        try:
            yield
            fell_back(self._span, turn.transcript.timeline)
            if isinstance(ending := turn.transcript.ending, RunError):
                fail(self._span, ending.code or "_OTHER")
        except BaseException as exc:
            fail(self._span, _error_type(exc))
            raise
        finally:
            _duration.record(time.perf_counter() - began, labels | _error_label(self._span))
            self._span.end()
