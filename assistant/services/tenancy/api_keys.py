"""Revokes API keys."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction
from django.utils import timezone

from assistant.models import ApiKey
from assistant.services.tenancy import audit_trail


@transaction.atomic
def revoke_api_keys(*, keys: Iterable[ApiKey], actor: audit_trail.Actor) -> int:
    """Revoke keys permanently; return how many were not revoked before."""
    revoked = 0
    for key in keys:
        changed = ApiKey.objects.filter(pk=key.pk, tenant_id=key.tenant_id, revoked_at=None)
        if changed.update(revoked_at=timezone.now()):
            revoked += 1
            audit_trail.record(actor=actor, action="apikey.revoke", target=str(key), tenant=key.tenant)
    return revoked


def works(key: ApiKey) -> bool:
    """Return whether a key is neither revoked nor expired."""
    return key.revoked_at is None and (key.expires_at is None or key.expires_at > timezone.now())
