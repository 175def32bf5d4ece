"""The paths through a conversation, whose messages form a tree.

Messages are counted from 0 in the order in which they were stored. A message follows the one before it, unless a branch
begins with it: a question that was changed, or another answer. A path is one way through the tree.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True, slots=True)
class Path:
    """The places of a path's messages, as ranges in their order; the stop of the last is None if it can go on."""

    ranges: tuple[tuple[int, int | None], ...] = ((0, None),)

    @property
    def is_whole(self) -> bool:
        """Whether nothing is left out."""
        return self.ranges == ((0, None),)

    @property
    def stop(self) -> int | None:
        """The place after the last message; None if the next message that is stored goes on with the path."""
        return self.ranges[-1][1] if self.ranges else 0

    def has(self, place: int) -> bool:
        """Return whether the message at a place is on the path."""
        return any(start <= place and (stop is None or place < stop) for start, stop in self.ranges)

    def until(self, stop: int) -> Path:
        """Return the part before a place."""
        cut = ((start, stop if end is None else min(end, stop)) for start, end in self.ranges if start < stop)
        return Path(tuple(cut))

    def newest(self, count: int, end: int) -> int:
        """Return the place of the first of the newest `count` messages; `end` is the place after all messages."""
        for start, stop in reversed(self.ranges):
            length = (end if stop is None else stop) - start
            if length >= count:
                return start + length - count
            count -= max(length, 0)
        return 0


WHOLE = Path()


@dataclass(frozen=True, slots=True)
class Version:
    """One of several messages that follow the same one: its number from 1 `of` how many, and its neighbours' places."""

    number: int
    of: int
    before: int | None
    after: int | None


@dataclass(frozen=True)
class Tree:
    """A conversation's messages as a tree.

    Attributes:
        branches: where branches begin, and for each the place after the message that it follows (0: none).
        chosen: for each place after a message that several follow, the one that was chosen; the newest if none was.
        end: the place after the last message.
    """

    branches: Mapping[int, int]
    chosen: Mapping[int, int]
    end: int

    @classmethod
    def of(cls, branches: Iterable[Sequence[int]], chosen: Iterable[Sequence[int]], end: int) -> Tree:
        """Return the tree of stored pairs; branches of which no message was stored are left out."""
        return cls(
            {start: after for start, after in branches if start < end}, {pair[0]: pair[1] for pair in chosen}, end
        )

    @cached_property
    def _forks(self) -> dict[int, list[int]]:
        forks: dict[int, list[int]] = {}
        for start, after in sorted(self.branches.items()):
            forks.setdefault(after, []).append(start)
        for after, starts in forks.items():
            if after < self.end and after not in self.branches:
                starts.insert(0, after)
        return forks

    def _following(self, after: int) -> list[int]:
        if after in self._forks:
            return self._forks[after]
        return [after] if after < self.end and after not in self.branches else []

    def path(self) -> Path:
        """Return the path that is shown."""
        edges = sorted({*self._forks, *self.branches})
        ranges: list[tuple[int, int | None]] = []
        after = 0
        while starts := self._following(after):
            start = self.chosen.get(after, starts[-1])
            start = start if start in starts else starts[-1]
            following = bisect_right(edges, start)
            stop = edges[following] if following < len(edges) else self.end
            if ranges and ranges[-1][1] == start:
                start = ranges.pop()[0]
            ranges.append((start, stop))
            after = stop
        if after == self.end:
            ranges = [*ranges[:-1], (ranges[-1][0] if ranges else 0, None)]
        return Path(tuple(ranges))

    def showing(self, place: int) -> Tree:
        """Return the tree with the path through a place shown; after the place it goes on as it was last shown."""
        chosen = dict(self.chosen)
        starts, afters = sorted(self.branches), sorted(self._forks)
        while True:
            begun = bisect_right(starts, place)
            first = starts[begun - 1] if begun else 0
            low = bisect_right(afters, first) if begun else 0
            chosen |= {after: after for after in afters[low : bisect_right(afters, place)]}
            if not begun:
                return Tree(self.branches, chosen, self.end)
            chosen[self.branches[first]] = first
            if not self.branches[first]:
                return Tree(self.branches, chosen, self.end)
            place = self.branches[first] - 1

    def until(self, after: int) -> Path:
        """Return the path that ends with the message before a place."""
        return self.showing(after - 1).path().until(after) if after else Path(())

    def branching(self, after: int) -> Tree:
        """Return the tree, shown so that the next message follows the one before a place."""
        shown = self.showing(after - 1) if after else self
        chosen = {**shown.chosen, after: self.end}
        return Tree({**self.branches, self.end: after}, chosen, self.end + 1)

    def versions(self, path: Path) -> dict[int, Version]:
        """Return, by their place, the messages of a path that have alternatives."""
        found: dict[int, Version] = {}
        for starts in self._forks.values():
            shown = next((start for start in starts if path.has(start)), None)
            if shown is None or len(starts) == 1:
                continue
            index = bisect_left(starts, shown)
            before = starts[index - 1] if index else None
            following = starts[index + 1] if index + 1 < len(starts) else None
            found[shown] = Version(index + 1, len(starts), before, following)
        return found

    def stored(self) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
        """Return branches and choices as pairs for `of`."""
        return sorted(self.branches.items()), sorted(self.chosen.items())
