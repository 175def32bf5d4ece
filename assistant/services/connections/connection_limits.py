"""How many websockets and event streams are open: in this process, or in all of them where there is Redis."""

from __future__ import annotations

import logging
import uuid
from collections import Counter
from dataclasses import dataclass
from typing import Protocol

from redis.asyncio import Redis

from assistant.core.values.quota_kinds import Quota
from assistant.services.errors import REDIS_AWAY
from assistant.services.tenancy.members import Member

logger = logging.getLogger(__name__)

SEATS = "assistant:seats:"
# A process that died holds its seats for so long; one that lives renews them with its housekeeping, every 5 s.
SEAT_SECONDS = 20
REDIS_PATIENCE_SECONDS = 2.0

# One script, so that two processes never take the last seat together. The clock is Redis' own.
TAKE = """
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
RENEW = """
local until_then = tonumber(redis.call('TIME')[1]) + tonumber(ARGV[1])
for i = 2, #ARGV do redis.call('ZADD', KEYS[1], until_then, ARGV[i]) end
redis.call('EXPIRE', KEYS[1], 2 * tonumber(ARGV[1]))
"""


class NoSeat(Exception):
    """There are too many connections; the sentence can be shown."""


@dataclass(frozen=True, slots=True)
class Seat:
    """A connection's place; `keys` are the tenant's and the member's."""

    id: str
    keys: tuple[str, str]


class Seats(Protocol):
    """Gives connections their seats."""

    async def take(self, member: Member) -> Seat:
        """A seat for one more connection. Raises `NoSeat`."""

    async def leave(self, seat: Seat) -> None:
        """The connection is closed."""

    async def renew(self) -> None:
        """Say that this process still holds its seats."""

    async def close(self) -> None:
        """Let go of connections."""


class LocalSeats:
    """The connections of this process."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()

    async def take(self, member: Member) -> Seat:
        seat = _seat(member)
        for key, quota in zip(seat.keys, _quotas(member), strict=True):
            if quota.connections and self._taken[key] >= quota.connections:
                raise no_seat(quota)
        self._taken.update(seat.keys)
        return seat

    async def leave(self, seat: Seat) -> None:
        for key in seat.keys:
            self._taken[key] -= 1
            if not self._taken[key]:
                del self._taken[key]

    async def renew(self) -> None:
        return None

    async def close(self) -> None:
        return None


class RedisSeats:
    """The connections of all processes. While Redis is away, those of this one are counted, and nobody waits."""

    def __init__(self, url: str) -> None:
        patience = REDIS_PATIENCE_SECONDS
        self._redis: Redis = Redis.from_url(url, socket_timeout=patience, socket_connect_timeout=patience)
        self._take = self._redis.register_script(TAKE)
        self._renew = self._redis.register_script(RENEW)
        self._local = LocalSeats()
        self._held: dict[str, Seat] = {}

    async def take(self, member: Member) -> Seat:
        seat = await self._local.take(member)
        try:
            quotas = _quotas(member)
            limits = [quota.connections for quota in quotas]
            full = int(await self._take(keys=list(seat.keys), args=[seat.id, SEAT_SECONDS, *limits]))
        except REDIS_AWAY:
            logger.warning("Connections are counted in this process alone: Redis is away")
            full = 0
        except BaseException:
            await self._local.leave(seat)
            raise
        if full:
            await self._local.leave(seat)
            raise no_seat(quotas[full - 1])
        self._held[seat.id] = seat
        return seat

    async def leave(self, seat: Seat) -> None:
        self._held.pop(seat.id, None)
        await self._local.leave(seat)
        try:
            for key in seat.keys:
                await self._redis.zrem(key, seat.id)
        except REDIS_AWAY:
            logger.info("A seat is given up when its time is over: Redis is away")

    async def renew(self) -> None:
        by_key: dict[str, list[str]] = {}
        for seat in list(self._held.values()):
            for key in seat.keys:
                by_key.setdefault(key, []).append(seat.id)
        try:
            for key, ids in by_key.items():
                await self._renew(keys=[key], args=[SEAT_SECONDS, *ids])
        except REDIS_AWAY:
            logger.warning("Seats could not be renewed: Redis is away")

    async def close(self) -> None:
        await self._redis.aclose()


def _seat(member: Member) -> Seat:
    tenant = f"{SEATS}{member.tenant_id}"
    return Seat(uuid.uuid4().hex, (tenant, f"{tenant}:{member.user_id}"))


def _quotas(member: Member) -> tuple[Quota, Quota]:
    return member.quotas.tenant, member.quotas.member


def no_seat(quota: Quota) -> NoSeat:
    """What is told of a connection too many; it has to fit into a websocket's reason of 123 bytes."""
    whose = "your organisation" if quota.scope == "tenant" else "you"
    return NoSeat(f"Too many connections: {whose} may have {quota.connections} open. Close one first.")
