"""The thread pools in which sync tools run, and the sync functions that tools and programs are asked by."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Any

from assistant.toolkit.carried_context import CarriedContext, PoolThread, set_loop_pool_cleanup
from assistant.toolkit.context import home_loop

logger = logging.getLogger(__name__)

# The pools are separate from the one for database queries, so slow tools do not delay those. The smaller one is for
# what is asked about tools, such as whether one is available: slow tools do not delay that either.
MAX_THREADS, MAX_QUICK_THREADS = 32, 16
# Threads of cancelled calls that may go on running besides the pool's. With so many, a cancelled call keeps its slot.
MAX_ABANDONED = 64
# Idle threads end after this time.
IDLE_SECONDS = 10.0

_cleanup: Callable[[], object] | None = None
_atomic: Callable[[], AbstractContextManager[Any]] = nullcontext


def set_thread_cleanup(cleanup: Callable[[], object] | None) -> None:
    """Set what threads call after each job of a tool, such as closing database connections.

    These are the worker threads, and those of the event loop's default pool that async tools use.
    """
    global _cleanup  # noqa: PLW0603 - the process has one pool
    _cleanup = cleanup
    set_loop_pool_cleanup(cleanup)


def set_atomic(atomic: Callable[[], AbstractContextManager[Any]]) -> None:
    """Set the context manager for tools with `atomic=True`, such as Django's `transaction.atomic`."""
    global _atomic  # noqa: PLW0603 - see above
    _atomic = atomic


class Abandoned(Exception):
    """The call of an atomic tool was cancelled; its transaction is rolled back."""


@dataclass(eq=False)
class _Job:
    """One call of a function. `is_nested`: it was submitted from within another job, which waits for it."""

    function: Callable[[], Any]
    context: CarriedContext
    is_atomic: bool = False
    is_nested: bool = False
    is_abandoned: bool = False
    future: Future[Any] = field(default_factory=Future)

    def run(self) -> None:
        """Run the function, unless the job was cancelled before."""
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            value = self.context.run(self._work)
        except (StopIteration, asyncio.CancelledError) as exc:
            # The event loop would not treat these two as a failure of the tool.
            error = RuntimeError(f"the tool raised {type(exc).__name__}")
            error.__cause__ = exc
            self.future.set_exception(error)
        except BaseException as exc:
            self.future.set_exception(exc)
        else:
            self.future.set_result(value)

    def _work(self) -> Any:
        try:
            if not self.is_atomic:
                return self.function()
            with _atomic():
                value = self.function()
                if self.is_abandoned:
                    raise Abandoned
                return value
        finally:
            try:
                if _cleanup is not None:
                    _cleanup()
            except Exception:
                logger.exception("The cleanup after a tool's thread failed")


class _Pool:
    """Runs at most `threads` jobs at once; a cancelled job frees its slot while its thread runs on."""

    def __init__(self, threads: int) -> None:
        self._threads = threads
        self._lock = threading.RLock()
        self._waiting: deque[_Job] = deque()
        self._idle: list[SimpleQueue[_Job]] = []
        self._running = 0
        self._abandoned = 0

    def submit(self, job: _Job) -> None:
        if job.is_nested:
            # Not in a slot: if every slot were taken by a job that waits for a nested one, the pool would deadlock.
            PoolThread(target=job.run, name="tool", daemon=True).start()
            return
        with self._lock:
            if self._running >= self._threads:
                self._waiting.append(job)
                return
            self._running += 1
            inbox = self._idle.pop() if self._idle else None
        if inbox is not None:
            inbox.put(job)
            return
        # Daemon threads, so that a hanging tool does not keep the process from exiting.
        PoolThread(target=self._work, args=(job,), name="tool", daemon=True).start()

    def abandon(self, job: _Job) -> None:
        """Mark a job as cancelled and give its slot to the next one."""
        with self._lock:
            if job in self._waiting:
                self._waiting.remove(job)
                return
            if job.is_nested:
                job.is_abandoned = True
            if job.is_abandoned or job.future.done() or self._abandoned >= MAX_ABANDONED:
                return
            job.is_abandoned = True
            self._abandoned += 1
            self._running -= 1
            if self._waiting:  # within the lock: no other job takes its turn
                self.submit(self._waiting.popleft())

    def _work(self, job: _Job) -> None:
        """Run jobs until one was cancelled or none came for `IDLE_SECONDS`."""
        inbox: SimpleQueue[_Job] = SimpleQueue()
        while True:
            job.run()
            with self._lock:
                if job.is_abandoned:
                    self._abandoned -= 1
                    return
                # `abandon` can no longer hand over this slot: it finds the job done.
                if self._waiting:
                    job = self._waiting.popleft()
                    continue
                self._running -= 1
                self._idle.append(inbox)
            try:
                job = inbox.get(timeout=IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if inbox in self._idle:
                        self._idle.remove(inbox)
                        return
                job = inbox.get()


_pool = _Pool(MAX_THREADS)
_quick_pool = _Pool(MAX_QUICK_THREADS)
# Called with the future of a call that was cancelled while its function goes on running in a thread.
on_left_running: contextvars.ContextVar[Callable[[Future[Any]], object] | None] = contextvars.ContextVar(
    "on_left_running", default=None
)


async def in_thread(function: Callable[[], Any], *, atomic: bool = False, is_quick: bool = False) -> Any:
    """Run blocking code in a pool (the one for quick work, if it is), with the caller's context variables and language.

    Cancelling the caller frees its slot at once, but the thread runs until the function ends, since Python cannot stop
    threads, and `on_left_running` is called. The transaction of a cancelled `atomic` function is then rolled back.
    """
    context = CarriedContext()
    left_running = on_left_running.get()
    context.values.run(on_left_running.set, None)
    context.values.run(home_loop.set, asyncio.get_running_loop())
    job = _Job(function, context, atomic, is_nested=home_loop.get(None) is not None)
    pool = _quick_pool if is_quick else _pool
    pool.submit(job)
    try:
        return await asyncio.wrap_future(job.future)
    except asyncio.CancelledError:
        pool.abandon(job)
        if left_running is not None and not atomic and not job.future.cancelled():
            left_running(job.future)
        raise


def is_async(function: Callable[..., Any]) -> bool:
    """Whether a function is a coroutine function or an async generator function."""
    call = getattr(function, "__call__", None)  # noqa: B004 - callable objects can have an async `__call__`
    return any(
        inspect.iscoroutinefunction(candidate) or inspect.isasyncgenfunction(candidate)
        for candidate in (function, call)
    )
