"""Schedules work by a name and a key for a moment; one of all processes does it once, after that moment.

The rooms that have such work register a function for its name (`handles`); optional apps name the modules that do
(`handled_in`). The housekeeping of each process looks for
due jobs (`look_for_jobs`), by the database's clock.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

from django.db import IntegrityError, transaction
from django.db.models import F, QuerySet
from django.utils import timezone

from assistant.models import Job
from assistant.services.db.clock import DatabaseTime
from assistant.services.db.threads import in_database
from assistant.services.errors import is_outage, log_failure
from assistant.services.listeners import Listeners
from assistant.toolkit.calls.worker_threads import is_async
from assistant.toolkit.context import UserId

logger = logging.getLogger(__name__)

LongWork = Callable[[], Coroutine[Any, Any, None]]
Handler = Callable[[Job], LongWork | None]
# A job that fails unexpectedly is tried again after this time, doubled each time, and given up after so many attempts.
RETRY_SECONDS, MAX_ATTEMPTS = 60.0, 5
# Jobs that one call of `look_for_jobs` does; the next call does the others.
MAX_AT_ONCE = 20
_handlers: dict[str, Handler] = {}
_long: set[str] = set()
_modules: list[str] = []
_listeners = Listeners[[datetime]]()


class Look(NamedTuple):
    """What one call of `look_for_jobs` has found.

    Attributes:
        done: how many jobs were done.
        next_in: in how many seconds the next job is due that was seen; None if there is none.
    """

    done: int
    next_in: float | None


class JobRefused(Exception):
    """A job cannot be done, and trying again would not help. People read the message."""


def handles(name: str, *, is_long: bool = False) -> Callable[[Handler], Handler]:
    """Register the decorated function for jobs of this name.

    It is called in a transaction that also marks the job as done, so that what it does in the database happens once. It
    may be called again after a failure: anything that it does elsewhere must allow for that.

    Args:
        is_long: the function returns the work itself, an async function, which the process runs after the transaction.
            The function postpones the job (`again`) to a moment at which the process must be dead if the work has not
            postponed it further (`renew`) or ended it (`finish`). If the work raises, the job is tried again later.

    Raises:
        ValueError: another function is registered for the name, or it is async.
    """

    def register(handler: Handler) -> Handler:
        if is_async(handler):
            raise ValueError(f"the function for jobs of the name {name!r} is async, and is called in a transaction")
        if _handlers.setdefault(name, handler) is not handler:
            raise ValueError(f"two functions for jobs of the name {name!r}")
        if is_long:
            _long.add(name)
        return handler

    return register


def handled_in(module: str) -> None:
    """Import a module that registers functions for jobs in each process that does jobs, and in no other.

    Args:
        module: its dotted name.
    """
    _modules.append(module)


def import_handlers() -> None:
    """Import the modules of `handled_in`: a process that does jobs calls it once, before it begins."""
    for module in _modules:
        import_module(module)


def schedule(*, tenant_id: int, name: str, key: str, due_at: datetime, created_by: UserId | None = None) -> Job:
    """Have work of a tenant done at a moment. A job of this name and key that waits already gets the new moment."""
    job, _ = Job.objects.update_or_create(
        tenant_id=tenant_id,
        name=name,
        key=key,
        state=Job.State.WAITING,
        defaults={"due_at": due_at, "created_by_id": created_by, "attempts": 0, "problem": ""},
    )
    _listeners.call_after_commit(due_at)
    return job


def again(job: Job, after: timedelta) -> Job:
    """Postpone the job that is being done, and return it: the same row waits again.

    A process that was wrongly regarded as dead cannot find out by `renew` that another one does the work, because the
    row is the same. Where that matters, schedule a new job instead (`schedule`).

    Args:
        after: how long from now the job waits.
    """
    due_at = timezone.now() + after
    # The row is locked while its job is done, so that no second job of this name and key can wait beside it.
    Job.objects.filter(tenant_id=job.tenant_id, pk=job.pk).update(state=Job.State.WAITING, due_at=due_at, ended_at=None)
    _listeners.call_after_commit(due_at)
    return job


def add_listener(listener: Callable[[datetime], object]) -> Callable[[], None]:
    """Call `listener`, in any thread, with the moment of each job that this process schedules.

    Returns a function that removes it.
    """
    return _listeners.add(listener)


def cancel(*, tenant_id: int, name: str, key: str) -> bool:
    """Cancel the waiting job of a name and key; return whether there was one. One that is being done is not undone."""
    waiting = waiting_jobs(tenant_id=tenant_id, name=name).filter(key=key)
    return bool(waiting.update(state=Job.State.CANCELLED, ended_at=DatabaseTime()))


def finish(*, tenant_id: int, name: str, key: str) -> None:
    """Mark the waiting job of a name and key as done, by which a process held long work."""
    waiting_jobs(tenant_id=tenant_id, name=name).filter(key=key).update(state=Job.State.DONE, ended_at=DatabaseTime())


def drop(*, tenant_id: int, pk: int) -> None:
    """Delete the waiting job of long work that has ended, so that no row of it is kept."""
    Job.objects.filter(tenant_id=tenant_id, pk=pk, state=Job.State.WAITING).delete()


def renew(*, tenant_id: int, pk: int, due_at: datetime, is_new: bool = False) -> bool:
    """Give a tenant's waiting job a new moment; return False if it waits no more.

    A process holds long work by its waiting job. Another process that takes the work over ends that job, unless it
    postpones the same row (`again`).

    Args:
        is_new: the work starts afresh at that moment: earlier failures no longer count.
    """
    values: dict[str, Any] = {"due_at": due_at, **({"attempts": 0, "problem": ""} if is_new else {})}
    return bool(Job.objects.filter(tenant_id=tenant_id, pk=pk, state=Job.State.WAITING).update(**values))


def retry(*, tenant_id: int, pk: int, created_by: UserId | None) -> bool:
    """Have a tenant's failed or cancelled job done now; return False if it is neither, or another waits."""
    ended = Job.objects.filter(tenant_id=tenant_id, pk=pk, state__in=[Job.State.FAILED, Job.State.CANCELLED])
    values = {"due_at": DatabaseTime(), "attempts": 0, "problem": "", "ended_at": None, "created_by_id": created_by}
    try:
        with transaction.atomic():
            is_found = bool(ended.update(state=Job.State.WAITING, **values))
            if is_found:
                _listeners.call_after_commit(timezone.now())
            return is_found
    except IntegrityError:
        return False


