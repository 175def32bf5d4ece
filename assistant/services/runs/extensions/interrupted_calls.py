"""The tool calls of a run that was cut: which may run again, and which tools need a person's approval to run again."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from assistant.core.toolcalls.protocols import Admission, Toolset
from assistant.core.turn.plan import Plan
from assistant.core.values.messages import ToolCall as Call
from assistant.core.values.untrusted import NOTHING_READ, ReadText
from assistant.models import ToolCall
from assistant.services.run_key import RunKey
from assistant.services.runs.extensions.run_extension import RunExtension
from assistant.services.tenancy.quotas import Quotas
from assistant.services.toolcalls.run_journal import AuditJournal
from assistant.services.toolpolicy.catalogue import registry
from assistant.toolkit import Tool
from assistant.toolkit.translation import gettext, gettext_noop

_CUT = frozenset({ToolCall.Status.RUNNING, ToolCall.Status.INTERRUPTED, ToolCall.Status.CANCELLED})
_NOT_BEGUN = frozenset({ToolCall.Status.APPROVED, ToolCall.Status.AWAITING_APPROVAL})
RULE = "A call of this tool was interrupted, and whether it took effect is not known."
WARNING = gettext_noop("A call of it was interrupted when the server stopped, and may have taken effect already.")


@dataclass(frozen=True)
class InterruptedCalls(RunExtension[None]):
    """Has a run that was cut ask a person before a tool whose effect is not known runs again.

    Attributes:
        begun: the ids of all of the run's own calls in the audit.
        settled: the ids of those that have an outcome, which is used again.
        repeatable: the ids of calls to other assistants that may run again, because they have changed nothing.
        doubtful: the names of tools with a call of which it is not known whether it took effect.
    """

    key: RunKey
    quotas: Quotas
    begun: frozenset[str] = frozenset()
    settled: frozenset[str] = frozenset()
    repeatable: frozenset[str] = frozenset()
    doubtful: frozenset[str] = frozenset()

    def planned(self, plan: Plan) -> Plan:
        journal = AuditJournal(self.key, plan.context.tenant.slug, self.quotas, self.repeatable)
        toolset = _AskingToolset(plan.toolset, self) if self.doubtful else plan.toolset
        return replace(plan, journal=journal, toolset=toolset)


def interrupted_calls(
    *, key: RunKey, quotas: Quotas, tools: Mapping[str, Tool], delegates: Collection[str]
) -> InterruptedCalls:
    """Read the calls of a run that was cut, those of the assistants that it asked included.

    Args:
        quotas: of the tenant and the member.
        tools: the run's tools by name.
        delegates: the names of the tools that are other assistants.
    """
    rows = ToolCall.objects.filter(tenant_id=key.tenant_id, run_id=key.pk).order_by("pk")
    found = list(rows.only("pk", "call_id", "agent", "name", "status"))
    own = [row for row in found if not row.agent]
    known = {**{tool.name: tool for tool in registry()}, **tools}
    harmless = {name for name, tool in known.items() if tool.read_only}
    changing = [row for row in found if row.agent and row.name not in harmless and row.name not in delegates]
    # The audit does not say which of the run's own calls asked the assistant that made another call.
    repeatable = {
        row.call_id
        for row in own
        if row.status in _CUT and row.name in delegates and not any(one.pk > row.pk for one in changing)
    }
    may_repeat = harmless | {name for name, tool in known.items() if tool.idempotent}
    doubtful = {
        row.name
        for row in found
        if row.status in _CUT
        and row.call_id not in repeatable
        # An idempotent call of another assistant would be made again under another key.
        and row.name not in (harmless if row.agent else may_repeat)
        and not (row.agent and row.name in delegates)
    }
    return InterruptedCalls(
        key,
        quotas,
        begun=frozenset(row.call_id for row in own),
        settled=frozenset(row.call_id for row in own if row.status not in _CUT | _NOT_BEGUN),
        repeatable=frozenset(repeatable),
        doubtful=frozenset(doubtful),
    )


class _AskingToolset:
    """A run's toolset, in which calls of doubtful tools wait for a person, except those that have an outcome."""

    def __init__(self, toolset: Toolset, calls: InterruptedCalls) -> None:
        self._toolset = toolset
        self._calls = calls

    async def offered(self) -> Sequence[Tool]:
        return await self._toolset.offered()

    async def admit(self, calls: Sequence[Call], read: ReadText = NOTHING_READ) -> Sequence[Admission]:
        admissions = await self._toolset.admit(calls, read)
        return [
            replace(admission, policy="ask", rule=RULE, warning=gettext(WARNING))
            if call.name in self._calls.doubtful and call.id not in self._calls.settled and admission.policy == "on"
            else admission
            for call, admission in zip(calls, admissions, strict=True)
        ]
