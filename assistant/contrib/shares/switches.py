"""Who may make links."""

from __future__ import annotations

from assistant.contrib.shares.models import TenantSharing
from assistant.services.tenancy.members import Member


def may_share(*, member: Member) -> bool:
    """Return whether a member may make links now: the tenant allows it, and they are no end user."""
    return not member.is_end_user and TenantSharing.objects.filter(tenant_id=member.tenant_id, is_allowed=True).exists()
