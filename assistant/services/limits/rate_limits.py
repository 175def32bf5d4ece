"""How much one connection, one member and one credential may send to this process."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Hashable
from weakref import WeakValueDictionary

from assistant.services.token_bucket import Bucket, Buckets, digest_of
from assistant.toolkit.context import UserId
from assistant.toolkit.per_loop import PerLoop

# Frames a connection may send: a burst, then so many a second; and all of a member's connections together.
CONNECTION_BURST, CONNECTION_RATE = 60, 20.0
MEMBER_BURST, MEMBER_RATE = 600, 100.0
# Fresh pictures that a member's connections are sent at the same time: a reader that stops holds one in memory.
PICTURES_AT_ONCE = 1
# Requests that a member may send over MCP, to this process.
MCP_BURST, MCP_RATE = 300, 30.0
# Handshakes with one credential, to this process: a burst, for a backend may have a thousand connections by one key,
# then so many a second. The others wait for their turn: who comes again at once costs others little.
HANDSHAKE_BURST, HANDSHAKE_RATE, HANDSHAKE_WAIT_SECONDS = 2_000, 50.0, 10.0
# Who connects, asks for nothing that is there and leaves within a second (people who leave a page take longer) is
# counted as so many more: two a second of that kind. A debt of more is let off, so that who stops is welcome soon.
COMES_TO_STAY_SECONDS, CAME_FOR_NOTHING, MOST_OWED = 1.0, 24.0, 500.0
# Who floods is told so after this many seconds: a client that tries again at once costs the others next to nothing.
# Who goes on is told so no more often than so many times a second after a burst, all its clients together.
HOLD_BACK_SECONDS, HOLD_BACK_MOST_SECONDS = 1.0, 10.0
REFUSAL_BURST, REFUSAL_RATE = 10, 1.0
# Of that time, at least this share: who began at the same moment would else come again at the same moment.
HELD_BACK_SHARE = 0.5
# So many at once are held back in this process, and of one of them; the rest are told at once, for each that waits
# takes memory.
HELD_BACK, HELD_BACK_OF_ONE = 500, 50


_members: WeakValueDictionary[tuple[int, UserId], Bucket] = WeakValueDictionary()


def member_bucket(*, tenant_id: int, user_id: UserId) -> Bucket:
    """The bucket that all connections of a member share; it lives as long as one of them holds it."""
    key = (tenant_id, user_id)
    bucket = _members.get(key)
    if bucket is None:
        bucket = _members[key] = Bucket(MEMBER_BURST, MEMBER_RATE)
    return bucket


_gates: PerLoop[WeakValueDictionary[tuple[int, UserId], asyncio.Semaphore]] = PerLoop(WeakValueDictionary)


def picture_gate(*, tenant_id: int, user_id: UserId) -> asyncio.Semaphore:
    """What lets a member's connections get fresh pictures, one after the other: those can be megabytes each."""
    gates, key = _gates.get(), (tenant_id, user_id)
    gate = gates.get(key)
    if gate is None:
        gate = gates[key] = asyncio.Semaphore(PICTURES_AT_ONCE)
    return gate


_requests = Buckets(MCP_BURST, MCP_RATE)
_handshakes = Buckets(HANDSHAKE_BURST, HANDSHAKE_RATE)


def may_request(*, tenant_id: int, user_id: UserId) -> bool:
    """Count one request of a member's over MCP; False if they have sent too many."""
    return _requests.of((tenant_id, user_id)).take()


class Arrival:
    """One websocket's coming and going, by what it shows to be let in; `is_of_use` once something was done for it.

    `digest` stands for that.
    """

    def __init__(self, credential: str) -> None:
        self.digest = digest_of(credential)
        self._bucket = _handshakes.of(self.digest)
        self._began: float | None = None
        self.is_of_use = False

    async def may_knock(self) -> bool:
        """Wait for its turn; False if too many wait with the same credential."""
        seconds = self._bucket.reserve(HANDSHAKE_WAIT_SECONDS)
        if seconds:
            await asyncio.sleep(seconds)
        return seconds is not None

    def begin(self) -> None:
        """They are let in."""
        self._began = time.monotonic()

    def end(self) -> None:
        """They leave: unless it was of use, or they stayed, the next with the credential wait longer."""
        began, self._began = self._began, None
        if began is not None and not self.is_of_use and time.monotonic() - began < COMES_TO_STAY_SECONDS:
            self._bucket.charge(CAME_FOR_NOTHING, MOST_OWED)


_held_back: Counter[Hashable] = Counter()
_refusals = Buckets(REFUSAL_BURST, REFUSAL_RATE)


async def hold_back(who: Hashable) -> None:
    """Let somebody who floods wait before they are told: a member, or what stands for whoever it is."""
    if _held_back.total() >= HELD_BACK or _held_back[who] >= HELD_BACK_OF_ONE:
        return
    seconds = _refusals.of(who).reserve(HOLD_BACK_MOST_SECONDS)
    _held_back[who] += 1
    try:
        whole = HOLD_BACK_MOST_SECONDS if seconds is None else max(HOLD_BACK_SECONDS, seconds)
        await asyncio.sleep(whole * random.uniform(HELD_BACK_SHARE, 1.0))  # noqa: S311 - no secret  # nosec B311
    finally:
        _held_back[who] -= 1
        if not _held_back[who]:
            del _held_back[who]
