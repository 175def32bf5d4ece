"""The queue of this process's runs that wait because a limit of runs at once is reached; tenants take turns.

The rows of queued runs are the queue: each is started by one update, with its tenant's runs in all processes counted.
The process that opened a run waits for it and renews its lease, so that a queued run ends as a running one does when
its process dies. Where the deployment has workers (`services/roles.py`), the runs that its rows alone describe are in
the shared queue instead: any process with room may start them, and tenants take turns in each.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from cachetools import LRUCache
from django.conf import settings
from django.db import DatabaseError, InterfaceError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from assistant.services.connections.shutdown import is_shutting_down
from assistant.services.db.threads import in_database
from assistant.services.limits.runs_at_once import (
    QueuedRun,
    RunCounts,
    TooManyRuns,
    check_bounds,
    limits_of,
    start_first,
)
from assistant.services.limits.shared_queue import runs_before
from assistant.services.roles import has_workers, starts_queued_runs
from assistant.services.round_robin import RoundRobin
from assistant.services.tenancy.members import Member
from assistant.services.tenancy.quotas import Quotas
from assistant.services.tenancy.row_scope import set_all_tenants
from assistant.services.text import format_timestamp
from assistant.toolkit.context import UserId

logger = logging.getLogger(__name__)

# Messages to the other processes: a tenant has queued runs; one of the tenant's runs has ended.
QUEUED, FREED = "queued", "freed"
# How often a process looks at the shared queue even without a message about a new run, because messages may be lost.
LOOK_SECONDS = 10.0
# How many tenants' limits are kept; of others, those of the connection are used.
MAX_TENANTS = 10_000
SERVER_FULL = gettext_noop("The server has as many runs at once as it may.")


class RunQueue:
    """The places of one process's runs.

    Args:
        owner: the id of the process.
        publish: sends a message to the other processes.
        take: starts one run of the shared queue; returns False if there is none to start.

    Attributes:
        room: how many runs the process has at once; None for `ASSISTANT_MAX_RUNS`.
        starting: how many runs of the shared queue it has taken that have no place yet.
    """

    def __init__(
        self, owner: str, publish: Callable[[str], Awaitable[None]], take: Callable[[], Awaitable[bool]]
    ) -> None:
        self.room: int | None = None
        self.starting = 0
        self._is_shared = has_workers()
        self._owner = owner
        self._publish = publish
        self._take = take
        self._queued: RoundRobin[int, Place] = RoundRobin()
        # The process's own runs in the shared queue.
        self._shared: dict[int, Place] = {}
        self._places: set[Place] = set()
        # Runs that are opened, running or queued, by tenant and by member.
        self._active: Counter[tuple[int, UserId | None]] = Counter()
        # The latest limits of tenants, and of their members or end users.
        self._quotas: LRUCache[tuple[int, bool], Quotas] = LRUCache(MAX_TENANTS)
        # Tenants with queued runs in other processes, and until when at the longest.
        self._elsewhere: dict[int, float] = {}
        # Whether runs are queued because this process is full. New ones then do not overtake them.
        self._is_short_of_room = False
        self._next_look_at = 0.0
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._queued) + len(self._shared)

    def start(self) -> None:
        """Start the task that starts queued runs."""
        # An empty context: the task must not inherit the tenant of the request that starts it.
        self._task = asyncio.create_task(self._run(), name="run-queue", context=contextvars.Context())

    def stop(self) -> None:
        """Stop the task; runs that wait are then ended by the callers that wait for them."""
        if self._task is not None:
            self._task.cancel()

    def enter(self, member: Member, *, is_known: bool = False) -> Place:
        """Return a place for a run that is about to be opened. `leave` gives it up.

        Before the database is asked, so that a flood of runs does not reach it.

        Args:
            is_known: it is a run of this process, which the caller joins.

        Raises:
            TooManyRuns: the queue of the process, the tenant or the member is full.
        """
        of_tenant, of_member = keys = _keys(member)
        if not is_known:
            limits = limits_of(self._quotas.get((member.tenant_id, member.is_end_user), member.quotas))
            if any(limits):
                check_bounds(limits, RunCounts(self._active[of_tenant], self._active[of_member]))
            most = settings.ASSISTANT_MAX_RUNS if self.room is None else self.room
            if most and len(self._places) >= most * (2 if settings.ASSISTANT_RUN_QUEUE_SECONDS else 1):
                raise TooManyRuns(_(SERVER_FULL))
        leaves = self._is_shared and self._leaves_to_others
        place = Place(member, must_wait=self._is_short_of_room or leaves or not self._has_room())
        self._places.add(place)
        self._active.update(keys)
        return place

    def enter_taken(self, member: Member) -> Place:
        """Return a place for a run of the shared queue that this process has started."""
        place = Place(member, must_wait=False)
        self._places.add(place)
        self._active.update(_keys(member))
        return place

    def start_shared(self, pk: int) -> bool:
        """Let a run of the shared queue begin; return False if another process has opened it."""
        place = self._shared.pop(pk, None)
        if place is not None:
            place.start()
        return place is not None

    def shared_runs(self) -> Mapping[int, Place]:
        """Return the process's own runs in the shared queue, by their primary keys."""
        return dict(self._shared)

    def update_limits(self, place: Place, quotas: Quotas) -> None:
        """Take over the limits that a run was opened with: those of a connection's member are as old as it is."""
        self._quotas[place.member.tenant_id, place.member.is_end_user] = quotas

    def leave(self, place: Place) -> None:
        """Give up the place of a run that has ended or was not started."""
        self._places.discard(place)
        if place.run is not None:  # it has not begun
            self._queued.remove(place.member.tenant_id, place)
            self._shared.pop(place.run.pk, None)
        if not self._shared and not self._queued:
            self._is_short_of_room = False
        for key in _keys(place.member):
            self._active[key] -= 1
            if not self._active[key]:
                del self._active[key]
        self.wake()

    async def add(self, place: Place, run: QueuedRun) -> None:
        """Queue an opened run."""
        place.run = run
        place.until = timezone.now() + timedelta(seconds=settings.ASSISTANT_RUN_QUEUE_SECONDS)
        self._is_short_of_room = self._is_short_of_room or place.must_wait
        if run.is_shared:
            self._shared[run.pk] = place
            place.ahead = await in_database(runs_before, tenant_id=place.member.tenant_id, pk=run.pk)
            return  # it can be started once its first events are written
        tenant_id = place.member.tenant_id
        self._queued.add(tenant_id, place)
        place.ahead = self._queued.turns_before(tenant_id, len(self._queued.of(tenant_id)) - 1)
        self.wake()

    def wake(self) -> None:
        """See whether queued runs can start."""
        if self._shared or self._queued or (self._is_shared and self._elsewhere):
            self._changed.set()

    def look(self) -> None:
        """See whether queued runs can start, of other processes too; called every few seconds."""
        now = time.monotonic()
        if self._is_shared and now >= self._next_look_at:
            self._next_look_at = now + LOOK_SECONDS
            self._elsewhere = {tenant: until for tenant, until in self._elsewhere.items() if until > now}
            self._changed.set()
        self.wake()

    async def announce_queued(self, tenant_id: int) -> None:
        """Ask the other processes to say when a run of this tenant ends."""
        await self._publish(f"{QUEUED} {self._owner} {tenant_id}")

    def is_awaited(self, tenant_id: int) -> bool:
        """Whether another process may have queued runs of this tenant."""
        until = self._elsewhere.get(tenant_id)
        if until is not None and until < time.monotonic():
            del self._elsewhere[tenant_id]
            return False
        return until is not None

    async def announce_freed(self, tenant_id: int) -> None:
        """Say to the other processes that a run of this tenant has ended."""
        await self._publish(f"{FREED} {self._owner} {tenant_id}")

    def on_message(self, verb: str, argument: str) -> None:
        """Handle a message of another process."""
        owner, _, tenant_id = argument.partition(" ")
        if owner == self._owner or not tenant_id.isdigit():
            return
        if verb == QUEUED:
            self._elsewhere[int(tenant_id)] = time.monotonic() + settings.ASSISTANT_RUN_QUEUE_SECONDS
            if self._is_shared:
                self._changed.set()
        elif verb == FREED:
            self.wake()

    def _has_room(self) -> bool:
        most = settings.ASSISTANT_MAX_RUNS if self.room is None else self.room
        running = len(self._places) + self.starting - len(self._queued) - len(self._shared)
        return not most or running < most

    @property
    def _leaves_to_others(self) -> bool:
        """Whether runs of the shared queue are for other processes, even if this one has room."""
        return self._is_shared and (not starts_queued_runs() or is_shutting_down())

    async def _run(self) -> None:
        # For all tenants: each update names its own.
        set_all_tenants()
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                await self._start_all()
            except (DatabaseError, InterfaceError, OSError):
                # Woken again by the next run that ends, and by the housekeeping.
                logger.warning("Queued runs could not be started", exc_info=True)
            except Exception:
                logger.exception("Starting queued runs failed")

    async def _start_all(self) -> None:
        """Start queued runs, one of each tenant in turn, until the process is full or no tenant can start one."""
        blocked: set[int] = set()
        while self._has_room():
            tenant_id = next((key for key in self._queued if key not in blocked), None)
            if tenant_id is None:
                break
            try:
                has_started = await self._start_one(tenant_id)
            except (DatabaseError, InterfaceError):
                # Others have their turn; this tenant's is repeated at the next wake-up.
                logger.warning("Queued runs of tenant %s could not be started", tenant_id, exc_info=True)
                has_started = False
            if not has_started:
                blocked.add(tenant_id)
        if self._is_shared and not self._leaves_to_others:
            while self._has_room() and await self._take():
                pass
        self._is_short_of_room = bool(len(self)) and not self._has_room()

    async def _start_one(self, tenant_id: int) -> bool:
        places = {place.run.pk: place for place in self._queued.of(tenant_id) if place.run is not None}
        runs = [place.run for place in places.values() if place.run is not None]
        pk = await in_database(start_first, tenant_id=tenant_id, owner=self._owner, queued=runs)
        if pk is None:
            return False
        place = places[pk]
        # It may have been cancelled meanwhile; its row then ends as that of a running run.
        if self._queued.remove(tenant_id, place):
            place.start()
        return True


