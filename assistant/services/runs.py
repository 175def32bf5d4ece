"""The process's runs: opens and starts them, cancels them, and keeps house over leases and dead runs."""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import logging
import time
import uuid
from collections.abc import Callable
from datetime import datetime
from functools import partial
from weakref import WeakKeyDictionary

from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from assistant.services import metrics
from assistant.services.checkpoints import Checkpoints
from assistant.services.completions import StatelessInput
from assistant.services.courier import Courier
from assistant.services.database import in_database
from assistant.services.draining import stop_with_daphne
from assistant.services.ends import tell_end_before
from assistant.services.eventlog import EventLog
from assistant.services.expiry import expire_approvals
from assistant.services.failures import OUTAGES
from assistant.services.filelog import FileLog, events_folder
from assistant.services.halting import halt_runs
from assistant.services.inputs import RunInput
from assistant.services.leases import RunKey, release, renew_leases, request_cancel
from assistant.services.limits import hold_back
from assistant.services.loop_watch import LoopWatch
from assistant.services.mcpcalls import session_pool
from assistant.services.members import Member
from assistant.services.memorylog import MemoryLog
from assistant.services.opening import OpenedRun, RunSetup, open_run
from assistant.services.planning import plan_of
from assistant.services.quotas import QuotaReached
from assistant.services.quotause import tell_reached
from assistant.services.recovery import recover_dead_runs
from assistant.services.redislog import RedisLog
from assistant.services.refusals import Refusals
from assistant.services.runtask import RunTask
from assistant.services.seats import LocalSeats, RedisSeats, Seats
from assistant.services.stateless import open_stateless_run
from assistant.services.tenancy import enter, enter_all
from assistant.services.warming import warm
from tools.context import UserId

logger = logging.getLogger(__name__)

# Leases last three of these, so two missed turns do not cost a run.
HOUSEKEEPING_SECONDS = 5.0
# How often runs whose process died are looked for in that time: whoever finishes one may die over it too.
LOOKS_FOR_DEAD_RUNS = 2
# Approvals wait for a day, and who answers one is asked how old it is.
EXPIRY_SECONDS = 60.0
# A log that is longer in the way than this has failed; until then it was tried again and again.
BEGIN_SECONDS = 60.0
# How long a process that is asked to end waits for its runs.
DRAIN_SECONDS = 10.0


