"""Computes what an answer may say of values that were looked up: sums, counts, differences, averages, shares, times."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from functools import cached_property
from itertools import combinations, islice, product
from typing import TYPE_CHECKING, TypeVar

from assistant.contrib.receipts.matching import ratios, spans, words
from assistant.contrib.receipts.matching.facts import Column, Fact, Facts
from assistant.contrib.receipts.matching.ratios import Candidates
from assistant.contrib.receipts.matching.shown import Shown
from assistant.contrib.receipts.matching.units import NO_UNIT, PERCENT, are_alike, is_rate, words_of
from assistant.contrib.receipts.matching.values import Value, is_other_reading

if TYPE_CHECKING:
    from assistant.contrib.receipts.matching.matching import Mark

T = TypeVar("T")
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
# Characters behind a count in which the month is named that it is of.
MAX_TO_MONTH = 40
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
        self._facts = facts
        self._marks = shown.marks
        self._prose = shown.prose
        self._steps = shown.steps
        self._shown_by = shown

    def of(self, place: int, value: Value) -> tuple[str, list[Fact]] | None:
        """Return how a number was computed and from which facts; None if in no way that is looked at."""
        ranges = [_range(value, shown) for shown in value.numbers]
        for candidates in (
            self._counts,
            self._equations,
            self._lengths,
            self._sums,
            self._shown,
            self._multiplied,
            self._differences,
            self._others,
            self._ratios,
        ):
            for name, number, facts in candidates(place, value):
                self._steps.spend(1)
                if any(_is_in(number, shown) for shown in ranges):
                    return name, list(facts)
                if self._steps.is_spent:
                    return None
        return None

    def _equations(self, place: int, value: Value) -> Candidates:
        return ratios.equations(self._shown_by, self._facts, value)

    def _lengths(self, place: int, value: Value) -> Candidates:
        return spans.lengths(self._shown_by, self._facts, value)

    def _ratios(self, place: int, value: Value) -> Candidates:
        yield from ratios.shares(self._shown_by, self._facts, place, value)
        yield from ratios.quotients(self._shown_by, self._facts, place, value)
        yield from ratios.of_a_year(self._shown_by, self._facts, place, value)

    # Counts

    def _counts(self, place: int, value: Value) -> Candidates:
        if value.unit is not NO_UNIT or value.decimals or value.numbers[0] > 1_000 or self._is_quantity(place, value):
            return
        if words.TIMES.fullmatch(value.text):
            return
        for table in self._facts.tables:
            yield "count", Decimal(table.rows), [Fact(table.source, table.name)]
        yield "count", Decimal(self._items), []
        for number, rows in self._shown_rows.items():
            shown = self._facts.tables[number]
            yield "count", Decimal(len(rows)), [Fact(shown.source, shown.name)]
        if _SOME.match(self._prose, value.end):
            for table in self._facts.tables:
                yield "count", min(value.numbers[0], Decimal(table.rows)), [Fact(table.source, table.name)]
        yield from self.group_counts(value)
        behind = {word.casefold() for word in _LETTERS.findall(self._prose, value.end, value.end + MAX_TO_MONTH)}
        for month, count, fact in self._steps.each(self._months if behind & words.months().keys() else ()):
            if any(words.months().get(word) == month for word in behind):
                yield "count", Decimal(count), [fact]

    def group_counts(self, value: Value) -> Candidates:
        """Yield how many rows there are of those groups that the sentence of a value names."""
        around = self._shown_by.around(value).small
        for text, count, fact in self._steps.each(self._groups):
            if text in around:
                yield "count", Decimal(count), [fact]

    @cached_property
    def _months(self) -> list[tuple[int, int, Fact]]:
        """The months of the days in rows, each with how many rows of a list have it in one field."""
        rows: dict[tuple[int, str, int], set[int]] = {}
        for day, facts in self._facts.days.items():
            for fact in facts:
                if fact.row is not None:
                    rows.setdefault((fact.row[0], fact.field, day.month), set()).add(fact.row[1])
        return [
            (month, len(found), Fact(self._facts.tables[table].source, f"{self._facts.tables[table].name}.{field}"))
            for (table, field, month), found in rows.items()
        ]

    @cached_property
    def _groups(self) -> list[tuple[str, int, Fact]]:
        """The texts of columns, each with how many rows have it. A column of many divides the rows into no groups."""
        return [
            (text, count, Fact(table.source, f"{table.name}.{column}"))
            for table in self._facts.tables
            for column, texts in table.texts.items()
            if len(texts) <= MAX_GROUPS
            for text, count in texts.items()
        ]

    def _is_quantity(self, place: int, value: Value) -> bool:
        """Whether the number says how many of one thing there are: it stands before the thing's name or a ×."""
        if _TIMES.match(self._prose, value.end):
            return True
        following = self._marks[place + 1].value if place + 1 < len(self._marks) else None
        if following is None or following.kind != "name" or following.start - value.end > 12:
            return False
        return not _END.search(self._prose, value.end, following.start)

    @cached_property
    def _items(self) -> int:
        return len(_ITEM.findall(self._prose)) + len(re.findall(r"^[ \t]{2,}\S", self._prose, re.MULTILINE))

    @cached_property
    def _shown_rows(self) -> dict[int, set[int]]:
        """The rows of each list that the answer shows by a value that no other row has."""
        found: dict[int, set[int]] = {}
        for mark in self._marks:
            rows = {fact.row for fact in mark.facts if fact.row is not None}
            if len(rows) == 1 and not mark.derived:
                table, row = next(iter(rows))
                found.setdefault(table, set()).add(row)
        return found

    # Sums

    @cached_property
    def _columns(self) -> list[Column]:
        return [column for column in self._facts.columns if len(column.facts) > 1]

    def _columns_for(self, value: Value) -> Iterator[Column]:
        """Yield the columns of a value's unit."""
        return (column for column in self._steps.each(self._columns) if _may_be(value, column.facts[0]))

    def _sums(self, place: int, value: Value) -> Candidates:
        if self._is_small(value) and self._is_quantity(place, value):
            return
        rows = self._shown_by.rows(value) if self._shown_by.around(value).says(words.ADDED) else set()
        for column in self._columns_for(value):
            if not self._is_small(value):
                for position, total in enumerate(column.sums[1:-1][: MAX_PAIRED_ROWS - 1], start=1):
                    yield "sum", total, column.facts[: position + 1]
            yield "sum", column.sums[-1], column.facts
            named = [fact for fact in column.facts if fact.row in rows]
            if len(named) > 1:
                yield "sum", sum(map(_of, named), Decimal(0)), named
        for products, total in self._products:
            for number, operands in products[:MAX_PAIRED_ROWS]:
                yield "product", number, operands
            yield "sum", total, products[0][1]

    @cached_property
    def _products(self) -> list[tuple[list[tuple[Decimal, list[Fact]]], Decimal]]:
        """Number times price, by row, and what that comes to."""
        found = []
        for table in self._facts.tables:
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
        if self._is_small(value):
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
            lengths = self._facts.bases.get(value.unit.dimension, [])[:MAX_SHOWN]
            amounts += [(base / value.unit.factor, (fact,)) for base, _count, fact in lengths]
        times = [mark for mark in beside if _is_times(mark.value)]
        for (amount, facts), other in product(amounts, times):
            yield "product", amount * other.value.numbers[0], [*facts, *other.facts[:1]]
        shares = [other for other in beside if other.value.unit == PERCENT]
        if is_money:
            for other in shares:
                for number, of_object in self._parts_of_object(value, other):
                    yield "share", number, of_object
        if is_money and sentence.says(words.TAX):
            for (amount, facts), other in product(amounts, shares):
                part = amount * other.value.numbers[0] / 100
                for number in (part, amount + part, amount - part):
                    yield "share", number, [*facts, *other.facts[:1]]

    def _parts_of_object(self, value: Value, share: Mark) -> Iterator[tuple[Decimal, list[Fact]]]:
        """Yield what a percentage is of the amounts in its object, and those with it and without."""
        if share.derived:
            return
        for fact in share.facts[:1]:
            beside = self._facts.siblings.get((fact.source, fact.path.rpartition(".")[0]), ())
            for amount in self._steps.each(beside[:MAX_PAIRED_FIELDS]):
                if amount.unit is not None and amount.unit == value.unit:
                    whole = _of(amount)
                    part = whole * share.value.numbers[0] / 100
                    for number in (part, whole + part, whole - part):
                        yield number, [amount, fact]

    @cached_property
    def _rates(self) -> list[Fact]:
        rates = (fact for _number, _count, fact in self._facts.numbers if is_rate(fact.field))
        return list(islice(rates, MAX_PAIRED_ROWS))

    # Differences

    def _differences(self, place: int, value: Value) -> Candidates:
        if not self._shown_by.around(value).says(words.DIFFERENCE):
            return
        rows = self._shown_by.rows(value)
        for column in self._columns_for(value):
            for first, second in _pairs(self._near(rows, column)):
                yield "difference", _of(first) - _of(second), [first, second]
        for facts in self._shown_by.numbers_near(value, self._facts):
            is_few = len(facts) <= MAX_COUNTS
            for first, second in self._steps.each(_pairs(facts[:MAX_PAIRED_FIELDS])):
                are_counts = is_few and value.unit is NO_UNIT and _is_count(first) and _is_count(second)
                if (are_counts or _are_alike(first, second)) and (_may_be(value, first) or _may_be(value, second)):
                    yield "difference", _of(first) - _of(second), [first, second]
        for amounts in self._facts.amounts.values():
            for first, second in self._steps.each(_pairs(amounts[:MAX_OF_PASSAGE])):
                if first.unit == second.unit == value.unit:
                    yield "difference", _of(first) - _of(second), [first, second]
        beside = [mark for mark in self._shown_by.beside(place) if are_alike(mark.value.unit, value.unit)]
        for mark, other in _pairs(beside):
            operands = [*mark.facts[:1], *other.facts[:1]]
            yield "difference", mark.value.numbers[0] - other.value.numbers[0], operands
        if not self._is_small(value):
            yield from self._differences_of_totals(value)

    def _near(self, rows: set[tuple[int, int]], column: Column) -> list[Fact]:
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
        found = (fact for (_source, path), facts in self._facts.siblings.items() if not path for fact in facts)
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
            for facts in self._shown_by.numbers_near(value, self._facts):
                for first, second in self._steps.each(_pairs(facts[:MAX_PAIRED_FIELDS])):
                    low, high = sorted((abs(_of(first)), abs(_of(second))))
                    if _are_alike(first, second) and high:
                        yield "share", low / high * 100, [first, second]

    def _growth(self, value: Value) -> Candidates:
        """By how much one number of a column is more or less than another, in percent of that."""
        rows = self._shown_by.rows(value)
        for column in self._steps.each(self._columns):
            for pair in _pairs(self._near(rows, column)):
                for first, second in (pair, pair[::-1]):
                    if _of(second):
                        yield "difference", (_of(first) / _of(second) - 1) * 100, [first, second]

    def _complements(self, value: Value) -> Candidates:
        """What a share that was looked up leaves of the whole."""
        for several in self._shown_by.numbers_near(value, self._facts):
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


Range = tuple[Decimal, Decimal, Decimal, bool]


def _range(value: Value, number: Decimal) -> Range:
    """Return a number, between which numbers what it is rounded from lies, and whether that may be whole."""
    shown = abs(number)
    half = Decimal(1).scaleb(-value.decimals) / 2
    if is_other_reading(value, number):
        half = Decimal("0.0005")
    elif value.is_word:
        half = Decimal("0.5") if value.is_about else Decimal(0)
    elif value.is_about and value.decimals > 0:
        half *= 2
    elif value.is_about and shown:
        whole = str(int(shown))
        half = max(half, Decimal(10) ** (len(whole) - len(whole.rstrip("0"))))
    return shown, shown - half, shown + half, bool(value.decimals or value.is_about)


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
