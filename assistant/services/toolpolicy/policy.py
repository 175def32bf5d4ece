"""The policy function: decides which tools a run may use, when they are offered, called and approved."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

from django.contrib.auth.models import Permission
from django.db.models import Exists, Q, QuerySet
from django.utils.translation import gettext

from assistant.core.toolcalls.protocols import Policy
from assistant.core.values.switched_off import SwitchedOff
from assistant.core.values.untrusted import named
from assistant.models import Assistant, Membership
from assistant.services.db.fast_paths.prepared_queries import PreparedQuery, UserKey
from assistant.services.toolpolicy import added_rules, catalogue, outside_tools, rules
from assistant.services.toolpolicy.blocks import Block
from assistant.services.toolpolicy.outside_tools import OutsideTool
from assistant.services.toolpolicy.switch_query import (
    COLUMNS,
    StoredSwitches,
    Switch,
    read_config,
    read_secrets,
    read_switches,
    switch_columns,
    unblocked,
)
from assistant.toolkit import Tool
from assistant.toolkit.context import UserId

Layer = Literal[
    "catalogue",
    "deployment",
    "member",
    "tenant",
    "assistant",
    "tool",
    "user",
    "client",
    "settings",
    "server",
    "content",
]

_SEVERITY: Mapping[Policy, int] = {"on": 0, "ask": 1, "off": 2}


@dataclass(frozen=True, slots=True)
class PolicyDecision:
    """The policy for a tool; `rule` is a sentence that names the layer that decided.

    `config` and `secrets` are the tool's settings and secrets, empty if it is off. `block` is the off switch with a
    reason that has decided, if it was one.
    """

    policy: Policy
    rule: str
    layer: Layer
    block: Block | None = None
    config: Any = field(default=None, repr=False, compare=False)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class EffectiveTool:
    """A tool with its policy; `config` and `secrets` are empty if it is off.

    `outage` says why a tool whose policy would otherwise be on or ask cannot be used, because its external server is
    unavailable; else it is empty. `switched_off` is the same of a tool that has been switched off with a reason: for
    everyone, the tenant or the assistant.
    `warning` is for a person who is asked because the model has read untrusted text. `without_read` is the decision for
    a call of a tool with destinations that are all trusted.
    """

    tool: Tool
    policy: Policy
    rule: str
    config: Any = None
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    is_remote: bool = False
    outage: str = ""
    switched_off: SwitchedOff | None = None
    warning: str = ""
    without_read: PolicyDecision | None = None


def decide(
    tool: Tool | None,
    *,
    tenant: Switch | None,
    assistant: Switch | None,
    block: Block | None = None,
    has_permission: bool = True,
    narrowing: Collection[str] | None = None,
    refusal: str | None = None,
    read: Sequence[str] = (),
    after_untrusted: Policy = "ask",
) -> PolicyDecision:
    """Combine the policies of all layers for a tool: off beats ask beats on.

    Args:
        tool: the tool, or None if the catalogue has none of that name.
        tenant: the tenant's switch. Without one the tool is off unless it is enabled by default.
        assistant: the assistant's switch. Without one it follows the tenant.
        block: the deployment's off switch for the tool, which takes precedence over all else.
        has_permission: whether the user has the permission that the tool requires, if any.
        narrowing: the names of the tools that the client allows; None for all.
        refusal: why an external server's tool cannot be used now, or "" if it can; None for other tools.
        read: the sources of untrusted text that the model has read in this run.
        after_untrusted: the tenant's rule for tools that are not read-only in such a run; "off" also covers those that
            read from external systems.
    """
    if tool is None:
        return PolicyDecision("off", rules.NOT_IN_CATALOGUE, "catalogue")
    if block is not None:
        return PolicyDecision("off", block.rule, "deployment", block)
    if refusal:
        return PolicyDecision("off", refusal, "server")
    decisions = [
        _without_switch(tool, is_remote=refusal is not None)
        if tenant is None
        else _switch_decision(tenant, "tenant", rules.FOR_TENANT)
    ]
    if assistant is not None:
        decisions.append(_switch_decision(assistant, "assistant", rules.FOR_ASSISTANT))
    if tool.requires_approval is True:
        decisions.insert(0, PolicyDecision("ask", rules.ASKS_ITSELF, "tool"))
    if tool.permission and not has_permission:
        decisions.append(PolicyDecision("off", rules.LACKS_PERMISSION % {"permission": tool.permission}, "user"))
    if narrowing is not None and tool.name not in narrowing:
        decisions.append(PolicyDecision("off", rules.LEFT_OUT, "client"))
    # A search of the web changes nothing, but can carry away what is searched for: only the strictest rule covers it.
    reads_outside = refusal is not None or bool(tool.open_world)
    is_ruled = bool(tool.destinations) or not tool.read_only or (reads_outside and after_untrusted == "off")
    if read and after_untrusted != "on" and is_ruled:
        verb = "Asks first" if after_untrusted == "ask" else "Off"
        decisions.append(
            PolicyDecision(after_untrusted, f"{verb}: this conversation has read {named(read)}.", "content")
        )
    decision = decisions[0] if len(decisions) == 1 else _strictest(decisions)
    if decision.policy == "ask" and tool.is_provider_side:
        rule = f"{decision.rule} The provider runs it within an answer, where nobody can be asked: it is off."
        decision = PolicyDecision("off", rule, decision.layer)
    if decision.policy == "off":
        return decision
    switches = [switch for switch in (tenant, assistant) if switch is not None]
    has_settings = tool.config is not None or any(switch.config != {} or switch.secrets for switch in switches)
    try:
        config, secrets = _merged_settings(tool, switches) if has_settings else NO_SETTINGS
    except ValueError as exc:
        return PolicyDecision("off", f"Its stored settings are not valid: {exc}", "settings")
    rule = decision.rule
    if read and decision.layer != "content":
        why = "The tenant has no rule for text from outside." if is_ruled and after_untrusted == "on" else ""
        why = why if is_ruled else "The tool only reads."
        rule = " ".join(filter(None, (rule, why, f"This conversation has read {named(read)}.")))
    return replace(decision, rule=rule, config=config, secrets=secrets)


def facts_of(tool: Tool) -> Hashable:
    """Return what `decide` reads of an external server's tool, besides its name for `narrowing`."""
    return (
        tool.requires_approval is True,
        tool.permission,
        tool.read_only,
        bool(tool.destinations),
        bool(tool.open_world),
        tool.is_provider_side,
        tool.enabled_by_default,
        tool.config,
        tuple(tool.secrets),
    )


