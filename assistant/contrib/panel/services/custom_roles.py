"""Gives and takes the tenant's own roles. Nobody can give or take a permission that they lack themselves."""

from __future__ import annotations

from collections.abc import Collection

from django.db import transaction
from django.utils.text import capfirst

from assistant.models import CustomRole, Membership, Tenant
from assistant.models.people import PERMISSIONS
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.memberships import grant_admin_access
from assistant.services.tenancy.permissions import Person, lacks


class PermissionLacking(ValueError):
    """Somebody would give or take permissions that they lack; `names` are these."""

    def __init__(self, names: Collection[str]) -> None:
        super().__init__(f"permissions that you lack: {', '.join(names)}")
        self.names = tuple(names)


def lacking_for(*, actor: Person, tenant: Tenant, roles: Collection[CustomRole]) -> list[str]:
    """Return the permissions of roles that `actor` lacks in their tenant."""
    return lacks(actor=actor, tenant=tenant, permissions={name for role in roles for name in role.permissions})


def lacking_for_change(*, actor: Person, membership: Membership, roles: Collection[CustomRole]) -> list[str]:
    """Return the permissions that `actor` lacks, of the roles that a member would get or lose."""
    held = set(membership.custom_roles.all())
    return lacking_for(actor=actor, tenant=membership.tenant, roles=held ^ set(roles))


def may_make_role(*, actor: Person, tenant: Tenant) -> list[tuple[str, str]]:
    """Return the permissions for which `make_role` can create a role, each with the role's name.

    These are the permissions of `actor` that no role of the tenant gives alone. Roles whose name is taken are left out.
    """
    roles = list(CustomRole.objects.filter(tenant=tenant))
    alone = {next(iter(role.permissions)) for role in roles if len(role.permissions) == 1}
    taken = {role.name.casefold() for role in roles}
    left = [name for name in PERMISSIONS if name not in alone and label_of(name).casefold() not in taken]
    lacking = set(lacks(actor=actor, tenant=tenant, permissions=left))
    return [(name, label_of(name)) for name in left if name not in lacking]


def label_of(permission: str) -> str:
    """Return the name of a role with this permission alone."""
    return str(capfirst(CustomRole._meta.get_field(permission).verbose_name))  # type: ignore[union-attr]


def help_of(permission: str) -> str:
    """Return what a permission allows, as a sentence."""
    return str(CustomRole._meta.get_field(permission).help_text)  # type: ignore[union-attr]


@transaction.atomic
def make_role(*, tenant: Tenant, permission: str, actor: Person) -> CustomRole:
    """Create a role that gives one permission alone and is named after it.

    Raises:
        PermissionLacking: `actor` lacks the permission.
    """
    if names := lacks(actor=actor, tenant=tenant, permissions={permission}):
        raise PermissionLacking(names)
    role = CustomRole.objects.create(tenant=tenant, name=label_of(permission), **{permission: True})
    audit_trail.record(
        actor=actor,
        action="customrole.add",
        target=role.name,
        tenant=tenant,
        details={"values": {permission: [None, "True"]}},
    )
    return role


@transaction.atomic
def set_custom_roles(*, membership: Membership, roles: Collection[CustomRole], actor: Person) -> None:
    """Let a member hold exactly these roles, from their next request on.

    Raises:
        PermissionLacking: `actor` lacks a permission of a role that the member would get or lose.
        ValueError: a role belongs to another tenant.
    """
    if foreign := [role.name for role in roles if role.tenant_id != membership.tenant_id]:
        raise ValueError(f"roles of another tenant: {', '.join(foreign)}")
    # Two changes at once must each be recorded against what was there.
    Membership.objects.select_for_update().only("pk").get(pk=membership.pk, tenant=membership.tenant)
    if names := lacking_for_change(actor=actor, membership=membership, roles=roles):
        raise PermissionLacking(names)
    before = sorted(role.name for role in membership.custom_roles.all())
    after = sorted(role.name for role in roles)
    if before == after:
        return
    membership.custom_roles.set(roles)
    grant_admin_access(membership)
    audit_trail.record(
        actor=actor,
        action="membership.roles",
        target=str(membership.user),
        tenant=membership.tenant,
        details={"values": {"roles": [", ".join(before) or None, ", ".join(after) or None]}},
    )
