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

from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone

from assistant.services import metrics
from assistant.services.connections.connection_limits import (
    ConnectionLimiter,
    LocalConnectionLimiter,
    RedisConnectionLimiter,
)
from assistant.services.connections.shutdown import stop_with_daphne
from assistant.services.db.threads import in_database
from assistant.services.errors import OUTAGE_ERRORS
from assistant.services.eventlog.configured import configured_log
from assistant.services.limits.quota_ledger import record_quota_reached
from assistant.services.mcp_servers.calls import session_pool
from assistant.services.run_key import RunKey
from assistant.services.runs.approval_expiry import expire_approvals
from assistant.services.runs.cancelling import cancel_runs_without_access
from assistant.services.runs.checkpoints import CheckpointWriter
from assistant.services.runs.leases import release, renew_leases, request_cancel
from assistant.services.runs.log_end_repair import append_missing_end_before_run
from assistant.services.runs.opening import OpenedRun, RunSetup, open_run
from assistant.services.runs.plan_builder import plan_of
from assistant.services.runs.recovery import recover_dead_runs
from assistant.services.runs.run_input import RunInput
from assistant.services.runs.run_task import RunTask
from assistant.services.runs.stateless import open_stateless_run
from assistant.services.runs.stateless_input import StatelessInput
from assistant.services.runs.warm_up import warm
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.quotas import QuotaReached
from assistant.services.tenancy.row_scope import set_all_tenants, set_tenants
from assistant.services.webhooks.sender import WebhookSender
from assistant.toolkit.context import UserId
from assistant.toolkit.per_loop import PerLoop

logger = logging.getLogger(__name__)

# Leases last three of these, so two missed turns do not cost a run.
HOUSEKEEPING_SECONDS = 5.0
# How often runs whose process died are looked for in that time: whoever finishes one may die over it too.
RECOVERIES_PER_ROUND = 2
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
        self.log = configured_log(self._on_control)
        self._checkpoints = CheckpointWriter()
        self._webhook_sender = WebhookSender()
        self.connection_limiter: ConnectionLimiter = (
            RedisConnectionLimiter(settings.REDIS_URL) if settings.REDIS_URL else LocalConnectionLimiter()
        )

    async def start(self) -> None:
        """Begin to keep house; the second call does nothing."""
        if self._housekeeping is None:
            # In a context of its own: what it does belongs to no request, not to the one that came first either.
            self._housekeeping = asyncio.create_task(
                self._keep_house(), name="runs-housekeeping", context=contextvars.Context()
            )
            self._warming = asyncio.create_task(asyncio.to_thread(warm), name="warming")
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
        return await asyncio.shield(asyncio.create_task(self._open(member, opener), name="opening-a-run"))

    async def _open(self, member: Member, opener: Callable[[], OpenedRun]) -> OpenedRun:
        await self.start()
        set_tenants(member.tenant_id)
        try:
            opened = await in_database(opener)
        except QuotaReached as reached:
            await in_database(record_quota_reached, tenant_id=member.tenant_id, user_id=member.user_id, reached=reached)
            raise
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
                await append_missing_end_before_run(key=key, log=self.log, thread_log=thread_log)
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
        await self._webhook_sender.stop()
        await session_pool().close()
        await self.connection_limiter.close()
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
        set_all_tenants()
        expiries_at = 0.0
        for turn in itertools.count():
            try:
                began, is_due = timezone.now(), turn % RECOVERIES_PER_ROUND == 0
                if alive := self._alive():
                    if is_due:
                        for pk in await in_database(renew_leases, owner=self.owner, runs=alive):
                            self._cancel_here(pk)
                    for pk in await in_database(cancel_runs_without_access, owner=self.owner, runs=alive):
                        self._cancel_here(pk)
                if self._recovery is None or self._recovery.done():
                    self._recovery = asyncio.create_task(self._recover(began), name="runs-recovery")
                # Where Redis is away this takes longer than leases last.
                await asyncio.wait([self._recovery], timeout=HOUSEKEEPING_SECONDS / RECOVERIES_PER_ROUND)
                if time.monotonic() >= expiries_at:
                    await in_database(expire_approvals)
                    expiries_at = time.monotonic() + EXPIRY_SECONDS
                if is_due:
                    await self.connection_limiter.renew()
            except (DatabaseError, OSError):
                logger.warning("Housekeeping could not reach the database", exc_info=True)
            except Exception:
                logger.exception("Housekeeping failed")
            await asyncio.sleep(HOUSEKEEPING_SECONDS / RECOVERIES_PER_ROUND)

    async def _recover(self, began: datetime) -> None:
        """End the runs of processes that died, and let go of events that nobody reads."""
        try:
            # On a busy machine the renewal may be longer ago than a lease, and more runs may have been opened.
            await recover_dead_runs(log=self.log, owner=self.owner, alive=self._alive(), by=began)
            await self.log.drop_idle_threads()
        except (*OUTAGE_ERRORS, DatabaseError, OSError):
            logger.warning("Dead runs could not be ended", exc_info=True)
        except Exception:
            logger.exception("The look for dead runs failed")


_runs = PerLoop(Runs)


def _held(which: int) -> int:
    return sum(runs.log.size()[which] for runs in _runs.values())


metrics.watch(
    "assistant_running_runs",
    "Runs that this process works on.",
    lambda: sum(len(runs._tasks) for runs in _runs.values()),
)
metrics.watch("assistant_event_log_threads", "Threads whose events are held in memory.", lambda: _held(0))
metrics.watch("assistant_event_log_bytes", "What the events held in memory take.", lambda: _held(1))


def get_runs() -> Runs:
    """The runs of the event loop that is running."""
    return _runs.get()
