"""Prepares a run whose process died or stopped to go on in this process, from its last complete step."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from assistant.core.values.messages import not_superseded
from assistant.models import Run
from assistant.services.db.threads import in_database
from assistant.services.errors import Refused
from assistant.services.outage_errors import OUTAGE_ERRORS
from assistant.services.roles import has_workers
from assistant.services.runs.leases import DeadRun, LostRun, claim_dead_run
from assistant.services.runs.recovery.dead_runs import KnownRun
from assistant.services.runs.recovery.recovered_calls import reconcile_to_go_on
from assistant.services.runs.recovery.reopened_run import ReopenedRun, read_rows, with_files
from assistant.services.runs.run_start import RunStart
from assistant.services.text import format_timestamp

logger = logging.getLogger(__name__)

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


async def read_setup(run: KnownRun) -> ResumedSetup | None:
    """Return what a dead run goes on with; None if it ends as interrupted, and the log says why."""
    key = run.dead.key
    try:
        return await in_database(resumed_setup, dead=run.dead)
    except (NotResumable, Refused) as reason:
        logger.warning("Run %s of tenant %s does not go on: %s", key.run_id, key.tenant_id, reason)
        return None
    except (*OUTAGE_ERRORS, DatabaseError):
        raise
    except Exception:
        # It would keep its thread busy for ever if each recovery failed at it.
        logger.exception("Run %s of tenant %s does not go on: it could not be prepared", key.run_id, key.tenant_id)
        return None


async def claim(run: KnownRun, found: ResumedSetup) -> RunStart:
    """Claim a dead run for this process, and end the step at which it was cut.

    Raises:
        LostRun: another process has it, or it was cancelled meanwhile.
    """
    transcript = run.transcript
    before = {message.id for message in transcript.messages if message.is_superseded}
    events = reconcile_to_go_on(transcript, run.audited)
    steps = sum(message.role == "assistant" for message in not_superseded(transcript.messages))
    resume = {
        "at": format_timestamp(timezone.now()),
        "step": steps + 1,
        "handedOver": run.dead.was_handed_over,
    }
    if not await in_database(claim_dead_run, key=run.dead.key, resumes=(*found.resumes, resume)):
        raise LostRun(run.dead.key.run_id)
    cut = [one for one in transcript.messages if one.is_superseded and one.id not in before and one.role == "assistant"]
    return RunStart(transcript, run.seq, run.is_started, is_resumed=True, events=events, cut=cut)
