"""Tells webhooks of new entries of their tenant's audit, beside the requests that write them."""

from __future__ import annotations

import json
from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from assistant.contrib.webhooks.models import Webhook, WebhookDelivery
from assistant.contrib.webhooks.services.events import create_deliveries
from assistant.models import AuditEntry
from assistant.services.jobs.recurring import recurs

AUDIT_ENTRY = "audit.entry"
# Entries that are younger may stand before ones that are not committed yet.
SETTLED = timedelta(seconds=5)
# A webhook that was told of none yet begins with those of the last hour.
BEGINS_WITH = timedelta(hours=1)
# Entries that one webhook is told of at once; the others follow with the next look.
MAX_AT_ONCE = 100


@recurs("webhooks.audit", seconds=15.0, is_first_later=True)
def tell_of_entries() -> int:
    """Record an event for each entry that a webhook wants and was not told of; return their number."""
    now = timezone.now()
    active = Webhook.objects.filter(is_active=True, tenant__is_active=True).order_by("pk")
    rows = active.values_list("pk", "tenant_id", "events", "created_at")
    wanting = [(pk, tenant_id, created_at) for pk, tenant_id, events, created_at in rows if AUDIT_ENTRY in events]
    return sum(_tell(*one, now) for one in wanting)


@transaction.atomic
def _tell(webhook: int, tenant_id: int, created_at: datetime, now: datetime) -> int:
    own = WebhookDelivery.objects.filter(webhook=webhook, tenant=tenant_id, event=AUDIT_ENTRY)
    last = own.order_by("-created_at", "-pk").values_list("body", flat=True).first()
    entries = AuditEntry.objects.filter(tenant=tenant_id, created_at__lt=now - SETTLED)
    if last is None:
        entries = entries.filter(created_at__gte=max(created_at, now - BEGINS_WITH))
    else:
        entries = entries.filter(pk__gt=json.loads(last)["data"]["entry"])
    told = list(entries.order_by("pk")[:MAX_AT_ONCE])
    for entry in told:
        data = {
            "entry": entry.pk,
            "action": entry.action,
            "target": entry.target,
            "user": entry.actor_id,
            "at": entry.created_at.isoformat(),
        }
        create_deliveries(tenant_id, [webhook], AUDIT_ENTRY, data, f"audit {entry.pk}")
    return len(told)
