"""Spans of tenants' runs, with messages and arguments if `ASSISTANT_TRACE_CONTENT` is set."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from assistant.client.spans import ToolSpans, fail, fell_back, model_spans
from assistant.contrib.telemetry.run_spans import run_span
from assistant.core.extensions.interceptors import CallTool, Invocation, ModelInterceptor
from assistant.core.llm.protocol import Model
from assistant.services.toolcalls.observers import ObservedRun
from assistant.toolkit import ToolResult


class Spans:
    """Records a span for each run, each request to a model and each tool call, if an SDK collects them."""

    @contextmanager
    def around_run(self, run: ObservedRun) -> Iterator[None]:
        context = run.plan.context
        with run_span(
            assistant=context.assistant,
            tenant=context.tenant.slug,
            thread=run.thread,
            run_id=context.run_id,
            model=run.plan.model,
            replaced=run.replaced,
        ) as span:
            yield
            fell_back(span, run.transcript.timeline)
            if failure := run.failure():
                fail(span, failure)

    def around_requests(self, model: Model, *, tenant: str) -> ModelInterceptor:
        return model_spans(model, tenant=tenant, content=settings.ASSISTANT_TRACE_CONTENT)

    async def around_call(self, invocation: Invocation, call: CallTool) -> ToolResult:
        return await ToolSpans(content=settings.ASSISTANT_TRACE_CONTENT)(invocation, call)


SPANS = Spans()
