"""Runs database code for async callers, in a bounded pool of threads of its own, in which tenants take turns.

`database_sync_to_async` shares one thread with all other synchronous code of the process, so that one slow caller
delays every tenant.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Barrier, Lock, local
from typing import Any, ParamSpec, TypeVar

from django.db import DEFAULT_DB_ALIAS, close_old_connections, connection, connections

from assistant.services import gauges
from assistant.services.errors import DATABASE_ERRORS, describe_outage, storage_problem
from assistant.services.round_robin import RoundRobin
from assistant.toolkit.carried_context import CarriedContext

logger = logging.getLogger(__name__)

# The tenants' ids, comma separated: see `tenancy.row_scope`.
tenants: ContextVar[str] = ContextVar("visible_tenants", default="")
_name: ContextVar[str] = ContextVar("database_share", default="")


def share() -> str:
    """Return the name of the share: that of `in_share`, else the tenants."""
    return _name.get() or tenants.get()


@contextmanager
def in_share(name: str) -> Iterator[None]:
    """Use a share of its own in a block, where the tenant is not known yet."""
    token = _name.set(name)
    try:
        yield
    finally:
        _name.reset(token)


P = ParamSpec("P")
T = TypeVar("T")

# `in_database_with_retry` waits this long for a database that cannot be reached.
MAX_RETRY_SECONDS = 30.0
RETRY_INTERVAL_SECONDS = 0.5

# SQLite has one writer at a time: a second thread would only wait for its lock. On PostgreSQL four threads completed
# 2.2 times as many turns as one thread, on two cores.
_THREADS = 1 if connection.vendor == "sqlite" else 4
# A connection to a database server is replaced after this time. SQLite's is only an open file, and is kept.
_CONNECTION_MAX_AGE_SECONDS = 60

_own = local()


def _keep_connection() -> None:
    """Keep this thread's connection open between calls, regardless of `CONN_MAX_AGE`.

    Not at the thread's beginning: the connection that it has then may be a test's, which `assistant.testing` lends.

    The setting applies to all threads, and under ASGI each request of a synchronous view has a thread of its own, whose
    kept connection nobody would use again or close. With psycopg's pool, connections belong to the pool.
    """
    own = connections[DEFAULT_DB_ALIAS]
    if own.allow_thread_sharing:
        return
    _own.connection = own
    if own.settings_dict["OPTIONS"].get("pool"):
        return
    kept: dict[str, Any] = {"CONN_MAX_AGE": None}
    if own.vendor != "sqlite":
        # Checked before the first query of a call, so that a restart of the database fails no call.
        kept = {"CONN_MAX_AGE": _CONNECTION_MAX_AGE_SECONDS, "CONN_HEALTH_CHECKS": True}
    own.settings_dict = {**own.settings_dict, **kept}


class FairThreads:
    """A pool of threads whose calls take turns by share: many calls of one delay another by one call at most."""

    def __init__(self, threads: int, *, name: str) -> None:
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._waiting: RoundRobin[str, tuple[Future[Any], Callable[[], Any]]] = RoundRobin()
        self._lock = Lock()

    def backlog(self) -> int:
        """Return how many calls wait for a thread."""
        return len(self._waiting)

    def submit(self, key: str, work: Callable[[], T]) -> Future[T]:
        """Run `work` in one of the threads when it is the turn of `key`."""
        future: Future[T] = Future()
        with self._lock:
            self._waiting.add(key, (future, work))
        # One job for each call; which call a job runs is decided when a thread is free.
        self._pool.submit(self._run_next)
        return future

    def _run_next(self) -> None:
        with self._lock:
            future, work = self._waiting.pop()
        if not future.set_running_or_notify_cancel():
            return
        try:
            result = work()
        except BaseException as exc:
            future.set_exception(exc)
        else:
            future.set_result(result)
        finally:
            del future  # breaks a cycle: its exception's traceback refers to this frame


_threads = FairThreads(_THREADS, name="orm")

gauges.watch("assistant_database_backlog", "Calls that wait for a database thread.", _threads.backlog)


def close_connections() -> None:
    """Wait for the calls that have begun, and close the connections of all threads. Called by `assistant.testing`.

    A test database cannot be deleted while a connection to it is open.
    """
    everybody = Barrier(_THREADS)

    def close() -> None:
        everybody.wait()  # so that each thread does this once
        connections.close_all()

    for future in [_threads.submit("", close) for _ in range(_THREADS)]:
        future.result()


async def in_database(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `function` in a database thread, in the caller's language, and return its value.

    Callers' tenants take turns (`shares.share`).

    If the caller is cancelled, a call that has started is completed in its thread.
    """
    context = CarriedContext()

    def work() -> T:
        if connections[DEFAULT_DB_ALIAS] is not getattr(_own, "connection", None):
            _keep_connection()
        # As Django does at the start of a request: replace a connection that is too old or broken.
        close_old_connections()
        return function(*args, **kwargs)

    return await asyncio.wrap_future(_threads.submit(share(), lambda: context.run(work)))


async def in_database_with_retry(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `function` as `in_database` does, and repeat it while the database cannot be reached.

    A call whose connection broke may have been committed, so `function` must allow for being called twice.

    Raises:
        OperationalError, InterfaceError: the database was away for `MAX_RETRY_SECONDS`, or its disk is full.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + MAX_RETRY_SECONDS
    while True:
        try:
            return await in_database(function, *args, **kwargs)
        except DATABASE_ERRORS as exc:
            if loop.time() > deadline or storage_problem(exc):
                raise
            logger.warning("%s; trying again", describe_outage(exc))
            await asyncio.sleep(RETRY_INTERVAL_SECONDS)
