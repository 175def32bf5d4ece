"""Reads the token counts of a provider's answer."""

from __future__ import annotations

from typing import Any

from assistant.core.values.messages import Usage

# Higher counts are ignored.
MAX_TOKEN_COUNT = 100_000_000
# Where servers give the tokens that were read from a cache: OpenAI, DeepSeek, Kimi.
_CACHED = (("prompt_tokens_details", "cached_tokens"), ("prompt_cache_hit_tokens",), ("cached_tokens",))
# Where gateways give the tokens that were written to one: OpenRouter, DashScope, LiteLLM.
_WRITTEN = (
    ("prompt_tokens_details", "cache_write_tokens"),
    ("prompt_tokens_details", "cache_creation_input_tokens"),
    ("cache_creation_input_tokens",),
)


def usage_of(wire: Any) -> Usage:
    """Read a provider's token counts; a count that is missing or not a number is zero.

    xAI and Gemini leave reasoning out of `completion_tokens`, and count it in `total_tokens`.
    """
    sent, total = count(wire, "prompt_tokens"), count(wire, "total_tokens")
    return Usage(
        cache_write_tokens=next(filter(None, (count(wire, *path) for path in _WRITTEN)), 0),
        input_tokens=sent,
        output_tokens=max(count(wire, "completion_tokens"), total - sent if sent else 0),
        cached_input_tokens=next(filter(None, (count(wire, *path) for path in _CACHED)), 0),
        reasoning_tokens=count(wire, "completion_tokens_details", "reasoning_tokens"),
    )


def count(value: Any, *path: str) -> int:
    """Return the count at this path of names in a JSON value; 0 if there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    is_count = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return int(value) if is_count and 0 < value <= MAX_TOKEN_COUNT else 0
