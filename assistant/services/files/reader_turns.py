"""Shares the readers of files: tenants take turns, none holds all places, and a tenant's members come first."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

from assistant.services.round_robin import RoundRobin
from assistant.services.tenancy.members import Member
from assistant.toolkit.context import UserId


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
