"""Finds where the values of an answer come from."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from decimal import Decimal
from itertools import islice
from typing import Literal

from assistant.contrib.receipts.matching import weekdays, words
from assistant.contrib.receipts.matching.derived import Derivations
from assistant.contrib.receipts.matching.facts import Fact, Facts
from assistant.contrib.receipts.matching.names import known_names, unknown_names
from assistant.contrib.receipts.matching.prose import clauses, masked
from assistant.contrib.receipts.matching.shown import Shown
from assistant.contrib.receipts.matching.spans import ends
from assistant.contrib.receipts.matching.steps import Steps
from assistant.contrib.receipts.matching.units import CENTS, HOUR, MINUTE, NO_UNIT, PERCENT, are_alike
from assistant.contrib.receipts.matching.units import words_of as field_words
from assistant.contrib.receipts.matching.values import Value, is_other_reading, values_in

# Limits of one answer: characters, values, and sources kept of each value.
MAX_ANSWER = 32_000
MAX_VALUES = 400
MAX_SOURCES = 8
# Places of one value that are looked at.
MAX_FACTS_OF_VALUE = 64
# Below this a number that stands in some row may be a count of rows.
MAX_SMALL = 20
# Fields that hold counts, of which a currency or a time is said by mistake.
_COUNTS = frozenset(
    {
        "count", "quantity", "seats", "persons", "floor", "orders", "items", "pieces", "found", "number",
        "customer", "id", "total_found",
    }
)  # fmt: skip

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
    found = weekdays.checked(found, prose, facts, steps, MAX_SOURCES)
    found = _derived(found, prose, facts, steps)
    found = _without_examples(_of_one_row(found, prose, facts), prose)
    return [mark for mark in found if mark.is_supported or not _in_code(answer, mark.value)]


_INLINE_CODE = re.compile(r"(`+)[^`\n]+\1")


def _in_code(answer: str, value: Value) -> bool:
    line = answer.rfind("\n", 0, value.start) + 1
    return any(
        code.start() <= value.start < code.end() for code in _INLINE_CODE.finditer(answer, line, value.end + 200)
    )


def _marks(prose: str, facts: Facts, language: str, steps: Steps) -> list[Mark]:
    values = values_in(prose, facts.now, MAX_VALUES)
    found = [Mark(value, *_support(value, facts, steps)) for value in values if _is_said(value)]
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
        names.append(Mark(value, tuple(sources)))
    found = [mark for place, mark in enumerate(found) if place not in gone]
    taken = sorted((mark.value.start, mark.value.end) for mark in (*found, *names))
    unknown = () if steps.is_spent else unknown_names(prose, facts, language, taken)
    for value in islice(unknown, MAX_VALUES):
        names.append(Mark(value, reason="not_found"))
    return sorted((*found, *names), key=lambda mark: mark.value.start)


def _is_said(value: Value) -> bool:
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
        low, high = bounds(value, number)
        seen = 0
        for fact in steps.each(facts.near(low, high)):
            if _fits(value, number, fact, facts):
                yield fact
                seen += 1
                if seen >= MAX_FACTS_OF_VALUE:
                    break
        if value.unit is not NO_UNIT:
            yield from _converted(value, number, facts, steps)
        yield from _years(value, number, facts, steps)


def _converted(value: Value, number: Decimal, facts: Facts, steps: Steps) -> Iterator[Fact]:
    half = value.unit.base(Decimal(1).scaleb(-value.decimals)) / 2 if value.decimals > 0 else Decimal(0)
    base = value.unit.base(abs(number))
    yield from steps.each(facts.near_base(value.unit.dimension, base - half, base + half))
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
    if value.unit is NO_UNIT and value.decimals == 0 and 1900 <= number <= 2100 and not value.is_word:
        for day, found in steps.each(facts.days.items()):
            if day.year == number:
                yield from found


def bounds(value: Value, number: Decimal) -> tuple[Decimal, Decimal]:
    """Return between which numbers a fact lies that an answer shows as a number, with its rounding."""
    number = abs(number)
    half = Decimal(1).scaleb(-value.decimals) / 2
    if is_other_reading(value, number):
        half = Decimal("0.0005")
    elif value.is_about:
        zeros = len(str(int(number))) - len(str(int(number)).rstrip("0")) if number == int(number) and number else 0
        half = max(half, Decimal(10) ** zeros if zeros else Decimal(1) if value.decimals <= 0 else half)
    return number - half, number + half


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
        if value.is_word:
            return False
    return _unit_fits(value, fact, facts)


def _unit_fits(value: Value, fact: Fact, facts: Facts) -> bool:
    if value.unit is NO_UNIT:
        # "Five times" is not said of 5.0.
        return not (value.is_word and fact.unit is None and _is_written_exactly(fact))
    if fact.unit is None:
        if value.unit == PERCENT and (_is_plural(fact.field) or (fact.number is not None and abs(fact.number) > 100)):
            return False
        if value.unit.dimension in ("time", "months") and _has_sibling_of(value.unit.dimension, fact, facts):
            return False
        return not _COUNTS & {fact.field, *field_words(fact.field)[-1:]}
    return are_alike(fact.unit, value.unit)


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


_AND = re.compile(r"[ \u00a0]*(?:,|and|und)?[ \u00a0]*")


def _whole_lengths(marks: list[Mark], prose: str, facts: Facts, steps: Steps) -> list[Mark]:
    """Look for "7 hours 15 minutes" as one length, where its parts stand nowhere."""
    found = list(marks)
    for place, (first, second) in enumerate(itertools.pairwise(marks)):
        hours, minutes = first.value, second.value
        if (hours.unit, minutes.unit) != (HOUR, MINUTE) or (first.is_supported and second.is_supported):
            continue
        if hours.kind == minutes.kind == "number" and _AND.fullmatch(prose, hours.end, minutes.start):
            length = replace(hours, numbers=(hours.numbers[0] + minutes.numbers[0] / 60,), decimals=2)
            of_whole = _support(length, facts, steps)
            if not of_whole[2]:
                found[place] = Mark(hours, *of_whole)
                found[place + 1] = Mark(minutes, *of_whole)
    return found


def _derived(marks: list[Mark], prose: str, facts: Facts, steps: Steps) -> list[Mark]:
    """Look for sums, counts, differences and the like of what was found, for those values that stand nowhere."""
    # What is found is a source of what comes behind it.
    found = list(marks)
    shown = Shown(prose, found, steps)
    derivations = Derivations(facts, shown)
    rows = dict[str, int]()
    for table in facts.tables:
        name = table.name.casefold()
        rows[name] = max(table.rows, rows.get(name, 0))
    for place, mark in enumerate(marks):
        if mark.value.kind in ("date", "time") and not mark.is_supported:
            operands = ends(shown, facts, place, mark.value)
            if operands:
                found[place] = replace(mark, facts=tuple(operands[:MAX_SOURCES]), derived="span", reason="")
        elif mark.value.kind == "number" and _is_more_than_there_are(mark, prose, rows):
            found[place] = replace(mark, facts=(), reason="not_found")
        elif mark.value.kind == "number" and _may_be_count(mark):
            for name, number, counted in derivations.group_counts(mark.value):
                if number == mark.value.numbers[0]:
                    found[place] = replace(mark, facts=tuple(counted), derived=name, reason="")
                    break
        elif mark.value.kind == "number" and not mark.is_supported:
            result = derivations.of(place, mark.value)
            if result is not None:
                name, operands = result
                found[place] = replace(mark, facts=tuple(operands[:MAX_SOURCES]), derived=name, reason="")
    # What was not looked for everywhere is not said to be nowhere.
    return [mark for mark in found if mark.is_supported or not steps.is_spent]


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


def _is_more_than_there_are(mark: Mark, prose: str, rows: Mapping[str, int]) -> bool:
    """Whether an answer says of a list that was returned that it has more than it has: "four stays" of three `stays`.

    Not if a field counts them, of which the list may be a page.

    Args:
        rows: of the longest list of each name.
    """
    noun = _NOUN.match(prose, mark.value.end)
    if noun is None or mark.value.unit is not NO_UNIT or mark.value.decimals or not mark.is_supported:
        return False
    said = noun[1].casefold()
    if mark.value.numbers[0] <= rows.get(said, mark.value.numbers[0]):
        return False
    return not any({said, *_ALL_FIELDS} & {fact.field.casefold(), *field_words(fact.field)} for fact in mark.facts)


def _without_examples(marks: list[Mark], prose: str) -> list[Mark]:
    """Leave out what a sentence makes up as an example: nobody takes it for something that was looked up."""
    made_up = [(start, end) for start, end in clauses(prose) if words.EXAMPLE.search(prose, start, end)]
    return [
        mark
        for mark in marks
        if mark.reason != "not_found" or not any(start <= mark.value.start < end for start, end in made_up)
    ]


def _of_one_row(marks: list[Mark], prose: str, facts: Facts) -> list[Mark]:
    """Unmark values that belong to another row than the rest of what a sentence, item or row of a table says."""
    wrong = set[int]()
    place = 0
    for start, end in clauses(prose):
        inside = list[int]()
        while place < len(marks) and marks[place].value.start < end:
            if marks[place].value.start >= start:
                inside.append(place)
            place += 1
        wrong |= _strangers(marks, inside, facts)
    return [replace(mark, reason="other_row", facts=()) if place in wrong else mark for place, mark in enumerate(marks)]


def _rows(mark: Mark, facts: Facts) -> dict[int, set[int]]:
    """Return the rows in which a value stands, by their list; nothing for one that stands elsewhere too."""
    found: dict[int, set[int]] = defaultdict(set)
    for fact in mark.facts:
        if fact.row is not None and facts.tables[fact.row[0]].rows > 1:
            found[fact.row[0]].add(fact.row[1])
    return found


def _fields(mark: Mark, table: int) -> frozenset[str]:
    return frozenset(fact.field for fact in mark.facts if fact.row is not None and fact.row[0] == table)


def _strangers(marks: list[Mark], inside: list[int], facts: Facts) -> set[int]:
    by_table: dict[int, list[tuple[int, set[int], frozenset[str], bool]]] = defaultdict(list)
    for place in inside:
        mark = marks[place]
        if not mark.is_supported or mark.derived or mark.value.kind == "weekday":
            continue
        for table, rows in _rows(mark, facts).items():
            only = all(fact.row is not None and fact.row[0] == table for fact in mark.facts)
            by_table[table].append((place, rows, _fields(mark, table), only))
    wrong = set[int]()
    for entries in by_table.values():
        groups = _groups(entries)
        if len(groups) > 1 and any(len(group) < 2 for group in groups):
            continue
        for group in groups:
            wrong |= _odd_ones(group)
    return wrong


Entry = tuple[int, set[int], frozenset[str], bool]


def _groups(entries: list[Entry]) -> list[list[Entry]]:
    """Divide values in their order into what is said of one row after the other: a field occurs once in each."""
    groups: list[list[Entry]] = [[]]
    seen = set[frozenset[str]]()
    for entry in entries:
        if entry[2] in seen:
            groups.append([])
            seen = set()
        seen.add(entry[2])
        groups[-1].append(entry)
    return groups


def _odd_ones(group: list[Entry]) -> set[int]:
    """Return the values of a group that are not of the row of which the most are."""
    if len(group) < 2:
        return set()
    counts = Counter(row for _place, rows, _fields, _only in group for row in rows)
    most = max(counts.values())
    if most == len(group):
        return set()
    best = {row for row, count in counts.items() if count == most}
    if len(group) > 2 and most < 2:
        return set()
    odd = {place for place, rows, _fields, only in group if only and not rows & best}
    if len(group) == 2 and not odd:
        # Each contradicts the other.
        return {place for place, _rows, _fields, only in group if only}
    return odd if len(odd) <= max(1, len(group) // 2) else set()
