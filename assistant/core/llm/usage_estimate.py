"""Counts the tokens of a model request: as the provider reports them, else estimated and marked as such."""

from __future__ import annotations

import json
from functools import lru_cache

from assistant.core.llm.protocol import ModelError, ModelRequest
from assistant.core.values.history_window import estimate, estimate_tokens
from assistant.core.values.messages import Reply, Usage
from assistant.toolkit import Tool


@lru_cache(maxsize=2_000)
def schema_tokens(tool: Tool) -> int:
    """Estimate how many tokens a tool adds to a request: its name, description and schema."""
    return estimate_tokens(tool.name + tool.description + json.dumps(tool.parameters))


def estimate_usage(request: ModelRequest, characters: int) -> Usage:
    """Estimate the usage of a request whose answer has `characters` so far."""
    sent = sum(map(estimate, request.messages)) + sum(map(schema_tokens, request.tools))
    return Usage(input_tokens=sent, output_tokens=-(-characters // 4), is_estimated=True)


def usage_of(request: ModelRequest, reply: Reply) -> Usage:
    """Return the usage of a request that was answered."""
    if reply.usage.total_tokens:
        return reply.usage
    characters = len(reply.text) + len(reply.reasoning) + sum(len(call.arguments) for call in reply.tool_calls)
    return estimate_usage(request, characters)


def usage_of_partial(request: ModelRequest, characters: int, exc: BaseException) -> Usage | None:
    """Return the usage of a request whose answer broke off, or None if the provider refused it before it began.

    An empty answer was computed, and is counted.

    Args:
        characters: how many characters of the answer had arrived.
        exc: the exception that ended the answer.
    """
    if not isinstance(exc, ModelError):
        return estimate_usage(request, characters)
    if exc.usage.total_tokens:
        return exc.usage
    return estimate_usage(request, characters) if characters or exc.kind == "empty" else None
