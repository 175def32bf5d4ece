"""Combines numbers: sums, differences, shares, products, quotients, and what of them is computed with constants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from itertools import combinations, product

from assistant.contrib.receipts.matching import words
from assistant.contrib.receipts.matching.operands import Operand, is_money_unit
from assistant.contrib.receipts.matching.results import EXACT, Result
from assistant.contrib.receipts.matching.sources import Fact
from assistant.contrib.receipts.matching.units import CENTS, DAY, NO_UNIT, PERCENT, TEMPERATURES, Unit, length_of_field

# An amount in the currency that goes with cents, whichever that is.
ANY_CURRENCY = Unit("currency", Decimal(1))
# The largest percentage by which one number is more than another.
MAX_PERCENT = 1_000


def combined(first: Operand, second: Operand) -> Iterator[Result]:
    """Yield what two numbers make: sums, differences, shares and ratios of like ones, products and rates of others."""
    facts = (*first.facts[:4], *second.facts[:4])
    a = first.number
    b = second.number
    is_count = first.unit is NO_UNIT and second.unit is NO_UNIT
    if is_count and (first.measure != second.measure or not first.measure):
        yield Result(a * b, NO_UNIT, "product", facts)
    if first.is_like(second):
        # A number and what it is part of make no sum.
        if first.unit.dimension not in TEMPERATURES and not set(first.facts) & set(second.facts):
            yield Result(a + b, first.unit, "sum", facts)
        yield Result(a - b, first.unit, "difference", facts)
        if a and b and first.unit != PERCENT:
            yield from _compared(abs(a), abs(b), facts)
        return
    if _are_of_different_things(first, second):
        return
    for one, other in ((first, second), (second, first)):
        yield from _taken(one, other, facts)


def _taken(one: Operand, other: Operand, facts: tuple[Fact, ...]) -> Iterator[Result]:
    """Yield a part of a number, what it is as often as another says, and what of it is for one of that."""
    if PERCENT in (one.unit, other.unit):
        if other.unit == PERCENT and one.unit.dimension not in EXACT:
            part = one.number * other.number / 100
            for number in (part, one.number - part, one.number + part):
                yield Result(number, one.unit, "share", facts)
        return
    times = other.number / other.unit.factor
    if one.unit == CENTS:
        yield Result(one.number * times / 100, ANY_CURRENCY, "product", facts)
    elif one.per is not None and one.per.dimension == other.unit.dimension:
        yield Result(one.number * other.number / one.per.factor, one.unit, "rate", facts)
    elif one.is_rate and one.unit is not NO_UNIT and not other.is_rate and not other.is_rows:
        # What it is per is no unit: persons, nights.
        if one.per is None and other.unit.dimension in ("none", "time"):
            yield Result(one.number * times, one.unit, "rate", facts)
    elif one.unit is not NO_UNIT and one.unit.dimension not in EXACT and _is_for(one, other):
        yield Result(one.number * times, one.unit, "product", facts)
    if times and not other.is_rate and other.unit != CENTS:
        yield Result(one.number / times, one.unit, "quotient", facts)


def are_of_two_rows(first: Operand, second: Operand) -> bool:
    rows = {one.facts[0].row for one in (first, second) if len(one.facts) == 1}
    return len(rows - {None}) > 1


def are_of_one_list(first: Operand, second: Operand) -> bool:
    """Whether two fields are of two rows of one list.

    A sentence compares one field of two rows only if it names both, and with two fields of two rows nobody computes.
    """
    rows = {one.facts[0].row for one in (first, second) if len(one.facts) == 1 and one.place}
    return len(rows) == 2 and None not in rows and len({row[0] for row in rows if row}) == 1


def _is_for(one: Operand, other: Operand) -> bool:
    """Whether one number may be for each of another: an amount for what is measured, anything for what is counted."""
    if other.unit is NO_UNIT:
        return True
    return is_money_unit(one.unit) and other.unit != CENTS and not is_money_unit(other.unit)


def _are_of_different_things(first: Operand, second: Operand) -> bool:
    """Whether a price and a number are fields of different things: the price of one plan, the customers of another."""
    if not first.place or not second.place or first.place == second.place:
        return False
    if first.place.endswith(":") or second.place.endswith(":"):
        return False
    return not first.is_like(replace(second, unit=first.unit))


def _compared(a: Decimal, b: Decimal, facts: tuple[Fact, ...]) -> Iterator[Result]:
    low, high = sorted((a, b))
    yield Result(high / low, NO_UNIT, "ratio", facts)
    share = low / high * 100
    yield Result(share, PERCENT, "share", facts)
    yield Result(100 - share, PERCENT, "difference", facts)
    more = (high / low - 1) * 100
    if more <= MAX_PERCENT:
        yield Result(more, PERCENT, "difference", facts)


def of_sentence(beside: Sequence[Operand]) -> Iterator[Result]:
    """Yield what numbers of one sentence make, which are compared whatever they count."""
    for first, second in combinations([replace(one, measure=()) for one in beside], 2):
        yield from combined(first, second)


def differences(pairs: Iterable[tuple[Operand, Operand]]) -> Iterator[Result]:
    """Yield differences of numbers of one unit, whatever they count."""
    for first, second in pairs:
        if first.unit == second.unit:
            facts = (*first.facts[:4], *second.facts[:4])
            yield Result(first.number - second.number, first.unit, "difference", facts)


def daily(row: Sequence[Operand]) -> Iterator[Result]:
    """Yield for one day what a field has for several, such as `sold_30d`."""
    for operand in row:
        length = length_of_field(operand.facts[0].field)
        if length is not None:
            days = length[1].base(length[0]) / DAY.factor
            if length[1].dimension == "time" and days > 1:
                yield Result(operand.number / days, operand.unit, "quotient", operand.facts)


def products(beside: Sequence[Operand]) -> Iterator[Result]:
    """Yield what neighbours make of which one is an amount and the others say how often: 22 × 3 × €24.50."""
    for start in range(len(beside) - 2):
        total = Decimal(1)
        units = list[Unit]()
        for place, one in enumerate(beside[start : start + 4]):
            total *= one.number / one.unit.factor
            units += [one.unit] if one.unit is not NO_UNIT and one.unit.dimension not in ("time", "months") else []
            if place > 1 and len(units) == 1:
                yield Result(
                    units[0].base(total),
                    units[0],
                    "product",
                    tuple(fact for each in beside[start : start + place + 1] for fact in each.facts)[:8],
                )


def several_of(beside: Sequence[Operand], is_difference: bool) -> Iterator[Result]:
    """Yield the sum of neighbours, and what is left of one when all others are taken from it, if that may be meant."""
    for start, first in enumerate(beside):
        alike = [first]
        total = first.number
        for other in beside[start + 1 :]:
            if other.unit.dimension != first.unit.dimension:
                continue
            alike.append(other)
            total += other.number
            facts = tuple(fact for one in alike for fact in one.facts)[:8]
            yield Result(total, first.unit, "sum", facts)
            if len(alike) > 2 and is_difference and first.number == max(one.number for one in alike):
                yield Result(2 * first.number - total, first.unit, "difference", facts)


def scaled(operands: Sequence[Operand], constants: Sequence[Decimal]) -> Iterator[Result]:
    for operand, constant in product(operands, constants):
        yield Result(operand.number * constant, operand.unit, "product", operand.facts[:8])
        yield Result(operand.number / constant, operand.unit, "quotient", operand.facts[:8])


def multiplied(results: Sequence[Result], constants: Sequence[Decimal]) -> list[Result]:
    """Return quotients times what the sentence says that they are for: litres for 100 kilometres."""
    return [
        replace(one, number=one.number * constant)
        for one, constant in product(results, constants)
        if one.name == "quotient"
    ]


def alone(operands: Iterable[Operand]) -> Iterator[Result]:
    """Yield what lists, groups and objects come to."""
    for operand in operands:
        if operand.is_sum:
            yield Result(operand.number, operand.unit, "sum", operand.facts[:8])
            if operand.count > 1:
                yield Result(operand.number / operand.count, operand.unit, "average", operand.facts[:8])


def paired(pairs: Iterable[tuple[Operand, Operand]]) -> Iterator[Result]:
    for first, second in pairs:
        is_count = first.unit is second.unit is NO_UNIT and (first.is_group or second.is_group)
        if first.facts != second.facts and not is_count:
            yield from combined(first, second)


def constants_in(sentence: str) -> Iterator[Decimal]:
    """Yield by how many something is taken or divided that a sentence says of a year, a month, a half and the like."""
    for pattern, number in words.CONSTANTS:
        if pattern.search(sentence):
            yield Decimal(number)
