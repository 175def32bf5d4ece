"""Finds, by asking with some of the tools, which of them a provider refuses."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from assistant.providers.tool_adaptation.adapted_tool import digest_of
from assistant.providers.tool_adaptation.suspicion import by_suspicion, conspicuous
from assistant.toolkit import Tool

# How many tools are refused, before anything is known of them: one of 120.
_REFUSED = 0.5
_TOOLS = 60


@dataclass(frozen=True, slots=True)
class Unfinished:
    """How far a search has come, as digests of tools.

    Attributes:
        suspects: among them is one that is refused.
        others: those of which nothing is known.
        count: how many refused tools were found.
        reason: why they were refused, without keys and prompts.
    """

    suspects: frozenset[str]
    others: frozenset[str]
    count: int
    reason: str


class Search:
    """A search among the tools of a request; one that was part of an accepted request is never left out again.

    Each request keeps what is known to be accepted, so that the latest accepted one has the most tools.

    Args:
        proven: those that were part of an accepted request.
        suspects: among them is one that is refused, unless there are none.
        others: those of which nothing is known.
        count: how many refused tools were found before.
        odd: those of the suspects that are left out first.

    Attributes:
        certain: the refused tools that were found.
        suspects, others: as they are by now.
        reason: why tools are refused, without keys and prompts.
    """

    def __init__(
        self,
        proven: Iterable[Tool],
        *,
        suspects: Iterable[Tool] = (),
        others: Iterable[Tool] = (),
        count: int = 0,
        odd: Collection[Tool] = (),
        reason: str = "",
    ) -> None:
        self.certain: list[Tool] = []
        self.suspects = by_suspicion(list(suspects))
        self.others = by_suspicion(list(others))
        self.reason = reason
        self._proven = list(proven)
        self._count = count
        self._odd = odd
        self._tried: list[Tool] = []
        self._has_answer = self._is_over = False
        self._settle()

    @classmethod
    def new(cls, tools: Sequence[Tool], proven: Sequence[Tool], *, reason: str) -> Search:
        """Begin a search among the tools of a request that was refused, of which some were accepted before."""
        unproven = [tool for tool in tools if tool not in proven]
        if not unproven:  # all together are too much, or the provider takes less than it did
            unproven = [tool for tool in proven if not tool.is_provider_side]
            proven = [tool for tool in proven if tool.is_provider_side]
        return cls(proven, suspects=unproven, odd=conspicuous(unproven), reason=reason)

    @classmethod
    def continued(cls, tools: Sequence[Tool], proven: Sequence[Tool], unfinished: Unfinished) -> Search | None:
        """Go on with an earlier search among the tools of a request; None if it was about none of them."""
        unproven = {digest_of(tool): tool for tool in tools if tool not in proven}
        left = unfinished.suspects - {digest_of(tool) for tool in proven}
        # If they are not complete, another may be the one that is refused.
        known = left if left <= unproven.keys() else frozenset[str]()
        if not known and unproven.keys().isdisjoint(unfinished.others | left):
            return None
        # What is halved must not depend on the order of a set, which differs between processes.
        return cls(
            proven,
            suspects=[tool for digest, tool in unproven.items() if digest in known],
            others=[tool for digest, tool in unproven.items() if digest not in known],
            count=unfinished.count,
            reason=unfinished.reason,
        )

    @property
    def is_trying(self) -> bool:
        """Whether the request that was sent has tools that were not accepted before."""
        return bool(self._tried)

    @property
    def unfinished(self) -> Unfinished | None:
        """What to go on from; None if everything was found, or no tool is the reason."""
        if self._is_over or not (self.suspects or self.others):
            return None
        suspects = frozenset(map(digest_of, self.suspects))
        return Unfinished(suspects, frozenset(map(digest_of, self.others)), self._count, self.reason)

    def next(self, *, is_last: bool) -> list[Tool] | None:
        """Return the tools of the next request; None if nothing is left to find out.

        Args:
            is_last: whether no other request may follow, so that this one must be accepted if none was.
        """
        is_found = not (self.suspects or self.others)
        if self._is_over or (self._has_answer and is_found):
            return None
        if not self._has_answer and (is_last or is_found):
            self._tried = []
        elif self.suspects:
            self._tried = self._half()
        else:
            self._tried = self.others[-self._size() :]
        return [*self._proven, *self._tried]

    def accepted(self) -> None:
        """Note that the request was accepted."""
        self._has_answer = True
        self._proven += self._tried
        self._drop(self._tried)

    def refused(self, named: Collection[Tool] = ()) -> None:
        """Note that the request was refused, and the tools that the refusal named."""
        if named:
            if any(tool in named for tool in self.suspects):
                self.others += self.suspects
                self.suspects = []
            self._proven = [tool for tool in self._proven if tool not in named]
            self._count += len(named)
            self._drop(named)
        elif not self._tried:  # it has another reason
            self._is_over = True
        else:
            unknown = [*self.others, *self.suspects]
            self.suspects = self._tried
            self.others = by_suspicion([tool for tool in unknown if tool not in self._tried])
            self._settle()

    def _size(self) -> int:
        """Return of how many unknown tools it is as likely as not that one is refused."""
        share = min(0.5, (self._count + _REFUSED) / (self._count + len(self._proven) + _TOOLS))
        return max(1, int(math.log(0.5) / math.log(1 - share)))

    def _half(self) -> list[Tool]:
        if self._odd:
            odd, self._odd = self._odd, ()
            return [tool for tool in self.suspects if tool not in odd]
        return self.suspects[len(self.suspects) // 2 :]

    def _drop(self, tools: Collection[Tool]) -> None:
        self.suspects = [tool for tool in self.suspects if tool not in tools]
        self.others = [tool for tool in self.others if tool not in tools]
        self._settle()

    def _settle(self) -> None:
        """Take the tool out that is the only suspect: it is refused."""
        if len(self.suspects) == 1:
            self.certain += self.suspects
            self._count += 1
            self.suspects = []
