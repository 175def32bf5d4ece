"""Finds values of an answer that belong to another row of a list than the rest of what its sentence says."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from assistant.contrib.receipts.matching import words
from assistant.contrib.receipts.matching.facts import Facts
from assistant.contrib.receipts.matching.prose import clauses

if TYPE_CHECKING:
    from assistant.contrib.receipts.matching.matching import Mark


def of_one_row(marks: list[Mark], prose: str, facts: Facts) -> list[Mark]:
    """Unmark values that belong to another row than the rest of what a sentence, item or row of a table says."""
    wrong = set[int]()
    place = 0
    for start, end in clauses(prose):
        inside = list[int]()
        while place < len(marks) and marks[place].value.start < end:
            if marks[place].value.start >= start:
                inside.append(place)
            place += 1
        if not words.COMPARED.search(prose, start, end):
            is_row = "|" in prose[start:end]
            wrong |= _strangers(marks, inside, facts, is_row=is_row)
    return [replace(mark, reason="other_row", facts=()) if place in wrong else mark for place, mark in enumerate(marks)]


def _rows(mark: Mark, facts: Facts) -> dict[int, set[int]]:
    """Return the rows in which a value stands, by their list; nothing for one that stands elsewhere too."""
    found: dict[int, set[int]] = defaultdict(set)
    for fact in mark.facts:
        if fact.row is not None and facts.tables[fact.row[0]].rows > 1:
            found[fact.row[0]].add(fact.row[1])
    return found


def _fields(mark: Mark, table: int) -> frozenset[str]:
    return frozenset(fact.field for fact in mark.facts if fact.row is not None and fact.row[0] == table)


def _strangers(marks: list[Mark], inside: list[int], facts: Facts, *, is_row: bool) -> set[int]:
    by_table: dict[int, list[tuple[int, set[int], frozenset[str], bool]]] = defaultdict(list)
    for place in inside:
        mark = marks[place]
        is_count = not is_row and _may_count_rows(mark, facts)
        if not mark.is_supported or mark.derived or mark.value.kind == "weekday" or is_count:
            continue
        for table, rows in _rows(mark, facts).items():
            only = all(fact.row is not None and fact.row[0] == table for fact in mark.facts)
            by_table[table].append((place, rows, _fields(mark, table), only))
    wrong = set[int]()
    for entries in by_table.values():
        groups = _groups(entries)
        if len(groups) > 1 and any(len(group) < 2 for group in groups):
            continue
        for group in groups:
            wrong |= _odd_ones(group)
    return wrong


def _may_count_rows(mark: Mark, facts: Facts) -> bool:
    value = mark.value
    return value.is_small_count and any(table.rows == value.numbers[0] for table in facts.tables)


Entry = tuple[int, set[int], frozenset[str], bool]


def _groups(entries: list[Entry]) -> list[list[Entry]]:
    """Divide values in their order into what is said of one row after the other: a field occurs once in each."""
    groups: list[list[Entry]] = [[]]
    seen = set[frozenset[str]]()
    for entry in entries:
        if entry[2] in seen:
            groups.append([])
            seen = set()
        seen.add(entry[2])
        groups[-1].append(entry)
    return groups


def _odd_ones(group: list[Entry]) -> set[int]:
    """Return the values of a group that are not of the row of which the most are."""
    if len(group) < 2:
        return set()
    counts = Counter(row for _place, rows, _fields, _only in group for row in rows)
    most = max(counts.values())
    if most == len(group):
        return set()
    best = {row for row, count in counts.items() if count == most}
    if len(group) > 2 and most < 2:
        return set()
    odd = {place for place, rows, _fields, only in group if only and not rows & best}
    if len(group) == 2 and not odd:
        # Each contradicts the other.
        return {place for place, _rows, _fields, only in group if only}
    return odd if len(odd) <= max(1, len(group) // 2) else set()
