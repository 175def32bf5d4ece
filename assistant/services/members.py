"""Who is calling: a member of an active tenant, by session or by API key, or nobody."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Q, Subquery
from django.utils import timezone

from assistant.models import ApiKey, Membership, Tenant
from tools import TenantInfo, UserInfo

SCOPES = ("chat", "read", "tools")
KEY_PREFIX = "ta_"


@dataclass(frozen=True, slots=True)
class Member:
    """An authenticated member of an active tenant; `key_id` is set if an API key speaks for them."""

    tenant: TenantInfo
    user: UserInfo
    role: str
    scopes: frozenset[str] = frozenset(SCOPES)
    key_id: int | None = None

    @property
    def tenant_id(self) -> int:
        return int(self.tenant.id or 0)

    @property
    def user_id(self) -> int:
        return int(self.user.id or 0)

    @property
    def is_admin(self) -> bool:
        return self.role in {Membership.Role.ADMIN, Membership.Role.OWNER}


def tenant_info(tenant: Tenant) -> TenantInfo:
    return TenantInfo(id=tenant.pk, slug=tenant.slug, name=tenant.name, timezone=tenant.timezone)


def _member(membership: Membership, key: ApiKey | None = None) -> Member:
    return Member(
        tenant=tenant_info(membership.tenant),
        user=UserInfo(id=membership.user_id, username=membership.user.get_username()),
        role=membership.role,
        scopes=frozenset(key.scopes) if key else frozenset(SCOPES),
        key_id=key.pk if key else None,
    )


def find_member(*, user_id: int, tenant_slug: str) -> Member | None:
    """The member `user_id` is of that tenant, if both are active; None hides whether the tenant exists."""
    membership = (
        Membership.objects.filter(
            user_id=user_id, user__is_active=True, tenant__slug=tenant_slug, tenant__is_active=True
        )
        .select_related("tenant", "user")
        .first()
    )
    return _member(membership) if membership else None


def membership_of(*, tenant_id: int, user_id: int) -> Subquery:
    """Within another query: whether the user is a superuser, or null if they are no active member of the tenant."""
    rows = Membership.objects.filter(tenant_id=tenant_id, user_id=user_id, user__is_active=True, tenant__is_active=True)
    return Subquery(rows.values("user__is_superuser")[:1])


def memberships_of(*, user_id: int) -> list[Membership]:
    """A user's places in active tenants, by the tenant's name."""
    return list(
        Membership.objects.filter(user_id=user_id, tenant__is_active=True)
        .select_related("tenant")
        .order_by("tenant__name")
    )


def hash_key(key: str) -> str:
    """What is kept of an API key. Plain SHA-256 suffices: the key itself is 256 random bits."""
    return hashlib.sha256(key.encode()).hexdigest()


def create_api_key(
    *,
    tenant: Tenant,
    user: AbstractBaseUser,
    name: str,
    scopes: Iterable[str] = SCOPES,
    expires_at: datetime | None = None,
) -> tuple[ApiKey, str]:
    """Make a key for a member and return the row and the key, which is not kept and cannot be shown again.

    Raises:
        ValueError: the user is not a member, or a scope does not exist.
    """
    scopes = list(dict.fromkeys(scopes))
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown or not scopes:
        raise ValueError(f"scopes are any of {', '.join(SCOPES)}; not {', '.join(unknown) or 'none'}")
    if not Membership.objects.filter(tenant=tenant, user_id=user.pk).exists():
        raise ValueError(f"{user.get_username()} is not a member of {tenant.slug}")
    key = KEY_PREFIX + secrets.token_urlsafe(32)
    row = ApiKey.objects.create(
        tenant=tenant,
        user_id=user.pk,
        name=name,
        scopes=scopes,
        prefix=key[:10],
        hashed=hash_key(key),
        expires_at=expires_at,
    )
    return row, key


def member_by_key(*, key: str, tenant_slug: str | None = None) -> Member | None:
    """The member an API key speaks for, or None if it is unknown, revoked, expired, or of another tenant."""
    now = timezone.now()
    row = (
        ApiKey.objects.filter(hashed=hash_key(key), revoked_at=None, tenant__is_active=True, user__is_active=True)
        .filter(Q(expires_at=None) | Q(expires_at__gt=now))
        .first()
    )
    if row is None:
        return None
    membership = (
        Membership.objects.filter(tenant_id=row.tenant_id, user_id=row.user_id).select_related("tenant", "user").first()
    )
    if membership is None or (tenant_slug is not None and membership.tenant.slug != tenant_slug):
        return None
    if row.last_used_at is None or now - row.last_used_at > timedelta(minutes=1):
        ApiKey.objects.filter(pk=row.pk, tenant_id=row.tenant_id).update(last_used_at=now)
    return _member(membership, row)


def is_still_welcome(*, member: Member) -> bool:
    """Whether an open connection may stay: the tenant, user, membership and key are all still good."""
    found = Membership.objects.filter(
        tenant_id=member.tenant_id, user_id=member.user_id, tenant__is_active=True, user__is_active=True
    ).exists()
    if not found or member.key_id is None:
        return found
    return (
        ApiKey.objects.filter(pk=member.key_id, tenant_id=member.tenant_id, revoked_at=None)
        .filter(Q(expires_at=None) | Q(expires_at__gt=timezone.now()))
        .exists()
    )
