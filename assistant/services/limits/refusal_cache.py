"""Answers who asks on and on above a quota from memory: a flood of refused messages costs the others no database."""

from __future__ import annotations

from dataclasses import dataclass

from cachetools import LRUCache
from django.utils import timezone

from assistant.services.tenancy.members import Member
from assistant.services.tenancy.quotas import QuotaReached
from assistant.services.token_bucket import KEPT_BUCKETS, Bucket
from assistant.toolkit.context import UserId

# After a refusal the database is asked this often for each member: a burst, then so many a second. It is asked at all
# for a run that is there already, and for limits that were raised.
LOOKS_BURST, LOOKS_RATE = 5, 1.0


@dataclass(slots=True)
class _Refusal:
    reached: QuotaReached
    looks: Bucket


class Refusals:
    """The refusals that members of this process have had last, while they hold."""

    def __init__(self) -> None:
        self._last: LRUCache[tuple[int, UserId], _Refusal] = LRUCache(KEPT_BUCKETS)

    def last(self, member: Member) -> QuotaReached | None:
        """The last refusal of a member who asks on and on; None if the database is to be asked."""
        last = self._last.get(member.place)
        if last is None:
            return None
        if last.reached.resets_at is None or last.reached.resets_at <= timezone.now():
            self.lift(member)
            return None
        return None if last.looks.take() else last.reached

    def note(self, member: Member, reached: QuotaReached) -> bool:
        """Remember a refusal; returns whether it is news, and not the one that the member had before."""
        last = self._last.get(member.place)
        is_news = last is None or (last.reached.quota, last.reached.resets_at) != (reached.quota, reached.resets_at)
        looks = Bucket(LOOKS_BURST, LOOKS_RATE) if last is None else last.looks
        self._last[member.place] = _Refusal(reached, looks)
        return is_news

    def lift(self, member: Member) -> None:
        """The member was let in again."""
        self._last.pop(member.place, None)
