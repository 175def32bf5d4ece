"""Answers the tool calls of a test: with a recorded result, by calling the tool, or with a sentence instead.

A test is a run like any other: the same policy decides, the same prompt and limits apply. Only the tool itself is
replaced, innermost of all interceptors, for the assistants that it asks too. A tool that is not read-only is never
called by a replay; in a test chat only if its tester chose to be asked, and approved that call.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from assistant.core.extensions.extension import Interceptors
from assistant.core.extensions.interceptors import CallTool, Invocation
from assistant.core.toolcalls.admission import asks_first
from assistant.core.toolcalls.protocols import Admission, Toolset
from assistant.core.turn.plan import Plan
from assistant.core.values.messages import ToolCall
from assistant.core.values.untrusted import NOTHING_READ, ReadText
from assistant.services.runs.extensions.run_extension import RunExtension
from assistant.services.toolpolicy.tools_of_runs import is_own
from assistant.toolkit import Tool, ToolContext, ToolResult

# What the model reads in place of a result.
STUB = "Not run, because this is a test. Go on as if it had worked."
NOT_READ = "Not run, because this is a test, and no result was recorded. Go on without it."
RULE_RECORDED = "A test: answered by a recorded result."
RULE_STUBBED = "A test: the tool was not run."
RULE_ASKED = "A test: its tester is asked before anything changes."

Answered = Literal["recorded", "called", "stubbed"]


@dataclass(frozen=True, slots=True)
class RecordedCall:
    """A tool call whose result is given back.

    Attributes:
        arguments: as JSON text; None to answer every call of the tool.
        sources: where untrusted text in the result came from.
    """

    name: str
    arguments: str | None
    result: str
    sources: tuple[str, ...] = ()


@dataclass(slots=True)
class ToolAnswers:
    """How the tools of one test are answered; an interceptor of its calls, and afterwards their record.

    Args:
        recorded: results to give back; of several for the same call, one after the other, and then the last.
        calls_read_only: whether read-only tools without a recorded result are called.
        asks: whether the tester is asked about other tools, which are then called; if not, they are not called.
        has_person: whether somebody is there who can be asked, as in a test chat.

    Attributes:
        answered: how each call was answered, by call id.
        would_ask: the ids of calls that would have waited for a person's approval or answer.
    """

    recorded: Sequence[RecordedCall] = ()
    calls_read_only: bool = True
    asks: bool = False
    has_person: bool = False
    answered: dict[str, Answered] = field(default_factory=dict)
    would_ask: set[str] = field(default_factory=set)
    _given: dict[tuple[str, str | None], int] = field(default_factory=dict)

    def over(self, toolset: Toolset) -> Toolset:
        """Return a toolset that admits calls as a test needs it."""
        return _TestToolset(toolset, self) if self.asks or not self.has_person else toolset

    def kind_of(self, tool: Tool, arguments: str | Mapping[str, Any], call_id: str) -> Answered:
        """Return how a call that may run is answered."""
        if is_own(tool):
            return "called"
        if self._matching(tool.name, arguments):
            return "recorded"
        if tool.asks is not None or call_id in self.would_ask:
            return "stubbed"
        return "called" if tool.read_only and self.calls_read_only else "stubbed"

    async def __call__(self, invocation: Invocation, call: CallTool) -> ToolResult:
        tool, context = invocation.tool, invocation.context
        kind = self.kind_of(tool, invocation.arguments, context.tool_call_id)
        if kind == "stubbed" and self.asks and context.tool_call_id in self.would_ask:
            kind = "called"  # the tester has approved it
        self.answered[context.tool_call_id] = kind
        match kind:
            case "called":
                return await call(invocation)
            case "recorded":
                found = self._next(tool.name, invocation.arguments)
                if found.sources:
                    context.mark_untrusted(*found.sources)
                return ToolResult(found.result)
        return ToolResult(NOT_READ if tool.read_only else STUB)

    def _matching(self, name: str, arguments: str | Mapping[str, Any]) -> list[RecordedCall]:
        wanted = _canonical(arguments)
        exact = [one for one in self.recorded if one.name == name and one.arguments is not None]
        found = [one for one in exact if _canonical(one.arguments or "") == wanted]
        return found or [one for one in self.recorded if one.name == name and one.arguments is None]

    def _next(self, name: str, arguments: str | Mapping[str, Any]) -> RecordedCall:
        found = self._matching(name, arguments)
        key = (name, None if found[0].arguments is None else _canonical(arguments))
        place = self._given.get(key, 0)
        self._given[key] = place + 1
        return found[min(place, len(found) - 1)]


def _canonical(arguments: str | Mapping[str, Any]) -> str:
    """Return arguments as text that is equal for equal values."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            return str(arguments)
    return json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=str)


class AnsweredTools(RunExtension[None]):
    """Lets the tools of a test be answered by `answers`, innermost of all interceptors."""

    def __init__(self, answers: ToolAnswers) -> None:
        self._answers = answers

    def planned(self, plan: Plan) -> Plan:
        others = [extension for extension in plan.extensions if not isinstance(extension, Interceptors)]
        # Caches are shared with all other runs, where results that a test made up must never get to.
        uncached = [
            function
            for extension in plan.extensions
            if isinstance(extension, Interceptors)
            for function in extension.functions
            if not getattr(function, "keeps_results", False)
        ]
        extensions = (Interceptors((*uncached, self._answers)), *others)
        return replace(plan, toolset=self._answers.over(plan.toolset), extensions=extensions)


class _TestToolset:
    """A run's tools. Calls that need a person ask the tester; where nobody can be asked, they are noted and run."""

    def __init__(self, toolset: Toolset, answers: ToolAnswers) -> None:
        self._toolset, self._answers = toolset, answers

    async def offered(self) -> Sequence[Tool]:
        # A provider's own tool would really run: its result can be neither recorded nor made up.
        tools = [tool for tool in await self._toolset.offered() if not tool.is_provider_side]
        # A run without a person is not offered tools that ask one.
        return tools if self._answers.has_person else [replace(tool, asks=None) for tool in tools]

    async def admit(self, calls: Sequence[ToolCall], read: ReadText = NOTHING_READ) -> Sequence[Admission]:
        admissions = await self._toolset.admit(calls, read)
        judge = self._asking if self._answers.asks else self._without_person
        return [
            admission if admission.tool is None or admission.policy == "off" else judge(call, admission, admission.tool)
            for call, admission in zip(calls, admissions, strict=True)
        ]

    def _asking(self, call: ToolCall, admission: Admission, tool: Tool) -> Admission:
        if tool.read_only or is_own(tool):
            return admission
        self._answers.would_ask.add(call.id)
        return admission if admission.policy == "ask" else replace(admission, policy="ask", rule=RULE_ASKED)

    def _without_person(self, call: ToolCall, admission: Admission, tool: Tool) -> Admission:
        if is_own(tool):
            return admission
        if admission.policy == "ask" or tool.asks is not None:
            self._answers.would_ask.add(call.id)
        kind = self._answers.kind_of(tool, call.arguments, call.id)
        rules = {"recorded": RULE_RECORDED, "stubbed": RULE_STUBBED, "called": admission.rule}
        going_on = replace(tool, asks=None, requires_approval=partial(self._note, call.id, tool))
        return replace(admission, tool=going_on, policy="on", rule=rules[kind])

    async def _note(self, call_id: str, tool: Tool, arguments: Mapping[str, Any], context: ToolContext) -> bool:
        if await asks_first(tool, arguments, context):
            self._answers.would_ask.add(call_id)
        return False
