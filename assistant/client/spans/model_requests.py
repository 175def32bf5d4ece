"""Spans of requests to models."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind

from assistant.client.spans.messages import input_attributes, output_attributes
from assistant.client.spans.recording import (
    Parent,
    current,
    duration,
    error_label,
    error_type,
    fail,
    first_chunk,
    provider_of,
    token_usage,
    tracer,
)
from assistant.core.extensions.interceptors import AskModel, ModelInterceptor
from assistant.core.llm.protocol import Delta, Model, ModelRequest
from assistant.core.values.messages import Reply

# Options of requests, by the wire format's name and the conventions'.
_OPTIONS = {
    "temperature": "gen_ai.request.temperature",
    "top_p": "gen_ai.request.top_p",
    "top_k": "gen_ai.request.top_k",
    "max_tokens": "gen_ai.request.max_tokens",
    "max_completion_tokens": "gen_ai.request.max_tokens",
    "max_output_tokens": "gen_ai.request.max_tokens",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "presence_penalty": "gen_ai.request.presence_penalty",
    "seed": "gen_ai.request.seed",
}
_PORTS = {"https": 443, "http": 80}


def server_attributes(model: Model) -> dict[str, str | int]:
    """Return the host and the port of a model's server; empty if it has none."""
    url = urlsplit(str(getattr(model, "server_url", "")))
    if not url.hostname:
        return {}
    return {"server.address": url.hostname, "server.port": url.port or _PORTS.get(url.scheme, 443)}


def model_spans(model: Model, *, tenant: str, content: bool = False, parent: Parent = current) -> ModelInterceptor:
    """Return a model interceptor that records a span for every request to `model`."""
    labels = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider_of(model),
        "gen_ai.request.model": model.name,
        "tenant.slug": tenant,
        **server_attributes(model),
    }

    async def ask(request: ModelRequest, following: AskModel) -> AsyncIterator[Delta | Reply]:
        began = time.perf_counter()
        attributes = {**labels, "gen_ai.request.stream": True, **_options_of(request)}
        # Not made the current span between the parts, because a generator may be closed in another context than it was
        # started in.
        span = tracer.start_span(f"chat {model.name}", parent(), kind=SpanKind.CLIENT, attributes=attributes)
        if content:
            span.set_attributes(input_attributes(request.messages))
        is_answered = is_begun = False
        parts = aiter(following(request))
        within = trace.set_span_in_context(span)
        try:
            while (item := await _next_part(parts, within)) is not None:
                if not is_begun:
                    is_begun = True
                    seconds = time.perf_counter() - began
                    span.set_attribute("gen_ai.response.time_to_first_chunk", seconds)
                    first_chunk.record(seconds, labels)
                if isinstance(item, Reply):
                    is_answered = True
                    _record_reply(span, item, labels, content)
                yield item
        except BaseException as exc:
            # Closing the generator after the reply is no failure.
            if not (is_answered and isinstance(exc, GeneratorExit)):
                fail(span, error_type(exc))
            raise
        finally:
            duration.record(time.perf_counter() - began, {**labels, **error_label(span)})
            span.end()

    return ask


async def _next_part(parts: AsyncIterator[Delta | Reply], within: otel_context.Context) -> Delta | Reply | None:
    """Return the next part, None after the last; what is sent for it belongs to the span of `within`."""
    token = otel_context.attach(within)
    try:
        return await anext(parts, None)
    finally:
        otel_context.detach(token)


def _options_of(request: ModelRequest) -> Mapping[str, Any]:
    given = request.options
    options: dict[str, Any] = {
        name: given[key] for key, name in _OPTIONS.items() if isinstance(given.get(key), int | float)
    }
    if stop := given.get("stop"):
        options["gen_ai.request.stop_sequences"] = [stop] if isinstance(stop, str) else list(map(str, stop))
    if isinstance(count := given.get("n"), int) and count != 1:
        options["gen_ai.request.choice.count"] = count
    if request.response_format:
        options["gen_ai.output.type"] = "json"
    return options


def _record_reply(span: Span, reply: Reply, labels: Mapping[str, str | int], content: bool) -> None:
    usage = reply.usage
    span.set_attribute("gen_ai.response.model", reply.model)
    if reply.response_id:
        span.set_attribute("gen_ai.response.id", reply.response_id)
    span.set_attribute("gen_ai.response.finish_reasons", [reply.finish_reason])
    span.set_attribute("gen_ai.usage.input_tokens", usage.input_tokens)
    span.set_attribute("gen_ai.usage.output_tokens", usage.output_tokens)
    if usage.cached_input_tokens:
        span.set_attribute("gen_ai.usage.cache_read.input_tokens", usage.cached_input_tokens)
    if usage.cache_write_tokens:
        span.set_attribute("gen_ai.usage.cache_creation.input_tokens", usage.cache_write_tokens)
    if usage.reasoning_tokens:
        span.set_attribute("gen_ai.usage.reasoning.output_tokens", usage.reasoning_tokens)
    token_usage.record(usage.input_tokens, {**labels, "gen_ai.token.type": "input"})
    token_usage.record(usage.output_tokens, {**labels, "gen_ai.token.type": "output"})
    if content:
        span.set_attributes(output_attributes(reply))
