"""What a run has looked up, as facts by which values of its answer are found: fields of results, passages, messages."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Any

from assistant.contrib.receipts.matching.forms import (
    MONTH,
    SCOPES,
    are_passages,
    are_rows,
    counted_moment,
    in_major_units,
    moment_of,
    only_currency,
    written_number,
)
from assistant.contrib.receipts.matching.name_pairs import NamePairs
from assistant.contrib.receipts.matching.shapes import fields_of, table_of, with_header_named, with_named_columns
from assistant.contrib.receipts.matching.sources import MISSING, Column, Fact, Place, Source, Table
from assistant.contrib.receipts.matching.units import (
    DAY,
    NO_UNIT,
    Unit,
    codes,
    currency,
    is_count,
    is_money,
    is_period,
    length_of_field,
    unit_after,
    unit_of_field,
    words_of,
)
from assistant.contrib.receipts.matching.values import Value, values_in

if TYPE_CHECKING:
    from assistant.contrib.receipts.matching.groups import Group

# Limits of what is indexed of one run: characters of all texts and results, facts, and rows of one list.
MAX_CHARACTERS = 200_000
MAX_FACTS = 10_000
MAX_ROWS = 500
# Of a string in a result that may be a name, and of its words.
MAX_NAME = 80
MAX_NAME_WORDS = 7
MAX_DEPTH = 12
# Places that are kept of one name.
MAX_OF_NAME = 32
# Words of fields whose texts are kinds of things, which answers translate.
_OF_KINDS = frozenset(
    {"status", "state", "type", "kind", "category", "priority", "level", "country", "unit", "language"}
)
# Of a number, before and behind the point.
MAX_DIGITS = 30

# Fields that hold the address of the object that they are part of, and what is taken for one.
LINK_FIELDS = frozenset({"url", "link", "href", "html_url", "web_url"})
_ADDRESS = re.compile(r"(?:https?://|/(?!/))[^\s<>\"']{1,500}")

# A line of a text result that names one thing.
_LINE = re.compile(r"^[ \t*•-]*[^\W\d][\w ]{1,30}:[ \t]*([^\W\d][^\n\d(,;:]{2,60})", re.MULTILINE)
_PARTS = re.compile(r"[^\W\d_]{2,}")
WORD = re.compile(r"[^\W_]+(?:['’-][^\W_]+)*")


class Facts:
    """The facts of a run, indexed.

    Args:
        now: the moment of the run in the tenant's timezone.
    """

    def __init__(self, now: datetime) -> None:
        self.now = now
        self.sources: list[Source] = []
        self.tables: list[Table] = []
        self.siblings: dict[tuple[int, str], list[Fact]] = defaultdict(list)
        # Amounts of passages, by their sources.
        self.amounts: dict[int, list[Fact]] = defaultdict(list)
        self.moments: list[tuple[datetime, Fact]] = []
        self.numbers: list[tuple[Decimal, int, Fact]] = []
        self.bases: dict[str, list[tuple[Decimal, int, Fact]]] = defaultdict(list)
        # Whole amounts by what they are if they are written in the smallest unit of their currency.
        self.in_smallest_unit: dict[tuple[str, Decimal], list[Fact]] = defaultdict(list)
        self.days: dict[date, list[Fact]] = defaultdict(list)
        self.months: dict[tuple[int, int], list[Fact]] = defaultdict(list)
        self.minutes: dict[int, list[Fact]] = defaultdict(list)
        self.tokens: dict[str, list[Fact]] = defaultdict(list)
        self.weekdays: dict[int, list[Fact]] = defaultdict(list)
        # By their first words, and then by all.
        self.names: dict[str, dict[tuple[str, ...], list[Fact]]] = defaultdict(dict)
        self.parts: dict[str, list[Fact]] = defaultdict(list)
        self.words: set[str] = set()
        self.pairs = NamePairs()
        # Addresses of objects in results, by the number of the source and the object's path.
        self.links: dict[tuple[int, str], str] = {}
        self.groups: list[Group] | None = None
        self.characters = 0
        self.count = 0
        today = Fact(self.add_source(Source("clock")), day=now.date())
        self.days[now.date()].append(today)

    @property
    def is_full(self) -> bool:
        """Whether no more is indexed."""
        return self.count >= MAX_FACTS or self.characters >= MAX_CHARACTERS

    def add_source(self, source: Source) -> int:
        """Add a source and return its number."""
        self.sources.append(source)
        return len(self.sources) - 1

    def add_text(self, source: Source, text: str) -> None:
        """Index a text, such as a message."""
        self._text(self.add_source(source), text)

    def add_result(self, source: Source, content: str) -> None:
        """Index the result of a tool; passages of documents in it are sources of their own."""
        if self.is_full:
            return
        number = self.add_source(source)
        try:
            value = json.loads(content, parse_float=Decimal)
        except (ValueError, RecursionError):
            value = self._read(content)
            if not value:
                self._text(number, content)
                self._lines(content, Place(number))
                return
        self.characters += len(content)
        scope = {"currency": code} if (code := only_currency(value)) else {}
        self._value(value, Place(number, scope=scope))

    def _read(self, text: str) -> list[dict[str, str]] | dict[str, str]:
        """Return the rows or the fields that a text of lines has; nothing of others."""
        text = text[: MAX_CHARACTERS - self.characters]
        return table_of(text) or fields_of(text)

    def _text(self, source: int, text: str) -> None:
        if self.is_full:
            return
        text = text[: MAX_CHARACTERS - self.characters]
        self.characters += len(text)
        self._words_and_values(text, Place(source))

    def _add(self, value: Value, fact: Fact) -> None:
        for number in value.numbers if value.kind == "number" else ():
            found = Fact(fact.source, fact.path, fact.start, fact.end, number, value.unit, None, fact.row)
            self._number(found)
            if self.sources[fact.source].kind == "passage" and value.unit.dimension.startswith("currency:"):
                self.amounts[fact.source].append(found)
        if value.day is not None:
            self._day(value, fact)
        for minutes in value.times:
            self._put(self.minutes[minutes], fact)
        if value.weekday >= 0:
            self._put(self.weekdays[value.weekday], fact)
        if value.token:
            self._put(self.tokens[value.token], fact)

    def _day(self, value: Value, fact: Fact) -> None:
        assert value.day is not None  # noqa: S101 - the caller asks  # nosec B101
        fact = Fact(fact.source, fact.path, fact.start, fact.end, day=value.day, row=fact.row)
        self._put(self.days[value.day], fact)

    def _put(self, facts: list[Fact], fact: Fact) -> None:
        if self.count < MAX_FACTS:
            self.count += 1
            facts.append(fact)

    def _number(self, fact: Fact) -> None:
        if self.count >= MAX_FACTS or fact.number is None:
            return
        self.count += 1
        insort(self.numbers, (abs(fact.number), self.count, fact))
        if fact.unit is not None and fact.unit != NO_UNIT:
            insort(self.bases[fact.unit.dimension], (abs(fact.unit.base(fact.number)), self.count, fact))

    def _value(self, value: Any, place: Place) -> None:
        if self.is_full or place.depth > MAX_DEPTH:
            return
        if isinstance(value, dict):
            self._object(value, place)
        elif isinstance(value, list):
            self._list(value, place)
        elif isinstance(value, bool) or value is None:
            self._text_of_row(MISSING if value is None else f"\0{value}".casefold(), place)
        elif isinstance(value, int | Decimal):
            self._leaf_number(Decimal(value), place)
        elif isinstance(value, str):
            self._leaf_text(value, place)

    def _object(self, value: Mapping[str, Any], place: Place) -> None:
        value = with_named_columns(value)
        scope = dict(place.scope)
        for key, one in value.items():
            if isinstance(one, str) and len(one) <= 20 and (name := SCOPES.get(key.casefold())):
                scope[name] = one
            if isinstance(one, str) and key.casefold() in LINK_FIELDS and _ADDRESS.fullmatch(one):
                self.links.setdefault((place.source, place.path), one)
        table = None
        if are_rows(value):
            table = len(self.tables)
            self.tables.append(Table(place.path.rpartition(".")[2], place.source, len(value)))
        for row, (key, one) in enumerate(list(value.items())[:MAX_ROWS]):
            inner = replace(place.at(key), scope=scope)
            if table is not None:
                inner = replace(inner, row=(table, row))
            self._key(key, inner)
            # "p95" is said of the field of that name.
            if any(sign.isdigit() for sign in key):
                for word in {key.casefold(), *key.casefold().split("_")}:
                    if any(map(str.isdigit, word)):
                        self._put(self.tokens[word], inner.fact())
                if (length := length_of_field(key)) is not None:
                    said = replace(inner.fact(), number=length[0], unit=length[1], row=None)
                    self.count += 1
                    insort(self.bases[length[1].dimension], (length[1].base(length[0]), self.count, said))
            self._value(one, inner)

    def _key(self, key: str, place: Place) -> None:
        """Index what the name of a field is a value of: a day, or somebody's name."""
        if (moment := moment_of(key)) is not None:
            self._moment(moment, place.fact(), is_day=len(key) == 10)
        elif key[:1].isupper() and len(key) <= MAX_NAME:
            self._words_and_values(key, place)
            self._name(key, place)

    def _list(self, value: list[Any], place: Place) -> None:
        value = with_header_named(value)
        if are_passages(value):
            for passage in value:
                self._passage(passage)
            return
        table = None
        if value and all(isinstance(one, dict) for one in value):
            table = len(self.tables)
        if value:
            self.tables.append(Table(place.path.rpartition(".")[2], place.source, len(value)))
        for number, one in enumerate(value[:MAX_ROWS]):
            inner = place.at(str(number))
            # A list in a row is a list of its own: its rows are more exact.
            self._value(one, inner if table is None else replace(inner, row=(table, number)))

    def _passage(self, passage: Mapping[str, Any]) -> None:
        source = self.add_source(
            Source("passage", str(passage["source"]), id=str(passage["source_id"]), number=str(passage["number"]))
        )
        self.characters -= len(passage["text"])  # counted with the result
        self._text(source, str(passage["text"]))
        self._name(str(passage["source"]), Place(source))

    def _leaf_number(self, number: Decimal, place: Place, *, is_text: bool = False) -> None:
        if not number.is_finite() or not -MAX_DIGITS < number.adjusted() < MAX_DIGITS:
            return
        unit = _unit(place)
        if unit is None and is_text and "currency" in place.scope and number.as_tuple().exponent == -2:
            # Who writes "212.50" as a text beside a currency writes an amount.
            unit = currency(str(place.scope["currency"]).upper())
        fact = Fact(place.source, place.path, number=number, unit=unit, row=place.row)
        if not is_text and number == int(number):
            fact = self._counted(fact, str(place.scope.get("currency", "")))
        self._number(fact)
        if fact.row is not None:
            self.tables[fact.row[0]].columns[fact.field].append(fact)
        self.siblings[fact.source, fact.path.rpartition(".")[0]].append(fact)

    def _counted(self, fact: Fact, code: str) -> Fact:
        """Index the moment that a whole number is, and return it as an amount if it is one in the smallest unit."""
        assert fact.number is not None  # noqa: S101 - the caller asks  # nosec B101
        if (moment := counted_moment(fact.field, fact.number)) is not None:
            self._moment(moment, Fact(fact.source, fact.path, row=fact.row), is_day=False)
        if fact.unit is None or not fact.unit.dimension.startswith("currency:") or not code:
            return fact
        amount = replace(fact, number=in_major_units(fact.number, code))
        if code.islower():
            return amount
        self.in_smallest_unit[fact.unit.dimension, abs(amount.number or Decimal(0))].append(fact)
        return fact

    def _leaf_text(self, text: str, place: Place) -> None:
        stripped = text.strip()
        if not stripped:
            return
        if (number := written_number(stripped)) is not None:
            self._leaf_number(number, place, is_text=True)
            self._put(self.tokens[stripped.casefold()], place.fact())
            return
        if _ADDRESS.fullmatch(stripped):
            # Numbers in addresses are said of nothing.
            self._put(self.tokens[stripped.casefold()], place.fact())
            return
        if month := MONTH.fullmatch(stripped):
            if place.row is not None:
                self.tables[place.row[0]].grain = "month"
            self._put(self.months[int(month[1]), int(month[2])], place.fact())
        moment = moment_of(stripped)
        if moment is not None:
            self._moment(moment, place.fact(), is_day=len(stripped) == 10)
            return
        if "\n" in stripped and (value := self._read(stripped)):
            self._value(value, place)
            return
        self._words_and_values(stripped, place)
        self._lines(stripped, place)
        if len(stripped) <= MAX_NAME:
            self._put(self.tokens[stripped.casefold()], place.fact())
            if len(stripped) <= 40:
                self._text_of_row(stripped.casefold(), place)
            self._name(stripped, place)

    def _lines(self, text: str, place: Place) -> None:
        """Index the names in lines of a result such as "Customer: Desmond Achebe (no. 131)"."""
        for line in islice(_LINE.finditer(text), MAX_ROWS if "\n" in text else 0):
            self._name(line[1].strip(), place)

    def _text_of_row(self, text: str, place: Place) -> None:
        if place.row is not None:
            table, row = place.row
            self.tables[table].texts[place.path.rpartition(".")[2]].setdefault(text, []).append(row)

    def _words_and_values(self, text: str, place: Place) -> None:
        self.words.update(word.casefold() for word in WORD.findall(text))
        self.words.update(_PARTS.findall(text.casefold()) if len(text) <= MAX_NAME else ())
        self.pairs.add(text)
        for value in values_in(text, self.now, MAX_FACTS - self.count):
            self._add(value, place.fact(value.start, value.end))

    def _moment(self, moment: datetime, fact: Fact, *, is_day: bool) -> None:
        local = moment.astimezone(self.now.tzinfo) if moment.tzinfo is not None and self.now.tzinfo else moment
        for one in dict.fromkeys((local, moment)):
            dated = Fact(fact.source, fact.path, day=one.date(), row=fact.row)
            self._put(self.days[one.date()], dated)
            if not is_day:
                self._put(self.minutes[one.hour * 60 + one.minute], Fact(fact.source, fact.path, row=fact.row))
        if fact.row is not None:
            self.tables[fact.row[0]].grain = "day"
        self.moments.append((local.replace(tzinfo=None), Fact(fact.source, fact.path, row=fact.row)))

    def _name(self, text: str, place: Place) -> None:
        found = tuple(word.casefold() for word in WORD.findall(text))
        if text in codes():
            return
        if not found or len(found) > MAX_NAME_WORDS or not text[0].isalnum() or text[0].islower():
            return
        fact = place.fact()
        several = self.names[found[0]].setdefault(found, [])
        if len(several) < MAX_OF_NAME:
            self._put(several, fact)
        shown = WORD.findall(text)
        if 2 <= len(shown) <= 4 and all(word[0].isupper() for word in shown) and not any(map(str.isdigit, text)):
            for word in shown:
                if len(word) >= 3 and len(self.parts[word.casefold()]) < MAX_OF_NAME:
                    self._put(self.parts[word.casefold()], fact)

    @cached_property
    def columns(self) -> list[Column]:
        """The columns of all lists, once everything is indexed."""
        return [
            _column(table, place, name, facts)
            for table in self.tables
            for place, (name, facts) in enumerate(table.columns.items())
        ]

    @cached_property
    def number_fields(self) -> frozenset[str]:
        """The names of fields with numbers, in small letters, once everything is indexed."""
        return frozenset(fact.field.casefold() for _number, _count, fact in self.numbers)

    @cached_property
    def number_words(self) -> frozenset[str]:
        """The words of the names of fields with numbers, without the ending of a plural, once everything is indexed."""
        return frozenset(
            word.rstrip("s")
            for _number, _count, fact in self.numbers
            for word in (words_of(fact.field) if fact.path else ())
            if len(word) > 3
        )

    @cached_property
    def fields_with_names(self) -> frozenset[str]:
        """The words of the names of fields that hold names, but for those of kinds, once everything is indexed."""
        found = {fact.field for names in self.names.values() for several in names.values() for fact in several}
        return frozenset(word for field in found for word in words_of(field)) - _OF_KINDS

    @cached_property
    def international(self) -> dict[str, list[Fact]]:
        """The telephone numbers with the code of their country, once everything is indexed."""
        return {token: found for token, found in self.tokens.items() if token.startswith("+")}

    def lengths_of_days(self) -> list[Fact]:
        """Return the lengths of time of a day and more."""
        return [
            fact for _base, _count, fact in self.bases.get("time", []) if fact.unit and fact.unit.factor >= DAY.factor
        ]

    def link_of(self, fact: Fact) -> str:
        """Return the address of the object that a fact is part of, as the result names it; "" if it names none."""
        path = fact.path
        while path:
            path = path.rpartition(".")[0]
            if link := self.links.get((fact.source, path)):
                return link
        return ""

    def near(self, low: Decimal, high: Decimal) -> Iterator[Fact]:
        """Yield the facts whose number is in a range, without its sign."""
        return _between(self.numbers, low, high)

    def near_base(self, dimension: str, low: Decimal, high: Decimal) -> Iterator[Fact]:
        """Yield the facts whose number is in a range, in the smallest unit of a dimension."""
        return _between(self.bases.get(dimension, []), low, high)


