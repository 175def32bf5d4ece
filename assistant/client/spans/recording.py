"""The tracer and the instruments, and how spans say that something failed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, Status, StatusCode

from assistant.core.llm.protocol import Model, ModelError
from assistant.core.values.timeline import Timeline
from assistant.toolkit import ToolError

# The version of the semantic conventions whose names are used.
# Source: https://opentelemetry.io/docs/specs/semconv/gen-ai/.
CONVENTIONS_VERSION = "1.44.0"
_SCHEMA = f"https://opentelemetry.io/schemas/{CONVENTIONS_VERSION}"

tracer = trace.get_tracer("assistant", schema_url=_SCHEMA)
_meter = metrics.get_meter("assistant", schema_url=_SCHEMA)
_SECONDS = [0.01 * 2**exponent for exponent in range(14)]
# With the buckets of the conventions.
token_usage = _meter.create_histogram(
    "gen_ai.client.token.usage",
    "{token}",
    "Tokens of one model call.",
    explicit_bucket_boundaries_advisory=[4**exponent for exponent in range(14)],
)
duration = _meter.create_histogram(
    "gen_ai.client.operation.duration",
    "s",
    "Duration of one run, model call or tool call.",
    explicit_bucket_boundaries_advisory=_SECONDS,
)
first_chunk = _meter.create_histogram(
    "gen_ai.client.operation.time_to_first_chunk",
    "s",
    "Time to the first part of a model's answer.",
    explicit_bucket_boundaries_advisory=_SECONDS,
)
# The text of an exception may contain what must not be recorded.
NO_EXCEPTION_TEXT: Any = {"record_exception": False, "set_status_on_exception": False}
# Timeouts and deadlines are measured by different clocks.
_CLOCK_TOLERANCE = timedelta(milliseconds=50)

# Returns the context of a span's parent; None for the current span.
Parent = Callable[[], Context | None]


def current() -> None:
    """The `Parent` of spans whose parent is the current one."""


def is_observed() -> bool:
    """Return whether an OpenTelemetry SDK is set up in this process."""
    return not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider)


# Source: https://opentelemetry.io/docs/specs/semconv/registry/attributes/gen-ai/
# By the ends of hosts, of servers that speak OpenAI's wire formats.
_WELL_KNOWN = {
    "openai.azure.com": "azure.ai.openai",
    "services.ai.azure.com": "azure.ai.inference",
    "anthropic.com": "anthropic",
    "amazonaws.com": "aws.bedrock",
    "aiplatform.googleapis.com": "gcp.vertex_ai",
    "generativelanguage.googleapis.com": "gcp.gemini",
    "cohere.com": "cohere",
    "cohere.ai": "cohere",
    "deepseek.com": "deepseek",
    "groq.com": "groq",
    "mistral.ai": "mistral_ai",
    "perplexity.ai": "perplexity",
    "x.ai": "x_ai",
}


def provider_of(model: Model) -> str:
    """Return the conventions' name of a model's provider; "openai" for any other server that is compatible with it."""
    name = str(getattr(model, "well_known_provider", model.provider))
    host = urlsplit(getattr(model, "server_url", "")).hostname or ""
    known = (other for end, other in _WELL_KNOWN.items() if f".{host}".endswith(f".{end}"))
    return next(known, name) if name == "openai" else name


def fail(span: Span, kind: str) -> None:
    """Mark a span as failed; `kind` is the conventions' `error.type`."""
    span.set_attribute("error.type", kind)
    span.set_status(Status(StatusCode.ERROR))


def fell_back(span: Span, timeline: Timeline) -> None:
    """Mark a run's span with the model that took over, and why, if one did."""
    if found := timeline.fallback:
        span.set_attribute("run.fallback_model", f"{found['provider']}, {found['model']}")
        span.set_attribute("run.fallback_reason", found["reason"])


def error_type(exc: BaseException, deadline: datetime | None = None) -> str:
    """Return the `error.type` of an exception; a cancellation after `deadline` is a timeout."""
    if isinstance(exc, asyncio.CancelledError | GeneratorExit):
        is_late = deadline is not None and datetime.now(UTC) + _CLOCK_TOLERANCE >= deadline
        return "timeout" if is_late else "cancelled"
    if isinstance(exc, ModelError):
        return exc.code
    return "tool_error" if isinstance(exc, ToolError) else type(exc).__name__


def attributes_of(span: Span) -> Any:
    """Return the attributes of a span, which only those of an SDK can tell."""
    return getattr(span, "attributes", None) or {}


def error_label(span: Span) -> dict[str, str]:
    """Return the metric label for a failed span, nothing for others."""
    kind = attributes_of(span).get("error.type")
    return {"error.type": str(kind)} if kind else {}
