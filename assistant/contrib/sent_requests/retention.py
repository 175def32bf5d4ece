"""What is deleted of sent requests, whatever the tenant's periods are."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from assistant.contrib.sent_requests.models import KeptRequest
from assistant.models import Tenant
from assistant.services.privacy.retention_rules import Due, delete_rows

LIFETIME = timedelta(days=7)


def too_old(tenant: Tenant, now: datetime) -> Iterator[Due]:
    """Yield a tenant's kept requests that are older than `LIFETIME`."""
    yield Due("sent requests", KeptRequest.objects.filter(tenant=tenant, created_at__lt=now - LIFETIME), delete_rows)
