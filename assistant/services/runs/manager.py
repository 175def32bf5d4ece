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

from django.conf import settings
from django.db import DatabaseError

from assistant.models.fields import WhenBusy
from assistant.services import metrics
from assistant.services.connections.connection_limits import configured_limiter
from assistant.services.connections.shutdown import stop_with_daphne
from assistant.services.db.threads import in_database
from assistant.services.errors import OUTAGE_ERRORS, unavailable
from assistant.services.eventlog.configured import configured_log
from assistant.services.eventlog.control_messages import handle_control_message
from assistant.services.limits.quota_ledger import record_quota_reached
from assistant.services.limits.run_queue import Place, RunQueue
from assistant.services.loop_watch import LoopWatch
from assistant.services.mcp_servers.calls import session_pool
from assistant.services.run_key import RunKey
from assistant.services.runs.cancelling import cancel_runs_without_access
from assistant.services.runs.checkpoints import CheckpointWriter
from assistant.services.runs.inline_files import open_with_files
from assistant.services.runs.leases import release_run, renew_leases, request_cancel
from assistant.services.runs.log_end_repair import prepare_log
from assistant.services.runs.opening.completion import StatelessInput
from assistant.services.runs.opening.open_run import open_run
from assistant.services.runs.opening.open_stateless_run import open_stateless_run
from assistant.services.runs.opening.plan_builder import plan_or_failure
from assistant.services.runs.opening.run_setup import OpenedRun, RunSetup
from assistant.services.runs.recovery import recover_dead_runs
from assistant.services.runs.run_input import RunInput
from assistant.services.runs.run_task import RunTask
from assistant.services.runs.timed_work import TimedWork
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.quotas import QuotaReached
from assistant.services.tenancy.row_scope import set_all_tenants, set_tenants
from assistant.services.warm_up import warm_up
from assistant.services.webhooks.sender import WebhookSender
from assistant.toolkit.context import UserId
from assistant.toolkit.per_loop import PerLoop

logger = logging.getLogger(__name__)

Opener = Callable[..., OpenedRun]
# How often leases are renewed. They last three times as long, so a run survives two missed renewals.
HOUSEKEEPING_SECONDS = 5.0
# Dead runs are looked for more often than that: the process that recovers one may die too.
RECOVERIES_PER_RENEWAL = 2
# How long a process that is shutting down waits for its runs.
DRAIN_SECONDS = 10.0