def _keys(member: Member) -> tuple[tuple[int, UserId | None], tuple[int, UserId | None]]:
    """Return what the runs of a member's tenant and of the member are counted by."""
    return (member.tenant_id, None), (member.tenant_id, member.user_id)


@dataclass(eq=False, slots=True)
class Place:
    """A run's place in this process: it runs, or it waits.

    Attributes:
        must_wait: the process has as many runs as it may, so that the run has to be queued.
        run: the queued run; None while it does not wait.
        ahead: how many runs get their turn before it; `until`: how long it waits.
        offer: puts the run into the shared queue, once the events up to a number are written; None for any other run.
    """

    member: Member
    must_wait: bool
    run: QueuedRun | None = None
    ahead: int = 0
    until: datetime | None = None
    offer: Callable[[int], Awaitable[None]] | None = None
    _started: asyncio.Event = field(default_factory=asyncio.Event)

    def as_value(self) -> dict[str, Any]:
        """Return the value of the event `run.queued`."""
        return {"ahead": self.ahead, "until": format_timestamp(self.until or timezone.now())}

    def start(self) -> None:
        """Let the run that waits in `wait` begin."""
        self.run = None
        self._started.set()

    async def wait(self, seq: int, flush: Callable[[], Awaitable[None]]) -> None:
        """Wait until the run is started.

        Args:
            seq: the number of the run's last event; `flush`: waits until that can be read.

        Raises:
            TooManyRuns: it has waited for `ASSISTANT_RUN_QUEUE_SECONDS`.
        """
        if self.offer is not None:
            await flush()
            await self.offer(seq)
        try:
            async with asyncio.timeout(settings.ASSISTANT_RUN_QUEUE_SECONDS):
                await self._started.wait()
        except TimeoutError:
            waited = _("This run has waited %(count)d seconds for its turn: too many run at once.")
            waited %= {"count": settings.ASSISTANT_RUN_QUEUE_SECONDS}
            raise TooManyRuns(waited) from None
