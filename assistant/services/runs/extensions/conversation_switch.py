"""The switch of a conversation: tools that are off in its runs, whatever its tenant and assistant allow."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from assistant.core.extensions.interceptors import CallTool, Invocation
from assistant.core.toolcalls.protocols import Admission, Toolset
from assistant.core.turn.plan import Plan
from assistant.core.values.messages import ToolCall
from assistant.core.values.untrusted import NOTHING_READ, ReadText
from assistant.services.conversations.tool_switch import is_off
from assistant.services.runs.extensions.run_extension import RunExtension
from assistant.services.toolpolicy import rules
from assistant.toolkit import Tool, ToolError, ToolResult


@dataclass(frozen=True)
class ConversationSwitch(RunExtension[None]):
    """Offers and runs no tool that is `off`, the assistants that can be asked among them.

    Assistants that are asked are offered their tools as ever, but calls of those that are off are refused.
    """

    in_sub_agents = True
    off: Collection[str]

    def planned(self, plan: Plan) -> Plan:
        return replace(plan, toolset=_SwitchedToolset(plan.toolset, self.off))

    async def around_tool(self, invocation: Invocation, call: CallTool) -> ToolResult:
        if is_off(invocation.tool.name, self.off):
            raise ToolError(rules.FOR_CONVERSATION)
        return await call(invocation)


class _SwitchedToolset:
    """A run's tools without those that are off in its conversation."""

    def __init__(self, toolset: Toolset, off: Collection[str]) -> None:
        self._toolset = toolset
        self._off = off

    async def offered(self) -> Sequence[Tool]:
        return [tool for tool in await self._toolset.offered() if not is_off(tool.name, self._off)]

    async def admit(self, calls: Sequence[ToolCall], read: ReadText = NOTHING_READ) -> Sequence[Admission]:
        admissions = await self._toolset.admit(calls, read)
        return [self._switched(call, admission) for call, admission in zip(calls, admissions, strict=True)]

    def _switched(self, call: ToolCall, admission: Admission) -> Admission:
        left = replace(
            admission,
            callable_names=tuple(name for name in admission.callable_names if not is_off(name, self._off)),
            tools={name: tool for name, tool in admission.tools.items() if not is_off(name, self._off)},
        )
        if admission.policy == "off" or not is_off(call.name, self._off):
            return left
        return replace(left, policy="off", rule=rules.FOR_CONVERSATION)
