"""Counts the work of a matching, so that it has an end whatever it is given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")

# Of one answer: comparisons of a value with a fact or a group of facts.
MAX_STEPS = 100_000


class Steps:
    """How much was done, and how much may be."""

    def __init__(self, limit: int = MAX_STEPS) -> None:
        self.limit = limit
        self.count = 0

    def each(self, found: Iterable[T]) -> Iterator[T]:
        """Yield what is to be tried, a step each, until nothing more should be begun."""
        for one in found:
            if self.is_spent:
                return
            self.count += 1
            yield one

    def stop(self) -> None:
        """Let nothing more be begun: nobody waits for it."""
        self.limit = 0

    def spend(self, count: int) -> None:
        """Count some steps."""
        self.count += count

    @property
    def is_spent(self) -> bool:
        """Whether nothing more should be begun."""
        return self.count >= self.limit