class Runs:
    """Everything that runs in this process on one event loop."""

    def __init__(self) -> None:
        self.owner = uuid.uuid4().hex
        self._tasks: dict[int, RunTask] = {}
        self._beginning: set[int] = set()
        self._work: set[asyncio.Task[None]] = set()
        self._housekeeping: asyncio.Task[None] | None = None
        self._recovery: asyncio.Task[None] | None = None
        self._warming: asyncio.Task[object] | None = None
        self._redis_log = RedisLog(settings.REDIS_URL, self._on_control) if settings.REDIS_URL else None
        self.log: EventLog = self._redis_log or _log_of_one_process()
        self._checkpoints = Checkpoints()
        self._courier = Courier()
        self.seats: Seats = RedisSeats(settings.REDIS_URL) if settings.REDIS_URL else LocalSeats()
        self._refusals = Refusals()
        self._loop_watch = LoopWatch()

    async def start(self) -> None:
        """Begin to keep house; the second call does nothing."""
        if self._housekeeping is None:
            # In a context of its own: what it does belongs to no request, not to the one that came first either.
            self._housekeeping = asyncio.create_task(
                self._keep_house(), name="runs-housekeeping", context=contextvars.Context()
            )
            self._loop_watch.start()
            self._warming = asyncio.create_task(asyncio.to_thread(warm), name="warming")
            stop_with_daphne(self.stop)
            if settings.WEBHOOKS_FROM_SERVER:
                self._courier.start()
            if self._redis_log is not None:
                await self._redis_log.start()

    async def open(
        self,
        *,
        member: Member,
        assistant_slug: str,
        given: RunInput,
        decided_by: UserId | None = None,
        is_counted: bool = False,
    ) -> OpenedRun:
        """Open a run and start it, or find the one with this id; raises `Refused`. See `open_run`.

        A caller who goes away meanwhile leaves it to finish: a stored run is always worked on.
        """
        return await self._start(
            member,
            partial(
                open_run,
                member=member,
                assistant_slug=assistant_slug,
                given=given,
                owner=self.owner,
                decided_by=decided_by,
                is_counted=is_counted,
            ),
        )

    async def open_stateless(self, *, member: Member, assistant_slug: str, given: StatelessInput) -> OpenedRun:
        """Open and start a run whose caller keeps the history; raises `Refused`. See `open_stateless_run`."""
        return await self._start(
            member,
            partial(open_stateless_run, member=member, assistant_slug=assistant_slug, given=given, owner=self.owner),
        )

    async def _start(self, member: Member, opener: Callable[[], OpenedRun]) -> OpenedRun:
        if (known := self._refusals.last(member)) is not None:
            await hold_back(member.place)
            raise known
        return await asyncio.shield(asyncio.create_task(self._open(member, opener), name="opening-a-run"))

    async def _open(self, member: Member, opener: Callable[[], OpenedRun]) -> OpenedRun:
        await self.start()
        enter(member.tenant_id)
        try:
            opened = await in_database(opener)
        except QuotaReached as reached:
            if self._refusals.note(member, reached):
                await in_database(tell_reached, tenant_id=member.tenant_id, user_id=member.user_id, reached=reached)
            raise
        self._refusals.lift(member)
        if opened.setup is not None:
            try:
                run = await self._begin(opened.key, opened.setup, member)
            except Exception:
                # The run is stored, and would keep its thread busy until its lease ends.
                await in_database(release, key=opened.key)
                raise
            self._tasks[opened.key.pk] = run
            task = run.start()
            self._work.add(task)
            task.add_done_callback(lambda done: self._forget(run, done))
        return opened

    async def _begin(self, key: RunKey, setup: RunSetup, member: Member) -> RunTask:
        self._beginning.add(key.pk)
        try:
            async with asyncio.timeout(BEGIN_SECONDS):
                thread_log = await self.log.start_run(key.thread, key.number)
                await tell_end_before(key=key, log=self.log, thread_log=thread_log)
            return RunTask(
                key,
                plan_of(key=key, setup=setup, member=member),
                self.log,
                self._checkpoints,
                position=setup.position,
                has_webhooks=setup.has_webhooks,
                is_stateless=setup.is_stateless,
            )
        finally:
            self._beginning.discard(key.pk)

    async def cancel(self, *, member: Member, run_id: str) -> bool:
        """Stop a member's running run, wherever it runs. Returns whether there was one."""
        pks = await in_database(
            request_cancel,
            tenant_id=member.tenant_id,
            user_id=member.user_id,
            run_id=run_id,
            assistant_id=member.assistant_id,
        )
        for pk in pks:
            self._cancel_here(pk)
            await self.log.publish_control(f"cancel {pk}")
        return bool(pks)

    async def stop(self) -> None:
        """End this process's part: runs get a while to finish, the rest is stored as interrupted."""
        if self._work:
            await asyncio.wait(self._work, timeout=DRAIN_SECONDS)
        for keeping in (self._housekeeping, self._recovery):
            if keeping is not None:
                keeping.cancel()
        for task in list(self._work):
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        self._loop_watch.stop()
        await self._courier.stop()
        await session_pool().close()
        await self.seats.close()
        await self.log.close()

    def _forget(self, run: RunTask, task: asyncio.Task[None]) -> None:
        self._tasks.pop(run.key.pk, None)
        self._work.discard(task)
        if not task.cancelled() and task.exception() is not None:
            logger.error("The task of run %s failed", run.key.run_id, exc_info=task.exception())
        elif run.is_finished:
            tidying = asyncio.create_task(run.tidy(), name=f"tidy-{run.key.pk}")
            self._work.add(tidying)
            tidying.add_done_callback(self._work.discard)

    def _alive(self) -> list[int]:
        return [*self._tasks, *self._beginning]

    def _cancel_here(self, pk: int) -> None:
        if pk in self._tasks:
            self._tasks[pk].cancel()

    def _on_control(self, message: str) -> None:
        verb, _, argument = message.partition(" ")
        if verb == "cancel" and argument.isdigit():
            self._cancel_here(int(argument))

    async def _keep_house(self) -> None:
        # Of all tenants: this is the deployment's own housekeeping.
        enter_all()
        expiries_at = 0.0
        for turn in itertools.count():
            try:
                began, is_due = timezone.now(), turn % LOOKS_FOR_DEAD_RUNS == 0
                if alive := self._alive():
                    if is_due:
                        for pk in await in_database(renew_leases, owner=self.owner, runs=alive):
                            self._cancel_here(pk)
                    for pk in await in_database(halt_runs, owner=self.owner, runs=alive):
                        self._cancel_here(pk)
                if self._recovery is None or self._recovery.done():
                    self._recovery = asyncio.create_task(self._recover(began), name="runs-recovery")
                # Where Redis is away this takes longer than leases last.
                await asyncio.wait([self._recovery], timeout=HOUSEKEEPING_SECONDS / LOOKS_FOR_DEAD_RUNS)
                if time.monotonic() >= expiries_at:
                    await in_database(expire_approvals)
                    expiries_at = time.monotonic() + EXPIRY_SECONDS
                if is_due:
                    await self.seats.renew()
            except (DatabaseError, OSError):
                logger.warning("Housekeeping could not reach the database", exc_info=True)
            except Exception:
                logger.exception("Housekeeping failed")
            await asyncio.sleep(HOUSEKEEPING_SECONDS / LOOKS_FOR_DEAD_RUNS)

    async def _recover(self, began: datetime) -> None:
        """End the runs of processes that died, and let go of events that nobody reads."""
        try:
            # On a busy machine the renewal may be longer ago than a lease, and more runs may have been opened.
            await recover_dead_runs(log=self.log, owner=self.owner, alive=self._alive(), by=began)
            await self.log.tidy()
        except (*OUTAGES, DatabaseError, OSError):
            logger.warning("Dead runs could not be ended", exc_info=True)
        except Exception:
            logger.exception("The look for dead runs failed")


def _log_of_one_process() -> EventLog:
    """Without Redis: in memory, and beside a SQLite file what a killed process must not take with it."""
    folder = events_folder()
    return FileLog(folder) if folder else MemoryLog()


_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Runs] = WeakKeyDictionary()


def _held(which: int) -> int:
    return sum(runs.log.size()[which] for runs in list(_by_loop.values()))


metrics.watch(
    "assistant_running_runs",
    "Runs that this process works on.",
    lambda: sum(len(runs._tasks) for runs in list(_by_loop.values())),
)
metrics.watch("assistant_event_log_threads", "Threads whose events are held in memory.", lambda: _held(0))
metrics.watch("assistant_event_log_bytes", "What the events held in memory take.", lambda: _held(1))


def get_runs() -> Runs:
    """The runs of the event loop that is running."""
    loop = asyncio.get_running_loop()
    if loop not in _by_loop:
        _by_loop[loop] = Runs()
    return _by_loop[loop]
