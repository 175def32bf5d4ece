"""Computes shares, quotients and equations of values that were looked up or that an answer shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, DivisionByZero, InvalidOperation
from itertools import islice, permutations, product

from assistant.contrib.receipts.matching import words
from assistant.contrib.receipts.matching.facts import Facts
from assistant.contrib.receipts.matching.shown import Shown
from assistant.contrib.receipts.matching.sources import Column, Fact
from assistant.contrib.receipts.matching.units import NO_UNIT, PERCENT, Unit, are_alike
from assistant.contrib.receipts.matching.values import Value, values_in

Candidates = Iterator[tuple[str, Decimal, Sequence[Fact]]]
# Characters between a number and the share of the whole that stands behind it.
MAX_GAP = 24
# Numbers of one object, and columns of a list, of which quotients are looked at.
MAX_FIELDS = 10
MAX_YEARLY = 16
# Rows of a list of which shares are looked at.
MAX_ROWS = 40
_TIMES_BEHIND = re.compile(r"\s?(?:×|x\b|times\b|mal\b|-?fach)", re.IGNORECASE)
_OPERATOR = re.compile(r"\s*([×x*·+−–/÷-])\s*", re.IGNORECASE)
# Characters of an equation.
MAX_EQUATION = 400


def equations(shown: Shown, facts: Facts, value: Value) -> Candidates:
    """Yield what stands before an equals sign: "6 × €48.90 = €293.40" is checked, whatever its numbers are said of."""
    start, _end = shown.bounds(value)
    left = shown.prose[max(start, value.start - MAX_EQUATION) : value.start].rstrip("*").rstrip()
    if not left.endswith(("=", "≈")):
        return
    found = values_in(left[:-1], facts.now, 40)
    numbers = [one for one in found if one.kind == "number"]
    if len(numbers) < 2:
        return
    total = numbers[-1].numbers[0]
    for before, after in zip(reversed(numbers[:-1]), reversed(numbers[1:]), strict=True):
        sign = _OPERATOR.fullmatch(left, before.end, after.start)
        if sign is None:
            break
        number = before.numbers[0]
        try:
            match sign[1]:
                case "×" | "x" | "X" | "*" | "·":
                    total *= number
                case "+":
                    total += number
                case "/" | "÷":
                    total = number / total
                case _:
                    total = number - total
        except (DivisionByZero, InvalidOperation):
            return
        yield "equation", total, ()


def shares(shown: Shown, facts: Facts, place: int, value: Value) -> Candidates:
    """Yield shares of a whole, in percent, of the number that stands before a share: "42 votes (25%)".

    And those of two counts of one object, of which the sentence names one.
    """
    if value.unit != PERCENT:
        return
    before = [mark for mark in shown.beside(place) if mark.value.end <= value.start]
    part = before[-1] if before else None
    if part is not None and value.start - part.value.end <= MAX_GAP and part.value.unit != PERCENT:
        yield from _of_wholes(shown, facts, part.value.numbers[0], part.value, part.facts[:1])
    sentence = shown.around(value)
    for several in _objects(shown, facts, value):
        named = [_is_count(fact) and sentence.names(fact.field) for fact in several]
        if not any(named):
            continue
        for (first, is_first_named), (second, is_second_named) in shown.steps.each(
            permutations(zip(several, named, strict=True), 2)
        ):
            if (is_first_named or is_second_named) and 0 < _number(first) < _number(second):
                yield "share", _number(first) / _number(second) * 100, [first, second]
    for part_fact, whole_fact in _nested(shown, facts, value):
        if 0 < _number(part_fact) < _number(whole_fact) and sentence.names(whole_fact.field):
            yield "share", _number(part_fact) / _number(whole_fact) * 100, [part_fact, whole_fact]
    for column in shown.steps.each(_columns(facts)):
        if not column.list_name or not sentence.names(column.field):
            continue
        for fact in shown.steps.each(column.facts[:MAX_ROWS]):
            if _is_count(fact) and _number(fact) < column.total:
                yield "share", _number(fact) / column.total * 100, [fact]


def of_a_year(shown: Shown, facts: Facts, place: int, value: Value) -> Candidates:
    """Yield twelve times a number of the same unit, where a sentence speaks of a year; lengths of time are no such."""
    if (
        value.unit is NO_UNIT
        or value.unit.dimension in ("time", "months")
        or not shown.around(value).says(words.YEARLY)
    ):
        return
    for several in shown.numbers_near(value, facts):
        for fact in shown.steps.each(several[:MAX_YEARLY]):
            if fact.unit is not None and fact.unit == value.unit:
                yield "product", _number(fact) * 12, [fact]
    for mark in shown.beside(place):
        if mark.value.unit == value.unit:
            yield "product", mark.value.numbers[0] * 12, mark.facts[:1]


def quotients(shown: Shown, facts: Facts, place: int, value: Value) -> Candidates:
    """Yield amounts for one of a count ("each", "per evening"), and how many times as much one is ("4.7×")."""
    sentence = shown.around(value)
    if value.unit is NO_UNIT and _TIMES_BEHIND.match(shown.prose, value.end) and value.decimals:
        beside = shown.beside(place)
        for first, second in shown.steps.each(product(beside, beside)):
            if first.value.unit == second.value.unit and second.value.numbers[0]:
                quotient = first.value.numbers[0] / second.value.numbers[0]
                yield "quotient", quotient, [*first.facts[:1], *second.facts[:1]]
        return
    is_average = words.AVERAGE.search(shown.prose, max(0, value.start - MAX_GAP), value.start)
    if is_average or words.FOR_ONE.match(shown.prose, value.end):
        yield from _for_one(shown, facts, place, value)
    if not sentence.says(words.EACH) or not value.unit.dimension.startswith("currency:"):
        return
    rows = [
        (Decimal(table.rows), Fact(table.source, table.name))
        for table in shown.steps.each(facts.tables)
        if table.rows > 1
    ]
    for several in _objects(shown, facts, value):
        amounts = [fact for fact in several if fact.unit is not None and are_alike(fact.unit, value.unit)]
        counts = [(_number(fact), fact) for fact in several if _is_count(fact)]
        for amount, (number, fact) in shown.steps.each(product(amounts, (*counts, *rows))):
            if number > 1:
                yield "quotient", _number(amount) / number, [amount, fact]


def _for_one(shown: Shown, facts: Facts, place: int, value: Value) -> Candidates:
    """Yield what is shown beside a number, or stands in an object, by what is or does as well: "€3.86 a mile"."""
    before = [
        mark
        for mark in shown.marks[max(0, place - MAX_FIELDS) : place + MAX_FIELDS]
        if mark.value.kind == "number" and mark.is_supported and mark.value is not value
    ]
    wholes = [(mark.value.numbers[0], mark.facts[:1]) for mark in before if are_alike(mark.value.unit, value.unit)]
    divisors = [(mark.value.numbers[0], mark.facts[:1]) for mark in before if not _is_amount(mark.value.unit)]
    for several in islice(_objects(shown, facts, value), MAX_FIELDS):
        for fact in several:
            unit = fact.unit or NO_UNIT
            if are_alike(unit, value.unit):
                wholes.append((_number(fact), (fact,)))
            if not _is_amount(unit):
                divisors.append((_number(fact), (fact,)))
    for (whole, operands), (number, found) in shown.steps.each(product(wholes[:MAX_ROWS], divisors[:MAX_ROWS])):
        if 1 < number < whole:
            yield "quotient", whole / number, [*operands, *found]


def _is_amount(unit: Unit) -> bool:
    return unit == PERCENT or unit.dimension.startswith("currency:")


def _of_wholes(shown: Shown, facts: Facts, part: Decimal, value: Value, operands: Sequence[Fact]) -> Candidates:
    """Yield which share a number is of each that may be the whole of it: of its object, its column and the answer."""
    if part <= 0:
        return
    wholes = list[tuple[Decimal, Sequence[Fact]]]()
    alike = (
        (mark.value.numbers[0], mark.facts[:1])
        for mark in shown.steps.each(shown.marks)
        if mark.value.kind == "number" and mark.is_supported and mark.value.unit == value.unit
    )
    wholes += islice(alike, MAX_ROWS)
    fields = {fact.field for fact in operands}
    for column in shown.steps.each(_columns(facts)):
        if column.field in fields:
            wholes.append((column.total, column.facts[:1]))
    wholes += [
        (_number(fact), [fact])
        for several in _objects(shown, facts, value)
        for fact in several
        if fact.row is None and (fact.field in fields or (fact.unit is not None and fact.unit == value.unit))
    ]
    for whole, found in wholes:
        if whole > part:
            yield "share", part / whole * 100, [*operands, *found]


def _objects(shown: Shown, facts: Facts, value: Value) -> Iterator[list[Fact]]:
    for several in shown.steps.each(shown.numbers_near(value, facts)):
        if len(several) <= MAX_FIELDS:
            yield several


def _nested(shown: Shown, facts: Facts, value: Value) -> Iterator[tuple[Fact, Fact]]:
    """Yield counts of objects, each with the counts of the objects that they are part of."""
    for several in _objects(shown, facts, value):
        source = several[0].source
        path = several[0].path.rpartition(".")[0]
        while path:
            path = path.rpartition(".")[0]
            wholes = facts.siblings.get((source, path), ())[:MAX_FIELDS]
            for whole, fact in shown.steps.each(product(wholes, several)):
                if _is_count(fact) and _is_count(whole):
                    yield fact, whole


def _columns(facts: Facts) -> Iterator[Column]:
    """Yield the columns of counts and amounts that each row has, of the first fields of each list."""
    for column in facts.columns:
        if column.place < MAX_FIELDS and 1 < len(column.facts) == column.rows:
            yield column


def _number(fact: Fact) -> Decimal:
    return abs(fact.number) if fact.number is not None else Decimal(0)


def _is_count(fact: Fact) -> bool:
    number = fact.number
    return number is not None and fact.unit is None and number == int(number) and number > 0
