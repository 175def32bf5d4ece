"""The one crossing from async code to the database: a bounded pool of threads that belongs to the product alone.

`database_sync_to_async` shares one thread with everything else in the process, so one slow caller stalls every tenant.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from django.db import InterfaceError, OperationalError, close_old_connections, connection

from assistant.services import metrics

P = ParamSpec("P")
T = TypeVar("T")
logger = logging.getLogger(__name__)

# What is raised while the database is away.
AWAY = (OperationalError, InterfaceError)

# How long a database that is away is waited for, by those who wait.
PATIENCE_SECONDS = 30.0
RETRY_SECONDS = 0.5

# SQLite has one writer at a time: a second thread would only wait for its lock. On PostgreSQL four threads carried
# 2.2 times one thread's turns on two cores.
_THREADS = 1 if connection.vendor == "sqlite" else 4
_pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="orm")

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


async def in_database_patiently(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
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
        except AWAY:
            if loop.time() > deadline:
                raise
            logger.warning("The database is away; a run waits for it")
            await asyncio.sleep(RETRY_SECONDS)
