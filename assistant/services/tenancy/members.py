"""Finds the member of an active tenant that a session or an API key belongs to."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Protocol

from django.contrib.auth.models import AbstractBaseUser
from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from assistant.models import ApiKey, Membership, Tenant
from assistant.services.db.fast_paths.prepared_queries import PreparedQuery, UserKey
from assistant.services.tenancy.end_users import EndUserInfo, directory
from assistant.services.tenancy.quotas import NO_QUOTAS, Quotas, quotas_of
from assistant.services.tenancy.row_scope import all_tenants
from assistant.services.tenancy.scopes import DEFAULT_SCOPES, READ, SCOPES
from assistant.toolkit import TenantInfo, UserInfo
from assistant.toolkit.context import UserId
from assistant.toolkit.logs import set_request_tenant

KEY_PREFIX = "ta_"


_acting_key: ContextVar[int | None] = ContextVar("acting_key", default=None)


@dataclass(frozen=True, slots=True)
class KeyLimits:
    """How many requests a key may send per minute and day; None is no limit."""

    per_minute: int | None
    per_day: int | None


@dataclass(frozen=True, slots=True)
class Member:
    """An authenticated member of an active tenant.

    Attributes:
        key_id: the API key that was used; of an end user, the key that minted the token. None for a session.
        limits: the request limits of the key, if it has any.
        assistant_id: the only assistant that the token of an end user or member is for; None for other credentials.
        extra: added to the context of tools; holds the end user's id, name and context.
        quotas: the quotas of the tenant and of each of its members.
    """

    tenant: TenantInfo
    user: UserInfo
    role: str
    scopes: frozenset[str] = frozenset(DEFAULT_SCOPES)
    key_id: int | None = None
    limits: KeyLimits | None = None
    assistant_id: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)
    quotas: Quotas = NO_QUOTAS

    @property
    def tenant_id(self) -> int:
        return int(self.tenant.id or 0)

    @property
    def user_id(self) -> UserId:
        return self.user.id or 0

    @property
    def is_end_user(self) -> bool:
        return self.role == Membership.Role.END_USER

    @property
    def reads_only_own_runs(self) -> bool:
        """Whether the member's key may read nothing but the runs that it began itself."""
        return self.key_id is not None and READ not in self.scopes

    @property
    def is_admin(self) -> bool:
        return self.role in {Membership.Role.ADMIN, Membership.Role.OWNER}


class ForMember(Protocol):
    """A function that says whether a member is shown something."""

    def __call__(self, *, member: Member) -> bool: ...


def person_name(user: Any) -> str:
    """Return the full name of a user, or the user name: a project's own user model need not have full names."""
    return str(getattr(user, "get_full_name", str)()).strip() or str(user.get_username())


def tenant_info(tenant: Tenant) -> TenantInfo:
    return TenantInfo(
        id=tenant.pk, slug=tenant.slug, name=tenant.name, timezone=tenant.timezone, external_id=tenant.external_id or ""
    )


def member_of(membership: Membership, key: ApiKey | None = None, *, end_user: EndUserInfo | None = None) -> Member:
    """Return the member of a membership, whose tenant, limits and user were read with it.

    Args:
        key: the API key that was used.
        end_user: who an end user is, if that is known already.
    """
    is_end_user = membership.role == Membership.Role.END_USER
    if is_end_user and end_user is None:
        end_user = directory().find(user_id=membership.user_id)
    set_request_tenant(membership.tenant.slug)
    return Member(
        tenant=tenant_info(membership.tenant),
        user=UserInfo(id=membership.user_id, username=membership.user.get_username()),
        role=membership.role,
        scopes=frozenset(key.scopes) if key else frozenset(DEFAULT_SCOPES),
        key_id=key.pk if key else None,
        limits=_key_limits(key) if key else None,
        extra={"end_user": end_user.for_tools()} if end_user else {},
        quotas=quotas_of(membership.tenant, is_end_user=is_end_user),
    )


def _key_limits(key: ApiKey) -> KeyLimits | None:
    if key.requests_per_minute is None and key.requests_per_day is None:
        return None
    return KeyLimits(key.requests_per_minute, key.requests_per_day)


@all_tenants()
def find_member(*, user_id: UserId, tenant_slug: str, with_end_users: bool = False) -> Member | None:
    """Return a user as a member of a tenant, or None if they are not a member or either is not active.

    Args:
        with_end_users: whether to find end users too, who cannot sign in.
    """
    membership = _MEMBERSHIP.first(user_id=user_id, tenant_slug=tenant_slug)
    if membership is None or (membership.role == Membership.Role.END_USER and not with_end_users):
        return None
    return member_of(membership)


