"""Expiry of approvals that nobody has answered."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from assistant.models import Approval
from assistant.services.toolcalls.direct_journal import expire_calls

# An approval cannot be answered after this time.
APPROVAL_LIFETIME = timedelta(hours=24)


def expire_approvals() -> int:
    """Mark expired approvals and direct calls of all tenants as expired. Return the number of approvals."""
    expire_calls()
    return Approval.objects.filter(started_at__lt=timezone.now() - APPROVAL_LIFETIME).update(
        status=Approval.Status.EXPIRED
    )
