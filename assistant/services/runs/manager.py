"""Opens, starts and cancels the runs of this process, renews their leases, and recovers runs of dead processes."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import logging
import time
import uuid
from collections.abc import Callable, Collection, Coroutine
from contextlib import ExitStack
from functools import partial
from typing import Any

from django.db import DatabaseError

from assistant.models.fields import WhenBusy
from assistant.services import gauges
from assistant.services.connections.connection_limits import configured_limiter
from assistant.services.connections.shutdown import stop_with_daphne
from assistant.services.db.threads import in_database
from assistant.services.errors import unavailable
from assistant.services.eventlog.configured import configured_log
from assistant.services.eventlog.control_messages import handle_control_message
from assistant.services.eventlog.log import PATH
from assistant.services.eventlog.member_notices import connect
from assistant.services.limits.quota_ledger import record_quota_reached
from assistant.services.limits.run_queue import Place
from assistant.services.loop_services import new_services
from assistant.services.roles import does_background_work
from assistant.services.run_key import RunKey
from assistant.services.runs.cancelling import cancel_for_member, cancel_runs_without_access
from assistant.services.runs.checkpoints import CheckpointWriter
from assistant.services.runs.inline_files import Given, open_with_files
from assistant.services.runs.leases import RENEWAL_SECONDS, release_run, renew_leases
from assistant.services.runs.log_end_repair import append_missing_end_before
from assistant.services.runs.opening.open_run import open_run
from assistant.services.runs.opening.plan_builder import plan_or_failure
from assistant.services.runs.opening.run_setup import OpenedRun, RunSetup
from assistant.services.runs.process.dispatcher import TAKEN, Dispatcher
from assistant.services.runs.recovery.recovery_task import RunRecovery
from assistant.services.runs.run_input import RunInput
from assistant.services.runs.run_start import RunStart
from assistant.services.runs.run_task import RunTask
from assistant.services.runs.run_watchers import watchers
from assistant.services.runs.timed_work import DUE, TimedWork
from assistant.services.tenancy.members import Member, set_acting_key
from assistant.services.tenancy.quotas import QuotaReached
from assistant.services.tenancy.row_scope import set_all_tenants, set_tenants
from assistant.services.warm_up import warm_up
from assistant.toolkit.context import UserId
from assistant.toolkit.per_loop import PerLoop

logger = logging.getLogger(__name__)

Opener = Callable[..., OpenedRun]
# Slots of connections last longer than leases.
TURNS_PER_RENEWAL_OF_CONNECTIONS = 2
# How long a process that is shutting down waits for its runs.
DRAIN_SECONDS = 10.0
# The time to prepare the event log for a run, including its retries.
PREPARE_SECONDS = 60.0


class Runs:
    """The runs of one event loop, and the services that they share. `get_runs` returns the running loop's."""

    def __init__(self) -> None:
        self.owner = uuid.uuid4().hex
        self.drain_seconds = DRAIN_SECONDS
        self._tasks: dict[int, RunTask] = {}
        self._starting: set[int] = set()
        self._work: set[asyncio.Task[None]] = set()
        self._housekeeping: asyncio.Task[None] | None = None
        self._warm_up: asyncio.Task[object] | None = None
        self.log = configured_log(self._on_control)
        self._checkpoints = CheckpointWriter()
        self._timed_work = TimedWork(self.log.publish_control)
        self._services = new_services()
        self.connection_limiter = configured_limiter()
        self._dispatcher = Dispatcher(self.owner, self.log, self._begin)
        self.queue = self._dispatcher.queue
        self._recovery = RunRecovery(
            self.owner, log=lambda: self.log, queue=self.queue, own_runs=self._own_runs, begin=self._begin
        )

    async def start(self) -> None:
        """Start the background tasks; later calls do nothing."""
        if self._housekeeping is None:
            # An empty context: the task must not inherit the tenant of the request that starts it.
            self._housekeeping = asyncio.create_task(
                self._run_housekeeping(), name="runs-housekeeping", context=contextvars.Context()
            )
            self.queue.start()
            self._warm_up = asyncio.create_task(asyncio.to_thread(warm_up), name="warm-up")
            stop_with_daphne(self.stop)
            for service in self._services:
                service.start()
            connect(self.log.publish_control)
            await self.log.start()

    async def open(
        self,
        *,
        member: Member,
        assistant_slug: str,
        given: RunInput,
        decided_by: UserId | None = None,
        is_counted: bool = False,
        when_busy: WhenBusy = WhenBusy.REFUSE,
    ) -> OpenedRun:
        """Open and start a run, or find the one with this id, as `open_run` does. Raises `Refused`.

        If the caller is cancelled meanwhile, the run is still started, because it may be stored already.
        """
        opener = partial(open_run, decided_by=decided_by, is_counted=is_counted, when_busy=when_busy)
        return await self.open_by(opener, member=member, assistant_slug=assistant_slug, given=given)

    async def open_by(self, opener: Opener, *, member: Member, assistant_slug: str, given: Given) -> OpenedRun:
        """Open and start a run by another function of an app's own than `open_run`, with its arguments."""
        opening = partial(self._open, member, assistant_slug, opener)
        work = open_with_files(member, given, opening) if given.has_files else opening(given)
        return await asyncio.shield(asyncio.create_task(work, name="open-run"))

    async def _open(self, member: Member, slug: str, opener: Opener, given: Given) -> OpenedRun:
        if self._housekeeping is None:
            await self.start()
        if not self.log.is_writable:
            raise unavailable()  # before the run is stored, so that it can be sent again with the same ids
        set_tenants(member.tenant_id)
        with ExitStack() as held:
            place = self.queue.enter(member, is_known=self.works_on(str(given.thread_id), given.run_id))
            held.callback(self.queue.leave, place)
            try:
                opened = await in_database(
                    opener, member=member, assistant_slug=slug, given=given, owner=self.owner, must_wait=place.must_wait
                )
            except QuotaReached as reached:
                whose = {"tenant_id": member.tenant_id, "user_id": member.user_id}
                await in_database(record_quota_reached, **whose, reached=reached)
                raise
            if opened.setup is not None:
                try:
                    await self._begin(opened.key, opened.setup, place)
                except Exception:
                    # The stored run would keep its thread busy until its lease expires.
                    await in_database(release_run, key=opened.key)
                    raise
                held.pop_all()
        return opened

    async def _begin(self, key: RunKey, setup: RunSetup, place: Place, start: RunStart | None = None) -> None:
        self._starting.add(key.pk)
        self.queue.update_limits(place, setup.quotas)
        try:
            if start is None:
                async with asyncio.timeout(PREPARE_SECONDS):
                    thread_log = await self.log.start_run(key.thread, key.number)
                    # A run is stored before its last event is written, and the next run can be opened in between. Once
                    # the log has events of the next run, that event could not be appended any more.
                    if thread_log.lacks_end_of(key.number - 1):
                        await append_missing_end_before(key=key, log=self.log)
            if setup.queued is not None:
                await self.queue.add(place, setup.queued)
                if not self._dispatcher.offers(key, setup.queued, place):
                    self._in_background(self.queue.announce_queued(key.tenant_id), f"queued-{key.pk}")
            make_plan = partial(plan_or_failure, key=key, setup=setup, member=place.member)
            run = self._tasks[key.pk] = RunTask(
                key, make_plan, self.log, self._checkpoints, setup=setup, place=place, start=start
            )
        finally:
            self._starting.discard(key.pk)
        set_acting_key(place.member.key_id)
        task = run.start()
        for watcher in watchers:
            watcher(key)
        self._work.add(task)
        task.add_done_callback(lambda done: self._on_done(run, place, done))

    def works_on(self, thread: str, run_id: str | None = None) -> bool:
        """Whether a run of a thread, or the one with this id, runs or is queued in this process."""
        return any(run.key.thread == thread and run_id in (None, run.key.run_id) for run in self._tasks.values())

    async def ended(self, *, pk: int) -> None:
        """Wait until a run of this process has ended; return at once for any other."""
        if (run := self._tasks.get(pk)) is not None:
            await run.ended()

    async def cancel(self, *, member: Member, run_id: str) -> bool:
        """Cancel a member's running, queued or waiting run, in any process. Return whether there is one."""
        whose = {"tenant_id": member.tenant_id, "user_id": member.user_id, "assistant_id": member.assistant_id}
        pks, waiting = await in_database(cancel_for_member, **whose, run_id=run_id)
        await self.stop_marked(pks)
        for thread in waiting:
            await self.log.publish_change(thread, PATH)
        return bool(pks or waiting)

    async def stop_marked(self, pks: Collection[int]) -> None:
        """Stop runs that are marked as to be cancelled, in any process."""
        for pk in pks:
            self._cancel_here(pk)
            await self.log.publish_control(f"cancel {pk}")

    async def stop(self) -> None:
        """Wait up to `drain_seconds` for runs to finish, hand the others over, and close connections."""
        self._lose_here(await self._dispatcher.hand_over())
        if self._work:
            await asyncio.wait(self._work, timeout=self.drain_seconds)
        self._timed_work.stop()
        for run in self._tasks.values():
            run.hand_over()
        self._recovery.stop()
        for task in filter(None, (self._housekeeping, *self._work)):
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        self.queue.stop()
        for service in self._services:
            await service.stop()
        await self.connection_limiter.close()
        await self.log.close()

    def _on_done(self, run: RunTask, place: Place, task: asyncio.Task[None]) -> None:
        self._tasks.pop(run.key.pk, None)
        for watcher in watchers:
            watcher(run.key)
        self._work.discard(task)
        self.queue.leave(place)
        if self.queue.is_awaited(run.key.tenant_id):
            self._in_background(self.queue.announce_freed(run.key.tenant_id), f"freed-{run.key.pk}")
        if not task.cancelled() and task.exception() is not None:
            logger.error("The task of run %s failed", run.key.run_id, exc_info=task.exception())
        elif run.is_followed:
            self._in_background(run.after_run(), f"after-{run.key.pk}")

    def _in_background(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    def counts(self) -> tuple[int, int]:
        """Return how many runs this process works on, and how many are queued in it."""
        return len(self._tasks) - len(self.queue), len(self.queue)

    def _own_runs(self) -> list[int]:
        return [*self._tasks, *self._starting, *self._dispatcher.starting_runs()]

    def _cancel_here(self, pk: int) -> None:
        if pk in self._tasks:
            self._tasks[pk].cancel()

    def _lose_here(self, pks: Collection[int]) -> None:
        for run in [self._tasks[pk] for pk in pks if pk in self._tasks]:
            run.lose()

    def _on_control(self, message: str) -> None:
        verb, _, argument = message.partition(" ")
        if verb == "cancel" and argument.isdigit():
            self._cancel_here(int(argument))
        elif verb == TAKEN and not argument.endswith(self.owner):
            self._lose_here([int(argument.partition(" ")[0])])
        elif verb == DUE:
            self._timed_work.on_due(argument)
        elif not handle_control_message(verb, argument):
            self.queue.on_message(verb, argument)

    async def _run_housekeeping(self) -> None:
        # For all tenants: this is the deployment's own work.
        set_all_tenants()
        self._timed_work.listen()
        for turn in itertools.count():
            try:
                began = time.monotonic()
                if own_runs := self._own_runs():
                    for find_cancelled in (renew_leases, cancel_runs_without_access):
                        for pk in await in_database(find_cancelled, owner=self.owner, runs=own_runs):
                            self._cancel_here(pk)
                # With a timeout, because without Redis a recovery takes longer than leases last.
                await asyncio.wait([self._recovery.start(began)], timeout=RENEWAL_SECONDS)
                if does_background_work():
                    self._timed_work.start()
                # A message that another process's run has ended, or waits, may be lost.
                self.queue.look()
                if turn % TURNS_PER_RENEWAL_OF_CONNECTIONS == 0:
                    await self.connection_limiter.renew()
            except (DatabaseError, OSError):
                self._recovery.note_blind()
                logger.warning("Housekeeping could not reach the database", exc_info=True)
            except Exception:
                logger.exception("Housekeeping failed")
            await asyncio.sleep(RENEWAL_SECONDS)


_runs = PerLoop(Runs)


def _watch(name: str, text: str, count: Callable[[Runs], int]) -> None:
    """Show the sum of a figure of all event loops of the process at `/metrics`."""
    gauges.watch(name, text, lambda: sum(map(count, _runs.values())))


_watch("assistant_running_runs", "Runs in progress in this process.", lambda one: one.counts()[0])
_watch("assistant_queued_runs", "Runs that wait for their turn in this process.", lambda one: one.counts()[1])
_watch("assistant_event_log_threads", "Threads whose events are held in memory.", lambda one: one.log.size()[0])
_watch("assistant_event_log_bytes", "Bytes of the events held in memory.", lambda one: one.log.size()[1])


def get_runs() -> Runs:
    """Return the runs of the running event loop."""
    return _runs.get()
