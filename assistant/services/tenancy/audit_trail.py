"""The audit trail: who changed which switch, prompt, key or setting, and when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from assistant.models import AuditEntry, Tenant

Actor = AbstractBaseUser | AnonymousUser | None


def record(
    *, actor: Actor, action: str, target: str, tenant: Tenant | None = None, details: Mapping[str, Any] | None = None
) -> AuditEntry:
    """Store one entry. `actor` is None for a command; `details` is JSON and must hold no secrets."""
    return AuditEntry.objects.create(
        tenant=tenant,
        actor_id=actor.pk if actor is not None else None,
        action=action,
        target=target[:200],
        details=dict(details or {}),
    )
