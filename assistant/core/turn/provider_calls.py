"""Tools that the provider runs itself within an answer: which are offered, and what happens with their calls.

Nobody can be asked before such a call, and nothing can refuse it: it is refused by not offering the tool.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from assistant.core.conversation.transcript import Transcript
from assistant.core.conversation.turn_endings import TurnFailed
from assistant.core.llm.protocol import Model, ModelError, ProviderCall
from assistant.core.streaming.event_writer import EventWriter
from assistant.core.toolcalls.admission import CallLimiter
from assistant.core.toolcalls.protocols import Admission, PlannedCall, ToolOutcome
from assistant.core.turn.plan import Plan
from assistant.core.values.events import Custom, Event, ToolCallResult
from assistant.core.values.messages import ToolCall, new_id, result_id
from assistant.core.values.untrusted import ReadText, bounded_sources
from assistant.toolkit import Tool
from assistant.toolkit.text import clean_text
from assistant.toolkit.translation import gettext_noop

NOT_OFFERED = gettext_noop("The provider has used a tool that it was not offered.")


def provider_tools_of(model: Model) -> frozenset[str]:
    """Return the names of the tools that a model's provider runs itself."""
    names: frozenset[str] = getattr(model, "provider_tools", frozenset())
    return names


class ProviderCalls:
    """The calls of one turn that the provider runs.

    Args:
        limiter: of the run, which counts them together with its other calls.
    """

    def __init__(self, plan: Plan, transcript: Transcript, limiter: CallLimiter) -> None:
        self._plan = plan
        self._transcript = transcript
        self._limiter = limiter
        self._admitted: dict[str, Admission] = {}

    async def allowed(self, tools: Sequence[Tool], model: Model, read: ReadText) -> list[Tool]:
        """Return the tools to offer: those that the provider runs only if this model's does, and the policy is "on"."""
        theirs = [tool for tool in tools if tool.is_provider_side]
        self._admitted = {}
        if not theirs:
            return list(tools)
        able = provider_tools_of(model)
        calls = [ToolCall("", tool.name, "{}") for tool in theirs if tool.name in able]
        if calls and self._plan.calls.execute:
            for call, admission in zip(calls, await self._plan.toolset.admit(calls, read), strict=True):
                if admission.tool is not None and admission.policy == "on":
                    self._admitted[call.name] = admission
        return [tool for tool in tools if not tool.is_provider_side or tool.name in self._admitted]

    async def ran(self, made: ProviderCall, writer: EventWriter) -> AsyncIterator[Event]:
        """Record a call that has ended, and yield its events. What follows is a message of its own.

        Raises:
            ModelError: the tool was not offered.
            TurnFailed: a quota is used up, or the run has reached a limit of calls; the call is not recorded then.
        """
        admission = self._admitted.get(made.name)
        if admission is None or admission.tool is None:
            raise ModelError(NOT_OFFERED)
        self._limiter.count_made(ToolCall("", made.name, made.arguments), admission.tool)
        if self._limiter.stop:
            raise TurnFailed(self._limiter.stop, self._limiter.code)
        call, events = writer.provider_call(made)
        journal, transcript = self._plan.journal, self._transcript
        known = await journal.starting([PlannedCall(call, admission.tool, admission, call.arguments)])
        outcome = ToolOutcome(
            call,
            "error" if made.is_failed else "ok",
            clean_text(made.result),
            error="The provider's tool failed." if made.is_failed else "",
            rule=admission.rule,
            started_at=datetime.now(UTC),
            sources=bounded_sources(made.sources),
        )
        await journal.finished([outcome])
        transcript.timeline.add_calls({call.id: outcome})
        for event in events:
            yield event
        transcript.record_result(call.id, outcome.content, outcome.sources)
        about = _about(call, admission.tool)
        yield Custom("tool.started", about)
        yield Custom("tool.finished", {**about, "status": outcome.status, "durationMs": 0})
        yield ToolCallResult(result_id(call.id), call.id, outcome.content, role="tool")
        transcript.keep_state(writer.message_id, made.provider_state)
        writer.begin_message(new_id())
        if quota := _quota_in(known):
            raise TurnFailed(quota, "quota_exceeded")


def _about(call: ToolCall, tool: Tool) -> dict[str, Any]:
    title = tool.title.strip()
    return {"toolCallId": call.id, "name": call.name, **({"title": title} if title else {})}


def _quota_in(known: Mapping[str, ToolOutcome]) -> str:
    return next((outcome.quota for outcome in known.values() if outcome.quota), "")
