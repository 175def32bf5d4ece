"""What a question took: as the provider counted it, else estimated, and marked as such."""

from __future__ import annotations

import json
from functools import lru_cache

from assistant.core.llm.protocol import ModelError, ModelRequest
from assistant.core.values.history_window import estimate, estimate_tokens
from assistant.core.values.messages import Reply, Usage
from assistant.toolkit import Tool


@lru_cache(maxsize=2_000)
def schema_tokens(tool: Tool) -> int:
    """About how many tokens a tool takes in every question that offers it: its name, description and schema."""
    return estimate_tokens(tool.name + tool.description + json.dumps(tool.parameters))


def estimate_usage(request: ModelRequest, said: int) -> Usage:
    """About what a question took whose answer has `said` characters so far."""
    asked = sum(map(estimate, request.messages)) + sum(map(schema_tokens, request.tools))
    return Usage(input_tokens=asked, output_tokens=-(-said // 4), is_estimated=True)


def usage_of(request: ModelRequest, reply: Reply) -> Usage:
    """What a question took that was answered."""
    if reply.usage.total_tokens:
        return reply.usage
    said = len(reply.text) + len(reply.reasoning) + sum(len(call.arguments) for call in reply.tool_calls)
    return estimate_usage(request, said)


def usage_of_cut(request: ModelRequest, said: int, exc: BaseException) -> Usage | None:
    """What a question took whose answer was cut off after `said` characters; None if it was refused before it began."""
    if not isinstance(exc, ModelError):
        return estimate_usage(request, said)
    if exc.usage.total_tokens:
        return exc.usage
    return estimate_usage(request, said) if said else None
