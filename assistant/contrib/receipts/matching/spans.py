"""Computes lengths of time, and dates and times of day that follow from others by a length of time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import combinations, islice, product

from assistant.contrib.receipts.matching import words
from assistant.contrib.receipts.matching.facts import Facts
from assistant.contrib.receipts.matching.said_fields import SaidFields
from assistant.contrib.receipts.matching.shown import Shown
from assistant.contrib.receipts.matching.sources import Fact
from assistant.contrib.receipts.matching.units import DAY
from assistant.contrib.receipts.matching.values import Value

Candidates = Iterator[tuple[str, Decimal, Sequence[Fact]]]
# Moments that are looked at, and those of one object; lengths of time.
MAX_MOMENTS = 200
# Moments that need no other reason to be looked at.
MAX_FEW = 6
MAX_OF_OBJECT = 8
MAX_LENGTHS = 40


def lengths(shown: Shown, facts: Facts, value: Value, said: SaidFields, *, is_near: bool) -> Candidates:
    """Yield how much time lies between two moments of an object or two times that are shown, or between one and now.

    Args:
        said: which fields lengths are said of.
        is_near: whether only moments of objects are looked at of which the sentence of the value shows something.
    """
    if value.unit.dimension not in ("time", "months"):
        return
    if is_near:
        yield from _until_the_end(shown, facts, value)
        yield from _of_wholes(shown, facts, value)
    yield from _since(shown, facts, value, said, is_near=is_near)
    yield from _between_moments(shown, facts, value, is_near=is_near)
    now = facts.now.replace(tzinfo=None)
    inside = list(shown.steps.each(shown.inside(value)))
    for mark in inside:
        day = mark.value.day
        if day is not None and day.year < 5 and (day.month, day.day) != (2, 29):
            day = day.replace(year=now.year)
        if day is not None and mark.is_supported and day.year > 4:
            yield from _between(value, datetime(day.year, day.month, day.day), now, list(mark.facts[:1]))
    if value.unit.dimension == "time" and value.unit.factor < DAY.factor:
        yield from _of_day(shown, facts, value)
        times = [mark for mark in inside if mark.value.kind == "time" and mark.is_supported]
        for first, later in combinations(times[:MAX_OF_OBJECT], 2):
            minutes = (later.value.minutes - first.value.minutes) % 1440
            yield "time", Decimal(minutes) * 60 / value.unit.factor, [*first.facts[:1], *later.facts[:1]]


def durations(facts: Facts) -> dict[int, list[tuple[Decimal, list[Fact]]]]:
    """Return how long each row of a list lasts of which every one has two moments, in seconds, by the list."""
    by_row: dict[tuple[int, int], list[tuple[datetime, Fact]]] = {}
    for moment, fact in facts.moments[:MAX_MOMENTS]:
        if fact.row is not None:
            by_row.setdefault(fact.row, []).append((moment, fact))
    found: dict[int, list[tuple[Decimal, list[Fact]]]] = {}
    for (table, _row), several in by_row.items():
        if len(several) == 2:
            (first, fact), (later, second) = several
            found.setdefault(table, []).append((Decimal(int((later - first).total_seconds())), [fact, second]))
    return {table: several for table, several in found.items() if len(several) == facts.tables[table].rows > 1}


def _until_the_end(shown: Shown, facts: Facts, value: Value) -> Candidates:
    """Yield how long it is to the end of this month and this year, where a sentence says that so much remains."""
    if not shown.around(value).says(words.REMAINING):
        return
    now = facts.now.replace(tzinfo=None)
    next_month = date(now.year + now.month // 12, now.month % 12 + 1, 1)
    for last in (next_month - timedelta(days=1), date(now.year, 12, 31)):
        yield from _between(value, datetime(last.year, last.month, last.day), now, [Fact(0, day=now.date())])


def _since(shown: Shown, facts: Facts, value: Value, said: SaidFields, *, is_near: bool) -> Candidates:
    """Yield how long ago moments are, or how far ahead."""
    # "In four days" is said of what is to come.
    is_ahead = bool(words.AHEAD.search(shown.prose, max(0, value.start - 14), value.start))
    now = facts.now.replace(tzinfo=None)
    today = now.replace(hour=0, minute=0, second=0, microsecond=0)
    moments = facts.moments[:MAX_MOMENTS]
    rows = shown.rows(value)
    for moment, fact in shown.steps.each(moments):
        is_named = fact.row is None or fact.row in rows or len(moments) <= MAX_FEW
        if (is_named or not is_near) and (not is_ahead or moment >= today) and said.fits(value, fact):
            yield from _between(value, moment, now, [fact])


def _between_moments(shown: Shown, facts: Facts, value: Value, *, is_near: bool) -> Candidates:
    """Yield how long it is between the moments of an object, and between those of rows: when a parcel was where."""
    by_object: dict[tuple[int, str], list[tuple[datetime, Fact]]] = {}
    by_column: dict[tuple[int, str], list[tuple[datetime, Fact]]] = {}
    moments = facts.moments[:MAX_MOMENTS]
    for moment, fact in shown.steps.each(moments):
        by_object.setdefault((fact.source, fact.path.rpartition(".")[0]), []).append((moment, fact))
        if fact.row is not None:
            by_column.setdefault((fact.row[0], fact.field), []).append((moment, fact))
    for several in by_object.values() if not is_near or len(by_object) <= MAX_OF_OBJECT else ():
        for (moment, fact), (other, second) in shown.steps.each(combinations(several[:MAX_OF_OBJECT], 2)):
            yield from _between(value, moment, other, [fact, second])
    rows = shown.rows(value)
    for several in by_column.values():
        for (moment, fact), (other, second) in shown.steps.each(combinations(several[:MAX_OF_OBJECT], 2)):
            if not is_near or {fact.row, second.row} <= rows or len(moments) <= MAX_FEW:
                yield from _between(value, moment, other, [fact, second])


def _of_wholes(shown: Shown, facts: Facts, value: Value) -> Candidates:
    """Yield how long it is between moments that stand in no list, and how long the rows of a list last together."""
    alone = [one for one in facts.moments[:MAX_MOMENTS] if one[1].row is None][:MAX_OF_OBJECT]
    for (moment, fact), (other, second) in shown.steps.each(combinations(alone, 2)):
        yield from _between(value, moment, other, [fact, second])
    for lasting in durations(facts).values() if value.unit.dimension == "time" else ():
        total = sum((length for length, _facts in lasting), Decimal(0))
        yield "sum", total / value.unit.factor, [fact for _length, operands in lasting for fact in operands][:8]


def _of_day(shown: Shown, facts: Facts, value: Value) -> Candidates:
    """Yield how long it is from one time of day to another of the same object: of fields that hold no date."""
    by_object: dict[tuple[int, str], list[tuple[int, Fact]]] = {}
    for minutes, several in islice(facts.minutes.items(), MAX_MOMENTS):
        for fact in shown.steps.each(several[:MAX_OF_OBJECT]):
            if fact.path:
                by_object.setdefault((fact.source, fact.path.rpartition(".")[0]), []).append((minutes, fact))
    for times in by_object.values():
        for (first, fact), (later, second) in combinations(times[:MAX_OF_OBJECT], 2):
            yield "time", Decimal(abs(later - first)) * 60 / value.unit.factor, [fact, second]


def _between(
    value: Value, first: datetime, second: datetime, facts: list[Fact]
) -> Iterator[tuple[str, Decimal, list[Fact]]]:
    earlier, later = sorted((first, second))
    if value.unit.dimension == "months":
        # The last day of a year that begins on 1 September is 31 August.
        for last in (later, later + timedelta(days=1)) if later.date() < date.max else (later,):
            months = (last.year - earlier.year) * 12 + last.month - earlier.month - (last.day < earlier.day)
            yield "time", Decimal(months // int(value.unit.factor)), facts
        if value.is_about or value.decimals:
            days = Decimal((later.date() - earlier.date()).days)
            yield "time", days / Decimal("30.44") / value.unit.factor, facts
    elif value.unit.factor >= DAY.factor:
        days = Decimal(abs((first.date() - second.date()).days))
        yield "time", days * DAY.factor / value.unit.factor, facts
    else:
        yield "time", Decimal(int((later - earlier).total_seconds())) / value.unit.factor, facts


def ends(shown: Shown, facts: Facts, place: int, value: Value) -> list[Fact]:
    """Return what a time of day or a date follows from: the beginning and how long it takes; nothing if from nothing.

    A time from one of the same object; a date from today and what the sentence or a field says that it takes, or from a
    date and a number of days that the sentence shows.
    """
    return _time(shown, facts, value) if value.kind == "time" else _day(shown, facts, place, value)


def _time(shown: Shown, facts: Facts, value: Value) -> list[Fact]:
    for moment, fact in facts.moments[:MAX_MOMENTS]:
        begins_at = moment.hour * 3_600 + moment.minute * 60 + moment.second
        for length in islice(_lengths_above(shown, facts, fact), MAX_LENGTHS):
            ends_at = begins_at + _seconds(length)
            if ends_at < DAY.factor and ends_at // 60 in value.times:
                return [fact, length]
    return _of_row(shown, facts, value)


def _of_row(shown: Shown, facts: Facts, value: Value) -> list[Fact]:
    """Return a time of day of an object and the length of time there, at whose end a time is; nothing if none is."""
    for minutes, several in islice(facts.minutes.items(), MAX_MOMENTS):
        for fact in several[:MAX_OF_OBJECT] if minutes else ():
            beside = facts.siblings.get((fact.source, fact.path.rpartition(".")[0]), ()) if fact.path else ()
            for length in shown.steps.each(beside[:MAX_OF_OBJECT]):
                is_length = length.unit is not None and length.unit.dimension == "time"
                if is_length and _seconds(length) > 0 and minutes + _seconds(length) // 60 in value.times:
                    return [fact, length]
    return []


def _lengths_above(shown: Shown, facts: Facts, fact: Fact) -> Iterator[Fact]:
    """Yield the lengths of time below a day in the object of a fact, and in those that it is part of."""
    path = fact.path
    while path:
        path = path.rpartition(".")[0]
        for one in shown.steps.each(facts.siblings.get((fact.source, path), ())):
            if one.unit is not None and one.unit.dimension == "time" and 0 < _seconds(one) < DAY.factor:
                yield one


def _day(shown: Shown, facts: Facts, place: int, value: Value) -> list[Fact]:
    if value.day is None or value.slack:
        return []
    slack = 1 if words.ABOUT.search(shown.prose, max(0, value.start - 20), value.start) else 0
    inside = list(shown.steps.each(shown.inside(value)))
    days = [
        (mark.value.numbers[0] * mark.value.unit.factor / DAY.factor, list(mark.facts[:1]))
        for mark in inside
        if mark.value.kind == "number" and mark.is_supported and _is_of_days(mark.value.unit.dimension, mark.value)
    ]
    dates = [
        (mark.value.day, list(mark.facts[:1]))
        for mark in inside
        if mark.value.kind == "date" and mark.value.day is not None and mark.value is not value
    ]
    for (other, operands), (length, found) in shown.steps.each(product(dates if value.grain != "month" else (), days)):
        if any(_is_day(value, other, sign * length, slack) for sign in (1, -1)):
            return [*operands, *found] or [Fact(0)]
    spans = [
        (int(mark.value.numbers[0] * mark.value.unit.factor), list(mark.facts[:1]))
        for mark in inside
        if mark.value.kind == "number" and mark.is_supported and mark.value.unit.dimension == "months"
    ]
    dates += [(moment.date(), [fact]) for moment, fact in facts.moments[:MAX_OF_OBJECT]]
    for (other, operands), (months, found) in shown.steps.each(product(dates, spans)):
        if _is_month_later(value, other, months):
            return [*operands, *found] or [Fact(0)]
    if value.grain != "month" and shown.around(value).says(words.DEADLINE):
        ahead = product(list(facts.days)[:MAX_LENGTHS], facts.lengths_of_days()[:MAX_OF_OBJECT])
        for day, lasting in shown.steps.each(ahead):
            base = day.replace(year=facts.now.year, day=min(day.day, 28 if day.month == 2 else day.day))
            if _is_day(value, base if day.year < 5 else day, Decimal(_seconds(lasting)) / DAY.factor, 0):
                return [*facts.days[day][:1], lasting]
    if value.grain != "month" and shown.around(value).says(words.AHEAD_OF_TODAY):
        for _base, _count, fact in shown.steps.each(facts.bases.get("time", [])[:MAX_LENGTHS]):
            if _is_day(value, facts.now.date(), Decimal(_seconds(fact)) / DAY.factor, slack):
                return [Fact(0, day=facts.now.date()), fact]
    return []


def _is_month_later(value: Value, base: date, months: int) -> bool:
    """Whether a date is so many months after or before another, or the day before that, which is the last one."""
    if value.day is None or not 0 < months < 1_200 or base.year < 5:
        return False
    for sign in (1, -1):
        count = base.year * 12 + base.month - 1 + sign * months
        year, month = divmod(count, 12)
        if not 1 <= year <= 9_999:
            continue
        other = date(year, month + 1, min(base.day, 28))
        if value.grain == "month":
            if (value.day.year, value.day.month) == (other.year, other.month):
                return True
            continue
        try:
            exact = [other + timedelta(days=base.day - other.day - step) for step in (0, 1)]
        except OverflowError:
            continue
        if any(value.day == one or (value.grain == "no year" and _same_day(value.day, one)) for one in exact):
            return True
    return False


def _same_day(first: date, second: date) -> bool:
    return (first.month, first.day) == (second.month, second.day)


def _is_of_days(dimension: str, value: Value) -> bool:
    return dimension == "time" and value.unit.factor >= DAY.factor and value.numbers[0] < 1_000


def _is_day(value: Value, base: date, length: Decimal, slack: int) -> bool:
    if value.day is None or not 0 < abs(length) < 3_660 or length != int(length):
        return False
    try:
        near = [base + timedelta(days=int(length) + step) for step in range(-slack, slack + 1)]
    except OverflowError:
        return False
    if value.grain == "no year" or base.year < 5:
        return any((one.month, one.day) == (value.day.month, value.day.day) for one in near)
    return value.day in near


def _seconds(fact: Fact) -> int:
    if fact.number is None or fact.unit is None:
        return 0
    return int(fact.unit.base(abs(fact.number)))
