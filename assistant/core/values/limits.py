"""What one run may use, and what is left to it of shared quotas."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """What one run may use; 0 is no limit. `rounds` counts questions to the model, `tokens` those in and out.

    `cost` is in millionths of the unit of the currency that prices are in.
    """

    rounds: int = 20
    tool_calls: int = 150
    calls_per_tool: int = 40
    tokens: int = 0
    seconds: float = 300.0
    cost: int = 0


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left to a run of a quota that it shares with others; 0 is no limit.

    Past it the run asks no more, and ends with `sentence`, as `quota_exceeded`.
    """

    sentence: str
    tokens: int = 0
    cost: int = 0
