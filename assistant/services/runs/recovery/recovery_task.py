"""The recovery of dead runs by one process, which its housekeeping starts regularly."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import math
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from django.db import DatabaseError
from django.utils.translation import activate

from assistant.services import metrics
from assistant.services.connections.shutdown import is_shutting_down
from assistant.services.db.threads import in_database
from assistant.services.errors import DATABASE_ERRORS
from assistant.services.eventlog.log import EventLog
from assistant.services.limits.run_queue import Place, RunQueue
from assistant.services.limits.runs_at_once import TooManyRuns
from assistant.services.outage_errors import OUTAGE_ERRORS
from assistant.services.roles import starts_queued_runs
from assistant.services.runs.leases import HANDED_OVER, LEASE_SECONDS, MAX_TAKEN, RENEWAL_SECONDS, release_run
from assistant.services.runs.recovery.dead_runs import KnownRun, recover_dead_runs
from assistant.services.runs.recovery.resume import claim, read_setup
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.row_scope import set_all_tenants, set_tenants
from assistant.toolkit.carried_context import continue_trace

logger = logging.getLogger(__name__)

# Added between the end of a lease and the search for it, because databases round times differently.
MIN_SECONDS = 0.05
# A process that has not looked for this long was stopped itself, possibly together with others.
STOPPED_SECONDS = LEASE_SECONDS - RENEWAL_SECONDS


class RunRecovery:
    """Recovers runs of dead processes, and goes on with them while this process has room.

    Args:
        owner: the id of this process.
        log: returns the event log.
        own_runs: returns the primary keys of its runs.
        begin: begins a run, from its key, setup, place and start.
    """

    def __init__(
        self,
        owner: str,
        *,
        log: Callable[[], EventLog],
        queue: RunQueue,
        own_runs: Callable[[], Sequence[int]],
        begin: Callable[..., Coroutine[Any, Any, None]],
    ) -> None:
        self._owner = owner
        self._log = log
        self._queue = queue
        self._own_runs = own_runs
        self._begin = begin
        self._blind_at = -math.inf
        self._started_at: float | None = None
        self._is_full = False
        self._next_in = math.inf
        self._timer: asyncio.TimerHandle | None = None
        self.task: asyncio.Task[None] | None = None

    def start(self, since: float) -> asyncio.Task[None]:
        """Return the task that recovers runs, a new one unless it is at work.

        Args:
            since: when leases have to have expired, by `time.monotonic()`.
        """
        if self._started_at is not None and since - self._started_at > STOPPED_SECONDS:
            self.note_blind()
        self._started_at = since
        if self.task is None or self.task.done():
            self._stop_timer()
            self.task = asyncio.create_task(self._recover(since), name="runs-recovery", context=contextvars.Context())
        return self.task

    def note_blind(self) -> None:
        """Recover nothing for the length of a lease: this process did not run, or could not reach the database.

        Others may not have renewed their leases either, and have to do that first.
        """
        self._blind_at = time.monotonic()

    def stop(self) -> None:
        """Stop recovering runs. What has begun in the database is completed."""
        self._stop_timer()
        if self.task is not None:
            self.task.cancel()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    async def resume(self, run: KnownRun) -> bool:
        """Go on with a run that this process has taken over, or leave it to another one if there is no room.

        Return False if it may not go on, so that it has to end.
        """
        # In a task with a context of its own, because the run belongs to its tenant alone.
        work = self._resume(run)
        return await asyncio.create_task(work, name=f"resume-{run.dead.key.pk}", context=contextvars.Context())

    async def _resume(self, run: KnownRun) -> bool:
        key = run.dead.key
        set_tenants(key.tenant_id)
        found = await read_setup(run)
        if found is None:
            return False
        reopened = found.reopened
        activate(reopened.language)
        continue_trace(reopened.trace)
        place = self._place(reopened.member)
        if place is None:
            self._is_full = True
            owner = HANDED_OVER if run.dead.was_handed_over else ""
            await in_database(release_run, key=key, owner=owner)
            return True
        try:
            start = await claim(run, found)
            await self._begin(key, reopened.setup, place, start)
        except BaseException:
            self._queue.leave(place)
            raise
        metrics.counting().count_resumed(reopened.member.tenant.slug)
        how = "handed over" if run.dead.was_handed_over else "dead"
        logger.warning("Run %s of tenant %s (%s) goes on here", key.run_id, reopened.member.tenant.slug, how)
        return True

    def _place(self, member: Member) -> Place | None:
        """Return a place for a run of a member; None if this process has no room, or ends."""
        if is_shutting_down():
            return None
        try:
            place = self._queue.enter(member)
        except TooManyRuns:
            return None
        if not place.must_wait:
            return place
        self._queue.leave(place)
        return None

    async def _recover(self, since: float) -> None:
        """Recover the runs of dead processes, and drop idle threads of the event log."""
        set_all_tenants()
        self._next_in = math.inf
        if not starts_queued_runs():
            since -= LEASE_SECONDS  # workers go first: they can go on with a run, and this process cannot
        try:
            while time.monotonic() - self._blind_at >= LEASE_SECONDS and await self._recover_some(since):
                pass
            await self._log().drop_idle_threads()
        except (*OUTAGE_ERRORS, DatabaseError, OSError) as exc:
            if isinstance(exc, (*DATABASE_ERRORS, DatabaseError)):
                self.note_blind()
            logger.warning("Dead runs could not be recovered", exc_info=True)
        except Exception:
            logger.exception("Recovering dead runs failed")
        if self._next_in < RENEWAL_SECONDS:
            # A lease that was not renewed in time: its run is found when it expires, not at the next turn.
            seconds = self._next_in + MIN_SECONDS
            self._timer = asyncio.get_running_loop().call_later(seconds, self._look_again)

    async def _recover_some(self, since: float) -> bool:
        """Recover as many runs as one round takes over; return whether to look for more at once."""
        self._is_full = False
        count = await recover_dead_runs(
            log=self._log(),
            owner=self._owner,
            # On a busy machine the leases of own runs may have expired before the next renewal.
            alive=self._own_runs(),
            since=since,
            resume=self.resume,
            next_in=self._note_next,
        )
        return count == MAX_TAKEN and not self._is_full

    def _note_next(self, seconds: float) -> None:
        self._next_in = seconds

    def _look_again(self) -> None:
        self.start(time.monotonic())
