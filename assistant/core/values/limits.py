"""Limits of one run, and what is left of shared quotas."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one run; 0 is no limit.

    Attributes:
        rounds: requests to the model.
        calls_per_tool: calls of each tool.
        tool_calls: calls of all tools together.
        tokens: input and output tokens together.
        seconds: duration of the run.
        cost: in millionths of the currency unit of the prices.
    """

    rounds: int = 20
    tool_calls: int = 150
    calls_per_tool: int = 40
    tokens: int = 0
    seconds: float = 300.0
    cost: int = 0


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left of a quota that a run shares with others; 0 is no limit.

    Once it is used up the run ends with `sentence`, as `quota_exceeded`.
    """

    sentence: str
    tokens: int = 0
    cost: int = 0
