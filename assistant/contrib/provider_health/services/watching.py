"""Tells open chats when the model that answers in them begins to fail, and when it answers again.

While threads are followed, each process looks every few seconds: one query of the runs of the last minutes.
"""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from assistant.contrib.provider_health.services.answers import AskedModel
from assistant.contrib.provider_health.services.failing import read_failing
from assistant.services.db.threads import in_database
from assistant.services.eventlog.log import ThreadLog
from assistant.toolkit.per_loop import PerLoop

logger = logging.getLogger(__name__)

CHECK_SECONDS = 15.0


@dataclass(slots=True)
class _Watched:
    """The followed logs of one event loop, how often each is followed, and the failing models as last read."""

    logs: Counter[ThreadLog] = field(default_factory=Counter)
    failing: frozenset[AskedModel] = frozenset()
    checker: asyncio.Task[None] | None = None


_watched_by_loop = PerLoop(_Watched)


def watch_providers(tenant_id: int, log: ThreadLog) -> tuple[bool, Callable[[], None]]:
    """Notify a log's readers when a model begins or ceases to fail, until the returned function is called.

    Returned is also whether any model was failing when that was last read.
    """
    watched = _watched_by_loop.get()
    watched.logs[log] += 1
    if watched.checker is None or watched.checker.done():
        # An empty context: the task must not inherit the tenant of the connection that starts it.
        watched.checker = asyncio.create_task(_check(watched), name="failing-models", context=contextvars.Context())

    def stop() -> None:
        watched.logs[log] -= 1
        if not watched.logs[log]:
            del watched.logs[log]

    return bool(watched.failing), stop


async def _check(watched: _Watched) -> None:
    while watched.logs:
        try:
            failing = await in_database(read_failing)
        except Exception:
            logger.warning("Which models are failing could not be read", exc_info=True)
        else:
            if failing != watched.failing:
                watched.failing = failing
                for log in list(watched.logs):
                    log.notify_change("provider")
        await asyncio.sleep(CHECK_SECONDS)
    watched.failing = frozenset()
