"""Sets switches of tools, one or many at a time."""

from __future__ import annotations

import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import Max, Q
from django.utils import timezone

from assistant.models import Assistant, AuditEntry, Tenant, ToolSetting
from assistant.models.tool_settings import FOLLOW
from assistant.services.tenancy import audit_trail, change_notices
from assistant.services.toolpolicy import catalogue, outside_tools
from assistant.services.toolpolicy.blocks import check_end, checked_reason

POLICIES = tuple(ToolSetting.Policy.values)
# The audit's name of a changed switch.
ACTION = "tool.switch"
# Switches that one change may set: more than a page of the board has.
MAX_TARGETS = 5_000


@dataclass(frozen=True, slots=True)
class Target:
    """The switch of a tool for a tenant, or for one of its assistants."""

    tenant_id: int
    assistant_id: int | None
    tool: str


@dataclass(frozen=True, slots=True)
class State:
    """What a switch is set to: a policy or "follow", and why it is off in spite of it, until when."""

    policy: str
    reason: str = ""
    until: datetime | None = None

    @property
    def word(self) -> str:
        """The policy that holds now, as the audit trail names it."""
        return "off" if self.reason else self.policy

    @property
    def details(self) -> dict[str, str | None]:
        """The reason and the end for the audit trail, if there is one."""
        if not self.reason:
            return {}
        return {"reason": self.reason, "until": None if self.until is None else self.until.isoformat()}


@dataclass(frozen=True, slots=True)
class Change:
    """What a change did: its id, the switches that it set, and those that it left as they were.

    Left are switches to delete that also store settings or secrets, and in an undo those that were changed since.
    `overtaken` are those that others have changed since the page of this change was made.
    """

    id: str
    changed: tuple[Target, ...]
    left: tuple[Target, ...]
    overtaken: tuple[Target, ...] = ()


@transaction.atomic
def set_switches(
    *,
    actor: audit_trail.Actor,
    targets: Iterable[Target],
    policy: str,
    reason: str = "",
    until: datetime | None = None,
    seen: int | None = None,
) -> Change:
    """Set switches, from the next tool call on, in every process; the number of queries is constant.

    The caller has checked that the actor administers the targets' tenants.

    Args:
        policy: "on", "ask" or "off"; "follow" deletes stored switches.
        reason: why the tool is off, whatever the policy says; members and the model read it. "": it is not.
        until: when the policy decides again; None: when a switch is set without a reason.
        seen: `latest_version` when the page was made that the actor has acted on. Switches that others have set since
            are left as they are. None overwrites them.

    Raises:
        ValueError: the policy or a tool does not exist, an assistant belongs to another tenant, there are more than
            `MAX_TARGETS`, or the reason or end is not valid.
    """
    if policy not in (*POLICIES, FOLLOW):
        raise ValueError(f"a policy is any of {', '.join(POLICIES)} or {FOLLOW}")
    if reason and policy != FOLLOW:
        state = State(policy, checked_reason(reason), until)
        check_end(until)
    else:
        state = State(policy)
    wanted = dict.fromkeys(targets, state)
    if len(wanted) > MAX_TARGETS:
        raise ValueError(f"more than {MAX_TARGETS} switches at once")
    _check_tools(wanted)
    _check_assistants(wanted)
    overtaken: tuple[Target, ...] = ()
    if seen is not None:
        _lock_tenants(wanted)
        overtaken = tuple(_set_by_others(actor, wanted, seen))
    made = apply_states(actor, {one: value for one, value in wanted.items() if one not in overtaken}, ())
    return replace(made, overtaken=overtaken)


class Overtaken(Exception):
    """Somebody else has set the switch since it was shown."""


