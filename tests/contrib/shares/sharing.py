"""Sets whether a tenant's members may share conversations."""

from __future__ import annotations

from assistant.contrib.shares.models import TenantSharing
from assistant.models import Tenant


def set_sharing(tenant: Tenant, *, is_allowed: bool = True) -> None:
    TenantSharing.objects.update_or_create(tenant=tenant, defaults={"is_allowed": is_allowed})
