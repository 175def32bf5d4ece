"""The extension that adds fields to the tools of a run, which the model fills with each call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from pydantic import BaseModel, Field

from assistant.core.toolcalls.protocols import Admission, Toolset
from assistant.core.turn.plan import Plan
from assistant.core.values.messages import ToolCall
from assistant.core.values.untrusted import NOTHING_READ, ReadText
from assistant.models import Assistant
from assistant.services.run_key import RunKey
from assistant.services.runs.extensions.run_extension import RunExtension
from assistant.services.toolpolicy.policy import EffectiveTool
from assistant.services.toolpolicy.tools_of_runs import is_own
from assistant.toolkit import Tool
from assistant.toolkit.definition.augmentation import takes_fields

MAX_REASON = 500


class Reasons(BaseModel):
    """What the model says with each call."""

    why: str = Field(description="Why this call is needed, in one sentence.", max_length=MAX_REASON)
    confidence: Literal["low", "medium", "high"] = Field("medium", description="How sure you are that it is right.")


@dataclass(frozen=True)
class AskedReasons(RunExtension[None]):
    """Adds the fields of `Reasons` to the run's tools.

    Left as they are: tools with fields or parameters of their own by these names, questions to the person, what runs at
    the provider, and what is part of the run itself, as the search for tools and other assistants are.
    """

    name = "assistant.reasons"
    _changed: dict[int, tuple[Tool, Tool]] = field(default_factory=dict)

    def planned(self, plan: Plan) -> Plan:
        return replace(plan, toolset=_ChangedToolset(plan.toolset, self.changed))

    def changed(self, tool: Tool) -> Tool:
        kept = self._changed.get(id(tool))
        if kept is None:
            kept = (tool, tool.replace(augmentation=Reasons) if _can_have(tool) else tool)
            self._changed[id(tool)] = kept
        return kept[1]


def _can_have(tool: Tool) -> bool:
    if tool.augmentation is not None or tool.asks is not None or tool.is_provider_side or is_own(tool):
        return False
    return takes_fields(tool.parameters) and not (Reasons.model_fields.keys() & tool.parameters.get("properties", {}))


class _ChangedToolset:
    """A run's tools, each as `change` returns it."""

    def __init__(self, toolset: Toolset, change: Callable[[Tool], Tool]) -> None:
        self._toolset = toolset
        self._change = change

    async def offered(self) -> Sequence[Tool]:
        return [self._change(tool) for tool in await self._toolset.offered()]

    async def admit(self, calls: Sequence[ToolCall], read: ReadText = NOTHING_READ) -> Sequence[Admission]:
        return [
            replace(
                admission,
                tool=None if admission.tool is None else self._change(admission.tool),
                tools={name: self._change(tool) for name, tool in admission.tools.items()},
            )
            for admission in await self._toolset.admit(calls, read)
        ]


def reasons_of(key: RunKey, assistant: Assistant, tools: Sequence[EffectiveTool]) -> Sequence[AskedReasons]:
    """Return the extension of a run."""
    return (AskedReasons(),)
