"""Adds members to tenants and changes their roles, and says which roles a tenant's admin may grant."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db import transaction

from assistant.models import Membership, Tenant
from assistant.services.tenancy.permissions import ADMIN_ROLES, permissions_in, permitted_tenants
from assistant.services.tenancy.row_scope import all_tenants


def administered_tenants(user: AbstractBaseUser | AnonymousUser) -> frozenset[int]:
    """Return the ids of the active tenants of which a user is admin or owner."""
    return permitted_tenants(user).administered


def may_grant(*, actor: AbstractBaseUser | AnonymousUser, tenant: Tenant, role: str) -> bool:
    """Return whether `actor` may grant or revoke a role.

    Only owners and superusers may make someone an owner, only these and admins an admin. Members can be added by
    everybody who has the permission "people".
    """
    if getattr(actor, "is_superuser", False):
        return True
    if role == Membership.Role.MEMBER:
        return "people" in permissions_in(actor=actor, tenant=tenant)
    needed = (Membership.Role.OWNER,) if role == Membership.Role.OWNER else ADMIN_ROLES
    return Membership.objects.filter(tenant=tenant, user_id=actor.pk or 0, role__in=needed).exists()


def check_username(username: str) -> None:
    """Raise `ValidationError` unless a new user may have this name."""
    model = get_user_model()
    for validate in model._meta.get_field(model.USERNAME_FIELD).validators:  # type: ignore[union-attr]
        validate(username)


def find_user(username: str) -> Any | None:
    """Return the user with exactly this name, or None."""
    model = get_user_model()
    return model._default_manager.filter(**{model.USERNAME_FIELD: username}).first()


@transaction.atomic
def add_member(*, tenant: Tenant, username: str, role: str, password: str = "") -> Membership:
    """Add a user to a tenant; a user that does not exist is created with `password`.

    Raises:
        ValueError: the password is missing for a new user or given for one that exists, or they are a member already.
    """
    user = find_user(username)
    if user is None and not password:
        raise ValueError(f"there is no user {username!r}; a new one needs a password")
    if user is not None and password:
        raise ValueError(f"the user {username!r} exists and keeps their own password")
    if user is None:
        user = get_user_model()._default_manager.create_user(username, password=password)
    if Membership.objects.filter(tenant=tenant, user=user).exists():
        raise ValueError(f"{username} is a member of {tenant.slug} already")
    membership = Membership.objects.create(tenant=tenant, user=user, role=role)
    grant_admin_access(membership)
    return membership


class LastAdministrator(ValueError):
    """The change would leave a tenant without its last owner, or without anybody who administers it.

    The message names the tenants.
    """

    def __init__(self, tenants: Iterable[Tenant]) -> None:
        names = ", ".join(sorted(tenant.slug for tenant in tenants))
        super().__init__(f"make somebody else an owner or admin first, of {names}")


def role_left_empty(*, tenant: Tenant, leaving: Collection[int], role: str = "") -> str:
    """Return the role of administrators that nobody in the tenant would hold any more, or "".

    Args:
        leaving: primary keys of memberships that end or change.
        role: the role that they change to; empty if they end.
    """
    administrators = Membership.objects.filter(tenant=tenant, role__in=ADMIN_ROLES, user__is_active=True)
    held = dict(administrators.values_list("pk", "role"))
    left = {other for pk, other in held.items() if pk not in leaving}
    if held.keys() & set(leaving):
        left.add(role)
    if Membership.Role.OWNER in held.values() and Membership.Role.OWNER not in left:
        return Membership.Role.OWNER
    return Membership.Role.ADMIN if held and left.isdisjoint(ADMIN_ROLES) else ""


def check_leaving(memberships: Iterable[Membership]) -> None:
    """Check, in the transaction that ends memberships, that each tenant keeps an owner and somebody who administers it.

    Raises:
        LastAdministrator
    """
    by_tenant: dict[Tenant, set[int]] = {}
    for membership in memberships:
        by_tenant.setdefault(membership.tenant, set()).add(membership.pk)
    _lock([tenant.pk for tenant in by_tenant])
    left = [tenant for tenant, leaving in by_tenant.items() if role_left_empty(tenant=tenant, leaving=leaving)]
    if left:
        raise LastAdministrator(left)


@all_tenants()
def check_users_leaving(*, users: Iterable[Any]) -> None:
    """Check, before users are deleted or deactivated, that no tenant loses its last owner or admin.

    The project's own memberships say who administers a tenant that follows one of the project's.

    Raises:
        LastAdministrator
    """
    mine = Membership.objects.filter(user__in=list(users), role__in=ADMIN_ROLES, tenant__external_id=None)
    with transaction.atomic():
        check_leaving(mine.select_related("tenant"))


def _lock(tenant_ids: Iterable[int]) -> None:
    # In one order, so that two changes never wait for each other.
    list(Tenant.objects.select_for_update().filter(pk__in=list(tenant_ids)).order_by("pk").values_list("pk"))


@transaction.atomic
def set_role(*, membership: Membership, role: str) -> Membership:
    """Change a member's role, from their next request on.

    Raises:
        LastAdministrator: the tenant would lose its last owner, or its last admin.
    """
    # Two administrators who demote each other at once must not both succeed.
    _lock([membership.tenant_id])
    if role_left_empty(tenant=membership.tenant, leaving={membership.pk}, role=role):
        raise LastAdministrator([membership.tenant])
    membership.role = role
    membership.save(update_fields=["role"])
    grant_admin_access(membership)
    return membership


def grant_admin_access(membership: Membership) -> None:
    """Let admins, owners and holders of custom roles sign in to the admin, where these decide what they see."""
    user: Any = membership.user
    if not user.is_staff and (membership.role in ADMIN_ROLES or membership.custom_roles.exists()):
        user.is_staff = True
        user.save(update_fields=["is_staff"])
