"""Limits a run's tool calls, and ends runs whose model repeats the same call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from assistant.core.values.limits import Allowance, Limits
from assistant.core.values.messages import ToolCall, Usage
from assistant.core.values.pricing import MILLIONTHS
from assistant.toolkit import Tool

# Identical calls in one run: from the third on they are refused, the fifth ends the run.
REFUSED_REPEAT = 3
LAST_REPEAT = 5


class CallLimiter:
    """Counts the calls of one run.

    Args:
        tool_calls: how many calls the run may make; 0 for any number.
        calls_per_tool: how many of one tool; 0 for any number. A tool's own `max_calls` can be lower.

    Attributes:
        stop: why the run must end after this batch; empty while it need not.
        code: the run error code for it.
    """

    def __init__(self, *, tool_calls: int = 0, calls_per_tool: int = 0) -> None:
        self.stop = ""
        self.code = "limit_reached"
        self._limit = tool_calls
        self._per_tool = calls_per_tool
        self._total = 0
        self._by_tool: Counter[str] = Counter()
        self._identical: Counter[tuple[str, str]] = Counter()

    def admit(self, call: ToolCall, tool: Tool | None) -> str | None:
        """Count a call; returns None if it may run, else the reason as a sentence for the model."""
        self._total += 1
        self._by_tool[call.name] += 1
        canonical = call.canonical
        self._identical[canonical] += 1
        same = self._identical[canonical]
        if self._limit and self._total > self._limit:
            self.stop = self.stop or f"This run has reached its limit of {self._limit} tool calls."
        elif same >= LAST_REPEAT:
            self.stop = self.stop or f"The model called the tool {call.name!r} with the same arguments {same} times."
        if self.stop:
            return f"Not run: {self.stop}"
        if same >= REFUSED_REPEAT:
            return (
                f"Not run: you have called {call.name!r} with these same arguments {same - 1} times already. "
                "Use the results you have, or do something else."
            )
        limits = [limit for limit in (self._per_tool, tool.max_calls if tool else None) if limit]
        if limits and self._by_tool[call.name] > min(limits):
            return f"Not run: {call.name!r} may be called {min(limits)} times in one run. Answer with what you have."
        return None

    def check_budget(self, spent: Usage, limits: Limits, allowances: Iterable[Allowance]) -> None:
        """Set `stop` once the run has used up its tokens or its cost, its own limits' or those of a shared quota."""
        for own in allowances:
            if _is_over(spent, own):
                self.stop, self.code = own.sentence, "quota_exceeded"
        if limits.tokens and spent.total_tokens >= limits.tokens:
            self.stop = self.stop or f"This run has reached its limit of {limits.tokens} tokens."
        if limits.cost and spent.cost >= limits.cost:
            self.stop = self.stop or f"This run has reached its limit of {limits.cost / MILLIONTHS:.4g} of cost."


def _is_over(spent: Usage, left: Allowance) -> bool:
    return bool((left.tokens and spent.total_tokens >= left.tokens) or (left.cost and spent.cost >= left.cost))
