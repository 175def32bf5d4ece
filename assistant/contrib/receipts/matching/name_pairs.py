"""Words that texts write with a capital letter beside one other such word alone, as the two names of a person are."""

from __future__ import annotations

import re
from collections import defaultdict

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
# Of all texts of a run.
MAX_WORDS = 20_000


class NamePairs:
    """Which word stands behind another, and which before it, in the texts of a run."""

    def __init__(self) -> None:
        self._behind: dict[str, set[str]] = defaultdict(set)
        self._before: dict[str, set[str]] = defaultdict(set)
        self._count = 0

    def add(self, text: str) -> None:
        """Add a text; beyond a number of words nothing more is added."""
        words = list(_WORD.finditer(text)) if self._count < MAX_WORDS else []
        self._count += len(words)
        for place, word in enumerate(words):
            following = words[place + 1] if place + 1 < len(words) else None
            is_pair = (
                following is not None
                and text[word.end() : following.start()] == " "
                and word[0][0].isupper()
                and following[0][0].isupper()
            )
            self._behind[word[0].casefold()].add(following[0].casefold() if is_pair and following else "")
            if following is not None:
                self._before[following[0].casefold()].add(word[0].casefold() if is_pair else "")

    def is_other(self, first: str, second: str) -> bool:
        """Return whether two words are no pair though one of them stands with another word alone: a half is wrong."""
        first = first.casefold()
        second = second.casefold()
        if first in self._behind and second in self._behind:
            return False
        behind = self._behind.get(first, set())
        before = self._before.get(second, set())
        return any(len(known) == 1 and "" not in known for known in (behind, before))
