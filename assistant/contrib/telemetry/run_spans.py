"""Spans of runs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.trace import Span

from assistant.client.spans.recording import (
    NO_EXCEPTION_TEXT,
    duration,
    error_label,
    error_type,
    fail,
    provider_of,
    tracer,
)
from assistant.core.llm.protocol import Model


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
    with tracer.start_as_current_span(f"invoke_agent {assistant}", attributes=attributes, **NO_EXCEPTION_TEXT) as span:
        try:
            yield span
        except BaseException as exc:
            fail(span, error_type(exc))
            raise
        finally:
            duration.record(time.perf_counter() - began, labels | error_label(span))
