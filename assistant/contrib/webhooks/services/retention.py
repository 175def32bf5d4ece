"""How long messages to webhooks are kept."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from assistant.contrib.webhooks.models import WebhookDelivery
from assistant.models import Tenant
from assistant.services.privacy.retention_rules import Due, delete_rows, keep_for


def register() -> None:
    """Apply a tenant's retention period to its deliveries."""
    keep_for("deliveries", _deliveries)


def _deliveries(tenant: Tenant, until: datetime) -> Iterator[Due]:
    old = WebhookDelivery.objects.filter(tenant=tenant, created_at__lt=until)
    yield Due("webhook deliveries", old, delete_rows)
