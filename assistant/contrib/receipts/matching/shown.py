"""What an answer shows around one of its values: the sentence, the numbers in it, and the heading of its column."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from assistant.contrib.receipts.matching.facts import Facts
from assistant.contrib.receipts.matching.prose import sentences
from assistant.contrib.receipts.matching.sources import Fact
from assistant.contrib.receipts.matching.steps import Steps
from assistant.contrib.receipts.matching.units import words_of as field_words
from assistant.contrib.receipts.matching.values import Value

if TYPE_CHECKING:
    from assistant.contrib.receipts.matching.matching import Mark

# Characters of a sentence; a longer one is looked at in parts.
MAX_SENTENCE = 2_000
# Rows of a table above a value among which its heading is looked for.
MAX_HEADING_ROWS = 60
# Objects of which numbers are compared, and facts of a mark that name them.
MAX_OBJECTS = 10
MAX_FACTS = 8
_WORD = re.compile(r"\w+")
_RULE = re.compile(r"[\s|:-]*-[\s|:-]*")


class Sentence:
    """The text around a value, and what it says."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.small = text.casefold()
        self._named: dict[str, bool] = {}
        self._said: dict[re.Pattern[str], bool] = {}

    @cached_property
    def _words(self) -> list[str]:
        return sorted(set(_WORD.findall(self.small)))

    def says(self, pattern: re.Pattern[str]) -> bool:
        """Return whether a pattern is found in it."""
        if pattern not in self._said:
            self._said[pattern] = bool(pattern.search(self.text))
        return self._said[pattern]

    def names(self, field: str) -> bool:
        """Return whether it names a field by one of the field's words: "clicks", "click rate"."""
        if field not in self._named:
            stems = [word.rstrip("s") for word in field_words(field) if len(word) > 3]
            self._named[field] = any(map(self._has, stems))
        return self._named[field]

    def _has(self, stem: str) -> bool:
        place = bisect_left(self._words, stem)
        return place < len(self._words) and self._words[place].startswith(stem)


class Shown:
    """The prose of an answer and its marks, in their order.

    Args:
        steps: counts what is tried with them.
    """

    def __init__(self, prose: str, marks: Sequence[Mark], steps: Steps) -> None:
        self.prose = prose
        self.marks = marks
        self.steps = steps
        self._starts = [mark.value.start for mark in marks]
        self._all_sentences = sentences(prose)
        self._sentence_starts = [start for start, _end in self._all_sentences]
        self._sentences: dict[tuple[int, int, int], Sentence] = {}

    def bounds(self, value: Value) -> tuple[int, int]:
        """Return where the sentence, item or row of a table begins and ends in which a value stands."""
        place = bisect_right(self._sentence_starts, value.start) - 1
        start, end = self._all_sentences[place] if place >= 0 else (0, len(self.prose))
        start += (value.start - start) // MAX_SENTENCE * MAX_SENTENCE
        return start, max(value.end, min(end, start + MAX_SENTENCE))

    def around(self, value: Value) -> Sentence:
        """Return the sentence in which a value stands, in a table the row with the heading of the value's column."""
        start, end = self.bounds(value)
        is_row = "|" in self.prose[start:end]
        column = self.prose.count("|", start, value.start) if is_row else -1
        key = (start, end, column)
        if key not in self._sentences:
            sentence = self.prose[start:end]
            self._sentences[key] = Sentence(f"{self._heading(column, start)} {sentence}" if is_row else sentence)
        return self._sentences[key]

    def inside(self, value: Value) -> Sequence[Mark]:
        """Return the marks in the sentence of a value."""
        start, end = self.bounds(value)
        return self.marks[bisect_left(self._starts, start) : bisect_left(self._starts, end)]

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
        for mark in self.steps.each(self.inside(value)):
            if not mark.derived:
                yield from mark.facts[:MAX_FACTS]

    def _heading(self, column: int, start: int) -> str:
        rows = self.prose[:start].removesuffix("\n").rsplit("\n", MAX_HEADING_ROWS)[-MAX_HEADING_ROWS:]
        for place in range(len(rows) - 1, 0, -1):
            if "|" not in rows[place]:
                break
            if _RULE.fullmatch(rows[place]):
                cells = rows[place - 1].split("|")
                return cells[column] if column < len(cells) else ""
        return ""
