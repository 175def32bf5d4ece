"""Takes back changes of tools' switches: the latest for ten minutes, and any that an entry of the audit names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from assistant.contrib.panel.services.audit_acts import BATCH, mark_act
from assistant.models import Assistant, AuditEntry, Tenant
from assistant.services.db.clock import DatabaseTime
from assistant.services.tenancy import audit_trail
from assistant.services.toolpolicy.switch_changes import (
    ACTION,
    Change,
    State,
    Target,
    apply_states,
    locked_switches,
    state_of,
    target_of,
)

# How long a change can be taken back.
UNDO_SECONDS = 600


@dataclass(frozen=True, slots=True)
class LatestChange:
    """A change that can be taken back: its id, how many switches it set, and to what; "" if to several policies."""

    id: str
    count: int
    policy: str
    tool: str
    at: datetime


@transaction.atomic
def undo_change(*, actor: audit_trail.Actor, change: str, tenants: QuerySet[Tenant]) -> Change:
    """Set the switches of one of the actor's changes back to what they were before it.

    Args:
        change: the id of a change of the last ten minutes.
        tenants: those that the actor may change. Switches of others are left out.

    Raises:
        LookupError: there is no such change, or it is too old.
    """
    entries = list(_recent(actor, tenants).filter(details__change=change))
    if not entries:
        raise LookupError("there is no such change of yours in the last ten minutes")
    return _undo(actor, entries)


@transaction.atomic
def undo_entry(*, actor: audit_trail.Actor, entry: AuditEntry) -> Change:
    """Set the switch of an entry of the audit back to what it was before, however old it is and whoever set it.

    A switch that was set since is left. The caller has checked that the actor may change the tenant's switches.
    """
    return _undo(actor, [entry])


def _undo(actor: audit_trail.Actor, entries: Sequence[AuditEntry]) -> Change:
    was_set = {target_of(entry): entry for entry in entries}
    stored = locked_switches(was_set)
    now = {target: state_of(stored.get(target)).word for target in was_set}
    wanted = {
        target: _state_before(entry)
        for target, entry in was_set.items()
        if now[target] == entry.details["policy"] and _exists(target)
    }
    made = apply_states(actor, wanted, tuple(was_set.keys() - wanted.keys()))
    lead_change(made, is_undo=True)
    return made


def lead_change(change: Change, *, is_undo: bool = False) -> None:
    """Have lists of the audit show a change of many switches as one act.

    Args:
        is_undo: whether it has set them back, which the audit says then.
    """
    tenants = {target.tenant_id for target in change.changed}
    recent = AuditEntry.objects.filter(tenant__in=tenants, action=ACTION, created_at__gt=DatabaseTime(-UNDO_SECONDS))
    entries = list(recent.filter(details__change=change.id).order_by("pk"))
    if is_undo:
        for entry in entries:
            entry.details["undo"] = True
        AuditEntry.objects.bulk_update(entries, ["details"], batch_size=BATCH)
    if entries:
        mark_act(entries, lead=entries[0], act=change.id)


def latest_change(*, actor: audit_trail.Actor, tenants: QuerySet[Tenant]) -> LatestChange | None:
    """Return the actor's newest change of these tenants' switches that can be taken back; two queries."""
    newest = _recent(actor, tenants).filter(details__has_key="change").order_by("-pk").first()
    if newest is None:
        return None
    change = str(newest.details["change"])
    entries = list(_recent(actor, tenants).filter(details__change=change).values_list("details__policy", "target"))
    policies = {policy for policy, _ in entries}
    tools = {target.rpartition(": ")[2] for _, target in entries}
    return LatestChange(
        change,
        len(entries),
        policies.pop() if len(policies) == 1 else "",
        tools.pop() if len(tools) == 1 else "",
        newest.created_at,
    )


def _recent(actor: audit_trail.Actor, tenants: QuerySet[Tenant]) -> QuerySet[AuditEntry]:
    return AuditEntry.objects.filter(
        tenant__in=tenants,
        actor_id=actor.pk if actor is not None else None,
        action=ACTION,
        created_at__gt=DatabaseTime(-UNDO_SECONDS),
    )


def _state_before(entry: AuditEntry) -> State:
    """Return what a switch was set to before a change of it."""
    was = entry.details.get("was")
    if not isinstance(was, dict):
        return State(str(entry.details["before"]))
    until = was.get("until")
    return State(str(was["policy"]), str(was["reason"]), None if until is None else datetime.fromisoformat(str(until)))


def _exists(target: Target) -> bool:
    """Whether the switch's assistant, if it is of one, has not been deleted since."""
    return (
        target.assistant_id is None
        or Assistant.objects.filter(pk=target.assistant_id, tenant=target.tenant_id).exists()
    )
