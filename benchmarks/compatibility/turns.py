"""Runs given calls in one turn of a `ChatClient`, as if a model had asked for them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from assistant.client import CalledTool, ChatClient, Limits, ToolCall
from assistant.providers import ScriptedModel
from assistant.toolkit import Tool

# A name, and arguments.
Call = tuple[str, Mapping[str, Any]]
UNLIMITED = Limits(rounds=0, tool_calls=0, calls_per_tool=0, seconds=0)


@dataclass
class Tally:
    """What came of the calls of one set.

    Attributes:
        calls: how many were run.
        contradicting: calls of the reference that the set's own schema of the function does not allow, as another
            validator says too; the product has refused them.
        refused: other calls that the product has refused or failed, each with its name, arguments and reason.
        tasks: how many tasks were compared.
        different: tasks without contradicting calls whose end differs from the reference.
    """

    name: str
    calls: int = 0
    contradicting: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    tasks: int = 0
    different: list[str] = field(default_factory=list)

    @property
    def line(self) -> str:
        counts = (self.calls, len(self.contradicting), len(self.refused), self.tasks, len(self.different))
        return f"| {self.name} | {' | '.join(f'{count:,}' for count in counts)} |"


Work = Callable[[], Awaitable[Tally]]


async def run_calls(tools: Iterable[Tool], rounds: Sequence[Sequence[Call]]) -> list[CalledTool]:
    """Return what came of calls, given as names and arguments; each inner list is one answer of the model."""
    turns: list[Any] = [[ToolCall("", name, json.dumps(arguments)) for name, arguments in calls] for calls in rounds]
    model = ScriptedModel([*turns, "Done."])
    reply = await ChatClient(model=model, tools=list(tools), limits=UNLIMITED).call("Go")
    return list(reply.tool_calls)