def fail(*, tenant_id: int, pk: int, problem: str) -> None:
    """Mark a tenant's waiting job as failed, by which a process held long work. People read `problem`."""
    if Job.objects.filter(tenant_id=tenant_id, pk=pk).exists():
        _fail(pk, problem)


def give_up(*, tenant_id: int, pk: int) -> bool:
    """Cancel a tenant's waiting or failed job; return False if it is neither."""
    open_jobs = Job.objects.filter(tenant_id=tenant_id, pk=pk, state__in=[Job.State.WAITING, Job.State.FAILED])
    return bool(open_jobs.update(state=Job.State.CANCELLED, ended_at=DatabaseTime()))


def waiting_jobs(*, tenant_id: int, name: str) -> QuerySet[Job]:
    """Return a tenant's waiting jobs of a name, the next one first."""
    return Job.objects.filter(tenant_id=tenant_id, name=name, state=Job.State.WAITING)


def look_for_jobs(*, start: Callable[[LongWork], None] | None = None, ahead: float = 0.0) -> Look:
    """Do the due jobs of all tenants that no other process does first, and see when the next one is due.

    Jobs without a registered function wait: another version of the product may have it.

    Args:
        start: called with the work of each long job; None, of a caller without an event loop, leaves these waiting.
        ahead: how many seconds ahead to see the next job, by the same query.

    Raises:
        DatabaseError: the database cannot be reached.
    """
    names = [name for name in _handlers if start is not None or name not in _long]
    seen = Job.objects.filter(state=Job.State.WAITING, due_at__lte=DatabaseTime(ahead), name__in=names)
    found = list(seen.values_list("pk", "due_at", DatabaseTime())[: MAX_AT_ONCE + 1])
    due = [pk for pk, due_at, now in found[:MAX_AT_ONCE] if due_at <= now]
    later = [(due_at - now).total_seconds() for _, due_at, now in found[len(due) :]]
    return Look(sum(do_job(pk, start) for pk in due), max(0.0, later[0]) if later else None)


def do_job(pk: int, start: Callable[[LongWork], None] | None = None) -> bool:
    """Do a job if it is due and no other process does it first. Return whether it was done."""
    try:
        with transaction.atomic():
            waiting = Job.objects.filter(
                pk=pk, state=Job.State.WAITING, due_at__lte=DatabaseTime(), name__in=list(_handlers)
            )
            # The row is locked from here on: another process goes on with the next job.
            free = waiting.select_for_update(skip_locked=True).values("pk")
            if not Job.objects.filter(pk__in=free).update(
                state=Job.State.DONE, ended_at=DatabaseTime(), attempts=F("attempts") + 1
            ):
                return False
            job = Job.objects.select_related("tenant", "created_by").get(pk=pk)
            work = _handlers[job.name](job)
    except JobRefused as exc:
        _fail(pk, str(exc))
        return False
    except Exception as exc:
        if is_outage(exc):
            raise
        _try_again(pk, log_failure(logger, exc, "Job %s failed", pk).message)
        return False
    if work is not None and start is not None:
        start(partial(_work, pk, work))
    return True


async def _work(pk: int, work: LongWork) -> None:
    """Do long work; if it fails unexpectedly, have its job tried again later."""
    try:
        await work()
    except Exception as exc:
        if is_outage(exc):
            raise  # the job is due again when the moment of its last renewal has come
        problem = log_failure(logger, exc, "The work of job %s failed", pk).message
        await in_database(_try_again, pk, problem, is_counted=True)


def _fail(pk: int, problem: str, *, is_counted: bool = False) -> None:
    waiting = Job.objects.filter(pk=pk, state=Job.State.WAITING)
    waiting.update(
        state=Job.State.FAILED,
        ended_at=DatabaseTime(),
        attempts=F("attempts") + int(not is_counted),
        problem=problem[:200],
    )


def _try_again(pk: int, problem: str, *, is_counted: bool = False) -> None:
    """Have a waiting job tried again later, or give it up.

    Args:
        is_counted: its row counts this attempt already.
    """
    job = Job.objects.filter(pk=pk, state=Job.State.WAITING).first()
    if job is None:
        return
    attempts = job.attempts + int(not is_counted)
    if attempts >= MAX_ATTEMPTS:
        _fail(pk, problem, is_counted=is_counted)
        return
    later = DatabaseTime(RETRY_SECONDS * 2 ** max(0, attempts - 1))
    Job.objects.filter(pk=pk, state=Job.State.WAITING).update(due_at=later, attempts=attempts, problem=problem[:200])
