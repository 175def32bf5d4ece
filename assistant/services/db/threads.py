"""Runs database code for async callers, in a bounded pool of threads of its own.

`database_sync_to_async` shares one thread with all other synchronous code of the process, so that one slow caller
delays every tenant.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

from django.db import DEFAULT_DB_ALIAS, close_old_connections, connection, connections

from assistant.services import metrics
from assistant.services.errors import DATABASE_ERRORS, storage_problem

P = ParamSpec("P")
T = TypeVar("T")
logger = logging.getLogger(__name__)


# `in_database_with_retry` waits this long for a database that cannot be reached.
MAX_RETRY_SECONDS = 30.0
RETRY_INTERVAL_SECONDS = 0.5

# SQLite has one writer at a time: a second thread would only wait for its lock. On PostgreSQL four threads completed
# 2.2 times as many turns as one thread, on two cores.
_THREADS = 1 if connection.vendor == "sqlite" else 4
# A connection to a database server is replaced after this time. SQLite's is only an open file, and is kept.
_CONNECTION_MAX_AGE_SECONDS = 60


def _keep_connection() -> None:
    """Keep this thread's connection open between calls, whatever `CONN_MAX_AGE` says.

    The setting applies to all threads, and under ASGI each request of a synchronous view has a thread of its own, whose
    kept connection nobody would use again or close. With psycopg's pool, connections belong to the pool.
    """
    own = connections[DEFAULT_DB_ALIAS]
    if own.settings_dict["OPTIONS"].get("pool"):
        return
    kept: dict[str, Any] = {"CONN_MAX_AGE": None}
    if own.vendor != "sqlite":
        # Checked before the first query of a call, so that a restart of the database fails no call.
        kept = {"CONN_MAX_AGE": _CONNECTION_MAX_AGE_SECONDS, "CONN_HEALTH_CHECKS": True}
    own.settings_dict = {**own.settings_dict, **kept}


_pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="orm", initializer=_keep_connection)

metrics.watch("assistant_database_backlog", "Calls that wait for a database thread.", _pool._work_queue.qsize)


async def in_database(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `function` in a database thread and return its value.

    If the caller is cancelled, a call that has started is completed in its thread.
    """
    context = contextvars.copy_context()

    def work() -> T:
        # As Django does at the start of a request: replace a connection that is too old or broken.
        close_old_connections()
        return function(*args, **kwargs)

    return await asyncio.get_running_loop().run_in_executor(_pool, context.run, work)


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
            logger.warning("The database cannot be reached; trying again: %s", exc)
            await asyncio.sleep(RETRY_INTERVAL_SECONDS)
