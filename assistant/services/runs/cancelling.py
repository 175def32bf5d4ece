"""Runs of those who may not be here any more are cancelled, wherever they run."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from django.db.models import Exists, OuterRef, Q
from django.utils import timezone

from assistant.models import Membership, Run
from assistant.services.runs.leases import mark_for_cancel

# A process hears of it when it stores the answer so far, or keeps house: within five seconds. Then tools are ended.
STOP_SECONDS = 15.0


def cancel_runs_without_access(*, owner: str, runs: Sequence[int]) -> list[int]:
    """Ask to cancel those of a process's `runs` whose tenant, user, membership or assistant has ended; their keys."""
    places = Membership.objects.filter(tenant_id=OuterRef("tenant_id"), user_id=OuterRef("user_id"))
    ended = Run.objects.filter(
        Q(tenant__is_active=False) | Q(user__is_active=False) | Q(assistant__is_active=False) | ~Exists(places),
        pk__in=runs,
        lease_owner=owner,
        status=Run.Status.RUNNING,
    )
    pks = list(ended.values_list("pk", flat=True))
    if pks:
        mark_for_cancel(Run.objects.filter(pk__in=pks))
    return pks


def cancel_runs_and_wait(**whose: Any) -> None:
    """Cancel the running runs that fit, and wait until their processes have ended them; those of dead ones stay."""
    running = Run.objects.filter(**whose, status=Run.Status.RUNNING)
    mark_for_cancel(running)
    until = time.monotonic() + STOP_SECONDS
    while running.filter(lease_until__gt=timezone.now()).exists() and time.monotonic() < until:
        time.sleep(0.2)
