"""Creates tenants, suspends them and activates them again."""

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


@transaction.atomic
def set_active(*, tenant: Tenant, is_active: bool, notice: str, actor: audit_trail.Actor) -> None:
    """Suspend a tenant, so that its members are refused everywhere, or activate it again.

    Args:
        notice: what its members read when they sign in while it is suspended; kept for the next time.
    """
    was_active = Tenant.objects.select_for_update().get(pk=tenant.pk).is_active
    tenant.is_active, tenant.suspension_notice = is_active, notice
    tenant.save(update_fields=["is_active", "suspension_notice"])
    audit_trail.record(
        actor=actor,
        action="tenant.activate" if is_active else "tenant.suspend",
        target=tenant.slug,
        tenant=tenant,
        details={"values": {"is_active": [str(was_active), str(is_active)]}},
    )
