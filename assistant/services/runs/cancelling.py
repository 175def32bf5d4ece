"""Cancels runs for their members, and those whose tenant, user or assistant has lost access.

A run that has ended with calls whose results come later is cancelled too: the results are no longer waited for.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from django.db.models import Exists, OuterRef, Q

from assistant.models import Membership, Run
from assistant.models.runs import IS_ACTIVE
from assistant.services.db.clock import DatabaseTime
from assistant.services.runs.leases import mark_for_cancel, request_cancel
from assistant.services.toolcalls.later_results import later_results
from assistant.toolkit.context import UserId

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


def cancel_for_member(
    *, tenant_id: int, user_id: UserId, run_id: str, assistant_id: int | None = None
) -> tuple[list[int], list[str]]:
    """Cancel a member's runs with an id.

    Args:
        assistant_id: only runs with this assistant; None for any.

    Returns:
        The primary keys of running and queued runs, which their processes have to stop, and the threads of those that
        have waited for results and are cancelled now.
    """
    whose = {"tenant_id": tenant_id, "user_id": user_id, "run_id": run_id}
    running = request_cancel(**whose, assistant_id=assistant_id)
    return running, [] if running else later_results().stop(**whose, assistant_id=assistant_id)


def cancel_runs_and_wait(**whose: Any) -> None:
    """Cancel the active runs of this filter, and wait for up to `CANCEL_WAIT_SECONDS` until they have ended.

    It does not wait for runs of dead processes, whose lease has expired.
    """
    running = Run.objects.filter(IS_ACTIVE, **whose)
    mark_for_cancel(running)
    until = time.monotonic() + CANCEL_WAIT_SECONDS
    while running.filter(lease_until__gt=DatabaseTime()).exists() and time.monotonic() < until:
        time.sleep(0.2)
