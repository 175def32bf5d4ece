"""Computations that several checks share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def p95(values: Sequence[float]) -> float:
    """Return the 95th percentile; 0 without values."""
    ordered = sorted(values)
    return ordered[max(0, -(-len(ordered) * 95 // 100) - 1)] if ordered else 0.0


def is_valid(messages: Sequence[dict[str, Any]]) -> bool:
    """Whether every tool call of a request has exactly one result, right after the message with the call."""
    waiting: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                return False
            waiting.remove(message["tool_call_id"])
            continue
        if waiting:
            return False
        waiting = [call["id"] for call in message.get("tool_calls", [])]
    return not waiting


def allowed_beside(alone: float) -> float:
    """Return by how many milliseconds a neighbour may be slower beside a crowd: a fifth of alone, at least 100."""
    return max(100.0, alone * 0.2)
