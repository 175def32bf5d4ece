"""Acts that have several entries in the audit: lists show the leading one for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from django.db.models import Q, QuerySet

from assistant.models import AuditEntry

# What an entry is a part of: of its act in its tenant, or, as the first of its tenant, only of the act in all tenants.
OF_TENANT = "tenant"
OF_ACT = "act"
# Entries of an act are made within this time, and so many of them are written at once.
WITHIN = timedelta(minutes=5)
BATCH = 500


def mark_act(entries: Sequence[AuditEntry], *, lead: AuditEntry, act: str) -> None:
    """Say that entries belong to one act.

    Args:
        entries: all of the act, with or without the leading one.
        lead: the one that lists show.
        act: an id of the act.
    """
    parts = [entry for entry in entries if entry.pk != lead.pk]
    if not parts:
        return
    seen = {lead.tenant_id}
    for entry in parts:
        entry.details = {**entry.details, "act": act, "part": OF_TENANT if entry.tenant_id in seen else OF_ACT}
        seen.add(entry.tenant_id)
    lead.details = {**lead.details, "act": act, "parts": len(parts)}
    AuditEntry.objects.bulk_update([lead, *parts], ["details"], batch_size=BATCH)


def without_parts(entries: QuerySet[AuditEntry], *, is_of_all_tenants: bool) -> QuerySet[AuditEntry]:
    """Leave the entries out that a list shows by the leading one.

    Args:
        is_of_all_tenants: whether the list has the entries of all tenants; else each tenant's first entry leads.
    """
    leading = ~Q(details__has_key="part")
    return entries.filter(leading if is_of_all_tenants else leading | Q(details__part=OF_ACT))


def parts_of(entry: AuditEntry, visible: QuerySet[AuditEntry]) -> QuerySet[AuditEntry]:
    """Return the other entries of an entry's act, of those that the reader may see, the oldest first."""
    details: Any = entry.details
    act = details.get("act") if isinstance(details, dict) else None
    if not act:
        return visible.none()
    near = visible.filter(created_at__gte=entry.created_at - WITHIN, created_at__lte=entry.created_at + WITHIN)
    return near.filter(details__act=act).exclude(pk=entry.pk).order_by("pk")
