"""The audit trail: who changed which switch, prompt, key or setting, and when."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser

from assistant.models import AuditEntry, Tenant

if TYPE_CHECKING:
    from assistant.services.tenancy.members import Member

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


def actor_of(member: Member) -> Actor:
    """Return the user that a member is, as the actor of what they do."""
    user: AbstractBaseUser = get_user_model()._base_manager.get(pk=member.user_id)
    return user
