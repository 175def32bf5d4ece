"""The work of all tenants that is done at moments: expired approvals are marked, and due jobs done."""

from __future__ import annotations

import asyncio
import logging
import time

from django.db import DatabaseError

from assistant.services.assistants import scheduled_prompts  # noqa: F401 - registers its jobs
from assistant.services.db.threads import in_database
from assistant.services.jobs.jobs import do_due_jobs
from assistant.services.runs.approval_expiry import expire_approvals

logger = logging.getLogger(__name__)

# How often due jobs are looked for: one begins so many seconds after its moment, at most.
JOBS_SECONDS = 5.0
# How often expired approvals are marked. Answering one checks its age anyway.
APPROVAL_EXPIRY_SECONDS = 60.0


class TimedWork:
    """The timed work of one process, which its housekeeping starts again and again."""

    def __init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._next_look_at = self._next_expiry_at = 0.0

    def start(self) -> None:
        """Start what is due in a task, unless one is still at work: leases are renewed meanwhile."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run(), name="timed-work")

    def stop(self) -> None:
        """Stop the task. A job that has begun in the database is completed."""
        if self._task is not None:
            self._task.cancel()

    async def _run(self) -> None:
        try:
            if time.monotonic() >= self._next_expiry_at:
                await in_database(expire_approvals)
                self._next_expiry_at = time.monotonic() + APPROVAL_EXPIRY_SECONDS
            if time.monotonic() >= self._next_look_at:
                await in_database(do_due_jobs)
                self._next_look_at = time.monotonic() + JOBS_SECONDS
        except (DatabaseError, OSError):
            logger.warning("Timed work could not reach the database", exc_info=True)
        except Exception:
            logger.exception("Timed work failed")
