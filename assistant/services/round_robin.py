"""A queue in which keys take turns, so that a key with many waiting items does not delay the others."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable, Iterator, Mapping
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
T = TypeVar("T")


class RoundRobin(Generic[K, T]):
    """Items by key: keys take turns, and of one key the item that was added first comes first."""

    def __init__(self) -> None:
        # In the order of the turns.
        self._items: OrderedDict[K, deque[T]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        return self._length

    def add(self, key: K, item: T) -> None:
        """Add an item behind those of its key. A key without items gets its turn after all others."""
        self._items.setdefault(key, deque()).append(item)
        self._length += 1

    def pop(self) -> T:
        """Remove and return the item whose turn it is. Raises `KeyError` if there is none."""
        key, items = self._items.popitem(last=False)
        item = items.popleft()
        if items:
            self._items[key] = items
        self._length -= 1
        return item

    def remove(self, key: K, item: T) -> bool:
        """Remove an item of a key, and end the key's turn. Return False if it is not waiting."""
        items = self._items.get(key)
        if items is None or item not in items:
            return False
        items.remove(item)
        self._length -= 1
        if items:
            self._items.move_to_end(key)
        else:
            del self._items[key]
        return True

    def of(self, key: K) -> tuple[T, ...]:
        """Return the items of a key in their order."""
        return tuple(self._items.get(key, ()))

    def __iter__(self) -> Iterator[K]:
        """Iterate over the keys that have items, the one whose turn is next first."""
        return iter(self._items)

    def turns_before(self, key: K, position: int) -> int:
        """Return how many items get their turn before the one at `position` (from 0) of a key."""
        order = list(self._items)
        mine = order.index(key)
        return position + sum(
            min(len(items), position + (place < mine))
            for place, (other, items) in enumerate(self._items.items())
            if other != key
        )


class WeightedTurns(Generic[K]):
    """Orders waiting keys by turns: over time, each key gets turns in proportion to its weight.

    Start-time fair queueing: a turn of a key takes the time 1/weight, and the key that may begin first is next.
    """

    def __init__(self) -> None:
        self._now = 0.0
        # When the last turn of each key ends, if that is later than now.
        self._ends: dict[K, float] = {}

    def order(self, waiting: Mapping[K, int]) -> list[K]:
        """Return the keys that wait, by weight, in the order of their turns; of equal ones the first given is first."""
        self._ends = {key: end for key, end in self._ends.items() if end > self._now}
        return sorted(waiting, key=self._begin)

    def count(self, key: K, weight: int) -> None:
        """Take note that a key had its turn."""
        self._now = self._begin(key)
        self._ends[key] = self._now + 1 / weight

    def _begin(self, key: K) -> float:
        return max(self._now, self._ends.get(key, 0.0))
