"""How long stored sessions are kept."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from django.db.models import Exists, OuterRef

from assistant.contrib.sessions.models import StoredEvent
from assistant.models import Tenant
from assistant.services.privacy.retention_rules import Due, delete_rows, keep_for


def register() -> None:
    """Apply a tenant's retention period of conversations to sessions, since their last event."""
    keep_for("conversations", _sessions)


def _sessions(tenant: Tenant, until: datetime) -> Iterator[Due]:
    events = StoredEvent.objects.filter(tenant=tenant)
    newer = events.filter(user=OuterRef("user"), conversation=OuterRef("conversation"), at__gte=until)
    yield Due("session events", events.filter(at__lt=until).exclude(Exists(newer)), delete_rows)
