"""Limits the open connections of all server processes, which Redis counts."""

from __future__ import annotations

import logging

from redis.asyncio import Redis

from assistant.services.connections.connection_limits import (
    SLOT_SECONDS,
    LocalConnectionLimiter,
    Slot,
    quotas_of,
    too_many,
)
from assistant.services.errors import describe_outage
from assistant.services.outage_errors import REDIS_ERRORS
from assistant.services.tenancy.members import Member

logger = logging.getLogger(__name__)

REDIS_TIMEOUT_SECONDS = 2.0

# One script, so that two processes never take the last slot together. It uses the clock of Redis. Returns 0, or which
# of the two counters has reached its limit.
# KEYS: the tenant's and the member's counter. ARGV: the slot, its lifetime in seconds, the limit of each counter.
ACQUIRE_SCRIPT = """
local now = tonumber(redis.call('TIME')[1])
for i = 1, 2 do
  redis.call('ZREMRANGEBYSCORE', KEYS[i], '-inf', now)
  local limit = tonumber(ARGV[2 + i])
  if limit > 0 and redis.call('ZCARD', KEYS[i]) >= limit then return i end
end
for i = 1, 2 do
  redis.call('ZADD', KEYS[i], now + tonumber(ARGV[2]), ARGV[1])
  redis.call('EXPIRE', KEYS[i], 2 * tonumber(ARGV[2]))
end
return 0
"""
# KEYS: a counter. ARGV: the slots' lifetime in seconds, and the slots.
RENEW_SCRIPT = """
local expires = tonumber(redis.call('TIME')[1]) + tonumber(ARGV[1])
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], expires, ARGV[i]) end
redis.call('EXPIRE', KEYS[1], 2 * tonumber(ARGV[1]))
"""


class RedisConnectionLimiter:
    """Counts the connections of all processes; only those of this process while Redis cannot be reached."""

    def __init__(self, url: str) -> None:
        timeout = REDIS_TIMEOUT_SECONDS
        self._redis: Redis = Redis.from_url(url, socket_timeout=timeout, socket_connect_timeout=timeout)
        self._acquire = self._redis.register_script(ACQUIRE_SCRIPT)
        self._renew = self._redis.register_script(RENEW_SCRIPT)
        self._local = LocalConnectionLimiter()
        self._slots: dict[str, Slot] = {}

    async def acquire(self, member: Member) -> Slot:
        slot = await self._local.acquire(member)
        try:
            quotas = quotas_of(member)
            limits = [quota.connections for quota in quotas]
            full = int(await self._acquire(keys=list(slot.keys), args=[slot.id, SLOT_SECONDS, *limits]))
        except REDIS_ERRORS as exc:
            logger.warning("%s: connections are counted in this process only", describe_outage(exc))
            full = 0
        except BaseException:
            await self._local.release(slot)
            raise
        if full:
            await self._local.release(slot)
            raise too_many(quotas[full - 1])
        self._slots[slot.id] = slot
        return slot

    async def release(self, slot: Slot) -> None:
        self._slots.pop(slot.id, None)
        await self._local.release(slot)
        try:
            for key in slot.keys:
                await self._redis.zrem(key, slot.id)
        except REDIS_ERRORS as exc:
            logger.info("%s: the slot of a closed connection stays taken until it expires", describe_outage(exc))

    async def renew(self) -> None:
        by_key: dict[str, list[str]] = {}
        for slot in list(self._slots.values()):
            for key in slot.keys:
                by_key.setdefault(key, []).append(slot.id)
        try:
            for key, ids in by_key.items():
                await self._renew(keys=[key], args=[SLOT_SECONDS, *ids])
        except REDIS_ERRORS as exc:
            logger.warning("%s: the slots of open connections are not renewed", describe_outage(exc))

    async def close(self) -> None:
        await self._redis.aclose()
