"""Finds, by asking with some of the tools, which of them a provider refuses."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from assistant.providers.tool_adaptation.adapted_tool import digest_of
from assistant.providers.tool_adaptation.suspicion import by_suspicion, conspicuous
from assistant.toolkit import Tool

# Requests with half of a group and all others, which are accepted if only one tool is refused.
MAX_MISSES = 2
# How many tools are refused, before anything is known of them: one of 120.
_REFUSED = 0.5
_TOOLS = 60


@dataclass(frozen=True, slots=True)
class Unfinished:
    """How far a search has come, as digests of tools.

    Attributes:
        groups: each has a tool that is refused.
        others: those of which nothing is known.
        count: how many refused tools were found.
        misses: as in `Search`.
        reason: why they were refused, without keys and prompts.
    """

    groups: tuple[frozenset[str], ...]
    others: frozenset[str]
    count: int
    misses: int
    reason: str


class Search:
    """A search among the tools of a request; one that was part of an accepted request is never left out again.

    Each request keeps what is known to be accepted, so that the latest accepted one has the most tools.

    Args:
        proven: those that were part of an accepted request.
        groups: each has a tool that is refused.
        others: those of which nothing is known.
        count: how many refused tools were found before.
        misses: requests with half of the smallest group and all others that were refused.
        odd: those that are left out first.

    Attributes:
        certain: the refused tools that were found.
        others: those of which nothing is known yet.
        reason: why tools are refused, without keys and prompts.
    """

    def __init__(
        self,
        proven: Iterable[Tool],
        *,
        groups: Iterable[Iterable[Tool]] = (),
        others: Iterable[Tool] = (),
        count: int = 0,
        misses: int = 0,
        odd: Collection[Tool] = (),
        reason: str = "",
    ) -> None:
        self.certain: list[Tool] = []
        self.others = by_suspicion(list(others))
        self.reason = reason
        self._proven = list(proven)
        self._groups = [by_suspicion(list(group)) for group in groups]
        self._count = count
        self._misses = misses
        self._odd = odd
        self._tried: list[Tool] = []
        # What is halved by the request that was sent; None if it asks about the others alone.
        self._halved: list[Tool] | None = None
        self._has_asked_others = self._has_answer = self._is_over = False
        self._settle()

    @classmethod
    def new(cls, tools: Sequence[Tool], proven: Sequence[Tool], *, reason: str) -> Search:
        """Begin a search among the tools of a request that was refused, of which some were accepted before."""
        unproven = [tool for tool in tools if tool not in proven]
        if not unproven:  # all together are too much, or the provider takes less than it did
            unproven = [tool for tool in proven if not tool.is_provider_side]
            proven = [tool for tool in proven if tool.is_provider_side]
        return cls(proven, groups=[unproven], odd=conspicuous(unproven), reason=reason)

    @classmethod
    def continued(cls, tools: Sequence[Tool], proven: Sequence[Tool], unfinished: Unfinished) -> Search | None:
        """Go on with an earlier search among the tools of a request; None if it was about none of them."""
        unproven = {digest_of(tool): tool for tool in tools if tool not in proven}
        accepted = {digest_of(tool) for tool in proven}
        remaining = [group - accepted for group in unfinished.groups]
        # Of a group that is not complete, another may be the one that is refused. What is halved must not depend on the
        # order of a set, which differs between processes.
        groups = [
            [tool for digest, tool in unproven.items() if digest in group]
            for group in remaining
            if group and group <= unproven.keys()
        ]
        if not groups and unproven.keys().isdisjoint(unfinished.others.union(*remaining)):
            return None
        grouped = [tool for group in groups for tool in group]
        return cls(
            proven,
            groups=groups,
            others=[tool for tool in unproven.values() if tool not in grouped],
            count=unfinished.count,
            misses=unfinished.misses,
            reason=unfinished.reason,
        )

    @property
    def suspects(self) -> list[Tool]:
        """The smallest group known to have a tool that is refused; [] if there is none."""
        return min(self._groups, key=len, default=[])

    @property
    def is_trying(self) -> bool:
        """Whether the request that was sent has tools that were not accepted before."""
        return bool(self._tried)

    @property
    def unfinished(self) -> Unfinished | None:
        """What to go on from; None if everything was found, or no tool is the reason."""
        if self._is_over or not (self._groups or self.others):
            return None
        groups = tuple(frozenset(map(digest_of, group)) for group in self._groups)
        return Unfinished(groups, frozenset(map(digest_of, self.others)), self._count, self._misses, self.reason)

    def next(self, *, is_last: bool) -> list[Tool] | None:
        """Return the tools of the next request; None if nothing is left to find out.

        Args:
            is_last: whether no other request may follow, so that this one must be accepted if none was.
        """
        is_found = not (self._groups or self.others)
        if self._is_over or (self._has_answer and is_found):
            return None
        self._halved = None
        size = self._size()
        if not self._has_answer and (is_last or is_found):
            self._tried = []
        elif not self._groups:
            self._tried = self.others[-size:]
        elif self.others and not self._has_answer and not self._has_asked_others and len(self.others) <= size:
            self._has_asked_others = True
            self._tried = self.others
        else:
            self._halved = self._half()
            is_bold = self._has_answer and self._misses < MAX_MISSES and len(self.others) <= size
            self._tried = [*self._halved, *self.others] if is_bold else self._halved
        return [*self._proven, *self._tried]

    def accepted(self) -> None:
        """Note that the request was accepted."""
        self._has_answer = True
        self._proven += self._tried
        self._drop(self._tried)

    def refused(self, named: Collection[Tool] = ()) -> None:
        """Note that the request was refused, and the tools that the refusal named."""
        if named:
            self.others += [tool for group in self._groups if _has(group, named) for tool in group]
            self._groups = [group for group in self._groups if not _has(group, named)]
            self._proven = [tool for tool in self._proven if tool not in named]
            self._count += len(named)
            self._drop(named)
        elif not self._tried:  # it has another reason
            self._is_over = True
        elif self._halved is None:
            self._groups.append(self._tried)
            self.others = [tool for tool in self.others if tool not in self._tried]
        elif len(self._tried) > len(self._halved):
            self._misses += 1
        else:
            group = self.suspects
            self._groups[self._groups.index(group)] = self._halved
            self.others = by_suspicion([*self.others, *(tool for tool in group if tool not in self._halved)])
        self._settle()

    def _size(self) -> int:
        """Return of how many unknown tools it is as likely as not that one is refused."""
        refused = self._count + max(0, len(self._groups) - 1) + (self._misses >= MAX_MISSES) + _REFUSED
        share = min(0.5, refused / (self._count + len(self._proven) + _TOOLS))
        return max(1, int(math.log(0.5) / math.log(1 - share)))

    def _half(self) -> list[Tool]:
        group = self.suspects
        odd = self._odd
        self._odd = ()
        if odd:
            return [tool for tool in group if tool not in odd]
        middle = len(group) // 2
        return group[:middle] if self._misses == 1 else group[middle:]

    def _drop(self, tools: Collection[Tool]) -> None:
        self.others = [tool for tool in self.others if tool not in tools]
        self._groups = [[tool for tool in group if tool not in tools] for group in self._groups]
        self._settle()

    def _settle(self) -> None:
        """Take the tools out that are alone in a group: they are refused."""
        for group in [group for group in self._groups if len(group) <= 1]:
            self._groups.remove(group)
            self.certain += group
            self._count += len(group)
            self._misses = 0


def _has(group: Collection[Tool], tools: Collection[Tool]) -> bool:
    return any(tool in group for tool in tools)
