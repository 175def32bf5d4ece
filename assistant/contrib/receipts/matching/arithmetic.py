"""Computes a value of two or more numbers, and takes a result for its source only if it is hardly there by chance.

Results are looked at in circles: of what stands nearest, of the row that the sentence names, of all that the sentence
shows, of that and what the run has, and of all that the run has. The wider the circle, the smaller has to be the chance
that a wrong value is found in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import combinations, islice, product
from typing import TYPE_CHECKING

from assistant.contrib.receipts.matching import words
from assistant.contrib.receipts.matching.combining import (
    alone,
    are_of_one_list,
    are_of_two_rows,
    combined,
    constants_in,
    daily,
    differences,
    multiplied,
    of_sentence,
    paired,
    products,
    scaled,
    several_of,
)
from assistant.contrib.receipts.matching.facts import Facts
from assistant.contrib.receipts.matching.groups import Group, groups_of
from assistant.contrib.receipts.matching.named_rows import MAX_OF_ROWS, MAX_ROWS, NamedRows
from assistant.contrib.receipts.matching.operands import (
    Operand,
    is_amount,
    is_money_unit,
    operand_of,
    operands_of,
    sums_of,
)
from assistant.contrib.receipts.matching.results import Result, Results
from assistant.contrib.receipts.matching.shown import Sentence, Shown
from assistant.contrib.receipts.matching.sources import Fact
from assistant.contrib.receipts.matching.units import CENTS, NO_UNIT, PERCENT
from assistant.contrib.receipts.matching.values import Value

if TYPE_CHECKING:
    from assistant.contrib.receipts.matching.matching import Mark

# Numbers that are computed with: the nearest before and behind a value, those of its sentence, those before that.
MAX_NEAREST = 2
MAX_SHOWN = 10
MAX_BEFORE = 5
# Fields that a sentence names, and facts that the answer shows, of which others are computed.
MAX_NAMED = 6
MAX_FACTS = 200
# Below them a number without a unit is found by chance, and is no product.
MAX_SMALL = 20
MIN_PRODUCT = 100
# Digits of a number that is hardly ever computed by chance.
MIN_DIGITS = 4
# Characters before and behind a number in which it is said that it is for one of several.
MAX_TO_EACH = 60
MAX_BEHIND = 30
# By which chance a result of each circle may be wrong; of a rough number by twice that, and at most by this.
ROUGH_CHANCE = Decimal("0.7")
NEAREST_CHANCE = Decimal("0.5")
ROW_CHANCE = Decimal("0.4")
SENTENCE_CHANCE = Decimal("0.3")
COMPARED_CHANCE = Decimal("0.5")
TOTAL_CHANCE = Decimal("0.25")
GROUP_CHANCE = Decimal("0.5")
EACH_CHANCE = Decimal("0.3")
SCALED_CHANCE = Decimal("0.7")
COUNTED_CHANCE = Decimal("0.3")
WHOLES_CHANCE = Decimal("0.2")
NAMED_CHANCE = Decimal("0.3")
SAID_CHANCE = Decimal("0.12")
NEAR_CHANCE = Decimal("0.1")
RUN_CHANCE = Decimal("0.04")
_OF = re.compile(r"\s+(?:[^\W\d_]+\s+)?(?:of(?: the)?|out of(?: the)?|von(?: den)?|der)\s+(\d{1,9})\b", re.IGNORECASE)
# What the names of results are for clients.
# Operations of numbers that stand elsewhere, which a sentence has to speak of.
_SAID = frozenset({"sum", "difference", "product", "quotient"})
_NAMES = {"ratio": "quotient", "rate": "product"}

Circle = tuple[Decimal, Iterable[Result]]


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around a value.

    Attributes:
        sentence: in which it stands.
        near, beside: the nearest numbers of the sentence, and all of them.
        before: the last numbers before the sentence.
        row: the numbers of the row that is named last.
        named: the numbers of fields that the sentence names.
        names: of the operations that the sentence speaks of.
        constants: by how many something is taken of which it speaks: a year of twelve months.
    """

    sentence: Sentence
    near: list[Operand]
    beside: list[Operand]
    before: list[Operand]
    row: list[Operand]
    named: list[Operand]
    names: frozenset[str]
    constants: list[Decimal]

    @property
    def is_difference(self) -> bool:
        """Whether the sentence speaks of a difference."""
        return "difference" in self.names


