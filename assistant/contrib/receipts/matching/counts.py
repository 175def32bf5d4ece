"""Counts what an answer may say of rows: of all, of those that it shows, and of those that meet a condition."""

from __future__ import annotations

import re
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING

from assistant.contrib.receipts.matching import words
from assistant.contrib.receipts.matching.facts import Facts
from assistant.contrib.receipts.matching.groups import Group, groups_of
from assistant.contrib.receipts.matching.ratios import Candidates
from assistant.contrib.receipts.matching.shown import Sentence, Shown
from assistant.contrib.receipts.matching.sources import Fact
from assistant.contrib.receipts.matching.units import DAY, NO_UNIT, are_alike
from assistant.contrib.receipts.matching.values import Value

if TYPE_CHECKING:
    from assistant.contrib.receipts.matching.matching import Mark

# Characters behind a count in which the month or the group is named that it is of.
MAX_BEHIND = 40
# The largest number that is a count of rows.
MAX_COUNT = 1_000
_ITEM = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S", re.MULTILINE)
_ROW = re.compile(r"^[ \t]*\|", re.MULTILINE)
# Before a count of what was said before.
_AGAIN = re.compile(r"\b(?:the|those|these|all|die|diesen?|dieser|alle)\s+$", re.IGNORECASE)
_INDENTED = re.compile(r"^[ \t]{2,}\S", re.MULTILINE)
# Behind the number of some of the rows that were found.
_SOME = re.compile(
    r"\s+(?:newest|latest|oldest|earliest|first|last|biggest|largest|smallest|highest|lowest|top|most|best|next|recent"
    r"|neuesten?|ältesten?|letzten?|ersten?|größten?|kleinsten?|höchsten?|nächsten?|jüngsten?)\b",
    re.IGNORECASE,
)
_OF = re.compile(
    r"\s+(?:[^\W\d_]+\s+){0,2}?"
    r"(?:of(?: the| these| your| our| his| her| its| their)?|out of(?: the)?|der|von(?: den)?)\s+(\w+)",
    re.IGNORECASE,
)
_OF_THEM = re.compile(r"\s+(?:of (?:them|these|those|which|whom)\b|davon\b|von (?:ihnen|diesen)\b)", re.IGNORECASE)
_LETTERS = re.compile(r"[^\W\d_]+")
# Before a count of all, of which what is named before is a part.
_OF_OTHERS = re.compile(r"\b(?:of|among|all|the|these|those|der|von|aller?|unter|den|diesen?)\s+$", re.IGNORECASE)
# Before and behind a count of what is not shown.
_REST_BEFORE = re.compile(
    r"\b(?:other|remaining|further|additional|weiteren?|übrigen|restlichen|anderen)\s+$", re.IGNORECASE
)
_REST_BEHIND = re.compile(r"\s+(?:others?|more|further|remaining|weitere|übrige)\b", re.IGNORECASE)
# Numbers of one object that may count all.
MAX_WHOLES = 8
_END = re.compile(r"[.!?:;\n]")
_BREAK = re.compile(r"[.!?:;,\n]|\b(?:and|but|und|aber)\b", re.IGNORECASE)
_TIMES = re.compile(r"[ \u00a0]?(?:×|x\b|\*[ ])", re.IGNORECASE)
MAX_GAP = 12