NO_SETTINGS: tuple[Any, Mapping[str, str]] = (MappingProxyType({}), MappingProxyType({}))


def _merged_settings(tool: Tool, switches: Sequence[Switch]) -> tuple[Any, Mapping[str, str]]:
    config = read_config(tool, [switch.config for switch in switches])
    return config, read_secrets([switch.secrets for switch in switches])


def _without_switch(tool: Tool, *, is_remote: bool) -> PolicyDecision:
    """Return the decision on a tool that the tenant has not switched."""
    if is_remote:
        return PolicyDecision("on", rules.ALLOWED_FOR_SERVER, "server")
    if tool.enabled_by_default:
        return PolicyDecision("on", rules.ON_BY_DEFAULT, "catalogue")
    return PolicyDecision("off", rules.NOT_SWITCHED_ON, "tenant")


def _switch_decision(switch: Switch, layer: Layer, sentences: Mapping[Policy, str]) -> PolicyDecision:
    if switch.block is not None:
        return PolicyDecision("off", switch.block.rule, layer, switch.block)
    return PolicyDecision(switch.policy, sentences[switch.policy], layer)


def _strictest(decisions: list[PolicyDecision]) -> PolicyDecision:
    """Return the first of the strictest decisions; if all are "on", the last, which is the most specific."""
    severity = max(_SEVERITY[decision.policy] for decision in decisions)
    strictest = [decision for decision in decisions if _SEVERITY[decision.policy] == severity]
    return strictest[0] if severity else strictest[-1]


@dataclass(frozen=True, slots=True)
class MemberSwitches:
    """What is stored about a member's tools.

    Whether the user is a superuser, the switches, and the tenant's rule for runs that have read untrusted text.
    """

    is_superuser: bool
    stored: StoredSwitches
    after_untrusted: Policy = "ask"


def usable_names(
    *, tenant_id: int, user_id: UserId, assistant_id: int | None, names: Collection[str] | None = None
) -> frozenset[str]:
    """Return the names of the tools that `effective_tools` does not return as off."""
    entries = effective_tools(tenant_id=tenant_id, user_id=user_id, assistant_id=assistant_id, names=names)
    return frozenset(entry.tool.name for entry in entries if entry.policy != "off")


