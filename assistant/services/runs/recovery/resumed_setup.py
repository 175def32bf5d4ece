"""Reads a dead run's rows again: whether it may go on, and what its plan is built from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.utils import timezone

from assistant.models import Run
from assistant.services.roles import has_workers
from assistant.services.runs.leases import DeadRun
from assistant.services.runs.recovery.reopened_run import ReopenedRun, read_rows, with_files

# A run whose process died longer ago is no longer of use to anybody; it ends as interrupted.
MAX_AGE = timedelta(hours=1)
# How often a run may be handed over by processes that stop.
MAX_HAND_OVERS = 50


class NotResumable(Exception):
    """The run ends as interrupted; the text is the reason, for the log."""


@dataclass(frozen=True, slots=True)
class ResumedSetup:
    """What a run goes on with, and when processes went on with it before."""

    reopened: ReopenedRun
    resumes: tuple[dict[str, object], ...]


def resumed_setup(*, dead: DeadRun) -> ResumedSetup:
    """Return what a dead run goes on with, by today's configuration and permissions and the run's own prompt.

    Raises:
        NotResumable: it may not go on.
        Refused: what its setup was made from is not there any more.
    """
    rows = Run.objects.filter(pk=dead.key.pk, tenant_id=dead.key.tenant_id)
    run = rows.select_related("conversation", "assistant", "tenant").get()
    _check_may_resume(run, dead)
    return ResumedSetup(with_files(read_rows(run=run, key=dead.key)), tuple(run.resumes))


def _check_may_resume(run: Run, dead: DeadRun) -> None:
    deaths = sum(not one["handedOver"] for one in run.resumes) + (not dead.was_handed_over)
    if not settings.ASSISTANT_RUN_RESUMES:
        raise NotResumable("ASSISTANT_RUN_RESUMES is 0")
    if run.cancel_requested_at is not None:
        raise NotResumable("it was to be cancelled")
    if run.conversation.is_stateless or run.conversation.test_tools or run.is_test:
        raise NotResumable("its caller has gone with the process")
    if deaths > settings.ASSISTANT_RUN_RESUMES or len(run.resumes) >= MAX_HAND_OVERS:
        raise NotResumable(f"it was resumed {len(run.resumes)} times already")
    if run.status == Run.Status.QUEUED and run.is_shared and has_workers():
        # Other processes could have started it until now, and would still try.
        raise NotResumable("it has waited in the queue for as long as it may")
    if dead.lease_until is not None and timezone.now() - dead.lease_until > MAX_AGE:
        raise NotResumable("its process died too long ago")
