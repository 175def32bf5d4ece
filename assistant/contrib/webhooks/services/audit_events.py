"""Tells webhooks of new entries of their tenant's audit, beside the requests that write them.

A delivery does not say what an entry is about: names, questions and e-mail addresses would stay in it after a person is
erased. Receivers read the entry by its number.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from assistant.contrib.webhooks.models import Webhook, WebhookDelivery
from assistant.contrib.webhooks.services.events import create_deliveries, message_id_of
from assistant.models import AuditEntry
from assistant.services.jobs.recurring import recurs

AUDIT_ENTRY = "audit.entry"
# How far back each look goes, for a new webhook too. An entry that is committed late, or whose host's clock is behind,
# would be missed by a look that begins after the last one told.
WINDOW = timedelta(hours=1)
# Entries that one webhook is told of at once; the others follow with the next look.
MAX_AT_ONCE = 100


@recurs("webhooks.audit", seconds=15.0, is_first_later=True)
def tell_of_entries() -> int:
    """Record an event for each entry that a webhook wants and was not told of; return their number."""
    since = timezone.now() - WINDOW
    active = Webhook.objects.filter(is_active=True, tenant__is_active=True).order_by("pk")
    rows = active.values_list("pk", "tenant_id", "events", "created_at")
    wanting = [(pk, tenant_id, created_at) for pk, tenant_id, events, created_at in rows if AUDIT_ENTRY in events]
    return sum(_tell(pk, tenant_id, max(created_at, since)) for pk, tenant_id, created_at in wanting)


@transaction.atomic
def _tell(webhook: int, tenant_id: int, since: datetime) -> int:
    entries = AuditEntry.objects.filter(tenant=tenant_id, created_at__gte=since).order_by("pk")
    keys = {message_id_of(tenant_id, AUDIT_ENTRY, _key(pk)): pk for pk in entries.values_list("pk", flat=True)}
    # A delivery may be older than its entry by as much as two clocks differ.
    own = WebhookDelivery.objects.filter(webhook=webhook, tenant=tenant_id, event=AUDIT_ENTRY)
    told = set(own.filter(created_at__gte=since - WINDOW).values_list("message_id", flat=True))
    new = [pk for key, pk in keys.items() if key not in told][:MAX_AT_ONCE]
    for entry in entries.filter(pk__in=new):
        data = {
            "entry": entry.pk,
            "action": entry.action,
            "user": entry.actor_id,
            "at": entry.created_at.isoformat(),
        }
        create_deliveries(tenant_id, [webhook], AUDIT_ENTRY, data, _key(entry.pk))
    return len(new)


def _key(entry: int) -> str:
    return f"audit {entry}"
