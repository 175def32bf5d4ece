"""Takes runs of the shared queue, and gives this process's queued runs to it."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Awaitable, Callable
from functools import partial

from django.db import DatabaseError, InterfaceError
from django.utils.translation import activate

from assistant.services.db.threads import in_database
from assistant.services.eventlog.log import EventLog
from assistant.services.limits.run_queue import Place, RunQueue
from assistant.services.limits.runs_at_once import QueuedRun
from assistant.services.limits.shared_queue import hand_over, offer, take_first, waiting_tenants
from assistant.services.round_robin import WeightedTurns
from assistant.services.run_key import RunKey
from assistant.services.runs.leases import LEASE_END, release_taken
from assistant.services.runs.opening.run_setup import RunSetup
from assistant.services.runs.recovery.dead_runs import SKIPPED_NUMBERS
from assistant.services.runs.recovery.reopened_run import ReopenedRun, reopen_run
from assistant.services.runs.run_start import RunStart
from assistant.services.tenancy.row_scope import set_tenants
from assistant.toolkit.carried_context import continue_trace

logger = logging.getLogger(__name__)

# The message to other processes that a run of theirs is this process's now.
TAKEN = "taken"


class Dispatcher:
    """The part of one process in the shared queue.

    Args:
        owner: the id of the process.
        log: the event log.
        begin: begins a run that it has taken; without a start if the run has no event yet.

    Attributes:
        queue: the places of the process's runs.
    """

    def __init__(
        self,
        owner: str,
        log: EventLog,
        begin: Callable[[RunKey, RunSetup, Place, RunStart | None], Awaitable[None]],
    ) -> None:
        self.queue = RunQueue(owner, log.publish_control, self.take)
        self._owner, self._log = owner, log
        self._begin = begin
        self._turns: WeightedTurns[int] = WeightedTurns()
        self._starting: dict[int, asyncio.Task[None]] = {}

    async def take(self) -> bool:
        """Start the run that is next in turn; return False if no tenant has one that can start."""
        waiting = await in_database(waiting_tenants)
        for tenant_id in self._turns.order(waiting):
            try:
                pk = await in_database(take_first, tenant_id=tenant_id, owner=self._owner, lease_end=LEASE_END)
            except (DatabaseError, InterfaceError):
                # Go on with the other tenants: the row of this one may be locked.
                logger.warning("Queued runs of tenant %s could not be started", tenant_id, exc_info=True)
                continue
            if pk is not None:
                self._turns.count(tenant_id, waiting[tenant_id])
                if not self.queue.start_shared(pk):
                    self._start(pk, tenant_id)
                return True
        return False

    def offers(self, key: RunKey, queued: QueuedRun, place: Place) -> bool:
        """Let any process start a queued run, once its first events are written; return False if it is not shared."""
        if queued.is_shared:
            place.offer = partial(self._offer, key)
        return queued.is_shared

    async def _offer(self, key: RunKey, seq: int) -> None:
        await in_database(offer, pk=key.pk, tenant_id=key.tenant_id, owner=self._owner, seq=seq)
        await self.queue.announce_queued(key.tenant_id)
        self.queue.wake()

    async def hand_over(self) -> list[int]:
        """Leave this process's queued runs to the others, because it ends. Return their primary keys.

        If the database cannot be reached, none are left; their leases then expire as those of a dead process.
        """
        if self._starting:
            await asyncio.wait(self._starting.values())
        places = self.queue.shared_runs()
        if places:
            try:
                await in_database(hand_over, owner=self._owner)
            except (DatabaseError, InterfaceError):
                logger.warning("Queued runs could not be handed over", exc_info=True)
                return []
            for tenant_id in {place.member.tenant_id for place in places.values()}:
                await self.queue.announce_queued(tenant_id)
        # Without those that have been started here meanwhile.
        return list(places.keys() & self.queue.shared_runs().keys())

    def starting_runs(self) -> list[int]:
        """Return the primary keys of runs that this process has taken, and is preparing."""
        return list(self._starting)

    def _start(self, pk: int, tenant_id: int) -> None:
        """Begin a run that another process has opened, and that this one has just claimed.

        In a task of its own, because rows and files are read for it, and in a context of its own, which the run's task
        inherits: it has access only to its tenant's rows.
        """
        work = self._begin_taken(pk, tenant_id)
        task = asyncio.create_task(work, name=f"take-{pk}", context=contextvars.Context())
        self._starting[pk] = task
        self.queue.starting = len(self._starting)
        task.add_done_callback(lambda _: self._on_started(pk))

    def _on_started(self, pk: int) -> None:
        self._starting.pop(pk, None)
        self.queue.starting = len(self._starting)
        self.queue.wake()

    async def _begin_taken(self, pk: int, tenant_id: int) -> None:
        set_tenants(tenant_id)
        await self._log.publish_control(f"{TAKEN} {pk} {self._owner}")
        try:
            run = await in_database(reopen_run, pk=pk, tenant_id=tenant_id, owner=self._owner)
            activate(run.language)
            continue_trace(run.trace)
            place = self.queue.enter_taken(run.member)
            try:
                await self._begin(run.key, run.setup, place, await self._start_of(run))
            except BaseException:
                self.queue.leave(place)
                raise
        except Exception:
            # The recovery of runs ends it.
            logger.exception("The queued run %s of tenant %s could not be started", pk, tenant_id)
            await in_database(release_taken, pk=pk, tenant_id=tenant_id, owner=self._owner)

    async def _start_of(self, run: ReopenedRun) -> RunStart | None:
        """Return where a run goes on: after the last event that clients may have seen; None if there is none."""
        thread_log = await self._log.open_for_recovery(run.key.thread, run.key.number)
        last = thread_log.last
        seq = last.seq if last is not None and last.number == run.key.number else 0
        # Numbers of events that were lost are not used again: clients would mistake the new events for those that they
        # have.
        seq = seq if seq >= run.last_seq else run.last_seq + SKIPPED_NUMBERS
        return RunStart(seq=seq, is_started=True) if seq else None