class Runs:
    """The runs of one event loop, and the services that they share. `get_runs` returns the running loop's."""

    def __init__(self) -> None:
        self.owner = uuid.uuid4().hex
        self._tasks: dict[int, RunTask] = {}
        self._starting: set[int] = set()
        self._work: set[asyncio.Task[None]] = set()
        self._housekeeping: asyncio.Task[None] | None = None
        self._recovery: asyncio.Task[None] | None = None
        self._warm_up: asyncio.Task[object] | None = None
        self.log = configured_log(self._on_control)
        self._checkpoints = CheckpointWriter()
        self._timed_work = TimedWork(self.log.publish_control)
        self._webhook_sender = WebhookSender()
        self._loop_watch = LoopWatch()
        self.connection_limiter = configured_limiter()
        self._queue = RunQueue(self.owner, self.log.publish_control)

    async def start(self) -> None:
        """Start the background tasks; later calls do nothing."""
        if self._housekeeping is None:
            # An empty context: the task must not inherit the tenant of the request that starts it.
            self._housekeeping = asyncio.create_task(
                self._run_housekeeping(), name="runs-housekeeping", context=contextvars.Context()
            )
            self._loop_watch.start()
            self._queue.start()
            self._warm_up = asyncio.create_task(asyncio.to_thread(warm_up), name="warm-up")
            stop_with_daphne(self.stop)
            if settings.WEBHOOKS_FROM_SERVER:
                self._webhook_sender.start()
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
        return await self._start(member, assistant_slug, opener, given)

    async def open_stateless(self, *, member: Member, assistant_slug: str, given: StatelessInput) -> OpenedRun:
        """Open and start a run as `open_stateless_run` does. Raises `Refused`."""
        return await self._start(member, assistant_slug, open_stateless_run, given)

    async def _start(self, member: Member, slug: str, opener: Opener, given: RunInput | StatelessInput) -> OpenedRun:
        opening = open_with_files(member, given, partial(self._open, member, slug, opener))
        return await asyncio.shield(asyncio.create_task(opening, name="open-run"))

    async def _open(self, member: Member, slug: str, opener: Opener, given: RunInput | StatelessInput) -> OpenedRun:
        await self.start()
        if not self.log.is_writable:
            raise unavailable()  # before the run is stored, so that it can be sent again with the same ids
        set_tenants(member.tenant_id)
        with ExitStack() as held:
            place = self._queue.enter(member, is_known=self.works_on(str(given.thread_id), given.run_id))
            held.callback(self._queue.leave, place)
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

    async def _begin(self, key: RunKey, setup: RunSetup, place: Place) -> None:
        self._starting.add(key.pk)
        self._queue.update_limits(place, setup.quotas)
        try:
            await prepare_log(key=key, log=self.log)
            if setup.queued is not None:
                self._queue.add(place, setup.queued)
                self._in_background(self._queue.announce_queued(key.tenant_id), f"queued-{key.pk}")
            run = self._tasks[key.pk] = RunTask(
                key,
                partial(plan_or_failure, key=key, setup=setup, member=place.member),
                self.log,
                self._checkpoints,
                setup=setup,
                place=place if setup.queued is not None else None,
            )
        finally:
            self._starting.discard(key.pk)
        task = run.start()
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
        """Cancel a member's running or queued run, in whichever process it runs. Return whether there is one."""
        pks = await in_database(
            request_cancel,
            tenant_id=member.tenant_id,
            user_id=member.user_id,
            run_id=run_id,
            assistant_id=member.assistant_id,
        )
        await self.stop_marked(pks)
        return bool(pks)

    async def stop_marked(self, pks: Collection[int]) -> None:
        """Stop runs that are marked as to be cancelled, in whichever process they run."""
        for pk in pks:
            self._cancel_here(pk)
            await self.log.publish_control(f"cancel {pk}")

    async def stop(self) -> None:
        """Wait up to `DRAIN_SECONDS` for runs to finish, store the others as interrupted, and close connections."""
        if self._work:
            await asyncio.wait(self._work, timeout=DRAIN_SECONDS)
        for task in filter(None, (self._housekeeping, self._recovery)):
            task.cancel()
        self._timed_work.stop()
        for task in list(self._work):
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        self._queue.stop()
        self._loop_watch.stop()
        await self._webhook_sender.stop()
        await session_pool().close()
        await self.connection_limiter.close()
        await self.log.close()

    def _on_done(self, run: RunTask, place: Place, task: asyncio.Task[None]) -> None:
        self._tasks.pop(run.key.pk, None)
        self._work.discard(task)
        self._queue.leave(place)
        if self._queue.is_awaited(run.key.tenant_id):
            self._in_background(self._queue.announce_freed(run.key.tenant_id), f"freed-{run.key.pk}")
        if not task.cancelled() and task.exception() is not None:
            logger.error("The task of run %s failed", run.key.run_id, exc_info=task.exception())
        elif run.is_finished:
            self._in_background(run.after_run(), f"after-{run.key.pk}")

    def _in_background(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._work.add(task)
        task.add_done_callback(self._work.discard)

    def _own_runs(self) -> list[int]:
        return [*self._tasks, *self._starting]

    def _cancel_here(self, pk: int) -> None:
        if pk in self._tasks:
            self._tasks[pk].cancel()

    def _on_control(self, message: str) -> None:
        verb, _, argument = message.partition(" ")
        if verb == "cancel" and argument.isdigit():
            self._cancel_here(int(argument))
        elif not handle_control_message(verb, argument):
            self._queue.on_message(verb, argument)

    async def _run_housekeeping(self) -> None:
        # For all tenants: this is the deployment's own work.
        set_all_tenants()
        for turn in itertools.count():
            try:
                began, is_due = time.monotonic(), turn % RECOVERIES_PER_RENEWAL == 0
                if own_runs := self._own_runs():
                    if is_due:
                        for pk in await in_database(renew_leases, owner=self.owner, runs=own_runs):
                            self._cancel_here(pk)
                    for pk in await in_database(cancel_runs_without_access, owner=self.owner, runs=own_runs):
                        self._cancel_here(pk)
                if self._recovery is None or self._recovery.done():
                    self._recovery = asyncio.create_task(self._recover(began), name="runs-recovery")
                # With a timeout, because without Redis a recovery takes longer than leases last.
                await asyncio.wait([self._recovery], timeout=HOUSEKEEPING_SECONDS / RECOVERIES_PER_RENEWAL)
                self._timed_work.start()
                # A message that another process's run has ended may be lost.
                self._queue.wake()
                if is_due:
                    await self.connection_limiter.renew()
            except (DatabaseError, OSError):
                logger.warning("Housekeeping could not reach the database", exc_info=True)
            except Exception:
                logger.exception("Housekeeping failed")
            await asyncio.sleep(HOUSEKEEPING_SECONDS / RECOVERIES_PER_RENEWAL)

    async def _recover(self, began: float) -> None:
        """Recover the runs of dead processes, and drop idle threads of the event log."""
        try:
            # Not this process's own runs: on a busy machine their leases may have expired before the next renewal.
            await recover_dead_runs(log=self.log, owner=self.owner, alive=self._own_runs(), since=began)
            await self.log.drop_idle_threads()
        except (*OUTAGE_ERRORS, DatabaseError, OSError):
            logger.warning("Dead runs could not be recovered", exc_info=True)
        except Exception:
            logger.exception("Recovering dead runs failed")


_runs = PerLoop(Runs)


def _watch(name: str, text: str, count: Callable[[Runs], int]) -> None:
    metrics.watch(name, text, lambda: sum(map(count, _runs.values())))


_watch("assistant_running_runs", "Runs in progress in this process.", lambda runs: len(runs._tasks) - len(runs._queue))
_watch("assistant_queued_runs", "Runs that wait for their turn in this process.", lambda runs: len(runs._queue))
_watch("assistant_event_log_threads", "Threads whose events are held in memory.", lambda runs: runs.log.size()[0])
_watch("assistant_event_log_bytes", "Bytes of the events held in memory.", lambda runs: runs.log.size()[1])


def get_runs() -> Runs:
    """Return the runs of the running event loop."""
    return _runs.get()
