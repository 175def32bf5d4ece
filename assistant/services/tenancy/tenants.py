"""Creates tenants."""

from __future__ import annotations

from django.db import transaction

from assistant.models import Membership, Tenant
from assistant.services.tenancy import audit_trail
from assistant.services.tenancy.memberships import add_member, find_user


@transaction.atomic
def create_tenant(*, slug: str, name: str, owner: str, timezone: str = "UTC") -> Tenant:
    """Create a tenant whose owner is the user named `owner`.

    Raises:
        ValueError: there is no such user.
        ValidationError: the slug is taken, or a value is not valid.
    """
    if find_user(owner) is None:
        raise ValueError(f"there is no user {owner!r}; create one with createsuperuser, or in the admin")
    tenant = Tenant(slug=slug, name=name, timezone=timezone)
    tenant.full_clean()
    tenant.save()
    add_member(tenant=tenant, username=owner, role=Membership.Role.OWNER)
    audit_trail.record(actor=None, action="tenant.add", target=slug, tenant=tenant)
    return tenant