def _column(table: Table, place: int, name: str, facts: list[Fact]) -> Column:
    numbers = [fact.number for fact in facts if fact.number is not None]
    total = sum(map(abs, numbers), Decimal(0))
    return Column(table.name, name, place, table.rows, facts, list(accumulate(numbers)), total)


def _between(index: Sequence[tuple[Decimal, int, Fact]], low: Decimal, high: Decimal) -> Iterator[Fact]:
    start = bisect_left(index, low, key=lambda entry: entry[0])
    end = bisect_right(index, high, key=lambda entry: entry[0])
    for place in range(start, end):
        yield index[place][2]


def _unit(place: Place) -> Unit | None:
    parts = [part for part in place.path.split(".") if not part.isdigit()]
    own = parts[-1] if parts else ""
    unit = unit_of_field(own)
    if unit is not None:
        return unit
    if "unit" in place.scope and own in ("value", "amount", "quantity", "reading"):
        named = unit_after(f" {place.scope['unit']}", 0)
        return named[0] if named else None
    is_of_money = is_money(own) or (len(parts) > 1 and is_money(parts[-2]) and not is_count(own))
    if "currency" in place.scope and is_of_money:
        return currency(str(place.scope["currency"]).upper())
    above = place.path.split(".")[-2:-1]
    # "days" is the unit of `days.late`, and not of what the rows of a list of days, or a `previous_week`, hold.
    if len(parts) > 1 and not is_money(own) and not above[0].isdigit() and not is_period(parts[-2]):
        return unit_of_field(parts[-2])
    return None
