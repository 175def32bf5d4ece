"""Starts the timed work of all tenants: due jobs and recurring work."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime
from functools import partial
from typing import Any

from django.db import DatabaseError
from django.utils import timezone

from assistant.services.db.threads import in_database
from assistant.services.files import attachments  # noqa: F401 - registers its recurring work
from assistant.services.jobs.jobs import LongWork, add_listener, look_for_jobs
from assistant.services.jobs.recurring import Recurring, recurring
from assistant.services.outage_errors import OUTAGE_ERRORS
from assistant.services.roles import does_background_work
from assistant.services.runs import approval_expiry  # noqa: F401 - registers its recurring work

logger = logging.getLogger(__name__)

# How often jobs are looked for. A look also sees the jobs that become due until the next one, and a job that this
# process, or a web process, schedules for sooner wakes it, so that a job begins at its moment. One whose message was
# lost, or that a command has scheduled, begins so many seconds late, at most.
JOBS_SECONDS = 5.0
# The least time between two looks, because databases round times differently.
MIN_SECONDS = 0.02
# The first word of the message to workers that a job is due, and in how many seconds.
DUE = "due"


class TimedWork:
    """The timed work of one process, started regularly by its housekeeping. All processes together do a job once.

    Args:
        publish: sends a message to the other processes.
    """

    def __init__(self, publish: Callable[[str], Coroutine[Any, Any, None]]) -> None:
        self._publish = publish
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._beside: set[asyncio.Task[None]] = set()
        self._next_look_at = 0.0
        self._next_at: dict[str, float] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ignore_jobs: Callable[[], None] | None = None

    def listen(self) -> None:
        """Look at the moment of each job that this process schedules, or have workers do so."""
        # With the context of the housekeeping, which works for all tenants: a job is scheduled by a request of one.
        self._loop, self._context = asyncio.get_running_loop(), contextvars.copy_context()
        self._ignore_jobs = add_listener(self._on_scheduled)

    def start(self) -> None:
        """Start what is due in tasks, unless they are still at work: leases are renewed meanwhile."""
        now = time.monotonic()
        if now >= self._next_look_at:
            self._start("jobs", self._look_for_jobs)
        for one in recurring():
            if now >= self._next_at.setdefault(one.name, now + (one.seconds if one.is_first_later else 0.0)):
                # Beside the others, because an e-mail, or a storage elsewhere, takes its time.
                self._start(one.name, partial(self._recur, one))

    def stop(self) -> None:
        """Stop the tasks. What has begun in the database is completed."""
        if self._ignore_jobs is not None:
            self._ignore_jobs()
        for task in (*self._tasks.values(), *self._beside):
            task.cancel()

    def _start(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        if name not in self._tasks or self._tasks[name].done():
            self._tasks[name] = asyncio.create_task(self._done(name, work), name=name)

    async def _done(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except (*OUTAGE_ERRORS, DatabaseError, OSError):
            logger.warning("The task %s could not reach the database", name, exc_info=True)
        except Exception:
            logger.exception("The task %s failed", name)

    async def _recur(self, one: Recurring) -> None:
        try:
            await (one.work() if inspect.iscoroutinefunction(one.work) else in_database(one.work))
        finally:
            self._next_at[one.name] = time.monotonic() + one.seconds

    async def _look_for_jobs(self) -> None:
        while time.monotonic() >= self._next_look_at:
            self._next_look_at = time.monotonic() + JOBS_SECONDS
            long: list[LongWork] = []
            look = await in_database(look_for_jobs, start=long.append, ahead=JOBS_SECONDS)
            for work in long:
                self._begin("long-job", work)
            if look.next_in is not None:
                self._look_in(look.next_in)

    def _on_scheduled(self, due_at: datetime) -> None:
        """See to a job that was scheduled in this process and is due before the next look. Called in any thread."""
        seconds = (due_at - timezone.now()).total_seconds()
        if seconds < JOBS_SECONDS and self._loop is not None and not self._loop.is_closed():
            wake = self._look_in if does_background_work() else self._tell
            self._loop.call_soon_threadsafe(wake, seconds, context=self._context)

    def _tell(self, seconds: float) -> None:
        self._begin("job-notice", partial(self._publish, f"{DUE} {seconds:.3f}"))

    def on_due(self, seconds: str) -> None:
        """Handle the message of a web process that a job is due in so many seconds."""
        if does_background_work() and self._loop is not None:
            self._context.run(self._look_in, float(seconds))

    def _look_in(self, seconds: float) -> None:
        """Look for jobs in so many seconds, or at the next turn if that comes first."""
        seconds = max(seconds, MIN_SECONDS)
        self._next_look_at = min(self._next_look_at, time.monotonic() + seconds)
        asyncio.get_running_loop().call_later(seconds, self._look)

    def _look(self) -> None:
        if time.monotonic() >= self._next_look_at:
            self._start("jobs", self._look_for_jobs)

    def _begin(self, name: str, work: Callable[[], Awaitable[None]]) -> None:
        """Begin work beside other work of its name."""
        task = asyncio.create_task(self._done(name, work), name=name)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)
