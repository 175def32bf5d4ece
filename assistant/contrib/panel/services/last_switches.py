"""Who changed each switch last, and when, from the audit trail."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth import get_user_model
from django.db.models import Max, Subquery

from assistant.models import AuditEntry, Tenant
from assistant.services.toolpolicy.switch_changes import ACTION


@dataclass(frozen=True, slots=True)
class LastSwitch:
    """The last change of a switch; `who` is "" for a command or a person who was deleted."""

    who: str
    at: datetime


def last_switches(
    *, tenants: Collection[Tenant], tools: Collection[str] | None = None
) -> dict[tuple[int, str], LastSwitch]:
    """Return the last change of each switch, by the tenant's id and the audit's target, with one query.

    Args:
        tools: only the tenants' own switches of these tools; None for assistants' switches too, as "slug: tool".
    """
    ids = [tenant.pk for tenant in tenants]
    entries = AuditEntry.objects.filter(tenant__in=ids, action=ACTION)
    if tools is not None:
        entries = entries.filter(target__in=tools)
    newest = entries.order_by().values("tenant", "target").annotate(newest=Max("pk")).values("newest")
    name = f"actor__{get_user_model().USERNAME_FIELD}"
    rows = AuditEntry.objects.filter(pk__in=Subquery(newest), tenant__in=ids).order_by()
    return {
        (tenant_id, target): LastSwitch(str(who or ""), at)
        for tenant_id, target, who, at in rows.values_list("tenant_id", "target", name, "created_at")
    }
