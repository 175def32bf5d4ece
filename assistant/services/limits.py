"""How much one connection, and one member over all connections to this process, may send."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from weakref import WeakValueDictionary

from tools.context import UserId

# Frames a connection may send: a burst, then so many a second; and all of a member's connections together.
CONNECTION_BURST, CONNECTION_RATE = 60, 20.0
MEMBER_BURST, MEMBER_RATE = 600, 100.0
# Fresh pictures that a member's connections are sent at the same time: a reader that stops holds one in memory.
PICTURES_AT_ONCE = 1
# Requests that a member may send over MCP, to this process.
MCP_BURST, MCP_RATE = 300, 30.0
# Buckets of members that are kept; one that is forgotten is full again.
KEPT_BUCKETS = 10_000


class Bucket:
    """A token bucket: `burst` at once, then `rate` a second."""

    def __init__(self, burst: int, rate: float) -> None:
        self._burst = float(burst)
        self._rate = rate
        self._tokens = float(burst)
        self._filled_at = time.monotonic()

    def take(self) -> bool:
        """Take one; False if there is none left."""
        now = time.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._rate)
        self._filled_at = now
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True


_members: WeakValueDictionary[tuple[int, UserId], Bucket] = WeakValueDictionary()


def member_bucket(*, tenant_id: int, user_id: UserId) -> Bucket:
    """The bucket that all connections of a member share; it lives as long as one of them holds it."""
    key = (tenant_id, user_id)
    bucket = _members.get(key)
    if bucket is None:
        bucket = _members[key] = Bucket(MEMBER_BURST, MEMBER_RATE)
    return bucket


_gates: WeakValueDictionary[tuple[int, int, UserId], asyncio.Semaphore] = WeakValueDictionary()


def picture_gate(*, tenant_id: int, user_id: UserId) -> asyncio.Semaphore:
    """What lets a member's connections get fresh pictures, one after the other: those can be megabytes each."""
    key = (id(asyncio.get_running_loop()), tenant_id, user_id)
    gate = _gates.get(key)
    if gate is None:
        gate = _gates[key] = asyncio.Semaphore(PICTURES_AT_ONCE)
    return gate


_requests: OrderedDict[tuple[int, UserId], Bucket] = OrderedDict()


def may_request(*, tenant_id: int, user_id: UserId) -> bool:
    """Count one request of a member's over MCP; False if they have sent too many."""
    key = (tenant_id, user_id)
    bucket = _requests.setdefault(key, Bucket(MCP_BURST, MCP_RATE))
    _requests.move_to_end(key)
    if len(_requests) > KEPT_BUCKETS:
        _requests.popitem(last=False)
    return bucket.take()
