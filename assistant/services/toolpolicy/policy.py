"""The one policy function: which tools a run may use, by which rule; asked at the offer, the call and the approval."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal

from django.contrib.auth.models import Permission
from django.db.models import Exists, Q, QuerySet

from assistant.core.toolcalls.protocols import Admission, Policy
from assistant.core.values.messages import ToolCall
from assistant.models import Assistant, Membership
from assistant.services.db.prepared_queries import PreparedQuery, UserKey
from assistant.services.db.threads import in_database_with_retry
from assistant.services.mcp_servers.health_checks import keep_fresh
from assistant.services.mcp_servers.tools import RemoteTool, remote_tools
from assistant.services.toolpolicy import catalogue
from assistant.services.toolpolicy.switch_query import COLUMNS, StoredSwitches, Switch, read_switches, switch_columns
from assistant.services.toolpolicy.tool_settings import read_config, read_secrets
from assistant.toolkit import Tool
from assistant.toolkit.context import UserId

Layer = Literal["catalogue", "member", "tenant", "assistant", "tool", "user", "client", "settings", "server"]

_SEVERITY: Mapping[Policy, int] = {"on": 0, "ask": 1, "off": 2}
_WORDS: Mapping[Policy, str] = {"on": "Switched on", "ask": "Set to ask first", "off": "Switched off"}


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """What may be done with a tool; `rule` is a sentence that names the layer that decided.

    `config` and `secrets` are what the tool is then called with, and empty while it is off.
    """

    policy: Policy
    rule: str
    layer: Layer
    config: Any = field(default=None, repr=False, compare=False)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class EffectiveTool:
    """A tool with what may be done with it; `config` and `secrets` are empty while it is off.

    `outage` says why it cannot be used, if nothing but its server is in the way.
    """

    tool: Tool
    policy: Policy
    rule: str
    config: Any = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_remote: bool = False
    outage: str = ""


def decide(
    tool: Tool | None,
    *,
    tenant: Switch | None,
    assistant: Switch | None,
    has_permission: bool = True,
    narrowing: Collection[str] | None = None,
    refusal: str | None = None,
) -> PolicyDecision:
    """Weigh what every layer says of a tool: off beats ask beats on.

    Args:
        tool: The catalogue's tool; None if it has none of that name.
        tenant: The tenant's switch; without one the tool is off unless it is enabled by default.
        assistant: The assistant's switch; without one it follows the tenant.
        has_permission: Whether the user holds the permission that the tool names, if it names one.
        narrowing: The names the client wants offered; None for all.
        refusal: Why an outside server's tool cannot be used now, empty if it can; None for other tools.
    """
    if tool is None:
        return PolicyDecision("off", "Not in this deployment's catalogue.", "catalogue")
    if refusal:
        return PolicyDecision("off", refusal, "server")
    opinions = [_tenants_opinion(tool, tenant, is_remote=refusal is not None)]
    if assistant is not None:
        opinions.append(
            PolicyDecision(assistant.policy, f"{_WORDS[assistant.policy]} for this assistant.", "assistant")
        )
    if tool.requires_approval is True:
        opinions.insert(0, PolicyDecision("ask", "The tool itself asks before every call.", "tool"))
    if tool.permission and not has_permission:
        opinions.append(PolicyDecision("off", f"The user lacks the permission {tool.permission}.", "user"))
    if narrowing is not None and tool.name not in narrowing:
        opinions.append(PolicyDecision("off", "Left out by the client.", "client"))
    decision = _strictest(opinions)
    if decision.policy == "off":
        return decision
    try:
        config, secrets = _settings_of(tool, (tenant, assistant))
    except ValueError as exc:
        return PolicyDecision("off", f"Its stored settings are not valid: {exc}", "settings")
    return replace(decision, config=config, secrets=secrets)


def _settings_of(tool: Tool, pair: Iterable[Switch | None]) -> tuple[Any, Mapping[str, str]]:
    found = [switch for switch in pair if switch is not None]
    return read_config(tool, [switch.config for switch in found]), read_secrets([switch.secrets for switch in found])


def _tenants_opinion(tool: Tool, switch: Switch | None, *, is_remote: bool) -> PolicyDecision:
    if switch is not None:
        return PolicyDecision(switch.policy, f"{_WORDS[switch.policy]} for the tenant.", "tenant")
    if is_remote:
        return PolicyDecision("on", "Let in on the page of its server.", "server")
    if tool.enabled_by_default:
        return PolicyDecision("on", "On by default; the tenant has not switched it.", "catalogue")
    return PolicyDecision("off", "Off until the tenant switches it on.", "tenant")


def _strictest(opinions: list[PolicyDecision]) -> PolicyDecision:
    """The first of the strictest; when all agree on "on", the last and most particular."""
    worst = max(_SEVERITY[opinion.policy] for opinion in opinions)
    agreed = [opinion for opinion in opinions if _SEVERITY[opinion.policy] == worst]
    return agreed[0] if worst else agreed[-1]


@dataclass(frozen=True, slots=True)
class Standing:
    """What decides over a member's tools: whether the user is a superuser, and the switches."""

    is_superuser: bool
    stored: StoredSwitches


