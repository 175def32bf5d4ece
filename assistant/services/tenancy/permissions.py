"""What people may do in the control panel: admins and owners of a tenant all, others what their custom roles say."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from django.contrib.auth.models import AbstractBaseUser, AnonymousUser
from django.db.models import Q

from assistant.models import Membership, Tenant
from assistant.models.people import PERMISSIONS
from assistant.services.tenancy.row_scope import all_tenants

ADMIN_ROLES = (Membership.Role.ADMIN, Membership.Role.OWNER)
Person = AbstractBaseUser | AnonymousUser


@dataclass(frozen=True, slots=True)
class Permitted:
    """The ids of active tenants that a person administers, and those where custom roles allow them something."""

    administered: frozenset[int] = frozenset()
    by_permission: dict[str, frozenset[int]] = field(default_factory=dict)

    def tenants(self, permission: str = "") -> frozenset[int]:
        """Return the tenants in which the person has a permission; without one, those that they administer.

        Raises:
            ValueError: there is no such permission, so that nobody's custom role could ever allow it.
        """
        if permission and permission not in PERMISSIONS:
            raise ValueError(f"There is no permission {permission!r}, only {', '.join(PERMISSIONS)}.")
        return self.administered | self.by_permission.get(permission, frozenset())

    @property
    def anywhere(self) -> frozenset[int]:
        """The tenants in which the person may do anything in the control panel."""
        return self.administered.union(*self.by_permission.values())


@all_tenants()
def permitted_tenants(user: Person) -> Permitted:
    """Return what a user may do, and where; one query. A superuser's rights do not count here."""
    if not user.is_active or user.pk is None:
        return Permitted()
    mine = Membership.objects.filter(user_id=user.pk, tenant__is_active=True).exclude(role=Membership.Role.END_USER)
    rows = list(
        mine.filter(Q(role__in=ADMIN_ROLES) | Q(custom_roles__isnull=False)).values_list(
            "tenant_id", "role", *(f"custom_roles__{name}" for name in PERMISSIONS)
        )
    )
    return Permitted(
        frozenset(pk for pk, role, *_ in rows if role in ADMIN_ROLES),
        {name: frozenset(pk for pk, _, *allowed in rows if allowed[place]) for place, name in enumerate(PERMISSIONS)},
    )


def permissions_in(*, actor: Person, tenant: Tenant) -> frozenset[str]:
    """Return the permissions that somebody has in a tenant: all of them for superusers, its admins and its owners."""
    if getattr(actor, "is_superuser", False) and actor.is_active:
        return frozenset(PERMISSIONS)
    permitted = permitted_tenants(actor)
    return frozenset(name for name in PERMISSIONS if tenant.pk in permitted.tenants(name))


def lacks(*, actor: Person, tenant: Tenant, permissions: Collection[str]) -> list[str]:
    """Return those of the permissions that `actor` lacks in a tenant, and so cannot give or take."""
    return sorted(set(permissions) - permissions_in(actor=actor, tenant=tenant))
