"""The Django app of the Redis that server processes share."""

from __future__ import annotations

from django.conf import settings

from assistant.optional_apps import OptionalApp


class RedisConfig(OptionalApp):
    name = "assistant.contrib.redis"
    label = "assistant_redis"
    verbose_name = "Assistant: Redis"
    packages = {"redis": "redis"}

    def register(self) -> None:
        from assistant.contrib.redis import probe, stores
        from assistant.contrib.redis.problems import sentence_of
        from assistant.services import errors, readiness
        from assistant.services.connections import connection_limits
        from assistant.services.eventlog import configured

        errors.explain_with(sentence_of)
        configured.share_by(stores.log, is_on=_is_on)
        connection_limits.count_by(stores.limiter, is_on=_is_on)
        readiness.check_with("redis", probe.outcome)


def _is_on() -> bool:
    return bool(settings.ASSISTANT_REDIS_URL)
