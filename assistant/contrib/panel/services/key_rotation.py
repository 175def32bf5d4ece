"""Puts new API keys in the place of others."""

from __future__ import annotations

from datetime import timedelta

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from assistant.models import ApiKey
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.api_keys import works
from assistant.services.tenancy.members import create_api_key
from assistant.services.tenancy.permissions import Person, permitted_tenants

# How long a replaced key may go on working.
MAX_GRACE = timedelta(days=7)


class KeyNotRotated(ValueError):
    """The key stays as it is; the message says why, and can be shown."""


def may_rotate(*, actor: Person, key: ApiKey) -> bool:
    """Return whether somebody who may see a key may also have one that acts as its member, as when they make one.

    Operators may; a tenant's admins, but not for a superuser; others for themselves.
    """
    if actor.is_active and getattr(actor, "is_superuser", False):
        return True
    if actor.pk is not None and key.user_id == actor.pk:
        return True
    is_superusers = get_user_model()._default_manager.filter(pk=key.user_id, is_superuser=True).exists()
    return key.tenant_id in permitted_tenants(actor).administered and not is_superusers


@transaction.atomic
def rotate_api_key(*, key: ApiKey, grace: timedelta, actor: Person) -> tuple[ApiKey, str]:
    """Replace a key by a new one with the same rights; return the new row and the key, which is not stored.

    Args:
        grace: how long the old key still works, at most `MAX_GRACE`; zero revokes it at once.

    Raises:
        KeyNotRotated: the old key has ended, its member has left, or `actor` may not have a key of that member.
    """
    if not may_rotate(actor=actor, key=key):
        raise KeyNotRotated(_("You may make keys for yourself only."))
    # Two clicks at once must not make two keys.
    old = ApiKey.objects.select_for_update(of=("self",)).select_related("tenant", "user")
    row = old.filter(pk=key.pk, tenant=key.tenant_id).first()
    if row is None or not works(row):
        raise KeyNotRotated(_("This key works no longer: make a new one."))
    try:
        made, secret = create_api_key(
            tenant=row.tenant,
            user=row.user,
            name=row.name,
            scopes=row.scopes,
            expires_at=row.expires_at,
            requests_per_minute=row.requests_per_minute,
            requests_per_day=row.requests_per_day,
            runs_at_once=row.runs_at_once,
        )
    except ValueError as exc:
        raise KeyNotRotated(str(exc)) from exc
    now = timezone.now()
    if grace <= timedelta(0):
        row.revoked_at = now
    else:
        ends_at = now + min(grace, MAX_GRACE)
        row.expires_at = min(row.expires_at or ends_at, ends_at)
    row.save(update_fields=["revoked_at", "expires_at"])
    ends = "at once" if row.revoked_at is not None else f"{row.expires_at:%Y-%m-%d %H:%M} UTC"
    values = {"prefix": [row.prefix, made.prefix], "old_key_ends": [None, ends]}
    audit_trail.record(
        actor=actor, action="apikey.rotate", target=str(row), tenant=row.tenant, details={"values": values}
    )
    return made, secret
