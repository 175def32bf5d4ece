"""The engine that starts jobs in workers at once: Procrastinate (docs/decisions/11), where its Django app is installed.

Its orders contain only the primary keys of jobs; the rows say what is to be done and whether it is done. Processes of
the role `all` have no engine, and do not import it: they look for due jobs every few seconds, as workers do besides.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Any

from django.apps import apps
from django.utils import timezone

from assistant.services.roles import has_workers

logger = logging.getLogger(__name__)

APP = "procrastinate.contrib.django"
QUEUE = TASK = "assistant.jobs"
# Jobs that one worker does at once.
AT_ONCE = 5
# How often a worker reports that it is alive, and looks for orders whose notice was lost. No job depends on either: one
# that was ordered from a worker that died is still due, and is found by its row.
HEARTBEAT_SECONDS, LOST_SECONDS = 30.0, 120.0
AGAIN_SECONDS = 5.0
# Workers look for due jobs every few seconds, so that only jobs that are due sooner than this need an order.
SOON = timedelta(seconds=10)


def is_on() -> bool:
    """Whether jobs are ordered from workers."""
    return has_workers() and apps.is_installed(APP)


def order(pk: int, due_at: datetime | None = None) -> None:
    """Tell a worker, in the current transaction, of a job that is due within `SOON`. Later ones are found by rows."""
    if is_on() and (due_at is None or due_at <= timezone.now() + SOON):
        from procrastinate.contrib.django import app  # an optional package

        app.configure_task(TASK, queue=QUEUE).defer(pk=pk)


class EngineWorker:
    """Takes this process's part of the orders; does nothing where there is no engine.

    Args:
        do: does the job with a primary key, if it is due.
    """

    def __init__(self, do: Callable[[int], Awaitable[None]]) -> None:
        self._do = do
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start taking orders; later calls do nothing."""
        if self._task is None and is_on():
            self._task = asyncio.create_task(self._run(), name="engine")

    def stop(self) -> None:
        """Stop taking orders."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        while True:
            try:
                await self._work()
            except Exception:
                logger.warning("The engine of background jobs stopped; it is started again", exc_info=True)
            await asyncio.sleep(AGAIN_SECONDS)

    async def _work(self) -> None:
        from procrastinate import App  # an optional package
        from procrastinate.contrib.django import app

        # An app of its own, which has no tasks of the host project's.
        connector: Any = app.connector
        worker = App(connector=connector.get_worker_connector())
        worker.task(name=TASK, queue=QUEUE)(self._do_ordered)
        async with worker.open_async():
            await worker.run_worker_async(
                queues=[QUEUE],
                concurrency=AT_ONCE,
                delete_jobs="always",
                install_signal_handlers=False,
                fetch_job_polling_interval=LOST_SECONDS,
                update_heartbeat_interval=HEARTBEAT_SECONDS,
                stalled_worker_timeout=LOST_SECONDS,
            )

    async def _do_ordered(self, *, pk: int) -> None:
        await self._do(pk)
