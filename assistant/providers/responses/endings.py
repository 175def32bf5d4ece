"""How a response ends: its reason, its failure and its token counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from assistant.core.llm.protocol import ModelError
from assistant.core.values.messages import FinishReason, Usage
from assistant.providers.openai_wire.endings import CUT
from assistant.providers.openai_wire.error_sentences import failure_in_stream
from assistant.providers.openai_wire.reply_parts import count

# The reasons of an incomplete response that are known; with any other one the answer is cut off.
_INCOMPLETE: Mapping[Any, FinishReason] = {
    "max_output_tokens": "length",
    "max_tokens": "length",
    "length": "length",
    "content_filter": "content_filter",
}


def reason_of(response: Mapping[str, Any]) -> FinishReason:
    """Return why a response ended. Raises `ModelError` if it failed, or ended for an unknown reason."""
    status = response.get("status")
    if status in ("failed", "cancelled") or (reported := response.get("error")):
        reported = response.get("error")
        raise failure_in_stream(reported or f"The response has the status {status}.")
    if status == "incomplete":
        details = response.get("incomplete_details")
        reason = details.get("reason") if isinstance(details, dict) else None
        if isinstance(reason, str) and reason in _INCOMPLETE:
            return _INCOMPLETE[reason]
        error = ModelError(CUT)
        error.add_note(f"incomplete: {str(reason)[:40]!r}")
        raise error
    return "stop"


def usage_of(wire: Any) -> Usage:
    """Read token counts; a count that is missing or not a number is zero."""
    return Usage(
        input_tokens=count(wire, "input_tokens"),
        output_tokens=count(wire, "output_tokens"),
        cached_input_tokens=count(wire, "input_tokens_details", "cached_tokens"),
        reasoning_tokens=count(wire, "output_tokens_details", "reasoning_tokens"),
        cache_write_tokens=count(wire, "input_tokens_details", "cache_write_tokens"),
    )
