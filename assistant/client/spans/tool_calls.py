"""Spans of tool calls."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind

from assistant.client.spans.recording import (
    NO_EXCEPTION_TEXT,
    Parent,
    attributes_of,
    current,
    duration,
    error_label,
    error_type,
    fail,
    tracer,
)
from assistant.core.extensions.interceptors import CallTool, Invocation
from assistant.toolkit import ToolResult
from assistant.toolkit.definition.questions import NeedsAnswer


class ToolSpans:
    """A tool interceptor that records a span for every call."""

    def __init__(self, *, content: bool = False, parent: Parent = current) -> None:
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
        with _span_of(tool.name, self._parent(), labels) as span:
            span.set_attribute("gen_ai.tool.call.id", context.tool_call_id)
            span.set_attribute("gen_ai.tool.description", tool.description)
            if self._content:
                given = invocation.arguments
                text = given if isinstance(given, str) else json.dumps(dict(given))
                span.set_attribute("gen_ai.tool.call.arguments", text)
                if invocation.fields is not None:
                    span.set_attribute("tool.augmentation", invocation.fields.model_dump_json(by_alias=True))
            try:
                result = await call(invocation)
                if result.is_error:
                    fail(span, "tool_error")
            except NeedsAnswer:
                span.set_attribute("tool.needs_answer", True)  # no failure: it is called again with the answer
                raise
            except BaseException as exc:
                fail(span, error_type(exc, context.deadline))
                raise
            finally:
                duration.record(time.perf_counter() - began, labels | error_label(span))
            if self._content:
                span.set_attribute("gen_ai.tool.call.result", result.content)
            return result


@contextmanager
def _span_of(tool: str, parent: Context | None, attributes: Mapping[str, str]) -> Iterator[Span]:
    """Return the span of a call: that of the MCP request that makes it, which is the current one, or a new one."""
    requested = trace.get_current_span()
    known = attributes_of(requested)
    is_the_call = (
        getattr(requested, "kind", None) is SpanKind.SERVER
        and known.get("gen_ai.operation.name") == "execute_tool"
        and known.get("gen_ai.tool.name") == tool
        # A tool that it calls may have the same name.
        and "tenant.slug" not in known
    )
    if is_the_call and requested.is_recording():
        requested.set_attributes(attributes)
        yield requested
        return
    with tracer.start_as_current_span(
        f"execute_tool {tool}", parent, attributes=attributes, **NO_EXCEPTION_TEXT
    ) as span:
        yield span