class Arithmetic:
    """What can be computed for the values of one answer."""

    def __init__(self, facts: Facts, shown: Shown) -> None:
        self._facts = facts
        self._shown = shown
        self._rows = NamedRows(facts, shown)
        self._made: dict[tuple[Operand | None, ...], list[Result]] = {}

    def of(
        self, place: int, value: Value, fits: Callable[[Decimal], bool], width: Decimal
    ) -> tuple[str, list[Fact]] | None:
        """Return how a number was computed and from which facts; None if it is not known.

        Args:
            place: of its mark among those of the answer.
            fits, width: as those of `Results.of`.
        """
        is_rough = value.is_about or (value.is_word and value.unit == PERCENT)
        for limit, results in self._shown.steps.each(self._circles(place, value)):
            tried = (one for one in results if self._may_make(place, value, one))
            # Of rough numbers more are found by chance; nobody relies on their digits.
            found = Results(tried).of(value, min(limit * 2, ROUGH_CHANCE) if is_rough else limit, fits, width)
            if found is not None:
                return _NAMES.get(found.name, found.name), list(found.facts)
        found = self._all.of(value, RUN_CHANCE, fits, width) if not self._is_small(value) else None
        is_long = _digits(value) >= MIN_DIGITS and not (found is not None and _is_of_texts(found))
        if found is not None and found.name in _SAID and not is_long and not self._says(place, value, found):
            return None
        return (_NAMES.get(found.name, found.name), list(found.facts)) if found is not None else None

    def _says(self, place: int, value: Value, result: Result) -> bool:
        """Whether a sentence speaks of the operation of a result."""
        if result.name == "quotient":
            return self._may_be_quotient(place, value)
        pattern = words.OPERATIONS.get(result.name)
        return pattern is None or self._shown.around(value).says(pattern)

    def _is_small(self, value: Value) -> bool:
        return value.unit is NO_UNIT and value.decimals <= 0 and abs(value.numbers[0]) <= MAX_SMALL

    def _may_make(self, place: int, value: Value, result: Result) -> bool:
        """Whether a result of its kind may be meant: small whole numbers are no products, and no quotient is whole."""
        if words.TIMES.fullmatch(value.text) or words.TIMES_BEHIND.match(self._shown.prose, value.end):
            return result.name == "ratio"
        if result.name == "ratio":
            return value.decimals > 0
        if result.name == "quotient":
            return self._may_be_quotient(place, value)
        if result.name == "average":
            return self._shown.around(value).says(words.AVERAGE)
        if result.name == "product" and value.unit is NO_UNIT:
            return value.numbers[0] >= MIN_PRODUCT or self._shown.around(value).says(words.MULTIPLIED)
        if result.name == "share" and result.unit != PERCENT and value.unit is NO_UNIT:
            return value.numbers[0] >= 10 * MIN_PRODUCT
        if result.name == "difference" and value.unit == PERCENT and result.unit == PERCENT:
            return self._shown.around(value).says(words.BETWEEN)
        return True

    def _may_be_quotient(self, place: int, value: Value) -> bool:
        """Whether a number may be what one of several comes to, as the words around it say."""
        if self._is_small(value):
            return False
        numbers = [one for one in self._shown.inside(value) if one.value.kind == "number"]
        last = max((one.value.end for one in numbers if one.value.end <= value.start), default=0)
        start = max(last, self._shown.bounds(value)[0], value.start - MAX_TO_EACH)
        following = next((one.value.start for one in numbers if one.value.start >= value.end), None)
        end = min(following or len(self._shown.prose), value.end + MAX_BEHIND)
        around = (self._shown.prose[start : value.start], self._shown.prose[value.end : end])
        if words.FOR_ONE.match(self._shown.prose, value.end) or any(map(words.QUOTIENT.search, around)):
            return True
        # "It was €40 a head, on Friday €37."
        before = [one for one in self._before(place, value, at_most=2) if one.derived == "quotient"]
        return any(one.value.unit == value.unit for one in before)

    def _around(self, place: int, value: Value) -> Around:
        sentence = self._shown.around(value)
        beside = [_operand(mark) for mark in self._shown.beside(place, MAX_SHOWN) if _is_amount(mark)]
        before = [_operand(mark) for mark in self._before(place, value) if _is_amount(mark)]
        names = {name for name, pattern in words.OPERATIONS.items() if sentence.says(pattern)} | {"rate"}
        if any(one.unit == PERCENT for one in (*beside, *before)):
            names.add("share")
        fields = (one for one in self._operands if not one.is_group and sentence.names(one.facts[0].field))
        is_time = value.unit.dimension in ("time", "months")
        return Around(
            sentence,
            [_operand(mark) for mark in self._shown.beside(place, MAX_NEAREST) if _is_amount(mark)],
            beside,
            before,
            self._rows.nearest(place, value),
            list(islice(fields, MAX_NAMED)),
            frozenset(names),
            [] if is_time else list(constants_in(sentence.text)),
        )

    def _circles(self, place: int, value: Value) -> Iterator[Circle]:
        """Yield what may make a value, the narrowest circle first, each with the chance that is allowed in it."""
        around = self._around(place, value)
        nearest = [*of_sentence(around.near), *several_of(around.near, around.is_difference)]
        if self._is_small(value) and "sum" not in around.names:
            # "Two bookings for 6 people" makes 8 of nothing.
            nearest = [one for one in nearest if one.name != "sum"]
        yield NEAREST_CHANCE, [*nearest, *multiplied(nearest, around.constants)]
        yield from self._of_lists(place, value, around)
        if around.is_difference:
            yield from self._left(value, around)
        yield from self._of_sentence(around)
        if around.is_difference or value.unit == PERCENT:
            yield COMPARED_CHANCE, (one for one in self._compared(place, value) if one.name != "sum")
        if not self._is_small(value):
            yield from self._of_run(value, around)

    def _of_lists(self, place: int, value: Value, around: Around) -> Iterator[Circle]:
        """Yield what lists and objects come to, what is for each, and what a row and groups of rows make."""
        yield TOTAL_CHANCE, alone(one for one in self._operands if not one.is_group)
        counted = [
            one
            for one in self._operands
            if one.unit is NO_UNIT and (one in around.named or one.facts[0].number is None)
        ]
        counted += [
            one for one in around.near if one.unit not in (NO_UNIT, PERCENT, CENTS) and not is_money_unit(one.unit)
        ]
        sums = (one for one in self._operands if one.is_sum and not one.is_group)
        if not self._may_be_quotient(place, value):
            counted = []
        each = self._of_pairs(product([*around.near, *around.before, *around.row, *sums, *around.named], counted))
        in_rows = self._in_rows(around.sentence) if counted else ()
        yield EACH_CHANCE, [*(one for one in each if one.name == "quotient"), *in_rows]
        is_added = around.sentence.says(words.ADDED)
        in_row = self._of_pairs(product(around.row, [*around.row, *self._wholes]))
        yield ROW_CHANCE, [*(one for one in in_row if is_added or one.name != "sum"), *daily(around.row)]
        labels = [one for label, several in self._groups if label in around.sentence.small for one in several]
        priced = (one for one in self._of_pairs(product(labels, around.named)) if one.name == "product")
        yield GROUP_CHANCE, [*alone([*labels, *self._parts_of_whole(value)]), *priced]
        yield COUNTED_CHANCE, self._counted(place, value)

    def _left(self, value: Value, around: Around) -> Iterator[Circle]:
        """Yield what is left of numbers of the whole result, whatever they count, if others are taken from them."""
        if value.unit != PERCENT:
            sums = [one for one in self._operands if one.is_sum and not one.is_group]
            rows = [one for one in self._operands if one.is_rows and not one.is_group]
            yield WHOLES_CHANCE, differences(self._shown.steps.each(combinations([*sums, *self._wholes], 2)))
            yield WHOLES_CHANCE, differences(product(self._wholes, rows))
            lists = islice(self._rows.by_row.values(), MAX_OF_ROWS)
            in_rows = [operand_of(fact) for several in lists for fact in several[:MAX_ROWS] if is_amount(fact)]
            yield WHOLES_CHANCE, differences(self._shown.steps.each(product(self._wholes, in_rows)))
        if around.row:
            counts = [one for one in (*around.row, *self._wholes) if one.unit is NO_UNIT]
            yield ROW_CHANCE, differences(combinations(counts, 2))

    def _of_sentence(self, around: Around) -> Iterator[Circle]:
        """Yield what the fields that a sentence names and the numbers that it shows make."""
        yield SCALED_CHANCE, scaled(around.named, around.constants)
        pairs = (pair for pair in combinations(around.named, 2) if not are_of_two_rows(*pair))
        of_named = [*alone(around.named), *self._of_pairs(pairs), *self._of_pairs(product(around.near, around.named))]
        yield NAMED_CHANCE, [one for one in of_named if around.is_difference or one.name != "difference"]
        results = [
            *several_of(around.beside, around.is_difference),
            *products(around.beside),
            *(one for one in of_sentence(around.beside) if around.is_difference or one.name != "difference"),
            *scaled(around.beside, around.constants),
        ]
        yield SENTENCE_CHANCE, [*results, *multiplied(results, around.constants)]

    def _of_run(self, value: Value, around: Around) -> Iterator[Circle]:
        """Yield what numbers that the answer shows and those of the run make, first by operations that are said."""
        if len(around.names) == 1 and value.unit != PERCENT and _digits(value) < MIN_DIGITS - 1:
            return
        rows = self._rows.numbers(value)
        others = [*around.before, *rows, *self._operands]
        before = around.before if around.beside else around.before[-MAX_NEAREST:]
        pairs = self._paired([*around.beside, *before, *rows], others)
        if value.unit is NO_UNIT and "|" not in around.sentence.text:
            pairs = [one for one in pairs if one.unit is NO_UNIT]
        # A percentage is taken of something where it is shown, or where a document names it.
        if "share" not in around.names:
            pairs = [one for one in pairs if one.name != "share" or one.unit == PERCENT or _is_of_text(one, value)]
        may_be_amount = value.unit in (NO_UNIT, CENTS) or is_money_unit(value.unit)
        if "product" not in around.names or not may_be_amount:
            pairs = [one for one in pairs if one.name != "product"]
        # What two numbers of documents make has to be spoken of.
        pairs = [one for one in pairs if not _is_of_texts(one) or self._is_spoken_of(one, around)]
        for name in sorted(around.names):
            said = [one for one in pairs if one.name == name]
            yield SAID_CHANCE, [*said, *multiplied(said, around.constants)]
        yield SAID_CHANCE, scaled(others, around.constants)
        is_long = _digits(value) >= MIN_DIGITS - 1
        yield NEAR_CHANCE, [one for one in pairs if is_long or one.name in around.names or one.name not in _SAID]

    def _is_spoken_of(self, result: Result, around: Around) -> bool:
        if around.sentence.says(words.SUPPOSED):
            return True
        if result.name not in around.names:
            return result.name not in _SAID and result.name != "share"
        return result.name != "share" or result.unit == PERCENT or around.sentence.says(words.TAKEN)

    def _of_pairs(self, pairs: Iterable[tuple[Operand, Operand]]) -> Iterator[Result]:
        return paired(self._shown.steps.each(pairs))

    def _paired(self, firsts: list[Operand], others: list[Operand]) -> list[Result]:
        """Return what some numbers make with others; once for all values of a sentence."""
        key = (*firsts, None, *others[:MAX_BEFORE])
        if key not in self._made:
            tried = self._shown.steps.each(product(firsts, others))
            pairs = (pair for pair in tried if not are_of_one_list(*pair))
            self._made[key] = [*paired(pairs), *alone(others)]
        return self._made[key]

    def _counted(self, place: int, value: Value) -> Iterator[Result]:
        """Yield amounts for as many as the sentence counts or names: a fee for two who owe it, 3 × 7.5 hours."""
        if not is_money_unit(value.unit):
            return
        rows = len(self._rows.of(value))
        counts = [Decimal(rows)] if rows > 1 else []
        total = Decimal(1)
        for mark in self._shown.beside(place, MAX_NEAREST):
            if mark.value.unit is NO_UNIT or mark.value.unit.dimension == "time":
                total *= mark.value.numbers[0]
        counts += [total] if total > 1 else []
        for one in self._operands:
            if one.unit == value.unit and not one.is_sum and len(one.facts) == 1 and one.facts[0].row is None:
                yield from (Result(one.number * count, one.unit, "product", one.facts) for count in counts)

    def _in_rows(self, sentence: Sentence) -> Iterator[Result]:
        """Yield numbers of each row by one whose field the sentence names: revenue "per recipient"."""
        for several in islice(self._rows.by_row.values(), MAX_OF_ROWS):
            operands = [operand_of(fact) for fact in several[:MAX_NAMED] if is_amount(fact)]
            divisors = [one for one in operands if one.unit is NO_UNIT and sentence.names(one.facts[0].field)]
            pairs = self._shown.steps.each(product(operands, divisors))
            yield from (one for one in paired(pairs) if one.name == "quotient")

    @property
    def rows(self) -> NamedRows:
        """The rows that sentences name."""
        return self._rows

    @cached_property
    def _wholes(self) -> list[Operand]:
        """The numbers of whole results."""
        several = (fact for (_source, path), facts in self._facts.siblings.items() if not path for fact in facts)
        return [operand_of(fact) for fact in several if is_amount(fact)][:MAX_ROWS]

    def _compared(self, place: int, value: Value) -> Iterator[Result]:
        """Yield differences of a field that the sentence shows, or of two rows that are named, from the same field."""
        rows = self._rows.of(value)
        inside = self._shown.beside(place, MAX_SHOWN)
        shown = [mark.facts[0] for mark in inside if mark.facts and mark.facts[0].number is not None]
        for fact in shown:
            if fact.row is None and fact.path:
                for other in self._by_field.get((fact.source, fact.field), ())[:MAX_SHOWN]:
                    if other.path != fact.path:
                        yield from combined(operand_of(fact), operand_of(other))
        named = rows | self._rows.before(place, value)
        for column in self._facts.columns:
            several = [fact for fact in column.facts if fact.row in named][:MAX_SHOWN] if named else []
            for first, second in combinations(several, 2):
                if {first.row, second.row} & rows:
                    yield from combined(operand_of(first), operand_of(second))

    @cached_property
    def _by_field(self) -> dict[tuple[int, str], list[Fact]]:
        found: dict[tuple[int, str], list[Fact]] = {}
        for several in self._facts.siblings.values():
            for fact in several:
                if fact.row is None:
                    found.setdefault((fact.source, fact.field), []).append(fact)
        return found

    @cached_property
    def _operands(self) -> list[Operand]:
        marks = islice((fact for mark in self._shown.marks if not mark.derived for fact in mark.facts[:1]), MAX_FACTS)
        return operands_of(self._facts, marks, self._shown.steps)

    @cached_property
    def _all(self) -> Results:
        pairs = combinations(self._operands, 2)
        return Results(
            one
            for first, second in self._shown.steps.each(pairs)
            if not (first.is_group and second.is_group) and not are_of_one_list(first, second)
            for one in combined(first, second)
            if (one.name != "quotient" or one.unit is not NO_UNIT) and (one.name != "share" or one.unit == PERCENT)
        )

    @cached_property
    def _groups(self) -> list[tuple[str, list[Operand]]]:
        """What rows with a text come to, and what the others do, by the text."""
        groups = [group for group in groups_of(self._facts) if group.condition == "text"]
        return [
            (group.label, [*sums_of(self._facts, group), *sums_of(self._facts, self._rest(group))]) for group in groups
        ]

    def _rest(self, group: Group) -> Group:
        return replace(group, rows=frozenset(range(self._facts.tables[group.table].rows)) - group.rows)

    def _parts_of_whole(self, value: Value) -> Iterator[Operand]:
        """Yield what groups of rows come to in a column whose total the text names: "16 of 22 parcels"."""
        whole = _OF.match(self._shown.prose, value.end)
        if whole is None:
            return
        total = Decimal(whole[1])
        tables = {
            column.facts[0].row[0]
            for column in self._facts.columns
            if column.sums[-1] == total and column.facts[0].row is not None
        }
        for group in groups_of(self._facts) if tables else ():
            if group.table in tables:
                yield from sums_of(self._facts, group)
                yield from sums_of(self._facts, self._rest(group))

    def _before(self, place: int, value: Value, at_most: int = 0) -> list[Mark]:
        """Return the numbers that the answer shows before the sentence of a value, or the last ones before itself."""
        start, _end = self._shown.bounds(value)
        near = self._shown.marks[max(0, place - 3 * MAX_BEFORE) : place]
        end = value.start if at_most else start
        found = [one for one in near if one.value.end <= end and one.value.kind == "number" and one.is_supported]
        return found[-(at_most or MAX_BEFORE) :]


def _digits(value: Value) -> int:
    """Return how many digits a value shows."""
    return len(str(int(abs(value.numbers[0]) * 10 ** max(0, value.decimals))).rstrip("0")) or 1


def _operand(mark: Mark) -> Operand:
    field = operand_of(mark.facts[0]) if mark.facts and mark.facts[0].number is not None else None
    measure = (field.measure if field else ()) or ("",)
    unit = mark.value.unit
    if unit is NO_UNIT and field is not None and mark.derived in ("", "sum", "difference"):
        unit = field.unit
    return Operand(unit.base(mark.value.numbers[0]), unit, mark.facts[:1], measure)


def _is_of_texts(result: Result) -> bool:
    return bool(result.facts) and all(fact.number is not None and not fact.path for fact in result.facts)


def _is_of_text(result: Result, value: Value) -> bool:
    return value.decimals == 2 and any(fact.unit == PERCENT and not fact.path for fact in result.facts)


def _is_amount(mark: Mark) -> bool:
    return not mark.facts or mark.facts[0].number is None or is_amount(mark.facts[0])
