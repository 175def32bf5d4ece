"""What numbers make, and whether a value that shows such a result may as well be there by chance.

Of many numbers nearly any small one is the difference of some two. So it is counted how many results lie near a value,
and how many different numbers could stand there: their quotient is the chance that a wrong value is found.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from assistant.contrib.receipts.matching.sources import Fact
from assistant.contrib.receipts.matching.units import CENTS, NO_UNIT, PERCENT, Unit
from assistant.contrib.receipts.matching.values import Value

# How far from a value results are counted, as a factor, and at least how many places.
WINDOW = Decimal("1.5")
MIN_PLACES = Decimal(10)
# Up to which chance results are so many that round values are counted by their last digit that is no zero.
MAX_WIDE = Decimal("0.2")
# Units that a number without one is not.
EXACT = frozenset({"percent", "time", "months"})


@dataclass(frozen=True, slots=True)
class Result:
    """What some operands make; `number` is in the smallest unit of its dimension."""

    number: Decimal
    unit: Unit
    name: str
    facts: tuple[Fact, ...]


def chance_of(value: Value, numbers: Collection[Decimal], width: Decimal) -> Decimal:
    """Return how many of the numbers that could stand in the place of a value would be found as well, as a share.

    Args:
        numbers: what was computed, in the value's unit; those far from the value do not count.
        width: between which numbers what the value shows lies, from the lowest to the highest.
    """
    shown = abs(value.numbers[0])
    chances = []
    for low, high in (_window(shown), (shown - MIN_PLACES / 2 * width, shown + MIN_PLACES / 2 * width)):
        near = {number // width for number in numbers if low <= number <= high}
        chances.append(len(near) / max(Decimal(1), (high - low) / width))
    return min(chances)


def _window(number: Decimal) -> tuple[Decimal, Decimal]:
    return number / WINDOW, number * WINDOW


def _step(number: Decimal) -> Decimal:
    """Return the place of the last digit of a number that is no zero: 10 for 250."""
    return Decimal(1).scaleb(int(number.normalize().as_tuple().exponent)) if number else Decimal(1)


class Results:
    """Results by what they measure, in the order of their size."""

    def __init__(self, found: Iterable[Result]) -> None:
        self._by_dimension: dict[str, list[tuple[Decimal, int, Result]]] = {}
        for count, one in enumerate(found):
            self._by_dimension.setdefault(one.unit.dimension, []).append((abs(one.number), count, one))
        for several in self._by_dimension.values():
            several.sort(key=lambda entry: entry[:2])

    def of(self, value: Value, limit: Decimal, fits: Callable[[Decimal], bool], width: Decimal) -> Result | None:
        """Return the result that a value shows, if it is there by chance in at most `limit` of all cases; else None.

        Args:
            fits: whether a number, in the value's unit, is shown by the value.
            width: between which numbers what it shows lies, from the lowest to the highest.
        """
        shown = abs(value.numbers[0])
        near = set[Decimal]()
        found: Result | None = None
        low = min(shown / WINDOW, shown - MIN_PLACES / 2 * width)
        for number, one in self._near(value, low, max(shown * WINDOW, shown + MIN_PLACES / 2 * width)):
            near.add(number)
            if found is None and fits(number):
                found = one
        if limit <= MAX_WIDE:
            # Both what is computed and what is made up are often round.
            width = max(width, _step(shown))
        return found if found is not None and chance_of(value, near, width) <= limit else None

    def _near(self, value: Value, low: Decimal, high: Decimal) -> Iterator[tuple[Decimal, Result]]:
        unit = value.unit
        if unit is NO_UNIT:
            for several in self._by_dimension.values():
                # Each in the unit of its operands.
                for _base, _count, one in several:
                    number = abs(one.number) / one.unit.factor
                    if low <= number <= high and one.unit != PERCENT:
                        yield number, one
            return
        others: tuple[str, ...]
        is_money = unit.dimension.startswith("currency:")
        # What fields count that name no unit may be of any, but no time and no share.
        if is_money:
            # Where amounts have a currency, what has none is no amount.
            others = ("currency",) if unit.dimension in self._by_dimension else ("currency", "none")
        elif unit == CENTS:
            for dimension, several in self._by_dimension.items():
                is_amount_of = dimension.startswith("currency")
                for number, _count, one in several if is_amount_of or dimension == "none" else ():
                    if low <= number * 100 <= high and (is_amount_of or one.name == "quotient"):
                        yield number * 100, one
            others = ()
        else:
            is_known = unit.dimension in EXACT or unit.dimension in self._by_dimension
            others = () if is_known else ("none",)
        for dimension in (unit.dimension, *others):
            several = self._by_dimension.get(dimension, [])
            factor = unit.factor if dimension == unit.dimension else Decimal(1)
            start = bisect_left(several, low * factor, key=lambda entry: entry[0])
            end = bisect_right(several, high * factor, key=lambda entry: entry[0])
            yield from ((base / factor, one) for base, _count, one in several[start:end])