def effective_tools(
    *,
    tenant_id: int,
    user_id: UserId,
    assistant_id: int | None,
    narrowing: Collection[str] | None = None,
    switches: MemberSwitches | None = None,
    read: Sequence[str] = (),
    names: Collection[str] | None = None,
) -> list[EffectiveTool]:
    """Return every tool of the catalogue, in its order, and from outside with its current policy.

    Nothing is cached, so that a change of a switch applies to the next call in every process. Runs one query, another
    if tools require permissions, and another if the tenant may have tools from outside.

    Args:
        assistant_id: the assistant whose switches apply too; None for only the tenant's.
        narrowing: the names of the tools that the client allows; None for all.
        switches: those of an active member and assistant, if the caller has just read them. Saves a query.
        read: the sources of untrusted text that the model has read in this run.
        names: of the catalogue's tools that are asked about; None for all, and those from outside. What only the others
            need is not asked.
    """
    known = catalogue.registry().by_name
    tools = [tool for tool in known.values() if names is None or tool.name in names]
    if switches is None:
        found = _member_switches(tenant_id, user_id, assistant_id)
        if isinstance(found, PolicyDecision):
            return [EffectiveTool(tool, found.policy, found.rule) for tool in tools]
        switches = found
    stored = switches.stored
    remote: dict[str, OutsideTool] = {}
    if stored.has_outside_tools and names is None:
        outside = outside_tools.tools_of(tenant_id=tenant_id, user_id=user_id, taken={tool.name for tool in tools})
        remote = {entry.tool.name: entry for entry in outside}
        tools += [entry.tool for entry in outside]
    needed = {tool.permission for tool in tools if tool.permission}
    held = needed if switches.is_superuser or not needed else held_permissions(user_id, needed)
    has_effects = any(not tool.read_only for tool in tools)
    read_only = added_rules.read_only_block() if has_effects and added_rules.read_only_reasons else None
    effective = []
    for tool in tools:
        pair = (stored.tenant.get(tool.name), stored.assistant.get(tool.name))
        block = stored.blocks.get(tool.name)
        if block is None and not tool.read_only:
            block = read_only
        decide_with = partial(
            decide,
            tool,
            tenant=pair[0],
            assistant=pair[1],
            has_permission=tool.permission in held,
            narrowing=narrowing,
            read=read,
            after_untrusted=switches.after_untrusted,
        )
        entry = remote.get(tool.name)
        refusal = entry.refusal if entry else None
        decision = decide_with(refusal=refusal, block=block)
        is_refused = entry is not None and entry.is_allowed and bool(refusal)
        is_outage = is_refused and decide_with(refusal="", block=block).policy != "off"
        switched_off = None
        if decision.block is not None:
            # Who could not use the tool anyway is not told why it has been switched off.
            without = decide_with(refusal=refusal, tenant=unblocked(pair[0]), assistant=unblocked(pair[1]))
            switched_off = None if without.policy == "off" else decision.block.switched_off
        effective.append(
            EffectiveTool(
                tool,
                decision.policy,
                decision.rule,
                decision.config,
                decision.secrets,
                is_remote=entry is not None,
                outage=refusal or "" if is_outage else "",
                switched_off=switched_off,
                warning=_warning(read) if read and decision.policy == "ask" else "",
                without_read=decide_with(refusal=refusal, block=block, read=()) if read and tool.destinations else None,
            )
        )
    return effective


def _membership(*, tenant_id: int, user_id: UserId, assistant_id: int) -> QuerySet[Membership, Any]:
    assistants = Assistant.objects.filter(pk=assistant_id, tenant_id=tenant_id, is_active=True)
    return (
        Membership.objects.filter(tenant_id=tenant_id, user_id=user_id, tenant__is_active=True, user__is_active=True)
        .annotate(has_assistant=Exists(assistants), **switch_columns(tenant_id=tenant_id, assistant=assistant_id))
        .values_list("user__is_superuser", "has_assistant", "tenant__after_untrusted", *COLUMNS)
    )


_MEMBERSHIP = PreparedQuery(_membership, tenant_id=int, user_id=UserKey, assistant_id=int)


def _member_switches(tenant_id: int, user_id: UserId, assistant_id: int | None) -> MemberSwitches | PolicyDecision:
    """Return the member's switches, or a decision that refuses all tools if the member or assistant is not active."""
    row = _MEMBERSHIP.first(tenant_id=tenant_id, user_id=user_id, assistant_id=assistant_id or 0)
    if row is None:
        return PolicyDecision("off", "The user is not a member of an active tenant.", "member")
    is_superuser, has_assistant, after_untrusted, *stored = row
    if assistant_id is not None and not has_assistant:
        return PolicyDecision("off", "The assistant is not active.", "assistant")
    return MemberSwitches(is_superuser, read_switches(*stored), after_untrusted)


def held_permissions(user_id: UserId, needed: set[str]) -> set[str]:
    """Return which of the `needed` permissions ("app_label.codename") the user has, directly or by a group."""
    found = Permission.objects.filter(
        Q(user=user_id) | Q(group__user=user_id), codename__in={name.partition(".")[2] for name in needed}
    ).values_list("content_type__app_label", "codename")
    return needed & {f"{app_label}.{codename}" for app_label, codename in found}


def _warning(read: Sequence[str]) -> str:
    return gettext("This conversation has read %(sources)s.") % {"sources": named(read)}
