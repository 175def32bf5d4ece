"""Rows of webhooks for tests."""

from __future__ import annotations

from assistant.contrib.webhooks.models import Webhook
from assistant.contrib.webhooks.services.events import new_secret
from assistant.models import Tenant
from assistant.services.tenant_events import event_choices

EVENTS = [event for event, _ in event_choices()]


def hook(tenant: Tenant, url: str, **fields: object) -> Webhook:
    """A webhook that wants every event, unless `events` says which."""
    number = Webhook.objects.count() + 1
    row = {"name": f"hook {number}", "url": url, "events": EVENTS, "secret": new_secret(), **fields}
    return Webhook.objects.create(tenant=tenant, **row)