def _membership(*, user_id: UserId, tenant_slug: str) -> QuerySet[Membership]:
    return Membership.objects.filter(
        user_id=user_id, user__is_active=True, tenant__slug=tenant_slug, tenant__is_active=True
    ).select_related("tenant", "tenant__limits", "user")


_MEMBERSHIP = PreparedQuery(_membership, user_id=UserKey, tenant_slug=str)


def active_keys() -> QuerySet[ApiKey]:
    """Return the keys that are not revoked or expired and whose owner is an active member."""
    memberships = Membership.objects.filter(tenant_id=OuterRef("tenant_id"), user_id=OuterRef("user_id"))
    return ApiKey.objects.filter(
        Q(expires_at=None) | Q(expires_at__gt=timezone.now()),
        Exists(memberships),
        revoked_at=None,
        user__is_active=True,
    )


def superuser_subquery(*, tenant_id: int, user_id: UserId) -> Subquery:
    """Return a subquery: whether the user is a superuser, or null if they are no active member of the tenant."""
    rows = Membership.objects.filter(tenant_id=tenant_id, user_id=user_id, user__is_active=True, tenant__is_active=True)
    return Subquery(rows.values("user__is_superuser")[:1])


@all_tenants()
def memberships_of(*, user_id: UserId) -> list[Membership]:
    """Return a user's memberships of active tenants, ordered by the tenant's name."""
    return list(
        Membership.objects.filter(user_id=user_id, tenant__is_active=True)
        .exclude(role=Membership.Role.END_USER)
        .select_related("tenant")
        .order_by("tenant__name")
    )


@all_tenants()
def suspended_tenants_of(*, user_id: UserId) -> list[Tenant]:
    """Return the tenants that are not active of which a user is a member, with the notice for their members."""
    rows = Membership.objects.filter(user_id=user_id, tenant__is_active=False).exclude(role=Membership.Role.END_USER)
    return [membership.tenant for membership in rows.select_related("tenant").order_by("tenant__name")]


def hash_key(key: str) -> str:
    """Return the hash that is stored of an API key. Plain SHA-256 is enough for 256 random bits."""
    return hashlib.sha256(key.encode()).hexdigest()


def create_api_key(
    *,
    tenant: Tenant,
    user: AbstractBaseUser,
    name: str,
    scopes: Iterable[str] = DEFAULT_SCOPES,
    expires_at: datetime | None = None,
    requests_per_minute: int | None = None,
    requests_per_day: int | None = None,
    runs_at_once: int | None = None,
) -> tuple[ApiKey, str]:
    """Create an API key for a member; return the row and the key, which is not stored.

    Raises:
        ValueError: the user is not a member, or a scope does not exist.
    """
    scopes = list(dict.fromkeys(scopes))
    unknown = [scope for scope in scopes if scope not in SCOPES]
    if unknown or not scopes:
        raise ValueError(f"scopes are any of {', '.join(SCOPES)}; not {', '.join(unknown) or 'none'}")
    people = Membership.objects.exclude(role=Membership.Role.END_USER)
    if not people.filter(tenant=tenant, user_id=user.pk).exists():
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
        requests_per_minute=requests_per_minute,
        requests_per_day=requests_per_day,
        runs_at_once=runs_at_once,
    )
    return row, key


@all_tenants()
def member_by_key(*, key: str) -> Member | None:
    """Return the member an API key belongs to, or None if the key is unknown, revoked or expired."""
    now = timezone.now()
    rows = ApiKey.objects.filter(hashed=hash_key(key), revoked_at=None).select_related("tenant")
    row = rows.first()
    if row is None or (row.expires_at is not None and row.expires_at <= now):
        return None
    member = _acting_as(row)
    if member is None:
        return None
    if row.last_used_at is None or now - row.last_used_at > timedelta(minutes=1):
        ApiKey.objects.filter(pk=row.pk, tenant_id=row.tenant_id).update(last_used_at=now)
    return member


def _acting_as(row: ApiKey) -> Member | None:
    """Return the member that an API key acts as, with the key's own limits; None if they are no active member."""
    membership = _MEMBERSHIP.first(user_id=row.user_id, tenant_slug=row.tenant.slug)
    if membership is None or membership.role == Membership.Role.END_USER:
        return None
    return member_of(membership, row)


def set_acting_key(key_id: int | None) -> None:
    """Set the API key of the caller for the tools that the current task calls; None for none."""
    _acting_key.set(key_id)


def acting_key() -> int | None:
    """Return the primary key of the API key with which the caller of the current tool acts; None for none."""
    return _acting_key.get()


def member_of_key(*, tenant_id: int, key_id: int) -> Member | None:
    """Return the member that a stored API key of a tenant acts as; None if the key cannot be used."""
    row = active_keys().filter(pk=key_id, tenant_id=tenant_id).select_related("tenant").first()
    return None if row is None else _acting_as(row)
