"""A run's toolset: the policy function, asked for every offer and every batch of calls."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import partial

from assistant.core.toolcalls.protocols import Admission
from assistant.core.values.messages import ToolCall
from assistant.core.values.untrusted import NOTHING_READ, ReadText
from assistant.services.db.threads import in_database_with_retry
from assistant.services.toolpolicy import added_rules, outside_tools, rules
from assistant.services.toolpolicy.destinations import by_destination
from assistant.services.toolpolicy.policy import EffectiveTool, effective_tools
from assistant.toolkit import Tool, ToolContext
from assistant.toolkit.context import UserId


class TenantToolset:
    """A run's tools, with policies read from the database for every offer and every batch of calls.

    The first offer is made from `initial`, which the transaction that opened the run has read. `context` is for tools
    that are asked whether they know a destination.
    """

    def __init__(
        self,
        *,
        tenant_id: int,
        user_id: UserId,
        assistant_id: int | None,
        narrowing: Collection[str] | None = None,
        initial: Sequence[EffectiveTool] | None = None,
        context: ToolContext | None = None,
    ) -> None:
        self._effective = partial(
            effective_tools, tenant_id=tenant_id, user_id=user_id, assistant_id=assistant_id, narrowing=narrowing
        )
        self._initial = initial
        self._tenant_id = tenant_id
        self._context = context or ToolContext()

    async def offered(self) -> Sequence[Tool]:
        """Return the tools whose policy is on or ask."""
        initial, self._initial = self._initial, None
        found = await in_database_with_retry(self._effective) if initial is None else initial
        if any(entry.is_remote for entry in found):
            outside_tools.refresh(self._tenant_id)
        return [entry.tool for entry in found if entry.policy != "off"]

    async def admit(self, calls: Sequence[ToolCall], read: ReadText = NOTHING_READ) -> Sequence[Admission]:
        """Return the current policy for each call; switches changed since the offer count."""
        effective = await in_database_with_retry(self._effective, read=read.sources)
        found = {entry.tool.name: entry for entry in effective}
        tools = {name: entry.tool for name, entry in found.items() if entry.policy != "off"}
        judged = [found.get(call.name) for call in calls]
        if read.sources:
            choices = frozenset(name for name, entry in found.items() if entry.tool.lists_choices)
            judged = [await by_destination(found.get(call.name), call, read, self._context, choices) for call in calls]
        if added_rules.questions:
            judged = [self._asked_about(entry, call, read) for entry, call in zip(judged, calls, strict=True)]
        names = tuple(tools)
        return [
            Admission(
                entry.tool,
                entry.policy,
                entry.rule,
                entry.config,
                entry.secrets,
                names,
                tools,
                outage=entry.outage,
                warning=entry.warning,
                switched_off=entry.switched_off,
            )
            if entry is not None
            else Admission(None, "off", rules.NOT_IN_CATALOGUE, callable_names=names, tools=tools)
            for entry in judged
        ]

    def _asked_about(self, entry: EffectiveTool | None, call: ToolCall, read: ReadText) -> EffectiveTool | None:
        """Return the entry with the decision for this call, if an optional app has a person asked about it."""
        if entry is None or entry.policy == "off":
            return entry
        asked = added_rules.AskedCall(entry.tool, call, entry.is_remote, self._context, read.messages)
        reason = added_rules.reason_to_ask(asked)
        if not reason:
            return entry
        if entry.tool.is_provider_side:
            return replace(entry, policy="off", rule=f"{reason} The provider runs it, where nobody can be asked.")
        warning = " ".join(filter(None, (reason, entry.warning)))
        return replace(entry, policy="ask", rule=reason if entry.policy == "on" else entry.rule, warning=warning)
