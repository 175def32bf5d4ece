"""What of an answer nobody has looked up: what it supposes, makes up as an example, or denies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from assistant.contrib.receipts.matching import words
from assistant.contrib.receipts.matching.prose import clauses
from assistant.contrib.receipts.matching.units import Unit
from assistant.contrib.receipts.matching.values import MAX_SMALL, Value

if TYPE_CHECKING:
    from assistant.contrib.receipts.matching.matching import Mark

# Of a mark while others are computed of it.
SUPPOSED = "supposed"
# Characters between a day of the week and its date.
MAX_TO_DATE = 12


def with_suppositions(marks: Sequence[Mark], prose: str) -> list[Mark]:
    """Take for given what a condition supposes, and small counts of what would be: nobody has looked them up."""
    conditions = [found.span() for found in words.CONDITION.finditer(prose)]
    # "Two parcels would be": what stands behind it follows from it.
    would = [
        (start, last.start())
        for start, end in clauses(prose)
        for last in [next(iter(words.SUPPOSED.finditer(prose, start, end)), None)]
        if last is not None
    ]
    supposed = set[tuple[Decimal, Unit]]()
    found = list(marks)
    for place, mark in enumerate(marks):
        if mark.reason != "not_found" or mark.value.kind != "number":
            continue
        said = (mark.value.numbers[0], mark.value.unit)
        # What is supposed once may be said again.
        is_supposed = said in supposed or (_is_within(mark, conditions) and not _is_threshold(mark.value, prose))
        if is_supposed or (_is_few(mark.value) and _is_within(mark, would)):
            supposed.add(said)
            found[place] = replace(mark, derived=SUPPOSED, reason="")
    return found


def _is_threshold(value: Value, prose: str) -> bool:
    """Whether a number says from where on something is so: "if it has not come after 10 days" is said of a rule."""
    return bool(words.THRESHOLD.search(prose, max(0, value.start - 24), value.start))


def _is_few(value: Value) -> bool:
    """Whether a value is a small count, or a short length of time."""
    is_length = value.unit.dimension in ("time", "months") and not value.decimals and value.numbers[0] <= MAX_SMALL
    return value.is_small_count or is_length


def without_examples(marks: list[Mark], prose: str) -> list[Mark]:
    """Leave out what a sentence makes up as an example: nobody takes it for something that was looked up."""
    made_up = [(start, end) for start, end in clauses(prose) if words.EXAMPLE.search(prose, start, end)]
    # "Nobody came on Thursday" is said of a day that has no row.
    empty = [(start, end) for start, end in clauses(prose) if words.NOBODY.search(prose, start, end)]
    return [
        mark
        for mark in marks
        if mark.reason != "not_found"
        or not (
            _is_within(mark, made_up)
            or (mark.value.kind == "weekday" and _is_within(mark, empty) and not _has_date(mark, marks))
            or words.NEGATED.search(prose, max(0, mark.value.start - 24), mark.value.start)
        )
    ]


def _has_date(mark: Mark, marks: Sequence[Mark]) -> bool:
    """Whether a day of the week stands before a date, with which it has to agree."""
    place = mark.value.end
    return any(other.value.kind == "date" and 0 <= other.value.start - place <= MAX_TO_DATE for other in marks)


def _is_within(mark: Mark, places: list[tuple[int, int]]) -> bool:
    return any(start <= mark.value.start < end for start, end in places)