class Counts:
    """What can be counted for the values of one answer."""

    def __init__(self, facts: Facts, shown: Shown) -> None:
        self._facts = facts
        self._shown = shown
        self._prose = shown.prose

    def of(self, place: int, value: Value) -> Candidates:
        """Yield how many rows, items and groups of rows there are that a number may be said of."""
        if value.unit not in (NO_UNIT, DAY) or value.decimals or value.numbers[0] > MAX_COUNT:
            return
        if value.unit == DAY:
            # Of rows that have a day each: "on two days".
            days = [number for number, table in enumerate(self._facts.tables) if table.grain == "day"]
            named = [group for group in groups_of(self._facts) if group.condition == "text" and group.table in days]
            small = self._shown.around(value).small
            yield from (
                ("count", Decimal(len(one.rows)), [self._fact(one.table)]) for one in named if one.label in small
            )
            return
        subject = self._subject(place, value)
        yield from (("count", Decimal(len(rows)), [self._fact(number)]) for number, rows in subject.items())
        if self.is_quantity(place, value) or words.TIMES.fullmatch(value.text):
            return
        for number, table in enumerate(self._facts.tables):
            if number not in subject:
                yield "count", Decimal(table.rows), [Fact(table.source, table.name)]
        yield from self._of_rest(value)
        yield "count", Decimal(self._items), []
        yield "count", Decimal(self._table_rows), []
        if _AGAIN.search(self._prose, max(0, value.start - 12), value.start):
            yield from (
                ("count", mark.value.numbers[0], mark.facts) for mark in self._shown.marks[:place] if _is_count(mark)
            )
        for number, rows in self._shown_rows.items():
            if number not in subject:
                yield "count", Decimal(len(rows)), [self._fact(number)]
        for number, rows in self._rows_of_sentence(value).items():
            yield "count", Decimal(len(rows)), [self._fact(number)]
        if _SOME.match(self._prose, value.end):
            for table in self._facts.tables:
                yield "count", min(value.numbers[0], Decimal(table.rows)), [Fact(table.source, table.name)]
        yield from self.of_groups(place, value)
        yield from self._of_limits(place, value)

    def is_of_subject(self, place: int, value: Value) -> bool:
        """Whether a small number says how many of some what is named before it has: "Iris has three of them"."""
        return value.is_small_count and bool(_OF_THEM.match(self._prose, value.end) and self._subject(place, value))

    def is_in_row_of_subject(self, mark: Mark) -> bool:
        """Whether a number stands in the one row that the names before it have: "Tarn in Linz: 5, 4 of them sold"."""
        names = [
            {fact.row for fact in other.facts if fact.row is not None}
            for other in self._shown.inside(mark.value)
            if other.value.kind == "name" and other.value.end <= mark.value.start
        ]
        rows = set.intersection(*filter(None, names)) if any(names) else set()
        return len(rows) == 1 and any(fact.row in rows for fact in mark.facts)

    def is_times_of_name(self, place: int, value: Value) -> bool:
        """Whether a small number stands with a × before the name of a thing: "2 × Wool socks"."""
        marks = self._shown.marks
        if not value.is_small_count or not _TIMES.match(self._prose, value.end) or place + 1 >= len(marks):
            return False
        following = marks[place + 1].value
        return following.kind == "name" and following.start - value.end <= MAX_GAP

    def is_quantity(self, place: int, value: Value) -> bool:
        """Whether a number says how many of one thing there are: it stands before the thing's name or a ×."""
        if _TIMES.match(self._prose, value.end):
            return True
        if _OF_THEM.match(self._prose, value.end):
            return False
        marks = self._shown.marks
        following = marks[place + 1].value if place + 1 < len(marks) else None
        if following is None or following.kind != "name" or following.start - value.end > MAX_GAP:
            return False
        if marks[place + 1].facts and all(fact.row is None for fact in marks[place + 1].facts):
            # "Two orders of Brightwater": of whom all rows are.
            return False
        return not _END.search(self._prose, value.end, following.start)

    def _rows_of_sentence(self, value: Value) -> dict[int, set[int]]:
        """Return the rows that the sentence of a value shows, by their list. A text that several have shows none."""
        found: dict[int, set[int]] = {}
        for mark in self._shown.inside(value):
            rows = {fact.row for fact in mark.facts if fact.row is not None}
            if not mark.derived and len(rows) == 1:
                number, row = next(iter(rows))
                found.setdefault(number, set()).add(row)
        return found

    def _subject(self, place: int, value: Value) -> dict[int, set[int]]:
        """Return the rows of what a sentence names before a count, by their list: "Iris has two bookings".

        Nothing of names that all rows of a list have, and behind which the count is of others: "the largest of five".
        """
        found: dict[int, set[int]] = {}
        if _OF_OTHERS.search(self._prose, max(0, value.start - 16), value.start):
            return found
        for mark in self._shown.inside(value):
            if mark.value.end > value.start or mark.value.kind != "name":
                continue
            if ";" in self._prose[mark.value.end : value.start]:
                continue
            for fact in mark.facts:
                if fact.row is not None:
                    found.setdefault(fact.row[0], set()).add(fact.row[1])
        return {number: rows for number, rows in found.items() if len(rows) < self._facts.tables[number].rows}

    def _of_rest(self, value: Value) -> Candidates:
        """Yield how many there are beside the rows of a list, of which a field counts all: "the other 18"."""
        is_before = _REST_BEFORE.search(self._prose, max(0, value.start - 16), value.start)
        if not (is_before or _REST_BEHIND.match(self._prose, value.end)):
            return
        for (source, _path), several in self._shown.steps.each(self._facts.siblings.items()):
            for fact in several[:MAX_WHOLES]:
                if fact.row is None and fact.number is not None and fact.unit is None:
                    for number, table in enumerate(self._facts.tables):
                        if table.source == source:
                            yield "difference", fact.number - table.rows, [fact, self._fact(number)]

    def of_groups(self, place: int, value: Value) -> Candidates:
        """Yield how many rows there are of those groups that the sentence of a value names or speaks of."""
        sentence = self._shown.around(value)
        behind = self._behind(value)
        groups = groups_of(self._facts)
        named = {group.label for group in groups if group.condition == "text" and group.label in behind}
        # "Iris has two of them" is said of her rows.
        subject = self._subject(place, value)
        of_whole = set() if subject else self._wholes(value)
        for group in self._shown.steps.each(groups):
            count = len(group.rows & subject.get(group.table, group.rows))
            if group.condition == "text":
                said_otherwise = words.STATUSES.get(group.label)
                is_said = group.label in named if named else group.label in sentence.small
                is_said = is_said or (said_otherwise is not None and sentence.says(said_otherwise))
            else:
                is_said = self._is_said(group, sentence, behind)
            rows = self._facts.tables[group.table].rows
            if is_said or (not named and rows in of_whole):
                yield "count", Decimal(count), [self._fact(group.table, group.column)]
            if not named and rows in of_whole:
                yield "count", Decimal(rows - count), [self._fact(group.table, group.column)]

    def _is_said(self, group: Group, sentence: Sentence, behind: str) -> bool:
        if group.condition == "month":
            return self._is_of_period(group.label, sentence, behind)
        if group.condition in ("yes", "no"):
            return sentence.names(group.column)
        return sentence.says(words.CONDITIONS[group.condition])

    def _is_of_period(self, label: str, sentence: Sentence, behind: str) -> bool:
        month = int(label[5:])
        if any(words.months().get(word) == month for word in _LETTERS.findall(behind)):
            return True
        today = self._facts.now.date()
        this = today.year * 12 + today.month
        age = this - int(label[:4]) * 12 - month
        return (age == 0 and sentence.says(words.THIS_MONTH)) or (age == 1 and sentence.says(words.LAST_MONTH))

    def _of_limits(self, place: int, value: Value) -> Candidates:
        """Yield how many rows have more, and how many less, than a number that the sentence shows."""
        sentence = self._shown.around(value)
        signs = [sign for sign, name in ((1, "more"), (-1, "less")) if sentence.says(words.CONDITIONS[name])]
        for mark in self._shown.beside(place) if signs else ():
            for column in self._shown.steps.each(self._facts.columns):
                unit = column.facts[0].unit
                if len(column.facts) > 1 and (unit is None or are_alike(unit, mark.value.unit)):
                    for sign in signs:
                        fitting = [
                            one for one in column.facts if sign * ((one.number or 0) - mark.value.numbers[0]) > 0
                        ]
                        yield "count", Decimal(len(fitting)), fitting[:8]

    def _wholes(self, value: Value) -> set[int]:
        """Return of how many a count says that it is a part: "three of the five", "two of them"."""
        if _OF_THEM.match(self._prose, value.end):
            return {table.rows for table in self._facts.tables}
        found = _OF.match(self._prose, value.end)
        if found is None:
            return set()
        said = found[1].casefold()
        number = int(said) if said.isdigit() else words.NUMBERS.get(said)
        return {table.rows for table in self._facts.tables if number is None or table.rows == number}

    def _behind(self, value: Value) -> str:
        """Return the words behind a count that still belong to it, in small letters."""
        end = min(len(self._prose), value.end + MAX_BEHIND)
        stop = _BREAK.search(self._prose, value.end, end)
        return self._prose[value.end : stop.start() if stop else end].casefold()

    def _fact(self, number: int, column: str = "") -> Fact:
        table = self._facts.tables[number]
        return Fact(table.source, f"{table.name}.{column}" if column else table.name)

    @cached_property
    def _items(self) -> int:
        return len(_ITEM.findall(self._prose)) + len(_INDENTED.findall(self._prose))

    @cached_property
    def _table_rows(self) -> int:
        return max(0, len(_ROW.findall(self._prose)) - 2)

    @cached_property
    def _shown_rows(self) -> dict[int, set[int]]:
        """The rows of each list that the answer shows by a value that no other row has."""
        found: dict[int, set[int]] = {}
        for mark in self._shown.marks:
            rows = {fact.row for fact in mark.facts if fact.row is not None}
            if len(rows) == 1 and not mark.derived:
                table, row = next(iter(rows))
                found.setdefault(table, set()).add(row)
        return found


def _is_count(mark: Mark) -> bool:
    return mark.derived == "count" and mark.value.kind == "number"
