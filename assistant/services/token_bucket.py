"""Token buckets, one by one and by key."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Hashable

from cachetools import LRUCache

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
        return self.reserve(0.0) is not None

    def reserve(self, patience: float) -> float | None:
        """Take one, if need be of those to come: seconds until it is there; None if it takes longer than `patience`."""
        self._fill()
        missing = 1.0 - self._tokens
        if missing > patience * self._rate:
            return None
        self._tokens -= 1.0
        return missing / self._rate if missing > 0.0 else 0.0

    def charge(self, tokens: float, most_owed: float) -> None:
        """Take so many of what is there or to come, though not so many that more than `most_owed` are missing."""
        self._fill()
        self._tokens = max(min(self._tokens, -most_owed), self._tokens - tokens)

    def _fill(self) -> None:
        now = time.monotonic()
        self._tokens = min(self._burst, self._tokens + (now - self._filled_at) * self._rate)
        self._filled_at = now


class Buckets:
    """A bucket for each key; the one that was used longest ago makes room, and is full when it comes again."""

    def __init__(self, burst: int, rate: float) -> None:
        self._burst, self._rate = burst, rate
        self._kept: LRUCache[Hashable, Bucket] = LRUCache(KEPT_BUCKETS)

    def of(self, key: Hashable) -> Bucket:
        """The key's own."""
        bucket = self._kept.get(key)
        if bucket is None:
            bucket = self._kept[key] = Bucket(self._burst, self._rate)
        return bucket


def digest_of(credential: str) -> bytes:
    """What stands for a credential, which itself is a secret."""
    return hashlib.sha256(credential.encode("utf-8", "surrogatepass")).digest()
