"""Cancels running and queued runs, in whichever process they run, whose tenant, user or assistant has lost access."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from django.db.models import Exists, OuterRef, Q

from assistant.models import Membership, Run
from assistant.models.runs import IS_ACTIVE
from assistant.services.db.clock import DatabaseTime
from assistant.services.runs.leases import mark_for_cancel

# A process notices a cancellation within five seconds, with a checkpoint or its housekeeping. Then tools have to end.
CANCEL_WAIT_SECONDS = 15.0


def cancel_runs_without_access(*, owner: str, runs: Sequence[int]) -> list[int]:
    """Mark for cancellation those runs of a process whose tenant, user or assistant is inactive or membership ended.

    Args:
        owner: the process.
        runs: the primary keys of its runs.

    Returns:
        The primary keys of the marked runs.
    """
    memberships = Membership.objects.filter(tenant_id=OuterRef("tenant_id"), user_id=OuterRef("user_id"))
    ended = Run.objects.filter(
        IS_ACTIVE,
        Q(tenant__is_active=False) | Q(user__is_active=False) | Q(assistant__is_active=False) | ~Exists(memberships),
        pk__in=runs,
        lease_owner=owner,
    )
    pks = list(ended.values_list("pk", flat=True))
    if pks:
        mark_for_cancel(Run.objects.filter(pk__in=pks))
    return pks


def cancel_runs_and_wait(**whose: Any) -> None:
    """Cancel the active runs of this filter, and wait for up to `CANCEL_WAIT_SECONDS` until they have ended.

    It does not wait for runs of dead processes, whose lease has expired.
    """
    running = Run.objects.filter(IS_ACTIVE, **whose)
    mark_for_cancel(running)
    until = time.monotonic() + CANCEL_WAIT_SECONDS
    while running.filter(lease_until__gt=DatabaseTime()).exists() and time.monotonic() < until:
        time.sleep(0.2)