def set_switch(
    *,
    actor: audit_trail.Actor,
    tenant: Tenant,
    assistant: Assistant | None,
    tool: str,
    policy: str,
    reason: str = "",
    until: datetime | None = None,
    seen: int | None = None,
) -> ToolSetting | None:
    """Set the switch of a tool for a tenant or an assistant, from the next tool call on, in every process.

    `policy` is "on", "ask" or "off"; "follow" deletes the stored switch and returns None. The others are as those of
    `set_switches`.

    Raises:
        Overtaken: others have set it since `seen`.
        ValueError: the tool or policy does not exist, the assistant belongs to another tenant, or a switch to delete
            also stores settings or secrets; or the reason or end is not valid.
    """
    target = Target(tenant.pk, assistant.pk if assistant is not None else None, tool)
    made = set_switches(actor=actor, targets=[target], policy=policy, reason=reason, until=until, seen=seen)
    if made.overtaken:
        raise Overtaken("somebody else has set this switch meanwhile")
    if made.left:
        raise ValueError("this switch holds settings; delete them first, or set it to on, ask or off")
    return ToolSetting.objects.filter(tenant=tenant, assistant=assistant, tool=tool).first()


def latest_version(*, tenants: Collection[int]) -> int:
    """Return what tells a page of these tenants' switches from later ones: the newest change that it shows."""
    newest = AuditEntry.objects.filter(tenant__in=tenants, action=ACTION).aggregate(Max("pk"))["pk__max"]
    return int(newest or 0)


def _lock_tenants(targets: Collection[Target]) -> None:
    """Let simultaneous changes of a tenant's switches see each other, also of those that are not stored yet."""
    tenants = Tenant.objects.filter(pk__in={target.tenant_id for target in targets})
    list(tenants.select_for_update(no_key=True).order_by("pk").values_list("pk"))


def _set_by_others(actor: audit_trail.Actor, targets: Collection[Target], seen: int) -> set[Target]:
    entries = AuditEntry.objects.filter(
        tenant__in={target.tenant_id for target in targets}, action=ACTION, pk__gt=seen
    ).exclude(actor_id=actor.pk if actor is not None else None)
    return {target_of(entry) for entry in entries} & set(targets)


@transaction.atomic
def delete_switches(*, actor: audit_trail.Actor, settings: Iterable[ToolSetting]) -> None:
    """Delete rows of switches with the settings and secrets that they store, for good.

    The caller has checked that the actor administers their tenants.
    """
    for setting in settings:
        record_switch(actor=actor, setting=setting, before=state_of(setting), after=State(FOLLOW))
        setting.delete()


def record_switch(*, actor: audit_trail.Actor, setting: ToolSetting, before: State, after: State) -> None:
    """Record what was set by the form of a row, so that the board says who changed it last, and tell open chats."""
    if before == after:
        return
    owner = {"assistant": setting.assistant_id} if setting.assistant_id else {}
    audit_trail.record(
        actor=actor,
        action=ACTION,
        target=switch_target(setting),
        tenant=setting.tenant,
        details={"policy": after.word, "before": before.word, **after.details, **owner},
    )
    change_notices.notify()


def switch_target(setting: ToolSetting) -> str:
    """Return what the audit trail calls a switch."""
    return f"{setting.assistant.slug}: {setting.tool}" if setting.assistant is not None else setting.tool


def knows_tool(*, tenant_id: int, name: str) -> bool:
    """Return whether the catalogue or one of the tenant's external servers has a tool of this name."""
    return name in catalogue.registry() or any(
        entry.tool.name == name for entry in outside_tools.tools_of(tenant_id=tenant_id, user_id=None)
    )


def target_of(entry: AuditEntry) -> Target:
    assistant = entry.details.get("assistant")
    return Target(entry.tenant_id or 0, assistant, entry.target.rpartition(": ")[2])


def state_of(row: ToolSetting | None) -> State:
    return State(FOLLOW) if row is None else State(row.policy, row.reason, row.until)


def _check_tools(wanted: Collection[Target]) -> None:
    outside = {(one.tenant_id, one.tool) for one in wanted if one.tool not in catalogue.registry()}
    if not outside:
        return
    found = outside_tools.named(tenants={pk for pk, _ in outside}, names={tool for _, tool in outside}).by_tenant
    for tenant_id, tool in sorted(outside):
        if tool not in found.get(tenant_id, {}):
            raise ValueError(f"this deployment has no tool {tool!r}")


