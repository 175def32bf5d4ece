"""The rows of lists that a sentence of an answer speaks of: by a name, a month, a text, or the word behind a number."""

from __future__ import annotations

import re
from functools import cached_property

from assistant.contrib.receipts.matching import words
from assistant.contrib.receipts.matching.facts import Facts
from assistant.contrib.receipts.matching.operands import Operand, is_amount, operand_of
from assistant.contrib.receipts.matching.shown import Shown
from assistant.contrib.receipts.matching.sources import Fact
from assistant.contrib.receipts.matching.values import Value

# Rows that a sentence shows of which all numbers are computed with, those numbers, and the rows of a short list.
MAX_ROWS = 4
MAX_OF_ROWS = 12
# Letters of a text that names a row.
MIN_TEXT = 4
_LETTERS = re.compile(r"[^\W\d_]+")
_NOUN = re.compile(r"[ \u00a0]+([^\W\d_]{3,40})\b")

Row = tuple[int, int]


class NamedRows:
    """The rows that the sentences of one answer name."""

    def __init__(self, facts: Facts, shown: Shown) -> None:
        self._facts = facts
        self._shown = shown

    def of(self, value: Value) -> set[Row]:
        """Return the rows of which the sentence of a value shows something, or whose month it names."""
        found = self._shown.rows(value)
        said = {
            words.months()[word] for word in _LETTERS.findall(self._shown.around(value).small) if word in words.months()
        }
        for month in said:
            found |= self._rows_by_month.get(month, set())
        small = self._shown.around(value).small
        return found | {row for text, row in self._rows_by_text.items() if text in small}

    @cached_property
    def _rows_by_text(self) -> dict[str, Row]:
        """The rows of short lists, by a text that names each of them and is no name: a topic, a crop."""
        return {
            text: (number, rows[0])
            for number, table in enumerate(self._facts.tables)
            for texts in table.texts.values()
            if len(texts) == table.rows <= MAX_OF_ROWS
            for text, rows in texts.items()
            if len(text) >= MIN_TEXT and text.isalpha()
        }

    @cached_property
    def _rows_by_month(self) -> dict[int, set[Row]]:
        found: dict[int, set[Row]] = {}
        of_days = ((day.month, several) for day, several in self._facts.days.items())
        of_months = ((month, several) for (_year, month), several in self._facts.months.items())
        for month, several in (*of_days, *of_months):
            rows = {fact.row for fact in several if fact.row is not None}
            if len(rows) == 1:
                found.setdefault(month, set()).update(rows)
        return {month: rows for month, rows in found.items() if len(rows) <= MAX_ROWS}

    def before(self, place: int, value: Value) -> set[Row]:
        """Return the rows of the last sentence before that of a value that shows any."""
        start, _end = self._shown.bounds(value)
        before = next((one for one in reversed(self._shown.marks[:place]) if one.value.end <= start), None)
        return self.of(before.value) if before is not None else set()

    def nearest(self, place: int, value: Value) -> list[Operand]:
        """Return the numbers of the row that the sentence of a value shows last before it, or else first behind it."""
        inside = self._shown.inside(value)
        before = [mark for mark in inside if mark.value.end <= value.start]
        after = [mark for mark in inside if mark.value.start >= value.end]
        row = self.behind(value)
        if row is not None:
            return self._of_row(row)
        for mark in (*reversed(before), *after):
            rows = {fact.row for fact in mark.facts}
            row = next(iter(rows)) if len(rows) == 1 and not mark.derived else None
            if row is not None:
                return self._of_row(row)
        named = self.of(value)
        return self._of_row(next(iter(named))) if len(named) == 1 else []

    def _of_row(self, row: Row) -> list[Operand]:
        return [operand_of(fact) for fact in self.by_row.get(row, []) if is_amount(fact)][:MAX_OF_ROWS]

    def behind(self, value: Value) -> Row | None:
        """Return the row whose name has the word behind a number: "9 lamps" of a Desk Lamp."""
        word = _NOUN.match(self._shown.prose, value.end)
        if word is None:
            return None
        small = word[1].casefold()
        found = self._facts.parts.get(small) or self._facts.parts.get(small.removesuffix("s")) or []
        rows = {fact.row for fact in found}
        return next(iter(rows)) if len(rows) == 1 else None

    def numbers(self, value: Value) -> list[Operand]:
        """Return the numbers of the rows that the sentence of a value shows, if they are few."""
        rows = self.of(value)
        if not 0 < len(rows) <= MAX_ROWS:
            return []
        several = (fact for row in sorted(rows) for fact in self.by_row.get(row, ()))
        return [operand_of(fact) for fact in several if is_amount(fact)][:MAX_OF_ROWS]

    @cached_property
    def by_row(self) -> dict[Row, list[Fact]]:
        """The numbers of each row."""
        found: dict[Row, list[Fact]] = {}
        for column in self._facts.columns:
            for fact in column.facts:
                if fact.row is not None:
                    found.setdefault(fact.row, []).append(fact)
        return found
