"""W3C trace context: read from requests, and sent to providers, MCP servers and webhooks.

Baggage is neither read nor sent, because it may contain anything. `OTEL_PROPAGATORS` without `tracecontext` switches
both off, as it does in OpenTelemetry's own instrumentations. Source: https://www.w3.org/TR/trace-context/.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, MutableMapping
from contextvars import Token

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

IS_ON = "tracecontext" in os.environ.get("OTEL_PROPAGATORS", "tracecontext,baggage")
# Characters; the specification asks for at least these.
MAX_TRACE_STATE = 512
_NAMES = ("traceparent", "tracestate")
_propagator = TraceContextTextMapPropagator()


def parent_in(headers: Mapping[str, str]) -> Context | None:
    """Return the context of the span that a request names in its headers; None if it names none."""
    if not IS_ON or "traceparent" not in headers:
        return None
    given = {name: value for name in _NAMES if (value := headers.get(name)) and len(value) <= MAX_TRACE_STATE}
    found = _propagator.extract(given, Context())
    return found if trace.get_current_span(found).get_span_context().is_valid else None


def attach_parent(headers: Iterable[tuple[bytes, bytes]]) -> Token[Context] | None:
    """Make the span that an ASGI scope's headers name the current one; None if nothing was changed.

    An instrumentation of the server may have done so already, with a span of its own.
    """
    if trace.get_current_span().get_span_context().is_valid:
        return None
    given = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers if name[:5] == b"trace"}
    parent = parent_in(given) if given else None
    return None if parent is None else otel_context.attach(parent)


def continue_trace(headers: Mapping[str, str]) -> None:
    """Make the span that `trace_headers` named, if any, the current one, to the end of the current task."""
    if (parent := parent_in(headers)) is not None:
        otel_context.attach(parent)


def detach_parent(token: Token[Context] | None) -> None:
    """Undo `attach_parent`."""
    if token is not None:
        otel_context.detach(token)


def add_trace_context(headers: MutableMapping[str, str]) -> None:
    """Add the current span to the headers of a request, if there is one."""
    if IS_ON:
        _propagator.inject(headers)


def trace_headers() -> dict[str, str]:
    """Return the headers that name the current span; empty without one."""
    headers: dict[str, str] = {}
    add_trace_context(headers)
    return headers
