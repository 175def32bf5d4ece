"""Prepares a run whose process died or stopped to go on in this process, from its last complete step."""

from __future__ import annotations

import logging

from django.db import DatabaseError
from django.utils import timezone

from assistant.core.values.messages import not_superseded
from assistant.services.db.threads import in_database
from assistant.services.errors import Refused
from assistant.services.outage_errors import OUTAGE_ERRORS
from assistant.services.runs.leases import LostRun, claim_dead_run
from assistant.services.runs.recovery.dead_runs import KnownRun
from assistant.services.runs.recovery.recovered_calls import reconcile_to_go_on
from assistant.services.runs.recovery.resumed_setup import NotResumable, ResumedSetup, resumed_setup
from assistant.services.runs.run_start import RunStart
from assistant.services.text import format_timestamp

logger = logging.getLogger(__name__)


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
