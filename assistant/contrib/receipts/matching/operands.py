"""The numbers of a run that an answer may compute with: fields, and what lists, groups and objects come to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cache
from itertools import combinations, islice, product

from assistant.contrib.receipts.matching.facts import Facts
from assistant.contrib.receipts.matching.groups import Group, groups_of
from assistant.contrib.receipts.matching.sources import Fact
from assistant.contrib.receipts.matching.steps import Steps
from assistant.contrib.receipts.matching.units import NO_UNIT, Unit, is_rate, per_of, words_of

# All of a run; and of each kind of it.
MAX_OPERANDS = 48
MAX_OF_KIND = 24
MAX_OF_OBJECT = 10
# Days of a stay for which a price is taken.
MAX_DAYS = 400
# Letters of the end of a word that is one of its own.
MIN_ENDING = 5
# Fields whose numbers say which one, and not how many, by their last words; and of those that are only one word.
_NAMING = frozenset(
    {
        "id", "number", "nr", "nummer", "zip", "plz", "phone", "limit", "offset", "position", "pos", "index", "rank",
        "found", "version",
    }
)  # fmt: skip
_PLACES = frozenset(
    {"year", "jahr", "month", "monat", "week", "page", "seite", "stop", "room", "zimmer", "floor", "line", "row"}
)


@dataclass(frozen=True, slots=True)
class Operand:
    """A number to compute with.

    Attributes:
        number: in the smallest unit of its dimension.
        unit: NO_UNIT where none is known.
        measure: what is counted: the words of the field's name; none where anything may be.
        place: of the object that it is a field of; "" of no object.
        is_sum: whether it is what several fields come to.
        is_group: whether it is said of some rows of a list.
        count: of how many fields it is the sum.
        per: of a rate, the unit that it is for.
    """

    number: Decimal
    unit: Unit
    facts: tuple[Fact, ...]
    measure: tuple[str, ...] = ()
    place: str = ""
    is_rate: bool = False
    is_sum: bool = False
    is_group: bool = False
    count: int = 0
    per: Unit | None = None

    @property
    def is_rows(self) -> bool:
        """Whether it is how many rows a list has, or some of them."""
        return self.unit is NO_UNIT and bool(self.facts) and self.facts[0].number is None and bool(self.place)

    def is_like(self, other: Operand) -> bool:
        """Whether both measure the same, so that they can be added and compared."""
        if self.unit.dimension != other.unit.dimension:
            return False
        if self.measure and other.measure and self.unit != other.unit:
            return False
        if self.unit is not NO_UNIT or not self.measure or not other.measure:
            return True
        if self.place == other.place != "":
            return True
        return any(_is_one(word, another) for word in self.measure for another in other.measure)


def operand_of(fact: Fact) -> Operand:
    """Return a field or a number of a text as an operand."""
    unit = fact.unit or NO_UNIT
    number = unit.base(fact.number if fact.number is not None else Decimal(0))
    place = f"{fact.source}:{fact.path.rpartition('.')[0]}" if fact.path else ""
    return Operand(number, unit, (fact,), measure_of(fact.field), place, is_rate(fact.field), per=per_of(fact.field))


@cache
def measure_of(field: str) -> tuple[str, ...]:
    """Return what a field counts: the words of its name."""
    return tuple(word.rstrip("s") for word in words_of(field)) or ("",)


def _is_one(word: str, other: str) -> bool:
    """Whether two words name one measure: "bestand" and "mindestbestand"."""
    short, long = sorted((word, other), key=len)
    return short == long or (len(short) >= MIN_ENDING and long.endswith(short))


def operands_of(facts: Facts, shown: Iterable[Fact], steps: Steps) -> list[Operand]:
    """Return the numbers of a run that may be computed with, those that an answer shows first.

    Args:
        shown: the facts of which it shows something.
    """
    kinds = (
        (operand_of(fact) for fact in shown if is_amount(fact)),
        (*_totals(facts), *_lasting(facts)),
        _fields(facts),
        _of_groups(facts),
        _of_objects(facts),
        _texts(facts),
        _rows(facts),
    )
    found: dict[tuple[Decimal, Unit, tuple[str, ...]], Operand] = {}
    for kind in kinds:
        for operand in steps.each(islice(kind, MAX_OF_KIND)):
            if operand.number and len(found) < MAX_OPERANDS:
                found.setdefault((operand.number, operand.unit, operand.measure), operand)
    return list(found.values())


def is_amount(fact: Fact) -> bool:
    """Whether a number says how much, and not which one."""
    if fact.number is None or not fact.number:
        return False
    field = fact.field.casefold()
    return field not in _PLACES and not _NAMING & {field, *words_of(fact.field)[-1:]}


def _totals(facts: Facts) -> Iterator[Operand]:
    for column in facts.columns:
        if len(column.facts) > 1 and is_amount(column.facts[0]):
            yield _sum(column.facts)
    for number, table in enumerate(facts.tables):
        if table.rows > 1:
            yield Operand(
                Decimal(table.rows), NO_UNIT, (Fact(table.source, table.name),), measure_of(table.name), f"t{number}"
            )


def _lasting(facts: Facts) -> Iterator[Operand]:
    """Yield what the rows of a list come to that have a number and a price each, and how long a stay lasts."""
    dated = [(moment, fact) for moment, fact in facts.moments[:MAX_OF_OBJECT] if fact.row is None]
    days = [
        (Decimal(abs((later - first).days)), (fact, second))
        for (first, fact), (later, second) in combinations(dated, 2)
        if fact.path.rpartition(".")[0] == second.path.rpartition(".")[0] and 0 < abs((later - first).days) < MAX_DAYS
    ]
    yield from (Operand(count, NO_UNIT, found, ("day",)) for count, found in days)
    for table in facts.tables:
        columns = [several for several in table.columns.values() if len(several) == table.rows]
        counts = [several for several in columns if all(fact.unit is None and is_amount(fact) for fact in several)]
        prices = [several for several in columns if all(is_money_unit(fact.unit) for fact in several)]
        for amounts, each in islice(product(counts, prices), 4):
            pairs = zip(amounts, each, strict=True)
            total = sum(((one.number or Decimal(0)) * (other.number or Decimal(0)) for one, other in pairs), Decimal(0))
            unit = each[0].unit or NO_UNIT
            found = (*amounts[:4], *each[:4])
            yield Operand(total, unit, found, measure_of(each[0].field), is_sum=True)
            if is_rate(each[0].field):
                yield from (Operand(total * count, unit, (*found[:6], *some), is_sum=True) for count, some in days)


def is_money_unit(unit: Unit | None) -> bool:
    """Whether a unit is a currency."""
    return unit is not None and unit.dimension.startswith("currency:")


def _sum(several: list[Fact]) -> Operand:
    first = operand_of(several[0])
    total = sum((first.unit.base(fact.number or Decimal(0)) for fact in several), Decimal(0))
    place = f"t{several[0].row[0]}" if several[0].row else ""
    return Operand(total, first.unit, tuple(several[:8]), first.measure, place, is_sum=True, count=len(several))


def _fields(facts: Facts) -> Iterator[Operand]:
    for several in facts.siblings.values():
        yield from (operand_of(fact) for fact in several[:MAX_OF_OBJECT] if fact.row is None and is_amount(fact))


def _of_groups(facts: Facts) -> Iterator[Operand]:
    for group in groups_of(facts):
        table = facts.tables[group.table]
        source = (Fact(table.source, f"{table.name}.{group.column}"),)
        for rows in (len(group.rows), table.rows - len(group.rows)):
            yield Operand(Decimal(rows), NO_UNIT, source, measure_of(table.name), f"t{group.table}", is_group=True)
        yield from sums_of(facts, group)
        yield from sums_of(facts, replace(group, rows=frozenset(range(table.rows)) - group.rows))


def sums_of(facts: Facts, group: Group) -> Iterator[Operand]:
    """Yield what the columns of numbers come to in the rows of a group."""
    for column in list(facts.tables[group.table].columns.values())[:4]:
        inside = [fact for fact in column if fact.row is not None and fact.row[1] in group.rows]
        if inside and is_amount(inside[0]):
            yield replace(_sum(inside), is_group=True)


def _of_objects(facts: Facts) -> Iterator[Operand]:
    """Yield what the fields of an object come to, a field of several objects, and all below one object."""
    objects = [
        (place, [fact for fact in several[:MAX_OF_OBJECT] if fact.row is None and is_amount(fact)])
        for place, several in islice(facts.siblings.items(), MAX_OF_KIND)
    ]
    by_field: dict[tuple[int, str], list[Fact]] = {}
    above: dict[tuple[int, str], list[Fact]] = {}
    for (source, path), several in objects:
        by_unit: dict[Unit | None, list[Fact]] = {}
        for fact in several:
            by_unit.setdefault(fact.unit, []).append(fact)
            if path:
                by_field.setdefault((source, fact.field), []).append(fact)
                if fact.unit is not None:
                    above.setdefault((source, path.rpartition(".")[0]), []).append(fact)
        for unit, alike in by_unit.items():
            # Fields of a whole result that name no unit count different things.
            if len(alike) > 1 and (path or unit is not None):
                yield replace(_sum(alike), count=0)
    yield from (replace(_sum(alike), count=0) for alike in by_field.values() if len(alike) > 1)
    for several in above.values():
        if len({fact.unit for fact in several}) == 1 and len({fact.path.rpartition(".")[0] for fact in several}) > 1:
            yield replace(_sum(several), count=0)
    yield from _priced(by_field.values())


def _priced(fields: Iterable[list[Fact]]) -> Iterator[Operand]:
    """Yield how many there are of each kind times what one costs, where two objects have the same fields."""
    by_pair: dict[tuple[str, str], list[Operand]] = {}
    for several in fields:
        if len(several) == 2:
            count, price = sorted(map(operand_of, several), key=lambda operand: operand.unit is not NO_UNIT)
            if count.unit is NO_UNIT and price.unit is not NO_UNIT:
                priced = Operand(
                    count.number * price.number,
                    price.unit,
                    (*count.facts, *price.facts),
                    count.measure,
                    is_sum=True,
                    is_group=True,
                )
                by_pair.setdefault((count.place, price.place), []).append(priced)
    for products in by_pair.values():
        yield from products
        if len(products) > 1:
            total = sum((one.number for one in products), Decimal(0))
            yield Operand(
                total, products[0].unit, tuple(fact for one in products for fact in one.facts)[:8], is_sum=True
            )


def _texts(facts: Facts) -> Iterator[Operand]:
    for _number, _count, fact in facts.numbers:
        if not fact.path and fact.number:
            yield operand_of(fact)


def _rows(facts: Facts) -> Iterator[Operand]:
    for column in facts.columns:
        if column.rows <= 6:
            yield from (operand_of(fact) for fact in column.facts if is_amount(fact))
