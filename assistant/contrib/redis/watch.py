"""Notices that Redis has lost its data while the connection stayed, as with FLUSHALL, and that it refuses writes."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import uuid
from collections.abc import Callable

from redis.asyncio import Redis

from assistant.contrib.redis.problems import RedisProblem, redis_problem
from assistant.contrib.redis.scripts import MARK
from assistant.services.errors import describe_outage
from assistant.services.metrics import Series
from assistant.services.outage_errors import REDIS_ERRORS

logger = logging.getLogger(__name__)

# A random value that is gone, or another, when Redis has lost its data.
MARK_KEY = "assistant:mark"
CHECK_SECONDS = 2.0

_losses = Series("assistant_redis_losses", "Times at which Redis had lost its data.")


class RedisWatch:
    """Looks every `CHECK_SECONDS` whether the mark in Redis can be written, and is still the same.

    Args:
        redis: the client, which the caller closes.
        on_loss: called when it is another.

    Attributes:
        problem: why Redis refuses writes; None if it does not, or cannot be reached.
    """

    def __init__(self, redis: Redis, on_loss: Callable[[], object]) -> None:
        self._script = redis.register_script(MARK)
        self._on_loss = on_loss
        self._mark: bytes | None = None
        self._task: asyncio.Task[None] | None = None
        self.problem: RedisProblem | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._watch(), name="redis-log-watch", context=contextvars.Context())

    def note(self, exc: Exception) -> None:
        """Take note of an exception of any command."""
        problem = redis_problem(exc)
        if problem in {"full", "read-only"} and problem != self.problem:
            logger.error("%s; new runs are refused until it accepts writes again", describe_outage(exc))
            self.problem = problem

    async def look(self) -> None:
        """Read the mark, and make one if there is none. Raises what Redis raises."""
        mark = await self._script(keys=[MARK_KEY], args=[uuid.uuid4().hex])
        if self.problem is not None:
            logger.warning("Redis takes writes again")
            self.problem = None
        if self._mark not in (None, mark):
            logger.warning("Redis has lost its data (FLUSHALL or an eviction); readers fetch what they miss")
            _losses.add()
            self._on_loss()
        self._mark = mark

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _watch(self) -> None:
        while True:
            try:
                await self.look()
            except REDIS_ERRORS as exc:
                # A loss during an outage needs nothing here: a new connection fetches everything too.
                self.note(exc)
            await asyncio.sleep(CHECK_SECONDS)
