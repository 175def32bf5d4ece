"""Expiry of approvals that nobody has answered."""

from __future__ import annotations

from datetime import timedelta

from assistant.models import Approval
from assistant.services.db.clock import DatabaseTime, clock_watch
from assistant.services.jobs.recurring import recurs

# An approval cannot be answered after this time.
APPROVAL_LIFETIME = timedelta(hours=24)


def oldest_answerable() -> DatabaseTime:
    """Return when the oldest approval that can still be answered was asked for, by the database's clock.

    A jump of that clock expires no approval: those asked for before it are younger than the clock says, and for the
    length of `APPROVAL_LIFETIME` none asked for after it can be due.
    """
    lifetime = APPROVAL_LIFETIME.total_seconds()
    return DatabaseTime(-lifetime - clock_watch.jumped_forward(lifetime))


@recurs("approvals.expire", seconds=60.0)  # answering an approval checks its age anyway
def expire_approvals() -> int:
    """Mark expired approvals of all tenants as expired. Return their number."""
    return Approval.objects.filter(started_at__lt=oldest_answerable()).update(status=Approval.Status.EXPIRED)
