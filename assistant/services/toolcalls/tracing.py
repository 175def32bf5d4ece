"""The spans and metrics of tenants' runs; with `TRACE_CONTENT` also of what was said or passed."""

from __future__ import annotations

from django.conf import settings

from assistant.core.llm.protocol import Model
from assistant.core.toolcalls.interceptors import CallTool, InterceptedModel, Invocation
from assistant.spans import ToolSpans, fail, is_observed, model_spans, run_span
from assistant.toolkit import ToolResult

__all__ = ["fail", "is_observed", "observe_call", "observed", "run_span"]


def observed(model: Model, *, tenant: str) -> Model:
    """The model with a span around every question to it; the model itself if nobody collects spans."""
    if not is_observed():
        return model
    return InterceptedModel(model, [model_spans(model, tenant=tenant, content=settings.TRACE_CONTENT)])


async def observe_call(invocation: Invocation, call: CallTool) -> ToolResult:
    """An interceptor: a span around one tool call."""
    return await ToolSpans(content=settings.TRACE_CONTENT)(invocation, call)