def effective_tools(
    *,
    tenant_id: int,
    user_id: UserId,
    assistant_id: int | None,
    narrowing: Collection[str] | None = None,
    standing: Standing | None = None,
) -> list[EffectiveTool]:
    """Every tool of the catalogue and of the tenant's outside servers, with today's decision for this tenant, user and
    assistant; the catalogue's come first, in its order.

    Nothing is kept between two calls, so that a switch holds for the next one, in every process. One query, one more
    if tools name permissions, and one for the tools of outside servers if the tenant has any. Without an assistant
    (None) only the tenant's own switches count. `standing` is given by a caller who has just read it, of a member of
    the tenant and an active assistant, and spares that query.
    """
    tools = list(catalogue.registry())
    if standing is None:
        found = _standing_of(tenant_id, user_id, assistant_id)
        if isinstance(found, PolicyDecision):
            return [EffectiveTool(tool, found.policy, found.rule) for tool in tools]
        standing = found
    stored = standing.stored
    remote: dict[str, RemoteTool] = {}
    if stored.has_servers:
        outside = remote_tools(tenant_id=tenant_id, user_id=user_id, taken={tool.name for tool in tools})
        remote = {entry.tool.name: entry for entry in outside}
        tools += [entry.tool for entry in outside]
    needed = {tool.permission for tool in tools if tool.permission}
    held = needed if standing.is_superuser else _permissions(user_id, needed)
    effective = []
    for tool in tools:
        pair = (stored.tenant.get(tool.name), stored.assistant.get(tool.name))
        ask = partial(
            decide,
            tool,
            tenant=pair[0],
            assistant=pair[1],
            has_permission=tool.permission in held,
            narrowing=narrowing,
        )
        entry = remote.get(tool.name)
        refusal = entry.refusal if entry else None
        decision = ask(refusal=refusal)
        stands_still = entry is not None and entry.is_let_in and bool(refusal) and ask(refusal="").policy != "off"
        effective.append(
            EffectiveTool(
                tool,
                decision.policy,
                decision.rule,
                decision.config,
                decision.secrets,
                is_remote=entry is not None,
                outage=refusal or "" if stands_still else "",
            )
        )
    return effective


def _membership(*, tenant_id: int, user_id: UserId, assistant_id: int) -> QuerySet[Membership, Any]:
    assistants = Assistant.objects.filter(pk=assistant_id, tenant_id=tenant_id, is_active=True)
    return (
        Membership.objects.filter(tenant_id=tenant_id, user_id=user_id, tenant__is_active=True, user__is_active=True)
        .annotate(has_assistant=Exists(assistants), **switch_columns(tenant_id=tenant_id, assistant=assistant_id))
        .values_list("user__is_superuser", "has_assistant", *COLUMNS)
    )


_MEMBERSHIP = PreparedQuery(_membership, tenant_id=int, user_id=UserKey, assistant_id=int)


def _standing_of(tenant_id: int, user_id: UserId, assistant_id: int | None) -> Standing | PolicyDecision:
    """What decides over the member's tools; or a refusal of everything, if the member or the assistant is gone."""
    row = _MEMBERSHIP.first(tenant_id=tenant_id, user_id=user_id, assistant_id=assistant_id or 0)
    if row is None:
        return PolicyDecision("off", "The user is no member of an active tenant.", "member")
    is_superuser, has_assistant, *stored = row
    if assistant_id is not None and not has_assistant:
        return PolicyDecision("off", "The assistant is not active.", "assistant")
    return Standing(is_superuser, read_switches(*stored))


def _permissions(user_id: UserId, needed: set[str]) -> set[str]:
    """Which of `needed` ("app_label.codename") the user holds, directly or by a group."""
    if not needed:
        return set()
    found = Permission.objects.filter(
        Q(user=user_id) | Q(group__user=user_id), codename__in={name.partition(".")[2] for name in needed}
    ).values_list("content_type__app_label", "codename")
    return needed & {f"{app_label}.{codename}" for app_label, codename in found}


class TenantToolset:
    """A run's tools, asked for anew at every offer and at every batch of calls, each in one crossing.

    `initial` is what the transaction that opened the run has decided already; the first offer is made from it.
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
        self._ask = partial(
            effective_tools, tenant_id=tenant_id, user_id=user_id, assistant_id=assistant_id, narrowing=narrowing
        )
        self._initial = initial
        self._tenant_id = tenant_id

    async def offered(self) -> Sequence[Tool]:
        """The tools that are on or ask first."""
        first, self._initial = self._initial, None
        found = await in_database_with_retry(self._ask) if first is None else first
        if any(entry.is_remote for entry in found):
            keep_fresh(self._tenant_id)
        return [entry.tool for entry in found if entry.policy != "off"]

    async def admit(self, calls: Sequence[ToolCall]) -> Sequence[Admission]:
        """Today's decision on each call; a switch that was flipped since the offer counts."""
        found = {entry.tool.name: entry for entry in await in_database_with_retry(self._ask)}
        tools = {name: entry.tool for name, entry in found.items() if entry.policy != "off"}
        return [_admission(found.get(call.name), tools) for call in calls]


def _admission(entry: EffectiveTool | None, tools: Mapping[str, Tool]) -> Admission:
    if entry is None:
        nothing = decide(None, tenant=None, assistant=None)
        return Admission(None, nothing.policy, nothing.rule, callable_names=tuple(tools), tools=tools)
    return Admission(
        entry.tool, entry.policy, entry.rule, entry.config, entry.secrets, tuple(tools), tools, outage=entry.outage
    )
