"""Makes what is kept in Redis. The package is imported when something is."""

from __future__ import annotations

from collections.abc import Callable

from django.conf import settings

from assistant.services.connections.connection_limits import ConnectionLimiter
from assistant.services.eventlog.log import EventLog


def log(on_control: Callable[[str], None]) -> EventLog:
    """Return a new log of events; `on_control` as in `configured_log`."""
    from assistant.contrib.redis.log import RedisLog

    return RedisLog(settings.ASSISTANT_REDIS_URL, on_control)


def limiter() -> ConnectionLimiter:
    """Return a new limiter of the connections of all processes."""
    from assistant.contrib.redis.connection_limits import RedisConnectionLimiter

    return RedisConnectionLimiter(settings.ASSISTANT_REDIS_URL)
