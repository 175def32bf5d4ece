"""Computes what an answer may say of values that were looked up: sums, counts, differences, averages, shares, times."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from decimal import Decimal
from functools import cached_property
from itertools import combinations, islice, product
from typing import TYPE_CHECKING, TypeVar

from assistant.contrib.receipts.matching import ratios, spans, words
from assistant.contrib.receipts.matching.arithmetic import Arithmetic
from assistant.contrib.receipts.matching.counts import Counts
from assistant.contrib.receipts.matching.facts import Facts
from assistant.contrib.receipts.matching.ratios import Candidates
from assistant.contrib.receipts.matching.results import chance_of
from assistant.contrib.receipts.matching.rounding import Range, range_of
from assistant.contrib.receipts.matching.said_fields import SaidFields
from assistant.contrib.receipts.matching.shown import Shown
from assistant.contrib.receipts.matching.sources import Column, Fact
from assistant.contrib.receipts.matching.units import DAY, MONTH, NO_UNIT, PERCENT, are_alike, is_rate, words_of
from assistant.contrib.receipts.matching.values import Value

if TYPE_CHECKING:
    from assistant.contrib.receipts.matching.matching import Mark

T = TypeVar("T")
# By which chance what a rule finds may be wrong; of one that names its operands, by any.
NAMED_CHANCE = Decimal("0.34")
RULE_CHANCE = Decimal("0.2")
LENGTH_CHANCE = Decimal("0.15")
ANY = Decimal("Infinity")
# Rows of a list of which differences of all pairs are looked at, and numbers of one object.
MAX_PAIRED_ROWS = 40
MAX_PAIRED_FIELDS = 16
# Rows of a longer list of which differences of all pairs are looked at for one value.
MAX_COMPARED_ROWS = 10
# Counts of one object of which differences are looked at: of many, one is found for any small number.
MAX_COUNTS = 5
# Amounts of one passage of which differences are looked at.
MAX_OF_PASSAGE = 6
# The groups into which a column divides rows.
MAX_GROUPS = 20
# Marks before and behind a value among which those of its unit are looked for.
MAX_AWAY = 100
# The values shown in a row of which sums are looked at.
MAX_SHOWN = 12
# Characters between a share and the numbers of which it is one.
MAX_BESIDE = 120
_ITEM = re.compile(r"^[ \t]*(?:[-*+•]|\d{1,3}[.)])[ \t]+\S", re.MULTILINE)
# Behind the number of some of the rows that were found.
_SOME = re.compile(
    r"\s+(?:of\b|newest|latest|oldest|earliest|first|last|biggest|largest|smallest|highest|lowest|top|most|best|next|recent"
    r"|neuesten?|ältesten?|letzten?|ersten?|größten?|kleinsten?|höchsten?|nächsten?|jüngsten?|davon)\b",
    re.IGNORECASE,
)
# Words of fields that hold shares of one.
_SHARES = frozenset({"rate", "share", "ratio", "quote", "anteil"})
_LETTERS = re.compile(r"[^\W\d_]+")
_END = re.compile(r"[.!?:;\n]")
_TIMES = re.compile(r"[ \u00a0]?(?:×|x\b|\*[ ])", re.IGNORECASE)


class Derivations:
    """What can be computed from the facts of a run and the values that its answer shows."""

    def __init__(self, facts: Facts, shown: Shown) -> None:
        self.facts = facts
        self._marks = shown.marks
        self._prose = shown.prose
        self._steps = shown.steps
        self._shown_by = shown
        self.counts = Counts(facts, shown)
        self._said = SaidFields(shown.prose, facts)
        self._arithmetic = Arithmetic(facts, shown)

    def of(self, place: int, value: Value) -> tuple[str, list[Fact]] | None:
        """Return how a number was computed and from which facts; None if in no way that is looked at."""
        if self.counts.is_times_of_name(place, value):
            return None
        ranges = [range_of(value, shown) for shown in value.numbers]
        width = _width(value)
        for candidates, limit in (
            (self.counts.of, ANY),
            (self._equations, ANY),
            (self._lengths_near, ANY),
            (self._lengths, LENGTH_CHANCE),
            (self._sums, ANY),
            (self._shown, ANY),
            (self._multiplied, ANY),
            (self._differences_of_named, NAMED_CHANCE),
            (self._differences_of_all, RULE_CHANCE),
            (self._others, RULE_CHANCE),
            (self._ratios, RULE_CHANCE),
        ):
            found: tuple[str, list[Fact]] | None = None
            numbers = set[Decimal]()
            for name, number, facts in candidates(place, value):
                self._steps.spend(1)
                numbers.add(abs(number))
                if found is None and any(_is_in(number, shown) for shown in ranges):
                    found = name, list(facts)
                    if limit == ANY:
                        return found
                if self._steps.is_spent:
                    return None
            if found is not None and chance_of(value, numbers, width) <= limit * (2 if value.is_about else 1):
                return found
        is_quantity = value.is_small_count and self.counts.is_quantity(place, value)
        if is_quantity and not self._arithmetic.rows.nearest(place, value):
            return None
        return self._arithmetic.of(place, value, lambda number: any(_is_in(number, one) for one in ranges), width)

    def row_behind(self, value: Value) -> tuple[int, int] | None:
        """Return the row that the word behind a number names; None if it names none, or several."""
        return self._arithmetic.rows.behind(value)

    def _equations(self, place: int, value: Value) -> Candidates:
        return ratios.equations(self._shown_by, self.facts, value)

    def _lengths_near(self, place: int, value: Value) -> Candidates:
        yield from spans.lengths(self._shown_by, self.facts, value, self._said, is_near=True)
        # The months and days of which a list has a row each.
        grain = {DAY: "day", MONTH: "month"}.get(value.unit)
        for number, table in enumerate(self.facts.tables if grain else ()):
            if table.grain == grain and table.rows > 1 and self._has_different_days(number):
                yield "count", Decimal(table.rows), [Fact(table.source, table.name)]

    def _has_different_days(self, table: int) -> bool:
        days = sum(any(fact.row and fact.row[0] == table for fact in found) for found in self.facts.days.values())
        return days in (0, self.facts.tables[table].rows)

    def _lengths(self, place: int, value: Value) -> Candidates:
        return spans.lengths(self._shown_by, self.facts, value, self._said, is_near=False)

    def _ratios(self, place: int, value: Value) -> Candidates:
        yield from ratios.shares(self._shown_by, self.facts, place, value)
        yield from ratios.quotients(self._shown_by, self.facts, place, value)
        yield from ratios.of_a_year(self._shown_by, self.facts, place, value)

    # Sums

    @cached_property
    def _columns(self) -> list[Column]:
        return [column for column in self.facts.columns if len(column.facts) > 1]

    def _columns_for(self, value: Value) -> Iterator[Column]:
        """Yield the columns of a value's unit."""
        return (column for column in self._steps.each(self._columns) if _may_be(value, column.facts[0]))

    def _sums(self, place: int, value: Value) -> Candidates:
        if words.TIMES.fullmatch(value.text) or (self._is_small(value) and self.counts.is_quantity(place, value)):
            return
        sentence = self._shown_by.around(value)
        rows = self._shown_by.rows(value) if sentence.says(words.ADDED) else set()
        is_small = self._is_small(value)
        is_sum_said = not is_small or sentence.says(words.OPERATIONS["sum"])
        for column in self._columns_for(value):
            if not is_small:
                for position, total in enumerate(column.sums[1:-1][: MAX_PAIRED_ROWS - 1], start=1):
                    yield "sum", total, column.facts[: position + 1]
            if is_sum_said or sentence.names(column.field):
                yield "sum", column.sums[-1], column.facts
            named = [fact for fact in column.facts if fact.row in rows]
            if len(named) > 1:
                yield "sum", sum(map(_of, named), Decimal(0)), named
        for products, total in self._products:
            if not _may_be(value, products[0][1][1]):
                continue
            for number, operands in products[:MAX_PAIRED_ROWS]:
                yield "product", number, operands
            yield "sum", total, products[0][1]

    @cached_property
    def _products(self) -> list[tuple[list[tuple[Decimal, list[Fact]]], Decimal]]:
        """Number times price, by row, and what that comes to."""
        found = []
        for table in self.facts.tables:
            columns = [facts for facts in table.columns.values() if all(fact.number is not None for fact in facts)]
            counts = [facts for facts in columns if all(_is_count(fact) for fact in facts)]
            prices = [facts for facts in columns if any(not _is_count(fact) for fact in facts)]
            for amounts in counts[:4]:
                for each in prices[:4]:
                    by_row = {fact.row: fact for fact in amounts}
                    products = [
                        (
                            _of(fact) * _of(by_row[fact.row]),
                            [by_row[fact.row], fact],
                        )
                        for fact in each
                        if fact.row in by_row
                    ]
                    if products:
                        found.append((products, sum((number for number, _ in products), Decimal(0))))
        return found

    def _shown(self, place: int, value: Value) -> Candidates:
        """Sums and differences of values that the answer itself shows beside it, of the same unit."""
        is_average = self._shown_by.around(value).says(words.AVERAGE)
        if self._is_small(value) and not is_average:
            return
        first = max(0, place - MAX_AWAY)
        numbers = [
            (position, mark)
            for position, mark in enumerate(self._marks[first : place + MAX_AWAY], start=first)
            if mark.value.kind == "number" and position != place and mark.is_supported and mark.value.unit == value.unit
            and (value.unit is not NO_UNIT or mark.value.decimals == value.decimals)
        ]  # fmt: skip
        before = [mark for position, mark in numbers if position < place][-MAX_SHOWN:]
        after = [mark for position, mark in numbers if position > place][:MAX_SHOWN]
        for shown in (before[::-1], after):
            total = Decimal(0)
            operands = list[Fact]()
            for position, mark in enumerate(shown):
                total += mark.value.numbers[0]
                operands += mark.facts[:1]
                if position:
                    yield "sum", total, operands
                    if is_average:
                        yield "average", total / (position + 1), operands
        for shown in (before[-3:], after[:3]):
            for position, mark in enumerate(shown):
                for other in shown[position + 1 :]:
                    yield (
                        "difference",
                        mark.value.numbers[0] - other.value.numbers[0],
                        [*mark.facts[:1], *other.facts[:1]],
                    )

    def _multiplied(self, place: int, value: Value) -> Candidates:
        """An amount that the answer shows beside it, or a rate, times a number that it shows, such as of hours.

        And an amount with a percentage more or less, as a tax or a discount makes it.
        """
        is_money = value.unit.dimension.startswith("currency:")
        sentence = self._shown_by.around(value)
        if not is_money and (value.unit in (NO_UNIT, PERCENT) or not sentence.says(words.TOTAL)):
            return
        beside = [
            mark
            for mark in self._marks[max(0, place - MAX_SHOWN) : place + MAX_SHOWN]
            if mark.value.kind == "number" and mark.is_supported and mark.value is not value
        ]
        amounts = [(mark.value.numbers[0], mark.facts[:1]) for mark in beside if mark.value.unit == value.unit]
        amounts += [(_of(fact), (fact,)) for fact in self._rates if fact.unit == value.unit]
        if not is_money:
            lengths = self.facts.bases.get(value.unit.dimension, [])[:MAX_SHOWN]
            amounts += [(base / value.unit.factor, (fact,)) for base, _count, fact in lengths]
        times = [mark for mark in beside if _is_times(mark.value)]
        for (amount, facts), other in product(amounts, times):
            yield "product", amount * other.value.numbers[0], [*facts, *other.facts[:1]]
        shares = [other for other in beside if other.value.unit == PERCENT]
        if is_money:
            for other in shares:
                for number, of_object in self._parts_of_object(value, other):
                    yield "share", number, of_object
        if is_money and sentence.says(words.TAX) and value.decimals > 0:
            yield from self._parts_of_wholes(value)
        if is_money and sentence.says(words.TAX):
            for (amount, facts), other in product(amounts, shares):
                part = amount * other.value.numbers[0] / 100
                for number in (part, amount + part, amount - part):
                    yield "share", number, [*facts, *other.facts[:1]]

    def _parts_of_wholes(self, value: Value) -> Candidates:
        """Yield what percentages of documents are of the amounts of whole results, and those with it and without."""
        shares = [fact for _base, _count, fact in self.facts.bases.get(PERCENT.dimension, []) if not fact.path]
        amounts = [fact for fact in self._wholes if fact.unit is not None and fact.unit == value.unit]
        for amount, share in self._steps.each(product(amounts[:MAX_COUNTS], shares[:MAX_COUNTS])):
            part = _of(amount) * _of(share) / 100
            for number in (part, _of(amount) + part, _of(amount) - part):
                yield "share", number, [amount, share]

    def _parts_of_object(self, value: Value, share: Mark) -> Iterator[tuple[Decimal, list[Fact]]]:
        """Yield what a percentage is of the amounts in its object, and those with it and without."""
        if share.derived:
            return
        for fact in share.facts[:1]:
            beside = self.facts.siblings.get((fact.source, fact.path.rpartition(".")[0]), ())
            for amount in self._steps.each(beside[:MAX_PAIRED_FIELDS]):
                if amount.unit is not None and amount.unit == value.unit:
                    whole = _of(amount)
                    part = whole * share.value.numbers[0] / 100
                    for number in (part, whole + part, whole - part):
                        yield number, [amount, fact]

    @cached_property
    def _rates(self) -> list[Fact]:
        rates = (fact for _number, _count, fact in self.facts.numbers if is_rate(fact.field))
        return list(islice(rates, MAX_PAIRED_ROWS))

    # Differences

    def _differences_of_named(self, place: int, value: Value) -> Candidates:
        """Yield differences of rows that are named, and of objects of which the sentence shows something."""
        rows = self._arithmetic.rows.of(value)
        if not rows:
            return iter(())
        return self._differences(place, value, rows, rows | self._arithmetic.rows.before(place, value))

    def _differences_of_all(self, place: int, value: Value) -> Candidates:
        # A sentence that names rows speaks of those.
        return iter(()) if self._shown_by.rows(value) and value.decimals <= 0 else self._differences(place, value)

    def _differences(
        self,
        place: int,
        value: Value,
        rows: Set[tuple[int, int]] = frozenset(),
        named: Set[tuple[int, int]] = frozenset(),
    ) -> Candidates:
        if not self._shown_by.around(value).says(words.DIFFERENCE):
            return
        for column in self._columns_for(value):
            for first, second in _pairs(self._near(rows, column)):
                if rows and not {first.row, second.row} <= named:
                    continue
                yield "difference", _of(first) - _of(second), [first, second]
        for facts in self._shown_by.numbers_near(value, self.facts):
            if rows and facts[0].row is not None and facts[0].row not in rows:
                continue
            is_few = len(facts) <= MAX_COUNTS
            for first, second in self._steps.each(_pairs(facts[:MAX_PAIRED_FIELDS])):
                are_counts = is_few and value.unit is NO_UNIT and _is_count(first) and _is_count(second)
                if (are_counts or _are_alike(first, second)) and (_may_be(value, first) or _may_be(value, second)):
                    yield "difference", _of(first) - _of(second), [first, second]
        yield from self._differences_of_passages(value)
        beside = [mark for mark in self._shown_by.beside(place) if are_alike(mark.value.unit, value.unit)]
        for mark, other in _pairs(beside):
            operands = [*mark.facts[:1], *other.facts[:1]]
            yield "difference", mark.value.numbers[0] - other.value.numbers[0], operands
        if not self._is_small(value):
            yield from self._differences_of_totals(value)

    def _differences_of_passages(self, value: Value) -> Candidates:
        for amounts in self.facts.amounts.values():
            for first, second in self._steps.each(_pairs(amounts[:MAX_OF_PASSAGE])):
                if first.unit == second.unit == value.unit:
                    yield "difference", _of(first) - _of(second), [first, second]

    def _near(self, rows: Set[tuple[int, int]], column: Column) -> list[Fact]:
        """Return the numbers of a column of which differences are looked at: rows that the sentence names, and some."""
        if len(column.facts) <= MAX_COMPARED_ROWS:
            return column.facts
        by_row = self._by_row[column.facts[0]]
        named = [fact for row in sorted(rows & by_row.keys()) for fact in by_row[row]]
        others = islice((fact for fact in column.facts if fact.row not in rows), MAX_COMPARED_ROWS)
        return [*named, *others][:MAX_COMPARED_ROWS]

    @cached_property
    def _by_row(self) -> dict[Fact, dict[tuple[int, int] | None, list[Fact]]]:
        """The numbers of each column by their rows, by the column's first."""
        found: dict[Fact, dict[tuple[int, int] | None, list[Fact]]] = {}
        for column in self._columns:
            by_row = found.setdefault(column.facts[0], {})
            for fact in column.facts:
                by_row.setdefault(fact.row, []).append(fact)
        return found

    def _differences_of_totals(self, value: Value) -> Candidates:
        """Of what columns of amounts come to, and of that and a number of the whole result: a limit, a budget."""
        totals = [
            (column.sums[-1], column.facts[0])
            for column in self._columns_for(value)
            # A sum has as many digits behind the point as the number with the most.
            if _is_written_exactly(column.sums[-1])
        ][:MAX_SHOWN]
        wholes = [(_of(fact), fact) for fact in self._wholes]
        for place, (total, fact) in enumerate(totals):
            for other, second in (*totals[place + 1 :], *wholes):
                yield "difference", total - other, [fact, second]

    @cached_property
    def _wholes(self) -> list[Fact]:
        """The numbers of whole results, which are part of no object in them."""
        found = (fact for (_source, path), facts in self.facts.siblings.items() if not path for fact in facts)
        return list(islice(found, MAX_PAIRED_FIELDS))

    # Averages, years, shares

    def _others(self, place: int, value: Value) -> Candidates:
        around = self._shown_by.around(value)
        if around.says(words.AVERAGE):
            for column in self._columns_for(value):
                yield "average", column.sums[-1] / len(column.facts), column.facts
        if value.unit == PERCENT:
            yield from self._shown_shares(place, value)
            if words.MORE.match(self._prose, value.end) or words.BY.search(
                self._prose, max(0, value.start - 30), value.start
            ):
                yield from self._growth(value)
            yield from self._complements(value)
            for facts in self._shown_by.numbers_near(value, self.facts):
                for first, second in self._steps.each(_pairs(facts[:MAX_PAIRED_FIELDS])):
                    low, high = sorted((abs(_of(first)), abs(_of(second))))
                    if _are_alike(first, second) and high:
                        yield "share", low / high * 100, [first, second]

    def _growth(self, value: Value) -> Candidates:
        """By how much one number of a column is more or less than another, in percent of that."""
        rows = self._shown_by.rows(value)
        for column in self._steps.each(self._columns):
            for pair in _pairs(self._near(rows, column)):
                if len(rows) > 1 and not {pair[0].row, pair[1].row} <= rows:
                    continue
                for first, second in (pair, pair[::-1]):
                    if _of(second):
                        yield "difference", (_of(first) / _of(second) - 1) * 100, [first, second]

    def _complements(self, value: Value) -> Candidates:
        """What a share that was looked up leaves of the whole."""
        for several in self._shown_by.numbers_near(value, self.facts):
            for fact in self._steps.each(several[:MAX_PAIRED_FIELDS]):
                if fact.unit == PERCENT:
                    yield "difference", 100 - _of(fact), [fact]
                elif fact.unit is None and _SHARES & set(words_of(fact.field)) and abs(_of(fact)) < 1:
                    yield "difference", 100 - 100 * _of(fact), [fact]

    def _shown_shares(self, place: int, value: Value) -> Candidates:
        """Shares of two numbers that the answer shows near it, of the same unit."""
        beside = [
            mark
            for mark in self._marks[max(0, place - MAX_SHOWN) : place + MAX_SHOWN]
            if mark.value.kind == "number"
            and mark.is_supported
            and mark.value.unit != PERCENT
            and abs(mark.value.start - value.start) <= MAX_BESIDE
        ]
        for position, mark in enumerate(beside):
            for other in beside[position + 1 :]:
                low, high = sorted((mark.value.numbers[0], other.value.numbers[0]))
                if high and mark.value.unit == other.value.unit:
                    yield "share", low / high * 100, [*mark.facts[:1], *other.facts[:1]]

    def _is_small(self, value: Value) -> bool:
        """Whether a number is so small that some sum would be found for any."""
        return value.decimals == 0 and value.numbers[0] <= 100


