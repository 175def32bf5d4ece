"""Token buckets: a single one, and a collection with one for each key."""

from __future__ import annotations

import time
from collections.abc import Hashable

from cachetools import LRUCache

# Buckets that `Buckets` keeps. A key whose bucket was dropped starts with a full one.
MAX_BUCKETS = 10_000


class Bucket:
    """A token bucket that allows a burst of `burst`, refilled at `rate` tokens a second."""

    def __init__(self, burst: int, rate: float) -> None:
        self._burst = float(burst)
        self._rate = rate
        self._tokens = float(burst)
        self._filled_at = time.monotonic()

    def take(self) -> bool:
        """Take one token; return False if there is none."""
        self._refill()
        if self._tokens < 1.0:
            return False
        self._tokens -= 1.0
        return True

    def reserve(self, count: float = 1) -> float:
        """Take tokens now or in advance; return the seconds until all that were taken are available."""
        self._refill()
        self._tokens -= count
        return max(0.0, -self._tokens / self._rate)

    def _refill(self) -> None:
        now = time.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._rate)
        self._filled_at = now


class Buckets:
    """A token bucket for each key; beyond `MAX_BUCKETS` the least recently used one is dropped."""

    def __init__(self, burst: int, rate: float) -> None:
        self._burst, self._rate = burst, rate
        self._buckets: LRUCache[Hashable, Bucket] = LRUCache(MAX_BUCKETS)

    def get(self, key: Hashable) -> Bucket:
        """Return the key's bucket."""
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = Bucket(self._burst, self._rate)
        return bucket
