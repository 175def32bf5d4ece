"""Finds where the values of an answer come from."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from itertools import islice
from typing import Literal

from assistant.contrib.receipts.matching import weekdays, words
from assistant.contrib.receipts.matching.derived import Derivations
from assistant.contrib.receipts.matching.facts import Facts
from assistant.contrib.receipts.matching.names import known_names, unknown_names
from assistant.contrib.receipts.matching.one_row import of_one_row
from assistant.contrib.receipts.matching.prose import masked
from assistant.contrib.receipts.matching.rounding import range_of
from assistant.contrib.receipts.matching.said_fields import SaidFields, of_field_before, of_field_behind, of_said_field
from assistant.contrib.receipts.matching.shown import Shown
from assistant.contrib.receipts.matching.sources import Fact
from assistant.contrib.receipts.matching.spans import ends
from assistant.contrib.receipts.matching.steps import Steps
from assistant.contrib.receipts.matching.suppositions import SUPPOSED, with_suppositions, without_examples
from assistant.contrib.receipts.matching.units import CENTS, HOUR, MINUTE, NO_UNIT, PERCENT, SHARES, are_alike
from assistant.contrib.receipts.matching.units import words_of as field_words
from assistant.contrib.receipts.matching.values import Value, values_in

# Limits of one answer: characters, values, and sources kept of each value.
MAX_ANSWER = 32_000
MAX_VALUES = 400
MAX_SOURCES = 8
# Places of one value that are looked at.
MAX_FACTS_OF_VALUE = 64
# Below this a number that stands in some row may be a count of rows.
MAX_SMALL = 20
# Below this a whole number without a unit is no rounded one that has one.
MIN_ROUNDED = 100
# Fields that hold counts, of which a currency or a time is said by mistake.
_COUNTS = frozenset(
    {
        "count", "quantity", "seats", "persons", "floor", "orders", "items", "pieces", "found", "number",
        "customer", "id", "total_found",
    }
)  # fmt: skip

_HALF = Decimal("0.5")

Reason = Literal["", "not_found", "other_row"]


@dataclass(frozen=True, slots=True)
class Mark:
    """A value of an answer and where it comes from.

    Attributes:
        value: with its place in the answer, in characters.
        facts: where it was found, the first source first; empty if nowhere.
        derived: how it was computed from the facts: "sum", "count", "difference", ...; "" if it stands there.
        reason: why it is not supported; "" if it is.
    """

    value: Value
    facts: tuple[Fact, ...] = ()
    derived: str = ""
    reason: Reason = ""

    @property
    def is_supported(self) -> bool:
        """Whether the value was found."""
        return not self.reason


def marks_of(answer: str, facts: Facts, steps: Steps | None = None) -> list[Mark]:
    """Return the values of an answer and where each comes from, in the order of the answer.

    Args:
        steps: counts the work. Values that would need more than its limit are left out.
    """
    steps = Steps() if steps is None else steps
    prose = masked(answer[:MAX_ANSWER])
    language = words.language_of(prose)
    found = list(_marks(prose, facts, language, steps))[:MAX_VALUES]
    found = _whole_lengths(found, prose, facts, steps)
    said = SaidFields(prose, facts)
    found = [of_field_behind(of_field_before(of_said_field(mark, said), prose, facts), prose, facts) for mark in found]
    found = weekdays.checked(found, prose, facts, steps, said)
    found, derivations = _derived(found, prose, facts, steps)
    found = _computed_again(of_one_row(found, prose, facts), derivations)
    found = without_examples(found, prose)
    return [mark for mark in found if mark.is_supported or not (_is_rough(mark.value) or _in_code(answer, mark.value))]


def _is_rough(value: Value) -> bool:
    """Whether a value is only roughly how many times or which share something is: "almost twice as many"."""
    return value.is_about and bool(words.TIMES.fullmatch(value.text))


_INLINE_CODE = re.compile(r"(`+)[^`\n]+\1")


def _in_code(answer: str, value: Value) -> bool:
    line = answer.rfind("\n", 0, value.start) + 1
    return any(
        code.start() <= value.start < code.end() for code in _INLINE_CODE.finditer(answer, line, value.end + 200)
    )


def _marks(prose: str, facts: Facts, language: str, steps: Steps) -> list[Mark]:
    values = values_in(prose, facts.now, MAX_VALUES)
    found = [Mark(value, *_support(value, facts, steps)) for value in values if _is_said(value, prose)]
    starts = [mark.value.start for mark in found]
    ends_of = [mark.value.end for mark in found]
    gone = set[int]()
    names = list[Mark]()
    for value, sources in known_names(prose, facts, steps):
        steps.spend(1 + len(sources))
        # A name with a number in it, such as a product's, is one value.
        beside = range(bisect_right(ends_of, value.start), bisect_left(starts, value.end))
        within = [place for place in beside if value.start <= starts[place] and ends_of[place] <= value.end]
        if beside and not within:
            continue
        gone.update(within)
        names.append(Mark(value, tuple(sources), reason="" if sources else "not_found"))
    found = [mark for place, mark in enumerate(found) if place not in gone]
    taken = sorted((mark.value.start, mark.value.end) for mark in (*found, *names))
    unknown = () if steps.is_spent else unknown_names(prose, facts, language, taken)
    for value in islice(unknown, MAX_VALUES):
        names.append(Mark(value, reason="not_found"))
    return sorted((*found, *names), key=lambda mark: mark.value.start)


def _is_said(value: Value, prose: str) -> bool:
    if (
        value.kind == "number"
        and value.numbers[0] == 100
        and words.FOR_HUNDRED.search(prose, max(0, value.start - 8), value.start)
    ):
        return False
    if value.kind == "number" and words.ONE_IN.search(prose, max(0, value.start - 16), value.start):
        return False
    return not (value.kind == "number" and not any(value.numbers))


def _support(value: Value, facts: Facts, steps: Steps) -> tuple[tuple[Fact, ...], str, Reason]:
    found: dict[Fact, None] = {}
    for fact in _direct(value, facts, steps):
        found[fact] = None
        if len(found) == MAX_FACTS_OF_VALUE:
            break
    return tuple(found), "", "" if found else "not_found"


def _direct(value: Value, facts: Facts, steps: Steps) -> Iterable[Fact]:
    match value.kind:
        case "number":
            return _numbers(value, facts, steps)
        case "date":
            return _dates(value, facts, steps)
        case "time":
            return (fact for minutes in value.times for fact in facts.minutes.get(minutes, ()))
        case "weekday":
            return facts.weekdays.get(value.weekday, [])
        case "email":
            return facts.tokens.get(value.token, [])
        case _:
            return _identifiers(value, facts, steps)


def _identifiers(value: Value, facts: Facts, steps: Steps) -> Iterator[Fact]:
    yield from facts.tokens.get(value.token, [])
    yield from facts.tokens.get(value.token.lstrip("#+0"), [])
    if value.token.startswith("0") and value.token.isdigit():
        # A telephone number without the code of its country.
        for token, found in steps.each(facts.international.items()):
            if token.endswith(value.token[1:]) and len(token) - len(value.token) <= 3:
                yield from found
    if value.token.lstrip("+").isdigit() and len(value.token) < 20:
        number = Decimal(value.token.lstrip("+"))
        yield from facts.near(number, number)


def _dates(value: Value, facts: Facts, steps: Steps) -> Iterator[Fact]:
    day = value.day
    assert day is not None  # noqa: S101 - a date has one  # nosec B101
    if value.grain == "day" and not value.slack:
        yield from facts.days.get(day, [])
        without_year = day.replace(year=4)
        yield from facts.days.get(without_year, [])
        return
    for other, found in steps.each(facts.days.items()):
        if value.grain == "month":
            fits = (other.year, other.month) == (day.year, day.month)
        elif value.grain == "no year":
            fits = (other.month, other.day) == (day.month, day.day)
        else:
            fits = abs(other - day) <= timedelta(days=value.slack)
        if fits:
            yield from found
    if value.grain == "month":
        yield from facts.months.get((day.year, day.month), [])


def _numbers(value: Value, facts: Facts, steps: Steps) -> Iterator[Fact]:
    for number in value.numbers:
        _shown, low, high, _whole = range_of(value, number)
        seen = 0
        for fact in steps.each(facts.near(low, high)):
            if _fits(value, number, fact, facts):
                yield fact
                seen += 1
                if seen >= MAX_FACTS_OF_VALUE:
                    break
        if value.unit is not NO_UNIT:
            yield from _converted(value, number, facts, steps)
        if value.decimals > 0:
            yield from facts.in_smallest_unit.get((value.unit.dimension, abs(number)), ())
        yield from _years(value, number, facts, steps)


def _converted(value: Value, number: Decimal, facts: Facts, steps: Steps) -> Iterator[Fact]:
    low = high = abs(number)
    if value.decimals > 0 or value.is_about:
        _shown, low, high, _whole = range_of(value, number)
    yield from steps.each(facts.near_base(value.unit.dimension, value.unit.base(low), value.unit.base(high)))
    if value.unit == PERCENT:
        share = Decimal(1).scaleb(-value.decimals - 2) / 2
        for fact in steps.each(facts.near(number / 100 - share, number / 100 + share)):
            if fact.unit is None and fact.number is not None and abs(fact.number) < 1:
                yield fact
    if value.unit == CENTS:
        for dimension in [one for one in facts.bases if one.startswith("currency:")]:
            yield from steps.each(facts.near_base(dimension, number / 100, number / 100))
    if value.unit.dimension.startswith("currency:"):
        yield from steps.each(facts.near_base("cents", number * 100, number * 100))


def _years(value: Value, number: Decimal, facts: Facts, steps: Steps) -> Iterator[Fact]:
    if value.unit is NO_UNIT and value.decimals == 0 and number == int(number):
        # The name of a field, such as a year that amounts are grouped by.
        yield from facts.tokens.get(str(int(number)), ())
    if value.unit is NO_UNIT and value.decimals == 0 and 1900 <= number <= 2100 and not value.is_word:
        for day, found in steps.each(facts.days.items()):
            if day.year == number:
                yield from found


def _fits(value: Value, number: Decimal, fact: Fact, facts: Facts) -> bool:
    assert fact.number is not None  # noqa: S101 - the index holds numbers  # nosec B101
    shown = abs(number)
    other = abs(fact.number)
    if other != shown:
        # Rounded to the digits shown: the fact has more of them.
        digits = -int(other.normalize().as_tuple().exponent)
        if not value.is_about and digits <= value.decimals:
            return False
        if value.decimals == 0 and not value.is_about and other == int(other):
            return False
        if value.unit is NO_UNIT and shown < MIN_ROUNDED and fact.unit is not None and not value.decimals:
            # "Seven" is not said of 6.5 days.
            return False
        # Who reads 5.5 says so, and not "6".
        is_half = other % 1 == _HALF and shown < 10 and value.decimals == 0
        if value.is_word or (is_half and not value.is_about):
            return False
    return _unit_fits(value, fact, facts)


def _unit_fits(value: Value, fact: Fact, facts: Facts) -> bool:
    if value.unit is NO_UNIT:
        # "Five times" is not said of 5.0.
        return not (value.is_word and fact.unit is None and _is_written_exactly(fact))
    if fact.unit is None:
        if value.unit == PERCENT and not _may_be_share(fact):
            return False
        if value.unit == CENTS and _is_written_exactly(fact):
            return False
        if not value.unit.dimension.startswith("currency:") and _is_plural(fact.field):
            return False
        if value.unit.dimension in ("time", "months") and _has_sibling_of(value.unit.dimension, fact, facts):
            return False
        if value.unit.dimension in facts.bases and fact.path and value.unit.dimension.startswith("currency:"):
            # Where amounts have a currency, a whole number that has none is no amount.
            return _is_written_exactly(fact)
        return not _COUNTS & {fact.field, *field_words(fact.field)[-1:]}
    return are_alike(fact.unit, value.unit)


def _may_be_share(fact: Fact) -> bool:
    """Whether a number without a unit may be a percentage: a small one, or one whose field is named so."""
    if not fact.path or fact.number is None:
        return True
    return abs(fact.number) < 1 or _is_written_exactly(fact) or bool(SHARES & set(field_words(fact.field)))


def _is_written_exactly(fact: Fact) -> bool:
    return fact.number is not None and int(fact.number.as_tuple().exponent) < 0


def _is_plural(field: str) -> bool:
    """Whether a field is named after many things, such as `votes`: it holds how many there are, and no share."""
    last = (field_words(field) or ("",))[-1]
    return len(last) > 3 and last.endswith("s") and not last.endswith("ss")


def _has_sibling_of(dimension: str, fact: Fact, facts: Facts) -> bool:
    """Whether the object of a number without a unit has one of a dimension: that is the one which is said with it."""
    beside = facts.siblings.get((fact.source, fact.path.rpartition(".")[0]), ())
    return bool(fact.path) and any(one.unit is not None and one.unit.dimension == dimension for one in beside)


_MINUTES_FOLLOW = re.compile(r"[ \u00a0]*(?:,|and|und)?[ \u00a0]*\d{1,2}[ \u00a0]?(?:m|min|mins|minutes|Minuten)\b")
_AN_HOUR = re.compile(r"\b(?:an|one) hour(?: and|,)? $|\beiner? Stunde(?: und|,)? $", re.IGNORECASE)
_AND = re.compile(r"[ \u00a0]*(?:,|and|und)?[ \u00a0]*")


def _whole_lengths(marks: list[Mark], prose: str, facts: Facts, steps: Steps) -> list[Mark]:
    """Look for "7 hours 15 minutes" as one length, where its parts stand nowhere."""
    found = list(marks)
    for place, first, second in _lengths(marks, prose):
        hours = first.value
        minutes = second.value
        if first.is_supported and second.is_supported:
            continue
        length = replace(hours, numbers=(hours.numbers[0] + minutes.numbers[0] / 60,), decimals=2)
        of_whole = _support(length, facts, steps)
        if not of_whole[2]:
            found[place] = Mark(hours, *of_whole)
            found[place + 1] = Mark(minutes, *of_whole)
    return found


def _lengths(marks: list[Mark], prose: str) -> Iterator[tuple[int, Mark, Mark]]:
    """Yield hours with the minutes that follow them, and the place of the first."""
    for place, (first, second) in enumerate(itertools.pairwise(marks)):
        if (first.value.unit, second.value.unit) != (HOUR, MINUTE):
            continue
        if first.value.kind == second.value.kind == "number" and _AND.fullmatch(
            prose, first.value.end, second.value.start
        ):
            yield place, first, second


def _derived(marks: list[Mark], prose: str, facts: Facts, steps: Steps) -> tuple[list[Mark], Derivations]:
    """Look for sums, counts, differences and the like of what was found, for those values that stand nowhere."""
    # What is found, and what is supposed, is a source of what comes behind it.
    found = with_suppositions(marks, prose)
    shown = Shown(prose, found, steps)
    derivations = Derivations(facts, shown)
    rows = dict[str, int]()
    for table in facts.tables:
        name = table.name.casefold()
        rows[name] = max(table.rows, rows.get(name, 0))
    for place, mark in enumerate(list(found)):
        found[place] = _computed(place, mark, derivations, shown, rows)
    # What stands before its operands is computed once they are.
    is_any_computed = any(mark.derived for mark in found)
    for place, mark in enumerate(found if is_any_computed else ()):
        if not mark.is_supported and mark.value.kind in ("number", "date", "time"):
            found[place] = _computed(place, mark, derivations, shown, {})
    _join_lengths(found, prose, derivations, steps)
    _with_an_hour(found, prose, derivations)
    found = [mark for mark in found if mark.derived != SUPPOSED]
    # What was not looked for everywhere is not said to be nowhere.
    return [mark for mark in found if mark.is_supported or not steps.is_spent], derivations


def _computed_again(marks: list[Mark], derivations: Derivations) -> list[Mark]:
    """Compute small numbers that stand in another row than the rest: they may be a difference within the right one."""
    found = list(marks)
    for place, mark in enumerate(marks):
        if mark.reason == "other_row" and mark.value.is_small_count:
            result = derivations.of(place, mark.value)
            if result is not None:
                found[place] = replace(mark, facts=tuple(result[1][:MAX_SOURCES]), derived=result[0], reason="")
    return found


def _computed(place: int, mark: Mark, derivations: Derivations, shown: Shown, rows: Mapping[str, int]) -> Mark:
    """Return a mark with what its value was computed from, if it stands nowhere and was."""
    if mark.value.kind in ("date", "time") and not mark.is_supported:
        operands = ends(shown, derivations.facts, place, mark.value)
        return replace(mark, facts=tuple(operands[:MAX_SOURCES]), derived="span", reason="") if operands else mark
    if mark.value.kind != "number":
        return mark
    if derivations.counts.is_times_of_name(place, mark.value) and mark.facts:
        # "8 × Hose adapter 3/8" is not said of the 8 in the name.
        mark = replace(mark, facts=tuple(fact for fact in mark.facts if not (fact.path and fact.end)))
        if not mark.facts:
            return replace(mark, reason="not_found")
    if derivations.counts.is_of_subject(place, mark.value) and not derivations.counts.is_in_row_of_subject(mark):
        # "Iris has three of them" is said of her rows, and of no number in them.
        counts = derivations.counts.of(place, mark.value)
        of_subject = next((one for one in counts if one[1] == mark.value.numbers[0]), None)
        return _counted(mark, of_subject) if of_subject else replace(mark, facts=(), derived="", reason="not_found")
    if _is_more_than_there_are(mark, shown, rows):
        return replace(mark, facts=(), reason="not_found")
    if _may_be_count(mark):
        for name, number, counted in derivations.counts.of_groups(place, mark.value):
            if number == mark.value.numbers[0]:
                return _counted(mark, (name, number, counted))
        return mark
    row = derivations.row_behind(mark.value) if mark.value.unit is NO_UNIT else None
    is_elsewhere = row is not None and mark.facts and all(fact.row not in (None, row) for fact in mark.facts)
    if mark.is_supported and not is_elsewhere:
        return mark
    if mark.value.unit == HOUR and _MINUTES_FOLLOW.match(shown.prose, mark.value.end):
        return mark
    if is_elsewhere:
        # "6 stools" is not said of the lamps of which there are 6.
        mark = replace(mark, facts=(), reason="other_row")
    result = derivations.of(place, mark.value)
    return replace(mark, facts=tuple(result[1][:MAX_SOURCES]), derived=result[0], reason="") if result else mark


def _join_lengths(marks: list[Mark], prose: str, derivations: Derivations, steps: Steps) -> None:
    """Compute "3 hours 49 minutes" as one length, where its parts are nothing by themselves."""
    for place, hours, minutes in _lengths(marks, prose):
        if hours.is_supported and minutes.is_supported:
            continue
        number = hours.value.numbers[0] * 60 + minutes.value.numbers[0]
        whole = replace(hours.value, end=minutes.value.end, numbers=(number,), unit=MINUTE, is_about=True)
        result = derivations.of(place, whole)
        if result is not None:
            facts = tuple(result[1][:MAX_SOURCES])
            marks[place] = replace(hours, facts=facts, derived=result[0], reason="")
            marks[place + 1] = replace(minutes, facts=facts, derived=result[0], reason="")


def _counted(mark: Mark, counted: tuple[str, Decimal, Sequence[Fact]]) -> Mark:
    return replace(mark, facts=tuple(counted[2]), derived=counted[0], reason="")


def _with_an_hour(marks: list[Mark], prose: str, derivations: Derivations) -> None:
    """Compute "an hour and 45 minutes" as one length."""
    for place, mark in enumerate(marks):
        value = mark.value
        if (
            mark.is_supported
            or value.unit != MINUTE
            or not _AN_HOUR.search(prose, max(0, value.start - 24), value.start)
        ):
            continue
        result = derivations.of(place, replace(value, numbers=(value.numbers[0] + 60,)))
        if result is not None:
            marks[place] = replace(mark, facts=tuple(result[1][:MAX_SOURCES]), derived=result[0], reason="")


def _may_be_count(mark: Mark) -> bool:
    """Whether a number stands in rows alone, and may as well say how many of them there are: "two" of 2.0 hours."""
    value = mark.value
    return (
        mark.is_supported
        and value.unit is NO_UNIT
        and not value.decimals
        and value.numbers[0] < MAX_SMALL
        and all(fact.row is not None and field_words(fact.field)[-1:] != ("number",) for fact in mark.facts)
    )


_NOUN = re.compile(r"[ \u00a0]+([^\W\d_]{3,40})\b")
# Fields that say how many there are, of which a list may hold a part.
_ALL_FIELDS = frozenset({"total", "count", "found", "number", "limit", "anzahl", "gesamt"})


def _is_more_than_there_are(mark: Mark, shown: Shown, rows: Mapping[str, int]) -> bool:
    """Whether an answer says of a list that was returned that it has more than it has: "four stays" of three `stays`.

    Not if a field counts them, of which the list may be a page.

    Args:
        rows: of the longest list of each name.
    """
    noun = _NOUN.match(shown.prose, mark.value.end)
    if noun is None or mark.value.unit is not NO_UNIT or mark.value.decimals or not mark.is_supported:
        return False
    said = noun[1].casefold()
    if mark.value.numbers[0] <= rows.get(said, mark.value.numbers[0]):
        return False
    # A field beside the list may count them all too: "eleven tickets are open".
    sentence = shown.around(mark.value)
    return not any(
        (fact.path and fact.row is None and "." not in fact.path and sentence.names(fact.field))
        or {said, *_ALL_FIELDS} & {fact.field.casefold(), *field_words(fact.field)}
        for fact in mark.facts
    )
