"""Whether Redis takes writes, for `readyz`."""

from __future__ import annotations

import logging

from django.conf import settings

from assistant.contrib.redis.problems import redis_problem
from assistant.services.db.write_probe import FAILED, OK
from assistant.services.errors import describe_outage

logger = logging.getLogger(__name__)

SECONDS = 2.0
KEY = "assistant:probe"
KEEP_SECONDS = 60


def outcome() -> str | None:
    """Return "ok", "full", "read-only" or "failed"; None if no Redis is configured."""
    if not settings.ASSISTANT_REDIS_URL:
        return None
    import redis

    try:
        with redis.Redis.from_url(
            settings.ASSISTANT_REDIS_URL, socket_timeout=SECONDS, socket_connect_timeout=SECONDS
        ) as client:
            # Not PING: a Redis that refuses writes answers it too.
            client.set(KEY, "", ex=KEEP_SECONDS)
            return OK
    except redis.RedisError as exc:
        logger.error("Not ready: %s", describe_outage(exc))
        problem = redis_problem(exc)
        return problem if problem in {"full", "read-only"} else FAILED