def _check_assistants(wanted: Collection[Target]) -> None:
    pairs = {(target.assistant_id, target.tenant_id) for target in wanted if target.assistant_id is not None}
    if not pairs:
        return
    ids, tenants = {pk for pk, _ in pairs}, {tenant for _, tenant in pairs}
    known = set(Assistant.objects.filter(pk__in=ids, tenant__in=tenants).values_list("pk", "tenant_id"))
    if pairs - known:
        raise ValueError("the assistant belongs to another tenant")


def locked_switches(targets: Collection[Target]) -> dict[Target, ToolSetting]:
    """Return the stored switches of the targets, locked until the end of the transaction."""
    assistants = {target.assistant_id for target in targets}
    of_assistants = Q(assistant__in=assistants - {None}) | (Q(assistant=None) if None in assistants else Q(pk=None))
    rows = ToolSetting.objects.select_for_update().filter(
        of_assistants,
        tenant__in={target.tenant_id for target in targets},
        tool__in={target.tool for target in targets},
    )
    found = {Target(row.tenant_id, row.assistant_id, row.tool): row for row in rows.order_by("pk")}
    return {target: row for target, row in found.items() if target in targets}


def apply_states(actor: audit_trail.Actor, wanted: Mapping[Target, State], left: tuple[Target, ...]) -> Change:
    stored = locked_switches(wanted)
    keep = {
        target
        for target, state in wanted.items()
        if state.policy == FOLLOW and target in stored and (stored[target].config or stored[target].secrets)
    }
    before = {target: state_of(stored.get(target)) for target in wanted}
    changed = {target: state for target, state in wanted.items() if target not in keep and before[target] != state}
    _store(changed, stored)
    made = Change(uuid.uuid4().hex, tuple(changed), (*left, *keep))
    slugs = _slugs(changed)
    AuditEntry.objects.bulk_create(
        [
            AuditEntry(
                tenant_id=target.tenant_id,
                actor_id=actor.pk if actor is not None else None,
                action=ACTION,
                target=f"{slugs[target.assistant_id]}: {target.tool}" if target.assistant_id else target.tool,
                details={
                    "policy": state.word,
                    "before": before[target].word,
                    **state.details,
                    **_was(before[target]),
                    "change": made.id,
                    **({"assistant": target.assistant_id} if target.assistant_id else {}),
                },
            )
            for target, state in changed.items()
        ]
    )
    change_notices.notify()
    return made


def _was(before: State) -> dict[str, Any]:
    """Return what an undo needs to know of a switch that was off with a reason."""
    return {"was": {"policy": before.policy, **before.details}} if before.reason else {}


def _store(changed: Mapping[Target, State], stored: Mapping[Target, ToolSetting]) -> None:
    tenants = {target.tenant_id for target in changed}
    old = [stored[target].pk for target, state in changed.items() if state.policy == FOLLOW and target in stored]
    ToolSetting.objects.filter(pk__in=old, tenant__in=tenants).delete()
    # One state, or few in an undo.
    for state in {one for one in changed.values() if one.policy != FOLLOW}:
        values = {"policy": state.policy, "reason": state.reason, "until": state.until}
        rows = [
            ToolSetting(tenant_id=one.tenant_id, assistant_id=one.assistant_id, tool=one.tool, **values)
            for one, value in changed.items()
            if value == state and one not in stored
        ]
        if rows:
            # A concurrent request may have created one of them, which then is changed below.
            ToolSetting.objects.bulk_create(rows, ignore_conflicts=True)
        there = locked_switches([target for target, value in changed.items() if value == state])
        ToolSetting.objects.filter(pk__in=[row.pk for row in there.values()], tenant__in=tenants).update(
            **values, updated_at=timezone.now()
        )


def _slugs(targets: Collection[Target]) -> dict[int | None, str]:
    ids = {target.assistant_id for target in targets if target.assistant_id}
    tenants = {target.tenant_id for target in targets}
    return dict(Assistant.objects.filter(pk__in=ids, tenant__in=tenants).values_list("pk", "slug")) if ids else {}