def _width(value: Value) -> Decimal:
    """Return how far apart the numbers are that could stand in the place of one: whole ones, if it is whole."""
    exact, low, high, _rounds = range_of(value, value.numbers[0])
    return max(high - low, Decimal(1)) if exact == int(exact) else high - low


def _is_in(number: Decimal, shown: Range) -> bool:
    exact, low, high, rounds_whole = shown
    other = abs(number)
    return other == exact or (low <= other <= high and (rounds_whole or other != int(other)))


def _of(fact: Fact) -> Decimal:
    return Decimal(0) if fact.number is None else fact.number


def _pairs(found: Sequence[T]) -> Iterator[tuple[T, T]]:
    return combinations(found, 2)


def _is_times(value: Value) -> bool:
    """Whether something may be taken that often: a whole number, and no amount or share."""
    if value.unit == PERCENT or value.unit.dimension.startswith("currency:"):
        return False
    if value.decimals:
        return value.unit.dimension == "time"
    return 1 < value.numbers[0] <= 1_000


def _are_alike(first: Fact, second: Fact) -> bool:
    """Whether one may be a part of the other: of the same unit, or an amount beside one whose field names no unit."""
    if first.unit is None and second.unit is None:
        return False
    if first.unit is not None and second.unit is not None:
        return first.unit == second.unit
    unit = first.unit or second.unit
    known = unit is not None and unit.dimension.startswith("currency:")
    return known and all(one.number is not None and _is_written_exactly(one.number) for one in (first, second))


def _is_count(fact: Fact) -> bool:
    number = fact.number
    return (
        number is not None
        and number == int(number)
        and 0 < number <= 10_000
        and fact.unit is None
        and not _is_written_exactly(number)
    )


def _is_written_exactly(number: Decimal) -> bool:
    """Whether a whole number was written with digits behind the point, as prices are."""
    return int(number.as_tuple().exponent) < 0


def _may_be(value: Value, fact: Fact) -> bool:
    return value.unit is NO_UNIT or fact.unit is None or are_alike(fact.unit, value.unit)
