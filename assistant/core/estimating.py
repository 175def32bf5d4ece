"""What a question took, where the provider does not say: estimated, and marked as such."""

from __future__ import annotations

import json
from functools import lru_cache

from assistant.core.memory import estimate, estimate_tokens
from assistant.core.messages import Usage
from assistant.core.model import ModelRequest
from tools import Tool


@lru_cache(maxsize=2_000)
def schema_tokens(tool: Tool) -> int:
    """About how many tokens a tool takes in every question that offers it: its name, description and schema."""
    return estimate_tokens(tool.name + tool.description + json.dumps(tool.parameters))


def estimate_usage(request: ModelRequest, said: int) -> Usage:
    """About what a question took whose answer has `said` characters so far."""
    asked = sum(map(estimate, request.messages)) + sum(map(schema_tokens, request.tools))
    return Usage(input_tokens=asked, output_tokens=-(-said // 4), is_estimated=True)
