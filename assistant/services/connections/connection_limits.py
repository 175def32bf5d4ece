"""Limits how many websockets and event streams a tenant and a member may have open.

They are counted over all processes if Redis is configured, otherwise only in this process.
"""

from __future__ import annotations

import logging
import uuid
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from django.conf import settings
from django.utils.translation import gettext as _

from assistant.core.values.quota_kinds import Quota
from assistant.services.errors import describe_outage
from assistant.services.outage_errors import REDIS_ERRORS
from assistant.services.tenancy.members import Member

if TYPE_CHECKING:
    from redis.asyncio import Redis

logger = logging.getLogger(__name__)

KEY_PREFIX = "assistant:connections:"
# How long the slots of a process that died stay taken. A live process renews its own in the housekeeping of `Runs`.
SLOT_SECONDS = 20
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


class TooManyConnections(Exception):
    """The limit of open connections is reached; the message can be shown to the user."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One counted connection; `keys` are the counters of its tenant and of its member."""

    id: str
    keys: tuple[str, str]


class ConnectionLimiter(Protocol):
    """Counts open connections against the limits of tenants and members."""

    async def acquire(self, member: Member) -> Slot:
        """Count one more connection. Raises `TooManyConnections`."""

    async def release(self, slot: Slot) -> None:
        """Stop counting a connection that was closed."""

    async def renew(self) -> None:
        """Extend the slots of this process, which otherwise expire after `SLOT_SECONDS`."""

    async def close(self) -> None:
        """Close the connections to Redis."""


class LocalConnectionLimiter:
    """Counts the connections of this process."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()

    async def acquire(self, member: Member) -> Slot:
        slot = _slot(member)
        for key, quota in zip(slot.keys, _quotas(member), strict=True):
            if quota.connections and self._open[key] >= quota.connections:
                raise _too_many(quota)
        self._open.update(slot.keys)
        return slot

    async def release(self, slot: Slot) -> None:
        for key in slot.keys:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]

    async def renew(self) -> None:
        return None

    async def close(self) -> None:
        return None


class RedisConnectionLimiter:
    """Counts the connections of all processes; only those of this process while Redis cannot be reached."""

    def __init__(self, url: str) -> None:
        timeout = REDIS_TIMEOUT_SECONDS
        from redis.asyncio import Redis

        self._redis: Redis = Redis.from_url(url, socket_timeout=timeout, socket_connect_timeout=timeout)
        self._acquire = self._redis.register_script(ACQUIRE_SCRIPT)
        self._renew = self._redis.register_script(RENEW_SCRIPT)
        self._local = LocalConnectionLimiter()
        self._slots: dict[str, Slot] = {}

    async def acquire(self, member: Member) -> Slot:
        slot = await self._local.acquire(member)
        try:
            quotas = _quotas(member)
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
            raise _too_many(quotas[full - 1])
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


def configured_limiter() -> ConnectionLimiter:
    """Return a new limiter, over all processes if Redis is configured."""
    return (
        RedisConnectionLimiter(settings.ASSISTANT_REDIS_URL)
        if settings.ASSISTANT_REDIS_URL
        else LocalConnectionLimiter()
    )


def _slot(member: Member) -> Slot:
    tenant = f"{KEY_PREFIX}{member.tenant_id}"
    return Slot(uuid.uuid4().hex, (tenant, f"{tenant}:{member.user_id}"))


def _quotas(member: Member) -> tuple[Quota, Quota]:
    return member.quotas.tenant, member.quotas.member


def _too_many(quota: Quota) -> TooManyConnections:
    """Return the exception for a limit, whose message says which."""
    if quota.scope == "tenant":
        sentence = _("Too many connections: your organisation may have %(count)d open. Close one first.")
    else:
        sentence = _("Too many connections: you may have %(count)d open. Close one first.")
    return TooManyConnections(sentence % {"count": quota.connections})
