"""Cancels runs in any process: those whose tenant, user or assistant has lost access, and those of a filter."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from assistant.models import Membership, Run
from assistant.services.runs.leases import mark_for_cancel

# A process notices a cancellation within five seconds, at a checkpoint or in its housekeeping; then its tools must end.
CANCEL_WAIT_SECONDS = 15.0


def cancel_runs_without_access(*, owner: str, runs: Sequence[int]) -> list[int]:
    """Mark a process's runs for cancellation if tenant, user or assistant is inactive or the membership has ended.

    Args:
        owner: the process.
        runs: the primary keys of its runs.

    Returns:
        The primary keys of the marked runs.
    """
    memberships = Membership.objects.filter(tenant_id=OuterRef("tenant_id"), user_id=OuterRef("user_id"))
    ended = Run.objects.filter(
        Q(tenant__is_active=False) | Q(user__is_active=False) | Q(assistant__is_active=False) | ~Exists(memberships),
        pk__in=runs,
        lease_owner=owner,
        status=Run.Status.RUNNING,
    )
    pks = list(ended.values_list("pk", flat=True))
    if pks:
        mark_for_cancel(Run.objects.filter(pk__in=pks))
    return pks


def cancel_runs_and_wait(**filters: Any) -> None:
    """Cancel the running runs that match `filters`, and wait until they have ended, at most `CANCEL_WAIT_SECONDS`.

    It does not wait for runs of dead processes, whose lease has expired. For synchronous code: it sleeps.
    """
    running = Run.objects.filter(**filters, status=Run.Status.RUNNING)
    mark_for_cancel(running)
    until = time.monotonic() + CANCEL_WAIT_SECONDS
    while running.filter(lease_until__gt=timezone.now()).exists() and time.monotonic() < until:
        time.sleep(0.2)
