"""Computes shares, quotients and equations of values that were looked up or that an answer shows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal, DivisionByZero, InvalidOperation

from assistant.contrib.receipts.matching import words
from assistant.contrib.receipts.matching.facts import Fact, Facts
from assistant.contrib.receipts.matching.shown import Shown
from assistant.contrib.receipts.matching.units import NO_UNIT, PERCENT, are_alike
from assistant.contrib.receipts.matching.units import words_of as field_words
from assistant.contrib.receipts.matching.values import Value, values_in

Candidates = Iterator[tuple[str, Decimal, Sequence[Fact]]]
# Characters between a number and the share of the whole that stands behind it.
MAX_GAP = 24
# Numbers of one object, and columns of a list, of which quotients are looked at.
MAX_FIELDS = 10
# Rows of a list of which shares are looked at.
MAX_ROWS = 40
_TIMES_BEHIND = re.compile(r"\s?(?:×|x\b|times\b|mal\b|-?fach)", re.IGNORECASE)
_OPERATOR = re.compile(r"\s*([×x*·+−–/÷-])\s*", re.IGNORECASE)
_EQUALS = re.compile(r"\s*(?:=|≈)\s*\**$")


def equations(shown: Shown, facts: Facts, value: Value) -> Candidates:
    """Yield what stands before an equals sign: "6 × €48.90 = €293.40" is checked, whatever its numbers are said of."""
    start, _end = shown.bounds(value)
    left = shown.prose[start : value.start]
    equals = _EQUALS.search(left)
    if equals is None:
        return
    found = values_in(left[: equals.start()], facts.now, 40)
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
        for first in several:
            for second in several:
                part_number = _number(first)
                whole = _number(second)
                if 0 < part_number < whole and (_is_named(first, sentence) or _is_named(second, sentence)):
                    yield "share", part_number / whole * 100, [first, second]
    for part_fact, whole_fact in _nested(shown, facts, value):
        if 0 < _number(part_fact) < _number(whole_fact) and _is_named(whole_fact, sentence):
            yield "share", _number(part_fact) / _number(whole_fact) * 100, [part_fact, whole_fact]
    for column, total, name in _columns(facts):
        for fact in column[:MAX_ROWS]:
            if 0 < _number(fact) < total and _is_named(fact, sentence) and name:
                yield "share", _number(fact) / total * 100, [fact]


def quotients(shown: Shown, facts: Facts, place: int, value: Value) -> Candidates:
    """Yield amounts for one of a count ("each", "per evening"), and how many times as much one is ("4.7×")."""
    sentence = shown.around(value)
    if value.unit is NO_UNIT and _TIMES_BEHIND.match(shown.prose, value.end) and value.decimals:
        beside = shown.beside(place)
        for first in beside:
            for second in beside:
                if first.value.unit == second.value.unit and second.value.numbers[0]:
                    quotient = first.value.numbers[0] / second.value.numbers[0]
                    yield "quotient", quotient, [*first.facts[:1], *second.facts[:1]]
        return
    if not words.EACH.search(sentence) or not value.unit.dimension.startswith("currency:"):
        return
    rows = [(Decimal(table.rows), Fact(table.source, table.name)) for table in facts.tables if table.rows > 1]
    for several in _objects(shown, facts, value):
        amounts = [fact for fact in several if fact.unit is not None and are_alike(fact.unit, value.unit)]
        counts = [(_number(fact), fact) for fact in several if _is_count(fact)]
        for amount in amounts:
            for number, fact in (*counts, *rows):
                if number > 1:
                    yield "quotient", _number(amount) / number, [amount, fact]


def _of_wholes(shown: Shown, facts: Facts, part: Decimal, value: Value, operands: Sequence[Fact]) -> Candidates:
    """Yield which share a number is of each that may be the whole of it: of its object, its column and the answer."""
    if part <= 0:
        return
    wholes = list[tuple[Decimal, Sequence[Fact]]]()
    wholes += [
        (mark.value.numbers[0], mark.facts[:1])
        for mark in shown.marks
        if mark.value.kind == "number" and mark.is_supported and mark.value.unit == value.unit
    ][:MAX_ROWS]
    fields = {fact.field for fact in operands}
    for column, total, _name in _columns(facts):
        if fields & {fact.field for fact in column}:
            wholes.append((total, column[:1]))
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
    for several in shown.numbers_near(value, facts):
        if len(several) <= MAX_FIELDS:
            yield several


def _nested(shown: Shown, facts: Facts, value: Value) -> Iterator[tuple[Fact, Fact]]:
    """Yield counts of objects, each with the counts of the objects that they are part of."""
    for several in _objects(shown, facts, value):
        source = several[0].source
        path = several[0].path.rpartition(".")[0]
        while path:
            path = path.rpartition(".")[0]
            for whole in facts.siblings.get((source, path), ())[:MAX_FIELDS]:
                for fact in several:
                    if _is_count(fact) and _is_count(whole):
                        yield fact, whole


def _columns(facts: Facts) -> Iterator[tuple[list[Fact], Decimal, str]]:
    """Yield the columns of counts and amounts, each with its sum and the name of its list."""
    for table in facts.tables:
        for column in list(table.columns.values())[:MAX_FIELDS]:
            if 1 < len(column) == table.rows:
                yield column, sum(map(_number, column), Decimal(0)), table.name


def _number(fact: Fact) -> Decimal:
    return abs(fact.number) if fact.number is not None else Decimal(0)


def _is_count(fact: Fact) -> bool:
    number = fact.number
    return number is not None and fact.unit is None and number == int(number) and number > 0


def _is_named(fact: Fact, sentence: str) -> bool:
    """Whether a sentence names the field of a count by one of its words: "clicks", "click rate"."""
    small = sentence.casefold()
    return _is_count(fact) and any(
        len(word) > 3 and re.search(rf"\b{re.escape(word.rstrip('s'))}", small) for word in field_words(fact.field)
    )
