"""What an answer shows around one of its values: the sentence, the numbers in it, and the heading of its column."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from assistant.contrib.receipts.matching.facts import Fact, Facts
from assistant.contrib.receipts.matching.values import Value

if TYPE_CHECKING:
    from assistant.contrib.receipts.matching.matching import Mark

# Rows of a table above a value among which its heading is looked for.
MAX_HEADING_ROWS = 60
# Objects of which numbers are compared, and facts of a mark that name them.
MAX_OBJECTS = 10
MAX_FACTS = 8
_RULE = re.compile(r"[\s|:-]*-[\s|:-]*")


@dataclass(frozen=True, slots=True)
class Shown:
    """The prose of an answer and its marks, in their order."""

    prose: str
    marks: Sequence[Mark]

    def bounds(self, value: Value) -> tuple[int, int]:
        """Return where the sentence, item or row of a table begins and ends in which a value stands."""
        start = max(self.prose.rfind("\n", 0, value.start), self.prose.rfind(". ", 0, value.start)) + 1
        ends = [end for end in (self.prose.find("\n", value.end), self.prose.find(". ", value.end)) if end >= 0]
        return start, min(ends, default=len(self.prose))

    def around(self, value: Value) -> str:
        """Return the sentence in which a value stands, in a table the row with the heading of the value's column."""
        start, end = self.bounds(value)
        sentence = self.prose[start:end]
        return f"{self._heading(value, start)} {sentence}" if "|" in sentence else sentence

    def beside(self, place: int, most: int = 12) -> list[Mark]:
        """Return the supported numbers in the sentence of a mark, without it, the nearest `most` before and behind."""
        start, end = self.bounds(self.marks[place].value)
        near = range(max(0, place - most), min(len(self.marks), place + most + 1))
        return [
            self.marks[other]
            for other in near
            if other != place
            and start <= self.marks[other].value.start < end
            and self.marks[other].value.kind == "number"
            and self.marks[other].is_supported
        ]

    def rows(self, value: Value) -> set[tuple[int, int]]:
        """Return the rows of lists of which the sentence of a value shows something."""
        return {fact.row for fact in self._facts_of_sentence(value) if fact.row is not None}

    def numbers_near(self, value: Value, facts: Facts) -> Iterator[list[Fact]]:
        """Yield the numbers of objects: of those that the sentence of a value shows, then of the first others."""
        paths = dict.fromkeys((fact.source, fact.path.rpartition(".")[0]) for fact in self._facts_of_sentence(value))
        for path in islice(paths, MAX_OBJECTS):
            if path in facts.siblings:
                yield facts.siblings[path]
        for path in islice(facts.siblings, MAX_OBJECTS):
            if path not in paths:
                yield facts.siblings[path]

    def _facts_of_sentence(self, value: Value) -> Iterator[Fact]:
        start, end = self.bounds(value)
        for mark in self.marks[bisect_left(self.marks, start, key=_start) : bisect_left(self.marks, end, key=_start)]:
            if not mark.derived:
                yield from mark.facts[:MAX_FACTS]

    def _heading(self, value: Value, start: int) -> str:
        column = self.prose.count("|", start, value.start)
        rows = self.prose[:start].splitlines()[-MAX_HEADING_ROWS:]
        for place in range(len(rows) - 1, 0, -1):
            if "|" not in rows[place]:
                break
            if _RULE.fullmatch(rows[place]):
                cells = rows[place - 1].split("|")
                return cells[column] if column < len(cells) else ""
        return ""


def _start(mark: Mark) -> int:
    return mark.value.start
