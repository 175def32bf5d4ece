"""Work that is due now and then, beside the runs: approvals that expire, and warnings of spend."""

from __future__ import annotations

import asyncio
import logging
import time

from django.db import DatabaseError

from assistant.services.db.threads import in_database
from assistant.services.errors import OUTAGE_ERRORS
from assistant.services.limits.spend_warnings import warn_of_spend
from assistant.services.runs.approval_expiry import expire_approvals

logger = logging.getLogger(__name__)

# Answering an approval checks its age anyway, and a threshold of spend is told a minute late at most.
TIMED_WORK_SECONDS = 60.0


class TimedWork:
    """The timed work of one event loop. All processes do it; each thing is done once."""

    def __init__(self) -> None:
        self._next_at = 0.0
        self._warnings: asyncio.Task[None] | None = None

    async def do_if_due(self) -> None:
        """Do it, if it was not done for `TIMED_WORK_SECONDS`. Sending e-mail is not waited for."""
        if time.monotonic() < self._next_at:
            return
        await in_database(expire_approvals)
        if self._warnings is None or self._warnings.done():
            self._warnings = asyncio.create_task(self._warn(), name="spend-warnings")
        self._next_at = time.monotonic() + TIMED_WORK_SECONDS

    def stop(self) -> None:
        if self._warnings is not None:
            self._warnings.cancel()

    async def _warn(self) -> None:
        try:
            await warn_of_spend()
        except (*OUTAGE_ERRORS, DatabaseError, OSError):
            logger.warning("Warnings of spend could not reach the database", exc_info=True)
        except Exception:
            logger.exception("Warnings of spend failed")
