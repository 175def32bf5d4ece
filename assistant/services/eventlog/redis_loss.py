"""Notices that Redis has lost its data while the connection stayed, as with FLUSHALL."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
import uuid
from collections.abc import Callable

from redis.asyncio import Redis

from assistant.services import metrics
from assistant.services.errors import REDIS_ERRORS
from assistant.services.eventlog.redis_scripts import MARK

logger = logging.getLogger(__name__)

# A random value that is gone, or another, when Redis has lost its data.
MARK_KEY = "assistant:mark"
CHECK_SECONDS = 2.0


class LossWatch:
    """Looks every `CHECK_SECONDS` whether the mark in Redis is still the same.

    Args:
        redis: the client, which the caller closes.
        on_loss: called when it is another.
    """

    def __init__(self, redis: Redis, on_loss: Callable[[], object]) -> None:
        self._script = redis.register_script(MARK)
        self._on_loss = on_loss
        self._mark: bytes | None = None
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._watch(), name="redis-log-loss", context=contextvars.Context())

    async def look(self) -> None:
        """Read the mark, and make one if there is none."""
        mark = await self._script(keys=[MARK_KEY], args=[uuid.uuid4().hex])
        if self._mark not in (None, mark):
            logger.warning("Redis has lost its data (FLUSHALL or an eviction); readers fetch what they miss")
            metrics.count_redis_loss()
            self._on_loss()
        self._mark = mark

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _watch(self) -> None:
        while True:
            with contextlib.suppress(*REDIS_ERRORS):  # a new connection fetches everything too
                await self.look()
            await asyncio.sleep(CHECK_SECONDS)
