"""What runs out by itself: approvals that nobody has answered."""

from __future__ import annotations

from datetime import timedelta

from django.utils import timezone

from assistant.models import Approval
from assistant.services.toolcalls.direct_journal import expire_calls

# A question that nobody has answered for so long is not acted on any more.
APPROVAL_LIFETIME = timedelta(hours=24)


def expire_approvals() -> int:
    """Settle calls that have waited too long, of all tenants: this is the deployment's own housekeeping."""
    expire_calls()
    return Approval.objects.filter(started_at__lt=timezone.now() - APPROVAL_LIFETIME).update(
        status=Approval.Status.EXPIRED
    )
