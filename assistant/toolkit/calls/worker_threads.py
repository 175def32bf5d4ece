"""Runs a tool's function: async ones on the event loop, sync ones in a bounded pool of threads of the tools' own."""

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

from assistant.toolkit.context import home_loop
from assistant.toolkit.thread_context import PoolThread

logger = logging.getLogger(__name__)

# One slow tool must stall neither the tenants' queries nor each other's tools.
MAX_THREADS = 32
# Threads of calls that were given up and still run. Beyond these, such a call keeps its place in the pool.
MAX_ABANDONED = 64
# How long a thread without work is kept.
IDLE_SECONDS = 10.0

_cleanup: Callable[[], object] | None = None
_atomic: Callable[[], AbstractContextManager[Any]] = nullcontext


def set_thread_cleanup(cleanup: Callable[[], object] | None) -> None:
    """What a worker thread does after each call, such as closing its database connections."""
    global _cleanup  # noqa: PLW0603 - the process has one pool
    _cleanup = cleanup


def set_atomic(atomic: Callable[[], AbstractContextManager[Any]]) -> None:
    """What makes the block of a tool with `atomic=True` one transaction."""
    global _atomic  # noqa: PLW0603 - see above
    _atomic = atomic


class Abandoned(Exception):
    """The caller gave up while a tool ran in a transaction, which is undone."""


@dataclass(eq=False)
class _Job:
    function: Callable[[], Any]
    context: contextvars.Context
    is_atomic: bool = False
    is_nested: bool = False
    is_abandoned: bool = False
    future: Future[Any] = field(default_factory=Future)

    def run(self) -> None:
        if not self.future.set_running_or_notify_cancel():
            return
        try:
            value = self.context.run(self._work)
        except (StopIteration, asyncio.CancelledError) as exc:
            # On the event loop these two would mean something else than that the tool failed.
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
            _clean_up()


def _clean_up() -> None:
    try:
        if _cleanup is not None:
            _cleanup()
    except Exception:
        logger.exception("The cleanup after a tool's thread failed")


class _Pool:
    """At most `MAX_THREADS` calls at once; a call that was given up makes room, though its thread cannot be stopped."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[_Job] = deque()
        self._idle: list[SimpleQueue[_Job]] = []
        self._running = 0
        self._abandoned = 0

    def submit(self, job: _Job) -> None:
        if job.is_nested:
            # Whoever started it holds a place while it waits; if all did, none would ever be free.
            PoolThread(target=job.run, name="tool", daemon=True).start()
            return
        with self._lock:
            if self._running >= MAX_THREADS:
                self._waiting.append(job)
                return
            self._running += 1
        self._start(job)

    def abandon(self, job: _Job) -> None:
        """The caller no longer waits for the job."""
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
            successor = self._next()
        if successor is not None:
            self._start(successor)

    def _start(self, job: _Job) -> None:
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is not None:
            inbox.put(job)
            return
        # A daemon: a tool that hangs must not keep the process from ending.
        PoolThread(target=self._work, args=(job,), name="tool", daemon=True).start()

    def _work(self, job: _Job | None) -> None:
        """One thread's life: it ends after a call that was given up, or when it has been idle for long."""
        inbox: SimpleQueue[_Job] = SimpleQueue()
        while job is not None:
            job.run()
            with self._lock:
                if job.is_abandoned:
                    self._abandoned -= 1
                    return
                # Whoever gives up from here on finds the job done.
                job = self._next()
                if job is None:
                    self._idle.append(inbox)
            job = job or self._wait(inbox)

    def _wait(self, inbox: SimpleQueue[_Job]) -> _Job | None:
        try:
            return inbox.get(timeout=IDLE_SECONDS)
        except Empty:
            with self._lock:
                if inbox in self._idle:
                    self._idle.remove(inbox)
                    return None
        return inbox.get()

    def _next(self) -> _Job | None:
        """Pass a free place on to the call that waits longest. The lock is held."""
        if self._waiting:
            return self._waiting.popleft()
        self._running -= 1
        return None


_pool = _Pool()


async def in_thread(function: Callable[[], Any], *, atomic: bool = False) -> Any:
    """Run blocking code in the tools' pool, with the caller's context variables.

    Python cannot stop a thread: cancelling the caller frees the caller and the place in the pool at once, and the
    thread goes on until its code ends. If it was `atomic`, what it did is then undone.
    """
    context = contextvars.copy_context()
    context.run(home_loop.set, asyncio.get_running_loop())
    job = _Job(function, context, atomic, is_nested=home_loop.get(None) is not None)
    _pool.submit(job)
    try:
        return await asyncio.wrap_future(job.future)
    except asyncio.CancelledError:
        _pool.abandon(job)
        raise


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives something to await, or to iterate asynchronously."""
    call = getattr(function, "__call__", None)  # noqa: B004 - a callable object's own method is asked
    return any(
        inspect.iscoroutinefunction(candidate) or inspect.isasyncgenfunction(candidate)
        for candidate in (function, call)
    )
