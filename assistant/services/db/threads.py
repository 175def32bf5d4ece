"""The one crossing from async code to the database: a bounded pool of threads that belongs to the product alone.

`database_sync_to_async` shares one thread with everything else in the process, so one slow caller stalls every tenant.
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
from assistant.services.errors import DATABASE_ERRORS

P = ParamSpec("P")
T = TypeVar("T")
logger = logging.getLogger(__name__)


# How long a database that is away is waited for, by those who wait.
PATIENCE_SECONDS = 30.0
RETRY_SECONDS = 0.5

# SQLite has one writer at a time: a second thread would only wait for its lock. On PostgreSQL four threads carried
# 2.2 times one thread's turns on two cores.
_THREADS = 1 if connection.vendor == "sqlite" else 4
# How long a thread uses one connection to a database server. SQLite's opens a file, and is kept.
_MAX_AGE_SECONDS = 60


def _keep_connection() -> None:
    """Let this thread's connection outlive its calls, whatever the settings say.

    `CONN_MAX_AGE` is for all threads, and under ASGI each request of a synchronous view has a thread of its own: what
    these kept, nobody would use again or close. With a pool of psycopg's the connections belong to that.
    """
    own = connections[DEFAULT_DB_ALIAS]
    if own.settings_dict["OPTIONS"].get("pool"):
        return
    kept: dict[str, Any] = {"CONN_MAX_AGE": None}
    if own.vendor != "sqlite":
        # Checked before the first query of a call, so that the database's restart is not felt.
        kept = {"CONN_MAX_AGE": _MAX_AGE_SECONDS, "CONN_HEALTH_CHECKS": True}
    own.settings_dict = {**own.settings_dict, **kept}


_pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="orm", initializer=_keep_connection)

metrics.watch("assistant_database_backlog", "Calls that wait for a database thread.", _pool._work_queue.qsize)


async def in_database(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `function` in a database thread and return its value.

    A started call is never abandoned half-way: cancelling the caller leaves it to finish in its thread.
    """
    context = contextvars.copy_context()

    def work() -> T:
        # As at the start of a request: a connection that is too old, or broken, is replaced.
        close_old_connections()
        return function(*args, **kwargs)

    return await asyncio.get_running_loop().run_in_executor(_pool, context.run, work)


async def in_database_with_retry(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """As `in_database`, for what a running run cannot do without: a database that is away is waited for.

    A connection that broke may have carried the work out, so `function` must bear to be called twice.

    Raises:
        OperationalError, InterfaceError: it stayed away for `PATIENCE_SECONDS`.
    """
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE_SECONDS
    while True:
        try:
            return await in_database(function, *args, **kwargs)
        except DATABASE_ERRORS as exc:
            if loop.time() > deadline:
                raise
            logger.warning("The database is away; a run waits for it: %s", exc)
            await asyncio.sleep(RETRY_SECONDS)
