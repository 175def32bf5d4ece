"""Limits a run's tool calls, and ends runs whose model repeats the same call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from assistant.core.values.limits import Allowance, Limits
from assistant.core.values.messages import ToolCall, Usage
from assistant.core.values.pricing import MILLIONTHS
from assistant.toolkit import Tool
from assistant.toolkit.translation import gettext, ngettext

# Of identical calls in one run, the third and later ones are refused, and the fifth ends the run.
FIRST_REFUSED_REPEAT = 3
LAST_REPEAT = 5


class CallLimiter:
    """Counts the calls of one run.

    Args:
        limits: of the run. A tool's own `max_calls` can be lower than `calls_per_tool`.

    Attributes:
        stop: why the run must end after this batch; empty while it need not.
        code: the run error code for it.
    """

    def __init__(self, limits: Limits) -> None:
        self.stop = ""
        self.code = "limit_reached"
        self._limits = limits
        self._total = 0
        self._by_tool: Counter[str] = Counter()
        self._identical: Counter[tuple[str, str]] = Counter()

    def admit(self, call: ToolCall, tool: Tool | None) -> str | None:
        """Count a call; returns None if it may run, else the reason as a sentence for the model."""
        self._total += 1
        self._by_tool[call.name] += 1
        canonical = call.canonical
        if tool is not None and tool.augmentation is not None:
            canonical = replace(call, arguments=str(tool.own_arguments(call.arguments))).canonical
        self._identical[canonical] += 1
        repeats = self._identical[canonical]
        if self._limits.tool_calls and self._total > self._limits.tool_calls:
            self._reach(self._limits.tool_calls)
        elif repeats >= LAST_REPEAT:
            self.stop = self.stop or gettext(
                "The model called the tool '%(tool)s' with the same arguments %(count)d times."
            ) % {"tool": call.name, "count": repeats}
        if self.stop:
            return f"Not run: {self.stop}"
        if repeats >= FIRST_REFUSED_REPEAT:
            return (
                f"Not run: you have called {call.name!r} with these same arguments {repeats - 1} times already. "
                "Use the results you have, or do something else."
            )
        if (limit := self._limit_of(tool)) and self._by_tool[call.name] > limit:
            return f"Not run: {call.name!r} may be called {limit} times in one run. Answer with what you have."
        return None

    def count_made(self, call: ToolCall, tool: Tool) -> None:
        """Count a call that has run already, so that nobody can refuse it: one beyond its tool's limit ends the run."""
        self.admit(call, tool)
        if (limit := self._limit_of(tool)) and self._by_tool[call.name] > limit:
            self._reach(limit)

    def _limit_of(self, tool: Tool | None) -> int:
        return min(
            (limit for limit in (self._limits.calls_per_tool, tool.max_calls if tool else None) if limit), default=0
        )

    def _reach(self, limit: int) -> None:
        self.stop = self.stop or ngettext(
            "This run has reached its limit of %(count)d tool call.",
            "This run has reached its limit of %(count)d tool calls.",
            limit,
        ) % {"count": limit}

    def check_budget(self, usage: Usage, allowances: Iterable[Allowance]) -> None:
        """Set `stop` if the tokens or the cost have reached a limit of the run, or what is left of a shared quota."""
        for allowance in allowances:
            if _is_used_up(usage, allowance):
                self.stop, self.code = allowance.sentence, "quota_exceeded"
        limits = self._limits
        if limits.tokens and usage.total_tokens >= limits.tokens:
            self.stop = self.stop or gettext("This run has reached its limit of %(count)d tokens.") % {
                "count": limits.tokens
            }
        if limits.cost and usage.cost >= limits.cost:
            self.stop = self.stop or gettext("This run has reached its limit of %(cost)s of cost.") % {
                "cost": f"{limits.cost / MILLIONTHS:.4g}"
            }


def _is_used_up(usage: Usage, left: Allowance) -> bool:
    return bool((left.tokens and usage.total_tokens >= left.tokens) or (left.cost and usage.cost >= left.cost))
