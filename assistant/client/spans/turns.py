"""Spans of a `ChatClient`'s turns."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span

from assistant.client.spans import ToolSpans, fail, fell_back, is_observed, model_spans
from assistant.client.spans.recording import duration, error_label, error_type, provider_of, tracer
from assistant.client.turns import Turn
from assistant.core.extensions.extension import Interceptors
from assistant.core.extensions.interceptors import InterceptedModel
from assistant.core.llm.protocol import Model
from assistant.core.values.events import RunError

__all__ = ["is_observed", "with_spans"]


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
        plan = replace(
            plan,
            model=self._observed(plan.model),
            fallbacks=tuple(replace(one, model=self._observed(one.model)) for one in plan.fallbacks),
            extensions=(Interceptors([ToolSpans(parent=self._parent)]), *plan.extensions),
            calls=replace(plan.calls, observe=self._observed),
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
        self._span = tracer.start_span("invoke_agent", attributes=labels)
        self._span.set_attribute("gen_ai.conversation.id", self._context.thread_id)
        self._span.set_attribute("run.id", self._context.run_id)
        try:
            yield
            fell_back(self._span, turn.transcript.timeline)
            if isinstance(ending := turn.transcript.ending, RunError):
                fail(self._span, ending.code or "_OTHER")
        except BaseException as exc:
            fail(self._span, error_type(exc))
            raise
        finally:
            duration.record(time.perf_counter() - began, labels | error_label(self._span))
            self._span.end()
