"""A run's toolset: the policy function, asked for every offer and every batch of calls."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from assistant.core.toolcalls.protocols import Admission
from assistant.core.values.messages import ToolCall
from assistant.core.values.untrusted import NOTHING_READ, ReadText, named, on_one_line
from assistant.services.db.threads import in_database_with_retry
from assistant.services.mcp_servers.health_checks import refresh_stale_listings
from assistant.services.toolpolicy.policy import EffectiveTool, decide, effective_tools
from assistant.toolkit import Tool
from assistant.toolkit.bounded_json import load_json
from assistant.toolkit.context import UserId

# Destinations of one call that are looked up in the conversation, and characters of each. Calls with more follow the
# rule for all tools.
MAX_DESTINATIONS, MAX_CHARACTERS = 50, 2_000


class TenantToolset:
    """A run's tools, with policies read from the database for every offer and every batch of calls.

    The first offer is made from `initial`, which the transaction that opened the run has read.
    """

    def __init__(
        self,
        *,
        tenant_id: int,
        user_id: UserId,
        assistant_id: int | None,
        narrowing: Collection[str] | None = None,
        initial: Sequence[EffectiveTool] | None = None,
    ) -> None:
        self._effective = partial(
            effective_tools, tenant_id=tenant_id, user_id=user_id, assistant_id=assistant_id, narrowing=narrowing
        )
        self._initial = initial
        self._tenant_id = tenant_id

    async def offered(self) -> Sequence[Tool]:
        """Return the tools whose policy is on or ask."""
        initial, self._initial = self._initial, None
        found = await in_database_with_retry(self._effective) if initial is None else initial
        if any(entry.is_remote for entry in found):
            refresh_stale_listings(self._tenant_id)
        return [entry.tool for entry in found if entry.policy != "off"]

    async def admit(self, calls: Sequence[ToolCall], read: ReadText = NOTHING_READ) -> Sequence[Admission]:
        """Return the current policy for each call; switches changed since the offer count."""
        effective = await in_database_with_retry(self._effective, read=read.sources)
        found = {entry.tool.name: entry for entry in effective}
        tools = {name: entry.tool for name, entry in found.items() if entry.policy != "off"}
        return [_admission(by_destination(found.get(call.name), call, read), tools) for call in calls]


def by_destination(entry: EffectiveTool | None, call: ToolCall, read: ReadText) -> EffectiveTool | None:
    """Return the entry with the decision for this call, if its tool declares destinations: these alone decide."""
    if entry is None or entry.without_read is None:
        return entry
    values = destinations_of(entry.tool, call.arguments)
    if not values and not entry.tool.read_only:
        return entry  # it sends nothing anywhere, but may change something, such as the amount of a payment
    if entry.tool.open_world and entry.policy == "off":
        return entry  # other arguments, such as what is searched for, leave too
    if values is None or len(values) > MAX_DESTINATIONS or any(len(value) > MAX_CHARACTERS for value in values):
        return entry
    if found := read.first_untrusted(values):
        value, origins = found
        warning = f"“{on_one_line(value)}” comes from {named(origins)}, and from nobody else."
        return replace(entry, rule=f"{warning} {entry.rule}", warning=warning)
    cleared = entry.without_read
    why = "Its destinations are in trusted text." if values else "It names no destination."
    return replace(
        entry,
        policy=cleared.policy,
        rule=f"{cleared.rule} {why} This conversation has read {named(read.sources)}.",
        config=cleared.config,
        secrets=cleared.secrets,
        warning="",
    )


def destinations_of(tool: Tool, arguments: str) -> list[str] | None:
    """Return the different texts and numbers in the arguments that the tool declares as destinations.

    Returns:
        None if they cannot be judged by that: the arguments are no JSON object, or something else was given.
    """
    try:
        values = load_json(arguments or "{}")
    except ValueError:
        return None
    if not isinstance(values, dict):
        return None
    found: dict[str, None] = {}
    for name in tool.destinations:
        leaves = [leaf for leaf in _leaves(values.get(name)) if leaf]
        if not leaves and values.get(name) not in (None, "", [], {}):
            return None
        found.update(dict.fromkeys(leaves))
    return list(found)


def _leaves(value: Any) -> Iterator[str]:
    """Texts and numbers in a value, names of objects too."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield name.strip()
            yield from _leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from _leaves(item)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value).strip()


def _admission(entry: EffectiveTool | None, tools: Mapping[str, Tool]) -> Admission:
    if entry is None:
        unknown = decide(None, tenant=None, assistant=None)
        return Admission(None, unknown.policy, unknown.rule, callable_names=tuple(tools), tools=tools)
    return Admission(
        entry.tool,
        entry.policy,
        entry.rule,
        entry.config,
        entry.secrets,
        tuple(tools),
        tools,
        outage=entry.outage,
        warning=entry.warning,
    )
