"""OpenTelemetry spans of tenants' runs, with messages and arguments if `ASSISTANT_TRACE_CONTENT` is set."""

from __future__ import annotations

from contextlib import AbstractContextManager

from django.conf import settings
from opentelemetry.trace import Span

from assistant.core.extensions.interceptors import CallTool, InterceptedModel, Invocation
from assistant.core.llm.protocol import Model
from assistant.core.turn.plan import Plan
from assistant.spans import ToolSpans, fail, fell_back, is_observed, model_spans, run_span
from assistant.toolkit import ToolResult

__all__ = ["fail", "fell_back", "is_observed", "run_span", "span_of_run", "trace_call", "traced"]


def span_of_run(plan: Plan, *, thread: str, replaced: str) -> AbstractContextManager[Span]:
    """Return the span of a run of the conversation `thread`, as `run_span` does.

    Args:
        replaced: the model in whose place the plan's answers; "" if there is none.
    """
    context = plan.context
    return run_span(
        assistant=context.assistant,
        tenant=context.tenant.slug,
        thread=thread,
        run_id=context.run_id,
        model=plan.model,
        replaced=replaced,
    )


def traced(model: Model, *, tenant: str) -> Model:
    """Wrap a model in spans."""
    return InterceptedModel(model, [model_spans(model, tenant=tenant, content=settings.ASSISTANT_TRACE_CONTENT)])


async def trace_call(invocation: Invocation, call: CallTool) -> ToolResult:
    """An interceptor that wraps a tool call in a span."""
    return await ToolSpans(content=settings.ASSISTANT_TRACE_CONTENT)(invocation, call)
