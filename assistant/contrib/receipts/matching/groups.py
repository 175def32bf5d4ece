"""Groups into which rows of a list fall: by text, by yes and no, by what is missing, by month and by comparison."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations, islice
from typing import Literal

from assistant.contrib.receipts.matching.facts import Facts
from assistant.contrib.receipts.matching.sources import MISSING, Fact, Table

# Texts by which the rows of one column are divided, and groups of one run.
MAX_GROUPS = 20
MAX_OF_RUN = 60
# Columns of numbers that are compared with each other.
MAX_COMPARED = 4
MAX_MOMENTS = 200

Condition = Literal["text", "yes", "no", "missing", "given", "month", "past", "ahead", "less", "more", "late", "early"]


@dataclass(frozen=True, slots=True)
class Group:
    """Some rows of a list.

    Attributes:
        table: the number of the list in the run.
        column: the field that divides the rows.
        label: the text that the rows have there, in small letters; of a month "2026-03".
        rows: their numbers.
    """

    table: int
    column: str
    condition: Condition
    label: str
    rows: frozenset[int]


def groups_of(facts: Facts) -> list[Group]:
    """Return the groups of a run's lists, some of them, each of some rows of a list and not of all."""
    if facts.groups is None:
        found = (
            group
            for number, table in enumerate(facts.tables)
            for group in _of_table(facts, number, table)
            if 0 < len(group.rows) < table.rows
        )
        facts.groups = list(islice((*found, *_of_days(facts), *_late(facts)), MAX_OF_RUN))
    return facts.groups


def _of_table(facts: Facts, number: int, table: Table) -> Iterator[Group]:
    for column, texts in table.texts.items():
        if len(texts) > MAX_GROUPS:
            continue
        # A text that each row has once names the row.
        for text, rows in texts.items() if len(texts) < table.rows else ():
            yield Group(number, column, _CONDITIONS.get(text, "text"), text, frozenset(rows))
        if MISSING in texts:
            missing = texts[MISSING]
            yield Group(number, column, "given", "", frozenset(range(table.rows)) - frozenset(missing))
    columns = [(name, several) for name, several in table.columns.items() if len(several) == table.rows]
    for (name, several), (_other, others) in combinations(columns[:MAX_COMPARED], 2):
        pairs = list(zip(several, others, strict=True))
        if all(first.unit == second.unit for first, second in pairs):
            yield Group(number, name, "less", "", _rows(first for first, second in pairs if _of(first) < _of(second)))
            yield Group(number, name, "more", "", _rows(first for first, second in pairs if _of(first) > _of(second)))


_CONDITIONS: dict[str, Condition] = {"\0true": "yes", "\0false": "no", MISSING: "missing"}


def _of_days(facts: Facts) -> Iterator[Group]:
    today = facts.now.date()
    found: dict[tuple[int, str, Condition, str], set[int]] = {}
    for day, several in facts.days.items():
        for fact in several:
            if fact.row is None:
                continue
            side: Condition = "past" if day < today else "ahead"
            for condition, label in ((side, ""), ("month", f"{day:%Y-%m}")):
                found.setdefault((fact.row[0], fact.field, condition, label), set()).add(fact.row[1])
    for (table, field, condition, label), rows in found.items():
        yield Group(table, field, condition, label, frozenset(rows))


def _late(facts: Facts) -> Iterator[Group]:
    """Yield the rows in which one of two moments, such as what was planned, is before the other."""
    by_row: dict[tuple[int, int], dict[str, datetime]] = {}
    for moment, fact in facts.moments[:MAX_MOMENTS]:
        if fact.row is not None:
            by_row.setdefault(fact.row, {}).setdefault(fact.field, moment)
    found: dict[tuple[int, str, Condition], set[int]] = {}
    for (table, row), moments in by_row.items():
        for (first, one), (_later, other) in combinations(list(moments.items())[:MAX_COMPARED], 2):
            if one != other:
                found.setdefault((table, first, "late" if one < other else "early"), set()).add(row)
    for (table, field, condition), rows in found.items():
        if len(rows) < facts.tables[table].rows:
            yield Group(table, field, condition, "", frozenset(rows))


def _rows(several: Iterator[Fact]) -> frozenset[int]:
    return frozenset(fact.row[1] for fact in several if fact.row is not None)


def _of(fact: Fact) -> float:
    return float(fact.number or 0)
