"""Limits what files take to read: the seconds of each person and tenant; one that took too much is not read again."""

from __future__ import annotations

import hashlib
import math
import threading

from cachetools import TTLCache
from django.conf import settings

from assistant.services.files.reader_turns import Uploader
from assistant.services.token_bucket import Buckets

# How many files at the full time each may have read at once, and how many seconds of reading a second gives back.
PERSON_BURST = 2
PERSON_RATE = 1 / 30
VISITORS_BURST = 4
VISITORS_RATE = 1 / 20
GROUP_BURST = 10
GROUP_RATE = 1 / 10
# Files that took too long are remembered for an hour: on a busy machine an honest one may have been among them.
_MAX_KNOWN = 10_000
_KNOWN_SECONDS = 3600.0


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
