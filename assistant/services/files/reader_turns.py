"""Shares the readers of files: tenants take turns, none holds all places, and a tenant's members come first.

The seconds of reading are limited.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from cachetools import TTLCache
from django.conf import settings

from assistant.services.round_robin import RoundRobin
from assistant.services.tenancy.members import Member
from assistant.services.token_bucket import Buckets
from assistant.toolkit.context import UserId

# How many files at the full time each may have read at once, and how many seconds of reading a second gives back.
PERSON_BURST, PERSON_RATE = 2, 1 / 30
VISITORS_BURST, VISITORS_RATE = 4, 1 / 20
GROUP_BURST, GROUP_RATE = 10, 1 / 10
# Files that took too long are remembered for an hour: on a busy machine an honest one may have been among them.
_MAX_KNOWN, _KNOWN_SECONDS = 10_000, 3600.0


@dataclass(frozen=True, slots=True)
class Uploader:
    """Whose file is read.

    Attributes:
        group: who takes turns together: "tenant-1", or "staff-1" for a user of the control panel, whose form has not
            been checked when its file is read.
        person: the uploader among them; 0 for a program, which has no limit of its own.
        is_visitor: whether this is an end user. Those of a tenant have a limit together, since anybody may be one, and
            its members come first.
        is_operator: whether the seconds of reading are not limited. Operators take turns too.
    """

    group: str
    person: UserId = 0
    is_visitor: bool = False
    is_operator: bool = False

    @classmethod
    def of(cls, member: Member) -> Uploader:
        """Return the uploader that a member is."""
        return cls(f"tenant-{member.tenant_id}", member.user_id, member.is_end_user)


class FairPlaces:
    """A number of places for which groups take turns. While there are two or more, no group holds all of them.

    Within a group members come before visitors, who leave one of the places that the group may hold for them.
    """

    def __init__(self, places: int) -> None:
        self._free = places
        self._most_of_one = max(1, places - 1)
        self._most_of_visitors = max(1, self._most_of_one - 1)
        self._held: Counter[str] = Counter()
        self._held_by_visitors: Counter[str] = Counter()
        self._waiting: RoundRobin[str, tuple[Uploader, Future[None]]] = RoundRobin()
        self._lock = threading.Lock()

    def ask(self, uploader: Uploader) -> Future[None]:
        """Return a future that is done when the uploader has a place, which they give back with `release`."""
        turn: Future[None] = Future()
        with self._lock:
            self._waiting.add(uploader.group, (uploader, turn))
            self._grant()
        return turn

    def release(self, uploader: Uploader) -> None:
        """Give a place back."""
        with self._lock:
            self._free += 1
            self._count(uploader, -1)
            self._grant()

    def give_up(self, uploader: Uploader, turn: Future[None]) -> None:
        """Wait no longer for a turn; if it has come meanwhile, give its place back."""
        with self._lock:
            was_waiting = self._waiting.remove(uploader.group, (uploader, turn))
        if not was_waiting and not turn.cancelled():
            self.release(uploader)

    def _grant(self) -> None:
        while self._free:
            waiting = next(filter(None, map(self._next_of, self._waiting)), None)
            if waiting is None:
                return
            uploader, turn = waiting
            self._waiting.remove(uploader.group, waiting)
            if turn.set_running_or_notify_cancel():
                self._free -= 1
                self._count(uploader, 1)
                turn.set_result(None)

    def _next_of(self, group: str) -> tuple[Uploader, Future[None]] | None:
        """Return who of a group is next, None if nobody of it may have a place now."""
        if self._held[group] >= self._most_of_one:
            return None
        first = min(self._waiting.of(group), key=lambda waiting: waiting[0].is_visitor)
        if first[0].is_visitor and self._held_by_visitors[group] >= self._most_of_visitors:
            return None
        return first

    def _count(self, uploader: Uploader, change: int) -> None:
        for held in (self._held, self._held_by_visitors) if uploader.is_visitor else (self._held,):
            held[uploader.group] += change
            if not held[uploader.group]:
                del held[uploader.group]

    @contextmanager
    def held(self, uploader: Uploader, seconds: float) -> Iterator[bool]:
        """Hold a place in a block; false if none became free within `seconds`."""
        turn = self.ask(uploader)
        try:
            turn.result(seconds)
        except TimeoutError:
            self.give_up(uploader, turn)
            yield False
            return
        try:
            yield True
        finally:
            self.release(uploader)

    @asynccontextmanager
    async def held_in_loop(self, uploader: Uploader) -> AsyncIterator[None]:
        """Hold a place in a block of a coroutine."""
        turn = self.ask(uploader)
        try:
            await asyncio.wrap_future(turn)
        except asyncio.CancelledError:
            self.give_up(uploader, turn)
            raise
        try:
            yield
        finally:
            self.release(uploader)


class ReaderSeconds:
    """How long files may be read for each person, for the visitors of a tenant and for a tenant, in this process.

    Args:
        seconds: what one file may take at most.
    """

    def __init__(self, seconds: float) -> None:
        self._of_persons = Buckets(math.ceil(PERSON_BURST * seconds), PERSON_RATE)
        self._of_visitors = Buckets(math.ceil(VISITORS_BURST * seconds), VISITORS_RATE)
        self._of_groups = Buckets(math.ceil(GROUP_BURST * seconds), GROUP_RATE)
        self._lock = threading.Lock()

    def wait(self, uploader: Uploader) -> float:
        """Return the seconds until another file of the uploader may be read, 0 if it may be now."""
        return self.count(uploader, 0.0)

    def count(self, uploader: Uploader, seconds: float) -> float:
        """Take note of seconds that a file of the uploader was read for; return as `wait`."""
        if uploader.is_operator:
            return 0.0
        with self._lock:
            buckets = [self._of_groups.get(uploader.group)]
            if uploader.person:
                buckets.append(self._of_persons.get((uploader.group, uploader.person)))
            if uploader.is_visitor:
                buckets.append(self._of_visitors.get(uploader.group))
            return max(bucket.reserve(seconds) for bucket in buckets)


class KnownFiles:
    """Files that exceeded the time or memory of a reader, by their digest: they are not read again."""

    def __init__(self) -> None:
        self._outcomes: TTLCache[tuple[bytes, float, int], str] = TTLCache(_MAX_KNOWN, _KNOWN_SECONDS)
        self._lock = threading.Lock()

    def outcome(self, content: bytes) -> str | None:
        """Return how reading a file of this content ended within the limits of now, if it exceeded one."""
        with self._lock:
            return self._outcomes.get(_key(content))

    def add(self, content: bytes, outcome: str) -> None:
        """Take note of a file that exceeded a limit."""
        with self._lock:
            self._outcomes[_key(content)] = outcome


def _key(content: bytes) -> tuple[bytes, float, int]:
    return (
        hashlib.sha256(content).digest(),
        settings.ASSISTANT_FILE_READ_SECONDS,
        settings.ASSISTANT_FILE_READ_MEMORY_MB,
    )
